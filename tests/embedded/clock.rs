//! A clock that tests move, garbage that stays, and waits that take no time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use keyderive::client::ReadRows;
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::row::{Sum, Versions};
use keyderive::{Client, Row, Table};
use keyderive_tests::Folder;
use keyderive_tests::fixtures::{SaltedKey, UserKey, created, fails};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

const KEY: UserKey = UserKey { id: 7 };

#[derive(Row, Clone, Debug, PartialEq)]
#[row(ttl = "1h")]
struct Session {
    user: String,
    visits: u64,
}

fn session(user: &str) -> Session {
    Session { user: user.to_owned(), visits: 1 }
}

async fn sessions(bigtable: &Bigtable) -> Table<UserKey, Session> {
    let sessions = bigtable.client().table("sessions");
    sessions.create_if_absent().await.unwrap();
    sessions
}

/// How many cells are stored, expired ones included.
async fn stored(bigtable: &Bigtable, table: &str) -> usize {
    let mut rows = bigtable.client().raw_table(table).read_rows(ReadRows::all());
    let mut cells = 0;
    while let Some(row) = rows.next().await {
        cells += row.unwrap().cells().len();
    }
    cells
}

/// Which calls see the row.
async fn seen(sessions: &Table<UserKey, Session>) -> Vec<bool> {
    let matching = Session::USER.equals("ada");
    let selected = sessions.select(Session::USER).get(&KEY).await.unwrap();
    vec![
        sessions.get(&KEY).await.unwrap().is_some(),
        sessions.exists(&KEY).await.unwrap(),
        selected.is_some(),
        sessions.get_many([&KEY]).await.unwrap()[0].is_some(),
        sessions.scan(UserKey::scan()).count().await.unwrap() == 1,
        sessions.scan(UserKey::scan()).matching(matching).count().await.unwrap() == 1,
        !sessions.put_if_absent(&KEY, &session("ada")).await.unwrap(),
    ]
}

#[tokio::test]
async fn every_call_sees_that_an_hour_has_passed() {
    let bigtable = Bigtable::in_memory();
    let sessions = sessions(&bigtable).await;
    sessions.put(&KEY, &session("ada")).await.unwrap();
    bigtable.advance(HOUR - Duration::from_secs(30));
    assert_eq!(seen(&sessions).await, [true; 7]);
    bigtable.advance(Duration::from_secs(60));
    // The last call puts the row again.
    assert_eq!(seen(&sessions).await, [false; 7]);
    assert_eq!(seen(&sessions).await, [true; 7]);
    bigtable.advance(HOUR + Duration::from_secs(1));
    assert!(!sessions.delete_if(&KEY, Session::VISITS.equals(1)).await.unwrap());
    assert_eq!(seen(&sessions).await, [false; 7]);
    assert!(sessions.delete_if(&KEY, Session::VISITS.equals(1)).await.unwrap());
}

#[tokio::test]
async fn a_clock_that_is_set_stands_still() {
    let bigtable = Bigtable::in_memory();
    let noon = UNIX_EPOCH + Duration::from_secs(1_764_072_000);
    bigtable.set_time(noon + Duration::from_micros(5));
    let sessions = sessions(&bigtable).await;
    for user in ["ada", "bea"] {
        sessions.put(&KEY, &session(user)).await.unwrap();
        let raw = bigtable.client().raw_table("sessions");
        let row = raw.read_row(KEY.encode().unwrap(), None).await.unwrap().unwrap();
        assert!(row.cells().all(|cell| cell.timestamp_micros() == 1_764_072_000_000_000), "{row:?}");
    }
    assert_eq!((bigtable.now(), bigtable.clone().client().now()), (noon, noon));
    bigtable.advance(Duration::from_micros(1500));
    assert_eq!(bigtable.now(), noon + Duration::from_millis(1));
    bigtable.set_time(noon - DAY);
    assert_eq!(bigtable.now(), noon - DAY);
    // The times that no system and no cell can have.
    bigtable.set_time(UNIX_EPOCH - DAY);
    assert_eq!(bigtable.now(), UNIX_EPOCH);
    for far in [Duration::MAX, Duration::from_secs(1)] {
        bigtable.advance(far);
        assert_eq!(bigtable.now(), UNIX_EPOCH + Duration::from_millis(253_402_300_799_999));
    }
    sessions.put(&KEY, &session("ada")).await.unwrap();
    assert!(sessions.get(&KEY).await.unwrap().is_some());
}

#[tokio::test]
async fn an_advanced_clock_still_runs_and_ends_with_the_year_9999() {
    let bigtable = Bigtable::in_memory();
    bigtable.advance(DAY);
    let first = bigtable.now();
    assert!(first.duration_since(std::time::SystemTime::now()).unwrap() > DAY - Duration::from_secs(10));
    let begun = Instant::now();
    while bigtable.now() == first {
        assert!(begun.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
    bigtable.advance(Duration::MAX);
    assert_eq!(bigtable.now(), UNIX_EPOCH + Duration::from_millis(253_402_300_799_999));
}

#[derive(Row, Debug)]
struct Page {
    title: Option<String>,
    #[row(family = "sums")]
    hits: Sum,
    #[row(family = "hourly", window = "1h", gc(max_age = "90d"))]
    hourly: Versions<Sum>,
}

/// A token says when its write began, and a server that is 20 minutes ahead of that rejects it.
#[tokio::test]
async fn sums_count_after_the_clock_was_moved() {
    let bigtable = Bigtable::in_memory();
    let lost = Faults::seeded(0).fail_nth(Method::MutateRow, 1, Fault::unavailable().after_the_call());
    let pages = created::<UserKey, Page>(&bigtable.with_faults(lost).client(), "pages").await;
    bigtable.advance(Duration::from_secs(20 * 60));
    let add = || pages.update(&KEY).add(Page::HITS, 1);
    add().await.unwrap();
    pages.update_all([add()]).await.unwrap();
    let writer = pages.writer();
    writer.update(add()).await.unwrap();
    writer.close().await.unwrap();
    let raw = bigtable.client().raw_table("pages");
    let added = keyderive::row::Mutation::add_to_cell("sums", "hits", 0, 1);
    for outcome in raw.mutate_rows(vec![(KEY.encode().unwrap().into(), vec![added])]).await {
        outcome.unwrap();
    }
    assert_eq!(pages.get(&KEY).await.unwrap().unwrap().hits.get(), 4);
}

#[tokio::test]
async fn windows_follow_the_clock_of_the_client() {
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    let pages = created::<UserKey, Page>(&client, "pages").await;
    let micros = |client: &Client| {
        i64::try_from(client.now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
    };
    let begun = micros(&client);
    for hits in [1, 2] {
        pages.update(&KEY).add_at(Page::HOURLY, micros(&client), hits).await.unwrap();
        bigtable.advance(HOUR);
    }
    let hourly = pages.get(&KEY).await.unwrap().unwrap().hourly;
    assert_eq!(hourly.iter().map(|sum| sum.value.get()).collect::<Vec<_>>(), [2, 1]);
    // What the rule has released by now is rejected, and gone.
    bigtable.advance(90 * DAY);
    fails(pages.update(&KEY).add_at(Page::HOURLY, begun, 1).await, "would be gone at once");
    assert!(pages.get(&KEY).await.unwrap().is_none());
}

#[derive(Row, Clone, Debug, PartialEq)]
#[row(gc(max_age = "1d"))]
struct Job {
    state: String,
}

/// What the service may do, and what it may do a week later.
#[tokio::test]
async fn garbage_stays_until_it_is_collected() {
    let folder = Folder::new("garbage");
    let in_file = Bigtable::open(folder.join("jobs.keyderive")).await.unwrap();
    for bigtable in [Bigtable::in_memory(), in_file] {
        bigtable.pause_garbage_collection();
        let jobs = created::<UserKey, Job>(&bigtable.client(), "jobs").await;
        let open = Job { state: "open".to_owned() };
        for id in 0..200 {
            jobs.put(&UserKey { id }, &open).await.unwrap();
        }
        bigtable.advance(2 * DAY);
        assert_eq!(jobs.scan(UserKey::scan()).count().await.unwrap(), 200);
        assert_eq!(jobs.get(&KEY).await.unwrap().as_ref(), Some(&open));
        assert!(!jobs.put_if_absent(&KEY, &open).await.unwrap());
        assert!(jobs.update(&KEY).set(Job::STATE, "done").only_if(Job::STATE.equals("open")).await.unwrap());
        // The update has added a version.
        assert_eq!(stored(&bigtable, "jobs").await, 201);
        bigtable.collect_garbage().await.unwrap();
        assert_eq!(stored(&bigtable, "jobs").await, 1);
        assert!(jobs.put_if_absent(&UserKey { id: 8 }, &open).await.unwrap());
        // It is still paused.
        bigtable.advance(2 * DAY);
        assert_eq!(stored(&bigtable, "jobs").await, 2);
        bigtable.collect_garbage().await.unwrap();
        assert_eq!(stored(&bigtable, "jobs").await, 0);
    }
}

/// A copy of the open file is what a process would leave that ends now.
#[tokio::test]
async fn collected_garbage_is_gone_from_the_file() {
    let folder = Folder::new("collected");
    let (file, copy) = (folder.join("jobs.keyderive"), folder.join("copy.keyderive"));
    let bigtable = Bigtable::open(&file).await.unwrap();
    bigtable.pause_garbage_collection();
    let jobs = created::<UserKey, Job>(&bigtable.client(), "jobs").await;
    jobs.put(&KEY, &Job { state: "open".to_owned() }).await.unwrap();
    bigtable.advance(2 * DAY);
    bigtable.collect_garbage().await.unwrap();
    std::fs::copy(&file, &copy).unwrap();
    let left = Bigtable::open(&copy).await.unwrap();
    left.pause_garbage_collection();
    assert_eq!(stored(&left, "jobs").await, 0);
}

/// `ttl` is the client's, and hides what the server still has.
#[tokio::test]
async fn a_row_that_is_not_collected_yet_is_hidden_by_its_ttl() {
    let bigtable = Bigtable::in_memory();
    bigtable.pause_garbage_collection();
    let sessions = sessions(&bigtable).await;
    sessions.put(&KEY, &session("ada")).await.unwrap();
    bigtable.advance(2 * HOUR);
    assert_eq!((sessions.get(&KEY).await.unwrap(), stored(&bigtable, "sessions").await), (None, 2));
    assert!(sessions.put_if_absent(&KEY, &session("bea")).await.unwrap());
    assert_eq!(sessions.get(&KEY).await.unwrap(), Some(session("bea")));
}

#[tokio::test]
async fn a_file_that_is_opened_again_has_the_time_of_its_last_write() {
    let folder = Folder::new("advanced");
    let file = folder.join("sessions.keyderive");
    let bigtable = Bigtable::open(&file).await.unwrap();
    bigtable.advance(DAY);
    sessions(&bigtable).await.put(&KEY, &session("ada")).await.unwrap();
    let written = bigtable.now();
    drop(bigtable);
    let bigtable = Bigtable::open(&file).await.unwrap();
    assert!(bigtable.now() >= written - Duration::from_secs(60), "{:?} {written:?}", bigtable.now());
    let sessions = sessions(&bigtable).await;
    assert!(sessions.get(&KEY).await.unwrap().is_some());
    // From the time that it shows, although that is a day after the machine's.
    bigtable.advance(HOUR + Duration::from_secs(60));
    assert!(bigtable.now() >= written + HOUR, "{:?} {written:?}", bigtable.now());
    assert_eq!(sessions.get(&KEY).await.unwrap(), None);
}

/// Re-keys a table of 500 rows beside a writer, and checks that every row that was acknowledged has moved.
async fn rekey(bigtable: &Bigtable) {
    let client = bigtable.client();
    let old = client.table::<UserKey, Job>("jobs");
    old.create().without_row_key_schema().await.unwrap();
    let job = |at: u64| Job { state: at.to_string() };
    for at in 0..500 {
        old.put(&UserKey { id: at }, &job(at)).await.unwrap();
    }
    let rekeyed = client.rekeyed::<UserKey, SaltedKey, Job>("jobs", "jobs-2").await.unwrap();
    let written = AtomicU64::new(500);
    let moves = async {
        let migration = rekeyed.migration();
        migration.run().await.unwrap();
        let verified = migration.verify().await.unwrap();
        assert!(verified.is_equal(), "{verified}");
        migration.finish().await.unwrap();
    };
    let writes = async {
        loop {
            let at = written.load(Ordering::Relaxed);
            rekeyed.put(&SaltedKey { id: at }, &job(at)).await.unwrap();
            written.store(at + 1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::select! {
        () = moves => {}
        () = writes => {}
    }
    let new = client.table::<SaltedKey, Job>("jobs-2");
    for at in 0..written.load(Ordering::Relaxed) {
        assert_eq!(new.get(&SaltedKey { id: at }).await.unwrap(), Some(job(at)), "{at}");
    }
}

/// Its waits are virtual: it waits for leases of about 7 s, several times.
#[tokio::test(start_paused = true)]
async fn a_rekeying_takes_a_moment_while_tokios_clock_is_paused() {
    let (begun, waited) = (Instant::now(), tokio::time::Instant::now());
    rekey(&Bigtable::in_memory()).await;
    println!("re-keyed in {:?}, of which {:?} are virtual", begun.elapsed(), waited.elapsed());
    assert!(waited.elapsed() > Duration::from_secs(7), "{:?}", waited.elapsed());
}

/// Writes wait for the thread that syncs the file. tokio takes a runtime that waits for a thread of others for idle, and moves its
/// clock to the next timer, which is that of the request.
#[tokio::test(start_paused = true)]
async fn calls_do_not_time_out_on_a_file_while_tokios_clock_is_paused() {
    let folder = Folder::new("paused");
    let bigtable = Bigtable::open(folder.join("jobs.keyderive")).await.unwrap();
    let jobs = created::<UserKey, Job>(&bigtable.client(), "jobs").await;
    let begun = tokio::time::Instant::now();
    for id in 0..20 {
        jobs.put(&UserKey { id }, &Job { state: "open".to_owned() }).await.unwrap();
    }
    bigtable.collect_garbage().await.unwrap();
    assert_eq!(jobs.scan(UserKey::scan()).count().await.unwrap(), 20);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_rekeying_works_on_a_file_while_tokios_clock_is_paused() {
    let folder = Folder::new("rekeyed");
    rekey(&Bigtable::open(folder.join("jobs.keyderive")).await.unwrap()).await;
}

/// tokio's clock and the server's do not move one another.
#[tokio::test(start_paused = true)]
async fn rows_do_not_expire_while_tokios_clock_runs_ahead() {
    let bigtable = Bigtable::in_memory();
    let sessions = sessions(&bigtable).await;
    sessions.put(&KEY, &session("ada")).await.unwrap();
    tokio::time::sleep(2 * HOUR).await;
    assert!(sessions.get(&KEY).await.unwrap().is_some());
    let waited = tokio::time::Instant::now();
    bigtable.advance(2 * HOUR);
    assert!(sessions.get(&KEY).await.unwrap().is_none());
    assert_eq!(waited.elapsed(), Duration::ZERO);
}
