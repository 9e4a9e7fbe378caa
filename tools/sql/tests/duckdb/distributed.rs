//! The queries on three workers of datafusion-distributed, which are processes.

use std::sync::Arc;

use datafusion::prelude::SessionConfig;
use keyderive::Client;
use keyderive::embedded::Bigtable;
use keyderive_datafusion::{BigtableTable, KeyderiveCodec};

use crate::contexts;
use crate::data::{self, designs, files};
use crate::rows::{answer, assert_equal, queries};
use crate::workers::{self, WORKERS, Workers, are_asked_for, distributed, serve};

/// The tables of each design: of the departures, and of the weather.
fn tables(client: &Client) -> Vec<(&'static str, [Arc<BigtableTable>; 2])> {
    let table = |layout| Arc::new(BigtableTable::new(client, layout).unwrap());
    let designs = designs();
    designs.iter().map(|of| (of.name, [table(&of.flights), table(&of.weather)])).collect()
}

fn codec(client: &Client) -> KeyderiveCodec {
    let tables = tables(client);
    tables.iter().flat_map(|(_, tables)| tables).fold(KeyderiveCodec::new(), |codec, table| codec.with(table))
}

/// No test, but what a worker runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    workers::work(codec).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_have_the_rows_of_one_process() {
    if !are_asked_for() {
        return;
    }
    let [flights, weather] = files(env!("CARGO_MANIFEST_DIR"));
    let (_, in_memory) = contexts(&flights, &weather).await;
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    data::fill(&client, &flights, &weather).await;
    let address = serve(&bigtable).await;
    let processes: Vec<_> = (0..WORKERS).map(|_| workers::start("distributed::worker", &address)).collect();
    let workers = Workers::default();
    workers.set(&processes);
    let spread = tables(&client).into_iter().map(|(name, [flights, weather])| {
        let config = SessionConfig::new().with_target_partitions(3);
        let context = distributed(config, codec(&client), workers.clone()).unwrap();
        context.register_table("flights", flights).unwrap();
        context.register_table("weather", weather).unwrap();
        (name, context)
    });
    let spread: Vec<_> = spread.collect();
    for query in queries() {
        let expected = answer(&in_memory, &query).await;
        for (name, context) in &spread {
            assert_equal(&format!("{name}, on workers"), &query, &answer(context, &query).await, &expected);
        }
    }
}
