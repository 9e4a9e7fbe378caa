//! How the answers to a query become rows.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use keyderive_proto::data::value::Kind;
use keyderive_proto::data::{ArrayValue, PartialResultSet, Value, partial_result_set::PartialRows};
use prost::Message as _;

use crate::client::protobuf::{LENGTH, Reader, WireError, WireErrorKind};
use crate::query::{SqlType, SqlValue};

/// The most bytes of rows since the last resume token, as received. The rows before the token are delivered by then.
const MAX_BYTES: usize = 256 << 20;

/// The most values of a row, with those in its arrays, structs and maps.
const MAX_VALUES: usize = 4 << 20;

/// The numbers of fields: the values of a batch, the elements of an array, an array as a value, the type of a value.
const BATCH_VALUES: u32 = 2;
const ELEMENTS: u32 = 1;
const ARRAY: u32 = 4;
const TYPE: u32 = 7;

/// Puts the rows of a query together.
///
/// A batch of values comes in parts, the last of them with a checksum. A resume token says that the batches so far are whole
/// rows: only then are they delivered, since what came after the last token is void when the server resets the stream, or the
/// client resumes it.
///
/// Values stay encoded until their row is delivered: a NULL takes two bytes encoded, and many times that decoded.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// Received since the last token: whole batches, then the parts of an unfinished one.
    received: BytesMut,
    /// How many bytes of `received` are whole batches.
    whole: usize,
    /// How many values these have.
    values: usize,
    /// The checksums of these batches, in one number.
    checksum: u32,
    /// The batches before the last token.
    rows: Bytes,
    /// Where in `rows` the next value begins, and how many there are.
    next: usize,
    left: usize,
    /// The last token that came after rows, and the checksum of these.
    last: (Bytes, u32),
}

impl Assembler {
    /// Takes a part of an answer to a query with `columns` columns, once the rows before it are delivered. Returns its
    /// resume token.
    ///
    /// # Errors
    /// How the answer breaks the protocol.
    pub(super) fn take(&mut self, part: PartialResultSet, columns: usize) -> Result<Option<Bytes>, String> {
        if part.reset {
            self.restart();
        }
        if let Some(PartialRows::ProtoRowsBatch(rows)) = part.partial_rows {
            if self.received.len() + rows.batch_data.len() > MAX_BYTES {
                return Err(format!(
                    "more than {MAX_BYTES} bytes of rows come without a resume token, and the client keeps no more; select \
                     fewer columns or rows at a time"
                ));
            }
            self.received.extend_from_slice(&rows.batch_data);
        }
        if let Some(expected) = part.batch_checksum {
            let batch = &self.received[self.whole..];
            let found = crc32c::crc32c(batch);
            if found != expected {
                return Err(format!(
                    "unexpected checksum of a batch: {found}, and the server says {expected}"
                ));
            }
            let values = count(batch, BATCH_VALUES)
                .map_err(|error| format!("a batch cannot be decoded: {}", error.into_text()))?;
            self.whole = self.received.len();
            self.values += values;
            self.checksum = self.checksum.rotate_left(1) ^ found;
        }
        if part.resume_token.is_empty() {
            return Ok(None);
        }
        if self.received.len() > self.whole {
            return Err("a resume token comes within a batch".to_owned());
        }
        if !self.values.is_multiple_of(columns) {
            let values = self.values;
            return Err(format!("incomplete row received: {values} values for rows of {columns} columns"));
        }
        let checksum = std::mem::take(&mut self.checksum);
        if self.values > 0 {
            // A token stands for a place in the result, so a body has been sent twice. Servers for tests repeat the token alone.
            let last = (part.resume_token.clone(), checksum);
            if last == self.last {
                return Err("the rows before a resume token come a second time".to_owned());
            }
            self.last = last;
        }
        (self.rows, self.next, self.left) = (self.received.split().freeze(), 0, self.values);
        (self.whole, self.values) = (0, 0);
        Ok(Some(part.resume_token))
    }

    /// Drops what came after the last resume token.
    pub(super) fn restart(&mut self) {
        self.received.clear();
        (self.whole, self.values, self.checksum) = (0, 0, 0);
    }

    /// # Errors
    /// When rows are incomplete at the end of the answers.
    pub(super) fn finish(&self) -> Result<(), String> {
        match self.received.is_empty() {
            true => Ok(()),
            false => Err("it ends without a resume token for its last rows".to_owned()),
        }
    }

    pub(super) fn has_rows(&self) -> bool {
        self.left > 0
    }

    /// The next row: the values of these columns, encoded.
    pub(super) fn next_row(&mut self, columns: usize) -> Option<Vec<Bytes>> {
        self.left = self.left.checked_sub(columns)?;
        let mut reader = Reader::new(&self.rows, self.next);
        let mut values = Vec::with_capacity(columns);
        while values.len() < columns {
            // The batches have been read before, to count their values.
            let value = next(&mut reader, BATCH_VALUES).ok().flatten()?;
            values.push(self.rows.slice_ref(value));
        }
        self.next = reader.at();
        if self.left == 0 {
            self.rows = Bytes::new();
        }
        Some(values)
    }
}

/// The next message of a repeated field.
fn next<'a>(reader: &mut Reader<'a>, field: u32) -> Result<Option<&'a [u8]>, WireError> {
    while let Some((number, wire_type)) = reader.field()? {
        match (number == field, wire_type) {
            (true, LENGTH) => return Ok(Some(reader.span()?.of(reader.bytes()))),
            (true, _) => return Err(reader.wrong(WireErrorKind::WireType)),
            (false, _) => reader.skip(number, wire_type)?,
        }
    }
    Ok(None)
}

/// How many messages a repeated field has.
fn count(message: &[u8], field: u32) -> Result<usize, WireError> {
    let (mut reader, mut count) = (Reader::new(message, 0), 0);
    while next(&mut reader, field)?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Why a value cannot be decoded.
#[derive(Debug)]
pub(super) enum ValueError {
    /// It is not of its type.
    Mismatch(String),
    /// The row has more than [`MAX_VALUES`].
    TooMany,
}

impl ValueError {
    /// The text, for a value of this column.
    pub(super) fn of_column(self, column: &str) -> String {
        match self {
            Self::Mismatch(how) => format!("metadata and value not matching in column `{column}`: {how}"),
            Self::TooMany => format!(
                "a row has more than {MAX_VALUES} values up to column `{column}`, and the client decodes no more; select fewer \
                 elements of its arrays and maps"
            ),
        }
    }
}

impl From<String> for ValueError {
    fn from(how: String) -> Self {
        Self::Mismatch(how)
    }
}

impl From<WireError> for ValueError {
    fn from(error: WireError) -> Self {
        Self::Mismatch(error.into_text())
    }
}

/// Decodes the values of a row.
///
/// Arrays are decoded element by element: as generated messages, they would take several times the memory of the result.
pub(super) struct ValueDecoder {
    /// How many values the row may still have.
    left: usize,
}

impl Default for ValueDecoder {
    fn default() -> Self {
        Self { left: MAX_VALUES }
    }
}

impl ValueDecoder {
    /// Decodes a value of this type. Its bytes are not copied.
    pub(super) fn decode(&mut self, value: &Bytes, of: &SqlType) -> Result<SqlValue, ValueError> {
        self.decode_in(value, value, of)
    }

    /// Decodes a part of a column's value.
    fn decode_in(&mut self, column: &Bytes, value: &[u8], of: &SqlType) -> Result<SqlValue, ValueError> {
        self.left = self.left.checked_sub(1).ok_or(ValueError::TooMany)?;
        let Some((number, field)) = kind(value)? else { return Ok(SqlValue::Null) };
        if number != ARRAY {
            let message = Value::decode(column.slice_ref(field));
            let message = message.map_err(|error| error.to_string())?;
            return Ok(message.kind.map_or(Ok(SqlValue::Null), |kind| SqlValue::of_kind(kind, of))?);
        }
        let array = next(&mut Reader::new(field, 0), ARRAY)?.unwrap_or_default();
        let mut elements = Reader::new(array, 0);
        match of {
            SqlType::Array(of) => {
                let mut values = Vec::with_capacity(self.count(array)?);
                while let Some(element) = next(&mut elements, ELEMENTS)? {
                    values.push(self.decode_in(column, element, of)?);
                }
                Ok(SqlValue::Array(values))
            }
            SqlType::Struct(fields) => {
                let (found, expected) = (self.count(array)?, fields.len());
                if found != expected {
                    return Err(ValueError::Mismatch(format!(
                        "a struct has {found} values, and its type {of} has {expected} fields"
                    )));
                }
                let mut values = Vec::with_capacity(expected);
                for (_, of) in fields {
                    values.push(self.decode_in(
                        column,
                        next(&mut elements, ELEMENTS)?.unwrap_or_default(),
                        of,
                    )?);
                }
                Ok(SqlValue::Struct(values))
            }
            SqlType::Map(key, value) => self.decode_map(column, array, key, value),
            of => Ok(SqlValue::of_kind(Kind::ArrayValue(ArrayValue::default()), of)?),
        }
    }

    fn decode_map(
        &mut self,
        column: &Bytes,
        entries: &[u8],
        key_type: &SqlType,
        value_type: &SqlType,
    ) -> Result<SqlValue, ValueError> {
        let count = self.count(entries)?;
        let (mut places, mut map) = (HashMap::with_capacity(count), Vec::with_capacity(count));
        let mut entries = Reader::new(entries, 0);
        while let Some(entry) = next(&mut entries, ELEMENTS)? {
            let Some((ARRAY, field)) = kind(entry)? else {
                return Err(ValueError::Mismatch("an entry of a map is no array".to_owned()));
            };
            let mut pair = Reader::new(next(&mut Reader::new(field, 0), ARRAY)?.unwrap_or_default(), 0);
            let pair = (next(&mut pair, ELEMENTS)?, next(&mut pair, ELEMENTS)?, next(&mut pair, ELEMENTS)?);
            let (Some(key), Some(value), None) = pair else {
                return Err(ValueError::Mismatch(
                    "an entry of a map is no pair of a key and a value".to_owned(),
                ));
            };
            let entry = (self.decode_in(column, key, key_type)?, self.decode_in(column, value, value_type)?);
            match places.get(key).and_then(|place: &usize| map.get_mut(*place)) {
                Some(earlier) => *earlier = entry,
                None => {
                    places.insert(key, map.len());
                    map.push(entry);
                }
            }
        }
        Ok(SqlValue::Map(map))
    }

    /// How many elements an array has.
    ///
    /// # Errors
    /// When the row may not have this many.
    fn count(&self, array: &[u8]) -> Result<usize, ValueError> {
        let count = count(array, ELEMENTS)?;
        if count > self.left { Err(ValueError::TooMany) } else { Ok(count) }
    }
}

/// The field of a value that says what it is, by its number and with its tag; none for NULL.
fn kind(value: &[u8]) -> Result<Option<(u32, &[u8])>, WireError> {
    let (mut reader, mut kind) = (Reader::new(value, 0), None);
    loop {
        let start = reader.at();
        let Some((number, wire_type)) = reader.field()? else { return Ok(kind) };
        reader.skip(number, wire_type)?;
        if number != TYPE {
            kind = Some((number, &value[start..reader.at()]));
        }
    }
}

#[cfg(test)]
mod tests {
    use keyderive_proto::data::{ProtoRows, ProtoRowsBatch};
    use keyderive_tests::fuzz::{Input, fuzz};

    use super::*;

    /// A part of a batch, the last one if it has a checksum.
    fn part(data: Bytes, is_last: bool, token: &'static str) -> PartialResultSet {
        PartialResultSet {
            batch_checksum: is_last.then(|| crc32c::crc32c(&data)),
            partial_rows: Some(PartialRows::ProtoRowsBatch(ProtoRowsBatch { batch_data: data })),
            resume_token: token.into(),
            ..Default::default()
        }
    }

    #[test]
    fn what_no_token_follows_is_bounded() {
        let mut assembler = Assembler::default();
        let data = Bytes::from(vec![0; MAX_BYTES / 4]);
        for _ in 0..4 {
            assert_eq!(assembler.take(part(data.clone(), false, ""), 1), Ok(None));
        }
        let error = assembler.take(part(Bytes::from_static(&[0]), false, ""), 1).unwrap_err();
        assert!(error.contains("more than 268435456 bytes of rows come without a resume token"), "{error}");
    }

    #[test]
    fn the_values_of_a_row_are_bounded() {
        let of = SqlType::Array(Box::new(SqlType::Int64));
        let array = |elements: usize| {
            let mut value = vec![0x22];
            prost::encode_length_delimiter(2 * elements, &mut value).unwrap();
            value.extend_from_slice(&b"\x0a\0".repeat(elements));
            Bytes::from(value)
        };
        let decoded = ValueDecoder::default().decode(&array(MAX_VALUES - 1), &of).ok().unwrap();
        assert!(matches!(decoded, SqlValue::Array(values) if values.len() == MAX_VALUES - 1));
        let mut decoder = ValueDecoder::default();
        assert!(decoder.decode(&array(1), &of).is_ok());
        // The values of the columns before count too.
        let error = decoder.decode(&array(MAX_VALUES - 2), &of).unwrap_err().of_column("n");
        assert!(error.contains("a row has more than 4194304 values up to column `n`"), "{error}");
    }

    /// Values that break the protocol are not read as others.
    #[test]
    fn malformed_values_are_errors() {
        let array = SqlType::Array(Box::new(SqlType::Int64));
        for (value, what) in [
            (&b"\x20\x01"[..], "wire type"),
            (b"\x22\x05\x0a", "longer than the message"),
            (b"\x22\x02\x08\x01", "wire type"),
            (b"\x30\x01", "a value of the type ARRAY<INT64> has the kind INT_VALUE"),
        ] {
            let error = ValueDecoder::default().decode(&Bytes::from_static(value), &array).unwrap_err();
            let error = error.of_column("n");
            assert!(error.starts_with("metadata and value not matching in column `n`: "), "{error}");
            assert!(error.contains(what), "{error}");
        }
        let of = SqlType::Int64;
        let error = ValueDecoder::default().decode(&Bytes::from_static(b"\x22\0"), &of).unwrap_err();
        let error = error.of_column("n");
        assert!(error.contains("a value of the type INT64 has the kind ARRAY_VALUE"), "{error}");
        let null = ValueDecoder::default().decode(&Bytes::new(), &of).ok();
        assert_eq!(null, Some(SqlValue::Null));
    }

    /// A type of values, at most so deep.
    fn sql_type(input: &mut Input<'_>, depth: u8) -> SqlType {
        match input.below(if depth == 0 { 8 } else { 11 }) {
            0 => SqlType::Bytes,
            1 => SqlType::Text,
            2 => SqlType::Int64,
            3 => SqlType::Float32,
            4 => SqlType::Float64,
            5 => SqlType::Bool,
            6 => SqlType::Timestamp,
            7 => SqlType::Date,
            8 => SqlType::Array(Box::new(sql_type(input, depth - 1))),
            9 => SqlType::Struct(
                (0..input.below(4)).map(|_| (String::new(), sql_type(input, depth - 1))).collect(),
            ),
            _ => SqlType::Map(Box::new(sql_type(input, depth - 1)), Box::new(sql_type(input, depth - 1))),
        }
    }

    /// The value of a generated message; none if it is not of the type.
    fn generated(value: Value, of: &SqlType) -> Option<SqlValue> {
        let values = match (value.kind, of) {
            (None, _) => return Some(SqlValue::Null),
            (Some(Kind::ArrayValue(array)), SqlType::Array(_) | SqlType::Struct(_) | SqlType::Map(..)) => {
                array.values
            }
            (Some(kind), of) => return SqlValue::of_kind(kind, of).ok(),
        };
        Some(match of {
            SqlType::Array(of) => {
                SqlValue::Array(values.into_iter().map(|value| generated(value, of)).collect::<Option<_>>()?)
            }
            SqlType::Struct(fields) if fields.len() == values.len() => {
                let fields = values.into_iter().zip(fields).map(|(value, (_, of))| generated(value, of));
                SqlValue::Struct(fields.collect::<Option<_>>()?)
            }
            SqlType::Map(key_type, value_type) => {
                let mut map: Vec<(Vec<u8>, (SqlValue, SqlValue))> = Vec::new();
                for entry in values {
                    let Some(Kind::ArrayValue(pair)) = entry.kind else { return None };
                    let [key, value] = <[_; 2]>::try_from(pair.values).ok()?;
                    let encoded = key.encode_to_vec();
                    let entry = (generated(key, key_type)?, generated(value, value_type)?);
                    match map.iter_mut().find(|(known, _)| *known == encoded) {
                        Some(known) => known.1 = entry,
                        None => map.push((encoded, entry)),
                    }
                }
                SqlValue::Map(map.into_iter().map(|(_, entry)| entry).collect())
            }
            _ => return None,
        })
    }

    /// As text, in which NaN is equal to itself.
    fn shown(value: Option<&SqlValue>) -> String {
        format!("{value:?}")
    }

    #[test]
    fn query_values() {
        fuzz("query_values", |bytes| {
            let mut input = Input::new(bytes);
            let (of, bytes) = (sql_type(&mut input, 2), Bytes::copy_from_slice(input.rest()));
            let found = ValueDecoder::default().decode(&bytes, &of).ok();
            let Ok(message) = Value::decode(bytes.clone()) else { return };
            // Of a field that comes twice, generated messages merge the parts.
            if message.encode_to_vec() != bytes {
                return;
            }
            assert_eq!(shown(found.as_ref()), shown(generated(message, &of).as_ref()), "{of}");
            let Some(found) = found else { return };
            let sent = Bytes::from(found.to_message().encode_to_vec());
            assert_eq!(shown(ValueDecoder::default().decode(&sent, &of).ok().as_ref()), shown(Some(&found)));
        });
    }

    /// Rows are those of the whole batches before each token.
    #[test]
    fn query_rows() {
        fuzz("query_rows", |bytes| {
            let mut input = Input::new(bytes);
            let (columns, mut tokens) = (1 + input.below(3), 0_u32);
            let (mut assembler, mut batch, mut values) = (Assembler::default(), Vec::new(), Vec::new());
            let mut has_bytes = false;
            while !input.is_empty() {
                let (flags, data) = (input.byte(), input.bytes());
                let flag = |flag: u8| flags >> flag & 1 == 1;
                if flag(0) {
                    batch.clear();
                    values.clear();
                    has_bytes = false;
                }
                batch.extend_from_slice(data);
                has_bytes |= !data.is_empty();
                let checksum = flag(1).then(|| crc32c::crc32c(&batch) ^ u32::from(flag(2)));
                tokens += 1;
                let token = if flag(3) { Bytes::from(tokens.to_string()) } else { Bytes::new() };
                let answer = PartialResultSet {
                    reset: flag(0),
                    batch_checksum: checksum,
                    partial_rows: Some(PartialRows::ProtoRowsBatch(ProtoRowsBatch {
                        batch_data: Bytes::copy_from_slice(data),
                    })),
                    resume_token: token.clone(),
                    ..Default::default()
                };
                let taken = assembler.take(answer, columns);
                if checksum.is_some() {
                    // The values are not decoded before their row is.
                    match ProtoRows::decode(&batch[..]) {
                        Ok(rows) if !flag(2) => values.extend(rows.values),
                        Ok(_) => return assert!(taken.is_err()),
                        Err(_) => return,
                    }
                    batch.clear();
                }
                if token.is_empty() {
                    assert_eq!(taken, Ok(None));
                    continue;
                }
                if !batch.is_empty() || values.len() % columns != 0 {
                    return assert!(taken.is_err());
                }
                assert_eq!(taken, Ok(Some(token)));
                let mut found = Vec::new();
                while let Some(row) = assembler.next_row(columns) {
                    assert_eq!(row.len(), columns);
                    found.extend(row.into_iter().map(|value| Value::decode(value).unwrap()));
                }
                assert_eq!(format!("{found:?}"), format!("{:?}", std::mem::take(&mut values)));
                has_bytes = false;
            }
            assert_eq!(assembler.finish().is_ok(), !has_bytes);
        });
    }
}
