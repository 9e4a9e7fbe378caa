//! The trait of all row keys.

use std::fmt;

use super::error::{DecodeError, EncodeError};
use super::format::KeyEncoding;
use super::rekeyed::RekeyedFields;
use super::schema::{Fingerprint, KeySchema};
use super::sql::{RowKeySchema, Sql, SqlError};

/// A struct that is the row key of a table; derive it.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey, Debug, PartialEq)]
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
/// let key = EventKey { user_id: "alice".into(), site: "home".into(), at: 1426535612156, seq: 42 };
/// let bytes = key.encode()?;
/// assert_eq!(bytes, b"1#alice#home#9223370610319163651#000042");
/// assert_eq!(EventKey::decode(&bytes)?, key);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Laws
/// - `decode(encode(k)) == k`, with each time rounded down to the unit that its field stores, and
///   `encode(decode(bytes)) == bytes` for all bytes that decode accepts.
/// - Within a bucket, the order of the bytes is the declared order: field by field from the left.
/// - The bucket is a function of the encoded fields, the same on every machine and in every release.
/// - A key has 1 to 4096 bytes; a value that the key cannot hold is an error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row key",
    note = "write `#[derive(keyderive::RowKey)]` on its struct"
)]
pub trait RowKey {
    /// The decoded key: `Self`, whose borrowed fields borrow from the key's bytes for `'a`.
    type Decoded<'a>;

    /// The scan builder before any field is constrained.
    type Scan;

    /// The layout of the key.
    const SCHEMA: &'static KeySchema;

    /// The names of the fields in the struct, if the schema has others.
    #[doc(hidden)]
    const FIELD_NAMES: &'static [&'static str] = &[];

    /// The key type whose place it takes, with `#[row_key(rekeyed_from = …)]`.
    #[doc(hidden)]
    const REKEYED_FROM: Option<RekeyedFields> = None;

    /// Appends the row key to `out`; on an error `out` is unchanged.
    ///
    /// # Errors
    /// When a field cannot hold its value, or the key is empty or over 4096 bytes.
    fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// Encodes the row key. In the text layout, this usually makes a single allocation, of the key's length.
    ///
    /// # Errors
    /// Those of [`encode_into`](Self::encode_into).
    fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut out = match Self::SCHEMA.layout() {
            KeyEncoding::Delimited => Vec::new(),
            KeyEncoding::OrderedCode => Vec::with_capacity(64),
        };
        self.encode_into(&mut out)?;
        Ok(out)
    }

    /// The salt bucket of the key; `None` if the key type has no salt.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// #[derive(RowKey)]
    /// #[salt(range = 4, over = "user_id")]
    /// struct EventKey {
    ///     user_id: String,
    ///     at: u64,
    /// }
    ///
    /// let key = EventKey { user_id: "alice".into(), at: 5 };
    /// assert_eq!(key.encode()?, b"1#alice#00000000000000000005");
    /// assert_eq!(key.salt_bucket()?, Some(1));
    /// # Ok::<(), keyderive::key::EncodeError>(())
    /// ```
    ///
    /// This encodes the key. Only [`SaltHash::Java`](super::SaltHash::Java) has buckets below 0.
    ///
    /// # Errors
    /// Those of [`encode_into`](Self::encode_into).
    fn salt_bucket(&self) -> Result<Option<i32>, EncodeError> {
        Ok(Self::SCHEMA.bucket_of(&self.encode()?))
    }

    /// Decodes a row key. Accepts exactly the bytes that encode writes; borrowed fields do not allocate.
    ///
    /// # Errors
    /// For every other key: another tag, a wrong bucket, a forbidden byte, a non-canonical encoding of a value.
    fn decode(key: &[u8]) -> Result<Self::Decoded<'_>, DecodeError>;

    /// The row key as text: the stored bytes, which are UTF-8 in the text layout.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # #[derive(RowKey)] struct EventKey { user_id: String, at: u64 }
    /// let key = EventKey { user_id: "alice".into(), at: 5 };
    /// assert_eq!(key.to_text()?, "alice#00000000000000000005");
    /// assert_eq!(EventKey::from_text("alice#00000000000000000005")?.at, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`encode_into`](Self::encode_into), and when a `with` module or a handwritten
    /// [`KeyField`](super::KeyField) writes bytes that are not UTF-8. A key of the ordered layout is never text.
    fn to_text(&self) -> Result<String, EncodeError> {
        let schema = Self::SCHEMA;
        let text = match schema.layout() {
            KeyEncoding::Delimited => String::from_utf8(self.encode()?).ok(),
            KeyEncoding::OrderedCode => None,
        };
        text.ok_or_else(|| EncodeError::not_text(schema.key_type(), schema.layout()))
    }

    /// Decodes a row key from its text, as [`to_text`](Self::to_text) returns it.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode).
    fn from_text(text: &str) -> Result<Self::Decoded<'_>, DecodeError> {
        Self::decode(text.as_bytes())
    }

    /// A scan of the whole table; constrain it field by field, from the left.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # #[derive(RowKey)] struct EventKey { user_id: String, at: u64 }
    /// let plan = EventKey::scan().user_id("alice").at_range(1000..2000).into_plan()?;
    /// # Ok::<(), keyderive::plan::PlanError>(())
    /// ```
    fn scan() -> Self::Scan;

    /// The hash of the key type's layout.
    #[must_use]
    fn fingerprint() -> Fingerprint {
        Self::SCHEMA.fingerprint()
    }

    /// The row key schema, which makes the key's parts columns in SQL.
    ///
    /// # Errors
    /// Those of [`KeySchema::row_key_schema`]: for a name that no column can have, and in the text layout for a part whose
    /// bytes a delimited schema cannot hold, such as a padded string. The text names the part.
    fn row_key_schema() -> Result<RowKeySchema, SqlError> {
        Self::SCHEMA.row_key_schema()
    }

    /// The SQL expressions that compute the typed fields and the salt.
    ///
    /// # Errors
    /// Those of [`KeySchema::sql`]: those of [`row_key_schema`](Self::row_key_schema), and for a number wider than an
    /// `INT64`, a field with `bit_reverse`, or a salt that SQL cannot recompute.
    fn sql() -> Result<Sql, SqlError> {
        Self::SCHEMA.sql()
    }
}

/// Writes the text of a key, in the width and alignment of `f`; the derived `Display` calls it.
///
/// Instead of a key that cannot be encoded it writes the error, since a `Display` that fails makes `to_string` panic.
///
/// # Errors
/// Those of `f`.
pub fn display_key<K: RowKey>(key: &K, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match key.to_text() {
        Ok(text) => f.pad(&text),
        Err(error) => write!(f, "<{} cannot be written: {error}>", K::SCHEMA.key_type()),
    }
}

/// A row key that owns its fields, so that decode returns the same type.
///
/// The derive of [`RowKey`] implements it for every key type without borrowed and hashed fields.
pub trait OwnedRowKey: for<'a> RowKey<Decoded<'a> = Self> + Sized + Send + Sync + 'static {}

/// The type of a table's row keys.
///
/// The derive of [`RowKey`] implements it for every key type without borrowed fields. A key with a hashed field cannot be
/// decoded, so its tables return [`RawKey`](super::RawKey)s. [`DynKey`](crate::dynamic::DynKey) is the key type of tables whose layout is
/// data, and has no layout of its own: code for any key type that needs one, such as for plans, asks for `K: RowKey + TableKey`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of a table",
    label = "not a row key that owns its fields",
    note = "a table hands out keys that own their fields: derive `RowKey` on a struct with `String` in place of `&str`"
)]
pub trait TableKey: Send + Sync + 'static {
    /// What a table returns for a stored key: the key itself, or its bytes.
    type Stored: Send + 'static;

    /// What decoding takes from the layout: nothing, `()`, for a type whose layout the compiler knows.
    type Codecs: Clone + Send + Sync + 'static;

    /// Appends the stored key to `out`; on an error `out` is unchanged.
    ///
    /// # Errors
    /// Those of [`RowKey::encode_into`].
    fn encode_stored(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// The codecs of a layout, to decode many keys with. The layout of a type with [`RowKey`] is [`RowKey::SCHEMA`].
    fn codecs(schema: &'static KeySchema) -> Self::Codecs;

    /// Decodes a key of a table with this layout, or only checks it if a hashed field prevents decoding.
    ///
    /// # Errors
    /// For a key that is not of this layout.
    fn stored(codecs: &Self::Codecs, key: &[u8]) -> Result<Self::Stored, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl<K: OwnedRowKey> TableKey for K {
    type Stored = K;
    type Codecs = ();

    #[inline]
    fn encode_stored(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode_into(out)
    }

    #[inline]
    fn codecs(_: &'static KeySchema) {}

    #[inline]
    fn stored((): &(), key: &[u8]) -> Result<K, DecodeError> {
        K::decode(key)
    }
}
