//! The embedded Bigtable on a port of the loopback interface.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use keyderive_embedded::{Bigtable, ServeSettings};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

const HELP: &str = "\
Serves a Bigtable on a port of 127.0.0.1, for cbt and for clients in every language.

Usage: keyderive-emulator [--port PORT] [--file FILE] [--log] [LIMITS]

  --port PORT  The port to listen on; the default is 8086, and 0 takes a free one.
  --file FILE  Keeps tables in this file, which is created if it does not exist.
  --log        Logs each request to standard error.
  --help       Prints this help.

Limits, with their defaults:

  --connections 512       How many connections may be open; further ones wait.
  --handshake-timeout 10  Closes a connection that does not begin to speak HTTP/2
                          within this many seconds.
  --keep-alive 30         Pings each peer at this interval, in seconds, and closes
                          the connection if there is no answer within 20 s.
  --request-memory 512    How many MiB unfinished requests may have together;
                          further ones are rejected. One request may have 256 MiB.
  --grace 5               How many seconds open requests may take after the
                          process is asked to end.

Without a file, tables live in memory until the process ends. Standard output shows how to connect: paste the first
line into a shell before you run programs that can use an emulator; the second shows how to call cbt. Any project
and instance work; `keyderive` and `local` are the defaults of keyderive's client. On ctrl-c or SIGTERM, the process
ends when the open requests are answered or the grace period is over. On a second signal it ends at once, with the
exit code 128 plus the signal's number.
";

#[derive(Debug, PartialEq)]
enum Command {
    Help,
    Serve { port: u16, file: Option<PathBuf>, log: bool, settings: ServeSettings },
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, lexopt::Error> {
    use lexopt::prelude::*;
    let (mut port, mut file, mut log) = (8086, None, false);
    let mut settings = ServeSettings::default();
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("port") => {
                let value = parser.value()?;
                port = value.parse().map_err(|error| format!("--port is a number up to 65535: {error}"))?;
            }
            Long("file") => file = Some(parser.value()?.into()),
            Long("log") => log = true,
            Long("connections") => settings.connections = number("--connections", &parser.value()?)?,
            Long("handshake-timeout") => {
                settings.handshake_timeout = seconds("--handshake-timeout", &parser.value()?)?;
            }
            Long("keep-alive") => settings.keep_alive_interval = seconds("--keep-alive", &parser.value()?)?,
            Long("grace") => settings.grace = seconds("--grace", &parser.value()?)?,
            Long("request-memory") => {
                let mebibytes: usize = number("--request-memory", &parser.value()?)?;
                settings.request_bytes = mebibytes.saturating_mul(1 << 20);
            }
            Long("help") | Short('h') => return Ok(Command::Help),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Command::Serve { port, file, log, settings })
}

fn number<T: FromStr>(option: &str, value: &OsStr) -> Result<T, String> {
    let number = value.to_str().and_then(|value| value.parse().ok());
    number.ok_or_else(|| format!("{option} is a whole number, not `{}`", value.display()))
}

fn seconds(option: &str, value: &OsStr) -> Result<Duration, String> {
    // Larger durations would overflow the clock.
    number::<u32>(option, value).map(|seconds| Duration::from_secs(seconds.into()))
}

#[expect(clippy::print_stdout, reason = "the line to paste is what the command is for")]
async fn run(command: Command) -> Result<(), Box<dyn Error>> {
    let Command::Serve { port, file, log, settings } = command else {
        print!("{HELP}");
        return Ok(());
    };
    let level = if log { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let targets = Targets::new().with_target("keyderive", level).with_default(LevelFilter::WARN);
    let colors = std::io::stderr().is_terminal();
    let log_layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colors);
    tracing_subscriber::registry().with(log_layer.with_filter(targets)).init();
    let bigtable = match file {
        Some(file) => {
            Bigtable::open(&file).await.map_err(|error| format!("the file `{}` {error}", file.display()))?
        }
        None => Bigtable::in_memory(),
    };
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await
        .map_err(|error| format!("cannot listen on port {port} of 127.0.0.1: {error}"))?;
    // Install the signal handlers before printing the address: a script may send a signal as soon as it reads it.
    let shutdown_signal = shutdown_signal()?;
    println!("export BIGTABLE_EMULATOR_HOST={}", listener.local_addr()?);
    println!("# cbt -project keyderive -instance local ls");
    bigtable.serve_with(listener, shutdown_signal, |default| *default = settings).await?;
    Ok(())
}

/// Completes on the first SIGINT or SIGTERM. On the second, the process exits at once.
///
/// A dedicated thread handles the signals, even if all others are busy.
#[cfg(unix)]
fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let mut signalled = async move || {
        let kind = tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
        };
        kind.as_raw_value()
    };
    let listening = async move {
        signalled().await;
        // The receiver is gone if the server has ended by itself.
        let _ = sender.send(());
        let signal = signalled().await;
        std::process::exit(128 + signal);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(listening))?;
    Ok(async { drop(receiver.await) })
}

/// Completes on the first ctrl-c. On the second, the process exits at once.
#[cfg(not(unix))]
fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            drop(sender.send(()));
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130);
        }
    });
    Ok(async { drop(receiver.await) })
}

fn start(command: Command) -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let outcome = runtime.block_on(run(command));
    // Abandons requests that still run: nobody waits for them.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

#[expect(clippy::print_stderr, reason = "a command reports its failure there")]
fn main() -> ExitCode {
    let outcome = match parse(std::env::args_os().skip(1)) {
        Ok(command) => start(command),
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
        let settings = ServeSettings::default();
        assert_eq!(parsed(&[]), Ok(Command::Serve { port: 8086, file: None, log: false, settings }));
        let settings = ServeSettings::default();
        let all = Command::Serve { port: 0, file: Some("kept".into()), log: true, settings };
        assert_eq!(parsed(&["--log", "--file", "kept", "--port", "0"]), Ok(all));
        assert_eq!(parsed(&["-h"]), Ok(Command::Help));
        assert!(parsed(&["--prot"]).is_err());
        for port in ["70000", "abc", ""] {
            let error = parsed(&["--port", port]).unwrap_err();
            assert!(error.starts_with("--port is a number up to 65535: "), "{error}");
        }
    }

    fn limited(limits: &str) -> Result<ServeSettings, String> {
        match parsed(&limits.split(' ').collect::<Vec<_>>())? {
            Command::Serve { settings, .. } => Ok(settings),
            Command::Help => Err(HELP.to_owned()),
        }
    }

    #[test]
    fn the_help_states_the_default_limits() {
        let stated = HELP.lines().filter_map(|line| line.trim().strip_prefix("--"));
        let stated = stated.filter_map(|line| line.split_once("  ")?.0.split_once(' '));
        let stated = stated.filter(|(_, value)| value.parse::<u32>().is_ok());
        let stated: Vec<_> = stated.map(|(option, value)| format!("--{option} {value}")).collect();
        assert_eq!(stated.len(), 5);
        assert_eq!(limited(&stated.join(" ")), Ok(ServeSettings::default()));
        assert_eq!(limited("--connections 3").unwrap().connections, 3);
        assert_eq!(limited("--request-memory 3").unwrap().request_bytes, 3 << 20);
        assert_eq!(limited("--keep-alive 7").unwrap().keep_alive_interval, Duration::from_secs(7));
        assert_eq!(limited("--grace -1").unwrap_err(), "--grace is a whole number, not `-1`");
    }
}
