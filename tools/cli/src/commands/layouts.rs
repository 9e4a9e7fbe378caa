//! `layouts`: layout files as people read them, what has changed between two, and one from the registry.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use keyderive::ErrorKind;
use keyderive::layouts::{LayoutChange, Layouts};
use serde::Serialize;

use super::block_on;
use crate::change::counted;
use crate::codegen::{Language, generate};
use crate::exit::{Exit, Failure, Outcome};
use crate::instance::Instance;
use crate::layout::{no_table, read, read_nearest};
use crate::output::{self, Out, OutputFile, Safe, TextFormat, json_line};

/// Show a layout file, or what has changed since an older one, or write one from the registry
///
///     keyderive layouts show
///     keyderive layouts check main/layouts.json layouts.json
///     keyderive layouts pull events users --on prod
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct LayoutsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show the keys and columns of each table
    Show {
        /// The tables; all of the file without any
        tables: Vec<String>,
        /// The layout file; the default is `layouts.json` in this folder or above it
        #[arg(long, value_name = "FILE")]
        layouts: Option<PathBuf>,
        /// Print a page of Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Print every change, and fail if a program of the newer layouts would not find or not read rows that are stored
    Check {
        #[command(flatten)]
        files: Files,
        /// Fail too if programs of the older layouts must not run beside newer ones
        #[arg(long)]
        older_programs: bool,
        /// A dropped column and an added one that is not its new name, as the printed change names the pair; once for each pair
        #[arg(long, value_name = "TABLE/OLD=NEW")]
        not_renamed: Vec<String>,
    },
    /// Print every change, and fail if there is one
    Diff(Files),
    /// Write a layout file from what programs have registered in the table `keyderive`
    ///
    /// With it `status`, `copy`, `codegen` and all commands work on a table whose program's repository is not at hand. The registry has the
    /// row types that programs have written since the table was created. Exits with 1 if the file lacks the layout of a table.
    Pull(Pull),
}

#[derive(Args, Debug)]
struct Pull {
    /// The tables; all of the Bigtable without any
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
    #[command(flatten)]
    instance: Instance,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "layouts.json")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Args, Debug)]
struct Files {
    /// The older file
    old: PathBuf,
    /// The newer file; the default is `layouts.json` in this folder or above it
    new: Option<PathBuf>,
    /// How changes are printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

/// A change, for programs.
#[derive(Serialize)]
struct Change<'a> {
    change: String,
    reads_older_rows: bool,
    breaks_older_programs: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rename: Option<&'a str>,
}

impl LayoutsCommand {
    pub(crate) fn run(self) -> Outcome {
        match self.action {
            Action::Show { tables, layouts, markdown } => show(layouts.as_deref(), tables, markdown),
            Action::Check { files, older_programs, not_renamed } => files.print(|change| {
                let is_accepted =
                    change.rename().is_some_and(|pair| not_renamed.iter().any(|named| named == pair));
                !change.reads_older_rows() && !is_accepted || older_programs && change.breaks_older_programs()
            }),
            Action::Diff(files) => files.print(|_| true),
            Action::Pull(pull) => block_on(pull.run()),
        }
    }
}

/// The table of the registry.
const REGISTRY: &str = "keyderive";

impl Pull {
    async fn run(self) -> Outcome {
        if !self.force && self.output.exists() {
            return Err(Failure::refused(format_args!(
                "`{}` exists: name another file by `--output`, or replace it with `--force`",
                self.output.display()
            )));
        }
        let client = self.instance.target()?.connect().await?;
        let names = match &self.tables[..] {
            [] => client.list_tables().await?.into_iter().filter(|name| name != REGISTRY).collect(),
            names => names.to_vec(),
        };
        let (mut layouts, mut lacking) = (Layouts::new(), 0);
        for name in &names {
            let mut left_out = |why: &dyn fmt::Display| {
                lacking += 1;
                output::note(format_args!("`{name}` is left out: {why}"));
            };
            match client.registered_layouts(name).await {
                Err(error) if error.is_not_found() => return Err(no_table(&client, name, error).await),
                // The registry has a layout that is not read.
                Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                    left_out(&format_args!("{error:#}"));
                }
                Err(error) => return Err(error.into()),
                Ok(found) if found.is_empty() => left_out(&"no program has registered its layout"),
                Ok(found) => {
                    for layout in found {
                        if layout.row_types().is_empty() {
                            let key_type = layout.key().schema().key_type();
                            output::note(format_args!(
                                "`{name}` is without a row type of `{key_type}`: no program has registered one"
                            ));
                        }
                        layouts = layouts.add_layout(&layout);
                    }
                }
            }
        }
        let tables = layouts.table_names().count() as u64;
        if tables == 0 {
            return Err(Failure::refused(format_args!(
                "nothing was written to `{}`: no layout is registered; take the file of the program that writes the tables",
                self.output.display()
            )));
        }
        let mut file = OutputFile::create(&self.output)?;
        file.write_all(layouts.to_json().as_bytes()).map_err(|error| file.unwritten(&error))?;
        file.finish()?;
        output::note(format_args!(
            "wrote the layouts of {} to `{}`",
            counted(tables, "table"),
            self.output.display()
        ));
        Ok(Exit::found(lacking > 0))
    }
}

fn show(path: Option<&Path>, mut tables: Vec<String>, is_markdown: bool) -> Outcome {
    let layouts = read_nearest(path)?;
    if tables.is_empty() {
        tables = layouts.table_names().map(str::to_owned).collect();
    }
    let mut out = Out::new();
    if is_markdown {
        let page = generate(Language::Markdown, &layouts, &tables, None)?;
        out.write_all(page.text.as_bytes())?;
    } else {
        show_text(&layouts, &tables, &mut out)?;
    }
    out.finish()?;
    Ok(Exit::Done)
}

fn show_text(layouts: &Layouts, tables: &[String], out: &mut Out) -> Outcome<()> {
    for (at, name) in tables.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", Safe(name))?;
        for layout in layouts.table_layouts(name)? {
            for line in layout.key().schema().to_string().lines() {
                writeln!(out, "  {}", Safe(line))?;
            }
            for row in layout.row_types() {
                writeln!(out, "  {}: fingerprint {}", Safe(row.name()), row.fingerprint())?;
                for line in crate::codegen::columns_of(row) {
                    writeln!(out, "    {}", Safe(&line))?;
                }
            }
            match layout.families() {
                Ok(families) => families
                    .iter()
                    .try_for_each(|family| writeln!(out, "  family {}", Safe(&family.to_string())))?,
                Err(error) => writeln!(out, "  {}", Safe(&error.to_string()))?,
            }
        }
    }
    Ok(())
}

impl Files {
    /// Prints the changes; finds fault if one of them does.
    fn print(&self, is_fault: impl Fn(&LayoutChange) -> bool) -> Outcome {
        let (old, new) = (read(&self.old)?, read_nearest(self.new.as_deref())?);
        let changes = new.changes_from(&old);
        let mut out = Out::new();
        for change in changes.iter() {
            // The library's remedy is an attribute.
            let mut text = format!("{change:#}");
            if change.rename().is_some() {
                text.push_str(
                    "; if it is a new name, add the former one as `alias`, so that older values are read",
                );
            }
            if self.format.is_json() {
                let line = Change {
                    change: text,
                    reads_older_rows: change.reads_older_rows(),
                    breaks_older_programs: change.breaks_older_programs(),
                    rename: change.rename(),
                };
                json_line(&mut out, &line)?;
            } else {
                writeln!(out, "{}", Safe(&text))?;
            }
        }
        out.finish()?;
        Ok(Exit::found(changes.iter().any(is_fault)))
    }
}
