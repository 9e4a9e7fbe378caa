//! How many rows a long command has done: a line that changes on a terminal, lines of JSON elsewhere; both on standard error.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde::Serialize;

use super::json_line;

/// How often a line of JSON is printed, and how often the line on a terminal changes.
const EVERY: [Duration; 2] = [Duration::from_secs(5), Duration::from_millis(100)];

pub(crate) struct Meter {
    /// A participle, such as `deleted`.
    what: &'static str,
    line: Option<ProgressBar>,
    begun: Instant,
    told: Instant,
}

#[derive(Serialize)]
struct Line {
    progress: &'static str,
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<u64>,
    seconds: u64,
}

impl Meter {
    pub(crate) fn new(what: &'static str) -> Self {
        let line = io::stderr().is_terminal().then(ProgressBar::new_spinner);
        let now = Instant::now();
        Self { what, line, begun: now, told: now }
    }

    /// Says how many rows are done, if it is time to.
    pub(crate) fn rows(&mut self, rows: u64) {
        self.tell(rows, None);
    }

    /// As [`rows`](Self::rows), of a command that reads ahead.
    pub(crate) fn rows_of(&mut self, rows: u64, read: u64) {
        self.tell(rows, Some(read));
    }

    fn tell(&mut self, rows: u64, read: Option<u64>) {
        let every = EVERY[usize::from(self.line.is_some())];
        if self.told.elapsed() < every {
            return;
        }
        self.told = Instant::now();
        let (progress, seconds) = (self.what, self.begun.elapsed().as_secs());
        match &self.line {
            Some(line) => {
                let read = read.map_or_else(String::new, |read| format!(" of {read} read"));
                line.set_message(format!("{rows} rows {progress}{read}, {seconds} s"));
                line.tick();
            }
            // A standard error that is closed is no reason to fail.
            None => _ = json_line(&mut io::stderr().lock(), &Line { progress, rows, read, seconds }),
        }
    }

    /// Takes the line off the terminal.
    pub(crate) fn finish(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// Also of a command that fails.
impl Drop for Meter {
    fn drop(&mut self) {
        self.finish();
    }
}
