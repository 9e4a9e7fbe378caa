//! Tables as relations: the row key, its fields, and a map for each column family.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use bytes::Bytes;
use keyderive_embedded::{Interval, QueryCell, QueryTable};
use keyderive_proto::admin::r#type::Kind;
use keyderive_proto::admin::r#type::aggregate::Aggregator;
use tonic::Status;

use crate::column::Column;
use crate::error::invalid;
use crate::row_key;
use crate::types::Type;
use crate::value::Value;

/// Which versions of the values of a table a query reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Temporal {
    /// Whether each value is an array of its versions.
    pub(crate) with_history: bool,
    /// The first timestamp in microseconds, and the first after the last.
    pub(crate) from: Option<i64>,
    pub(crate) until: Option<i64>,
    /// The most versions of a value.
    pub(crate) latest: Option<usize>,
    /// The argument that is NULL, as a parameter is while a query is prepared.
    pub(crate) null: Option<String>,
}

/// Reads a table.
pub(crate) struct TableScan<'a> {
    table: QueryTable<'a>,
    columns: Vec<Source>,
    temporal: Temporal,
    /// The columns that the query uses.
    read: Rc<RefCell<BTreeSet<usize>>>,
    /// Where the keys of its rows are.
    pub(crate) intervals: Vec<Interval>,
}

/// Where the values of a column come from.
enum Source {
    Key,
    /// The field of the key at this place.
    KeyField(usize),
    Family {
        name: String,
        is_number: bool,
    },
}

/// The place of the row key among the columns.
pub(crate) const KEY: usize = 0;

impl<'a> TableScan<'a> {
    /// The scan of a table, and its columns.
    pub(crate) fn new(
        table: QueryTable<'a>,
        temporal: Temporal,
        read: Rc<RefCell<BTreeSet<usize>>>,
    ) -> Result<(Self, Vec<Column>), Status> {
        let schema = table.row_key_schema();
        // With a schema, the key is a pseudo-column.
        let mut columns = vec![Column { is_hidden: schema.is_some(), ..Column::new("_key", Type::Bytes) }];
        let mut sources = vec![Source::Key];
        for (place, field) in schema.iter().flat_map(|schema| &schema.fields).enumerate() {
            let of = field.r#type.as_ref().and_then(|of| of.kind.as_ref());
            columns.push(Column::new(field.field_name.clone(), row_key::field_type(of)?));
            sources.push(Source::KeyField(place));
        }
        for (name, family) in table.families() {
            let aggregate = match family.value_type.as_ref().and_then(|of| of.kind.as_ref()) {
                Some(Kind::AggregateType(aggregate)) => aggregate.aggregator.as_ref(),
                _ => None,
            };
            let is_number =
                matches!(aggregate, Some(Aggregator::Sum(_) | Aggregator::Min(_) | Aggregator::Max(_)));
            let value = if is_number { Type::Int64 } else { Type::Bytes };
            let value = if temporal.with_history { Type::history(value) } else { value };
            columns.push(Column::new(name, Type::map(Type::Bytes, value)));
            sources.push(Source::Family { name: name.to_owned(), is_number });
        }
        let intervals = vec![Interval::all()];
        Ok((Self { table, columns: sources, temporal, read, intervals }, columns))
    }

    pub(crate) fn run(
        &self,
        emit: &mut dyn FnMut(Vec<Value>) -> Result<ControlFlow<()>, Status>,
    ) -> Result<(), Status> {
        if let Some(name) = &self.temporal.null {
            return Err(invalid(format!("the argument `{name}` of a table is NULL")));
        }
        let read = self.read.borrow().clone();
        self.table.visit(self.intervals.clone(), |key, mut cells| {
            self.keep_versions(&mut cells);
            // Bigtable does not return a row without cells.
            if cells.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let mut fields = None;
            let mut row = Vec::with_capacity(self.columns.len());
            for (place, source) in self.columns.iter().enumerate() {
                row.push(match source {
                    _ if !read.contains(&place) => Value::Null,
                    Source::Key => Value::Bytes(key.clone()),
                    Source::KeyField(place) => {
                        let fields: &Vec<Value> = match &mut fields {
                            Some(fields) => fields,
                            none => none.insert(row_key::fields(key, self.table.row_key_schema())?),
                        };
                        fields.get(*place).cloned().unwrap_or(Value::Null)
                    }
                    Source::Family { name, is_number } => self.family(name, *is_number, &cells)?,
                });
            }
            emit(row)
        })
    }

    /// Removes the versions that the query does not read.
    fn keep_versions(&self, cells: &mut Vec<QueryCell>) {
        let Temporal { with_history, from, until, latest, .. } = self.temporal;
        cells.retain(|cell| {
            let at = cell.timestamp_micros;
            from.is_none_or(|from| at >= from) && until.is_none_or(|until| at < until)
        });
        let most = if with_history { latest.unwrap_or(usize::MAX) } else { 1 };
        let (mut last, mut count) = (None, 0);
        cells.retain(|cell| {
            let column = (cell.family.clone(), cell.qualifier.clone());
            count = if last.as_ref() == Some(&column) { count + 1 } else { 1 };
            last = Some(column);
            count <= most
        });
    }

    /// The map of a family, in the order of the qualifiers.
    fn family(&self, name: &str, is_number: bool, cells: &[QueryCell]) -> Result<Value, Status> {
        let mut entries: Vec<(Value, Value)> = Vec::new();
        for cell in cells.iter().filter(|cell| *cell.family == *name) {
            let value = if is_number { number(&cell.value)? } else { Value::Bytes(cell.value.clone()) };
            let key = Value::Bytes(cell.qualifier.clone());
            if !self.temporal.with_history {
                entries.push((key, value));
                continue;
            }
            let version = Value::Struct(vec![Value::Timestamp(cell.timestamp_micros), value]);
            match entries.last_mut() {
                Some((last, Value::Array(versions))) if *last == key => versions.push(version),
                _ => entries.push((key, Value::Array(vec![version]))),
            }
        }
        Ok(Value::Map(entries))
    }
}

/// The sum, least or greatest of an aggregate.
fn number(bytes: &Bytes) -> Result<Value, Status> {
    let number = bytes[..].try_into().map(i64::from_be_bytes);
    number
        .map(Value::Int64)
        .map_err(|_| Status::data_loss(format!("an aggregate has {} bytes, and not 8", bytes.len())))
}
