//! Mutations: checked against the table first, then applied to one row.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::admin::ColumnFamily;
use keyderive_proto::data;
use keyderive_proto::data::TimestampRange;
use keyderive_proto::data::mutate_rows_request::Entry;
use keyderive_proto::data::mutation::{DeleteFromColumn, Mutation, SetCell};
use tonic::Status;

use super::aggregate::{self, Aggregator};
use super::check;
use super::storage::{Cells, Families};
use crate::cell::Cell;

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
    mutations: &[data::Mutation],
    now: i64,
) -> Result<(), Status> {
    apply(cells, row_changes(families, key, mutations, now)?);
    Ok(())
}

/// As `row`, for the entries of one row, in order; an outcome for each.
pub(super) fn entries<'a>(
    families: &Families,
    cells: &mut Cells,
    entries: impl Iterator<Item = &'a Entry>,
    now: i64,
) -> Vec<Result<(), Status>> {
    let mut all = Vec::new();
    let outcomes = entries.map(|entry| {
        row_changes(families, &entry.row_key, &entry.mutations, now)
            .map(|mut changes| all.append(&mut changes))
    });
    let outcomes = outcomes.collect();
    apply(cells, all);
    outcomes
}

fn row_changes(
    families: &Families,
    key: &Bytes,
    mutations: &[data::Mutation],
    now: i64,
) -> Result<Vec<Change>, Status> {
    check::key(key)?;
    if mutations.is_empty() {
        return Err(Status::invalid_argument(format!("there are no mutations for row {key:?}")));
    }
    changes(families, mutations, now)
}

/// What mutations do to a table of these families.
pub(super) fn changes(
    families: &Families,
    mutations: &[data::Mutation],
    now: i64,
) -> Result<Vec<Change>, Status> {
    mutations.iter().map(|mutation| change(families, mutation, now)).collect()
}

fn change(families: &Families, mutation: &data::Mutation, now: i64) -> Result<Change, Status> {
    match &mutation.mutation {
        Some(Mutation::SetCell(set)) => set_cell(families, set, now).map(Change::Set),
        Some(Mutation::AddToCell(add)) => aggregate::add(families, add),
        Some(Mutation::MergeToCell(merge)) => aggregate::merge(families, merge),
        Some(Mutation::DeleteFromColumn(delete)) => delete_from_column(families, delete),
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

/// Up to so many changes are made where the cells lie, each of which moves those after it or looks at all of them.
const FEW_CHANGES: usize = 16;

pub(super) fn apply(cells: &mut Cells, changes: Vec<Change>) {
    if changes.len() > FEW_CHANGES {
        return apply_many(cells, changes);
    }
    for change in changes {
        match change {
            Change::Set(cell) => match place(cells, &cell) {
                Ok(place) => cells[place] = cell,
                Err(place) => cells.insert(place, cell),
            },
            Change::Accumulate(aggregator, cell) => match place(cells, &cell) {
                Ok(place) => cells[place].value = aggregator.combine(&cells[place].value, &cell.value),
                Err(place) => cells.insert(place, cell),
            },
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

/// As `apply`, by a tree, in which each change finds its cells at once.
fn apply_many(cells: &mut Cells, changes: Vec<Change>) {
    let keyed = |cell: Cell| ((cell.family, cell.qualifier, Reverse(cell.timestamp_micros)), cell.value);
    let mut tree: BTreeMap<(Arc<str>, Bytes, Reverse<i64>), Bytes> =
        mem::take(cells).into_iter().map(keyed).collect();
    for change in changes {
        match change {
            Change::Set(cell) => {
                let (key, value) = keyed(cell);
                tree.insert(key, value);
            }
            Change::Accumulate(aggregator, cell) => {
                let (key, input) = keyed(cell);
                tree.entry(key)
                    .and_modify(|value| *value = aggregator.combine(value, &input))
                    .or_insert_with(|| input.clone());
            }
            Change::DeleteRow => tree.clear(),
            Change::DeleteFamily(family) => {
                // The first name after that of the family.
                let next = format!("{family}\0").into();
                let first = |family| (family, Bytes::new(), Reverse(i64::MAX));
                tree.extract_if(first(family)..first(next), |_, _| true).for_each(drop);
            }
            Change::DeleteColumn { family, qualifier, from, to } => {
                let newest = to.map_or(i64::MAX, |to| to.saturating_sub(1));
                if newest >= from {
                    let at = |micros| (Arc::clone(&family), qualifier.clone(), Reverse(micros));
                    tree.extract_if(at(newest)..=at(from), |_, _| true).for_each(drop);
                }
            }
            Change::Nothing => {}
        }
    }
    cells.extend(tree.into_iter().map(|((family, qualifier, Reverse(timestamp_micros)), value)| Cell {
        family,
        qualifier,
        timestamp_micros,
        value,
        labels: Vec::new(),
    }));
}

/// Where a cell is, or where it is missing.
fn place(cells: &Cells, cell: &Cell) -> Result<usize, usize> {
    cells.binary_search_by(|known| in_table_order(known, cell))
}

pub(super) fn in_table_order(left: &Cell, right: &Cell) -> Ordering {
    (left.family.cmp(&right.family))
        .then_with(|| left.qualifier.cmp(&right.qualifier))
        .then_with(|| right.timestamp_micros.cmp(&left.timestamp_micros))
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    fn cell(rng: &mut Rng) -> Cell {
        Cell {
            family: rng.choice(["a", "ab", "b"]).unwrap_or_default().into(),
            qualifier: rng.choice(["", "q", "qq", "r"]).unwrap_or_default().into(),
            timestamp_micros: rng.i64(0..4) * 1000,
            value: rng.i64(0..9).to_be_bytes().to_vec().into(),
            labels: Vec::new(),
        }
    }

    fn change(rng: &mut Rng) -> Change {
        let Cell { family, qualifier, timestamp_micros: from, .. } = cell(rng);
        match rng.u8(..8) {
            0 => Change::DeleteRow,
            1 => Change::DeleteFamily(family),
            2 => Change::DeleteColumn { family, qualifier, from, to: None },
            3 => Change::DeleteColumn { family, qualifier, from, to: Some(from + rng.i64(0..3) * 1000) },
            4 => Change::Accumulate(Aggregator::Sum, cell(rng)),
            _ => Change::Set(cell(rng)),
        }
    }

    #[test]
    fn many_changes_do_what_they_do_one_by_one() {
        let rng = &mut Rng::with_seed(17);
        for _ in 0..500 {
            let seed = rng.u64(..);
            let changes = || {
                let mut rng = Rng::with_seed(seed);
                (0..FEW_CHANGES + 20).map(|_| change(&mut rng)).collect::<Vec<_>>()
            };
            let (mut together, mut one_by_one) = (Cells::new(), Cells::new());
            apply(&mut together, changes());
            changes().into_iter().for_each(|change| apply(&mut one_by_one, vec![change]));
            assert_eq!(together, one_by_one, "seed {seed}");
        }
    }
}
