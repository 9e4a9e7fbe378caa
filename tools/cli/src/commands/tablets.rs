//! `tablets`: where a table is split, by the fields of its keys, and which parts are large or hot.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use keyderive::dynamic::{DynKey, KeyLayout, TableLayout, Value};
use keyderive::table::{HotTablet, SizedPart};
use keyderive::{Client, ErrorKind};
use serde::Serialize;

use super::block_on;
use super::rows::shown;
use crate::exit::{Exit, Failure, Outcome};
use crate::layout::{TableArgs, note_raw};
use crate::output::{self, Format, Records};

/// Show where a table is split, and which parts are large or hot
///
/// The service says where tablets begin and about how many bytes they have. Hot tablets are those of the last 24 hours.
#[derive(Args, Debug)]
pub(crate) struct Tablets {
    #[command(flatten)]
    of: TableArgs,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Show the hot tablets alone
    #[arg(long)]
    hot: bool,
}

#[derive(Serialize)]
pub(super) struct Part {
    /// The bytes where it begins; empty for the start of the table.
    start: String,
    start_fields: String,
    end: String,
    end_fields: String,
    bytes: Option<u64>,
    /// Of the bytes of the table.
    percent: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct Hot {
    pub(super) cluster: String,
    start: String,
    start_fields: String,
    end: String,
    end_fields: String,
    pub(super) cpu_percent: f32,
    pub(super) from: Option<String>,
    pub(super) until: Option<String>,
}

impl Part {
    /// A part of a table with `total` bytes.
    pub(super) fn new<K>(keys: &[KeyLayout], part: &SizedPart<K>, total: u64) -> Self {
        let (start, end) = (part.range.start(), part.range.end().unwrap_or_default());
        Self {
            start: shown(start),
            start_fields: fields(keys, start),
            end: shown(end),
            end_fields: fields(keys, end),
            bytes: part.bytes,
            percent: part.bytes.filter(|_| total > 0).map(|bytes| bytes as f64 * 100.0 / total as f64),
        }
    }
}

impl Hot {
    pub(super) fn new(keys: &[KeyLayout], tablet: &HotTablet<DynKey>) -> Self {
        Self {
            cluster: tablet.cluster.clone(),
            start: shown(&tablet.start_bytes),
            start_fields: fields(keys, &tablet.start_bytes),
            end: shown(&tablet.end_bytes),
            end_fields: fields(keys, &tablet.end_bytes),
            cpu_percent: tablet.node_cpu_percent,
            from: tablet.from.map(time),
            until: tablet.until.map(time),
        }
    }

    /// Where it begins, for people.
    pub(super) fn start(&self) -> String {
        boundary(&self.start, &self.start_fields, "start of table")
    }

    /// Where it ends.
    pub(super) fn end(&self) -> String {
        boundary(&self.end, &self.end_fields, "end of table")
    }
}

/// The hot tablets of a table; none if the service does not list them, which is said.
pub(super) async fn listed(client: &Client, layout: &TableLayout) -> Outcome<Option<Vec<HotTablet<DynKey>>>> {
    let hot = match client.dynamic_table(layout).hot_tablets().await {
        Err(error) if error.kind() == ErrorKind::Unimplemented => return Ok(None),
        // The sizes are of use without.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            output::note(format_args!("hot tablets are not listed: {error:#}"));
            return Ok(None);
        }
        hot => hot?,
    };
    note_unreachable(&hot.unreachable);
    Ok(Some(hot.tablets))
}

fn note_unreachable(clusters: &[String]) {
    if !clusters.is_empty() {
        output::note(format_args!("hot tablets of {} are not listed", clusters.join(", ")));
    }
}

impl Tablets {
    pub(crate) fn run(self) -> Outcome {
        let mut connection = self.of.connection()?;
        block_on(async {
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
            if !self.hot {
                self.parts(&client, &keys).await?;
            }
            self.hot(&client, layouts.first(), &keys).await
        })
    }

    async fn parts(&self, client: &Client, keys: &[KeyLayout]) -> Outcome<()> {
        let sizes = client.raw_table(&self.of.table).sizes().await?;
        let total = sizes.bytes();
        // Numbers alone, which programs read.
        let is_csv = self.format == Format::Csv;
        let head =
            ["from", "until", "bytes", if is_csv { "percent" } else { "share" }].map(str::to_owned).to_vec();
        let mut records = Records::new(self.format, head)?;
        for sized in &sizes.parts {
            let part = Part::new(keys, sized, total);
            records.add(&part, || {
                vec![
                    boundary(&part.start, &part.start_fields, "start of table"),
                    boundary(&part.end, &part.end_fields, "end of table"),
                    part.bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
                    match part.percent {
                        Some(percent) if is_csv => percent.to_string(),
                        Some(percent) => format!("{percent:.1} %"),
                        None => String::new(),
                    },
                ]
            })?;
        }
        Ok(records.finish()?)
    }

    async fn hot(&self, client: &Client, layout: Option<&TableLayout>, keys: &[KeyLayout]) -> Outcome {
        let Some(layout) = layout else {
            return if self.hot { Err(self.of.no_layout()) } else { Ok(Exit::Done) };
        };
        let tablets = match self.hot {
            false => listed(client, layout).await?,
            true => {
                let hot =
                    client.dynamic_table(layout).hot_tablets().await.map_err(|error| match error.kind() {
                        ErrorKind::Unimplemented => Failure::from(error)
                            .help("`keyderive tablets` without `--hot` shows the parts of the table"),
                        _ => error.into(),
                    })?;
                note_unreachable(&hot.unreachable);
                Some(hot.tablets)
            }
        };
        let Some(tablets) = tablets else { return Ok(Exit::Done) };
        if tablets.is_empty() {
            output::note("the service lists no hot tablets in the last 24 hours");
            return Ok(Exit::Done);
        }
        let is_csv = self.format == Format::Csv;
        let cpu = if is_csv { "cpu_percent" } else { "CPU of a node" };
        let head = ["cluster", "from", "to", cpu, "since", "until"].map(str::to_owned).to_vec();
        let mut records = Records::new(self.format, head)?;
        for tablet in &tablets {
            let row = Hot::new(keys, tablet);
            records.add(&row, || {
                vec![
                    row.cluster.clone(),
                    row.start(),
                    row.end(),
                    match is_csv {
                        true => row.cpu_percent.to_string(),
                        false => format!("{:.0} %", row.cpu_percent),
                    },
                    row.from.clone().unwrap_or_default(),
                    row.until.clone().unwrap_or_default(),
                ]
            })?;
        }
        records.finish()?;
        Ok(Exit::Done)
    }
}

/// What a boundary says of the fields: by the layout that reads most of it.
pub(super) fn fields(keys: &[KeyLayout], bytes: &[u8]) -> String {
    let starts = keys.iter().map(|key| key.decode_start(bytes));
    starts.min_by_key(|start| start.rest().len()).map(|start| start.to_string()).unwrap_or_default()
}

pub(super) fn boundary(bytes: &str, fields: &str, none: &str) -> String {
    match (bytes, fields) {
        ("", _) => none.to_owned(),
        (bytes, "") => bytes.to_owned(),
        (_, fields) => fields.to_owned(),
    }
}

fn time(at: SystemTime) -> String {
    let nanos = at.duration_since(UNIX_EPOCH).ok().and_then(|since| i128::try_from(since.as_nanos()).ok());
    nanos.map(|nanos| Value::Time(nanos).to_string()).unwrap_or_default()
}
