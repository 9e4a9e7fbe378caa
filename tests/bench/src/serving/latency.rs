//! Latencies without faults: of the embedded Bigtable on a port, of the emulator, and of a server that takes 20 ms.

use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use keyderive::embedded::Bigtable;
use keyderive::{Client, Table};
use keyderive_tests::emulator::Emulator;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::open_loop::{self, shown};
use super::server::{Fault, Server};
use super::{Failure, Reading, ReadingKey, Size, block_on, read_or_write, table};
use crate::meter::processor_time;

/// How long a server takes that is far away.
const FAR: Duration = Duration::from_millis(20);

/// How many operations are in flight at it.
const IN_FLIGHT: u64 = 1024;

const SECONDS: u32 = 15;

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
    block_on(far())??;
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

fn call(
    table: &Table<ReadingKey, Reading>,
    number: u64,
) -> impl Future<Output = Result<(), keyderive::Error>> + 'static {
    let table = table.clone();
    async move { read_or_write(&table, number).await }
}

/// 1,024 operations in flight at a server that takes 20 ms, and then half of what the client's core can carry.
async fn far() -> Result<(), Failure> {
    println!("## A server that takes 20 ms\n");
    let server = Server::start(Fault::Slow(FAR));
    let table = table(&Client::emulator(server.host()).await?);
    let rows = async |seconds: u64| {
        let begun = Instant::now();
        let worker = async |first: u64| {
            let mut count = 0;
            while begun.elapsed() < Duration::from_secs(seconds) {
                read_or_write(&table, first + count).await?;
                count += 1;
            }
            Ok::<_, keyderive::Error>(count)
        };
        let counts = join_all((0..IN_FLIGHT).map(worker)).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok::<u64, Failure>(counts.iter().sum())
    };
    rows(3).await?;
    let (memory, cpu, begun) = (resident()?, processor_time()?, Instant::now());
    let count = rows(30).await?;
    let (later, cpu) = (resident()?, processor_time()? - cpu);
    let each = cpu / u32::try_from(count)?;
    println!(
        "{IN_FLIGHT} operations in flight for 30 s, half reads and half writes: {:.0} a second, {:.1} us of the client's core \
         each. The process, server included, had {memory} MiB of memory after 3 s, and {later} MiB at the end.\n",
        count as f64 / begun.elapsed().as_secs_f64(),
        each.as_secs_f64() * 1e6,
    );
    let most = 1.0 / each.as_secs_f64();
    println!(
        "The client's core can carry {most:.0} a second. Beside its 20 ms, which the server's timer exceeds by up to 1 ms, an \
         operation takes:\n"
    );
    println!("| operations a second | p50 | p99 | p99.9 | errors |\n|---|---|---|---|---|");
    for share in [0.25, 0.5] {
        let rate = (most * share) as u32;
        let run = open_loop::run(rate, SECONDS, |number| call(&table, number), |_| ()).await;
        let all = run.between(0, SECONDS);
        let own = |share: f64| shown(all.quantile(share).saturating_sub(FAR));
        println!("| {rate} | {} | {} | {} | {} |", own(0.5), own(0.99), own(0.999), all.errors);
    }
    println!();
    Ok(())
}

/// The resident memory of this process, in MiB.
fn resident() -> Result<u64, Failure> {
    let resident = crate::hot_paths::status_field("VmRSS:").ok_or("the system does not tell")?;
    Ok(resident.trim_end_matches(" kB").parse::<u64>()? / 1024)
}
