//! Scans into record batches beside visits of the same rows, `GROUP BY` beside Parquet and Google's Python client, and the memory of the
//! shell.
//!
//! `cargo bench -p keyderive-sql --bench speed [-- [scans|group|memory] --rows N]` prints tables in Markdown, of 10,000,000 rows by default.
//! The embedded Bigtable is a process of its own, so that the CPU of this one is the client's. `KEYDERIVE_PYTHON` names a
//! Python that has `google-cloud-bigtable` and `pandas`. Memory needs Linux.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints, and fails by a panic"
)]

use std::env;
use std::fs;
use std::future;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::physical_plan::{ExecutionPlan, execute_stream_partitioned};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures_util::TryStreamExt as _;
use keyderive::dynamic::TableLayout;
use keyderive::embedded::Bigtable;
use keyderive::layouts::Layouts;
use keyderive::{Client, Error, Row, RowKey};
use keyderive_datafusion::Exact;
use nix::time::{ClockId, clock_gettime};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Each counts by its least CPU time.
const RUNS: usize = 5;
/// Rows of the scans.
const SCANNED: u64 = 1_000_000;
/// Rows that Google's Python client reads: at its speed, all would take a day.
const PYTHON_ROWS: u64 = 200_000;
const ROWS_A_USER: u64 = 100;
const GROUP_BY: &str =
    "SELECT site, count(*), sum(clicks), avg(amount) FROM events GROUP BY site ORDER BY site";

#[derive(RowKey)]
#[salt(range = 4, over = "user_id,site")]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
    #[pad(6)]
    seq: u32,
}

#[derive(RowKey)]
#[salt(range = 4, over = "user_id,site")]
struct LentKey<'a> {
    user_id: &'a str,
    site: &'a str,
    #[reverse_ts]
    at: u64,
    #[pad(6)]
    seq: u32,
}

#[derive(Row)]
struct Event {
    kind: String,
    amount: f64,
    clicks: Option<i64>,
}

#[derive(Row)]
struct LentEvent<'a> {
    kind: &'a str,
    amount: f64,
    clicks: Option<i64>,
}

fn event(number: u64) -> (EventKey, Event) {
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let key = EventKey {
        user_id: format!("user-{:06}", number / ROWS_A_USER),
        site: ["blog", "home", "shop", "status", "wiki"][(random % 5) as usize].to_owned(),
        at: 1_700_000_000_000 + number * 1_000,
        seq: (number % 1_000_000) as u32,
    };
    let kind = ["buy", "click", "login"][(random / 5 % 3) as usize].to_owned();
    let clicks = (!random.is_multiple_of(3)).then_some((random % 100) as i64);
    (key, Event { kind, amount: (random % 10_000) as f64 / 4.0, clicks })
}

/// The first users, who have so many rows.
fn where_rows(rows: u64) -> String {
    format!("user_id < 'user-{:06}'", rows / ROWS_A_USER)
}

fn layout() -> TableLayout {
    TableLayout::of::<EventKey, Event>("events")
}

/// A process, until it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn serve(rows: u64) {
    let bigtable = Bigtable::in_memory();
    let events = bigtable.client().table::<EventKey, Event>("events");
    events.create().await.unwrap();
    events.load_iter((0..rows).map(event)).await.unwrap().all_written().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    bigtable.serve(listener, future::pending()).await.unwrap();
}

fn start_server(rows: u64) -> (Process, String) {
    let mut command = Command::new(env::current_exe().unwrap());
    let mut server =
        Process(command.args(["--serve", &rows.to_string()]).stdout(Stdio::piped()).spawn().unwrap());
    let mut host = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut host).unwrap();
    (server, host.trim().to_owned())
}

/// The CPU time of this process so far.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap().into()
}

#[derive(Clone, Copy)]
struct Cost {
    cpu: Duration,
    wall: Duration,
}

/// What a run costs, and what it returns.
fn measured<T>(run: impl FnOnce() -> T) -> (Cost, T) {
    let (cpu, wall) = (processor_time(), Instant::now());
    let result = run();
    (Cost { cpu: processor_time() - cpu, wall: wall.elapsed() }, result)
}

/// What a scan has read: the rows, and a sum over all fields and columns.
type Seen = (u64, u64);

fn see(seen: &mut Seen, key: &LentKey<'_>, event: &LentEvent<'_>) {
    seen.0 += 1;
    let texts = key.user_id.len() + key.site.len() + event.kind.len();
    let numbers = key.at ^ u64::from(key.seq) ^ event.amount.to_bits() ^ event.clicks.unwrap_or(-1) as u64;
    seen.1 = seen.1.wrapping_add(numbers).wrapping_add(texts as u64);
}

async fn visit(client: &Client) -> Seen {
    let (events, mut seen) = (client.table::<EventKey, Event>("events"), (0, 0));
    let end = format!("user-{:06}", SCANNED / ROWS_A_USER);
    let scan = events.scan(EventKey::scan().user_id_range(..end.as_str()));
    scan.visit::<LentKey<'_>, Error>(|key, row| {
        see(&mut seen, &key, &row.read::<LentEvent<'_>>()?);
        Ok(())
    })
    .await
    .unwrap();
    seen
}

async fn visit_by_data(client: &Client) -> Seen {
    use keyderive::dynamic::ValueRef;

    let layout = layout();
    let (events, mut seen) = (client.dynamic_table(&layout), (0, 0));
    let end = format!("user-{:06}", SCANNED / ROWS_A_USER);
    let plan = layout.key().scan().range("user_id", ..end).unwrap();
    let visit = |row: keyderive::dynamic::DynRowRef<'_>| {
        let text = |value| match value {
            Some(ValueRef::Text(text)) => text,
            other => panic!("{other:?} is no text"),
        };
        let integer = |value| match value {
            Some(ValueRef::Integer(value)) => value,
            other => panic!("{other:?} is no integer"),
        };
        let key = LentKey {
            user_id: text(row.key_field(0)),
            site: text(row.key_field(1)),
            at: integer(row.key_field(2)) as u64,
            seq: integer(row.key_field(3)) as u32,
        };
        let amount = match row.newest(1) {
            Some(ValueRef::F64(amount)) => amount,
            other => panic!("{other:?} is no number"),
        };
        let clicks = row.newest(2).map(|value| integer(Some(value)) as i64);
        see(&mut seen, &key, &LentEvent { kind: text(row.newest(0)), amount, clicks });
        Ok::<_, Error>(())
    };
    events.scan(plan).visit(visit).await.unwrap();
    seen
}

async fn plan(context: &SessionContext, sql: &str) -> Arc<dyn ExecutionPlan> {
    context.sql(sql).await.unwrap().create_physical_plan().await.unwrap()
}

/// The rows of a scan; each batch is dropped before the next one is made.
async fn batches(context: &SessionContext, sql: &str) -> u64 {
    let plan = plan(context, sql).await;
    let mut rows = 0;
    for mut partition in execute_stream_partitioned(plan, context.task_ctx()).unwrap() {
        while let Some(batch) = partition.try_next().await.unwrap() {
            rows += batch.num_rows() as u64;
        }
    }
    rows
}

async fn answer(context: &SessionContext) -> String {
    let rows = context.sql(GROUP_BY).await.unwrap().collect().await.unwrap();
    pretty_format_batches(&rows).unwrap().to_string()
}

/// Of one core.
fn context() -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1))
}

/// The least cost of each in turns, so that what else the machine does is alike for all.
fn least<T: PartialEq + std::fmt::Debug>(paths: &[(&str, &dyn Fn() -> T)]) -> Vec<Cost> {
    let mut least = Vec::new();
    for run in 0..=RUNS {
        let costs: Vec<_> = paths.iter().map(|(_, path)| measured(path)).collect();
        for ((name, _), (cost, result)) in paths.iter().zip(&costs) {
            eprintln!("{run}: {name}: {:.2?} of {:.2?}", cost.cpu, cost.wall);
            assert_eq!(result, &costs[0].1, "{name}");
        }
        // The first run warms up.
        match run {
            0 => {}
            1 => least = costs.into_iter().map(|(cost, _)| cost).collect(),
            _ => {
                for (least, (cost, _)) in least.iter_mut().zip(costs) {
                    if cost.cpu < least.cpu {
                        *least = cost;
                    }
                }
            }
        }
    }
    least
}

fn scans(runtime: &Runtime, client: &Client, rows: u64) {
    assert_eq!(runtime.block_on(visit(client)), runtime.block_on(visit_by_data(client)));
    let tables = context();
    tables.register_table("events", Arc::new(Exact::add(&tables).table(client, &layout()).unwrap())).unwrap();
    let sql = |columns: &str| format!("SELECT {columns} FROM events WHERE {}", where_rows(SCANNED));
    let (all, some, keys) = (sql("*"), sql("site, amount"), sql("user_id"));
    let paths: [(&str, &dyn Fn() -> u64); 5] = [
        ("`Table::visit`, borrowed typed rows", &|| runtime.block_on(visit(client)).0),
        ("`DynTable`, borrowed rows by data", &|| runtime.block_on(visit_by_data(client)).0),
        ("record batches, all 7 columns", &|| runtime.block_on(batches(&tables, &all))),
        ("record batches, 2 columns", &|| runtime.block_on(batches(&tables, &some))),
        ("record batches, a field of the key", &|| runtime.block_on(batches(&tables, &keys))),
    ];
    println!(
        "## Scans into record batches\n\n{} of {rows} rows, merged from 4 buckets. CPU is that of the client's process, which has one thread. \
         Visits add up all fields of the key and all cells; batches are dropped.\n",
        SCANNED.min(rows)
    );
    println!("| path | CPU per row | vs visit | target |\n|---|---|---|---|");
    let costs = least(&paths);
    for (at, ((name, _), cost)) in paths.iter().zip(&costs).enumerate() {
        let ratio = cost.cpu.as_secs_f64() / costs[0].cpu.as_secs_f64();
        let target = match (at, ratio > 1.15) {
            (2, true) => "**≤ 1.15 x: missed**",
            (2, false) => "≤ 1.15 x",
            _ => "",
        };
        let nanos = cost.cpu.as_secs_f64() * 1e9 / SCANNED.min(rows) as f64;
        println!("| {name} | {nanos:.1} ns | {ratio:.2} x | {target} |");
    }
    println!();
}

fn shell(host: &str, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyderive-sql"));
    command.args(arguments).arg("--address").arg(format!("emulator://{host}")).current_dir(folder);
    command.stdin(Stdio::null());
    command
}

fn group_by(runtime: &Runtime, client: &Client, host: &str, folder: &Path, rows: u64) {
    let parquet = folder.join("events.parquet");
    if !parquet.exists() {
        let status = shell(host, folder, &["export", "events", "events.parquet"]).status().unwrap();
        assert!(status.success());
    }
    let (tables, files) = (context(), context());
    tables.register_table("events", Arc::new(Exact::add(&tables).table(client, &layout()).unwrap())).unwrap();
    let options = ParquetReadOptions::default();
    runtime.block_on(files.register_parquet("events", parquet.to_str().unwrap(), options)).unwrap();
    let paths: [(&str, &dyn Fn() -> String); 2] = [
        ("Bigtable", &|| runtime.block_on(answer(&tables))),
        ("the same rows in Parquet", &|| runtime.block_on(answer(&files))),
    ];
    println!("## `GROUP BY`\n\n`{GROUP_BY}`, over {rows} rows, on one thread.\n");
    println!("| path | rows read | time | CPU | CPU per row | vs Bigtable |\n|---|---|---|---|---|---|");
    let costs = least(&paths);
    let line = |name: &str, read: u64, cost: Cost| {
        let per_row = |cost: Cost, rows: u64| cost.cpu.as_secs_f64() * 1e9 / rows as f64;
        let ratio = per_row(cost, read) / per_row(costs[0], rows);
        println!(
            "| {name} | {read} | {:.2} s | {:.2} s | {:.1} ns | {ratio:.2} x |",
            cost.wall.as_secs_f64(),
            cost.cpu.as_secs_f64(),
            per_row(cost, read)
        );
    };
    paths.iter().zip(&costs).for_each(|((name, _), cost)| line(name, rows, *cost));
    match env::var("KEYDERIVE_PYTHON") {
        Ok(python) => {
            let read = PYTHON_ROWS.min(rows);
            line("Google's Python client and pandas", read, by_python(&python, host, read));
        }
        Err(_) => {
            eprintln!("left out: Google's Python client; `KEYDERIVE_PYTHON` names a Python that has it");
        }
    }
    println!();
}

/// The script prints its CPU time and its time in nanoseconds, and the rows.
fn by_python(python: &str, host: &str, rows: u64) -> Cost {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/group_by.py");
    let output =
        Command::new(python).arg(script).arg(rows.to_string()).env("BIGTABLE_EMULATOR_HOST", host).output();
    let output = output.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = printed.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [cpu, wall, read] = numbers[..] else {
        panic!("{printed}{}", String::from_utf8_lossy(&output.stderr))
    };
    assert_eq!(read, rows);
    Cost { cpu: Duration::from_nanos(cpu), wall: Duration::from_nanos(wall) }
}

/// The peak of the resident memory of the shell in MB, and the lines that it prints.
fn peak(host: &str, folder: &Path, memory: &str, sql: &str) -> (u64, u64) {
    let mut command = shell(host, folder, &["--memory", memory, "--format", "csv", "-c", sql]);
    let mut child = Process(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut out = BufReader::with_capacity(1 << 16, child.0.stdout.take().unwrap());
    let lines = thread::spawn(move || {
        let mut lines = 0;
        while let Ok(bytes @ [_, ..]) = out.fill_buf() {
            lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            let read = bytes.len();
            out.consume(read);
        }
        lines
    });
    let mut peak = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.0.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or_default() * 1_024 / 1_000_000);
        if let Some(status) = child.0.try_wait().unwrap() {
            assert!(status.success(), "{sql}");
            return (peak, lines.join().unwrap());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn memory(host: &str, folder: &Path, rows: u64) {
    const BOUND: u64 = 256;
    let bound = format!("{BOUND}MB");
    let (base, _) = peak(host, folder, &bound, "SELECT 1");
    println!(
        "## Memory of the shell\n\nThe peak of the resident memory of `keyderive-sql --memory {bound} --format csv`, whose own is {base} MB, the \
         peak of `SELECT 1`. The groups are one for each row. Each target is the bound and the program's own.\n"
    );
    println!(
        "| rows | `SELECT *` | `ORDER BY amount` | `GROUP BY user_id, site, at` | target |\n|---|---|---|---|---|"
    );
    for part in [rows / 10, rows * 3 / 10, rows] {
        let from = format!("FROM events WHERE {}", where_rows(part));
        let peaks = [
            format!("SELECT * {from}"),
            format!("SELECT * {from} ORDER BY amount"),
            format!("SELECT user_id, site, at, count(*) {from} GROUP BY user_id, site, at"),
        ]
        .map(|sql| {
            let (peak, lines) = peak(host, folder, &bound, &sql);
            assert_eq!(lines, part + 1, "{sql}");
            eprintln!("{part}: {peak} MB: {sql}");
            peak
        });
        let target = match peaks.iter().all(|peak| *peak <= base + BOUND) {
            true => format!("≤ {} MB", base + BOUND),
            false => format!("**≤ {} MB: missed**", base + BOUND),
        };
        let [scan, sort, group] = peaks;
        println!("| {part} | {scan} MB | {sort} MB | {group} MB | {target} |");
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        Some(arguments.get(at + 1)?.parse::<u64>().unwrap())
    };
    if let Some(rows) = number("--serve") {
        return Builder::new_multi_thread().enable_all().build().unwrap().block_on(serve(rows));
    }
    let rows = number("--rows").unwrap_or(10_000_000);
    let parts = ["scans", "group", "memory"];
    let only = parts.into_iter().find(|part| arguments.iter().any(|argument| argument == part));
    let is_asked_for = |part: &str| only.is_none_or(|only| only == part);
    // Another run may be beside it.
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("speed-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("layouts.json"), Layouts::new().table::<EventKey, Event>("events").to_json())
        .unwrap();
    let (_server, host) = start_server(rows);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(Client::emulator(&host)).unwrap();
    println!(
        "# SQL\n\n`cargo bench -p keyderive-sql --bench speed` in `keyderive-datafusion` prints this part.\n"
    );
    if is_asked_for("scans") {
        scans(&runtime, &client, rows);
    }
    if is_asked_for("group") {
        group_by(&runtime, &client, &host, &folder, rows);
    }
    if is_asked_for("memory") {
        memory(&host, &folder, rows);
    }
    fs::remove_dir_all(&folder).unwrap();
}
