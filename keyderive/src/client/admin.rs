//! The admin RPCs: create, describe, change and delete tables, drop rows by a prefix, remove a row key schema, list hot tablets;
//! and the client's cache of table schemas.

mod schema;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keyderive_proto::admin::create_table_request::Split;
use keyderive_proto::admin::drop_row_range_request::Target;
use keyderive_proto::admin::table::View;
use keyderive_proto::values::{FieldMask, Operation as Update, operation as update};
use keyderive_proto::{Rpc, admin};
use prost::Message;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};
use tonic::{Code, Status};

use super::cache::{CacheRead, Cached, Freshness};
use super::error::{AttemptSummary, Error, RetryLimit};
use super::failure::Failure;
use super::grpc::Request;
use super::operation::{Idempotency, Operation};
use super::{Client, Route, observe};
use crate::dynamic::TableLayout;

pub use schema::{Aggregate, Family, FamilyChange, GcRule, Granularity, TableSchema};

/// How long the first request to a table waits for the admin service.
pub(crate) const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// The schema of a table: its column families, the granularity of its timestamps, and its row key schema if it has one.
///
/// ```
/// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
/// for name in client.list_tables().await? {
///     println!("{name}");
///     for family in client.table_info(&name).await?.families() {
///         println!("  {family}");
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TableInfo {
    name: String,
    families: Vec<Family>,
    row_key_schema: Option<TableSchema>,
    deletion_protection: bool,
    granularity: Granularity,
}

impl TableInfo {
    fn new(name: &str, message: admin::Table) -> Self {
        let granularity = Granularity::from_message(&message);
        let families = message.column_families.into_iter();
        Self {
            name: name.to_owned(),
            families: families.map(|(name, family)| Family::from_message(name, &family)).collect(),
            // Some servers send a schema without fields for none.
            row_key_schema: message
                .row_key_schema
                .filter(|schema| !schema.fields.is_empty())
                .map(TableSchema),
            deletion_protection: message.deletion_protection,
            granularity,
        }
    }

    /// The table's name, without its project and instance.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its column families, by name.
    #[must_use]
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The family with this name.
    #[must_use]
    pub fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|family| family.name() == name)
    }

    /// How SQL reads its row keys; none if SQL sees them as bytes.
    ///
    /// The emulator stores no row key schemas.
    #[must_use]
    pub fn row_key_schema(&self) -> Option<&TableSchema> {
        self.row_key_schema.as_ref()
    }

    /// The layout of keys that the row key schema describes, without a row type: for a tool that has no other. None unless the keys are in
    /// [ordered code](crate::guide::attributes), and their columns text, bytes or integers in ordered code.
    ///
    /// A tag and a salt are fields of it, and it has another fingerprint than the key type: [`Client::registered_layouts`] has that one.
    #[must_use]
    pub fn row_key_layout(&self) -> Option<TableLayout> {
        let key = self.row_key_schema()?.key_layout(&self.name)?;
        Some(TableLayout::new(&self.name, key, Vec::new()))
    }

    /// Whether the service refuses to delete the table.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.deletion_protection
    }

    /// The unit of the timestamps of its cells.
    #[must_use]
    pub fn granularity(&self) -> Granularity {
        self.granularity
    }

    /// The names of its families as a list for people, without those that keyderive adds.
    pub(crate) fn family_names(&self) -> String {
        let names = self.families.iter().map(Family::name).filter(|name| !name.starts_with("keyderive"));
        let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

/// What a call waits for after the server has answered it.
enum Awaited {
    /// That every cluster has the writes before this token.
    Consistency(String),
    /// That the table has no row key schema.
    NoRowKeySchema,
}

impl Awaited {
    /// Why the call fails if it does not come.
    fn missing(&self) -> &'static str {
        match self {
            Self::Consistency(_) => "not every cluster became consistent",
            Self::NoRowKeySchema => "the table still has its row key schema",
        }
    }
}

/// A table to create.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NewTable {
    pub(crate) families: Vec<Family>,
    /// The keys at which all but the first tablet begin.
    pub(crate) splits: Vec<Bytes>,
    pub(crate) row_key_schema: Option<TableSchema>,
    pub(crate) granularity: Granularity,
}

#[cfg(test)]
impl NewTable {
    /// A table with one family, which keeps all its cells.
    pub(crate) fn with_family(name: &str) -> Self {
        Self { families: vec![Family::new(name, GcRule::never())], ..Self::default() }
    }
}

impl Client {
    /// Creates a table.
    pub(crate) async fn create_table(&self, table: &str, new: NewTable) -> Result<(), Error> {
        let _forgotten = self.inner.infos.forget_after(table);
        let NewTable { families, splits, row_key_schema, granularity } = new;
        if let Some(fault) = families.iter().find_map(Family::fault) {
            return Err(Error::definition(table, fault));
        }
        let operation = self.admin_operation(Rpc::CreateTable, table, ("parent", self.instance_name()));
        let operation = operation.with_idempotency(Idempotency::NotIdempotent);
        let message = admin::CreateTableRequest {
            parent: self.instance_name().to_owned(),
            table_id: table.to_owned(),
            table: Some(admin::Table {
                column_families: families.into_iter().map(Family::into_message).collect(),
                row_key_schema: row_key_schema.map(|schema| schema.0),
                granularity: granularity.message().into(),
                ..admin::Table::default()
            }),
            initial_splits: splits.into_iter().map(|key| Split { key }).collect(),
        };
        self.call(operation, Request::new(&message)).await.map(|answer: admin::Table| drop(answer))
    }

    /// The granularity of a table, from the cache of schemas, which reads the table once.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub(crate) async fn granularity(&self, table: &Route) -> Result<Granularity, Error> {
        match self.cached_info(table.table()).await? {
            Some((_, info)) => Ok(info.granularity()),
            None => self.table_info(table).await.map(|info| info.granularity()),
        }
    }

    /// The column families and the row key schema of the table `name`.
    ///
    /// ```
    /// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
    /// let info = client.table_info("users").await?;
    /// println!("{} families", info.families().len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) if there is no such table.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn table_info(&self, name: &str) -> Result<TableInfo, Error> {
        let full_name = self.table_name(name);
        let operation = self.admin_operation(Rpc::GetTable, name, ("name", &full_name));
        let message = admin::GetTableRequest { name: full_name, view: View::SchemaView.into() };
        let (version, asked) = (self.info_version(), Instant::now());
        let table = self.call(operation, Request::new(&message)).await?;
        let info = TableInfo::new(name, table);
        self.inner.infos.learn(name, version, asked, || info.clone());
        Ok(info)
    }

    /// The names of the instance's tables, in order.
    ///
    /// ```
    /// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
    /// for name in client.list_tables().await? {
    ///     println!("{name}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the request fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn list_tables(&self) -> Result<Vec<String>, Error> {
        let prefix = self.table_name("");
        let mut names = Vec::new();
        let operation = self.admin_operation(Rpc::ListTables, "", ("parent", self.instance_name()));
        let request = |page_token| {
            Request::new(&admin::ListTablesRequest {
                parent: self.instance_name().to_owned(),
                view: View::NameOnly.into(),
                page_token,
                ..admin::ListTablesRequest::default()
            })
        };
        let token = |page: &admin::ListTablesResponse| page.next_page_token.clone();
        let take = |page: admin::ListTablesResponse| {
            names.extend(page.tables.into_iter().map(|table| match table.name.strip_prefix(&prefix) {
                Some(name) => name.to_owned(),
                None => table.name,
            }));
        };
        self.pages("tables", &operation, request, token, take).await?;
        names.sort_unstable();
        Ok(names)
    }

    /// The tablets of a table on which the nodes of each cluster spent most of their time in the last 24 hours, as the
    /// service lists them; and the locations whose clusters it could not list.
    pub(crate) async fn hot_tablets(
        &self,
        table: &Route,
    ) -> Result<(Vec<admin::HotTablet>, Vec<String>), Error> {
        let (mut clusters, mut unreachable) = (Vec::new(), Vec::new());
        let operation = self.admin_operation(Rpc::ListClusters, table, ("parent", self.instance_name()));
        let request = |page_token| {
            Request::new(&admin::ListClustersRequest { parent: self.instance_name().to_owned(), page_token })
        };
        let token = |page: &admin::ListClustersResponse| page.next_page_token.clone();
        let take = |page: admin::ListClustersResponse| {
            clusters.extend(page.clusters.into_iter().map(|cluster| cluster.name));
            unreachable.extend(page.failed_locations);
        };
        self.pages("clusters", &operation, request, token, take).await?;

        let mut tablets = Vec::new();
        for cluster in clusters {
            let operation = self.admin_operation(Rpc::ListHotTablets, table, ("parent", &cluster));
            let request = |page_token| {
                let parent = cluster.clone();
                Request::new(&admin::ListHotTabletsRequest { parent, page_token, ..Default::default() })
            };
            let token = |page: &admin::ListHotTabletsResponse| page.next_page_token.clone();
            let take = |page: admin::ListHotTabletsResponse| {
                let is_of_table = |tablet: &admin::HotTablet| tablet.table_name == table.full_name();
                tablets.extend(page.hot_tablets.into_iter().filter(is_of_table));
            };
            self.pages("hot tablets", &operation, request, token, take).await?;
        }
        Ok((tablets, unreachable))
    }

    /// Takes each page of a list.
    async fn pages<M: Message + Default>(
        &self,
        what: &str,
        operation: &Operation,
        request: impl Fn(String) -> Request,
        token: impl Fn(&M) -> String,
        mut take: impl FnMut(M),
    ) -> Result<(), Error> {
        /// Far more than the up to 1000 tables of an instance take, or the hot tablets of a cluster.
        const MAX_PAGES: usize = 1000;
        let mut page_token = String::new();
        let mut tokens = HashSet::new();
        loop {
            let check = |page: M| {
                let token = token(&page);
                if tokens.contains(&token) {
                    let token = token.escape_debug();
                    return Err(format!(
                        "the page token `{token}` comes a second time, and the list would not end"
                    ));
                }
                if !token.is_empty() && tokens.len() + 1 >= MAX_PAGES {
                    return Err(format!("the list of {what} has more than {MAX_PAGES} pages"));
                }
                Ok((page, token))
            };
            let (page, next) = self.call_checked(operation.clone(), request(page_token), check).await?;
            take(page);
            if next.is_empty() {
                return Ok(());
            }
            page_token = next;
            tokens.insert(page_token.clone());
        }
    }

    /// Deletes the table `name` with all its rows, and its record in the [registry](crate::guide::tables#registry).
    ///
    /// ```
    /// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
    /// client.delete_table("users").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) if there is no such table.
    ///
    /// # Cancel safety
    /// If the future is dropped, the table is deleted or not, perhaps later.
    pub async fn delete_table(&self, name: &str) -> Result<(), Error> {
        let full_name = self.table_name(name);
        let _forgotten = self.inner.infos.forget_after(name);
        let operation = self.admin_operation(Rpc::DeleteTable, name, ("name", &full_name));
        let operation = operation.with_idempotency(Idempotency::NotIdempotent);
        let message = admin::DeleteTableRequest { name: full_name };
        let record = self.record_of_deleted(name).await;
        let deleted = self.call(operation, Request::new(&message)).await;
        if let (Ok(()), Some(record)) = (&deleted, record) {
            self.forget_table(name, &record).await;
        }
        deleted
    }

    /// Changes the column families of a table, atomically.
    pub(crate) async fn modify_families(
        &self,
        table: &str,
        changes: Vec<FamilyChange>,
    ) -> Result<TableInfo, Error> {
        if changes.is_empty() {
            return Err(Error::definition(
                table,
                "there is no change to its column families; give at least one",
            ));
        }
        if let Some(fault) = changes.iter().find_map(FamilyChange::fault) {
            return Err(Error::definition(table, fault));
        }
        let _forgotten = self.inner.infos.forget_after(table);
        let name = self.table_name(table);
        let operation = self.admin_operation(Rpc::ModifyColumnFamilies, table, ("name", &name));
        let operation = operation.with_idempotency(Idempotency::NotIdempotent);
        let message = admin::ModifyColumnFamiliesRequest {
            name,
            modifications: changes.into_iter().map(FamilyChange::into_message).collect(),
            ignore_warnings: false,
        };
        let changed = self.call(operation, Request::new(&message)).await?;
        Ok(TableInfo::new(table, changed))
    }

    /// Deletes the rows whose key begins with `prefix`, which is not empty.
    pub(crate) async fn drop_row_range(&self, table: &str, prefix: Bytes) -> Result<(), Error> {
        let name = self.table_name(table);
        let operation = self.admin_operation(Rpc::DropRowRange, table, ("name", &name));
        // Sent twice, it would drop rows written after the first time.
        let operation = operation.with_idempotency(Idempotency::NotIdempotent);
        // The emulator drops every row for an empty prefix.
        if prefix.is_empty() {
            return Err(Error::not_prefixes(
                table,
                "the prefix of the rows to drop is empty, so it selects every row; give one of at least one byte",
            ));
        }
        let message = admin::DropRowRangeRequest { name, target: Some(Target::RowKeyPrefix(prefix)) };
        self.call(operation, Request::new(&message)).await
    }

    /// Has the service refuse to delete a table, or lets it be deleted again.
    pub(crate) async fn set_deletion_protection(&self, table: &str, is_protected: bool) -> Result<(), Error> {
        let _forgotten = self.inner.infos.forget_after(table);
        let name = self.table_name(table);
        let operation = self.admin_operation(Rpc::UpdateTable, table, ("table.name", &name));
        let message = admin::UpdateTableRequest {
            table: Some(admin::Table { name, deletion_protection: is_protected, ..admin::Table::default() }),
            update_mask: Some(FieldMask { paths: vec!["deletion_protection".to_owned()] }),
            ignore_warnings: false,
        };
        // The server goes on with it by itself.
        self.call(operation, Request::new(&message)).await.map(|update: Update| drop(update))
    }

    /// Removes the row key schema of a table, if it has one.
    ///
    /// A repetition finds no schema, so it is retried after every transient failure.
    pub(crate) async fn remove_row_key_schema(&self, table: &str) -> Result<(), Error> {
        // It may finish after the client is closed.
        let client = self.clone().in_one_operation();
        let begun = Instant::now();
        // Servers without row key schemas may reject the update.
        if client.table_info(table).await?.row_key_schema().is_none() {
            return Ok(());
        }
        let _forgotten = client.inner.infos.forget_after(table);
        let name = client.table_name(table);
        let operation = client.admin_operation(Rpc::UpdateTable, table, ("table.name", &name));
        let message = admin::UpdateTableRequest {
            table: Some(admin::Table { name, ..admin::Table::default() }),
            update_mask: Some(FieldMask { paths: vec!["row_key_schema".to_owned()] }),
            // A server refuses the removal without it, since queries may name the columns.
            ignore_warnings: true,
        };
        let update: Update = client.call(operation.clone(), Request::new(&message)).await?;
        match update.result {
            Some(update::Result::Error(status)) => {
                let status = Status::new(Code::from_i32(status.code), status.message);
                Err(client.not_awaited(&operation, status.into(), 1, begun.elapsed(), None))
            }
            _ if update.done => Ok(()),
            _ => client.wait_until(&operation, begun, &Awaited::NoRowKeySchema).await,
        }
    }

    /// Waits until every cluster of the instance has all earlier writes to a table.
    pub(crate) async fn wait_for_consistency(&self, table: &str) -> Result<(), Error> {
        // It may finish after the client is closed.
        let client = self.clone().in_one_operation();
        let begun = Instant::now();
        let token = client.consistency_token(table).await?;
        let operation =
            client.admin_operation(Rpc::CheckConsistency, table, ("name", &client.table_name(table)));
        client.wait_until(&operation, begun, &Awaited::Consistency(token)).await
    }

    /// Asks the server again and again, within the total timeout of the settings for `admin`.
    async fn wait_until(
        &self,
        operation: &Operation,
        begun: Instant,
        awaited: &Awaited,
    ) -> Result<(), Error> {
        let (total, table) = (self.settings().admin.total_timeout, operation.table());
        let mut checks: u32 = 0;
        loop {
            let left = total.saturating_sub(begun.elapsed());
            let check = self.with(|settings| settings.admin.total_timeout = left);
            let is_there = match awaited {
                Awaited::Consistency(token) => check.is_consistent(table, token).await?,
                Awaited::NoRowKeySchema => check.table_info(table).await?.row_key_schema().is_none(),
            };
            if is_there {
                return Ok(());
            }
            checks = checks.saturating_add(1);
            let pause = self.settings().admin.backoff.pause(checks, fastrand::f64());
            if pause >= total.saturating_sub(begun.elapsed()) {
                let failure = Failure::timed_out(awaited.missing(), total);
                return Err(self.not_awaited(operation, failure, checks, begun.elapsed(), Some(total)));
            }
            sleep_until(self.at_deadline_or(Instant::now() + pause)).await;
        }
    }

    /// A token for all writes to a table so far.
    async fn consistency_token(&self, table: &str) -> Result<String, Error> {
        let name = self.table_name(table);
        let operation = self.admin_operation(Rpc::GenerateConsistencyToken, table, ("name", &name));
        let message = admin::GenerateConsistencyTokenRequest { name };
        let answer: admin::GenerateConsistencyTokenResponse =
            self.call(operation, Request::new(&message)).await?;
        Ok(answer.consistency_token)
    }

    async fn is_consistent(&self, table: &str, token: &str) -> Result<bool, Error> {
        let name = self.table_name(table);
        let operation = self.admin_operation(Rpc::CheckConsistency, table, ("name", &name));
        let message = admin::CheckConsistencyRequest { name, consistency_token: token.to_owned() };
        let answer: admin::CheckConsistencyResponse = self.call(operation, Request::new(&message)).await?;
        Ok(answer.consistent)
    }

    fn not_awaited(
        &self,
        operation: &Operation,
        failure: Failure,
        attempts: u32,
        elapsed: Duration,
        allowed: Option<Duration>,
    ) -> Error {
        let ended = allowed.map(RetryLimit::Time);
        let summary =
            AttemptSummary { attempts, elapsed, ended, unknown_outcome: None, honours_tokens: false };
        Error::rpc(operation, failure, summary)
    }

    /// The version of the cache: a handle checked at this version needs no further check.
    #[inline]
    pub(crate) fn info_version(&self) -> u64 {
        self.inner.infos.version()
    }

    /// The schema of a table, read once and cached, with the version of the cache.
    ///
    /// None if the caller should send its request unchecked: there is no such table, so the request fails by itself; or the
    /// schema cannot be read and the settings do not require it.
    ///
    /// # Errors
    /// When the client's deadline passes; when the schema cannot be read and the settings require it.
    ///
    /// Waits for the admin service once, at most [`CHECK_TIMEOUT`]. Concurrent calls share one `GetTable`, which a dropped
    /// future does not cancel.
    pub(crate) async fn cached_info(&self, table: &Arc<str>) -> Result<Option<(u64, Arc<TableInfo>)>, Error> {
        match self.info_since(table, None).await {
            Err(error) if error.is_not_found() => Ok(None),
            found => found,
        }
    }

    /// As [`cached_info`](Self::cached_info), read again if it is too old.
    ///
    /// # Errors
    /// Those of `cached_info`, and [`is_not_found`](Error::is_not_found) if there is no such table.
    pub(crate) async fn info_since(
        &self,
        table: &Arc<str>,
        freshness: Option<Freshness>,
    ) -> Result<Option<(u64, Arc<TableInfo>)>, Error> {
        let (begun, required) = (Instant::now(), self.settings.require_layout_check);
        let insists = freshness.is_some_and(|wanted| wanted.insists);
        let (client, name) = (self.for_check(), Arc::clone(table));
        let read = CacheRead {
            is_required: required,
            deadline: self.deadline,
            load: async move { client.table_info(&name).await },
            failed: cannot_be_checked,
        };
        match self.inner.infos.get_fresh(table, read, freshness).await {
            Cached::Found(version, info) => Ok(Some((version, info))),
            Cached::Late => Err(self.check_ended(table, begun.elapsed())),
            Cached::Failed(error) if error.is_not_found() => Err(error),
            // A caller that insists has sent its last rows: no later request of its own fails in place of this one.
            Cached::Failed(error) if required && (insists || !fails_the_request(&error)) => Err(error),
            Cached::Unknown if required && Handle::try_current().is_ok() => Err(Error::configuration(
                format!("table `{table}`: the tokio runtime ended before the layout was checked"),
            )),
            Cached::Failed(_) | Cached::Unknown => Ok(None),
        }
    }

    /// When the cached schema of a table was requested.
    pub(crate) fn info_asked(&self, table: &str) -> Option<Instant> {
        self.inner.infos.asked(table)
    }

    /// A client whose requests take at most as long as a call waits for the layout check. It ignores the call's deadline,
    /// since other calls wait for the answer too.
    pub(crate) fn for_check(&self) -> Self {
        let hasty = self.with(|settings| {
            let calls = [
                &mut settings.admin,
                &mut settings.read_row,
                &mut settings.read_rows,
                &mut settings.mutate_row,
                &mut settings.check_and_mutate_row,
            ];
            for call in calls {
                call.total_timeout = call.total_timeout.min(CHECK_TIMEOUT);
            }
        });
        Self { deadline: None, ..hasty }
    }

    /// The client's deadline has passed while a call waited for the layout check of its table.
    pub(super) fn check_ended(&self, table: &str, elapsed: Duration) -> Error {
        let full_name = self.table_name(table);
        let operation = self.admin_operation(Rpc::GetTable, table, ("name", &full_name));
        let failure =
            Failure::timed_out("the layout check of the table got no answer", elapsed).before_sending();
        let tries = AttemptSummary {
            attempts: 0,
            elapsed,
            ended: Some(RetryLimit::Deadline),
            unknown_outcome: None,
            honours_tokens: false,
        };
        Error::rpc(&operation, failure, tries)
    }

    /// Counts a call that failed since its table differs from its declaration.
    pub(crate) fn count_mismatch(&self, table: &Arc<str>) {
        observe::mismatched(table);
    }

    /// Whether the warning may be logged that the stamp of a table lacks a salt whose bound has passed.
    pub(crate) fn may_warn_of_bounds(&self) -> bool {
        self.inner.pool.may_warn_of_bounds()
    }

    /// The schema of a table, if it is cached.
    pub(crate) fn known_info(&self, table: &str) -> Option<Arc<TableInfo>> {
        self.inner.infos.known(table)
    }
}

/// Whether the caller's own request will fail like this `GetTable`: there is no such table, or nothing could be sent.
fn fails_the_request(error: &Error) -> bool {
    let unsent = error.attempts() == 0 && !error.has_no_token() && !error.is_deadline_exceeded();
    error.is_not_found() || unsent
}

/// Whether requests go ahead unchecked for a while after this failure of a `GetTable`; `is_first` says whether it is
/// the first.
fn cannot_be_checked(table: &str, error: &Error, is_first: bool) -> bool {
    if fails_the_request(error) {
        return false;
    }
    observe::unchecked(table, error);
    if is_first {
        tracing::warn!(
            table,
            %error,
            "the layout of a table cannot be checked; requests go ahead unchecked, and the check is retried each minute"
        );
    }
    true
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "embedded")]
    mod scripted;
}
