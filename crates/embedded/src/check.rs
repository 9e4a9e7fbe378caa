//! Checks of requests: sizes, numbers, names, times, and the routing header.

use bytes::Bytes;
use keyderive_proto::admin::table::TimestampGranularity;
use percent_encoding::percent_decode_str;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

/// The most mutations in a request, or rules in a read-modify-write request.
const MAX_MUTATIONS: usize = 100_000;

const MAX_KEY_BYTES: usize = 4096;
const MAX_QUALIFIER_BYTES: usize = 16 << 10;
const MAX_VALUE_BYTES: usize = 100 << 20;

const MAX_TABLE_ID: usize = 50;
const MAX_FAMILY_NAME: usize = 64;

/// How many bytes of a key or qualifier an error shows.
const SHOWN_BYTES: usize = 32;

pub(super) fn key(key: &Bytes) -> Result<(), Status> {
    match key.len() {
        1..=MAX_KEY_BYTES => Ok(()),
        0 => Err(Status::invalid_argument("a row key is empty")),
        length => Err(Status::invalid_argument(format!(
            "a row key has {length} bytes, and the limit is {MAX_KEY_BYTES}: it begins with {:?}",
            truncate(key)
        ))),
    }
}

pub(super) fn qualifier(family: &str, qualifier: &Bytes) -> Result<(), Status> {
    if qualifier.len() <= MAX_QUALIFIER_BYTES {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "a qualifier in the column family `{family}` has {} bytes, and the limit is {MAX_QUALIFIER_BYTES}: it begins with {:?}",
        qualifier.len(),
        truncate(qualifier)
    )))
}

pub(super) fn value(family: &str, qualifier: &Bytes, bytes: usize) -> Result<(), Status> {
    if bytes <= MAX_VALUE_BYTES {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "a value of the column {:?} in the column family `{family}` has {bytes} bytes, and the limit is {MAX_VALUE_BYTES}",
        truncate(qualifier)
    )))
}

fn truncate(bytes: &Bytes) -> Bytes {
    bytes.slice(..bytes.len().min(SHOWN_BYTES))
}

/// The unit of a table's timestamps, which count microseconds. It is set when the table is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Granularity {
    #[default]
    Millis,
    Micros,
}

impl Granularity {
    /// The granularity with this number in a message; unspecified, it is milliseconds.
    pub(super) fn of_message(number: i32) -> Option<Self> {
        match TimestampGranularity::try_from(number).ok()? {
            TimestampGranularity::Unspecified | TimestampGranularity::Millis => Some(Self::Millis),
            TimestampGranularity::Micros => Some(Self::Micros),
        }
    }

    pub(super) fn message(self) -> TimestampGranularity {
        match self {
            Self::Millis => TimestampGranularity::Millis,
            Self::Micros => TimestampGranularity::Micros,
        }
    }

    fn unit(self) -> i64 {
        match self {
            Self::Millis => 1000,
            Self::Micros => 1,
        }
    }

    /// Rounds a time down to the unit.
    pub(super) fn floor(self, micros: i64) -> i64 {
        micros - micros.rem_euclid(self.unit())
    }

    /// Checks a timestamp, or a bound of the range of a deletion.
    pub(super) fn timestamp(self, micros: i64) -> Result<i64, Status> {
        if micros >= 0 && micros % self.unit() == 0 {
            return Ok(micros);
        }
        let whole = match self {
            Self::Millis => "a whole number of milliseconds and ",
            Self::Micros => "",
        };
        Err(Status::invalid_argument(format!(
            "the timestamp {micros} is invalid: it counts microseconds since the epoch, and must be {whole}not negative"
        )))
    }
}

pub(super) fn number_of_mutations(mutations: usize) -> Result<(), Status> {
    if mutations <= MAX_MUTATIONS {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "the request has {mutations} mutations, and the limit is {MAX_MUTATIONS}"
    )))
}

pub(super) fn table_id(id: &str) -> Result<(), Status> {
    name("table", id, MAX_TABLE_ID)
}

pub(super) fn family_name(family: &str) -> Result<(), Status> {
    name("column family", family, MAX_FAMILY_NAME)
}

fn name(what: &str, name: &str, longest: usize) -> Result<(), Status> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    if begins && name.bytes().all(allowed) && name.len() <= longest {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "`{name}` is not a valid {what} name: a name has 1 to {longest} letters, digits, `_`, `-` and `.`, and does not begin with `-` or `.`"
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
        "`{name}` is not the name of an instance: write `projects/`, a project, `/instances/` and an instance"
    )))
}

const ROUTING: &str = "x-goog-request-params";

/// Takes the message of a request, and rejects it if `parameter` in the routing header differs from `name`.
///
/// The header may be absent, as with the service.
pub(super) fn routed<M>(
    request: Request<M>,
    parameter: &str,
    name: impl FnOnce(&M) -> &str,
) -> Result<M, Status> {
    check_routing(request.metadata(), parameter, name(request.get_ref()))?;
    Ok(request.into_inner())
}

fn check_routing(metadata: &MetadataMap, parameter: &str, name: &str) -> Result<(), Status> {
    let Some(header) = metadata.get(ROUTING) else { return Ok(()) };
    let header = header.to_str().unwrap_or_default();
    let mut parameters = header.split('&').filter_map(|part| part.split_once('='));
    match parameters.find(|(key, _)| *key == parameter) {
        Some((_, value)) if *percent_decode_str(value).decode_utf8_lossy() == *name => Ok(()),
        Some((_, value)) => Err(Status::invalid_argument(format!(
            "the header `{ROUTING}` has `{value}` as `{parameter}`, but the request names `{name}`"
        ))),
        None => Err(Status::invalid_argument(format!(
            "the header `{ROUTING}` has no `{parameter}`; it must be `{name}`, percent-encoded"
        ))),
    }
}
