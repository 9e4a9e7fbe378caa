//! The marker row: which layout the rows of a table are stored by.
//!
//! `FORMAT.md` has its bytes. It lies in a family of its own, so that no rule removes it, and under the least row key
//! there is, so that a scan from the start of a table begins right after it.

use bytes::Bytes;

mod layout;

use super::Table;
use crate::client::{Client, Error, Family, FamilyChange, GcRule, TableInfo};
use crate::key::{Schema, TableKey};
use crate::plan::KeyRange;
use crate::row::{Mutation, RowFilter};

/// The least row key.
const KEY: [u8; 1] = [0];
/// The first row key after it.
const BEHIND: [u8; 2] = [0, 0];
pub(super) const FAMILY: &str = "keyderive";
/// Set rather than the server's clock, so that a marker that is written twice is one cell.
const TIMESTAMP: i64 = 0;

impl<K: TableKey, R> Table<K, R> {
    /// Writes the marker row, which says that the rows of the table are stored by the layout of this key type.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create().without_row_key_schema().await?;
    /// assert!(!users.verify().await?.marker);
    /// users.write_marker().await?;
    /// assert!(users.verify().await?.marker);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For a table that exists; a new one has it by [`create().with_marker()`](super::CreateTable::with_marker). Key types
    /// with other tags, which share a table, have a column of their own in it. A marker that is there is never
    /// replaced: after the rows have been rewritten, [`remove_marker`](Self::remove_marker) comes first.
    ///
    /// # Where it lies
    /// Its row key is the byte 00, the least that there is, which is no key of the key type. Scans, counts and
    /// deletions by plan ask for rows after it and so do not meet it. Other programs, and requests that are made of a
    /// plan for another client, see a row there, in the column family `keyderive`, which is added where it is not
    /// there. `FORMAT.md` in the repository has its bytes.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) where there is the marker of another layout, or a row key schema, since SQL
    /// that names its columns would fail at the marker; before anything is sent, for a key type that has a key of the
    /// byte 00; when a request fails.
    pub async fn write_marker(&self) -> Result<(), Error> {
        check::<K>(&self.name)?;
        let info = self.client.table_info(&self.name).await?;
        write::<K>(&self.client, &info).await
    }

    /// Removes the marker of key types with this key type's tag, whatever layout it names.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) where there is no such table; when a request fails.
    pub async fn remove_marker(&self) -> Result<(), Error> {
        let info = self.client.table_info(&self.name).await?;
        if info.family(FAMILY).is_none() {
            return Ok(());
        }
        let change = vec![Mutation::delete_column(FAMILY, qualifier(K::SCHEMA))];
        self.client.mutate_row(&self.name, Bytes::from_static(&KEY), change).await
    }
}

/// The family of the marker row.
pub(super) fn family() -> Family {
    Family::new(FAMILY, GcRule::max_versions(1))
}

/// The ranges without the marker's key, where that is no key of the key type.
pub(super) fn leave_out<K: TableKey>(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    if ranges.iter().any(|range| range.contains(&KEY)) && is_free::<K>() {
        let after = KeyRange::new(BEHIND, None);
        ranges = ranges.iter().map(|range| range.intersection(&after)).collect();
        ranges.retain(|range| !range.is_empty());
    }
    ranges
}

/// Whether no key of the key type is the marker's.
fn is_free<K: TableKey>() -> bool {
    K::stored(&KEY).is_err()
}

/// Fails for a key type whose rows can lie where the marker does.
pub(super) fn check<K: TableKey>(table: &str) -> Result<(), Error> {
    if is_free::<K>() {
        return Ok(());
    }
    Err(Error::definition(
        table,
        format!(
            "`{}` has a key of the single byte 00, where the marker row lies; do without a marker",
            K::SCHEMA.key_type()
        ),
    ))
}

/// Writes the marker of a table that exists, where there is none; it must be that of the key type where there is one.
pub(super) async fn write<K: TableKey>(client: &Client, info: &TableInfo) -> Result<(), Error> {
    if let Some(schema) = info.row_key_schema() {
        return Err(Error::mismatch(
            info.name(),
            format!(
                "SQL that names a column of its row key schema would fail at a marker row; expected no schema, found \
                 {schema}: `verify` compares the schema instead, or remove it first"
            ),
        ));
    }
    if info.family(FAMILY).is_none() {
        let added = client.modify_families(info.name(), vec![FamilyChange::add(family())]).await;
        // Another program may have been faster.
        added.map(drop).or_else(|error| if error.is_already_exists() { Ok(()) } else { Err(error) })?;
    }
    write_first::<K>(client, info.name()).await
}

/// As [`write`], for a table that has the family.
pub(super) async fn write_first<K: TableKey>(client: &Client, table: &str) -> Result<(), Error> {
    let (key, schema) = (Bytes::from_static(&KEY), K::SCHEMA);
    let set = Mutation::set(FAMILY, qualifier(schema), TIMESTAMP, layout::to_value(schema));
    let known = client.check_and_mutate_row(table, key, Some(column(schema)), vec![], vec![set]).await?;
    match known {
        false => Ok(()),
        true => compare::<K>(client, table).await.map(drop),
    }
}

/// Whether there is a marker for the key type, which must be of its layout.
pub(super) async fn is_of<K: TableKey>(client: &Client, info: &TableInfo) -> Result<bool, Error> {
    match info.family(FAMILY) {
        None => Ok(false),
        Some(_) => compare::<K>(client, info.name()).await,
    }
}

async fn compare<K: TableKey>(client: &Client, table: &str) -> Result<bool, Error> {
    let key = Bytes::from_static(&KEY);
    let row = client.read_row(table, key, Some(column(K::SCHEMA))).await?;
    let Some(cell) = row.as_ref().and_then(|row| row.cells().next()) else { return Ok(false) };
    match layout::difference(cell.value(), K::SCHEMA) {
        None => Ok(true),
        Some(difference) => Err(Error::mismatch(table, difference)),
    }
}

/// The column for the key types with the tag of this one.
fn qualifier(schema: &Schema) -> String {
    match schema.tag() {
        None => "layout".to_owned(),
        Some(tag) => format!("layout:{tag}"),
    }
}

fn column(schema: &Schema) -> RowFilter {
    RowFilter::chain([RowFilter::exact_column(FAMILY, qualifier(schema)), RowFilter::latest(1)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowKey;

    #[derive(RowKey)]
    struct Text {
        user: String,
        site: String,
    }

    #[derive(RowKey)]
    #[row_key(layout = "ordered")]
    struct Ordered {
        user: String,
        site: String,
    }

    /// A key type that has the marker's key.
    #[derive(RowKey)]
    struct Raw {
        #[row_key(with = "one_byte")]
        byte: u8,
    }

    mod one_byte {
        use crate::key::{FieldError, Width};

        pub(super) const WIDTH: Width = Width::Fixed(1);

        pub(super) fn write(value: &u8, out: &mut Vec<u8>) -> Result<(), FieldError> {
            out.push(*value);
            Ok(())
        }

        pub(super) fn read(bytes: &[u8]) -> Result<u8, FieldError> {
            bytes.first().copied().ok_or_else(|| FieldError::new("there is no byte"))
        }
    }

    #[test]
    fn only_the_markers_key_is_left_out() {
        let left = |range: KeyRange| leave_out::<Text>(vec![range]);
        assert_eq!(left(KeyRange::new([], None)), [KeyRange::new([0, 0], None)]);
        assert_eq!(left(KeyRange::new([0], Some(vec![1]))), [KeyRange::new([0, 0], Some(vec![1]))]);
        assert_eq!(left(KeyRange::new([], Some(vec![0, 0]))), []);
        for untouched in
            [KeyRange::new([0, 0], None), KeyRange::new([], Some(vec![0])), KeyRange::prefix(b"a")]
        {
            assert_eq!(left(untouched.clone()), [untouched]);
        }
        assert_eq!(leave_out::<Raw>(vec![KeyRange::new([], None)]), [KeyRange::new([], None)]);
    }

    #[test]
    fn the_key_is_none_of_a_key_type_that_may_have_a_marker() {
        assert!(check::<Text>("t").is_ok() && check::<Ordered>("t").is_ok());
        let error = check::<Raw>("raw").unwrap_err();
        assert!(error.is_invalid_argument() && error.to_string().contains("`Raw`"), "{error}");
        // The least keys of both layouts lie after it.
        let text = Text { user: String::new(), site: String::new() }.encode().unwrap();
        let ordered = Ordered { user: String::new(), site: String::new() }.encode().unwrap();
        assert_eq!((&text[..], &ordered[..]), (&b"#"[..], &BEHIND[..]));
    }
}
