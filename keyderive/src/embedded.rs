//! A Bigtable in this process, with the same client as every other one.

use std::fmt;
#[cfg(feature = "serve")]
use std::future::Future;
#[cfg(feature = "serve")]
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use keyderive_embedded::OpenError;
#[cfg(feature = "serve")]
use tokio::net::TcpListener;
use tonic::Code;
use tonic::body::Body;
use tower_service::Service;

use crate::client::{BoxFuture, Client, ClientBuilder, Error, InProcess};

pub use keyderive_embedded::{Fault, FaultRule, Faults, Method, QueryEngine};
#[cfg(feature = "serve")]
pub use keyderive_embedded::{ServeSettings, shutdown_signal};

impl Client {
    /// A client of a new, empty Bigtable inside this process.
    ///
    /// Its tables live in memory until the client and its clones, which share them, are dropped;
    /// [`embedded_at`](Self::embedded_at) keeps them in a file. Another call creates another Bigtable.
    ///
    /// The client can be created anywhere; like other clients' ones, its operations need a tokio runtime, and fail
    /// with [`Misconfiguration`](crate::ErrorKind::Misconfiguration) outside of one.
    ///
    /// It answers like the service, and rejects what the service rejects. What differs:
    ///
    /// - A cell that is eligible for garbage collection is gone at once; the service may return it for up to a week, sometimes longer,
    ///   as a [`Bigtable`] with [paused garbage collection](Bigtable::pause_garbage_collection) does.
    /// - Regular expressions have no Unicode classes, and a filter's take at most 8 MiB together when compiled.
    /// - There are no `HyperLogLog++` aggregates, no backups, views and change streams. SQL needs
    ///   [an engine](Bigtable::with_query_engine).
    ///
    /// The time of the server never steps back, even if the clock of this machine does, unless a test [sets](Bigtable::set_time) it.
    #[must_use]
    pub fn embedded() -> Self {
        Self::builder().embedded()
    }

    /// A client of a Bigtable inside this process whose tables are in the file at `path`, which is created if it does not
    /// exist.
    ///
    /// ```no_run
    /// use keyderive::Client;
    ///
    /// # async fn sample() -> Result<(), keyderive::Error> {
    /// let client = Client::embedded_at("events.keyderive").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Otherwise it is like [`embedded`](Self::embedded). A write that succeeded is durable: it survives a crash of the
    /// process, and a power failure if the disk keeps what it acknowledges. Each write syncs the file twice, which takes
    /// some milliseconds; concurrent writes share the syncs, and so do the rows of a bulk write.
    ///
    /// Opening reads the whole file and verifies its checksums: 257 MB take about 0.5 s of processor time, and ten times as much if the
    /// crate redb is compiled without optimization, as in a debug build without `[profile.dev.package.redb] opt-level = 3`. Reads detect
    /// later damage. A cache takes some 130 MB of memory. A row has at most 1 GiB; a write that would make it larger fails alone.
    ///
    /// The file keeps the latest server time, so that time does not step back when the file is opened again. If the file
    /// is more than a minute ahead of this machine's clock, a warning is logged once.
    ///
    /// If the disk is full or fails, the write fails with an error that says whether it may have been applied;
    /// acknowledged writes are kept. The next request retries the disk; there is no need to reopen the file.
    ///
    /// One process at a time can have the file open, and can [serve](Bigtable) it to others on a port, as `keyderive serve --file`
    /// does. It closes when the client, its clones and their streams are dropped.
    ///
    /// # Errors
    ///
    /// - [`FileInUse`](crate::ErrorKind::FileInUse): another process has the file open, or another Bigtable of this process.
    ///   Clones share it, and so do the clients of one [`Bigtable`].
    /// - [`DataLoss`](crate::ErrorKind::DataLoss): the file is damaged.
    /// - [`Misconfiguration`](crate::ErrorKind::Misconfiguration): the file cannot be created or opened, another program
    ///   wrote it, or a later release in a format that this one does not know; or no tokio runtime is running.
    ///
    /// # Cancel safety
    /// A dropped future may have created the file. The file stays in use until its opening has ended.
    pub async fn embedded_at(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::builder().embedded_at(path).await
    }
}

impl ClientBuilder {
    /// A client of a new, empty Bigtable inside this process, like [`Client::embedded`].
    #[must_use]
    pub fn embedded(self) -> Client {
        self.embedded_in(&Bigtable::in_memory())
    }

    /// A client of a Bigtable in a file, like [`Client::embedded_at`].
    ///
    /// # Errors
    ///
    /// As [`Client::embedded_at`].
    ///
    /// # Cancel safety
    /// As [`Client::embedded_at`].
    pub async fn embedded_at(self, path: impl AsRef<Path>) -> Result<Client, Error> {
        Ok(self.embedded_in(&Bigtable::open(path).await?))
    }

    /// A client of a Bigtable inside this process, which other clients may share.
    #[must_use]
    pub fn embedded_in(self, bigtable: &Bigtable) -> Client {
        self.in_process(Arc::new(bigtable.service.clone()), bigtable.file.clone())
    }
}

/// A Bigtable inside this process.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// use keyderive::embedded::Bigtable;
///
/// let bigtable = Bigtable::in_memory();
/// let (one, other) = (bigtable.client(), bigtable.client());
/// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
/// # type User = std::collections::BTreeMap<String, u64>;
/// assert!(one.table::<UserKey, User>("users").create_if_absent().await?);
/// assert!(!other.table::<UserKey, User>("users").create_if_absent().await?);
/// # Ok(())
/// # }
/// ```
///
/// For a Bigtable with a single client, [`Client::embedded`] is shorter. Clones share all tables.
#[derive(Clone)]
pub struct Bigtable {
    service: keyderive_embedded::Bigtable,
    /// The file with its tables, unless they are in memory.
    file: Option<Arc<str>>,
}

impl Bigtable {
    /// A new, empty Bigtable in memory. Its tables live until it and its clients are dropped.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { service: keyderive_embedded::Bigtable::in_memory(), file: None }
    }

    /// Opens the Bigtable in the file at `path`, which is created if it does not exist; see [`Client::embedded_at`].
    ///
    /// # Errors
    ///
    /// As [`Client::embedded_at`].
    ///
    /// # Cancel safety
    /// As [`Client::embedded_at`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file: Arc<str> = path.display().to_string().into();
        let opened = keyderive_embedded::Bigtable::open(path).await;
        Ok(Self { service: opened.map_err(|error| open_error(&file, &error))?, file: Some(file) })
    }

    /// A client of this Bigtable.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::builder().embedded_in(self)
    }

    /// The time of the server, which its clients' [`now`](Client::now) returns too.
    ///
    /// It is this machine's time until [`advance`](Self::advance) or [`set_time`](Self::set_time) moves it.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.service.now()
    }

    /// Moves the time of the server ahead, for tests: what expires in an hour has expired, without a sleep.
    ///
    /// ```
    /// # use keyderive::{Row, RowKey};
    /// use std::time::Duration;
    ///
    /// use keyderive::embedded::Bigtable;
    ///
    /// # #[derive(RowKey)] struct SessionKey { id: u64 }
    /// #[derive(Row)]
    /// #[row(ttl = "1h")]
    /// struct Session {
    ///     user: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let bigtable = Bigtable::in_memory();
    /// let sessions = bigtable.client().table::<SessionKey, Session>("sessions");
    /// sessions.create_if_absent().await?;
    /// sessions.put(&SessionKey { id: 7 }, &Session { user: "ada".to_owned() }).await?;
    ///
    /// bigtable.advance(Duration::from_secs(59 * 60));
    /// assert!(sessions.get(&SessionKey { id: 7 }).await?.is_some());
    /// bigtable.advance(Duration::from_secs(61));
    /// assert!(sessions.get(&SessionKey { id: 7 }).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It counts from the time that [`now`](Self::now) shows, and ends at the end of the year 9999. The clock then runs on, or stays
    /// stopped after [`set_time`](Self::set_time); a stopped clock cannot be started again. All clones share it.
    ///
    /// Advancing it affects: the timestamps that the server gives, garbage collection, and the 15 minutes for which idempotency tokens
    /// are remembered; and, in the clients of this Bigtable in this process, all that uses [`Client::now`], such as `ttl`.
    ///
    /// It does not affect tokio's clock, by which timeouts, backoff and leases run, nor [`SystemTime::now`] and
    /// [`Timestamped::now`](crate::row::Timestamped::now), nor clients on a port, which have the clock of their machine. A file keeps
    /// the latest time of its writes, and begins there when it is opened again.
    pub fn advance(&self, by: Duration) {
        self.service.advance(by);
    }

    /// Stops the clock of the server at a time, for tests: from now on only [`advance`](Self::advance) and this move it.
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    ///
    /// use keyderive::embedded::Bigtable;
    ///
    /// let bigtable = Bigtable::in_memory();
    /// let noon = UNIX_EPOCH + Duration::from_secs(1_764_072_000);
    /// bigtable.set_time(noon);
    /// assert_eq!(bigtable.client().now(), noon);
    /// ```
    ///
    /// The time is from 1970 to the end of the year 9999; [`now`](Self::now) returns whole milliseconds of it, and a table of
    /// microseconds gets its microseconds. It may be before the present time, but then writes are older versions than the writes before
    /// them: set it before the first write. Nothing starts the clock again.
    pub fn set_time(&self, at: SystemTime) {
        self.service.set_time(at);
    }

    /// Pauses garbage collection, for tests: cells that are eligible for it stay, as on the service for up to a week, sometimes longer.
    ///
    /// ```
    /// # use keyderive::{Row, RowKey};
    /// use std::time::Duration;
    ///
    /// use keyderive::embedded::Bigtable;
    ///
    /// # #[derive(RowKey)] struct JobKey { id: u64 }
    /// #[derive(Row)]
    /// #[row(gc(max_age = "1d"))]
    /// struct Job {
    ///     state: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let bigtable = Bigtable::in_memory();
    /// bigtable.pause_garbage_collection();
    /// let jobs = bigtable.client().table::<JobKey, Job>("jobs");
    /// jobs.create_if_absent().await?;
    /// jobs.put(&JobKey { id: 7 }, &Job { state: "open".to_owned() }).await?;
    ///
    /// bigtable.advance(Duration::from_secs(2 * 86_400));
    /// assert!(jobs.get(&JobKey { id: 7 }).await?.is_some(), "it is older than a day, and not collected yet");
    /// bigtable.collect_garbage().await?;
    /// assert!(jobs.get(&JobKey { id: 7 }).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Reads and conditions see such cells, and increments add to them; `ttl` hides them, as on the service. A new rule removes
    /// nothing before the next collection; a dropped column family is gone at once.
    ///
    /// Collection stays paused for this Bigtable and its clones, as long as it is open; nothing resumes it.
    /// [`collect_garbage`](Self::collect_garbage) collects once.
    pub fn pause_garbage_collection(&self) {
        self.service.pause_garbage_collection();
    }

    /// Removes, once, all cells that are eligible for garbage collection now. There are some only
    /// [while garbage collection is paused](Self::pause_garbage_collection).
    ///
    /// # Errors
    /// [`DataLoss`](crate::ErrorKind::DataLoss) if its file is damaged, [`Misconfiguration`](crate::ErrorKind::Misconfiguration) if it cannot
    /// be read or written. Some cells may be removed then.
    ///
    /// # Cancel safety
    /// If the future is dropped, the cells are removed or not, perhaps later. Call it again.
    pub async fn collect_garbage(&self) -> Result<(), Error> {
        self.service.collect_garbage().await.map_err(|status| match status.code() {
            Code::DataLoss => Error::damaged(status.message().to_owned()),
            _ => Error::configuration(status.message()),
        })
    }

    /// A Bigtable with the same tables and these faults. `self` and its clients are not affected. Both share the clock, and whether
    /// garbage collection is paused.
    ///
    /// The faults replace earlier ones, and [`calls`](Self::calls) counts from 0. See [`Faults`] for an example.
    #[must_use]
    pub fn with_faults(&self, faults: Faults) -> Self {
        Self { service: self.service.with_faults(faults), file: self.file.clone() }
    }

    /// A Bigtable with the same tables that answers [queries](Client::query) by this engine, such as the one of the crate
    /// `keyderive-googlesql`. `self` and its clients are not affected.
    #[must_use]
    pub fn with_query_engine(&self, engine: Arc<dyn QueryEngine>) -> Self {
        Self { service: self.service.with_query_engine(engine), file: self.file.clone() }
    }

    /// How many calls of this method it received, including failed ones. Only a Bigtable from
    /// [`with_faults`](Self::with_faults) counts, be it with no faults at all; for others this is 0.
    #[must_use]
    pub fn calls(&self, method: Method) -> u64 {
        self.service.calls(method)
    }

    /// Serves this Bigtable on a port until `shutdown` completes, and then for at most 5 s until the open requests are
    /// answered.
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use keyderive::embedded::Bigtable;
    ///
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8086").await?;
    /// Bigtable::in_memory().serve(listener, std::future::pending()).await
    /// # }
    /// ```
    ///
    /// There is no authentication: anyone who can reach the port can read and change everything, so listen on the loopback
    /// interface. Each request is logged by `tracing` at debug level, with its method, its table if its headers name one,
    /// the time to the head of its response, and the code and message of its status if the head has one.
    ///
    /// # Errors
    /// If listening on the port fails.
    ///
    /// # Cancel safety
    /// A dropped future accepts no further connections. Open connections continue until their peers close them.
    #[cfg(feature = "serve")]
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        self.service.serve(listener, shutdown).await
    }

    /// Like [`serve`](Self::serve), with other [settings](ServeSettings).
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use std::time::Duration;
    ///
    /// use keyderive::embedded::Bigtable;
    ///
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8086").await?;
    /// let grace = |settings: &mut keyderive::embedded::ServeSettings| settings.grace = Duration::from_secs(30);
    /// Bigtable::in_memory().serve_with(listener, std::future::pending(), grace).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As `serve`.
    ///
    /// # Cancel safety
    /// As `serve`.
    #[cfg(feature = "serve")]
    pub async fn serve_with(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
        change: impl FnOnce(&mut ServeSettings),
    ) -> io::Result<()> {
        self.service.serve_with(listener, shutdown, change).await
    }
}

fn open_error(file: &str, error: &OpenError) -> Error {
    let message = format!("the file `{file}` {error}");
    match error {
        OpenError::InUse => Error::in_use(message),
        OpenError::Damaged(_) => Error::damaged(message),
        _ => Error::configuration(message),
    }
}

impl fmt::Debug for Bigtable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bigtable").finish_non_exhaustive()
    }
}

impl InProcess for keyderive_embedded::Bigtable {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>> {
        let answer = Service::call(&mut self.clone(), request);
        Box::pin(async move {
            let Ok(answer) = answer.await;
            answer
        })
    }

    fn now_micros(&self) -> i64 {
        self.now_micros()
    }

    fn table_id(&self, table: &str) -> Option<u64> {
        self.table_id(table)
    }
}

#[cfg(test)]
mod tests;
