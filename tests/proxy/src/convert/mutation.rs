//! Mutations.

use bytes::Bytes;
use keyderive::row::{Mutation, ReadModifyWrite};
use keyderive_proto::data;
use keyderive_proto::data::mutation::{self, DeleteFromColumn, SetCell};
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::value::Kind;
use tonic::Status;

use super::filter::micros;

/// The protocol's timestamp for the server's time.
const SERVER_TIME: i64 = -1;

pub(crate) fn mutations(messages: Vec<data::Mutation>) -> Result<Vec<Mutation>, Status> {
    messages.into_iter().map(mutation).collect()
}

fn mutation(message: data::Mutation) -> Result<Mutation, Status> {
    match message.mutation {
        Some(mutation::Mutation::SetCell(set)) => Ok(set_cell(set)),
        Some(mutation::Mutation::AddToCell(add)) => {
            let (qualifier, timestamp) = aggregate(add.column_qualifier, add.timestamp)?;
            match kind(add.input) {
                Some(Kind::IntValue(amount)) => {
                    Ok(Mutation::add_to_cell(add.family_name, qualifier, timestamp, amount))
                }
                _ => Err(refused("what is added to a cell must be an integer")),
            }
        }
        Some(mutation::Mutation::MergeToCell(merge)) => {
            let (qualifier, timestamp) = aggregate(merge.column_qualifier, merge.timestamp)?;
            match kind(merge.input) {
                Some(Kind::RawValue(state)) => {
                    Ok(Mutation::merge_to_cell(merge.family_name, qualifier, timestamp, state))
                }
                _ => Err(refused("what is merged into a cell must be a raw value")),
            }
        }
        Some(mutation::Mutation::DeleteFromColumn(delete)) => delete_from_column(delete),
        Some(mutation::Mutation::DeleteFromFamily(delete)) => Ok(Mutation::delete_family(delete.family_name)),
        Some(mutation::Mutation::DeleteFromRow(_)) => Ok(Mutation::delete_row()),
        None => Err(refused("a mutation says nothing")),
    }
}

fn set_cell(set: SetCell) -> Mutation {
    let SetCell { family_name, column_qualifier, timestamp_micros, value } = set;
    match timestamp_micros {
        SERVER_TIME => Mutation::set_now(family_name, column_qualifier, value),
        timestamp => Mutation::set(family_name, column_qualifier, timestamp, value),
    }
}

fn delete_from_column(delete: DeleteFromColumn) -> Result<Mutation, Status> {
    let (family, qualifier) = (delete.family_name, delete.column_qualifier);
    Ok(match delete.time_range.map(micros).transpose()? {
        None => Mutation::delete_column(family, qualifier),
        Some((start, 0)) => Mutation::delete_versions(family, qualifier, start..),
        Some((start, end)) => Mutation::delete_versions(family, qualifier, start..end),
    })
}

/// The column and the timestamp of an aggregate cell.
fn aggregate(column: Option<data::Value>, time: Option<data::Value>) -> Result<(Bytes, i64), Status> {
    match (kind(column), kind(time)) {
        (Some(Kind::RawValue(column)), Some(Kind::RawTimestampMicros(time))) => Ok((column, time)),
        _ => Err(refused("an aggregate's cell must have a raw qualifier and a raw timestamp")),
    }
}

fn kind(value: Option<data::Value>) -> Option<Kind> {
    value?.kind
}

pub(crate) fn rules(rules: Vec<data::ReadModifyWriteRule>) -> Result<Vec<ReadModifyWrite>, Status> {
    let rule = |rule: data::ReadModifyWriteRule| {
        let (family, qualifier) = (rule.family_name, rule.column_qualifier);
        match rule.rule {
            Some(Rule::AppendValue(value)) => Ok(ReadModifyWrite::append(family, qualifier, value)),
            Some(Rule::IncrementAmount(amount)) => Ok(ReadModifyWrite::increment(family, qualifier, amount)),
            None => Err(refused("a rule says nothing")),
        }
    };
    rules.into_iter().map(rule).collect()
}

fn refused(reason: &str) -> Status {
    Status::invalid_argument(reason)
}
