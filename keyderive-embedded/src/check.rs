//! What the service takes: sizes, numbers, names and times.

use bytes::Bytes;
use tonic::Status;

/// What the service takes in one request, and of rules in one read-modify-write.
const MAX_MUTATIONS: usize = 100_000;

const MAX_KEY_BYTES: usize = 4096;
const MAX_QUALIFIER_BYTES: usize = 16 << 10;
const MAX_VALUE_BYTES: usize = 100 << 20;

const MAX_TABLE_ID: usize = 50;
const MAX_FAMILY_NAME: usize = 64;

/// Timestamps are kept in microseconds, and are whole milliseconds.
pub(super) const GRANULARITY_MICROS: i64 = 1000;

/// How much of a key or qualifier an error shows.
const SHOWN_BYTES: usize = 32;

pub(super) fn key(key: &Bytes) -> Result<(), Status> {
    match key.len() {
        1..=MAX_KEY_BYTES => Ok(()),
        0 => Err(Status::invalid_argument("a row key is empty")),
        length => Err(Status::invalid_argument(format!(
            "a row key has {length} bytes, and it may have {MAX_KEY_BYTES}: it begins with {:?}",
            shown(key)
        ))),
    }
}

pub(super) fn qualifier(family: &str, qualifier: &Bytes) -> Result<(), Status> {
    if qualifier.len() <= MAX_QUALIFIER_BYTES {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "a qualifier in the column family `{family}` has {} bytes, and it may have {MAX_QUALIFIER_BYTES}: it begins with {:?}",
        qualifier.len(),
        shown(qualifier)
    )))
}

pub(super) fn value(family: &str, qualifier: &Bytes, bytes: usize) -> Result<(), Status> {
    if bytes <= MAX_VALUE_BYTES {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "a value of the column {:?} in the column family `{family}` has {bytes} bytes, and it may have {MAX_VALUE_BYTES}",
        shown(qualifier)
    )))
}

fn shown(bytes: &Bytes) -> Bytes {
    bytes.slice(..bytes.len().min(SHOWN_BYTES))
}

/// A timestamp, or a bound of a range of timestamps.
pub(super) fn timestamp(micros: i64) -> Result<i64, Status> {
    if micros >= 0 && micros % GRANULARITY_MICROS == 0 {
        return Ok(micros);
    }
    Err(Status::invalid_argument(format!(
        "the timestamp {micros} is not a whole number of milliseconds, in microseconds since the epoch"
    )))
}

pub(super) fn number_of_mutations(mutations: usize) -> Result<(), Status> {
    if mutations <= MAX_MUTATIONS {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "the request has {mutations} mutations, and it may have {MAX_MUTATIONS}"
    )))
}

pub(super) fn table_id(id: &str) -> Result<(), Status> {
    name("table", id, MAX_TABLE_ID)
}

pub(super) fn family_name(family: &str) -> Result<(), Status> {
    name("column family", family, MAX_FAMILY_NAME)
}

/// A name in the form that the service allows.
fn name(what: &str, name: &str, longest: usize) -> Result<(), Status> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    if begins && name.bytes().all(allowed) && name.len() <= longest {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "`{name}` is no name for a {what}: it has 1 to {longest} letters, digits, `_`, `-` and `.`, and begins with none of the last two"
    )))
}

/// The name of an instance, `projects/…/instances/…`.
pub(super) fn instance(name: &str) -> Result<(), Status> {
    let parts: Vec<&str> = name.split('/').collect();
    if let ["projects", project, "instances", instance] = parts[..]
        && !project.is_empty()
        && !instance.is_empty()
    {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "`{name}` names no instance: write `projects/`, a project, `/instances/` and an instance"
    )))
}
