//! What commands that change a table have in common: they ask before they begin, keep to a rate, can be stopped, and go on where they were.

mod declared;
mod resume;

use std::future::{Future, pending};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process;

use clap::Args;
pub(crate) use keyderive_command::confirm::{is_agreed, name_production};
pub(crate) use keyderive_command::output::counted;
use tokio::sync::watch;
use tokio::time::{Duration, Instant, sleep_until};

pub(crate) use self::declared::{DeclaredArgs, failed_request, shown_change};
pub(crate) use self::resume::{ResumeFile, check_distinct};
use crate::exit::{Exit, Failure, Outcome};
use crate::output;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Change")]
pub(crate) struct ChangeArgs {
    /// Do it without asking; otherwise the command shows what it would do, and on a terminal asks
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
    /// After how many rows the progress is stored: at most 10,000, and with a rate about the rows of a tenth of a
    /// second.
    pub(crate) fn kept_every(&self) -> u64 {
        const MOST: u64 = 10_000;
        self.rate.map_or(MOST, |rate| MOST.min(rate.get().div_ceil(10).into()))
    }

    /// How to go on, for a command that ends before it has done all.
    pub(crate) fn how_to_go_on(&self) -> &'static str {
        match self.resume {
            Some(_) => "the same command goes on from here",
            None => "the next time, `--resume FILE` lets the command go on where it was",
        }
    }
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
