//! A Ballista cluster for tables of keyderive, and its queries.

use std::env;
use std::path::Path;

use datafusion::prelude::SessionConfig;
use keyderive_datafusion_ballista::{Failure, Tables};

const USAGE: &str = "usage:
  scheduler PORT BIGTABLE LAYOUTS
  executor PORT SCHEDULER FOLDER BIGTABLE LAYOUTS
  sql QUERY SCHEDULER BIGTABLE LAYOUTS

PORT is one of this machine, SCHEDULER is HOST:PORT, FOLDER has what the stages of queries hand over, BIGTABLE is an address as
`bigtable://my-project/my-instance`, and LAYOUTS is the file of layouts, the same in every process.";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [role @ .., bigtable, layouts] = &arguments[..] else { return Err(USAGE.into()) };
    let tables = Tables::connect(bigtable, Path::new(layouts));
    match role {
        ["scheduler", port] => tables.await?.schedule(port.parse()?).await,
        ["executor", port, scheduler, folder] => {
            tables.await?.execute(port.parse()?, scheduler, Path::new(folder)).await
        }
        ["sql", query, scheduler] => {
            let context = tables.await?.session(scheduler, SessionConfig::new()).await?;
            Ok(context.sql(query).await?.show().await?)
        }
        _ => Err(USAGE.into()),
    }
}
