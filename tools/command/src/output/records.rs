//! Records of named values: a table for people, lines of JSON or CSV for programs.

use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;
use comfy_table::{Table, presets};
use serde::Serialize;

use super::{Out, Safe, json_line};

/// How records are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// A line of JSON for each record.
    Json,
    /// With a line of names first.
    Csv,
}

/// How a command prints what is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// For people.
    Text,
    /// A line of JSON for each.
    Json,
}

impl TextFormat {
    /// Whether it is JSON.
    pub fn is_json(self) -> bool {
        self == Self::Json
    }
}

/// How many records a table has before it is printed, and the next one begins: so memory is bounded. On a terminal each has the names above
/// it, and for programs the first alone.
const ROWS_PER_TABLE: usize = 500;
/// How many bytes of text there are below a table before both are printed.
const BYTES_BELOW: usize = 1 << 20;

/// A printer of records that have the same names.
pub struct Records {
    head: Vec<String>,
    sink: Sink,
}

enum Sink {
    /// The table of the next records, and text that is printed below it.
    Table {
        out: Out,
        table: Option<Box<Table>>,
        rows: usize,
        below: Vec<u8>,
        /// Whether the next table has the names above it.
        has_head: bool,
    },
    Json(Out),
    Csv {
        out: Box<csv::Writer<Out>>,
        is_terminal: bool,
    },
}

impl Records {
    /// A printer of records with these names.
    pub fn new(format: Format, head: Vec<String>) -> io::Result<Self> {
        let out = Out::new();
        let sink = match format {
            Format::Table => Sink::Table { out, table: None, rows: 0, below: Vec::new(), has_head: true },
            Format::Json => Sink::Json(out),
            Format::Csv => {
                let is_terminal = io::stdout().is_terminal();
                let mut out = Box::new(csv::Writer::from_writer(out));
                out.write_record(&head).map_err(of_csv)?;
                Sink::Csv { out, is_terminal }
            }
        };
        Ok(Self { head, sink })
    }

    /// Prints a record: `json` as a line of JSON, or else its cells, one for each name.
    pub fn add(&mut self, json: &impl Serialize, cells: impl FnOnce() -> Vec<String>) -> io::Result<()> {
        match &mut self.sink {
            Sink::Json(out) => json_line(out, json),
            Sink::Table { out, table, rows, below, has_head } => {
                table
                    .get_or_insert_with(|| Box::new(plain_table(&self.head)))
                    .add_row(cells().iter().map(|cell| Safe(cell).to_string()));
                *rows += 1;
                match *rows < ROWS_PER_TABLE && below.len() < BYTES_BELOW {
                    true => Ok(()),
                    false => {
                        *rows = 0;
                        print(out, table.take().as_deref(), *has_head, below)?;
                        *has_head = io::stdout().is_terminal();
                        Ok(())
                    }
                }
            }
            Sink::Csv { out, is_terminal } => {
                let cells = cells();
                match is_terminal {
                    true => {
                        out.write_record(cells.iter().map(|cell| Safe(cell).to_string())).map_err(of_csv)?;
                    }
                    // A program reads what is stored.
                    false => out.write_record(&cells).map_err(of_csv)?,
                }
                Ok(())
            }
        }
    }

    /// Prints text for people, below the records that came before it.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let Sink::Table { out, table, below, .. } = &mut self.sink else { return Ok(()) };
        write(below)?;
        match table {
            Some(_) => Ok(()),
            None => print(out, None, false, below),
        }
    }

    /// Prints what is buffered.
    pub fn finish(self) -> io::Result<()> {
        match self.sink {
            Sink::Json(out) => out.finish(),
            Sink::Table { mut out, table, mut below, has_head, .. } => {
                print(&mut out, table.as_deref(), has_head, &mut below)?;
                out.finish()
            }
            Sink::Csv { mut out, .. } => out.flush(),
        }
    }
}

/// The error of the output itself, which says whether its reader has gone.
pub fn of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A table without lines, whose columns other programs can cut.
fn plain_table(head: &[String]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(head.iter().map(|name| Safe(name).to_string()));
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

fn print(out: &mut Out, table: Option<&Table>, has_head: bool, below: &mut Vec<u8>) -> io::Result<()> {
    // The names are one line.
    for line in table.into_iter().flat_map(Table::lines).skip(usize::from(!has_head)) {
        writeln!(out, "{}", line.trim_end())?;
    }
    out.write_all(below)?;
    below.clear();
    Ok(())
}
