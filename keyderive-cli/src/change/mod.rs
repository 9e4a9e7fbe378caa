//! What commands that change a table have in common: they ask before they begin, keep to a rate, can be stopped, and go on where they were.

mod declared;
mod resume;

use std::future::{Future, pending};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process;

use anstyle::AnsiColor;
use clap::Args;
use tokio::sync::watch;
use tokio::time::{Duration, Instant, sleep_until};

pub(crate) use self::declared::{DeclaredArgs, failed_request, shown_change};
pub(crate) use self::resume::{ResumeFile, check_distinct};
use crate::exit::{Exit, Failure, Outcome};
use crate::instance::Target;
use crate::output::{self, Safe};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Change")]
pub(crate) struct ChangeArgs {
    /// Do it, without a question; otherwise the command says what it would do, and on a terminal asks
    #[arg(long)]
    pub(crate) yes: bool,
    /// Write at most this many rows a second
    ///
    /// The signals of a server that is overloaded are heeded in any case.
    #[arg(long, value_name = "ROWS")]
    pub(crate) rate: Option<NonZeroU32>,
    /// Keep in this file how far the command is; go on from there if the file exists
    ///
    /// The same command with the same file goes on after it was stopped, killed, or failed. The file is replaced at once or not at all.
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
}

impl ChangeArgs {
    /// How to go on, for a command that ends before it has done all.
    pub(crate) fn how_to_go_on(&self) -> &'static str {
        match self.resume {
            Some(_) => "the same command goes on from here",
            None => "the next time, `--resume FILE` lets the command go on where it was",
        }
    }
}

/// A number with its noun.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Says in red that the change is one of production, if it is.
pub(crate) fn name_production(target: &Target) {
    if let Some(name) = production(target) {
        let style = AnsiColor::Red.on_default().bold();
        // A standard error that is closed is no reason to fail.
        let _ = writeln!(anstream::stderr(), "{style}production:{style:#} {}", Safe(name));
    }
}

fn production(target: &Target) -> Option<&str> {
    target.name.as_deref().filter(|_| target.is_production)
}

/// Whether the change may begin, without `--yes`: by the answer on a terminal, which for production is its name.
pub(crate) fn is_agreed(target: &Target, question: &str) -> Outcome<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        output::note("dry run: pass `--yes` to apply");
        return Ok(false);
    }
    let expected = production(target);
    let mut terminal = anstream::stderr();
    match expected {
        Some(name) => write!(terminal, "{question} Type `{}` to go on: ", Safe(name))?,
        None => write!(terminal, "{question} [y/N] ")?,
    }
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let answer = answer.trim();
    let is_agreed = match expected {
        Some(name) => answer == name,
        None => answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"),
    };
    if !is_agreed {
        output::note("nothing was changed");
    }
    Ok(is_agreed)
}

/// Spreads rows over time.
pub(crate) struct Pace {
    rate: Option<NonZeroU32>,
    /// When the next row may be written.
    due: Instant,
}

impl Pace {
    /// At most this many rows a second.
    pub(crate) fn new(rate: Option<NonZeroU32>) -> Self {
        Self { rate, due: Instant::now() }
    }

    /// Waits until the next rows may be written.
    pub(crate) async fn wait_for(&mut self, rows: u64) {
        let Some(rate) = self.rate else { return };
        let begin = self.due.max(Instant::now());
        self.due = begin + Duration::from_nanos(rows.saturating_mul(1_000_000_000) / u64::from(rate.get()));
        sleep_until(begin).await;
    }
}

/// Whether the command is to end, since somebody pressed Ctrl-C: it ends after the rows in flight, and says how far it is.
#[derive(Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens for Ctrl-C from now on; the second one ends the process.
    pub(crate) fn listen() -> Self {
        let (asked, stop) = watch::channel(false);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                if asked.send_replace(true) {
                    process::exit(Exit::Failed as i32);
                }
                output::note("stopping after the rows in flight; once more ends at once");
            }
        });
        Self(stop)
    }

    /// Waits until the command is to end.
    pub(crate) async fn asked(&mut self) {
        if self.0.wait_for(|is_asked| *is_asked).await.is_err() {
            pending::<()>().await;
        }
    }

    /// Waits for a future, unless the command is to end.
    pub(crate) async fn or<T>(&mut self, future: impl Future<Output = T>) -> Outcome<T> {
        tokio::select! {
            biased;
            () = self.asked() => Err(Failure::failed("stopped")),
            output = future => Ok(output),
        }
    }
}
