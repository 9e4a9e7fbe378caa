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

  --port PORT  The port to listen on; 8086 unless given, and a free one for 0.
  --file FILE  Keeps tables in this file, which is made where there is none.
  --log        Tells of each request on the standard error.
  --help       Says this.

Limits, with what they are unless given:

  --connections 512       How many connections may be open; further ones wait.
  --handshake-timeout 10  Closes a connection that has not begun to speak HTTP/2
                          after so many seconds.
  --keep-alive 30         Asks peers so often, in seconds, whether they are
                          there, and closes a connection without an answer
                          within 20 s.
  --request-memory 512    How many MiB unfinished requests may have together;
                          one beyond is refused. One request may have 256 MiB.
  --grace 5               Gives requests so many seconds to be answered when the
                          process is to end.

Without a file tables live in memory, as long as the process. What is on the standard output has programs find
it: the first line, pasted into a shell, is for those that use an emulator; the second is how cbt is called. The
project and the instance are any, and `keyderive` and `local` are those of a client of keyderive that names none.
It ends on ctrl-c and on SIGTERM, when the requests that have begun are answered or the grace is over; the second
time at once, with 128 and the signal's number as exit code.
";

/// What is asked for.
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
    number.ok_or_else(|| format!("{option} is a whole number, and not `{}`", value.display()))
}

fn seconds(option: &str, value: &OsStr) -> Result<Duration, String> {
    // The clock counts no further than this.
    number::<u32>(option, value).map(|seconds| Duration::from_secs(seconds.into()))
}

#[expect(clippy::print_stdout, reason = "the line to paste is what the command is for")]
async fn run(command: Command) -> Result<(), Box<dyn Error>> {
    let Command::Serve { port, file, log, settings } = command else {
        print!("{HELP}");
        return Ok(());
    };
    let own = if log { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let told = Targets::new().with_target("keyderive", own).with_default(LevelFilter::WARN);
    let colors = std::io::stderr().is_terminal();
    let written = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colors);
    tracing_subscriber::registry().with(written.with_filter(told)).init();
    let bigtable = match file {
        Some(file) => {
            Bigtable::open(&file).await.map_err(|error| format!("the file `{}` {error}", file.display()))?
        }
        None => Bigtable::in_memory(),
    };
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await
        .map_err(|error| format!("port {port} of 127.0.0.1 cannot be listened on: {error}"))?;
    // Heard before anybody can know that it runs.
    let interrupted = interrupted()?;
    println!("export BIGTABLE_EMULATOR_HOST={}", listener.local_addr()?);
    println!("# cbt -project keyderive -instance local ls");
    bigtable.serve_with(listener, interrupted, |default| *default = settings).await?;
    Ok(())
}

/// Ready when the process is asked to end. Asked again, it ends at once.
///
/// A thread of its own hears that, whatever the others are busy with.
#[cfg(unix)]
fn interrupted() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let (asked, is_asked) = tokio::sync::oneshot::channel();
    let mut signalled = async move || {
        let kind = tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
        };
        kind.as_raw_value()
    };
    let listening = async move {
        signalled().await;
        // The receiver is gone when the server has ended by itself.
        let _ = asked.send(());
        let signal = signalled().await;
        std::process::exit(128 + signal);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(listening))?;
    Ok(async { drop(is_asked.await) })
}

/// Ready when the process is asked to end. Asked again, it ends at once.
#[cfg(not(unix))]
fn interrupted() -> std::io::Result<impl Future<Output = ()>> {
    let (asked, is_asked) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            drop(asked.send(()));
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130);
        }
    });
    Ok(async { drop(is_asked.await) })
}

fn start(command: Command) -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let outcome = runtime.block_on(run(command));
    // Nobody is there any more for what requests still do.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

#[expect(clippy::print_stderr, reason = "a command tells its failure there")]
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
    fn limits_are_those_that_the_help_says_unless_given() {
        let said = HELP.lines().filter_map(|line| line.trim().strip_prefix("--"));
        let said = said.filter_map(|line| line.split_once("  ")?.0.split_once(' '));
        let said = said.filter(|(_, value)| value.parse::<u32>().is_ok());
        let said: Vec<_> = said.map(|(option, value)| format!("--{option} {value}")).collect();
        assert_eq!(said.len(), 5);
        assert_eq!(limited(&said.join(" ")), Ok(ServeSettings::default()));
        assert_eq!(limited("--connections 3").unwrap().connections, 3);
        assert_eq!(limited("--request-memory 3").unwrap().request_bytes, 3 << 20);
        assert_eq!(limited("--keep-alive 7").unwrap().keep_alive_interval, Duration::from_secs(7));
        assert_eq!(limited("--grace -1").unwrap_err(), "--grace is a whole number, and not `-1`");
    }
}
