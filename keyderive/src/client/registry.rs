//! The registry: what keyderive knows about the tables of an instance, in a table of its own. `FORMAT.md` has its rows.
//!
//! All of it but the state of a re-keying is information: calls go on where it cannot be read or written.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::admin::{CHECK_TIMEOUT, NewTable};
use super::cache::{CacheRead, Cached};
use super::error::{AttemptSummary, RetryLimit};
use super::failure::Failure;
use super::operation::{Idempotency, RpcMethod};
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
/// After this time a handle that makes its first write has the record read again: other programs declare row types meanwhile.
const MAX_AGE: Duration = Duration::from_secs(60);
/// Has the server set the time.
const SERVER_TIMESTAMP: i64 = -1;

/// Which layouts a row of the registry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LayoutKind {
    Key,
    /// Of programs that write whole rows.
    Row,
    /// Of programs that write columns of rows.
    Columns,
}

impl LayoutKind {
    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Row => "row",
            Self::Columns => "columns",
        }
    }

    /// The key of the row of a layout.
    fn row_key(self, fingerprint: &str) -> Bytes {
        let prefix = match self {
            Self::Key => "layout",
            Self::Row | Self::Columns => "row",
        };
        format!("{prefix}/{fingerprint}").into()
    }
}

/// What registers layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registers {
    /// The call that has created the table.
    NewTable,
    /// One that has stamped it, or found its stamp.
    Table,
    /// The first write of a handle.
    Write,
}

/// A layout that a program declares for a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredLayout {
    pub(crate) kind: LayoutKind,
    pub(crate) tag: String,
    pub(crate) fingerprint: String,
    /// The name of the Rust type.
    pub(crate) type_name: String,
}

impl DeclaredLayout {
    /// Whether both are of one layout, whatever their Rust types are named.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.tag, &self.fingerprint) == (other.kind, &other.tag, &other.fingerprint)
    }

    fn column(&self) -> String {
        format!("{}:{}:{}", self.kind.name(), self.tag, self.fingerprint)
    }

    /// None for a column of another form.
    fn parse(column: &[u8], value: &[u8]) -> Option<Self> {
        let (kind, rest) = std::str::from_utf8(column).ok()?.split_once(':')?;
        let kind = [LayoutKind::Key, LayoutKind::Row, LayoutKind::Columns]
            .into_iter()
            .find(|known| known.name() == kind)?;
        // A tag may have colons.
        let (tag, fingerprint) = rest.rsplit_once(':')?;
        let type_name = String::from_utf8_lossy(value).into_owned();
        Some(Self { kind, tag: tag.to_owned(), fingerprint: fingerprint.to_owned(), type_name })
    }
}

/// What programs have declared about a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableRecord {
    /// The id of the stamp that the table had.
    pub(crate) id: Option<String>,
    pub(crate) layouts: Vec<DeclaredLayout>,
    /// When it was read.
    read_at: Option<Instant>,
}

impl TableRecord {
    fn of(row: Option<&RawRow>) -> Self {
        let mut record = Self { read_at: Some(Instant::now()), ..Self::default() };
        for cell in row.into_iter().flat_map(RawRow::cells) {
            match DeclaredLayout::parse(cell.qualifier(), cell.value()) {
                Some(layout) => record.layouts.push(layout),
                None if cell.qualifier() == ID.as_bytes() => {
                    record.id = Some(String::from_utf8_lossy(cell.value()).into_owned());
                }
                // Of another release.
                None => {}
            }
        }
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
        self.layouts.iter().filter(move |layout| layout.kind != LayoutKind::Key && layout.tag == tag)
    }
}

fn table_key(table: &str) -> Bytes {
    format!("table/{table}").into()
}

fn column(name: &str) -> RowFilter {
    RowFilter::exact_column(REGISTRY_FAMILY, name)
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
    pub(crate) async fn read_table_record(&self, table: &Route) -> Result<Option<TableRecord>, Error> {
        let filter = Some(RowFilter::latest(1));
        match self.read_row(&self.registry(), table_key(table.table()), filter).await {
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

    /// A write has waited for so long for what the registry has about its table.
    fn registry_unread(&self, table: &str, elapsed: Duration, ended: Option<RetryLimit>) -> Error {
        let operation = self.data_operation(RpcMethod::ReadRow, &self.registry());
        let what = format!("the row types of the table `{table}` were not read and recorded");
        let tries =
            AttemptSummary { attempts: 0, elapsed, ended, unknown_outcome: None, honours_tokens: false };
        Error::rpc(&operation, Failure::timed_out(&what, elapsed).before_sending(), tries)
    }

    /// Says once that the registry cannot be used. That there is none is no fault.
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

    /// Registers layouts of a table, with their JSON. A record of another table that had its name is replaced: if this one is new, a record
    /// without an id too.
    pub(crate) async fn register(
        &self,
        table: &str,
        ids: &[String],
        layouts: &[(DeclaredLayout, String)],
        is_new: bool,
    ) -> Result<(), Error> {
        let registry = self.registry();
        for (layout, json) in layouts {
            let set = Mutation::set(REGISTRY_FAMILY, JSON, FIXED_TIMESTAMP, json.clone());
            let key = layout.kind.row_key(&layout.fingerprint);
            self.mutate_row(&registry, key, vec![set]).await?;
        }
        let set = layouts.iter().map(|(layout, _)| {
            Mutation::set(REGISTRY_FAMILY, layout.column(), SERVER_TIMESTAMP, layout.type_name.clone())
        });
        let set: Vec<_> = set.collect();
        match ids.first() {
            None => self.mutate_row(&registry, table_key(table), set).await?,
            Some(id) => {
                let bounds = || ids.iter().map(|id| Bound::Excluded(id.as_str()));
                let others =
                    [Bound::Unbounded].into_iter().chain(bounds()).zip(bounds().chain([Bound::Unbounded]));
                let others = RowFilter::interleave(others.map(RowFilter::value_range::<&str>));
                let own = RowFilter::interleave(
                    ids.iter().map(|id| RowFilter::value_range(id.as_str()..=id.as_str())),
                );
                let known = if is_new { own } else { others };
                let known = RowFilter::chain([column(ID), RowFilter::latest(1), known]);
                let set_id = Mutation::set(REGISTRY_FAMILY, ID, FIXED_TIMESTAMP, id.clone());
                let set: Vec<_> = [set_id].into_iter().chain(set).collect();
                let renewed: Vec<_> =
                    [Mutation::delete_row()].into_iter().chain(set.iter().cloned()).collect();
                let (renewed, set) = (Mutations::from(renewed), Mutations::from(set));
                let (then, otherwise) = if is_new { (set, renewed) } else { (renewed, set) };
                // A repetition finds the id.
                let idempotency = Idempotency::Idempotent;
                let key = table_key(table);
                self.check_and_mutate(&registry, key, Some(known), then, otherwise, idempotency).await?;
            }
        }
        self.inner.records.forget(table);
        Ok(())
    }

    /// [`register`](Self::register)s as far as it can be done; creates the registry for it, unless it is a write.
    pub(crate) async fn try_register(
        &self,
        table: &str,
        ids: &[String],
        layouts: &[(DeclaredLayout, String)],
        by: Registers,
    ) {
        if !self.settings.registry || layouts.is_empty() {
            return;
        }
        let (client, is_new) = (self.for_check(), by == Registers::NewTable);
        let registered = match client.register(table, ids, layouts, is_new).await {
            Err(error) if error.is_not_found() && by != Registers::Write => {
                match client.create_registry().await {
                    Ok(()) => client.register(table, ids, layouts, is_new).await,
                    failed => failed,
                }
            }
            registered => registered,
        };
        if let Err(error) = registered {
            self.registry_failed(&error);
        }
    }

    /// Removes a layout from a table's record; returns whether it was there.
    pub(crate) async fn unregister(&self, table: &str, layout: &DeclaredLayout) -> Result<bool, Error> {
        let delete = vec![Mutation::delete_column(REGISTRY_FAMILY, layout.column())];
        let there = Some(column(&layout.column()));
        let removed =
            self.check_and_mutate_row(&self.registry(), table_key(table), there, delete, vec![]).await;
        self.inner.records.forget(table);
        removed
    }

    /// Removes the record of a table that was deleted, as far as it can be done. The state of its re-keying stays, since programs look for
    /// it there.
    pub(crate) async fn forget_table(&self, table: &str) {
        if !self.settings.registry {
            return;
        }
        let client = self.for_check();
        let registry = client.registry();
        let removed = client.mutate_row(&registry, table_key(table), vec![Mutation::delete_row()]).await;
        if let Err(error) = removed {
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
            };
            assert_eq!(DeclaredLayout::parse(layout.column().as_bytes(), b"Event"), Some(layout));
        }
        for other in ["id", "row", "row:", "form:a:b", "\u{fffd}"] {
            assert_eq!(DeclaredLayout::parse(other.as_bytes(), b""), None, "{other}");
        }
    }
}
