//! Tables as a whole: created as the key type and the row type declare them, described, changed, deleted.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;

use bytes::Bytes;

use super::declared::{declared_key, register_key};
use super::stamp::{self, StampStatus};
use super::verify::{self, Expected, Faults, Verify};
use super::{Handle, Table};
use crate::client::{
    Aggregate, Client, Error, Family, FamilyChange, GcRule, Granularity, NewTable, Route, TableInfo,
    TableSchema,
};
use crate::dynamic::{LayoutError, TableLayout};
use crate::key::{KeyType, Schema, TableKey};
use crate::plan::{IntoPlan, Plan};
use crate::row::{ColumnKind, DEFAULT_VERSIONS, DeclaredGc, FamilyRule, RowSchema};

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
        CreateTable::of(&self.handle)
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
    /// A salted table begins with one tablet for each bucket, so that the first writes are spread. The families and their
    /// garbage collection rules are those of [`create`](Self::create).
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
    /// schema. A [re-keying](crate::rekey) keeps it: the new table gets a schema of its own keys.
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

impl Handle {
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

    /// The families of which the row type reads every version.
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
    pub(super) fn ruled_families(&self) -> Vec<String> {
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
    /// The column families of its rows, with the rules that [`Table::create`] gives them.
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
    client: Client,
    name: Route,
    families: Vec<Family>,
    /// The families with a declared rule rather than the default one.
    declared_rules: Vec<String>,
    /// The families whose columns are read in every version.
    versioned: Vec<String>,
    /// The families with aggregates without windows.
    at_zero: Vec<String>,
    splits: Vec<Bytes>,
    has_schema: bool,
    /// As declared.
    granularity: Option<Granularity>,
    /// The first error in the declaration.
    fault: Option<Error>,
    /// The key types that share the table.
    keys: Vec<KeyType>,
    types: PhantomData<fn() -> K>,
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
        self.declared_rules.push(family.name().to_owned());
        match self.families.iter_mut().find(|known| known.name() == family.name()) {
            // `family` gives a family of aggregates another rule.
            Some(known) => {
                *known = match (known.aggregates(), family.aggregates()) {
                    (Some(aggregate), None) => {
                        Family::aggregate(family.name(), aggregate, family.gc_rule().clone())
                    }
                    _ => family,
                };
            }
            None => self.families.push(family),
        }
        self
    }

    /// Begins a tablet at this key, and at the same place in every other salt bucket. For a place given by the first fields
    /// of a key, use [`split_before`](Self::split_before).
    pub fn split_at(mut self, key: &K) -> Self {
        match key.encode() {
            Ok(key) => self.splits.extend(in_every_bucket(K::SCHEMA, K::SCHEMA.split_at_salt(&key))),
            Err(error) => {
                self.fault.get_or_insert_with(|| Error::key(&self.name, error));
            }
        }
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
        match scan.into_plan() {
            Ok(plan) => self.splits.extend(starts(K::SCHEMA, &plan)),
            Err(error) => {
                self.fault.get_or_insert_with(|| Error::plan(&self.name, error));
            }
        }
        self
    }

    /// Creates the table without a row key schema: SQL then sees keys as bytes.
    ///
    /// Use it for a table that several key types share: SQL that names a column of the schema fails at the first row key that
    /// does not fit the schema. A row key schema cannot be changed later, only
    /// [removed](Table::remove_row_key_schema).
    pub fn without_row_key_schema(self) -> Self {
        Self { has_schema: false, ..self }
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
    pub fn granularity(self, granularity: Granularity) -> Self {
        Self { granularity: Some(granularity), ..self }
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
        self.create_or_compare().await.map_err(Faults::into_first)
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
    ///      `all but the newest 3 versions`, found `all but the newest version`; a rule is changed with \
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
        let all = self.families.iter().map(|family| family.name().to_owned());
        Verify {
            client: self.client.clone(),
            name: self.name.clone(),
            expected: self.check().map(|()| self.expected(all.collect())),
            allows_unstamped: false,
            keys: self.keys.clone(),
        }
    }
}

/// What needs no key type: it is the same for the declarations of all tables of a program.
impl<K> CreateTable<K> {
    /// The declaration of a table with the types of its handle.
    pub(super) fn of(table: &Handle) -> Self {
        Self {
            client: table.client.clone(),
            name: table.name.clone(),
            families: table.families(),
            declared_rules: table.ruled_families(),
            versioned: table.versioned_families(),
            at_zero: table.aggregates_at_zero(),
            splits: Vec::new(),
            has_schema: true,
            granularity: None,
            fault: None,
            keys: vec![table.key],
            types: PhantomData,
        }
    }

    /// As [`if_absent`](Self::if_absent), with every difference.
    pub(super) async fn create_or_compare(&self) -> Result<bool, Faults> {
        match self.send().await {
            Err(error) if error.is_already_exists() => {}
            created => return Ok(created.map(|()| true)?),
        }
        let mut info = self.client.table_info(&self.name).await?;
        let expected = self.expected_of_types();
        let (_, statuses) = verify::compare(&self.keys, &self.client, &info, &expected).await?;
        for (key, status) in self.keys.iter().zip(statuses) {
            match status {
                StampStatus::Stamped | StampStatus::Earlier { .. } => {}
                StampStatus::OtherTags => info = stamp::add(*key, &self.client, &info).await?,
                StampStatus::Unstamped => return Err(stamp::unstamped(*key, &info).into()),
            }
            register_key(*key, &self.client, &info).await;
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

    /// What a table of these types has: rules that are not declared may differ.
    pub(super) fn expected_of_types(&self) -> Expected {
        self.expected(self.declared_rules.clone())
    }

    /// A comparison of the table with its types alone.
    pub(super) fn verify_types(&self) -> Verify {
        Verify {
            client: self.client.clone(),
            name: self.name.clone(),
            expected: Ok(self.expected_of_types()),
            allows_unstamped: false,
            keys: self.keys.clone(),
        }
    }

    /// Adds what another key type or row type needs of the same table; returns what contradicts.
    pub(super) fn share(&mut self, other: Self) -> Vec<Error> {
        let mut faults = Vec::new();
        for new in other.families {
            let name = new.name();
            let is_in = |names: &[String]| names.iter().any(|known| known == name);
            let (is_ruled, was_ruled) = (is_in(&other.declared_rules), is_in(&self.declared_rules));
            let Some(known) = self.families.iter_mut().find(|known| known.name() == name) else {
                self.families.push(new);
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
            (&mut self.declared_rules, other.declared_rules),
            (&mut self.versioned, other.versioned),
            (&mut self.at_zero, other.at_zero),
        ] {
            names.extend(more);
            names.sort_unstable();
            names.dedup();
        }
        for key in other.keys {
            if !self.keys.iter().any(|known| known.schema() == key.schema()) {
                self.keys.push(key);
            }
        }
        faults
    }

    fn key_types(&self) -> String {
        let names: Vec<_> = self.keys.iter().map(|key| format!("`{}`", key.schema().key_type())).collect();
        names.join(" and ")
    }

    fn expected(&self, declared_rules: Vec<String>) -> Expected {
        Expected {
            families: self.families.clone(),
            declared_rules,
            versioned: self.versioned.clone(),
            at_zero: self.at_zero.clone(),
            schema: self.schema(),
            granularity: self.granularity,
        }
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
        let mut families = self.families.clone();
        let id = stamp::new_id();
        families.extend(self.keys.iter().map(|key| stamp::first(*key, &id)));
        let (splits, row_key_schema) = (self.initial_splits(), self.schema());
        let granularity = self.granularity.unwrap_or_default();
        let new = NewTable { families, splits, row_key_schema, granularity };
        self.client.create_table(&self.name, new).await?;
        let declared: Vec<_> = self.keys.iter().map(|key| declared_key(*key)).collect();
        self.client.try_register(&self.name, &[id], &declared, true).await;
        Ok(())
    }

    /// The row key schema to create the table with.
    pub(super) fn schema(&self) -> Option<TableSchema> {
        let [key] = &*self.keys else { return None };
        self.has_schema.then(|| key.schema().row_key_schema())?.ok().map(|schema| (&schema).into())
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if let Some(error) = &self.fault {
            return Err(error.clone());
        }
        verify::check_reserved(&self.name, self.families.iter().map(Family::name))?;
        let lossy = |family: &&Family| {
            family.gc_rule().keeps_one() && self.versioned.iter().any(|name| name == family.name())
        };
        if let Some(family) = self.families.iter().find(lossy) {
            return Err(Error::definition(
                &self.name,
                verify::loses_versions(family.name(), family.gc_rule()),
            ));
        }
        let loses = |family: &&Family| {
            verify::loses_aggregates(family.gc_rule())
                && self.at_zero.iter().any(|name| name == family.name())
        };
        if let Some(family) = self.families.iter().find(loses) {
            let text = verify::removes_aggregates(family.name(), family.gc_rule());
            return Err(Error::definition(&self.name, text));
        }
        let Some(schema) = self.schema() else { return Ok(()) };
        match schema.columns().find(|column| self.families.iter().any(|family| family.name() == *column)) {
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
fn starts<K>(schema: &Schema, plan: &Plan<K>) -> Vec<Bytes> {
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
            // A start has a salt that comes first, so it is repeated for every bucket. It may end before a salt that
            // comes after a field, so it is taken as it is.
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
fn in_every_bucket(schema: &Schema, split: (&[u8], &[u8])) -> Vec<Bytes> {
    let is_unsalted = schema.salts().any(|salt| salt.is_none());
    let buckets = schema.all_buckets().into_iter().map(Some).chain(is_unsalted.then_some(None));
    buckets.map(|bucket| schema.join_at_salt(bucket, split).into()).collect()
}

impl<K: TableKey> IntoFuture for CreateTable<K> {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await })
    }
}

impl<K> Clone for CreateTable<K> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            name: self.name.clone(),
            families: self.families.clone(),
            declared_rules: self.declared_rules.clone(),
            versioned: self.versioned.clone(),
            at_zero: self.at_zero.clone(),
            splits: self.splits.clone(),
            has_schema: self.has_schema,
            granularity: self.granularity,
            fault: self.fault.clone(),
            keys: self.keys.clone(),
            types: PhantomData,
        }
    }
}

impl<K> fmt::Debug for CreateTable<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateTable")
            .field("name", &self.name)
            .field("families", &self.families)
            .field("splits", &self.splits)
            .finish_non_exhaustive()
    }
}
