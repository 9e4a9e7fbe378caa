//! The outcomes of entries, read where they lie in a `MutateRowsResponse`.
//!
//! Field numbers are those in `wire/proto/data.proto`.

use keyderive_proto::data::RateLimitInfo;
use prost::Message as _;
use tonic::{Code, Status};

use crate::client::protobuf::{LENGTH, Reader, VARINT, What, Wrong};

/// What the server has said of an entry.
#[derive(Clone, Debug)]
pub(super) enum EntryStatus {
    Nothing,
    Applied,
    Failed(Status),
}

/// Takes the outcomes in an answer, each to the place that it names, and gives what it says of the rate of writes. An
/// outcome for a place that there is not says nothing.
pub(super) fn read(answer: &[u8], told: &mut [EntryStatus]) -> Result<Option<RateLimitInfo>, Status> {
    const ENTRIES: u32 = 1;
    const RATE_LIMIT_INFO: u32 = 3;
    let mut reader = Reader::new(answer, 0);
    let mut info = None;
    while let Some(field) = reader.field().map_err(malformed)? {
        match field {
            (ENTRIES, LENGTH) => {
                let entry = reader.span().map_err(malformed)?.of(answer);
                let (index, outcome) = match applied(entry) {
                    Some(index) => (index, EntryStatus::Applied),
                    None => entry_of(entry)?,
                };
                if let Some(told) = usize::try_from(index).ok().and_then(|index| told.get_mut(index)) {
                    *told = outcome;
                }
            }
            (RATE_LIMIT_INFO, LENGTH) => {
                let bytes = reader.span().map_err(malformed)?.of(answer);
                let info: &mut RateLimitInfo = info.get_or_insert_default();
                info.merge(bytes).map_err(|error| Status::internal(error.to_string()))?;
            }
            (ENTRIES | RATE_LIMIT_INFO, _) => return Err(malformed(reader.wrong(What::Form))),
            (number, form) => reader.skip(number, form).map_err(malformed)?,
        }
    }
    Ok(info)
}

/// The place of an entry that is applied, as servers write nearly all of them: the index, up to 14 bits of it, and an
/// empty status.
#[inline]
fn applied(entry: &[u8]) -> Option<i64> {
    const INDEX: u8 = 0x08;
    const STATUS: u8 = 0x12;
    match *entry {
        [STATUS, 0] => Some(0),
        [INDEX, index @ ..0x80, STATUS, 0] => Some(index.into()),
        [INDEX, low, high @ ..0x80, STATUS, 0] if low >= 0x80 => {
            Some(i64::from(low & 0x7f) | i64::from(high) << 7)
        }
        _ => None,
    }
}

fn entry_of(entry: &[u8]) -> Result<(i64, EntryStatus), Status> {
    const INDEX: u32 = 1;
    const STATUS: u32 = 2;
    let mut reader = Reader::new(entry, 0);
    let (mut index, mut code, mut message) = (0, 0, &[][..]);
    while let Some(field) = reader.field().map_err(malformed)? {
        match field {
            (INDEX, VARINT) => index = reader.varint().map_err(malformed)?.cast_signed(),
            (STATUS, LENGTH) => {
                let status = reader.span().map_err(malformed)?.of(entry);
                read_status(status, &mut code, &mut message).map_err(malformed)?;
            }
            (INDEX | STATUS, _) => return Err(malformed(reader.wrong(What::Form))),
            (number, form) => reader.skip(number, form).map_err(malformed)?,
        }
    }
    let told = match Code::from_i32(code) {
        Code::Ok => EntryStatus::Applied,
        code => EntryStatus::Failed(Status::new(code, String::from_utf8_lossy(message))),
    };
    Ok((index, told))
}

#[inline]
fn read_status<'a>(status: &'a [u8], code: &mut i32, message: &mut &'a [u8]) -> Result<(), Wrong> {
    const CODE: u32 = 1;
    const MESSAGE: u32 = 2;
    let mut reader = Reader::new(status, 0);
    while let Some(field) = reader.field()? {
        match field {
            (CODE, VARINT) => *code = low_half(reader.varint()?),
            (MESSAGE, LENGTH) => *message = reader.span()?.of(status),
            (CODE | MESSAGE, _) => return Err(reader.wrong(What::Form)),
            (number, form) => reader.skip(number, form)?,
        }
    }
    Ok(())
}

/// A field of type `int32` is sent as 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "the upper half is the sign once more")]
fn low_half(value: u64) -> i32 {
    value as i32
}

#[cold]
fn malformed(wrong: Wrong) -> Status {
    Status::internal(wrong.into_text())
}
