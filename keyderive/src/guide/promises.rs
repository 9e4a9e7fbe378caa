//! What each call promises: beside others, after a failure, dropped, and beside an older program.
//!
//! A call about one row is one request, and takes effect whole or not at all. What happens when two programs write one row,
//! when an answer is lost, or when a program is killed, is in the tables below. Each cell has the tests that try it.
//!
//! - **Beside another**: the same call, of the same row, at the same time.
//! - **Lost answer**: the server has applied the request, and the client does not know.
//! - **Dropped**: the future is dropped before it is done.
//! - **Clock**: the clock of the client's machine is behind or ahead.
//! - **Killed**: the process is killed, which drops the future and loses the answer at once.
//! - **Older program**: the caller's row type has fewer columns than the rows that are stored.
//!
//! # Rows
//!
//! | call | beside another | lost answer | dropped | clock | killed | older program |
//! |---|---|---|---|---|---|---|
//! | [`put`](crate::Table::put) | the last applied stays, whole [^histories] | sent again [^again]; an older value can return, whole [^histories] | whole or not, perhaps later [^dropped] | no effect [^server-time] | whole or not [^killed] | own columns whole, others stay [^older] |
//! | [`insert`](crate::Table::insert) | columns mix [^mix] | sent again: one more version of the same value [^again] | whole or not, perhaps later [^dropped] | no effect [^server-time] | whole or not [^killed] | others stay [^older] |
//! | [`merge`](crate::Table::merge), [`update`](crate::Table::update) | each column as last applied [^columns] | sent again [^again] | all changes or none, perhaps later [^dropped] | no effect [^server-time] | all changes or none [^killed] | others stay [^older] |
//! | [`put_if`](crate::Table::put_if) | one of them is true, if it changes what the condition compares, and its row is stored [^one-wins] [^histories] | not sent again; unknown: read the row [^once] | made or not; the condition still guards it [^guarded] | only the time of a compared `column_version` [^version] | made or not [^killed] | own columns whole, others stay [^older] |
//! | [`Update::only_if`](crate::Update::only_if) | one of them is true, if it changes what the condition compares [^one-wins] | not sent again; unknown: read the row [^once] | made or not; the condition still guards it [^guarded] | only the time of a compared `column_version` [^version] | made or not [^killed] | others stay [^older] |
//! | [`put_if_absent`](crate::Table::put_if_absent) | one of them is true [^one-wins] | not sent again; unknown: read the row [^once] | made or not; a row that is there stays [^guarded] | no effect [^server-time] | made or not [^killed] | any cell keeps the row [^kept] |
//! | [`delete_if`](crate::Table::delete_if) | one of them is true [^one-wins] | not sent again; unknown: read the row [^once] | made or not; the condition still guards it [^guarded] | no effect [^any-time] | made or not [^killed] | all columns go [^older] |
//! | [`increment`](crate::Table::increment), [`append`](crate::Table::append), [`modify`](crate::Table::modify) | all count [^counts] | not sent again; unknown: again may count twice [^once] | counted once or not at all [^dropped] | no effect [^rule-time] | counted once or not at all [^killed] | others stay [^older] |
//! | [`delete`](crate::Table::delete) | the last applied stays [^delete] | sent again [^again]; it can take a newer row | deleted or not, perhaps later [^dropped] | no effect [^any-time] | deleted or not [^killed] | all columns go [^older] |
//! | [`delete_rows`](crate::Table::delete_rows) | all rows found go [^deletes] | sent again [^again] | a part is deleted; call it again [^dropped] | no effect [^any-time] | a part is deleted [^killed] | all columns go [^older] |
//! | [`drop_rows`](crate::Table::drop_rows) | all rows go [^deletes] | not sent again; a part is dropped: call it again [^tables-once] | bucket by bucket [^dropped-buckets] | no effect [^any-time] | bucket by bucket [^killed-table] | all columns go, foreign rows too [^deletes] |
//! | [`put_both`](crate::put_both) | each row whole, in no order [^both] | sent again [^again] | the first row alone, or both [^dropped] | no effect [^server-time] | the first row alone, or both [^killed] | as `put` [^older] |
//! | [`put_all`](crate::Table::put_all), [`merge_all`](crate::Table::merge_all) | as `put` and `merge`; of one key the last given stays [^histories] [^last-given] [^columns] | the failed rows are sent again [^again] | a part, each row whole [^dropped] | no effect [^server-time] | a part, each row whole [^killed] | as `put` and `merge` [^older] |
//! | [`Writer::put`](crate::Writer::put), [`Writer::delete`](crate::Writer::delete) | as `put` and `delete`; no order without a `flush` between [^histories] [^flush] | the failed rows are sent again [^again] | what the writer took is sent [^writer-dropped] [^dropped] | no effect [^server-time] [^any-time] | what was not sent is lost [^killed] | as `put` and `delete` [^older] |
//! | [`load`](crate::Table::load), [`load_iter`](crate::Table::load_iter) | the last applied stays, whole [^histories] | the failed rows are sent again [^again] | a part, each row whole: resume it [^dropped] | no effect [^server-time] | a part: resume it from the last checkpoint [^resumed] [^killed] | as `put` [^older] |
//! | [`Load::new_rows`](crate::load::Load::new_rows) | columns mix [^mix] | sent again: one more version of the same value [^again] | a part, each row whole: resume it [^dropped] | no effect [^server-time] | a part: resume it [^killed] | others stay [^older] |
//! | [`Load::if_absent`](crate::load::Load::if_absent) | the first stays, and so does a live row [^one-wins] [^live-row] | sent again: the row counts as kept [^again] | a part, each row whole: resume it [^dropped] | no effect [^server-time] | a part: resume it [^killed] | any cell keeps the row [^kept] |
//!
//! # Tables
//!
//! | call | beside another | lost answer | dropped | clock | killed | older program |
//! |---|---|---|---|---|---|---|
//! | [`create_if_absent`](crate::Table::create_if_absent) | one creates, the others compare [^creates] | not sent again; the same call compares [^created-once] | there with all its families, or not [^dropped-table] | no effect [^no-time] | there with all its families, or not [^killed-table] | families of newer programs stay [^older-families] |
//! | [`create`](crate::Table::create), [`RawTable::create`](crate::client::RawTable::create) | one creates, the others fail [^creates] | not sent again; the same call says that it exists [^created-once] | there with all its families, or not [^dropped-table] | no effect [^no-time] | there with all its families, or not [^killed-table] | fails where the table is there [^creates] |
//! | [`modify_families`](crate::Table::modify_families), [`RawTable::modify_families`](crate::client::RawTable::modify_families) | one adds a family, the others fail [^changes] | not sent again: look [^tables-once] | all changes or none [^dropped-table] | no effect [^no-time] | all changes or none [^killed-table] | changes what it names alone [^changes] |
//! | [`delete_table`](crate::Table::delete_table), [`Client::delete_table`](crate::Client::delete_table) | one deletes, the others fail [^changes] | not sent again; the same call says that it is gone [^tables-once] | gone or whole [^dropped-table] | no effect [^no-time] | gone or whole [^killed-table] | all columns go [^older-table] |
//! | [`vouch`](crate::Table::vouch) | all succeed [^vouches] | not sent again; the same call finds it [^vouches-again] | vouched for or not: call it again [^vouches-dropped] | no effect [^no-time] | vouched for or not: call it again [^vouches-dropped] [^vouches-again] | vouches for the same layout [^vouches-older] |
//! | [`write_marker`](crate::Table::write_marker), [`remove_marker`](crate::Table::remove_marker) | all succeed [^marker] | the same call compares, or removes again [^marker-again] | there or not: call it again [^marker-dropped] | no effect [^marker] | as dropped [^marker-dropped] [^marker-again] | says nothing of columns [^marker] |
//!
//! # Without a key type
//!
//! A raw write does what it names, and takes the times that it is given. Two of them agree on a row's columns only where
//! the programs do.
//!
//! | call | beside another | lost answer | dropped | clock | killed | older program |
//! |---|---|---|---|---|---|---|
//! | [`mutate_row`](crate::client::RawTable::mutate_row) | applied whole, one after the other [^raw] | sent again, where it has no time of the server and adds nothing [^again] [^raw-once] | whole or not, perhaps later [^dropped] | times that it is given hide newer ones, and tear rows [^old-write] | whole or not [^killed] | columns that it does not name stay [^older] |
//! | [`mutate_rows`](crate::client::RawTable::mutate_rows), [`RawWriter::write`](crate::client::RawWriter::write) | each row as by `mutate_row`; a key given twice has no order [^raw] | the failed rows, as by `mutate_row` [^again] [^raw-once] | a part, each row whole [^dropped] | as `mutate_row` [^old-write] | a part, each row whole [^killed] | columns that they do not name stay [^older] |
//! | [`check_and_mutate_row`](crate::client::RawTable::check_and_mutate_row) | one step each [^raw-one-wins] | not sent again; unknown: read the row [^once] | made or not [^dropped] | as `mutate_row` [^old-write] | made or not [^killed] | columns that it does not name stay [^older] |
//! | [`read_modify_write_row`](crate::client::RawTable::read_modify_write_row) | all count [^counts] | not sent again; unknown: again may count twice [^once] | counted once or not at all [^dropped] | no effect [^rule-time] | counted once or not at all [^killed] | columns that it does not name stay [^older] |
//!
//! # What no client can promise
//!
//! - **A put that has returned can come back.** Its request may have been sent twice, and the first one may still be on its
//!   way when the second is answered, or when the call has given up. It then brings its value back, whole. Only a condition
//!   prevents that: [`put_if`](crate::Table::put_if).
//! - **Programs that own different columns do not agree on a row.** Each writes its own columns whole; the row is of both. An
//!   `update` beside a `put` can leave such a row too, and so can a program that sets cells at its own clock's time.
//! - **A cell of the future is read until its time has come**, whatever is put over it, and so is a cell from before the
//!   server's clock stepped back.
//! - **A load can undo a delete**, since a row that is gone leaves nothing to compare.
//! - **Rows that reach the end of `max_age` can lose their cells one by one.** Read them as rows of which columns are missing.
//! - **An increment does not know whether its row is there.** It makes one of this column alone where the row was deleted.
//! - **Clusters that are written at the same time** agree later, cell by cell: none of this holds between them.
//!
//! # How it is tested
//!
//! Three tests are for most of it. A model of the writes is searched to exhaustion, with every order of requests, retries
//! and clocks. Histories of 8 writers, with lost answers, late requests and clocks that are off, are compared with what a row
//! may be read as. And each call is made, dropped, killed and made again.
//!
//! [^histories]: `histories_of_the_embedded_bigtable_have_no_violation`, `histories_of_a_file_have_no_violation`, `histories_of_the_emulator_have_no_violation`, `what_put_sends`
//! [^again]: `what_may_be_made_twice_is_made_again_after_a_lost_answer`
//! [^dropped]: `a_dropped_call_leaves_its_row_whole`
//! [^server-time]: `every_write_of_a_value_sets_its_cells_at_the_servers_time`
//! [^killed]: `a_killed_program_leaves_each_row_whole`
//! [^older]: `an_older_program_leaves_newer_columns`
//! [^mix]: `inserts_of_one_row_mix_their_columns`
//! [^columns]: `changes_beside_each_other_stay_column_by_column`
//! [^one-wins]: `of_conditional_calls_beside_each_other_one_wins`, `a_state_machine_reaches_its_last_state`
//! [^once]: `what_may_be_made_once_fails_after_a_lost_answer`
//! [^guarded]: `a_condition_guards_the_call_after_a_dropped_one`
//! [^version]: `a_compared_version_is_superseded`, `no_update_by_version_is_lost`
//! [^kept]: `an_older_program_keeps_a_row_that_is_there`
//! [^any-time]: `a_deletion_takes_cells_of_any_time`
//! [^counts]: `all_that_counts_beside_each_other_counts`
//! [^rule-time]: `what_a_rule_makes_is_never_older_than_what_it_read`
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
//! [^live-row]: `a_live_row_is_kept_by_a_load_of_absent_rows`
//! [^creates]: `of_several_that_create_a_table_one_does`
//! [^created-once]: `a_table_is_created_once_and_compared_after_a_lost_answer`
//! [^dropped-table]: `a_dropped_call_leaves_its_table_whole`
//! [^no-time]: `requests_about_tables_have_no_time`
//! [^older-families]: `an_older_program_leaves_newer_families`
//! [^changes]: `of_several_that_change_a_table_one_does`
//! [^older-table]: `a_table_goes_with_all_of_its_columns`
//! [^vouches]: `all_that_vouch_beside_each_other_succeed`
//! [^vouches-again]: `a_voucher_is_found_after_a_lost_answer`
//! [^vouches-dropped]: `a_dropped_call_leaves_a_voucher_or_none`
//! [^vouches-older]: `an_older_program_vouches_for_the_same_layout`
//! [^marker]: `markers_beside_each_other_are_one`
//! [^marker-again]: `a_marker_is_compared_after_a_lost_answer`
//! [^marker-dropped]: `a_dropped_call_leaves_a_marker_or_none`
//! [^raw]: `raw_writes_beside_each_other_are_applied_whole`
//! [^raw-once]: `a_raw_write_of_the_servers_time_fails_after_a_lost_answer`
//! [^raw-one-wins]: `of_raw_conditional_writes_beside_each_other_one_wins`
//! [^old-write]: `the_write_of_former_releases_is_caught_within_1000_operations`
