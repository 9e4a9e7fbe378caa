//! Queries on several machines by datafusion-distributed: here on workers that are processes of this machine.
//!
//! `cargo run --features codec --example distributed` serves an embedded Bigtable, starts three workers, and prints the rows of each query, and
//! for comparison those of one process. To start another number of workers, pass it as an argument.
//!
//! To deploy it, run `distributed worker 50051 bigtable://my-project/my-instance` on each machine; the worker uses the credentials of the
//! machine. Workers read each other's rows, so change the address on which they listen to one that the other machines reach. They do not
//! authenticate their clients, so run them in a private network only. The program that plans the queries registers the same tables, and lists
//! the running workers in `Workers`. A query fails if one of its workers dies; later queries fail too until the worker is removed from the list.
#![allow(clippy::print_stdout)]

use std::env;
use std::error::Error;
use std::future;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, RwLock};

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::{Result as DataFusionResult, exec_datafusion_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedExt as _, DistributedLeafExec,
    ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse, SessionStateBuilderExt as _, Worker,
    WorkerQueryContext, WorkerResolver,
};
use keyderive::dynamic::TableLayout;
use keyderive::embedded::Bigtable;
use keyderive::{Client, Row, RowKey};
use keyderive_datafusion::{BigtableTable, KeyderiveCodec, ScanWindows, SortAfterShuffle};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use url::Url;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id,site")]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
}

#[derive(Row)]
struct Event {
    kind: String,
    amount: Option<f64>,
}

/// The table of every process.
fn events(client: &Client) -> DataFusionResult<BigtableTable> {
    BigtableTable::new(client, &TableLayout::of::<EventKey, Event>("events"))
}

/// Takes the tasks of queries.
pub(crate) async fn work(codec: KeyderiveCodec, listener: TcpListener) -> Result<(), Failure> {
    let worker = Worker::from_session_builder(move |query: WorkerQueryContext| {
        let codec = codec.clone();
        async move { Ok(query.builder.with_distributed_user_codec(codec).build()) }
    });
    println!("{LISTENING}{}", listener.local_addr()?);
    let incoming = TcpIncoming::from(listener);
    Server::builder().add_service(worker.into_worker_server()).serve_with_incoming(incoming).await?;
    Ok(())
}

const LISTENING: &str = "listening on ";

/// The workers that get tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workers(Arc<RwLock<Vec<Url>>>);

impl Workers {
    pub(crate) fn set(&self, workers: &[WorkerProcess]) {
        if let Ok(mut urls) = self.0.write() {
            *urls = workers.iter().map(|worker| worker.url.clone()).collect();
        }
    }
}

impl WorkerResolver for Workers {
    fn get_urls(&self) -> DataFusionResult<Vec<Url>> {
        let urls = self.0.read().map_err(|error| exec_datafusion_err!("{error}"))?;
        Ok(urls.clone())
    }
}

/// Runs queries on workers.
pub(crate) fn distributed(
    config: SessionConfig,
    codec: KeyderiveCodec,
    workers: Workers,
) -> DataFusionResult<SessionContext> {
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_physical_optimizer_rule(Arc::new(SortAfterShuffle))
        .with_distributed_planner()
        .with_distributed_worker_resolver(workers)
        .with_distributed_user_codec(codec)
        .with_distributed_desired_task_count_handler(tasks)
        .with_distributed_scale_up_leaf_node_handler(split)
        // Each task has all of a join's small side, so that the join limits what the task reads of the other.
        .with_distributed_broadcast_joins(true)?
        .build();
    Ok(SessionContext::new_with_state(state))
}

/// As many tasks as a scan has windows; the engine makes no more than it has workers.
fn tasks(event: DesiredTaskCountEvent<'_>) -> Option<DataFusionResult<DesiredTaskCountEventResponse>> {
    let windows = ScanWindows::of(event.plan)?;
    Some(Ok(DesiredTaskCountEventResponse::desired(windows.count().max(1))))
}

/// Gives each task its own windows. Without this, every task would read all rows.
fn split(event: ScaleUpLeafNodeEvent<'_>) -> Option<DataFusionResult<ScaleUpLeafNodeEventResponse>> {
    let leaves = ScanWindows::of(event.plan)?.split(event.task_count);
    let leaf = leaves.and_then(|leaves| DistributedLeafExec::try_new(Arc::clone(event.plan), leaves));
    Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
}

/// A worker in a process of its own, which ends with this value.
pub(crate) struct WorkerProcess {
    child: Child,
    /// A process ends that writes to a closed pipe.
    out: BufReader<ChildStdout>,
    url: Url,
}

impl WorkerProcess {
    /// Waits until it listens.
    pub(crate) fn start(command: &mut Command) -> Result<Self, Failure> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().map(BufReader::new).ok_or("a worker has no output")?;
        let mut worker = Self { child, out, url: Url::parse("http://localhost")? };
        let mut line = String::new();
        while worker.out.read_line(&mut line)? > 0 {
            if let Some((_, address)) = line.trim_end().split_once(LISTENING) {
                worker.url = Url::parse(&format!("http://{address}"))?;
                return Ok(worker);
            }
            line.clear();
        }
        Err("a worker has ended before it listened".into())
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let count = match arguments[..] {
        ["worker", port, bigtable] => {
            let client = Client::connect(bigtable).await?;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.parse()?)).await?;
            return work(KeyderiveCodec::new().with(&events(&client)?), listener).await;
        }
        [count] => count.parse()?,
        [] => 3,
        _ => return Err("usage: distributed [WORKERS], or distributed worker PORT BIGTABLE".into()),
    };

    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    let rows = (0..10_000_u64).map(|at| {
        let user_id = ["alice", "bob", "carol"][at as usize % 3].to_owned();
        let site = ["blog", "home", "shop", "wiki"][at as usize % 4].to_owned();
        let amount = (at % 5 == 0).then_some(at as f64 / 4.0);
        (EventKey { user_id, site, at }, Event { kind: "click".into(), amount })
    });
    let table = client.table::<EventKey, Event>("events");
    table.create_if_absent().await?;
    table.put_all(rows.collect::<Vec<_>>()).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = format!("emulator://{}", listener.local_addr()?);
    tokio::spawn(async move { bigtable.serve(listener, future::pending()).await });

    let worker = |_| WorkerProcess::start(Command::new(env::current_exe()?).args(["worker", "0", &address]));
    let processes = (0..count).map(worker).collect::<Result<Vec<_>, Failure>>()?;
    let workers = Workers::default();
    workers.set(&processes);

    let config = SessionConfig::new().with_target_partitions(2);
    let events = Arc::new(events(&client)?);
    let codec = KeyderiveCodec::new().with(&events);
    let alone = SessionContext::new_with_config(config.clone());
    let context = distributed(config, codec, workers)?;
    for context in [&alone, &context] {
        context.register_table("events", Arc::clone(&events) as _)?;
    }
    for sql in [
        "SELECT user_id, site, count(*), sum(amount) FROM events GROUP BY user_id, site ORDER BY user_id, site",
        "SELECT site, at, amount FROM events WHERE user_id = 'alice' ORDER BY site DESC, at LIMIT 3",
        "SELECT tier, count(*) FROM events JOIN (VALUES ('bob', 'gold'), ('dora', 'silver')) AS t(name, tier) ON user_id = name GROUP BY tier",
        "EXPLAIN SELECT site, count(*) FROM events WHERE user_id = 'alice' GROUP BY site",
    ] {
        println!("\n{sql}");
        for (name, context) in [("one process", &alone), ("workers", &context)] {
            let rows = context.sql(sql).await?.collect().await?;
            println!("{name}:\n{}", pretty_format_batches(&rows)?);
        }
    }
    Ok(())
}
