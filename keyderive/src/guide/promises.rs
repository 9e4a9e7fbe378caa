//! Guarantees: what each write guarantees under concurrent calls, after failures and next to older programs, and what each call does with
//! rows that a `ttl` hides.
//!
//! - **A request.** A call on one row sends one request; a call on many rows sends several, each of many rows.
//! - **Atomicity.** Bigtable applies all changes that one request makes to one row, or none, and readers of the row see all or none.
//!   Nothing is atomic over several rows.
//! - **A retry** sends the same request again, with only the rows that failed. If only the response was lost, it applies their changes a
//!   second time, over what others have written in between.
//!
//! "Retried" in the tables below is about a *lost response*: the server may have applied the request, and the client does not know.
//! "Not retried" means that the call then fails with [`is_outcome_unknown`](crate::Error::is_outcome_unknown). Any call is retried, within
//! its settings, after a transient failure that proves that nothing was applied.
//!
//! A call of a [`DynTable`](crate::DynTable) has the guarantees of the [`Table`](crate::Table) call of the same name, its `add` those of
//! [`Update::add`](crate::Update::add), and [`Client::dynamic_migration`](crate::Client::dynamic_migration) those of a migration of
//! [`Rekeyed`](crate::rekey::Rekeyed).
//!
//! Unless a call's row says otherwise:
//!
//! - **Concurrent calls** on the same row are applied one after the other, each as a whole.
//! - **Dropped or killed**: if the future of a call is dropped, or its process is killed, each row is changed whole or not at all. A
//!   request in flight can still be applied later.
//! - **The client's clock** has no effect, since Bigtable gives cells its own time. The client's clock is its machine's, or
//!   an embedded Bigtable's in the process, which a test can move. [`Client::now`](crate::Client::now) shows it.
//! - **A table that is replaced meanwhile**, by a re-keying or under its name: a call that takes longer than 10 s [fails](super::tables#layout),
//!   and says how many of its rows may be in a table that is not read.
//! - **An older program**, whose row type has fewer columns than the stored rows, writes its own columns whole, and leaves the others
//!   as they are.
//! - **A part of a row type**, by [`rows_as`](crate::Table::rows_as), only reads: no call here that writes, such as a load or a writer,
//!   compiles for it.
//!
//! # Rows
//!
//! | call | what holds | what does not, and what to do |
//! |---|---|---|
//! | [`put`](crate::Table::put) | The last one applied wins, whole: no reader sees columns of two. Retried | A retry can return an older value, whole, over a newer one: [where that matters](#what-no-client-can-guarantee), use `put_if` |
//! | [`insert`](crate::Table::insert) | Each one is applied whole. Retried | Concurrent inserts of one row mix their columns: insert a key once, or use `put`. A retry leaves one more version of the same value |
//! | [`merge`](crate::Table::merge), [`update`](crate::Table::update) | In each column, the last one applied wins. Retried | A retry can return an older value of the columns that it changes, as for `put` |
//! | [`put_if`](crate::Table::put_if) | At most one of several concurrent calls returns true, if the row that it puts changes what the condition compares. The condition also guards a request that is applied late | Not retried: [repeat it](super::errors#unknown-outcomes), since a read alone proves nothing. A wrong clock affects a compared `version`, and conditions in a family with `ttl`, which [expires early or late](#rows-that-a-ttl-hides) |
//! | [`Update::only_if`](crate::Update::only_if) | At most one of several concurrent calls returns true, if the update changes what the condition compares. The condition also guards a request that is applied late | As `put_if` |
//! | [`put_if_absent`](crate::Table::put_if_absent) | At most one of several concurrent calls returns true. A row with any cell that no `ttl` hides stays, also if the row type lacks its column, and if the request is applied late | Not retried: [repeat it](super::errors#unknown-outcomes), since a read alone proves nothing. A wrong clock affects row types with `ttl`, whose rows [expire early or late](#rows-that-a-ttl-hides) |
//! | [`delete_if`](crate::Table::delete_if) | At most one of several concurrent calls returns true. It deletes all columns, with cells of any time. The condition also guards a request that is applied late | Not retried: [repeat it](super::errors#unknown-outcomes), since a read alone proves nothing. A wrong clock affects conditions in a family with `ttl`, which [expires early or late](#rows-that-a-ttl-hides). Columns of newer programs are deleted too |
//! | [`increment`](crate::Table::increment), [`append`](crate::Table::append), [`modify`](crate::Table::modify) | All concurrent calls count. A call that is dropped or killed counts once or not at all | Not retried: a second call may count twice |
//! | [`Update::add`](crate::Update::add), [`Update::add_at`](crate::Update::add_at), to a [`Sum`](crate::row::Sum) | All concurrent additions count. Retried with a token, by which the server counts it once. One that is dropped or killed counts once or not at all. `put` leaves the sum as it is | Where the server ignores tokens, not retried: a second call may count twice. With a clock that is slow by 15 minutes or more, a server that honours tokens rejects every addition; with one that is slow by less, it rejects retries that much earlier |
//! | [`delete`](crate::Table::delete) | The last one applied wins, of a `delete` and a `put` too: the row is whole or gone. It deletes all columns, with cells of any time. Retried | A retry can delete a newer row: where that matters, use `delete_if`. Columns of newer programs are deleted too |
//! | [`delete_rows`](crate::Table::delete_rows) | Deletes all rows that it finds, with all columns and cells of any time. Retried | Dropped or killed, it has deleted some rows: call it again. Columns of newer programs are deleted too |
//! | [`delete_all`](crate::Table::delete_all) | Each row as by `delete`: it is whole or gone. The failed rows are retried | Dropped or killed, it has deleted some rows: call it again. A retry can delete a newer row, and columns of newer programs are deleted too |
//! | [`drop_rows`](crate::Table::drop_rows) | Deletes all rows, of any time. Each salt bucket is dropped or unchanged | Not retried, and dropped or killed, it has dropped some buckets: call it again. It deletes all columns, and foreign rows |
//! | [`put_both`](crate::put_both) | Each row is put whole, as by `put`. The first one is stored before the second one is sent. Retried | Dropped or killed, it may have put the first row only: call it again. Concurrent calls have no order, so each table can end with the row of another call |
//! | [`put_all`](crate::Table::put_all), [`merge_all`](crate::Table::merge_all), [`update_all`](crate::Table::update_all) | Each row as by `put`, `merge` or `update`. Of several rows with one key, the last one given wins. The failed rows are retried | Dropped or killed, it has written some rows: call it again |
//! | [`Writer::put`](crate::Writer::put), [`Writer::update`](crate::Writer::update), [`Writer::delete`](crate::Writer::delete) | As `put`, `update` and `delete`. The writer sends rows that it has accepted, even if the future or the writer is dropped. The failed rows are retried | Two writes of one row are in order only if `flush` was called between them. If the process is killed, unsent rows are lost; rows written before a `flush` that returned are not |
//! | [`load`](crate::Table::load), [`load_iter`](crate::Table::load_iter) | Each row as by `put`: the last one applied wins, whole. The failed rows are retried | Dropped or killed, it has written some rows: resume it from the last checkpoint |
//! | [`Load::new_rows`](crate::load::Load::new_rows) | Each row as by `insert`. The failed rows are retried | Columns of concurrent loads of one row mix. A retry leaves one more version of the same value. Dropped or killed, it has written some rows: resume it |
//! | [`Load::add_sums`](crate::load::Load::add_sums) | As the load without it, and all concurrent additions count. Retried with a token, by which the server counts it once, also in a load that is resumed within 10 minutes. An older program leaves the sums as they are | Where the server ignores tokens, not retried: the row fails, and its error says that it may have been applied. Resumed after more than 10 minutes, or where tokens are ignored, it ends with an error that names the items in doubt. It may count an item twice without an error if the clock was more than 5 minutes ahead of the server's, and was set back before the load was resumed, or if it is resumed from a checkpoint that is not the last |
//! | [`copy_to`](crate::Table::copy_to) | Copies every cell with its time, also of columns that the row type lacks. Several copies of one table write the same cells. Retried: the same cells, and each sum once | Stop other writers: the new table can lack a write that was made during the copy. The comparison at the end finds it, unless the write came after the comparison had read its row. Dropped or killed, it has copied some rows, each whole: resume it from the checkpoint |
//! | [`Load::if_absent`](crate::load::Load::if_absent) | The first one applied wins: a row that another program wrote during the load stays, and so does one with any cell that no `ttl` hides. Retried | A row that a retry finds counts as kept, although the load wrote it. A wrong clock affects row types with `ttl`, as for `put_if_absent`. Dropped or killed, it has written some rows: resume it |
//!
//! # Rows that a `ttl` hides
//!
//! [`#[row(ttl = "1h")]`](macro@crate::Row) hides the cells of a family that are older than the `ttl` when a call begins, by the
//! [client's clock](crate::Client::now). A row whose cells are all hidden does not exist for reads, counts, conditions and every call
//! that writes a row if it is absent. The cells stay stored until the server removes them by the family's rule: for up to a week,
//! sometimes longer. Deletes also remove hidden rows.
//!
//! The server gives cells its own time, and Bigtable has no condition on its clock: the client sends the oldest time that counts. So for a
//! client whose clock is wrong by `d`, rows expire `d` early or late, in reads and writes alike. **A client whose clock is an hour ahead
//! can take a one-hour lock one second after another client took it.** Nothing in Bigtable prevents that. Let the `ttl` exceed the longest
//! use of a lock by the largest difference of clocks that you allow, and let an owner make its last write on the condition that the lock is
//! its own: the server compares the owner's name, so this write fails if another client has taken the lock.
//!
//! | call | a row that is hidden | where the client's clock is wrong by `d` |
//! |---|---|---|
//! | [`get`](crate::Table::get), [`get_many`](crate::Table::get_many), [`exists`](crate::Table::exists), [`count`](crate::Table::count), [`verify_rows`](crate::Table::verify_rows), [`Select::get`](crate::Select::get), [`Select::get_many`](crate::Select::get_many), [`Scan::collect`](crate::Scan::collect), [`Scan::count`](crate::Scan::count), [`Scan::distinct`](crate::Scan::distinct), [`Scan::page`](crate::Scan::page), [`Scan::visit`](crate::Scan::visit), [`Scan::explain_analyze`](crate::Scan::explain_analyze), [`Rows::next`](crate::Rows::next), [`Exported::next`](crate::Exported::next) | Does not exist | Ahead, it is hidden early; behind, it is hidden late |
//! | [`get_raw`](crate::Table::get_raw), [`Scan::raw`](crate::Scan::raw) | Is returned, with its cells | No effect |
//! | [`put`](crate::Table::put), [`put_all`](crate::Table::put_all), [`Writer::put`](crate::Writer::put), [`load`](crate::Table::load), [`load_iter`](crate::Table::load_iter), [`put_both`](crate::put_both) | Is replaced whole | No effect on values at the server's time. A value with its own timestamp is rejected up to `d` too early by a clock that is ahead; by one that is behind it is accepted up to `d` too late, and other clients do not see it |
//! | [`insert`](crate::Table::insert), [`merge`](crate::Table::merge), [`merge_all`](crate::Table::merge_all), [`update`](crate::Table::update), [`update_all`](crate::Table::update_all), [`Writer::update`](crate::Writer::update), [`Load::new_rows`](crate::load::Load::new_rows) | Gets the written columns; its other columns stay hidden, as if the row were new | As `put` |
//! | [`put_if`](crate::Table::put_if), [`Update::only_if`](crate::Update::only_if), [`delete_if`](crate::Table::delete_if) | Conditions take it for absent; if one holds, it is replaced, changed or deleted as by the call without a condition | Ahead, cells expire early; behind, they expire late |
//! | [`put_if_absent`](crate::Table::put_if_absent), [`Load::if_absent`](crate::load::Load::if_absent) | Is replaced whole; one with a cell that is not hidden stays | Ahead, it is replaced early; behind, it is replaced late |
//! | [`increment`](crate::Table::increment), [`append`](crate::Table::append), [`modify`](crate::Table::modify) | An error before anything is sent, for any column of a family with `ttl`: the server would change the hidden value | No effect |
//! | [`Update::add_at`](crate::Update::add_at) | An addition to a window that is hidden is an error before anything is sent | Ahead, the addition is rejected up to `d` too early; behind, it is accepted up to `d` too late, and other clients do not see it |
//! | [`delete`](crate::Table::delete), [`Writer::delete`](crate::Writer::delete), [`delete_rows`](crate::Table::delete_rows), [`delete_all`](crate::Table::delete_all), [`drop_rows`](crate::Table::drop_rows) | Is deleted | No effect |
//! | [`copy_to`](crate::Table::copy_to), [`Table::diff`](crate::Table::diff) | Is copied and compared as it is stored | No effect |
//! | [`Rekeyed`](crate::rekey::Rekeyed): `get`, `get_many`, `exists`, `Scan::collect`, `Scan::count`, `put_if_absent`, `delete_if`, `delete` | As the call of `Table` | As the call of `Table` |
//!
//! A write of a whole row is rejected if the newest of its [`Versions`](crate::row::Versions) of a column would be hidden; older ones may
//! have expired since the row was read, and are stored hidden. An update is rejected if *any* of its versions would be hidden. A write on a
//! compared `version` uses the client's time, so other clients do not see it if its clock is slow by the `ttl` or more. Queries in
//! [SQL](super::sql), raw tables, `Condition::filter` and row types without the `ttl` see hidden cells. If the cells of a row expire one
//! after the other, a row can lack a column that its type requires: reads of it fail with [`InvalidRow`](crate::ErrorKind::InvalidRow).
//!
//! # Distinct values
//!
//! | call | what holds | what does not, and what to do |
//! |---|---|---|
//! | [`Scan::distinct`](crate::Scan::distinct) | Returns each value that has a row during the whole call, and none twice. Retried: a broken stream resumes after its last row. Dropped or killed, it sends nothing more | A value whose rows are all written or deleted during the call may or may not be returned. A wrong clock affects row types with `ttl`, whose rows [expire early or late](#rows-that-a-ttl-hides), for older programs too |
//!
//! # Tables that are re-keyed
//!
//! Calls of a [re-keyed](super::rekeying) table, `update`, `update_all` and `merge_all` included, give the guarantees of the
//! [`Table`](crate::Table) call of the same name, in every state, among programs that open the same pair of tables. Every read, and every
//! scan with any filter, returns each stored row once. With [`rekeyed_by_row`](crate::Client::rekeyed_by_row), some calls fail while the
//! old table is written, because they could reach the row of another key. Wrong clocks affect only expiry, if their rates differ by no more
//! than a tenth. A program that opens one of the tables by itself is rejected from the state `paused` on; `verify` finds what it still
//! writes. A program with another mapping of keys is rejected as far as the [recorded keys](crate::rekey#one-mapping) show it.
//!
//! | call | what holds | what does not, and what to do |
//! |---|---|---|
//! | [`Rekeyed`](crate::rekey::Rekeyed): `put`, `merge`, `put_all`, `delete` | The last one applied wins, whole, and every read and scan has it. Retried, by the next state if it has changed | With [`rekeyed_by_row`](crate::Client::rekeyed_by_row), if several new keys have the same old key, the first one written wins, and puts by the others fail |
//! | [`Rekeyed`](crate::rekey::Rekeyed): `increment`, `append`, `put_if`, `put_if_absent`, `delete_if` | All additions count; one of several concurrent conditional calls wins. Dropped or killed, it counts once or not at all | Not retried. The outcome is unknown also if the lease ends before the response |
//! | [`Migration::run`](crate::rekey::Migration::run), [`Migration::finish`](crate::rekey::Migration::finish), [`Migration::roll_back`](crate::rekey::Migration::roll_back) | Concurrent drivers reach the same result. After a lost response, the driver reads the state again | Dropped or killed, call it again, from any process: it resumes. Cells that have expired by the driver's clock, or will within a minute, need not be in both tables |
//!
//! # Tables
//!
//! A dropped or killed call has made its whole change to the table, or none of it.
//!
//! | call | what holds | what does not, and what to do |
//! |---|---|---|
//! | [`create_if_absent`](crate::Table::create_if_absent), [`Layouts::create_if_absent`](crate::layouts::Layouts::create_if_absent) | Of several concurrent calls, one creates the table, with all families, and the others verify it. Families of newer programs stay. Layouts do so table by table | Not retried: call it again, which verifies the table. With layouts, some tables may have been created, each whole, and others not |
//! | [`TableChanges::apply`](crate::TableChanges::apply) | Makes only the listed changes, and skips those that another program has made. All concurrent calls succeed, and families of newer programs stay | Not retried: list the changes again. It fails if the table has changed and needs another change. A rule that another program changes between the last read and the request is replaced. Dropped or killed, it has made some of the changes |
//! | [`create`](crate::Table::create), [`RawTable::create`](crate::client::RawTable::create), [`RawTable::create_with_granularity`](crate::client::RawTable::create_with_granularity) | Of several concurrent calls, one creates the table, with all families, and the others fail, as they do if it exists | Not retried: a second call fails if the first one was applied, since the table exists |
//! | [`modify_families`](crate::Table::modify_families), [`RawTable::modify_families`](crate::client::RawTable::modify_families) | Makes all changes or none, and changes only what it names. Of several concurrent calls that add a family, one adds it, and the others fail | Not retried: check the table |
//! | [`delete_table`](crate::Table::delete_table), [`Client::delete_table`](crate::Client::delete_table) | Of several concurrent calls, one deletes the table, with all columns, and the others fail | Not retried: a second call fails if the first one was applied, since the table is gone |
//! | [`remove_row_key_schema`](crate::Table::remove_row_key_schema), [`RawTable::remove_row_key_schema`](crate::client::RawTable::remove_row_key_schema) | All concurrent calls succeed, whatever their row type. Retried | A retry can remove a schema that was added meanwhile. Dropped or killed, it has removed the schema or not: call it again |
//! | [`stamp`](crate::Table::stamp) | All concurrent calls succeed, and a program with an older row type adds the same stamp | Not retried: a second call finds the stamp. Dropped or killed, it has added the stamp or not: call it again |
//! | [`advance_stamp`](crate::Table::advance_stamp) | All concurrent calls succeed; on a table that `verify` would still reject, all fail and change nothing | Not retried: a second call finds the change made, or completes it. Dropped or killed, it has replaced the stamp or not: call it again. Refused in the hour before a bound by the client's clock. An older key type fails, since the table's stamp has more salts |
//! | [`retire_row_type`](crate::Table::retire_row_type) | Of several concurrent calls, one finds the row type | Not retried: a second call finds it gone. Dropped or killed, it has retired the type or not: call it again. A program with the retired type is compared with the others when it starts again, as the newest |
//!
//! # Without a key type
//!
//! A raw write changes the cells that it names, at the timestamps that the caller gives. It does not keep the columns
//! of a row consistent; that is up to the programs. [`delete_versions`](crate::row::Mutation::delete_versions) deletes exactly the
//! versions in its range, whether the table stores milliseconds or microseconds.
//!
//! | call | what holds | what does not, and what to do |
//! |---|---|---|
//! | [`mutate_row`](crate::client::RawTable::mutate_row) | Applied whole, each concurrent call after another. Retried, unless it uses the server's time; what adds to a cell counts as `Update::add` | Wrong timestamps hide newer cells, and mix rows. Not retried if it uses the server's time |
//! | [`mutate_rows`](crate::client::RawTable::mutate_rows), [`RawWriter::write`](crate::client::RawWriter::write) | Each row as by `mutate_row`. Retries the failed rows that `mutate_row` would retry | Two writes of one key have no order. Wrong timestamps as for `mutate_row`. Dropped or killed, it has written some rows, each whole |
//! | [`check_and_mutate_row`](crate::client::RawTable::check_and_mutate_row) | Each is one atomic step: concurrent calls come one after the other | Not retried: [repeat it](super::errors#unknown-outcomes), since a read alone proves nothing. Wrong timestamps as for `mutate_row` |
//! | [`read_modify_write_row`](crate::client::RawTable::read_modify_write_row) | All concurrent calls count. Dropped or killed, it counts once or not at all. The clock has no effect | Not retried: a second call may count twice |
//!
//! # What no client can guarantee
//!
//! - **The value of a `put` can return after a later write.** If a request was retried, the first attempt may still be
//!   in flight when the call ends. When the server applies it, it overwrites newer values with its own, the whole row.
//!   Only a condition prevents that: [`put_if`](crate::Table::put_if).
//! - **A row can mix the columns of programs whose row types differ.** Each program writes its own columns whole. A
//!   concurrent `update` and `put`, or a program that sets cells at its own clock's time, can mix a row too.
//! - **A cell with a future timestamp hides every `put`** until its time comes, and so does a cell written before the
//!   server's clock stepped back.
//! - **A load can undo a delete**, since a deleted row leaves nothing to compare.
//! - **Rows at the end of `max_age` can lose their cells one by one.** Read them with a row type whose columns may be
//!   missing.
//! - **An increment does not check that its row exists.** On a deleted row it creates a row with only this column.
//! - **No guarantee holds across clusters that are written concurrently.** Replication is eventually consistent, cell
//!   by cell.
//!
//! # How it is tested
//!
//! Three kinds of tests prove most of it. A model checker explores a model of the writes exhaustively, with every order
//! of requests, retries and clocks. Histories of 8 writers, with lost responses, late requests and wrong clocks, are
//! checked for values that no reader may see. Further tests run each call concurrently, drop its future, kill its
//! process and repeat it. `tests/tables/promises/proofs.rs` in the repository names the tests of each row of these tables.
