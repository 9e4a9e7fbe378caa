//! The queries over departures and weather, on three executors.

use std::sync::Arc;

use ballista::prelude::SessionConfigExt as _;
use datafusion::prelude::{SessionConfig, SessionContext};
use keyderive::embedded::Bigtable;
use keyderive::layouts::Layouts;
use keyderive_datafusion::BigtableTable;

use self::data::designs;
use self::rows::{answer, assert_equal, queries, rows};
use crate::{Cluster, are_asked_for, patiently};

#[path = "../../../tests/duckdb/data.rs"]
mod data;
#[path = "../../../tests/duckdb/rows.rs"]
mod rows;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn executors_have_the_rows_of_one_process() {
    if !are_asked_for() {
        return;
    }
    let [flights, weather] = data::files(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    data::fill(&client, &flights, &weather).await;
    let designs = designs();
    let layouts = designs.iter().fold(Layouts::new(), |layouts, design| {
        layouts.add_layout(&design.flights).add_layout(&design.weather)
    });
    let cluster = Cluster::start(&bigtable, &layouts, 3).await;
    let alone = SessionContext::new();
    for (name, layout) in [("flights", &designs[0].flights), ("weather", &designs[0].weather)] {
        alone.register_table(name, Arc::new(BigtableTable::new(&client, layout).unwrap())).unwrap();
    }
    let mut refused = 0;
    for query in queries() {
        let expected = answer(&alone, &query).await;
        for design in &designs {
            let config = SessionConfig::new().with_target_partitions(3).upgrade_for_ballista();
            let session = cluster.session(config).await;
            for (name, layout) in [("flights", &design.flights), ("weather", &design.weather)] {
                let table = session.table_provider(layout.name()).await.unwrap();
                session.register_table(name, table).unwrap();
            }
            match patiently(&session, &query).await {
                Ok(batches) => assert_equal(design.name, &query, &rows(&batches), &expected),
                // DataFusion cannot decode a logical plan in which it found that a table has no rows.
                Err(error) => {
                    assert!(
                        error.to_string().contains("Could not parse plan"),
                        "{}: {query}: {error}",
                        design.name
                    );
                    refused += 1;
                }
            }
        }
    }
    eprintln!("{refused} refused");
    assert!(refused * 5 < 4 * queries().len());
}
