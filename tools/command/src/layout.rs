//! The layout of a table: where a command finds it.

use std::path::{Path, PathBuf};

use clap::Args;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use keyderive::dynamic::{KeyLayout, TableLayout};
use keyderive::key::Field;
use keyderive::layouts::Layouts;
use keyderive::{Client, Error};

use crate::exit::{Failure, Outcome};
use crate::input;
use crate::instance::{Instance, Target, find_above};
use crate::output;

/// The layout file, in this folder or above it.
const FILE: &str = "layouts.json";

const HEADING: &str = "Layout";

/// How many tables are looked up in the registry at a time.
const TABLES_AT_A_TIME: usize = 16;

/// A table, its Bigtable, and its layout.
#[derive(Args, Clone, Debug)]
pub struct TableArgs {
    /// The table
    pub table: String,
    /// Its Bigtable
    #[command(flatten)]
    pub instance: Instance,
    /// Its layout
    #[command(flatten)]
    pub layout: LayoutArgs,
}

/// The layout file of a program.
#[derive(Args, Clone, Debug, Default)]
pub struct LayoutFile {
    /// The layout file
    ///
    /// The default is the one that `keyderive.toml` names for the instance, then `layouts.json` in this folder or above it. Commands on
    /// one table take what programs have registered in the table `keyderive` if that file does not have it, and then the table's row key schema.
    #[arg(long, help_heading = HEADING, value_name = "FILE")]
    layouts: Option<PathBuf>,
}

impl LayoutFile {
    /// The path of the file.
    ///
    /// # Errors
    /// If none is named and none is found.
    pub fn path(&self, target: &Target) -> Outcome<PathBuf> {
        self.layouts.clone().or_else(|| default_file(target)).ok_or_else(|| {
            Failure::refused(format_args!(
                "there is no `{FILE}` in this folder or above it; name the layout file by `--layouts`, or write one from what programs have \
                 registered by `keyderive layouts pull`"
            ))
        })
    }
}

impl LayoutFile {
    /// The layouts of all tables: from the file, or without one as programs have registered them.
    pub async fn all(&self, connection: &mut Connection) -> Outcome<Vec<TableLayout>> {
        if let Some(file) = self.layouts.clone().or_else(|| default_file(&connection.target)) {
            let layouts = read(&file)?;
            let of_tables = layouts.table_names().map(|table| layouts.table_layouts(table));
            return Ok(of_tables.collect::<Result<Vec<_>, _>>()?.concat());
        }
        let client = connection.client().await?;
        let tables = client.list_tables().await?;
        let registered = tables.iter().map(|table| client.registered_layouts(table));
        let registered: Vec<_> = stream::iter(registered).buffered(TABLES_AT_A_TIME).try_collect().await?;
        Ok(registered.concat())
    }
}

/// Fails if a table is not in the file; the error says which are.
pub fn check_names(layouts: &Layouts, tables: &[String]) -> Outcome<()> {
    let mut unknown = tables.iter().filter_map(|table| layouts.table_layouts(table).err());
    unknown.next().map_or(Ok(()), |error| Err(Failure::usage(error)))
}

/// The layout file that nobody names.
fn default_file(target: &Target) -> Option<PathBuf> {
    target.layouts.clone().or_else(|| find_above(FILE))
}

/// The arguments that choose a layout.
#[derive(Args, Clone, Debug, Default)]
pub struct LayoutArgs {
    #[command(flatten)]
    file: LayoutFile,
    /// The key type, of a table with several
    #[arg(long, help_heading = HEADING, value_name = "NAME")]
    key_type: Option<String>,
    /// The row type, by its name or fingerprint, of a table with several
    #[arg(long, help_heading = HEADING, value_name = "NAME")]
    row_type: Option<String>,
}

impl LayoutArgs {
    /// The same file for another table.
    pub fn of_other_table(&self, key_type: Option<String>) -> Self {
        Self { file: self.file.clone(), key_type, row_type: None }
    }
}

/// A Bigtable that is connected to when it is first needed.
#[derive(Debug)]
pub struct Connection {
    target: Target,
    client: Option<Client>,
}

impl Connection {
    /// Connects to nothing yet.
    pub fn new(target: Target) -> Self {
        Self { target, client: None }
    }

    /// The client, which is connected by the first call.
    pub async fn client(&mut self) -> Outcome<Client> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let client = self.target.connect().await?;
        Ok(self.client.insert(client).clone())
    }
}

impl TableArgs {
    /// The Bigtable of the table.
    pub fn connection(&self) -> Outcome<Connection> {
        Ok(Connection::new(self.instance.target()?))
    }

    /// The layouts of the table's key types; none if there is none.
    pub async fn find_all(&self, connection: &mut Connection) -> Outcome<Vec<TableLayout>> {
        self.chosen(self.find(connection).await?)
    }

    /// The only layout of the table in the layout file, or the chosen one, without a Bigtable; none if no file has the table.
    ///
    /// # Errors
    /// If it has several key types, of which none is chosen.
    pub fn find_offline(&self) -> Outcome<Option<TableLayout>> {
        let found = self.find_in_file(&self.instance.target()?)?;
        match found.is_empty() {
            true => Ok(None),
            false => self.only(self.chosen(found)?),
        }
    }

    /// The layouts with the key type and the row type that were asked for.
    fn chosen(&self, mut found: Vec<TableLayout>) -> Outcome<Vec<TableLayout>> {
        if let Some(name) = &self.layout.key_type {
            let names: Vec<_> = found.iter().map(|layout| format!("`{}`", key_type(layout))).collect();
            found.retain(|layout| key_type(layout) == name);
            if found.is_empty() {
                return Err(Failure::usage(format_args!(
                    "table `{}` has no key type `{name}`; it has {}",
                    self.table,
                    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
                )));
            }
        }
        let Some(row) = &self.layout.row_type else { return Ok(found) };
        let has_row = |layout: &TableLayout| {
            layout
                .row_types()
                .iter()
                .any(|known| known.name() == row || known.fingerprint().to_string() == *row)
        };
        if !found.iter().any(has_row) {
            let rows = found.iter().flat_map(TableLayout::row_types).map(|row| format!("`{}`", row.name()));
            let rows: Vec<_> = rows.collect();
            return Err(Failure::usage(format_args!(
                "table `{}` has no row type `{row}`; it has {}",
                self.table,
                if rows.is_empty() { "none".to_owned() } else { rows.join(", ") }
            )));
        }
        let chosen = found.into_iter().map(|layout| match has_row(&layout) {
            true => layout.with_row_type(row).map_err(Failure::usage),
            false => Ok(layout),
        });
        chosen.collect()
    }

    /// The only layout of the table, or the chosen one.
    ///
    /// # Errors
    /// If it has several key types, of which none is chosen.
    pub async fn find_one(&self, connection: &mut Connection) -> Outcome<Option<TableLayout>> {
        self.only(self.find_all(connection).await?)
    }

    fn only(&self, mut found: Vec<TableLayout>) -> Outcome<Option<TableLayout>> {
        if found.len() > 1 {
            let names: Vec<_> = found.iter().map(|layout| format!("`{}`", key_type(layout))).collect();
            return Err(Failure::usage(format_args!(
                "table `{}` has several key types: {}; choose one by `--key-type`",
                self.table,
                names.join(", ")
            )));
        }
        Ok(found.pop())
    }

    /// As [`find_one`](Self::find_one).
    ///
    /// # Errors
    /// If there is none, since the command is of no use without.
    pub async fn require_one(&self, connection: &mut Connection) -> Outcome<TableLayout> {
        self.find_one(connection).await?.ok_or_else(|| self.no_layout())
    }

    /// The table has no layout that is known here.
    pub fn no_layout(&self) -> Failure {
        Failure::refused(format_args!(
            "no layout of the table `{}` is known: no `{FILE}` in this folder or above it has it, and no program has registered one; \
             name a file by `--layouts`",
            self.table
        ))
    }

    /// The layouts of the table in the layout file; none if no file has it.
    fn find_in_file(&self, target: &Target) -> Outcome<Vec<TableLayout>> {
        if let Some(file) = &self.layout.file.layouts {
            return Ok(read(file)?.table_layouts(&self.table)?);
        }
        let Some(file) = default_file(target) else { return Ok(Vec::new()) };
        // It may be the file of another program.
        let layouts = read(&file)?;
        match layouts.table_names().any(|name| name == self.table) {
            true => Ok(layouts.table_layouts(&self.table)?),
            false => Ok(Vec::new()),
        }
    }

    async fn find(&self, connection: &mut Connection) -> Outcome<Vec<TableLayout>> {
        let of_file = self.find_in_file(&connection.target)?;
        if !of_file.is_empty() {
            return Ok(of_file);
        }
        let client = connection.client().await?;
        let registered = match client.registered_layouts(&self.table).await {
            Err(error) if error.is_not_found() => return Err(no_table(&client, &self.table, error).await),
            registered => registered?,
        };
        if !registered.is_empty() {
            return Ok(registered);
        }
        let info = client.table_info(&self.table).await?;
        // For a stamped table it would have another fingerprint than the stamp.
        let of_schema = info.row_key_layout().filter(|_| info.stamps().is_empty());
        if of_schema.is_some() {
            output::note(format_args!(
                "no layout of the table `{}` is known; the fields of its keys are those of its row key schema",
                self.table
            ));
        }
        Ok(of_schema.into_iter().collect())
    }
}

/// As [`DynTable::verify_keys`](keyderive::table::DynTable::verify_keys), before a command changes rows that it finds by the layout.
///
/// # Errors
/// If the stamp is of another layout, or a key of the sample does not decode; if a request fails.
pub async fn verify_keys(client: &Client, layout: &TableLayout) -> Outcome<()> {
    client.dynamic_table(layout).verify_keys().await.map_err(|error| match error.is_table_mismatch() {
        true => Failure::from(error).help(
            "`keyderive verify` finds all keys of another layout, and `keyderive delete --raw` deletes rows by their keys",
        ),
        false => error.into(),
    })
}

/// The failure for a table that does not exist, with the one whose name is nearest, as far as tables can be listed.
pub async fn no_table(client: &Client, wrong: &str, error: Error) -> Failure {
    let names = client.list_tables().await.unwrap_or_default();
    match nearest(wrong, names.iter().map(String::as_str)) {
        Some(name) => {
            Failure::refused(format_args!("{error:#}")).help(format_args!("did you mean `{name}`?"))
        }
        None => error.into(),
    }
}

/// The name that a wrong one can be a slip of.
pub fn nearest<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let distances = names.into_iter().map(|name| (strsim::levenshtein(wrong, name), name));
    distances.min().filter(|(distance, name)| *distance <= 1 + name.len() / 4).map(|(_, name)| name)
}

/// Reads a layout file.
pub fn read(path: &Path) -> Outcome<Layouts> {
    let faulty = |fault: &dyn std::fmt::Display| {
        Failure::refused(format_args!("the layouts `{}` are not read: {fault}", path.display()))
    };
    let text = input::read(path).map_err(|error| faulty(&error))?;
    Layouts::from_json(&text).map_err(|error| faulty(&error))
}

/// Reads this layout file, or else the one in this folder or above it.
pub fn read_nearest(path: Option<&Path>) -> Outcome<Layouts> {
    match path {
        Some(path) => read(path),
        None => read(&find_above(FILE).ok_or_else(|| {
            Failure::refused(format_args!(
                "there is no `{FILE}` in this folder or above it; name a layout file, or write one from what programs have registered by \
                 `keyderive layouts pull`"
            ))
        })?),
    }
}

/// The name of the key type.
pub fn key_type(layout: &TableLayout) -> &'static str {
    layout.key().schema().key_type()
}

/// The names of the fields of keys.
pub fn field_names(key: &KeyLayout) -> impl Iterator<Item = &'static str> {
    key.schema().fields().iter().map(Field::name)
}

/// Says that rows are shown as bytes, although their keys have a layout.
pub fn note_no_row_type(layout: &TableLayout) {
    let (table, names) = (layout.name(), layout.row_types().iter().map(|row| format!("`{}`", row.name())));
    match names.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => {
            output::note(format_args!(
                "no row type of the table `{table}` is known; its rows are shown as stored"
            ));
        }
        names => output::note(format_args!(
            "the table `{table}` has several row types, {names}; choose one by --row-type; its rows are shown as stored"
        )),
    }
}

/// Says that a table is read as bytes.
pub fn note_raw(table: &str) {
    output::note(format_args!("no layout of the table `{table}` is known; it is shown as stored"));
}
