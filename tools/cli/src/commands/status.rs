//! `status`: whether the tables are as the layout file says.

use std::io::Write as _;

use clap::Args;
use keyderive::Client;
use keyderive::client::{Family, TableInfo};
use keyderive::dynamic::TableLayout;
use keyderive::layouts::Layouts;
use keyderive::table::TableChanges;
use serde::Serialize;

use super::block_on;
use crate::change::{counted, failed_request, shown_change};
use crate::exit::{Exit, Failure, Outcome, remedy};
use crate::instance::Instance;
use crate::layout::{LayoutFile, check_names, read};
use crate::output::{Out, Safe, TextFormat, json_line};

/// Compare all tables of the layout file with the Bigtable
///
/// For each table: its stamp, its families and their rules, its row key schema, how often it is split, and what would have to change.
/// Exits with 1 if a table is not as declared; with 3 or 4 if one could not be read, after the others.
#[derive(Args, Debug)]
pub(crate) struct Status {
    /// These tables alone
    tables: Vec<String>,
    #[command(flatten)]
    instance: Instance,
    #[command(flatten)]
    layouts: LayoutFile,
    /// How tables are printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

#[derive(Serialize)]
struct TableStatus {
    table: String,
    as_declared: bool,
    /// What would have to change.
    differences: Vec<String>,
    /// What differs from a new table, and is not declared.
    undeclared: Vec<String>,
    #[serde(skip)]
    help: Option<&'static str>,
    exists: bool,
    key_types: Vec<KeyTypeStatus>,
    /// The fingerprints that the table is stamped with.
    stamps: Vec<String>,
    families: Vec<String>,
    row_key_schema: Option<String>,
    parts: Option<usize>,
    deletion_protection: bool,
}

/// A table whose request failed.
#[derive(Serialize)]
struct UnreadTable<'a> {
    table: &'a str,
    error: &'a str,
}

#[derive(Serialize)]
struct KeyTypeStatus {
    key_type: &'static str,
    fingerprint: String,
}

impl Status {
    pub(crate) fn run(self) -> Outcome {
        let target = self.instance.target()?;
        let path = self.layouts.path(&target)?;
        let layouts = read(&path)?;
        check_names(&layouts, &self.tables)?;
        block_on(async {
            let client = target.connect().await?;
            let mut out = Out::new();
            let (mut differ, mut unread) = (0, Vec::new());
            for table in layouts.table_changes(&client).await {
                if !self.tables.is_empty() && !self.tables.iter().any(|name| name == table.name()) {
                    continue;
                }
                let status = match failed_request(table.faults()) {
                    Some(fault) => Err(fault.clone().into()),
                    None => status(&client, &layouts, &table).await,
                };
                let status = match status {
                    Ok(status) => status,
                    Err(failure) => {
                        self.write_unread(&mut out, table.name(), &failure)?;
                        unread.push(failure);
                        continue;
                    }
                };
                differ += usize::from(!status.as_declared);
                match self.format.is_json() {
                    true => json_line(&mut out, &status)?,
                    false => status.write(&mut out)?,
                }
            }
            out.finish()?;
            let count = unread.len() as u64;
            match unread.into_iter().next() {
                None => Ok(Exit::found(differ > 0)),
                Some(first) => Err(Failure::of(
                    first.exit,
                    format_args!(
                        "{} could not be read, and may be as declared or not",
                        counted(count, "table")
                    ),
                )),
            }
        })
    }

    fn write_unread(&self, out: &mut Out, table: &str, failure: &Failure) -> std::io::Result<()> {
        let error = failure.to_string();
        match self.format.is_json() {
            true => json_line(out, &UnreadTable { table, error: &error }),
            false => writeln!(out, "{}: not read: {error}", Safe(table)),
        }
    }
}

async fn status(client: &Client, layouts: &Layouts, table: &TableChanges) -> Outcome<TableStatus> {
    // For a table with faults, the info is not there.
    let info = match (table.info(), table.faults()) {
        (Some(info), _) => Some(info.clone()),
        (None, []) => None,
        (None, _) => Some(client.table_info(table.name()).await?),
    };
    let parts = match &info {
        Some(_) => Some(client.raw_table(table.name()).sample_row_keys().await?.len()),
        None => None,
    };
    let declared = layouts.table_layouts(table.name())?;
    let key_types = declared.iter().map(|layout| KeyTypeStatus {
        key_type: layout.key().schema().key_type(),
        fingerprint: layout.key().schema().fingerprint().to_string(),
    });
    let own_families = |info: &TableInfo| own_families(info).map(ToString::to_string).collect();
    let mut differences = Vec::new();
    for change in table.changes() {
        differences.push(shown_change(client, table.name(), change).await?);
    }
    differences.extend(table.faults().iter().map(|fault| format!("{fault:#}")));
    let mut undeclared: Vec<_> = table.undeclared_rules().iter().map(ToString::to_string).collect();
    undeclared.extend(info.iter().flat_map(|info| undeclared_families(info, &declared)));
    Ok(TableStatus {
        table: table.name().to_owned(),
        as_declared: differences.is_empty(),
        differences,
        undeclared,
        help: table.faults().iter().find_map(remedy),
        exists: info.is_some(),
        key_types: key_types.collect(),
        stamps: info.as_ref().map(TableInfo::stamps).unwrap_or_default(),
        families: info.as_ref().map(own_families).unwrap_or_default(),
        row_key_schema: info.as_ref().and_then(TableInfo::row_key_schema).map(ToString::to_string),
        parts,
        deletion_protection: info.as_ref().is_some_and(TableInfo::is_protected),
    })
}

/// The families of a table other than its stamps.
fn own_families(info: &TableInfo) -> impl Iterator<Item = &Family> {
    info.families().iter().filter(|family| !family.name().starts_with("keyderive."))
}

/// The families that no row type has; none for a table with a key type without a known row type.
fn undeclared_families(info: &TableInfo, layouts: &[TableLayout]) -> Vec<String> {
    let known = layouts.iter().map(|layout| match layout.row_types() {
        [] => None,
        _ => layout.families().ok(),
    });
    let Some(known) = known.collect::<Option<Vec<_>>>() else { return Vec::new() };
    let is_known = |family: &&Family| known.iter().flatten().any(|known| known.name() == family.name());
    let others = own_families(info).filter(|family| !is_known(family));
    others.map(|family| format!("the column family {family}; no row type has it")).collect()
}

impl TableStatus {
    fn write(&self, out: &mut Out) -> std::io::Result<()> {
        let state = match (self.as_declared, self.exists) {
            (true, _) => "as declared",
            (false, true) => "not as declared",
            (false, false) => "missing",
        };
        writeln!(out, "{}: {state}", Safe(&self.table))?;
        let keys = self.key_types.iter().map(|key| format!("{} {}", key.key_type, key.fingerprint));
        let mut line = |name: &str, text: &str| writeln!(out, "  {name:<15} {}", Safe(text));
        line("keys", &keys.collect::<Vec<_>>().join(", "))?;
        if self.exists {
            let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
            line("stamp", &list(&self.stamps))?;
            line("families", &list(&self.families))?;
            line("row key schema", self.row_key_schema.as_deref().unwrap_or("none"))?;
            if let Some(parts) = self.parts {
                line("parts", &parts.to_string())?;
            }
            if self.deletion_protection {
                line("protected", "the service refuses to delete it")?;
            }
        }
        self.undeclared.iter().try_for_each(|rule| line("not declared", rule))?;
        self.differences.iter().try_for_each(|difference| line("to change", difference))?;
        match self.help {
            Some(help) => line("help", help),
            None => Ok(()),
        }
    }
}
