//! Seeded differences between two tables, each of which a comparison finds and prints.

use std::time::Duration;

use keyderive::GcRule;
use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::row::{Mutation, RawRow};
use keyderive::table::diff::{RowDifference, TableDiff};

use super::*;

on_every_bigtable! {
    a_difference_of_each_kind_is_found
    a_key_of_several_rows_is_found_beside_an_extra_row
    foreign_rows_are_differences_if_they_may_be
}

/// Both tables, equal.
async fn copied(client: &Client, events: u64) -> (Events, UserEvents) {
    let (old, new) = filled(client, events).await;
    old.copy_to(&new, |key, _| user_key(key)).await.unwrap();
    (old, new)
}

async fn diff(old: &Events, new: &UserEvents) -> TableDiff {
    old.diff(new, |key, _| user_key(key)).await.unwrap()
}

/// How many rows are missing, extra, with several rows, and with other cells.
fn counts(diff: &TableDiff) -> [u64; 4] {
    [diff.missing(), diff.extra(), diff.collisions(), diff.differing()]
}

/// The key's decoded and stored text.
fn shown<K: std::fmt::Debug + RowKey>(key: &K) -> String {
    format!("{key:?} (`{}`)", key.to_text().unwrap())
}

async fn a_difference_of_each_kind_is_found(client: Client) {
    let (old, new) = copied(&client, 40).await;
    let (old_raw, new_raw) = (client.raw_table("events"), client.raw_table("user-events"));
    let new_key = |id| user_key(key(id)).encode().unwrap();
    let equal = diff(&old, &new).await;
    assert!(equal.is_equal() && counts(&equal) == [0; 4], "{equal}");
    let before = new_raw.read_row(new_key(4), None).await.unwrap().unwrap();
    let kind_at = before.newest("cf", "kind").unwrap().timestamp_micros();

    // A value at the same timestamp, with an integer, a text and bytes.
    let name = shown(&key(4));
    let new_name = shown(&user_key(key(4)));
    new_raw.mutate_row(new_key(4), [Mutation::set("cf", "kind", kind_at, "other")]).await.unwrap();
    let one = diff(&old, &new).await;
    assert_eq!((counts(&one), one.is_equal()), ([0, 0, 0, 1], false));
    assert_eq!(
        one.to_string(),
        format!(
            "tables `events` and `user-events` differ: of 40 rows compared, 1 has different cells\n  {name}, {new_name}: 1 cell differs\n    \
             cf:kind at {kind_at}: \"kind-1\", and \"other\""
        )
    );
    let [RowDifference::Cells { old_key, cells, count: 1, .. }] = one.first() else { panic!("{one:?}") };
    assert_eq!((old_key.as_bytes(), cells.len()), (&key(4).encode().unwrap()[..], 1));
    assert_eq!(
        (cells[0].family(), cells[0].qualifier(), cells[0].timestamp_micros()),
        ("cf", &b"kind"[..], kind_at)
    );
    assert_eq!((cells[0].old_value(), cells[0].new_value()), (Some(&b"kind-1"[..]), Some(&b"other"[..])));
    new_raw.mutate_row(new_key(4), [Mutation::set("cf", "kind", kind_at, "kind-1")]).await.unwrap();
    assert!(diff(&old, &new).await.is_equal());

    // A cell that one side lacks, and one at another time.
    new_raw.mutate_row(new_key(4), [Mutation::delete_column("cf", "amount")]).await.unwrap();
    new_raw.mutate_row(new_key(4), [Mutation::set("cf", "new", 5_000, vec![0xff])]).await.unwrap();
    let cells = diff(&old, &new).await;
    assert_eq!(counts(&cells), [0, 0, 0, 1]);
    let text = cells.to_string();
    assert!(text.contains(": 2 cells differ\n") && text.contains(": 4, and no cell\n"), "{text}");
    assert!(text.contains("\n    cf:new at 5000: no cell, and b\"\\xff\""), "{text}");

    // A sum: by its type.
    new_raw.mutate_row(new_key(9), [Mutation::add_to_cell("sums", "hits", 0, 32)]).await.unwrap();
    let sum = diff(&old, &new).await;
    assert_eq!(counts(&sum), [0, 0, 0, 2]);
    assert!(sum.to_string().contains("\n    sums:hits at 0: 10, and 42"), "{sum}");

    // Rows that one side lacks.
    new_raw.mutate_row(new_key(11), [Mutation::delete_row()]).await.unwrap();
    old_raw.mutate_row(key(12).encode().unwrap(), [Mutation::delete_row()]).await.unwrap();
    let all = diff(&old, &new).await;
    assert_eq!((counts(&all), all.compared(), all.counted()), ([1, 1, 0, 2], 39, 39));
    assert_eq!((all.first().len(), all.is_lower_bound()), (4, false));
    let text = all.to_string();
    let head = "tables `events` and `user-events` differ: of 39 rows compared, 1 is missing in `user-events`, 2 have different cells, \
                1 row is in `user-events` alone\n";
    assert!(text.starts_with(head), "{text}");
    let missing = format!("\n  {}: `user-events` has no row {}", shown(&key(11)), shown(&user_key(key(11))));
    let extra = format!("\n  `user-events` alone has the row {}", shown(&user_key(key(12))));
    assert!(text.contains(&missing) && text.contains(&extra), "{text}");
    let few = old.diff(&new, |key, _| user_key(key)).first(1).await.unwrap();
    assert_eq!((counts(&few), few.first().len()), (counts(&all), 1));
    assert!(few.to_string().ends_with("\n  and 3 more"), "{few}");

    // All cells are counted, and ten kept.
    let more = (0..12).map(|at| Mutation::set("cf", format!("more {at}"), 0, "x"));
    new_raw.mutate_row(new_key(20), more).await.unwrap();
    let many = diff(&old, &new).await;
    let of_row = |row: &RowDifference| match row {
        RowDifference::Cells { new_key: key, cells, count, .. } if key.as_bytes() == new_key(20) => {
            Some((cells.len(), *count))
        }
        _ => None,
    };
    assert_eq!(many.first().iter().find_map(of_row), Some((10, 12)), "{many}");
}

/// The foreign rows are among the others, and these are compared as without them.
async fn foreign_rows_are_differences_if_they_may_be(client: Client) {
    let (old, new) = copied(&client, 40).await;
    for foreign in ["0", "zzz"] {
        let value = Mutation::set("cf", "kind", 0, "x");
        client.raw_table("events").mutate_row(foreign, [value]).await.unwrap();
    }
    assert_eq!(
        old.diff(&new, |key, _| user_key(key)).await.unwrap_err().kind(),
        keyderive::ErrorKind::ForeignRow
    );
    let found = old.diff(&new, |key, _| user_key(key)).report_foreign().await.unwrap();
    assert_eq!((counts(&found), found.foreign(), found.compared()), ([0; 4], 2, 40));
    let mut keys: Vec<_> = found
        .first()
        .iter()
        .map(|row| match row {
            RowDifference::Foreign { old_key, .. } => old_key.as_bytes().to_vec(),
            other => panic!("{other:?}"),
        })
        .collect();
    keys.sort();
    assert_eq!(keys, [b"0".to_vec(), b"zzz".to_vec()]);
}

/// The numbers of rows are equal, and so are the cells of both rows.
async fn a_key_of_several_rows_is_found_beside_an_extra_row(client: Client) {
    let (old, new) = tables(&client);
    old.create_if_absent().await.unwrap();
    new.create_if_absent().await.unwrap();
    let set = || [Mutation::set("cf", "kind", 1_000, "same")];
    let (old_raw, new_raw) = (client.raw_table("events"), client.raw_table("user-events"));
    for id in [1, 2] {
        old_raw.mutate_row(key(id).encode().unwrap(), set()).await.unwrap();
    }
    let both = || UserEventKey { user: "both".into(), at: 1 };
    let other = UserEventKey { user: "other".into(), at: 1 };
    new_raw.mutate_row(both().encode().unwrap(), set()).await.unwrap();
    new_raw.mutate_row(other.encode().unwrap(), set()).await.unwrap();
    let found = old.diff(&new, |_, _| both()).await.unwrap();
    assert_eq!((counts(&found), found.compared(), found.counted()), ([0, 1, 1, 0], 2, 2));
    let text = found.to_string();
    let line = format!(
        "\n  {} and {}: in `user-events` both are the row {}",
        shown(&key(1)),
        shown(&key(2)),
        shown(&both())
    );
    assert!(text.contains(&line) && text.contains(", 1 key is that of several rows"), "{text}");
    assert!(!found.is_equal());
}

/// Random changes of either table are counted exactly.
#[tokio::test]
async fn random_differences_are_counted() {
    for seed in 0..10 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let client = Client::embedded();
        let (old, new) = copied(&client, 300).await;
        let (old_raw, new_raw) = (client.raw_table("events"), client.raw_table("user-events"));
        let mut expected = [0; 4];
        for id in 0..300 {
            let new_key = user_key(key(id)).encode().unwrap();
            match rng.u8(..20) {
                0 => {
                    new_raw.mutate_row(new_key, [Mutation::delete_row()]).await.unwrap();
                    expected[0] += 1;
                }
                1 => {
                    old_raw.mutate_row(key(id).encode().unwrap(), [Mutation::delete_row()]).await.unwrap();
                    expected[1] += 1;
                }
                2 => {
                    let cell = Mutation::set("cf", "new", rng.i64(0..9) * 1_000, "x");
                    new_raw.mutate_row(new_key, [cell]).await.unwrap();
                    expected[3] += 1;
                }
                3 => {
                    let cell = Mutation::add_to_cell("sums", "hits", 0, rng.i64(1..9));
                    old_raw.mutate_row(key(id).encode().unwrap(), [cell]).await.unwrap();
                    expected[3] += 1;
                }
                _ => {}
            }
        }
        let mut reported = 0_u64;
        let diff = old.diff(&new, |key, _| user_key(key)).parallel(rng.usize(..5));
        let found = diff.first(1).on_difference(|_| reported += 1).await.unwrap();
        assert_eq!(counts(&found), expected, "seed {seed}: {found}");
        // All are reported, and one is kept.
        let all: u64 = expected.iter().sum();
        assert_eq!((reported, found.first().len()), (all, 1), "seed {seed}: {found}");
    }
}

/// A garbage collection rule removes cells at some time in each table for itself.
#[tokio::test]
async fn cells_that_may_be_collected_are_no_differences() {
    let client = Client::embedded();
    let (old, new) = tables(&client);
    // The clock of a server may be up to a minute ahead.
    let half_a_minute = GcRule::max_age(Duration::from_secs(30));
    old.create().family("cf", half_a_minute.clone()).await.unwrap();
    new.create().family("cf", half_a_minute).await.unwrap();
    old.put_all((0..10).map(|id| (key(id), event(id)))).await.unwrap();
    assert!(old.copy_to(&new, |key, _| user_key(key)).await.unwrap().diff().unwrap().is_equal());
    let new_raw = client.raw_table("user-events");
    let new_key = |id| user_key(key(id)).encode().unwrap();
    new_raw.mutate_row(new_key(1), [Mutation::delete_column("cf", "kind")]).await.unwrap();
    new_raw.mutate_row(new_key(2), [Mutation::delete_row()]).await.unwrap();
    client.raw_table("events").mutate_row(key(3).encode().unwrap(), [Mutation::delete_row()]).await.unwrap();
    let found = diff(&old, &new).await;
    // One cell, the two cells of a row with an even number, and the one of a row with an odd one.
    assert_eq!((counts(&found), found.is_equal(), found.expired()), ([0; 4], true, 4));
    assert!(found.to_string().ends_with("; 4 cells in one table alone may be garbage collected"), "{found}");
    // A value that differs is a difference.
    let at = new_raw
        .read_row(new_key(4), None)
        .await
        .unwrap()
        .unwrap()
        .newest("cf", "kind")
        .unwrap()
        .timestamp_micros();
    new_raw.mutate_row(new_key(4), [Mutation::set("cf", "kind", at, "other")]).await.unwrap();
    assert_eq!(counts(&diff(&old, &new).await), [0, 0, 0, 1]);
}

#[tokio::test]
async fn a_comparison_reads_both_tables_and_writes_nothing() {
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    copied(&client, 100).await;
    let faulty = bigtable.with_faults(Faults::seeded(1).cut_streams(0.1).split_rows(0.2));
    let (old, new) = tables(&faulty.client());
    let mut last = None;
    let found =
        old.diff(&new, |key, _| user_key(key)).on_progress(|progress| last = Some(*progress)).await.unwrap();
    assert!(found.is_equal(), "{found}");
    let last = last.unwrap();
    assert_eq!((last.compared, last.counted, last.different), (100, 100, 0));
    assert_eq!((faulty.calls(Method::MutateRow), faulty.calls(Method::MutateRows)), (0, 0));
    let absent: UserEvents = faulty.client().table("absent");
    assert!(old.diff(&absent, |key, _| user_key(key)).await.unwrap_err().is_not_found());
}

/// What the newest cell of each column holds.
fn newest(row: &RawRow) -> BTreeMap<(String, Vec<u8>), Vec<u8>> {
    let mut found: BTreeMap<(String, Vec<u8>), (i64, Vec<u8>)> = BTreeMap::new();
    for cell in row.cells() {
        let at =
            found.entry((cell.family().to_owned(), cell.qualifier().to_vec())).or_insert((i64::MIN, vec![]));
        *at = (cell.timestamp_micros(), cell.value().to_vec()).max(at.clone());
    }
    found.into_iter().map(|(column, (_, value))| (column, value)).collect()
}

/// Random cells, of any time: those that are newest count, by their values.
#[tokio::test]
async fn newest_values_are_compared_without_their_times() {
    let (mut equal, mut different) = (0, 0);
    for seed in 0..10 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let client = Client::embedded();
        let (old, new) = copied(&client, 60).await;
        let (old_raw, new_raw) = (client.raw_table("events"), client.raw_table("user-events"));
        let mut expected = 0;
        for id in 0..60 {
            let keys = [key(id).encode().unwrap(), user_key(key(id)).encode().unwrap()];
            for (raw, key) in [&old_raw, &new_raw].into_iter().zip(&keys) {
                let cells = (0..rng.usize(1..4)).map(|_| {
                    Mutation::set(
                        "cf",
                        *rng.choice(&["a", "b"]).unwrap(),
                        rng.i64(0..3) * 1_000,
                        rng.choice(&["x", "y"]).unwrap().as_bytes(),
                    )
                });
                let cells: Vec<_> = cells.collect();
                raw.mutate_row(key.clone(), cells).await.unwrap();
            }
            let [old_key, new_key] = keys;
            let old_row = old_raw.read_row(old_key, None).await.unwrap().unwrap();
            let new_row = new_raw.read_row(new_key, None).await.unwrap().unwrap();
            expected += u64::from(newest(&old_row) != newest(&new_row));
        }
        let found = old.diff(&new, |key, _| user_key(key)).only_newest().await.unwrap();
        assert_eq!(counts(&found), [0, 0, 0, expected], "seed {seed}: {found}");
        (equal, different) = (equal + found.equal(), different + expected);
    }
    assert!(equal > 50 && different > 50, "{equal} and {different}");
}
