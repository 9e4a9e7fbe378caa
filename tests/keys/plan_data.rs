//! Plans as data: another process sends the same requests, and rejects data that is not a plan of the key type.

use fastrand::Rng;
use keyderive::RowKey;
use keyderive::plan::{KeyRange, Plan};
use keyderive_tests::hostile::damage;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::key_types::{from_seed, lists, of, siblings};
use crate::keys::{Event, Integers, Names, OrderedMix, Sample, for_every_key};
use crate::laws::check;

fn sent<K: RowKey>(plan: &Plan<K>) -> Plan<K> {
    serde_json::from_str(&serde_json::to_string(plan).unwrap()).unwrap()
}

/// About eight plans of lists of at most two of these keys: to test all of them takes minutes.
fn some_plans<K: Sample>(keys: &[K], odd: &K, seed: u64) -> impl Iterator<Item = Plan<K>> {
    let mut rng = Rng::with_seed(seed);
    let mut lists = lists(keys, &mut rng);
    lists.iter_mut().for_each(|list| list.truncate(2));
    let all = K::every_plan(&lists, true, &keys[0], odd);
    let step = 1 + all.len() / 8;
    all.into_iter().skip(rng.usize(..step)).step_by(step).filter_map(|constraints| K::plan(&constraints).ok())
}

fn plans_are_the_same_when_sent<K: Sample>() {
    check(&of::<K>(), (siblings::<K>(1..6), from_seed(K::nasty), any::<u64>()), |(keys, odd, seed)| {
        for plan in some_plans(&keys, &odd, seed) {
            let window = KeyRange::new(keys[0].encode().unwrap_or_default(), None);
            let token = plan.page_token(&keys[0].encode().unwrap_or_default(), false);
            for plan in [plan.within(&window), plan.after(&token, false).unwrap(), plan] {
                let sent = sent(&plan);
                prop_assert_eq!(sent.requests(), plan.requests());
                prop_assert_eq!(sent.explain().to_string(), plan.explain().to_string());
                prop_assert_eq!(sent.is_point_read(), plan.is_point_read());
                prop_assert_eq!(serde_json::to_string(&sent).unwrap(), serde_json::to_string(&plan).unwrap());
            }
        }
        Ok(())
    });
}
for_every_key!(plans_are_the_same_when_sent);

/// Data of another process is not trusted: whatever deserializes can be used as a plan.
fn mutated_plans_do_no_harm<K: Sample>() {
    check(&of::<K>(), (siblings::<K>(1..4), any::<u64>()), |(keys, seed)| {
        let mut rng = Rng::with_seed(seed);
        for plan in some_plans(&keys, &keys[0], seed) {
            let mut text = serde_json::to_vec(&plan.within(&KeyRange::prefix(b"1"))).unwrap();
            let whole = text.clone();
            (0..rng.u8(1..4)).for_each(|_| damage(&mut rng, &mut text, &whole));
            let Ok(plan) = serde_json::from_slice::<Plan<K>>(&text) else { continue };
            prop_assert_eq!(
                plan.is_empty(),
                plan.requests().is_empty(),
                "{:?}",
                String::from_utf8_lossy(&text)
            );
            prop_assert!(!plan.explain().to_string().is_empty());
            prop_assert_eq!(sent(&plan).requests(), plan.requests());
        }
        Ok(())
    });
}
for_every_key!(mutated_plans_do_no_harm);

#[track_caller]
fn assert_refused<K: RowKey>(data: Value, part: &str) {
    match serde_json::from_value::<Plan<K>>(data) {
        Ok(plan) => panic!("it is read as {plan:?}"),
        Err(error) => assert!(error.to_string().contains(part), "{error}\ndoes not say {part:?}"),
    }
}

/// The plan as data, with one part replaced.
fn data_with<K: RowKey>(plan: &Plan<K>, part: &str, value: Value) -> Value {
    let mut data = serde_json::to_value(plan).unwrap();
    data[part] = value;
    data
}

#[test]
fn plans_of_other_key_types_are_refused() {
    let plan = Event::scan().user_id("alice").into_plan().unwrap();
    let data = serde_json::to_value(&plan).unwrap();
    assert_refused::<Names>(data.clone(), "the plan is for a key type with the fingerprint");
    assert_refused::<Names>(data, &Names::SCHEMA.fingerprint().to_string());
}

#[test]
fn plans_of_too_many_fields_are_refused() {
    let full = Names::scan().into_plan().unwrap();
    let more = "the plan has more constraints than `Names` has fields";
    assert_refused::<Names>(data_with(&full, "fixed", json!([["61"], ["61"], ["61"], ["61"]])), more);
    let whole = Names::scan().first("a").second("b").third("c").into_plan().unwrap();
    assert_refused::<Names>(data_with(&whole, "cuts", json!(["first", "last"])), more);
    assert_refused::<Names>(data_with(&full, "constraints", json!([[3, "= x"]])), more);
}

/// A value that the field cannot hold would select rows of other values.
#[test]
fn values_that_no_key_holds_are_refused() {
    let names = Names::scan().into_plan().unwrap();
    for (value, part) in [
        ("612362", "`first`"),
        ("ff0a", "`first`"),
        ("6", "not an even number of lower-case hexadecimal digits"),
        ("6A", "not an even number of lower-case hexadecimal digits"),
    ] {
        assert_refused::<Names>(data_with(&names, "fixed", json!([[value]])), part);
    }
    let long = "61".repeat(5000);
    assert_refused::<Names>(data_with(&names, "fixed", json!([[long]])), "4096");
    let integers = Integers::scan().into_plan().unwrap();
    for value in ["3030", "30303030", ""] {
        assert_refused::<Integers>(data_with(&integers, "fixed", json!([[value]])), "`a`");
    }
    let ordered = OrderedMix::scan().into_plan().unwrap();
    for value in ["", "610001", "00", "000000"] {
        assert_refused::<OrderedMix>(data_with(&ordered, "fixed", json!([[value]])), "`name`");
    }
}

#[test]
fn garbage_is_refused() {
    for text in ["", "null", "[]", "{}", "7", "\"plan\"", "{\"fingerprint\":\"\"}"] {
        assert!(serde_json::from_str::<Plan<Names>>(text).is_err(), "{text} is read as a plan");
    }
    let full = Names::scan().into_plan().unwrap();
    assert_refused::<Names>(data_with(&full, "table", json!("events")), "unknown field `table`");
    assert_refused::<Names>(data_with(&full, "cuts", json!(["first", "middle"])), "unknown variant `middle`");
    assert_refused::<Names>(data_with(&full, "window", json!({ "start": "zz", "end": null })), "`zz` is not");
}

/// The bytes of a constraint select rows and its words are shown, so neither may come without the other.
#[test]
fn words_of_other_fields_are_refused() {
    let plan = Names::scan().first("a").second_prefix("b").into_plan().unwrap();
    let other = "describes other fields than it constrains";
    for words in
        [json!([]), json!([[0, "= x"]]), json!([[0, "= x"], [2, "= x"]]), json!([[1, "= x"], [0, "= x"]])]
    {
        assert_refused::<Names>(data_with(&plan, "constraints", words), other);
    }
    let words = data_with(&plan, "constraints", json!([[0, "= x"], [1, "= y"]]));
    let shown: Plan<Names> = serde_json::from_value(words).unwrap();
    assert_eq!(shown.requests(), plan.requests());
}
