//! The salt: how a key's bucket is chosen, written and read.

use std::fmt;
use std::ops::Range;

use keyderive_farmhash::fingerprint64;
use serde::{Deserialize, Serialize};

use super::decimal;

/// The salt of a key type: its buckets, the fields that choose one, and its place in the key.
///
/// Unless [`hash`](Self::hash) is Java's, the hash is the FarmHash fingerprint of the encoded salted fields, in key
/// order and joined by the delimiter, without tag and salt. The bucket is that hash, as a signed number, modulo
/// `range` (`rem_euclid`). In BigQuery and Spanner SQL it is `MOD(MOD(FARM_FINGERPRINT(k), range) + range, range)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt {
    range: u16,
    /// How many digits the greatest bucket has; stored, so that it is not computed for each key.
    width: u8,
    over: &'static [usize],
    sep: Option<&'static str>,
    place: SaltPlace,
    hash: SaltHash,
}

/// Where the salt stands in the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaltPlace {
    /// First in the key, before a tag.
    Front,
    /// Before the fields, after a tag.
    #[default]
    BeforeFields,
    /// After a field that is not the last one.
    After {
        /// The index of the field.
        field: usize,
    },
}

/// What turns the hashed bytes into a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SaltHash {
    /// FarmHash's 64-bit fingerprint, signed, by `rem_euclid`: buckets `0..range`, zero padded.
    #[default]
    Farm,
    /// Java's `String.hashCode` of the whole key without its salt, by the signed remainder: buckets
    /// `-(range - 1)..range`, unpadded. For tables that were made with Google's published sample.
    Java,
}

impl Salt {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(range: u16, over: &'static [usize]) -> Self {
        // A range of 16 bits has 5 digits at most.
        let width = decimal::width(range as u128 - 1) as u8;
        Self { range, width, over, sep: None, place: SaltPlace::BeforeFields, hash: SaltHash::Farm }
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn with_sep(self, sep: &'static str) -> Self {
        Self { sep: Some(sep), ..self }
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn with_place(self, place: SaltPlace) -> Self {
        Self { place, ..self }
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn with_hash(self, hash: SaltHash) -> Self {
        Self { hash, ..self }
    }

    /// The modulus of the hash. It is the number of buckets, except with [`SaltHash::Java`], which has negative buckets
    /// too.
    #[must_use]
    pub const fn range(&self) -> u32 {
        self.range as u32
    }

    /// The indexes of the fields that choose the bucket, in key order.
    #[must_use]
    pub const fn over(&self) -> &'static [usize] {
        self.over
    }

    /// What separates the salt from the next part, if that is not the delimiter.
    #[must_use]
    pub const fn sep(&self) -> Option<&'static str> {
        self.sep
    }

    /// The place of the salt in the key.
    #[must_use]
    pub const fn place(&self) -> SaltPlace {
        self.place
    }

    /// What turns the hashed bytes into a bucket.
    #[must_use]
    pub const fn hash(&self) -> SaltHash {
        self.hash
    }

    /// All buckets, in ascending order.
    #[must_use]
    pub const fn buckets(&self) -> Range<i32> {
        let end = self.range as i32;
        match self.hash {
            SaltHash::Farm => 0..end,
            SaltHash::Java => 1 - end..end,
        }
    }

    /// The least and the greatest bucket as text: `0 to 3`.
    pub(crate) fn bounds(&self) -> impl fmt::Display {
        let Range { start, end } = self.buckets();
        fmt::from_fn(move |f| write!(f, "{start} to {}", end - 1))
    }

    /// How many digits the greatest bucket has. Smaller ones are zero padded to this width, except with
    /// [`SaltHash::Java`].
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width as usize
    }

    /// The bucket for `bytes`: the encoded salted fields, joined by the delimiter; with [`SaltHash::Java`], the whole
    /// key without its salt.
    #[must_use]
    #[inline]
    pub fn bucket(&self, bytes: &[u8]) -> i32 {
        match self.hash {
            SaltHash::Farm => self.farm_bucket(fingerprint64(bytes)),
            SaltHash::Java => self.java_bucket(hash_code(0, bytes)),
        }
    }

    #[inline]
    fn farm_bucket(&self, hash: u64) -> i32 {
        if self.range.is_power_of_two() {
            // The same as below without a division, also for a negative number.
            return (hash & u64::from(self.range - 1)) as i32;
        }
        // The remainder is below `range`, which is a u16.
        hash.cast_signed().rem_euclid(i64::from(self.range)) as i32
    }

    /// The signed remainder, which `%` is both in Java and in Rust.
    #[inline]
    pub(super) fn java_bucket(&self, hash_code: i32) -> i32 {
        hash_code % i32::from(self.range)
    }

    /// Whether buckets are padded, so that all have the same length.
    #[inline]
    pub(crate) const fn is_padded(&self) -> bool {
        matches!(self.hash, SaltHash::Farm)
    }

    /// How many digits a bucket is written in.
    #[cfg_attr(not(debug_assertions), inline(always))]
    const fn digits(&self, bucket: i32) -> usize {
        if self.is_padded() { self.width() } else { decimal::width(bucket.unsigned_abs() as u128) }
    }

    /// A bucket as keys of the text layout have it.
    pub(crate) const fn numbered(&self, number: i32) -> Bucket {
        Bucket { width: if self.is_padded() { self.width } else { 0 }, number }
    }

    /// The length of `bucket` in bytes; if it is `None`, of the shortest bucket.
    pub(crate) const fn len(&self, bucket: Option<i32>) -> usize {
        match bucket {
            Some(bucket) => self.digits(bucket) + (bucket < 0) as usize,
            None => self.digits(0),
        }
    }

    /// Fills `digits` with a bucket's digits.
    #[inline]
    pub(crate) fn fill_digits(bucket: i32, digits: &mut [u8]) {
        // Faster than `decimal::fill` for the usual single digit.
        let mut bucket = bucket.unsigned_abs();
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (bucket % 10) as u8;
            bucket /= 10;
        }
    }

    /// The bucket that `bytes` begin with, and its length; `None` if encode would not have written it so.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read(&self, bytes: &[u8]) -> Option<(i32, usize)> {
        match self.hash {
            SaltHash::Farm => self.read_padded(bytes),
            SaltHash::Java => self.read_signed(bytes),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_padded(&self, bytes: &[u8]) -> Option<(i32, usize)> {
        let mut bucket = 0;
        for byte in bytes.get(..self.width())? {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            // A bucket has five digits at most.
            bucket = bucket * 10 + i32::from(digit);
        }
        (bucket < i32::from(self.range)).then_some((bucket, self.width()))
    }

    fn read_signed(&self, bytes: &[u8]) -> Option<(i32, usize)> {
        let negative = bytes.first() == Some(&b'-');
        let rest = &bytes[usize::from(negative)..];
        let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let magnitude = i32::try_from(decimal::parse(&rest[..len])?).ok()?;
        let bucket = if negative { -magnitude } else { magnitude };
        let len = len + usize::from(negative);
        // Another form of a bucket, such as `-0` or `02`, is longer than the form that `write` writes.
        (self.buckets().contains(&bucket) && self.len(Some(bucket)) == len).then_some((bucket, len))
    }

    /// How many fields stand before the salt.
    #[inline]
    pub(crate) const fn fields_before(&self) -> usize {
        match self.place {
            SaltPlace::After { field } => field + 1,
            SaltPlace::Front | SaltPlace::BeforeFields => 0,
        }
    }

    /// The first and the last salted field, if they are one contiguous piece of the key.
    #[inline]
    pub(super) fn contiguous_fields(&self) -> Option<(usize, usize)> {
        let (first, last) = (*self.over.first()?, *self.over.last()?);
        let left = self.fields_before();
        let salt_is_between = first < left && left <= last;
        (last - first + 1 == self.over.len() && !salt_is_between).then_some((first, last))
    }
}

/// A bucket as stored keys have it. Salts whose buckets have as many digits share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bucket {
    /// How many digits it is padded to; 0 in the ordered layout, and for a salt without padding.
    width: u8,
    number: i32,
}

impl Bucket {
    /// A bucket that is not padded.
    pub(crate) const fn unpadded(number: i32) -> Self {
        Self { width: 0, number }
    }

    pub(crate) const fn number(self) -> i32 {
        self.number
    }

    pub(crate) const fn width(self) -> u8 {
        self.width
    }

    /// The bucket of a number padded to `width` digits.
    pub(crate) const fn padded(width: u8, number: i32) -> Self {
        Self { width, number }
    }

    /// The length in the text layout.
    pub(crate) const fn len(self) -> usize {
        self.digits() + (self.number < 0) as usize
    }

    /// How many digits it is written in.
    const fn digits(self) -> usize {
        let width = decimal::width(self.number.unsigned_abs() as u128);
        if width < self.width as usize { self.width as usize } else { width }
    }

    /// Appends it, as in the text layout.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        if self.number < 0 {
            out.push(b'-');
        }
        let start = out.len();
        for _ in 0..self.digits() {
            out.push(b'0');
        }
        Salt::fill_digits(self.number, &mut out[start..]);
    }
}

/// Continues a Java `String.hashCode` with more of the same string, given as UTF-8.
///
/// It is `s[0]*31^(n-1) + … + s[n-1]` over the UTF-16 units, in wrapping 32 bits. Bytes that are not UTF-8 count as
/// U+FFFD, as Java decodes them.
#[inline]
pub(super) fn hash_code(start: i32, text: &[u8]) -> i32 {
    let step = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    if text.is_ascii() {
        return text.iter().fold(start, |hash, byte| step(hash, u16::from(*byte)));
    }
    text.utf8_chunks().fold(start, |hash, chunk| {
        let hash = chunk.valid().encode_utf16().fold(hash, step);
        if chunk.invalid().is_empty() { hash } else { step(hash, 0xfffd) }
    })
}

/// The byte range of a field in its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    const JAVA: Salt = Salt::new(12, &[]).with_hash(SaltHash::Java);

    /// Each bucket has one form, which is read back.
    #[test]
    fn buckets_have_one_form() {
        for salt in [JAVA, Salt::new(12, &[])] {
            for bucket in salt.buckets() {
                let mut out = Vec::new();
                salt.numbered(bucket).write(&mut out);
                assert_eq!(out.len(), salt.len(Some(bucket)));
                assert_eq!(out.len(), salt.numbered(bucket).len());
                out.extend_from_slice(b"-key");
                assert_eq!(salt.read(&out), Some((bucket, out.len() - 4)), "{salt:?}");
            }
        }
        for other in ["-0", "00", "01", "-01", "12", "-12", "", "-", "+1", "99999999999999999999999999"] {
            assert_eq!(JAVA.read(other.as_bytes()), None, "{other}");
        }
        for other in ["1", "-1", "12", "+1", "1#"] {
            assert_eq!(Salt::new(12, &[]).read(other.as_bytes()), None, "{other}");
        }
    }

    /// The least hash code has no absolute value in 32 bits.
    #[test]
    fn the_least_hash_code_has_a_bucket() {
        assert_eq!(hash_code(0, b"polygenelubricants"), i32::MIN);
        assert_eq!(JAVA.bucket(b"polygenelubricants"), -8);
        assert_eq!(JAVA.buckets(), -11..12);
    }

    /// Values that a Java platform prints.
    #[test]
    fn hash_codes_are_those_of_java() {
        for (text, expected) in [
            ("", 0),
            ("a", 97),
            ("ab", 3105),
            ("hello", 99_162_322),
            ("polygenelubricants", i32::MIN),
            ("é", 233),
            // Two units, d83d and de00.
            ("😀", 1_772_899),
        ] {
            assert_eq!(hash_code(0, text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn a_string_can_be_hashed_in_pieces() {
        let text = "phone#é#😀#20190501";
        let whole = hash_code(0, text.as_bytes());
        for (at, _) in text.char_indices() {
            let (left, right) = text.as_bytes().split_at(at);
            assert_eq!(hash_code(hash_code(0, left), right), whole);
        }
    }
}
