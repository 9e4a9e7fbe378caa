//! Queries, through the services of an embedded Bigtable.

mod callers;
mod changes;
mod compliance;
mod documented;
mod errors;
mod keyderive_client;
mod names;
mod semantics;
mod times;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use keyderive_embedded::Bigtable;
use keyderive_proto::admin::r#type::{self as types, Kind};
use keyderive_proto::admin::{ColumnFamily, CreateTableRequest, Table, Type};
use keyderive_proto::data::execute_query_response::Response as Part;
use keyderive_proto::data::partial_result_set::PartialRows;
use keyderive_proto::data::result_set_metadata::Schema;
use keyderive_proto::data::{
    ArrayValue, ColumnMetadata, ExecuteQueryRequest, MutateRowRequest, Mutation, PrepareQueryRequest,
    ProtoRows, Value, mutation, value,
};
use keyderive_tests::raw_client::RawClient;
use prost::Message as _;
use tonic::Status;

use crate::Engine;

const INSTANCE: &str = "projects/p/instances/i";

/// An embedded Bigtable with the engine.
struct Database {
    bigtable: Bigtable,
}

/// The columns of a result as `name TYPE`, and its rows as texts.
#[derive(Debug, PartialEq)]
struct Answer {
    columns: Vec<String>,
    rows: Vec<String>,
}

impl Database {
    fn new() -> Self {
        Self { bigtable: Bigtable::in_memory().with_query_engine(Arc::new(Engine::default())) }
    }

    /// Creates a table with these families, of which those with `+` at their end are sums.
    async fn create(&self, id: &str, families: &[&str], schema: Option<types::Struct>) {
        let int64 = |encoding| Type { kind: Some(Kind::Int64Type(types::Int64 { encoding })) };
        let big_endian = types::int64::Encoding {
            encoding: Some(types::int64::encoding::Encoding::BigEndianBytes(
                types::int64::encoding::BigEndianBytes {},
            )),
        };
        let sum = Type {
            kind: Some(Kind::AggregateType(Box::new(types::Aggregate {
                input_type: Some(Box::new(int64(Some(big_endian)))),
                aggregator: Some(types::aggregate::Aggregator::Sum(types::aggregate::Sum {})),
                ..Default::default()
            }))),
        };
        let family = |name: &&str| match name.strip_suffix('+') {
            Some(name) => {
                (name.to_owned(), ColumnFamily { value_type: Some(sum.clone()), ..Default::default() })
            }
            None => ((*name).to_owned(), ColumnFamily::default()),
        };
        let table = Table {
            column_families: families.iter().map(family).collect(),
            row_key_schema: schema,
            ..Default::default()
        };
        let request = CreateTableRequest {
            parent: INSTANCE.to_owned(),
            table_id: id.to_owned(),
            table: Some(table),
            ..Default::default()
        };
        RawClient::new(self.bigtable.clone()).create_table(request).await.unwrap();
    }

    async fn mutate(&self, table: &str, key: &str, mutation: mutation::Mutation) {
        let request = MutateRowRequest {
            table_name: format!("{INSTANCE}/tables/{table}"),
            row_key: Bytes::copy_from_slice(key.as_bytes()),
            mutations: vec![Mutation { mutation: Some(mutation), ..Default::default() }],
            ..Default::default()
        };
        RawClient::new(self.bigtable.clone()).mutate_row(request).await.unwrap();
    }

    /// Writes `family:qualifier` at a time in seconds.
    async fn set(&self, table: &str, key: &str, column: &str, seconds: i64, value: impl Into<Bytes>) {
        let (family, qualifier) = column.split_once(':').unwrap();
        let set = mutation::SetCell {
            family_name: family.to_owned(),
            column_qualifier: Bytes::copy_from_slice(qualifier.as_bytes()),
            timestamp_micros: seconds * 1_000_000,
            value: value.into(),
        };
        self.mutate(table, key, mutation::Mutation::SetCell(set)).await;
    }

    async fn add(&self, table: &str, key: &str, column: &str, seconds: i64, number: i64) {
        let (family, qualifier) = column.split_once(':').unwrap();
        let raw = |kind| Some(Value { r#type: None, kind: Some(kind) });
        let add = mutation::AddToCell {
            family_name: family.to_owned(),
            column_qualifier: raw(value::Kind::RawValue(Bytes::copy_from_slice(qualifier.as_bytes()))),
            timestamp: raw(value::Kind::RawTimestampMicros(seconds * 1_000_000)),
            input: raw(value::Kind::IntValue(number)),
        };
        self.mutate(table, key, mutation::Mutation::AddToCell(add)).await;
    }

    /// The columns of a query, and the values of its rows one after the other.
    async fn values(
        &self,
        text: &str,
        parameters: &[(&str, Kind, value::Kind)],
    ) -> Result<(Vec<ColumnMetadata>, Vec<Value>), Status> {
        let typed = |kind: &Kind| Type { kind: Some(kind.clone()) };
        let request = PrepareQueryRequest {
            instance_name: INSTANCE.to_owned(),
            query: text.to_owned(),
            param_types: parameters.iter().map(|(name, of, _)| ((*name).to_owned(), typed(of))).collect(),
            ..Default::default()
        };
        let mut client = RawClient::new(self.bigtable.clone());
        let prepared = client.prepare_query(request).await?.into_inner();
        let Some(Schema::ProtoSchema(schema)) = prepared.metadata.unwrap().schema else {
            panic!("no columns")
        };
        let value = |(name, of, value): &(&str, Kind, value::Kind)| {
            ((*name).to_owned(), Value { r#type: Some(typed(of)), kind: Some(value.clone()) })
        };
        let request = ExecuteQueryRequest {
            instance_name: INSTANCE.to_owned(),
            prepared_query: prepared.prepared_query,
            params: parameters.iter().map(value).collect::<BTreeMap<_, _>>(),
            ..Default::default()
        };
        let mut answer = client.execute_query(request).await?.into_inner();
        let mut data = Vec::new();
        while let Some(message) = answer.message().await? {
            let Some(Part::Results(part)) = message.response else { panic!("{message:?}") };
            if let Some(PartialRows::ProtoRowsBatch(batch)) = part.partial_rows {
                data.extend(batch.batch_data);
            }
        }
        Ok((schema.columns, ProtoRows::decode(Bytes::from(data)).unwrap().values))
    }

    async fn run(&self, text: &str, parameters: &[(&str, Kind, value::Kind)]) -> Result<Answer, Status> {
        let (columns, values) = self.values(text, parameters).await?;
        let row = |row: &[Value]| {
            let shown =
                row.iter().zip(&columns).map(|(value, column)| show(value, column.r#type.as_ref().unwrap()));
            shown.collect::<Vec<_>>().join(", ")
        };
        let rows = values.chunks(columns.len()).map(row).collect();
        Ok(Answer { columns: columns.iter().map(show_column).collect(), rows })
    }

    /// The rows of a query.
    async fn rows(&self, text: &str) -> Vec<String> {
        match self.run(text, &[]).await {
            Ok(answer) => answer.rows,
            Err(status) => panic!("{text}: {status}"),
        }
    }

    /// Checks the rows of queries.
    async fn expect(&self, queries: &[(&str, &[&str])]) {
        for (text, expected) in queries {
            assert_eq!(self.rows(text).await, *expected, "{text}");
        }
    }

    /// Checks the values of expressions without a table.
    async fn expect_values(&self, expressions: &[(&str, &str)]) {
        for (expression, expected) in expressions {
            assert_eq!(self.rows(&format!("SELECT {expression}")).await, [*expected], "{expression}");
        }
    }
}

fn show_column(column: &ColumnMetadata) -> String {
    let of = crate::types::Type::of_message(column.r#type.as_ref().unwrap()).unwrap();
    format!("{} {of}", column.name).trim_start().to_owned()
}

/// A value as text: BYTES as they are, STRING in quotes, TIMESTAMP in seconds.
fn show(value: &Value, of: &Type) -> String {
    let list = |array: &ArrayValue, of: &dyn Fn(usize) -> Type| {
        let all = array.values.iter().enumerate().map(|(place, value)| show(value, &of(place)));
        all.collect::<Vec<_>>().join(", ")
    };
    let Some(kind) = &value.kind else { return "NULL".to_owned() };
    match (kind, of.kind.as_ref().unwrap()) {
        (value::Kind::BytesValue(bytes), Kind::BytesType(_)) => bytes.escape_ascii().to_string(),
        (value::Kind::StringValue(text), Kind::StringType(_)) => format!("{text:?}"),
        (value::Kind::IntValue(number), Kind::Int64Type(_)) => number.to_string(),
        (value::Kind::FloatValue(number), Kind::Float64Type(_) | Kind::Float32Type(_)) => {
            format!("{number:?}")
        }
        (value::Kind::BoolValue(value), Kind::BoolType(_)) => value.to_string(),
        (value::Kind::TimestampValue(time), Kind::TimestampType(_)) => {
            let fraction = format!("{:06}", time.nanos / 1000);
            format!("@{}.{fraction}", time.seconds).trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        (value::Kind::DateValue(date), Kind::DateType(_)) => {
            format!("{}-{}-{}", date.year, date.month, date.day)
        }
        (value::Kind::ArrayValue(array), Kind::ArrayType(of)) => {
            format!("[{}]", list(array, &|_| (**of.element_type.as_ref().unwrap()).clone()))
        }
        (value::Kind::ArrayValue(array), Kind::StructType(of)) => {
            format!("({})", list(array, &|place| of.fields[place].r#type.clone().unwrap()))
        }
        (value::Kind::ArrayValue(array), Kind::MapType(of)) => {
            let of = [&of.key_type, &of.value_type].map(|of| (**of.as_ref().unwrap()).clone());
            let entry = |entry: &Value| {
                let Some(value::Kind::ArrayValue(pair)) = &entry.kind else { panic!("{entry:?}") };
                format!("{}: {}", show(&pair.values[0], &of[0]), show(&pair.values[1], &of[1]))
            };
            format!("{{{}}}", array.values.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        (kind, of) => panic!("{kind:?} is no {of:?}"),
    }
}
