//! How a client records: a sample, drawn before a lock is taken.
//!
//! An operation that is not drawn costs a random number. One that is drawn with a chance of 1 in *n* counts *n* times, so sums are
//! unbiased, however the chance changes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::grid::{Access, GridBuilder};
use super::recorder::{Recorder, Snapshot, locked};

/// How many operations a second are recorded by default.
const PER_SECOND: u32 = 1000;
/// How long they are kept by default.
const KEEP: Duration = Duration::from_secs(3600);
/// The slots of grids that are kept, in seconds: whole parts of a minute, of an hour or of a day.
const SLOTS: [u64; 9] = [1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];
/// How many slots a recording has at most.
const KEPT_SLOTS: u64 = 240;
/// How many more it has before the oldest are dropped.
const MORE_SLOTS: u64 = 16;
/// How many ranges of keys a table has; at least two for each bucket.
const ROWS: usize = 128;
/// The least chance.
const LEAST_CHANCE: u32 = 1 << 24;

/// How large a sample of a client's operations to record, and how long to keep it: see
/// [`ClientBuilder::record_heat`](crate::client::ClientBuilder::record_heat).
///
/// ```
/// use std::time::Duration;
/// use keyderive::heat::Recording;
///
/// let by_default = Recording::new(); // about 1000 operations a second, of the last hour
/// let all = Recording::new().one_in(1); // for tests
/// let of_a_day = Recording::new().per_second(200).keep(Duration::from_secs(24 * 3600));
/// # drop((by_default, all, of_a_day));
/// ```
///
/// An operation that is recorded with a chance of 1 in *n* counts *n* times. So counts are unbiased estimates: with *k* recorded
/// operations, a count is off by more than 2/√*k* of itself in one of 20 cases (2 % for 10,000). In a range with few operations, the
/// busiest slot looks hotter than it was: by up to a fifth with 100 recorded operations in the slot.
///
/// # Limits
/// It keeps up to 64 tables, each with 128 ranges of keys, or twice its number of salt buckets, and at most 256 slots. Each cell takes 72
/// bytes, so 128 ranges take 2.4 MB. It also keeps up to about 9,000 keys of each table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a recording is given to `ClientBuilder::record_heat`"]
pub struct Recording {
    one_in: u32,
    most: Option<u32>,
    keep: Duration,
}

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

impl Recording {
    /// About 1000 operations a second, of the last hour.
    pub fn new() -> Self {
        Self { one_in: 1, most: Some(PER_SECOND), keep: KEEP }
    }

    /// Records one in this many operations, at any load; 1 records all, 0 counts as 1.
    pub fn one_in(self, operations: u32) -> Self {
        Self { one_in: operations.clamp(1, LEAST_CHANCE), most: None, ..self }
    }

    /// Records at most about this many operations a second: the chance follows the load. In the first second of a sudden load it may record
    /// several times as many. 0 counts as 1.
    pub fn per_second(self, operations: u32) -> Self {
        Self { one_in: 1, most: Some(operations.max(1)), ..self }
    }

    /// Keeps records for this long, and up to 16 slots longer; an hour by default, 240 days at most.
    ///
    /// It also sets the slot, the unit of peaks: 15 s for an hour, 5 minutes for 20 hours, an hour for 10 days.
    pub fn keep(self, time: Duration) -> Self {
        Self { keep: time, ..self }
    }

    fn slot(&self) -> Duration {
        let wanted = self.keep.as_secs().div_ceil(KEPT_SLOTS);
        let slot = SLOTS.into_iter().find(|slot| *slot >= wanted);
        Duration::from_secs(slot.unwrap_or(SLOTS[SLOTS.len() - 1]))
    }

    fn columns(&self) -> usize {
        let slots = self.keep.as_secs().div_ceil(self.slot().as_secs()).clamp(1, KEPT_SLOTS);
        // At most 256.
        usize::try_from(slots + MORE_SLOTS).unwrap_or(usize::MAX)
    }
}

/// Records a sample of what a client does.
#[derive(Debug)]
pub(crate) struct SampledRecorder {
    recorder: Recorder,
    /// The chance of an operation is one in this many.
    one_in: AtomicU32,
    /// How many a second are recorded at most, if the chance follows the load.
    most: Option<u32>,
    rate: Mutex<Rate>,
}

/// What was recorded since a time, from which the next chance follows.
#[derive(Debug, Default)]
struct Rate {
    since: i64,
    /// How many operations were recorded with this chance.
    recorded: u32,
    /// For how many they stand.
    operations: u64,
}

/// Which of many operations are recorded: each with the same chance, and without a random number for each.
#[derive(Debug)]
pub(crate) struct Sampler {
    one_in: u32,
    /// How many operations to skip before the next recorded one.
    skip: u64,
}

impl Sampler {
    fn new(one_in: u32) -> Self {
        let skip = match one_in {
            0 | 1 => 0.0,
            // So many fail before the first success: a geometric distribution. The product of a random number above 0 and a number is finite.
            _ => (1.0 - fastrand::f64()).ln() / (-1.0 / f64::from(one_in)).ln_1p(),
        };
        // A float to an integer saturates.
        Self { one_in, skip: skip as u64 }
    }

    /// For how many operations the next one counts, if it is recorded.
    #[inline]
    pub(crate) fn draw(&mut self, recorder: &SampledRecorder) -> Option<u32> {
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        let drawn = self.one_in;
        *self = recorder.sampler();
        Some(drawn)
    }
}

impl SampledRecorder {
    /// Records nothing yet.
    pub(crate) fn new(recording: &Recording) -> Self {
        let grid = GridBuilder::new().limits(recording.columns(), ROWS).slot(recording.slot()).rolling();
        Self {
            recorder: Recorder::with(grid),
            one_in: AtomicU32::new(recording.one_in),
            most: recording.most,
            rate: Mutex::default(),
        }
    }

    /// What was recorded until now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.recorder.snapshot()
    }

    /// For each table, the shares of the busiest ranges of reads and of writes, in the last whole slot before a time.
    #[cfg(feature = "metrics")]
    pub(crate) fn busiest_shares(&self, before: i64) -> impl Iterator<Item = (String, [Option<f64>; 2])> {
        self.recorder.tables().map(move |(name, recorded)| {
            let recorded = locked(&recorded);
            let shares = [Access::Read, Access::Write].map(|access| recorded.busiest_share(access, before));
            (name, shares)
        })
    }

    /// Records this table with these boundaries, unless it is recorded already.
    pub(crate) fn boundaries(&self, table: &str, starts: impl FnOnce() -> Vec<Vec<u8>>) {
        if self.recorder.known(table).is_none() {
            self.recorder.made(table, starts());
        }
    }

    /// For how many operations this one counts, if it is recorded.
    #[inline]
    pub(crate) fn draw(&self) -> Option<u32> {
        let one_in = self.one_in.load(Ordering::Relaxed);
        (one_in <= 1 || fastrand::u32(..one_in) == 0).then_some(one_in.max(1))
    }

    /// Sampler for many operations.
    pub(crate) fn sampler(&self) -> Sampler {
        Sampler::new(self.one_in.load(Ordering::Relaxed))
    }

    /// Records a drawn operation, which stands for this many; without an access, only bytes.
    pub(crate) fn record(
        &self,
        table: &str,
        key: &[u8],
        access: Option<Access>,
        bytes: usize,
        (weight, time): (u32, i64),
    ) {
        let weight = u64::from(weight);
        let mut amounts = [0, 0, weight.saturating_mul(bytes as u64)];
        if let Some(access) = access {
            amounts[access.measure().at()] = weight;
        }
        self.adapt(weight, time);
        self.recorder.add(table, key, amounts, time);
    }

    /// Changes the chance, if too much was recorded, or a second is over.
    fn adapt(&self, weight: u64, time: i64) {
        let Some(most) = self.most else { return };
        let mut rate = locked(&self.rate);
        rate.recorded += 1;
        rate.operations = rate.operations.saturating_add(weight);
        let passed = time.abs_diff(rate.since);
        if passed >= 1000 || time < rate.since {
            let in_a_second = rate.operations.saturating_mul(1000) / passed.max(1000);
            let one_in = u32::try_from(in_a_second.div_ceil(most.into())).unwrap_or(LEAST_CHANCE);
            self.one_in.store(one_in.clamp(1, LEAST_CHANCE), Ordering::Relaxed);
            *rate = Rate { since: time, recorded: 0, operations: 0 };
        } else if rate.recorded >= most {
            let one_in = self.one_in.load(Ordering::Relaxed).saturating_mul(2);
            self.one_in.store(one_in.clamp(1, LEAST_CHANCE), Ordering::Relaxed);
            rate.recorded = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heat::{Measure, TableHeat};
    use crate::plan::KeyRange;

    /// Records so many writes at each of these times, in milliseconds.
    fn write(recorder: &SampledRecorder, times: impl Iterator<Item = i64>, at_a_time: u32) {
        for time in times {
            for number in 0..at_a_time {
                if let Some(weight) = recorder.draw() {
                    let key = (number % 50).to_string();
                    recorder.record("t", key.as_bytes(), Some(Access::Write), 10, (weight, time));
                }
            }
        }
    }

    fn heat(recorder: &SampledRecorder) -> TableHeat {
        recorder.snapshot().tables.remove("t").unwrap()
    }

    fn assert_near(estimate: u64, truth: u64, share: f64) {
        let off = estimate.abs_diff(truth) as f64 / truth as f64;
        assert!(off <= share, "{estimate} for {truth}");
    }

    /// A million operations, one in 100 of which is recorded: the standard error is 1 %.
    #[test]
    fn a_sample_is_without_bias() {
        fastrand::seed(7);
        let recorder = SampledRecorder::new(&Recording::new().one_in(100));
        write(&recorder, 0..1000, 1000);
        let one = heat(&recorder);
        assert_near(one.grid.total(Measure::Writes), 1_000_000, 0.04);
        assert_near(one.grid.total(Measure::Bytes), 10_000_000, 0.04);
        assert_near(one.recorded, 10_000, 0.04);
        let heaviest = &one.heavy_keys.top(50);
        assert!(heaviest.iter().all(|key| key.count.abs_diff(20_000) < 8000), "{heaviest:?}");

        // The same of many at a time.
        let recorder = SampledRecorder::new(&Recording::new().one_in(100));
        let mut sampler = recorder.sampler();
        for _ in 0..1_000_000 {
            if let Some(weight) = sampler.draw(&recorder) {
                recorder.record("t", b"k", Some(Access::Read), 0, (weight, 0));
            }
        }
        assert_near(heat(&recorder).grid.total(Measure::Reads), 1_000_000, 0.04);

        // Of each second one, an operation more or less between two of them is seen.
        let recorder = SampledRecorder::new(&Recording::new().one_in(2));
        let mut sampler = recorder.sampler();
        let drawn = (0..100_000).filter(|_| sampler.draw(&recorder).is_some()).count();
        assert_near(drawn as u64, 50_000, 0.02);
    }

    #[test]
    fn all_are_recorded_if_that_is_asked_for() {
        let recorder = SampledRecorder::new(&Recording::new().one_in(0));
        write(&recorder, 0..100, 100);
        let mut sampler = recorder.sampler();
        assert!((0..100).all(|_| sampler.draw(&recorder) == Some(1)));
        assert_eq!(heat(&recorder).grid.total(Measure::Writes), 10_000);
    }

    #[test]
    fn a_recording_is_as_it_was_set_last() {
        let by_load = Recording::new().per_second(5);
        assert_eq!(Recording::new().one_in(100).per_second(5), by_load);
        assert_eq!(by_load.clone().one_in(100), Recording::new().one_in(100));
        assert_eq!(by_load.per_second(0), Recording::new().per_second(1));
        assert_eq!(Recording::new().one_in(0), Recording::new().one_in(1));
        assert_eq!(Recording::new().one_in(u32::MAX), Recording::new().one_in(LEAST_CHANCE));
    }

    /// The same without chance: the weights are given, and all are recorded.
    #[test]
    fn the_chance_changes_when_too_much_is_recorded_and_when_a_second_is_over() {
        let recorder = SampledRecorder::new(&Recording::new().per_second(100));
        let after = |records: u32, weight: u32, time: i64| {
            (0..records).for_each(|_| recorder.record("t", b"k", None, 1, (weight, time)));
            recorder.one_in.load(Ordering::Relaxed)
        };
        assert_eq!([after(99, 1, 0), after(1, 1, 0)], [1, 2]);
        assert_eq!([after(99, 2, 500), after(1, 2, 500)], [2, 4]);
        assert_eq!(after(50, 4, 999), 4);
        // With this one, there were 505 operations in a second.
        assert_eq!(after(1, 5, 1000), 6);
        // Fifty records of the second before do not count.
        assert_eq!([after(99, 6, 1500), after(1, 6, 1999)], [6, 12]);
        // 606 in two seconds.
        assert_eq!(after(1, 6, 3000), 4);
        // A clock that is set back begins another second.
        assert_eq!([after(49, 4, 3500), after(1, 4, 2900), after(1, 4, 3000)], [4, 2, 2]);
    }

    /// An operation was drawn with the chance that there was when the one before it was.
    #[test]
    fn an_operation_counts_for_as_many_as_it_was_drawn_from() {
        let recorder = SampledRecorder::new(&Recording::new().one_in(100));
        let mut sampler = recorder.sampler();
        recorder.one_in.store(7, Ordering::Relaxed);
        let drawn: Vec<_> = (0..10_000).filter_map(|_| sampler.draw(&recorder)).collect();
        assert_eq!(drawn[0], 100);
        assert!(drawn.len() > 10 && drawn[1..].iter().all(|weight| *weight == 7), "{drawn:?}");
    }

    #[test]
    fn the_chance_follows_the_load_and_the_sums_stay_right() {
        fastrand::seed(8);
        let recorder = SampledRecorder::new(&Recording::new().per_second(500));
        let mut before = 0;
        // A second with 200 a millisecond after one with 2, and back.
        for (second, at_a_time) in [(0, 2), (1, 2), (2, 200), (3, 200), (4, 200), (5, 2), (6, 2), (7, 2)] {
            write(&recorder, second * 1000..(second + 1) * 1000, at_a_time);
            let recorded = heat(&recorder).recorded;
            // The first second of a load doubles the chance as often as it takes.
            assert!(recorded - before <= 500 * 9, "{} in second {second}", recorded - before);
            // A second after the load has ended, the chance has grown again.
            assert!(second < 7 || recorded - before > 250, "{} in second {second}", recorded - before);
            before = recorded;
        }
        let truth = 5 * 2000 + 3 * 200_000;
        assert_near(heat(&recorder).grid.total(Measure::Writes), truth, 0.1);
        assert!(before < 8 * 500 * 3, "{before} in eight seconds");
    }

    /// What is not recorded waits for nobody: the locks are held here.
    #[test]
    fn what_is_not_drawn_takes_no_lock() {
        let recorder = SampledRecorder::new(&Recording::new().one_in(u32::MAX));
        recorder.record("t", b"k", Some(Access::Write), 0, (1, 0));
        let recorded = recorder.recorder.known("t").unwrap();
        let (_rate, _table) = (locked(&recorder.rate), locked(&recorded));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    fastrand::seed(9);
                    let drawn = (0..100_000).filter(|_| recorder.draw().is_some()).count();
                    assert!(drawn < 10);
                });
            }
        });
    }

    #[test]
    fn a_process_that_runs_on_keeps_the_last_time_in_bounded_memory() {
        let recorder = SampledRecorder::new(&Recording::new().one_in(1).keep(Duration::from_secs(3600)));
        let day = 86_400_000;
        let mut random = fastrand::Rng::with_seed(3);
        for second in 0..86_400 {
            // A key that grows, one that is heavy in the first hour alone, and random ones.
            let key = match second % 3 {
                0 => format!("{second:08}"),
                1 if second < 3600 => "heavy".to_owned(),
                _ => random.u32(..).to_string(),
            };
            recorder.record("t", key.as_bytes(), Some(Access::Write), 10, (1, second * 1000));
        }
        let heat = heat(&recorder);
        assert_eq!(heat.recorded, 86_400);
        assert!(heat.grid.columns() <= 256 && heat.grid.rows() <= 128);
        assert_eq!(heat.grid.column_width(), Duration::from_secs(15));
        assert_eq!(heat.grid.error(Measure::Writes), 0);
        assert!(
            (3600..=3840).contains(&heat.grid.total(Measure::Writes)),
            "{}",
            heat.grid.total(Measure::Writes)
        );
        assert!(heat.grid.time(0) > day - 3_900_000);
        assert!(heat.heavy_keys.top(256).iter().all(|key| key.key != b"heavy"));
        // They are those of the last half of the time that is kept, and of the half before it.
        let heavy = heat.heavy_keys.total();
        assert!((2000..=3840).contains(&heavy), "{heavy}");
        let json = serde_json::to_string(&recorder.snapshot()).unwrap();
        assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), recorder.snapshot());
        assert!(json.len() < 2_000_000, "{}", json.len());
    }

    #[test]
    fn a_slot_is_a_whole_part_of_a_day() {
        for slot in SLOTS {
            assert_eq!(86_400 % slot, 0);
        }
        let of = |seconds| {
            let recording = Recording::new().keep(Duration::from_secs(seconds));
            (recording.slot().as_secs(), recording.columns())
        };
        assert_eq!(of(0), (1, 17));
        assert_eq!(of(240), (1, 256));
        assert_eq!(of(3600), (15, 256));
        assert_eq!(of(86_400), (900, 112));
        assert_eq!(of(u64::MAX), (86_400, 256));
    }

    /// Two processes with the same buckets are one, range by range.
    #[test]
    fn processes_with_the_same_boundaries_are_merged_without_loss() {
        // Such as no grid takes by itself.
        const BOUNDARIES: [&str; 3] = ["0#04711", "2#00815", "2#09001"];
        let [one, other, both] = [(); 3].map(|()| {
            let recorder = SampledRecorder::new(&Recording::new().one_in(1));
            recorder.boundaries("t", || BOUNDARIES.map(Into::into).to_vec());
            recorder
        });
        let mut written = [0; 4];
        for number in 0..20_000_u32 {
            let key = format!("{}#{:05}", number % 4, number.wrapping_mul(7919) % 9973);
            let record = |to: &SampledRecorder| {
                to.record("t", key.as_bytes(), Some(Access::Write), 1, (1, i64::from(number)));
            };
            record(if number % 3 == 0 { &one } else { &other });
            record(&both);
            written[BOUNDARIES.iter().filter(|boundary| key.as_str() >= **boundary).count()] += 1;
        }
        let (merged, both) = (one.snapshot().merge(&other.snapshot()).unwrap(), both.snapshot());
        let (merged, both) = (&merged.tables["t"], &both.tables["t"]);
        assert_eq!(merged.recorded, both.recorded);
        assert_eq!(merged.heavy_keys.total(), both.heavy_keys.total());
        let starts = std::iter::once("").chain(BOUNDARIES);
        let ends = BOUNDARIES.into_iter().map(|end| Some(end.into())).chain([None]);
        for ((start, end), written) in starts.zip(ends).zip(written) {
            let range = KeyRange::new(start, end);
            assert_eq!(merged.grid.between(&range, Measure::Writes), (written, written), "{start}");
            assert_eq!(both.grid.between(&range, Measure::Writes), (written, written), "{start}");
        }
    }
}
