//! The Bigtable client: one path for every target.
//!
//! # Traces and metrics
//!
//! Each operation is a span `bigtable` of the `tracing` crate, at the level info; a scan over several buckets is one for each
//! request. Row keys and values are never logged at info or above.
//!
//! | field | |
//! |---|---|
//! | `operation` | the RPC: `ReadRows`, `MutateRow`, `CreateTable` and so on |
//! | `table` | the table's name |
//! | `bucket` | the salt bucket that a scan reads |
//! | `attempts` | how many attempts it took |
//! | `rows` | how many rows were read, or sent |
//! | `bytes` | the size of the messages that were read, or sent |
//! | `code` | how it ended: `OK`, the code of its error, or `CANCELLED` where it was dropped before its end; of many rows, the code of the first that failed |
//!
//! A failed attempt is an event at the level debug, with the server's own message, which may name a row. Warnings are logged
//! for a connection that is used although priming it failed, one that could not be renewed, and one that has gone silent; for
//! operations that have been retried for some seconds, at most every 30 s; for failures of a dropped writer; once for a table
//! whose layout cannot be checked before its first request; for cells of the future that are read, at most every 30 s.
//!
//! With the feature `metrics`, the recorder of the `metrics` crate that the program installs receives:
//!
//! | metric | kind | labels | |
//! |---|---|---|---|
//! | `keyderive.operation.seconds` | histogram | `operation`, `table`, `code` | how long operations took, with all attempts and pauses |
//! | `keyderive.attempts` | counter | `operation`, `table`, `code` | attempts, by how each ended |
//! | `keyderive.rows` | counter | `operation`, `table` | rows that came, or were sent |
//! | `keyderive.bytes` | counter | `operation`, `table` | bytes of the messages that brought rows, or were sent |
//! | `keyderive.throttle.seconds` | histogram | `table` | how long writes waited for the [server's rate](ClientBuilder::throttle) |
//! | `keyderive.layout.unchecked` | counter | `table`, `code` | times that the layout of a table could not be checked, since the admin service refused or did not answer |
//! | `keyderive.future_cells` | counter | `table` | cells that were read whose time was more than a minute in the future, which hide what is written to their columns |
//! | `keyderive.channel.refreshes` | counter | `code` | connections that were to be [renewed](ClientBuilder::refresh_channels_after): `OK`, or `UNAVAILABLE` where the old one stayed |
//!
//! The label `table` is the table's name, and empty for what is about no table, as `PingAndWarm`.

mod address;
mod admin;
mod attempts;
mod builder;
mod bulk;
mod call;
mod channels;
#[cfg(feature = "cloud")]
mod cloud;
mod cookies;
mod credentials;
mod dial;
mod environment;
mod error;
mod failure;
mod filter;
#[cfg(feature = "cloud")]
mod google;
mod headers;
mod merge;
mod observe;
mod operation;
mod protobuf;
mod raw;
mod read;
mod refresh;
mod runtime;
mod sample;
mod settings;
mod shutdown;
mod streams;
mod target;
mod throttle;
mod transport;
mod write;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tonic::metadata::AsciiMetadataValue;

use admin::InfoCache;
pub(crate) use admin::NewTable;
pub use admin::{Aggregate, Family, FamilyChange, GcRule, TableInfo, TableSchema};
pub use builder::ClientBuilder;
#[doc(hidden)]
pub use builder::connected_by;
pub use bulk::{FailedWrite, RawWriter, WriteErrors, WriterSettings};
use channels::{Channels, LazyPool};
use credentials::Authorizer;
pub use credentials::{AccessToken, Credentials, CredentialsError};
pub use error::{Error, ErrorKind};
pub(crate) use filter::check as check_filter;
use operation::Operation;
pub use raw::RawTable;
pub(crate) use read::RowCursor;
pub use read::{ReadRows, RowStream};
use refresh::Refreshing;
pub use settings::{Backoff, CallSettings, Settings};
pub(crate) use shutdown::StreamGuard;
use shutdown::{InFlightGuard, Shutdown};
pub(crate) use streams::{StreamBudget, is_high_fan_out};
pub use target::Target;
use throttle::Throttle;
pub(crate) use write::{Batch, Entries, Entry, EntryMeta, Mutations, OwnTime, REQUEST_BYTES};

#[cfg(feature = "embedded")]
pub(crate) use transport::{BoxFuture, InProcess};

/// A client of one Bigtable instance: of the cloud, an emulator's, or the embedded one.
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
/// A clone is cheap and shares everything with the client that it was cloned from. The connections of a
/// client belong to the tokio runtime in which the client was made. Operations run in any that has its timers enabled,
/// as those of `#[tokio::main]` have.
///
/// Transient failures are retried with exponential backoff, on another connection if there is one, for as long as the
/// [`Settings`] of the operation allow. A scan resumes after the last row it delivered. A write that is not idempotent is
/// retried only if it was not sent, or the server rejected it.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    settings: Arc<Settings>,
    /// Leave to go on after the client is closed, for what had begun before.
    pass: Option<Arc<InFlightGuard>>,
}

struct Inner {
    /// To the data service.
    channels: Arc<Channels>,
    /// The same, for scans with many streams side by side.
    small_windows: Option<LazyPool>,
    /// To the admin service.
    admin: Arc<Channels>,
    shutdown: Arc<Shutdown>,
    target: Target,
    /// `projects/…/instances/…`.
    instance: String,
    app_profile: String,
    features: AsciiMetadataValue,
    /// Those that scans share, where there is a connection.
    streams: Option<StreamBudget>,
    credentials: Option<Authorizer>,
    throttle: Option<Throttle>,
    /// What tables were when they were first read.
    infos: InfoCache,
    /// Of each pool that is renewed.
    _refreshing: Vec<Refreshing>,
}

impl Client {
    /// A client that is made step by step: with another app profile, with more connections, with other settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::new()
    }

    /// A client of the Bigtable at `address`, the form for arguments and configuration.
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
    /// | `bigtable://project/instance?app_profile=name` | an instance of Google Cloud, by an app profile where one is named |
    /// | `emulator://host:port/project/instance` | an emulator; project `keyderive` and instance `local` where none are named |
    /// | `embedded:` | a new one in the memory of this process |
    /// | `embedded:path` | one in a file |
    ///
    /// The cloud needs the feature `cloud`, and an embedded one the feature `embedded`.
    ///
    /// # Errors
    /// [`is_misconfiguration`](Error::is_misconfiguration) when it is no such address, or needs a feature that is not
    /// enabled; else as `cloud`, [`emulator`](Self::emulator) and `embedded_at`.
    ///
    /// # Cancel safety
    /// Dropped before it is done, connections are closed; a file may have been created.
    pub async fn connect(address: &str) -> Result<Self, Error> {
        Self::builder().connect(address).await
    }

    /// A client of the emulator that listens at `host`, written `host:port`.
    ///
    /// Tables are in the instance `local` of the project `keyderive`. It waits up to 3 s for an answer, since an emulator
    /// may be starting.
    ///
    /// # Errors
    ///
    /// [`is_unavailable`](Error::is_unavailable) when no emulator answers there;
    /// [`is_misconfiguration`](Error::is_misconfiguration) when `host` is not a host and a port, or no tokio runtime is
    /// running.
    pub async fn emulator(host: impl Into<String>) -> Result<Self, Error> {
        Self::builder().emulator(host).await
    }

    /// A client of an instance of Google Cloud, by its project and its name.
    ///
    /// It shows the application-default credentials of the environment, unless it is made by a
    /// [`builder`](Self::builder) that was given others.
    ///
    /// # Errors
    ///
    /// When there are no credentials, of which [`is_missing_credentials`](Error::is_missing_credentials) tells, at once or after
    /// 10 seconds; when no tokio runtime is running.
    #[cfg(feature = "cloud")]
    pub async fn cloud(project: impl Into<String>, instance: impl Into<String>) -> Result<Self, Error> {
        Self::builder().cloud(project, instance).await
    }

    /// A client of the Bigtable that the environment names.
    ///
    /// `BIGTABLE_EMULATOR_HOST` names an emulator by `host:port`; its project and instance are those of
    /// `GOOGLE_CLOUD_PROJECT` and `BIGTABLE_INSTANCE`, or `keyderive` and `local` where these are not set.
    /// Without an emulator the two variables name an instance of the cloud. An empty variable counts as not set. What they
    /// name is logged at the level info.
    ///
    /// # Errors
    ///
    /// When the environment names neither an emulator nor an instance, or an instance without its project; and as
    /// [`connect`](Self::connect).
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
    /// that [`is_client_closed`](Error::is_client_closed). What has begun goes on; the future is ready when all of it has ended. Drop the
    /// streams that are not read to their ends before, since each may hold it up for 10 s.
    ///
    /// A call of many requests, as a load, `put_all` or `delete_rows`, ends at its next request: a load with a
    /// [checkpoint](crate::load::LoadError::checkpoint).
    ///
    /// A scan has begun when its stream is made. It has ended when the stream has given its last row, the end or an
    /// error, or is dropped. A stream that is kept and that nobody polls can do neither: when it has not been polled for
    /// 10 s while `close` is awaited, it is given up. It then holds nothing up, and fails with `is_client_closed` if it is
    /// polled after all. A row that a [writer](RawWriter) has taken has begun too: it is sent at once, and waited for.
    ///
    /// The future of another operation that is kept and not polled holds `close` up: drop it.
    ///
    /// # Cancel safety
    /// The client is closed by the call, before the future is polled. A future that is dropped waits no longer, and
    /// changes nothing else; another call waits again.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        self.inner.shutdown.close()
    }

    /// Where the tables of this client are.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.inner.target
    }

    /// Leave to run an operation.
    fn admit(&self, operation: &Operation) -> Result<Arc<InFlightGuard>, Error> {
        self.pass_if_open().ok_or_else(|| Error::closed(operation))
    }

    /// Leave to go on after the client is closed, if it is not yet.
    fn pass_if_open(&self) -> Option<Arc<InFlightGuard>> {
        self.pass.clone().or_else(|| self.inner.shutdown.enter())
    }

    /// The same client, which may go on after it is closed if it is not yet.
    pub(crate) fn entered(self) -> Self {
        let pass = self.pass_if_open();
        Self { pass, ..self }
    }

    /// The same client for a stream, which goes on when the client is closed meanwhile, and the stream's leave to.
    pub(crate) fn streaming(&self) -> (Self, StreamGuard) {
        let own = match self.pass {
            Some(_) => StreamGuard::default(),
            None => StreamGuard::new(self.inner.shutdown.enter_stream()),
        };
        (self.passing(own.pass().or_else(|| self.pass.clone())), own)
    }

    /// The same client, which may do what the pass is leave for.
    fn passing(&self, pass: Option<Arc<InFlightGuard>>) -> Self {
        Self { pass, ..self.clone() }
    }

    /// What says who asks.
    fn credentials(&self) -> Option<&Authorizer> {
        self.inner.credentials.as_ref()
    }

    /// What holds writes of many rows to the server's rate.
    fn throttle(&self) -> Option<&Throttle> {
        self.inner.throttle.as_ref()
    }

    fn instance_name(&self) -> &str {
        &self.inner.instance
    }

    /// The name by which the service knows a table.
    pub(crate) fn table_name(&self, table: &str) -> String {
        format!("{}/tables/{table}", self.inner.instance)
    }

    /// What tells a table from every other one that has had its name, in this Bigtable or in another: a number that an
    /// embedded one gives it when it is created. A server says nothing of the kind.
    pub(crate) fn table_id(&self, table: &str) -> Option<u64> {
        #[cfg(feature = "embedded")]
        if let Some(servers) = self.inner.channels.in_process() {
            return servers.table_id(&self.table_name(table));
        }
        let _ = table;
        None
    }

    fn app_profile(&self) -> &str {
        &self.inner.app_profile
    }

    fn features(&self) -> &AsciiMetadataValue {
        &self.inner.features
    }

    fn channels(&self, operation: &Operation) -> &Arc<Channels> {
        let Inner { channels, small_windows, admin, .. } = &*self.inner;
        match small_windows {
            _ if operation.is_admin() => admin,
            Some(small_windows) if operation.is_high_fan_out() => small_windows.channels(),
            _ => channels,
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
    mod observed;
    #[cfg(feature = "embedded")]
    mod scripted;
    #[cfg(feature = "embedded")]
    mod throttled;
    #[cfg(all(feature = "cloud", feature = "embedded"))]
    mod tokens;

    use super::*;

    #[tokio::test]
    #[cfg(not(feature = "cloud"))]
    async fn without_its_feature_the_cloud_is_an_error_that_names_it() {
        let error = Client::connect("bigtable://p/i").await.unwrap_err();
        assert!(error.is_misconfiguration());
        assert!(error.to_string().starts_with("the instance `i` of project `p` is in the cloud"), "{error}");
        assert!(error.to_string().contains("feature `cloud`"), "{error}");
    }

    #[test]
    fn a_client_is_shared_freely() {
        fn check<T: Clone + Send + Sync + 'static>() {}
        check::<Client>();
    }
}
