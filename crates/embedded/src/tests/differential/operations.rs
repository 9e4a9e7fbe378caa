//! Random operations.

use std::collections::BTreeSet;

use bytes::Bytes;
use fastrand::Rng;
use keyderive_proto::admin::DropRowRangeRequest;
use keyderive_proto::admin::drop_row_range_request::Target;
use keyderive_proto::data::mutate_rows_request::Entry;
use keyderive_proto::data::mutation::{
    AddToCell, DeleteFromColumn, DeleteFromFamily, DeleteFromRow, MergeToCell, Mutation as Kind, SetCell,
};
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::row_range::{EndKey, StartKey};
use keyderive_proto::data::value::Kind as ValueKind;
use keyderive_proto::data::{
    CheckAndMutateRowRequest, MutateRowRequest, MutateRowsRequest, Mutation, ReadModifyWriteRowRequest,
    ReadModifyWriteRule, ReadRowsRequest, RowRange, RowSet, TimestampRange, Value,
};

use super::{
    COUNTER, FAMILIES, FUTURE, KEYS, PAST, QUALIFIERS, SUMS, TABLE, TIMESTAMPS, any_family, filters, one,
    read_of,
};

/// The timestamp that stands for the server's time.
const SERVER_TIME: i64 = -1;

#[derive(Clone, Debug)]
pub(in crate::tests) enum Operation {
    Mutate(MutateRowRequest),
    MutateMany(MutateRowsRequest),
    Check(CheckAndMutateRowRequest),
    Modify(ReadModifyWriteRowRequest),
    Drop(DropRowRangeRequest),
    Read(ReadRowsRequest),
}

impl Operation {
    /// The operations to send after it: a read of its rows, and the deletion of cells with the server time.
    pub(super) fn followers(&self) -> Vec<Self> {
        let (keys, stamped) = match self {
            Self::Mutate(request) => (vec![request.row_key.clone()], stamped_columns(&request.mutations)),
            Self::MutateMany(request) => {
                (request.entries.iter().map(|entry| entry.row_key.clone()).collect(), Vec::new())
            }
            Self::Check(request) => (vec![request.row_key.clone()], Vec::new()),
            Self::Modify(request) => {
                let columns = request.rules.iter();
                let columns = columns.map(|rule| (rule.family_name.clone(), rule.column_qualifier.clone()));
                (vec![request.row_key.clone()], columns.collect())
            }
            Self::Drop(_) => (KEYS.map(Bytes::from_static).to_vec(), Vec::new()),
            Self::Read(_) => return Vec::new(),
        };
        let key = keys.first().cloned().unwrap_or_default();
        let row_keys: Vec<Bytes> = keys.into_iter().filter(|key| !key.is_empty()).collect();
        let mut followers = Vec::new();
        if !row_keys.is_empty() {
            followers.push(Self::Read(read_of(RowSet { row_keys, row_ranges: Vec::new() })));
        }
        if !stamped.is_empty() {
            followers.push(mutate(key, stamped.into_iter().map(delete_stamped).collect()));
        }
        followers
    }
}

fn stamped_columns(mutations: &[Mutation]) -> Vec<(String, Bytes)> {
    let stamped = mutations.iter().filter_map(|mutation| match &mutation.mutation {
        Some(Kind::SetCell(set)) if set.timestamp_micros == SERVER_TIME => {
            Some((set.family_name.clone(), set.column_qualifier.clone()))
        }
        _ => None,
    });
    stamped.collect()
}

fn delete_stamped((family_name, column_qualifier): (String, Bytes)) -> Mutation {
    let range = TimestampRange { start_timestamp_micros: PAST, end_timestamp_micros: FUTURE };
    let delete = DeleteFromColumn { family_name, column_qualifier, time_range: Some(range) };
    Mutation { mutation: Some(Kind::DeleteFromColumn(delete)), ..Mutation::default() }
}

pub(in crate::tests) fn operation(rng: &mut Rng) -> Operation {
    match rng.u8(..100) {
        0..45 => {
            let mutations = mutations(rng, 1..6);
            mutate(one(rng, &KEYS), mutations)
        }
        45..55 => {
            let entries = (0..rng.usize(1..8)).map(|_| Entry {
                row_key: one(rng, &KEYS),
                mutations: mutations(rng, 1..4),
                idempotency: None,
            });
            Operation::MutateMany(MutateRowsRequest {
                table_name: TABLE.to_owned(),
                entries: entries.collect(),
                ..MutateRowsRequest::default()
            })
        }
        55..75 => check(rng),
        75..90 => modify(rng),
        90..95 => {
            let set = SetCell { timestamp_micros: SERVER_TIME, ..set_cell(rng) };
            mutate(
                one(rng, &KEYS),
                vec![Mutation { mutation: Some(Kind::SetCell(set)), ..Mutation::default() }],
            )
        }
        95..99 => rejected(rng),
        _ => Operation::Drop(DropRowRangeRequest {
            name: TABLE.to_owned(),
            target: Some(Target::RowKeyPrefix(one(rng, &KEYS))),
        }),
    }
}

pub(super) fn mutate(row_key: Bytes, mutations: Vec<Mutation>) -> Operation {
    Operation::Mutate(MutateRowRequest {
        table_name: TABLE.to_owned(),
        row_key,
        mutations,
        ..MutateRowRequest::default()
    })
}

/// A request that both reject.
fn rejected(rng: &mut Rng) -> Operation {
    let set = set_cell(rng);
    let key = one(rng, &KEYS);
    let one = |set| vec![Mutation { mutation: Some(Kind::SetCell(set)), ..Mutation::default() }];
    match rng.u8(..7) {
        0 => mutate(key, one(SetCell { family_name: "absent".to_owned(), ..set })),
        1 => mutate(key, one(SetCell { timestamp_micros: 1001, ..set })),
        2 => mutate(key, one(SetCell { timestamp_micros: -2000, ..set })),
        3 => mutate(Bytes::new(), one(set)),
        4 => mutate(key, Vec::new()),
        5 => {
            let backwards = RowRange {
                start_key: Some(StartKey::StartKeyClosed("b".into())),
                end_key: Some(EndKey::EndKeyOpen("a".into())),
            };
            Operation::Read(read_of(RowSet { row_keys: Vec::new(), row_ranges: vec![backwards] }))
        }
        _ => Operation::Mutate(MutateRowRequest {
            table_name: "projects/p/instances/i/tables/absent".to_owned(),
            row_key: key,
            mutations: one(set),
            ..MutateRowRequest::default()
        }),
    }
}

fn check(rng: &mut Rng) -> Operation {
    // One of the lists may be empty.
    let (found, missing) = match rng.u8(..5) {
        0 => (0..1, 1..4),
        1 => (1..4, 0..1),
        _ => (1..4, 1..4),
    };
    Operation::Check(CheckAndMutateRowRequest {
        table_name: TABLE.to_owned(),
        row_key: one(rng, &KEYS),
        predicate_filter: (rng.u8(..4) > 0).then(|| filters::filter(rng)),
        true_mutations: mutations(rng, found),
        false_mutations: mutations(rng, missing),
        ..CheckAndMutateRowRequest::default()
    })
}

/// Either several valid rules for different columns, or a single one that may be rejected.
fn modify(rng: &mut Rng) -> Operation {
    let mut rules: Vec<_> = match rng.usize(1..4) {
        1 => {
            let column_qualifier =
                if rng.bool() { Bytes::from_static(COUNTER) } else { one(rng, &QUALIFIERS) };
            vec![ReadModifyWriteRule { column_qualifier, ..increment(rng) }]
        }
        rules => (0..rules).map(|_| if rng.bool() { increment(rng) } else { append(rng) }).collect(),
    };
    let mut columns = BTreeSet::new();
    rules.retain(|rule| columns.insert((rule.family_name.clone(), rule.column_qualifier.clone())));
    Operation::Modify(ReadModifyWriteRowRequest {
        table_name: TABLE.to_owned(),
        row_key: one(rng, &KEYS),
        rules,
        ..ReadModifyWriteRowRequest::default()
    })
}

fn increment(rng: &mut Rng) -> ReadModifyWriteRule {
    ReadModifyWriteRule {
        family_name: family(rng),
        column_qualifier: Bytes::from_static(COUNTER),
        rule: Some(Rule::IncrementAmount(integer(rng))),
    }
}

fn append(rng: &mut Rng) -> ReadModifyWriteRule {
    ReadModifyWriteRule {
        family_name: family(rng),
        column_qualifier: one(rng, &QUALIFIERS),
        rule: Some(Rule::AppendValue(one(rng, &[b"", b"x", b"yz", b"\xff"]))),
    }
}

fn mutations(rng: &mut Rng, number: std::ops::Range<usize>) -> Vec<Mutation> {
    (0..rng.usize(number))
        .map(|_| Mutation { mutation: Some(mutation(rng)), ..Mutation::default() })
        .collect()
}

fn mutation(rng: &mut Rng) -> Kind {
    match rng.u8(..20) {
        0..11 => Kind::SetCell(set_cell(rng)),
        11..14 => Kind::DeleteFromColumn(DeleteFromColumn {
            family_name: any_family(rng),
            column_qualifier: qualifier(rng),
            time_range: time_range(rng),
        }),
        14 => Kind::DeleteFromFamily(DeleteFromFamily { family_name: any_family(rng) }),
        15 => Kind::DeleteFromRow(DeleteFromRow {}),
        16..19 => Kind::AddToCell(add_to_cell(rng)),
        _ => {
            let AddToCell { family_name, column_qualifier, timestamp, .. } = add_to_cell(rng);
            let state = Bytes::copy_from_slice(&integer(rng).to_be_bytes());
            let input = value(ValueKind::RawValue(state));
            Kind::MergeToCell(MergeToCell { family_name, column_qualifier, timestamp, input })
        }
    }
}

fn set_cell(rng: &mut Rng) -> SetCell {
    let column_qualifier = qualifier(rng);
    let text: [&[u8]; 8] = [b"", b"v", b"w", b"a|b", b"v\n", b"\x00", b"\xff\xfe", b"\xc3\xbc"];
    let value = if column_qualifier == COUNTER || rng.u8(..5) == 0 {
        Bytes::copy_from_slice(&integer(rng).to_be_bytes())
    } else {
        one(rng, &text)
    };
    SetCell { family_name: family(rng), column_qualifier, timestamp_micros: timestamp(rng), value }
}

fn add_to_cell(rng: &mut Rng) -> AddToCell {
    AddToCell {
        family_name: SUMS.to_owned(),
        column_qualifier: value(ValueKind::RawValue(one(rng, &QUALIFIERS))),
        timestamp: value(ValueKind::RawTimestampMicros(timestamp(rng))),
        input: value(ValueKind::IntValue(integer(rng))),
    }
}

fn value(kind: ValueKind) -> Option<Value> {
    Some(Value { r#type: None, kind: Some(kind) })
}

/// From a start to a later end, or without one.
fn time_range(rng: &mut Rng) -> Option<TimestampRange> {
    let (first, second) = (timestamp(rng), timestamp(rng));
    let (start, end) = if rng.bool() { (first, 0) } else { (first.min(second), first.max(second)) };
    (start != end && rng.bool())
        .then_some(TimestampRange { start_timestamp_micros: start, end_timestamp_micros: end })
}

/// A family of bytes.
fn family(rng: &mut Rng) -> String {
    let bytes = FAMILIES.into_iter().filter(|family| *family != SUMS);
    rng.choice(bytes.collect::<Vec<_>>()).unwrap_or_default().to_owned()
}

fn qualifier(rng: &mut Rng) -> Bytes {
    if rng.u8(..5) == 0 { Bytes::from_static(COUNTER) } else { one(rng, &QUALIFIERS) }
}

fn timestamp(rng: &mut Rng) -> i64 {
    rng.choice(TIMESTAMPS).unwrap_or_default()
}

fn integer(rng: &mut Rng) -> i64 {
    match rng.u8(..10) {
        0 => i64::MAX,
        1 => i64::MIN,
        _ => rng.i64(-100..100),
    }
}
