//! A TCP proxy that breaks connections, at random and the same way for the same seed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Stands between a client and a server for as long as it lives.
pub struct Proxy {
    address: SocketAddr,
    broken: Arc<AtomicU64>,
    accepting: JoinHandle<()>,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Both sides are closed.
    Cut,
    /// Both sides are reset.
    Reset,
    /// Nothing passes any more, and the connection stays.
    Stall,
}

/// How long a connection that is stalled stays.
const STALLED: Duration = Duration::from_secs(2);

impl Proxy {
    /// A proxy to the server at `host`, whose faults are those of `seed`.
    pub async fn start(host: &str, seed: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let broken = Arc::new(AtomicU64::new(0));
        let (host, count) = (host.to_owned(), Arc::clone(&broken));
        let accepting = tokio::spawn(async move {
            let mut rng = Rng::with_seed(seed);
            // Ends with the proxy, which aborts it; what it has begun ends with it.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (host, count, rng) = (host.clone(), Arc::clone(&count), rng.fork());
                connections.spawn(async move {
                    pass(client, &host, rng).await;
                    count.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        Self { address, broken, accepting }
    }

    /// Its address, as `Client::emulator` takes it.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// How many connections have ended.
    pub fn broken(&self) -> u64 {
        self.broken.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Passes bytes both ways until as many have come from the server, or been sent to it, as chance says.
async fn pass(mut client: TcpStream, host: &str, mut rng: Rng) {
    let Ok(mut server) = TcpStream::connect(host).await else { return };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let fault = [Fault::Cut, Fault::Reset, Fault::Stall][rng.usize(..3)];
    // Short lives too, so that connections break before their first answer.
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
    match fault {
        Fault::Cut => {}
        Fault::Reset => {
            let _ = client.set_zero_linger();
            let _ = server.set_zero_linger();
        }
        Fault::Stall => sleep(STALLED).await,
    }
}

/// Forwards what was read, at most `left` bytes; how many, unless a side has ended.
async fn forward(
    read: std::io::Result<usize>,
    bytes: &[u8],
    left: usize,
    to: &mut TcpStream,
) -> Option<usize> {
    let count = read.ok().filter(|count| *count > 0)?.min(left);
    to.write_all(&bytes[..count]).await.ok().map(|()| count)
}
