//! Rows that a `ttl` hides: what each call makes of them, and of a client whose clock is wrong.
//!
//! A client an hour ahead of the server sees each cell an hour older than the server does. So a cell of which the stored time is an
//! hour earlier stands for the same cell and a client that is an hour ahead.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use keyderive::client::RawTable;
use keyderive::row::{Condition, Mutation, Sum, Timestamped, Versions};
use keyderive::table::put_both;
use keyderive::{Client, Error, GcRule, Row, RowKey, Table};
use keyderive_tests::fixtures::{SaltedKey, UserKey, created, fails};

use crate::servers::on_every_bigtable;

on_every_bigtable! {
    reads_agree_that_a_hidden_row_is_not_there
    stored_reads_show_hidden_rows
    erasures_take_hidden_rows
    conditions_take_a_hidden_row_for_absent
    if_absent_replaces_a_hidden_row_whole
    a_put_replaces_a_hidden_row_whole
    changes_of_a_hidden_row_leave_the_hidden_columns
    a_write_that_would_be_hidden_at_once_fails
    a_write_that_would_be_hidden_at_once_fails_in_bulk
    a_window_that_is_hidden_takes_no_addition
    hidden_values_are_not_changed_at_the_server
    copies_and_comparisons_take_hidden_cells
    a_client_that_is_ahead_takes_a_lock_early
    a_client_that_is_behind_takes_a_lock_late
    a_row_that_is_hidden_in_part_is_there
    a_part_of_a_row_type_hides_what_the_whole_does
    a_map_as_another_row_type_has_the_entries_that_the_whole_has
}

/// A lock, which is free after an hour.
#[derive(Row, Clone, Debug, Default, PartialEq)]
#[row(ttl = "1h")]
struct Lock {
    owner: Option<String>,
    note: Option<String>,
    seen: Option<Timestamped<i64>>,
    #[row(family = "history", ttl = "1h")]
    steps: Versions<String>,
    #[row(family = "hourly", ttl = "1h", window = "1m")]
    views: Versions<Sum>,
}

/// A part of a lock.
#[derive(Row, Clone, Debug, PartialEq)]
#[row(ttl = "1h")]
struct Note {
    note: Option<String>,
}

type Locks = Table<SaltedKey, Lock>;

const KEY: SaltedKey = SaltedKey { id: 7 };
const LIVE: SaltedKey = SaltedKey { id: 8 };
const HOUR: i64 = 3_600_000_000;
const MINUTE: i64 = 60_000_000;

/// Microseconds since the epoch, in whole milliseconds.
fn now() -> i64 {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    i64::try_from(millis).unwrap() * 1000
}

/// A table whose server removes nothing by itself.
async fn locks(client: &Client) -> Locks {
    let locks = client.table("locks");
    create(&locks).await;
    locks
}

async fn create(locks: &Locks) {
    let sums = keyderive::client::Aggregate::Sum;
    locks
        .create()
        .family("cf", GcRule::never())
        .family("history", GcRule::never())
        .aggregate_family("hourly", sums, GcRule::never())
        .await
        .unwrap();
}

fn raw(locks: &Locks, client: &Client) -> RawTable {
    client.raw_table(locks.name())
}

/// Stores a lock whose cells are so old by the server's clock.
async fn store(client: &Client, key: &impl RowKey, age: i64) {
    let at = now() - age;
    let cells = ["owner", "note"].map(|column| Mutation::set("cf", column, at, "alice"));
    client.raw_table("locks").mutate_row(key.encode().unwrap(), cells).await.unwrap();
}

/// One row that is hidden, and one that is there.
async fn hidden_and_live(client: &Client) -> Locks {
    let locks = locks(client).await;
    store(client, &KEY, 2 * HOUR).await;
    store(client, &LIVE, MINUTE).await;
    locks
}

fn lock(owner: &str) -> Lock {
    Lock { owner: Some(owner.into()), ..Lock::default() }
}

fn alice() -> Lock {
    Lock { note: Some("alice".into()), ..lock("alice") }
}

/// The stored columns of a row.
async fn stored(locks: &Locks, key: &SaltedKey) -> BTreeSet<String> {
    let row = locks.get_raw(key).await.unwrap();
    let cells = row.iter().flat_map(|row| row.cells());
    cells.map(|cell| format!("{}:{}", cell.family(), cell.qualifier().escape_ascii())).collect()
}

async fn reads_agree_that_a_hidden_row_is_not_there(client: Client) {
    let locks = hidden_and_live(&client).await;
    let all = || locks.scan(SaltedKey::scan());
    assert_eq!(locks.get(&KEY).await.unwrap(), None);
    assert_eq!(locks.get_many([KEY, LIVE]).await.unwrap(), [None, Some(alice())]);
    assert!(!locks.exists(&KEY).await.unwrap() && locks.exists(&LIVE).await.unwrap());
    assert_eq!(all().collect().await.unwrap(), [(LIVE, alice())]);
    assert_eq!(all().unordered().collect().await.unwrap(), [(LIVE, alice())]);
    assert_eq!(all().keys_only().collect().await.unwrap(), [LIVE]);
    assert_eq!(all().distinct(1).collect().await.unwrap(), [LIVE]);
    assert_eq!(locks.count(SaltedKey::scan()).await.unwrap(), 1);
    assert_eq!(all().matching(Condition::row_exists()).count().await.unwrap(), 1);
    assert_eq!(all().matching(Lock::OWNER.equals("alice")).count().await.unwrap(), 1);
    assert_eq!(all().matching(Lock::OWNER.absent()).count().await.unwrap(), 0);
    assert_eq!(all().explain_analyze().await.unwrap().rows, 1);
    let page = all().page(10).await.unwrap();
    assert_eq!((page.rows, page.next), (vec![(LIVE, alice())], None));
    let mut visited = 0;
    let visit = all().visit::<SaltedKey, Error>(|_, row| {
        visited += usize::from(row.read::<Lock>()? == alice());
        Ok(())
    });
    assert_eq!((visit.await.unwrap(), visited), (1, 1));
    let owner = locks.select(Lock::OWNER);
    assert_eq!(owner.get(&KEY).await.unwrap(), None);
    assert_eq!(owner.get_many([KEY, LIVE]).await.unwrap(), [None, Some(Some("alice".into()))]);
    assert_eq!(owner.scan(SaltedKey::scan()).collect().await.unwrap(), [(LIVE, Some("alice".into()))]);
    assert_eq!(all().select(Lock::OWNER).collect().await.unwrap(), [(LIVE, Some("alice".into()))]);
    let mut exported = locks.export(SaltedKey::scan()).stream();
    assert_eq!(exported.next().await.unwrap().unwrap(), (LIVE, alice()));
    assert!(exported.next().await.is_none());
    assert_eq!(locks.verify_rows().await.unwrap(), 1);
    // A part of the row: a row without any of its columns is not there, whatever else it has.
    let notes = locks.rows_as::<Note>();
    let other = SaltedKey { id: 9 };
    locks.put(&other, &lock("bob")).await.unwrap();
    for key in [&KEY, &other] {
        assert_eq!(notes.get(key).await.unwrap(), None);
        assert!(!notes.exists(key).await.unwrap(), "{key:?}");
    }
    assert!(notes.exists(&LIVE).await.unwrap());
    assert_eq!(notes.count(SaltedKey::scan()).await.unwrap(), 1);
}

async fn stored_reads_show_hidden_rows(client: Client) {
    let locks = hidden_and_live(&client).await;
    assert_eq!(locks.get_raw(&KEY).await.unwrap().unwrap().cells().len(), 2);
    let raw_rows = locks.scan(SaltedKey::scan()).raw().collect().await.unwrap();
    assert_eq!(raw_rows.len(), 2);
    assert_eq!(locks.scan(SaltedKey::scan()).raw().keys_only().count().await.unwrap(), 2);
    assert!(raw(&locks, &client).read_row(KEY.encode().unwrap(), None).await.unwrap().is_some());
    let owner = keyderive::row::RowFilter::exact_column("cf", "owner");
    assert!(locks.update(&KEY).only_if(Condition::filter(owner)).await.unwrap());
}

async fn erasures_take_hidden_rows(client: Client) {
    let locks = locks(&client).await;
    let store_all = async || {
        for id in 0..4 {
            store(&client, &SaltedKey { id }, 2 * HOUR).await;
        }
    };
    let left = async || raw(&locks, &client).read_rows(keyderive::client::ReadRows::all());
    let is_empty = async || {
        use futures_util::TryStreamExt as _;
        left().await.try_collect::<Vec<_>>().await.unwrap().is_empty()
    };
    store_all().await;
    assert_eq!(locks.delete_rows(SaltedKey::scan()).await.unwrap(), 4);
    assert!(is_empty().await);
    // By a type that has none of the columns, too.
    store_all().await;
    let steps = client.table::<SaltedKey, Steps>("locks");
    assert_eq!(steps.delete_rows(SaltedKey::scan()).await.unwrap(), 4);
    assert!(is_empty().await);
    store_all().await;
    locks.drop_rows(SaltedKey::scan()).await.unwrap();
    assert!(is_empty().await);
    store(&client, &KEY, 2 * HOUR).await;
    locks.delete(&KEY).await.unwrap();
    assert!(is_empty().await);
    store(&client, &KEY, 2 * HOUR).await;
    let writer = locks.writer();
    writer.delete(&KEY).await.unwrap();
    writer.close().await.unwrap();
    assert!(is_empty().await);
}

/// A part of a lock in another family.
#[derive(Row)]
#[row(family = "history", ttl = "1h")]
struct Steps {
    steps: Versions<String>,
}

async fn conditions_take_a_hidden_row_for_absent(client: Client) {
    let locks = hidden_and_live(&client).await;
    let holds = async |condition| locks.update(&KEY).only_if(condition).await.unwrap();
    assert!(!holds(Condition::row_exists()).await && holds(Condition::row_exists().not()).await);
    assert!(!holds(Lock::OWNER.equals("alice")).await && holds(Lock::OWNER.absent()).await);
    assert!(!locks.put_if(&KEY, &lock("bob"), Condition::row_exists()).await.unwrap());
    assert!(!locks.put_if(&KEY, &lock("bob"), Lock::OWNER.equals("alice")).await.unwrap());
    assert!(!locks.update(&KEY).set(Lock::OWNER, "bob").only_if(Lock::OWNER.exists()).await.unwrap());
    assert!(!locks.delete_if(&KEY, Lock::OWNER.equals("alice")).await.unwrap());
    assert_eq!(stored(&locks, &KEY).await.len(), 2, "nothing is written");
    // The condition that holds for no row holds for a hidden one, which goes.
    assert!(locks.delete_if(&KEY, Condition::row_exists().not()).await.unwrap());
    assert_eq!(locks.get_raw(&KEY).await.unwrap(), None);
    store(&client, &KEY, 2 * HOUR).await;
    assert!(locks.put_if(&KEY, &lock("bob"), Lock::OWNER.absent()).await.unwrap());
    assert_eq!(locks.get(&KEY).await.unwrap(), Some(lock("bob")));
}

async fn if_absent_replaces_a_hidden_row_whole(client: Client) {
    let locks = hidden_and_live(&client).await;
    assert!(locks.put_if_absent(&KEY, &lock("bob")).await.unwrap());
    assert!(!locks.put_if_absent(&KEY, &lock("carol")).await.unwrap());
    assert!(!locks.put_if_absent(&LIVE, &lock("carol")).await.unwrap());
    assert_eq!(locks.get(&KEY).await.unwrap(), Some(lock("bob")));
    // No column of the hidden row is left, which a reader without the `ttl` would take for one of the new row.
    assert_eq!(stored(&locks, &KEY).await, BTreeSet::from(["cf:owner".to_owned()]));
    locks.delete(&KEY).await.unwrap();
    store(&client, &KEY, 2 * HOUR).await;
    let rows = [(KEY, lock("bob")), (LIVE, lock("bob"))];
    let report = locks.load_iter(&rows).if_absent().await.unwrap().all_written().unwrap();
    assert_eq!((report.written, report.kept), (1, 1));
    assert_eq!(locks.get_many([KEY, LIVE]).await.unwrap(), [Some(lock("bob")), Some(alice())]);
    assert_eq!(stored(&locks, &KEY).await, BTreeSet::from(["cf:owner".to_owned()]));
}

async fn a_put_replaces_a_hidden_row_whole(client: Client) {
    let locks = locks(&client).await;
    for way in 0..6 {
        let (key, row) = (SaltedKey { id: way }, lock("bob"));
        store(&client, &key, 2 * HOUR).await;
        let rows = [(key.clone(), row.clone())];
        match way {
            0 => locks.put(&key, &row).await.unwrap(),
            1 => locks.put_all(&rows).await.unwrap(),
            2 => drop(locks.load_iter(&rows).await.unwrap().all_written().unwrap()),
            3 => put_both((&locks, &key, &row), (&locks, &LIVE, &row)).await.unwrap(),
            4 => assert!(locks.put_if(&key, &row, Lock::OWNER.absent()).await.unwrap()),
            _ => {
                let writer = locks.writer();
                writer.put(&key, &row).await.unwrap();
                writer.close().await.unwrap();
            }
        }
        assert_eq!(locks.get(&key).await.unwrap(), Some(row), "way {way}");
        assert_eq!(stored(&locks, &key).await, BTreeSet::from(["cf:owner".to_owned()]), "way {way}");
    }
}

async fn changes_of_a_hidden_row_leave_the_hidden_columns(client: Client) {
    let locks = locks(&client).await;
    for way in 0..7 {
        let (key, row) = (SaltedKey { id: way }, lock("bob"));
        store(&client, &key, 2 * HOUR).await;
        let rows = [(key.clone(), row.clone())];
        let update = locks.update(&key).set(Lock::OWNER, "bob");
        match way {
            0 => locks.merge(&key, &row).await.unwrap(),
            1 => locks.merge_all(&rows).await.unwrap(),
            2 => update.await.unwrap(),
            3 => locks.update_all([update]).await.unwrap(),
            4 => assert!(update.only_if(Condition::row_exists().not()).await.unwrap()),
            5 => drop(locks.load_iter(&rows).new_rows().await.unwrap().all_written().unwrap()),
            _ => {
                let writer = locks.writer();
                writer.update(update).await.unwrap();
                writer.close().await.unwrap();
            }
        }
        assert_eq!(locks.get(&key).await.unwrap(), Some(row), "way {way}");
        assert_eq!(stored(&locks, &key).await.len(), 2, "way {way}: the note is stored, and hidden");
    }
}

#[track_caller]
fn is_hidden_at_once(error: &impl std::error::Error, column: &str) {
    let text = error.to_string();
    let named = format!("column `{column}` has the timestamp ");
    assert!(text.contains(&named), "{text}");
    assert!(
        text.contains("would be hidden at once: by the client's clock, it is past the `ttl` of its family"),
        "{text}"
    );
    assert!(text.contains("1 hour") && text.contains("raise the `ttl`"), "{text}");
}

async fn a_write_that_would_be_hidden_at_once_fails(client: Client) {
    let locks = locks(&client).await;
    let old = now() - 2 * HOUR;
    let seen = |at| Lock { seen: Some(Timestamped::new(at, 1)), ..lock("bob") };
    let steps = |at: &[i64]| {
        let versions = at.iter().map(|at| Timestamped::new(*at, "step".to_owned()));
        Lock { steps: versions.collect(), ..lock("bob") }
    };
    let update = || locks.update(&KEY).set(Lock::OWNER, "bob");
    for (row, column) in [(seen(old), "cf:seen"), (steps(&[old]), "history:steps")] {
        is_hidden_at_once(&locks.put(&KEY, &row).await.unwrap_err(), column);
        is_hidden_at_once(&locks.merge(&KEY, &row).await.unwrap_err(), column);
        is_hidden_at_once(&locks.put_if_absent(&KEY, &row).await.unwrap_err(), column);
        is_hidden_at_once(&locks.put_if(&KEY, &row, Lock::OWNER.absent()).await.unwrap_err(), column);
    }
    is_hidden_at_once(&update().set_at(Lock::SEEN, old, 1).await.unwrap_err(), "cf:seen");
    let twice = update().add_version(Lock::STEPS, old, "old").add_version(Lock::STEPS, now(), "new");
    is_hidden_at_once(&twice.await.unwrap_err(), "history:steps");
    let only_if = update().add_version(Lock::STEPS, old, "step").only_if(Lock::OWNER.absent());
    is_hidden_at_once(&only_if.await.unwrap_err(), "history:steps");
    assert_eq!(locks.get_raw(&KEY).await.unwrap(), None, "nothing is written");
    // Of the versions of a whole row, those that have expired since it was read are stored, and hidden.
    let read = steps(&[old, now()]);
    locks.put(&KEY, &read).await.unwrap();
    assert_eq!(locks.get(&KEY).await.unwrap().unwrap().steps.len(), 1);
    // What is younger than the `ttl`, or in the future, is written.
    locks.put(&KEY, &seen(now() - HOUR + MINUTE)).await.unwrap();
    update().set_at(Lock::SEEN, now() + 2 * HOUR, 1).await.unwrap();
    assert!(locks.get(&KEY).await.unwrap().unwrap().seen.is_some());
}

async fn a_write_that_would_be_hidden_at_once_fails_in_bulk(client: Client) {
    let locks = locks(&client).await;
    let row = Lock { seen: Some(Timestamped::new(now() - 2 * HOUR, 1)), ..lock("bob") };
    let rows = [(KEY, row.clone())];
    let update = || locks.update(&KEY).set_at(Lock::SEEN, now() - 2 * HOUR, 1);
    is_hidden_at_once(&locks.put_all(&rows).await.unwrap_err(), "cf:seen");
    is_hidden_at_once(&locks.merge_all(&rows).await.unwrap_err(), "cf:seen");
    is_hidden_at_once(&locks.update_all([update()]).await.unwrap_err(), "cf:seen");
    let both = put_both((&locks, &KEY, &row), (&locks, &LIVE, &lock("bob"))).await.unwrap_err();
    is_hidden_at_once(both.first().error().unwrap(), "cf:seen");
    let writer = locks.writer();
    is_hidden_at_once(&writer.put(&KEY, &row).await.unwrap_err(), "cf:seen");
    is_hidden_at_once(&writer.update(update()).await.unwrap_err(), "cf:seen");
    writer.close().await.unwrap();
    for way in 0..3 {
        let load = locks.load_iter(&rows);
        let load = match way {
            0 => load,
            1 => load.new_rows(),
            _ => load.if_absent(),
        };
        let report = load.await.unwrap();
        assert_eq!((report.written(), report.failed().len()), (0, 1));
        is_hidden_at_once(report.failed()[0].error(), "cf:seen");
    }
    assert_eq!(locks.get_raw(&KEY).await.unwrap(), None, "nothing is written");
}

async fn a_window_that_is_hidden_takes_no_addition(client: Client) {
    let locks = locks(&client).await;
    let add = |at| locks.update(&KEY).add_at(Lock::VIEWS, at, 1);
    is_hidden_at_once(&add(now() - 2 * HOUR).await.unwrap_err(), "hourly:views");
    // The first of two windows would be.
    let both = add(now() - 2 * HOUR).add_at(Lock::VIEWS, now(), 1);
    is_hidden_at_once(&both.await.unwrap_err(), "hourly:views");
    add(now()).await.unwrap();
    assert_eq!(locks.get(&KEY).await.unwrap().unwrap().views.newest().unwrap().get(), 1);
}

async fn hidden_values_are_not_changed_at_the_server(client: Client) {
    let locks = hidden_and_live(&client).await;
    let text = "is in a family with `ttl`, and the server would change an expired value";
    for error in [
        locks.append(&KEY, Lock::OWNER, "x").await.unwrap_err(),
        locks.modify(&KEY).append(Lock::OWNER, "x").await.unwrap_err(),
    ] {
        assert!(error.to_string().contains(text), "{error}");
    }
    #[derive(Row)]
    #[row(family = "unused")]
    struct Counts {
        #[row(family, name = "cf", ttl = "1h")]
        counts: BTreeMap<String, i64>,
    }
    let counts = client.table::<SaltedKey, Counts>("locks").unchecked();
    fails(counts.increment(&KEY, Counts::COUNTS.at("n"), 1).await, text);
}

async fn copies_and_comparisons_take_hidden_cells(client: Client) {
    let locks = hidden_and_live(&client).await;
    let copy: Locks = client.table("copy");
    create(&copy).await;
    let copied = locks.copy_to(&copy, |key, _| key).without_verifying().await.unwrap();
    assert_eq!(copied.copied(), 2);
    assert_eq!(copy.get(&KEY).await.unwrap(), None);
    assert_eq!(stored(&copy, &KEY).await, stored(&locks, &KEY).await);
    let diff = locks.diff(&copy, |key, _| key);
    assert!(diff.await.unwrap().is_equal());
    copy.delete(&KEY).await.unwrap();
    let diff = locks.diff(&copy, |key, _| key);
    assert!(!diff.await.unwrap().is_equal());
}

/// By the server's clock, the lock was taken a second ago.
async fn a_client_that_is_ahead_takes_a_lock_early(client: Client) {
    let locks = locks(&client).await;
    let ahead = HOUR;
    for way in 0..5 {
        let key = SaltedKey { id: way };
        store(&client, &key, ahead + 1_000_000).await;
        let (row, rows) = (lock("bob"), [(key.clone(), lock("bob"))]);
        assert_eq!(locks.get(&key).await.unwrap(), None, "its reads agree with its writes");
        let is_taken = match way {
            0 => locks.put_if_absent(&key, &row).await.unwrap(),
            1 => locks.put_if(&key, &row, Lock::OWNER.absent()).await.unwrap(),
            2 => locks.update(&key).set(Lock::OWNER, "bob").only_if(Lock::OWNER.absent()).await.unwrap(),
            3 => locks.load_iter(&rows).if_absent().await.unwrap().written() == 1,
            _ => locks.delete_if(&key, Lock::OWNER.absent()).await.unwrap(),
        };
        assert!(is_taken, "way {way}");
        // The first owner finds out by the server, whatever its clock says.
        let mine = Lock::OWNER.equals("alice");
        assert!(!locks.update(&key).set(Lock::NOTE, "done").only_if(mine).await.unwrap(), "way {way}");
    }
    // A time of one's own that the client takes for expired is rejected.
    let update = locks.update(&KEY).set_at(Lock::SEEN, now() - ahead - 1_000_000, 1);
    is_hidden_at_once(&update.await.unwrap_err(), "cf:seen");
}

/// By the server's clock, the lock was taken an hour and a half ago.
async fn a_client_that_is_behind_takes_a_lock_late(client: Client) {
    let locks = locks(&client).await;
    let behind = HOUR;
    store(&client, &KEY, HOUR + HOUR / 2 - behind).await;
    assert_eq!(locks.get(&KEY).await.unwrap(), Some(alice()), "its reads agree with its writes");
    let row = lock("bob");
    assert!(!locks.put_if_absent(&KEY, &row).await.unwrap());
    assert!(!locks.put_if(&KEY, &row, Lock::OWNER.absent()).await.unwrap());
    assert!(!locks.update(&KEY).set(Lock::OWNER, "bob").only_if(Lock::OWNER.absent()).await.unwrap());
    assert_eq!(locks.load_iter(&[(KEY, row)]).if_absent().await.unwrap().kept(), 1);
    assert!(locks.delete_if(&KEY, Lock::OWNER.equals("alice")).await.unwrap());
}

async fn a_row_that_is_hidden_in_part_is_there(client: Client) {
    let locks = locks(&client).await;
    store(&client, &KEY, 2 * HOUR).await;
    locks.update(&KEY).set(Lock::OWNER, "bob").await.unwrap();
    assert_eq!(locks.get(&KEY).await.unwrap(), Some(lock("bob")));
    assert!(locks.exists(&KEY).await.unwrap());
    assert!(!locks.put_if_absent(&KEY, &lock("carol")).await.unwrap());
    let report = locks.load_iter(&[(KEY, lock("carol"))]).if_absent().await.unwrap();
    assert_eq!((report.written(), report.kept()), (0, 1));
    assert_eq!(locks.delete_rows(SaltedKey::scan()).await.unwrap(), 1);
    assert_eq!(locks.get_raw(&KEY).await.unwrap(), None);
}

#[tokio::test]
async fn a_re_keyed_table_hides_rows_too() {
    let client = Client::embedded();
    let notes: Table<UserKey, Note> = client.table("locks");
    notes.create().family("cf", GcRule::never()).without_row_key_schema().await.unwrap();
    let rekeyed = client.rekeyed::<UserKey, SaltedKey, Note>("locks", "next").await.unwrap();
    store(&client, &UserKey { id: 7 }, 2 * HOUR).await;
    let (key, bob) = (KEY, Note { note: Some("bob".into()) });
    assert_eq!(rekeyed.get(&key).await.unwrap(), None);
    assert_eq!(rekeyed.get_many([&key]).await.unwrap(), [None]);
    assert!(!rekeyed.exists(&key).await.unwrap());
    let scan = || rekeyed.scan_both(SaltedKey::scan(), UserKey::scan());
    assert_eq!(scan().collect().await.unwrap(), []);
    assert_eq!(scan().count().await.unwrap(), 0);
    assert!(!rekeyed.delete_if(&key, Condition::row_exists()).await.unwrap());
    assert!(rekeyed.get_raw(&key).await.unwrap().is_some());
    assert!(rekeyed.put_if_absent(&key, &bob).await.unwrap());
    assert!(!rekeyed.put_if_absent(&key, &bob).await.unwrap());
    assert_eq!(scan().collect().await.unwrap(), [(key.clone(), bob)]);
    store(&client, &UserKey { id: 7 }, 2 * HOUR).await;
    rekeyed.delete(&key).await.unwrap();
    assert!(rekeyed.get_raw(&key).await.unwrap().is_none());
}

/// A part of a lock without a column that expires.
#[derive(Row, Clone, Debug, PartialEq)]
#[row(family = "names")]
struct Named {
    name: Option<String>,
}

/// A lock with a name, which does not expire.
#[derive(Row, Clone, Debug, PartialEq)]
#[row(family = "names")]
struct NamedLock {
    name: Option<String>,
    #[row(family = "held", ttl = "1h", gc(never))]
    owner: Option<String>,
}

async fn a_part_of_a_row_type_hides_what_the_whole_does(client: Client) {
    let locks = created::<SaltedKey, NamedLock>(&client, "named-locks").await;
    let names = locks.rows_as::<Named>();
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    let at = (i64::try_from(at).unwrap() - 2 * HOUR) / 1000 * 1000;
    for id in 0..3 {
        let held = vec![Mutation::set("held", "owner", at, "alice")];
        let key = SaltedKey { id }.encode().unwrap();
        client.raw_table("named-locks").mutate_row(key, held).await.unwrap();
        assert!(!locks.exists(&SaltedKey { id }).await.unwrap());
        assert!(!names.exists(&SaltedKey { id }).await.unwrap());
        assert_eq!(names.get(&SaltedKey { id }).await.unwrap(), None);
    }
    for hidden in [names.scan(SaltedKey::scan()).distinct(1), locks.scan(SaltedKey::scan()).distinct(1)] {
        assert_eq!(hidden.count().await.unwrap(), 0);
    }
}

/// Labels that expire.
#[derive(Row, Clone, Debug, Default, PartialEq)]
struct Labelled {
    name: Option<String>,
    #[row(family, ttl = "1h", gc(never))]
    labels: BTreeMap<String, String>,
}

/// The labels as an older release has them.
#[derive(Row, Clone, Debug, Default, PartialEq)]
struct Labels {
    #[row(family, gc(never))]
    labels: BTreeMap<String, String>,
}

async fn a_map_as_another_row_type_has_the_entries_that_the_whole_has(client: Client) {
    let whole = created::<SaltedKey, Labelled>(&client, "labels").await;
    let live = BTreeMap::from([("live".to_owned(), "yes".to_owned())]);
    for id in 0..2 {
        let key = SaltedKey { id };
        if id == 0 {
            let row = Labelled { name: Some("door".into()), labels: live.clone() };
            whole.put(&key, &row).await.unwrap();
        }
        let old = Mutation::set("labels", "old", now() - 2 * HOUR, "no");
        client.raw_table("labels").mutate_row(key.encode().unwrap(), [old]).await.unwrap();
    }
    let part = whole.rows_as::<Labels>();
    let (key, hidden) = (SaltedKey { id: 0 }, SaltedKey { id: 1 });
    let expected = Labels { labels: live };
    assert_eq!(part.get(&key).await.unwrap().as_ref(), Some(&expected));
    assert_eq!(part.get(&hidden).await.unwrap(), None);
    assert_eq!(part.get_many([&key, &hidden]).await.unwrap(), [Some(expected.clone()), None]);
    assert_eq!(part.scan(SaltedKey::scan()).collect().await.unwrap(), [(key.clone(), expected.clone())]);
    assert_eq!(part.scan(SaltedKey::scan()).count().await.unwrap(), 1);
    let has_old = Labels::LABELS.at("old").exists();
    assert_eq!(part.scan(SaltedKey::scan()).matching(has_old).count().await.unwrap(), 0);
}
