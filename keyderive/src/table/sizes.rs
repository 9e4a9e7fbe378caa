//! How large the parts of a table are, and which of its tablets are hot, by the service's own account.

use std::cmp::Ordering;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use keyderive_proto::admin;
use keyderive_proto::values::Timestamp;

use super::{OneTable, Reads, Table};
use crate::client::{Error, ErrorKind, RawTable};
use crate::key::{RawKey, Readable, TableKey};
use crate::plan::KeyRange;

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// How many bytes the service reckons are stored in each part of the table.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { name: String }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create().split_at(&UserKey { name: "m".into() }).await?;
    /// users.put(&UserKey { name: "alice".into() }, &User { age: 42 }).await?;
    /// let sizes = users.sizes().await?;
    /// println!("{sizes}"); // a line for each part
    /// assert_eq!(sizes.parts.len(), 2);
    /// assert_eq!(sizes.parts[1].start.as_ref().map(|key| &*key.name), Some("m"));
    /// assert_eq!(sizes.parts[1].bytes, Some(0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The parts are between the keys that `SampleRowKeys` returns, which are about where tablets begin. They cover the table, with the
    /// rows of other key types that share it, and the size of a part is the difference of the offsets at its ends.
    ///
    /// **It is an approximation of the service's, and no bill.** The service says neither how old it is nor how close. It is about one
    /// copy of the table: the copies in other clusters and backups are not counted. Cells that are deleted, or that a garbage collection
    /// rule selects, may be counted until the service compacts them away, and new rows may not be counted yet. Monitoring has the bytes
    /// that are billed.
    ///
    /// The embedded Bigtable counts the bytes of its rows, in the parts that the table was created with: it splits no tablet. Google's
    /// emulator has no tablets either, and samples some of its rows.
    ///
    /// # Errors
    /// If sampling row keys fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn sizes(&self) -> Result<TableSizes<K::Stored>, Error>
    where
        S: OneTable,
    {
        self.bound().ensure_checked().await?;
        let samples = self.handle.client.sample_row_keys(&self.handle.name).await?;
        let codecs = K::codecs(self.handle.key.schema());
        Ok(TableSizes::new(&samples, |key| K::stored(&codecs, key).ok()))
    }
}

impl<K: TableKey, R> Table<K, R> {
    /// The table's tablets that kept the nodes busiest in the last 24 hours, in every cluster, the hottest first.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey, Debug)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let hot = client.table::<UserKey, User>("users").hot_tablets().await?;
    /// for tablet in &hot.tablets {
    ///     println!("{tablet}, from {:?}", tablet.start);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// They are what `ListHotTablets` returns for each cluster of the instance: a tablet comes once for each span of time in which it was
    /// hot. An empty list means that the service lists none, not that the load is even.
    ///
    /// It takes the permissions `bigtable.clusters.list` and `bigtable.hotTablets.list`. If a cluster cannot be asked, the call fails; if
    /// the service cannot list all clusters, [`unreachable`](HotTablets::unreachable) names the locations.
    ///
    /// # Errors
    /// [`ErrorKind::Unimplemented`] where there are no tablets to list: on an embedded Bigtable and on the emulator. When a request
    /// fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn hot_tablets(&self) -> Result<HotTablets<K::Stored>, Error> {
        let listed = self.handle.client.hot_tablets(&self.handle.name).await;
        let (mut tablets, unreachable) = listed.map_err(|error| match error.kind() {
            ErrorKind::Unimplemented => error.with_hint(
                "the embedded Bigtable and Google's emulator list no hot tablets, only the service does",
            ),
            _ => error,
        })?;
        let hottest_first = |one: &admin::HotTablet, other: &admin::HotTablet| {
            let percent = other.node_cpu_usage_percent.partial_cmp(&one.node_cpu_usage_percent);
            percent.unwrap_or(Ordering::Equal)
        };
        tablets.sort_by(hottest_first);
        let codecs = K::codecs(self.handle.key.schema());
        Ok(HotTablets {
            tablets: tablets.iter().map(|tablet| HotTablet::new::<K>(&codecs, tablet)).collect(),
            unreachable,
        })
    }
}

/// The sizes of the parts of a table, from [`Table::sizes`]. Printed with `{}`, a line for each part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSizes<K> {
    /// The parts, in the order of their keys. The first begins at the start of the table, and the last ends at its end.
    pub parts: Vec<SizedPart<K>>,
}

/// A part of a table, and about how many bytes are stored in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SizedPart<K> {
    /// The range of stored keys.
    pub range: KeyRange,
    /// The key at which it begins; none at the start of the table, and if those bytes are no key of the type, as the start of a salt
    /// bucket.
    pub start: Option<K>,
    /// The key before which it ends; none as for the start.
    pub end: Option<K>,
    /// About how many bytes are stored in it; none for the rows after the last sampled key, since the service says nothing
    /// about them.
    pub bytes: Option<u64>,
}

impl RawTable {
    /// How many bytes the service reckons are stored in each part of the table, as [`Table::sizes`] says.
    ///
    /// # Errors
    /// If sampling row keys fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn sizes(&self) -> Result<TableSizes<RawKey>, Error> {
        Ok(TableSizes::new(&self.sample_row_keys().await?, |key| (!key.is_empty()).then(|| RawKey::new(key))))
    }
}

impl<K> TableSizes<K> {
    /// From the sampled keys, each with the offset there; `stored` decodes a key.
    fn new(samples: &[(Bytes, i64)], stored: impl Fn(&[u8]) -> Option<K>) -> Self {
        let part = |start: &[u8], end: Option<&[u8]>, bytes| SizedPart {
            range: KeyRange::new(start, end.map(<[u8]>::to_vec)),
            start: stored(start),
            end: end.and_then(&stored),
            bytes,
        };
        let (mut parts, mut from, mut before, mut is_whole) = (Vec::new(), &[][..], 0, false);
        for (key, offset) in samples.iter().map(|(key, offset)| (&**key, *offset)) {
            let end = Some(key).filter(|key| !key.is_empty());
            // Offsets only grow; if they do not, the size is not known.
            let bytes = u64::try_from(offset).ok().and_then(|offset| offset.checked_sub(before));
            // If a server samples a key twice, nothing is between.
            if end != Some(from) {
                parts.push(part(from, end, bytes));
            }
            (from, before) = (key, u64::try_from(offset).unwrap_or(before));
            is_whole = end.is_none();
        }
        if !is_whole {
            parts.push(part(from, None, None));
        }
        Self { parts }
    }

    /// About how many bytes are stored in all parts whose size the service says.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().filter_map(|part| part.bytes).fold(0, u64::saturating_add)
    }
}

impl<K> fmt::Display for TableSizes<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "about {} bytes", self.bytes())?;
        self.parts.iter().try_for_each(|part| write!(f, "\n{part}"))
    }
}

impl<K> fmt::Display for SizedPart<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            Some(bytes) => write!(f, "{}: about {bytes} bytes", self.range),
            None => write!(f, "{}: of unknown size", self.range),
        }
    }
}

/// The hot tablets of a table, from [`Table::hot_tablets`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HotTablets<K> {
    /// The tablets, the hottest first.
    pub tablets: Vec<HotTablet<K>>,
    /// The locations whose clusters the service could not list, as it names them: their tablets may be missing.
    pub unreachable: Vec<String>,
}

/// A tablet that was hot for some time. Printed with `{}`: one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HotTablet<K> {
    /// The id of the cluster.
    pub cluster: String,
    /// The bytes of its first key; empty at the start of the table.
    pub start_bytes: Vec<u8>,
    /// The bytes of its last key, which is within it; empty at the end of the table.
    pub end_bytes: Vec<u8>,
    /// The key at which it begins; none at the start of the table, and if those bytes are no key of the type.
    pub start: Option<K>,
    /// The key at which it ends; none as for the start.
    pub end: Option<K>,
    /// When it began to be hot, if the service says it.
    pub from: Option<SystemTime>,
    /// Until when it was hot, if the service says it.
    pub until: Option<SystemTime>,
    /// How much of a node's CPU it took on average in that time: 0 to 100.
    pub node_cpu_percent: f32,
}

impl<K> HotTablet<K> {
    fn new<T: TableKey<Stored = K>>(codecs: &T::Codecs, message: &admin::HotTablet) -> Self {
        let mut path = message.name.split('/').skip_while(|part| *part != "clusters").skip(1);
        Self {
            cluster: path.next().unwrap_or_default().to_owned(),
            start: T::stored(codecs, &message.start_key).ok(),
            end: T::stored(codecs, &message.end_key).ok(),
            start_bytes: message.start_key.to_vec(),
            end_bytes: message.end_key.to_vec(),
            from: message.start_time.and_then(system_time),
            until: message.end_time.and_then(system_time),
            node_cpu_percent: message.node_cpu_usage_percent,
        }
    }
}

impl<K> fmt::Display for HotTablet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.start_bytes {
            [] => f.write_str("[start of table, ")?,
            start => write!(f, "[{}, ", Readable(start))?,
        }
        match &*self.end_bytes {
            [] => f.write_str("end of table]")?,
            end => write!(f, "{}]", Readable(end))?,
        }
        write!(f, ": {:.0} % of a node in the cluster `{}`", self.node_cpu_percent, self.cluster)
    }
}

/// A time after 1970, if it has a form here.
fn system_time(Timestamp { seconds, nanos }: Timestamp) -> Option<SystemTime> {
    let (seconds, nanos) = (u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?.checked_add(Duration::from_nanos(nanos.into()))
}
