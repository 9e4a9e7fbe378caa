//! A Bigtable in this process: a tower service that speaks Bigtable's protocol over an ordered map, in memory or in a file.
//!
//! ```
//! use http::Request;
//! use keyderive_embedded::Bigtable;
//! use tonic::body::Body;
//! use tower_service::Service as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let mut bigtable = Bigtable::in_memory();
//! let request = Request::post("/google.bigtable.v2.Bigtable/ReadRows").body(Body::empty()).unwrap();
//! let Ok(response) = bigtable.call(request).await;
//! # assert_eq!(response.headers()["grpc-status"], "13", "a request without a message");
//! # }
//! ```
//!
//! Any gRPC client can use it: in the process or, with the feature `serve`, through a port. The client of the
//! `keyderive` crate uses it with that crate's feature `embedded`.
//!
//! It rejects what the service rejects, so that a program that works here works there. `src/tests/rules.md` lists the rules of the
//! protocol, field by field, each with its source and its test, and says where Google's emulator differs from them. A table stores
//! whole milliseconds or, if it was created so, whole microseconds. What differs from the service:
//!
//! - A cell that is eligible for garbage collection is gone at once; the service may return it for up to a week, sometimes
//!   longer, as a Bigtable with [paused garbage collection](Bigtable::pause_garbage_collection) does.
//! - Regular expressions have no Unicode classes, and a filter's take at most 8 MiB together when compiled.
//! - A mutation with an idempotency token is applied once, also after its file was opened again. Tokens are remembered for 15
//!   minutes, and 8 million at most.
//! - There are no `HyperLogLog++` aggregates, no backups, no views and no change streams. SQL needs a [`QueryEngine`], such as the one
//!   of the crate `keyderive-googlesql`.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod admin;
mod check;
mod data;
mod faults;
mod filter;
mod gc;
mod interval;
mod mutate;
mod query;
mod scan;
#[cfg(feature = "serve")]
mod serve;
mod storage;
mod store;
mod tokens;
mod worker;

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyderive_proto::MAX_MESSAGE_BYTES;
use keyderive_proto::admin::bigtable_table_admin_server::{BigtableTableAdminServer, SERVICE_NAME as ADMIN};
use keyderive_proto::data::bigtable_server::BigtableServer;
use redb::StorageBackend;
use tokio::runtime::Handle;
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use faults::Injector;
use storage::FileStorage;
use store::{Store, SystemClock};
use worker::Worker;

pub use self::faults::{Fault, FaultRule, Faults, Method};
#[doc(hidden)]
pub use self::filter::{Re2Error, translate_re2};
pub use self::interval::Interval;
pub use self::query::{
    OnOpen, Query, QueryCaller, QueryCell, QueryEngine, QueryTable, QueryTables, RunQuery,
};
#[cfg(feature = "serve")]
pub use self::serve::{ServeSettings, shutdown_signal};
pub use self::storage::OpenError;

type BoxFuture<T> = futures_core::future::BoxFuture<'static, T>;

/// A Bigtable inside this process. Clones share all tables, and one clock.
///
/// The time of the server is this machine's, unless a test [advances](Self::advance) or [sets](Self::set_time) it. It never
/// steps back by itself, even if the clock of this machine does.
#[derive(Clone)]
pub struct Bigtable {
    worker: Arc<Worker>,
    data: BigtableServer<data::Data>,
    admin: BigtableTableAdminServer<admin::Admin>,
    faults: Option<Arc<Injector>>,
}

impl Bigtable {
    /// A new, empty Bigtable in memory. Its tables live until its last clone is dropped.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(Arc::new(Worker::in_memory()))
    }

    /// Opens the Bigtable in the file at `path`, which is created if it does not exist.
    ///
    /// A write that succeeded is durable: it survives a crash of the process, and a power failure if the disk keeps what
    /// it acknowledges. Each write syncs the file twice, which takes some milliseconds; concurrent writes share the
    /// syncs, and so do the rows of a bulk write.
    ///
    /// Opening reads the whole file and verifies its checksums: 257 MB take about 0.5 s of processor time, and ten times as much if the
    /// crate redb is compiled without optimization, as in a debug build without `[profile.dev.package.redb] opt-level = 3`. Reads
    /// detect later damage.
    /// A cache takes some 130 MB of memory. A row has at most 1 GiB; if one row of a bulk write would become larger,
    /// only that row fails.
    ///
    /// The file keeps the latest server time, so that time does not step back when the file is opened again. If the file
    /// is more than a minute ahead of this machine's clock, a warning is logged once.
    ///
    /// If the disk is full or fails, the write fails with an error that says whether it may have been applied;
    /// acknowledged writes are kept. The next request retries the disk; there is no need to reopen the file.
    ///
    /// One process at a time can have the file open. It closes when all clones and their response streams are dropped.
    ///
    /// # Errors
    /// [`OpenError`] lists why opening fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the file is still opened or created, and then closed.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let opened = runtime.spawn_blocking(move || FileStorage::open(&path)).await;
        Self::over(opened.map_err(|error| OpenError::System(error.to_string()))??)
    }

    /// Opens the Bigtable in a file that the caller implements, such as one that loses writes that were not synced. `name` stands for its path
    /// in errors.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[doc(hidden)]
    pub fn open_on(file: Arc<dyn StorageBackend>, name: &str) -> Result<Self, OpenError> {
        Self::over(FileStorage::over(file, name.to_owned())?)
    }

    fn over(durable: FileStorage) -> Result<Self, OpenError> {
        let worker = Worker::new(Arc::new(Store::new(durable, SystemClock)))
            .map_err(|error| OpenError::System(format!("its writer thread cannot be started: {error}")))?;
        Ok(Self::new(Arc::new(worker)))
    }

    /// The identifier of the table with this full name. It is unique: a table that is deleted and created again has
    /// another one, and so has a table of the same name elsewhere.
    ///
    /// `None` if there is no such table, or if a release without identifiers created it.
    #[must_use]
    pub fn table_id(&self, table: &str) -> Option<u64> {
        self.worker.store().table(table).ok()?.id
    }

    /// The time of the server: cells written at the server's time get it, and garbage collection compares with it.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        // No later than the year 9999.
        UNIX_EPOCH + Duration::from_micros(self.now_micros().max(0).unsigned_abs())
    }

    /// The time of the server in whole milliseconds, as microseconds since the epoch.
    #[must_use]
    pub fn now_micros(&self) -> i64 {
        let now = self.worker.store().now_micros();
        now - now.rem_euclid(1000)
    }

    /// Moves the time of the server ahead, for tests: cells expire, and idempotency tokens are forgotten, as if so much time had
    /// passed. At most to the end of the year 9999.
    ///
    /// It counts from the time that [`now`](Self::now) shows. The clock then runs on, or stays stopped after
    /// [`set_time`](Self::set_time); a stopped clock cannot be started again. tokio's clock is another one, which this does not move. A
    /// file keeps its latest time, so a Bigtable that is opened from it later begins at that time.
    pub fn advance(&self, by: Duration) {
        self.worker.store().clock().advance(by);
    }

    /// Stops the clock of the server at a time, for tests: from now on only [`advance`](Self::advance) and this move it.
    ///
    /// The time is from 1970 to the end of the year 9999; [`now`](Self::now) returns whole milliseconds of it, and a table of
    /// microseconds gets its microseconds. It may be before the present time; a write then is an older version than the writes before
    /// it. So set it before the first write. A file that is opened again begins at the latest time of its writes.
    pub fn set_time(&self, at: SystemTime) {
        let since_epoch = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX);
        self.worker.store().clock().set(micros);
    }

    /// Pauses garbage collection: cells that are eligible for it stay, and reads and conditions see them, as on the service for up to
    /// a week, sometimes longer. Cells of a dropped column family are gone at once.
    ///
    /// Collection stays paused for this Bigtable and its clones, as long as it is open; nothing resumes it.
    /// [`collect_garbage`](Self::collect_garbage) collects once.
    pub fn pause_garbage_collection(&self) {
        self.worker.store().pause_garbage_collection();
    }

    /// Removes, once, all cells that are eligible for garbage collection now. There are some only
    /// [while garbage collection is paused](Self::pause_garbage_collection).
    ///
    /// # Errors
    /// If the file cannot be read or written. Some cells may be removed then.
    ///
    /// # Cancel safety
    /// If the future is dropped, the cells are removed or not, perhaps later. Call it again.
    pub async fn collect_garbage(&self) -> Result<(), Status> {
        self.worker.write_long(Store::collect_garbage).await
    }

    /// A Bigtable with the same tables that answers SQL by this engine. `self` and its clones are not affected.
    #[must_use]
    pub fn with_query_engine(&self, engine: Arc<dyn QueryEngine>) -> Self {
        Self { data: data_server(&self.worker, Some(engine)), ..self.clone() }
    }

    fn new(worker: Arc<Worker>) -> Self {
        Self {
            worker: Arc::clone(&worker),
            data: data_server(&worker, None),
            admin: BigtableTableAdminServer::new(admin::Admin::new(worker))
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(usize::MAX),
            faults: None,
        }
    }

    fn dispatch(&self, request: http::Request<Body>) -> BoxFuture<Result<http::Response<Body>, Infallible>> {
        let service = request.uri().path().trim_start_matches('/').split('/').next();
        if service == Some(ADMIN) {
            self.admin.clone().call(request)
        } else {
            self.data.clone().call(request)
        }
    }
}

/// The header of a gRPC message can announce 4 GiB, which tonic allocates before the message arrives. keyderive's client has the same
/// limit, so its users see the client's error first.
fn data_server(worker: &Arc<Worker>, engine: Option<Arc<dyn QueryEngine>>) -> BigtableServer<data::Data> {
    BigtableServer::new(data::Data::new(Arc::clone(worker), engine))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(usize::MAX)
}

impl Service<http::Request<Body>> for Bigtable {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let Some(faults) = &self.faults else { return self.dispatch(request) };
        let bigtable = self.clone();
        faults.call(request, move |request| bigtable.dispatch(request))
    }
}

impl fmt::Debug for Bigtable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bigtable").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
