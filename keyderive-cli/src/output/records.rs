//! Records of named values: a table for people, lines of JSON or CSV for programs.

use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;
use comfy_table::{Table, presets};
use serde::Serialize;

use super::{Out, Safe, json_line};

/// How records are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// A line of JSON for each record.
    Json,
    /// With a line of names first.
    Csv,
}

/// How many records a table has before it is printed, and the next one begins: so memory is bounded.
const ROWS_PER_TABLE: usize = 500;

/// A printer of records that have the same names.
pub(crate) struct Records {
    head: Vec<String>,
    sink: Sink,
}

enum Sink {
    Table { out: Out, table: Option<Table>, rows: usize },
    Json(Out),
    Csv { out: Box<csv::Writer<Out>>, is_terminal: bool },
}

impl Records {
    pub(crate) fn new(format: Format, head: Vec<String>) -> io::Result<Self> {
        let out = Out::new();
        let sink = match format {
            Format::Table => Sink::Table { out, table: None, rows: 0 },
            Format::Json => Sink::Json(out),
            Format::Csv => {
                let is_terminal = io::stdout().is_terminal();
                let mut out = Box::new(csv::Writer::from_writer(out));
                out.write_record(&head)?;
                Sink::Csv { out, is_terminal }
            }
        };
        Ok(Self { head, sink })
    }

    /// Prints a record: `json` as a line of JSON, or else its cells, one for each name.
    pub(crate) fn add(
        &mut self,
        json: &impl Serialize,
        cells: impl FnOnce() -> Vec<String>,
    ) -> io::Result<()> {
        match &mut self.sink {
            Sink::Json(out) => json_line(out, json),
            Sink::Table { out, table, rows } => {
                let table = table.get_or_insert_with(|| plain_table(&self.head));
                table.add_row(cells().iter().map(|cell| Safe(cell).to_string()));
                *rows += 1;
                if (*rows).is_multiple_of(ROWS_PER_TABLE) {
                    print(out, table)?;
                    *table = plain_table(&self.head);
                }
                Ok(())
            }
            Sink::Csv { out, is_terminal } => {
                let cells = cells();
                match is_terminal {
                    true => out.write_record(cells.iter().map(|cell| Safe(cell).to_string()))?,
                    // A program reads what is stored.
                    false => out.write_record(&cells)?,
                }
                Ok(())
            }
        }
    }

    /// Prints what is buffered.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.sink {
            Sink::Json(out) => out.finish(),
            Sink::Table { mut out, table, rows } => {
                if let Some(table) = table.filter(|_| rows % ROWS_PER_TABLE != 0) {
                    print(&mut out, &table)?;
                }
                out.finish()
            }
            Sink::Csv { mut out, .. } => out.flush(),
        }
    }
}

/// A table without lines, whose columns other programs can cut.
pub(crate) fn plain_table<S: AsRef<str>>(head: &[S]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(head.iter().map(|name| Safe(name.as_ref()).to_string()));
    table
}

pub(crate) fn print(out: &mut Out, table: &Table) -> io::Result<()> {
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
