//! Rows: writing, changing and reading them.
//!
//! A row is a struct with [`#[derive(Row)]`](macro@crate::Row). Its fields are columns of one family, `cf` unless
//! `#[row(family = "…")]` names another; a field with `#[row(family)]` is a whole family. The derive declares a typed
//! constant for each. [`row`](crate::row) says how each value is stored.
//!
//! ```
//! use std::collections::BTreeMap;
//! use keyderive::row::{Timestamped, Versions};
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey)] struct SensorKey { id: u64 }
//!
//! #[derive(Row)]
//! struct Sensor {
//!     name: String,                    // cf:name
//!     #[row(name = "n", counter)]
//!     readings: i64,                   // cf:n, which `increment` adds to
//!     #[row(family)]
//!     place: Option<Place>,            // the family place: place:city
//!     #[row(family)]
//!     daily: BTreeMap<String, f64>,    // the family daily, a column for each key: daily:METER:0015
//!     level: Option<Timestamped<f64>>, // cf:level, with its timestamp
//!     #[row(family = "h")]
//!     state: Versions<String>,         // h:state, every version of it
//! }
//!
//! #[derive(Row)]
//! struct Place {
//!     city: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let sensors = client.table::<SensorKey, Sensor>("sensors");
//! sensors.create_if_absent().await?; // with the families cf, place, daily and h
//!
//! let key = SensorKey { id: 7 };
//! let place = Some(Place { city: "Zürich".into() });
//! let state = Versions::default();
//! let sensor = Sensor { name: "roof".into(), readings: 0, place, daily: BTreeMap::new(), level: None, state };
//! assert!(sensors.put_if_absent(&key, &sensor).await?);
//!
//! assert_eq!(sensors.increment(&key, Sensor::READINGS, 1).await?, 1);
//! sensors.update(&key).set(Sensor::DAILY.at("METER:0015"), 0.5).clear_family(Sensor::PLACE).await?;
//! assert!(sensors.update(&key).set(Sensor::NAME, "cellar").only_if(Sensor::NAME.equals("roof")).await?);
//!
//! let sensor = sensors.get(&key).await?.expect("it was put");
//! assert_eq!((sensor.name.as_str(), sensor.readings, sensor.daily["METER:0015"]), ("cellar", 1, 0.5));
//! assert!(sensor.place.is_none());
//!
//! // Two columns, without the rest of the row.
//! let found = sensors.select((Sensor::NAME, Sensor::READINGS)).get(&key).await?;
//! assert_eq!(found, Some(("cellar".into(), 1)));
//! # Ok(())
//! # }
//! ```
//!
//! `create_if_absent` creates the families of the row type. Reads ignore columns that the row type does not have, and
//! writes leave them as they are.
//!
//! Calls on single columns take their constants: `Sensor::NAME`, `Sensor::PLACE.city` for a column of a family,
//! `Sensor::DAILY.at("METER:0015")` for an entry of a map. A program that learns a name at run time calls
//! [`Sensor::column("place:city")`](crate::Row::column), which compares it with the row type before anything is sent.
//!
//! | to | call |
//! |---|---|
//! | store a whole row | [`put`](crate::Table::put); many, in order: [`put_all`](crate::Table::put_all) |
//! | store a row whose key is new, at the least cost | [`insert`](crate::Table::insert) |
//! | set the present fields of a value | [`merge`](crate::Table::merge), [`merge_all`](crate::Table::merge_all) |
//! | change some columns | [`update`](crate::Table::update), then `.set(…)`, `.clear(…)`, `.add(…)`; `.await` it, or `.only_if(condition)`; of many rows: [`update_all`](crate::Table::update_all), [`Writer::update`](crate::Writer::update) |
//! | write many rows in the background | [`writer`](crate::Table::writer), then [`close`](crate::Writer::close), whose error lists each failed row with its key |
//! | load a file or a stream; export | [loading](super::loading) |
//! | write a record to two tables | [`put_both`](crate::put_both), whose error says which of the two rows was written |
//! | write only if the row meets a condition | [`put_if_absent`](crate::Table::put_if_absent), [`put_if`](crate::Table::put_if), [`delete_if`](crate::Table::delete_if) with a [`Condition`](crate::row::Condition) |
//! | increment and append at the server | [`increment`](crate::Table::increment), [`append`](crate::Table::append); several at once: [`modify`](crate::Table::modify) |
//! | delete a row | [`delete`](crate::Table::delete) |
//! | read one row; many, in the order of the keys given | [`get`](crate::Table::get), [`exists`](crate::Table::exists); [`get_many`](crate::Table::get_many). If all columns of the row type are optional, a row is there if it has a stored cell, also of another column, that no `ttl` hides, as for [`put_if_absent`](crate::Table::put_if_absent) |
//! | read some columns | [`select`](crate::Table::select), of what a scan's filters and [`latest`](crate::Scan::latest) leave; into a smaller struct: [`rows_as`](crate::Table::rows_as), a table that only reads: `update` the columns of the whole |
//! | read the rows that meet a condition | [`Scan::matching`](crate::Scan::matching), before a `select` |
//! | read stored cells | [`get_raw`](crate::Table::get_raw); without a key type or a row type: [`raw_table`](crate::Client::raw_table) |
//!
//! # What is checked
//!
//! The compiler checks that the row type has the column, that a value has the column's type, that a required column is not cleared, that
//! only counters are incremented, that only aggregates are added to, and that only columns with `Versions` get several versions.
//!
//! The client checks, before it sends anything, that a value can be stored and read back. NaN inside JSON, a `u64`
//! above `i64::MAX`, an empty key of a map, and two versions with one timestamp in a row to `put` are errors that name the column.
//!
//! # Rows that expire
//!
//! `#[row(ttl = "1h")]` hides older cells of a family at once; a garbage collection rule alone leaves them readable for up to a week,
//! sometimes longer. A row whose cells are all hidden does not exist for reads and conditions, and `put_if_absent` replaces it;
//! `delete_rows` deletes it. A write that would be hidden at once is an error. Give all families of a row type the same `ttl`, and put
//! whole rows: if an update renews only one column, a required older column is hidden first, and reads of the row fail. Expiry uses the
//! [client's clock](crate::Client::now): [what each call does with a hidden row](super::promises#rows-that-a-ttl-hides), also when clocks
//! are wrong.
//!
//! # Counters and sums
//!
//! | | a counter, `#[row(counter)] n: i64` | a sum, `n: Sum` in a family of sums |
//! |---|---|---|
//! | changed by | [`increment`](crate::Table::increment), [`modify`](crate::Table::modify) | [`update`](crate::Table::update) with `.add(…)`, in the same request as other changes; in bulk too |
//! | returns the new value | yes | no |
//! | several additions to one row | one after the other | combined by the server |
//! | after a lost response | not retried: a second call may count twice | retried, and counts once |
//! | `put` of the row | overwrites it | leaves it as it is |
//! | in a family with `max_age` or a `ttl` | does not compile, since it would add to a value that has expired: give it a family of its own | expires by windows: `Versions<Sum>` with `window = "1h"` keeps a sum for each hour |
//!
//! Use a counter where the new value decides what to do next, a sum for statistics, and a sum in windows for statistics that
//! expire. [`Min`](crate::row::Min) and [`Max`](crate::row::Max) take values by `.add(…)` too: a `Max` of a time keeps the
//! latest, in whatever order the writes arrive. Each of the three types needs a family of its own.
//!
//! # Messages that arrive twice
//!
//! A queue redelivers a message if the acknowledgement was lost. So let the row record which messages it has counted, in one conditional
//! update:
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use keyderive::row::Sum;
//! use keyderive::{Client, Row, RowKey};
//!
//! # #[derive(RowKey)] struct DepotKey { depot: String, day: u32 }
//! #[derive(Row)]
//! struct Day {
//!     #[row(family = "totals")]
//!     events: Sum,
//!     #[row(family, gc(max_age = "3d"))]
//!     seen: BTreeMap<String, bool>, // a column for each message
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let days = client.table::<DepotKey, Day>("days");
//! # days.create_if_absent().await?;
//! let (key, message) = (DepotKey { depot: "north".into(), day: 20783 }, "m-17".to_owned());
//! for _delivery in 0..2 {
//!     let is_new = Day::SEEN.at(&message).absent();
//!     days.update(&key).set(Day::SEEN.at(&message), true).add(Day::EVENTS, 1).only_if(is_new).await?;
//! }
//! assert_eq!(days.get(&key).await?.unwrap().events.get(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! The update returns false for a message that was counted already. If its outcome [is unknown](crate::Error::is_outcome_unknown), call it
//! again. The tokens of the next section do not help here: they count each *call* once, and a message that arrives twice is two calls.
//!
//! # Sums that count once
//!
//! An update that adds to a sum carries an idempotency token: 16 random bytes and the time of the first attempt, the same in each
//! retry. A server that has applied an update with this token does not apply it again. Servers remember a token for 15 minutes, so the
//! client retries for at most 10, or until the operation's timeout if that is earlier. The server rejects a request that arrives later.
//! It compares the time of the first attempt, by the client's clock, with its own: if the client's clock is 15 minutes slow or more,
//! every addition is rejected; if less, retries are rejected that much earlier. After an error with
//! [`is_outcome_unknown`](crate::Error::is_outcome_unknown) the token is gone, and a second call may count twice.
//!
//! - **The cloud** honours tokens according to its protocol; this library has not been tested against it.
//! - **The embedded Bigtable** honours them, also after its file was reopened. It remembers at most 8 million, and rejects
//!   further ones with `RESOURCE_EXHAUSTED`. On a port, a header in each response tells clients that it honours tokens.
//! - **Google's emulator** ignores them. There an addition is not retried when it may have been applied, and the error says why.
//!
//! For any other server, [`Settings::idempotency_tokens`](crate::client::Settings::idempotency_tokens) tells the client. An update
//! [on a condition](crate::Update::only_if) has no token, and is not retried when it may have been applied. Additions to a
//! minimum or a maximum need none: repeating them changes nothing.
//!
//! # When a row type changes
//!
//! Programs with older and newer row types can share a table if each can read what both write. Save the schema in a file, and compare the
//! type with it in a test:
//!
//! ```
//! # use keyderive::Row;
//! # #[derive(Row)] struct Sensor { name: String }
//! # let saved = Sensor::SCHEMA.to_json();
//! // let saved = include_str!("sensor.json"); // what `Sensor::SCHEMA.to_json()` was before the change
//! let changes = Sensor::SCHEMA.changes_from(&saved)?;
//! assert!(changes.are_compatible(), "{changes}");
//! # Ok::<(), keyderive::row::SchemaError>(())
//! ```
//!
//! [`are_compatible`](crate::row::LayoutChanges::are_compatible) combines two answers: this type [reads older
//! rows](crate::row::LayoutChanges::reads_older_rows), and programs with the older type [can run at the same
//! time](crate::row::LayoutChanges::breaks_older_programs): each reads what the other writes, and neither overwrites or hides it. If you
//! rename an optional column or family without an `alias`, the comparison sees one dropped and one new: compatible, but older values are no
//! longer read. Each change says which program fails on what, and the remedy. If no older program runs while the newer one writes, the
//! first answer is enough.
//!
//! | to | do |
//! |---|---|
//! | add a column | an `Option`, or `#[row(default)]`; `modify_families` first if it is in a new family |
//! | add a column to an `Option` of a struct | as above. Write it only once every program knows it: an older program that stores `None` deletes the columns it knows and leaves the new one, and then newer programs cannot read the row if the struct requires another column |
//! | make it required later | write it in every program, fill the old rows, check with [`verify_rows`](crate::Table::verify_rows), then drop the `Option` and save the new schema over the file |
//! | rename a field | keep the stored name by `#[row(name = "…")]`: nothing else changes |
//! | rename a stored column | [two releases](#a-renamed-column-in-two-releases) |
//! | widen an integer, add variants to an enum | deploy the new type to every reader before any program writes such a value |
//! | change the type otherwise | add a column with the new type, write both, fill the old rows, then drop the first |
//! | remove a column | make it an `Option` in every program first, then drop the field; stored cells stay until the row is deleted |
//!
//! [`changes_from`](crate::row::RowSchema::changes_from) has the whole table; a [file of layouts](super::layouts) compares all tables of a
//! program at once. `#[row(fingerprint = "…")]` on the struct makes any
//! change of the layout fail the build, so that none happens by accident.
//!
//! A release of keyderive that raises [`RowSchema::JSON_VERSION`](crate::row::RowSchema::JSON_VERSION) rejects the saved file. Then check
//! out the type as it was when you saved the file, run its `to_json` under the new release, and save the result.
//!
//! # A renamed column, in two releases
//!
//! A type that writes a column under a new name is not compatible with one that knows only the former name: the older program fails on
//! the first such row if the column is required, and misses its value otherwise. So the first release reads both names and writes
//! the former one. When every program has it, remove the [row type](super::tables#registry) of the release before with
//! [`retire_row_type`](crate::Table::retire_row_type): else the first write of the second release fails. The second release writes the new
//! name. In each step, the programs that run at the same time read what all of them write:
//!
//! | programs that run | stored under | the older one reads | the newer one reads |
//! |---|---|---|---|
//! | the release before | `mail` | `mail` | |
//! | the release before, and release 1 | `mail` | `mail` | `mail` |
//! | release 1 | `mail` | | `mail` |
//! | release 1 and release 2 | `mail` if release 1 wrote last, `email` if release 2 did | either | either |
//! | release 2 | `email`, and `mail` in rows that were not written since | | either |
//! | release 2, and the release before: **never** | either, or both | fails on a row with `email` alone | `email`, also where the other program has written `mail` since |
//!
//! ```
//! # use keyderive::{Client, RowKey};
//! /// The release before.
//! mod before {
//!     #[derive(keyderive::Row)]
//!     pub struct User {
//!         pub mail: String,
//!         pub visits: Option<u32>,
//!     }
//! }
//!
//! /// Reads both names, and writes the former one.
//! mod release1 {
//!     #[derive(keyderive::Row)]
//!     pub struct User {
//!         #[row(alias = "email")]
//!         pub mail: String,
//!         pub visits: Option<u32>,
//!     }
//! }
//!
//! /// Reads both names, and writes the new one.
//! mod release2 {
//!     #[derive(keyderive::Row)]
//!     pub struct User {
//!         #[row(alias = "mail")]
//!         pub email: String,
//!         pub visits: Option<u32>,
//!     }
//! }
//!
//! # use keyderive::Row as _;
//! # #[derive(RowKey, Clone)] struct UserKey { id: u64 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A test of each release.
//! assert!(release1::User::SCHEMA.changes_from(&before::User::SCHEMA.to_json())?.are_compatible());
//! assert!(release2::User::SCHEMA.changes_from(&release1::User::SCHEMA.to_json())?.are_compatible());
//! let at_once = release2::User::SCHEMA.changes_from(&before::User::SCHEMA.to_json())?;
//! assert!(at_once.reads_older_rows() && at_once.breaks_older_programs(), "{at_once}");
//!
//! # let client = Client::embedded();
//! let oldest = client.table::<UserKey, before::User>("users");
//! let older = client.table::<UserKey, release1::User>("users");
//! let newer = client.table::<UserKey, release2::User>("users");
//! # oldest.create_if_absent().await?;
//! # let key = UserKey { id: 7 };
//! # let stored = async || -> Result<Vec<String>, keyderive::Error> {
//! #     let row = oldest.get_raw(&key).await?.expect("a row");
//! #     Ok(row.cells().map(|cell| String::from_utf8_lossy(cell.qualifier()).into_owned()).collect())
//! # };
//!
//! // The release before, and release 1.
//! oldest.put(&key, &before::User { mail: "a@example.com".into(), visits: None }).await?;
//! assert_eq!(older.get(&key).await?.unwrap().mail, "a@example.com");
//! older.update(&key).set(release1::User::MAIL, "b@example.com").await?;
//! assert_eq!(oldest.get(&key).await?.unwrap().mail, "b@example.com");
//! assert_eq!(stored().await?, ["mail"]);
//!
//! // Release 1 in every program. Release 2 is not to meet the release before, and says so.
//! # older.put(&key, &release1::User { mail: "b@example.com".into(), visits: None }).await?;
//! let new = release2::User { email: "c@example.com".into(), visits: None };
//! assert!(newer.put(&key, &new).await.unwrap_err().is_table_mismatch());
//! for before in older.row_types().await?.iter().filter(|row_type| !row_type.is_own) {
//!     older.retire_row_type(&before.fingerprint).await?;
//! }
//!
//! // Release 1 and release 2. Whoever writes the column deletes the other name.
//! assert_eq!(newer.get(&key).await?.unwrap().email, "b@example.com");
//! newer.put(&key, &new).await?;
//! assert_eq!(stored().await?, ["email"]);
//! assert_eq!(older.get(&key).await?.unwrap().mail, "c@example.com");
//! older.update(&key).set(release1::User::MAIL, "d@example.com").await?;
//! assert_eq!(stored().await?, ["mail"]);
//! assert_eq!(newer.get(&key).await?.unwrap().email, "d@example.com");
//!
//! // A write of another column leaves the name as it is, and conditions look under both.
//! newer.update(&key).set(release2::User::VISITS, 1).await?;
//! assert_eq!(stored().await?, ["mail", "visits"]);
//! let email = release2::User::EMAIL;
//! assert!(newer.update(&key).set(email, "e@example.com").only_if(email.equals("d@example.com")).await?);
//! assert_eq!(stored().await?, ["email", "visits"]);
//!
//! // The release before cannot read that, and does not write any more if it is started again.
//! assert!(oldest.get(&key).await.is_err());
//! let oldest = client.table::<UserKey, before::User>("users");
//! assert!(oldest.update(&key).set(before::User::MAIL, "lost@example.com").await.unwrap_err().is_table_mismatch());
//! # Ok(())
//! # }
//! ```
//!
//! So each deployment can be rolled back by one release, until the row type of that release is retired: then its writes are refused. The
//! release before can run again only if no row has the new name: release 1 gives a row its former name when it writes the column.
//!
//! Keep the alias until no row has a value under the former name. To get there, rewrite each row by an update on the condition that the
//! value is unchanged, so that no newer value is overwritten:
//!
//! ```
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(Row)] struct FormerUser { mail: String }
//! # #[derive(RowKey)] struct UserKey { id: u64 }
//! # #[derive(Row)]
//! # struct User { #[row(alias = "mail")] email: String }
//! # #[derive(Row)] struct NextUser { email: String }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! # let former = client.table::<UserKey, FormerUser>("users");
//! # former.create_if_absent().await?;
//! # former.put_all((0..5).map(|id| (UserKey { id }, FormerUser { mail: "a@example.com".into() }))).await?;
//! # let users = client.table::<UserKey, User>("users");
//! # assert!(client.table::<UserKey, NextUser>("users").verify_rows().await.is_err());
//! # users.retire_row_type(&users.row_types().await?[0].fingerprint).await?;
//! let mut rows = users.scan(UserKey::scan()).stream();
//! while let Some(row) = rows.next().await {
//!     let (key, User { email }) = row?;
//!     users.update(&key).set(User::EMAIL, &email).only_if(User::EMAIL.equals(&email)).await?;
//! }
//! # assert_eq!(client.table::<UserKey, NextUser>("users").verify_rows().await?, 5);
//! # Ok(())
//! # }
//! ```
//!
//! Then drop the alias: `changes_from` reports the dropped alias, since it cannot know that you rewrote all rows, so save the new schema
//! over the file. Before that release, retire the row types of release 1 and release 2.
//!
//! # Atomicity
//!
//! A call on one row is one request, which Bigtable applies completely or not at all. Nothing is atomic across rows:
//! `put_all`, a writer and a load write each row on its own, and the error of `put_both` says which of its two rows was
//! written.
//!
//! # Retries of writes
//!
//! A write is retried after a transient failure if repeating it leaves the same row: at most one more version of the same values. Additions
//! to a sum are retried with their token. Conditional writes, increments and appends are retried only if they were certainly not applied:
//! they were not sent, or the server rejected them. After an error with [`is_outcome_unknown`](crate::Error::is_outcome_unknown) the write
//! may or may not have been applied, and the program must check: [errors](super::errors#unknown-outcomes).
//!
//! [Guarantees of each call](super::promises) covers concurrent calls, lost responses, dropped futures and killed
//! processes.
