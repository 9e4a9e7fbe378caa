//! The stamp of a table: which layout its keys have.
//!
//! It is an empty column family, whose name has the layout's fingerprint and the table's id. Bigtable stores nothing else about a table
//! that a program could put there: `CreateTable` makes the families together with the table, `GetTable` reads their names, and an older
//! program ignores them. `FORMAT.md` has the names.

mod difference;

use std::sync::Arc;

use difference::difference;

use super::expected::{check_schema_of, schema_difference};
use super::handle::Check;
use super::{Table, UntypedTable};
use crate::client::{Client, DeclaredLayout, Error, Family, FamilyChange, GcRule, LayoutKind, TableInfo};
use crate::dynamic::TableLayout;
use crate::key::{DecodeError, Fnv, KeySchema, KeyType, TableKey};
use crate::row::{RawRow, RowFilter};

/// What the names of stamps begin with.
pub(super) const PREFIX: &str = "keyderive.";
/// What stands before the fingerprint in the stamp of a pair of key types.
const PAIR: &str = "pair-";
/// How long the id of a table is.
const ID_LEN: usize = 8;

/// How long before a bound [`Table::advance_stamp`] does nothing.
const HOUR: i128 = 3600 * 1_000_000_000;
/// How often [`Table::advance_stamp`] looks again after another program changed the table.
const ADVANCE_ATTEMPTS: usize = 8;

impl<K: TableKey, R> Table<K, R> {
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
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the table is stamped with another layout, has a row key schema of
    /// another one, or has a key that is not of this key type; when a request fails.
    ///
    /// # Cancel safety
    /// A dropped future may have added the stamp. Call it again to be sure.
    pub async fn stamp(&self) -> Result<(), Error> {
        self.handle.stamp().await
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
    /// events.advance_stamp().await?;
    /// # assert!(before.verify().await.unwrap_err().is_table_mismatch());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It replaces the stamp of the first epochs by the stamp of all, in one request. From then on [`verify`](Self::verify)
    /// and the first request of a program without the last epochs fail. A program that has made its first request runs on;
    /// if it still does at the bound, it writes rows without the new salt.
    ///
    /// It looks at no row, so that it can keep old programs out of a table that has rows in the wrong layout already: count them
    /// before.
    ///
    /// It does nothing if the table is already stamped with all epochs, so several programs may call it. If it fails, call it
    /// again at once: a server that applied a part of the request leaves a table that is stamped with both layouts, and the first
    /// request of every program fails.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) in the hour before a bound that the stamp lacks, by
    /// the client's clock: call it earlier, or after the bound. A bound that is a plain number is not checked.
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the table is stamped with no layout, or with another one than those of
    /// the first epochs, and if [`verify`](Self::verify) would reject its row key schema: nothing is changed then, and
    /// the error names the remedy, such as [`remove_row_key_schema`](Self::remove_row_key_schema). When a request fails, such
    /// as for a table with deletion protection.
    ///
    /// # Cancel safety
    /// If the future is dropped, the layout is replaced or not, perhaps later. Call it again.
    pub async fn advance_stamp(&self) -> Result<(), Error> {
        self.handle.advance_stamp_at(i128::from(self.handle.client.now_micros()) * 1000).await
    }
}

impl UntypedTable {
    /// As [`Table::stamp`].
    pub(super) async fn stamp(&self) -> Result<(), Error> {
        let handle = Self { check: Check::Off, ..self.clone() };
        let (client, key) = (&handle.client, handle.key);
        let info = client.table_info(&handle.name).await?;
        let info = match status(key, &info)? {
            StampStatus::Stamped | StampStatus::Earlier { .. } => info,
            StampStatus::Unstamped | StampStatus::OtherTags => {
                handle.check_stampable(&info).await?;
                add(key, client, &info).await?
            }
        };
        register_key(key, client, &info).await;
        Ok(())
    }

    /// Fails if the table cannot be stamped with the key type, by its row key schema and a sample of its keys.
    pub(super) async fn check_stampable(&self, info: &TableInfo) -> Result<(), Error> {
        check_schema_of(self.key, info)?;
        let text = |error| {
            format!(
                "it cannot be stamped with {}, since it has a row of another layout: {error}",
                layout_of(self.key)
            )
        };
        let checked = self.check_sampled_keys(text).await;
        checked.map_err(|error| {
            error.with_remedy("call `stamp()` with the key type that its rows were written by")
        })
    }

    /// As [`Table::advance_stamp`], at a time in nanoseconds since 1970.
    async fn advance_stamp_at(&self, now: i128) -> Result<(), Error> {
        let key = self.key;
        let mut info = self.client.table_info(&self.name).await?;
        for _ in 0..ADVANCE_ATTEMPTS {
            check_schema_of(key, &info)?;
            let changes = changes_to_advance(key, &info, now)?;
            if changes.is_empty() {
                register_key(key, &self.client, &info).await;
                return Ok(());
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

    /// Fails if the keys of a table without a stamp are of another key type, by a sample of them: [`DynTable::verify_keys`].
    ///
    /// [`DynTable::verify_keys`]: super::DynTable::verify_keys
    pub(super) async fn verify_keys(&self) -> Result<(), Error> {
        self.ensure_checked().await?;
        match status(self.key, &self.client.table_info(&self.name).await?)? {
            StampStatus::Stamped | StampStatus::Earlier { .. } => Ok(()),
            StampStatus::Unstamped | StampStatus::OtherTags => {
                let text = |error| {
                    format!(
                        "it has no stamp, and a row of another layout than {}: {error}; use the layout that its rows were written by",
                        layout_of(self.key)
                    )
                };
                self.check_sampled_keys(text).await
            }
        }
    }

    /// Fails if a key of a sample is not of the key type.
    async fn check_sampled_keys(&self, text: impl Fn(DecodeError) -> String) -> Result<(), Error> {
        let keys = RowFilter::chain(RowFilter::existence());
        // Decoding fails for keys that would not encode to the same bytes.
        let check = |row: &RawRow| {
            self.key.check(row.key()).map_err(|error| Error::mismatch(&self.name, text(error)))
        };
        self.sample(keys, check).await
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

/// What the name of a stamp says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) name: StampName,
    /// The same for all stamps of a table. A table that is recreated under its name has another one.
    id: String,
}

/// What a stamp names beside the table's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StampName {
    /// The hash of the key type's tag.
    tag: Option<u64>,
    /// Whether the table is re-keyed, from one key type to another.
    pub(super) is_pair: bool,
    pub(super) fingerprint: u64,
}

impl TableLayout {
    /// The stamp of a table with such keys: the family by which programs know the layout, for a tool that creates the table itself. All
    /// stamps of a table have one id, and each table has its own, which is random.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
    /// # #[derive(keyderive::Row)] struct User { name: String }
    ///
    /// let users = Layouts::new().table::<UserKey, User>("users").table_layout("users")?;
    /// let fingerprint = users.key().schema().fingerprint();
    /// assert_eq!(users.stamp(0x5eed).name(), format!("keyderive.{fingerprint}.00005eed"));
    /// # Ok::<(), keyderive::layouts::LayoutsError>(())
    /// ```
    #[must_use]
    pub fn stamp(&self, id: u32) -> Family {
        StampName::of_schema(self.key().schema()).with_id(&format!("{id:08x}"))
    }
}

impl StampName {
    /// The stamp of a table with keys of this type.
    pub(super) fn of(key: KeyType) -> Self {
        Self::of_schema(key.schema())
    }

    fn of_schema(schema: &KeySchema) -> Self {
        let tag = schema.tag().map(|tag| Fnv::new().unterminated(tag.as_bytes()).fingerprint().to_u64());
        Self { tag, is_pair: false, fingerprint: schema.fingerprint().to_u64() }
    }

    /// The stamp of a table while it is re-keyed from one key type to another; `key` is one of the two. Programs that know
    /// nothing of the re-keying are refused.
    pub(super) fn of_pair(key: KeyType, pair: [KeyType; 2], names: &[&str]) -> Self {
        let mut hash = Fnv::new();
        for key in pair {
            hash = hash.unterminated(&key.schema().fingerprint().to_u64().to_be_bytes());
        }
        for name in names {
            hash = hash.text(name);
        }
        Self { is_pair: true, fingerprint: hash.fingerprint().to_u64(), ..Self::of(key) }
    }

    /// The family of it in a table that is created with it.
    pub(super) fn first(self) -> Family {
        self.with_id(&new_id())
    }

    fn with_id(self, id: &str) -> Family {
        let Self { tag, is_pair, fingerprint } = self;
        let tag = tag.map(|tag| format!("{tag:016x}.")).unwrap_or_default();
        let pair = if is_pair { PAIR } else { "" };
        Family::new(format!("{PREFIX}{tag}{pair}{fingerprint:016x}.{id}"), GcRule::max_versions(1))
    }
}

impl Stamp {
    /// None for a stamp that this release does not know.
    fn parse(family: &str) -> Option<Self> {
        let number = |text: &str| -> Option<u64> {
            let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            (digits && text.len() == 16).then(|| u64::from_str_radix(text, 16).ok())?
        };
        let (name, id) = family.strip_prefix(PREFIX)?.rsplit_once('.')?;
        let (tag, name) = match name.split_once('.') {
            None => (None, name),
            Some((tag, name)) => (Some(number(tag)?), name),
        };
        let (is_pair, name) = match name.strip_prefix(PAIR) {
            None => (false, name),
            Some(name) => (true, name),
        };
        let is_id = id.len() == ID_LEN && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let name = StampName { tag, is_pair, fingerprint: number(name)? };
        is_id.then(|| Self { name, id: id.to_owned() })
    }
}

/// The id of a table, which its stamps have; none for a table without one.
///
/// Two programs that stamp a table at the same time give it one each: the lower one counts.
pub(super) fn table_id(info: &TableInfo) -> Option<String> {
    stamp_names(info).filter_map(Stamp::parse).map(|stamp| stamp.id).min()
}

/// The ids that a table's stamps have, in order: several if two programs stamped it at the same time.
pub(super) fn table_ids(info: &TableInfo) -> Vec<String> {
    let mut ids: Vec<_> = stamp_names(info).filter_map(Stamp::parse).map(|stamp| stamp.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The fingerprints of the key layouts that a table is stamped with.
pub(super) fn fingerprints(info: &TableInfo) -> Vec<String> {
    let stamps = stamp_names(info).filter_map(Stamp::parse).filter(|stamp| !stamp.name.is_pair);
    stamps.map(|stamp| format!("{:016x}", stamp.name.fingerprint)).collect()
}

impl TableInfo {
    /// The fingerprints of the key layouts that the table is stamped with: those of [`KeySchema::fingerprint`](crate::key::KeySchema::fingerprint).
    #[must_use]
    pub fn stamps(&self) -> Vec<String> {
        fingerprints(self)
    }
}

/// Registers the layout of a table's keys, unless the registry has it, as far as that can be done.
pub(super) async fn register_key(key: KeyType, client: &Client, info: &TableInfo) {
    if !client.settings().registry {
        return;
    }
    let (ids, layout) = (table_ids(info), declared_key(key));
    let record = client.table_record(&Arc::from(info.name())).await.ok().flatten();
    let is_known = record.is_some_and(|record| {
        record.is_of(&ids) && record.layouts.iter().any(|known| known.is_same(&layout.0))
    });
    if !is_known {
        client.try_register(info.name(), &ids, &[layout], false).await;
    }
}

/// What a program declares of a table's keys, and the layout as JSON.
pub(super) fn declared_key(key: KeyType) -> (DeclaredLayout, String) {
    let schema = key.schema();
    let layout = DeclaredLayout {
        kind: LayoutKind::Key,
        tag: tag_of(key),
        fingerprint: schema.fingerprint().to_string(),
        type_name: schema.key_type().to_owned(),
        first_at: None,
    };
    (layout, schema.layout_json())
}

/// The tag by which the registry has the declarations of a key type.
pub(super) fn tag_of(key: KeyType) -> String {
    key.schema().tag().unwrap_or_default().to_owned()
}

/// An id for a new table.
pub(super) fn new_id() -> String {
    format!("{:08x}", fastrand::u32(..))
}

/// The stamp of a table that is created with keys of this type.
pub(super) fn first(key: KeyType, id: &str) -> Family {
    StampName::of(key).with_id(id)
}

/// The stamps of a table for key types with this one's tag.
///
/// # Errors
/// [`is_table_mismatch`](Error::is_table_mismatch) if a stamp cannot stand beside one of the key type.
pub(super) fn of_tag(key: KeyType, info: &TableInfo) -> Result<Vec<Stamp>, Error> {
    let own = StampName::of(key).tag;
    let mut found = Vec::new();
    for name in stamp_names(info) {
        match Stamp::parse(name) {
            Some(stamp) if stamp.name.tag == own => found.push(stamp),
            Some(stamp) if stamp.name.tag.is_some() && own.is_some() => {}
            _ => return Err(contradiction(key, info)),
        }
    }
    Ok(found)
}

/// Replaces stamps of a table by another one, and adds a family in the same request; returns whether the table has both then.
///
/// If the table has none of these stamps, it gets neither: another program has gone on. If `old` is empty, the new stamp
/// is added to the others.
pub(super) async fn replace(
    client: &Client,
    table: &str,
    old: &[StampName],
    new: StampName,
    with: Option<&Family>,
) -> Result<bool, Error> {
    let mut tries = 0;
    loop {
        let info = client.table_info(table).await?;
        let found: Vec<_> =
            stamp_names(&info).filter_map(|name| Some((name, Stamp::parse(name)?.name))).collect();
        let there = found.iter().find(|(_, found)| *found == new);
        let is_replaced = |name: &StampName| *name != new && old.contains(name);
        let replaced = found.iter().filter(|(_, found)| is_replaced(found));
        // The drops come first: a server that does a part does nothing then.
        let mut changes: Vec<_> = replaced.map(|(family, _)| FamilyChange::drop(*family)).collect();
        let with = with.filter(|family| info.family(family.name()).is_none());
        match (there, changes.is_empty(), with) {
            (Some(_), true, None) => return Ok(true),
            (None, true, _) if !old.is_empty() => return Ok(false),
            (Some((family, _)), true, Some(_)) => changes.push(unchanged(family)),
            (Some(_), false, _) => {}
            (None, ..) => {
                let id = table_id(&info).unwrap_or_else(new_id);
                changes.push(FamilyChange::add(new.with_id(&id)));
            }
        }
        changes.extend(with.cloned().map(FamilyChange::add));
        match client.modify_families(table, changes).await {
            // Another program has made one of the changes.
            Err(error) if tries < 3 && (error.is_already_exists() || error.is_not_found()) => tries += 1,
            changed => return changed.map(|_| true),
        }
    }
}

/// Changes a family of a table that has one of these stamps; returns whether it has. The request fails once that stamp is gone.
pub(super) async fn change_with(
    client: &Client,
    table: &str,
    stamps: &[StampName],
    change: FamilyChange,
) -> Result<bool, Error> {
    let info = client.table_info(table).await?;
    let mut found = stamp_names(&info).filter_map(|name| Some((name, Stamp::parse(name)?.name)));
    let Some((family, _)) = found.find(|(_, found)| stamps.contains(found)) else { return Ok(false) };
    client.modify_families(table, vec![unchanged(family), change]).await.map(|_| true)
}

/// A change that fails once this table is gone, or has lost the stamp, and changes nothing else; none for a table without a stamp for a key
/// type.
pub(super) fn guard(keys: &[KeyType], info: &TableInfo) -> Option<FamilyChange> {
    let is_own = |stamp: &Stamp| keys.iter().any(|key| epochs_of(*key, stamp.name).is_some());
    stamp_names(info).find(|name| Stamp::parse(name).as_ref().is_some_and(is_own)).map(unchanged)
}

/// A change of a stamp to what it is: it fails if the stamp is gone.
fn unchanged(stamp: &str) -> FamilyChange {
    FamilyChange::gc_rule(stamp, GcRule::max_versions(1))
}

/// What the stamps of a table say about a key type.
///
/// # Errors
/// [`is_table_mismatch`](Error::is_table_mismatch) if they contradict it.
pub(super) fn status(key: KeyType, info: &TableInfo) -> Result<StampStatus, Error> {
    let mut status = None;
    for stamp in of_tag(key, info)? {
        let found = match epochs_of(key, stamp.name) {
            Some(epochs) if epochs == key.schema().epoch_count() => StampStatus::Stamped,
            Some(epochs) => StampStatus::Earlier { epochs },
            None => return Err(contradiction(key, info)),
        };
        // A table that is stamped with two layouts of the key type is used by none.
        if status.is_some_and(|status| status != found) {
            return Err(contradiction(key, info));
        }
        status = Some(found);
    }
    let others =
        || if stamp_names(info).next().is_some() { StampStatus::OtherTags } else { StampStatus::Unstamped };
    Ok(status.unwrap_or_else(others))
}

/// Stamps a table with a key type; returns its schema then.
///
/// # Errors
/// When the stamps of the table then contradict the key type.
pub(super) async fn add(key: KeyType, client: &Client, info: &TableInfo) -> Result<TableInfo, Error> {
    let id = table_id(info).unwrap_or_else(new_id);
    let info = match client.modify_families(info.name(), vec![FamilyChange::add(first(key, &id))]).await {
        // Another program has added it.
        Err(error) if error.is_already_exists() => client.table_info(info.name()).await?,
        changed => changed?,
    };
    // If two programs add different stamps at the same time, both fail here.
    match status(key, &info)? {
        StampStatus::Stamped | StampStatus::Earlier { .. } => Ok(info),
        StampStatus::Unstamped | StampStatus::OtherTags => Err(unstamped(key, &info)),
    }
}

/// How many of the epochs of the key type, the first ones, a layout has; `None` for another layout.
fn epochs_of(key: KeyType, name: StampName) -> Option<usize> {
    let is_of = |epochs: &usize| key.schema().fingerprint_of(*epochs).to_u64() == name.fingerprint;
    (1..=key.schema().epoch_count()).find(is_of).filter(|_| !name.is_pair)
}

/// Warns now and then if a bound has passed that the stamp lacks.
pub(super) fn warn_of_bounds(key: KeyType, client: &Client, table: &str, epochs: usize) {
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
             without the salt can still write rows; call `advance_stamp` once all programs have it"
        );
    }
}

/// The changes after which the table is stamped with all epochs alone; none if it is already.
///
/// # Errors
/// If it is stamped with no layout, or with another one than those of the first epochs; in the hour before a bound.
fn changes_to_advance(key: KeyType, info: &TableInfo, now: i128) -> Result<Vec<FamilyChange>, Error> {
    let all = key.schema().epoch_count();
    let (mut earlier, mut is_stamped) = (Vec::new(), false);
    for stamp in of_tag(key, info)? {
        match epochs_of(key, stamp.name) {
            Some(epochs) if epochs == all => is_stamped = true,
            Some(epochs) => earlier.push((epochs, stamp)),
            None => return Err(contradiction(key, info)),
        }
    }
    let mut changes = Vec::new();
    if !is_stamped {
        let Some((epochs, first_stamp)) = earlier.first() else { return Err(unstamped(key, info)) };
        if earlier.iter().any(|(others, _)| others != epochs) {
            return Err(contradiction(key, info));
        }
        check_hour(key, info.name(), *epochs, now)?;
        changes.push(FamilyChange::add(first(key, &first_stamp.id)));
    }
    changes.extend(earlier.iter().map(|(_, stamp)| FamilyChange::drop(stamp.name.with_id(&stamp.id).name())));
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
                "`advance_stamp` does nothing in the hour before a bound, and keys have another salt since {}: programs \
                 without the salt would fail when it is too late to deploy them before the bound; call it after the bound, \
                 and until then see that no such program is left",
                epoch.since()
            ),
        )),
    }
}

/// The error for a table that is not stamped with the key type.
pub(super) fn unstamped(key: KeyType, info: &TableInfo) -> Error {
    let expected = layout_of(key);
    let text = match stamp_names(info).next() {
        None => format!(
            "it is not stamped with the layout of its keys: another program created it, or removed the stamp; expected {expected}, found no \
             stamp beside the column families {}",
            info.family_names(),
        ),
        Some(_) => format!(
            "it is only stamped with key types that have other tags; expected {expected}, found {}",
            described(info),
        ),
    };
    Error::mismatch(info.name(), text).with_remedy(
        "`stamp()` adds the stamp, after it has checked a sample of the keys, as `create_if_absent` does if the tag is new in the table; \
         `verify().allow_unstamped()` accepts the table without one",
    )
}

/// The error for a table whose stamps contradict the key type.
#[cold]
pub(super) fn contradiction(key: KeyType, info: &TableInfo) -> Error {
    contradiction_with(key, info, None)
}

/// As [`contradiction`], with what differs in the layouts, as far as the registry has the stamp's layout.
pub(super) async fn explained(error: Error, key: KeyType, client: &Client, info: &TableInfo) -> Error {
    if !error.is_table_mismatch() || status(key, info).is_ok() || !client.settings().registry {
        return error;
    }
    let own = StampName::of(key);
    let is_other = |stamp: &Stamp| stamp.name.tag == own.tag && !stamp.name.is_pair && stamp.name != own;
    let Some(other) = stamp_names(info).filter_map(Stamp::parse).find(is_other) else { return error };
    let fingerprint = format!("{:016x}", other.name.fingerprint);
    let saved = client.for_check().layout(LayoutKind::Key, &fingerprint).await;
    let difference = saved.ok().flatten().and_then(|saved| difference(&saved, key.schema()));
    match difference {
        None => error,
        Some(difference) => contradiction_with(key, info, Some(difference)),
    }
}

fn contradiction_with(key: KeyType, info: &TableInfo, difference: Option<String>) -> Error {
    let own = StampName::of(key);
    let found: Vec<_> = stamp_names(info).map(|name| Some(Stamp::parse(name)?.name)).collect();
    let parsed = || found.iter().flatten();
    let of_own_tag: Vec<_> = parsed().filter(|found| found.tag == own.tag).collect();
    let (fault, remedy) = if found.contains(&None) {
        (
            "it is stamped in a way that this release of keyderive does not know",
            "use the release that last changed the table",
        )
    } else if parsed().any(|found| found.tag.is_some() != own.tag.is_some()) {
        let fault = match own.tag {
            None => "it is stamped with a key type that has a tag, and this one has none",
            Some(_) => "it is stamped with a key type that has no tag, and this one has one",
        };
        (
            fault,
            "key types that share a table need a tag each, `#[row_key(tag = \"…\")]`; others need tables of their own",
        )
    } else if of_own_tag.iter().any(|found| found.is_pair) {
        (
            "it is being re-keyed, or was moved to another table",
            "open it with `Client::rekeyed`, or let `finish()` or `roll_back()` come to its end; after `finish()` its \
             rows are in the other table, which the newer release opens",
        )
    } else if of_own_tag.len() > 1 && of_own_tag.iter().all(|found| epochs_of(key, **found).is_some()) {
        (
            "it is stamped with several layouts of one key type, with other epochs",
            "a call of `advance_stamp` has not ended; call it again",
        )
    } else if of_own_tag.len() > 1 {
        (
            "it is stamped with several layouts of one key type",
            "two programs created it at the same time, or a change of its layout has not ended; drop the families of the \
             layouts that its keys do not have, with `modify_families` and `FamilyChange::drop`",
        )
    } else {
        (
            "it is stamped with another layout of its keys",
            "run a release with the table's key type, which is the newer one after `advance_stamp`, or undo the \
             change of the key type. A new layout needs a new table, to which a re-keying moves the rows (`Client::rekeyed`), and key \
             types that share a table need a tag each, `#[row_key(tag = \"…\")]`",
        )
    };
    let of_schema = || Some(format!("the row key schemas differ: {}", schema_difference(key, info)?));
    let difference = difference.or_else(of_schema).map(|text| format!(" ({text})")).unwrap_or_default();
    let (expected, found) = (layout_of(key), described(info));
    Error::mismatch(info.name(), format!("{fault}; expected {expected}{difference}, found {found}"))
        .with_remedy(remedy)
}

/// A key type and its layout.
fn layout_of(key: KeyType) -> String {
    let schema = key.schema();
    let tag = schema.tag().map(|tag| format!(", tag `{tag}`")).unwrap_or_default();
    format!("`{}` of `{}` (fingerprint {}{tag})", schema.template(), schema.key_type(), schema.fingerprint())
}

/// The stamps of a table, in words.
pub(super) fn described(info: &TableInfo) -> String {
    let found = stamp_names(info).map(|family| {
        let Some(Stamp { name, .. }) = Stamp::parse(family) else {
            return format!("the column family `{family}`");
        };
        let of = match (name.is_pair, name.tag) {
            (true, _) => " of a pair of key types",
            (false, Some(_)) => " of a type with a tag",
            (false, None) => "",
        };
        format!("fingerprint {:016x}{of} (column family `{family}`)", name.fingerprint)
    });
    found.collect::<Vec<_>>().join(", ")
}

/// The names of a table's stamps.
fn stamp_names(info: &TableInfo) -> impl Iterator<Item = &str> {
    info.families().iter().map(Family::name).filter(|name| name.starts_with(PREFIX))
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "embedded")]
    use std::sync::Arc;
    #[cfg(feature = "embedded")]
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::RowKey;
    use crate::client::ErrorKind;

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
        let [plain, tagged] = [KeyType::of::<Plain>(), KeyType::of::<Tagged>()];
        let pair = StampName::of_pair(tagged, [plain, tagged], &["fence", "0badcafe"]);
        for (name, stored) in [
            (StampName::of(plain), format!("keyderive.{}.00c0ffee", Plain::fingerprint())),
            // The hash of `a` that the authors of FNV publish.
            (StampName::of(tagged), format!("keyderive.af63dc4c8601ec8c.{}.00c0ffee", Tagged::fingerprint())),
            (pair, format!("keyderive.af63dc4c8601ec8c.pair-{:016x}.00c0ffee", pair.fingerprint)),
        ] {
            assert_eq!(name.with_id("00c0ffee").name(), stored);
            assert_eq!(Stamp::parse(&stored), Some(Stamp { name, id: "00c0ffee".to_owned() }));
        }
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
            let advanced = events.handle.advance_stamp_at(now).await;
            assert_eq!(advanced.is_ok(), may_advance, "{now}: {advanced:?}");
            if let Err(error) = advanced {
                assert!(
                    error.kind() == ErrorKind::InvalidArgument
                        && error.to_string().contains("2026-12-01T00:00:00Z"),
                    "{error}"
                );
                client.table::<before::Event, Columns>("t").verify().await.unwrap();
                // Another call has begun before the hour, and has not ended.
                let info = client
                    .modify_families("t", vec![FamilyChange::add(first(KeyType::of::<Event>(), "0123abcd"))])
                    .await
                    .unwrap();
                assert_eq!(stamp_names(&info).count(), 2);
                events.handle.advance_stamp_at(now).await.unwrap();
            }
            // A bound that the stamp has needs no hour.
            events.handle.advance_stamp_at(BOUND - 1).await.unwrap();
            events.verify().await.unwrap();
        }
    }

    #[cfg(feature = "embedded")]
    #[tokio::test]
    async fn a_number_has_no_hour() {
        let client = Client::embedded();
        client.table::<Unnumbered, Columns>("t").create().without_row_key_schema().await.unwrap();
        client.table::<Numbered, Columns>("t").handle.advance_stamp_at(BOUND - 1).await.unwrap();
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
        other.table::<Event, Columns>("t").handle.advance_stamp_at(BOUND).await.unwrap();

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
            &format!("keyderive.{digits}"),
            &format!("keyderive.{digits}0.00c0ffee"),
            &format!("keyderive.{digits}."),
            &format!("keyderive.{digits}.00c0ffe"),
            &format!("keyderive.{digits}.00C0FFEE"),
            &format!("keyderive.{digits}.{digits}.{digits}.00c0ffee"),
            &format!("keyderive.open.{digits}.00c0ffee"),
            &format!("keyderive.pair_{digits}.00c0ffee"),
        ] {
            assert_eq!(Stamp::parse(name), None, "{name}");
        }
    }
}
