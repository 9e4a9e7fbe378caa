//! Whether a table has the layout of the key type and the families of the row type.

use futures_util::FutureExt as _;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::expected::{Expected, check_schema};
use super::handle::Check;
use super::reserved::{check_reserved, check_table};
use super::stamp::{self, StampStatus};
use super::{OneTable, Reads, Table, UntypedTable};
use crate::client::{Client, Error, Family, Freshness, GcRule, Granularity, Route, TableInfo};
use crate::key::{KeyType, TableKey};
use crate::row::now_micros;

/// What confirms the key layout of a table that passed [`Table::verify`] or
/// [`CreateTable::verify`](super::CreateTable::verify).
///
/// False is not an error: the table does not confirm the layout in that way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Whether the table has the stamp of the key type's layout, an empty column family that it is created with, or the
    /// stamp of the layout without the last of its salts from a date on. False only if [`Verify::allow_unstamped`] accepts
    /// that.
    pub stamp: bool,
    /// Whether the table has a row key schema, which is then the expected one. The emulator stores none.
    pub row_key_schema: bool,
}

/// A comparison of a table with its declaration, from [`Table::verify`] or
/// [`CreateTable::verify`](super::CreateTable::verify).
///
/// Awaiting it reads the table and changes nothing.
///
/// # Errors
/// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference, as expected and as found;
/// [`is_not_found`](Error::is_not_found) if there is no such table.
#[must_use = "awaiting this compares the table"]
pub struct Verify {
    client: Client,
    name: Route,
    expected: Result<Expected, Error>,
    allows_unstamped: bool,
    /// The key types that share the table, each with its own stamp.
    keys: Vec<KeyType>,
}

/// Why a table is not as declared: one fault or more.
#[derive(Debug)]
pub(super) struct Faults {
    first: Error,
    others: Vec<Error>,
}

impl Faults {
    /// Fails if there are faults.
    pub(super) fn of(faults: Vec<Error>) -> Result<(), Self> {
        let mut faults = faults.into_iter();
        match faults.next() {
            None => Ok(()),
            Some(first) => Err(Self { first, others: faults.collect() }),
        }
    }

    pub(super) fn into_first(self) -> Error {
        self.first
    }

    pub(super) fn into_vec(self) -> Vec<Error> {
        std::iter::once(self.first).chain(self.others).collect()
    }
}

impl From<Error> for Faults {
    fn from(first: Error) -> Self {
        Self { first, others: Vec::new() }
    }
}

impl Verify {
    pub(super) fn new(
        client: &Client,
        name: &Route,
        keys: &[KeyType],
        expected: Result<Expected, Error>,
    ) -> Self {
        let (client, name, keys) = (client.clone(), name.clone(), keys.to_vec());
        Self { client, name, expected, allows_unstamped: false, keys }
    }

    /// Accepts a table that is not stamped with the key type, such as one that Terraform or another program created.
    ///
    /// ```
    /// # use keyderive::{Client, GcRule, RowKey};
    /// # use keyderive::client::Family;
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// # let families = [Family::new("cf", GcRule::max_versions(1))];
    /// # client.raw_table("users").create(families, [""; 0]).await?;
    /// let users = client.table::<UserKey, User>("users");
    /// assert!(!users.verify().allow_unstamped().await?.stamp);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A stamp with another layout is still an error. [`Table::stamp`] stamps the table.
    pub fn allow_unstamped(self) -> Self {
        Self { allows_unstamped: true, ..self }
    }

    /// Compares the table, and returns every difference.
    pub(super) async fn run(self) -> Result<Verified, Faults> {
        let expected = self.expected?;
        let info = self.client.table_info(&self.name).await?;
        let (row_key_schema, statuses) = compare(&self.keys, &self.client, &info, &expected).await?;
        let is_unstamped =
            |status: &StampStatus| matches!(status, StampStatus::Unstamped | StampStatus::OtherTags);
        let without = self.keys.iter().zip(&statuses).filter(|(_, status)| is_unstamped(status));
        let faults: Vec<_> = without.map(|(key, _)| stamp::unstamped(*key, &info)).collect();
        let verified = Verified { stamp: faults.is_empty(), row_key_schema };
        match self.allows_unstamped {
            true => Ok(verified),
            false => Faults::of(faults).map(|()| verified),
        }
    }
}

impl IntoFuture for Verify {
    type Output = Result<Verified, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.run().await.map_err(Faults::into_first) })
    }
}

impl fmt::Debug for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, expected, allows_unstamped, .. } = self;
        f.debug_struct("Verify")
            .field("name", name)
            .field("expected", expected)
            .field("allows_unstamped", allows_unstamped)
            .finish_non_exhaustive()
    }
}

impl<K: TableKey, R> Table<K, R> {
    /// Compares an existing table with the key type and the row type, and changes nothing. Awaiting it sends it.
    ///
    /// - The table must be stamped with the layout of the key type, and with no other layout of key types with this tag.
    ///   [`allow_unstamped`](Verify::allow_unstamped) accepts a table that another program created;
    ///   [`stamp`](Self::stamp) adds a stamp to it. For a key type with [salts from a date
    ///   on](crate::guide::attributes#a-salt-from-a-date-on), it may be stamped with the layout without the last ones;
    ///   [`advance_stamp`](Self::advance_stamp) stamps it with all, and the client logs a warning if a bound has passed that the
    ///   stamp lacks.
    /// - It must have the default family and those of the row type: families of aggregates where fields are
    ///   [`Sum`](crate::row::Sum), [`Min`](crate::row::Min) or [`Max`](crate::row::Max), and of bytes elsewhere. If the row type has
    ///   [`Versions`](crate::row::Versions) in a family, the garbage collection rule must keep more than one version. For aggregates
    ///   without windows, whose cells are at time 0, it must not remove cells by their age.
    /// - Its row key schema, if it has one, must be the key type's. It may have none, since it may have been created
    ///   without, and the emulator stores none.
    ///
    /// [`CreateTable::verify`](super::CreateTable::verify) compares the whole declaration, including rules. Neither compares the types of
    /// columns: [`verify_rows`](Self::verify_rows) does, with what other programs declare and with a sample of the stored rows, as does the
    /// first read or write.
    ///
    /// ```
    /// use keyderive::{Client, RowKey};
    ///
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// #[derive(RowKey)]
    /// struct UserKey {
    ///     id: u64,
    /// }
    ///
    /// #[derive(RowKey)]
    /// struct WideKey {
    ///     #[pad(24)]
    ///     id: u64,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let client = Client::embedded();
    /// let users = client.table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let found = users.verify().await?;
    /// assert!(found.stamp);
    ///
    /// let error = client.table::<WideKey, User>("users").verify().await.unwrap_err();
    /// assert!(error.is_table_mismatch());
    /// assert!(error.to_string().contains("the width of the field `id`")); // the registry has the stored layout
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference, as expected and as found, and for a
    /// table that is not stamped with the key type; [`is_not_found`](Error::is_not_found) if there is no such table.
    pub fn verify(&self) -> Verify {
        let UntypedTable { client, name, key, .. } = &self.handle;
        let expected = self.handle.check_fit().map(|()| Expected::of(&self.handle));
        Verify::new(client, name, &[*key], expected)
    }
}

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// This table without the layout check before the first request.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { #[pad(6)] id: u32 }
    /// # #[derive(RowKey)] struct OtherKey { #[pad(8)] id: u32 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// # client.table::<OtherKey, User>("users").create_if_absent().await?;
    /// let users = client.table::<UserKey, User>("users"); // the table was created with `#[pad(8)]`
    /// assert!(users.get(&UserKey { id: 7 }).await.unwrap_err().is_table_mismatch());
    /// assert_eq!(users.unchecked().get(&UserKey { id: 7 }).await?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For tools that read a table with another layout than its own. Programs with the table's layout cannot find a row that
    /// is written this way.
    #[must_use]
    pub fn unchecked(&self) -> Self
    where
        S: OneTable,
    {
        self.with_handle(UntypedTable { check: Check::Off, ..self.handle.clone() })
    }
}

impl UntypedTable {
    /// The layout check, which every typed call begins with: before the handle's first request, it checks that the table
    /// is stamped with no other layout and has the families of the row type.
    ///
    /// If the schema of the table cannot be read, it passes, unless the settings require the check.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference.
    #[inline]
    pub(super) async fn ensure_checked(&self) -> Result<(), Error> {
        match self.is_checked() {
            true => Ok(()),
            false => self.check_table().boxed().await,
        }
    }

    async fn check_table(&self) -> Result<(), Error> {
        self.check_fit()?;
        check_reserved(&self.name, self.family_names())?;
        let Some((version, info)) = self.client.cached_info(self.name.table()).await? else { return Ok(()) };
        self.compare_at(version, &info).await
    }

    /// The definition of the table, not older than a caller wants, which is compared; none if it cannot be read.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference; [`is_not_found`](Error::is_not_found) if there is no such
    /// table.
    pub(super) async fn current_info(
        &self,
        freshness: Freshness,
    ) -> Result<Option<(u64, Arc<TableInfo>)>, Error> {
        let Some((version, info)) = self.client.info_since(self.name.table(), Some(freshness)).await? else {
            return Ok(None);
        };
        self.compare_at(version, &info).await?;
        Ok(Some((version, info)))
    }

    async fn compare_at(&self, version: u64, info: &TableInfo) -> Result<(), Error> {
        if let Err(error) = self.compare(info) {
            self.client.count_mismatch(self.name.table());
            return Err(stamp::explained(error, self.key, &self.client, info).await);
        }
        if let Check::At(checked) = &self.check {
            checked.table.store(version, Ordering::Relaxed);
        }
        Ok(())
    }

    /// As [`ensure_checked`](Self::ensure_checked), for a table of which the families alone are compared, with a schema that stays.
    pub(super) fn ensure_families(&self, info: &TableInfo) -> Result<(), Error> {
        self.check_fit()?;
        if let Check::At(checked) = &self.check
            && checked.table.load(Ordering::Relaxed) == 0
        {
            check_reserved(&self.name, self.family_names())?;
            self.compare_families(info).inspect_err(|_| self.client.count_mismatch(self.name.table()))?;
            checked.table.store(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks, before the table itself is changed, that it is the one that was meant: not the registry, and not stamped only
    /// with other layouts of its keys.
    ///
    /// If the schema of the table cannot be read, it passes, unless the settings require the check.
    pub(super) async fn check_meant(&self) -> Result<(), Error> {
        check_table(&self.name)?;
        let Check::At(_) = self.check else { return Ok(()) };
        let fresh = Freshness { after: Instant::now(), insists: false };
        let Some((_, info)) = self.client.info_since(self.name.table(), Some(fresh)).await? else {
            return Ok(());
        };
        let own = self.key.schema().fingerprint().to_string();
        match stamp::status(self.key, &info) {
            Err(error) if !stamp::fingerprints(&info).contains(&own) => {
                Err(stamp::explained(error, self.key, &self.client, &info).await)
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Fails if the row type is no part of the table's.
    pub(super) fn check_fit(&self) -> Result<(), Error> {
        self.misfit.clone().map_or(Ok(()), Err)
    }

    fn compare(&self, info: &TableInfo) -> Result<(), Error> {
        match stamp::status(self.key, info)? {
            StampStatus::OtherTags => return Err(stamp::unstamped(self.key, info)),
            StampStatus::Earlier { epochs } => {
                stamp::warn_of_bounds(self.key, &self.client, info.name(), epochs);
            }
            StampStatus::Stamped | StampStatus::Unstamped => {}
        }
        self.compare_families(info)
    }

    /// Fails if a table does not have the families that the row type needs.
    pub(super) fn compare_families(&self, info: &TableInfo) -> Result<(), Error> {
        let families = self.families();
        check_families(info, &families)?;
        check_cell_types(info, &families)?;
        check_versions(info, &self.versioned_families())?;
        check_aggregates(info, &self.aggregates_at_zero())
    }
}

/// Compares a table with what is expected of it and of the key types that share it, apart from the status of their stamps, which it
/// returns; and whether the table has a row key schema.
///
/// # Errors
/// All differences, those of its key types first: if it is another table than was meant, its families do not matter.
pub(super) async fn compare(
    keys: &[KeyType],
    client: &Client,
    info: &TableInfo,
    expected: &Expected,
) -> Result<(bool, Vec<StampStatus>), Faults> {
    let (mut faults, mut has_schema, mut statuses) = (Vec::new(), false, Vec::new());
    for key in keys {
        match stamp::status(*key, info) {
            Ok(status) => {
                if let StampStatus::Earlier { epochs } = status {
                    stamp::warn_of_bounds(*key, client, info.name(), epochs);
                }
                statuses.push(status);
            }
            Err(error) => faults.push(stamp::explained(error, *key, client, info).await),
        }
    }
    // A table has one schema, which is of no use to several key types.
    if let Some(key) = keys.first() {
        match check_schema(*key, info, expected.schema.as_ref()) {
            Ok(is_there) => has_schema = is_there,
            Err(fault) => faults.push(fault),
        }
    }

    let mut note = |checked: Result<(), Error>| faults.extend(checked.err());
    let Expected { families, versioned, at_zero, .. } = expected;
    note(check_families(info, families));
    families.iter().for_each(|family| note(check_cell_types(info, from_ref(family))));
    versioned.iter().for_each(|family| note(check_versions(info, from_ref(family))));
    at_zero.iter().for_each(|family| note(check_aggregates(info, from_ref(family))));
    note(check_granularity(info, expected.granularity));
    let is_declared = |family: &&Family| expected.declared_rules.iter().any(|name| name == family.name());
    families.iter().filter(is_declared).for_each(|family| note(check_rule(info, family)));
    Faults::of(faults).map(|()| (has_schema, statuses))
}

/// Fails if the table lacks families, and names all of them. The first of `families` is the table's own.
fn check_families(info: &TableInfo, families: &[Family]) -> Result<(), Error> {
    let is_missing = |family: &&Family| info.family(family.name()).is_none();
    let missing: Vec<_> =
        families.iter().filter(is_missing).map(|family| format!("`{}`", family.name())).collect();
    let noun = match missing.len() {
        0 => return Ok(()),
        1 => "family",
        _ => "families",
    };
    let (missing, found) = (missing.join(", "), info.family_names());
    let text = format!("it exists, without the column {noun} {missing}; it has {found}");
    Err(Error::mismatch(info.name(), text).with_remedy(
        "add what is missing with `modify_families` and `FamilyChange::add`, or name another family: for the row type's own columns by \
         `#[row(family = \"…\")]`, for a map by `client.table(…).family(…)`, for a field with `#[row(family)]` by `#[row(name = \"…\")]`",
    ))
}

/// Fails for a family whose rule removes versions that the row type reads.
fn check_versions(info: &TableInfo, versioned: &[String]) -> Result<(), Error> {
    let lossy = |family: &&Family| family.gc_rule().keeps_one();
    match versioned.iter().find_map(|name| info.family(name).filter(lossy)) {
        None => Ok(()),
        Some(family) => Err(Error::mismatch(
            info.name(),
            format!("{}, with `modify_families`", loses_versions(family.name(), family.gc_rule())),
        )),
    }
}

/// Why a rule does not fit a family whose columns are read in every version.
pub(super) fn loses_versions(family: &str, found: &GcRule) -> String {
    format!(
        "the row type has `Versions` in the column family `{family}`, whose garbage collection rule keeps one: found \
         `{found}`; give the family a rule that keeps them, `GcRule::never()` or a higher `GcRule::max_versions(…)`"
    )
}

/// Fails if the table's timestamps have another unit than the declared one.
fn check_granularity(info: &TableInfo, declared: Option<Granularity>) -> Result<(), Error> {
    let found = info.granularity();
    match declared.filter(|declared| *declared != found) {
        None => Ok(()),
        Some(declared) => Err(Error::mismatch(
            info.name(),
            format!(
                "the granularity of its timestamps is not the declared one: expected `{declared}`, found `{found}`; a table keeps \
                 its granularity, so declare that one, or copy the rows to another table"
            ),
        )),
    }
}

/// Fails for a family of aggregates at time 0 whose rule removes cells by their age.
fn check_aggregates(info: &TableInfo, at_zero: &[String]) -> Result<(), Error> {
    let loses = |family: &&Family| loses_aggregates(family.gc_rule());
    match at_zero.iter().find_map(|name| info.family(name).filter(loses)) {
        None => Ok(()),
        Some(family) => Err(Error::mismatch(
            info.name(),
            format!("{}, with `modify_families`", removes_aggregates(family.name(), family.gc_rule())),
        )),
    }
}

/// Whether a rule removes what is added to an aggregate without windows, whose time is 0.
pub(super) fn loses_aggregates(rule: &GcRule) -> bool {
    rule.removes(Duration::from_micros(now_micros().unsigned_abs()), 0)
}

/// Why a rule does not fit a family of aggregates without windows.
pub(super) fn removes_aggregates(family: &str, found: &GcRule) -> String {
    format!(
        "the row type has an aggregate without windows in the column family `{family}`, at time 0, which the garbage collection rule \
         of the family removes: found `{found}`; use `Versions<…>` with `window`, or give the family the rule `GcRule::never()`"
    )
}

/// Fails for a family whose cells have another type.
fn check_cell_types(info: &TableInfo, families: &[Family]) -> Result<(), Error> {
    for family in families {
        let Some(found) = info.family(family.name()) else { continue };
        let (expected, cells) = (family.cells(), found.cells());
        if cells != expected {
            let text = format!(
                "the column family `{}` is of another type: expected `{expected}`, found `{cells}`; a family keeps its type, so name \
                 another one in the row type",
                family.name()
            );
            return Err(Error::mismatch(info.name(), text));
        }
    }
    Ok(())
}

/// Fails for a family whose rule is not the declared one.
fn check_rule(info: &TableInfo, family: &Family) -> Result<(), Error> {
    match info.family(family.name()).map(Family::gc_rule) {
        Some(found) if !found.is_same(family.gc_rule()) => {
            Err(differs(info, family, "the garbage collection rule", family.gc_rule(), found))
        }
        _ => Ok(()),
    }
}

fn differs(
    info: &TableInfo,
    family: &Family,
    what: &str,
    expected: &dyn fmt::Display,
    found: &dyn fmt::Display,
) -> Error {
    let name = family.name();
    Error::mismatch(
        info.name(),
        format!(
            "{what} of the column family `{name}` is not the declared one: expected `{expected}`, found `{found}`"
        ),
    )
    .with_remedy("change it with `modify_families` and `FamilyChange::gc_rule`")
}
