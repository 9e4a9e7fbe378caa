//! `export` and `import`: what one writes, the other reads as the same rows.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use keyderive::row::{Mutation, Timestamped, Versions};
use keyderive::{Cell, Row, RowKey, Table};

use crate::server::{Folder, raw, stored, table, tables, wait};

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "name")]
struct Key {
    #[row_key(escape)]
    name: String,
    #[reverse_ts]
    at: SystemTime,
    #[pad(5)]
    seq: u16,
    is_new: bool,
}

#[derive(Cell, Clone, Copy, Debug)]
#[row(code)]
enum Level {
    Low = 0,
    High = 20,
}

/// Of every form that columns have.
#[derive(Row, Clone, Debug)]
struct Everything {
    kind: String,
    level: Option<Level>,
    note: Option<String>,
    bytes: Option<Vec<u8>>,
    ratio: f64,
    small: Option<f32>,
    large: Option<u64>,
    #[row(json)]
    tags: Vec<String>,
    #[row(ts(unit = "micros"))]
    seen: Option<SystemTime>,
    #[row(counter)]
    views: i64,
    price: Option<Timestamped<f64>>,
    #[row(family = "h")]
    state: Versions<String>,
    #[row(family)]
    place: Option<Place>,
    #[row(family)]
    daily: BTreeMap<String, i64>,
    #[row(family)]
    raw: Option<BTreeMap<Vec<u8>, Versions<String>>>,
}

#[derive(Row, Clone, Debug)]
struct Place {
    city: Option<String>,
    floor: Option<i32>,
}

const WORDS: [&str; 16] = [
    "",
    "a",
    "\\empty",
    "\\\\empty",
    "\\",
    "\"",
    "\"\"",
    "a,b",
    "line\nbreak",
    "\r\n",
    " é ",
    "\u{1b}[31m",
    "\0",
    "null",
    "{\"a\":1}",
    "=1+1",
];

fn word(random: &mut Rng) -> String {
    (0..random.usize(..3)).map(|_| WORDS[random.usize(..WORDS.len())]).collect()
}

fn maybe<T>(random: &mut Rng, make: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    random.bool().then(|| make(random))
}

fn float(random: &mut Rng) -> f64 {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX, f64::MIN_POSITIVE, 0.1 + 0.2];
    if random.bool() {
        special[random.usize(..special.len())]
    } else {
        f64::from_bits(random.u64(..0x7ff0 << 48))
    }
}

fn time(random: &mut Rng) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(random.u64(..253_402_300_799_999))
}

fn versions(random: &mut Rng) -> Versions<String> {
    (0..random.i64(..3)).map(|at| Timestamped::new(at * 1000, word(random))).collect()
}

fn everything(random: &mut Rng) -> Everything {
    Everything {
        kind: word(random),
        level: maybe(random, |random| if random.bool() { Level::Low } else { Level::High }),
        note: maybe(random, word),
        bytes: maybe(random, |random| (0..random.usize(..4)).map(|_| random.u8(..)).collect()),
        ratio: float(random),
        small: maybe(random, |random| float(random) as f32),
        large: maybe(random, |random| random.u64(..1 << 63)),
        tags: (0..random.usize(..3)).map(|_| word(random)).collect(),
        seen: maybe(random, time),
        views: random.i64(..),
        price: maybe(random, |random| Timestamped::new(random.i64(0..1 << 40) * 1000, float(random))),
        state: versions(random),
        place: maybe(random, |random| Place {
            city: maybe(random, word),
            floor: maybe(random, |random| random.i32(..)),
        }),
        daily: (0..random.usize(..3)).map(|at| (format!("{at}\"{}", word(random)), random.i64(..))).collect(),
        raw: maybe(random, |random| {
            (0..random.u8(..3)).map(|at| (vec![at, 0xff, b':', b'\\'], versions(random))).collect()
        }),
    }
}

fn fill(table: &Table<Key, Everything>, rows: u16) {
    let mut random = Rng::with_seed(11);
    let rows: Vec<_> = (0..rows)
        .map(|seq| {
            let key = Key { name: word(&mut random), at: time(&mut random), seq, is_new: random.bool() };
            (key, everything(&mut random))
        })
        .collect();
    wait(table.put_all(rows)).unwrap();
}

fn all(table: &Table<Key, Everything>) -> Vec<String> {
    let rows = wait(table.scan(Key::scan()).collect()).unwrap();
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn what_is_exported_is_imported_as_it_was() {
    let folder = Folder::new("exchange");
    let all_tables = tables::<Key, Everything>(&folder, &["origin", "from-csv", "from-json"]);
    fill(&all_tables[0], 400);
    let before = all(&all_tables[0]);
    for (format, table) in [("csv", &all_tables[1]), ("json", &all_tables[2])] {
        let exported = folder.run(&["export", "origin", "--format", format]).expect(0);
        folder.write("rows", &exported.out);
        let into = &format!("from-{format}");
        let dry = folder.run(&["import", into, "rows", "--format", format]).expect(0);
        assert!(dry.out.ends_with(&format!("would write 400 rows of `{into}`\n")), "{}", dry.out);
        assert!(all(table).is_empty());
        let done = folder.run(&["import", into, "rows", "--format", format, "--yes"]).expect(0);
        done.begins(&format!("wrote 400 rows of `{into}`; in this run 400 rows"));
        for (after, before) in all(table).iter().zip(&before) {
            assert_eq!(after, before, "{format}");
        }
        assert_eq!(all(table).len(), before.len());
        let again = folder.run(&["export", into, "--format", format]).expect(0);
        assert!(again.out == exported.out, "{format}: a second export differs");
    }
    // Parts at a time have the same rows.
    let ordered = folder.run(&["export", "origin", "--format", "json"]).expect(0).out;
    let parts = folder.run(&["export", "origin", "--format", "json", "--unordered"]).expect(0).out;
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&ordered), sorted(&parts));
}

#[derive(RowKey, Clone, Debug)]
struct HashedKey {
    #[row_key(hash(md5))]
    name: String,
}

#[test]
fn keys_that_are_hashed() {
    let folder = Folder::new("hashed");
    let both = tables::<HashedKey, BTreeMap<String, i64>>(&folder, &["hashed", "hashed-again"]);
    let rows =
        (0..20).map(|at| (HashedKey { name: format!("name {at}") }, BTreeMap::from([("a".to_owned(), at)])));
    wait(both[0].put_all(rows)).unwrap();
    for format in ["csv", "json"] {
        let exported = folder.run(&["export", "hashed", "--format", format]).expect(0).out;
        folder
            .run_with(&["import", "hashed-again", "-", "--format", format, "--yes"], exported.as_bytes())
            .expect(0);
        let keys = |name: &str| stored(name).iter().map(|row| row.key().to_vec()).collect::<Vec<_>>();
        assert_eq!(keys("hashed").len(), 20);
        assert_eq!(keys("hashed"), keys("hashed-again"), "{format}");
        for row in stored("hashed-again") {
            wait(raw("hashed-again").mutate_row(row.key().to_vec(), vec![Mutation::delete_row()])).unwrap();
        }
    }
}

#[test]
fn what_is_left_out_is_said() {
    let folder = Folder::new("left-out");
    let events = table::<Key, Place>(&folder, "left-out");
    let key = Key { name: "a".into(), at: UNIX_EPOCH, seq: 1, is_new: true };
    wait(events.put(&key, &Place { city: None, floor: Some(1) })).unwrap();
    let set = |family: &'static str, name: &'static str, value: &'static [u8]| {
        vec![Mutation::set(family, name, 1_000_000, value)]
    };
    wait(raw("left-out").mutate_row(key.encode().unwrap(), set("cf", "other", b"x"))).unwrap();
    let unread = Key { seq: 2, ..key.clone() };
    wait(raw("left-out").mutate_row(unread.encode().unwrap(), set("cf", "floor", b"x"))).unwrap();
    wait(raw("left-out").mutate_row("1#foreign", set("cf", "floor", b"x"))).unwrap();
    let exported = folder.run(&["export", "left-out"]).expect(1);
    assert_eq!(exported.out.lines().count(), 2, "{}", exported.out);
    for said in [
        "1 row not exported: the keys are not of the layout",
        "1 row not exported: the row type does not read them",
        "1 row exported without the columns that the row type does not name",
    ] {
        assert!(exported.error.contains(said), "{}", exported.error);
    }
}

#[test]
fn an_export_that_was_killed_goes_on() {
    let folder = Folder::new("export-killed");
    let table = table::<Key, Everything>(&folder, "export-killed");
    fill(&table, 6000);
    let whole = folder.run(&["export", "export-killed"]).expect(0).out;
    let arguments = ["export", "export-killed", "--output", "rows.csv", "--resume", "progress"];
    folder.run_killed(&arguments, 10).expect(0);
    assert!(folder.read("rows.csv") == whole);
    // It is done.
    folder.run(&arguments).expect(0);
    assert!(folder.read("rows.csv") == whole);
}
