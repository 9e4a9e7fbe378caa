//! Results of operations.

use keyderive::Error;
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

/// The outcome of a write of many rows, and those of the rows that were not changed.
///
/// The operation as a whole has failed where no row was changed, and where it ended before the server had its say on
/// each of them.
pub(crate) fn of_entries(written: &[Result<(), Error>]) -> (Status, Vec<Entry>) {
    let failed: Vec<_> = written
        .iter()
        .zip(0..)
        .filter_map(|(outcome, index)| outcome.as_ref().err().map(|error| (index, error)))
        .collect();
    let cut_short = failed.iter().find(|(_, error)| error.is_deadline_exceeded() || error.is_client_closed());
    let overall = match (cut_short, failed.first()) {
        (Some((_, error)), _) => of_error(error),
        (None, Some((_, error))) if failed.len() == written.len() => of_error(error),
        _ => ok(),
    };
    let entry = |(index, error)| Entry { index, status: Some(of_error(error)) };
    (overall, failed.into_iter().map(entry).collect())
}
