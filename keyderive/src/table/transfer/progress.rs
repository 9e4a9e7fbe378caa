//! How far a transfer is.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// The least time between two reports.
const REPORT_EVERY: Duration = Duration::from_millis(100);
/// The most: a callback that is not called for longer means that the program hangs.
const REPORT_AT_LEAST: Duration = Duration::from_secs(1);

/// How far a load, a copy, a comparison or a re-keying is, for their `on_progress`. Print it with `{}`: one line.
///
/// All numbers count this run alone, including its retries of rows that failed in an earlier run. What does not apply stays 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Rows that were read to be written. Together with `left_out`, it is how much of a load's input was read.
    pub read: u64,
    /// Rows that were written.
    pub written: u64,
    /// Items that a resumed load skipped, since they precede its checkpoint; rows to which a closure gave no key.
    pub left_out: u64,
    /// Rows that existed and were left as they were: by a load [`if_absent`](crate::table::load::Load::if_absent), or by a re-keying, since
    /// they were copied or written before.
    pub kept: u64,
    /// Rows that were not written.
    pub failed: u64,
    /// The size of the written rows in their requests.
    pub bytes: u64,
    /// How many requests were made, not counting retries.
    pub requests: u64,
    /// Rows of the old table that were compared.
    pub compared: u64,
    /// Rows of the new table that were counted after that.
    pub counted: u64,
    /// Rows that differ, so far.
    pub different: u64,
    /// How many rows the input of a load has, if it knows.
    pub items: Option<u64>,
    /// How many partitions of the table that is read are done: copied, then compared, then counted.
    pub partitions_done: u64,
    /// How many there are.
    pub partitions: u64,
    /// How long it has run.
    pub elapsed: Duration,
    /// When the reading that `partitions` is about began, and how many rows were done before.
    began: (Duration, u64),
}

impl Progress {
    /// Rows a second that were written, kept or left out, that failed, or that were compared or counted. A copy that compares both
    /// tables begins to count anew.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    pub fn rate(&self) -> f64 {
        let (began, before) = self.began;
        let time = self.elapsed.saturating_sub(began).as_secs_f64().max(0.001);
        self.done().saturating_sub(before) as f64 / time
    }

    /// How much is done, from 0 to 1, for a progress bar; none if it is not known of how much.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// let rows: Vec<_> = (0..1000).map(|id| (UserKey { id }, User { age: 42 })).collect();
    /// let mut bar = 0.0;
    /// users.load_iter(rows).on_progress(|progress| bar = progress.fraction().unwrap_or(0.0)).await?;
    /// assert_eq!(bar, 1.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It counts rows that are done (written, kept, left out, failed, compared or counted), never rows that are only read
    /// ahead. For a load whose input knows its length, it is a fraction of the [`items`](Self::items), else of the
    /// [`partitions`](Self::partitions). A copy that compares both tables begins anew with each.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a fraction")]
    pub fn fraction(&self) -> Option<f64> {
        match self.done_of_all() {
            (_, 0) => None,
            (done, all) => Some((done as f64 / all as f64).min(1.0)),
        }
    }

    /// About how long it still takes, from the items or partitions that are done; none before the first. A copy that compares both
    /// tables says so of each.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn left(&self) -> Option<Duration> {
        let (began, _) = self.began;
        let (done, all) = self.done_of_all();
        let left = all.checked_sub(done).filter(|_| done > 0)?;
        let time = self.elapsed.saturating_sub(began).as_secs_f64();
        Duration::try_from_secs_f64(time * left as f64 / done as f64).ok()
    }

    /// How much is done, of how much.
    fn done_of_all(&self) -> (u64, u64) {
        match self.items {
            Some(items) => (self.done(), items),
            None => (self.partitions_done, self.partitions),
        }
    }

    fn done(&self) -> u64 {
        self.written + self.kept + self.left_out + self.failed + self.compared + self.counted
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read, written, left_out, kept, failed, compared, counted: rows, different, .. } = *self;
        let is_comparison = read == 0 && compared + rows > 0;
        match is_comparison {
            true => write!(f, "{} compared", counted(compared, "row"))?,
            false => write!(f, "{} read, {written} written", counted(read, "row"))?,
        }
        let others = [
            (left_out, "left out"),
            (kept, "kept"),
            (failed, "failed"),
            (if is_comparison { 0 } else { compared }, "compared"),
            (rows, "counted"),
            (different, "different"),
        ];
        for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        if self.partitions > 0 {
            write!(f, ", {} of {}", self.partitions_done, counted(self.partitions, "partition"))?;
        }
        write!(f, ", {:.0} rows/s", self.rate())?;
        match self.left() {
            Some(left) if !left.is_zero() => write!(f, ", about {} s left", left.as_secs()),
            _ => Ok(()),
        }
    }
}

/// A count with its noun.
pub(crate) fn counted(count: u64, noun: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{count} {noun}{}", if count == 1 { "" } else { "s" }))
}

/// Called with the progress of a transfer.
pub(crate) type OnProgress<'a> = Box<dyn FnMut(&Progress) + Send + 'a>;

/// The progress of a run, and the callback that receives it: at most 10 times a second, and at least once.
pub(crate) struct Reporter<'a> {
    pub(crate) progress: Progress,
    begun: Instant,
    due: Instant,
    call: Option<OnProgress<'a>>,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(call: Option<OnProgress<'a>>) -> Self {
        let begun = Instant::now();
        Self { progress: Progress::default(), begun, due: begun, call }
    }

    /// Begins to read `partitions` partitions.
    pub(crate) fn begin_parts(&mut self, partitions: usize) {
        let began = (self.begun.elapsed(), self.progress.done());
        let partitions = partitions as u64;
        self.progress = Progress { partitions, partitions_done: 0, began, ..self.progress };
    }

    pub(super) fn is_due(&self) -> bool {
        self.call.is_some() && Instant::now() >= self.due
    }

    /// When to report although nothing has changed; never without a callback.
    pub(super) fn report_at(&self) -> Option<Instant> {
        self.call.as_ref().map(|_| self.due + (REPORT_AT_LEAST - REPORT_EVERY))
    }

    /// Waits for a future, and reports meanwhile.
    pub(crate) async fn reporting<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        while let Some(at) = self.report_at() {
            match timeout_at(at, future.as_mut()).await {
                Ok(output) => return output,
                Err(_) => self.report(),
            }
        }
        future.await
    }

    pub(crate) fn report_if_due(&mut self) {
        if self.is_due() {
            self.report();
        }
    }

    pub(crate) fn report(&mut self) {
        let now = Instant::now();
        self.due = now + REPORT_EVERY;
        self.progress.elapsed = now - self.begun;
        if let Some(call) = &mut self.call {
            call(&self.progress);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_there_is() {
        let load = Progress {
            read: 500,
            written: 400,
            failed: 1,
            items: Some(802),
            elapsed: Duration::from_secs(2),
            ..Progress::default()
        };
        assert_eq!(load.to_string(), "500 rows read, 400 written, 1 failed, 200 rows/s, about 2 s left");
        let began = (Duration::from_secs(3), 401);
        let diff = Progress { compared: 1, partitions_done: 1, partitions: 2, began, ..Progress::default() };
        assert_eq!(diff.to_string(), "1 row compared, 1 of 2 partitions, 0 rows/s");
        let compared =
            Progress { compared: 100, partitions: 2, began, elapsed: Duration::from_secs(4), ..load };
        assert_eq!(compared.rate(), 100.0);
        assert_eq!(Progress::default().left(), None);
        // What is read ahead is not done.
        assert_eq!((load.fraction(), diff.fraction()), (Some(0.5), Some(0.5)));
        assert_eq!(Progress::default().fraction(), None);
        let ahead = Progress { read: 998, written: 40, items: Some(1000), ..Progress::default() };
        assert_eq!(ahead.fraction(), Some(0.04));
    }
}
