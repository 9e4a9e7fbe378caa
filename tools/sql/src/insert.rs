//! `INSERT INTO`: rows of batches, written by a load.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{Array, ArrayRef, AsArray as _, RecordBatch};
use datafusion::arrow::datatypes::{FieldRef, Fields, Schema, SchemaRef, TimestampMicrosecondType};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures_util::future;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use keyderive::dynamic::{ColumnValue, DynKey, DynRow, Value};
use keyderive::row::{Timestamped, Versions};

use crate::columns::{CellColumn, Kind, Literal, Shape};
use crate::error::external;
use crate::exec::Source;

/// Writes the rows of a statement.
#[derive(Debug)]
pub(crate) struct Sink {
    source: Arc<Source>,
    /// Each column may be NULL: DataFusion would refuse a NULL by the number of its column.
    schema: SchemaRef,
}

impl Sink {
    pub(crate) fn new(source: Arc<Source>) -> Self {
        let fields = source.columns.schema.fields().iter();
        let nullable: Fields = fields.map(|field| field.as_ref().clone().with_nullable(true)).collect();
        Self { source, schema: Arc::new(Schema::new(nullable)) }
    }
}

impl DisplayAs for Sink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BigtableSink(table={})", self.source.table.name())
    }
}

#[async_trait]
impl DataSink for Sink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, data: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let source = Arc::clone(&self.source);
        let rows = data.and_then(move |batch| {
            let source = Arc::clone(&source);
            future::ready(
                source
                    .check_required(&batch)
                    .map(|()| stream::iter((0..batch.num_rows()).map(move |at| source.row_of(&batch, at)))),
            )
        });
        let report = self.source.table.load(rows.try_flatten().boxed()).await.map_err(external)?;
        Ok(report.all_written().map_err(external)?.written)
    }
}

impl Source {
    /// Fails if a row lacks a field of the key, or a column that every row has.
    fn check_required(&self, batch: &RecordBatch) -> Result<()> {
        let fields = self.columns.schema.fields().iter().zip(batch.columns()).enumerate();
        let missing =
            fields.filter(|(_, (field, array))| !field.is_nullable() && array.logical_null_count() > 0);
        let (keys, others): (Vec<_>, Vec<_>) = missing.partition(|(at, _)| *at < self.columns.key.len());
        let names = |columns: Vec<(usize, (&FieldRef, &ArrayRef))>, what: &str| {
            let names: Vec<_> = columns.iter().map(|(_, (field, _))| format!("`{}`", field.name())).collect();
            (!names.is_empty()).then(|| names.join(", ") + what)
        };
        let missing: Vec<String> =
            [names(keys, " of the key"), names(others, "")].into_iter().flatten().collect();
        if missing.is_empty() {
            return Ok(());
        }
        exec_err!(
            "a row to insert has no value for {}; list each column in `INSERT INTO {} (…)`, and give it a value that is not NULL",
            missing.join(" and "),
            self.table.name()
        )
    }

    /// The key and the row at this place of a batch.
    fn row_of(&self, batch: &RecordBatch, at: usize) -> Result<(DynKey, DynRow)> {
        let layout = self.table.key();
        let mut arrays = batch.columns().iter();
        let mut fields = Vec::new();
        for (column, array) in self.columns.key.iter().zip(&mut arrays) {
            let Some(value) = value(column.kind, array, at)? else {
                return exec_err!("the column `{}` of the key is NULL", column.name);
            };
            fields.push((column.name, value));
        }
        let key = layout.encode(fields).map_err(external)?;
        let key = layout.decode(&key).map_err(external)?;
        let mut row = self.table.new_row();
        for (column, array) in self.columns.row.iter().zip(arrays) {
            let family = column.family;
            match &column.shape {
                Shape::Cell(of) => set(&mut row, family, of.qualifier, of, array, at)?,
                Shape::Family(columns) => {
                    let is_present = array.is_valid(at);
                    row.set_family(family, is_present).map_err(external)?;
                    for (of, array) in columns.iter().zip(array.as_struct().columns()) {
                        if is_present {
                            set(&mut row, family, of.qualifier, of, array, at)?;
                        }
                    }
                }
                Shape::Map { is_text, kind, reads, is_optional } => {
                    if *is_optional {
                        row.set_family(family, array.is_valid(at)).map_err(external)?;
                    }
                    if array.is_null(at) {
                        continue;
                    }
                    if !is_text {
                        return exec_err!(
                            "the map `{family}` has keys of bytes, which `INSERT` does not write"
                        );
                    }
                    let entries = array.as_map().value(at);
                    let names = entries.column(0).as_string::<i32>();
                    let of = CellColumn { qualifier: "", kind: *kind, reads: *reads, is_required: false };
                    for entry in 0..entries.len() {
                        set(&mut row, family, names.value(entry), &of, entries.column(1), entry)?;
                    }
                }
            }
        }
        Ok((key, row))
    }
}

/// Sets a column to the value at this place, if there is one.
fn set(
    row: &mut DynRow,
    family: &str,
    name: &str,
    of: &CellColumn,
    array: &ArrayRef,
    at: usize,
) -> Result<()> {
    if array.is_null(at) {
        return Ok(());
    }
    let value: ColumnValue = if of.reads.reads_versions() {
        let versions = array.as_list::<i32>().value(at);
        let version = |at| version(of.kind, &versions, at);
        (0..versions.len()).map(version).collect::<Result<Versions<Value>>>()?.into()
    } else if of.reads == keyderive::row::ColumnKind::Timestamped {
        version(of.kind, array, at)?.into()
    } else {
        value(of.kind, array, at)?.map_or(ColumnValue::Absent, ColumnValue::Value)
    };
    row.set(&format!("{family}:{name}"), value).map_err(external)?;
    Ok(())
}

fn version(kind: Kind, array: &ArrayRef, at: usize) -> Result<Timestamped<Value>> {
    let fields = array.as_struct();
    let time = fields.column(0).as_primitive::<TimestampMicrosecondType>().value(at);
    let value =
        value(kind, fields.column(1), at)?.ok_or_else(|| exec_datafusion_err!("a version has no value"))?;
    Ok(Timestamped::new(time, value))
}

/// The value at this place; none for NULL.
fn value(kind: Kind, array: &ArrayRef, at: usize) -> Result<Option<Value>> {
    let scalar = ScalarValue::try_from_array(array, at)?;
    match kind.literal(&scalar) {
        Some(Literal::Value(value)) => Ok(Some(value)),
        Some(Literal::Never) if scalar.is_null() => Ok(None),
        _ => exec_err!(
            "{scalar} is no {}",
            if kind == Kind::Uuid { "UUID in lower case" } else { "value of the column" }
        ),
    }
}
