//! What a row key is: fields, codecs, the salt, the schema. No I/O, no async.
//!
//! [`RowKey`] is what the derive implements. A field's type is a [`KeyField`] for the codec that its
//! attributes choose; [`codec`] lists the codecs and what each writes. [`Schema`] is the whole layout as
//! constant data.

pub mod codec;
mod decimal;
mod decode;
mod encode;
mod error;
mod farm;
mod field;
mod java;
mod row_key;
mod salt;
mod schema;
mod show;

pub use decode::{KeyReader, decode as decode_fields};
pub use encode::{KeyWriter, encode as encode_fields};
pub use error::{DecodeError, EncodeError, FieldError};
pub use farm::fingerprint64;
pub use field::{Cut, KeyField, PrefixField, RangeField, Side};
pub use row_key::{OwnedRowKey, RowKey};
pub use salt::{Salt, SaltHash, SaltPlace};
pub use schema::{Field, FieldOrder, Format, Schema, Width};

pub(crate) use encode::{check_len, write_field};
pub(crate) use salt::{Span, bucket_of};
#[cfg(feature = "client")]
pub(crate) use show::ShownKey;
pub(crate) use show::{Hex, Readable};

/// The most bytes that Bigtable allows in a row key.
pub const MAX_KEY_LEN: usize = 4096;
