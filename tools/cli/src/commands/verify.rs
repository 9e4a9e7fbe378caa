//! `verify`: the rows of a table that do not belong there.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};
use keyderive::client::ReadRows;
use keyderive::dynamic::{DynRow, TableLayout};
use keyderive::row::RawRow;
use serde::{Deserialize, Serialize};

use super::rows::{shown, time};
use super::{PARTS_AT_A_TIME, block_on};
use crate::change::counted;
use crate::exit::{Exit, Outcome};
use crate::layout::TableArgs;
use crate::output::{Format, Meter, Out, OutputFile, Records, json_line};

/// Find foreign rows, unreadable rows, large values and future cells
///
/// Reads all rows, and finds keys that do not decode, rows that their row type does not read, large rows and cells, and cells whose
/// time is in the future, which hide later writes. Exits with 1 if there are any. Rows with columns that the row type does not declare are
/// counted, and are no findings.
///
/// `keyderive delete --raw -` reads the file of `--out`, and deletes the rows whose keys do not decode.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    #[command(flatten)]
    of: TableArgs,
    /// Show this many findings
    #[arg(long, value_name = "FINDINGS", default_value_t = 20)]
    show: usize,
    /// Write all findings to this file, as lines of JSON, once all are found
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Rows of more bytes are large; Bigtable recommends 100 MB, and reads none of over 256 MB
    #[arg(long, value_name = "BYTES", default_value_t = 100 << 20)]
    large_row: u64,
    /// Cells of more bytes are large; Bigtable recommends 10 MB, and takes none of over 100 MB
    #[arg(long, value_name = "BYTES", default_value_t = 10 << 20)]
    large_cell: u64,
}

/// A clock may be ahead by this much.
const SLACK: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Key,
    Row,
    Large,
    Future,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Self::Key => "key does not decode",
            Self::Row => "row is not read",
            Self::Large => "large",
            Self::Future => "time in the future",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Finding {
    key: String,
    kind: Kind,
    what: String,
}

/// What was found so far.
struct Findings {
    first: Vec<Finding>,
    show: usize,
    file: Option<OutputFile>,
    rows: u64,
    /// Rows with columns that their row type does not declare.
    with_others: u64,
    /// By kind.
    counts: [u64; 4],
}

impl Findings {
    fn add(&mut self, key: &[u8], kind: Kind, what: String) -> Outcome<()> {
        let finding = Finding { key: shown(key), kind, what };
        self.counts[kind as usize] += 1;
        if let Some(file) = &mut self.file {
            json_line(file, &finding).map_err(|error| file.unwritten(&error))?;
        }
        if self.first.len() < self.show {
            self.first.push(finding);
        }
        Ok(())
    }
}

impl Verify {
    pub(crate) fn run(self) -> Outcome {
        let mut connection = self.of.connection()?;
        block_on(async {
            let layouts = self.of.find_all(&mut connection).await?;
            let Some(first) = layouts.first() else { return Err(self.of.no_layout()) };
            let client = connection.client().await?;
            // A table that is stamped with another layout is refused.
            for layout in layouts.iter().skip(1) {
                client.dynamic_table(layout).sizes().await?;
            }
            let parts = client.dynamic_table(first).sizes().await?.parts;
            let file = self.out.as_deref().map(OutputFile::create).transpose()?;
            let (show, counts) = (self.show, [0; 4]);
            let mut findings = Findings { first: Vec::new(), show, file, rows: 0, with_others: 0, counts };
            let now = client.now().checked_add(SLACK).and_then(|now| now.duration_since(UNIX_EPOCH).ok());
            let latest = now.and_then(|now| i64::try_from(now.as_micros()).ok()).unwrap_or(i64::MAX);
            let mut meter = Meter::new("verified");
            let table = client.raw_table(&self.of.table);
            let ranges = parts.into_iter().map(|part| part.range);
            let mut rows = iter(ranges)
                .map(|range| table.read_rows(ReadRows::new().range(range)))
                .flatten_unordered(PARTS_AT_A_TIME);
            while let Some(row) = rows.try_next().await? {
                findings.rows += 1;
                meter.rows(findings.rows);
                self.check(&row, &layouts, latest, &mut findings)?;
            }
            meter.finish();
            self.print(findings)
        })
    }

    fn check(
        &self,
        row: &RawRow,
        layouts: &[TableLayout],
        latest: i64,
        findings: &mut Findings,
    ) -> Outcome<()> {
        let key = row.key();
        let mut errors = Vec::new();
        let layout = layouts.iter().find(|layout| {
            let decoded = layout.key().decode(key);
            decoded.map_err(|error| errors.push(error.to_string())).is_ok()
        });
        match layout {
            None => findings.add(key, Kind::Key, errors.join("; "))?,
            Some(layout) => match read(layout, row) {
                Ok(has_others) => findings.with_others += u64::from(has_others),
                Err(error) => findings.add(key, Kind::Row, error)?,
            },
        }
        let size = |len: usize| len as u64;
        let mut bytes = size(key.len());
        for cell in row.cells() {
            let of_cell = size(cell.value().len());
            bytes += of_cell + size(cell.qualifier().len() + cell.family().len());
            let column = || format!("{}:{}", cell.family(), shown(cell.qualifier()));
            if of_cell > self.large_cell {
                findings.add(key, Kind::Large, format!("the cell `{}` has {of_cell} bytes", column()))?;
            }
            if cell.timestamp_micros() > latest {
                let at = time(cell.timestamp_micros());
                findings.add(key, Kind::Future, format!("the cell `{}` has the time {at}", column()))?;
            }
        }
        if bytes > self.large_row {
            findings.add(key, Kind::Large, format!("the row has {bytes} bytes"))?;
        }
        Ok(())
    }

    fn print(&self, mut findings: Findings) -> Outcome {
        findings.file.take().map_or(Ok(()), OutputFile::finish)?;
        // Parts are read side by side.
        findings.first.sort();
        let total: u64 = findings.counts.iter().sum();
        if total > 0 || self.format != Format::Table {
            let head = ["key", "finding", "what"].map(str::to_owned).to_vec();
            let mut records = Records::new(self.format, head)?;
            for finding in &findings.first {
                records.add(finding, || {
                    vec![finding.key.clone(), finding.kind.words().to_owned(), finding.what.clone()]
                })?;
            }
            records.finish()?;
        }
        let [keys, rows, large, future] = findings.counts;
        let found = [
            (keys, ["key does not decode", "keys do not decode"]),
            (rows, ["row is not read", "rows are not read"]),
            (large, ["large row or cell", "large rows and cells"]),
            (future, ["cell has a time in the future", "cells have a time in the future"]),
        ];
        let found = found.iter().filter(|(count, _)| *count > 0);
        let found: Vec<_> =
            found.map(|(count, words)| format!("{count} {}", words[usize::from(*count != 1)])).collect();
        let found = if found.is_empty() { "all belong here".to_owned() } else { found.join(", ") };
        let others = match findings.with_others {
            0 => String::new(),
            1 => "; 1 row has columns that the row type does not declare".to_owned(),
            rows => format!("; {rows} rows have columns that the row type does not declare"),
        };
        let summary = format!("{} read: {found}{others}", counted(findings.rows, "row"));
        match self.format {
            Format::Table => {
                let mut out = Out::new();
                writeln!(out, "{summary}")?;
                out.finish()?;
            }
            Format::Json | Format::Csv => crate::output::note(summary),
        }
        Ok(Exit::found(total > 0))
    }
}

/// Whether the row has columns that the row types of the layout which read it do not declare; `false` if the layout has no row type.
///
/// # Errors
/// Why no row type reads the row.
fn read(layout: &TableLayout, row: &RawRow) -> Result<bool, String> {
    let chosen = layout.row_type();
    let types = chosen.as_slice().iter().chain(layout.row_types().iter().filter(|_| chosen.is_none()));
    let (mut errors, mut is_read) = (Vec::new(), false);
    for schema in types {
        let family = schema.families().next().unwrap_or(keyderive::row::DEFAULT_FAMILY);
        match DynRow::read(schema, family, row) {
            Ok(read) if read.foreign().next().is_none() => return Ok(false),
            Ok(_) => is_read = true,
            Err(error) => errors.push(format!("{error:#}")),
        }
    }
    match is_read || errors.is_empty() {
        true => Ok(is_read),
        false => Err(errors.join("; ")),
    }
}
