//! Values with their timestamps, as fields of rows.

use std::ops::Deref;
use std::slice;
use std::time::{SystemTime, UNIX_EPOCH};
use std::vec;

/// A column's value with its timestamp. Reads return the newest version.
///
/// ```
/// use keyderive::row::Timestamped;
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct SensorKey { id: u64 }
///
/// #[derive(Row)]
/// struct Sensor {
///     level: Timestamped<f64>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// let sensors = Client::embedded().table::<SensorKey, Sensor>("sensors");
/// sensors.create_if_absent().await?;
/// let level = Timestamped::new(1_426_535_612_156_000, 0.5);
/// sensors.put(&SensorKey { id: 7 }, &Sensor { level }).await?;
/// let level = sensors.get(&SensorKey { id: 7 }).await?.map(|sensor| sensor.level);
/// assert_eq!(level, Some(level.unwrap()));
/// assert_eq!(level.unwrap().timestamp_micros, 1_426_535_612_156_000);
/// # Ok(())
/// # }
/// ```
///
/// Timestamps are microseconds since the epoch, from 0 on. A table stores whole milliseconds, unless it was
/// [created](crate::client::Granularity) for microseconds; a write with a finer timestamp is rejected. [`put`](crate::Table::put) and
/// [`update`](crate::Table::update) delete the other versions of the column, since a newer one would hide the written one;
/// [`merge`](crate::Table::merge) keeps them. A timestamp ahead of the server's time hides plain values
/// that are written to the column until that time comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamped<T> {
    /// Microseconds since the epoch.
    pub timestamp_micros: i64,
    /// The value.
    pub value: T,
}

impl<T> Timestamped<T> {
    /// A value with its timestamp, in microseconds since the epoch.
    pub const fn new(timestamp_micros: i64, value: T) -> Self {
        Self { timestamp_micros, value }
    }

    /// A value with this machine's current time, in whole milliseconds. It ignores a test's
    /// `Bigtable::advance`: use [`Timestamped::new`] with [`Client::now`](crate::Client::now) there.
    pub fn now(value: T) -> Self {
        Self::new(now_micros(), value)
    }
}

/// The versions of a column, the newest first.
///
/// ```
/// use keyderive::row::{Timestamped, Versions};
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
///
/// #[derive(Row)]
/// struct User {
///     email: Versions<String>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// let users = Client::embedded().table::<UserKey, User>("users");
/// users.create_if_absent().await?;
/// let key = UserKey { id: 7 };
/// let old = Timestamped::new(1_000_000, "corrie@example.com".to_owned());
/// let new = Timestamped::new(2_000_000, "corrie@example.org".to_owned());
/// users.put(&key, &User { email: [old].into() }).await?;
/// users.merge(&key, &User { email: [new.clone()].into() }).await?;
///
/// let email = users.get(&key).await?.unwrap().email;
/// assert_eq!(email.newest(), Some(&new.value));
/// assert_eq!(email.len(), 2);
/// # Ok(())
/// # }
/// ```
///
/// [`put`](crate::Table::put) replaces the column's versions with these, [`merge`](crate::Table::merge) adds them. A column
/// without versions is absent, and an absent column reads as no versions. A write rejects two versions with one timestamp,
/// since Bigtable keeps one of them. [`Timestamped`] has the rules for timestamps.
///
/// A row type with such a field reads every version of all its columns. The garbage collection rule of the family decides
/// how many exist: [`Table::create`](crate::Table::create) declares a rule that deletes none for a family with such fields.
/// It rejects one that keeps a single version, as [`Table::verify`](crate::Table::verify) does. With `max_versions = 3`, the
/// server keeps the newest three of what is written, whether it is written at once or one by one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Versions<T>(Vec<Timestamped<T>>);

impl<T> Versions<T> {
    /// No versions.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of the newest version.
    #[must_use]
    pub fn newest(&self) -> Option<&T> {
        self.0.first().map(|version| &version.value)
    }

    /// Whether there is no version.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many versions there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// The versions, the newest first.
    pub fn iter(&self) -> slice::Iter<'_, Timestamped<T>> {
        self.0.iter()
    }

    /// Adds a version at its place, before others of the same timestamp.
    pub fn insert(&mut self, version: Timestamped<T>) {
        let place = self.0.partition_point(|other| other.timestamp_micros > version.timestamp_micros);
        self.0.insert(place, version);
    }

    /// The versions, the newest first.
    #[must_use]
    pub fn into_vec(self) -> Vec<Timestamped<T>> {
        self.0
    }
}

impl<T> Default for Versions<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The versions, the newest first.
impl<T> Deref for Versions<T> {
    type Target = [Timestamped<T>];

    fn deref(&self) -> &[Timestamped<T>] {
        &self.0
    }
}

/// In any order.
impl<T> From<Vec<Timestamped<T>>> for Versions<T> {
    fn from(mut versions: Vec<Timestamped<T>>) -> Self {
        versions.sort_by_key(|version| std::cmp::Reverse(version.timestamp_micros));
        Self(versions)
    }
}

impl<T, const N: usize> From<[Timestamped<T>; N]> for Versions<T> {
    fn from(versions: [Timestamped<T>; N]) -> Self {
        Vec::from(versions).into()
    }
}

impl<T> FromIterator<Timestamped<T>> for Versions<T> {
    fn from_iter<I: IntoIterator<Item = Timestamped<T>>>(versions: I) -> Self {
        versions.into_iter().collect::<Vec<_>>().into()
    }
}

/// Each at its place.
impl<T> Extend<Timestamped<T>> for Versions<T> {
    fn extend<I: IntoIterator<Item = Timestamped<T>>>(&mut self, versions: I) {
        self.0.extend(versions);
        self.0.sort_by_key(|version| std::cmp::Reverse(version.timestamp_micros));
    }
}

impl<T> IntoIterator for Versions<T> {
    type Item = Timestamped<T>;
    type IntoIter = vec::IntoIter<Timestamped<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Versions<T> {
    type Item = &'a Timestamped<T>;
    type IntoIter = slice::Iter<'a, Timestamped<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// The time in microseconds, in whole milliseconds, which every table stores.
pub(crate) fn now_micros() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // After this second, microseconds do not fit in 64 bits.
    const LAST: u64 = (i64::MAX / 1_000_000 - 1).cast_unsigned();
    let seconds = since_epoch.as_secs().min(LAST).cast_signed();
    seconds * 1_000_000 + i64::from(since_epoch.subsec_millis()) * 1000
}
