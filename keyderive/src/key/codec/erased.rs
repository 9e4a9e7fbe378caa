//! The codecs of fields whose schema is data: over the functions that the typed codecs call.
//!
//! A codec is found by the format, the width, the order and the values that a [`Field`] has. Two typed codecs that agree in all of these,
//! such as `#[reverse_ts(max = 9999)]` and `#[row_key(desc)] #[pad(4)]`, write, read and refuse the same, and are one here.

use std::borrow::Cow;
use std::fmt::{self, Display};

use super::super::decimal;
use super::super::encode::Part;
use super::super::fast::{KeyBuf, append_to, holds_forbidden};
use super::super::field::{Cut, FieldError, KeyField, PrefixField, RangeField, Side};
use super::super::format::{Field, FieldOrder, FieldValues, Format, KeyEncoding, Width};
use super::super::show::Hex;
use super::super::value::{Value, ValueRef};
use super::bytes::{BytesCodec, other_len};
use super::code::{BoolCodec, Codes};
use super::integer::{Integer, greatest_of, not_padded};
use super::string::{StrCodec, cut_padded, one_char, padded_prefix_cuts, read_padded, write_padded};
use super::time::Scale;
use super::uuid::{UuidForm, check_v4};
use super::{BitReverse, Desc, Escape, Ordered, Text};

/// The codec of a field, by value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErasedCodec {
    form: Form,
    width: Width,
    order: FieldOrder,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Integer(IntegerType, IntegerForm),
    Bool {
        is_ordered: bool,
    },
    Char(TextForm),
    Text(TextForm),
    Bytes {
        is_hex: bool,
        len: Option<usize>,
    },
    Code(Codes),
    /// The Int64 of a code.
    CodeInt(Codes),
    Time(Scale),
    Date(Scale),
    Uuid {
        form: UuidForm,
        is_v4: bool,
    },
    /// What a module or a type of the user's own writes: bytes.
    Custom,
}

#[derive(Clone, Copy, Debug)]
enum IntegerForm {
    /// The type's own.
    Plain,
    Descending,
    BitReversed,
    /// A width of digits.
    Padded {
        width: usize,
        is_descending: bool,
    },
    /// `max - v`.
    Reversed {
        max: u64,
    },
    Int64,
    Int64Descending,
    Int64Reversed {
        max: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum TextForm {
    Plain,
    Escaped,
    Padded(usize),
}

macro_rules! integer_types {
    ($($name:ident $type:ident,)*; $($short:ident)*) => {
        #[derive(Clone, Copy, Debug)]
        enum IntegerType {
            $($name,)*
        }

        impl IntegerType {
            /// The type with these limits, and how many digits its own format has.
            fn with_limits(min: i128, max: u128) -> Option<Self> {
                $(if min == <$type as Integer>::MIN && max == <$type as Integer>::MAX {
                    return Some(Self::$name);
                })*
                None
            }
        }

        /// The expression with the type that a value names.
        macro_rules! with_integer {
            ($of:expr, $T:ident => $body:expr) => {
                match $of {
                    $(IntegerType::$name => {
                        type $T = $type;
                        $body
                    })*
                }
            };
        }

        /// The same for the types of at most 64 bits, which the ordered layout has; `None` for the others.
        macro_rules! with_short_integer {
            ($of:expr, $T:ident => $body:expr) => {
                match $of {
                    $(IntegerType::$short => {
                        type $T = short_types::$short;
                        Some($body)
                    })*
                    IntegerType::U128 | IntegerType::I128 => None,
                }
            };
        }
    };
}

mod short_types {
    pub(super) type U8 = u8;
    pub(super) type U16 = u16;
    pub(super) type U32 = u32;
    pub(super) type U64 = u64;
    pub(super) type I8 = i8;
    pub(super) type I16 = i16;
    pub(super) type I32 = i32;
    pub(super) type I64 = i64;
}

integer_types! {
    U8 u8, U16 u16, U32 u32, U64 u64, U128 u128, I8 i8, I16 i16, I32 i32, I64 i64, I128 i128,;
    U8 U16 U32 U64 I8 I16 I32 I64
}

/// A value as a codec reads it: borrowed from the key, unless the key has other bytes for it than the value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ReadValue<'k> {
    Borrowed(ValueRef<'k>),
    Text(String),
    Bytes(Vec<u8>),
}

impl ReadValue<'_> {
    /// What a value is read into.
    pub(crate) const EMPTY: Self = Self::Borrowed(ValueRef::Bytes(&[]));

    #[inline]
    pub(crate) fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Borrowed(value) => *value,
            Self::Text(text) => ValueRef::Text(text),
            Self::Bytes(bytes) => ValueRef::Bytes(bytes),
        }
    }

    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Borrowed(value) => value.to_value(),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

impl<'k> From<Cow<'k, str>> for ReadValue<'k> {
    #[inline]
    fn from(text: Cow<'k, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Borrowed(ValueRef::Text(text)),
            Cow::Owned(text) => Self::Text(text),
        }
    }
}

impl<'k> From<Cow<'k, [u8]>> for ReadValue<'k> {
    #[inline]
    fn from(bytes: Cow<'k, [u8]>) -> Self {
        match bytes {
            Cow::Borrowed(bytes) => Self::Borrowed(ValueRef::Bytes(bytes)),
            Cow::Owned(bytes) => Self::Bytes(bytes),
        }
    }
}

/// A number of the text layout is at most as wide as a key.
const MAX_WIDTH: usize = super::super::MAX_KEY_LEN;

/// Which codec a field has.
impl ErasedCodec {
    /// The codec of a field.
    ///
    /// # Errors
    /// If no codec has this format, width, order and values.
    pub(crate) fn of(field: &Field, layout: KeyEncoding) -> Result<Self, FieldError> {
        let (format, width, order) = (field.format(), field.width(), field.order());
        let is_ordered = layout == KeyEncoding::OrderedCode;
        let form = match field.values() {
            FieldValues::Integer { min, max } => IntegerType::with_limits(min, max)
                .and_then(|of| Some(Form::Integer(of, Self::integer_form(of, field, is_ordered)?))),
            FieldValues::Bool => {
                let expected = if is_ordered { Format::BoolInt64 } else { Format::Bool };
                let has_order = matches!(order, FieldOrder::Ascending | FieldOrder::Descending);
                (format == expected && width == Width::Fixed(1) && has_order)
                    .then_some(Form::Bool { is_ordered })
            }
            FieldValues::Char => Self::text_form(field, is_ordered)
                .filter(|form| !matches!(form, TextForm::Padded(_)))
                .map(Form::Char),
            FieldValues::Text => Self::text_form(field, is_ordered).map(Form::Text),
            FieldValues::Bytes => Self::bytes_form(field, is_ordered),
            FieldValues::Codes(codes) => {
                let codes = Codes { name: field.rust_type(), codes };
                let is_ascending = order == FieldOrder::Ascending && !codes.codes.is_empty();
                match (format, width, is_ordered) {
                    (Format::Decimal, Width::Fixed(width), false)
                        if is_ascending && width == codes.width() =>
                    {
                        Some(Form::Code(codes))
                    }
                    (Format::Int64, Width::Between(1, 10), true) if is_ascending => {
                        Some(Form::CodeInt(codes))
                    }
                    _ => None,
                }
            }
            FieldValues::Time { exact } => Scale::of_time(format, order, exact, is_ordered)
                .filter(|scale| scale.width() == width)
                .map(Form::Time),
            FieldValues::Date => (format == Format::Date)
                .then(|| Scale::of_date(order, is_ordered))
                .flatten()
                .filter(|scale| scale.width() == width)
                .map(Form::Date),
            FieldValues::Uuid { version } => {
                let form = match (format, is_ordered) {
                    (Format::Uuid, false) => Some(UuidForm::Hyphenated),
                    (Format::UuidSimple, false) => Some(UuidForm::Simple),
                    (Format::Uuid, true) => Some(UuidForm::Bytes),
                    _ => None,
                };
                let is_v4 = version == Some(4);
                form.filter(|form| {
                    form.format() == format
                        && width == Width::Fixed(form.width())
                        && order == FieldOrder::Ascending
                        && (is_v4 || version.is_none())
                })
                .map(|form| Form::Uuid { form, is_v4 })
            }
            FieldValues::Custom => Some(Form::Custom),
        };
        let fits = width.min() <= MAX_WIDTH;
        form.filter(|_| fits).map(|form| Self { form, width, order }).ok_or_else(|| {
            FieldError::new(format_args!(
                "no field has the format {:?}, the width {width:?}, the order {order:?} and the values {:?} in the {} layout",
                format,
                field.values(),
                if is_ordered { "ordered" } else { "text" }
            ))
        })
    }

    /// The codec of the hash of a field.
    pub(crate) fn of_hash(layout: KeyEncoding) -> Self {
        let is_hex = layout == KeyEncoding::Delimited;
        let width = Width::Fixed(if is_hex { 32 } else { 16 });
        Self { form: Form::Bytes { is_hex, len: Some(16) }, width, order: FieldOrder::Hashed }
    }

    fn integer_form(of: IntegerType, field: &Field, is_ordered: bool) -> Option<IntegerForm> {
        let (format, width, order) = (field.format(), field.width(), field.order());
        if is_ordered {
            let form = match order {
                FieldOrder::Ascending => IntegerForm::Int64,
                FieldOrder::Descending => IntegerForm::Int64Descending,
                FieldOrder::ReversedFrom { max } => IntegerForm::Int64Reversed { max: max.try_into().ok()? },
                FieldOrder::BitReversed | FieldOrder::Hashed => return None,
            };
            let is_short = with_short_integer!(of, T => T::BITS).is_some();
            return (format == Format::Int64 && width == Width::Between(1, 10) && is_short).then_some(form);
        }
        let Width::Fixed(width) = width else { return None };
        let (own_format, own_width, own_order) = with_integer!(of, T => (
            <T as KeyField<Text>>::FORMAT,
            <T as KeyField<Text>>::WIDTH.min(),
            <T as KeyField<Desc<Text>>>::ORDER,
        ));
        let is_own = format == own_format && width == own_width;
        match order {
            FieldOrder::Ascending if is_own => Some(IntegerForm::Plain),
            order if is_own && order == own_order => Some(IntegerForm::Descending),
            FieldOrder::BitReversed if is_own && matches!(of, IntegerType::U32 | IntegerType::U64) => {
                Some(IntegerForm::BitReversed)
            }
            _ if format != Format::Decimal || !(1..=MAX_WIDTH).contains(&width) => None,
            FieldOrder::Ascending => Some(IntegerForm::Padded { width, is_descending: false }),
            FieldOrder::Descending => {
                let is_wide = decimal_limit(width).is_none();
                is_wide.then_some(IntegerForm::Padded { width, is_descending: true })
            }
            FieldOrder::ReversedFrom { max } if decimal_limit(width) == max.checked_add(1) => {
                Some(IntegerForm::Padded { width, is_descending: true })
            }
            FieldOrder::ReversedFrom { max } if decimal::width(max) == width => {
                Some(IntegerForm::Reversed { max: max.try_into().ok()? })
            }
            FieldOrder::ReversedFrom { .. } | FieldOrder::BitReversed | FieldOrder::Hashed => None,
        }
    }

    fn text_form(field: &Field, is_ordered: bool) -> Option<TextForm> {
        if field.order() != FieldOrder::Ascending {
            return None;
        }
        match (field.format(), field.width()) {
            (Format::Utf8, Width::Delimited) => Some(TextForm::Plain),
            (Format::EscapedUtf8, Width::Delimited) if !is_ordered => Some(TextForm::Escaped),
            (Format::PaddedUtf8, Width::Fixed(width)) if !is_ordered && width > 0 => {
                Some(TextForm::Padded(width))
            }
            _ => None,
        }
    }

    fn bytes_form(field: &Field, is_ordered: bool) -> Option<Form> {
        let (expected, width_of_byte) = if is_ordered { (Format::Bytes, 1) } else { (Format::Hex, 2) };
        if field.format() != expected || field.order() != FieldOrder::Ascending {
            return None;
        }
        let is_hex = !is_ordered;
        match field.width() {
            Width::Delimited => Some(Form::Bytes { is_hex, len: None }),
            Width::Fixed(width) if width % width_of_byte == 0 => {
                Some(Form::Bytes { is_hex, len: Some(width / width_of_byte) })
            }
            Width::Fixed(_) | Width::Between(..) => None,
        }
    }

    #[inline]
    pub(crate) fn width(&self) -> Width {
        self.width
    }

    pub(crate) fn order(self) -> FieldOrder {
        self.order
    }

    /// Whether a scan can take a range of the field.
    pub(crate) fn has_ranges(self) -> bool {
        !matches!(self.form, Form::Custom | Form::Integer(_, IntegerForm::BitReversed))
    }

    /// Whether a scan can take a prefix of the field.
    pub(crate) fn has_prefixes(self) -> bool {
        matches!(self.form, Form::Text(_) | Form::Bytes { len: None, .. })
    }
}

/// The least number of more than `width` digits; none if 128 bits hold no such number.
fn decimal_limit(width: usize) -> Option<u128> {
    u32::try_from(width).ok().and_then(|width| 10_u128.checked_pow(width))
}

/// The integer of a value, as a `T`.
fn integer<T: TryFrom<i128> + TryFrom<u128> + Integer>(value: &Value) -> Result<T, FieldError> {
    match value {
        Value::Integer(value) => T::try_from(*value).map_err(|_| outside::<T>(value)),
        Value::Unsigned(value) => T::try_from(*value).map_err(|_| outside::<T>(value)),
        other => Err(not_a(other, format_args!("a `{}`", T::NAME))),
    }
}

#[cold]
fn outside<T: Integer>(value: impl Display) -> FieldError {
    FieldError::new(format_args!("{value} is not a `{}`, which holds {} to {}", T::NAME, T::MIN, T::MAX))
}

#[cold]
fn not_a(value: &Value, expected: impl Display) -> FieldError {
    match value {
        // Text is what the value of any field can be.
        Value::Text(_) => FieldError::new(format_args!("{value:?} is not {expected}")),
        _ => FieldError::new(format_args!("{value:?} is {}, and the field holds {expected}", value.noun())),
    }
}

fn text(value: &Value) -> Result<&str, FieldError> {
    match value {
        Value::Text(value) => Ok(value),
        other => Err(not_a(other, "text")),
    }
}

/// Values.
impl ErasedCodec {
    /// The value in the form that [`read`](Self::read) gives it: text is parsed by the field's type, and a time may be the number that is
    /// stored.
    ///
    /// # Errors
    /// If it is no value of the field's type.
    pub(crate) fn accept<'v>(self, value: &'v Value) -> Result<Cow<'v, Value>, FieldError> {
        let own = |value: Value| Ok(Cow::Owned(value));
        match (self.form, value) {
            (Form::Integer(of, form), value) => {
                let parsed = match value {
                    Value::Text(text) => {
                        let signed = text.parse().map(Value::Integer);
                        signed.or_else(|_| text.parse().map(Value::Unsigned)).map_err(|_| {
                            with_integer!(of, T => not_a(value, format_args!("a `{}`", <T as Integer>::NAME)))
                        })?
                    }
                    other => other.clone(),
                };
                with_integer!(of, T => integer::<T>(&parsed).map(drop).map_err(|error| match (form, &parsed) {
                    // The digits hold less than the type.
                    (IntegerForm::Padded { width, is_descending: false }, Value::Integer(number))
                        if greatest_of(width).is_some_and(|max| max < <T as Integer>::MAX) =>
                    {
                        not_padded(number, *number < 0, width, false)
                    }
                    _ => error,
                }))?;
                own(parsed)
            }
            (Form::Bool { .. }, Value::Bool(_)) => Ok(Cow::Borrowed(value)),
            (Form::Bool { .. }, Value::Text(text)) => match &**text {
                "true" => own(Value::Bool(true)),
                "false" => own(Value::Bool(false)),
                _ => Err(not_a(value, "`true` or `false`")),
            },
            (Form::Char(_), Value::Text(text)) if text.chars().count() == 1 => Ok(Cow::Borrowed(value)),
            (Form::Char(_), _) => Err(not_a(value, "one character")),
            (Form::Text(_), Value::Text(_)) | (Form::Bytes { .. } | Form::Custom, Value::Bytes(_)) => {
                Ok(Cow::Borrowed(value))
            }
            (Form::Custom, Value::Text(text)) => own(Value::Bytes(text.as_bytes().to_vec())),
            (Form::Bytes { .. }, Value::Text(text)) => own(Value::Bytes(super::read_hex(text.as_bytes())?)),
            (Form::Code(codes) | Form::CodeInt(codes), _) => {
                codes.variant(value).map(|(_, name)| Cow::Owned(Value::Text(name.to_owned())))
            }
            // The seconds of every type of times have 64 bits.
            (Form::Time(_), Value::Time(nanos))
                if i64::try_from(nanos.div_euclid(1_000_000_000)).is_err() =>
            {
                Err(FieldError::new(format_args!("{value:?} is a time that no type of times has")))
            }
            (Form::Time(_), Value::Time(_)) | (Form::Date(_), Value::Date(_)) => Ok(Cow::Borrowed(value)),
            (Form::Time(scale), Value::Integer(stored)) => {
                own(Value::Time(scale.nanos_of(*stored).ok_or_else(|| scale.no_number(stored))?))
            }
            (Form::Time(scale), Value::Text(text)) => match text.parse() {
                Ok(stored) => {
                    own(Value::Time(scale.nanos_of(stored).ok_or_else(|| scale.no_number(stored))?))
                }
                Err(_) => {
                    super::parse_utc(text, false).map(|nanos| Cow::Owned(Value::Time(nanos))).ok_or_else(
                        || not_a(value, "a time: as `2026-11-26T08:30:00Z`, or as the number that is stored"),
                    )
                }
            },
            (Form::Date(scale), Value::Integer(stored)) => {
                own(Value::Date(scale.days_of(*stored).ok_or_else(|| scale.no_number(stored))?))
            }
            (Form::Date(scale), Value::Text(text)) => match text.parse() {
                Ok(stored) => own(Value::Date(scale.days_of(stored).ok_or_else(|| scale.no_number(stored))?)),
                Err(_) => super::parse_date(text)
                    .map(|days| Cow::Owned(Value::Date(days)))
                    .ok_or_else(|| not_a(value, "a date: as `2026-11-26`, or as the number that is stored")),
            },
            (Form::Uuid { .. }, Value::Uuid(_)) => Ok(Cow::Borrowed(value)),
            (Form::Uuid { .. }, Value::Text(text)) => {
                let text = text.to_ascii_lowercase();
                let form = if text.len() == 32 { UuidForm::Simple } else { UuidForm::Hyphenated };
                own(Value::Uuid(form.read(text.as_bytes(), false)?))
            }
            (Form::Bool { .. }, _) => Err(not_a(value, "a `bool`")),
            (Form::Text(_), _) => Err(not_a(value, "text")),
            (Form::Bytes { .. } | Form::Custom, _) => Err(not_a(value, "bytes")),
            (Form::Time(_), _) => Err(not_a(value, "a time")),
            (Form::Date(_), _) => Err(not_a(value, "a date")),
            (Form::Uuid { .. }, _) => Err(not_a(value, "a UUID")),
        }
    }

    /// Appends the encoding of a value.
    fn write(self, value: &Value, out: &mut Vec<u8>) -> Result<(), FieldError> {
        match self.form {
            Form::Integer(of, form) => write_integer(of, form, value, out),
            Form::Bool { is_ordered } => {
                let Value::Bool(value) = value else { return Err(not_a(value, "a `bool`")) };
                match (is_ordered, self.order) {
                    (false, FieldOrder::Descending) => <Desc as BoolCodec>::write(*value, out),
                    (false, _) => <Text as BoolCodec>::write(*value, out),
                    (true, FieldOrder::Descending) => <Desc<Ordered> as BoolCodec>::write(*value, out),
                    (true, _) => <Ordered as BoolCodec>::write(*value, out),
                }
                Ok(())
            }
            Form::Char(form) | Form::Text(form) => match form {
                TextForm::Plain => <Text as StrCodec>::write(text(value)?, out),
                TextForm::Escaped => <Escape as StrCodec>::write(text(value)?, out),
                TextForm::Padded(width) => write_padded(text(value)?, width, out),
            },
            Form::Bytes { is_hex, len } => {
                let Value::Bytes(value) = value else { return Err(not_a(value, "bytes")) };
                if let Some(len) = len.filter(|len| *len != value.len()) {
                    return Err(other_len(value.len(), len));
                }
                if is_hex {
                    <Vec<u8> as KeyField<Text>>::write(value, out)
                } else {
                    <Vec<u8> as KeyField<Ordered>>::write(value, out)
                }
            }
            Form::Code(codes) => {
                codes.write(codes.variant(value)?.0, out);
                Ok(())
            }
            Form::CodeInt(codes) => <u64 as KeyField<Ordered>>::write(codes.variant(value)?.0, out),
            Form::Time(scale) => {
                let Value::Time(nanos) = value else { return Err(not_a(value, "a time")) };
                scale.write((*nanos).into(), out)
            }
            Form::Date(scale) => {
                let Value::Date(days) = value else { return Err(not_a(value, "a date")) };
                scale.write((i128::from(*days) * super::DAY).into(), out)
            }
            Form::Uuid { form, is_v4 } => {
                let Value::Uuid(value) = value else { return Err(not_a(value, "a UUID")) };
                if is_v4 {
                    check_v4(*value)?;
                }
                form.append(*value, out);
                Ok(())
            }
            Form::Custom => {
                let Value::Bytes(value) = value else { return Err(not_a(value, "bytes")) };
                self.check_custom(value)?;
                out.extend_from_slice(value);
                Ok(())
            }
        }
    }

    /// Checks all that is known of bytes that a user's own module writes: how many they are.
    fn check_custom(self, bytes: &[u8]) -> Result<(), FieldError> {
        let (min, max) = match self.width {
            Width::Fixed(width) => (width, width),
            Width::Between(min, max) => (min, max),
            Width::Delimited => return Ok(()),
        };
        if (min..=max).contains(&bytes.len()) {
            return Ok(());
        }
        Err(FieldError::new(format_args!(
            "it is {} bytes long, and the field takes {min} to {max}",
            bytes.len()
        )))
    }

    /// Reads a value back from exactly the bytes of its encoding; `known` is them as text if they are known to be ASCII.
    ///
    /// It is written to its place: a value that is moved through several results costs more than reading it.
    #[inline]
    pub(crate) fn read_to<'k>(
        &self,
        bytes: Cow<'k, [u8]>,
        known: Option<&'k str>,
        to: &mut ReadValue<'k>,
    ) -> Result<(), FieldError> {
        *to = match self.form {
            Form::Integer(of, form) => return read_integer(of, form, &bytes, to),
            Form::Bool { is_ordered } => match (is_ordered, self.order) {
                (false, FieldOrder::Descending) => <bool as KeyField<Desc>>::read(bytes),
                (false, _) => <bool as KeyField<Text>>::read(bytes),
                (true, FieldOrder::Descending) => <bool as KeyField<Desc<Ordered>>>::read(bytes),
                (true, _) => <bool as KeyField<Ordered>>::read(bytes),
            }
            .map(|value| ReadValue::Borrowed(value.into()))?,
            Form::Char(form) => {
                let text = read_text(form, bytes, known)?;
                one_char(&text)?;
                text.into()
            }
            Form::Text(form) => read_text(form, bytes, known)?.into(),
            Form::Bytes { is_hex, len } => {
                let read = match is_hex {
                    true => <Text as BytesCodec>::read(bytes),
                    false => <Ordered as BytesCodec>::read(bytes),
                }?;
                match len.filter(|len| *len != read.len()) {
                    Some(len) => return Err(other_len(read.len(), len)),
                    None => read.into(),
                }
            }
            Form::Code(codes) => ReadValue::Borrowed(ValueRef::Text(codes.codes[codes.read(&bytes)?].1)),
            Form::CodeInt(codes) => {
                ReadValue::Borrowed(ValueRef::Text(codes.codes[codes.read_int(&bytes)?].1))
            }
            Form::Time(scale) => ReadValue::Borrowed(ValueRef::Time(scale.read(&bytes)?)),
            // The days of a calendar of four digits.
            Form::Date(scale) => {
                ReadValue::Borrowed(ValueRef::Date(scale.read(&bytes)?.div_euclid(super::DAY) as i64))
            }
            Form::Uuid { form, is_v4 } => ReadValue::Borrowed(ValueRef::Uuid(form.read(&bytes, is_v4)?)),
            Form::Custom => {
                self.check_custom(&bytes)?;
                bytes.into()
            }
        };
        Ok(())
    }

    /// The cut on one side of a value, which the field need not be able to hold; of a field that [has ranges](Self::has_ranges).
    pub(crate) fn cut(self, value: &Value, side: Side) -> Cut {
        match (self.form, value) {
            (Form::Integer(of, form), _) => cut_integer(of, form, value, side).unwrap_or(Cut::Last),
            (Form::Bool { is_ordered }, Value::Bool(value)) => match (is_ordered, self.order) {
                (false, FieldOrder::Descending) => <bool as RangeField<Desc>>::cut(*value, side),
                (false, _) => <bool as RangeField<Text>>::cut(*value, side),
                (true, FieldOrder::Descending) => <bool as RangeField<Desc<Ordered>>>::cut(*value, side),
                (true, _) => <bool as RangeField<Ordered>>::cut(*value, side),
            },
            (Form::Char(form) | Form::Text(form), Value::Text(value)) => match form {
                TextForm::Plain => <Text as StrCodec>::cut(value, side),
                TextForm::Escaped => <Escape as StrCodec>::cut(value, side),
                TextForm::Padded(width) => cut_padded(value, width, side),
            },
            (Form::Bytes { is_hex: true, .. }, Value::Bytes(value)) => {
                <Vec<u8> as RangeField<Text>>::cut(value, side)
            }
            (Form::Bytes { is_hex: false, .. }, Value::Bytes(value)) => {
                <Vec<u8> as RangeField<Ordered>>::cut(value, side)
            }
            (Form::Code(codes), _) => {
                codes.variant(value).map_or(Cut::Last, |(code, _)| codes.cut(code, side))
            }
            (Form::CodeInt(codes), _) => codes
                .variant(value)
                .map_or(Cut::Last, |(code, _)| <u64 as RangeField<Ordered>>::cut(code, side)),
            (Form::Time(scale), Value::Time(nanos)) => scale.cut((*nanos).into(), side),
            (Form::Date(scale), Value::Date(days)) => {
                scale.cut((i128::from(*days) * super::DAY).into(), side)
            }
            (Form::Uuid { form, .. }, Value::Uuid(value)) => form.cut(*value, side),
            // `accept` refuses other values, and fields without ranges are refused before.
            _ => Cut::Last,
        }
    }

    /// The cuts around all values with this prefix, of a field that [has prefixes](Self::has_prefixes).
    pub(crate) fn prefix_cuts(self, prefix: &Value) -> (Cut, Cut) {
        match (self.form, prefix) {
            (Form::Text(form), Value::Text(prefix)) => match form {
                TextForm::Plain => <Text as StrCodec>::prefix_cuts(prefix),
                TextForm::Escaped => <Escape as StrCodec>::prefix_cuts(prefix),
                TextForm::Padded(width) => padded_prefix_cuts(prefix, width),
            },
            (Form::Bytes { is_hex: true, .. }, Value::Bytes(prefix)) => {
                <Vec<u8> as PrefixField<Text>>::prefix_cuts(prefix)
            }
            (Form::Bytes { is_hex: false, .. }, Value::Bytes(prefix)) => {
                <Vec<u8> as PrefixField<Ordered>>::prefix_cuts(prefix)
            }
            // As in `cut`.
            _ => (Cut::Last, Cut::Last),
        }
    }

    /// Shows a value as the typed field does.
    pub(crate) fn show(self, value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.form, value) {
            (Form::Char(_), Value::Text(text)) => match text.chars().next() {
                Some(value) => write!(f, "{value:?}"),
                None => write!(f, "{text:?}"),
            },
            (Form::Code(_) | Form::CodeInt(_), Value::Text(variant)) => f.write_str(variant),
            (_, Value::Bytes(hash)) if self.order == FieldOrder::Hashed => write!(f, "hash {}", Hex(hash)),
            (_, value) => write!(f, "{value:?}"),
        }
    }
}

/// No field has such a codec: it was checked when the codec was found.
#[cold]
fn no_such_form(of: IntegerType) -> FieldError {
    FieldError::new(format_args!("there is no such format of integers of the type {of:?}"))
}

/// Has room for the digits of all integers, and for most widths.
const DIGITS: usize = 64;

fn write_integer(
    of: IntegerType,
    form: IntegerForm,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), FieldError> {
    match form {
        IntegerForm::Plain => with_integer!(of, T => <T as KeyField<Text>>::write(integer::<T>(value)?, out)),
        IntegerForm::Descending => {
            with_integer!(of, T => <T as KeyField<Desc>>::write(integer::<T>(value)?, out))
        }
        IntegerForm::BitReversed => match of {
            IntegerType::U32 => <u32 as KeyField<BitReverse>>::write(integer(value)?, out),
            IntegerType::U64 => <u64 as KeyField<BitReverse>>::write(integer(value)?, out),
            _ => Err(no_such_form(of)),
        },
        IntegerForm::Padded { width, is_descending } => {
            let mut few = [b'0'; DIGITS];
            let mut many = Vec::new();
            let zeros = match few.get_mut(..width) {
                Some(zeros) => zeros,
                None => {
                    many.resize(width, b'0');
                    many.as_mut_slice()
                }
            };
            with_integer!(of, T => {
                let value = integer::<T>(value)?;
                append_to(out, |out| value.append_padded(T::limit_of(width), is_descending, zeros, out))
            })
        }
        IntegerForm::Reversed { max } => {
            let width = decimal::width(max.into());
            with_integer!(of, T => {
                let value = integer::<T>(value)?;
                append_to(out, |out| value.append_reversed(max, width, out))
            })
        }
        IntegerForm::Int64 => {
            with_short_integer!(of, T => <T as KeyField<Ordered>>::write(integer::<T>(value)?, out))
                .unwrap_or_else(|| Err(no_such_form(of)))
        }
        IntegerForm::Int64Descending => {
            with_short_integer!(of, T => <T as KeyField<Desc<Ordered>>>::write(integer::<T>(value)?, out))
                .unwrap_or_else(|| Err(no_such_form(of)))
        }
        IntegerForm::Int64Reversed { max } => {
            with_integer!(of, T => integer::<T>(value)?.write_reversed_int(max, out))
        }
    }
}

fn read_text<'k>(
    form: TextForm,
    bytes: Cow<'k, [u8]>,
    known: Option<&'k str>,
) -> Result<Cow<'k, str>, FieldError> {
    match (form, known, bytes) {
        (TextForm::Plain, Some(text), _) => Ok(Cow::Borrowed(text)),
        (TextForm::Plain, None, bytes) => <Text as StrCodec>::read(bytes),
        (TextForm::Escaped, _, bytes) => <Escape as StrCodec>::read(bytes),
        (TextForm::Padded(_), _, Cow::Borrowed(bytes)) => read_padded(bytes).map(Cow::Borrowed),
        (TextForm::Padded(_), _, Cow::Owned(bytes)) => {
            read_padded(&bytes).map(|text| Cow::Owned(text.to_owned()))
        }
    }
}

fn read_integer(
    of: IntegerType,
    form: IntegerForm,
    bytes: &[u8],
    to: &mut ReadValue<'_>,
) -> Result<(), FieldError> {
    macro_rules! put {
        ($read:expr) => {
            $read.map(|value| *to = ReadValue::Borrowed(value.into()))
        };
    }
    match form {
        IntegerForm::Plain => with_integer!(of, T => put!(<T as KeyField<Text>>::read(bytes.into()))),
        IntegerForm::Descending => {
            with_integer!(of, T => put!(<T as KeyField<Desc>>::read(bytes.into())))
        }
        IntegerForm::BitReversed => match of {
            IntegerType::U32 => put!(<u32 as KeyField<BitReverse>>::read(bytes.into())),
            IntegerType::U64 => put!(<u64 as KeyField<BitReverse>>::read(bytes.into())),
            _ => Err(no_such_form(of)),
        },
        IntegerForm::Padded { is_descending: false, .. } => {
            with_integer!(of, T => put!(T::read_padded(bytes)))
        }
        IntegerForm::Padded { is_descending: true, .. } => {
            with_integer!(of, T => put!(T::read_padded_descending(bytes)))
        }
        IntegerForm::Reversed { max } => {
            with_integer!(of, T => put!(T::read_reversed(bytes, max)))
        }
        IntegerForm::Int64 => {
            with_short_integer!(of, T => put!(<T as KeyField<Ordered>>::read(bytes.into())))
                .unwrap_or_else(|| Err(no_such_form(of)))
        }
        IntegerForm::Int64Descending => {
            with_short_integer!(of, T => put!(<T as KeyField<Desc<Ordered>>>::read(bytes.into())))
                .unwrap_or_else(|| Err(no_such_form(of)))
        }
        IntegerForm::Int64Reversed { max } => {
            with_integer!(of, T => put!(T::read_reversed_int(bytes, max)))
        }
    }
}

fn cut_integer(of: IntegerType, form: IntegerForm, value: &Value, side: Side) -> Option<Cut> {
    // The cut beside a bound is before the encoding of another number, which is written as a value is.
    macro_rules! written {
        ($form:expr) => {
            |value, out| write_integer(of, $form, &Value::from(value), out)
        };
    }
    match form {
        IntegerForm::Plain => {
            with_integer!(of, T => Some(<T as RangeField<Text>>::cut(integer::<T>(value).ok()?, side)))
        }
        IntegerForm::Descending => {
            with_integer!(of, T => Some(<T as RangeField<Desc>>::cut(integer::<T>(value).ok()?, side)))
        }
        IntegerForm::BitReversed => None,
        IntegerForm::Padded { is_descending: false, .. } => {
            with_integer!(of, T => Some(integer::<T>(value).ok()?.cut_padded(side, written!(form))))
        }
        IntegerForm::Padded { is_descending: true, .. } => {
            with_integer!(of, T => Some(integer::<T>(value).ok()?.cut_padded_descending(side, written!(form))))
        }
        IntegerForm::Reversed { .. } | IntegerForm::Int64Reversed { .. } => {
            with_integer!(of, T => Some(integer::<T>(value).ok()?.cut_reversed(side, written!(form))))
        }
        IntegerForm::Int64 => with_short_integer!(of, T => integer::<T>(value)
            .ok()
            .map(|value| <T as RangeField<Ordered>>::cut(value, side)))
        .flatten(),
        IntegerForm::Int64Descending => with_short_integer!(of, T => integer::<T>(value)
            .ok()
            .map(|value| <T as RangeField<Desc<Ordered>>>::cut(value, side)))
        .flatten(),
    }
}

/// A value of a field, with its codec; the value is one that [`ErasedCodec::accept`] returns.
pub(crate) struct ErasedPart<'a> {
    pub(crate) codec: ErasedCodec,
    pub(crate) value: &'a Value,
}

impl Part for ErasedPart<'_> {
    fn write(&self, out: &mut Vec<u8>) -> Result<(), FieldError> {
        self.codec.write(self.value, out)
    }

    fn append(&self, delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
        out.with_vec(|out| {
            let start = out.len();
            self.codec.write(self.value, out)?;
            let is_delimited = !matches!(self.codec.width, Width::Fixed(_));
            Ok(is_delimited && holds_forbidden(&out[start..], delimiter))
        })
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.codec.show(self.value, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FieldOrder::{Ascending, BitReversed, Descending};
    use KeyEncoding::{Delimited, OrderedCode};
    use Width::Fixed;

    const INT: Width = Width::Between(1, 10);

    fn of(
        values: FieldValues,
        format: Format,
        width: Width,
        order: FieldOrder,
        layout: KeyEncoding,
    ) -> Option<ErasedCodec> {
        let field = Field::new("f", "T", format, width, order).with_values(values);
        ErasedCodec::of(&field, layout).ok()
    }

    fn integers<T: Integer>() -> FieldValues {
        FieldValues::Integer { min: T::MIN, max: T::MAX }
    }

    fn written(codec: ErasedCodec, value: &Value) -> Result<String, String> {
        let mut out = Vec::new();
        codec.write(value, &mut out).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// Only formats, widths and orders that a typed codec has together have one here.
    #[test]
    fn a_field_that_no_type_has_is_refused() {
        let codes = FieldValues::Codes(&[(1, "One"), (12, "Twelve")]);
        let uuid = FieldValues::Uuid { version: None };
        let [bools, text, bytes] = [FieldValues::Bool, FieldValues::Text, FieldValues::Bytes];
        for (values, format, width, order, layout) in [
            (bools, Format::Bool, Fixed(1), Descending, Delimited),
            (bools, Format::BoolInt64, Fixed(1), Ascending, OrderedCode),
            (codes, Format::Decimal, Fixed(2), Ascending, Delimited),
            (codes, Format::Int64, INT, Ascending, OrderedCode),
            (uuid, Format::Uuid, Fixed(36), Ascending, Delimited),
            (uuid, Format::Uuid, Fixed(16), Ascending, OrderedCode),
            (FieldValues::Uuid { version: Some(4) }, Format::UuidSimple, Fixed(32), Ascending, Delimited),
            (text, Format::PaddedUtf8, Fixed(1), Ascending, Delimited),
            (text, Format::PaddedUtf8, Fixed(MAX_WIDTH), Ascending, Delimited),
            (bytes, Format::Hex, Fixed(2), Ascending, Delimited),
            (integers::<i64>(), Format::Int64, INT, Descending, OrderedCode),
            (integers::<u8>(), Format::Decimal, Fixed(1), Ascending, Delimited),
            (integers::<u32>(), Format::Decimal, Fixed(10), BitReversed, Delimited),
            (integers::<u64>(), Format::Decimal, Fixed(40), Descending, Delimited),
        ] {
            assert!(of(values, format, width, order, layout).is_some(), "{values:?} as {format:?}");
        }
        for (values, format, width, order, layout) in [
            (bools, Format::Hex, Fixed(1), Ascending, Delimited),
            (bools, Format::Bool, Fixed(2), Ascending, Delimited),
            (bools, Format::Bool, Fixed(1), BitReversed, Delimited),
            (codes, Format::Decimal, Fixed(2), Descending, Delimited),
            (codes, Format::Decimal, Fixed(3), Ascending, Delimited),
            (codes, Format::Int64, INT, Descending, OrderedCode),
            (FieldValues::Codes(&[]), Format::Decimal, Fixed(0), Ascending, Delimited),
            (uuid, Format::Uuid, Fixed(35), Ascending, Delimited),
            (uuid, Format::Uuid, Fixed(36), Descending, Delimited),
            (FieldValues::Uuid { version: Some(7) }, Format::Uuid, Fixed(36), Ascending, Delimited),
            (text, Format::PaddedUtf8, Fixed(0), Ascending, Delimited),
            (text, Format::PaddedUtf8, Fixed(MAX_WIDTH + 1), Ascending, Delimited),
            (text, Format::PaddedUtf8, Fixed(4), Ascending, OrderedCode),
            (bytes, Format::Utf8, Width::Delimited, Ascending, Delimited),
            (bytes, Format::Hex, Width::Delimited, Descending, Delimited),
            (integers::<u128>(), Format::Int64, INT, Ascending, OrderedCode),
            (integers::<i64>(), Format::Decimal, INT, Ascending, OrderedCode),
            (integers::<i64>(), Format::Int64, Fixed(10), Ascending, OrderedCode),
            (integers::<i32>(), Format::Hex, Fixed(4), Ascending, Delimited),
            (integers::<u16>(), Format::Decimal, Fixed(5), BitReversed, Delimited),
            (integers::<u32>(), Format::Decimal, Fixed(4), BitReversed, Delimited),
            // With so few digits it is `ReversedFrom`.
            (integers::<u64>(), Format::Decimal, Fixed(4), Descending, Delimited),
        ] {
            assert!(
                of(values, format, width, order, layout).is_none(),
                "{values:?} as {format:?}, {width:?}"
            );
        }
    }

    #[test]
    fn widths_of_more_digits_than_the_type_has_are_filled() {
        let padded = |width, order| of(integers::<u64>(), Format::Decimal, Fixed(width), order, Delimited);
        let seven = &Value::from(7_u64);
        assert_eq!(written(padded(70, Ascending).unwrap(), seven), Ok(format!("{}7", "0".repeat(69))));
        assert_eq!(written(padded(40, Descending).unwrap(), seven), Ok(format!("{}2", "9".repeat(39))));
        assert!(!padded(70, Ascending).unwrap().has_prefixes());
    }

    /// Of bytes that a module of the user's own writes only the length is known.
    #[test]
    fn custom_bytes_have_the_length_of_the_field() {
        let codec =
            |width| of(FieldValues::Custom, Format::Custom("own"), width, Ascending, Delimited).unwrap();
        let bytes = |text: &str| Value::from(text.as_bytes());
        for (width, text, is_right) in [
            (Fixed(3), "abc", true),
            (Fixed(3), "ab", false),
            (Width::Between(2, 3), "abcd", false),
            (Width::Between(2, 3), "ab", true),
            (Width::Delimited, "abcd", true),
        ] {
            let expected = is_right.then(|| text.to_owned());
            assert_eq!(written(codec(width), &bytes(text)).ok(), expected, "{width:?}");
            let mut read = ReadValue::EMPTY;
            let is_read = codec(width).read_to(Cow::Borrowed(text.as_bytes()), None, &mut read).is_ok();
            assert_eq!(is_read.then(|| read.into_value()), is_right.then(|| bytes(text)), "{width:?}");
        }
    }

    #[test]
    fn hashes_have_sixteen_bytes() {
        let [text, ordered] = [Delimited, OrderedCode].map(ErasedCodec::of_hash);
        assert_eq!((text.width(), ordered.width()), (Fixed(32), Fixed(16)));
    }

    #[test]
    fn text_is_accepted_as_a_value_of_the_type() {
        const HEX: &str = "0197F9F2-5C3A-7000-8000-0000000000AB";
        let uuid = FieldValues::Uuid { version: None };
        let uuid = of(uuid, Format::Uuid, Fixed(36), Ascending, Delimited).unwrap();
        let bools = of(FieldValues::Bool, Format::Bool, Fixed(1), Ascending, Delimited).unwrap();
        let time = Format::UnixTime(crate::key::TimeUnit::Secs);
        let time = of(FieldValues::Time { exact: false }, time, Fixed(10), Ascending, Delimited).unwrap();
        let accepted = |codec: ErasedCodec, value: &Value| codec.accept(value).map(Cow::into_owned).ok();
        let text = |codec, text: &str| accepted(codec, &Value::from(text));
        let value = Some(Value::Uuid(0x0197_f9f2_5c3a_7000_8000_0000_0000_00ab));
        assert_eq!((text(uuid, HEX), text(uuid, &HEX.replace('-', ""))), (value.clone(), value));
        assert_eq!(text(uuid, &HEX[1..]), None);
        assert_eq!(text(bools, "true"), Some(Value::Bool(true)));
        assert_eq!(text(bools, "false"), Some(Value::Bool(false)));
        assert_eq!(text(bools, "1"), None);
        assert_eq!(text(time, "2016-12-31T23:59:59Z"), Some(Value::Time(1_483_228_799_000_000_000)));
        assert_eq!(text(time, "2016-12-31T23:59:60Z"), None);
        // 64 bits of seconds.
        let last = i128::from(i64::MAX) * 1_000_000_000 + 999_999_999;
        assert_eq!(accepted(time, &Value::Time(last)), Some(Value::Time(last)));
        assert_eq!(accepted(time, &Value::Time(last + 1)), None);
    }
}
