//! Mutations as the protocol has them, byte for byte what the generated messages are.
//!
//! Field numbers are those of `Mutation` in `wire/proto/data.proto`. What is empty or 0 is left out, but in a `oneof`.

use crate::client::protobuf::{begin, bytes, bytes_len, int, int_len};
use crate::row::{Change, Mutation, is_same_name};

/// The number of the mutations in an entry of a request for many rows.
pub(super) const MUTATIONS: u8 = 2;

const SET_CELL: u8 = 1;
const DELETE_FROM_COLUMN: u8 = 2;
const DELETE_FROM_FAMILY: u8 = 3;
const DELETE_FROM_ROW: u8 = 4;
const ADD_TO_CELL: u8 = 5;
const MERGE_TO_CELL: u8 = 6;

/// The name of the family in each of them, and the qualifier in each that has one.
const FAMILY: u8 = 1;
const QUALIFIER: u8 = 2;

/// The others of a cell that is set.
const TIMESTAMP: u8 = 3;
const VALUE: u8 = 4;

/// The greatest length that has one byte.
const MOST_IN_ONE_BYTE: usize = 127;

/// Writes a mutation of an entry.
pub(super) fn mutation(mutation: &Mutation, out: &mut Vec<u8>) {
    match &mutation.0 {
        Change::SetCell { family, qualifier, timestamp_micros, value } => {
            set_cell(family, qualifier, *timestamp_micros, value, out);
        }
        Change::AddToCell { family, qualifier, timestamp_micros, value } => {
            aggregate(ADD_TO_CELL, family, qualifier, *timestamp_micros, &Value::Int(*value), out);
        }
        Change::MergeToCell { family, qualifier, timestamp_micros, state } => {
            aggregate(MERGE_TO_CELL, family, qualifier, *timestamp_micros, &Value::Raw(state), out);
        }
        Change::DeleteColumn { family, qualifier, versions } => {
            delete_column(family, qualifier, *versions, out);
        }
        Change::DeleteFamily { family } => delete_family(family, out),
        Change::DeleteRow => begin_mutation(DELETE_FROM_ROW, 0, out),
    }
}

pub(super) fn set_cell(
    family: &str,
    qualifier: &[u8],
    timestamp_micros: i64,
    value: &[u8],
    out: &mut Vec<u8>,
) {
    let family = family.as_bytes();
    let len = given_len(family) + given_len(qualifier) + number_len(timestamp_micros) + given_len(value);
    begin_mutation(SET_CELL, len, out);
    given(FAMILY, family, out);
    given(QUALIFIER, qualifier, out);
    number(TIMESTAMP, timestamp_micros, out);
    given(VALUE, value, out);
}

/// The mutation that sets a cell, up to the value, with lengths of one byte each.
#[derive(Clone, Debug, Default)]
pub(super) struct CellHead {
    /// Empty where there is no such form.
    bytes: Vec<u8>,
    timestamp_micros: i64,
    /// How long a value may be.
    longest: usize,
}

impl CellHead {
    /// Where the lengths are that depend on the value's, but for the value's own, which is the last byte.
    const MUTATION_LEN: usize = 1;
    const SET_CELL_LEN: usize = 3;
    /// Where the family's name is.
    const FAMILY: usize = 6;

    /// Makes it that of this cell.
    pub(super) fn set(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64) {
        let bytes = &mut self.bytes;
        bytes.clear();
        begin_mutation(SET_CELL, 0, bytes);
        given(FAMILY, family.as_bytes(), bytes);
        given(QUALIFIER, qualifier, bytes);
        number(TIMESTAMP, timestamp_micros, bytes);
        begin(VALUE, 0, bytes);
        self.timestamp_micros = timestamp_micros;
        self.longest = (Self::MUTATION_LEN + 1 + MOST_IN_ONE_BYTE).saturating_sub(bytes.len());
        if family.is_empty() || qualifier.is_empty() {
            bytes.clear();
        }
    }

    /// Whether it is that of a cell in this column, with this time.
    #[inline]
    pub(super) fn is_of(&self, family: &str, qualifier: &[u8], timestamp_micros: i64) -> bool {
        let (family, after) = (family.as_bytes(), Self::FAMILY + family.len() + 2);
        // Before each name is its length.
        self.timestamp_micros == timestamp_micros
            && self.bytes.len() > after + qualifier.len()
            && usize::from(self.bytes[Self::FAMILY - 1]) == family.len()
            && usize::from(self.bytes[after - 1]) == qualifier.len()
            && is_same_name(&self.bytes[Self::FAMILY..][..family.len()], family)
            && is_same_name(&self.bytes[after..][..qualifier.len()], qualifier)
    }

    /// Whether all lengths have one byte with this value.
    #[inline]
    pub(super) fn takes(&self, value: &[u8]) -> bool {
        (1..=self.longest).contains(&value.len())
    }

    /// Writes the mutation with a value that it takes.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it takes the value")]
    pub(super) fn write(&self, value: &[u8], out: &mut Vec<u8>) {
        /// What a number takes: a length that is known is copied without a call.
        const NUMBER: usize = 8;
        let (start, len) = (out.len(), self.bytes.len() + value.len());
        out.extend_from_slice(&self.bytes);
        if let [_, mutation, _, set_cell, .., own] = &mut out[start..] {
            *mutation = (len - Self::MUTATION_LEN - 1) as u8;
            *set_cell = (len - Self::SET_CELL_LEN - 1) as u8;
            *own = value.len() as u8;
        }
        match <&[u8; NUMBER]>::try_from(value) {
            Ok(number) => out.extend_from_slice(number),
            Err(_) => out.extend_from_slice(value),
        }
    }
}

/// Of the versions from one timestamp to before another, or to the end; of all, where there is no such range.
pub(super) fn delete_column(
    family: &str,
    qualifier: &[u8],
    versions: Option<(i64, Option<i64>)>,
    out: &mut Vec<u8>,
) {
    const TIME_RANGE: u8 = 3;
    const START: u8 = 1;
    const END: u8 = 2;
    let range = versions.map(|(start, end)| (start, end.unwrap_or(0)));
    let range_len = range.map(|(start, end)| number_len(start) + number_len(end));
    let len = given_len(family.as_bytes()) + given_len(qualifier) + range_len.map_or(0, bytes_len);
    begin_mutation(DELETE_FROM_COLUMN, len, out);
    given(FAMILY, family.as_bytes(), out);
    given(QUALIFIER, qualifier, out);
    if let (Some((start, end)), Some(len)) = (range, range_len) {
        begin(TIME_RANGE, len, out);
        number(START, start, out);
        number(END, end, out);
    }
}

pub(super) fn delete_family(family: &str, out: &mut Vec<u8>) {
    begin_mutation(DELETE_FROM_FAMILY, given_len(family.as_bytes()), out);
    given(FAMILY, family.as_bytes(), out);
}

/// A change to a cell of an aggregate family.
fn aggregate(
    kind: u8,
    family: &str,
    qualifier: &[u8],
    timestamp_micros: i64,
    input: &Value<'_>,
    out: &mut Vec<u8>,
) {
    const INPUT: u8 = 4;
    let (qualifier, timestamp) = (Value::Raw(qualifier), Value::Timestamp(timestamp_micros));
    let values = [(QUALIFIER, &qualifier), (TIMESTAMP, &timestamp), (INPUT, input)];
    let len: usize = values.iter().map(|(_, value)| bytes_len(value.len())).sum();
    begin_mutation(kind, given_len(family.as_bytes()) + len, out);
    given(FAMILY, family.as_bytes(), out);
    for (field, value) in values {
        begin(field, value.len(), out);
        value.write(out);
    }
}

/// A `Value`, which is a `oneof`.
enum Value<'a> {
    Raw(&'a [u8]),
    Timestamp(i64),
    Int(i64),
}

impl Value<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Raw(value) => bytes_len(value.len()),
            Self::Timestamp(value) | Self::Int(value) => int_len(*value),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        const RAW: u8 = 8;
        const TIMESTAMP: u8 = 9;
        const INT: u8 = 6;
        match self {
            Self::Raw(value) => bytes(RAW, value, out),
            Self::Timestamp(value) => int(TIMESTAMP, *value, out),
            Self::Int(value) => int(INT, *value, out),
        }
    }
}

/// Begins a mutation of this kind, of which so many bytes come next.
#[inline]
fn begin_mutation(kind: u8, len: usize, out: &mut Vec<u8>) {
    begin(MUTATIONS, bytes_len(len), out);
    begin(kind, len, out);
}

#[inline]
fn given(field: u8, value: &[u8], out: &mut Vec<u8>) {
    if !value.is_empty() {
        bytes(field, value, out);
    }
}

#[inline]
fn given_len(value: &[u8]) -> usize {
    if value.is_empty() { 0 } else { bytes_len(value.len()) }
}

#[inline]
fn number(field: u8, value: i64, out: &mut Vec<u8>) {
    if value != 0 {
        int(field, value, out);
    }
}

#[inline]
fn number_len(value: i64) -> usize {
    if value == 0 { 0 } else { int_len(value) }
}
