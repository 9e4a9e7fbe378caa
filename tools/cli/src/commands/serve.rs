//! `serve`: the embedded Bigtable on a port of the loopback interface.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyderive::embedded::{Bigtable, ServeSettings, shutdown_signal};
use keyderive_googlesql::Engine;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::exit::{Exit, Failure, Outcome};

/// Serve a Bigtable on a port of 127.0.0.1, for cbt and for clients in every language
///
/// Without a file, tables live in memory until the process ends. Standard output shows how to connect: paste the first line
/// into a shell before you run programs that can use an emulator; the second shows how to call cbt. Any project and instance
/// work; `keyderive` and `local` are the defaults of keyderive's client. SQL is answered as Google documents it for Bigtable.
///
/// On ctrl-c or SIGTERM, the process ends when the open requests are answered or the grace period is over. On a second signal
/// it ends at once, with the exit code 128 plus the signal's number.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8086)]
    port: u16,
    /// Keep tables in this file, which is created if it does not exist
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Log each request to standard error
    #[arg(long)]
    log: bool,
    #[command(flatten)]
    limits: Limits,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
struct Limits {
    /// How many connections may be open; further ones wait
    #[arg(long, value_name = "NUMBER", default_value_t = 512)]
    connections: usize,
    /// Close a connection that does not begin to speak HTTP/2 within this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    handshake_timeout: u32,
    /// Ping each peer at this interval, in seconds, and close the connection if there is no answer within 20 s
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    keep_alive: u32,
    /// How many MiB unfinished requests may have together; further ones are rejected. One request may have 256 MiB
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    request_memory: usize,
    /// How many MiB of rows and values a query may hold, its result among them
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    query_memory: usize,
    /// How many seconds open requests may take after the process is asked to end
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    grace: u32,
}

impl Limits {
    fn apply(&self, settings: &mut ServeSettings) {
        settings.connections = self.connections;
        settings.handshake_timeout = Duration::from_secs(self.handshake_timeout.into());
        settings.keep_alive_interval = Duration::from_secs(self.keep_alive.into());
        settings.request_bytes = self.request_memory.saturating_mul(1 << 20);
        settings.grace = Duration::from_secs(self.grace.into());
    }
}

impl Serve {
    pub(crate) fn run(self) -> Outcome {
        let runtime = Runtime::new().map_err(Failure::failed)?;
        let outcome = runtime.block_on(self.serve());
        // Abandons requests that still run: nobody waits for them.
        runtime.shutdown_timeout(Duration::from_secs(1));
        outcome
    }

    async fn serve(self) -> Outcome {
        let level = if self.log { LevelFilter::DEBUG } else { LevelFilter::WARN };
        let targets = Targets::new().with_target("keyderive", level).with_default(LevelFilter::WARN);
        let colors = io::stderr().is_terminal();
        let log_layer = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(colors);
        tracing_subscriber::registry().with(log_layer.with_filter(targets)).init();
        let bigtable = match &self.file {
            Some(file) => Bigtable::open(file)
                .await
                .map_err(|error| Failure::refused(format_args!("the file `{}` {error}", file.display())))?,
            None => Bigtable::in_memory(),
        };
        let port = self.port;
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(|error| {
            Failure::refused(format_args!("cannot listen on port {port} of 127.0.0.1: {error}"))
        })?;
        // Install the signal handlers before printing the address: a script may send a signal as soon as it reads it.
        let shutdown_signal = shutdown_signal().map_err(Failure::failed)?;
        let mut out = io::stdout();
        writeln!(out, "export BIGTABLE_EMULATOR_HOST={}", listener.local_addr().map_err(Failure::failed)?)?;
        writeln!(out, "# cbt -project keyderive -instance local ls")?;
        out.flush()?;
        let engine = Engine::default().memory_limit(self.limits.query_memory.saturating_mul(1 << 20));
        bigtable
            .with_query_engine(Arc::new(engine))
            .serve_with(listener, shutdown_signal, |settings| self.limits.apply(settings))
            .await
            .map_err(Failure::failed)?;
        Ok(Exit::Done)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        serve: Serve,
    }

    fn parsed(arguments: &[&str]) -> Result<Serve, String> {
        let arguments = ["serve"].iter().chain(arguments);
        Only::try_parse_from(arguments).map(|only| only.serve).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_are_read() {
        let default = parsed(&[]).unwrap();
        assert_eq!((default.port, default.file, default.log), (8086, None, false));
        let all = parsed(&["--log", "--file", "kept", "--port", "0"]).unwrap();
        assert_eq!((all.port, all.file, all.log), (0, Some("kept".into()), true));
        assert!(parsed(&["--prot"]).is_err());
        for port in ["70000", "abc", ""] {
            assert!(parsed(&["--port", port]).unwrap_err().contains("--port <PORT>"));
        }
        assert!(parsed(&["--grace", "-1"]).is_err());
    }

    #[test]
    fn the_default_limits_are_those_of_the_library() {
        let mut settings = ServeSettings::default();
        parsed(&[]).unwrap().limits.apply(&mut settings);
        assert_eq!(settings, ServeSettings::default());
        let limited = ["--connections", "3", "--request-memory", "3", "--keep-alive", "7"];
        parsed(&limited).unwrap().limits.apply(&mut settings);
        assert_eq!((settings.connections, settings.request_bytes), (3, 3 << 20));
        assert_eq!(settings.keep_alive_interval, Duration::from_secs(7));
    }
}
