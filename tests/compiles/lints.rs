//! What the derives print is clean under the lints that users deny. The compiler passes over those of clippy, which
//! the gate shows to clippy.
#![deny(warnings, clippy::all, clippy::cargo, clippy::nursery, clippy::pedantic)]
#![deny(
    future_incompatible,
    let_underscore,
    nonstandard_style,
    rust_2018_idioms,
    rust_2021_compatibility,
    unused
)]
#![deny(
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    meta_variable_misuse,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_ascii_idents,
    redundant_imports,
    redundant_lifetimes,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unused_import_braces,
    unused_lifetimes,
    unused_macro_rules,
    unused_qualifications,
    unused_results,
    variant_size_differences
)]
#![deny(clippy::allow_attributes, clippy::unwrap_used, clippy::exhaustive_enums, clippy::exhaustive_structs)]
#![forbid(unsafe_code)]
// Of the package, and against `unreachable_pub`.
#![allow(clippy::cargo_common_metadata, clippy::multiple_crate_versions, clippy::redundant_pub_crate)]

use std::error::Error;
use std::time::SystemTime;

use keyderive::{KeyField, RowKey};

/// A format of the user's own.
mod shout {
    use keyderive::key::{FieldError, Width};

    pub(crate) const WIDTH: Width = Width::Delimited;

    #[expect(clippy::unnecessary_wraps, reason = "a format may fail")]
    pub(crate) fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.to_uppercase().as_bytes());
        Ok(())
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<String, FieldError> {
        String::from_utf8(bytes.to_vec()).map_err(FieldError::new)
    }
}

/// Who.
#[derive(KeyField, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserId(pub String);

/// What happened.
#[derive(KeyField, Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It began.
    Created = 1,
    /// It ended.
    Deleted = 20,
}

/// The key of an event.
#[derive(RowKey, Clone, Debug, PartialEq, Eq)]
#[row_key(tag = "EVENT", display)]
#[salt(range = 4, over = "user_id,kind", sep = "-")]
#[non_exhaustive]
pub struct EventKey {
    /// Who.
    pub user_id: UserId,
    /// What.
    pub kind: Kind,
    /// Where.
    #[row_key(with = "shout", method = "shouted", name = "place")]
    pub site: String,
    /// When.
    #[reverse_ts]
    #[row_key(ts(unit = "millis", exact))]
    pub at: SystemTime,
    /// In which order.
    #[pad(6)]
    pub seq: u32,
}

/// The key of an order, typed columns for SQL.
#[derive(RowKey, Clone, Debug, PartialEq, Eq)]
#[row_key(layout = "ordered")]
#[non_exhaustive]
pub struct OrderKey<'a> {
    /// Who.
    pub name: &'a str,
    /// How much.
    #[row_key(desc)]
    pub amount: i64,
}

/// The key of a reading, spread by a hash; the runtime by another path.
#[derive(RowKey, Clone, Debug, PartialEq, Eq)]
#[row_key(crate = "keyderive", allow(point_reads))]
#[non_exhaustive]
pub struct ReadingKey {
    /// Of which meter.
    #[row_key(sequential, hash(md5))]
    pub meter: u64,
    /// How often.
    #[row_key(bit_reverse)]
    pub count: u32,
}

/// What a user does with keys.
///
/// # Errors
/// Of a key that cannot be written or read.
///
/// # Panics
/// When the derive is wrong.
pub fn main() -> Result<(), Box<dyn Error>> {
    let at = SystemTime::UNIX_EPOCH;
    let key =
        EventKey { user_id: UserId("alice".into()), kind: Kind::Deleted, site: "HOME".into(), at, seq: 7 };
    assert_eq!(EventKey::decode(&key.encode()?)?, key);
    assert_eq!(key.to_string().parse::<EventKey>()?, key);
    let scan = EventKey::scan().user_id("alice").kind(Kind::Created);
    assert!(!scan.clone().shouted(&key.site).at_range(at..).into_plan()?.is_point_read());
    assert!(scan.shouted(&key.site).at(at).seq(7).into_plan()?.is_point_read());

    let order = OrderKey { name: "alice", amount: 7 }.encode()?;
    assert_eq!(OrderKey::decode(&order)?.amount, 7);
    assert!(!OrderKey::scan().name_prefix("al").into_plan()?.is_point_read());

    let reading = ReadingKey { meter: 7, count: 7 };
    assert_eq!(reading.encode()?.len(), 32 + 1 + 10);
    assert!(ReadingKey::scan().meter(7).count(7).into_plan()?.is_point_read());
    Ok(())
}

#[test]
fn it_ends_well() -> Result<(), Box<dyn Error>> {
    main()
}
