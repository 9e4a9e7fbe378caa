//! Why a value is not a row, or a row not the value that was asked for.

use std::error::Error;
use std::fmt::{self, Display, Write};

use bytes::Bytes;
use serde::{de, ser};

/// The error of writing a value as a row, or of reading a row as a value.
///
/// Its text names the column as `family:qualifier`, the found value, and the remedy.
/// Where the column holds JSON, [`source`](Error::source) is the error of `serde_json`.
#[derive(Debug)]
pub struct RowError {
    family: Box<str>,
    fault: Fault,
}

impl RowError {
    /// A value whose own time is so long ago that the rule of its family removes it at once.
    #[cold]
    pub(crate) fn removed_at_once(
        family: &str,
        qualifier: &[u8],
        timestamp_micros: i64,
        rule: &impl Display,
    ) -> Self {
        let fault = Fault::unsupported(format_args!(
            "has the timestamp {timestamp_micros}, in microseconds since the epoch, and would be gone at once: by this \
             machine's clock, the garbage collection rule of its family removes it, as it is `{rule}`; leave it out, give \
             it a later timestamp, or keep the family's cells for longer"
        ));
        fault.in_column(qualifier).in_family(family)
    }

    /// Whether the row has no cell in a column that the row type needs.
    #[must_use]
    pub fn is_missing_column(&self) -> bool {
        self.fault.0.kind == Kind::MissingColumn
    }

    /// Whether a column's value does not decode as its field's type.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.fault.0.kind == Kind::Malformed
    }

    /// Whether the row type, or a value in it, cannot be stored as columns.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        self.fault.0.kind == Kind::Unsupported
    }
}

impl RowError {
    /// The text without values, for logs that must not have them. It names the column.
    #[must_use = "it is a text, to be printed"]
    pub fn redacted(&self) -> impl Display + '_ {
        fmt::from_fn(|f| {
            self.write_place(f)?;
            f.write_str(match self.fault.0.kind {
                Kind::MissingColumn | Kind::Duplicate | Kind::NoOption => return write!(f, "{}", self.fault),
                Kind::Malformed => " does not hold a value of its field's type",
                Kind::Unsupported => " cannot be stored, or not be read back",
                Kind::Rejected => " was rejected by the row type",
            })
        })
    }

    fn write_place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, fault } = self;
        let family = fault.0.family.as_deref().unwrap_or(family);
        match &fault.0.column {
            Some(qualifier) => write!(f, "column `{family}:{}`", Text(qualifier)),
            None => write!(f, "the row in family `{family}`"),
        }
    }
}

impl Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_place(f)?;
        write!(f, "{}", self.fault)
    }
}

impl Error for RowError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.fault.0.source.as_ref().map(|source| source as _)
    }
}

/// The error inside serde, which knows the column but not the family.
///
/// It is not [`RowError`] itself, so that serde's constructors are no part of the public API.
#[derive(Debug)]
pub(super) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    /// Where it is another one than that of the row's own columns.
    family: Option<Box<str>>,
    column: Option<Bytes>,
    /// What follows the column's name in the text.
    message: String,
    /// The text or the bytes that the field did not take.
    found: Option<(Box<[u8]>, Takes)>,
    source: Option<serde_json::Error>,
}

/// What is done about numbers in flattened fields.
pub(super) const MARK_NUMBERS: &str = "mark a number or a `bool` there with \
     `#[serde(with = \"keyderive::row::flattened\")]`, and the numbers of a map by a type of their own, \
     `struct Count(#[serde(with = \"keyderive::row::flattened\")] i64)`";

/// What a field takes that did not take a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    OtherTexts,
    NoText,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    MissingColumn,
    Malformed,
    Unsupported,
    /// What the row type itself objects to.
    Rejected,
    /// A field comes a second time.
    Duplicate,
    /// A field is given as a `None` and is no option.
    NoOption,
}

impl Fault {
    #[cold]
    fn new(kind: Kind, message: String) -> Self {
        Self(Box::new(Inner { kind, family: None, column: None, message, found: None, source: None }))
    }

    /// The type, or the value, has no form as columns; `message` follows the column's name.
    pub(super) fn unsupported(message: impl Display) -> Self {
        Self::new(Kind::Unsupported, format!(" {message}"))
    }

    /// This row has no form as the row type, which other rows have; `message` follows the column's name.
    pub(super) fn rejected(message: impl Display) -> Self {
        Self::new(Kind::Rejected, format!(" {message}"))
    }

    /// The row type is none that a row is read as.
    pub(super) fn no_row() -> Self {
        Self::unsupported(
            "is read into a type that is neither a struct, nor a map with string keys, nor `()`; make it the field of a \
             struct, an enum or a `serde_json::Value` with `#[serde(with = \"keyderive::row::json\")]`",
        )
    }

    /// The column is read without a type.
    pub(super) fn untyped() -> Self {
        Self::unsupported(
            "is read without a type, but stored bytes have no type; give the field a concrete type instead of a tagged \
             or untagged enum or `serde_json::Value`, or store it as JSON with \
             `#[serde(with = \"keyderive::row::json\")]`, in a map through a newtype with this attribute on its field; \
             and do not flatten into a struct that is a family",
        )
    }

    /// The column holds `found`, which is not what its field is stored as.
    #[cold]
    pub(super) fn malformed(found: impl Display, expected: impl Display) -> Self {
        Self::new(Kind::Malformed, format!(" holds {found}; {expected}"))
    }

    fn unexpected(found: de::Unexpected<'_>, expected: &dyn de::Expected, takes: Takes) -> Self {
        let value = match found {
            de::Unexpected::Str(text) => Some(text.as_bytes()),
            de::Unexpected::Bytes(bytes) => Some(bytes),
            _ => None,
        };
        let expected = format_args!("the field expects {expected}");
        let mut fault = match found {
            de::Unexpected::Bytes(bytes) => Self::malformed(Hex(bytes), expected),
            _ => Self::malformed(found, expected),
        };
        fault.0.found = value.map(|value| (value.into(), takes));
        fault
    }

    /// The column holds JSON that does not parse as its field.
    pub(super) fn malformed_json(value: &[u8], source: serde_json::Error) -> Self {
        let message = format!(" holds {}, which is not its field as JSON: {source}", Excerpt(value));
        Self::new(Kind::Malformed, message).caused_by(source)
    }

    /// The value cannot be written as JSON.
    pub(super) fn unwritable_json(source: serde_json::Error) -> Self {
        Self::unsupported(format_args!("cannot be written as JSON: {source}")).caused_by(source)
    }

    /// Says which column it is about, unless that is known already.
    #[cold]
    pub(super) fn in_column(mut self, qualifier: &[u8]) -> Self {
        if self.0.family.is_none() {
            self.0.column.get_or_insert_with(|| Bytes::copy_from_slice(qualifier));
        }
        self
    }

    /// Says that it is about a family of its own, unless that is known already.
    #[cold]
    pub(super) fn of_family(mut self, family: &str) -> Self {
        self.0.family.get_or_insert_with(|| family.into());
        self
    }

    /// The name of the column that is missing, where one is.
    pub(super) fn missing_column(&self) -> Option<&[u8]> {
        let Inner { kind, family, column, .. } = &*self.0;
        column.as_deref().filter(|_| *kind == Kind::MissingColumn && family.is_none())
    }

    /// The value of an unknown column that its field did not take.
    pub(super) fn untyped_value(&self) -> Option<&[u8]> {
        let Inner { column, found, .. } = &*self.0;
        found.as_ref().map(|(value, _)| &**value).filter(|_| column.is_none())
    }

    /// Says that it is about a column that was read before it was known as what.
    pub(super) fn of_untyped(mut self, family: &str, qualifier: &[u8]) -> Self {
        self.0.family = Some(family.into());
        self.0.column = Some(Bytes::copy_from_slice(qualifier));
        if matches!(self.0.found, Some((_, Takes::OtherTexts))) {
            return self;
        }
        self.0.kind = Kind::Unsupported;
        self.0.message.push_str("; serde reads flattened fields before it knows their types, as text: ");
        self.0.message.push_str(MARK_NUMBERS);
        self
    }

    #[cold]
    pub(super) fn in_family(self, family: &str) -> RowError {
        RowError { family: family.into(), fault: self }
    }

    /// The field of which a second column came, with the family that it is in.
    pub(super) fn duplicate(&self) -> Option<(Option<&str>, &[u8])> {
        let Inner { kind, family, column, .. } = &*self.0;
        column.as_deref().filter(|_| *kind == Kind::Duplicate).map(|column| (family.as_deref(), column))
    }

    /// A column that is absent was given as a `None`, and the field is no option.
    pub(super) fn no_option() -> Self {
        Self::new(Kind::NoOption, " is absent, and its field is no `Option`".to_owned())
    }

    pub(super) fn is_no_option(&self) -> bool {
        self.0.kind == Kind::NoOption
    }

    /// Says which column was the second one.
    pub(super) fn under(mut self, second: &str) -> Self {
        self.0.message.push_str(&format!(": the second one is `{second}`"));
        self
    }

    fn caused_by(mut self, source: serde_json::Error) -> Self {
        self.0.source = Some(source);
        self
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for Fault {}

impl ser::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(Kind::Rejected, format!(": {message}"))
    }
}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        ser::Error::custom(message)
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::unexpected(found, expected, Takes::NoText)
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::unexpected(found, expected, Takes::OtherTexts)
    }

    fn invalid_length(length: usize, expected: &dyn de::Expected) -> Self {
        Self::malformed(format_args!("{length} elements"), format_args!("the field expects {expected}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::malformed(
            format_args!("the variant {}", Excerpt(variant.as_bytes())),
            format_args!("the variants are {}", Names(expected)),
        )
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = format!(" is unknown to the row type; its columns are {}", Names(expected));
        Self::new(Kind::Rejected, message).in_column(field.as_bytes())
    }

    fn missing_field(field: &'static str) -> Self {
        let message = " is missing; make the field an `Option`, give it `#[serde(default)]`, or leave such rows out of scans \
                       with `.on_unreadable(OnUnreadable::Skip)`";
        Self::new(Kind::MissingColumn, message.to_owned()).in_column(field.as_bytes())
    }

    fn duplicate_field(field: &'static str) -> Self {
        let message = " is there under two names of its field; delete one of the two columns with \
                       `table.update(&key).delete(\"…\")`";
        Self::new(Kind::Duplicate, message.to_owned()).in_column(field.as_bytes())
    }
}

/// Names in backticks, with commas.
pub(super) struct Names(pub(super) &'static [&'static str]);

impl Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (index, name) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{name}`")?;
        }
        Ok(())
    }
}

/// How much of a value an error shows, in bytes.
const SHOWN: usize = 32;

/// The length of a value and its first bytes in hex.
pub(super) struct Hex<'a>(pub(super) &'a [u8]);

impl Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            0 => return f.write_str("no bytes"),
            1 => f.write_str("1 byte, `")?,
            length => write!(f, "{length} bytes, `")?,
        }
        for byte in self.0.iter().take(SHOWN) {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(ellipsis(self.0))?;
        f.write_str("`")
    }
}

/// The start of a value that is meant to be text.
pub(super) struct Excerpt<'a>(pub(super) &'a [u8]);

impl Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no bytes");
        }
        let shown = &self.0[..self.0.len().min(SHOWN)];
        write!(f, "`{}{}`", Text(shown), ellipsis(self.0))
    }
}

/// Bytes as text, with escapes for what is not text or would break the line.
struct Text<'a>(&'a [u8]);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for char in chunk.valid().chars() {
                if char.is_control() { write!(f, "{}", char.escape_debug())? } else { f.write_char(char)? }
            }
            write!(f, "{}", chunk.invalid().escape_ascii())?;
        }
        Ok(())
    }
}

fn ellipsis(value: &[u8]) -> &'static str {
    if value.len() > SHOWN { "…" } else { "" }
}
