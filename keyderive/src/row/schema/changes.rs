//! How a row type has changed since its schema was saved, and what that means for stored rows and for programs with the older type.
//!
//! A type reads rows by a small set of rules: a column at its place or else at a former one, an optional family where one of its
//! cells is there, every cell of a map. [`ReadCheck::found`] applies them to what another type writes, once in each direction.

use std::fmt;
use std::time::Duration;

use keyderive_layout::row_rules::{GcLayout, KindLayout, RuleLayout};

use super::RowSchema;
use super::layout::{Absent, ColumnLayout, FieldLayout, RowLayout, SchemaError};
use super::stored::StoredType;

impl RowSchema {
    /// How this row type differs from an older type, whose schema was saved as JSON, and whether programs of both can share a table.
    ///
    /// ```
    /// use keyderive::Row;
    ///
    /// #[derive(Row)]
    /// struct Event {
    ///     kind: String,
    ///     amount: i32,
    /// }
    ///
    /// let saved = Event::SCHEMA.to_json(); // write it to a file, which later versions `include_str!`
    ///
    /// mod later {
    ///     #[derive(keyderive::Row)]
    ///     pub struct Event {
    ///         kind: String,
    ///         amount: i32,
    ///         note: Option<String>,
    ///         user: String,
    ///     }
    /// }
    ///
    /// let changes = later::Event::SCHEMA.changes_from(&saved)?;
    /// assert!(!changes.are_compatible());
    /// let faults: Vec<_> = changes.iter().filter(|change| !change.is_compatible()).map(ToString::to_string).collect();
    /// assert_eq!(
    ///     faults,
    ///     ["`cf:user` is new and required: this type cannot read older rows, which lack it; make the field an `Option` or give it \
    ///       `#[row(default)]`"]
    /// );
    /// # Ok::<(), keyderive::row::SchemaError>(())
    /// ```
    ///
    /// | change | stored rows | programs with the older row type |
    /// |---|---|---|
    /// | a new column that is optional, has a default, or is a counter, `Versions` or an aggregate; a new family | are read | read and write as before |
    /// | a column is added to, or dropped from, an optional struct that needs another one | are read | the program that does not know the column leaves it when it stores `None`; the other program then cannot read the row |
    /// | a new required column; a column becomes required, in an optional family too | cannot be read | read and write as before |
    /// | an optional column is dropped | are read | read and write as before |
    /// | an optional column is dropped, and one of its type is added: possibly a rename without `alias` | are read, without the values under the former name | read and write as before |
    /// | a required column is dropped, or becomes optional | are read | cannot read rows without it |
    /// | a new name, with the former name as `alias` | are read | do not find new values; in a row that has the new name, this type does not see their later writes |
    /// | a new `alias` that no older type writes | are read | read and write as before |
    /// | an `alias` that is another column of the older type | are read wrong: that column's values are read in place of an absent one | lose that column when this type writes the row |
    /// | an `alias` is dropped | are read, without the values under it | read and write as before |
    /// | an `alias` becomes a column of its own | are read wrong: it can have former values of the other column | delete it when they write the other column |
    /// | a type that reads all former values: a wider integer, more variants, text for an enum, bytes for text | are read | cannot read all new values |
    /// | any other type or encoding, from or to JSON too | cannot be read | cannot read new rows |
    /// | `Versions<T>` in place of a plain `Option<T>`, or the reverse | are read | read and write as before |
    /// | `Versions<T>` in place of a plain `T`, which is required; the reverse | are read; cannot be read without a version | cannot read rows without a version; read and write as before |
    /// | `Timestamped`, or a value of a map, in place of `Versions`, or the reverse | are read | one of the two deletes versions of the other |
    /// | an aggregate, or another one, in a family of values, or the reverse | cannot be read | cannot read new rows |
    /// | a shorter `ttl`, or a first one | cells older than it are hidden | read as before |
    /// | a longer `ttl`, or none any more | are read | hide cells that this type still reads |
    /// | `exclusive`, or a map, where the other type has more columns in the family | are read | one of the two deletes columns of the other |
    ///
    /// A table names the family of a row type that is a map: it is compared as the own family of the other type. What is inside of
    /// JSON and messages, encodings by `with`, and the limits of types of times are not compared.
    ///
    /// # Errors
    /// If the text is not a schema that [`to_json`](Self::to_json) of this release has made: another version of it, or a name that
    /// the format does not have. After an upgrade to a release that raises [`JSON_VERSION`](Self::JSON_VERSION), check out the older type,
    /// run `to_json` of it under the new release, and save that.
    pub fn changes_from(&self, saved: &str) -> Result<LayoutChanges, SchemaError> {
        let (new, old) = (RowLayout::of(self), RowLayout::from_json(saved)?);
        Ok(LayoutChanges(compare(&new, &old)))
    }

    /// As [`changes_from`](Self::changes_from), of two layouts as [`layout_json`](Self::layout_json) gives them.
    pub(crate) fn changes_between(own: &str, saved: &str) -> Result<LayoutChanges, SchemaError> {
        let (new, old) = (RowLayout::from_json(own)?, RowLayout::from_json(saved)?);
        Ok(LayoutChanges(compare(&new, &old)))
    }
}

/// The differences between layouts and older ones: of row types from [`RowSchema::changes_from`], of tables from
/// [`Layouts::changes_from`](crate::layouts::Layouts::changes_from). Printed with `{}`, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutChanges(pub(crate) Vec<LayoutChange>);

impl LayoutChanges {
    /// The changes, table by table.
    pub fn iter(&self) -> impl Iterator<Item = &LayoutChange> {
        self.0.iter()
    }

    /// Whether programs of both layouts can share a table: each reads what both write.
    ///
    /// It is [`reads_older_rows`](Self::reads_older_rows) without [`breaks_older_programs`](Self::breaks_older_programs).
    #[must_use]
    pub fn are_compatible(&self) -> bool {
        self.iter().all(LayoutChange::is_compatible)
    }

    /// Whether the newer program reads all rows that are stored, as the older one does: enough where no older program runs any more.
    #[must_use]
    pub fn reads_older_rows(&self) -> bool {
        self.iter().all(LayoutChange::reads_older_rows)
    }

    /// Whether programs of both layouts must not run at the same time: one cannot read, overwrites or hides what the other writes.
    #[must_use]
    pub fn breaks_older_programs(&self) -> bool {
        self.iter().any(LayoutChange::breaks_older_programs)
    }
}

/// One change to a line.
impl fmt::Display for LayoutChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|change| writeln!(f, "{change}"))
    }
}

/// One difference between layouts and older ones. Printed with `{}`: what changed, which program fails on what, and the remedy; `{:#}`
/// leaves out a remedy that is an attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutChange {
    pub(crate) text: String,
    pub(crate) is_unread: bool,
    pub(crate) breaks_older_programs: bool,
    /// Whether one of the two programs misreads, hides or deletes a column that the other writes, whichever columns of a row either writes.
    pub(crate) is_of_columns: bool,
    /// Whether the values of a column are written in one way and read in another.
    pub(crate) is_of_values: bool,
    /// Whether only this type misses something, in rows that programs older than both have written.
    pub(crate) is_of_former_rows: bool,
    /// The dropped column as an alias of the added one, if it may be a rename.
    pub(crate) alias: Option<String>,
    pub(crate) rename: Option<String>,
    /// Whether a file of layouts is written only if the pair of `rename` is accepted.
    pub(crate) is_asked: bool,
}

impl LayoutChange {
    pub(crate) fn harmless(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// This change of the rows of a table.
    pub(crate) fn in_table(&self, table: &str) -> Self {
        // Other columns are not read, whatever the name.
        let rename = self.rename.as_ref().filter(|_| !self.is_unread).map(|pair| format!("{table}/{pair}"));
        Self {
            text: format!("row of `{table}`: {}", self.text),
            is_unread: self.is_unread || rename.is_some(),
            is_asked: rename.is_some(),
            rename,
            ..self.clone()
        }
    }

    /// Whether each program still reads what both write: the newer one reads older rows, and older programs do not break.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        self.reads_older_rows() && !self.breaks_older_programs
    }

    /// Whether the newer program finds and reads all stored rows that the older one does, with their values. False for a possible
    /// [rename](Self::rename) in a file of layouts.
    #[must_use]
    pub fn reads_older_rows(&self) -> bool {
        !self.is_unread
    }

    /// Whether this change forbids running programs of both layouts at the same time: one would not read, not find, overwrite or hide what
    /// the other writes.
    #[must_use]
    pub fn breaks_older_programs(&self) -> bool {
        self.breaks_older_programs
    }

    /// A dropped column and an added one of its type, as `table/family:name=family:name`, if the one may have been renamed to the other:
    /// then no program reads its older values. `#[row(alias = "…")]` with the former name reads them. Every such pair is a change of its
    /// own. Changes of a row type name no table.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
    ///
    /// #[derive(keyderive::Row)]
    /// struct User { mail: Option<String> }
    ///
    /// mod next {
    ///     #[derive(keyderive::Row)]
    ///     pub struct User { email: Option<String> }
    /// }
    ///
    /// let older = Layouts::new().table::<UserKey, User>("users");
    /// let changes = Layouts::new().table::<UserKey, next::User>("users").changes_from(&older);
    /// let change = changes.iter().next().unwrap();
    /// assert_eq!(change.rename(), Some("users/cf:mail=cf:email"));
    /// assert!(!change.reads_older_rows());
    /// ```
    #[must_use]
    pub fn rename(&self) -> Option<&str> {
        self.rename.as_deref()
    }
}

impl fmt::Display for LayoutChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if let (Some(alias), false) = (&self.alias, f.alternate()) {
            write!(
                f,
                "; if this is a new name, write `#[row(alias = \"{alias}\")]`, so that older values are read"
            )?;
        }
        match &self.rename {
            Some(pair) if self.is_asked => {
                write!(f, "; if it is another column, accept the pair `{pair}`")
            }
            _ => Ok(()),
        }
    }
}

/// A family and the name of a column in it.
pub(super) type ColumnName<'l> = (&'l str, &'l str);

/// A column of a layout, or all columns of a map.
pub(super) struct LayoutColumn<'l> {
    pub(super) family: &'l str,
    /// None for a map.
    pub(super) name: Option<&'l str>,
    pub(super) aliases: Vec<ColumnName<'l>>,
    /// The names of the columns of a map.
    pub(super) key: Option<&'l StoredType>,
    stored: &'l StoredType,
    pub(super) kind: KindLayout,
    is_required: bool,
    /// The number of the field if it is optional: an optional struct that has the column, or an optional map.
    optional: Option<usize>,
}

impl<'l> LayoutColumn<'l> {
    fn named(family: &'l str, column: &'l ColumnLayout, optional: Option<usize>) -> Self {
        Self {
            family,
            name: Some(&column.name),
            aliases: column.aliases.iter().map(|alias| (&*alias.family, &*alias.name)).collect(),
            key: None,
            stored: &column.stored,
            kind: column.kind,
            is_required: column.absent == Absent::Error,
            optional,
        }
    }

    /// The place of a column that is no map.
    pub(super) fn place(&self) -> Option<ColumnName<'l>> {
        Some((self.family, self.name?))
    }

    /// The places that a column is read at, in order.
    fn places(&self) -> impl Iterator<Item = ColumnName<'l>> {
        self.place().into_iter().chain(self.aliases.iter().copied())
    }

    /// Its family, and those of its former places.
    pub(super) fn families(&self) -> impl Iterator<Item = &'l str> {
        [self.family].into_iter().chain(self.aliases.iter().map(|(family, _)| *family))
    }

    fn is_read_at(&self, place: ColumnName<'_>) -> bool {
        self.places().any(|own| own == place)
    }

    /// Whether it is a map that has a column there.
    fn is_map_with(&self, (family, name): ColumnName<'_>) -> bool {
        self.family == family && self.key.is_some_and(|key| key.may_be_named(name))
    }

    /// Whether every row that is put has the column.
    fn is_in_every_row(&self) -> bool {
        self.is_required && self.optional.is_none()
    }

    /// Whether cells of the other column are cells of this one, with the same values.
    pub(super) fn reads_cells_of(&self, other: &Self) -> bool {
        match (self.kind.aggregate(), other.kind.aggregate()) {
            (None, None) => self.stored.reads(other.stored),
            (Some((of, window)), Some((other, other_window))) => {
                // A map has aggregates in windows of any width.
                of == other && (window == other_window || (window == Some(0) && other_window.is_some()))
            }
            _ => false,
        }
    }

    /// Whether names of the other one's columns are names of this one's.
    pub(super) fn reads_names_of(&self, other: &Self) -> bool {
        match (self.key, other.key, other.name) {
            (Some(key), Some(other), _) => key.reads(other),
            (Some(key), None, Some(name)) => key.is_name(name),
            _ => true,
        }
    }

    fn path(&self) -> String {
        format!("{}:{}", self.family, self.name.unwrap_or("…"))
    }

    /// How a text names it.
    pub(super) fn written(&self) -> String {
        format!("`{}`", self.path())
    }

    /// What the column holds, for a text that compares two.
    pub(super) fn shown(&self) -> String {
        let aggregate = self.kind.aggregate().map(|(of, window)| match of {
            "Min" => ("minimum", window),
            "Max" => ("maximum", window),
            _ => ("sum", window),
        });
        let value = match aggregate {
            None => self.stored.to_string(),
            Some((of, None)) => format!("a {of}"),
            Some((of, Some(0))) => format!("a {of} in windows of any width"),
            Some((of, Some(micros))) => {
                format!("a {of} in windows of {:?}", Duration::from_micros(micros.unsigned_abs()))
            }
        };
        match self.key {
            Some(key) if *key != StoredType::Text => format!("{value}, named by {key}"),
            _ => value,
        }
    }
}

/// The columns of a layout.
pub(super) struct LayoutColumns<'l> {
    pub(super) layout: &'l RowLayout,
    /// The family that has the marker of an empty row.
    own: &'l str,
    pub(super) all: Vec<LayoutColumn<'l>>,
}

impl<'l> LayoutColumns<'l> {
    /// `own` is the family of a map that does not name it.
    pub(super) fn of(layout: &'l RowLayout, own: &'l str) -> Self {
        let own = layout.family.as_deref().unwrap_or(own);
        let mut all = Vec::new();
        for (at, field) in layout.fields.iter().enumerate() {
            match field {
                FieldLayout::Column { family, column } => {
                    all.push(LayoutColumn::named(family, column, None));
                }
                FieldLayout::Struct { family, optional, columns } => {
                    let optional = optional.then_some(at);
                    all.extend(columns.iter().map(|column| LayoutColumn::named(family, column, optional)));
                }
                FieldLayout::Map { family, optional, key, stored, kind } => all.push(LayoutColumn {
                    family: family.as_deref().unwrap_or(own),
                    name: None,
                    aliases: Vec::new(),
                    key: Some(key),
                    stored,
                    kind: *kind,
                    is_required: false,
                    optional: optional.then_some(at),
                }),
            }
        }
        Self { layout, own, all }
    }

    /// The column, or else the map, whose writes are at this place.
    fn written_at(&self, place: ColumnName<'_>) -> Option<usize> {
        let named = self.all.iter().position(|column| column.place() == Some(place));
        named.or_else(|| self.all.iter().position(|column| column.is_map_with(place)))
    }

    pub(super) fn column_at(&self, place: ColumnName<'_>) -> Option<&LayoutColumn<'l>> {
        self.written_at(place).and_then(|at| self.all.get(at))
    }

    /// The families that a row of the type can have cells in.
    pub(super) fn families(&self) -> impl Iterator<Item = &'l str> {
        [self.own].into_iter().chain(self.all.iter().flat_map(LayoutColumn::families))
    }

    /// Whether a row can be put that has no cell but the marker.
    fn can_be_empty(&self) -> bool {
        !self.all.iter().any(LayoutColumn::is_in_every_row)
    }

    pub(super) fn rule(&self, family: &str) -> Option<&'l RuleLayout> {
        self.layout.rules.iter().find(|rule| rule.family == family)
    }

    /// The families that both have, each once.
    fn families_with<'o>(&'o self, other: &'o Self) -> Vec<&'o str> {
        let of = |columns: &'o Self| columns.all.iter().map(|column| column.family);
        let mut both: Vec<_> = of(self).filter(|family| of(other).any(|name| name == *family)).collect();
        both.sort_unstable();
        both.dedup();
        both
    }
}

/// Why one type does not read what the other writes. The numbers are those of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadFault<'l> {
    /// Values, or names, of the writer's column are not those of the reader's that reads them.
    Type { reader: usize, writer: usize },
    /// The reader needs a column that rows of the writer can lack.
    Missing { reader: usize, writer: Option<usize> },
    /// The reader needs a column in an optional family that rows of the writer can have without it.
    Incomplete { reader: usize },
    /// The writer can delete a column that the reader needs in an optional family, and leave another that it does not have.
    LeftOver { reader: usize },
    /// The writer stores the values of the reader's column at another place, and deletes them at the reader's; or it prefers its own former
    /// values, which the reader does not delete.
    Moved { reader: usize, writer: usize },
    /// A former name of the reader's column is another column of the writer.
    AliasOfOther { reader: usize, writer: usize },
    /// The reader does not read a former name that the writer reads.
    AliasDropped { reader: usize, alias: ColumnName<'l> },
    /// The writer's `put` deletes the other versions of the reader's column.
    OneVersion { reader: usize },
    /// The writer's `put` empties a family in which the reader has another column.
    Emptied { reader: usize },
    /// A family has aggregates for one of the two, and values or other aggregates for the other.
    Family { family: &'l str },
    /// The reader hides cells that the writer still reads.
    Hidden { family: &'l str },
}

/// Checks that a type reads what another writes.
struct ReadCheck<'r, 'l> {
    reader: &'r LayoutColumns<'l>,
    writer: &'r LayoutColumns<'l>,
    /// Whether the reader is the newer type, which also reads what was stored long ago.
    is_new: bool,
}

impl<'l> ReadCheck<'_, 'l> {
    fn fault(&self, fault: ReadFault<'l>) -> Finding<'l> {
        Finding::new(fault, self.is_new, false)
    }

    /// A fault of the other direction, which this one shows too.
    fn turned(&self, fault: ReadFault<'l>) -> Finding<'l> {
        Finding::new(fault, self.is_new, true)
    }

    fn found(&self) -> Vec<Finding<'l>> {
        let mut found = Vec::new();
        for (reader, column) in self.reader.all.iter().enumerate() {
            match column.key {
                None => self.named(reader, column, &mut found),
                Some(_) => self.map(reader, column, &mut found),
            }
            self.removed(reader, column, &mut found);
            if let Some(field) = column.optional
                && column.is_required
                && self.leaves_others_than(column, field)
            {
                found.push(self.fault(ReadFault::LeftOver { reader }));
            }
        }
        self.families(&mut found);
        found
    }

    /// A column that the reader names.
    fn named(&self, reader: usize, column: &LayoutColumn<'l>, found: &mut Vec<Finding<'l>>) {
        let mut source = None;
        let mut is_in_every_row = false;
        for (at, place) in column.places().enumerate() {
            // At the column's own place, `removed` says it.
            let former = self.writer.all.iter().position(|other| {
                other.aliases.contains(&place) && !other.place().is_some_and(|own| column.is_read_at(own))
            });
            if let Some(writer) = former.filter(|_| at > 0) {
                found.push(self.turned(ReadFault::AliasOfOther { reader: writer, writer: reader }));
            }
            let Some(writer) = self.writer.written_at(place) else { continue };
            let other = &self.writer.all[writer];
            if source.is_some() {
                found.push(self.fault(ReadFault::AliasOfOther { reader, writer }));
                continue;
            }
            source = Some(writer);
            is_in_every_row = other.is_in_every_row();
            if !column.reads_cells_of(other) {
                found.push(self.fault(ReadFault::Type { reader, writer }));
            }
            let is_deleted = |before: ColumnName<'_>| other.aliases.contains(&before);
            if !column.places().take(at).all(is_deleted) {
                found.push(self.turned(ReadFault::Moved { reader: writer, writer: reader }));
            }
            if self.is_new {
                let dropped = other.aliases.iter().filter(|alias| !column.is_read_at(**alias));
                found.extend(
                    dropped.map(|alias| self.fault(ReadFault::AliasDropped { reader, alias: *alias })),
                );
            }
        }
        match column.optional {
            _ if !column.is_required || is_in_every_row => {}
            None => found.push(self.fault(ReadFault::Missing { reader, writer: source })),
            Some(field) => {
                if self.is_present_without(column, field) {
                    found.push(self.fault(ReadFault::Incomplete { reader }));
                }
            }
        }
    }

    /// Whether the writer can store a cell that makes an optional family present, and not the column that the family needs.
    fn is_present_without(&self, column: &LayoutColumn<'l>, field: usize) -> bool {
        let family = column.family;
        let of_field = || self.reader.all.iter().filter(|other| other.optional == Some(field));
        let owns = |place: ColumnName<'_>| {
            of_field().any(|other| other.is_read_at(place)) && !column.is_read_at(place)
        };
        let mut in_family = self.writer.all.iter().filter(|other| other.family == family);
        let is_present = in_family.any(|other| match (other.place(), other.optional) {
            // Where the writer's optional struct is present, so is what it needs.
            (Some(place), Some(group)) => {
                let of_group = || self.writer.all.iter().filter(|other| other.optional == Some(group));
                let needs = of_group().filter(|other| other.is_required);
                let has_marker = needs.clone().next().is_none();
                let mut needed = needs.filter_map(LayoutColumn::place);
                !needed.any(|place| column.is_read_at(place)) && (has_marker || owns(place))
            }
            (Some(place), None) => owns(place),
            (None, optional) => {
                let names = of_field().flat_map(LayoutColumn::places);
                optional.is_some() || names.filter(|place| owns(*place)).any(|place| other.is_map_with(place))
            }
        });
        is_present || (self.writer.own == family && self.writer.can_be_empty())
    }

    /// Whether the writer can delete a column that an optional family needs, and leave others of the family, which the reader has
    /// written: then the family is present without it.
    fn leaves_others_than(&self, column: &LayoutColumn<'l>, field: usize) -> bool {
        let knows = |place: ColumnName<'_>| self.writer.all.iter().any(|other| other.is_read_at(place));
        let is_deleted =
            self.writer.all.iter().any(|other| {
                !other.is_in_every_row() && other.places().any(|place| column.is_read_at(place))
            });
        let of_field = self.reader.all.iter().filter(|other| other.optional == Some(field));
        let mut others = of_field.flat_map(LayoutColumn::places).filter(|place| !column.is_read_at(*place));
        is_deleted && !self.empties(column.family) && others.any(|place| !knows(place))
    }

    /// Whether `put` of the writer empties a family.
    fn empties(&self, family: &str) -> bool {
        let is_map = |other: &LayoutColumn<'_>| {
            other.family == family && other.key.is_some() && other.kind.aggregate().is_none()
        };
        self.writer.rule(family).is_some_and(|rule| rule.exclusive) || self.writer.all.iter().any(is_map)
    }

    /// A map of the reader, which reads every column of its family.
    fn map(&self, reader: usize, map: &LayoutColumn<'l>, found: &mut Vec<Finding<'l>>) {
        for (writer, other) in self.writer.all.iter().enumerate() {
            if other.family == map.family && !(map.reads_cells_of(other) && map.reads_names_of(other)) {
                found.push(self.fault(ReadFault::Type { reader, writer }));
            }
            if other.aliases.iter().any(|(family, _)| *family == map.family) {
                found.push(self.turned(ReadFault::AliasOfOther { reader: writer, writer: reader }));
            }
        }
    }

    /// What the writer deletes of the reader's column.
    fn removed(&self, reader: usize, column: &LayoutColumn<'l>, found: &mut Vec<Finding<'l>>) {
        for (writer, other) in self.writer.all.iter().enumerate() {
            let deletes = column.place().is_some_and(|place| other.aliases.contains(&place));
            if let (true, Some(place)) = (deletes, other.place())
                && !column.is_read_at(place)
            {
                let is_elsewhere = self.reader.all.iter().any(|column| column.is_read_at(place));
                found.push(match is_elsewhere {
                    true => self.turned(ReadFault::AliasOfOther { reader: writer, writer: reader }),
                    false => self.fault(ReadFault::Moved { reader, writer }),
                });
            }
            let is_same = match (column.place(), other.place()) {
                (Some(place), Some(other)) => place == other,
                (Some(place), None) => other.is_map_with(place),
                (None, _) => column.family == other.family,
            };
            // A plain value is one more version.
            let deletes_versions = other.kind == KindLayout::Timestamped || other.key.is_some();
            let is_history = |kind| kind == KindLayout::Versions;
            if is_same && deletes_versions && is_history(column.kind) && !is_history(other.kind) {
                found.push(self.fault(ReadFault::OneVersion { reader }));
            }
        }
        let is_known = match column.place() {
            Some(place) => self.writer.written_at(place).is_some(),
            None => self.writer.all.iter().any(|other| other.family == column.family && other.key.is_some()),
        };
        if self.empties(column.family) && !is_known {
            found.push(self.fault(ReadFault::Emptied { reader }));
        }
    }

    fn families(&self, found: &mut Vec<Finding<'l>>) {
        let kinds = |columns: &LayoutColumns<'l>, family: &str| {
            let of_family = columns.all.iter().find(|column| column.family == family);
            of_family.map(|column| column.kind.aggregate().map(|(of, _)| of))
        };
        for column in &self.reader.all {
            let family = column.family;
            let (ours, theirs) = (kinds(self.reader, family), kinds(self.writer, family));
            if theirs.is_some() && ours != theirs {
                found.push(self.fault(ReadFault::Family { family }));
            }
            let ttl = |columns: &LayoutColumns<'l>| columns.rule(family).and_then(|rule| rule.ttl_secs);
            let is_shorter = match (ttl(self.reader), ttl(self.writer)) {
                (Some(ours), Some(theirs)) => ours < theirs,
                (ours, None) => ours.is_some(),
                (None, Some(_)) => false,
            };
            if theirs.is_some() && is_shorter {
                found.push(self.fault(ReadFault::Hidden { family }));
            }
        }
    }
}

/// A fault, and which programs it concerns. One that shows in both directions has one form.
struct Finding<'l> {
    fault: ReadFault<'l>,
    /// Whether the new type is the reader.
    is_of_new: bool,
    breaks_reading: bool,
    breaks_older_programs: bool,
}

impl<'l> Finding<'l> {
    /// A fault that shows where the new type reads, or the old one; `is_turned` if it is given as that of the other direction.
    fn new(fault: ReadFault<'l>, of_new: bool, is_turned: bool) -> Self {
        use ReadFault as F;
        let is_of_writes = match fault {
            F::OneVersion { .. } | F::LeftOver { .. } | F::Emptied { .. } => true,
            F::Moved { .. } => is_turned,
            _ => false,
        };
        let is_of_both = is_turned || matches!(fault, F::Moved { .. } | F::Family { .. });
        // These show in both directions.
        let (fault, is_turned) = match fault {
            F::Type { reader, writer } if !of_new => (F::Type { reader: writer, writer: reader }, true),
            F::Family { .. } => (fault, !of_new),
            _ => (fault, is_turned),
        };
        Self {
            fault,
            is_of_new: of_new != is_turned,
            breaks_reading: of_new && !is_of_writes,
            breaks_older_programs: !of_new || is_of_writes || is_of_both,
        }
    }

    /// The column of the new type, and that of the old one.
    fn columns(&self) -> (Option<usize>, Option<usize>) {
        let (reader, writer) = match self.fault {
            ReadFault::Type { reader, writer }
            | ReadFault::Moved { reader, writer }
            | ReadFault::AliasOfOther { reader, writer } => (Some(reader), Some(writer)),
            ReadFault::Missing { reader, writer } => (Some(reader), writer),
            ReadFault::Incomplete { reader }
            | ReadFault::LeftOver { reader }
            | ReadFault::AliasDropped { reader, .. }
            | ReadFault::OneVersion { reader }
            | ReadFault::Emptied { reader } => (Some(reader), None),
            ReadFault::Family { .. } | ReadFault::Hidden { .. } => (None, None),
        };
        if self.is_of_new { (reader, writer) } else { (writer, reader) }
    }
}

pub(super) fn compare(new: &RowLayout, old: &RowLayout) -> Vec<LayoutChange> {
    let own = |one: &RowLayout, other: &RowLayout| {
        one.family.clone().or_else(|| other.family.clone()).unwrap_or_default()
    };
    let (own_of_new, own_of_old) = (own(new, old), own(old, new));
    let comparison = LayoutComparison {
        new: &LayoutColumns::of(new, &own_of_new),
        old: &LayoutColumns::of(old, &own_of_old),
    };
    comparison.changes()
}

struct LayoutComparison<'c, 'l> {
    new: &'c LayoutColumns<'l>,
    old: &'c LayoutColumns<'l>,
}

impl<'l> LayoutComparison<'_, 'l> {
    /// Each finding once, with the programs of both directions.
    fn found(&self) -> Vec<Finding<'l>> {
        let of_new = ReadCheck { reader: self.new, writer: self.old, is_new: true }.found();
        let of_old = ReadCheck { reader: self.old, writer: self.new, is_new: false }.found();
        let mut found: Vec<Finding<'l>> = Vec::new();
        for one in of_new.into_iter().chain(of_old) {
            let same =
                |other: &&mut Finding<'l>| (other.fault, other.is_of_new) == (one.fault, one.is_of_new);
            match found.iter_mut().find(same) {
                Some(other) => {
                    other.breaks_reading |= one.breaks_reading;
                    other.breaks_older_programs |= one.breaks_older_programs;
                }
                None => found.push(one),
            }
        }
        // One finding says it all.
        let is_said = |one: &Finding<'l>| {
            found.iter().any(|other| match (one.fault, other.fault) {
                (ReadFault::Missing { reader, .. }, ReadFault::Moved { reader: moved, .. }) => {
                    reader == moved && one.is_of_new == other.is_of_new
                }
                (ReadFault::Family { family }, ReadFault::Type { reader, .. }) => {
                    self.new.all[reader].family == family
                }
                _ => false,
            })
        };
        let mut said = found.iter().map(is_said).collect::<Vec<_>>().into_iter();
        found.retain(|_| !said.next().unwrap_or_default());
        found
    }

    fn changes(&self) -> Vec<LayoutChange> {
        let mut found = self.found();
        let (added, dropped) = (self.unrelated(self.new, self.old), self.unrelated(self.old, self.new));
        let renames = self.possible_renames(&added, &dropped);
        let mut changes = Vec::new();
        for (new, column) in self.new.all.iter().enumerate() {
            let before = changes.len();
            for (old, _) in renames.iter().filter(|(_, renamed)| *renamed == new) {
                changes.push(self.renamed(new, *old));
                found.retain(|found| match found.fault {
                    ReadFault::Missing { reader, .. } => reader != if found.is_of_new { new } else { *old },
                    _ => true,
                });
            }
            let is_of_column = |found: &Finding<'l>| found.columns().0 == Some(new);
            let is_found = found.iter().any(is_of_column);
            if changes.len() > before || is_found {
                // Each pair says it, or each finding.
            } else if added.contains(&new) {
                changes.push(LayoutChange::harmless(format!("{} is new", column.written())));
            } else if let Some(alias) = self.new_alias(column) {
                let text = format!("{} is also read where it is stored as {alias}", column.written());
                changes.push(LayoutChange::harmless(text));
            }
            changes
                .extend(found.extract_if(.., |found| is_of_column(found)).map(|found| self.change(&found)));
        }
        for (old, column) in self.old.all.iter().enumerate() {
            let before = changes.len();
            let of_column = found.extract_if(.., |found| found.columns().1 == Some(old));
            changes.extend(of_column.map(|found| self.change(&found)));
            let is_renamed = renames.iter().any(|(dropped, _)| *dropped == old);
            if changes.len() == before && dropped.contains(&old) && !is_renamed {
                changes.push(LayoutChange::harmless(format!("{} is dropped", column.written())));
            }
        }
        changes.extend(found.iter().map(|found| self.change(found)));
        changes.extend(self.rules());
        changes
    }

    /// The columns of one type that the other has nothing of.
    fn unrelated(&self, of: &LayoutColumns<'l>, other: &LayoutColumns<'l>) -> Vec<usize> {
        let is_related = |column: &LayoutColumn<'l>| {
            let mut places = column.places();
            let is_written = places.any(|place| other.written_at(place).is_some());
            let is_read =
                column.place().is_some_and(|place| other.all.iter().any(|other| other.is_read_at(place)));
            let is_in_family = other.all.iter().any(|other| other.family == column.family);
            is_written || is_read || (column.key.is_some() && is_in_family)
        };
        (0..of.all.len()).filter(|at| !is_related(&of.all[*at])).collect()
    }

    /// Each dropped column with each added one of its type that may be the same column under a new name. One of another family is
    /// considered if one of the two has no such column in its own family.
    fn possible_renames(&self, added: &[usize], dropped: &[usize]) -> Vec<(usize, usize)> {
        let columns = |(old, new): (usize, usize)| (&self.old.all[old], &self.new.all[new]);
        let is_same = |pair: &(usize, usize)| {
            let (old, new) = columns(*pair);
            old.name.is_some() && new.name.is_some() && old.stored == new.stored && old.kind == new.kind
        };
        let is_near = |pair: &(usize, usize)| {
            let (old, new) = columns(*pair);
            old.family == new.family
        };
        let pairs = added.iter().flat_map(|new| dropped.iter().map(|old| (*old, *new)));
        let pairs: Vec<_> = pairs.filter(is_same).collect();
        let near: Vec<_> = pairs.iter().copied().filter(is_near).collect();
        let has_near = |pair: &(usize, usize)| {
            near.iter().any(|(old, _)| *old == pair.0) && near.iter().any(|(_, new)| *new == pair.1)
        };
        pairs.into_iter().filter(|pair| is_near(pair) || !has_near(pair)).collect()
    }

    /// A former name that the old type does not have.
    fn new_alias(&self, column: &LayoutColumn<'l>) -> Option<String> {
        let old = self.old.all.iter().find(|old| old.place() == column.place())?;
        let alias = column.aliases.iter().find(|alias| !old.is_read_at(**alias));
        alias.filter(|_| column.key.is_none()).map(|(family, name)| format!("`{family}:{name}`"))
    }

    fn renamed(&self, new: usize, old: usize) -> LayoutChange {
        let (new, old) = (&self.new.all[new], &self.old.all[old]);
        let alias = match (old.family == new.family, old.name) {
            (true, Some(name)) => name.to_owned(),
            (_, name) => format!("{}:{}", old.family, name.unwrap_or_default()),
        };
        let fails = match (new.is_in_every_row(), old.is_in_every_row()) {
            (true, true) => ": neither of the two programs can read rows of the other",
            (true, false) => ": this type cannot read older rows",
            (false, true) => ": older programs cannot read new rows",
            (false, false) => "",
        };
        LayoutChange {
            text: format!(
                "{} is dropped and {} added, of the same type{fails}",
                old.written(),
                new.written()
            ),
            is_unread: new.is_in_every_row(),
            breaks_older_programs: old.is_in_every_row(),
            alias: Some(alias),
            rename: Some(format!("{}={}", old.path(), new.path())),
            ..LayoutChange::default()
        }
    }

    /// What is declared of families, which decides about no value.
    fn rules(&self) -> Vec<LayoutChange> {
        let change = |family: &str| {
            let of = |columns: &LayoutColumns<'l>| columns.rule(family).and_then(|rule| rule.gc);
            let (old, new) = (of(self.old), of(self.new));
            if old == new {
                return None;
            }
            let shown =
                |gc: Option<_>| gc.map_or_else(|| "the default".to_owned(), |gc: GcLayout| format!("`{gc}`"));
            Some(LayoutChange::harmless(format!(
                "the garbage collection of the family `{family}` was {} and is now {}; a table that exists keeps its rule until \
                 `modify_families` sets another",
                shown(old),
                shown(new),
            )))
        };
        self.new.families_with(self.old).into_iter().filter_map(change).collect()
    }

    fn change(&self, found: &Finding<'l>) -> LayoutChange {
        LayoutChange {
            text: self.text(found),
            is_unread: found.breaks_reading,
            breaks_older_programs: found.breaks_older_programs,
            is_of_columns: self.is_of_columns(found),
            is_of_values: matches!(found.fault, ReadFault::Type { .. }),
            is_of_former_rows: matches!(found.fault, ReadFault::AliasDropped { .. }),
            ..LayoutChange::default()
        }
    }

    /// The type that reads, and the one that writes.
    fn sides(&self, found: &Finding<'l>) -> (&LayoutColumns<'l>, &LayoutColumns<'l>) {
        if found.is_of_new { (self.new, self.old) } else { (self.old, self.new) }
    }

    /// Whether it shows where a program writes some columns of rows, whichever of its columns they lack.
    fn is_of_columns(&self, found: &Finding<'l>) -> bool {
        let (of_reader, of_writer) = self.sides(found);
        match found.fault {
            ReadFault::OneVersion { reader } => {
                let written = of_reader.all[reader].place().and_then(|place| of_writer.column_at(place));
                written.is_some_and(|column| column.kind == KindLayout::Timestamped)
            }
            ReadFault::Missing { .. }
            | ReadFault::Incomplete { .. }
            | ReadFault::LeftOver { .. }
            | ReadFault::Emptied { .. } => false,
            _ => true,
        }
    }

    /// What has changed, which program fails on what, and the remedy.
    fn text(&self, found: &Finding<'l>) -> String {
        let (of_reader, of_writer) = self.sides(found);
        let reader_at = |at: usize| &of_reader.all[at];
        let writer_at = |at: usize| &of_writer.all[at];
        match (found.fault, found.is_of_new) {
            (ReadFault::Type { reader, writer }, _) => {
                let (new, old) = (reader_at(reader), writer_at(writer));
                let (place, former) = (new.written(), old.written());
                let changed = match place == former {
                    true => format!("{place} was {} and is {}", old.shown(), new.shown()),
                    false => format!("{former} was {} and {place} is {}", old.shown(), new.shown()),
                };
                let copy = match new.key.or(old.key) {
                    Some(_) => "give the map another family, and copy the values",
                    None => "add a column of another name, write both, and copy the older values",
                };
                match (found.breaks_reading, found.breaks_older_programs) {
                    (true, true) => format!(
                        "{changed}: this type cannot read older values, and older programs cannot read new ones; {copy}"
                    ),
                    (true, false) => format!("{changed}: this type cannot read all older values; {copy}"),
                    _ => format!(
                        "{changed}: older programs cannot read all new values; deploy this type to every reader before any program \
                         writes such a value"
                    ),
                }
            }
            (ReadFault::Moved { reader, writer }, false) => {
                let (new, old) = (writer_at(writer), reader_at(reader));
                let alias = self.alias(new, old);
                format!(
                    "{} was {}: older programs do not find what is written to it, and this type does not find what they write to such \
                     rows; first release the older type with `#[row(alias = \"{alias}\")]` to every program: it reads both names",
                    new.written(),
                    old.written(),
                )
            }
            (ReadFault::Moved { reader, writer }, true) => {
                let (new, old) = (reader_at(reader), writer_at(writer));
                let alias = self.alias(old, new);
                format!(
                    "older programs write {} as {}: this type does not find it there; write `#[row(alias = \"{alias}\")]`",
                    new.written(),
                    old.written(),
                )
            }
            (ReadFault::Missing { reader, writer }, true) => {
                let place = reader_at(reader).written();
                let remedy = "make the field an `Option` or give it `#[row(default)]`";
                match writer {
                    None => format!(
                        "{place} is new and required: this type cannot read older rows, which lack it; {remedy}"
                    ),
                    Some(_) => format!(
                        "{place} is required: this type cannot read older rows, which can lack it; {remedy}"
                    ),
                }
            }
            (ReadFault::Incomplete { reader }, true) => {
                let column = reader_at(reader);
                format!(
                    "{} is required in the optional family `{}`: this type cannot read older rows, which can have cells of the family \
                     without it; make the field an `Option` or give it `#[row(default)]`",
                    column.written(),
                    column.family,
                )
            }
            (ReadFault::Missing { reader, writer: None }, false) => format!(
                "{} is dropped: older programs cannot read rows without it; make it an `Option` in every program first, then drop it",
                reader_at(reader).written(),
            ),
            (ReadFault::Missing { reader, writer: Some(_) }, false) => format!(
                "{} can be absent: older programs cannot read rows without it; deploy this type to every reader before any program \
                 writes such a row",
                reader_at(reader).written(),
            ),
            (ReadFault::Incomplete { reader }, false) => {
                let column = reader_at(reader);
                format!(
                    "older programs need {} in the optional family `{}`, and cannot read rows that have cells of the family without it; \
                     make it an `Option` in every program first",
                    column.written(),
                    column.family,
                )
            }
            (ReadFault::AliasOfOther { reader, writer }, true) => {
                let (new, old) = (reader_at(reader).written(), writer_at(writer).written());
                format!(
                    "{new} has the alias {old}, which is another column of older programs: writes of {new} delete it, and where {new} is \
                     absent, this type reads it in its place; remove the alias, or drop the column in every program first"
                )
            }
            (ReadFault::AliasOfOther { reader, writer }, false) => {
                let (new, old) = (writer_at(writer).written(), reader_at(reader).written());
                format!(
                    "{new} is a former name of {old}: this type can find former values of {old} there, and older programs delete it when \
                     they write {old}; give the column another name"
                )
            }
            (ReadFault::AliasDropped { reader, alias: (family, name) }, _) => {
                let new = reader_at(reader).written();
                format!(
                    "{new} has lost the alias `{family}:{name}`: this type does not find values that are still stored there; write such \
                     rows again first, and then save the schema of this type over the file"
                )
            }
            (ReadFault::OneVersion { reader }, true) => format!(
                "{} keeps versions: `put` of older programs deletes all but the one that it writes; update every program before one writes several",
                reader_at(reader).written(),
            ),
            (ReadFault::OneVersion { reader }, false) => format!(
                "{} keeps one version: `put` of this type deletes the others, which older programs read; keep `Versions`, or deploy this \
                 type to every reader first",
                reader_at(reader).written(),
            ),
            (ReadFault::LeftOver { reader }, true) => {
                let column = reader_at(reader);
                format!(
                    "when older programs store no {}, they delete it and leave columns of the family `{}` that they do not know: this \
                     type cannot read the row then; make {} an `Option`, or update every program before one writes the new columns",
                    column.written(),
                    column.family,
                    column.written(),
                )
            }
            (ReadFault::LeftOver { reader }, false) => {
                let column = reader_at(reader);
                format!(
                    "when this type stores no {}, it deletes it and leaves columns of the family `{}` that it does not know: older \
                     programs cannot read the row then; keep the columns, or update every program first",
                    column.written(),
                    column.family,
                )
            }
            (ReadFault::Emptied { reader }, true) => {
                let column = reader_at(reader);
                format!(
                    "`put` of older programs empties the family `{}`, and deletes {}, which they do not have; give the column another \
                     family, or update every program first",
                    column.family,
                    column.written(),
                )
            }
            (ReadFault::Emptied { reader }, false) => {
                let column = reader_at(reader);
                format!(
                    "`put` of this type empties the family `{}`, and deletes {} of older programs; give one of the two another family",
                    column.family,
                    column.written(),
                )
            }
            (ReadFault::Family { family }, _) => format!(
                "the family `{family}` has other contents, values or aggregates: a table's family has one kind, so one of the two \
                 programs cannot write to it; give the fields another family"
            ),
            (ReadFault::Hidden { family }, true) => format!(
                "this type hides cells of the family `{family}` that are older than its `ttl`, and older programs read them; if that is \
                 meant, save the schema of this type over the file"
            ),
            (ReadFault::Hidden { family }, false) => format!(
                "older programs hide cells of the family `{family}` that are older than their `ttl`, and this type reads them; deploy \
                 this type to every reader first"
            ),
        }
    }

    /// The alias that lets the column `of` find values of `other`.
    fn alias(&self, of: &LayoutColumn<'l>, other: &LayoutColumn<'l>) -> String {
        match (of.family == other.family, of.name) {
            (true, Some(name)) => name.to_owned(),
            (_, name) => format!("{}:{}", of.family, name.unwrap_or_default()),
        }
    }
}
