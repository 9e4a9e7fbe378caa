//! A copy as a transfer: what is checked before it, where its checkpoint is, and the comparison after it.

use std::collections::HashMap;
use std::future::pending;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};

use super::report::{CopyError, CopyFindings, CopyReport, Reason};
use super::{CopyTo, Settings, checkpoint};
use crate::client::{Error, Family, Granularity, Mutations, TableInfo};
use crate::key::ShownKey;
use crate::table::handle::WriteScope;
use crate::table::reserved::is_reserved;
use crate::table::transfer::{
    CellCopy, Checked, Engine, Every, Examined, Mapping, Paced, PartsLeft, Puts, Reporter, Sink, Store,
    TableRows, Tracker, TransferError, Watched, compare, first_row,
};
use crate::table::watch::WatchedTable;
use crate::table::{UntypedTable, registered_row_types};

pub(super) async fn run(copy: CopyTo<'_>) -> Result<CopyReport, CopyError> {
    let CopyTo { mut mapping, settings, checkpoint: path, mut stop, on_progress } = copy;
    wait_out_outages(&mut mapping);
    let mut report = CopyReport::of(&mapping);
    let mut reporter = Reporter::new(on_progress);
    let begun = begin(&mapping, &settings, path.as_deref(), true).await;
    let Begun { starts, aggregates, checkpoint } = match begun {
        Ok(begun) => begun,
        Err(error) => return end(report, reporter, Some(Reason::NotStarted(error))),
    };
    let (done, path) = (checkpoint.done(), path.as_deref());
    let store: Option<Store<'_>> = path.map(|path| -> Store<'_> {
        Box::new(move |done| {
            let stored = checkpoint::store(path, checkpoint.at(done));
            stored.map_err(|error| TransferError::NotStored { path: path.to_owned(), error })
        })
    });
    let rows = TableRows::new(&mapping, done.windows(), settings.parallel, cells(aggregates));
    let mut rows = Box::pin(rows.at_most(settings.at_most, done.moved()).until(stop.as_mut()));
    let tracker = Tracker::new(reporter, done, None, Every::Rows(settings.checkpoint_every), store);
    let watched = Arc::new(WatchedTable::new(&mapping.new));
    let puts = Watched::new(Puts(mapping.new.clone()), Arc::clone(&watched));
    let mut limits = settings.engine;
    let sink: Arc<dyn Sink> = match settings.rate {
        Some(rate) => {
            // A copy that is stopped writes what it has read ahead, in less than a second.
            let rows = usize::try_from(rate.get().div_ceil(4)).unwrap_or(usize::MAX);
            for limit in [&mut limits.limits, &mut limits.in_flight, &mut limits.look_ahead] {
                limit.rows = limit.rows.min(rows);
            }
            Arc::new(Paced::new(puts, rate))
        }
        None => Arc::new(puts),
    };
    let engine = Engine::new(limits, tracker, starts, sink);
    let (tracker, mut error) = engine.run(rows.as_mut()).await;
    drop(rows);
    // Rows in a table that is not read count for more than why the copy ended.
    if let Err(moved) = watched.end().await {
        error = Some(TransferError::Failed(moved));
    }
    (report.copied, report.left_out) = (tracker.done.moved(), tracker.done.left_out());
    reporter = tracker.reporter;
    if error.is_some() || !settings.verifies {
        return end(report, reporter, error.map(Reason::Stopped));
    }
    let compared = {
        let comparison = pin!(compare(&mapping, settings.diff, None, &mut reporter));
        let stopped = stop.unwrap_or_else(|| Box::pin(pending()));
        match select(comparison, stopped).await {
            Either::Left((compared, _)) => Some(compared),
            Either::Right(_) => None,
        }
    };
    let Some(compared) = compared else {
        return end(report, reporter, Some(Reason::Stopped(TransferError::Stopped)));
    };
    let reason = match compared {
        Ok(diff) => {
            let is_equal = diff.is_equal();
            report.diff = Some(diff);
            (!is_equal).then_some(Reason::Differs)
        }
        Err(error) => Some(Reason::NotCompared(error)),
    };
    end(report, reporter, reason)
}

/// Reads what the copy would read.
pub(super) async fn check(copy: CopyTo<'_>) -> Result<CopyFindings, CopyError> {
    let CopyTo { mut mapping, settings, checkpoint: path, stop: _, on_progress } = copy;
    wait_out_outages(&mut mapping);
    let mut reporter = Reporter::new(on_progress);
    let found = async {
        let Begun { aggregates, checkpoint, .. } = begin(&mapping, &settings, path.as_deref(), false).await?;
        let routes = [&mapping.old.name, &mapping.new.name];
        let (cells, keys) = (cells(aggregates), &*mapping.keys);
        let examined = Examined { table: &mapping.old, keys, cells: &cells, routes, compares_keys: true };
        let parts = checkpoint.done().windows();
        let checked = examined.check(parts, settings.parallel, &mut reporter).await?;
        let Checked { rows, cells, request_bytes: bytes, left_out, faulty, .. } = checked;
        let Checked { collisions, has_uncompared_keys, faults, .. } = checked;
        let copied = checkpoint.copied();
        Ok(CopyFindings {
            rows,
            cells,
            bytes,
            left_out,
            copied,
            faulty,
            collisions,
            has_uncompared_keys,
            faults,
        })
    };
    let found = found.await;
    found.map_err(|error| {
        let report = CopyReport { progress: reporter.progress, ..CopyReport::of(&mapping) };
        CopyError { report: Box::new(report), reason: Reason::NotStarted(error) }
    })
}

/// A copy waits out an outage.
fn wait_out_outages(mapping: &mut Mapping<'_>) {
    for table in [&mut mapping.old, &mut mapping.new] {
        *table = table.with_client(table.client.with(|settings| settings.retry_budget = false));
    }
}

fn cells(aggregates: HashMap<String, Arc<str>>) -> CellCopy {
    let remedy = ", write it by hand, or leave it out: return `None`";
    CellCopy::new(Mutations::default(), aggregates, remedy)
}

fn end(
    report: CopyReport,
    mut reporter: Reporter<'_>,
    reason: Option<Reason>,
) -> Result<CopyReport, CopyError> {
    reporter.report();
    let report = CopyReport { progress: reporter.progress, ..report };
    match reason {
        None => Ok(report),
        Some(reason) => Err(CopyError { report: Box::new(report), reason }),
    }
}

/// What a copy begins with.
struct Begun {
    /// Where the partitions of the new table begin.
    starts: Vec<Vec<u8>>,
    aggregates: HashMap<String, Arc<str>>,
    checkpoint: PartsLeft,
}

/// Checks both tables and the checkpoint.
async fn begin(
    mapping: &Mapping<'_>,
    settings: &Settings,
    path: Option<&Path>,
    writes: bool,
) -> Result<Begun, Error> {
    let Mapping { old, new, .. } = mapping;
    old.ensure_fits(WriteScope::Nothing).await?;
    new.check_reads_copied(old).await?;
    match writes {
        true => new.ensure_fits(WriteScope::Rows).await?,
        false => new.ensure_fits(WriteScope::Nothing).await?,
    }
    let old_info = old.client.table_info(&old.name).await?;
    let new_info = new.client.table_info(&new.name).await?;
    check_distinct(old, new)?;
    let aggregates = check_families(&old_info, &new_info)?;
    let starts = new.partition_starts().await?;
    let stored = path.map(checkpoint::read).transpose()?.flatten();
    let checkpoint = match (stored, path) {
        (Some(stored), Some(path)) => {
            check_checkpoint(mapping, &stored, path)?;
            check_resumed(new, &stored, path).await?;
            stored
        }
        _ => {
            if !settings.allows_existing {
                check_empty(new).await?;
            }
            PartsLeft::new(mapping, old.partitions().await?)
        }
    };
    // After all that may refuse the copy, and before its first cell.
    if writes {
        let [of_old, of_new] = [(old, &old_info), (new, &new_info)]
            .map(|(table, info)| (&table.client, &table.name, table.key, info));
        Box::pin(registered_row_types::carry_row_types(of_old, of_new)).await?;
    }
    Ok(Begun { starts, aggregates, checkpoint })
}

/// Fails if both tables are one, and a key does not show which type it has. A request must have shown that they exist.
fn check_distinct(old: &UntypedTable, new: &UntypedTable) -> Result<(), Error> {
    let is_one = old.client.target() == new.client.target()
        && old.client.table_name(&old.name) == new.client.table_name(&new.name)
        && old.client.table_id(&old.name) == new.client.table_id(&new.name);
    let are_apart = match (old.key.schema().tag(), new.key.schema().tag()) {
        (Some(old), Some(new)) => old != new,
        _ => false,
    };
    match is_one && !are_apart {
        false => Ok(()),
        true => Err(Error::definition(
            &new.name,
            "both tables are this one; name another table, or give each key type a tag of its own, \
             `#[row_key(tag = \"…\")]`",
        )),
    }
}

/// Fails if the checkpoint is of other tables or key types.
fn check_checkpoint(mapping: &Mapping<'_>, checkpoint: &PartsLeft, path: &Path) -> Result<(), Error> {
    let Some((table, fault)) = checkpoint.fault(mapping) else { return Ok(()) };
    let path = path.display();
    Err(Error::mismatch(
        &table.name,
        format!(
            "the checkpoint `{path}` {fault}; to copy from the beginning, delete the file, or name another one"
        ),
    ))
}

/// Fails unless the new table can keep each timestamp of the old one, and has each of its families, of the same kind and with the same
/// rule. Returns the families of aggregates.
fn check_families(old: &TableInfo, new: &TableInfo) -> Result<HashMap<String, Arc<str>>, Error> {
    let mismatch = |text: String| Error::mismatch(new.name(), text);
    let families = || old.families().iter().filter(|family| !is_reserved(family.name()));
    if (old.granularity(), new.granularity()) == (Granularity::Micros, Granularity::Millis) {
        let fault = mismatch(format!(
            "its timestamps are whole milliseconds, and those of table `{}` whole microseconds, which it would reject",
            old.name(),
        ));
        return Err(fault.with_remedy("create it again with `.granularity(Granularity::Micros)`"));
    }
    for family in families() {
        let name = family.name();
        let Some(other) = new.family(name) else {
            let (old, has) = (old.name(), new.family_names());
            let fault =
                mismatch(format!("it lacks the column family `{name}` of table `{old}`; it has {has}"));
            return Err(
                fault.with_remedy("add it to the table with `modify_families` and `FamilyChange::add`")
            );
        };
        if family.cells() != other.cells() {
            return Err(mismatch(format!(
                "the column family `{name}` is of another type than in table `{}`: expected `{}`, found `{}`; a family keeps its \
                 type, so create the table again",
                old.name(),
                family.cells(),
                other.cells(),
            )));
        }
        if !family.gc_rule().is_same(other.gc_rule()) {
            let fault = mismatch(format!(
                "the garbage collection rule of the column family `{name}` is not that of table `{}`: expected `{}`, found `{}`",
                old.name(),
                family.gc_rule(),
                other.gc_rule(),
            ));
            return Err(fault.with_remedy(
                "change it with `modify_families` and `FamilyChange::gc_rule`, if need be after the copy",
            ));
        }
    }
    let names = families().filter(|family| family.is_aggregate()).map(Family::name);
    Ok(names.map(|name| (name.to_owned(), name.into())).collect())
}

/// Fails if the new table has a row of its key type.
async fn check_empty(new: &UntypedTable) -> Result<(), Error> {
    match first_row(new).await? {
        None => Ok(()),
        Some(row) => Err(Error::mismatch(
            &new.name,
            format!(
                "it has rows, such as {}, which would stay beside the copied ones",
                ShownKey(row.key())
            ),
        )
        .with_remedy(
            "copy to an empty table, resume an earlier copy by its `.checkpoint(…)`, or accept the rows with `.allow_existing()`",
        )),
    }
}

/// Fails if the new table has lost the rows that a checkpoint counts: a table that was created again has the same name.
async fn check_resumed(new: &UntypedTable, checkpoint: &PartsLeft, path: &Path) -> Result<(), Error> {
    if checkpoint.copied() == 0 || first_row(new).await?.is_some() {
        return Ok(());
    }
    Err(Error::mismatch(
        &new.name,
        format!(
            "it has no row, and the checkpoint `{}` counts {} rows that were copied to it: the table was created again, or its rows \
             were dropped; delete the file to copy all rows",
            path.display(),
            checkpoint.copied(),
        ),
    ))
}
