//! A registry that is deleted, restored from before, or cannot be read, in each state of a re-keying.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use keyderive::client::ReadRows;
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::row::{Mutation, RawRow};
use keyderive::table::rekey::{Rekeyed, State};
use keyderive::{Client, Error};
use keyderive_tests::one_in;
use tokio::time::sleep;

use super::calls::{Event, Events, LEASE, New, Old, drive_to, event, key, old_table, open};

const ROWS: u64 = 6;
const CONTROL_ROW: &str = "rekey/events/";

/// The states of a re-keying that comes to its end, and of one that is rolled back.
const WALKS: [&[State]; 3] = [
    &[State::Paused, State::Copying, State::Moved, State::New],
    &[
        State::Paused,
        State::Copying,
        State::Moved,
        State::RollbackPaused,
        State::RollbackCopying,
        State::RolledBack,
    ],
    &[State::Paused, State::RolledBack],
];

/// A table on its way, and what was acknowledged.
struct World {
    bigtable: Bigtable,
    /// A process that has run from the beginning.
    running: Events,
    /// What the control row held in each state, first none.
    before: Vec<Option<RawRow>>,
    rows: BTreeMap<u64, String>,
}

impl World {
    async fn at(walk: &[State]) -> Self {
        let (bigtable, client) = created(ROWS).await;
        let rows = (0..ROWS).map(|at| (at, "old".to_owned())).collect();
        let running = open(&client).await;
        let mut world = Self { bigtable, running, before: vec![None], rows };
        let driver = open(&client).await;
        let mut is_back = false;
        for state in walk {
            is_back |= matches!(state, State::RollbackPaused | State::RolledBack);
            drive_to(&driver, is_back, *state).await;
            world.before.push(control(&client, CONTROL_ROW).await);
            // Until the state has reached it.
            sleep(LEASE * 2).await;
            if !matches!(state, State::Paused | State::RollbackPaused) {
                let at = world.rows.len() as u64;
                world.running.put(&key(at), &event(&at.to_string(), 2)).await.unwrap();
                world.rows.insert(at, at.to_string());
                world.running.delete(&key(at % ROWS)).await.unwrap();
                world.rows.remove(&(at % ROWS));
                world.rows.insert(100 + at, at.to_string());
                world.running.put(&key(100 + at), &event(&at.to_string(), 2)).await.unwrap();
            }
        }
        world
    }

    fn client(&self) -> Client {
        let client = self.bigtable.client();
        client.with(|settings| settings.each(|call| call.total_timeout = Duration::from_secs(3)))
    }

    /// Has the control row hold what it did; deletes it for none.
    async fn restore(&self, before: Option<&RawRow>) {
        restore(&self.client(), CONTROL_ROW, before).await;
    }

    /// Whatever a process answers is right.
    async fn is_right(&self, events: &Events, what: &str) {
        for at in (0..20).chain(100..120) {
            match events.get(&key(at)).await {
                Ok(found) => {
                    let found = found.and_then(|event| event.kind);
                    assert_eq!(found.as_ref(), self.rows.get(&at), "{what}: {at}");
                }
                Err(error) => assert!(is_loud(&error), "{what}: {error}"),
            }
        }
    }

    /// The last table has what was acknowledged.
    async fn ends_right(&self, what: &str) {
        let events = match open_again(&self.client()).await {
            Ok(events) => events,
            Err(error) => {
                assert!(is_loud(&error), "{what}: {error}");
                return;
            }
        };
        self.is_right(&events, what).await;
    }
}

/// A Bigtable with the old table.
async fn created(rows: u64) -> (Bigtable, Client) {
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    old_table(&client, rows).await;
    (bigtable, client)
}

/// What a row of the registry holds.
async fn control(client: &Client, row: &'static str) -> Option<RawRow> {
    client.raw_table("keyderive").read_row(row, None).await.unwrap()
}

/// Has a row of the registry hold what it did; deletes it for none.
async fn restore(client: &Client, row: &'static str, before: Option<&RawRow>) {
    let cells = before.into_iter().flat_map(RawRow::cells).map(|cell| {
        let (qualifier, value) = (cell.qualifier().to_vec(), cell.value().to_vec());
        Mutation::set(cell.family(), qualifier, cell.timestamp_micros(), value)
    });
    let mutations: Vec<_> = [Mutation::delete_row()].into_iter().chain(cells).collect();
    client.raw_table("keyderive").mutate_row(row, mutations).await.unwrap();
}

/// The kind of an event.
async fn kind(events: &Events, at: u64) -> Option<String> {
    events.get(&key(at)).await.unwrap().and_then(|event| event.kind)
}

/// Every row that a table stores.
async fn stored(client: &Client, table: &str) -> Vec<RawRow> {
    client.raw_table(table).read_rows(ReadRows::all()).try_collect().await.unwrap()
}

/// Whether a call says that it has not done what it was asked.
fn is_loud(error: &Error) -> bool {
    error.is_table_mismatch()
        || error.is_unavailable()
        || error.is_deadline_exceeded()
        || error.is_not_found()
        || error.is_permission_denied()
}

async fn open_again(client: &Client) -> Result<Events, Error> {
    client.rekeyed("events", "events-16").await
}

/// The first states of each walk, and the number of one of them.
fn earlier_states() -> impl Iterator<Item = (&'static [State], usize)> {
    let walks = WALKS.into_iter().flat_map(|walk| (1..=walk.len()).map(|length| &walk[..length]));
    walks.flat_map(|walk| (0..walk.len()).map(move |earlier| (walk, earlier)))
}

/// Every earlier control row in every state, or none: a process that starts then reads and writes what counts, or fails; and once the
/// registry is right again, nothing that was acknowledged is missing.
#[tokio::test(start_paused = true)]
async fn a_registry_of_before_loses_nothing() {
    let (mut refused, share) = (0, one_in(4, "earlier states of the registry, by which a process starts"));
    for (walk, earlier) in earlier_states().step_by(share) {
        let mut world = World::at(walk).await;
        let what = format!("{walk:?} with the control row of {earlier}");
        world.restore(world.before[earlier].as_ref()).await;
        match open_again(&world.client()).await {
            Ok(events) => {
                world.is_right(&events, &what).await;
                if events.put(&key(200), &event("late", 3)).await.is_ok() {
                    world.rows.insert(200, "late".into());
                }
                sleep(LEASE * 3).await;
                world.is_right(&world.running, &what).await;
            }
            Err(error) => {
                assert!(is_loud(&error), "{what}: {error}");
                refused += 1;
            }
        }
        world.restore(world.before[walk.len()].as_ref()).await;
        sleep(LEASE * 3).await;
        let events = open(&world.client()).await;
        world.is_right(&events, &what).await;
        assert_eq!(kind(&events, 200).await.as_ref(), world.rows.get(&200), "{what}");
    }
    assert!(refused >= 20 / share, "{refused}");
}

/// Whoever drives on from an earlier control row fails, or comes to an end that has everything.
#[tokio::test(start_paused = true)]
async fn a_driver_with_a_registry_of_before_loses_nothing() {
    let (mut ended, share) = (0, one_in(8, "earlier states of the registry, by which a driver goes on"));
    let cases = earlier_states().flat_map(|(walk, earlier)| (0..3).map(move |goal| (walk, earlier, goal)));
    for (walk, earlier, goal) in cases.step_by(share) {
        let world = World::at(walk).await;
        let what = format!("{walk:?} with the control row of {earlier}, goal {goal}");
        world.restore(world.before[earlier].as_ref()).await;
        let Ok(driver) = open_again(&world.client()).await else { continue };
        let migration = driver.migration().lease(LEASE);
        let driven = match goal {
            0 => migration.run().await,
            1 => match migration.run().await {
                Ok(()) => migration.finish().await,
                failed => failed,
            },
            _ => migration.roll_back().await,
        };
        ended += u64::from(driven.is_ok());
        sleep(LEASE * 3).await;
        world.ends_right(&what).await;
        world.is_right(&world.running, &what).await;
    }
    assert!(ended > 10 / share as u64, "{ended}");
}

/// The table itself is deleted: as a deleted row, and whoever starts makes a new one.
#[tokio::test(start_paused = true)]
async fn a_deleted_registry_is_loud_in_each_state() {
    for walk in WALKS {
        for length in 1..=walk.len() {
            let world = World::at(&walk[..length]).await;
            let state = walk[length - 1];
            let client = world.client();
            // It has deletion protection, which somebody has taken away.
            let is_at_work = !matches!(state, State::New | State::RolledBack);
            assert_eq!(
                client.raw_table("keyderive").info().await.unwrap().is_protected(),
                is_at_work,
                "{state}"
            );
            assert!(!is_at_work || client.delete_table("keyderive").await.is_err(), "{state}");
            world.restore(None).await;
            sleep(LEASE * 6).await;
            let reads = world.running.get(&key(0)).await;
            match state {
                // Nobody asks for the state any more.
                State::New => assert!(reads.is_ok()),
                _ => assert!(reads.as_ref().is_err_and(is_loud), "{state}: {reads:?}"),
            }
            match open_again(&client).await {
                // No row was written to the new table yet, or the way back has come to its end.
                Ok(events) => {
                    assert!(matches!(state, State::Paused | State::RolledBack), "{state}");
                    world.is_right(&events, &state.to_string()).await;
                }
                Err(error) => {
                    assert!(error.is_table_mismatch(), "{error}");
                    assert!(error.to_string().contains("`keyderive`"), "{error}");
                }
            }
        }
    }
}

/// A table was deleted, or made again, while it was re-keyed: the end of another re-keying finds nothing to protect.
#[tokio::test(start_paused = true)]
async fn a_table_that_is_gone_does_not_keep_the_registry_protected() {
    for is_made_again in [false, true] {
        let (_bigtable, client) = created(ROWS).await;
        drive_to(&open(&client).await, false, State::Copying).await;
        client.delete_table("events").await.unwrap();
        if is_made_again {
            old_table(&client, ROWS).await;
        }
        let is_protected = async || client.raw_table("keyderive").info().await.unwrap().is_protected();
        client.table::<Old, Event>("others").create().without_row_key_schema().await.unwrap();
        let others = client.rekeyed::<Old, New, Event>("others", "others-16").await.unwrap();
        drive_to(&others, false, State::Moved).await;
        assert!(is_protected().await);
        drive_to(&others, false, State::New).await;
        assert!(!is_protected().await);
    }
}

/// Reads of the registry fail: calls go on for a lease, and then fail.
#[tokio::test(start_paused = true)]
async fn an_unreadable_registry_is_loud_in_each_state() {
    for walk in WALKS {
        for length in 1..=walk.len() {
            let world = World::at(&walk[..length]).await;
            let state = walk[length - 1];
            let faults = Faults::seeded(0).fail(Method::ReadRows, 1.0, Fault::permission_denied());
            let error = open_again(&world.bigtable.with_faults(faults).client()).await.unwrap_err();
            assert!(error.is_permission_denied(), "{state}: {error}");
        }
    }
}

/// Law 20, while a table is re-keyed: beside the user's rows, and origins, nothing is in either table.
#[tokio::test(start_paused = true)]
async fn both_tables_have_the_rows_of_their_user() {
    for walk in WALKS {
        let world = World::at(walk).await;
        for table in ["events", "events-16"] {
            for row in stored(&world.client(), table).await {
                assert!(row.key().len() > 4, "{:?}", row.key());
                assert!(row.cells().all(|cell| cell.family() != "keyderive"), "{row:?}");
            }
        }
    }
}

/// SQL reads both tables by the fields of their keys: each row has a key of the table's type in every state. A row that was deleted
/// meanwhile stays as its origin alone, until the end.
#[tokio::test(start_paused = true)]
async fn a_table_with_a_row_key_schema_is_re_keyed() {
    check_keys_in_each_state(Client::embedded(), true).await;
}

/// The emulator keeps no row key schemas; the rows are the same.
#[tokio::test]
async fn the_keys_of_a_re_keyed_table_are_of_its_type_on_the_emulator() {
    if !keyderive_tests::runs_long("the keys in each state of a re-keying on the emulator") {
        return;
    }
    let Some((_emulator, client)) = crate::servers::emulator().await else { return };
    check_keys_in_each_state(client, false).await;
}

async fn check_keys_in_each_state(client: Client, has_schemas: bool) {
    let old = client.table::<Old, Event>("events");
    old.create().await.unwrap();
    assert_eq!(old.verify().await.unwrap().row_key_schema, has_schemas);
    let rows: Vec<_> = (0..ROWS).map(|at| (key(at), event("old", 1))).collect();
    old.put_all(rows.iter().map(|(key, row)| (Old::from(key), row.clone()))).await.unwrap();
    let events = open(&client).await;
    for state in [State::Paused, State::Copying, State::Moved, State::New] {
        drive_to(&events, false, state).await;
        if state == State::Copying {
            events.delete(&key(0)).await.unwrap();
        }
        for (at, table) in ["events", "events-16"].into_iter().enumerate() {
            let stored = stored(&client, table).await;
            for row in &stored {
                let is_of_table =
                    if at == 0 { Old::decode(row.key()).is_ok() } else { New::decode(row.key()).is_ok() };
                assert!(is_of_table, "{state}: {:?}", row.key());
            }
            let expected = match (table, state) {
                ("events", _) => ROWS..=ROWS,
                (_, State::Paused) => 0..=0,
                // As far as the copy has come, with the row that was deleted.
                (_, State::Copying) => 1..=ROWS,
                (_, State::Moved) => ROWS..=ROWS,
                _ => ROWS - 1..=ROWS - 1,
            };
            assert!(expected.contains(&(stored.len() as u64)), "{state}: {table} has {}", stored.len());
        }
        let expected = if state == State::Paused { ROWS } else { ROWS - 1 };
        assert_eq!(events.scan_both(New::scan(), Old::scan()).count().await.unwrap(), expected, "{state}");
    }
    let new = client.table::<New, Event>("events-16");
    assert_eq!(new.verify().await.unwrap().row_key_schema, has_schemas);
    assert_eq!(new.count(New::scan()).await.unwrap(), ROWS - 1);
}

/// A table is deleted and made again under its name, and re-keyed by others, while a process runs that has opened the one of before.
#[tokio::test(start_paused = true)]
async fn a_process_of_a_table_that_was_made_again_loses_nothing() {
    for state in [State::Copying, State::Moved, State::New] {
        let (bigtable, client) = created(ROWS).await;
        let running = open(&client).await;
        running.put(&key(0), &event("first", 1)).await.unwrap();
        let other = bigtable.client();
        other.delete_table("events").await.unwrap();
        old_table(&other, ROWS).await;
        let driver = open(&other).await;
        drive_to(&driver, false, state).await;
        sleep(LEASE * 6).await;
        for at in 0..ROWS {
            match running.put(&key(at), &event("late", 2)).await {
                Ok(()) => {
                    assert_eq!(kind(&driver, at).await.as_deref(), Some("late"), "{state}: {at}");
                }
                Err(error) => assert!(is_loud(&error), "{state}: {error}"),
            }
        }
    }
}

/// The registry is restored to the pause, and the re-keying rolled back, while a process still acts by what came after it.
#[tokio::test(start_paused = true)]
async fn a_roll_back_with_a_registry_of_before_looks_after_the_last_write() {
    let mut written = 0;
    // Of a quarter of a lease, after which it reads the registry.
    for part in 0..4 {
        let (bigtable, client) = created(0).await;
        let running = open(&client).await;
        // Its first write is compared with what others declare.
        running.put(&key(0), &event("first", 1)).await.unwrap();
        running.delete(&key(0)).await.unwrap();
        let driver = open(&client).await;
        let mut world = World { bigtable, running, before: vec![None], rows: BTreeMap::new() };
        for state in [State::Paused, State::Copying] {
            drive_to(&driver, false, state).await;
            world.before.push(control(&client, CONTROL_ROW).await);
        }
        drop(driver);
        sleep(LEASE * 2 + LEASE / 16 * part).await;
        world.restore(world.before[1].as_ref()).await;
        let (back, acknowledged) =
            tokio::join!(async { open_again(&world.client()).await?.migration().roll_back().await }, async {
                let mut acknowledged = Vec::new();
                for at in 0..100 {
                    if world.running.put(&key(at), &event("late", 2)).await.is_ok() {
                        acknowledged.push((at, "late".to_owned()));
                    }
                    sleep(Duration::from_millis(10)).await;
                }
                acknowledged
            });
        back.unwrap();
        written += acknowledged.len();
        world.rows = acknowledged.into_iter().collect();
        world.ends_right("restored to the pause").await;
    }
    assert!(written > 0);
}

/// A process that still has the pair open after the end, with a long lease, when the registry is deleted and another attempt begins.
#[tokio::test(start_paused = true)]
async fn a_registry_that_is_deleted_after_the_end_loses_nothing_whatever_the_lease() {
    let (bigtable, client) = created(ROWS).await;
    let running = open(&client).await;
    let long = Duration::from_secs(60);
    let driver = open(&client).await;
    driver.migration().lease(long).run().await.unwrap();
    driver.migration().roll_back().await.unwrap();
    drop(driver);
    sleep(long * 2).await;
    client.delete_table("keyderive").await.unwrap();
    let driver = bigtable.client().rekeyed::<Old, New, Event>("events", "events-64").await.unwrap();
    let migration = driver.migration().lease(LEASE);
    let (moved, acknowledged) = tokio::join!(migration.run(), async {
        let mut acknowledged = BTreeMap::new();
        for at in 0..400u64 {
            let kind = at.to_string();
            if running.put(&key(at % ROWS), &event(&kind, 2)).await.is_ok() {
                acknowledged.insert(at % ROWS, kind);
            }
            sleep(Duration::from_millis(100)).await;
        }
        acknowledged
    });
    moved.unwrap();
    for (at, expected) in acknowledged {
        assert_eq!(kind(&driver, at).await, Some(expected), "{at}");
    }
}

/// One operator ends the re-keying at the moment at which another takes it back: one of both fails, and the table is of use.
#[tokio::test(start_paused = true)]
async fn finish_and_roll_back_at_the_same_time_leave_a_table() {
    for head_start in (0..14).step_by(one_in(4, "moments at which a re-keying is taken back")) {
        let (bigtable, client) = created(ROWS).await;
        let driver = open(&client).await;
        drive_to(&driver, false, State::Moved).await;
        let (one, two) = (open(&bigtable.client()).await, open(&bigtable.client()).await);
        let (back, finished) = tokio::join!(async { one.migration().roll_back().await }, async {
            sleep(Duration::from_millis(head_start * 300)).await;
            two.migration().finish().await
        });
        sleep(LEASE * 6).await;
        let events = open_again(&bigtable.client()).await.unwrap();
        assert_eq!(events.scan_both(New::scan(), Old::scan()).count().await.unwrap(), ROWS, "{head_start}");
        assert!(back.is_ok() || finished.is_ok(), "{back:?} {finished:?}");
    }
}

/// A process hangs for longer than its lease, and the registry is restored meanwhile to the row that it knows: it looks at the stamps.
#[test]
fn a_process_that_hung_does_not_act_by_a_registry_of_before() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (others, hanging) = (runtime(), runtime());
    let (bigtable, driver) = others.block_on(async {
        let (bigtable, client) = created(ROWS).await;
        let driver = open(&client).await;
        drive_to(&driver, false, State::Copying).await;
        (bigtable, driver)
    });
    let hung = hanging.block_on(open(&bigtable.client()));
    others.block_on(async {
        let row = control(&bigtable.client(), CONTROL_ROW).await;
        drive_to(&driver, true, State::RollbackCopying).await;
        let world =
            World { bigtable: bigtable.clone(), running: driver, before: vec![], rows: BTreeMap::new() };
        world.restore(row.as_ref()).await;
    });
    hanging.block_on(async {
        tokio::time::advance(LEASE * 60).await;
        let written = hung.put(&key(0), &event("late", 2)).await;
        assert!(written.as_ref().is_err_and(Error::is_table_mismatch), "{written:?}");
    });
}

/// A driver dies after it has dropped the origins, and the registry is restored to the state before, which no stamp fits any more: all is
/// loud, and `finish` goes on once the newest row is restored.
#[tokio::test(start_paused = true)]
async fn an_end_that_has_begun_fits_no_registry_of_before() {
    let world = World::at(&[State::Paused, State::Copying, State::Moved]).await;
    let fault = Faults::seeded(0).fail_nth(Method::ModifyColumnFamilies, 4, Fault::permission_denied());
    let faulty = world.bigtable.with_faults(fault).client();
    let died = open_again(&faulty).await.unwrap().migration().lease(LEASE).finish().await;
    assert!(died.is_err_and(|error| error.is_permission_denied()));
    let client = world.client();
    let families = client.raw_table("events-16").info().await.unwrap();
    assert!(families.family("keyderive-origin").is_none());
    let newest = control(&client, CONTROL_ROW).await;
    world.restore(world.before[3].as_ref()).await;
    assert!(open_again(&client).await.is_err_and(|error| error.is_table_mismatch()));
    world.restore(newest.as_ref()).await;
    open(&client).await.migration().finish().await.unwrap();
    let rows = client.table::<New, Event>("events-16").count(New::scan()).await.unwrap();
    assert_eq!(rows, world.rows.len() as u64);
}

/// A driver dies at any request, whose answer it has or not: the next one comes to the end, or to one that is taken back.
#[tokio::test(start_paused = true)]
async fn whatever_request_a_driver_dies_at_the_next_one_ends() {
    let methods = [
        Method::ModifyColumnFamilies,
        Method::CheckAndMutateRow,
        Method::GetTable,
        Method::CreateTable,
        Method::MutateRow,
    ];
    let share = one_in(3, "requests at which a driver dies");
    for (method, is_applied) in methods.into_iter().flat_map(|method| [(method, false), (method, true)]) {
        let mut died = 0;
        for number in [1, 2, 3, 5].into_iter().step_by(share) {
            for ways in [0, 3] {
                let (bigtable, client) = created(ROWS).await;
                let running = open(&client).await;
                let fault = Fault::permission_denied();
                let fault = if is_applied { fault.after_the_call() } else { fault };
                let faulty = bigtable.with_faults(Faults::seeded(0).fail_nth(method, number, fault)).client();
                let first = async {
                    let migration = open_again(&faulty).await?.migration().lease(LEASE);
                    migration.run().await?;
                    if ways % 2 == 0 { migration.finish().await } else { migration.roll_back().await }
                };
                died += u64::from(first.await.is_err());
                let what = format!("{method:?} {number} {is_applied} {ways}");
                let next = open(&client).await;
                let migration = next.migration().lease(LEASE);
                let state = migration.state().await.unwrap();
                let ended = match (ways < 2, state) {
                    (true, State::RollbackPaused | State::RollbackCopying | State::RolledBack) => {
                        migration.roll_back().await
                    }
                    (true, _) => match migration.run().await {
                        Ok(()) => migration.finish().await,
                        failed => failed,
                    },
                    (false, _) => match migration.roll_back().await {
                        Err(_) => migration.finish().await,
                        back => back,
                    },
                };
                ended.unwrap_or_else(|error| panic!("{what} {state}: {error}"));
                sleep(LEASE * 3).await;
                for events in [&running, &next] {
                    let rows = events.scan_both(New::scan(), Old::scan()).count().await;
                    assert_eq!(rows.unwrap(), ROWS, "{what} {state}");
                }
                let found = match migration.state().await.unwrap() {
                    State::New => bigtable.client().table::<New, Event>("events-16").count(New::scan()).await,
                    _ => bigtable.client().table::<Old, Event>("events").count(Old::scan()).await,
                };
                assert_eq!(found.unwrap(), ROWS, "{what} {state}");
            }
        }
        assert!(died > 0, "{method:?}");
    }
}

/// The old table is deleted after the end, or on the way, and a program of before makes it again.
#[tokio::test(start_paused = true)]
async fn an_old_table_that_is_made_again_is_not_taken_for_the_new_one() {
    for length in [2, 3, 4] {
        let world = World::at(&WALKS[0][..length]).await;
        let client = world.client();
        client.delete_table("events").await.unwrap();
        client.table::<Old, Event>("events").create().without_row_key_schema().await.unwrap();
        sleep(LEASE * 3).await;
        let error = open_again(&client).await.unwrap_err();
        assert!(error.to_string().contains("`events-16`"), "{length}: {error}");
        if length == WALKS[0].len() {
            // A re-keying of it needs a new table, as any.
            client.rekeyed::<Old, New, Event>("events", "events-64").await.unwrap();
        }
    }
}

/// What the registry recorded of a pass is about the table of before.
#[tokio::test(start_paused = true)]
async fn a_table_that_was_made_again_is_copied_from_its_first_row() {
    let (_bigtable, client) = created(ROWS).await;
    let driver = open(&client).await;
    driver.migration().lease(LEASE).run().await.unwrap();
    driver.migration().finish().await.unwrap();
    for table in ["events", "events-16"] {
        client.delete_table(table).await.unwrap();
    }
    old_table(&client, ROWS).await;
    let driver = open(&client).await;
    driver.migration().lease(LEASE).run().await.unwrap();
}

/// Once a plain program may open the new table, it meets no row that has an origin alone.
#[tokio::test(start_paused = true)]
async fn a_row_that_was_deleted_stays_deleted_while_finish_ends() {
    let (bigtable, client) = created(ROWS).await;
    let events = open(&client).await;
    drive_to(&events, false, State::Moved).await;
    events.delete(&key(0)).await.unwrap();
    let migration = events.migration();
    let mut opened = 0;
    let finish = migration.finish();
    let watch = async {
        for step in 0..400 {
            let new = bigtable.client().table::<New, Event>("events-16");
            let exists = new.exists(&key(0)).await;
            if !exists.as_ref().is_err_and(Error::is_table_mismatch) {
                opened += 1;
                assert!(!exists.unwrap(), "exists {step}");
                assert_eq!(new.get(&key(0)).await.unwrap(), None, "{step}");
                assert_eq!(new.count(New::scan()).await.unwrap(), ROWS - 1, "count {step}");
                assert_eq!(
                    new.scan(New::scan()).collect().await.unwrap().len() as u64,
                    ROWS - 1,
                    "scan {step}"
                );
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let (finished, ()) = tokio::join!(finish, watch);
    finished.unwrap();
    assert!(opened > 0);
}

mod by_row {
    //! New keys that are made of rows.

    use super::*;
    use crate::keys::{create_sales, open_sales, sale};

    /// There is no way back, whatever the registry is restored to.
    #[tokio::test(start_paused = true)]
    async fn a_registry_of_before_opens_no_way_back() {
        let bigtable = Bigtable::in_memory();
        let client = bigtable.client();
        let (key, row) = sale("a", 1, 1);
        create_sales(&client).await.put(&(&key).into(), &row).await.unwrap();
        let driver = open_sales(&bigtable.client()).await;
        let mut paused = None;
        for state in [State::Paused, State::Copying] {
            drive_to(&driver, false, state).await;
            if state == State::Paused {
                paused = control(&client, "rekey/sales/").await;
            }
        }
        sleep(LEASE * 3).await;
        for (key, row) in [sale("b", 1, 2), sale("c", 1, 3)] {
            driver.put(&key, &row).await.unwrap();
        }
        drop(driver);
        restore(&client, "rekey/sales/", paused.as_ref()).await;
        let driver = open_sales(&bigtable.client()).await;
        let back = driver.migration().roll_back().await;
        if back.is_ok() {
            for shop in ["b", "c"] {
                assert!(driver.get(&sale(shop, 1, 0).0).await.unwrap().is_some(), "{shop}");
            }
        }
        // Whatever the operator does next comes to an end.
        let (run, finish) = (driver.migration().run().await, driver.migration().finish().await);
        assert!(back.is_ok() || (run.is_ok() && finish.is_ok()), "{back:?} {run:?} {finish:?}");
    }
}

mod tags {
    //! Key types that share a table, both of which are re-keyed.

    use super::*;

    #[derive(keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "order")]
    struct Order {
        id: u64,
    }

    #[derive(keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "order")]
    #[salt(range = 4, over = "id")]
    struct SaltedOrder {
        id: u64,
    }

    #[derive(keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "user")]
    struct User {
        id: u64,
    }

    #[derive(keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "user")]
    #[salt(range = 4, over = "id")]
    struct SaltedUser {
        id: u64,
    }

    #[derive(keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "third")]
    #[salt(range = 4, over = "id")]
    struct Third {
        id: u64,
    }

    macro_rules! convert {
        ($($old:ident $new:ident)*) => {$(
            impl From<$old> for $new {
                fn from(key: $old) -> Self {
                    Self { id: key.id }
                }
            }

            impl From<&$new> for $old {
                fn from(key: &$new) -> Self {
                    Self { id: key.id }
                }
            }
        )*};
    }

    convert! { Order SaltedOrder User SaltedUser Order SaltedUser Order Third }

    /// A table becomes itself, in a second attempt: what is written before that has begun has no origins in it.
    #[tokio::test(start_paused = true)]
    async fn a_second_attempt_in_one_table_loses_nothing() {
        let bigtable = Bigtable::in_memory();
        let client = bigtable.client();
        client.table::<Order, Event>("t").create().without_row_key_schema().await.unwrap();
        let first = client.rekeyed::<Order, SaltedUser, Event>("t", "t").await.unwrap();
        first.migration().lease(LEASE).run().await.unwrap();
        first.migration().roll_back().await.unwrap();
        drop(first);
        // Programs write between any two of its requests.
        let slow = Faults::seeded(0).delay(Method::ModifyColumnFamilies, 1.0, Duration::from_millis(500));
        let slow = bigtable.with_faults(slow).client();
        let second = slow.rekeyed::<Order, Third, Event>("t", "t").await.unwrap();
        let migration = second.migration().lease(LEASE);
        let (moved, ()) = tokio::join!(migration.run(), async {
            // Each write by a process that has just begun.
            for at in 0..200i64 {
                let begun = bigtable.client().rekeyed::<Order, Third, Event>("t", "t").await.unwrap();
                begun.put(&Third { id: 0 }, &event("new", at)).await.unwrap();
                let found = second.get(&Third { id: 0 }).await.unwrap();
                assert_eq!(found, Some(event("new", at)));
                sleep(Duration::from_millis(50)).await;
            }
        });
        moved.unwrap();
        assert_eq!(second.get(&Third { id: 0 }).await.unwrap(), Some(event("new", 199)));
    }

    type Orders = Rekeyed<Order, SaltedOrder, Event>;
    type Users = Rekeyed<User, SaltedUser, Event>;

    /// A table with rows of both, of which each is to be re-keyed.
    async fn both(client: &Client) -> (Orders, Users) {
        let (orders, users) = (client.table::<Order, Event>("t"), client.table::<User, Event>("t"));
        orders.create().without_row_key_schema().await.unwrap();
        users.create().without_row_key_schema().if_absent().await.unwrap();
        for id in 0..ROWS {
            orders.put(&Order { id }, &event("old", 1)).await.unwrap();
            users.put(&User { id }, &event("old", 1)).await.unwrap();
        }
        (client.rekeyed("t", "orders").await.unwrap(), client.rekeyed("t", "users").await.unwrap())
    }

    /// The origins of both would be in one family, which the end of either drops.
    #[tokio::test(start_paused = true)]
    async fn a_table_is_re_keyed_for_one_of_its_key_types_at_a_time() {
        let client = Bigtable::in_memory().client();
        let (orders, users) = both(&client).await;
        orders.migration().lease(LEASE).run().await.unwrap();
        let error = users.migration().lease(LEASE).run().await.unwrap_err();
        assert!(error.is_table_mismatch(), "{error}");
        assert_eq!(users.migration().state().await.unwrap(), State::Old);
        users.put(&SaltedUser { id: 0 }, &event("new", 2)).await.unwrap();
        orders.migration().roll_back().await.unwrap();
        users.migration().lease(LEASE).run().await.unwrap();
        users.migration().finish().await.unwrap();
        // The table stays, for the orders.
        let orders = client.rekeyed::<Order, SaltedOrder, Event>("t", "orders-2").await.unwrap();
        orders.migration().lease(LEASE).run().await.unwrap();
        orders.migration().roll_back().await.unwrap();
        assert_eq!(users.get(&SaltedUser { id: 0 }).await.unwrap(), Some(event("new", 2)));
    }

    /// Each begins before the other has stamped the table.
    #[tokio::test(start_paused = true)]
    async fn of_two_that_begin_at_the_same_time_both_leave_every_row() {
        let client = Bigtable::in_memory().client();
        let (orders, users) = both(&client).await;
        let (one, two) = (orders.migration().lease(LEASE), users.migration().lease(LEASE));
        let (first, second) = tokio::join!(one.run(), two.run());
        assert!(first.is_err() || second.is_err(), "{first:?} {second:?}");
        // Whoever was refused takes it back, and then the other can.
        if second.is_err() {
            two.roll_back().await.unwrap();
        }
        one.roll_back().await.unwrap();
        two.roll_back().await.unwrap();
        for id in 0..ROWS {
            assert_eq!(orders.get(&SaltedOrder { id }).await.unwrap(), Some(event("old", 1)));
            assert_eq!(users.get(&SaltedUser { id }).await.unwrap(), Some(event("old", 1)));
        }
        assert!(client.table::<Order, Event>("t").exists(&Order { id: 0 }).await.unwrap());
    }
}

/// A driver hangs while its request is under way, and goes on when others are further.
mod late {
    use super::*;

    const BACK: [State; 5] =
        [State::Paused, State::Copying, State::Moved, State::RollbackPaused, State::RollbackCopying];

    /// A process whose change of families with this number arrives late.
    async fn late(world: &World, number: u64, by: Duration) -> Events {
        let faults = Faults::seeded(0).delay_nth(Method::ModifyColumnFamilies, number, by);
        let client = world.bigtable.with_faults(faults).client().with(|settings| {
            settings.admin.total_timeout = Duration::from_secs(5000);
            settings.admin.attempt_timeout = Duration::from_secs(5000);
        });
        open_again(&client).await.unwrap()
    }

    async fn state(world: &World) -> String {
        let row = control(&world.client(), CONTROL_ROW).await.unwrap();
        let value = row.newest("cf", "state").unwrap().value().to_vec();
        String::from_utf8(value).unwrap()
    }

    /// The registry is restored while a driver drops the origins of the old table: who begins by it reads what it writes, or is refused.
    #[tokio::test(start_paused = true)]
    async fn a_registry_of_before_admits_nobody_while_the_origins_are_dropped() {
        for number in (2..=4).step_by(one_in(2, "late changes of the state")) {
            for pause in [1, 15] {
                let mut world = World::at(&BACK).await;
                let driver = late(&world, number, Duration::from_secs(30)).await;
                let migration = driver.migration().lease(LEASE);
                let restored = async {
                    for _ in 0..10_000 {
                        if state(&world).await.contains("rolled_back") {
                            break;
                        }
                        sleep(Duration::from_millis(100)).await;
                    }
                    sleep(Duration::from_secs(pause)).await;
                    world.restore(world.before[5].as_ref()).await;
                    let begun = open_again(&world.client()).await;
                    if let Ok(begun) = &begun
                        && begun.put(&key(0), &event("first", 2)).await.is_ok()
                    {
                        world.rows.insert(0, "first".into());
                    }
                    sleep(Duration::from_secs(100)).await;
                    if let Ok(begun) = &begun {
                        world.is_right(begun, &format!("change {number} after {pause} s")).await;
                    }
                };
                let (ended, ()) = tokio::join!(migration.roll_back(), restored);
                assert!(ended.is_ok() || ended.as_ref().is_err_and(is_loud), "{ended:?}");
            }
        }
    }

    /// The stamp of a direction arrives when the re-keying was rolled back: the table is of use, and the next call takes it away.
    #[tokio::test(start_paused = true)]
    async fn a_stamp_that_arrives_after_the_end_refuses_nobody() {
        let world = World::at(&[]).await;
        let driver = late(&world, 1, Duration::from_secs(1000)).await;
        let other = open(&world.client()).await;
        let migration = driver.migration().lease(LEASE);
        let (_, ()) = tokio::join!(migration.run(), async {
            sleep(Duration::from_secs(1)).await;
            assert!(state(&world).await.contains("paused"));
            other.migration().run().await.unwrap();
            other.migration().roll_back().await.unwrap();
            sleep(Duration::from_secs(1100)).await;
            let begun = open_again(&world.client()).await.unwrap();
            begun.put(&key(1), &event("late", 2)).await.unwrap();
            other.migration().roll_back().await.unwrap();
        });
        // Programs of the old key type alone.
        let old = world.client().table::<Old, Event>("events");
        assert_eq!(old.get(&Old::from(&key(1))).await.unwrap().unwrap().kind.as_deref(), Some("late"));
    }

    /// A request of the first attempt arrives in the second one, on its way back.
    #[tokio::test(start_paused = true)]
    async fn origins_are_dropped_by_their_own_attempt_alone() {
        for number in (1..=4).step_by(one_in(3, "late changes of an earlier attempt")) {
            let world = World::at(&BACK).await;
            let driver = late(&world, number, Duration::from_secs(120)).await;
            let other = open(&world.client()).await;
            let migration = driver.migration().lease(LEASE);
            let (_, ()) = tokio::join!(migration.roll_back(), async {
                sleep(Duration::from_secs(20)).await;
                other.migration().roll_back().await.unwrap();
                let again = world.client().rekeyed::<Old, New, Event>("events", "events-64").await.unwrap();
                drive_to(&again, false, State::Moved).await;
                again.put(&key(2), &event("second", 2)).await.unwrap();
                drive_to(&again, true, State::RollbackCopying).await;
                again.put(&key(1), &event("third", 2)).await.unwrap();
                sleep(Duration::from_secs(150)).await;
                let kinds = async || [kind(&again, 1).await, kind(&again, 2).await];
                let expected = ["third", "second"].map(|kind| Some(kind.to_owned()));
                assert_eq!(kinds().await, expected, "change {number}");
                again.migration().roll_back().await.unwrap();
                assert_eq!(kinds().await, expected, "change {number}");
            });
        }
    }
}
