//! Whether two stored rows are the same: the one rule for comparisons of tables, copies and re-keyings.
//!
//! A cell is named by its family, its qualifier and its timestamp; where only newest values are compared, the newest cell of each column,
//! whatever its timestamp. If both rows have a cell, its values are compared, however old it is. A cell that only one row
//! has is a difference, unless the garbage collection rule of its family lets a server remove it: servers remove such cells
//! at some time, in each table for itself.

use std::cmp::{Ordering, Reverse};
use std::time::Duration;

use crate::client::{Family, TableInfo};
use crate::row::{RawCell, RawRow};
use crate::table::reserved::is_reserved;

/// How much earlier than the client's clock says a server may remove a cell.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// A row, the schema of its table, and the time by the client's clock.
#[derive(Clone, Copy)]
pub(crate) struct StoredRow<'a> {
    pub(crate) row: &'a RawRow,
    pub(crate) info: &'a TableInfo,
    pub(crate) now_micros: i64,
}

/// Passes each difference of two rows to `differs`, as the cells of the old and of the new row. Returns how many cells
/// only one of them has that are no differences.
pub(super) fn compare<'a>(
    old: StoredRow<'a>,
    new: StoredRow<'a>,
    only_newest: bool,
    mut differs: impl FnMut(Option<RawCell<'a>>, Option<RawCell<'a>>),
) -> u64 {
    if own_cells(old.row).eq(own_cells(new.row)) {
        return 0;
    }
    let mut removable = 0;
    let mut alone = |cell: &Ranked<'_>| {
        removable += u64::from(cell.is_removable);
        !cell.is_removable
    };
    let ranked = |row: StoredRow<'a>| {
        row.ranked(Duration::ZERO).filter(move |cell| !only_newest || cell.is_newest).peekable()
    };
    let place = |cell| match place(cell) {
        (family, qualifier, _) if only_newest => (family, qualifier, Reverse(0)),
        place => place,
    };
    let (mut old, mut new) = (ranked(old), ranked(new));
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return removable,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => place(old.cell).cmp(&place(new.cell)),
        };
        let (old, new) = match order {
            Ordering::Less => (old.next().filter(&mut alone), None),
            Ordering::Greater => (None, new.next().filter(&mut alone)),
            Ordering::Equal => (old.next(), new.next()),
        };
        let (old, new) = (old.map(|ranked| ranked.cell), new.map(|ranked| ranked.cell));
        // Both are absent if the cell was removable.
        if old.map(RawCell::value) != new.map(RawCell::value) {
            differs(old, new);
        }
    }
}

/// How many cells a row has, if a server may remove all of them, so that it is not there.
pub(super) fn removable_cells(stored: StoredRow<'_>) -> Option<u64> {
    stored.removable_within(Duration::ZERO)
}

/// The cells of a row but those that are keyderive's own.
pub(super) fn own_cells(row: &RawRow) -> impl Iterator<Item = RawCell<'_>> {
    row.cells().filter(|cell| !is_reserved(cell.family()))
}

/// A cell's place in a row. Servers may order families in different ways.
fn place(cell: RawCell<'_>) -> (&str, &[u8], Reverse<i64>) {
    (cell.family(), cell.qualifier(), Reverse(cell.timestamp_micros()))
}

/// A cell, and whether the rule of its family lets a server remove it.
struct Ranked<'a> {
    cell: RawCell<'a>,
    /// Whether it is the newest of its column.
    is_newest: bool,
    is_removable: bool,
}

impl<'a> StoredRow<'a> {
    /// The cells in the order of their places, as they are after the time `after`.
    fn ranked(self, after: Duration) -> impl Iterator<Item = Ranked<'a>> {
        let mut cells: Vec<_> = own_cells(self.row).collect();
        cells.sort_unstable_by(|one, other| place(*one).cmp(&place(*other)));
        let mut newer: Option<(&str, &[u8], usize)> = None;
        cells.into_iter().map(move |cell| {
            let (family, qualifier) = (cell.family(), cell.qualifier());
            let count = newer.filter(|(of, name, _)| (*of, *name) == (family, qualifier));
            let count = count.map_or(0, |(.., count)| count + 1);
            newer = Some((family, qualifier, count));
            let age = u64::try_from(self.now_micros.saturating_sub(cell.timestamp_micros())).unwrap_or(0);
            let age = Duration::from_micros(age).saturating_add(CLOCK_TOLERANCE).saturating_add(after);
            let rule = self.info.family(family).map(Family::gc_rule);
            Ranked {
                cell,
                is_newest: count == 0,
                is_removable: rule.is_some_and(|rule| rule.removes(age, count)),
            }
        })
    }

    /// How many cells the row has, if a server may remove all of them within this time.
    pub(crate) fn removable_within(self, time: Duration) -> Option<u64> {
        let mut cells = 0;
        for ranked in self.ranked(time) {
            if !ranked.is_removable {
                return None;
            }
            cells += 1;
        }
        Some(cells)
    }
}

#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests {
    use super::*;
    use crate::client::{Client, GcRule, NewTable};
    use crate::row::RowBuilder;

    const SECOND: i64 = 1_000_000;
    const MINUTE: i64 = 60 * SECOND;
    const NOW: i64 = 1_000_000 * MINUTE;

    type Cell = (&'static str, &'static str, i64, &'static str);

    async fn info() -> TableInfo {
        let age = |minutes: u64| GcRule::max_age(Duration::from_secs(60 * minutes));
        let families = [
            ("kept", GcRule::never()),
            ("few", GcRule::max_versions(1)),
            ("some", GcRule::max_versions(2)),
            ("minute", age(1)),
            ("aged", age(10)),
        ];
        let families = families.map(|(name, rule)| Family::new(name, rule)).to_vec();
        let client = Client::embedded();
        client.create_table("t", NewTable { families, ..NewTable::default() }).await.unwrap();
        client.table_info("t").await.unwrap()
    }

    fn row(cells: &[Cell]) -> RawRow {
        let mut row = RowBuilder::new(b"k").unwrap();
        for (family, qualifier, micros, value) in cells {
            row.cell(Some(family.as_bytes()), Some(qualifier.as_bytes()), *micros).unwrap();
            row.value(value.as_bytes()).unwrap();
        }
        row.build()
    }

    /// The values that differ, `-` for none, and how many cells are alone and no difference.
    fn compared(info: &TableInfo, old: &[Cell], new: &[Cell], only_newest: bool) -> (String, u64) {
        let (old, new) = (row(old), row(new));
        let stored = |row| StoredRow { row, info, now_micros: NOW };
        let text = |cell: Option<RawCell<'_>>| {
            cell.map_or("-".into(), |cell| cell.value().escape_ascii().to_string())
        };
        let mut differences = String::new();
        let removable = compare(stored(&old), stored(&new), only_newest, |old, new| {
            differences += &format!("{}{} ", text(old), text(new));
        });
        (differences.trim_end().to_owned(), removable)
    }

    #[tokio::test]
    async fn cells_are_compared_by_their_places() {
        let info = &info().await;
        // Servers may order families in different ways.
        let cells =
            [("aged", "q", NOW, "a"), ("kept", "q", 2, "b"), ("kept", "q", 1, "c"), ("kept", "r", 1, "d")];
        let [a, b, c, d] = cells;
        assert_eq!(compared(info, &cells, &[b, c, d, a], false), (String::new(), 0));
        assert_eq!(compared(info, &cells, &[a, b, d], false), ("c-".into(), 0));
        assert_eq!(compared(info, &[a, b, d], &cells, false), ("-c".into(), 0));
        assert_eq!(compared(info, &cells, &[a, b, ("kept", "q", 1, "x"), d], false), ("cx".into(), 0));
        assert_eq!(compared(info, &cells, &[a, b, ("kept", "q", 0, "c"), d], false), ("c- -c".into(), 0));
        // Of the newest values neither the times count, nor what is older.
        assert_eq!(compared(info, &cells, &[a, ("kept", "q", 9, "b"), d], true), (String::new(), 0));
        assert_eq!(compared(info, &cells, &[a, ("kept", "q", 9, "x"), d], true), ("bx".into(), 0));
    }

    #[tokio::test]
    async fn what_a_server_may_remove_is_no_difference_of_a_cell_alone() {
        let info = &info().await;
        let none = ("kept", "q", 1, "v");
        let alone = |cells: &[Cell]| compared(info, &[&[none][..], cells].concat(), &[none], false);
        // A minute before its age says so.
        assert_eq!(alone(&[("aged", "q", NOW - 9 * MINUTE, "a")]), ("a-".into(), 0));
        assert_eq!(alone(&[("aged", "q", NOW - 9 * MINUTE - SECOND, "a")]), (String::new(), 1));
        // A cell of the future has no age.
        assert_eq!(alone(&[("minute", "q", NOW + SECOND, "a")]), ("a-".into(), 0));
        assert_eq!(alone(&[("minute", "q", NOW - SECOND, "a")]), (String::new(), 1));
        let versions =
            [("few", "q", 3, "a"), ("few", "q", 2, "b"), ("few", "q", 1, "c"), ("few", "r", 3, "d")];
        assert_eq!(alone(&versions), ("a- d-".into(), 2));
        let versions = [("some", "q", 3, "a"), ("some", "q", 2, "b"), ("some", "q", 1, "c")];
        assert_eq!(alone(&versions), ("a- b-".into(), 1));
        // No rule is known of the family.
        assert_eq!(alone(&[("other", "q", 1, "a")]), ("a-".into(), 0));
        // A value that differs does, however old the cell is.
        let (old, new) = ([("aged", "q", 1, "a")], [("aged", "q", 1, "b")]);
        assert_eq!(compared(info, &old, &new, false), ("ab".into(), 0));
        let stored = |row| StoredRow { row, info, now_micros: NOW };
        let newest = row(&versions[1..3]);
        assert_eq!(removable_cells(stored(&newest)), None);
        let aged = row(&[("aged", "q", 2, "a"), ("aged", "q", 1, "b")]);
        assert_eq!(removable_cells(stored(&aged)), Some(2));
        let young = row(&[("aged", "q", NOW, "a")]);
        assert_eq!(removable_cells(stored(&young)), None);
        assert_eq!(stored(&young).removable_within(Duration::from_secs(541)), Some(1));
    }
}
