//! A summary of what was recorded of a table: when and where it was busiest, and its heaviest keys.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::grid::{Grid, Measure};
use super::recorder::TableHeat;
use super::report::TopValue;
use super::text::{percent, shown_time, shown_window};
use crate::dynamic::KeyLayout;
use crate::key::UnquotedKey;

/// How many heavy keys are named.
const NAMED: usize = 5;

/// What was recorded of a table, in a few lines: see [`TableHeat::summary`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HeatSummary {
    /// When the first slot begins, in milliseconds since 1970.
    pub from: i64,
    /// When the last one ends.
    pub until: i64,
    /// All reads.
    pub reads: u64,
    /// All writes.
    pub writes: u64,
    /// The bytes that were read and written.
    pub bytes: u64,
    /// How many operations and rows of scans were recorded. If not all were, counts are estimates.
    pub recorded: u64,
    /// Where and when writes were busiest.
    pub busiest_of_writes: Option<BusiestPlace>,
    /// Where and when reads were busiest.
    pub busiest_of_reads: Option<BusiestPlace>,
    /// The keys with the largest shares of reads and writes, the heaviest first. A key whose count may be all error is left out.
    pub heavy_keys: Vec<TopValue>,
}

/// The busiest range of keys of a table, in its busiest slot, from a [`HeatSummary`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BusiestPlace {
    /// When its column of the grid begins, in milliseconds since 1970.
    pub time: i64,
    /// The length of a slot in seconds.
    pub slot_seconds: f64,
    /// Its share of the operations of the busiest slot of that time.
    pub share: f64,
    /// Its operations per second.
    pub per_second: f64,
    /// The first key of the range, in words.
    pub start: String,
}

/// A key, or the beginning of one, in words.
fn shown(key: &[u8], layout: Option<&KeyLayout>) -> String {
    match (key, layout) {
        ([], _) => "the start of the table".to_owned(),
        (key, Some(layout)) => layout.decode_boundary(key).to_string(),
        (key, None) => UnquotedKey(key).to_string(),
    }
}

impl TableHeat {
    /// Summarizes the table. With a layout, keys are shown by their fields.
    ///
    /// ```
    /// use keyderive::RowKey;
    /// use keyderive::dynamic::KeyLayout;
    /// use keyderive::heat::{Access, Recorder};
    ///
    /// #[derive(RowKey)]
    /// struct PageKey {
    ///     site: String,
    ///     page: u32,
    /// }
    ///
    /// let recorder = Recorder::new();
    /// for number in 0..200 {
    ///     let page = PageKey { site: "example.com".into(), page: if number % 2 == 0 { 42 } else { number } };
    ///     recorder.record("pages", &page.encode()?, Access::Write, 8, 1_764_288_000_000);
    /// }
    /// let heat = recorder.snapshot();
    /// let summary = heat.tables["pages"].summary(Some(&KeyLayout::of::<PageKey>()));
    /// assert_eq!(summary.writes, 200);
    /// assert!(summary.heavy_keys[0].value.contains("page 42"));
    /// println!("{summary}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn summary(&self, layout: Option<&KeyLayout>) -> HeatSummary {
        let Self { grid, heavy_keys, recorded } = self;
        let all = heavy_keys.total().max(1) as f64;
        let heavy = heavy_keys.top(NAMED).into_iter().filter(|key| key.count > 2 * key.error);
        HeatSummary {
            from: grid.time(0),
            until: grid.time(grid.columns()),
            reads: grid.total(Measure::Reads),
            writes: grid.total(Measure::Writes),
            bytes: grid.total(Measure::Bytes),
            recorded: *recorded,
            busiest_of_writes: busiest(grid, Measure::Writes, layout),
            busiest_of_reads: busiest(grid, Measure::Reads, layout),
            heavy_keys: heavy
                .map(|key| TopValue { value: shown(&key.key, layout), share: key.count as f64 / all })
                .collect(),
        }
    }
}

fn busiest(grid: &Grid, measure: Measure, layout: Option<&KeyLayout>) -> Option<BusiestPlace> {
    let busiest = grid.busiest(measure)?;
    let all = grid.whole(busiest.column, measure).peak.max(busiest.load.peak).max(1);
    let slot = grid.slot().as_secs_f64();
    Some(BusiestPlace {
        time: busiest.time,
        slot_seconds: slot,
        share: busiest.load.peak as f64 / all as f64,
        per_second: busiest.load.peak as f64 / slot,
        start: shown(busiest.range.start(), layout),
    })
}

/// In lines of at most 100 signs or so, for people.
impl fmt::Display for HeatSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reads, writes, bytes, recorded, .. } = self;
        if *recorded == 0 {
            return writeln!(f, "Nothing was recorded.");
        }
        writeln!(
            f,
            "{writes} writes, {reads} reads and {bytes} bytes from {} to {}, of {recorded} recorded operations.",
            shown_time(self.from),
            shown_time(self.until)
        )?;
        for (name, busiest) in [("writes", &self.busiest_of_writes), ("reads", &self.busiest_of_reads)] {
            let Some(busiest) = busiest else { continue };
            writeln!(
                f,
                "The busiest range takes {} of the {name} of its busiest {} ({}), {:.1} a second: from {}.",
                percent(busiest.share),
                shown_window(Duration::from_secs_f64(busiest.slot_seconds.clamp(0.0, 1e15))),
                shown_time(busiest.time),
                busiest.per_second,
                busiest.start
            )?;
        }
        if !self.heavy_keys.is_empty() {
            writeln!(f, "\n  share   key")?;
        }
        for TopValue { value, share } in &self.heavy_keys {
            writeln!(f, "  {:>5}   {value}", percent(*share).to_string())?;
        }
        Ok(())
    }
}
