//! Bigtable's SQL on the port, by keyderive's client and by Google's, if they are installed: the documented queries of
//! `clients/queries.sql`, whose columns and rows are in `clients/answers.txt`.

use std::path::Path;
use std::process::Command;

use keyderive::client::{Aggregate, Family};
use keyderive::row::Mutation;
use keyderive::{Client, GcRule, Row, RowKey};

use crate::clients::{go, java, python, run};
use crate::served::Served;

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

/// Runs the queries, and compares what the program prints.
fn run_queries(client: Option<Command>) {
    let Some(mut client) = client else { return };
    let served = Served::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(write_tables(served.host())).unwrap();
    client.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/port/clients/queries.sql"));
    run(client, include_str!("clients/answers.txt"), &served);
}

#[test]
fn the_python_client_queries_it() {
    run_queries(python("sql.py"));
}

#[test]
fn the_go_client_queries_it() {
    run_queries(go("sql"));
}

#[test]
fn the_java_client_queries_it() {
    run_queries(java("Sql"));
}

#[tokio::test]
async fn keyderive_queries_it() {
    let served = Served::start();
    write_tables(served.host()).await.unwrap();
    let client = Client::builder().instance("keyderive", "local").emulator(served.host()).await.unwrap();
    let orders: Vec<(String, i64)> =
        client.query("SELECT user_id, COUNT(*) FROM sales GROUP BY user_id").fetch().await.unwrap();
    assert_eq!(orders, [("user1".to_owned(), 2), ("user2".to_owned(), 1)]);
}
