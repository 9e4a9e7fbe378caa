//! How a client is made.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::address::Address;
use super::channels::{Channels, LazyPool};
use super::credentials::{Authorizer, Credentials};
use super::dial::{Connector, Dial, Dialer, check_emulator};
use super::environment::{self, DEFAULT_INSTANCE, DEFAULT_PROJECT};
use super::refresh::{REFRESH_AFTER, Refresh};
use super::shutdown::Shutdown;
use super::target::{Place, Target};
use super::throttle::Throttle;
use super::transport::Transport;
use super::{Client, Error, InfoCache, Inner, Settings, StreamBudget, headers, observe};

/// Makes a [`Client`], step by step.
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
/// | knob | unless set, in the cloud | at an emulator |
/// |---|---|---|
/// | [`instance`](Self::instance) | what the environment names | the same, or project `keyderive` and instance `local` |
/// | [`app_profile`](Self::app_profile) | the instance's default profile | none |
/// | [`settings`](Self::settings) | those of [`Settings`], which has a table of its own | the same |
/// | [`channels`](Self::channels) | 4 | 1 |
/// | [`prime`](Self::prime) | yes | no |
/// | [`refresh_channels_after`](Self::refresh_channels_after) | 45 min, and up to 5 min more | never |
/// | [`throttle`](Self::throttle) | no | no |
/// | [`credentials`](Self::credentials) | the application-default ones | none, ever |
/// | [`endpoint`](Self::endpoint) | `https://bigtable.googleapis.com` | its own address, always |
/// | [`admin_endpoint`](Self::admin_endpoint) | `https://bigtableadmin.googleapis.com`, or the endpoint that is set | its own address, always |
///
/// What cannot be set: a connection is given 10 s to be made, and is asked for a sign of life every 30 s, which may take
/// 10 s. Up to 1 MiB of a stream may be in flight, and 2 GiB of a connection; a message may have 256 MiB. Scans with more
/// than 8 streams side by side, as those of more than 8 buckets, have connections of their own, as many as `channels`
/// says, which are made when they are needed; there it is 64 KiB of a stream. The embedded Bigtable has no connections,
/// and takes the first three knobs alone.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it connects"]
pub struct ClientBuilder {
    instance: Option<(String, String)>,
    app_profile: String,
    settings: Settings,
    channels: Option<usize>,
    prime: Option<bool>,
    refresh_after: Option<Duration>,
    throttle: bool,
    credentials: Option<Authorizer>,
    endpoint: Option<String>,
    admin_endpoint: Option<String>,
}

/// A way to a Bigtable.
pub(super) struct Endpoint {
    pub(super) place: Place,
    pub(super) data: Arc<dyn Dial>,
    /// The way to the admin service, where it is another.
    pub(super) admin: Option<Arc<dyn Dial>>,
    /// Where the connections run.
    pub(super) runtime: Handle,
    pub(super) credentials: Option<Authorizer>,
}

impl Endpoint {
    fn emulator(host: &str, dialer: Dialer) -> Self {
        Self {
            place: Place::Emulator(host.into()),
            runtime: dialer.runtime().clone(),
            data: Arc::new(dialer),
            admin: None,
            credentials: None,
        }
    }
}

/// A client over pipes that `connect` makes in place of sockets, so that tests may pause the clock. None is primed before
/// the client is there.
///
/// # Errors
/// When no tokio runtime is running.
pub fn connected_by(builder: ClientBuilder, connect: impl Connector) -> Result<Client, Error> {
    let host = "test:1";
    let dialer = Dialer::emulator(host)?.connected_by(connect);
    Ok(builder.connected(Endpoint::emulator(host, dialer)).0)
}

/// The connections of a client.
struct Connections {
    data: Arc<Channels>,
    small_windows: Option<LazyPool>,
    admin: Arc<Channels>,
    streams: Option<StreamBudget>,
    refresh: Vec<(Refresh, Handle)>,
}

impl ClientBuilder {
    pub(super) fn new() -> Self {
        Self {
            instance: None,
            app_profile: String::new(),
            settings: Settings::default(),
            channels: None,
            prime: None,
            refresh_after: None,
            throttle: false,
            credentials: None,
            endpoint: None,
            admin_endpoint: None,
        }
    }

    /// The project and the instance of the tables, by their ids. An id that is none is an error where the client is
    /// made; the embedded Bigtable takes any.
    pub fn instance(self, project: impl Into<String>, instance: impl Into<String>) -> Self {
        Self { instance: Some((project.into(), instance.into())), ..self }
    }

    /// The app profile by which the service routes requests.
    pub fn app_profile(self, name: impl Into<String>) -> Self {
        Self { app_profile: name.into(), ..self }
    }

    /// Changes how long and how often operations are tried, as [`Client::with`] does.
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// How many connections requests are spread over, of which one carries 100 requests at a time. 0 counts as 1.
    pub fn channels(self, count: usize) -> Self {
        Self { channels: Some(count.max(1)), ..self }
    }

    /// Whether a connection is made, and the server made ready for requests by it, before the client is there, and
    /// before the connection takes the place of another. Its time is that of
    /// [`Settings::ping_and_warm`]; a failure is a warning, and the connection is used all the same.
    pub fn prime(self, prime: bool) -> Self {
        Self { prime: Some(prime), ..self }
    }

    /// How old a connection becomes; a ninth of this is added at random, so that not all are renewed at once. Requests
    /// in flight end on the old connection, and new ones go by the new one. Below a second it counts as a
    /// second.
    ///
    /// Google's front ends close a connection after an hour, and the requests that it carries fail then.
    pub fn refresh_channels_after(self, age: Duration) -> Self {
        Self { refresh_after: Some(age), ..self }
    }

    /// Whether writes of many rows are held to the rate that the server asks for, so that a bulk load leaves room for
    /// other work. It is one rate for all of them, in requests, and only as long as the server asks for one.
    pub fn throttle(self, throttle: bool) -> Self {
        Self { throttle, ..self }
    }

    /// Where the access tokens for the cloud come from.
    pub fn credentials(self, credentials: impl Credentials) -> Self {
        Self { credentials: Some(Authorizer::new(credentials)), ..self }
    }

    /// Where the cloud is: another region's or a private endpoint, as a URI with the scheme `https`; with `http`, a
    /// server on this machine or one that needs no token.
    pub fn endpoint(self, uri: impl Into<String>) -> Self {
        Self { endpoint: Some(uri.into()), ..self }
    }

    /// Where the cloud's admin service is, by which tables are made and deleted.
    pub fn admin_endpoint(self, uri: impl Into<String>) -> Self {
        Self { admin_endpoint: Some(uri.into()), ..self }
    }

    /// A client of the emulator that listens at `host`, written `host:port`.
    ///
    /// It waits up to 3 s for an answer, since an emulator may be starting.
    ///
    /// # Errors
    /// [`is_unavailable`](Error::is_unavailable) when no emulator answers there; when `host` is not a host and a port, the
    /// project or the instance is not an id, or no tokio runtime is running.
    pub async fn emulator(self, host: impl Into<String>) -> Result<Client, Error> {
        let host = host.into();
        let dialer = Dialer::emulator(&host)?;
        if let Some((project, instance)) = &self.instance {
            environment::check_instance(project, instance)?;
        }
        check_emulator(&host).await?;
        Ok(self.open(Endpoint::emulator(&host, dialer)).await)
    }

    /// A client of an instance of Google Cloud, as [`Client::cloud`].
    ///
    /// # Errors
    /// As [`Client::cloud`]; when an endpoint is none; when an access token would be sent to another machine
    /// unencrypted.
    #[cfg(feature = "cloud")]
    pub async fn cloud(
        self,
        project: impl Into<String>,
        instance: impl Into<String>,
    ) -> Result<Client, Error> {
        let (project, instance) = (project.into(), instance.into());
        environment::check_instance(&project, &instance)?;
        self.instance(project, instance).reach_cloud().await
    }

    /// A client of the Bigtable at `address`, as [`Client::connect`]. A project, an instance and an app profile that the
    /// address names go before those that were given.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn connect(self, address: &str) -> Result<Client, Error> {
        self.connect_to(Address::parse(address)?).await
    }

    async fn connect_to(self, address: Address) -> Result<Client, Error> {
        match address {
            Address::Cloud { project, instance, app_profile } => {
                let app_profile = app_profile.unwrap_or_else(|| self.app_profile.clone());
                self.app_profile(app_profile).cloud_if_built(project, instance).await
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
                "`{address}` is an embedded Bigtable, which keyderive is built without; enable its feature `embedded`"
            ))),
        }
    }

    /// A client of the Bigtable that the environment names, as [`Client::from_env`]. An
    /// [`instance`](Self::instance) that was given goes before the environment's.
    ///
    /// # Errors
    /// As [`Client::from_env`].
    pub async fn from_env(self) -> Result<Client, Error> {
        let mut address = environment::decide(|name| std::env::var_os(name))?;
        if let Some((project, instance)) = self.instance.clone() {
            address = address.with_instance(project, instance);
        }
        tracing::info!(%address, "the environment names a Bigtable");
        self.connect_to(address).await
    }

    #[cfg(feature = "cloud")]
    async fn cloud_if_built(self, project: String, instance: String) -> Result<Client, Error> {
        self.cloud(project, instance).await
    }

    #[cfg(not(feature = "cloud"))]
    async fn cloud_if_built(self, project: String, instance: String) -> Result<Client, Error> {
        environment::check_instance(&project, &instance)?;
        Err(Error::configuration(format!(
            "the instance `{instance}` of project `{project}` is in the cloud, which keyderive is built without; enable \
             its feature `cloud`, or set `{}` to use an emulator",
            environment::EMULATOR
        )))
    }

    /// Where the data service and the admin service are, as far as it was said.
    pub(super) fn endpoints(&self) -> (Option<&str>, Option<&str>) {
        (self.endpoint.as_deref(), self.admin_endpoint.as_deref())
    }

    pub(super) fn given_credentials(&self) -> Option<&Authorizer> {
        self.credentials.as_ref()
    }

    /// A client whose connections are ready, as far as that is wanted.
    pub(super) async fn open(self, endpoint: Endpoint) -> Client {
        let (client, to_prime) = self.connected(endpoint);
        client.prime(&to_prime).await;
        client
    }

    /// A client, and those of its connections that are to be primed.
    fn connected(self, endpoint: Endpoint) -> (Client, Vec<Transport>) {
        let Endpoint { place, data, admin, runtime, credentials } = endpoint;
        let (count, prime, refresh_after) = match place {
            Place::Cloud(_) => (4, true, Some(REFRESH_AFTER)),
            _ => (1, false, None),
        };
        let (count, prime) = (self.channels.unwrap_or(count), self.prime.unwrap_or(prime));
        let refresh_after = self.refresh_after.or(refresh_after);
        let mut refresh = Vec::new();
        let mut pool = |dialer: Arc<dyn Dial>, transports: &[Transport], prime: bool| {
            let channels = Channels::new(transports.iter().cloned()).replaced_by(Arc::clone(&dialer));
            let channels = Arc::new(channels);
            if let Some(after) = refresh_after {
                let channels = Arc::clone(&channels);
                refresh.push((Refresh { channels, dialer, after, prime }, runtime.clone()));
            }
            channels
        };
        let transports: Vec<Transport> = (0..count).map(|_| data.dial()).collect();
        let small_windows = LazyPool::small_windows(Arc::clone(&data), count);
        let data = pool(data, &transports, prime);
        let admin = match admin {
            Some(admin) => {
                let transport = admin.dial();
                pool(admin, &[transport], false)
            }
            None => Arc::clone(&data),
        };
        let streams = StreamBudget::of(&transports);
        let connections = Connections { data, small_windows: Some(small_windows), admin, streams, refresh };
        let client = self.client(connections, place, credentials);
        (client, if prime { transports } else { Vec::new() })
    }

    /// A client of servers in this process, which keep what they have in a file where there is one.
    #[cfg(feature = "embedded")]
    pub(crate) fn in_process(self, servers: Arc<dyn super::InProcess>, file: Option<Arc<str>>) -> Client {
        let channels = Arc::new(Channels::new([Transport::InProcess(servers)]));
        let admin = Arc::clone(&channels);
        let connections =
            Connections { data: channels, small_windows: None, admin, streams: None, refresh: Vec::new() };
        self.client(connections, Place::Embedded(file), None)
    }

    fn client(self, connections: Connections, place: Place, credentials: Option<Authorizer>) -> Client {
        let Self { instance, app_profile, settings, throttle, .. } = self;
        let Connections { data, small_windows, admin, streams, refresh } = connections;
        let default = || (DEFAULT_PROJECT.to_owned(), DEFAULT_INSTANCE.to_owned());
        let (project, instance) = instance.unwrap_or_else(default);
        let settings = Arc::new(settings);
        observe::describe();
        let refreshing = |client: &std::sync::Weak<Inner>| {
            let spawn = |(refresh, runtime): (Refresh, Handle)| {
                refresh.spawn(client.clone(), Arc::clone(&settings), &runtime)
            };
            refresh.into_iter().map(spawn).collect()
        };
        let inner = Arc::new_cyclic(|client| Inner {
            channels: data,
            small_windows,
            admin,
            shutdown: Arc::new(Shutdown::default()),
            target: Target(place),
            instance: format!("projects/{project}/instances/{instance}"),
            app_profile,
            features: headers::features(throttle),
            streams,
            credentials,
            throttle: throttle.then(Throttle::default),
            infos: InfoCache::default(),
            _refreshing: refreshing(client),
        });
        Client { inner, settings, pass: None }
    }
}
