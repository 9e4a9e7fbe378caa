//! Mutations as the protocol has them, byte for byte what the generated messages are.
//!
//! Field numbers are those of `Mutation` in `wire/proto/data.proto`. What is empty or 0 is left out, but in a `oneof`.

use crate::client::protobuf::{LENGTH, begin, bytes, bytes_len, int, int_len};
use crate::row::{Change, Mutation};

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

/// Writes a mutation of an entry.
pub(super) fn mutation(mutation: &Mutation, time: &mut Time, out: &mut Vec<u8>) {
    match &mutation.0 {
        Change::SetCell { family, qualifier, timestamp_micros, value } => {
            time.set(*timestamp_micros);
            set_cell(family, qualifier, time, value, out);
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

/// The timestamp of cells as a field, which those of a row have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Time {
    micros: i64,
    field: Vec<u8>,
}

impl Time {
    #[inline]
    pub(super) fn set(&mut self, micros: i64) {
        if self.micros != micros {
            self.set_other(micros);
        }
    }

    fn set_other(&mut self, micros: i64) {
        const TIMESTAMP: u8 = 3;
        self.micros = micros;
        self.field.clear();
        number(TIMESTAMP, micros, &mut self.field);
    }
}

#[inline]
pub(super) fn set_cell(family: &str, qualifier: &[u8], time: &Time, value: &[u8], out: &mut Vec<u8>) {
    const VALUE: u8 = 4;
    /// What a timestamp of our days takes, and a number: lengths that are known are copied without a call.
    const PRESENT: usize = 9;
    const NUMBER: usize = 8;
    let family = family.as_bytes();
    let len = given_len(family) + given_len(qualifier) + time.field.len() + given_len(value);
    if let Some(lengths) = Lengths::of(len, family, qualifier, value) {
        // As below, with all lengths in one byte.
        out.extend_from_slice(&[
            MUTATIONS << 3 | LENGTH,
            lengths.mutation,
            SET_CELL << 3 | LENGTH,
            lengths.set_cell,
            FAMILY << 3 | LENGTH,
            lengths.family,
        ]);
        out.extend_from_slice(family);
        out.extend_from_slice(&[QUALIFIER << 3 | LENGTH, lengths.qualifier]);
        out.extend_from_slice(qualifier);
        match <&[u8; PRESENT]>::try_from(time.field.as_slice()) {
            Ok(field) => out.extend_from_slice(field),
            Err(_) => out.extend_from_slice(&time.field),
        }
        out.extend_from_slice(&[VALUE << 3 | LENGTH, lengths.value]);
        match <&[u8; NUMBER]>::try_from(value) {
            Ok(number) => out.extend_from_slice(number),
            Err(_) => out.extend_from_slice(value),
        }
        return;
    }
    begin_mutation(SET_CELL, len, out);
    given(FAMILY, family, out);
    given(QUALIFIER, qualifier, out);
    out.extend_from_slice(&time.field);
    given(VALUE, value, out);
}

/// The lengths in a mutation that sets a cell, where each has one byte and no field is left out.
struct Lengths {
    mutation: u8,
    set_cell: u8,
    family: u8,
    qualifier: u8,
    value: u8,
}

impl Lengths {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "each is less than the whole, which is less than 128"
    )]
    fn of(set_cell: usize, family: &[u8], qualifier: &[u8], value: &[u8]) -> Option<Self> {
        let mutation = bytes_len(set_cell);
        if mutation >= 128 || family.is_empty() || qualifier.is_empty() || value.is_empty() {
            return None;
        }
        Some(Self {
            mutation: mutation as u8,
            set_cell: set_cell as u8,
            family: family.len() as u8,
            qualifier: qualifier.len() as u8,
            value: value.len() as u8,
        })
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
    const TIMESTAMP: u8 = 3;
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
