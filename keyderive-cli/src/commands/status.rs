//! `status`: whether the tables are as the file of layouts says.

use std::io::Write as _;

use clap::Args;
use keyderive::client::TableInfo;
use keyderive::layouts::Layouts;
use keyderive::{Client, DeclaredTable};
use serde::Serialize;

use super::block_on;
use crate::exit::{Exit, Failure, Outcome};
use crate::instance::Instance;
use crate::layout::{LayoutFile, read};
use crate::output::{Out, Safe, json_line};

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
    /// Print a line of JSON for each table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TableStatus {
    table: String,
    as_declared: bool,
    /// What would have to change.
    differences: Vec<String>,
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
        let names: Vec<_> = layouts.table_names().map(str::to_owned).collect();
        if let Some(other) = self.tables.iter().find(|table| !names.contains(table)) {
            // Says which tables there are.
            return Err(layouts.table_layouts(other).map_or_else(Failure::from, |_| {
                Failure::usage(format_args!("there is no table `{other}`"))
            }));
        }
        block_on(async {
            let client = target.connect().await?;
            let tables = match layouts.verify(&client).await {
                Ok(tables) => tables.tables().to_vec(),
                Err(error) => error.tables().to_vec(),
            };
            let mut out = Out::new();
            let mut differ = 0;
            let asked = |table: &&DeclaredTable| self.tables.is_empty() || self.tables.contains(&table.name);
            for table in tables.iter().filter(asked) {
                // What is no difference, but a request that failed.
                if let Some(fault) =
                    table.faults.iter().find(|fault| !fault.is_table_mismatch() && !fault.is_not_found())
                {
                    return Err(fault.clone().into());
                }
                let status = status(&client, &layouts, table).await?;
                differ += usize::from(!status.as_declared);
                match self.json {
                    true => json_line(&mut out, &status)?,
                    false => status.write(&mut out)?,
                }
            }
            out.finish()?;
            Ok(Exit::found(differ > 0))
        })
    }
}

async fn status(client: &Client, layouts: &Layouts, table: &DeclaredTable) -> Outcome<TableStatus> {
    let info = match client.table_info(&table.name).await {
        Err(error) if error.is_not_found() => None,
        info => Some(info?),
    };
    let parts = match &info {
        Some(_) => Some(client.raw_table(&table.name).sample_row_keys().await?.len()),
        None => None,
    };
    let key_types = layouts.table_layouts(&table.name)?;
    let key_types = key_types.iter().map(|layout| KeyTypeStatus {
        key_type: layout.key().schema().key_type(),
        fingerprint: layout.key().schema().fingerprint().to_string(),
    });
    let own_families = |info: &TableInfo| {
        let families = info.families().iter().filter(|family| !family.name().starts_with("keyderive."));
        families.map(ToString::to_string).collect()
    };
    Ok(TableStatus {
        table: table.name.clone(),
        as_declared: table.faults.is_empty(),
        differences: table.faults.iter().map(ToString::to_string).collect(),
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
        self.differences.iter().try_for_each(|difference| line("to change", difference))
    }
}
