//! Tables as relations: the row key, its fields, and a map for each column family.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use bytes::Bytes;
use keyderive_embedded::{Interval, QueryCell, QueryTable};
use keyderive_proto::admin::r#type::aggregate::Aggregator;
use keyderive_proto::admin::r#type::r#struct::encoding::Encoding;
use keyderive_proto::admin::r#type::{Kind, Struct, int64, timestamp};
use tonic::Status;

use crate::error::unimplemented;
use crate::relation::Column;
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
            columns.push(Column::new(field.field_name.clone(), key_field_type(of)?));
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
        let read = self.read.borrow().clone();
        self.table.visit(self.intervals.clone(), &mut |key, mut cells| {
            self.keep_versions(&mut cells);
            // A row without cells is none.
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
                            none => none.insert(key_fields(key, self.table.row_key_schema())?),
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
        let Temporal { with_history, from, until, latest } = self.temporal;
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

/// The SQL type of a field of the key.
fn key_field_type(of: Option<&Kind>) -> Result<Type, Status> {
    Ok(match of {
        Some(Kind::StringType(_)) => Type::Text,
        Some(Kind::BytesType(_)) => Type::Bytes,
        Some(Kind::Int64Type(_)) => Type::Int64,
        Some(Kind::TimestampType(_)) => Type::Timestamp,
        _ => {
            return Err(unimplemented(
                "row key schemas with other types than STRING, BYTES, INT64 and TIMESTAMP",
            ));
        }
    })
}

/// The fields of a row key.
fn key_fields(key: &Bytes, schema: Option<&Struct>) -> Result<Vec<Value>, Status> {
    let Some(schema) = schema else { return Ok(Vec::new()) };
    let wrong = || {
        Status::failed_precondition(format!(
            "the row key `{}` does not fit the row key schema of the table; select `_key` alone, or leave such rows out",
            key.escape_ascii()
        ))
    };
    let encoding = schema.encoding.as_ref().and_then(|encoding| encoding.encoding.as_ref());
    let delimiter = match encoding {
        Some(Encoding::Singleton(_)) => None,
        Some(Encoding::DelimitedBytes(delimited)) => Some(&delimited.delimiter),
        _ => {
            return Err(unimplemented(
                "columns of row keys in the encoding `ordered_code_bytes`; select `_key`",
            ));
        }
    };
    let mut rest = &key[..];
    let mut values = Vec::with_capacity(schema.fields.len());
    for (place, field) in schema.fields.iter().enumerate() {
        let of = field.r#type.as_ref().and_then(|of| of.kind.as_ref());
        let is_last = place + 1 == schema.fields.len();
        let size = match of {
            // Numbers have a size, and may contain the delimiter.
            Some(Kind::Int64Type(number)) if is_big_endian(number.encoding.as_ref()) => Some(8),
            Some(Kind::TimestampType(time)) => {
                match time.encoding.as_ref().and_then(|of| of.encoding.as_ref()) {
                    Some(timestamp::encoding::Encoding::UnixMicrosInt64(number))
                        if is_big_endian(Some(number)) =>
                    {
                        Some(8)
                    }
                    _ => {
                        return Err(unimplemented(
                            "timestamps in row keys in another encoding than big-endian microseconds",
                        ));
                    }
                }
            }
            Some(Kind::Int64Type(_)) => {
                return Err(unimplemented("numbers in row keys in the encoding `ordered_code_bytes`"));
            }
            _ => None,
        };
        let end = match (size, delimiter) {
            (Some(size), _) => size,
            (None, Some(delimiter)) => {
                let found =
                    (0..rest.len()).find(|at| rest[*at..].starts_with(delimiter) && !delimiter.is_empty());
                found.unwrap_or(rest.len())
            }
            (None, None) => rest.len(),
        };
        let (bytes, after) = rest.split_at_checked(end).ok_or_else(wrong)?;
        values.push(match of {
            Some(Kind::StringType(_)) => Value::Text(str::from_utf8(bytes).map_err(|_| wrong())?.to_owned()),
            Some(Kind::Int64Type(_)) => {
                Value::Int64(i64::from_be_bytes(bytes.try_into().map_err(|_| wrong())?))
            }
            Some(Kind::TimestampType(_)) => {
                Value::Timestamp(i64::from_be_bytes(bytes.try_into().map_err(|_| wrong())?))
            }
            _ => Value::Bytes(key.slice_ref(bytes)),
        });
        rest = match (is_last, delimiter) {
            (true, _) if after.is_empty() => after,
            (false, Some(delimiter)) => after.strip_prefix(&delimiter[..]).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        };
    }
    Ok(values)
}

fn is_big_endian(encoding: Option<&int64::Encoding>) -> bool {
    matches!(encoding.and_then(|of| of.encoding.as_ref()), Some(int64::encoding::Encoding::BigEndianBytes(_)))
}
