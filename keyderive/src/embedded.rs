//! A Bigtable in this process, behind the same client as every other one.

use std::fmt;
#[cfg(feature = "serve")]
use std::future::Future;
#[cfg(feature = "serve")]
use std::io;
use std::path::Path;
use std::sync::Arc;

use keyderive_embedded::OpenError;
#[cfg(feature = "serve")]
use tokio::net::TcpListener;
use tonic::body::Body;
use tower_service::Service;

use crate::client::{BoxFuture, Client, ClientBuilder, Error, InProcess};

#[cfg(feature = "serve")]
pub use keyderive_embedded::ServeSettings;
pub use keyderive_embedded::{Fault, Faults, Method};

impl Client {
    /// A client of a new, empty Bigtable inside this process.
    ///
    /// Its tables live in memory, as long as the client or a clone of it; [`embedded_at`](Self::embedded_at) keeps
    /// them in a file. Clones share the tables;
    /// another call makes another Bigtable.
    ///
    /// It is made anywhere; its operations run inside a tokio runtime, as those of other clients, and fail by
    /// [`is_misconfiguration`](Error::is_misconfiguration) outside of one.
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
    /// - [`is_file_in_use`](Error::is_file_in_use): another process has the file open, or another Bigtable of this one. Clones
    ///   share it, and so do the clients of one [`Bigtable`].
    /// - [`is_data_loss`](Error::is_data_loss): the file is damaged.
    /// - [`is_misconfiguration`](Error::is_misconfiguration): the file cannot be made or opened, is none of keyderive, or
    ///   was written by a later release in a format that this one does not know; or no tokio runtime is running.
    pub async fn embedded_at(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::builder().embedded_at(path).await
    }
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
/// [`Client::embedded`] is the short form of one with one client. Clones share all tables.
#[derive(Clone)]
pub struct Bigtable {
    service: keyderive_embedded::Bigtable,
    /// Where its tables are, unless in memory.
    file: Option<Arc<str>>,
}

impl Bigtable {
    /// A new, empty one, whose tables live in memory as long as it or a client of it.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { service: keyderive_embedded::Bigtable::in_memory(), file: None }
    }

    /// The one whose tables are in the file at `path`, which is made where there is none; as
    /// [`Client::embedded_at`].
    ///
    /// # Errors
    ///
    /// As [`Client::embedded_at`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file: Arc<str> = path.display().to_string().into();
        let opened = keyderive_embedded::Bigtable::open(path).await;
        Ok(Self { service: opened.map_err(|error| refused(&file, &error))?, file: Some(file) })
    }

    /// A client of it.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::builder().embedded_in(self)
    }

    /// The same tables, behind a server with these faults. Clients of the Bigtable without them stay as they are.
    ///
    /// Faults that it had are replaced, and [`calls`](Self::calls) counts from 0. See [`Faults`] for an example.
    #[must_use]
    pub fn with_faults(&self, faults: Faults) -> Self {
        Self { service: self.service.with_faults(faults), file: self.file.clone() }
    }

    /// How many calls of this method have come, those included that failed. They are counted where there are faults,
    /// or [`Faults`] without any; 0 of all others.
    #[must_use]
    pub fn calls(&self, method: Method) -> u64 {
        self.service.calls(method)
    }

    /// Serves it on a port until `shutdown` is ready, and then until the requests that have begun are answered, or 5 s
    /// are over.
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
    /// Whoever can reach the port can read and change everything: listen on the loopback interface. Each request is
    /// told to `tracing` at debug level, with its method, its table where its headers name one, the time to the head
    /// of its answer, and the code and the message of its status if it has one by then.
    ///
    /// # Errors
    /// When the port cannot be listened on any more.
    ///
    /// # Cancel safety
    /// A future that is dropped takes no further connections. Those that are open go on until their peers close them.
    #[cfg(feature = "serve")]
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        self.service.serve(listener, shutdown).await
    }

    /// As [`serve`](Self::serve), with other [settings](ServeSettings).
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

fn refused(file: &str, error: &OpenError) -> Error {
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

    fn table_id(&self, table: &str) -> Option<u64> {
        self.table_id(table)
    }
}

#[cfg(test)]
mod tests;
