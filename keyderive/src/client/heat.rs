//! What the client records of its requests, for [`Client::heat`](super::Client::heat).
//!
//! Every attempt of a data request passes [`Attempts`](super::retry::Attempts), which counts it here once it no longer waits to be sent, whether
//! it is answered, fails, is dropped or is a hedge: a tablet sees each. The bytes of rows are counted when they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;

#[cfg(not(feature = "heat"))]
use self::unrecorded::{Access, SampledRecorder, Sampler};
use super::Clock;
use super::operation::SampledRow;
#[cfg(feature = "heat")]
use crate::heat::{Access, SampledRecorder, Sampler};
use crate::row::RawRow;

/// Records a sample of what a client does, if it has a recorder.
#[derive(Clone, Default)]
pub(super) struct Heat(Option<Arc<SampledRecorder>>);

/// Where an attempt goes.
#[derive(Clone, Copy)]
pub(super) struct AttemptInfo<'a> {
    pub(super) table: &'a str,
    pub(super) is_write: bool,
    pub(super) clock: &'a Clock,
    pub(super) is_sent: &'a AtomicBool,
}

/// Records what an attempt asks for when it is dropped, if the attempt was sent.
pub(super) struct AttemptHeat<'a>(Option<Box<Asked<'a>>>);

struct Asked<'a> {
    recorder: &'a SampledRecorder,
    to: AttemptInfo<'a>,
    drawn: Vec<SampledRow>,
}

/// Records the bytes of the rows of a stream.
pub(super) struct RowHeat(Option<(Arc<SampledRecorder>, Sampler)>);

impl Heat {
    #[cfg(feature = "heat")]
    pub(super) fn new(recording: &crate::heat::Recording) -> Self {
        Self(Some(Arc::new(SampledRecorder::new(recording))))
    }

    #[cfg(feature = "heat")]
    pub(super) fn snapshot(&self) -> Option<crate::heat::Snapshot> {
        self.0.as_ref().map(|recorder| recorder.snapshot())
    }

    /// For each table, the shares of the busiest ranges of reads and of writes, in the last whole slot before a time.
    #[cfg(all(feature = "heat", feature = "metrics"))]
    pub(super) fn busiest_shares(
        &self,
        before: std::time::SystemTime,
    ) -> impl Iterator<Item = (String, [Option<f64>; 2])> {
        let since_epoch = before.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let before = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        self.0.iter().flat_map(move |recorder| recorder.busiest_shares(before))
    }

    /// Says where the buckets of a table begin, so that the grids of all processes have these boundaries.
    pub(super) fn boundaries(&self, table: &str, starts: impl FnOnce() -> Vec<Vec<u8>>) {
        if let Some(recorder) = &self.0 {
            recorder.boundaries(table, starts);
        }
    }

    /// An operation about one row that writes `bytes` bytes.
    #[inline]
    pub(super) fn asked(&self, key: &Bytes, bytes: usize) -> Option<Box<SampledRow>> {
        let weight = self.0.as_ref().and_then(|recorder| recorder.draw());
        weight.map(|weight| Box::new(SampledRow { key: key.clone(), bytes, weight }))
    }

    /// An attempt about one row.
    #[inline]
    pub(super) fn row<'a>(&'a self, asked: Option<&SampledRow>, to: AttemptInfo<'a>) -> AttemptHeat<'a> {
        match (&self.0, asked) {
            (Some(recorder), Some(drawn)) => AttemptHeat::new(recorder, to, vec![drawn.clone()]),
            _ => AttemptHeat(None),
        }
    }

    /// An attempt about several rows; `asked` is called for those in the sample, and gives a row's key and how many bytes are written there.
    pub(super) fn attempt<'a, 'k, R>(
        &'a self,
        rows: impl Iterator<Item = R>,
        asked: impl Fn(R) -> (&'k [u8], usize),
        to: AttemptInfo<'a>,
    ) -> AttemptHeat<'a> {
        let Some(recorder) = &self.0 else { return AttemptHeat(None) };
        let mut sampler = recorder.sampler();
        let drawn = rows.filter_map(|row| {
            let weight = sampler.draw(recorder)?;
            let (key, bytes) = asked(row);
            Some(SampledRow { key: Bytes::copy_from_slice(key), bytes, weight })
        });
        AttemptHeat::new(recorder, to, drawn.collect())
    }

    /// The bytes of a row that was read by its key.
    #[inline]
    pub(super) fn received(&self, table: &str, row: &RawRow, clock: &Clock) {
        if let Some(recorder) = &self.0
            && let Some(weight) = recorder.draw()
        {
            received(recorder, table, row, clock, weight);
        }
    }

    /// For the rows of a stream.
    pub(super) fn rows(&self) -> RowHeat {
        RowHeat(self.0.as_ref().map(|recorder| (Arc::clone(recorder), recorder.sampler())))
    }
}

impl<'a> AttemptHeat<'a> {
    fn new(recorder: &'a SampledRecorder, to: AttemptInfo<'a>, drawn: Vec<SampledRow>) -> Self {
        let is_any = !drawn.is_empty();
        Self(is_any.then(|| Box::new(Asked { recorder, to, drawn })))
    }
}

impl Drop for AttemptHeat<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(asked) = self.0.take() {
            asked.record();
        }
    }
}

impl Asked<'_> {
    #[cold]
    fn record(&self) {
        let AttemptInfo { table, is_write, clock, is_sent } = self.to;
        if !is_sent.load(Ordering::Relaxed) {
            return;
        }
        let (access, time) = (if is_write { Access::Write } else { Access::Read }, millis(clock));
        for SampledRow { key, bytes, weight } in &self.drawn {
            self.recorder.record(table, key, Some(access), *bytes, (*weight, time));
        }
    }
}

impl RowHeat {
    /// Whether rows are to be shown to it.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    #[inline]
    pub(super) fn row(&mut self, table: &str, row: &RawRow, clock: &Clock) {
        if let Some((recorder, sampler)) = &mut self.0
            && let Some(weight) = sampler.draw(recorder)
        {
            received(recorder, table, row, clock, weight);
        }
    }
}

#[cold]
fn received(recorder: &SampledRecorder, table: &str, row: &RawRow, clock: &Clock, weight: u32) {
    let cells = row.cells().map(|cell| cell.qualifier().len() + cell.value().len());
    let bytes = row.key().len() + cells.sum::<usize>();
    recorder.record(table, row.key(), None, bytes, (weight, millis(clock)));
}

fn millis(clock: &Clock) -> i64 {
    clock.now_micros().div_euclid(1000)
}

/// Without the feature there is no recorder: none of this is ever called.
#[cfg(not(feature = "heat"))]
mod unrecorded {
    pub(in crate::client) enum SampledRecorder {}

    pub(in crate::client) struct Sampler;

    #[derive(Clone, Copy)]
    pub(in crate::client) enum Access {
        Read,
        Write,
    }

    impl SampledRecorder {
        pub(in crate::client) fn boundaries(&self, _: &str, _: impl FnOnce() -> Vec<Vec<u8>>) {
            match *self {}
        }

        pub(in crate::client) fn draw(&self) -> Option<u32> {
            match *self {}
        }

        pub(in crate::client) fn sampler(&self) -> Sampler {
            match *self {}
        }

        pub(in crate::client) fn record(
            &self,
            _: &str,
            _: &[u8],
            _: Option<Access>,
            _: usize,
            _: (u32, i64),
        ) {
            match *self {}
        }
    }

    impl Sampler {
        pub(in crate::client) fn draw(&mut self, recorder: &SampledRecorder) -> Option<u32> {
            match *recorder {}
        }
    }
}
