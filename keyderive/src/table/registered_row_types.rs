//! What programs declare for a table, as the [registry](crate::guide::tables#registry) has it: key layouts, by which tools read rows, and
//! row types, which are compared before a handle's first write.

use std::cmp::Ordering;
use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering::Relaxed;

use futures_util::future::{join, try_join};

use tokio::runtime::Handle as Runtime;
use tokio::time::timeout;

use super::handle::{Check, WriteScope};
use super::{Reads, Table, UntypedTable, Writes, stamp};
use crate::client::{
    CHECK_TIMEOUT, Client, DeclaredLayout, Error, LayoutKind, Route, TableInfo, TableRecord,
};
use crate::dynamic::{KeyLayout, TableLayout};
use crate::key::{Fnv, KeyType};
use crate::row::{LayoutChange, LayoutChanges, RowSchema};

/// How many changes of a row type an error lists.
const MAX_SHOWN: usize = 3;
/// How often a row type is compared if other programs declare theirs meanwhile.
const MAX_COMPARISONS: usize = 8;

/// A row type that programs write to a table, as the registry has it: [`Table::row_types`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenRowType {
    /// The name of the Rust type. Types of two releases may have the same.
    pub name: String,
    /// What [`retire_row_type`](Table::retire_row_type) takes.
    ///
    /// It covers more than [`RowSchema::fingerprint`]: also what an absent column is.
    pub fingerprint: String,
    /// Whether programs write whole rows of it, or columns of rows alone.
    pub is_of_rows: bool,
    /// Whether it is the row type of the table that was asked.
    pub is_own: bool,
}

impl<K, R, S: Reads> Table<K, R, S> {
    /// The row types that programs write under this key type's tag, as the [registry](crate::guide::tables#registry) has them. Each
    /// program adds its own by its first write; [`retire_row_type`](Self::retire_row_type) takes one off.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// # let users = client.table::<UserKey, User>("users");
    /// # users.create().await?;
    /// users.put(&UserKey { id: 7 }, &User { age: 42 }).await?;
    /// let types = users.row_types().await?;
    /// assert_eq!((&*types[0].name, types[0].is_of_rows), ("User", true));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The list is in the order in which the registry first had them: the oldest first. It is empty without a registry, and if the record is about an earlier table of this name. Another program may register a type, or
    /// retire one, while the list is read.
    ///
    /// # Errors
    /// When the registry or the table cannot be read.
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn row_types(&self) -> Result<Vec<WrittenRowType>, Error> {
        let table = &self.handle;
        table.check_fit()?;
        let record = table.client.read_table_record(&table.name).await?;
        let info = table.client.table_info(&table.name).await?;
        let (tag, own) = (stamp::tag_of(table.key), table.declared_row(WriteScope::Rows));
        let record = record.filter(|record| record.is_of(&stamp::table_ids(&info))).unwrap_or_default();
        let mut layouts: Vec<_> = record.row_types(&tag).collect();
        layouts.sort_by_key(|layout| record.first_time(layout));
        let types = layouts.into_iter().map(|layout| WrittenRowType {
            name: layout.type_name.clone(),
            fingerprint: layout.fingerprint.clone(),
            is_of_rows: layout.kind == LayoutKind::Row,
            is_own: own.as_ref().is_some_and(|(own, _)| own.fingerprint == layout.fingerprint),
        });
        Ok(types.collect())
    }

    /// Takes a row type off those that this one is compared with before the first write: the one with this fingerprint, which
    /// [`row_types`](Self::row_types) and the error of such a write name.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # mod old { #[derive(keyderive::Row)] pub struct User { pub age: u32 } }
    /// #[derive(Row)]
    /// struct User {
    ///     age: String, // it was a number
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// # let older = client.table::<UserKey, old::User>("users");
    /// # older.create().await?;
    /// # older.put(&UserKey { id: 7 }, &old::User { age: 42 }).await?;
    /// let users = client.table::<UserKey, User>("users");
    /// let (key, user) = (UserKey { id: 7 }, User { age: "42".into() });
    /// assert!(users.put(&key, &user).await.unwrap_err().is_table_mismatch());
    ///
    /// // No program has numbers any more, and the rows that had them are gone.
    /// for other in users.row_types().await?.iter().filter(|row_type| !row_type.is_own) {
    ///     users.retire_row_type(&other.fingerprint).await?;
    /// }
    /// users.put(&key, &user).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Returns false if the table's record has no such row type. A program with the retired type that still runs writes on, and one that
    /// starts is compared with the others as the newest: if it does not fit, the error says that it was retired.
    ///
    /// # Errors
    /// When the registry cannot be read or written.
    ///
    /// # Cancel safety
    /// If the future is dropped, the row type is retired or not, perhaps later.
    pub async fn retire_row_type(&self, fingerprint: &str) -> Result<bool, Error>
    where
        S: Writes,
    {
        let table = &self.handle;
        table.client.retire(&table.name, &stamp::tag_of(table.key), fingerprint).await
    }
}

impl UntypedTable {
    /// The check before a handle's first call that depends on the row type: of the table and, at the same time, of the row
    /// type.
    #[inline]
    pub(super) async fn ensure_fits(&self, written: WriteScope) -> Result<(), Error> {
        match self.is_fit_checked(written) {
            true => Ok(()),
            false => Box::pin(self.check_fits(written)).await,
        }
    }

    /// Whether [`ensure_fits`](Self::ensure_fits) has nothing to do.
    #[inline]
    pub(super) fn is_fit_checked(&self, written: WriteScope) -> bool {
        self.is_checked() && self.is_row_type_checked(written)
    }

    async fn check_fits(&self, written: WriteScope) -> Result<(), Error> {
        let own = [(self.name.clone(), self.key)];
        let row_type = async {
            match self.is_row_type_checked(written) {
                // The table is checked at each call while it cannot be read.
                true => Ok(()),
                false => self.check_row_type(written, &own).await,
            }
        };
        try_join(self.ensure_checked(), row_type).await.map(drop)
    }

    /// Compares the row type with those that other programs declare for these tables, and registers it if the call writes.
    /// If the call writes only columns, the values are compared; if it reads, whether it reads the others' values.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first type that does not fit.
    pub(super) async fn check_row_type(
        &self,
        written: WriteScope,
        tables: &[(Route, KeyType)],
    ) -> Result<(), Error> {
        let Check::At(checked) = &self.check else { return Ok(()) };
        let version = self.client.info_version();
        self.compare_row_type(written, tables).await?;
        checked.of(written).store(version, Relaxed);
        Ok(())
    }

    /// Checks, before stored cells of another table are copied to this one, that this row type reads them.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first row type of the other table whose values it would read otherwise.
    pub(super) async fn check_reads_copied(&self, from: &Self) -> Result<(), Error> {
        let Check::At(_) = self.check else { return Ok(()) };
        if let (Some((own, json)), Some((stored, stored_json))) =
            (self.declared_row(WriteScope::Nothing), from.declared_row(WriteScope::Nothing))
            && let Some(fault) = misread(&json, &stored_json)
        {
            let text = format!(
                "nothing was copied: `{}` reads other values than those of `{}`, the row type of `{}`: {fault}. A copy leaves the \
                 cells as they are; name one row type for both tables, and change it after the copy, or by a load",
                own.type_name,
                stored.type_name,
                from.name.table(),
            );
            return Err(Error::mismatch(&self.name, text));
        }
        let other = self.with_client(from.client.clone());
        other.compare_row_type(WriteScope::Nothing, &[(from.name.clone(), from.key)]).await
    }

    async fn compare_row_type(&self, written: WriteScope, tables: &[(Route, KeyType)]) -> Result<(), Error> {
        if self.client.settings().registry
            && let Some((own, json)) = self.declared_row(written)
            && Runtime::try_current().is_ok()
        {
            let compared = self.compare_declared(tables, &own, &json, written);
            match timeout(CHECK_TIMEOUT, compared).await {
                Ok(compared) => compared?,
                // The client has warned of the request that took so long.
                Err(_) if self.client.settings().require_layout_check => {
                    return Err(self.client.registry_timed_out(&self.name));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    async fn compare_declared(
        &self,
        tables: &[(Route, KeyType)],
        own: &DeclaredLayout,
        json: &str,
        written: WriteScope,
    ) -> Result<(), Error> {
        for (table, key) in tables {
            let own = DeclaredLayout { tag: stamp::tag_of(*key), ..own.clone() };
            self.check_declared(table, own, json, written).await?;
        }
        Ok(())
    }

    /// What this handle declares of its rows, and the layout as JSON; none if they have no columns.
    fn declared_row(&self, written: WriteScope) -> Option<(DeclaredLayout, String)> {
        let schema = self.visible.schema();
        if schema.fields().is_empty() || self.visible.is_stored() {
            return None;
        }
        let json = schema.layout_json(self.visible.family());
        let layout = DeclaredLayout {
            kind: match written {
                WriteScope::Rows => LayoutKind::Row,
                WriteScope::Columns | WriteScope::Nothing => LayoutKind::Columns,
            },
            tag: String::new(),
            fingerprint: Fnv::new().text(&json).fingerprint().to_string(),
            type_name: schema.name().to_owned(),
            first_at: None,
        };
        Some((layout, json))
    }

    async fn check_declared(
        &self,
        table: &Route,
        own: DeclaredLayout,
        json: &str,
        written: WriteScope,
    ) -> Result<(), Error> {
        let (client, name) = (&self.client, table.table());
        for _ in 0..MAX_COMPARISONS {
            let (record, info) = join(client.table_record(name), client.cached_info(name)).await;
            let Some(record) = record? else { return Ok(()) };
            // Without the table, the write fails by itself.
            let Some((_, info)) = info? else { return Ok(()) };
            let mut ids = stamp::table_ids(&info);
            if !record.is_of(&ids) {
                // The record is replaced if this table is the later one; the schema in the cache may be of an earlier one.
                match client.for_check().table_info(name).await {
                    Ok(info) => ids = stamp::table_ids(&info),
                    Err(error) if client.settings().require_layout_check => return Err(error),
                    Err(_) => return Ok(()),
                }
            }
            if record.is_of(&ids) {
                self.compare_with(table, &record, &own, json, written).await?;
                // A program that writes rows writes their columns.
                let kinds = [own.kind, LayoutKind::Row];
                let mut known = record.row_types(&own.tag).filter(|known| kinds.contains(&known.kind));
                if known.any(|known| known.fingerprint == own.fingerprint) {
                    return Ok(());
                }
            }
            if written == WriteScope::Nothing {
                return Ok(());
            }
            if client.register_written(name, &ids, (own.clone(), json.to_owned()), &record).await {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Compares the row type with each one of a table's record, as the newer or the older of the two.
    async fn compare_with(
        &self,
        table: &Route,
        record: &TableRecord,
        own: &DeclaredLayout,
        json: &str,
        written: WriteScope,
    ) -> Result<(), Error> {
        let own_time = record.first_time(own);
        // A known type is compared too: a program may have declared it only for the columns that it writes.
        for other in record.row_types(&own.tag).filter(|other| other.fingerprint != own.fingerprint) {
            let order = match own_time {
                Some(_) => own_time.cmp(&record.first_time(other)),
                // One that the registry does not have is the newer one.
                None => Ordering::Greater,
            };
            let writes_rows = (own.kind, other.kind) == (LayoutKind::Row, LayoutKind::Row);
            let saved = self.saved_row(&other.fingerprint).await;
            let Some(saved) = saved.map_err(|error| error.with_registry_hint(table))? else { continue };
            let refusal = match written {
                WriteScope::Nothing => misread(json, &saved).map(|fault| refused_read(own, other, &fault)),
                WriteScope::Rows | WriteScope::Columns => {
                    let is_retired = own_time.is_none() && record.has_retired(own);
                    let fault = incompatibility(json, &saved, writes_rows, order);
                    fault.map(|fault| refused_write(own, other, order, is_retired, &fault))
                }
            };
            if let Some(refusal) = refusal {
                self.client.count_mismatch(table.table());
                return Err(Error::mismatch(table, refusal));
            }
        }
        Ok(())
    }

    /// The layout of a row type, if it can be read.
    async fn saved_row(&self, fingerprint: &str) -> Result<Option<String>, Error> {
        match self.client.for_check().layout(LayoutKind::Row, fingerprint).await {
            Err(error) if !self.client.settings().require_layout_check => {
                tracing::debug!(%error, "the row type of another program cannot be read, and is not compared");
                Ok(None)
            }
            read => read,
        }
    }
}

impl Client {
    /// The layouts of a table that the [registry](crate::guide::tables#registry) has, one for each key layout that the table is stamped
    /// with: for a tool that has no file of layouts.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::embedded();
    /// # let typed = client.table::<UserKey, User>("users");
    /// # typed.create().await?;
    /// # typed.put(&UserKey { id: 7 }, &User { age: 42 }).await?;
    /// let layouts = client.registered_layouts("users").await?;
    /// let users = client.dynamic_table(&layouts[0]);
    /// let key = layouts[0].key().encode([("id", 7)])?;
    /// println!("{}", users.get(&key).await?.ok_or("no such user")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Row types are those that programs have written since the table was created. The list is empty for a table without a stamp or a
    /// record, and if the record is about an earlier table of this name. A program may register a row type while the list is read.
    ///
    /// # Errors
    /// When the table or the registry cannot be read, or a layout there is of a later release.
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn registered_layouts(&self, table: &str) -> Result<Vec<TableLayout>, Error> {
        let route = self.route(table);
        let info = self.table_info(&route).await?;
        let Some(record) = self.read_table_record(&route).await? else { return Ok(Vec::new()) };
        if !record.is_of(&stamp::table_ids(&info)) {
            return Ok(Vec::new());
        }
        let (stamps, mut found) = (stamp::fingerprints(&info), Vec::new());
        let keys = record.layouts.iter().filter(|layout| layout.kind == LayoutKind::Key);
        for declared in keys.filter(|layout| stamps.contains(&layout.fingerprint)) {
            // A layout that the record names is there: it could not be read.
            let Some(json) = self.layout(LayoutKind::Key, &declared.fingerprint).await? else {
                return Err(unread_layout(table, declared, NOT_THERE));
            };
            let key = KeyLayout::of_json(&json, &declared.type_name);
            let key = key.map_err(|error| unread_layout(table, declared, error))?;
            let mut rows: Vec<&'static RowSchema> = Vec::new();
            for row in record.row_types(&declared.tag) {
                let Some(json) = self.layout(LayoutKind::Row, &row.fingerprint).await? else {
                    return Err(unread_layout(table, row, NOT_THERE));
                };
                let schema = RowSchema::from_layout_json(&json, &row.type_name);
                let schema = schema.map_err(|error| unread_layout(table, row, error))?;
                if !rows.contains(&schema) {
                    rows.push(schema);
                }
            }
            found.push(TableLayout::new(table, key, rows));
        }
        Ok(found)
    }
}

const NOT_THERE: &str = "it is not there, or was not read in time; try again";

/// The record of a table names a layout that is not read.
fn unread_layout(table: &str, layout: &DeclaredLayout, fault: impl Display) -> Error {
    let what = match layout.kind {
        LayoutKind::Key => "key type",
        LayoutKind::Row | LayoutKind::Columns | LayoutKind::Retired => "row type",
    };
    let name = &layout.type_name;
    Error::definition(
        table,
        format!("the registry has the layout of the {what} `{name}`, which is not read: {fault}"),
    )
}

/// Adds the row types of the old table to the record of the new one, where its rows move or are copied. A failure is an
/// error only if the settings require the check of layouts.
pub(super) async fn carry_row_types(
    old: (&Client, &Route, KeyType, &TableInfo),
    new: (&Client, &Route, KeyType, &TableInfo),
) -> Result<(), Error> {
    match try_carry_row_types(old, new).await {
        Err(error) if new.0.settings().require_layout_check => Err(error),
        Err(error) => {
            let table = new.1.table();
            tracing::warn!(%error, %table, "the registry does not name all row types of the old table for the new one");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

async fn try_carry_row_types(
    (client, old, old_key, old_info): (&Client, &Route, KeyType, &TableInfo),
    (to, new, new_key, new_info): (&Client, &Route, KeyType, &TableInfo),
) -> Result<(), Error> {
    if !client.settings().registry || !to.settings().registry {
        return Ok(());
    }
    let Some(record) = client.read_table_record(old).await? else { return Ok(()) };
    if !record.is_of(&stamp::table_ids(old_info)) {
        return Ok(());
    }
    let (old_tag, tag) = (stamp::tag_of(old_key), stamp::tag_of(new_key));
    let (mut carried, mut unread) = (Vec::new(), None);
    for layout in record.row_types_ever(&old_tag) {
        match client.layout(LayoutKind::Row, &layout.fingerprint).await? {
            Some(json) => carried.push((DeclaredLayout { tag: tag.clone(), ..layout.clone() }, json)),
            None => unread = Some(layout),
        }
    }
    let ids = stamp::table_ids(new_info);
    to.try_register(new, &ids, &carried, false).await;
    match unread {
        None => Ok(()),
        Some(layout) => Err(unread_layout(old, layout, NOT_THERE)),
    }
}

/// Why programs of a row type and of a saved one cannot share a table, if both write rows, or one of them only columns. If
/// both types are from the same time, each counts as the newer one.
fn incompatibility(json: &str, saved: &str, writes_rows: bool, order: Ordering) -> Option<String> {
    let (new, old) = if order.is_ge() { (json, saved) } else { (saved, json) };
    let changes = changes(new, old)?;
    // Each writes some columns, or both whole rows; what only the newer one misses is no fault of the older one.
    let is_fault = |change: &&LayoutChange| {
        let counts = (writes_rows || change.is_of_columns) && (order.is_ge() || !change.is_of_former_rows);
        counts && !change.is_compatible()
    };
    listed(changes.iter().filter(is_fault))
}

/// The columns whose values a program of a saved layout writes, and this row type reads otherwise.
fn misread(json: &str, saved: &str) -> Option<String> {
    let changes = changes(json, saved)?;
    listed(changes.iter().filter(|change| change.is_of_values && !change.reads_older_rows()))
}

/// The changes from one layout to another; `None` if one is of a later release, which compares itself with this one.
fn changes(new: &str, old: &str) -> Option<LayoutChanges> {
    let changes = RowSchema::changes_between(new, old);
    let unread =
        |error| tracing::debug!(%error, "a row type of another release cannot be read, and is not compared");
    changes.map_err(unread).ok()
}

/// The first changes as one text, or `None` if there are no changes.
fn listed<'c>(changes: impl Iterator<Item = &'c LayoutChange>) -> Option<String> {
    let mut text = String::new();
    for (at, change) in changes.enumerate() {
        let between = if at == 0 { "" } else { "; " };
        match at < MAX_SHOWN {
            // Writing to a string cannot fail.
            true => _ = write!(text, "{between}{change}"),
            false => return Some(text + "; …"),
        }
    }
    Some(text).filter(|text| !text.is_empty())
}

/// The error of a read that would read other values than the stored ones.
fn refused_read(own: &DeclaredLayout, other: &DeclaredLayout, fault: &str) -> String {
    let DeclaredLayout { fingerprint, type_name, .. } = other;
    format!(
        "nothing was read: this program's `{}` reads other values than those of `{type_name}` (fingerprint {fingerprint}), which other \
         programs write or have written: {fault}. If no value of `{type_name}` is stored any more, take it off by \
         `retire_row_type(\"{fingerprint}\")`; `unchecked()` reads in spite of it",
        own.type_name
    )
}

/// The error of a write whose row type does not fit another one. `order` compares this program's type with the other one by
/// their times in the registry.
fn refused_write(
    own: &DeclaredLayout,
    other: &DeclaredLayout,
    order: Ordering,
    is_retired: bool,
    fault: &str,
) -> String {
    let DeclaredLayout { fingerprint, type_name, .. } = other;
    let remedy = match order {
        // It may well be the older one.
        Ordering::Greater if is_retired => {
            "This program's type was retired: a release can be started again, or rolled back to, until its row type is retired; run one \
             whose type the table still has"
                .to_owned()
        }
        Ordering::Greater => format!(
            "If this program's type is the newer one and can read the other's rows, and no program has the other any more, take the \
             other off by `retire_row_type(\"{fingerprint}\")`"
        ),
        Ordering::Less => "This program's type is the older one: run a release with the newer one".to_owned(),
        Ordering::Equal => "The registry has had both since the same time, so that each counts as the newer one: give every program \
                            the same type, then retire the other one"
            .to_owned(),
    };
    let seen = if order.is_lt() { format!("as programs with `{type_name}` see it, ") } else { String::new() };
    format!(
        "nothing was written: rows of this program's `{}` (fingerprint {}) and those of `{type_name}` (fingerprint {fingerprint}), which \
         other programs write or have written, do not fit: {seen}{fault}. {remedy}",
        own.type_name, own.fingerprint
    )
}
