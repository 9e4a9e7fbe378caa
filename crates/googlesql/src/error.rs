//! The errors of queries.

use sqlparser::tokenizer::Location;
use tonic::Status;

/// A query that is wrong.
pub(crate) fn invalid(message: impl Into<String>) -> Status {
    Status::invalid_argument(message)
}

/// A query that is wrong at a place of its text.
pub(crate) fn invalid_at(message: impl std::fmt::Display, at: Location) -> Status {
    Status::invalid_argument(format!("{message}{}", place(at)))
}

/// A query that the service may run and this engine does not.
pub(crate) fn unimplemented(what: impl std::fmt::Display) -> Status {
    Status::unimplemented(format!("the embedded Bigtable's SQL does not support {what}"))
}

/// The most columns of a relation and types of its columns, counted together.
const MOST_TYPES: usize = 10_000;

/// Fails for more columns and types than a relation may have: a short query can have more than memory does.
pub(crate) fn checked_types(count: usize) -> Result<(), Status> {
    if count <= MOST_TYPES {
        return Ok(());
    }
    Err(Status::resource_exhausted(format!(
        "a relation has more than {MOST_TYPES} columns, elements of their types counted too"
    )))
}

/// A value that cannot be computed.
pub(crate) fn out_of_range(message: impl Into<String>) -> Status {
    Status::out_of_range(message)
}

/// ` [at 1:8]`, or nothing if the place is not known.
fn place(at: Location) -> String {
    if at.line == 0 { String::new() } else { format!(" [at {}:{}]", at.line, at.column) }
}
