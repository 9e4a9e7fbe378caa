//! A client that reads and writes single rows, and scans, of a table or of a pair of tables that is re-keyed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;
use keyderive::client::{Hedging, Settings};
use keyderive::table::rekey::Pair;
use keyderive::table::{Direct, Writes};
use keyderive::{Error, Scan, Table};
use keyderive_tests::linearizable::Op;
use tokio::time::sleep;
use tonic::Code;

use crate::calls::{Caller, Record as _, each_of_rows, is_transient};
use crate::history::Recorder;
use crate::rows::{Event, New, Old, ROWS, USERS, user};

/// Calls that time out soon, so that some fail while their requests are in flight.
pub(crate) fn hasty(settings: &mut Settings) {
    let seconds = Duration::from_secs;
    each_of_rows(settings, |call| {
        call.attempt_timeout = Duration::from_millis(600);
        call.total_timeout = seconds(6);
        call.max_attempts = 4;
        call.backoff.initial = Duration::from_millis(5);
    });
    settings.read_rows.idle_timeout = seconds(3);
    settings.read_rows.attempt_timeout = seconds(20);
    settings.read_rows.total_timeout = seconds(40);
    settings.admin.attempt_timeout = seconds(3);
    settings.admin.total_timeout = seconds(20);
    settings.retry_budget = false;
}

/// As [`hasty`], and reads that take long are sent twice.
pub(crate) fn hedged(settings: &mut Settings) {
    hasty(settings);
    settings.hedging = Hedging::After(Duration::from_millis(100));
}

/// Fails for a failure that does not pass, unless the network or the disk made it.
pub(crate) fn passes(error: &Error) {
    let is_injected = |code| error.grpc_code() == Some(i32::from(code));
    let passes = is_injected(Code::Internal)
        || is_injected(Code::ResourceExhausted)
        || is_transient(error)
        || error.is_overloaded();
    assert!(passes, "{error}");
}

/// Where the rows are.
pub(crate) trait Scanned: Writes + Sized {
    /// A scan of all rows, or of those of a user.
    fn scan(table: &Table<New, Event, Self>, user: Option<&'static str>) -> Scan<New, Event, Self>;
}

impl Scanned for Direct {
    fn scan(table: &Table<New, Event, Self>, user: Option<&'static str>) -> Scan<New, Event, Self> {
        match user {
            None => table.scan(New::scan()),
            Some(user) => table.scan(New::scan().user(user)),
        }
    }
}

impl Scanned for Pair<Old> {
    fn scan(table: &Table<New, Event, Self>, user: Option<&'static str>) -> Scan<New, Event, Self> {
        match user {
            None => table.scan_both(New::scan(), Old::scan()),
            Some(user) => table.scan_both(New::scan().user(user), Old::scan().user(user)),
        }
    }
}

/// One of the clients.
pub(crate) struct Points<S>(Caller<New, S, Recorder>);

impl<S: Scanned> Points<S> {
    pub(crate) fn new(record: Recorder, rng: Rng, events: Table<New, Event, S>) -> Self {
        let client = u8::try_from(record.client).unwrap();
        Self(Caller::new(events, record, rng, (client, u32::from(client) * 1000), BTreeMap::new()))
    }

    /// Makes so many calls.
    pub(crate) async fn run(mut self, calls: u32, most_pause: Duration) {
        let all: Vec<u64> = (0..ROWS).collect();
        for _ in 0..calls {
            let Self(caller) = &mut self;
            let at = caller.rng.u64(..ROWS);
            match caller.rng.u8(..24) {
                0..4 => caller.put(at).await,
                4..7 => caller.set(at).await,
                7..10 => caller.increment(at).await,
                10..12 => caller.delete(at).await,
                12..14 => caller.claim(at).await,
                14 => caller.swap(at).await,
                15 => {
                    let count = caller.rng.usize(2..5);
                    let ats: BTreeSet<u64> = (0..count).map(|_| caller.rng.u64(..ROWS)).collect();
                    caller.put_all(ats).await;
                }
                16..19 => drop(caller.get(at).await),
                19 => caller.exists(at).await,
                20 => caller.get_many(&all).await,
                _ => self.scan().await,
            }
            let pause = most_pause.mul_f64(self.0.rng.f64());
            sleep(pause).await;
        }
    }

    /// Reads every row once more, alone.
    pub(crate) async fn read_all(mut self) {
        for at in 0..ROWS {
            assert!(self.0.get(at).await.is_some(), "row {at} cannot be read");
        }
        self.scan().await;
    }

    /// A scan is a read of each row.
    async fn scan(&mut self) {
        let Self(caller) = self;
        let user_of_scan = caller.rng.bool().then(|| caller.rng.choice(USERS).unwrap());
        let (is_reversed, is_ordered, is_dropped) =
            (caller.rng.bool(), caller.rng.u8(..3) > 0, caller.rng.u8(..8) == 0);
        let ats = (0..ROWS).filter(|at| user_of_scan.is_none_or(|name| user(*at) == name));
        let mut begun: BTreeMap<u64, u64> = ats.map(|at| (at, caller.record.begin(at, Op::Read))).collect();
        let scan = S::scan(&caller.events, user_of_scan);
        let scan = if is_reversed { scan.reversed() } else { scan };
        let scan = if is_ordered { scan } else { scan.unordered() };
        let (mut rows, mut last) = (scan.stream(), None::<New>);
        let ended = loop {
            let (key, event) = match rows.next().await {
                None => break Ok(()),
                Some(Ok(row)) => row,
                Some(Err(error)) => break Err(error),
            };
            let Some(begun) = begun.remove(&key.at) else {
                panic!("a scan returned {key:?} twice, or of another user")
            };
            caller.found(begun, key.at, Some(&event));
            let follows =
                last.as_ref().is_none_or(|last| if is_reversed { *last > key } else { *last < key });
            assert!(follows || !is_ordered, "a scan returned {key:?} after {last:?}");
            last = Some(key);
            if is_dropped {
                break Ok(());
            }
        };
        for (at, begun) in begun {
            match &ended {
                Ok(()) if !is_dropped || last.is_none() => drop(caller.found(begun, at, None)),
                Ok(()) => caller.record.void(begun),
                Err(error) => caller.unread([begun], error),
            }
        }
    }
}
