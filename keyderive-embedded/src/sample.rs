//! Samples of row keys: where the tablets of a table begin.

use bytes::Bytes;
use keyderive_proto::data::SampleRowKeysResponse;
use tonic::Status;

use super::interval::Interval;
use super::storage::Cells;
use super::store::Store;

const PAGE_ROWS: usize = 256;

/// The table's splits and its end, each with the size of the rows before it.
pub(super) fn row_keys(store: &Store, table: &str) -> Result<Vec<SampleRowKeysResponse>, Status> {
    let definition = store.table(table)?;
    let mut samples = Vec::with_capacity(definition.splits.len() + 1);
    let mut splits = definition.splits.iter().peekable();
    let mut offset_bytes: i64 = 0;
    let mut rest = Interval::all();
    loop {
        let page = store.page(table, &rest, false, PAGE_ROWS)?;
        for (key, cells) in &page.rows {
            while let Some(row_key) = splits.next_if(|split| *split <= key) {
                samples.push(SampleRowKeysResponse { row_key: row_key.clone(), offset_bytes });
            }
            offset_bytes = offset_bytes.saturating_add(size(key, cells));
        }
        match page.rows.last() {
            Some((last, _)) if !page.is_last => rest.advance_past(last, false),
            _ => break,
        }
    }
    let rest = splits.cloned().chain([Bytes::new()]);
    samples.extend(rest.map(|row_key| SampleRowKeysResponse { row_key, offset_bytes }));
    Ok(samples)
}

fn size(key: &Bytes, cells: &Cells) -> i64 {
    let cells: usize = cells.iter().map(|cell| cell.qualifier.len() + cell.value.len()).sum();
    i64::try_from(key.len() + cells).unwrap_or(i64::MAX)
}
