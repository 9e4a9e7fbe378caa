//! `copy`: all rows of a table to another one, under the keys of its layout.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use keyderive::dynamic::KeyMapping;
use keyderive::table::copy::{CopyError, CopyFindings, CopyReport, CopyTo};
use keyderive::table::{DynTable, Progress};
use keyderive::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

use super::block_on;
use crate::change::{ChangeArgs, ResumeFile, Stop, check_distinct, counted, is_agreed, name_production};
use crate::exit::{Exit, Failure, Outcome};
use crate::layout::verify_keys;
use crate::output::{self, Meter, Out, Safe, TextFormat, json_line};
use crate::pair::{PairArgs, Tables, ToInstance, note_dropped};

/// Copy all rows of a table to another one, under new keys
///
///     keyderive copy events events-64
///     keyderive copy events user-events --map 'user=user_id' --yes --resume copy.progress
///
/// Rows are copied with every cell: all versions of all columns, with their times. The new table must exist, and have no rows. Without
/// `--yes` the command reads the old table, and says what it would copy and which rows it could not; on a terminal it asks then. After
/// the copy it compares both tables, and exits with 1 if they differ.
///
/// With a row whose key is not of the old layout it copies nothing: `keyderive verify` finds such rows, and `keyderive delete --raw` deletes
/// them. `keyderive diff` lists them, and compares the others.
///
/// Stop the writers of the old table. Beside writers: `--yes` first counts, and then copies at most as many rows; if there are more it
/// stops, with exit code 3. A row that is written while the command runs is copied or not, and the comparison finds it if it is not.
///
/// Ctrl-C stops the command after the rows that it has read, and `--resume` goes on from there. A killed command goes on by it too: rows
/// that it had not counted are copied again, each whole. The ranges of keys that are not copied yet are in a second file, with `.rows`
/// added to the name of the first.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Copy {
    #[command(flatten)]
    pair: PairArgs,
    #[command(flatten)]
    to: ToInstance,
    #[command(flatten)]
    change: ChangeArgs,
    /// Copy also the rows that were written since they were counted, and do not count them
    #[arg(long, requires = "yes")]
    any_number: bool,
    /// Copy also if the new table has rows: they stay, and the comparison finds them
    #[arg(long)]
    allow_existing: bool,
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

/// The arguments that a resumed command must repeat.
#[derive(Serialize)]
struct Arguments<'a> {
    table: &'a str,
    bigtable: String,
    key_type: String,
    new: &'a str,
    new_bigtable: String,
    new_key_type: String,
    map: String,
}

/// How far the command is; the rows are in a file of the library.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// How many rows may be copied; none for any number.
    announced: Option<u64>,
    rows: u64,
    is_done: bool,
}

/// What was found, or done.
#[derive(Debug, Default, Serialize)]
struct Numbers {
    is_copied: bool,
    /// Whether nothing is copied, since some of these rows cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_refused: Option<bool>,
    /// In all runs.
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<u64>,
    /// Of the requests; after a copy, of this run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    faulty: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collisions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<u64>,
}

impl Copy {
    pub(crate) fn run(self) -> Outcome {
        let rows_file = self.change.resume.as_deref().map(rows_file);
        check_distinct([("--resume", self.change.resume.as_deref()), ("its rows", rows_file.as_deref())])?;
        block_on(async {
            let tables = self.pair.open(&self.to).await?;
            let mapping = self.pair.mapping(&tables.layouts)?;
            for (client, layout) in tables.clients.iter().zip(&tables.layouts) {
                verify_keys(client, layout).await?;
            }
            let arguments = self.arguments(&tables, &mapping);
            let (file, state) = ResumeFile::open::<State>(self.change.resume.as_deref(), "copy", &arguments)?;
            if let (None, Some(path)) = (&state, rows_file.as_deref().filter(|path| path.exists())) {
                return Err(Failure::refused(format_args!(
                    "`{}` is of a copy whose file of `--resume` is gone; delete it to begin anew, or name another file",
                    path.display()
                )));
            }
            let is_new = state.is_none();
            let mut state: State = state.unwrap_or_default();
            name_production(&tables.targets[1]);
            if state.is_done {
                output::note(
                    "nothing was done now: the file of `--resume` says that an earlier run has done it; name another file to begin anew",
                );
                return self.print(&Numbers { is_copied: true, rows: state.rows, ..Numbers::default() });
            }
            note_dropped(&mapping);
            let [old, new] = tables.tables();
            let copy = || self.copy(&old, &new, &mapping, rows_file.as_deref());
            if !self.change.yes {
                let found = measure(copy()?).await?;
                let exit = self.print_found(&found, is_new)?;
                if !found.is_ok() {
                    output::note(match is_new {
                        true => "nothing was changed, and `--yes` copies nothing while there are such rows",
                        false => "nothing was changed: the command would end at the first of these rows",
                    });
                    return Ok(exit);
                }
                if !is_agreed(&tables.targets[1], "Copy them?")? {
                    return Ok(exit);
                }
                state.announced = state.announced.or(Some(found.copied + found.rows));
            } else if self.any_number {
                state.announced = None;
            } else if is_new {
                let found = measure(copy()?).await?;
                if !found.is_ok() {
                    self.print_found(&found, is_new)?;
                    return Err(Failure::refused("nothing was copied, since some of these rows cannot be"));
                }
                state.announced = Some(found.copied + found.rows);
            }
            file.store(&state)?;
            // Before, Ctrl-C ends the process.
            let (mut stop, mut meter) = (Stop::listen(), Meter::new("copied"));
            let mut running = copy()?
                .on_progress(|progress: &Progress| tell(&mut meter, progress))
                .stop_on(async move { stop.asked().await });
            if let Some(rows) = state.announced {
                running = running.at_most(rows);
            }
            if let Some(rate) = self.change.rate {
                running = running.rate(rate);
            }
            let ended = running.await;
            meter.finish();
            let so_far = |rows: u64| {
                let of = state.announced.map_or_else(String::new, |announced| format!(" of {announced}"));
                format!("copied {}{of}; {}", counted(rows, "row"), self.change.how_to_go_on())
            };
            match ended {
                Ok(report) => {
                    state = State { rows: report.copied(), is_done: true, ..state };
                    file.store(&state)?;
                    self.print_done(&report)
                }
                Err(error) if error.is_difference() => self.print_done(error.report()),
                Err(error) => Err(failure(&error, &state).after(so_far(error.report().copied()))),
            }
        })
    }

    fn arguments<'a>(&'a self, tables: &Tables, mapping: &KeyMapping) -> Arguments<'a> {
        let [old_key_type, new_key_type] =
            tables.layouts.each_ref().map(|layout| layout.key().schema().fingerprint().to_string());
        Arguments {
            table: &self.pair.old.table,
            bigtable: tables.targets[0].to_string(),
            key_type: old_key_type,
            new: &self.pair.new,
            new_bigtable: tables.targets[1].to_string(),
            new_key_type,
            map: mapping.to_string(),
        }
    }

    fn copy<'a>(
        &self,
        old: &DynTable,
        new: &DynTable,
        mapping: &KeyMapping,
        rows_file: Option<&Path>,
    ) -> Outcome<CopyTo<'a>> {
        let mut copy = old.copy_to(new, mapping)?.checkpoint_every(self.change.kept_every());
        if let Some(path) = rows_file {
            copy = copy.checkpoint(path);
        }
        Ok(if self.allow_existing { copy.allow_existing() } else { copy })
    }

    /// Prints what was found. A copy that was begun copies the rows up to the first that cannot be copied.
    fn print_found(&self, found: &CopyFindings, is_new: bool) -> Outcome {
        for fault in found.faults.iter().take(10) {
            output::note(format_args!("cannot be copied: {fault}"));
        }
        if found.has_uncompared_keys {
            output::note(
                "there are more rows than those whose new keys were compared: two may have one, which the copy would find",
            );
        }
        self.print(&Numbers {
            is_copied: false,
            is_refused: (is_new && !found.is_ok()).then_some(true),
            rows: found.copied + found.rows,
            cells: Some(found.cells),
            bytes: Some(found.bytes),
            faulty: Some(found.faulty),
            collisions: Some(found.collisions),
            ..Numbers::default()
        })
    }

    fn print_done(&self, report: &CopyReport) -> Outcome {
        let exit = self.print(&Numbers {
            is_copied: true,
            rows: report.copied(),
            cells: report.diff().map(keyderive::table::diff::TableDiff::cells),
            bytes: Some(report.progress().bytes),
            requests: Some(report.progress().requests),
            differences: report.diff().map(keyderive::table::diff::TableDiff::different),
            ..Numbers::default()
        })?;
        if let Some(diff) = report.diff() {
            diff.to_string().lines().for_each(output::note);
        }
        Ok(exit)
    }

    /// Prints the numbers.
    fn print(&self, numbers: &Numbers) -> Outcome {
        let Numbers { is_copied, is_refused, rows, cells, bytes, requests, faulty, collisions, differences } =
            numbers;
        let mut out = Out::new();
        if self.format.is_json() {
            json_line(&mut out, numbers)?;
        } else {
            let verb = match (is_copied, is_refused) {
                (true, _) => "copied",
                (false, None) => "would copy",
                (false, Some(_)) => "refuses to copy",
            };
            let (old, new) = (Safe(&self.pair.old.table), Safe(&self.pair.new));
            write!(out, "{verb} {} of `{old}` to `{new}`", counted(*rows, "row"))?;
            if let Some(cells) = cells {
                write!(out, ", {}", counted(*cells, "cell"))?;
            }
            match (bytes, requests) {
                (Some(bytes), Some(requests)) => {
                    let (bytes, requests) = (counted(*bytes, "byte"), counted(*requests, "request"));
                    write!(out, "; in this run {bytes} as sent, by {requests}")?;
                }
                (Some(bytes), None) => write!(out, ", {} as sent", counted(*bytes, "byte"))?,
                _ => {}
            }
            for (count, what) in [(faulty, "cannot be copied"), (collisions, "with the key of another one")] {
                if let Some(count) = count.filter(|count| *count > 0) {
                    write!(out, "; {} {what}", counted(count, "row"))?;
                }
            }
            writeln!(out)?;
        }
        out.finish()?;
        Ok(Exit::found([faulty, collisions, differences].into_iter().flatten().any(|count| *count > 0)))
    }
}

/// The file in which the library keeps which rows are left.
fn rows_file(resume: &Path) -> PathBuf {
    let mut path = OsString::from(resume);
    path.push(".rows");
    path.into()
}

async fn measure(copy: CopyTo<'_>) -> Outcome<CopyFindings> {
    let mut meter = Meter::new("found");
    let found = copy.on_progress(|progress: &Progress| meter.rows(progress.compared)).check().await;
    found.map_err(|error| failure(&error, &State::default()))
}

fn tell(meter: &mut Meter, progress: &Progress) {
    match progress.compared + progress.counted {
        0 => meter.rows_of(progress.written, progress.read),
        compared => meter.rows_as("compared", compared),
    }
}

fn failure(error: &CopyError, state: &State) -> Failure {
    if let (true, Some(announced)) = (error.is_above_limit(), state.announced) {
        return Failure::refused(format_args!(
            "there are more rows than the {announced} that were announced: somebody writes; `--any-number` copies them too"
        ));
    }
    if error.is_stopped() {
        return Failure::failed("stopped");
    }
    let exit = match error.error() {
        Some(cause) => Failure::from(cause.clone()).exit,
        None if error.is_collision() => Exit::Refused,
        None => Exit::Failed,
    };
    let failure = Failure::of(exit, format_args!("{error:#}"));
    match error.error().map(Error::kind) {
        Some(ErrorKind::TableMismatch) => failure.help(MISMATCH),
        _ => failure,
    }
}

const MISMATCH: &str = "`--allow-existing` copies beside the rows that the new table has, and `--resume FILE` goes on with an earlier copy, whose \
                        file it is; `keyderive status` shows what the families of a table are, and `keyderive apply` makes them those of the \
                        layout file";
