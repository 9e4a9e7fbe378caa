//! What a plan consists of, the same for all key types.

use super::range::{KeyRange, prefix_end};
use crate::key::Schema;

/// A plan without its key type.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) schema: &'static Schema,
    /// The fields left of the salt, each with its delimiter, where all of them are fixed.
    pub(super) left: Vec<u8>,
    pub(super) rows: Rows,
    pub(super) buckets: Buckets,
    /// How many fields are fixed.
    pub(super) fixed: usize,
    pub(super) constraints: Vec<Constraint>,
}

/// The rows of one bucket, by what stands in their keys behind the tag, the salt and the fields left of it.
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
    One(i32),
    /// Every one.
    All,
    /// Every one, in the order of the stored keys: a field left of the salt is not fixed, so each of its
    /// values begins with the first bucket again.
    Interleaved,
}

impl Buckets {
    /// The bucket, where only one can hold a row.
    pub(super) fn known(self) -> Option<i32> {
        match self {
            Self::One(bucket) => Some(bucket),
            Self::Unsalted | Self::All | Self::Interleaved => None,
        }
    }
}

impl Rows {
    /// The same rows by what stands behind `left`, which all their keys begin with.
    pub(super) fn behind(self, left: &[u8]) -> Self {
        let behind = |key: Vec<u8>| key.strip_prefix(left).map(<[u8]>::to_vec);
        match self {
            Self::Key(key) => behind(key).map_or(Self::None, Self::Key),
            Self::Range { start, end } => match behind(start) {
                // An end that does not begin so is behind all keys that do.
                Some(start) => Self::Range { start, end: end.and_then(behind) },
                None => Self::None,
            },
            Self::None => Self::None,
        }
    }
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
    bucket: Option<i32>,
    logical_start: usize,
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
    /// The bucket that is read; none for a key type without a salt, and where one request reads them all,
    /// since a field left of the salt is not fixed.
    #[must_use]
    pub fn bucket(&self) -> Option<i32> {
        self.bucket
    }

    /// Where what orders the plan's rows begins in each row key of this request: behind the salt.
    ///
    /// What stands in front of it is the same in all row keys of the request and, but for the bucket, in
    /// those of all requests. So rows that are merged by their row keys from here on are in the order of
    /// their logical keys, which are the keys without the salt.
    #[must_use]
    pub fn logical_start(&self) -> usize {
        self.logical_start
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
            (_, Buckets::Unsalted | Buckets::One(_) | Buckets::Interleaved) => 1,
            (_, Buckets::All) => self.schema.salt().map_or(1, |salt| salt.buckets().len()),
        }
    }

    /// The requests in the order of their buckets.
    pub(super) fn requests(&self) -> impl Iterator<Item = Request> {
        let all = match (self.buckets, self.schema.salt()) {
            (Buckets::All, Some(salt)) => salt.buckets(),
            _ => 0..0,
        };
        let one = all.is_empty().then(|| self.buckets.known());
        one.into_iter().chain(all.map(Some)).filter_map(|bucket| self.request(bucket))
    }

    fn request(&self, bucket: Option<i32>) -> Option<Request> {
        let mut head = Vec::with_capacity(64);
        self.schema.write_head(bucket, &self.left, &mut head);
        let logical_start = head.len();
        let rows = match &self.rows {
            Rows::Key(key) => {
                head.extend_from_slice(key);
                RequestRows::Key(head)
            }
            Rows::Range { start, end } => {
                let end = match end {
                    Some(end) => Some([&head, end.as_slice()].concat()),
                    None => prefix_end(&head),
                };
                head.extend_from_slice(start);
                RequestRows::Range(KeyRange::new(head, end))
            }
            Rows::None => return None,
        };
        Some(Request { bucket, logical_start, rows })
    }
}
