//! `export` and `import`: a table as a Parquet file, and back.

use std::path::{Path, PathBuf};

use clap::Args;
use datafusion::arrow::datatypes::Schema;
use datafusion::common::DataFusionError;
use datafusion::prelude::ParquetReadOptions;
use keyderive::dynamic::TableLayout;
use keyderive::row::{DeclaredColumn, RowSchema};
use keyderive_command::confirm::{is_agreed, name_production};
use keyderive_command::exit::{Exit, Failure, Outcome};
use keyderive_command::output::{self, Out, Safe, counted};

use crate::SessionArgs;
use crate::failure;
use crate::print::Format;
use crate::session::Session;

/// The file of an import, as a table of the session.
const IMPORTED: &str = "keyderive imported file";

/// How many rows a dry run shows.
const SHOWN_ROWS: usize = 3;

/// Write a table to a Parquet file, which `import` and other programs read
///
///     keyderive-sql export events events.parquet
///
/// An existing file is replaced, once the new one is complete. The export is not a snapshot: if rows are written during it, some are exported as
/// before the write and some as after. `COPY (SELECT …) TO 'events.parquet'` exports the rows of a query.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Export {
    #[command(flatten)]
    session: SessionArgs,
    /// The table, as `\d` names it
    table: String,
    /// The file, whose name ends with `.parquet`
    #[arg(value_name = "FILE", value_parser = parquet_file)]
    parquet: PathBuf,
}

/// Write the rows of a Parquet file to a table
///
///     keyderive-sql import events events.parquet
///     keyderive-sql import events events.parquet --yes
///
/// Without `--yes` it shows the first rows and the number of rows, and asks on a terminal before it writes; without a terminal it writes nothing.
/// The file must have every field of the key. Each value is cast to the type of its column; one that the column cannot hold is an error.
///
/// Each row replaces the row with the same key, if there is one: columns that the file lacks are absent afterwards. The import is not a
/// transaction: if it fails or is stopped, some rows are written. Run it again: it writes the same rows, and makes no duplicates. Cells whose
/// timestamp is not in the file get the time of the import. Sums, minima and maxima are left out, since the server computes them.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Import {
    #[command(flatten)]
    session: SessionArgs,
    /// The table, as `\d` names it
    table: String,
    /// The file, whose name ends with `.parquet`
    #[arg(value_name = "FILE", value_parser = parquet_file)]
    parquet: PathBuf,
    /// Do it without asking; otherwise the command shows what it would do, and on a terminal asks
    #[arg(long)]
    yes: bool,
}

/// By its name DataFusion knows its format.
fn parquet_file(text: &str) -> Result<PathBuf, String> {
    match Path::new(text).extension() {
        Some(extension) if extension == "parquet" => Ok(text.into()),
        _ => Err("the name of the file ends with `.parquet`".to_owned()),
    }
}

/// The absolute path as text: SQL has no others, and a relative one could be taken for an address.
fn path(file: &Path) -> Outcome<String> {
    let path = std::path::absolute(file).map_err(Failure::usage)?;
    path.into_os_string().into_string().map_err(|_| Failure::usage("the path of the file is not UTF-8"))
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Export {
    pub(crate) async fn run(self) -> Outcome {
        let mut session = Session::open(&self.session, Format::Table).await?;
        session.listen();
        session.catalog.layout(&self.table)?;
        let (table, path) = (identifier(&self.table), path(&self.parquet)?.replace('\'', "''"));
        let rows =
            session.quiet(&format!("COPY (SELECT * FROM {table}) TO '{path}' STORED AS PARQUET")).await?;
        output::note(format_args!("exported {} of `{}`", counted(rows, "row"), self.table));
        Ok(Exit::Done)
    }
}

impl Import {
    pub(crate) async fn run(self) -> Outcome {
        let mut session = Session::open(&self.session, Format::Table).await?;
        let path = path(&self.parquet)?;
        let options = ParquetReadOptions::default();
        session
            .context
            .register_parquet(IMPORTED, &path, options)
            .await
            .map_err(|error| self.unread(&error))?;
        let file = session.context.table(IMPORTED).await.map_err(|error| self.unread(&error))?;
        let columns = self.columns(&session, file.schema().as_arrow()).await?;
        let columns = columns.iter().map(|name| identifier(name)).collect::<Vec<_>>().join(", ");
        let (table, from) = (identifier(&self.table), identifier(IMPORTED));
        let insert = format!("INSERT INTO {table} ({columns}) SELECT {columns} FROM {from}");
        // A column that is missing, or of a type that has no cast, is found before anything is shown.
        session.plan(&insert).await?;
        name_production(&session.target);
        if !self.yes {
            let rows = file.count().await.map_err(|error| self.unread(&error))?;
            for statement in session.parsed(&format!("SELECT {columns} FROM {from} LIMIT {SHOWN_ROWS}"))? {
                session.run(statement).await?;
            }
            self.print("would write", rows as u64)?;
            if !is_agreed(&session.target, "Write them?")? {
                return Ok(Exit::Done);
            }
        }
        // Before, the signal ends the process at once.
        session.listen();
        let rows = session.quiet(&insert).await?;
        self.print("wrote", rows)?;
        Ok(Exit::Done)
    }

    /// The columns of the file that are written.
    async fn columns(&self, session: &Session, file: &Schema) -> Outcome<Vec<String>> {
        let layout = session.catalog.layout(&self.table)?;
        let place = datafusion::common::TableReference::bare(self.table.as_str());
        let table =
            session.context.table_provider(place).await.map_err(|error| failure::of(&error))?.schema();
        let names = file.fields().iter().map(|field| field.name().as_str());
        if let Some(unknown) = names.clone().find(|name| table.index_of(name).is_err()) {
            return Err(Failure::refused(format_args!(
                "the file has a column `{unknown}`, and the table `{}` has none; `INSERT INTO {} SELECT … FROM '{}'` says which column is which",
                self.table,
                self.table,
                self.parquet.display()
            )));
        }
        let mut needed =
            table.fields().iter().filter(|column| !column.is_nullable()).map(|column| column.name());
        if let Some(missing) = needed.find(|name| file.index_of(name).is_err()) {
            return Err(Failure::refused(format_args!(
                "the file has no column `{missing}`, which each row of the table `{}` has",
                self.table
            )));
        }
        let left_out = kept_by_server(layout, &table);
        let (left_out, written): (Vec<&str>, Vec<&str>) =
            names.partition(|name| left_out.iter().any(|of| of == name));
        if !left_out.is_empty() {
            output::note(format_args!(
                "left out, since the server keeps sums, minima and maxima: {}",
                left_out.join(", ")
            ));
        }
        Ok(written.into_iter().map(str::to_owned).collect())
    }

    fn print(&self, verb: &str, rows: u64) -> Outcome<()> {
        use std::io::Write as _;

        let mut out = Out::new();
        writeln!(out, "{verb} {} of `{}`", counted(rows, "row"), Safe(&self.table))?;
        out.finish()?;
        Ok(())
    }

    fn unread(&self, error: &DataFusionError) -> Failure {
        Failure::refused(format_args!(
            "`{}` is not read: {}",
            self.parquet.display(),
            error.strip_backtrace()
        ))
    }
}

/// The columns of a table, by their names in SQL, whose values the server keeps.
fn kept_by_server(layout: &TableLayout, table: &Schema) -> Vec<String> {
    let declared = layout.row_type().into_iter().flat_map(RowSchema::declared_columns);
    let kept = declared.filter_map(|declared| match declared {
        DeclaredColumn::Column { family, column, in_optional_family } if column.kind().is_aggregate() => {
            Some(match in_optional_family {
                true => (family, format!("{family}:")),
                false => (column.name(), format!("{family}:{}", column.name())),
            })
        }
        DeclaredColumn::Map { family, kind, .. } if kind.is_aggregate() => {
            Some((family, format!("{family}:")))
        }
        _ => None,
    });
    // A column has a long name if another has its short one.
    kept.map(|(short, long)| if table.index_of(&long).is_ok() { long } else { short.to_owned() }).collect()
}
