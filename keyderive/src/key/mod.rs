//! What a row key is: fields, codecs, the salt, the schema. No I/O, no async.
//!
//! [`RowKey`] is what the derive implements. A field's type is a [`KeyField`] for the codec that its
//! attributes choose; [`codec`] lists the codecs and what each writes. [`Schema`] is the whole layout as
//! constant data.

pub mod codec;
mod custom;
mod decimal;
mod decode;
mod encode;
mod error;

mod fast;
mod field;
mod fingerprint;
mod format;
mod java;
pub(crate) mod ordered;
mod row_key;
mod salt;
mod schema;
mod show;
mod sql;
mod text;

pub use custom::{read_custom, write_custom};
pub use decode::{KeyReader, decode as decode_fields};
pub use encode::{KeyWriter, encode as encode_fields, written_len};
pub use error::{DecodeError, EncodeError, FieldError};
pub use fast::KeyBuf;
pub use field::{Cut, KeyField, PrefixField, RangeField, Side};
pub use fingerprint::Fingerprint;
pub use format::{Field, FieldOrder, Format, TimeUnit, Width};
pub use keyderive_farmhash::fingerprint64;
pub use row_key::{OwnedRowKey, RawKey, RowKey, TableKey};
pub use salt::{Salt, SaltHash, SaltPlace};
pub use schema::{Layout, Schema};
#[cfg(feature = "client")]
pub(crate) use sql::{Encoding as ColumnEncoding, Kind as ColumnKind};
pub use sql::{RowKeySchema, Sql, SqlError};
pub use text::display_key;

pub(crate) use encode::{check_len, ordered_end, write_field, write_hashed};
#[cfg(feature = "client")]
pub(crate) use fast::as_text;
pub(crate) use salt::{Span, bucket_of};
#[cfg(feature = "client")]
pub(crate) use show::ShownKey;
pub(crate) use show::{Hex, Readable};

/// The most bytes that Bigtable allows in a row key.
pub const MAX_KEY_LEN: usize = 4096;
