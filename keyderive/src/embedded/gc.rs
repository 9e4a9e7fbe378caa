//! Garbage: cells that their family's rule lets go, or whose family is gone.
//!
//! The service removes garbage when it comes to it, and reads may return it until then. Here no read returns it: what
//! a program sees does not depend on when a row was last compacted.

use std::sync::Arc;

use super::storage::{Cells, Families};
use crate::row::Cell;
use crate::wire::admin::GcRule;
use crate::wire::admin::gc_rule::Rule;
use crate::wire::values::Duration;

/// Whether no cell of these families, while they are there, ever becomes garbage.
pub(super) fn never(families: &Families) -> bool {
    families.values().all(|family| rule(family.gc_rule.as_ref()).is_none())
}

/// Removes the garbage of a row at the time `now`.
pub(super) fn collect(cells: &mut Cells, families: &Families, now: i64) {
    let mut column: Option<(Arc<str>, bytes::Bytes)> = None;
    let mut newer = 0;
    cells.retain(|cell| {
        let same = column
            .as_ref()
            .is_some_and(|(family, qualifier)| *family == cell.family && *qualifier == cell.qualifier);
        if same {
            newer += 1;
        } else {
            newer = 0;
            column = Some((Arc::clone(&cell.family), cell.qualifier.clone()));
        }
        match families.get(&cell.family) {
            Some(family) => {
                !rule(family.gc_rule.as_ref()).is_some_and(|rule| matches(rule, cell, newer, now))
            }
            None => false,
        }
    });
}

fn rule(rule: Option<&GcRule>) -> Option<&Rule> {
    rule.and_then(|rule| rule.rule.as_ref())
}

/// Whether a rule lets go of a cell, of whose column `newer` versions are newer.
fn matches(rule: &Rule, cell: &Cell, newer: usize, now: i64) -> bool {
    let nested = |rule: &GcRule| self::rule(Some(rule)).is_some_and(|rule| matches(rule, cell, newer, now));
    match rule {
        Rule::MaxNumVersions(kept) => usize::try_from(*kept).is_ok_and(|kept| newer >= kept),
        Rule::MaxAge(age) => cell.timestamp_micros < now.saturating_sub(micros(age)),
        // A rule of no rules lets nothing go.
        Rule::Intersection(all) => !all.rules.is_empty() && all.rules.iter().all(nested),
        Rule::Union(any) => any.rules.iter().any(nested),
    }
}

/// An age in microseconds; the rest below them is cut.
pub(super) fn micros(age: &Duration) -> i64 {
    age.seconds.saturating_mul(1_000_000).saturating_add(i64::from(age.nanos) / 1000)
}
