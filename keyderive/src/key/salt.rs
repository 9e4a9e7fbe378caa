//! The salt: which bucket a key is in.

use super::farm::fingerprint64;
use super::schema::{Layout, Schema};
use super::{decimal, ordered};

/// The salt of a key type: how many buckets, and the fields whose bytes choose one.
///
/// The bucket is the FarmHash fingerprint of the encoded fields, joined by the delimiter, taken as a
/// signed number and reduced by `rem_euclid`, so that it is in `0..range` for every input. In BigQuery
/// and Spanner SQL it is `MOD(MOD(FARM_FINGERPRINT(k), range) + range, range)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt {
    range: u16,
    over: &'static [usize],
}

impl Salt {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(range: u16, over: &'static [usize]) -> Self {
        Self { range, over }
    }

    /// The number of buckets.
    #[must_use]
    pub const fn range(&self) -> u32 {
        self.range as u32
    }

    /// The indexes of the fields that choose the bucket, in key order.
    #[must_use]
    pub const fn over(&self) -> &'static [usize] {
        self.over
    }

    /// How many digits a bucket is written in: those of the greatest one.
    #[must_use]
    pub const fn width(&self) -> usize {
        decimal::width(self.range as u128 - 1)
    }

    /// The bucket of a key whose salted fields are encoded as `bytes`, joined by the delimiter.
    #[must_use]
    #[inline]
    pub fn bucket(&self, bytes: &[u8]) -> u32 {
        let signed = fingerprint64(bytes).cast_signed();
        // A remainder by a u16 is below it.
        signed.rem_euclid(i64::from(self.range)) as u32
    }

    /// Appends a bucket in exactly [`width`](Self::width) digits.
    pub(crate) fn write(&self, bucket: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.width(), b'0');
        decimal::fill(&mut out[start..], bucket.into());
    }

    /// Overwrites the digits of a bucket.
    #[inline]
    pub(crate) fn patch(bucket: u32, digits: &mut [u8]) {
        decimal::fill(digits, bucket.into());
    }

    /// Reads a bucket back; none for what is no number below the range.
    #[inline]
    pub(crate) fn read(&self, digits: &[u8]) -> Option<u32> {
        let bucket = u32::try_from(decimal::parse(digits)?).ok()?;
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
#[inline]
pub(crate) fn bucket_of(salt: &Salt, key: &[u8], spans: &[Span], schema: &Schema) -> u32 {
    let ordered = matches!(schema.layout(), Layout::OrderedCode);
    // Of an ordered key, empty fields at the end are dropped.
    let dropped = |field: usize| ordered && spans[field].start == spans[field].end;
    if let Some((first, last)) = salt.contiguous()
        && !dropped(last)
    {
        return salt.bucket(&key[spans[first].start..spans[last].end]);
    }
    let mut joined = Vec::with_capacity(key.len());
    for (at, field) in salt.over.iter().enumerate() {
        if at > 0 {
            joined.extend_from_slice(schema.separator());
        }
        match dropped(*field) {
            true => joined.extend_from_slice(&ordered::EMPTY),
            false => joined.extend_from_slice(&key[spans[*field].start..spans[*field].end]),
        }
    }
    salt.bucket(&joined)
}

/// Where a field's bytes lie in its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}
