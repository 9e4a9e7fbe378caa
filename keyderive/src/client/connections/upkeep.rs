//! The upkeep of a pool: it primes connections, refreshes old ones, and adds and removes some as the load asks for.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use keyderive_proto::Rpc;
use keyderive_proto::data::{PingAndWarmRequest, PingAndWarmResponse};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Dial, Pool, Transport};
use crate::client::error::Error;
use crate::client::grpc::Request;
use crate::client::retry::{Attempts, NEVER, Received, call};
use crate::client::shutdown::Shutdown;
use crate::client::{Client, Inner, Settings, observe};

/// Google's front ends close a connection after an hour. Google's Go client refreshes its connections after 45 to 50
/// minutes.
pub(in crate::client) const REFRESH_AFTER: Duration = Duration::from_secs(45 * 60);

/// The longest random delay of a refresh, as a share of the age, so that connections do not refresh together: 5 minutes
/// of 45.
const REFRESH_JITTER: f64 = 1.0 / 9.0;

const MIN_REFRESH_AFTER: Duration = Duration::from_secs(1);

/// How long to wait after a connection could not be made.
const REFRESH_RETRY_AFTER: Duration = Duration::from_secs(60);
const GROW_RETRY_AFTER: Duration = Duration::from_secs(1);

/// How often the load is sampled for metrics.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);

/// How often a pool may shrink.
const SHRINK_INTERVAL: Duration = Duration::from_secs(60);

/// How to keep up the connections of a pool.
pub(in crate::client) struct Upkeep {
    pub(in crate::client) pool: Arc<Pool>,
    pub(in crate::client) dialer: Arc<dyn Dial>,
    /// The age at which a connection is refreshed, if it is.
    pub(in crate::client) refresh_after: Option<Duration>,
    pub(in crate::client) prime: bool,
    /// Whether its load is sampled for metrics.
    pub(in crate::client) is_sampled: bool,
}

/// The task that keeps up a pool; it ends when this is dropped.
#[derive(Debug)]
pub(in crate::client) struct UpkeepTask(AbortHandle);

impl Drop for UpkeepTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Upkeep {
    /// Keeps up the pool until the client is dropped or closed.
    pub(in crate::client) fn spawn(
        self,
        client: Weak<Inner>,
        settings: Arc<Settings>,
        runtime: &Handle,
    ) -> UpkeepTask {
        UpkeepTask(runtime.spawn(self.run(client, settings)).abort_handle())
    }

    async fn run(self, client: Weak<Inner>, settings: Arc<Settings>) {
        // When each connection is refreshed, by its number.
        let mut due: HashMap<usize, Instant> = HashMap::new();
        let mut shrink = Instant::now() + SHRINK_INTERVAL;
        let mut sample = Instant::now() + if self.is_sampled { Duration::ZERO } else { NEVER };
        loop {
            let numbers: Vec<usize> = self.pool.connections().iter().map(|one| one.number).collect();
            due.retain(|number, _| numbers.contains(number));
            for number in &numbers {
                due.entry(*number).or_insert_with(|| self.due());
            }
            let oldest = due.iter().map(|(number, due)| (*due, *number)).min();
            let refresh = oldest.map_or_else(|| Instant::now() + NEVER, |(due, _)| due);
            let has_grown = numbers.len() > self.pool.size.min;
            let next = refresh.min(sample).min(if has_grown { shrink } else { refresh });
            let grows = timeout_at(next, self.pool.too_busy.notified()).await.is_ok();
            let Some(inner) = client.upgrade().filter(|inner| !inner.shutdown.is_closed()) else { return };
            // `close` does not wait for what the client does on its own.
            let in_flight = Arc::new(Shutdown::default()).enter();
            let client = Client {
                inner: Arc::clone(&inner),
                settings: Arc::clone(&settings),
                in_flight: in_flight.map(Arc::new),
                deadline: None,
            };
            let now = Instant::now();
            if sample <= now {
                observe::stats(&client.inner.instance, client.stats());
                #[cfg(all(feature = "heat", feature = "metrics"))]
                observe::busiest(client.inner.heat.busiest_shares(client.now()));
                sample = now + SAMPLE_INTERVAL;
            }
            if grows {
                if numbers.len() < self.pool.size.max
                    && let Err(error) = self.grow(&client).await
                {
                    tracing::warn!(%error, "a pool could not grow; its connections carry more requests");
                    drop((client, inner));
                    sleep(GROW_RETRY_AFTER).await;
                }
                shrink = shrink.max(now + SHRINK_INTERVAL);
                continue;
            }
            if has_grown && shrink <= now {
                self.pool.shrink();
                shrink = now + SHRINK_INTERVAL;
            }
            let Some((_, number)) = oldest.filter(|(time, _)| *time <= now) else { continue };
            let renewed = self.renew(&client, number).await;
            observe::refreshed(renewed.is_ok());
            if let Err(error) = renewed {
                tracing::warn!(%error, "a connection could not be refreshed; the old one stays for now");
                due.insert(number, Instant::now() + REFRESH_RETRY_AFTER);
            }
        }
    }

    /// Adds a connection once it is open, so that no request waits for it.
    async fn grow(&self, client: &Client) -> Result<(), Error> {
        let transport = self.opened(client).await?;
        self.pool.add(transport);
        Ok(())
    }

    /// Replaces the connection with this number.
    ///
    /// # Errors
    /// When the new connection reaches no server.
    pub(in crate::client) async fn renew(&self, client: &Client, number: usize) -> Result<(), Error> {
        let transport = self.opened(client).await?;
        self.pool.replace(number, transport);
        Ok(())
    }

    /// A new connection, open and primed.
    async fn opened(&self, client: &Client) -> Result<Transport, Error> {
        let transport = self.dialer.dial();
        if self.prime {
            match ping_and_warm(client, &transport).await {
                Err(error) if error.is_unsent() => return Err(error),
                outcome => warn_if_not_primed(outcome),
            }
        } else {
            let target = client.target();
            transport
                .open()
                .await
                .map_err(|error| Error::unreachable(format!("{}, at the {target}", error.with_cause())))?;
        }
        Ok(transport)
    }

    fn due(&self) -> Instant {
        let after = self.refresh_after.unwrap_or(NEVER).clamp(MIN_REFRESH_AFTER, NEVER);
        Instant::now() + after.mul_f64(1.0 + REFRESH_JITTER * fastrand::f64())
    }
}

/// Primes all connections, and logs failures as warnings.
pub(in crate::client) async fn prime(client: &Client, transports: &[Transport]) {
    join_all(transports.iter().map(|transport| async {
        warn_if_not_primed(ping_and_warm(client, transport).await);
    }))
    .await;
}

async fn ping_and_warm(client: &Client, transport: &Transport) -> Result<(), Error> {
    let operation = client.instance_operation(Rpc::PingAndWarm);
    let message = PingAndWarmRequest {
        name: client.instance_name().to_owned(),
        app_profile_id: client.app_profile().to_owned(),
    };
    let pool = Arc::new(Pool::new([transport.clone()]));
    // It waits for the connection, which is its purpose.
    let client = client.with(|settings| settings.max_waiting = usize::MAX);
    let attempts = Attempts::over(pool, &client, operation)?;
    let answer = call(attempts, Request::new(&message), |answer| async {
        answer.only::<PingAndWarmResponse>().await.map(Received::new)
    });
    answer.await.map(drop)
}

fn warn_if_not_primed(outcome: Result<(), Error>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "a connection could not be primed, and is used anyway");
    }
}
