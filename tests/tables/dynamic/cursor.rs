//! Rows by data, borrowed, beside the same rows by types: all fields and some, in parts, in both orders, and what is refused.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;

use keyderive::client::ReadStats;
use keyderive::dynamic::{DynColumnRef, DynKey, DynRow, DynRowRef, TableLayout, Value, ValueRef};
use keyderive::plan::KeyRange;
use keyderive::row::{Mutation, Sum, Timestamped, Versions};
use keyderive::table::{DynCursor, RowType};
use keyderive::{Client, Error, ErrorKind, OnForeign, OnUnreadable, Row, Scan};
use keyderive_tests::fixtures::{created, fails};

use super::{Event, EventKey, event, events, key};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    fields_of_every_kind_are_those_of_types
    parts_and_both_orders_have_the_rows_of_types
    what_cannot_be_read_is_refused_as_by_types
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Sensor {
    #[row(alias = "title")]
    name: Option<String>,
    count: i64,
    level: Option<Timestamped<f64>>,
    state: Versions<String>,
    #[row(family)]
    place: Option<Place>,
    #[row(family)]
    daily: BTreeMap<String, i16>,
    #[row(family, gc(never), ttl = "1d")]
    recent: BTreeMap<String, Versions<i64>>,
    #[row(family = "sums")]
    alarms: Sum,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Place {
    city: String,
    floor: Option<i32>,
    moves: Versions<String>,
}

type Cells = Vec<(i64, Value)>;
/// A column, or the entries of a map, by their names; none of a family that is not there.
type Shown = Option<BTreeMap<String, Cells>>;

/// The first `count` columns.
fn shown(row: DynRowRef<'_>, count: usize) -> Vec<Shown> {
    let cells = |cells: &[Timestamped<ValueRef<'_>>]| {
        cells.iter().map(|cell| (cell.timestamp_micros, cell.value.to_value())).collect()
    };
    let named = |column: DynColumnRef<'_>| {
        (String::from_utf8(column.qualifier().to_vec()).unwrap(), cells(column.cells()))
    };
    assert!(row.column(count).is_none() && row.entries(count).is_none());
    (0..count)
        .map(|at| match (row.column(at), row.entries(at)) {
            (Some(column), None) => Some([named(column)].into()),
            (None, entries) => Some(entries?.map(named).collect()),
            (Some(_), Some(_)) => panic!("{at} is a column and a map"),
        })
        .collect()
}

/// The same of a row by its type, without the timestamps.
fn expected(row: &Sensor) -> Vec<Option<BTreeMap<String, Vec<Value>>>> {
    let versions = |list: &Versions<String>| list.iter().map(|one| Value::from(&*one.value)).collect();
    let own = |name: &str, values: Vec<Value>| Some(BTreeMap::from([(name.to_owned(), values)]));
    let at_most = |value: Option<Value>| value.into_iter().collect::<Vec<_>>();
    let place = row.place.as_ref();
    vec![
        own("name", at_most(row.name.as_deref().map(Value::from))),
        own("count", vec![row.count.into()]),
        own("level", at_most(row.level.map(|level| level.value.into()))),
        own("state", versions(&row.state)),
        place.and_then(|place| own("city", vec![place.city.as_str().into()])),
        place.and_then(|place| own("floor", at_most(place.floor.map(Value::from)))),
        place.and_then(|place| own("moves", versions(&place.moves))),
        Some(row.daily.iter().map(|(name, value)| (name.clone(), vec![(*value).into()])).collect()),
        Some(
            row.recent
                .iter()
                .map(|(name, list)| (name.clone(), list.iter().map(|one| one.value.into()).collect()))
                .collect(),
        ),
        own("alarms", vec![row.alarms.get().into()]),
    ]
}

/// All rows with these columns.
async fn read<R: RowType<DynKey>>(
    scan: Scan<DynKey, R>,
    columns: &[usize],
) -> Result<Vec<(Vec<u8>, Vec<Shown>)>, Error> {
    let mut rows = scan.cursor(columns.iter().copied())?;
    let mut read = Vec::new();
    let mut visit = |row: DynRowRef<'_>| {
        read.push((row.key().to_vec(), shown(row, columns.len())));
        Ok::<_, Error>(())
    };
    while rows.visit_next(3, &mut visit).await? > 0 {}
    Ok(read)
}

fn sensor(n: i64) -> Sensor {
    let at = |n: i64| n * 1_000_000;
    Sensor {
        name: (n % 2 == 0).then(|| format!("sensor {n}")),
        count: n,
        level: (n % 3 == 0).then(|| Timestamped::new(at(n), n as f64 / 2.0)),
        state: (0..n % 4).map(|version| Timestamped::new(at(version), format!("{version}"))).collect(),
        place: (n % 2 == 1).then(|| Place {
            city: "Chur".into(),
            floor: (n % 3 == 0).then_some(-1),
            moves: (0..n % 5).map(|version| Timestamped::new(at(version), format!("{version}"))).collect(),
        }),
        daily: (0..n % 3).map(|day| (format!("{day}"), 7)).collect(),
        recent: BTreeMap::new(),
        alarms: Sum::default(),
    }
}

async fn fields_of_every_kind_are_those_of_types(client: Client) {
    let typed = created::<EventKey, Sensor>(&client, "sensors").await;
    for n in 0..12 {
        let key = key("alice", n, 7);
        typed.put(&key, &sensor(n.try_into().unwrap())).await.unwrap();
        if n % 4 == 0 {
            typed.update(&key).add(Sensor::ALARMS, 3).await.unwrap();
        }
    }
    // Stored under its former name, and cells that the type's `ttl` hides, or does not.
    let one = key("alice", 1, 7).encode().unwrap();
    let now = client.now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let now = i64::try_from(now).unwrap() * 1000;
    let cells = [
        Mutation::set("cf", "title", 1_000, "former"),
        Mutation::set("cf", "foreign", 1_000, "x"),
        Mutation::set("recent", "a", now, 1_i64.to_be_bytes().to_vec()),
        Mutation::set("recent", "a", now - 1_000, 2_i64.to_be_bytes().to_vec()),
        Mutation::set("recent", "a", 1_000, 3_i64.to_be_bytes().to_vec()),
    ];
    client.raw_table("sensors").mutate_row(one, cells).await.unwrap();

    let layout = TableLayout::of::<EventKey, Sensor>("sensors");
    let sensors = client.dynamic_table(&layout);
    let scan = || sensors.scan(layout.key().scan());
    let rows = typed.scan(EventKey::scan()).collect().await.unwrap();
    let expected: Vec<_> = rows.iter().map(|(_, row)| expected(row)).collect();
    let former = rows.iter().find(|(key, _)| key.at == 1).map(|(_, row)| row).unwrap();
    assert_eq!((former.name.as_deref(), former.recent["a"].len()), (Some("former"), 2));

    let all: Vec<usize> = (0..Sensor::SCHEMA.declared_columns().count()).collect();
    let of_all = read(scan(), &all).await.unwrap();
    let mut visited = Vec::new();
    let rows_visited = scan()
        .visit(|row| {
            visited.push((row.key().to_vec(), shown(row, all.len())));
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    assert_eq!((rows_visited, &visited), (12, &of_all));
    for ((at, expected), (key, columns)) in expected.iter().enumerate().zip(&of_all) {
        assert_eq!(*key, rows[at].0.encode().unwrap());
        let values = columns.iter().map(|column| {
            let cells = column.as_ref()?.iter();
            let values = |cells: &Cells| cells.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>();
            Some(cells.map(|(name, cells)| (name.clone(), values(cells))).collect::<BTreeMap<_, _>>())
        });
        assert_eq!(values.collect::<Vec<_>>(), *expected, "row {at}");
        let level: Vec<_> =
            rows[at].1.level.iter().map(|one| (one.timestamp_micros, one.value.into())).collect();
        assert_eq!(columns[2].as_ref().unwrap()["level"], level);
    }

    // Some columns, in any order, are what they are among all, of every row.
    for some in
        [&[0][..], &[4, 1], &[5], &[6], &[6, 5, 3], &[8, 7], &[9], &[2, 0, 4, 6, 8], &[9, 8, 7, 6, 5], &[]]
    {
        let of_some = read(scan(), some).await.unwrap();
        let expected: Vec<_> = of_all
            .iter()
            .map(|(key, all)| (key.clone(), some.iter().map(|at| all[*at].clone()).collect::<Vec<_>>()))
            .collect();
        assert_eq!(of_some, expected, "{some:?}");
    }
    // A raw scan of some columns reads them as they are stored, hidden or not.
    let at = rows.iter().position(|(key, _)| key.at == 1).unwrap();
    let recent = |rows: Vec<(Vec<u8>, Vec<Shown>)>| rows[at].1[0].as_ref().unwrap()["a"].len();
    assert_eq!(recent(read(scan(), &[8]).await.unwrap()), 2);
    assert_eq!(recent(read(scan().raw(), &[8]).await.unwrap()), 3);
    // Owned rows are the same.
    let owned = scan().collect().await.unwrap();
    for ((key, row), (stored, columns)) in owned.iter().zip(&of_all) {
        assert_eq!(key.as_ref(), stored);
        let newest: Vec<_> = row.columns().filter_map(|column| column.value().newest().cloned()).collect();
        let cells = columns.iter().flatten().flat_map(BTreeMap::values);
        let expected: Vec<_> = cells.filter_map(|cells| Some(cells.first()?.1.clone())).collect();
        assert_eq!(newest, expected);
        let has_foreign = row.foreign().map(|cell| cell.qualifier().to_vec()).collect::<Vec<_>>();
        let is_one = key.get("at") == Some(&Value::Integer(1));
        assert_eq!(has_foreign, if is_one { vec![b"foreign".to_vec()] } else { Vec::new() });
    }
    fails(scan().cursor([0, 10]), "`Sensor` has no column 10: it declares 10, from 0 on");
}

async fn parts_and_both_orders_have_the_rows_of_types(client: Client) {
    let typed = events(&client).await;
    let keys = (0..200_u16).map(|n| key(["alice", "bob", "carol"][usize::from(n % 3)], u64::from(n / 7), n));
    typed.put_all(keys.map(|key| (key, event("login")))).await.unwrap();
    let layout = TableLayout::of::<EventKey, Event>("events");
    let events = client.dynamic_table(&layout);
    let kept = |scan: Scan<DynKey, DynRow>| async { keys_of(scan.cursor([]).unwrap()).await };

    let parts = events.sizes().await.unwrap().parts;
    for reversed in [false, true] {
        let direct = |scan: Scan<DynKey, DynRow>| if reversed { scan.reversed() } else { scan };
        let stored: Vec<Vec<u8>> = {
            let scan = typed.scan(EventKey::scan());
            let scan = if reversed { scan.reversed() } else { scan };
            let rows = scan.collect().await.unwrap();
            rows.iter().map(|(key, _)| key.encode().unwrap()).collect()
        };
        assert_eq!(kept(direct(events.scan(layout.key().scan()))).await, stored);
        assert_eq!(kept(direct(events.scan(layout.key().scan())).limit(7)).await, stored[..7]);
        // Neighbouring parts are read as one, in order.
        let plan = layout.key().scan().plan().unwrap();
        let (first, rest) = parts.split_at(parts.len() / 2);
        let mut of_parts = Vec::new();
        for part in [first, rest] {
            let end = part.last().unwrap().range.end().map(<[u8]>::to_vec);
            let range = KeyRange::new(part[0].range.start(), end);
            let rows = kept(direct(events.scan(plan.within(&range)))).await;
            let of_part = stored.iter().filter(|key| range.contains(key)).cloned().collect::<Vec<_>>();
            assert_eq!(rows, of_part);
            of_parts.extend(rows);
        }
        of_parts.sort();
        let mut sorted = stored.clone();
        sorted.sort();
        assert_eq!(of_parts, sorted);
    }
    let mut unordered = kept(events.scan(layout.key().scan()).unordered()).await;
    unordered.sort();
    unordered.dedup();
    assert_eq!(unordered.len(), 200);
    assert_eq!(events.scan(layout.key().scan()).cursor([0]).unwrap().visited().await, 200);

    // The fields of the key, by their indices.
    let mut rows = events.scan(layout.key().scan().fix("user", "bob").unwrap()).limit(1).cursor([]).unwrap();
    let visited = rows
        .visit_next(100, |row| {
            let fields: Vec<_> = row.key_fields().collect();
            assert_eq!(fields, [ValueRef::Text("bob"), ValueRef::Integer(28), ValueRef::Integer(196)]);
            assert_eq!(row.key_field(2), Some(ValueRef::Integer(196)));
            assert!(row.key_field(3).is_none() && row.newest(0).is_none());
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    assert_eq!(visited, 1);
    let stats = ReadStats::new();
    let scan = events.scan(layout.key().scan()).with_stats(&stats);
    assert_eq!(scan.cursor([0]).unwrap().visited().await, 200);
    assert!(stats.rows_returned() == 200 || stats.rows_seen() == 0);
}

trait Visited {
    /// How many rows are left.
    async fn visited(self) -> u64;
}

impl Visited for DynCursor {
    async fn visited(self) -> u64 {
        keys_of(self).await.len() as u64
    }
}

async fn keys_of(mut rows: DynCursor) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut visit = |row: DynRowRef<'_>| {
        keys.push(row.key().to_vec());
        Ok::<_, Error>(())
    };
    while rows.visit_next(0, &mut visit).await.unwrap() > 0 {}
    while rows.visit_next(50, &mut visit).await.unwrap() > 0 {}
    keys
}

async fn what_cannot_be_read_is_refused_as_by_types(client: Client) {
    let typed = events(&client).await;
    let layout = TableLayout::of::<EventKey, Event>("events");
    let events = client.dynamic_table(&layout);
    typed.put(&key("alice", 5, 7), &event("login")).await.unwrap();
    // A row of the counted column alone, which has no `kind`.
    typed.increment(&key("bob", 5, 7), Event::VIEWS, 1).await.unwrap();
    typed.put(&key("carol", 5, 7), &event("login")).await.unwrap();
    let scan = || events.scan(layout.key().scan());
    let [by_data, by_type] = [
        scan().visit(|_| Ok::<_, Error>(())).await.unwrap_err(),
        typed.scan(EventKey::scan()).collect().await.unwrap_err(),
    ];
    assert_eq!(by_data.to_string(), by_type.to_string());
    assert_eq!(by_data.kind(), ErrorKind::InvalidRow);
    let of_owned = scan().collect().await.unwrap_err();
    assert_eq!(of_owned.to_string(), by_type.to_string());
    // The column is not read, so that the row is whole.
    assert_eq!(scan().cursor([1, 2]).unwrap().visited().await, 3);
    // A row without any of the columns that are read is unreadable too.
    assert!(read(scan(), &[0]).await.unwrap_err().to_string().contains("`cf:kind` is missing"));
    let skipping = scan().on_unreadable(OnUnreadable::Skip);
    let skipped = skipping.skipped();
    assert_eq!(skipping.visit(|_| Ok::<_, Error>(())).await.unwrap(), 2);
    assert_eq!(skipped.unreadable(), 1);
    let limited = scan().on_unreadable(OnUnreadable::Skip).limit(2).collect().await.unwrap();
    assert_eq!(limited.len(), 2);
    let rows = scan().on_unreadable(OnUnreadable::Skip).limit(2).cursor([0]).unwrap();
    assert_eq!(rows.visited().await, 2);

    typed.delete(&key("bob", 5, 7)).await.unwrap();
    client.raw_table("events").mutate_row("1#zoe", vec![Mutation::set("cf", "kind", 0, "x")]).await.unwrap();
    let [by_data, by_type] = [
        scan().visit(|_| Ok::<_, Error>(())).await.unwrap_err(),
        typed.scan(EventKey::scan()).collect().await.unwrap_err(),
    ];
    assert_eq!(by_data.to_string(), by_type.to_string());
    assert_eq!(by_data.kind(), by_type.kind());
    assert_eq!(scan().on_foreign(OnForeign::Skip).cursor([0]).unwrap().visited().await, 2);

    // The error of the closure ends the scan.
    let mut rows = scan().on_foreign(OnForeign::Skip).cursor([]).unwrap();
    let error = rows.visit_next(9, |_| Err::<(), _>(Refused(None))).await.unwrap_err();
    assert!(error.0.is_none());
    assert_eq!(rows.visit_next(9, |_| Ok::<_, Error>(())).await.unwrap(), 0);
}

/// The error of a program.
#[derive(Debug)]
struct Refused(Option<Error>);

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(Some(error))
    }
}

/// A cursor gives other tasks a turn, so that a stream that is polled by hand does not keep its thread.
#[tokio::test]
async fn other_tasks_have_a_turn() {
    let client = Client::embedded();
    let typed = events(&client).await;
    let rows = (0..5000).map(|n| (key("alice", n, 7), event("login")));
    typed.put_all(rows).await.unwrap();
    let layout = TableLayout::of::<EventKey, Event>("events");
    let mut rows = client.dynamic_table(&layout).scan(layout.key().scan()).cursor([0]).unwrap();
    let (mut total, mut in_turn, mut most) = (0, 0_u64, 0);
    poll_fn(|cx| {
        loop {
            match rows.poll_visit(cx, u64::MAX, |_| Ok::<_, Error>(())) {
                Poll::Ready(visited) => match visited.unwrap() {
                    0 => return Poll::Ready(()),
                    visited => {
                        total += visited;
                        in_turn += visited;
                        most = most.max(in_turn);
                    }
                },
                Poll::Pending => {
                    in_turn = 0;
                    return Poll::Pending;
                }
            }
        }
    })
    .await;
    assert_eq!(total, 5000);
    assert!(most <= 1024, "{most}");
}
