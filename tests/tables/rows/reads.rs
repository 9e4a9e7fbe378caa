//! Which cells a row has, and which of them are read.

use std::collections::BTreeMap;

use keyderive::row::{Condition, Mutation, RawRow, Timestamped, Versions};
use keyderive::{Client, ErrorKind, GcRule, Row, Table};
use keyderive_tests::fixtures::created;

use super::{Deep, Page, PageKey, Pages, Stats, key, map, pages};
use crate::registry::stamp_of;
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    families_are_created_with_the_table
    a_table_without_a_family_of_the_rows_says_what_to_do
    bytes_are_as_documented
    rows_of_other_programs_are_read
    many_rows_are_got_in_the_order_of_their_keys
    more_keys_than_one_request_takes_are_got
    a_row_exists_or_not
    a_row_of_other_columns_is_there_if_none_is_required
    raw_rows_have_every_version
    a_smaller_struct_reads_its_columns
    columns_are_selected_by_their_constants
    a_scan_reads_the_versions_that_its_rows_have
    a_row_that_cannot_be_read_is_named
}

async fn families_are_created_with_the_table(client: Client) {
    let pages = pages(&client).await;
    let info = pages.info().await.unwrap();
    let rules: Vec<_> =
        info.families().iter().map(|family| (family.name(), family.gc_rule().clone())).collect();
    let one = || GcRule::max_versions(1);
    let stamp = stamp_of(&info, PageKey::fingerprint()).unwrap().name();
    let expected = [
        ("cf", GcRule::never()),
        ("daily", one()),
        ("extra", one()),
        (stamp, one()),
        ("series", GcRule::never()),
        ("stats", one()),
        ("tags", one()),
    ];
    assert_eq!(rules, expected);
    pages.verify().await.unwrap();
    pages.create().verify().await.unwrap();
}

#[derive(Row)]
struct Plain {
    title: String,
}

async fn a_table_without_a_family_of_the_rows_says_what_to_do(client: Client) {
    created::<PageKey, Plain>(&client, "pages").await;
    let pages: Pages = client.table("pages");
    for error in [
        pages.create_if_absent().await.unwrap_err(),
        pages.verify().await.unwrap_err(),
        pages.get(&key("/")).await.unwrap_err(),
        pages.put(&key("/"), &Page::default()).await.unwrap_err(),
    ] {
        assert!(error.is_table_mismatch());
        let text = error.to_string();
        assert_eq!(
            text,
            "table `pages`: it exists, without the column families `stats`, `extra`, `daily`, `tags`, `series`; it has \
             `cf`; add what is missing with `modify_families` and `FamilyChange::add`, or name another family: for the row type's own \
             columns by `#[row(family = \"…\")]`, for a map by `client.table(…).family(…)`, for a field with `#[row(family)]` by \
             `#[row(name = \"…\")]`"
        );
        let fault = "`series`; it has `cf`";
        assert!(format!("{error:#}").ends_with(fault) && format!("{:#}", error.redacted()).ends_with(fault));
    }
    let other =
        client.table::<PageKey, BTreeMap<String, i64>>("pages").family("main").verify().await.unwrap_err();
    assert!(format!("{other:#}").ends_with("without the column family `main`; it has `cf`"), "{other}");
    // Without the check, the server rejects it.
    let pages = pages.unchecked();
    let put = pages.put(&key("/"), &Page::default()).await.unwrap_err().to_string();
    let all = pages.put_all([(key("/"), Page::default())]).await.unwrap_err().to_string();
    let added = pages.increment(&key("/"), Page::DAILY.at("a"), 1).await.unwrap_err().to_string();
    for text in [put, all, added] {
        assert!(
            text.contains("`pages`") && text.contains("modify_families") && text.contains(".create()"),
            "{text}"
        );
    }
}

/// The columns of a raw row, with timestamps if asked for.
fn shown(row: &RawRow, timestamps: bool) -> Vec<String> {
    let cell = |cell: keyderive::row::RawCell<'_>| {
        let at = if timestamps { format!("@{}", cell.timestamp_micros()) } else { String::new() };
        format!("{}:{}{at}={}", cell.family(), cell.qualifier().escape_ascii(), cell.value().escape_ascii())
    };
    row.cells().map(cell).collect()
}

async fn bytes_are_as_documented(client: Client) {
    let pages = pages(&client).await;
    let page = Page {
        title: "Grün".into(),
        visits: Some(-2),
        list: Some(vec![1, 255]),
        stats: Stats {
            clicks: Some(7),
            open: Some(true),
            deep: Some(Deep { name: "n".into(), numbers: map(&[("a", 0.5)]) }),
        },
        extra: Some(Stats::default()),
        daily: map(&[("METER:0015", 3)]),
        tags: None,
        level: Some(Timestamped::new(5000, 9)),
        history: [Timestamped::new(1000, "old".into()), Timestamped::new(2000, "new".into())].into(),
        series: map(&[("a", [Timestamped::new(3000, 1)].into())]),
    };
    pages.put(&key("/"), &page).await.unwrap();
    let row = pages.get_raw(&key("/")).await.unwrap().unwrap();
    let mut cells = shown(&row, false);
    cells.sort();
    let expected = [
        "cf:history=new",
        "cf:history=old",
        r"cf:l=\x00\x00\x00\x00\x00\x00\x00\t",
        "cf:list=[1,255]",
        r"cf:title=Gr\xc3\xbcn",
        r"cf:visits=\xff\xff\xff\xff\xff\xff\xff\xfe",
        r"daily:METER:0015=\x00\x00\x00\x00\x00\x00\x00\x03",
        "extra:=",
        r"series:a=\x00\x00\x00\x00\x00\x00\x00\x01",
        r"stats:clicks=\x00\x00\x00\x00\x00\x00\x00\x07",
        r#"stats:deep={\"name\":\"n\",\"numbers\":{\"a\":0.5}}"#,
        r"stats:open=\x00\x00\x00\x00\x00\x00\x00\x01",
    ];
    assert_eq!(cells, expected);
    assert_eq!(row.newest("cf", "l").unwrap().timestamp_micros(), 5000);
    let history: Vec<_> =
        row.versions("cf", "history").map(keyderive::row::RawCell::timestamp_micros).collect();
    assert_eq!(history, [2000, 1000]);

    // The next put replaces all of it.
    pages.put(&key("/"), &Page { title: "b".into(), ..Page::default() }).await.unwrap();
    let row = pages.get_raw(&key("/")).await.unwrap().unwrap();
    let mut cells = shown(&row, false);
    cells.sort();
    cells.dedup();
    assert!(cells.contains(&"cf:title=b".to_owned()), "{cells:?}");
    let left = |name: &str| cells.iter().any(|cell| cell.starts_with(name) && !cell.ends_with(":="));
    for gone in
        ["cf:history", "cf:l=", "cf:list", "cf:visits", "daily:", "extra:", "series:", "stats:", "tags:"]
    {
        assert!(!left(gone), "{gone} in {cells:?}");
    }
}

async fn rows_of_other_programs_are_read(client: Client) {
    let pages = pages(&client).await;
    let cells = [
        Mutation::set("cf", "title", 1000, "a"),
        Mutation::set("cf", "unknown", 1000, "a"),
        Mutation::set("stats", "unknown", 1000, "a"),
        Mutation::set("extra", "unknown", 1000, "a"),
        Mutation::set("daily", "a", 1000, 7_i64.to_be_bytes().to_vec()),
    ];
    client.raw_table("pages").mutate_row("/", cells).await.unwrap();
    let page = Page { title: "a".into(), daily: map(&[("a", 7)]), ..Page::default() };
    assert_eq!(pages.get(&key("/")).await.unwrap(), Some(page));
}

async fn many_rows_are_got_in_the_order_of_their_keys(client: Client) {
    let pages = pages(&client).await;
    let page = |title: &str| Page { title: title.into(), ..Page::default() };
    pages.put_all(["a", "b", "c"].map(|url| (key(url), page(url)))).await.unwrap();
    let found = pages.get_many(["c", "x", "a", "c", "y"].map(key)).await.unwrap();
    assert_eq!(found, [Some(page("c")), None, Some(page("a")), Some(page("c")), None]);
    let found = pages.get_many(&[key("b")]).await.unwrap();
    assert_eq!(found, [Some(page("b"))]);
    let absent: Pages = client.table("absent");
    assert_eq!(absent.get_many(Vec::<PageKey>::new()).await.unwrap(), []);
    let error = pages.get_many([key("a"), key("a#b")]).await.unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidKey && error.to_string().starts_with("row 1 of the input"),
        "{error}"
    );
}

/// 600 keys of 2,000 bytes exceed 512 KiB.
async fn more_keys_than_one_request_takes_are_got(client: Client) {
    let plain: Table<PageKey, Plain> = created(&client, "pages").await;
    let url = |number: usize| key(&format!("{number:02000}"));
    let stored = |number: &usize| !number.is_multiple_of(3);
    let row = |number: usize| (url(number), Plain { title: number.to_string() });
    plain.put_all((0..600).filter(stored).map(row)).await.unwrap();
    let found = plain.get_many((0..600).rev().map(url)).await.unwrap();
    for (number, row) in (0..600).rev().zip(found) {
        assert_eq!(row.map(|row| row.title), stored(&number).then(|| number.to_string()));
    }
}

async fn a_row_exists_or_not(client: Client) {
    let pages = pages(&client).await;
    assert!(!pages.exists(&key("/")).await.unwrap());
    pages.increment(&key("/"), Page::DAILY.at("a"), 1).await.unwrap();
    assert!(pages.exists(&key("/")).await.unwrap());
}

async fn a_row_of_other_columns_is_there_if_none_is_required(client: Client) {
    #[derive(Row, Debug, Default, PartialEq)]
    struct Note {
        text: Option<String>,
    }
    let notes = created::<PageKey, Note>(&client, "notes").await;
    client.raw_table("notes").mutate_row("/", [Mutation::set("cf", "other", 1_000, "x")]).await.unwrap();
    assert_eq!(notes.get(&key("/")).await.unwrap(), Some(Note::default()));
    assert!(notes.exists(&key("/")).await.unwrap());
    assert!(!notes.put_if_absent(&key("/"), &Note { text: Some("a".into()) }).await.unwrap());
    assert_eq!(notes.count(PageKey::scan()).await.unwrap(), 1);
}

async fn raw_rows_have_every_version(client: Client) {
    let pages = pages(&client).await;
    let cells = [1, 2, 3].map(|at| Mutation::set("cf", "a", at * 1000, at.to_string()));
    client.raw_table("pages").mutate_row("/", cells).await.unwrap();
    let all = ["cf:a@3000=3", "cf:a@2000=2", "cf:a@1000=1"];
    assert_eq!(shown(&pages.get_raw(&key("/")).await.unwrap().unwrap(), true), all);
    assert_eq!(pages.get_raw(&key("x")).await.unwrap(), None);
    for (rows, expected) in [
        (pages.scan(PageKey::scan()).raw(), &all[..]),
        (pages.scan(PageKey::scan()).matching(Condition::row_exists()).raw(), &all[..]),
        (pages.scan(PageKey::scan()).latest(2).raw(), &all[..2]),
        (pages.scan(PageKey::scan()).raw().latest(1), &all[..1]),
    ] {
        let rows = rows.collect().await.unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (&rows[0].0, shown(&rows[0].1, true)),
            (&key("/"), expected.iter().map(|cell| (*cell).to_owned()).collect())
        );
    }
}

#[derive(Row, Debug, PartialEq)]
struct Part {
    visits: Option<i64>,
    #[row(family)]
    stats: Clicks,
    #[row(family)]
    tags: Option<BTreeMap<String, String>>,
}

#[derive(Row, Debug, PartialEq)]
struct Clicks {
    clicks: Option<u32>,
}

async fn a_smaller_struct_reads_its_columns(client: Client) {
    let pages = pages(&client).await;
    let page = Page {
        title: "a".into(),
        visits: Some(3),
        stats: Stats { clicks: Some(7), open: Some(true), deep: None },
        daily: map(&[("a", 1)]),
        tags: Some(map(&[("k", "v".to_owned())])),
        ..Page::default()
    };
    pages.put(&key("/"), &page).await.unwrap();
    let parts = pages.rows_as::<Part>();
    let part = Part { visits: Some(3), stats: Clicks { clicks: Some(7) }, tags: page.tags.clone() };
    assert_eq!(parts.get(&key("/")).await.unwrap().as_ref(), Some(&part));
    assert_eq!(parts.get_many([key("/")]).await.unwrap()[0].as_ref(), Some(&part));
    let scanned = parts.scan(PageKey::scan()).collect().await.unwrap();
    assert_eq!(scanned, [(key("/"), part)]);
    // Columns that the row type does not name are not read: this one would be malformed.
    client.raw_table("pages").mutate_row("/", [Mutation::set("cf", "visits", 0, "x")]).await.unwrap();
    let titles = pages.rows_as::<Plain>();
    assert_eq!(titles.get(&key("/")).await.unwrap().map(|row| row.title), Some("a".into()));

    // A row without any of these columns is absent.
    client.raw_table("pages").mutate_row("x", [Mutation::set("daily", "a", 0, "")]).await.unwrap();
    assert_eq!(parts.get(&key("x")).await.unwrap(), None);
    // An optional family without a value is one.
    let page = Page { title: "b".into(), extra: Some(Stats::default()), ..Page::default() };
    pages.put(&key("z"), &page).await.unwrap();
    let titled = Titled { title: "b".into(), extra: Some(Clicks { clicks: None }) };
    assert_eq!(pages.rows_as::<Titled>().get(&key("z")).await.unwrap(), Some(titled));
}

#[derive(Row, Debug, PartialEq)]
struct Titled {
    title: String,
    #[row(family)]
    extra: Option<Clicks>,
}

async fn columns_are_selected_by_their_constants(client: Client) {
    let pages = pages(&client).await;
    let page = Page {
        title: "a".into(),
        visits: Some(3),
        stats: Stats { clicks: Some(7), open: Some(true), deep: None },
        daily: map(&[("a:b", 1), ("c", 2)]),
        ..Page::default()
    };
    pages.put(&key("/"), &page).await.unwrap();
    let selection =
        (Page::TITLE, Page::STATS.clicks, Page::DAILY.at("a:b"), Page::EXTRA, Page::LEVEL, Page::LIST);
    let selected = pages.select(selection).get(&key("/")).await.unwrap().unwrap();
    assert_eq!(selected, ("a".into(), Some(7), Some(1), None, None, None));
    let (stats, daily) = pages.select((Page::STATS, Page::DAILY)).get(&key("/")).await.unwrap().unwrap();
    assert_eq!((stats, daily), (Some(page.stats), page.daily));
    let maps = client.table::<PageKey, BTreeMap<String, String>>("pages").unchecked();
    assert_eq!(maps.select(maps.column("title")).get(&key("/")).await.unwrap(), Some(Some("a".into())));
    assert_eq!(maps.select(maps.column("absent")).get(&key("/")).await.unwrap(), Some(None));
    assert_eq!(maps.select(maps.column("absent")).get(&key("x")).await.unwrap(), None);
}

#[derive(Row, Debug, Clone, PartialEq)]
struct History {
    history: Versions<String>,
}

async fn a_scan_reads_the_versions_that_its_rows_have(client: Client) {
    let pages = pages(&client).await;
    let history = Versions::from([1, 2, 3].map(|at| Timestamped::new(at * 1000, at.to_string())));
    pages.put(&key("/"), &Page { history: history.clone(), ..Page::default() }).await.unwrap();
    let histories = pages.rows_as::<History>();
    let scanned = histories.scan(PageKey::scan()).collect().await.unwrap();
    assert_eq!(scanned, [(key("/"), History { history: history.clone() })]);
    let explained = histories.scan(PageKey::scan()).explain().unwrap().to_string();
    assert!(explained.contains("every version of each column"), "{explained}");
    let scanned = histories.scan(PageKey::scan()).latest(2).collect().await.unwrap();
    assert_eq!(scanned[0].1.history[..], history[..2]);
    assert_eq!(pages.scan(PageKey::scan()).keys_only().collect().await.unwrap(), [key("/")]);
    assert_eq!(pages.count(PageKey::scan()).await.unwrap(), 1);
}

async fn a_row_that_cannot_be_read_is_named(client: Client) {
    let pages = pages(&client).await;
    let cells = [Mutation::set("cf", "title", 0, "a"), Mutation::set("stats", "clicks", 0, "x")];
    client.raw_table("pages").mutate_row("/", cells).await.unwrap();
    let error = pages.get(&key("/")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRow);
    assert_eq!(
        error.to_string(),
        "row `/` of table `pages`: column `stats:clicks` holds 1 byte, `78`; `u32` is stored as an integer of 8 bytes, \
         big-endian"
    );
    client
        .raw_table("pages")
        .mutate_row("/", [Mutation::delete_row(), Mutation::set("daily", "a", 0, "")])
        .await
        .unwrap();
    let title = pages.select(Page::TITLE).get(&key("/")).await.unwrap();
    assert_eq!(title, None);
    let error = pages.get(&key("/")).await.map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row `/` of table `pages`: column `cf:title` is missing, and the row type requires it: an update, an addition or an increment of \
         a row that is not there writes only its own columns, a `ttl` hides the older ones, and a filter of the scan can remove it; the \
         row has `daily:a`; make the field an `Option` or give it `#[row(default)]`; reads of several rows can leave such rows out, \
         with `.on_unreadable(OnUnreadable::Skip)`"
    );
}
