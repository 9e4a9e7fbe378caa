//! What `create` and `apply` have in common: they list what would have to change in the tables of a layout file, ask, and do that.

use std::io::{self, Write as _};

use clap::Args;
use futures_util::TryStreamExt as _;
use keyderive::client::ReadRows;
use keyderive::table::TableChange;
use keyderive::{Client, Error};
use serde::Serialize;

use super::{counted, is_agreed, name_production};
use crate::exit::{Exit, Failure, Outcome, remedy};
use crate::instance::Instance;
use crate::layout::{LayoutFile, check_names, read};
use crate::output::{Out, Safe, TextFormat, json_line};

#[derive(Args, Clone, Debug)]
pub(crate) struct DeclaredArgs {
    /// These tables alone
    tables: Vec<String>,
    #[command(flatten)]
    instance: Instance,
    #[command(flatten)]
    layouts: LayoutFile,
    /// Do it without asking; otherwise the command shows what it would do, and on a terminal asks
    #[arg(long, help_heading = "Change")]
    yes: bool,
    /// How the changes are printed: a line for each
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

/// A change or what is in its way, for programs.
#[derive(Serialize)]
struct Line<'a> {
    table: &'a str,
    /// `to do`, `left`, which this command does not do, or `fault`, which no change mends.
    state: &'a str,
    what: &'a str,
    removes_more: bool,
}

impl DeclaredArgs {
    /// Lists all changes, and makes those for which `left` has no reason to leave them to others.
    pub(crate) async fn run(&self, left: impl Fn(&TableChange) -> Option<&'static str>) -> Outcome {
        let target = self.instance.target()?;
        let layouts = read(&self.layouts.path(&target)?)?;
        check_names(&layouts, &self.tables)?;
        name_production(&target);
        let client = target.connect().await?;
        let mut tables = layouts.table_changes(&client).await;
        tables.retain(|table| self.tables.is_empty() || self.tables.iter().any(|name| name == table.name()));
        let mut out = Out::new();
        let (mut findings, mut to_do, mut left_to_apply) = (0, 0, 0);
        for table in &mut tables {
            if let Some(fault) = failed_request(table.faults()) {
                return Err(fault.clone().into());
            }
            for fault in table.faults() {
                let hint = remedy(fault).map(|remedy| format!("\nhelp: {remedy}")).unwrap_or_default();
                self.write(&mut out, table.name(), "fault", &format!("{fault:#}{hint}"), false)?;
            }
            let left_out = table.leave_out(|change| left(change).is_some()).to_vec();
            for change in table.changes() {
                let what = shown_change(&client, table.name(), change).await?;
                self.write(&mut out, table.name(), "to do", &what, change.removes_more())?;
            }
            for change in &left_out {
                let why = left(change).unwrap_or_default();
                left_to_apply += u64::from(!change.removes_more());
                self.write(
                    &mut out,
                    table.name(),
                    "left",
                    &format!("{}; {why}", shown_change(&client, table.name(), change).await?),
                    change.removes_more(),
                )?;
            }
            findings += table.faults().len() + left_out.len();
            to_do += table.changes().len();
        }
        let changing: Vec<_> = tables.iter().filter(|table| !table.changes().is_empty()).collect();
        let numbers =
            format!("{} to {}", counted(to_do as u64, "change"), counted(changing.len() as u64, "table"));
        let exit = Exit::found(findings > 0);
        if changing.is_empty() {
            if self.format == TextFormat::Text {
                match left_to_apply {
                    0 => writeln!(out, "nothing to change in {}", counted(tables.len() as u64, "table"))?,
                    left => writeln!(out, "`keyderive apply` would make {}", counted(left, "change"))?,
                }
            }
            out.finish()?;
            return Ok(exit);
        }
        if self.format == TextFormat::Text && !self.yes {
            writeln!(out, "would make {numbers}")?;
        }
        out.flush()?;
        if !self.yes && !is_agreed(&target, "Make them?")? {
            return Ok(exit);
        }
        for (made, table) in changing.into_iter().enumerate() {
            let changed = table.apply().await.map_err(|error| {
                let so_far = format!("{} changed before that", counted(made as u64, "table"));
                let list = "the command lists again what is left";
                Failure::from(error).after(format_args!("{so_far}; {list}"))
            })?;
            if self.format == TextFormat::Text {
                let what = if changed { "changed" } else { "changed by another program, as listed" };
                writeln!(out, "{}: {what}", Safe(table.name()))?;
                out.flush()?;
            }
        }
        if self.format == TextFormat::Text {
            writeln!(out, "made {numbers}")?;
        }
        out.finish()?;
        Ok(exit)
    }

    fn write(
        &self,
        out: &mut Out,
        table: &str,
        state: &str,
        what: &str,
        removes_more: bool,
    ) -> io::Result<()> {
        if self.format == TextFormat::Json {
            return json_line(out, &Line { table, state, what, removes_more });
        }
        let state = match state {
            "left" => "left as it is: ",
            "fault" => "cannot be changed in place: ",
            _ => "",
        };
        let mut lines = what.lines();
        writeln!(out, "{}: {state}{}", Safe(table), Safe(lines.next().unwrap_or_default()))?;
        lines.try_for_each(|line| writeln!(out, "{}", Safe(line)))
    }
}

/// A change in words; for a stamp, they say whether there are keys that it fits.
pub(crate) async fn shown_change(client: &Client, table: &str, change: &TableChange) -> Outcome<String> {
    let text = change.to_string();
    if !matches!(change, TableChange::Stamp { .. }) {
        return Ok(text);
    }
    let mut rows = client.raw_table(table).read_rows(ReadRows::all().limit(1));
    Ok(match rows.try_next().await? {
        Some(_) => text,
        None => text.replace("a sample of the keys fits", "the table has no keys"),
    })
}

/// The first fault that is no difference of a table, but a failed request or a fault of the file.
pub(crate) fn failed_request(faults: &[Error]) -> Option<&Error> {
    faults.iter().find(|fault| !fault.is_table_mismatch())
}
