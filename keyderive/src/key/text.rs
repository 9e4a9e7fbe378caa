//! A key as text for people.

use std::fmt;

use super::row_key::RowKey;

/// Writes the text of a key, in the width and alignment that `f` asks for; what the derive's `Display` calls.
///
/// A key that cannot be written is shown as its error, since a `Display` that fails makes `to_string` panic.
///
/// # Errors
/// Those of `f`.
pub fn display_key<K: RowKey>(key: &K, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match key.to_text() {
        Ok(text) => f.pad(&text),
        Err(error) => write!(f, "<{} cannot be written: {error}>", K::SCHEMA.key_type()),
    }
}
