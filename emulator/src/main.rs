//! The embedded Bigtable on a port of the loopback interface.

use std::error::Error;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use keyderive::embedded::Bigtable;
use tokio::net::TcpListener;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

const HELP: &str = "\
Serves a Bigtable on a port of 127.0.0.1, for cbt and for clients in every language.

Usage: keyderive-emulator [--port PORT] [--file FILE] [--log]

  --port PORT  The port to listen on; 8086 unless given, and a free one for 0.
  --file FILE  Keeps tables in this file, which is made where there is none.
  --log        Tells of each request on the standard error.
  --help       Says this.

Without a file tables live in memory, as long as the process. What is on the standard output has programs find
it: the first line, pasted into a shell, is for those that use an emulator; the second is how cbt is called. The
project and the instance are any, and `keyderive` and `local` are those of a client of keyderive that names none.
It ends on ctrl-c and on SIGTERM, when the requests that have begun are answered.
";

/// What is asked for.
#[derive(Debug, PartialEq)]
enum Command {
    Help,
    Serve { port: u16, file: Option<PathBuf>, log: bool },
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, lexopt::Error> {
    use lexopt::prelude::*;
    let (mut port, mut file, mut log) = (8086, None, false);
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("port") => {
                let value = parser.value()?;
                port = value.parse().map_err(|error| format!("--port is a number up to 65535: {error}"))?;
            }
            Long("file") => file = Some(parser.value()?.into()),
            Long("log") => log = true,
            Long("help") | Short('h') => return Ok(Command::Help),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Command::Serve { port, file, log })
}

#[expect(clippy::print_stdout, reason = "the line to paste is what the command is for")]
async fn run(command: Command) -> Result<(), Box<dyn Error>> {
    let Command::Serve { port, file, log } = command else {
        print!("{HELP}");
        return Ok(());
    };
    let own = if log { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let told = Targets::new().with_target("keyderive", own).with_default(LevelFilter::WARN);
    let colors = std::io::stderr().is_terminal();
    let written = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colors);
    tracing_subscriber::registry().with(written.with_filter(told)).init();
    let bigtable = match file {
        Some(file) => Bigtable::open(file).await?,
        None => Bigtable::in_memory(),
    };
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await
        .map_err(|error| format!("port {port} of 127.0.0.1 cannot be listened on: {error}"))?;
    // Heard before anybody can know that it runs.
    let interrupted = interrupted()?;
    println!("export BIGTABLE_EMULATOR_HOST={}", listener.local_addr()?);
    println!("# cbt -project keyderive -instance local ls");
    bigtable.serve(listener, interrupted).await?;
    Ok(())
}

/// Ready when the process is asked to end.
#[cfg(unix)]
fn interrupted() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ready when the process is asked to end.
#[cfg(not(unix))]
fn interrupted() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "a command tells its failure there")]
async fn main() -> ExitCode {
    let outcome = match parse(std::env::args_os().skip(1)) {
        Ok(command) => run(command).await,
        Err(error) => Err(format!("{error}; see --help").into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Command, String> {
        parse(arguments.iter().map(Into::into)).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_are_read() {
        assert_eq!(parsed(&[]), Ok(Command::Serve { port: 8086, file: None, log: false }));
        let all = Command::Serve { port: 0, file: Some("kept".into()), log: true };
        assert_eq!(parsed(&["--log", "--file", "kept", "--port", "0"]), Ok(all));
        assert_eq!(parsed(&["-h"]), Ok(Command::Help));
        assert!(parsed(&["--prot"]).is_err());
        for port in ["70000", "abc", ""] {
            let error = parsed(&["--port", port]).unwrap_err();
            assert!(error.starts_with("--port is a number up to 65535: "), "{error}");
        }
    }
}
