//! What a simulation says: a line, a table, and data.

use std::fmt::{self, Write as _};
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::advice::Variant;
use super::grid::Grid;
use super::picture::Picture;
use super::sketch::HeavyKeys;
use super::tablets::{Constant, Shares, TabletModel};
use super::text::{percent, shown_time, shown_window};
use crate::dynamic::KeyLayout;
use crate::plan::KeyRange;

/// A variant is worth naming if the busiest tablet then takes at most this part of its former share.
const WORTH: f64 = 0.9;

/// Up to this multiple of the share from which tablets are split, a load is spread.
const WIDE: f64 = 1.25;

/// The result of a [simulation](super::simulate). `{}` prints a line, then a table.
///
/// ```text
/// The busiest tablet takes 100 % of the writes of its worst minute (2026-01-01 00:15, the tablet that begins with at 1767226500000);
/// with `user` first it would take 9 %, with 8 buckets 14 % for 8 requests a scan.
/// ```
///
/// Shares are of writes. serde serializes it without its grid and heavy keys, which are serializable themselves.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Forecast {
    /// The version of the serialized form: 1.
    pub version: u32,
    /// The name of the key type.
    pub key_type: String,
    /// The parts of its keys, as [`KeySchema::template`](crate::key::KeySchema::template) prints them.
    pub template: String,
    /// How many events there were.
    pub events: u64,
    /// How many of them were sampled for tablets, nodes, fields and remedies, if not all.
    pub sampled: Option<u64>,
    /// The length of the windows in which shares are computed: a minute, or as [`TabletModel::window`] says.
    #[serde(serialize_with = "seconds")]
    pub window: Duration,
    /// The busiest tablet in its worst window.
    pub busiest: Option<Busiest>,
    /// The share of the busiest tablet in the beginning, before the table is split.
    pub at_first: Option<f64>,
    /// The shares of tablets.
    pub tablets: Shares,
    /// The shares of nodes.
    pub nodes: Shares,
    /// The shares of salt buckets.
    pub buckets: Option<Shares>,
    /// The shares of tablets in the reads.
    pub read_tablets: Option<Shares>,
    /// The writes to each salt bucket, over all events.
    pub bucket_writes: Vec<(i32, u64)>,
    /// Each kind of read.
    pub reads: Vec<ReadFigures>,
    /// The lengths of keys in bytes, over all events.
    pub key_lengths: KeyLengths,
    /// Each field, from the left.
    pub fields: Vec<FieldFigures>,
    /// The same workload on other layouts.
    pub remedies: Vec<Remedy>,
    /// The numbers assumed for the cluster.
    pub constants: Vec<Constant>,
    #[serde(skip)]
    pub(super) model: TabletModel,
    #[serde(skip)]
    pub(super) grid: Grid,
    #[serde(skip)]
    pub(super) heavy_keys: HeavyKeys,
    #[serde(skip)]
    pub(super) layout: KeyLayout,
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// The busiest tablet in its worst window, from a [`Forecast`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Busiest {
    /// When the window begins, in milliseconds since 1970.
    pub time: i64,
    /// Its share of the window's writes.
    pub share: f64,
    /// Its writes per second, averaged over the window.
    pub writes_per_second: f64,
    /// What most of its writes share: the bucket, and the leftmost fields with their values.
    pub place: Vec<String>,
    /// Its keys.
    pub tablet: KeyRange,
}

/// A kind of read, from a [`Forecast`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReadFigures {
    /// Its name.
    pub name: String,
    /// How many there are per event.
    pub per_event: f64,
    /// How many requests one needs on average.
    pub requests: f64,
    /// Whether it reads all rows, since it fixes no leftmost field.
    pub reads_everything: bool,
}

/// The lengths of keys, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KeyLengths {
    /// The least.
    pub min: usize,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub max: usize,
}

/// The values of a field, from a [`Forecast`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FieldFigures {
    /// The field.
    pub name: String,
    /// How many different values there are.
    pub distinct: u64,
    /// Among how many events.
    pub of: u64,
    /// How closely the value follows the time, from -1 to 1: 1 if it always grows, -1 if it always falls, 0 if it does neither.
    pub grows: f64,
    /// The most frequent values.
    pub top: Vec<TopValue>,
}

/// A value of a field and its share of all events.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TopValue {
    /// The value, in words.
    pub value: String,
    /// Its share.
    pub share: f64,
}

/// The same workload on another layout, from a [`Forecast`].
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Remedy {
    /// How the layout differs.
    pub variant: Variant,
    /// The parts of its keys.
    pub template: String,
    /// The shares of tablets.
    pub tablets: Shares,
    /// The shares of nodes.
    pub nodes: Shares,
    /// What reads need.
    pub reads: Vec<ReadFigures>,
    /// The layout.
    #[serde(skip)]
    pub layout: KeyLayout,
}

impl Forecast {
    /// The writes, by time and range of keys.
    #[must_use]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The keys that are written most.
    #[must_use]
    pub fn heavy_keys(&self) -> &HeavyKeys {
        &self.heavy_keys
    }

    /// The layout of the keys.
    #[must_use]
    pub fn layout(&self) -> &KeyLayout {
        &self.layout
    }

    /// The numbers assumed for the cluster.
    #[must_use]
    pub fn model(&self) -> &TabletModel {
        &self.model
    }

    /// A heatmap of the writes. Its scale is the share of a node's capacity that the workload's events take, times [`TabletModel::scale`].
    pub fn picture(&self) -> Picture<'_> {
        Picture::new().model(&self.model).panel(&self.key_type, &self.grid, Some(&self.layout))
    }

    /// Only the line: the busiest tablet, and which variants would relieve it.
    #[must_use]
    pub fn line(&self) -> String {
        let Some(busiest) = &self.busiest else {
            return "No tablet is busy: no window has a write.".to_owned();
        };
        let place = match &busiest.place[..] {
            [] if busiest.tablet.start().is_empty() => "the first tablet".to_owned(),
            [] => {
                format!("the tablet that begins with {}", self.layout.decode_boundary(busiest.tablet.start()))
            }
            place => place.join(", "),
        };
        let mut line = format!(
            "The busiest tablet takes {} of the writes of its worst {} ({}, {place})",
            percent(busiest.share),
            shown_window(self.window),
            shown_time(busiest.time),
        );
        let named = self.named();
        // The share from which the model splits a tablet: below it, a tablet is no busier than it may be.
        let is_spread = busiest.share * self.model.nodes as f64 * self.model.tablets_per_node <= WIDE;
        let is_better = |remedy: &&&Remedy| remedy.tablets.peak <= busiest.share * WORTH;
        let better: Vec<_> = named.iter().filter(is_better).collect();
        if named.is_empty() {
            line.push('.');
        } else if is_spread {
            line.push_str("; its tablets share the load.");
        } else if better.is_empty() {
            line.push_str("; no variant of the layout spreads it more.");
        } else {
            for (at, remedy) in better.into_iter().enumerate() {
                let takes = if at == 0 { "it would take " } else { "" };
                let separator = if at == 0 { ";" } else { "," };
                _ = write!(line, "{separator} {} {takes}{}", remedy.variant, percent(remedy.tablets.peak));
                // What spreads writes multiplies reads.
                match (&remedy.variant, remedy.reads.first()) {
                    (Variant::Salt(range), None) => _ = write!(line, " for {range} requests a scan"),
                    (_, Some(read)) if read.requests > 1.0 => {
                        _ = write!(line, " for {:.0} requests a read", read.requests);
                    }
                    _ => {}
                }
            }
            line.push('.');
        }
        line
    }

    /// The remedies to name: the fewest buckets that do about what most do, the best field to put first, and the best of all others if it is
    /// better than these.
    fn named(&self) -> Vec<&Remedy> {
        let peak = |remedy: &&Remedy| remedy.tablets.peak;
        let best = |of: &dyn Fn(&Variant) -> bool| {
            let all = self.remedies.iter().filter(|remedy| of(&remedy.variant));
            all.min_by(|one, other| peak(one).total_cmp(&peak(other)))
        };
        let is_salt = |variant: &Variant| matches!(variant, Variant::Salt(_));
        let salt = best(&is_salt).and_then(|best| {
            let enough = best.tablets.peak * 1.15;
            self.remedies.iter().find(|remedy| is_salt(&remedy.variant) && remedy.tablets.peak <= enough)
        });
        let first = best(&|variant| matches!(variant, Variant::First(_)));
        let mut named: Vec<_> = salt.into_iter().chain(first).collect();
        let so_far = named.iter().map(peak).fold(1.0, f64::min);
        let other = best(&|variant| !is_salt(variant) && !matches!(variant, Variant::First(_)));
        named.extend(other.filter(|other| other.tablets.peak < so_far * WORTH));
        named.sort_by(|one, other| one.tablets.peak.total_cmp(&other.tablets.peak));
        named
    }

    /// Fails a test if the busiest tablet takes this share of all writes in its worst minute, or more.
    ///
    /// # Panics
    /// With the line, the table and a small heatmap.
    #[track_caller]
    #[allow(clippy::panic)]
    pub fn assert_busiest_tablet_below(&self, share: f64) {
        if self.tablets.peak >= share {
            panic!(
                "the busiest tablet takes {} of the writes of its worst {}, and {} is the limit\n{self}\n{}",
                percent(self.tablets.peak),
                shown_window(self.window),
                percent(share),
                self.picture().of_table(true).text(79, 12)
            );
        }
    }
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.line())?;
        let sampled = match self.sampled {
            Some(sampled) => format!(", {sampled} of them for tablets, fields and remedies"),
            None => String::new(),
        };
        writeln!(f, "\n{} with keys {}; {} events{sampled}", self.key_type, self.template, self.events)?;
        writeln!(f, "\n  share of writes                     peak    mean   of")?;
        let mut shares = |name: &str, shares: Shares| {
            let (peak, mean) = (percent(shares.peak).to_string(), percent(shares.mean).to_string());
            writeln!(f, "  {name:<32} {peak:>7} {mean:>7}   {}", shares.count)
        };
        shares("busiest tablet", self.tablets)?;
        shares("busiest node", self.nodes)?;
        if let Some(buckets) = self.buckets {
            shares("busiest bucket", buckets)?;
        }
        if let Some(reads) = self.read_tablets {
            shares("busiest tablet, of reads", reads)?;
        }
        if let Some(share) = self.at_first {
            writeln!(f, "  {:<32} {:>7}", "busiest tablet of a new table", percent(share).to_string())?;
        }
        if !self.reads.is_empty() {
            writeln!(f, "\n  reads                            for each event   requests")?;
            for read in &self.reads {
                let everything = if read.reads_everything { "  reads everything" } else { "" };
                writeln!(
                    f,
                    "  {:<32} {:>14} {:>10.1}{everything}",
                    read.name, read.per_event, read.requests
                )?;
            }
        }
        match self.key_lengths {
            KeyLengths { min, max, .. } if min == max => writeln!(f, "\n  keys have {min} bytes")?,
            KeyLengths { min, mean, max } => {
                writeln!(f, "\n  keys have {min} to {max} bytes, {mean:.1} in the mean")?;
            }
        }
        writeln!(f, "\n  field                  values  follows time   most frequent")?;
        for field in &self.fields {
            let top = field.top.iter().map(|top| format!("{} {}", top.value, percent(top.share)));
            let (of, top) = match field.distinct == field.of {
                // None is more frequent than another.
                true => ("all differ".to_owned(), String::new()),
                false => (field.distinct.to_string(), top.collect::<Vec<_>>().join(", ")),
            };
            let line = format!("  {:<18} {of:>10} {:>13.2}   {top}", field.name, field.grows);
            writeln!(f, "{}", line.trim_end())?;
        }
        if !self.remedies.is_empty() {
            let requests = if self.reads.is_empty() { "" } else { "   requests of a read" };
            writeln!(f, "\n  the same workload               tablet     mean    node{requests}")?;
            for remedy in &self.remedies {
                let requests = remedy.reads.iter().map(|read| match read.reads_everything {
                    true => "all".to_owned(),
                    false => format!("{:.1}", read.requests),
                });
                let requests = requests.collect::<Vec<_>>().join(", ");
                let (peak, mean) = (percent(remedy.tablets.peak), percent(remedy.tablets.mean));
                let (peak, mean, node) =
                    (peak.to_string(), mean.to_string(), percent(remedy.nodes.peak).to_string());
                let line = format!(
                    "  {:<30} {peak:>7} {mean:>8} {node:>7}   {requests}",
                    remedy.variant.to_string()
                );
                writeln!(f, "{}", line.trim_end())?;
            }
            writeln!(
                f,
                "  A node's share depends on how tablets fall on {} nodes, and jumps where few are busy.",
                self.nodes.count
            )?;
        } else {
            writeln!(
                f,
                "\n  no variant is computed: they are left out, a hashed field has no value to make other keys of, or all would be refused"
            )?;
        }
        writeln!(f, "\n  model of the cluster")?;
        let mut sources: Vec<&str> = Vec::new();
        for Constant { name, value, source } in &self.constants {
            let source = if source.starts_with("assumed") {
                (*source).to_owned()
            } else {
                let at = sources.iter().position(|known| known == source).unwrap_or_else(|| {
                    sources.push(source);
                    sources.len() - 1
                });
                format!("[{}]", at + 1)
            };
            writeln!(f, "  {name:<50} {value:>10}  {source}")?;
        }
        for (at, source) in sources.iter().enumerate() {
            writeln!(f, "  [{}] {source}", at + 1)?;
        }
        Ok(())
    }
}
