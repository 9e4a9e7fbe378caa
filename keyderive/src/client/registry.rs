//! The registry: what keyderive knows about the tables of an instance, in a table of its own. `FORMAT.md` has its rows.
//!
//! Except for the state of a re-keying it is only information: calls continue if it cannot be read or written.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use keyderive_proto::Rpc;
use tokio::time::Instant;

use super::admin::{CHECK_TIMEOUT, NewTable};
use super::cache::{CacheRead, Cached};
use super::error::{AttemptSummary, RetryLimit};
use super::failure::Failure;
use super::operation::Idempotency;
use super::{Client, Error, Family, GcRule, Mutations, Route};
use crate::row::{Mutation, RawRow, RowFilter};

/// The name of the registry.
pub(crate) const REGISTRY: &str = "keyderive";
/// The only family of the registry.
pub(crate) const REGISTRY_FAMILY: &str = "cf";

/// The column of a layout's row.
const JSON: &str = "json";
/// The column of a table's row for the id of its stamp.
const ID: &str = "id";
/// A fixed time, so that a layout or an id that is written again is the same cell.
const FIXED_TIMESTAMP: i64 = 0;
/// If the record is older than this, a handle's first write reads it again: other programs declare row types meanwhile.
const MAX_AGE: Duration = Duration::from_secs(60);
/// Makes the server set the time.
const SERVER_TIMESTAMP: i64 = -1;
/// The registry stores whole milliseconds.
const STEP_MICROS: i64 = 1000;
/// How often a record is read again while others change it.
const MAX_ATTEMPTS: usize = 8;

/// Which layouts a row of the registry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LayoutKind {
    Key,
    /// The row type of programs that write whole rows.
    Row,
    /// The row type of programs that write columns of rows.
    Columns,
    /// A row type that was retired.
    Retired,
}

impl LayoutKind {
    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Row => "row",
            Self::Columns => "columns",
            Self::Retired => "retired",
        }
    }

    /// The key of the row of a layout.
    fn row_key(self, fingerprint: &str) -> Bytes {
        let prefix = match self {
            Self::Key => "layout",
            Self::Row | Self::Columns | Self::Retired => "row",
        };
        format!("{prefix}/{fingerprint}").into()
    }
}

/// A layout that a program declares for a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredLayout {
    pub(crate) kind: LayoutKind,
    pub(crate) tag: String,
    pub(crate) fingerprint: String,
    /// The name of the Rust type.
    pub(crate) type_name: String,
    /// When the registry first had it, in microseconds; none for what a program declares of its own.
    pub(crate) first_at: Option<i64>,
}

impl DeclaredLayout {
    /// Whether both are of one layout, whatever their Rust types are named.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.tag, &self.fingerprint) == (other.kind, &other.tag, &other.fingerprint)
    }

    fn column(&self) -> String {
        column_name(self.kind, &self.tag, &self.fingerprint)
    }

    /// None for a column of another form.
    fn parse(column: &[u8], value: &[u8], first_at: i64) -> Option<Self> {
        let (kind, rest) = std::str::from_utf8(column).ok()?.split_once(':')?;
        let kinds = [LayoutKind::Key, LayoutKind::Row, LayoutKind::Columns, LayoutKind::Retired];
        let kind = kinds.into_iter().find(|known| known.name() == kind)?;
        // A tag may have colons.
        let (tag, fingerprint) = rest.rsplit_once(':')?;
        let type_name = String::from_utf8_lossy(value).into_owned();
        let (tag, fingerprint) = (tag.to_owned(), fingerprint.to_owned());
        Some(Self { kind, tag, fingerprint, type_name, first_at: Some(first_at) })
    }
}

/// What programs have declared about a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableRecord {
    /// The id of the stamp that the table had.
    pub(crate) id: Option<String>,
    pub(crate) layouts: Vec<DeclaredLayout>,
    /// The names of all columns of its row, in order.
    columns: Vec<Vec<u8>>,
    /// When it was read.
    read_at: Option<Instant>,
}

impl TableRecord {
    fn of(row: Option<&RawRow>) -> Self {
        let mut record = Self { read_at: Some(Instant::now()), ..Self::default() };
        for cell in row.into_iter().flat_map(RawRow::cells) {
            record.columns.push(cell.qualifier().to_vec());
            match DeclaredLayout::parse(cell.qualifier(), cell.value(), cell.timestamp_micros()) {
                Some(layout) => record.layouts.push(layout),
                None if cell.qualifier() == ID.as_bytes() => {
                    record.id = Some(String::from_utf8_lossy(cell.value()).into_owned());
                }
                // Of another release.
                None => {}
            }
        }
        record.columns.sort_unstable();
        record
    }

    /// Whether the record is about a table with these ids; a table that was recreated under its name has another one.
    pub(crate) fn is_of(&self, ids: &[String]) -> bool {
        // A table without a stamp cannot be told from one that was made before it.
        ids.is_empty() || self.id.as_ref().is_none_or(|recorded| ids.contains(recorded))
    }

    fn is_old(&self) -> bool {
        self.read_at.is_some_and(|read_at| read_at.elapsed() >= MAX_AGE)
    }

    /// The row types that programs declare for keys of one tag.
    pub(crate) fn row_types<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a DeclaredLayout> {
        self.row_types_ever(tag).filter(|layout| layout.kind != LayoutKind::Retired)
    }

    /// The same, with those that were retired.
    pub(crate) fn row_types_ever<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a DeclaredLayout> {
        self.layouts.iter().filter(move |layout| layout.kind != LayoutKind::Key && layout.tag == tag)
    }

    /// When the registry first had a row type, whether programs write its whole rows or columns; none if it does not
    /// have it.
    pub(crate) fn first_time(&self, of: &DeclaredLayout) -> Option<i64> {
        let same = self.row_types(&of.tag).filter(|layout| layout.fingerprint == of.fingerprint);
        same.filter_map(|layout| layout.first_at).min()
    }

    /// Whether a row type was retired. It may have been declared again since.
    pub(crate) fn has_retired(&self, of: &DeclaredLayout) -> bool {
        let retired = DeclaredLayout { kind: LayoutKind::Retired, ..of.clone() };
        self.layouts.iter().any(|layout| layout.is_same(&retired))
    }

    /// Whether it has a layout, and from no later time.
    fn has(&self, layout: &DeclaredLayout) -> bool {
        let is_early =
            |known: &DeclaredLayout| layout.first_at.is_none() || known.first_at <= layout.first_at;
        self.layouts.iter().any(|known| known.is_same(layout) && is_early(known))
    }

    /// The first time that is later than the times of all row types.
    fn next_time(&self) -> Option<i64> {
        let row_types = self.layouts.iter().filter(|layout| layout.kind != LayoutKind::Key);
        row_types.filter_map(|layout| layout.first_at).max()?.checked_add(STEP_MICROS)
    }

    /// Passes cells of its row if the row has a row type of these tags that this record lacks, or another id.
    fn changed(&self, tags: &[&str]) -> RowFilter {
        let kinds = [LayoutKind::Row, LayoutKind::Columns];
        let mut filters = Vec::new();
        for (tag, kind) in tags.iter().flat_map(|tag| kinds.map(|kind| (tag, kind))) {
            // The character after a colon is a semicolon.
            let (first, last) = (column_name(kind, tag, ""), format!("{}:{tag};", kind.name()));
            let known = self.columns.iter().filter(|column| column.starts_with(first.as_bytes()));
            let ranges = gaps(Bound::Included(first.as_bytes()), known, Bound::Excluded(last.as_bytes()));
            filters
                .extend(ranges.into_iter().map(|range| RowFilter::columns::<&[u8]>(REGISTRY_FAMILY, range)));
        }
        let ids = gaps(Bound::Unbounded, &self.id, Bound::Unbounded);
        let ids = ids.into_iter().map(RowFilter::value_range::<&[u8]>);
        let other_id = RowFilter::chain([column(ID), RowFilter::latest(1), RowFilter::interleave(ids)]);
        filters.push(other_id);
        RowFilter::interleave(filters)
    }
}

/// A range of names or of values.
type ByteRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The ranges between sorted names, from the first bound to the last.
fn gaps<'a, T: AsRef<[u8]> + 'a>(
    first: Bound<&'a [u8]>,
    names: impl IntoIterator<Item = &'a T>,
    last: Bound<&'a [u8]>,
) -> Vec<ByteRange<'a>> {
    let (mut ranges, mut from) = (Vec::new(), first);
    for name in names {
        let name = Bound::Excluded(name.as_ref());
        ranges.push((from, name));
        from = name;
    }
    ranges.push((from, last));
    ranges
}

fn column_name(kind: LayoutKind, tag: &str, fingerprint: &str) -> String {
    format!("{}:{tag}:{fingerprint}", kind.name())
}

fn table_key(table: &str) -> Bytes {
    format!("table/{table}").into()
}

fn column(name: &str) -> RowFilter {
    RowFilter::exact_column(REGISTRY_FAMILY, name)
}

impl Error {
    /// Adds why a call on this table failed with a request on the registry.
    pub(crate) fn with_registry_hint(self, table: &str) -> Self {
        self.with_hint(&format!(
            "nothing was done to the table `{table}`, since the settings require that its row types are read from the registry \
             first (`require_layout_check`): call again, and if that fails too, see that the program can read and write the table \
             `{REGISTRY}`"
        ))
    }
}

impl Client {
    pub(crate) fn registry(&self) -> Route {
        self.route(REGISTRY)
    }

    /// Creates the registry, unless it is there.
    pub(crate) async fn create_registry(&self) -> Result<(), Error> {
        let new = NewTable {
            families: vec![Family::new(REGISTRY_FAMILY, GcRule::max_versions(1))],
            ..NewTable::default()
        };
        match self.create_table(REGISTRY, new).await {
            Err(error) if error.is_already_exists() => Ok(()),
            created => created,
        }
    }

    /// Creates the registry, unless it is there, and has the service refuse to delete it, as far as the service can.
    pub(crate) async fn protect_registry(&self) -> Result<(), Error> {
        self.create_registry().await?;
        if let Err(error) = self.set_deletion_protection(REGISTRY, true).await {
            tracing::warn!(%error, "the table `{REGISTRY}` has no deletion protection while a table is re-keyed");
        }
        Ok(())
    }

    /// Lets the registry be deleted again, as far as the service can.
    pub(crate) async fn unprotect_registry(&self) {
        let outcome = match self.table_info(REGISTRY).await {
            Ok(info) if !info.is_protected() => return,
            Ok(_) => self.set_deletion_protection(REGISTRY, false).await,
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            tracing::warn!(%error, "the table `{REGISTRY}` keeps its deletion protection, although no table is re-keyed");
        }
    }

    /// The record of a table as it is, if there is a registry.
    pub(crate) async fn read_table_record(&self, table: &str) -> Result<Option<TableRecord>, Error> {
        let filter = Some(RowFilter::latest(1));
        match self.read_row(&self.registry(), table_key(table), filter).await {
            Err(error) if error.is_not_found() => Ok(None),
            row => Ok(Some(TableRecord::of(row?.as_ref()))),
        }
    }

    /// The record of a table, read once; none if there is no registry, or it cannot be read and the settings do not require it.
    ///
    /// # Errors
    /// When the registry cannot be read and the settings require the layout check; when the client's deadline passes.
    pub(crate) async fn table_record(&self, table: &Arc<str>) -> Result<Option<Arc<TableRecord>>, Error> {
        let begun = Instant::now();
        let (client, name) = (self.for_check(), Arc::clone(table));
        let read = CacheRead {
            is_required: self.settings.require_layout_check,
            deadline: self.deadline,
            load: async move {
                let filter = Some(RowFilter::latest(1));
                match client.read_row(&client.registry(), table_key(&name), filter).await {
                    Ok(row) => Ok(TableRecord::of(row.as_ref())),
                    Err(error) => {
                        client.registry_failed(&error);
                        Err(error)
                    }
                }
            },
            failed: |_, _, _| true,
        };
        if self.inner.records.known(table).is_some_and(|record| record.is_old()) {
            self.inner.records.forget(table);
        }
        match self.inner.records.get(table, read).await {
            Cached::Found(_, record) => Ok(Some(record)),
            Cached::Failed(error) if self.settings.require_layout_check && !error.is_not_found() => {
                Err(error.with_registry_hint(table))
            }
            Cached::Late => Err(self.registry_unread(table, begun.elapsed(), Some(RetryLimit::Deadline))),
            Cached::Failed(_) | Cached::Unknown => Ok(None),
        }
    }

    /// A write has waited [`CHECK_TIMEOUT`] for what the registry has about its table, and the settings require it.
    pub(crate) fn registry_timed_out(&self, table: &str) -> Error {
        self.registry_unread(table, CHECK_TIMEOUT, None).with_registry_hint(table)
    }

    /// A write has waited `elapsed` for the registry's record of its table.
    fn registry_unread(&self, table: &str, elapsed: Duration, ended: Option<RetryLimit>) -> Error {
        let operation = self.data_operation(Rpc::ReadRows, &self.registry()).of_one_row();
        let what = format!("the row types of the table `{table}` were not read and recorded");
        let tries =
            AttemptSummary { attempts: 0, elapsed, ended, unknown_outcome: None, honours_tokens: false };
        Error::rpc(&operation, Failure::timed_out(&what, elapsed).before_sending(), tries)
    }

    /// Says once that the registry cannot be used. A missing registry is no fault.
    fn registry_failed(&self, error: &Error) {
        if error.is_not_found() {
            tracing::debug!("there is no registry: the table `{REGISTRY}`");
        } else if !self.inner.registry_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %error,
                "the registry cannot be used: the table `{REGISTRY}`, in which programs find each other's row types; requests go \
                 ahead, and row types are not compared"
            );
        }
    }

    /// A layout as JSON, if the registry has it, read once.
    ///
    /// # Errors
    /// When it cannot be read, and was not within the last minute.
    pub(crate) async fn layout(&self, kind: LayoutKind, fingerprint: &str) -> Result<Option<String>, Error> {
        let (client, key) = (self.for_check(), kind.row_key(fingerprint));
        let name = String::from_utf8_lossy(&key).into_owned();
        let read = CacheRead {
            is_required: self.settings.require_layout_check,
            deadline: self.deadline,
            load: async move {
                let filter = RowFilter::chain([column(JSON), RowFilter::latest(1)]);
                let row = client.read_row(&client.registry(), key, Some(filter)).await?;
                let json = row.as_ref().and_then(|row| row.cells().next());
                Ok(json.map(|cell| String::from_utf8_lossy(cell.value()).into_owned()))
            },
            failed: |_, _, _| true,
        };
        match self.inner.layouts.get(&Arc::from(name), read).await {
            Cached::Found(_, json) => Ok((*json).clone()),
            Cached::Failed(error) => Err(error),
            Cached::Unknown | Cached::Late => Ok(None),
        }
    }

    /// Registers the layouts that the record of a table lacks, with their JSON, if the record still is as it was read: so a
    /// program that registers a row type has compared it with all others. The record of an earlier table with the same name
    /// is replaced; if `is_new`, a record without an id too. Returns false if another program has changed the record since.
    ///
    /// A layout keeps the time at which the registry first had it.
    pub(crate) async fn register(
        &self,
        table: &str,
        ids: &[String],
        layouts: &[(DeclaredLayout, String)],
        is_new: bool,
        record: &TableRecord,
    ) -> Result<bool, Error> {
        let is_replaced = match is_new {
            true => !record.id.as_ref().is_some_and(|id| ids.contains(id)),
            false => !record.is_of(ids),
        };
        let nothing = TableRecord::default();
        let kept = if is_replaced { &nothing } else { record };
        let missing: Vec<_> = layouts.iter().filter(|(layout, _)| !kept.has(layout)).collect();
        if missing.is_empty() {
            return Ok(true);
        }
        let registry = self.registry();
        for (layout, json) in &missing {
            let set = Mutation::set(REGISTRY_FAMILY, JSON, FIXED_TIMESTAMP, json.clone());
            let key = layout.kind.row_key(&layout.fingerprint);
            self.mutate_row(&registry, key, vec![set]).await?;
        }
        let mut tags: Vec<_> = missing.iter().map(|(layout, _)| &*layout.tag).collect();
        tags.sort_unstable();
        tags.dedup();
        let mut changes = Vec::new();
        if is_replaced {
            changes.push(Mutation::delete_row());
        }
        changes.extend(ids.first().map(|id| Mutation::set(REGISTRY_FAMILY, ID, FIXED_TIMESTAMP, id.clone())));
        for (layout, _) in missing {
            let set = |time| Mutation::set(REGISTRY_FAMILY, layout.column(), time, layout.type_name.clone());
            match layout.first_at {
                Some(time) => {
                    changes.extend([Mutation::delete_column(REGISTRY_FAMILY, layout.column()), set(time)]);
                }
                // The later of two versions counts, since the clocks of servers differ.
                None => changes.extend([SERVER_TIMESTAMP].into_iter().chain(kept.next_time()).map(set)),
            }
        }
        // A repetition finds that the record has changed.
        let (changed, idempotency) = (Some(record.changed(&tags)), Idempotency::Idempotent);
        let (key, none) = (table_key(table), Mutations::default());
        let changes = Mutations::from(changes);
        let is_changed = self.check_and_mutate(&registry, key, changed, none, changes, idempotency).await?;
        self.inner.records.forget(table);
        Ok(!is_changed)
    }

    /// [`register`](Self::register)s the row type of a write, as far as it can be done; returns false if another program has changed the
    /// record since it was read.
    pub(crate) async fn register_written(
        &self,
        table: &str,
        ids: &[String],
        row_type: (DeclaredLayout, String),
        record: &TableRecord,
    ) -> bool {
        let registered = self.for_check().register(table, ids, &[row_type], false, record).await;
        registered.unwrap_or_else(|error| {
            self.registry_failed(&error);
            true
        })
    }

    /// [`register`](Self::register)s as far as it can be done; creates the registry for it.
    pub(crate) async fn try_register(
        &self,
        table: &str,
        ids: &[String],
        layouts: &[(DeclaredLayout, String)],
        is_new: bool,
    ) {
        if !self.settings.registry || layouts.is_empty() {
            return;
        }
        let client = self.for_check();
        let registered = match client.register_all(table, ids, layouts, is_new).await {
            Err(error) if error.is_not_found() => match client.create_registry().await {
                Ok(()) => client.register_all(table, ids, layouts, is_new).await,
                failed => failed,
            },
            registered => registered,
        };
        if let Err(error) = registered {
            self.registry_failed(&error);
        }
    }

    async fn register_all(
        &self,
        table: &str,
        ids: &[String],
        layouts: &[(DeclaredLayout, String)],
        is_new: bool,
    ) -> Result<(), Error> {
        // A new table has none, as a rule.
        let mut record = match is_new {
            true => TableRecord::default(),
            false => self.read_table_record(table).await?.unwrap_or_default(),
        };
        for _ in 0..MAX_ATTEMPTS {
            if self.register(table, ids, layouts, is_new, &record).await? {
                break;
            }
            record = self.read_table_record(table).await?.unwrap_or_default();
        }
        Ok(())
    }

    /// Retires a row type in a table's record; returns whether it was there.
    pub(crate) async fn retire(&self, table: &str, tag: &str, fingerprint: &str) -> Result<bool, Error> {
        let [row, columns, retired] = [LayoutKind::Row, LayoutKind::Columns, LayoutKind::Retired]
            .map(|kind| column_name(kind, tag, fingerprint));
        let there = RowFilter::any_column(REGISTRY_FAMILY, [&row, &columns]);
        let retire = vec![
            Mutation::delete_column(REGISTRY_FAMILY, row),
            Mutation::delete_column(REGISTRY_FAMILY, columns),
            Mutation::set(REGISTRY_FAMILY, retired, SERVER_TIMESTAMP, ""),
        ];
        let was_there =
            self.check_and_mutate_row(&self.registry(), table_key(table), Some(there), retire, vec![]).await;
        self.inner.records.forget(table);
        was_there
    }

    /// The record of a table that will be deleted, if programs have declared anything of it and it can be read.
    pub(crate) async fn record_of_deleted(&self, table: &str) -> Option<TableRecord> {
        if !self.settings.registry || table == REGISTRY {
            return None;
        }
        let read = self.for_check().read_table_record(table).await;
        read.unwrap_or_else(|error| {
            self.registry_failed(&error);
            None
        })
    }

    /// Removes the record of a table that was deleted, as far as it can be done, unless another table was created under the
    /// name meanwhile and has this record. The state of its re-keying stays, since programs look for it there.
    pub(crate) async fn forget_table(&self, table: &str, record: &TableRecord) {
        let client = self.for_check();
        let (registry, key) = (client.registry(), table_key(table));
        let (none, forget) = (Mutations::default(), Mutations::delete_row());
        let other = Some(record.changed(&[]));
        let forgotten =
            client.check_and_mutate(&registry, key, other, none, forget, Idempotency::Idempotent).await;
        if let Err(error) = forgotten {
            self.registry_failed(&error);
        }
        self.inner.records.forget(table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_a_record_has_kind_tag_and_fingerprint() {
        for tag in ["", "orders", "a:b"] {
            let layout = DeclaredLayout {
                kind: LayoutKind::Row,
                tag: tag.to_owned(),
                fingerprint: "00112233445566aa".to_owned(),
                type_name: "Event".to_owned(),
                first_at: Some(5000),
            };
            assert_eq!(DeclaredLayout::parse(layout.column().as_bytes(), b"Event", 5000), Some(layout));
        }
        for other in ["id", "row", "row:", "form:a:b", "\u{fffd}"] {
            assert_eq!(DeclaredLayout::parse(other.as_bytes(), b"", 0), None, "{other}");
        }
    }
}
