//! When a key must change: three ways, what each costs, and a checklist for the one that moves a table while programs use it.
//!
//! A row cannot change its key: another key is another row. [`choosing`](super::choosing) and
//! [`designs`](crate::designs) help to choose well at first; this page is for afterwards.
//!
//! | | a salt from a date on | [re-keying](crate::rekey) | a [copy](crate::Table::copy_to) |
//! |---|---|---|---|
//! | what can change | the salt of keys with a time | every field, their order, the salt, the layout | the same, and the rows as well |
//! | rows that are stored | stay | move | are copied |
//! | programs that write | continue | continue, but wait once for about 7 s | must be stopped, or their writes are lost |
//! | programs that read | continue | continue; unordered scans wait too | continue, on the old table |
//! | what programs change | attributes of the key type | how the table is opened, and scans, which take a plan for each key; in two releases | one call |
//! | going back | remove the attribute, before the bound and before [`advance_stamp`](crate::Table::advance_stamp) | until [`finish`](crate::rekey::Migration::finish), without losing writes; with [`rekeyed_by_row`](crate::Client::rekeyed_by_row), impossible from the state `copying` on | use the old table, without the writes since |
//! | cost | scans read the buckets of each salt | a conditional write per row, at about a tenth of the rate of a load; both tables stored and compared; [more requests for each call](crate::rekey#what-it-costs) meanwhile | a bulk write per row; both tables stored and compared |
//!
//! - **A salt from a date on** is for time series whose writes outgrow their buckets: existing rows keep their keys, and the time, date or
//!   number in a key decides which salt it has. [`attributes`](super::attributes) describes `#[salt(…, since(…))]`. It cannot change
//!   anything but the salt, and needs a fixed width of that field and of all fields after it.
//! - **Re-keying** is for tables that programs keep using: [`Client::rekeyed`](crate::Client::rekeyed) opens the old and the new table
//!   together, and routes each call by the state of the re-keying. It cannot move aggregates or hashed keys, and needs an [app
//!   profile](super::deployment#app-profiles) with single-row transactions.
//! - **A copy** is the simplest, if you can stop the writers for as long as it takes.
//!
//! # Re-keying, step by step
//!
//! ```
//! # use keyderive::{Client, Row, RowKey};
//! /// The key so far.
//! #[derive(RowKey, Debug)]
//! #[salt(range = 4, over = "user")]
//! struct OldKey {
//!     user: String,
//!     at: u64,
//! }
//!
//! /// The key from now on.
//! #[derive(RowKey, Debug)]
//! #[salt(range = 64, over = "user,at")]
//! struct NewKey {
//!     user: String,
//!     at: u64,
//! }
//!
//! impl From<OldKey> for NewKey {
//!     fn from(OldKey { user, at }: OldKey) -> Self {
//!         Self { user, at }
//!     }
//! }
//!
//! impl From<&NewKey> for OldKey {
//!     fn from(NewKey { user, at }: &NewKey) -> Self {
//!         Self { user: user.clone(), at: *at }
//!     }
//! }
//!
//! # #[derive(Row, Clone, Debug, PartialEq)] struct Event { kind: String }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # tokio::time::pause();
//! # let client = Client::embedded();
//! # client.table::<OldKey, Event>("events").create().await?;
//! // In each program, in place of `client.table::<OldKey, Event>("events")`.
//! let events = client.rekeyed::<OldKey, NewKey, Event>("events", "events-64").await?;
//! let (key, event) = (NewKey { user: "alice".into(), at: 7 }, Event { kind: "login".into() });
//! events.put(&key, &event).await?;
//! assert_eq!(events.get(&key).await?, Some(event.clone()));
//! let newest = events.scan(NewKey::scan().user("alice"), OldKey::scan().user("alice")).reversed().limit(5);
//! assert_eq!(newest.collect().await?.len(), 1);
//!
//! // In the operator's program.
//! let migration = events.migration().on_progress(|progress| eprintln!("{progress}"));
//! let findings = migration.check().await?;
//! assert!(findings.is_ok(), "{findings}");
//! migration.run().await?;
//! assert!(migration.verify().await?.is_equal());
//! migration.finish().await?;
//!
//! // In each program, from then on.
//! let events = client.table::<NewKey, Event>("events-64");
//! assert_eq!(events.get(&key).await?, Some(event));
//! # Ok(())
//! # }
//! ```
//!
//! A re-keying is the new key type, two conversions of three lines, and these calls. If a new key needs a field of the row,
//! [`rekeyed_by_row`](crate::Client::rekeyed_by_row) takes a closure instead of one of the conversions. The example `rekey` in the
//! repository runs while others write, with a progress bar and heatmaps of both layouts.
//!
//! What happens to the tables, by state:
//!
//! ```text
//!            old table                 new table                 writes
//! old        ████████████ is written                             old table
//! paused     ████████████              empty                     wait, about 7 s
//! copying    ████████████ is copied →  ██░░██░█░░░░ is written   new table, after a copy of the row
//! moved      ████████████ stays        ████████████ is written   new table
//! new        can be deleted            ████████████ is written   new table
//! ```
//!
//! For every row, exactly one table is current: the new one, once its row has an *origin* (a cell, in a family of its own, which says that
//! the row was copied or written); until then, the old one.
//!
//! `roll_back()` does the same with the tables exchanged: through `rollback_paused` and `rollback_copying` to `rolled_back`.
//! [`State`](crate::rekey::State) has a diagram of all states.
//!
//! # The operator's checklist
//!
//! A *driver* is a process that runs [`run`](crate::rekey::Migration::run), [`finish`](crate::rekey::Migration::finish) or
//! [`roll_back`](crate::rekey::Migration::roll_back). A *lease* is how long a process may rely on the state it last read.
//! [`rekey`](crate::rekey#terms) defines all terms.
//!
//! 1. **Before.**
//!    - SQL that reads the key columns of the old table keeps working; the new one gets a row key schema too, if the new key type has one.
//!      A row that is deleted meanwhile remains as a bare origin: SQL counts it until the end.
//!    - Back up the [registry](super::tables#registry), the table `keyderive`, with both tables. It has the state: a program that finds an
//!      older state, or none, fails with [`is_table_mismatch`](crate::Error::is_table_mismatch). Restore all three from the same moment, or
//!      none of them.
//!    - The [app profile](super::deployment#app-profiles) of every program, and of the operator's, routes to one cluster and allows
//!      single-row transactions. The operator's program needs the [permissions](super::deployment#permissions) of `run`, the others
//!      `bigtable.tables.get`, and reads of the table `keyderive`. Open the table once with the operator's account first: it creates that
//!      table, if there is none.
//!    - Tools that declare tables, such as Terraform, leave the [families](super::tables#layout) of both tables alone: one that removes
//!      `keyderive-origin` from the new table removes the origins, and the old rows count again.
//!    - Writes wait for about 7 s, with a [lease](crate::rekey::Migration::lease) of 4 s. A `total_timeout` of 15 s or more for
//!      `mutate_row`, `mutate_rows`, `check_and_mutate_row` and `read_modify_write_row` outlasts it. With a shorter one, as with
//!      [`serving`](crate::client::Settings::serving), expect [`is_deadline_exceeded`](crate::Error::is_deadline_exceeded) for some
//!      seconds, in both directions; such a write can be repeated if the error [`is_retryable`](crate::Error::is_retryable).
//!    - Afterwards all writes that waited are sent at once: raise `max_waiting` to what a program writes in ten seconds, or some fail
//!      with [`is_overloaded`](crate::Error::is_overloaded).
//!    - Take deletion protection off the old table until the end: the re-keying replaces its stamp.
//!    - Add no column families until the end.
//! 2. **Deploy the release with `rekeyed` everywhere.** It neither creates nor verifies tables: take out the
//!    [`create_if_absent`](crate::Table::create_if_absent) and [`verify`](crate::Table::verify) of the old table, which fail from `paused` on.
//!    Where the table has no rows, skip to the release of step 8. In the state `old`, the release does what the one before did, and reads
//!    one small row a second; with [`rekeyed_by_row`](crate::Client::rekeyed_by_row), writes read the row first, and some fail. Until the
//!    end, nothing may use [`load`](crate::Table::load), [`writer`](crate::Table::writer), [`export`](crate::Table::export), `delete_rows`
//!    or `drop_rows` of the old table. All programs and the driver must have the same conversions: from `paused` on, one with others is
//!    [rejected](crate::rekey#one-mapping).
//! 3. **Stop every other writer**, such as a job that runs at night with an older release: what it writes is not read until `verify()`
//!    reports it and you repair it. From `paused` on, a program that opens the old table by itself is rejected at its first request,
//!    with [`is_table_mismatch`](crate::Error::is_table_mismatch). Loads, imports and writers that run already fail at
//!    their [next check](super::tables#layout), within 10 s. Not rejected are single calls of programs that run already, raw and `unchecked()`
//!    tables, other clients such as `cbt`, and programs that [cannot read the table's definition](super::tables#layout). `verify()`
//!    finds what they wrote, unless the same row was written through `rekeyed` as well: that write hides theirs, which is lost.
//! 4. **`check()`** reads every row. If a [mapping of field names](crate::dynamic::KeyMapping) suffices, this and the next steps can also
//!    be `keyderive rekey check`, `run`, `status`, `verify`, `finish` and `roll-back`. Repair what it finds: foreign rows, rows without a
//!    new key, rows that are too large. It reports the first 100; a row that becomes too large afterwards stops `run()` with an error that
//!    names it.
//! 5. **`run()`** goes to `moved`. Watch its progress, the metrics `keyderive.rekey.rows` and `keyderive.rekey.state`, the latency
//!    of writes, and the load of the cluster. It slows down when the server rejects copies. To stop it in `copying`, end the program; to go
//!    on, call `run()` again, anywhere.
//! 6. **In `moved`**, reads and writes cost what they did before, except increments, appends and conditional writes, which cost one more
//!    request. Stay there for as long as you may want to [`roll_back()`](crate::rekey::Migration::roll_back), which keeps all writes; with
//!    [`rekeyed_by_row`](crate::Client::rekeyed_by_row) there is no way back from `copying` on. Run `verify()` at any time.
//! 7. **`verify()` once more, and then `finish()`**, which does not compare: what only the old table has is lost with it. It replaces the
//!    stamp of the new table and changes the state to `new`: there is no way back, even if a later step fails. Then it drops the origins
//!    and lets plain programs in, which takes longer the more rows there are. If it stops before its end, call it again.
//! 8. **Deploy the release with the plain new table**, and then delete the old one. Stop programs of the release before `rekeyed` first: if
//!    one of them still starts with `create_if_absent`, it creates an empty table under the old name. A program of the release before keeps working with its
//!    open handle, but cannot start any more: [`rekeyed`](crate::Client::rekeyed) fails with [`is_not_found`](crate::Error::is_not_found)
//!    once the old table is deleted. **If both key types share one table**, by their tags, do not delete it: drop the old rows with
//!    `.unchecked().drop_rows(OldKey::scan())`, unchecked since the table is not stamped with the old key type any more.
//!
//! To go back instead: call `roll_back()`, deploy the release with the plain old table, and delete the new one. Another attempt needs
//! another name for the new table.
//!
//! At 3 a.m.:
//!
//! | symptom or question | what to do |
//! |---|---|
//! | where is it? | [`state()`](crate::rekey::Migration::state) |
//! | writes time out | they wait in `paused` and in `rollback_paused`, for about 7 s with the default lease. If it lasts longer, no driver runs. In `paused` call `run()` to go on or `roll_back()` to go back, in `rollback_paused` call `roll_back()`, anywhere; it leaves the state within some seconds |
//! | is it safe to stop the driver? | no row is lost, whenever it ends. But in `paused` and `rollback_paused` writes wait until a driver runs again: look at `state()` first, and start another one at once if it is one of these |
//! | every call fails with [`is_unavailable`](crate::Error::is_unavailable), and the text says that the state could not be read | the state is in the row `rekey/<old table>/<tag>` of the table `keyderive`; while that row cannot be read, nothing is read or written for longer than a lease. Look whether that table exists, whether the account may read it, and whether Bigtable reports an incident. Calls recover by themselves |
//! | a driver is started again and again, and the state stays the same | before each change it waits for a lease and a quarter, and a second or two, anew after each start: let it run for ten seconds |
//! | the rows of a user have to be erased | delete them through `client.rekeyed::<Old, New, ()>(…)`: its scans also give rows that a `ttl` hides. The other table keeps its copies until you delete that table, and the registry some keys until `finish` or the next attempt |
//! | a program that opens a table by itself is rejected, although the state is `new` or `rolled_back` | `finish()` or `roll_back()` did not complete: call it again |
//! | `run()` or `roll_back()` stops, since rows differ | a program wrote one of the tables by itself: stop it. Readers and writers continue meanwhile. Repair what `verify()` lists, as below, and call `run()` or `roll_back()` again: it copies what is `Missing` |
//!
//! | difference | what to do |
//! |---|---|
//! | `Missing` | in `copying` nothing: it is copied. In `moved` a program that does not know of the re-keying wrote it, and it is lost if you do nothing: read it from the old table, by `client.table(…).unchecked()`, and put it through `rekeyed` |
//! | `Cells` | read the row of each table, by `client.table(…).unchecked()`, and put what is right through `rekeyed` |
//! | `WithoutOrigin` | read the row of the new table, by `client.table(…).unchecked()`: if it is right, put it through `rekeyed`; else delete it through `rekeyed` |
//! | `Extra` | the original was deleted by another program or, with `rekeyed_by_row`, now gives another key. Callers still read this copy. If it is right, put it through `rekeyed`; if the row should be gone, delete it through `rekeyed` |
//!
//! Cells that both tables have must have the same values, however old they are. A cell that only one table has is a difference, unless the
//! garbage collection rule of its family allows its removal, by the clock of the driver and up to a minute early: so you can re-key tables
//! whose rows expire, and `verify()` does not list what garbage collection has removed from one of them.
//! [`Table::diff`](crate::Table::diff) compares by the same rule.
//!
//! # What it cannot do
//!
//! - Aggregates: an addition that arrives late would count in a copy, or not. Stop the writers, and use [`copy_to`](crate::Table::copy_to).
//! - Hashed fields, in the old key or the new one: each table's keys are made from the other's.
//! - Pages, `visit`, `explain`, `with_stats` and counts of a table: [`Rekeyed`](crate::rekey::Rekeyed) does not have them, and its scans
//!   take a plan for each key. For pages while it runs, scan with a limit and a range that begins after the last row of the page before.
//!   Page tokens name the table and its key: the new table rejects the old one's.
//! - Ordered scans, if the keys differ in their fields or the order of them (even if the plan fixes those), or if the conversions change a
//!   field's value: use [`unordered`](crate::Scan::unordered) scans, which fail when the state changes, and repeat them. For the newest
//!   rows of such a table read a range of times that has enough of them, in both plans, and sort it.
//! - Stop a request that timed out from arriving later; nor can a plain table. A write that arrives after the state has changed twice,
//!   which takes longer than a lease and a quarter, can be read and vanish again.
