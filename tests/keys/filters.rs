//! Conditions on fields: the plan and the check together keep the keys that meet all of them.

use std::ops::Bound;

use fastrand::Rng;
use keyderive::dynamic::{DynKey, KeyFilter, KeyLayout, KeyTest, Value};
use keyderive::{KeyField, RowKey};

use crate::keys::Name;

#[derive(Clone, Copy, Debug, KeyField)]
#[repr(u8)]
enum Status {
    Open = 1,
    Closed = 2,
    Archived = 3,
}

#[derive(RowKey)]
#[salt(range = 4, over = "name")]
struct WideKey {
    name: String,
    status: Status,
    #[row_key(desc)]
    small: i16,
    flag: bool,
    raw: Vec<u8>,
}

#[derive(RowKey)]
#[row_key(allow(point_reads))]
struct HashedKey {
    seq: u32,
    #[row_key(hash(md5))]
    user: String,
    last: u32,
}

fn text(text: &str) -> Value {
    Value::from(text)
}

fn one_of<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> KeyTest {
    KeyTest::AnyOf(values.into_iter().map(Into::into).collect())
}

fn filter<K: RowKey>(conditions: &[(&str, KeyTest)]) -> KeyFilter {
    KeyLayout::of::<K>().filter(conditions.iter().cloned()).unwrap()
}

fn is_empty<K: RowKey>(conditions: &[(&str, KeyTest)]) -> bool {
    let filter = filter::<K>(conditions);
    assert_eq!(filter.contradiction().is_some(), filter.plan().is_empty());
    filter.plan().is_empty()
}

fn refused<K: RowKey>(conditions: &[(&str, KeyTest)]) -> String {
    KeyLayout::of::<K>().filter(conditions.iter().cloned()).unwrap_err().to_string()
}

/// The place of a value in the order of its field.
fn place(value: &Value) -> Value {
    match value {
        Value::Text(name) if name == "Open" => 1.into(),
        Value::Text(name) if name == "Closed" => 2.into(),
        Value::Text(name) if name == "Archived" => 3.into(),
        other => other.clone(),
    }
}

fn meets(test: &KeyTest, value: &Value) -> bool {
    let place_of = |bound: &Bound<Value>| bound.as_ref().map(place);
    match test {
        KeyTest::Range(lower, upper) => KeyTest::Range(place_of(lower), place_of(upper)).holds(&place(value)),
        test => test.holds(value),
    }
}

#[test]
fn random_conditions() {
    let layout = KeyLayout::of::<WideKey>();
    let values: [(&str, Vec<Value>); 5] = [
        ("name", ["", "a", "ab", "abc", "b"].map(text).to_vec()),
        ("status", ["Open", "Closed", "Archived"].map(text).to_vec()),
        ("small", [i16::MIN, -1, 0, 12].map(Value::from).to_vec()),
        ("flag", [false, true].map(Value::from).to_vec()),
        ("raw", [&b""[..], b"\0", b"\0a", b"\xff"].map(|bytes| Value::Bytes(bytes.to_vec())).to_vec()),
    ];
    let mut rows = vec![Vec::new()];
    for (name, values) in &values {
        let with = |row: &Vec<(&'static str, Value)>| {
            values.iter().map(|value| [&row[..], &[(*name, value.clone())]].concat()).collect::<Vec<_>>()
        };
        rows = rows.iter().flat_map(with).collect();
    }
    let keys: Vec<Vec<u8>> = rows.iter().map(|row| layout.encode(row.iter().cloned()).unwrap()).collect();
    let decoded: Vec<DynKey> = keys.iter().map(|key| layout.decode(key).unwrap()).collect();
    let mut random = Rng::with_seed(5);
    let (mut kept, mut empty, mut undecided) = (0, 0, 0);
    for _ in 0..3_000 {
        let conditions: Vec<_> = (0..random.usize(..6))
            .map(|_| {
                let at = random.usize(..values.len()).min(random.usize(..values.len()));
                let (name, values) = &values[at];
                let mut value = || random.choice(values).unwrap().clone();
                let (one, other) = (value(), value());
                let test = match random.u8(..9) {
                    0..3 => one_of([one]),
                    3 => one_of([one, other]),
                    4 => KeyTest::Range(Bound::Included(one), Bound::Unbounded),
                    5 => KeyTest::Range(Bound::Unbounded, Bound::Excluded(one)),
                    6 => KeyTest::Range(Bound::Excluded(one), Bound::Included(other)),
                    _ => match one {
                        Value::Text(_) | Value::Bytes(_) => KeyTest::Prefix(one),
                        one => one_of([one]),
                    },
                };
                (*name, test)
            })
            .collect();
        let filter = filter::<WideKey>(&conditions);
        let requests = filter.plan().requests();
        for ((row, key), decoded) in rows.iter().zip(&keys).zip(&decoded) {
            let value = |name: &str| &row.iter().find(|(of, _)| *of == name).unwrap().1;
            let all = conditions.iter().all(|(name, test)| meets(test, value(name)));
            let is_kept = requests.iter().any(|request| request.asks_for(key)) && filter.holds(decoded);
            assert_eq!(is_kept, all, "{decoded}: {conditions:?}");
            kept += usize::from(is_kept);
        }
        if let Some(none) = filter.contradiction() {
            let together = |row: &Vec<(&str, Value)>| {
                none.iter().all(|at| {
                    let (name, test) = &conditions[*at];
                    meets(test, &row.iter().find(|(of, _)| of == name).unwrap().1)
                })
            };
            assert!(!rows.iter().any(together), "{none:?} of {conditions:?}");
            empty += 1;
        }
        undecided += filter.decided().iter().filter(|decided| !**decided).count();
    }
    assert!(kept > 1_000 && empty > 500 && undecided > 1_000, "{kept}, {empty}, {undecided}");
}

#[test]
fn a_prefix_of_another() {
    let prefix = |prefix: &str| ("name", KeyTest::Prefix(text(prefix)));
    let several = filter::<WideKey>(&[prefix("us"), prefix("user0"), prefix("")]);
    assert_eq!((several.contradiction(), several.decided()), (None, &[true; 3][..]));
    assert!(
        is_empty::<WideKey>(&[prefix("us"), prefix("v")])
            && is_empty::<WideKey>(&[prefix("v"), prefix("us")])
    );
}

#[test]
fn conditions_that_no_row_meets() {
    let name = |names: &[&str]| ("name", one_of(names.iter().copied()));
    assert!(is_empty::<WideKey>(&[name(&["a"]), name(&["v"])]));
    assert!(
        is_empty::<WideKey>(&[("raw", one_of::<Value>([]))]) && is_empty::<WideKey>(&[name(&["no#key"])])
    );
    let below = ("name", KeyTest::Range(Bound::Unbounded, Bound::Excluded(text("a"))));
    let above = ("name", KeyTest::Range(Bound::Included(text("b")), Bound::Unbounded));
    assert!(is_empty::<WideKey>(&[below.clone(), above]) && !is_empty::<WideKey>(&[below]));
    // A key is not empty, and no longer than 4 KiB.
    assert!(is_empty::<Name>(&[name(&[""])]));
    let some = filter::<Name>(&[name(&["", "a"])]);
    assert_eq!((some.contradiction(), some.decided()), (None, &[false][..]));
    assert!(some.plan().requests().iter().any(|request| request.asks_for(b"a")));
}

#[test]
fn too_many_values_are_checked() {
    let many = |count: usize| ("name", one_of((0..count).map(|at| format!("u{at}"))));
    let flags = ("status", one_of(["Open", "Closed"]));
    assert_eq!(filter::<WideKey>(&[many(100_000)]).choices(), [100_000]);
    assert_eq!(filter::<WideKey>(&[many(100_001)]).choices(), [0; 0]);
    assert_eq!(filter::<WideKey>(&[many(50_001), flags]).decided(), [true, false]);
}

#[test]
fn a_hash_is_given_with_all_fields() {
    let seven = |name| (name, one_of([7_u32]));
    let user = || ("user", one_of(["alice"]));
    let whole = filter::<HashedKey>(&[seven("last"), user(), seven("seq")]);
    assert_eq!((whole.decided(), whole.choices()), (&[true; 3][..], &[1, 1, 1][..]));
    let (last, user_alone) =
        (filter::<HashedKey>(&[seven("seq"), seven("last")]), refused::<HashedKey>(&[seven("seq"), user()]));
    assert_eq!((last.decided(), last.choices()), (&[true, false][..], &[1][..]));
    assert!(
        user_alone.contains("has a condition only if it and all other fields are fixed to values"),
        "{user_alone}"
    );
}

#[test]
fn a_value_of_another_type_is_an_error() {
    let above = |value: Value| KeyTest::Range(Bound::Excluded(value), Bound::Unbounded);
    for (name, test, expected) in [
        ("names", one_of(["a"]), "there is no field `names`"),
        ("small", one_of(["7"]), "`small` is compared with \"7\", which is text and not of its type"),
        ("name", above(7.into()), "`name` is compared with 7, which is an integer and not of its type"),
        ("small", KeyTest::Prefix(7.into()), "the field `small` has no prefixes"),
        ("status", above(text("Opened")), "`status` has no variant \"Opened\" to be compared with"),
    ] {
        let error = refused::<WideKey>(&[(name, test)]);
        assert!(error.contains(expected), "{error}");
    }
}

/// A plan reads the time before one between two that the field can hold.
#[test]
fn a_time_between_two_that_the_field_holds_is_of_no_row() {
    #[derive(RowKey)]
    #[row_key(allow(hotspot))]
    struct TimeKey {
        at: std::time::SystemTime,
    }

    assert!(is_empty::<TimeKey>(&[("at", one_of([Value::Time(1_500)]))]));
    assert!(!is_empty::<TimeKey>(&[("at", one_of([Value::Time(1_000)]))]));
    assert!(!is_empty::<TimeKey>(&[(
        "at",
        KeyTest::Range(Bound::Excluded(Value::Time(1_500)), Bound::Unbounded)
    )]));
}
