//! Compiler errors that do not name the remedy, and what to write instead.
//!
//! Most messages say it themselves. The ones below are Rust's own, which no library can change.
//!
//! | the compiler says | you have | write |
//! |---|---|---|
//! | `if` and `else`, or `match` arms, have incompatible types: expected `EventKeyScan<Fixed<2>>`, found `EventKeyScan<Fixed<1>>`; or mismatched types in `scan = scan.site(…)` | branches that fix different fields | [`into_plan`](#branches-of-a-scan) in each branch |
//! | expected `bool`, found `Condition<Event>`, after `if` | a condition, which the server evaluates | `events.update(&key).only_if(condition)`, `put_if`, `delete_if`; or read the row, and compare its fields |
//! | expected `bool`, found `Condition<Event>`; cannot apply unary operator `!` | `&&`, `\|\|` or `!` between conditions | [`.and(…)`, `.or(…)`, `.not()`](#conditions) |
//! | no implementation for `Condition<Event> & Condition<Event>`, or `\|` | the same | the same |
//! | binary operation `==`, or `>`, cannot be applied to type `Column<Event, …>` | a comparison of a column | `Event::KIND.equals("buy")`, `Event::AMOUNT.greater_than(5)` |
//! | type annotations needed: consider giving this closure parameter an explicit type, in `matching`, `only_if`, `put_if`, `delete_if` | a closure; the server compares, and calls none | a [condition](#conditions): `Event::KIND.equals("buy")`; of keys, [`filter_key`](crate::Scan::filter_key) takes a closure |
//! | cannot infer type for type parameter `B` declared on the method `visit` | a `visit` without its two types | `.visit::<EventKey, Error>(\|key, row\| …)` |
//! | expected `Result<(), _>`, found `async` closure body; `await` is only allowed inside `async` functions; or type annotations needed, in `visit` | an `async` closure, or calls that `.await` in one | [a stream](#async-work-in-visit) |
//! | expected `RowRef`, found `Event`; no field `kind` on type `RowRef` | the row in a closure of `visit` | `row.read::<Event>()?` |
//! | `impl Future<…>` is not an iterator | no `.await` before the list | `.collect().await?` |
//! | `Scan<…>` is not a future | a scan that is not run | `.collect().await?`, or `.stream()` |
//! | no method named `collect` found for struct `EventKeyScan<…>` | the builder of a plan, without a table | `events.scan(EventKey::scan()).collect().await?` |
//! | mismatched types: expected a column of one type, found another, in `select([…])` | columns in an array | a tuple: `select((User::NAME, User::AGE))` |
//! | cannot find attribute `reverse_timestamp` in this scope | an attribute by another name | `#[reverse_ts]`; [all attributes](super::attributes) |
//! | `Select<…>` is not a future | a selection that says no row | `users.select(User::NAME).get(&key).await?`, or `.scan(plan)` |
//! | this method takes 1 argument but 2 were supplied, of `select` | several columns | a tuple: `select((User::NAME, User::AGE))` |
//! | expected `Condition<Selected<…>>`, of `matching` after `select` | a condition of a selection | `matching` before `select` |
//! | this method takes 1 argument but 2 arguments were supplied, of `page` | a page's number and its size | the size: `.page(10)`, and for the next page `.after(token).page(10)` |
//! | `Page<…>` is not an iterator | a page | `page.rows` |
//! | the method exists for struct `Scan<…>`, but its trait bounds were not satisfied: `ComesAtOnce` | an iterator's method on a scan | `.stream()`, whose rows [`StreamExt`](https://docs.rs/futures-util/latest/futures_util/stream/trait.StreamExt.html) combines; [`visit`](crate::Scan::visit) to add up; or `.collect().await?`, a list |
//! | no method named `site` found for struct `Scan<…>` | a field of the key, on the scan of a table | `events.scan(EventKey::scan().user_id("alice").site("home"))` |
//! | expected `&str`, found `Vec<…>` | several values for a field | `user_id_any_of(users)` |
//! | expected `RowFilter`, found `Condition<…>` | a condition for `filter` | `.matching(…)` |
//! | no associated function `name` found for struct `User` | a column as a method | the constant: `User::NAME` |
//! | one of the expressions' fields has a method of the same name: `.draft.any_of` | a method of a field without the field's name | `user_id_any_of(…)`, `user_id_range(…)` |
//! | no method named `limit` found for struct `EventKeyScan<…>` | a limit of a plan | `events.scan(EventKey::scan()).limit(10)` |
//! | `Stream` is not implemented for `Vec<…>` | a list for `load` | `load_iter(rows)` |
//! | cannot index into a value of type `MapFamily<…>` | an entry of a map | `User::PREFS.at("x")` |
//! | no associated item named `NotFound` found for struct `Error` | the kind of an error | `error.is_not_found()`, or `error.kind()` |
//! | no `Sum` in the root (also `Versions`, `Timestamped`, `Condition`, `RowFilter`; `Settings`; `Plan`) | an import of what the root does not have | its module: `keyderive::row::Sum`, `keyderive::client::Settings`, `keyderive::plan::Plan` |
//! | cannot find attribute `serde` in this scope | an attribute of serde on a row or a key, which the derives ignore | `#[row(name = "n")]`; [all of them](macro@crate::Row) |
//! | cannot create non-exhaustive struct, of `Settings` | settings as a struct | `client.with(\|settings\| settings.serving())` |
//! | the method `get` exists for struct `Table<K, R>`, but its trait bounds were not satisfied: `K: OwnedRowKey` | a function over any table | [`K: TableKey`, `R: OwnedRow`](#generic-code) |
//!
//! # Branches of a scan
//!
//! Each step of a scan has its own type, which counts the fields that are fixed; a plan has one:
//!
//! ```
//! # use keyderive::RowKey;
//! use keyderive::plan::{Plan, PlanError};
//!
//! # #[derive(RowKey)]
//! # struct EventKey { user_id: String, site: String, at: u64 }
//! fn events_of(user: &str, site: Option<&str>) -> Result<Plan<EventKey>, PlanError> {
//!     let scan = EventKey::scan().user_id(user);
//!     match site {
//!         Some(site) => scan.site(site).into_plan(),
//!         None => scan.into_plan(),
//!     }
//! }
//! # assert!(events_of("alice", None)?.requests().len() == 1 && events_of("alice", Some("home"))?.requests().len() == 1);
//! # Ok::<(), PlanError>(())
//! ```
//!
//! `table.scan(…)` takes the plan as it takes a scan.
//!
//! # Conditions
//!
//! `&&` and `||` are Rust's, for `bool` alone. A [`Condition`](crate::row::Condition) is joined by methods:
//!
//! ```
//! # use keyderive::{Client, Error, Row, RowKey};
//! # #[derive(RowKey)] struct EventKey { user_id: String, at: u64 }
//! # #[derive(Row)] struct Event { kind: String, amount: i64 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let events = Client::embedded().table::<EventKey, Event>("events");
//! # events.create_if_absent().await?;
//! # let key = EventKey { user_id: "alice".into(), at: 1 };
//! # events.put(&key, &Event { kind: "buy".into(), amount: 7 }).await?;
//! let large = Event::KIND.equals("buy").and(Event::AMOUNT.at_least(7));
//! let other = large.clone().not().or(Event::AMOUNT.at_least(1_000));
//! assert_eq!(events.scan(EventKey::scan()).matching(large).count().await?, 1);
//! assert_eq!(events.scan(EventKey::scan()).matching(other).count().await?, 0);
//! # Ok(())
//! # }
//! ```
//!
//! # Async work in visit
//!
//! The closure of [`visit`](crate::Scan::visit) borrows a row, and runs between two rows: it cannot `.await`. Take owned rows from
//! a [`stream`](crate::Scan::stream) for calls that do:
//!
//! ```
//! # use keyderive::{Client, Error, Row, RowKey};
//! # #[derive(RowKey)] struct EventKey { user_id: String, at: u64 }
//! # #[derive(Row)] struct Event { kind: String }
//! # async fn send(_: &str) -> Result<(), Error> { Ok(()) }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let events = Client::embedded().table::<EventKey, Event>("events");
//! # events.create_if_absent().await?;
//! # events.put(&EventKey { user_id: "alice".into(), at: 1 }, &Event { kind: "buy".into() }).await?;
//! let mut rows = events.scan(EventKey::scan().user_id("alice")).stream();
//! while let Some(row) = rows.next().await {
//!     let (_key, event) = row?;
//!     send(&event.kind).await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Generic code
//!
//! A function over any table names what its calls need:
//!
//! | bound | for |
//! |---|---|
//! | `K: TableKey` | every call of a table |
//! | `K: RowKey + TableKey` | what needs the layout of the key type: [`Client::table`](crate::Client::table), plans from `K::scan()`, [`Scan::visit`](crate::Scan::visit) |
//! | `R: OwnedRow` | calls that return rows: `get`, `collect`, `stream` |
//! | `R: Row` | calls that write rows: `put`, `load`; an `OwnedRow` is a `Row` |
//! | `impl IntoPlan<K>` | an argument that is a scan or a plan |
//!
//! Rows come with a `K::Stored`, which is `K`, or a [`RawKey`](crate::key::RawKey) if a field is hashed.
//!
//! `Table<K, R>` is one table of whole rows. For others, name the third type too, `Table<K, R, S>`:
//!
//! | bound | for |
//! |---|---|
//! | [`S: Reads`](crate::Reads) | reads of any table, also one that is [re-keyed](super::rekeying), or a [part](crate::Table::rows_as) of the rows |
//! | [`S: Writes`](crate::Writes) | reads and writes, of whole rows |
//! | [`S: OneTable`](crate::OneTable) | what a table has only while it is not re-keyed: scans by one plan, exports, partitions; with `Writes`, loads and writers |
//!
//! ```
//! use keyderive::key::TableKey;
//! use keyderive::plan::IntoPlan;
//! use keyderive::{Client, Error, OwnedRow, RowKey, Table, Writes};
//!
//! /// Whether the table is re-keyed or not.
//! async fn copy_row<K: TableKey, R: OwnedRow, S: Writes>(table: &Table<K, R, S>, from: &K, to: &K) -> Result<bool, Error> {
//!     let Some(row) = table.get(from).await? else { return Ok(false) };
//!     table.put(to, &row).await?;
//!     Ok(true)
//! }
//!
//! /// By a plan of the key type.
//! async fn all<K: RowKey<Scan: IntoPlan<K>> + TableKey, R: OwnedRow>(client: &Client, name: &str) -> Result<Vec<(K::Stored, R)>, Error> {
//!     client.table::<K, R>(name).scan(K::scan()).collect().await
//! }
//!
//! struct Repository<K: TableKey, R> {
//!     table: Table<K, R>,
//! }
//!
//! impl<K: TableKey, R: OwnedRow> Repository<K, R> {
//!     async fn load(&self, key: &K) -> Result<Option<R>, Error> {
//!         self.table.get(key).await
//!     }
//!
//!     async fn store(&self, key: &K, row: &R) -> Result<(), Error> {
//!         self.table.put(key, row).await
//!     }
//!
//!     async fn first(&self, scan: impl IntoPlan<K>, most: u64) -> Result<Vec<(K::Stored, R)>, Error> {
//!         self.table.scan(scan).limit(most).collect().await
//!     }
//! }
//! # use keyderive::Row;
//! # #[derive(RowKey)] struct UserKey { id: u64 }
//! # #[derive(Row)] struct User { name: String }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let client = Client::embedded();
//! # let users = Repository { table: client.table::<UserKey, User>("users") };
//! # users.table.create_if_absent().await?;
//! # users.store(&UserKey { id: 7 }, &User { name: "Ada".into() }).await?;
//! # assert!(users.load(&UserKey { id: 7 }).await?.is_some());
//! # assert!(copy_row(&users.table, &UserKey { id: 7 }, &UserKey { id: 8 }).await?);
//! # assert_eq!(users.first(UserKey::scan(), 10).await?.len(), 2);
//! # assert_eq!(all::<UserKey, User>(&client, "users").await?.len(), 2);
//! # Ok(())
//! # }
//! ```
