//! Latencies without faults: of a scripted server, of the embedded Bigtable on a port, and of the emulator.

use keyderive::embedded::Bigtable;
use keyderive::{Client, Table};
use keyderive_tests::emulator::Emulator;
use tokio::net::TcpListener;

use super::open_loop::{self, shown};
use super::server::{Fault, Server};
use super::{Reading, ReadingKey, Size, block_on, read_or_write, table};
use crate::hot_paths::serve_apart;
use crate::program::{Failure, print_head, print_line};

/// How long each server is measured.
pub(super) const SECONDS: u32 = 15;

pub(super) fn print(Size { rate, .. }: Size) -> Result<(), Failure> {
    println!("## Latencies\n");
    println!("{rate} operations a second, half reads and half writes of one row, for {SECONDS} s.\n");
    print_head(&["server", "p50", "p99", "p99.9", "errors"]);
    let scripted = Server::start(Fault::None);
    block_on(measure("scripted", scripted.host(), rate))??;
    // It ends with the program.
    let (host, _) = serve_apart(async move |sender| {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        sender.send(listener.local_addr().expect("it listens").to_string()).expect("the starter waits");
        Bigtable::in_memory().serve(listener, std::future::pending()).await
    });
    block_on(measure("embedded, on a port", host, rate))??;
    match Emulator::start() {
        Some(emulator) => block_on(measure("Google's emulator", emulator.host(), rate))??,
        None => println!("| Google's emulator is not installed | | | | |"),
    }
    println!();
    block_on(super::far::print())??;
    Ok(())
}

async fn measure(server: &str, host: String, rate: u32) -> Result<(), Failure> {
    let table = table(&Client::emulator(host).await?);
    table.create_if_absent().await?;
    open_loop::run(rate, 2, |number| call(&table, number), |_| ()).await;
    let run = open_loop::run(rate, SECONDS, |number| call(&table, number), |_| ()).await;
    let all = run.between(0, SECONDS);
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| shown(all.quantile(share)));
    print_line(&[server, &p50, &p99, &p999, &all.errors.to_string()]);
    Ok(())
}

/// A read or a write, as a task of its own.
pub(super) fn call(
    table: &Table<ReadingKey, Reading>,
    number: u64,
) -> impl Future<Output = Result<(), keyderive::Error>> + 'static {
    let table = table.clone();
    async move { read_or_write(&table, number).await }
}
