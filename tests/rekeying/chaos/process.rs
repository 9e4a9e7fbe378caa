//! A process of a run: a writer, a reader, a scanner or a driver, until it is killed or the run ends.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyderive::client::Settings;
use keyderive::table::Rows;
use keyderive::table::rekey::{Pair, Rekeyed};
use keyderive::{Client, Error, Scan};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::calls::{Caller, Record as _, each_of_rows};
use super::history::{Journal, Journals, initial};
use super::rows::{Event, Part, USERS};
use crate::calls::{New, Old};

/// How many rows get most of the operations. A run over many rows takes longer, and a history of too many operations on one row
/// cannot be decided.
fn hot(rows: u64) -> u64 {
    6 * rows.div_ceil(50_000)
}
/// As many rows beside those at first are written, one in so many.
pub(super) const NEW_ROWS: u64 = 10;

type Events = Rekeyed<Old, New, Event>;

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Writer,
    Reader,
    Scanner,
    Driver,
}

/// What each process is, by its slot.
pub(super) const ROLES: [Role; 10] = [
    Role::Writer,
    Role::Writer,
    Role::Writer,
    Role::Writer,
    Role::Reader,
    Role::Reader,
    Role::Scanner,
    Role::Scanner,
    Role::Driver,
    Role::Driver,
];

/// Where a driver goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Goal {
    Moved,
    New,
    RolledBack,
}

/// What a process receives from its parent, in a variable of the environment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) folder: PathBuf,
    /// Its proxy.
    pub(super) host: String,
    pub(super) slot: usize,
    pub(super) incarnation: u64,
    pub(super) seed: u64,
    pub(super) rows: u64,
    pub(super) goal: Goal,
}

const VARIABLE: &str = "KEYDERIVE_REKEYING_CHILD";

impl Orders {
    pub(super) fn variable(&self) -> (&'static str, String) {
        (VARIABLE, serde_json::to_string(self).unwrap())
    }

    /// Those of this process, if it is a child.
    fn received() -> Option<Self> {
        Some(serde_json::from_str(&std::env::var(VARIABLE).ok()?).unwrap())
    }

    pub(super) fn journal(&self) -> PathBuf {
        journal(&self.folder, self.slot)
    }

    fn is_over(&self) -> bool {
        self.folder.join("stop").exists()
    }
}

pub(super) fn journal(folder: &std::path::Path, slot: usize) -> PathBuf {
    folder.join(format!("{slot}.journal"))
}

/// The file by which a driver reports that it has reached its goal.
pub(super) fn arrived(folder: &std::path::Path, goal: Goal) -> PathBuf {
    folder.join(format!("arrived-{goal:?}"))
}

/// Runs in a child.
#[tokio::test]
async fn runs_until_it_is_killed() {
    let Some(orders) = Orders::received() else { return };
    let mut journal = Journal::open(&orders.journal(), orders.incarnation);
    let events = loop {
        if orders.is_over() {
            return;
        }
        match open(&orders).await {
            Ok(events) => break events,
            Err(error) => journal.failed(&error),
        }
        sleep(Duration::from_millis(50)).await;
    };
    let rng = Rng::with_seed(orders.seed ^ (orders.slot as u64) << 8 ^ orders.incarnation << 16);
    let (role, slot) = (ROLES[orders.slot], u8::try_from(orders.slot).unwrap());
    let mut before = Journals::default();
    if role == Role::Writer {
        before.add(orders.slot, &orders.journal());
    }
    // The numbers after it are those of this process alone.
    let last = 1 << 31 | u32::from(slot) << 28 | u32::try_from(orders.incarnation).unwrap() << 20;
    let caller = Caller::new(events, journal, rng, (slot, last), before.increments);
    match role {
        Role::Writer => write(&orders, caller).await,
        Role::Reader => read(&orders, caller).await,
        Role::Scanner => scan(&orders, caller).await,
        Role::Driver => drive(&orders, caller).await,
    }
}

async fn open(orders: &Orders) -> Result<Events, Error> {
    let slot = orders.slot;
    let client =
        Client::builder().settings(move |settings| hasty(settings, slot)).emulator(&orders.host).await?;
    client.rekeyed("events", "events-16").await
}

/// Calls that time out soon, so that some fail while their requests are in flight. Half of the writers do not wait for the next
/// state.
fn hasty(settings: &mut Settings, slot: usize) {
    let seconds = Duration::from_secs;
    let total = if slot.is_multiple_of(2) { seconds(20) } else { seconds(2) };
    each_of_rows(settings, |call| {
        call.attempt_timeout = Duration::from_millis(300);
        call.total_timeout = total;
        call.max_attempts = 3;
        call.backoff.initial = Duration::from_millis(2);
    });
    if ROLES[slot] == Role::Driver {
        settings.check_and_mutate_row.attempt_timeout = seconds(2);
    }
    settings.read_rows.idle_timeout = seconds(3);
    settings.read_rows.attempt_timeout = seconds(60);
    settings.read_rows.total_timeout = seconds(60);
    settings.admin.attempt_timeout = seconds(3);
    settings.admin.total_timeout = seconds(10);
}

/// A process with its journal.
type Process = Caller<New, Pair<Old>, Journal>;

fn written_row(orders: &Orders, rng: &mut Rng) -> u64 {
    match rng.u8(..10) {
        0..7 => rng.u64(..hot(orders.rows)),
        // Rows that are there at first, and rows that are not.
        _ => {
            let at = rng.u64(..orders.rows / NEW_ROWS);
            if rng.bool() { hot(orders.rows) + at * 5 } else { orders.rows + at }
        }
    }
}

async fn write(orders: &Orders, mut caller: Process) {
    while !orders.is_over() {
        let at = written_row(orders, &mut caller.rng);
        match caller.rng.u8(..20) {
            0..5 => caller.put(at).await,
            5..8 => caller.set(at).await,
            8..12 => caller.increment(at).await,
            12..15 => caller.delete(at).await,
            15..17 => caller.claim(at).await,
            17 => caller.swap(at).await,
            of_many => {
                let count = caller.rng.usize(2..7);
                let ats: HashSet<u64> = (0..count).map(|_| written_row(orders, &mut caller.rng)).collect();
                match of_many {
                    18 => caller.put_all(ats).await,
                    _ => caller.put_in_background(&ats.into_iter().collect::<Vec<_>>()).await,
                }
            }
        }
        sleep(Duration::from_micros(caller.rng.u64(..6_000))).await;
    }
}

async fn read(orders: &Orders, mut caller: Process) {
    while !orders.is_over() {
        let at = match caller.rng.u8(..5) {
            0..4 => caller.rng.u64(..hot(orders.rows)),
            _ => caller.rng.u64(..orders.rows + orders.rows / NEW_ROWS),
        };
        match caller.rng.u8(..10) {
            0..7 => drop(caller.get(at).await),
            7 => caller.exists(at).await,
            _ => {
                let any = caller.rng.u64(..orders.rows);
                caller.get_many(&(0..hot(orders.rows)).chain([any]).collect::<Vec<_>>()).await;
            }
        }
        sleep(Duration::from_micros(caller.rng.u64(..4_000))).await;
    }
}

async fn scan(orders: &Orders, Process { events, record: mut journal, mut rng, .. }: Process) {
    while !orders.is_over() {
        // A scanner is killed before it has read all of a large table.
        let part = (rng.u8(..3) > 0).then(|| Part::random(orders.rows, &mut rng));
        let n = journal.scan(part);
        let new = match part {
            None => New::scan().into_plan(),
            Some(Part { user, first, end }) => New::scan().user(USERS[user]).at_range(first..end).into_plan(),
        };
        let old = match part {
            None => Old::scan().into_plan(),
            Some(Part { user, first, end }) => Old::scan().user(USERS[user]).at_range(first..end).into_plan(),
        };
        let (is_reversed, is_ordered) = (rng.bool(), rng.u8(..3) > 0);
        let (is_by_one, page) = (rng.bool(), rng.u64(1..200));
        let scan = || {
            let scan = match is_by_one {
                true => events.scan(new.clone()),
                false => events.scan_both(new.clone(), old.clone()),
            };
            let scan = if is_reversed { scan.reversed() } else { scan };
            if is_ordered { scan } else { scan.unordered() }
        };
        let mut rows = match is_ordered && rng.bool() {
            true => ScannedRows::Pages { rest: Vec::new().into_iter(), next: Some(None) },
            false => ScannedRows::Stream(Box::new(scan().stream())),
        };
        let (mut seen, mut last, mut count) = (HashSet::new(), None::<New>, 0);
        let ended = loop {
            if orders.is_over() {
                return;
            }
            let (key, event) = match rows.next(&scan, page).await {
                None => break Ok(()),
                Some(Ok(row)) => row,
                Some(Err(error)) => break Err(error),
            };
            count += 1;
            let at = key.at;
            if part.is_some_and(|part| !part.contains(at)) {
                journal.fault(format!("a scan of {part:?} gave the row {at}"));
            }
            if !seen.insert(at) {
                journal.fault(format!("a scan gave the row {at} twice"));
            }
            if is_ordered
                && last.as_ref().is_some_and(|last| if is_reversed { *last <= key } else { *last >= key })
            {
                journal.fault(format!("a scan gave {key:?} after {last:?}"));
            }
            last = Some(key);
            match event.state(at) {
                Ok(state) if state == initial(at, orders.rows) => {}
                Ok(state) => journal.scanned(n, at, state),
                Err(text) => journal.fault(text),
            }
        };
        let is_missing = |at: &u64| !seen.contains(at) && part.is_none_or(|part| part.contains(*at));
        match ended {
            Ok(()) => journal.ended(n, count, (0..orders.rows).filter(is_missing)),
            Err(error) => journal.failed(&error),
        }
        sleep(Duration::from_millis(rng.u64(..60 + orders.rows / 20))).await;
    }
}

/// The rows of a scan, as they come or in pages.
enum ScannedRows {
    Stream(Box<Rows<New, Event, Pair<Old>>>),
    Pages {
        rest: std::vec::IntoIter<(New, Event)>,
        /// The token of the next page, which the first one does without.
        next: Option<Option<String>>,
    },
}

impl ScannedRows {
    async fn next(
        &mut self,
        scan: &impl Fn() -> Scan<New, Event, Pair<Old>>,
        size: u64,
    ) -> Option<Result<(New, Event), Error>> {
        match self {
            Self::Stream(rows) => rows.next().await,
            Self::Pages { rest, next } => loop {
                if let Some(row) = rest.next() {
                    return Some(Ok(row));
                }
                let token = next.take()?;
                match token.iter().fold(scan(), |scan, token| scan.after(token)).page(size).await {
                    Ok(page) => (*rest, *next) = (page.rows.into_iter(), page.next.map(Some)),
                    Err(error) => return Some(Err(error)),
                }
            },
        }
    }
}

async fn drive(orders: &Orders, Process { events, record: mut journal, .. }: Process) {
    let goal = orders.goal;
    let progress = orders.folder.join(format!("{}.progress", orders.slot));
    let progress = Mutex::new(OpenOptions::new().append(true).create(true).open(progress).unwrap());
    let progress = Arc::new(progress);
    // For people, if the run does not end.
    let driver = || {
        let progress = Arc::clone(&progress);
        events.migration().lease(super::LEASE).on_progress(move |now| {
            let _ = writeln!(progress.lock().unwrap(), "{now}");
        })
    };
    loop {
        let driven = match goal {
            Goal::Moved => driver().run().await,
            Goal::New => match driver().run().await {
                Ok(()) => driver().finish().await,
                Err(error) => Err(error),
            },
            Goal::RolledBack => driver().roll_back().await,
        };
        match driven {
            Ok(()) => break,
            Err(error) if error.is_retryable() || error.is_outcome_unknown() => journal.failed(&error),
            // The other driver may go elsewhere; the run decides whether one has come to its goal.
            Err(error) => {
                let text = error.to_string().chars().take(300).collect::<String>();
                journal.note(format_args!("a driver to `{goal:?}`: {text}"));
            }
        }
        sleep(Duration::from_millis(100)).await;
        if orders.is_over() {
            return;
        }
    }
    std::fs::write(arrived(&orders.folder, goal), "").unwrap();
    while !orders.is_over() {
        sleep(Duration::from_millis(20)).await;
    }
}
