//! Read-modify-write: appends and increments of cells of one row.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tonic::Status;

use super::check;
use super::mutate::{in_table_order, known_bytes, set};
use super::storage::{Cells, Families};
use crate::embedded::cell::Cell;
use crate::wire::data::read_modify_write_rule::Rule;
use crate::wire::data::{self, Column, Family, ReadModifyWriteRule, Row};

/// Applies `rules` to the row `key`, in order, and returns the cells that they made.
pub(super) fn row(
    families: &Families,
    key: &Bytes,
    cells: &mut Cells,
    rules: Vec<ReadModifyWriteRule>,
    now: i64,
) -> Result<Row, Status> {
    check::key(key)?;
    if rules.is_empty() {
        return Err(Status::invalid_argument(format!("there are no rules for row {key:?}")));
    }
    let mut made = Cells::new();
    for rule in rules {
        let cell = modified(families, cells, rule, now)?;
        made.retain(|known| known.family != cell.family || known.qualifier != cell.qualifier);
        set(&mut made, cell.clone());
        set(cells, cell);
    }
    Ok(message(key, made))
}

/// The cell that a rule makes of the newest one of its column: never older than that one.
fn modified(families: &Families, cells: &Cells, rule: ReadModifyWriteRule, now: i64) -> Result<Cell, Status> {
    let family = known_bytes(families, &rule.family_name)?;
    check::qualifier(&family, &rule.column_qualifier)?;
    let mut cell = Cell {
        family,
        qualifier: Bytes::copy_from_slice(&rule.column_qualifier),
        timestamp_micros: i64::MAX,
        value: Bytes::new(),
        labels: Vec::new(),
    };
    let place = cells.partition_point(|known| in_table_order(known, &cell).is_lt());
    let newest =
        cells.get(place).filter(|known| known.family == cell.family && known.qualifier == cell.qualifier);
    cell.value = match rule.rule {
        Some(Rule::AppendValue(appended)) => {
            appended_to(&cell, newest.map(|newest| &newest.value), &appended)?
        }
        Some(Rule::IncrementAmount(amount)) => {
            incremented(&cell, newest.map(|newest| &newest.value), amount)?
        }
        None => {
            return Err(Status::invalid_argument(format!(
                "a rule for the column family `{}` says neither what is appended nor by what is incremented",
                cell.family
            )));
        }
    };
    cell.timestamp_micros = newest.map_or(now, |newest| newest.timestamp_micros.max(now));
    Ok(cell)
}

fn appended_to(cell: &Cell, value: Option<&Bytes>, appended: &Bytes) -> Result<Bytes, Status> {
    let value: &[u8] = value.map_or(&[], |value| value);
    let length = value.len().saturating_add(appended.len());
    check::value(&cell.family, &cell.qualifier, length)?;
    let mut whole = BytesMut::with_capacity(length);
    whole.extend_from_slice(value);
    whole.extend_from_slice(appended);
    Ok(whole.freeze())
}

/// A cell that is not there counts as zero; the sum wraps around.
fn incremented(cell: &Cell, value: Option<&Bytes>, amount: i64) -> Result<Bytes, Status> {
    let known = match value {
        None => 0,
        Some(value) => value[..].try_into().map(i64::from_be_bytes).map_err(|_| {
            Status::failed_precondition(format!(
                "the column {:?} in the column family `{}` has a value of {} bytes, and only an integer of 8 bytes can be incremented",
                cell.qualifier,
                cell.family,
                value.len()
            ))
        })?,
    };
    Ok(Bytes::copy_from_slice(&known.wrapping_add(amount).to_be_bytes()))
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
