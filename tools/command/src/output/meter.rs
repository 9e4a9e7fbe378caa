//! How far a long command is: a line that changes on a terminal, lines of JSON elsewhere; both on standard error.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde::Serialize;

use super::json_line;

/// How often a line of JSON is printed, and how often the line on a terminal changes.
const EVERY: [Duration; 2] = [Duration::from_secs(5), Duration::from_millis(100)];

/// The rows that are done, and the parts of the table if the command goes by parts.
pub struct Meter {
    bar: Option<ProgressBar>,
    begun: Instant,
    told: Instant,
    line: Line,
}

#[derive(Default, Serialize)]
struct Line {
    /// A participle, such as `deleted`.
    progress: &'static str,
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts_done: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<u64>,
    seconds: u64,
}

impl Meter {
    /// For rows; `progress` is a participle, such as `deleted`.
    pub fn new(progress: &'static str) -> Self {
        let bar = io::stderr().is_terminal().then(ProgressBar::new_spinner);
        let now = Instant::now();
        Self { bar, begun: now, told: now, line: Line { progress, ..Line::default() } }
    }

    /// For a command that goes by parts of the table.
    pub fn of_parts(progress: &'static str, parts: usize) -> Self {
        let mut meter = Self::new(progress);
        (meter.line.parts_done, meter.line.parts) = (Some(0), Some(parts as u64));
        meter
    }

    /// Says how many rows are done, if it is time to.
    pub fn rows(&mut self, rows: u64) {
        self.line.rows = rows;
        self.tell();
    }

    /// As [`rows`](Self::rows), of a command that reads ahead.
    pub fn rows_of(&mut self, rows: u64, read: u64) {
        self.line.read = Some(read);
        self.rows(rows);
    }

    /// As [`rows`](Self::rows), of something else from now on.
    pub fn rows_as(&mut self, progress: &'static str, rows: u64) {
        self.line.progress = progress;
        self.line.read = None;
        self.rows(rows);
    }

    /// Says that one more part is done, if it is time to.
    pub fn part_done(&mut self) {
        self.line.parts_done = self.line.parts_done.map(|done| done + 1);
        self.tell();
    }

    fn tell(&mut self) {
        let every = EVERY[usize::from(self.bar.is_some())];
        if self.told.elapsed() < every {
            return;
        }
        self.told = Instant::now();
        self.line.seconds = self.begun.elapsed().as_secs();
        let Line { progress, rows, read, parts_done, parts, seconds } = &self.line;
        match &self.bar {
            Some(bar) => {
                let read = read.map_or_else(String::new, |read| format!(" of {read} read"));
                let noun = if *rows == 1 { "row" } else { "rows" };
                let parts = parts_done.zip(*parts);
                let parts = parts.map_or_else(String::new, |(done, all)| format!(", {done} of {all} parts"));
                bar.set_message(format!("{rows} {noun} {progress}{read}{parts}, {seconds} s"));
                bar.tick();
            }
            // A standard error that is closed is no reason to fail.
            None => _ = json_line(&mut io::stderr().lock(), &self.line),
        }
    }

    /// Takes the line off the terminal.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Also of a command that fails.
impl Drop for Meter {
    fn drop(&mut self) {
        self.finish();
    }
}
