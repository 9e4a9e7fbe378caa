//! Whether a table has the layout of the key type and the families of the row type.
//!
//! A table is stamped with the layout of its keys: the stamp is an empty column family, whose name has the layout's fingerprint. Bigtable
//! stores nothing else about a table that a program could put there: `CreateTable` makes the families together with the
//! table, `GetTable` reads their names, and an older program ignores them.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::handle::Check;
use super::{Handle, Table, marker};
use crate::client::{
    Client, Error, Family, FamilyChange, GcRule, Granularity, Route, TableInfo, TableSchema,
};
use crate::key::{KeyType, Schema, TableKey};
use crate::row::{RowFilter, now_micros};

/// The prefix of the names of stamp families.
const PREFIX: &str = "keyderive.";
/// Reserved family names: that of the marker row, and that of the origins of a re-keying.
const RESERVED: [&str; 2] = [marker::FAMILY, "keyderive-move"];

/// How long before a bound [`Table::advance_marker`] does nothing.
const HOUR: i128 = 3600 * 1_000_000_000;
/// How often [`Table::advance_marker`] looks again after another program changed the table.
const ADVANCE_ATTEMPTS: usize = 8;

/// What confirms the key layout of a table that passed [`Table::verify`] or
/// [`CreateTable::verify`](super::CreateTable::verify).
///
/// False is not an error: the table does not confirm the layout in that way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Whether the table has the stamp of the key type's layout, an empty column family that it is created with, or that of
    /// the layout without the last of its salts from a date on. False only if [`Verify::allow_unstamped`] accepts that.
    pub stamp: bool,
    /// Whether the table has a row key schema, which is then the expected one. The emulator stores none.
    pub row_key_schema: bool,
    /// Whether the table has a marker row for the key type, which then has its fingerprint, or one as for the stamp.
    pub marker: bool,
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
    pub(super) client: Client,
    pub(super) name: Route,
    pub(super) expected: Result<Expected, Error>,
    pub(super) allows_unstamped: bool,
    pub(super) key: KeyType,
}

/// What to compare a table with.
#[derive(Debug)]
pub(super) struct Expected {
    /// The first is the table's own.
    pub(super) families: Vec<Family>,
    /// The families whose rules are compared.
    pub(super) declared_rules: Vec<String>,
    /// The families whose columns are read in every version.
    pub(super) versioned: Vec<String>,
    /// The families with aggregates without windows.
    pub(super) at_zero: Vec<String>,
    pub(super) schema: Option<TableSchema>,
    /// Whether the table must have a marker.
    pub(super) marker: bool,
    /// As declared.
    pub(super) granularity: Option<Granularity>,
}

impl Verify {
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
}

impl IntoFuture for Verify {
    type Output = Result<Verified, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let expected = self.expected?;
            let info = self.client.table_info(&self.name).await?;
            let (verified, _) = compare(self.key, &self.client, &info, &expected).await?;
            match verified.stamp || self.allows_unstamped {
                true => Ok(verified),
                false => Err(unstamped(self.key, &info)),
            }
        })
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
    ///   [`advance_marker`](Self::advance_marker) stamps it with all, and the client logs a warning if a bound has passed that the
    ///   stamp lacks.
    /// - It must have the default family and those of the row type: families of aggregates where fields are
    ///   [`Sum`](crate::row::Sum), [`Min`](crate::row::Min) or [`Max`](crate::row::Max), and of bytes elsewhere. If the row type has
    ///   [`Versions`](crate::row::Versions) in a family, the garbage collection rule must keep more than one version. For aggregates
    ///   without windows, whose cells are at time 0, it must not remove cells by their age.
    /// - Its row key schema, if it has one, must be that of the key type. It may have none, since it may have been created
    ///   without, and the emulator stores none.
    /// - Its marker row for key types with this tag, if it has one, must have such a fingerprint too.
    ///
    /// [`CreateTable::verify`](super::CreateTable::verify) compares the whole declaration, including rules, and
    /// [`verify_rows`](Self::verify_rows) reads a sample of the stored rows.
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
    /// users.create().with_marker().if_absent().await?;
    /// let found = users.verify().await?;
    /// assert!(found.stamp && found.marker);
    ///
    /// let error = client.table::<WideKey, User>("users").verify().await.unwrap_err();
    /// assert!(error.is_table_mismatch());
    /// assert!(error.to_string().contains("the width of the field `id`")); // thanks to the marker
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference, as expected and as found, and for a
    /// table that is not stamped with the key type; [`is_not_found`](Error::is_not_found) if there is no such table.
    pub fn verify(&self) -> Verify {
        let handle = &self.handle;
        let expected = Expected {
            families: handle.families(),
            declared_rules: handle.ruled_families(),
            versioned: handle.versioned_families(),
            at_zero: handle.aggregates_at_zero(),
            schema: handle.key.schema().row_key_schema().ok().map(|schema| (&schema).into()),
            marker: false,
            granularity: None,
        };
        Verify {
            client: handle.client.clone(),
            name: handle.name.clone(),
            expected: Ok(expected),
            allows_unstamped: false,
            key: handle.key,
        }
    }

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
    pub fn unchecked(&self) -> Self {
        self.with_handle(Handle { check: Check::Off, ..self.handle.clone() })
    }

    /// Stamps a table that has no stamp with this key type's layout: one that another program created, or one whose
    /// stamps are for other tags.
    ///
    /// ```
    /// # use keyderive::{Client, GcRule, RowKey};
    /// # use keyderive::client::Family;
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// // As Terraform creates it.
    /// let families = [Family::new("cf", GcRule::max_versions(1))];
    /// client.raw_table("users").create(families, [""; 0]).await?;
    ///
    /// let users = client.table::<UserKey, User>("users");
    /// assert!(users.verify().await.unwrap_err().is_table_mismatch());
    /// users.stamp().await?;
    /// assert!(users.verify().await?.stamp);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It first reads some hundred keys from all parts of the table, which must all be of the key type: with its salt bucket,
    /// its widths and its tag. If key types with tags share the table, it reads only keys with this tag. It cannot notice what
    /// the keys do not show, such as whether the digits of a time are seconds or milliseconds.
    ///
    /// It does nothing if the table is already stamped with the layout.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the table is stamped with another layout, has a row key schema or a marker
    /// of another one, or has a key that is not of this key type; when a request fails.
    ///
    /// # Cancel safety
    /// A dropped future may have added the stamp. Call it again to be sure.
    pub async fn stamp(&self) -> Result<(), Error> {
        let handle = Handle { check: Check::Off, ..self.handle.clone() };
        let (client, name, key) = (&handle.client, &handle.name, handle.key);
        let info = client.table_info(name).await?;
        if let StampStatus::Stamped | StampStatus::Earlier { .. } = stamp_status(key, &info)? {
            return Ok(());
        }
        check_stored_layout(key, client, &info).await?;
        handle.check_sampled_keys().await?;
        add_stamp(key, client, name).await
    }

    /// Stamps the table with all epochs of the key type, once a [salt from a date on](crate::guide::attributes#a-salt-from-a-date-on)
    /// was added to it.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # mod old {
    /// # #[derive(keyderive::RowKey)]
    /// # pub struct EventKey { user_id: String, #[pad(10)] at: u64 }
    /// # }
    /// #[derive(RowKey)]
    /// #[salt(range = 4, over = "user_id", sep = "!", since(at = 1796083200))]
    /// struct EventKey {
    ///     user_id: String,
    ///     #[pad(10)]
    ///     at: u64,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// # let before = client.table::<old::EventKey, Event>("events"); // as a program without the salt does
    /// # before.create().without_row_key_schema().await?;
    /// let events = client.table::<EventKey, Event>("events");
    /// events.verify().await?; // the table is stamped with the layout without the salt
    /// events.count(EventKey::scan()).await?; // fails if a row is in the wrong layout
    /// events.advance_marker().await?;
    /// # assert!(before.verify().await.unwrap_err().is_table_mismatch());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It replaces the stamp of the first epochs by that of all, in one request, and then the layout in the marker row, if
    /// the table has one. From then on [`verify`](Self::verify) and the first request of a program without the last epochs
    /// fail. A program that has made its first request runs on; if it still does at the bound, it writes rows without the
    /// new salt.
    ///
    /// It looks at no row, so that it can keep old programs out of a table that has rows in the wrong layout already: count them
    /// before.
    ///
    /// It does nothing if the table is already stamped with all epochs, so several programs may call it. If it fails, call it
    /// again at once: a server that applied a part of the request leaves a table that is stamped with both layouts, and the first
    /// request of every program fails.
    ///
    /// # Errors
    /// [`is_invalid_argument`](Error::is_invalid_argument) in the hour before a bound that the stamp lacks, by
    /// the client's clock: call it earlier, or after the bound. A bound that is a plain number is not checked.
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the table is stamped with no layout, or with another one than those of
    /// the first epochs, and if [`verify`](Self::verify) would reject its row key schema or its marker: nothing is changed then, and
    /// the error names the remedy, such as [`remove_row_key_schema`](Self::remove_row_key_schema). When a request fails, such
    /// as for a table with deletion protection.
    ///
    /// # Cancel safety
    /// If the future is dropped, the layout is replaced or not, perhaps later. Call it again.
    pub async fn advance_marker(&self) -> Result<(), Error> {
        self.handle.advance_marker_at(i128::from(self.handle.client.now_micros()) * 1000).await
    }
}

impl Handle {
    /// As [`Table::advance_marker`], at a time in nanoseconds since 1970.
    async fn advance_marker_at(&self, now: i128) -> Result<(), Error> {
        let key = self.key;
        let mut info = self.client.table_info(&self.name).await?;
        for _ in 0..ADVANCE_ATTEMPTS {
            check_stored_layout(key, &self.client, &info).await?;
            let changes = changes_to_advance(key, &info, now)?;
            if changes.is_empty() {
                return marker::advance(key, &self.client, &info).await;
            }
            info = match self.client.modify_families(&self.name, changes).await {
                // Another program has made a part of the change, or all of it.
                Err(error) if error.is_already_exists() || error.is_not_found() => {
                    self.client.table_info(&self.name).await?
                }
                changed => changed?,
            };
        }
        Err(contradiction(key, &info))
    }

    /// Fails if a key of a sample is not of the key type.
    async fn check_sampled_keys(&self) -> Result<(), Error> {
        let keys = RowFilter::chain(RowFilter::existence());
        self.sample(keys, |row| {
            // Decoding fails for keys that would not encode to the same bytes.
            self.key.check(row.key()).map_err(|error| {
                Error::mismatch(
                    &self.name,
                    format!(
                        "it cannot be stamped with {}, since it has a row of another layout: {error}; call `stamp()` with the key \
                         type that its rows were written by",
                        described(self.key.schema())
                    ),
                )
            })
        })
        .await
    }

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
            false => Box::pin(self.check_table()).await,
        }
    }

    async fn check_table(&self) -> Result<(), Error> {
        if let Check::Failed(error) = &self.check {
            return Err(error.clone());
        }
        check_reserved(&self.name, self.family_names())?;
        let Some((version, info)) = self.client.cached_info(self.name.table()).await? else { return Ok(()) };
        self.compare(&info).inspect_err(|_| self.client.count_mismatch(self.name.table()))?;
        if let Check::At(checked) = &self.check {
            checked.store(version, Ordering::Relaxed);
        }
        Ok(())
    }

    /// As [`ensure_checked`](Self::ensure_checked), for a table of which the families alone are compared, with a schema that stays.
    pub(super) fn ensure_families(&self, info: &TableInfo) -> Result<(), Error> {
        match &self.check {
            Check::Failed(error) => return Err(error.clone()),
            Check::At(version) if version.load(Ordering::Relaxed) == 0 => {
                check_reserved(&self.name, self.family_names())?;
                self.compare_families(info).inspect_err(|_| self.client.count_mismatch(self.name.table()))?;
                version.store(1, Ordering::Relaxed);
            }
            Check::At(_) | Check::Off => {}
        }
        Ok(())
    }

    fn compare(&self, info: &TableInfo) -> Result<(), Error> {
        match stamp_status(self.key, info)? {
            StampStatus::OtherTags => return Err(unstamped(self.key, info)),
            StampStatus::Earlier { epochs } => warn_of_bounds(self.key, &self.client, info.name(), epochs),
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

/// What the stamps of a table say about a key type, if they do not contradict it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StampStatus {
    /// The table is stamped with its layout.
    Stamped,
    /// The table is stamped with the layout of this many of its epochs, the first ones.
    Earlier { epochs: usize },
    /// The table has no stamps.
    Unstamped,
    /// The table only has stamps for other tags.
    OtherTags,
}

/// What the name of a stamp family says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    /// The hash of the key type's tag.
    tag: Option<u64>,
    fingerprint: u64,
}

/// Compares a table with what is expected, apart from the stamp status, which it returns.
pub(super) async fn compare(
    key: KeyType,
    client: &Client,
    info: &TableInfo,
    expected: &Expected,
) -> Result<(Verified, StampStatus), Error> {
    check_families(info, &expected.families)?;
    check_cell_types(info, &expected.families)?;
    check_versions(info, &expected.versioned)?;
    check_aggregates(info, &expected.at_zero)?;
    check_granularity(info, expected.granularity)?;
    let is_declared = |family: &&Family| expected.declared_rules.iter().any(|name| name == family.name());
    expected.families.iter().filter(is_declared).try_for_each(|family| check_rule(info, family))?;
    let row_key_schema = check_schema(key, info, expected.schema.as_ref())?;
    // Before the stamps: the marker says what differs, a stamp only that something does.
    let marker = marker::compare(key, client, info).await?;
    let status = stamp_status(key, info)?;
    if expected.marker && !marker {
        return Err(Error::mismatch(
            info.name(),
            format!(
                "expected a marker row for `{}`, found none; once you know that the rows are of this key type, \
                 `write_marker` writes it",
                key.schema().key_type(),
            ),
        ));
    }
    if let StampStatus::Earlier { epochs } = status {
        warn_of_bounds(key, client, info.name(), epochs);
    }
    let stamp = matches!(status, StampStatus::Stamped | StampStatus::Earlier { .. });
    Ok((Verified { stamp, row_key_schema, marker }, status))
}

/// Fails if the table lacks families, and names all of them. The first of `families` is the table's own.
fn check_families(info: &TableInfo, families: &[Family]) -> Result<(), Error> {
    let is_missing = |family: &&Family| info.family(family.name()).is_none();
    let missing: Vec<_> =
        families.iter().filter(is_missing).map(|family| format!("`{}`", family.name())).collect();
    let (noun, them) = match missing.len() {
        0 => return Ok(()),
        1 => ("family", "it"),
        _ => ("families", "them"),
    };
    let lacks_own = families.first().as_ref().is_some_and(is_missing);
    let own = match lacks_own {
        true => {
            "; or name another family for the row type's own columns, by `#[row(family = \"…\")]`, and for a map by \
             `client.table(…).family(…)`"
        }
        false => "",
    };
    let lacks_others = missing.len() > usize::from(lacks_own);
    let others = match lacks_others {
        true => {
            "; each field of the row type with `#[row(family)]` is a family, by the field's name or the one of `#[row(name = \"…\")]`"
        }
        false => "",
    };
    Err(Error::mismatch(
        info.name(),
        format!(
            "it exists, without the column {noun} {}; it has {}: add {them} to the table with `modify_families` and \
             `FamilyChange::add`{own}{others}",
            missing.join(", "),
            info.family_names(),
        ),
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
            "{what} of the column family `{name}` is not the declared one: expected `{expected}`, found `{found}`; a rule is changed \
             with `modify_families` and `FamilyChange::gc_rule`"
        ),
    )
}

/// The first difference between the row key schemas of the table and of the key type, in words.
fn schema_difference(key: KeyType, info: &TableInfo) -> Option<String> {
    let expected = TableSchema::from(&key.schema().row_key_schema().ok()?);
    info.row_key_schema()?.difference(&expected)
}

/// Whether the table has a row key schema, which must be the expected one.
fn check_schema(key: KeyType, info: &TableInfo, expected: Option<&TableSchema>) -> Result<bool, Error> {
    let Some(found) = info.row_key_schema() else { return Ok(false) };
    let key_type = key.schema().key_type();
    let fault = match (expected, key.schema().row_key_schema()) {
        (Some(expected), _) => match found.difference(expected) {
            None => return Ok(true),
            Some(difference) => format!(
                "its row key schema is not that of `{key_type}`: {difference}; expected {expected}, found {found}; use the key \
                 type that the table was created with, or take the schema away with `remove_row_key_schema`"
            ),
        },
        (None, Err(reason)) => format!(
            "it has a row key schema, and `{key_type}` has none, since {reason}; expected none, found {found}; \
             `remove_row_key_schema` takes it away"
        ),
        (None, Ok(_)) => {
            format!(
                "it has a row key schema, and is declared without one; expected none, found {found}; \
                 `remove_row_key_schema` takes it away"
            )
        }
    };
    Err(Error::mismatch(info.name(), fault))
}

/// Fails for a table whose row key schema or marker is not that of the key type, so that `verify` would reject it with whatever
/// stamp.
async fn check_stored_layout(key: KeyType, client: &Client, info: &TableInfo) -> Result<(), Error> {
    let schema = key.schema().row_key_schema().ok().map(|schema| (&schema).into());
    check_schema(key, info, schema.as_ref())?;
    marker::compare(key, client, info).await.map(drop)
}

/// The stamp family of a key type.
pub(super) fn stamp_family(key: KeyType) -> Family {
    stamp(key).family()
}

/// Adds the stamp of a key type to a table.
///
/// # Errors
/// When the stamps of the table then contradict the key type.
pub(super) async fn add_stamp(key: KeyType, client: &Client, table: &str) -> Result<(), Error> {
    let info = match client.modify_families(table, vec![FamilyChange::add(stamp_family(key))]).await {
        // Another program has added it.
        Err(error) if error.is_already_exists() => client.table_info(table).await?,
        changed => changed?,
    };
    // If two programs add different stamps at the same time, both fail here.
    match stamp_status(key, &info)? {
        StampStatus::Stamped | StampStatus::Earlier { .. } => Ok(()),
        StampStatus::Unstamped | StampStatus::OtherTags => Err(unstamped(key, &info)),
    }
}

/// Fails for families with reserved names.
pub(super) fn check_reserved<'a>(
    table: &str,
    mut families: impl Iterator<Item = &'a str>,
) -> Result<(), Error> {
    match families.find(|name| is_reserved(name)) {
        None => Ok(()),
        Some(name) => Err(Error::definition(
            table,
            format!(
                "the column family `{name}` has a name that is reserved for keyderive itself, as are `keyderive`, \
                 `keyderive-move` and all that begin with `{PREFIX}`; give the field another name by \
                 `#[row(name = \"…\")]`, or declare the family with another name"
            ),
        )),
    }
}

/// Whether a family has a reserved name: no row has cells in it that are a caller's.
pub(super) fn is_reserved(family: &str) -> bool {
    RESERVED.contains(&family) || family.starts_with(PREFIX)
}

/// The stamp of a table while it is re-keyed from one key type to another, for `key`, which is one of both. Older and newer
/// programs, which know nothing of the re-keying, reject the table.
pub(super) fn pair_stamp(key: KeyType, pair: [KeyType; 2], old_table: &str) -> Family {
    let both = pair.map(|key| key.schema().fingerprint().to_u64().to_be_bytes());
    let named = [both.as_flattened(), old_table.as_bytes()].concat();
    Stamp { fingerprint: fnv1a(&named), ..stamp(key) }.family()
}

/// Fails unless the old table of a pair is stamped with its key type, with the pair, or, while the stamp is replaced, with both.
pub(super) fn check_pair(pair: [KeyType; 2], info: &TableInfo) -> Result<(), Error> {
    let [key, _] = pair;
    let (own, of_pair) = (stamp_family(key), pair_stamp(key, pair, ""));
    let tag = stamp(key).tag;
    let mut is_stamped = false;
    for name in stamps(info) {
        match Stamp::parse(name) {
            _ if name == own.name() || name == of_pair.name() => is_stamped = true,
            Some(found) if found.tag.is_some() && tag.is_some() && found.tag != tag => {}
            _ => return Err(contradiction(key, info)),
        }
    }
    if is_stamped { Ok(()) } else { Err(unstamped(key, info)) }
}

/// Replaces one stamp of a table by another. A server may do the half; the same call then does the rest.
pub(super) async fn replace_stamp(
    client: &Client,
    table: &str,
    old: &Family,
    new: &Family,
) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        let info = client.table_info(table).await?;
        let mut changes = Vec::new();
        if info.family(new.name()).is_none() {
            changes.push(FamilyChange::add(new.clone()));
        }
        if info.family(old.name()).is_some() {
            changes.push(FamilyChange::drop(old.name()));
        }
        if changes.is_empty() {
            return Ok(());
        }
        match client.modify_families(table, changes).await {
            // Another program has made one of the changes.
            Err(error) if tries < 3 && (error.is_already_exists() || error.is_not_found()) => tries += 1,
            changed => return changed.map(drop),
        }
    }
}

/// What the stamps of a table say about a key type.
///
/// # Errors
/// [`is_table_mismatch`](Error::is_table_mismatch) if they contradict it.
fn stamp_status(key: KeyType, info: &TableInfo) -> Result<StampStatus, Error> {
    let own = stamp(key);
    let (mut status, mut contradicted) = (StampStatus::Unstamped, false);
    for name in stamps(info) {
        match Stamp::parse(name) {
            Some(Stamp { tag, fingerprint }) if tag == own.tag => match epochs_of(key, fingerprint) {
                // A table that is stamped with two layouts of the key type is used by none.
                _ if matches!(status, StampStatus::Stamped | StampStatus::Earlier { .. }) => {
                    contradicted = true;
                }
                Some(epochs) if epochs == key.schema().epoch_count() => status = StampStatus::Stamped,
                Some(epochs) => status = StampStatus::Earlier { epochs },
                None => contradicted = true,
            },
            Some(Stamp { tag: Some(_), .. }) if own.tag.is_some() => {
                if status == StampStatus::Unstamped {
                    status = StampStatus::OtherTags;
                }
            }
            _ => contradicted = true,
        }
    }
    match contradicted {
        false => Ok(status),
        true => Err(contradiction(key, info)),
    }
}

/// How many of the epochs of the key type, the first ones, a layout has; `None` for another layout.
fn epochs_of(key: KeyType, fingerprint: u64) -> Option<usize> {
    (1..=key.schema().epoch_count())
        .find(|epochs| key.schema().fingerprint_of(*epochs).to_u64() == fingerprint)
}

/// Warns now and then if a bound has passed that the stamp lacks.
fn warn_of_bounds(key: KeyType, client: &Client, table: &str, epochs: usize) {
    let now = i128::from(client.now_micros()) * 1000;
    let passed = key.schema().epochs().iter().skip(epochs - 1).find(|epoch| {
        let bound = epoch.since().unix_nanos();
        bound.is_some_and(|bound| bound <= now)
    });
    if let Some(epoch) = passed.filter(|_| client.may_warn_of_bounds()) {
        tracing::warn!(
            table,
            since = %epoch.since(),
            "the keys have another salt since a time that has passed, and the table's stamp lacks it: programs \
             without the salt can still write rows; call `advance_marker` once all programs have it"
        );
    }
}

/// The changes after which the table is stamped with all epochs alone; none if it is already.
///
/// # Errors
/// If it is stamped with no layout, or with another one than those of the first epochs; in the hour before a bound.
fn changes_to_advance(key: KeyType, info: &TableInfo, now: i128) -> Result<Vec<FamilyChange>, Error> {
    let own = stamp(key);
    let all = key.schema().epoch_count();
    let (mut earlier, mut is_stamped) = (Vec::new(), false);
    for name in stamps(info) {
        match Stamp::parse(name) {
            Some(Stamp { tag, fingerprint }) if tag == own.tag => match epochs_of(key, fingerprint) {
                Some(epochs) if epochs == all => is_stamped = true,
                Some(epochs) => earlier.push((epochs, name)),
                None => return Err(contradiction(key, info)),
            },
            Some(Stamp { tag: Some(_), .. }) if own.tag.is_some() => {}
            _ => return Err(contradiction(key, info)),
        }
    }
    let mut changes = Vec::new();
    if !is_stamped {
        let [(epochs, _)] = earlier[..] else {
            return Err(match earlier.is_empty() {
                true => unstamped(key, info),
                false => contradiction(key, info),
            });
        };
        check_hour(key, info.name(), epochs, now)?;
        changes.push(FamilyChange::add(stamp_family(key)));
    }
    changes.extend(earlier.iter().map(|(_, name)| FamilyChange::drop(*name)));
    Ok(changes)
}

/// Fails in the hour before a bound that the stamp, which has this many epochs, lacks.
fn check_hour(key: KeyType, table: &str, epochs: usize, now: i128) -> Result<(), Error> {
    let is_near = |bound: i128| (bound - HOUR..bound).contains(&now);
    let near = key
        .schema()
        .epochs()
        .iter()
        .skip(epochs - 1)
        .find(|epoch| epoch.since().unix_nanos().is_some_and(is_near));
    match near {
        None => Ok(()),
        Some(epoch) => Err(Error::definition(
            table,
            format!(
                "`advance_marker` does nothing in the hour before a bound, and keys have another salt since {}: programs \
                 without the salt would fail when it is too late to deploy them before the bound; call it after the bound, \
                 and until then see that no such program is left",
                epoch.since()
            ),
        )),
    }
}

/// The error for a table that is not stamped with the key type.
pub(super) fn unstamped(key: KeyType, info: &TableInfo) -> Error {
    let expected = described(key.schema());
    let text = match stamps(info).next() {
        None => format!(
            "it is not stamped with the layout of its keys, since another program created it; expected {expected}, found no \
             stamp beside the column families {}; `stamp()` adds it, after it has checked a sample of the keys, and \
             `verify().allow_unstamped()` accepts the table without one",
            info.family_names(),
        ),
        Some(_) => format!(
            "it is only stamped with key types that have other tags; expected {expected}, found {}; if the tag is new in this \
             table, `create_if_absent` adds the stamp, and so does `stamp()`, after it has checked a sample of the keys",
            describe_stamps(info),
        ),
    };
    Error::mismatch(info.name(), text)
}

/// The error for a table whose stamps contradict the key type.
#[cold]
fn contradiction(key: KeyType, info: &TableInfo) -> Error {
    let own = stamp(key);
    let found: Vec<_> = stamps(info).map(Stamp::parse).collect();
    let of_own_tag = found.iter().flatten().filter(|found| found.tag == own.tag).count();
    let (fault, remedy) = if found.contains(&None) {
        (
            "it is stamped in a way that this release of keyderive does not know",
            "use the release that last changed the table",
        )
    } else if found.iter().flatten().any(|found| found.tag.is_some() != own.tag.is_some()) {
        let fault = match own.tag {
            None => "it is stamped with a key type that has a tag, and this one has none",
            Some(_) => "it is stamped with a key type that has no tag, and this one has one",
        };
        (
            fault,
            "key types that share a table need a tag each, `#[row_key(tag = \"…\")]`; others need tables of their own",
        )
    } else if of_own_tag > 1
        && found
            .iter()
            .flatten()
            .all(|found| found.tag != own.tag || epochs_of(key, found.fingerprint).is_some())
    {
        (
            "it is stamped with several layouts of one key type, with other epochs",
            "a call of `advance_marker` has not ended; call it again",
        )
    } else if of_own_tag > 1 {
        (
            "it is stamped with several layouts of one key type",
            "two programs created it at the same time, or a change of its layout has not ended; drop the families of the \
             layouts that its keys do not have, with `modify_families` and `FamilyChange::drop`",
        )
    } else {
        (
            "it is stamped with another layout of its keys",
            "nothing was sent: run a release with the table's key type, which is the newer one after `advance_marker`, or undo the \
             change of the key type. If the table is being re-keyed, open it with `Client::rekeyed`, or let `finish()` or \
             `roll_back()` come to its end. A new layout needs a new table, and key types that share a table need a tag each, `#[row_key(tag = \"…\")]`",
        )
    };
    let difference = schema_difference(key, info);
    let difference =
        difference.map(|text| format!(" (the row key schemas differ: {text})")).unwrap_or_default();
    Error::mismatch(
        info.name(),
        format!(
            "{fault}; expected {}{difference}, found {}; {remedy}",
            described(key.schema()),
            describe_stamps(info)
        ),
    )
}

/// A key type and its layout.
fn described(schema: &Schema) -> String {
    let tag = schema.tag().map(|tag| format!(", tag `{tag}`")).unwrap_or_default();
    format!("`{}` of `{}` (fingerprint {}{tag})", schema.template(), schema.key_type(), schema.fingerprint(),)
}

/// The stamps of a table, in words.
fn describe_stamps(info: &TableInfo) -> String {
    let found = stamps(info).map(|name| match Stamp::parse(name) {
        Some(Stamp { tag: None, fingerprint }) => {
            format!("fingerprint {fingerprint:016x} (column family `{name}`)")
        }
        Some(Stamp { tag: Some(_), fingerprint }) => {
            format!("fingerprint {fingerprint:016x} of a type with a tag (column family `{name}`)")
        }
        None => format!("the column family `{name}`"),
    });
    found.collect::<Vec<_>>().join(", ")
}

/// The names of a table's stamp families.
fn stamps(info: &TableInfo) -> impl Iterator<Item = &str> {
    info.families().iter().map(Family::name).filter(|name| name.starts_with(PREFIX))
}

fn stamp(key: KeyType) -> Stamp {
    let schema = key.schema();
    Stamp { tag: schema.tag().map(|tag| fnv1a(tag.as_bytes())), fingerprint: schema.fingerprint().to_u64() }
}

impl Stamp {
    fn family(self) -> Family {
        let Self { tag, fingerprint } = self;
        let tag = tag.map(|tag| format!("{tag:016x}.")).unwrap_or_default();
        Family::new(format!("{PREFIX}{tag}{fingerprint:016x}"), GcRule::max_versions(1))
    }

    /// None for a stamp that this release does not know.
    fn parse(family: &str) -> Option<Self> {
        let number = |text: &str| -> Option<u64> {
            let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            (digits && text.len() == 16).then(|| u64::from_str_radix(text, 16).ok())?
        };
        let name = family.strip_prefix(PREFIX)?;
        match name.split_once('.') {
            None => Some(Self { tag: None, fingerprint: number(name)? }),
            Some((tag, name)) => Some(Self { tag: Some(number(tag)?), fingerprint: number(name)? }),
        }
    }
}

/// FNV-1a over 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "embedded")]
    use std::sync::Arc;
    #[cfg(feature = "embedded")]
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::RowKey;

    #[derive(RowKey)]
    struct Plain {
        id: u64,
    }

    #[derive(RowKey)]
    #[row_key(tag = "a")]
    struct Tagged {
        id: u64,
    }

    #[test]
    fn a_stamp_is_named_by_tag_and_fingerprint() {
        assert_eq!(
            stamp_family(KeyType::of::<Plain>()).name(),
            format!("keyderive.{}", Plain::fingerprint())
        );
        // The hash of `a` that the authors of FNV publish.
        let tagged = format!("keyderive.af63dc4c8601ec8c.{}", Tagged::fingerprint());
        assert_eq!(stamp_family(KeyType::of::<Tagged>()).name(), tagged);
        assert_eq!(
            Stamp::parse(stamp_family(KeyType::of::<Plain>()).name()),
            Some(stamp(KeyType::of::<Plain>()))
        );
        assert_eq!(Stamp::parse(&tagged), Some(stamp(KeyType::of::<Tagged>())));
    }

    mod before {
        #[derive(crate::RowKey)]
        pub(super) struct Event {
            id: String,
            at: std::time::SystemTime,
        }
    }

    #[derive(RowKey)]
    #[allow(clippy::duplicated_attributes, reason = "each salt names its fields")]
    #[salt(range = 4, over = "id", sep = "!", since(at = "2020-01-01T00:00:00Z"))]
    #[salt(range = 16, over = "id", sep = "!", since(at = "2026-12-01T00:00:00Z"))]
    struct Event {
        id: String,
        at: std::time::SystemTime,
    }

    #[derive(RowKey)]
    #[salt(range = 4, over = "id", sep = "!", since(at = 1796083200))]
    struct Numbered {
        id: String,
        #[pad(16)]
        at: u64,
    }

    #[derive(RowKey)]
    struct Unnumbered {
        id: String,
        #[pad(16)]
        at: u64,
    }

    #[cfg(feature = "embedded")]
    type Columns = std::collections::BTreeMap<String, i64>;

    /// 2026-12-01, in nanoseconds.
    #[cfg(feature = "embedded")]
    const BOUND: i128 = 1_796_083_200 * 1_000_000_000;

    #[cfg(feature = "embedded")]
    #[tokio::test]
    async fn a_table_does_not_advance_in_the_hour_before_a_bound() {
        for (now, may_advance) in [
            (BOUND - HOUR - 1, true),
            (BOUND - HOUR, false),
            (BOUND - 1, false),
            (BOUND, true),
            (BOUND + HOUR, true),
        ] {
            let client = Client::embedded();
            client.table::<before::Event, Columns>("t").create().without_row_key_schema().await.unwrap();
            let events = client.table::<Event, Columns>("t");
            let advanced = events.handle.advance_marker_at(now).await;
            assert_eq!(advanced.is_ok(), may_advance, "{now}: {advanced:?}");
            if let Err(error) = advanced {
                assert!(
                    error.is_invalid_argument() && error.to_string().contains("2026-12-01T00:00:00Z"),
                    "{error}"
                );
                client.table::<before::Event, Columns>("t").verify().await.unwrap();
                // Another call has begun before the hour, and has not ended.
                let info = client
                    .modify_families("t", vec![FamilyChange::add(stamp_family(KeyType::of::<Event>()))])
                    .await
                    .unwrap();
                assert_eq!(stamps(&info).count(), 2);
                events.handle.advance_marker_at(now).await.unwrap();
            }
            // A bound that the stamp has needs no hour.
            events.handle.advance_marker_at(BOUND - 1).await.unwrap();
            events.verify().await.unwrap();
        }
    }

    #[cfg(feature = "embedded")]
    #[tokio::test]
    async fn a_number_has_no_hour() {
        let client = Client::embedded();
        client.table::<Unnumbered, Columns>("t").create().without_row_key_schema().await.unwrap();
        client.table::<Numbered, Columns>("t").handle.advance_marker_at(BOUND - 1).await.unwrap();
    }

    /// Counts the warnings about bounds.
    #[cfg(feature = "embedded")]
    #[derive(Clone, Default)]
    struct Warnings(Arc<AtomicU64>);

    #[cfg(feature = "embedded")]
    impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Warnings {
        fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            if event.metadata().fields().field("since").is_some() {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// 2020 has passed, 2026-12-01 may have.
    #[cfg(feature = "embedded")]
    #[tokio::test]
    async fn a_bound_that_has_passed_is_warned_of_now_and_then() {
        use tracing_subscriber::layer::SubscriberExt as _;

        let warnings = Warnings::default();
        let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(warnings.clone()));
        let client = Client::embedded();
        client.table::<before::Event, Columns>("t").create().without_row_key_schema().await.unwrap();
        let key = Event { id: "a".into(), at: std::time::UNIX_EPOCH };
        for _ in 0..3 {
            client.table::<Event, Columns>("t").get(&key).await.unwrap();
        }
        assert_eq!(warnings.0.load(Ordering::Relaxed), 1);
        let other = client.clone();
        other.table::<Event, Columns>("t").handle.advance_marker_at(BOUND).await.unwrap();

        // A table that is stamped with all epochs, or whose bounds have not passed.
        let client = Client::embedded();
        client.table::<Event, Columns>("t").create_if_absent().await.unwrap();
        client.table::<Event, Columns>("t").verify().await.unwrap();
        client.table::<Unnumbered, Columns>("u").create().without_row_key_schema().await.unwrap();
        client.table::<Numbered, Columns>("u").verify().await.unwrap();
        assert_eq!(warnings.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn names_of_another_form_are_not_stamps_of_this_release() {
        let digits = "0123456789abcdef";
        for name in [
            "keyderive.",
            "keyderive.x",
            &format!("keyderive.{}", digits.to_uppercase()),
            &format!("keyderive.+{}", &digits[1..]),
            &format!("keyderive.{digits}0"),
            &format!("keyderive.{digits}."),
            &format!("keyderive.{digits}.{digits}.{digits}"),
            &format!("keyderive.open.{digits}"),
        ] {
            assert_eq!(Stamp::parse(name), None, "{name}");
        }
    }

    #[test]
    fn reserved_names_are_rejected() {
        for name in ["keyderive", "keyderive-move", "keyderive.", "keyderive.x"] {
            let error = check_reserved("t", ["cf", name].into_iter()).unwrap_err();
            assert!(error.is_invalid_argument() && error.attempts() == 0, "{error}");
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
        assert!(check_reserved("t", ["cf", "keyderiv", "keyderive_x", "Keyderive"].into_iter()).is_ok());
    }
}
