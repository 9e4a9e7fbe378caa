//! Tables whose keys change while programs read and write them: every call in every state, forwards and back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keyderive::key::TableKey;
use keyderive::row::{Condition, Versions};
use keyderive::table::Reads;
use keyderive::table::rekey::{PairKey, Rekeyed, State};
use keyderive::{Client, Row, RowKey, Table};

use crate::drive::retried;

/// Short, so that the states follow each other soon, and longer than a busy machine keeps a process waiting.
pub(super) const LEASE: Duration = Duration::from_secs(1);

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "user")]
pub(super) struct Old {
    pub(super) user: String,
    pub(super) at: u64,
}

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[row_key(rekeyed_from = Old)]
#[salt(range = 16, over = "user,at")]
pub(super) struct New {
    pub(super) user: String,
    pub(super) at: u64,
}

#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    pub(super) kind: Option<String>,
    #[row(counter)]
    views: i64,
    log: Option<String>,
    #[row(family)]
    daily: BTreeMap<String, i64>,
    #[row(family = "h")]
    state: Versions<String>,
    /// The first family by name and the last by declaration: each table has an order of families of its own.
    #[row(family = "a")]
    rank: Option<i64>,
}

/// A part of an event.
#[derive(Row, Clone, Debug, Default, PartialEq)]
struct Ranked {
    #[row(family = "a")]
    rank: Option<i64>,
}

pub(super) type Events = Rekeyed<Old, New, Event>;

pub(super) fn key(at: u64) -> New {
    New { user: ["alice", "bob", "carol"][usize::try_from(at % 3).unwrap()].into(), at }
}

pub(super) fn event(kind: &str, day: i64) -> Event {
    Event {
        kind: Some(kind.into()),
        daily: BTreeMap::from([("d".into(), day)]),
        rank: Some(day),
        ..Event::default()
    }
}

/// A table of keys `Old` with these rows.
pub(super) async fn old_table(client: &Client, rows: u64) -> Table<Old, Event> {
    let events = client.table::<Old, Event>("events");
    events.create().without_row_key_schema().await.unwrap();
    let rows: Vec<_> = (0..rows).map(|at| (Old::from(&key(at)), event("old", 1))).collect();
    events.put_all(&rows).await.unwrap();
    events
}

pub(super) async fn open(client: &Client) -> Events {
    client.rekeyed("events", "events-16").await.unwrap()
}

/// Where a driver stops: it is dropped once it reports this state.
pub(super) async fn drive_to<O, N, R>(events: &Rekeyed<O, N, R>, back: bool, state: State)
where
    O: PairKey + for<'a> From<&'a N>,
    N: PairKey,
    R: Row + Send + Sync + 'static,
{
    let reached = Arc::new(tokio::sync::Notify::new());
    let migration = {
        let reached = Arc::clone(&reached);
        events.migration().lease(LEASE).on_progress(move |progress| {
            if progress.state == state {
                reached.notify_one();
            }
        })
    };
    let driven = async {
        match (back, state) {
            (_, State::New) => {
                migration.run().await?;
                migration.finish().await
            }
            (true, _) => migration.roll_back().await,
            (false, _) => migration.run().await,
        }
    };
    let ended = tokio::select! {
        ended = driven => Some(ended),
        () = reached.notified(), if !matches!(state, State::New | State::Moved | State::RolledBack) => None,
    };
    if let Some(ended) = ended {
        ended.unwrap();
    }
    assert_eq!(events.migration().state().await.unwrap(), state);
}

/// What a table must hold, beside what it is asked.
struct Expected {
    events: Events,
    /// Opened before the re-keying began, as in another process.
    elsewhere: Events,
    rows: BTreeMap<u64, Event>,
}

impl Expected {
    /// Every read of every row.
    async fn check(&self, state: State) {
        for (events, rows) in [(&self.events, &self.rows), (&self.elsewhere, &self.rows)] {
            let all: Vec<_> = (0..12).map(key).collect();
            let many = events.get_many(&all).await.unwrap();
            for (at, found) in (0..12).zip(many) {
                let expected = rows.get(&at);
                let got = events.get(&key(at)).await.unwrap();
                assert_eq!(got.as_ref(), expected, "{state} {at}");
                assert_eq!(found.as_ref(), expected, "{state} {at}");
                assert_eq!(events.exists(&key(at)).await.unwrap(), expected.is_some(), "{state} {at}");
                let raw = events.get_raw(&key(at)).await.unwrap();
                assert_eq!(raw.is_some(), expected.is_some(), "{state} {at}");
                assert!(
                    raw.is_none_or(|raw| raw.cells().all(|cell| !cell.family().starts_with("keyderive")))
                );
            }
            let ordered: Vec<_> = {
                let mut keys: Vec<_> = rows.keys().map(|at| key(*at)).collect();
                keys.sort();
                keys
            };
            let scan = || events.scan_both(New::scan(), Old::scan());
            let found: Vec<_> = scan().collect().await.unwrap();
            let keys: Vec<_> = found.iter().map(|(key, _)| key.clone()).collect();
            assert_eq!(keys, ordered, "{state}");
            for (key, row) in &found {
                assert_eq!(row, &rows[&key.at], "{state}");
            }
            let reversed: Vec<_> = ordered.iter().rev().cloned().collect();
            assert_eq!(scan().reversed().keys_only().collect().await.unwrap(), reversed, "{state}");
            let two: Vec<_> = ordered.iter().take(2).cloned().collect();
            assert_eq!(scan().limit(2).keys_only().collect().await.unwrap(), two, "{state}");
            assert_eq!(scan().count().await.unwrap(), rows.len() as u64, "{state}");
            let alice = events.scan_both(New::scan().user("alice"), Old::scan().user("alice"));
            let of_alice: Vec<_> = ordered.iter().filter(|key| key.user == "alice").cloned().collect();
            assert_eq!(alice.keys_only().collect().await.unwrap(), of_alice, "{state}");
            let late = scan().filter_key(|key| key.at >= 6).keys_only().collect().await.unwrap();
            assert_eq!(
                late,
                ordered.iter().filter(|key| key.at >= 6).cloned().collect::<Vec<_>>(),
                "{state}"
            );
            let selected = scan().select((Event::KIND, Event::VIEWS)).collect().await.unwrap();
            let kinds: Vec<_> =
                ordered.iter().map(|key| (rows[&key.at].kind.clone(), rows[&key.at].views)).collect();
            assert_eq!(selected.into_iter().map(|(_, row)| row).collect::<Vec<_>>(), kinds, "{state}");
            let many = events.select(Event::KIND).get_many(&all).await.unwrap();
            let ranked = events.rows_as::<Ranked>();
            for (at, found) in (0..12).zip(many) {
                assert_eq!(found, rows.get(&at).map(|row| row.kind.clone()), "{state} {at}");
                let rank = ranked.get(&key(at)).await.unwrap().and_then(|row| row.rank);
                assert_eq!(rank, rows.get(&at).and_then(|row| row.rank), "{state} {at}");
            }
            let old = rows.values().filter(|row| row.kind.as_deref() == Some("old")).count();
            let matching = scan().matching(Event::KIND.equals("old")).collect().await.unwrap();
            assert_eq!(matching.len(), old, "{state}");
            if !matches!(state, State::Paused | State::RollbackPaused) {
                let mut found = retried(async || scan().unordered().keys_only().collect().await).await;
                found.sort();
                assert_eq!(found, ordered, "{state}");
            }
        }
    }

    /// Every write of some rows, each a different one in each state.
    async fn write(&mut self, state: State, round: u64) {
        let (events, rows) = (&self.events, &mut self.rows);
        let at = |n: u64| (n * 5 + round) % 12;
        // Whole rows.
        let row = event(&format!("put {round}"), 2);
        events.put(&key(at(0)), &row).await.unwrap();
        rows.insert(at(0), row);
        // Some columns.
        events.update(&key(at(1))).set(Event::KIND, format!("update {round}")).await.unwrap();
        rows.entry(at(1)).or_default().kind = Some(format!("update {round}"));
        // Counters and appends.
        let views = rows.entry(at(2)).or_default();
        views.views += 2;
        assert_eq!(events.increment(&key(at(2)), Event::VIEWS, 2).await.unwrap(), views.views, "{state}");
        let log = rows.entry(at(2)).or_default().log.get_or_insert_default();
        log.push('x');
        assert_eq!(events.append(&key(at(2)), Event::LOG, "x").await.unwrap(), log.as_bytes(), "{state}");
        // Deletions.
        events.delete(&key(at(3))).await.unwrap();
        rows.remove(&at(3));
        assert!(!events.delete_if(&key(at(3)), Condition::row_exists()).await.unwrap(), "{state}");
        // Conditional writes.
        let row = event(&format!("absent {round}"), 3);
        assert!(events.put_if_absent(&key(at(3)), &row).await.unwrap(), "{state}");
        assert!(!events.put_if_absent(&key(at(3)), &row).await.unwrap(), "{state}");
        rows.insert(at(3), row);
        let claim = Event::KIND.equals(format!("absent {round}"));
        assert!(events.update(&key(at(3))).set(Event::KIND, "claimed").only_if(claim).await.unwrap());
        rows.entry(at(3)).or_default().kind = Some("claimed".into());
        let row = event("if", 4);
        assert!(!events.put_if(&key(at(4)), &row, Event::KIND.equals("nothing")).await.unwrap());
        assert!(
            events.delete_if(&key(at(4)), Condition::row_exists()).await.unwrap()
                == rows.contains_key(&at(4))
        );
        rows.remove(&at(4));
        // Many rows, one of which is in the old table, and one is not.
        let several: Vec<_> = [at(5), at(4)].map(|at| (key(at), event(&format!("all {round}"), 5))).into();
        events.put_all(&several).await.unwrap();
        for (key, row) in several {
            rows.insert(key.at, row);
        }
        let merged = Event { log: Some(format!("merged {round}")), ..Event::default() };
        events.merge_all([(key(at(0)), merged)]).await.unwrap();
        let row = rows.entry(at(0)).or_default();
        (row.log, row.views) = (Some(format!("merged {round}")), 0);
        let ranks = [at(0), at(5)].map(|at| events.update(&key(at)).set(Event::RANK, 7));
        events.update_all(ranks).await.unwrap();
        for at in [at(0), at(5)] {
            rows.entry(at).or_default().rank = Some(7);
        }
    }
}

/// On the embedded Bigtable by a clock that jumps over the leases, on the emulator in their time.
macro_rules! in_every_state {
    ($($test:ident)*) => {
        mod embedded {
            $(#[tokio::test(start_paused = true)] async fn $test() {
                super::$test(keyderive::Client::embedded()).await;
            })*
        }
        mod emulator {
            $(#[tokio::test] async fn $test() {
                if !keyderive_tests::runs_long("calls in every state of a re-keying on the emulator") { return; }
                let Some((_emulator, client)) = crate::servers::emulator().await else { return };
                super::$test(client).await;
            })*
        }
    };
}

in_every_state! {
    a_table_is_moved_while_it_is_written
    a_table_is_rolled_back_while_it_is_written
    a_table_is_rolled_back_before_it_was_written
}

async fn expected(client: &Client) -> Expected {
    drop(old_table(client, 9).await);
    let rows = (0..9).map(|at| (at, event("old", 1))).collect();
    Expected { events: open(client).await, elsewhere: open(client).await, rows }
}

async fn a_table_is_moved_while_it_is_written(client: Client) {
    let mut expected = expected(&client).await;
    expected.check(State::Old).await;
    expected.write(State::Old, 0).await;
    let driver = open(&client).await;
    assert!(driver.migration().check().await.unwrap().is_ok());
    for (round, state) in [State::Paused, State::Copying, State::Moved, State::New].into_iter().enumerate() {
        drive_to(&driver, false, state).await;
        expected.check(state).await;
        if state != State::Paused {
            expected.write(state, round as u64 + 1).await;
            expected.check(state).await;
            // Each state is entered by processes at different times.
            expected.write(state, round as u64 + 20).await;
            expected.check(state).await;
        }
        if state == State::Moved {
            let verified = driver.migration().verify().await.unwrap();
            assert!(verified.is_equal(), "{verified}");
        }
    }
    // A plain table of the new keys has the rows, and no origins.
    let plain = client.table::<New, Event>("events-16");
    plain.verify().await.unwrap();
    for (at, row) in &expected.rows {
        assert_eq!(plain.get(&key(*at)).await.unwrap().as_ref(), Some(row));
    }
    assert_eq!(plain.count(New::scan()).await.unwrap(), expected.rows.len() as u64);
    let families = plain.info().await.unwrap();
    assert!(families.family("keyderive-origin").is_none());
    // The old table can no longer be used.
    let old = client.table::<Old, Event>("events");
    assert!(old.verify().await.unwrap_err().is_table_mismatch());
}

async fn a_table_is_rolled_back_while_it_is_written(client: Client) {
    let mut expected = expected(&client).await;
    let driver = open(&client).await;
    drive_to(&driver, false, State::Moved).await;
    expected.write(State::Moved, 3).await;
    for (round, state) in
        [State::RollbackPaused, State::RollbackCopying, State::RolledBack].into_iter().enumerate()
    {
        drive_to(&driver, true, state).await;
        expected.check(state).await;
        if state != State::RollbackPaused {
            expected.write(state, round as u64 + 5).await;
            expected.check(state).await;
        }
    }
    let plain = client.table::<Old, Event>("events");
    plain.verify().await.unwrap();
    for (at, row) in &expected.rows {
        assert_eq!(plain.get(&Old::from(&key(*at))).await.unwrap().as_ref(), Some(row));
    }
    assert_eq!(plain.count(Old::scan()).await.unwrap(), expected.rows.len() as u64);

    // Another attempt needs another table.
    let again = open(&client).await;
    let error = again.migration().run().await.unwrap_err();
    assert!(error.is_table_mismatch() && error.to_string().contains("new table"), "{error}");
    drop((expected, driver, again));
    let again = client.rekeyed::<Old, New, Event>("events", "events-second").await.unwrap();
    again.migration().lease(LEASE).run().await.unwrap();
    assert_eq!(again.migration().state().await.unwrap(), State::Moved);
    assert!(again.migration().verify().await.unwrap().is_equal());
}

async fn a_table_is_rolled_back_before_it_was_written(client: Client) {
    let mut expected = expected(&client).await;
    let driver = open(&client).await;
    drive_to(&driver, false, State::Paused).await;
    drive_to(&driver, true, State::RolledBack).await;
    expected.write(State::RolledBack, 1).await;
    expected.check(State::RolledBack).await;
    client.table::<Old, Event>("events").verify().await.unwrap();
}

/// A row type with a family that the table lacks.
#[derive(Row, Clone, Debug, Default, PartialEq)]
struct Placed {
    #[row(family = "place")]
    city: Option<String>,
}

#[tokio::test(start_paused = true)]
async fn a_row_type_that_does_not_fit_is_rejected() {
    let client = Client::embedded();
    drop(old_table(&client, 3).await);
    let error = client.rekeyed::<Old, New, Placed>("events", "events-16").await.unwrap_err();
    assert!(error.is_table_mismatch(), "{error}");
    let placed = open(&client).await.rows_as::<Placed>();
    for error in [
        placed.get(&key(0)).await.unwrap_err(),
        placed.scan_both(New::scan(), Old::scan()).collect().await.unwrap_err(),
    ] {
        assert!(error.is_table_mismatch() && error.to_string().contains("`place`"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_function_serves_a_table_and_a_pair() {
    async fn ranks<K, S>(events: &Table<K, Event, S>, keys: &[K]) -> i64
    where
        K: TableKey,
        S: Reads,
    {
        let rows = events.get_many(keys).await.unwrap();
        rows.into_iter().flatten().filter_map(|row| row.rank).sum()
    }
    let client = Client::embedded();
    let plain = old_table(&client, 3).await;
    let keys: Vec<_> = (0..4).map(key).collect();
    let old_keys: Vec<_> = keys.iter().map(Old::from).collect();
    assert_eq!(ranks(&plain, &old_keys).await, 3);
    assert_eq!(ranks(&open(&client).await, &keys).await, 3);
}
