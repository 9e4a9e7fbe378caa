//! How values compare at the server, which knows stored bytes alone: as ranges of them.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64,
};
use std::ops::Bound;
use std::sync::Arc;

use ::bytes::Bytes;

use super::{Cell, CellError, CellType, CellWriter, OwnedCell};

/// A value that the server can find equal to another: equal values have the same stored bytes, whoever wrote them.
///
/// Integers, floats, `bool`, text, bytes, UUIDs, IP addresses, dates, enums, and times with `#[row(ts(…))]`; and newtypes and
/// pointers of these. A time in RFC 3339 is not comparable, since one time has several texts.
/// [`RowFilter::value_is`](crate::row::RowFilter::value_is) compares values.
///
/// Implement it for a type of your own that has one encoding for each value.
#[diagnostic::on_unimplemented(
    message = "a column of `{Self}` cannot be compared at the server",
    label = "one value of this type has several encodings",
    note = "compare a column of integers, floats, text, bytes, UUIDs, dates, `bool` or an enum; an aggregate, such as `Sum`, is \
            compared by the program that has read it"
)]
pub trait ComparableCell {}

/// A value that the server can find less than another.
///
/// Integers, floats, `char`, text, bytes, UUIDs, dates, and times with `#[row(ts(…))]`; and newtypes and pointers of these.
/// [`RowFilter::value_in`](crate::row::RowFilter::value_in) compares values.
///
/// Implement it for a type of your own that has the order of its stored bytes.
#[diagnostic::on_unimplemented(
    message = "a column of `{Self}` has no order at the server",
    label = "the order of its stored bytes is not that of its values",
    note = "the order is exact for integers, floats, `char`, text, bytes, UUIDs and dates; an aggregate, such as `Sum`, is compared \
            by the program that has read it"
)]
pub trait OrderedCell: ComparableCell {}

/// How the order of values follows from their stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredOrder {
    /// The order of the bytes.
    Bytes,
    /// Two's complement of 8 bytes: the negative numbers follow the others.
    Integer,
    /// IEEE 754: the negative numbers follow the others, in descending order. NaN is in no range, and both zeros are equal.
    F32,
    /// As `F32`, of 8 bytes.
    F64,
}

/// A compared value: the stored bytes that are it, or next to it if no cell can hold it.
#[derive(Clone, Debug)]
pub(crate) struct Bounded {
    stored: Vec<u8>,
    /// How the value compares with the stored one. No stored value is between them.
    side: Ordering,
}

impl Bounded {
    /// Encodes a value with `encode`, which works as [`Cell::encode_bound`](super::Cell::encode_bound).
    pub(crate) fn new(
        encode: impl FnOnce(&mut CellWriter<'_>) -> Result<Ordering, CellError>,
    ) -> Result<Self, CellError> {
        let mut stored = Vec::new();
        let side = encode(&mut CellWriter::new(&mut stored))?;
        Ok(Self { stored, side })
    }

    pub(crate) fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// The bound from below of the stored values.
    fn lower(bound: Bound<&Self>) -> Bound<&[u8]> {
        match bound {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(Self { stored, side: Ordering::Equal }) => Bound::Included(stored),
            Bound::Included(Self { stored, side }) | Bound::Excluded(Self { stored, side }) => match side {
                Ordering::Less => Bound::Included(stored),
                Ordering::Equal | Ordering::Greater => Bound::Excluded(stored),
            },
        }
    }

    /// The bound from above of the stored values.
    fn upper(bound: Bound<&Self>) -> Bound<&[u8]> {
        match bound {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(Self { stored, side: Ordering::Equal }) => Bound::Included(stored),
            Bound::Included(Self { stored, side }) | Bound::Excluded(Self { stored, side }) => match side {
                Ordering::Less | Ordering::Equal => Bound::Excluded(stored),
                Ordering::Greater => Bound::Included(stored),
            },
        }
    }
}

/// A range of stored bytes.
pub(crate) type StoredRange = (Bound<Bytes>, Bound<Bytes>);

impl StoredOrder {
    /// The order of values that are stored as this.
    pub(crate) fn of(stored: CellType) -> Self {
        match stored {
            CellType::Integer { .. }
            | CellType::NonZero { .. }
            | CellType::Bool
            | CellType::Code(_)
            | CellType::UnixTime(_) => Self::Integer,
            CellType::F32 => Self::F32,
            CellType::F64 => Self::F64,
            _ => Self::Bytes,
        }
    }

    /// Whether the stored value is NaN, which is in no range.
    pub(crate) fn is_nan(self, stored: &[u8]) -> bool {
        self.number().is_some_and(|number| number.equal(stored).is_none())
    }

    /// The stored values that are equal to this one.
    pub(crate) fn equal(self, value: &Bounded) -> Vec<StoredRange> {
        match value.side {
            Ordering::Equal => self.ranges(Bound::Included(&value.stored), Bound::Included(&value.stored)),
            Ordering::Less | Ordering::Greater => Vec::new(),
        }
    }

    /// The stored values within bounds.
    pub(crate) fn within(self, lower: Bound<&Bounded>, upper: Bound<&Bounded>) -> Vec<StoredRange> {
        self.ranges(Bounded::lower(lower), Bounded::upper(upper))
    }

    /// The stored values within bounds, which are stored values too.
    pub(crate) fn ranges(self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Vec<StoredRange> {
        match self.number() {
            None => vec![(lower.map(Bytes::copy_from_slice), upper.map(Bytes::copy_from_slice))],
            Some(number) => number.ranges(lower, upper),
        }
    }

    fn number(self) -> Option<Number> {
        match self {
            Self::Bytes => None,
            Self::Integer => Some(Number { width: 8, infinity: None }),
            Self::F32 => Some(Number { width: 4, infinity: Some(f32::INFINITY.to_bits().into()) }),
            Self::F64 => Some(Number { width: 8, infinity: Some(f64::INFINITY.to_bits()) }),
        }
    }
}

/// How numbers are stored, big-endian. The rank of a number is its place among all numbers of its type, from 0.
#[derive(Clone, Copy)]
struct Number {
    /// How many bytes.
    width: usize,
    /// The bits of positive infinity, for floats.
    infinity: Option<u64>,
}

impl Number {
    /// The bit of the sign, which is the rank of the least number that has none.
    fn sign(self) -> u64 {
        1 << (8 * self.width - 1)
    }

    fn bits(self, stored: &[u8]) -> Option<u64> {
        let is_number = stored.len() == self.width;
        is_number.then(|| stored.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
    }

    fn stored(self, bits: u64) -> Bytes {
        Bytes::copy_from_slice(&bits.to_be_bytes()[8 - self.width..])
    }

    /// From bits to the rank. Negative floats descend as their bits ascend.
    fn rank(self, bits: u64) -> u64 {
        let is_negative = bits & self.sign() != 0;
        if is_negative && self.infinity.is_some() {
            self.sign() - 1 - (bits ^ self.sign())
        } else {
            bits ^ self.sign()
        }
    }

    /// The inverse of [`rank`](Self::rank).
    fn unrank(self, rank: u64) -> u64 {
        let is_negative = rank < self.sign();
        if is_negative && self.infinity.is_some() {
            (self.sign() - 1 - rank) | self.sign()
        } else {
            rank ^ self.sign()
        }
    }

    /// The least and the greatest rank.
    fn ends(self) -> (u64, u64) {
        match self.infinity {
            None => (0, self.sign() | (self.sign() - 1)),
            Some(infinity) => (self.rank(infinity | self.sign()), self.rank(infinity)),
        }
    }

    /// The ranks that are equal to a number: one, or both zeros of a float. None for NaN.
    fn equal(self, stored: &[u8]) -> Option<(u64, u64)> {
        let bits = self.bits(stored)?;
        match self.infinity {
            Some(infinity) if bits & !self.sign() > infinity => None,
            Some(_) if bits & !self.sign() == 0 => Some((self.sign() - 1, self.sign())),
            _ => Some((self.rank(bits), self.rank(bits))),
        }
    }

    /// The ranges of stored values within bounds: one for each sign, since negative numbers are stored after the
    /// others.
    fn ranges(self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Vec<StoredRange> {
        let (least, greatest) = self.ends();
        let first = match lower {
            Bound::Unbounded => Some(least),
            Bound::Included(bound) => self.equal(bound).map(|(first, _)| first),
            Bound::Excluded(bound) => self.equal(bound).and_then(|(_, last)| last.checked_add(1)),
        };
        let last = match upper {
            Bound::Unbounded => Some(greatest),
            Bound::Included(bound) => self.equal(bound).map(|(_, last)| last),
            Bound::Excluded(bound) => self.equal(bound).and_then(|(first, _)| first.checked_sub(1)),
        };
        let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
        let (first, last) = (first.max(least), last.min(greatest));
        let parts = [(first, last.min(self.sign() - 1)), (first.max(self.sign()), last)];
        let range = |(first, last): (u64, u64)| {
            let (one, other) = (self.unrank(first), self.unrank(last));
            let [start, end] =
                [one.min(other), one.max(other)].map(|bits| Bound::Included(self.stored(bits)));
            (start, end)
        };
        parts.into_iter().filter(|(first, last)| first <= last).map(range).collect()
    }
}

impl CellType {
    /// Whether stored bytes compare as their values, by [`StoredOrder`]. For a type with [`OrderedCell`] it is true.
    pub(crate) const fn is_ordered(self) -> bool {
        matches!(
            self,
            Self::Integer { .. }
                | Self::NonZero { .. }
                | Self::F32
                | Self::F64
                | Self::Text
                | Self::Char
                | Self::Bytes
                | Self::Array(_)
                | Self::Uuid
                | Self::Date
                | Self::UnixTime(_)
        )
    }
}

macro_rules! ordered {
    ($($type:ty),+) => {$(
        impl ComparableCell for $type {}
        impl OrderedCell for $type {}
        const _: () = assert!(<$type as Cell>::TYPE.is_ordered());
    )+};
}

ordered! {
    i8, i16, i32, i64, u8, u16, u32, u64, f32, f64,
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64,
    String, &str, Cow<'_, str>, Box<str>, Arc<str>, char,
    Vec<u8>, &[u8], Cow<'_, [u8]>, Bytes
}

#[cfg(feature = "uuid")]
ordered! { ::uuid::Uuid }
#[cfg(feature = "chrono")]
ordered! { ::chrono::NaiveDate }
#[cfg(feature = "jiff")]
ordered! { ::jiff::civil::Date }
#[cfg(feature = "time")]
ordered! { ::time::Date }

impl<const N: usize> ComparableCell for [u8; N] {}
impl<const N: usize> OrderedCell for [u8; N] {}

impl ComparableCell for bool {}
impl ComparableCell for IpAddr {}
impl ComparableCell for Ipv4Addr {}
impl ComparableCell for Ipv6Addr {}

macro_rules! pointers {
    ($($pointer:ident)*) => {$(
        impl<C: OwnedCell + ComparableCell> ComparableCell for $pointer<C> {}
        impl<C: OwnedCell + OrderedCell> OrderedCell for $pointer<C> {}
    )*};
}

pointers! { Box Arc }

#[cfg(feature = "embedded")]
#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::ops::RangeBounds as _;

    use futures_util::TryStreamExt as _;
    use proptest::prelude::*;

    use super::*;
    use crate::client::{Family, ReadRows};
    use crate::row::{Mutation, RawRow, RowFilter};
    use crate::{Client, GcRule};

    /// The server and Rust find the same values equal, and the same within all bounds.
    async fn check<C>(values: Vec<C>)
    where
        C: OwnedCell + OrderedCell + PartialOrd + Debug + Clone,
    {
        let table = Client::embedded().raw_table("t");
        table.create([Family::new("cf", GcRule::never())], [""; 0]).await.unwrap();
        for (at, value) in values.iter().enumerate() {
            let set = Mutation::set("cf", "q", 0, value.to_stored().unwrap());
            table.mutate_row(format!("{at:04}"), [set]).await.unwrap();
        }
        let found = async |filter: RowFilter| {
            let rows: Vec<RawRow> =
                table.read_rows(ReadRows::all().filter(filter)).try_collect().await.unwrap();
            rows.iter().map(|row| str::from_utf8(row.key()).unwrap().parse().unwrap()).collect::<Vec<usize>>()
        };
        let among = |holds: &dyn Fn(&C) -> bool| -> Vec<usize> {
            // NaN is in no range, not even in one without bounds.
            let holds = |value: &C| value.partial_cmp(value).is_some() && holds(value);
            (0..values.len()).filter(|at| holds(&values[*at])).collect()
        };
        let bounds = |value| [Bound::Unbounded, Bound::Included(value), Bound::Excluded(value)];
        for (one, other) in values.iter().flat_map(|one| values.iter().map(move |other| (one, other))) {
            let equal = found(RowFilter::value_is(one)).await;
            assert_eq!(equal, among(&|value| value == one), "{one:?} of {values:?}");
            for range in bounds(one).into_iter().flat_map(|lower| bounds(other).map(|upper| (lower, upper))) {
                let within = found(RowFilter::value_in((range.0.cloned(), range.1.cloned()))).await;
                assert_eq!(within, among(&|value| range.contains(value)), "{range:?} of {values:?}");
            }
        }
    }

    #[test]
    fn a_value_that_no_cell_holds_is_a_bound_and_equals_nothing() {
        assert_eq!(RowFilter::value_is(&u64::MAX), RowFilter::block_all());
        let greatest = i64::MAX.cast_unsigned();
        assert_eq!(RowFilter::value_in(1..u64::MAX), RowFilter::value_in(1..=greatest));
        assert_eq!(RowFilter::value_in(greatest + 1..), RowFilter::value_in(greatest + 1..greatest + 1));
    }

    #[tokio::test]
    async fn integers_are_in_order() {
        check(vec![i64::MIN, i64::MIN + 1, -256, -1, 0, 1, 255, 256, i64::MAX]).await;
        check(vec![i8::MIN, -1, 0, 1, i8::MAX]).await;
        check(vec![0, 1, u64::MAX >> 1]).await;
    }

    #[tokio::test]
    async fn floats_are_in_order() {
        let some = [0.0, f64::MIN_POSITIVE, 1e-310, 1.5, f64::MAX, f64::INFINITY, f64::NAN];
        check(some.into_iter().flat_map(|float| [float, -float]).collect()).await;
        let some = [0.0, f32::MIN_POSITIVE, 1e-40, 1.5, f32::MAX, f32::INFINITY, f32::NAN];
        check(some.into_iter().flat_map(|float| [float, -float]).collect()).await;
    }

    #[tokio::test]
    async fn texts_and_bytes_are_in_order() {
        check(["", "a", "a\0", "ab", "z", "ß", "\u{10ffff}"].map(String::from).to_vec()).await;
        check(vec!['\0', 'a', 'z', 'ß', '\u{10ffff}']).await;
        check([&[][..], &[0], &[0, 0], &[1], &[0xff], &[0xff, 0xff]].map(<[u8]>::to_vec).to_vec()).await;
    }

    proptest! {
        #[test]
        fn ranks_are_in_the_order_of_numbers(one: i64, other: i64, float: f64, second: f64) {
            let integer = StoredOrder::Integer.number().unwrap();
            let rank = |value: i64| integer.rank(value.cast_unsigned());
            prop_assert_eq!(rank(one).cmp(&rank(other)), one.cmp(&other));
            prop_assert_eq!(integer.unrank(rank(one)), one.cast_unsigned());
            let number = StoredOrder::F64.number().unwrap();
            let rank = |value: f64| number.rank(value.to_bits());
            prop_assert_eq!(rank(float).cmp(&rank(second)), float.total_cmp(&second));
            prop_assert_eq!(number.unrank(rank(float)), float.to_bits());
        }
    }
}
