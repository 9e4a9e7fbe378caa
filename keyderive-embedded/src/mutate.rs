//! Changes of one row: mutations, aggregates, and read-modify-write.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, btree_map};
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::admin::r#type::aggregate::Aggregator as AggregatorMessage;
use keyderive_proto::admin::r#type::int64::encoding::Encoding;
use keyderive_proto::admin::r#type::{self, Aggregate, Kind};
use keyderive_proto::admin::{ColumnFamily, Type};
use keyderive_proto::data::mutate_rows_request::Entry;
use keyderive_proto::data::mutation::{AddToCell, DeleteFromColumn, MergeToCell, Mutation, SetCell};
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::value::Kind as Value;
use keyderive_proto::data::{self, Column, Family, Idempotency, ReadModifyWriteRule, Row, TimestampRange};
use tonic::Status;

use crate::check;
use crate::storage::{Cell, Cells, Families};
use crate::store::Context;

/// The timestamp that stands for the server's time.
const SERVER_TIME: i64 = -1;

/// A valid mutation.
pub(super) enum Change {
    Set(Cell),
    Accumulate(Aggregator, Cell),
    DeleteColumn { family: Arc<str>, qualifier: Bytes, from: i64, to: Option<i64> },
    DeleteFamily(Arc<str>),
    DeleteRow,
    Nothing,
}

/// Applies all of `mutations` to the row `key`, in order, or none. None if they were applied before with the same token.
pub(super) fn mutate_row(
    context: &mut Context<'_>,
    key: &Bytes,
    cells: &mut Cells,
    mutations: &[data::Mutation],
    idempotency: Option<&Idempotency>,
) -> Result<(), Status> {
    apply(cells, row_changes(context, key, mutations, idempotency)?);
    Ok(())
}

/// Like [`mutate_row`], for several entries of one row in order. Returns an outcome for each.
pub(super) fn mutate_entries<'a>(
    context: &mut Context<'_>,
    cells: &mut Cells,
    entries: impl Iterator<Item = &'a Entry>,
) -> Vec<Result<(), Status>> {
    let mut all = Vec::new();
    let outcomes = entries.map(|Entry { row_key, mutations, idempotency }| {
        row_changes(context, row_key, mutations, idempotency.as_ref())
            .map(|mut changes| all.append(&mut changes))
    });
    let outcomes = outcomes.collect();
    apply(cells, all);
    outcomes
}

fn row_changes(
    context: &mut Context<'_>,
    key: &Bytes,
    mutations: &[data::Mutation],
    idempotency: Option<&Idempotency>,
) -> Result<Vec<Change>, Status> {
    check::key(key)?;
    if mutations.is_empty() {
        return Err(Status::invalid_argument(format!("there are no mutations for row {key:?}")));
    }
    let Some(idempotency) = idempotency else { return changes(context, mutations) };
    let token = context.token(key, idempotency)?;
    if context.is_applied(&token)? {
        return Ok(Vec::new());
    }
    let changes = changes(context, mutations)?;
    context.note(token)?;
    Ok(changes)
}

/// Validates mutations.
pub(super) fn changes(context: &Context<'_>, mutations: &[data::Mutation]) -> Result<Vec<Change>, Status> {
    mutations.iter().map(|mutation| change(context.families, mutation, context.now)).collect()
}

fn change(families: &Families, mutation: &data::Mutation, now: i64) -> Result<Change, Status> {
    match &mutation.mutation {
        Some(Mutation::SetCell(set)) => set_cell(families, set, now).map(Change::Set),
        Some(Mutation::AddToCell(add)) => add_to_cell(families, add),
        Some(Mutation::MergeToCell(merge)) => merge_to_cell(families, merge),
        Some(Mutation::DeleteFromColumn(delete)) => delete_from_column(families, delete),
        Some(Mutation::DeleteFromFamily(delete)) => {
            family_of(families, &delete.family_name).map(|(family, _)| Change::DeleteFamily(family))
        }
        Some(Mutation::DeleteFromRow(_)) => Ok(Change::DeleteRow),
        None => Err(Status::invalid_argument("a mutation is empty")),
    }
}

fn family_of<'a>(families: &'a Families, name: &str) -> Result<(Arc<str>, &'a ColumnFamily), Status> {
    match families.get_key_value(name) {
        Some((name, family)) => Ok((Arc::clone(name), family)),
        None => Err(Status::not_found(format!("the table has no column family `{name}`"))),
    }
}

/// The name of a family without aggregates.
fn plain_family_of(families: &Families, name: &str) -> Result<Arc<str>, Status> {
    match family_of(families, name)? {
        (name, family) if Aggregator::of(family).is_none() => Ok(name),
        _ => Err(Status::invalid_argument(format!(
            "the column family `{name}` holds aggregates, which support only `add_to_cell` and `merge_to_cell`"
        ))),
    }
}

/// Copies the qualifier and the value, whose slices would keep the whole request in memory.
fn set_cell(families: &Families, set: &SetCell, now: i64) -> Result<Cell, Status> {
    let family = plain_family_of(families, &set.family_name)?;
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
    let (family, _) = family_of(families, &delete.family_name)?;
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

/// Up to this many changes are applied in place, which takes time linear in the cells for each.
const MAX_IN_PLACE: usize = 16;

pub(super) fn apply(cells: &mut Cells, changes: Vec<Change>) {
    if changes.len() > MAX_IN_PLACE {
        return apply_by_tree(cells, changes);
    }
    for change in changes {
        match change {
            Change::Set(cell) => match position(cells, &cell) {
                Ok(place) => cells[place] = cell,
                Err(place) => cells.insert(place, cell),
            },
            Change::Accumulate(aggregator, cell) => match position(cells, &cell) {
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

/// Like [`apply`], but builds a tree, in which each change takes logarithmic time.
fn apply_by_tree(cells: &mut Cells, changes: Vec<Change>) {
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
                // The next possible family name.
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

/// The index of a cell, or where to insert it.
fn position(cells: &Cells, cell: &Cell) -> Result<usize, usize> {
    cells.binary_search_by(|known| in_table_order(known, cell))
}

pub(super) fn in_table_order(left: &Cell, right: &Cell) -> Ordering {
    (left.family.cmp(&right.family))
        .then_with(|| left.qualifier.cmp(&right.qualifier))
        .then_with(|| right.timestamp_micros.cmp(&left.timestamp_micros))
}

/// The newest cell of a column, after the rules applied so far.
struct NewestCell {
    timestamp_micros: i64,
    /// `None` if the column had no cell. A `Vec`, so that repeated appends to a large value do not copy it each time.
    value: Option<Vec<u8>>,
}

/// Applies `rules` to the row `key`, in order, and returns the cells that they wrote. A written cell is never older than
/// the newest cell that its column had.
pub(super) fn read_modify_write(
    context: &Context<'_>,
    key: &Bytes,
    cells: &mut Cells,
    rules: &[ReadModifyWriteRule],
) -> Result<Row, Status> {
    check::key(key)?;
    if rules.is_empty() {
        return Err(Status::invalid_argument(format!("there are no rules for row {key:?}")));
    }
    let mut made: BTreeMap<(Arc<str>, Bytes), NewestCell> = BTreeMap::new();
    for ReadModifyWriteRule { family_name, column_qualifier, rule } in rules {
        let family = plain_family_of(context.families, family_name)?;
        check::qualifier(&family, column_qualifier)?;
        let newest = match made.entry((Arc::clone(&family), column_qualifier.clone())) {
            btree_map::Entry::Occupied(newest) => newest.into_mut(),
            btree_map::Entry::Vacant(place) => {
                place.insert(newest(cells, &family, column_qualifier, context.now))
            }
        };
        newest.value = Some(match rule {
            Some(Rule::AppendValue(appended)) => {
                let mut value = newest.value.take().unwrap_or_default();
                check::value(&family, column_qualifier, value.len().saturating_add(appended.len()))?;
                value.extend_from_slice(appended);
                value
            }
            Some(Rule::IncrementAmount(amount)) => {
                increment(&family, column_qualifier, newest.value.as_deref(), *amount)?.to_vec()
            }
            None => {
                return Err(Status::invalid_argument(format!(
                    "a rule for the column family `{family}` has neither a value to append nor an amount to increment by"
                )));
            }
        });
    }
    let made: Cells = made
        .into_iter()
        .map(|((family, qualifier), newest)| Cell {
            family,
            // A slice would keep the whole request in memory.
            qualifier: Bytes::copy_from_slice(&qualifier),
            timestamp_micros: newest.timestamp_micros,
            value: newest.value.unwrap_or_default().into(),
            labels: Vec::new(),
        })
        .collect();
    apply(cells, made.iter().cloned().map(Change::Set).collect());
    Ok(row_message(key, made))
}

fn newest(cells: &Cells, family: &Arc<str>, qualifier: &Bytes, now: i64) -> NewestCell {
    let first = Cell {
        family: Arc::clone(family),
        qualifier: qualifier.clone(),
        timestamp_micros: i64::MAX,
        value: Bytes::new(),
        labels: Vec::new(),
    };
    let place = cells.partition_point(|known| in_table_order(known, &first).is_lt());
    let newest = cells.get(place).filter(|known| known.family == *family && known.qualifier == *qualifier);
    NewestCell {
        timestamp_micros: newest.map_or(now, |newest| newest.timestamp_micros.max(now)),
        value: newest.map(|newest| newest.value.to_vec()),
    }
}

/// A missing cell counts as zero; the sum wraps around.
fn increment(family: &str, qualifier: &Bytes, value: Option<&[u8]>, amount: i64) -> Result<[u8; 8], Status> {
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

/// Converts cells in the table's order, one for each column.
fn row_message(key: &Bytes, cells: Cells) -> Row {
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

/// How an aggregate family combines integers, which are stored in 8 bytes, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregator {
    Sum,
    Min,
    Max,
}

impl Aggregator {
    /// The aggregator of a family; `None` if it does not hold aggregates.
    pub(super) fn of(family: &ColumnFamily) -> Option<Self> {
        let Some(Kind::AggregateType(aggregate)) = family.value_type.as_ref()?.kind.as_ref() else {
            return None;
        };
        match aggregate.aggregator.as_ref()? {
            AggregatorMessage::Sum(_) => Some(Self::Sum),
            AggregatorMessage::Min(_) => Some(Self::Min),
            AggregatorMessage::Max(_) => Some(Self::Max),
            AggregatorMessage::HllppUniqueCount(_) => None,
        }
    }

    /// Combines a stored value with `input`, which has the same encoding. A sum wraps around.
    fn combine(self, stored: &Bytes, input: &Bytes) -> Bytes {
        // Writes check the length, so other lengths do not occur; if one did, `input` would replace the value.
        let (Some(left), Some(right)) = (integer(stored), integer(input)) else { return input.clone() };
        let result = match self {
            Self::Sum => left.wrapping_add(right),
            Self::Min => left.min(right),
            Self::Max => left.max(right),
        };
        Bytes::copy_from_slice(&result.to_be_bytes())
    }
}

fn integer(bytes: &[u8]) -> Option<i64> {
    bytes.try_into().map(i64::from_be_bytes).ok()
}

/// Checks the value type of a family, and fills in the state type of an aggregate, as the service does. Any other type only
/// describes the values: writes do not check them.
pub(super) fn complete_value_type(name: &str, family: &mut ColumnFamily) -> Result<(), Status> {
    let Some(value_type) = &mut family.value_type else { return Ok(()) };
    let reject = |what: &str| {
        Err(Status::invalid_argument(format!("the value type of the column family `{name}` {what}")))
    };
    let aggregate = match &mut value_type.kind {
        Some(Kind::AggregateType(aggregate)) => aggregate,
        Some(_) => return Ok(()),
        None => return reject("is empty; leave it out for a family of bytes"),
    };
    let Aggregate { input_type, state_type, aggregator } = aggregate.as_mut();
    match aggregator {
        Some(AggregatorMessage::Sum(_) | AggregatorMessage::Min(_) | AggregatorMessage::Max(_)) => {}
        Some(AggregatorMessage::HllppUniqueCount(_)) => {
            return Err(Status::unimplemented(format!(
                "the embedded Bigtable has no HyperLogLog++, the aggregator of the column family `{name}`; it has sums, minima and maxima"
            )));
        }
        None => return reject("has no aggregator: sum, min or max"),
    }
    if !input_type.as_deref().is_some_and(is_big_endian) {
        return reject("has an input type other than integers in the encoding `big_endian_bytes`");
    }
    state_type.clone_from(input_type);
    Ok(())
}

fn is_big_endian(input: &Type) -> bool {
    let Some(Kind::Int64Type(r#type::Int64 { encoding: Some(encoding) })) = &input.kind else { return false };
    matches!(encoding.encoding, Some(Encoding::BigEndianBytes(_)))
}

fn add_to_cell(families: &Families, add: &AddToCell) -> Result<Change, Status> {
    let (aggregator, cell) =
        aggregate_cell(families, &add.family_name, &add.column_qualifier, &add.timestamp)?;
    match value_kind(&add.input) {
        Some(Value::IntValue(input)) => Ok(accumulate(aggregator, cell, *input)),
        _ => Err(Status::invalid_argument(format!(
            "the input of an `add_to_cell` for the column family `{}` is not an `int_value`",
            add.family_name
        ))),
    }
}

/// The state is an integer, or its stored encoding. Without a state, the cell does not change.
fn merge_to_cell(families: &Families, merge: &MergeToCell) -> Result<Change, Status> {
    let (aggregator, cell) =
        aggregate_cell(families, &merge.family_name, &merge.column_qualifier, &merge.timestamp)?;
    match value_kind(&merge.input) {
        None => Ok(Change::Nothing),
        Some(input) => match integer_of(input) {
            Some(state) => Ok(accumulate(aggregator, cell, state)),
            None => Err(Status::invalid_argument(format!(
                "the input of a `merge_to_cell` for the column family `{}` is not an integer of 8 bytes, as `bytes_value`, `raw_value` or `int_value`",
                merge.family_name
            ))),
        },
    }
}

fn integer_of(input: &Value) -> Option<i64> {
    match input {
        Value::IntValue(state) => Some(*state),
        Value::BytesValue(state) | Value::RawValue(state) => integer(state),
        _ => None,
    }
}

fn accumulate(aggregator: Aggregator, cell: Cell, input: i64) -> Change {
    Change::Accumulate(aggregator, Cell { value: Bytes::copy_from_slice(&input.to_be_bytes()), ..cell })
}

/// The aggregator and the cell, without a value, that a mutation names.
fn aggregate_cell(
    families: &Families,
    family: &str,
    qualifier: &Option<data::Value>,
    timestamp: &Option<data::Value>,
) -> Result<(Aggregator, Cell), Status> {
    let (name, family) = family_of(families, family)?;
    let Some(aggregator) = Aggregator::of(family) else {
        return Err(Status::invalid_argument(format!(
            "the column family `{name}` holds no aggregates, and only aggregates support `add_to_cell` and `merge_to_cell`"
        )));
    };
    let Some(Value::RawValue(qualifier)) = value_kind(qualifier) else {
        return Err(Status::invalid_argument(format!(
            "the qualifier of a mutation of the column family `{name}` is not a `raw_value`"
        )));
    };
    check::qualifier(&name, qualifier)?;
    let Some(Value::RawTimestampMicros(micros)) = value_kind(timestamp) else {
        return Err(Status::invalid_argument(format!(
            "the timestamp of a mutation of the column family `{name}` is not a `raw_timestamp_micros`"
        )));
    };
    let cell = Cell {
        family: name,
        qualifier: Bytes::copy_from_slice(qualifier),
        timestamp_micros: check::timestamp(*micros)?,
        value: Bytes::new(),
        labels: Vec::new(),
    };
    Ok((aggregator, cell))
}

fn value_kind(value: &Option<data::Value>) -> Option<&Value> {
    value.as_ref().and_then(|value| value.kind.as_ref())
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
    fn many_changes_equal_the_same_changes_one_by_one() {
        let rng = &mut Rng::with_seed(17);
        for _ in 0..500 {
            let seed = rng.u64(..);
            let changes = || {
                let mut rng = Rng::with_seed(seed);
                (0..MAX_IN_PLACE + 20).map(|_| change(&mut rng)).collect::<Vec<_>>()
            };
            let (mut together, mut one_by_one) = (Cells::new(), Cells::new());
            apply(&mut together, changes());
            changes().into_iter().for_each(|change| apply(&mut one_by_one, vec![change]));
            assert_eq!(together, one_by_one, "seed {seed}");
        }
    }
}
