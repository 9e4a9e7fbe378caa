//! Code and text from a layout file: SQL, Terraform, a page of a wiki, and Python.
//!
//! A layout file is foreign data: its names reach the output only as checked identifiers, as escaped literals, or in one
//! line of a comment. What the layouts do not say is in [`Output::gaps`], and in a comment of the output.

mod hcl;
mod markdown;
mod python;
mod sql;

use std::collections::BTreeSet;

use keyderive::dynamic::TableLayout;
use keyderive::key::Field;
use keyderive::layouts::{Layouts, LayoutsError};
use keyderive::row::RowSchema;

/// What is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Sql,
    Hcl,
    Markdown,
    Python,
}

/// What was generated.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) text: String,
    /// What could not be generated, and what to do about it.
    pub(crate) gaps: Vec<String>,
}

impl Output {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Says what could not be generated, in a comment that begins like this, too.
    fn gap(&mut self, comment: &str, gap: String) {
        self.line(format!("{comment} {}", one_line(&gap)));
        self.gaps.push(gap);
    }
}

/// A table with the layouts of its key types.
struct Table {
    name: String,
    layouts: Vec<TableLayout>,
}

/// Generates code for these tables of a layout file. `stamp_id` is the id in the names of a table's stamps.
///
/// # Errors
/// If there is no such table.
pub(crate) fn generate(
    language: Language,
    layouts: &Layouts,
    tables: &[String],
    stamp_id: Option<u32>,
) -> Result<Output, LayoutsError> {
    let tables = tables
        .iter()
        .map(|name| Ok(Table { name: name.clone(), layouts: layouts.table_layouts(name)? }))
        .collect::<Result<Vec<_>, LayoutsError>>()?;
    Ok(match language {
        Language::Sql => sql::generate(&tables),
        Language::Hcl => hcl::generate(&tables, stamp_id),
        Language::Markdown => markdown::generate(&tables),
        Language::Python => python::generate(&tables),
    })
}

/// The columns of a row type in words, a line each.
pub(crate) fn columns_of(row: &RowSchema) -> Vec<String> {
    markdown::columns_of(row)
}

/// Text on one line, without what a terminal or an editor would act on.
pub(crate) fn one_line(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        _ => c.escape_debug().to_string(),
    };
    text.chars().map(escaped).collect()
}

/// An identifier of ASCII letters, digits and `_` that is as like the name as can be.
fn identifier(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut identifier: String = name.chars().take(100).map(kept).collect();
    if !identifier.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        identifier.insert(0, '_');
    }
    if identifier.bytes().all(|byte| byte == b'_') { "unnamed".to_owned() } else { identifier }
}

/// `EventKey` as `event_key`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    let mut was_lower = false;
    for c in identifier(name).chars() {
        if c.is_ascii_uppercase() && was_lower {
            snake.push('_');
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        if c != '_' || !snake.ends_with("_") {
            snake.push(c.to_ascii_lowercase());
        }
    }
    snake
}

/// Names, each taken once.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// The name, or else the name with the first number that makes it new.
    fn take(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        // There are fewer names than numbers.
        let new = std::iter::once(name.to_owned()).chain(numbered).find(|name| !self.0.contains(name));
        let new = new.unwrap_or_default();
        self.0.insert(new.clone());
        new
    }
}

/// What a custom format is, for a comment.
fn custom(field: &Field) -> Option<&'static str> {
    let stored = field.hash_of().unwrap_or(field);
    match stored.format() {
        keyderive::key::Format::Custom(name) => Some(name),
        _ => None,
    }
}

/// The family of a map; of one that is the whole row, the default.
fn map_family(family: &'static str) -> &'static str {
    if family.is_empty() { keyderive::row::DEFAULT_FAMILY } else { family }
}
