//! Calls that once returned success over wrong data: each is an error, or right.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use keyderive::client::FamilyChange;
use keyderive::dynamic::TableLayout;
use keyderive::row::{Mutation, Sum, Timestamped, Versions};
use keyderive::table::RowRef;
use keyderive::{Client, Error, ErrorKind, GcRule, Row, RowKey, Table};
use keyderive_tests::fixtures::{SaltedKey, created, fails, mismatches};

use super::{PageKey, key};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    a_sum_is_not_added_to_where_its_family_removes_it
    windows_of_another_width_are_not_read
    text_that_cannot_be_read_back_is_not_written
    an_expired_value_is_not_incremented
    another_rule_keeps_the_type_of_a_family
    a_sample_has_each_row_once
    a_selection_visited_has_stored_cells_alone
    rows_of_another_type_are_those_of_the_table
    a_part_that_does_not_fit_fails_every_call
    a_map_is_compared_in_the_family_that_it_reads
    columns_selected_twice_have_each_version_once
    a_selected_column_of_an_optional_family_leaves_it_there
    a_part_selects_of_the_rows_that_it_reads
    an_optional_family_that_was_not_asked_for_is_not_absent
    a_table_without_columns_fits_every_part
    a_family_is_of_the_kind_of_its_own_columns
    a_column_of_a_part_that_does_not_fit_is_none_of_another
}

const HOUR: i64 = 3_600_000_000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn table<R: Row>(client: &Client) -> Table<PageKey, R> {
    created(client, "attacked").await
}

async fn a_sample_has_each_row_once(client: Client) {
    let rows = created::<SaltedKey, BTreeMap<String, i64>>(&client, "salted").await;
    for id in 0..3 {
        rows.put(&SaltedKey { id }, &BTreeMap::from([("n".to_owned(), 1)])).await.unwrap();
    }
    assert_eq!(rows.verify_rows().await.unwrap(), 3);
}

async fn a_sum_is_not_added_to_where_its_family_removes_it(client: Client) {
    #[derive(Row)]
    struct Counted {
        #[row(family = "sums")]
        views: Sum,
    }
    let rows = table::<Counted>(&client).await;
    rows.update(&key("/")).add(Counted::VIEWS, 5).await.unwrap();
    rows.modify_families([FamilyChange::gc_rule("sums", GcRule::max_age(DAY))]).await.unwrap();
    let expected = "the row type has an aggregate without windows in the column family `sums`, at time 0";
    for program in [rows.clone(), client.table::<PageKey, Counted>("attacked")] {
        fails(program.update(&key("/")).add(Counted::VIEWS, 7).await, expected);
        fails(program.update_all([program.update(&key("/")).add(Counted::VIEWS, 7)]).await, expected);
    }
    mismatches(rows.verify().await, expected);
    let other = client.table::<PageKey, Counted>("other");
    fails(other.create().family("sums", GcRule::max_age(DAY)).await, expected);
}

#[derive(Row)]
struct Hourly {
    #[row(family = "w", window = "1h")]
    views: Versions<Sum>,
}

#[derive(Row)]
struct Daily {
    #[row(family = "w", window = "1d")]
    views: Versions<Sum>,
}

async fn windows_of_another_width_are_not_read(client: Client) {
    let (hourly, daily) = (table::<Hourly>(&client).await, client.table::<PageKey, Daily>("attacked"));
    let midnight = 20_000 * 24 * HOUR;
    hourly.update(&key("/")).add_at(Hourly::VIEWS, midnight + 15 * HOUR, 2).await.unwrap();
    let expected = "at which no window of 86400s begins";
    let refusal = daily.get(&key("/")).await.err().unwrap().to_string();
    assert!(refusal.contains("was a sum in windows of 3600s and is a sum in windows of 86400s"), "{refusal}");
    let error = daily.unchecked().get(&key("/")).await.err().unwrap().to_string();
    assert!(error.contains(expected), "{error}");
    mismatches(daily.unchecked().verify_rows().await, expected);
    let error = hourly.update(&key("/")).add(Hourly::column("w:views").unwrap(), 1).await;
    fails(error, "call `add_at` with the time");
}

async fn text_that_cannot_be_read_back_is_not_written(client: Client) {
    #[derive(Row)]
    struct Typed {
        id: Option<uuid::Uuid>,
        date: Option<chrono::NaiveDate>,
        time: Option<chrono::DateTime<chrono::Utc>>,
        #[row(ts(unit = "millis"))]
        seen: Option<chrono::DateTime<chrono::Utc>>,
        four: Option<std::net::Ipv4Addr>,
        few: Option<std::num::NonZeroI8>,
        #[row(family, name = "m")]
        by_id: BTreeMap<uuid::Uuid, i64>,
    }
    let rows = table::<Typed>(&client).await;
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    let wrong = [
        ("id", "hello"),
        ("id", "67e5504410b1426f9247bb680e5fe0c8"),
        ("date", "2015-3-16"),
        ("date", "+2015-03-16"),
        ("date", "2015-02-29"),
        ("time", "now"),
        ("time", "2015-03-16T24:00:00Z"),
        ("four", "::1"),
    ];
    for (column, text) in wrong {
        let error = rows.update(&key("/")).set(Typed::column(column).unwrap(), text).await.unwrap_err();
        // A long value is cut.
        let named = format!(", which `{}", &text[..text.len().min(32)]);
        assert!(error.to_string().contains(&named), "{column} {text}: {error}");
    }
    for (column, number) in [("seen", i64::MAX), ("few", 0), ("few", 128)] {
        let error = rows.update(&key("/")).set(Typed::column(column).unwrap(), number).await.unwrap_err();
        assert!(error.to_string().contains(&format!(", which `{number}` is not")), "{error}");
    }
    fails(Typed::column("m:x"), "is named by text that is not a UUID");

    let update = rows
        .update(&key("/"))
        // Parsed, and written as it is read.
        .set(Typed::column("id").unwrap(), id.to_uppercase())
        .set(Typed::column("date").unwrap(), "2016-02-29");
    let update = update
        .set(Typed::column("time").unwrap(), "2015-03-16T20:53:32.156+01:00")
        .set(Typed::column("few").unwrap(), -1_i64);
    let update = update
        .set(Typed::column("four").unwrap(), "127.0.0.1")
        .set(Typed::column("seen").unwrap(), 1_426_535_612_156_i64);
    update.set(Typed::column(&format!("m:{id}")).unwrap(), 1_i64).await.unwrap();
    let row = rows.get(&key("/")).await.unwrap().unwrap();
    assert_eq!(
        (row.id.unwrap().to_string(), row.by_id.len(), row.few.unwrap().get()),
        (id.to_owned(), 1, -1)
    );
    assert_eq!((row.time, row.date.unwrap().to_string()), (row.seen, "2016-02-29".into()));
    assert!(row.four.unwrap().is_loopback());
}

async fn an_expired_value_is_not_incremented(client: Client) {
    #[derive(Row)]
    struct Short {
        #[row(family, name = "m", ttl = "1h")]
        counts: BTreeMap<String, i64>,
        #[row(family = "t", ttl = "1h")]
        log: Option<String>,
    }
    let rows = table::<Short>(&client).await;
    let expected = "is in a family with `ttl`, and the server would change an expired value";
    fails(rows.increment(&key("/"), Short::COUNTS.at("x"), 1).await, expected);
    fails(rows.append(&key("/"), Short::LOG, "x").await, expected);
    assert!(rows.get(&key("/")).await.unwrap().is_none_or(|row| row.counts.is_empty() && row.log.is_none()));
}

async fn another_rule_keeps_the_type_of_a_family(client: Client) {
    #[derive(Row)]
    struct Counted {
        #[row(family = "sums")]
        views: Sum,
    }
    let rows = client.table::<PageKey, Counted>("attacked");
    rows.create().family("sums", GcRule::max_versions(2)).await.unwrap();
    rows.update(&key("/")).add(Counted::VIEWS, 5).await.unwrap();
    assert_eq!(rows.get(&key("/")).await.unwrap().unwrap().views.get(), 5);
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Wide {
    name: Option<String>,
    rank: Option<i64>,
    #[row(family = "v", gc(never))]
    steps: Versions<String>,
    #[row(family)]
    place: Option<Place>,
    #[row(family, gc(never))]
    days: BTreeMap<String, Versions<i64>>,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Place {
    city: Option<String>,
    floor: Option<i64>,
    moves: Versions<i64>,
}

fn wide() -> Wide {
    let versions = || Versions::from([Timestamped::new(2_000, 2), Timestamped::new(1_000, 1)]);
    Wide {
        name: Some("alice".into()),
        rank: None,
        steps: [Timestamped::new(2_000, "two".to_owned()), Timestamped::new(1_000, "one".to_owned())].into(),
        place: Some(Place { city: None, floor: Some(3), moves: versions() }),
        days: [("a".to_owned(), versions())].into(),
    }
}

/// Rows without any selected column come with a mark, which no row has.
async fn a_selection_visited_has_stored_cells_alone(client: Client) {
    #[derive(Row, Clone, Debug, PartialEq)]
    struct Steps {
        #[row(family = "v", gc(never))]
        steps: Versions<String>,
    }

    #[derive(Row)]
    struct Rank {
        rank: Option<i64>,
    }

    let rows = table::<Wide>(&client).await;
    rows.put(&key("/"), &wide()).await.unwrap();
    let mut found = Vec::new();
    let selected = rows.select(Wide::STEPS).scan(PageKey::scan());
    let visit = selected.visit::<PageKey, Error>(|_, row| {
        found.push((row.read::<Steps>()?.steps, row.cells().len()));
        Ok(())
    });
    visit.await.unwrap();
    assert_eq!(found, [(wide().steps, 2)]);
    let mut cells = Vec::new();
    let visit = rows.select(Wide::RANK).scan(PageKey::scan()).visit::<PageKey, Error>(|_, row| {
        cells.push((row.read::<Rank>()?.rank, row.cells().len()));
        Ok(())
    });
    visit.await.unwrap();
    assert_eq!(cells, [(None, 0)]);
    // What is not read is not absent.
    for selected in [true, false] {
        let read = |_: <PageKey as RowKey>::Decoded<'_>, row: RowRef<'_>| row.read::<Wide>().map(drop);
        let error = match selected {
            true => rows.select(Wide::STEPS).scan(PageKey::scan()).visit::<PageKey, Error>(read).await,
            false => rows.rows_as::<Steps>().scan(PageKey::scan()).visit::<PageKey, Error>(read).await,
        };
        fails(error, "has the column `cf:name`, which this scan does not read");
    }
}

async fn rows_of_another_type_are_those_of_the_table(client: Client) {
    #[derive(Row)]
    struct Seen {
        #[row(ts(unit = "secs"))]
        at: Option<SystemTime>,
        #[row(alias = "old")]
        count: Option<i64>,
        other: Option<i64>,
    }

    #[derive(Row)]
    struct Other {
        other: Option<i64>,
    }

    #[derive(Row)]
    struct Millis {
        #[row(ts(unit = "millis"))]
        at: Option<SystemTime>,
    }

    #[derive(Row)]
    struct Counter {
        #[row(counter)]
        count: i64,
    }

    #[derive(Row)]
    struct Taken {
        #[row(alias = "old", alias = "other")]
        count: Option<i64>,
    }

    let rows = table::<Seen>(&client).await;
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    rows.put(&key("/"), &Seen { at: Some(at), count: None, other: Some(1) }).await.unwrap();
    client
        .raw_table("attacked")
        .mutate_row("/", [Mutation::set("cf", "old", 0, 100_i64.to_be_bytes().to_vec())])
        .await
        .unwrap();
    let refused = |found: Result<bool, Error>, says: &str| {
        fails(found, says);
    };
    let stored = "the column `cf:at` is stored as";
    let got = |row: Option<Millis>| row.is_some_and(|row| row.at.is_some());
    refused(rows.rows_as::<Millis>().get(&key("/")).await.map(got), stored);
    refused(rows.rows_as::<Other>().rows_as::<Millis>().get(&key("/")).await.map(got), stored);
    refused(rows.rows_as::<()>().rows_as::<Millis>().get(&key("/")).await.map(got), stored);
    let raw = rows.rows_as::<()>().scan(PageKey::scan()).raw();
    let visited = raw.visit::<PageKey, Error>(|_, row| row.read::<Millis>().map(drop));
    refused(visited.await.map(|rows| rows > 0), stored);
    let counter = rows.rows_as::<Counter>();
    let former = "`Seen` reads `cf:count` under its former name `cf:old` too, and `Counter` does not";
    refused(counter.get(&key("/")).await.map(|row| row.is_some()), former);
    let taken = rows.rows_as::<Taken>();
    let alias = "`cf:count` of `Taken` has an alias that is the column `cf:other` of `Seen`";
    refused(taken.get(&key("/")).await.map(|row| row.is_some()), alias);
}

/// Nothing is sent, whatever is called, and however the handle was made.
async fn a_part_that_does_not_fit_fails_every_call(client: Client) {
    #[derive(Row)]
    struct Counted {
        count: Option<i64>,
    }

    #[derive(Row)]
    struct Text {
        count: Option<String>,
    }

    let whole = table::<Counted>(&client).await;
    whole.put(&key("/"), &Counted { count: Some(1) }).await.unwrap();
    let parts = [
        whole.rows_as::<Text>(),
        whole.rows_as::<Text>().unchecked(),
        whole.unchecked().rows_as::<Text>(),
        whole.rows_as::<()>().rows_as::<Text>(),
        whole.rows_as::<Text>().with(|_| ()),
    ];
    for part in parts {
        let all = || part.scan(PageKey::scan());
        let mut exported = part.export(PageKey::scan()).stream();
        let copied = part.copy_to(&whole, |key, _| key).await.unwrap_err();
        let errors = [
            part.get(&key("/")).await.map(|row| drop(row.map(|row| row.count))).unwrap_err(),
            part.get_many([key("/")]).await.map(drop).unwrap_err(),
            part.exists(&key("/")).await.unwrap_err(),
            part.get_raw(&key("/")).await.unwrap_err(),
            part.select(Text::COUNT).get(&key("/")).await.unwrap_err(),
            part.select(Text::COUNT).get_many([key("/")]).await.unwrap_err(),
            part.select(Text::COUNT).scan(PageKey::scan()).collect().await.unwrap_err(),
            all().collect().await.map(drop).unwrap_err(),
            all().keys_only().collect().await.unwrap_err(),
            all().distinct(1).collect().await.unwrap_err(),
            all().raw().collect().await.unwrap_err(),
            all().page(1).await.map(drop).unwrap_err(),
            all().explain_analyze().await.map(drop).unwrap_err(),
            all().visit::<PageKey, Error>(|_, _| Ok(())).await.unwrap_err(),
            part.count(PageKey::scan()).await.unwrap_err(),
            exported.next().await.unwrap().map(drop).unwrap_err(),
            part.partitions().await.unwrap_err(),
            part.sizes().await.unwrap_err(),
            part.verify_rows().await.unwrap_err(),
            part.row_types().await.unwrap_err(),
            part.diff(&whole, |key, _| key).await.unwrap_err(),
            whole.diff(&part, |key, _| key).await.unwrap_err(),
            copied.error().unwrap().clone(),
        ];
        for error in errors {
            assert!(error.kind() == ErrorKind::InvalidArgument && error.attempts() == 0, "{error}");
            assert!(error.to_string().contains("the column `cf:count` is stored as"), "{error}");
        }
    }
    assert_eq!(whole.get(&key("/")).await.unwrap().unwrap().count, Some(1));
}

async fn a_map_is_compared_in_the_family_that_it_reads(client: Client) {
    type Texts = BTreeMap<String, String>;

    #[derive(Row)]
    struct Hourly {
        #[row(family, name = "h")]
        counts: BTreeMap<String, i64>,
    }

    let whole = table::<Hourly>(&client).await;
    whole.put(&key("/"), &Hourly { counts: [("x".to_owned(), 5)].into() }).await.unwrap();
    assert_eq!(whole.rows_as::<Texts>().get(&key("/")).await.unwrap(), None);
    let maps = client.table::<PageKey, BTreeMap<String, i64>>("attacked").family("h");
    let counts = maps.get(&key("/")).await.unwrap();
    assert_eq!(counts, whole.get(&key("/")).await.unwrap().map(|row| row.counts));
    assert_eq!(maps.rows_as::<Texts>().family("cf").get(&key("/")).await.unwrap(), None);
    for texts in [
        whole.rows_as::<Texts>().family("h"),
        whole.rows_as::<Texts>().unchecked().family("h"),
        maps.rows_as::<Texts>(),
        maps.rows_as::<Texts>().family("cf").family("h"),
    ] {
        let error = texts.get(&key("/")).await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.attempts() == 0, "{error}");
        assert!(error.to_string().contains("`h:"), "{error}");
    }
}

async fn columns_selected_twice_have_each_version_once(client: Client) {
    let rows = table::<Wide>(&client).await;
    rows.put(&key("/"), &wide()).await.unwrap();
    let (place, moves) = rows.select((Wide::PLACE, Wide::PLACE.moves)).get(&key("/")).await.unwrap().unwrap();
    assert_eq!((&place, &moves), (&wide().place, &wide().place.unwrap().moves));
    let (days, day) = rows.select((Wide::DAYS, Wide::DAYS.at("a"))).get(&key("/")).await.unwrap().unwrap();
    assert_eq!((&days, &day), (&wide().days, &wide().days["a"]));
    let (one, other) = rows.select((Wide::DAYS, Wide::DAYS)).get(&key("/")).await.unwrap().unwrap();
    assert_eq!((&one, &other), (&wide().days, &wide().days));
    let selected = rows.select((Wide::PLACE, Wide::PLACE.moves)).scan(PageKey::scan()).latest(2);
    assert_eq!(selected.collect().await.unwrap()[0].1.1, wide().place.unwrap().moves);
}

async fn a_selected_column_of_an_optional_family_leaves_it_there(client: Client) {
    let rows = table::<Wide>(&client).await;
    rows.put(&key("/"), &wide()).await.unwrap();
    let layout = TableLayout::of::<PageKey, Wide>("attacked");
    let by_data = client.dynamic_table(&layout);
    for column in ["place:city", "place:floor"] {
        let scan = by_data.scan(layout.key().scan()).select([column]).unwrap();
        let found = scan.collect().await.unwrap();
        assert!(found[0].1.has_family("place"), "{column}: {}", found[0].1);
        assert_eq!(found[0].1.foreign().len(), 0, "{column}: {}", found[0].1);
    }
}

/// A part of [`Wide`].
#[derive(Row)]
struct Cities {
    #[row(family)]
    place: Option<City>,
}

#[derive(Row)]
struct City {
    city: Option<String>,
}

/// Cells that the part does not read make no row for it, in a family of its own columns too.
async fn a_part_selects_of_the_rows_that_it_reads(client: Client) {
    let rows = table::<Wide>(&client).await;
    let floor = Mutation::set_now("place", "floor", 3_i64.to_be_bytes().to_vec());
    client.raw_table("attacked").mutate_row("floor", [floor]).await.unwrap();
    rows.update(&key("city")).set(Wide::PLACE.city, "Bern").await.unwrap();
    let part = rows.rows_as::<Cities>();
    let read = part.scan(PageKey::scan()).collect().await.unwrap();
    let selected = part.select(Cities::PLACE.city).scan(PageKey::scan()).collect().await.unwrap();
    let family = part.select(Cities::PLACE).scan(PageKey::scan()).collect().await.unwrap();
    assert_eq!(read.iter().map(|(key, _)| key).collect::<Vec<_>>(), [&key("city")]);
    assert_eq!(selected, [(key("city"), Some("Bern".to_owned()))]);
    assert_eq!(family.iter().map(|(key, _)| key).collect::<Vec<_>>(), [&key("city")]);
}

/// By the columns that were read, the family may be there or not.
async fn an_optional_family_that_was_not_asked_for_is_not_absent(client: Client) {
    let rows = table::<Wide>(&client).await;
    // The marker of the family is all that it has.
    let place = Some(Place { city: None, floor: None, moves: Versions::default() });
    rows.put(&key("/"), &Wide { place, ..wide() }).await.unwrap();
    let read = |_: <PageKey as RowKey>::Decoded<'_>, row: RowRef<'_>| {
        row.read::<Cities>().map(|row| assert!(row.place.is_some_and(|place| place.city.is_none())))
    };
    let selected = rows.select((Wide::PLACE.city, Wide::NAME)).scan(PageKey::scan());
    let error = selected.visit::<PageKey, Error>(read).await.unwrap_err().to_string();
    assert!(error.contains("has the optional family `place`, which this scan does not read"), "{error}");
    let selected = rows.select((Wide::PLACE, Wide::NAME)).scan(PageKey::scan());
    assert_eq!(selected.visit::<PageKey, Error>(read).await.unwrap(), 1);
}

async fn a_table_without_columns_fits_every_part(client: Client) {
    #[derive(Row)]
    #[row(ttl = "1h")]
    struct Brief {
        note: Option<String>,
    }

    let keys = table::<()>(&client).await;
    let long_ago =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() - Duration::from_secs(7_200);
    let note = Mutation::set("cf", "note", i64::try_from(long_ago.as_millis()).unwrap() * 1_000, "old");
    client.raw_table("attacked").mutate_row("/", [note]).await.unwrap();
    assert!(keys.rows_as::<Brief>().get(&key("/")).await.unwrap().is_none());
}

/// A former name in a family of sums makes no family of numbers of it.
async fn a_family_is_of_the_kind_of_its_own_columns(client: Client) {
    #[derive(Row)]
    struct Counted {
        #[row(alias = "sums:visits")]
        visits: Option<i64>,
        #[row(family = "sums")]
        views: Sum,
    }

    #[derive(Row)]
    struct Views {
        #[row(family = "sums")]
        views: Sum,
    }

    let rows = table::<Counted>(&client).await;
    rows.update(&key("/")).add(Counted::VIEWS, 5).await.unwrap();
    let views = rows.rows_as::<Views>().get(&key("/")).await.unwrap().unwrap().views;
    assert_eq!(views.get(), 5);
}

async fn a_column_of_a_part_that_does_not_fit_is_none_of_another(client: Client) {
    type Texts = BTreeMap<String, String>;

    #[derive(Row)]
    struct Named {
        #[row(family, name = "h")]
        counts: BTreeMap<String, i64>,
        #[row(family, name = "names")]
        names: BTreeMap<String, String>,
    }

    let whole = table::<Named>(&client).await;
    let counts = [("x".to_owned(), 0x6162_6364_6566_6768)].into();
    whole.put(&key("/"), &Named { counts, names: Texts::new() }).await.unwrap();
    let names = whole.rows_as::<Texts>().family("names");
    let column = || whole.rows_as::<Texts>().family("h").column("x");
    let matching = names.scan(PageKey::scan()).matching(column().equals("abcdefgh"));
    let errors = [
        names.select(column()).get(&key("/")).await.unwrap_err(),
        names.select(column()).scan(PageKey::scan()).collect().await.unwrap_err(),
        matching.collect().await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("`h:x` is of a row type that does not fit the table"), "{error}");
        assert_eq!(error.attempts(), 0, "{error}");
    }
    assert_eq!(names.select(names.column("x")).get(&key("/")).await.unwrap(), None);
}
