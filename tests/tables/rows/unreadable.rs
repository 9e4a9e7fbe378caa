//! Rows that do not read as the row type, among others that do.

use keyderive::row::Mutation;
use keyderive::table::Skipped;
use keyderive::{Client, Error, ErrorKind, OnForeign, OnUnreadable, Row, RowKey, Table};
use keyderive_tests::fixtures::{created, fails};

use crate::servers::on_every_bigtable;

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 3, over = "id")]
struct PageKey {
    id: u32,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Page {
    title: String,
    #[row(counter)]
    views: i64,
}

/// A page that borrows from the answer.
#[derive(Row)]
struct LentPage<'a> {
    title: &'a str,
}

type Pages = Table<PageKey, Page>;

on_every_bigtable! {
    a_row_of_a_late_increment_ends_a_scan
    unreadable_rows_are_skipped_and_the_first_is_shown
    unreadable_rows_do_not_count_towards_a_limit
    pages_pass_over_unreadable_rows
    exports_pass_over_unreadable_rows
    a_visitor_is_told_of_unreadable_rows
    a_failed_visit_names_the_last_visited_row
    an_accepted_row_does_not_excuse_the_error_at_a_later_one
    an_unreadable_row_of_many_is_none
    a_row_type_that_fits_no_row_is_an_error
}

/// How many pages there are; every tenth is unreadable.
const PAGES: u32 = 60;

fn readable() -> Vec<u32> {
    (0..PAGES).filter(|id| id % 10 != 3).collect()
}

async fn filled(client: &Client) -> Pages {
    let pages: Pages = created(client, "pages").await;
    for id in 0..PAGES {
        let key = PageKey { id };
        pages.put(&key, &Page { title: format!("page {id}"), views: 1 }).await.unwrap();
        if id % 10 == 3 {
            // An increment after the page was deleted.
            pages.delete(&key).await.unwrap();
            pages.increment(&key, Page::VIEWS, 1).await.unwrap();
        }
    }
    pages
}

#[track_caller]
fn assert_skipped(skipped: &Skipped, unreadable: u64) {
    assert_eq!((skipped.foreign(), skipped.unreadable()), (0, unreadable));
    let first = skipped.first_unreadable().unwrap();
    let key = PageKey::decode(first.key()).unwrap();
    assert_eq!(key.id % 10, 3);
    let text = first.error().to_string();
    assert!(
        text.contains("column `cf:title` is missing") && first.error().kind() == ErrorKind::InvalidRow,
        "{text}"
    );
    assert!(skipped.first_foreign().is_none());
    // Its `Debug` output goes to logs, so it shows nothing of a row.
    assert!(!format!("{skipped:?}").contains("title"), "{skipped:?}");
}

fn ids(rows: Vec<(PageKey, Page)>) -> Vec<u32> {
    rows.into_iter().map(|(key, _)| key.id).collect()
}

async fn a_row_of_a_late_increment_ends_a_scan(client: Client) {
    let pages = filled(&client).await;
    // `on_foreign` does not cover unreadable rows.
    let error = pages.scan(PageKey::scan()).on_foreign(OnForeign::Skip).collect().await.unwrap_err();
    let text = error.to_string();
    assert!(
        error.kind() == ErrorKind::InvalidRow && text.contains("`.on_unreadable(OnUnreadable::Skip)`"),
        "{text}"
    );
    // The error names the last row that was read, as other errors of a scan do.
    let mut rows = pages.scan(PageKey::scan()).stream();
    let mut last = None;
    let error = loop {
        match rows.next().await.unwrap() {
            Ok((key, _)) => last = Some(key.encode().unwrap()),
            Err(error) => break error,
        }
    };
    assert!(last.is_some() && error.last_row_key() == last.as_deref() && error.bucket().is_some(), "{error}");
    assert!(error.to_string().contains("the last row delivered was"), "{error}");
}

async fn unreadable_rows_are_skipped_and_the_first_is_shown(client: Client) {
    let pages = filled(&client).await;
    for unordered in [false, true] {
        let scan = pages.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip);
        let scan = if unordered { scan.unordered() } else { scan };
        assert!(scan.explain().unwrap().to_string().contains("cannot be read as the row type"));
        let skipped = scan.skipped();
        let mut read = ids(scan.collect().await.unwrap());
        if unordered {
            read.sort_unstable();
        }
        assert_eq!(read, readable());
        assert_skipped(&skipped, 6);
    }
    let mut rows = pages.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip).stream();
    while rows.next().await.transpose().unwrap().is_some() {}
    assert_skipped(&rows.skipped(), 6);
    // Reading keys or counting does not need readable rows.
    let scan = || pages.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip);
    assert_eq!(scan().count().await.unwrap(), u64::from(PAGES));
    assert_eq!(scan().raw().collect().await.unwrap().len(), PAGES as usize);
    // The last policy wins.
    assert_eq!(
        scan().on_unreadable(OnUnreadable::Fail).collect().await.unwrap_err().kind(),
        ErrorKind::InvalidRow
    );
}

async fn unreadable_rows_do_not_count_towards_a_limit(client: Client) {
    let pages = filled(&client).await;
    let backwards: Vec<_> = readable().into_iter().rev().collect();
    for limit in [1, 2, 3, 4, 5, 13, 14, 53, 54, 55, 100] {
        let scan = || pages.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip).limit(limit);
        let expected = |all: &[u32]| all[..all.len().min(limit as usize)].to_vec();
        assert_eq!(ids(scan().collect().await.unwrap()), expected(&readable()), "{limit}");
        assert_eq!(ids(scan().reversed().collect().await.unwrap()), expected(&backwards), "{limit}");
        assert_eq!(scan().unordered().collect().await.unwrap().len(), limit.min(54) as usize);
    }
}

async fn pages_pass_over_unreadable_rows(client: Client) {
    let pages = filled(&client).await;
    for size in [1, 3, 7, 54] {
        let (mut read, mut token) = (Vec::new(), None::<String>);
        for _ in 0..=PAGES {
            let mut scan = pages.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip);
            if let Some(token) = &token {
                scan = scan.after(token);
            }
            let page = scan.page(size).await.unwrap();
            read.extend(ids(page.rows));
            token = page.next;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(read, readable(), "pages of {size}");
    }
}

async fn exports_pass_over_unreadable_rows(client: Client) {
    let pages = filled(&client).await;
    let export = pages.export(PageKey::scan()).with(|scan| scan.on_unreadable(OnUnreadable::Skip));
    let skipped = export.skipped();
    let mut rows = export.stream();
    let mut read = Vec::new();
    while let Some(row) = rows.next().await {
        read.push(row.unwrap().0.id);
    }
    read.sort_unstable();
    assert_eq!(read, readable());
    assert_skipped(&skipped, 6);
    assert_skipped(&rows.skipped(), 6);
}

async fn a_visitor_is_told_of_unreadable_rows(client: Client) {
    let pages = filled(&client).await;
    let scan = || pages.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip);
    for limit in [None, Some(4), Some(54)] {
        let scan = limit.map_or_else(scan, |limit| scan().limit(limit));
        let (skipped, mut titles) = (scan.skipped(), 0);
        let visited = scan.visit::<PageKey, Error>(|_, row| {
            titles += u64::from(row.read::<LentPage<'_>>()?.title.starts_with("page"));
            Ok(())
        });
        let visited = visited.await.unwrap();
        assert_eq!((visited, titles), (limit.unwrap_or(54), limit.unwrap_or(54)));
        assert_skipped(&skipped, limit.map_or(6, |limit| if limit == 4 { 1 } else { 6 }));
    }
    // A visitor that continues has visited the row.
    let (scan, mut unread) = (scan(), 0);
    let skipped = scan.skipped();
    let visited = scan.visit::<PageKey, Error>(|_, row| {
        unread += u32::from(row.read::<Page>().is_err());
        Ok(())
    });
    assert_eq!((visited.await.unwrap(), unread, skipped.unreadable()), (u64::from(PAGES), 6, 0));
    // The visitor's error ends the visit, even of a row that it could read.
    #[derive(Debug, PartialEq)]
    enum End {
        Stop(u32),
        Failed,
    }
    impl From<Error> for End {
        fn from(_: Error) -> Self {
            Self::Failed
        }
    }
    #[derive(Row)]
    struct Views {
        #[row(counter)]
        views: i64,
    }
    let scan = || pages.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip);
    let visited = scan().visit::<PageKey, End>(|key, row| match row.read::<Page>() {
        Ok(_) => Ok(()),
        Err(_) => Err(End::Stop(key.id + row.read::<Views>()?.views as u32)),
    });
    assert_eq!(visited.await.unwrap_err(), End::Stop(4));
    // Without a policy, the visitor reads the row itself.
    let visited = pages.scan(PageKey::scan()).visit::<PageKey, End>(|_, row| {
        row.read::<Page>()?;
        Ok(())
    });
    assert_eq!(visited.await.unwrap_err(), End::Failed);
}

/// A key type without a salt, so that one stream has all rows.
#[derive(RowKey, Clone, Debug, PartialEq)]
struct PlainKey {
    id: u32,
}

/// A table of three pages and a row that cannot be read as one.
async fn plain(client: &Client) -> Table<PlainKey, Page> {
    let pages = created::<PlainKey, Page>(client, "plain").await;
    for id in [1, 2, 4] {
        pages.put(&PlainKey { id }, &Page { title: "page".into(), views: 0 }).await.unwrap();
    }
    pages.increment(&PlainKey { id: 3 }, Page::VIEWS, 1).await.unwrap();
    pages
}

async fn an_accepted_row_does_not_excuse_the_error_at_a_later_one(client: Client) {
    let scan = plain(&client).await.scan(PlainKey::scan()).on_unreadable(OnUnreadable::Skip);
    let skipped = scan.skipped();
    let visited = scan.visit::<PlainKey, Box<dyn std::error::Error>>(|key, row| match key.id {
        4 => Err("enough".into()),
        id => {
            assert_eq!(row.read::<Page>().is_err(), id == 3);
            Ok(())
        }
    });
    assert_eq!(visited.await.unwrap_err().to_string(), "enough");
    assert_eq!(skipped.unreadable(), 0);
}

async fn a_failed_visit_names_the_last_visited_row(client: Client) {
    let pages = plain(&client).await;
    pages.delete(&PlainKey { id: 4 }).await.unwrap();
    client.raw_table("plain").mutate_row("z", [Mutation::set("cf", "foreign", 0, "")]).await.unwrap();
    let scan = pages.scan(PlainKey::scan()).on_unreadable(OnUnreadable::Skip);
    let visited = scan.visit::<PlainKey, Error>(|_, row| row.read::<Page>().map(drop)).await;
    assert_eq!(visited.unwrap_err().last_row_key(), Some(&*PlainKey { id: 2 }.encode().unwrap()));
}

async fn an_unreadable_row_of_many_is_none(client: Client) {
    let pages = filled(&client).await;
    let keys = || [2, 3, 4, 13, 3, 77].map(|id| PageKey { id });
    assert_eq!(pages.get_many(keys()).await.unwrap_err().kind(), ErrorKind::InvalidRow);
    let skipping = pages.on_unreadable(OnUnreadable::Skip);
    let found = skipping.get_many(keys()).await.unwrap();
    assert_eq!(
        found.iter().map(Option::is_some).collect::<Vec<_>>(),
        [true, false, true, false, false, false]
    );
    assert_skipped(&skipping.skipped(), 3);
    // Scans by the same table skip as well, with their own counts.
    assert_eq!(ids(skipping.scan(PageKey::scan()).collect().await.unwrap()), readable());
    assert_eq!(skipping.skipped().unreadable(), 3);
    let strict = skipping.scan(PageKey::scan()).on_unreadable(OnUnreadable::Fail);
    assert_eq!(strict.collect().await.unwrap_err().kind(), ErrorKind::InvalidRow);
    // A single row is an error.
    assert_eq!(skipping.get(&PageKey { id: 3 }).await.unwrap_err().kind(), ErrorKind::InvalidRow);
}

/// The policy skips unreadable rows, but not all rows because of a mistake in the program.
async fn a_row_type_that_fits_no_row_is_an_error(client: Client) {
    let pages = filled(&client).await;
    #[derive(Row, Debug)]
    struct Numbered {
        title: i64,
    }
    let rows = pages.rows_as::<Numbered>();
    fails(
        rows.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip).collect().await,
        "the column `cf:title` is stored as text by `Page`",
    );
    let _ = |row: Numbered| row.title;
    // A bad value makes only its own row unreadable.
    let raw = client.raw_table("pages");
    let key = PageKey { id: 0 }.encode().unwrap();
    let three = [Mutation::delete_column("cf", "views"), Mutation::set("cf", "views", 1000, "three")];
    raw.mutate_row(key, three).await.unwrap();
    let scan = pages.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip);
    let skipped = scan.skipped();
    assert_eq!(ids(scan.collect().await.unwrap()), readable()[1..]);
    assert_eq!(skipped.unreadable(), 7);
}
