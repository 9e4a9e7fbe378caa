//! Latencies without faults: of a scripted server, of the embedded Bigtable on a port, and of the emulator.

use std::thread;

use keyderive::embedded::Bigtable;
use keyderive::{Client, Table};
use keyderive_tests::emulator::Emulator;
use tokio::net::TcpListener;

use super::open_loop::{self, shown};
use super::server::{Fault, Server};
use super::{Failure, Reading, ReadingKey, Size, block_on, read_or_write, table};

/// How long each server is measured.
pub(super) const SECONDS: u32 = 15;

pub(super) fn print(Size { rate, .. }: Size) -> Result<(), Failure> {
    println!("## Latencies\n");
    println!("{rate} operations a second, half reads and half writes of one row, for {SECONDS} s.\n");
    println!("| server | p50 | p99 | p99.9 | errors |\n|---|---|---|---|---|");
    let scripted = Server::start(Fault::None);
    block_on(measure("scripted", scripted.host(), rate))??;
    let (sender, host) = std::sync::mpsc::channel();
    // It ends with the program.
    thread::spawn(move || {
        crate::hot_paths::pin_server();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime starts").block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
            let address = listener.local_addr().expect("it listens");
            sender.send(address.to_string()).expect("the starter waits");
            Bigtable::in_memory().serve(listener, std::future::pending()).await
        })
    });
    block_on(measure("embedded, on a port", host.recv()?, rate))??;
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
    println!("| {server} | {p50} | {p99} | {p999} | {} |", all.errors);
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
