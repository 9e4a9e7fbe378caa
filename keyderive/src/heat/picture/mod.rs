//! Pictures of grids: time across, keys up, one scale for all.
//!
//! The SVG and the axes are written by hand: two axes with a few labels each are less code than a plotting library's set-up, and the library
//! would be the heaviest dependency of the feature.

mod html;
mod palette;
mod svg;
mod terminal;

use super::grid::{Grid, Measure};
use super::tablets::TabletModel;
use super::text::{percent, shown_time, shown_window};
use crate::dynamic::{KeyLayout, Value};
use crate::key::{Field, Readable, UnquotedKey};

/// The least share of a logarithmic scale.
const LEAST: f64 = 1e-4;
/// How many colours there are between nothing and the end of the scale.
const COLOURS: f64 = 32.0;
/// How many signs the label of a row has room for.
const LABEL_SIGNS: usize = 24;
/// How many a value keeps at least; the name gives way to them.
const VALUE_SIGNS: usize = 8;
/// How many the name of the busiest range has.
const RANGE_SIGNS: usize = 40;
const START: &str = "start of table";
const END: &str = "end of table";
/// What the axis of keys is called.
const UPWARDS: &str = "keys upwards";
/// The size in bytes of the rows for which Google states a node's capacity.
const ROW_BYTES: f64 = 1000.0;
/// The distances between times on an axis that are less than a day, in milliseconds.
const STEPS: [i128; 16] = [
    1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000,
    3_600_000, 7_200_000, 14_400_000, 21_600_000,
];
const DAY: i128 = 86_400_000;

/// A picture of one or several [`Grid`]s, side by side on one scale: time goes to the right, keys go up.
///
/// ```
/// use keyderive::heat::{Access, GridBuilder, Picture};
///
/// let mut grid = GridBuilder::new();
/// for second in 0..600 {
///     grid.record(second * 1000, format!("{second:05}").as_bytes(), Access::Write, 100);
/// }
/// let grid = grid.grid();
/// let picture = Picture::new().panel("date first", &grid, None).of_table(true);
/// println!("{}", picture.terminal(80, 20));
/// assert!(picture.svg().starts_with("<svg"));
/// assert!(picture.html().contains("date first"));
/// ```
///
/// Each row is a range of keys, with about as many operations as each other row: a table that is written evenly is of one
/// dim colour, and one range that takes much is bright. A cell shows the busiest slot, a second by default, of its range and
/// time; where several are drawn in one place, the busiest of them. So no range looks calmer than it is, and none hotter by
/// more than the picture says. The scale is the share of a node's capacity, and the picture says what 100 % and the busiest
/// range are in operations or bytes a second. Its colours, those of viridis, are also told apart by people who do not see
/// all colours, and in grey.
#[derive(Clone, Debug)]
#[must_use = "a picture is text: call `svg`, `html`, `terminal` or `text`"]
pub struct Picture<'a> {
    panels: Vec<Panel<'a>>,
    measure: Measure,
    is_logarithmic: bool,
    is_of_table: bool,
    model: TabletModel,
}

#[derive(Clone, Debug)]
struct Panel<'a> {
    name: String,
    grid: &'a Grid,
    layout: Option<&'a KeyLayout>,
}

impl Default for Picture<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Picture<'a> {
    /// Without a grid.
    pub fn new() -> Self {
        Self {
            panels: Vec::new(),
            measure: Measure::Writes,
            is_logarithmic: false,
            is_of_table: false,
            model: TabletModel::default(),
        }
    }

    /// Adds a grid under a name. With a layout, keys are labelled by their fields. A field is shown as a time if its type is one; a number
    /// stays a number, since its unit is not known.
    pub fn panel(mut self, name: impl Into<String>, grid: &'a Grid, layout: Option<&'a KeyLayout>) -> Self {
        let name = plain(&name.into());
        self.panels.push(Panel { name, grid, layout });
        self
    }

    /// Draws this measure; writes by default. The HTML has all.
    pub fn measure(self, measure: Measure) -> Self {
        Self { measure, ..self }
    }

    /// A scale by powers of ten, from 0.01 % on: what is small is seen beside what is large.
    pub fn logarithmic(self, is_logarithmic: bool) -> Self {
        Self { is_logarithmic, ..self }
    }

    /// The share of the table in its busiest slot instead of a node's capacity: for a workload that is a small part of the
    /// real one.
    pub fn of_table(self, is_of_table: bool) -> Self {
        Self { is_of_table, ..self }
    }

    /// Takes the capacity of a node and the scale of the events from this model.
    pub fn model(self, model: &TabletModel) -> Self {
        Self { model: model.clone(), ..self }
    }

    /// What is 100 % in a slot of a panel.
    fn whole(&self, grid: &Grid, measure: Measure) -> f64 {
        let seconds = grid.slot().as_secs_f64();
        if !self.is_of_table {
            let in_a_second = match measure {
                Measure::Writes => self.model.node_writes,
                Measure::Reads => self.model.node_reads,
                Measure::Bytes => self.model.node_writes * ROW_BYTES,
            };
            return (in_a_second * seconds / self.model.scale).max(f64::MIN_POSITIVE);
        }
        let rate = |grid: &Grid| {
            let slots = (0..grid.columns()).map(|column| grid.whole(column, measure).peak).max();
            slots.unwrap_or(0) as f64 / grid.slot().as_secs_f64()
        };
        let most = self.panels.iter().map(|panel| rate(panel.grid)).fold(0.0, f64::max);
        (most * seconds).max(f64::MIN_POSITIVE)
    }

    /// The place of a share on the scale, from 0 to 1.
    fn level(&self, share: f64) -> f64 {
        if share <= 0.0 {
            0.0
        } else if self.is_logarithmic {
            // A small share still shows.
            ((share / LEAST).log10() / (1.0 / LEAST).log10()).max(f64::MIN_POSITIVE)
        } else {
            share
        }
    }

    /// The colour of a share, one of few.
    fn colour_of(&self, share: f64) -> [u8; 3] {
        let level = self.level(share);
        // A level above the scale stays above it.
        palette::colour(if level <= 1.0 { (level * COLOURS).ceil() / COLOURS } else { level })
    }

    /// The shares of a panel in `width` × `height` places: rows from the top, each from the left.
    fn raster(&self, panel: &Panel<'_>, width: usize, height: usize) -> Vec<Vec<f64>> {
        let grid = panel.grid;
        let whole = self.whole(grid, self.measure);
        let mut raster = vec![vec![0.0_f64; width]; height];
        for column in 0..grid.columns() {
            let loads = grid.loads(column, self.measure);
            for x in places(column, grid.columns(), width) {
                for (row, load) in loads.iter().enumerate().filter(|(_, load)| load.peak > 0) {
                    for y in places(row, grid.rows(), height) {
                        let place = &mut raster[height - 1 - y][x];
                        *place = place.max(load.peak as f64 / whole);
                    }
                }
            }
        }
        raster
    }

    /// What is 100 % of the scale.
    fn scale(&self) -> String {
        match self.is_of_table {
            true => format!("the table's busiest {}", self.slots()),
            false => "a node's capacity".to_owned(),
        }
    }

    /// The shares that a legend has colours for, after the least.
    fn marks(&self) -> &'static [f64] {
        let marks: &[f64] = if self.is_logarithmic { &[0.01, 0.1, 1.0] } else { &[0.25, 0.5, 1.0] };
        // A cell can exceed a node's capacity, so the legend also marks more than 100 %.
        if self.is_of_table { marks } else { &marks[1..] }
    }

    /// How many operations or bytes a second a slot of a panel has, in words.
    fn rate(&self, grid: &Grid, in_a_slot: f64, measure: Measure) -> String {
        rate(in_a_slot * self.model.scale / grid.slot().as_secs_f64(), measure)
    }

    /// How long the slots are, as `second` or `5 minutes`; just `slot` if panels differ.
    fn slots(&self) -> String {
        let mut slots = self.panels.iter().map(|panel| panel.grid.slot());
        let first = slots.next().unwrap_or_default();
        match first.as_secs() {
            _ if slots.any(|slot| slot != first) => "slot".to_owned(),
            1 if first.subsec_nanos() == 0 => "second".to_owned(),
            seconds @ 2..60 if first.subsec_nanos() == 0 => format!("{seconds} s"),
            _ => shown_window(first),
        }
    }

    /// What 100 % means.
    fn caption(&self, panel: &Panel<'_>, measure: Measure) -> String {
        let of = if self.is_of_table { format!("all {} of ", measure.name()) } else { String::new() };
        let rate = self.rate(panel.grid, self.whole(panel.grid, measure), measure);
        format!("100 % is {of}{}: {rate}", self.scale())
    }

    /// What is said below a panel: what 100 % means, and what the busiest range has.
    fn captions(&self, panel: &Panel<'_>) -> Vec<String> {
        let by = self.is_logarithmic.then(|| "colours are by powers of ten".to_owned());
        let notes = self.notes(panel, self.measure);
        [self.caption(panel, self.measure)].into_iter().chain(by).chain(notes).collect()
    }

    /// What is said of a panel's ranges: what each would have of an even load, what the busiest has, by how much cells may be too hot, and
    /// why some are tall.
    fn notes(&self, panel: &Panel<'_>, measure: Measure) -> Vec<String> {
        let grid = panel.grid;
        let rows = grid.rows();
        let evenly = (self.is_of_table && rows > 1 && grid.total(measure) > 0).then(|| {
            format!("evenly spread over {rows} ranges each would have {}", percent(1.0 / rows as f64))
        });
        let error = Some(grid.error(measure)).filter(|error| *error > 0).map(|error| {
            let share = error as f64 / self.whole(grid, measure);
            format!("a colour can be too hot by up to {} of the scale", percent(share))
        });
        let is_tall = |column: &usize| {
            let mut groups = grid.groups(*column);
            groups.any(|(rows, cell)| rows.len() > 1 && cell.load(measure).sum > 0)
        };
        let split = (0..grid.columns()).rev().find(is_tall).map(|last| {
            let until = panel.short_time(grid.time(last + 1));
            format!(
                "ranges are split as load grows: until {until}, a tall cell is one range that is split later, and no burst"
            )
        });
        evenly.into_iter().chain([self.busiest(panel, measure)]).chain(error).chain(split).collect()
    }

    /// What the busiest range of a panel has, and when.
    fn busiest(&self, panel: &Panel<'_>, measure: Measure) -> String {
        let whole = self.whole(panel.grid, measure);
        let Some(busiest) = panel.grid.busiest(measure) else { return format!("no {}", measure.name()) };
        let [most, least] =
            [busiest.load.peak, busiest.load.peak - busiest.load.error].map(|load| load as f64 / whole);
        let range = match busiest.load.error {
            0 => percent(most).to_string(),
            _ => format!("{} to {}", percent(least), percent(most)),
        };
        let most = if busiest.load.error == 0 { "" } else { "at most " };
        let rate = self.rate(panel.grid, busiest.load.peak as f64, measure);
        let (label, time) =
            (panel.short_label(busiest.row, RANGE_SIGNS, " · "), panel.short_time(busiest.time));
        format!("the busiest range, {label}, at {time}, has {range}: {most}{rate}")
    }
}

impl Panel<'_> {
    /// The first key of a row, in words.
    fn label(&self, row: usize) -> String {
        joined(&self.parts(row, KeyLayout::shown), ", ")
    }

    /// The same in at most `most` characters: as many fields as fit. A value may lose its middle, a name is never cut.
    fn short_label(&self, row: usize, most: usize, separator: &str) -> String {
        let parts = |is_short: bool| {
            self.parts(row, |layout, at, value| match value {
                Value::Time(nanos) => short_time(*nanos, is_short),
                value => layout.shown(at, value),
            })
        };
        let over = |parts: &[Part]| joined(parts, separator).chars().count().saturating_sub(most);
        let mut parts = Some(parts(false)).filter(|whole| over(whole) == 0).unwrap_or_else(|| parts(true));
        // The first field stays.
        let is_salted = self.layout.is_some_and(|layout| layout.schema().first_salt().is_some());
        while parts.len() > 1 + usize::from(is_salted) && over(&parts) > 0 {
            parts.pop();
        }
        loop {
            let (over, len) = (over(&parts), parts.len());
            let Some((name, value)) = parts.last_mut() else { return String::new() };
            let left = value.chars().count().saturating_sub(over);
            if over == 0 || left >= VALUE_SIGNS || len == 1 && name.is_empty() {
                *value = shortened_label(value, left);
                return joined(&parts, separator);
            }
            if name.is_empty() {
                parts.pop();
            } else {
                name.clear();
            }
        }
    }

    /// The bucket and the fields of the first key of a row.
    fn parts(&self, row: usize, shown: impl Fn(&KeyLayout, usize, &Value) -> String) -> Vec<Part> {
        let range = self.grid.range(row);
        let (layout, key) = match (range.start(), self.layout) {
            ([], _) => return vec![(String::new(), START.to_owned())],
            (key, None) => return vec![(String::new(), plain(&UnquotedKey(key).to_string()))],
            (key, Some(layout)) => (layout, key),
        };
        let start = layout.decode_boundary(key);
        let name = |field: &Field| match field.hash_of() {
            Some(_) => format!("hash of {}", field.name()),
            None => field.name().to_owned(),
        };
        let bucket = |bucket: i32| ("bucket".to_owned(), bucket.to_string());
        let mut parts: Vec<_> = start.bucket().map(bucket).into_iter().collect();
        for (at, (field, (_, value))) in layout.schema().fields().iter().zip(start.fields()).enumerate() {
            let value = plain(&shown(layout, at, value));
            let hash = value.strip_prefix("hash ").filter(|_| field.hash_of().is_some());
            parts.push((name(field), hash.map_or(value.clone(), str::to_owned)));
        }
        if !start.rest().is_empty() {
            // Without its separator, a bucket is one if it has all its digits.
            let salt = layout.schema().first_salt().filter(|salt| start.rest().len() == salt.width());
            let digits = salt.and_then(|_| str::from_utf8(start.rest()).ok()?.parse().ok());
            parts.push(match (start.begun(), digits.filter(|_| parts.is_empty())) {
                (None, Some(digits)) => bucket(digits),
                (field, _) => {
                    let rest = plain(&format!("`{}`", Readable(start.rest())));
                    (field.map(name).unwrap_or_default(), rest)
                }
            });
        }
        parts
    }

    /// A time in UTC, without the date if the picture is of one day.
    fn short_time(&self, time: i64) -> String {
        let [from, until] = [0, self.grid.columns()].map(|column| shown_time(self.grid.time(column)));
        let text = shown_time(time);
        let clock = text.get(11..).filter(|_| from.len() >= 16 && from.get(..11) == until.get(..11));
        clock.map_or(text.clone(), str::to_owned)
    }

    /// The times at which it begins and ends.
    fn times(&self) -> String {
        let [from, until] = [0, self.grid.columns()].map(|column| self.grid.time(column));
        format!("{} to {} UTC", shown_time(from), self.short_time(until))
    }

    /// Up to `most` round times, each with its place on the axis, from 0 to 1: hours within a day, dates over days.
    fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let [from, until] = [0, self.grid.columns()].map(|column| i128::from(self.grid.time(column)));
        let (lasting, most) = ((until - from).max(1), most.max(1) as i128);
        let step = STEPS.into_iter().find(|step| lasting / step < most);
        let step = step.unwrap_or_else(|| DAY * (lasting / (most * DAY) + 1));
        let from_step = -(-from).div_euclid(step);
        let times = (from_step..from_step + most).map(|at| at * step).take_while(|time| *time <= until);
        let label = |time: i128| {
            let text = shown_time(i64::try_from(time).unwrap_or(i64::MAX));
            let part = match text.len() {
                16 | 19 if lasting > 300 * DAY => text.get(..10),
                16 | 19 if time % DAY == 0 && lasting > DAY / 2 => text.get(5..10),
                16 | 19 => text.get(11..),
                _ => None,
            };
            part.map(str::to_owned).unwrap_or(text)
        };
        times.map(|time| ((time - from) as f64 / lasting as f64, label(time))).collect()
    }
}

/// What a label says, after its name, which can be empty.
type Part = (String, String);

fn joined(parts: &[Part], separator: &str) -> String {
    let parts = parts.iter().map(|(name, value)| format!("{name} {value}").trim_start().to_owned());
    parts.collect::<Vec<_>>().join(separator)
}

/// The shares in a legend that have the least colour or shade: those up to this level.
fn least_mark(level: f64, is_logarithmic: bool) -> String {
    let percent = 100.0 * if is_logarithmic { LEAST.powf(1.0 - level) } else { level };
    let digits = if percent < 1.0 { 2 } else { 0 };
    format!("up to {percent:.digits$} %")
}

/// A share in a legend.
fn mark(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

/// In three digits, as `13.9 writes a second`, `2.05 MB a second` or `80.0 reads an hour`.
fn rate(in_a_second: f64, measure: Measure) -> String {
    // The whole of an empty table is the least positive number.
    let in_a_second = if in_a_second < 1e-12 { 0.0 } else { in_a_second };
    let is_slow = in_a_second > 0.0 && in_a_second < 0.1;
    let (rate, time) = if is_slow { (in_a_second * 3600.0, "an hour") } else { (in_a_second, "a second") };
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")].into_iter().filter(|_| measure == Measure::Bytes);
    let unit = units.into_iter().find(|(size, _)| rate >= *size);
    let (size, unit) = unit.unwrap_or((1.0, measure.name()));
    let number = rate / size;
    let digits = if number > 0.0 { (2.0 - number.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    format!("{number:.digits$} {unit} {time}")
}

/// Replaces the characters that end a line, control a terminal, or change the order of the others: names and keys can come
/// from anywhere.
fn plain(text: &str) -> String {
    let is_plain = |sign: char| {
        let is_order = matches!(sign, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        !sign.is_control() && !is_order && !matches!(sign, '\u{2028}' | '\u{2029}')
    };
    text.chars().map(|sign| if is_plain(sign) { sign } else { '\u{fffd}' }).collect()
}

/// A time to the second, or to the minute and without the year, which the axis of times has.
fn short_time(nanos: i128, is_short: bool) -> String {
    let text = shown_time(i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX));
    let short = text.get(5..16).filter(|_| is_short && matches!(text.len(), 16 | 19));
    short.map_or(text.clone(), str::to_owned)
}

/// The places, of `places` in all, that item `one` of `of` covers. Items share a place if there are too few, and cover
/// several if there are more.
fn places(one: usize, of: usize, places: usize) -> std::ops::Range<usize> {
    let of = of.max(1);
    let start = one * places / of;
    let end = ((one + 1) * places / of).max(start + 1);
    start.min(places)..end.min(places)
}

/// The first of `of` items that begins in a place; if none does, the one that covers it.
fn first_at(place: usize, of: usize, places: usize) -> usize {
    let places = places.max(1);
    if of >= places { (place * of).div_ceil(places) } else { ((place + 1) * of).saturating_sub(1) / places }
}

/// At most `most` characters, with an ellipsis in place of more.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The same of a label: its middle is left out, since keys often begin alike, and differ in the last of its fields.
fn shortened_label(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end = most / 2;
    let start = text.chars().take(most.saturating_sub(end + 1));
    start.chain(['…']).chain(text.chars().skip(count - end)).collect()
}

#[cfg(test)]
mod tests;
