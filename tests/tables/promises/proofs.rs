//! The tests that prove each row of the page, by the situation that they are about. `page.rs` compares this list with the page.

/// Names of tests.
pub(super) type Tests = &'static [&'static str];

/// A row of the page, as its first cell reads, and the tests of each situation.
type Proof<const SITUATIONS: usize> = (&'static str, [&'static [Tests]; SITUATIONS]);

/// Every row: the heading that it is under, its first cell, and its tests.
pub(super) fn proofs() -> impl Iterator<Item = (&'static str, &'static str, &'static [&'static [Tests]])> {
    let writes = [
        ("Rows", ROWS),
        ("Distinct values", DISTINCT),
        ("Tables that are re-keyed", REKEYED_TABLES),
        ("Tables", TABLES),
        ("Without a key type", RAW_TABLES),
    ];
    let writes = writes
        .into_iter()
        .flat_map(|(heading, rows)| rows.iter().map(move |(row, tests)| (heading, *row, &tests[..])));
    let hidden = HIDDEN_ROWS.iter().map(|(row, tests)| ("Rows that a `ttl` hides", *row, &tests[..]));
    writes.chain(hidden)
}

// The situations of a write: concurrent calls, a lost response, a dropped future, a wrong clock, a killed process, an older program.

const ROWS: &[Proof<6>] = &[
    ("put", [&[HISTORIES], &[AGAIN, HISTORIES], &[DROPPED], &[SERVER_TIME], &[KILLED], &[OLDER]]),
    ("merge, update", [&[COLUMNS], &[AGAIN], &[DROPPED], &[SERVER_TIME], &[KILLED], &[OLDER]]),
    ("put_if", [&[ONE_WINS, HISTORIES], &[ONCE], &[GUARDED], &[VERSION, AHEAD, BEHIND], &[KILLED], &[OLDER]]),
    ("Update::only_if", [&[ONE_WINS], &[ONCE], &[GUARDED], &[VERSION, AHEAD, BEHIND], &[KILLED], &[OLDER]]),
    ("put_if_absent", [&[ONE_WINS], &[ONCE], &[GUARDED], &[SERVER_TIME, AHEAD, BEHIND], &[KILLED], &[KEPT]]),
    ("delete_if", [&[ONE_WINS], &[ONCE], &[GUARDED], &[ANY_TIME, AHEAD, BEHIND], &[KILLED], &[OLDER]]),
    ("increment, append, modify", [&[COUNTS], &[ONCE], &[DROPPED], &[RULE_TIME], &[KILLED], &[OLDER]]),
    (
        "Update::add, Update::add_at, to a Sum",
        [&[SUMS], &[SUMS_ONCE, SUMS_IGNORED], &[SUMS_DROPPED], &[SUMS_CLOCK], &[SUMS_DROPPED], &[SUMS_OLDER]],
    ),
    ("delete", [&[DELETE], &[AGAIN], &[DROPPED], &[ANY_TIME], &[KILLED], &[OLDER]]),
    ("delete_rows", [&[DELETES], &[AGAIN], &[DROPPED], &[ANY_TIME], &[KILLED], &[OLDER]]),
    ("delete_all", [&[DELETES], &[AGAIN], &[DROPPED], &[ANY_TIME], &[KILLED], &[OLDER]]),
    ("drop_rows", [&[DELETES], &[TABLES_ONCE], &[DROPPED_BUCKETS], &[ANY_TIME], &[KILLED_TABLE], &[DELETES]]),
    ("put_both", [&[BOTH], &[AGAIN], &[DROPPED], &[SERVER_TIME], &[KILLED], &[OLDER]]),
    (
        "put_all, merge_all, update_all",
        [&[HISTORIES, LAST_GIVEN, COLUMNS], &[AGAIN], &[DROPPED], &[SERVER_TIME], &[KILLED], &[OLDER]],
    ),
    (
        "Writer::put, Writer::update, Writer::delete",
        [
            &[HISTORIES, FLUSH],
            &[AGAIN],
            &[WRITER_DROPPED, DROPPED],
            &[SERVER_TIME, ANY_TIME],
            &[KILLED],
            &[OLDER],
        ],
    ),
    ("load, load_iter", [&[HISTORIES], &[AGAIN], &[DROPPED], &[SERVER_TIME], &[RESUMED, KILLED], &[OLDER]]),
    ("Load::new_rows", [&[MIX], &[AGAIN], &[DROPPED], &[SERVER_TIME], &[KILLED], &[OLDER]]),
    (
        "Load::add_sums",
        [
            &[SUMS_LOADED],
            &[SUMS_LOADED_ONCE, SUMS_LOADED_IGNORED],
            &[SUMS_LOADED_DROPPED],
            &[SUMS_LOADED_CLOCK],
            &[SUMS_LOADED_KILLED],
            &[SUMS_OLDER],
        ],
    ),
    ("copy_to", [&[COPIES], &[COPIED_AGAIN], &[COPY_DROPPED], &[COPIED], &[COPY_KILLED], &[COPIED]]),
    (
        "Load::if_absent",
        [&[ONE_WINS, LIVE_ROW], &[AGAIN], &[DROPPED], &[SERVER_TIME, AHEAD, BEHIND], &[KILLED], &[KEPT]],
    ),
];

const REKEYED_TABLES: &[Proof<6>] = &[
    (
        "Rekeyed: put, merge, put_all, delete",
        [&[CHAOS, REKEYED_READS, BY_ROW], &[LEASE], &[CHAOS], &[LEASES], &[CHAOS], &[STRAY]],
    ),
    (
        "Rekeyed: page, distinct, and each scan in order",
        [
            &[CHAOS, REKEYED_READS, PAIRED_READS],
            &[CHAOS],
            &[CHAOS],
            &[HIDDEN_REKEYED],
            &[CHAOS, REKEYED_PAGES],
            &[STRAY],
        ],
    ),
    (
        "Rekeyed: writer, delete_rows, delete_all",
        [
            &[CHAOS, REKEYED_DELETES],
            &[CHAOS, REKEYED_DELETES],
            &[REKEYED_DELETES],
            &[LEASES],
            &[CHAOS],
            &[STRAY],
        ],
    ),
    (
        "Rekeyed: partitions",
        [
            &[PAIRED_READS],
            &[REKEYED_PARTITIONS],
            &[REKEYED_PARTITIONS],
            &[HIDDEN_REKEYED],
            &[REKEYED_PARTITIONS],
            &[STRAY],
        ],
    ),
    (
        "Rekeyed: increment, append, put_if, put_if_absent, delete_if",
        [&[CHAOS], &[LATE], &[CHAOS], &[LEASES], &[CHAOS], &[STRAY]],
    ),
    (
        "Migration::run, Migration::finish, Migration::roll_back",
        [&[DRIVERS], &[STATE_LOST], &[DRIVER_KILLED], &[LEASES, REKEYED_EXPIRY], &[DRIVER_KILLED], &[STRAY]],
    ),
];

const TABLES: &[Proof<6>] = &[
    (
        "create_if_absent, Layouts::create_if_absent",
        [
            &[CREATES, ALL_CREATES],
            &[CREATED_ONCE],
            &[DROPPED_TABLE, ALL_DROPPED],
            &[NO_TIME],
            &[KILLED_TABLE],
            &[OLDER_FAMILIES],
        ],
    ),
    (
        "TableChanges::apply",
        [
            &[APPLIED_BY_ALL, CHANGED_SINCE],
            &[TABLES_ONCE, APPLIED_AS_LISTED],
            &[APPLY_DROPPED],
            &[NO_TIME],
            &[KILLED_TABLE, APPLY_DROPPED],
            &[OLDER_FAMILIES],
        ],
    ),
    (
        "create, RawTable::create, RawTable::create_with_granularity",
        [&[CREATES], &[CREATED_ONCE], &[DROPPED_TABLE], &[NO_TIME], &[KILLED_TABLE], &[CREATES]],
    ),
    (
        "modify_families, RawTable::modify_families",
        [&[CHANGES], &[TABLES_ONCE], &[DROPPED_TABLE], &[NO_TIME], &[KILLED_TABLE], &[CHANGES]],
    ),
    (
        "delete_table, Client::delete_table",
        [&[CHANGES], &[TABLES_ONCE], &[DROPPED_TABLE], &[NO_TIME], &[KILLED_TABLE], &[OLDER_TABLE]],
    ),
    (
        "remove_row_key_schema, RawTable::remove_row_key_schema",
        [
            &[UNSCHEMED],
            &[UNSCHEMED_AGAIN],
            &[UNSCHEMED_DROPPED],
            &[NO_TIME],
            &[UNSCHEMED_DROPPED, UNSCHEMED_AGAIN],
            &[UNSCHEMED_TYPES],
        ],
    ),
    (
        "stamp",
        [
            &[STAMPS],
            &[STAMPS_AGAIN],
            &[STAMPS_DROPPED],
            &[NO_TIME],
            &[STAMPS_DROPPED, STAMPS_AGAIN],
            &[STAMPS_OLDER],
        ],
    ),
    (
        "advance_stamp",
        [
            &[ADVANCES, ADVANCES_REFUSED],
            &[ADVANCES_AGAIN],
            &[ADVANCES_DROPPED],
            &[ADVANCES_HOUR],
            &[ADVANCES_DROPPED, ADVANCES_AGAIN],
            &[ADVANCES_OLDER],
        ],
    ),
    (
        "retire_row_type",
        [&[RETIRES], &[RETIRES], &[RETIRES_DROPPED], &[NO_TIME], &[RETIRES_DROPPED], &[RETIRES]],
    ),
];

const DISTINCT: &[Proof<6>] = &[(
    "Scan::distinct",
    [
        &[&["values_that_stay_are_delivered_beside_writers"]],
        &[&["a_distinct_scan_resumes_after_lost_streams"]],
        &[&["a_dropped_distinct_scan_sends_no_more"]],
        &[HIDDEN_READS, AHEAD, BEHIND],
        &[&["a_dropped_distinct_scan_sends_no_more"]],
        &[&["a_part_of_a_row_type_hides_what_the_whole_does"]],
    ],
)];

const RAW_TABLES: &[Proof<6>] = &[
    ("mutate_row", [&[RAW], &[AGAIN, RAW_ONCE, SUMS_ONCE], &[DROPPED], &[OLD_WRITE], &[KILLED], &[OLDER]]),
    (
        "mutate_rows, RawWriter::write",
        [&[RAW], &[AGAIN, RAW_ONCE], &[DROPPED], &[OLD_WRITE], &[KILLED], &[OLDER]],
    ),
    ("check_and_mutate_row", [&[RAW_ONE_WINS], &[ONCE], &[DROPPED], &[OLD_WRITE], &[KILLED], &[OLDER]]),
    ("read_modify_write_row", [&[COUNTS], &[ONCE], &[DROPPED], &[RULE_TIME], &[KILLED], &[OLDER]]),
];

// The situations of a hidden row: a clock that is right, one that is ahead, and one that is behind.

const HIDDEN_ROWS: &[Proof<3>] = &[
    (
        "get, get_many, exists, count, verify_rows, Select::get, Select::get_many, \
         Scan::collect, Scan::count, Scan::distinct, Scan::page, Scan::visit, Scan::explain_analyze, Rows::next, \
         Exported::next",
        [&[HIDDEN_READS], &[AHEAD], &[BEHIND]],
    ),
    ("get_raw, Scan::raw", [&[HIDDEN_STORED], &[HIDDEN_STORED], &[HIDDEN_STORED]]),
    (
        "put, put_all, Writer::put, load, load_iter, put_both",
        [&[HIDDEN_PUT], &[SERVER_TIME, HIDDEN_WRITE, AHEAD], &[SERVER_TIME, HIDDEN_WRITE]],
    ),
    (
        "merge, merge_all, update, update_all, Writer::update, Load::new_rows",
        [&[HIDDEN_CHANGE], &[SERVER_TIME, HIDDEN_WRITE, AHEAD], &[SERVER_TIME, HIDDEN_WRITE]],
    ),
    ("put_if, Update::only_if, delete_if", [&[HIDDEN_CONDITIONS], &[AHEAD], &[BEHIND]]),
    ("put_if_absent, Load::if_absent", [&[HIDDEN_ABSENT, HIDDEN_PART], &[AHEAD], &[BEHIND]]),
    ("increment, append, modify", [&[HIDDEN_MODIFY], &[HIDDEN_MODIFY], &[HIDDEN_MODIFY]]),
    ("Update::add_at", [&[HIDDEN_WINDOW], &[HIDDEN_WINDOW, AHEAD], &[HIDDEN_WINDOW]]),
    (
        "delete, Writer::delete, delete_rows, delete_all, drop_rows",
        [&[HIDDEN_DELETES], &[HIDDEN_DELETES], &[ANY_TIME]],
    ),
    ("copy_to, Table::diff", [&[HIDDEN_COPIES], &[HIDDEN_COPIES], &[HIDDEN_COPIES]]),
    (
        "Rekeyed: get, get_many, exists, Scan::collect, Scan::count, Scan::page, Scan::visit, Scan::distinct, put_if_absent, delete_if, \
         delete",
        [&[HIDDEN_REKEYED, PAIRED_READS], &[HIDDEN_REKEYED, PAIRED_READS], &[BEHIND, PAIRED_READS]],
    ),
];

const HISTORIES: Tests = &[
    "histories_of_the_embedded_bigtable_have_no_violation",
    "histories_of_a_file_have_no_violation",
    "histories_of_the_emulator_have_no_violation",
    "what_put_sends",
];
const AGAIN: Tests = &["idempotent_calls_are_retried_after_a_lost_response"];
const DROPPED: Tests = &["a_dropped_call_leaves_its_row_whole"];
const SERVER_TIME: Tests = &["every_write_of_a_value_sets_its_cells_at_the_servers_time"];
const KILLED: Tests = &["a_killed_program_leaves_each_row_whole"];
const OLDER: Tests = &["an_older_program_leaves_newer_columns"];
const MIX: Tests = &["new_rows_of_one_key_mix_their_columns"];
const COLUMNS: Tests = &["concurrent_changes_of_different_columns_all_stay"];
const ONE_WINS: Tests =
    &["one_of_several_concurrent_conditional_calls_wins", "a_state_machine_reaches_its_last_state"];
const ONCE: Tests = &["other_calls_fail_as_unknown_after_a_lost_response"];
const GUARDED: Tests = &["a_condition_guards_the_call_after_a_dropped_one"];
const VERSION: Tests = &["a_compared_version_is_superseded", "no_update_by_version_is_lost"];
const KEPT: Tests = &["an_older_program_keeps_a_row_that_is_there"];
const ANY_TIME: Tests = &["a_deletion_takes_cells_of_any_time"];
const COUNTS: Tests = &["concurrent_increments_and_appends_all_count"];
const RULE_TIME: Tests = &["a_cell_written_by_a_rule_is_never_older_than_the_cell_it_read"];
const SUMS: Tests = &["concurrent_additions_all_count"];
const SUMS_ONCE: Tests = &[
    "an_addition_counts_once_after_a_lost_answer",
    "each_addition_counts_once_when_answers_are_lost",
    "each_addition_counts_once_when_the_server_is_killed",
];
const SUMS_IGNORED: Tests = &[
    "an_addition_without_tokens_fails_after_a_lost_answer",
    "a_server_that_is_not_known_to_honour_tokens_gets_an_addition_once",
];
const SUMS_DROPPED: Tests = &["a_dropped_addition_counts_once_or_not_at_all"];
const SUMS_CLOCK: Tests = &["tokens_are_remembered_for_15_minutes"];
const SUMS_OLDER: Tests = &["sums_stay_beside_programs_without_them"];
const SUMS_LOADED: Tests = &["loads_beside_each_other_all_add", "each_item_adds_to_what_is_there"];
const SUMS_LOADED_ONCE: Tests =
    &["lost_answers_count_once", "sums_are_exact_or_the_load_says_that_it_cannot_know"];
const SUMS_LOADED_IGNORED: Tests = &["where_tokens_are_ignored_a_lost_answer_is_a_failed_row"];
const SUMS_LOADED_DROPPED: Tests = &["sums_are_exact_or_the_load_says_that_it_cannot_know"];
const SUMS_LOADED_CLOCK: Tests = &["a_clock_that_was_set_counts_no_item_twice"];
const SUMS_LOADED_KILLED: Tests = &["a_killed_load_is_resumed_within_the_life_of_its_tokens"];
const DELETE: Tests = &["a_delete_beside_a_put_leaves_the_row_whole_or_none"];
const DELETES: Tests = &["deletions_beside_each_other_all_succeed"];
const TABLES_ONCE: Tests = &["a_table_is_not_changed_again_after_a_lost_answer"];
const DROPPED_BUCKETS: Tests = &["a_dropped_drop_of_rows_leaves_buckets_whole"];
const KILLED_TABLE: Tests = &["a_killed_program_leaves_each_table_whole"];
const BOTH: Tests = &["rows_of_put_both_are_whole_each"];
const LAST_GIVEN: Tests = &["the_last_row_of_a_key_stays", "no_request_has_a_key_twice"];
const FLUSH: Tests = &["a_flush_ends_what_was_taken_before"];
const WRITER_DROPPED: Tests = &["a_writer_that_is_dropped_sends_what_it_has"];
const RESUMED: Tests = &["loads_that_are_killed_and_resumed_end_with_the_rows_of_the_input"];
const COPIES: Tests = &["copies_beside_each_other_give_the_same_rows"];
const COPIED_AGAIN: Tests = &["a_copy_is_exact_when_answers_are_lost"];
const COPY_DROPPED: Tests = &["a_dropped_copy_leaves_whole_rows_and_is_resumed"];
const COPIED: Tests = &["rows_are_copied_to_another_key_type", "random_rows_are_copied_exactly"];
const COPY_KILLED: Tests = &["copies_that_are_killed_and_resumed_end_with_every_cell"];
const LIVE_ROW: Tests = &["a_row_written_during_an_if_absent_load_is_kept"];
const AHEAD: Tests = &["a_client_that_is_ahead_takes_a_lock_early"];
const BEHIND: Tests = &["a_client_that_is_behind_takes_a_lock_late"];
const HIDDEN_READS: Tests = &["reads_agree_that_a_hidden_row_is_not_there"];
const HIDDEN_STORED: Tests = &["stored_reads_show_hidden_rows"];
const HIDDEN_PUT: Tests = &["a_put_replaces_a_hidden_row_whole"];
const HIDDEN_WRITE: Tests =
    &["a_write_that_would_be_hidden_at_once_fails", "a_write_that_would_be_hidden_at_once_fails_in_bulk"];
const HIDDEN_CHANGE: Tests = &["changes_of_a_hidden_row_leave_the_hidden_columns"];
const HIDDEN_CONDITIONS: Tests = &["conditions_take_a_hidden_row_for_absent"];
const HIDDEN_ABSENT: Tests = &["if_absent_replaces_a_hidden_row_whole"];
const HIDDEN_PART: Tests = &["a_row_that_is_hidden_in_part_is_there"];
const HIDDEN_MODIFY: Tests = &["hidden_values_are_not_changed_at_the_server"];
const HIDDEN_WINDOW: Tests = &["a_window_that_is_hidden_takes_no_addition"];
const HIDDEN_DELETES: Tests = &["erasures_take_hidden_rows"];
const HIDDEN_COPIES: Tests = &["copies_and_comparisons_take_hidden_cells"];
const HIDDEN_REKEYED: Tests = &["a_re_keyed_table_hides_rows_too"];
const CHAOS: Tests = &["nothing_is_lost_while_a_table_is_re_keyed_on_the_emulator"];
const LEASE: Tests = &[
    "a_put_goes_again_once_the_state_is_known_again",
    "a_write_that_was_sent_and_cannot_go_again_has_an_unknown_outcome",
];
const LEASES: Tests = &["a_driver_waits_longer_than_any_lease"];
const LATE: Tests = &["a_late_answer_to_an_increment_has_an_unknown_outcome", "no_request_outlives_a_lease"];
const STRAY: Tests = &[
    "other_programs_are_rejected_while_a_table_is_re_keyed",
    "what_a_forgotten_program_writes_is_found_before_the_table_counts_as_moved",
    "what_a_forgotten_program_wrote_is_copied_by_the_next_run",
];
const BY_ROW: Tests = &[
    "a_key_does_not_reach_the_row_of_another_key",
    "one_of_several_keys_gets_a_place",
    "lost_answers_do_no_harm",
];
const PAIRED_READS: Tests = &["every_read_is_that_of_the_model_and_every_pair_meets"];
const REKEYED_PAGES: Tests = &["pages_go_on_when_the_state_changes"];
const REKEYED_PARTITIONS: Tests = &["partitions_of_one_state_are_those_of_every_state"];
const REKEYED_DELETES: Tests =
    &["rows_are_deleted_by_a_plan_whatever_happens", "a_service_is_the_same_in_every_state"];
const REKEYED_READS: Tests = &[
    "every_read_of_every_state_is_that_of_the_model",
    "a_filter_sees_the_row_that_counts",
    "a_row_that_is_put_again_after_its_ttl_is_scanned",
    "each_of_two_keys_with_one_old_key_is_scanned_once",
    "many_keys_with_one_old_key_are_read_as_each_alone",
    "a_row_whose_original_goes_during_a_scan_comes_once",
];
const REKEYED_EXPIRY: Tests = &[
    "a_table_whose_rows_expire_is_moved",
    "a_table_whose_rows_expire_is_rolled_back",
    "a_value_that_differs_is_a_difference_at_any_age",
];
const DRIVERS: Tests = &["two_drivers_come_to_one_end", "a_driver_that_was_stopped_gives_way"];
const STATE_LOST: Tests = &["a_change_of_the_state_whose_answer_is_lost_is_looked_up"];
const DRIVER_KILLED: Tests =
    &["a_pass_goes_on_where_a_dead_driver_was", "another_driver_rolls_back_for_a_dead_one"];
const APPLIED_AS_LISTED: Tests = &["what_is_listed_is_done"];
const APPLIED_BY_ALL: Tests = &["concurrent_calls_all_succeed"];
const APPLY_DROPPED: Tests = &["a_dropped_call_is_made_again"];
const CHANGED_SINCE: Tests = &["a_table_that_has_changed_since_is_left_as_it_is"];
const ALL_CREATES: Tests = &["every_table_is_created_once_by_concurrent_programs"];
const ALL_DROPPED: Tests = &["a_call_that_was_dropped_is_made_again"];
const CREATES: Tests = &["of_several_that_create_a_table_one_does"];
const CREATED_ONCE: Tests = &["a_table_is_created_once_and_compared_after_a_lost_answer"];
const DROPPED_TABLE: Tests = &["a_dropped_call_leaves_its_table_whole"];
const NO_TIME: Tests = &["requests_that_change_tables_carry_no_timestamp"];
const OLDER_FAMILIES: Tests = &["an_older_program_leaves_newer_families"];
const CHANGES: Tests = &["of_several_that_change_a_table_one_does"];
const OLDER_TABLE: Tests = &["deleting_a_table_deletes_columns_that_the_program_lacks"];
const UNSCHEMED: Tests = &["all_that_remove_a_row_key_schema_beside_each_other_succeed"];
const UNSCHEMED_AGAIN: Tests = &["a_row_key_schema_is_removed_again_after_a_lost_answer"];
const UNSCHEMED_DROPPED: Tests = &["a_dropped_call_leaves_a_row_key_schema_or_none"];
const UNSCHEMED_TYPES: Tests = &["a_row_key_schema_is_removed"];
const STAMPS: Tests = &["all_that_stamp_a_table_beside_each_other_succeed"];
const STAMPS_AGAIN: Tests = &["a_stamp_is_found_after_a_lost_answer"];
const STAMPS_DROPPED: Tests = &["a_dropped_call_leaves_a_stamp_or_none"];
const STAMPS_OLDER: Tests = &["an_older_program_adds_the_same_stamp"];
const ADVANCES: Tests = &["all_that_advance_beside_each_other_succeed"];
const ADVANCES_AGAIN: Tests = &["an_advance_is_found_after_a_lost_answer"];
const ADVANCES_DROPPED: Tests = &["a_dropped_advance_leaves_one_layout_or_the_other"];
const ADVANCES_HOUR: Tests = &["a_table_does_not_advance_in_the_hour_before_a_bound"];
const ADVANCES_REFUSED: Tests = &["a_table_with_a_row_key_schema_does_not_advance"];
const ADVANCES_OLDER: Tests = &["an_older_program_fails_once_the_table_has_advanced"];
const RETIRES: Tests = &["a_retired_row_type_is_compared_no_more"];
const RETIRES_DROPPED: Tests = &["a_dropped_call_retires_a_row_type_or_not"];
const RAW: Tests = &["raw_writes_beside_each_other_are_applied_whole"];
const RAW_ONCE: Tests = &["a_raw_write_of_the_servers_time_fails_after_a_lost_answer"];
const RAW_ONE_WINS: Tests = &["of_raw_conditional_writes_beside_each_other_one_wins"];
const OLD_WRITE: Tests = &["writes_at_the_clients_time_tear_rows_within_1000_operations"];
