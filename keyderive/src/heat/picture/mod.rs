//! Pictures of grids: time across, keys up, one scale for all.
//!
//! The SVG and the axes are written by hand: two axes with four labels each are less code than a plotting library's set-up, and the library
//! would be the heaviest dependency of the feature.

mod html;
mod palette;
mod svg;
mod terminal;

use super::grid::{Grid, Measure};
use super::report::{percent, shown_time};
use super::tablets::TabletModel;
use crate::dynamic::KeyLayout;
use crate::key::UnquotedKey;

/// The least share of a logarithmic scale.
const LEAST: f64 = 1e-4;
/// How many bytes the rows have that Google gives a node's capacity for.
const ROW_BYTES: f64 = 1000.0;

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
/// Each row is a range of keys, of about as many operations as the others: a table that is written evenly is of one dim colour, and one range
/// that takes much is bright. A cell shows the busiest slot, a second by default, of its range and time; where several are drawn in one place,
/// the busiest of them. So no range looks calmer than it is, and none hotter by more than the picture says. The scale is the share of a node's
/// capacity. Its colours, those of viridis, are also told apart by people who do not see all colours, and in grey.
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

    /// Adds a grid under a name. With a layout, keys are labelled by their fields.
    pub fn panel(mut self, name: impl Into<String>, grid: &'a Grid, layout: Option<&'a KeyLayout>) -> Self {
        // Names of tables and types can come from anywhere.
        let name =
            name.into().chars().map(|sign| if sign.is_control() { '\u{fffd}' } else { sign }).collect();
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

    /// The share of the table in its busiest slot instead of that of a node's capacity: for a workload that is a small part of the real one.
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
            (share / LEAST).log10().max(0.0) / (1.0 / LEAST).log10()
        } else {
            share
        }
    }

    /// The shares of a panel in so many places: rows from the top, each from the left.
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

    /// What the scale means, and by how much a cell may be too hot.
    fn caption(&self, panel: &Panel<'_>) -> String {
        let whole = self.whole(panel.grid, self.measure);
        let of = if self.is_of_table { "the table's busiest slot" } else { "a node's capacity" };
        let most = panel.grid.busiest(self.measure).map_or(0.0, |busiest| busiest.load.peak as f64 / whole);
        let error = panel.grid.error(self.measure) as f64 / whole;
        let by = if self.is_logarithmic { ", by powers of ten" } else { "" };
        let name = self.measure.name();
        format!(
            "{name}, share of {of}{by}; the busiest range has {}, no cell is too hot by more than {}",
            percent(most),
            percent(error)
        )
    }
}

impl Panel<'_> {
    /// The first key of a row, in words.
    fn label(&self, row: usize) -> String {
        let start = self.grid.range(row);
        match (start.start(), self.layout) {
            ([], _) => "start of table".to_owned(),
            (start, Some(layout)) => layout.decode_start(start).to_string(),
            (start, None) => UnquotedKey(start).to_string(),
        }
    }

    /// The times at which it begins and ends.
    fn times(&self) -> [String; 2] {
        [shown_time(self.grid.time(0)), shown_time(self.grid.time(self.grid.columns()))]
    }
}

/// The places of so many in which one of so many others is drawn: all that it touches.
fn places(one: usize, of: usize, places: usize) -> std::ops::Range<usize> {
    let of = of.max(1);
    let start = one * places / of;
    let end = ((one + 1) * places).div_ceil(of);
    start.min(places)..end.min(places)
}

/// At most so many signs, with an ellipsis in place of more.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
