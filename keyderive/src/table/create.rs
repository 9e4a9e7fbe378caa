//! Tables as a whole: created as the key type and the row type declare them, described, changed, deleted.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;

use bytes::Bytes;

use super::expected::Expected;
use super::layout_check::{self, Faults, Verify};
use super::reserved::check_reserved;
use super::stamp::{self, StampStatus};
use super::{Table, UntypedTable};
use crate::client::{
    Aggregate, Client, Error, Family, FamilyChange, GcRule, Granularity, NewTable, Route, TableInfo,
};
use crate::key::{EncodeError, KeySchema, KeyType, TableKey};
use crate::plan::{IntoPlan, Plan, PlanError};

impl<K: TableKey, R> Table<K, R> {
    /// Declares the table, to create it or to verify it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use keyderive::{Client, GcRule, RowKey};
    ///
    /// #[derive(RowKey)]
    /// #[salt(range = 4, over = "user_id")]
    /// struct EventKey {
    ///     user_id: String,
    ///     #[reverse_ts]
    ///     at: u64,
    /// }
    /// # type Event = std::collections::BTreeMap<String, String>;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let events = Client::embedded().table::<EventKey, Event>("events");
    /// let declared = events
    ///     .create()
    ///     .family("raw", GcRule::max_age(Duration::from_secs(7 * 24 * 60 * 60)))
    ///     .split_before(EventKey::scan().user_id_range("m"..));
    /// declared.clone().await?;
    /// declared.verify().await?; // for example at the next start
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// | declared | default |
    /// |---|---|
    /// | column families | those of the row type: the default one, and each that a field or attribute names |
    /// | garbage collection rules | those of the row type's `gc` and `ttl`; else one version of each column, or every cell in families with [`Versions`](crate::row::Versions) or aggregates |
    /// | initial splits | the first key of every salt bucket, so that the first writes are spread; none without a salt |
    /// | row key schema | that of the key type, if its layout has one |
    /// | stamp | an empty column family whose name has the fingerprint of the key type's layout |
    /// | granularity of timestamps | milliseconds |
    ///
    /// Awaiting the declaration, or [`if_absent`](CreateTable::if_absent), sends it.
    pub fn create(&self) -> CreateTable<K> {
        CreateTable { declared: TableDeclaration::of(&self.handle), types: PhantomData }
    }

    /// Creates the table if it does not exist, and returns whether it was created. Short for `create().if_absent()`.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// assert!(users.create_if_absent().await?);
    /// assert!(!users.create_if_absent().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A salted table begins with one tablet for each bucket, so that the first writes are spread. It has the families
    /// and garbage collection rules of [`create`](Self::create).
    ///
    /// If several programs call it at the same time, one creates the table and the others compare it. An existing table is
    /// compared as by [`verify`](Self::verify), without the types of its columns. Key types with tags can share a table: the call adds this one's stamp. Each
    /// of them should create the table [without a row key schema](CreateTable::without_row_key_schema).
    ///
    /// # Errors
    /// As [`CreateTable::if_absent`].
    ///
    /// # Cancel safety
    /// As `if_absent`.
    pub async fn create_if_absent(&self) -> Result<bool, Error> {
        self.create().if_absent().await
    }

    /// The table's schema: its column families with their rules, and its row key schema.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let info = users.info().await?;
    /// assert_eq!(info.family("cf").unwrap().gc_rule().to_string(), "all but the newest version");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) if there is no such table.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn info(&self) -> Result<TableInfo, Error> {
        self.handle.client.table_info(&self.handle.name).await
    }

    /// Deletes the table with all its rows.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) if there is no such table. [`is_table_mismatch`](Error::is_table_mismatch) if the table is
    /// stamped with another layout of its keys: it is not the table that was meant. [`unchecked`](Self::unchecked) deletes it in spite of it.
    ///
    /// # Cancel safety
    /// If the future is dropped, the table is deleted or not, perhaps later.
    pub async fn delete_table(&self) -> Result<(), Error> {
        self.handle.check_meant().await?;
        self.handle.client.delete_table(&self.handle.name).await
    }

    /// Adds, changes and drops column families: all changes in order, or none of them. Returns the new schema.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// use keyderive::GcRule;
    /// use keyderive::client::{Family, FamilyChange};
    ///
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let add = FamilyChange::add(Family::new("stats", GcRule::max_versions(3)));
    /// users.modify_families([add]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is retried only if it was not sent, or the server rejected it.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the table is stamped with another layout of its keys: it is not the table that was
    /// meant. Those of [`RawTable::modify_families`](crate::client::RawTable::modify_families).
    ///
    /// # Cancel safety
    /// If the future is dropped, all changes are made or none, perhaps later.
    pub async fn modify_families(
        &self,
        changes: impl IntoIterator<Item = FamilyChange>,
    ) -> Result<TableInfo, Error> {
        self.handle.check_meant().await?;
        self.handle.client.modify_families(&self.handle.name, changes.into_iter().collect()).await
    }

    /// Removes the table's row key schema, so that rows of other key types may be written to it.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// users.remove_row_key_schema().await?;
    /// users.remove_row_key_schema().await?; // it has none: nothing is sent but a read
    /// assert!(users.info().await?.row_key_schema().is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// **Find out first who queries the key's columns.** From then on SQL sees keys as bytes, in the column `_key`: queries that name a
    /// part of the key fail, in this program, in Bigtable Studio, in dashboards, and in materialized views, as do exports to other tools
    /// that name one. keyderive itself reads and plans by the key type, and [`verify`](Self::verify) and
    /// [`create_if_absent`](Self::create_if_absent) accept a table without the schema. No stored row changes.
    ///
    /// Call it before [`since`](crate::guide::attributes#a-salt-from-a-date-on) gives the key another salt, and when a key type with
    /// another tag begins to share the table: a query that names a column of the schema fails at the first key that does not fit the
    /// schema. A [re-keying](crate::table::rekey) keeps it: the new table gets a schema of its own keys.
    ///
    /// When it returns, the table has no schema. It is retried after a lost answer, since removing it twice is as once; if another
    /// program adds a schema in between, the repetition removes that one. After an error, call it again.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) if there is no such table; [`is_table_mismatch`](Error::is_table_mismatch) if it is stamped with
    /// another layout of its keys, and so is not the table that was meant; when a request fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the schema is removed or not, perhaps later.
    pub async fn remove_row_key_schema(&self) -> Result<(), Error> {
        self.handle.check_meant().await?;
        self.handle.client.remove_row_key_schema(&self.handle.name).await
    }

    /// Waits until every cluster of the instance has all writes to the table that were made before the call.
    ///
    /// It polls the server with the backoff and within the total timeout of the settings for `admin`.
    ///
    /// # Errors
    /// [`is_deadline_exceeded`](Error::is_deadline_exceeded) when it times out; when a request fails.
    ///
    /// # Cancel safety
    /// A dropped future stops waiting.
    pub async fn wait_for_consistency(&self) -> Result<(), Error> {
        self.handle.client.wait_for_consistency(&self.handle.name).await
    }
}

/// The declaration of a table, from [`Table::create`].
///
/// Awaiting it creates the table. The request is retried only if the server cannot have carried it out, so the table may
/// exist after another failure.
///
/// # Errors
/// [`is_already_exists`](Error::is_already_exists) if the table exists. Before sending:
///
/// - when a family has an invalid name or rule, a rule that keeps one version although the row type has
///   [`Versions`](crate::row::Versions) there, or the name of a column of the row key schema;
/// - when two fields of the row type are the same column, or it cannot be a row;
/// - when a key to split at cannot be encoded.
#[must_use = "awaiting this, or `if_absent`, creates the table"]
pub struct CreateTable<K> {
    declared: TableDeclaration,
    types: PhantomData<fn() -> K>,
}

/// A table as its types declare it, which is compiled once for all of them.
#[derive(Clone)]
pub(super) struct TableDeclaration {
    client: Client,
    name: Route,
    expected: Expected,
    splits: Vec<Bytes>,
    key: KeyType,
    /// The first error in the declaration.
    fault: Option<Error>,
    /// The key types that share the table.
    keys: Vec<KeyType>,
}

impl<K: TableKey> CreateTable<K> {
    /// Declares a column family, or another rule for a declared one, such as the table's own.
    pub fn family(self, name: impl Into<String>, gc_rule: GcRule) -> Self {
        self.with_family(Family::new(name, gc_rule))
    }

    /// Declares a column family whose cells are the sum, minimum or maximum of the values that are added to them.
    pub fn aggregate_family(self, name: impl Into<String>, aggregate: Aggregate, gc_rule: GcRule) -> Self {
        self.with_family(Family::aggregate(name, aggregate, gc_rule))
    }

    fn with_family(mut self, family: Family) -> Self {
        self.declared.add_family(family);
        self
    }

    /// Begins a tablet at this key, and at the same place in every other salt bucket. For a place given by the first fields
    /// of a key, use [`split_before`](Self::split_before).
    pub fn split_at(mut self, key: &K) -> Self {
        let key = self.declared.key.encode(key);
        self.declared.split_at(key);
        self
    }

    /// Begins a tablet where the rows of a scan begin, in every salt bucket.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct EventKey { user_id: String, at: u64 }
    /// # type Event = std::collections::BTreeMap<String, String>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let events = Client::embedded().table::<EventKey, Event>("events");
    /// events
    ///     .create()
    ///     .split_before(EventKey::scan().user_id_range("m"..))
    ///     .split_before(EventKey::scan().user_id("zoe").at_range(1_000_000..))
    ///     .await?;
    /// assert_eq!(events.partitions().await?.len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A scan with several ranges, as from `_any_of`, begins a tablet at each. A scan from the start of the table begins none,
    /// nor does one that no row can satisfy. If the salt comes after a field, only the buckets that the scan reads are split.
    ///
    /// Splits are only of a table that is created: of one that exists, [`if_absent`](Self::if_absent) and [`verify`](Self::verify) neither
    /// change nor compare them.
    pub fn split_before(mut self, scan: impl IntoPlan<K>) -> Self {
        self.declared.split_before(scan.into_plan().map(Plan::untyped));
        self
    }

    /// Creates the table without a row key schema: SQL then sees keys as bytes.
    ///
    /// Use it for a table that several key types share: SQL that names a column of the schema fails at the first row key that
    /// does not fit the schema. A row key schema cannot be changed later, only
    /// [removed](Table::remove_row_key_schema).
    pub fn without_row_key_schema(mut self) -> Self {
        self.declared.expected.schema = None;
        self
    }

    /// Sets the unit of the table's timestamps, which is fixed when the table is created. Default: milliseconds.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct TradeKey { symbol: String }
    /// # type Trade = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// use keyderive::client::Granularity;
    ///
    /// let trades = Client::embedded().table::<TradeKey, Trade>("trades");
    /// assert!(trades.create().granularity(Granularity::Micros).if_absent().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// An existing table is compared with a declared granularity, and accepted with either if none is declared.
    pub fn granularity(mut self, granularity: Granularity) -> Self {
        self.declared.expected.granularity = Some(granularity);
        self
    }

    /// Creates the table if it does not exist, and returns whether it was created.
    ///
    /// An existing table is compared as by [`verify`](Self::verify), except for rules that are not declared. The call
    /// adds the stamp of a key type with a tag, if the table lacks it.
    ///
    /// # Errors
    /// When the table can neither be created nor found. [`is_table_mismatch`](Error::is_table_mismatch) for the first
    /// difference from the declaration, as expected and as found, and for a table without stamps, which another
    /// program created: [`Table::stamp`] adds one.
    ///
    /// # Cancel safety
    /// If the future is dropped, the table is created or not, perhaps later.
    pub async fn if_absent(self) -> Result<bool, Error> {
        self.declared.create_or_compare().await.map_err(Faults::into_first)
    }

    /// Compares an existing table with the declaration, and changes nothing. Awaiting it sends it. The table must
    ///
    /// - be stamped with the layout of the key type,
    /// - have the declared families, each with its rule and its type of cells,
    /// - have the declared row key schema, if it has one, and
    /// - have the granularity of timestamps, if one is declared.
    ///
    /// It may have other families and splits.
    ///
    /// ```
    /// # use keyderive::{Client, GcRule, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let error = users.create().family("cf", GcRule::max_versions(3)).verify().await.unwrap_err();
    /// assert!(error.is_table_mismatch());
    /// assert_eq!(
    ///     error.to_string(),
    ///     "table `users`: the garbage collection rule of the column family `cf` is not the declared one: expected \
    ///      `all but the newest 3 versions`, found `all but the newest version`; change it with \
    ///      `modify_families` and `FamilyChange::gc_rule`",
    /// );
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference, as expected and as found, and for a
    /// table that is not stamped with the key type, unless [`allow_unstamped`](Verify::allow_unstamped) accepts it;
    /// [`is_not_found`](Error::is_not_found) if there is no such table.
    pub fn verify(&self) -> Verify {
        self.declared.verify()
    }
}

impl TableDeclaration {
    /// The declaration of a table with the types of its handle.
    pub(super) fn of(table: &UntypedTable) -> Self {
        Self {
            client: table.client.clone(),
            name: table.name.clone(),
            expected: Expected::of(table),
            splits: Vec::new(),
            fault: table.check_fit().err(),
            key: table.key,
            keys: vec![table.key],
        }
    }

    fn add_family(&mut self, family: Family) {
        self.expected.declared_rules.push(family.name().to_owned());
        match self.expected.families.iter_mut().find(|known| known.name() == family.name()) {
            // `family` gives a family of aggregates another rule.
            Some(known) => {
                *known = match (known.aggregates(), family.aggregates()) {
                    (Some(aggregate), None) => {
                        Family::aggregate(family.name(), aggregate, family.gc_rule().clone())
                    }
                    _ => family,
                };
            }
            None => self.expected.families.push(family),
        }
    }

    fn split_at(&mut self, key: Result<Vec<u8>, EncodeError>) {
        let schema = self.key.schema();
        match key {
            Ok(key) => self.splits.extend(in_every_bucket(schema, schema.split_at_salt(&key))),
            Err(error) => {
                self.fault.get_or_insert_with(|| Error::key(&self.name, error));
            }
        }
    }

    fn split_before(&mut self, plan: Result<Plan<()>, PlanError>) {
        match plan {
            Ok(plan) => self.splits.extend(starts(self.key.schema(), &plan)),
            Err(error) => {
                self.fault.get_or_insert_with(|| Error::plan(&self.name, error));
            }
        }
    }

    /// As [`CreateTable::verify`].
    fn verify(&self) -> Verify {
        let all = self.expected.families.iter().map(|family| family.name().to_owned());
        let expected = Expected { declared_rules: all.collect(), ..self.expected.clone() };
        Verify::new(&self.client, &self.name, &self.keys, self.check().map(|()| expected))
    }

    /// As [`if_absent`](Self::if_absent), with every difference.
    pub(super) async fn create_or_compare(&self) -> Result<bool, Faults> {
        match self.send().await {
            Err(error) if error.is_already_exists() => {}
            created => return Ok(created.map(|()| true)?),
        }
        let mut info = self.client.table_info(&self.name).await?;
        let (_, statuses) = layout_check::compare(&self.keys, &self.client, &info, &self.expected).await?;
        for (key, status) in self.keys.iter().zip(statuses) {
            match status {
                StampStatus::Stamped | StampStatus::Earlier { .. } => {}
                StampStatus::OtherTags => info = stamp::add(*key, &self.client, &info).await?,
                StampStatus::Unstamped => return Err(stamp::unstamped(*key, &info).into()),
            }
            stamp::register_key(*key, &self.client, &info).await;
        }
        Ok(false)
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn name(&self) -> &Route {
        &self.name
    }

    pub(super) fn keys(&self) -> &[KeyType] {
        &self.keys
    }

    /// What a table of these types should be: rules that are not declared may differ.
    pub(super) fn expected(&self) -> &Expected {
        &self.expected
    }

    /// A comparison of the table with its types alone.
    pub(super) fn verify_types(&self) -> Verify {
        Verify::new(&self.client, &self.name, &self.keys, Ok(self.expected.clone()))
    }

    /// Adds what another key type or row type needs of the same table; returns what contradicts.
    pub(super) fn share(&mut self, other: Self) -> Vec<Error> {
        let Self { expected: other, keys, .. } = other;
        let (own, mut faults) = (&mut self.expected, Vec::new());
        for new in other.families {
            let name = new.name();
            let is_in = |names: &[String]| names.iter().any(|known| known == name);
            let (is_ruled, was_ruled) = (is_in(&other.declared_rules), is_in(&own.declared_rules));
            let Some(known) = own.families.iter_mut().find(|known| known.name() == name) else {
                own.families.push(new);
                continue;
            };
            if known.cells() != new.cells() {
                faults.push(Error::definition(
                    &self.name,
                    format!(
                        "its row types disagree about the column family `{name}`: it holds `{}` for one, and `{}` for another; give the \
                         family another name in one of them, by `#[row(name = \"…\")]`",
                        known.cells(),
                        new.cells(),
                    ),
                ));
            } else if is_ruled && was_ruled && !known.gc_rule().is_same(new.gc_rule()) {
                faults.push(Error::definition(
                    &self.name,
                    format!(
                        "its row types declare two garbage collection rules for the column family `{name}`: `{}` and `{}`; declare the \
                         same in both, or in one of them alone",
                        known.gc_rule(),
                        new.gc_rule(),
                    ),
                ));
            } else if is_ruled || (!was_ruled && new.gc_rule().is_same(&GcRule::never())) {
                // Of two rules that nobody declares, the one that keeps every version loses nothing.
                *known = new;
            }
        }
        for (names, more) in [
            (&mut own.declared_rules, other.declared_rules),
            (&mut own.versioned, other.versioned),
            (&mut own.at_zero, other.at_zero),
        ] {
            names.extend(more);
            names.sort_unstable();
            names.dedup();
        }
        for key in keys {
            if !self.keys.iter().any(|known| known.schema() == key.schema()) {
                self.keys.push(key);
                // A table has one schema, which is of no use to several key types.
                own.schema = None;
            }
        }
        faults
    }

    fn key_types(&self) -> String {
        let names: Vec<_> = self.keys.iter().map(|key| format!("`{}`", key.schema().key_type())).collect();
        names.join(" and ")
    }

    /// The keys at which all but the first tablet begin.
    pub(super) fn initial_splits(&self) -> Vec<Bytes> {
        let buckets = self.keys.iter().flat_map(|key| key.schema().bucket_splits()).map(Bytes::from);
        let mut splits: Vec<_> = buckets.chain(self.splits.iter().cloned()).collect();
        splits.sort_unstable();
        splits.dedup();
        splits
    }

    pub(super) async fn send(&self) -> Result<(), Error> {
        self.check()?;
        let mut families = self.expected.families.clone();
        let id = stamp::new_id();
        families.extend(self.keys.iter().map(|key| stamp::first(*key, &id)));
        let (splits, row_key_schema) = (self.initial_splits(), self.expected.schema.clone());
        let granularity = self.expected.granularity.unwrap_or_default();
        let new = NewTable { families, splits, row_key_schema, granularity };
        self.client.create_table(&self.name, new).await?;
        let declared: Vec<_> = self.keys.iter().map(|key| stamp::declared_key(*key)).collect();
        self.client.try_register(&self.name, &[id], &declared, true).await;
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if let Some(error) = &self.fault {
            return Err(error.clone());
        }
        let Expected { families, versioned, at_zero, schema, .. } = &self.expected;
        check_reserved(&self.name, families.iter().map(Family::name))?;
        let lossy = |family: &&Family| {
            family.gc_rule().keeps_one() && versioned.iter().any(|name| name == family.name())
        };
        if let Some(family) = families.iter().find(lossy) {
            return Err(Error::definition(
                &self.name,
                layout_check::loses_versions(family.name(), family.gc_rule()),
            ));
        }
        let loses = |family: &&Family| {
            layout_check::loses_aggregates(family.gc_rule())
                && at_zero.iter().any(|name| name == family.name())
        };
        if let Some(family) = families.iter().find(loses) {
            let text = layout_check::removes_aggregates(family.name(), family.gc_rule());
            return Err(Error::definition(&self.name, text));
        }
        let Some(schema) = schema else { return Ok(()) };
        match schema.columns().find(|column| families.iter().any(|family| family.name() == *column)) {
            None => Ok(()),
            Some(column) => Err(Error::definition(
                &self.name,
                format!(
                    "`{column}` is a column family and a column of the row key schema, and SQL needs different names \
                     for them; give the family or the field of {} another name, or leave the schema out with \
                     `.without_row_key_schema()`",
                    self.key_types(),
                ),
            )),
        }
    }
}

/// Where the ranges and keys of a plan begin, without the start of the table.
fn starts(schema: &KeySchema, plan: &Plan<()>) -> Vec<Bytes> {
    let mut starts = Vec::new();
    let mut requests = plan.requests();
    // Keys without a salt begin at the same places, and again after each bucket.
    if requests.iter().any(|request| request.bucket().is_some()) {
        requests.retain(|request| request.bucket().is_some());
    }
    for request in requests {
        let of_ranges = request.ranges().iter().map(|range| range.start().to_vec());
        let of_request = of_ranges.chain(request.keys().iter().map(|key| key.to_vec()));
        match schema.first_salt() {
            // A start contains a salt that comes first, so it is repeated for every bucket. A start may end before a
            // salt that comes after a field, so it is taken as it is.
            Some(salt) if salt.fields_before() == 0 => {
                let bucket = request.stored_bucket();
                starts.extend(
                    of_request
                        .flat_map(|start| in_every_bucket(schema, schema.split_at_bucket(bucket, &start))),
                );
            }
            _ => starts.extend(of_request.map(Bytes::from)),
        }
    }
    starts.retain(|start| !start.is_empty());
    starts
}

/// The key with the salt of each bucket, and without one if keys of some epoch have none.
fn in_every_bucket(schema: &KeySchema, split: (&[u8], &[u8])) -> Vec<Bytes> {
    let is_unsalted = schema.salts().any(|salt| salt.is_none());
    let buckets = schema.all_buckets().into_iter().map(Some).chain(is_unsalted.then_some(None));
    buckets.map(|bucket| schema.join_at_salt(bucket, split).into()).collect()
}

impl<K: TableKey> IntoFuture for CreateTable<K> {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.declared.send().await })
    }
}

impl<K> Clone for CreateTable<K> {
    fn clone(&self) -> Self {
        Self { declared: self.declared.clone(), types: PhantomData }
    }
}

impl<K> fmt::Debug for CreateTable<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.declared.fmt(f)
    }
}

impl fmt::Debug for TableDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateTable")
            .field("name", &self.name)
            .field("families", &self.expected.families)
            .field("splits", &self.splits)
            .finish_non_exhaustive()
    }
}
