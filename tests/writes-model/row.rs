//! One row of Bigtable, and what a request does to it.
//!
//! The mutations of a request apply in order, all or none. A delete removes the cells that exist when it applies, and no
//! later ones. A cell replaces one of the same column and time. A read returns the newest cell of each column.

/// The column that every value has.
pub(crate) const KEY: usize = 0;
/// The column that only some values have.
pub(crate) const OPT: usize = 1;
/// What `Form::NoneCell` stores for an absent column.
pub(crate) const NONE: u8 = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Time {
    At(u8),
    /// -1: the server's clock when the request is applied.
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Mutation {
    Set(usize, Time, u8),
    DeleteColumn(usize),
    /// Deletes the versions up to this time.
    DeleteUntil(usize, u8),
    DeleteRow,
    /// `ReadModifyWriteRow`: adds 1, at the later of the server's time and that of the newest cell.
    Increment(usize),
}

/// The predicate of a `CheckAndMutateRow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Condition {
    Always,
    NoRow,
    Equals(usize, u8),
    Version(usize, u8),
    /// No cell has this time or a later one.
    NoneFrom(u8),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) condition: Condition,
    pub(crate) mutations: Vec<Mutation>,
}

/// The versions of each column as (time, value), newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Row(pub(crate) [Vec<(u8, u8)>; 2]);

impl Row {
    pub(crate) fn newest(&self, column: usize) -> Option<(u8, u8)> {
        self.0[column].first().copied()
    }

    /// The value of each column.
    pub(crate) fn read(&self) -> [Option<u8>; 2] {
        [KEY, OPT].map(|column| self.newest(column).map(|(_, value)| value).filter(|value| *value != NONE))
    }

    pub(crate) fn holds(&self, condition: Condition) -> bool {
        match condition {
            Condition::Always => true,
            Condition::NoRow => self.0.iter().all(Vec::is_empty),
            Condition::Equals(column, value) => self.newest(column).is_some_and(|cell| cell.1 == value),
            Condition::Version(column, at) => self.newest(column).is_some_and(|cell| cell.0 == at),
            Condition::NoneFrom(at) => self.0.iter().flatten().all(|cell| cell.0 < at),
        }
    }

    /// Applies the mutations if the condition holds; returns whether it did. The server's time of the optional column
    /// is that of the key column plus `later`.
    pub(crate) fn apply(&mut self, request: &Request, now: u8, later: u8) -> bool {
        let holds = self.holds(request.condition);
        for mutation in request.mutations.iter().filter(|_| holds) {
            match *mutation {
                Mutation::Set(column, Time::At(at), value) => self.set(column, at, value),
                Mutation::Set(column, Time::Server, value) => {
                    self.set(column, if column == OPT { now + later } else { now }, value);
                }
                Mutation::DeleteColumn(column) => self.0[column].clear(),
                Mutation::DeleteUntil(column, last) => self.0[column].retain(|cell| cell.0 > last),
                Mutation::DeleteRow => *self = Self::default(),
                Mutation::Increment(column) => {
                    let (at, value) = self.newest(column).unwrap_or((0, 0));
                    self.set(column, at.max(now), value + 1);
                }
            }
        }
        holds
    }

    fn set(&mut self, column: usize, at: u8, value: u8) {
        let cells = &mut self.0[column];
        cells.retain(|cell| cell.0 != at);
        cells.push((at, value));
        cells.sort_unstable_by(|left, right| right.cmp(left));
    }

    /// Collects garbage by number of versions and by age.
    pub(crate) fn collect(&mut self, versions: u8, oldest: u8) {
        for cells in &mut self.0 {
            cells.truncate(versions.into());
            cells.retain(|cell| cell.0 >= oldest);
        }
    }
}
