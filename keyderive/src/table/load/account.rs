//! The progress of a load, and its reports.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::low_water::LowWater;
use super::report::{LISTED, Reason};
use super::{Checkpoint, FailedRow, LoadError, LoadReport, OnCheckpoint, OnProgress, Progress, Settings};
use crate::client::Error;

/// The time between two calls with the progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

pub(super) struct Account<'a> {
    report: LoadReport,
    low: LowWater,
    max_failures: u64,
    begun: Instant,
    on_progress: Option<OnProgress<'a>>,
    progress_at: Instant,
    on_checkpoint: Option<OnCheckpoint<'a>>,
    checkpoint_every: u64,
}

impl<'a> Account<'a> {
    pub(super) fn new(
        table: &Arc<str>,
        begin: Checkpoint,
        settings: &Settings,
        on_progress: Option<OnProgress<'a>>,
        on_checkpoint: Option<OnCheckpoint<'a>>,
    ) -> Self {
        let begun = Instant::now();
        Self {
            low: LowWater::after(begin.items(), begin.failed()),
            report: LoadReport {
                table: Arc::clone(table),
                progress: Progress::default(),
                failed: Vec::new(),
                checkpoint: begin,
            },
            max_failures: settings.max_failures,
            begun,
            on_progress,
            progress_at: begun,
            on_checkpoint,
            checkpoint_every: settings.checkpoint_every,
        }
    }

    /// The checkpoint that was told last, or that the load began with.
    pub(super) fn checkpoint(&self) -> &Checkpoint {
        &self.report.checkpoint
    }

    /// The checkpoint is this one, of the same items.
    pub(super) fn goes_on_from(&mut self, checkpoint: Checkpoint) {
        self.report.checkpoint = checkpoint;
    }

    /// Numbers the next item of the input.
    pub(super) fn read(&mut self) -> u64 {
        self.report.progress.read += 1;
        self.low.begin()
    }

    /// An item that had failed is read again.
    pub(super) fn read_again(&mut self) {
        self.report.progress.read += 1;
    }

    /// An item that had failed need not be written: a later one of its key has been.
    pub(super) fn superseded(&mut self, index: u64) {
        self.report.progress.left_out += 1;
        self.low.settle(index);
    }

    /// An item is read that a run before has written.
    pub(super) fn left_out(&mut self) {
        self.report.progress.left_out += 1;
    }

    pub(super) fn sent(&mut self, requests: usize) {
        self.report.progress.requests += requests as u64;
    }

    /// A row was there, and has been left as it was.
    pub(super) fn kept(&mut self, index: u64) {
        self.report.progress.kept += 1;
        self.low.settle(index);
    }

    /// A row is written that took so many bytes.
    pub(super) fn written(&mut self, index: u64, bytes: usize) {
        self.report.progress.written += 1;
        self.report.progress.bytes += bytes as u64;
        self.low.settle(index);
    }

    /// A row has failed; fails with the reason to end the load, where there is one.
    pub(super) fn failed(&mut self, index: u64, key: Option<Bytes>, error: Error) -> Result<(), Reason> {
        self.report.progress.failed += 1;
        self.low.fail(index);
        if self.report.failed.len() < LISTED {
            self.report.failed.push(FailedRow { index, key, error });
        }
        match self.report.progress.failed > self.max_failures {
            true => Err(Reason::TooManyFailed { allowed: self.max_failures }),
            false => Ok(()),
        }
    }

    /// Tells of the load's beginning, before anything is sent.
    pub(super) fn begins(&mut self) {
        self.tell_checkpoint(self.now());
    }

    fn now(&self) -> Checkpoint {
        self.report.checkpoint.at(self.low.items(), self.low.failed().collect())
    }

    /// Tells what is due.
    pub(super) fn tell(&mut self) {
        let further = self.low.items().saturating_sub(self.report.checkpoint.items());
        if further >= self.checkpoint_every {
            self.tell_checkpoint(self.now());
        }
        if self.on_progress.is_some() && Instant::now() >= self.progress_at {
            self.tell_progress();
        }
    }

    fn tell_checkpoint(&mut self, checkpoint: Checkpoint) {
        self.report.checkpoint = checkpoint;
        if let Some(tell) = &mut self.on_checkpoint {
            tell(&self.report.checkpoint);
        }
    }

    fn tell_progress(&mut self) {
        let now = Instant::now();
        self.progress_at = now + PROGRESS_EVERY;
        self.report.progress.elapsed = now - self.begun;
        if let Some(tell) = &mut self.on_progress {
            tell(&self.report.progress);
        }
    }

    /// Tells of the load's end, for this reason or for none.
    pub(super) fn end(mut self, reason: Option<Reason>) -> Result<LoadReport, LoadError> {
        let now = self.now();
        if now != self.report.checkpoint {
            self.tell_checkpoint(now);
        }
        self.tell_progress();
        match reason {
            None => Ok(self.report),
            Some(reason) => Err(LoadError { report: Box::new(self.report), reason }),
        }
    }
}
