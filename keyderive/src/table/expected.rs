//! What a table should be: its column families with their rules, and its row key schema.

use super::UntypedTable;
use crate::client::{Aggregate, Error, Family, GcRule, Granularity, TableInfo, TableSchema};
use crate::dynamic::{LayoutError, TableLayout};
use crate::key::KeyType;
use crate::row::{ColumnKind, DEFAULT_VERSIONS, DeclaredGc, FamilyRule, RowSchema};

/// What a table should be.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// The first is the table's own.
    pub(super) families: Vec<Family>,
    /// The families whose rules are compared.
    pub(super) declared_rules: Vec<String>,
    /// The families whose columns are read in every version.
    pub(super) versioned: Vec<String>,
    /// The families with aggregates without windows.
    pub(super) at_zero: Vec<String>,
    pub(super) schema: Option<TableSchema>,
    /// As declared.
    pub(super) granularity: Option<Granularity>,
}

impl Expected {
    /// What the types of a table need. Rules that they do not declare may differ.
    pub(super) fn of(table: &UntypedTable) -> Self {
        Self {
            families: table.families(),
            declared_rules: table.ruled_families(),
            versioned: table.versioned_families(),
            at_zero: table.aggregates_at_zero(),
            schema: schema_of(table.key),
            granularity: None,
        }
    }
}

impl UntypedTable {
    /// The families that the row type has, with their rules.
    pub(super) fn families(&self) -> Vec<Family> {
        self.family_names().map(|name| self.family_of(name)).collect()
    }

    fn family_of(&self, name: &str) -> Family {
        self.schema_of(name, |family| family_of(self.visible.schema(), name, family))
    }

    /// Asks the schema about a family, which has no name there if the row type is a map.
    fn schema_of<T>(&self, family: &str, ask: impl FnOnce(&str) -> T) -> T {
        ask(if self.visible.schema().own_family().is_none() { "" } else { family })
    }

    fn has_versions(&self, family: &str) -> bool {
        self.schema_of(family, |family| self.visible.schema().has_versions(Some(family)))
    }

    /// The families in which the row type reads every version.
    pub(super) fn versioned_families(&self) -> Vec<String> {
        self.family_names().filter(|name| self.has_versions(name)).map(str::to_owned).collect()
    }

    /// The families with aggregates without windows, whose cells are at time 0.
    pub(super) fn aggregates_at_zero(&self) -> Vec<String> {
        let families = self.family_names().filter(|name| {
            let aggregate = self.schema_of(name, |family| self.visible.schema().aggregate(family));
            aggregate.is_some_and(|kind| !kind.reads_versions())
        });
        families.map(str::to_owned).collect()
    }

    /// The families whose rules the row type declares.
    fn ruled_families(&self) -> Vec<String> {
        self.family_names()
            .filter(|name| self.visible.schema().rule(name).is_some())
            .map(str::to_owned)
            .collect()
    }

    /// The names of the row type's families.
    pub(super) fn family_names(&self) -> impl Iterator<Item = &str> {
        let of_map = self.visible.schema().own_family().is_none().then_some(self.visible.family());
        // A dynamic table without a row type has none.
        let of_map = of_map.filter(|name| !name.is_empty());
        let of_type =
            self.visible.schema().families().filter(|name| !name.is_empty()).map(|name| -> &str { name });
        of_map.into_iter().chain(of_type)
    }
}

/// Layouts without types.
impl TableLayout {
    /// The column families of its rows, with the rules that [`Table::create`](super::Table::create) gives them.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
    /// # #[derive(keyderive::Row)] struct User { name: String }
    ///
    /// let users = Layouts::new().table::<UserKey, User>("users").table_layout("users")?;
    /// assert_eq!(users.families()?[0].to_string(), "`cf` of bytes, garbage collected: all but the newest version");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If two row types disagree about a family: one holds aggregates of a kind there, or both declare a rule, and not the same.
    pub fn families(&self) -> Result<Vec<Family>, LayoutError> {
        let mut families: Vec<(Family, bool)> = Vec::new();
        for schema in self.row_types() {
            for name in schema.families() {
                let (new, is_ruled) = (family_of(schema, name, name), schema.rule(name).is_some());
                let Some(known) = families.iter_mut().find(|(known, _)| known.name() == name) else {
                    families.push((new, is_ruled));
                    continue;
                };
                if known.0.cells() != new.cells() || is_ruled && known.1 && known.0 != new {
                    let table = self.name();
                    return Err(LayoutError::new(vec![format!(
                        "the row types of table `{table}` disagree about a column family: {} and {new}",
                        known.0
                    )]));
                }
                // Of two rules that nobody declares, the one that keeps every version loses nothing.
                if is_ruled || !known.1 && new.gc_rule().is_same(&GcRule::never()) {
                    *known = (new, is_ruled);
                }
            }
        }
        Ok(families.into_iter().map(|(family, _)| family).collect())
    }
}

/// A family of a row type, which the schema may know by another name.
fn family_of(schema: &RowSchema, name: &str, in_schema: &str) -> Family {
    let aggregate = schema.aggregate(in_schema);
    let keeps_all = aggregate.is_some() || schema.has_versions(Some(in_schema));
    let rule = match schema.rule(name) {
        Some(rule) => declared_rule(rule, keeps_all),
        None => default_rule(keeps_all),
    };
    match aggregate.map(aggregate_of) {
        Some(aggregate) => Family::aggregate(name, aggregate, rule),
        None => Family::new(name, rule),
    }
}

/// The rule of a family whose row type declares none.
fn default_rule(keeps_all: bool) -> GcRule {
    if keeps_all { GcRule::never() } else { GcRule::max_versions(DEFAULT_VERSIONS) }
}

/// The rule that the row type declares for a family.
fn declared_rule(rule: &FamilyRule, keeps_all: bool) -> GcRule {
    match rule.gc {
        None => match rule.ttl {
            // Older cells are not read, so that they need not be kept.
            Some(ttl) if keeps_all => GcRule::max_age(ttl),
            Some(ttl) => GcRule::union([GcRule::max_age(ttl), default_rule(false)]),
            None => default_rule(keeps_all),
        },
        Some(DeclaredGc::Never) => GcRule::never(),
        Some(DeclaredGc::Any { max_age, max_versions }) => {
            let limits =
                max_age.map(GcRule::max_age).into_iter().chain(max_versions.map(GcRule::max_versions));
            let mut limits: Vec<_> = limits.collect();
            if limits.len() == 1 { limits.remove(0) } else { GcRule::union(limits) }
        }
        Some(DeclaredGc::All { max_age, max_versions }) => {
            GcRule::intersection([GcRule::max_age(max_age), GcRule::max_versions(max_versions)])
        }
    }
}

fn aggregate_of(kind: ColumnKind) -> Aggregate {
    match kind {
        ColumnKind::Min | ColumnKind::MinVersions => Aggregate::Min,
        ColumnKind::Max | ColumnKind::MaxVersions => Aggregate::Max,
        _ => Aggregate::Sum,
    }
}

/// The row key schema of a key type, if its layout has one.
fn schema_of(key: KeyType) -> Option<TableSchema> {
    key.schema().row_key_schema().ok().map(|schema| (&schema).into())
}

/// The first difference between the row key schemas of the table and of the key type, in words.
pub(super) fn schema_difference(key: KeyType, info: &TableInfo) -> Option<String> {
    info.row_key_schema()?.difference(&schema_of(key)?)
}

/// Whether the table has a row key schema, which must be the expected one.
pub(super) fn check_schema(
    key: KeyType,
    info: &TableInfo,
    expected: Option<&TableSchema>,
) -> Result<bool, Error> {
    let Some(found) = info.row_key_schema() else { return Ok(false) };
    let key_type = key.schema().key_type();
    let fault = match (expected, key.schema().row_key_schema()) {
        (Some(expected), _) => match found.difference(expected) {
            None => return Ok(true),
            Some(difference) => format!(
                "its row key schema is not that of `{key_type}`: {difference}; expected {expected}, found {found}; use the key \
                 type that the table was created with, or take the schema away with `remove_row_key_schema`"
            ),
        },
        (None, Err(reason)) => format!(
            "it has a row key schema, and `{key_type}` has none, since {reason}; expected none, found {found}; \
             `remove_row_key_schema` takes it away"
        ),
        (None, Ok(_)) => {
            format!(
                "it has a row key schema, and is declared without one; expected none, found {found}; \
                 `remove_row_key_schema` takes it away"
            )
        }
    };
    Err(Error::mismatch(info.name(), fault))
}

/// Fails for a table whose row key schema is not the key type's, so that `verify` would reject it with any stamp.
pub(super) fn check_schema_of(key: KeyType, info: &TableInfo) -> Result<(), Error> {
    check_schema(key, info, schema_of(key).as_ref()).map(drop)
}
