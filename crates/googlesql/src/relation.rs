//! Relations: what a query reads and computes, row by row.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;
use std::rc::Rc;

use tonic::Status;

use crate::aggregate::{Aggregate, State};
use crate::column::Column;
use crate::error::out_of_range;
use crate::expr::Expr;
use crate::meter::{self, Held};
use crate::table::TableScan;
use crate::types::Type;
use crate::value::Value;

/// What a query computes, and its columns.
pub(crate) struct Relation<'a> {
    pub(crate) plan: Plan<'a>,
    pub(crate) columns: Vec<Column>,
    /// The columns of a table that are read; the scan fills no others.
    pub(crate) read: Rc<RefCell<BTreeSet<usize>>>,
}

/// How rows are computed from rows.
pub(crate) enum Plan<'a> {
    /// One row without columns.
    One,
    Scan(Box<TableScan<'a>>),
    /// The row, and after it the elements of an array one by one, each with its place if `with_offset`. A row without elements
    /// has one that is NULL if it is `outer`.
    Unnest {
        input: Box<Plan<'a>>,
        array: Expr,
        with_offset: bool,
        is_outer: bool,
    },
    /// A row for each timestamp in the columns of versions, newest first, and the timestamp as its last column.
    Unpack {
        input: Box<Plan<'a>>,
        columns: Vec<Versions>,
    },
    Filter {
        input: Box<Plan<'a>>,
        condition: Expr,
    },
    Project {
        input: Box<Plan<'a>>,
        columns: Vec<Expr>,
    },
    /// The first columns.
    Truncate {
        input: Box<Plan<'a>>,
        count: usize,
    },
    /// The keys, and after them the aggregates. Without keys, one row.
    Group {
        input: Box<Plan<'a>>,
        keys: Vec<Expr>,
        aggregates: Vec<Aggregate>,
    },
    Distinct {
        input: Box<Plan<'a>>,
    },
    /// By columns, with whether they descend and whether NULL comes first.
    Sort {
        input: Box<Plan<'a>>,
        by: Vec<(usize, bool, bool)>,
    },
    Limit {
        input: Box<Plan<'a>>,
        limit: Option<Expr>,
        offset: Option<Expr>,
    },
}

/// What a column of a relation that is unpacked holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    /// The same value for each timestamp.
    None,
    /// Versions of one value.
    OfValue,
    /// Versions of each value of a map.
    OfEntries,
}

type Emit<'e> = &'e mut dyn FnMut(Vec<Value>) -> Result<ControlFlow<()>, Status>;

impl Plan<'_> {
    /// Calls `emit` with each row, until it breaks or fails, or the caller of the query goes.
    pub(crate) fn run(&self, emit: Emit<'_>) -> Result<(), Status> {
        let emit = &mut |row| {
            meter::check_caller()?;
            emit(row)
        };
        match self {
            Self::One => emit(Vec::new()).map(drop),
            Self::Scan(scan) => scan.run(emit),
            Self::Unnest { input, array, with_offset, is_outer } => input.run(&mut |row| {
                let before = bytes(&row);
                let (elements, has_places) = match array.value(&row)? {
                    Value::Array(elements) if !elements.is_empty() => (elements, true),
                    _ if *is_outer => (vec![Value::Null], false),
                    _ => (Vec::new(), false),
                };
                let _held = meter::hold(before + bytes(&elements))?;
                for (place, element) in (0..).zip(elements) {
                    let at = if has_places { Value::Int64(place) } else { Value::Null };
                    // With no room to spare: rows that are kept are many.
                    let mut longer = Vec::with_capacity(row.len() + 1 + usize::from(*with_offset));
                    longer.extend_from_slice(&row);
                    longer.push(element);
                    longer.extend(with_offset.then_some(at));
                    if emit(longer)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(ControlFlow::Continue(()))
            }),
            Self::Unpack { input, columns } => input.run(&mut |row| unpack(&row, columns, emit)),
            Self::Filter { input, condition } => {
                input.run(&mut |row| match condition.value(&row)?.is_true() {
                    true => emit(row),
                    false => Ok(ControlFlow::Continue(())),
                })
            }
            Self::Project { input, columns } => input.run(&mut |row| {
                let (values, _held) = Expr::values(columns, &row)?;
                emit(values)
            }),
            Self::Truncate { input, count } => input.run(&mut |mut row| {
                row.truncate(*count);
                emit(row)
            }),
            Self::Group { input, keys, aggregates } => group(input, keys, aggregates, emit),
            Self::Distinct { input } => {
                let (mut seen, mut held) = (HashSet::new(), Held::default());
                input.run(&mut |row| {
                    let key = key_of(&row);
                    let bytes = of_entry::<Vec<u8>>() + key.len();
                    if !seen.insert(key) {
                        return Ok(ControlFlow::Continue(()));
                    }
                    held.add(bytes)?;
                    emit(row)
                })
            }
            Self::Sort { input, by } => {
                // In a tree, since a sort of many rows in one call would not notice that the caller goes.
                let (mut rows, mut held) = (BTreeSet::new(), Held::default());
                input.run(&mut |row| {
                    // The nodes of a tree are at least half full.
                    held.add(bytes(&row) + 2 * size_of::<Sorted<'_>>())?;
                    rows.insert(Sorted { row, by, place: rows.len() });
                    Ok(ControlFlow::Continue(()))
                })?;
                for Sorted { row, .. } in rows {
                    if emit(row)?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            Self::Limit { input, limit, offset } => {
                let mut skipped = count(offset.as_ref())?.unwrap_or(0);
                let Some(mut left) = count(limit.as_ref())? else { return input.run(emit) };
                if left == 0 {
                    return Ok(());
                }
                input.run(&mut |row| {
                    if skipped > 0 {
                        skipped -= 1;
                        return Ok(ControlFlow::Continue(()));
                    }
                    left -= 1;
                    let flow = emit(row)?;
                    Ok(if left == 0 { ControlFlow::Break(()) } else { flow })
                })
            }
        }
    }
}

/// A row that is sorted.
struct Sorted<'a> {
    row: Vec<Value>,
    by: &'a [(usize, bool, bool)],
    /// Among the rows as they come, which decides between equal ones.
    place: usize,
}

impl Ord for Sorted<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let compare = |(place, descends, nulls_first): &(usize, bool, bool)| {
            let (left, right) = (&self.row[*place], &other.row[*place]);
            match (left.is_null(), right.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) if *nulls_first => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, true) if *nulls_first => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ if *descends => right.sort_order(left),
                _ => left.sort_order(right),
            }
        };
        let order = self.by.iter().map(compare).find(|order| order.is_ne());
        order.unwrap_or_else(|| self.place.cmp(&other.place))
    }
}

impl PartialOrd for Sorted<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Sorted<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Sorted<'_> {}

/// What a row takes in memory.
pub(crate) fn bytes(row: &[Value]) -> usize {
    row.iter().map(Value::bytes).sum()
}

/// What an entry takes in a list or a hash table that grows to twice its size: it may be the only one since it has grown, and of a table an
/// eighth stays free.
pub(crate) const fn of_entry<T>() -> usize {
    5 * size_of::<T>() / 2
}

/// The number of LIMIT or OFFSET.
fn count(expr: Option<&Expr>) -> Result<Option<u64>, Status> {
    let Some(expr) = expr else { return Ok(None) };
    match expr.value(&[])? {
        Value::Int64(number) => match u64::try_from(number) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(out_of_range("Limit requires non-negative count and offset")),
        },
        _ => Err(out_of_range("Limit requires non-null count and offset")),
    }
}

fn key_of(values: &[Value]) -> Vec<u8> {
    let mut key = Vec::with_capacity(bytes(values));
    values.iter().for_each(|value| value.group_key(&mut key));
    key.shrink_to_fit();
    key
}

/// Emits the groups in the order of their first rows.
fn group(input: &Plan<'_>, keys: &[Expr], aggregates: &[Aggregate], emit: Emit<'_>) -> Result<(), Status> {
    let states = || aggregates.iter().map(Aggregate::state).collect::<Vec<State>>();
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut groups: Vec<(Vec<Value>, Vec<State>)> = Vec::new();
    let mut held = Held::default();
    if keys.is_empty() {
        groups.push((Vec::new(), states()));
        places.insert(Vec::new(), 0);
    }
    input.run(&mut |row| {
        let (values, _held) = Expr::values(keys, &row)?;
        let key = key_of(&values);
        let entries = of_entry::<(Vec<u8>, usize)>() + of_entry::<(Vec<Value>, Vec<State>)>();
        let bytes = entries + size_of::<State>() * aggregates.len() + key.len() + bytes(&values);
        let place = match places.entry(key) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(place) => {
                held.add(bytes)?;
                groups.push((values, states()));
                *place.insert(groups.len() - 1)
            }
        };
        if let Some((_, states)) = groups.get_mut(place) {
            for (aggregate, state) in aggregates.iter().zip(states) {
                aggregate.add(state, &row)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    for (mut row, states) in groups {
        for (aggregate, state) in aggregates.iter().zip(states) {
            row.push(aggregate.finish(state)?);
        }
        let _held = meter::hold(bytes(&row))?;
        if emit(row)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Emits the rows of a row of versions.
fn unpack(row: &[Value], columns: &[Versions], emit: Emit<'_>) -> Result<ControlFlow<()>, Status> {
    let timestamp = |version: &Value| match version.elements() {
        [Value::Timestamp(micros), _] => Some(*micros),
        _ => None,
    };
    let mut timestamps = BTreeSet::new();
    for (value, versions) in row.iter().zip(columns) {
        match versions {
            Versions::None => {}
            Versions::OfValue => timestamps.extend(value.elements().iter().filter_map(timestamp)),
            Versions::OfEntries => {
                let all = value.entries().iter().flat_map(|(_, versions)| versions.elements());
                timestamps.extend(all.filter_map(timestamp));
            }
        }
    }
    let at = |versions: &Value, micros: i64| {
        let found = versions.elements().iter().find(|version| timestamp(version) == Some(micros));
        found.and_then(|version| version.elements().get(1).cloned())
    };
    let row_at = |micros: i64| {
        let values = row.iter().zip(columns).map(|(value, versions)| match versions {
            Versions::None => value.clone(),
            Versions::OfValue => at(value, micros).unwrap_or(Value::Null),
            Versions::OfEntries => {
                let entry = |(key, versions): &(Value, Value)| Some((key.clone(), at(versions, micros)?));
                Value::Map(value.entries().iter().filter_map(entry).collect())
            }
        });
        values.chain([Value::Timestamp(micros)]).collect()
    };
    for micros in timestamps.into_iter().rev() {
        let row: Vec<Value> = row_at(micros);
        let _held = meter::hold(bytes(&row))?;
        if emit(row)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The values of the versions of a column, if it has some.
pub(crate) fn versions_of(of: &Type) -> (Versions, Type) {
    if let Some(value) = of.of_history() {
        return (Versions::OfValue, value.clone());
    }
    match of {
        Type::Map(key, value) => match value.of_history() {
            Some(value) => (Versions::OfEntries, Type::map((**key).clone(), value.clone())),
            None => (Versions::None, of.clone()),
        },
        of => (Versions::None, of.clone()),
    }
}
