//! Google's clients for Go, Java and Python, and `bigtable_rs`, beside keyderive: each in a process of its own, against one server.
//!
//! A client is a program with the arguments `scan` or `write`, the number of rows and of runs. It makes one run to warm up, and
//! prints for each further run the processor time of its whole process in nanoseconds, the rows, and the bytes of their keys and
//! values.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keyderive::{Client, RowKey};
use keyderive_scripted::{Answer, Request, Rpc};
use nix::time::{ClockId, clock_gettime};

use super::data::{FAMILY, Reading, cell_written, now_micros};
use super::server::{AcceptWrites, Script, Server, Stored, Written};
use super::{Size, bigtable, machine, turns};
use crate::program::{Failure, print_head, print_line};

/// The rows of a request that writes.
const ROWS_A_REQUEST: usize = 5000;

/// The key of each row: text that every client can make.
#[derive(RowKey, Clone, Debug, PartialEq)]
struct StationKey {
    station: String,
    #[pad(12)]
    number: u64,
}

fn row(number: u32) -> (StationKey, Reading) {
    let reading = Reading::number(number);
    (StationKey { station: reading.station.clone(), number: number.into() }, reading)
}

fn rows(count: u32) -> Vec<(StationKey, Reading)> {
    (0..count).map(row).collect()
}

/// The bytes of a row's key and values.
fn size_of((key, reading): &(StationKey, Reading)) -> u64 {
    let key = key.station.len() + 1 + 12;
    (key + 8 + 8 + reading.station.len()) as u64
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Scan,
    Write,
}

/// All works, by their names.
pub const WORKS: [(&str, Work); 2] = [("scan", Work::Scan), ("write", Work::Write)];

/// Serves the rows, and accepts writes.
struct Serves {
    stored: Stored,
    writes: AcceptWrites,
}

impl Script for Serves {
    fn answer(&self, request: &Request) -> Answer {
        match request.rpc {
            Rpc::ReadRows => self.stored.answer(request),
            _ => self.writes.answer(request),
        }
    }
}

/// A client, and how to run its program.
struct Peer {
    name: String,
    command: Box<dyn Fn() -> Command>,
}

impl Peer {
    fn new(name: impl Into<String>, command: impl Fn() -> Command + 'static) -> Self {
        Self { name: name.into(), command: Box::new(command) }
    }

    /// The least processor time of its runs.
    fn measure(&self, work: &str, host: &str, size: Size<'_>, bytes: u64) -> Result<Duration, Failure> {
        let mut command = (self.command)();
        command.arg(work).arg(size.rows.to_string()).arg(size.runs.to_string());
        let output = command.env("BIGTABLE_EMULATOR_HOST", host).stdin(Stdio::null()).output()?;
        let failed = |what: &str| {
            let (printed, errors) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            format!("{}, {}: {what}\n{printed}\n{errors}", self.name, work)
        };
        if !output.status.success() {
            return Err(failed("it failed").into());
        }
        let mut runs = Vec::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
            match numbers.as_deref() {
                Ok(&[nanos, rows, read]) if rows == u64::from(size.rows) && read == bytes => runs.push(nanos),
                _ => return Err(failed("other rows").into()),
            }
        }
        match (runs.len() == size.runs, runs.into_iter().min()) {
            (true, Some(least)) => Ok(Duration::from_nanos(least)),
            _ => Err(failed("not all runs").into()),
        }
    }
}

/// Measures the clients, which it installs, and prints a table in Markdown.
///
/// # Errors
/// When a client cannot be built, fails, or reads or writes other rows.
pub fn run(size: Size<'_>) -> Result<(), Failure> {
    let peers = peers()?;
    machine::pin_client();
    let mut stored = rows(size.rows);
    stored.sort_by(|(one, _), (other, _)| (&one.station, one.number).cmp(&(&other.station, other.number)));
    let bytes: u64 = stored.iter().map(size_of).sum();
    let mut cells = 0_u64;
    let mut encoded = Vec::with_capacity(stored.len());
    for (key, reading) in &stored {
        let key = Bytes::from(key.encode()?);
        for (qualifier, value) in reading.cells() {
            cells = cells.wrapping_add(cell_written(&key, FAMILY.as_bytes(), qualifier.as_bytes(), &value));
        }
        encoded.push((key, reading));
    }
    let written = Arc::new(Written::default());
    written.check(true);
    let serves = Serves { stored: Stored::new([encoded]), writes: AcceptWrites::new(Arc::clone(&written)) };
    let server = Server::start(serves);

    println!("# Clients in other languages\n\n{}\n", about(size));
    print_head(&["client", "scan, CPU per row", "vs keyderive", "bulk write, CPU per row", "vs keyderive"]);
    let mut ours: Option<[Duration; 2]> = None;
    for peer in &peers {
        let scan = peer.measure("scan", &server.host(), size, bytes)?;
        let write = peer.measure("write", &server.host(), size, bytes)?;
        let runs = size.runs as u64 + 1;
        let expected = (runs * u64::from(size.rows), cells.wrapping_mul(runs));
        let found = written.take();
        if found != expected {
            return Err(
                format!("{}: it wrote {found:?} rows and cells, and not {expected:?}", peer.name).into()
            );
        }
        let ours = *ours.get_or_insert([scan, write]);
        let nanos = |time: Duration| format!("{:.1} ns", time.as_secs_f64() * 1e9 / f64::from(size.rows));
        let ratio =
            |time: Duration, ours: Duration| format!("{:.1} x", time.as_secs_f64() / ours.as_secs_f64());
        let [of_scan, of_write] = [ratio(scan, ours[0]), ratio(write, ours[1])];
        print_line(&[&peer.name, &nanos(scan), &of_scan, &nanos(write), &of_write]);
    }
    Ok(())
}

fn about(size: Size<'_>) -> String {
    format!(
        "`cargo run --release -p keyderive-bench --bin clients >> docs/benchmarks.md` installs Google's clients into the build \
         folder and writes this part. Each client runs in a process of its own, on one core, against one server on the other \
         core, with its default settings for an emulator; `bigtable_rs` and keyderive open one connection. CPU is that of the whole \
         process, with its garbage collector and its just-in-time compiler; one run before those that count warms it up. Each scans \
         the whole table as a stream, and writes it in requests of {ROWS_A_REQUEST} rows, one after the other; keyderive's `put_all` \
         fills requests up to 1 MiB. keyderive and `bigtable_rs` make typed rows, the other clients their own rows. The server checks \
         every cell that is written, and each client adds up the bytes that it reads. Ratios are of the times before \
         rounding.\n\nThese times do not compare with those above: there CPU is that of one thread, and a key has 54 bytes, a salt \
         and four fields; here it has 19 bytes and two fields, without a salt. There is no program with the C++ client \
         yet.\n\n{}",
        machine::describe(size)
    )
}

/// The clients, keyderive first.
fn peers() -> Result<Vec<Peer>, Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("bash").arg(root.join(".ci/clients")).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("`.ci/clients` cannot build Google's clients".into());
    }
    let printed = String::from_utf8(output.stdout)?;
    let built = |name: &str| {
        let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(str::to_owned).ok_or_else(|| Failure::from(format!("`.ci/clients` has built no `{name}`")))
    };
    let (go, java, python) =
        (built("KEYDERIVE_GO_CLIENT")?, built("KEYDERIVE_JAVA_CLIENT")?, built("KEYDERIVE_PYTHON")?);
    let script = root.join("tools/cli/tests/port/clients/python/bench.py");
    let own = std::env::current_exe()?;
    let rust = move |name: &'static str| {
        let own = own.clone();
        move || {
            let mut command = Command::new(&own);
            command.args(["--client", name]);
            command
        }
    };
    Ok(vec![
        Peer::new("keyderive, owned typed rows", rust("keyderive")),
        Peer::new("`bigtable_rs` 0.4.2, owned typed rows", rust("bigtable_rs")),
        Peer::new("Java, `google-cloud-bigtable` 2.83.0", move || {
            let mut command = Command::new("java");
            command.arg("-cp").arg(&java).arg("Bench");
            command
        }),
        Peer::new("Go, `cloud.google.com/go/bigtable` 1.58.0", move || Command::new(&go)),
        Peer::new("Python, `google-cloud-bigtable` 2.50.2, its data client", move || {
            let mut command = Command::new(&python);
            command.arg(&script);
            command
        }),
    ])
}

/// What a run has read or written: rows, and the bytes of their keys and values.
#[derive(Clone, Copy, Default)]
struct Done {
    rows: u64,
    bytes: u64,
}

/// Runs one of the clients in Rust, as a program of its own.
///
/// # Errors
/// When there is no such client, or it fails.
pub fn run_client(name: &str, work: Work, Size { rows: count, runs, .. }: Size<'_>) -> Result<(), Failure> {
    let host = std::env::var("BIGTABLE_EMULATOR_HOST")?;
    let runtime = turns::runtime()?;
    let rows = if work == Work::Write { rows(count) } else { Vec::new() };
    let client = runtime.block_on(Client::emulator(&host))?;
    let table = client.table::<StationKey, Reading>("readings");
    let peer = runtime.block_on(async { bigtable::connect(&host) })?;
    for run in 0..=runs {
        let begun = process_time()?;
        let done = runtime.block_on(async {
            match (name, work) {
                ("keyderive", Work::Scan) => {
                    let mut done = Done::default();
                    let mut stream = table.scan(StationKey::scan()).stream();
                    while let Some(row) = stream.next().await {
                        done.add(&row?);
                    }
                    Ok(done)
                }
                ("keyderive", Work::Write) => {
                    table.put_all(&rows).await?;
                    Ok(Done::of(&rows))
                }
                ("bigtable_rs", Work::Scan) => {
                    let mut done = Done::default();
                    bigtable::scan_rows(peer.clone(), |key, row| done.add(&(key, row))).await?;
                    Ok(done)
                }
                ("bigtable_rs", Work::Write) => {
                    bigtable::write(peer.clone(), &rows, ROWS_A_REQUEST, now_micros()).await?;
                    Ok(Done::of(&rows))
                }
                _ => Err(Failure::from(format!("there is no client `{name}`"))),
            }
        })?;
        let time = process_time()? - begun;
        if run > 0 {
            println!("{} {} {}", time.as_nanos(), done.rows, done.bytes);
        }
    }
    Ok(())
}

impl Done {
    #[inline]
    fn add(&mut self, row: &(StationKey, Reading)) {
        self.rows += 1;
        self.bytes += size_of(row);
    }

    fn of(rows: &[(StationKey, Reading)]) -> Self {
        let mut done = Self::default();
        rows.iter().for_each(|row| done.add(row));
        done
    }
}

/// The processor time of this process so far.
fn process_time() -> Result<Duration, Failure> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map(Duration::from)?)
}
