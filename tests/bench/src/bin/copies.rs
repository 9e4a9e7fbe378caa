//! The departures of New York in 2013, copied to another key type on a served embedded Bigtable: by `copy_to`, with and without its
//! comparison, and by loops over cells without types, with the raw tables of this client and with `bigtable_rs`.
//!
//! `cargo run --release -p keyderive-bench --bin copies`. The server is a process of its own. All paths run in turn, three times,
//! and the fastest run of each counts. It prints the part `Copies` of docs/benchmarks.md. Processor time needs Linux.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use bigtable_rs::bigtable::BigTableConnection;
use bigtable_rs::google::bigtable::v2::mutate_rows_request::Entry;
use bigtable_rs::google::bigtable::v2::mutation::{Mutation as Change, SetCell};
use bigtable_rs::google::bigtable::v2::{MutateRowsRequest, Mutation as Message, ReadRowsRequest};
use futures_util::{StreamExt as _, TryStreamExt as _};
use keyderive::client::{Family, ReadRows};
use keyderive::embedded::Bigtable;
use keyderive::row::{Mutation, RawRow};
use keyderive::{Client, GcRule, RowKey, Table};
use keyderive_bench::meter::processor_time_of;
use keyderive_bench::program::{self, print_head, print_line};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use self::data::{Flight, FlightKey};

#[path = "../../../tables/flights/data.rs"]
mod data;

const RUNS: usize = 3;

/// The rows of a request of the loops.
const ROWS_A_REQUEST: usize = 5_000;

#[derive(RowKey, Debug)]
#[salt(range = 8, over = "origin,hour")]
struct DepartureKey {
    origin: String,
    #[reverse_ts(max = 9999999999)]
    hour: u64,
    carrier: String,
    #[pad(4)]
    flight: u16,
}

fn departure_key(key: FlightKey) -> DepartureKey {
    let FlightKey { carrier, flight, hour, origin } = key;
    DepartureKey { origin, hour, carrier, flight }
}

/// The key of a copied row without types.
fn raw_key(key: &[u8]) -> Vec<u8> {
    [b"copy#", key].concat()
}

/// The server's process, until it is dropped.
struct Server {
    child: Child,
    host: String,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.arg("serve").stdout(Stdio::piped()).spawn().unwrap();
        let mut host = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut host).unwrap();
        Self { child, host: host.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    Bigtable::in_memory().serve(listener, std::future::pending()).await.unwrap();
}

/// What copies, or compares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    BigtableRs,
    RawLoop,
    RawWriter,
    Copy,
    VerifiedCopy,
    Diff,
}

impl Path {
    const ALL: [Self; 6] =
        [Self::BigtableRs, Self::RawLoop, Self::RawWriter, Self::Copy, Self::VerifiedCopy, Self::Diff];

    fn name(self) -> &'static str {
        match self {
            Self::BigtableRs => "`bigtable_rs`, a loop over cells: one stream, one request at a time",
            Self::RawLoop => "keyderive's raw tables, the same loop",
            Self::RawWriter => "keyderive's raw tables, one stream and a writer in the background",
            Self::Copy => "`copy_to` without its comparison",
            Self::VerifiedCopy => "`copy_to`",
            Self::Diff => "`diff` alone",
        }
    }
}

struct Tables {
    client: Client,
    host: String,
    old: Table<FlightKey, Flight>,
    new: Table<DepartureKey, Flight>,
}

impl Tables {
    /// Copies all rows once, to an empty table; returns how long that took. The comparison runs on what a copy has left.
    async fn run(&self, path: Path, rows: u64) -> Duration {
        let raw = self.client.raw_table("copies");
        match path {
            Path::Copy | Path::VerifiedCopy => {
                self.new.delete_table().await.unwrap();
                self.new.create().await.unwrap();
            }
            Path::Diff => {}
            _ => raw.create([Family::new("cf", GcRule::max_versions(1))], [""; 0]).await.unwrap(),
        }
        let begun = Instant::now();
        let copied = match path {
            Path::BigtableRs => self.by_bigtable_rs().await,
            Path::RawLoop => self.by_raw_loop().await,
            Path::RawWriter => self.by_raw_writer().await,
            Path::Copy => {
                let copy = self.old.copy_to(&self.new, |key, _| departure_key(key)).without_verifying();
                copy.await.unwrap().copied()
            }
            Path::VerifiedCopy => {
                self.old.copy_to(&self.new, |key, _| departure_key(key)).await.unwrap().copied()
            }
            Path::Diff => {
                let diff = self.old.diff(&self.new, |key, _| departure_key(key)).await.unwrap();
                assert!(diff.is_equal(), "{diff}");
                diff.compared()
            }
        };
        let elapsed = begun.elapsed();
        assert_eq!(copied, rows);
        if matches!(path, Path::BigtableRs | Path::RawLoop | Path::RawWriter) {
            self.client.delete_table("copies").await.unwrap();
        }
        elapsed
    }

    async fn by_raw_loop(&self) -> u64 {
        let (old, new) = (self.client.raw_table("flights"), self.client.raw_table("copies"));
        let mut rows = old.read_rows(ReadRows::all()).try_chunks(ROWS_A_REQUEST);
        let mut copied = 0;
        while let Some(rows) = rows.try_next().await.unwrap() {
            copied += rows.len() as u64;
            let entries = rows.iter().map(|row| (raw_key(row.key()).into(), mutations(row))).collect();
            new.mutate_rows(entries).await.all_written().unwrap();
        }
        copied
    }

    async fn by_raw_writer(&self) -> u64 {
        let mut rows = self.client.raw_table("flights").read_rows(ReadRows::all());
        let writer =
            self.client.raw_table("copies").writer_with(|settings| settings.batch_entries = ROWS_A_REQUEST);
        while let Some(row) = rows.try_next().await.unwrap() {
            writer.write(raw_key(row.key()), mutations(&row)).await.unwrap();
        }
        writer.close().await.unwrap()
    }

    async fn by_bigtable_rs(&self) -> u64 {
        let connection =
            BigTableConnection::new_with_emulator(&self.host, "keyderive", "local", false, 1, None).unwrap();
        let (mut reader, mut writer) = (connection.client(), connection.client());
        let request = ReadRowsRequest {
            table_name: reader.get_full_table_name("flights"),
            ..ReadRowsRequest::default()
        };
        let mut rows = reader.stream_rows(request).await.unwrap().chunks(ROWS_A_REQUEST);
        let mut copied = 0;
        while let Some(rows) = rows.next().await {
            let entries = rows.into_iter().map(|row| {
                let (key, cells) = row.unwrap();
                let set = cells.into_iter().map(|cell| Message {
                    mutation: Some(Change::SetCell(SetCell {
                        family_name: cell.family_name,
                        column_qualifier: cell.qualifier,
                        timestamp_micros: cell.timestamp_micros,
                        value: cell.value,
                    })),
                });
                Entry { row_key: raw_key(&key), mutations: set.collect(), ..Entry::default() }
            });
            let request = MutateRowsRequest {
                table_name: writer.get_full_table_name("copies"),
                entries: entries.collect(),
                ..MutateRowsRequest::default()
            };
            let mut answers = writer.mutate_rows(request).await.unwrap();
            while let Some(answer) = answers.message().await.unwrap() {
                let is_ok = |entry: &&bigtable_rs::google::bigtable::v2::mutate_rows_response::Entry| {
                    entry.status.as_ref().is_none_or(|status| status.code == 0)
                };
                copied += answer.entries.iter().filter(is_ok).count() as u64;
            }
        }
        copied
    }
}

fn mutations(row: &RawRow) -> Vec<Mutation> {
    let set = row.cells().map(|cell| {
        let (family, value) = (cell.family(), cell.value().to_vec());
        Mutation::set(family, cell.qualifier().to_vec(), cell.timestamp_micros(), value)
    });
    set.collect()
}

fn main() -> ExitCode {
    program::run(|arguments| {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        match arguments.words()?.as_slice() {
            [] => runtime.block_on(measure()),
            // The process that the benchmark starts.
            _ => runtime.block_on(serve()),
        }
        Ok(())
    })
}

async fn measure() {
    let rows = data::read();
    let count = rows.len() as u64;
    let server = Server::start();
    let client = Client::emulator(&server.host).await.unwrap();
    let tables = Tables {
        old: client.table("flights"),
        new: client.table("departures"),
        host: server.host.clone(),
        client,
    };
    tables.old.create().await.unwrap();
    tables.new.create().await.unwrap();
    tables.old.load_iter(&rows).await.unwrap().all_written().unwrap();
    drop(rows);

    let own = std::process::id();
    let processor = || [own, server.child.id()].map(|process| processor_time_of(process).unwrap_or_default());
    let mut best = Path::ALL.map(|path| (path, Duration::MAX, [Duration::ZERO; 2]));
    for run in 0..RUNS {
        for (path, least, times) in &mut best {
            let before = processor();
            let elapsed = tables.run(*path, count).await;
            eprintln!("run {run}: {elapsed:.2?} {}", path.name());
            if elapsed < *least {
                let after = processor();
                *least = elapsed;
                *times = [0, 1].map(|process| after[process].saturating_sub(before[process]));
            }
        }
    }
    println!(
        "# Copies\n\n`cargo run --release -p keyderive-bench --bin copies` prints this part, of all 336776 \
         departures if `KEYDERIVE_FLIGHTS` names a file of them. Here {count} departures of up to ten columns are copied under other keys, from one table of an embedded \
         Bigtable to another one, over loopback; the server's process shares the two cores with the client's. Each row counts once, and \
         `copy_to` includes its comparison. The fastest of {RUNS} runs in turn.\n"
    );
    print_head(&["path", "rows/s", "client, CPU per row", "server, CPU per row"]);
    for (path, elapsed, [client, server]) in best {
        let micros = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6 / count as f64);
        let rate = format!("{:.0}", count as f64 / elapsed.as_secs_f64());
        print_line(&[path.name(), &rate, &micros(client), &micros(server)]);
    }
}
