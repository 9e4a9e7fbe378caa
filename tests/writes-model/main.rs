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

/// Checks every state of configurations; fails if some are not what they are said to be.
#[track_caller]
fn check_all(configurations: Vec<(Expect, &str, Check)>) {
    let mut unexpected = String::new();
    for (expect, name, check) in configurations {
        let begun = Instant::now();
        let checker = check.checker().threads(2).spawn_bfs().join();
        let found = checker.discoveries();
        let mut broken: Vec<_> = found.keys().copied().collect();
        broken.sort_unstable();
        let states = checker.unique_state_count();
        println!("{name:<60} {states:>7} states, {:.1?}: {expect:?} {broken:?}", begun.elapsed());
        let is_expected = (expect == Holds) == broken.is_empty();
        if is_expected && env::var_os("WRITES_MODEL_PATHS").is_none() {
            continue;
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
            false => unexpected.push_str(&text),
        }
    }
    assert!(unexpected.is_empty(), "{unexpected}");
}

/// A test of each group of configurations.
macro_rules! groups {
    ($($test:ident { $($expect:ident $name:literal: $check:expr;)+ })+) => {$(
        #[test]
        fn $test() {
            check_all(vec![$(($expect, $name, $check)),+]);
        }
    )+};
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

impl Check {
    /// Requests of a call that has returned may arrive.
    fn late(self) -> Self {
        Self { late: true, ..self }
    }

    /// Over a row with this value, of this time.
    fn over(self, value: u8, at: u8) -> Self {
        Self { stored: Some((value, at)), ..self }
    }

    fn max_age(self, age: u8) -> Self {
        Self { max_age: Some(age), ..self }
    }

    /// Each cell has a time of its own.
    fn uneven(self) -> Self {
        Self { uneven: true, ..self }
    }

    fn step_back(self) -> Self {
        Self { step_back: true, ..self }
    }

    fn in_order(self) -> Self {
        Self { in_order: true, ..self }
    }

    fn ticks(self, ticks: u8) -> Self {
        Self { ticks, ..self }
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

/// A put of a value, and one by a program that lacks the optional column.
fn fewer(first: Form, second: Form) -> [(Op, i8); 2] {
    [(Put(first, 2, true), 0), (PutFewer(second, 1), 0)]
}

/// A put by a program that lacks a column, of a row that has it.
fn unknown(form: Form) -> Check {
    check([(PutFewer(form, 1), 0)], &[KeepsUnknownColumns]).over(7, 1)
}

/// 7 to 8 to 9, by two writers.
fn chain(form: Form) -> [(Op, i8); 2] {
    [(PutIf(form, 7, 8), 0), (PutIf(form, 8, 9), -2)]
}

/// Three counters of one row.
fn count(later: bool) -> Check {
    check([(Count { later }, 0), (Count { later }, -2), (Count { later }, 0)], &[NoLostUpdate])
        .over(1, 4)
        .ticks(1)
}

/// One key twice.
fn batch(form: Form) -> Check {
    check([(Put(form, 1, true), 0), (Put(form, 2, false), 0)], &[WholeRows, LastOfBatchWins]).ticks(0)
}

/// A load beside a live put.
fn load(form: LoadForm, live: Form) -> [(Op, i8); 2] {
    [(Load(form, 1, true), 0), (Put(live, 2, false), 0)]
}

const HIDES_NOTHING: [world::Law; 2] = [WholeRows, LoadHidesNothingNewer];

/// As that, over a row, with late requests.
fn load_over(form: LoadForm, laws: &[world::Law]) -> Check {
    check(load(form, Whole), laws).over(7, 1).late()
}

/// A load that takes longer than the maximum age.
fn aged(form: LoadForm) -> Check {
    check([(Load(form, 1, true), 0)], &[NotDroppedOnArrival]).max_age(1)
}

/// A load beside a live delete.
fn gone(form: LoadForm) -> Check {
    check([(Load(form, 1, true), 0), (Delete, 0)], &[DeletedStaysDeleted]).over(7, 1)
}

/// Two updates of one column.
fn set(form: Form) -> Check {
    check([(Set(form, 1), -2), (Set(form, 2), 0)], &[DoneIsRead])
}

groups! {
    what_put_sends {
        Holds "put: 2 writers, retries, late requests": check(two(AbsentServer, 0), &WHOLE).late();
        Holds "put: 3 writers, clocks 2 off, late requests": check(three(AbsentServer, [0, -2, 2]), &WHOLE).late();
        Holds "put: over a row, a time for each cell": check(two(AbsentServer, 0), &WHOLE).uneven().over(7, 1);
        Holds "put: max_age 1, clock lags by 2":
            check(two(AbsentServer, -2), &[DoneIsRead, NotDroppedOnArrival]).max_age(1);
        Holds "put: what was replaced stays so": check(three(AbsentServer, [0, -2, 2]), &[StaysReplaced]);
        Limit "put: what was replaced stays so, late requests": check(two(AbsentServer, 0), &[StaysReplaced]).late();
        Limit "put: the server's clock steps back": check(two(AbsentServer, 0), &WHOLE).step_back();
        Limit "put: over a cell of the future": check(two(AbsentServer, 0), &WHOLE).over(9, 90);
        Holds "put: beside an exclusive put of the same row":
            check([(Put(AbsentServer, 1, true), 0), (Put(Whole, 2, false), -2)], &WHOLE).late();
        Holds "put: by a program with fewer columns: own columns":
            check(fewer(AbsentServer, AbsentServer), &[WholeOfOwn, DoneIsRead]).late();
        Holds "put_if: 7 to 8 to 9, clock lags by 2, late": check(chain(AbsentServer), &WHOLE).late().over(7, 3);
        Holds "put_if: beside put":
            check([(PutIf(AbsentServer, 7, 8), 0), (Put(AbsentServer, 1, true), 2)], &WHOLE).over(7, 3);
        Holds "put_all: one key twice, the second after the first": batch(AbsentServer).in_order();
        Holds "load: beside a live put, over a row: whole":
            check(load(LoadForm::Bulk, AbsentServer), &WHOLE).over(7, 1).late();
        Limit "load: beside a live put: hides nothing":
            check(load(LoadForm::Bulk, AbsentServer), &[LoadHidesNothingNewer]).over(7, 1).late();
        Holds "load: longer than max_age": aged(LoadForm::Bulk);
        Holds "load if absent: beside a live put":
            check(load(LoadForm::IfAbsent, AbsentServer), &HIDES_NOTHING).late();
        Holds "update: set at the server's time": set(AbsentServer).over(7, 3).late();
        Holds "put: beside a delete, retries":
            check([(Put(AbsentServer, 1, true), 2), (Delete, 0)], &WHOLE).late();
    }

    what_an_exclusive_family_is_sent {
        Holds "exclusive put: 2 writers, retries": check(two(Whole, 0), &WHOLE);
        Holds "exclusive put: 3 writers, clocks 2 off, late requests": check(three(Whole, [0, -2, 2]), &WHOLE).late();
        Holds "exclusive put: the server's clock steps back": check(two(Whole, 0), &WHOLE).step_back().late();
        Holds "exclusive put: over a cell of the future": check(two(Whole, 0), &WHOLE).over(9, 90);
        Holds "exclusive put: max_age 1, clock lags by 2":
            check(two(Whole, -2), &[DoneIsRead, NotDroppedOnArrival]).max_age(1);
        Holds "exclusive put: a time for each cell": check(two(Whole, 0), &WHOLE).uneven();
        Limit "exclusive put: a time for each cell, and max_age 1":
            check(two(Whole, 0), &[WholeRows]).uneven().max_age(1);
        Holds "exclusive put: what was replaced stays so": check(three(Whole, [0, -2, 2]), &[StaysReplaced]);
        Limit "exclusive put: what was replaced stays so, late requests":
            check(two(Whole, 0), &[StaysReplaced]).late();
    }

    forms_of_put_that_are_not_taken {
        Refuted "put, old: 2 writers": check(two(Old, 0), &[WholeRows]);
        Refuted "put, old: 2 writers, one after the other, retries":
            check(two(Old, 0), &[WholeRows]).in_order().late();
        Refuted "put, old: clock lags by 2, no retry": Check { sends: 1, ..check(two(Old, -2), &WHOLE).in_order() };
        Refuted "put, old: max_age 1, clock lags by 2":
            check([(Put(Old, 1, true), -2)], &[NotDroppedOnArrival]).max_age(1);
        Holds "exclusive put at the client's time: 3 writers, late":
            check(three(WholeClient, [0, -2, 2]), &WHOLE).late();
        Refuted "exclusive put at the client's time: max_age 1, clock lags by 2":
            check([(Put(WholeClient, 1, true), -2)], &[NotDroppedOnArrival]).max_age(1);
        Refuted "put, ranged: 2 writers, clock 1 behind": check(two(Ranged, -1), &WHOLE);
        Refuted "put, ranged: late requests, right clocks": check(two(Ranged, 0), &[WholeRows]).late();
        Holds "put, none cell: 3 writers, clocks off, late: whole":
            check(three(NoneCell, [0, -2, 2]), &[WholeRows]).late();
        Refuted "put, none cell: clock lags by 2": check(two(NoneCell, -2), &[DoneIsRead]);
        Holds "put, guarded: clocks off, late requests":
            check(two(Guarded, -2), &[WholeRows, DoneIsRead, StaysReplaced]).late();
    }

    insert_and_programs_of_other_columns {
        Holds "insert: a new row, retries, late": check([(Put(Insert, 1, true), 0)], &WHOLE).late();
        Limit "insert: a row that is there": check(two(Insert, 0), &WHOLE);
        Limit "exclusive put, beside a program with the old put":
            check([(Put(Whole, 1, true), 0), (Put(Old, 2, false), -2)], &[WholeRows]);
        Holds "put by a program with fewer columns: own columns":
            check(fewer(Whole, Whole), &[WholeOfOwn, DoneIsRead]).late();
        Limit "put by a program with fewer columns: all columns": check(fewer(Whole, Whole), &[WholeRows]);
        Holds "put of an exclusive family, by a program with fewer columns":
            check(fewer(Whole, Family), &WHOLE).late();
        Holds "put by a program with fewer columns: keeps the others": unknown(Whole);
        Limit "put of an exclusive family: keeps unknown columns": unknown(Family);
    }

    conditional_writes {
        Holds "exclusive put_if: 7 to 8 to 9, clock lags by 2, late": check(chain(Whole), &WHOLE).late().over(7, 3);
        Refuted "put_if, old: 7 to 8 to 9, clock lags by 2": check(chain(Old), &[DoneIsRead]).over(7, 3);
        Holds "exclusive put_if, beside put":
            check([(PutIf(Whole, 7, 8), 0), (Put(Whole, 1, true), 2)], &WHOLE).over(7, 3);
        Holds "put_if_absent, nothing deleted: 2 writers and a delete":
            check([(PutIfAbsent(Insert, 1), -2), (PutIfAbsent(Insert, 2), 2), (Delete, 0)], &WHOLE).late();
        Holds "version condition, cells made later than it: 3 counters": count(true);
        Refuted "version condition, server time: 3 counters in 1 ms": count(false);
    }

    batches_and_loads {
        Holds "put_all, one key twice: the second after the first": batch(Whole).in_order();
        Refuted "put_all, one key twice in one request, whole": batch(Whole);
        Refuted "put_all, one key twice in one request, old": batch(Old);
        Limit "put_all, one key twice, in order, late requests": batch(Whole).in_order().late();
        Holds "load if absent, beside a live put": check(load(LoadForm::IfAbsent, Whole), &HIDES_NOTHING).late();
        Holds "load if absent, over a row, beside a live put": load_over(LoadForm::IfAbsent, &HIDES_NOTHING);
        Holds "load unless newer, over a row, beside a live put": load_over(LoadForm::UnlessNewer, &HIDES_NOTHING);
        Holds "exclusive load, beside a live put: whole": load_over(LoadForm::Replace, &WHOLE);
        Limit "exclusive load, beside a live put: hides nothing": load_over(LoadForm::Replace, &HIDES_NOTHING);
        Refuted "load, old, beside a live put": load_over(LoadForm::Old, &HIDES_NOTHING);
        Refuted "load, ranged at its begin, beside a live put": load_over(LoadForm::RangedAtBegin, &HIDES_NOTHING);
        Holds "exclusive load, longer than max_age": aged(LoadForm::Replace);
        Holds "load if absent, longer than max_age": aged(LoadForm::IfAbsent);
        Refuted "load, old, longer than max_age": aged(LoadForm::Old);
        Limit "load if absent, beside a live delete": gone(LoadForm::IfAbsent);
        Limit "load unless newer, beside a live delete": gone(LoadForm::UnlessNewer);
    }

    deletes_updates_and_increments {
        Holds "delete, beside a put, retries": check([(Put(Whole, 1, true), 2), (Delete, 0)], &WHOLE).late();
        Holds "update: column deleted, then set at the server's time": set(Whole).over(7, 5).late();
        Refuted "update, old: set at the client's time": set(Old).over(7, 5).late();
        Limit "update, beside a put: a mixture of the two":
            check([(Set(Whole, 1), 0), (Put(Whole, 2, false), 0)], &[WholeRows]).over(7, 5).late();
        Limit "increment, beside a delete": check([(Increment, 0), (Delete, 0)], &[RowsAreReadable]).over(7, 1);
    }
}
