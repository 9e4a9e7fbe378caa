//! Mutations as the protocol has them.

use crate::row::{Change, Mutation, ReadModifyWrite, Rule};
use crate::wire::data;
use crate::wire::data::mutation::{
    self, AddToCell, DeleteFromColumn, DeleteFromFamily, DeleteFromRow, MergeToCell, SetCell,
};
use crate::wire::data::value::Kind;

pub(super) fn all(mutations: Vec<Mutation>) -> Vec<data::Mutation> {
    mutations.into_iter().map(message).collect()
}

fn message(mutation: Mutation) -> data::Mutation {
    let mutation = match mutation.0 {
        Change::SetCell { family, qualifier, timestamp_micros, value } => {
            mutation::Mutation::SetCell(SetCell {
                family_name: family.as_ref().to_owned(),
                column_qualifier: qualifier,
                timestamp_micros,
                value,
            })
        }
        Change::AddToCell { family, qualifier, timestamp_micros, value } => {
            mutation::Mutation::AddToCell(AddToCell {
                family_name: family.as_ref().to_owned(),
                column_qualifier: Some(kind(Kind::RawValue(qualifier))),
                timestamp: Some(kind(Kind::RawTimestampMicros(timestamp_micros))),
                input: Some(kind(Kind::IntValue(value))),
            })
        }
        Change::MergeToCell { family, qualifier, timestamp_micros, state } => {
            mutation::Mutation::MergeToCell(MergeToCell {
                family_name: family.as_ref().to_owned(),
                column_qualifier: Some(kind(Kind::RawValue(qualifier))),
                timestamp: Some(kind(Kind::RawTimestampMicros(timestamp_micros))),
                input: Some(kind(Kind::RawValue(state))),
            })
        }
        Change::DeleteColumn { family, qualifier, versions } => {
            mutation::Mutation::DeleteFromColumn(DeleteFromColumn {
                family_name: family.as_ref().to_owned(),
                column_qualifier: qualifier,
                time_range: versions.map(|(start, end)| data::TimestampRange {
                    start_timestamp_micros: start,
                    end_timestamp_micros: end.unwrap_or(0),
                }),
            })
        }
        Change::DeleteFamily { family } => {
            mutation::Mutation::DeleteFromFamily(DeleteFromFamily { family_name: family.as_ref().to_owned() })
        }
        Change::DeleteRow => mutation::Mutation::DeleteFromRow(DeleteFromRow {}),
    };
    data::Mutation { mutation: Some(mutation) }
}

fn kind(kind: Kind) -> data::Value {
    data::Value { kind: Some(kind) }
}

pub(super) fn rule(rule: ReadModifyWrite) -> data::ReadModifyWriteRule {
    use data::read_modify_write_rule::Rule as Sent;
    let ReadModifyWrite { family, qualifier, rule } = rule;
    data::ReadModifyWriteRule {
        family_name: family.as_ref().to_owned(),
        column_qualifier: qualifier,
        rule: Some(match rule {
            Rule::Append(value) => Sent::AppendValue(value),
            Rule::Increment(amount) => Sent::IncrementAmount(amount),
        }),
    }
}
