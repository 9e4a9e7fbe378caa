//! A key type by value, for code that is not generic over it.

use super::error::{DecodeError, EncodeError};
use super::format::KeyEncoding;
use super::row_key::{RowKey, TableKey};
use super::schema::KeySchema;

/// What a table needs of its key type without decoding a key: the layout, and whether bytes are a key of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyType {
    schema: &'static KeySchema,
    check: fn(&'static KeySchema, &[u8]) -> Result<(), DecodeError>,
}

impl KeyType {
    pub(crate) fn of<K: RowKey>() -> Self {
        Self { schema: K::SCHEMA, check: |_, key| K::decode(key).map(drop) }
    }

    /// A key type that is known by its schema alone, and a check of bytes by it.
    pub(crate) fn of_data(
        schema: &'static KeySchema,
        check: fn(&'static KeySchema, &[u8]) -> Result<(), DecodeError>,
    ) -> Self {
        Self { schema, check }
    }

    pub(crate) fn schema(self) -> &'static KeySchema {
        self.schema
    }

    /// The stored key.
    pub(crate) fn encode<K: TableKey>(self, key: &K) -> Result<Vec<u8>, EncodeError> {
        let mut out = match self.schema.layout() {
            KeyEncoding::Delimited => Vec::new(),
            KeyEncoding::OrderedCode => Vec::with_capacity(64),
        };
        key.encode_stored(&mut out)?;
        Ok(out)
    }

    /// Fails for bytes that are not a key of this type, as decoding them does.
    pub(crate) fn check(self, key: &[u8]) -> Result<(), DecodeError> {
        (self.check)(self.schema, key)
    }
}
