//! `simulate`: what the events of a file do to a layout, and to variants of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use keyderive::dynamic::{KeyLayout, Value};
use keyderive::heat::{self, Access, Forecast, Grid, GridBuilder, Picture, Simulation, TabletModel, Variant};
use keyderive::key::Field;
use serde::Serialize;

use super::block_on;
use super::import::{BadLine, BadLines, open};
use crate::change::{check_distinct, counted};
use crate::conditions::Conditions;
use crate::exchange::{Event, EventReader, Form, Line, Lines, Place, TimeUnit};
use crate::exit::{Exit, Failure, Outcome};
use crate::layout::TableArgs;
use crate::output::{self, Meter, Out, TextFormat, drawn, json_line, write_safe};

/// How wide a picture is in a terminal, and how many lines a layout has.
pub(super) const WIDTH: usize = 80;
pub(super) const LINES: usize = 12;
/// How many events are read before the first is simulated: they are put in the order of time, and their rate tells how long a slot of the
/// picture is.
const AHEAD: usize = 250_000;
/// How many bytes the texts among their values have at most.
const AHEAD_BYTES: usize = 32 << 20;
/// How many events a slot has, in the mean: with a few, each range would have a large share by chance.
const SLOT_EVENTS: u32 = 50;
/// After how many slots an event is late, as a grid counts it.
const LATE_SLOTS: u64 = 16;
/// A note is made of this part of late events.
const LATE: f64 = 0.001;
/// How many seconds a slot can have.
const SLOTS: [u64; 24] = [
    1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900, 1200, 1800, 3600, 7200, 21_600,
    43_200, 86_400,
];

/// Show what events would do to a table: how hot the busiest tablet gets, and which other keys spread the load
///
///     keyderive simulate events.csv events --variant salt=16 --variant first=site
///     keyderive simulate events.jsonl events --format json --below 0.2
///     tail -n 1000000 log.csv | keyderive simulate - events --map 'user=user_id' --svg heat.svg
///
/// Each record of the input is a row that is written: it has the fields of the table's key, and a time. Nothing is connected to if the layout
/// file has the table, and nothing is written to it. Memory is bounded for an input of any length; it is read once.
///
/// Tablets are simulated, since Google does not publish how Bigtable splits and moves them: the numbers that are taken are printed, each with
/// its source. Compare layouts with each other. Events are put in the order of their times, 250,000 at a time in memory, about 100 MB. In a
/// longer input that is less sorted, some come too late: `late_events` of the JSON counts them, and if they are many, a note says how to
/// sort it.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Simulate {
    /// The file of events, or `-` for standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    of: TableArgs,
    /// The form of the input: csv with a line of names, or an object of JSON in each line; by default what the name of the file ends in
    #[arg(long, value_enum, value_name = "FORM")]
    input_format: Option<Form>,
    /// Which field of the key a name of the input is; a name that is no field is a column
    #[arg(long = "map", value_name = "NAME=FIELD")]
    maps: Vec<String>,
    /// The name of the input that has the time of an event: RFC 3339, or a number
    ///
    /// The default is the first field of the key that is a time or a date. Without one, the n-th event is taken for one of the n-th second.
    #[arg(long, value_name = "NAME")]
    time: Option<String>,
    /// The unit of a time that is a number
    #[arg(long, value_enum, default_value_t = TimeUnit::Ms)]
    time_unit: TimeUnit,
    /// The name of the input that has the size of a row in bytes; by default, the columns have as many bytes as their text
    #[arg(long, value_name = "NAME")]
    bytes: Option<String>,
    /// Compare the layout with this variant: `salt=16`, `salt=none`, `first=FIELD`, `reversed=FIELD` (its bits), `hashed=FIELD`; several with commas
    ///
    /// The usual ones are computed anyway. Each of these has a picture, too.
    #[arg(long = "variant", value_name = "VARIANT")]
    variants: Vec<String>,
    /// Compute no other layouts than those of --variant: they take most of the time
    #[arg(long)]
    no_remedies: bool,
    /// Reads beside the writes: `FIELD,FIELD*N` for N reads of each event, of the rows that have its values of these fields; or
    /// `FIELD=VALUE*N`, of the same rows each time
    #[arg(long = "read", value_name = "READ")]
    reads: Vec<String>,
    /// How many nodes the cluster has
    #[arg(long, value_name = "NODES", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    nodes: u16,
    /// How many events each event stands for, if the input is a sample; pictures then show shares of what a node can write
    #[arg(long, value_name = "TIMES", value_parser = scale)]
    scale: Option<f64>,
    /// Exit with 5 unless the busiest tablet takes less than this share of the writes of its worst minute, such as 0.2
    #[arg(long, value_name = "SHARE", value_parser = share)]
    below: Option<f64>,
    /// At a line that is no event: `stop`; or `skip=FILE`, go on, write these lines to the file, and exit with 1 if there are some
    #[arg(long, value_name = "WHAT", default_value = "stop", value_parser = BadLines::parse)]
    bad_lines: BadLines,
    /// Draw the picture into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draw a picture that answers questions into this file: keys, rates and shares under the pointer
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a share of 0 to 1, such as `0.2`".to_owned())
}

fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale: &f64| (1e-6..=1e9).contains(scale));
    scale.ok_or_else(|| "write how many events each stands for, such as `100`".to_owned())
}

/// A layout other than the table's, with what is written to it.
struct VariantGrid {
    name: String,
    layout: KeyLayout,
    grid: GridBuilder,
}

/// The result as data.
#[derive(Serialize)]
struct Simulated<'a> {
    line: String,
    #[serde(flatten)]
    forecast: &'a Forecast,
    /// The name of the input that has the time.
    time: Option<&'a str>,
    bad_lines: u64,
    /// How many events came too late to be put in order.
    late_events: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_below: Option<bool>,
}

/// An event as the simulation takes it.
type Taken = (i64, Vec<(&'static str, Value)>, u64);

/// An event with the number of its line.
type Numbered = (u64, Event);

/// The events of an input.
struct Events<'a> {
    command: &'a Simulate,
    lines: Lines<EventReader>,
    /// Events that were read and not simulated, by their times and numbers.
    ahead: BTreeMap<(i64, u64), Numbered>,
    /// How many bytes their texts have.
    ahead_bytes: usize,
    /// The file of bad lines.
    skipped: Option<BufWriter<File>>,
    bad_lines: u64,
    first_bad: Option<String>,
    /// Why the input is not read to its end.
    fault: Option<Failure>,
    read: u64,
    /// The latest time of all events, and how many came late enough to make peaks inexact.
    latest: i64,
    late: u64,
    /// How much that is, in milliseconds.
    late_from: i64,
    meter: Meter,
    variants: Vec<VariantGrid>,
}

impl Events<'_> {
    /// The next event of the input; bad lines are left out.
    fn read(&mut self) -> Option<Numbered> {
        loop {
            match self.read_line() {
                Ok(Some(Some(event))) => return Some(event),
                Ok(Some(None)) => {}
                Ok(None) => return None,
                Err(failure) => {
                    self.fault.get_or_insert(failure);
                    return None;
                }
            }
        }
    }

    fn read_line(&mut self) -> Outcome<Option<Option<Numbered>>> {
        if self.fault.is_some() {
            return Ok(None);
        }
        let Some(line) = self.lines.next() else { return Ok(None) };
        let Line { number, row, .. } = line?;
        let fault = match row {
            Ok(event) => return Ok(Some(Some((number, event)))),
            Err(fault) => fault,
        };
        let why = format!("line {number}: {}", fault.why);
        let (Some(file), Some(path)) = (&mut self.skipped, self.command.bad_lines.path()) else {
            return Err(Failure::refused(format_args!(
                "{why}\nhelp: `--bad-lines skip=FILE` goes on without such lines, and writes them to the file"
            )));
        };
        self.bad_lines += 1;
        json_line(file, &BadLine::new(number, &fault)).map_err(|error| Failure::unwritten(path, &error))?;
        self.first_bad.get_or_insert(why);
        Ok(Some(None))
    }

    /// Reads as many events as are held in memory.
    fn fill(&mut self) {
        while self.ahead.len() < AHEAD
            && self.ahead_bytes < AHEAD_BYTES
            && let Some((line, event)) = self.read()
        {
            let second = i64::try_from(self.read).unwrap_or(i64::MAX);
            let time = event.time.unwrap_or(second.saturating_mul(1000));
            self.ahead_bytes += text_bytes(&event);
            self.ahead.insert((time, self.read), (line, event));
            self.read += 1;
            self.meter.rows(self.read);
        }
    }

    /// The next event for the simulation, recorded in all variants.
    fn next(&mut self) -> Option<Taken> {
        self.fill();
        let ((time, _), (line, event)) = self.ahead.pop_first()?;
        self.ahead_bytes -= text_bytes(&event);
        let Event { values, bytes, .. } = event;
        self.latest = self.latest.max(time);
        self.late += u64::from(self.latest.saturating_sub(time) >= self.late_from);
        for VariantGrid { name, layout, grid } in &mut self.variants {
            match layout.encode(values.iter().cloned()) {
                Ok(key) => grid.record(time, &key, Access::Write, bytes),
                // It ends the command, since a picture of the variant would be of other events.
                Err(error) => {
                    let fault =
                        Failure::refused(format_args!("line {line}, in the variant `{name}`: {error}"));
                    self.fault.get_or_insert(fault);
                    return None;
                }
            }
        }
        Some((time, values, bytes))
    }

    /// Reads the first events, and makes grids for their rate.
    fn grids(&mut self, layout: &KeyLayout) -> GridBuilder {
        self.fill();
        let times = [self.ahead.first_key_value(), self.ahead.last_key_value()];
        let [first, last] = times.map(|event| event.map_or(0, |((time, _), _)| i128::from(*time)));
        let lasting = last - first;
        let wanted = lasting * i128::from(SLOT_EVENTS) / (self.ahead.len() as i128).max(1);
        let slot = SLOTS.into_iter().find(|slot| i128::from(*slot) * 1000 >= wanted);
        let slot = slot.unwrap_or(SLOTS[SLOTS.len() - 1]);
        self.late_from = (slot * 1000 * LATE_SLOTS).cast_signed();
        // If the key follows the time, a slot is a range. With more ranges than slots, each would have a part of a slot, and
        // none would look hot.
        let slots = usize::try_from(lasting / 1000 / i128::from(slot)).unwrap_or(usize::MAX);
        let layouts = self.variants.iter().map(|variant| &variant.layout).chain([layout]);
        let pinned = layouts.map(|layout| layout.schema().bucket_splits().len() * 2).max().unwrap_or(0);
        GridBuilder::new().slot(Duration::from_secs(slot)).limits(512, (slots / 2).clamp(24, 256).max(pinned))
    }
}

/// How many bytes the texts of an event's key have.
fn text_bytes(event: &Event) -> usize {
    let bytes = event.values.iter().map(|(_, value)| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    });
    bytes.sum()
}

impl Simulate {
    pub(crate) fn run(self) -> Outcome {
        let input = Some(self.input.as_path()).filter(|path| *path != Path::new("-"));
        check_distinct([
            ("the input", input),
            ("--bad-lines", self.bad_lines.path()),
            ("--svg", self.svg.as_deref()),
            ("--html", self.html.as_deref()),
        ])?;
        let layout = block_on(async {
            let mut connection = self.of.connection()?;
            self.of.require_one(&mut connection).await
        })?;
        let layout = layout.key();
        let variants = self.variants.iter().map(|text| Ok((text.clone(), variant(layout, text)?)));
        let variants = variants.collect::<Outcome<Vec<_>>>()?;
        let reader = EventReader::new(
            layout,
            &self.maps,
            self.time.as_deref(),
            self.time_unit,
            self.bytes.as_deref(),
        )?;
        let time = reader.time().map(str::to_owned);
        if time.is_none() {
            output::note(
                "the key has no time, and `--time` names none: the n-th event is taken for one of the n-th second",
            );
        }
        let lines = Lines::new(reader, self.form(), open(&self.input)?)?;
        let skipped = match self.bad_lines.path() {
            Some(path) => {
                Some(BufWriter::new(File::create(path).map_err(|error| Failure::unwritten(path, &error))?))
            }
            None => None,
        };
        let mut events = Events {
            command: &self,
            lines,
            ahead: BTreeMap::new(),
            ahead_bytes: 0,
            skipped,
            bad_lines: 0,
            first_bad: None,
            fault: None,
            read: 0,
            latest: i64::MIN,
            late: 0,
            late_from: 0,
            meter: Meter::new("read"),
            variants: Vec::new(),
        };
        events.variants = variants
            .iter()
            .map(|(name, layout)| VariantGrid {
                name: name.clone(),
                layout: layout.clone(),
                grid: GridBuilder::new(),
            })
            .collect();
        let grid = events.grids(layout);
        let grid = |layout: &KeyLayout| grid.clone().boundaries(layout.schema().bucket_splits());
        for variant in &mut events.variants {
            variant.grid = grid(&variant.layout);
        }
        let events = RefCell::new(events);
        let mut model = TabletModel::default();
        model.nodes = usize::from(self.nodes);
        model.scale = self.scale.unwrap_or(1.0);
        let forecast = {
            let next = || events.borrow_mut().next();
            let mut simulation =
                heat::simulate_layout(layout, std::iter::from_fn(next)).grid(grid(layout)).model(model);
            if self.no_remedies {
                simulation = simulation.without_remedies();
            }
            for (name, layout) in &variants {
                simulation = simulation.variant(name, layout);
            }
            for read in &self.reads {
                simulation = with_read(simulation, layout, read)?;
            }
            simulation.run()
        };
        let mut events = events.into_inner();
        events.meter.finish();
        if let Some(failure) = events.fault.take() {
            return Err(failure);
        }
        if let (Some(path), Some(file)) = (self.bad_lines.path(), &mut events.skipped) {
            file.flush().map_err(|error| Failure::unwritten(path, &error))?;
        }
        if let (Some(path), Some(first)) = (self.bad_lines.path(), &events.first_bad) {
            output::note(format_args!(
                "{} left out, which `{}` has; the first: {first}",
                counted(events.bad_lines, "bad line"),
                path.display()
            ));
        }
        let forecast = forecast.map_err(Failure::refused)?;
        if events.late as f64 > forecast.events as f64 * LATE {
            output::note(format_args!(
                "{} of {} events come after others of a much later time, and are too far from them to be put in order in memory, so the picture \
                 and its peaks are coarse; sort the input by time, as does `{}`",
                events.late,
                forecast.events,
                sorting(&events.lines)
            ));
        }
        let grids: Vec<_> = events
            .variants
            .iter()
            .map(|variant| (variant.name.as_str(), variant.grid.grid(), &variant.layout))
            .collect();
        let picture = self.picture(&forecast, &grids);
        for (path, text) in [(&self.svg, Picture::svg as fn(&_) -> _), (&self.html, Picture::html)] {
            if let Some(path) = path {
                fs::write(path, text(&picture)).map_err(|error| Failure::unwritten(path, &error))?;
            }
        }
        self.print(&forecast, &picture, time.as_deref(), &events)?;
        let is_below = self.below.is_none_or(|below| forecast.tablets.peak < below);
        if let Some(below) = self.below.filter(|_| !is_below) {
            output::note(format_args!(
                "the busiest tablet takes {} % of the writes of its worst window; `--below {below}` allows less than {} %",
                percent(forecast.tablets.peak),
                percent(below)
            ));
        }
        Ok(if is_below { Exit::found(events.bad_lines > 0) } else { Exit::AboveBound })
    }

    fn form(&self) -> Form {
        let ending = self.input.extension().and_then(|ending| ending.to_str());
        self.input_format.unwrap_or(match ending {
            Some("json" | "jsonl" | "ndjson") => Form::Json,
            _ => Form::Csv,
        })
    }

    fn picture<'a>(&self, forecast: &'a Forecast, variants: &'a [(&str, Grid, &KeyLayout)]) -> Picture<'a> {
        let name = |name: &str, layout: &KeyLayout| format!("{name}: {}", layout.schema().template());
        let layout = forecast.layout();
        let own = name(&self.of.table, layout);
        let mut picture = Picture::new().model(forecast.model()).of_table(self.scale.is_none()).panel(
            own,
            forecast.grid(),
            Some(layout),
        );
        for (of, grid, layout) in variants {
            picture = picture.panel(name(of, layout), grid, Some(layout));
        }
        picture
    }

    fn print(
        &self,
        forecast: &Forecast,
        picture: &Picture<'_>,
        time: Option<&str>,
        &Events { bad_lines, late: late_events, .. }: &Events<'_>,
    ) -> io::Result<()> {
        let mut out = Out::new();
        if self.format.is_json() {
            let is_below = self.below.map(|below| forecast.tablets.peak < below);
            let line = forecast.line();
            let below = self.below;
            let simulated = Simulated { line, forecast, time, bad_lines, late_events, below, is_below };
            json_line(&mut out, &simulated)?;
        } else {
            write_safe(&mut out, &forecast.to_string())?;
            writeln!(out)?;
            drawn(&mut out, |has_colours| match has_colours {
                true => picture.terminal(WIDTH, LINES),
                false => picture.text(WIDTH, LINES),
            })?;
        }
        out.finish()
    }
}

/// A command that sorts the records of an input by time.
fn sorting(lines: &Lines<EventReader>) -> String {
    match lines.place(Place::is_time) {
        Some(at) => {
            format!("(head -n 1 FILE; tail -n +2 FILE | LC_ALL=C sort -t , -k {0},{0})", at + 1)
        }
        None => "jq -cs 'sort_by(.TIME)[]' FILE".to_owned(),
    }
}

/// The layout of the variant that an argument says.
fn variant(layout: &KeyLayout, text: &str) -> Outcome<KeyLayout> {
    let usage = |fault: &dyn std::fmt::Display| Failure::usage(format_args!("`--variant {text}`: {fault}"));
    text.split(',').try_fold(layout.clone(), |layout, part| {
        let variant = match part.split_once('=') {
            Some(("salt", "none")) => Variant::NoSalt,
            Some(("salt", range)) => {
                Variant::Salt(range.parse().map_err(|_| usage(&"a salt has 2 to 4096 buckets, or is `none`"))?)
            }
            Some(("first", field)) => Variant::First(field.to_owned()),
            Some(("reversed", field)) => Variant::BitReversed(field.to_owned()),
            Some(("hashed", field)) => Variant::Hashed(field.to_owned()),
            _ => {
                return Err(usage(
                    &"write `salt=16`, `salt=none`, `first=FIELD`, `reversed=FIELD` or `hashed=FIELD`, several with commas",
                ));
            }
        };
        variant.apply(&layout).map_err(|error| usage(&error))
    })
}

/// The simulation with the reads that an argument says.
fn with_read<'a>(simulation: Simulation<'a>, layout: &KeyLayout, text: &str) -> Outcome<Simulation<'a>> {
    let usage = |fault: &str| Failure::usage(format_args!("`--read {text}`: {fault}"));
    let (what, amount) = match text.rsplit_once('*').map(|(what, amount)| (what, amount.parse())) {
        Some((what, Ok(amount))) => (what, amount),
        _ => (text, 1.0),
    };
    if !(0.0..=1000.0).contains(&amount) {
        return Err(usage("each event has 0 to 1000 reads"));
    }
    if what.contains('=') {
        return Ok(simulation.plan(
            what,
            amount,
            Conditions::new(layout, &[what.to_owned()])?.plan().clone(),
        ));
    }
    let fields: Vec<_> = what.split(',').map(str::trim).collect();
    let names: Vec<_> = layout.schema().fields().iter().map(Field::name).collect();
    match fields.iter().find(|field| !names.contains(field)) {
        Some(field) => {
            Err(usage(&format!("there is no field `{field}`; the fields are {}", names.join(", "))))
        }
        None => Ok(simulation.read(what, amount, fields)),
    }
}

/// A share as a percentage of at most three decimals.
fn percent(share: f64) -> f64 {
    (share * 100_000.0).round() / 1000.0
}
