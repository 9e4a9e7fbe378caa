//! How far a long command is: a line that changes on a terminal, lines of JSON elsewhere; both on standard error.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::json_line;

/// How often a line of JSON is printed.
const EVERY: Duration = Duration::from_secs(5);

/// Rows that were read, and which of the parts of the table are done.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    told: Instant,
    line: Line,
}

#[derive(Serialize)]
struct Line {
    progress: &'static str,
    rows: u64,
    parts_done: u64,
    parts: u64,
}

impl Progress {
    /// `what` is a verb, such as `counted`.
    pub(crate) fn new(what: &'static str, parts: usize) -> Self {
        let parts = parts as u64;
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(parts);
            if let Ok(style) = ProgressStyle::with_template("{msg}  {bar:30} {pos}/{len} parts, {elapsed}") {
                bar.set_style(style);
            }
            bar
        });
        let line = Line { progress: what, rows: 0, parts_done: 0, parts };
        Self { bar, told: Instant::now(), line }
    }

    pub(crate) fn rows(&mut self, rows: u64) {
        self.line.rows += rows;
        self.tell();
    }

    pub(crate) fn part_done(&mut self) {
        self.line.parts_done += 1;
        self.tell();
    }

    fn tell(&mut self) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.line.parts_done);
                // A bar draws itself at most some times a second; its text is made as often as that.
                if self.told.elapsed() >= Duration::from_millis(100) {
                    self.told = Instant::now();
                    bar.set_message(format!("{} rows {}", self.line.rows, self.line.progress));
                }
            }
            None if self.told.elapsed() >= EVERY => {
                self.told = Instant::now();
                // A standard error that is closed is no reason to fail.
                let _ = json_line(&mut io::stderr().lock(), &self.line);
            }
            None => {}
        }
    }

    /// Takes the line off the terminal.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
