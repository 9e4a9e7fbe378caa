//! A Bigtable in this process: the service's own protocol over an ordered map, without a socket.
//!
//! It sits behind the same client as every other Bigtable, so what runs on it has passed through the
//! same messages, headers and merging of rows. It is strict where the service is, so that a program
//! that works here works there.

mod admin;
mod aggregate;
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

use std::fmt;
use std::sync::Arc;

use tonic::body::Body;
use tower_service::Service as _;

use crate::client::{BoxFuture, Client, ClientBuilder, Environment, Error, InProcess, MAX_MESSAGE_BYTES};
use crate::wire::admin::bigtable_table_admin_server::{BigtableTableAdminServer, SERVICE_NAME as ADMIN};
use crate::wire::data::bigtable_server::BigtableServer;
use faults::Injector;
use store::Store;

pub use self::faults::{Fault, Faults, Method};

impl Client {
    /// A client of a new, empty Bigtable inside this process.
    ///
    /// Its tables live in memory, as long as the client or a clone of it. Clones share the tables;
    /// another call makes another Bigtable.
    ///
    /// It answers like the service, and refuses what the service refuses. What differs: a cell that its
    /// family's garbage collection rule lets go is gone at once, where the service may still return it for
    /// days; regular expressions have no Unicode classes; there are no `HyperLogLog++` aggregates, no SQL, no
    /// backups, views and change streams.
    #[must_use]
    pub fn embedded() -> Self {
        Self::builder().embedded()
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
            Environment::Nothing => {
                tracing::warn!(
                    "the environment names no Bigtable; using the embedded one, whose tables are lost with this process"
                );
                Ok(Self::embedded())
            }
            named => Self::builder().named(named).await,
        }
    }
}

impl ClientBuilder {
    /// A client of a new, empty Bigtable inside this process, as [`Client::embedded`].
    #[must_use]
    pub fn embedded(self) -> Client {
        self.embedded_in(&Bigtable::in_memory())
    }

    /// A client of a Bigtable inside this process, which other clients may share.
    #[must_use]
    pub fn embedded_in(self, bigtable: &Bigtable) -> Client {
        self.in_process(Arc::new(bigtable.0.clone()))
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
pub struct Bigtable(Servers);

impl Bigtable {
    /// A new, empty one, whose tables live in memory as long as it or a client of it.
    #[must_use]
    pub fn in_memory() -> Self {
        Self(Servers::new(Store::in_memory()))
    }

    /// A client of it.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::builder().embedded_in(self)
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
    data: BigtableServer<data::Data>,
    admin: BigtableTableAdminServer<admin::Admin>,
    faults: Option<Arc<Injector>>,
}

impl Servers {
    fn new(store: Store) -> Self {
        let store = Arc::new(store);
        // A request may say that it has 4 GiB, and is given the room before it comes. The client's own limit is the same,
        // so that it is the one that its users meet.
        Self {
            data: BigtableServer::new(data::Data::new(Arc::clone(&store)))
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(usize::MAX),
            admin: BigtableTableAdminServer::new(admin::Admin::new(store))
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
}

#[cfg(test)]
mod tests;
