//! Where a scan goes on: behind a row, in every bucket.

use super::range::KeyRange;
use super::selection::Selection;
use crate::key::Schema;

/// The place of a row in the order of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// What stands in front of the row key's salt, or all of it where the scan is in the order of stored keys.
    front: Vec<u8>,
    behind: Vec<u8>,
    reversed: bool,
}

impl Position {
    /// The place of a row by its stored key.
    pub(super) fn of(selection: &Selection, key: &[u8], reversed: bool) -> Self {
        let (front, behind) =
            if selection.is_ordered() { selection.schema.split_at_salt(key) } else { (key, &[][..]) };
        Self { front: front.to_vec(), behind: behind.to_vec(), reversed }
    }

    /// The stored keys of a bucket that the scan still has before it.
    pub(super) fn ahead(&self, schema: &Schema, bucket: Option<i32>) -> KeyRange {
        let mut key = schema.join_at_salt(bucket, (&self.front, &self.behind));
        if self.reversed {
            return KeyRange::new(Vec::new(), Some(key));
        }
        // The first key behind one.
        key.push(0);
        KeyRange::new(key, None)
    }
}
