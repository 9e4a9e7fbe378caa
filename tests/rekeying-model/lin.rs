//! Is a history of one row linearizable? Kept as the set of all orders that are still possible, so that histories which
//! allow the same future are one state of the model.

use std::collections::BTreeSet;

/// What a row holds: a value, 0 for none, and which increments are in its counter, as bits. All zero: no row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) val: u8,
    pub(crate) inc: u8,
}

impl Row {
    pub(crate) const NONE: Self = Self { val: 0, inc: 0 };

    pub(crate) fn of(val: u8) -> Self {
        Self { val, inc: 0 }
    }

    pub(crate) fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// What a scan gives of it.
    pub(crate) fn given(self) -> Vec<Self> {
        Some(self).filter(|row| row.is_some()).into_iter().collect()
    }

    fn bit(self) -> u64 {
        1 << (self.val * 8 + self.inc)
    }
}

/// An operation on one row. `Scan` is of the whole table, and no part of a history of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Op {
    Put(u8),
    Inc(u8),
    Delete,
    /// A put where there is no value; it says whether there was none.
    Claim(u8),
    Read,
    Scan,
}

impl Op {
    pub(crate) fn apply(self, row: Row) -> Row {
        match self {
            Op::Put(val) => Row { val, ..row },
            Op::Inc(bit) => Row { inc: row.inc | bit, ..row },
            Op::Delete => Row::NONE,
            Op::Claim(val) if row.val == 0 => Row { val, ..row },
            Op::Claim(_) => row,
            Op::Read | Op::Scan => row,
        }
    }

    pub(crate) fn is_write(self) -> bool {
        !matches!(self, Op::Read | Op::Scan)
    }
}

/// One order that is possible: the row after it, the open writes that are in it, and for each open read what it may have
/// seen since it began.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Order {
    row: Row,
    taken: u16,
    /// Of those the claims that found no value.
    won: u16,
    seen: Vec<(u8, u64)>,
}

impl Order {
    fn with(&self, id: u8, op: Op) -> Self {
        let mut next = self.clone();
        next.row = op.apply(self.row);
        next.won |= u16::from(matches!(op, Op::Claim(_)) && self.row.val == 0) << id;
        next.taken |= 1 << id;
        next.seen.iter_mut().for_each(|(_, rows)| *rows |= next.row.bit());
        next
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lin {
    orders: BTreeSet<Order>,
    /// Writes that have begun and not ended; a write of unknown outcome stays here for ever.
    open: Vec<(u8, Op)>,
}

impl Lin {
    pub(crate) fn new(row: Row) -> Self {
        Self { orders: BTreeSet::from([Order { row, taken: 0, won: 0, seen: vec![] }]), open: vec![] }
    }

    pub(crate) fn begin(&mut self, id: u8, op: Op) {
        if op.is_write() {
            self.open.push((id, op));
            self.open.sort();
            return;
        }
        let orders = std::mem::take(&mut self.orders).into_iter();
        self.orders = orders.map(|mut o| (o.seen.push((id, o.row.bit())), o).1).collect();
    }

    /// A write that has been acknowledged, a claim with its outcome. False where no order is left.
    pub(crate) fn end_write(&mut self, id: u8, won: Option<bool>) -> bool {
        let mut ended = BTreeSet::new();
        for order in &self.orders {
            self.each_way(order, &mut |way| {
                if way.taken & (1 << id) != 0 {
                    if won.is_none_or(|won| won == (way.won & (1 << id) != 0)) {
                        let mut way = way.clone();
                        way.taken &= !(1 << id);
                        way.won &= !(1 << id);
                        ended.insert(way);
                    }
                    return false; // what comes behind it can be taken later
                }
                true
            });
        }
        self.open.retain(|(open, _)| *open != id);
        self.orders = ended;
        !self.orders.is_empty()
    }

    /// A read that has given a row. False: no order explains it.
    pub(crate) fn end_read(&mut self, id: u8, row: Row) -> bool {
        let mut ended = BTreeSet::new();
        for order in &self.orders {
            self.each_way(order, &mut |way| {
                let seen = way.seen.iter().any(|(read, rows)| *read == id && rows & row.bit() != 0);
                if seen {
                    let mut way = way.clone();
                    way.seen.retain(|(read, _)| *read != id);
                    ended.insert(way);
                }
                !seen
            });
        }
        self.orders = ended;
        !self.orders.is_empty()
    }

    /// Gives up a read.
    pub(crate) fn forget(&mut self, id: u8) {
        let orders = std::mem::take(&mut self.orders).into_iter();
        self.orders = orders.map(|mut o| (o.seen.retain(|(read, _)| *read != id), o).1).collect();
    }

    /// Whether a read that begins and ends now may give this row.
    pub(crate) fn allows(&self, row: Row) -> bool {
        let mut found = false;
        for order in &self.orders {
            self.each_way(order, &mut |way| {
                found |= way.row == row;
                !found
            });
        }
        found
    }

    /// All ways in which open writes can be taken behind an order, for as long as `go_on` says so.
    fn each_way(&self, order: &Order, go_on: &mut dyn FnMut(&Order) -> bool) {
        if !go_on(order) {
            return;
        }
        for (id, op) in &self.open {
            if order.taken & (1 << id) == 0 {
                self.each_way(&order.with(*id, *op), go_on);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_old_and_new() {
        let mut lin = Lin::new(Row::of(7));
        lin.begin(0, Op::Put(1));
        lin.begin(1, Op::Read);
        assert!(lin.allows(Row::of(7)) && lin.allows(Row::of(1)) && !lin.allows(Row::NONE));
        assert!(lin.end_write(0, None));
        assert!(!lin.allows(Row::of(7)));
        assert!(lin.clone().end_read(1, Row::of(7)), "the read may have come first");
        lin.begin(2, Op::Read);
        assert!(!lin.clone().end_read(2, Row::of(7)), "this one may not");
        assert!(lin.end_read(2, Row::of(1)));
    }

    #[test]
    fn a_write_of_unknown_outcome_comes_late_and_does_not_go_again() {
        let mut lin = Lin::new(Row::of(7));
        lin.begin(0, Op::Delete);
        for (id, row, right) in [(1, Row::of(7), true), (2, Row::NONE, true), (3, Row::of(7), false)] {
            lin.begin(id, Op::Read);
            assert_eq!(lin.end_read(id, row), right);
        }
    }
}
