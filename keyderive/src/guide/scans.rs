//! Scans: how rows are selected by their keys, and in which order they come.
//!
//! `EventKey::scan()` selects every row. For a field `f`, `.f(value)` fixes it and goes on to the next one;
//! `.f_any_of([a, b])` fixes it to each of several values and goes on too; `.f_range(a..b)`, and `.f_prefix("x")` for text
//! and bytes, end the scan. Only the leftmost free field can be constrained; anything else does not compile, and the
//! error says what comes first.
//!
//! ```
//! use keyderive::{Client, RowKey};
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
//! #[derive(serde::Serialize, serde::Deserialize)]
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
//! // All sites of a user: four buckets are read side by side, and merged.
//! let rows = events.scan(EventKey::scan().user_id("alice")).collect().await?;
//! let order: Vec<_> = rows.iter().map(|(key, _)| (key.site.as_str(), key.at)).collect();
//! assert_eq!(order, [("blog", 3000), ("blog", 2000), ("home", 1000), ("shop", 4000)]);
//!
//! // Page by page. The token is opaque text, good in any process.
//! let first = events.scan(EventKey::scan().user_id("alice")).page(3).await?;
//! let token = first.next.expect("there is a fourth row");
//! let second = events.scan(EventKey::scan().user_id("alice")).after(&token).page(3).await?;
//! assert_eq!((first.rows.len(), second.rows.len(), second.next), (3, 1, None));
//! # Ok(())
//! # }
//! ```
//!
//! | to read | write |
//! |---|---|
//! | one value of a field, and go on | `.user_id("alice")` |
//! | several values, and go on | `.user_id_any_of(["alice", "bob"])`, or `(&names)` of a `Vec<String>` |
//! | a range, in the field's own order | `.at_range(a..=b)`, at the end |
//! | text that begins so | `.site_prefix("ho")`, at the end |
//! | the last rows first; the first ones as they come | [`reversed`](crate::Scan::reversed), [`unordered`](crate::Scan::unordered) |
//! | the first so many | [`limit`](crate::Scan::limit), which each request is sent with |
//! | keys without values | [`keys_only`](crate::Scan::keys_only) |
//! | some columns; what the server can leave out | [`columns`](crate::Scan::columns), [`filter`](crate::Scan::filter) with a [`RowFilter`](crate::row::RowFilter) |
//! | rows by what their keys say, where no plan can | [`filter_key`](crate::Scan::filter_key): they are read, and dropped |
//! | cells as they are stored, with every version | [`raw`](crate::Scan::raw) |
//! | page by page | [`page`](crate::Scan::page), then [`after`](crate::Scan::after) |
//! | past rows that are not of the key type | [`on_foreign`](crate::Scan::on_foreign)`(OnForeign::Skip)`, which counts them |
//! | past rows that cannot be read as the row type, as one that an `increment` made after a delete | [`on_unreadable`](crate::Scan::on_unreadable)`(OnUnreadable::Skip)`; [`skipped`](crate::Scan::skipped) has their count and the first one |
//! | a whole table by many workers | [`Table::partitions`](crate::Table::partitions): plans, which are data of serde |
//! | how many there are | [`Table::count`](crate::Table::count); [`Scan::count`](crate::Scan::count) of what filters leave |
//!
//! [`Table::delete_rows`](crate::Table::delete_rows) deletes exactly the rows of a plan;
//! [`Table::drop_rows`](crate::Table::drop_rows) drops them by prefix at once, where they have one.
//!
//! # What a scan may ask for
//!
//! Values are given as the field's argument type, so that literals work: `"alice"` for a `String`, `1000` for a `u64`.
//! Ranges are any of the standard library's, in the field's own terms: on a reversed field they are written forwards. Those of
//! text are of `&str`: `name.as_str()..` where `name` is a `String`.
//!
//! A bound or a prefix is a cut and not a value. What the field cannot hold is clamped, or matches nothing: a range of
//! a padded number that ends above its digits ends with the greatest number. A fixed value that no key can hold is an
//! error, which names the field and the limit, raised when the scan is planned, explained or run.
//!
//! # Stages and plans
//!
//! Each step has a type of its own. Where a condition decides how far a scan is constrained, make each branch a
//! [`Plan`](crate::plan::Plan):
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
//! /// A function that returns a scan says that it is one.
//! fn newest_of(user: &str) -> impl IntoPlan<EventKey> {
//!     EventKey::scan().user_id(user).site("home")
//! }
//! # assert_eq!(events_of("alice", None)?.requests().len(), 4);
//! # drop(newest_of("alice"));
//! # Ok::<(), PlanError>(())
//! ```
//!
//! A plan knows without a table what is asked for: a request for each bucket that can hold a row, a single one where the
//! salted fields are fixed, a row key and no range where all fields are. [`requests`](crate::plan::Plan::requests) are
//! plain data, for any other client. A plan is data of serde, so that another process can run it.
//!
//! # Order
//!
//! Rows come in the order of their logical keys, the key without its salt, merged from one `ReadRows` stream for each
//! bucket; as they arrive with [`unordered`](crate::Scan::unordered). With a salt after a field that is not fixed,
//! there is no logical order to merge by: then they come in one stream, in the order of the stored keys, and
//! `explain()` says so.
//!
//! # What `explain()` says
//!
//! It prints what a scan will ask for before it does, on a scan builder, a plan and a table's scan: constraints, buckets
//! and why, order, limit and filters, and every range as text, in hexadecimal too where the text has escapes.
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
//! # Streams
//!
//! [`Scan::stream`](crate::Scan::stream) gives [`Rows`](crate::Rows), a `Stream` that is `Send + 'static`. Memory is
//! bounded whatever the number of rows, and a stream that is dropped cancels its requests. An error is its last item;
//! [`Error::last_row_key`](crate::Error::last_row_key) is the row after which a new scan can go on.
//!
//! [`Scan::visit`](crate::Scan::visit) lends each row to a closure instead, where it lies in the answer: for folds over
//! millions of rows, which then allocate nothing for a row whose key and row types borrow their strings.
