//! Connections that break.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Both sides are closed.
    Cut,
    /// Both sides are reset.
    Reset,
    /// Nothing passes any more, and the connection stays open.
    Stall,
}

/// How long a stalled connection stays open.
const STALLED: Duration = Duration::from_secs(2);

/// A TCP proxy that breaks connections at random, in the same way for the same seed.
#[derive(Debug)]
pub struct Relay {
    host: String,
    broken: Arc<AtomicU64>,
}

impl Relay {
    /// Serves a relay to the server at `host` on a free port until `tasks` is dropped.
    ///
    /// # Panics
    ///
    /// When no port is free.
    pub async fn serve(host: String, seed: u64, tasks: &mut JoinSet<()>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let broken = Arc::new(AtomicU64::new(0));
        let relay = Self { host: listener.local_addr().unwrap().to_string(), broken: Arc::clone(&broken) };
        tasks.spawn(async move {
            let mut rng = Rng::with_seed(seed);
            // Aborted with this task.
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (host, broken, rng) = (host.clone(), Arc::clone(&broken), rng.fork());
                connections.spawn(async move {
                    pass(client, &host, rng).await;
                    broken.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        relay
    }

    /// Its address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// How many connections have ended.
    #[must_use]
    pub fn broken(&self) -> u64 {
        self.broken.load(Ordering::Relaxed)
    }
}

/// Forwards bytes both ways, up to a random number of them, and then breaks the connection.
async fn pass(mut client: TcpStream, host: &str, mut rng: Rng) {
    let Ok(mut server) = TcpStream::connect(host).await else { return };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let end = [End::Cut, End::Reset, End::Stall][rng.usize(..3)];
    // Some lives are short, so that connections break before their first answer.
    let mut left = if rng.u8(..8) == 0 { rng.usize(..2_000) } else { rng.usize(100_000..3_000_000) };
    let (mut down, mut up) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    while left > 0 {
        let passed = tokio::select! {
            read = server.read(&mut down) => forward(read, &down, left, &mut client).await,
            read = client.read(&mut up) => forward(read, &up, left, &mut server).await,
        };
        let Some(passed) = passed else { return };
        left -= passed;
    }
    match end {
        End::Cut => {}
        End::Reset => {
            let _ = client.set_zero_linger();
            let _ = server.set_zero_linger();
        }
        End::Stall => sleep(STALLED).await,
    }
}

/// Forwards at most `left` of the bytes that were read; how many, unless a side has ended.
async fn forward(
    read: std::io::Result<usize>,
    bytes: &[u8],
    left: usize,
    to: &mut TcpStream,
) -> Option<usize> {
    let count = read.ok().filter(|count| *count > 0)?.min(left);
    to.write_all(&bytes[..count]).await.ok().map(|()| count)
}
