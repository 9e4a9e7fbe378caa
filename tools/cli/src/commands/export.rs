//! `export`: rows as csv or lines of JSON, which `import` reads.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::{Duration, Instant};

use clap::Args;
use futures_util::stream::{BoxStream, Peekable, Stream, StreamExt as _, iter, unfold};
use keyderive::dynamic::{DynKey, DynRow, TableLayout};
use keyderive::plan::Plan;
use keyderive::table::{DynTable, Skipped};
use keyderive::{Error, Scan};
use serde::{Deserialize, Serialize};

use super::block_on;
use crate::change::{ResumeFile, Stop, check_distinct, counted};
use crate::conditions::{self, Conditions};
use crate::exchange::{self, Form, Shape, Writer};
use crate::exit::{Exit, Failure, Outcome};
use crate::layout::{TableArgs, verify_keys};
use crate::output::{self, Meter, Out};
use crate::outside::{count_outside, note_outside};

/// Write rows as csv or lines of JSON, which `import` reads
///
///     keyderive export events --where user_id=alice --format csv > alice.csv
///     keyderive export events --output events.csv --resume events.progress
///
/// Rows are in the order of their keys. Each is as it was when it was read: beside writers, the rows are of different moments.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_long_help = exchange::HELP)]
pub(crate) struct Export {
    #[command(flatten)]
    of: TableArgs,
    #[arg(long = "where", value_name = "CONDITION", help = conditions::HELP, long_help = conditions::LONG_HELP)]
    conditions: Vec<String>,
    #[arg(long, value_enum, default_value_t = Form::Csv)]
    format: Form,
    /// The file that is written, in place of standard output; what it had is lost
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Read several parts of the table at a time, and write rows in no order
    #[arg(long, conflicts_with = "resume")]
    unordered: bool,
    /// Keep in this file how far the command is; go on from there if the file exists
    ///
    /// The same command with the same file goes on after it was stopped, killed, or failed, and writes each row once.
    #[arg(long, value_name = "FILE", requires = "output")]
    resume: Option<PathBuf>,
}

/// How many parts of the table are read at a time.
const PARTS: usize = 8;
/// How often is kept how far the command is.
const KEPT_EVERY: Duration = Duration::from_millis(250);

/// The arguments that a resumed command must repeat.
#[derive(Serialize)]
struct Arguments<'a> {
    table: &'a str,
    bigtable: String,
    key_type: String,
    row_type: String,
    conditions: &'a [String],
    format: &'static str,
    output: &'a Option<PathBuf>,
}

/// How far the command is.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    rows: u64,
    /// The length of the file.
    bytes: u64,
    /// The page token of the last row.
    after: Option<String>,
    left_out: LeftOut,
    is_done: bool,
}

/// What the output does not have.
#[derive(Debug, Default, Serialize, Deserialize)]
struct LeftOut {
    /// Rows whose keys are not of the layout.
    foreign: u64,
    /// In an export of all rows, those of them that no scan reads.
    #[serde(default)]
    outside: u64,
    /// Rows that the row type does not read.
    unread: u64,
    first_unread: Option<String>,
    /// Rows with a time that no text says.
    without_text: u64,
    /// Rows with columns that the row type does not name: these columns are left out.
    with_others: u64,
}

impl Export {
    pub(crate) fn run(self) -> Outcome {
        let target = self.of.instance.target()?;
        check_distinct([("--output", self.output.as_deref()), ("--resume", self.resume.as_deref())])?;
        let mut connection = self.of.connection()?;
        block_on(async {
            let layout = self.of.require_one(&mut connection).await?;
            let filter = Conditions::of_arguments(layout.key(), &self.conditions)?;
            let plan = filter.plan().clone();
            let client = connection.client().await?;
            verify_keys(&client, &layout).await?;
            let table = client.dynamic_table(&layout);
            let shape = Shape::new(&table, &layout)?;
            let arguments = Arguments {
                table: &self.of.table,
                bigtable: target.to_string(),
                key_type: layout.key().schema().fingerprint().to_string(),
                row_type: layout.row_type().map(|row| row.fingerprint().to_string()).unwrap_or_default(),
                conditions: &self.conditions,
                format: self.format.name(),
                output: &self.output,
            };
            let (kept, state) = ResumeFile::open(self.resume.as_deref(), "export", &arguments)?;
            let state: State = state.unwrap_or_default();
            if state.is_done {
                if let Some(path) = &self.output
                    && path.metadata().map_or(0, |file| file.len()) != state.bytes
                {
                    return Err(Failure::refused(format_args!(
                        "the file of `--resume` says that `{}` is written, and it is not as it was then; name another file for `--resume` to \
                         begin anew",
                        path.display()
                    )));
                }
                output::note(
                    "nothing was done now: the file of `--resume` says that an earlier run has done it; name another file to begin anew",
                );
                return self.end(&state, &layout);
            }
            let scans = self.scans(&table, &plan, &filter, state.after.as_deref()).await?;
            let skipped: Vec<_> = scans.iter().map(Scan::skipped).collect();
            let rows = iter(scans).flat_map_unordered(PARTS, |scan| Box::pin(rows(scan)));
            let mut rows = rows.boxed().peekable();
            let mut stop = Stop::listen();
            // The file of an export that is refused stays as it is.
            if let Some(Err(error)) = stop.or(Pin::new(&mut rows).peek()).await? {
                return Err(Failure::from(error));
            }
            let (out, file): (Box<dyn Write>, _) = match &self.output {
                None => (Box::new(Out::new()), None),
                Some(path) => {
                    let file = open(path, state.bytes).map_err(|error| Failure::unwritten(path, &error))?;
                    let other = file.try_clone().map_err(|error| Failure::unwritten(path, &error))?;
                    (Box::new(BufWriter::new(file)), Some((other, path.as_path())))
                }
            };
            let is_terminal = self.output.is_none() && io::stdout().is_terminal();
            let writer = Writer::new(shape, self.format, out, is_terminal, state.bytes == 0)?;
            let pages = filter.rows(&table, plan);
            let mut run = Run { pages, writer, file, kept, state, last: None, stop };
            let done = run.write(rows, &skipped).await;
            let stored = run.keep();
            done.map_err(|failure| {
                let rows = counted(run.state.rows, "row");
                let is_incomplete = match (&self.output, &self.resume) {
                    (None, _) => "the output is incomplete".to_owned(),
                    (Some(path), Some(_)) => {
                        format!(
                            "`{}` is incomplete until the same command has gone on from here to its end",
                            path.display()
                        )
                    }
                    (Some(path), None) => {
                        format!(
                            "`{}` is incomplete; with `--resume FILE` a command that was stopped can go on",
                            path.display()
                        )
                    }
                };
                failure.after(format_args!("exported {rows}; {is_incomplete}"))
            })?;
            stored?;
            if filter.is_of_all {
                run.state.left_out.outside = count_outside(&client, &layout).await?;
            }
            run.state.is_done = true;
            run.kept.store(&run.state)?;
            self.end(&run.state, &layout)
        })
    }

    /// One scan, or one for each part of the table.
    async fn scans(
        &self,
        table: &DynTable,
        plan: &Plan<DynKey>,
        filter: &Conditions,
        after: Option<&str>,
    ) -> Outcome<Vec<Scan<DynKey, DynRow>>> {
        let plans = match self.unordered {
            false => vec![plan.clone()],
            true => table.sizes().await?.parts.into_iter().map(|part| plan.within(&part.range)).collect(),
        };
        let scans = plans.into_iter().filter(|plan| !plan.is_empty()).map(|plan| {
            let scan = filter.rows(table, plan);
            match after {
                Some(token) => scan.after(token),
                None => scan,
            }
        });
        Ok(scans.collect())
    }

    /// Says what was done, and what was left out.
    fn end(&self, state: &State, layout: &TableLayout) -> Outcome {
        let LeftOut { foreign, outside, unread, first_unread, without_text, with_others } = &state.left_out;
        output::note(format_args!("exported {} of `{}`", counted(state.rows, "row"), self.of.table));
        let left_out = [
            (*foreign, "not exported: the keys are not of the layout".to_owned()),
            (
                *unread,
                format!(
                    "not exported: the row type does not read them; {}",
                    first_unread.as_deref().unwrap_or_default()
                ),
            ),
            (*without_text, "not exported: they have a time outside of the years 0000 to 9999".to_owned()),
            (*with_others, "exported without the columns that the row type does not name".to_owned()),
        ];
        for (rows, why) in left_out.iter().filter(|(rows, _)| *rows > 0) {
            output::note(format_args!("{} {why}", counted(*rows, "row")));
        }
        note_outside(*outside, layout, "exported");
        Ok(Exit::found(*outside > 0 || left_out.iter().any(|(rows, _)| *rows > 0)))
    }
}

/// An export that runs.
struct Run<'a> {
    /// The scan, whose page tokens say how far it is.
    pages: Scan<DynKey, DynRow>,
    writer: Writer<Box<dyn Write>>,
    file: Option<(File, &'a Path)>,
    kept: ResumeFile,
    state: State,
    last: Option<DynKey>,
    stop: Stop,
}

impl Run<'_> {
    async fn write(&mut self, mut rows: Peekable<BoxStream<'_, Found>>, skipped: &[Skipped]) -> Outcome<()> {
        let foreign_before = self.state.left_out.foreign;
        let (mut meter, mut kept_at) = (Meter::new("exported"), Instant::now());
        loop {
            let next = self.stop.or(rows.next()).await?;
            if let Some(row) = &next {
                let (key, row) = row.as_ref().map_err(Error::clone)?;
                self.add(key, row)?;
                self.last = Some(key.clone());
                meter.rows(self.state.rows);
            }
            self.state.left_out.foreign = foreign_before + skipped.iter().map(Skipped::foreign).sum::<u64>();
            if next.is_none() {
                return Ok(());
            }
            if kept_at.elapsed() >= KEPT_EVERY {
                self.keep()?;
                kept_at = Instant::now();
            }
        }
    }

    fn add(&mut self, key: &DynKey, row: &Result<DynRow, Error>) -> Outcome<()> {
        let left_out = &mut self.state.left_out;
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                left_out.unread += 1;
                left_out.first_unread.get_or_insert_with(|| format!("{error:#}"));
                return Ok(());
            }
        };
        match self.writer.add(key, row)? {
            true => self.state.rows += 1,
            false => left_out.without_text += 1,
        }
        left_out.with_others += u64::from(row.foreign().next().is_some());
        Ok(())
    }

    /// Writes what is buffered, and then keeps how far the command is: what the file has after that is not counted.
    fn keep(&mut self) -> Outcome<()> {
        self.writer.flush()?;
        if let Some((file, path)) = &self.file {
            let length = file.sync_data().and_then(|()| file.metadata());
            self.state.bytes = length.map_err(|error| Failure::unwritten(path, &error))?.len();
        }
        if let Some(last) = &self.last {
            self.state.after = Some(self.pages.token_after(last.as_ref())?);
        }
        self.kept.store(&self.state)
    }
}

/// A row that was read, with the error if the row type does not read it.
type Found = Result<(DynKey, Result<DynRow, Error>), Error>;

/// The rows of a scan.
fn rows(scan: Scan<DynKey, DynRow>) -> impl Stream<Item = Found> {
    unfold(scan.stored().stream(), |mut rows| async move {
        let row = rows.next().await?;
        let row = row.map(|(key, stored)| (key, rows.read(&stored)));
        Some((row, rows))
    })
}

/// Opens the file, and keeps its first `bytes` bytes.
fn open(path: &Path, bytes: u64) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(bytes == 0).open(path)?;
    if file.metadata()?.len() < bytes {
        return Err(io::Error::other("it is shorter than when the command was stopped"));
    }
    file.set_len(bytes)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}
