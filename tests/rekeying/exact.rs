//! Which row counts beside another one: rows that a filter or a `ttl` hides in one table, rows whose keys share one of the old
//! table, and rows whose cells expire.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use keyderive::client::RawTable;
use keyderive::embedded::{Bigtable, FaultRule, Faults, Method};
use keyderive::row::{Condition, Mutation, RowFilter};
use keyderive::table::diff::{RowDifference, TableDiff};
use keyderive::table::rekey::{Activity, Rekeyed, State};
use keyderive::{Client, GcRule, Row};

use crate::drive::drive;
use crate::keys::{New, Old};

/// Whether a row is found that the new table has alone.
fn has_extra(found: &TableDiff, key: &[u8]) -> bool {
    found
        .first()
        .iter()
        .any(|row| matches!(row, RowDifference::Extra { new_key, .. } if new_key.as_bytes() == key))
}

/// The time of cells of so many seconds ago, in microseconds.
pub(crate) fn seconds_ago(seconds: u64) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from((now - Duration::from_secs(seconds)).as_millis()).unwrap() * 1000
}

/// Gives every cell of a row another time, as if it had been written then.
pub(crate) async fn date_back(table: &RawTable, key: &[u8], micros: i64) {
    let row = table.read_row(key.to_vec(), None).await.unwrap().unwrap();
    let cells = row
        .cells()
        .map(|cell| Mutation::set(cell.family(), cell.qualifier().to_vec(), micros, cell.value().to_vec()));
    let changes: Vec<_> = [Mutation::delete_row()].into_iter().chain(cells).collect();
    table.mutate_row(key.to_vec(), changes).await.unwrap();
}

#[derive(Row, Clone, Debug, PartialEq)]
#[row(ttl = "1h")]
struct Job {
    state: String,
}

fn job(state: &str) -> Job {
    Job { state: state.into() }
}

type Jobs = Rekeyed<Old, New, Job>;

/// A table of jobs that are open.
async fn jobs(client: &Client, rows: u64) -> Jobs {
    let old = client.table::<Old, Job>("jobs");
    // Cells that a `ttl` hides are still stored.
    old.create().family("cf", GcRule::max_versions(1)).without_row_key_schema().await.unwrap();
    for id in 0..rows {
        old.put(&Old { id }, &job("open")).await.unwrap();
    }
    client.rekeyed("jobs", "jobs-4").await.unwrap()
}

const COPYING: (State, Activity) = (State::Copying, Activity::Copying);
/// Once every row is copied.
const COPIED: (State, Activity) = (State::Copying, Activity::Verifying);

#[tokio::test(start_paused = true)]
async fn a_filter_sees_the_row_that_counts() {
    let client = Client::embedded();
    let jobs = jobs(&client, 3).await;
    drive(&jobs, false, COPYING).await;
    jobs.put(&New { id: 0 }, &job("done")).await.unwrap();
    let scan = || jobs.scan_both(New::scan(), Old::scan());
    let done = || Job::STATE.equals("done");
    let expected = vec![(New { id: 0 }, job("done"))];
    assert_eq!(scan().matching(done()).collect().await.unwrap(), expected);
    assert_eq!(scan().unordered().matching(done()).collect().await.unwrap(), expected);
    assert_eq!(scan().unordered().matching(done()).count().await.unwrap(), 1);
    let filter = RowFilter::value_is(&"done".to_owned());
    assert_eq!(scan().unordered().filter(filter).count().await.unwrap(), 1);
    let open = scan().unordered().matching(Job::STATE.equals("open"));
    assert_eq!(open.count().await.unwrap(), 2);
    assert_eq!(scan().unordered().count().await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_is_put_again_after_its_ttl_is_scanned() {
    let client = Client::embedded();
    let jobs = jobs(&client, 3).await;
    date_back(&client.raw_table("jobs"), &Old { id: 0 }.encode().unwrap(), seconds_ago(7200)).await;
    assert_eq!(jobs.get(&New { id: 0 }).await.unwrap(), None);
    drive(&jobs, false, COPYING).await;
    jobs.put(&New { id: 0 }, &job("again")).await.unwrap();
    assert_eq!(jobs.get(&New { id: 0 }).await.unwrap(), Some(job("again")));
    let scan = || jobs.scan_both(New::scan(), Old::scan());
    assert_eq!(scan().count().await.unwrap(), 3);
    assert_eq!(scan().unordered().count().await.unwrap(), 3);
}

/// Garbage collection may remove the original between the two reads of a scan in no order.
#[tokio::test(start_paused = true)]
async fn a_row_whose_original_goes_during_a_scan_comes_once() {
    let client = Client::embedded();
    let old = client.table::<Old, Job>("jobs");
    let rule = GcRule::max_age(Duration::from_secs(3000));
    old.create().family("cf", rule).without_row_key_schema().await.unwrap();
    // More than a scan reads ahead of its caller.
    let rows: Vec<_> = (0..2000).map(|id| (Old { id }, job("open"))).collect();
    old.put_all(&rows).await.unwrap();
    let raw = client.raw_table("jobs");
    let first = Old { id: 0 }.encode().unwrap();
    date_back(&raw, &first, seconds_ago(2950)).await;
    let jobs = client.rekeyed::<Old, New, Job>("jobs", "jobs-4").await.unwrap();
    drive(&jobs, false, COPIED).await;
    jobs.put(&New { id: 0 }, &job("again")).await.unwrap();
    let mut scan = jobs.scan_both(New::scan(), Old::scan()).unordered().keys_only().stream();
    let mut times = u64::from(scan.next().await.unwrap().unwrap() == New { id: 0 });
    raw.mutate_row(first, [Mutation::delete_row()]).await.unwrap();
    let mut rows = 1;
    while let Some(key) = scan.next().await {
        times += u64::from(key.unwrap() == New { id: 0 });
        rows += 1;
    }
    assert_eq!((times, rows), (1, 2000));
}

/// A row has a key in each table.
#[tokio::test(start_paused = true)]
async fn a_filter_of_row_keys_is_refused() {
    let client = Client::embedded();
    let jobs = jobs(&client, 3).await;
    for until in [None, Some(COPYING), Some(COPIED)] {
        if let Some(until) = until {
            drive(&jobs, false, until).await;
        }
        let filter = || RowFilter::chain([RowFilter::row_key_regex("1.*"), RowFilter::latest(1)]);
        let scan = || jobs.scan_both(New::scan(), Old::scan()).unordered();
        let errors = [
            scan().filter(filter()).count().await.unwrap_err(),
            scan().matching(Condition::filter(filter()).not()).count().await.unwrap_err(),
            jobs.put_if(&New { id: 0 }, &job("no"), Condition::filter(filter())).await.unwrap_err(),
        ];
        for error in errors {
            assert!(error.to_string().contains("has two keys"), "{error}");
        }
    }
}

mod of_rows {
    //! New keys that share one of the old table.

    use super::*;
    use crate::keys::{OfShop, Sale, create_sales, open_sales};

    fn sale(shop: &str, total: i64) -> (OfShop, Sale) {
        crate::keys::sale(shop, 1, total)
    }

    /// The old table has the row of `b` alone.
    async fn sales(client: &Client) -> Rekeyed<Old, OfShop, Sale> {
        create_sales(client).await.put(&Old { id: 1 }, &sale("b", 2).1).await.unwrap();
        open_sales(client).await
    }

    async fn scanned(sales: &Rekeyed<Old, OfShop, Sale>) -> Vec<(OfShop, Sale)> {
        let scan = sales.scan_both(OfShop::scan(), Old::scan()).unordered();
        let mut rows = scan.collect().await.unwrap();
        rows.sort_by(|one, other| one.0.cmp(&other.0));
        rows
    }

    #[tokio::test(start_paused = true)]
    async fn many_keys_with_one_old_key_are_read_as_each_alone() {
        let client = Client::embedded();
        let sales = sales(&client).await;
        let ((a, _), (b, row)) = (sale("a", 1), sale("b", 2));
        let both = || async { sales.get_many([&a, &b]).await.unwrap() };
        assert_eq!(both().await, [None, Some(row.clone())]);
        drive(&sales, false, COPYING).await;
        assert_eq!(sales.get(&b).await.unwrap(), Some(row.clone()));
        assert_eq!(both().await, [None, Some(row)]);
    }

    #[tokio::test(start_paused = true)]
    async fn each_of_two_keys_with_one_old_key_is_scanned_once() {
        let client = Client::embedded();
        let sales = sales(&client).await;
        for until in [COPYING, COPIED] {
            drive(&sales, false, until).await;
            let rows = [sale("a", 1), sale("b", 2)];
            sales.put(&rows[0].0, &rows[0].1).await.unwrap();
            assert_eq!(scanned(&sales).await, rows, "{until:?}");
            sales.put_all(&rows).await.unwrap();
            assert_eq!(scanned(&sales).await, rows, "{until:?}");
        }
        assert_eq!(scanned(&sales).await.len(), 2);
    }

    /// A row of the old table is read again with all its columns, for its key.
    #[tokio::test(start_paused = true)]
    async fn a_sample_is_drawn_once() {
        const ROWS: u64 = 2_000;
        let client = Client::embedded();
        let sales = sales(&client).await;
        let old = client.table::<Old, Sale>("sales");
        old.put_all((2..=ROWS).map(|id| (Old { id }, sale("b", 2).1))).await.unwrap();
        for until in [None, Some(COPIED)] {
            if let Some(until) = until {
                drive(&sales, false, until).await;
            }
            let sample =
                sales.scan_both(OfShop::scan(), Old::scan()).unordered().filter(RowFilter::sample(0.5));
            let drawn = sample.collect().await.unwrap().len();
            // Twice drawn, a row passes in one case of four. 22 standard deviations are between a half and a quarter.
            assert!((850..=1_150).contains(&drawn), "{drawn} of {ROWS}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_deletion_of_a_key_without_a_row_hides_no_other_row() {
        let client = Client::embedded();
        let sales = sales(&client).await;
        drive(&sales, false, COPYING).await;
        sales.delete(&sale("a", 1).0).await.unwrap();
        sales.migration().run().await.unwrap();
        let verified = sales.migration().verify().await.unwrap();
        assert_eq!((verified.equal(), verified.written(), verified.different()), (1, 1, 0), "{verified}");
        assert_eq!(scanned(&sales).await, [sale("b", 2)]);
    }

    /// A row that gives another key than that of a copy is not its original.
    #[tokio::test(start_paused = true)]
    async fn the_row_of_another_key_is_no_original() {
        let client = Client::embedded();
        let sales = sales(&client).await;
        sales.migration().run().await.unwrap();
        let forgotten = client.table::<Old, Sale>("sales").unchecked();
        forgotten.put(&Old { id: 1 }, &sale("a", 1).1).await.unwrap();
        let found = sales.migration().verify().await.unwrap();
        assert_eq!(found.different(), 2, "{found}");
        assert!(has_extra(&found, &sale("b", 2).0.encode().unwrap()), "{found}");
    }

    /// The row of one key is replaced by that of another while it is read.
    #[tokio::test(start_paused = true)]
    async fn a_row_that_is_replaced_comes_under_its_own_key() {
        let bigtable = Bigtable::in_memory();
        let client = bigtable.client();
        drop(sales(&client).await);
        let old = client.table::<Old, Sale>("sales");
        let ((a, of_a), (_, of_b)) = (sale("a", 1), sale("b", 2));
        for delayed in 0..3 {
            let late =
                FaultRule::delay(Duration::from_secs(1)).methods([Method::ReadRows]).skip(delayed).times(1);
            let faults = Faults::seeded(0).rule(late);
            let sales = open_sales(&bigtable.with_faults(faults).client()).await;
            old.put(&Old { id: 1 }, &of_b).await.unwrap();
            let replace = async {
                tokio::time::sleep(Duration::from_millis(500)).await;
                old.put(&Old { id: 1 }, &of_a).await.unwrap();
            };
            let scan =
                sales.scan_both(OfShop::scan(), Old::scan()).unordered().matching(Sale::TOTAL.exists());
            let (rows, ()) = tokio::join!(scan.collect(), replace);
            for (key, row) in rows.unwrap() {
                assert_eq!(key.shop, row.shop, "{delayed}");
            }
            old.put(&Old { id: 1 }, &of_b).await.unwrap();
            let (row, ()) = tokio::join!(sales.get(&a), async {
                tokio::time::sleep(Duration::from_millis(500)).await;
                old.put(&Old { id: 1 }, &of_a).await.unwrap();
            });
            assert!(row.unwrap().is_none_or(|row| row == of_a), "{delayed}");
        }
    }
}

mod equality {
    //! What `verify` calls equal, and `diff` with it.

    use super::*;

    #[derive(Row, Clone, Debug, PartialEq)]
    struct Note {
        text: String,
        #[row(family = "more")]
        rank: i64,
    }

    type Notes = Rekeyed<Old, New, Note>;

    fn note(id: u64) -> Note {
        Note { text: format!("note {id}"), rank: 1 }
    }

    const ROWS: u64 = 6;

    /// Notes of so many seconds ago, whose cells may be removed after `max_age`.
    async fn notes(client: &Client, max_age: u64, age: u64) -> Notes {
        aged_notes(client, max_age, &[age; ROWS as usize]).await
    }

    async fn aged_notes(client: &Client, max_age: u64, ages: &[u64]) -> Notes {
        let old = client.table::<Old, Note>("notes");
        let rule = || GcRule::max_age(Duration::from_secs(max_age));
        let create = old.create().family("cf", rule()).family("more", rule());
        create.without_row_key_schema().await.unwrap();
        for (id, age) in (0..).zip(ages) {
            old.put(&Old { id }, &note(id)).await.unwrap();
            date_back(&client.raw_table("notes"), &old_key(id), seconds_ago(*age)).await;
        }
        client.rekeyed("notes", "notes-4").await.unwrap()
    }

    fn old_key(id: u64) -> Vec<u8> {
        Old { id }.encode().unwrap()
    }

    fn new_key(id: u64) -> Vec<u8> {
        New { id }.encode().unwrap()
    }

    async fn diff(client: &Client) -> TableDiff {
        let old = client.table::<Old, Note>("notes").unchecked();
        let new = client.table::<New, Note>("notes-4").unchecked();
        old.diff(&new, |key, _| New::from(key)).first(100).await.unwrap()
    }

    /// The service removes cells that have expired in each table for itself. Those of this test expire within a minute, by which
    /// its clock may be ahead.
    #[tokio::test(start_paused = true)]
    async fn a_table_whose_rows_expire_is_moved() {
        let client = Client::embedded();
        let notes = notes(&client, 7200, 7150).await;
        let (old, new) = (client.raw_table("notes"), client.raw_table("notes-4"));
        drive(&notes, false, COPIED).await;
        old.mutate_row(old_key(1), [Mutation::delete_row()]).await.unwrap();
        old.mutate_row(old_key(2), [Mutation::delete_family("cf")]).await.unwrap();
        let both = ["cf", "more"].map(Mutation::delete_family);
        new.mutate_row(new_key(3), both).await.unwrap();
        new.mutate_row(new_key(4), [Mutation::delete_family("more")]).await.unwrap();
        let migration = notes.migration();
        migration.run().await.unwrap();
        let verified = migration.verify().await.unwrap();
        assert_eq!(verified.different(), 0, "{verified}");
        assert!(diff(&client).await.is_equal());
        // A table whose originals are all gone.
        for id in 0..ROWS {
            old.mutate_row(old_key(id), [Mutation::delete_row()]).await.unwrap();
        }
        let verified = migration.verify().await.unwrap();
        assert_eq!(verified.different(), 0, "{verified}");
        migration.finish().await.unwrap();
    }

    /// Copies that are not old enough to be removed are no copies of rows that have expired.
    #[tokio::test(start_paused = true)]
    async fn a_copy_that_cannot_have_expired_needs_its_original() {
        let client = Client::embedded();
        let notes = notes(&client, 7200, 3600).await;
        notes.migration().run().await.unwrap();
        client.raw_table("notes").mutate_row(old_key(1), [Mutation::delete_row()]).await.unwrap();
        let more = [Mutation::delete_family("more")];
        client.raw_table("notes").mutate_row(old_key(2), more).await.unwrap();
        client.raw_table("notes-4").mutate_row(new_key(3), [Mutation::delete_family("cf")]).await.unwrap();
        let found = notes.migration().verify().await.unwrap();
        assert_eq!(found.different(), 3, "{found}");
        assert!(has_extra(&found, &new_key(1)), "{found}");
        let diff = diff(&client).await;
        assert_eq!((diff.extra(), diff.differing()), (1, 2), "{diff}");
    }

    #[tokio::test(start_paused = true)]
    async fn rows_that_were_written_since_are_counted_and_not_compared() {
        let client = Client::embedded();
        let notes = notes(&client, 7200, 60).await;
        drive(&notes, false, COPIED).await;
        notes.put(&New { id: 1 }, &Note { text: "other".into(), rank: 2 }).await.unwrap();
        notes.migration().run().await.unwrap();
        let verified = notes.migration().verify().await.unwrap();
        assert_eq!(
            (verified.written(), verified.equal(), verified.different()),
            (1, ROWS - 1, 0),
            "{verified}"
        );
        assert_eq!((verified.compared(), verified.counted()), (ROWS, ROWS), "{verified}");
    }

    /// It is read again before it is called extra.
    #[tokio::test(start_paused = true)]
    async fn a_copy_without_its_original_that_is_written_meanwhile_is_counted_once() {
        let mut written = 0;
        for delayed in 0..6 {
            let bigtable = Bigtable::in_memory();
            let client = bigtable.client();
            let notes = notes(&client, 7200, 60).await;
            notes.migration().run().await.unwrap();
            client.raw_table("notes").mutate_row(old_key(1), [Mutation::delete_row()]).await.unwrap();
            let late = FaultRule::delay(Duration::from_secs(1)).methods([Method::ReadRows]);
            let late = late.tables(["notes-4"]).skip(delayed).times(1);
            let slow = bigtable.with_faults(Faults::seeded(0).rule(late)).client();
            let slow: Notes = slow.rekeyed("notes", "notes-4").await.unwrap();
            let migration = slow.migration();
            let write = async {
                tokio::time::sleep(Duration::from_millis(500)).await;
                notes.put(&New { id: 1 }, &note(1)).await.unwrap();
            };
            let (verified, ()) = tokio::join!(migration.verify(), write);
            let verified = verified.unwrap();
            assert_eq!(verified.written() + verified.different(), 1, "{delayed}: {verified}");
            written += verified.written();
        }
        assert!((1..6).contains(&written), "{written}");
    }

    /// A cell that both tables have is compared, however old it is.
    #[tokio::test(start_paused = true)]
    async fn a_value_that_differs_is_a_difference_at_any_age() {
        for (max_age, age) in [(300, 0), (7200, 7150), (7200, 7000), (1_000_000, 3600)] {
            let client = Client::embedded();
            let notes = notes(&client, max_age, age).await;
            notes.migration().run().await.unwrap();
            let old = client.raw_table("notes");
            let row = old.read_row(old_key(1), None).await.unwrap().unwrap();
            let at = row.newest("cf", "text").unwrap().timestamp_micros();
            // A program that knows nothing of the re-keying writes.
            old.mutate_row(old_key(1), [Mutation::set("cf", "text", at, "lost")]).await.unwrap();
            let found = notes.migration().verify().await.unwrap();
            let [RowDifference::Cells { old_key: key, cells, count: 1, .. }] = found.first() else {
                panic!("{max_age} {age}: {found}");
            };
            let cell = (cells[0].family(), cells[0].qualifier(), cells[0].timestamp_micros());
            assert_eq!(
                (key.as_bytes(), cell),
                (&old_key(1)[..], ("cf", &b"text"[..], at)),
                "{max_age} {age}: {found}"
            );
            let diff = diff(&client).await;
            assert_eq!((diff.differing(), diff.is_equal()), (1, false), "{max_age} {age}: {diff}");
        }
    }

    /// The keys in the new table of the rows that differ.
    fn listed(diff: &TableDiff) -> BTreeSet<Vec<u8>> {
        let key = |row: &RowDifference| match row {
            RowDifference::Missing { new_key, .. }
            | RowDifference::Extra { new_key, .. }
            | RowDifference::Cells { new_key, .. }
            | RowDifference::WithoutOrigin { new_key, .. } => new_key.as_bytes().to_vec(),
            other => panic!("{other:?}"),
        };
        let keys: BTreeSet<_> = diff.first().iter().map(key).collect();
        assert_eq!(
            (keys.len() as u64, diff.first().len() as u64),
            (diff.different(), diff.different()),
            "{diff}"
        );
        keys
    }

    /// Over all that garbage collection, and programs that know nothing of the re-keying, do to either table.
    #[tokio::test(start_paused = true)]
    async fn verify_and_diff_list_the_same_rows() {
        const EXPIRED: u64 = 7150;
        let (mut equal, mut listed_rows) = (0, 0);
        for seed in 0..40 {
            let mut rng = Rng::with_seed(seed);
            let client = Client::embedded();
            let ages: Vec<u64> = (0..60).map(|_| if rng.bool() { EXPIRED } else { 600 }).collect();
            let notes = aged_notes(&client, 7200, &ages).await;
            match rng.bool() {
                true => drive(&notes, false, COPIED).await,
                false => notes.migration().run().await.unwrap(),
            }
            let raw = [client.raw_table("notes"), client.raw_table("notes-4")];
            for id in 0..80 {
                let side = rng.usize(..2);
                let key = [old_key(id), new_key(id)][side].clone();
                let stored = raw[side].read_row(key.clone(), None).await.unwrap();
                let at = stored.as_ref().and_then(|row| Some(row.newest("cf", "text")?.timestamp_micros()));
                let at = at.unwrap_or_else(|| seconds_ago(if rng.bool() { EXPIRED } else { 600 }));
                let other = seconds_ago(*rng.choice(&[EXPIRED, 600, 60]).unwrap()) + 1000;
                let damage = match rng.u8(..16) {
                    _ if stored.is_none() && rng.bool() => continue,
                    0 => vec![Mutation::delete_row()],
                    // A row of which only the origin is left.
                    1 => ["cf", "more"].map(Mutation::delete_family).into(),
                    2 => vec![Mutation::delete_column("more", "rank")],
                    3 => vec![Mutation::delete_row(), Mutation::set("cf", "text", at, "replaced")],
                    4 => vec![Mutation::set("cf", "text", at, "changed")],
                    5 => vec![Mutation::set("cf", "added", other, "added")],
                    6 => vec![Mutation::set("cf", "text", other, "another version")],
                    _ if stored.is_none() => vec![Mutation::set("cf", "text", at, "extra")],
                    _ => continue,
                };
                raw[side].mutate_row(key, damage).await.unwrap();
            }
            let (verified, diff) = (notes.migration().verify().await.unwrap(), diff(&client).await);
            assert_eq!(listed(&verified), listed(&diff), "seed {seed}: {verified}\n{diff}");
            assert_eq!(verified.is_equal(), diff.is_equal());
            equal += verified.equal();
            listed_rows += verified.different();
        }
        // Neither of them is the rule.
        assert!(equal > 500 && listed_rows > 200, "{equal} {listed_rows}");
    }

    /// A roll-back compares by the same rule.
    #[tokio::test(start_paused = true)]
    async fn a_table_whose_rows_expire_is_rolled_back() {
        let client = Client::embedded();
        let notes = notes(&client, 7200, 7150).await;
        notes.migration().run().await.unwrap();
        for id in 0..ROWS {
            notes.put(&New { id }, &note(id)).await.unwrap();
            date_back(&client.raw_table("notes-4"), &new_key(id), seconds_ago(7150)).await;
        }
        drive(&notes, true, (State::RollbackCopying, Activity::Verifying)).await;
        let old = client.raw_table("notes");
        let both = || ["cf", "more"].map(Mutation::delete_family);
        old.mutate_row(old_key(1), both()).await.unwrap();
        client.raw_table("notes-4").mutate_row(new_key(2), both()).await.unwrap();
        let verified = notes.migration().verify().await.unwrap();
        assert_eq!((verified.equal(), verified.different()), (ROWS, 0), "{verified}");
        let row = old.read_row(old_key(3), None).await.unwrap().unwrap();
        let at = row.newest("cf", "text").unwrap().timestamp_micros();
        old.mutate_row(old_key(3), [Mutation::set("cf", "text", at, "lost")]).await.unwrap();
        let found = notes.migration().verify().await.unwrap();
        assert!(matches!(found.first(), [RowDifference::Cells { .. }]), "{found}");
        old.mutate_row(old_key(3), [Mutation::set("cf", "text", at, note(3).text)]).await.unwrap();
        notes.migration().roll_back().await.unwrap();
    }
}
