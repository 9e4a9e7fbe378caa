//! Rows as record batches.

use std::mem;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayBuilder as _, ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal256Builder,
    Float32Builder, Float64Builder, Int8Builder, Int16Builder, Int32Builder, Int64Builder, ListArray,
    MapArray, NullBufferBuilder, RecordBatch, RecordBatchOptions, StringBuilder, StructArray,
    TimestampMicrosecondBuilder, TimestampMillisecondBuilder, TimestampNanosecondBuilder,
    TimestampSecondBuilder, UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef, i256};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use keyderive::dynamic::{DynColumnRef, DynRowRef, ValueRef};
use keyderive::key::TimeUnit;
use keyderive::row::ColumnKind;

use crate::columns::{
    CellColumn, Columns, Kind, RowColumn, Shape, cell_time, family_fields, map_entries, version_fields,
};

/// A batch ends at about this many bytes of text and bytes, so that wide rows take no more memory than narrow ones.
const MAX_BYTES: usize = 8 << 20;

/// Appends values of one kind.
struct Values {
    kind: Kind,
    builder: Builder,
    /// The bytes of text and bytes so far.
    bytes: usize,
}

enum Builder {
    UInt8(UInt8Builder),
    UInt16(UInt16Builder),
    UInt32(UInt32Builder),
    UInt64(UInt64Builder),
    Int8(Int8Builder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Wide(Decimal256Builder),
    Bool(BooleanBuilder),
    F32(Float32Builder),
    F64(Float64Builder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Date(Date32Builder),
    Secs(TimestampSecondBuilder),
    Millis(TimestampMillisecondBuilder),
    Micros(TimestampMicrosecondBuilder),
    Nanos(TimestampNanosecondBuilder),
}

macro_rules! each_builder {
    ($self:expr, $of:pat => $body:expr) => {
        match $self {
            Builder::UInt8($of) => $body,
            Builder::UInt16($of) => $body,
            Builder::UInt32($of) => $body,
            Builder::UInt64($of) => $body,
            Builder::Int8($of) => $body,
            Builder::Int16($of) => $body,
            Builder::Int32($of) => $body,
            Builder::Int64($of) => $body,
            Builder::Wide($of) => $body,
            Builder::Bool($of) => $body,
            Builder::F32($of) => $body,
            Builder::F64($of) => $body,
            Builder::Text($of) => $body,
            Builder::Bytes($of) => $body,
            Builder::Date($of) => $body,
            Builder::Secs($of) => $body,
            Builder::Millis($of) => $body,
            Builder::Micros($of) => $body,
            Builder::Nanos($of) => $body,
        }
    };
}

impl Builder {
    /// With room for `values` values, and `bytes` bytes of text or bytes.
    fn new(kind: Kind, values: usize, bytes: usize) -> Self {
        let of = kind.data_type();
        match (kind, &of) {
            (Kind::Time(unit), _) => match unit {
                TimeUnit::Secs => {
                    Self::Secs(TimestampSecondBuilder::with_capacity(values).with_data_type(of))
                }
                TimeUnit::Millis => {
                    Self::Millis(TimestampMillisecondBuilder::with_capacity(values).with_data_type(of))
                }
                TimeUnit::Micros => {
                    Self::Micros(TimestampMicrosecondBuilder::with_capacity(values).with_data_type(of))
                }
                _ => Self::Nanos(TimestampNanosecondBuilder::with_capacity(values).with_data_type(of)),
            },
            (_, DataType::UInt8) => Self::UInt8(UInt8Builder::with_capacity(values)),
            (_, DataType::UInt16) => Self::UInt16(UInt16Builder::with_capacity(values)),
            (_, DataType::UInt32) => Self::UInt32(UInt32Builder::with_capacity(values)),
            (_, DataType::UInt64) => Self::UInt64(UInt64Builder::with_capacity(values)),
            (_, DataType::Int8) => Self::Int8(Int8Builder::with_capacity(values)),
            (_, DataType::Int16) => Self::Int16(Int16Builder::with_capacity(values)),
            (_, DataType::Int32) => Self::Int32(Int32Builder::with_capacity(values)),
            (_, DataType::Int64) => Self::Int64(Int64Builder::with_capacity(values)),
            (_, DataType::Decimal256(..)) => {
                Self::Wide(Decimal256Builder::with_capacity(values).with_data_type(of))
            }
            (_, DataType::Boolean) => Self::Bool(BooleanBuilder::with_capacity(values)),
            (_, DataType::Float32) => Self::F32(Float32Builder::with_capacity(values)),
            (_, DataType::Float64) => Self::F64(Float64Builder::with_capacity(values)),
            (_, DataType::Utf8) => Self::Text(StringBuilder::with_capacity(values, bytes)),
            (_, DataType::Date32) => Self::Date(Date32Builder::with_capacity(values)),
            _ => Self::Bytes(BinaryBuilder::with_capacity(values, bytes)),
        }
    }
}

/// A value has no form in Arrow.
struct NoForm;

impl Values {
    fn new(kind: Kind) -> Self {
        Self { kind, builder: Builder::new(kind, 0, 0), bytes: 0 }
    }

    fn null(&mut self) {
        each_builder!(&mut self.builder, of => of.append_null());
    }

    #[inline(always)]
    fn push(&mut self, value: ValueRef<'_>) -> Result<(), NoForm> {
        macro_rules! integer {
            ($to:expr, $value:expr) => {
                $to.append_value($value.try_into().map_err(|_| NoForm)?)
            };
        }
        match (&mut self.builder, value) {
            (Builder::Text(to), ValueRef::Text(text)) => {
                self.bytes += text.len();
                to.append_value(text);
            }
            (Builder::Bytes(to), ValueRef::Bytes(bytes)) => {
                self.bytes += bytes.len();
                to.append_value(bytes);
            }
            (Builder::UInt8(to), ValueRef::Integer(value)) => integer!(to, value),
            (Builder::UInt16(to), ValueRef::Integer(value)) => integer!(to, value),
            (Builder::UInt32(to), ValueRef::Integer(value)) => integer!(to, value),
            (Builder::UInt64(to), ValueRef::Integer(value)) => integer!(to, value),
            (Builder::Int8(to), ValueRef::Integer(value)) => integer!(to, value),
            (Builder::Int16(to), ValueRef::Integer(value)) => integer!(to, value),
            (Builder::Int32(to), ValueRef::Integer(value)) => integer!(to, value),
            (Builder::Int64(to), ValueRef::Integer(value)) => integer!(to, value),
            (Builder::Wide(to), ValueRef::Integer(value)) => to.append_value(i256::from_i128(value)),
            (Builder::Wide(to), ValueRef::Unsigned(value)) => to.append_value(i256::from_parts(value, 0)),
            (Builder::Bool(to), ValueRef::Bool(value)) => to.append_value(value),
            (Builder::F32(to), ValueRef::F32(value)) => to.append_value(value),
            (Builder::F64(to), ValueRef::F64(value)) => to.append_value(value),
            (Builder::Date(to), ValueRef::Date(days)) => integer!(to, days),
            (Builder::Secs(to), value) => to.append_value(value.time_in(TimeUnit::Secs).ok_or(NoForm)?),
            (Builder::Millis(to), value) => to.append_value(value.time_in(TimeUnit::Millis).ok_or(NoForm)?),
            (Builder::Micros(to), value) => to.append_value(value.time_in(TimeUnit::Micros).ok_or(NoForm)?),
            (Builder::Nanos(to), value) => to.append_value(value.time_in(TimeUnit::Nanos).ok_or(NoForm)?),
            (Builder::Text(to), ValueRef::Uuid(value)) => {
                let hex = format!("{value:032x}");
                self.bytes += 36;
                to.append_value(format!(
                    "{}-{}-{}-{}-{}",
                    &hex[..8],
                    &hex[8..12],
                    &hex[12..16],
                    &hex[16..20],
                    &hex[20..]
                ));
            }
            (Builder::Text(to), ValueRef::Integer(code)) => {
                let Kind::Code(codes) = self.kind else { return Err(NoForm) };
                let name = codes.iter().find(|(of, _)| i128::from(*of) == code).ok_or(NoForm)?.1;
                self.bytes += name.len();
                to.append_value(name);
            }
            _ => return Err(NoForm),
        }
        Ok(())
    }

    fn len(&self) -> usize {
        each_builder!(&self.builder, of => of.len())
    }

    fn finish(&mut self) -> ArrayRef {
        // The next batch is most often as large.
        let next = Builder::new(self.kind, self.len(), mem::take(&mut self.bytes));
        each_builder!(mem::replace(&mut self.builder, next), mut of => Arc::new(of.finish()))
    }
}

/// Appends the cells of one column.
enum Cells {
    One(Values),
    /// With its timestamp.
    Timestamped {
        times: TimestampMicrosecondBuilder,
        values: Values,
        nulls: NullBufferBuilder,
    },
    /// Every version, with its timestamp.
    Versions {
        times: TimestampMicrosecondBuilder,
        values: Values,
        ends: Vec<i32>,
    },
}

fn times() -> TimestampMicrosecondBuilder {
    TimestampMicrosecondBuilder::new().with_data_type(cell_time())
}

/// The offsets of lists that end there.
fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let ends = mem::replace(ends, vec![0]);
    OffsetBuffer::new(ends.into())
}

fn end(len: usize) -> Result<i32, NoForm> {
    i32::try_from(len).map_err(|_| NoForm)
}

impl Cells {
    fn new(kind: Kind, reads: ColumnKind) -> Self {
        let values = Values::new(kind);
        if reads.reads_versions() {
            Self::Versions { times: times(), values, ends: vec![0] }
        } else if reads == ColumnKind::Timestamped {
            Self::Timestamped { times: times(), values, nulls: NullBufferBuilder::new(0) }
        } else {
            Self::One(values)
        }
    }

    fn of(column: &CellColumn) -> Self {
        Self::new(column.kind, column.reads)
    }

    #[inline]
    fn push(&mut self, column: Option<DynColumnRef<'_>>) -> Result<(), NoForm> {
        let cells = column.map_or(&[][..], DynColumnRef::cells);
        match self {
            Self::One(values) => match cells.first() {
                Some(cell) => values.push(cell.value)?,
                None => values.null(),
            },
            Self::Timestamped { times, values, nulls } => {
                match cells.first() {
                    Some(cell) => {
                        times.append_value(cell.timestamp_micros);
                        values.push(cell.value)?;
                    }
                    None => {
                        times.append_null();
                        values.null();
                    }
                }
                nulls.append(!cells.is_empty());
            }
            Self::Versions { times, values, ends } => {
                for cell in cells {
                    times.append_value(cell.timestamp_micros);
                    values.push(cell.value)?;
                }
                ends.push(end(ends.last().map_or(0, |end| *end as usize) + cells.len())?);
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        match self {
            Self::One(values) => values.bytes,
            Self::Timestamped { values, .. } | Self::Versions { values, .. } => {
                values.bytes + 8 * values.len()
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(match self {
            Self::One(values) => values.finish(),
            Self::Timestamped { times, values, nulls } => {
                let fields = version_fields(values.kind);
                let arrays: Vec<ArrayRef> = vec![Arc::new(times.finish()), values.finish()];
                Arc::new(StructArray::try_new(fields, arrays, nulls.finish())?)
            }
            Self::Versions { times, values, ends } => {
                let fields = version_fields(values.kind);
                let item = Field::new_list_field(DataType::Struct(fields.clone()), true);
                let arrays: Vec<ArrayRef> = vec![Arc::new(times.finish()), values.finish()];
                let items = Arc::new(StructArray::try_new(fields, arrays, None)?);
                Arc::new(ListArray::try_new(Arc::new(item), offsets(ends), items, None)?)
            }
        })
    }
}

/// Appends one column of the rows.
#[expect(clippy::large_enum_variant, reason = "there is one for each column of a batch")]
enum RowCells {
    Cell(Cells),
    Family {
        of: Vec<CellColumn>,
        cells: Vec<Cells>,
        nulls: NullBufferBuilder,
    },
    Map {
        is_text: bool,
        kind: Kind,
        reads: ColumnKind,
        names: Values,
        cells: Cells,
        ends: Vec<i32>,
        nulls: NullBufferBuilder,
    },
}

impl RowCells {
    fn new(column: &RowColumn) -> Self {
        match &column.shape {
            Shape::Cell(column) => Self::Cell(Cells::of(column)),
            Shape::Family(columns) => Self::Family {
                of: columns.clone(),
                cells: columns.iter().map(Cells::of).collect(),
                nulls: NullBufferBuilder::new(0),
            },
            Shape::Map { is_text, kind, reads, .. } => Self::Map {
                is_text: *is_text,
                kind: *kind,
                reads: *reads,
                names: Values::new(if *is_text { Kind::Text } else { Kind::Bytes }),
                cells: Cells::new(*kind, *reads),
                ends: vec![0],
                nulls: NullBufferBuilder::new(0),
            },
        }
    }

    /// `first` is the index of the first of its columns among those that are read.
    #[inline]
    fn push(&mut self, row: DynRowRef<'_>, first: usize) -> Result<(), NoForm> {
        match self {
            Self::Cell(cells) => cells.push(row.column(first)),
            Self::Family { cells, nulls, .. } => {
                for (at, cells) in cells.iter_mut().enumerate() {
                    cells.push(row.column(first + at))?;
                }
                nulls.append(row.column(first).is_some());
                Ok(())
            }
            Self::Map { is_text, names, cells, ends, nulls, .. } => {
                let entries = row.entries(first);
                nulls.append(entries.is_some());
                let mut count = 0;
                for column in entries.into_iter().flatten() {
                    let name = column.qualifier();
                    names.push(match *is_text {
                        true => ValueRef::Text(str::from_utf8(name).map_err(|_| NoForm)?),
                        false => ValueRef::Bytes(name),
                    })?;
                    cells.push(Some(column))?;
                    count += 1;
                }
                ends.push(end(ends.last().map_or(0, |end| *end as usize) + count)?);
                Ok(())
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Cell(cells) => cells.bytes(),
            Self::Family { cells, .. } => cells.iter().map(Cells::bytes).sum(),
            Self::Map { names, cells, .. } => names.bytes + cells.bytes(),
        }
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(match self {
            Self::Cell(cells) => cells.finish()?,
            Self::Family { of, cells, nulls } => {
                let arrays = cells.iter_mut().map(Cells::finish).collect::<Result<_>>()?;
                Arc::new(StructArray::try_new(family_fields(of), arrays, nulls.finish())?)
            }
            Self::Map { is_text, kind, reads, names, cells, ends, nulls } => {
                let entries = map_entries(*is_text, *kind, *reads);
                let DataType::Struct(fields) = entries.data_type().clone() else {
                    unreachable!("entries are a struct")
                };
                let arrays = vec![names.finish(), cells.finish()?];
                let of = StructArray::try_new(fields, arrays, None)?;
                Arc::new(MapArray::try_new(Arc::new(entries), offsets(ends), of, nulls.finish(), false)?)
            }
        })
    }
}

/// The rows of a batch.
pub(crate) struct BatchBuilder {
    schema: SchemaRef,
    /// In the order of the schema.
    columns: Vec<Column>,
    rows: usize,
    max_rows: usize,
}

#[expect(clippy::large_enum_variant, reason = "there is one for each column of a batch")]
enum Column {
    /// The index of a field of the key.
    Key(usize, Values),
    /// The index of its first column among those that are read.
    Row(usize, RowCells),
}

impl BatchBuilder {
    /// `projection` has the indices of columns; `declared` the indices of the declared columns of rows that are read.
    pub(crate) fn new(
        columns: &Columns,
        projection: &[usize],
        declared: &[usize],
        schema: SchemaRef,
        max_rows: usize,
    ) -> Self {
        let column = |at: &usize| match at.checked_sub(columns.key.len()) {
            None => Column::Key(columns.key[*at].field, Values::new(columns.key[*at].kind)),
            Some(at) => {
                let of = &columns.row[at];
                let first = declared.iter().position(|column| *column == of.first).unwrap_or_default();
                Column::Row(first, RowCells::new(of))
            }
        };
        Self { schema, columns: projection.iter().map(column).collect(), rows: 0, max_rows }
    }

    pub(crate) fn push(&mut self, row: DynRowRef<'_>) -> Result<()> {
        for (at, column) in self.columns.iter_mut().enumerate() {
            let pushed = match column {
                Column::Key(field, values) => match row.key_field(*field) {
                    Some(value) => values.push(value),
                    None => Err(NoForm),
                },
                Column::Row(first, cells) => cells.push(row, *first),
            };
            if pushed.is_err() {
                return Err(no_form(self.schema.field(at), row.key()));
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// How many rows it has room for. They need not fit in memory if each is large: push a few at a time.
    pub(crate) fn room(&self) -> usize {
        let bytes = self.columns.iter().map(|column| match column {
            Column::Key(_, values) => values.bytes,
            Column::Row(_, cells) => cells.bytes(),
        });
        if bytes.sum::<usize>() >= MAX_BYTES { 0 } else { self.max_rows - self.rows }
    }

    /// The batch; none without a row.
    pub(crate) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let arrays = self.columns.iter_mut().map(|column| match column {
            Column::Key(_, values) => Ok(values.finish()),
            Column::Row(_, cells) => cells.finish(),
        });
        let arrays = arrays.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(mem::take(&mut self.rows)));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?))
    }
}

#[cold]
fn no_form(field: &Field, key: &[u8]) -> DataFusionError {
    exec_datafusion_err!(
        "the column `{}` of the row `{}` has a value that {} does not hold; leave the column out of the query",
        field.name(),
        key.escape_ascii(),
        field.data_type()
    )
}
