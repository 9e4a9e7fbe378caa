//! Mutations: checked against the table first, then applied to one row.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use tonic::Status;

use super::store::{Cells, Families, State, Table};
use crate::row::Cell;
use crate::wire::data;
use crate::wire::data::TimestampRange;
use crate::wire::data::mutation::{DeleteFromColumn, Mutation, SetCell};

/// What the service takes in one request.
pub(super) const MAX_MUTATIONS: usize = 100_000;

const MAX_KEY_BYTES: usize = 4096;

/// The timestamp that stands for the server's time.
const SERVER_TIME: i64 = -1;

/// A mutation that the table can take.
enum Change {
    Set(Cell),
    DeleteColumn { family: Arc<str>, qualifier: Bytes, from: i64, to: Option<i64> },
    DeleteFamily(Arc<str>),
    DeleteRow,
}

/// Changes one row: all of `mutations`, in order, or none.
pub(super) fn row(table: &Table, key: &Bytes, mutations: Vec<data::Mutation>) -> Result<(), Status> {
    check_key(key)?;
    if mutations.is_empty() {
        return Err(Status::invalid_argument(format!("there are no mutations for row {key:?}")));
    }
    let now = now_micros();
    let mut state = table.write();
    let families = &state.families;
    let changes: Vec<Change> =
        mutations.into_iter().map(|mutation| change(families, mutation, now)).collect::<Result<_, _>>()?;
    apply(&mut state, key, changes);
    Ok(())
}

fn check_key(key: &Bytes) -> Result<(), Status> {
    match key.len() {
        1..=MAX_KEY_BYTES => Ok(()),
        0 => Err(Status::invalid_argument("a row key is empty")),
        length => Err(Status::invalid_argument(format!(
            "a row key has {length} bytes, and it may have {MAX_KEY_BYTES}"
        ))),
    }
}

fn change(families: &Families, mutation: data::Mutation, now: i64) -> Result<Change, Status> {
    match mutation.mutation {
        Some(Mutation::SetCell(set)) => set_cell(families, &set, now).map(Change::Set),
        Some(Mutation::DeleteFromColumn(delete)) => delete_from_column(families, &delete),
        Some(Mutation::DeleteFromFamily(delete)) => {
            known(families, &delete.family_name).map(Change::DeleteFamily)
        }
        Some(Mutation::DeleteFromRow(_)) => Ok(Change::DeleteRow),
        Some(Mutation::AddToCell(_) | Mutation::MergeToCell(_)) => {
            Err(Status::unimplemented("the embedded Bigtable has no aggregates yet"))
        }
        None => Err(Status::invalid_argument("a mutation is empty")),
    }
}

fn known(families: &Families, name: &str) -> Result<Arc<str>, Status> {
    match families.get_key_value(name) {
        Some((family, _)) => Ok(Arc::clone(family)),
        None => Err(Status::not_found(format!("the table has no column family `{name}`"))),
    }
}

/// Copies what it keeps, which is a slice of the whole request.
fn set_cell(families: &Families, set: &SetCell, now: i64) -> Result<Cell, Status> {
    let timestamp_micros = match set.timestamp_micros {
        SERVER_TIME => now,
        micros if micros >= 0 && micros % 1000 == 0 => micros,
        micros => {
            return Err(Status::invalid_argument(format!(
                "the timestamp {micros} is not a whole number of milliseconds, in microseconds since the epoch"
            )));
        }
    };
    Ok(Cell {
        family: known(families, &set.family_name)?,
        qualifier: Bytes::copy_from_slice(&set.column_qualifier),
        timestamp_micros,
        value: Bytes::copy_from_slice(&set.value),
        labels: Vec::new(),
    })
}

fn delete_from_column(families: &Families, delete: &DeleteFromColumn) -> Result<Change, Status> {
    let TimestampRange { start_timestamp_micros: from, end_timestamp_micros: end } =
        delete.time_range.unwrap_or_default();
    let to = Some(end).filter(|end| *end != 0);
    if let Some(to) = to.filter(|to| *to < from) {
        return Err(Status::invalid_argument(format!(
            "the time range of a deletion ends at {to}, before its start {from}"
        )));
    }
    Ok(Change::DeleteColumn {
        family: known(families, &delete.family_name)?,
        qualifier: delete.column_qualifier.clone(),
        from,
        to,
    })
}

fn apply(state: &mut State, key: &Bytes, changes: Vec<Change>) {
    let cells = match state.rows.get_mut(key) {
        Some(cells) => cells,
        None => state.rows.entry(Bytes::copy_from_slice(key)).or_default(),
    };
    let cells = Arc::make_mut(cells);
    for change in changes {
        match change {
            Change::Set(cell) => set(cells, cell),
            Change::DeleteRow => cells.clear(),
            Change::DeleteFamily(family) => cells.retain(|cell| cell.family != family),
            Change::DeleteColumn { family, qualifier, from, to } => cells.retain(|cell| {
                let in_range =
                    cell.timestamp_micros >= from && to.is_none_or(|to| cell.timestamp_micros < to);
                cell.family != family || cell.qualifier != qualifier || !in_range
            }),
        }
    }
    if cells.is_empty() {
        state.rows.remove(key);
    }
}

fn set(cells: &mut Cells, cell: Cell) {
    match cells.binary_search_by(|known| in_table_order(known, &cell)) {
        Ok(place) => cells[place] = cell,
        Err(place) => cells.insert(place, cell),
    }
}

pub(super) fn in_table_order(left: &Cell, right: &Cell) -> Ordering {
    (left.family.cmp(&right.family))
        .then_with(|| left.qualifier.cmp(&right.qualifier))
        .then_with(|| right.timestamp_micros.cmp(&left.timestamp_micros))
}

/// The time in whole milliseconds, as microseconds.
fn now_micros() -> i64 {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    i64::try_from(millis).map_or(i64::MAX, |millis| millis.saturating_mul(1000))
}
