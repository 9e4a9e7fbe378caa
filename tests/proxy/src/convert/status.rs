//! Results of operations.

use keyderive::Error;
use keyderive::client::RowOutcomes;
use keyderive_proto::data::mutate_rows_response::Entry;
use keyderive_proto::values::Status;
use tonic::Code;

/// The status of a successful operation.
pub(crate) fn ok() -> Status {
    Status::default()
}

/// The status of a failed operation.
pub(crate) fn of_error(error: &Error) -> Status {
    let code = error.grpc_code().unwrap_or(Code::Unknown.into());
    Status { code, message: error.to_string(), details: Vec::new() }
}

/// The outcome of a write of many rows, and those of the rows that were not written.
pub(crate) fn of_entries(outcomes: RowOutcomes) -> (Status, Vec<Entry>) {
    let entry = |(outcome, index): (&Result<(), Error>, i64)| {
        outcome.as_ref().err().map(|error| Entry { index, status: Some(of_error(error)) })
    };
    let failed = outcomes.iter().zip(0..).filter_map(entry).collect();
    (outcomes.all_written().map_or_else(|error| of_error(&error), |()| ok()), failed)
}
