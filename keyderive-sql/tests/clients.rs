//! The program on a port, by keyderive's client and by Google's for Python, Go and Java, if they are installed: the documented queries of
//! `clients/queries.sql`, whose columns and rows are in `clients/answers.txt`. The clients' programs are in
//! `keyderive-cli/tests/port/clients`, and `.ci/run` builds them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::env;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use keyderive::client::{Aggregate, Family};
use keyderive::row::Mutation;
use keyderive::{Client, GcRule, Row, RowKey};
use keyderive_tests::left_out;

/// A running `keyderive-sql serve` on a free port. Dropping this ends it, even if a test panics.
struct Served {
    process: Child,
    host: String,
    /// Kept open, so that the program can write to it.
    _stdout: BufReader<ChildStdout>,
}

impl Served {
    fn start() -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_keyderive-sql"));
        program.args(["serve", "--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = program.spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let host = line.trim_end().strip_prefix("export BIGTABLE_EMULATOR_HOST=").map(str::to_owned);
        let Some(host) = host else { panic!("the program printed `{line}`") };
        Self { process, host, _stdout: stdout }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(RowKey)]
struct SaleKey {
    user_id: String,
    purchase_date: String,
    order_number: String,
}

#[derive(Row)]
#[row(family = "product")]
struct Sale {
    product_type: String,
    product_name: String,
}

/// Writes the tables that the queries read.
async fn write_tables(host: &str) -> Result<(), keyderive::Error> {
    let client = Client::builder().instance("keyderive", "local").emulator(host).await?;
    let plain = |name| Family::new(name, GcRule::never());
    let analytics = client.raw_table("analytics");
    analytics.create([plain("stats_summary"), plain("cell_plan")], [""; 0]).await?;
    for (key, plans, cell, wifi, build) in [
        ("phone#4c410523#20190501", &["data_plan_01gb", "data_plan_05gb"][..], 1i64, 1i64, "PQ2A.190405.003"),
        ("phone#4c410523#20190502", &["data_plan_05gb"], 1, 1, "PQ2A.190405.004"),
        ("phone#4c410523#20190505", &[], 0, 1, "PQ2A.190406.000"),
        ("phone#5c10102#20190501", &["data_plan_10gb"], 1, 1, "PQ2A.190401.002"),
        ("phone#5c10102#20190502", &["data_plan_10gb"], 1, 0, "PQ2A.190406.000"),
    ] {
        let at = 100_000_000;
        let mut mutations = vec![
            Mutation::set("stats_summary", "connected_cell", at, cell.to_be_bytes().to_vec()),
            Mutation::set("stats_summary", "connected_wifi", at, wifi.to_be_bytes().to_vec()),
            Mutation::set("stats_summary", "os_build", at, build),
        ];
        mutations.extend(plans.iter().map(|plan| Mutation::set("cell_plan", *plan, at, "true")));
        analytics.mutate_row(key, mutations).await?;
    }
    let changed = Mutation::set("cell_plan", "data_plan_01gb", 200_000_000, "false");
    analytics.mutate_row("phone#4c410523#20190501", [changed]).await?;

    let sales = client.table::<SaleKey, Sale>("sales");
    sales.create_if_absent().await?;
    for (user, date, order, kind, name) in [
        ("user1", "2025-05-20", "abcd1233", "phone", "iPhone16_pro_max"),
        ("user1", "2025-05-20", "abcd1235", "shoes", "nike_hyperdunk"),
        ("user2", "2025-05-24", "defg456", "headphones", "sony_wh_1000mx5"),
    ] {
        let [user_id, purchase_date, order_number] = [user, date, order].map(str::to_owned);
        let key = SaleKey { user_id, purchase_date, order_number };
        sales.put(&key, &Sale { product_type: kind.to_owned(), product_name: name.to_owned() }).await?;
    }

    let counters = client.raw_table("counters");
    counters.create([Family::aggregate("views", Aggregate::Sum, GcRule::never())], [""; 0]).await?;
    for (key, number) in [("user12#a", 100), ("user12#a", 42), ("user12#b", 7), ("user13#a", 500)] {
        counters.mutate_row(key, [Mutation::add_to_cell("views", "page", 0, number)]).await?;
    }
    Ok(())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Runs the program of a client on the queries, and compares what it prints.
fn run(language: &str, variable: &str, command: impl FnOnce(OsString) -> Command) {
    let Some(build) = env::var_os(variable).filter(|build| !build.is_empty()) else {
        left_out(&format!(
            "Google's {language} client, of which `{variable}` names no build (`.ci/run` makes one)"
        ));
        return;
    };
    let served = Served::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(write_tables(&served.host)).unwrap();
    let mut command = command(build);
    command
        .arg(folder().join("queries.sql"))
        .env("BIGTABLE_EMULATOR_HOST", &served.host)
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let expected = std::fs::read_to_string(folder().join("answers.txt")).unwrap();
    assert!(printed.trim_end() == expected.trim_end(), "printed:\n{printed}\nerrors:\n{errors}");
    assert!(output.status.success(), "{errors}");
}

#[test]
fn the_python_client_queries_it() {
    run("Python", "KEYDERIVE_PYTHON", |python| {
        let mut command = Command::new(python);
        command.arg(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../keyderive-cli/tests/port/clients/python/sql.py"),
        );
        command
    });
}

#[test]
fn the_go_client_queries_it() {
    run("Go", "KEYDERIVE_GO_CLIENT", |program| {
        let mut command = Command::new(program);
        command.arg("sql");
        command
    });
}

#[test]
fn the_java_client_queries_it() {
    run("Java", "KEYDERIVE_JAVA_CLIENT", |class_path| {
        let mut command = Command::new("java");
        command
            .arg("-Dfile.encoding=UTF-8")
            .arg("-Dstdout.encoding=UTF-8")
            .arg("-cp")
            .arg(class_path)
            .arg("Sql");
        command
    });
}

#[tokio::test]
async fn keyderive_queries_it() {
    let served = Served::start();
    write_tables(&served.host).await.unwrap();
    let client = Client::builder().instance("keyderive", "local").emulator(&*served.host).await.unwrap();
    let orders: Vec<(String, i64)> =
        client.query("SELECT user_id, COUNT(*) FROM sales GROUP BY user_id").fetch().await.unwrap();
    assert_eq!(orders, [("user1".to_owned(), 2), ("user2".to_owned(), 1)]);
}
