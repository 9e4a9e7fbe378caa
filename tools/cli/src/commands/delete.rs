//! `delete`: the rows that meet conditions on the fields of their keys, or that are named by their keys.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write as _};
use std::iter::from_fn;

use clap::{ArgGroup, Args, ValueEnum};
use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};
use keyderive::client::RawTable;
use keyderive::dynamic::{DynKey, TableLayout};
use keyderive::key::RawKey;
use keyderive::row::{Mutation, RawRow};
use keyderive::table::DynTable;
use keyderive::{Error, Scan};
use serde::{Deserialize, Serialize};

use super::block_on;
use super::decode::KeyLines;
use super::verify;
use crate::change::{ChangeArgs, Pace, ResumeFile, Stop, counted, is_agreed, name_production};
use crate::conditions::{self, Conditions};
use crate::exchange::{Digest, json_fault};
use crate::exit::{Exit, Failure, Outcome};
use crate::layout::{TableArgs, verify_keys};
use crate::output::{self, Meter, Out, Safe, TextFormat, json_line};
use crate::outside::{count_outside, note_outside};

/// Delete rows by conditions on the fields of their keys, or by their keys
///
///     keyderive delete events --where user_id=alice
///     keyderive delete events --where user_id=alice --yes --rate 500 --resume alice.progress
///
/// Without `--yes` it says how many rows, bytes and requests that is, and on a terminal asks. A row is deleted with all that it stores.
/// A row whose key is not of the layout is deleted only if it is named, with `--raw`; how many others there are is said.
///
/// `-` also reads the lines of `keyderive verify --out`: of these it takes the rows whose keys do not decode, with `--findings row` those
/// that the row type does not read, and never rows that are only large or have a time in the future.
///
/// Beside writers: `--yes` first counts, and then deletes at most as many rows, those that it finds first; if there are more it stops,
/// with exit code 3, and says what it has done. The command reads the rows in order: one that is written where it has already read stays.
/// One that is written again after it was found, and before its request or a retry of that, is deleted.
///
/// The file of `--resume` has the keys of the request in flight: a command that goes on after it was killed looks which of these rows are
/// deleted, and counts them. When it has ended, all rows that matched when it began are deleted. Of keys from standard input, it takes the
/// same ones again, and refuses others.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, group(ArgGroup::new("rows").required(true).multiple(true).args(["keys", "conditions"])))]
pub(crate) struct Delete {
    #[command(flatten)]
    of: TableArgs,
    /// The keys of the rows, as `decode` takes them; `-` reads a key, or a finding of `verify`, from each line of standard input
    #[arg(conflicts_with = "conditions", value_name = "KEY")]
    keys: Vec<String>,
    #[arg(long = "where", value_name = "CONDITION", help = conditions::HELP, long_help = conditions::LONG_HELP)]
    conditions: Vec<String>,
    /// The keys are of any bytes, such as those that `keyderive verify` finds and that do not decode
    #[arg(long, requires = "keys", conflicts_with = "conditions")]
    raw: bool,
    /// Which findings of `verify` name rows to delete; the others are left out
    #[arg(
        long,
        value_enum,
        value_name = "KINDS",
        value_delimiter = ',',
        default_value = "key",
        requires = "keys",
        conflicts_with = "conditions"
    )]
    findings: Vec<Finding>,
    #[command(flatten)]
    change: ChangeArgs,
    /// Delete also the rows that were written since they were counted, and do not count them
    #[arg(long, requires = "yes", conflicts_with = "keys")]
    any_number: bool,
    /// How the numbers are printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

/// The findings of `verify` by which rows can be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Finding {
    /// The key does not decode.
    Key,
    /// The row type does not read the row.
    Row,
}

/// A line of the file of `verify --out`; the rest of it says what was found.
#[derive(Deserialize)]
struct VerifyLine {
    key: String,
    kind: verify::Kind,
}

/// How many lines of standard input that name no key are shown.
const SHOWN_FAULTS: usize = 10;

/// The most rows of a request, and the most bytes of their keys: the library sends as many in one.
const REQUEST_ROWS: usize = 1000;
const REQUEST_KEY_BYTES: usize = 500_000;
const MAX_KEY_BYTES: usize = 4096;

/// How many rows are looked up at a time.
const LOOKUPS: usize = 32;

/// The arguments that a resumed command must repeat.
#[derive(Serialize)]
struct Arguments<'a> {
    table: &'a str,
    bigtable: String,
    key_type: String,
    conditions: &'a [String],
    keys: &'a [String],
    /// A line with a finding of another kind is done, too.
    findings: &'a [Finding],
}

/// How far the command is.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// How many rows may be deleted; none for any number.
    announced: Option<u64>,
    deleted: u64,
    requests: u64,
    /// Rows whose keys are not of the layout.
    skipped: u64,
    /// Keys without a row.
    not_there: u64,
    /// Findings of `verify` of other kinds.
    #[serde(default)]
    left_out: u64,
    /// How many keys of the arguments or of standard input are done.
    keys_done: u64,
    /// The hash of these keys: of standard input, others would be passed over.
    keys_digest: u64,
    /// The page token of the last row that was deleted.
    after: Option<String>,
    /// The keys of the request that was sent last, if its answer is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    in_flight: Vec<String>,
    /// The next keys whose rows are gone, since an earlier run's request in flight deleted them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    settled: BTreeSet<String>,
    is_done: bool,
}

/// What was found, or done.
#[derive(Debug, Default, Serialize)]
struct Numbers {
    is_deleted: bool,
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<u64>,
    /// Of keys, names of columns and values.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    requests: u64,
    skipped: u64,
    not_there: u64,
    /// Rows that no scan reads, if there are any; up to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    left_out: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Numbers {
    fn add(&mut self, row: &RawRow) {
        self.rows += 1;
        let of_cells = row.cells().map(|cell| cell.qualifier().len() + cell.value().len());
        *self.cells.get_or_insert_default() += row.cells().count() as u64;
        *self.bytes.get_or_insert_default() += (row.key().len() + of_cells.sum::<usize>()) as u64;
    }
}

/// Which keys are deleted by one request.
struct RequestSize {
    most: usize,
    rows: usize,
    bytes: usize,
}

impl RequestSize {
    /// With a rate, a request has the rows of a second.
    fn new(change: &ChangeArgs) -> Self {
        let rate = change.rate.and_then(|rate| usize::try_from(rate.get()).ok());
        Self { most: rate.map_or(REQUEST_ROWS, |rate| rate.min(REQUEST_ROWS)), rows: 0, bytes: 0 }
    }

    /// Adds a key; returns whether it begins a request, the first one too.
    fn begins(&mut self, key: &[u8]) -> bool {
        let begins = self.rows == 0 || self.rows == self.most || self.bytes + key.len() > REQUEST_KEY_BYTES;
        if begins {
            (self.rows, self.bytes) = (0, 0);
        }
        self.rows += 1;
        self.bytes += key.len();
        begins
    }
}

impl Delete {
    pub(crate) fn run(self) -> Outcome {
        let target = self.of.instance.target()?;
        let mut connection = self.of.connection()?;
        block_on(async {
            let layout = match self.raw {
                true => None,
                false => Some(self.of.require_one(&mut connection).await?),
            };
            let arguments = Arguments {
                table: &self.of.table,
                bigtable: target.to_string(),
                key_type: match &layout {
                    Some(layout) => layout.key().schema().fingerprint().to_string(),
                    None => "any".to_owned(),
                },
                conditions: &self.conditions,
                keys: &self.keys,
                findings: &self.findings,
            };
            let (file, state) = ResumeFile::open(self.change.resume.as_deref(), "delete", &arguments)?;
            let filter = layout
                .as_ref()
                .map(|layout| Conditions::of_arguments(layout.key(), &self.conditions))
                .transpose()?;
            let keys = Keys::new(layout.as_ref(), &self.keys, &self.findings)?;
            name_production(&target);
            let client = connection.client().await?;
            let typed = layout.as_ref().map(|layout| client.dynamic_table(layout));
            // Keys that are named are of the layout.
            if let (Some(layout), true) = (&layout, self.keys.is_empty()) {
                verify_keys(&client, layout).await?;
            }
            let outside = match (&layout, &filter) {
                (Some(layout), Some(filter)) if self.keys.is_empty() && filter.is_of_all => {
                    count_outside(&client, layout).await?
                }
                _ => 0,
            };
            let print = |numbers: Numbers| {
                let outside = Some(outside).filter(|rows| *rows > 0);
                self.print(&Numbers { outside, ..numbers }, layout.as_ref())
            };
            let rows = match (filter, &typed) {
                (Some(filter), Some(table)) if self.keys.is_empty() => {
                    Rows::Plan(Box::new(Selected { table: table.clone(), filter }))
                }
                _ => Rows::Keys(keys),
            };
            let table = typed.map_or_else(
                || Table::Raw(client.raw_table(&self.of.table)),
                |table| Table::Typed(Box::new(table)),
            );
            let is_new = state.is_none();
            let mut deletion = Deletion {
                of: &self,
                table,
                file,
                state: state.unwrap_or_default(),
                pace: Pace::new(self.change.rate),
            };
            if deletion.state.is_done {
                if let Rows::Keys(keys) = &rows {
                    let mut keys = KeyBatches::new(keys, &self.change, &deletion.state);
                    keys.skip_done()?;
                    if keys.take()?.is_some() {
                        return Err(Failure::refused(OTHER_KEYS));
                    }
                }
                output::note(
                    "nothing was done now: the file of `--resume` says that an earlier run has done it; name another file to begin anew",
                );
                return print(deletion.state.numbers());
            }
            if !self.change.yes {
                let found = deletion.measure(&rows).await?;
                deletion.state.announced = deletion.state.announced.or(Some(found.rows));
                let rows = found.rows;
                let exit = print(found)?;
                if rows == 0 || !is_agreed(&target, "Delete them?")? {
                    return Ok(exit);
                }
            } else if self.any_number {
                deletion.state.announced = None;
            } else if let (Rows::Plan(selected), true) = (&rows, is_new) {
                deletion.state.announced = Some(deletion.count(selected).await?);
            }
            deletion.settle().await?;
            deletion.file.store(&deletion.state)?;
            // Before, Ctrl-C ends the process.
            let mut stop = Stop::listen();
            let done = match &rows {
                Rows::Plan(selected) => deletion.delete_plan(selected, &mut stop).await,
                Rows::Keys(keys) => deletion.delete_keys(keys, &mut stop).await,
            };
            done.map_err(|failure| failure.after(deletion.so_far()))?;
            deletion.state.is_done = true;
            deletion.file.store(&deletion.state)?;
            print(deletion.state.numbers())
        })
    }

    /// Prints the numbers.
    fn print(&self, numbers: &Numbers, layout: Option<&TableLayout>) -> Outcome {
        let mut out = Out::new();
        if self.format.is_json() {
            json_line(&mut out, numbers)?;
        } else {
            let verb = if numbers.is_deleted { "deleted" } else { "would delete" };
            write!(out, "{verb} {} of `{}`", counted(numbers.rows, "row"), Safe(&self.of.table))?;
            if let (Some(cells), Some(bytes)) = (numbers.cells, numbers.bytes) {
                write!(out, ", {} and {} as stored", counted(cells, "cell"), counted(bytes, "byte"))?;
            }
            writeln!(out, ", by {}", counted(numbers.requests, "request"))?;
        }
        out.finish()?;
        if numbers.skipped > 0 && !self.keys.is_empty() {
            let what = if self.raw { "row key" } else { "key of the layout; `--raw` takes any row key" };
            output::note(format_args!("{} left out: not a {what}", counted(numbers.skipped, "line")));
        } else if numbers.skipped > 0 {
            output::note(format_args!(
                "{} not deleted: the keys are not of the layout; `keyderive verify {}` shows them, and `--raw` deletes those that are named",
                counted(numbers.skipped, "row"),
                self.of.table
            ));
        }
        if numbers.left_out > 0 {
            output::note(format_args!(
                "{} of `verify` left out: `--findings` names the kinds that are deleted, of `key` and `row`",
                counted(numbers.left_out, "finding")
            ));
        }
        if numbers.not_there > 0 {
            output::note(format_args!(
                "{} no row",
                match numbers.not_there {
                    1 => "1 key has".to_owned(),
                    keys => format!("{keys} keys have"),
                }
            ));
        }
        if let (Some(rows), Some(layout)) = (numbers.outside, layout) {
            note_outside(rows, layout, "deleted");
        }
        Ok(Exit::found(numbers.skipped + numbers.not_there > 0 || numbers.outside.is_some()))
    }
}

/// What is deleted.
enum Rows {
    Plan(Box<Selected>),
    Keys(Keys),
}

/// The rows that meet conditions.
struct Selected {
    table: DynTable,
    filter: Conditions,
}

impl Selected {
    /// A scan of all cells that are stored, as deletions find them.
    fn scan(&self, after: Option<&str>) -> Scan<DynKey, RawRow> {
        let scan = self.filter.rows(&self.table, self.filter.plan().clone()).raw();
        match after {
            Some(token) => scan.after(token),
            None => scan,
        }
    }
}

/// Keys of arguments, or of standard input.
enum Keys {
    Given(Vec<Vec<u8>>),
    /// Keys of a layout, or any bytes; of findings, only some kinds.
    Stream(Option<TableLayout>, Vec<Finding>),
}

/// What a key of the arguments or a line of standard input is.
enum Named {
    Key(Vec<u8>),
    /// A finding of another kind.
    LeftOut,
    /// Why it is no key.
    Fault(String),
}

/// The rows that are looked up and deleted: of the layout alone, or of any bytes.
enum Table {
    Typed(Box<DynTable>),
    Raw(RawTable),
}

impl Table {
    async fn get_raw(&self, key: &[u8]) -> Result<Option<RawRow>, Error> {
        match self {
            Self::Typed(table) => table.get_raw(key).await,
            Self::Raw(table) => table.read_row(key.to_vec(), None).await,
        }
    }

    async fn delete_all(&self, keys: &[Vec<u8>]) -> Result<(), Error> {
        match self {
            Self::Typed(table) => table.delete_all(keys).await,
            Self::Raw(table) => {
                let rows = keys.iter().map(|key| (key.clone().into(), vec![Mutation::delete_row()]));
                table.mutate_rows(rows.collect()).await.all_written()
            }
        }
    }
}

impl Keys {
    fn new(layout: Option<&TableLayout>, keys: &[String], findings: &[Finding]) -> Outcome<Self> {
        if keys == ["-"] {
            return Ok(Self::Stream(layout.cloned(), findings.to_vec()));
        }
        if keys.iter().any(|key| key == "-") {
            return Err(Failure::usage("`-` reads the keys from standard input: give no others beside it"));
        }
        let keys = keys.iter().map(|text| parse_key(layout, text).map_err(Failure::usage));
        Ok(Self::Given(keys.collect::<Outcome<_>>()?))
    }

    /// Each key, or line that is not blank.
    fn iter(&self) -> Box<dyn Iterator<Item = Outcome<Named>> + '_> {
        let (layout, findings) = match self {
            Self::Given(keys) => return Box::new(keys.iter().cloned().map(|key| Ok(Named::Key(key)))),
            Self::Stream(layout, findings) => (layout.as_ref(), findings),
        };
        let mut input = KeyLines::of_text(io::stdin());
        let (mut line, mut number) = (Vec::new(), 0_u64);
        let lines = from_fn(move || {
            loop {
                let is_whole = match input.next(&mut line) {
                    Err(error) => return Some(Err(error)),
                    Ok(read) => read?,
                };
                number += 1;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let named = match str::from_utf8(&line) {
                    _ if !is_whole => Err("it is too long for a key".to_owned()),
                    Ok(text) => parse_line(layout, findings, text),
                    Err(_) => Err("it is not UTF-8".to_owned()),
                };
                return Some(Ok(named.unwrap_or_else(|why| Named::Fault(format!("line {number}: {why}")))));
            }
        });
        Box::new(lines)
    }
}

/// A line of standard input: a key, or a finding of `verify`.
fn parse_line(layout: Option<&TableLayout>, findings: &[Finding], text: &str) -> Result<Named, String> {
    if !text.starts_with('{') {
        return parse_key(layout, text).map(Named::Key);
    }
    let finding: VerifyLine = serde_json::from_str(text).map_err(|error| {
        format!(
            "it is not a finding of `verify --out`: {}; write a key that begins with `{{` in quotes",
            json_fault(&error, 0)
        )
    })?;
    let wanted = match finding.kind {
        verify::Kind::Key => Some(Finding::Key),
        verify::Kind::Row => Some(Finding::Row),
        // Such rows are read, and the others hold their values.
        verify::Kind::Large | verify::Kind::Future => None,
    };
    match wanted.is_some_and(|wanted| findings.contains(&wanted)) {
        true => parse_key(layout, &finding.key).map(Named::Key),
        false => Ok(Named::LeftOut),
    }
}

fn parse_key(layout: Option<&TableLayout>, text: &str) -> Result<Vec<u8>, String> {
    let key = RawKey::parse(text).map_err(|error| format!("`{text}`: {error}"))?;
    if let Some(layout) = layout {
        layout.key().decode(key.as_bytes()).map_err(|error| format!("`{text}`: {error}"))?;
    }
    Ok(key.as_bytes().to_vec())
}

/// A key as `decode` takes it.
fn text(key: &[u8]) -> String {
    RawKey::new(key).to_string()
}

impl State {
    fn numbers(&self) -> Numbers {
        let Self { deleted: rows, requests, skipped, not_there, left_out, .. } = *self;
        Numbers { is_deleted: true, rows, requests, skipped, not_there, left_out, ..Numbers::default() }
    }
}

/// A deletion that runs.
struct Deletion<'a> {
    of: &'a Delete,
    table: Table,
    file: ResumeFile,
    state: State,
    pace: Pace,
}

impl Deletion<'_> {
    /// Counts the rows of a plan.
    async fn count(&self, selected: &Selected) -> Outcome<u64> {
        let (mut keys, mut meter) = (selected.scan(None).keys_only().stream(), Meter::new("counted"));
        let mut rows = 0;
        while let Some(key) = keys.next().await {
            key?;
            rows += 1;
            meter.rows(rows);
        }
        Ok(rows)
    }

    /// What the command would do from here.
    async fn measure(&self, rows: &Rows) -> Outcome<Numbers> {
        let (mut found, mut meter) = (Numbers::default(), Meter::new("found"));
        match rows {
            Rows::Plan(selected) => {
                let mut size = RequestSize::new(&self.of.change);
                let mut rows = selected.scan(self.state.after.as_deref()).stream();
                while let Some(row) = rows.next().await {
                    let (key, row) = row?;
                    found.requests += u64::from(size.begins(key.as_ref()));
                    found.add(&row);
                    meter.rows(found.rows);
                }
                found.skipped = rows.skipped().foreign();
            }
            Rows::Keys(keys) => {
                let mut keys = KeyBatches::new(keys, &self.of.change, &self.state);
                while let Some(batch) = keys.next()? {
                    let rows = self.look_up(&batch.keys).await?;
                    found.requests += u64::from(!rows.is_empty());
                    found.not_there += (batch.keys.len() - rows.len()) as u64;
                    found.skipped += batch.skipped;
                    found.left_out += batch.left_out;
                    rows.iter().for_each(|(_, row)| found.add(row));
                    meter.rows(found.rows);
                }
            }
        }
        Ok(found)
    }

    async fn delete_plan(&mut self, selected: &Selected, stop: &mut Stop) -> Outcome<()> {
        let mut meter = Meter::new("deleted");
        let (mut size, mut batch) = (RequestSize::new(&self.of.change), Vec::new());
        let mut keys = selected.scan(self.state.after.as_deref()).keys_only().stream();
        let skipped_before = self.state.skipped;
        while let Some(key) = stop.or(keys.next()).await? {
            let key = key?;
            if size.begins(key.as_ref()) {
                self.delete_batch(selected, &mut batch, stop).await?;
                meter.rows(self.state.deleted);
            }
            if self.state.announced == Some(self.state.deleted + batch.len() as u64) {
                self.delete_batch(selected, &mut batch, stop).await?;
                return Err(Failure::refused(format_args!(
                    "there are more rows than the {} that were announced: somebody writes; `--any-number` deletes them too",
                    self.state.deleted
                )));
            }
            batch.push(key.as_ref().to_vec());
            // The ones before this row: a resumed command finds the others again.
            self.state.skipped = skipped_before + keys.skipped().foreign();
        }
        self.state.skipped = skipped_before + keys.skipped().foreign();
        self.delete_batch(selected, &mut batch, stop).await
    }

    async fn delete_batch(
        &mut self,
        selected: &Selected,
        batch: &mut Vec<Vec<u8>>,
        stop: &mut Stop,
    ) -> Outcome<()> {
        let Some(last) = batch.last() else { return Ok(()) };
        let after = selected.scan(None).token_after(last)?;
        self.send(batch, stop).await?;
        self.state.after = Some(after);
        batch.clear();
        self.file.store(&self.state)
    }

    async fn delete_keys(&mut self, keys: &Keys, stop: &mut Stop) -> Outcome<()> {
        let mut meter = Meter::new("deleted");
        let mut keys = KeyBatches::new(keys, &self.of.change, &self.state);
        while let Some(batch) = keys.next()? {
            let rows = self.look_up(&batch.keys).await?;
            let settled = batch.keys.iter().filter(|key| self.state.settled.contains(&text(key))).count();
            self.state.not_there += (batch.keys.len() - rows.len()).saturating_sub(settled) as u64;
            self.state.skipped += batch.skipped;
            self.state.left_out += batch.left_out;
            let there: Vec<_> = rows.into_iter().map(|(key, _)| key).collect();
            if !there.is_empty() {
                self.send(&there, stop).await?;
            }
            (self.state.keys_done, self.state.keys_digest) = (keys.taken, keys.digest);
            self.state.settled.clear();
            self.file.store(&self.state)?;
            meter.rows(self.state.deleted);
        }
        Ok(())
    }

    /// Deletes rows by one request.
    async fn send(&mut self, keys: &[Vec<u8>], stop: &mut Stop) -> Outcome<()> {
        let rows = keys.len() as u64;
        stop.or(self.pace.wait_for(rows)).await?;
        if self.file.is_kept() {
            self.state.in_flight = keys.iter().map(|key| text(key)).collect();
            self.file.store(&self.state)?;
        }
        self.table.delete_all(keys).await?;
        self.state.in_flight.clear();
        self.state.deleted += rows;
        self.state.requests += 1;
        Ok(())
    }

    /// Counts the deleted rows of the request that was in flight when an earlier run ended.
    async fn settle(&mut self) -> Outcome<()> {
        if self.state.in_flight.is_empty() {
            return Ok(());
        }
        let keys = self.state.in_flight.iter().map(|text| parse_key(None, text).map_err(Failure::refused));
        let keys = keys.collect::<Outcome<Vec<_>>>()?;
        let there: HashSet<_> = self.look_up(&keys).await?.into_iter().map(|(key, _)| key).collect();
        let gone = keys.iter().filter(|key| !there.contains(*key)).map(|key| text(key));
        self.state.settled.extend(gone);
        self.state.deleted += (keys.len() - there.len()) as u64;
        self.state.requests += u64::from(there.len() < keys.len());
        self.state.in_flight.clear();
        self.file.store(&self.state)
    }

    /// The rows with these keys, as they are stored.
    async fn look_up(&self, keys: &[Vec<u8>]) -> Outcome<Vec<(Vec<u8>, RawRow)>> {
        let table = &self.table;
        let rows = iter(keys.iter().cloned()).map(|key| async move {
            let row = table.get_raw(&key).await?;
            Ok::<_, Failure>(row.map(|row| (key, row)))
        });
        let rows: Vec<_> = rows.buffered(LOOKUPS).try_collect().await?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// What a command that ends early has done.
    fn so_far(&self) -> String {
        let deleted = counted(self.state.deleted, "row");
        let of = match self.state.announced {
            Some(announced) => format!(" of {announced}"),
            None => String::new(),
        };
        format!("deleted {deleted}{of}; {}", self.of.change.how_to_go_on())
    }
}

/// Keys in the batches that requests delete.
struct KeyBatches<'a> {
    keys: Box<dyn Iterator<Item = Outcome<Named>> + 'a>,
    most: usize,
    /// How many lines that are no keys were shown.
    shown: usize,
    /// How many keys were read.
    taken: u64,
    hash: Digest,
    /// The hash of the keys that were read.
    digest: u64,
    /// How many of them an earlier run has done, and the hash of these.
    done: (u64, u64),
}

const OTHER_KEYS: &str = "standard input has other keys than those of the command that `--resume` goes on with; give it the same input, or name \
                          another file for `--resume` to begin anew";

#[derive(Default)]
struct KeyBatch {
    keys: Vec<Vec<u8>>,
    /// Keys that are not of the layout.
    skipped: u64,
    /// Findings of other kinds.
    left_out: u64,
}

impl<'a> KeyBatches<'a> {
    fn new(keys: &'a Keys, change: &ChangeArgs, state: &State) -> Self {
        // This many keys of any length fit into one request.
        let most = RequestSize::new(change).most.min(REQUEST_KEY_BYTES / MAX_KEY_BYTES);
        let done = (state.keys_done, state.keys_digest);
        Self { keys: keys.iter(), most, shown: 0, taken: 0, hash: Digest::default(), digest: 0, done }
    }

    /// The next key, or why it is not of the layout.
    fn take(&mut self) -> Outcome<Option<Named>> {
        let Some(key) = self.keys.next().transpose()? else { return Ok(None) };
        self.taken += 1;
        self.digest = match &key {
            Named::Key(key) => self.hash.add([key.as_slice()]),
            Named::LeftOut => self.hash.add([b"".as_slice()]),
            Named::Fault(fault) => self.hash.add([b"", fault.as_bytes()]),
        };
        Ok(Some(key))
    }

    /// Passes over the keys that an earlier run has done.
    ///
    /// # Errors
    /// If they are others.
    fn skip_done(&mut self) -> Outcome<()> {
        let (done, digest) = self.done;
        while self.taken < done && self.take()?.is_some() {}
        match self.taken < done || self.taken == done && done > 0 && self.digest != digest {
            true => Err(Failure::refused(OTHER_KEYS)),
            false => Ok(()),
        }
    }

    fn next(&mut self) -> Outcome<Option<KeyBatch>> {
        self.skip_done()?;
        let (mut batch, mut known) = (KeyBatch::default(), HashSet::new());
        while batch.keys.len() < self.most
            && let Some(key) = self.take()?
        {
            match key {
                Named::Key(key) => {
                    if known.insert(key.clone()) {
                        batch.keys.push(key);
                    }
                }
                Named::LeftOut => batch.left_out += 1,
                Named::Fault(fault) => {
                    batch.skipped += 1;
                    if self.shown < SHOWN_FAULTS {
                        self.shown += 1;
                        output::note(format_args!("left out: {fault}"));
                    }
                }
            }
        }
        Ok((!batch.keys.is_empty() || batch.skipped + batch.left_out > 0).then_some(batch))
    }
}
