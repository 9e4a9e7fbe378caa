//! Salts from a date on: which salt a key has, by its own time.
//!
//! In every epoch, the time is equally far from the right end of the key. Decoding finds its stored bytes first, compares
//! them with the stored bytes of the bounds, which gives the epoch, and then reads the key by the layout of that epoch alone.

use std::fmt;

use super::super::epoch::{BoundFault, Epoch, Literal, StoredNumber};
use super::super::format::{Format, KeyEncoding, Width};
use super::super::ordered::SEPARATOR;
use super::super::salt::{Bucket, Salt, SaltPlace, Span};
use super::{ConstText, KeySchema};

/// Epochs are counted from 0, the first, which has the salt of a `#[salt]` without `since` or none.
impl KeySchema {
    /// The salt of the keys of an epoch.
    #[inline]
    pub(crate) const fn salt_of(&self, epoch: usize) -> Option<&Salt> {
        match epoch.checked_sub(1) {
            None => self.salt(),
            Some(later) => Some(self.epochs()[later].salt()),
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

    /// Whether the salt has the same length in all keys.
    pub(crate) const fn has_salt_of_known_len(&self) -> bool {
        match self.first_salt() {
            Some(salt) => salt.is_padded() && !self.has_epochs(),
            None => false,
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
        let count =
            |holds: &dyn Fn(&Epoch) -> bool| self.epochs().iter().take_while(|epoch| holds(epoch)).count();
        // Reversed bytes begin with the last epoch. The bytes less than `to` belong to an epoch or a later one if
        // they exclude the last value before it.
        let (first, last) = match self.counts_down() {
            true => (
                to.map_or(0, |to| count(&|epoch| epoch.stored_before() >= to)),
                from.map_or(last, |from| count(&|epoch| epoch.stored_since() >= from)),
            ),
            false => (
                from.map_or(0, |from| count(&|epoch| epoch.stored_since() <= from)),
                to.map_or(last, |to| count(&|epoch| epoch.stored_since() < to)),
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
            KeyEncoding::Delimited => {
                let after: usize = after.iter().map(|field| field.width().min() + 1).sum();
                let end = key.len().checked_sub(after)?;
                let width = self.fields().get(self.epoch_field())?.width().min();
                key.get(end.checked_sub(width)?..end)
            }
            KeyEncoding::OrderedCode => {
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

/// The rules of salts from a date on: the fault of a schema that breaks one.
impl KeySchema {
    const fn epoch_number(&self) -> StoredNumber {
        let field = &self.fields()[self.epoch_field()];
        StoredNumber {
            layout: self.layout(),
            format: field.format(),
            width: field.width(),
            order: field.order(),
        }
    }

    /// The field of the bounds is a number, a time or a date.
    pub(super) const fn fault_of_epoch_field(&self) -> Option<ConstText> {
        let field = &self.fields()[self.epoch_field()];
        if self.epoch_number().literal().is_none() {
            let text = ConstText::new()
                .text("`since` needs a number, a time or a date, and `")
                .text(field.name())
                .text("` is stored as ")
                .text(field.format().name())
                .text("; name the field that holds the time");
            return Some(text);
        }
        None
    }

    /// The field of the bounds can hold each of them.
    pub(super) const fn fault_of_bound(&self, later: usize) -> Option<ConstText> {
        let field = &self.fields()[self.epoch_field()];
        let number = self.epoch_number();
        let Some(literal) = number.literal() else { return None };
        let Err(fault) = number.bound(self.epochs()[later].since()) else { return None };
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
        Some(text)
    }

    /// A field after the one with the bounds has a fixed width, and is not dropped.
    pub(super) const fn fault_of_after_epoch_field(&self, at: usize) -> Option<ConstText> {
        let (field, time) = (&self.fields()[at], &self.fields()[self.epoch_field()]);
        let name = ConstText::new()
            .text("`")
            .text(field.name())
            .text("` stands after `")
            .text(time.name())
            .text("`, which is found from the right end of the key, before its salt is known, so ");
        let text = match (self.layout(), field.width()) {
            (KeyEncoding::Delimited, Width::Fixed(_)) => return None,
            (KeyEncoding::Delimited, _) => name
                .text("it needs a fixed width; give it one, such as by `#[pad(n)]`, or move it before `")
                .text(time.name())
                .text("`"),
            (KeyEncoding::OrderedCode, width) if width.min() > 0 => return None,
            (KeyEncoding::OrderedCode, _) => {
                name.text("it must not be empty; move it before `").text(time.name()).text("`")
            }
        };
        Some(text)
    }

    /// No key without a salt begins like the buckets of an epoch.
    pub(super) const fn fault_of_heads_apart(&self, later: usize) -> Option<ConstText> {
        let salt = self.epochs()[later].salt();
        if self.salt().is_some() {
            // Buckets of another number of digits differ before the separator, which begins with no digit.
            return None;
        }
        if let KeyEncoding::OrderedCode = self.layout() {
            let field = &self.fields()[0];
            let is_text = matches!(field.format(), Format::Utf8);
            if is_text && salt.range() <= 64 {
                return None;
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
            return Some(text);
        }
        let sep = self.salt_end(salt);
        if let (SaltPlace::Front, Some(tag)) = (salt.place(), self.tag()) {
            if !self.begins_like_head(tag, salt, sep) {
                return None;
            }
            let text = ConstText::new()
                .text("keys before the first bound have no salt, and their tag `")
                .text(tag)
                .text("` begins like a bucket; write another `sep`, such as `sep = \"!\"`");
            return Some(text);
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
            return None;
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
        Some(text)
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

/// Checks at compile time: each panics with the text of the compiler's error.
#[allow(clippy::panic)] // Evaluated at compile time only.
impl KeySchema {
    #[doc(hidden)]
    #[track_caller]
    pub const fn assert_epoch_field(&self) {
        if let Some(text) = self.fault_of_epoch_field() {
            panic!("{}", text.as_str());
        }
    }

    #[doc(hidden)]
    #[track_caller]
    pub const fn assert_bound(&self, later: usize) {
        if let Some(text) = self.fault_of_bound(later) {
            panic!("{}", text.as_str());
        }
    }

    #[doc(hidden)]
    #[track_caller]
    pub const fn assert_after_epoch_field(&self, at: usize) {
        if let Some(text) = self.fault_of_after_epoch_field(at) {
            panic!("{}", text.as_str());
        }
    }

    #[doc(hidden)]
    #[track_caller]
    pub const fn assert_heads_apart(&self, later: usize) {
        if let Some(text) = self.fault_of_heads_apart(later) {
            panic!("{}", text.as_str());
        }
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
