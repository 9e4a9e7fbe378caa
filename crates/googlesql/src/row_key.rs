//! Row keys as the columns of a row key schema.

use bytes::Bytes;
use keyderive_proto::admin::r#type::r#struct::encoding::Encoding;
use keyderive_proto::admin::r#type::{Int64, Kind, Struct, int64, timestamp};
use tonic::Status;

use crate::error::unimplemented;
use crate::types::Type;
use crate::value::Value;

/// The SQL type of a field.
pub(crate) fn field_type(of: Option<&Kind>) -> Result<Type, Status> {
    Ok(match of {
        Some(Kind::StringType(_)) => Type::Text,
        Some(Kind::BytesType(_)) => Type::Bytes,
        Some(Kind::Int64Type(_)) => Type::Int64,
        Some(Kind::TimestampType(_)) => Type::Timestamp,
        _ => {
            return Err(unimplemented(
                "row key schemas with other types than STRING, BYTES, INT64 and TIMESTAMP",
            ));
        }
    })
}

/// How a number of a field is stored.
#[derive(Clone, Copy, PartialEq)]
enum Number {
    BigEndian,
    OrderedCode,
}

/// The fields of a row key.
///
/// # Errors
/// If the key does not fit the schema.
pub(crate) fn fields(key: &Bytes, schema: Option<&Struct>) -> Result<Vec<Value>, Status> {
    let Some(schema) = schema else { return Ok(Vec::new()) };
    let kinds = schema.fields.iter().map(|field| field.r#type.as_ref().and_then(|of| of.kind.as_ref()));
    let kinds: Vec<(Option<&Kind>, Option<Number>)> = kinds.map(|of| (of, number(of))).collect();
    let encoding = schema.encoding.as_ref().and_then(|encoding| encoding.encoding.as_ref());
    let parts = match encoding {
        Some(Encoding::Singleton(_)) => Some(vec![key.clone()]),
        Some(Encoding::DelimitedBytes(delimited)) => delimited_parts(key, &delimited.delimiter, &kinds),
        Some(Encoding::OrderedCodeBytes(_)) => ordered_parts(key, kinds.len()),
        None => return Err(unimplemented("a row key schema without an encoding")),
    };
    let values = parts.filter(|parts| parts.len() == kinds.len()).and_then(|parts| {
        parts
            .iter()
            .zip(&kinds)
            .map(|(part, (of, number))| value(part, *of, *number))
            .collect::<Option<Vec<_>>>()
    });
    values.ok_or_else(|| {
        Status::failed_precondition(format!(
            "the row key `{}` does not fit the row key schema of the table; select `_key` alone, or leave such rows out",
            key.escape_ascii()
        ))
    })
}

fn number(of: Option<&Kind>) -> Option<Number> {
    let encoding = |number: Option<&int64::Encoding>| match number.and_then(|of| of.encoding.as_ref()) {
        Some(int64::encoding::Encoding::OrderedCodeBytes(_)) => Number::OrderedCode,
        _ => Number::BigEndian,
    };
    match of {
        Some(Kind::Int64Type(Int64 { encoding: number })) => Some(encoding(number.as_ref())),
        Some(Kind::TimestampType(time)) => match time.encoding.as_ref().and_then(|of| of.encoding.as_ref()) {
            Some(timestamp::encoding::Encoding::UnixMicrosInt64(number)) => Some(encoding(Some(number))),
            None => Some(Number::BigEndian),
        },
        _ => None,
    }
}

fn value(part: &Bytes, of: Option<&Kind>, number: Option<Number>) -> Option<Value> {
    let int = || match number? {
        Number::BigEndian => part[..].try_into().ok().map(i64::from_be_bytes),
        Number::OrderedCode => ordered_int(part),
    };
    match of? {
        Kind::StringType(_) => str::from_utf8(part).ok().map(|text| Value::Text(text.to_owned())),
        Kind::Int64Type(_) => int().map(Value::Int64),
        Kind::TimestampType(_) => int().map(Value::Timestamp),
        _ => Some(Value::Bytes(part.clone())),
    }
}

/// The parts between delimiters. A number has 8 bytes, which may contain the delimiter.
fn delimited_parts(
    key: &Bytes,
    delimiter: &[u8],
    kinds: &[(Option<&Kind>, Option<Number>)],
) -> Option<Vec<Bytes>> {
    let mut rest = &key[..];
    let mut parts = Vec::with_capacity(kinds.len());
    for (place, (_, number)) in kinds.iter().enumerate() {
        let end = match number {
            Some(Number::BigEndian) => 8,
            _ if delimiter.is_empty() => rest.len(),
            _ => (0..rest.len()).find(|at| rest[*at..].starts_with(delimiter)).unwrap_or(rest.len()),
        };
        let (part, after) = rest.split_at_checked(end)?;
        parts.push(key.slice_ref(part));
        let is_last = place + 1 == kinds.len();
        rest = if is_last { after } else { after.strip_prefix(delimiter)? };
    }
    rest.is_empty().then_some(parts)
}

/// The parts of a key in `ordered_code_bytes`: between `00 01`, with zero bytes as `00 ff`. An empty part is `00 00`, and those at the
/// end are left out.
fn ordered_parts(key: &[u8], count: usize) -> Option<Vec<Bytes>> {
    let mut parts = vec![Vec::new()];
    let mut bytes = key.iter().copied();
    let mut is_marked = false;
    while let Some(byte) = bytes.next() {
        let part = parts.last_mut()?;
        match byte {
            0 => match bytes.next()? {
                0 if part.is_empty() && !is_marked => is_marked = true,
                // Without a mark, an empty part is a missing field.
                1 if is_marked || !part.is_empty() => {
                    parts.push(Vec::new());
                    is_marked = false;
                }
                0xff if !is_marked => part.push(0),
                _ => return None,
            },
            _ if is_marked => return None,
            byte => part.push(byte),
        }
    }
    let has_end = is_marked || parts.last().is_some_and(|part| !part.is_empty());
    if !has_end {
        return None;
    }
    let missing = count.checked_sub(parts.len())?;
    parts.extend(std::iter::repeat_n(Vec::new(), missing));
    Some(parts.into_iter().map(Bytes::from).collect())
}

/// A number in as few bytes as it needs: its first bits say how many, and are inverted if it is negative.
fn ordered_int(part: &[u8]) -> Option<i64> {
    let is_negative = part.first()? & 0x80 == 0;
    if part.len() > 10 {
        return None;
    }
    let invert = if is_negative { 0xff } else { 0 };
    let bits = part.iter().fold(0u128, |bits, byte| bits << 8 | u128::from(byte ^ invert));
    let count = u32::try_from(part.len()).ok()?;
    let is_marked = (bits << (128 - 8 * count)).leading_ones() == count;
    let number = bits & ((1 << (7 * count)) - 1);
    // The least count of bytes that it fits into.
    let needs_all = count == 1 || number >> (7 * (count - 1) - 1) != 0;
    let number = i64::try_from(number).ok().filter(|_| is_marked && needs_all)?;
    Some(if is_negative { -1 - number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_numbers_are_read_as_they_are_written() {
        for (number, bytes) in [
            (42, &b"\xaa"[..]),
            (-42, b"\x56"),
            (63, b"\xbf"),
            (-64, b"\x40"),
            (300, b"\xc1\x2c"),
            (-300, b"\x3e\xd4"),
            (i64::MAX, b"\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff"),
            (i64::MIN, b"\x00\x3f\x80\x00\x00\x00\x00\x00\x00\x00"),
        ] {
            assert_eq!(ordered_int(bytes), Some(number));
        }
        // Too short, too long, and in more bytes than it needs.
        for bytes in [&b""[..], b"\xc1", b"\xaa\x00", b"\xc0\x2a", &[0xff; 10], &[0xff; 11]] {
            assert_eq!(ordered_int(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn ordered_parts_are_split_and_unescaped() {
        let parts = |key: &[u8]| {
            ordered_parts(key, 3).map(|parts| parts.iter().map(|part| part.to_vec()).collect::<Vec<_>>())
        };
        let expect = |parts: [&[u8]; 3]| Some(parts.map(<[u8]>::to_vec).to_vec());
        assert_eq!(parts(b"a\0\x01\0\0\0\x01b\0\xffc"), expect([b"a", b"", b"b\0c"]));
        assert_eq!(parts(b"a"), expect([b"a", b"", b""]));
        assert_eq!(parts(b"\0\0"), expect([b"", b"", b""]));
        for key in [
            &b""[..],
            b"a\0",
            b"a\0\x02",
            b"a\0\x01",
            b"\0\x01b",
            b"a\0\0",
            b"\0\0b",
            b"a\0\x01b\0\x01c\0\x01d",
        ] {
            assert_eq!(parts(key), None, "{key:?}");
        }
    }
}
