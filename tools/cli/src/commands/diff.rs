//! `diff`: in which rows two tables differ.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use keyderive::dynamic::{DynKey, TableLayout};
use keyderive::table::Progress;
use keyderive::table::diff::{DifferentKey, RowDifference, TableDiff};
use serde::Serialize;

use super::block_on;
use super::rows::shown;
use crate::exit::{Exit, Outcome};
use crate::output::{self, Meter, Out, OutputFile, Safe, TextFormat, json_line};
use crate::pair::{PairArgs, ToInstance, note_dropped};

/// Compare two tables, cell by cell
///
///     keyderive diff events events-64
///     keyderive diff events events --on prod --to-on test --output differences.json
///
/// Each row of the old table is looked up in the new one, under the key that it has there, and rows that the new table has alone are
/// found too. A row of the old table whose key is not of the layout is a difference, and is not looked up. Cells that one table has alone
/// and may remove by its rules are no difference. Exits with 1 if the tables differ. What is written while the command runs can be a
/// difference.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Diff {
    #[command(flatten)]
    pair: PairArgs,
    #[command(flatten)]
    to: ToInstance,
    /// Compare the newest value of each column alone, without its time: for tables that are written side by side
    #[arg(long)]
    only_newest: bool,
    /// Show this many rows that differ
    #[arg(long, value_name = "ROWS", default_value_t = 20)]
    show: usize,
    /// Write all rows that differ to this file, as lines of JSON, each with up to 10 cells, once all are found; what it had is lost then
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

/// A row that differs, as a line of JSON.
#[derive(Serialize)]
struct Line {
    difference: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    old: Vec<Key>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<Key>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cells: Vec<Cell>,
    /// How many differ; the first are here.
    #[serde(skip_serializing_if = "Option::is_none")]
    cells_differ: Option<usize>,
}

#[derive(Serialize)]
struct Key {
    key: String,
    /// None for a key of another layout.
    fields: Option<DynKey>,
}

#[derive(Serialize)]
struct Cell {
    column: String,
    timestamp_micros: i64,
    old: Option<String>,
    new: Option<String>,
}

#[derive(Serialize)]
struct Numbers {
    is_equal: bool,
    compared: u64,
    cells: u64,
    missing: u64,
    extra: u64,
    differing: u64,
    collisions: u64,
    foreign: u64,
    is_lower_bound: bool,
}

impl Diff {
    pub(crate) fn run(self) -> Outcome {
        block_on(async {
            let tables = self.pair.open(&self.to).await?;
            let mapping = self.pair.mapping(&tables.layouts)?;
            note_dropped(&mapping);
            let [old, new] = tables.tables();
            let (mut meter, mut unwritten) = (Meter::new("compared"), None);
            let mut file = self.output.as_deref().map(OutputFile::create).transpose()?;
            let mut diff = old.diff(&new, &mapping)?.first(self.show).report_foreign();
            diff = diff.on_progress(|progress: &Progress| meter.rows(progress.compared + progress.counted));
            if self.only_newest {
                diff = diff.only_newest();
            }
            if let Some(file) = &mut file {
                let (layouts, unwritten) = (&tables.layouts, &mut unwritten);
                diff = diff.on_difference(move |row| {
                    if unwritten.is_none() {
                        let written = json_line(file, &Line::new(row, layouts));
                        *unwritten = written.map_err(|error| file.unwritten(&error)).err();
                    }
                });
            }
            let diff = diff.await?;
            meter.finish();
            if let Some(failure) = unwritten {
                return Err(failure);
            }
            file.map_or(Ok(()), OutputFile::finish)?;
            self.print(&diff, &tables.layouts)
        })
    }

    fn print(&self, diff: &TableDiff, layouts: &[TableLayout; 2]) -> Outcome {
        let mut out = Out::new();
        match self.format {
            TextFormat::Text => {
                for line in diff.to_string().lines() {
                    writeln!(out, "{}", Safe(line))?;
                }
            }
            TextFormat::Json => {
                diff.first().iter().try_for_each(|row| json_line(&mut out, &Line::new(row, layouts)))?;
                let numbers = Numbers {
                    is_equal: diff.is_equal(),
                    compared: diff.compared(),
                    cells: diff.cells(),
                    missing: diff.missing(),
                    extra: diff.extra(),
                    differing: diff.differing(),
                    collisions: diff.collisions(),
                    foreign: diff.foreign(),
                    is_lower_bound: diff.is_lower_bound(),
                };
                json_line(&mut out, &numbers)?;
            }
        }
        out.finish()?;
        if let (Some(path), false) = (&self.output, diff.is_equal()) {
            output::note(format_args!("`{}` has all rows that differ", path.display()));
        }
        Ok(Exit::found(!diff.is_equal()))
    }
}

impl Line {
    fn new(row: &RowDifference, [old, new]: &[TableLayout; 2]) -> Self {
        let key = |layout: &TableLayout, key: &DifferentKey| Key {
            key: shown(key.as_bytes()),
            fields: layout.key().decode(key.as_bytes()).ok(),
        };
        let (difference, old_keys, new_key) = match row {
            RowDifference::Missing { old_key, new_key, .. } => ("missing", vec![old_key], Some(new_key)),
            RowDifference::Extra { new_key, .. } => ("extra", vec![], Some(new_key)),
            RowDifference::Collision { old_keys: [one, other], new_key, .. } => {
                ("collision", vec![one, other], Some(new_key))
            }
            RowDifference::Cells { old_key, new_key, .. } => ("cells", vec![old_key], Some(new_key)),
            RowDifference::Foreign { old_key, .. } => ("foreign", vec![old_key], None),
            // Of re-keyings.
            RowDifference::WithoutOrigin { new_key, .. } => ("without_origin", vec![], Some(new_key)),
            _ => ("other", vec![], None),
        };
        let (cells, cells_differ) = match row {
            RowDifference::Cells { cells, count, .. } => (&cells[..], Some(*count)),
            _ => (&[][..], None),
        };
        let cells = cells.iter().map(|cell| Cell {
            column: format!("{}:{}", cell.family(), shown(cell.qualifier())),
            timestamp_micros: cell.timestamp_micros(),
            old: cell.old_value().map(shown),
            new: cell.new_value().map(shown),
        });
        Self {
            difference,
            old: old_keys.into_iter().map(|of| key(old, of)).collect(),
            new: new_key.map(|of| key(new, of)),
            cells: cells.collect(),
            cells_differ,
        }
    }
}
