//! Aggregate families: cells that inputs are added to.

use bytes::Bytes;
use keyderive_proto::admin::r#type::aggregate::Aggregator as Message;
use keyderive_proto::admin::r#type::int64::encoding::Encoding;
use keyderive_proto::admin::r#type::{self, Aggregate, Kind};
use keyderive_proto::admin::{ColumnFamily, Type};
use keyderive_proto::data::mutation::{AddToCell, MergeToCell};
use keyderive_proto::data::value::Kind as Value;
use keyderive_proto::data::{self};
use tonic::Status;

use super::check;
use super::mutate::{Change, known};
use super::storage::Families;
use crate::cell::Cell;

/// How an aggregate of integers takes another. What is stored is the integer, 8 bytes, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregator {
    Sum,
    Min,
    Max,
}

impl Aggregator {
    /// That of a family that holds aggregates.
    pub(super) fn of(family: &ColumnFamily) -> Option<Self> {
        let Some(Kind::AggregateType(aggregate)) = family.value_type.as_ref()?.kind.as_ref() else {
            return None;
        };
        match aggregate.aggregator.as_ref()? {
            Message::Sum(_) => Some(Self::Sum),
            Message::Min(_) => Some(Self::Min),
            Message::Max(_) => Some(Self::Max),
            Message::HllppUniqueCount(_) => None,
        }
    }

    /// The stored value after `input`, which has the form of a stored value. A sum wraps around.
    pub(super) fn combine(self, stored: &Bytes, input: &Bytes) -> Bytes {
        // What is stored was checked when it came; bytes of another length are replaced.
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

/// Checks the type of a family's values, and adds what the service says of it.
pub(super) fn describe(name: &str, value_type: &mut Type) -> Result<(), Status> {
    let refuse = |what: &str| {
        Err(Status::invalid_argument(format!("the value type of the column family `{name}` {what}")))
    };
    let Some(Kind::AggregateType(aggregate)) = value_type.kind.as_mut() else {
        return refuse("is no aggregate; leave it out for a family of bytes");
    };
    let Aggregate { input_type, state_type, aggregator } = aggregate.as_mut();
    match aggregator {
        Some(Message::Sum(_) | Message::Min(_) | Message::Max(_)) => {}
        Some(Message::HllppUniqueCount(_)) => {
            return Err(Status::unimplemented(format!(
                "the embedded Bigtable has no HyperLogLog++, which the column family `{name}` asks for; it has sums, minima and maxima"
            )));
        }
        None => return refuse("has no aggregator: sum, min or max"),
    }
    if !input_type.as_deref().is_some_and(is_big_endian) {
        return refuse("adds other inputs than integers in the encoding `big_endian_bytes`");
    }
    state_type.clone_from(input_type);
    Ok(())
}

fn is_big_endian(input: &Type) -> bool {
    let Some(Kind::Int64Type(r#type::Int64 { encoding: Some(encoding) })) = &input.kind else { return false };
    matches!(encoding.encoding, Some(Encoding::BigEndianBytes(_)))
}

pub(super) fn add(families: &Families, add: &AddToCell) -> Result<Change, Status> {
    let (aggregator, cell) = target(families, &add.family_name, &add.column_qualifier, &add.timestamp)?;
    match kind(&add.input) {
        Some(Value::IntValue(input)) => Ok(accumulate(aggregator, cell, *input)),
        _ => Err(Status::invalid_argument(format!(
            "the input of an `add_to_cell` for the column family `{}` is no `int_value`",
            add.family_name
        ))),
    }
}

/// A state is an integer as it is, or as it is stored; without one the cell stays as it is.
pub(super) fn merge(families: &Families, merge: &MergeToCell) -> Result<Change, Status> {
    let (aggregator, cell) = target(families, &merge.family_name, &merge.column_qualifier, &merge.timestamp)?;
    match kind(&merge.input) {
        None => Ok(Change::Nothing),
        Some(input) => match state(input) {
            Some(state) => Ok(accumulate(aggregator, cell, state)),
            None => Err(Status::invalid_argument(format!(
                "the input of a `merge_to_cell` for the column family `{}` is no integer of 8 bytes, as `bytes_value`, `raw_value` or `int_value`",
                merge.family_name
            ))),
        },
    }
}

fn state(input: &Value) -> Option<i64> {
    match input {
        Value::IntValue(state) => Some(*state),
        Value::BytesValue(state) | Value::RawValue(state) => integer(state),
        _ => None,
    }
}

fn accumulate(aggregator: Aggregator, cell: Cell, input: i64) -> Change {
    Change::Accumulate(aggregator, Cell { value: Bytes::copy_from_slice(&input.to_be_bytes()), ..cell })
}

/// The cell that is meant, without a value, and how its family takes one.
fn target(
    families: &Families,
    family: &str,
    qualifier: &Option<data::Value>,
    timestamp: &Option<data::Value>,
) -> Result<(Aggregator, Cell), Status> {
    let (name, family) = known(families, family)?;
    let Some(aggregator) = Aggregator::of(family) else {
        return Err(Status::invalid_argument(format!(
            "the column family `{name}` holds no aggregates, which alone are added to and merged"
        )));
    };
    let Some(Value::RawValue(qualifier)) = kind(qualifier) else {
        return Err(Status::invalid_argument(format!(
            "the qualifier of a mutation of the column family `{name}` is no `raw_value`"
        )));
    };
    check::qualifier(&name, qualifier)?;
    let Some(Value::RawTimestampMicros(micros)) = kind(timestamp) else {
        return Err(Status::invalid_argument(format!(
            "the timestamp of a mutation of the column family `{name}` is no `raw_timestamp_micros`"
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

fn kind(value: &Option<data::Value>) -> Option<&Value> {
    value.as_ref().and_then(|value| value.kind.as_ref())
}
