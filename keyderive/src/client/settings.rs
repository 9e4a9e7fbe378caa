//! Timeouts, retries and limits of a client's operations.

use std::time::Duration;

/// The timeouts and retries of a client's operations, with [`CallSettings`] for each kind.
///
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use std::time::Duration;
///
/// use keyderive::Client;
/// use keyderive::client::Settings;
///
/// let client = Client::embedded();
/// let serving = client.with(Settings::serving); // gives up in seconds
/// let batch = client.with(Settings::batch); // retries for an hour
/// let hasty = serving.with(|settings| settings.read_row.total_timeout = Duration::from_millis(200));
/// # drop((batch, hasty));
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
///
/// The timeouts of an attempt, and of all attempts of an operation together; for streams also the longest silence. The number of
/// attempts has no limit, unless the table names one:
///
/// | operation | default | [`serving`](Self::serving) | [`batch`](Self::batch) |
/// |---|---|---|---|
/// | `read_row` | 20 s, 10 min | 2 s, 5 s | 20 s, 1 h |
/// | `read_rows` | 30 min, 12 h; 5 min idle; 10 attempts in a row | 30 s, 60 s; 5 s idle | 30 min, 12 h; 5 min idle |
/// | `sample_row_keys` | 5 min, 10 min; 5 min idle | 5 s, 10 s; 5 s idle | 5 min, 1 h; 5 min idle |
/// | `mutate_row` | 60 s, 60 s | 2 s, 5 s | 60 s, 1 h |
/// | `mutate_rows` | 60 s, 10 min | 5 s, 10 s | 60 s, 1 h |
/// | `check_and_mutate_row`, `read_modify_write_row` | 20 s, 20 s | 5 s, 5 s | 20 s, 1 h |
/// | `prepare_query` | 30 s, 10 min | 5 s, 10 s | 30 s, 1 h |
/// | `execute_query` | 5 min, 10 min; 5 min idle | 30 s, 60 s; 5 s idle | 5 min, 1 h; 5 min idle |
/// | `admin` | 60 s, 10 min | the same | 60 s, 1 h |
/// | `ping_and_warm` | 30 s, 30 s; 1 attempt | the same | the same |
///
/// What the client does when servers fail or are slow, and when it warns of scans:
///
/// | option | default | [`serving`](Self::serving) | [`batch`](Self::batch) |
/// |---|---|---|---|
/// | [`retry_budget`](Self::retry_budget) | on | on | off |
/// | [`max_waiting`](Self::max_waiting) | 10,000 requests | 1,000 requests | `usize::MAX`: no limit |
/// | [`hedging`](Self::hedging) | off | off | off |
/// | [`scan_warning`](Self::scan_warning) | 10,000 rows, 100 for each one returned | the same | the same |
/// | [`max_row_bytes`](Self::max_row_bytes) | 512 MiB | the same | the same |
///
/// All operations have the same backoff: 25 ms after the first failure, twice as long after each further one, at most 10 s,
/// times a random factor from a half to one, so that clients that failed together do not retry together.
///
/// The default timeouts are from Google's Java client.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Reads of one row by its key.
    pub read_row: CallSettings,
    /// Scans. For a scan over several buckets, the request for each.
    pub read_rows: CallSettings,
    /// Samples of a table's keys, which divide it into parts.
    pub sample_row_keys: CallSettings,
    /// Writes of one row.
    pub mutate_row: CallSettings,
    /// Writes of many rows: the settings of each request.
    pub mutate_rows: CallSettings,
    /// Conditional writes, which are retried only if they were not sent, or the server rejected them with a transient failure.
    pub check_and_mutate_row: CallSettings,
    /// Increments and appends, which are retried only if they were not sent, or the server rejected them with a transient
    /// failure.
    pub read_modify_write_row: CallSettings,
    /// Preparing a [query](crate::client::Query), before it runs for the first time.
    pub prepare_query: CallSettings,
    /// Running a query.
    pub execute_query: CallSettings,
    /// Creating, describing, changing and deleting tables.
    pub admin: CallSettings,
    /// [Priming](crate::client::ClientBuilder::prime) a new connection: its first request, which has the server prepare for later ones.
    pub ping_and_warm: CallSettings,
    /// Whether requests to a table fail until its [layout](crate::guide::tables#layout) has been checked. By default
    /// they do not: they go ahead with a warning if the admin service refuses or does not answer within 3 s. The same goes for writes,
    /// and their row types in the [registry](crate::guide::tables#registry). If they do, they fail as the read that they wait for.
    ///
    /// Tables without a [stamp](crate::guide::tables#layout), the record of their key layout, pass in any case. The 3 s come on
    /// top of a call's own timeout, once for each table; a [deadline](crate::Client::with_deadline) bounds them too.
    pub require_layout_check: bool,
    /// Whether programs record what they declare about tables in the [registry](crate::guide::tables#registry), a table of the instance
    /// named `keyderive`, and compare their row types with it before the first read and the first write of a table's
    /// handle. By default they do.
    ///
    /// Turn it off where tables are made by other means, and no other table may be. Re-keying needs the registry in any case.
    pub registry: bool,
    /// Whether the server honours idempotency tokens, so that a write that adds to a [`Sum`](crate::row::Sum) may be retried
    /// when it may have been applied. `None`: the cloud and the embedded Bigtable do, and Google's emulator ignores them.
    ///
    /// Each such write carries a token in any case. With `Some(false)` it is not retried when its outcome is unknown; with
    /// `Some(true)` beside a server that ignores tokens, a retry counts twice.
    pub idempotency_tokens: Option<bool>,
    /// Whether reads and writes of one row are retried only while few of the client's requests fail, so that retries add
    /// little to the load of servers that are already overloaded.
    ///
    /// The client has 100 tokens, all of them at first. A transient failure of such a call takes one, and a success gives a tenth of one
    /// back. An attempt that ends with the call's own timeout or deadline takes none, nor does one that was not sent in its time. While 50
    /// tokens or fewer are left, the call returns its failure without a retry. So if more than about one attempt in eleven keeps failing,
    /// callers see the further failures. From no tokens, about 500 successes allow retries again.
    ///
    /// Scans, [`get_many`](crate::Table::get_many), queries, writers and loads take no tokens: each is retried within its own
    /// `total_timeout` and [`max_attempts`](CallSettings::max_attempts). Clients made by `with` share the tokens.
    pub retry_budget: bool,
    /// The most requests of the client, with its clones and tables, that may wait because every connection is full, or none is
    /// open yet. A further one, or a retry, fails at once with [`is_overloaded`](crate::Error::is_overloaded). With 0 none waits.
    ///
    /// A connection is full at the number of requests that the server allows when it opens: about 100 in the cloud; any
    /// number on Google's emulator; 100 on an embedded Bigtable that is served on a port. A call of an embedded Bigtable in this
    /// process never waits. Calls that pause before a retry do not count as waiting. Requests that a closing connection still
    /// answers do not count either; those that it loses count when they are sent again.
    pub max_waiting: usize,
    /// When a read of one row that has no answer yet is sent a second time, over another connection. The first answer
    /// counts, and the other request is cancelled. Off by default.
    ///
    /// Over time, at most 5 in 100 reads are sent a second time; unused ones can be saved up, to a burst of at most 10. The
    /// client, its clones and its tables share this budget. No read is sent twice while the retry budget allows no retry, or
    /// while every other connection is full or not open. Writes never are.
    ///
    /// It needs two connections: with an embedded Bigtable in this process, or a pool of one, it does nothing, and a warning
    /// says so once. At an emulator, which a client reaches over one connection until the load needs more, set
    /// [`connections(2..)`](crate::client::ClientBuilder::connections).
    pub hedging: Hedging,
    /// When a scan that has read far more rows than it returned is logged as a warning: see [`ScanWarning`].
    pub scan_warning: ScanWarning,
    /// How many bytes one row of an answer may take: its key, the names and values of its cells, and 32 bytes for each cell. 512 MiB by
    /// default, twice what the service stores in a row. A read of a larger row fails with
    /// [`ResourceExhausted`](crate::ErrorKind::ResourceExhausted), which names the row and this limit; it is at most 4 GiB.
    ///
    /// An embedded Bigtable and Google's emulator store larger rows.
    pub max_row_bytes: usize,
}

/// When the end of a scan is logged as a warning because it has read far more rows than it returned.
///
/// ```
/// # use keyderive::{Client, Error};
/// use keyderive::client::ScanWarning;
///
/// # fn sample(client: Client) {
/// let reports = client.with(|settings| settings.scan_warning = ScanWarning::Off);
/// # }
/// ```
///
/// Such a scan reads most of its rows in vain: those that a filter, a condition or [`filter_key`](crate::Scan::filter_key) drops, foreign
/// and unreadable ones that it skips. The warning has the table, the [name](crate::Scan::named) and both numbers, and no key. It
/// comes when the scan ends or is dropped, at most once a minute for each name, and for the scans of a table without one; the client
/// remembers 256 of them at a time, and does not warn of others meanwhile.
///
/// A scan counts as read each row that the server sent and the scan reached, and one for each of the server's reports of
/// progress without a row. So the client misses most rows that a filter drops at the server. With
/// [`with_stats`](crate::Scan::with_stats) it counts the rows that the server says it has read, for requests that were
/// answered to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanWarning {
    /// Never.
    Off,
    /// For a scan that has read at least `rows` rows, and `per_returned` for each one that it returned. The default is 10,000 and
    /// 100.
    #[non_exhaustive]
    At {
        /// The least number of rows read.
        rows: u64,
        /// The least number of rows read for each one returned.
        per_returned: u64,
    },
}

impl ScanWarning {
    /// A warning of scans that read at least `rows` rows, and `per_returned` for each one returned.
    #[must_use]
    pub const fn at(rows: u64, per_returned: u64) -> Self {
        Self::At { rows, per_returned }
    }
}

impl Default for ScanWarning {
    fn default() -> Self {
        Self::at(10_000, 100)
    }
}

/// When a read of one row is sent a second time, over another connection: see [`Settings::hedging`]. A client with one connection
/// never does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hedging {
    /// Never.
    #[default]
    Off,
    /// When it takes longer than this.
    After(Duration),
    /// When it takes a quarter longer than the 95th percentile of the reads of one row that the client made lately.
    Adaptive,
}

/// The timeouts and retries of one kind of operation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallSettings {
    /// How long one attempt may take, including the answer. The server gets the same deadline. Zero fails every operation with
    /// [`is_deadline_exceeded`](crate::Error::is_deadline_exceeded) before sending.
    pub attempt_timeout: Duration,
    /// How long all attempts and the backoff between them may take. If a backoff would last longer than that, the client shortens
    /// it, so that a last attempt has a quarter of the remaining time, at most a second. Zero acts as in `attempt_timeout`.
    pub total_timeout: Duration,
    /// How long a stream may be silent. Only time spent waiting for the server counts. Applies to streaming operations.
    pub idle_timeout: Duration,
    /// An operation gives up after this many failures in a row; 1 means that it is not retried. `u32::MAX`, the default of all
    /// operations but `read_rows` and `ping_and_warm`, is no limit. A row that a stream delivers, or progress that the server
    /// reports, resets the count.
    pub max_attempts: u32,
    /// The backoff between attempts, unless the server asks for a delay.
    pub backoff: Backoff,
}

/// The exponential backoff between attempts.
///
/// It is `initial` after the first failure, and `multiplier` times as long after each further one, at most `max`; times a
/// random factor from a half to one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Backoff {
    /// The longest backoff after the first failure.
    pub initial: Duration,
    /// The factor from one backoff to the next. Values below 1 count as 1.
    pub multiplier: f64,
    /// The longest backoff.
    pub max: Duration,
}

impl Settings {
    /// For requests that users wait for: a point read or write gives up after 5 s, a scan after a minute.
    ///
    /// Call it first: it replaces the timeouts that it has in the tables [above](Self), and `max_waiting`.
    pub fn serving(&mut self) {
        self.read_row = CallSettings::of(2 * SECOND, 5 * SECOND);
        self.read_rows = CallSettings { idle_timeout: 5 * SECOND, ..CallSettings::of(30 * SECOND, MINUTE) };
        self.sample_row_keys =
            CallSettings { idle_timeout: 5 * SECOND, ..CallSettings::of(5 * SECOND, 10 * SECOND) };
        self.mutate_row = CallSettings::of(2 * SECOND, 5 * SECOND);
        self.mutate_rows = CallSettings::of(5 * SECOND, 10 * SECOND);
        // These are not retried after a timeout.
        self.check_and_mutate_row = CallSettings::of(5 * SECOND, 5 * SECOND);
        self.read_modify_write_row = CallSettings::of(5 * SECOND, 5 * SECOND);
        self.prepare_query = CallSettings::of(5 * SECOND, 10 * SECOND);
        self.execute_query =
            CallSettings { idle_timeout: 5 * SECOND, ..CallSettings::of(30 * SECOND, MINUTE) };
        self.max_waiting = 1_000;
    }

    /// For batch jobs, which survive an outage of an hour.
    ///
    /// Call it first: it replaces the timeouts that it has in the tables [above](Self), `retry_budget` and `max_waiting`.
    pub fn batch(&mut self) {
        let (scans, priming) = (self.read_rows.total_timeout, self.ping_and_warm.total_timeout);
        self.each(|call| call.total_timeout = 60 * MINUTE);
        self.read_rows.total_timeout = scans;
        self.read_rows.max_attempts = u32::MAX;
        self.ping_and_warm.total_timeout = priming;
        self.retry_budget = false;
        self.max_waiting = usize::MAX;
    }

    /// Changes the settings of every operation in the same way.
    pub fn each(&mut self, mut change: impl FnMut(&mut CallSettings)) {
        let Self {
            read_row,
            read_rows,
            sample_row_keys,
            mutate_row,
            mutate_rows,
            check_and_mutate_row,
            read_modify_write_row,
            prepare_query,
            execute_query,
            admin,
            ping_and_warm,
            require_layout_check: _,
            registry: _,
            idempotency_tokens: _,
            retry_budget: _,
            max_waiting: _,
            hedging: _,
            scan_warning: _,
            max_row_bytes: _,
        } = self;
        let all = [
            read_row,
            read_rows,
            sample_row_keys,
            mutate_row,
            mutate_rows,
            check_and_mutate_row,
            read_modify_write_row,
            prepare_query,
            execute_query,
            admin,
            ping_and_warm,
        ];
        all.into_iter().for_each(&mut change);
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            read_row: CallSettings::of(20 * SECOND, 10 * MINUTE),
            read_rows: CallSettings { max_attempts: 10, ..CallSettings::of(30 * MINUTE, 12 * 60 * MINUTE) },
            sample_row_keys: CallSettings::of(5 * MINUTE, 10 * MINUTE),
            mutate_row: CallSettings::of(MINUTE, MINUTE),
            mutate_rows: CallSettings::of(MINUTE, 10 * MINUTE),
            check_and_mutate_row: CallSettings::of(20 * SECOND, 20 * SECOND),
            read_modify_write_row: CallSettings::of(20 * SECOND, 20 * SECOND),
            prepare_query: CallSettings::of(30 * SECOND, 10 * MINUTE),
            execute_query: CallSettings::of(5 * MINUTE, 10 * MINUTE),
            admin: CallSettings::of(MINUTE, 10 * MINUTE),
            ping_and_warm: CallSettings { max_attempts: 1, ..CallSettings::of(30 * SECOND, 30 * SECOND) },
            require_layout_check: false,
            registry: true,
            idempotency_tokens: None,
            retry_budget: true,
            max_waiting: 10_000,
            hedging: Hedging::Off,
            scan_warning: ScanWarning::default(),
            max_row_bytes: 512 << 20,
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

impl CallSettings {
    fn of(attempt_timeout: Duration, total_timeout: Duration) -> Self {
        Self {
            attempt_timeout,
            total_timeout,
            idle_timeout: 5 * MINUTE,
            max_attempts: u32::MAX,
            backoff: Backoff::default(),
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: Duration::from_millis(25), multiplier: 2.0, max: 10 * SECOND }
    }
}

impl Backoff {
    /// The backoff after this number of failures in a row. `jitter`, from 0 to 1, scales its random half.
    pub(super) fn pause(&self, failures: u32, jitter: f64) -> Duration {
        let exponent = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        let times = self.multiplier.max(1.0).powi(exponent);
        let longest = (self.initial.as_secs_f64() * times).min(self.max.as_secs_f64());
        Duration::try_from_secs_f64(longest * (0.5 + jitter / 2.0)).unwrap_or(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_the_longest() {
        let backoff = Backoff::default();
        let longest: Vec<u128> = (1..=11).map(|failures| backoff.pause(failures, 1.0).as_millis()).collect();
        assert_eq!(longest, [25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(backoff.pause(2, 0.0), Duration::from_millis(25));
        assert_eq!(backoff.pause(u32::MAX, 1.0), backoff.max);
    }

    #[test]
    fn no_backoff_panics() {
        for multiplier in [f64::NAN, f64::INFINITY, -1.0, 0.0, f64::MAX] {
            let backoff = Backoff { multiplier, initial: Duration::MAX, max: Duration::MAX };
            for failures in [0, 1, 2, u32::MAX] {
                assert!(backoff.pause(failures, 1.0) <= Duration::MAX);
            }
        }
    }
}
