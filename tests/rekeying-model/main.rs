//! Re-keying, checked in every order of requests, lost answers, crashes and late arrivals: moving the rows of one table to another
//! while readers and writers run, and salts from a date on.
//!
//! A protocol either holds in every state, or has a counterexample: a bug that was put in on purpose, which proves that the model
//! would find it, or a limit that Bigtable or the protocol has. So a change of a protocol shows as a test that fails.
//!
//! Tests whose states take more than a few seconds run with `KEYDERIVE_LONG_TESTS=1`, those that take minutes with
//! `KEYDERIVE_MODELS=all`. `KEYDERIVE_MODELS_PATHS=1` with `--nocapture` prints each counterexample.

mod dual;
mod epochs;
mod handoff;
mod lease;
mod lin;
mod registry;
mod rekeying;
mod world;

use std::env;
use std::fmt::{Debug, Write as _};
use std::hash::Hash;
use std::time::Instant;

use dual::Dual;
use epochs::{KeyType, Part, Salt};
use handoff::Handoff;
use keyderive_tests::{left_out, runs_long};
use lease::Lease;
use lin::Op::{self, Claim, Delete, Inc, Put, Read, Scan};
use lin::Row;
use registry::Registry;
use rekeying::Rekeying;
use stateright::{Checker, Expectation, HasDiscoveries, Model};
use world::Again::{self, Anywhere, Elsewhere};
use world::Check;

/// Checks every state; returns the properties that are not as the model says, and how each comes about.
fn broken<M>(model: M) -> (Vec<&'static str>, String)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq,
{
    let begun = Instant::now();
    let checker = model.checker().finish_when(HasDiscoveries::AnyFailures).threads(2).spawn_bfs().join();
    println!(
        "{} states, depth {}, {:.1?}",
        checker.unique_state_count(),
        checker.max_depth(),
        begun.elapsed()
    );
    let found = checker.discoveries();
    // Of what may happen, an example is no fault, and none is one.
    let may: Vec<_> = checker
        .model()
        .properties()
        .into_iter()
        .filter(|property| property.expectation == Expectation::Sometimes)
        .map(|property| property.name)
        .collect();
    let mut names: Vec<_> = found.keys().copied().filter(|name| !may.contains(name)).collect();
    let mut text = String::new();
    for (name, path) in found.into_iter().filter(|(name, _)| !may.contains(name)) {
        let last = path.last_state().clone();
        let _ = writeln!(text, "not \"{name}\":");
        for action in path.into_actions() {
            let _ = writeln!(text, "  {action:?}");
        }
        let _ = writeln!(text, "  {last:?}");
    }
    if names.is_empty() {
        names.extend(may.into_iter().filter(|name| !checker.discoveries().contains_key(name)));
    }
    if env::var_os("KEYDERIVE_MODELS_PATHS").is_some() {
        println!("{text}");
    }
    (names, text)
}

/// Tests of models that hold in every state.
macro_rules! holds {
    ($($tests:tt)+) => { models! { true; holds: $($tests)+ } };
}

/// Tests of models with a bug, or with a limit of the protocol: something does not hold.
macro_rules! found {
    ($($tests:tt)+) => { models! { true; found: $($tests)+ } };
}

/// As `holds` and `found`, with more states.
macro_rules! long {
    ($($tests:tt)+) => { models! { runs_long("models of re-keying with many states"); $($tests)+ } };
}

/// As `long`, with states for minutes.
macro_rules! large {
    ($($tests:tt)+) => { models! { runs_all(); $($tests)+ } };
}

/// Whether models run that take minutes.
fn runs_all() -> bool {
    let runs = env::var_os("KEYDERIVE_MODELS").is_some();
    if !runs {
        left_out("models of re-keying that take minutes (set `KEYDERIVE_MODELS=all`)");
    }
    runs
}

macro_rules! models {
    ($runs:expr; $verb:ident: $($test:ident: $model:expr;)+) => {$(
        #[test]
        fn $test() {
            if !$runs { return; }
            let (names, text) = broken($model);
            assert!(models!(@ $verb names), "not {}: {names:?}\n{text}", stringify!($verb));
        }
    )+};
    (@ holds $names:ident) => { $names.is_empty() };
    (@ found $names:ident) => { !$names.is_empty() };
}

/// A check of operations on one row, which is there at first.
fn check<P>(protocol: P, ops: &[Op]) -> Check<P> {
    Check {
        protocol,
        rows: vec![Row::of(7)],
        ops: ops.iter().map(|op| (0, *op)).collect(),
        crashes: 1,
        late: false,
        premature: false,
        again: Again::Never,
    }
}

impl<P> Check<P> {
    fn absent(mut self) -> Self {
        self.rows = vec![Row::NONE];
        self
    }

    fn late(self) -> Self {
        Self { late: true, ..self }
    }

    fn crashes(self, crashes: u8) -> Self {
        Self { crashes, ..self }
    }

    /// A write of whose fate its client knows nothing goes again.
    fn again(self, again: Again) -> Self {
        Self { again, ..self }
    }
}

/// Moving the keys of a table to another key type, by flags in the old row.
mod moving_over {
    use rekeying::Bug::{self, *};

    use super::*;

    fn there() -> Rekeying {
        Rekeying::default()
    }

    fn back() -> Rekeying {
        Rekeying { back: true, ..there() }
    }

    /// Two rows, of which the second is this one.
    fn two(check: Check<Rekeying>, second: Row) -> Check<Rekeying> {
        Check {
            protocol: Rekeying { merged: 2, ..check.protocol },
            rows: vec![check.rows[0], second],
            ..check
        }
    }

    fn bug(bug: Bug, ops: &[Op]) -> Check<Rekeying> {
        check(Rekeying { bug: Some(bug), ..back() }, ops)
    }

    const TWO: [Op; 3] = [Put(1), Put(2), Delete];

    holds! {
        back_put_delete_read: check(back(), &[Put(1), Delete, Read]);
        back_put_claim_delete: check(back(), &[Put(1), Claim(2), Delete]);
        back_absent_claim_claim_delete: check(back(), &[Claim(1), Claim(2), Delete]).absent();
        back_absent_put_delete_read: check(back(), &[Put(1), Delete, Read]).absent();
        back_absent_increment_put_read: check(back(), &[Inc(1), Put(1), Read]).absent();
        back_put_scan: check(back(), &[Put(1), Scan]);
        two_keys_one_written_put_scan: two(check(there(), &[Put(1), Scan]), Row::of(6));
    }

    long! { holds:
        back_put_increment_read: check(back(), &[Put(1), Inc(1), Read]);
        back_increment_increment_delete: check(back(), &[Inc(1), Inc(2), Delete]);
        back_absent_put_delete_scan: check(back(), &[Put(1), Delete, Scan]).absent();
        back_late_put_increment_delete: check(back(), &[Put(1), Inc(1), Delete]).late();
        back_late_put_put_delete: check(back(), &TWO).late();
        back_late_absent_put_increment_delete: check(back(), &[Put(1), Inc(1), Delete]).late().absent();
    }

    large! { holds:
        put_delete_read_read: check(there(), &[Put(1), Delete, Read, Read]);
        put_increment_delete_read: check(there(), &[Put(1), Inc(1), Delete, Read]);
        back_put_delete_read_read_two_crashes: check(back(), &[Put(1), Delete, Read, Read]).crashes(2);
        back_late_put_put_increment_delete_two_crashes:
            check(back(), &[Put(1), Put(2), Inc(1), Delete]).late().crashes(2);
        back_again_put_put_delete: check(back(), &TWO).again(Elsewhere);
        back_two_keys_put_scan: two(check(back(), &[Put(1), Scan]), Row::of(6));
        back_two_keys_absent_put_scan: two(check(back(), &[Put(1), Scan]).absent(), Row::of(6));
    }

    // A write that goes again may land twice. That is so of one table, and no worse here.
    found! {
        limit_one_table_again_read: check(Rekeying { stays: true, ..there() }, &[Put(1), Delete, Read]).again(Anywhere);
        limit_one_table_again_late: check(Rekeying { stays: true, ..there() }, &TWO).again(Anywhere).late();
        limit_back_late_read: check(back(), &[Put(1), Read, Read]).late();
        bug_copy_overwrites: bug(CopyOverwrites, &TWO);
        bug_delete_without_origin: bug(DeleteWithoutOrigin, &TWO);
        bug_no_pause: bug(NoPause, &TWO);
        bug_no_rollback_pause: bug(NoRollbackPause, &TWO);
        bug_early_moved: bug(EarlyMoved, &TWO);
        bug_last_without_origin: bug(LastWithoutOrigin, &TWO).late();
        bug_never_dropped: bug(NeverDropped, &TWO).late();
        bug_last_delete_row: bug(LastDeleteRow, &TWO).late();
        bug_increment_uncopied: bug(IncrementUncopied, &[Inc(1), Read]);
        bug_copy_then_write: bug(CopyThenWrite, &TWO);
        bug_reads_ignore_old_origins: bug(ReadsIgnoreOldOrigins, &TWO);
        bug_back_skips_written: bug(BackSkipsWritten, &TWO);
        bug_scan_by_origins: bug(ScanByOrigins, &[Put(1), Scan]);
        bug_paused_reads_old: bug(PausedReadsOld, &TWO);
        bug_old_deletes_remove_origins: bug(OldDeletesRemoveOrigins, &TWO).late();
        bug_same_table_again: bug(SameTableAgain, &TWO);
        bug_driver_does_not_wait: Check { premature: true, ..check(back(), &[Put(1), Delete, Read]) };
    }

    large! { found:
        limit_back_again_read: check(back(), &[Put(1), Delete, Read]).again(Elsewhere);
        limit_back_again_late: check(back(), &TWO).again(Elsewhere).late();
    }
}

/// Moving them by a handoff of each row.
mod handing_off {
    use handoff::Bug::{self, *};

    use super::*;

    fn there() -> Handoff {
        Handoff { bug: None, back: false }
    }

    fn back() -> Handoff {
        Handoff { bug: None, back: true }
    }

    fn bug(bug: Bug, ops: &[Op]) -> Check<Handoff> {
        check(Handoff { bug: Some(bug), back: true }, ops)
    }

    holds! {
        back_put_read: check(back(), &[Put(1), Read]);
        back_absent_put_read: check(back(), &[Put(1), Read]).absent();
        back_absent_put_scan: check(back(), &[Put(1), Scan]).absent();
    }

    long! { holds:
        back_put_scan: check(back(), &[Put(1), Scan]);
    }

    large! { holds:
        put_delete_read: check(there(), &[Put(1), Delete, Read]);
        put_increment_read: check(there(), &[Put(1), Inc(1), Read]);
        back_put_delete: check(back(), &[Put(1), Delete]);
        back_put_increment: check(back(), &[Put(1), Inc(1)]);
    }

    found! {
        bug_no_passing: bug(NoPassing, &[Put(1), Read]).absent();
        bug_no_moved: bug(NoMoved, &[Put(1), Read]).absent();
        bug_scan_merges: bug(ScanMerges, &[Scan]);
    }

    large! { found:
        limit_back_late_put_delete: check(back(), &[Put(1), Delete]).late();
        bug_no_guarded: bug(NoGuarded, &[Put(1), Delete]);
        bug_increment_guarded: bug(IncrementGuarded, &[Put(1), Inc(1)]);
        bug_increment_returning: bug(IncrementReturning, &[Put(1), Inc(1)]);
        bug_copy_overwrites: bug(CopyOverwrites, &[Put(1), Delete]);
        bug_delete_removes_flag: bug(DeleteRemovesFlag, &[Put(1), Delete]);
        bug_moved_first: bug(MovedFirst, &[Put(1), Delete]);
        bug_early_moved: bug(EarlyMoved, &[Put(1), Delete]);
        bug_abort_removes_flag: bug(AbortRemovesFlag, &[Put(1), Delete]);
    }
}

/// Moving them by writing both rows.
mod writing_both {
    use dual::Bug::{self, *};

    use super::*;

    fn dual() -> Dual {
        Dual { bug: None }
    }

    fn bug(bug: Bug) -> Check<Dual> {
        check(Dual { bug: Some(bug) }, &[Put(1), Put(2), Delete])
    }

    holds! {
        scan: check(dual(), &[Scan]);
    }

    long! { holds:
        put_put_delete: check(dual(), &[Put(1), Put(2), Delete]);
        absent_put_put_delete: check(dual(), &[Put(1), Put(2), Delete]).absent();
    }

    found! {
        limit_read: check(dual(), &[Put(1), Read, Read]);
        bug_increments: Check {
            rows: vec![Row { val: 7, inc: 2 }],
            ..check(Dual { bug: Some(Increments) }, &[Inc(1)])
        };
    }

    long! { found:
        limit_late: check(dual(), &[Put(1), Put(2), Delete]).late();
        bug_copy_now: bug(CopyNow);
        bug_no_sentinel: bug(NoSentinel);
        bug_no_stamped: bug(NoStamped);
        bug_no_both: bug(NoBoth);
        bug_early_read_new: bug(EarlyReadNew);
        bug_pause: bug(Pause);
    }
}

/// By which state a process works, and when the driver takes the next.
mod leases {
    use lease::Bug::{self, *};

    use super::*;

    /// A lease of 2 slow ticks ends within 3 ticks, a wait of 5 fast ticks takes 4.
    fn lease(bug: Option<Bug>) -> Lease {
        Lease { lease: 2, wait: if bug == Some(NoMargin) { 2 } else { 5 }, ticks: 13, bug }
    }

    long! { holds:
        a_lease: lease(None);
    }

    found! {
        bug_from_answer: lease(Some(FromAnswer));
        bug_no_margin: lease(Some(NoMargin));
        bug_wait_from_send: lease(Some(WaitFromSend));
        bug_new_driver_goes_on: lease(Some(NewDriverGoesOn));
    }

    long! { found:
        bug_unconditional: lease(Some(Unconditional));
    }
}

/// Which state counts, where the registry that has it is deleted or restored.
mod registries {
    use registry::Bug::{self, *};
    use rekeying::State::*;

    use super::*;

    /// A registry that stays whole, one program, and one driver at a time.
    fn whole() -> Registry {
        Registry {
            programs: &[1],
            of: &[1],
            drivers: 1,
            restores: 0,
            is_empty: false,
            again: false,
            is_late: false,
            one_table: false,
            bugs: &[],
        }
    }

    /// The registry is deleted or restored once.
    fn restored() -> Registry {
        Registry { restores: 1, ..whole() }
    }

    fn two_drivers(registry: Registry) -> Registry {
        Registry { drivers: 2, ..registry }
    }

    /// A second attempt, with another new table.
    fn again(registry: Registry) -> Registry {
        Registry { programs: &[2], of: &[2], again: true, ..registry }
    }

    /// The same beside a driver of the first attempt that hangs.
    fn late(registry: Registry) -> Registry {
        Registry { is_late: true, ..two_drivers(again(registry)) }
    }

    fn one_table(registry: Registry) -> Registry {
        Registry { one_table: true, ..registry }
    }

    fn empty(registry: Registry) -> Registry {
        Registry { is_empty: true, ..registry }
    }

    fn bug(bugs: &'static [Bug], registry: Registry) -> Registry {
        Registry { bugs, ..registry }
    }

    holds! {
        whole_one_driver: whole();
        whole_empty_one_driver: empty(whole());
        whole_two_programs: Registry { programs: &[1, 1], ..whole() };
        whole_again: again(whole());
        whole_again_one_table: one_table(again(whole()));
        restored_one_driver: restored();
    }

    long! { holds:
        whole_two_drivers: two_drivers(whole());
        whole_late: late(whole());
        restored_empty_one_driver: empty(restored());
        restored_one_table: one_table(restored());
        restored_again: again(restored());
    }

    // Rules that none of these need.
    large! { holds:
        spare_fence_unchecked: bug(&[FenceUnchecked], restored());
        spare_no_wait_in_copying: bug(&[NoWait(Copying)], restored());
        spare_no_wait_in_moved: bug(&[NoWait(Moved)], restored());
        spare_no_wait_in_new: bug(&[NoWait(New)], restored());
        spare_no_wait_in_rollback_copying: bug(&[NoWait(RollbackCopying)], restored());
    }

    // A stamp of a re-keying whose row was deleted, which a driver that hung sets late. The counterexamples with a bug are shorter: losses.
    large! { found:
        limit_restored_two_drivers: two_drivers(restored());
        bug_not_closed: bug(&[NotClosed], two_drivers(restored()));
    }

    large! { holds:
        whole_two_drivers_two_programs: Registry { programs: &[1, 1], ..two_drivers(whole()) };
        whole_empty_two_drivers: empty(two_drivers(whole()));
        restored_again_one_table: one_table(again(restored()));
        restored_two_programs: Registry { programs: &[1, 1], ..restored() };
        restored_again_programs_of_both_attempts: Registry { programs: &[1, 2], of: &[1, 2], ..again(restored()) };
    }

    found! {
        limit_restored_twice: Registry { restores: 2, ..whole() };
        bug_stamp_first: bug(&[StampFirst], whole());
        bug_absent_is_old: bug(&[AbsentIsOld], restored());
        bug_no_fence: bug(&[NoFence], restored());
        bug_late_fence: bug(&[LateFence], restored());
        bug_new_first: bug(&[NewFirst], restored());
        bug_undecided: bug(&[Undecided], restored());
        bug_unspent: bug(&[Unspent], restored());
        bug_shortcut: bug(&[Shortcut], restored());
        bug_older_taken: bug(&[OlderTaken], restored());
        bug_expired_unchecked: bug(&[ExpiredUnchecked], restored());
        bug_driver_unchecked: bug(&[DriverUnchecked], restored());
        bug_no_wait_in_paused: bug(&[NoWait(Paused)], whole());
        bug_no_wait_in_rollback_paused: bug(&[NoWait(RollbackPaused)], whole());
        bug_no_wait_in_rolled_back: bug(&[NoWait(RolledBack)], whole());
        bug_no_wait_in_moved_and_new: bug(&[NoWait(Moved), NoWait(New)], whole());
        bug_own_first: bug(&[OwnFirst], whole());
        bug_adds_anyway: bug(&[AddsAnyway], two_drivers(whole()));
        bug_same_fence: bug(&[SameFence], restored());
        bug_no_look: bug(&[NoLook], restored());
        bug_drops_anyway: bug(&[DropsAnyway], late(whole()));
        bug_origins_apart: bug(&[OriginsApart], late(whole()));
        bug_ended_needs_origins: bug(&[NotClosed, EndedNeedsOrigins], restored());
        bug_origins_at_once: bug(&[OriginsAtOnce], one_table(again(whole())));
    }

    long! { found:
        bug_empty_shortcut: bug(&[EmptyShortcut], two_drivers(restored()));
        bug_forgets_fence: bug(&[ForgetsFence], two_drivers(whole()));
        bug_spent_late: bug(&[SpentLate], Registry { of: &[1, 2], ..restored() });
    }
}

/// Salts from a date on: no states, but all keys.
mod salts_since {
    use Part::*;

    use super::*;

    fn one(sep: &'static str) -> Salt {
        Some((1, 4, sep))
    }

    fn two(sep: &'static str) -> Salt {
        Some((2, 16, sep))
    }

    fn faults(front: &[Part], tail: &[Part], salts: [Salt; 3]) -> Vec<String> {
        KeyType { front: front.to_vec(), tail: tail.to_vec(), salts }
            .faults()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn keys_stay_apart() {
        for faults in [
            faults(&[Text, Text], &[Digits(1)], [None, one("!"), two("!")]),
            faults(&[Text], &[], [one("#"), Some((1, 8, "#")), two("#")]),
            faults(&[Digits(3), Text], &[], [None, one("#"), two("#")]),
            faults(&[Digits(1)], &[Padded(2)], [None, one("!"), two("!")]),
        ] {
            assert!(faults.is_empty(), "{faults:?}");
        }
    }

    /// What the derive refuses.
    macro_rules! refused {
        ($($test:ident: $front:expr, $tail:expr, $salts:expr;)+) => {$(
            #[test]
            fn $test() {
                assert!(!faults(&$front, &$tail, $salts).is_empty(), "its keys stay apart");
            }
        )+};
    }

    refused! {
        bug_text_and_a_separator_that_text_can_begin_with: [Text], [], [None, one("#"), one("#")];
        bug_digits_as_wide_as_a_bucket: [Digits(1)], [], [None, one("#"), one("#")];
        bug_padded_text: [Padded(3)], [], [None, one("!"), one("!")];
        bug_separators_differ: [Text], [], [one("#"), one("##"), one("##")];
        bug_text_behind_the_time: [Padded(4)], [Text], [None, one("#"), two("#")];
        bug_padded_then_text_behind_the_time: [Padded(3)], [Padded(2), Text], [None, one("#"), two("#")];
    }
}
