//! The marker row: which layout the rows of a table are stored by, and where that differs from a key type.
//!
//! It is in a family of its own, so that no garbage collection rule removes it, and under the lowest row key, so that a scan
//! from the start of a table begins right after it. `FORMAT.md` has its bytes.

use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::Value;

use super::Table;
pub(super) use super::key_space::MARKER_KEY as KEY;
use super::key_space::is_free;
use crate::client::{Client, Error, Family, FamilyChange, GcRule, Route, TableInfo};
use crate::key::{KeyType, Readable, Schema, TableKey};
use crate::row::{Mutation, RowFilter};

pub(super) const FAMILY: &str = "keyderive";
/// A fixed time rather than the server's, so that a marker that is written twice is one cell.
const TIMESTAMP: i64 = 0;
/// How often [`advance`] reads a marker again that another program has changed.
const ADVANCE_ATTEMPTS: usize = 8;
/// How much of an invalid marker an error shows.
const MAX_SHOWN: usize = 80;

impl<K: TableKey, R> Table<K, R> {
    /// Writes the marker row, which holds the layout of this key type as that of the table's row keys.
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
    /// For an existing table; [`create().with_marker()`](super::CreateTable::with_marker) writes it to a new one. Key types
    /// with different tags that share a table have a column each in the marker row. An existing marker is never replaced:
    /// after you have rewritten the rows, call [`remove_marker`](Self::remove_marker) first.
    ///
    /// # Where it is
    /// Its row key is the byte 00, the lowest of all, which is not a key of the key type. Scans, counts and deletions by plan
    /// begin after it. Other programs, and another client that sends a plan's requests, see the row, in the column family
    /// `keyderive`. This call adds the family if the table lacks it. `FORMAT.md` in the repository has the row's bytes.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the table has a marker for another layout, or a row key schema,
    /// since SQL that names its columns would fail at the marker; before sending, if the byte 00 is a key of the key type;
    /// when a request fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the marker is written or not, perhaps later, and the family may be there without it. Write it
    /// again.
    pub async fn write_marker(&self) -> Result<(), Error> {
        let table = &self.handle;
        check(table.key, &table.name)?;
        let info = table.client.table_info(&table.name).await?;
        write(table.key, &table.client, &info).await
    }

    /// Removes the marker for key types with this key type's tag, whatever its layout.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) if there is no such table; when a request fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the marker is removed or not, perhaps later.
    pub async fn remove_marker(&self) -> Result<(), Error> {
        let (client, name, key) = (&self.handle.client, &self.handle.name, self.handle.key);
        let info = client.table_info(name).await?;
        if info.family(FAMILY).is_none() {
            return Ok(());
        }
        let change = vec![Mutation::delete_column(FAMILY, qualifier(key.schema()))];
        client.mutate_row(name, Bytes::from_static(&KEY), change).await
    }
}

/// The family of the marker row.
pub(super) fn family() -> Family {
    Family::new(FAMILY, GcRule::max_versions(1))
}

/// Fails if the marker's key is a key of the key type.
pub(super) fn check(key: KeyType, table: &str) -> Result<(), Error> {
    if is_free(key) {
        return Ok(());
    }
    Err(Error::definition(
        table,
        format!(
            "`{}` has a key of the single byte 00, which is the key of the marker row; do without a marker",
            key.schema().key_type()
        ),
    ))
}

/// Writes the marker of an existing table. An existing marker must be that of the key type.
pub(super) async fn write(key: KeyType, client: &Client, info: &TableInfo) -> Result<(), Error> {
    if let Some(schema) = info.row_key_schema() {
        return Err(Error::mismatch(
            info.name(),
            format!(
                "SQL that names a column of its row key schema would fail at a marker row; expected no schema, found \
                 {schema}; remove the schema first, or do without a marker: `verify` compares the schema instead"
            ),
        ));
    }
    if info.family(FAMILY).is_none() {
        let added = client.modify_families(info.name(), vec![FamilyChange::add(family())]).await;
        // Another program may have added it.
        added.map(drop).or_else(|error| if error.is_already_exists() { Ok(()) } else { Err(error) })?;
    }
    write_in_family(key, client, &client.route(info.name())).await
}

/// As [`write`], for a table that has the marker's family.
pub(super) async fn write_in_family(key: KeyType, client: &Client, table: &Route) -> Result<(), Error> {
    let (row_key, schema) = (Bytes::from_static(&KEY), key.schema());
    let set = Mutation::set(FAMILY, qualifier(schema), TIMESTAMP, to_value(schema));
    let exists = client.check_and_mutate_row(table, row_key, Some(column(schema)), vec![], vec![set]).await?;
    match exists {
        false => Ok(()),
        true => read_and_compare(key, client, table).await.map(drop),
    }
}

/// Whether the table has a marker for the key type, which must be of its layout.
pub(super) async fn compare(key: KeyType, client: &Client, info: &TableInfo) -> Result<bool, Error> {
    match info.family(FAMILY) {
        None => Ok(false),
        Some(_) => read_and_compare(key, client, &client.route(info.name())).await,
    }
}

/// Replaces a marker with the first epochs of the key type by that of all, if the table has one.
pub(super) async fn advance(key: KeyType, client: &Client, info: &TableInfo) -> Result<(), Error> {
    if info.family(FAMILY).is_none() {
        return Ok(());
    }
    let (table, key, schema) = (client.route(info.name()), Bytes::from_static(&KEY), key.schema());
    for _ in 0..ADVANCE_ATTEMPTS {
        let row = client.read_row(&table, key.clone(), Some(column(schema))).await?;
        let Some(cell) = row.as_ref().and_then(|row| row.cells().next()) else { return Ok(()) };
        if let Some(difference) = difference(cell.value(), schema) {
            return Err(Error::mismatch(&table, difference));
        }
        if fingerprint(cell.value()) == Some(schema.fingerprint().to_string()) {
            return Ok(());
        }
        // Only that value is replaced: another program may write the marker of later epochs meanwhile.
        let unchanged =
            RowFilter::chain([column(schema), RowFilter::value_range(cell.value()..=cell.value())]);
        let set = Mutation::set(FAMILY, qualifier(schema), TIMESTAMP, to_value(schema));
        if client.check_and_mutate_row(&table, key.clone(), Some(unchanged), vec![set], vec![]).await? {
            return Ok(());
        }
    }
    Err(Error::mismatch(
        &table,
        "other programs change its marker row all the time; call `advance_marker` again",
    ))
}

async fn read_and_compare(key: KeyType, client: &Client, table: &Route) -> Result<bool, Error> {
    let row_key = Bytes::from_static(&KEY);
    let row = client.read_row(table, row_key, Some(column(key.schema()))).await?;
    let Some(cell) = row.as_ref().and_then(|row| row.cells().next()) else { return Ok(false) };
    match difference(cell.value(), key.schema()) {
        None => Ok(true),
        Some(difference) => Err(Error::mismatch(table, difference)),
    }
}

/// The column for key types with this one's tag.
fn qualifier(schema: &Schema) -> String {
    match schema.tag() {
        None => "layout".to_owned(),
        Some(tag) => format!("layout:{tag}"),
    }
}

fn column(schema: &Schema) -> RowFilter {
    RowFilter::chain([RowFilter::exact_column(FAMILY, qualifier(schema)), RowFilter::latest(1)])
}

/// The value of a marker: the schema as JSON.
fn to_value(schema: &Schema) -> Vec<u8> {
    // It only has text, numbers and lists, all of which JSON can hold.
    serde_json::to_vec(schema).unwrap_or_default()
}

/// The fingerprint in a marker.
fn fingerprint(value: &[u8]) -> Option<String> {
    let found: Value = serde_json::from_slice(value).ok()?;
    found["fingerprint"].as_str().map(str::to_owned)
}

/// The difference between a marker's layout and that of `schema`, in words.
fn difference(value: &[u8], schema: &Schema) -> Option<String> {
    let expected: Value = serde_json::to_value(schema).unwrap_or_default();
    let found: Value = serde_json::from_slice(value).unwrap_or_default();
    let Some(fingerprint) = found["fingerprint"].as_str() else {
        let shown = Readable(value.get(..MAX_SHOWN).unwrap_or(value));
        return Some(format!(
            "its marker row names no layout; expected that of {}, found `{shown}`: another program may write there",
            described(&expected)
        ));
    };
    // Epochs may be added: the first ones are the same.
    if (1..=schema.epoch_count()).any(|epochs| schema.fingerprint_of(epochs).to_string() == fingerprint) {
        return None;
    }
    let mut text = String::from("its rows are stored by another layout than that of the key type");
    if let Some(part) = first_difference(&expected, &found) {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {part}");
    }
    let _ = write!(text, "; expected {}, found {}", described(&expected), described(&found));
    Some(text)
}

/// A layout in a line.
fn described(layout: &Value) -> String {
    let text = |name: &str| layout[name].as_str().unwrap_or("?").to_owned();
    format!("`{}` of `{}` (fingerprint {})", text("template"), text("key_type"), text("fingerprint"))
}

/// The first part of a layout that differs, as expected and as found.
fn first_difference(expected: &Value, found: &Value) -> Option<String> {
    differs(
        expected,
        found,
        &[
            ("format_version", "the version of the key format"),
            ("layout", "the layout"),
            ("delimiter", "the delimiter"),
            ("tag", "the tag"),
        ],
    )
    .or_else(|| salt_difference(&expected["salt"], &found["salt"]))
    .or_else(|| epoch_difference(&expected["epochs"], &found["epochs"]))
    .or_else(|| field_difference(&expected["fields"], &found["fields"]))
}

/// Markers of releases without epochs have no list of them.
fn epoch_difference(expected: &Value, found: &Value) -> Option<String> {
    let none = Vec::new();
    let (expected, found) = (expected.as_array().unwrap_or(&none), found.as_array().unwrap_or(&none));
    for (expected, found) in expected.iter().zip(found) {
        let bound = differs(expected, found, &[("field", "the field of the bounds"), ("since", "a bound")]);
        if let Some(part) = bound.or_else(|| salt_difference(&expected["salt"], &found["salt"])) {
            return Some(part);
        }
    }
    let (wanted, has) = (expected.len(), found.len());
    let remedy = if has > wanted { ": run the newer release, whose key type has all of them" } else { "" };
    (wanted != has).then(|| format!("it should have {wanted} `since` bounds and has {has}{remedy}"))
}

fn salt_difference(expected: &Value, found: &Value) -> Option<String> {
    match (expected.is_null(), found.is_null()) {
        (true, true) => None,
        (true, false) => Some("it should have no salt and has one".to_owned()),
        (false, true) => Some("it should have a salt and has none".to_owned()),
        (false, false) => differs(
            expected,
            found,
            &[
                ("range", "the range of the salt"),
                ("hash", "the hash of the salt"),
                ("place", "the place of the salt"),
                ("sep", "the text after the salt"),
                ("over", "the fields that the salt is over"),
            ],
        ),
    }
}

fn field_difference(expected: &Value, found: &Value) -> Option<String> {
    let none = Vec::new();
    let (expected, found) = (expected.as_array().unwrap_or(&none), found.as_array().unwrap_or(&none));
    for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
        let place = at + 1;
        if let Some(name) = differs(expected, found, &[("name", &format!("the name of field {place}"))]) {
            return Some(name);
        }
        let field = expected["name"].as_str().unwrap_or("?");
        let parts =
            ["format", "order", "width"].map(|part| (part, format!("the {part} of the field `{field}`")));
        let parts = parts.each_ref().map(|(part, words)| (*part, words.as_str()));
        if let Some(part) = differs(expected, found, &parts) {
            return Some(part);
        }
    }
    let (wanted, has) = (expected.len(), found.len());
    (wanted != has).then(|| format!("it should have {wanted} fields and has {has}"))
}

/// The first of the named parts that differs.
fn differs(expected: &Value, found: &Value, parts: &[(&str, &str)]) -> Option<String> {
    let (part, words) = parts.iter().find(|(part, _)| expected[*part] != found[*part])?;
    Some(format!("{words} should be {} and is {}", shown(&expected[*part]), shown(&found[*part])))
}

/// A value without the quotes of JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        Value::Null => "none".to_owned(),
        other => format!("`{other}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowKey;
    use crate::plan::KeyRange;
    use crate::table::key_space::exclude_marker;

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

    /// The marker's key is a key of this type.
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
        let left = |range: KeyRange| exclude_marker(KeyType::of::<Text>(), vec![range]);
        assert_eq!(left(KeyRange::new([], None)), [KeyRange::new([0, 0], None)]);
        assert_eq!(left(KeyRange::new([0], Some(vec![1]))), [KeyRange::new([0, 0], Some(vec![1]))]);
        assert_eq!(left(KeyRange::new([], Some(vec![0, 0]))), []);
        for untouched in
            [KeyRange::new([0, 0], None), KeyRange::new([], Some(vec![0])), KeyRange::prefix(b"a")]
        {
            assert_eq!(left(untouched.clone()), [untouched]);
        }
        assert_eq!(
            exclude_marker(KeyType::of::<Raw>(), vec![KeyRange::new([], None)]),
            [KeyRange::new([], None)]
        );
    }

    #[test]
    fn a_key_type_with_the_markers_key_can_have_no_marker() {
        assert!(check(KeyType::of::<Text>(), "t").is_ok() && check(KeyType::of::<Ordered>(), "t").is_ok());
        let error = check(KeyType::of::<Raw>(), "raw").unwrap_err();
        assert!(error.is_invalid_argument() && error.to_string().contains("`Raw`"), "{error}");
        // The lowest keys of both layouts come after it.
        let text = Text { user: String::new(), site: String::new() }.encode().unwrap();
        let ordered = Ordered { user: String::new(), site: String::new() }.encode().unwrap();
        assert_eq!((&text[..], &ordered[..]), (&b"#"[..], &[0, 0][..]));
    }

    #[derive(RowKey)]
    #[salt(range = 4, over = "user")]
    struct Old {
        user: String,
        #[pad(6)]
        number: u32,
    }

    macro_rules! key {
        ($name:ident, $(#[$key:meta])* { $($(#[$field:meta])* $part:ident: $type:ty,)* }) => {
            #[derive(RowKey)]
            $(#[$key])*
            #[allow(dead_code)]
            struct $name { $($(#[$field])* $part: $type,)* }
        };
    }
    key!(Same, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u64, });
    key!(Salt, #[salt(range = 8, over = "user")] { user: String, #[pad(6)] number: u32, });
    key!(NoSalt, { user: String, #[pad(6)] number: u32, });
    key!(Width, #[salt(range = 4, over = "user")] { user: String, #[pad(7)] number: u32, });
    key!(Order, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] #[row_key(desc)] number: u32, });
    key!(Name, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] no: u32, });
    key!(More, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u32, last: u8, });
    key!(Dash, #[salt(range = 4, over = "user")] #[row_key(delimiter = '-')] { user: String, #[pad(6)] number: u32, });

    fn against_old<K: RowKey>() -> Option<String> {
        difference(&to_value(Old::SCHEMA), K::SCHEMA)
    }

    #[test]
    fn key_types_of_one_fingerprint_are_the_same() {
        assert_eq!(against_old::<Old>(), None);
        assert_eq!(against_old::<Same>(), None);
    }

    #[test]
    fn a_difference_names_the_part_and_both_sides() {
        for (text, part) in [
            (against_old::<Salt>(), "the range of the salt should be `8` and is `4`"),
            (against_old::<NoSalt>(), "it should have no salt and has one"),
            (
                against_old::<Width>(),
                "the width of the field `number` should be `{\"fixed\":7}` and is `{\"fixed\":6}`",
            ),
            (against_old::<Order>(), "the order of the field `number` should be"),
            (against_old::<Name>(), "the name of field 2 should be `no` and is `number`"),
            (against_old::<More>(), "it should have 3 fields and has 2"),
            (against_old::<Dash>(), "the delimiter should be `-` and is `#`"),
        ] {
            let text = text.unwrap();
            assert!(text.contains(part), "{text}");
            let found = format!(
                "found `<salt 0 to 3>#<user>#<number>` of `Old` (fingerprint {})",
                Old::fingerprint()
            );
            assert!(text.ends_with(&found), "{text}");
        }
    }

    #[test]
    fn an_invalid_marker_is_shown() {
        for value in [&b""[..], b"null", b"[]", b"{\"fingerprint\":7}", b"\xff\xfe", &[b'x'; 1000]] {
            let text = difference(value, Old::SCHEMA).unwrap();
            assert!(text.starts_with("its marker row names no layout; expected that of `<salt"), "{text}");
            assert!(text.len() < 500, "{text}");
        }
    }
}
