//! Connections before they are used, and before they are too old.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use keyderive_proto::data::PingAndWarmRequest;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::attempts::NEVER;
use super::channels::Channels;
use super::dial::Dial;
use super::operation::Kind;
use super::shutdown::Shutdown;
use super::transport::Transport;
use super::{Client, Error, Inner, Settings, call, observe};

/// Google's front ends close a connection after an hour. Google's Go client renews them at 45 to 50 minutes.
pub(super) const REFRESH_AFTER: Duration = Duration::from_secs(45 * 60);

/// How much later a connection may be renewed than is asked for, as a share of it, so that not all of them are at
/// once: 5 minutes of 45.
const SPREAD: f64 = 1.0 / 9.0;

/// Nothing is renewed more often.
const SHORTEST: Duration = Duration::from_secs(1);

/// When it is tried again to renew a connection that could not be.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// How the connections of a pool are renewed.
#[derive(Clone)]
pub(super) struct Refresh {
    pub(super) channels: Arc<Channels>,
    pub(super) dialer: Arc<dyn Dial>,
    pub(super) after: Duration,
    pub(super) prime: bool,
}

/// The renewal of a pool, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Refreshing(AbortHandle);

impl Drop for Refreshing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Refresh {
    /// Renews the connections for as long as the client is there and open.
    pub(super) fn spawn(self, client: Weak<Inner>, settings: Arc<Settings>, runtime: &Handle) -> Refreshing {
        Refreshing(runtime.spawn(self.run(client, settings)).abort_handle())
    }

    async fn run(self, client: Weak<Inner>, settings: Arc<Settings>) {
        let mut due: Vec<Instant> = (0..self.channels.len()).map(|_| self.due()).collect();
        loop {
            let next = due.iter().copied().enumerate().min_by_key(|(_, due)| *due);
            let Some((slot, time)) = next else { return };
            sleep_until(time).await;
            let Some(inner) = client.upgrade().filter(|inner| !inner.shutdown.is_closed()) else { return };
            let client = Client::aside(inner, Arc::clone(&settings));
            let renewed = self.renew(&client, slot).await;
            observe::refreshed(renewed.is_ok());
            due[slot] = match renewed {
                Ok(()) => self.due(),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be renewed; the old one stays for now");
                    Instant::now() + AGAIN_AFTER
                }
            };
        }
    }

    /// Puts a new connection into a slot.
    ///
    /// # Errors
    /// When nobody can be reached by a new one.
    pub(super) async fn renew(&self, client: &Client, slot: usize) -> Result<(), Error> {
        let transport = self.dialer.dial();
        if self.prime {
            match client.ping_and_warm(&transport).await {
                Err(error) if error.is_unsent() => return Err(error),
                outcome => told(outcome),
            }
        }
        self.channels.replace(slot, transport);
        Ok(())
    }

    fn due(&self) -> Instant {
        let share = 1.0 + SPREAD * fastrand::f64();
        let after = self.after.clamp(SHORTEST, NEVER).mul_f64(share);
        Instant::now() + after
    }
}

impl Client {
    /// The same client for what it does on its own, which its user does not wait for when it is closed.
    fn aside(inner: Arc<Inner>, settings: Arc<Settings>) -> Self {
        Self { inner, settings, pass: Arc::new(Shutdown::default()).enter() }
    }

    /// Has the server make all connections ready for requests, as far as it will.
    pub(super) async fn prime(&self, transports: &[Transport]) {
        join_all(transports.iter().map(|transport| async { told(self.ping_and_warm(transport).await) }))
            .await;
    }

    async fn ping_and_warm(&self, transport: &Transport) -> Result<(), Error> {
        let operation = self.instance_operation(Kind::PingAndWarm);
        let message = PingAndWarmRequest {
            name: self.instance_name().to_owned(),
            app_profile_id: self.app_profile().to_owned(),
        };
        let channels = Arc::new(Channels::new([transport.clone()]));
        self.call_over(channels, operation, message, |transport, request| async move {
            call::data(transport).ping_and_warm(request).await
        })
        .await
        .map(drop)
    }
}

/// A connection that is not ready is used all the same: the first requests make it so.
fn told(outcome: Result<(), Error>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "a connection is used without having been made ready");
    }
}
