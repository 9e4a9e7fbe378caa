//! Conditions on what columns hold: compared with Rust's own comparisons, of many parts, and above the limits of filters.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyderive::dynamic::Value;
use keyderive::row::bounds::{CellValue, ColumnRef, ColumnType, OrderedCell, Selection, Settable};
use keyderive::row::{Column, Condition, Mutation, Timestamped};
use keyderive::{Cell, Client, Error, Row, Table};
use keyderive_tests::fixtures::{UserKey, created, fails};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::servers::on_every_bigtable;

on_every_bigtable! {
    a_bound_between_two_stored_times_is_exact
    bounds_that_no_cell_holds_are_clamped
    conditions_of_many_parts_hold
    a_column_named_by_text_is_compared_by_its_type
    what_makes_a_condition_too_large_is_named
    a_version_under_a_former_name_is_compared
    an_order_that_stored_bytes_do_not_have_is_refused
}

#[derive(Cell, Clone, Debug, PartialEq, PartialOrd)]
struct Limit(u64);

#[derive(Row, Clone, Debug, Default)]
struct Task {
    #[row(ts(unit = "secs"))]
    due: Option<SystemTime>,
    #[row(ts(unit = "millis"))]
    begun: Option<chrono::DateTime<chrono::Utc>>,
    #[row(ts(unit = "micros"))]
    ended: Option<time::OffsetDateTime>,
    #[row(ts(unit = "nanos"))]
    checked: Option<jiff::Timestamp>,
    #[row(ts(unit = "secs"))]
    seen: Option<time::UtcDateTime>,
    size: Option<u64>,
    limit: Option<Limit>,
    boxed: Option<Box<u64>>,
    rank: Option<NonZeroU64>,
    level: Option<i8>,
    delta: Option<i64>,
    ratio: Option<f32>,
    weight: Option<f64>,
    name: Option<String>,
    data: Option<Vec<u8>>,
    letter: Option<char>,
    day: Option<chrono::NaiveDate>,
    jiff_day: Option<jiff::civil::Date>,
    time_day: Option<time::Date>,
    at: Option<chrono::DateTime<chrono::Utc>>,
}

type Tasks = Table<UserKey, Task>;

async fn tasks(client: &Client) -> Tasks {
    created(client, "tasks").await
}

fn after(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

async fn matching(tasks: &Tasks, condition: Condition<Task>) -> Result<Vec<u64>, Error> {
    let found = tasks.scan(UserKey::scan()).matching(condition).keys_only().collect().await?;
    Ok(found.iter().map(|key| key.id).collect())
}

async fn a_bound_between_two_stored_times_is_exact(client: Client) {
    let tasks = tasks(&client).await;
    for id in 1..=3 {
        tasks.put(&UserKey { id }, &Task { due: Some(after(id * 1000)), ..Task::default() }).await.unwrap();
    }
    let half = after(2500);
    for (condition, expected) in [
        (Task::DUE.less_than(half), &[1, 2][..]),
        (Task::DUE.at_most(half), &[1, 2]),
        (Task::DUE.at_least(half), &[3]),
        (Task::DUE.greater_than(half), &[3]),
        (Task::DUE.between(after(1500), half), &[2]),
        (Task::DUE.between(after(2100), half), &[]),
        (Task::DUE.equals(half), &[]),
        (Task::DUE.equals(half).not(), &[1, 2, 3]),
        (Task::DUE.one_of([half, after(3000)]), &[3]),
        (Task::DUE.less_than(after(2000)), &[1]),
        (Task::DUE.at_most(after(2000)), &[1, 2]),
        (Task::DUE.at_least(after(2000)), &[2, 3]),
    ] {
        let text = format!("{condition:?}");
        assert_eq!(matching(&tasks, condition).await.unwrap(), expected, "{text}");
    }
    assert!(!tasks.delete_if(&UserKey { id: 2 }, Task::DUE.at_least(half)).await.unwrap());
    assert!(tasks.delete_if(&UserKey { id: 2 }, Task::DUE.less_than(half)).await.unwrap());
}

async fn bounds_that_no_cell_holds_are_clamped(client: Client) {
    let tasks = tasks(&client).await;
    let greatest = i64::MAX.cast_unsigned();
    let task = Task {
        size: Some(greatest),
        limit: Some(Limit(greatest)),
        rank: NonZeroU64::new(greatest),
        checked: Some(jiff::Timestamp::UNIX_EPOCH),
        day: chrono::NaiveDate::from_ymd_opt(9999, 12, 31),
        jiff_day: Some(jiff::civil::date(0, 1, 1)),
        ..Task::default()
    };
    tasks.put(&UserKey { id: 1 }, &task).await.unwrap();
    let above = NonZeroU64::MAX;
    let late = chrono::NaiveDate::from_ymd_opt(10_000, 1, 1).unwrap();
    let early = jiff::civil::date(-1, 12, 31);
    for (condition, holds) in [
        (Task::SIZE.less_than(u64::MAX), true),
        (Task::SIZE.at_least(greatest + 1), false),
        (Task::SIZE.greater_than(greatest + 1), false),
        (Task::SIZE.equals(greatest + 1), false),
        (Task::SIZE.equals(greatest + 1).not(), true),
        (Task::LIMIT.at_most(Limit(u64::MAX)), true),
        (Task::LIMIT.at_least(Limit(u64::MAX)), false),
        (Task::RANK.less_than(above), true),
        (Task::RANK.one_of([above]), false),
        (Task::CHECKED.less_than(jiff::Timestamp::MAX), true),
        (Task::CHECKED.greater_than(jiff::Timestamp::MIN), true),
        (Task::CHECKED.between(jiff::Timestamp::MIN, jiff::Timestamp::MAX), true),
        (Task::CHECKED.at_most(jiff::Timestamp::MIN), false),
        (Task::DAY.less_than(late), true),
        (Task::DAY.at_least(late), false),
        (Task::DAY.equals(late), false),
        (Task::JIFF_DAY.greater_than(early), true),
        (Task::JIFF_DAY.at_most(early), false),
    ] {
        let text = format!("{condition:?}");
        assert_eq!(matching(&tasks, condition).await.unwrap().len(), usize::from(holds), "{text}");
    }
    // A stored NaN is in no range, and both zeros are one.
    let task = Task { weight: Some(f64::NAN), ratio: Some(-0.0), ..Task::default() };
    tasks.put(&UserKey { id: 1 }, &task).await.unwrap();
    for (condition, holds) in [
        (Task::WEIGHT.at_least(f64::NEG_INFINITY), false),
        (Task::WEIGHT.at_most(f64::INFINITY), false),
        (Task::WEIGHT.equals(0.0).not(), true),
        (Task::WEIGHT.exists(), true),
        (Task::RATIO.equals(0.0), true),
        (Task::RATIO.less_than(0.0), false),
        (Task::RATIO.at_least(0.0), true),
    ] {
        let text = format!("{condition:?}");
        assert_eq!(matching(&tasks, condition).await.unwrap().len(), usize::from(holds), "{text}");
    }
    // NaN is no bound.
    for condition in [Task::WEIGHT.less_than(f64::NAN), Task::RATIO.between(0.0, f32::NAN)] {
        fails(matching(&tasks, condition).await, "is compared with NaN");
    }
}

/// Sets a column to each value that it can hold, and compares every condition with Rust's comparison of the values as they are
/// read.
async fn check<T, V>(column: Column<Task, T>, values: &[V], bounds: &[V])
where
    T: ColumnType<Output = Option<V>> + Settable + Debug + Send + Sync + 'static,
    T::Cell: OrderedCell,
    V: CellValue<T::Cell> + PartialOrd + Clone + Debug + Send + Sync + 'static,
    Column<Task, T>: Copy + ColumnRef<Task, Type = T> + Selection<Task, Output = Option<V>>,
{
    let tasks = tasks(&Client::embedded()).await;
    for (id, value) in (0..).zip(values) {
        let key = UserKey { id };
        // What it cannot hold is only a bound.
        if tasks.update(&key).set(column, value.clone()).await.is_err() {
            tasks.update(&key).set(Task::NAME, "").await.unwrap();
        }
    }
    let stored = tasks.scan(UserKey::scan()).select(column).collect().await.unwrap();
    let among = |holds: &dyn Fn(&V) -> bool| -> Vec<u64> {
        let of_stored = stored.iter().filter(|(_, value)| value.as_ref().is_some_and(holds));
        of_stored.map(|(key, _)| key.id).collect()
    };
    let compare = async |condition: Condition<Task>, holds: &dyn Fn(&V) -> bool| {
        let text = format!("{condition:?} of {stored:?}");
        let (found, expected) = (matching(&tasks, condition).await.unwrap(), among(holds));
        assert_eq!(found, expected, "{text}");
    };
    let all: BTreeSet<u64> = stored.iter().map(|(key, _)| key.id).collect();
    for one in bounds {
        compare(column.equals(one.clone()), &|value| value == one).await;
        compare(column.less_than(one.clone()), &|value| value < one).await;
        compare(column.at_most(one.clone()), &|value| value <= one).await;
        compare(column.at_least(one.clone()), &|value| value >= one).await;
        compare(column.greater_than(one.clone()), &|value| value > one).await;
        let unequal = matching(&tasks, column.equals(one.clone()).not()).await.unwrap();
        let equal = among(&|value| value == one).into_iter().collect();
        assert_eq!(unequal.into_iter().collect::<BTreeSet<_>>(), &all - &equal, "not {one:?} of {stored:?}");
        for other in bounds {
            compare(column.one_of([one.clone(), other.clone()]), &|value| value == one || value == other)
                .await;
            compare(column.between(one.clone(), other.clone()), &|value| value >= one && value <= other)
                .await;
            let outside = column.less_than(one.clone()).or(column.greater_than(other.clone()));
            compare(outside, &|value| value < one || value > other).await;
            let inside = column.greater_than(one.clone()).and(column.less_than(other.clone()));
            compare(inside, &|value| value > one && value < other).await;
        }
    }
}

/// Seconds and nanoseconds that often fall together with, or next to, one another in every unit.
fn instants() -> impl Strategy<Value = (i64, u32)> {
    let seconds = prop_oneof![
        4 => -2_i64..3,
        1 => select(vec![-62_135_596_800, -62_135_596_799, 9_223_372_036, 9_223_372_037, -9_223_372_037, 253_402_207_200]),
        1 => -60_000_000_000_i64..250_000_000_000,
    ];
    let nanos = prop_oneof![
        4 => select(vec![0, 1, 999, 1000, 999_999, 1_000_000, 499_999_999, 500_000_000, 999_999_999]),
        1 => 0..1_000_000_000_u32,
    ];
    (seconds, nanos)
}

fn system_time((seconds, nanos): (i64, u32)) -> SystemTime {
    let since = Duration::from_secs(seconds.unsigned_abs());
    let seconds = if seconds < 0 { UNIX_EPOCH - since } else { UNIX_EPOCH + since };
    seconds + Duration::from_nanos(nanos.into())
}

fn offset_time((seconds, nanos): (i64, u32)) -> time::OffsetDateTime {
    time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
        .unwrap()
}

fn numbers() -> impl Strategy<Value = u64> {
    let greatest = i64::MAX.cast_unsigned();
    prop_oneof![
        0..4_u64,
        select(vec![greatest - 1, greatest, greatest + 1, u64::MAX - 1, u64::MAX]),
        any::<u64>()
    ]
}

fn floats() -> impl Strategy<Value = f64> {
    let some =
        [0.0, -0.0, 0.5, -0.5, 1.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, 1e-310];
    prop_oneof![select(some.to_vec()), any::<f64>().prop_filter("NaN is no bound", |value| !value.is_nan())]
}

fn years() -> impl Strategy<Value = (i16, i8, i8)> {
    let years = select(vec![-1_i16, 0, 1, 1969, 1970, 2026, 9998, 9999]);
    (years, 1..13_i8, 1..29_i8)
}

/// Values to store, and values to compare with.
fn both<V: Debug>(values: impl Strategy<Value = V> + Clone) -> impl Strategy<Value = (Vec<V>, Vec<V>)> {
    (vec(values.clone(), 0..7), vec(values, 1..4))
}

fn run(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
}

macro_rules! property {
    ($($test:ident: $column:ident, $values:expr, $make:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(24))]
            $(
                #[test]
                fn $test((values, bounds) in both($values.prop_map($make).boxed())) {
                    run(check(Task::$column, &values, &bounds));
                }
            )*
        }
    };
}

property! {
    seconds_are_compared_as_rust_does: DUE, instants(), system_time;
    milliseconds_are_compared_as_rust_does: BEGUN, instants(), |(seconds, nanos)| {
        chrono::DateTime::from_timestamp(seconds, nanos).unwrap()
    };
    microseconds_are_compared_as_rust_does: ENDED, instants(), offset_time;
    nanoseconds_are_compared_as_rust_does: CHECKED, instants(), |(seconds, nanos)| {
        jiff::Timestamp::new(seconds, 0).unwrap() + Duration::from_nanos(nanos.into())
    };
    utc_times_are_compared_as_rust_does: SEEN, instants(), |instant| offset_time(instant).to_utc();
    integers_are_compared_as_rust_does: DELTA, prop_oneof![-3..3_i64, any::<i64>()], |value| value;
    small_integers_are_compared_as_rust_does: LEVEL, any::<i8>(), |value| value;
    unsigned_integers_are_compared_as_rust_does: SIZE, numbers(), |value| value;
    newtypes_are_compared_as_rust_does: LIMIT, numbers(), Limit;
    pointers_are_compared_as_rust_does: BOXED, numbers(), Box::new;
    non_zero_integers_are_compared_as_rust_does: RANK, numbers(), |value| {
        NonZeroU64::new(value).unwrap_or(NonZeroU64::MIN)
    };
    doubles_are_compared_as_rust_does: WEIGHT, floats(), |value| value;
    floats_are_compared_as_rust_does: RATIO, floats(), |value| value as f32;
    texts_are_compared_as_rust_does: NAME, "[a-c\u{0}ß]{0,3}", |value| value;
    bytes_are_compared_as_rust_does: DATA, vec(select(vec![0, 1, 254, 255_u8]), 0..4), |value| value;
    characters_are_compared_as_rust_does: LETTER, prop_oneof![select(vec!['\0', 'a', 'ß', '\u{10ffff}']), any::<char>()],
        |value| value;
    dates_of_chrono_are_compared_as_rust_does: DAY, years(), |(year, month, day)| {
        chrono::NaiveDate::from_ymd_opt(i32::from(year) + i32::from(year == 9998) * 2, month as u32, day as u32).unwrap()
    };
    dates_of_jiff_are_compared_as_rust_does: JIFF_DAY, years(), |(year, month, day)| jiff::civil::date(year, month, day);
    dates_of_time_are_compared_as_rust_does: TIME_DAY, years(), |(year, month, day)| {
        time::Date::from_calendar_date(year.into(), time::Month::try_from(month as u8).unwrap(), day as u8).unwrap()
    };
}

/// A condition of so many parts, and whether it holds for the rows with an even and an odd size.
fn conditions(parts: u64) -> Vec<(&'static str, Condition<Task>, [bool; 2])> {
    let join = |first: u64, make: &dyn Fn(u64) -> Condition<Task>, and: bool| {
        let mut all = make(first);
        for part in first + 1..first + parts {
            all = if and { all.and(make(part)) } else { all.or(make(part)) };
        }
        all
    };
    let other = |part: u64| Task::SIZE.equals(1000 + part);
    let own = |part: u64| Task::SIZE.equals(part % 2);
    vec![
        ("none is so", join(0, &|part| other(part).not(), true), [true, true]),
        (
            "one is so",
            join(0, &|part| if part + 1 == parts { Task::SIZE.equals(1) } else { other(part) }, false),
            [false, true],
        ),
        ("all are so", join(0, &|_| Task::SIZE.equals(1), true), [false, true]),
        ("both", join(0, &own, true), [false, false]),
        ("either", join(0, &own, false), [true, true]),
        ("not all", join(0, &|_| Task::SIZE.equals(1), true).not(), [true, false]),
        ("none", join(0, &other, false).not(), [true, true]),
        ("absent", join(0, &|_| Task::NAME.absent(), true), [true, true]),
        ("not absent", join(0, &|_| Task::NAME.absent(), false).not(), [false, false]),
    ]
}

async fn conditions_of_many_parts_hold(client: Client) {
    let tasks = tasks(&client).await;
    for size in 0..2 {
        tasks.put(&UserKey { id: size }, &Task { size: Some(size), ..Task::default() }).await.unwrap();
    }
    for parts in [2, 15, 16, 17, 64, 200] {
        for (name, condition, expected) in conditions(parts) {
            let expected: Vec<u64> = (0..2).filter(|id| expected[usize::try_from(*id).unwrap()]).collect();
            let found = matching(&tasks, condition).await;
            assert_eq!(
                found.unwrap_or_else(|error| panic!("{name}, {parts}: {error}")),
                expected,
                "{name}, {parts}"
            );
        }
        for (name, condition, [even, _]) in conditions(parts) {
            let met = tasks.update(&UserKey { id: 0 }).set(Task::SIZE, 0).only_if(condition).await;
            assert_eq!(
                met.unwrap_or_else(|error| panic!("{name}, {parts}: {error}")),
                even,
                "{name}, {parts}"
            );
        }
    }
    // What alternates is nested, and ends at the limit of nesting, however deep it is.
    for parts in [16, 17, 40, 100_000] {
        let alternating = (1..parts).fold(Task::SIZE.equals(0), |all, part| {
            let equal = Task::SIZE.equals(part);
            if part % 2 == 0 { all.and(equal) } else { all.or(equal) }
        });
        let found = matching(&tasks, alternating).await;
        if parts == 16 {
            assert_eq!(found.unwrap(), [0_u64; 0]);
            continue;
        }
        let error = found.unwrap_err().to_string();
        assert!(
            error.contains("nested more than 20 deep") && error.contains("one `or` of `and`s"),
            "{error}"
        );
    }
    // As the error says: of one `or` of `and`s.
    let mut terms = vec![vec![0_u64]];
    for part in 1..17 {
        match part % 2 {
            0 => terms.iter_mut().for_each(|term| term.push(part)),
            _ => terms.push(vec![part]),
        }
    }
    let all_of =
        |term: Vec<u64>| term.into_iter().map(|part| Task::SIZE.at_most(part)).reduce(Condition::and);
    let multiplied = terms.into_iter().filter_map(all_of).reduce(Condition::or).unwrap();
    assert_eq!(matching(&tasks, multiplied).await.unwrap(), [0, 1]);
}

async fn a_column_named_by_text_is_compared_by_its_type(client: Client) {
    let tasks = tasks(&client).await;
    let at = chrono::DateTime::from_timestamp(1, 500_000_000).unwrap();
    let task = Task {
        due: Some(after(2000)),
        level: Some(7),
        rank: NonZeroU64::new(3),
        at: Some(at),
        ..Task::default()
    };
    tasks.put(&UserKey { id: 1 }, &task).await.unwrap();
    let column = |name: &str| Task::column(name).unwrap();
    for (condition, holds) in [
        (column("cf:level").less_than(1000), true),
        (column("cf:level").equals(1000), false),
        (column("cf:rank").greater_than(0), true),
        (column("cf:due").at_most(i64::MAX), true),
        (column("cf:due").equals(Value::Integer(2)), true),
    ] {
        let text = format!("{condition:?}");
        assert_eq!(matching(&tasks, condition).await.unwrap().len(), usize::from(holds), "{text}");
    }
    for (condition, expected) in [
        // `1970-01-01T00:00:01.500Z` is less than `1970-01-01T00:00:01Z`, as text.
        (column("cf:at").less_than("1970-01-01T00:00:01Z"), "a time has several texts"),
        (column("cf:at").equals("1970-01-01T00:00:01.500Z"), "a time has several texts"),
        (column("cf:level").starts_with("7"), "is a number, and `starts_with` compares text and bytes only"),
    ] {
        fails(matching(&tasks, condition).await, expected);
    }
}

async fn what_makes_a_condition_too_large_is_named(client: Client) {
    let tasks = tasks(&client).await;
    let long = |letters: usize| "a".repeat(letters);
    assert!(matching(&tasks, Task::NAME.equals(long(10_000))).await.unwrap().is_empty());
    let names = (0..3000).map(|name| format!("name {name}"));
    let parts = (1..400).fold(Task::SIZE.equals(0), |all, part| all.and(Task::SIZE.equals(part).not()));
    for (condition, expected) in [
        (Task::NAME.equals(long(11_000)), "a compared value has 11000 bytes, and equality sends it twice"),
        (Task::NAME.at_least(long(21_000)), "a compared value has 21000 bytes"),
        (Task::NAME.one_of(names), "values are compared; compare fewer of them in one call"),
        (parts, "the condition or filter has"),
    ] {
        let error = matching(&tasks, condition).await.unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("the service takes 20480"), "{error}");
        assert!(!error.contains("name fewer columns"), "{error}");
    }
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Renamed {
    #[row(alias = "old")]
    new: Option<Timestamped<i64>>,
}

/// As reads and other conditions find it.
async fn a_version_under_a_former_name_is_compared(client: Client) {
    let table = created::<UserKey, Renamed>(&client, "renamed").await;
    let key = UserKey { id: 7 };
    let raw = client.raw_table("renamed");
    let old = |at: i64, value: i64| Mutation::set("cf", "old", at, value.to_be_bytes().to_vec());
    raw.mutate_row(key.encode().unwrap(), [old(5000, 7)]).await.unwrap();
    assert_eq!(table.get(&key).await.unwrap().unwrap().new, Some(Timestamped::new(5000, 7)));
    let next = |value| Renamed { new: Some(Timestamped::new(5000, value)) };
    assert!(!table.put_if(&key, &next(8), Renamed::NEW.version(4000)).await.unwrap());
    assert!(table.put_if(&key, &next(8), Renamed::NEW.version(5000)).await.unwrap());
    // The version that was compared is there no more, under either name.
    assert!(!table.put_if(&key, &next(9), Renamed::NEW.version(5000)).await.unwrap());
    raw.mutate_row(key.encode().unwrap(), [old(5000, 7)]).await.unwrap();
    assert!(!table.put_if(&key, &next(9), Renamed::NEW.version(5000)).await.unwrap());
    assert_eq!(table.get(&key).await.unwrap().unwrap().new.unwrap().value, 8);
}

#[derive(Cell, Clone, Debug, PartialEq)]
enum Level {
    Low,
    Mid,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Unordered {
    address: Option<IpAddr>,
    level: Option<Level>,
    is_on: Option<bool>,
}

/// For a column that is named by text. The compiler refuses it for the others.
async fn an_order_that_stored_bytes_do_not_have_is_refused(client: Client) {
    let table = created::<UserKey, Unordered>(&client, "unordered").await;
    let key = UserKey { id: 7 };
    let row =
        Unordered { address: Some(IpAddr::from([9, 0, 0, 1])), level: Some(Level::Low), is_on: Some(false) };
    table.put(&key, &row).await.unwrap();
    let column = |name| Unordered::column(name).unwrap();
    let count = |condition| table.scan(UserKey::scan()).matching(condition).count();
    for (equal, less) in [
        (column("address").equals("9.0.0.1"), column("address").less_than("10.0.0.1")),
        (column("level").equals("Low"), column("level").less_than("Mid")),
        (column("is_on").equals(false), column("is_on").less_than(true)),
    ] {
        assert_eq!(count(equal).await.unwrap(), 1);
        fails(count(less).await, "whose order is not that of its values");
    }
    assert!(!table.put_if(&key, &row, Unordered::LEVEL.equals(Level::Mid)).await.unwrap());
}
