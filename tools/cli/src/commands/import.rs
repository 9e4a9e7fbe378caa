//! `import`: rows of csv or lines of JSON.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::Args;
use futures_util::stream::{Stream, StreamExt as _, iter, unfold};
use keyderive::ErrorKind;
use keyderive::dynamic::{DynKey, DynRow, TableLayout};
use keyderive::key::RawKey;
use keyderive::table::load::{Checkpoint, LoadError, LoadReport};
use keyderive::table::{DynTable, Progress};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::block_on;
use crate::change::{
    ChangeArgs, Pace, ResumeFile, Stop, check_distinct, counted, is_agreed, name_production,
};
use crate::exchange::{self, Fault, Form, Line, Lines, Reader, Shape, Times};
use crate::exit::{Exit, Failure, Outcome};
use crate::input::{self, Text};
use crate::layout::{TableArgs, verify_keys};
use crate::output::{self, Meter, Out, Safe, TextFormat, json_line};

/// Write the rows of a csv file, or of lines of JSON
///
///     keyderive import events events.csv --map 'user=user_id' --ignore comment
///     keyderive import events events.csv --yes --bad-lines skip=bad.json --resume import.progress
///
/// Without `--yes` it reads the input and writes nothing: it shows what each name stands for, the first rows, the bad lines, and how many
/// rows it would write; on a terminal it then asks. Each row replaces the stored row with its key, except for columns that the row type
/// does not name; of two lines with the same key the later one counts, with `--if-absent` the first. Values without a timestamp get the
/// time of the import, and the values that they replace stay stored as earlier versions until garbage collection removes them. Rows are
/// written in an order that overloads no tablet.
///
/// A killed command resumes with `--resume` and the same input: it writes rows again that it wrote after it last saved its progress, each
/// as a whole. It refuses an input with other records before that place. It replaces a row that another program wrote meanwhile; with
/// `--if-absent` that row stays.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_long_help = exchange::HELP)]
pub(crate) struct Import {
    #[command(flatten)]
    of: TableArgs,
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[arg(long, value_enum, default_value_t = Form::Csv)]
    format: Form,
    /// What a name of the input stands for: a field of the key, a column, or `:key` for the row key; without `--map`, the field or column
    /// of that name
    #[arg(long = "map", value_name = "NAME=FIELD")]
    maps: Vec<String>,
    /// Leave out the values of this name; any other name that is neither a field nor a column is refused
    #[arg(long = "ignore", value_name = "NAME")]
    ignored: Vec<String>,
    /// What to do at a line that is not a row: `stop`, after writing the rows before it, or `skip=FILE`, write such lines to the file and
    /// go on
    #[arg(long, value_name = "WHAT", default_value = "stop", value_parser = BadLines::parse)]
    bad_lines: BadLines,
    /// What to do with a time that has more digits than its column stores; a time in a key is never rounded, since two rows would get
    /// the same key
    #[arg(long, value_enum, value_name = "WHAT", default_value = "exact")]
    times: Times,
    /// Do not change rows that exist
    #[arg(long)]
    if_absent: bool,
    #[command(flatten)]
    change: ChangeArgs,
    /// How the numbers are printed; `--format` is the form of the input
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    report: TextFormat,
}

/// What is done at a line that is no row.
#[derive(Clone, Debug)]
pub(super) enum BadLines {
    Stop,
    Skip(PathBuf),
}

impl BadLines {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "stop" => Ok(Self::Stop),
            Some(("skip", file)) if !file.is_empty() => Ok(Self::Skip(file.into())),
            _ => Err("write `stop` or `skip=FILE`".to_owned()),
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Stop => None,
            Self::Skip(path) => Some(path),
        }
    }
}

/// How many rows and bad lines a dry run shows.
const SHOWN_ROWS: u64 = 3;
const SHOWN_FAULTS: u64 = 10;
/// How many rows the thread that reads hands over at a time, and how often it may be ahead.
const BATCH: usize = 256;
const BATCHES_AHEAD: usize = 16;

/// The arguments that a resumed command must repeat.
#[derive(Serialize)]
struct Arguments<'a> {
    table: &'a str,
    bigtable: String,
    row_type: String,
    input: &'a Path,
    format: &'static str,
    maps: &'a [String],
    ignored: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<&'static str>,
    if_absent: bool,
    skips: bool,
}

/// How far the command is.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    checkpoint: Option<Checkpoint>,
    /// The hash of the records up to the last row of the checkpoint: with other ones before it, rows would be passed over.
    digest: Option<u64>,
    is_done: bool,
    /// Once all of the input is written: the hash of all its records, and how many were bad lines.
    input_digest: Option<u64>,
    bad_lines: u64,
}

/// What was found, or done.
#[derive(Debug, Default, Serialize)]
struct Numbers {
    is_written: bool,
    /// In all runs; in this one if rows may be left as they are, since a command that goes on finds those that an earlier run wrote.
    rows: u64,
    bad_lines: u64,
    /// The line at which the command stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    stops_at: Option<u64>,
    /// In this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    this_run: Option<ThisRun>,
}

#[derive(Debug, Serialize)]
struct ThisRun {
    written: u64,
    kept: u64,
    failed: u64,
    bytes: u64,
    requests: u64,
}

/// A line of the file of bad lines.
#[derive(Serialize)]
pub(super) struct BadLine<'a> {
    line: u64,
    error: &'a str,
    record: &'a [String],
}

impl<'a> BadLine<'a> {
    pub(super) fn new(line: u64, fault: &'a Fault) -> Self {
        Self { line, error: &fault.why, record: &fault.record }
    }
}

/// A row that was read, and not written.
#[derive(Serialize)]
struct FailedRow<'a> {
    /// Among the rows, counted from 1.
    row: u64,
    key: Option<String>,
    error: &'a str,
}

impl Import {
    pub(crate) fn run(self) -> Outcome {
        let target = self.of.instance.target()?;
        let input = Some(self.input.as_path()).filter(|path| *path != Path::new("-"));
        check_distinct([
            ("the input", input),
            ("--bad-lines", self.bad_lines.path()),
            ("--resume", self.change.resume.as_deref()),
        ])?;
        let mut connection = self.of.connection()?;
        block_on(async {
            let layout = self.of.require_one(&mut connection).await?;
            let client = connection.client().await?;
            verify_keys(&client, &layout).await?;
            let table = client.dynamic_table(&layout);
            let lines = self.lines(&table, &layout)?;
            let arguments = Arguments {
                table: &self.of.table,
                bigtable: target.to_string(),
                row_type: layout.row_type().map(|row| row.fingerprint().to_string()).unwrap_or_default(),
                input: &self.input,
                format: self.format.name(),
                maps: &self.maps,
                ignored: &self.ignored,
                times: (self.times == Times::Round).then_some("round"),
                if_absent: self.if_absent,
                skips: self.bad_lines.path().is_some(),
            };
            let (file, state) = ResumeFile::open(self.change.resume.as_deref(), "import", &arguments)?;
            let state: State = state.unwrap_or_default();
            name_production(&target);
            if state.is_done {
                let mut digest = None;
                for line in lines {
                    digest = Some(line?.digest);
                }
                if state.input_digest != digest {
                    return Err(Failure::refused(format_args!(
                        "the file of `--resume` says that `{}` is written, and it has other records now; name another file for `--resume` to \
                         begin anew",
                        self.input.display()
                    )));
                }
                output::note(
                    "nothing was done now: the file of `--resume` says that an earlier run has done it; name another file to begin anew",
                );
                let rows = state.checkpoint.as_ref().map_or(0, Checkpoint::items);
                let bad_lines = state.bad_lines;
                return self.print(&Numbers { is_written: true, rows, bad_lines, ..Numbers::default() });
            }
            if self.change.yes {
                return self.load(&table, lines, &file, state).await;
            }
            let exit = self.show(lines)?;
            match is_agreed(&target, "Write them?")? {
                true => self.load(&table, self.lines(&table, &layout)?, &file, state).await,
                false => Ok(exit),
            }
        })
    }

    /// The records of the input.
    fn lines(&self, table: &DynTable, layout: &TableLayout) -> Outcome<Lines<Reader>> {
        let reader = Reader::new(Shape::new(table, layout)?, &self.maps, &self.ignored, self.times)?;
        Lines::new(reader, self.format, open(&self.input)?)
    }

    /// Says what the command would do.
    fn show(&self, lines: Lines<Reader>) -> Outcome {
        let mut out = Out::new();
        let (mut numbers, mut meter) = (Numbers::default(), Meter::new("read"));
        if !self.report.is_json() {
            for (name, is) in lines.meanings() {
                writeln!(out, "{} is {}", Safe(name), Safe(&is))?;
            }
        }
        for line in lines {
            let Line { number, row, .. } = line?;
            meter.rows(numbers.rows);
            match row {
                Ok(_) if numbers.stops_at.is_some() => {}
                Ok((key, row)) => {
                    numbers.rows += 1;
                    if numbers.rows <= SHOWN_ROWS && !self.report.is_json() {
                        writeln!(out, "line {number}: {key}")?;
                        // The first line is the name of the row type.
                        for line in row.to_string().lines().skip(1) {
                            writeln!(out, "{}", Safe(line))?;
                        }
                    }
                }
                Err(fault) => {
                    numbers.bad_lines += 1;
                    if self.bad_lines.path().is_none() {
                        numbers.stops_at.get_or_insert(number);
                    }
                    if numbers.bad_lines <= SHOWN_FAULTS && !self.report.is_json() {
                        writeln!(out, "line {number} is bad: {}", Safe(&fault.why))?;
                    }
                }
            }
        }
        meter.finish();
        out.finish()?;
        self.print(&numbers)
    }

    /// Prints the numbers.
    fn print(&self, numbers: &Numbers) -> Outcome {
        let mut out = Out::new();
        let Numbers { is_written, rows, bad_lines, stops_at, this_run } = numbers;
        if self.report.is_json() {
            json_line(&mut out, numbers)?;
        } else {
            let verb = if *is_written { "wrote" } else { "would write" };
            write!(out, "{verb} {} of `{}`", counted(*rows, "row"), Safe(&self.of.table))?;
            if let Some(run) = this_run {
                write!(
                    out,
                    "; in this run {} and {}",
                    counted(run.written, "row"),
                    counted(run.bytes, "byte")
                )?;
                write!(out, ", by {}", counted(run.requests, "request"))?;
                if run.kept > 0 {
                    write!(out, "; {} existed and stayed", counted(run.kept, "row"))?;
                }
            }
            match (bad_lines, stops_at) {
                (0, _) => {}
                (_, Some(line)) => {
                    write!(out, ", and stop at line {line}; {} in all", counted(*bad_lines, "bad line"))?;
                }
                (_, None) if *is_written => write!(out, "; {} left out", counted(*bad_lines, "bad line"))?,
                (_, None) => write!(out, ", and leave out {}", counted(*bad_lines, "bad line"))?,
            }
            writeln!(out)?;
        }
        out.finish()?;
        Ok(Exit::found(*bad_lines > 0 || this_run.as_ref().is_some_and(|run| run.failed > 0)))
    }

    async fn load(&self, table: &DynTable, lines: Lines<Reader>, file: &ResumeFile, state: State) -> Outcome {
        file.store(&state)?;
        let State { checkpoint, digest, .. } = state;
        let (hand_over, batches) = mpsc::channel(BATCHES_AHEAD);
        let found = Arc::new(Mutex::new(Found::default()));
        let done = checkpoint.as_ref().map_or(0, Checkpoint::items);
        // At most the rows of a second. They come at once, so requests have as many as without a rate.
        let batch = self.change.rate.map_or(BATCH, |rate| BATCH.min(rate.get() as usize));
        let reading = Reading {
            lines,
            skipped: self.bad_lines.path().map(|path| BadFile::new(path, digest.is_none())).transpose()?,
            batch,
            hand_over,
            expected: digest.map(|digest| (done, digest)),
            found: Arc::clone(&found),
        };
        std::thread::spawn(move || reading.run());
        let rows = rows(batches, Stop::listen(), Pace::new(self.change.rate), done);
        let (mut meter, mut unkept) = (Meter::new("written"), None);
        let mut load = table.load(rows);
        load = if self.if_absent { load.if_absent() } else { load };
        load = match self.bad_lines {
            BadLines::Stop => load.max_failures(0),
            BadLines::Skip(_) => load,
        };
        // With a rate, rows come slowly: they are not held back until there are many.
        load = match self.change.rate {
            Some(_) => load.patience(Duration::ZERO),
            None => load,
        };
        let result = load
            .checkpoint_every(self.change.kept_every())
            .resume(checkpoint)
            .on_progress(|progress: &Progress| meter.rows_of(progress.written, progress.read))
            .on_checkpoint(|checkpoint| {
                let digest = locked(&found).digest_of(checkpoint.items());
                let state = State { checkpoint: Some(checkpoint.clone()), digest, ..State::default() };
                // An earlier one is as right.
                if let Err(failure) = file.store(&state) {
                    unkept = Some(failure);
                }
            })
            .await;
        meter.finish();
        if let Some(failure) = unkept {
            output::note(failure);
        }
        self.end(result, &mut locked(&found), file)
    }

    /// Says what was done.
    fn end(&self, result: Result<LoadReport, LoadError>, found: &mut Found, file: &ResumeFile) -> Outcome {
        let mut is_replaced = false;
        let (report, error) = match result {
            Ok(report) => (report, None),
            Err(error) => {
                is_replaced = error.report().written() > 0
                    && error.error().is_some_and(|cause| {
                        cause.kind() == ErrorKind::TableMismatch || cause.is_not_found()
                    });
                let failure = match (&found.ended, error.error()) {
                    (Some((exit, why)), _) if error.is_input() => Failure::of(*exit, why),
                    (None, _) if error.is_input() => Failure::failed("stopped"),
                    (_, Some(cause)) if is_replaced && self.change.resume.is_some() => {
                        Failure::from(cause.clone())
                            .help("to write all rows of the input again, name another file for `--resume`")
                    }
                    (_, Some(cause)) => Failure::from(cause.clone()),
                    _ => Failure::refused(format_args!("{error:#}"))
                        .help("`--bad-lines skip=FILE` goes on after rows that are not written, and writes them to the file"),
                };
                (error.into_report(), Some(failure))
            }
        };
        self.report_failed(&report)?;
        if let (Some(first), BadLines::Skip(path)) = (&found.first, &self.bad_lines) {
            output::note(format_args!(
                "{} left out, which `{}` has; the first: {first}",
                counted(found.bad_lines, "bad line"),
                path.display()
            ));
        }
        let items = report.checkpoint().items();
        let numbers = Numbers {
            is_written: true,
            rows: match self.if_absent {
                true => report.written(),
                false => items.saturating_sub(report.checkpoint().failed().len() as u64),
            },
            bad_lines: found.bad_lines,
            stops_at: None,
            this_run: Some(ThisRun {
                written: report.written(),
                kept: report.kept(),
                failed: report.failed_count(),
                bytes: report.bytes(),
                requests: report.requests(),
            }),
        };
        match error {
            None => {
                file.store(&State {
                    checkpoint: Some(report.checkpoint().clone()),
                    digest: found.digest_of(items),
                    is_done: report.failed_count() == 0,
                    input_digest: found.digest,
                    bad_lines: found.bad_lines,
                })?;
                self.print(&numbers)
            }
            Some(failure) => {
                let of = match self.if_absent {
                    true => format!("of the first {} of the input", counted(items, "row")),
                    false => "the first ones of the input".to_owned(),
                };
                let (rows, how) = match is_replaced {
                    true => (
                        counted(numbers.rows, "row"),
                        "import all of it again, once the table is as the layout has it",
                    ),
                    false => (counted(numbers.rows, "row"), self.change.how_to_go_on()),
                };
                Err(failure.after(format_args!("wrote {rows}, {of}; {how}")))
            }
        }
    }

    /// Says which rows were read, and not written.
    fn report_failed(&self, report: &LoadReport) -> Outcome<()> {
        for row in report.failed().iter().take(SHOWN_FAULTS as usize) {
            output::note(format_args!("not written: {row:#}"));
        }
        let Some(path) = self.bad_lines.path().filter(|_| report.failed_count() > 0) else { return Ok(()) };
        let open = OpenOptions::new().append(true).open(path);
        let mut file = BufWriter::new(open.map_err(|error| Failure::unwritten(path, &error))?);
        let write = report.failed().iter().try_for_each(|row| {
            let key = row.key().map(|key| RawKey::new(key).to_string());
            json_line(
                &mut file,
                &FailedRow { row: row.index() + 1, key, error: &format!("{:#}", row.error()) },
            )
        });
        write.and_then(|()| file.flush()).map_err(|error| Failure::unwritten(path, &error))
    }
}

const OTHER_INPUT: &str = "the input has other records than the one whose rows were written, before the place where the command goes on; give it \
                           that input, or name another file for `--resume` to begin anew";

/// The file, or standard input.
pub(super) fn open(path: &Path) -> Outcome<Text<Box<dyn Read + Send>>> {
    input::open(path)
        .map_err(|error| Failure::refused(format_args!("`{}` is not read: {error}", path.display())))
}

type Row = Result<(DynKey, DynRow), String>;

/// A row, and the hash of the records up to it.
type RowAndDigest = ((DynKey, DynRow), u64);

/// The exit code of the command, and why the input ended before its end.
type Ended = (Exit, String);

/// What the thread that reads has found.
#[derive(Debug, Default)]
struct Found {
    bad_lines: u64,
    first: Option<String>,
    ended: Option<Ended>,
    /// The hash of all records that were read.
    digest: Option<u64>,
    /// The hashes of the records up to each row that was read, from the last row of the last checkpoint on.
    digests: VecDeque<u64>,
    /// How many rows are before the first of them.
    forgotten: u64,
}

impl Found {
    /// The hash of the records up to the last of `rows` rows; the hashes of earlier rows are forgotten.
    fn digest_of(&mut self, rows: u64) -> Option<u64> {
        while self.forgotten + 1 < rows && self.digests.pop_front().is_some() {
            self.forgotten += 1;
        }
        let at = rows.checked_sub(self.forgotten + 1)?;
        self.digests.get(usize::try_from(at).ok()?).copied()
    }
}

fn locked(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    // A thread that panicked has left whole values.
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that reads the input, since that can wait for a disk or a program while requests are in flight.
struct Reading {
    lines: Lines<Reader>,
    /// The file of bad lines; without one, the first ends the input.
    skipped: Option<BadFile>,
    batch: usize,
    hand_over: mpsc::Sender<Vec<Row>>,
    /// How many rows an earlier run has written, and the hash of the records up to the last of them.
    expected: Option<(u64, u64)>,
    found: Arc<Mutex<Found>>,
}

impl Reading {
    fn run(self) {
        let Self { lines, mut skipped, batch: most, hand_over, expected, found } = self;
        let mut batch = Vec::with_capacity(most);
        let (mut end, mut rows) = (None, 0);
        for line in lines {
            match next(line, skipped.as_mut(), &found) {
                Ok(Some((row, digest))) => {
                    rows += 1;
                    // Before the load has read this row it writes nothing.
                    if expected.is_some_and(|(at, expected)| at == rows && expected != digest) {
                        end = Some((Exit::Refused, OTHER_INPUT.to_owned()));
                        break;
                    }
                    if let (Some(file), true) = (&mut skipped, expected.is_some_and(|(at, _)| at == rows))
                        && let Err(error) = file.open()
                    {
                        end = Some(unwritten_lines(&error));
                        break;
                    }
                    locked(&found).digests.push_back(digest);
                    batch.push(Ok(row));
                }
                Ok(None) => {}
                Err(ended) => {
                    end = Some(ended);
                    break;
                }
            }
            if batch.len() == most && hand_over.blocking_send(std::mem::take(&mut batch)).is_err() {
                // Nobody reads any more.
                return;
            }
        }
        if end.is_none() && expected.is_some_and(|(at, _)| rows < at) {
            end = Some((Exit::Refused, OTHER_INPUT.to_owned()));
        }
        if let Some(Err(error)) = skipped.map(|mut file| file.finish(end.is_none())) {
            end.get_or_insert(unwritten_lines(&error));
        }
        if let Some(end) = end {
            batch.push(Err(end.1.clone()));
            locked(&found).ended = Some(end);
        }
        let _ = hand_over.blocking_send(batch);
    }
}

/// The file of bad lines. An earlier run's file stays as it is until the input is known to be the same.
struct BadFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    /// The lines before that.
    held: Vec<u8>,
}

impl BadFile {
    fn new(path: &Path, is_open: bool) -> Outcome<Self> {
        let mut file = Self { path: path.to_owned(), file: None, held: Vec::new() };
        if is_open {
            file.open().map_err(|error| Failure::unwritten(path, &error))?;
        }
        Ok(file)
    }

    fn open(&mut self) -> io::Result<()> {
        let file = self.file.insert(BufWriter::new(File::create(&self.path)?));
        file.write_all(&std::mem::take(&mut self.held))
    }

    /// Writes what is buffered; `is_whole` at the end of the input.
    fn finish(&mut self, is_whole: bool) -> io::Result<()> {
        if self.file.is_none() && is_whole {
            self.open()?;
        }
        self.flush()
    }
}

impl Write for BadFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => self.held.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

fn unwritten_lines(error: &io::Error) -> Ended {
    (Exit::Failed, format!("the file of `--bad-lines` is not written: {error}"))
}

/// The row of a line, and the hash of the records up to it; `None` for a line that is left out.
fn next(
    line: Outcome<Line>,
    skipped: Option<&mut BadFile>,
    found: &Mutex<Found>,
) -> Result<Option<RowAndDigest>, Ended> {
    let Line { number, digest, row } = line.map_err(|failure| (failure.exit, failure.to_string()))?;
    locked(found).digest = Some(digest);
    let fault = match row {
        Ok(row) => return Ok(Some((row, digest))),
        Err(fault) => fault,
    };
    let why = format!("line {number}: {}", fault.why);
    let mut found = locked(found);
    found.bad_lines += 1;
    let Some(file) = skipped else { return Err((Exit::Refused, why)) };
    json_line(file, &BadLine::new(number, &fault)).map_err(|error| unwritten_lines(&error))?;
    found.first.get_or_insert(why);
    Ok(None)
}

/// The rows for the load, at their rate after those that are `done`; an error once the command is to stop.
fn rows(
    batches: mpsc::Receiver<Vec<Row>>,
    stop: Stop,
    pace: Pace,
    done: u64,
) -> impl Stream<Item = Row> + Send {
    let batches = unfold((batches, stop, pace, done), |(mut batches, mut stop, mut pace, done)| async move {
        let batch = tokio::select! {
            biased;
            () = stop.asked() => vec![Err("stopped".to_owned())],
            batch = batches.recv() => batch?,
        };
        let rows = batch.len() as u64;
        if done < rows {
            pace.wait_for(rows - done).await;
        }
        Some((iter(batch), (batches, stop, pace, done.saturating_sub(rows))))
    });
    batches.flatten()
}
