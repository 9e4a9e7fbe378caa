//! What is read and written by data is what the typed code reads and writes: bytes, values, changes and refusals.
//!
//! 10,000 values of each type with `KEYDERIVE_LONG_TESTS=1`, and else 1,000.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::*;
use crate::key::codec::{Micros, Millis, Nanos, Secs, Ts, UnixTime};
use crate::row::{
    Cell, CellWriter, Encoding, Json, Max, Min, Mutation, MutationKind, MutationList, OwnedRow, Proto,
    RawRow, RowBuilder, RowCells, RowSchema, RowWriter, SERVER_TIME, Sum, Timestamped, Versions,
};

type Rng = fastrand::Rng;

fn amount() -> u64 {
    keyderive_tests::amount("KEYDERIVE_TWINS", "values of each type, typed and by data", 250, 10_000)
}

/// A type of values, and how it is stored by its own code.
struct Twin<T> {
    stored: CellType,
    make: fn(&mut Rng) -> T,
    value: fn(&T) -> Value,
    encode: fn(&T, &mut CellWriter<'_>) -> Result<(), CellError>,
    bound: fn(&T, &mut CellWriter<'_>) -> Result<std::cmp::Ordering, CellError>,
    decode: fn(&[u8]) -> Result<T, CellError>,
}

fn written<O>(
    write: impl FnOnce(&mut CellWriter<'_>) -> Result<O, CellError>,
) -> Result<(O, Vec<u8>), String> {
    let mut bytes = Vec::new();
    match write(&mut CellWriter::new(&mut bytes)) {
        Ok(out) => Ok((out, bytes)),
        Err(error) => Err(format!("{} {error}", error.is_malformed())),
    }
}

fn read_cell(stored: CellType, bytes: &[u8]) -> Result<Value, CellError> {
    stored.read(bytes).map(ValueRef::to_value)
}

/// With the bits of NaN, and zeros with their signs.
fn exactly(read: Result<Value, CellError>) -> Result<String, String> {
    match read {
        Ok(Value::F32(value)) => Ok(format!("f32 {:x}", value.to_bits())),
        Ok(Value::F64(value)) => Ok(format!("f64 {:x}", value.to_bits())),
        Ok(value) => Ok(format!("{} {value:?}", value.noun())),
        Err(error) => Err(format!("{} {error}", error.is_malformed())),
    }
}

/// Bytes that may be no value: changed ones, and others.
fn other_bytes(stored: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut bytes = stored.to_vec();
    match random.u8(..8) {
        0 => bytes.truncate(random.usize(..=bytes.len())),
        1 => bytes.push(random.u8(..)),
        2 | 3 => {
            if let Some(at) = (!bytes.is_empty()).then(|| random.usize(..bytes.len())) {
                bytes[at] ^= 1 << random.u8(..8);
            }
        }
        4 => bytes = (0..random.usize(..40)).map(|_| random.u8(..)).collect(),
        5 => bytes = random.i64(-300..300).to_be_bytes().to_vec(),
        6 => bytes = "{\"a\": [1, \"u\"]}"[..random.usize(..=14)].into(),
        _ => bytes = (0..random.usize(..12)).map(|_| random.u8(b' '..=b'~')).collect(),
    }
    bytes
}

impl<T: Debug> Twin<T> {
    fn check(&self) {
        let mut random = Rng::with_seed(7);
        let (mut refused, mut found) = (0, 0);
        for _ in 0..amount() {
            let typed = (self.make)(&mut random);
            let value = (self.value)(&typed);
            let stored = written(|out| (self.encode)(&typed, out));
            assert_eq!(written(|out| self.stored.write(&value, out)), stored, "{typed:?}");
            assert_eq!(
                written(|out| self.stored.write_bound(&value, out)),
                written(|out| (self.bound)(&typed, out)),
                "{typed:?}"
            );
            let Ok((_, bytes)) = stored else { continue };
            let back = read_cell(self.stored, &bytes);
            let typed_back = (self.decode)(&bytes).map(|typed| (self.value)(&typed));
            let again = back.as_ref().map(Value::to_string).unwrap();
            assert_eq!(exactly(back), exactly(typed_back), "{typed:?}");
            // Its text is parsed as itself, but for the payload of NaN and times that are not of four digits.
            let is_far =
                matches!(self.stored, CellType::UnixTime(_)) && again.as_bytes().get(4) != Some(&b'-');
            if !again.contains("NaN") && !is_far {
                assert_eq!(
                    exactly(self.stored.parse(&again)),
                    exactly(read_cell(self.stored, &bytes)),
                    "{again} of {typed:?}"
                );
            }
            let other = other_bytes(&bytes, &mut random);
            let [by_data, by_type] =
                [read_cell(self.stored, &other), (self.decode)(&other).map(|typed| (self.value)(&typed))]
                    .map(exactly);
            refused += u64::from(by_data.is_err());
            found += u64::from(by_data.is_ok());
            assert_eq!(by_data, by_type, "{other:?}");
        }
        println!("{:?}: {refused} refused, {found} read", self.stored);
    }
}

fn cell<C: Cell<Owned = C> + for<'r> Cell<Decoded<'r> = C> + Debug>(
    make: fn(&mut Rng) -> C,
    value: fn(&C) -> Value,
) {
    let twin = Twin {
        stored: C::TYPE,
        make,
        value,
        encode: |value, out| value.encode(out),
        bound: |value, out| Cell::encode_bound(value, out),
        decode: |bytes| C::decode(bytes),
    };
    twin.check();
}

fn encoded<E: Encoding<T>, T: Debug>(make: fn(&mut Rng) -> T, value: fn(&T) -> Value) {
    let twin = Twin {
        stored: E::TYPE,
        make,
        value,
        encode: |value, out| E::encode(value, out),
        bound: |value, out| E::encode_bound(value, out),
        decode: |bytes| E::decode(bytes),
    };
    twin.check();
}

#[derive(crate::Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Login,
    #[row(name = "lo")]
    Logout,
    Ünicode,
}

#[derive(crate::Cell, Clone, Copy, Debug, PartialEq)]
#[row(code)]
enum Level {
    Low = 0,
    High = 20,
}

#[derive(crate::Cell, Clone, Copy, Debug, PartialEq)]
struct Seen;

fn word(random: &mut Rng) -> String {
    let length = random.usize(..40);
    (0..length).map(|_| if random.bool() { random.char('a'..='f') } else { random.char(..) }).collect()
}

fn bytes(random: &mut Rng) -> Vec<u8> {
    (0..random.usize(..40)).map(|_| random.u8(..)).collect()
}

fn kind(random: &mut Rng) -> Kind {
    [Kind::Login, Kind::Logout, Kind::Ünicode][random.usize(..3)]
}

fn level(random: &mut Rng) -> Level {
    if random.bool() { Level::Low } else { Level::High }
}

/// Of all magnitudes.
fn wide(random: &mut Rng) -> i128 {
    random.i128(..) >> random.u8(50..127)
}

#[test]
fn numbers() {
    macro_rules! integers {
        ($($type:ident $non_zero:ident)*) => {$(
            cell::<$type>(|random| if random.bool() { random.$type(..) } else { random.$type(..) >> random.u8(..8) }, |value| (*value).into());
            cell::<$non_zero>(|random| $non_zero::new(random.$type(1..)).unwrap(), |value| value.get().into());
        )*};
    }
    integers! {
        i8 NonZeroI8 i16 NonZeroI16 i32 NonZeroI32 i64 NonZeroI64 u8 NonZeroU8 u16 NonZeroU16 u32 NonZeroU32 u64 NonZeroU64
    }
    cell::<bool>(Rng::bool, |value| (*value).into());
    cell::<f32>(|random| f32::from_bits(random.u32(..)), |value| (*value).into());
    cell::<f64>(|random| f64::from_bits(random.u64(..)), |value| (*value).into());
    cell(level, |value| (*value as i64).into());
}

#[test]
fn text_and_bytes() {
    cell::<String>(word, |value| value.as_str().into());
    cell::<char>(|random| random.char(..), |value| (*value).into());
    cell::<Vec<u8>>(bytes, |value| value.clone().into());
    cell::<[u8; 4]>(|random| random.u32(..).to_be_bytes(), |value| value.as_slice().into());
    cell::<()>(|_| (), |()| Value::Bytes(Vec::new()));
    cell::<Seen>(|_| Seen, |_| Value::Bytes(Vec::new()));
    cell(kind, |value| str::from_utf8(&value.to_stored().unwrap()).unwrap().into());
    cell::<IpAddr>(
        |random| {
            if random.bool() {
                random.u32(..).to_be_bytes().into()
            } else {
                wide(random).to_be_bytes().into()
            }
        },
        |value| value.to_string().into(),
    );
    cell::<Ipv4Addr>(|random| random.u32(..).into(), |value| value.to_string().into());
    cell::<Ipv6Addr>(|random| wide(random).to_be_bytes().into(), |value| value.to_string().into());
    cell::<uuid::Uuid>(|random| uuid::Uuid::from_u128(random.u128(..)), |value| Value::Uuid(value.as_u128()));
}

#[test]
fn dates() {
    cell::<::chrono::NaiveDate>(
        |random| {
            let year = if random.u8(..) < 20 { random.i32(-20..20) } else { random.i32(-100..10_100) };
            ::chrono::NaiveDate::from_yo_opt(year, random.u32(1..366)).unwrap()
        },
        |date| Value::Date(date.signed_duration_since(::chrono::NaiveDate::default()).num_days()),
    );
    cell::<::jiff::civil::Date>(
        |random| ::jiff::civil::date(random.i16(-100..=9999), random.i8(1..13), random.i8(1..29)),
        |date| Value::Date(date.duration_since(::jiff::civil::date(1970, 1, 1)).as_secs() / 86_400),
    );
    cell::<::time::Date>(
        |random| ::time::Date::from_ordinal_date(random.i32(-100..=9999), random.u16(1..366)).unwrap(),
        |date| Value::Date(i64::from(date.to_julian_day()) - 2_440_588),
    );
    let far = exactly(CellType::Date.parse("10000-01-01"));
    assert!(far.unwrap_err().contains("holds a date, which `10000-01-01` is not"));
    for days in [i64::MIN, i64::MAX] {
        let error = written(|out| CellType::Date.write(&Value::Date(days), out)).unwrap_err();
        assert!(error.contains("a date column holds the years 0000 to 9999"), "{error}");
    }
}

/// With fractions that have as many digits in all crates.
fn nanos(random: &mut Rng) -> i128 {
    let seconds = i128::from(random.i64(-62_135_596_800..253_402_300_800));
    let fraction = match random.u8(..4) {
        0 => 0,
        1 => random.i128(1..10) * 1_000_000 + random.i128(0..99) * 10_000_000,
        2 => random.i128(1..10) * 1_000 + random.i128(0..99_999) * 10_000,
        _ => random.i128(1..10) + random.i128(0..99_999_999) * 10,
    };
    seconds * 1_000_000_000 + fraction
}

fn time_of<T: UnixTime>(nanos: i128) -> T {
    T::of_unix_nanos(nanos).unwrap()
}

fn value_of<T: UnixTime>(time: &T) -> Value {
    Value::Time(time.unix_nanos())
}

#[test]
fn times_as_numbers() {
    macro_rules! units {
        ($($unit:ident)*) => {$(
            encoded::<Ts<$unit>, SystemTime>(
                |random| match random.u8(..3) {
                    0 => UNIX_EPOCH + Duration::from_secs(random.u64(..1 << 62)),
                    1 => UNIX_EPOCH - Duration::from_nanos(random.u64(..)),
                    _ => time_of(nanos(random)),
                },
                value_of,
            );
        )*};
    }
    units! { Secs Millis Micros Nanos }
    let stored =
        |value: Value| written(|out| CellType::UnixTime(crate::key::TimeUnit::Millis).write(&value, out));
    let millis = stored(Value::Time(1_500_000_000)).unwrap();
    assert_eq!(stored(1500.into()), Ok(millis.clone()));
    assert_eq!(stored("1970-01-01T00:00:01.5Z".into()), Ok(millis.clone()));
    assert_eq!(stored("1970-01-01T02:00:01.5+02:00".into()), Ok(millis));
    let error = stored(i64::MAX.into()).unwrap_err();
    assert!(
        error.contains(
            "milliseconds from 1970, which `9223372036854775807` is not; write a time of the years"
        ),
        "{error}"
    );
}

#[test]
fn times_as_text() {
    type Crates = (::chrono::DateTime<::chrono::Utc>, ::jiff::Timestamp, ::time::OffsetDateTime);
    let mut random = Rng::with_seed(1);
    let (mut refused, mut found, mut differ) = (0, 0, 0);
    for round in 0..amount() {
        let at = if round % 2 == 0 { nanos(&mut random) } else { random.i128(0..4_000_000_000_000_000_000) };
        let typed: Crates = (time_of(at), time_of(at), time_of(at));
        let stored = [typed.0.to_stored(), typed.1.to_stored(), typed.2.to_stored()].map(Result::unwrap);
        let by_data = written(|out| CellType::Time.write(&Value::Time(at), out)).unwrap().1;
        assert_eq!([&stored[1], &stored[2]], [&by_data; 2]);
        if round % 2 == 0 {
            assert_eq!(stored[0], by_data);
        }
        for bytes in stored.iter().chain([&by_data]) {
            assert_eq!(exactly(read_cell(CellType::Time, bytes)), exactly(Ok(Value::Time(at))));
            // What is stored is also written as text.
            let text = Value::from(str::from_utf8(bytes).unwrap());
            assert_eq!(written(|out| CellType::Time.write(&text, out)), Ok(((), bytes.clone())));
        }
        assert_eq!(Crates::default_of(&by_data), [Ok(at), Ok(at), Ok(at)]);
        let other = other_bytes(&stored[random.usize(..3)], &mut random);
        let by_types = Crates::default_of(&other);
        let by_data = read_cell(CellType::Time, &other).map(|value| match value {
            Value::Time(nanos) => nanos,
            other => panic!("{other}"),
        });
        let by_data = by_data.map_err(|error| error.to_string());
        let is_leap_second = other.get(17..19) == Some(b"60");
        match &by_types {
            _ if is_leap_second => {}
            [one, other, third] if one == other && other == third => {
                refused += usize::from(one.is_err());
                found += usize::from(one.is_ok());
                assert_eq!(by_data, *one, "{:?}", str::from_utf8(&stored[0]));
            }
            types => {
                differ += 1;
                // What a crate reads, if it is read, is the same time; the words of refusals are the same.
                assert!(types.contains(&by_data), "{by_data:?} {types:?}");
            }
        }
    }
    println!("{refused} refused, {found} read, {differ} read by some crates alone");
    for nanos in [i128::MIN, i128::MAX, -62_167_219_200_000_000_001, 253_402_300_800_000_000_000] {
        let error = written(|out| CellType::Time.write(&Value::Time(nanos), out)).unwrap_err();
        let time: ::chrono::DateTime<::chrono::Utc> = time_of(253_402_300_800_000_000_000);
        assert_eq!(error, format!("false {}", time.to_stored().unwrap_err()));
    }
    let first = -62_167_219_200_000_000_000;
    assert_eq!(
        written(|out| CellType::Time.write(&Value::Time(first), out)),
        Ok(((), b"0000-01-01T00:00:00Z".to_vec()))
    );
}

trait OfBytes {
    fn default_of(bytes: &[u8]) -> [Result<i128, String>; 3];
}

impl<A: UnixTime, B: UnixTime, C: UnixTime> OfBytes for (A, B, C)
where
    A: for<'r> Cell<Decoded<'r> = A>,
    B: for<'r> Cell<Decoded<'r> = B>,
    C: for<'r> Cell<Decoded<'r> = C>,
{
    fn default_of(bytes: &[u8]) -> [Result<i128, String>; 3] {
        let text = |error: CellError| error.to_string();
        [
            A::decode(bytes).map(|time| time.unix_nanos()).map_err(text),
            B::decode(bytes).map(|time| time.unix_nanos()).map_err(text),
            C::decode(bytes).map(|time| time.unix_nanos()).map_err(text),
        ]
    }
}

fn json(random: &mut Rng, depth: u8) -> serde_json::Value {
    match random.u8(..if depth == 0 { 5 } else { 7 }) {
        0 => serde_json::Value::Null,
        1 => random.bool().into(),
        2 => random.i64(..).into(),
        3 => (random.f64() * 1e10).into(),
        4 => word(random).into(),
        5 => (0..random.usize(..3)).map(|_| json(random, depth - 1)).collect(),
        _ => {
            let entries = (0..random.usize(..3)).map(|_| (word(random), json(random, depth - 1)));
            serde_json::Value::Object(entries.collect::<Vec<_>>().into_iter().collect())
        }
    }
}

#[test]
fn json_and_messages() {
    // By data, JSON is the stored text, which is compact.
    let mut random = Rng::with_seed(3);
    for _ in 0..amount() {
        let value = json(&mut random, 3);
        let ((), stored) = written(|out| Json::encode(&value, out)).unwrap();
        let read = read_cell(CellType::Json, &stored).unwrap();
        assert_eq!(read, Value::from(&*value.to_string()));
        assert_eq!(written(|out| CellType::Json.write(&read, out)), Ok(((), stored.clone())));
        let other = other_bytes(&stored, &mut random);
        let typed = <Json as Encoding<serde_json::Value>>::decode(&other);
        match (read_cell(CellType::Json, &other), typed) {
            (Ok(read), Ok(typed)) => {
                assert_eq!(serde_json::from_str::<serde_json::Value>(&read.to_string()).unwrap(), typed);
            }
            (Err(read), Err(typed)) => assert_eq!(read.to_string(), typed.to_string()),
            (read, typed) => panic!("{read:?} {typed:?}"),
        }
    }
    // A message is its stored bytes, whether they are one or not.
    for _ in 0..amount() {
        let message = bytes(&mut random);
        let ((), stored) = written(|out| <Proto as Encoding<Vec<u8>>>::encode(&message, out)).unwrap();
        let read = read_cell(CellType::Proto, &stored).unwrap();
        assert_eq!(read, Value::from(&*stored));
        assert_eq!(written(|out| CellType::Proto.write(&read, out)), Ok(((), stored)));
    }
}

#[test]
fn a_value_of_another_kind_is_refused_with_its_name() {
    let every = [
        CellType::Integer { min: -5, max: 5 },
        CellType::NonZero { min: -5, max: 5 },
        CellType::Bool,
        <Level as Cell>::TYPE,
        CellType::F32,
        CellType::F64,
        CellType::Text,
        CellType::Char,
        <Kind as Cell>::TYPE,
        CellType::Bytes,
        CellType::Array(2),
        CellType::Unit,
        CellType::Uuid,
        CellType::IpAddress,
        CellType::Ipv4Address,
        CellType::Ipv6Address,
        CellType::Time,
        CellType::Date,
        CellType::Json,
        CellType::Proto,
        CellType::UnixTime(crate::key::TimeUnit::Secs),
        CellType::Custom("module"),
    ];
    let values: [Value; 12] = [
        6.into(),
        0.into(),
        u128::MAX.into(),
        true.into(),
        0.5_f32.into(),
        0.5_f64.into(),
        "no such thing".into(),
        vec![1].into(),
        Value::Time(0),
        Value::Date(0),
        Value::Uuid(7),
        "20".into(),
    ];
    let mut refused = 0;
    for stored in every {
        for value in &values {
            match written(|out| stored.write(value, out)) {
                // What is written is read.
                Ok(((), bytes)) => assert!(stored.read(&bytes).is_ok(), "{value:?} in {stored:?}"),
                Err(error) => {
                    refused += 1;
                    let named = format!("holds {stored}, which ");
                    let is_limit = error.contains("an integer column ends at");
                    assert!(error.contains(&named) || is_limit, "{error}");
                    // A long one is cut.
                    let shown: String = value.to_string().chars().take(20).collect();
                    let says = [value.noun(), &shown, "1 bytes"].iter().any(|text| error.contains(text));
                    assert!(says, "{error}");
                }
            }
        }
    }
    assert_eq!(refused, 236);
    assert_eq!(
        written(|out| <Level as Cell>::TYPE.write(&"High".into(), out)).unwrap().1,
        20_i64.to_be_bytes()
    );
    assert_eq!(<Level as Cell>::TYPE.parse("High").unwrap(), 20.into());
    assert_eq!(<Level as Cell>::TYPE.parse("20").unwrap(), 20.into());
    for text in ["1e999", "-1e999", "x", "", "+"] {
        assert!(CellType::F64.parse(text).is_err() && CellType::F32.parse(text).is_err(), "{text}");
    }
    assert!(
        CellType::F64.parse("-inf").is_ok()
            && CellType::Bytes.parse("0").is_err()
            && CellType::Bytes.parse("0g").is_err()
    );
}

/// A row type of which the tests make rows.
trait Made: OwnedRow {
    /// Some columns are absent in some rows.
    fn made(random: &mut Rng) -> Self;
    /// Columns that read as a default, with it.
    const DEFAULTS: &'static [(&'static str, i64)] = &[];
    /// Columns of aggregates: family, name, and a time at which there is one.
    const AGGREGATES: &'static [(&'static str, &'static str, i64)] = &[];
    /// Former places of columns.
    const FORMER: &'static [(&'static str, &'static str)] = &[];
}

fn maybe<T>(random: &mut Rng, make: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    random.bool().then(|| make(random))
}

#[derive(crate::Row)]
#[row(family = "d", gc(max_versions = 3))]
struct Everything {
    #[row(name = "k", alias = "kind", alias = "h:kind")]
    kind: Level,
    #[row(default = "seven")]
    count: u8,
    #[row(counter)]
    views: i64,
    note: Option<String>,
    #[row(alias = "first")]
    initial: Option<char>,
    level: Option<Timestamped<f64>>,
    at: Timestamped<f32>,
    #[row(json)]
    tags: Vec<String>,
    #[row(ts(unit = "millis"))]
    seen: Option<SystemTime>,
    time: Option<::jiff::Timestamp>,
    date: Option<::jiff::civil::Date>,
    id: Option<uuid::Uuid>,
    address: Option<IpAddr>,
    few: Option<NonZeroU8>,
    unit: Option<Seen>,
    four: Option<[u8; 4]>,
    #[row(family)]
    place: Option<Place>,
    #[row(family)]
    spare: Option<Spare>,
    #[row(family)]
    home: Place,
    #[row(family, ttl = "30d")]
    daily: BTreeMap<String, i16>,
    #[row(family)]
    by_id: Option<BTreeMap<uuid::Uuid, Versions<u32>>>,
    #[row(family, exclusive)]
    raw: BTreeMap<Vec<u8>, Timestamped<bool>>,
    #[row(family = "h", gc(all(max_age = "30d", max_versions = 2)))]
    state: Versions<Kind>,
    #[row(family = "sums")]
    hits: Sum,
    #[row(family = "sums", window = "1h")]
    hourly: Versions<Sum>,
    #[row(family = "least")]
    least: Min,
    #[row(family, name = "most")]
    most: BTreeMap<String, Max>,
}

fn seven() -> u8 {
    7
}

#[derive(crate::Row)]
struct Spare {
    a: Option<String>,
}

#[derive(crate::Row)]
struct Place {
    city: String,
    #[row(alias = "level")]
    floor: Option<i32>,
    #[row(family = "cf")]
    former: Versions<String>,
}

fn versions<T>(random: &mut Rng, make: impl Fn(&mut Rng) -> T) -> Versions<T> {
    (0..random.i64(0..4)).map(|at| Timestamped::new(at * 1000, make(random))).collect()
}

fn place(random: &mut Rng) -> Place {
    let floor = maybe(random, |random| random.i32(..));
    Place { city: word(random), floor, former: versions(random, word) }
}

impl Made for Everything {
    const DEFAULTS: &'static [(&'static str, i64)] = &[("d:count", 7)];
    const AGGREGATES: &'static [(&'static str, &'static str, i64)] = &[
        ("sums", "hits", 0),
        ("sums", "hourly", 3_600_000_000),
        ("sums", "hourly", 1),
        ("least", "least", 0),
        ("least", "least", 5),
        ("most", "a", 0),
        ("most", "b", 0),
    ];
    const FORMER: &'static [(&'static str, &'static str)] =
        &[("d", "kind"), ("h", "kind"), ("d", "first"), ("place", "level"), ("home", "level")];

    fn made(random: &mut Rng) -> Self {
        Self {
            kind: level(random),
            count: random.u8(..),
            views: random.i64(..),
            note: maybe(random, word),
            initial: maybe(random, |random| random.char(..)),
            level: maybe(random, |random| Timestamped::new(random.i64(0..1 << 50), random.f64())),
            at: Timestamped::new(random.i64(0..1 << 50), random.f32()),
            tags: (0..random.usize(..3)).map(|_| word(random)).collect(),
            seen: maybe(random, |random| UNIX_EPOCH + Duration::from_millis(random.u64(..1 << 40))),
            time: maybe(random, |random| time_of(nanos(random))),
            date: maybe(random, |random| ::jiff::civil::date(random.i16(0..=9999), random.i8(1..13), 28)),
            id: maybe(random, |random| uuid::Uuid::from_u128(random.u128(..))),
            address: maybe(random, |random| IpAddr::from(random.u32(..).to_be_bytes())),
            few: maybe(random, |random| NonZeroU8::new(random.u8(1..)).unwrap()),
            unit: maybe(random, |_| Seen),
            four: maybe(random, |random| random.u32(..).to_be_bytes()),
            place: maybe(random, place),
            spare: maybe(random, |random| Spare { a: maybe(random, word) }),
            home: place(random),
            daily: (0..random.usize(..3)).map(|at| (format!("{at}"), random.i16(..))).collect(),
            by_id: maybe(random, |random| {
                let id = |random: &mut Rng| uuid::Uuid::from_u128(random.u128(..));
                (0..random.usize(..3))
                    .map(|_| (id(random), versions(random, |random| random.u32(..))))
                    .collect()
            }),
            raw: (0..random.usize(..3))
                .map(|at| (vec![at as u8, 0xff], Timestamped::new(random.i64(0..1 << 40), random.bool())))
                .collect(),
            state: versions(random, kind),
            hits: Sum::default(),
            hourly: Versions::new(),
            least: Min::default(),
            most: BTreeMap::new(),
        }
    }
}

#[derive(crate::Row)]
#[row(family = "w")]
struct Optional {
    a: Option<i64>,
    b: Option<f64>,
}

impl Made for Optional {
    fn made(random: &mut Rng) -> Self {
        Self { a: maybe(random, |random| random.i64(..)), b: maybe(random, Rng::f64) }
    }
}

#[derive(crate::Row)]
struct Aggregates {
    #[row(family = "sums")]
    hits: Sum,
    #[row(family = "most")]
    most: Max,
}

impl Made for Aggregates {
    const AGGREGATES: &'static [(&'static str, &'static str, i64)] =
        &[("sums", "hits", 0), ("most", "most", 0)];

    fn made(_: &mut Rng) -> Self {
        Self { hits: Sum::default(), most: Max::default() }
    }
}

#[derive(crate::Row)]
struct OneSum {
    #[row(family = "sums")]
    hits: Sum,
}

impl Made for OneSum {
    const AGGREGATES: &'static [(&'static str, &'static str, i64)] = &[("sums", "hits", 0)];

    fn made(_: &mut Rng) -> Self {
        Self { hits: Sum::default() }
    }
}

impl Made for BTreeMap<String, f64> {
    fn made(random: &mut Rng) -> Self {
        (0..random.usize(..3)).map(|at| (format!("{at}"), random.f64())).collect()
    }
}

impl Made for () {
    fn made(_: &mut Rng) -> Self {}
}

/// The row types here, for what is tested of schemas.
pub(crate) fn schemas() -> Vec<&'static RowSchema> {
    use crate::Row;

    vec![
        Everything::SCHEMA,
        Optional::SCHEMA,
        Aggregates::SCHEMA,
        OneSum::SCHEMA,
        Place::SCHEMA,
        <BTreeMap<String, f64>>::SCHEMA,
        <HashMap<uuid::Uuid, ::chrono::DateTime<::chrono::Utc>>>::SCHEMA,
        <()>::SCHEMA,
    ]
}

const FAMILY: &str = "m";

fn typed_changes<R: crate::Row>(row: &R, merges: bool) -> Result<MutationList, String> {
    let mut list = MutationList::default();
    list.write(|sink| row.encode(&mut RowWriter::new(sink, FAMILY, merges)))
        .map_err(|error| error.to_string())?;
    Ok(list)
}

type StoredCells = BTreeMap<(String, Vec<u8>, std::cmp::Reverse<i64>), Vec<u8>>;

fn raw(cells: &StoredCells) -> RawRow {
    let mut row = RowBuilder::new(b"key").unwrap();
    for ((family, qualifier, std::cmp::Reverse(at)), value) in cells {
        row.cell(Some(family.as_bytes()), Some(qualifier), *at).unwrap();
        row.value(value).unwrap();
    }
    row.build()
}

/// Makes the stored row another: cells are missing, moved, changed and added.
fn attack<R: Made>(cells: &mut StoredCells, random: &mut Rng) {
    for _ in 0..random.usize(..4) {
        let at = random.usize(..=cells.len());
        let Some(((family, name, time), value)) =
            cells.iter().nth(at).map(|(key, value)| (key.clone(), value.clone()))
        else {
            // A column that the type does not have makes no family present.
            let family = if random.bool() { "x" } else { "spare" };
            cells.insert((family.into(), bytes(random), std::cmp::Reverse(5)), bytes(random));
            continue;
        };
        let key = (family, name, time);
        match random.u8(..6) {
            0 => _ = cells.remove(&key),
            1 => _ = cells.insert(key, vec![0xff; random.usize(..10)]),
            2 => _ = cells.insert((key.0, key.1, std::cmp::Reverse(random.i64(0..5000))), value),
            3 => _ = cells.insert((key.0, vec![], key.2), vec![]),
            4 => _ = cells.insert((key.0, bytes(random), key.2), value),
            _ => {
                if let Some((family, name)) = random.choice(R::FORMER) {
                    cells.insert(((*family).into(), (*name).into(), key.2), value);
                }
            }
        }
    }
    if random.u8(..8) == 0 && !R::FORMER.is_empty() {
        // The first of the former places counts.
        cells.retain(|(family, name, _), _| family != "d" || name != b"k");
        for (family, level) in [("d", 0_i64), ("h", 20)] {
            let place = (family.to_owned(), b"kind".to_vec(), std::cmp::Reverse(0));
            cells.insert(place, level.to_be_bytes().to_vec());
        }
    }
    for (family, name, at) in R::AGGREGATES {
        // Some are at a time where no window begins.
        if random.u8(..if at % 5 == 0 { 2 } else { 60 }) == 0 && *at != 5 {
            let value = random.i64(..).to_be_bytes().to_vec();
            cells.insert(((*family).into(), name.as_bytes().into(), std::cmp::Reverse(*at)), value);
        }
    }
}

/// Columns by their indices, as text.
fn read_columns(schema: &'static RowSchema, row: &RawRow, columns: &[usize]) -> Vec<String> {
    let mut reader = RowReader::new(schema, FAMILY, columns);
    let mut buffer = RowBuffer::default();
    reader.read(row, &mut buffer).unwrap();
    let read = DynRowRef::new(row.key(), &reader, &buffer);
    let shown = |at: usize| {
        let column = read.column(at);
        let entries = read.entries(at).map(Vec::from_iter);
        format!("{column:?} {:?} {entries:?}", column.map(DynColumnRef::is_default))
    };
    (0..columns.len()).map(shown).collect()
}

/// Some columns, in another order, are what they are among all.
fn some_columns(schema: &'static RowSchema, row: &RawRow, random: &mut Rng) {
    let numbers: Vec<usize> = (0..schema.declared_columns().count()).collect();
    let all = read_columns(schema, row, &numbers);
    let mut some: Vec<usize> = numbers.into_iter().filter(|_| random.bool()).collect();
    random.shuffle(&mut some);
    let expected: Vec<_> = some.iter().map(|at| all[*at].clone()).collect();
    assert_eq!(read_columns(schema, row, &some), expected, "{some:?}");
}

fn rows<R: Made + crate::Row>() {
    let json = R::SCHEMA.to_json();
    let schema = RowSchema::from_json(&json).unwrap();
    assert_eq!(schema, R::SCHEMA);
    // As a table's layouts have it, with the family of a map.
    let layout = RowSchema::from_json(&R::SCHEMA.layout_json(FAMILY)).unwrap();
    // What a reader keeps of the row before changes nothing.
    let mut readers = [schema, layout].map(|schema| DynReader::new(schema, schema, FAMILY));
    let mut random = Rng::with_seed(11);
    let (mut put, mut read, mut refused) = (0, 0, 0);
    for _ in 0..amount() {
        let typed = R::made(&mut random);
        let changes = typed_changes(&typed, false);
        let mut cells = StoredCells::new();
        for Mutation(change) in changes.iter().flat_map(MutationList::as_slice) {
            if let MutationKind::SetCell { family, qualifier, timestamp_micros, value } = change {
                let at = if *timestamp_micros == SERVER_TIME { 1_000_000 } else { *timestamp_micros };
                cells.insert((family.to_string(), qualifier.to_vec(), std::cmp::Reverse(at)), value.to_vec());
            }
        }
        for is_attacked in [false, true] {
            if is_attacked {
                attack::<R>(&mut cells, &mut random);
            }
            let stored = raw(&cells);
            let typed =
                R::decode(RowCells::new(&stored, FAMILY)).map_err(|error| error.of_row(&stored).to_string());
            for (schema, reader) in [schema, layout].into_iter().zip(&mut readers) {
                let by_data = DynRow::read(schema, FAMILY, &stored).map_err(|error| error.to_string());
                for _ in 0..2 {
                    let again = reader.read(&stored).map_err(|error| error.to_string());
                    // As text: NaN is not equal to itself.
                    assert_eq!(format!("{again:?}"), format!("{by_data:?}"));
                }
                let (typed, mut by_data) = match (&typed, by_data) {
                    (Ok(typed), Ok(by_data)) => (typed, by_data),
                    (typed, by_data) => {
                        refused += 1;
                        assert_eq!(by_data.map(drop), typed.as_ref().map(drop).map_err(Clone::clone));
                        continue;
                    }
                };
                read += 1;
                some_columns(schema, &stored, &mut random);
                let shown = format!("{by_data}{by_data:?}");
                let map = serde_json::to_value(&by_data).unwrap();
                assert!(shown.len() >= map.as_object().unwrap().len());
                for (column, default) in R::DEFAULTS {
                    if by_data.column(column).unwrap().value() == &ColumnValue::Default {
                        by_data.set(column, *default).unwrap();
                    }
                }
                for merges in [false, true] {
                    let expected = typed_changes(typed, merges);
                    let changes = by_data.encode(merges).map_err(|error| error.to_string());
                    put += 1;
                    match (changes, expected) {
                        (Ok(changes), Ok(expected)) => {
                            assert_eq!(changes.as_slice(), expected.as_slice(), "{by_data}");
                        }
                        (changes, expected) => assert_eq!(changes.map(drop), expected.map(drop)),
                    }
                }
                // Set one by one, the columns make the same row.
                let mut made = DynRow::new(schema).in_family(FAMILY);
                for family in schema.families().filter(|family| by_data.has_family(family)) {
                    _ = made.set_family(family, true);
                }
                for column in by_data.columns().filter(|column| !column.kind().is_aggregate()) {
                    let Ok(name) = str::from_utf8(column.qualifier()) else { continue };
                    let path = format!("{}:{name}", column.family());
                    if !matches!(column.value(), ColumnValue::Absent) {
                        made.set(&path, column.value().clone()).unwrap();
                    }
                }
                let has_binary = by_data.columns().any(|column| str::from_utf8(column.qualifier()).is_err());
                if !has_binary {
                    let [made, read] = [&made, &by_data].map(|row| {
                        row.encode(false)
                            .map(|list| list.as_slice().to_vec())
                            .map_err(|error| error.to_string())
                    });
                    assert_eq!(made, read, "{by_data}");
                }
            }
        }
    }
    println!("{}: {read} read, {refused} refused, {put} put", R::SCHEMA.name());
    assert!(read > 0);
}

#[test]
fn rows_of_every_kind_of_field() {
    rows::<Everything>();
}

#[test]
fn rows_of_one_family_maps_and_aggregates() {
    rows::<Optional>();
    rows::<Aggregates>();
    rows::<OneSum>();
    rows::<BTreeMap<String, f64>>();
    rows::<()>();
}

#[test]
fn a_row_is_readable() {
    let mut row = DynRow::new(RowSchema::from_json(&<Everything as crate::Row>::SCHEMA.to_json()).unwrap());
    row.set("k", 20).unwrap().set("d:views", 3).unwrap().set("place:city", "Züri\nch").unwrap();
    row.set("daily:0015", 4)
        .unwrap()
        .set("h:state", Versions::from([Timestamped::new(5_000_000, "Login".into())]))
        .unwrap();
    let text = row.to_string();
    for line in [
        "Everything\n",
        "\n  d:k: 20 (`High`)\n",
        "\n  place:city: \"Züri\\nch\"\n",
        "\n  place:floor: absent\n",
        "\n  by_id: absent\n",
        "\n  daily:0015: 4\n",
        "\n  h:state: \"Login\" at 1970-01-01T00:00:05Z\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let json = serde_json::to_string(&row).unwrap();
    assert_eq!(
        json,
        "{\"d:k\":20,\"d:views\":3,\"place:city\":\"Züri\\nch\",\"daily:0015\":4,\
         \"h:state\":[{\"timestamp_micros\":5000000,\"value\":\"Login\"}]}"
    );
    let error = |set: Result<&mut DynRow, crate::row::RowError>| set.map(drop).unwrap_err().to_string();
    assert!(error(row.set("sums:hits", 3)).contains("is an aggregate, which the server keeps"));
    assert!(error(row.set("d:kk", 3)).contains("did you mean `d:k`?"));
    assert!(error(row.set("d:at", 0.5_f32)).contains("has a timestamp of its own"));
    assert!(error(row.set("h:state", "Login")).contains("give all of them, as `Versions`"));
    assert!(error(row.set("d:k", ColumnValue::Absent)).contains("cannot be cleared"));
    assert!(error(row.set_family("home", false)).contains("is not an optional family of `Everything`"));
    let missing = row.mutations().unwrap_err().to_string();
    assert!(
        missing.starts_with("column `d:at` has no value, and a row without it cannot be read; set it"),
        "{missing}"
    );
}

/// Two families with a column of one name.
#[derive(crate::Row)]
#[row(family = "d")]
struct Twins {
    city: Option<String>,
    note: Option<String>,
    #[row(family = "h", name = "note")]
    other: Option<String>,
}

/// A reader compares a row with the one before, whose second cell may be of the same family as its first, or of another.
#[test]
fn a_row_is_not_taken_for_the_one_before() {
    let schema = RowSchema::from_json(&<Twins as crate::Row>::SCHEMA.to_json()).unwrap();
    let row = |family: &str, name: &str| {
        let mut cells = StoredCells::new();
        cells.insert(("d".into(), b"city".into(), std::cmp::Reverse(0)), b"c".into());
        cells.insert((family.into(), name.into(), std::cmp::Reverse(0)), b"n".into());
        raw(&cells)
    };
    let rows = [row("d", "note"), row("h", "note"), row("d", "other"), row("h", "city")];
    for first in &rows {
        for second in &rows {
            let mut reader = DynReader::new(schema, schema, FAMILY);
            let read = [first, second].map(|row| reader.read(row).unwrap());
            assert_eq!(read[1], DynRow::read(schema, FAMILY, second).unwrap(), "after {:?}", read[0]);
        }
    }
}
