//! Stores a value of any type as JSON in one column: `#[serde(with = "keyderive::row::json")]`.
//!
//! ```
//! use std::time::Duration;
//! # use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] struct JobKey { id: u64 }
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Job {
//!     owner: String,
//!     #[serde(with = "keyderive::row::json")]
//!     timeout: Duration, // a struct to serde, so a family without `json`
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! let jobs = Client::embedded().table::<JobKey, Job>("jobs");
//! jobs.create_if_absent().await?;
//! let job = Job { owner: "alice".into(), timeout: Duration::from_secs(5) };
//! jobs.put(&JobKey { id: 7 }, &job).await?;
//! let raw = jobs.get_raw(&JobKey { id: 7 }).await?.unwrap();
//! assert_eq!(raw.newest("cf", "timeout").unwrap().value(), br#"{"secs":5,"nanos":0}"#);
//! # Ok(())
//! # }
//! ```
//!
//! Use it for structs and maps that should be one value, and for enums that serde reads without a type: untagged,
//! internally and adjacently tagged ones. A `None` is stored as `null`. For the values of a map, use a newtype: `struct
//! Any(#[serde(with = "keyderive::row::json")] serde_json::Value)`.

mod check;

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::ser::{self, Serialize, Serializer};

pub(super) use self::check::{Lost, check};

/// Serializes the value as a string of JSON.
///
/// # Errors
/// If JSON cannot represent the value: it has NaN or infinity, a `Some` that JSON writes as `null`, or more than 127 nested
/// arrays and objects. Also errors of the serializer.
pub fn serialize<T: Serialize + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    match check(value, 0) {
        // What has no form at all is told by the writer.
        Ok(()) | Err(Lost::Other) => {}
        Err(lost) => return Err(ser::Error::custom(lost)),
    }
    serializer.serialize_str(&serde_json::to_string(value).map_err(ser::Error::custom)?)
}

/// Deserializes the value from a string of JSON.
///
/// # Errors
/// If the string is not JSON of this type. Also errors of the deserializer.
pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_str(Json(PhantomData))
}

struct Json<T>(PhantomData<T>);

impl<T: DeserializeOwned> Visitor<'_> for Json<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string that is JSON")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        serde_json::from_str(text).map_err(de::Error::custom)
    }
}
