//! The Bigtable client: one path for every target.

mod admin;
mod attempts;
mod builder;
mod bulk;
mod call;
mod channels;
mod environment;
mod error;
mod failure;
mod filter;
mod gate;
mod headers;
mod merge;
mod operation;
mod raw;
mod read;
mod sample;
mod settings;
mod streams;
mod target;
mod transport;
mod write;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tonic::metadata::{AsciiMetadataValue, MetadataMap};

pub(crate) use admin::FamilySpec;
pub use builder::ClientBuilder;
pub use bulk::{FailedWrite, RawWriter, WriteErrors, WriterSettings};
use channels::Channels;
pub use error::Error;
use gate::{Gate, Pass};
use operation::Operation;
pub use raw::RawTable;
pub use read::{ReadRows, RowStream};
pub use settings::{Backoff, CallSettings, Settings};
pub(crate) use streams::{Page, PageRows, PageSize, Streams};
pub use target::Target;
pub(crate) use write::{Batch, Entry};

#[cfg(feature = "embedded")]
pub(crate) use environment::Environment;
#[cfg(not(feature = "embedded"))]
use environment::Environment;
#[cfg(feature = "embedded")]
pub(crate) use headers::FEATURES;
#[cfg(feature = "embedded")]
pub(crate) use transport::{BoxFuture, InProcess, MAX_MESSAGE_BYTES};

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
/// A clone is cheap and shares everything with the client that it was cloned from. The connections of a
/// client belong to the tokio runtime in which the client was made. Operations run in any that has its timers enabled,
/// as those of `#[tokio::main]` have.
///
/// An operation that fails for a reason that passes is tried again, on another connection where there is one, for as
/// long as its [`Settings`] say; a scan goes on behind the last row that came. What may not be done twice is tried
/// again only where it cannot have reached the server.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    settings: Arc<Settings>,
    /// Leave to go on after the client is closed, for what had begun before.
    pass: Option<Arc<Pass>>,
}

struct Inner {
    channels: Channels,
    gate: Arc<Gate>,
    target: Target,
    /// `projects/…/instances/…`.
    instance: String,
    app_profile: String,
    features: AsciiMetadataValue,
    /// Those that scans share, where there is a connection.
    streams: Option<Streams>,
}

impl Client {
    /// A client that is made step by step: with another app profile, with more connections, with other settings.
    #[must_use]
    pub fn builder() -> ClientBuilder {
        ClientBuilder::new()
    }

    /// A client of the emulator that listens at `host`, written `host:port`.
    ///
    /// Tables are in the instance `local` of the project `keyderive`. The connection is made at its
    /// first use, so an emulator that does not run is an error of the first operation.
    ///
    /// # Errors
    ///
    /// When `host` is not a host and a port, or no tokio runtime is running.
    pub async fn emulator(host: impl Into<String>) -> Result<Self, Error> {
        Self::builder().emulator(host).await
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
        Self::builder().from_env().await
    }

    /// The same client, with other settings: for one kind of work, or for one call.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # async fn sample(client: keyderive::Client) {
    /// let hasty = client.with(|settings| settings.each(|call| call.total_timeout = Duration::from_secs(1)));
    /// # }
    /// ```
    ///
    /// The two share their connections. The settings are those of tables that are made from it.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::clone(&self.settings);
        change(&mut settings);
        Self { settings: Arc::new(settings), ..self.clone() }
    }

    /// How long and how often operations are tried.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Closes the client and all its clones: from now on, every operation that has not begun fails, with an error
    /// that [`is_closed`](Error::is_closed). What has begun goes on; the future is ready when all of it has ended.
    ///
    /// A scan has begun when its stream is made, and has ended when the stream has, or is dropped.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        self.inner.gate.close()
    }

    /// Where the tables of this client are.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.inner.target
    }

    /// Leave to run an operation.
    fn admit(&self, operation: &Operation) -> Result<Arc<Pass>, Error> {
        let pass = self.pass.clone().or_else(|| self.inner.gate.enter().map(Arc::new));
        pass.ok_or_else(|| Error::closed(operation))
    }

    /// The same client, which may go on after it is closed if it is not yet.
    pub(crate) fn entered(self) -> Self {
        let pass = self.pass.clone().or_else(|| self.inner.gate.enter().map(Arc::new));
        Self { pass, ..self }
    }

    /// Adds to a request what says who asks.
    async fn authorize(&self, _: &Operation, _: &mut MetadataMap) -> Result<(), Error> {
        Ok(())
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

    fn channels(&self) -> &Channels {
        &self.inner.channels
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
        assert!(error.to_string().contains(", at the emulator at 127.0.0.1:1; given up after "), "{error}");
        assert!(error.to_string().ends_with("since nothing has ever answered there"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }

    #[tokio::test]
    async fn an_instance_of_the_cloud_is_an_error_for_now() {
        let cloud = Environment::Cloud { project: "p".to_owned(), instance: "i".to_owned() };
        let error = Client::builder().named(cloud).await.unwrap_err();
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
