//! Law 13: a key type and its layout as data write, read, plan, explain and refuse the same.

use std::cmp::Ordering;

use keyderive::RowKey;
use keyderive::dynamic::{DynKey, DynScan, KeyLayout, Value as Dynamic};
use keyderive::key::DecodeError;
use proptest::prelude::*;

use super::cases::cases;
use super::format_laws::{bound, keys, on_every_case};
use super::{Case, Key, Order, Value};

/// A value of the model as a layout takes it.
fn dynamic(case: &Case, value: &Value) -> Dynamic {
    match value {
        Value::Signed(value) => Dynamic::from(*value),
        Value::Unsigned(value) if case.type_name == "Uuid" => Dynamic::Uuid(*value),
        Value::Unsigned(value) if case.type_name == "Kind" => Dynamic::from(match value {
            1 => "Created",
            2 => "Changed",
            _ => "Deleted",
        }),
        Value::Unsigned(value) => Dynamic::from(*value),
        Value::Bool(value) => Dynamic::from(*value),
        Value::Char(value) => Dynamic::from(*value),
        Value::Text(value) => Dynamic::from(value.as_str()),
        Value::Bytes(value) => Dynamic::from(value.as_slice()),
        Value::Time(nanos) => Dynamic::Time(*nanos),
        Value::Day(days) => Dynamic::Date((*days).into()),
    }
}

fn fields(case: &Case, key: &Key) -> [(&'static str, Dynamic); 3] {
    [
        ("first", Dynamic::from(key.first.as_str())),
        ("value", dynamic(case, &key.value)),
        ("last", Dynamic::from(key.last.as_str())),
    ]
}

/// The fields of a key as `walk` passes them, in their order.
fn walked(case: &Case, bytes: &[u8]) -> Result<Vec<Dynamic>, DecodeError> {
    let mut values = Vec::new();
    case.dynamic.walk(bytes, |at, value| {
        assert_eq!(at, values.len());
        values.push(value.to_value());
    })?;
    Ok(values)
}

/// In the order of the values that a reader by data has.
fn compare(one: &Dynamic, other: &Dynamic) -> Ordering {
    match (one, other) {
        (Dynamic::Integer(one), Dynamic::Integer(other)) => one.cmp(other),
        (Dynamic::Unsigned(one), Dynamic::Unsigned(other)) => one.cmp(other),
        (Dynamic::Integer(_), Dynamic::Unsigned(_)) => Ordering::Less,
        (Dynamic::Unsigned(_), Dynamic::Integer(_)) => Ordering::Greater,
        (Dynamic::Bool(one), Dynamic::Bool(other)) => one.cmp(other),
        (Dynamic::Text(one), Dynamic::Text(other)) => one.cmp(other),
        (Dynamic::Bytes(one), Dynamic::Bytes(other)) => one.cmp(other),
        (Dynamic::Time(one), Dynamic::Time(other)) => one.cmp(other),
        (Dynamic::Date(one), Dynamic::Date(other)) => one.cmp(other),
        (Dynamic::Uuid(one), Dynamic::Uuid(other)) => one.cmp(other),
        (one, other) => panic!("{one:?} {other:?}"),
    }
}

fn is_of(case: &Case, dynamic: &DynKey, key: &Key) -> bool {
    fields(case, key).iter().all(|(name, value)| dynamic.get(name) == Some(value))
}

/// What a type refuses that is narrower than its field: a `&str` borrows from the key, and a crate's times end before the format's.
fn is_of_the_type_alone(refusal: &str) -> bool {
    ["cannot be borrowed", "is out of the range of"].iter().any(|words| refusal.contains(words))
}

#[test]
fn the_same_values_are_written_and_refused() {
    on_every_case(keys, |case, key| {
        let typed = match case.encode(&key) {
            None => return Ok(()),
            Some(typed) => typed.map_err(|error| error.to_string()),
        };
        let from_data = case.dynamic.encode(fields(case, &key)).map_err(|error| error.to_string());
        match (&typed, &from_data) {
            (Err(refusal), _) if is_of_the_type_alone(refusal) => {}
            _ => prop_assert_eq!(typed, from_data),
        }
        Ok(())
    });
}

#[test]
fn the_same_bytes_are_read_and_refused() {
    let inputs = |case: &Case| (keys(case), any::<prop::sample::Index>(), any::<u8>(), 0..4_u8);
    on_every_case(inputs, |case, (key, at, byte, kind)| {
        let Some(Ok(mut bytes)) = case.encode(&key) else { return Ok(()) };
        let at = at.index(bytes.len());
        match kind {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.remove(at)),
            _ => {}
        }
        let from_data = case.dynamic.decode(&bytes);
        match (&from_data, walked(case, &bytes)) {
            (Ok(decoded), Ok(walked)) => {
                prop_assert!(decoded.iter().map(|(_, value)| value).eq(&walked), "{} {:?}", decoded, walked);
            }
            (decoded, walked) => prop_assert_eq!(decoded.as_ref().err(), walked.as_ref().err()),
        }
        match ((case.decode)(&bytes), from_data) {
            (Ok(typed), Ok(from_data)) => {
                prop_assert!(is_of(case, &from_data, &typed), "{:?} and {}", typed, from_data);
                let fields = from_data.iter().map(|(name, value)| (name, value.clone()));
                prop_assert_eq!(case.dynamic.encode(fields).unwrap(), bytes);
            }
            (Err(typed), from_data) if is_of_the_type_alone(&typed.to_string()) => drop(from_data),
            (typed, from_data) => {
                let typed = typed.map(drop).map_err(|error| error.to_string());
                let from_data = from_data.map(drop).map_err(|error| error.to_string());
                prop_assert_eq!(typed, from_data);
            }
        }
        Ok(())
    });
}

#[test]
fn the_same_ranges_are_planned_and_explained() {
    let inputs = |case: &Case| (keys(case), keys(case), (0..3_u8, 0..3_u8));
    on_every_case(inputs, |case, (lo, hi, kinds)| {
        let scan = case.dynamic.scan().fix("first", lo.first.as_str()).unwrap();
        let bounds = (bound(kinds.0, dynamic(case, &lo.value)), bound(kinds.1, dynamic(case, &hi.value)));
        let from_data = scan.range("value", bounds);
        let Some(range) = case.range else {
            let refusal = from_data.unwrap_err().to_string();
            prop_assert!(refusal.contains("the field `value` has no range"), "{}", refusal);
            return Ok(());
        };
        let Some(typed) = range(&lo.first, bound(kinds.0, &lo.value), bound(kinds.1, &hi.value)) else {
            return Ok(());
        };
        let from_data = from_data.and_then(DynScan::plan);
        let from_data = from_data.map(|plan| (plan.requests(), plan.explain().to_string()));
        prop_assert_eq!(
            typed.map(|(plan, words)| (plan.requests, words)).map_err(|error| error.to_string()),
            from_data.map_err(|error| error.to_string())
        );
        Ok(())
    });
}

/// A field says that its values are sorted if and only if its bytes are, and in which direction.
#[test]
fn fields_are_sorted_as_they_say() {
    for case in cases() {
        // Codes are sorted by number, and read by name.
        let is_named = case.type_name == "Kind";
        let expected = match case.order {
            _ if is_named => None,
            Order::Ascending => Some(false),
            Order::Descending => Some(true),
            Order::Unordered => None,
        };
        assert_eq!(case.schema.fields()[1].is_descending(), expected, "{}", case.name());
    }
    on_every_case(
        |case| (keys(case), keys(case)),
        |case, (one, other)| {
            let Some(is_descending) = case.schema.fields()[1].is_descending() else { return Ok(()) };
            let other = Key { value: other.value, ..one.clone() };
            let read = |key: &Key| {
                let bytes = case.encode(key)?.ok()?;
                let value = walked(case, &bytes).ok()?.into_iter().nth(1)?;
                Some((value, (case.write)(&key.value)?))
            };
            let (Some((one, stored)), Some((other, other_stored))) = (read(&one), read(&other)) else {
                return Ok(());
            };
            let order = compare(&one, &other);
            let order = if is_descending { order.reverse() } else { order };
            prop_assert_eq!(order, stored.cmp(&other_stored), "{:?} {:?}", one, other);
            Ok(())
        },
    );
}

/// What a key can hold is what it is encoded with.
#[test]
fn what_a_key_can_hold_is_known() {
    on_every_case(keys, |case, key| {
        let Some(typed) = case.encode(&key) else { return Ok(()) };
        let [_, (name, value), _] = fields(case, &key);
        let can_hold = case.dynamic.can_hold(name, value).is_ok_and(|can_hold| can_hold);
        match typed {
            Ok(_) => prop_assert!(can_hold),
            Err(error) if error.field_name() == Some("value") => {
                let refusal = error.to_string();
                prop_assert!(!can_hold || is_of_the_type_alone(&refusal), "{}", refusal);
            }
            Err(_) => {}
        }
        Ok(())
    });
}

#[derive(RowKey)]
#[row_key(allow(point_reads))]
struct Hashed {
    #[row_key(hash(md5))]
    user: String,
    #[pad(3)]
    seq: u16,
}

#[derive(RowKey)]
struct Blob {
    bytes: Vec<u8>,
    last: String,
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
struct OrderedBlob {
    bytes: Vec<u8>,
    last: String,
}

/// The hash is that of the value's encoding, in keys and in plans.
#[test]
fn hashed_fields() {
    let layout = KeyLayout::of::<Hashed>();
    let typed = Hashed { user: "alice".into(), seq: 7 }.encode().unwrap();
    assert_eq!(layout.encode([("user", "alice"), ("seq", "7")]).unwrap(), typed);
    let hash = layout.decode(&typed).unwrap();
    assert_eq!(hash.get("user").unwrap().to_string().as_bytes(), &typed[..32]);
    let plan = layout.scan().fix("user", "alice").unwrap().fix("seq", 7).unwrap().plan().unwrap();
    let expected = Hashed::scan().user("alice").seq(7).into_plan().unwrap();
    assert_eq!(
        (plan.requests(), plan.explain().to_string()),
        (expected.requests(), expected.explain().to_string())
    );
    let several =
        layout.scan().any_of("user", ["alice", "bob"]).unwrap().fix("seq", 7).unwrap().plan().unwrap();
    let expected = Hashed::scan().user_any_of(["alice", "bob"]).seq(7).into_plan().unwrap();
    assert_eq!(several.requests(), expected.requests());
    let error = layout.scan().fix("user", "alice").unwrap().plan().unwrap_err().to_string();
    assert!(error.contains("cannot end between its hashed field and its last field"), "{error}");
    assert!(layout.scan().range("user", "a".."b").is_err());
    // As the derive, which has no range after a hashed field.
    assert!(layout.scan().fix("user", "alice").unwrap().range("seq", 1..5).unwrap().plan().is_err());
}

#[test]
fn prefixes_of_bytes() {
    let layout = KeyLayout::of::<Blob>();
    let plan = layout.scan().prefix("bytes", "00ff").unwrap().plan().unwrap();
    let expected = Blob::scan().bytes_prefix(&[0, 0xff]).into_plan().unwrap();
    assert_eq!(plan.requests(), expected.requests());
    let layout = KeyLayout::of::<OrderedBlob>();
    let plan = layout.scan().prefix("bytes", "00ff").unwrap().plan().unwrap();
    let expected = OrderedBlob::scan().bytes_prefix(&[0, 0xff]).into_plan().unwrap();
    assert_eq!(plan.requests(), expected.requests());
}

/// The compiler refuses such a value of a type; by data it is refused with the type's limits, and never another value.
#[test]
fn values_outside_of_the_type_are_refused() {
    let layout = KeyLayout::of::<Hashed>();
    for (value, words) in [
        (Dynamic::from(65_536), "65536 does not fit; the field is padded to 3 digits, at most 999"),
        (Dynamic::from(-1), "-1 is negative; a field that is padded to 3 digits stores no sign"),
        (Dynamic::from(u128::MAX), "is not a `u16`, which holds 0 to 65535"),
        (Dynamic::from("1e3"), "\"1e3\" is not a `u16`"),
        (Dynamic::from(" 7"), "\" 7\" is not a `u16`"),
        (Dynamic::from("65536"), "65536 does not fit; the field is padded to 3 digits, at most 999"),
        (Dynamic::from(true), "true is a `bool`, and the field holds a `u16`"),
        (Dynamic::Time(5), "is a time, and the field holds a `u16`"),
    ] {
        let error = layout.encode([("user", Dynamic::from("alice")), ("seq", value.clone())]).unwrap_err();
        assert_eq!(error.field_name(), Some("seq"));
        assert!(error.to_string().contains(words), "{error}");
        assert!(layout.scan().fix("user", "alice").unwrap().fix("seq", value).is_err());
    }
}

/// Whatever format a field has, its schema says enough to be made again.
#[test]
fn a_schema_is_read_back_from_its_json() {
    for case in cases() {
        let json = serde_json::to_string(case.schema).unwrap();
        let read =
            KeyLayout::from_json(&json).unwrap_or_else(|error| panic!("{}: {error}\n{json}", case.name()));
        assert_eq!(read.schema(), case.schema, "{}", case.name());
    }
}
