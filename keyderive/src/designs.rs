//! The published schema designs as key types: what the guides on Bigtable time series, key salting and hotspots
//! ask for, each with the bytes that it stores, and the designs that they warn of, which do not compile.
//!
//! # Market data
//!
//! Quotes by exchange, padded to 6 bytes, symbol, padded to 5, and time in milliseconds. One symbol of one exchange
//! is one scan.
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
//! A row for each meter and day. The first iteration of this design begins with the date, so that all meters write
//! to the end of the table on the same day; a date marked as `sequential` is refused there.
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
//! Meters are many, so they come first:
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
//! By host and time, for the metrics of one machine over a while.
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
//! By game, player and date: how many games Corrie won in March is one range.
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
//! # Battery levels, three times cooler
//!
//! The guides' example of a hotspot is a timestamp right after a tag. It is refused, since a tag is a constant:
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
//! There are three remedies, in this order. **Field promotion** moves a column into the key, where queries ask for
//! it anyway:
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
//! **Salting** spreads the times over a few buckets, which a scan reads side by side and merges. The buckets are
//! numbered from 0:
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
//! **Randomization** stores a hash of the time: rows can be looked up, and no longer be scanned by time or read back
//! from their keys.
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
//! # Celebrities
//!
//! `user_id-site-timestamp` over four buckets. The hash leaves the timestamp out, so that the rows of one user and
//! site stay together, and such a scan is one request:
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
//! A table that was written with the guide's Java sample has the hash of the whole key, and negative buckets too,
//! which the sample's own scan loop never reads. `hash = "java"` reads and writes it, all seven of them:
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
//! A key that begins with the time of the last access is a hotspot; over logical shards, by the hash of both fields,
//! it is none:
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
//! The other way is to swap the fields, and to store the time in descending order, so that the latest access of a
//! user comes first:
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
//! A random UUID is spread by itself; other versions begin with a time, and are errors at encode. With the feature
//! `uuid`:
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
//! A number from a counter is spread by reversing its bits, which decode undoes:
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
