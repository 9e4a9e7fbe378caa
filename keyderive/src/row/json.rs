//! JSON in one cell: the encoding of `#[row(json)]`.

mod check;

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::check::{Lost, check};
use super::show::Excerpt;
use super::{CellError, CellWriter};

/// Appends a value as JSON, if JSON gives it back.
pub(super) fn write<T: Serialize>(value: &T, out: &mut CellWriter<'_>) -> Result<(), CellError> {
    match check(value, 0) {
        // The writer reports what has no encoding at all.
        Ok(()) | Err(Lost::Other) => serde_json::to_writer(out, value).map_err(|error| {
            CellError::unsupported(format_args!("cannot be written as JSON: {error}")).with_source(error)
        }),
        Err(lost) => Err(CellError::unsupported(lost)),
    }
}

/// Reads a value from JSON.
pub(super) fn read<T: DeserializeOwned>(value: &[u8]) -> Result<T, CellError> {
    serde_json::from_slice(value).map_err(|error| {
        let message = format!("holds {}, which is not its field as JSON: {error}", Excerpt(value));
        CellError::malformed(message).with_source(error)
    })
}
