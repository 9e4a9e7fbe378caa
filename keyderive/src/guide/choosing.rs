//! Choosing a row key: which fields, in which order, and what to do about a hotspot.
//!
//! Bigtable keeps the rows of a table in the order of their keys. It cuts that order into tablets, and one server at a
//! time serves a tablet. Two things follow. Rows that are read together should lie side by side, since a range of rows
//! is one cheap request, and everything else reads rows only to drop them. And rows that are written at the same time
//! should not lie side by side, since one server then does the work of all. A good key has both.
//!
//! # From queries to fields
//!
//! 1. List the queries, the most important one first.
//! 2. Put the fields that a query fixes to the left, the field that it ranges over after them, and what only tells rows
//!    apart at the end. A scan constrains fields from the left, so a field after one that is not fixed cannot narrow
//!    what is read.
//! 3. Store one event a row, and what a query needs of it in that row. A row that grows without bound gets slow.
//! 4. A query that needs another order gets a table of its own, written beside the first one by
//!    [`put_both`](crate::put_both). A filter over a whole table gets slower as the table grows.
//!
//! ```
//! use keyderive::RowKey;
//!
//! // "How many games of this kind did the player win in March?" fixes two fields and ranges over the third.
//! #[derive(RowKey)]
//! struct ScoreKey {
//!     game: String,
//!     player: String,
//!     #[pad(8)]
//!     date: u32,
//! }
//!
//! let march = ScoreKey::scan().game("LoL").player("Corrie").date_range(20150301..20150401).into_plan()?;
//! assert_eq!(march.requests()[0].ranges()[0].start(), b"LoL#Corrie#20150301");
//! # Ok::<(), keyderive::plan::PlanError>(())
//! ```
//!
//! # What to do about a hotspot
//!
//! A key that begins with a value which only grows sends every write to the end of the table. Such a key does not
//! compile where its types or attributes tell: a time, a date, a UUID that is not `uuid(v4)`, a number marked
//! `#[row_key(sequential)]`, each plain or reversed. A tag in front changes nothing, since it is the same in every key.
//! Take the first line that fits:
//!
//! | what is seen | remedy | in keyderive | what it costs |
//! |---|---|---|---|
//! | the key begins with a field of many values that are written to alike: a user, a host, a meter | none is needed | | |
//! | the key begins with a value that only grows, and queries name another field | field promotion | that field in front | a query that does not name the field reads every value of it |
//! | no field can be promoted, or few values of the promoted field take most writes | salting | `#[salt(range = 4)]` on the struct | a scan that does not fix the salted fields is a request for each bucket |
//! | rows are only looked up one by one, or read all | randomization | `uuid(v4)`, `bit_reverse`, `hash(md5)` | no ranges and no order; a hash is not read back either |
//! | one single row takes the load | none of these | several rows, added up by the reader | |
//!
//! Field promotion comes first because it serves reads as well. Salting keeps every scan, at the cost of more requests.
//! Randomization gives scans by that field up. `#[row_key(allow(hotspot))]` insists, for a table whose writes are few.
//!
//! # Field promotion
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(tag = "BATTERY")]
//! struct BatteryKey {
//!     user: String, // promoted out of a column
//!     #[row_key(sequential)]
//!     #[pad(17)]
//!     at: u64,
//! }
//!
//! let key = BatteryKey { user: "Corrie".into(), at: 20150301124501003 };
//! assert_eq!(key.to_text()?, "BATTERY#Corrie#20150301124501003");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # Salting
//!
//! A salt puts the number of a bucket before the fields. A hash chooses the bucket, so that a reader finds a row
//! again: a point read stays one request. Two choices are to be made.
//!
//! - **`over`**: the fields that are hashed. All of them, which is so without `over`, spreads rows the most, and every
//!   scan reads every bucket. The leftmost ones alone keep their rows together: a scan that fixes them is one request,
//!   and a single value of them can still be hot.
//! - **`range`**: the number of buckets, 2 to 4096. It is a part of the key for as long as the table lives, since other
//!   buckets would be other row keys. Choose for the cluster at its largest, and no more than scans can bear: a scan
//!   over all buckets is as many requests. Do not tie it to the number of nodes of today.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "user_id,site")]
//! struct PostKey {
//!     user_id: String,
//!     site: String,
//!     #[reverse_ts]
//!     at: u64,
//! }
//!
//! let requests = |plan: keyderive::plan::Plan<PostKey>| plan.requests().len();
//! assert_eq!(requests(PostKey::scan().user_id("alice").site("home").into_plan()?), 1); // both salted fields are fixed
//! assert_eq!(requests(PostKey::scan().user_id("alice").into_plan()?), 4);
//! # Ok::<(), keyderive::plan::PlanError>(())
//! ```
//!
//! A salt can stand after a field, `#[salt(range = 4, after = "user_id")]`: the rows of one user are spread, and users
//! still lie in their order. [`create_if_absent`](crate::Table::create_if_absent) splits a new table by bucket where
//! the salt is in front, so that the buckets are on several servers from the first write on.
//! [`salt_bucket`](crate::RowKey::salt_bucket) tells the bucket of a key.
//!
//! # Randomization
//!
//! | field | attribute | scans | read back |
//! |---|---|---|---|
//! | an identifier that can be anything | [`uuid(v4)`](super::attributes#uuid) | no ranges that mean anything | yes |
//! | a number of a counter | [`bit_reverse`](super::attributes#bit_reverse) | no ranges over it | yes |
//! | any other value | [`hash(md5)`](super::attributes#hash) | no ranges over it, and none over fields after it | no |
//!
//! # Newest first
//!
//! `#[reverse_ts]`, or `#[row_key(desc)]` on a time, puts the newest row of a prefix first, so that the last ten are a
//! limit of ten. Where the newest rows are wanted now and then,
//! [`Scan::reversed`](crate::Scan::reversed) reads any key backwards, and the stored times stay readable. A reversed
//! time before the key is a hotspot like a plain one: at the start of the table in place of its end.
//!
//! # What else helps
//!
//! - Names of families and columns are stored with each cell: `#[serde(rename = "n")]` shortens them.
//! - Columns that are read together belong to one family.
//! - A new row is better than a new version of a cell, unless the history of one value is what is stored.
//! - Key types share a table by a tag each, where their rows are read together. Unrelated rows get tables of their own.
//!
//! # Where this comes from
//!
//! - Google, [Schema design for time series data](https://cloud.google.com/bigtable/docs/schema-design-time-series):
//!   field promotion, salting and randomization, in this order, and the designs of [`designs`](crate::designs)
//! - Google, [Schema design best practices](https://cloud.google.com/bigtable/docs/schema-design)
//! - Google Cloud's blog, "Cloud Bigtable schema tips: Key salting": a salt over a part of the key
//! - Google, [Schema design of Spanner](https://cloud.google.com/spanner/docs/schema-design): swapped fields, logical
//!   shards, UUIDs, reversed bits, descending times, and loads that are not in the order of keys
