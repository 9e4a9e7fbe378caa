use bytes::Bytes;
use keyderive::Client;
use keyderive::client::{Family, GcRule, ReadRows};
use keyderive::embedded::Bigtable;
use keyderive::row::Mutation as Change;

use super::*;

const ROWS: usize = 20;

/// The timeout of an attempt.
const ATTEMPT: Duration = Duration::from_millis(500);

/// Every write meets this fault.
struct Always([(Fault, u16); 1]);

impl Network for Always {
    fn faults(&self, is_write: bool) -> &[(Fault, u16)] {
        if is_write { &self.0 } else { &[] }
    }

    fn pause(&self, fault: Fault, _: f64) -> Duration {
        if fault == Fault::Delayed { ATTEMPT / 10 } else { ATTEMPT + ATTEMPT / 10 }
    }

    fn arrives(&self, _: &mut Request, _: Moment) -> Result<Option<Response>, Status> {
        Ok(None)
    }

    /// The key of a row is the number of its write.
    fn id(&self, key: &[u8], _: &[Mutation]) -> Option<u64> {
        std::str::from_utf8(key).ok()?.parse().ok()
    }
}

/// How many rows of one request were reported as written, and how many are stored; and what the proxy saw.
async fn written(fault: Fault) -> (usize, usize, Seen) {
    let mut tasks = JoinSet::new();
    let bigtable = Bigtable::in_memory();
    let steady = bigtable.client().raw_table("rows");
    steady.create([Family::new("cf", GcRule::max_versions(1))], [""; 0]).await.unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tasks.spawn(async move { bigtable.serve(listener, std::future::pending()).await.unwrap() });

    let log = Arc::new(Log::default());
    let proxy = Proxy::new(0, Always([(fault, 1000)]), &host, Arc::clone(&log), Rng::with_seed(7));
    let client = Client::builder().settings(|settings| {
        settings.mutate_rows.attempt_timeout = ATTEMPT;
        settings.mutate_rows.max_attempts = 1;
    });
    let client = client.emulator(proxy.serve(&mut tasks).await).await.unwrap();
    let row = |id: usize| (Bytes::from(id.to_string()), vec![Change::set("cf", "q", 0, "v")]);
    let outcomes = client.raw_table("rows").mutate_rows((0..ROWS).map(row).collect()).await;
    let reported = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    proxy.settled().await;
    let mut rows = steady.read_rows(ReadRows::all());
    let mut stored = 0;
    while rows.next().await.is_some() {
        stored += 1;
    }
    let seen = log.seen().clone();
    (reported, stored, seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_fault_does_what_it_says() {
    for (fault, is_applied, is_answered, waits) in [
        (Fault::Refused, false, false, false),
        (Fault::Swallowed, false, false, false),
        (Fault::Lost, true, false, false),
        (Fault::Late, true, false, true),
        (Fault::Held, true, false, true),
        (Fault::Delayed, true, true, true),
        (Fault::Partial, true, true, false),
    ] {
        let (reported, stored, seen) = written(fault).await;
        assert_eq!(stored, if is_applied { ROWS } else { 0 }, "{fault:?}");
        assert_eq!(reported > 0, is_answered, "{fault:?}");
        assert_eq!(reported < ROWS, fault != Fault::Delayed, "{fault:?}");
        assert_eq!(seen.faults, BTreeMap::from([(fault, 1)]));
        let mut ids: Vec<_> = seen.applications.iter().map(|applied| applied.id).collect();
        assert!(ids.len() < ROWS || !ids.is_sorted(), "entries are applied in any order");
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..stored as u64), "{fault:?}");
        assert_eq!(
            seen.applications.iter().filter(|applied| applied.is_answered).count(),
            reported,
            "{fault:?}"
        );
        let pause = u64::try_from((ATTEMPT / 10).as_nanos()).unwrap();
        let waited = seen.applications.iter().all(|applied| applied.sent - applied.arrived >= pause);
        assert!(!waits || waited, "{fault:?}");
    }
}
