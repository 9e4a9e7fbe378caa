//! A salt from a date on, and the bytes that keys store for its bound.

use std::fmt;

use serde::{Serialize, Serializer};

use super::codec::{DAY, calendar_day, write_utc};
use super::format::{FieldOrder, Format, KeyEncoding, TimeUnit, Width};
use super::ordered;
use super::salt::Salt;

/// The salt of the keys whose time is a bound or later: one `#[salt(…, since(…))]`.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user_id", sep = "!", since(at = 1796083200))]
/// struct EventKey {
///     user_id: String,
///     #[pad(10)]
///     at: u64,
/// }
///
/// let schema = EventKey::SCHEMA;
/// assert_eq!(schema.salt(), None);
/// assert_eq!(schema.epochs()[0].since().to_string(), "1796083200");
/// assert_eq!(schema.epochs()[0].salt().range(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    bound: Bound,
    salt: Salt,
}

impl Epoch {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        value: BoundValue,
        layout: KeyEncoding,
        (format, width, order): (Format, Width, FieldOrder),
        salt: Salt,
    ) -> Self {
        Self { bound: Bound::new(value, &StoredNumber { layout, format, width, order }), salt }
    }

    /// The first value of the field that has this salt.
    #[must_use]
    pub const fn since(&self) -> BoundValue {
        self.bound.value
    }

    /// The salt.
    #[must_use]
    pub const fn salt(&self) -> &Salt {
        &self.salt
    }

    /// The bytes that keys store for the bound.
    #[must_use]
    pub const fn stored_since(&self) -> &[u8] {
        self.bound.at.bytes()
    }

    /// The bytes that keys store for the last value before the bound.
    pub(super) const fn stored_before(&self) -> &[u8] {
        self.bound.before.bytes()
    }
}

/// The first value of an epoch, as `since(…)` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BoundValue {
    /// A time, in nanoseconds since 1970.
    Time(i128),
    /// A date, in days since 1970.
    Date(i64),
    /// A number.
    Number(i128),
}

/// RFC 3339 in UTC, a date such as `2026-12-01`, or digits.
impl fmt::Display for BoundValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Time(nanos) => write_utc(nanos, f),
            Self::Date(days) => {
                write!(f, "{:#}", fmt::from_fn(|f| write_utc(i128::from(days) * DAY, f)))
            }
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl Serialize for BoundValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl BoundValue {
    /// Nanoseconds since 1970, if the bound is a moment.
    pub(crate) fn unix_nanos(self) -> Option<i128> {
        match self {
            Self::Time(nanos) => Some(nanos),
            Self::Date(days) => Some(i128::from(days) * DAY),
            Self::Number(_) => None,
        }
    }
}

/// A bound with the bytes that keys store for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    value: BoundValue,
    /// Empty if the field cannot hold it.
    at: Stored,
    /// The bytes of the last value before the bound.
    before: Stored,
}

impl Bound {
    const fn new(value: BoundValue, field: &StoredNumber) -> Self {
        match field.bound(value) {
            Ok((at, before)) => Self { value, at, before },
            // A check at compile time reports it.
            Err(_) => Self { value, at: Stored::EMPTY, before: Stored::EMPTY },
        }
    }
}

/// The bytes of a number in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    bytes: [u8; Self::CAPACITY],
    len: usize,
}

impl Stored {
    /// A sign and the 39 digits of 128 bits; an Int64 takes 20 bytes at most.
    const CAPACITY: usize = 40;
    const EMPTY: Self = Self { bytes: [0; Self::CAPACITY], len: 0 };

    const fn bytes(&self) -> &[u8] {
        self.bytes.split_at(self.len).0
    }

    const fn push(mut self, byte: u8) -> Self {
        self.bytes[self.len] = byte;
        self.len += 1;
        self
    }

    /// `width` digits; each subtracted from 9 if `complemented`.
    const fn digits(mut self, mut value: u128, width: usize, complemented: bool) -> Self {
        let mut at = self.len + width;
        while at > self.len {
            at -= 1;
            let digit = (value % 10) as u8;
            self.bytes[at] = if complemented { b'9' - digit } else { b'0' + digit };
            value /= 10;
        }
        self.len += width;
        self
    }

    /// An Int64 of the ordered layout, with its zero bytes escaped.
    const fn int(mut self, value: i64) -> Self {
        let (bytes, len) = ordered::int_bytes(value);
        let mut at = 0;
        while at < len {
            self = self.push(bytes[at]);
            if bytes[at] == 0 {
                self = self.push(0xff);
            }
            at += 1;
        }
        self
    }
}

/// How a field stores numbers.
pub(super) struct StoredNumber {
    pub(super) layout: KeyEncoding,
    pub(super) format: Format,
    pub(super) width: Width,
    pub(super) order: FieldOrder,
}

/// Why a field cannot hold a bound.
pub(super) enum BoundFault {
    /// The field takes another kind of literal.
    Literal,
    /// The bound lies between two values.
    TooFine,
    OutOfRange,
    /// No value is less.
    First,
}

/// How a field's bounds are written.
pub(super) enum Literal {
    Time,
    Date,
    Number,
}

impl StoredNumber {
    /// How bounds of the field are written; `None` if it cannot choose the salt.
    pub(super) const fn literal(&self) -> Option<Literal> {
        if let FieldOrder::BitReversed | FieldOrder::Hashed = self.order {
            return None;
        }
        match (self.layout, self.width) {
            (KeyEncoding::Delimited, Width::Fixed(1..=Stored::CAPACITY))
            | (KeyEncoding::OrderedCode, Width::Between(1, 10)) => {}
            _ => return None,
        }
        match self.format {
            Format::UnixTime(_) | Format::DateTime17 => Some(Literal::Time),
            Format::Date => Some(Literal::Date),
            Format::Decimal | Format::SignedDecimal | Format::Int64 => Some(Literal::Number),
            _ => None,
        }
    }

    /// The bytes of a bound, and of the last value before it.
    pub(super) const fn bound(&self, value: BoundValue) -> Result<(Stored, Stored), BoundFault> {
        let step = match (self.literal(), value) {
            (Some(Literal::Time), BoundValue::Time(nanos)) => {
                let unit = match self.format {
                    Format::UnixTime(unit) => unit,
                    _ => TimeUnit::Millis,
                };
                let step = nanos.div_euclid(unit.nanos());
                if step * unit.nanos() != nanos {
                    return Err(BoundFault::TooFine);
                }
                step
            }
            (Some(Literal::Date), BoundValue::Date(days)) => days as i128,
            (Some(Literal::Number), BoundValue::Number(number)) => number,
            _ => return Err(BoundFault::Literal),
        };
        let Some(at) = self.step(step) else { return Err(BoundFault::OutOfRange) };
        let before = match step.checked_sub(1) {
            Some(before) => self.step(before),
            None => None,
        };
        match before {
            Some(before) => Ok((at, before)),
            None => Err(BoundFault::First),
        }
    }

    /// The bytes of a number, of the count of a unit, or of a day of the calendar.
    const fn step(&self, step: i128) -> Option<Stored> {
        let number = match self.format {
            Format::DateTime17 => match calendar_day(step.div_euclid(86_400_000)) {
                Some(day) => {
                    let in_day = step.rem_euclid(86_400_000);
                    let second = in_day / 1000;
                    let clock = second / 3600 * 10_000 + second / 60 % 60 * 100 + second % 60;
                    day * 1_000_000_000 + clock * 1000 + in_day % 1000
                }
                None => return None,
            },
            Format::Date => match calendar_day(step) {
                Some(day) => day,
                None => return None,
            },
            _ => step,
        };
        match self.layout {
            KeyEncoding::Delimited => self.digits(number),
            KeyEncoding::OrderedCode => self.int(number),
        }
    }

    const fn digits(&self, number: i128) -> Option<Stored> {
        let Width::Fixed(width) = self.width else { return None };
        let is_descending = matches!(self.order, FieldOrder::Descending);
        if let Format::SignedDecimal = self.format {
            // `!v` is `-1 - v`.
            let number = if is_descending { !number } else { number };
            let magnitude = if number < 0 { !number } else { number }.unsigned_abs();
            return match fits(magnitude, width - 1) {
                true if number < 0 => Some(Stored::EMPTY.push(b'-').digits(magnitude, width - 1, true)),
                true => Some(Stored::EMPTY.push(b'0').digits(magnitude, width - 1, false)),
                false => None,
            };
        }
        if number < 0 {
            return None;
        }
        let number = number.unsigned_abs();
        let written = match self.order {
            FieldOrder::ReversedFrom { max } => match max.checked_sub(number) {
                Some(written) => written,
                None => return None,
            },
            _ => number,
        };
        match fits(written, width) {
            true => Some(Stored::EMPTY.digits(written, width, is_descending)),
            false => None,
        }
    }

    const fn int(&self, number: i128) -> Option<Stored> {
        let is_int64 = number >= i64::MIN as i128 && number <= i64::MAX as i128;
        let written = match self.order {
            FieldOrder::ReversedFrom { max } if number >= 0 && number <= max as i128 => max as i128 - number,
            FieldOrder::ReversedFrom { .. } => return None,
            _ if !is_int64 => return None,
            FieldOrder::Descending => !number,
            _ => number,
        };
        match written >= i64::MIN as i128 && written <= i64::MAX as i128 {
            true => Some(Stored::EMPTY.int(written as i64)),
            false => None,
        }
    }
}

/// Whether a number has at most `digits` digits.
const fn fits(number: u128, digits: usize) -> bool {
    match 10_u128.checked_pow(digits as u32) {
        Some(limit) => number < limit,
        // Every number of 128 bits has at most 39 digits.
        None => true,
    }
}
