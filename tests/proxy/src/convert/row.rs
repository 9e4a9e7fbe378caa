//! Rows.

use bytes::Bytes;
use keyderive::row::RawRow;
use keyderive_proto::data;

/// The row as a message, with families and columns in the order of their cells.
pub(crate) fn row(row: &RawRow) -> data::Row {
    let mut families: Vec<data::Family> = Vec::new();
    for cell in row.cells() {
        if families.last().is_none_or(|family| family.name != cell.family()) {
            families.push(data::Family { name: cell.family().to_owned(), columns: Vec::new() });
        }
        let Some(family) = families.last_mut() else { continue };
        if family.columns.last().is_none_or(|column| column.qualifier != cell.qualifier()) {
            family.columns.push(data::Column {
                qualifier: Bytes::copy_from_slice(cell.qualifier()),
                cells: Vec::new(),
            });
        }
        let Some(column) = family.columns.last_mut() else { continue };
        column.cells.push(data::Cell {
            timestamp_micros: cell.timestamp_micros(),
            value: Bytes::copy_from_slice(cell.value()),
            labels: cell.labels().map(str::to_owned).collect(),
        });
    }
    data::Row { key: Bytes::copy_from_slice(row.key()), families }
}
