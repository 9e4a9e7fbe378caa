//! The attributes, each with what it writes.
//!
//! Three attributes are bare, because they are the ones that most keys have: `#[salt(…)]` on the struct, `#[pad(n)]` and
//! `#[reverse_ts]` on a field. The others are written in `#[row_key(…)]`. A misspelled, repeated or conflicting one is
//! an error at its place, and all errors of a key type come in one run.
//!
//! Without attributes a field is written by its type. Every format of every type, with its bytes, is in the page of
//! the key format, [`key::codec`](crate::key::codec).
//!
//! | field | written | example |
//! |---|---|---|
//! | `u8` to `u128` | decimal, zero padded to the type's width | `0000000042` |
//! | `i8` to `i128` | `0` and the digits; a negative `v` as `-` and the digits of `10^w + v` | `00000000042`, `-9999999958` |
//! | `String`, `&str`, `Cow<str>` | as it is; no byte at or below the delimiter: with `#`, no space, `!`, `"` or `#` | `alice` |
//! | `bool`, `char` | `0` or `1`; the character | `1` |
//! | `Vec<u8>`, `Cow<[u8]>`, `[u8; N]` | lower-case hexadecimal | `00ff` |
//! | [`#[derive(KeyField)]`](derive@crate::KeyField) newtype; enum | its inner value; its code, zero padded to the widest | `07` |
//! | `SystemTime`; times of `chrono`, `jiff`, `time` | microseconds since 1970, 16 digits | `1426535612156000` |
//! | dates of `chrono`, `jiff`, `time` | `YYYYMMDD` | `20150316` |
//! | `Uuid` | hyphenated lower-case | `67e55044-10b1-426f-9247-bb680e5fe0c8` |
//!
//! `usize`, `isize`, `Option` and floats are refused, with the reason and the way out.
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
//! `#[pad(6)]` on an integer: 6 digits, zero padded. A number of more digits is an error when the key is encoded, and so
//! is a negative one. On a string: 6 bytes, filled with spaces on the right. Such a string may hold the delimiter and
//! inner spaces; it does not end with a space, and holds no byte below one.
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
//! `#[reverse_ts]` on an integer or a time: `i64::MAX - t` in 19 digits, so that the newest comes first.
//! `#[reverse_ts(max = 9999999999999)]`: `max - t` in the digits of `max`. Scan methods take the value itself, and
//! ranges are written forwards.
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
//! `#[salt(range = 4)]` on the struct puts the bucket, `0` to `3`, before the fields and after a tag. The bucket is
//! `rem_euclid(FARM_FINGERPRINT(bytes), 4)` of the encoded fields, joined by the delimiter; in BigQuery and Spanner SQL,
//! `MOD(MOD(FARM_FINGERPRINT(k), 4) + 4, 4)`.
//!
//! | option | what it does | example |
//! |---|---|---|
//! | `range = 4` | how many buckets: 2 to 4096 | `1#alice#home` |
//! | `over = "user_id,site"`, `over(user_id, site)` | which fields are hashed; all of them without it | |
//! | `sep = "-"` | what stands after the bucket in place of the delimiter | `1-alice#home` |
//! | `position = "front"` | the bucket stands before the tag | `1#TAG#alice#home` |
//! | `after = "user_id"` | the bucket stands after a field | `alice#1#home` |
//! | `hash = "java"` | the bucket of Google's salting sample, negative ones too: the signed remainder of Java's `String.hashCode` of the whole key without its salt. All of `-3` to `3` are read. | `-2-phone#5c10102#20190501` |
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
//! // A key with the bucket of another one is none.
//! let other = EventKey::from_text("2-alice#home#000042");
//! assert!(other.is_err_and(|error| error.is_wrong_bucket()));
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # `tag` and `delimiter`
//!
//! `#[row_key(tag = "BATTERY")]` on the struct: a constant before all, so that key types can share a table.
//! `#[row_key(delimiter = '-')]`: the character between the parts, an ASCII character below `0`.
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
//! On a time: `ts(unit = "secs")` 10 digits, `"millis"` 13, `"micros"` 16, which it is without the attribute, `"nanos"`
//! 19. A time that is finer than its unit is rounded down to it, as what the clock gives most often is: a key reads back
//! as the rounded one. With `ts(unit = "millis", exact)` it is an error. The bounds of a range may be as fine as they like:
//! stored times are compared with them as they are. `ts(format = "datetime17")` writes `YYYYMMDDHHMMSSmmm` in UTC.
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
//! Greatest first: integers, `bool`, dates and times, never strings. An unsigned number is stored as `max - v` of its
//! type, of its digits with `#[pad(n)]`; a signed one as `-1 - v`.
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
//! On a `u32` or `u64` of a counter: its bits in reverse, so that neighbours lie far apart. It is read back. The field
//! has no range method, since ranges of numbers are none of stored keys.
//!
//! # `hash`
//!
//! `hash(md5)`: the MD5 of what the field would write, in place of it. The key encodes and does not decode: a table
//! hands out [`RawKey`](crate::key::RawKey)s. Scans constrain the fields left of it; it and the fields after it are
//! found by whole keys alone, which the compiler warns of where there are fields after it.
//!
//! # `escape`
//!
//! On `char`, `String` and `Cow<str>`: every byte up to `%` as `%XX`, so that any string can be stored, in its order.
//!
//! # `uuid`
//!
//! `uuid(simple)`: 32 digits without hyphens. `uuid(v4)`: random UUIDs only; others begin with a time and are errors
//! when the key is encoded. Of UUIDs, only `uuid(v4)` may come first in a key without a salt.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct OrderKey {
//!     #[row_key(sequential, bit_reverse)]
//!     number: u32,
//!     #[row_key(escape)]
//!     name: String,
//! }
//!
//! let key = OrderKey { number: 1, name: "a#b".into() };
//! assert_eq!(key.to_text()?, "2147483648#a%23b");
//! assert_eq!(OrderKey::from_text("2147483648#a%23b")?.name, "a#b");
//!
//! #[derive(RowKey)]
//! #[row_key(tag = "T")]
//! struct HashedKey {
//!     #[row_key(hash(md5))]
//!     #[pad(17)]
//!     at: u64,
//! }
//!
//! assert_eq!(HashedKey { at: 20150301124501003 }.to_text()?, "T#5cbed828691915bd3ab68145f00b489d");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `sequential`
//!
//! Writes nothing. It says that a field only grows, a number of a counter or a date as a number, so that a key which
//! begins with it does not compile.
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
//! `name = "user"`: the field's name in the schema, in errors and in `explain()`; it keeps the fingerprint when the field
//! is renamed. `method = "by_user"`: the name of its scan methods, for a field whose methods would collide with those of
//! another one.
//!
//! # `with`
//!
//! `with = "module"`: a type of anyone's, written and read by a module of the program. The derive's page,
//! [`RowKey`](derive@crate::RowKey), has an example.
//!
//! # `display`
//!
//! On the struct: implements `Display`, and `FromStr` for a key without borrowed fields. Without it there are
//! [`to_text`](crate::RowKey::to_text) and [`from_text`](crate::RowKey::from_text). It is refused in the ordered layout,
//! which is not text, and with a hashed field, which cannot be read back.
//!
//! # `layout`
//!
//! `#[row_key(layout = "ordered")]` on the struct: the key is Bigtable's `Struct.OrderedCodeBytes`, byte for byte, so
//! that SQL sees its numbers, text and bytes as typed columns. `pad`, `escape`, `bit_reverse`, numbers of 128 bits, and a
//! salt's `sep`, `after`, `position` and `hash` are refused there.
//!
//! [`row_key_schema`](crate::RowKey::row_key_schema) gives the definition for `gcloud bigtable tables update`, and
//! [`sql`](crate::RowKey::sql) the typed expressions, of a text layout too.
//!
//! # `fingerprint`
//!
//! `#[row_key(fingerprint = "…")]` pins the layout: names, formats and widths in their order, salt, delimiter, tag and
//! layout. Any change fails the build with both values, since stored rows would no longer be found. The value is that
//! of [`RowKey::fingerprint`](crate::RowKey::fingerprint), printed; a wrong one is named in the error too.
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
//! On the struct: `allow(hotspot)` lets a key begin with a value that only grows. `allow(point_reads)` and
//! `allow(few_buckets)` silence two warnings: of fields after a hashed one, and of a salt over fewer values than it has
//! buckets. A name that allows nothing in this key is warned about.
//!
//! # `crate`
//!
//! `#[row_key(foreign(pad))]` on the struct: the bare attribute `#[pad]` is another derive's. Each of `salt`, `pad` and
//! `reverse_ts` may also stand in `row_key`, as `#[row_key(pad(6))]`.
//!
//! `#[row_key(crate = "path")]` on the struct: where to find `keyderive`, for a crate that is renamed or re-exported.
