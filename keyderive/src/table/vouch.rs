//! How a table vouches for the layout of its keys: by an empty column family, whose name has the layout's fingerprint.
//!
//! Bigtable stores nothing about a table that a program could put there, but for the names of its column families. A
//! `GetTable` reads them, `CreateTable` makes them together with the table, and an older program ignores them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::TryStreamExt as _;

use super::{Table, marker, verify};
use crate::client::{Client, Error, Family, FamilyChange, GcRule, ReadRows, TableInfo};
use crate::key::{Schema, TableKey};
use crate::plan::{KeyRange, Plan};
use crate::row::RowFilter;

/// What the names of vouchers begin with.
const PREFIX: &str = "keyderive.";
/// The families that are no program's own: of the marker row, and of the marks of a table whose keys are changed.
const RESERVED: [&str; 2] = [marker::FAMILY, "keyderive-move"];
/// At how many places of a table [`Table::vouch`] reads keys, and how many at each.
const SAMPLED_PLACES: usize = 32;
const SAMPLED_KEYS: u64 = 16;

/// Whether a handle and its clones have been checked.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// By this version of what the client keeps of tables; 0 before the first time.
    At(Arc<AtomicU64>),
    Off,
}

impl Check {
    pub(super) fn pending() -> Self {
        Self::At(Arc::default())
    }

    /// For a handle with other families.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::At(_) => Self::pending(),
            Self::Off => Self::Off,
        }
    }
}

/// A family by which a table vouches for a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Voucher {
    /// The hash of the key types' tag.
    tag: Option<u64>,
    fingerprint: u64,
}

/// What the vouchers of a table say of a key type, where they do not contradict it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its layout is the table's.
    Vouched,
    /// Nothing: the table has no voucher.
    Unvouched,
    /// Nothing: there are vouchers for other tags alone.
    OtherTags,
}

impl<K: TableKey, R> Table<K, R> {
    /// The same table, without the check of its layout before the first request.
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
    /// let users = client.table::<UserKey, User>("users"); // the table was made with `#[pad(8)]`
    /// assert!(users.get(&UserKey { id: 7 }).await.unwrap_err().is_table_mismatch());
    /// assert_eq!(users.unchecked().get(&UserKey { id: 7 }).await?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For tools that look at a table by a layout which is not its own. A row that is written so is found by no program
    /// with the table's layout.
    #[must_use]
    pub fn unchecked(&self) -> Self {
        Self { check: Check::Off, ..self.clone() }
    }

    /// Adds the voucher for this key type's layout to a table that has none: one that was made by another program, or
    /// one whose vouchers are for other tags.
    ///
    /// ```
    /// # use keyderive::{Client, GcRule, RowKey};
    /// # use keyderive::client::Family;
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// // As Terraform makes it.
    /// let families = [Family::new("cf", GcRule::max_versions(1))];
    /// client.raw_table("users").create(families, [""; 0]).await?;
    ///
    /// let users = client.table::<UserKey, User>("users");
    /// assert!(users.verify().await.unwrap_err().is_table_mismatch());
    /// users.vouch().await?;
    /// assert!(users.verify().await?.voucher);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Some hundred keys from all parts of the table are read first, and each must be one of the key type: with its salt
    /// bucket, its widths and its tag. Of a table that key types with tags share, only keys with this tag are read. What
    /// the keys do not show is not noticed: whether the digits of a time are seconds or milliseconds, say.
    ///
    /// A table that vouches for the layout already is left as it is.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) where the table vouches for another layout, or a key that was read is not of
    /// this key type; when a request fails.
    ///
    /// # Cancel safety
    /// When the future is dropped, the voucher is there or not; the same call again completes it.
    pub async fn vouch(&self) -> Result<(), Error> {
        let info = self.client.table_info(&self.name).await?;
        if standing::<K>(&info)? == Standing::Vouched {
            return Ok(());
        }
        marker::is_of::<K>(&self.client, &info).await?;
        self.unchecked().sample_is_of_key_type().await?;
        add::<K>(&self.client, &self.name).await
    }

    /// Fails where a key of a sample is not of the key type.
    async fn sample_is_of_key_type(&self) -> Result<(), Error> {
        let starts = self.key_space_starts().await?;
        for start in starts.iter().step_by(starts.len().div_ceil(SAMPLED_PLACES).max(1)) {
            let place = KeyRange::new(start.clone(), None);
            let ranges = match K::SCHEMA.tag() {
                None => vec![place],
                Some(_) => {
                    let requests = Plan::<K>::full().within(&place).requests();
                    requests.iter().flat_map(|request| request.ranges().to_vec()).collect()
                }
            };
            let ranges = marker::leave_out::<K>(ranges);
            let keys = RowFilter::chain([RowFilter::cells_per_row(1), RowFilter::strip_value()]);
            let request =
                ReadRows { ranges, limit: Some(SAMPLED_KEYS), filter: Some(keys), ..ReadRows::default() };
            let mut rows = self.client.read_rows(&self.name, request);
            while let Some(row) = rows.try_next().await? {
                // A key is decoded only if encoding gives the same bytes.
                K::stored(row.key()).map_err(|error| {
                    Error::mismatch(
                        &self.name,
                        format!(
                            "it cannot vouch for {}, since it has a row of another layout: {error}; vouch by the key \
                             type that its rows were written by",
                            described(K::SCHEMA)
                        ),
                    )
                })?;
            }
        }
        Ok(())
    }

    /// Whether the handle needs no check: it has been checked, or is [`unchecked`](Self::unchecked).
    #[inline]
    pub(super) fn is_vouched(&self) -> bool {
        match &self.check {
            Check::At(version) => version.load(Ordering::Relaxed) == self.client.info_version(),
            Check::Off => true,
        }
    }

    /// Checks the table before the handle's first request: that it vouches for no other layout, and has the families of
    /// the row type. Every typed call begins with it.
    ///
    /// Where the table cannot be read the call goes on, unless the settings require the check.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch), with both sides.
    #[inline]
    pub(super) async fn vouched(&self) -> Result<(), Error> {
        match self.is_vouched() {
            true => Ok(()),
            false => Box::pin(self.check_table()).await,
        }
    }

    async fn check_table(&self) -> Result<(), Error> {
        refuse_reserved(&self.name, self.family_names().map(|(name, _)| name))?;
        let Some((version, info)) = self.client.cached_info(&self.name).await? else { return Ok(()) };
        self.compare(&info)?;
        if let Check::At(checked) = &self.check {
            checked.store(version, Ordering::Relaxed);
        }
        Ok(())
    }

    fn compare(&self, info: &TableInfo) -> Result<(), Error> {
        if standing::<K>(info)? == Standing::OtherTags {
            return Err(unvouched::<K>(info));
        }
        let is_as_read = |(name, all_versions): (&str, bool)| {
            let found = info.family(name);
            found.is_some_and(|found| found.is_of_bytes() && !(all_versions && found.gc_rule().keeps_one()))
        };
        if self.family_names().all(is_as_read) {
            return Ok(());
        }
        let families = self.families();
        verify::has_families(info, &families)?;
        verify::has_kinds(info, &families)?;
        verify::keeps_histories(info, &self.histories())
    }
}

/// The family by which a table vouches for a key type.
pub(super) fn family<K: TableKey>() -> Family {
    let Voucher { tag, fingerprint } = voucher::<K>();
    let tag = tag.map(|tag| format!("{tag:016x}.")).unwrap_or_default();
    Family::new(format!("{PREFIX}{tag}{fingerprint:016x}"), GcRule::max_versions(1))
}

/// Adds the voucher of a key type to a table, which must not contradict it then.
pub(super) async fn add<K: TableKey>(client: &Client, table: &str) -> Result<(), Error> {
    let info = match client.modify_families(table, vec![FamilyChange::add(family::<K>())]).await {
        // Another program was faster.
        Err(error) if error.is_already_exists() => client.table_info(table).await?,
        changed => changed?,
    };
    // Two programs that add theirs at the same time both see two.
    match standing::<K>(&info)? {
        Standing::Vouched => Ok(()),
        Standing::Unvouched | Standing::OtherTags => Err(unvouched::<K>(&info)),
    }
}

/// Fails for families that only keyderive itself may have.
pub(super) fn refuse_reserved<'a>(
    table: &str,
    mut families: impl Iterator<Item = &'a str>,
) -> Result<(), Error> {
    let is_reserved = |name: &&str| RESERVED.contains(name) || name.starts_with(PREFIX);
    match families.find(is_reserved) {
        None => Ok(()),
        Some(name) => Err(Error::definition(
            table,
            format!(
                "the column family `{name}` has a name that is reserved for what keyderive notes in a table: \
                 `keyderive`, `keyderive-move` and what begins with `{PREFIX}`; give the field another name by \
                 `#[serde(rename)]`, or the family another one where it is declared"
            ),
        )),
    }
}

/// What the vouchers of a table say of a key type.
///
/// # Errors
/// [`is_table_mismatch`](Error::is_table_mismatch) where they contradict it.
pub(super) fn standing<K: TableKey>(info: &TableInfo) -> Result<Standing, Error> {
    let own = voucher::<K>();
    let (mut standing, mut contradicted) = (Standing::Unvouched, false);
    for name in vouchers(info) {
        match Voucher::parse(name) {
            Some(found) if found == own => standing = Standing::Vouched,
            Some(Voucher { tag: Some(tag), .. }) if own.tag.is_some_and(|own| own != tag) => {
                if standing == Standing::Unvouched {
                    standing = Standing::OtherTags;
                }
            }
            _ => contradicted = true,
        }
    }
    match contradicted {
        false => Ok(standing),
        true => Err(contradiction::<K>(info)),
    }
}

/// That nothing vouches for a key type, where something is to.
pub(super) fn unvouched<K: TableKey>(info: &TableInfo) -> Error {
    let expected = described(K::SCHEMA);
    let text = match vouchers(info).next() {
        None => format!(
            "nothing vouches for the layout of its keys, since another program made it; expected {expected}, found no \
             voucher beside the column families {}; `vouch()` adds it, after a look at a sample of the keys, and \
             `verify().allow_unvouched()` does without",
            info.family_names(),
        ),
        Some(_) => format!(
            "it vouches for key types of other tags alone; expected {expected}, found {}; if the tag is a new one of this \
             table, `create_if_absent` adds the voucher, and so does `vouch()`, after a look at a sample of the keys",
            list(info),
        ),
    };
    Error::mismatch(info.name(), text)
}

/// What is wrong with the vouchers of a table.
#[cold]
fn contradiction<K: TableKey>(info: &TableInfo) -> Error {
    let own = voucher::<K>();
    let found: Vec<_> = vouchers(info).map(Voucher::parse).collect();
    let of_own_tag = found.iter().flatten().filter(|found| found.tag == own.tag).count();
    let (fault, remedy) = if found.contains(&None) {
        (
            "it vouches in a way that this release of keyderive does not know",
            "use the release that changed the table last",
        )
    } else if found.iter().flatten().any(|found| found.tag.is_some() != own.tag.is_some()) {
        let fault = match own.tag {
            None => "it vouches for a key type with a tag, and this one has none",
            Some(_) => "it vouches for a key type without a tag, and this one has one",
        };
        (
            fault,
            "key types that share a table need a tag each, `#[row_key(tag = \"…\")]`; others need tables of their own",
        )
    } else if of_own_tag > 1 {
        (
            "it vouches for several layouts of one key type",
            "two programs made it at the same time, or a change of its layout has not ended; drop the families of the \
             layouts that its keys do not have, with `modify_families` and `FamilyChange::drop`",
        )
    } else {
        (
            "it vouches for another layout of its keys",
            "nothing was sent: run the release of the program that made the table, or undo the change of the key type. A \
             new layout needs a new table, and key types that share a table need a tag each, `#[row_key(tag = \"…\")]`",
        )
    };
    let difference = verify::schema_difference::<K>(info);
    let difference = difference.map(|text| format!(" (of the row key schema, {text})")).unwrap_or_default();
    Error::mismatch(
        info.name(),
        format!("{fault}; expected {}{difference}, found {}; {remedy}", described(K::SCHEMA), list(info)),
    )
}

/// A key type and its layout.
fn described(schema: &Schema) -> String {
    let tag = schema.tag().map(|tag| format!(", tag `{tag}`")).unwrap_or_default();
    format!("`{}` of `{}` (fingerprint {}{tag})", schema.template(), schema.key_type(), schema.fingerprint(),)
}

/// What a table vouches for, as a person reads it.
fn list(info: &TableInfo) -> String {
    let found = vouchers(info).map(|name| match Voucher::parse(name) {
        Some(Voucher { tag: None, fingerprint }) => {
            format!("fingerprint {fingerprint:016x} (column family `{name}`)")
        }
        Some(Voucher { tag: Some(_), fingerprint }) => {
            format!("fingerprint {fingerprint:016x} of a type with a tag (column family `{name}`)")
        }
        None => format!("the column family `{name}`"),
    });
    found.collect::<Vec<_>>().join(", ")
}

/// The names of the families by which a table vouches.
fn vouchers(info: &TableInfo) -> impl Iterator<Item = &str> {
    info.families().iter().map(Family::name).filter(|name| name.starts_with(PREFIX))
}

const fn voucher<K: TableKey>() -> Voucher {
    const {
        let tag = match K::SCHEMA.tag() {
            None => None,
            Some(tag) => Some(fnv1a(tag.as_bytes())),
        };
        Voucher { tag, fingerprint: K::SCHEMA.fingerprint().to_u64() }
    }
}

impl Voucher {
    /// None for a family that vouches in a way that this release does not know.
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
const fn fnv1a(bytes: &[u8]) -> u64 {
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
    fn a_voucher_is_named_by_tag_and_fingerprint() {
        assert_eq!(family::<Plain>().name(), format!("keyderive.{}", Plain::fingerprint()));
        // The hash of `a` that the authors of FNV publish.
        let tagged = format!("keyderive.af63dc4c8601ec8c.{}", Tagged::fingerprint());
        assert_eq!(family::<Tagged>().name(), tagged);
        assert_eq!(Voucher::parse(family::<Plain>().name()), Some(voucher::<Plain>()));
        assert_eq!(Voucher::parse(&tagged), Some(voucher::<Tagged>()));
    }

    #[test]
    fn names_of_another_form_are_no_voucher_of_this_release() {
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
            assert_eq!(Voucher::parse(name), None, "{name}");
        }
    }

    #[test]
    fn reserved_names_are_refused() {
        for name in ["keyderive", "keyderive-move", "keyderive.", "keyderive.x"] {
            let error = refuse_reserved("t", ["cf", name].into_iter()).unwrap_err();
            assert!(error.is_invalid_argument() && error.attempts() == 0, "{error}");
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
        assert!(refuse_reserved("t", ["cf", "keyderiv", "keyderive_x", "Keyderive"].into_iter()).is_ok());
    }
}
