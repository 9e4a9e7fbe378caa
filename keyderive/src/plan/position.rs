//! The position that a scan resumes at: after a row, in every bucket.

use serde::{Deserialize, Serialize};

use super::hex;
use super::request::KeyRange;
use crate::key::{Bucket, KeySchema};

/// The position of a row in the order of a scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    /// The row key up to its salt; all of it if the scan reads in the order of stored keys.
    #[serde(with = "hex")]
    pub(super) front: Vec<u8>,
    /// The row key after its salt.
    #[serde(with = "hex")]
    pub(super) after: Vec<u8>,
    pub(super) reversed: bool,
}

impl Position {
    /// The stored keys of a bucket that the scan has not read yet.
    pub(super) fn remaining(&self, schema: &KeySchema, bucket: Option<Bucket>) -> KeyRange {
        let mut key = schema.join_at_salt(bucket, (&self.front, &self.after));
        if self.reversed {
            return KeyRange::new(Vec::new(), Some(key));
        }
        // The first key after `key`.
        key.push(0);
        KeyRange::new(key, None)
    }

    /// Whether a scan in the same direction reaches this position after the other.
    pub(super) fn is_further_than(&self, other: &Self) -> bool {
        // The order of the keys in each bucket: a front ends with a delimiter or has a fixed width, if anything follows it.
        let [own, other] = [self, other].map(|one| (&one.front, &one.after));
        if self.reversed { own < other } else { own > other }
    }

    /// Whether the scan is reversed.
    pub(super) fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// The key of the row, without the salt.
    pub(super) fn logical_key(&self, schema: &KeySchema) -> Vec<u8> {
        self.stored_key(schema, None)
    }

    /// The key of a row here in a bucket.
    pub(super) fn stored_key(&self, schema: &KeySchema, bucket: Option<Bucket>) -> Vec<u8> {
        schema.join_at_salt(bucket, (&self.front, &self.after))
    }
}
