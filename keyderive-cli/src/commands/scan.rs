//! `scan`: the rows that meet conditions on the fields of their keys.

use std::io::Write as _;

use clap::Args;
use keyderive::client::ReadRows;
use keyderive::dynamic::{DynKey, TableLayout};
use keyderive::plan::{IntoPlan as _, Plan};
use keyderive::row::RawRow;
use keyderive::{Client, DynTableScan, OnForeign};

use super::block_on;
use super::rows::{FlatRow, Heads, StoredRow, shown, write_stored};
use crate::exit::{Exit, Failure, Outcome};
use crate::filter::{self, Filter};
use crate::layout::{TableArgs, note_raw};
use crate::output::{self, Format, Out, Records, Safe, json_line};

/// Read rows by conditions on the fields of their keys
///
///     keyderive scan events --where user_id=alice --where 'at>=2026-11-24' --limit 50 --select kind,amount
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Scan {
    #[command(flatten)]
    of: TableArgs,
    #[arg(long = "where", value_name = "CONDITION", help = filter::HELP)]
    conditions: Vec<String>,
    /// Read at most this many rows; a note has the token for the next ones
    #[arg(long, value_name = "ROWS")]
    limit: Option<u64>,
    /// Read these columns alone, by `name`, `family:name` or family
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    select: Vec<String>,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// From the last row to the first
    #[arg(long)]
    reversed: bool,
    /// Go on after the row of a token
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
        let filter = Filter::new(layout.key(), &self.conditions)?;
        let plan = filter.scan.clone().into_plan()?;
        let mut scan = client.dynamic_table(layout).scan(plan.clone()).on_foreign(OnForeign::Skip);
        if let Some(kept) = filter.kept() {
            scan = scan.filter_key(move |key| kept.holds(key));
        }
        if !self.select.is_empty() {
            scan = scan.select(&self.select).map_err(Failure::usage)?;
        }
        scan = if self.raw { scan.raw() } else { scan };
        scan = if self.reversed { scan.reversed() } else { scan };
        if let Some(token) = &self.after {
            scan = scan.after(token);
        }
        if self.explain || self.analyze {
            return self.explained(scan).await;
        }
        self.print(scan, &plan, layout).await
    }

    async fn explained(&self, scan: DynTableScan) -> Outcome {
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
        out.finish()?;
        Ok(Exit::Done)
    }

    async fn print(&self, scan: DynTableScan, plan: &Plan<DynKey>, layout: &TableLayout) -> Outcome {
        // One more says whether there are more.
        let scan = match self.limit {
            Some(limit) => scan.limit(limit.saturating_add(1)),
            None => scan,
        };
        let selected = self.selected(layout);
        let heads = Heads::new(layout, layout.row_type(), selected);
        let mut records = Records::new(self.format, heads.names(layout))?;
        let mut rows = scan.stored();
        let (mut count, mut unread, mut last) = (0, 0, Vec::new());
        while let Some(row) = rows.next().await {
            let (key, stored) = row?;
            if self.limit == Some(count) {
                let token = plan.page_token(&last, self.reversed);
                output::note(format_args!("there are more rows; go on by --after {token}"));
                break;
            }
            count += 1;
            if self.limit.is_some() {
                last = stored.key().to_vec();
            }
            let read = if self.raw { Err(None) } else { rows.read(&stored).map_err(Some) };
            match read {
                Ok(row) => records.add(&FlatRow { key: &key, row: &row }, || heads.cells(&key, &row))?,
                Err(why) => {
                    unread += u64::from(why.is_some());
                    let why = why.map(|error| error.to_string());
                    let json = StoredRow { key: Some(&key), row: &stored, why: why.as_deref() };
                    records.add(&json, || heads.raw_cells(&key, &stored, why.as_deref()))?;
                }
            }
        }
        records.finish()?;
        let skipped = rows.skipped();
        if let Some(first) = skipped.first_foreign() {
            output::note(format_args!(
                "{} rows are left out, whose keys are not of the layout; the first: {}",
                skipped.foreign(),
                first.error()
            ));
        }
        if unread > 0 {
            output::note(format_args!("{unread} rows are not read by the row type, and are shown as stored"));
        }
        Ok(Exit::found(unread > 0 || skipped.foreign() > 0))
    }

    /// The columns that the table of rows has, if not all.
    fn selected(&self, layout: &TableLayout) -> Option<Vec<String>> {
        let own = layout.row_type().and_then(|row| row.families().next()).unwrap_or_default();
        let path = |name: &String| match name.contains(':') {
            true => name.clone(),
            false => format!("{own}:{name}"),
        };
        (!self.select.is_empty()).then(|| self.select.iter().map(path).collect())
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
        let head = ["key", "cells"].map(str::to_owned).to_vec();
        let mut out = match self.format {
            Format::Csv => Printer::Records(Box::new(Records::new(self.format, head)?)),
            format => Printer::Text(Out::new(), format),
        };
        while let Some(row) = rows.next().await {
            out.add(&row?)?;
        }
        out.finish()?;
        Ok(Exit::Done)
    }
}

/// Prints rows without a layout.
enum Printer {
    Text(Out, Format),
    Records(Box<Records>),
}

impl Printer {
    fn add(&mut self, row: &RawRow) -> std::io::Result<()> {
        let stored = StoredRow { key: None, row, why: None };
        match self {
            Self::Text(out, Format::Json) => json_line(out, &stored),
            Self::Text(out, _) => {
                writeln!(out, "{}", Safe(&shown(row.key())))?;
                write_stored(out, row)
            }
            Self::Records(records) => {
                records.add(&stored, || vec![shown(row.key()), super::rows::cells_text(row)])
            }
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Self::Text(out, _) => out.finish(),
            Self::Records(records) => records.finish(),
        }
    }
}
