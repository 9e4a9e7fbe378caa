//! Garbage collection. A cell is garbage if its family's GC rule matches it, or if its family was dropped.
//!
//! The service removes garbage at some time, and reads may return it until then. Here no read returns it, so that results
//! do not depend on when a row was last compacted. While collection is paused, reads return garbage too.
//!
//! The time `now` is `None` while no cell is eligible.

use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::admin::GcRule;
use keyderive_proto::admin::gc_rule::Rule;
use keyderive_proto::values::Duration;

use super::storage::{Cell, CellRef, Cells, Families};

/// Whether any family has a GC rule. Without one, a cell becomes garbage only when its family is dropped.
pub(super) fn has_rules(families: &Families) -> bool {
    families.values().any(|family| rule(family.gc_rule.as_ref()).is_some())
}

/// Removes the garbage of a row at the time `now`.
pub(super) fn collect(cells: &mut Cells, families: &Families, now: Option<i64>) {
    let mut filter = GarbageFilter::new(families, now);
    let mut last: Option<(Arc<str>, Bytes)> = None;
    cells.retain(|cell| {
        let (new_family, new_column) = match &last {
            Some((family, qualifier)) => {
                (*family != cell.family, *family != cell.family || *qualifier != cell.qualifier)
            }
            None => (true, true),
        };
        if new_column {
            last = Some((Arc::clone(&cell.family), cell.qualifier.clone()));
        }
        let Cell { family, qualifier, timestamp_micros, value, .. } = cell;
        filter.keeps(&CellRef {
            family,
            qualifier,
            timestamp_micros: *timestamp_micros,
            value,
            new_family,
            new_column,
        })
    });
}

/// Finds the garbage of rows at a time. It must see every cell, in the table's order.
pub(super) struct GarbageFilter<'a> {
    families: &'a Families,
    now: Option<i64>,
    /// The rule of the current family; `None` if there is no such family.
    rule: Option<Option<&'a Rule>>,
    /// How many cells of the current column are newer than the next one.
    newer: usize,
}

impl<'a> GarbageFilter<'a> {
    pub(super) fn new(families: &'a Families, now: Option<i64>) -> Self {
        Self { families, now, rule: None, newer: 0 }
    }

    /// Whether the next cell is not garbage.
    pub(super) fn keeps(&mut self, cell: &CellRef<'_>) -> bool {
        if cell.new_family {
            self.rule = self.families.get(cell.family).map(|family| rule(family.gc_rule.as_ref()));
        }
        self.newer = if cell.new_column { 0 } else { self.newer + 1 };
        match self.rule {
            Some(rule) => !rule
                .zip(self.now)
                .is_some_and(|(rule, now)| matches(rule, cell.timestamp_micros, self.newer, now)),
            None => false,
        }
    }
}

fn rule(rule: Option<&GcRule>) -> Option<&Rule> {
    rule.and_then(|rule| rule.rule.as_ref())
}

/// Whether a rule makes a cell garbage that has `newer` newer versions in its column.
fn matches(rule: &Rule, timestamp_micros: i64, newer: usize, now: i64) -> bool {
    let nested = |rule: &GcRule| {
        self::rule(Some(rule)).is_some_and(|rule| matches(rule, timestamp_micros, newer, now))
    };
    match rule {
        Rule::MaxNumVersions(kept) => usize::try_from(*kept).is_ok_and(|kept| newer >= kept),
        Rule::MaxAge(age) => timestamp_micros < now.saturating_sub(micros(age)),
        // An empty intersection matches no cell.
        Rule::Intersection(all) => !all.rules.is_empty() && all.rules.iter().all(nested),
        Rule::Union(any) => any.rules.iter().any(nested),
    }
}

/// An age in microseconds, rounded down.
pub(super) fn micros(age: &Duration) -> i64 {
    age.seconds.saturating_mul(1_000_000).saturating_add(i64::from(age.nanos) / 1000)
}
