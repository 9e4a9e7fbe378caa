//! Protobuf by hand, where messages are read or written in place.

mod reader;
mod writer;

pub(super) use self::reader::{LENGTH, Reader, VARINT, What, Wrong, short_varint};
pub(super) use self::writer::{begin, bytes, bytes_len, int, int_len};
