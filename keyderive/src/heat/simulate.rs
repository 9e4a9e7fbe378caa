//! The load of a workload on a key layout, before the first write.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::advice::{Variant, variants};
use super::grid::{Access, Grid, GridBuilder};
use super::report::{Busiest, FieldFigures, Forecast, KeyLengths, ReadFigures, Remedy, TopValue};
use super::sketch::HeavyKeys;
use super::tablets::{BusiestWindow, Keys, Outcome, ReadAt, TabletModel, Trace, run};
use crate::dynamic::{DynKey, KeyLayout, Value};
use crate::key::{Bucket, DecodeError, EncodeError, Field, KeySchema, RowKey};
use crate::plan::{IntoPlan, KeyRange, PlanError, Request};

/// How many events to sample for tablets and variants, by default.
const SAMPLE: usize = 100_000;
/// How many windows a workload has at least, so that tablets have time to be split.
const LEAST_WINDOWS: i64 = 24;
/// The window lengths to choose from if the requested one does not fit, in milliseconds: whole fractions of a second, a minute, an hour, a
/// day.
const WINDOWS: [i64; 27] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
    600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000, 43_200_000, 86_400_000,
];
/// How many events a window should have on average.
const WINDOW_EVENTS: i64 = 200;
/// How many reads are computed for each layout.
const MOST_READS: f64 = 20_000.0;
/// How many events to sample for the figures of fields.
const FIELD_EVENTS: usize = 50_000;
/// How many pairs of events are compared to see whether a field grows.
const PAIRS: usize = 20_000;

/// Simulates the load of events on a table with keys of a type. Each event is a write: its time in milliseconds since 1970, its key, and
/// its bytes.
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::heat::{self, Workload};
///
/// #[derive(RowKey)]
/// #[row_key(allow(hotspot))]
/// struct EventKey {
///     #[row_key(sequential)]
///     at: u64,
///     user: u32,
/// }
///
/// let events = Workload::zipf(1000, 0.8).events(20_000).into_iter().map(|draw| {
///     (draw.time, EventKey { at: draw.time as u64, user: draw.item as u32 }, 200)
/// });
/// let forecast = heat::simulate(events).run()?;
/// assert_eq!(forecast.tablets.peak, 1.0); // all writes of a minute go to one tablet
/// let salted = forecast.remedies.iter().find(|remedy| remedy.variant.to_string() == "with 8 buckets").unwrap();
/// assert!(salted.tablets.peak < 0.25);
/// println!("{forecast}");
/// # Ok::<(), keyderive::heat::SimulationError>(())
/// ```
///
/// It connects to nothing and stores nothing. [`simulate_layout`] does the same for a key layout that is known only at run time.
pub fn simulate<'a, K: RowKey>(events: impl IntoIterator<Item = (i64, K, u64)> + 'a) -> Simulation<'a> {
    let mut events = events.into_iter();
    Simulation::new(KeyLayout::of::<K>(), move |out| {
        let (time, key, bytes) = events.next()?;
        Some(key.encode_into(out).map(|()| (time, bytes)))
    })
}

/// As [`simulate`], for a key layout that is known only at run time: each key is a list of field names and values.
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::dynamic::{KeyLayout, Value};
/// use keyderive::heat;
/// # #[derive(RowKey)] struct EventKey { user: String, #[pad(3)] seq: u16 }
///
/// let layout = KeyLayout::of::<EventKey>(); // or from a file of layouts
/// let events = (0..1000_i64).map(|at| (at * 1000, [("user", format!("u{}", at % 7)), ("seq", at.to_string())], 100));
/// let forecast = heat::simulate_layout(&layout, events).run()?;
/// assert_eq!(forecast.events, 1000);
/// # Ok::<(), keyderive::heat::SimulationError>(())
/// ```
pub fn simulate_layout<'a, N: AsRef<str>, V: Into<Value>, F: IntoIterator<Item = (N, V)>>(
    layout: &KeyLayout,
    events: impl IntoIterator<Item = (i64, F, u64)> + 'a,
) -> Simulation<'a> {
    let (encoder, mut events) = (layout.clone(), events.into_iter());
    Simulation::new(layout.clone(), move |out| {
        let (time, fields, bytes) = events.next()?;
        Some(encoder.encode(fields).map(|key| {
            out.extend_from_slice(&key);
            (time, bytes)
        }))
    })
}

/// The next event: appends its key, and returns its time and bytes.
type NextEvent<'a> = Box<dyn FnMut(&mut Vec<u8>) -> Option<Result<(i64, u64), EncodeError>> + 'a>;

/// A simulation, from [`simulate`]: [`run`](Self::run) returns its [`Forecast`].
#[must_use = "`run` runs it"]
pub struct Simulation<'a> {
    layout: KeyLayout,
    next: NextEvent<'a>,
    model: TabletModel,
    reads: Vec<Read>,
    variants: Vec<(Variant, KeyLayout)>,
    has_remedies: bool,
    grid: Option<GridBuilder>,
    sample: usize,
    fault: Option<SimulationError>,
}

/// A kind of read.
struct Read {
    name: String,
    /// How many there are per event.
    per_event: f64,
    /// The names of the fields that it fixes.
    fields: Vec<String>,
    /// For a plan, whose values are the same each time.
    requests: Option<Vec<Ranges>>,
}

/// The ranges of a request; a key is one, too.
type Ranges = Vec<KeyRange>;

fn ranges_of(request: Request) -> Ranges {
    let (keys, mut ranges) = request.into_rows();
    ranges.extend(keys.into_iter().map(only));
    ranges
}

fn only(key: Vec<u8>) -> KeyRange {
    let end = [&*key, &[0]].concat();
    KeyRange::new(key, Some(end))
}

/// Why a simulation has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum SimulationError {
    /// There are no events.
    NoEvents,
    /// A key cannot be encoded: the number of its event, from 0, and the error.
    Key(u64, EncodeError),
    /// A key of a given layout cannot be made of the fields of an event, or does not decode: the name of the layout, and the error.
    Layout(String, Box<dyn Error + Send + Sync>),
    /// A read cannot be planned: its name, and the error.
    Read(String, PlanError),
    /// A plan is one of keys of another layout: the name of the read.
    OtherLayout(String),
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEvents => f.write_str("the workload has no events; give the simulation some"),
            Self::Key(at, error) => write!(f, "event {at} of the workload: {error}"),
            Self::Layout(name, error) => {
                write!(f, "the layout {name} cannot take an event of the workload: {error}")
            }
            Self::Read(name, error) => write!(f, "the read `{name}`: {error}"),
            Self::OtherLayout(name) => {
                write!(
                    f,
                    "the read `{name}` is a plan of another key type than that of the events; begin one with their `scan()`"
                )
            }
        }
    }
}

impl Error for SimulationError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoEvents | Self::OtherLayout(_) => None,
            Self::Key(_, error) => Some(error),
            Self::Layout(_, error) => Some(&**error),
            Self::Read(_, error) => Some(error),
        }
    }
}

impl fmt::Debug for Simulation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("layout", &self.layout)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl<'a> Simulation<'a> {
    fn new(
        layout: KeyLayout,
        next: impl FnMut(&mut Vec<u8>) -> Option<Result<(i64, u64), EncodeError>> + 'a,
    ) -> Self {
        Self {
            layout,
            next: Box::new(next),
            model: TabletModel::default(),
            reads: Vec::new(),
            variants: Vec::new(),
            has_remedies: true,
            grid: None,
            sample: SAMPLE,
            fault: None,
        }
    }

    /// Sets the model of the cluster.
    pub fn model(self, model: TabletModel) -> Self {
        Self { model, ..self }
    }

    /// Adds reads: this many per event, of the rows with the event's values in these fields.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::heat;
    /// # #[derive(RowKey)] #[salt(range = 4)] struct EventKey { user: u32, at: u64 }
    /// let events = (0..1000).map(|at| (at * 1000, EventKey { user: at as u32 % 50, at: at as u64 }, 100));
    /// let forecast = heat::simulate(events).read("a user's events", 0.5, ["user"]).run()?;
    /// assert_eq!(forecast.reads[0].requests, 4.0); // one for each bucket
    /// # Ok::<(), keyderive::heat::SimulationError>(())
    /// ```
    ///
    /// A layout can fix only the leftmost fields of its keys, so a variant can need more requests, or read everything.
    pub fn read<N: Into<String>>(
        mut self,
        name: impl Into<String>,
        per_event: f64,
        fields: impl IntoIterator<Item = N>,
    ) -> Self {
        let fields = fields.into_iter().map(Into::into).collect();
        self.reads.push(Read { name: name.into(), per_event: amount(per_event), fields, requests: None });
        self
    }

    /// Adds reads of one plan: this many per event, with the same values each time.
    ///
    /// Variants treat them as [`read`](Self::read)s that fix the same fields.
    pub fn plan<K>(mut self, name: impl Into<String>, per_event: f64, scan: impl IntoPlan<K>) -> Self {
        let name = name.into();
        match scan.into_plan() {
            Ok(plan) => {
                let (schema, fixed) = plan.fixed();
                if schema.fingerprint() != self.layout.schema().fingerprint() {
                    self.fault.get_or_insert(SimulationError::OtherLayout(name));
                    return self;
                }
                let fields =
                    schema.fields().iter().take(fixed).map(|field| field.name().to_owned()).collect();
                let requests = Some(plan.requests().into_iter().map(ranges_of).collect());
                self.reads.push(Read { name, per_event: amount(per_event), fields, requests });
            }
            Err(error) => {
                self.fault.get_or_insert(SimulationError::Read(name, error));
            }
        }
        self
    }

    /// Compares another layout with the others. Its fields get their values by name. A layout that equals a built-in variant
    /// is tried once, under the built-in name.
    pub fn variant(mut self, name: impl Into<String>, layout: &KeyLayout) -> Self {
        self.variants.push((Variant::Layout(name.into()), layout.clone()));
        self
    }

    /// Tries only the layouts given to [`variant`](Self::variant). The remedies take most of the time of a run.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::heat;
    /// # #[derive(RowKey)] struct EventKey { user: u32, at: u64 }
    /// let events = (0..1000).map(|at| (at * 1000, EventKey { user: at as u32 % 50, at: at as u64 }, 100));
    /// assert!(heat::simulate(events).without_remedies().run()?.remedies.is_empty());
    /// # Ok::<(), keyderive::heat::SimulationError>(())
    /// ```
    pub fn without_remedies(self) -> Self {
        Self { has_remedies: false, ..self }
    }

    /// Counts into this grid, with its limits, slot and boundaries.
    pub fn grid(self, grid: GridBuilder) -> Self {
        Self { grid: Some(grid), ..self }
    }

    /// How many events to sample for tablets and variants, 100,000 by default. The grid, the buckets and the lengths of keys always cover
    /// all events.
    pub fn sample(self, events: usize) -> Self {
        Self { sample: events.max(1), ..self }
    }

    /// Runs the events, then their variants.
    ///
    /// # Errors
    /// If there are no events, a key cannot be encoded, or a read cannot be planned.
    pub fn run(self) -> Result<Forecast, SimulationError> {
        self.finish().and_then(Finished::forecast)
    }

    /// Fails a test if the busiest tablet takes this share of all writes in its worst minute, or more.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::heat::{self, Workload};
    /// #[derive(RowKey)]
    /// struct MeterKey {
    ///     meter: u32,
    ///     at: u64,
    /// }
    ///
    /// let events = Workload::uniform(10_000).events(30_000).into_iter();
    /// heat::simulate(events.map(|draw| (draw.time, MeterKey { meter: draw.item as u32, at: draw.time as u64 }, 100)))
    ///     .assert_busiest_tablet_below(0.2);
    /// ```
    ///
    /// # Panics
    /// With the forecast and a small heatmap, if the share is reached. Also if the simulation fails.
    #[track_caller]
    #[allow(clippy::panic)]
    pub fn assert_busiest_tablet_below(self, share: f64) {
        let finished = self.finish().unwrap_or_else(|error| panic!("the simulation has no result: {error}"));
        // Variants take the most time, and are for the message alone.
        if finished.outcome.tablets.peak >= share {
            match finished.forecast() {
                Ok(forecast) => forecast.assert_busiest_tablet_below(share),
                Err(error) => panic!("the simulation has no result: {error}"),
            }
        }
    }

    /// Runs the events, without variants.
    pub(super) fn finish(mut self) -> Result<Finished, SimulationError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let schema = self.layout.schema();
        let mut grid = self.grid.unwrap_or_default();
        if grid.operations() == 0 && !grid.has_boundaries() {
            grid = grid.boundaries(schema.bucket_splits());
        }
        let buckets = Buckets::of(schema);
        let mut by_bucket = vec![0_u64; buckets.numbers.len()];
        let mut heavy = HeavyKeys::new(64);
        let mut sample = Sample::new(self.sample);
        let mut lengths = KeyLengths { min: usize::MAX, mean: 0.0, max: 0 };
        let (mut events, mut bytes_of_keys, mut key) = (0_u64, 0_u64, Vec::with_capacity(64));
        let mut due = vec![0.0; self.reads.len()];
        loop {
            key.clear();
            let Some(next) = (self.next)(&mut key) else { break };
            let (time, bytes) = next.map_err(|error| SimulationError::Key(events, error))?;
            grid.record(time, &key, Access::Write, bytes);
            heavy.add(&key, 1);
            if let Some(count) = buckets.index(schema, &key).and_then(|at| by_bucket.get_mut(at)) {
                *count += 1;
            }
            lengths.min = lengths.min.min(key.len());
            lengths.max = lengths.max.max(key.len());
            bytes_of_keys += key.len() as u64;
            sample.add(events, time, bytes, &key);
            events += 1;
            for (read, due) in self.reads.iter().zip(&mut due) {
                *due += read.per_event;
                while *due >= 1.0 {
                    *due -= 1.0;
                    for range in read.requests_of(&self.layout, &key)?.into_iter().flatten() {
                        grid.record(time, range.start(), Access::Read, 0);
                    }
                }
            }
        }
        if events == 0 {
            return Err(SimulationError::NoEvents);
        }
        lengths.mean = bytes_of_keys as f64 / events as f64;
        let sample = sample.sorted();
        let window = window(&self.model, &sample.times);
        let mut finished = Finished {
            layout: self.layout,
            model: self.model,
            reads: self.reads,
            variants: self.variants,
            has_remedies: self.has_remedies,
            weight: events as f64 / sample.times.len() as f64,
            events,
            grid: grid.grid(),
            heavy,
            lengths,
            bucket_writes: buckets.numbers.iter().copied().zip(by_bucket).collect(),
            sample,
            window,
            outcome: Outcome::default(),
            read_figures: Vec::new(),
        };
        let (outcome, reads) = finished.simulate(&finished.layout, &finished.sample.keys, true)?;
        (finished.outcome, finished.read_figures) = (outcome, reads);
        Ok(finished)
    }
}

fn amount(per_event: f64) -> f64 {
    if per_event.is_finite() { per_event.clamp(0.0, 1000.0) } else { 0.0 }
}

/// The length of a window in milliseconds: the model's, but such that there are neither too few windows nor too few events in each.
fn window(model: &TabletModel, times: &[i64]) -> i64 {
    let wanted = i64::try_from(model.window.as_millis()).unwrap_or(i64::MAX).max(1);
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return wanted };
    let lasting = last.saturating_sub(*first).saturating_add(1);
    let most_windows = (i64::try_from(times.len()).unwrap_or(i64::MAX) / WINDOW_EVENTS).max(LEAST_WINDOWS);
    let windows = (lasting / wanted).clamp(LEAST_WINDOWS, most_windows);
    if windows == lasting / wanted {
        return wanted;
    }
    // A whole unit, so that windows begin at whole times.
    const DAY: i64 = 86_400_000;
    let wanted = (lasting / windows).max(1);
    if wanted > DAY {
        return wanted - wanted % DAY;
    }
    let wanted = wanted as f64;
    let distance = |window: &i64| (*window as f64 / wanted).ln().abs();
    WINDOWS.into_iter().min_by(|one, other| distance(one).total_cmp(&distance(other))).unwrap_or(1)
}

/// The salt buckets of a layout, in order.
struct Buckets {
    numbers: Vec<i32>,
}

impl Buckets {
    fn of(schema: &'static KeySchema) -> Self {
        let mut numbers: Vec<i32> = schema.all_buckets().into_iter().map(Bucket::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Self { numbers }
    }

    fn index(&self, schema: &'static KeySchema, key: &[u8]) -> Option<usize> {
        if self.numbers.is_empty() {
            return None;
        }
        self.numbers.binary_search(&schema.bucket_of(key)?).ok()
    }
}

/// Samples the events whose numbers hash below a threshold, which is halved when there are too many.
struct Sample {
    most: usize,
    threshold: u64,
    /// The hash, the time, the bytes and the key.
    events: Vec<(u64, i64, u64, Box<[u8]>)>,
}

/// The events of a sample by their times.
struct Sorted {
    times: Vec<i64>,
    bytes: Vec<u64>,
    keys: Keys,
}

impl Sample {
    fn new(most: usize) -> Self {
        Self { most, threshold: u64::MAX, events: Vec::new() }
    }

    fn add(&mut self, number: u64, time: i64, bytes: u64, key: &[u8]) {
        // SplitMix64, so that no rhythm of the events is a rhythm of the sample.
        let mut hash = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        if hash > self.threshold {
            return;
        }
        self.events.push((hash, time, bytes, key.into()));
        while self.events.len() > self.most {
            self.threshold /= 2;
            let threshold = self.threshold;
            self.events.retain(|(hash, ..)| *hash <= threshold);
        }
    }

    fn sorted(mut self) -> Sorted {
        // Stable, so that events of one time stay in their order.
        self.events.sort_by_key(|(_, time, ..)| *time);
        let mut sorted = Sorted { times: Vec::new(), bytes: Vec::new(), keys: Keys::default() };
        for (_, time, bytes, key) in self.events {
            sorted.times.push(time);
            sorted.bytes.push(bytes);
            sorted.keys.push(&key);
        }
        sorted
    }
}

impl Read {
    /// The requests of an event's read; `key` is the event's key in this layout.
    fn requests_of(&self, layout: &KeyLayout, key: &[u8]) -> Result<Vec<Ranges>, SimulationError> {
        if let Some(requests) = &self.requests {
            return Ok(requests.clone());
        }
        self.requests_like(layout, key)
    }

    /// As above, with the values of the event.
    fn requests_like(&self, layout: &KeyLayout, key: &[u8]) -> Result<Vec<Ranges>, SimulationError> {
        let fault = |error| SimulationError::Read(self.name.clone(), error);
        let schema = layout.schema();
        let hashed = schema.fields().iter().position(|field| field.hash_of().is_some());
        let leftmost =
            schema.fields().iter().take_while(|field| self.fields.iter().any(|name| name == field.name()));
        let mut scan = layout.scan();
        if hashed.is_some() {
            // The values of hashed fields are not known, but all that is asked is where the rows are.
            let fixes_all = leftmost.count() == schema.fields().len();
            let range = if fixes_all { only(key.to_vec()) } else { KeyRange::new("", None) };
            return Ok(vec![vec![range]]);
        }
        let decoded = layout.decode(key).map_err(|error| decode_fault("of the events", error))?;
        for (field, (_, value)) in leftmost.zip(decoded.iter()) {
            scan = scan.fix(field.name(), value.clone()).map_err(fault)?;
        }
        Ok(scan.plan().map_err(fault)?.requests().into_iter().map(ranges_of).collect())
    }
}

fn decode_fault(layout: &str, error: DecodeError) -> SimulationError {
    SimulationError::Layout(layout.to_owned(), error.into())
}

/// A simulation that has run its events, without variants.
pub(super) struct Finished {
    layout: KeyLayout,
    model: TabletModel,
    reads: Vec<Read>,
    variants: Vec<(Variant, KeyLayout)>,
    has_remedies: bool,
    events: u64,
    weight: f64,
    grid: Grid,
    heavy: HeavyKeys,
    lengths: KeyLengths,
    bucket_writes: Vec<(i32, u64)>,
    sample: Sorted,
    /// In milliseconds.
    window: i64,
    pub(super) outcome: Outcome,
    read_figures: Vec<ReadFigures>,
}

impl Finished {
    /// Runs the sample in a layout.
    fn simulate(
        &self,
        layout: &KeyLayout,
        keys: &Keys,
        is_own: bool,
    ) -> Result<(Outcome, Vec<ReadFigures>), SimulationError> {
        let schema = layout.schema();
        let buckets = Buckets::of(schema);
        let count = self.sample.times.len();
        let mut figures = Vec::new();
        let mut reads = Vec::new();
        for read in self.reads.iter().filter(|read| read.per_event > 0.0) {
            // A sample of reads at equal distances, each standing for several.
            let wanted = (count as f64 * read.per_event).min(MOST_READS / self.reads.len() as f64).max(1.0);
            let weight = count as f64 * read.per_event / wanted.floor();
            let (mut requests, mut whole) = (0, 0);
            for number in 0..wanted as usize {
                let event = (number as f64 * count as f64 / wanted) as usize;
                let key = keys.get(event.min(count - 1));
                let of_read =
                    if is_own { read.requests_of(layout, key)? } else { read.requests_like(layout, key)? };
                requests += of_read.len();
                let ranges = of_read.concat();
                whole +=
                    usize::from(ranges.iter().any(|range| range.start().is_empty() && range.end().is_none()));
                reads.push(ReadAt { event, weight, ranges });
            }
            let leftmost = schema
                .fields()
                .first()
                .is_none_or(|field| read.fields.iter().any(|name| name == field.name()));
            figures.push(ReadFigures {
                name: read.name.clone(),
                per_event: read.per_event,
                requests: requests as f64 / wanted.floor(),
                reads_everything: whole > 0 || !leftmost,
            });
        }
        reads.sort_by_key(|read| read.event);
        let trace = Trace {
            times: &self.sample.times,
            bytes: &self.sample.bytes,
            keys,
            reads: &reads,
            weight: self.weight,
            window: self.window,
            bucket_of: &|key| buckets.index(schema, key),
            buckets: buckets.numbers.len(),
        };
        Ok((run(&self.model, schema.bucket_splits(), &trace), figures))
    }

    fn forecast(self) -> Result<Forecast, SimulationError> {
        let mut remedies: Vec<Remedy> = Vec::new();
        let variants = if self.has_remedies { variants(&self.layout) } else { Vec::new() };
        let variants = variants.into_iter().map(|variant| (variant, false));
        let given = self.variants.iter().cloned().map(|variant| (variant, true));
        for ((variant, layout), is_given) in variants.chain(given) {
            let fingerprint = layout.schema().fingerprint();
            let is_known = |remedy: &Remedy| remedy.layout.schema().fingerprint() == fingerprint;
            if is_given && remedies.iter().any(is_known) {
                continue;
            }
            let keys = match self.rekeyed(&layout) {
                Ok(keys) => keys,
                Err(error) if is_given => return Err(SimulationError::Layout(format!("`{variant}`"), error)),
                // Such as a key that gets too long.
                Err(_) => continue,
            };
            let (outcome, reads) = match self.simulate(&layout, &keys, false) {
                Ok(of) => of,
                Err(error) if is_given => return Err(error),
                Err(_) => continue,
            };
            remedies.push(Remedy {
                variant,
                template: layout.schema().template().to_string(),
                tablets: outcome.tablets,
                nodes: outcome.nodes,
                reads,
                layout,
            });
        }
        let schema = self.layout.schema();
        let busiest = self.outcome.busiest.as_ref().map(|busiest| self.describe(busiest));
        let sampled = (self.sample.times.len() as u64) < self.events;
        Ok(Forecast {
            version: 1,
            key_type: schema.key_type().to_owned(),
            template: schema.template().to_string(),
            events: self.events,
            sampled: sampled.then_some(self.sample.times.len() as u64),
            window: Duration::from_millis(self.window.unsigned_abs()),
            busiest,
            at_first: self.outcome.at_first,
            tablets: self.outcome.tablets,
            nodes: self.outcome.nodes,
            buckets: self.outcome.buckets,
            read_tablets: self.outcome.reads,
            bucket_writes: self.bucket_writes.clone(),
            reads: self.read_figures.clone(),
            key_lengths: self.lengths,
            fields: self.fields(),
            remedies,
            constants: self.model.constants(),
            model: self.model,
            grid: self.grid,
            heavy_keys: self.heavy,
            layout: self.layout,
        })
    }

    /// The keys of the sample in another layout.
    fn rekeyed(&self, layout: &KeyLayout) -> Result<Keys, Box<dyn Error + Send + Sync>> {
        let mut keys = Keys::default();
        for at in 0..self.sample.times.len() {
            let values = self.layout.decode(self.sample.keys.get(at))?;
            let names = layout.schema().fields().iter().map(Field::name);
            let fields = names.filter_map(|name| Some((name, values.get(name)?.clone())));
            keys.push(&layout.encode(fields)?);
        }
        Ok(keys)
    }

    /// What the events of the busiest tablet share.
    fn describe(&self, window: &BusiestWindow) -> Busiest {
        let schema = self.layout.schema();
        let inside = window.events.clone().filter(|at| window.tablet.contains(self.sample.keys.get(*at)));
        let mut inside: Vec<(usize, DynKey)> =
            inside.filter_map(|at| Some((at, self.layout.decode(self.sample.keys.get(at)).ok()?))).collect();
        let events = inside.len().max(1);
        let mut place = Vec::new();
        if let Some((at, _)) = inside.first() {
            // The first tablet of a bucket, or a part of one, has keys of one bucket.
            let bucket_of = |at: usize| schema.bucket_of(self.sample.keys.get(at));
            let bucket = bucket_of(*at);
            if let Some(number) = bucket.filter(|_| inside.iter().all(|(at, _)| bucket_of(*at) == bucket)) {
                place.push(format!("bucket {number}"));
            }
        }
        for (at, field) in schema.fields().iter().enumerate() {
            let mut counts: HashMap<String, usize> = HashMap::new();
            for (_, key) in &inside {
                if let Some(value) = key.get(field.name()) {
                    *counts.entry(self.layout.shown(at, value)).or_default() += 1;
                }
            }
            let top = counts.into_iter().max_by(|one, other| one.1.cmp(&other.1).then(other.0.cmp(&one.0)));
            // A value that more than half of all events share names the place; then the next field of those that share
            // it.
            let Some((value, _)) = top.filter(|(_, count)| count * 2 > events) else { break };
            place.push(format!("{} {value}", field.name()));
            inside.retain(|(_, key)| {
                key.get(field.name()).is_some_and(|found| self.layout.shown(at, found) == value)
            });
        }
        let start = self.sample.times.get(window.events.start).copied().unwrap_or(0);
        let begin = start.div_euclid(self.window).saturating_mul(self.window);
        Busiest {
            time: begin,
            share: self.outcome.tablets.peak,
            writes_per_second: window.writes * 1000.0 / self.window as f64,
            place,
            tablet: window.tablet.clone(),
        }
    }

    /// Figures of each field.
    fn fields(&self) -> Vec<FieldFigures> {
        let count = self.sample.times.len();
        let step = count.div_ceil(FIELD_EVENTS).max(1);
        let keys: Vec<DynKey> = (0..count)
            .step_by(step)
            .filter_map(|at| self.layout.decode(self.sample.keys.get(at)).ok())
            .collect();
        let mut random = fastrand::Rng::with_seed(0);
        let fields = self.layout.schema().fields().iter().enumerate();
        fields
            .map(|(at, field)| {
                let mut counts: HashMap<String, usize> = HashMap::new();
                for value in keys.iter().filter_map(|key| key.get(field.name())) {
                    *counts.entry(self.layout.shown(at, value)).or_default() += 1;
                }
                let (mut up, mut down) = (0_u32, 0_u32);
                for _ in 0..if keys.len() > 1 { PAIRS } else { 0 } {
                    let (one, other) = (random.usize(..keys.len()), random.usize(..keys.len()));
                    let (one, other) = (one.min(other), one.max(other));
                    let values = keys[one].get(field.name()).zip(keys[other].get(field.name()));
                    match values.and_then(|(one, other)| one.compare(other)) {
                        Some(std::cmp::Ordering::Less) => up += 1,
                        Some(std::cmp::Ordering::Greater) => down += 1,
                        _ => {}
                    }
                }
                let grows = if up + down == 0 {
                    0.0
                } else {
                    (f64::from(up) - f64::from(down)) / f64::from(up + down)
                };
                let distinct = counts.len() as u64;
                let mut top: Vec<_> = counts.into_iter().collect();
                top.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
                let share = |count: usize| count as f64 / keys.len().max(1) as f64;
                let top =
                    top.into_iter().take(3).map(|(value, count)| TopValue { value, share: share(count) });
                FieldFigures {
                    name: field.name().to_owned(),
                    distinct,
                    of: keys.len() as u64,
                    grows,
                    top: top.collect(),
                }
            })
            .collect()
    }
}
