//! Families of aggregates.

use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::r#type::aggregate::{Aggregator, HyperLogLogPlusPlusUniqueCount, Max, Min, Sum};
use keyderive_proto::admin::r#type::int64::{self, encoding};
use keyderive_proto::admin::r#type::{Aggregate, Int64, Kind};
use keyderive_proto::admin::{ColumnFamily, Type};
use keyderive_proto::data::ReadModifyWriteRule;
use keyderive_proto::data::Value;
use keyderive_proto::data::mutation::{AddToCell, MergeToCell, Mutation};
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::value::Kind as ValueKind;
use tonic::{Code, Status};

use super::raw::{START, Servers, code, set_cell};
use super::*;

fn integer(encoding: encoding::Encoding) -> Type {
    let encoding = Some(int64::Encoding { encoding: Some(encoding) });
    Type { kind: Some(Kind::Int64Type(Int64 { encoding })) }
}

pub(super) fn big_endian() -> Type {
    integer(encoding::Encoding::BigEndianBytes(encoding::BigEndianBytes {}))
}

fn family(aggregator: Option<Aggregator>, input: Option<Type>) -> ColumnFamily {
    let aggregate = Aggregate { input_type: input.map(Box::new), state_type: None, aggregator };
    let value_type = Some(Type { kind: Some(Kind::AggregateType(Box::new(aggregate))) });
    ColumnFamily { gc_rule: None, value_type }
}

/// A family of sums.
pub(super) fn sum() -> ColumnFamily {
    family(Some(Aggregator::Sum(Sum {})), Some(big_endian()))
}

/// Servers with a table of sums.
pub(super) async fn sums() -> Servers {
    Servers::with([("sum", sum())]).await
}

async fn servers() -> Servers {
    let aggregate = |aggregator| family(Some(aggregator), Some(big_endian()));
    Servers::with([
        ("bytes", ColumnFamily::default()),
        ("max", aggregate(Aggregator::Max(Max {}))),
        ("min", aggregate(Aggregator::Min(Min {}))),
        ("sum", aggregate(Aggregator::Sum(Sum {}))),
    ])
    .await
}

fn value(kind: ValueKind) -> Option<Value> {
    Some(Value { r#type: None, kind: Some(kind) })
}

pub(super) fn add(family: &str, timestamp: i64, input: i64) -> AddToCell {
    AddToCell {
        family_name: family.to_owned(),
        column_qualifier: value(ValueKind::RawValue("q".into())),
        timestamp: value(ValueKind::RawTimestampMicros(timestamp)),
        input: value(ValueKind::IntValue(input)),
    }
}

async fn added(servers: &Servers, add: AddToCell) -> Result<(), Status> {
    servers.mutate("a", Mutation::AddToCell(add)).await
}

async fn merged(servers: &Servers, family: &str, input: Option<Value>) -> Result<(), Status> {
    let AddToCell { family_name, column_qualifier, timestamp, .. } = add(family, 0, 0);
    let merge = MergeToCell { family_name, column_qualifier, timestamp, input };
    servers.mutate("a", Mutation::MergeToCell(merge)).await
}

#[tokio::test]
async fn inputs_are_added_to_the_cell_of_their_timestamp() {
    let servers = servers().await;
    for input in [5, -7, 4] {
        for family in ["max", "min", "sum"] {
            added(&servers, add(family, 0, input)).await.unwrap();
        }
    }
    assert_eq!(servers.cells().await, ["max:q@0=5", "min:q@0=-7", "sum:q@0=2"]);
    added(&servers, add("sum", START, 1)).await.unwrap();
    added(&servers, add("sum", START, i64::MAX)).await.unwrap();
    assert_eq!(servers.cells().await[2..], [format!("sum:q@START+0={}", i64::MIN), "sum:q@0=2".to_owned()]);
}

#[tokio::test]
async fn states_are_merged() {
    let servers = servers().await;
    let seven = Bytes::copy_from_slice(&7_i64.to_be_bytes());
    merged(&servers, "sum", value(ValueKind::RawValue(seven.clone()))).await.unwrap();
    merged(&servers, "sum", value(ValueKind::BytesValue(seven))).await.unwrap();
    merged(&servers, "sum", value(ValueKind::IntValue(3))).await.unwrap();
    for nothing in [None, Some(Value { r#type: None, kind: None })] {
        merged(&servers, "sum", nothing.clone()).await.unwrap();
        merged(&servers, "max", nothing).await.unwrap();
    }
    assert_eq!(servers.cells().await, ["sum:q@0=17"]);
    for other in [ValueKind::RawValue("seven".into()), ValueKind::StringValue("7".to_owned())] {
        assert_eq!(code(merged(&servers, "sum", value(other)).await), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn invalid_changes_of_aggregates_are_rejected() {
    let servers = servers().await;
    let sum = || add("sum", 0, 1);
    let text = || value(ValueKind::StringValue("1".to_owned()));
    let typed = |kind| Some(Value { r#type: Some(big_endian()), kind: Some(kind) });
    let long = value(ValueKind::RawValue(vec![b'q'; 16_385].into()));
    for (wrong, what) in [
        (AddToCell { input: text(), ..sum() }, "is not an `int_value`"),
        (AddToCell { input: None, ..sum() }, "is not an `int_value`"),
        (AddToCell { column_qualifier: text(), ..sum() }, "is not a `raw_value`"),
        (AddToCell { column_qualifier: long, ..sum() }, "has 16385 bytes, and the limit is 16384"),
        (AddToCell { timestamp: None, ..sum() }, "is not a `raw_timestamp_micros`"),
        (AddToCell { timestamp: typed(ValueKind::RawTimestampMicros(0)), ..sum() }, "without a type"),
        (AddToCell { column_qualifier: typed(ValueKind::RawValue("q".into())), ..sum() }, "without a type"),
        (
            add("sum", -1, 1),
            "the timestamp -1 is invalid: it counts microseconds since the epoch, and must be a whole number",
        ),
        (
            add("sum", 1500, 1),
            "the timestamp 1500 is invalid: it counts microseconds since the epoch, and must be a whole number",
        ),
        (add("bytes", 0, 1), "the column family `bytes` holds no aggregates"),
    ] {
        let status = added(&servers, wrong).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(what), "{status}");
    }
    assert_eq!(code(added(&servers, add("none", 0, 1)).await), Code::NotFound);
    assert_eq!(code(merged(&servers, "bytes", None).await), Code::InvalidArgument);

    let status = servers.mutate("a", set_cell("sum", "q", 0, "v")).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("the column family `sum` holds aggregates"), "{status}");
    let rule = ReadModifyWriteRule {
        family_name: "sum".to_owned(),
        column_qualifier: "q".into(),
        rule: Some(Rule::IncrementAmount(1)),
    };
    assert_eq!(code(servers.modify(vec![rule]).await), Code::InvalidArgument);
    assert!(servers.cells().await.is_empty());
}

#[tokio::test]
async fn the_type_of_a_family_is_checked_and_completed() {
    let servers = servers().await;
    let create = async |family| servers.modify_families([("new", Mod::Create(family))]).await;
    let sum = || Some(Aggregator::Sum(Sum {}));
    let ordered = integer(encoding::Encoding::OrderedCodeBytes(encoding::OrderedCodeBytes {}));
    for wrong in [
        family(None, Some(big_endian())),
        family(sum(), None),
        family(sum(), Some(ordered)),
        ColumnFamily { gc_rule: None, value_type: Some(Type { kind: None }) },
    ] {
        let status = create(wrong).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains("the value type of the column family `new`"), "{status}");
    }
    let sketch = Aggregator::HllppUniqueCount(HyperLogLogPlusPlusUniqueCount {});
    let status = create(family(Some(sketch), Some(big_endian()))).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(status.message().contains("HyperLogLog++"), "{status}");

    let table = create(family(sum(), Some(big_endian()))).await.unwrap();
    let Some(Kind::AggregateType(made)) = &table.column_families["new"].value_type.as_ref().unwrap().kind
    else {
        panic!("{table:?}");
    };
    assert_eq!(made.state_type.as_deref(), Some(&big_endian()));

    let update = ColumnFamily::default();
    let table = servers.modify_families([("new", Mod::Update(update))]).await.unwrap();
    assert!(table.column_families["new"].value_type.is_some());
}

#[tokio::test]
async fn a_family_holds_aggregates_from_its_creation_or_never() {
    let servers = servers().await;
    let integers = ColumnFamily { gc_rule: None, value_type: Some(big_endian()) };
    let update = async |id, family| servers.update_family(id, family, &["value_type"]).await;
    for new in [sum(), integers.clone(), ColumnFamily::default()] {
        let status = update("sum", new).await.unwrap_err();
        let text = "Immutable fields 'value_type.aggregate_type' cannot be updated";
        assert_eq!((status.code(), status.message()), (Code::InvalidArgument, text));
    }
    let status = update("bytes", sum()).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().starts_with("the column family `bytes` holds no aggregates"), "{status}");

    // Another type only describes the values.
    servers.modify_families([("new", Mod::Create(integers))]).await.unwrap();
    servers.mutate("a", set_cell("new", "q", 0, "v")).await.unwrap();
    assert_eq!(servers.cells().await, ["new:q@0=v"]);
}
