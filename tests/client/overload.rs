//! What a client does when a server is slow, silent or overloaded: it adds little load, and gives up in time.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use futures_util::future::{join_all, select};
use keyderive::__private::connected_by;
use keyderive::client::{ConnectionCount, Hedging, RawTable, ReadRows, Settings};
use keyderive::{Client, ErrorKind};
use keyderive_proto::data;
use keyderive_scripted::{Answer, Gate, Mock, Rpc};
use keyderive_tests::fixtures::{SaltedKey, User};
use tokio::time::{Instant, sleep};
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, all, entries, set};

const MINUTE: Duration = Duration::from_secs(60);

pub(crate) fn client(mock: &Mock, connections: impl Into<ConnectionCount>) -> Client {
    connected_by(Client::builder().connections(connections), mock.connector()).unwrap()
}

pub(crate) fn table(mock: &Mock, connections: impl Into<ConnectionCount>) -> RawTable {
    client(mock, connections).raw_table("events")
}

/// Answers each write once the gate opens.
pub(crate) fn gated(gate: &Gate) -> Mock {
    let gate = gate.clone();
    Mock::new().by(move |_| Answer::new().hold(&gate).send(&data::MutateRowResponse {}))
}

/// Makes so many writes in the background.
pub(crate) fn write(
    table: &RawTable,
    count: usize,
) -> Vec<tokio::task::JoinHandle<Result<(), keyderive::Error>>> {
    let one = || {
        let table = table.clone();
        tokio::spawn(async move { table.mutate_row("k", set()).await })
    };
    (0..count).map(|_| one()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pool_grows_with_the_load_and_shrinks_after_it() {
    let gate = Gate::new();
    let mock = gated(&gate);
    let client = client(&mock, 1..=4);
    let table = client.raw_table("events");
    let mut writes = Vec::new();
    // A connection is added at the 51st request of each, and takes the requests from then on.
    for (more, connections) in [(50, 1), (1, 2), (48, 2), (50, 3), (400, 4)] {
        for _ in 0..more {
            writes.extend(write(&table, 1));
            sleep(MILLISECOND).await;
        }
        assert_eq!(client.stats().connections, connections, "{} writes", writes.len());
    }
    let stats = client.stats();
    assert_eq!((stats.in_flight, stats.waiting), (400, 149));
    gate.open();
    assert!(join_all(writes).await.into_iter().all(|written| written.unwrap().is_ok()));
    assert_eq!((client.stats().in_flight, client.stats().waiting), (0, 0));
    // The first minute was busy. Each of the next removes half of what is left.
    sleep(MINUTE + SECOND).await;
    assert_eq!(client.stats().connections, 4);
    let mut connections = Vec::new();
    for _ in 0..4 {
        sleep(MINUTE).await;
        connections.push(client.stats().connections);
    }
    assert_eq!(connections, [2, 1, 1, 1]);
    assert_eq!(mock.connections(), 4);
    table.mutate_row("k", set()).await.unwrap();
}

/// Connections that are removed finish their requests.
#[tokio::test(start_paused = true)]
async fn a_removed_connection_ends_with_its_last_request() {
    let gate = Gate::new();
    let held = gate.clone();
    let mock = Mock::new().by(move |request| match request.rpc {
        Rpc::ReadRows => Answer::rows(["a"]).hold(&held).and_rows(["b"]),
        _ => Answer::new().wait(10 * MILLISECOND).send(&data::MutateRowResponse {}),
    });
    let client = client(&mock, 1..=4);
    let table = client.raw_table("events");
    for _ in 0..3 {
        join_all(write(&table, 300)).await;
    }
    assert_eq!(client.stats().connections, 4);
    // A scan on each connection.
    let mut scans: Vec<_> = (0..4).map(|_| table.read_rows(ReadRows::all())).collect();
    for scan in &mut scans {
        assert_eq!(scan.try_next().await.unwrap().unwrap().key(), b"a");
    }
    sleep(5 * MINUTE).await;
    assert_eq!(client.stats().connections, 1);
    gate.open();
    for scan in &mut scans {
        assert_eq!(scan.try_next().await.unwrap().unwrap().key(), b"b");
        assert!(scan.try_next().await.unwrap().is_none());
    }
    assert_eq!(mock.requests_of(Rpc::ReadRows).len(), 4);
}

/// A connection whose server falls silent, as when a machine on the way loses power.
#[tokio::test(start_paused = true)]
async fn a_stalled_connection_is_left_and_replaced_without_an_error() {
    let mock = Mock::new().by(|request| match (request.connection, request.rpc) {
        (0, Rpc::ReadRows) => Answer::new().freeze(),
        (_, Rpc::ReadRows) => Answer::rows(["k"]),
        _ => Answer::written(),
    });
    let client = client(&mock, 2);
    let table = client.raw_table("events");
    // Both connections have answered.
    join_all(write(&table, 2)).await;
    let begun = Instant::now();
    let reads = join_all((0..2).map(|_| table.read_row("k", None))).await;
    assert!(reads.into_iter().all(|read| read.unwrap().is_some()));
    // The ping after a quarter of a second, its answer a second later, and the next look.
    assert!(begun.elapsed() < 2 * SECOND, "{:?}", begun.elapsed());
    for _ in 0..10 {
        table.mutate_row("k", set()).await.unwrap();
    }
    assert_eq!((client.stats().connections, mock.connections()), (2, 3));
    assert!(begun.elapsed() < 2 * SECOND, "{:?}", begun.elapsed());
}

/// What may not be repeated waits for its own timeout, and its outcome is unknown.
#[tokio::test(start_paused = true)]
async fn a_write_that_may_not_be_repeated_stays_on_a_stalled_connection() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::CheckAndMutateRow => Answer::new().freeze(),
        _ => Answer::written(),
    });
    let table = table(&mock, 1);
    table.mutate_row("k", set()).await.unwrap();
    let written = table.check_and_mutate_row("k", None, set().to_vec(), vec![]).await;
    assert!(written.unwrap_err().is_outcome_unknown());
    assert_eq!(mock.requests_of(Rpc::CheckAndMutateRow).len(), 1);
}

/// A slow server is not a stalled one: it answers pings.
#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_awaited() {
    let mock = Mock::new().by(|_| Answer::new().wait(15 * SECOND).and_rows(["k"]));
    let table = table(&mock, 2);
    assert!(table.read_row("k", None).await.unwrap().is_some());
    // Both connections were opened, and none was replaced.
    assert_eq!((mock.requests().len(), mock.connections()), (1, 2));
}

/// An increment that a server refuses by `GOAWAY` was not applied, so it is sent again, and at once.
#[tokio::test(start_paused = true)]
async fn what_a_server_refuses_as_it_goes_away_is_sent_again_at_once() {
    let gate = Gate::new();
    let mock = gated(&gate);
    let table = table(&mock, 1);
    let held = write(&table, 100);
    sleep(SECOND).await;
    // It waits for a stream, and its connection will take no more.
    let increment = {
        let table = table.clone();
        tokio::spawn(async move { table.check_and_mutate_row("k", None, set().to_vec(), vec![]).await })
    };
    sleep(SECOND).await;
    let begun = Instant::now();
    mock.go_away();
    sleep(MILLISECOND).await;
    gate.open();
    increment.await.unwrap().unwrap();
    assert!(begun.elapsed() < 20 * MILLISECOND, "{:?}", begun.elapsed());
    assert!(join_all(held).await.into_iter().all(|written| written.unwrap().is_ok()));
    assert_eq!((mock.requests().len(), mock.connections()), (101, 2));
}

#[tokio::test(start_paused = true)]
async fn retries_end_when_most_requests_fail() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::SampleRowKeys => Answer::samples([]),
        _ => Answer::failure(Code::Unavailable),
    });
    let client = client(&mock, 1);
    let table = client.raw_table("events").with(Settings::serving);
    let reads = join_all((0..1000).map(|_| table.read_row("k", None))).await;
    assert!(reads.iter().all(|read| read.as_ref().unwrap_err().is_unavailable()));
    let text = reads.into_iter().map(|read| read.unwrap_err().to_string());
    assert_eq!(text.filter(|text| text.contains("`retry_budget`")).count(), 1000);
    // 100 tokens, and no retry below half.
    assert_eq!(mock.requests().len(), 1000 + 49);
    assert!(client.stats().retry_tokens == 0.0);
    // Batch work retries as before, and so do scans.
    let batch = table.with(|settings| {
        settings.batch();
        settings.read_row.max_attempts = 5;
    });
    assert_eq!(batch.read_row("k", None).await.unwrap_err().attempts(), 5);
    let scan = table.with(|settings| settings.read_rows.max_attempts = 5);
    assert_eq!(all(&scan).await.unwrap_err().attempts(), 5);
}

#[tokio::test(start_paused = true)]
async fn successes_fill_the_retry_budget_again() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::ReadRows => Answer::failure(Code::Unavailable),
        _ => Answer::written(),
    });
    let client = client(&mock, 1);
    let table = client.raw_table("events").with(|settings| settings.read_row.max_attempts = 2);
    join_all((0..200).map(|_| table.read_row("k", None))).await;
    assert_eq!(table.read_row("k", None).await.unwrap_err().attempts(), 1);
    for _ in 0..1000 {
        table.mutate_row("k", set()).await.unwrap();
    }
    assert!(client.stats().retry_tokens == 100.0);
    assert_eq!(table.read_row("k", None).await.unwrap_err().attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_bounds_everything_that_is_asked_through_a_table() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::MutateRow => Answer::failure(Code::Unavailable),
        _ => Answer::new().stall(),
    });
    let table = table(&mock, 1).with(|settings| settings.retry_budget = false);
    let soon = || (Instant::now() + 700 * MILLISECOND).into_std();
    let in_time = |begun: Instant| (600..=701).contains(&begun.elapsed().as_millis());
    let begun = Instant::now();
    // A later deadline does not replace an earlier one.
    let hasty = table.with_deadline(soon()).with_deadline((Instant::now() + MINUTE).into_std());
    let error = hasty.read_row("k", None).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && in_time(begun), "{error}");
    assert_eq!(mock.requests()[0].header("grpc-timeout"), Some("700000u"));
    // What comes after it is not sent.
    let sent = mock.requests().len();
    for error in
        [hasty.read_row("k", None).await.unwrap_err(), hasty.mutate_row("k", set()).await.unwrap_err()]
    {
        assert!(error.is_deadline_exceeded() && error.to_string().contains("`with_deadline`"), "{error}");
    }
    assert_eq!(mock.requests().len(), sent);

    let begun = Instant::now();
    assert!(all(&table.with_deadline(soon())).await.unwrap_err().is_deadline_exceeded() && in_time(begun));
    let begun = Instant::now();
    let error = table.with_deadline(soon()).mutate_row("k", set()).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && error.to_string().contains("`with_deadline`"), "{error}");
    assert!(in_time(begun), "{:?}", begun.elapsed());
    let begun = Instant::now();
    let written = table.with_deadline(soon()).mutate_rows(entries(["a", "b"])).await;
    assert!(written.into_iter().all(|written| written.unwrap_err().is_deadline_exceeded()));
    assert!(in_time(begun), "{:?}", begun.elapsed());
}

/// The paused clock runs ahead of the machine's, so that an instant of the latter is over.
#[tokio::test(start_paused = true)]
async fn a_timeout_goes_by_the_clock_that_tests_move() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::MutateRow => Answer::written().wait(SECOND),
        _ => Answer::new().stall(),
    });
    let table = table(&mock, 1);
    tokio::time::advance(MINUTE).await;
    let late = table.with_deadline(std::time::Instant::now() + 2 * SECOND);
    assert!(late.mutate_row("k", set()).await.unwrap_err().is_deadline_exceeded());
    table.with_timeout(2 * SECOND).mutate_row("k", set()).await.unwrap();

    let begun = Instant::now();
    // The earlier of two counts.
    let hasty = table.with_timeout(700 * MILLISECOND).with_timeout(MINUTE);
    let error = hasty.read_row("k", None).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && error.to_string().contains("`with_timeout`"), "{error}");
    assert!((700..=701).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    let sent = mock.requests().len();
    assert!(hasty.mutate_row("k", set()).await.unwrap_err().is_deadline_exceeded());
    assert_eq!(mock.requests().len(), sent);
    // Longer than any clock goes on.
    table.with_timeout(Duration::MAX).mutate_row("k", set()).await.unwrap();

    // Of a client, and of a typed table.
    let client = client(&mock, 1).with(|settings| settings.registry = false);
    let users = client.with_timeout(SECOND / 2).table::<SaltedKey, User>("users");
    for users in [users, client.table::<SaltedKey, User>("users").with_timeout(SECOND / 2)] {
        let error = users.put(&SaltedKey { id: 7 }, &User::named("Ada")).await.unwrap_err();
        assert!(error.is_deadline_exceeded(), "{error}");
    }
}

/// A call that waits for the layout check of another ends at its deadline, and does not end the check.
#[tokio::test(start_paused = true)]
async fn a_deadline_bounds_the_layout_check() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::written())
        .admin_by(|_| Answer::table(["cf"]).wait(2 * SECOND));
    let client =
        client(&mock, 1).with(|settings| (settings.require_layout_check, settings.registry) = (true, false));
    let users = client.table::<SaltedKey, User>("users");
    let put = async |deadline: Option<Duration>| {
        let begun = Instant::now();
        let users = match deadline {
            Some(deadline) => users.with_deadline((begun + deadline).into_std()),
            None => users.clone(),
        };
        (users.put(&SaltedKey { id: 7 }, &User::named("Ada")).await, begun.elapsed())
    };
    // The first one begins the check.
    let (hasty, patient, later) =
        tokio::join!(put(Some(700 * MILLISECOND)), put(None), put(Some(900 * MILLISECOND)));
    for ((written, elapsed), deadline) in [(hasty, 700), (later, 900)] {
        let error = written.unwrap_err();
        assert!(
            error.is_deadline_exceeded() && !error.is_outcome_unknown() && error.attempts() == 0,
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.starts_with("GetTable on table `users` failed: DEADLINE_EXCEEDED: the layout check of the table got no answer")
                && text.ends_with("at the deadline of `with_deadline` or `with_timeout`"),
            "{text}"
        );
        assert!((deadline..=deadline + 2).contains(&elapsed.as_millis()), "{elapsed:?}");
    }
    patient.0.unwrap();
    assert_eq!(mock.requests_of(Rpc::MutateRow).len(), 1);
}

/// A scan that waits until other scans release their streams ends at its deadline.
#[tokio::test(start_paused = true)]
async fn a_deadline_bounds_the_wait_for_a_stream() {
    let mock = Mock::new().by(|_| Answer::new().stall()).admin_by(|_| Answer::table(["cf"]));
    let users = client(&mock, 1).table::<SaltedKey, User>("users");
    let mut scans = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let users = users.clone();
        scans.spawn(async move { users.scan(SaltedKey::scan()).count().await });
    }
    sleep(SECOND).await;
    assert!(mock.open() < 100, "some scans wait");
    let begun = Instant::now();
    let hasty = users.with_deadline((begun + 700 * MILLISECOND).into_std());
    let error = hasty.scan(SaltedKey::scan()).count().await.unwrap_err();
    assert!(error.is_deadline_exceeded(), "{error}");
    assert!((600..=702).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn requests_that_would_wait_too_long_fail_at_once() {
    let gate = Gate::new();
    let mock = gated(&gate).on(Rpc::MutateRow, Answer::written());
    let client = client(&mock, 1);
    let table = client.raw_table("events").with(|settings| settings.max_waiting = 20);
    table.mutate_row("k", set()).await.unwrap();
    let mut writes = write(&table, 120);
    sleep(SECOND).await;
    assert_eq!((client.stats().in_flight, client.stats().waiting), (100, 20));
    let error = table.mutate_row("k", set()).await.unwrap_err();
    assert!(
        error.is_overloaded() && error.kind() == ErrorKind::Overloaded && !error.is_outcome_unknown(),
        "{error}"
    );
    assert!(error.to_string().contains("20 requests wait for a connection"), "{error}");
    // Another bound for other work.
    writes.extend(write(&client.raw_table("events"), 1));
    sleep(SECOND).await;
    gate.open();
    assert!(join_all(writes).await.into_iter().all(|written| written.unwrap().is_ok()));
    assert_eq!(mock.requests().len(), 122);
}

/// While no connection is open, all requests wait.
#[tokio::test(start_paused = true)]
async fn requests_to_a_server_that_cannot_be_reached_wait_within_the_bound() {
    let mock = Mock::new();
    mock.set_door(keyderive_scripted::Door::Stuck);
    let table = table(&mock, 1).with(|settings| settings.max_waiting = 3);
    let _waiting = write(&table, 3);
    sleep(SECOND).await;
    assert!(table.mutate_row("k", set()).await.unwrap_err().is_overloaded());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let mock = Mock::new().by(|_| Answer::new().stall());
    let table = table(&mock, 1);
    for _ in 0..150 {
        let read = Box::pin(table.read_row("k", None));
        let write = Box::pin(table.mutate_row("k", set()));
        drop(select(select(read, write), Box::pin(sleep(100 * MILLISECOND))).await);
    }
    sleep(SECOND).await;
    let requests = mock.requests();
    assert!(requests.len() == 300 && requests.iter().all(|request| request.is_cancelled));
    assert_eq!(mock.open(), 0);
}

/// Every hundredth read is slow.
fn slow_at_times() -> Mock {
    let count = std::sync::atomic::AtomicU32::new(0);
    Mock::new().by(move |request| {
        let answer = match count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 100 {
            99 => Answer::new().wait(500 * MILLISECOND),
            _ => Answer::new().wait(5 * MILLISECOND),
        };
        match request.rpc {
            Rpc::ReadRows => answer.and_rows(["k"]),
            _ => answer.send(&data::MutateRowResponse {}),
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_slow_read_is_sent_a_second_time() {
    for hedging in [Hedging::After(20 * MILLISECOND), Hedging::Adaptive] {
        let mock = slow_at_times();
        let table = table(&mock, 2).with(|settings| settings.hedging = hedging);
        let mut longest = Duration::ZERO;
        for number in 0..2000 {
            let begun = Instant::now();
            assert!(table.read_row("k", None).await.unwrap().is_some());
            // The percentile is not known at first.
            if number > 500 {
                longest = longest.max(begun.elapsed());
            }
        }
        assert!(longest < 50 * MILLISECOND, "{longest:?} with {hedging:?}");
        sleep(SECOND).await;
        let requests = mock.requests();
        assert!(requests.len() <= 2000 * 105 / 100 + 10, "{} with {hedging:?}", requests.len());
        let cancelled: Vec<_> = requests.iter().filter(|request| request.is_cancelled).collect();
        assert!((10..=110).contains(&cancelled.len()), "{} with {hedging:?}", cancelled.len());
        // The second request of a read goes over the other connection.
        for (first, second) in requests.iter().zip(&requests[1..]) {
            if first.is_cancelled && second.header("bigtable-attempt") == Some("1") {
                assert_ne!(first.connection, second.connection);
            }
        }
    }
}

/// After the percentile and a quarter of it, which the time of a hedged read moves too.
#[tokio::test(start_paused = true)]
async fn adaptive_hedges_are_sent_when_reads_take_longer_than_most() {
    let mock = Mock::new().by(|request| match (request.rpc, request.header("bigtable-attempt")) {
        (Rpc::MutateRow, _) => Answer::written(),
        (_, Some("0")) => Answer::new().wait(10 * SECOND).and_rows(["k"]),
        _ => Answer::rows(["k"]),
    });
    let mock = mock.on(Rpc::ReadRows, Answer::new().wait(100 * MILLISECOND).and_rows(["k"]));
    let table = table(&mock, 2).with(|settings| settings.hedging = Hedging::Adaptive);
    // Both connections are open.
    join_all(write(&table, 2)).await;
    // The first read sets the percentile to twice its time, and the second raises it by a twentieth.
    for expected in [100..=101, 250..=254, 262..=268] {
        let begun = Instant::now();
        assert!(table.read_row("k", None).await.unwrap().is_some());
        assert!(expected.contains(&begun.elapsed().as_millis()), "{:?}, not {expected:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_hedge_that_fails_does_not_fail_the_read() {
    let mock = Mock::new().by(|request| match request.header("bigtable-attempt") {
        _ if request.rpc == Rpc::MutateRow => Answer::written(),
        Some("0") => Answer::new().wait(SECOND).and_rows(["k"]),
        _ => Answer::failure(Code::Unavailable),
    });
    let table = table(&mock, 2).with(|settings| settings.hedging = Hedging::After(100 * MILLISECOND));
    // Both connections are open.
    join_all(write(&table, 2)).await;
    let begun = Instant::now();
    assert!(table.read_row("k", None).await.unwrap().is_some());
    assert_eq!((begun.elapsed().as_millis() / 10, mock.requests_of(Rpc::ReadRows).len()), (100, 2));
}

#[tokio::test(start_paused = true)]
async fn writes_are_never_hedged() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::CheckAndMutateRow => {
            Answer::new().wait(SECOND).send(&data::CheckAndMutateRowResponse::default())
        }
        _ => Answer::new().wait(SECOND).send(&data::MutateRowResponse {}),
    });
    let table = table(&mock, 2).with(|settings| settings.hedging = Hedging::After(MILLISECOND));
    table.mutate_row("k", set()).await.unwrap();
    table.check_and_mutate_row("k", None, set().to_vec(), vec![]).await.unwrap();
    assert_eq!(mock.requests().len(), 2);
}

/// Reads of a server that fails are not hedged either.
#[tokio::test(start_paused = true)]
async fn hedges_need_the_retry_budget() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::MutateRow => Answer::failure(Code::Unavailable),
        _ => Answer::new().wait(SECOND).and_rows(["k"]),
    });
    let table = table(&mock, 2).with(|settings| settings.hedging = Hedging::After(MILLISECOND));
    join_all((0..200).map(|_| table.mutate_row("k", set()))).await;
    table.read_row("k", None).await.unwrap();
    assert_eq!(mock.requests_of(Rpc::ReadRows).len(), 1);
}

/// Slow servers are not dialed again and again by calls that give up early, and other calls keep their retries.
#[tokio::test(start_paused = true)]
async fn short_deadlines_take_nothing_from_other_calls() {
    let mock = Mock::new().by(|_| Answer::new().wait(60 * MILLISECOND).and_rows(["k"]));
    let client = client(&mock, 4);
    let table = client.raw_table("events");
    for _ in 0..200 {
        let soon = (Instant::now() + 50 * MILLISECOND).into_std();
        let error = table.with_deadline(soon).read_row("k", None).await.unwrap_err();
        assert!(error.is_deadline_exceeded() && error.to_string().contains("`with_deadline`"), "{error}");
    }
    assert_eq!(mock.connections(), 4);
    assert!(client.stats().retry_tokens == 100.0);
}

/// A connection that cannot be opened again takes no request from one that is open.
#[tokio::test(start_paused = true)]
async fn an_open_connection_comes_before_one_that_is_not() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["k"]))
        .on(Rpc::ReadRows, Answer::rows(["k"]))
        .on(Rpc::ReadRows, Answer::new().drop_connection())
        .by(|_| Answer::rows(["k"]));
    let table = table(&mock, 2);
    for _ in 0..2 {
        assert!(table.read_row("k", None).await.unwrap().is_some());
        sleep(SECOND).await;
    }
    mock.set_door(keyderive_scripted::Door::Stuck);
    let begun = Instant::now();
    for _ in 0..20 {
        assert!(table.read_row("k", None).await.unwrap().is_some());
    }
    assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
    // It is opened in the background.
    mock.set_door(keyderive_scripted::Door::Open);
    sleep(20 * SECOND).await;
    assert!(table.read_row("k", None).await.unwrap().is_some());
    sleep(SECOND).await;
    assert_eq!(mock.connections(), 3);
}

/// Also a connection that no request has used yet is opened again.
#[tokio::test(start_paused = true)]
async fn connections_that_were_opened_in_the_background_are_opened_again() {
    let mock = Mock::new().by(|_| Answer::rows(["k"]));
    let table = table(&mock, 5);
    for connections in [5, 10, 15] {
        for _ in 0..2 {
            assert!(table.read_row("k", None).await.unwrap().is_some());
            sleep(SECOND).await;
        }
        assert_eq!(mock.connections(), connections);
        mock.go_away();
        sleep(SECOND).await;
    }
}

/// A connection that answered the ping of a slow request, and then dies, is noticed all the same.
#[tokio::test(start_paused = true)]
async fn a_connection_that_dies_after_its_first_pong_is_replaced() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::written())
        .on(Rpc::MutateRow, Answer::new().wait(40 * SECOND).send(&data::MutateRowResponse {}))
        .by(|_| Answer::rows(["k"]));
    let table = table(&mock, 1);
    table.mutate_row("k", set()).await.unwrap();
    let _slow = write(&table, 1);
    sleep(3 * SECOND).await;
    mock.freeze_oldest();
    let begun = Instant::now();
    assert!(table.read_row("k", None).await.unwrap().is_some());
    assert!(begun.elapsed() < 8 * SECOND, "{:?}", begun.elapsed());
}

/// A scan moves to another connection too, after the rows that it has.
#[tokio::test(start_paused = true)]
async fn a_scan_whose_connection_stalls_resumes_on_another() {
    let mock =
        Mock::new().on(Rpc::ReadRows, Answer::rows(["a"]).freeze()).on(Rpc::ReadRows, Answer::rows(["b"]));
    let begun = Instant::now();
    assert_eq!(all(&table(&mock, 1)).await.unwrap().len(), 2);
    assert!(begun.elapsed() < 3 * SECOND, "{:?}", begun.elapsed());
}

/// What a server has received is load, also if it does not answer in time.
#[tokio::test(start_paused = true)]
async fn attempts_that_time_out_take_tokens_too() {
    let mock = Mock::new().by(|_| Answer::new().stall());
    let table = table(&mock, 1).with(|settings| {
        settings.read_row.attempt_timeout = 100 * MILLISECOND;
        settings.read_row.max_attempts = 2;
    });
    for _ in 0..200 {
        assert!(table.read_row("k", None).await.unwrap_err().is_deadline_exceeded());
    }
    // 100 tokens, and no retry below half.
    assert_eq!(mock.requests().len(), 200 + 49);
}

/// A server that refuses every stream sees each call twice at most, and few more retries.
#[tokio::test(start_paused = true)]
async fn refusals_take_tokens_too() {
    let mock = Mock::new().by(|_| Answer::new().reset(h2::Reason::REFUSED_STREAM));
    let table = table(&mock, 1);
    for _ in 0..1000 {
        table.read_row("k", None).await.unwrap_err();
    }
    assert!(mock.requests().len() <= 2 * 1000 + 60, "{}", mock.requests().len());
}

#[tokio::test(start_paused = true)]
async fn a_bound_of_zero_lets_calls_through_once_a_connection_is_open() {
    let mock = Mock::new().by(|_| Answer::rows(["k"]));
    let table = table(&mock, 1).with(|settings| settings.max_waiting = 0);
    assert!(table.read_row("k", None).await.unwrap_err().is_overloaded());
    sleep(SECOND).await;
    assert!(table.read_row("k", None).await.unwrap().is_some());
}

/// Also while rows are at hand that have been received.
#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_scan_between_rows() {
    let mock = Mock::new().by(|_| Answer::rows((0..100).map(|row| format!("{row:03}"))));
    let soon = (Instant::now() + 100 * MILLISECOND).into_std();
    let mut rows = table(&mock, 1).with_deadline(soon).read_rows(ReadRows::all());
    let mut read = 0;
    let error = loop {
        match rows.try_next().await {
            Ok(row) => assert!(row.is_some(), "the scan ended after {read} rows"),
            Err(error) => break error,
        }
        read += 1;
        sleep(10 * MILLISECOND).await;
    };
    assert!(error.is_deadline_exceeded() && (9..12).contains(&read), "{read}: {error}");
}

/// `grpc-timeout` is the time that is left when the client sends the request, not when the request began to wait.
#[tokio::test(start_paused = true)]
async fn the_server_is_told_the_time_that_is_left() {
    let gate = Gate::new();
    let mock = gated(&gate);
    let table = table(&mock, 1);
    let held = write(&table, 100);
    sleep(SECOND).await;
    let hasty = table.with_deadline((Instant::now() + 500 * MILLISECOND).into_std());
    let waits = write(&hasty, 1);
    sleep(400 * MILLISECOND).await;
    gate.open();
    for written in held.into_iter().chain(waits) {
        written.await.unwrap().unwrap();
    }
    assert_eq!(mock.requests()[100].header("grpc-timeout"), Some("100000u"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_hedged_over_its_own_connection() {
    let mock = Mock::new().by(|_| Answer::new().wait(SECOND).and_rows(["k"]));
    let table = table(&mock, 1).with(|settings| settings.hedging = Hedging::After(20 * MILLISECOND));
    table.read_row("k", None).await.unwrap();
    assert_eq!(mock.requests().len(), 1);
}
