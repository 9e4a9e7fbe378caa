//! Work on parts of a row.

use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::RangeBounds as _;

use keyderive::Client;
use keyderive::row::{Condition, Mutation, RawCell, Timestamped, Versions};

use super::{Page, Stats, key, map, pages};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    an_update_changes_what_it_names
    an_update_of_nothing_sends_nothing
    an_update_is_made_under_a_condition
    a_fault_of_an_update_is_raised_when_it_is_made
    columns_of_families_are_incremented_and_appended_to
    conditions_name_columns_of_families
    versions_are_put_and_merged
    a_newer_version_does_not_hide_a_timestamped_one
    many_rows_are_merged
    versions_in_a_range_are_deleted
}

fn page() -> Page {
    Page {
        title: "a".into(),
        visits: Some(1),
        stats: Stats { clicks: Some(1), open: Some(false), deep: None },
        extra: Some(Stats { clicks: Some(2), open: None, deep: None }),
        daily: map(&[("METER:0015", 1), ("b", 2)]),
        tags: Some(map(&[("k", "v".to_owned())])),
        ..Page::default()
    }
}

async fn an_update_changes_what_it_names(client: Client) {
    let pages = pages(&client).await;
    pages.put(&key("/"), &page()).await.unwrap();
    pages
        .update(&key("/"))
        .set("title", "b")
        .set("cf:visits", &2_i64)
        .set("stats:open", &true)
        .delete("stats:clicks")
        .delete("daily:METER:0015")
        .set("daily:c", &3_i64)
        .delete("extra")
        .set("tags", &map(&[("x", "y".to_owned())]))
        .set("l", &Timestamped::new(1000, 5_u32))
        .await
        .unwrap();
    let expected = Page {
        title: "b".into(),
        visits: Some(2),
        stats: Stats { clicks: None, open: Some(true), deep: None },
        extra: None,
        daily: map(&[("b", 2), ("c", 3)]),
        tags: Some(map(&[("x", "y".to_owned())])),
        level: Some(Timestamped::new(1000, 5)),
        ..Page::default()
    };
    assert_eq!(pages.get(&key("/")).await.unwrap().as_ref(), Some(&expected));
    pages.update(&key("/")).delete("tags:").set("visits", &None::<i64>).delete("daily:").await.unwrap();
    let expected = Page { tags: None, visits: None, daily: map(&[]), ..expected };
    assert_eq!(pages.get(&key("/")).await.unwrap(), Some(expected));
    // Setting a column creates the row.
    pages.update(&key("new")).set("title", "n").await.unwrap();
    assert_eq!(pages.get(&key("new")).await.unwrap(), Some(Page { title: "n".into(), ..Page::default() }));
}

async fn an_update_of_nothing_sends_nothing(client: Client) {
    let absent = client.table::<super::PageKey, Page>("absent");
    absent.update(&key("/")).await.unwrap();
}

async fn an_update_is_made_under_a_condition(client: Client) {
    let pages = pages(&client).await;
    pages.put(&key("/"), &page()).await.unwrap();
    let one = || Condition::column_equals("visits", &1_i64);
    assert!(pages.update(&key("/")).set("visits", &2_i64).only_if(one()).await.unwrap());
    assert!(!pages.update(&key("/")).set("visits", &3_i64).only_if(one()).await.unwrap());
    assert_eq!(pages.get(&key("/")).await.unwrap().unwrap().visits, Some(2));
}

async fn a_fault_of_an_update_is_raised_when_it_is_made(client: Client) {
    let pages = pages(&client).await;
    let named =
        "has no name; name one column: `visits` in the family `cf`, `daily:visits` in the family `daily`";
    for (update, text) in [
        (pages.update(&key("/")).set("", "x"), format!("column `cf:` {named}")),
        (pages.update(&key("/")).set("daily:", "x"), format!("column `daily:` {named}")),
        (
            pages.update(&key("/")).set("title", "x").set("daily:a", &u64::MAX),
            "column `daily:a` is 18446744073709551615; an integer column ends at 9223372036854775807: store it as a \
             string or as bytes"
                .to_owned(),
        ),
    ] {
        let error = update.await.unwrap_err();
        assert_eq!(error.to_string(), format!("row `/` of table `pages`: {text}"));
    }
    let error = pages.increment(&key("/"), "daily:", 1).await.unwrap_err();
    assert_eq!(error.to_string(), format!("row `/` of table `pages`: column `daily:` {named}"));
    assert!(pages.update(&key("a#b")).set("title", "x").await.unwrap_err().is_invalid_key());
    assert!(!pages.exists(&key("/")).await.unwrap());
}

async fn columns_of_families_are_incremented_and_appended_to(client: Client) {
    let pages = pages(&client).await;
    pages.put(&key("/"), &page()).await.unwrap();
    assert_eq!(pages.increment(&key("/"), "daily:METER:0015", 41).await.unwrap(), 42);
    assert_eq!(pages.append(&key("/"), "tags:k", "w").await.unwrap(), "vw");
    let modify =
        pages.modify(&key("/")).increment("visits", 1).increment("daily:new", 5).append("tags:n", "x");
    let changed = modify.await.unwrap();
    assert_eq!(changed.cells().len(), 3);
    assert_eq!(changed.newest("daily", "new").unwrap().value(), &5_i64.to_be_bytes()[..]);
    let page = pages.get(&key("/")).await.unwrap().unwrap();
    assert_eq!(page.visits, Some(2));
    assert_eq!(page.daily, map(&[("METER:0015", 42), ("b", 2), ("new", 5)]));
    assert_eq!(page.tags, Some(map(&[("k", "vw".to_owned()), ("n", "x".to_owned())])));
}

async fn conditions_name_columns_of_families(client: Client) {
    let pages = pages(&client).await;
    pages.put(&key("/"), &Page { level: Some(Timestamped::new(5000, 1)), ..page() }).await.unwrap();
    for (condition, holds) in [
        (Condition::column_exists("daily:METER:0015"), true),
        (Condition::column_exists("daily:x"), false),
        (Condition::column_exists("daily:"), true),
        (Condition::column_exists("series:a"), false),
        (Condition::column_equals("stats:clicks", &1_u32), true),
        (Condition::column_equals("stats:clicks", &2_u32), false),
        (Condition::column_equals("stats:deep", &None::<u8>), true),
        (Condition::column_equals("cf:title", "a"), true),
        (Condition::column_version("l", 5000), true),
        (Condition::column_version("l", 4000), false),
    ] {
        let text = format!("{condition:?}");
        assert_eq!(
            pages
                .update(&key("/"))
                .set("title", "a")
                .set("l", &Timestamped::new(5000, 1))
                .only_if(condition)
                .await
                .unwrap(),
            holds,
            "{text}"
        );
    }
    let timestamped = Condition::column_equals("l", &Timestamped::new(5000, 1));
    let error = pages.delete_if(&key("/"), timestamped).await.unwrap_err();
    assert!(
        error.to_string().contains("column `cf:l` is compared with values that have timestamps"),
        "{error}"
    );
}

async fn versions_are_put_and_merged(client: Client) {
    let pages = pages(&client).await;
    let versions = |times: &[i64]| -> Versions<String> {
        times.iter().map(|at| Timestamped::new(at * 1000, at.to_string())).collect()
    };
    let page = |times: &[i64]| Page { history: versions(times), ..Page::default() };
    for (times, merges, expected) in [
        (&[1, 3][..], false, &[1, 3][..]),
        (&[2], true, &[1, 2, 3]),
        (&[], true, &[1, 2, 3]),
        (&[2], false, &[2]),
        (&[], false, &[]),
    ] {
        let row = page(times);
        if merges { pages.merge(&key("/"), &row).await } else { pages.put(&key("/"), &row).await }.unwrap();
        assert_eq!(pages.get(&key("/")).await.unwrap(), Some(page(expected)), "{times:?}");
    }
}

async fn a_newer_version_does_not_hide_a_timestamped_one(client: Client) {
    let pages = pages(&client).await;
    for at in [9000, 5000, 7000] {
        let row = Page { level: Some(Timestamped::new(at, 1)), ..Page::default() };
        pages.put(&key("/"), &row).await.unwrap();
        assert_eq!(pages.get(&key("/")).await.unwrap(), Some(row));
    }
}

async fn many_rows_are_merged(client: Client) {
    let pages = pages(&client).await;
    pages.put_all(["a", "b"].map(|url| (key(url), page()))).await.unwrap();
    let part = Page { title: "m".into(), ..Page::default() };
    pages.merge_all(["b", "c"].map(|url| (key(url), part.clone()))).await.unwrap();
    let merged = Page { title: "m".into(), ..page() };
    let expected = [Some(page()), Some(merged), Some(part)];
    assert_eq!(pages.get_many(["a", "b", "c"].map(key)).await.unwrap(), expected);
}

/// A deletion takes exactly the versions in its range, although servers accept whole milliseconds only, and an end of
/// 0 as no bound.
async fn versions_in_a_range_are_deleted(client: Client) {
    pages(&client).await;
    let raw = client.raw_table("pages");
    let stored = [0, 1000, 2000, 3000, 1_700_000_000_123_000];
    for range in [
        (Unbounded, Included(2000)),
        (Unbounded, Excluded(2000)),
        (Unbounded, Included(2001)),
        (Unbounded, Excluded(2001)),
        (Excluded(2000), Unbounded),
        (Included(2000), Unbounded),
        (Included(1999), Included(2000)),
        (Excluded(1000), Excluded(2000)),
        (Included(1001), Included(1999)),
        (Unbounded, Excluded(0)),
        (Unbounded, Included(0)),
        (Unbounded, Included(-1)),
        (Included(-1), Included(1000)),
        (Included(i64::MIN), Included(i64::MAX)),
        (Excluded(i64::MAX), Unbounded),
        (Included(3000), Included(1000)),
    ] {
        let set = stored.map(|at| Mutation::set("cf", "q", at, "v"));
        raw.mutate_row("/", set).await.unwrap();
        let deletion = Mutation::delete_versions("cf", "q", range);
        raw.mutate_row("/", [deletion, Mutation::set("cf", "r", 0, "v")]).await.unwrap();
        let row = raw.read_row("/", None).await.unwrap().unwrap();
        let mut left: Vec<_> =
            row.cells().filter(|cell| cell.qualifier() == b"q").map(RawCell::timestamp_micros).collect();
        left.reverse();
        let expected: Vec<_> = stored.into_iter().filter(|at| !range.contains(at)).collect();
        assert_eq!(left, expected, "{range:?}");
        raw.mutate_row("/", [Mutation::delete_row()]).await.unwrap();
    }
}
