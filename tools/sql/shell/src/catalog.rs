//! The tables of a session, and what `\d` says of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{Expr, SelectItem, SetExpr, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use keyderive::Client;
use keyderive::dynamic::TableLayout;
use keyderive_command::exit::{Failure, Outcome};
use keyderive_command::layout::{key_type, nearest};
use keyderive_command::output;
use keyderive_datafusion::Exact;

use crate::failure;

/// The names of the catalog and the schema that hold the tables.
pub(crate) const CATALOG: &str = "keyderive";
pub(crate) const SCHEMA: &str = "public";

/// The tables of layouts, by their names in SQL.
#[derive(Default)]
pub(crate) struct Catalog(BTreeMap<String, TableLayout>);

impl Catalog {
    /// Registers each layout. A table whose columns cannot be named is left out, and a note says so.
    pub(crate) fn register(exact: &Exact, client: &Client, layouts: Vec<TableLayout>) -> Outcome<Self> {
        let mut tables = BTreeMap::new();
        for (name, layout) in named(layouts) {
            match exact.table(client, &layout) {
                Ok(table) => {
                    let place = TableReference::bare(name.clone());
                    let registered = exact.context().register_table(place, Arc::new(table));
                    registered.map_err(|error| failure::of(&error))?;
                    tables.insert(name, layout);
                }
                Err(error) => output::note(format_args!("`{name}` is left out: {}", error.strip_backtrace())),
            }
        }
        Ok(Self(tables))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The table of this name, as it was registered.
    pub(crate) fn layout(&self, name: &str) -> Outcome<&TableLayout> {
        self.0.get(name).ok_or_else(|| {
            let names: Vec<_> = self.0.keys().map(|name| format!("`{name}`")).collect();
            let names = if names.is_empty() {
                "no table has one".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            };
            Failure::refused(format_args!("there is no layout of a table `{name}`; {names}"))
        })
    }

    /// The table that a wrong name can be a slip of.
    pub(crate) fn nearest(&self, wrong: &str) -> Option<&str> {
        nearest(wrong, self.0.keys().map(String::as_str))
    }

    /// A record for each table: its name, its key type and its row type.
    pub(crate) fn tables(&self) -> Vec<[String; 3]> {
        let tables = self.0.iter().map(|(name, layout)| {
            let row = layout.row_type().map_or_else(String::new, |row| row.name().to_owned());
            [quoted(name), key_type(layout).to_owned(), row]
        });
        tables.collect()
    }

    /// A record for each column of a table: its name, its type, and whether it is of the key, or may be NULL.
    pub(crate) fn columns(&self, name: &str, table: &dyn TableProvider) -> Vec<[String; 3]> {
        let key = self.0.get(name).map(|layout| layout.key().schema().fields());
        let schema = table.schema();
        let columns = schema.fields().iter().map(|column| {
            let of_key = key.and_then(|fields| fields.iter().position(|field| field.name() == column.name()));
            let is = match of_key {
                Some(at) => format!("field {} of the key", at + 1),
                None if column.is_nullable() => "may be NULL".to_owned(),
                None => String::new(),
            };
            [quoted(column.name()), column.data_type().to_string(), is]
        });
        columns.collect()
    }
}

/// The layouts by the names of their tables; if a table has several, with the type after the name: `events:EventKey`.
fn named(layouts: Vec<TableLayout>) -> Vec<(String, TableLayout)> {
    let mut key_types: BTreeMap<String, usize> = BTreeMap::new();
    for layout in &layouts {
        *key_types.entry(layout.name().to_owned()).or_default() += 1;
    }
    let mut named = Vec::new();
    for layout in layouts {
        let name = match key_types[layout.name()] {
            1 => layout.name().to_owned(),
            _ => format!("{}:{}", layout.name(), key_type(&layout)),
        };
        if layout.row_types().len() < 2 {
            named.push((name, layout));
            continue;
        }
        for row in layout.row_types() {
            // Two of one name have different fingerprints.
            if let Ok(of_row) = layout.clone().with_row_type(&row.fingerprint().to_string()) {
                named.push((format!("{name}:{}", row.name()), of_row));
            }
        }
    }
    named
}

/// A name as SQL needs it: in quotation marks unless it is plain and no keyword.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|char: char| char.is_ascii_lowercase() || char == '_')
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    match is_plain && is_identifier(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Whether the parser takes the word for a name wherever a table or a column has one: no list says which keywords it does not.
fn is_identifier(name: &str) -> bool {
    let sql = format!(
        "SELECT {name}, max({name}) FROM {name} WHERE 1 = {name} AND {name} > 1 AND NOT {name} IN ({name}) GROUP BY {name} ORDER BY {name}"
    );
    let Ok(statements) = Parser::parse_sql(&GenericDialect {}, &sql) else { return false };
    let [Statement::Query(query)] = &statements[..] else { return false };
    let SetExpr::Select(select) = &*query.body else { return false };
    matches!(&select.projection[..], [SelectItem::UnnamedExpr(Expr::Identifier(found)), _] if found.value == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_sql_needs_it() {
        for (name, sql) in [
            ("user_id", "user_id"),
            ("kind", "kind"),
            ("user", "\"user\""),
            ("from", "\"from\""),
            ("User", "\"User\""),
            ("cf:name", "\"cf:name\""),
            ("a\"b", "\"a\"\"b\""),
            ("1a", "\"1a\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(name), sql);
        }
    }
}
