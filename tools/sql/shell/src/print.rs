//! Results of queries, batch by batch.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, LazyLock};

use clap::ValueEnum;
use datafusion::arrow::array::{Array, ArrayData, ArrayRef, AsArray as _, RecordBatch, make_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::writer::{JsonArray, LineDelimited, NullableEncoder, make_encoder};
use datafusion::arrow::json::{Encoder, EncoderFactory, EncoderOptions, Writer, WriterBuilder};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use keyderive_command::exit::{Failure, Outcome};
use keyderive_command::output::{self, Out, Records, write_safe, write_safe_json};

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// With a line of names first.
    Csv,
    /// An array of objects.
    Json,
    /// A line of JSON for each row.
    Ndjson,
}

/// Prints a result, and holds at most a batch and the rows of a table on a page.
pub(crate) enum Printer {
    Records(Records),
    /// For `EXPLAIN`, whose lines are text.
    Plans(Out),
    Json(JsonPrinter<JsonArray>),
    Ndjson(JsonPrinter<LineDelimited>),
}

impl Printer {
    pub(crate) fn new(format: Format, schema: &Schema, is_plan: bool) -> Outcome<Self> {
        let head = || schema.fields().iter().map(|field| field.name().clone()).collect();
        Ok(match format {
            Format::Table if is_plan => Self::Plans(Out::new()),
            Format::Table => Self::Records(Records::new(output::Format::Table, head())?),
            Format::Csv => Self::Records(Records::new(output::Format::Csv, head())?),
            Format::Json => Self::Json(JsonPrinter::new(builder(schema)?.build(Vec::new()))),
            Format::Ndjson => Self::Ndjson(JsonPrinter::new(builder(schema)?.build(Vec::new()))),
        })
    }

    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Outcome<()> {
        match self {
            Self::Records(records) => {
                let options = FormatOptions::default();
                let cells = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
                let cells = cells.collect::<Result<Vec<_>, _>>().map_err(|error| unprinted(&error))?;
                for at in 0..batch.num_rows() {
                    let row: Vec<_> = cells.iter().map(|cells| cells.value(at).try_to_string()).collect();
                    let row =
                        row.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| unprinted(&error))?;
                    records.add(&(), || row)?;
                }
            }
            // The kind of each plan, and the plan.
            Self::Plans(out) => {
                let plans = batch.columns().last().and_then(|plans| plans.as_string_opt::<i32>());
                plans.into_iter().flatten().flatten().try_for_each(|plan| write_safe(out, plan))?;
            }
            Self::Json(json) => json.write_batch(batch)?,
            Self::Ndjson(json) => json.write_batch(batch)?,
        }
        Ok(())
    }

    /// Prints what is buffered.
    pub(crate) fn finish(self) -> Outcome<()> {
        match self {
            Self::Records(records) => records.finish()?,
            Self::Plans(out) => out.finish()?,
            Self::Json(mut json) => {
                json.write(Writer::finish)?;
                io::Write::write_all(&mut json.out, b"\n")?;
                json.out.finish()?;
            }
            Self::Ndjson(mut json) => {
                json.write(Writer::finish)?;
                json.out.finish()?;
            }
        }
        Ok(())
    }
}

/// Objects that all have the same names, also for NULL, and each name once.
fn builder(schema: &Schema) -> Outcome<WriterBuilder> {
    let mut names = HashSet::new();
    if let Some(field) = schema.fields().iter().find(|field| !names.insert(field.name())) {
        return Err(Failure::usage(format_args!(
            "two columns are named `{}`, and JSON has each name once: list the columns, and name one with `AS`",
            field.name()
        )));
    }
    Ok(WriterBuilder::new().with_explicit_nulls(true).with_encoder_factory(Arc::new(FloatEncoders)))
}

/// Writes NaN and infinities as the command `keyderive` does, as text: Arrow would write `null`.
#[derive(Debug)]
struct FloatEncoders;

impl EncoderFactory for FloatEncoders {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        static OPTIONS: LazyLock<EncoderOptions> = LazyLock::new(EncoderOptions::default);
        if !array.data_type().is_floating() {
            return Ok(None);
        }
        let encoder = Floats {
            values: cast(array, &DataType::Float64)?,
            finite: make_encoder(field, array, &OPTIONS)?,
        };
        Ok(Some(NullableEncoder::new(Box::new(encoder), array.nulls().cloned())))
    }
}

struct Floats<'a> {
    values: ArrayRef,
    finite: NullableEncoder<'a>,
}

impl Encoder for Floats<'_> {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        match self.values.as_primitive::<Float64Type>().value(at) {
            value if value.is_finite() => self.finite.encode(at, out),
            value => out.extend_from_slice(format!("\"{value}\"").as_bytes()),
        }
    }
}

/// Refuses times for which the writer of JSON has no text: it would write that it has none, without quotation marks.
fn check_times(batch: &RecordBatch) -> Outcome<()> {
    batch.columns().iter().try_for_each(|column| check_times_of(&column.to_data()))
}

fn check_times_of(of: &ArrayData) -> Outcome<()> {
    if matches!(of.data_type(), DataType::Timestamp(..)) {
        let times = make_array(of.clone());
        let formatter = ArrayFormatter::try_new(&times, &FormatOptions::default());
        let formatter = formatter.map_err(|error| unprinted(&error))?;
        for at in 0..times.len() {
            formatter.value(at).try_to_string().map_err(|error| unprinted(&error))?;
        }
    }
    of.child_data().iter().try_for_each(check_times_of)
}

/// A value has no form in the output.
fn unprinted(error: &ArrowError) -> Failure {
    Failure::refused(format_args!("a value cannot be printed: {error}"))
}

/// Prints JSON, in ASCII where a terminal could obey a character.
pub(crate) struct JsonPrinter<F: datafusion::arrow::json::writer::JsonFormat> {
    writer: Writer<Vec<u8>, F>,
    out: Out,
}

impl<F: datafusion::arrow::json::writer::JsonFormat> JsonPrinter<F> {
    fn new(writer: Writer<Vec<u8>, F>) -> Self {
        Self { writer, out: Out::new() }
    }

    fn write_batch(&mut self, batch: &RecordBatch) -> Outcome<()> {
        check_times(batch)?;
        self.write(|to| to.write(batch))
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut Writer<Vec<u8>, F>) -> Result<(), ArrowError>,
    ) -> Outcome<()> {
        write(&mut self.writer).map_err(|error| unprinted(&error))?;
        let json = self.writer.get_mut();
        write_safe_json(&mut self.out, &String::from_utf8_lossy(json))?;
        json.clear();
        Ok(())
    }
}
