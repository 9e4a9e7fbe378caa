//! What the processes of a run have done: each appends lines to a file of its own before it sends and after it was answered, so that
//! nothing is lost when it is killed.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use keyderive::Error;
use keyderive_tests::history::History;
use keyderive_tests::linearizable::{Op, Operation, Outcome, Row};
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::calls::{INITIAL, Record, is_transient};
use super::rows::Part;

/// Nanoseconds of the clock that all processes of a machine share.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    u64::try_from(time.tv_sec()).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap()
}

/// The row at first.
pub(super) fn initial(at: u64, rows: u64) -> Row {
    if at < rows { Row::of(INITIAL) } else { Row::NONE }
}

/// A line of a journal. Calls and scans of a process have numbers of their own.
#[derive(Serialize, Deserialize)]
enum Line {
    Begin {
        time: u64,
        n: u64,
        at: u64,
        op: Op,
    },
    End {
        time: u64,
        n: u64,
        outcome: Outcome,
    },
    Void {
        n: u64,
    },
    /// A scan of the whole table, or of a part of it.
    Scan {
        time: u64,
        n: u64,
        part: Option<Part>,
    },
    /// A row of a scan that is not as it was at first.
    Scanned {
        time: u64,
        n: u64,
        at: u64,
        row: Row,
    },
    /// A row that a scan did not give.
    Missing {
        n: u64,
        at: u64,
    },
    /// The scan has given all its rows, so many.
    Ended {
        time: u64,
        n: u64,
        rows: u64,
    },
    /// What must not happen.
    Fault(String),
    /// What may happen, and is counted.
    Note(String),
}

/// What a process appends to.
pub(super) struct Journal {
    file: File,
    next: u64,
}

impl Journal {
    pub(super) fn open(path: &Path, incarnation: u64) -> Self {
        let file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        Self { file, next: incarnation << 32 }
    }

    /// In one write, which a kill does not tear.
    fn line(&mut self, line: &Line) {
        let line = serde_json::to_string(line).unwrap();
        self.file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn scan(&mut self, part: Option<Part>) -> u64 {
        let n = self.number();
        self.line(&Line::Scan { time: now(), n, part });
        n
    }

    pub(super) fn scanned(&mut self, n: u64, at: u64, row: Row) {
        self.line(&Line::Scanned { time: now(), n, at, row });
    }

    /// The scan has given all its rows, without these.
    pub(super) fn ended(&mut self, n: u64, rows: u64, missing: impl IntoIterator<Item = u64>) {
        let time = now();
        for at in missing {
            self.line(&Line::Missing { n, at });
        }
        self.line(&Line::Ended { time, n, rows });
    }

    pub(super) fn note(&mut self, text: impl fmt::Display) {
        self.line(&Line::Note(text.to_string()));
    }
}

impl Record for Journal {
    fn begin(&mut self, at: u64, op: Op) -> u64 {
        let n = self.number();
        self.line(&Line::Begin { time: now(), n, at, op });
        n
    }

    fn end(&mut self, n: u64, outcome: Outcome) {
        self.line(&Line::End { time: now(), n, outcome });
    }

    fn void(&mut self, n: u64) {
        self.line(&Line::Void { n });
    }

    fn failed(&mut self, error: &Error) {
        if is_transient(error) {
            self.note(error.redacted().to_string().chars().take(100).collect::<String>());
        } else {
            self.fault(error.to_string());
        }
    }

    fn fault(&mut self, text: String) {
        self.line(&Line::Fault(text));
    }
}

/// A scan, as it was recorded.
#[derive(Default)]
struct ScanRecord {
    /// `None` for the whole table.
    part: Option<Part>,
    begin: u64,
    end: Option<u64>,
    /// Of the rows that are not as they were at first: when each was given.
    rows: Vec<(u64, u64, Row)>,
    missing: Vec<u64>,
    by: String,
}

/// What all processes have done.
#[derive(Default)]
pub(super) struct Journals {
    pub(super) calls: History,
    pub(super) faults: Vec<String>,
    pub(super) notes: BTreeMap<String, u64>,
    pub(super) outcomes: BTreeMap<&'static str, u64>,
    scans: Vec<ScanRecord>,
    pub(super) scans_ended: u64,
    /// Of the whole table.
    pub(super) whole_scans_ended: u64,
    pub(super) scanned_rows: u64,
    /// How often each process has begun an increment of each row.
    pub(super) increments: BTreeMap<u64, u8>,
}

impl Journals {
    /// Adds what the process of a slot has done.
    pub(super) fn add(&mut self, slot: usize, path: &Path) {
        let Ok(text) = std::fs::read_to_string(path) else { return };
        let (mut places, mut scans) = (HashMap::new(), HashMap::<u64, ScanRecord>::new());
        // A process that is killed may leave a part of a line.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        for line in text[..whole].lines() {
            let by = |n: u64| format!("process {slot}.{} {n}", n >> 32);
            match serde_json::from_str(line).unwrap() {
                Line::Begin { time, n, at, op } => {
                    if matches!(op, Op::Increment(_)) {
                        *self.increments.entry(at).or_default() += 1;
                    }
                    places.insert(n, self.calls.begin(slot, at, op, time, by(n)));
                }
                Line::End { time, n, outcome } => {
                    let name = match outcome {
                        Outcome::Unknown => "unknown",
                        Outcome::Found(_) => "read",
                        Outcome::Is(false) => "refused",
                        _ => "written",
                    };
                    *self.outcomes.entry(name).or_default() += 1;
                    if let Some(place) = places.remove(&n) {
                        let operation = &mut self.calls.call(place).operation;
                        (operation.outcome, operation.end) = (outcome, time);
                    }
                }
                Line::Void { n } => {
                    *self.outcomes.entry("without effect").or_default() += 1;
                    if let Some(place) = places.remove(&n) {
                        self.calls.call(place).is_void = true;
                    }
                }
                Line::Scan { time, n, part } => {
                    let by = format!("scan of {}", by(n));
                    scans.insert(n, ScanRecord { part, begin: time, by, ..ScanRecord::default() });
                }
                Line::Scanned { time, n, at, row } => scans.entry(n).or_default().rows.push((time, at, row)),
                Line::Missing { n, at } => scans.entry(n).or_default().missing.push(at),
                Line::Ended { time, n, rows } => {
                    let scan = scans.entry(n).or_default();
                    scan.end = Some(time);
                    self.scans_ended += 1;
                    self.whole_scans_ended += u64::from(scan.part.is_none());
                    self.scanned_rows += rows;
                }
                Line::Fault(text) => self.faults.push(format!("process {slot}: {text}")),
                Line::Note(text) => *self.notes.entry(text).or_default() += 1,
            }
        }
        // Its process was killed before the answer.
        let is_write = |place: &&usize| !self.calls.calls()[**place].operation.is_read();
        *self.outcomes.entry("unknown").or_default() += places.values().filter(is_write).count() as u64;
        self.scans.extend(scans.into_values());
    }

    /// Adds what the scans found: a read of each row that somebody has written, or that a scan found changed.
    pub(super) fn add_scans(&mut self, keys: &mut BTreeMap<u64, Vec<Operation>>, rows: u64) {
        for scan in std::mem::take(&mut self.scans) {
            let read = |end: u64, row: Row| Operation {
                op: Op::Read,
                outcome: Outcome::Found(row),
                begin: scan.begin,
                end,
                by: scan.by.clone(),
            };
            let mut given: HashMap<u64, Operation> =
                scan.rows.iter().map(|(end, key, row)| (*key, read(*end, *row))).collect();
            if let Some(end) = scan.end {
                given.extend(scan.missing.iter().map(|key| (*key, read(end, Row::NONE))));
                for key in keys.keys().filter(|key| scan.part.is_none_or(|part| part.contains(**key))) {
                    given.entry(*key).or_insert_with(|| read(end, initial(*key, rows)));
                }
            }
            for (key, operation) in given {
                keys.entry(key).or_default().push(operation);
            }
        }
    }
}
