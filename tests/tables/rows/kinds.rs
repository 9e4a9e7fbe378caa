//! Every type of a value, in every kind of field, in every kind of family: what is put is read, what is selected is what is read,
//! and the server finds what Rust finds, also at the edges of each type.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use fastrand::Rng;
use keyderive::row::{Condition, Timestamped, Versions};
use keyderive::{Cell, Client, Row, Table};
use keyderive_tests::amount;
use keyderive_tests::fixtures::created;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::Runtime;

use super::{PageKey, key};

#[derive(Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Login,
    #[row(name = "")]
    Empty,
    #[row(name = "ü")]
    Umlaut,
}

#[derive(Cell, Clone, Copy, Debug, PartialEq)]
#[row(code)]
enum Level {
    Low = 0,
    High = 1_000_000,
}

#[derive(Cell, Clone, Debug, PartialEq, PartialOrd)]
struct Celsius(f64);

mod hex {
    use std::fmt::Write as _;

    use keyderive::Cell as _;
    use keyderive::row::{CellError, CellWriter};

    pub(super) fn encode(value: &u32, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        write!(out, "{value:08x}").map_err(CellError::unsupported)
    }

    pub(super) fn decode(value: &[u8]) -> Result<u32, CellError> {
        u32::from_str_radix(<&str>::decode(value)?, 16).map_err(CellError::malformed)
    }
}

/// A value, most often one at an edge of its type.
trait Edge {
    fn edge(rng: &mut Rng) -> Self;
}

macro_rules! edges {
    ($($type:ty: [$($edge:expr),*], |$rng:ident| $other:expr;)*) => {$(
        impl Edge for $type {
            fn edge($rng: &mut Rng) -> Self {
                let edges: &[Self] = &[$($edge),*];
                match $rng.usize(..=edges.len()) {
                    at if at < edges.len() => edges[at].clone(),
                    _ => $other,
                }
            }
        }
    )*};
}

edges! {
    i8: [i8::MIN, -1, 0, i8::MAX], |rng| rng.i8(..);
    i16: [i16::MIN, -1, 0, i16::MAX], |rng| rng.i16(..);
    i32: [i32::MIN, -1, 0, i32::MAX], |rng| rng.i32(..);
    i64: [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX], |rng| rng.i64(..);
    u8: [0, u8::MAX], |rng| rng.u8(..);
    u16: [0, u16::MAX], |rng| rng.u16(..);
    u32: [0, u32::MAX], |rng| rng.u32(..);
    u64: [0, 1, i64::MAX as u64], |rng| rng.u64(..=i64::MAX as u64);
    NonZeroU32: [NonZeroU32::MIN, NonZeroU32::MAX], |rng| NonZeroU32::MIN.saturating_add(rng.u32(..));
    bool: [false, true], |rng| rng.bool();
    f32: [0.0, -0.0, f32::MIN, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40], |rng| rng.f32() - 0.5;
    f64: [0.0, -0.0, f64::MIN, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, 1e-310], |rng| rng.f64() - 0.5;
    char: ['\0', 'a', 'ü', '\u{10ffff}'], |rng| rng.char(..);
    String: [String::new(), "a".into(), "a\0".into(), "ß\n\"".into(), "\u{10ffff}".into()], |rng| rng.char(..).into();
    Arc<str>: [Arc::from(""), Arc::from("a")], |rng| rng.char(..).to_string().into();
    Vec<u8>: [vec![], vec![0], vec![0xff], vec![0xc3, 0x28], b"a".to_vec()], |rng| vec![rng.u8(..)];
    Bytes: [Bytes::new(), Bytes::from_static(b"\xff\xff")], |rng| vec![rng.u8(..)].into();
    [u8; 3]: [[0; 3], [0xff; 3]], |rng| [rng.u8(..); 3];
    Kind: [Kind::Login, Kind::Empty], |_rng| Kind::Umlaut;
    Level: [Level::Low], |_rng| Level::High;
    Celsius: [Celsius(-0.0)], |rng| Celsius(f64::edge(rng));
    IpAddr: [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::UNSPECIFIED)], |rng| Ipv6Addr::from(rng.u128(..)).into();
    SystemTime: [UNIX_EPOCH, UNIX_EPOCH - Duration::from_millis(1)], |rng| UNIX_EPOCH + Duration::from_millis(rng.u64(..1 << 40));
    (): [()], |_rng| ();
    (u8, Option<String>): [(0, None)], |rng| (rng.u8(..), Some(String::edge(rng)));
}

impl<T: Edge> Edge for Option<T> {
    fn edge(rng: &mut Rng) -> Self {
        (rng.u8(..3) > 0).then(|| T::edge(rng))
    }
}

impl<T: Edge> Edge for Timestamped<T> {
    fn edge(rng: &mut Rng) -> Self {
        Self::new(rng.choice([0, 1000, 1_426_535_612_156_000, i64::MAX / 1000 * 1000]).unwrap(), T::edge(rng))
    }
}

impl<T: Edge> Edge for Versions<T> {
    fn edge(rng: &mut Rng) -> Self {
        let at = |at: i64, rng: &mut Rng| Timestamped::new(at * 1000, T::edge(rng));
        (0..rng.i64(..4)).map(|number| at(number, rng)).collect()
    }
}

impl<T: Edge> Edge for BTreeMap<String, T> {
    fn edge(rng: &mut Rng) -> Self {
        let names = ["METER:0015", "ü\0\n", "a", "\u{10ffff}"];
        let entry = |name: &str| rng.bool().then(|| (name.to_owned(), T::edge(rng)));
        names.into_iter().filter_map(entry).collect()
    }
}

/// Declares a row of these fields, with edges of each.
macro_rules! row {
    ($(#[$row:meta])* struct $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$row])*
        #[derive(Row, Clone, Debug)]
        struct $name {
            $($(#[$meta])* $field: $type,)*
        }

        impl Edge for $name {
            fn edge(rng: &mut Rng) -> Self {
                Self { $($field: <$type>::edge(rng),)* }
            }
        }
    };
}

row! {
    struct Values {
        i8: i8, i16: i16, i32: i32, i64: i64, u8: u8, u16: u16, u32: u32, u64: u64,
        non_zero: NonZeroU32, bool: bool, f32: f32, f64: f64, char: char, string: String, text: Arc<str>,
        vec: Vec<u8>, bytes: Bytes, array: [u8; 3], unit: (), kind: Kind, level: Level, celsius: Celsius, ip: IpAddr,
        #[row(json)] json: (u8, Option<String>),
        #[row(ts(unit = "millis"))] at: SystemTime,
        #[row(with = "hex")] hex: u32,
        boxed: Box<i64>,
    }
}

impl Edge for Box<i64> {
    fn edge(rng: &mut Rng) -> Self {
        Self::new(i64::edge(rng))
    }
}

row! {
    struct Options {
        i64: Option<i64>, u64: Option<u64>, bool: Option<bool>, f32: Option<f32>, f64: Option<f64>, char: Option<char>,
        string: Option<String>, vec: Option<Vec<u8>>, array: Option<[u8; 3]>, unit: Option<()>, kind: Option<Kind>,
        level: Option<Level>, ip: Option<IpAddr>,
        #[row(json)] json: Option<(u8, Option<String>)>,
        #[row(ts(unit = "millis"))] at: Option<SystemTime>,
        #[row(with = "hex")] hex: Option<u32>,
        timed: Option<Timestamped<f64>>,
    }
}

row! {
    struct Defaults {
        #[row(default)] i64: i64,
        #[row(default)] string: String,
        #[row(default = "nan")] f64: f64,
        #[row(default, json)] json: (u8, Option<String>),
        #[row(counter)] count: i64,
    }
}

fn nan() -> f64 {
    f64::NAN
}

row! {
    struct Histories {
        i64: Versions<i64>,
        string: Versions<String>,
        #[row(json)] json: Versions<(u8, Option<String>)>,
        timed: Timestamped<String>,
    }
}

row! {
    struct Kinds {
        own: Option<String>,
        #[row(family = "beside")] beside: Option<f64>,
        #[row(family)] values: Values,
        #[row(family)] options: Options,
        #[row(family)] absent: Option<Options>,
        #[row(family)] present: Option<Values>,
        #[row(family)] defaults: Defaults,
        #[row(family)] histories: Histories,
        #[row(family)] map: BTreeMap<String, f64>,
        #[row(family)] texts: Option<BTreeMap<String, String>>,
        #[row(family, json)] parts: BTreeMap<String, (u8, Option<String>)>,
        #[row(family)] times: BTreeMap<String, Timestamped<i64>>,
        #[row(family)] hashed: HashMap<Vec<u8>, bool>,
    }
}

impl Edge for HashMap<Vec<u8>, bool> {
    fn edge(rng: &mut Rng) -> Self {
        // One entry, since rows are compared by what they show.
        let name = [vec![0], vec![0xff, 0xff]][rng.usize(..2)].clone();
        rng.bool().then(|| (name, rng.bool())).into_iter().collect()
    }
}

type Table1 = Table<PageKey, Kinds>;

async fn kinds(client: &Client) -> Table1 {
    created::<PageKey, Kinds>(client, "kinds").await
}

/// NaN is no NaN by `==`, and both zeros are one, so rows are compared by what they show.
fn shown(row: impl Debug) -> String {
    format!("{row:?}")
}

/// Conditions, each with whether it holds.
type Cases = Vec<(Condition<Kinds>, bool, String)>;

macro_rules! equal {
    ($cases:ident, $rng:ident; $($column:expr, $stored:expr;)*) => {$({
        let stored = $stored;
        let other = edge_like(&stored, $rng);
        if is_number(&other) {
            let is_equal = stored.as_ref() == Some(&other);
            $cases.push(($column.equals(other.clone()), is_equal, format!("{} == {other:?}", stringify!($column))));
            let both = [other.clone(), other.clone()];
            $cases.push(($column.one_of(both).not(), !is_equal, format!("{} != {other:?}", stringify!($column))));
        }
        $cases.push(($column.exists(), stored.is_some(), format!("{} exists", stringify!($column))));
    })*};
}

macro_rules! ordered {
    ($cases:ident, $rng:ident; $($column:expr, $stored:expr;)*) => {$({
        let stored = $stored;
        let other = edge_like(&stored, $rng);
        let greater = edge_like(&stored, $rng);
        if is_number(&other) && is_number(&greater) {
            let name = |sign: &str| format!("{stored:?} of {} {sign} {other:?}", stringify!($column));
            let is = |holds: &dyn Fn(&_) -> bool| stored.as_ref().is_some_and(holds);
            $cases.push(($column.less_than(other.clone()), is(&|stored| *stored < other), name("<")));
            $cases.push(($column.at_most(other.clone()), is(&|stored| *stored <= other), name("<=")));
            $cases.push(($column.at_least(other.clone()), is(&|stored| *stored >= other), name(">=")));
            $cases.push(($column.greater_than(other.clone()), is(&|stored| *stored > other), name(">")));
            let is_between = is(&|stored| *stored >= other && *stored <= greater);
            $cases.push(($column.between(other.clone(), greater.clone()), is_between, format!("{} to {greater:?}", name("from"))));
        }
        equal! { $cases, $rng; $column, stored.clone(); }
    })*};
}

fn edge_like<T: Edge>(_: &Option<T>, rng: &mut Rng) -> T {
    T::edge(rng)
}

/// Not NaN, which is compared with nothing.
fn is_number<T: PartialEq>(value: &T) -> bool {
    #[expect(clippy::eq_op, reason = "it is how NaN is told")]
    let is_number = value == value;
    is_number
}

fn cases(row: &Kinds, rng: &mut Rng) -> Cases {
    let mut cases = Cases::new();
    let (values, options) = (row.values.clone(), row.options.clone());
    ordered! { cases, rng;
        Kinds::VALUES.i8, Some(values.i8);
        Kinds::VALUES.i64, Some(values.i64);
        Kinds::VALUES.u64, Some(values.u64);
        Kinds::VALUES.non_zero, Some(values.non_zero);
        Kinds::VALUES.f32, Some(values.f32);
        Kinds::VALUES.f64, Some(values.f64);
        Kinds::VALUES.char, Some(values.char);
        Kinds::VALUES.string, Some(values.string);
        Kinds::VALUES.text, Some(values.text);
        Kinds::VALUES.vec, Some(values.vec);
        Kinds::VALUES.bytes, Some(values.bytes);
        Kinds::VALUES.array, Some(values.array);
        Kinds::VALUES.celsius, Some(values.celsius);
        Kinds::VALUES.at, Some(values.at);
        Kinds::OPTIONS.i64, options.i64;
        Kinds::OPTIONS.f64, options.f64;
        Kinds::OPTIONS.string, options.string;
        Kinds::OPTIONS.vec, options.vec;
        Kinds::OPTIONS.at, options.at;
        Kinds::OPTIONS.timed, options.timed.map(|timed| timed.value);
        Kinds::BESIDE, row.beside;
        Kinds::DEFAULTS.i64, Some(row.defaults.i64);
        Kinds::DEFAULTS.count, Some(row.defaults.count);
        Kinds::MAP.at("METER:0015"), row.map.get("METER:0015").copied();
        Kinds::TIMES.at("a"), row.times.get("a").map(|timed| timed.value);
        Kinds::HISTORIES.i64, row.histories.i64.newest().copied();
    }
    equal! { cases, rng;
        Kinds::VALUES.bool, Some(values.bool);
        Kinds::VALUES.kind, Some(values.kind);
        Kinds::VALUES.level, Some(values.level);
        Kinds::VALUES.ip, Some(values.ip);
        Kinds::OPTIONS.kind, row.options.kind;
        Kinds::OPTIONS.ip, row.options.ip;
    }
    cases
}

/// Joins conditions at random, and what they should be in the same way.
fn joined(mut cases: Cases, rng: &mut Rng) -> Cases {
    let mut joined = Cases::new();
    rng.shuffle(&mut cases);
    while let (Some((one, holds, text)), Some((other, also_holds, other_text))) = (cases.pop(), cases.pop()) {
        joined.push(match rng.u8(..4) {
            0 => (one.and(other), holds && also_holds, format!("{text} and {other_text}")),
            1 => (one.or(other), holds || also_holds, format!("{text} or {other_text}")),
            2 => (one.not().and(other), !holds && also_holds, format!("not {text}, and {other_text}")),
            _ => (one.and(other).not(), !(holds && also_holds), format!("not both {text} and {other_text}")),
        });
    }
    joined
}

/// Puts a row over another, and reads it in every way.
async fn holds(kinds: &Table1, seed: u64, comparisons: usize) {
    let mut rng = Rng::with_seed(seed);
    let (before, row) = (Kinds::edge(&mut rng), Kinds::edge(&mut rng));
    let key = &key("/");
    kinds.put(key, &before).await.unwrap();
    kinds.put(key, &row).await.unwrap();
    let read = kinds.get(key).await.unwrap().unwrap();
    assert_eq!(shown(&read), shown(&row), "seed {seed}");

    let families = (
        Kinds::VALUES,
        Kinds::OPTIONS,
        Kinds::ABSENT,
        Kinds::DEFAULTS,
        Kinds::HISTORIES,
        Kinds::MAP,
        Kinds::TEXTS,
        Kinds::PARTS,
    );
    let (values, options, absent, defaults, histories, map, texts, parts) =
        kinds.select(families).get(key).await.unwrap().unwrap();
    assert_eq!(shown(values), shown(Some(&row.values)), "seed {seed}");
    let is_empty = |options: &Options| shown(options) == shown(Options::edge_of_none());
    assert_eq!(shown(options), shown(Some(&row.options).filter(|options| !is_empty(options))), "seed {seed}");
    assert_eq!(shown(absent), shown(&row.absent), "seed {seed}");
    assert_eq!(shown(defaults), shown(Some(&row.defaults)), "seed {seed}");
    assert_eq!(shown(histories), shown(Some(&row.histories)), "seed {seed}");
    assert_eq!((shown(map), shown(parts)), (shown(&row.map), shown(&row.parts)), "seed {seed}");
    assert_eq!(shown(texts), shown(row.texts.clone().unwrap_or_default()), "seed {seed}");

    let columns = (
        Kinds::OWN,
        Kinds::BESIDE,
        Kinds::VALUES.json,
        Kinds::OPTIONS.hex,
        Kinds::DEFAULTS.f64,
        Kinds::HISTORIES.json,
        Kinds::MAP.at("a"),
        Kinds::OPTIONS.timed,
    );
    let expected = (
        row.own.clone(),
        row.beside,
        row.values.json.clone(),
        row.options.hex,
        Some(row.defaults.f64),
        row.histories.json.clone(),
        row.map.get("a").copied(),
        row.options.timed,
    );
    let selected = kinds.select(columns).get(key).await.unwrap().unwrap();
    assert_eq!(shown(selected), shown(expected), "seed {seed}");
    let absent = kinds.select((Kinds::OWN, Kinds::MAP)).get(key).await.unwrap();
    assert_eq!(shown(absent), shown(Some((&row.own, &row.map))), "seed {seed}");

    let mut cases = cases(&row, &mut rng);
    cases.extend(joined(self::cases(&row, &mut rng), &mut rng));
    rng.shuffle(&mut cases);
    for (condition, expected, text) in cases.into_iter().take(comparisons) {
        let found = kinds.update(key).only_if(condition).await.unwrap();
        assert_eq!(found, expected, "seed {seed}: {text}");
    }
}

impl Options {
    fn edge_of_none() -> Self {
        Self {
            i64: None,
            u64: None,
            bool: None,
            f32: None,
            f64: None,
            char: None,
            string: None,
            vec: None,
            array: None,
            unit: None,
            kind: None,
            level: None,
            ip: None,
            json: None,
            at: None,
            hex: None,
            timed: None,
        }
    }
}

#[test]
fn rows_of_all_types_are_read_selected_and_compared() {
    let runtime = Runtime::new().unwrap();
    let kinds = runtime.block_on(kinds(&Client::embedded()));
    let run = |seed| {
        runtime.block_on(holds(&kinds, seed, usize::MAX));
        Ok(())
    };
    let rows = amount("KEYDERIVE_ROWS_OF_ALL_TYPES", "random rows of all types", 5, 128).try_into().unwrap();
    TestRunner::new(Config::with_cases(rows)).run(&any::<u64>(), run).unwrap();
}

#[tokio::test]
async fn rows_of_all_types_are_read_selected_and_compared_on_the_emulator() {
    let Some((_emulator, client)) = crate::servers::emulator().await else { return };
    let kinds = kinds(&client).await;
    let seeds = "KEYDERIVE_ROWS_OF_ALL_TYPES_ON_THE_EMULATOR";
    for seed in 0..amount(seeds, "random rows of all types on the emulator", 3, 24) {
        holds(&kinds, seed, 60).await;
    }
}
