//! Scans: selecting rows by their keys, and their order.
//!
//! `EventKey::scan()` selects every row. The derive generates these methods for a field `f`:
//!
//! | method | constraint | next |
//! |---|---|---|
//! | `.f(value)` | fixes the field to one value | the next field |
//! | `.f_any_of([a, b])` | fixes it to several values | the next field |
//! | `.f_range(a..b)` | a range | no further constraint |
//! | `.f_prefix("x")`, for text and bytes | a prefix | no further constraint |
//!
//! Only the leftmost field without a constraint can be constrained next. Anything else does not compile, and the error
//! names the field to fix first.
//!
//! ```
//! use keyderive::{Client, Row, RowKey};
//!
//! #[derive(RowKey, Debug, Clone, PartialEq)]
//! #[salt(range = 4, over = "user_id,site")]
//! struct EventKey {
//!     user_id: String,
//!     site: String,
//!     #[reverse_ts]
//!     at: u64,
//! }
//!
//! #[derive(Row)]
//! struct Event {
//!     kind: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let events = client.table::<EventKey, Event>("events");
//! # events.create_if_absent().await?;
//! for (site, at) in [("home", 1000), ("blog", 2000), ("blog", 3000), ("shop", 4000)] {
//!     let key = EventKey { user_id: "alice".into(), site: site.into(), at };
//!     events.put(&key, &Event { kind: "login".into() }).await?;
//! }
//!
//! // All sites of a user: reads four buckets concurrently and merges them.
//! let rows = events.scan(EventKey::scan().user_id("alice")).collect().await?;
//! let order: Vec<_> = rows.iter().map(|(key, _)| (key.site.as_str(), key.at)).collect();
//! assert_eq!(order, [("blog", 3000), ("blog", 2000), ("home", 1000), ("shop", 4000)]);
//!
//! // Page by page. The token is text, which any process can use.
//! let first = events.scan(EventKey::scan().user_id("alice")).page(3).await?;
//! let token = first.next.expect("there is a fourth row");
//! let second = events.scan(EventKey::scan().user_id("alice")).after(&token).page(3).await?;
//! assert_eq!((first.rows.len(), second.rows.len(), second.next), (3, 1, None));
//! # Ok(())
//! # }
//! ```
//!
//! A page token shows the stored key of the last row: it is hexadecimal, neither encrypted nor signed. Users who may not see keys, such as
//! those of another tenant, must not get it as it is: encrypt it, or keep it in a session. A forged token can only skip or repeat rows of
//! its own scan, since the scan's constraints still apply. A token is for the pages of one table with the same key layout, constraints,
//! direction and fields of [`distinct`](crate::Scan::distinct).
//!
//! Two terms are used below. A *foreign row* is one whose key does not decode as the table's key type. An *unreadable
//! row* is one whose cells do not decode as the row type.
//!
//! | to | write |
//! |---|---|
//! | fix a field to several values | `.user_id_any_of(["alice", "bob"])`, or `.user_id_any_of(&names)` if `names` is a `Vec<String>` |
//! | read the last rows first | [`reversed`](crate::Scan::reversed) |
//! | read rows as they arrive, in no order | [`unordered`](crate::Scan::unordered) |
//! | limit the number of rows | [`limit`](crate::Scan::limit), which each bucket's request carries |
//! | read keys without values | [`keys_only`](crate::Scan::keys_only) |
//! | read some columns | [`select`](crate::Scan::select) |
//! | read the rows that meet a condition | [`matching`](crate::Scan::matching) |
//! | filter at the server | [`filter`](crate::Scan::filter) with a [`RowFilter`](crate::row::RowFilter) |
//! | filter by key in a way that no key range can | [`filter_key`](crate::Scan::filter_key): the client reads all rows, and drops some |
//! | read cells as stored, with every version | [`raw`](crate::Scan::raw) |
//! | read page by page | [`page`](crate::Scan::page), then [`after`](crate::Scan::after) |
//! | skip foreign rows | [`on_foreign`](crate::Scan::on_foreign)`(OnForeign::Skip)`, which counts them |
//! | skip unreadable rows, such as one that an `increment` created after a delete | [`on_unreadable`](crate::Scan::on_unreadable)`(OnUnreadable::Skip)`; [`skipped`](crate::Scan::skipped) has their count and the first one |
//! | read a whole table with many workers | [`Table::partitions`](crate::Table::partitions): plans, which serde serializes |
//! | count rows | [`Table::count`](crate::Table::count); [`Scan::count`](crate::Scan::count), after filters |
//! | delete exactly the rows of a plan | [`Table::delete_rows`](crate::Table::delete_rows) |
//! | drop rows by key prefix, at once | [`Table::drop_rows`](crate::Table::drop_rows) |
//!
//! # Values and bounds
//!
//! Arguments accept literals: `"alice"` for a `String`, `1000` for a `u64`. Ranges are the standard library's, over
//! the field's plain values: on a reversed field they run forwards too. Ranges of text are over `&str`:
//! `name.as_str()..` if `name` is a `String`.
//!
//! Bounds and prefixes need not be storable: a bound the field cannot hold is clamped, or the range is empty. For
//! example, a range of a padded number that ends above its digits ends with the greatest number. A fixed value must be
//! storable. If no key can hold it, planning, explaining or running the scan fails with an error that names the field
//! and the limit.
//!
//! # Builder steps and plans
//!
//! Each step of a scan has its own type. If a condition decides how many fields are constrained, make a
//! [`Plan`](crate::plan::Plan) in each branch:
//!
//! ```
//! # use keyderive::RowKey;
//! use keyderive::plan::{IntoPlan, Plan, PlanError};
//!
//! # #[derive(RowKey)]
//! # #[salt(range = 4, over = "user_id,site")]
//! # struct EventKey { user_id: String, site: String, #[reverse_ts] at: u64 }
//! fn events_of(user: &str, site: Option<&str>) -> Result<Plan<EventKey>, PlanError> {
//!     let scan = EventKey::scan().user_id(user);
//!     match site {
//!         Some(site) => scan.site(site).into_plan(),
//!         None => scan.into_plan(),
//!     }
//! }
//!
//! /// A function can return a scan as `impl IntoPlan`.
//! fn newest_of(user: &str) -> impl IntoPlan<EventKey> {
//!     EventKey::scan().user_id(user).site("home")
//! }
//! # assert_eq!(events_of("alice", None)?.requests().len(), 4);
//! # drop(newest_of("alice"));
//! # Ok::<(), PlanError>(())
//! ```
//!
//! A *plan* holds the requests of a scan, without a table: one request for each bucket that can hold a row. If the
//! salted fields are fixed, that is a single request; if all fields are fixed, it names a row key instead of a range.
//! [`requests`](crate::plan::Plan::requests) are plain data for any client. serde serializes a plan, so that another
//! process can run it.
//!
//! # Order
//!
//! Rows arrive in the order of their *logical keys*, the keys without the salt: the scan merges one `ReadRows` stream
//! for each bucket. With [`unordered`](crate::Scan::unordered) they arrive unmerged. If the salt stands after a field
//! that is not fixed, buckets cannot be merged in logical order. Then rows arrive in one stream, in the order of the
//! stored keys, and `explain()` says so.
//!
//! # Reading `explain()`
//!
//! `explain()` shows what a scan will request, without sending a request: constraints, the buckets and the reason for
//! them, order, limit, filters, and every range as text (also in hexadecimal, if the text needs escapes). Scan
//! builders, plans and a table's scans have it.
//!
//! ```
//! # use keyderive::RowKey;
//! # #[derive(RowKey)]
//! # #[salt(range = 4, over = "user_id,site")]
//! # struct EventKey { user_id: String, site: String, #[reverse_ts] at: u64, #[pad(6)] seq: u32 }
//! let explained = "\
//! scan of EventKey
//!   key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
//!   constraints  user_id = \"alice\"
//!   buckets      all 4: the salt is over user_id, site; not fixed: site
//!   order        by site; then at, greatest first; then seq; merged from 4 streams
//!   requests     4
//!   bucket 0     [0#alice#, 0#alice$)
//!   bucket 1     [1#alice#, 1#alice$)
//!   bucket 2     [2#alice#, 2#alice$)
//!   bucket 3     [3#alice#, 3#alice$)";
//! assert_eq!(EventKey::scan().user_id("alice").explain()?.to_string().trim_end(), explained);
//! # Ok::<(), keyderive::plan::PlanError>(())
//! ```
//!
//! # What a scan costs
//!
//! A condition or a filter does not reduce what the server reads, only what it returns. [`explain_analyze`](crate::Scan::explain_analyze)
//! runs a scan and shows its plan with the rows and cells that the server has read and those that it returned:
//!
//! ```
//! use keyderive::{Client, Row, RowKey};
//!
//! #[derive(RowKey)]
//! struct OrderKey {
//!     customer: String,
//!     #[pad(6)]
//!     number: u32,
//! }
//!
//! #[derive(Row)]
//! struct Order {
//!     total: u64,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! let orders = Client::embedded().table::<OrderKey, Order>("orders");
//! # orders.create_if_absent().await?;
//! # for number in 0..1000 {
//! #     orders.put(&OrderKey { customer: "alice".into(), number }, &Order { total: number.into() }).await?;
//! # }
//! let large = orders.scan(OrderKey::scan().customer("alice")).matching(Order::TOTAL.at_least(990));
//! let analysis = large.explain_analyze().await?;
//! println!("{analysis}");
//! assert_eq!((analysis.stats.rows_seen(), analysis.stats.rows_returned()), (1000, 10));
//! # Ok(())
//! # }
//! ```
//!
//! Here the last lines say that 1,000 rows were read for 10:
//!
//! ```text
//!   rows         10 in 4.1ms
//!   cost         the server read 1000 rows and 1000 cells, and returned 10 and 10, in 3.2ms summed over 1 request
//! ```
//!
//! The cost of a scan is the rows that the server sees, not the requests: four requests for the four buckets of a user's rows
//! read no more than one would without a salt, and one request with a filter can read the whole table. More requests cost
//! the client some work each, and the answer is as late as the slowest of them.
//!
//! The two times differ. The time of `rows` is how long the caller waits. The time of `cost` sums the server's times of
//! concurrent requests, including time in which the client had not read their rows: over many buckets it can be far longer
//! than the scan.
//!
//! If such a scan runs often, put what it looks for first in the key: [choosing a key](super::choosing). In a service,
//! [`with_stats`](crate::Scan::with_stats) adds the same figures to a [`ReadStats`](crate::client::ReadStats) and to the metrics.
//! [`named`](crate::Scan::named) names the spans and metrics of a scan's requests:
//!
//! ```
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey)] struct OrderKey { customer: String, #[pad(6)] number: u32 }
//! # #[derive(Row)] struct Order { total: u64 }
//! # async fn sample(client: Client) -> Result<(), keyderive::Error> {
//! let orders = client.table::<OrderKey, Order>("orders");
//! let newest = orders.scan(OrderKey::scan().customer("alice")).reversed().limit(10).named("newest").collect().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A scan that reads 10,000 rows or more, and 100 for each one that it returns, logs a warning with its table, its name and both numbers,
//! at most once a minute. [`ScanWarning`](crate::client::ScanWarning) says which rows count, and changes the warning or turns it off.
//!
//! # Distinct values
//!
//! [`distinct`](crate::Scan::distinct) reads each value of the first fields once, with the key of its first row: all users of a table, or
//! the sites of a user, without all of their rows.
//!
//! ```
//! use keyderive::{Client, Row, RowKey};
//!
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "user_id")]
//! struct VisitKey {
//!     user_id: String,
//!     at: u64,
//! }
//!
//! #[derive(Row)]
//! struct Visit {
//!     page: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! let visits = Client::embedded().table::<VisitKey, Visit>("visits");
//! # visits.create_if_absent().await?;
//! # for user in ["alice", "bob"] {
//! #     for at in 0..100 {
//! #         let key = VisitKey { user_id: user.into(), at };
//! #         visits.put(&key, &Visit { page: "/".into() }).await?;
//! #     }
//! # }
//! let mut users = visits.scan(VisitKey::scan()).distinct(1).stream();
//! # let mut all = Vec::new();
//! while let Some(first) = users.next().await {
//!     let first = first?;
//!     println!("{} came first at {}", first.user_id, first.at);
//! #     all.push(());
//! }
//! # assert_eq!(all.len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! In each bucket, `distinct` reads through values with few rows; where values have 512 rows or more, it skips to the next value with a new
//! request. For 100,000 rows without a salt, requests and rows that the server reads:
//!
//! | values | `distinct` | all keys | a request for each value |
//! |---|---|---|---|
//! | 1 | 2; 512 | 1; 100,000 | 2; 1 |
//! | 100 | 101; 6,232 | 1; 100,000 | 101; 100 |
//! | 1,000 | 5; 99,768 | 1; 100,000 | 1,001; 1,000 |
//! | 100,000 | 5; 100,000 | 1; 100,000 | 100,001; 100,000 |
//!
//! # Streams
//!
//! [`Scan::stream`](crate::Scan::stream) returns [`Rows`](crate::Rows), a `Stream` that is `Send + 'static`. Its memory
//! is bounded, whatever the number of rows. Dropping it cancels its requests. An error is its last item;
//! [`Error::last_row_key`](crate::Error::last_row_key) is the row after which a new scan can resume.
//!
//! [`Scan::visit`](crate::Scan::visit) calls a closure with each row, borrowed from the response. Use it for folds over
//! millions of rows: if the key and row types borrow their strings, a row allocates nothing.
