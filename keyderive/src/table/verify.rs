//! A table that exists, compared with what it is to be.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use super::vouch::{self, Standing};
use super::{Table, marker};
use crate::client::{Client, Error, Family, GcRule, TableInfo, TableSchema};
use crate::key::TableKey;

/// What was there to be compared, from [`Table::verify`] and [`CreateTable::verify`](super::CreateTable::verify).
///
/// What is false here is no fault: it says that nothing vouches for the key's layout in that way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Whether the table has the voucher of the key type's layout, an empty column family that it is created with. It is
    /// false only where [`Verify::allow_unvouched`] lets that pass.
    pub voucher: bool,
    /// Whether the table has a row key schema, which is the expected one. The emulator keeps none.
    pub row_key_schema: bool,
    /// Whether the table has a marker row for the key type, with its fingerprint.
    pub marker: bool,
}

/// A comparison of a table with what it is to be, from [`Table::verify`] and
/// [`CreateTable::verify`](super::CreateTable::verify).
///
/// Awaited, it reads the table and changes nothing.
///
/// # Errors
/// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference, with both sides;
/// [`is_not_found`](Error::is_not_found) where there is no such table.
#[must_use = "a table is compared when this is awaited"]
pub struct Verify<K> {
    pub(super) client: Client,
    pub(super) name: Arc<str>,
    pub(super) expected: Result<Expected, Error>,
    pub(super) allows_unvouched: bool,
    pub(super) key: PhantomData<fn() -> K>,
}

/// What a table is to be.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) families: Vec<Family>,
    /// The families whose rules are declared.
    pub(super) ruled: Vec<String>,
    /// The families of which every version is read.
    pub(super) histories: Vec<String>,
    pub(super) schema: Option<TableSchema>,
    /// Whether there must be a marker.
    pub(super) marker: bool,
}

impl<K: TableKey> Verify<K> {
    /// Lets a table pass that does not vouch for the key type: one that Terraform or another program made.
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
    /// assert!(!users.verify().allow_unvouched().await?.voucher);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A voucher of another layout is an error all the same. [`Table::vouch`] gives the table one.
    pub fn allow_unvouched(self) -> Self {
        Self { allows_unvouched: true, ..self }
    }
}

impl<K: TableKey> IntoFuture for Verify<K> {
    type Output = Result<Verified, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let expected = self.expected?;
            let info = self.client.table_info(&self.name).await?;
            let (verified, standing) = compare::<K>(&self.client, &info, &expected).await?;
            match standing == Standing::Vouched || self.allows_unvouched {
                true => Ok(verified),
                false => Err(vouch::unvouched::<K>(&info)),
            }
        })
    }
}

impl<K> fmt::Debug for Verify<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, expected, allows_unvouched, .. } = self;
        f.debug_struct("Verify")
            .field("name", name)
            .field("expected", expected)
            .field("allows_unvouched", allows_unvouched)
            .finish_non_exhaustive()
    }
}

impl<K: TableKey, R> Table<K, R> {
    /// Compares the table that exists with the key type, and changes nothing.
    ///
    /// - It vouches for the layout of the key type, by the column family that it was created with: for this layout, no
    ///   other one, and for key types with this tag. [`allow_unvouched`](Verify::allow_unvouched) lets a table pass that
    ///   another program made, and [`vouch`](Self::vouch) gives it a voucher.
    /// - The table has its column family, and those that the row type has beside it, of cells that are bytes. Where the row
    ///   type has [`Versions`](crate::row::Versions) in a family, its garbage collection rule leaves more than one.
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
    /// let found = users.verify().await?;
    /// assert!(found.voucher && found.marker);
    ///
    /// let error = client.table::<WideKey, User>("users").verify().await.unwrap_err();
    /// assert!(error.is_table_mismatch());
    /// assert!(error.to_string().contains("the width of the field `id`")); // what differs, the marker knows
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is sent when it is awaited.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference, with both sides, and for a table that does not vouch
    /// for the key type; [`is_not_found`](Error::is_not_found) where there is no such table.
    pub fn verify(&self) -> Verify<K> {
        let expected = Expected {
            families: self.families(),
            ruled: Vec::new(),
            histories: self.histories(),
            schema: K::row_key_schema().ok().map(|schema| (&schema).into()),
            marker: false,
        };
        Verify {
            client: self.client.clone(),
            name: Arc::clone(&self.name),
            expected: Ok(expected),
            allows_unvouched: false,
            key: PhantomData,
        }
    }
}

/// What of the table was there to be compared, where nothing differs, and what its vouchers say of the key type.
pub(super) async fn compare<K: TableKey>(
    client: &Client,
    info: &TableInfo,
    expected: &Expected,
) -> Result<(Verified, Standing), Error> {
    has_families(info, &expected.families)?;
    has_kinds(info, &expected.families)?;
    keeps_histories(info, &expected.histories)?;
    let is_ruled = |family: &&Family| expected.ruled.iter().any(|name| name == family.name());
    expected.families.iter().filter(is_ruled).try_for_each(|family| has_rule(info, family))?;
    let row_key_schema = has_schema::<K>(info, expected.schema.as_ref())?;
    // It knows what differs, where a voucher knows only that something does.
    let marker = marker::is_of::<K>(client, info).await?;
    let standing = vouch::standing::<K>(info)?;
    if expected.marker && !marker {
        return Err(Error::mismatch(
            info.name(),
            format!(
                "expected a marker row for `{}`, found none; `write_marker` writes it, once the rows are known to be \
                 of this key type",
                K::SCHEMA.key_type(),
            ),
        ));
    }
    Ok((Verified { voucher: standing == Standing::Vouched, row_key_schema, marker }, standing))
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

/// Fails for a family whose cells are of another kind.
pub(super) fn has_kinds(info: &TableInfo, families: &[Family]) -> Result<(), Error> {
    for family in families {
        let Some(found) = info.family(family.name()) else { continue };
        if found.cells() != family.cells() {
            return Err(differs(info, family, "the type of the cells", &family.cells(), &found.cells()));
        }
    }
    Ok(())
}

/// Fails for a family whose rule is not the declared one.
fn has_rule(info: &TableInfo, family: &Family) -> Result<(), Error> {
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
}

/// Where the row key schema of a table is not that of the key type, in words.
pub(super) fn schema_difference<K: TableKey>(info: &TableInfo) -> Option<String> {
    let expected = TableSchema::from(&K::row_key_schema().ok()?);
    info.row_key_schema()?.difference(&expected)
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
