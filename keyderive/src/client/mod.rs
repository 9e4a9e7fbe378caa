//! The Bigtable client: one path for every target.

mod admin;
mod call;
mod environment;
mod error;
mod filter;
mod headers;
mod merge;
mod read;
mod sample;
mod streams;
mod transport;
mod write;

use std::fmt;
use std::sync::Arc;

use tonic::metadata::AsciiMetadataValue;

pub(crate) use admin::FamilySpec;
use environment::{DEFAULT_INSTANCE, DEFAULT_PROJECT};
pub use error::Error;
pub(crate) use read::{ReadRows, RowStream};
pub(crate) use streams::{Page, Streams};
use transport::Transport;

#[cfg(feature = "embedded")]
pub(crate) use environment::Environment;
#[cfg(not(feature = "embedded"))]
use environment::Environment;
#[cfg(feature = "embedded")]
pub(crate) use headers::FEATURES;
#[cfg(feature = "embedded")]
pub(crate) use transport::{BoxFuture, InProcess};

/// A client of one Bigtable instance: the embedded one, or an emulator's.
///
/// ```
/// # #[cfg(feature = "embedded")]
/// # async fn sample() -> Result<(), keyderive::Error> {
/// use keyderive::Client;
///
/// let client = Client::from_env_or_embedded().await?;
/// println!("tables are in the {}", client.target());
/// # Ok(())
/// # }
/// ```
///
/// A clone is cheap and shares everything with the client that it was cloned from. The connection of a
/// client belongs to the tokio runtime in which the client was made.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    transport: Transport,
    target: Target,
    /// `projects/…/instances/…`.
    instance: String,
    app_profile: String,
    features: AsciiMetadataValue,
    /// Those that scans share, where there is a connection.
    streams: Option<Streams>,
}

impl Client {
    /// A client of the emulator that listens at `host`, written `host:port`.
    ///
    /// Tables are in the instance `local` of the project `keyderive`. The connection is made at its
    /// first use, so an emulator that does not run is an error of the first operation.
    ///
    /// # Errors
    ///
    /// When `host` is not a host and a port, or no tokio runtime is running.
    pub async fn emulator(host: impl Into<String>) -> Result<Self, Error> {
        Self::emulator_instance(&host.into(), DEFAULT_PROJECT, DEFAULT_INSTANCE)
    }

    /// A client of the Bigtable that the environment names.
    ///
    /// `BIGTABLE_EMULATOR_HOST` names an emulator by `host:port`; its project and instance are those of
    /// `GOOGLE_CLOUD_PROJECT` and `BIGTABLE_INSTANCE`, or `keyderive` and `local` where these are not set.
    /// Without an emulator the two variables name an instance of the cloud, which this release cannot
    /// reach yet. An empty variable counts as not set.
    ///
    /// # Errors
    ///
    /// When the environment names neither an emulator nor an instance, an instance without its project,
    /// or one of the cloud; and as [`emulator`](Self::emulator).
    pub async fn from_env() -> Result<Self, Error> {
        match Environment::decide(|name| std::env::var_os(name))? {
            Environment::Nothing => Err(environment::nothing_named()),
            named => Self::named(named),
        }
    }

    /// A client of what an environment names.
    pub(crate) fn named(environment: Environment) -> Result<Self, Error> {
        match environment {
            Environment::Emulator { host, project, instance } => {
                Self::emulator_instance(&host, &project, &instance)
            }
            Environment::Cloud { project, instance } => Err(environment::no_cloud(&project, &instance)),
            Environment::Nothing => Err(environment::nothing_named()),
        }
    }

    fn emulator_instance(host: &str, project: &str, instance: &str) -> Result<Self, Error> {
        let transport = Transport::plaintext(host)?;
        Ok(Self::new(transport, Target(Place::Emulator(host.to_owned())), project, instance))
    }

    /// A client of servers in this process.
    #[cfg(feature = "embedded")]
    pub(crate) fn in_process(servers: Arc<dyn InProcess>) -> Self {
        Self::new(Transport::InProcess(servers), Target(Place::Embedded), DEFAULT_PROJECT, DEFAULT_INSTANCE)
    }

    fn new(transport: Transport, target: Target, project: &str, instance: &str) -> Self {
        Self {
            inner: Arc::new(Inner {
                streams: Streams::of(&transport),
                transport,
                target,
                instance: format!("projects/{project}/instances/{instance}"),
                app_profile: String::new(),
                features: headers::features(),
            }),
        }
    }

    /// Where the tables of this client are.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.inner.target
    }

    fn instance_name(&self) -> &str {
        &self.inner.instance
    }

    fn table_name(&self, table: &str) -> String {
        format!("{}/tables/{table}", self.inner.instance)
    }

    fn app_profile(&self) -> &str {
        &self.inner.app_profile
    }

    fn features(&self) -> &AsciiMetadataValue {
        &self.inner.features
    }

    fn transport(&self) -> &Transport {
        &self.inner.transport
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

/// Where the tables of a [`Client`] are. Its text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(Place);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    #[cfg(feature = "embedded")]
    Embedded,
    Emulator(String),
}

impl Target {
    #[cfg(test)]
    fn for_test() -> Self {
        Self(Place::Emulator("127.0.0.1:1".into()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Place::Embedded => f.write_str("embedded Bigtable (in memory)"),
            Place::Emulator(host) => write!(f, "emulator at {host}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "embedded")]
    mod scripted;

    use super::*;

    #[tokio::test]
    async fn an_emulator_that_does_not_run_is_unavailable() {
        let client = Client::emulator("127.0.0.1:1").await.unwrap();
        assert_eq!(client.target().to_string(), "emulator at 127.0.0.1:1");
        let error = client.get_table("events").await.unwrap_err();
        assert!(error.is_unavailable(), "{error}");
        assert!(error.to_string().starts_with("GetTable on table `events` failed: UNAVAILABLE: "), "{error}");
        assert!(error.to_string().ends_with(", at the emulator at 127.0.0.1:1"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }

    #[tokio::test]
    async fn an_instance_of_the_cloud_is_an_error_for_now() {
        let cloud = Environment::Cloud { project: "p".to_owned(), instance: "i".to_owned() };
        let error = Client::named(cloud).unwrap_err();
        assert!(
            error.is_configuration() && error.to_string().contains("instance `i` of project `p`"),
            "{error}"
        );
    }

    #[test]
    fn a_client_is_shared_freely() {
        fn check<T: Clone + Send + Sync + 'static>() {}
        check::<Client>();
    }
}
