//! Merges grids, such as those of several processes or days.

use std::collections::BTreeSet;
use std::fmt;

use super::{Grid, add_beside};

/// Why two grids cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeError {
    slots: [i64; 2],
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = self.slots;
        write!(
            f,
            "a grid with slots of {one} ms and one with slots of {other} ms are not merged: their peaks are of different times; record both \
             with one `GridBuilder::slot`"
        )
    }
}

impl std::error::Error for MergeError {}

impl Grid {
    /// Returns a grid with the operations of both, such as those of two processes.
    ///
    /// ```
    /// use keyderive::heat::{Access, GridBuilder, Measure};
    ///
    /// let mut parts = [GridBuilder::new(), GridBuilder::new()];
    /// for second in 0..100 {
    ///     parts[second as usize % 2].record(second * 1000, b"alice", Access::Write, 10);
    /// }
    /// let both = parts[0].grid().merge(&parts[1].grid())?;
    /// assert_eq!(both.total(Measure::Writes), 100);
    /// # Ok::<(), keyderive::heat::MergeError>(())
    /// ```
    ///
    /// The result has only the boundaries that both have: give both the same [`boundaries`](super::GridBuilder::boundaries), so that they
    /// share some. Sums stay exact.
    ///
    /// # Errors
    /// If their slots differ.
    pub fn merge(&self, other: &Self) -> Result<Self, MergeError> {
        if self.slot != other.slot {
            return Err(MergeError { slots: [self.slot, other.slot] });
        }
        if other.all.is_empty() {
            return Ok(self.clone());
        }
        if self.all.is_empty() {
            return Ok(other.clone());
        }
        let mut parts = [self.clone(), other.clone()];
        let most = self.limits.columns.max(other.limits.columns) as u64;
        let end = |grid: &Self| grid.first.saturating_add_unsigned(grid.all.len() as u64);
        let (first, len) = loop {
            let [one, other] = &parts;
            let (first, end) = (one.first.min(other.first), end(one).max(end(other)));
            match one.width.cmp(&other.width) {
                std::cmp::Ordering::Less => parts[0].widen(),
                std::cmp::Ordering::Greater => parts[1].widen(),
                std::cmp::Ordering::Equal if end.abs_diff(first) <= most => {
                    break (first, end.abs_diff(first));
                }
                std::cmp::Ordering::Equal => parts.iter_mut().for_each(Self::widen),
            }
        };
        let starts = |grid: &Self| grid.rows.iter().map(|row| row.start.clone()).collect::<BTreeSet<_>>();
        let common: BTreeSet<_> = starts(&parts[0]).intersection(&starts(&parts[1])).cloned().collect();
        for part in &mut parts {
            part.keep(&common);
            part.begin_at(first);
        }
        let [mut merged, other] = parts;
        let slots = merged.slots();
        merged.limits.columns = usize::try_from(most).unwrap_or(merged.limits.columns);
        merged.limits.rows = merged.limits.rows.max(other.limits.rows);
        add_beside(&mut merged.all, &other.all, slots);
        merged.all.resize(usize::try_from(len).unwrap_or(merged.all.len()), super::Cell::default());
        for (row, other) in merged.rows.iter_mut().zip(&other.rows) {
            add_beside(&mut row.cells, &other.cells, slots);
            row.blur = match (row.blur, other.blur) {
                (Some(one), Some(other)) => Some(one.hull(other)),
                (one, other) => one.or(other),
            };
        }
        Ok(merged)
    }

    /// Folds all ranges that do not begin at one of these keys into the one before.
    pub(super) fn keep(&mut self, starts: &BTreeSet<Vec<u8>>) {
        let slots = self.slots();
        let mut kept: Vec<super::Row> = Vec::with_capacity(starts.len());
        for row in std::mem::take(&mut self.rows) {
            match kept.last_mut() {
                Some(last) if !starts.contains(&row.start) => add_beside(&mut last.cells, &row.cells, slots),
                _ => kept.push(row),
            }
        }
        self.rows = kept;
    }

    /// Adds empty columns before the first.
    fn begin_at(&mut self, first: i64) {
        // The columns of both are within the limit.
        let new = usize::try_from(self.first.abs_diff(first)).unwrap_or(0);
        for cells in self.rows.iter_mut().map(|row| &mut row.cells).chain([&mut self.all]) {
            if !cells.is_empty() {
                cells.splice(0..0, std::iter::repeat_n(super::Cell::default(), new));
            }
        }
        self.first = first;
    }
}
