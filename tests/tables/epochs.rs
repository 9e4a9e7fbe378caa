//! Tables whose keys have another salt from a date on: rows of all epochs, programs of two releases, and the stamp.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use keyderive::client::{Family, FamilyChange};
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::key::TableKey;
use keyderive::{Client, Error, ErrorKind, GcRule, RowKey, Table};

use crate::registry::stamp_of;
use crate::servers::on_every_bigtable;

type Columns = std::collections::BTreeMap<String, String>;

/// The releases of one program.
macro_rules! releases {
    ($($(#[$key:meta])* $name:ident;)*) => {$(
        #[derive(RowKey, Clone, Debug, PartialEq, Eq)]
        $(#[$key])*
        struct $name {
            user: String,
            #[row_key(ts(unit = "secs"))]
            at: SystemTime,
        }
    )*};
}

releases! {
    First;

    #[salt(range = 4, over = "user", sep = "!", since(at = "2020-01-01T00:00:00Z"))]
    Second;

    #[salt(range = 4, over = "user", sep = "!", since(at = "2020-01-01T00:00:00Z"))]
    #[salt(range = 16, over = "user", sep = "!", since(at = "2100-01-01T00:00:00Z"))]
    Third;

    #[salt(range = 8, over = "user", sep = "!", since(at = "2020-01-01T00:00:00Z"))]
    Other;

    #[row_key(tag = "A")]
    TaggedFirst;

    #[row_key(tag = "A")]
    #[salt(range = 4, over = "user", sep = "!", since(at = "2020-01-01T00:00:00Z"))]
    TaggedSecond;

    #[row_key(tag = "B")]
    OtherTag;
}

/// The seconds of 2020-01-01 and of 2100-01-01.
const BOUNDS: [u64; 2] = [1_577_836_800, 4_102_444_800];

on_every_bigtable! {
    late_and_early_rows_have_the_layout_of_their_time
    a_row_of_an_older_program_is_foreign
    an_older_program_fails_once_the_table_has_advanced
    the_registry_says_what_differs_after_an_advance
    all_that_advance_beside_each_other_succeed
    tags_advance_by_themselves
    a_half_made_advance_is_finished
    only_the_layout_of_the_first_epochs_advances
}

fn table<K: RowKey + TableKey>(client: &Client) -> Table<K, Columns> {
    client.table("events")
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn row(value: &str) -> Columns {
    [("kind".to_owned(), value.to_owned())].into()
}

fn assert_mismatch<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    let error = outcome.unwrap_err();
    assert!(error.is_table_mismatch(), "{error}");
    error.to_string()
}

/// The clock is in the second epoch; rows of the first and the third are written and found in their own layouts.
async fn late_and_early_rows_have_the_layout_of_their_time(client: Client) {
    let events = table::<Third>(&client);
    events.create_if_absent().await.unwrap();
    let [first, second] = BOUNDS;
    let times = [first - 1, first, first + 1, second - 1, second, second + 1];
    let key = |user: &str, seconds| Third { user: user.into(), at: at(seconds) };
    for user in ["alice", "bob"] {
        for seconds in times {
            events.put(&key(user, seconds), &row(&seconds.to_string())).await.unwrap();
        }
    }
    let stored = client.raw_table("events").read_rows(keyderive::client::ReadRows::new().prefix([]));
    let stored: Vec<_> = futures_util::TryStreamExt::try_collect::<Vec<_>>(stored).await.unwrap();
    let stored: Vec<_> = stored.iter().map(|row| String::from_utf8_lossy(row.key()).into_owned()).collect();
    assert_eq!(
        stored,
        [
            "01!bob#4102444800",
            "01!bob#4102444801",
            "05!alice#4102444800",
            "05!alice#4102444801",
            "1!alice#1577836800",
            "1!alice#1577836801",
            "1!alice#4102444799",
            "1!bob#1577836800",
            "1!bob#1577836801",
            "1!bob#4102444799",
            "alice#1577836799",
            "bob#1577836799",
        ]
    );
    for seconds in times {
        let value = events.get(&key("alice", seconds)).await.unwrap();
        assert_eq!(value, Some(row(&seconds.to_string())));
    }
    let rows = events.scan(Third::scan()).collect().await.unwrap();
    let keys: Vec<_> = rows.into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["alice", "bob"].map(|user| times.map(|seconds| key(user, seconds))).concat());
    let late =
        events.scan(Third::scan().user("bob").at_range(..at(first + 1))).reversed().collect().await.unwrap();
    let late: Vec<_> = late.into_iter().map(|(key, _)| key).collect();
    assert_eq!(late, [key("bob", first), key("bob", first - 1)]);
    assert_eq!(events.delete_rows(Third::scan().user("alice")).await.unwrap(), 6);
    assert_eq!(events.count(Third::scan()).await.unwrap(), 6);
}

/// A program without the salt that writes after the bound: scans of the newer one fail on its row.
async fn a_row_of_an_older_program_is_foreign(client: Client) {
    let (older, newer) = (table::<First>(&client), table::<Second>(&client));
    older.create().without_row_key_schema().await.unwrap();
    let [bound, _] = BOUNDS;
    older.put(&First { user: "alice".into(), at: at(bound - 1) }, &row("before")).await.unwrap();
    assert!(newer.verify().await.unwrap().stamp);
    newer.put(&Second { user: "alice".into(), at: at(bound + 7) }, &row("newer")).await.unwrap();
    assert_eq!(newer.count(Second::scan()).await.unwrap(), 2);

    older.put(&First { user: "alice".into(), at: at(bound + 5) }, &row("straggler")).await.unwrap();
    for plan in [Second::scan().into_plan().unwrap(), Second::scan().user("alice").into_plan().unwrap()] {
        let error = newer.scan(plan.clone()).collect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ForeignRow, "{error}");
        assert_eq!(error.row_key(), Some(&b"alice#1577836805"[..]));
        assert!(error.to_string().contains("keys have since 2020-01-01T00:00:00Z"), "{error}");
        assert_eq!(newer.count(plan).await.unwrap_err().kind(), ErrorKind::ForeignRow);
    }
    // A point read looks where the row should be.
    let key = Second { user: "alice".into(), at: at(bound + 5) };
    assert_eq!(newer.get(&key).await.unwrap(), None);

    // And the older program fails on the rows of the newer one.
    assert_eq!(older.scan(First::scan()).collect().await.unwrap_err().kind(), ErrorKind::ForeignRow);
    newer.advance_stamp().await.unwrap();
    assert_mismatch(older.verify().await);
}

async fn an_older_program_fails_once_the_table_has_advanced(client: Client) {
    let (first, second, third) = (table::<First>(&client), table::<Second>(&client), table::<Third>(&client));
    first.create().without_row_key_schema().await.unwrap();
    for _ in 0..2 {
        assert!(first.verify().await.unwrap().stamp);
        assert!(second.verify().await.unwrap().stamp);
        assert!(third.verify().await.unwrap().stamp);
        assert!(!third.create_if_absent().await.unwrap());
        third.stamp().await.unwrap();
    }
    second.advance_stamp().await.unwrap();
    second.advance_stamp().await.unwrap();
    let key = First { user: "alice".into(), at: at(5) };
    for text in [
        assert_mismatch(first.verify().await),
        assert_mismatch(first.create_if_absent().await),
        assert_mismatch(table::<First>(&client).put(&key, &row("old")).await),
        assert_mismatch(table::<First>(&client).scan(First::scan()).collect().await),
        assert_mismatch(first.advance_stamp().await),
    ] {
        assert!(text.contains(&Second::fingerprint().to_string()), "{text}");
    }
    assert!(second.verify().await.unwrap().stamp && third.verify().await.unwrap().stamp);

    // To the third release, over the second.
    third.advance_stamp().await.unwrap();
    assert_mismatch(second.verify().await);
    assert_mismatch(second.advance_stamp().await);
    assert!(third.verify().await.unwrap().stamp);
    let stamps: Vec<_> =
        third.info().await.unwrap().families().iter().map(|family| family.name().to_owned()).collect();
    assert_eq!(stamps.iter().filter(|name| name.starts_with("keyderive.")).count(), 1, "{stamps:?}");
}

async fn the_registry_says_what_differs_after_an_advance(client: Client) {
    let (first, second, third) = (table::<First>(&client), table::<Second>(&client), table::<Third>(&client));
    first.create().without_row_key_schema().await.unwrap();
    second.advance_stamp().await.unwrap();
    assert!(second.verify().await.unwrap().stamp && third.verify().await.unwrap().stamp);
    let text = assert_mismatch(first.verify().await);
    assert!(
        text.contains("the number of `since` bounds is 1 in the table and 0 in this program: run the newer release, whose"),
        "{text}"
    );
    let text = assert_mismatch(table::<Other>(&client).verify().await);
    assert!(text.contains("the range of the salt is 4 in the table and 8 in this program"), "{text}");
    third.advance_stamp().await.unwrap();
    assert_mismatch(second.verify().await);
}

async fn all_that_advance_beside_each_other_succeed(client: Client) {
    table::<First>(&client).create().without_row_key_schema().await.unwrap();
    let second = table::<Second>(&client);
    join_all((0..8).map(|_| second.advance_stamp())).await.into_iter().for_each(Result::unwrap);
    let verified = second.verify().await.unwrap();
    assert!(verified.stamp);
    assert_mismatch(table::<First>(&client).verify().await);
}

async fn tags_advance_by_themselves(client: Client) {
    let (first, second, other) =
        (table::<TaggedFirst>(&client), table::<TaggedSecond>(&client), table::<OtherTag>(&client));
    first.create().without_row_key_schema().await.unwrap();
    other.create().without_row_key_schema().if_absent().await.unwrap();
    second.advance_stamp().await.unwrap();
    assert!(second.verify().await.unwrap().stamp && other.verify().await.unwrap().stamp);
    assert_mismatch(first.verify().await);
    assert_mismatch(table::<Second>(&client).advance_stamp().await);
}

/// A server that has applied a part of the request: nobody uses the table until the call is made again.
async fn a_half_made_advance_is_finished(client: Client) {
    let (first, second, third) = (table::<First>(&client), table::<Second>(&client), table::<Third>(&client));
    first.create().without_row_key_schema().await.unwrap();
    let info = first.info().await.unwrap();
    let (_, id) = stamp_of(&info, First::fingerprint()).unwrap().name().rsplit_once('.').unwrap();
    let stamp = Family::new(format!("keyderive.{}.{id}", Second::fingerprint()), GcRule::max_versions(1));
    first.modify_families([FamilyChange::add(stamp)]).await.unwrap();
    for text in [
        assert_mismatch(second.verify().await),
        assert_mismatch(third.advance_stamp().await),
        assert_mismatch(table::<Second>(&client).get(&Second { user: "a".into(), at: at(5) }).await),
    ] {
        assert!(text.contains("`advance_stamp`"), "{text}");
    }
    assert_mismatch(first.verify().await);
    second.advance_stamp().await.unwrap();
    assert!(second.verify().await.unwrap().stamp);
}

async fn only_the_layout_of_the_first_epochs_advances(client: Client) {
    let (first, second, other) = (table::<First>(&client), table::<Second>(&client), table::<Other>(&client));
    client.raw_table("events").create([Family::new("cf", GcRule::max_versions(1))], [""; 0]).await.unwrap();
    let text = assert_mismatch(second.advance_stamp().await);
    assert!(text.contains("`stamp()`"), "{text}");
    first.stamp().await.unwrap();
    second.advance_stamp().await.unwrap();
    assert_mismatch(other.advance_stamp().await);
    assert_mismatch(first.advance_stamp().await);
    assert!(second.verify().await.unwrap().stamp);
    // A table that the newest release makes is stamped with all epochs.
    client.table::<Third, Columns>("new").create_if_absent().await.unwrap();
    assert_mismatch(client.table::<Second, Columns>("new").verify().await);
}

/// A key type with salts from a date on has no row key schema, so `verify` rejects a table that has one. The emulator stores none.
#[tokio::test]
async fn a_table_with_a_row_key_schema_does_not_advance() {
    let client = Client::embedded();
    let (first, second) = (table::<First>(&client), table::<Second>(&client));
    first.create().await.unwrap();
    let before = first.info().await.unwrap();
    for text in [assert_mismatch(second.verify().await), assert_mismatch(second.advance_stamp().await)] {
        assert!(text.contains("`remove_row_key_schema`"), "{text}");
    }
    assert_eq!(first.info().await.unwrap(), before);
    assert!(first.verify().await.unwrap().stamp);
    first.remove_row_key_schema().await.unwrap();
    second.advance_stamp().await.unwrap();
    assert!(second.verify().await.unwrap().stamp);
}

/// Rows of another key type's schema: the stamp would contradict it.
#[tokio::test]
async fn a_table_with_the_row_key_schema_of_another_layout_is_not_stamped() {
    let client = Client::embedded();
    let first = table::<First>(&client);
    first.create().await.unwrap();
    let stamp = stamp_of(&first.info().await.unwrap(), First::fingerprint()).unwrap().name().to_owned();
    first.modify_families([FamilyChange::drop(stamp)]).await.unwrap();
    let before = first.info().await.unwrap();
    let text = assert_mismatch(table::<Second>(&client).stamp().await);
    assert!(text.contains("`remove_row_key_schema`"), "{text}");
    assert_eq!(first.info().await.unwrap(), before);
    first.stamp().await.unwrap();
    assert!(first.verify().await.unwrap().stamp);
}

/// A Bigtable with a table that is stamped with the first release.
async fn of_the_first_release() -> Bigtable {
    let bigtable = Bigtable::in_memory();
    table::<First>(&bigtable.client()).create().without_row_key_schema().await.unwrap();
    bigtable
}

#[tokio::test]
async fn an_advance_is_found_after_a_lost_answer() {
    {
        let method = Method::ModifyColumnFamilies;
        let bigtable = of_the_first_release().await;
        let faults = Faults::seeded(0).fail_nth(method, 1, Fault::unavailable().after_the_call());
        let faulty = bigtable.with_faults(faults);
        let second = table::<Second>(&faulty.client());
        assert!(second.advance_stamp().await.unwrap_err().is_outcome_unknown());
        second.advance_stamp().await.unwrap();
        assert_eq!(faulty.calls(method), 1, "{method:?}");
        let verified = second.verify().await.unwrap();
        assert!(verified.stamp);
        assert_mismatch(table::<First>(&bigtable.client()).verify().await);
    }
}

/// A request that did not arrive: the table is as before, and the older program runs on.
#[tokio::test]
async fn an_advance_that_was_not_sent_changes_nothing() {
    let bigtable = of_the_first_release().await;
    let fault = Fault::failed_precondition();
    let faulty = bigtable.with_faults(Faults::seeded(0).fail_nth(Method::ModifyColumnFamilies, 1, fault));
    let second = table::<Second>(&faulty.client());
    second.advance_stamp().await.unwrap_err();
    assert!(table::<First>(&bigtable.client()).verify().await.unwrap().stamp);
    second.advance_stamp().await.unwrap();
    assert_mismatch(table::<First>(&bigtable.client()).verify().await);
}

#[tokio::test]
async fn a_dropped_advance_leaves_one_layout_or_the_other() {
    for polls in 0..24 {
        let bigtable = of_the_first_release().await;
        let client = bigtable.client();
        {
            let second = table::<Second>(&client);
            let mut advance = pin!(second.advance_stamp());
            for _ in 0..polls {
                if advance.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        client.close().await;
        let steady = bigtable.client();
        assert!(table::<Second>(&steady).verify().await.unwrap().stamp);
        table::<Second>(&steady).advance_stamp().await.unwrap();
        assert_mismatch(table::<First>(&steady).verify().await);
    }
}
