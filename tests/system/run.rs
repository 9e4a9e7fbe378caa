//! One run: what its seed makes of the world, who acts in it, and what must hold at its end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyderive_tests::history::History;
use tokio::runtime::{Builder, Handle};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use crate::bulk::{Background, Moved};
use crate::driver::{Driver, rekeyed};
use crate::history::{Recorder, decide};
use crate::points::{Points, hasty, hedged};
use crate::rows::{Event, New, Old, first_rows};
use crate::world::{TraceTo, World};

/// By then every run has ended, in its own time.
const LONGEST: Duration = Duration::from_secs(3600);

/// After this time nothing runs for a client that was dropped.
const ENDED: Duration = Duration::from_secs(60);

/// What a run was, or several.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Ran {
    events: u64,
    trace: u64,
    operations: usize,
    unknown: usize,
    repeated: usize,
    undecided: usize,
    restarts: u64,
    most_open: u64,
    /// The trace and the history, if they were asked for.
    pub(crate) text: String,
}

impl Ran {
    pub(crate) fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.trace ^= other.trace;
        self.operations += other.operations;
        self.unknown += other.unknown;
        self.repeated += other.repeated;
        self.undecided += other.undecided;
        self.restarts += other.restarts;
        self.most_open = self.most_open.max(other.most_open);
    }
}

/// Makes the run of a seed.
pub(crate) fn run(seed: u64, to: TraceTo) -> Ran {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        match timeout(LONGEST, run_in(World::new(seed, to))).await {
            Ok(ran) => ran,
            Err(_) => panic!("seed {seed}: it does not end"),
        }
    })
}

async fn run_in(world: World) -> Ran {
    world.start().await;
    let mut rng = world.fork();
    let observer = world.client(0, 0, |_| ());
    let is_rekeyed = world.inner().is_rekeyed;
    match is_rekeyed {
        true => {
            let events = observer.table::<Old, Event>("events");
            events.create().await.unwrap();
            let rows: Vec<_> =
                first_rows().into_iter().map(|(key, event)| (Old::from(&key), event)).collect();
            events.put_all(&rows).await.unwrap();
        }
        false => {
            let events = observer.table::<New, Event>("events");
            events.create().await.unwrap();
            events.put_all(&first_rows()).await.unwrap();
        }
    }
    Background::create(&observer).await;
    Moved::create(&observer).await;
    world.set_faulty(true);

    let history = Arc::new(Mutex::new(History::default()));
    let recorder = |client| Recorder { client, world: world.clone(), history: Arc::clone(&history) };
    let mut actors = JoinSet::new();
    for client in 1..=3 {
        let mut rng = world.fork();
        let ahead = rng.i64(-2_000_000..2_000_000);
        // A re-keying takes its time.
        let pause = if is_rekeyed { rng.u64(300..1_500) } else { rng.u64(5..800) };
        let (calls, pause) = (rng.u32(15..30), Duration::from_millis(pause));
        let own = world.client(client, ahead, if client == 2 { hedged } else { hasty });
        let recorder = recorder(client);
        actors.spawn(async move {
            match is_rekeyed {
                true => {
                    let events = rekeyed(&own).await;
                    Points::new(recorder, rng, events).run(calls, pause).await;
                }
                false => Points::new(recorder, rng, own.table("events")).run(calls, pause).await,
            }
        });
    }
    let background = Background::new(world.fork(), &world.client(4, rng.i64(-2_000_000..2_000_000), hasty));
    let background = tokio::spawn(background.run(rng.u32(3..9), world.clone()));
    let folder = Folder::new();
    let mover = world.client(5, rng.i64(-2_000_000..2_000_000), hasty);
    let moved = Moved::new(world.fork(), &world, &mover, folder.0.join("checkpoint"));
    let moved = tokio::spawn(moved.run(rng.u32(3..10)));
    let driver = is_rekeyed.then(|| Driver::new(world.fork(), &world, world.client(6, 0, hasty)));
    let driver = tokio::spawn(async {
        match driver {
            Some(driver) => Some(driver.run().await),
            None => None,
        }
    });
    let nemesis = tokio::spawn(strike(world.clone(), world.fork()));
    while let Some(actor) = actors.join_next().await {
        ended(actor);
    }
    let (background, moved, driver) = (ended(background.await), ended(moved.await), ended(driver.await));
    world.set_faulty(false);
    let restarts = ended(nemesis.await);

    // What is late has arrived.
    sleep(Duration::from_secs(30)).await;
    world.event(format_args!("the end"));
    if let Some(driver) = driver {
        driver.end().await;
    }
    match is_rekeyed {
        true => Points::new(recorder(0), world.fork(), rekeyed(&observer).await).read_all().await,
        false => Points::new(recorder(0), world.fork(), observer.table("events")).read_all().await,
    }
    let (operations, unknown, undecided, repeated) = {
        let mut history = history.lock().unwrap();
        let (checked, repeated) = decide(&world, &mut history);
        for call in history.calls() {
            world.event(format_args!("{call:?}"));
        }
        (history.calls().len(), history.unknown(), checked.undecided.len(), repeated)
    };
    background.check(&observer).await;
    moved.check(&observer).await;
    observer.close().await;
    mover.close().await;
    drop((observer, mover));
    sleep(ENDED).await;
    let (open, most_open) = world.open();
    assert_eq!(open, 0, "requests that no client waits for");
    world.stop().await;
    sleep(ENDED).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    assert_eq!(tasks, 0, "tasks outlive the clients");
    let (events, trace, text) = world.trace();
    Ran { events, trace, operations, unknown, repeated, undecided, restarts, most_open, text }
}

/// What a task returned; its panic is that of the run.
fn ended<T>(task: Result<T, JoinError>) -> T {
    task.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name =
            format!("keyderive-system-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Breaks the server and its disk, and blinds clients, now and then, as long as there are faults; returns how often the server was restarted.
async fn strike(world: World, mut rng: Rng) -> u64 {
    let mut restarts = 0;
    while world.is_faulty() {
        let pause = Duration::from_millis(rng.u64(50..4_000));
        tokio::select! {
            biased;
            () = world.inner().power_failed.notified() => {}
            () = sleep(pause) => match (world.disk(), rng.u8(..6)) {
                _ if !world.is_faulty() => break,
                (_, 4..) => {
                    *world.inner().blind.lock().unwrap() = Some(rng.usize(1..6));
                    continue;
                }
                (Some(disk), 0) => disk.fail(),
                (Some(disk), 1) => {
                    disk.fail_at_sync(rng.u32(..6));
                    continue;
                }
                (Some(disk), 2) => {
                    let after = rng.u32(..12);
                    disk.fill(after..after + rng.u32(1..12));
                    continue;
                }
                (None, 1..) => continue,
                _ => {}
            },
        }
        world.stop().await;
        sleep(Duration::from_millis(rng.u64(..2_000))).await;
        world.start().await;
        restarts += 1;
    }
    if world.server().is_none_or(|server| server.is_lost()) {
        world.stop().await;
        world.start().await;
        restarts += 1;
    }
    restarts
}
