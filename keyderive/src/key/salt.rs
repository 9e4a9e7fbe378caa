//! The salt: which bucket a key is in.

use super::decimal;
use super::farm::fingerprint64;

/// The salt of a key type: how many buckets, and the fields whose bytes choose one.
///
/// The bucket is the FarmHash fingerprint of the encoded fields, joined by the delimiter, taken as a
/// signed number and reduced by `rem_euclid`, so that it is in `0..range` for every input. In BigQuery
/// and Spanner SQL it is `MOD(MOD(FARM_FINGERPRINT(k), range) + range, range)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt {
    range: u16,
    /// Kept, since a key type of another crate is no constant to the optimizer.
    width: u8,
    over: &'static [usize],
}

impl Salt {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(range: u16, over: &'static [usize]) -> Self {
        // A range of 16 bits has 5 digits at most.
        let width = decimal::width(range as u128 - 1) as u8;
        Self { range, width, over }
    }

    /// The number of buckets.
    #[must_use]
    #[inline]
    pub const fn range(&self) -> u32 {
        self.range as u32
    }

    /// The indexes of the fields that choose the bucket, in key order.
    #[must_use]
    #[inline]
    pub const fn over(&self) -> &'static [usize] {
        self.over
    }

    /// How many digits a bucket is written in: those of the greatest one.
    #[must_use]
    #[inline]
    pub const fn width(&self) -> usize {
        self.width as usize
    }

    /// The bucket of a key whose salted fields are encoded as `bytes`, joined by the delimiter.
    #[must_use]
    #[inline]
    pub fn bucket(&self, bytes: &[u8]) -> u32 {
        let hash = fingerprint64(bytes);
        if self.range.is_power_of_two() {
            // The same without a division, for a signed number too.
            return hash as u32 & (self.range() - 1);
        }
        let signed = hash.cast_signed();
        // A remainder by a u16 is below it.
        signed.rem_euclid(i64::from(self.range)) as u32
    }

    /// Appends a bucket in exactly [`width`](Self::width) digits.
    #[inline]
    pub(crate) fn write(&self, bucket: u32, out: &mut Vec<u8>) {
        let start = out.len();
        for _ in 0..self.width {
            out.push(b'0');
        }
        Self::patch(bucket, &mut out[start..]);
    }

    /// Overwrites the digits of a bucket.
    #[inline]
    pub(crate) fn patch(mut bucket: u32, digits: &mut [u8]) {
        // Most often a single digit, for which `decimal::fill` is too much.
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (bucket % 10) as u8;
            bucket /= 10;
        }
    }

    /// Reads a bucket back; none for what is no number below the range.
    #[inline]
    pub(crate) fn read(&self, digits: &[u8]) -> Option<u32> {
        let mut bucket = 0;
        for byte in digits {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            // Four digits at most: those of the greatest bucket.
            bucket = bucket * 10 + u32::from(digit);
        }
        (bucket < self.range()).then_some(bucket)
    }

    /// Whether the salted fields stand side by side, so that their joined bytes are one piece of the key.
    #[inline]
    pub(crate) fn contiguous(&self) -> Option<(usize, usize)> {
        let (first, last) = (*self.over.first()?, *self.over.last()?);
        (last - first + 1 == self.over.len()).then_some((first, last))
    }
}

/// The bucket of a key whose fields lie at `spans` of `key`.
///
/// Fields that stand side by side are hashed where they are; others are copied together first.
#[inline(always)]
pub(crate) fn bucket_of(salt: &Salt, key: &[u8], spans: &[Span], delimiter: u8) -> u32 {
    if let Some((first, last)) = salt.contiguous() {
        return salt.bucket(&key[spans[first].start..spans[last].end]);
    }
    let mut joined = Vec::with_capacity(key.len());
    for (at, field) in salt.over.iter().enumerate() {
        if at > 0 {
            joined.push(delimiter);
        }
        joined.extend_from_slice(&key[spans[*field].start..spans[*field].end]);
    }
    salt.bucket(&joined)
}

/// Where a field's bytes lie in its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}
