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

/// A value that cannot be computed.
pub(crate) fn out_of_range(message: impl Into<String>) -> Status {
    Status::out_of_range(message)
}

/// ` [at 1:8]`, or nothing if the place is not known.
fn place(at: Location) -> String {
    if at.line == 0 { String::new() } else { format!(" [at {}:{}]", at.line, at.column) }
}
