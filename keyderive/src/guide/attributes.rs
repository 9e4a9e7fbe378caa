//! Attributes: what each one stores.
//!
//! The three most common attributes stand alone: `#[salt(…)]` on the struct, `#[pad(n)]` and `#[reverse_ts]` on a
//! field. The others are options of `#[row_key(…)]`. The compiler points at each misspelled, repeated or conflicting
//! attribute, and reports all errors of a key type in one run.
//!
//! Without attributes, the type of a field decides its format. [`key::codec`](crate::key::codec) specifies every format
//! of every type, with its bytes.
//!
//! | field | stored as | example |
//! |---|---|---|
//! | `u8` to `u128` | decimal, zero padded to the type's width | `0000000042` |
//! | `i8` to `i128` | `0` and the digits; a negative `v` as `-` and the digits of `10^w + v`, where `w` is the type's width | `00000000042`, `-9999999958` |
//! | `String`, `&str`, `Cow<str>` | UTF-8, which may be empty; no byte at or below the delimiter: with `#`, no space, `!`, `"`, `#` or control character | `alice` |
//! | `bool`, `char` | `0` or `1`; the character | `1` |
//! | `Vec<u8>`, `Cow<[u8]>`, `[u8; N]` | lower-case hexadecimal | `00ff` |
//! | [`#[derive(KeyField)]`](derive@crate::KeyField) newtype; enum | the inner value; an enum's code, zero padded to the widest code | `07` |
//! | `SystemTime`; times of `chrono`, `jiff`, `time` | microseconds since 1970, 16 digits | `1426535612156000` |
//! | dates of `chrono`, `jiff`, `time` | `YYYYMMDD` | `20150316` |
//! | `Uuid` | hyphenated lower-case | `67e55044-10b1-426f-9247-bb680e5fe0c8` |
//!
//! `usize`, `isize`, `Option` and floats do not compile; the error gives the reason and an alternative.
//!
//! ```
//! use keyderive::RowKey;
//!
//! #[derive(RowKey)]
//! struct Plain {
//!     id: u32,
//!     change: i32,
//!     name: String,
//!     raw: Vec<u8>,
//! }
//!
//! let key = Plain { id: 42, change: -42, name: "alice".into(), raw: vec![0, 255] };
//! assert_eq!(key.to_text()?, "0000000042#-9999999958#alice#00ff");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # `pad`
//!
//! `#[pad(6)]` on an integer stores 6 digits, zero padded. Encoding rejects a negative number or one with more digits.
//!
//! On a string it stores 6 bytes, padded with spaces on the right. The string may hold the delimiter and inner spaces.
//! Encoding rejects one that ends with a space or holds a byte below the space.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct QuoteKey {
//!     #[pad(6)]
//!     exchange: String,
//!     #[pad(6)]
//!     seq: u32,
//! }
//!
//! assert_eq!(QuoteKey { exchange: "NYSE".into(), seq: 42 }.to_text()?, "NYSE  #000042");
//! let error = QuoteKey { exchange: "NYSE".into(), seq: 1_000_000 }.encode().unwrap_err();
//! assert_eq!(error.field_name(), Some("seq"));
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # `reverse_ts`
//!
//! `#[reverse_ts]` on an integer or a time stores `i64::MAX - t` in 19 digits, so that the newest row sorts first.
//! `#[reverse_ts(max = 9999999999999)]` stores `max - t` in as many digits as `max` has. Scan methods take the plain
//! value, and a range begins with its lesser value.
//!
//! Both `reverse_ts` and [`desc`](#desc) sort the newest time first. Which one to take:
//!
//! | the field | take | why |
//! |---|---|---|
//! | a time type, in a new table | `#[row_key(desc)]` | 16 digits in place of 19; 13 with `ts(unit = "millis")` |
//! | an integer that is a time | `#[reverse_ts]` | 19 digits, or as many as `max` has; `desc` counts down from the greatest number of its type: 20 for a `u64` |
//! | either, where programs in other languages write the keys | `#[reverse_ts]` | `i64::MAX - t` is what Google's guides show, `Long.MAX_VALUE - t` in Java |
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct LogKey {
//!     host: String,
//!     #[reverse_ts]
//!     at: u64,
//!     #[reverse_ts(max = 9999)]
//!     day: u16,
//! }
//!
//! let key = LogKey { host: "a".into(), at: 1426535612156, day: 42 };
//! assert_eq!(key.to_text()?, "a#9223370610319163651#9957");
//! LogKey::scan().host("a").at_range(1426535612000..1426535613000).into_plan()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `salt`
//!
//! `#[salt(range = 4)]` on the struct writes the number of a bucket, `0` to `3`, before the fields and after the tag.
//! The bucket is `rem_euclid(FARM_FINGERPRINT(bytes), 4)`, where `bytes` are the encoded fields, joined by the
//! delimiter. In BigQuery and Spanner SQL it is `MOD(MOD(FARM_FINGERPRINT(k), 4) + 4, 4)`. [Choosing a
//! key](super::choosing#salting) says when to use a salt.
//!
//! | option | effect | example |
//! |---|---|---|
//! | `range = 4` | the number of buckets: 2 to 4096 | `1#alice#home` |
//! | `over = "user_id,site"`, `over(user_id, site)` | the fields to hash; the default is all of them | |
//! | `sep = "-"` | the text after the bucket, instead of the delimiter | `1-alice#home` |
//! | `position = "front"` | the bucket stands before the tag | `1#TAG#alice#home` |
//! | `after = "user_id"` | the bucket stands after a field | `alice#1#home` |
//! | `hash = "java"` | the bucket of Google's salting sample: the signed remainder of Java's `String.hashCode` of the whole key without its salt. Scans read all of `-3` to `3`. | `-2-phone#5c10102#20190501` |
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[salt(range = 4, over(user_id, site), sep = "-")]
//! struct EventKey {
//!     user_id: String,
//!     site: String,
//!     #[pad(6)]
//!     seq: u32,
//! }
//!
//! let key = EventKey { user_id: "alice".into(), site: "home".into(), seq: 42 };
//! assert_eq!(key.to_text()?, "1-alice#home#000042");
//! // Decoding rejects a key in the wrong bucket.
//! let other = EventKey::from_text("2-alice#home#000042");
//! assert!(other.is_err_and(|error| error.is_wrong_bucket()));
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # A salt from a date on
//!
//! A table of events that has outgrown its buckets can get more, without copying a row: stored rows keep their keys. `since(at = "…")`
//! gives another salt to the keys whose own field `at` is that value or later; earlier keys keep the salt they have, or none. The keys from
//! one such bound to the next are an *epoch*.
//!
//! ```
//! # use keyderive::RowKey;
//! # use std::time::{Duration, SystemTime, UNIX_EPOCH};
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "user_id", sep = "!", since(at = "2026-06-01T00:00:00Z"))]
//! #[salt(range = 16, over = "user_id", sep = "!", since(at = "2026-12-01T00:00:00Z"))]
//! struct EventKey {
//!     user_id: String,
//!     #[reverse_ts]
//!     at: SystemTime,
//!     #[pad(4)]
//!     seq: u16,
//! }
//!
//! let key = |seconds| EventKey { user_id: "alice".into(), at: UNIX_EPOCH + Duration::from_secs(seconds), seq: 7 };
//! assert_eq!(key(1780271999).to_text()?, "alice#9221591764855775807#0007");
//! assert_eq!(key(1780272000).to_text()?, "1!alice#9221591764854775807#0007");
//! assert_eq!(key(1796083200).to_text()?, "05!alice#9221575953654775807#0007");
//!
//! let words = EventKey::scan().user_id("alice").explain()?.to_string();
//! assert!(words.ends_with("
//!   epochs       no salt; 4 since 2026-06-01T00:00:00Z; 16 since 2026-12-01T00:00:00Z
//!   order        by at, greatest first; then seq; merged from 3 streams
//!   no salt      [alice#, alice$)
//!   1 of 4       [1!alice#, 1!alice$)
//!   5 of 16      [05!alice#, 05!alice$)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The time in the key decides, never a clock. A row that arrives late has the layout of its own time, and programs whose clocks differ
//! write the same key. A scan merges one stream for each bucket of each epoch that its constraints allow; a fixed `at`, or a range of it,
//! rules out the other epochs.
//!
//! Keys before the first bound have the salt of a `#[salt]` without `since`, which comes first, or none. Write a bound as a value of the
//! field: RFC 3339 for a time, `"2026-12-01"` for a date, a number without quotes for a number. It must be a whole number of the field's
//! units. The bounds ascend.
//!
//! **Limits.** The compiler rejects what breaks one of these, and says what to write:
//!
//! - The field of the bounds is a number, a time or a date, ascending or reversed, and not hashed, bit-reversed or `with` a
//!   module. Only fields of fixed width come after it, in the ordered layout fields that are never empty, so that it is
//!   found from the right end of a key.
//! - The salts have the same place, before that field, and the same `sep`. `hash = "java"` is excluded.
//! - Keys without a salt must not look like keys with one. Text needs a `sep` that begins below the delimiter, as `!` does.
//!   Digits, dates, hexadecimal and UUIDs need another width than the bucket, or a `sep` that does not begin with the
//!   delimiter, and none that they can hold. A tag after the salt must not begin like a bucket. Padded text is excluded.
//!   In the ordered layout the keys begin with text, and a salt has at most 64 buckets.
//!
//! Other fields, a coarser unit or fewer buckets for stored rows need [other keys](super::rekeying). Such a key type has no row key schema
//! and no SQL expressions, since its parts differ from row to row: remove a table's schema with
//! [`remove_row_key_schema`](crate::Table::remove_row_key_schema). clippy takes several `#[salt]` for duplicates: write
//! `#[allow(clippy::duplicated_attributes)]` on the struct, or one `#[row_key(salt(…), salt(…))]`. New tables are split at the buckets of
//! all epochs. In an existing table the new buckets share a tablet until the service splits it.
//!
//! **Adding one** takes four steps. A table with a row key schema, which `create` and `create_if_absent` give by default, needs
//! [`remove_row_key_schema`](crate::Table::remove_row_key_schema) before them: without it `verify` of the new key type fails.
//!
//! 1. Choose a bound that is later than every stored time and than the end of the rollout, by a day at least. No program with the old key
//!    type may still run at the bound, not even one that only reads: it does not see the rows after the bound.
//! 2. Add the salt, and the new value of a pinned `fingerprint`, and deploy the key type everywhere. It accepts a table that is
//!    stamped with its first epochs, and logs a warning once a bound has passed that the stamp lacks, unless the bound is a
//!    plain number. Two programs with different bounds are both accepted until step 4, so deploy one bound.
//! 3. Count all keys by the new type, `events.count(EventKey::scan())`. It fails if a row is foreign, such as one of
//!    the future that an older program wrote.
//! 4. Call [`advance_stamp`](crate::Table::advance_stamp), at any time but the hour before the bound; if the bound is a plain number,
//!    nothing checks the hour. It reads no rows. Programs that start with the old key type then fail `verify` and their first request;
//!    running ones continue. There is no way back.
//!
//! Page tokens of one key type are errors in programs with the other one.
//!
//! **A program with the old key type that still runs at the bound**
//!
//! - does not see the rows after the bound: its counts and scans are too small, and its `delete_rows` leaves them;
//! - writes rows without the new salt. Scans of the new programs that read such a row fail on it as a foreign row. Calls by its key do not
//!   find it: `get` returns `None`, `exists` false, `put` and `put_if_absent` write a second row, `delete` deletes nothing. Scans that rule
//!   out the epoch it is stored under miss it too.
//!
//! Stop that program, and move its rows by both key types:
//!
//! ```
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(Row)] struct Event { kind: String }
//! # mod before {
//! #     #[derive(keyderive::RowKey, Debug)]
//! #     pub struct EventKey { pub user_id: String, #[pad(10)] pub at: u64 }
//! # }
//! # #[derive(RowKey, Debug)]
//! # #[salt(range = 4, over = "user_id", sep = "!", since(at = 1796083200))]
//! # struct EventKey { user_id: String, #[pad(10)] at: u64 }
//! use keyderive::OnForeign;
//!
//! const BOUND: u64 = 1796083200;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! # client.table::<before::EventKey, Event>("events").create().without_row_key_schema().await?;
//! let events = client.table::<EventKey, Event>("events");
//! let misplaced = client.table::<before::EventKey, Event>("events").unchecked();
//! # misplaced.put(&before::EventKey { user_id: "alice".into(), at: BOUND + 5 }, &Event { kind: "login".into() }).await?;
//! # events.put(&EventKey { user_id: "bob".into(), at: BOUND + 6 }, &Event { kind: "login".into() }).await?;
//! let rows = misplaced.scan(before::EventKey::scan()).on_foreign(OnForeign::Skip).collect().await?;
//! for (old, event) in rows.into_iter().filter(|(key, _)| key.at >= BOUND) {
//!     let new = EventKey { user_id: old.user_id.clone(), at: old.at };
//!     if new.encode()? == old.encode()? {
//!         continue; // both salts give it the same bucket
//!     }
//!     if events.put_if_absent(&new, &event).await? {
//!         misplaced.delete(&old).await?;
//!     } else {
//!         eprintln!("{new:?} was written by both programs: compare the rows, and delete that of {old:?}");
//!     }
//! }
//! events.count(EventKey::scan()).await?; // no row is foreign
//! # assert_eq!(events.count(EventKey::scan()).await?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! This moves only the columns of the row type. If the program stops between the two requests, the next run prints the row.
//!
//! # `tag` and `delimiter`
//!
//! `#[row_key(tag = "BATTERY")]` on the struct writes a constant before the fields, so that key types can share a
//! table. `#[row_key(delimiter = '-')]` sets the character between the parts: an ASCII character,
//! below `0` if the key has a delimited field or its tag has digits.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(tag = "SENSOR", delimiter = '-')]
//! struct SensorKey {
//!     id: u8,
//!     #[pad(8)]
//!     date: u32,
//! }
//!
//! assert_eq!(SensorKey { id: 7, date: 20150301 }.to_text()?, "SENSOR-007-20150301");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # `ts`
//!
//! `ts(unit = "…")` on a time sets the unit of the count since 1970:
//!
//! | unit | digits |
//! |---|---|
//! | `"secs"` | 10 |
//! | `"millis"` | 13 |
//! | `"micros"`, the default | 16 |
//! | `"nanos"` | 19 |
//!
//! Encoding rounds a finer time, such as most clocks show, down to its unit, and the key decodes to the rounded
//! time. With `ts(unit = "millis", exact)` it rejects a finer time. Range bounds are not rounded: stored times are
//! compared with them as given.
//!
//! `ts(format = "datetime17")` writes `YYYYMMDDHHMMSSmmm` in UTC instead.
//!
//! ```
//! # use keyderive::RowKey;
//! use std::time::{Duration, SystemTime};
//!
//! #[derive(RowKey)]
//! struct ReadingKey {
//!     meter: u16,
//!     #[row_key(ts(unit = "millis"))]
//!     at: SystemTime,
//!     #[row_key(ts(format = "datetime17"))]
//!     sent: SystemTime,
//! }
//!
//! let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1426535612156);
//! assert_eq!(ReadingKey { meter: 7, at, sent: at }.to_text()?, "00007#1426535612156#20150316195332156");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # `desc`
//!
//! Sorts the greatest value first. It is for integers, `bool`, dates and times, not for strings. An unsigned number is
//! stored as `max - v`, where `max` is the greatest number of its type, or of `n` digits with `#[pad(n)]`; a signed one
//! as `-1 - v`.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct RankKey {
//!     league: String,
//!     #[row_key(desc)]
//!     points: u32,
//! }
//!
//! assert_eq!(RankKey { league: "a".into(), points: 42 }.to_text()?, "a#4294967253");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # `bit_reverse`
//!
//! Stores a `u32` or `u64` with its bits reversed, so that the numbers of a counter are spread over the table. Decoding
//! restores the number. The field has no range method, since a range of numbers is not a range of stored keys.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct OrderKey {
//!     #[row_key(sequential, bit_reverse)]
//!     number: u32,
//! }
//!
//! assert_eq!(OrderKey { number: 1 }.to_text()?, "2147483648");
//! assert_eq!(OrderKey::from_text("2147483648")?.number, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `hash`
//!
//! `hash(md5)` stores the MD5 of the bytes that the field would store otherwise. Such a key does not decode: a table
//! returns [`RawKey`](crate::key::RawKey)s. Scans constrain only the fields before the hash; to read by the hashed
//! field or a later one, you need the whole key. The compiler warns if fields follow it.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(tag = "T")]
//! struct HashedKey {
//!     #[row_key(hash(md5))]
//!     #[pad(17)]
//!     at: u64,
//! }
//!
//! assert_eq!(HashedKey { at: 20150301124501003 }.to_text()?, "T#5cbed828691915bd3ab68145f00b489d");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # `escape`
//!
//! Stores any `char`, `String` or `Cow<str>`, and keeps their order: each byte from 0 to `%` becomes `%XX`.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct NameKey {
//!     #[row_key(escape)]
//!     name: String,
//! }
//!
//! assert_eq!(NameKey { name: "a#b".into() }.to_text()?, "a%23b");
//! assert_eq!(NameKey::from_text("a%23b")?.name, "a#b");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `uuid`
//!
//! `uuid(simple)` stores 32 digits without hyphens. `uuid(v4)` takes random UUIDs only: encoding rejects other
//! versions, which may begin with a time. A key without a salt may begin with a UUID only if it is `uuid(v4)`.
//!
//! # `sequential`
//!
//! Changes nothing stored. It declares that the values of a field only grow, such as a number from a counter or a date
//! as a number, so that a key that begins with the field does not compile.
//!
//! ```compile_fail
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct OrderKey {
//!     #[row_key(sequential)]
//!     number: u32, // a hotspot: promote another field, salt, or reverse the bits
//! }
//! ```
//!
//! # `name` and `method`
//!
//! `name = "user"` is the field's name in the schema, in errors and in `explain()`. Set it to the old name to rename a
//! field without a change of the fingerprint. `method = "by_user"` renames the field's scan methods if they collide
//! with those of another field.
//!
//! # `with`
//!
//! `with = "module"` stores a type of any crate: a module of your program encodes and decodes it.
//! [`RowKey`](derive@crate::RowKey) has an example.
//!
//! # `display`
//!
//! On the struct, `display` implements `Display`, and also `FromStr` if no field is borrowed. Every key has
//! [`to_text`](crate::RowKey::to_text) and [`from_text`](crate::RowKey::from_text). `display` does not compile with the
//! ordered layout, which is not text, or with a hashed field, which cannot be decoded.
//!
//! # `layout`
//!
//! The default layout is text. `#[row_key(layout = "ordered")]` on the struct stores the key as Bigtable's
//! `Struct.OrderedCodeBytes`, byte for byte, so that SQL reads its numbers, text and bytes as typed columns. `pad`,
//! `escape`, `bit_reverse`, 128-bit numbers, and the options `sep`, `after`, `position` and `hash` of a salt do not
//! compile with it.
//!
//! [`row_key_schema`](crate::RowKey::row_key_schema) returns the definition for `gcloud bigtable tables update`.
//! [`sql`](crate::RowKey::sql) returns typed SQL expressions, also for a text layout.
//!
//! # `fingerprint`
//!
//! `#[row_key(fingerprint = "…")]` pins everything that decides stored bytes: the fields' names, formats, widths and
//! order, the salt, the delimiter, the tag and the layout. A change to any of them fails the build, since scans would
//! no longer find stored rows. The value is [`RowKey::fingerprint`](crate::RowKey::fingerprint), printed; the error for
//! a wrong value has the right one.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(fingerprint = "687086bb1b4da610", display)]
//! struct EventKey {
//!     user_id: String,
//!     #[pad(6)]
//!     seq: u32,
//! }
//!
//! assert_eq!(EventKey::fingerprint().to_string(), "687086bb1b4da610");
//! assert_eq!(EventKey { user_id: "alice".into(), seq: 42 }.to_string(), "alice#000042");
//! ```
//!
//! # `allow`
//!
//! On the struct, `allow(hotspot)` lets a key begin with a growing value. `allow(point_reads)` silences the warning
//! about fields after a hashed one, and `allow(few_buckets)` the one about a salt over fewer values than buckets. An
//! `allow` without effect is itself a warning.
//!
//! # `foreign`
//!
//! `#[row_key(foreign(pad))]` on the struct says that the attribute `#[pad]` belongs to another derive. `salt`, `pad`
//! and `reverse_ts` can also be options of `row_key`, as in `#[row_key(pad(6))]`.
//!
//! # `trait_methods`
//!
//! The derive gives a key type the methods of the trait [`RowKey`](trait@crate::RowKey), so that callers need not import it. If the type
//! has a method or constant of one of these names, such as an `encode` of its own, the compiler reports duplicate definitions.
//! `#[row_key(trait_methods)]` leaves the derive's methods out; the trait's remain:
//!
//! ```
//! use keyderive::RowKey;
//!
//! #[derive(RowKey)]
//! #[row_key(trait_methods)]
//! struct UserKey {
//!     id: u32,
//! }
//!
//! impl UserKey {
//!     fn encode(&self) -> String {
//!         format!("user {}", self.id)
//!     }
//! }
//!
//! let key = UserKey { id: 7 };
//! assert_eq!(key.encode(), "user 7");
//! assert_eq!(RowKey::encode(&key)?, b"0000000007");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # `no_implicit_prelude`
//!
//! In a module with `#![no_implicit_prelude]`, write `#[row_key(no_implicit_prelude)]` too: the derive's messages for a scan out of order
//! need a name of the prelude, so the key type does not compile without.
//!
//! # The path of the crate
//!
//! `#[row_key(crate = "path")]` on the struct is the path of `keyderive`, for a crate that renames or re-exports it.
