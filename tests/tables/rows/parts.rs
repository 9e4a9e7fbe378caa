//! Work on parts of a row.

use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::RangeBounds as _;

use keyderive::row::{Mutation, RawCell, Timestamped, Versions};
use keyderive::{Client, ErrorKind};
use keyderive_tests::fixtures::created;

use super::{Page, Stats, key, map, pages};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    an_update_changes_what_it_names
    an_update_of_nothing_sends_nothing
    a_family_with_a_required_column_is_not_left_empty
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
    let title = "b".to_owned();
    pages
        .update(&key("/"))
        .set(Page::TITLE, &title)
        .set(Page::VISITS, 2)
        .set(Page::STATS.open, true)
        .clear(Page::STATS.clicks)
        .clear(Page::DAILY.at("METER:0015"))
        .set(Page::DAILY.at("c"), 3)
        .clear_family(Page::EXTRA)
        .clear_family(Page::TAGS)
        .set(Page::TAGS.at("x"), "y")
        .set_at(Page::LEVEL, 1000, 5)
        .await
        .unwrap();
    let expected = Page {
        title,
        visits: Some(2),
        stats: Stats { clicks: None, open: Some(true), deep: None },
        extra: None,
        daily: map(&[("b", 2), ("c", 3)]),
        tags: Some(map(&[("x", "y".to_owned())])),
        level: Some(Timestamped::new(1000, 5)),
        ..Page::default()
    };
    assert_eq!(pages.get(&key("/")).await.unwrap().as_ref(), Some(&expected));
    pages
        .update(&key("/"))
        .clear_family(Page::TAGS)
        .set_or_clear(Page::VISITS, None::<i64>)
        .clear_family(Page::DAILY)
        .await
        .unwrap();
    let expected = Page { tags: None, visits: None, daily: map(&[]), ..expected };
    assert_eq!(pages.get(&key("/")).await.unwrap(), Some(expected));
    // Setting a column creates the row.
    pages.update(&key("new")).set(Page::TITLE, "n").await.unwrap();
    assert_eq!(pages.get(&key("new")).await.unwrap(), Some(Page { title: "n".into(), ..Page::default() }));
}

async fn an_update_of_nothing_sends_nothing(client: Client) {
    let absent = client.table::<super::PageKey, Page>("absent");
    absent.update(&key("/")).await.unwrap();

    let pages = pages(&client).await;
    let updates =
        [pages.update(&key("/")), pages.update(&key("/")).set(Page::TITLE, "a"), pages.update(&key("x"))];
    pages.update_all(updates).await.unwrap();
    let writer = pages.writer();
    writer.update(pages.update(&key("x"))).await.unwrap();
    writer.close().await.unwrap();
    assert_eq!(pages.scan(super::PageKey::scan()).count().await.unwrap(), 1);
}

async fn a_family_with_a_required_column_is_not_left_empty(client: Client) {
    #[derive(keyderive::Row, Debug, PartialEq)]
    struct User {
        name: String,
        #[row(family)]
        address: Address,
        #[row(family)]
        former: Option<Address>,
    }
    #[derive(keyderive::Row, Clone, Debug, PartialEq)]
    struct Address {
        city: String,
        floor: Option<i32>,
    }
    let users = created::<super::PageKey, User>(&client, "users").await;
    let address = |city: &str, floor| Address { city: city.into(), floor };
    let (zurich, bern) = (address("Zürich", Some(2)), address("Bern", None));
    let user = User { name: "Corrie".into(), address: zurich.clone(), former: Some(bern.clone()) };
    users.put(&key("/"), &user).await.unwrap();

    let text = "row `/` of table `users`: column `address:city` is cleared with its family, and a row without it can no longer \
                be read; set it after `clear_family` in the same update, or delete the row";
    let cleared = || users.update(&key("/")).set(User::ADDRESS.city, "Bern").clear_family(User::ADDRESS);
    assert_eq!(cleared().await.unwrap_err().to_string(), text);
    let error = cleared().only_if(User::NAME.equals("Corrie")).await.unwrap_err();
    assert_eq!(error.to_string(), text);
    assert!(users.update_all([cleared()]).await.unwrap_err().to_string().ends_with(text));
    assert_eq!(users.get(&key("/")).await.unwrap(), Some(user));

    users.update(&key("/")).clear_family(User::FORMER).await.unwrap();
    cleared().set(User::ADDRESS.city, "Bern").await.unwrap();
    let user = User { name: "Corrie".into(), address: bern, former: None };
    assert_eq!(users.get(&key("/")).await.unwrap(), Some(user));
}

async fn an_update_is_made_under_a_condition(client: Client) {
    let pages = pages(&client).await;
    pages.put(&key("/"), &page()).await.unwrap();
    let one = || Page::VISITS.equals(1);
    assert!(pages.update(&key("/")).set(Page::VISITS, 2).only_if(one()).await.unwrap());
    assert!(!pages.update(&key("/")).set(Page::VISITS, 3).only_if(one()).await.unwrap());
    assert_eq!(pages.get(&key("/")).await.unwrap().unwrap().visits, Some(2));
}

async fn a_fault_of_an_update_is_raised_when_it_is_made(client: Client) {
    let pages = pages(&client).await;
    #[derive(keyderive::Row)]
    struct Sizes {
        #[row(name = "n")]
        bytes: Option<u64>,
    }
    let named = "has an empty name, which is that of the marker of an empty family; give the column a name";
    let error = pages.update(&key("/")).set(Page::TITLE, "x").set(Page::DAILY.at(""), 1).await.unwrap_err();
    assert_eq!(error.to_string(), format!("row `/` of table `pages`: column `daily:` {named}"));
    let sizes = client.table::<super::PageKey, Sizes>("pages");
    let error = sizes.update(&key("/")).set(Sizes::BYTES, u64::MAX).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "row `/` of table `pages`: column `cf:n` is 18446744073709551615; an integer column ends at 9223372036854775807: \
         store it as text or as bytes"
    );
    let error = pages.increment(&key("/"), Page::DAILY.at(""), 1).await.unwrap_err();
    assert_eq!(error.to_string(), format!("row `/` of table `pages`: column `daily:` {named}"));
    assert_eq!(
        pages.update(&key("a#b")).set(Page::TITLE, "x").await.unwrap_err().kind(),
        ErrorKind::InvalidKey
    );
    assert!(!pages.exists(&key("/")).await.unwrap());
}

async fn columns_of_families_are_incremented_and_appended_to(client: Client) {
    let pages = pages(&client).await;
    pages.put(&key("/"), &page()).await.unwrap();
    assert_eq!(pages.increment(&key("/"), Page::DAILY.at("METER:0015"), 41).await.unwrap(), 42);
    assert_eq!(pages.append(&key("/"), Page::TAGS.at("k"), "w").await.unwrap(), "vw");
    let modify = pages
        .modify(&key("/"))
        .increment(Page::VISITS, 1)
        .increment(Page::DAILY.at("new"), 5)
        .append(Page::TAGS.at("n"), "x");
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
        (Page::DAILY.at("METER:0015").exists(), true),
        (Page::DAILY.at("x").exists(), false),
        (Page::DAILY.exists(), true),
        (Page::SERIES.at("a").exists(), false),
        (Page::STATS.clicks.equals(1), true),
        (Page::STATS.clicks.equals(2), false),
        (Page::STATS.deep.absent(), true),
        (Page::TITLE.equals("a"), true),
        (Page::LEVEL.equals(1), true),
        (Page::LEVEL.version(5000), true),
        (Page::LEVEL.version(4000), false),
    ] {
        let text = format!("{condition:?}");
        assert_eq!(
            pages
                .update(&key("/"))
                .set(Page::TITLE, "a")
                .set_at(Page::LEVEL, 5000, 1)
                .only_if(condition)
                .await
                .unwrap(),
            holds,
            "{text}"
        );
    }
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

/// A deletion takes exactly the versions in its range, although servers accept whole milliseconds only on such a table, and an end
/// of 0 as no bound.
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
