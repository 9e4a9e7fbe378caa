//! Filters through the client return the same rows from the embedded Bigtable and from Google's emulator.

use std::ops::Bound;

use keyderive_tests::emulator::Emulator;

use super::*;

/// Fills a new Bigtable with the rows of these tests.
async fn filled(client: Client) -> RawTable {
    let events = create(&client, ["f", "g-1"]).await;
    let entries = ["a", "b#1", "b\n2", "c.d"].into_iter().enumerate().map(|(number, key)| {
        let mut mutations = vec![
            set("f", "", 1000, "first"),
            set("f", "x", 3000, "3"),
            set("f", "x", 2000, "2"),
            set("f", "x", 1000, ""),
            set("f", "x.y", 1000, "dot"),
            set("f", "xzy", 1000, "z\n"),
            set("g-1", "|", 2000, "a|b"),
            set("g-1", "ü", 1000, "ü"),
        ];
        mutations.truncate(8 - number);
        (key.into(), mutations)
    });
    events.mutate_rows(entries.collect()).await.all_written().unwrap();
    events
}

/// The rows that a filter keeps. Sorts their cells, since the emulator's order of families is undefined.
async fn left(events: &RawTable, filter: &RowFilter) -> Vec<(Bytes, Vec<String>)> {
    let request = ReadRows::all().filter(filter.clone());
    let rows: Vec<RawRow> = events.read_rows(request).try_collect().await.unwrap();
    let cells = |row: &RawRow| {
        let mut cells: Vec<_> = row
            .cells()
            .map(|cell| format!("{} {:?}", shown(cell), cell.labels().collect::<Vec<_>>()))
            .collect();
        cells.sort();
        cells
    };
    rows.iter().map(|row| (Bytes::copy_from_slice(row.key()), cells(row))).collect()
}

fn singles() -> Vec<RowFilter> {
    let one_family = |filter| RowFilter::chain([RowFilter::family("f"), filter]);
    vec![
        RowFilter::pass_all(),
        RowFilter::block_all(),
        RowFilter::row_key_regex("b.*"),
        RowFilter::row_key_regex(r"b\C*"),
        RowFilter::row_key_regex(r"c\.d|a"),
        RowFilter::family("g-1"),
        RowFilter::family_regex("g.*"),
        RowFilter::family_regex("absent|f"),
        RowFilter::qualifier_regex("x.y"),
        RowFilter::qualifier_regex("[^x].*"),
        RowFilter::exact_column("f", "x.y"),
        RowFilter::exact_column("f", ""),
        RowFilter::exact_column("g-1", "|"),
        RowFilter::exact_column("g-1", "ü"),
        RowFilter::any_column("f", ["", "x.y", "absent"]),
        RowFilter::columns("f", "x".."xz"),
        RowFilter::columns("f", "x"..="xzy"),
        RowFilter::columns("f", ..=""),
        RowFilter::columns::<&str>("f", (Bound::Excluded("x"), Bound::Unbounded)),
        RowFilter::columns::<&str>("g-1", ..),
        RowFilter::timestamps(1500..2001),
        RowFilter::timestamps(..=2000),
        RowFilter::timestamps(2000..),
        RowFilter::value_regex(""),
        RowFilter::value_regex(r"\d"),
        RowFilter::value_regex(r"z\C"),
        RowFilter::value_regex(r"[\x80-\xff]{2}"),
        RowFilter::value_regex(r"\Qa|b\E|(?i)DOT"),
        RowFilter::value_range("2".."dot"),
        RowFilter::value_range::<&str>((Bound::Excluded("2"), Bound::Included("dot"))),
        RowFilter::value_range(..="2"),
        one_family(RowFilter::skip_cells(2)),
        one_family(RowFilter::cells_per_row(3)),
        RowFilter::skip_cells(100),
        RowFilter::latest(1),
        RowFilter::latest(2),
        RowFilter::strip_value(),
        RowFilter::label("label-1"),
    ]
}

fn composed() -> Vec<RowFilter> {
    let f = || RowFilter::family("f");
    let has_dot = || RowFilter::exact_column("f", "x.y");
    vec![
        RowFilter::chain([f(), RowFilter::latest(1), RowFilter::skip_cells(1), RowFilter::strip_value()]),
        RowFilter::interleave([has_dot(), RowFilter::family("g-1")]),
        RowFilter::interleave([
            RowFilter::chain([has_dot(), RowFilter::label("dot")]),
            RowFilter::chain([RowFilter::latest(1), RowFilter::label("latest")]),
        ]),
        RowFilter::chain([
            f(),
            RowFilter::interleave([RowFilter::pass_all(), RowFilter::exact_column("f", "")]),
            RowFilter::cells_per_row(3),
        ]),
        RowFilter::condition(RowFilter::exact_column("g-1", "ü"), has_dot(), RowFilter::latest(1)),
        RowFilter::condition(RowFilter::family("g-1"), RowFilter::pass_all(), RowFilter::block_all()),
        RowFilter::condition(RowFilter::family("g-1"), RowFilter::block_all(), RowFilter::latest(1)),
    ]
}

#[tokio::test]
async fn the_emulator_leaves_the_same_rows() {
    let Some(emulator) = Emulator::start() else { return };
    let emulated = filled(Client::emulator(emulator.host()).await.unwrap()).await;
    let embedded = filled(embedded().await).await;
    for filter in singles().into_iter().chain(composed()) {
        assert_eq!(left(&embedded, &filter).await, left(&emulated, &filter).await, "{filter}");
    }
}

#[tokio::test]
async fn filters_leave_what_they_say() {
    let events = filled(embedded().await).await;
    let keys = async |filter: &RowFilter| {
        let rows = left(&events, filter).await.into_iter();
        rows.map(|(key, cells)| format!("{} {}", key.escape_ascii(), cells.len())).collect::<Vec<_>>()
    };
    assert_eq!(keys(&RowFilter::exact_column("g-1", "ü")).await, ["a 1"]);
    assert_eq!(keys(&RowFilter::row_key_regex("b.*")).await, ["b#1 7"]);
    assert_eq!(keys(&RowFilter::any_column("f", ["", "x"])).await, ["a 4", "b\\n2 4", "b#1 4", "c.d 4"]);
    assert_eq!(keys(&RowFilter::value_regex(r"[\x80-\xff]{2}")).await, ["a 1"]);
    assert_eq!(keys(&RowFilter::block_all()).await, [""; 0]);
}

#[tokio::test]
async fn a_filter_that_is_refused_is_not_sent() {
    let absent = embedded().await.raw_table("absent");
    let error = absent.read_row("k", Some(RowFilter::label("NO"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().starts_with("table `absent`: the label `NO` has 2 bytes"), "{error}");
    assert!(std::error::Error::source(&error).unwrap().is::<crate::row::FilterError>());
}
