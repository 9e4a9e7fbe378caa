//! Calls that run long, and stand still while the table that they write to is re-keyed, deleted or created again.

use std::io;
use std::num::NonZeroU32;
use std::thread;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join;
use futures_util::stream::{self, StreamExt as _};
use keyderive::client::ReadRows;
use keyderive::embedded::{Bigtable, Fault, FaultRule, Faults, Method};
use keyderive::row::Sum;
use keyderive::{Client, ErrorKind, Row};
use tokio::runtime;
use tokio::time::{advance, sleep};

use crate::keys::{New, Old};

#[derive(Row, Clone, Debug, PartialEq)]
struct User {
    text: String,
}

#[derive(Row, Clone, Debug, Default, PartialEq)]
struct Page {
    title: Option<String>,
    #[row(family = "sums")]
    views: Sum,
}

/// How many rows a call writes, and after how many it stands still.
const ROWS: u64 = 600;
const BEFORE: u64 = 400;
const MINUTE: Duration = Duration::from_secs(60);

/// Of which a request of `put_all` has less than those before the pause.
fn user() -> User {
    User { text: "x".repeat(4_000) }
}

/// A Bigtable with an empty table, and for a copy the one that is copied to it.
async fn created(way: Way) -> Bigtable {
    let bigtable = Bigtable::in_memory();
    for name in ["users", "source"] {
        bigtable.client().table::<Old, User>(name).create().without_row_key_schema().await.unwrap();
    }
    if way == Way::Copy {
        let rows = (0..ROWS).map(|id| (Old { id }, user()));
        bigtable.client().table("source").put_all(rows).await.unwrap();
    }
    bigtable
}

/// Has another process do something, with a clock of its own, while this one stands still for so long.
fn stand_still<F>(bigtable: &Bigtable, still: Duration, meanwhile: impl FnOnce(Client) -> F + Send)
where
    F: Future<Output = ()>,
{
    thread::scope(|scope| {
        scope.spawn(|| {
            let runtime =
                runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
            runtime.block_on(async { meanwhile(bigtable.client()).await });
        });
    });
    // It moves the clock when it is polled first.
    let _ = advance(still).now_or_never();
}

async fn rekey(client: Client) {
    let users = client.rekeyed::<Old, New, User>("users", "users-4").await.unwrap();
    let migration = users.migration();
    migration.run().await.unwrap();
    migration.finish().await.unwrap();
}

async fn create_again(client: Client) {
    client.delete_table("users").await.unwrap();
    client.table::<Old, User>("users").create().without_row_key_schema().await.unwrap();
}

/// What happens while the call stands still.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meanwhile {
    Nothing,
    Rekeyed,
    RolledBack,
    RekeyedAndDeleted,
    Deleted,
    CreatedAgain,
}

impl Meanwhile {
    const ALL: [Self; 6] = [
        Self::Nothing,
        Self::Rekeyed,
        Self::RolledBack,
        Self::RekeyedAndDeleted,
        Self::Deleted,
        Self::CreatedAgain,
    ];

    fn happens(self, bigtable: &Bigtable, still: Duration) {
        stand_still(bigtable, still, |client| async move {
            match self {
                Self::Nothing => {}
                Self::Rekeyed => rekey(client).await,
                Self::RolledBack => {
                    let users = client.rekeyed::<Old, New, User>("users", "users-4").await.unwrap();
                    users.migration().run().await.unwrap();
                    users.migration().roll_back().await.unwrap();
                }
                Self::RekeyedAndDeleted => {
                    rekey(client.clone()).await;
                    client.delete_table("users").await.unwrap();
                }
                Self::Deleted => client.delete_table("users").await.unwrap(),
                Self::CreatedAgain => create_again(client).await,
            }
        });
    }

    /// Whether rows that the call wrote are lost.
    fn loses_rows(self) -> bool {
        !matches!(self, Self::Nothing | Self::RolledBack)
    }
}

/// Ways to write many rows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Load,
    LoadIfAbsent,
    LoadNewRows,
    Writer,
    FlushedWriter,
    PutAll,
    UpdateAll,
    Copy,
}

impl Way {
    const ALL: [Self; 8] = [
        Self::Load,
        Self::LoadIfAbsent,
        Self::LoadNewRows,
        Self::Writer,
        Self::FlushedWriter,
        Self::PutAll,
        Self::UpdateAll,
        Self::Copy,
    ];

    /// The requests that it sends.
    fn method(self) -> Method {
        match self {
            Self::LoadIfAbsent => Method::CheckAndMutateRow,
            _ => Method::MutateRows,
        }
    }

    /// Writes all rows, and calls `at` for each row before it is written.
    async fn run(self, client: &Client, at: impl Fn(u64) + Send + Sync) -> Result<(), String> {
        let users = client.table::<Old, User>("users");
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let keys = (0..ROWS).map(|id| {
            at(id);
            Old { id }
        });
        match self {
            Self::Load | Self::LoadIfAbsent | Self::LoadNewRows => {
                let rows = stream::iter(keys).then(async |key: Old| {
                    // The rows before it are sent and answered.
                    if key.id % 100 == 99 {
                        sleep(Duration::from_millis(1)).await;
                    }
                    (key, user())
                });
                let load = users.load(rows).batch_rows(50).look_ahead(1);
                let load = match self {
                    Self::LoadIfAbsent => load.if_absent(),
                    Self::LoadNewRows => load.new_rows(),
                    _ => load,
                };
                let report = load.await.map_err(|error| text(&error))?;
                report.all_written().map(drop).map_err(|error| text(&error))
            }
            Self::Writer | Self::FlushedWriter => {
                let writer = users.writer_with(|settings| settings.batch_entries = 50);
                for key in keys {
                    if self == Self::FlushedWriter && key.id % 100 == 99 {
                        writer.flush().await.map_err(|error| text(&error))?;
                    }
                    writer.put(&key, &user()).await.map_err(|error| text(&error))?;
                }
                writer.close().await.map(drop).map_err(|error| text(&error))
            }
            Self::PutAll => users.put_all(keys.map(|key| (key, user()))).await.map_err(|error| text(&error)),
            Self::UpdateAll => {
                let updates = keys.map(|key| users.update(&key).set(User::TEXT, user().text));
                users.update_all(updates).await.map_err(|error| text(&error))
            }
            Self::Copy => {
                let source = client.table::<Old, User>("source");
                let copy = source.copy_to(&users, |key: Old, _| {
                    at(key.id);
                    key
                });
                let copy = copy.rate(NonZeroU32::new(400).unwrap()).without_verifying();
                copy.await.map(drop).map_err(|error| text(&error))
            }
        }
    }
}

/// For each row before it is written: stands still before one of them, while this happens.
fn before_one(bigtable: &Bigtable, meanwhile: Meanwhile, still: Duration) -> impl Fn(u64) + Send + Sync {
    move |id| {
        if id == BEFORE {
            meanwhile.happens(bigtable, still);
        }
    }
}

/// How many rows a call says may be in a table that is not read.
fn unread(error: &str) -> u64 {
    let Some((_, rest)) = error.split_once("up to ") else { return 0 };
    rest.split_once(' ').unwrap().0.parse().unwrap()
}

async fn stored(bigtable: &Bigtable, table: &str) -> u64 {
    let mut rows = bigtable.client().raw_table(table).read_rows(ReadRows::all());
    let mut stored = 0;
    while let Some(row) = rows.next().await {
        row.unwrap();
        stored += 1;
    }
    stored
}

#[tokio::test(start_paused = true)]
async fn a_call_that_stood_still_fails_before_it_writes_another_row() {
    for way in Way::ALL {
        for meanwhile in Meanwhile::ALL {
            let place = format!("{way:?}, {meanwhile:?}");
            let bigtable = created(way).await;
            let client = bigtable.client();
            let written = way.run(&client, before_one(&bigtable, meanwhile, MINUTE)).await;
            let said = match meanwhile.loses_rows() {
                true => unread(&written.expect_err(&place)),
                false => {
                    written.expect(&place);
                    assert_eq!(stored(&bigtable, "users").await, ROWS, "{place}");
                    0
                }
            };
            assert!(said <= BEFORE, "{place}: {said}");
            if meanwhile == Meanwhile::Rekeyed {
                // What was written before the re-keying was moved by it.
                let (old, new) = (stored(&bigtable, "users").await, stored(&bigtable, "users-4").await);
                assert_eq!(old, new, "{place}");
            }
            if meanwhile == Meanwhile::CreatedAgain {
                // A request that was on its way before the pause may arrive after it.
                assert!(stored(&bigtable, "users").await <= said, "{place}: {said}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_arrives_late_is_counted_at_the_end() {
    for way in Way::ALL {
        let place = format!("{way:?}");
        let bigtable = created(way).await;
        // It is applied after the table has moved.
        let late = Faults::seeded(0).delay_nth(way.method(), 2, Duration::from_secs(15));
        let late = bigtable.with_faults(late);
        let meanwhile = async {
            while late.calls(way.method()) < 2 {
                sleep(Duration::from_millis(1)).await;
            }
            rekey(bigtable.client()).await;
        };
        let (written, ()) = join(way.run(&late.client(), |_| ()), meanwhile).await;
        let error = written.expect_err(&place);
        let lost = stored(&bigtable, "users").await - stored(&bigtable, "users-4").await;
        assert!(lost > 0 && unread(&error) >= lost, "{place}: {lost} are lost: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_table_is_asked_for_only_after_a_pause() {
    for way in Way::ALL {
        for (still, allowed) in [(Duration::ZERO, 0), (Duration::from_secs(9), 1), (MINUTE, 2)] {
            let bigtable = created(way).await.with_faults(Faults::seeded(0));
            let client = bigtable.client();
            client.table::<Old, User>("users").count(Old::scan()).await.unwrap();
            client.table::<Old, User>("source").count(Old::scan()).await.unwrap();
            // A copy reads both tables before it begins.
            let before = bigtable.calls(Method::GetTable) + if way == Way::Copy { 2 } else { 0 };
            way.run(&client, before_one(&bigtable, Meanwhile::Nothing, still)).await.unwrap();
            let asked = bigtable.calls(Method::GetTable) - before;
            assert!(asked <= allowed, "{way:?}, {still:?}: {asked}");
            assert!(still < MINUTE || asked > 0, "{way:?}, {still:?}: {asked}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_is_asked_for_again() {
    for way in Way::ALL {
        for meanwhile in [Meanwhile::Nothing, Meanwhile::Rekeyed] {
            let place = format!("{way:?}, {meanwhile:?}");
            let bigtable = created(way).await;
            let lost = (0..3).fold(Faults::seeded(0), |faults, number| {
                let first = if way == Way::Copy { 5 } else { 2 };
                faults.fail_nth(Method::GetTable, first + number, Fault::unavailable().after_the_call())
            });
            let client = bigtable.with_faults(lost).client();
            let written = way.run(&client, before_one(&bigtable, meanwhile, MINUTE)).await;
            assert_eq!(written.is_err(), meanwhile == Meanwhile::Rekeyed, "{place}: {written:?}");
        }
    }
}

/// As the check before the first row does, it goes on, and logs one warning.
#[tokio::test(start_paused = true)]
async fn a_program_that_may_not_ask_writes_on() {
    for way in Way::ALL {
        let bigtable = created(way).await;
        let refused =
            Faults::seeded(0).rule(FaultRule::fail(Fault::permission_denied()).methods([Method::GetTable]));
        let refused = bigtable.with_faults(match way {
            // A copy reads both tables before it begins.
            Way::Copy => Faults::seeded(0)
                .rule(FaultRule::fail(Fault::permission_denied()).methods([Method::GetTable]).skip(4)),
            _ => refused,
        });
        let client = refused.client();
        let before = refused.calls(Method::GetTable);
        let still = Duration::from_secs(30);
        way.run(&client, before_one(&bigtable, Meanwhile::Nothing, still)).await.unwrap();
        assert_eq!(stored(&bigtable, "users").await, ROWS, "{way:?}");
        let asked = refused.calls(Method::GetTable) - before;
        assert!(asked <= if way == Way::Copy { 5 } else { 1 }, "{way:?}: {asked}");
    }
}

/// Sums cannot be re-keyed, but their table can be created again.
#[tokio::test(start_paused = true)]
async fn a_load_of_sums_that_stood_still_fails_too() {
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    let pages = client.table::<Old, Page>("users");
    pages.create().without_row_key_schema().await.unwrap();
    let rows = (0..ROWS).map(|id| {
        if id == BEFORE {
            stand_still(&bigtable, MINUTE, async |client: Client| {
                client.delete_table("users").await.unwrap();
                client.table::<Old, Page>("users").create().without_row_key_schema().await.unwrap();
            });
        }
        (Old { id }, Page { title: None, views: Sum::new(1) })
    });
    let error = pages.load_iter(rows).add_sums().batch_rows(50).look_ahead(1).await.unwrap_err();
    assert!(error.to_string().contains("was deleted and created again"), "{error}");
    assert!(error.error().unwrap().is_table_mismatch(), "{error}");
}

/// A program that stands still between its calls, and knows the table that there was. A call that asks before its first row writes to the
/// one that is there now; another one cannot tell in which of the two its rows are.
#[tokio::test(start_paused = true)]
async fn a_table_that_was_created_again_before_a_call_is_not_taken_for_the_one_before() {
    for way in Way::ALL {
        let bigtable = created(way).await;
        let client = bigtable.client();
        client.table::<Old, User>("users").count(Old::scan()).await.unwrap();
        Meanwhile::CreatedAgain.happens(&bigtable, MINUTE);
        match (way, way.run(&client, before_one(&bigtable, Meanwhile::Nothing, MINUTE)).await) {
            (Way::PutAll | Way::UpdateAll, Err(error)) => assert!(error.contains("created again"), "{error}"),
            (_, written) => {
                written.unwrap();
                assert_eq!(stored(&bigtable, "users").await, ROWS, "{way:?}");
            }
        }
    }
}

/// The client's definition is old when the call begins, and the table is created again during it.
#[tokio::test(start_paused = true)]
async fn an_old_definition_hides_no_table_that_is_created_again() {
    for way in Way::ALL {
        let bigtable = created(way).await;
        let client = bigtable.client();
        client.table::<Old, User>("users").count(Old::scan()).await.unwrap();
        Meanwhile::Nothing.happens(&bigtable, MINUTE);
        let written = way.run(&client, before_one(&bigtable, Meanwhile::CreatedAgain, MINUTE)).await;
        let error = written.expect_err(&format!("{way:?}"));
        assert!(error.contains("created again"), "{way:?}: {error}");
    }
}

/// A flush that did not ask has not said that its rows are in a table that is there.
#[tokio::test(start_paused = true)]
async fn flushed_rows_of_a_table_that_was_gone_are_counted() {
    let bigtable = created(Way::Writer).await;
    let client = bigtable.client();
    let writer = client.table::<Old, User>("users").writer();
    for id in 0..20 {
        writer.put(&Old { id }, &user()).await.unwrap();
    }
    sleep(Duration::from_secs(2)).await;
    Meanwhile::CreatedAgain.happens(&bigtable, Duration::from_secs(1));
    assert_eq!(writer.flush().await.unwrap(), 20);
    sleep(Duration::from_secs(12)).await;
    let written = writer.put(&Old { id: 20 }, &user()).await;
    let error = match written {
        Ok(_) => writer.flush().await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(unread(&error) >= 20, "{error}");
}

/// Why it ended says less than where its rows are.
#[tokio::test(start_paused = true)]
async fn a_load_that_ends_early_says_that_its_table_is_not_read() {
    let bigtable = created(Way::Load).await;
    let users = bigtable.client().table::<Old, User>("users");
    let rows = stream::iter(0..ROWS).then(async |id| {
        // The rows before it are sent and answered.
        sleep(Duration::from_millis(1)).await;
        if id == BEFORE {
            Meanwhile::CreatedAgain.happens(&bigtable, MINUTE);
            return Err(io::Error::other("the file ends here"));
        }
        Ok((Old { id }, user()))
    });
    let error = users.load(rows).batch_rows(50).look_ahead(1).await.unwrap_err();
    assert!(error.error().is_some_and(keyderive::Error::is_table_mismatch), "{error}");
    assert!(unread(&error.to_string()) > 0, "{error}");
}

/// Success is not reported by a program that has to ask, and cannot.
#[tokio::test(start_paused = true)]
async fn an_end_that_cannot_ask_fails_where_the_check_is_required() {
    for is_required in [true, false] {
        let bigtable = created(Way::PutAll).await;
        let late =
            bigtable.with_faults(Faults::seeded(0).delay_nth(Method::MutateRows, 1, Duration::from_secs(15)));
        let client = late.client().with(|settings| settings.require_layout_check = is_required);
        let users = client.table::<Old, User>("users");
        let closed = async {
            while late.calls(Method::MutateRows) < 1 {
                sleep(Duration::from_millis(1)).await;
            }
            client.close().await;
        };
        let (written, ()) = join(users.put_all([(Old { id: 1 }, user())]), closed).await;
        assert_eq!(written.is_err(), is_required, "{written:?}");
        assert!(!is_required || written.unwrap_err().kind() == ErrorKind::ClientClosed);
    }
}
