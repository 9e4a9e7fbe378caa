//! Which keys two tables do not share, found without holding them: sums of their hashes.

use std::collections::BTreeSet;

/// The most keys that are held in memory, of rows that only one table seems to have.
const MAX_EXAMINED: u64 = 1_000_000;

/// How many buckets of keys have sums of their own.
const BUCKETS: usize = 1 << 16;

/// The bucket of a key, by the upper bits of its hash.
pub(super) fn bucket(hash: u64) -> u16 {
    (hash >> 48) as u16
}

/// How many keys there are, and sums of their hashes, bucket by bucket. Equal lists of keys have equal sums, in any order;
/// other lists have other sums, except for hashes that coincide.
pub(super) struct KeySums(Vec<KeySum>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct KeySum {
    keys: u64,
    sum: u64,
    mixed: u64,
}

impl Default for KeySums {
    fn default() -> Self {
        Self(vec![KeySum::default(); BUCKETS])
    }
}

impl KeySums {
    pub(super) fn add(&mut self, hash: u64) {
        if let Some(sum) = self.0.get_mut(usize::from(bucket(hash))) {
            sum.keys += 1;
            sum.sum = sum.sum.wrapping_add(hash);
            // A second sum, of mixed bits: two keys can have the same sum of hashes as two others, but not both sums.
            let mixed = (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            sum.mixed = sum.mixed.wrapping_add(mixed ^ (mixed >> 32));
        }
    }

    /// The buckets that differ, with the numbers of keys on both sides.
    pub(super) fn different(&self, other: &Self) -> impl Iterator<Item = (u16, u64, u64)> {
        let both = self.0.iter().zip(&other.0).zip(0..=u16::MAX);
        both.filter(|((one, other), _)| one != other).map(|((one, other), at)| (at, one.keys, other.keys))
    }

    /// The differing buckets to examine: at least one, and together at most [`MAX_EXAMINED`] keys. Also, at least how many
    /// keys more `there` has in the others.
    pub(super) fn suspects(&self, there: &Self) -> (BTreeSet<u16>, u64) {
        let (mut suspects, mut keys, mut unexamined) = (BTreeSet::new(), 0, 0);
        for (at, found, counted) in self.different(there) {
            keys += found + counted;
            match suspects.is_empty() || keys <= MAX_EXAMINED {
                true => drop(suspects.insert(at)),
                false => unexamined += counted.saturating_sub(found),
            }
        }
        (suspects, unexamined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(hashes: &[u64]) -> KeySums {
        let mut sums = KeySums::default();
        hashes.iter().for_each(|hash| sums.add(*hash));
        sums
    }

    #[test]
    fn other_keys_of_one_bucket_have_other_sums() {
        // All in the first bucket, and as many on both sides.
        for (found, there) in [(&[1, 2], &[1, 3]), (&[1, 4], &[2, 3]), (&[5, 5], &[5, 6]), (&[5, 5], &[4, 6])]
        {
            let (suspects, unexamined) = sums(found).suspects(&sums(there));
            assert_eq!(
                (suspects.into_iter().collect::<Vec<_>>(), unexamined),
                (vec![0], 0),
                "{found:?} {there:?}"
            );
        }
        assert!(sums(&[1, 2, 7 << 48]).suspects(&sums(&[7 << 48, 2, 1])).0.is_empty());
        assert_eq!(sums(&[1]).suspects(&sums(&[1, 7 << 48])).0, [7].into());
    }

    #[test]
    fn more_keys_than_memory_holds_are_counted_at_least() {
        let (mut found, mut there) = (sums(&[]), sums(&[]));
        for bucket in 0..3 {
            found.0[bucket] = KeySum { keys: 400_000, sum: 1, mixed: 1 };
            there.0[bucket] = KeySum { keys: 400_007, sum: 2, mixed: 2 };
        }
        assert_eq!(found.suspects(&there), ([0].into(), 14));
    }
}
