//! `layouts`: files of layouts as people read them, and what has changed between two.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use keyderive::layouts::{LayoutChange, Layouts};
use serde::Serialize;

use crate::codegen::{Choices, Language, generate};
use crate::exit::{Exit, Outcome};
use crate::layout::{read, read_nearest};
use crate::output::{Out, Safe, TextFormat, json_line};

/// Show a file of layouts, or what has changed since an older one
///
///     keyderive layouts show
///     keyderive layouts check main/layouts.json layouts.json
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
        /// The file of layouts; the default is `layouts.json` in this folder or above it
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
    },
    /// Print every change, and fail if there is one
    Diff(Files),
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
struct Change {
    change: String,
    reads_older_rows: bool,
    breaks_older_programs: bool,
}

impl LayoutsCommand {
    pub(crate) fn run(self) -> Outcome {
        match self.action {
            Action::Show { tables, layouts, markdown } => show(layouts.as_deref(), tables, markdown),
            Action::Check { files, older_programs } => files.print(|change| {
                !change.reads_older_rows() || older_programs && change.breaks_older_programs()
            }),
            Action::Diff(files) => files.print(|_| true),
        }
    }
}

fn show(path: Option<&Path>, mut tables: Vec<String>, is_markdown: bool) -> Outcome {
    let layouts = read_nearest(path)?;
    if tables.is_empty() {
        tables = layouts.table_names().map(str::to_owned).collect();
    }
    let mut out = Out::new();
    if is_markdown {
        let page = generate(Language::Markdown, &layouts, &tables, &Choices::default())?;
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
            if self.format.is_json() {
                let line = Change {
                    change: change.to_string(),
                    reads_older_rows: change.reads_older_rows(),
                    breaks_older_programs: change.breaks_older_programs(),
                };
                json_line(&mut out, &line)?;
            } else {
                writeln!(out, "{}", Safe(&change.to_string()))?;
            }
        }
        out.finish()?;
        Ok(Exit::found(changes.iter().any(is_fault)))
    }
}
