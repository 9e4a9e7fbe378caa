//! `scan`: the rows that meet conditions on the fields of their keys.

use std::io::Write as _;

use clap::Args;
use keyderive::client::ReadRows;
use keyderive::dynamic::{DynKey, TableLayout};
use keyderive::row::RawRow;
use keyderive::{Client, Error};

use super::block_on;
use super::rows::{FlatRow, Heads, StoredRow, cells_text, shown, write_stored};
use crate::conditions::{self, Conditions};
use crate::exit::{Exit, Failure, Outcome};
use crate::layout::{TableArgs, note_no_row_type, note_raw};
use crate::output::{self, Format, Out, Records, Safe, rows_are};

/// Read rows by conditions on the fields of their keys
///
///     keyderive scan events --where user_id=alice --where 'at>=2026-11-24' --limit 50
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Scan {
    #[command(flatten)]
    of: TableArgs,
    #[arg(long = "where", value_name = "CONDITION", help = conditions::HELP, long_help = conditions::LONG_HELP)]
    conditions: Vec<String>,
    /// Read at most this many rows; a note has the token for the next ones
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Read these columns alone, by `name`, `family:name` or family
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    select: Vec<String>,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// In descending order
    #[arg(long)]
    reversed: bool,
    /// Continue after the row of a token
    #[arg(long, value_name = "TOKEN")]
    after: Option<String>,
    /// Show what would be read, and read nothing
    #[arg(long, conflicts_with = "analyze")]
    explain: bool,
    /// Read the rows, and show what that cost in place of them
    #[arg(long)]
    analyze: bool,
    /// Show all cells as they are stored
    #[arg(long, conflicts_with = "select")]
    raw: bool,
}

impl Scan {
    pub(crate) fn run(self) -> Outcome {
        let mut connection = self.of.connection()?;
        block_on(async {
            let layout = self.of.find_one(&mut connection).await?;
            let client = connection.client().await?;
            match layout {
                Some(layout) => self.typed(&client, &layout).await,
                None => self.bytes(&client).await,
            }
        })
    }

    async fn typed(&self, client: &Client, layout: &TableLayout) -> Outcome {
        let filter = Conditions::of_arguments(layout.key(), &self.conditions)?;
        let table = client.dynamic_table(layout);
        let in_order = || {
            let scan = filter.rows(&table, filter.plan().clone());
            if self.reversed { scan.reversed() } else { scan }
        };
        let mut scan = in_order();
        if !self.select.is_empty() {
            scan = scan.select(&self.select).map_err(Failure::usage)?;
        }
        let is_raw = self.raw || layout.row_type().is_none();
        if is_raw && !self.raw && !self.explain && !self.analyze {
            note_no_row_type(layout);
        }
        let mut scan = if is_raw { scan.raw() } else { scan.stored() };
        if let Some(token) = &self.after {
            scan = scan.after(filter.unbind(token)?);
        }
        if self.explain || self.analyze {
            return self.explained(scan, &filter).await;
        }
        let token = |last: &[u8]| -> Outcome<String> { Ok(filter.bind(&in_order().token_after(last)?)) };
        self.print(scan, token, layout, is_raw).await
    }

    async fn explained(&self, scan: keyderive::Scan<DynKey, RawRow>, filter: &Conditions) -> Outcome {
        let scan = match self.limit {
            Some(limit) => scan.limit(limit),
            None => scan,
        };
        let text = match self.analyze {
            true => scan.explain_analyze().await?.to_string(),
            false => scan.explain()?.to_string(),
        };
        let mut out = Out::new();
        for line in text.lines() {
            writeln!(out, "{}", Safe(line))?;
        }
        for condition in filter.checked() {
            writeln!(
                out,
                "  checked      {}, of each row that was read: not a condition on the first fields",
                Safe(&condition)
            )?;
        }
        out.finish()?;
        Ok(Exit::Done)
    }

    async fn print(
        &self,
        scan: keyderive::Scan<DynKey, RawRow>,
        token: impl Fn(&[u8]) -> Outcome<String>,
        layout: &TableLayout,
        is_raw: bool,
    ) -> Outcome {
        let order = scan.explain()?.order().map_or_else(String::new, |order| format!(" (order: {order})"));
        // One more says whether there are more.
        let scan = match self.limit {
            Some(limit) => scan.limit(limit.saturating_add(1)),
            None => scan,
        };
        let heads = Heads::new(layout, self.selected(layout), is_raw);
        let mut printer = Printer::new(self.format, heads.names(layout))?;
        let mut rows = scan.stream();
        let (mut count, mut last, mut next) = (0, Vec::new(), None);
        let mut failed = None;
        while let Some(row) = rows.next().await {
            let (key, stored) = match row {
                Ok(row) => row,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            };
            if self.limit == Some(count) {
                next = Some(token(&last)?);
                break;
            }
            count += 1;
            if self.limit.is_some() {
                last = stored.key().to_vec();
            }
            match if is_raw { Err(None) } else { rows.read(&stored).map_err(Some) } {
                Ok(row) => {
                    let json = FlatRow { key: &key, row: &row };
                    printer.records.add(&json, || heads.cells(&key, &row))?;
                }
                Err(why) => printer.stored(Some((&key, &heads)), &stored, why.as_ref())?,
            }
        }
        printer.records.finish()?;
        if count == 0 && failed.is_none() {
            note_no_rows(self.format);
        }
        // What was read is of use without the rest.
        if let Some(error) = failed {
            return Err(error.into());
        }
        if let Some(token) = next {
            output::note(format_args!("there are more rows{order}; continue with --after {token}"));
        }
        let (unread, skipped) = (printer.unread, rows.skipped());
        if let Some(first) = skipped.first_foreign() {
            output::note(format_args!(
                "{} left out, since the key is not of the layout; the first: {}",
                rows_are(skipped.foreign()),
                first.error()
            ));
        }
        match self.format {
            _ if unread == 0 => {}
            Format::Csv => output::note(format_args!(
                "{} left out, since the row type does not read it; --format json has all",
                rows_are(unread)
            )),
            _ => output::note(format_args!(
                "{} shown as stored, since the row type does not read it",
                rows_are(unread)
            )),
        }
        Ok(Exit::found(unread > 0 || skipped.foreign() > 0))
    }

    /// The columns that the table of rows has, if not all.
    fn selected(&self, layout: &TableLayout) -> Option<Vec<String>> {
        let row = layout.row_type()?;
        let own = row.families().next().unwrap_or_default();
        let all = || row.columns().map(|(family, column)| (family, format!("{family}:{}", column.name())));
        let paths = |name: &String| {
            let path = if name.contains(':') { name.clone() } else { format!("{own}:{name}") };
            let of_family: Vec<_> =
                all().filter(|(family, _)| family == name).map(|(_, path)| path).collect();
            match of_family.is_empty() || all().any(|(_, known)| known == path) {
                true => vec![path],
                false => of_family,
            }
        };
        let mut selected = Vec::new();
        for path in self.select.iter().flat_map(paths) {
            if !selected.contains(&path) {
                selected.push(path);
            }
        }
        (!selected.is_empty()).then_some(selected)
    }

    /// The rows of a table without a layout.
    async fn bytes(&self, client: &Client) -> Outcome {
        let typed = [
            (!self.conditions.is_empty(), "--where"),
            (!self.select.is_empty(), "--select"),
            (self.after.is_some(), "--after"),
            (self.explain, "--explain"),
            (self.analyze, "--analyze"),
        ];
        if let Some((_, option)) = typed.iter().find(|(is_given, _)| *is_given) {
            return Err(Failure::refused(format_args!("`{option}` needs a layout: {}", self.of.no_layout())));
        }
        note_raw(&self.of.table);
        let mut request = ReadRows::all();
        if let Some(limit) = self.limit {
            request = request.limit(limit);
        }
        if self.reversed {
            request = request.reversed();
        }
        let mut rows = client.raw_table(&self.of.table).read_rows(request);
        let mut printer = Printer::new(self.format, ["key", "cells"].map(str::to_owned).to_vec())?;
        let mut is_empty = true;
        while let Some(row) = rows.next().await {
            printer.stored(None, &row?, None)?;
            is_empty = false;
        }
        printer.records.finish()?;
        if is_empty {
            note_no_rows(self.format);
        }
        Ok(Exit::Done)
    }
}

/// Says that there are no rows, since a table for people shows nothing.
fn note_no_rows(format: Format) {
    if format == Format::Table {
        output::note("no rows");
    }
}

/// Prints rows; a row that is not read is shown as it is stored.
struct Printer {
    records: Records,
    format: Format,
    /// How many rows are not read, but shown as stored or left out.
    unread: u64,
}

impl Printer {
    fn new(format: Format, head: Vec<String>) -> std::io::Result<Self> {
        Ok(Self { records: Records::new(format, head)?, format, unread: 0 })
    }

    fn stored(
        &mut self,
        key: Option<(&DynKey, &Heads)>,
        row: &RawRow,
        why: Option<&Error>,
    ) -> std::io::Result<()> {
        self.unread += u64::from(why.is_some());
        let why = why.map(|why| format!("{why:#}"));
        match (self.format, &why) {
            // A program would take it for a row.
            (Format::Csv, Some(_)) => Ok(()),
            (Format::Table, _) => {
                if let (Some((key, heads)), Some(_)) = (key, &why) {
                    self.records.add(&(), || heads.unread_cells(key))?;
                }
                self.records.text(|out| {
                    match (key, &why) {
                        (_, Some(why)) => writeln!(out, "{}", Safe(why))?,
                        (Some((key, _)), None) => writeln!(out, "{key}")?,
                        (None, None) => writeln!(out, "{}", Safe(&shown(row.key())))?,
                    }
                    write_stored(out, row)
                })
            }
            _ => {
                let json = StoredRow { key: key.map(|(key, _)| key), bucket: None, row, why: why.as_deref() };
                let fields = || match key {
                    Some((key, _)) => key.iter().map(|(_, value)| value.to_string()).collect(),
                    None => vec![shown(row.key())],
                };
                self.records.add(&json, || [fields(), vec![cells_text(row)]].concat())
            }
        }
    }
}
