//! How a client is made: the builder, the addresses of Bigtables, and the environment.

use std::ffi::OsString;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
#[cfg(feature = "cloud")]
use tokio::time::{sleep, timeout};

use super::budget::{HedgeBudget, LatencyP95, RetryBudget};
use super::connections::{
    Clock, Connector, Dial, Dialer, LazyPool, Pool, PoolSize, REFRESH_AFTER, Transport, Upkeep,
    check_emulator, prime,
};
use super::credentials::{Authorizer, Credentials};
#[cfg(feature = "cloud")]
use super::credentials::{CredentialsError, application_default};
use super::heat::Heat;
use super::shutdown::Shutdown;
use super::target::{Target, TargetKind};
use super::throttle::Throttle;
use super::{Client, Error, Inner, Settings, Statements, StreamBudget, observe, operation};

/// The cloud's data service and admin service.
const DATA_ENDPOINT: &str = "https://bigtable.googleapis.com";
const ADMIN_ENDPOINT: &str = "https://bigtableadmin.googleapis.com";

/// How long the first token may take. Outside of Google Cloud, the request for the machine's service account goes to an
/// address that may never answer.
const FIRST_TOKEN_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before the first token is requested again, after a transient failure.
#[cfg(feature = "cloud")]
const FIRST_TOKEN_PAUSE: Duration = Duration::from_millis(500);

const ADDRESS: &str = "KEYDERIVE_ADDRESS";
const EMULATOR_HOST: &str = "BIGTABLE_EMULATOR_HOST";
const PROJECT: &str = "GOOGLE_CLOUD_PROJECT";
const INSTANCE: &str = "BIGTABLE_INSTANCE";

/// The project and the instance of an emulator if nothing names them.
const DEFAULT_PROJECT: &str = "keyderive";
const DEFAULT_INSTANCE: &str = "local";

/// Configures a [`Client`] and connects it.
///
/// ```
/// use keyderive::Client;
///
/// # async fn sample() -> Result<(), keyderive::Error> {
/// let client = Client::builder().instance("my-project", "my-instance").app_profile("batch").from_env().await?;
/// # Ok(())
/// # }
/// ```
///
/// | option | default in the cloud | default at an emulator |
/// |---|---|---|
/// | [`instance`](Self::instance) | the one that the environment names | the same, or project `keyderive` and instance `local` |
/// | [`app_profile`](Self::app_profile) | the instance's default profile | none |
/// | [`settings`](Self::settings) | see [`Settings`] | the same |
/// | [`connections`](Self::connections) | 4 to 64 | 1 to 16 |
/// | [`prime`](Self::prime) | yes | no |
/// | [`refresh_connections_after`](Self::refresh_connections_after) | 45 min, and up to 5 min more | never |
/// | [`throttle`](Self::throttle) | no | no |
/// | `record_heat` | no | no |
/// | [`credentials`](Self::credentials) | the application-default credentials | always none |
/// | [`endpoint`](Self::endpoint) | `https://bigtable.googleapis.com` | always its own address |
/// | `root_certificates` | Mozilla's alone | always none |
/// | [`admin_endpoint`](Self::admin_endpoint) | `https://bigtableadmin.googleapis.com`, or the endpoint that is set | always its own address |
///
/// These limits are fixed: connecting times out after 10 s; a keepalive ping goes out every 30 s and times out after 10 s;
/// the flow-control window is 1 MiB for a stream and 2 GiB for a connection; a message has at most 256 MiB. Scans with
/// more than 8 streams at a time, such as those over more than 8 buckets, use connections of their own, as many as
/// `connections` says at least, with a window of 64 KiB for each stream; the client makes them when it needs them. An embedded
/// Bigtable is called in this process, which counts as one connection, and uses only the first three options and `record_heat`.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it connects"]
pub struct ClientBuilder {
    instance: Option<(String, String)>,
    app_profile: String,
    settings: Settings,
    connections: Option<PoolSize>,
    prime: Option<bool>,
    refresh_after: Option<Duration>,
    throttle: bool,
    #[cfg(feature = "heat")]
    recording: Option<crate::heat::Recording>,
    credentials: Option<Authorizer>,
    endpoint: Option<String>,
    admin_endpoint: Option<String>,
    /// In PEM.
    #[cfg(feature = "cloud")]
    root_certificates: Vec<u8>,
}

impl ClientBuilder {
    pub(super) fn new() -> Self {
        Self {
            instance: None,
            app_profile: String::new(),
            settings: Settings::default(),
            connections: None,
            prime: None,
            refresh_after: None,
            throttle: false,
            #[cfg(feature = "heat")]
            recording: None,
            credentials: None,
            endpoint: None,
            admin_endpoint: None,
            #[cfg(feature = "cloud")]
            root_certificates: Vec::new(),
        }
    }

    /// The ids of the project and the instance of the tables. Connecting fails for an invalid id; the embedded Bigtable takes
    /// any.
    pub fn instance(self, project: impl Into<String>, instance: impl Into<String>) -> Self {
        Self { instance: Some((project.into(), instance.into())), ..self }
    }

    /// The app profile that the service routes requests by.
    pub fn app_profile(self, name: impl Into<String>) -> Self {
        Self { app_profile: name.into(), ..self }
    }

    /// Changes timeouts and retries, as [`Client::with`] does.
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// How many connections to spread requests over: a range, or a fixed number.
    ///
    /// ```
    /// # use keyderive::Client;
    /// let few = Client::builder().connections(2..=8);
    /// let fixed = Client::builder().connections(4);
    /// # drop((few, fixed));
    /// ```
    ///
    /// One carries as many requests at a time as the server allows: about 100 in the cloud. The client adds a connection when each has 50
    /// requests in flight, before requests have to wait, and every minute removes those that the load no longer needs, once their requests
    /// have ended. 0 counts as 1.
    pub fn connections(self, count: impl Into<ConnectionCount>) -> Self {
        Self { connections: Some(count.into().0), ..self }
    }

    /// Whether to prime each connection before it carries requests: the client connects, and asks the server to
    /// prepare for it (`PingAndWarm`). Priming takes at most the time of [`Settings::ping_and_warm`]. If it fails,
    /// the client logs a warning and uses the connection anyway.
    pub fn prime(self, prime: bool) -> Self {
        Self { prime: Some(prime), ..self }
    }

    /// The age at which a connection is refreshed, plus a random delay of up to a ninth, so that not all are refreshed at
    /// once. Requests in flight finish on the old connection; new ones take the new one. Ages below a second count as a
    /// second.
    ///
    /// Google's front ends close a connection after an hour, and its requests in flight fail then.
    pub fn refresh_connections_after(self, age: Duration) -> Self {
        Self { refresh_after: Some(age), ..self }
    }

    /// Whether writes of many rows are throttled to the rate that the server asks for, so that a bulk load leaves room for
    /// other work. The rate counts requests, is shared by all these writes, and applies only while the server asks for one.
    pub fn throttle(self, throttle: bool) -> Self {
        Self { throttle, ..self }
    }

    /// Records what the client reads and writes, by table and range of keys: a sample, in bounded memory. [`Client::heat`] returns it.
    ///
    /// ```
    /// use keyderive::Client;
    /// use keyderive::heat::Recording;
    ///
    /// let builder = Client::builder().record_heat(Recording::new()); // about 1000 operations a second, of the last hour
    /// # drop(builder);
    /// ```
    ///
    /// | request | is counted as |
    /// |---|---|
    /// | a read by keys | a read of each key |
    /// | a scan, of one request for each bucket | a read of each range of the request, at the first key of the range, also in descending order |
    /// | a write, in a request of its own or of many rows | a write of each row |
    /// | a write with a condition, an increment | a write, although the server reads the row, too |
    /// | a query in SQL | nothing: the client does not know its rows |
    ///
    /// Bytes count for received rows, each at its key, and for sent mutations. So a scan counts as a few reads, and as bytes
    /// wherever it reads: a server reads a row of a scan for a fraction of what a read by its key costs.
    ///
    /// It counts what a tablet sees: every attempt that is sent, with retries, hedges, calls that fail, and calls whose future is dropped; no
    /// call that fails before it is sent. It also counts what the client reads of its own, such as the [registry](Client::registered_layouts).
    /// Clones and tables of the client share one recording.
    ///
    /// Without it nothing is recorded, and nothing is paid. With it, a request that is not drawn for the sample costs a random number and takes
    /// no lock; `hot-paths` of `tests/bench` measures `get` and `put` with and without it.
    #[cfg(feature = "heat")]
    pub fn record_heat(self, recording: crate::heat::Recording) -> Self {
        Self { recording: Some(recording), ..self }
    }

    /// The source of access tokens for the cloud. It [caches](Credentials) its token.
    pub fn credentials(self, credentials: impl Credentials) -> Self {
        Self { credentials: Some(Authorizer::new(credentials)), ..self }
    }

    /// The cloud's data service, as a URI: with the scheme `https`, a regional or private endpoint; with `http`, a server on
    /// this machine or one that needs no token.
    pub fn endpoint(self, uri: impl Into<String>) -> Self {
        Self { endpoint: Some(uri.into()), ..self }
    }

    /// The cloud's admin service, which creates and deletes tables, as a URI.
    pub fn admin_endpoint(self, uri: impl Into<String>) -> Self {
        Self { admin_endpoint: Some(uri.into()), ..self }
    }

    /// Trusts further certificate authorities, beside Mozilla's, for connections to [endpoints](Self::endpoint) with `https`:
    /// certificates in PEM. For a proxy that intercepts TLS, or a private endpoint. Google's own crate, which fetches tokens, does
    /// not use them: let these requests bypass the proxy, or set [`credentials`](Self::credentials).
    #[cfg(feature = "cloud")]
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.root_certificates.extend_from_slice(pem.as_ref());
        self.root_certificates.push(b'\n');
        self
    }

    /// Connects to the emulator at `host`, in the form `host:port`.
    ///
    /// ```no_run
    /// # async fn sample() -> Result<(), keyderive::Error> {
    /// use keyderive::Client;
    ///
    /// let client = Client::builder().instance("shop", "orders").emulator("localhost:8086").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Waits up to 3 s for an answer, since an emulator may be starting.
    ///
    /// # Errors
    /// [`is_unavailable`](Error::is_unavailable) when no emulator answers;
    /// [`Misconfiguration`](crate::ErrorKind::Misconfiguration) when `host` is not a host and a port, the project or the instance
    /// is not an id, or no tokio runtime is running.
    ///
    /// # Cancel safety
    /// A dropped future closes its connections.
    pub async fn emulator(self, host: impl Into<String>) -> Result<Client, Error> {
        let host = host.into();
        let dialer = Dialer::emulator(&host)?;
        if let Some((project, instance)) = &self.instance {
            check_instance(project, instance)?;
        }
        check_emulator(&host).await?;
        Ok(self.open(ConnectOptions::emulator(&host, dialer)).await)
    }

    /// Connects to an instance of Google Cloud, as [`Client::cloud`].
    ///
    /// ```no_run
    /// # async fn sample() -> Result<(), keyderive::Error> {
    /// use keyderive::Client;
    ///
    /// let client = Client::builder().app_profile("batch").cloud("shop", "orders").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::cloud`]; when an endpoint is invalid; when an access token would be sent to another machine
    /// unencrypted.
    ///
    /// # Cancel safety
    /// A dropped future closes its connections.
    #[cfg(feature = "cloud")]
    pub async fn cloud(
        self,
        project: impl Into<String>,
        instance: impl Into<String>,
    ) -> Result<Client, Error> {
        let (project, instance) = (project.into(), instance.into());
        check_instance(&project, &instance)?;
        self.instance(project, instance).connect_cloud().await
    }

    /// Connects to the Bigtable at `address`, as [`Client::connect`]. The project, the instance and the app profile of the
    /// address override the builder's.
    ///
    /// # Errors
    /// As [`Client::connect`].
    ///
    /// # Cancel safety
    /// As [`Client::connect`].
    pub async fn connect(self, address: &str) -> Result<Client, Error> {
        self.connect_to(Address::parse(address)?).await
    }

    async fn connect_to(self, address: Address) -> Result<Client, Error> {
        match address {
            #[cfg(feature = "cloud")]
            Address::Cloud { project, instance, app_profile } => {
                let app_profile = app_profile.unwrap_or_else(|| self.app_profile.clone());
                self.app_profile(app_profile).cloud(project, instance).await
            }
            #[cfg(not(feature = "cloud"))]
            Address::Cloud { project, instance, .. } => {
                check_instance(&project, &instance)?;
                Err(Error::configuration(format!(
                    "the instance `{instance}` of project `{project}` is in the cloud, and keyderive was built without \
                     support for it; enable the feature `cloud`, or set `{EMULATOR_HOST}` to use an emulator"
                )))
            }
            Address::Emulator { host, project, instance } => {
                self.instance(project, instance).emulator(host).await
            }
            #[cfg(feature = "embedded")]
            Address::Embedded { path: None } => Ok(self.embedded()),
            #[cfg(feature = "embedded")]
            Address::Embedded { path: Some(path) } => self.embedded_at(path).await,
            #[cfg(not(feature = "embedded"))]
            address @ Address::Embedded { .. } => Err(Error::configuration(format!(
                "`{address}` is an embedded Bigtable, and keyderive was built without it; enable the feature `embedded`"
            ))),
        }
    }

    /// Connects to the Bigtable that the environment names, as [`Client::from_env`]. An [`instance`](Self::instance) of the
    /// builder overrides the environment's.
    ///
    /// # Errors
    /// As [`Client::from_env`].
    ///
    /// # Cancel safety
    /// As [`Client::connect`].
    pub async fn from_env(self) -> Result<Client, Error> {
        let address = self.address_from(|name| std::env::var_os(name))?;
        tracing::info!(%address, "connecting to the Bigtable that the environment names");
        self.connect_to(address).await
    }

    /// The address that environment variables name, with the builder's instance.
    fn address_from(&self, lookup: impl Fn(&str) -> Option<OsString>) -> Result<Address, Error> {
        let address = Address::from_variables(lookup)?;
        Ok(match self.instance.clone() {
            Some((project, instance)) => address.with_instance(project, instance),
            None => address,
        })
    }

    #[cfg(feature = "cloud")]
    async fn connect_cloud(self) -> Result<Client, Error> {
        let roots = &self.root_certificates[..];
        let admin = match (&self.admin_endpoint, &self.endpoint) {
            (Some(uri), _) => Some(Dialer::endpoint(uri, roots)?),
            (None, Some(_)) => None,
            (None, None) => Some(Dialer::endpoint(ADMIN_ENDPOINT, roots)?),
        };
        let data = Dialer::endpoint(self.endpoint.as_deref().unwrap_or(DATA_ENDPOINT), roots)?;
        let credentials = self.authorizer(&data, admin.as_ref()).await?;
        let options = ConnectOptions {
            target: TargetKind::Cloud(data.address().into()),
            runtime: data.runtime().clone(),
            data: Arc::new(data),
            admin: admin.map(|admin| Arc::new(admin) as _),
            credentials,
            clock: Clock::default(),
        };
        Ok(self.open(options).await)
    }

    /// The builder's credentials, or else the environment's; none if the builder sets none and every endpoint is plaintext.
    ///
    /// # Errors
    /// When there is no token, or a token would leave this machine unencrypted.
    #[cfg(feature = "cloud")]
    async fn authorizer(&self, data: &Dialer, admin: Option<&Dialer>) -> Result<Option<Authorizer>, Error> {
        let dialers = || std::iter::once(data).chain(admin);
        let authorizer = match &self.credentials {
            Some(own) => own.clone(),
            None if dialers().all(Dialer::is_plaintext) => return Ok(None),
            None => application_default().map_err(Error::credentials)?,
        };
        if let Some(exposed) = dialers().find(|dialer| dialer.is_exposed()) {
            return Err(Error::configuration(format!(
                "`http://{}` is on another machine, and an access token would be sent to it unencrypted; use `https`",
                exposed.address()
            )));
        }
        first_token(&authorizer).await.map_err(Error::credentials)?;
        Ok(Some(authorizer))
    }

    /// Makes a client and primes its connections.
    pub(super) async fn open(self, options: ConnectOptions) -> Client {
        let (client, to_prime) = self.connected(options);
        prime(&client, &to_prime).await;
        client
    }

    /// A client, and its connections that are yet to be primed.
    fn connected(self, options: ConnectOptions) -> (Client, Vec<Transport>) {
        let ConnectOptions { target, data, admin, runtime, credentials, clock } = options;
        let (size, prime, refresh_after) = match target {
            TargetKind::Cloud(_) => (PoolSize { min: 4, max: 64 }, true, Some(REFRESH_AFTER)),
            _ => (PoolSize { min: 1, max: 16 }, false, None),
        };
        let (size, prime) = (self.connections.unwrap_or(size), self.prime.unwrap_or(prime));
        let refresh_after = self.refresh_after.or(refresh_after);
        let mut upkeep = Vec::new();
        let mut pool = |dialer: Arc<dyn Dial>, size: PoolSize, prime: bool, is_sampled: bool| {
            let pool = Arc::new(Pool::dialed(Arc::clone(&dialer), size));

            let upkept = Upkeep { pool: Arc::clone(&pool), dialer, refresh_after, prime, is_sampled };
            upkeep.push((upkept, runtime.clone()));
            pool
        };
        let small_windows = LazyPool::small_windows(Arc::clone(&data), size.min);
        let data = pool(data, size, prime, cfg!(feature = "metrics"));
        let admin = match admin {
            Some(admin) => pool(admin, PoolSize::fixed(1), false, false),
            None => Arc::clone(&data),
        };
        let transports = data.transports();
        let streams = StreamBudget::of(&transports);
        let small_windows = Some(small_windows);
        let connections = Connections { data, small_windows, admin, streams, upkeep, clock };
        let client = self.client(connections, target, credentials);
        (client, if prime { transports } else { Vec::new() })
    }

    /// A client of servers in this process, which keep their tables in `file` if there is one.
    #[cfg(feature = "embedded")]
    pub(crate) fn in_process(self, servers: Arc<dyn super::InProcess>, file: Option<Arc<str>>) -> Client {
        let clock = {
            let servers = Arc::clone(&servers);
            Clock::by(move || servers.now_micros())
        };
        let data = Arc::new(Pool::new([Transport::InProcess(servers)]));
        let admin = Arc::clone(&data);
        let connections =
            Connections { data, small_windows: None, admin, streams: None, upkeep: Vec::new(), clock };
        self.client(connections, TargetKind::Embedded(file), None)
    }

    fn client(self, connections: Connections, target: TargetKind, credentials: Option<Authorizer>) -> Client {
        #[cfg(feature = "heat")]
        let heat = self.recording.as_ref().map_or_else(Heat::default, Heat::new);
        #[cfg(not(feature = "heat"))]
        let heat = Heat::default();
        let Self { instance, app_profile, settings, throttle, .. } = self;
        let Connections { data, small_windows, admin, streams, upkeep, clock } = connections;
        let default = || (DEFAULT_PROJECT.to_owned(), DEFAULT_INSTANCE.to_owned());
        let (project, instance) = instance.unwrap_or_else(default);
        let settings = Arc::new(settings);
        observe::describe();
        let upkeep_tasks = |client: &Weak<Inner>| {
            let spawn = |(upkeep, runtime): (Upkeep, Handle)| {
                upkeep.spawn(client.clone(), Arc::clone(&settings), &runtime)
            };
            upkeep.into_iter().map(spawn).collect()
        };
        let inner = Arc::new_cyclic(|client| Inner {
            pool: data,
            small_windows,
            admin,
            shutdown: Arc::new(Shutdown::default()),
            honours_tokens: AtomicBool::new(target.honours_tokens()),
            clock,
            target: Target(target),
            instance: format!("projects/{project}/instances/{instance}").into(),
            app_profile,
            features: operation::features(throttle),
            streams,
            credentials,
            throttle: throttle.then(Throttle::default),
            infos: Arc::default(),
            records: Arc::default(),
            layouts: Arc::default(),
            registry_warned: AtomicBool::new(false),
            scan_warnings: Arc::default(),
            heat,
            statements: Statements::default(),
            retry_budget: RetryBudget::default(),
            hedge_budget: HedgeBudget::default(),
            p95: LatencyP95::default(),
            _upkeep: upkeep_tasks(client),
        });
        Client { inner, settings, in_flight: None, deadline: None }
    }
}

/// Waits for the first token, beyond failures that are transient.
#[cfg(feature = "cloud")]
async fn first_token(authorizer: &Authorizer) -> Result<(), CredentialsError> {
    let mut last = None;
    let token = timeout(FIRST_TOKEN_TIMEOUT, async {
        loop {
            match authorizer.headers().await {
                Err(error) if error.is_transient() => last = Some(error),
                outcome => return outcome.map(drop),
            }
            sleep(FIRST_TOKEN_PAUSE).await;
        }
    });
    match token.await {
        Ok(outcome) => outcome,
        Err(_) => Err(last.unwrap_or_else(|| {
            CredentialsError::new(format!("no token came within {FIRST_TOKEN_TIMEOUT:?}"))
        })),
    }
}

/// A client over pipes that `connect` makes in place of sockets, so that tests can pause the clock. Primes no connection.
///
/// # Errors
/// When no tokio runtime is running.
pub fn connected_by(builder: ClientBuilder, connect: impl Connector) -> Result<Client, Error> {
    connected_with(builder, connect, Clock::default())
}

/// As [`connected_by`], with a clock that shows what `now_micros` returns: microseconds since the epoch, in whole milliseconds.
///
/// # Errors
/// As [`connected_by`].
pub fn connected_by_clock(
    builder: ClientBuilder,
    connect: impl Connector,
    now_micros: impl Fn() -> i64 + Send + Sync + 'static,
) -> Result<Client, Error> {
    connected_with(builder, connect, Clock::by(now_micros))
}

fn connected_with(builder: ClientBuilder, connect: impl Connector, clock: Clock) -> Result<Client, Error> {
    let host = "test:1";
    let dialer = Dialer::emulator(host)?.connected_by(connect);
    Ok(builder.connected(ConnectOptions { clock, ..ConnectOptions::emulator(host, dialer) }).0)
}

/// How many connections a client has: see [`ClientBuilder::connections`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionCount(PoolSize);

impl From<usize> for ConnectionCount {
    fn from(count: usize) -> Self {
        Self(PoolSize::fixed(count.max(1)))
    }
}

/// From the least number of connections to the largest.
impl From<RangeInclusive<usize>> for ConnectionCount {
    fn from(count: RangeInclusive<usize>) -> Self {
        let min = (*count.start()).max(1);
        Self(PoolSize { min, max: (*count.end()).max(min) })
    }
}

/// How to connect to a Bigtable.
pub(super) struct ConnectOptions {
    pub(super) target: TargetKind,
    pub(super) data: Arc<dyn Dial>,
    /// How to connect to the admin service, if it has another address.
    pub(super) admin: Option<Arc<dyn Dial>>,
    /// The runtime of the connections.
    pub(super) runtime: Handle,
    pub(super) credentials: Option<Authorizer>,
    pub(super) clock: Clock,
}

impl ConnectOptions {
    fn emulator(host: &str, dialer: Dialer) -> Self {
        Self {
            target: TargetKind::Emulator(host.into()),
            runtime: dialer.runtime().clone(),
            data: Arc::new(dialer),
            admin: None,
            credentials: None,
            clock: Clock::default(),
        }
    }
}

/// The connections of a client.
struct Connections {
    data: Arc<Pool>,
    small_windows: Option<LazyPool>,
    admin: Arc<Pool>,
    streams: Option<StreamBudget>,
    upkeep: Vec<(Upkeep, Handle)>,
    clock: Clock,
}

/// A Bigtable, as an address or the environment names it.
#[derive(Debug, PartialEq, Eq)]
enum Address {
    Cloud { project: String, instance: String, app_profile: Option<String> },
    Emulator { host: String, project: String, instance: String },
    Embedded { path: Option<String> },
}

impl Address {
    /// The Bigtable that the environment names; `lookup` reads a variable.
    fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let variable = |name: &str| variable_text(name, lookup(name));
        if let Some(address) = variable(ADDRESS)? {
            return Self::parse(&address);
        }
        let (project, instance) = (variable(PROJECT)?, variable(INSTANCE)?);
        if let Some(host) = variable(EMULATOR_HOST)? {
            return Ok(Self::Emulator {
                host,
                project: project.unwrap_or_else(|| DEFAULT_PROJECT.to_owned()),
                instance: instance.unwrap_or_else(|| DEFAULT_INSTANCE.to_owned()),
            });
        }
        match (project, instance) {
            (Some(project), Some(instance)) => Ok(Self::Cloud { project, instance, app_profile: None }),
            (None, Some(instance)) => Err(Error::configuration(format!(
                "`{INSTANCE}` names the instance `{instance}`, but `{PROJECT}` names no project; set both"
            ))),
            (project, None) => Err(nothing_named(project.as_deref())),
        }
    }

    fn with_instance(self, project: String, instance: String) -> Self {
        match self {
            Self::Cloud { app_profile, .. } => Self::Cloud { project, instance, app_profile },
            Self::Emulator { host, .. } => Self::Emulator { host, project, instance },
            embedded @ Self::Embedded { .. } => embedded,
        }
    }

    fn parse(address: &str) -> Result<Self, Error> {
        if let Some(path) = address.strip_prefix("embedded:") {
            return Ok(Self::Embedded {
                path: Some(path).filter(|path| !path.is_empty()).map(str::to_owned),
            });
        }
        let parsed = match address.split_once("://") {
            Some(("bigtable", instance)) => parse_cloud(instance),
            Some(("emulator", emulator)) => parse_emulator(emulator),
            _ => None,
        };
        parsed.ok_or_else(|| {
            Error::configuration(format!(
                "`{address}` is no address of a Bigtable; write `bigtable://project/instance`, with `?app_profile=name` \
                 for an app profile, `emulator://host:port/project/instance`, `embedded:` or `embedded:path`"
            ))
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cloud { project, instance, app_profile: None } => {
                write!(f, "bigtable://{project}/{instance}")
            }
            Self::Cloud { project, instance, app_profile: Some(name) } => {
                write!(f, "bigtable://{project}/{instance}?app_profile={name}")
            }
            Self::Emulator { host, project, instance } => write!(f, "emulator://{host}/{project}/{instance}"),
            Self::Embedded { path } => write!(f, "embedded:{}", path.as_deref().unwrap_or_default()),
        }
    }
}

fn parse_cloud(address: &str) -> Option<Address> {
    let (instance, app_profile) = match address.split_once('?') {
        Some((instance, query)) => (instance, Some(query.strip_prefix("app_profile=")?)),
        None => (address, None),
    };
    if app_profile.is_some_and(|name| name.is_empty() || name.contains(['&', '='])) {
        return None;
    }
    let (project, instance) = parse_instance(instance)?;
    Some(Address::Cloud { project, instance, app_profile: app_profile.map(str::to_owned) })
}

fn parse_emulator(address: &str) -> Option<Address> {
    let (host, instance) = address.split_once('/').unwrap_or((address, ""));
    let (project, instance) = match instance {
        "" => (DEFAULT_PROJECT.to_owned(), DEFAULT_INSTANCE.to_owned()),
        instance => parse_instance(instance)?,
    };
    Some(Address::Emulator { host: host.to_owned(), project, instance })
}

fn parse_instance(instance: &str) -> Option<(String, String)> {
    let (project, instance) = instance.split_once('/')?;
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '?']);
    (is_name(project) && is_name(instance)).then(|| (project.to_owned(), instance.to_owned()))
}

/// The text of a variable; an empty one counts as not set.
fn variable_text(name: &str, value: Option<OsString>) -> Result<Option<String>, Error> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    value.into_string().map(Some).map_err(|value| {
        Error::configuration(format!("`{name}` is set to `{}`, which is not UTF-8", value.display()))
    })
}

/// The error for an environment that names nothing, or only a project.
fn nothing_named(project: Option<&str>) -> Error {
    let half = match project {
        Some(project) => format!(", since `{PROJECT}` is `{project}`, but `{INSTANCE}` is not set"),
        None => String::new(),
    };
    Error::configuration(format!(
        "the environment names no Bigtable{half}: set `{ADDRESS}` to an address, `{EMULATOR_HOST}` to an emulator's `host:port`, \
         or `{PROJECT}` and `{INSTANCE}` to an instance of the cloud"
    ))
}

/// Fails if the project or the instance is empty, or a path rather than an id.
fn check_instance(project: &str, instance: &str) -> Result<(), Error> {
    for (what, id) in [("project", project), ("instance", instance)] {
        if id.is_empty() || id.contains(|char: char| char == '/' || char.is_whitespace() || char.is_control())
        {
            return Err(Error::configuration(format!(
                "`{id}` is not a valid {what} id; write the id alone, such as `my-{what}`"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;

    fn parsed(address: &str) -> Address {
        Address::parse(address).unwrap()
    }

    #[test]
    fn an_address_names_one_bigtable() {
        let cloud = |project: &str, app_profile: Option<&str>| Address::Cloud {
            project: project.to_owned(),
            instance: "i".to_owned(),
            app_profile: app_profile.map(str::to_owned),
        };
        assert_eq!(parsed("bigtable://p/i"), cloud("p", None));
        assert_eq!(
            parsed("bigtable://example.com:p/i?app_profile=batch"),
            cloud("example.com:p", Some("batch"))
        );
        let emulator = |host: &str, project: &str, instance: &str| Address::Emulator {
            host: host.to_owned(),
            project: project.to_owned(),
            instance: instance.to_owned(),
        };
        assert_eq!(parsed("emulator://[::1]:8086/p/i"), emulator("[::1]:8086", "p", "i"));
        for short in ["emulator://localhost:8086", "emulator://localhost:8086/"] {
            assert_eq!(parsed(short), emulator("localhost:8086", "keyderive", "local"));
        }
        assert_eq!(parsed("embedded:"), Address::Embedded { path: None });
        let path = |path: &str| Address::Embedded { path: Some(path.to_owned()) };
        assert_eq!(parsed("embedded:/tmp/a b.tables"), path("/tmp/a b.tables"));
        assert_eq!(parsed("embedded:C:\\tables"), path("C:\\tables"));
        for address in [
            "bigtable://p/i?app_profile=a",
            "bigtable://p/i",
            "emulator://h:1/p/i",
            "embedded:",
            "embedded:f",
        ] {
            assert_eq!(parsed(address).to_string(), address);
        }
    }

    #[test]
    fn an_invalid_address_is_an_error_that_lists_the_forms() {
        for address in [
            "",
            "localhost:8086",
            "embedded",
            "bigtable://",
            "bigtable://p",
            "bigtable://p/",
            "bigtable:///i",
            "bigtable://p/i/tables/t",
            "bigtable://p/i?profile=x",
            "bigtable://p/i?app_profile=",
            "bigtable://p/i?app_profile=a&b=c",
            "emulator://localhost:8086/p",
            "emulator://localhost:8086/p/i/j",
            "http://localhost:8086",
        ] {
            let error = Address::parse(address).unwrap_err();
            let text = error.to_string();
            assert!(
                error.kind() == ErrorKind::Misconfiguration
                    && text.starts_with(&format!("`{address}` is no address")),
                "{text}"
            );
            assert!(text.contains("`embedded:path`"), "{text}");
        }
    }

    fn lookup(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    }

    fn from_variables(variables: &[(&str, &str)]) -> Result<Address, Error> {
        Address::from_variables(lookup(variables))
    }

    fn emulator(project: &str, instance: &str) -> Address {
        let (project, instance) = (project.to_owned(), instance.to_owned());
        Address::Emulator { host: "localhost:8086".to_owned(), project, instance }
    }

    #[test]
    fn an_address_takes_precedence() {
        let others = [(EMULATOR_HOST, "localhost:8086"), (PROJECT, "p"), (INSTANCE, "i")];
        let with = |address| from_variables(&[&[(ADDRESS, address)][..], &others].concat());
        assert_eq!(with("embedded:file").unwrap(), Address::Embedded { path: Some("file".to_owned()) });
        assert_eq!(with("").unwrap(), from_variables(&others).unwrap());
        assert!(with("localhost:8086").unwrap_err().to_string().contains("is no address of a Bigtable"));
    }

    #[test]
    fn an_emulator_takes_precedence() {
        assert_eq!(
            from_variables(&[(EMULATOR_HOST, "localhost:8086")]).unwrap(),
            emulator("keyderive", "local")
        );
        let named = [(EMULATOR_HOST, "localhost:8086"), (PROJECT, "p"), (INSTANCE, "i")];
        assert_eq!(from_variables(&named).unwrap(), emulator("p", "i"));
        assert_eq!(
            from_variables(&[(EMULATOR_HOST, "localhost:8086"), (INSTANCE, "i")]).unwrap(),
            emulator("keyderive", "i")
        );
        let of_builder = Client::builder().instance("q", "j").address_from(lookup(&named));
        assert_eq!(of_builder.unwrap(), emulator("q", "j"));
    }

    #[test]
    fn an_instance_needs_its_project() {
        let cloud = Address::Cloud { project: "p".to_owned(), instance: "i".to_owned(), app_profile: None };
        assert_eq!(from_variables(&[(PROJECT, "p"), (INSTANCE, "i")]).unwrap(), cloud);
        let error = from_variables(&[(INSTANCE, "i")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`BIGTABLE_INSTANCE` names the instance `i`, but `GOOGLE_CLOUD_PROJECT` names no project; set both"
        );
    }

    #[test]
    fn a_project_alone_and_empty_variables_name_nothing() {
        for nothing in [&[][..], &[(EMULATOR_HOST, ""), (INSTANCE, "")]] {
            let error = from_variables(nothing).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Misconfiguration, "{error}");
            let text = error.to_string();
            assert!(text.starts_with("the environment names no Bigtable: set `KEYDERIVE_ADDRESS`"), "{text}");
        }
        let text = from_variables(&[(PROJECT, "p")]).unwrap_err().to_string();
        assert!(text.contains("`GOOGLE_CLOUD_PROJECT` is `p`, but `BIGTABLE_INSTANCE` is not set"), "{text}");
    }

    #[test]
    fn a_path_is_not_an_id() {
        check_instance("example.com:my-project", "local").unwrap();
        for (project, instance, wrong) in [
            ("", "i", "`` is not a valid project id"),
            ("p", "", "`` is not a valid instance id"),
            ("a/b", "c", "`a/b` is not a valid project id"),
            ("p", "c d", "`c d` is not a valid instance id"),
        ] {
            let error = check_instance(project, instance).unwrap_err();
            assert!(
                error.kind() == ErrorKind::Misconfiguration && error.to_string().starts_with(wrong),
                "{error}"
            );
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_variable_that_is_not_utf_8_is_an_error() {
        use std::os::unix::ffi::OsStringExt as _;
        let error =
            Address::from_variables(|name| (name == EMULATOR_HOST).then(|| OsString::from_vec(vec![0xff])))
                .unwrap_err();
        assert!(error.to_string().starts_with("`BIGTABLE_EMULATOR_HOST` is set to"), "{error}");
    }
}
