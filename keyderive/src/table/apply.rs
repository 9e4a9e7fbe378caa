//! What would have to change in the tables of [`Layouts`] to be as declared, and the changes.

use std::fmt;

use futures_util::StreamExt as _;
use futures_util::stream::iter;

use super::UntypedTable;
use super::create::TableDeclaration;
use super::declared_tables::AT_A_TIME;
use super::expected::Expected;
use super::layout_check::{self, Faults};
use super::stamp::{self, StampStatus};
use crate::client::{Client, Error, Family, FamilyChange, GcRule, TableInfo, TableSchema};
use crate::key::{Fingerprint, KeyType};
use crate::layouts::Layouts;

/// How often [`TableChanges::apply`] looks again after another program changed the table.
const ATTEMPTS: usize = 8;

impl Layouts {
    /// What would have to change in each table so that it is as declared. It reads the tables, and changes nothing;
    /// [`TableChanges::apply`] does.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String }
    /// # #[derive(Row)] #[row(family = "notes")] struct Note { text: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// # client.table::<UserKey, User>("users").create().await?;
    /// let layouts = Layouts::new().table::<UserKey, User>("users").table::<UserKey, Note>("users");
    /// for table in layouts.table_changes(&client).await {
    ///     assert_eq!(
    ///         table.to_string(),
    ///         "`users`: add the column family `notes` of bytes, garbage collected: all but the newest version",
    ///     );
    ///     assert!(table.apply().await?);
    /// }
    /// layouts.verify(&client).await.unwrap();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// These changes bring a table to its declaration: it is created, gets families, another garbage collection rule where a row type
    /// declares one, or a stamp if it has none and a sample of its keys fits. A table with any other difference, such as keys of another
    /// layout, has [`faults`](TableChanges::faults) and no changes. Families, splits and rules that are not declared stay.
    ///
    /// # Errors
    /// None: a request that fails is a fault of its table.
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn table_changes(&self, client: &Client) -> Vec<TableChanges> {
        // In a list: as a stream that calls the closure, the future would not be `Send`.
        let calls: Vec<_> = self
            .table_names()
            .map(|name| async move {
                let mut changes = TableChanges::none(name);
                match self.declared_table(client, name) {
                    Ok(table) => {
                        match Comparison::of(&table, true).await {
                            Ok(found) => changes.found = found,
                            Err(faults) => changes.faults = faults.into_vec(),
                        }
                        changes.declared = Some(table);
                    }
                    Err(faults) => changes.faults = faults.into_vec(),
                }
                changes
            })
            .collect();
        iter(calls).buffered(AT_A_TIME).collect().await
    }
}

/// What would have to change in a table so that it is as declared, from [`Layouts::table_changes`]. Printed with `{}`, a line for each
/// change or fault.
#[derive(Debug)]
pub struct TableChanges {
    name: String,
    found: Comparison,
    /// Changes that [`leave_out`](Self::leave_out) left out.
    left: Vec<TableChange>,
    faults: Vec<Error>,
    declared: Option<TableDeclaration>,
}

/// A change of a table. Printed with `{}` as what is to be done.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TableChange {
    /// The table is created.
    #[non_exhaustive]
    Create {
        /// Its column families, without stamps.
        families: Vec<Family>,
        /// The name and the fingerprint of each key type that it is stamped with.
        stamps: Vec<(&'static str, Fingerprint)>,
        /// In how many tablets it begins.
        parts: usize,
        /// Its row key schema.
        row_key_schema: Option<TableSchema>,
    },
    /// The table, which another program created or whose stamps are for other tags, is stamped with the layout of a key type.
    #[non_exhaustive]
    Stamp {
        /// The name of the key type.
        key_type: &'static str,
        /// The fingerprint of its layout.
        fingerprint: Fingerprint,
    },
    /// A column family is added.
    #[non_exhaustive]
    AddFamily {
        /// The family.
        family: Family,
    },
    /// A family gets another garbage collection rule.
    #[non_exhaustive]
    GcRule {
        /// The name of the family.
        family: String,
        /// The rule of the table.
        found: GcRule,
        /// The declared rule.
        declared: GcRule,
    },
}

/// A family of a table with another garbage collection rule than it would be created with, which no row type declares: so it stays.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UndeclaredRule {
    /// The name of the family.
    pub family: String,
    /// The rule of the table.
    pub found: GcRule,
    /// The rule of a new table.
    pub default: GcRule,
}

impl TableChange {
    /// Whether the service may then remove cells that it keeps now.
    #[must_use]
    pub fn removes_more(&self) -> bool {
        match self {
            Self::GcRule { found, declared, .. } => declared.removes_more_than(found),
            Self::Create { .. } | Self::Stamp { .. } | Self::AddFamily { .. } => false,
        }
    }

    fn of_family(&self) -> Option<FamilyChange> {
        match self {
            Self::AddFamily { family } => Some(FamilyChange::add(family.clone())),
            Self::GcRule { family, declared, .. } => Some(FamilyChange::gc_rule(family, declared.clone())),
            Self::Create { .. } | Self::Stamp { .. } => None,
        }
    }
}

/// A table and its declaration.
#[derive(Debug, Default)]
struct Comparison {
    changes: Vec<TableChange>,
    undeclared: Vec<UndeclaredRule>,
    /// None if there is no such table.
    info: Option<TableInfo>,
}

impl Comparison {
    /// Compares a table; `is_first` also reads a sample of keys before a stamp is a change.
    async fn of(table: &TableDeclaration, is_first: bool) -> Result<Self, Faults> {
        table.check()?;
        let info = match table.client().table_info(table.name()).await {
            Err(error) if error.is_not_found() => {
                return Ok(Self { changes: vec![table.creation()], ..Self::default() });
            }
            info => info?,
        };
        let expected = table.expected();
        let is_there = |family: &&Family| info.family(family.name()).is_some();
        // What a change of the families cannot mend.
        let fixed = Expected {
            families: expected.families.iter().filter(is_there).cloned().collect(),
            declared_rules: Vec::new(),
            versioned: Vec::new(),
            at_zero: Vec::new(),
            schema: expected.schema.clone(),
            granularity: expected.granularity,
        };
        let statuses = match layout_check::compare(table.keys(), table.client(), &info, &fixed).await {
            Ok((_, statuses)) => statuses,
            // With all others.
            Err(fixed) => {
                let all = layout_check::compare(table.keys(), table.client(), &info, expected).await;
                return Err(all.err().unwrap_or(fixed));
            }
        };
        let mut changes = Vec::new();
        for (key, status) in table.keys().iter().zip(statuses) {
            match status {
                StampStatus::Stamped | StampStatus::Earlier { .. } => {}
                StampStatus::Unstamped | StampStatus::OtherTags => {
                    if is_first {
                        table.handle(*key).check_stampable(&info).await?;
                    }
                    let schema = key.schema();
                    let (key_type, fingerprint) = (schema.key_type(), schema.fingerprint());
                    changes.push(TableChange::Stamp { key_type, fingerprint });
                }
            }
        }
        let mut undeclared = Vec::new();
        for family in &expected.families {
            let Some(found) = info.family(family.name()).map(Family::gc_rule) else {
                changes.push(TableChange::AddFamily { family: family.clone() });
                continue;
            };
            if found.is_same(family.gc_rule()) {
                continue;
            }
            let is_in = |names: &[String]| names.iter().any(|name| name == family.name());
            let loses = is_in(&expected.versioned) && found.keeps_one()
                || is_in(&expected.at_zero) && layout_check::loses_aggregates(found);
            let (name, found, rule) = (family.name().to_owned(), found.clone(), family.gc_rule().clone());
            match loses || is_in(&expected.declared_rules) {
                true => changes.push(TableChange::GcRule { family: name, found, declared: rule }),
                false => undeclared.push(UndeclaredRule { family: name, found, default: rule }),
            }
        }
        Ok(Self { changes, undeclared, info: Some(info) })
    }
}

impl TableChanges {
    fn none(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            found: Comparison::default(),
            left: Vec::new(),
            faults: Vec::new(),
            declared: None,
        }
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What [`apply`](Self::apply) does, in order; nothing if the table is as declared, or has faults.
    #[must_use]
    pub fn changes(&self) -> &[TableChange] {
        &self.found.changes
    }

    /// Why the table cannot be as declared: differences that no change mends, or the request that failed.
    #[must_use]
    pub fn faults(&self) -> &[Error] {
        &self.faults
    }

    /// The garbage collection rules that differ from a new table's, and stay, since no row type declares them.
    #[must_use]
    pub fn undeclared_rules(&self) -> &[UndeclaredRule] {
        &self.found.undeclared
    }

    /// The table, if it was there.
    #[must_use]
    pub fn info(&self) -> Option<&TableInfo> {
        self.found.info.as_ref()
    }

    /// Leaves changes out, such as those that [remove more](TableChange::removes_more), and returns all that are left out.
    pub fn leave_out(&mut self, leaves: impl Fn(&TableChange) -> bool) -> &[TableChange] {
        self.left.extend(self.found.changes.extract_if(.., |change| leaves(change)));
        &self.left
    }

    /// Makes the changes, and returns whether this call has made one.
    ///
    /// It makes no other change than the listed ones: if the table has changed so that it needs more, it fails. What another program has done
    /// in the meantime, such as the same call, is not done again. All families and rules change in one request, which fails once the table
    /// was deleted or its stamp replaced. A server has no condition on a rule: a rule that another program changes in the moment
    /// between the last read and this request is replaced by the declared one.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the table has changed since, with what it would need now; the first of the
    /// [`faults`](Self::faults); when a request fails. Call [`Layouts::table_changes`] again then: a part of the changes may be made.
    ///
    /// # Cancel safety
    /// If the future is dropped, a part of the changes is made, perhaps later. Call [`Layouts::table_changes`] again.
    pub async fn apply(&self) -> Result<bool, Error> {
        if let Some(fault) = self.faults.first() {
            return Err(fault.clone());
        }
        let Some(table) = &self.declared else { return Ok(false) };
        if self.changes().is_empty() {
            return Ok(false);
        }
        let mut is_changed = false;
        for _ in 0..ATTEMPTS {
            let now = Comparison::of(table, false).await.map_err(Faults::into_first)?;
            let mut more = now.changes.iter().filter(|change| !self.changes().contains(change));
            if let Some(more) = more.find(|change| !self.left.contains(change)) {
                return Err(Error::mismatch(
                    &self.name,
                    format!(
                        "it has changed since its changes were listed, and now needs another one: {more}; list them again"
                    ),
                ));
            }
            let to_do: Vec<_> = now.changes.iter().filter(|change| self.changes().contains(change)).collect();
            let made = match &to_do[..] {
                [] => return Ok(is_changed),
                [TableChange::Create { .. }, ..] => table.send().await,
                [TableChange::Stamp { fingerprint, .. }, ..] => {
                    let is_it = |key: &&KeyType| key.schema().fingerprint() == *fingerprint;
                    match table.keys().iter().find(is_it) {
                        Some(key) => table.handle(*key).stamp().await,
                        None => Ok(()),
                    }
                }
                of_families => {
                    let guard = now.info.as_ref().and_then(|info| stamp::guard(table.keys(), info));
                    let changes =
                        guard.into_iter().chain(of_families.iter().filter_map(|change| change.of_family()));
                    table.client().modify_families(&self.name, changes.collect()).await.map(drop)
                }
            };
            match made {
                // Another program has made a change.
                Err(error) if error.is_already_exists() || error.is_not_found() => {}
                made => {
                    made?;
                    is_changed = true;
                }
            }
        }
        Err(Error::mismatch(
            &self.name,
            "another program changes it at the same time, again and again; list its changes again once that program has ended",
        ))
    }
}

impl TableDeclaration {
    fn creation(&self) -> TableChange {
        let stamps = self.keys().iter().map(|key| (key.schema().key_type(), key.schema().fingerprint()));
        TableChange::Create {
            families: self.expected().families.clone(),
            stamps: stamps.collect(),
            parts: self.initial_splits().len() + 1,
            row_key_schema: self.expected().schema.clone(),
        }
    }

    /// The table by one of its key types.
    fn handle(&self, key: KeyType) -> UntypedTable {
        UntypedTable::stored(self.client(), self.name(), key)
    }
}

impl fmt::Display for TableChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { families, stamps, parts, row_key_schema } => {
                f.write_str("create the table")?;
                let mut between = " with ";
                for family in families {
                    write!(f, "{between}the column family {family}")?;
                    between = "; ";
                }
                for (key_type, fingerprint) in stamps {
                    write!(f, "; the stamp of `{key_type}`, {fingerprint}")?;
                }
                match row_key_schema {
                    Some(schema) => write!(f, "; the row key schema {schema}")?,
                    None => f.write_str("; no row key schema")?,
                }
                write!(f, "; {parts} tablet{}", if *parts == 1 { "" } else { "s" })
            }
            Self::Stamp { key_type, fingerprint } => {
                write!(f, "add the stamp of `{key_type}`, {fingerprint}: a sample of the keys fits")
            }
            Self::AddFamily { family } => write!(f, "add the column family {family}"),
            Self::GcRule { family, found, declared } => {
                write!(
                    f,
                    "change the garbage collection rule of the column family `{family}` from `{found}` to `{declared}`"
                )?;
                match self.removes_more() {
                    true => f.write_str(", which removes cells that are kept now"),
                    false => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for UndeclaredRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, found, default } = self;
        write!(
            f,
            "the garbage collection rule of the column family `{family}` is `{found}`, and no row type declares one: a new table has \
             `{default}`"
        )
    }
}

impl fmt::Display for TableChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.changes().is_empty() && self.faults.is_empty() {
            return write!(f, "`{}`: as declared", self.name);
        }
        let changes = self.changes().iter().map(ToString::to_string);
        let lines = changes.chain(self.faults.iter().map(ToString::to_string));
        for (at, line) in lines.enumerate() {
            write!(f, "{}`{}`: {line}", if at == 0 { "" } else { "\n" }, self.name)?;
        }
        Ok(())
    }
}
