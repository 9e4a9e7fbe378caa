//! What a plan consists of, the same for all key types.

use super::range::{KeyRange, prefix_end};
use crate::key::Schema;

/// A plan without its key type.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) schema: &'static Schema,
    pub(super) rows: Rows,
    pub(super) buckets: Buckets,
    /// How many fields are fixed.
    pub(super) fixed: usize,
    pub(super) constraints: Vec<Constraint>,
}

/// The rows of one bucket, by what stands behind the tag and the salt in their keys.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    /// The row with this key.
    Key(Vec<u8>),
    /// The rows from `start` to before `end`, or to the end of the bucket.
    Range { start: Vec<u8>, end: Option<Vec<u8>> },
    /// No row: the constraints exclude each other.
    None,
}

/// The buckets that can hold a row of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buckets {
    /// The key type has no salt.
    Unsalted,
    /// All salted fields are fixed, so their bucket is known.
    One(u32),
    /// Every one.
    All,
}

/// A constraint in the words of its field's values.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub(super) field: usize,
    pub(super) words: String,
}

/// What a plan asks a table for in one request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    bucket: Option<u32>,
    rows: RequestRows,
}

/// The rows that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestRows {
    /// The row with this key: a point read, never a range.
    Key(Vec<u8>),
    /// The rows of this range.
    Range(KeyRange),
}

impl Request {
    /// The bucket that is read; none for a key type without a salt.
    #[must_use]
    pub fn bucket(&self) -> Option<u32> {
        self.bucket
    }

    /// The rows that are asked for.
    #[must_use]
    pub fn rows(&self) -> &RequestRows {
        &self.rows
    }

    /// The rows that are asked for, without the bucket.
    #[must_use]
    pub fn into_rows(self) -> RequestRows {
        self.rows
    }
}

impl Parts {
    /// How many requests the plan sends.
    pub(super) fn request_count(&self) -> usize {
        match (&self.rows, self.buckets) {
            (Rows::None, _) => 0,
            (_, Buckets::Unsalted | Buckets::One(_)) => 1,
            // 4096 buckets at most.
            (_, Buckets::All) => self.schema.salt().map_or(1, |salt| salt.range() as usize),
        }
    }

    /// The requests in the order of their buckets.
    pub(super) fn requests(&self) -> impl Iterator<Item = Request> {
        (0..self.request_count()).filter_map(|at| {
            let bucket = match self.buckets {
                Buckets::Unsalted => None,
                Buckets::One(bucket) => Some(bucket),
                Buckets::All => Some(at as u32),
            };
            Some(Request { bucket, rows: self.rows_of(bucket.unwrap_or(0))? })
        })
    }

    fn rows_of(&self, bucket: u32) -> Option<RequestRows> {
        let mut head = Vec::with_capacity(64);
        self.schema.write_head(bucket, &mut head);
        match &self.rows {
            Rows::Key(key) => {
                head.extend_from_slice(key);
                Some(RequestRows::Key(head))
            }
            Rows::Range { start, end } => {
                let end = match end {
                    Some(end) => Some([&head, end.as_slice()].concat()),
                    None => prefix_end(&head),
                };
                head.extend_from_slice(start);
                Some(RequestRows::Range(KeyRange::new(head, end)))
            }
            Rows::None => None,
        }
    }
}
