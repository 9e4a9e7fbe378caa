//! What a row key is: fields, codecs, the salt, the schema. No I/O, no async.
//!
//! The derive implements [`RowKey`]. A field's type implements [`KeyField`] for the codec that its attributes choose;
//! [`codec`] lists the codecs and their bytes. [`Schema`] is the layout of a key type as constant data.

pub mod codec;
mod decimal;
mod decode;
mod encode;
mod epoch;
mod error;
mod fast;
mod field;
mod format;
#[cfg(feature = "client")]
mod key_type;
pub(crate) mod ordered;
mod row_key;
mod salt;
mod schema;
mod show;
mod sql;

pub use decode::{KeyReader, decode as decode_fields};
pub use encode::{KeyWriter, encode as encode_fields, written_len};
pub use epoch::{BoundValue, Epoch};
pub use error::{DecodeError, EncodeError};
pub use fast::KeyBuf;
pub use field::{Cut, FieldError, KeyField, PrefixField, RangeField, Side, read_custom, write_custom};
pub use format::{Field, FieldOrder, FieldValues, Format, Layout, TimeUnit, Width};
pub use keyderive_farmhash::fingerprint64;
pub use row_key::{OwnedRowKey, RawKey, RowKey, TableKey, display_key};
pub use salt::{Salt, SaltHash, SaltPlace};
#[cfg(feature = "client")]
pub(crate) use schema::{ConstText, Fnv};
pub use schema::{Fingerprint, Schema};
#[cfg(feature = "client")]
pub(crate) use sql::{ColumnJoin, SqlColumnType};
pub use sql::{RowKeySchema, Sql, SqlError};

pub(crate) use encode::{check_len, ordered_end, write_field, write_hashed};
#[cfg(feature = "client")]
pub(crate) use fast::as_text;
#[cfg(feature = "client")]
pub(crate) use key_type::KeyType;
pub(crate) use salt::{Bucket, Span};
pub(crate) use schema::bucket_of;
#[cfg(feature = "client")]
pub(crate) use show::ShownKey;
pub(crate) use show::{Hex, Readable};

/// Bigtable's limit on the length of a row key, in bytes.
pub const MAX_KEY_LEN: usize = 4096;
