//! `heat`: bars of what the service says of a table, sizes by part and tablets that were hot; or a picture of what its clients have recorded.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use clap::Args;
use keyderive::dynamic::TableLayout;
use keyderive::heat::{HeatSummary, Measure, Picture, Snapshot};
use keyderive::table::SizedPart;
use serde::Serialize;

use super::block_on;
use super::rows::shown;
use super::simulate::{LINES, WIDTH};
use super::tablets::{Hot, Part, boundary, fields, listed};
use crate::change::{check_distinct, counted};
use crate::exit::{Exit, Failure, Outcome};
use crate::input;
use crate::layout::{TableArgs, note_raw};
use crate::output::{Out, Safe, TextFormat, drawn, json_line, write_safe};

/// How many bars there are at most: with more parts, neighbours share one.
const MOST: usize = 40;
/// How wide labels and bars are in a terminal.
const LABEL: usize = 30;
const BAR: usize = 24;
/// What no bar says.
const NO_LOAD: &str =
    "Bars are bytes as the service reckons them, not load: it lists load of hot tablets alone.";

/// Draw a table: how large its parts are, and which of its tablets were hot
///
///     keyderive heat events
///     keyderive heat events --snapshot one.json two.json --html heat.html
///
/// The service says about how many bytes each part has, never how much it is read and written; it lists the tablets that kept the nodes busiest
/// in the last 24 hours. `tablets` has the same as records. What a workload would do to a layout, `simulate` says.
/// With `--snapshot` it draws what clients have recorded of the table by `record_heat`, from the files of their snapshots, and asks no service.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Heat {
    #[command(flatten)]
    of: TableArgs,
    /// Draw what clients have recorded, from the JSON of `Client::heat`, of several processes together
    #[arg(long, value_name = "FILE", num_args = 1..)]
    snapshot: Vec<PathBuf>,
    /// Draw the picture of what is recorded into this file
    #[arg(long, value_name = "FILE", requires = "snapshot")]
    svg: Option<PathBuf>,
    /// Draw it into this page, which has the keys and numbers under the pointer
    #[arg(long, value_name = "FILE", requires = "snapshot")]
    html: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

/// What the service says of a table.
#[derive(Serialize)]
struct TableHeat {
    table: String,
    bytes: u64,
    parts: Vec<Part>,
    /// None if the service does not list them.
    hot_tablets: Option<Vec<Hot>>,
}

/// A bar.
struct Row {
    label: String,
    bytes: Option<u64>,
    /// Of the bytes of the table.
    share: f64,
    /// The most CPU of a node that a tablet with some of its keys took.
    cpu: Option<f32>,
}

impl Heat {
    pub(crate) fn run(self) -> Outcome {
        let snapshots = self.snapshot.iter().map(|file| ("--snapshot", Some(file.as_path())));
        let files = [("--svg", self.svg.as_deref()), ("--html", self.html.as_deref())];
        check_distinct(snapshots.chain(files))?;
        if !self.snapshot.is_empty() {
            return self.draw_snapshots();
        }
        let mut connection = self.of.connection()?;
        let (heat, rows) = block_on(async {
            let layouts = self.of.find_all(&mut connection).await?;
            let client = connection.client().await?;
            if layouts.is_empty() {
                note_raw(&self.of.table);
            }
            // A table that is stamped with another layout is refused.
            for layout in &layouts {
                client.dynamic_table(layout).sizes().await?;
            }
            let keys: Vec<_> = layouts.iter().map(|layout| layout.key().clone()).collect();
            let sizes = client.raw_table(&self.of.table).sizes().await?;
            let hot = match layouts.first() {
                Some(layout) => listed(&client, layout).await?,
                None => None,
            };
            let bytes = sizes.bytes();
            let rows = rows(&sizes.parts, bytes, hot.as_deref().unwrap_or_default(), |start| {
                boundary(&shown(start), &fields(&keys, start), "start of table")
            });
            let parts = sizes.parts.iter().map(|part| Part::new(&keys, part, bytes)).collect();
            let hot = hot.map(|hot| hot.iter().map(|tablet| Hot::new(&keys, tablet)).collect());
            Ok((TableHeat { table: self.of.table.clone(), bytes, parts, hot_tablets: hot }, rows))
        })?;
        let mut out = Out::new();
        match self.format.is_json() {
            true => json_line(&mut out, &heat)?,
            false => print(&mut out, &heat, &rows)?,
        }
        out.finish()?;
        Ok(Exit::Done)
    }
}

/// What clients have recorded of a table.
#[derive(Serialize)]
struct Recorded<'a> {
    table: &'a str,
    snapshots: usize,
    #[serde(flatten)]
    summary: HeatSummary,
}

impl Heat {
    /// Draws what clients have recorded, all of it together.
    fn draw_snapshots(&self) -> Outcome {
        let table = self.of.table.as_str();
        let (first, others) =
            self.snapshot.split_first().ok_or_else(|| Failure::usage("no file is named"))?;
        let mut all = read_snapshot(first)?;
        for path in others {
            all = all.merge(&read_snapshot(path)?).map_err(|error| unread(path, &error))?;
        }
        let Some(heat) = all.tables.get(table) else {
            let names: Vec<_> = all.tables.keys().map(|name| format!("`{name}`")).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Failure::refused(format_args!(
                "nothing is recorded of the table `{table}`; of these something is: {names}"
            )));
        };
        let layout = self.of.find_offline()?;
        if layout.is_none() {
            note_raw(table);
        }
        let layout = layout.as_ref().map(TableLayout::key);
        let summary = heat.summary(layout);
        let measure = if summary.reads > summary.writes { Measure::Reads } else { Measure::Writes };
        let picture = Picture::new().of_table(true).measure(measure).panel(table, &heat.grid, layout);
        for (path, text) in [(&self.svg, Picture::svg as fn(&_) -> _), (&self.html, Picture::html)] {
            if let Some(path) = path {
                fs::write(path, text(&picture)).map_err(|error| Failure::unwritten(path, &error))?;
            }
        }
        let mut out = Out::new();
        if self.format.is_json() {
            json_line(&mut out, &Recorded { table, snapshots: self.snapshot.len(), summary })?;
        } else {
            write_safe(&mut out, &summary.to_string())?;
            writeln!(out)?;
            drawn(&mut out, |has_colours| match has_colours {
                true => picture.terminal(WIDTH, LINES),
                false => picture.text(WIDTH, LINES),
            })?;
        }
        out.finish()?;
        Ok(Exit::Done)
    }
}

fn unread(path: &Path, fault: &dyn std::fmt::Display) -> Failure {
    Failure::refused(format_args!("the snapshot `{}` is not read: {fault}", path.display()))
}

fn read_snapshot(path: &Path) -> Outcome<Snapshot> {
    let text = input::read(path).map_err(|error| unread(path, &error))?;
    serde_json::from_str(&text).map_err(|error| unread(path, &error))
}

type HotTablet = keyderive::table::HotTablet<keyderive::dynamic::DynKey>;

/// The parts of a table, from its start to its end; very many are grouped.
fn rows<K>(
    parts: &[SizedPart<K>],
    total: u64,
    hot: &[HotTablet],
    label: impl Fn(&[u8]) -> String,
) -> Vec<Row> {
    let together = parts.len().div_ceil(MOST).max(1);
    let row = |parts: &[SizedPart<K>]| {
        let sizes = parts.iter().filter_map(|part| part.bytes);
        let bytes = parts.iter().any(|part| part.bytes.is_some()).then(|| sizes.fold(0, u64::saturating_add));
        let start = parts.first().map_or(&[][..], |part| part.range.start());
        let end = parts.last().and_then(|part| part.range.end());
        // The last key of a tablet is within it.
        let is_in = |tablet: &&HotTablet| {
            end.is_none_or(|end| tablet.start_bytes.as_slice() < end)
                && (tablet.end_bytes.is_empty() || tablet.end_bytes.as_slice() >= start)
        };
        let cpu = hot.iter().filter(is_in).map(|tablet| tablet.node_cpu_percent).reduce(f32::max);
        let share = bytes.filter(|_| total > 0).map_or(0.0, |bytes| bytes as f64 / total as f64);
        Row { label: label(start), bytes, share, cpu }
    };
    parts.chunks(together).map(row).collect()
}

impl Row {
    fn bytes(&self) -> String {
        self.bytes.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string())
    }

    fn cpu(&self) -> String {
        self.cpu.map(|cpu| format!("{cpu:.0} %")).unwrap_or_default()
    }
}

/// Text of at most `most` characters.
fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() <= most {
        true => text.to_owned(),
        false => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

fn title(heat: &TableHeat) -> String {
    let parts = counted(heat.parts.len() as u64, "part");
    format!("{}: about {} in {parts}", heat.table, counted(heat.bytes, "byte"))
}

/// What is said of hot tablets.
fn hot_line(heat: &TableHeat) -> String {
    match &heat.hot_tablets {
        None => "This server does not list hot tablets.".to_owned(),
        Some(hot) if hot.is_empty() => "The service lists no hot tablets in the last 24 hours.".to_owned(),
        Some(hot) => {
            let spans = counted(hot.len() as u64, "span");
            let hottest = hot.iter().max_by(|one, other| one.cpu_percent.total_cmp(&other.cpu_percent));
            let hottest = hottest.map_or_else(String::new, |hot| {
                let since = hot.from.as_deref().map_or_else(String::new, |from| format!(", since {from}"));
                format!("; the hottest: {:.0} % of a node, from {}{since}", hot.cpu_percent, hot.start())
            });
            format!("Hot tablets in the last 24 hours: {spans} of time{hottest}.")
        }
    }
}

fn print(out: &mut Out, heat: &TableHeat, rows: &[Row]) -> io::Result<()> {
    let has_hot = rows.iter().any(|row| row.cpu.is_some());
    writeln!(out, "{}\n", Safe(&title(heat)))?;
    let head = if has_hot { "  CPU of a node" } else { "" };
    writeln!(out, "{:<LABEL$} {:<BAR$} {:>7} {:>12}{head}", "from", "", "share", "bytes")?;
    drawn(out, |has_colours| {
        let mut text = String::new();
        for row in rows {
            let label = Safe(&row.label).to_string();
            let length = (row.share * BAR as f64).ceil() as usize;
            let (bar, rest) = ("█".repeat(length.min(BAR)), " ".repeat(BAR.saturating_sub(length)));
            let style = match (has_colours, row.cpu) {
                (true, Some(_)) => AnsiColor::Red.on_default().bold(),
                (true, None) => AnsiColor::Cyan.on_default(),
                (false, _) => Style::new(),
            };
            _ = writeln!(
                text,
                "{:<LABEL$} {style}{bar}{style:#}{rest} {:>5.1} % {:>12}  {}",
                shortened(&label, LABEL),
                row.share * 100.0,
                row.bytes(),
                row.cpu()
            );
        }
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    })?;
    writeln!(out, "\n{NO_LOAD}\n{}", Safe(&hot_line(heat)))
}
