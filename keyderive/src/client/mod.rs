//! The Bigtable client: the same code for the cloud, an emulator and an embedded Bigtable.
//!
//! # Traces and metrics
//!
//! Each operation is a span `bigtable` of the `tracing` crate, at the level info; a scan over several buckets has one for
//! each request. Its target is `keyderive::operation`, for filters such as `warn,keyderive::operation=info`. The client enters it while it polls
//! the operation's future, so that its busy time is the client's, and the logs of your own [`Credentials`] belong to it.
//! Events have the module that logs them as target, which begins with `keyderive`; the modules may change in any release.
//! Row keys and values are never logged at info or above.
//!
//! | field | |
//! |---|---|
//! | `operation` | the RPC: `ReadRows`, `MutateRow`, `CreateTable` and so on; `ReadRow` for a read of one row, whose RPC is `ReadRows` too |
//! | `table` | the table's name |
//! | `bucket` | the salt bucket that a scan reads |
//! | `scan` | the [name](crate::Scan::named) of a scan |
//! | `attempts` | the number of attempts |
//! | `rows` | the number of rows read or sent |
//! | `bytes` | the size of the messages read or sent |
//! | `code` | how it ended: `OK`, the code of its error, or `CANCELLED` if it was dropped before its end; for a write of many rows, the code of the first row that failed |
//!
//! A failed attempt is an event at the level debug, with the server's own message, which may name a row. The client logs
//! warnings
//!
//! - for a connection that could not be primed and is used anyway, one that could not be refreshed, one that has stalled, one
//!   that did not answer a ping, and one whose requests time out though it answers pings;
//! - for a pool that could not grow;
//! - for operations that have been retried for some seconds, at most every 30 s;
//! - for rows that a dropped writer could not write;
//! - once for a table whose layout cannot be checked before its first request;
//! - for cells read whose time is in the future, at most every 30 s;
//! - for scans that have read far more rows than they returned, at most once a minute for each [name](crate::Scan::named), and for
//!   those of a table without a name: [`Settings::scan_warning`].
//!
//! With the feature `metrics`, the program's recorder of the `metrics` crate receives:
//!
//! | metric | kind | labels | |
//! |---|---|---|---|
//! | `keyderive.operation.seconds` | histogram | `operation`, `table`, `code` | how long operations took, with all attempts and backoff |
//! | `keyderive.attempt.seconds` | histogram | `operation`, `table`, `code` | how long attempts took; its count is the number of attempts |
//! | `keyderive.rows` | counter | `operation`, `table` | rows received or sent |
//! | `keyderive.bytes` | counter | `operation`, `table` | bytes of the messages that rows were received or sent in |
//! | `keyderive.rows.seen`, `keyderive.cells.seen`, `keyderive.cells.returned` | counter | `table` | rows and cells that the server has read, and cells that it returned, for reads with [`ReadStats`] |
//! | `keyderive.server.seconds` | histogram | `table` | the server's time for each request of these reads |
//! | `keyderive.throttle.seconds` | histogram | `table` | how long the [server's rate limit](ClientBuilder::throttle) delayed writes |
//! | `keyderive.layout.unchecked` | counter | `table`, `code` | layout checks that failed because the admin service rejected or did not answer |
//! | `keyderive.layout.mismatches` | counter | `table` | calls that failed because the table differs from its declaration, in its layout or its families; they count as no operation |
//! | `keyderive.future_cells` | counter | `table` | cells read whose time was more than a minute in the future, which hide later writes to their columns |
//! | `keyderive.hedges` | counter | `table` | reads of one row that were [sent a second time](Settings::hedging); these requests are not counted as attempts |
//! | `keyderive.hedges.won` | counter | `table` | of these, the reads that returned the second request's answer |
//! | `keyderive.connections` | gauge | `instance` | [connections](ClientBuilder::connections) to the data service |
//! | `keyderive.requests.in_flight` | gauge | `instance` | requests that were sent and have no complete answer yet |
//! | `keyderive.requests.waiting` | gauge | `instance` | requests that wait to be sent, since the connections are full or not open |
//! | `keyderive.requests.rejected` | counter | `operation`, `table` | calls that failed at once because [`max_waiting`](Settings::max_waiting) requests waited |
//! | `keyderive.retry_tokens` | gauge | `instance` | tokens of the [retry budget](Settings::retry_budget), of 100; with 50 or fewer nothing is retried |
//! | `keyderive.connection.refreshes` | counter | `code` | [refreshes](ClientBuilder::refresh_connections_after) of connections: `OK`, or `UNAVAILABLE` if the old connection stayed |
//! | `keyderive.heat.busiest_share` | gauge | `table`, `access` | with [`record_heat`](crate::guide::heat#of-a-running-service), the share of the busiest range of keys in the reads, or writes, of the last whole window: 0 to 1, and 0 if it has fewer than 100 |
//! | `keyderive.rekey.rows` | counter | `table` | rows that a driver of a [re-keying](crate::table::rekey) has read and copied, if they were not copied before |
//! | `keyderive.rekey.state` | gauge | `table` | how often the state of the re-keying that the process acts by has changed: 0 for `old`; -1 while it knows none |
//!
//! The first four metrics also have the label `scan` for the requests of a scan with a [name](crate::Scan::named), and not for others.
//!
//! The label `table` is the table's name, or empty for operations about no table, such as queries and `PingAndWarm`. The label `instance` is
//! `projects/…/instances/…`, without the address: clients of two emulators have the same one unless their
//! [`instance`](ClientBuilder::instance) differs. The gauges are set every 5 s, and [`Client::stats`] has their values at any time. If one process has
//! two clients of one instance, the gauges show the one that set them last. The page ["A service under load"](crate::guide::serving) says what to alert
//! on.

mod admin;
mod budget;
mod builder;
mod bulk;
mod cache;
mod connections;
mod credentials;
mod error;
mod failure;
mod fault;
mod filter;
mod grpc;
mod heat;
mod observe;
mod operation;
mod protobuf;
mod query;
mod raw;
mod read;
mod registry;
mod retry;
mod row_merger;
mod scan_counters;
mod settings;
mod shutdown;
mod stats;
mod stream_budget;
mod target;
mod throttle;
mod write;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::HeaderValue;
use keyderive_proto::{Rpc, data};
use prost::Message;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

pub use admin::{Aggregate, Family, FamilyChange, GcRule, Granularity, TableInfo, TableSchema};
pub(crate) use admin::{CHECK_TIMEOUT, NewTable};
use budget::{HedgeBudget, LatencyP95, RetryBudget};
pub use builder::{ClientBuilder, ConnectionCount};
#[doc(hidden)]
pub use builder::{connected_by, connected_by_clock};
pub use bulk::{FailedWrite, RawWriter, WriteErrors, WriterSettings};
pub(crate) use bulk::{WriterFuture, WriterTarget};
pub(crate) use cache::Freshness;
use cache::TableCache;
pub(crate) use connections::Clock;
#[cfg(feature = "embedded")]
pub(crate) use connections::{BoxFuture, InProcess};
use connections::{LazyPool, Pool, PoolLoad, UpkeepTask};
use credentials::Authorizer;
pub use credentials::{AccessToken, Credentials, CredentialsError};
pub(crate) use error::RekeyingEnd;
pub use error::{Error, ErrorKind};
use fault::{ProtocolViolation, TooLarge};
pub(crate) use filter::check as check_filter;
use grpc::{Answer, Request};
use heat::Heat;
use operation::Operation;
pub(crate) use operation::{Idempotency, Route};
use query::Statements;
pub use query::{Query, QueryRows};
pub use raw::{RawTable, RowOutcomes};
pub(crate) use read::{NextRow, ROWS_PER_TURN, RowCursor, RowTurns};
pub use read::{ReadRows, RowStream};
pub(crate) use registry::{DeclaredLayout, LayoutKind, REGISTRY, REGISTRY_FAMILY, TableRecord};
use retry::{Attempts, InFlight, Received};
pub(crate) use scan_counters::ScanCounters;
use scan_counters::ScanWarnings;
pub use settings::{Backoff, CallSettings, Hedging, ScanWarning, Settings};
pub(crate) use shutdown::StreamGuard;
use shutdown::{InFlightGuard, Shutdown};
pub use stats::ReadStats;
pub(crate) use stream_budget::{PageShare, StreamBudget, is_high_fan_out};
pub use target::Target;
use throttle::Throttle;
pub(crate) use write::token;
pub(crate) use write::{
    Batch, Entries, Entry, EntryMeta, ExplicitTimestamp, MAX_MUTATIONS, Mutations, REQUEST_BYTES,
};

/// A client of one Bigtable instance: in the cloud, of an emulator, or embedded.
///
/// ```
/// # #[cfg(feature = "embedded")]
/// # async fn sample() -> Result<(), keyderive::Error> {
/// use keyderive::Client;
///
/// let client = Client::connect("emulator://localhost:8086").await?;
/// println!("tables are in the {}", client.target());
/// # Ok(())
/// # }
/// ```
///
/// A clone is cheap and shares everything with its original. The connections belong to the tokio runtime in which the client
/// was made. Operations run in any tokio runtime with timers, such as that of `#[tokio::main]`.
///
/// Transient failures are retried with exponential backoff, on another connection if there is one, within the limits of
/// [`Settings`]. A scan resumes after the last row it delivered. A write that is not idempotent is retried only if it was not
/// sent, or the server rejected it.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    settings: Arc<Settings>,
    /// If set, this client is part of the operation that the guard counts, and may send requests after `close`.
    in_flight: Option<Arc<InFlightGuard>>,
    /// When all that is asked through this client ends.
    deadline: Option<Instant>,
}

/// How busy a client is: see [`Client::stats`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientStats {
    /// How many connections there are; 1 for an embedded Bigtable, whose calls stay in this process.
    pub connections: usize,
    /// How many requests have been sent and have no complete answer yet.
    pub in_flight: usize,
    /// How many requests wait to be sent: a connection carries about 100 at a time, and none before it is open.
    pub waiting: usize,
    /// How many of 100 tokens the [retry budget](Settings::retry_budget) has; with 50 or fewer it allows no retry.
    pub retry_tokens: f64,
}

struct Inner {
    /// Connections to the data service.
    pool: Arc<Pool>,
    /// Connections to the data service with small flow-control windows, for scans with many streams at a time.
    small_windows: Option<LazyPool>,
    /// Connections to the admin service.
    admin: Arc<Pool>,
    shutdown: Arc<Shutdown>,
    clock: Clock,
    target: Target,
    /// `projects/…/instances/…`.
    instance: Arc<str>,
    app_profile: String,
    features: HeaderValue,
    /// The streams that scans share; none in process.
    streams: Option<StreamBudget>,
    credentials: Option<Authorizer>,
    throttle: Option<Throttle>,
    /// Whether the server is known to honour idempotency tokens.
    honours_tokens: AtomicBool,
    infos: Arc<TableCache<TableInfo>>,
    /// The records of tables in the registry.
    records: Arc<TableCache<TableRecord>>,
    /// The layouts in the registry, by the keys of their rows.
    layouts: Arc<TableCache<Option<String>>>,
    /// Whether a warning was logged that the registry cannot be used.
    registry_warned: AtomicBool,
    scan_warnings: Arc<ScanWarnings>,
    heat: Heat,
    statements: Statements,
    retry_budget: RetryBudget,
    hedge_budget: HedgeBudget,
    /// The 95th percentile of the latency of point reads, for hedging.
    p95: LatencyP95,
    _upkeep: Vec<UpkeepTask>,
}

impl Client {
    /// A builder of a client with another app profile, more connections, or other settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::new()
    }

    /// Connects to the Bigtable at `address`, as arguments and configuration name it.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # async fn sample() -> Result<(), keyderive::Error> {
    /// use keyderive::Client;
    ///
    /// let address = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    /// let client = Client::connect(&address).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// | address | Bigtable |
    /// |---|---|
    /// | `bigtable://project/instance?app_profile=name` | an instance of Google Cloud; the app profile may be left out |
    /// | `emulator://host:port/project/instance` | an emulator; the default is project `keyderive`, instance `local` |
    /// | `embedded:` | a new Bigtable in the memory of this process |
    /// | `embedded:path` | an embedded Bigtable in a file |
    ///
    /// The cloud needs the feature `cloud`, and an embedded Bigtable the feature `embedded`.
    ///
    /// # Errors
    /// [`Misconfiguration`](crate::ErrorKind::Misconfiguration) for an invalid address, or one that needs a feature which is not
    /// enabled; otherwise as `cloud`, [`emulator`](Self::emulator) and `embedded_at`.
    ///
    /// # Cancel safety
    /// A dropped future closes its connections. It may have created a file.
    pub async fn connect(address: &str) -> Result<Self, Error> {
        Self::builder().connect(address).await
    }

    /// Connects to the emulator at `host`, in the form `host:port`.
    ///
    /// ```no_run
    /// # async fn sample() -> Result<(), keyderive::Error> {
    /// let client = keyderive::Client::emulator("localhost:8086").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Tables are in the instance `local` of the project `keyderive`. Waits up to 3 s for an answer, since an emulator may be
    /// starting.
    ///
    /// # Errors
    /// [`is_unavailable`](Error::is_unavailable) when no emulator answers;
    /// [`Misconfiguration`](crate::ErrorKind::Misconfiguration) when `host` is not a host and a port, or no tokio runtime is
    /// running.
    ///
    /// # Cancel safety
    /// A dropped future closes its connections.
    pub async fn emulator(host: impl Into<String>) -> Result<Self, Error> {
        Self::builder().emulator(host).await
    }

    /// Connects to an instance of Google Cloud.
    ///
    /// ```no_run
    /// # async fn sample() -> Result<(), keyderive::Error> {
    /// let client = keyderive::Client::cloud("shop", "orders").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Uses the application-default credentials of the environment; a [`builder`](Self::builder) can set others.
    ///
    /// # Errors
    /// [`MissingCredentials`](crate::ErrorKind::MissingCredentials) when there are no credentials, at once or after 10 seconds;
    /// [`Misconfiguration`](crate::ErrorKind::Misconfiguration) when no tokio runtime is running.
    ///
    /// # Cancel safety
    /// A dropped future closes its connections.
    #[cfg(feature = "cloud")]
    pub async fn cloud(project: impl Into<String>, instance: impl Into<String>) -> Result<Self, Error> {
        Self::builder().cloud(project, instance).await
    }

    /// Connects to the Bigtable that the environment names.
    ///
    /// ```no_run
    /// # async fn sample() -> Result<(), keyderive::Error> {
    /// let client = keyderive::Client::from_env().await?;
    /// println!("connected to {}", client.target());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `KEYDERIVE_ADDRESS` is an address, as [`connect`](Self::connect) takes it. Without it, `BIGTABLE_EMULATOR_HOST` names an emulator by
    /// `host:port`; its project and instance are those of
    /// `GOOGLE_CLOUD_PROJECT` and `BIGTABLE_INSTANCE`, or else `keyderive` and `local`. Without an emulator, these two
    /// variables name an instance in the cloud. An empty variable counts as not set. The resulting address is logged at the
    /// level info.
    ///
    /// # Errors
    /// When the environment names no Bigtable, or an instance without its project; and as
    /// [`connect`](Self::connect).
    ///
    /// # Cancel safety
    /// As [`connect`](Self::connect).
    pub async fn from_env() -> Result<Self, Error> {
        Self::builder().from_env().await
    }

    /// This client with other settings: for one kind of work, or for one call.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # async fn sample(client: keyderive::Client) {
    /// let hasty = client.with(|settings| settings.each(|call| call.total_timeout = Duration::from_secs(1)));
    /// # }
    /// ```
    ///
    /// Both share their connections. Tables of the new client use its settings.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::clone(&self.settings);
        change(&mut settings);
        Self { settings: Arc::new(settings), ..self.clone() }
    }

    /// This client with a deadline: no call through it, or through its tables, takes longer, whatever its settings say.
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String }
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let request = client.with_deadline(Instant::now() + Duration::from_millis(300));
    /// let user = request.table::<UserKey, User>("users").get(&UserKey { id: 7 }).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Each attempt tells the server how much time is left. After the deadline nothing is sent. A call that ends by it fails with
    /// [`is_deadline_exceeded`](Error::is_deadline_exceeded); a write may have been applied then, as
    /// [`is_outcome_unknown`](Error::is_outcome_unknown) says. The earlier of two deadlines counts.
    ///
    /// With tokio's clock paused, in tests, `at` may be over before it begins, since that clock runs ahead: use
    /// [`with_timeout`](Self::with_timeout), which goes by the same clock as the client.
    #[must_use]
    pub fn with_deadline(&self, at: std::time::Instant) -> Self {
        self.until(Instant::from_std(at))
    }

    /// This client with a deadline after `timeout` from now, by tokio's clock, which tests can move: as
    /// [`with_deadline`](Self::with_deadline) in all else.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String }
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let request = client.with_timeout(Duration::from_millis(300));
    /// let user = request.table::<UserKey, User>("users").get(&UserKey { id: 7 }).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The time runs from this call, for all calls together. Make one for each request of your service.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        self.until(Instant::now() + timeout.min(retry::NEVER))
    }

    fn until(&self, at: Instant) -> Self {
        Self { deadline: Some(self.at_deadline_or(at)), ..self.clone() }
    }

    /// The timeouts and retries of operations.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The table `name` without a key type. Sends nothing. Every operation fails for a name that breaks the service's rule: 1
    /// to 50 characters from `a-z`, `A-Z`, `0-9`, `_`, `-` and `.`.
    #[must_use]
    pub fn raw_table(&self, name: &str) -> RawTable {
        RawTable::new(self.clone(), self.route(name))
    }

    /// Closes the client and all its clones. New operations fail with
    /// [`ClientClosed`](crate::ErrorKind::ClientClosed); operations in flight finish, and the future is ready when all have
    /// ended. Drop streams before their end if you no longer read them: each may delay `close` for 10 s.
    ///
    /// A call that sends many requests, such as a load, `put_all` or `delete_rows`, fails before its next one; a load
    /// returns a
    /// [checkpoint](crate::table::load::LoadError::checkpoint).
    ///
    /// A scan is in flight from the creation of its stream until the stream returns its last row, the end or an error, or is
    /// dropped. `close` gives up a stream that has not been polled for 10 s: it waits for it no longer, and the stream fails
    /// with [`ClientClosed`](ErrorKind::ClientClosed) when polled. A row that a [writer](RawWriter) has accepted is in flight too: the writer
    /// flushes it at once.
    ///
    /// Any other future that you keep without polling blocks `close`: drop it.
    ///
    /// # Cancel safety
    /// The call closes the client before the future is polled. A dropped future stops waiting and changes nothing else; call
    /// `close` again to wait again.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        self.inner.shutdown.close()
    }

    /// How busy the client is: its connections, its requests in flight, and its retry budget.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # use keyderive::Client;
    /// let client = Client::embedded();
    /// assert_eq!((client.stats().in_flight, client.stats().waiting), (0, 0));
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    ///
    /// It counts the connections to the data service, without those of scans with many streams.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        let PoolLoad { connections, in_flight, waiting } = self.inner.pool.load();
        let in_flight = in_flight.saturating_sub(waiting);
        ClientStats { connections, in_flight, waiting, retry_tokens: self.inner.retry_budget.tokens() }
    }

    /// What this client and its clones read and write, by table, if it [records](ClientBuilder::record_heat) it. Sends nothing.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String }
    /// use keyderive::heat::{Measure, Recording};
    ///
    /// let client = Client::builder().record_heat(Recording::new()).embedded();
    /// let users = client.table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// users.put(&UserKey { id: 7 }, &User { name: "Ada".into() }).await?;
    ///
    /// let heat = client.heat().expect("it records");
    /// assert_eq!(heat.tables["users"].grid.total(Measure::Writes), 1);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    ///
    /// A snapshot is data: [merge](crate::heat::Snapshot::merge) the snapshots of all processes, and [draw
    /// them](crate::guide::heat#of-a-running-service). It copies what was recorded, table by table: some milliseconds for a
    /// busy table, during which recorded operations wait.
    #[cfg(feature = "heat")]
    #[must_use]
    pub fn heat(&self) -> Option<crate::heat::Snapshot> {
        self.inner.heat.snapshot()
    }

    /// Tells the recorder where the buckets of a table begin.
    pub(crate) fn heat_boundaries(&self, table: &str, starts: impl FnOnce() -> Vec<Vec<u8>>) {
        self.inner.heat.boundaries(table, starts);
    }

    /// The full name of the instance that its tables are in: `projects/my-project/instances/my-instance`.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")] {
    /// let client = keyderive::Client::builder().instance("shop", "orders").embedded();
    /// assert_eq!(client.instance_name(), "projects/shop/instances/orders");
    /// # }
    /// ```
    ///
    /// For an embedded Bigtable and an emulator it is `projects/keyderive/instances/local`, unless the builder names another
    /// one.
    #[must_use]
    pub fn instance_name(&self) -> &str {
        &self.inner.instance
    }

    /// Where the tables of this client are.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.inner.target
    }

    /// Sends a request with one message as its answer, until an attempt succeeds or the operation fails for good.
    async fn call<M: Message + Default>(&self, operation: Operation, request: Request) -> Result<M, Error> {
        self.call_checked(operation, request, Ok).await
    }

    /// As [`call`](Self::call). `check` turns the answer into the result, or says how it breaks the protocol.
    async fn call_checked<M: Message + Default, R>(
        &self,
        operation: Operation,
        request: Request,
        check: impl Fn(M) -> Result<R, String>,
    ) -> Result<R, Error> {
        let check = &check;
        let read = |answer: Answer| async move {
            check(answer.only().await?).map(Received::new).map_err(ProtocolViolation::status)
        };
        retry::call(self.attempts(operation).await?, request, read).await
    }

    /// Keys that split the table into parts of about equal size, in order, each with the approximate size in bytes of
    /// the rows before it.
    ///
    /// No row needs to have these keys. The last may be empty, and then stands for the table's end.
    pub(crate) async fn sample_row_keys(&self, table: &Route) -> Result<Vec<(Bytes, i64)>, Error> {
        /// More than the samples of any table, whose keys are short.
        const MAX_SAMPLE_BYTES: usize = 256 << 20;
        let operation = self.data_operation(Rpc::SampleRowKeys, table);
        let message = data::SampleRowKeysRequest {
            table_name: table.full_name().to_owned(),
            app_profile_id: self.app_profile().to_owned(),
            row_range: None,
        };
        let attempts = self.attempts(operation).await?;
        retry::call(attempts, Request::new(&message), |mut answer| async move {
            let (mut samples, mut left) = (Vec::new(), MAX_SAMPLE_BYTES);
            while let Some(sample) = answer.next::<data::SampleRowKeysResponse>().await? {
                let bytes = sample.row_key.len() + size_of::<(Bytes, i64)>();
                left = left.checked_sub(bytes).ok_or_else(|| TooLarge::Samples(MAX_SAMPLE_BYTES).status())?;
                samples.push((sample.row_key, sample.offset_bytes));
            }
            Ok(Received::new(samples))
        })
        .await
    }

    /// The way to a table's rows.
    pub(crate) fn route(&self, table: &str) -> Route {
        let name = self.table_name(table);
        let routing = [("table_name", name.as_str()), ("app_profile_id", self.app_profile())];
        let Inner { target, features, .. } = &*self.inner;
        Route::new(table, name.clone(), target.clone(), Some(features), &routing)
    }

    /// An RPC of the data service on a table.
    fn data_operation(&self, rpc: Rpc, table: &Route) -> Operation {
        Operation::new(rpc, table.clone())
    }

    /// An RPC of the data service on the whole instance.
    fn instance_operation(&self, rpc: Rpc) -> Operation {
        let routing = [("name", self.instance_name()), ("app_profile_id", self.app_profile())];
        let Inner { target, features, instance, .. } = &*self.inner;
        Operation::new(rpc, Route::new("", instance.to_string(), target.clone(), Some(features), &routing))
    }

    /// An RPC of the admin service about a table, routed by `parameter`.
    fn admin_operation(&self, rpc: Rpc, table: &str, parameter: (&'static str, &str)) -> Operation {
        let (name, target) = (parameter.1.to_owned(), self.inner.target.clone());
        Operation::new(rpc, Route::new(table, name, target, None, &[parameter]))
    }

    /// As [`Attempts::new`]. A caller that tries again at once lets other tasks run.
    async fn attempts(&self, operation: Operation) -> Result<Attempts, Error> {
        let attempts = Attempts::new(self, operation);
        if attempts.is_err() {
            consume_budget().await;
        }
        attempts
    }

    /// Counts an operation as in flight.
    ///
    /// # Errors
    /// When the client is closed.
    fn admit(&self, operation: &Operation) -> Result<InFlight, Error> {
        let in_flight = match &self.in_flight {
            Some(shared) => Some(InFlight::Shared { _guard: Arc::clone(shared) }),
            None => self.inner.shutdown.enter().map(|guard| InFlight::Own { _guard: guard }),
        };
        in_flight.ok_or_else(|| Error::closed(operation))
    }

    fn enter(&self) -> Option<Arc<InFlightGuard>> {
        self.in_flight.clone().or_else(|| self.inner.shutdown.enter().map(Arc::new))
    }

    /// This client as one operation of many requests, which may finish after the client is closed.
    pub(crate) fn in_one_operation(self) -> Self {
        let in_flight = self.enter();
        Self { in_flight, ..self }
    }

    /// This client for one stream, which may finish after the client is closed, and the stream's guard.
    pub(crate) fn streaming(&self) -> (Self, StreamGuard) {
        let own = match self.in_flight {
            Some(_) => StreamGuard::default(),
            None => StreamGuard::new(self.inner.shutdown.enter_stream()),
        };
        (self.with_in_flight(own.guard().or_else(|| self.in_flight.clone())), own)
    }

    /// This client as part of the operation that the guard counts.
    fn with_in_flight(&self, in_flight: Option<Arc<InFlightGuard>>) -> Self {
        Self { in_flight, ..self.clone() }
    }

    /// Whether a write may be sent again after it may have been applied.
    fn may_repeat(&self, idempotency: Idempotency) -> bool {
        match idempotency {
            Idempotency::Idempotent => true,
            Idempotency::ByToken => self.honours_tokens(),
            Idempotency::NotIdempotent => false,
        }
    }

    /// When the calls of this client end at the latest, if it has a deadline.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Counts rows that a driver has copied to other keys.
    pub(crate) fn count_rekeyed(&self, table: &Route, rows: u64) {
        observe::rekeyed(table.table(), rows);
    }

    /// Notes the state of a re-keying, as the number of its changes; none if it is not known.
    pub(crate) fn note_rekeying(&self, table: &Route, change: Option<u64>) {
        observe::rekeying(table.table(), change);
    }

    /// This client for work that is not a caller's.
    pub(crate) fn without_deadline(&self) -> Self {
        Self { deadline: None, ..self.clone() }
    }

    fn is_past_deadline(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// This time, or the client's deadline if that is earlier.
    fn at_deadline_or(&self, at: Instant) -> Instant {
        self.deadline.map_or(at, |deadline| deadline.min(at))
    }

    /// Whether the server is known to apply a write once that carries an idempotency token.
    pub(crate) fn honours_tokens(&self) -> bool {
        let known = || self.inner.honours_tokens.load(Ordering::Relaxed);
        self.settings.idempotency_tokens.unwrap_or_else(known)
    }

    fn throttle(&self) -> Option<&Throttle> {
        self.inner.throttle.as_ref()
    }

    /// The time of the client's clock.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")] {
    /// use std::time::Duration;
    ///
    /// use keyderive::embedded::Bigtable;
    ///
    /// let bigtable = Bigtable::in_memory();
    /// let client = bigtable.client();
    /// let before = client.now();
    /// bigtable.advance(Duration::from_secs(3600));
    /// assert!(client.now() >= before + Duration::from_secs(3600));
    /// # }
    /// ```
    ///
    /// It is the time of this machine, in whole milliseconds; for a Bigtable in this process it is that server's, which tests
    /// can move. The client takes it for everything that compares or writes the times of cells: `ttl`, the check that a value is
    /// not written with a time that is garbage, the timestamp of a write on a compared
    /// [`version`](crate::row::Column::version), the start times of idempotency tokens, the comparisons of
    /// [`Table::diff`](crate::Table::diff) and [`Migration::verify`](crate::table::rekey::Migration::verify), the warning about cells in the
    /// future, and the bounds of `#[salt(since)]`. Only [`Timestamped::now`](crate::row::Timestamped::now) takes this machine's time.
    /// A service that takes the times of its own rows and windows from here can be tested the same way.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        let since_epoch = Duration::from_micros(self.now_micros().max(0).unsigned_abs());
        // Only a clock beyond the times of this system has none.
        UNIX_EPOCH.checked_add(since_epoch).unwrap_or(UNIX_EPOCH)
    }

    /// The clock that cells are compared with.
    pub(crate) fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// The time that cells are compared with, in microseconds.
    pub(crate) fn now_micros(&self) -> i64 {
        self.inner.clock.now_micros()
    }

    /// The full name of a table.
    pub(crate) fn table_name(&self, table: &str) -> String {
        format!("{}/tables/{table}", self.inner.instance)
    }

    /// The globally unique id that an embedded Bigtable assigns to a table when it creates it; none for tables of a
    /// server.
    pub(crate) fn table_id(&self, table: &str) -> Option<u64> {
        #[cfg(feature = "embedded")]
        if let Some(servers) = self.inner.pool.in_process() {
            return servers.table_id(&self.table_name(table));
        }
        let _ = table;
        None
    }

    fn app_profile(&self) -> &str {
        &self.inner.app_profile
    }

    fn pool(&self, operation: &Operation) -> &Arc<Pool> {
        let Inner { pool, small_windows, admin, .. } = &*self.inner;
        match small_windows {
            _ if operation.is_admin() => admin,
            Some(small_windows) if operation.is_high_fan_out() => small_windows.pool(),
            _ => pool,
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("target", &self.inner.target)
            .field("instance", &self.inner.instance)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #[cfg(all(feature = "cloud", feature = "embedded"))]
    mod connections;
    #[cfg(all(feature = "cloud", feature = "embedded"))]
    mod fleet;
    #[cfg(all(feature = "cloud", feature = "embedded"))]
    mod flood;
    #[cfg(all(feature = "cloud", feature = "embedded"))]
    mod observed;
    #[cfg(feature = "embedded")]
    mod throttled;
    #[cfg(all(feature = "cloud", feature = "embedded"))]
    mod tokens;

    use super::*;

    #[tokio::test]
    #[cfg(not(feature = "cloud"))]
    async fn without_its_feature_the_cloud_is_an_error_that_names_it() {
        let error = Client::connect("bigtable://p/i").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misconfiguration);
        assert!(error.to_string().starts_with("the instance `i` of project `p` is in the cloud"), "{error}");
        assert!(error.to_string().contains("feature `cloud`"), "{error}");
    }

    #[test]
    fn a_client_is_shared_freely() {
        fn check<T: Clone + Send + Sync + 'static>() {}
        check::<Client>();
    }
}
