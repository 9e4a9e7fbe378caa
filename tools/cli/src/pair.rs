//! Two tables, and which key a row of one has in the other.

use std::path::PathBuf;

use clap::Args;
use keyderive::Client;
use keyderive::dynamic::{KeyMapping, TableLayout};
use keyderive::table::DynTable;

use crate::exit::{Failure, Outcome};
use crate::instance::{Instance, Target};
use crate::layout::{Connection, TableArgs};
use crate::output;

const MAP_HELP: &str = "Where a field of new keys comes from: `new=old`, or `new='text'` for a constant; several with commas. Fields \
                        that are not named come from those of the same name";

/// The old table, the new one, and the mapping of their keys.
#[derive(Args, Debug)]
pub(crate) struct PairArgs {
    #[command(flatten)]
    pub(crate) old: TableArgs,
    /// The new table
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    #[arg(long = "map", value_name = "MAP", help = MAP_HELP)]
    pub(crate) maps: Vec<String>,
    /// The key type of the new table, if it has several
    #[arg(long, help_heading = "Layout", value_name = "NAME")]
    to_key_type: Option<String>,
}

/// The Bigtable of the new table, if it is another one.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ToInstance {
    /// The instance of `keyderive.toml` that has the new table, if it is another one
    #[arg(long, help_heading = "Bigtable", value_name = "NAME")]
    to_on: Option<String>,
    /// The address of the Bigtable that has the new table, if it is another one
    #[arg(long, help_heading = "Bigtable", value_name = "ADDRESS", conflicts_with_all = ["to_on", "to_file"])]
    to_address: Option<String>,
    /// The file of the embedded Bigtable that has the new table, if it is another one
    #[arg(long, help_heading = "Bigtable", value_name = "FILE", conflicts_with = "to_on")]
    to_file: Option<PathBuf>,
}

impl ToInstance {
    /// The instance, if one is named.
    fn instance(&self) -> Option<Instance> {
        let Self { to_on, to_address, to_file } = self.clone();
        let is_named = to_on.is_some() || to_address.is_some() || to_file.is_some();
        is_named.then(|| Instance::named(to_on, to_address, to_file))
    }
}

/// Both tables with their layouts.
pub(crate) struct Tables {
    pub(crate) layouts: [TableLayout; 2],
    pub(crate) targets: [Target; 2],
    /// Of the old table and of the new one; the same if both are in one Bigtable.
    pub(crate) clients: [Client; 2],
}

impl Tables {
    pub(crate) fn tables(&self) -> [DynTable; 2] {
        let [old, new] = &self.layouts;
        let [old_client, new_client] = &self.clients;
        [old_client.dynamic_table(old), new_client.dynamic_table(new)]
    }
}

impl PairArgs {
    /// Finds both tables; the new one may be in another Bigtable.
    pub(crate) async fn open(&self, to: &ToInstance) -> Outcome<Tables> {
        let old_target = self.old.instance.target()?;
        let instance = to.instance().unwrap_or_else(|| self.old.instance.clone());
        let new_target = instance.target()?;
        let layout = self.old.layout.of_other_table(self.to_key_type.clone());
        let new = TableArgs { table: self.new.clone(), instance, layout };
        let mut connection = Connection::new(old_target.clone());
        let old_layout = self.old.require_one(&mut connection).await?;
        let client = connection.client().await?;
        // A file of an embedded Bigtable is opened once.
        let mut other =
            if new_target == old_target { connection } else { Connection::new(new_target.clone()) };
        let new_layout = new.require_one(&mut other).await?;
        let clients = [client, other.client().await?];
        Ok(Tables { layouts: [old_layout, new_layout], targets: [old_target, new_target], clients })
    }

    /// The mapping of the keys of both layouts.
    pub(crate) fn mapping(&self, [old, new]: &[TableLayout; 2]) -> Outcome<KeyMapping> {
        let mapping = KeyMapping::new(old.key(), new.key(), &self.maps.join(","));
        mapping.map_err(|error| {
            let lines: Vec<_> = error.faults().iter().map(|fault| format!("  {fault}")).collect();
            Failure::usage(format_args!(
                "cannot map keys of `{}` to `{}`:\n{}",
                old.name(),
                new.name(),
                lines.join("\n")
            ))
        })
    }
}

/// Says which fields of the old keys are in no new one, or rounded there.
pub(crate) fn note_dropped(mapping: &KeyMapping) {
    let dropped: Vec<_> = mapping.dropped().iter().map(|field| format!("`{field}`")).collect();
    if !dropped.is_empty() {
        output::note(format_args!(
            "new keys do not have {}: rows that differ in nothing else would have one key",
            dropped.join(", ")
        ));
    }
    let rounded: Vec<_> = mapping.lossy_fields().iter().map(|field| format!("`{field}`")).collect();
    if !rounded.is_empty() {
        output::note(format_args!(
            "times of {} have a larger unit in new keys, and are rounded down: rows that differ in nothing else would have one key",
            rounded.join(", ")
        ));
    }
}
