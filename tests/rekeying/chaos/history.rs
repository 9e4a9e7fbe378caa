//! What the processes of a run have done: each appends lines to a file of its own before it sends and after it was answered, so that
//! nothing is lost when it is killed.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use keyderive_tests::linearizable::{Op, Operation, Outcome, Row};
use nix::time::{ClockId, clock_gettime};

use super::process::Part;

/// Nanoseconds of the clock that all processes of a machine share.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    u64::try_from(time.tv_sec()).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap()
}

/// The number of the rows that a table has at first.
pub(super) const INITIAL: u32 = 1;

/// The row at first.
pub(super) fn initial(at: u64, rows: u64) -> Row {
    if at < rows { Row::of(INITIAL) } else { Row::NONE }
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
    fn line(&mut self, line: fmt::Arguments<'_>) {
        self.file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(super) fn begin(&mut self, op: Op, key: u64) -> u64 {
        let n = self.next;
        self.next += 1;
        let op = match op {
            Op::Put(id) => format!("put {id}"),
            Op::Set(id) => format!("set {id}"),
            Op::Increment(bit) => format!("increment {bit}"),
            Op::Delete => "delete".to_owned(),
            Op::Claim(id) => format!("claim {id}"),
            Op::Swap { from, to } => format!("swap {from} {to}"),
            Op::Read => "read".to_owned(),
            Op::Exists => "exists".to_owned(),
        };
        self.line(format_args!("B {} {n} {key} {op}", now()));
        n
    }

    pub(super) fn end(&mut self, n: u64, outcome: Outcome) {
        let time = now();
        match outcome {
            Outcome::Unknown => self.line(format_args!("E {time} {n} unknown")),
            Outcome::Done => self.line(format_args!("E {time} {n} done")),
            Outcome::Is(is) => self.line(format_args!("E {time} {n} is {is}")),
            Outcome::Counted(incs) => self.line(format_args!("E {time} {n} counted {incs}")),
            Outcome::Found(Row { whole, val, incs }) => {
                self.line(format_args!("E {time} {n} found {whole} {val} {incs}"));
            }
        }
    }

    /// The operation had no effect, and no answer.
    pub(super) fn void(&mut self, n: u64) {
        self.line(format_args!("V {n}"));
    }

    /// A scan of the whole table, or of a part of it.
    pub(super) fn scan(&mut self, part: Option<Part>) -> u64 {
        let n = self.next;
        self.next += 1;
        match part {
            None => self.line(format_args!("S {} {n}", now())),
            Some(Part { user, first, end }) => {
                self.line(format_args!("S {} {n} {user} {first} {end}", now()));
            }
        }
        n
    }

    /// A row of a scan that is not as it was at first.
    pub(super) fn scanned(&mut self, n: u64, key: u64, Row { whole, val, incs }: Row) {
        self.line(format_args!("R {} {n} {key} {whole} {val} {incs}", now()));
    }

    /// The scan has given all its rows, without these.
    pub(super) fn ended(&mut self, n: u64, rows: u64, missing: impl IntoIterator<Item = u64>) {
        let time = now();
        for key in missing {
            self.line(format_args!("M {n} {key}"));
        }
        self.line(format_args!("X {time} {n} {rows}"));
    }

    /// What must not happen.
    pub(super) fn fault(&mut self, text: impl fmt::Display) {
        let text = text.to_string().replace('\n', " ");
        self.line(format_args!("F {text}"));
    }

    /// What may happen, and is counted.
    pub(super) fn note(&mut self, text: impl fmt::Display) {
        let text = text.to_string().replace('\n', " ");
        self.line(format_args!("N {text}"));
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
pub(super) struct History {
    /// The operations on each row.
    pub(super) keys: BTreeMap<u64, Vec<Operation>>,
    pub(super) faults: Vec<String>,
    pub(super) notes: BTreeMap<String, u64>,
    pub(super) outcomes: BTreeMap<&'static str, u64>,
    scans: Vec<ScanRecord>,
    pub(super) scans_ended: u64,
    /// Of the whole table.
    pub(super) whole_scans_ended: u64,
    pub(super) scanned_rows: u64,
    /// How often each process has begun an increment of each row.
    pub(super) increments: HashMap<u64, u8>,
}

impl History {
    /// Adds what the process of a slot has done.
    pub(super) fn add(&mut self, slot: usize, path: &Path) {
        let Ok(text) = std::fs::read_to_string(path) else { return };
        let mut operations: HashMap<u64, (u64, Operation)> = HashMap::new();
        let mut scans: HashMap<u64, ScanRecord> = HashMap::new();
        let mut order = Vec::new();
        // A process that is killed may leave a part of a line.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        for line in text[..whole].lines() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            let words: Vec<&str> = rest.split(' ').collect();
            let number = |at: usize| words[at].parse::<u64>().unwrap();
            let small = |at: usize| words[at].parse::<u32>().unwrap();
            let row = |at: usize| Row { whole: small(at), val: small(at + 1), incs: number(at + 2) };
            match kind {
                "B" => {
                    let (begin, n, key) = (number(0), number(1), number(2));
                    let op = match words[3] {
                        "put" => Op::Put(small(4)),
                        "set" => Op::Set(small(4)),
                        "increment" => {
                            *self.increments.entry(key).or_default() += 1;
                            Op::Increment(words[4].parse().unwrap())
                        }
                        "delete" => Op::Delete,
                        "claim" => Op::Claim(small(4)),
                        "swap" => Op::Swap { from: small(4), to: small(5) },
                        "exists" => Op::Exists,
                        _ => Op::Read,
                    };
                    let by = format!("process {slot}.{} {n}", n >> 32);
                    let operation = Operation { op, outcome: Outcome::Unknown, begin, end: u64::MAX, by };
                    operations.insert(n, (key, operation));
                    order.push(n);
                }
                "E" => {
                    let outcome = match words[2] {
                        "done" => Outcome::Done,
                        "is" => Outcome::Is(words[3] == "true"),
                        "counted" => Outcome::Counted(number(3)),
                        "found" => Outcome::Found(row(3)),
                        _ => Outcome::Unknown,
                    };
                    let name = match outcome {
                        Outcome::Unknown => "unknown",
                        Outcome::Found(_) => "read",
                        Outcome::Is(false) => "refused",
                        _ => "written",
                    };
                    *self.outcomes.entry(name).or_default() += 1;
                    if let Some((_, operation)) = operations.get_mut(&number(1)) {
                        operation.outcome = outcome;
                        operation.end = number(0);
                    }
                }
                "V" => {
                    *self.outcomes.entry("without effect").or_default() += 1;
                    operations.remove(&number(0));
                }
                "S" => {
                    let by = format!("scan of process {slot}.{} {}", number(1) >> 32, number(1));
                    let part = (words.len() > 2).then(|| Part {
                        user: usize::try_from(number(2)).unwrap(),
                        first: number(3),
                        end: number(4),
                    });
                    scans.insert(
                        number(1),
                        ScanRecord { part, begin: number(0), by, ..ScanRecord::default() },
                    );
                }
                "R" => {
                    let scan = scans.entry(number(1)).or_default();
                    scan.rows.push((number(0), number(2), row(3)));
                }
                "M" => scans.entry(number(0)).or_default().missing.push(number(1)),
                "X" => {
                    let scan = scans.entry(number(1)).or_default();
                    scan.end = Some(number(0));
                    self.scans_ended += 1;
                    self.whole_scans_ended += u64::from(scan.part.is_none());
                    self.scanned_rows += number(2);
                }
                "F" => self.faults.push(format!("process {slot}: {rest}")),
                _ => *self.notes.entry(rest.to_owned()).or_default() += 1,
            }
        }
        for n in order {
            let Some((key, operation)) = operations.remove(&n) else { continue };
            let is_read = matches!(operation.op, Op::Read | Op::Exists);
            if operation.outcome == Outcome::Unknown {
                if is_read {
                    continue;
                }
                if operation.end == u64::MAX {
                    *self.outcomes.entry("unknown").or_default() += 1;
                }
            }
            self.keys.entry(key).or_default().push(operation);
        }
        self.scans.extend(scans.into_values());
    }

    /// Adds what the scans found: a read of each row that somebody has written, or that a scan found changed.
    pub(super) fn add_scans(&mut self, rows: u64) {
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
                for key in self.keys.keys().filter(|key| scan.part.is_none_or(|part| part.contains(**key))) {
                    given.entry(*key).or_insert_with(|| read(end, initial(*key, rows)));
                }
            }
            for (key, operation) in given {
                self.keys.entry(key).or_default().push(operation);
            }
        }
    }

    /// Adds writes that may have landed a second time, as on one table: each request that the server applied beside the first of a
    /// call. `landings` has when the requests arrived, by process and row.
    pub(super) fn add_repeats(&mut self, slot: usize, landings: &HashMap<(usize, u64), Vec<u64>>) -> usize {
        let own = format!("process {slot}.");
        let mut added = 0;
        for (key, operations) in &mut self.keys {
            let Some(landings) = landings.get(&(slot, *key)) else { continue };
            let mut begun: Vec<_> = operations
                .iter()
                .enumerate()
                .filter(|(_, operation)| {
                    operation.by.starts_with(&own) && !matches!(operation.op, Op::Read | Op::Exists)
                })
                .map(|(at, operation)| (operation.begin, at))
                .collect();
            begun.sort_unstable();
            let mut repeats = Vec::new();
            for (place, (begin, at)) in begun.iter().enumerate() {
                let next = begun.get(place + 1).map_or(u64::MAX, |(begin, _)| *begin);
                let operation = &operations[*at];
                if !matches!(operation.op, Op::Put(_) | Op::Set(_) | Op::Delete) {
                    continue;
                }
                let landed = landings.iter().filter(|time| (*begin..next).contains(time)).count();
                let by = format!("{}, again", operation.by);
                let again = Operation { outcome: Outcome::Unknown, end: u64::MAX, by, ..operation.clone() };
                repeats.extend(std::iter::repeat_n(again, landed.saturating_sub(1)));
            }
            added += repeats.len();
            operations.extend(repeats);
        }
        added
    }
}
