//! Salts from a date on: which salt a key has, by its own time.
//!
//! The time lies at one distance from the right end of a key in every epoch, so its stored bytes are found before anything
//! else is known, and compared with those of the bounds. The epoch's layout is then the only one that decides.

use std::fmt;

use serde::{Serialize, Serializer};

use super::codec::{DAY, calendar_day, write_utc};
use super::format::{FieldOrder, Format, Layout, TimeUnit, Width};
use super::ordered::{self, SEPARATOR};
use super::salt::{Bucket, Salt, SaltPlace, Span};
use super::schema::{ConstText, Schema};

/// A salt that the keys have whose time is a bound or later: one `#[salt(…, since(…))]`.
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
        layout: Layout,
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
    #[cfg(feature = "client")]
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
struct Stored {
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
struct StoredNumber {
    layout: Layout,
    format: Format,
    width: Width,
    order: FieldOrder,
}

/// Why a field cannot hold a bound.
enum BoundFault {
    /// The field takes another kind of literal.
    Literal,
    /// The bound lies between two values.
    TooFine,
    OutOfRange,
    /// No value is less.
    First,
}

/// What a field's bounds are written as.
enum Literal {
    Time,
    Date,
    Number,
}

impl StoredNumber {
    /// What bounds of the field are written as; `None` if it cannot choose the salt.
    const fn literal(&self) -> Option<Literal> {
        if let FieldOrder::BitReversed | FieldOrder::Hashed = self.order {
            return None;
        }
        match (self.layout, self.width) {
            (Layout::Delimited, Width::Fixed(1..=Stored::CAPACITY))
            | (Layout::OrderedCode, Width::Between(1, 10)) => {}
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
    const fn bound(&self, value: BoundValue) -> Result<(Stored, Stored), BoundFault> {
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
            Layout::Delimited => self.digits(number),
            Layout::OrderedCode => self.int(number),
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

/// Whether a number has at most so many digits.
const fn fits(number: u128, digits: usize) -> bool {
    match 10_u128.checked_pow(digits as u32) {
        Some(limit) => number < limit,
        // Every number of 128 bits has at most 39 digits.
        None => true,
    }
}

/// Epochs are counted from 0, the first, which has the salt of a `#[salt]` without `since` or none.
impl Schema {
    /// The salt of the keys of an epoch.
    #[inline]
    pub(crate) const fn salt_of(&self, epoch: usize) -> Option<&Salt> {
        match epoch.checked_sub(1) {
            None => self.salt(),
            Some(later) => Some(&self.epochs()[later].salt),
        }
    }

    /// Whether the salt depends on the time of a key.
    #[inline]
    pub(crate) const fn has_epochs(&self) -> bool {
        !self.epochs().is_empty()
    }

    /// How many epochs there are; 1 without a `since`.
    pub(crate) const fn epoch_count(&self) -> usize {
        self.epochs().len() + 1
    }

    /// The salt of the first epoch that has one. All salts of a key type have its place and its separator.
    #[inline]
    pub(crate) const fn first_salt(&self) -> Option<&Salt> {
        match self.salt() {
            None if self.has_epochs() => self.salt_of(1),
            salt => salt,
        }
    }

    /// The salts of all epochs.
    pub(crate) fn salts(&self) -> impl Iterator<Item = Option<&Salt>> {
        (0..self.epoch_count()).map(|epoch| self.salt_of(epoch))
    }

    /// Every bucket of every epoch, each once, in order.
    pub(crate) fn all_buckets(&self) -> Vec<Bucket> {
        let of_salt = |salt: &Salt| {
            let salt = *salt;
            salt.buckets().map(move |number| self.numbered(&salt, number))
        };
        let mut buckets: Vec<_> = self.salts().flatten().flat_map(of_salt).collect();
        buckets.sort_unstable();
        buckets.dedup();
        buckets
    }

    /// The epoch of keys that store these bytes for the field of the bounds.
    #[inline]
    pub(crate) fn epoch_at(&self, stored: &[u8]) -> usize {
        let is_reversed = self.counts_down();
        let reached = |epoch: &Epoch| match is_reversed {
            true => stored <= epoch.stored_since(),
            false => stored >= epoch.stored_since(),
        };
        self.epochs().iter().rposition(reached).map_or(0, |at| at + 1)
    }

    /// The first and the last epoch of keys that store at least `from` for the field of the bounds, and less than `to`.
    pub(crate) fn epochs_between(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> (usize, usize) {
        let last = self.epochs().len();
        let count = |holds: &dyn Fn(&Bound) -> bool| {
            self.epochs().iter().take_while(|epoch| holds(&epoch.bound)).count()
        };
        // Reversed bytes begin with the last epoch. The bytes less than `to` are those of an epoch or later ones if
        // they exclude the last value before it.
        let (first, last) = match self.counts_down() {
            true => (
                to.map_or(0, |to| count(&|bound| bound.before.bytes() >= to)),
                from.map_or(last, |from| count(&|bound| bound.at.bytes() >= from)),
            ),
            false => (
                from.map_or(0, |from| count(&|bound| bound.at.bytes() <= from)),
                to.map_or(last, |to| count(&|bound| bound.at.bytes() < to)),
            ),
        };
        (first.min(last), last)
    }

    /// Whether the bytes of the field of the bounds sort from the latest value on.
    fn counts_down(&self) -> bool {
        self.fields().get(self.epoch_field()).is_some_and(|field| field.order().is_reversed())
    }

    /// The epoch of a stored key; the first one for a key that is too short to have a time, which is of no epoch.
    pub(crate) fn epoch_in(&self, key: &[u8]) -> usize {
        match self.has_epochs() {
            true => self.time_in(key).map_or(0, |stored| self.epoch_at(stored)),
            false => 0,
        }
    }

    /// The epoch of a key whose fields lie at `spans`.
    #[inline]
    pub(crate) fn epoch_of_fields(&self, key: &[u8], spans: &[Span]) -> usize {
        let Span { start, end } = spans.get(self.epoch_field()).copied().unwrap_or_default();
        if self.has_epochs() { self.epoch_at(&key[start..end]) } else { 0 }
    }

    /// What a key stores for the field of the bounds, found from its right end.
    fn time_in<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        let after = self.fields().get(self.epoch_field() + 1..)?;
        match self.layout() {
            Layout::Delimited => {
                let after: usize = after.iter().map(|field| field.width().min() + 1).sum();
                let end = key.len().checked_sub(after)?;
                let width = self.fields().get(self.epoch_field())?.width().min();
                key.get(end.checked_sub(width)?..end)
            }
            Layout::OrderedCode => {
                // No escape ends with the bytes of a separator, so the last one is found from the right.
                let last_separator = |end: usize| key[..end].windows(2).rposition(|two| two == SEPARATOR);
                let end = after.iter().try_fold(key.len(), |end, _| last_separator(end))?;
                let start = last_separator(end).map_or(0, |at| at + SEPARATOR.len());
                Some(&key[start..end])
            }
        }
    }

    /// The epochs in words: `no salt; 4 since 2026-06-01T00:00:00Z`.
    pub(crate) fn epoch_words(&self, epoch: usize) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            match self.salt_of(epoch) {
                None => f.write_str("no salt")?,
                Some(salt) => write!(f, "{}", salt.range())?,
            }
            match epoch.checked_sub(1).and_then(|later| self.epochs().get(later)) {
                None => Ok(()),
                Some(epoch) => write!(f, " since {}", epoch.since()),
            }
        })
    }
}

/// Checks at compile time: each panics with the text of the compiler's error.
#[allow(clippy::panic)] // Evaluated at compile time only.
impl Schema {
    const fn epoch_number(&self) -> StoredNumber {
        let field = &self.fields()[self.epoch_field()];
        StoredNumber {
            layout: self.layout(),
            format: field.format(),
            width: field.width(),
            order: field.order(),
        }
    }

    /// Fails the build if the field of the bounds is no number, time or date.
    #[doc(hidden)]
    #[track_caller]
    pub const fn assert_epoch_field(&self) {
        let field = &self.fields()[self.epoch_field()];
        if self.epoch_number().literal().is_none() {
            let text = ConstText::new()
                .text("`since` needs a number, a time or a date, and `")
                .text(field.name())
                .text("` is stored as ")
                .text(field.format().name())
                .text("; name the field that holds the time");
            panic!("{}", text.as_str());
        }
    }

    /// Fails the build if the field of the bounds cannot hold one.
    #[doc(hidden)]
    #[track_caller]
    pub const fn assert_bound(&self, later: usize) {
        let field = &self.fields()[self.epoch_field()];
        let number = self.epoch_number();
        let Some(literal) = number.literal() else { return };
        let Err(fault) = number.bound(self.epochs()[later].bound.value) else { return };
        let name = ConstText::new().text("`").text(field.name());
        let text = match (fault, literal) {
            (BoundFault::Literal, Literal::Time) => name
                .text("` is a time, so its bound is one; write RFC 3339, such as \"2026-12-01T00:00:00Z\""),
            (BoundFault::Literal, Literal::Date) => {
                name.text("` is a date, so its bound is one; write it as \"2026-12-01\"")
            }
            (BoundFault::Literal, Literal::Number) => {
                name.text("` is a number, so its bound is one; write it without quotes, such as 1796083200")
            }
            (BoundFault::TooFine, _) => name
                .text("` is stored as ")
                .text(field.format().name())
                .text(", and this bound is finer; write one that the field can store"),
            (BoundFault::OutOfRange, _) => {
                name.text("` cannot hold this bound; write one that the field can store")
            }
            (BoundFault::First, _) => name.text(
                "` holds nothing before this bound, so every key would have this salt; write a later bound, or one salt \
                 without `since`",
            ),
        };
        panic!("{}", text.as_str());
    }

    /// Fails the build if a field after that of the bounds has no fixed width, or can be dropped.
    #[doc(hidden)]
    #[track_caller]
    pub const fn assert_after_epoch_field(&self, at: usize) {
        let (field, time) = (&self.fields()[at], &self.fields()[self.epoch_field()]);
        let name = ConstText::new()
            .text("`")
            .text(field.name())
            .text("` stands after `")
            .text(time.name())
            .text("`, which is found from the right end of the key, before its salt is known, so ");
        let text = match (self.layout(), field.width()) {
            (Layout::Delimited, Width::Fixed(_)) => return,
            (Layout::Delimited, _) => name
                .text("it needs a fixed width; give it one, such as by `#[pad(n)]`, or move it before `")
                .text(time.name())
                .text("`"),
            (Layout::OrderedCode, width) if width.min() > 0 => return,
            (Layout::OrderedCode, _) => {
                name.text("it must not be empty; move it before `").text(time.name()).text("`")
            }
        };
        panic!("{}", text.as_str());
    }

    /// Fails the build if a key without a salt can begin like the buckets of an epoch.
    #[doc(hidden)]
    #[track_caller]
    pub const fn assert_heads_apart(&self, later: usize) {
        let salt = &self.epochs()[later].salt;
        if self.salt().is_some() {
            // Buckets of another number of digits differ before the separator, which begins with no digit.
            return;
        }
        if let Layout::OrderedCode = self.layout() {
            let field = &self.fields()[0];
            let is_text = matches!(field.format(), Format::Utf8);
            if is_text && salt.range() <= 64 {
                return;
            }
            let text = ConstText::new();
            let text = match is_text {
                true => text.text(
                    "keys before the first bound have no salt, and text can begin like a bucket above 63; write a `range` of 64 or \
                     less",
                ),
                false => text
                    .text("keys before the first bound have no salt, and begin with `")
                    .text(field.name())
                    .text("`, whose bytes can be those of a bucket; copy the rows to a table of another key type"),
            };
            panic!("{}", text.as_str());
        }
        let sep = self.salt_end(salt);
        if let (SaltPlace::Front, Some(tag)) = (salt.place(), self.tag()) {
            if !self.begins_like_head(tag, salt, sep) {
                return;
            }
            let text = ConstText::new()
                .text("keys before the first bound have no salt, and their tag `")
                .text(tag)
                .text("` begins like a bucket; write another `sep`, such as `sep = \"!\"`");
            panic!("{}", text.as_str());
        }
        let field = &self.fields()[salt.fields_before()];
        let below_delimiter = sep[0] < self.delimiter();
        let begins_apart = match (field.format(), field.width()) {
            (Format::Custom(_) | Format::PaddedUtf8, Width::Fixed(_)) => false,
            (format, Width::Fixed(width)) => {
                !can_hold(format, sep[0]) && (width != salt.width() || sep[0] != self.delimiter())
            }
            // A delimited field holds no byte at or below the delimiter.
            _ => below_delimiter,
        };
        if begins_apart {
            return;
        }
        let name = ConstText::new()
            .text("keys before the first bound have no salt, and `")
            .text(field.name())
            .text("` can begin like a bucket and what follows it; ");
        let text = match (field.format(), field.width()) {
            (Format::Custom(_) | Format::PaddedUtf8, Width::Fixed(_)) => name
                .text("put the salt before another field, or copy the rows to a table of another key type"),
            _ if self.delimiter() > b'!' => {
                name.text("write a `sep` that begins below the delimiter, such as `sep = \"!\"`")
            }
            _ => name.text("write a `sep` that begins below the delimiter, such as `sep = \" \"`"),
        };
        panic!("{}", text.as_str());
    }

    /// Whether a tag and its delimiter begin like a bucket and its separator, as far as both reach.
    const fn begins_like_head(&self, tag: &str, salt: &Salt, sep: &[u8]) -> bool {
        let tag = tag.as_bytes();
        let mut at = 0;
        while at <= tag.len() && at < salt.width() + sep.len() {
            let byte = if at < tag.len() { tag[at] } else { self.delimiter() };
            let is_same =
                if at < salt.width() { byte.is_ascii_digit() } else { byte == sep[at - salt.width()] };
            if !is_same {
                return false;
            }
            at += 1;
        }
        true
    }
}

/// Whether a field of a fixed width can hold a byte.
const fn can_hold(format: Format, byte: u8) -> bool {
    match format {
        Format::Decimal | Format::Bool | Format::UnixTime(_) | Format::DateTime17 | Format::Date => {
            byte.is_ascii_digit()
        }
        Format::SignedDecimal => byte.is_ascii_digit() || byte == b'-',
        Format::Hex | Format::Md5 | Format::UuidSimple => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        Format::Uuid => matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'),
        _ => true,
    }
}
