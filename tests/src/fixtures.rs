//! The key types, the row types and the helpers that most tests use. A test declares a type of its own where that type is its point.

#![allow(missing_docs, reason = "fields whose names say it all")]

use std::fmt::Display;

use keyderive::client::Family;
use keyderive::key::TableKey;
use keyderive::{Client, Error, ErrorKind, GcRule, Row, RowKey, Table};

/// A key where nothing depends on the key, and that of a table before it is re-keyed.
#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserKey {
    pub id: u64,
}

/// The same key in four buckets, for what merges or spreads rows, and that of a table after it was re-keyed.
#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "id")]
pub struct SaltedKey {
    pub id: u64,
}

impl From<UserKey> for SaltedKey {
    fn from(UserKey { id }: UserKey) -> Self {
        Self { id }
    }
}

impl From<&SaltedKey> for UserKey {
    fn from(SaltedKey { id }: &SaltedKey) -> Self {
        Self { id: *id }
    }
}

/// A row of a user at a time, in the bucket of the user, for scans that fix a field and bound the next.
#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "user")]
pub struct EventKey {
    pub user: String,
    pub at: u64,
}

/// A row where nothing depends on the row: one column, which it must have.
#[derive(Row, Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
}

impl User {
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.into() }
    }
}

/// A row with a column that it must have and one that it may lack.
#[derive(Row, Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: String,
    pub note: Option<String>,
}

/// A new table, with all that its types say.
///
/// # Panics
///
/// When the table is there.
pub async fn created<K: RowKey + TableKey, R: Row>(client: &Client, name: &str) -> Table<K, R> {
    let table = client.table(name);
    assert!(table.create_if_absent().await.unwrap(), "the table `{name}` is there");
    table
}

/// Creates a table as Terraform does: with the family `cf`, and without a stamp.
///
/// # Panics
///
/// When the table is there.
pub async fn created_raw(client: &Client, name: &str) {
    let families = [Family::new("cf", GcRule::max_versions(1))];
    client.raw_table(name).create(families, [""; 0]).await.unwrap();
}

/// Fails unless an error is of this kind and its text has all of these parts.
///
/// # Panics
///
/// When it does not.
#[track_caller]
pub fn assert_error(error: &Error, kind: ErrorKind, parts: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

/// Fails unless an outcome is an error whose text has this part; returns the error.
///
/// # Panics
///
/// When it is none, or another.
#[track_caller]
pub fn fails<T, E: Display>(outcome: Result<T, E>, part: &str) -> E {
    let Err(error) = outcome else { panic!("it succeeds, and does not fail with `{part}`") };
    let text = error.to_string();
    assert!(text.contains(part), "`{part}` is not in: {text}");
    error
}

/// Fails unless an outcome is the error that a table is another one than its types say, with this part in its text; returns the error.
///
/// # Panics
///
/// When it is none, or another.
#[track_caller]
pub fn mismatches<T>(outcome: Result<T, Error>, part: &str) -> Error {
    let error = fails(outcome, part);
    assert!(error.is_table_mismatch(), "{error}");
    error
}
