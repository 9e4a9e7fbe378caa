//! A Ballista cluster for tables of keyderive: its scheduler, its executors, and the sessions of programs that make queries.
//!
//! Each process has the same file of layouts, and a client of its own for the Bigtable. Plans name tables, and hold no credentials.

use std::error::Error;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use ballista::prelude::{SessionConfigExt as _, SessionContextExt as _};
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use keyderive::Client;
use keyderive::layouts::Layouts;
use keyderive_datafusion::{BigtableTable, KeyderiveCodec};

/// An error of any part.
pub type Failure = Box<dyn Error + Send + Sync>;

/// How long an executor may say nothing, in seconds, until its tasks are given to others.
const EXECUTOR_TIMEOUT: u64 = 15;

/// The tables of a file of layouts, in a Bigtable.
#[derive(Debug)]
pub struct Tables {
    tables: Vec<(String, Arc<BigtableTable>)>,
    codec: Arc<KeyderiveCodec>,
}

impl Tables {
    /// Connects to the Bigtable, and reads the file of layouts.
    ///
    /// # Errors
    /// Those of [`Client::connect`]; if the file is not a layout file, or a table in it has several key types.
    pub async fn connect(bigtable: &str, layouts: &Path) -> Result<Self, Failure> {
        let client = Client::connect(bigtable).await?;
        let layouts = Layouts::from_json(&std::fs::read_to_string(layouts)?)?;
        let mut codec = KeyderiveCodec::new()
            .over_logical(Arc::new(BallistaLogicalExtensionCodec::default()))
            .over_physical(Arc::new(BallistaPhysicalExtensionCodec::default()));
        let mut tables = Vec::new();
        for name in layouts.table_names() {
            let table = Arc::new(BigtableTable::new(&client, &layouts.table_layout(name)?)?);
            codec = codec.with(&table);
            tables.push((name.to_owned(), table));
        }
        Ok(Self { tables, codec: Arc::new(codec) })
    }

    /// A session whose queries the cluster runs.
    ///
    /// # Errors
    /// If the address is not valid. A scheduler that does not answer fails the first query.
    pub async fn session(&self, scheduler: &str, config: SessionConfig) -> Result<SessionContext, Failure> {
        let config = config
            .upgrade_for_ballista()
            .with_ballista_logical_extension_codec(Arc::clone(&self.codec) as _)
            .with_ballista_physical_extension_codec(Arc::clone(&self.codec) as _);
        let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
        let context = SessionContext::remote_with_state(&format!("df://{scheduler}"), state).await?;
        for (name, table) in &self.tables {
            context.register_table(name, Arc::clone(table) as _)?;
        }
        Ok(context)
    }

    /// Runs a scheduler, which plans queries and gives their tasks to executors.
    ///
    /// # Errors
    /// If it cannot listen.
    pub async fn schedule(&self, port: u16) -> Result<(), Failure> {
        let config = SchedulerConfig {
            bind_port: port,
            scheduling_policy: TaskSchedulingPolicy::PullStaged,
            executor_timeout_seconds: EXECUTOR_TIMEOUT,
            expire_dead_executor_interval_seconds: 1,
            no_executors_grace_period_seconds: EXECUTOR_TIMEOUT,
            override_logical_codec: Some(Arc::clone(&self.codec) as _),
            override_physical_codec: Some(Arc::clone(&self.codec) as _),
            ..SchedulerConfig::default()
        };
        let cluster = BallistaCluster::new_from_config(&config).await?;
        Ok(start_server(cluster, (Ipv4Addr::LOCALHOST, port).into(), Arc::new(config)).await?)
    }

    /// Runs an executor, which does the tasks of a scheduler. It keeps what stages hand over in `folder`.
    ///
    /// # Errors
    /// If it cannot listen, or the scheduler does not answer for ten seconds.
    pub async fn execute(&self, port: u16, scheduler: &str, folder: &Path) -> Result<(), Failure> {
        let (host, scheduler_port) = scheduler.rsplit_once(':').ok_or("an address is HOST:PORT")?;
        let config = ExecutorProcessConfig {
            port,
            scheduler_host: host.to_owned(),
            scheduler_port: scheduler_port.parse()?,
            scheduler_connect_timeout_seconds: 10,
            task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
            work_dir: Some(folder.to_str().ok_or("the name of the folder is not UTF-8")?.to_owned()),
            override_logical_codec: Some(Arc::clone(&self.codec) as _),
            override_physical_codec: Some(Arc::clone(&self.codec) as _),
            ..ExecutorProcessConfig::default()
        };
        Ok(start_executor_process(Arc::new(config)).await?)
    }
}
