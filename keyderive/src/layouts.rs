//! The layouts of a program's tables as data, and a file of them to compare the next release with.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dynamic::{KeyLayout, LayoutError, TableLayout, unique_json};
use crate::key::{KeyChange, KeySchema, KeyType, RowKey};
use crate::row::{DEFAULT_FAMILY, Row, RowSchema};
pub use crate::row::{LayoutChange, LayoutChanges};

/// The version of the file.
const FORMAT: u32 = 1;
/// The environment variable with which [`Layouts::check`] writes the file.
const BLESS: &str = "KEYDERIVE_BLESS";

/// The layouts of keys and rows by which a program's types store bytes in its tables, table by table.
///
/// A test compares them with a file that you commit beside the code. So no release changes a key or a row by accident, and reviewers of a
/// change read what it does to stored rows:
///
/// ```
/// use keyderive::layouts::{Layouts, LayoutsError};
/// use keyderive::{Row, RowKey};
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user_id")]
/// struct EventKey {
///     user_id: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// #[derive(Row)]
/// struct Event {
///     kind: String,
/// }
///
/// # mod test_attribute {}
/// # /*
/// #[test]
/// # */
/// fn layouts_are_as_committed() -> Result<(), LayoutsError> {
///     Layouts::new().table::<EventKey, Event>("events").check("layouts.json")
/// }
/// # let error = layouts_are_as_committed().unwrap_err();
/// # assert!(error.to_string().contains("`layouts.json` does not exist"), "{error}");
/// ```
///
/// `KEYDERIVE_BLESS=1 cargo test` writes the file. It is JSON: `format` is the version, and `tables` has for each table the key types,
/// each with its `key`, the layout as [`KeySchema`](crate::key::KeySchema#as-data) lists it without the names of Rust types, and the `rows` that
/// programs store under it, as [`RowSchema::to_json`](crate::row::RowSchema::to_json) lists them.
///
/// A [pinned fingerprint](crate::guide::attributes#fingerprint) fails the build for the same changes of one type, without saying what
/// they are.
#[derive(Clone, Debug, Default)]
pub struct Layouts {
    tables: BTreeMap<String, Vec<KeyEntry>>,
    /// What cannot be in one file: the table, and why.
    conflicts: Vec<(String, String)>,
    /// The types by which tables are created; none for a layout from a file.
    declared: Vec<Declared>,
}

/// A table with a key type and a row type.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) table: String,
    pub(crate) key: KeyType,
    pub(crate) row: &'static RowSchema,
    /// The family of a row type that is a map.
    pub(crate) family: String,
}

/// A key type of a table, and the rows that have such keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyEntry {
    key_type: String,
    #[serde(deserialize_with = "unique_json::value")]
    key: Value,
    rows: Vec<RowEntry>,
}

impl KeyEntry {
    fn tag(&self) -> Option<&str> {
        self.key["tag"].as_str()
    }

    /// The schema of the key; on failure every fault, with its place.
    fn schema(&self) -> Result<&'static KeySchema, Vec<String>> {
        KeySchema::from_json(&self.key.to_string(), Some(&self.key_type))
    }

    /// The schemas of the rows.
    fn row_schemas(&self) -> impl Iterator<Item = Result<&'static RowSchema, Vec<String>>> {
        self.rows.iter().map(|row| {
            let schema = RowSchema::from_layout_json(&row.row.to_string(), &row.row_type);
            schema.map_err(|error| vec![format!("the row `{}`: {error}", row.row_type)])
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowEntry {
    row_type: String,
    #[serde(deserialize_with = "unique_json::value")]
    row: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    #[serde(deserialize_with = "unique_json::map")]
    tables: BTreeMap<String, Vec<KeyEntry>>,
}

impl Layouts {
    /// No tables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a table with its key type and row type. For a table with several key types, each with a tag, or several row types, call it once
    /// for each.
    ///
    /// A row type that is a map is in the family `cf`; [`table_with_family`](Self::table_with_family) names another. Two key types with one
    /// tag cannot share a table: [`check`](Self::check) reports them, and [`changes_from`](Self::changes_from) compares the first one.
    #[must_use]
    pub fn table<K: RowKey, R: Row>(self, name: &str) -> Self {
        self.table_with_family::<K, R>(name, DEFAULT_FAMILY)
    }

    /// Adds a table whose row type is a map, with the family that [`Table::family`](crate::Table::family) names.
    #[must_use]
    pub fn table_with_family<K: RowKey, R: Row>(mut self, name: &str, family: &str) -> Self {
        let row = R::SCHEMA;
        self.insert(name, K::SCHEMA, &[row], family);
        let family = if row.own_family().is_some() { DEFAULT_FAMILY } else { family };
        let (table, family) = (name.to_owned(), family.to_owned());
        self.declared.push(Declared { table, key: KeyType::of::<K>(), row, family });
        self
    }

    /// Adds a table whose layout is data, such as one of [`Client::registered_layouts`](crate::Client::registered_layouts), with all its
    /// row types. For a table with several key types, call it with the layout of each. A table is added by its types or by its layouts,
    /// not by both.
    ///
    /// ```
    /// use keyderive::dynamic::TableLayout;
    /// use keyderive::layouts::Layouts;
    /// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
    /// # #[derive(keyderive::Row)] struct User { name: String }
    ///
    /// let layout = TableLayout::of::<UserKey, User>("users"); // such as one from the registry
    /// let layouts = Layouts::new().add_layout(&layout);
    /// assert_eq!(layouts.to_json(), Layouts::new().table::<UserKey, User>("users").to_json());
    /// ```
    #[must_use]
    pub fn add_layout(mut self, layout: &TableLayout) -> Self {
        self.insert(layout.name(), layout.key().schema(), layout.row_types(), DEFAULT_FAMILY);
        self
    }

    /// Adds a key type of a table with row types that are stored under it.
    fn insert(
        &mut self,
        name: &str,
        schema: &'static KeySchema,
        row_types: &[&'static RowSchema],
        family: &str,
    ) {
        // Both are JSON that this crate has made.
        let parsed = |json: String| serde_json::from_str(&json).unwrap_or_default();
        let key: Value = parsed(schema.layout_json());
        let entries = self.tables.entry(name.to_owned()).or_default();
        let at = match entries.iter().position(|entry| entry.tag() == schema.tag()) {
            Some(at) => {
                let known = &entries[at];
                if known.key != key {
                    let conflict = format!(
                        "`{}` and `{}` are two key types with the same tag; give each a tag of its own, or a table of its own",
                        known.key_type,
                        schema.key_type()
                    );
                    self.conflicts.push((name.to_owned(), conflict));
                }
                at
            }
            None => {
                entries.push(KeyEntry { key_type: schema.key_type().to_owned(), key, rows: Vec::new() });
                entries.len() - 1
            }
        };
        for rows in row_types.iter().filter(|rows| !rows.fields().is_empty()) {
            let row = RowEntry { row_type: rows.name().to_owned(), row: parsed(rows.layout_json(family)) };
            if !entries[at].rows.contains(&row) {
                entries[at].rows.push(row);
                entries[at].rows.sort_by(|one, other| one.row_type.cmp(&other.row_type));
            }
        }
        entries.sort_by(|one, other| one.tag().cmp(&other.tag()));
    }

    /// The layouts as the text of the file.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
    /// # #[derive(keyderive::Row)] struct User { name: String }
    ///
    /// let layouts = Layouts::new().table::<UserKey, User>("users");
    /// let read = Layouts::from_json(&layouts.to_json())?;
    /// assert!(layouts.changes_from(&read).iter().next().is_none());
    /// # Ok::<(), keyderive::layouts::LayoutsError>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        let document = Document { format: FORMAT, tables: self.tables.clone() };
        // Names, numbers and lists have a form in JSON.
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }

    /// Reads the text of a file, of this release or an older one. It may begin with a byte order mark.
    ///
    /// # Errors
    /// If the text is not such a file, such as one with a table twice, which a merge of two versions can leave; if a later release wrote
    /// it.
    pub fn from_json(json: &str) -> Result<Self, LayoutsError> {
        let malformed = |fault: String| LayoutsError(Fault::Malformed { path: None, fault });
        let json = json.strip_prefix('\u{feff}').unwrap_or(json);
        let document: Document =
            serde_json::from_str(json).map_err(|error| malformed(format!("it is not read: {error}")))?;
        if document.format != FORMAT {
            return Err(malformed(format!(
                "it has the format {}, and this release of keyderive reads the format {FORMAT}; use the release that wrote it",
                document.format
            )));
        }
        for (table, entries) in &document.tables {
            for (at, entry) in entries.iter().enumerate() {
                if let Some(twin) = entries[..at].iter().find(|other| other.tag() == entry.tag()) {
                    let tag = entry.tag().map_or("no tag".to_owned(), |tag| format!("the tag `{tag}`"));
                    return Err(malformed(format!(
                        "the table `{table}` has two key types with {tag}, `{}` and `{}`; a merge may have left both: keep one",
                        twin.key_type, entry.key_type
                    )));
                }
                if let Some(row) = twin_of(&entry.rows) {
                    return Err(malformed(format!(
                        "the table `{table}` has the row type `{}` twice; a merge may have left both: keep one",
                        row.row_type
                    )));
                }
                let faulty = |what: &str, faults: Vec<String>| {
                    malformed(format!("{what} of the table `{table}`: {}", faults.join("; ")))
                };
                entry.schema().map_err(|faults| faulty(&format!("the key `{}`", entry.key_type), faults))?;
                for row in entry.row_schemas() {
                    row.map_err(|faults| malformed(format!("table `{table}`: {}", faults.join("; "))))?;
                }
            }
        }
        Ok(Self { tables: document.tables, ..Self::default() })
    }

    /// The key types of a table, with their rows.
    fn keys_of(&self, table: &str) -> Option<impl Iterator<Item = &KeyEntry>> {
        self.tables.get(table).map(|entries| entries.iter())
    }

    /// What has changed since the older layouts, and what each change does to stored rows and to programs of the older types.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// use keyderive::{Row, RowKey};
    ///
    /// #[derive(RowKey)]
    /// #[salt(range = 4, over = "user")]
    /// struct EventKey { user: String }
    ///
    /// #[derive(Row)]
    /// struct Event { kind: String }
    ///
    /// mod next {
    ///     #[derive(keyderive::RowKey)]
    ///     #[salt(range = 8, over = "user")]
    ///     pub struct EventKey { user: String }
    /// }
    ///
    /// let older = Layouts::new().table::<EventKey, Event>("events");
    /// let changes = Layouts::new().table::<next::EventKey, Event>("events").changes_from(&older);
    /// let change = changes.iter().next().unwrap();
    /// assert!(change.to_string().starts_with(
    ///     "key of `events`: the range of the salt was 4 and is 8: 1 of 2 rows have another key, and are not found"
    /// ));
    /// assert!(!change.reads_older_rows());
    /// ```
    #[must_use]
    pub fn changes_from(&self, older: &Self) -> LayoutChanges {
        let mut found = Vec::new();
        for name in
            older.tables.keys().chain(self.tables.keys().filter(|name| !older.tables.contains_key(*name)))
        {
            match (older.tables.get(name), self.tables.get(name)) {
                (None, _) => found.push(LayoutChange::harmless(format!("table `{name}` is new"))),
                (_, None) => found
                    .push(LayoutChange::harmless(format!("table `{name}` is gone: its rows stay stored"))),
                (Some(older), Some(newer)) => found.extend(table_changes(name, older, newer)),
            }
        }
        LayoutChanges(found)
    }

    /// Compares the layouts with the file, or writes it if the environment variable `KEYDERIVE_BLESS` is set. A relative path starts at the
    /// root of the package whose test runs.
    ///
    /// If a column may have been [renamed](LayoutChange::rename), the file is written only if `KEYDERIVE_BLESS` names the pair, as
    /// `KEYDERIVE_BLESS='users/cf:mail=cf:email'`, and every other such pair, after a comma.
    ///
    /// # Errors
    /// If something has changed; the text says what, and what that does to stored rows. If the file does not exist, or cannot be read or
    /// written; if a pair of columns is to be accepted, and is not named.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<(), LayoutsError> {
        let path = path.as_ref();
        if !self.conflicts.is_empty() {
            let conflicts =
                self.conflicts.iter().map(|(table, conflict)| format!("table `{table}`: {conflict}"));
            return Err(LayoutsError(Fault::Conflicts(conflicts.collect())));
        }
        if let Some(accepted) = std::env::var_os(BLESS) {
            return self.write(path, &accepted.to_string_lossy());
        }
        let committed = Self::read(path)?;
        match self.tables == committed.tables {
            true => Ok(()),
            false => {
                let changes = self.changes_from(&committed);
                Err(LayoutsError(Fault::Changed { path: path.to_owned(), changes }))
            }
        }
    }
}

impl Layouts {
    fn read(path: &Path) -> Result<Self, LayoutsError> {
        let failed = |error| LayoutsError(Fault::File { path: path.to_owned(), error });
        let malformed = |fault| LayoutsError(Fault::Malformed { path: Some(path.to_owned()), fault });
        let text = String::from_utf8(fs::read(path).map_err(failed)?)
            .map_err(|_| malformed("it is not UTF-8; save it as UTF-8".to_owned()))?;
        Self::from_json(&text).map_err(|error| match error.0 {
            Fault::Malformed { fault, .. } => malformed(fault),
            other => LayoutsError(other),
        })
    }

    /// Writes the file, unless a column may have been renamed and `accepted` lacks the pair.
    fn write(&self, path: &Path, accepted: &str) -> Result<(), LayoutsError> {
        // A file that is there, and cannot be read, may have columns that now have new names.
        if fs::exists(path).unwrap_or(true) {
            self.check_renames(&Self::read(path)?, accepted, path)?;
        }
        let failed = |error| LayoutsError(Fault::File { path: path.to_owned(), error });
        fs::write(path, self.to_json()).map_err(failed)
    }

    /// Fails if a column may have been renamed and `accepted`, a list with commas, lacks the pair.
    fn check_renames(&self, committed: &Self, accepted: &str, path: &Path) -> Result<(), LayoutsError> {
        let mut changes = self.changes_from(committed);
        let pairs: Vec<_> = changes.iter().filter_map(|change| Some(change.rename()?.to_owned())).collect();
        let command = bless_command(&changes).unwrap_or_default();
        let accepted = listed_pairs(accepted, &pairs);
        changes.0.retain(|change| change.rename().is_some_and(|pair| !accepted.contains(&pair)));
        match changes.0.is_empty() {
            true => Ok(()),
            false => Err(LayoutsError(Fault::Renames { path: path.to_owned(), changes, command })),
        }
    }

    /// The names of the tables, in order.
    ///
    /// ```
    /// # use keyderive::layouts::Layouts;
    /// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
    /// # #[derive(keyderive::Row)] struct User { name: String }
    /// let layouts = Layouts::new().table::<UserKey, User>("users");
    /// assert!(layouts.table_names().eq(["users"]));
    /// ```
    pub fn table_names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// The types of a table; none if a file had the layouts.
    pub(crate) fn declared(&self, table: &str) -> impl Iterator<Item = &Declared> {
        self.declared.iter().filter(move |declared| declared.table == table)
    }

    /// Why the key types of a table cannot share it.
    pub(crate) fn conflicts(&self, table: &str) -> impl Iterator<Item = &str> {
        self.conflicts.iter().filter(move |(name, _)| name == table).map(|(_, conflict)| conflict.as_str())
    }
}

/// Layouts without types.
impl Layouts {
    /// The layout of a table whose rows have one key type.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
    /// # #[derive(keyderive::Row)] struct User { name: String }
    /// # let json = Layouts::new().table::<UserKey, User>("users").to_json();
    ///
    /// let layouts = Layouts::from_json(&json)?; // such as the text of `layouts.json`
    /// let users = layouts.table_layout("users")?;
    /// assert_eq!(users.key().encode([("id", 7)]).unwrap(), b"00000000000000000007");
    ///
    /// let error = layouts.table_layout("user").unwrap_err().to_string();
    /// assert_eq!(error, "there is no table `user`; the tables are `users`");
    /// # Ok::<(), keyderive::layouts::LayoutsError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such table, or it has several key types: [`table_layouts`](Self::table_layouts) returns all.
    pub fn table_layout(&self, name: &str) -> Result<TableLayout, LayoutsError> {
        let mut layouts = self.table_layouts(name)?;
        match layouts.pop() {
            Some(only) if layouts.is_empty() => Ok(only),
            last => {
                let all = layouts.iter().chain(&last).map(|layout| layout.key().schema());
                let all = all.map(|schema| format!("`{}`", schema.key_type())).collect::<Vec<_>>().join(", ");
                Err(LayoutsError::rules(&[format!(
                    "table `{name}` has several key types, {all}; take one of `table_layouts`"
                )]))
            }
        }
    }

    /// The layouts of a table, one for each key type, in the order of their tags.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn table_layouts(&self, name: &str) -> Result<Vec<TableLayout>, LayoutsError> {
        let keys = self.keys_of(name).ok_or_else(|| {
            let names: Vec<_> = self.table_names().map(|name| format!("`{name}`")).collect();
            let has = match &names[..] {
                [] => "there are none".to_owned(),
                names => format!("the tables are {}", names.join(", ")),
            };
            LayoutsError::rules(&[format!("there is no table `{name}`; {has}")])
        })?;
        let layouts = keys.map(|entry| {
            let key = KeyLayout::of_json(&entry.key.to_string(), &entry.key_type);
            let key = key.map_err(|error| error.faults().to_vec())?;
            let rows = entry.row_schemas().collect::<Result<Vec<_>, _>>()?;
            Ok(TableLayout::new(name, key, rows))
        });
        layouts.collect::<Result<_, _>>().map_err(|faults: Vec<String>| LayoutsError::rules(&faults))
    }
}

/// A row type that is there twice, with the same name and layout.
fn twin_of(rows: &[RowEntry]) -> Option<&RowEntry> {
    rows.iter().enumerate().find_map(|(at, row)| rows[..at].contains(row).then_some(row))
}

/// The pairs that a list with commas names. The name of a column can have commas, so the longest pair counts at each place.
fn listed_pairs<'l>(mut list: &'l str, pairs: &[String]) -> Vec<&'l str> {
    let mut listed = Vec::new();
    loop {
        list = list.trim_start();
        let ends_after = |pair: &&String| {
            let rest = list.strip_prefix(pair.as_str());
            rest.is_some_and(|rest| rest.trim_start().is_empty() || rest.trim_start().starts_with(','))
        };
        let len = pairs.iter().filter(ends_after).map(String::len).max().unwrap_or_default();
        let (pair, rest) = list.split_at(len);
        listed.push(pair);
        match rest.split_once(',') {
            Some((_, rest)) => list = rest,
            None => return listed,
        }
    }
}

/// What has changed between the key types and row types of a table.
fn table_changes(table: &str, older: &[KeyEntry], newer: &[KeyEntry]) -> Vec<LayoutChange> {
    let mut found = Vec::new();
    // A key type is known by its tag; of one on both sides the tag may be what has changed.
    let is_alone = older.len() == 1 && newer.len() == 1;
    let same = |one: &KeyEntry, other: &KeyEntry| is_alone || one.tag() == other.tag();
    for old in older {
        let Some(new) = newer.iter().find(|new| same(old, new)) else {
            found.push(LayoutChange {
                text: format!(
                    "key of `{table}`: `{}` is gone: its rows stay stored, as foreign rows",
                    old.key_type
                ),
                is_unread: true,
                ..LayoutChange::default()
            });
            continue;
        };
        for KeyChange { part, old, new, effect } in crate::key::changes(&old.key, &new.key) {
            found.push(LayoutChange {
                text: format!("key of `{table}`: {part} was {old} and is {new}: {effect}"),
                is_unread: !effect.reads_older_rows(),
                breaks_older_programs: effect.breaks_older_programs(),
                ..LayoutChange::default()
            });
        }
        if old.key_type != new.key_type {
            let (old, new) = (&old.key_type, &new.key_type);
            found.push(LayoutChange::harmless(format!(
                "key of `{table}`: `{old}` is now `{new}`: stored rows stay as they are"
            )));
        }
        found.extend(row_changes(table, &old.rows, &new.rows));
    }
    for new in newer.iter().filter(|new| !older.iter().any(|old| same(old, new))) {
        found.push(LayoutChange::harmless(format!("key of `{table}`: `{}` is new", new.key_type)));
    }
    found
}

fn row_changes(table: &str, older: &[RowEntry], newer: &[RowEntry]) -> Vec<LayoutChange> {
    let mut found = Vec::new();
    let is_alone = older.len() == 1 && newer.len() == 1;
    let same = |one: &RowEntry, other: &RowEntry| is_alone || one.row_type == other.row_type;
    for old in older {
        let Some(new) = newer.iter().find(|new| same(old, new)) else {
            found.push(LayoutChange::harmless(format!(
                "row of `{table}`: `{}` is gone: its columns stay stored",
                old.row_type
            )));
            continue;
        };
        if old.row_type != new.row_type {
            let (old, new) = (&old.row_type, &new.row_type);
            found.push(LayoutChange::harmless(format!(
                "row of `{table}`: `{old}` is now `{new}`: stored rows stay as they are"
            )));
        }
        if old.row == new.row {
            continue;
        }
        match RowSchema::changes_between(&new.row.to_string(), &old.row.to_string()) {
            Ok(changes) => found.extend(changes.iter().map(|change| change.in_table(table))),
            Err(error) => found.push(LayoutChange {
                text: format!("row of `{table}`: `{}` cannot be compared: {error}", old.row_type),
                is_unread: true,
                breaks_older_programs: true,
                ..LayoutChange::default()
            }),
        }
    }
    for new in newer.iter().filter(|new| !older.iter().any(|old| same(old, new))) {
        found.push(LayoutChange::harmless(format!("row of `{table}`: `{}` is new", new.row_type)));
    }
    found
}

/// The command that writes the file and accepts every pair that may be a rename; `None` without one.
fn bless_command(changes: &LayoutChanges) -> Option<String> {
    let pairs: Vec<_> = changes.iter().filter_map(LayoutChange::rename).collect();
    // In a shell, a quotation mark ends the text, stands by itself, and begins the text again.
    let list = pairs.join(",").replace('\'', r"'\''");
    (!pairs.is_empty()).then(|| format!("{BLESS}='{list}' cargo test"))
}

/// Why layouts differ from a file's, or why the file cannot be read.
///
/// `{:?}` prints the same text as `{}`, for tests that return it.
pub struct LayoutsError(Fault);

enum Fault {
    Changed {
        path: PathBuf,
        changes: LayoutChanges,
    },
    /// The changes that may be renames, and are not accepted.
    Renames {
        path: PathBuf,
        changes: LayoutChanges,
        /// The command that accepts all of them.
        command: String,
    },
    File {
        path: PathBuf,
        error: io::Error,
    },
    Malformed {
        path: Option<PathBuf>,
        fault: String,
    },
    Conflicts(Vec<String>),
}

impl LayoutsError {
    /// The faults of a layout.
    fn rules(faults: &[String]) -> Self {
        Self(Fault::Malformed { path: None, fault: LayoutError::new(faults.to_vec()).to_string() })
    }

    /// What has changed, if the file could be read.
    #[must_use]
    pub fn changes(&self) -> Option<&LayoutChanges> {
        match &self.0 {
            Fault::Changed { changes, .. } | Fault::Renames { changes, .. } => Some(changes),
            Fault::File { .. } | Fault::Malformed { .. } | Fault::Conflicts(_) => None,
        }
    }
}

impl fmt::Display for LayoutsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::Changed { path, changes } => {
                writeln!(f, "the layouts of this program are not those of `{}`:", path.display())?;
                changes.iter().try_for_each(|change| writeln!(f, "- {change}"))?;
                let (command, is_other) = match bless_command(changes) {
                    Some(command) => (command, ", and no column has a new name"),
                    None => (format!("{BLESS}=1 cargo test"), ""),
                };
                write!(
                    f,
                    "If all of that is intended{is_other}, write the file by `{command}`, and commit it with the change"
                )
            }
            Fault::Renames { path, changes, command } => {
                writeln!(f, "`{}` is not written, because columns may have been renamed:", path.display())?;
                changes.iter().try_for_each(|change| writeln!(f, "- {change}"))?;
                write!(f, "If no column was renamed, write the file by `{command}`")
            }
            Fault::File { path, error } if error.kind() == io::ErrorKind::NotFound => write!(
                f,
                "`{}` does not exist; write it by `{BLESS}=1 cargo test`, and commit it",
                path.display()
            ),
            Fault::File { path, error } => write!(f, "`{}`: {error}", path.display()),
            Fault::Malformed { path: Some(path), fault } => write!(f, "`{}`: {fault}", path.display()),
            Fault::Malformed { path: None, fault } => f.write_str(fault),
            Fault::Conflicts(conflicts) => f.write_str(&conflicts.join("; ")),
        }
    }
}

impl fmt::Debug for LayoutsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for LayoutsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Fault::File { error, .. } => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(crate::RowKey)]
    struct UserKey {
        _id: u64,
    }

    #[derive(crate::Row)]
    struct User {
        _mail: Option<String>,
        _phone: Option<String>,
    }

    mod later {
        #[derive(crate::Row)]
        pub(super) struct User {
            _email: Option<String>,
            _phone: Option<String>,
        }
    }

    #[test]
    fn a_file_with_a_possible_rename_is_written_if_the_pair_is_named() {
        let committed = Layouts::new().table::<UserKey, User>("users");
        let newer = Layouts::new().table::<UserKey, later::User>("users");
        let check = |accepted| newer.check_renames(&committed, accepted, Path::new("layouts.json"));
        for accepted in ["1", "", "users/cf:_mail=cf:_phone", "other/cf:_mail=cf:_email"] {
            let text = check(accepted).unwrap_err().to_string();
            for part in [
                "`layouts.json` is not written, because columns may have been renamed:\n- row of `users`: `cf:_mail` is dropped and `cf:_email` added",
                "write `#[row(alias = \"_mail\")]`",
                "write the file by `KEYDERIVE_BLESS='users/cf:_mail=cf:_email' cargo test`",
            ] {
                assert!(text.contains(part), "{text}");
            }
        }
        check("users/cf:_mail=cf:_email").unwrap();
        check("other/a=b, users/cf:_mail=cf:_email").unwrap();
        assert!(!newer.changes_from(&committed).are_compatible());
        let changes = newer.changes_from(&committed);
        let changed = LayoutsError(Fault::Changed { path: "layouts.json".into(), changes }).to_string();
        let said = "and no column has a new name, write the file by `KEYDERIVE_BLESS='users/cf:_mail=cf:_email' cargo test`";
        assert!(changed.contains(said), "{changed}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_written() {
        let path = std::env::temp_dir().join(format!("keyderive-layouts-{}.json", std::process::id()));
        let committed = Layouts::new().table::<UserKey, User>("users").to_json();
        let conflict = format!("<<<<<<< ours\n{committed}");
        fs::write(&path, &conflict).unwrap();
        let newer = Layouts::new().table::<UserKey, later::User>("users");
        assert!(newer.write(&path, "1").unwrap_err().to_string().contains("layouts-"));
        assert_eq!(fs::read_to_string(&path).unwrap(), conflict);
        fs::remove_file(&path).unwrap();
        newer.write(&path, "1").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), newer.to_json());
        fs::remove_file(path).unwrap();
    }

    /// Each dropped column may be each added one, and names of columns can have commas.
    #[test]
    fn every_pair_that_may_be_a_rename_is_named() {
        mod before {
            #[derive(crate::Row)]
            pub(super) struct User {
                _a: Option<String>,
                _b: Option<String>,
                #[row(family = "other")]
                _c: Option<String>,
                _d: Option<i64>,
            }
        }
        mod after {
            #[derive(crate::Row)]
            pub(super) struct User {
                _x: Option<String>,
                #[row(name = "_x,users/cf:_b=cf:_x")]
                _y: Option<String>,
            }
        }
        let before = Layouts::new().table::<UserKey, before::User>("users");
        let after = Layouts::new().table::<UserKey, after::User>("users");
        let changes = after.changes_from(&before);
        let mut pairs: Vec<_> = changes.iter().filter_map(LayoutChange::rename).collect();
        pairs.sort_unstable();
        let long = ["cf:_a", "cf:_b", "other:_c"].map(|old| format!("users/{old}=cf:_x,users/cf:_b=cf:_x"));
        let [a, b, c] = &long;
        let short = ["users/cf:_a=cf:_x", "users/cf:_b=cf:_x", "users/other:_c=cf:_x"];
        assert_eq!(pairs, [short[0], a, short[1], b, short[2], c]);
        let check = |accepted: &[&str]| after.check_renames(&before, &accepted.join(", "), Path::new("l"));
        check(&pairs).unwrap();
        for at in 0..pairs.len() {
            let mut named = pairs.clone();
            let left_out = named.remove(at);
            let error = check(&named).unwrap_err();
            let missing: Vec<_> = error.changes().unwrap().iter().filter_map(LayoutChange::rename).collect();
            assert_eq!(missing, [left_out]);
        }
    }

    #[test]
    fn a_table_twice_is_refused() {
        let json = Layouts::new().table::<UserKey, User>("users").to_json();
        assert!(Layouts::from_json(&format!("\u{feff}{json}")).is_ok());
        for (name, twice) in [
            ("users", json.replacen("\"tables\": {", "\"tables\": {\"users\": [],", 1)),
            ("name", json.replacen("\"name\":", "\"name\": \"other\", \"name\":", 1)),
        ] {
            let error = Layouts::from_json(&twice).unwrap_err().to_string();
            assert!(error.contains(&format!("the name `{name}` is there twice at line")), "{error}");
        }
        let mut twice: Value = serde_json::from_str(&json).unwrap();
        let keys = twice["tables"]["users"].as_array_mut().unwrap();
        let mut other = keys[0].clone();
        other["key_type"] = "OtherKey".into();
        keys.push(other);
        let error = Layouts::from_json(&twice.to_string()).unwrap_err().to_string();
        let said = "the table `users` has two key types with no tag, `UserKey` and `OtherKey`; a merge";
        assert!(error.contains(said), "{error}");
        keys_of(&mut twice).truncate(1);
        let rows = keys_of(&mut twice)[0]["rows"].as_array_mut().unwrap();
        rows.push(rows[0].clone());
        let error = Layouts::from_json(&twice.to_string()).unwrap_err().to_string();
        assert!(error.contains("the table `users` has the row type `User` twice"), "{error}");
    }

    fn keys_of(file: &mut Value) -> &mut Vec<Value> {
        file["tables"]["users"].as_array_mut().unwrap()
    }
}
