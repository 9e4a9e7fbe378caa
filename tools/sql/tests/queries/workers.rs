//! Workers of datafusion-distributed, which are processes of the test's program, and the Bigtable that they read.

use std::env;
use std::future;
use std::net::Ipv4Addr;
use std::process::Command;

use keyderive::Client;
use keyderive::embedded::Bigtable;
use keyderive_datafusion::KeyderiveCodec;
use tokio::net::TcpListener;

#[path = "../../examples/distributed.rs"]
#[expect(dead_code, reason = "the example has a program")]
mod example;

pub(crate) use example::{WorkerProcess, Workers, distributed};

/// The address of the Bigtable of a test, for the process of a worker.
const WORKER: &str = "KEYDERIVE_TEST_WORKER";
pub(crate) const WORKERS: usize = 3;

pub(crate) fn are_asked_for() -> bool {
    let are = env::var_os("KEYDERIVE_ENGINES").is_some();
    if !are {
        eprintln!("left out: queries by datafusion-distributed; KEYDERIVE_ENGINES=1 runs them");
    }
    are
}

/// Takes tasks in the process of a worker; in that of a test, does nothing.
pub(crate) async fn work(codec: impl FnOnce(&Client) -> KeyderiveCodec) {
    let Ok(address) = env::var(WORKER) else { return };
    let client = Client::connect(&address).await.unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    example::work(codec(&client), listener).await.unwrap();
}

/// Starts a worker that runs this test, which calls [`work`].
pub(crate) fn start(test: &str, address: &str) -> WorkerProcess {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(WORKER, address);
    WorkerProcess::start(&mut command).unwrap()
}

/// Serves a Bigtable until the test ends, and returns its address.
pub(crate) async fn serve(bigtable: &Bigtable) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = format!("emulator://{}", listener.local_addr().unwrap());
    let bigtable = bigtable.clone();
    tokio::spawn(async move { bigtable.serve(listener, future::pending()).await });
    address
}
