//! Loads that add to sums: each item counts once, or the load says that it cannot know.

use std::collections::BTreeMap;
use std::future::{Future, IntoFuture as _, poll_fn};
use std::path::Path;
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

use fastrand::Rng;
use futures_util::stream;
use keyderive::client::Settings;
use keyderive::embedded::{Bigtable, Fault, FaultRule, Faults, Method};
use keyderive::row::{Max, Min, Sum, Timestamped, Versions};
use keyderive::table::load::{Checkpoint, Load, LoadError, LoadReport};
use keyderive::{Client, Row, RowKey, Table};

use keyderive_proto::data::{Idempotency, MutateRowsRequest};
use keyderive_scripted::{Mock, Rpc};
use keyderive_tests::fixtures::created;
use keyderive_tests::{Folder, amount, variable};
use tonic::Code;

use super::{client_of, kill, written_by};
use crate::registry::without_registry;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR_MICROS: i64 = 3_600_000_000;

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4)]
struct DayKey {
    depot: u32,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Day {
    last: u64,
    note: Option<String>,
    #[row(family = "sums")]
    events: Sum,
    #[row(family = "least")]
    least: Min,
    #[row(family = "most")]
    most: Max,
    #[row(family = "hours", window = "1h")]
    hourly: Versions<Sum>,
    #[row(family)]
    kinds: BTreeMap<String, Sum>,
}

type Days = Table<DayKey, Day>;
type Item = (DayKey, Day);

fn day(depot: u32, last: u64) -> Item {
    let amount = last as i64 % 7 + 1;
    let hour = Timestamped::new(HOUR_MICROS + last as i64 % 3600 * 1_000_000, Sum::new(amount));
    let day = Day {
        last,
        note: last.is_multiple_of(3).then(|| last.to_string()),
        events: Sum::new(amount),
        least: Min::new(last as i64),
        most: if last == 0 { Max::default() } else { Max::new(last as i64) },
        hourly: [hour].into(),
        kinds: [((if last.is_multiple_of(2) { "even" } else { "odd" }).into(), Sum::new(1))].into(),
    };
    (DayKey { depot }, day)
}

/// Items of which many have a key that others have.
fn input(items: u64) -> Vec<Item> {
    (0..items).map(|last| day((last * 7 % 13) as u32, last)).collect()
}

/// What the rows are after each item was added once; without a note of their own they keep one, if the load merges.
fn totals<'i>(items: impl IntoIterator<Item = &'i Item>, merges: bool) -> BTreeMap<DayKey, Day> {
    let mut totals: BTreeMap<DayKey, Day> = BTreeMap::new();
    for (key, day) in items {
        let Some(total) = totals.get_mut(key) else {
            totals.insert(key.clone(), day.clone());
            let total = totals.get_mut(key).unwrap();
            total.hourly = day.hourly.iter().map(|hour| Timestamped::new(HOUR_MICROS, hour.value)).collect();
            continue;
        };
        let sum = |one: Sum, other: Sum| Sum::new(one.get() + other.get());
        total.last = day.last;
        total.note = day.note.clone().or_else(|| total.note.take().filter(|_| merges));
        total.events = sum(total.events, day.events);
        total.least = Min::new(total.least.get().unwrap().min(day.least.get().unwrap()));
        total.most = total.most.get().max(day.most.get()).map_or_else(Max::default, Max::new);
        total.hourly =
            [Timestamped::new(HOUR_MICROS, sum(total.hourly[0].value, day.hourly[0].value))].into();
        for (kind, count) in &day.kinds {
            let total = total.kinds.entry(kind.clone()).or_default();
            *total = sum(*total, *count);
        }
    }
    totals
}

async fn stored(table: &Days) -> BTreeMap<DayKey, Day> {
    table.scan(DayKey::scan()).collect().await.unwrap().into_iter().collect()
}

async fn days(bigtable: &Bigtable) -> Days {
    created(&bigtable.client(), "days").await
}

fn of(client: &Client) -> Days {
    without_registry(client).table("days")
}

/// The table behind a server that does this.
fn faulty(bigtable: &Bigtable, faults: Faults) -> Days {
    of(&bigtable.with_faults(faults).client())
}

fn ignores_tokens(settings: &mut Settings) {
    settings.idempotency_tokens = Some(false);
}

/// The first requests that write are applied, and their answers are lost.
fn lost(requests: u64) -> Faults {
    (1..=requests).fold(Faults::seeded(0), |faults, number| {
        faults.fail_nth(Method::MutateRows, number, Fault::unavailable().after_the_call())
    })
}

/// Polls a load so often, and drops it; returns its result if it has ended.
async fn polled<F: Future>(load: F, polls: usize) -> Option<F::Output> {
    let mut load = pin!(load);
    let mut left = polls;
    poll_fn(|cx| match load.as_mut().poll(cx) {
        Poll::Ready(ended) => Poll::Ready(Some(ended)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// A load of small requests, whose checkpoints go to `told`.
fn small<'a>(
    table: &Days,
    items: &'a [Item],
    told: &'a Mutex<Option<Checkpoint>>,
) -> Load<'a, Days, stream::Iter<std::slice::Iter<'a, Item>>> {
    let resume = told.lock().unwrap().clone();
    // As a file would have it.
    let resume = resume.map(|checkpoint| {
        serde_json::from_str::<Checkpoint>(&serde_json::to_string(&checkpoint).unwrap()).unwrap()
    });
    let load = table.load_iter(items).add_sums().batch_rows(3).look_ahead(2_000).workers(3);
    load.checkpoint_every(10).resume(resume).on_checkpoint(|checkpoint| {
        *told.lock().unwrap() = Some(checkpoint.clone());
    })
}

/// Loads a part of the input, and is killed with requests in flight.
async fn killed(table: &Days, items: &[Item]) -> Mutex<Option<Checkpoint>> {
    for polls in 5.. {
        let told = Mutex::default();
        assert!(polled(small(table, items, &told).into_future(), polls).await.is_none(), "it has ended");
        if told.lock().unwrap().as_ref().is_some_and(|checkpoint| checkpoint.items() > 10) {
            return told;
        }
        table.delete_rows(DayKey::scan()).await.unwrap();
    }
    unreachable!()
}

#[tokio::test(start_paused = true)]
async fn each_item_adds_to_what_is_there() {
    let days = days(&Bigtable::in_memory()).await;
    let items = input(100);
    let report = days.load_iter(&items).add_sums().await.unwrap();
    assert_eq!((report.written(), report.may_be_counted_twice()), (100, &[][..]));
    report.all_written().unwrap();
    assert_eq!(stored(&days).await, totals(&items, false));
    // Another load of the same items is another 100 items.
    days.load_iter(&items).add_sums().await.unwrap().all_written().unwrap();
    assert_eq!(stored(&days).await, totals(items.iter().chain(&items), false));
    // Without the setting, sums stay.
    days.load_iter(&items).await.unwrap().all_written().unwrap();
    assert_eq!(stored(&days).await, totals(items.iter().chain(&items), false));
}

#[tokio::test(start_paused = true)]
async fn loads_beside_each_other_all_add() {
    let bigtable = Bigtable::in_memory();
    let days = days(&bigtable).await;
    let items = input(100);
    let load =
        || async { days.load_iter(&items).add_sums().batch_rows(3).await.unwrap().all_written().unwrap() };
    tokio::join!(load(), load(), load());
    let events: i64 = stored(&days).await.into_values().map(|day| day.events.get()).sum();
    assert_eq!(events, 3 * items.iter().map(|(_, day)| day.events.get()).sum::<i64>());
}

#[tokio::test(start_paused = true)]
async fn new_rows_merge_and_add() {
    let days = days(&Bigtable::in_memory()).await;
    let items = input(100);
    days.load_iter(&items).add_sums().new_rows().batch_rows(7).await.unwrap().all_written().unwrap();
    assert_eq!(stored(&days).await, totals(&items, true));
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Counts {
    #[row(family = "sums")]
    events: Sum,
    #[row(family)]
    kinds: Option<BTreeMap<String, Sum>>,
}

/// It is no row for `put`, since nothing would be set.
#[tokio::test(start_paused = true)]
async fn a_row_of_sums_alone_is_added() {
    let table: Table<DayKey, Counts> = created(&Client::embedded(), "counts").await;
    let row = |kinds: Option<&str>| {
        let kinds = kinds.map(|kind| [(kind.to_owned(), Sum::new(2))].into());
        (DayKey { depot: 1 }, Counts { events: Sum::new(20), kinds })
    };
    let rows = [row(None), row(Some("a")), row(Some("a"))];
    table.load_iter(&rows).add_sums().await.unwrap().all_written().unwrap();
    let expected = Counts { events: Sum::new(60), kinds: Some([("a".into(), Sum::new(4))].into()) };
    assert_eq!(table.get(&DayKey { depot: 1 }).await.unwrap().unwrap(), expected);
    assert_eq!(table.load_iter(&rows).await.unwrap().failed_count(), 3);
}

#[tokio::test(start_paused = true)]
async fn lost_answers_count_once() {
    let bigtable = Bigtable::in_memory();
    let steady = days(&bigtable).await;
    let items = input(100);
    let table = faulty(&bigtable, lost(5));
    table.load_iter(&items).add_sums().batch_rows(10).await.unwrap().all_written().unwrap();
    assert_eq!(stored(&steady).await, totals(&items, false));
}

/// The first run was killed; nobody knows how far it came after its last checkpoint.
#[tokio::test(start_paused = true)]
async fn a_killed_load_is_resumed_within_the_life_of_its_tokens() {
    for advance in [Duration::ZERO, 9 * MINUTE, 11 * MINUTE, 60 * MINUTE] {
        let bigtable = Bigtable::in_memory();
        let days = days(&bigtable).await;
        let items = input(200);
        let told = killed(&days, &items).await;
        let checkpoint = told.lock().unwrap().clone().unwrap();
        bigtable.advance(advance);
        let before = stored(&days).await;
        let resumed = small(&days, &items, &told).await;
        if advance < 10 * MINUTE {
            resumed.unwrap().all_written().unwrap();
            assert_eq!(stored(&days).await, totals(&items, false));
            continue;
        }
        let error = resumed.unwrap_err();
        assert!(error.is_outcome_unknown() && error.error().is_none(), "{error}");
        let [range] = error.may_be_counted() else { panic!("{error}") };
        assert!(range.start == checkpoint.items() && range.end > range.start, "{range:?}");
        let text = error.to_string();
        let named = format!("the sums of items {} to {}, counted from 0,", range.start, range.end - 1);
        assert!(text.contains(&named) && text.contains("`.may_count_twice()`"), "{text}");
        // It wrote nothing, and may be asked again.
        assert_eq!(stored(&days).await, before);
        assert_eq!(*error.checkpoint(), checkpoint);
        let report = small(&days, &items, &told).may_count_twice().await.unwrap();
        assert_eq!(report.may_be_counted_twice(), std::slice::from_ref(range));
        assert!(report.to_string().contains("may have been added to twice"), "{report}");
        // No row counts less than once, and those that count twice are named.
        let (least, most) =
            (totals(&items, false), totals(items.iter().chain(&items[range.start as usize..]), false));
        for (key, day) in stored(&days).await {
            let counted = day.events.get();
            assert!((least[&key].events.get()..=most[&key].events.get()).contains(&counted), "{key:?}");
        }
        // A load that resumes this one still says so.
        let again = small(&days, &items, &told).await.unwrap();
        assert_eq!((again.read(), again.may_be_counted_twice()), (0, &[range.clone()][..]));
    }
}

/// Within the life of the tokens they are all known again, so the second load adds nothing.
#[tokio::test(start_paused = true)]
async fn an_earlier_checkpoint_counts_no_item_twice() {
    let bigtable = Bigtable::in_memory();
    let days = days(&bigtable).await;
    let items = input(100);
    let first = Mutex::new(None);
    let load = days.load_iter(&items).add_sums().on_checkpoint(|checkpoint| {
        first.lock().unwrap().get_or_insert(checkpoint.clone());
    });
    load.await.unwrap().all_written().unwrap();
    let report = small(&days, &items, &first).await.unwrap();
    assert_eq!(report.written(), 100);
    assert_eq!(stored(&days).await, totals(&items, false));
}

/// No request was in flight, and all rows before the item that failed were written.
#[tokio::test(start_paused = true)]
async fn a_load_whose_input_failed_is_resumed_at_any_time_and_on_any_server() {
    for client_ignores in [false, true] {
        let bigtable = Bigtable::in_memory();
        let steady = days(&bigtable).await;
        let days = if client_ignores { steady.with(ignores_tokens) } else { steady.clone() };
        let items = input(100);
        let bad = items.iter().enumerate().map(|(at, item)| if at == 57 { Err("bad") } else { Ok(item) });
        let error = days.load_iter(bad).add_sums().batch_rows(10).await.unwrap_err();
        assert!(error.is_input());
        bigtable.advance(600 * MINUTE);
        let report = days.load_iter(&items).add_sums().resume(error.checkpoint().clone()).await.unwrap();
        assert_eq!((report.read(), report.written()), (43, 43));
        assert_eq!(stored(&steady).await, totals(&items, false));
    }
}

/// There, an addition of unknown outcome is not sent again.
#[tokio::test(start_paused = true)]
async fn where_tokens_are_ignored_a_lost_answer_is_a_failed_row() {
    let bigtable = Bigtable::in_memory();
    let steady = days(&bigtable).await;
    let items = input(100);
    let table = faulty(&bigtable, lost(1)).with(ignores_tokens);
    let report = table.load_iter(&items).add_sums().batch_rows(4).workers(1).await.unwrap();
    let lost = report.failed_count();
    assert!((1..=4).contains(&lost) && report.written() == 100 - lost, "{report}");
    for row in report.failed() {
        assert!(row.error().is_outcome_unknown(), "{row}");
        assert!(row.to_string().contains("not known to honour idempotency tokens"), "{row}");
    }
    // The answers were lost, and not the requests.
    assert_eq!(stored(&steady).await, totals(&items, false));
    let failed = report.checkpoint().failed().to_vec();
    let checkpoint = report.checkpoint().clone();
    let error = steady
        .with(ignores_tokens)
        .load_iter(&items)
        .add_sums()
        .resume(checkpoint.clone())
        .await
        .unwrap_err();
    let named: Vec<_> = error.may_be_counted().iter().map(|items| items.start).collect();
    assert!(error.is_outcome_unknown() && named == failed, "{error}");
    assert_eq!(stored(&steady).await, totals(&items, false));
    // They are counted twice, since no server remembers them now, and the report names them.
    bigtable.advance(20 * MINUTE);
    let load = steady.with(ignores_tokens).load_iter(&items).add_sums().resume(checkpoint).may_count_twice();
    let report = load.await.unwrap();
    let twice: Vec<_> = report.may_be_counted_twice().iter().cloned().flatten().collect();
    assert_eq!((report.written(), twice), (lost, failed.clone()));
    report.all_written().unwrap();
    let again = items.iter().chain(failed.iter().map(|at| &items[*at as usize]));
    let events = |rows: BTreeMap<DayKey, Day>| rows.into_values().map(|day| day.events).collect::<Vec<_>>();
    assert_eq!(events(stored(&steady).await), events(totals(again, false)));
}

/// Without sums, nothing can count twice: a minimum and a maximum stay as they are.
#[tokio::test(start_paused = true)]
async fn extremes_are_added_at_any_time() {
    #[derive(Row)]
    struct Extremes {
        #[row(family = "least")]
        least: Min,
        #[row(family = "most")]
        most: Max,
    }

    let bigtable = Bigtable::in_memory();
    bigtable.client().table::<DayKey, Extremes>("extremes").create_if_absent().await.unwrap();
    let client = without_registry(&bigtable.with_faults(lost(1)).client()).with(ignores_tokens);
    let table = client.table::<DayKey, Extremes>("extremes");
    let rows = (0..100).map(|at| (DayKey { depot: 1 }, Extremes { least: Min::new(at), most: Max::new(at) }));
    let told = Mutex::new(None);
    let load = |rows| table.load_iter(rows).add_sums().batch_rows(1);
    let first =
        load(rows.clone()).on_checkpoint(|checkpoint| *told.lock().unwrap() = Some(checkpoint.clone()));
    assert!(polled(first.into_future(), 5).await.is_none());
    bigtable.advance(60 * MINUTE);
    let stored = told.lock().unwrap().clone();
    load(rows).resume(stored).await.unwrap().all_written().unwrap();
    let row = table.get(&DayKey { depot: 1 }).await.unwrap().unwrap();
    assert_eq!((row.least.get(), row.most.get()), (Some(0), Some(99)));
}

/// The later row has replaced the columns, and both add.
#[tokio::test(start_paused = true)]
async fn a_failed_row_before_a_later_one_of_its_key_is_still_added() {
    for merges in [false, true] {
        let days = days(&Bigtable::in_memory()).await;
        let items: Vec<_> = (0..10).map(|last| day(last as u32 % 2, last)).collect();
        // A time that no cell can have.
        let mut bad = items.clone();
        for at in [2, 3, 6] {
            bad[at].1.hourly = [Timestamped::new(0, Sum::new(1))].into();
        }
        let load = |items| {
            let load = days.load_iter(items).add_sums().batch_rows(1);
            if merges { load.new_rows() } else { load }
        };
        let report = load(bad.clone()).await.unwrap();
        assert_eq!(report.checkpoint().failed(), [2, 3, 6]);
        // They fail again.
        let report = load(bad).resume(report.checkpoint().clone()).await.unwrap();
        assert_eq!(report.checkpoint().failed(), [2, 3, 6]);
        let report = load(items.clone()).resume(report.checkpoint().clone()).await.unwrap();
        report.all_written().unwrap();
        assert_eq!(stored(&days).await, totals(&items, merges));
    }
}

/// A server that still knows the token of the later row skips it, which must not leave the columns of the earlier one.
#[tokio::test(start_paused = true)]
async fn a_later_row_that_is_known_replaces_a_failed_one_that_is_added_again() {
    let items: Vec<_> = (0..6).map(|last| day(1, last)).collect();
    // A time that no cell can have.
    let mut bad = items.clone();
    bad[0].1.hourly = [Timestamped::new(0, Sum::new(1))].into();
    for at in 0..6 {
        let days = days(&Bigtable::in_memory()).await;
        let stored_checkpoints = Mutex::new(Vec::new());
        let load = days.load_iter(&bad).add_sums().batch_rows(1).checkpoint_every(1);
        let load =
            load.on_checkpoint(|checkpoint| stored_checkpoints.lock().unwrap().push(checkpoint.clone()));
        assert_eq!(load.await.unwrap().failed_count(), 1);
        let mut checkpoints = stored_checkpoints.into_inner().unwrap().into_iter();
        let Some(checkpoint) = checkpoints.find(|checkpoint| checkpoint.items() > at) else {
            panic!("no checkpoint after item {at}");
        };
        let load = days.load_iter(&items).add_sums().resume(checkpoint);
        load.await.unwrap().all_written().unwrap();
        assert_eq!(stored(&days).await, totals(&items, false), "after item {at}");
    }
}

/// The rows are as good as others, and are added once the server is back.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_ends_the_load_and_fails_no_row() {
    let bigtable = Bigtable::in_memory();
    let steady = days(&bigtable).await;
    let items = input(20);
    let away = FaultRule::fail(Fault::unavailable()).methods([Method::MutateRows]);
    let error =
        faulty(&bigtable, Faults::seeded(0).rule(away)).load_iter(&items).add_sums().await.unwrap_err();
    assert!(error.error().is_some_and(keyderive::Error::is_unavailable), "{error}");
    assert!(error.checkpoint().failed().is_empty(), "{error}");
    let load = steady.load_iter(&items).add_sums().resume(error.checkpoint().clone());
    load.await.unwrap().all_written().unwrap();
    assert_eq!(stored(&steady).await, totals(&items, false));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_added_once_is_refused() {
    let bigtable = Bigtable::in_memory();
    let days = days(&bigtable).await;
    let items = input(20);
    let refused = |ended: Result<LoadReport, LoadError>, why: &str| {
        let error = ended.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(why) && !error.is_outcome_unknown(), "{text}");
    };
    refused(
        days.load_iter(&items).add_sums().if_absent().await,
        "cannot both `add_sums` and write rows `if_absent`",
    );
    assert!(stored(&days).await.is_empty());
    let plain = days.load_iter(&items).await.unwrap().checkpoint().clone();
    let adds = days.load_iter(&items).add_sums().await.unwrap().checkpoint().clone();
    let resumed = days.load_iter(&items).add_sums().resume(plain);
    refused(resumed.await, "the checkpoint is of a load without `.add_sums()`");
    refused(
        days.load_iter(&items).resume(adds.clone()).await,
        "the checkpoint is of a load with `.add_sums()`",
    );
    assert_eq!(days.load_iter(&items).add_sums().resume(adds).await.unwrap().read(), 0);
}

/// A checkpoint with another time, as by a clock that was set.
fn set_since(told: &Mutex<Option<Checkpoint>>, change: i64) {
    let mut told = told.lock().unwrap();
    let mut stored = serde_json::to_value(told.as_ref().unwrap()).unwrap();
    let since = &mut stored["sums"]["since"];
    *since = (since.as_i64().unwrap() + change).into();
    *told = Some(serde_json::from_value(stored).unwrap());
}

/// A clock that was set back does not say how long ago a checkpoint was made. One that was ahead in the first run, and was set back by
/// less than has passed, is found by the server, unless it was ahead by more than 5 minutes.
#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_counts_no_item_twice() {
    let since_ahead = [(60, 0), (240, 0), (240, 30), (299, 16), (-700, 0), (299, 14)];
    for (ahead, minutes) in since_ahead {
        let bigtable = Bigtable::in_memory();
        let days = days(&bigtable).await;
        let items = input(200);
        let told = killed(&days, &items).await;
        let before = stored(&days).await;
        bigtable.advance(minutes * MINUTE);
        set_since(&told, ahead);
        let error = match small(&days, &items, &told).max_failures(0).await {
            Err(error) => error,
            Ok(report) => {
                report.all_written().unwrap();
                assert_eq!(
                    stored(&days).await,
                    totals(&items, false),
                    "{ahead} s ahead, after {minutes} min"
                );
                continue;
            }
        };
        let text = error.to_string();
        assert!(error.is_outcome_unknown() || text.contains("remembered for 15 minutes"), "{text}");
        assert_eq!(stored(&days).await, before, "{ahead} s ahead, after {minutes} min");
    }
}

/// Faults, kills at any moment, and pauses: the sums are exact, or the load has said that it cannot know.
#[tokio::test(start_paused = true)]
async fn sums_are_exact_or_the_load_says_that_it_cannot_know() {
    let seed = variable("KEYDERIVE_LOAD_SUMS_SEED", 7);
    let (mut exact, mut unknown, mut twice) = (0, 0, 0);
    let runs = amount("KEYDERIVE_LOAD_SUMS_RUNS", "loads beside random faults that add sums", 16, 150);
    for run in 0..runs {
        let mut rng = Rng::with_seed(seed * 1000 + run);
        let bigtable = Bigtable::in_memory();
        let steady = days(&bigtable).await;
        let items: Vec<_> = (0..rng.u64(20..300)).map(|last| day(rng.u32(..20), last)).collect();
        let (ignores, merges) = (rng.u8(..4) == 0, rng.bool());
        let told = Mutex::default();
        let (mut said_unknown, mut loads) = (false, 0);
        let ended = loop {
            loads += 1;
            assert!(loads < 1000, "seed {seed}, run {run}: the load does not come to its end");
            let chance = if ignores { 0.02 } else { 0.2 };
            let faults = Faults::seeded(rng.u64(..))
                .fail(Method::MutateRows, chance, Fault::unavailable().after_the_call())
                .fail(Method::MutateRows, 0.1, Fault::aborted())
                .fail(Method::MutateRows, 0.02, Fault::failed_precondition())
                .delay(Method::MutateRows, 0.3, Duration::from_secs(1));
            let mut table = faulty(&bigtable, faults);
            if ignores {
                table = table.with(ignores_tokens);
            }
            let mut load = small(&table, &items, &told);
            load = if merges { load.new_rows() } else { load };
            load = if said_unknown { load.may_count_twice() } else { load };
            let polls = if rng.u8(..3) == 0 { usize::MAX } else { rng.usize(..60) };
            match polled(load.into_future(), polls).await {
                Some(Ok(report)) if report.failed_count() == 0 => break report,
                Some(Err(error)) if error.is_outcome_unknown() => said_unknown = true,
                Some(Err(error)) => panic!("seed {seed}, run {run}: {error}"),
                Some(Ok(report)) => *told.lock().unwrap() = Some(report.checkpoint().clone()),
                None => {}
            }
            let pause = [0, 0, 1, 4, 9, 12, 16, 60][rng.usize(..8)];
            bigtable.advance(pause * MINUTE);
        };
        let (least, found) = (totals(&items, merges), stored(&steady).await);
        match ended.may_be_counted_twice() {
            [] => {
                assert!(found == least, "seed {seed}, run {run}: {}", difference(&found, &least));
                exact += 1;
            }
            ranges => {
                assert!(said_unknown);
                // What is not named counts once.
                let named = ranges.iter().cloned().flatten().filter_map(|at| items.get(at as usize));
                let named: Vec<_> = named.map(|(key, _)| key.clone()).collect();
                for (key, day) in &found {
                    let (counted, once) = (day.events, least[key].events);
                    let is_right = if named.contains(key) { counted >= once } else { counted == once };
                    assert!(is_right, "seed {seed}, run {run}: {key:?} has {counted:?}, and not {once:?}");
                }
                twice += 1;
            }
        }
        unknown += u64::from(said_unknown);
    }
    println!("seed {seed}: {exact} exact, {unknown} did not know, {twice} may count twice");
    assert!(exact > runs / 10 && twice > runs / 15);
}

fn difference(found: &BTreeMap<DayKey, Day>, expected: &BTreeMap<DayKey, Day>) -> String {
    let differs = expected.iter().find(|(key, day)| found.get(key) != Some(day));
    format!("{differs:?}, found {:?}", differs.map(|(key, _)| found.get(key)))
}

/// The tokens of the requests, by the key, with the times that they say.
fn tokens(mock: &Mock) -> BTreeMap<Vec<u8>, Vec<(Vec<u8>, i64)>> {
    let mut tokens = BTreeMap::<_, Vec<_>>::new();
    for request in mock.requests_of(Rpc::MutateRows) {
        for entry in request.decode::<MutateRowsRequest>().entries {
            // The columns of a repeated row are an entry of their own.
            let Some(Idempotency { token, start_time }) = entry.idempotency else { continue };
            let start = start_time.unwrap().seconds;
            tokens.entry(entry.row_key.to_vec()).or_default().push((token.to_vec(), start));
        }
    }
    tokens
}

/// A resumed load repeats the tokens of what may have been sent, and says to the server that they are 5 minutes older.
#[tokio::test(start_paused = true)]
async fn a_resumed_load_repeats_its_tokens() {
    let items: Vec<_> = (0..300).map(|at| day(at, at.into())).collect();
    let mut told: Vec<Checkpoint> = Vec::new();
    let run = |resume: Option<Checkpoint>| {
        let mock = written_by(Vec::new(), |_| Code::Ok);
        let client = client_of(&mock).with(|settings| settings.idempotency_tokens = Some(true));
        let days: Days = client.table("days");
        (
            days.load_iter(&items)
                .add_sums()
                .batch_rows(20)
                .look_ahead(0)
                .checkpoint_every(50)
                .resume(resume),
            mock,
        )
    };
    let (load, first) = run(None);
    load.on_checkpoint(|checkpoint| told.push(checkpoint.clone())).await.unwrap().all_written().unwrap();
    let first = tokens(&first);
    assert_eq!(first.len(), 300);
    // The first checkpoint lets the load send the first items.
    let begin = serde_json::to_value(&told[0]).unwrap();
    assert_eq!((told[0].items(), &begin["sums"]["sent"]), (0, &serde_json::json!(100)));
    let (load, second) = run(Some(told[0].clone()));
    load.await.unwrap().all_written().unwrap();
    let second = tokens(&second);
    for (at, (key, day)) in items.iter().enumerate() {
        let key = key.encode().unwrap().to_vec();
        let ([(token, start)], [(again, restart)]) = (&first[&key][..], &second[&key][..]) else {
            panic!("{day:?}")
        };
        assert_eq!(token, again);
        let earlier = start - restart;
        assert!(
            if at < 100 { (299..=305).contains(&earlier) } else { (-60..=0).contains(&earlier) },
            "{at}: {earlier}"
        );
    }
}

/// More items than the children add before they are killed.
const KILLED_ITEMS: u64 = 20_000;

async fn add_in(folder: &Path, told: impl Fn(&Checkpoint) + Send + Sync) -> (Days, LoadReport) {
    let client = Client::embedded_at(folder.join("days.keyderive")).await.unwrap();
    let days: Days = client.table("days");
    days.create_if_absent().await.unwrap();
    println!("\nopened");
    let items = input(KILLED_ITEMS);
    let load = days.load_iter(&items).add_sums().workers(4).batch_rows(5).look_ahead(20_000);
    let load = load.checkpoint_every(100).resume(kill::stored(folder)).on_checkpoint(|checkpoint| {
        kill::store(folder, checkpoint);
        told(checkpoint);
    });
    let report = load.await.unwrap();
    (days, report)
}

#[test]
fn killed_loads_that_are_resumed_count_each_item_once() {
    let kills = amount("KEYDERIVE_LOAD_KILLS", "loads that are killed", 2, 20);
    let seed = variable("KEYDERIVE_LOAD_SEED", 7);
    let folder = Folder::new("load-sums");
    let mut rng = Rng::with_seed(seed);
    for number in 0..kills {
        kill::kill_after(&folder, rng.usize(..12), number, "load::sums::adds_until_it_is_killed");
    }
    let begin = kill::stored(&folder).unwrap().items();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (days, report) = add_in(&folder, |_| ()).await;
        assert_eq!((report.read(), report.may_be_counted_twice()), (KILLED_ITEMS - begin, &[][..]));
        report.all_written().unwrap();
        assert_eq!(stored(&days).await, totals(&input(KILLED_ITEMS), false));
    });
}

/// Runs in a child.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adds_until_it_is_killed() {
    let Some(folder) = std::env::var_os(kill::FOLDER) else { return };
    add_in(Path::new(&folder), |checkpoint| println!("checkpoint {}", checkpoint.items()))
        .await
        .1
        .all_written()
        .unwrap();
}
