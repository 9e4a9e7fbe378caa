//! Counts operations into a grid whose boundaries follow the load.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Access, Blur, Cell, Grid, Limits, Row, add_beside, widen};
use crate::key::MAX_KEY_LEN;

/// How many operations are kept before the first boundaries are chosen from them.
const FIRST: usize = 4096;
/// After how many operations to re-examine boundaries: this fraction of all, up to a maximum.
const PART: u64 = 64;
const BETWEEN: u64 = 4096;
/// Boundaries change at multiples of this many columns, if possible: then each column, even if it gets two or four times as wide, was
/// counted in one range, and no peak must be combined of two.
const COLUMNS: i64 = 4;
/// How many keys of a range are kept, to find its middle.
const SAMPLE: usize = 24;
/// A range with fewer operations is not split.
const LEAST_WEIGHT: u64 = 64;
/// How many slots are counted at a time: an operation that comes fewer slots late makes no error.
const SLOTS: usize = 16;
/// By how many more bytes keys of a group, such as one user's, agree with each other than with their neighbours.
const GROUP: usize = 2;
/// How many ranges a group has at least.
const GROUP_PARTS: usize = 4;
/// How many ranges are split at a time.
const MOST_SPLITS: usize = 64;

/// Counts reads and writes into a [`Grid`], in bounded memory and any order of keys.
///
/// ```
/// use keyderive::heat::{Access, GridBuilder, Measure};
///
/// let mut builder = GridBuilder::new().limits(100, 100);
/// builder.record(1_764_288_000_000, b"alice#2025", Access::Read, 1000);
/// assert_eq!(builder.grid().total(Measure::Reads), 1);
/// ```
///
/// Record operations roughly in the order of their times: one that is 16 or more slots late can increase the stated error, but makes no
/// peak too low.
#[derive(Clone, Debug)]
pub struct GridBuilder {
    limits: Limits,
    slot: i64,
    width: i64,
    first: i64,
    pinned: Vec<Vec<u8>>,
    all: Track,
    /// None before the first boundaries are chosen.
    rows: Vec<Range>,
    /// What comes before the first boundaries are chosen.
    pending: Vec<(i64, Vec<u8>, [u64; 3])>,
    /// Whether to drop the oldest columns instead of widening all.
    rolls: bool,
    total: u64,
    since_balance: u64,
    last_row: usize,
    random: fastrand::Rng,
}

/// Cells, and the counts of the last slots.
#[derive(Clone, Debug, Default)]
struct Track {
    cells: Vec<Cell>,
    /// The last slot.
    slot: Option<i64>,
    /// The counts of the last slots, each at its slot modulo `SLOTS`.
    counts: [[u64; 3]; SLOTS],
}

/// The place of a slot among the last ones.
fn place(slot: i64) -> usize {
    // Below the number of places.
    slot.rem_euclid(SLOTS as i64).unsigned_abs() as usize
}

impl Track {
    fn add(&mut self, column: usize, slot: i64, is_slot_wide: bool, amounts: [u64; 3]) {
        if self.cells.len() <= column {
            self.cells.resize(column + 1, Cell::default());
        }
        self.advance(slot);
        // The last slot is this one, or a later one.
        let is_late = self.slot.is_some_and(|last| last.abs_diff(slot) >= SLOTS as u64);
        let counts = &mut self.counts[place(slot)];
        let cell = &mut self.cells[column];
        for (at, amount) in amounts.into_iter().enumerate().filter(|(_, amount)| *amount > 0) {
            cell.sums[at] = cell.sums[at].saturating_add(amount);
            if !is_late {
                counts[at] = counts[at].saturating_add(amount);
            }
            if is_slot_wide {
                cell.peaks[at] = cell.sums[at];
            } else if is_late {
                cell.slacks[at] = cell.slacks[at].saturating_add(amount);
            } else {
                cell.peaks[at] = cell.peaks[at].max(counts[at]);
            }
        }
    }

    /// Makes a slot the last one, if it is later.
    fn advance(&mut self, slot: i64) {
        let new = match self.slot {
            Some(last) if slot <= last => return,
            Some(last) => slot.abs_diff(last).min(SLOTS as u64),
            None => SLOTS as u64,
        };
        for back in 0..new as i64 {
            self.counts[place(slot.wrapping_sub(back))] = [0; 3];
        }
        self.slot = Some(slot);
    }

    /// Adds what the last slots of another range have: both are one range now.
    fn join(&mut self, mut other: Self) {
        for slot in [self.slot, other.slot].into_iter().flatten() {
            self.advance(slot);
            other.advance(slot);
        }
        for (count, other) in self.counts.iter_mut().zip(other.counts) {
            for at in 0..3 {
                count[at] = count[at].saturating_add(other[at]);
            }
        }
    }
}

/// A row, and what tells where to split it.
#[derive(Clone, Debug)]
struct Range {
    start: Vec<u8>,
    /// A permanent boundary: the start of a bucket, a given one, or the edge of a group.
    is_pinned: bool,
    blur: Option<Blur>,
    track: Track,
    weight: u64,
    seen: Option<Seen>,
    sample: Vec<Box<[u8]>>,
}

/// Bounds of what a range has seen. They may be too wide, never too narrow.
#[derive(Clone, Debug)]
struct Seen {
    first: i64,
    last: i64,
    min: Vec<u8>,
    max: Vec<u8>,
    /// The time from which the counts below are.
    since: i64,
    /// The least and the greatest key of all operations before that time.
    before: Option<(Vec<u8>, Vec<u8>)>,
    /// The operations since then, and how many of them have keys above and below all before.
    within: u64,
    above: u64,
    below: u64,
}

impl Seen {
    fn new(time: i64, column: i64, key: &[u8]) -> Self {
        Self {
            first: time,
            last: time,
            min: key.into(),
            max: key.into(),
            since: column,
            before: None,
            within: 0,
            above: 0,
            below: 0,
        }
    }

    /// `column` is the time at which the column begins.
    fn add(&mut self, time: i64, column: i64, key: &[u8]) {
        if column > self.since {
            self.before = Some((self.min.clone(), self.max.clone()));
            self.since = column;
            (self.within, self.above, self.below) = (0, 0, 0);
        }
        self.first = self.first.min(time);
        self.last = self.last.max(time);
        if time < self.since {
            match &mut self.before {
                Some((min, max)) => lower_and_raise(min, max, key),
                before => *before = Some((key.into(), key.into())),
            }
        } else {
            self.within += 1;
            if let Some((min, max)) = &self.before {
                self.above += u64::from(key > max.as_slice());
                self.below += u64::from(key < min.as_slice());
            }
        }
        lower_and_raise(&mut self.min, &mut self.max, key);
    }

    /// The same for both sides of a key that the range is split at.
    fn split(&self, at: &[u8]) -> [Self; 2] {
        let side = |is_right: bool| {
            let limit = |min: &Vec<u8>, max: &Vec<u8>| match is_right {
                true => (min.as_slice().max(at).to_vec(), max.clone()),
                false => (min.clone(), max.as_slice().min(at).to_vec()),
            };
            let before = self.before.as_ref().filter(|(min, max)| match is_right {
                true => max.as_slice() >= at,
                false => min.as_slice() < at,
            });
            let (min, max) = limit(&self.min, &self.max);
            let before = before.map(|(min, max)| limit(min, max));
            // A side that has nothing from before begins there.
            let first = if before.is_none() { self.first.max(self.since) } else { self.first };
            Self { first, min, max, before, within: 0, above: 0, below: 0, ..self.clone() }
        };
        [side(false), side(true)]
    }

    fn join(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.since = self.since.min(other.since);
        match (&mut self.before, &other.before) {
            (Some((min, max)), Some((other_min, other_max))) => {
                lower_and_raise(min, max, other_min);
                lower_and_raise(min, max, other_max);
            }
            (before @ None, other) => before.clone_from(other),
            (Some(_), None) => {}
        }
        lower_and_raise(&mut self.min, &mut self.max, &other.min);
        lower_and_raise(&mut self.min, &mut self.max, &other.max);
        (self.within, self.above, self.below) = (0, 0, 0);
    }
}

fn lower_and_raise(min: &mut Vec<u8>, max: &mut Vec<u8>, key: &[u8]) {
    let bound = if key < min.as_slice() {
        min
    } else if key > max.as_slice() {
        max
    } else {
        return;
    };
    bound.clear();
    bound.extend_from_slice(key);
}

impl Default for GridBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl GridBuilder {
    /// An empty grid of at most 512 columns and 512 ranges, with slots of a second.
    #[must_use]
    pub fn new() -> Self {
        Self {
            limits: Limits { columns: 512, rows: 512 },
            slot: 1000,
            width: 1000,
            first: 0,
            pinned: Vec::new(),
            all: Track::default(),
            rows: Vec::new(),
            pending: Vec::new(),
            rolls: false,
            total: 0,
            since_balance: 0,
            last_row: 0,
            random: fastrand::Rng::with_seed(0),
        }
    }

    /// Limits the numbers of columns and ranges, to 16 to 4096 each. A cell takes 72 bytes.
    #[must_use]
    pub fn limits(mut self, columns: usize, rows: usize) -> Self {
        let within = |limit: usize| limit.clamp(Limits::LEAST, Limits::MOST);
        self.limits = Limits { columns: within(columns), rows: within(rows) };
        self
    }

    /// Sets the unit of peaks and the width of the narrowest column: at least 1 ms, one second by default. Set it before you record
    /// anything.
    #[must_use]
    pub fn slot(mut self, slot: Duration) -> Self {
        if self.total == 0 {
            // A quarter of all times that there are.
            self.slot = i64::try_from(slot.as_millis()).unwrap_or(i64::MAX).clamp(1, 1 << 60);
            self.width = self.slot;
        }
        self
    }

    /// Sets permanent boundaries, such as [`KeySchema::bucket_splits`](crate::key::KeySchema::bucket_splits): sums between them are exact, and
    /// grids that share them merge there without loss. At most half of the ranges can begin at them. Set them before you record anything.
    #[must_use]
    pub fn boundaries<B: Into<Vec<u8>>>(mut self, starts: impl IntoIterator<Item = B>) -> Self {
        if self.total == 0 {
            self.pinned =
                starts.into_iter().map(Into::into).filter(|start: &Vec<u8>| !start.is_empty()).collect();
            self.pinned.sort_unstable();
            self.pinned.dedup();
        }
        self
    }

    /// Drops the oldest columns when there are too many, instead of widening all: for a long-running process. Each column is a slot, and no
    /// peak has an error.
    ///
    /// ```
    /// use std::time::Duration;
    /// use keyderive::heat::{Access, GridBuilder, Measure};
    ///
    /// // The last hour, by quarters of a minute.
    /// let mut builder = GridBuilder::new().limits(240, 128).slot(Duration::from_secs(15)).rolling();
    /// for second in 0..86_400 {
    ///     builder.record(second * 1000, b"alice", Access::Write, 10);
    /// }
    /// assert!((3300..=3600).contains(&builder.grid().total(Measure::Writes)));
    /// ```
    #[must_use]
    pub fn rolling(self) -> Self {
        Self { rolls: true, ..self }
    }

    /// Allows at least this many ranges, up to 4096.
    pub(in crate::heat) fn at_least(mut self, rows: usize) -> Self {
        self.limits.rows = self.limits.rows.max(rows.min(Limits::MOST));
        self
    }

    /// How much time it keeps at most, in milliseconds, if it is rolling.
    pub(in crate::heat) fn kept(&self) -> Option<u64> {
        self.rolls.then(|| self.slot.unsigned_abs().saturating_mul(self.limits.columns as u64))
    }

    /// Counts an operation at this time, in milliseconds since 1970.
    pub fn record(&mut self, time: i64, key: &[u8], access: Access, bytes: u64) {
        let mut amounts = [0, 0, bytes];
        amounts[access.measure().at()] = 1;
        self.add(time, key, amounts);
    }

    /// Counts writes, reads and bytes of a key.
    pub(in crate::heat) fn add(&mut self, time: i64, key: &[u8], amounts: [u64; 3]) {
        let key = &key[..key.len().min(MAX_KEY_LEN)];
        self.total += 1;
        if self.rows.is_empty() {
            self.pending.push((time, key.to_vec(), amounts));
            if self.pending.len() == FIRST {
                self.begin();
            }
            return;
        }
        self.balance_if_due(time);
        self.count(time, key, amounts);
    }

    /// Whether boundaries were given.
    pub(in crate::heat) fn has_boundaries(&self) -> bool {
        !self.pinned.is_empty()
    }

    /// How many operations were counted.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.total
    }

    /// The grid of all operations so far.
    #[must_use]
    pub fn grid(&self) -> Grid {
        if self.rows.is_empty() {
            let mut whole = self.clone();
            whole.begin();
            return whole.grid();
        }
        let rows = self.rows.iter().map(|range| Row {
            start: range.start.clone(),
            blur: range.blur,
            cells: range.track.cells.iter().map(Cell::tidy).collect(),
        });
        Grid {
            slot: self.slot,
            width: self.width,
            first: self.first,
            limits: self.limits,
            all: self.all.cells.iter().map(Cell::tidy).collect(),
            rows: rows.collect(),
        }
    }

    /// A grid of only the last whole slot before a time, if columns are slots.
    #[cfg(feature = "metrics")]
    pub(in crate::heat) fn slot_before(&self, before: i64) -> Grid {
        if self.rows.is_empty() || self.width != self.slot {
            return self.grid();
        }
        let first = before.div_euclid(self.slot).saturating_sub(1);
        let column = first.checked_sub(self.first).and_then(|column| usize::try_from(column).ok());
        let cells = |track: &Track| column.and_then(|column| track.cells.get(column)).map(Cell::tidy);
        let rows = self.rows.iter().map(|range| Row {
            start: range.start.clone(),
            blur: range.blur,
            cells: cells(&range.track).into_iter().collect(),
        });
        let all = cells(&self.all).into_iter().collect();
        Grid { slot: self.slot, width: self.width, first, limits: self.limits, all, rows: rows.collect() }
    }

    /// Chooses the first boundaries, from the operations until now, and counts these.
    fn begin(&mut self) {
        let mut starts: Vec<(Vec<u8>, bool)> = vec![(Vec::new(), true)];
        // If there are too many, take every `step`-th.
        let step = self.pinned.len().div_ceil(self.limits.rows / 2 - 1).max(1);
        starts.extend(self.pinned.iter().skip(step - 1).step_by(step).map(|start| (start.clone(), true)));
        let mut keys: Vec<&[u8]> = self.pending.iter().map(|(_, key, _)| key.as_slice()).collect();
        keys.sort_unstable();
        let parts = (self.limits.rows - starts.len()) / 2;
        // Each part has enough keys to be worth a range.
        let parts = parts.min(keys.len() / 8);
        let splits = (1..parts)
            .filter_map(|part| separator(&keys, keys.len() * part / parts, keys.len() / parts / 4))
            .map(|at| (separating(&keys, at), false));
        starts.extend(splits);
        // At most as many edges as parts.
        let edges = edges(&keys, GROUP_PARTS * keys.len() / parts.max(1));
        starts.extend(edges.into_iter().map(|start| (start, true)));
        starts.sort_by(|(one, is_pinned), (other, other_is)| one.cmp(other).then(other_is.cmp(is_pinned)));
        starts.dedup_by(|(one, _), (kept, _)| one == kept);
        self.rows = starts
            .into_iter()
            .map(|(start, is_pinned)| Range {
                start,
                is_pinned,
                blur: None,
                track: Track::default(),
                weight: 0,
                seen: None,
                sample: Vec::new(),
            })
            .collect();
        for (time, key, amounts) in std::mem::take(&mut self.pending) {
            self.count(time, &key, amounts);
        }
    }

    fn count(&mut self, time: i64, key: &[u8], amounts: [u64; 3]) {
        let column = self.make_column(time);
        let slot = time.div_euclid(self.slot);
        let is_slot_wide = self.slot == self.width;
        self.all.add(column, slot, is_slot_wide, amounts);
        let column_time = time.saturating_sub(time.rem_euclid(self.width));
        let row = self.row_of(key);
        let range = &mut self.rows[row];
        range.track.add(column, slot, is_slot_wide, amounts);
        range.weight += 1;
        range.seen.get_or_insert_with(|| Seen::new(time, column_time, key)).add(time, column_time, key);
        if range.sample.len() < SAMPLE {
            range.sample.push(key.into());
        } else {
            let at = self.random.u64(..range.weight);
            if let Some(kept) = usize::try_from(at).ok().and_then(|at| range.sample.get_mut(at)) {
                *kept = key.into();
            }
        }
    }

    fn row_of(&mut self, key: &[u8]) -> usize {
        let last = self.last_row;
        let is_in = |at: usize| {
            self.rows.get(at).is_some_and(|range| range.start.as_slice() <= key)
                && self.rows.get(at + 1).is_none_or(|next| key < next.start.as_slice())
        };
        if !is_in(last) {
            // The first begins before every key.
            self.last_row = self.rows.partition_point(|range| range.start.as_slice() <= key) - 1;
        }
        self.last_row
    }

    /// The index of the column of a time; adds the column if needed.
    fn make_column(&mut self, time: i64) -> usize {
        loop {
            let column = time.div_euclid(self.width);
            if self.all.cells.is_empty() {
                self.first = column;
            }
            let end = self.first.saturating_add_unsigned(self.all.cells.len() as u64);
            let (first, end) = (self.first.min(column), end.max(column.saturating_add(1)));
            let too_many = end.abs_diff(first).saturating_sub(self.limits.columns as u64);
            if too_many > 0 && self.rolls {
                if column < self.first {
                    // An operation this late counts in the oldest column.
                    return 0;
                }
                // Several at a time, since each row is moved.
                self.forget(too_many.max(self.limits.columns as u64 / 16));
                continue;
            }
            if too_many > 0 {
                self.all.cells = widen(&self.all.cells, self.first);
                for range in &mut self.rows {
                    range.track.cells = widen(&range.track.cells, self.first);
                }
                self.first = self.first.div_euclid(2);
                self.width *= 2;
                continue;
            }
            // At most as many as there are columns.
            let new = usize::try_from(self.first.abs_diff(first)).unwrap_or(0);
            if new > 0 {
                self.first = first;
                let tracks = self.rows.iter_mut().map(|range| &mut range.track);
                for track in tracks.chain([&mut self.all]).filter(|track| !track.cells.is_empty()) {
                    track.cells.splice(0..0, std::iter::repeat_n(Cell::default(), new));
                }
            }
            return usize::try_from(column.abs_diff(self.first)).unwrap_or(0);
        }
    }

    /// Drops this many of the oldest columns, and the same share of the weights.
    fn forget(&mut self, columns: u64) {
        let (gone, of) = (columns.min(self.all.cells.len() as u64), self.all.cells.len() as u64);
        // Below the number of columns.
        let drained = usize::try_from(gone).unwrap_or(0);
        let tracks = self.rows.iter_mut().map(|range| &mut range.track);
        for track in tracks.chain([&mut self.all]) {
            track.cells.drain(..drained.min(track.cells.len()));
        }
        self.first = self.first.saturating_add_unsigned(gone);
        let begin = self.first.saturating_mul(self.width);
        for range in &mut self.rows {
            range.weight -= range.weight * gone / of.max(1);
            range.blur = range.blur.filter(|blur| blur.until > begin);
            if let Some(seen) = &mut range.seen {
                seen.first = seen.first.max(begin);
            }
        }
    }

    /// Re-examines the boundaries before an operation of this time, if due.
    fn balance_if_due(&mut self, time: i64) {
        self.since_balance += 1;
        let (column, last) = (
            time.div_euclid(self.width),
            self.first.saturating_add_unsigned(self.all.cells.len() as u64).saturating_sub(1),
        );
        let due = (self.total / PART).min(BETWEEN);
        let is_due = match self.since_balance {
            // In so busy a column, better add peaks up than keep ranges that do not follow the load.
            since if since >= 8 * BETWEEN => true,
            since if since >= 4 * due => column > last,
            since => since >= due && column.div_euclid(COLUMNS) > last.div_euclid(COLUMNS),
        };
        if is_due {
            self.since_balance = 0;
            self.balance();
        }
    }

    /// Splits the busy ranges, and merges cold ones to make room for them.
    fn balance(&mut self) {
        let all: u64 = self.rows.iter().map(|range| range.weight).sum();
        let too_much = (2 * all / self.limits.rows as u64).max(LEAST_WEIGHT);
        let mut heavy: Vec<_> = self
            .rows
            .iter()
            .filter(|range| range.weight > too_much)
            .map(|range| (range.weight, range.start.clone()))
            .collect();
        heavy.sort_unstable_by(|one, other| other.cmp(one));
        for (weight, start) in heavy.into_iter().take(MOST_SPLITS) {
            if self.rows.len() >= self.limits.rows && !self.fold(weight / 2) {
                break;
            }
            // Ranges before it may have been folded, and so may it.
            let at = self.rows.partition_point(|range| range.start <= start) - 1;
            if self.rows[at].start == start {
                self.split(at);
            }
        }
    }

    /// Merges the two neighbours with the least load, if it is less than `limit`.
    fn fold(&mut self, limit: u64) -> bool {
        let pairs = (1..self.rows.len()).filter(|at| !self.rows[*at].is_pinned);
        let weight = |at: usize| self.rows[at - 1].weight + self.rows[at].weight;
        let Some(at) = pairs.min_by_key(|at| weight(*at)).filter(|at| weight(*at) < limit) else {
            return false;
        };
        let folded = self.rows.remove(at);
        let slots = (self.width / self.slot).unsigned_abs();
        let range = &mut self.rows[at - 1];
        add_beside(&mut range.track.cells, &folded.track.cells, slots);
        range.track.join(folded.track);
        range.weight += folded.weight;
        match (&mut range.seen, folded.seen) {
            (Some(seen), Some(other)) => seen.join(&other),
            (seen @ None, other) => *seen = other,
            (Some(_), None) => {}
        }
        range.sample.extend(folded.sample);
        self.random.shuffle(&mut range.sample);
        range.sample.truncate(SAMPLE);
        true
    }

    /// Splits a range, if it has two keys.
    fn split(&mut self, at: usize) {
        let range = &self.rows[at];
        let Some(seen) = &range.seen else { return };
        let mut sample: Vec<&[u8]> = range.sample.iter().map(|key| &**key).collect();
        sample.sort_unstable();
        let grows = seen.above * 2 > seen.within;
        let falls = seen.below * 2 > seen.within;
        let key = match &seen.before {
            Some((_, max)) if grows => Some([max, &[0][..]].concat()),
            Some((min, _)) if falls => Some(min.clone()),
            _ => separator(&sample, sample.len() / 2, sample.len()).map(|at| separating(&sample, at)),
        };
        // The sample has a single key: split off everything before it, or after it.
        let key = key.or_else(|| {
            let only = *sample.first()?;
            if only > range.start.as_slice() { Some(only.to_vec()) } else { Some([only, &[0]].concat()) }
        });
        let end = self.rows.get(at + 1);
        let is_inside = |key: &Vec<u8>| *key > range.start && end.is_none_or(|end| *key < end.start);
        let Some(key) = key.filter(|key| is_inside(key) && *key <= seen.max) else { return };
        // Earlier operations than `since` lie on one side; otherwise it is not known where.
        let is_left = seen.before.as_ref().is_none_or(|(_, max)| *max < key);
        let is_right = !is_left && seen.before.as_ref().is_some_and(|(min, _)| *min >= key);
        let from = if is_left || is_right { seen.since } else { seen.first };
        let mut blur = Blur { from, until: seen.last.saturating_add(1) };
        // Operations counted together with a neighbour may lie across the new boundary, unless all lie on the neighbour's
        // side.
        let with_left = range.blur.filter(|_| !is_left);
        let with_right = end.and_then(|end| end.blur).filter(|_| !is_right);
        for other in with_left.into_iter().chain(with_right) {
            blur = blur.hull(other);
        }
        let share = match (grows, falls) {
            (true, _) => seen.above,
            (_, true) => range.weight.saturating_sub(seen.below),
            _ => {
                let right = sample.iter().filter(|one| **one >= key.as_slice()).count() as u64;
                (range.weight * right).checked_div(sample.len() as u64).unwrap_or(0)
            }
        };
        let [left_seen, right_seen] = seen.split(&key);
        let range = &mut self.rows[at];
        let (right_sample, left_sample) =
            std::mem::take(&mut range.sample).into_iter().partition(|one| **one >= *key);
        let weight = share.min(range.weight);
        range.weight -= weight;
        range.seen = Some(left_seen);
        range.sample = left_sample;
        let track = Track { slot: range.track.slot, ..Track::default() };
        let track = if is_right { std::mem::replace(&mut range.track, track) } else { track };
        let right = Range {
            start: key,
            is_pinned: false,
            blur: Some(blur),
            track,
            weight,
            seen: Some(right_seen),
            sample: right_sample,
        };
        self.rows.insert(at + 1, right);
    }
}

/// The index, at most `within` from `middle`, before which a short key separates the sorted keys. Indexes in the nearest
/// quarter come first; of these the one with the shortest key, then the nearest. So processes that see similar keys find the
/// same boundaries.
fn separator(sorted: &[&[u8]], middle: usize, within: usize) -> Option<usize> {
    let near = middle.saturating_sub(within).max(1)..(middle + within + 1).min(sorted.len());
    near.filter(|at| sorted[at - 1] < sorted[*at]).min_by_key(|at| {
        let distance = at.abs_diff(middle);
        // Within a quarter of the way, a shorter one is better than a nearer one.
        (distance > within / 4, shared(sorted, *at), distance)
    })
}

/// The shortest key that separates a key from the one before it.
fn separating(sorted: &[&[u8]], at: usize) -> Vec<u8> {
    let key = sorted[at];
    key[..(shared(sorted, at) + 1).min(key.len())].to_vec()
}

/// Where groups of at least `least` sorted keys begin and end, such as a busy user's keys. A group's ranges hold no other
/// keys, since only then do its first and last range show that they grow.
fn edges(sorted: &[&[u8]], least: usize) -> BTreeSet<Vec<u8>> {
    let half = (least / 2).max(1);
    let shared: Vec<_> = (0..sorted.len()).map(|at| if at == 0 { 0 } else { shared(sorted, at) }).collect();
    let mut edges = BTreeSet::new();
    for inside in shared.windows(half + 1).enumerate().step_by(half) {
        let (first, last) = (inside.0, inside.0 + half);
        if sorted[first] == sorted[last] {
            // A busy row is a range of its own.
            edges.extend([sorted[first].to_vec(), [sorted[first], &[0]].concat()]);
            continue;
        }
        let most = inside.1[1..].iter().copied().min().unwrap_or(0);
        let start = (1..=first).rev().find(|at| shared[*at] < most);
        let end = (last + 1..sorted.len()).find(|at| shared[*at] < most);
        let count = end.unwrap_or(sorted.len()) - start.unwrap_or(0);
        let is_edge = |at: &usize| count >= least && shared[*at] + GROUP < most;
        edges.extend(start.filter(is_edge).map(|at| separating(sorted, at)));
        edges.extend(end.filter(is_edge).map(|at| just_after(sorted, at)));
    }
    edges
}

/// The shortest key that separates a key from the one before it, and the least of these.
fn just_after(sorted: &[&[u8]], at: usize) -> Vec<u8> {
    let mut start = sorted[at - 1].get(..=shared(sorted, at)).unwrap_or_default().to_vec();
    match start.last_mut() {
        // The other key has a greater byte here.
        Some(last) => *last = last.saturating_add(1),
        None => start = separating(sorted, at),
    }
    start
}

/// How many bytes a key shares with the one before it.
fn shared(sorted: &[&[u8]], at: usize) -> usize {
    sorted[at - 1].iter().zip(sorted[at]).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_short_and_near() {
        let keys: Vec<&[u8]> = vec![b"user-01", b"user-02", b"user-10", b"user-11"];
        assert_eq!(separator(&keys, 2, 1), Some(2));
        assert_eq!(separating(&keys, 2), b"user-1");
        assert_eq!(just_after(&keys, 2), b"user-1");
        assert_eq!(just_after(&[b"user-35#1", b"user-99"], 1), b"user-4");
        assert_eq!(just_after(&[b"user", b"user-99"], 1), b"user-");
        let users = [b"u1-".as_slice(), b"u35-001", b"u35-002", b"u35-003", b"u35-004", b"u41-"];
        assert_eq!(edges(&users, 4), BTreeSet::from([b"u3".to_vec(), b"u4".to_vec()]));
        let row = [b"1".as_slice(), b"42", b"42", b"42", b"42", b"43"];
        assert_eq!(edges(&row, 2), BTreeSet::from([b"42".to_vec(), b"42\0".to_vec()]));
        assert!(edges(&users, 5).is_empty() && edges(&keys, 2).is_empty() && edges(&[], 4).is_empty());
        assert_eq!(separator(&keys[..1], 0, 1), None);
        assert_eq!(separator(&[b"a", b"a"], 1, 2), None);
        assert_eq!(separator(&[], 0, 1), None);
    }
}
