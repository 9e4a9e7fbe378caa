//! Read-modify-write: appends and increments of cells of one row.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::{self, Column, Family, ReadModifyWriteRule, Row};
use tonic::Status;

use super::check;
use super::mutate::{Change, apply, in_table_order, known_bytes};
use super::storage::{Cells, Families};
use crate::cell::Cell;

/// The newest cell of a column, as the rules so far have made it.
struct Newest {
    timestamp_micros: i64,
    /// None where the column had no cell. It grows, so that many small appends to a large value take no copy each.
    value: Option<Vec<u8>>,
}

/// Applies `rules` to the row `key`, in order, and returns the cells that they made: none is older than the newest one
/// that its column had.
pub(super) fn row(
    families: &Families,
    key: &Bytes,
    cells: &mut Cells,
    rules: &[ReadModifyWriteRule],
    now: i64,
) -> Result<Row, Status> {
    check::key(key)?;
    if rules.is_empty() {
        return Err(Status::invalid_argument(format!("there are no rules for row {key:?}")));
    }
    let mut made: BTreeMap<(Arc<str>, Bytes), Newest> = BTreeMap::new();
    for ReadModifyWriteRule { family_name, column_qualifier, rule } in rules {
        let family = known_bytes(families, family_name)?;
        check::qualifier(&family, column_qualifier)?;
        let newest = match made.entry((Arc::clone(&family), column_qualifier.clone())) {
            Entry::Occupied(newest) => newest.into_mut(),
            Entry::Vacant(place) => place.insert(newest(cells, &family, column_qualifier, now)),
        };
        newest.value = Some(match rule {
            Some(Rule::AppendValue(appended)) => {
                let mut value = newest.value.take().unwrap_or_default();
                check::value(&family, column_qualifier, value.len().saturating_add(appended.len()))?;
                value.extend_from_slice(appended);
                value
            }
            Some(Rule::IncrementAmount(amount)) => {
                incremented(&family, column_qualifier, newest.value.as_deref(), *amount)?.to_vec()
            }
            None => {
                return Err(Status::invalid_argument(format!(
                    "a rule for the column family `{family}` says neither what is appended nor by what is incremented"
                )));
            }
        });
    }
    let made: Cells = made
        .into_iter()
        .map(|((family, qualifier), newest)| Cell {
            family,
            // The request's memory is not kept for it.
            qualifier: Bytes::copy_from_slice(&qualifier),
            timestamp_micros: newest.timestamp_micros,
            value: newest.value.unwrap_or_default().into(),
            labels: Vec::new(),
        })
        .collect();
    apply(cells, made.iter().cloned().map(Change::Set).collect());
    Ok(message(key, made))
}

fn newest(cells: &Cells, family: &Arc<str>, qualifier: &Bytes, now: i64) -> Newest {
    let first = Cell {
        family: Arc::clone(family),
        qualifier: qualifier.clone(),
        timestamp_micros: i64::MAX,
        value: Bytes::new(),
        labels: Vec::new(),
    };
    let place = cells.partition_point(|known| in_table_order(known, &first).is_lt());
    let newest = cells.get(place).filter(|known| known.family == *family && known.qualifier == *qualifier);
    Newest {
        timestamp_micros: newest.map_or(now, |newest| newest.timestamp_micros.max(now)),
        value: newest.map(|newest| newest.value.to_vec()),
    }
}

/// A cell that is not there counts as zero; the sum wraps around.
fn incremented(
    family: &str,
    qualifier: &Bytes,
    value: Option<&[u8]>,
    amount: i64,
) -> Result<[u8; 8], Status> {
    let known = match value {
        None => 0,
        Some(value) => value.try_into().map(i64::from_be_bytes).map_err(|_| {
            Status::failed_precondition(format!(
                "the column `{}` in the column family `{family}` has a value of {} bytes, and only an integer of 8 bytes can be incremented",
                qualifier.escape_ascii(),
                value.len()
            ))
        })?,
    };
    Ok(known.wrapping_add(amount).to_be_bytes())
}

/// Cells in the table's order, one for each column, as a message.
fn message(key: &Bytes, cells: Cells) -> Row {
    let mut families: Vec<Family> = Vec::new();
    let mut last: Option<Arc<str>> = None;
    for Cell { family, qualifier, timestamp_micros, value, labels } in cells {
        let column = Column { qualifier, cells: vec![data::Cell { timestamp_micros, value, labels }] };
        match families.last_mut() {
            Some(message) if last.as_ref() == Some(&family) => message.columns.push(column),
            _ => families.push(Family { name: family.as_ref().to_owned(), columns: vec![column] }),
        }
        last = Some(family);
    }
    Row { key: key.clone(), families }
}
