//! Keys whose layout is data.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

#[cfg(feature = "json")]
use super::LayoutError;
use super::{DynScan, Value, ValueRef};
use crate::key::Width;
use crate::key::{
    DecodeError, EncodeError, ErasedCodec, ErasedPart, Field, FieldError, KeyReader, KeySchema, MAX_KEY_LEN,
    PlainText, ReadValue, Readable, RowKey, Shape, Span, TableKey, encode_by, write_hash, write_part,
};

/// A layout of row keys at run time: encodes, decodes and plans as the derived key type does, byte for byte.
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::dynamic::KeyLayout;
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user_id,site")]
/// struct EventKey {
///     user_id: String,
///     site: String,
///     #[reverse_ts]
///     at: u64,
///     #[pad(6)]
///     seq: u32,
/// }
///
/// let layout = KeyLayout::of::<EventKey>(); // or of a table of `Layouts`
/// let fields = [("user_id", "alice"), ("site", "home"), ("at", "1426535612156"), ("seq", "42")];
/// let bytes = layout.encode(fields)?;
/// assert_eq!(bytes, b"1#alice#home#9223370610319163651#000042");
///
/// let key = layout.decode(&bytes)?;
/// assert_eq!(key.to_string(), r#"EventKey { user_id: "alice", site: "home", at: 1426535612156, seq: 42 }"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is for tools. Applications should derive [`RowKey`](derive@crate::RowKey): the compiler checks the fields, and encoding is several
/// times as fast.
///
/// A field that a module or a handwritten [`KeyField`](crate::KeyField) encodes is bytes here: it has no ranges, and its values are not
/// checked. A hashed field decodes as its hash.
#[derive(Clone)]
pub struct KeyLayout {
    schema: &'static KeySchema,
    fields: Arc<[ErasedField]>,
    /// The schema again, if its keys are text without epochs.
    plain: Option<PlainText>,
}

/// The codec of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErasedField {
    pub(super) codec: ErasedCodec,
    /// For a hashed field, the codec of the value before hashing.
    pub(super) hashed: Option<ErasedCodec>,
}

impl ErasedField {
    fn of(field: &Field, schema: &KeySchema) -> Result<Self, FieldError> {
        let hashed = field.hash_of().map(|of| ErasedCodec::of(of, schema.layout())).transpose()?;
        let codec = match hashed {
            Some(_) => ErasedCodec::of_hash(schema.layout()),
            None => ErasedCodec::of(field, schema.layout())?,
        };
        Ok(Self { codec, hashed })
    }

    /// The codec that encodes a value.
    pub(super) fn written(self) -> ErasedCodec {
        self.hashed.unwrap_or(self.codec)
    }
}

impl KeyLayout {
    /// The layout of a derived key type.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::KeyLayout;
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// assert_eq!(KeyLayout::of::<UserKey>().schema(), UserKey::SCHEMA);
    /// ```
    #[must_use]
    pub fn of<K: RowKey>() -> Self {
        Self::of_checked(K::SCHEMA)
    }

    /// The layout of a schema whose fields all have codecs: of a derived key type, whose twins by data are tested, or of another layout.
    pub(crate) fn of_checked(schema: &'static KeySchema) -> Self {
        Self::of_schema(schema).unwrap_or_else(|_| Self { schema, fields: Arc::new([]), plain: None })
    }

    /// The layout of a [`KeySchema`] from its JSON.
    ///
    /// ```
    /// use keyderive::RowKey;
    /// use keyderive::dynamic::KeyLayout;
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    ///
    /// let json = serde_json::to_string(UserKey::SCHEMA).unwrap();
    /// let layout = KeyLayout::from_json(&json)?;
    /// assert_eq!(layout.encode([("id", 7)]).unwrap(), b"00000000000000000007");
    ///
    /// let error = KeyLayout::from_json(&json.replace(r#""fixed":20"#, r#""fixed":5000"#)).unwrap_err();
    /// assert!(error.to_string().contains("`fields[0]`: it is 5000 bytes wide, and a row key has at most 4096"));
    /// # Ok::<(), keyderive::dynamic::LayoutError>(())
    /// ```
    ///
    /// Every rule of the derive applies. The layout stays in memory for the life of the process; equal ones share it.
    ///
    /// # Errors
    /// Every fault of the JSON, with its place. Also if the process would have more than 10,000 layouts, or more than 32 MiB of them.
    #[cfg(feature = "json")]
    pub fn from_json(json: &str) -> Result<Self, LayoutError> {
        KeySchema::from_json(json, None).and_then(Self::checked).map_err(LayoutError::new)
    }

    /// The layout of a schema whose JSON does not name the struct.
    #[cfg(feature = "json")]
    pub(crate) fn of_json(json: &str, key_type: &str) -> Result<Self, LayoutError> {
        KeySchema::from_json(json, Some(key_type)).and_then(Self::checked).map_err(LayoutError::new)
    }

    /// The layout of a checked schema.
    #[cfg(feature = "json")]
    pub(crate) fn checked(schema: &'static KeySchema) -> Result<Self, Vec<String>> {
        Self::of_schema(schema).map_err(|(at, error)| vec![format!("`fields[{at}]`: {error}")])
    }

    /// The layout of a schema.
    ///
    /// # Errors
    /// The index of a field without a codec, and the reason.
    pub(crate) fn of_schema(schema: &'static KeySchema) -> Result<Self, (usize, FieldError)> {
        let fields = schema.fields().iter().enumerate();
        let fields = fields.map(|(at, field)| ErasedField::of(field, schema).map_err(|error| (at, error)));
        Ok(Self { schema, fields: fields.collect::<Result<_, _>>()?, plain: PlainText::of(schema) })
    }

    /// The layout as data.
    #[must_use]
    pub fn schema(&self) -> &'static KeySchema {
        self.schema
    }

    /// The key type, for code that is not generic over key types.
    pub(crate) fn key_type(&self) -> crate::key::KeyType {
        crate::key::KeyType::of_data(self.schema, |schema, key| {
            Self::of_checked(schema).decode(key).map(drop)
        })
    }

    pub(super) fn fields(&self) -> &[ErasedField] {
        &self.fields
    }

    /// Encodes a row key from the values of all fields, in any order, by their names. Text is parsed by the field's type.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::{KeyLayout, Value};
    /// # #[derive(RowKey)] struct EventKey { user: String, #[pad(3)] seq: u16 }
    /// let layout = KeyLayout::of::<EventKey>();
    /// assert_eq!(layout.encode([("user", Value::from("alice")), ("seq", Value::from(42))])?, b"alice#042");
    ///
    /// let error = layout.encode([("user", "alice"), ("seq", "1000")]).unwrap_err();
    /// assert!(error.to_string().contains("1000 does not fit; the field is padded to 3 digits, at most 999"));
    /// # Ok::<(), keyderive::key::EncodeError>(())
    /// ```
    ///
    /// A time is text in RFC 3339, or the number that is stored; an enum of codes is a variant's name or code; a UUID is hexadecimal, and so
    /// are bytes.
    ///
    /// # Errors
    /// For a name that the layout does not have, a field without a value or with two, a value that is not of the field's type, and as
    /// [`RowKey::encode`].
    pub fn encode<N: AsRef<str>, V: Into<Value>>(
        &self,
        fields: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Vec<u8>, EncodeError> {
        let mut values: Vec<Option<Value>> = vec![None; self.fields.len()];
        for (name, value) in fields {
            let at = self.field_named(name.as_ref())?;
            if values[at].replace(self.accept(at, &value.into())?).is_some() {
                return Err(self.fault(format!("the field `{}` has two values", name.as_ref())));
            }
        }
        let missing =
            |at: usize| self.fault(format!("the field `{}` has no value", self.schema.fields()[at].name()));
        let values = values.into_iter().enumerate().map(|(at, value)| value.ok_or_else(|| missing(at)));
        let mut key = Vec::new();
        self.encode_values(&values.collect::<Result<Vec<_>, _>>()?, &mut key)?;
        Ok(key)
    }

    /// The value of a field, as errors and plans print it.
    pub(crate) fn shown(&self, at: usize, value: &Value) -> String {
        let codec = self.fields[at].codec;
        fmt::from_fn(|f| codec.show(value, f)).to_string()
    }

    /// Appends a row key with these values, one for each field, from the left.
    pub(super) fn encode_values(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_by(self.schema, vec![Span::default(); self.fields.len()], 64, out, |key| {
            for (at, (field, value)) in self.fields.iter().zip(values).enumerate() {
                match field.hashed {
                    Some(codec) => key.hashed_part(at, &ErasedPart { codec, value })?,
                    None => key.part(at, &ErasedPart { codec: field.codec, value })?,
                }
            }
            Ok(())
        })
    }

    /// Decodes a row key.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::{KeyLayout, Value};
    /// # #[derive(RowKey)] struct EventKey { user: String, #[pad(3)] seq: u16 }
    /// let key = KeyLayout::of::<EventKey>().decode(b"alice#042")?;
    /// assert_eq!(key.get("seq"), Some(&Value::Integer(42)));
    /// # Ok::<(), keyderive::key::DecodeError>(())
    /// ```
    ///
    /// # Errors
    /// As [`RowKey::decode`], for bytes that encoding would not have written.
    pub fn decode(&self, key: &[u8]) -> Result<DynKey, DecodeError> {
        let mut values = Vec::with_capacity(self.fields.len());
        read(self, key, |_, codec, bytes, text| {
            let mut value = ReadValue::EMPTY;
            codec.read_to(bytes, text, &mut value)?;
            values.push(value.into_value());
            Ok(())
        })?;
        Ok(DynKey { schema: self.schema, bytes: key.into(), values })
    }

    /// Decodes a row key in place: calls `each` with the index and the borrowed value of every field, from the left.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::{KeyLayout, ValueRef};
    /// # #[derive(RowKey)] struct EventKey { user: String, #[pad(3)] seq: u16 }
    /// let layout = KeyLayout::of::<EventKey>();
    /// let (mut users, mut total) = (0, 0);
    /// layout.walk(b"alice#042", |at, value| match (at, value) {
    ///     (0, ValueRef::Text("alice")) => users += 1,
    ///     (1, ValueRef::Integer(seq)) => total += seq,
    ///     _ => {}
    /// })?;
    /// assert_eq!((users, total), (1, 42));
    /// # Ok::<(), keyderive::key::DecodeError>(())
    /// ```
    ///
    /// The values are those of [`decode`](Self::decode). It allocates only for a field whose bytes in the key are not those of the value:
    /// hexadecimal, escaped text with escapes, and zero bytes in the ordered layout; and for keys of more than 16 fields.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode). By then `each` may have been called with some fields, or with all (if the salt is wrong, say):
    /// discard what it has collected.
    pub fn walk(&self, key: &[u8], mut each: impl FnMut(usize, ValueRef<'_>)) -> Result<(), DecodeError> {
        let mut value = ReadValue::EMPTY;
        read(self, key, |at, codec, bytes, text| {
            codec.read_to(bytes, text, &mut value)?;
            each(at, value.as_ref());
            Ok(())
        })
    }

    /// Decodes a key into `fields`.
    #[inline]
    pub(crate) fn read<'k>(&self, key: &'k [u8], fields: &mut Vec<ReadValue<'k>>) -> Result<(), DecodeError> {
        fields.resize_with(self.fields.len(), || ReadValue::EMPTY);
        read(self, key, |at, codec, bytes, text| codec.read_to(bytes, text, &mut fields[at]))
    }

    /// Decodes the first bytes of keys, such as the key at which a tablet begins, as far as fields are complete. In a last field without a
    /// fixed width, any bytes count as complete.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::KeyLayout;
    /// # #[derive(RowKey)] #[salt(range = 4, over = "user")] struct EventKey { user: String, site: String }
    /// let start = KeyLayout::of::<EventKey>().decode_start(b"2#ali");
    /// assert_eq!(start.to_string(), "bucket 2, user `ali`");
    /// ```
    #[must_use]
    pub fn decode_start(&self, bytes: &[u8]) -> KeyStart {
        let mut start =
            KeyStart { bucket: None, fields: Vec::new(), rest: bytes.into(), layout: self.clone() };
        let mut reader = KeyReader::new(self.schema, vec![Span::default(); self.fields.len()], bytes);
        let mut read = || {
            reader.head()?;
            for (at, ErasedField { codec, .. }) in self.fields.iter().enumerate() {
                (start.bucket, start.rest) = (reader.bucket(), reader.rest().into());
                let mut value = ReadValue::EMPTY;
                reader.part(at, codec.width(), |bytes, text| codec.read_to(bytes, text, &mut value))?;
                start.fields.push(value.into_value());
            }
            (start.bucket, start.rest) = (reader.bucket(), reader.rest().into());
            Ok::<_, DecodeError>(())
        };
        // It fails where the bytes end.
        let _ = read();
        start
    }

    /// As `decode_start`, for a boundary, which is as short as possible: pads an incomplete field of fixed width with the least bytes that
    /// make a value. This does not change which keys are above the boundary.
    pub(crate) fn decode_boundary(&self, bytes: &[u8]) -> KeyStart {
        let mut start = match bytes {
            // After a whole key: that key says it.
            [key @ .., 0] if self.decode_start(key).rest.is_empty() => self.decode_start(key),
            bytes => self.decode_start(bytes),
        };
        let begun = start.begun().filter(|field| field.hash_of().is_none()).map(Field::width);
        let (Some(Width::Fixed(width)), Some(field)) = (begun, self.fields.get(start.fields.len())) else {
            return start;
        };
        for least in [b'0', 0] {
            let mut whole = start.rest.to_vec();
            whole.resize(width.max(whole.len()), least);
            let mut value = ReadValue::EMPTY;
            if field.codec.read_to(whole.into(), None, &mut value).is_ok() {
                start.fields.push(value.into_value());
                start.rest = [].into();
                break;
            }
        }
        start
    }

    /// A scan of all rows with such keys; constrain it field by field, from the left.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::KeyLayout;
    /// # #[derive(RowKey)] struct EventKey { user: String, #[reverse_ts] at: u64 }
    /// let layout = KeyLayout::of::<EventKey>();
    /// let plan = layout.scan().fix("user", "alice")?.range("at", 1000..2000)?.plan()?;
    /// assert_eq!(plan.requests(), EventKey::scan().user("alice").at_range(1000..2000).into_plan()?.requests());
    /// # Ok::<(), keyderive::plan::PlanError>(())
    /// ```
    pub fn scan(&self) -> DynScan {
        DynScan::new(self.clone())
    }

    /// Converts a value to a field's type: parses text, as [`encode`](Self::encode) does.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::{KeyLayout, Value};
    /// # #[derive(RowKey)] struct EventKey { user: String, #[pad(3)] seq: u16 }
    /// let layout = KeyLayout::of::<EventKey>();
    /// assert_eq!(layout.value("seq", "42")?, Value::Integer(42));
    /// # Ok::<(), keyderive::key::EncodeError>(())
    /// ```
    ///
    /// # Errors
    /// For a name that the layout does not have, and a value that is not of the field's type.
    pub fn value(&self, field: &str, value: impl Into<Value>) -> Result<Value, EncodeError> {
        self.accept(self.field_named(field)?, &value.into())
    }

    /// Whether some key can hold this value in a field.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::KeyLayout;
    /// # #[derive(RowKey)] struct EventKey { user: String, #[pad(3)] seq: u16 }
    /// let layout = KeyLayout::of::<EventKey>();
    /// assert!(layout.can_hold("user", "alice")? && !layout.can_hold("user", "a#b")?);
    /// assert!(layout.can_hold("seq", 999)? && !layout.can_hold("seq", 1000)?);
    /// # Ok::<(), keyderive::key::EncodeError>(())
    /// ```
    ///
    /// A scan that is [fixed](DynScan::fix) to a value that no key can hold cannot be planned. No row has such a value, so a program that
    /// takes values from its users can leave it out of an [`any_of`](DynScan::any_of).
    ///
    /// # Errors
    /// Those of [`value`](Self::value): for a name that the layout does not have, and a value that is not of the field's type.
    pub fn can_hold(&self, field: &str, value: impl Into<Value>) -> Result<bool, EncodeError> {
        let at = self.field_named(field)?;
        let value = self.accept(at, &value.into())?;
        let ErasedField { codec, hashed } = self.fields[at];
        let mut out = Vec::new();
        Ok(match hashed {
            // A hash has a length of its own.
            Some(codec) => write_hash(&ErasedPart { codec, value: &value }, self.schema, &mut out).is_ok(),
            None => {
                write_part(&ErasedPart { codec, value: &value }, self.schema, &mut out).is_ok()
                    && out.len() <= MAX_KEY_LEN
            }
        })
    }

    /// The index of a field.
    pub(super) fn field_named(&self, name: &str) -> Result<usize, EncodeError> {
        let fields = self.schema.fields();
        fields.iter().position(|field| field.name() == name).ok_or_else(|| {
            let names: Vec<_> = fields.iter().map(|field| format!("`{}`", field.name())).collect();
            self.fault(format!("there is no field `{name}`; the fields are {}", names.join(", ")))
        })
    }

    /// The value as the field takes it.
    pub(super) fn accept(&self, at: usize, value: &Value) -> Result<Value, EncodeError> {
        match self.fields[at].written().accept(value) {
            Ok(value) => Ok(value.into_owned()),
            Err(error) => {
                Err(EncodeError::field(self.schema.key_type(), self.schema.fields()[at].name(), error))
            }
        }
    }

    pub(crate) fn fault(&self, fault: String) -> EncodeError {
        EncodeError::names(self.schema.key_type(), fault)
    }
}

/// The number of fields whose positions fit on the stack.
const FEW: usize = 16;

/// Reads the fields of a key, from the left, each by `read`.
#[inline]
fn read<'k>(
    layout: &KeyLayout,
    key: &'k [u8],
    read: impl FnMut(usize, &ErasedCodec, Cow<'k, [u8]>, Option<&'k str>) -> Result<(), FieldError>,
) -> Result<(), DecodeError> {
    let count = layout.fields.len();
    let mut few = [Span::default(); FEW];
    let mut many = Vec::new();
    let spans = match few.get_mut(..count) {
        Some(spans) => spans,
        None => {
            many.resize(count, Span::default());
            many.as_mut_slice()
        }
    };
    match layout.plain {
        Some(shape) => read_by(KeyReader::new(shape, spans, key), &layout.fields, read),
        None => read_by(KeyReader::new(layout.schema, spans, key), &layout.fields, read),
    }
}

#[inline]
fn read_by<'k, S: Shape>(
    mut reader: KeyReader<'k, S, &mut [Span]>,
    fields: &[ErasedField],
    mut read: impl FnMut(usize, &ErasedCodec, Cow<'k, [u8]>, Option<&'k str>) -> Result<(), FieldError>,
) -> Result<(), DecodeError> {
    reader.head()?;
    for (at, ErasedField { codec, .. }) in fields.iter().enumerate() {
        reader.part(at, codec.width(), |bytes, text| read(at, codec, bytes, text))?;
    }
    reader.finish()
}

impl fmt::Debug for KeyLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyLayout").field(&self.schema.template().to_string()).finish()
    }
}

/// The first fields of row keys, from [`KeyLayout::decode_start`]. `{}` prints the bucket, the complete fields, and the bytes after them
/// with the name of their field.
#[derive(Clone)]
pub struct KeyStart {
    bucket: Option<i32>,
    fields: Vec<Value>,
    rest: Box<[u8]>,
    layout: KeyLayout,
}

impl KeyStart {
    /// The salt's bucket, if keys have one and the bytes name it.
    #[must_use]
    pub fn bucket(&self) -> Option<i32> {
        self.bucket
    }

    /// Each complete field, from the left.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.layout.schema.fields().iter().map(Field::name).zip(&self.fields)
    }

    /// The bytes after them.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }

    /// The field to which the remaining bytes belong; `None` if they belong to the bucket.
    pub(crate) fn begun(&self) -> Option<&'static Field> {
        let schema = self.layout.schema;
        let is_field = !self.rest.is_empty() && (self.bucket.is_some() || schema.first_salt().is_none());
        schema.fields().get(self.fields.len()).filter(|_| is_field)
    }
}

impl fmt::Display for KeyStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(bucket) = self.bucket {
            write!(f, "bucket {bucket}")?;
            separator = ", ";
        }
        for ((name, value), field) in self.fields().zip(&*self.layout.fields) {
            write!(f, "{separator}{name} {}", fmt::from_fn(|f| field.codec.show(value, f)))?;
            separator = ", ";
        }
        match &*self.rest {
            [] => Ok(()),
            rest => {
                f.write_str(separator)?;
                self.begun().map_or(Ok(()), |field| write!(f, "{} ", field.name()))?;
                write!(f, "`{}`", Readable(rest))
            }
        }
    }
}

impl fmt::Debug for KeyStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A row key that was decoded by a [`KeyLayout`]: the values of its fields.
///
/// It keeps the encoded key, so that it names a row in the calls of [`DynTable`](crate::table::DynTable).
///
/// `{}` prints it as the derived `Debug` of its struct does, with times in RFC 3339. serde serializes it as a map of its fields.
#[derive(Clone, PartialEq)]
pub struct DynKey {
    schema: &'static KeySchema,
    bytes: Box<[u8]>,
    values: Vec<Value>,
}

impl DynKey {
    /// The value of a field; `None` if the layout has no such field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// The values of the fields, from the left.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Each field's name and value, from the left.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.schema.fields().iter().map(Field::name).zip(&self.values)
    }
}

/// The key of tables whose layout is data.
#[diagnostic::do_not_recommend]
impl TableKey for DynKey {
    type Stored = Self;
    type Codecs = KeyLayout;

    fn encode_stored(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.bytes);
        Ok(())
    }

    fn codecs(schema: &'static KeySchema) -> KeyLayout {
        KeyLayout::of_checked(schema)
    }

    fn stored(layout: &KeyLayout, key: &[u8]) -> Result<Self, DecodeError> {
        layout.decode(key)
    }
}

/// The encoded key.
impl AsRef<[u8]> for DynKey {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Display for DynKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct(self.schema.key_type());
        for (field, value) in self.schema.fields().iter().zip(&self.values) {
            let value = fmt::from_fn(|f| match ErasedCodec::of(field, self.schema.layout()) {
                Ok(codec) => codec.show(value, f),
                Err(_) => write!(f, "{value:?}"),
            });
            shown.field(field.name(), &format_args!("{value}"));
        }
        shown.finish()
    }
}

impl fmt::Debug for DynKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for DynKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.values.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
