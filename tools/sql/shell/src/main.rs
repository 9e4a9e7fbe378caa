//! `keyderive-sql`: an SQL shell for Bigtable, which knows the fields of the row keys.

mod catalog;
mod editor;
mod failure;
mod parquet;
mod print;
mod session;
mod statement;

use std::any::Any;
use std::io::{self, IsTerminal as _, Read as _};
use std::mem;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use keyderive_command::arguments::{joined, refuse};
use keyderive_command::exit::{self, CODES, Exit, Failure, Outcome};
use keyderive_command::input::{self, Text};
use keyderive_command::instance::Instance;
use keyderive_command::layout::LayoutFile;
use keyderive_command::output;
use tokio::runtime::{Builder, Runtime};

use self::print::Format;
use self::session::Session;

/// Parsing, planning and evaluating an expression recurse over its parts.
const STACK: usize = 256 << 20;

/// Run SQL on Bigtable tables
///
///     keyderive-sql -c "SELECT site, count(*) FROM events WHERE user_id = 'alice' GROUP BY site"
///     keyderive-sql --on prod --format csv -f report.sql > report.csv
///
/// Without `-c` and `-f` it reads statements from standard input, on a terminal with history and completion. The tables are those of the layout
/// file, or without a file those of the registry; `\d` lists them. Conditions on the leading key fields narrow what a query reads: `EXPLAIN`
/// shows the key ranges, `EXPLAIN ANALYZE` how many rows the server has read. `FROM 'events.parquet'` reads a file, and
/// `COPY (SELECT …) TO 'events.parquet'` writes one.
#[derive(Parser)]
#[command(
    name = "keyderive-sql",
    version,
    after_help = CODES,
    propagate_version = true,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    verbatim_doc_comment
)]
struct Cli {
    #[command(flatten)]
    run: Run,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Export(parquet::Export),
    Import(parquet::Import),
}

/// Which tables there are, and how much memory queries have.
#[derive(Args, Clone)]
struct SessionArgs {
    #[command(flatten)]
    instance: Instance,
    #[command(flatten)]
    layouts: LayoutFile,
    /// How much memory sorts, joins and aggregates may take, such as `2GiB`; beyond it they use temporary files
    #[arg(long, value_name = "BYTES", default_value = "256MB", value_parser = session::memory)]
    memory: usize,
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    session: SessionArgs,
    /// Run these statements
    #[arg(short, long, value_name = "SQL", conflicts_with = "script")]
    command: Option<String>,
    /// Run the statements of this file, or of standard input if it is `-`
    #[arg(short = 'f', long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Refuse statements that write rows
    #[arg(long)]
    read_only: bool,
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Run {
    async fn run(self) -> Outcome {
        let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let text = match (self.command, &self.script) {
            (Some(text), _) => Some(text),
            (None, Some(path)) if path != Path::new("-") => Some(input::read(path).map_err(|error| {
                Failure::refused(format_args!("`{}` is not read: {error}", path.display()))
            })?),
            (None, None) if is_terminal => None,
            _ => {
                let mut text = String::new();
                Text::new(io::stdin())
                    .read_to_string(&mut text)
                    .map_err(|error| Failure::refused(format_args!("standard input is not read: {error}")))?;
                Some(text)
            }
        };
        let mut session = Session::open(&self.session, self.format).await?;
        session.is_read_only = self.read_only;
        match text {
            Some(text) => session.run_all(&text).await,
            None => editor::run(&mut session).await,
        }
    }
}

fn run(cli: Cli) -> Outcome {
    let runtime = Builder::new_multi_thread().thread_stack_size(STACK).enable_all().build();
    let runtime: Runtime = runtime.map_err(Failure::failed)?;
    let ended = runtime.block_on(async {
        match cli.command {
            None => cli.run.run().await,
            Some(Command::Export(export)) => export.run().await,
            Some(Command::Import(import)) => import.run().await,
        }
    });
    // A query that was cancelled may still compute, which nobody waits for. Nor are the threads detached, as `shutdown_background` does:
    // `pthread_detach` of glibc reads the stack of a thread that ends at the same time, and a stack of this size is unmapped at once.
    mem::forget(runtime);
    ended
}

fn main() -> ExitCode {
    let parsed = joined(Cli::command()).try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.unwrap_or_else(|error| refuse(&error));
    // What a panic says can quote a statement.
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        output::note(format_args!("a panic{place}: {}", said(panic.payload())));
    }));
    let thread = thread::Builder::new().stack_size(STACK).spawn(|| run(cli));
    exit::end(match thread.map(thread::JoinHandle::join) {
        Ok(Ok(ended)) => ended,
        Ok(Err(_)) => Err(Failure::of(Exit::Failed, "the shell has panicked, which is a fault of it")),
        Err(error) => Err(Failure::failed(error)),
    })
}

/// What a panic says.
fn said(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}
