//! A table that exists, compared with what it is to be.

use super::{Table, marker};
use crate::client::{Client, Error, Family, GcRule, TableInfo, TableSchema};
use crate::key::TableKey;

/// What was there to be compared, from [`Table::verify`] and [`CreateTable::verify`](super::CreateTable::verify).
///
/// What is false here is no fault: it says that nothing vouches for the key's layout on that side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Whether the table has a row key schema, which is the expected one. The emulator keeps none.
    pub row_key_schema: bool,
    /// Whether the table has a marker row for the key type, with its fingerprint.
    pub marker: bool,
}

/// What a table is to be.
pub(super) struct Expected<'a> {
    pub(super) families: &'a [Family],
    /// Whether the families' rules are declared.
    pub(super) rules: bool,
    /// The families of which every version is read.
    pub(super) histories: &'a [String],
    pub(super) schema: Option<TableSchema>,
    /// Whether there must be a marker.
    pub(super) marker: bool,
}

impl<K: TableKey, R> Table<K, R> {
    /// Compares the table that exists with the key type, and changes nothing.
    ///
    /// - The table has its column family, and those that the row type has beside it. Where the row type has
    ///   [`Versions`](crate::row::Versions) in a family, its garbage collection rule leaves more than one.
    /// - Where it has a row key schema, this is that of the key type. A table without one is no fault, since it may
    ///   have been created so, and since the emulator keeps none.
    /// - Where it has a marker row for key types with this tag, the fingerprint there is that of the key type.
    ///
    /// [`CreateTable::verify`](super::CreateTable::verify) compares all that is declared, rules too.
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
    /// assert!(users.verify().await?.marker);
    ///
    /// let error = client.table::<WideKey, User>("users").verify().await.unwrap_err();
    /// assert!(error.is_mismatch());
    /// assert!(error.to_string().contains("the width of the field `id`"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_mismatch`](Error::is_mismatch) for the first difference, with both sides;
    /// [`is_not_found`](Error::is_not_found) where there is no such table.
    pub async fn verify(&self) -> Result<Verified, Error> {
        let families = self.families();
        let schema = K::row_key_schema().ok().map(|schema| (&schema).into());
        let histories = self.histories();
        let expected =
            Expected { families: &families, rules: false, histories: &histories, schema, marker: false };
        verify::<K>(&self.client, &self.name, expected).await
    }
}

pub(super) async fn verify<K: TableKey>(
    client: &Client,
    name: &str,
    expected: Expected<'_>,
) -> Result<Verified, Error> {
    let info = client.table_info(name).await?;
    has_families(&info, expected.families)?;
    keeps_histories(&info, expected.histories)?;
    if expected.rules {
        expected.families.iter().try_for_each(|family| is_as_declared(&info, family))?;
    }
    let row_key_schema = has_schema::<K>(&info, expected.schema.as_ref())?;
    let marker = marker::is_of::<K>(client, &info).await?;
    if expected.marker && !marker {
        return Err(Error::mismatch(
            name,
            format!(
                "expected a marker row for `{}`, found none; `write_marker` writes it, once the rows are known to be \
                 of this key type",
                K::SCHEMA.key_type(),
            ),
        ));
    }
    Ok(Verified { row_key_schema, marker })
}

/// Fails for families that are not there, naming all of them. The first of `families` is the table's own.
pub(super) fn has_families(info: &TableInfo, families: &[Family]) -> Result<(), Error> {
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
        true => "; or name another family for the table's own columns by `client.table(…).family(…)`",
        false => "",
    };
    let lacks_others = missing.len() > usize::from(lacks_own);
    let others = match lacks_others {
        true => {
            "; each field of the row type that is a struct or a map is a family, by the name that `#[serde(rename)]` gives it"
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

/// Fails for a family that loses versions which the row type reads.
pub(super) fn keeps_histories(info: &TableInfo, histories: &[String]) -> Result<(), Error> {
    let lossy = |family: &&Family| family.gc_rule().keeps_one();
    match histories.iter().find_map(|name| info.family(name).filter(lossy)) {
        None => Ok(()),
        Some(family) => Err(Error::mismatch(
            info.name(),
            format!("{}, with `modify_families`", lost_history(family.name(), family.gc_rule())),
        )),
    }
}

/// What is wrong with a rule for a family of which every version is read.
pub(super) fn lost_history(family: &str, found: &GcRule) -> String {
    format!(
        "the row type has `Versions` in the column family `{family}`, whose garbage collection rule keeps one: found \
         `{found}`; give the family a rule that keeps them, `GcRule::never()` or `GcRule::max_versions(…)` of more"
    )
}

/// Fails for a family whose cells or rule are not the declared ones.
fn is_as_declared(info: &TableInfo, family: &Family) -> Result<(), Error> {
    let Some(found) = info.family(family.name()) else { return Ok(()) };
    let differ = |what: &str, expected: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
        let name = family.name();
        Err(Error::mismatch(
            info.name(),
            format!(
                "{what} of the column family `{name}` is not the declared one: expected `{expected}`, found `{found}`"
            ),
        ))
    };
    if found.cells() != family.cells() {
        return differ("the type of the cells", &family.cells(), &found.cells());
    }
    if !found.gc_rule().is_same(family.gc_rule()) {
        return differ("the garbage collection rule", family.gc_rule(), found.gc_rule());
    }
    Ok(())
}

/// Whether the table has a row key schema, which must be the expected one.
fn has_schema<K: TableKey>(info: &TableInfo, expected: Option<&TableSchema>) -> Result<bool, Error> {
    let Some(found) = info.row_key_schema() else { return Ok(false) };
    let key_type = K::SCHEMA.key_type();
    let fault = match (expected, K::row_key_schema()) {
        (Some(expected), _) => match found.difference(expected) {
            None => return Ok(true),
            Some(difference) => format!(
                "its row key schema is not that of `{key_type}`: {difference}; expected {expected}, found {found}"
            ),
        },
        (None, Err(reason)) => format!(
            "it has a row key schema, and `{key_type}` has none, since {reason}; expected none, found {found}"
        ),
        (None, Ok(_)) => {
            format!("it has a row key schema, and is declared without one; expected none, found {found}")
        }
    };
    Err(Error::mismatch(info.name(), fault))
}
