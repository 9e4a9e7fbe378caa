//! What each write sends, checked in every order of requests, retries, lost answers, clocks and collected garbage.
//!
//! One row, one to three calls, each sent at most twice. Each configuration is expected to hold in every
//! state, or to have a counterexample: because keyderive does not send that form, or because Bigtable allows no better.
//! So a change of a form, or of what Bigtable does, shows as a configuration that differs from what is expected here.
//!
//! `WRITES_MODEL_PATHS=1` with `--nocapture` prints each counterexample.

mod row;
mod world;

use std::env;
use std::fmt::Write as _;
use std::time::Instant;

use stateright::{Checker, Model};
use world::Form::*;
use world::Law::*;
use world::Op::*;
use world::{Check, Form, LoadForm, Op};

/// What a configuration is said to be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expect {
    Holds,
    /// There is a counterexample, and keyderive does not send this.
    Refuted,
    /// There is a counterexample, and Bigtable allows no better.
    Limit,
}
use Expect::*;

/// The configurations of one test.
#[derive(Default)]
struct Group {
    /// Those that are not what they are said to be.
    unexpected: String,
}

impl Group {
    /// Checks every state of a configuration.
    fn run(&mut self, name: &str, expect: Expect, check: Check) {
        let begun = Instant::now();
        let checker = check.checker().threads(2).spawn_bfs().join();
        let found = checker.discoveries();
        let mut broken: Vec<_> = found.keys().copied().collect();
        broken.sort_unstable();
        let states = checker.unique_state_count();
        println!("{name:<60} {states:>7} states, {:.1?}: {expect:?} {broken:?}", begun.elapsed());
        let is_expected = (expect == Holds) == broken.is_empty();
        if is_expected && env::var_os("WRITES_MODEL_PATHS").is_none() {
            return;
        }
        let mut text = format!("`{name}` is said to be {expect:?}, and ");
        match broken.is_empty() {
            true => text.push_str("has no counterexample\n"),
            false => text.push_str("has a counterexample:\n"),
        }
        for (property, path) in found {
            let last = path.last_state().clone();
            let actions: Vec<_> =
                path.into_actions().into_iter().map(|action| format!("{action:?}")).collect();
            let _ = writeln!(text, "  not \"{property}\": {}", actions.join(", "));
            let _ = writeln!(text, "    row (time, value) {:?}, {:?}", last.row.0, last.violation);
        }
        match is_expected {
            true => print!("{text}"),
            false => self.unexpected.push_str(&text),
        }
    }

    #[track_caller]
    fn end(self) {
        assert!(self.unexpected.is_empty(), "{}", self.unexpected);
    }
}

const WHOLE: [world::Law; 2] = [WholeRows, DoneIsRead];

/// Calls with their writers' skews, and the laws that they keep.
fn check<const N: usize>(calls: [(Op, i8); N], laws: &[world::Law]) -> Check {
    Check {
        ops: calls.iter().map(|call| call.0).collect(),
        skews: calls.iter().map(|call| call.1).collect(),
        laws: laws.to_vec(),
        sends: 2,
        late: false,
        ticks: 2,
        step_back: false,
        uneven: false,
        max_age: None,
        in_order: false,
        stored: None,
    }
}

/// Two puts, of which the second lacks the optional column.
fn two(form: Form, skew: i8) -> [(Op, i8); 2] {
    [(Put(form, 1, true), 0), (Put(form, 2, false), skew)]
}

/// Three puts, of which the second lacks the optional column.
fn three(form: Form, skews: [i8; 3]) -> [(Op, i8); 3] {
    [(Put(form, 1, true), skews[0]), (Put(form, 2, false), skews[1]), (Put(form, 3, true), skews[2])]
}

#[test]
fn what_put_sends() {
    let mut group = Group::default();
    group.run(
        "put: 2 writers, retries, late requests",
        Holds,
        Check { late: true, ..check(two(AbsentServer, 0), &WHOLE) },
    );
    group.run(
        "put: 3 writers, clocks 2 off, late requests",
        Holds,
        Check { late: true, ..check(three(AbsentServer, [0, -2, 2]), &WHOLE) },
    );
    group.run(
        "put: over a row, a time for each cell",
        Holds,
        Check { uneven: true, stored: Some((7, 1)), ..check(two(AbsentServer, 0), &WHOLE) },
    );
    group.run(
        "put: max_age 1, clock lags by 2",
        Holds,
        Check { max_age: Some(1), ..check(two(AbsentServer, -2), &[DoneIsRead, NotDroppedOnArrival]) },
    );
    group.run(
        "put: what was replaced stays so",
        Holds,
        check(three(AbsentServer, [0, -2, 2]), &[StaysReplaced]),
    );
    group.run(
        "put: what was replaced stays so, late requests",
        Limit,
        Check { late: true, ..check(two(AbsentServer, 0), &[StaysReplaced]) },
    );
    group.run(
        "put: the server's clock steps back",
        Limit,
        Check { step_back: true, ..check(two(AbsentServer, 0), &WHOLE) },
    );
    group.run(
        "put: over a cell of the future",
        Limit,
        Check { stored: Some((9, 90)), ..check(two(AbsentServer, 0), &WHOLE) },
    );
    group.run(
        "put: beside an exclusive put of the same row",
        Holds,
        Check { late: true, ..check([(Put(AbsentServer, 1, true), 0), (Put(Whole, 2, false), -2)], &WHOLE) },
    );
    group.run(
        "put: by a program with fewer columns: own columns",
        Holds,
        Check {
            late: true,
            ..check(
                [(Put(AbsentServer, 2, true), 0), (PutFewer(AbsentServer, 1), 0)],
                &[WholeOfOwn, DoneIsRead],
            )
        },
    );
    group.run(
        "put_if: 7 to 8 to 9, clock lags by 2, late",
        Holds,
        Check {
            late: true,
            stored: Some((7, 3)),
            ..check([(PutIf(AbsentServer, 7, 8), 0), (PutIf(AbsentServer, 8, 9), -2)], &WHOLE)
        },
    );
    group.run(
        "put_if: beside put",
        Holds,
        Check {
            stored: Some((7, 3)),
            ..check([(PutIf(AbsentServer, 7, 8), 0), (Put(AbsentServer, 1, true), 2)], &WHOLE)
        },
    );
    group.run(
        "put_all: one key twice, the second after the first",
        Holds,
        Check {
            in_order: true,
            ticks: 0,
            ..check(
                [(Put(AbsentServer, 1, true), 0), (Put(AbsentServer, 2, false), 0)],
                &[WholeRows, LastOfBatchWins],
            )
        },
    );
    group.run(
        "load: beside a live put, over a row: whole",
        Holds,
        Check {
            stored: Some((7, 1)),
            late: true,
            ..check([(Load(LoadForm::Bulk, 1, true), 0), (Put(AbsentServer, 2, false), 0)], &WHOLE)
        },
    );
    group.run(
        "load: beside a live put: hides nothing",
        Limit,
        Check {
            stored: Some((7, 1)),
            late: true,
            ..check(
                [(Load(LoadForm::Bulk, 1, true), 0), (Put(AbsentServer, 2, false), 0)],
                &[LoadHidesNothingNewer],
            )
        },
    );
    group.run(
        "load: longer than max_age",
        Holds,
        Check { max_age: Some(1), ..check([(Load(LoadForm::Bulk, 1, true), 0)], &[NotDroppedOnArrival]) },
    );
    group.run(
        "load if absent: beside a live put",
        Holds,
        Check {
            late: true,
            ..check(
                [(Load(LoadForm::IfAbsent, 1, true), 0), (Put(AbsentServer, 2, false), 0)],
                &[WholeRows, LoadHidesNothingNewer],
            )
        },
    );
    group.run(
        "update: set at the server's time",
        Holds,
        Check {
            late: true,
            stored: Some((7, 3)),
            ..check([(Set(AbsentServer, 1), -2), (Set(AbsentServer, 2), 0)], &[DoneIsRead])
        },
    );
    group.run(
        "put: beside a delete, retries",
        Holds,
        Check { late: true, ..check([(Put(AbsentServer, 1, true), 2), (Delete, 0)], &WHOLE) },
    );
    group.end();
}

#[test]
fn what_an_exclusive_family_is_sent() {
    let mut group = Group::default();
    group.run("exclusive put: 2 writers, retries", Holds, check(two(Whole, 0), &WHOLE));
    group.run(
        "exclusive put: 3 writers, clocks 2 off, late requests",
        Holds,
        Check { late: true, ..check(three(Whole, [0, -2, 2]), &WHOLE) },
    );
    group.run(
        "exclusive put: the server's clock steps back",
        Holds,
        Check { step_back: true, late: true, ..check(two(Whole, 0), &WHOLE) },
    );
    group.run(
        "exclusive put: over a cell of the future",
        Holds,
        Check { stored: Some((9, 90)), ..check(two(Whole, 0), &WHOLE) },
    );
    group.run(
        "exclusive put: max_age 1, clock lags by 2",
        Holds,
        Check { max_age: Some(1), ..check(two(Whole, -2), &[DoneIsRead, NotDroppedOnArrival]) },
    );
    group.run(
        "exclusive put: a time for each cell",
        Holds,
        Check { uneven: true, ..check(two(Whole, 0), &WHOLE) },
    );
    group.run(
        "exclusive put: a time for each cell, and max_age 1",
        Limit,
        Check { uneven: true, max_age: Some(1), ..check(two(Whole, 0), &[WholeRows]) },
    );
    group.run(
        "exclusive put: what was replaced stays so",
        Holds,
        check(three(Whole, [0, -2, 2]), &[StaysReplaced]),
    );
    group.run(
        "exclusive put: what was replaced stays so, late requests",
        Limit,
        Check { late: true, ..check(two(Whole, 0), &[StaysReplaced]) },
    );
    group.end();
}

#[test]
fn forms_of_put_that_are_not_taken() {
    let mut group = Group::default();
    group.run("put, old: 2 writers", Refuted, check(two(Old, 0), &[WholeRows]));
    group.run(
        "put, old: 2 writers, one after the other, retries",
        Refuted,
        Check { in_order: true, late: true, ..check(two(Old, 0), &[WholeRows]) },
    );
    group.run(
        "put, old: clock lags by 2, no retry",
        Refuted,
        Check { sends: 1, in_order: true, ..check(two(Old, -2), &WHOLE) },
    );
    group.run(
        "put, old: max_age 1, clock lags by 2",
        Refuted,
        Check { max_age: Some(1), ..check([(Put(Old, 1, true), -2)], &[NotDroppedOnArrival]) },
    );
    group.run(
        "exclusive put at the client's time: 3 writers, late",
        Holds,
        Check { late: true, ..check(three(WholeClient, [0, -2, 2]), &WHOLE) },
    );
    group.run(
        "exclusive put at the client's time: max_age 1, clock lags by 2",
        Refuted,
        Check { max_age: Some(1), ..check([(Put(WholeClient, 1, true), -2)], &[NotDroppedOnArrival]) },
    );
    group.run("put, ranged: 2 writers, clock 1 behind", Refuted, check(two(Ranged, -1), &WHOLE));
    group.run(
        "put, ranged: late requests, right clocks",
        Refuted,
        Check { late: true, ..check(two(Ranged, 0), &[WholeRows]) },
    );
    group.run(
        "put, none cell: 3 writers, clocks off, late: whole",
        Holds,
        Check { late: true, ..check(three(NoneCell, [0, -2, 2]), &[WholeRows]) },
    );
    group.run("put, none cell: clock lags by 2", Refuted, check(two(NoneCell, -2), &[DoneIsRead]));
    group.run(
        "put, guarded: clocks off, late requests",
        Holds,
        Check { late: true, ..check(two(Guarded, -2), &[WholeRows, DoneIsRead, StaysReplaced]) },
    );
    group.end();
}

#[test]
fn insert_and_programs_of_other_columns() {
    let mut group = Group::default();
    group.run(
        "insert: a new row, retries, late",
        Holds,
        Check { late: true, ..check([(Put(Insert, 1, true), 0)], &WHOLE) },
    );
    group.run("insert: a row that is there", Limit, check(two(Insert, 0), &WHOLE));
    let mixed = |other| [(Put(Whole, 1, true), 0), (Put(other, 2, false), -2)];
    group.run("exclusive put, beside a program with the old put", Limit, check(mixed(Old), &[WholeRows]));
    let fewer = |form| [(Put(Whole, 2, true), 0), (PutFewer(form, 1), 0)];
    group.run(
        "put by a program with fewer columns: own columns",
        Holds,
        Check { late: true, ..check(fewer(Whole), &[WholeOfOwn, DoneIsRead]) },
    );
    group.run("put by a program with fewer columns: all columns", Limit, check(fewer(Whole), &[WholeRows]));
    group.run(
        "put of an exclusive family, by a program with fewer columns",
        Holds,
        Check { late: true, ..check(fewer(Family), &WHOLE) },
    );
    let unknown =
        |form| Check { stored: Some((7, 1)), ..check([(PutFewer(form, 1), 0)], &[KeepsUnknownColumns]) };
    group.run("put by a program with fewer columns: keeps the others", Holds, unknown(Whole));
    group.run("put of an exclusive family: keeps unknown columns", Limit, unknown(Family));
    group.end();
}

#[test]
fn conditional_writes() {
    let mut group = Group::default();
    let chain = |form| [(PutIf(form, 7, 8), 0), (PutIf(form, 8, 9), -2)];
    let stored = |check: Check| Check { stored: Some((7, 3)), ..check };
    group.run(
        "exclusive put_if: 7 to 8 to 9, clock lags by 2, late",
        Holds,
        stored(Check { late: true, ..check(chain(Whole), &WHOLE) }),
    );
    group.run("put_if, old: 7 to 8 to 9, clock lags by 2", Refuted, stored(check(chain(Old), &[DoneIsRead])));
    group.run(
        "exclusive put_if, beside put",
        Holds,
        stored(check([(PutIf(Whole, 7, 8), 0), (Put(Whole, 1, true), 2)], &WHOLE)),
    );
    group.run(
        "put_if_absent, nothing deleted: 2 writers and a delete",
        Holds,
        Check {
            late: true,
            ..check([(PutIfAbsent(Insert, 1), -2), (PutIfAbsent(Insert, 2), 2), (Delete, 0)], &WHOLE)
        },
    );
    let count = |later| [(Count { later }, 0), (Count { later }, -2), (Count { later }, 0)];
    let counted = |check: Check| Check { stored: Some((1, 4)), ticks: 1, ..check };
    group.run(
        "version condition, cells made later than it: 3 counters",
        Holds,
        counted(check(count(true), &[NoLostUpdate])),
    );
    group.run(
        "version condition, server time: 3 counters in 1 ms",
        Refuted,
        counted(check(count(false), &[NoLostUpdate])),
    );
    group.end();
}

#[test]
fn batches_and_loads() {
    let mut group = Group::default();
    let batch = |form, in_order| Check {
        in_order,
        ticks: 0,
        ..check([(Put(form, 1, true), 0), (Put(form, 2, false), 0)], &[WholeRows, LastOfBatchWins])
    };
    group.run("put_all, one key twice: the second after the first", Holds, batch(Whole, true));
    group.run("put_all, one key twice in one request, whole", Refuted, batch(Whole, false));
    group.run("put_all, one key twice in one request, old", Refuted, batch(Old, false));
    group.run(
        "put_all, one key twice, in order, late requests",
        Limit,
        Check { late: true, ..batch(Whole, true) },
    );
    let load = |form| [(Load(form, 1, true), 0), (Put(Whole, 2, false), 0)];
    let nothing = [WholeRows, LoadHidesNothingNewer];
    let over =
        |form, laws: &[world::Law]| Check { stored: Some((7, 1)), late: true, ..check(load(form), laws) };
    group.run(
        "load if absent, beside a live put",
        Holds,
        Check { late: true, ..check(load(LoadForm::IfAbsent), &nothing) },
    );
    group.run("load if absent, over a row, beside a live put", Holds, over(LoadForm::IfAbsent, &nothing));
    group.run(
        "load unless newer, over a row, beside a live put",
        Holds,
        over(LoadForm::UnlessNewer, &nothing),
    );
    group.run("exclusive load, beside a live put: whole", Holds, over(LoadForm::Replace, &WHOLE));
    group.run("exclusive load, beside a live put: hides nothing", Limit, over(LoadForm::Replace, &nothing));
    group.run("load, old, beside a live put", Refuted, over(LoadForm::Old, &nothing));
    group.run(
        "load, ranged at its begin, beside a live put",
        Refuted,
        over(LoadForm::RangedAtBegin, &nothing),
    );
    let aged = |form| Check { max_age: Some(1), ..check([(Load(form, 1, true), 0)], &[NotDroppedOnArrival]) };
    group.run("exclusive load, longer than max_age", Holds, aged(LoadForm::Replace));
    group.run("load if absent, longer than max_age", Holds, aged(LoadForm::IfAbsent));
    group.run("load, old, longer than max_age", Refuted, aged(LoadForm::Old));
    let gone = |form| Check {
        stored: Some((7, 1)),
        ..check([(Load(form, 1, true), 0), (Delete, 0)], &[DeletedStaysDeleted])
    };
    group.run("load if absent, beside a live delete", Limit, gone(LoadForm::IfAbsent));
    group.run("load unless newer, beside a live delete", Limit, gone(LoadForm::UnlessNewer));
    group.end();
}

#[test]
fn deletes_updates_and_increments() {
    let mut group = Group::default();
    group.run(
        "delete, beside a put, retries",
        Holds,
        Check { late: true, ..check([(Put(Whole, 1, true), 2), (Delete, 0)], &WHOLE) },
    );
    let set = |form, skew| [(Set(form, 1), skew), (Set(form, 2), 0)];
    let stored = |check: Check| Check { stored: Some((7, 5)), late: true, ..check };
    group.run(
        "update: column deleted, then set at the server's time",
        Holds,
        stored(check(set(Whole, -2), &[DoneIsRead])),
    );
    group.run("update, old: set at the client's time", Refuted, stored(check(set(Old, -2), &[DoneIsRead])));
    group.run(
        "update, beside a put: a mixture of the two",
        Limit,
        stored(check([(Set(Whole, 1), 0), (Put(Whole, 2, false), 0)], &[WholeRows])),
    );
    group.run(
        "increment, beside a delete",
        Limit,
        Check { stored: Some((7, 1)), ..check([(Increment, 0), (Delete, 0)], &[RowsAreReadable]) },
    );
    group.end();
}
