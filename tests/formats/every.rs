//! Every value of the types of at most 16 bits, the values around each length of the wider ones, and short bytes of every kind: no sample.

use std::cmp::Ordering;

use keyderive::key::fingerprint64;
use keyderive_tests::one_in;

use super::cases::cases;
use super::model::Value;
use super::{Case, Key, Order};

/// All values of a type of at most 16 bits.
fn all_values(type_name: &str) -> Option<Vec<Value>> {
    let signed = |min: i128, max: i128| (min..=max).map(Value::Signed).collect();
    let unsigned = |max: u128| (0..=max).map(Value::Unsigned).collect();
    match type_name {
        "u8" => Some(unsigned(u8::MAX.into())),
        "u16" => Some(unsigned(u16::MAX.into())),
        "i8" => Some(signed(i8::MIN.into(), i8::MAX.into())),
        "i16" => Some(signed(i16::MIN.into(), i16::MAX.into())),
        "bool" => Some(vec![Value::Bool(false), Value::Bool(true)]),
        _ => None,
    }
}

/// The integers around each power of two and of ten, where encodings change their length, in ascending order.
fn boundaries(is_signed: bool) -> Vec<Value> {
    let powers = (0..128).map(|bits| 1u128 << bits).chain((0..39).map(|digits| 10u128.pow(digits)));
    let around =
        powers.flat_map(|power| [power.saturating_sub(2), power - 1, power, power.saturating_add(1)]);
    let around = around.chain([u128::MAX - 1, u128::MAX]);
    let mut all: Vec<u128> = around.collect();
    all.sort_unstable();
    all.dedup();
    if !is_signed {
        return all.into_iter().map(Value::Unsigned).collect();
    }
    let positive: Vec<i128> = all.into_iter().filter_map(|value| value.try_into().ok()).collect();
    let negative = positive.iter().rev().map(|value| -1 - value);
    negative.chain(positive.iter().copied()).map(Value::Signed).collect()
}

fn key(value: &Value) -> Key {
    Key { first: "a".to_owned(), value: value.clone(), last: "z".to_owned() }
}

/// Each value comes back or is refused, and their bytes are in the declared order. Returns how many are stored.
fn keeps_order(case: &Case, values: &[Value]) -> usize {
    let mut previous: Option<Vec<u8>> = None;
    let mut stored = 0;
    for value in values {
        let Some(Ok(bytes)) = case.encode(&key(value)) else { continue };
        let decoded =
            (case.decode)(&bytes).unwrap_or_else(|error| panic!("{}: {value:?}: {error}", case.name()));
        assert_eq!(decoded, key(value), "{}", case.name());
        // The salt hashes the value too.
        let written = (case.write)(value).unwrap_or_else(|| panic!("{}: {value:?}", case.name()));
        if let Some(previous) = previous.replace(written.clone()) {
            let expected = match case.order {
                Order::Ascending => Ordering::Less,
                Order::Descending => Ordering::Greater,
                Order::Unordered if previous == written => {
                    panic!("{}: {value:?} is stored as its neighbour", case.name())
                }
                Order::Unordered => previous.cmp(&written),
            };
            assert_eq!(previous.cmp(&written), expected, "{}: {value:?}", case.name());
        }
        stored += 1;
    }
    stored
}

#[test]
fn every_value_of_16_bits_comes_back_in_order() {
    let mut types = 0;
    for case in cases() {
        let Some(values) = all_values(case.type_name) else { continue };
        let step = if values.len() > 256 { one_in(5, "values of 16 bits") } else { 1 };
        let values: Vec<_> = values.into_iter().step_by(step).collect();
        assert!(keeps_order(&case, &values) > 0, "{} stores none", case.name());
        types += 1;
    }
    assert!(types > 20, "{types} types");
}

#[test]
fn integers_around_each_length_come_back_in_order() {
    let mut types = 0;
    for case in cases() {
        let is_signed = match case.type_name.as_bytes() {
            [b'i', b'0'..=b'9', ..] => true,
            [b'u', b'0'..=b'9', ..] => false,
            _ => continue,
        };
        assert!(keeps_order(&case, &boundaries(is_signed)) > 5, "{} stores few", case.name());
        types += 1;
    }
    assert!(types > 40, "{types} types");
}

/// All bytes of at most two, and those of up to six that are made of fewer and fewer bytes, of which digits and their neighbours come
/// first.
fn short_bytes() -> Vec<Vec<u8>> {
    let first = b"09-1/:8 2\x00\x01\xff\x80\x7f5a6f\"#!\x02\xfe\x81\x3b~AFg37\xc3\xa9.+_eE4b";
    let mut all = vec![vec![]];
    let mut alphabet: Vec<u8> = first.iter().copied().chain(0..=u8::MAX).collect();
    let mut seen = [false; 256];
    alphabet.retain(|byte| !std::mem::replace(&mut seen[usize::from(*byte)], true));
    for (len, size) in [(1, 256), (2, 256), (3, 40), (4, 16), (5, 9), (6, 6)] {
        let mut places = vec![0; len];
        loop {
            all.push(places.iter().map(|place| alphabet[*place]).collect());
            let Some(at) = places.iter().rposition(|place| place + 1 < size) else { break };
            places[at] += 1;
            places[at + 1..].fill(0);
        }
    }
    all
}

/// Law 1 for bytes: what a decoder accepts is what encoding writes.
#[test]
fn short_bytes_have_one_meaning_at_most() {
    let step = one_in(40, "short bytes in the place of a field");
    let (bytes, mut accepted) = (short_bytes(), 0);
    for (at, case) in cases().into_iter().enumerate() {
        let is_text = case.layout == "text";
        let separator: &[u8] = if is_text { b"#" } else { b"\x00\x01" };
        for field in bytes.iter().skip(at % step).step_by(step) {
            let fields = [b"a", separator, field, separator, b"z"].concat();
            // In an ordered key a separator follows the salt, and is not hashed.
            let salted = &fields[..fields.len() - separator.len() - 1];
            let bucket = fingerprint64(salted).cast_signed().rem_euclid(7) as u8;
            let stored = match is_text {
                true => [&[b'0' + bucket], separator, &fields].concat(),
                false => [&[0x80 + bucket], separator, &fields].concat(),
            };
            let Ok(key) = (case.decode)(&stored) else { continue };
            let again = case.encode(&key).and_then(Result::ok);
            assert_eq!(again.as_ref(), Some(&stored), "{}: {key:?}", case.name());
            accepted += 1;
        }
    }
    println!("{accepted} keys were accepted, of {} in each format", bytes.len() / step);
    assert!(accepted > 10_000, "{accepted} were accepted");
}
