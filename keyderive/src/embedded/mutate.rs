//! Mutations: checked against the table first, then applied to one row.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;
use tonic::Status;

use super::aggregate::{self, Aggregator};
use super::check;
use super::storage::{Cells, Families};
use crate::embedded::cell::Cell;
use crate::wire::admin::ColumnFamily;
use crate::wire::data;
use crate::wire::data::TimestampRange;
use crate::wire::data::mutation::{DeleteFromColumn, Mutation, SetCell};

/// The timestamp that stands for the server's time.
const SERVER_TIME: i64 = -1;

/// A mutation that the table can take.
pub(super) enum Change {
    Set(Cell),
    Accumulate(Aggregator, Cell),
    DeleteColumn { family: Arc<str>, qualifier: Bytes, from: i64, to: Option<i64> },
    DeleteFamily(Arc<str>),
    DeleteRow,
    Nothing,
}

/// Changes the cells of the row `key`: all of `mutations`, in order, or none.
pub(super) fn row(
    families: &Families,
    key: &Bytes,
    cells: &mut Cells,
    mutations: Vec<data::Mutation>,
    now: i64,
) -> Result<(), Status> {
    check::key(key)?;
    if mutations.is_empty() {
        return Err(Status::invalid_argument(format!("there are no mutations for row {key:?}")));
    }
    apply(cells, changes(families, mutations, now)?);
    Ok(())
}

/// What mutations do to a table of these families.
pub(super) fn changes(
    families: &Families,
    mutations: Vec<data::Mutation>,
    now: i64,
) -> Result<Vec<Change>, Status> {
    mutations.into_iter().map(|mutation| change(families, mutation, now)).collect()
}

fn change(families: &Families, mutation: data::Mutation, now: i64) -> Result<Change, Status> {
    match mutation.mutation {
        Some(Mutation::SetCell(set)) => set_cell(families, &set, now).map(Change::Set),
        Some(Mutation::AddToCell(add)) => aggregate::add(families, &add),
        Some(Mutation::MergeToCell(merge)) => aggregate::merge(families, &merge),
        Some(Mutation::DeleteFromColumn(delete)) => delete_from_column(families, &delete),
        Some(Mutation::DeleteFromFamily(delete)) => {
            known(families, &delete.family_name).map(|(family, _)| Change::DeleteFamily(family))
        }
        Some(Mutation::DeleteFromRow(_)) => Ok(Change::DeleteRow),
        None => Err(Status::invalid_argument("a mutation is empty")),
    }
}

pub(super) fn known<'a>(families: &'a Families, name: &str) -> Result<(Arc<str>, &'a ColumnFamily), Status> {
    match families.get_key_value(name) {
        Some((name, family)) => Ok((Arc::clone(name), family)),
        None => Err(Status::not_found(format!("the table has no column family `{name}`"))),
    }
}

/// A family whose cells are set and not added to.
pub(super) fn known_bytes(families: &Families, name: &str) -> Result<Arc<str>, Status> {
    match known(families, name)? {
        (name, family) if Aggregator::of(family).is_none() => Ok(name),
        _ => Err(Status::invalid_argument(format!(
            "the column family `{name}` holds aggregates, which are added to and merged, not set"
        ))),
    }
}

/// Copies what it keeps, which is a slice of the whole request.
fn set_cell(families: &Families, set: &SetCell, now: i64) -> Result<Cell, Status> {
    let family = known_bytes(families, &set.family_name)?;
    check::qualifier(&family, &set.column_qualifier)?;
    check::value(&family, &set.column_qualifier, set.value.len())?;
    let timestamp_micros = match set.timestamp_micros {
        SERVER_TIME => now,
        micros => check::timestamp(micros)?,
    };
    Ok(Cell {
        family,
        qualifier: Bytes::copy_from_slice(&set.column_qualifier),
        timestamp_micros,
        value: Bytes::copy_from_slice(&set.value),
        labels: Vec::new(),
    })
}

fn delete_from_column(families: &Families, delete: &DeleteFromColumn) -> Result<Change, Status> {
    let (family, _) = known(families, &delete.family_name)?;
    check::qualifier(&family, &delete.column_qualifier)?;
    let TimestampRange { start_timestamp_micros: from, end_timestamp_micros: end } =
        delete.time_range.unwrap_or_default();
    check::timestamp(from)?;
    let to = Some(check::timestamp(end)?).filter(|end| *end != 0);
    if let Some(to) = to.filter(|to| *to < from) {
        return Err(Status::invalid_argument(format!(
            "the time range of a deletion ends at {to}, before its start {from}"
        )));
    }
    Ok(Change::DeleteColumn { family, qualifier: delete.column_qualifier.clone(), from, to })
}

pub(super) fn apply(cells: &mut Cells, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::Set(cell) => set(cells, cell),
            Change::Accumulate(aggregator, cell) => accumulate(cells, aggregator, cell),
            Change::DeleteRow => cells.clear(),
            Change::DeleteFamily(family) => cells.retain(|cell| cell.family != family),
            Change::DeleteColumn { family, qualifier, from, to } => cells.retain(|cell| {
                let in_range =
                    cell.timestamp_micros >= from && to.is_none_or(|to| cell.timestamp_micros < to);
                cell.family != family || cell.qualifier != qualifier || !in_range
            }),
            Change::Nothing => {}
        }
    }
}

/// Puts a cell in the place of the one with its column and timestamp.
pub(super) fn set(cells: &mut Cells, cell: Cell) {
    match cells.binary_search_by(|known| in_table_order(known, &cell)) {
        Ok(place) => cells[place] = cell,
        Err(place) => cells.insert(place, cell),
    }
}

fn accumulate(cells: &mut Cells, aggregator: Aggregator, cell: Cell) {
    match cells.binary_search_by(|known| in_table_order(known, &cell)) {
        Ok(place) => cells[place].value = aggregator.combine(&cells[place].value, &cell.value),
        Err(place) => cells.insert(place, cell),
    }
}

pub(super) fn in_table_order(left: &Cell, right: &Cell) -> Ordering {
    (left.family.cmp(&right.family))
        .then_with(|| left.qualifier.cmp(&right.qualifier))
        .then_with(|| right.timestamp_micros.cmp(&left.timestamp_micros))
}
