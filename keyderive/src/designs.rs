//! The published schema designs as key types, with the bytes that each stores.
//!
//! They are the designs of Google's guides on Bigtable time series, key salting and hotspots. The designs that the
//! guides warn about do not compile.
//!
//! # Market data
//!
//! A quote's key is the exchange, padded to 6 bytes, the symbol, padded to 5, and the time in milliseconds. One scan
//! reads one symbol of one exchange.
//!
//! ```
//! use keyderive::RowKey;
//!
//! #[derive(RowKey)]
//! struct QuoteKey {
//!     #[pad(6)]
//!     exchange: String,
//!     #[pad(5)]
//!     symbol: String,
//!     #[pad(13)]
//!     quote_time: u64,
//! }
//!
//! let key = QuoteKey { exchange: "NASDAQ".into(), symbol: "ZXZZT".into(), quote_time: 1426535612156 };
//! assert_eq!(key.encode()?, b"NASDAQ#ZXZZT#1426535612156");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # Energy meters
//!
//! One row per meter and day. The guide's first design begins with the date, so on one day all meters write to the end
//! of the table. A key that begins with a `sequential` field does not compile:
//!
//! ```compile_fail
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct ReadingKey {
//!     #[row_key(sequential)]
//!     #[pad(8)]
//!     date: u32, // error: a hotspot; promote `meter` before it, salt the key, or hash the date
//!     #[pad(10)]
//!     meter: u64,
//! }
//! ```
//!
//! There are many meters, so the meter comes first:
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct ReadingKey {
//!     #[pad(10)]
//!     meter: u64,
//!     #[row_key(sequential)]
//!     #[pad(8)]
//!     date: u32,
//! }
//!
//! assert_eq!(ReadingKey { meter: 987654, date: 20150301 }.encode()?, b"0000987654#20150301");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # Server metrics
//!
//! Host, then time, to read the metrics of one machine over a period.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct MetricKey {
//!     host: String,
//!     #[pad(13)]
//!     at: u64,
//! }
//!
//! let key = MetricKey { host: "server1.aaa.bbb.com".into(), at: 1426535612045 };
//! assert_eq!(key.encode()?, b"server1.aaa.bbb.com#1426535612045");
//!
//! let first_hour = MetricKey::scan().host("server1.aaa.bbb.com").at_range(1426535612045..1426539212045);
//! println!("{}", first_hour.explain()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Game scores
//!
//! Game, player, then date: the games that Corrie won in March are one range.
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct ScoreKey {
//!     game: String,
//!     player: String,
//!     #[pad(8)]
//!     date: u32,
//! }
//!
//! let key = ScoreKey { game: "LoL".into(), player: "Corrie".into(), date: 20150301 };
//! assert_eq!(key.encode()?, b"LoL#Corrie#20150301");
//! ScoreKey::scan().game("LoL").player("Corrie").date_range(20150301..20150401).into_plan()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Battery levels: three remedies for a hotspot
//!
//! The guides' example of a hotspot is a timestamp right after a tag. It does not compile, since a tag is a constant:
//!
//! ```compile_fail
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(tag = "BATTERY")]
//! struct BatteryKey {
//!     #[row_key(sequential)]
//!     #[pad(17)]
//!     at: u64, // error: a hotspot
//! }
//! ```
//!
//! There are three remedies, in this order. **Field promotion** moves a column that queries fix anyway into the key:
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(tag = "BATTERY")]
//! struct BatteryKey {
//!     user: String,
//!     #[row_key(sequential)]
//!     #[pad(17)]
//!     at: u64,
//! }
//!
//! let key = BatteryKey { user: "Corrie".into(), at: 20150301124501003 };
//! assert_eq!(key.encode()?, b"BATTERY#Corrie#20150301124501003");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! **Salting** spreads the times over a few buckets, which a scan reads concurrently and merges. Buckets are numbered
//! from 0:
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(tag = "BATTERY")]
//! #[salt(range = 3, over = "at")]
//! struct BatteryKey {
//!     #[row_key(sequential)]
//!     #[pad(17)]
//!     at: u64,
//! }
//!
//! assert_eq!(BatteryKey { at: 20150301124501003 }.encode()?, b"BATTERY#0#20150301124501003");
//!
//! let minute = BatteryKey::scan().at_range(20150301124500000..20150301124600000).into_plan()?;
//! assert_eq!(minute.requests().len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Randomization** stores a hash of the time. Programs can look rows up, but cannot scan them by time, and keys do
//! not decode:
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(tag = "BATTERY")]
//! struct BatteryKey {
//!     #[row_key(sequential, hash(md5))]
//!     #[pad(17)]
//!     at: u64,
//! }
//!
//! let key = BatteryKey { at: 20150301124501003 };
//! assert_eq!(key.encode()?, b"BATTERY#5cbed828691915bd3ab68145f00b489d");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # Celebrity posts
//!
//! `user_id-site-timestamp` over four buckets. The hash leaves out the timestamp, so the rows of one user and site stay
//! together, and a scan of them is one request:
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(delimiter = '-')]
//! #[salt(range = 4, over = "user_id,site")]
//! struct PostKey {
//!     user_id: String,
//!     site: String,
//!     #[pad(13)]
//!     timestamp: u64,
//! }
//!
//! let key = PostKey { user_id: "alice".into(), site: "home".into(), timestamp: 1426535612156 };
//! assert_eq!(key.encode()?, b"2-alice-home-1426535612156");
//! assert_eq!(PostKey::scan().user_id("alice").site("home").into_plan()?.requests().len(), 1);
//! assert_eq!(PostKey::scan().user_id("alice").into_plan()?.requests().len(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The guide's Java sample hashes the whole key and also makes negative buckets, which its own scan loop never reads.
//! `hash = "java"` reads and writes such tables, with all seven buckets:
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! #[row_key(delimiter = '-')]
//! #[salt(range = 4, hash = "java")]
//! struct PostKey {
//!     user_id: String,
//!     site: String,
//!     #[pad(13)]
//!     timestamp: u64,
//! }
//!
//! let key = PostKey { user_id: "alice".into(), site: "home".into(), timestamp: 1426535612156 };
//! assert_eq!(key.encode()?, b"-2-alice-home-1426535612156");
//! assert_eq!(PostKey::scan().user_id("alice").into_plan()?.requests().len(), 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Users by last access
//!
//! A key that begins with the time of the last access is a hotspot. Logical shards, by the hash of both fields, avoid
//! it:
//!
//! ```
//! # use keyderive::RowKey;
//! use std::time::{Duration, SystemTime};
//!
//! #[derive(RowKey)]
//! #[salt(range = 3, over = "last_access,user_id")]
//! struct AccessKey {
//!     #[row_key(ts(unit = "millis"))]
//!     last_access: SystemTime,
//!     #[pad(10)]
//!     user_id: u64,
//! }
//!
//! let last_access = SystemTime::UNIX_EPOCH + Duration::from_millis(1426535612156);
//! assert_eq!(AccessKey { last_access, user_id: 7 }.encode()?, b"0#1426535612156#0000000007");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! The alternative is to swap the fields, and to store the time in descending order, so that a user's latest access
//! comes first:
//!
//! ```
//! # use keyderive::RowKey;
//! # use std::time::{Duration, SystemTime};
//! #[derive(RowKey)]
//! struct AccessKey {
//!     #[pad(10)]
//!     user_id: u64,
//!     #[row_key(desc, ts(unit = "millis"))]
//!     last_access: SystemTime,
//! }
//!
//! let last_access = SystemTime::UNIX_EPOCH + Duration::from_millis(1426535612156);
//! assert_eq!(AccessKey { user_id: 7, last_access }.encode()?, b"0000000007#8573464387843");
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! # Identifiers
//!
//! Random UUIDs are spread over the table. Encoding rejects other versions, which may begin with a time. This needs the
//! feature `uuid`:
//!
#![cfg_attr(feature = "uuid", doc = "```")]
#![cfg_attr(not(feature = "uuid"), doc = "```ignore")]
//! # use keyderive::RowKey;
//! use uuid::{Uuid, uuid};
//!
//! #[derive(RowKey)]
//! struct OrderKey {
//!     #[row_key(uuid(v4))]
//!     id: Uuid,
//! }
//!
//! let key = OrderKey { id: uuid!("67e55044-10b1-426f-9247-bb680e5fe0c8") };
//! assert_eq!(key.encode()?, b"67e55044-10b1-426f-9247-bb680e5fe0c8");
//! assert!(OrderKey { id: uuid!("01905c2e-8d7a-7b3c-9247-bb680e5fe0c8") }.encode().is_err());
//! # Ok::<(), keyderive::key::EncodeError>(())
//! ```
//!
//! Reversing the bits of a number from a counter spreads such numbers; decoding restores them:
//!
//! ```
//! # use keyderive::RowKey;
//! #[derive(RowKey)]
//! struct OrderKey {
//!     #[row_key(sequential, bit_reverse)]
//!     number: u32,
//! }
//!
//! assert_eq!(OrderKey { number: 1 }.encode()?, b"2147483648");
//! assert_eq!(OrderKey { number: 2 }.encode()?, b"1073741824");
//! assert_eq!(OrderKey::decode(b"1073741824")?.number, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
