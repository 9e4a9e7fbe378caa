//! The calls of a client on single rows, of a table or of a pair of tables that is re-keyed. `tests/histories` and `tests/rekeying/chaos`
//! make them too, on rows of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use keyderive::client::{CallSettings, Settings, WriteErrors};
use keyderive::key::{OwnedRowKey, TableKey};
use keyderive::table::Writes;
use keyderive::{Error, Table};
use keyderive_tests::linearizable::{Op, Outcome, Row as RowState};

use super::rows::Event;

/// Increments of a row by one client.
const INCREMENTS: u8 = 15;

/// The number of the rows that a table has at first.
pub(crate) const INITIAL: u32 = 1;

/// A key type of numbered rows.
pub(crate) trait Numbered: TableKey<Stored = Self> + OwnedRowKey {
    /// The key of the row with this number, its last field.
    fn of(at: u64) -> Self;
}

/// The number of a row, by its key in any table.
pub(crate) fn number(key: &[u8]) -> Option<u64> {
    std::str::from_utf8(key).ok()?.rsplit('#').next()?.parse().ok()
}

/// The state of a row with these columns; none for a mix of two writes.
pub(crate) fn state_of(
    val: Option<u64>,
    note: Option<u64>,
    views: i64,
    daily: &BTreeMap<String, i64>,
) -> Option<RowState> {
    let whole = u32::try_from(daily.values().next().copied().unwrap_or(0)).ok()?;
    let (val, incs) =
        (u32::try_from(val.unwrap_or(0)).ok().filter(|_| val == note)?, u64::try_from(views).ok()?);
    (daily.len() < 2).then_some(RowState { whole, val, incs })
}

/// Changes the settings of the calls on single rows, and of writes of many.
pub(crate) fn each_of_rows(settings: &mut Settings, change: impl Fn(&mut CallSettings)) {
    change(&mut settings.mutate_row);
    change(&mut settings.mutate_rows);
    change(&mut settings.check_and_mutate_row);
    change(&mut settings.read_modify_write_row);
    change(&mut settings.read_row);
}

/// Whether calls may fail so.
pub(crate) fn is_transient(error: &Error) -> bool {
    error.is_retryable()
        || error.is_outcome_unknown()
        || error.is_deadline_exceeded()
        || error.is_unavailable()
}

/// Where a client records its calls.
pub(crate) trait Record {
    /// A call begins; returns its number.
    fn begin(&mut self, at: u64, op: Op) -> u64;

    /// It has ended, or nobody waits for it any more.
    fn end(&mut self, begun: u64, outcome: Outcome);

    /// It had no effect, and no answer.
    fn void(&mut self, begun: u64);

    /// A call has failed, which is a fault unless the failure is transient.
    fn failed(&mut self, error: &Error);

    /// What must not happen.
    fn fault(&mut self, text: String);

    /// Waits for a call; none if it drops the call.
    async fn patient<T>(&mut self, _: &mut Rng, call: impl Future<Output = T>) -> Option<T> {
        Some(call.await)
    }
}

/// A client.
pub(crate) struct Caller<K, S, R> {
    pub(crate) events: Table<K, Event, S>,
    pub(crate) record: R,
    pub(crate) rng: Rng,
    /// The number of the client.
    client: u8,
    /// The number of its last write; no other client has it.
    last: u32,
    /// How many increments of each row it has begun: each is a bit of its own.
    increments: BTreeMap<u64, u8>,
}

impl<K: Numbered, S: Writes, R: Record> Caller<K, S, R> {
    /// A client that has made these increments already, whose writes have numbers after `last`.
    pub(crate) fn new(
        events: Table<K, Event, S>,
        record: R,
        rng: Rng,
        (client, last): (u8, u32),
        increments: BTreeMap<u64, u8>,
    ) -> Self {
        Self { events, record, rng, client, last, increments }
    }

    /// A number that no other write has.
    pub(crate) fn id(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    /// Records the end of a write, which nobody waited for if it has none.
    pub(crate) fn wrote<T>(
        &mut self,
        begun: u64,
        ended: Option<Result<T, Error>>,
        outcome: impl FnOnce(T) -> Outcome,
    ) {
        match ended {
            None => self.record.end(begun, Outcome::Unknown),
            Some(Ok(value)) => self.record.end(begun, outcome(value)),
            Some(Err(error)) => self.failed(begun, &error),
        }
    }

    /// Records that a write has failed. What the error says of its outcome counts.
    pub(crate) fn failed(&mut self, begun: u64, error: &Error) {
        match error.is_outcome_unknown() {
            true => self.record.end(begun, Outcome::Unknown),
            false => self.record.void(begun),
        }
        self.record.failed(error);
    }

    pub(crate) async fn put(&mut self, at: u64) {
        let id = self.id();
        let begun = self.record.begin(at, Op::Put(id));
        let (key, event) = (K::of(at), Event::of(id));
        let put = self.record.patient(&mut self.rng, self.events.put(&key, &event)).await;
        self.wrote(begun, put, |()| Outcome::Done);
    }

    pub(crate) async fn set(&mut self, at: u64) {
        let id = self.id();
        let begun = self.record.begin(at, Op::Set(id));
        let value = u64::from(id);
        let set = self.events.update(&K::of(at)).set(Event::VAL, value).set(Event::NOTE, value);
        let set = self.record.patient(&mut self.rng, set.into_future()).await;
        self.wrote(begun, set, |_| Outcome::Done);
    }

    pub(crate) async fn increment(&mut self, at: u64) {
        let made = self.increments.entry(at).or_default();
        if *made == INCREMENTS {
            return self.set(at).await;
        }
        let bit = self.client * INCREMENTS + *made;
        *made += 1;
        let begun = self.record.begin(at, Op::Increment(bit));
        let key = K::of(at);
        let increment = self.events.increment(&key, Event::VIEWS, 1 << bit);
        let counted = self.record.patient(&mut self.rng, increment).await;
        let outcome = |counted| Outcome::Counted(u64::try_from(counted).unwrap_or(u64::MAX));
        self.wrote(begun, counted, outcome);
    }

    pub(crate) async fn delete(&mut self, at: u64) {
        let begun = self.record.begin(at, Op::Delete);
        let key = K::of(at);
        let deleted = self.record.patient(&mut self.rng, self.events.delete(&key)).await;
        self.wrote(begun, deleted, |()| Outcome::Done);
    }

    pub(crate) async fn claim(&mut self, at: u64) {
        let id = self.id();
        let begun = self.record.begin(at, Op::Claim(id));
        let (key, event) = (K::of(at), Event::of(id));
        let claimed = self.record.patient(&mut self.rng, self.events.put_if_absent(&key, &event)).await;
        self.wrote(begun, claimed, Outcome::Is);
    }

    pub(crate) async fn swap(&mut self, at: u64) {
        let Some(found) = self.get(at).await.filter(|found| found.val != 0) else { return };
        let (from, to) = (found.val, self.id());
        let begun = self.record.begin(at, Op::Swap { from, to });
        let value = u64::from(to);
        let update = self.events.update(&K::of(at)).set(Event::VAL, value).set(Event::NOTE, value);
        let update = update.only_if(Event::VAL.equals(u64::from(from)));
        let swapped = self.record.patient(&mut self.rng, update).await;
        self.wrote(begun, swapped, Outcome::Is);
    }

    /// Puts rows, each once.
    pub(crate) async fn put_all(&mut self, ats: impl IntoIterator<Item = u64>) {
        let (mut rows, mut begun) = (Vec::new(), Vec::new());
        for at in ats {
            let id = self.id();
            begun.push(self.record.begin(at, Op::Put(id)));
            rows.push((K::of(at), Event::of(id)));
        }
        let put = self.record.patient(&mut self.rng, self.events.put_all(&rows)).await;
        // The rows before the first failure may be written.
        let outcome = if matches!(put, Some(Ok(()))) { Outcome::Done } else { Outcome::Unknown };
        begun.into_iter().for_each(|begun| self.record.end(begun, outcome));
        if let Some(Err(error)) = put {
            self.record.failed(&error);
        }
    }

    /// Puts rows by a writer in the background.
    #[allow(dead_code, reason = "the seeds of `tests/system` are those of calls without it")]
    pub(crate) async fn put_in_background(&mut self, ats: &[u64]) {
        let writer = self.events.writer_with(|settings| {
            settings.batch_entries = 3;
            settings.linger = Duration::from_millis(1);
        });
        let mut begun = Vec::new();
        for at in ats {
            let (id, key) = (self.id(), K::of(*at));
            let call = self.record.begin(*at, Op::Put(id));
            match writer.put(&key, &Event::of(id)).await {
                Ok(()) => begun.push((key.encode().unwrap(), call)),
                Err(error) => self.failed(call, &error),
            }
        }
        let failed = writer.close().await.err();
        let failed: Vec<_> = failed.iter().flat_map(WriteErrors::failed).collect();
        for (key, begun) in begun {
            match failed.iter().find(|failed| *failed.key() == key) {
                None => self.record.end(begun, Outcome::Done),
                Some(failed) => self.failed(begun, failed.error()),
            }
        }
    }

    /// Records what a read has found.
    pub(crate) fn found(&mut self, begun: u64, at: u64, event: Option<&Event>) -> Option<RowState> {
        match event.map_or(Ok(RowState::NONE), |event| event.state(at)) {
            Ok(state) => {
                self.record.end(begun, Outcome::Found(state));
                Some(state)
            }
            Err(text) => {
                self.record.fault(text);
                None
            }
        }
    }

    /// Records reads that have failed.
    pub(crate) fn unread(&mut self, begun: impl IntoIterator<Item = u64>, error: &Error) {
        begun.into_iter().for_each(|begun| self.record.void(begun));
        self.record.failed(error);
    }

    pub(crate) async fn get(&mut self, at: u64) -> Option<RowState> {
        let begun = self.record.begin(at, Op::Read);
        match self.events.get(&K::of(at)).await {
            Ok(event) => self.found(begun, at, event.as_ref()),
            Err(error) => {
                self.unread([begun], &error);
                None
            }
        }
    }

    pub(crate) async fn exists(&mut self, at: u64) {
        let begun = self.record.begin(at, Op::Exists);
        match self.events.exists(&K::of(at)).await {
            Ok(exists) => self.record.end(begun, Outcome::Is(exists)),
            Err(error) => self.unread([begun], &error),
        }
    }

    pub(crate) async fn get_many(&mut self, ats: &[u64]) {
        let begun: Vec<_> = ats.iter().map(|at| self.record.begin(*at, Op::Read)).collect();
        match self.events.get_many(ats.iter().map(|at| K::of(*at))).await {
            Ok(rows) => {
                for ((begun, at), event) in begun.into_iter().zip(ats).zip(rows) {
                    self.found(begun, *at, event.as_ref());
                }
            }
            Err(error) => self.unread(begun, &error),
        }
    }
}
