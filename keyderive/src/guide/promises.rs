//! Guarantees: of each call that writes, under concurrent calls, after failures and next to older programs; and of each call that
//! reads or writes rows that a `ttl` hides.
//!
//! A call on one row is one request, and is applied completely or not at all. Most tables below say what holds in six
//! situations. The table of [rows that a `ttl` hides](#rows-that-a-ttl-hides) has other columns, and covers reads too. The
//! footnotes name the tests.
//!
//! - **Concurrent**: another program makes the same call for the same row at the same time.
//! - **Lost response**: the server has applied the request, but the client gets no response.
//! - **Dropped**: the future is dropped before it completes.
//! - **Clock**: the client's clock is wrong. It is the clock of the client's machine; for an embedded Bigtable in the process it is
//!   the Bigtable's, which a test can move. [`Client::now`](crate::Client::now) shows it.
//! - **Killed**: the process is killed, which drops the future and loses the response.
//! - **Older program**: the caller's row type has fewer columns than the stored rows.
//!
//! "Perhaps later" means that a request in flight can still be applied after the call has ended. "Unknown" means that
//! the call fails with [`is_outcome_unknown`](crate::Error::is_outcome_unknown).
//!
//! # Rows
//!
//! | call | concurrent | lost response | dropped | clock | killed | older program |
//! |---|---|---|---|---|---|---|
//! | [`put`](crate::Table::put) | the last applied wins, whole [^histories] | retried [^again]; an older value can return, whole [^histories] | whole or not, perhaps later [^dropped] | no effect [^server-time] | whole or not [^killed] | writes its columns whole, others stay [^older] |
//! | [`insert`](crate::Table::insert) | columns mix [^mix] | retried: one more version of the same value [^again] | whole or not, perhaps later [^dropped] | no effect [^server-time] | whole or not [^killed] | other columns stay [^older] |
//! | [`merge`](crate::Table::merge), [`update`](crate::Table::update) | in each column, the last applied wins [^columns] | retried [^again] | all changes or none, perhaps later [^dropped] | no effect [^server-time] | all changes or none [^killed] | other columns stay [^older] |
//! | [`put_if`](crate::Table::put_if) | at most one returns true, if it changes what the condition compares [^one-wins] [^histories] | not retried; unknown: [repeat it](super::errors#unknown-outcomes), since a read alone proves nothing [^once] | applied or not, perhaps later; the condition still guards it [^guarded] | affects a compared `version` [^version], and conditions in a family with `ttl`, which [expires early or late](#rows-that-a-ttl-hides) [^ahead] [^behind] | applied or not [^killed] | writes its columns whole, others stay [^older] |
//! | [`Update::only_if`](crate::Update::only_if) | at most one returns true, if it changes what the condition compares [^one-wins] | not retried; unknown: [repeat it](super::errors#unknown-outcomes), since a read alone proves nothing [^once] | applied or not, perhaps later; the condition still guards it [^guarded] | affects a compared `version` [^version], and conditions in a family with `ttl`, which [expires early or late](#rows-that-a-ttl-hides) [^ahead] [^behind] | applied or not [^killed] | other columns stay [^older] |
//! | [`put_if_absent`](crate::Table::put_if_absent) | at most one returns true [^one-wins] | not retried; unknown: [repeat it](super::errors#unknown-outcomes), since a read alone proves nothing [^once] | applied or not, perhaps later; an existing row stays [^guarded] | no effect [^server-time], but for a row type with `ttl`, of which rows [expire early or late](#rows-that-a-ttl-hides) [^ahead] [^behind] | applied or not [^killed] | a row with any cell that no `ttl` hides stays [^kept] |
//! | [`delete_if`](crate::Table::delete_if) | at most one returns true [^one-wins] | not retried; unknown: [repeat it](super::errors#unknown-outcomes), since a read alone proves nothing [^once] | applied or not, perhaps later; the condition still guards it [^guarded] | no effect on what is deleted [^any-time]; affects conditions in a family with `ttl`, which [expires early or late](#rows-that-a-ttl-hides) [^ahead] [^behind] | applied or not [^killed] | deletes all columns [^older] |
//! | [`increment`](crate::Table::increment), [`append`](crate::Table::append), [`modify`](crate::Table::modify) | all count [^counts] | not retried; unknown: a second call may count twice [^once] | counted once or not at all, perhaps later [^dropped] | no effect [^rule-time] | counted once or not at all [^killed] | other columns stay [^older] |
//! | [`Update::add`](crate::Update::add), [`Update::add_at`](crate::Update::add_at), to a [`Sum`](crate::row::Sum) | all count [^sums] | retried with a token, counts once [^sums-once]; where the server ignores tokens, not retried: a second call may count twice [^sums-ignored] | counted once or not at all, perhaps later [^sums-dropped] | if it is 15 minutes slow or more, a server that honours tokens rejects every addition; if less, it rejects retries that much earlier [^sums-clock] | counted once or not at all [^sums-dropped] | `put` leaves it as it is [^sums-older] |
//! | [`delete`](crate::Table::delete) | the last applied wins [^delete] | retried [^again]; it can delete a newer row | deleted or not, perhaps later [^dropped] | no effect [^any-time] | deleted or not [^killed] | deletes all columns [^older] |
//! | [`delete_rows`](crate::Table::delete_rows) | all found rows are deleted [^deletes] | retried [^again] | some rows are deleted; call it again [^dropped] | no effect [^any-time] | some rows are deleted [^killed] | deletes all columns [^older] |
//! | [`drop_rows`](crate::Table::drop_rows) | all rows are deleted [^deletes] | not retried; some rows are dropped: call it again [^tables-once] | each bucket is dropped or unchanged [^dropped-buckets] | no effect [^any-time] | each bucket is dropped or unchanged [^killed-table] | deletes all columns, and foreign rows [^deletes] |
//! | [`put_both`](crate::put_both) | each row whole, rows in no order [^both] | retried [^again] | the first row only, or both [^dropped] | no effect [^server-time] | the first row only, or both [^killed] | as `put` [^older] |
//! | [`put_all`](crate::Table::put_all), [`merge_all`](crate::Table::merge_all), [`update_all`](crate::Table::update_all) | as `put`, `merge` and `update`; of one key, the last one given wins [^histories] [^last-given] [^columns] | the failed rows are retried [^again] | some rows, each whole [^dropped] | no effect [^server-time] | some rows, each whole [^killed] | as `put`, `merge` and `update` [^older] |
//! | [`Writer::put`](crate::Writer::put), [`Writer::update`](crate::Writer::update), [`Writer::delete`](crate::Writer::delete) | as `put`, `update` and `delete`; two writes of one row are in order only if `flush` was called between them [^histories] [^flush] | the failed rows are retried [^again] | rows that the writer has accepted are sent [^writer-dropped] [^dropped] | no effect [^server-time] [^any-time] | rows not yet sent are lost [^killed] | as `put`, `update` and `delete` [^older] |
//! | [`load`](crate::Table::load), [`load_iter`](crate::Table::load_iter) | the last applied wins, whole [^histories] | the failed rows are retried [^again] | some rows, each whole: resume it [^dropped] | no effect [^server-time] | some rows: resume it from the last checkpoint [^resumed] [^killed] | as `put` [^older] |
//! | [`Load::new_rows`](crate::load::Load::new_rows) | columns mix [^mix] | retried: one more version of the same value [^again] | some rows, each whole: resume it [^dropped] | no effect [^server-time] | some rows: resume it [^killed] | other columns stay [^older] |
//! | [`copy_to`](crate::Table::copy_to) | several copies of one table write the same cells [^copies]; stop other writers: the new table can lack a write that was made during the copy; the comparison at the end finds it, unless the write came after the comparison had read its row | retried: the same cells, and each sum once [^copied-again] | some rows, each whole: resume it from the checkpoint [^copy-dropped] | no effect: cells keep their times [^copied] | some rows: resume it from the checkpoint [^copy-killed] | columns that the type lacks are copied too [^copied] |
//! | [`Load::if_absent`](crate::load::Load::if_absent) | the first applied wins: a row that another program wrote during the load stays [^one-wins] [^live-row] | retried: the row counts as kept [^again] | some rows, each whole: resume it [^dropped] | as `put_if_absent` [^server-time] [^ahead] [^behind] | some rows: resume it [^killed] | a row with any cell that no `ttl` hides stays [^kept] |
//!
//! # Rows that a `ttl` hides
//!
//! [`#[row(ttl = "1h")]`](macro@crate::Row) hides the cells of a family that are older than the `ttl` when a call begins, by the
//! [client's clock](crate::Client::now). A row whose cells are all hidden does not exist for reads, counts, conditions and every call
//! that writes a row if it is absent. The cells stay stored until the server removes them by the family's rule: for up to a week,
//! sometimes longer. Deletes also remove hidden rows.
//!
//! The server gives cells its own time, and Bigtable has no condition on its clock: the client sends the oldest time that counts. So
//! where the clock of a client is wrong by `d`, rows expire `d` early or `d` late for it, in reads and writes alike. **A client whose
//! clock is an hour ahead can take a one-hour lock one second after another client took it.** Nothing in Bigtable prevents that. Let
//! the `ttl` exceed the longest use of a lock by the largest difference of clocks that you allow, and let an owner make its last write
//! on the condition that the lock is its own: the server compares the owner's name, so that this fails if another has taken the lock.
//!
//! | call | a row that is hidden | clock ahead | clock behind |
//! |---|---|---|---|
//! | [`get`](crate::Table::get), [`get_many`](crate::Table::get_many), [`exists`](crate::Table::exists), [`count`](crate::Table::count), [`verify_rows`](crate::Table::verify_rows), [`Select::get`](crate::Select::get), [`Select::get_many`](crate::Select::get_many), [`Scan::collect`](crate::Scan::collect), [`Scan::count`](crate::Scan::count), [`Scan::page`](crate::Scan::page), [`Scan::visit`](crate::Scan::visit), [`Scan::explain_analyze`](crate::Scan::explain_analyze), [`Rows::next`](crate::Rows::next), [`Exported::next`](crate::Exported::next) | is not there [^hidden-reads] | it is hidden early [^ahead] | it is hidden late [^behind] |
//! | [`get_raw`](crate::Table::get_raw), [`Scan::raw`](crate::Scan::raw) | is there, with its cells [^hidden-stored] | no effect [^hidden-stored] | no effect [^hidden-stored] |
//! | [`put`](crate::Table::put), [`put_all`](crate::Table::put_all), [`Writer::put`](crate::Writer::put), [`load`](crate::Table::load), [`load_iter`](crate::Table::load_iter), [`put_both`](crate::put_both) | is replaced whole [^hidden-put] | no effect on values at the server's time [^server-time]; a value with its own timestamp is rejected up to `d` too early [^hidden-write] [^ahead] | no effect on values at the server's time [^server-time]; a value with its own timestamp is accepted up to `d` too late, and other clients do not see it [^hidden-write] |
//! | [`insert`](crate::Table::insert), [`merge`](crate::Table::merge), [`merge_all`](crate::Table::merge_all), [`update`](crate::Table::update), [`update_all`](crate::Table::update_all), [`Writer::update`](crate::Writer::update), [`Load::new_rows`](crate::load::Load::new_rows) | the written columns are there, the others stay hidden, as if the row were new [^hidden-change] | as `put` [^server-time] [^hidden-write] [^ahead] | as `put` [^server-time] [^hidden-write] |
//! | [`put_if`](crate::Table::put_if), [`Update::only_if`](crate::Update::only_if), [`delete_if`](crate::Table::delete_if) | conditions take it for absent; if one holds, it is replaced, changed or deleted as by the call without a condition [^hidden-conditions] | cells expire early [^ahead] | cells expire late [^behind] |
//! | [`put_if_absent`](crate::Table::put_if_absent), [`Load::if_absent`](crate::load::Load::if_absent) | is replaced whole; one with a cell that is not hidden stays [^hidden-absent] [^hidden-part] | it is replaced early [^ahead] | it is replaced late [^behind] |
//! | [`increment`](crate::Table::increment), [`append`](crate::Table::append), [`modify`](crate::Table::modify) | an error before anything is sent, for any column of a family with `ttl`: the server would change the hidden value [^hidden-modify] | no effect [^hidden-modify] | no effect [^hidden-modify] |
//! | [`Update::add_at`](crate::Update::add_at) | an addition to a window that is hidden is an error before anything is sent [^hidden-window] | it is rejected up to `d` too early [^hidden-window] [^ahead] | it is accepted up to `d` too late, and other clients do not see it [^hidden-window] |
//! | [`delete`](crate::Table::delete), [`Writer::delete`](crate::Writer::delete), [`delete_rows`](crate::Table::delete_rows), [`drop_rows`](crate::Table::drop_rows) | is deleted [^hidden-deletes] | no effect [^hidden-deletes] | no effect [^any-time] |
//! | [`copy_to`](crate::Table::copy_to), [`Table::diff`](crate::Table::diff) | is copied and compared as it is stored [^hidden-copies] | no effect [^hidden-copies] | no effect [^hidden-copies] |
//! | [`Rekeyed`](crate::rekey::Rekeyed): `get`, `get_many`, `exists`, `Scan::collect`, `Scan::count`, `put_if_absent`, `delete_if`, `delete` | as the call of `Table` [^hidden-rekeyed] | as the call of `Table` [^hidden-rekeyed] | as the call of `Table` [^behind] |
//!
//! A whole row is rejected if the newest of its [`Versions`](crate::row::Versions) of a column would be hidden: older ones may have
//! expired since the row was read, and are stored and hidden. An update is rejected if *any* of its versions would be. A write on a
//! compared `version` is at the client's time, so other clients do not see it if its clock is slow by the `ttl` or more. Queries in
//! [SQL](super::sql), raw tables, `Condition::filter` and row types without the `ttl` see hidden cells. Where cells of a row expire one
//! after the other, a row can be there without a column that its type requires: reads of it fail with
//! [`is_invalid_row`](crate::Error::is_invalid_row).
//!
//! # Tables that are re-keyed
//!
//! Calls of a [re-keyed](super::rekeying) table give the guarantees of the [`Table`](crate::Table) call of the same name, in every
//! state, among programs that open the same pair of tables. Every read, and every scan with any filter, returns each stored row once.
//! With [`rekeyed_by_row`](crate::Client::rekeyed_by_row), some calls fail while the old table is written, because they could reach the
//! row of another key. The clock column is about how fast clocks run, not whether they are set right; only expiry depends on the
//! client's time.
//!
//! | call | concurrent | lost response | dropped | clock | killed | older program |
//! |---|---|---|---|---|---|---|
//! | [`Rekeyed`](crate::rekey::Rekeyed): `put`, `merge`, `put_all`, `delete` | the last applied wins, whole [^chaos], and every read and scan has it [^rekeyed-reads]; of several keys with one place in the old table, the first [^by-row] | repeated, by the next state if it has changed [^lease] | whole or not, perhaps later [^chaos] | a clock that runs a tenth slower or faster does no harm [^leases] | whole or not [^chaos] | rejected, or found by `verify` [^stray] |
//! | [`Rekeyed`](crate::rekey::Rekeyed): `increment`, `append`, `put_if`, `put_if_absent`, `delete_if` | all count; one of them wins [^chaos] | not repeated; unknown, also when the lease ends first [^late] | applied or not, perhaps later [^chaos] | as `put` [^leases] | applied or not [^chaos] | rejected, or found by `verify` [^stray] |
//! | [`Migration::run`](crate::rekey::Migration::run), [`Migration::finish`](crate::rekey::Migration::finish), [`Migration::roll_back`](crate::rekey::Migration::roll_back) | several come to one end [^drivers] | the state is read again [^state-lost] | call it again: it goes on [^driver-killed] | as `put` [^leases]; what has expired by it, or will within a minute, need not be in both tables [^rekeyed-expiry] | call it again, anywhere [^driver-killed] | rejected from `paused` on [^stray] |
//!
//! # Tables
//!
//! | call | concurrent | lost response | dropped | clock | killed | older program |
//! |---|---|---|---|---|---|---|
//! | [`create_if_absent`](crate::Table::create_if_absent) | one creates the table, the others verify it [^creates] | not retried; a second call verifies the table [^created-once] | created with all families, or not [^dropped-table] | no effect [^no-time] | created with all families, or not [^killed-table] | families of newer programs stay [^older-families] |
//! | [`create`](crate::Table::create), [`RawTable::create`](crate::client::RawTable::create), [`RawTable::create_with_granularity`](crate::client::RawTable::create_with_granularity) | one creates, the others fail [^creates] | not retried; a second call fails, since it exists [^created-once] | created with all families, or not [^dropped-table] | no effect [^no-time] | created with all families, or not [^killed-table] | fails if the table exists [^creates] |
//! | [`modify_families`](crate::Table::modify_families), [`RawTable::modify_families`](crate::client::RawTable::modify_families) | one adds a family, the others fail [^changes] | not retried: check the table [^tables-once] | all changes or none [^dropped-table] | no effect [^no-time] | all changes or none [^killed-table] | changes only what it names [^changes] |
//! | [`delete_table`](crate::Table::delete_table), [`Client::delete_table`](crate::Client::delete_table) | one deletes, the others fail [^changes] | not retried; a second call fails, since it is gone [^tables-once] | deleted or unchanged [^dropped-table] | no effect [^no-time] | deleted or unchanged [^killed-table] | deletes all columns [^older-table] |
//! | [`remove_row_key_schema`](crate::Table::remove_row_key_schema), [`RawTable::remove_row_key_schema`](crate::client::RawTable::remove_row_key_schema) | all succeed [^unschemed] | retried; it can remove a schema that was added meanwhile [^unschemed-again] | removed or not: call it again [^unschemed-dropped] | no effect [^no-time] | removed or not: call it again [^unschemed-dropped] [^unschemed-again] | the row type has no effect [^unschemed-types] |
//! | [`stamp`](crate::Table::stamp) | all succeed [^stamps] | not retried; a second call finds the stamp [^stamps-again] | stamp added or not: call it again [^stamps-dropped] | no effect [^no-time] | stamp added or not: call it again [^stamps-dropped] [^stamps-again] | adds the same stamp [^stamps-older] |
//! | [`advance_stamp`](crate::Table::advance_stamp) | all succeed [^advances]; on a table that `verify` would still reject, all fail and change nothing [^advances-refused] | not retried; a second call finds what is done, or ends it [^advances-again] | replaced or not: call it again [^advances-dropped] | refused in the hour before a bound by this clock [^advances-hour] | replaced or not: call it again [^advances-dropped] [^advances-again] | fails, since the table is stamped with more [^advances-older] |
//! | [`retire_row_type`](crate::Table::retire_row_type) | one finds it [^retires] | not retried; a second call finds it gone [^retires] | retired or not: call it again [^retires-dropped] | no effect [^no-time] | retired or not: call it again [^retires-dropped] | is compared with the others when it starts again [^retires] |
//!
//! # Without a key type
//!
//! A raw write changes the cells that it names, at the timestamps that the caller gives. It does not keep the columns
//! of a row consistent; that is up to the programs. [`delete_versions`](crate::row::Mutation::delete_versions) deletes exactly the
//! versions in its range, whether the table stores milliseconds or microseconds.
//!
//! | call | concurrent | lost response | dropped | clock | killed | older program |
//! |---|---|---|---|---|---|---|
//! | [`mutate_row`](crate::client::RawTable::mutate_row) | each is applied whole, one after the other [^raw] | retried, unless it uses the server's time [^again] [^raw-once]; what adds to a cell counts as `Update::add` [^sums-once] | whole or not, perhaps later [^dropped] | wrong timestamps hide newer cells and mix rows [^old-write] | whole or not [^killed] | other columns stay [^older] |
//! | [`mutate_rows`](crate::client::RawTable::mutate_rows), [`RawWriter::write`](crate::client::RawWriter::write) | each row as `mutate_row`; a key given twice is unordered [^raw] | failed rows as `mutate_row` [^again] [^raw-once] | some rows, each whole [^dropped] | as `mutate_row` [^old-write] | some rows, each whole [^killed] | other columns stay [^older] |
//! | [`check_and_mutate_row`](crate::client::RawTable::check_and_mutate_row) | each is one atomic step [^raw-one-wins] | not retried; unknown: [repeat it](super::errors#unknown-outcomes), since a read alone proves nothing [^once] | applied or not, perhaps later [^dropped] | as `mutate_row` [^old-write] | applied or not [^killed] | other columns stay [^older] |
//! | [`read_modify_write_row`](crate::client::RawTable::read_modify_write_row) | all count [^counts] | not retried; unknown: a second call may count twice [^once] | counted once or not at all, perhaps later [^dropped] | no effect [^rule-time] | counted once or not at all [^killed] | other columns stay [^older] |
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
//! process and repeat it.
//!
//! [^histories]: `histories_of_the_embedded_bigtable_have_no_violation`, `histories_of_a_file_have_no_violation`, `histories_of_the_emulator_have_no_violation`, `what_put_sends`
//! [^again]: `idempotent_calls_are_retried_after_a_lost_response`
//! [^dropped]: `a_dropped_call_leaves_its_row_whole`
//! [^server-time]: `every_write_of_a_value_sets_its_cells_at_the_servers_time`
//! [^killed]: `a_killed_program_leaves_each_row_whole`
//! [^older]: `an_older_program_leaves_newer_columns`
//! [^mix]: `inserts_of_one_row_mix_their_columns`
//! [^columns]: `concurrent_changes_of_different_columns_all_stay`
//! [^one-wins]: `one_of_several_concurrent_conditional_calls_wins`, `a_state_machine_reaches_its_last_state`
//! [^once]: `other_calls_fail_as_unknown_after_a_lost_response`
//! [^guarded]: `a_condition_guards_the_call_after_a_dropped_one`
//! [^version]: `a_compared_version_is_superseded`, `no_update_by_version_is_lost`
//! [^kept]: `an_older_program_keeps_a_row_that_is_there`
//! [^any-time]: `a_deletion_takes_cells_of_any_time`
//! [^counts]: `concurrent_increments_and_appends_all_count`
//! [^rule-time]: `a_cell_written_by_a_rule_is_never_older_than_the_cell_it_read`
//! [^sums]: `concurrent_additions_all_count`
//! [^sums-once]: `an_addition_counts_once_after_a_lost_answer`, `each_addition_counts_once_when_answers_are_lost`, `each_addition_counts_once_when_the_server_is_killed`
//! [^sums-ignored]: `an_addition_without_tokens_fails_after_a_lost_answer`, `a_server_that_is_not_known_to_honour_tokens_gets_an_addition_once`
//! [^sums-dropped]: `a_dropped_addition_counts_once_or_not_at_all`
//! [^sums-clock]: `tokens_are_remembered_for_15_minutes`
//! [^sums-older]: `sums_stay_beside_programs_without_them`
//! [^delete]: `a_delete_beside_a_put_leaves_the_row_whole_or_none`
//! [^deletes]: `deletions_beside_each_other_all_succeed`
//! [^tables-once]: `a_table_is_not_changed_again_after_a_lost_answer`
//! [^dropped-buckets]: `a_dropped_drop_of_rows_leaves_buckets_whole`
//! [^killed-table]: `a_killed_program_leaves_each_table_whole`
//! [^both]: `rows_of_put_both_are_whole_each`
//! [^last-given]: `the_last_row_of_a_key_stays`, `no_request_has_a_key_twice`
//! [^flush]: `a_flush_ends_what_was_taken_before`
//! [^writer-dropped]: `a_writer_that_is_dropped_sends_what_it_has`
//! [^resumed]: `loads_that_are_killed_and_resumed_end_with_the_rows_of_the_input`
//! [^copies]: `copies_beside_each_other_give_the_same_rows`
//! [^copied-again]: `a_copy_is_exact_when_answers_are_lost`
//! [^copy-dropped]: `a_dropped_copy_leaves_whole_rows_and_is_resumed`
//! [^copied]: `rows_are_copied_to_another_key_type`, `random_rows_are_copied_exactly`
//! [^copy-killed]: `copies_that_are_killed_and_resumed_end_with_every_cell`
//! [^live-row]: `a_row_written_during_an_if_absent_load_is_kept`
//! [^ahead]: `a_client_that_is_ahead_takes_a_lock_early`
//! [^behind]: `a_client_that_is_behind_takes_a_lock_late`
//! [^hidden-reads]: `reads_agree_that_a_hidden_row_is_not_there`
//! [^hidden-stored]: `stored_reads_show_hidden_rows`
//! [^hidden-put]: `a_put_replaces_a_hidden_row_whole`
//! [^hidden-write]: `a_write_that_would_be_hidden_at_once_fails`, `a_write_that_would_be_hidden_at_once_fails_in_bulk`
//! [^hidden-change]: `changes_of_a_hidden_row_leave_the_hidden_columns`
//! [^hidden-conditions]: `conditions_take_a_hidden_row_for_absent`
//! [^hidden-absent]: `if_absent_replaces_a_hidden_row_whole`
//! [^hidden-part]: `a_row_that_is_hidden_in_part_is_there`
//! [^hidden-modify]: `hidden_values_are_not_changed_at_the_server`
//! [^hidden-window]: `a_window_that_is_hidden_takes_no_addition`
//! [^hidden-deletes]: `erasures_take_hidden_rows`
//! [^hidden-copies]: `copies_and_comparisons_take_hidden_cells`
//! [^hidden-rekeyed]: `a_re_keyed_table_hides_rows_too`
//! [^chaos]: `nothing_is_lost_while_a_table_is_re_keyed`
//! [^lease]: `a_put_goes_again_once_the_state_is_known_again`, `a_write_that_was_sent_and_cannot_go_again_has_an_unknown_outcome`
//! [^leases]: `a_driver_waits_longer_than_any_lease`
//! [^late]: `a_late_answer_to_an_increment_has_an_unknown_outcome`, `no_request_outlives_a_lease`
//! [^stray]: `other_programs_are_rejected_while_a_table_is_re_keyed`, `what_a_forgotten_program_writes_is_found_before_the_table_counts_as_moved`, `what_a_forgotten_program_wrote_is_copied_by_the_next_run`
//! [^by-row]: `a_key_does_not_reach_the_row_of_another_key`, `one_of_several_keys_gets_a_place`, `lost_answers_do_no_harm`
//! [^rekeyed-reads]: `every_read_of_every_state_is_that_of_the_model`, `a_filter_sees_the_row_that_counts`, `a_row_that_is_put_again_after_its_ttl_is_scanned`, `each_of_two_keys_with_one_old_key_is_scanned_once`, `many_keys_with_one_old_key_are_read_as_each_alone`, `a_row_whose_original_goes_during_a_scan_comes_once`
//! [^rekeyed-expiry]: `a_table_whose_rows_expire_is_moved`, `a_table_whose_rows_expire_is_rolled_back`, `a_value_that_differs_is_a_difference_at_any_age`
//! [^drivers]: `two_drivers_come_to_one_end`, `a_driver_that_was_stopped_gives_way`
//! [^state-lost]: `a_change_of_the_state_whose_answer_is_lost_is_looked_up`
//! [^driver-killed]: `a_pass_goes_on_where_a_dead_driver_was`, `another_driver_rolls_back_for_a_dead_one`
//! [^creates]: `of_several_that_create_a_table_one_does`
//! [^created-once]: `a_table_is_created_once_and_compared_after_a_lost_answer`
//! [^dropped-table]: `a_dropped_call_leaves_its_table_whole`
//! [^no-time]: `requests_that_change_tables_carry_no_timestamp`
//! [^older-families]: `an_older_program_leaves_newer_families`
//! [^changes]: `of_several_that_change_a_table_one_does`
//! [^older-table]: `deleting_a_table_deletes_columns_that_the_program_lacks`
//! [^unschemed]: `all_that_remove_a_row_key_schema_beside_each_other_succeed`
//! [^unschemed-again]: `a_row_key_schema_is_removed_again_after_a_lost_answer`
//! [^unschemed-dropped]: `a_dropped_call_leaves_a_row_key_schema_or_none`
//! [^unschemed-types]: `a_row_key_schema_is_removed`
//! [^stamps]: `all_that_stamp_a_table_beside_each_other_succeed`
//! [^stamps-again]: `a_stamp_is_found_after_a_lost_answer`
//! [^stamps-dropped]: `a_dropped_call_leaves_a_stamp_or_none`
//! [^stamps-older]: `an_older_program_adds_the_same_stamp`
//! [^advances]: `all_that_advance_beside_each_other_succeed`
//! [^advances-again]: `an_advance_is_found_after_a_lost_answer`
//! [^advances-dropped]: `a_dropped_advance_leaves_one_layout_or_the_other`
//! [^advances-hour]: `a_table_does_not_advance_in_the_hour_before_a_bound`
//! [^advances-refused]: `a_table_with_a_row_key_schema_does_not_advance`
//! [^advances-older]: `an_older_program_fails_once_the_table_has_advanced`
//! [^retires]: `a_retired_row_type_is_compared_no_more`
//! [^retires-dropped]: `a_dropped_call_retires_a_row_type_or_not`
//! [^raw]: `raw_writes_beside_each_other_are_applied_whole`
//! [^raw-once]: `a_raw_write_of_the_servers_time_fails_after_a_lost_answer`
//! [^raw-one-wins]: `of_raw_conditional_writes_beside_each_other_one_wins`
//! [^old-write]: `writes_at_the_clients_time_tear_rows_within_1000_operations`
