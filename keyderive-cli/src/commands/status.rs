//! `status`: whether the tables are as the file of layouts says.

use std::io::Write as _;

use clap::Args;
use keyderive::client::TableInfo;
use keyderive::layouts::Layouts;
use keyderive::{Client, TableChanges};
use serde::Serialize;

use super::block_on;
use crate::change::failed_request;
use crate::exit::{Exit, Outcome, remedy};
use crate::instance::Instance;
use crate::layout::{LayoutFile, check_names, read};
use crate::output::{Out, Safe, TextFormat, json_line};

/// Compare all tables of the file of layouts with the Bigtable
///
/// For each table: its stamp, its families and their rules, its row key schema, how often it is split, and what would have to change.
/// Exits with 1 if a table is not as declared.
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
            let mut differ = 0;
            for table in layouts.table_changes(&client).await {
                if !self.tables.is_empty() && !self.tables.iter().any(|name| name == table.name()) {
                    continue;
                }
                if let Some(fault) = failed_request(table.faults()) {
                    return Err(fault.clone().into());
                }
                let status = status(&client, &layouts, &table).await?;
                differ += usize::from(!status.as_declared);
                match self.format.is_json() {
                    true => json_line(&mut out, &status)?,
                    false => status.write(&mut out)?,
                }
            }
            out.finish()?;
            Ok(Exit::found(differ > 0))
        })
    }
}

async fn status(client: &Client, layouts: &Layouts, table: &TableChanges) -> Outcome<TableStatus> {
    // Of a table with faults, it is not there.
    let info = match (table.info(), table.faults()) {
        (Some(info), _) => Some(info.clone()),
        (None, []) => None,
        (None, _) => Some(client.table_info(table.name()).await?),
    };
    let parts = match &info {
        Some(_) => Some(client.raw_table(table.name()).sample_row_keys().await?.len()),
        None => None,
    };
    let key_types = layouts.table_layouts(table.name())?;
    let key_types = key_types.iter().map(|layout| KeyTypeStatus {
        key_type: layout.key().schema().key_type(),
        fingerprint: layout.key().schema().fingerprint().to_string(),
    });
    let own_families = |info: &TableInfo| {
        let families = info.families().iter().filter(|family| !family.name().starts_with("keyderive."));
        families.map(ToString::to_string).collect()
    };
    let changes = table.changes().iter().map(ToString::to_string);
    let differences: Vec<_> = changes.chain(table.faults().iter().map(ToString::to_string)).collect();
    Ok(TableStatus {
        table: table.name().to_owned(),
        as_declared: differences.is_empty(),
        differences,
        undeclared: table.undeclared_rules().iter().map(ToString::to_string).collect(),
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

impl TableStatus {
    fn write(&self, out: &mut Out) -> std::io::Result<()> {
        let state = match (self.as_declared, self.exists) {
            (true, _) => "as declared",
            (false, true) => "not as declared",
            (false, false) => "not there",
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
