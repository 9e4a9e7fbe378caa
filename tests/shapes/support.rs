//! What the generated programs call: the laws of keys and rows, and values of types.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyderive::dynamic::KeyLayout;
use keyderive::key::{DecodeError, EncodeError, KeySchema};
use keyderive::plan::{Plan, PlanError, Request};
use keyderive::row::{OwnedRow, RowSchema};
use keyderive::{Client, RowKey};

/// The crate by another path.
pub mod reexported {
    pub use ::keyderive;
}

/// Runs one program; prints its name if it panics.
pub fn program(name: &str, run: fn()) -> bool {
    let has_passed = std::panic::catch_unwind(run).is_ok();
    if !has_passed {
        println!("failed: {name}");
    }
    has_passed
}

/// Keys of a type, and what the type does.
pub struct Laws<'l, K> {
    /// The keys.
    pub keys: &'l [K],
    /// The layout.
    pub schema: &'static KeySchema,
    /// Encodes a key.
    pub encode: &'l dyn Fn(&K) -> Result<Vec<u8>, EncodeError>,
    /// Whether bytes decode to a key.
    pub decodes: &'l dyn Fn(&[u8], &K) -> Result<bool, DecodeError>,
    /// What bytes that decode are encoded as.
    pub again: &'l dyn Fn(&[u8]) -> Option<Vec<u8>>,
    /// The order of the fields, if that of the bytes is the same.
    pub order: Option<&'l dyn Fn(&K, &K) -> Ordering>,
    /// The bucket of a key.
    pub bucket: &'l dyn Fn(&K) -> Result<Option<i32>, EncodeError>,
    /// What scans that read a key ask for.
    pub plans: &'l dyn Fn(&K) -> Vec<Vec<Request>>,
    /// The text of a key.
    pub display: Option<&'l dyn Fn(&K) -> String>,
    /// Whether no key is a prefix of another one.
    pub is_fixed: bool,
}

impl<K> Debug for Laws<'_, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Laws").finish_non_exhaustive()
    }
}

/// Checks the laws of keys.
pub fn keys<K: Debug>(laws: &Laws<'_, K>) {
    for key in laws.keys {
        let bytes = (laws.encode)(key).unwrap_or_else(|error| panic!("{key:?}: {error}"));
        assert_eq!((laws.decodes)(&bytes, key), Ok(true), "{key:?}");
        if let Some(display) = laws.display {
            assert_eq!(display(key).as_bytes(), bytes);
        }
        for at in 0..bytes.len() {
            let mut others = vec![bytes[..at].to_vec(), bytes.clone(), bytes.clone()];
            others[1][at] ^= 1;
            others[2].insert(at, b'#');
            for other in &others {
                only_what_is_written(laws, other);
            }
            if laws.is_fixed {
                assert_eq!((laws.again)(&bytes[..at]), None, "a part of {key:?} is a key");
            }
        }
        for more in [0_u8, b'0', b'a', b'#', 0xff] {
            let longer = [&*bytes, &[more]].concat();
            only_what_is_written(laws, &longer);
            if laws.is_fixed {
                assert_eq!((laws.again)(&longer), None, "{key:?} and {more} are a key");
            }
        }
        for (at, requests) in (laws.plans)(key).into_iter().enumerate() {
            let asks = requests.iter().any(|request| request.asks_for(&bytes));
            assert!(asks, "the plan {at} does not ask for {key:?}, stored as {}", bytes.escape_ascii());
        }
        let json = serde_json::to_string(laws.schema).unwrap();
        let layout = KeyLayout::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!(layout.schema(), laws.schema);
        if let Err(error) = layout.decode(&bytes) {
            panic!("{key:?} does not decode by its layout: {error}");
        }
    }
    let Some(order) = laws.order else { return };
    for one in laws.keys {
        for other in laws.keys {
            if (laws.bucket)(one) == (laws.bucket)(other) {
                let [a, b] = [one, other].map(|key| (laws.encode)(key).unwrap());
                assert_eq!(a.cmp(&b), order(one, other), "{one:?} and {other:?}");
            }
        }
    }
}

/// Decoding accepts exactly what encoding writes.
fn only_what_is_written<K>(laws: &Laws<'_, K>, bytes: &[u8]) {
    if let Some(again) = (laws.again)(bytes) {
        assert_eq!(again, bytes, "{} decodes, and is not what is encoded", bytes.escape_ascii());
    }
}

/// The requests of a plan.
pub fn requests<K>(plan: Result<Plan<K>, PlanError>) -> Vec<Request> {
    plan.unwrap().requests()
}

/// The key of the rows.
#[derive(RowKey, Clone, Debug, PartialEq, Eq)]
pub struct Id {
    /// A number.
    pub id: u32,
}

/// Reads the schema of a row type back.
pub fn row_schema(schema: &'static RowSchema) {
    let json = schema.to_json();
    assert_eq!(RowSchema::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}")), schema);
    let changes = schema.changes_from(&json).unwrap();
    assert!(changes.are_compatible(), "{changes}");
}

/// Puts rows into an embedded Bigtable, and reads them.
pub fn rows<R: OwnedRow + PartialEq + Debug>(rows: &[R], schema: &'static RowSchema) {
    row_schema(schema);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::embedded();
        let table = client.table::<Id, R>("rows");
        table.create().await.unwrap_or_else(|error| panic!("{error}"));
        for (id, row) in (0..).zip(rows) {
            table.put(&Id { id }, row).await.unwrap_or_else(|error| panic!("{row:?}: {error}"));
        }
        for (id, row) in (0..).zip(rows) {
            let found = table.get(&Id { id }).await.unwrap_or_else(|error| panic!("{row:?}: {error}"));
            assert_eq!(found.as_ref(), Some(row));
        }
    });
}

/// Whether calls on rows compile.
pub async fn uses<R: OwnedRow>(row: &R) -> Option<R> {
    let table = Client::embedded().table::<Id, R>("rows");
    table.put(&Id { id: 1 }, row).await.ok()?;
    table.get(&Id { id: 1 }).await.ok()?
}

/// A number in eight hexadecimal digits.
pub mod hexadecimal {
    use keyderive::Cell;
    use keyderive::key::{FieldError, Width};
    use keyderive::row::{CellError, CellWriter};
    use std::fmt::Write as _;

    /// The width.
    pub const WIDTH: Width = Width::Fixed(8);

    /// Writes it.
    ///
    /// # Errors
    /// Never.
    pub fn write(value: &u32, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(format!("{value:08x}").as_bytes());
        Ok(())
    }

    /// Reads it.
    ///
    /// # Errors
    /// For anything else.
    pub fn read(bytes: &[u8]) -> Result<u32, FieldError> {
        let digits = str::from_utf8(bytes).map_err(FieldError::new)?;
        u32::from_str_radix(digits, 16).map_err(FieldError::new)
    }

    /// Writes it to a cell.
    ///
    /// # Errors
    /// Never.
    pub fn encode(value: &u32, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        write!(out, "{value:08x}").map_err(CellError::unsupported)
    }

    /// Reads it from a cell.
    ///
    /// # Errors
    /// For anything else.
    pub fn decode(value: &[u8]) -> Result<u32, CellError> {
        let digits = <&str>::decode(value)?;
        u32::from_str_radix(digits, 16).map_err(CellError::malformed)
    }
}

/// A default.
#[must_use]
pub fn seven() -> u32 {
    7
}

macro_rules! made {
    ($($make:ident($from:ident: $type:ty) -> $made:ty { $value:expr })*) => {$(
        /// A time of whole seconds since 1970, or a day since it.
        #[must_use]
        pub fn $make($from: $type) -> $made {
            $value
        }
    )*};
}

made! {
    system_time(seconds: u64) -> SystemTime { UNIX_EPOCH + Duration::from_secs(seconds) }
    chrono_time(seconds: u64) -> chrono::DateTime<chrono::Utc> {
        chrono::DateTime::from_timestamp_secs(seconds.cast_signed()).unwrap()
    }
    jiff_time(seconds: u64) -> jiff::Timestamp { jiff::Timestamp::from_second(seconds.cast_signed()).unwrap() }
    offset_time(seconds: u64) -> time::OffsetDateTime {
        time::OffsetDateTime::from_unix_timestamp(seconds.cast_signed()).unwrap()
    }
    utc_time(seconds: u64) -> time::UtcDateTime {
        time::UtcDateTime::from_unix_timestamp(seconds.cast_signed()).unwrap()
    }
    chrono_date(days: u32) -> chrono::NaiveDate { chrono_time(u64::from(days) * 86_400).date_naive() }
    jiff_date(days: u32) -> jiff::civil::Date {
        jiff_time(u64::from(days) * 86_400).to_zoned(jiff::tz::TimeZone::UTC).date()
    }
    time_date(days: u32) -> time::Date { offset_time(u64::from(days) * 86_400).date() }
}

/// A random UUID.
#[must_use]
pub fn uuid(seed: u64) -> uuid::Uuid {
    let bytes = (u128::from(seed) << 64 | u128::from(seed.rotate_left(17))).to_be_bytes();
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}
