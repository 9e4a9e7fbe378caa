//! What reads have cost the server.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyderive_proto::data::request_stats::StatsView;
use keyderive_proto::data::{FullReadStatsView, RequestStats};

/// What reads have cost the server: the rows and cells that it read, those that it returned, and its time.
///
/// ```
/// use keyderive::client::ReadStats;
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(Row)] struct User { name: String, age: u32 }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// let users = Client::embedded().table::<UserKey, User>("users");
/// # users.create_if_absent().await?;
/// # for id in 0..100 {
/// #     users.put(&UserKey { id }, &User { name: "Ada".into(), age: id as u32 }).await?;
/// # }
/// let stats = ReadStats::new();
/// let old = users.scan(UserKey::scan()).matching(User::AGE.at_least(98)).with_stats(&stats).collect().await?;
/// assert_eq!(old.len(), 2);
/// assert_eq!((stats.rows_seen(), stats.rows_returned()), (100, 2)); // read by the server, and sent to this process
/// println!("{stats}");
/// # Ok(())
/// # }
/// ```
///
/// Give it to a scan with [`with_stats`](crate::Scan::with_stats), or to a raw read with its
/// [`with_stats`](super::ReadRows::with_stats). It adds up all requests of all reads that it is given to. A clone shows the same
/// figures.
///
/// Google's emulator and the embedded Bigtable report too. A server reports at the end of each response. Nothing is known of a
/// request that failed or was cancelled: compare [`requests`](Self::requests) with [`reported`](Self::reported).
///
/// Reads by key ([`get`](crate::Table::get), [`get_many`](crate::Table::get_many), [`read_row`](crate::client::RawTable::read_row)),
/// [`Table::count`](crate::Table::count) and [queries](crate::client::Query) take none; an export takes one by
/// [`Export::with`](crate::table::Export::with). The [metrics](crate::client#traces-and-metrics) have the same figures, except for
/// returned rows: `keyderive.rows` counts the rows of all reads.
///
/// Source: `RequestStats` in Bigtable's `ReadRowsResponse`.
#[derive(Clone, Debug, Default)]
pub struct ReadStats(Arc<Mutex<Totals>>);

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    requests: u64,
    reported: u64,
    cost: ReadCost,
}

/// What the server says of one request.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::client) struct ReadCost {
    pub(in crate::client) rows_seen: u64,
    pub(in crate::client) rows_returned: u64,
    pub(in crate::client) cells_seen: u64,
    pub(in crate::client) cells_returned: u64,
    pub(in crate::client) server_latency: Duration,
}

impl ReadStats {
    /// Figures of no request yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many requests were sent, with those that repeat a failed one.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.totals().requests
    }

    /// For how many of them the server has said what they cost. The other figures are about these.
    #[must_use]
    pub fn reported(&self) -> u64 {
        self.totals().reported
    }

    /// How many rows the server has read, whether or not it returned them.
    #[must_use]
    pub fn rows_seen(&self) -> u64 {
        self.totals().cost.rows_seen
    }

    /// How many rows it has returned.
    #[must_use]
    pub fn rows_returned(&self) -> u64 {
        self.totals().cost.rows_returned
    }

    /// How many cells the server has read, whether or not it returned them.
    ///
    /// Some filters read cells twice, and others let the service skip cells, so the emulators' figures can differ from the
    /// service's.
    #[must_use]
    pub fn cells_seen(&self) -> u64 {
        self.totals().cost.cells_seen
    }

    /// How many cells it has returned.
    #[must_use]
    pub fn cells_returned(&self) -> u64 {
        self.totals().cost.cells_returned
    }

    /// The server's time for the requests, added up: from the arrival of each at its front end to the end of the response. Time
    /// in which this process did not take rows counts too, and concurrent requests each count in full.
    #[must_use]
    pub fn server_latency(&self) -> Duration {
        self.totals().cost.server_latency
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request that is about to be sent.
    pub(super) fn sent(&self) {
        let mut totals = self.totals();
        totals.requests = totals.requests.saturating_add(1);
    }

    /// Adds what a request has cost.
    pub(super) fn add(&self, cost: ReadCost) {
        let mut totals = self.totals();
        totals.reported = totals.reported.saturating_add(1);
        let sum = &mut totals.cost;
        *sum = ReadCost {
            rows_seen: sum.rows_seen.saturating_add(cost.rows_seen),
            rows_returned: sum.rows_returned.saturating_add(cost.rows_returned),
            cells_seen: sum.cells_seen.saturating_add(cost.cells_seen),
            cells_returned: sum.cells_returned.saturating_add(cost.cells_returned),
            server_latency: sum.server_latency.saturating_add(cost.server_latency),
        };
    }
}

impl fmt::Display for ReadStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { requests, reported, cost } = *self.totals();
        let ReadCost { rows_seen, rows_returned, cells_seen, cells_returned, server_latency } = cost;
        let count = counted(requests, "request");
        match (requests, reported) {
            (0, _) => return f.write_str("no request was sent"),
            (_, 0) => return write!(f, "the server did not report what {count} cost"),
            _ => {}
        }
        write!(
            f,
            "the server read {} and {}, and returned {rows_returned} and {cells_returned}, in {server_latency:.1?} summed over {count}",
            counted(rows_seen, "row"),
            counted(cells_seen, "cell"),
        )?;
        match requests == reported {
            true => Ok(()),
            false => write!(f, ", of which it reported {reported}"),
        }
    }
}

/// A count with its noun.
fn counted(count: u64, noun: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{count} {noun}{}", if count == 1 { "" } else { "s" }))
}

impl ReadCost {
    /// What a server reports; none if it reports something else, no rows and cells, or a number below zero.
    pub(in crate::client) fn of(stats: &RequestStats) -> Option<Self> {
        let Some(StatsView::FullReadStatsView(FullReadStatsView {
            read_iteration_stats,
            request_latency_stats,
        })) = stats.stats_view
        else {
            return None;
        };
        let rows = read_iteration_stats?;
        let latency =
            request_latency_stats.and_then(|stats| stats.frontend_server_latency).unwrap_or_default();
        let count = |count: i64| u64::try_from(count).ok();
        Some(Self {
            rows_seen: count(rows.rows_seen_count)?,
            rows_returned: count(rows.rows_returned_count)?,
            cells_seen: count(rows.cells_seen_count)?,
            cells_returned: count(rows.cells_returned_count)?,
            server_latency: Duration::from_secs(count(latency.seconds)?)
                .saturating_add(Duration::from_nanos(count(latency.nanos.into())?)),
        })
    }
}
