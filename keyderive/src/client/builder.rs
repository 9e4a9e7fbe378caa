//! How a client is made.

use std::sync::Arc;

use super::channels::Channels;
use super::environment::{self, DEFAULT_INSTANCE, DEFAULT_PROJECT, Environment};
use super::gate::Gate;
use super::target::{Place, Target};
use super::transport::Transport;
use super::{Client, Error, Inner, Settings, Streams, headers};

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
/// | knob | unless set |
/// |---|---|
/// | [`instance`](Self::instance) | what the environment names, or project `keyderive` and instance `local` |
/// | [`app_profile`](Self::app_profile) | the instance's default profile |
/// | [`channels`](Self::channels) | 1 |
/// | [`settings`](Self::settings) | those of [`Settings`] |
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is told where the Bigtable is"]
pub struct ClientBuilder {
    instance: Option<(String, String)>,
    app_profile: String,
    settings: Settings,
    channels: usize,
}

impl ClientBuilder {
    pub(super) fn new() -> Self {
        Self { instance: None, app_profile: String::new(), settings: Settings::default(), channels: 1 }
    }

    /// The project and the instance of the tables.
    pub fn instance(self, project: impl Into<String>, instance: impl Into<String>) -> Self {
        Self { instance: Some((project.into(), instance.into())), ..self }
    }

    /// The app profile by which the service routes requests.
    pub fn app_profile(self, name: impl Into<String>) -> Self {
        Self { app_profile: name.into(), ..self }
    }

    /// How long and how often operations are tried.
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// How many connections requests are spread over, of which one carries 100 requests at a time. 0 counts as 1.
    pub fn channels(self, count: usize) -> Self {
        Self { channels: count.max(1), ..self }
    }

    /// A client of the emulator that listens at `host`, written `host:port`.
    ///
    /// A connection is made at its first use, so an emulator that does not run is an error of the first operation.
    ///
    /// # Errors
    /// When `host` is not a host and a port, or no tokio runtime is running.
    pub async fn emulator(self, host: impl Into<String>) -> Result<Client, Error> {
        self.connect(host.into())
    }

    /// A client of the Bigtable that the environment names, as [`Client::from_env`]. An
    /// [`instance`](Self::instance) that was given goes before the environment's.
    ///
    /// # Errors
    /// As [`Client::from_env`].
    pub async fn from_env(self) -> Result<Client, Error> {
        match Environment::decide(|name| std::env::var_os(name))? {
            Environment::Nothing => Err(environment::nothing_named()),
            named => self.named(named).await,
        }
    }

    /// A client of what an environment names.
    pub(crate) async fn named(self, environment: Environment) -> Result<Client, Error> {
        match environment {
            Environment::Emulator { host, project, instance } => {
                self.or_instance(project, instance).connect(host)
            }
            Environment::Cloud { project, instance } => Err(environment::no_cloud(&project, &instance)),
            Environment::Nothing => Err(environment::nothing_named()),
        }
    }

    fn or_instance(self, project: String, instance: String) -> Self {
        Self { instance: Some(self.instance.unwrap_or((project, instance))), ..self }
    }

    fn connect(self, host: String) -> Result<Client, Error> {
        let transports: Result<Vec<_>, _> = (0..self.channels).map(|_| Transport::plaintext(&host)).collect();
        Ok(self.client(transports?, Place::Emulator(host.into())))
    }

    /// A client of servers in this process, which keep what they have in a file where there is one.
    #[cfg(feature = "embedded")]
    pub(crate) fn in_process(self, servers: Arc<dyn super::InProcess>, file: Option<Arc<str>>) -> Client {
        self.client(vec![Transport::InProcess(servers)], Place::Embedded(file))
    }

    fn client(self, transports: Vec<Transport>, place: Place) -> Client {
        let Self { instance, app_profile, settings, .. } = self;
        let default = || (DEFAULT_PROJECT.to_owned(), DEFAULT_INSTANCE.to_owned());
        let (project, instance) = instance.unwrap_or_else(default);
        Client {
            inner: Arc::new(Inner {
                streams: Streams::of(&transports),
                channels: Channels::new(transports),
                gate: Arc::new(Gate::default()),
                target: Target(place),
                instance: format!("projects/{project}/instances/{instance}"),
                app_profile,
                features: headers::features(),
            }),
            settings: Arc::new(settings),
            pass: None,
        }
    }
}
