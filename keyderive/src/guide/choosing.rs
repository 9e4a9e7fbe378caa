//! Choosing a row key: which fields, in which order, and what to do about a hotspot.
//!
//! Bigtable keeps the rows of a table sorted by key. It cuts them into tablets, and one server at a time serves a
//! tablet. A good key therefore does two things:
//!
//! - Rows that are read together are adjacent. A range of rows is one cheap request; any other selection reads rows
//!   only to drop them.
//! - Rows that are written at the same time are spread out. If they are adjacent, one server does all the work: a
//!   *hotspot*.
//!
//! # From queries to fields
//!
//! 1. List the queries, the most important one first.
//! 2. Put the fields that a query *fixes* (sets to one value) first, then the field that it ranges over, then the
//!    fields that only distinguish rows. A scan constrains fields from the left, so a field after an unfixed one cannot
//!    narrow what is read.
//! 3. Store one event per row, with everything that a query needs. A row that grows without bound gets slow.
//! 4. If a query needs another order, give it its own table, and write to both with [`put_both`](crate::put_both). A
//!    filter over a whole table gets slower as the table grows.
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
//! A key that begins with a growing value sends every write to the end of the table. Such a key does not compile if its
//! first field is a time or a date, plain or reversed, a UUID other than `uuid(v4)`, or a number marked
//! `#[row_key(sequential)]` or `#[reverse_ts]`. A tag before it changes nothing, since every key has the same one. Take
//! the first line that fits:
//!
//! | situation | remedy | in keyderive | cost |
//! |---|---|---|---|
//! | the key begins with a field of many values with similar write rates: a user, a host, a meter | not needed | | |
//! | the key begins with a growing value, and queries fix another field | field promotion | put that field first | a query that does not fix the field reads every value of it |
//! | no field can be promoted, or few values of the promoted field take most writes | salting | `#[salt(range = 4)]` on the struct | a scan that does not fix the salted fields sends one request per bucket |
//! | the program looks up single rows, or reads all | randomization | `uuid(v4)`, `bit_reverse`, `hash(md5)` | no ranges and no order; a hash cannot be decoded |
//! | a single row takes the load | none of these | several rows, which the reader adds up | |
//!
//! Field promotion comes first because it helps reads too. Salting keeps every scan, but needs more requests.
//! Randomization gives up scans by that field. For a table with few writes, `#[row_key(allow(hotspot))]` accepts the
//! hotspot.
//!
//! How much each one helps depends on the workload. [`heat::simulate`](crate::heat::simulate) computes it for yours before the first write,
//! and [Reading a heatmap](super::heat) shows the heatmap of each.
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
//! A *salt* is the number of a *bucket*, written before the fields. A hash of the key's fields chooses the bucket, so a
//! reader can compute it: a point read stays one request. Choose two options:
//!
//! - **`over`**: the fields to hash. The default, all of them, spreads rows the most, but every scan reads every
//!   bucket. If you hash only the leftmost ones, a scan that fixes them is one request, but a single value of them can
//!   still be hot.
//! - **`range`**: the number of buckets, 2 to 4096. The bucket is part of each row key, so another number is another
//!   key for nearly every row. Choose it for the cluster at its largest, not for today's number of nodes, but keep it low
//!   enough for your scans: a scan over all buckets sends one request per bucket. If the key has a time, it can start
//!   small and get [a larger salt from a date on](super::attributes#a-salt-from-a-date-on).
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
//! A salt can stand after a field, as in `#[salt(range = 4, after = "user_id")]`: it spreads the rows of each user and
//! keeps users in order. If the salt comes first, [`create_if_absent`](crate::Table::create_if_absent) splits a new
//! table by bucket, so that several servers share the writes from the start.
//! [`salt_bucket`](crate::RowKey::salt_bucket) returns the bucket of a key.
//!
//! # Randomization
//!
//! | field | attribute | scans | decodes |
//! |---|---|---|---|
//! | an identifier with any value | [`uuid(v4)`](super::attributes#uuid) | no useful ranges | yes |
//! | a number from a counter | [`bit_reverse`](super::attributes#bit_reverse) | no ranges over it | yes |
//! | any other value | [`hash(md5)`](super::attributes#hash) | no ranges over it or over fields after it | no |
//!
//! # Newest first
//!
//! `#[row_key(desc)]` on a time, or `#[reverse_ts]` on an integer ([which of them](super::attributes#reverse_ts)), sorts the newest row of a
//! prefix first, so a scan with a limit of ten reads the ten newest. If you need the newest rows only now and then, leave the times readable and scan backwards
//! with [`Scan::reversed`](crate::Scan::reversed). A key that begins with a reversed time is a hotspot too, at the
//! start of the table.
//!
//! # If the key turns out wrong
//!
//! You can fix a wrong key, in most cases while programs read and write the table. How depends on what must change:
//!
//! | what is wrong | remedy | cost |
//! |---|---|---|
//! | too few buckets, or no salt, in a key with a time, a date or a number that grows | [`#[salt(…, since(…))]`](super::attributes#a-salt-from-a-date-on): keys from a date on get another salt | no row moves; scans that go back before the date read the buckets of both salts |
//! | the salt of stored rows too, or the fields, their order or their formats | [re-keying](super::rekeying): the rows move to another table, and back if needed | each row is written once more; writes wait once for about 7 s; both tables are stored meanwhile |
//! | the same, if nobody writes or you can stop the writers | a [copy](super::loading#copies), also to another instance | each row is written once more |
//!
//! None of them replaces a good first choice. A salt from a date on needs a fixed width of its field and of all fields after it. A
//! re-keying cannot move aggregates or hashed keys. [When a key must change](super::rekeying) compares the three.
//!
//! # What else helps
//!
//! - Shorten family and column names with `#[row(name = "n")]`: each cell stores them.
//! - Put columns that are read together into one family.
//! - Prefer a new row to a new version of a cell, unless you store the history of one value.
//! - Let key types share a table, with a tag each, if their rows are read together. Put unrelated rows into separate
//!   tables.
//!
//! # Sources
//!
//! - Google, [Schema design for time series data](https://cloud.google.com/bigtable/docs/schema-design-time-series):
//!   field promotion, salting and randomization, in this order, and the designs of [`designs`](crate::designs)
//! - Google, [Schema design best practices](https://cloud.google.com/bigtable/docs/schema-design)
//! - Google Cloud's blog, "Cloud Bigtable schema tips: Key salting": a salt over part of the key
//! - Google, [Schema design of Spanner](https://cloud.google.com/spanner/docs/schema-design): swapped fields, logical
//!   shards, UUIDs, reversed bits, descending times, and loads that are not in key order
