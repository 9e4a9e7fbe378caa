//! A Bigtable in this process: the service's own protocol over an ordered map, without a socket.
//!
//! It sits behind the same client as every other Bigtable, so what runs on it has passed through the
//! same messages, headers and merging of rows. It is strict where the service is, so that a program
//! that works here works there.

mod admin;
mod aggregate;
mod cell;
mod check;
mod clock;
mod data;
mod faults;
mod filter;
mod gc;
mod interval;
mod modify;
mod mutate;
mod routing;
mod sample;
mod scan;
#[cfg(feature = "serve")]
mod serve;
mod storage;
mod store;
mod worker;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;
use tonic::body::Body;
use tower_service::Service as _;

use crate::client::{BoxFuture, Client, ClientBuilder, Environment, Error, InProcess, MAX_MESSAGE_BYTES};
use crate::wire::admin::bigtable_table_admin_server::{BigtableTableAdminServer, SERVICE_NAME as ADMIN};
use crate::wire::data::bigtable_server::BigtableServer;
use clock::SystemClock;
use faults::Injector;
use storage::{Durable, OpenError};
use store::Store;
use worker::Worker;

pub use self::faults::{Fault, Faults, Method};
#[cfg(feature = "serve")]
pub use self::serve::ServeSettings;

impl Client {
    /// A client of a new, empty Bigtable inside this process.
    ///
    /// Its tables live in memory, as long as the client or a clone of it; [`embedded_at`](Self::embedded_at) keeps
    /// them in a file. Clones share the tables;
    /// another call makes another Bigtable.
    ///
    /// It is made anywhere; its operations run inside a tokio runtime, as those of other clients, and fail by
    /// [`is_configuration`](Error::is_configuration) outside of one.
    ///
    /// It answers like the service, and refuses what the service refuses. What differs: a cell that its
    /// family's garbage collection rule lets go is gone at once, where the service may still return it for
    /// days; regular expressions have no Unicode classes, and those of one filter take at most 8 MiB together when they
    /// are compiled; there are no `HyperLogLog++` aggregates, no SQL, no backups, views and change streams.
    ///
    /// The time of the server never steps back, even if the clock of this machine does.
    #[must_use]
    pub fn embedded() -> Self {
        Self::builder().embedded()
    }

    /// A client of the Bigtable inside this process whose tables are in the file at `path`, which is made where there
    /// is none.
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
    /// It is that of [`embedded`](Self::embedded) in all else. A write that has succeeded is in the file for good: it
    /// survives the end of the process, however that comes, and a failure of power where the disk keeps what it says
    /// that it has. Each write waits for the disk twice, some milliseconds in all; writes at the same time wait
    /// together, and so do the rows of a bulk write.
    ///
    /// Opening reads the whole file and compares its checksums, so it takes longer for a larger file. What is damaged
    /// later is found when it is read. Some 130 MB of memory keep what is read and written often. A row has at most
    /// 1 GiB; a write that would make it larger is refused alone.
    ///
    /// The file keeps the latest time of the server, which does not step back when the file is opened again. A file that
    /// is more than a minute ahead of this machine's clock is warned of once.
    ///
    /// Where the disk is full or fails, the write fails with an error that says whether it may have been applied, and
    /// what was acknowledged is kept. The next request tries the disk again: the file need not be opened again.
    ///
    /// The file is for one process at a time. It is free for another when the client, its clones and their streams
    /// are gone.
    ///
    /// # Errors
    ///
    /// - [`is_in_use`](Error::is_in_use): another process has the file open, or another Bigtable of this one. Clones
    ///   share it, and so do the clients of one [`Bigtable`].
    /// - [`is_data_loss`](Error::is_data_loss): the file is damaged.
    /// - [`is_configuration`](Error::is_configuration): the file cannot be made or opened, is none of keyderive, or
    ///   was written by a later release in a format that this one does not know; or no tokio runtime is running.
    pub async fn embedded_at(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::builder().embedded_at(path).await
    }

    /// A client of the Bigtable that the environment names, as [`from_env`](Self::from_env); the
    /// [embedded](Self::embedded) one where it names neither an emulator nor an instance.
    ///
    /// The fallback is told by a warning of the `tracing` crate, because what is written then is lost
    /// with the process.
    ///
    /// # Errors
    ///
    /// As `from_env`, but for an environment that names nothing.
    pub async fn from_env_or_embedded() -> Result<Self, Error> {
        Self::named_or_embedded(Environment::decide(|name| std::env::var_os(name))?).await
    }

    async fn named_or_embedded(environment: Environment) -> Result<Self, Error> {
        match environment {
            Environment::Nothing { project } => {
                tracing::warn!("{}", fallback(project.as_deref()));
                Ok(Self::embedded())
            }
            named => Self::builder().named(named).await,
        }
    }
}

/// What is told of an environment that names no Bigtable, or a project at most.
fn fallback(project: Option<&str>) -> String {
    let why = match project {
        Some(project) => format!(
            "`GOOGLE_CLOUD_PROJECT` names the project `{project}`, but `BIGTABLE_INSTANCE` names no instance of it"
        ),
        None => "the environment names no Bigtable".to_owned(),
    };
    format!("{why}; using the embedded one, whose tables are lost with this process")
}

impl ClientBuilder {
    /// A client of a new, empty Bigtable inside this process, as [`Client::embedded`].
    #[must_use]
    pub fn embedded(self) -> Client {
        self.embedded_in(&Bigtable::in_memory())
    }

    /// A client of the Bigtable in a file, as [`Client::embedded_at`].
    ///
    /// # Errors
    ///
    /// As [`Client::embedded_at`].
    pub async fn embedded_at(self, path: impl AsRef<Path>) -> Result<Client, Error> {
        Ok(self.embedded_in(&Bigtable::open(path).await?))
    }

    /// A client of a Bigtable inside this process, which other clients may share.
    #[must_use]
    pub fn embedded_in(self, bigtable: &Bigtable) -> Client {
        let Bigtable { servers, file } = bigtable.clone();
        self.in_process(Arc::new(servers), file)
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
/// [`Client::embedded`] is the short form of one with one client. Clones share all tables.
#[derive(Clone)]
pub struct Bigtable {
    servers: Servers,
    /// Where its tables are, unless in memory.
    file: Option<Arc<str>>,
}

impl Bigtable {
    /// A new, empty one, whose tables live in memory as long as it or a client of it.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { servers: Servers::new(Arc::new(Worker::in_memory())), file: None }
    }

    /// The one whose tables are in the file at `path`, which is made where there is none; as
    /// [`Client::embedded_at`].
    ///
    /// # Errors
    ///
    /// As [`Client::embedded_at`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let file: Arc<str> = path.display().to_string().into();
        let runtime = Handle::try_current().map_err(|_| {
            Error::configuration("a file is opened inside a tokio runtime, and none is running")
        })?;
        let opened = runtime.spawn_blocking(move || Durable::open(&path)).await;
        let durable = match opened {
            Ok(opened) => opened.map_err(|error| refused(&file, &error))?,
            Err(error) => {
                return Err(Error::configuration(format!("the file `{file}` was not opened: {error}")));
            }
        };
        let worker = Worker::new(Arc::new(Store::new(durable, SystemClock)))
            .map_err(|error| Error::configuration(format!("the file `{file}` has no thread: {error}")))?;
        Ok(Self { servers: Servers::new(Arc::new(worker)), file: Some(file) })
    }

    /// A client of it.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::builder().embedded_in(self)
    }
}

fn refused(file: &str, error: &OpenError) -> Error {
    let message = format!("the file `{file}` {error}");
    match error {
        OpenError::InUse => Error::in_use(message),
        OpenError::Damaged(_) => Error::damaged(message),
        OpenError::Newer(_) | OpenError::Foreign(_) | OpenError::System(_) => Error::configuration(message),
    }
}

impl fmt::Debug for Bigtable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bigtable").finish_non_exhaustive()
    }
}

/// The two services over one store.
#[derive(Clone)]
struct Servers {
    worker: Arc<Worker>,
    data: BigtableServer<data::Data>,
    admin: BigtableTableAdminServer<admin::Admin>,
    faults: Option<Arc<Injector>>,
}

impl Servers {
    fn new(worker: Arc<Worker>) -> Self {
        // A request may say that it has 4 GiB, and is given the room before it comes. The client's own limit is the same,
        // so that it is the one that its users meet.
        Self {
            worker: Arc::clone(&worker),
            data: BigtableServer::new(data::Data::new(Arc::clone(&worker)))
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(usize::MAX),
            admin: BigtableTableAdminServer::new(admin::Admin::new(worker))
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(usize::MAX),
            faults: None,
        }
    }

    fn answer(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>> {
        let service = request.uri().path().trim_start_matches('/').split('/').next();
        let response = if service == Some(ADMIN) {
            self.admin.clone().call(request)
        } else {
            self.data.clone().call(request)
        };
        Box::pin(async move {
            match response.await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        })
    }
}

impl InProcess for Servers {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>> {
        let Some(faults) = &self.faults else { return self.answer(request) };
        let servers = self.clone();
        faults.call(request, move |request| servers.answer(request))
    }

    fn table_id(&self, table: &str) -> Option<u64> {
        self.worker.store().table(table).ok()?.id
    }
}

#[cfg(test)]
mod tests;
