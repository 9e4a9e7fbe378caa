//! Tables made, by what is declared of them.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use super::verify::{self, Expected, Verify};
use super::vouch::{self, Standing};
use super::{Table, VERSIONS, marker};
use crate::client::{Aggregate, Client, Error, Family, GcRule, NewTable, TableSchema};
use crate::key::{Schema, TableKey};
use crate::plan::{IntoPlan, Plan};
use crate::row::Shape;

impl<K: TableKey, R> Table<K, R> {
    /// Creates the table, as it is declared step by step.
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
    /// declared.verify().await?; // at the next start, say
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// | declared | unless said otherwise |
    /// |---|---|
    /// | column families | the table's own, and one for each field of the row type that is a struct or a map |
    /// | their rules | one version of each column is kept; every version, where the row type reads [`Versions`](crate::row::Versions) there |
    /// | initial splits | the first key of every salt bucket, so that the first writes are spread; none without a salt |
    /// | row key schema | that of the key type, where its layout has one |
    /// | voucher | an empty column family that has the fingerprint of the key type's layout in its name |
    /// | marker row | none |
    ///
    /// It is sent when the declaration is awaited, or by [`if_absent`](CreateTable::if_absent).
    pub fn create(&self) -> CreateTable<K> {
        CreateTable {
            client: self.client.clone(),
            name: Arc::clone(&self.name),
            families: self.families(),
            ruled: Vec::new(),
            histories: self.histories(),
            splits: Vec::new(),
            has_schema: true,
            has_marker: false,
            fault: self
                .shape
                .check(&self.family)
                .err()
                .map(|error| Error::definition(&self.name, error.to_string())),
            key: PhantomData,
        }
    }

    /// Creates the table where there is none, with its column families; says whether it did. It is the short form of
    /// `create().if_absent()`.
    ///
    /// A salted table begins with one tablet for each bucket, so that the first writes are spread. The
    /// families keep one version of each column, or all where the row type reads them.
    ///
    /// Of several programs that call it at the same time one creates the table, and the others compare it. A table that
    /// exists is compared as by [`verify`](Self::verify); where key types with tags share it, this one's voucher is added;
    /// each of them creates it [without a row key schema](CreateTable::without_row_key_schema) then.
    ///
    /// # Errors
    /// As [`CreateTable::if_absent`].
    pub async fn create_if_absent(&self) -> Result<bool, Error> {
        self.create().if_absent().await
    }

    /// The families of the row type: the table's own, and those of its fields that are structs or maps.
    ///
    /// A struct with a flattened field does not tell its names, and a type that is only written tells nothing.
    pub(super) fn families(&self) -> Vec<Family> {
        let rule = |all| if all { GcRule::never() } else { GcRule::max_versions(VERSIONS) };
        self.family_names().map(|(name, all_versions)| Family::new(name, rule(all_versions))).collect()
    }

    /// The families of which the row type reads every version.
    pub(super) fn histories(&self) -> Vec<String> {
        self.family_names()
            .filter(|(_, all_versions)| *all_versions)
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// The families of the row type, each with whether every version is read. What a flattened field has is told by
    /// [`every_version`](Self::every_version) alone.
    pub(super) fn family_names(&self) -> impl Iterator<Item = (&str, bool)> {
        let told = self.every_version && matches!(*self.shape, Shape::Flattened(_));
        let own = [(&*self.family, self.shape.own_versions() || told)];
        own.into_iter().chain(self.shape.families().map(|(name, all)| -> (&str, bool) { (name, all) }))
    }
}

/// What a table is to be, from [`Table::create`].
///
/// Awaited, it creates the table. It is sent again only when the server cannot have carried it out, so after another
/// failure the table may be there.
///
/// # Errors
/// [`is_already_exists`](Error::is_already_exists) where there is such a table. Before anything is sent: where a family
/// has a name or a rule that no family can have, a rule that keeps one version where the row type has
/// [`Versions`](crate::row::Versions), or the name of a column of the row key schema; where two fields of the row type are
/// one column, or it is none that can be a row; where a key to split at
/// cannot be encoded.
#[must_use = "a table is created when this is awaited, or by `if_absent`"]
pub struct CreateTable<K> {
    client: Client,
    name: Arc<str>,
    families: Vec<Family>,
    /// Those whose rules are declared, and not as usual.
    ruled: Vec<String>,
    /// Those of which every version is read.
    histories: Vec<String>,
    splits: Vec<Bytes>,
    has_schema: bool,
    has_marker: bool,
    /// The first fault of what was declared.
    fault: Option<Error>,
    key: PhantomData<fn() -> K>,
}

impl<K: TableKey> CreateTable<K> {
    /// Declares a column family, or for one that is declared, as the table's own is, another rule.
    pub fn family(self, name: impl Into<String>, gc_rule: GcRule) -> Self {
        self.with_family(Family::new(name, gc_rule))
    }

    /// Declares a column family whose cells are sums, least or greatest values of what is added to them.
    pub fn aggregate_family(self, name: impl Into<String>, aggregate: Aggregate, gc_rule: GcRule) -> Self {
        self.with_family(Family::aggregate(name, aggregate, gc_rule))
    }

    fn with_family(mut self, family: Family) -> Self {
        self.ruled.push(family.name().to_owned());
        match self.families.iter_mut().find(|known| known.name() == family.name()) {
            Some(known) => *known = family,
            None => self.families.push(family),
        }
        self
    }

    /// Has a tablet begin at this key, and at the same place in every other salt bucket. [`split_before`](Self::split_before)
    /// takes the first fields alone.
    pub fn split_at(mut self, key: &K) -> Self {
        match key.encode() {
            Ok(key) => self.splits.extend(in_every_bucket(K::SCHEMA, key)),
            Err(error) => {
                self.fault.get_or_insert_with(|| Error::key(&self.name, error));
            }
        }
        self
    }

    /// Has a tablet begin where the rows of a scan begin, in every salt bucket: for a place by the first fields of a key.
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
    /// Of several ranges, as those of `_any_of`, each begins one. A scan from the start of the table begins none, and
    /// neither does one that no row can satisfy. Where the salt stands after a field, only the buckets are split that the
    /// scan reads.
    pub fn split_before(mut self, scan: impl IntoPlan<K>) -> Self {
        match scan.into_plan() {
            Ok(plan) => self.splits.extend(starts(K::SCHEMA, &plan)),
            Err(error) => {
                self.fault.get_or_insert_with(|| Error::plan(&self.name, error));
            }
        }
        self
    }

    /// Leaves the row key schema out: SQL then sees keys as bytes.
    ///
    /// It is for a table that several key types share, since SQL that names a column of the schema fails at the first
    /// row key that the schema does not read. A row key schema cannot be changed later, only removed.
    pub fn without_row_key_schema(self) -> Self {
        Self { has_schema: false, ..self }
    }

    /// Writes a marker row too, which says by which layout the rows are stored, so that a program whose key type is
    /// another one finds out before it reads or writes; [`Table::verify`] compares it.
    ///
    /// It takes the place of the row key schema: the marker's key is none of the key type's, and SQL that names a
    /// column of the schema would fail at it. [`Table::write_marker`] says where it lies.
    pub fn with_marker(self) -> Self {
        Self { has_marker: true, ..self }
    }

    /// Creates the table where there is none; says whether it did.
    ///
    /// A table that exists is compared as by [`verify`](Self::verify), but for the rules that are not declared. What it
    /// lacks beside other key types is added: the voucher of a key type with a tag, and the marker row where one is
    /// declared.
    ///
    /// # Errors
    /// When the table can be neither created nor found. [`is_table_mismatch`](Error::is_table_mismatch) for the first difference from
    /// what is declared, with both sides; where the table vouches for no layout at all, since another program made it:
    /// [`Table::vouch`] gives it a voucher.
    ///
    /// # Cancel safety
    /// When the future is dropped, the table may be there, without the marker. The same call again completes it.
    pub async fn if_absent(self) -> Result<bool, Error> {
        match self.send().await {
            Err(error) if error.is_already_exists() => {}
            created => return created.map(|()| true),
        }
        let info = self.client.table_info(&self.name).await?;
        // The marker is completed below.
        let expected = Expected { marker: false, ..self.expected(self.ruled.clone()) };
        let (_, standing) = verify::compare::<K>(&self.client, &info, &expected).await?;
        match standing {
            Standing::Vouched => {}
            Standing::OtherTags => vouch::add::<K>(&self.client, &self.name).await?,
            Standing::Unvouched => return Err(vouch::unvouched::<K>(&info)),
        }
        if self.has_marker {
            marker::write::<K>(&self.client, &info).await?;
        }
        Ok(false)
    }

    /// Compares the table that exists with what is declared, and changes nothing: that it vouches for the layout of the
    /// key type; that it has the families, each with its rule and its kind of cells; that its row key schema is the
    /// declared one, where it has one; that it has the marker row of the key type, where one is declared. Families and
    /// splits that are not declared are no fault. It is sent when it is awaited.
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
    ///      `all but the newest 3 versions`, found `all but the newest version`",
    /// );
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference, with both sides, and for a table that does not vouch
    /// for the key type, unless [`allow_unvouched`](Verify::allow_unvouched) lets it pass;
    /// [`is_not_found`](Error::is_not_found) where there is no such table.
    pub fn verify(&self) -> Verify<K> {
        let all = self.families.iter().map(|family| family.name().to_owned());
        Verify {
            client: self.client.clone(),
            name: Arc::clone(&self.name),
            expected: self.check().map(|()| self.expected(all.collect())),
            allows_unvouched: false,
            key: PhantomData,
        }
    }

    fn expected(&self, ruled: Vec<String>) -> Expected {
        Expected {
            families: self.families.clone(),
            ruled,
            histories: self.histories.clone(),
            schema: self.schema(),
            marker: self.has_marker,
        }
    }

    async fn send(&self) -> Result<(), Error> {
        self.check()?;
        let mut families = self.families.clone();
        families.push(vouch::family::<K>());
        if self.has_marker {
            families.push(marker::family());
        }
        let buckets = K::SCHEMA.bucket_splits().into_iter().map(Bytes::from);
        let mut splits: Vec<_> = buckets.chain(self.splits.iter().cloned()).collect();
        splits.sort_unstable();
        splits.dedup();
        let row_key_schema = self.schema();
        let new = NewTable { families, splits, row_key_schema };
        self.client.create_table(&self.name, new).await?;
        match self.has_marker {
            true => marker::write_first::<K>(&self.client, &self.name).await,
            false => Ok(()),
        }
    }

    /// The row key schema that the table is to have.
    fn schema(&self) -> Option<TableSchema> {
        let wanted = self.has_schema && !self.has_marker;
        wanted.then(K::row_key_schema)?.ok().map(|schema| (&schema).into())
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(error) = &self.fault {
            return Err(error.clone());
        }
        vouch::refuse_reserved(&self.name, self.families.iter().map(Family::name))?;
        let lossy = |family: &&Family| {
            family.gc_rule().keeps_one() && self.histories.iter().any(|name| name == family.name())
        };
        if let Some(family) = self.families.iter().find(lossy) {
            return Err(Error::definition(&self.name, verify::lost_history(family.name(), family.gc_rule())));
        }
        if self.has_marker {
            marker::check::<K>(&self.name)?;
        }
        let Some(schema) = self.schema() else { return Ok(()) };
        match schema.columns().find(|column| self.families.iter().any(|family| family.name() == *column)) {
            None => Ok(()),
            Some(column) => Err(Error::definition(
                &self.name,
                format!(
                    "`{column}` is a column family and a column of the row key schema, and SQL takes a name for one \
                     of them; give the family or the field of `{}` another name, or leave the schema out with \
                     `.without_row_key_schema()`",
                    K::SCHEMA.key_type(),
                ),
            )),
        }
    }
}

/// Where the ranges and keys of a plan begin, but for the start of the table.
fn starts<K>(schema: &Schema, plan: &Plan<K>) -> Vec<Bytes> {
    let mut starts = Vec::new();
    for request in plan.requests() {
        let of_ranges = request.ranges().iter().map(|range| range.start().to_vec());
        let of_request = of_ranges.chain(request.keys().iter().map(|key| key.to_vec()));
        match schema.salt() {
            // What begins after its bucket does so in each; after a field, it may end before the salt.
            Some(salt) if salt.fields_before() == 0 => {
                starts.extend(of_request.flat_map(|start| in_every_bucket(schema, start)));
            }
            _ => starts.extend(of_request.map(Bytes::from)),
        }
    }
    starts.retain(|start| !start.is_empty());
    starts
}

/// The keys of all buckets at the place of `key`.
fn in_every_bucket(schema: &Schema, key: Vec<u8>) -> Vec<Bytes> {
    let Some(salt) = schema.salt() else { return vec![key.into()] };
    let split = schema.split_at_salt(&key);
    salt.buckets().map(|bucket| schema.join_at_salt(Some(bucket), split).into()).collect()
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
            name: Arc::clone(&self.name),
            families: self.families.clone(),
            ruled: self.ruled.clone(),
            histories: self.histories.clone(),
            splits: self.splits.clone(),
            has_schema: self.has_schema,
            has_marker: self.has_marker,
            fault: self.fault.clone(),
            key: PhantomData,
        }
    }
}

impl<K> fmt::Debug for CreateTable<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateTable")
            .field("name", &self.name)
            .field("families", &self.families)
            .field("splits", &self.splits)
            .field("has_marker", &self.has_marker)
            .finish_non_exhaustive()
    }
}
