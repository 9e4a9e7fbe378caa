//! Reads.

use keyderive::client::ReadRows;
use keyderive::plan::KeyRange;
use keyderive_proto::data;
use keyderive_proto::data::row_range::{EndKey, StartKey};
use tonic::Status;

use super::optional_filter;

/// The rows of a request: all rows if it names none.
pub(crate) fn read_rows(request: data::ReadRowsRequest) -> Result<ReadRows, Status> {
    let limit = u64::try_from(request.rows_limit)
        .map_err(|_| Status::invalid_argument("the row limit is below zero"))?;
    let rows = request.rows.unwrap_or_default();
    let mut read = match (rows.row_keys.is_empty(), rows.row_ranges.is_empty()) {
        (true, true) => ReadRows::all(),
        _ => ReadRows::new(),
    };
    read = rows.row_keys.into_iter().fold(read, ReadRows::key);
    read = rows.row_ranges.into_iter().map(key_range).fold(read, ReadRows::range);
    // In the protocol, 0 is no limit.
    if limit > 0 {
        read = read.limit(limit);
    }
    if let Some(filter) = optional_filter(request.filter)? {
        read = read.filter(filter);
    }
    Ok(if request.reversed { read.reversed() } else { read })
}

/// The same keys as a half-open range: the successor of `k` is `k` and a zero byte.
fn key_range(range: data::RowRange) -> KeyRange {
    let after = |key: &[u8]| [key, b"\0"].concat();
    let start = match range.start_key {
        Some(StartKey::StartKeyClosed(start)) => start.to_vec(),
        Some(StartKey::StartKeyOpen(start)) => after(&start),
        None => Vec::new(),
    };
    let end = match range.end_key {
        Some(EndKey::EndKeyOpen(end)) if end.is_empty() => None,
        Some(EndKey::EndKeyClosed(end)) if end.is_empty() => None,
        Some(EndKey::EndKeyOpen(end)) => Some(end.to_vec()),
        Some(EndKey::EndKeyClosed(end)) => Some(after(&end)),
        None => None,
    };
    KeyRange::new(start, end)
}
