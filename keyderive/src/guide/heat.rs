//! Reading a heatmap: what each pattern says about a key, and what to do about it.
//!
//! A heatmap of [`heat`](crate::heat) has time from left to right, and keys in ascending order from bottom to top. It comes from a
//! [simulation](crate::heat::simulate), before a table exists, or from what a [running service](#of-a-running-service) records. Google's
//! [Key Visualizer](https://cloud.google.com/bigtable/docs/keyvis-patterns) shows the same patterns, but only of large tables in use:
//!
//! | pattern | what it is | the key | remedy |
//! |---|---|---|---|
//! | [a bright diagonal](#a-diagonal) | all writes go to one end of the table | begins with a value that grows, or falls | another field first, or a salt |
//! | [a bright horizontal line](#a-horizontal-line) | one row, or a few, take most of the load | has few values where the load is | several rows, or a salt over more fields |
//! | [alternating bands](#alternating-bands) | the whole table is busy at times | is not the cause | spread the work over time, or add nodes for it |
//! | [one dim colour](#one-colour) | the load is spread | is good | none |
//!
//! Three differences from Key Visualizer:
//!
//! - **Ranges are of equal load, not of equal size.** A busy range is split until it is as calm as the others. So load that Bigtable can
//!   spread is drawn wide and dim; what stays bright, Bigtable cannot split either: the growing end, or a single row. A busy user whose
//!   rows are in time order is a diagonal between dim ranges, and several are parallel diagonals; the labels name the users, and the colour
//!   is the user's share.
//! - **Colours are absolute**: the share of a node's capacity, or with [`of_table`](crate::heat::Picture::of_table), as below, of the
//!   table's busiest moment. A cell shows its busiest *slot*, the grid's unit of time, not a mean. The line below each heatmap says how many
//!   writes a second 100 % are, and how many the busiest range has.
//! - **The picture has the final ranges.** Until a range is split, its parts are drawn as one tall cell with their common
//!   load. So a table that is new can look as if it began with a burst; the line below the heatmap says until when.
//!
//! The simulations below count by the minute in at most 64 ranges, so that a heatmap fits on this page. `docs/heat` in the repository has
//! each pair as SVG, in colours. To draw one:
//!
//! ```
//! use keyderive::heat::Picture;
//! # use keyderive::heat::{Access, GridBuilder};
//! # let mut hot = GridBuilder::new();
//! # (0..1000).for_each(|at| hot.record(at * 1000, &at.to_be_bytes(), Access::Write, 1));
//! # let (hot, mended) = (hot.grid(), GridBuilder::new().grid());
//!
//! // `hot.grid()` of a forecast, and `Some(hot.layout())`, for labels with the names of fields
//! let picture = Picture::new().panel("date first", &hot, None).panel("salted", &mended, None).of_table(true);
//! println!("{}", picture.terminal(80, 16)); // half blocks in colours; `text` is without
//! let svg = picture.svg(); // for a page; `html` also has the keys and the rate of each cell
//! # assert!(svg.starts_with("<svg"));
//! ```
//!
//! # A diagonal
//!
//! In each minute all writes go to one range, which moves up with time. Here the key begins with the time; a number from a counter does the
//! same. With a reversed time the line falls. One server takes all writes, however many nodes there are.
//!
//! ```
//! use std::time::Duration;
//! use keyderive::RowKey;
//! use keyderive::heat::{self, GridBuilder, Workload};
//!
//! #[derive(RowKey)]
//! #[row_key(allow(hotspot))]
//! struct DateFirst {
//!     #[row_key(sequential)]
//!     at: u64,
//!     sensor: u32,
//! }
//!
//! #[derive(RowKey)]
//! #[salt(range = 8)]
//! struct Salted {
//!     #[row_key(sequential)]
//!     at: u64,
//!     sensor: u32,
//! }
//!
//! let minutes = || GridBuilder::new().slot(Duration::from_secs(60)).limits(64, 64);
//! let draws = || Workload::uniform(1000).events(50_000).into_iter();
//!
//! let events = draws().map(|draw| {
//!     let key = DateFirst { at: draw.time as u64, sensor: draw.item as u32 };
//!     (draw.time, key, 200)
//! });
//! let hot = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
//! assert_eq!(hot.tablets.peak, 1.0);
//!
//! let events = draws().map(|draw| {
//!     let key = Salted { at: draw.time as u64, sensor: draw.item as u32 };
//!     (draw.time, key, 200)
//! });
//! let mended = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
//! assert!(mended.tablets.peak < 0.25);
//! # Ok::<(), heat::SimulationError>(())
//! ```
//!
//! Splits do not help: all writes go to the upper half again. If queries fix the sensor, put it [first](super::choosing#field-promotion);
//! else [salt](super::choosing#salting). Each bucket then has a diagonal of its own, with an eighth of the load:
//!
//! ```text
//! DateFirst: at, sensor
//!             end of table                                      @@@@@@@@@@@@@@@@
//!         at 1767227699987                               @@@@@@@@
//!                                                 @@@@@@@@
//!         at 1767226950000                   @@@@@@@@
//!                                         @@@@@@
//!         at 1767226300000          @@@@@@@@
//!                               @@@@@@
//!           start of table @+**@@
//!             keys upwards |00:00       |00:15       |00:30       |00:45
//!                          2026-01-01 00:00 to 01:00 UTC
//!                          blank no writes  . up to 17 %  : 25 %  + 50 %  @ 100 %
//! 100 % is all writes of the table's busiest minute: 13.9 writes a second; evenly
//! spread over 64 ranges each would have 1.6 %; the busiest range, at
//! 1767225885000, at 00:05, has 100 %: 13.9 writes a second; ranges are split as
//! load grows: until 00:56, a tall cell is one range that is split later, and no
//! burst
//! Salted: the same with 8 buckets
//!             end of table .....................................................
//!                 bucket 6 .....................................................
//!                               ................................................
//! bucket 4, at 17672…79709 ...... ..............................................
//!                          ..........................:..........................
//! bucket 2, at 17672…80000 .....................................................
//!                          .... ................................................
//!           start of table .....................................................
//!             keys upwards |00:00       |00:15       |00:30       |00:45
//!                          2026-01-01 00:00 to 01:00 UTC
//!                          blank no writes  . up to 17 %  : 25 %  + 50 %  @ 100 %
//! 100 % is all writes of the table's busiest minute: 13.9 writes a second; evenly
//! spread over 64 ranges each would have 1.6 %; the busiest range, bucket 3 · at
//! 1767227099907 · sensor 189, at 00:30, has 18 %: 2.43 writes a second; ranges
//! are split as load grows: until 00:56, a tall cell is one range that is split
//! later, and no burst
//! ```
//!
//! # A horizontal line
//!
//! One range is busy all the time, and stays bright however narrow it gets: it is one row.
//! [`heavy_keys`](crate::heat::Forecast::heavy_keys) names it. Here it is the visit counter of a page that gets half of all visits.
//!
//! ```
//! # use std::time::Duration;
//! # use keyderive::RowKey;
//! # use keyderive::heat::{self, GridBuilder, Workload};
//! #[derive(RowKey)]
//! struct PageTotal {
//!     #[pad(4)]
//!     page: u32,
//! }
//!
//! #[derive(RowKey)]
//! #[salt(range = 8)]
//! struct PartOfTotal {
//!     #[pad(4)]
//!     page: u32,
//!     #[pad(2)]
//!     part: u8, // any of 32, which a reader adds
//! }
//!
//! # let minutes = || GridBuilder::new().slot(Duration::from_secs(60)).limits(64, 64);
//! // Every other visit is one of page 420.
//! let visits = || {
//!     let draws = Workload::uniform(1000).events(50_000).into_iter();
//!     draws.map(|draw| (draw, if draw.random % 2 == 0 { 420 } else { draw.item as u32 }))
//! };
//!
//! let events = visits().map(|(draw, page)| (draw.time, PageTotal { page }, 8));
//! let hot = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
//! assert!(hot.tablets.peak > 0.5);
//! assert!(hot.heavy_keys().top(1)[0].key == b"0420");
//!
//! let events = visits().map(|(draw, page)| {
//!     let part = (draw.random >> 32) as u8 % 32;
//!     (draw.time, PartOfTotal { page, part }, 8)
//! });
//! let mended = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
//! assert!(mended.tablets.peak < 0.25);
//! # Ok::<(), heat::SimulationError>(())
//! ```
//!
//! A salt over the page alone does not help, since one bucket has the whole row. Write to several rows, which readers add up:
//!
//! ```text
//! PageTotal: page
//!             end of table .....................................................
//!                 page 770 .....................................................
//!                          .....................................................
//!                 page 500 .....................................................
//!                          +++=+++++==+===++=+==++++++++=+==+=+++=+++===+==++++=
//!                 page 250 .....................................................
//!                          .....................................................
//!           start of table .....................................................
//!             keys upwards |00:00       |00:15       |00:30       |00:45
//!                          2026-01-01 00:00 to 01:00 UTC
//!                          blank no writes  . up to 17 %  : 25 %  + 50 %  @ 100 %
//! 100 % is all writes of the table's busiest minute: 13.9 writes a second; evenly
//! spread over 27 ranges each would have 3.7 %; the busiest range, page 420, at
//! 00:10, has 54 %: 7.57 writes a second; ranges are split as load grows: until
//! 00:07, a tall cell is one range that is split later, and no burst
//! PartOfTotal: page, part, 8 buckets
//!             end of table .....................................................
//!       bucket 6, page 420 .....................................................
//!                          .....................................................
//!       bucket 4, page 420 .....................................................
//!                          .....................................................
//!       bucket 2, page 400 .....................................................
//!                          .....................................................
//!           start of table .....................................................
//!             keys upwards |00:00       |00:15       |00:30       |00:45
//!                          2026-01-01 00:00 to 01:00 UTC
//!                          blank no writes  . up to 17 %  : 25 %  + 50 %  @ 100 %
//! 100 % is all writes of the table's busiest minute: 13.9 writes a second; evenly
//! spread over 58 ranges each would have 1.7 %; the busiest range, bucket 7 · page
//! 420, at 00:04, has 6.2 %: 0.867 writes a second; ranges are split as load
//! grows: until 00:18, a tall cell is one range that is split later, and no burst
//! ```
//!
//! # Alternating bands
//!
//! All ranges are busy at the same time, and idle at the same time: a job that runs each quarter of an hour. Google calls this periodic
//! usage; it is no fault as long as the nodes suffice. The key spreads the load over the table, and no key can spread it over time.
//!
//! ```
//! # use std::time::Duration;
//! # use keyderive::RowKey;
//! # use keyderive::heat::{self, GridBuilder, Workload};
//! #[derive(RowKey)]
//! struct MeterKey {
//!     #[pad(4)]
//!     meter: u32,
//!     at: u64,
//! }
//!
//! # let minutes = || GridBuilder::new().slot(Duration::from_secs(60)).limits(64, 20);
//! let steady = Workload::uniform(1000).events(50_000);
//! // Thirty times as many for three minutes of each quarter of an hour: a job.
//! let bursts = steady.clone().bursts(Duration::from_secs(900), Duration::from_secs(180), 30.0);
//! let simulate = |workload: Workload| {
//!     let events = workload.into_iter().map(|draw| {
//!         let key = MeterKey { meter: draw.item as u32, at: draw.time as u64 };
//!         (draw.time, key, 200)
//!     });
//!     heat::simulate(events).grid(minutes()).sample(10_000).run()
//! };
//! let (hot, mended) = (simulate(bursts)?, simulate(steady)?);
//! // In each minute, the tablets have as much as each other: no key does better.
//! assert!(hot.tablets.mean < 0.25 && mended.tablets.mean < 0.25);
//! # Ok::<(), heat::SimulationError>(())
//! ```
//!
//! Let the job run slower ([`throttle`](crate::client::ClientBuilder::throttle)), write as readings come, or scale the cluster before it
//! begins. A [logarithmic scale](crate::heat::Picture::logarithmic) also shows the quiet times:
//!
//! ```text
//! MeterKey, written by a job
//!             end of table #*-----=-----###----------#*#-------===*#*==-=-------
//!                meter 780 #*-----=---=-###==--=--=--##*--:---=-=-###---=-----=-
//!                          #*-----------***----------***----------***-----------
//!                meter 500 #*-----------***----------*#*---==-----***-----=-----
//!                          #*-----------***----------***----------***-----------
//!                meter 300 #*:-----=----***----:-----***-=-----:--***--------:--
//!                          ##=-=------=-*##----:-=---#*#--=-------#*#-=---------
//!           start of table ##=-=--=--=--###--===-----###-----=-=-=###-=-----=---
//!             keys upwards |00:00       |00:15       |00:30       |00:45
//!                          2026-01-01 00:00 to 01:00 UTC
//!                          blank no writes  . up to 0.05 %  + 1 %  # 10 %  @ 100 %
//! 100 % is all writes of the table's busiest minute: 61.3 writes a second;
//! colours are by powers of ten; evenly spread over 18 ranges each would have 5.6
//! %; the busiest range, meter 100, at 00:01, has 14 %: 8.48 writes a second;
//! ranges are split as load grows: until 00:03, a tall cell is one range that is
//! split later, and no burst
//! MeterKey, written as readings come
//!             end of table ++++*++++++++++++++++++++++++++++++++++++++++++++++++
//!                meter 780 *++++++++++++++++++++++++++++++++++++++++++++++++++++
//!                          +*+++++++++++++++++++++++++++++++++++++++++++++++++++
//!                meter 500 +*+++++++++++++++++++++++++++++++++++++++++++++++++++
//!                          +*++++++++++++++++++++++++++++++++++=+=++++++++++++++
//!                meter 220 +++++++++++++++++++++++++++++++++++++++++++++++++++++
//!                          +**+*+**+++++++++++++++++=+++++++++++++++++++++++++++
//!           start of table +**+*+**+++++++++++++++++++++++++++++++++++++++++++++
//!             keys upwards |00:00       |00:15       |00:30       |00:45
//!                          2026-01-01 00:00 to 01:00 UTC
//!                          blank no writes  . up to 0.05 %  + 1 %  # 10 %  @ 100 %
//! 100 % is all writes of the table's busiest minute: 61.3 writes a second;
//! colours are by powers of ten; evenly spread over 19 ranges each would have 5.3
//! %; the busiest range, meter 100, at 00:05, has 3.2 %: 1.97 writes a second;
//! ranges are split as load grows: until 00:09, a tall cell is one range that is
//! split later, and no burst
//! ```
//!
//! # One colour
//!
//! Each range has about the same load as the others, at any time. A user id as the first field is enough if no user has a large share; a
//! number from a counter needs `bit_reverse`.
//!
//! ```
//! # use std::time::Duration;
//! # use keyderive::RowKey;
//! # use keyderive::heat::{self, GridBuilder, Workload};
//! #[derive(RowKey)]
//! struct UserFirst {
//!     #[pad(5)]
//!     user: u32,
//!     at: u64,
//! }
//!
//! #[derive(RowKey)]
//! struct BitReversed {
//!     #[row_key(sequential, bit_reverse)]
//!     order: u32,
//! }
//!
//! # let minutes = || GridBuilder::new().slot(Duration::from_secs(60)).limits(64, 64);
//! let draws = || Workload::uniform(20_000).events(50_000).into_iter();
//! let events = draws().map(|draw| {
//!     let key = UserFirst { user: draw.item as u32, at: draw.time as u64 };
//!     (draw.time, key, 200)
//! });
//! let by_user = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
//!
//! let events = draws().map(|draw| (draw.time, BitReversed { order: draw.index as u32 }, 200));
//! let by_order = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
//! assert!(by_user.tablets.peak < 0.2 && by_order.tablets.peak < 0.2);
//! # Ok::<(), heat::SimulationError>(())
//! ```
//!
//! There is nothing to do. Small differences between cells are chance; Key Visualizer shows them as a fine-grained mix of colours:
//!
//! ```text
//! UserFirst: user, at
//!             end of table .....................................................
//!               user 15000 .....................................................
//!                          .....................................................
//!               user 10000 .....................................................
//!                          .....................................................
//!                user 5400 .....................................................
//!                          .....................................................
//!           start of table .....................................................
//!             keys upwards |00:00       |00:15       |00:30       |00:45
//!                          2026-01-01 00:00 to 01:00 UTC
//!                          blank no writes  . up to 17 %  : 25 %  + 50 %  @ 100 %
//! 100 % is all writes of the table's busiest minute: 13.9 writes a second; evenly
//! spread over 58 ranges each would have 1.7 %; the busiest range, user 14200, at
//! 00:24, has 5.3 %: 0.733 writes a second; ranges are split as load grows: until
//! 00:26, a tall cell is one range that is split later, and no burst
//! BitReversed: order
//!             end of table .....................................................
//!            order 7653283 .....................................................
//!                          .....................................................
//!            order 4536958 .....................................................
//!                          .....................................................
//!            order 3236322 .....................................................
//!                          .....................................................
//!           start of table .....................................................
//!             keys upwards |00:00       |00:15       |00:30       |00:45
//!                          2026-01-01 00:00 to 01:00 UTC
//!                          blank no writes  . up to 17 %  : 25 %  + 50 %  @ 100 %
//! 100 % is all writes of the table's busiest minute: 13.9 writes a second; evenly
//! spread over 53 ranges each would have 1.9 %; the busiest range, order 31737905,
//! at 00:00, has 3.6 %: 0.500 writes a second; ranges are split as load grows:
//! until 00:06, a tall cell is one range that is split later, and no burst
//! ```
//!
//! # Of a running service
//!
//! [`record_heat`](crate::client::ClientBuilder::record_heat) records what a process reads and writes, by table: by default a sample of
//! about 1000 operations a second, of the last hour, in a few MB. [`Client::heat`](crate::Client::heat) returns it without a request.
//!
//! ```
//! # #[cfg(feature = "embedded")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use keyderive::dynamic::KeyLayout;
//! use keyderive::heat::{Picture, Recording, Snapshot};
//! use keyderive::{Client, Row, RowKey};
//!
//! #[derive(RowKey)]
//! #[salt(range = 8)]
//! struct VisitKey {
//!     page: String,
//!     visitor: u64,
//! }
//!
//! #[derive(Row)]
//! struct Visit {
//!     seconds: u32,
//! }
//!
//! // Each process of the service has such a client.
//! let client = Client::builder().record_heat(Recording::new()).embedded();
//! let visits = client.table::<VisitKey, Visit>("visits");
//! visits.create_if_absent().await?;
//! for visitor in 0..300 {
//!     let page = if visitor % 2 == 0 { "home".into() } else { format!("page-{visitor}") };
//!     visits.put(&VisitKey { page, visitor }, &Visit { seconds: 5 }).await?;
//! }
//!
//! // Its own endpoint for diagnoses, such as `/debug/heat`, answers with this.
//! let body = serde_json::to_string(&client.heat())?;
//!
//! // Whoever asks all processes puts the answers together.
//! let one: Snapshot = serde_json::from_str(&body)?;
//! let another: Snapshot = serde_json::from_str(&body)?;
//! let all = one.merge(&another)?;
//! let layout = KeyLayout::of::<VisitKey>();
//! let heat = &all.tables["visits"];
//! println!("{}", heat.summary(Some(&layout))); // when and where it is busiest, and its heaviest keys
//! println!("{}", Picture::new().of_table(true).panel("visits", &heat.grid, Some(&layout)).terminal(80, 16));
//! assert_eq!(heat.summary(None).writes, 600);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "embedded"))]
//! # fn main() {}
//! ```
//!
//! A snapshot contains row keys: protect the endpoint as you protect the rows. The command merges and draws the files of several processes:
//!
//! ```text
//! $ keyderive heat visits --snapshot one.json two.json --html visits.html
//! ```
//!
//! - **What is counted**: attempts, as a tablet sees them; [`record_heat`](crate::client::ClientBuilder::record_heat) has a table. A scan
//!   counts as a read at the start of each of its ranges, and as bytes at each row it returns: for a table that is mostly scanned, look at
//!   *bytes*.
//! - **It is a sample.** Counts are estimates, whose error [`Recording`](crate::heat::Recording) states;
//!   [`recorded`](crate::heat::HeatSummary::recorded) says how large the sample is.
//! - **Processes** are merged at the boundaries that all of them have: the starts of salt buckets, and short key prefixes
//!   that each has chosen. Ranges between these are combined, so a merged heatmap is coarser than one process's, but never
//!   calmer.
//! - **Only recording clients** are in the heatmap: not what other programs do, nor what the service does on its own.
//! - **An alert**: the metric `keyderive.heat.busiest_share` is the share of the busiest range of the last window, by table. Since a range
//!   is split until it is calm or cannot be split, a share of 0.3 means that a single row, or the end at which the table grows, takes 30 %
//!   of all reads or writes.
//!
//! # In a test
//!
//! [`assert_busiest_tablet_below`](crate::heat::Simulation::assert_busiest_tablet_below) fails a test if a key has one of the first two
//! patterns, and prints the heatmap. [`choosing`](super::choosing#what-to-do-about-a-hotspot) compares the remedies.
