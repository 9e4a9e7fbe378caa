//! Pairs of row types: each program writes rows, and each reads those of the other. What `changes_from` calls compatible is, and what
//! it calls incompatible has a row that shows it, or is explained.
//!
//! `KEYDERIVE_ROW_PAIRS` is how many rows each writes.

mod parts;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroI64;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyderive::client::{Aggregate, Family};
use keyderive::dynamic::DynRow;
use keyderive::row::{
    LayoutChange, Max, Mutation, OwnedRow, Qualifier, RowSchema, Sum, Timestamped, Versions,
};
use keyderive::{Cell, Client, GcRule, Row};
use keyderive_tests::{amount, one_in};

use super::{PageKey, key};

/// What a value means, whatever type and encoding it has.
#[derive(Clone, Debug, PartialEq)]
enum Meaning {
    Integer(i64),
    Bytes(Vec<u8>),
    Single(f32),
    Double(f64),
    /// Nanoseconds since 1970.
    Time(u128),
    List(Vec<String>),
    Sum(i64),
    Max(i64),
}

/// A column's values, the newest first; times are those that the program sees.
#[derive(Clone, Debug, Default, PartialEq)]
struct Column {
    newest_first: Vec<(Option<i64>, Meaning)>,
    /// Whether the type reads every version.
    is_history: bool,
}

/// What a program has read of a row, by family and name. What is absent, 0 or empty is left out: a default reads so.
type Expected = BTreeMap<ColumnName, Column>;

/// A family and a qualifier.
type ColumnName = (String, Vec<u8>);

/// Where a field is: its schema, but for what a test does not need.
#[derive(Clone, Debug)]
enum At {
    Column { family: String, name: String, aliases: Vec<(String, String)>, kind: String, has_default: bool },
    Columns(Vec<At>),
    Map { family: String, kind: String },
}

/// A field's type: a test makes values of it, and says what they mean.
trait Made: Sized {
    fn made(random: &mut fastrand::Rng) -> Self;
    fn record(&self, at: &At, expected: &mut Expected);

    fn recorded(&self, at: &At) -> Expected {
        let mut expected = Expected::new();
        self.record(at, &mut expected);
        expected
    }
}

/// A single value.
trait Single {
    fn single(random: &mut fastrand::Rng) -> Self;
    fn meaning(&self) -> Meaning;
}

fn put(expected: &mut Expected, at: &At, column: Column) {
    let At::Column { family, name, .. } = at else { panic!("{at:?} is not a column") };
    if !column.newest_first.is_empty() && !column.newest_first.iter().all(is_default) {
        expected.insert((family.clone(), name.clone().into_bytes()), column);
    }
}

/// Whether an absent column may read so.
fn is_default((_, meaning): &(Option<i64>, Meaning)) -> bool {
    matches!(meaning, Meaning::Integer(0) | Meaning::Sum(0) | Meaning::Max(0))
        || *meaning == Meaning::Bytes(Vec::new())
}

macro_rules! singles {
    ($($type:ty: |$random:ident| $single:expr, |$value:ident| $meaning:expr;)*) => {$(
        impl Single for $type {
            fn single($random: &mut fastrand::Rng) -> Self {
                $single
            }

            fn meaning(&self) -> Meaning {
                let $value = self;
                $meaning
            }
        }

        impl Made for $type {
            fn made(random: &mut fastrand::Rng) -> Self {
                Self::single(random)
            }

            fn record(&self, at: &At, expected: &mut Expected) {
                put(expected, at, Column { newest_first: vec![(None, self.meaning())], is_history: false });
            }
        }
    )*};
}

fn word(random: &mut fastrand::Rng) -> String {
    ["Login", "Oslo", "a", "7", "ü", "Logout", "127.0.0.1", "Zürich \"1\""][random.usize(..8)].to_owned()
}

fn time(random: &mut fastrand::Rng) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(random.u64(1..2_000_000_000))
}

singles! {
    String: |random| word(random), |value| Meaning::Bytes(value.clone().into_bytes());
    Vec<u8>: |random| match random.u8(..3) {
        0 => word(random).into_bytes(),
        1 => NAMES[random.usize(..4)].into(),
        _ => vec![0xff, random.u8(..)],
    }, |value| Meaning::Bytes(value.clone());
    [u8; 4]: |random| [random.u8(1..), 0xff, 0, 7], |value| Meaning::Bytes(value.to_vec());
    char: |random| random.char('a'..='z'), |value| Meaning::Bytes(value.to_string().into_bytes());
    i16: |random| [random.i16(..), i16::MIN, 0][random.usize(..3)], |value| Meaning::Integer((*value).into());
    i64: |random| [random.i64(..), random.i64(1..100), i64::MIN, 0][random.usize(..4)], |value| Meaning::Integer(*value);
    i32: |random| random.i32(1..), |value| Meaning::Integer((*value).into());
    u8: |random| [random.u8(..), 0][random.usize(..2)], |value| Meaning::Integer((*value).into());
    bool: |random| random.bool(), |value| Meaning::Integer((*value).into());
    NonZeroI64: |random| [NonZeroI64::MIN, NonZeroI64::MAX][random.usize(..2)], |value| Meaning::Integer(value.get());
    f32: |random| random.f32(), |value| Meaning::Single(*value);
    f64: |random| random.f64(), |value| Meaning::Double(*value);
    Ipv4Addr: |random| Ipv4Addr::from(random.u32(..)), |value| Meaning::Bytes(value.to_string().into_bytes());
    IpAddr: |random| if random.bool() { IpAddr::from(random.u128(..).to_be_bytes()) } else { Ipv4Addr::single(random).into() },
        |value| Meaning::Bytes(value.to_string().into_bytes());
    uuid::Uuid: |random| uuid::Uuid::from_u128(random.u128(..)), |value| Meaning::Bytes(value.to_string().into_bytes());
    chrono::NaiveDate: |random| chrono::NaiveDate::from_ymd_opt(random.i32(1..9999), 3, 16).unwrap(),
        |value| Meaning::Bytes(value.to_string().into_bytes());
    chrono::DateTime<chrono::Utc>: |random| chrono::DateTime::from_timestamp(random.i64(1..2_000_000_000), 0).unwrap(),
        |value| Meaning::Bytes(format!("{value:?}").into_bytes());
    SystemTime: |random| time(random), |value| Meaning::Time(value.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()));
    Vec<String>: |random| (0..random.usize(..3)).map(|_| word(random)).collect(), |value| Meaning::List(value.clone());
}

macro_rules! enums {
    ($($(#[$meta:meta])* $name:ident: $kind:ident { $($(#[$attr:meta])* $variant:ident $(= $code:literal)?),* })*) => {$(
        #[derive(Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $(#[$meta])*
        enum $name {
            $($(#[$attr])* $variant $(= $code)?),*
        }

        singles! {
            $name: |random| { let all = [$(Self::$variant),*]; all[random.usize(..all.len())] }, |value| Meaning::$kind(meaning_of!($kind value));
        }
    )*};
}

macro_rules! meaning_of {
    (Bytes $value:ident) => {
        $value.to_stored().unwrap()
    };
    (Integer $value:ident) => {
        i64::from_be_bytes($value.to_stored().unwrap().try_into().unwrap())
    };
}

enums! {
    Two: Bytes { Login, Logout }
    Three: Bytes { Login, Logout, Moved }
    Parts: Bytes { #[row(name = "city")] City, #[row(name = "floor")] Floor }
    #[row(code)] Level: Integer { Low = 1, High = 20 }
    #[row(code)] Levels: Integer { Low = 1, High = 20, Top = 300 }
    #[row(code)] Switch: Integer { Off = 0, On = 1 }
}

impl<T: Made> Made for Option<T> {
    fn made(random: &mut fastrand::Rng) -> Self {
        random.bool().then(|| T::made(random))
    }

    fn record(&self, at: &At, expected: &mut Expected) {
        if let Some(value) = self {
            value.record(at, expected);
        }
    }
}

impl<T: Single> Made for Timestamped<T> {
    fn made(random: &mut fastrand::Rng) -> Self {
        // A day old and more, two hours, and recent.
        let now = UNIX_EPOCH.elapsed().unwrap().as_micros() as i64 / 1000 * 1000;
        let at = [random.i64(1..1000) * 1000, now - 7_200_000_000, now - 1_000_000][random.usize(..3)];
        Self::new(at, T::single(random))
    }

    fn record(&self, at: &At, expected: &mut Expected) {
        let newest_first = vec![(Some(self.timestamp_micros), self.value.meaning())];
        put(expected, at, Column { newest_first, is_history: false });
    }
}

impl<T: Single> Made for Versions<T> {
    fn made(random: &mut fastrand::Rng) -> Self {
        let times: BTreeSet<i64> = (0..random.usize(..4)).map(|_| random.i64(1..1000) * 1000).collect();
        times.into_iter().map(|at| Timestamped::new(at, T::single(random))).collect()
    }

    fn record(&self, at: &At, expected: &mut Expected) {
        let versions = self.iter().map(|version| (Some(version.timestamp_micros), version.value.meaning()));
        put(expected, at, Column { newest_first: versions.collect(), is_history: true });
    }
}

macro_rules! aggregates {
    ($($type:ident: |$value:ident| $get:expr;)*) => {$(
        impl Single for $type {
            fn single(_: &mut fastrand::Rng) -> Self {
                Self::default()
            }

            fn meaning(&self) -> Meaning {
                let $value = self;
                Meaning::$type($get)
            }
        }

        impl Made for $type {
            fn made(random: &mut fastrand::Rng) -> Self {
                Self::single(random)
            }

            fn record(&self, at: &At, expected: &mut Expected) {
                put(expected, at, Column { newest_first: vec![(None, self.meaning())], is_history: false });
            }
        }
    )*};
}

aggregates! {
    Sum: |value| value.get();
    Max: |value| value.get().unwrap_or_default();
}

impl<Q: Qualifier + Single, V: Made> Made for BTreeMap<Q, V> {
    fn made(random: &mut fastrand::Rng) -> Self {
        let mut map = Self::new();
        for _ in 0..random.usize(..7) {
            map.insert(Q::single(random), V::made(random));
        }
        map
    }

    fn record(&self, at: &At, expected: &mut Expected) {
        let At::Map { family, kind } = at else { panic!("{at:?} is not a map") };
        for (key, value) in self {
            let placeholder = String::new();
            let (family, kind) = (family.clone(), kind.clone());
            let at = At::Column {
                family: family.clone(),
                name: placeholder,
                aliases: Vec::new(),
                kind,
                has_default: false,
            };
            let name = Q::to_qualifier(key.borrowed()).unwrap().to_vec();
            for column in value.recorded(&at).into_values() {
                expected.insert((family.clone(), name.clone()), column);
            }
        }
    }
}

const NAMES: [&str; 8] = ["city", "floor", "zip", "visits", "town", "count", "note", "other"];

/// Names of columns that structs have too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name(String);

impl Single for Name {
    fn single(random: &mut fastrand::Rng) -> Self {
        Self(NAMES[random.usize(..NAMES.len())].to_owned())
    }

    fn meaning(&self) -> Meaning {
        self.0.meaning()
    }
}

impl Qualifier for Name {
    type Borrowed = str;
    const KEY: keyderive::row::CellType = <String as Qualifier>::KEY;

    fn to_qualifier(key: &str) -> Result<bytes::Bytes, keyderive::row::CellError> {
        String::to_qualifier(key)
    }

    fn borrowed(&self) -> &str {
        &self.0
    }

    fn of_qualifier(name: &[u8]) -> Result<Self, keyderive::row::CellError> {
        String::of_qualifier(name).map(Self)
    }
}

macro_rules! rows {
    ($($(#[$meta:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty),* $(,)? })*) => {
        $(
            #[derive(Row)]
            $(#[$meta])*
            struct $name {
                $($(#[$attr])* $field: $type,)*
            }

            impl Made for $name {
                fn made(random: &mut fastrand::Rng) -> Self {
                    Self { $($field: <$type as Made>::made(random),)* }
                }

                fn record(&self, at: &At, expected: &mut Expected) {
                    let At::Columns(fields) = at else { panic!("{at:?} is not a struct") };
                    let mut fields = fields.iter();
                    $(self.$field.record(fields.next().unwrap(), expected);)*
                }
            }
        )*
    };
}

// The families of the rows below.
rows! {
    City { city: String }
    CityAndFloor { city: String, floor: Option<i32> }
    CityAndZip { city: String, zip: String }
    CityOrZip { city: String, zip: Option<String> }
    CityNeedsFloor { city: String, floor: i32 }
    Floor { floor: Option<i32> }
    NeedsFloor { floor: i32 }
    Visits { visits: Option<i64> }
    Hits { visits: Sum }
    MaybeCity { city: Option<String> }
    Town { #[row(alias = "city")] town: String }
}

macro_rules! programs {
    ($($rest:tt)*) => {
        rows! { $($rest)* }
        names! { $($rest)* }
    };
}

macro_rules! names {
    ($($(#[$meta:meta])* $name:ident { $($rest:tt)* })*) => {
        fn programs() -> Vec<Box<dyn Program>> {
            vec![$(Box::new(Typed::<$name>::new()),)*]
        }
    };
}

programs! {
    // A column of text, and what may stand in its place.
    Required { kind: String }
    Optional { kind: Option<String> }
    Defaulted { #[row(default)] kind: String }
    Blob { kind: Vec<u8> }
    FourBytes { kind: [u8; 4] }
    OfChar { kind: char }
    OfTwo { kind: Two }
    OfThree { kind: Three }
    Address { kind: IpAddr }
    AddressV4 { kind: Ipv4Addr }
    Id { kind: uuid::Uuid }
    Day { kind: chrono::NaiveDate }
    Instant { kind: chrono::DateTime<chrono::Utc> }
    JsonText { #[row(json)] kind: String }
    JsonOptional { #[row(json)] kind: Option<String> }
    Stamped { kind: Timestamped<String> }
    StampedOptional { kind: Option<Timestamped<String>> }
    History { kind: Versions<String> }
    BlobHistory { kind: Versions<Vec<u8>> }
    // Other names.
    Renamed { #[row(alias = "kind")] sort: String }
    RenamedOptional { #[row(alias = "kind")] sort: Option<String> }
    ReadsBoth { #[row(alias = "sort")] kind: String }
    ReadsBothOptional { #[row(alias = "sort")] kind: Option<String> }
    Sort { sort: String }
    KindAndSort { kind: Option<String>, sort: Option<String> }
    KindAndCount { kind: Option<String>, count: Option<i64> }
    TakesCount { #[row(alias = "count")] kind: Option<String> }
    TakesCountNeeded { #[row(alias = "count")] kind: String }
    CountWasN { kind: Option<String>, #[row(alias = "n")] count: Option<i64> }
    KindAndN { kind: Option<String>, n: Option<i64> }
    CountAndN { kind: Option<String>, count: Option<i64>, n: Option<String> }
    InFamily { kind: Option<String>, #[row(family = "h", alias = "cf:count")] count: Option<i64> }
    // Numbers.
    Small { count: i16 }
    Whole { count: i64 }
    Byte { count: u8 }
    NotZero { count: NonZeroI64 }
    Flag { count: bool }
    OfLevel { count: Level }
    OfLevels { count: Levels }
    OfSwitch { count: Switch }
    Half { count: f32 }
    Full { count: f64 }
    Seconds { #[row(ts(unit = "secs"))] count: SystemTime }
    Millis { #[row(ts(unit = "millis"))] count: SystemTime }
    Counted { kind: Option<String>, #[row(counter)] count: i64 }
    WholeOptional { count: Option<i64> }
    WholeDefaulted { #[row(default)] count: i64 }
    WholeHistory { count: Versions<i64> }
    Json { #[row(json)] list: Vec<String> }
    JsonAsText { list: String }
    JsonAsBytes { list: Vec<u8> }
    // Aggregates.
    Total { kind: String, #[row(family = "sums")] visits: Sum }
    OtherTotal { kind: String, #[row(family = "sums")] hits: Sum }
    Hourly { kind: String, #[row(family = "sums", window = "1h")] visits: Versions<Sum> }
    Daily { kind: String, #[row(family = "sums", window = "1d")] visits: Versions<Sum> }
    Totals { kind: String, #[row(family)] sums: BTreeMap<Name, Sum> }
    Windows { kind: String, #[row(family)] sums: BTreeMap<Name, Versions<Sum>> }
    StructOfTotals { kind: String, #[row(family)] sums: Hits }
    Greatest { kind: String, #[row(family = "maxes")] visits: Max }
    // A family: a struct, an optional one, loose columns, and maps.
    AlwaysCity { kind: String, #[row(family)] place: City }
    AlwaysFloor { kind: String, #[row(family)] place: Floor }
    PlaceCity { kind: String, #[row(family)] place: Option<City> }
    PlaceCityAndFloor { kind: String, #[row(family)] place: Option<CityAndFloor> }
    PlaceCityAndZip { kind: String, #[row(family)] place: Option<CityAndZip> }
    PlaceCityOrZip { kind: String, #[row(family)] place: Option<CityOrZip> }
    PlaceNeedsBoth { kind: String, #[row(family)] place: Option<CityNeedsFloor> }
    PlaceFloor { kind: String, #[row(family)] place: Option<Floor> }
    PlaceNeedsFloor { kind: String, #[row(family)] place: Option<NeedsFloor> }
    PlaceMaybeCity { kind: String, #[row(family)] place: Option<MaybeCity> }
    PlaceTown { kind: String, #[row(family)] place: Option<Town> }
    PlaceVisits { kind: String, #[row(family)] place: Option<Visits> }
    LooseCity { kind: String, #[row(family = "place")] city: String }
    LooseFloor { kind: String, #[row(family = "place")] floor: Option<i32> }
    #[row(family = "place")] OwnCity { city: Option<String> }
    Words { kind: String, #[row(family)] place: BTreeMap<Name, String> }
    MaybeWords { kind: String, #[row(family)] place: Option<BTreeMap<Name, String>> }
    Numbers { kind: String, #[row(family)] place: BTreeMap<Name, i64> }
    Blobs { kind: String, #[row(family)] place: BTreeMap<Vec<u8>, Vec<u8>> }
    ByPart { kind: String, #[row(family)] place: BTreeMap<Parts, String> }
    ById { kind: String, #[row(family)] place: BTreeMap<uuid::Uuid, String> }
    Histories { kind: String, #[row(family)] place: BTreeMap<Name, Versions<String>> }
    // What families declare.
    Log { kind: String, #[row(family = "h")] note: Option<Timestamped<String>> }
    LogOfAnHour { kind: String, #[row(family = "h", ttl = "1h")] note: Option<Timestamped<String>> }
    LogOfADay { kind: String, #[row(family = "h", ttl = "1d")] note: Option<Timestamped<String>> }
    LogAlone { kind: String, #[row(family = "h", exclusive)] note: Option<Timestamped<String>> }
    LogAndMore { kind: String, #[row(family = "h")] note: Option<Timestamped<String>>, #[row(family = "h")] more: Option<String> }
    LogMap { kind: String, #[row(family)] h: BTreeMap<Name, String> }
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A program with one row type.
trait Program {
    fn name(&self) -> &'static str;
    fn at(&self) -> &At;
    fn json(&self) -> String;
    fn changes_from(&self, older: &str) -> keyderive::row::LayoutChanges;
    /// Writes a row of this number, and reads it back.
    fn write<'a>(
        &'a self,
        client: &'a Client,
        key: &'a PageKey,
        number: u64,
    ) -> Answer<'a, Result<Expected, String>>;
    fn read<'a>(&'a self, client: &'a Client, key: &'a PageKey) -> Answer<'a, Result<Expected, String>>;
}

struct Typed<R> {
    at: At,
    rows: std::marker::PhantomData<R>,
}

impl<R: OwnedRow> Typed<R> {
    fn new() -> Self {
        let at = At::of_row(&serde_json::from_str(&R::SCHEMA.to_json()).unwrap());
        Self { at, rows: std::marker::PhantomData }
    }
}

impl<R: OwnedRow + Made + 'static> Program for Typed<R> {
    fn name(&self) -> &'static str {
        R::SCHEMA.name()
    }

    fn at(&self) -> &At {
        &self.at
    }

    fn json(&self) -> String {
        R::SCHEMA.to_json()
    }

    fn changes_from(&self, older: &str) -> keyderive::row::LayoutChanges {
        R::SCHEMA.changes_from(older).unwrap()
    }

    fn write<'a>(
        &'a self,
        client: &'a Client,
        key: &'a PageKey,
        number: u64,
    ) -> Answer<'a, Result<Expected, String>> {
        Box::pin(async move {
            let table = client.table::<PageKey, R>("events");
            let mut random = fastrand::Rng::with_seed(number);
            let mut read = Expected::new();
            // A program with a `ttl` writes no cells that have expired.
            for _ in 0..20 {
                let row = R::made(&mut random);
                match table.put(key, &row).await.map_err(|error| error.to_string()) {
                    Err(refused) if refused.contains("would be hidden at once") => continue,
                    written => written?,
                }
                read = self.read(client, key).await?;
                if row.recorded(&self.at).keys().all(|place| read.contains_key(place)) {
                    break;
                }
            }
            let additions = self.at.additions(&mut random);
            if additions.is_empty() {
                return Ok(read);
            }
            let stored = key.encode().unwrap();
            client.raw_table("events").mutate_row(stored, additions).await.unwrap();
            self.read(client, key).await
        })
    }

    fn read<'a>(&'a self, client: &'a Client, key: &'a PageKey) -> Answer<'a, Result<Expected, String>> {
        Box::pin(async move {
            let row =
                client.table::<PageKey, R>("events").get(key).await.map_err(|error| error.to_string())?;
            Ok(row.ok_or("there is no row")?.recorded(&self.at))
        })
    }
}

impl At {
    fn of_row(schema: &serde_json::Value) -> Self {
        let fields = schema["fields"].as_array().unwrap();
        match &fields[..] {
            // A row whose columns are in one family is that struct.
            [field] if field["struct"]["family"] == schema["family"] => Self::of_field(field),
            fields => Self::Columns(fields.iter().map(Self::of_field).collect()),
        }
    }

    fn of_field(field: &serde_json::Value) -> Self {
        let (what, field) = field.as_object().unwrap().iter().next().unwrap();
        let family = || field["family"].as_str().unwrap().to_owned();
        match &**what {
            "column" => Self::of_column(family(), &field["column"]),
            "map" => Self::Map { family: family(), kind: kind_of(&field["kind"]) },
            _ => {
                let columns = field["columns"].as_array().unwrap();
                Self::Columns(columns.iter().map(|column| Self::of_column(family(), column)).collect())
            }
        }
    }

    fn of_column(family: String, column: &serde_json::Value) -> Self {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let aliases = column["aliases"].as_array().unwrap().iter();
        let aliases = aliases.map(|alias| (text(&alias["family"]), text(&alias["name"])));
        Self::Column {
            family,
            name: text(&column["name"]),
            aliases: aliases.collect(),
            has_default: column["absent"] == "default",
            kind: kind_of(&column["kind"]),
        }
    }

    /// The columns and the maps.
    fn leaves(&self) -> Vec<&Self> {
        match self {
            Self::Columns(columns) => columns.iter().flat_map(Self::leaves).collect(),
            leaf => vec![leaf],
        }
    }

    /// Additions to the aggregates, which a `put` leaves as they are.
    fn additions(&self, random: &mut fastrand::Rng) -> Vec<Mutation> {
        const DAY: i64 = 86_400_000_000;
        const HOUR: i64 = 3_600_000_000;
        let mut additions = Vec::new();
        for leaf in self.leaves() {
            let (family, name, kind) = match leaf {
                Self::Column { family, name, kind, .. } => (family, &**name, kind),
                Self::Map { family, kind } => (family, ["visits", "other"][random.usize(..2)], kind),
                Self::Columns(_) => continue,
            };
            let times = match &**kind {
                "sum" | "max" => vec![0],
                "sum_versions 3600000000" => vec![DAY + HOUR, DAY],
                "sum_versions 0" => vec![DAY + 1000, DAY],
                "sum_versions 86400000000" => vec![DAY],
                _ => continue,
            };
            if random.u8(..4) > 0 {
                let add = |at| Mutation::add_to_cell(family.clone(), name.to_owned(), at, random.i64(1..100));
                additions.extend(times.into_iter().map(add));
            }
        }
        additions
    }

    /// The place of the values that a program reads as this column, if it reads those that are stored at `place`.
    fn reads(&self, place: &(String, Vec<u8>)) -> Option<(String, Vec<u8>)> {
        match self {
            Self::Column { family, name, aliases, .. } => {
                let own = (family.clone(), name.clone().into_bytes());
                let is_of = own == *place
                    || aliases.iter().any(|(family, name)| *family == place.0 && name.as_bytes() == place.1);
                is_of.then_some(own)
            }
            Self::Map { family, .. } => (*family == place.0).then(|| place.clone()),
            Self::Columns(_) => None,
        }
    }

    fn aliases(&self) -> Vec<(ColumnName, Vec<ColumnName>)> {
        let column = |leaf: &Self| match leaf {
            Self::Column { family, name, aliases, .. } => {
                let bytes = |(family, name): &(String, String)| (family.clone(), name.clone().into_bytes());
                let own = (family.clone(), name.clone().into_bytes());
                Some((own, aliases.iter().map(bytes).collect()))
            }
            _ => None,
        };
        self.leaves().into_iter().filter_map(column).collect()
    }

    /// The place at which this program tells a value that another has stored for its own column at `place`, formerly at `aliases`.
    fn place_of(
        &self,
        place: &(String, Vec<u8>),
        aliases: &[(String, Vec<u8>)],
    ) -> Option<(String, Vec<u8>)> {
        let places = || [place].into_iter().chain(aliases);
        let leaves = self.leaves();
        places().find_map(|place| leaves.iter().find_map(|leaf| leaf.reads(place)))
    }
}

fn kind_of(kind: &serde_json::Value) -> String {
    match kind {
        serde_json::Value::String(kind) => kind.clone(),
        kind => {
            let (name, of) = kind.as_object().unwrap().iter().next().unwrap();
            format!("{name} {}", of["window_micros"])
        }
    }
}

/// Fails unless `read`, by `reader`, has the values that `writer` has written, and all of what was there before and that the writer
/// does not have.
fn compare(
    writer: &At,
    written: &Expected,
    reader: &At,
    before: &Expected,
    read: &Expected,
) -> Result<(), String> {
    let aliases: BTreeMap<_, _> = writer.aliases().into_iter().collect();
    let mut expected = Expected::new();
    let mut is_written = BTreeSet::new();
    for (place, column) in written {
        let former = aliases.get(place).map_or(&[][..], |aliases| aliases);
        if let Some(at) = reader.place_of(place, former)
            && let Some(other) = expected.insert(at.clone(), column.clone())
        {
            return Err(format!("{at:?} has two values: {other:?} and {column:?}"));
        }
    }
    // What the writer has of the reader's columns, whether the row has it or not.
    for (place, former) in &aliases {
        is_written.extend(reader.place_of(place, former));
    }
    let is_in_map = |place: &(String, Vec<u8>)| {
        writer
            .leaves()
            .iter()
            .any(|leaf| matches!(leaf, At::Map { family, kind } if *family == place.0 && is_set(kind)))
    };
    for (place, column) in before {
        let is_sum =
            column.newest_first.iter().any(|(_, is)| matches!(is, Meaning::Sum(_) | Meaning::Max(_)));
        if !is_sum && !is_written.contains(place) && !is_in_map(place) && !expected.contains_key(place) {
            expected.insert(place.clone(), column.clone());
        }
    }
    for (place, expected) in &expected {
        let is_sum =
            expected.newest_first.iter().any(|(_, is)| matches!(is, Meaning::Sum(_) | Meaning::Max(_)));
        match read.get(place) {
            // Additions of both are added up.
            Some(_) if is_sum && !before.is_empty() => {}
            Some(read) if expected.is_read_as(read) => {}
            None if expected.newest_first.first().is_some_and(is_default) => {}
            read => return Err(format!("{place:?} is {expected:?}, and is read as {read:?}")),
        }
        // Versions that the writer does not have are the reader's own.
        if let (Some(before), Some(read)) = (before.get(place), read.get(place))
            && before.is_history
            && !expected.is_history
            && !before.newest_first.iter().all(|version| read.newest_first.contains(version))
        {
            return Err(format!("{place:?} had {before:?}, and has {read:?}"));
        }
    }
    let unexpected = read.iter().find(|(place, column)| {
        let is_sum =
            column.newest_first.iter().any(|(_, is)| matches!(is, Meaning::Sum(_) | Meaning::Max(_)));
        let is_absent = column.newest_first.first().is_some_and(is_default);
        !(expected.contains_key(*place) || is_absent || is_sum && before.contains_key(*place))
    });
    match unexpected {
        Some((place, column)) => Err(format!("{place:?} is not written, and is read as {column:?}")),
        None => Ok(()),
    }
}

fn is_set(kind: &str) -> bool {
    !kind.starts_with("sum") && !kind.starts_with("max")
}

impl Column {
    /// Whether another type has read the same: the newest value, and all versions if both read them.
    fn is_read_as(&self, read: &Self) -> bool {
        let values = |column: &Self| -> Vec<Meaning> {
            let count = if self.is_history && read.is_history { column.newest_first.len() } else { 1 };
            column.newest_first.iter().take(count).map(|(_, meaning)| meaning.clone()).collect()
        };
        values(self) == values(read)
    }
}

/// What two programs met, and on which row.
#[derive(Clone, Debug, Default)]
struct Met {
    /// The first of the newer program's faults on a row that the older one wrote.
    older_rows: Option<String>,
    /// The first fault of either while both run.
    beside: Option<String>,
}

/// Why a pair is called incompatible where no row of this test shows it.
fn explained(text: &str) -> Option<&'static str> {
    let all = [
        ("windows of", "a sum of a day can be read, but not as a sum of an hour"),
        ("`ttl`", "cells at the server's time have not expired yet"),
    ];
    all.into_iter().find(|(part, _)| text.contains(part)).map(|(_, why)| why)
}

struct Pairs {
    client: Client,
    programs: Vec<Box<dyn Program>>,
    rows: u64,
    /// One of so many pairs is compared.
    share: usize,
}

impl Pairs {
    async fn new() -> Self {
        let client = Client::embedded();
        let all = |name| Family::new(name, GcRule::never());
        let sums = Family::aggregate("sums", Aggregate::Sum, GcRule::never());
        let maxes = Family::aggregate("maxes", Aggregate::Max, GcRule::never());
        let families = [all("cf"), all("place"), all("h"), sums, maxes];
        client.raw_table("events").create(families, [""; 0]).await.unwrap();
        let rows = amount("KEYDERIVE_ROW_PAIRS", "rows that each of a pair of row types writes", 8, 16);
        let share = one_in(24, "pairs of row types that read each other's rows");
        Self { client, programs: programs(), rows, share }
    }

    fn compares(&self, one: usize, other: usize) -> bool {
        (one.min(other) * self.programs.len() + one.max(other)).is_multiple_of(self.share)
    }

    /// Rows differ most in structs and maps.
    fn rows_of(&self, program: &dyn Program) -> u64 {
        let At::Columns(fields) = program.at() else { panic!("{} is not a struct", program.name()) };
        let has_family = fields.iter().any(|field| !matches!(field, At::Column { .. }));
        if has_family { self.rows * 5 } else { self.rows }
    }

    /// What a program reads of rows that another wrote: new ones, and such as it reads under former names.
    async fn fresh(&self, of: usize, faults: &mut [Option<String>]) {
        let writer = &*self.programs[of];
        for number in 0..self.rows_of(writer) {
            let key = key(&format!("{}/{number}", writer.name()));
            let written = writer.write(&self.client, &key, number).await.unwrap();
            for (by, (reader, fault)) in self.programs.iter().zip(&mut *faults).enumerate() {
                if fault.is_none() && self.compares(of, by) {
                    let read = reader.read(&self.client, &key).await;
                    let compared = read.and_then(|read| {
                        compare(writer.at(), &written, reader.at(), &Expected::new(), &read)
                    });
                    *fault = compared.err().map(|error| format!("row {number} {written:?}: {error}"));
                }
            }
        }
    }

    /// Moves a row's values to the former names of their columns, as a program wrote them that is older than both.
    async fn former(&self, writer: &dyn Program, faults: &mut [Option<String>]) {
        let aliases: Vec<_> =
            writer.at().aliases().into_iter().filter(|(_, aliases)| !aliases.is_empty()).collect();
        let raw = self.client.raw_table("events");
        for number in 0..self.rows * u64::from(!aliases.is_empty()) {
            let key = key(&format!("{}/former/{number}", writer.name()));
            let written = writer.write(&self.client, &key, number).await.unwrap();
            let stored = key.encode().unwrap();
            let row = raw.read_row(stored.clone(), None).await.unwrap().unwrap();
            for (own, former) in &aliases {
                let cell = row.cells().find(|cell| cell.family() == own.0 && cell.qualifier() == own.1);
                if let Some(cell) = cell {
                    let (family, name) = former[0].clone();
                    let moved = Mutation::set(family, name, 1000, cell.value().to_vec());
                    let deleted = Mutation::delete_column(own.0.clone(), own.1.clone());
                    raw.mutate_row(stored.clone(), [moved, deleted]).await.unwrap();
                }
            }
            assert_eq!(writer.read(&self.client, &key).await.unwrap(), written);
            for (reader, fault) in self.programs.iter().zip(&mut *faults) {
                if fault.is_none() {
                    let read = reader.read(&self.client, &key).await;
                    let compared = read.and_then(|read| {
                        compare(writer.at(), &written, reader.at(), &Expected::new(), &read)
                    });
                    *fault = compared
                        .err()
                        .map(|error| format!("row {number} under former names {written:?}: {error}"));
                }
            }
        }
    }

    /// What a program reads of rows without what the writer has a default for, as its updates and older programs leave them.
    async fn lacking(&self, writer: &dyn Program, faults: &mut [Option<String>]) {
        let defaults = |leaf: &At| match leaf {
            At::Column { family, name, kind, has_default: true, .. } if is_set(kind) => {
                Some(Mutation::delete_column(family.clone(), name.clone()))
            }
            _ => None,
        };
        let deletions: Vec<_> = writer.at().leaves().into_iter().filter_map(defaults).collect();
        if deletions.is_empty() {
            return;
        }
        let key = key(&format!("{}/lacking", writer.name()));
        writer.write(&self.client, &key, 1).await.unwrap();
        let marker = Mutation::set("cf", "", 1000, "");
        let changes = deletions.into_iter().chain([marker]);
        self.client.raw_table("events").mutate_row(key.encode().unwrap(), changes).await.unwrap();
        writer.read(&self.client, &key).await.unwrap();
        for (reader, fault) in self.programs.iter().zip(faults) {
            *fault = reader.read(&self.client, &key).await.err();
        }
    }

    /// What a program reads of a row that it wrote, and then another.
    async fn beside(&self, reader: &dyn Program, writer: &dyn Program) -> Option<String> {
        for number in 0..self.rows_of(reader).min(self.rows_of(writer)) / 3 {
            let key = key(&format!("{}/{}/{number}", reader.name(), writer.name()));
            let before = reader.write(&self.client, &key, number * 7 + 1).await.unwrap();
            let written = match writer.write(&self.client, &key, number * 5 + 2).await {
                Ok(written) => written,
                Err(error) => return Some(format!("{before:?}, then {error}")),
            };
            let read = reader.read(&self.client, &key).await;
            let compared = read.and_then(|read| compare(writer.at(), &written, reader.at(), &before, &read));
            if let Err(error) = compared {
                return Some(format!("{before:?}, then {written:?}: {error}"));
            }
        }
        None
    }
}

#[tokio::test]
async fn what_is_called_compatible_is() {
    let pairs = Pairs::new().await;
    let count = pairs.programs.len();
    let mut fresh = vec![vec![None; count]; count];
    let mut former = vec![vec![None; count]; count];
    let mut lacking = vec![vec![None; count]; count];
    for (writer, program) in pairs.programs.iter().enumerate() {
        pairs.fresh(writer, &mut fresh[writer]).await;
        pairs.former(&**program, &mut former[writer]).await;
        pairs.lacking(&**program, &mut lacking[writer]).await;
    }
    let mut wrong = Vec::new();
    let (mut compatible, mut shown) = (0, 0);
    for (old, older) in pairs.programs.iter().enumerate() {
        for (new, newer) in pairs.programs.iter().enumerate().filter(|(new, _)| pairs.compares(old, *new)) {
            let changes = newer.changes_from(&older.json());
            let older_rows = fresh[old][new].clone().or_else(|| former[old][new].clone());
            let mut met = Met { older_rows, beside: fresh[new][old].clone() };
            // A newer program that cannot read a row of the older one fails on it, whatever it writes.
            if old != new && met.beside.is_none() && met.older_rows.is_none() {
                met.beside = match pairs.beside(&**older, &**newer).await {
                    None => pairs.beside(&**newer, &**older).await,
                    fault => fault,
                };
            }
            let pair = format!("{} to {}", older.name(), newer.name());
            let texts = changes.to_string();
            let explains = |is_one: fn(&LayoutChange) -> bool| {
                changes.iter().any(|change| is_one(change) && explained(&change.to_string()).is_some())
            };
            let is_shown = met.older_rows.is_some() || lacking[old][new].is_some();
            match (changes.reads_older_rows(), &met.older_rows) {
                (true, Some(fault)) => wrong.push(format!("{pair} reads older rows, but {fault}\n{texts}")),
                (false, _) if !is_shown && !explains(|change| !change.reads_older_rows()) => {
                    wrong.push(format!("{pair} does not read older rows, and no row shows it:\n{texts}"));
                }
                _ => {}
            }
            let is_shown = is_shown || met.beside.is_some() || lacking[new][old].is_some();
            match (changes.breaks_older_programs(), &met.beside) {
                (false, Some(fault)) => {
                    wrong.push(format!("{pair} does not break older programs, but {fault}\n{texts}"));
                }
                (true, _) if !is_shown && !explains(LayoutChange::breaks_older_programs) => {
                    wrong.push(format!("{pair} breaks older programs, and no row shows it:\n{texts}"));
                }
                _ => {}
            }
            compatible += usize::from(changes.are_compatible());
            shown += usize::from(!changes.are_compatible());
        }
    }
    assert!(wrong.is_empty(), "{} of {} pairs:\n{}", wrong.len(), count * count, wrong.join("\n"));
    // Both kinds are there.
    let some = count * 4 / pairs.share;
    assert!(compatible > some && shown > some, "{compatible} compatible, {shown} not");
}

/// A reader without the types reads and refuses what each program does, and writes what each program reads.
#[tokio::test]
async fn each_type_is_read_and_written_by_data() {
    let pairs = Pairs::new().await;
    let (client, raw) = (&pairs.client, pairs.client.raw_table("events"));
    let (mut reads, mut refused, mut writes) = (0, 0, 0);
    let schemas: Vec<_> =
        pairs.programs.iter().map(|program| RowSchema::from_json(&program.json()).unwrap()).collect();
    for (of, writer) in pairs.programs.iter().enumerate() {
        assert_eq!(schemas[of].to_json(), writer.json());
        for number in 0..pairs.rows {
            let [one, other] = ["one", "other"].map(|row| key(&format!("{}/{number}/{row}", writer.name())));
            let written = writer.write(client, &one, number).await.unwrap();
            let stored = raw.read_row(one.encode().unwrap(), None).await.unwrap().unwrap();
            for (by, reader) in pairs.programs.iter().enumerate() {
                // By data, cells that a `ttl` hides are read: the table leaves them out.
                if !pairs.compares(of, by) || reader.json().contains("\"ttl_secs\": 3600") && by != of {
                    continue;
                }
                let by_data = DynRow::read(schemas[by], "cf", &stored);
                match (by_data, reader.read(client, &one).await) {
                    (Ok(_), Ok(_)) => reads += 1,
                    // By data, all JSON is a value: the type of the field is not known.
                    (_, Err(by_type)) if by_type.contains("which is not its field as JSON") => {}
                    (Err(by_data), Err(by_type)) => {
                        refused += 1;
                        assert!(by_type.ends_with(&by_data.to_string()), "{by_type}\n{by_data}");
                    }
                    (by_data, by_type) => {
                        panic!("{} by {}: {by_data:?} {by_type:?}", writer.name(), reader.name())
                    }
                }
            }
            // Over another row of the type.
            writer.write(client, &other, number + 1000).await.unwrap();
            let row = DynRow::read(schemas[of], "cf", &stored).unwrap();
            raw.mutate_row(other.encode().unwrap(), row.mutations().unwrap()).await.unwrap();
            let without_sums = |mut read: Expected| {
                let is_sum = |column: &Column| {
                    column.newest_first.iter().any(|(_, is)| matches!(is, Meaning::Sum(_) | Meaning::Max(_)))
                };
                read.retain(|_, column| !is_sum(column));
                read
            };
            let read = writer.read(client, &other).await.unwrap();
            assert_eq!(without_sums(read), without_sums(written), "{row}");
            writes += 1;
        }
    }
    println!("{reads} rows read, {refused} refused, {writes} written");
    assert!(reads > 1000 && refused > 1000 && writes > 500);
}
