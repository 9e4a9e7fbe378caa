//! `codegen`: code and text from a layout file.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::codegen::{Language, generate};
use crate::exit::{Exit, Failure, Outcome};
use crate::layout;
use crate::output::{self, Out};

/// Write code from the layouts: SQL, Terraform, a page of a wiki, Python
///
///     keyderive codegen events --python > events.py
///     keyderive codegen --hcl > tables.tf
///
/// What layouts do not say, such as the format of a module of the program, is in a comment of the output and on standard
/// error, and the exit code is 1.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, group = ArgGroup::new("language").required(true))]
pub(crate) struct Codegen {
    /// The tables; all of the file without any
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
    /// The layout file; the default is `layouts.json` in this folder or above it
    #[arg(long, value_name = "FILE")]
    layouts: Option<PathBuf>,
    /// A query for each key type and row type, with the typed fields of the key and the columns
    #[arg(long, group = "language")]
    sql: bool,
    /// Resources of Terraform: the table, its families with their rules, its row key schema, its splits and its stamp
    #[arg(long, group = "language")]
    hcl: bool,
    /// A page for a wiki
    #[arg(long, group = "language")]
    markdown: bool,
    /// Functions of Python that encode and decode the keys
    #[arg(long, group = "language")]
    python: bool,
    /// The id in the stamp of a table that exists: the last 8 digits of its family `keyderive.…`. A new table gets a random one
    #[arg(long, value_name = "DIGITS", requires = "hcl", value_parser = stamp_id)]
    stamp_id: Option<u32>,
    /// The file to write; the default is standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The id of a table, 8 hexadecimal digits in lower case.
fn stamp_id(digits: &str) -> Result<u32, String> {
    let is_id = digits.len() == 8 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let id = is_id.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
    id.ok_or_else(|| "an id has 8 hexadecimal digits, in lower case".to_owned())
}

impl Codegen {
    pub(crate) fn run(self) -> Outcome {
        let layouts = layout::read_nearest(self.layouts.as_deref())?;
        let all = || layouts.table_names().map(str::to_owned).collect();
        let tables = if self.tables.is_empty() { all() } else { self.tables.clone() };
        let generated = generate(self.language(), &layouts, &tables, self.stamp_id)?;
        match &self.output {
            Some(path) => {
                fs::write(path, &generated.text).map_err(|error| Failure::unwritten(path, &error))?;
            }
            None => {
                let mut out = Out::new();
                out.write_all(generated.text.as_bytes())?;
                out.finish()?;
            }
        }
        for gap in &generated.gaps {
            output::note(gap);
        }
        Ok(Exit::found(!generated.gaps.is_empty()))
    }

    /// One of them is given.
    fn language(&self) -> Language {
        match self {
            Self { sql: true, .. } => Language::Sql,
            Self { hcl: true, .. } => Language::Hcl,
            Self { markdown: true, .. } => Language::Markdown,
            _ => Language::Python,
        }
    }
}
