//! A registry that is deleted, restored from before, or cannot be read, in each state of a re-keying.

use std::collections::BTreeMap;
use std::time::Duration;

use keyderive::client::ReadRows;
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::rekey::State;
use keyderive::row::{Mutation, RawRow};
use keyderive::{Client, Error};
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
        let bigtable = Bigtable::in_memory();
        let client = bigtable.client();
        old_table(&client, ROWS).await;
        let rows = (0..ROWS).map(|at| (at, "old".to_owned())).collect();
        let running = open(&client).await;
        let mut world = Self { bigtable, running, before: vec![None], rows };
        let driver = open(&client).await;
        let mut is_back = false;
        for state in walk {
            is_back |= matches!(state, State::RollbackPaused | State::RolledBack);
            drive_to(&driver, is_back, *state).await;
            world.before.push(client.raw_table("keyderive").read_row(CONTROL_ROW, None).await.unwrap());
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
        let cells = before.into_iter().flat_map(RawRow::cells).map(|cell| {
            let (qualifier, value) = (cell.qualifier().to_vec(), cell.value().to_vec());
            Mutation::set(cell.family(), qualifier, cell.timestamp_micros(), value)
        });
        let mutations: Vec<_> = [Mutation::delete_row()].into_iter().chain(cells).collect();
        self.client().raw_table("keyderive").mutate_row(CONTROL_ROW, mutations).await.unwrap();
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

/// Every earlier control row in every state, or none: a process that starts then reads and writes what counts, or fails; and once the
/// registry is right again, nothing that was acknowledged is missing.
#[tokio::test(start_paused = true)]
async fn a_registry_of_before_loses_nothing() {
    let mut refused = 0;
    for walk in WALKS {
        for length in 1..=walk.len() {
            for earlier in 0..length {
                let mut world = World::at(&walk[..length]).await;
                let what = format!("{:?} with the control row of {earlier}", &walk[..length]);
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
                world.restore(world.before[length].as_ref()).await;
                sleep(LEASE * 3).await;
                let events = open(&world.client()).await;
                world.is_right(&events, &what).await;
                let found = events.get(&key(200)).await.unwrap().and_then(|event| event.kind);
                assert_eq!(found.as_ref(), world.rows.get(&200), "{what}");
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

/// Whoever drives on from an earlier control row fails, or comes to an end that has everything.
#[tokio::test(start_paused = true)]
async fn a_driver_with_a_registry_of_before_loses_nothing() {
    let mut ended = 0;
    for walk in WALKS {
        for length in 1..=walk.len() {
            for earlier in 0..length {
                for goal in 0..3 {
                    let world = World::at(&walk[..length]).await;
                    let what =
                        format!("{:?} with the control row of {earlier}, goal {goal}", &walk[..length]);
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
            }
        }
    }
    assert!(ended > 10, "{ended}");
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
            let mut rows = world.client().raw_table(table).read_rows(ReadRows::all());
            while let Some(row) = rows.next().await {
                let row = row.unwrap();
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
    let client = Bigtable::in_memory().client();
    let old = client.table::<Old, Event>("events");
    old.create().await.unwrap();
    assert!(old.verify().await.unwrap().row_key_schema);
    let rows: Vec<_> = (0..ROWS).map(|at| (key(at), event("old", 1))).collect();
    old.put_all(rows.iter().map(|(key, row)| (Old::from(key), row.clone()))).await.unwrap();
    let events = open(&client).await;
    for state in [State::Paused, State::Copying, State::Moved, State::New] {
        drive_to(&events, false, state).await;
        if state == State::Copying {
            events.delete(&key(0)).await.unwrap();
        }
        for (at, table) in ["events", "events-16"].into_iter().enumerate() {
            let mut stored = client.raw_table(table).read_rows(ReadRows::all());
            let mut keys = 0;
            while let Some(row) = stored.next().await {
                let row = row.unwrap();
                let is_of_table =
                    if at == 0 { Old::decode(row.key()).is_ok() } else { New::decode(row.key()).is_ok() };
                assert!(is_of_table, "{state}: {:?}", row.key());
                keys += 1;
            }
            let expected = match (table, state) {
                ("events", _) => ROWS..=ROWS,
                (_, State::Paused) => 0..=0,
                // As far as the copy has come, with the row that was deleted.
                (_, State::Copying) => 1..=ROWS,
                (_, State::Moved) => ROWS..=ROWS,
                _ => ROWS - 1..=ROWS - 1,
            };
            assert!(expected.contains(&keys), "{state}: {table} has {keys}");
        }
        let expected = if state == State::Paused { ROWS } else { ROWS - 1 };
        assert_eq!(events.scan(New::scan(), Old::scan()).count().await.unwrap(), expected, "{state}");
    }
    let new = client.table::<New, Event>("events-16");
    assert!(new.verify().await.unwrap().row_key_schema);
    assert_eq!(new.count(New::scan()).await.unwrap(), ROWS - 1);
}
