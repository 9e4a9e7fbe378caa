//! The program `keyderive-sql`: an embedded Bigtable on a port that answers SQL.

use std::error::Error;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use keyderive_embedded::{Bigtable, shutdown_signal};
use keyderive_sql::Engine;
use tokio::net::TcpListener;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Bigtable's SQL for tests
#[derive(Debug, Parser)]
#[command(version)]
enum Program {
    /// Serve a Bigtable that answers SQL on a port of 127.0.0.1
    ///
    /// Without a file, tables live in memory until the process ends. Standard output shows how to connect: paste the line into a shell
    /// before you run programs that can use an emulator. Any project and instance work.
    ///
    /// On ctrl-c or SIGTERM, the process ends when the open requests are answered, or after 5 s.
    Serve {
        /// The port to listen on; 0 takes a free one
        #[arg(long, value_name = "PORT", default_value_t = 8086)]
        port: u16,
        /// Keep tables in this file, which is created if it does not exist
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Log each request to standard error
        #[arg(long)]
        log: bool,
    },
}

fn main() -> ExitCode {
    let Program::Serve { port, file, log } = Program::parse();
    let serving = tokio::runtime::Runtime::new().map_err(Into::into);
    match serving.and_then(|runtime| runtime.block_on(serve(port, file, log))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody reads a standard error that is closed.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(port: u16, file: Option<PathBuf>, log: bool) -> Result<(), Box<dyn Error>> {
    let level = if log { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let targets = Targets::new().with_target("keyderive", level).with_default(LevelFilter::WARN);
    let layer =
        tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    tracing_subscriber::registry().with(layer.with_filter(targets)).init();
    let bigtable = match &file {
        Some(file) => {
            Bigtable::open(file).await.map_err(|error| format!("the file `{}` {error}", file.display()))?
        }
        None => Bigtable::in_memory(),
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await;
    let listener = listener.map_err(|error| format!("cannot listen on port {port} of 127.0.0.1: {error}"))?;
    // Install the signal handlers before printing the address: a script may send a signal as soon as it reads it.
    let shutdown = shutdown_signal()?;
    let mut out = io::stdout();
    writeln!(out, "export BIGTABLE_EMULATOR_HOST={}", listener.local_addr()?)?;
    out.flush()?;
    bigtable.with_query_engine(Arc::new(Engine)).serve(listener, shutdown).await?;
    Ok(())
}
