//! What a row key is: fields, codecs, the salt, the schema. No I/O, no async.
//!
//! The derive implements [`RowKey`]. A field's type implements [`KeyField`] for the codec that its attributes choose;
//! [`codec`] lists the codecs and their bytes. [`KeySchema`] is the layout of a key type as constant data.

pub mod codec;
mod decimal;
mod decode;
mod encode;
mod epoch;
mod error;
mod fast;
mod field;
mod format;
mod key_type;
pub(crate) mod ordered;
mod raw_key;
mod rekeyed;
mod row_key;
mod salt;
mod schema;
mod shape;
mod show;
mod sql;
mod value;

pub(crate) use codec::{ErasedCodec, ErasedPart, ReadValue};
pub(crate) use codec::{parse_date, parse_utc};
pub(crate) use encode::encode_by;
pub use epoch::{BoundValue, Epoch};
pub use error::{DecodeError, EncodeError};
pub use field::FieldError;
#[doc(no_inline)]
pub use field::{Arg, KeyField};
pub(crate) use field::{Cut, PrefixField, RangeField, Side};
pub use format::{Field, FieldOrder, FieldValues, Format, KeyEncoding, TimeUnit, Width};
pub use keyderive_farmhash::fingerprint64;
#[doc(no_inline)]
pub use keyderive_macros::{KeyField, RowKey};
pub use raw_key::{ParseKeyError, RawKey};
#[doc(hidden)]
pub use rekeyed::RekeyedFields;
pub use rekeyed::RekeyedFrom;
#[doc(no_inline)]
pub use row_key::RowKey;
pub use row_key::{OwnedRowKey, TableKey};
pub use salt::{Salt, SaltHash, SaltPlace};
#[cfg(feature = "json")]
pub(crate) use schema::changes::{BOUNDS, KeyChange, changes};
pub(crate) use schema::{ConstText, Fnv};
pub use schema::{Fingerprint, KeySchema};
pub(crate) use sql::{ColumnJoin, SqlColumnType};
pub use sql::{RowKeySchema, Sql, SqlError};

pub(crate) use decode::KeyReader;
pub(crate) use encode::{Part, Typed, check_len, ordered_end, write_hash, write_part};
pub(crate) use fast::as_text;
pub(crate) use key_type::KeyType;
pub(crate) use salt::{Bucket, Span};
pub(crate) use schema::bucket_of;
pub(crate) use shape::{PlainText, Shape};
pub(crate) use show::Readable;
pub(crate) use show::ShownKey;
pub(crate) use show::{Hex, UnquotedKey};
#[doc(hidden)]
pub use value::{Value, ValueRef};

/// What a [`KeyField`] that is written by hand needs beside [`FieldError`], [`Format`] and [`Width`]: its example shows them.
pub mod custom {
    pub use super::codec::{Ordered, Text};
    pub use super::field::{Cut, PrefixField, RangeField, Side};
}

/// What generated code uses of keys.
#[doc(hidden)]
pub mod generated {
    pub use super::codec::{
        BitReverse, Code, CodeCodec, DateTime17, Desc, Escape, Exact, Micros, Millis, Nanos, Ordered, Pad,
        ReverseTs, Secs, Simple, Text, Ts, V4,
    };
    pub use super::decode::{KeyReader, key_reader};
    pub use super::encode::{KeyWriter, encode as encode_fields, written_len};
    pub use super::fast::KeyBuf;
    pub use super::field::{Cut, PrefixField, RangeField, Side, read_custom, write_custom};
    pub use super::row_key::display_key;
}

/// Bigtable's limit on the length of a row key, in bytes.
pub const MAX_KEY_LEN: usize = 4096;
