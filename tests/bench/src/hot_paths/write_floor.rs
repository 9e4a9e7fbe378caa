//! `MutateRows` requests by hand, for this key and this row and no others: in input order; and
//! read ahead, sorted, and spread over the buckets.

use std::ops::Range;

use tonic::transport::Channel;

use super::data::{FAMILY, Outcome, Reading, Salted as _};
use super::floor::{self, BYTES, Refused};
use super::raw;
use crate::program::Failure;
use crate::{EventKey, hand};

const TABLE_NAME: u8 = 1 << 3 | BYTES as u8;
const ENTRIES: u8 = 2 << 3 | BYTES as u8;

const ROW_KEY: u8 = 1 << 3 | BYTES as u8;
const MUTATIONS: u8 = 2 << 3 | BYTES as u8;

const SET_CELL: u8 = 1 << 3 | BYTES as u8;

const FAMILY_NAME: u8 = 1 << 3 | BYTES as u8;
const COLUMN_QUALIFIER: u8 = 2 << 3 | BYTES as u8;
const TIMESTAMP_MICROS: u8 = 3 << 3;
const VALUE: u8 = 4 << 3 | BYTES as u8;

/// Initial capacity per row; a buffer that is too small grows.
const BYTES_A_ROW: usize = 256;

/// Writes the rows, `rows_a_request` with each request.
pub(super) async fn write(
    channel: &Channel,
    rows: &[(EventKey, Reading)],
    rows_a_request: usize,
    micros: i64,
) -> Result<Outcome, Failure> {
    let mut written = 0;
    let mut key = Vec::new();
    for rows in rows.chunks(rows_a_request) {
        let mut request = Vec::with_capacity(raw::TABLE.len() + BYTES_A_ROW * rows.len());
        field(TABLE_NAME, raw::TABLE.as_bytes(), &mut request);
        for (event, row) in rows {
            key.clear();
            hand::encode_into(&event.lend(), &mut key).map_err(|_| Refused)?;
            entry(&key, row, micros.cast_unsigned(), &mut request);
        }
        written += send(channel, request).await?;
    }
    Ok(Outcome::Written(written))
}

async fn send(channel: &Channel, request: Vec<u8>) -> Result<u64, Failure> {
    let mut written = 0;
    let mut answers = raw::mutate_rows(channel, request.into()).await?;
    while let Some(answer) = answers.message().await? {
        written += count_good(&answer)?;
    }
    Ok(written)
}

/// Writes the rows with read-ahead: buffers some bytes of rows, sorts them in each bucket, and sends requests from
/// one bucket after the other.
pub(super) async fn load(
    channel: &Channel,
    rows: &[(EventKey, Reading)],
    ahead: usize,
    rows_a_request: usize,
    micros: i64,
) -> Result<Outcome, Failure> {
    let mut held = Held { bytes: Vec::with_capacity(ahead + BYTES_A_ROW), buckets: Default::default() };
    let (mut written, mut key) = (0, Vec::new());
    for (event, row) in rows {
        key.clear();
        hand::encode_into(&event.lend(), &mut key).map_err(|_| Refused)?;
        held.push(&key, row, micros.cast_unsigned())?;
        if held.bytes.len() >= ahead {
            written += held.send(channel, rows_a_request).await?;
        }
    }
    written += held.send(channel, rows_a_request).await?;
    Ok(Outcome::Written(written))
}

/// Entries that are not sent yet.
struct Held {
    bytes: Vec<u8>,
    /// The rows of each bucket.
    buckets: [Vec<HeldRow>; EventKey::BUCKETS],
}

struct HeldRow {
    /// The first bytes of the key after its bucket.
    head: u64,
    start: usize,
    len: usize,
    key: Range<usize>,
}

impl Held {
    fn push(&mut self, key: &[u8], row: &Reading, micros: u64) -> Result<(), Refused> {
        let Self { bytes, buckets } = self;
        let bucket = key.first().and_then(|bucket| buckets.get_mut(usize::from(bucket.wrapping_sub(b'0'))));
        let head = key.get(EventKey::SALT_LEN..).and_then(<[u8]>::first_chunk).ok_or(Refused)?;
        let (start, head) = (bytes.len(), u64::from_be_bytes(*head));
        entry(key, row, micros, bytes);
        let len = bytes.len() - start;
        // The entry's tag and length, and the key's, come before the key.
        let key_start = start + 2 + varint_len(len as u64 - 2) + varint_len(key.len() as u64);
        let key = key_start..key_start + key.len();
        bucket.ok_or(Refused)?.push(HeldRow { head, start, len, key });
        Ok(())
    }

    async fn send(&mut self, channel: &Channel, rows_a_request: usize) -> Result<u64, Failure> {
        let Self { bytes, buckets } = self;
        let key = |row: &HeldRow| &bytes[row.key.clone()];
        for bucket in &mut *buckets {
            bucket.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))));
        }
        let mut requests = buckets.each_ref().map(|bucket| bucket.chunks(rows_a_request));
        let mut written = 0;
        loop {
            let before = written;
            for rows in requests.each_mut().into_iter().filter_map(Iterator::next) {
                let len = rows.iter().map(|row| row.len).sum::<usize>();
                let mut request = Vec::with_capacity(raw::TABLE.len() + 2 + len);
                field(TABLE_NAME, raw::TABLE.as_bytes(), &mut request);
                rows.iter().for_each(|row| request.extend_from_slice(&bytes[row.start..][..row.len]));
                written += send(channel, request).await?;
            }
            if written == before {
                break;
            }
        }
        bytes.clear();
        buckets.iter_mut().for_each(Vec::clear);
        Ok(written)
    }
}

#[inline]
fn entry(key: &[u8], row: &Reading, micros: u64, out: &mut Vec<u8>) {
    let time = varint_len(micros);
    let celsius = set_cell_len(b"celsius", 8, time);
    let humidity = set_cell_len(b"humidity", 8, time);
    let station = set_cell_len(b"station", row.station.len(), time);
    let mutations = [celsius, humidity, station].map(|len| field_len(field_len(len))).iter().sum::<usize>();
    out.push(ENTRIES);
    varint((field_len(key.len()) + mutations) as u64, out);
    field(ROW_KEY, key, out);
    set_cell(celsius, b"celsius", &row.celsius.to_be_bytes(), micros, out);
    set_cell(humidity, b"humidity", &row.humidity.to_be_bytes(), micros, out);
    set_cell(station, b"station", row.station.as_bytes(), micros, out);
}

fn set_cell_len(qualifier: &[u8], value: usize, time: usize) -> usize {
    field_len(FAMILY.len()) + field_len(qualifier.len()) + 1 + time + field_len(value)
}

#[inline]
fn set_cell(len: usize, qualifier: &[u8], value: &[u8], micros: u64, out: &mut Vec<u8>) {
    out.push(MUTATIONS);
    varint(field_len(len) as u64, out);
    out.push(SET_CELL);
    varint(len as u64, out);
    field(FAMILY_NAME, FAMILY.as_bytes(), out);
    field(COLUMN_QUALIFIER, qualifier, out);
    out.push(TIMESTAMP_MICROS);
    varint(micros, out);
    field(VALUE, value, out);
}

#[inline]
fn field(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[inline]
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The length of a field of `len` bytes, with its tag and length.
fn field_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}

fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// How many entries an answer has, all of which must be successful.
fn count_good(mut answer: &[u8]) -> Result<u64, Refused> {
    const STATUS: u64 = 2 << 3 | BYTES;
    const CODE: u64 = 1 << 3;
    let mut count = 0;
    while !answer.is_empty() {
        let tag = floor::varint(&mut answer)?;
        if tag != (1 << 3 | BYTES) {
            floor::skip(tag, &mut answer)?;
            continue;
        }
        let mut entry = floor::bytes(&mut answer)?;
        while !entry.is_empty() {
            let tag = floor::varint(&mut entry)?;
            if tag != STATUS {
                floor::skip(tag, &mut entry)?;
                continue;
            }
            let mut status = floor::bytes(&mut entry)?;
            while !status.is_empty() {
                let tag = floor::varint(&mut status)?;
                if tag == CODE && floor::varint(&mut status)? != 0 {
                    return Err(Refused);
                }
                if tag != CODE {
                    floor::skip(tag, &mut status)?;
                }
            }
        }
        count += 1;
    }
    Ok(count)
}
