//! Schemas that were changed at random, and what is accepted of them: values, keys and constraints by name, also hostile ones.

use fastrand::Rng;
use keyderive::dynamic::{KeyLayout, Value as Dynamic};
use keyderive::key::Field;
use keyderive_tests::{amount, variable};
use serde_json::Value as Json;

use super::cases::cases;

/// What went how far.
#[derive(Debug, Default)]
struct Counts {
    accepted: u64,
    encoded: u64,
    decoded: u64,
    planned: u64,
    refused: u64,
}

/// All nodes of a document, as paths of pointers.
fn paths(json: &Json, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match json {
        Json::Object(map) => map.iter().for_each(|(name, node)| paths(node, &format!("{at}/{name}"), found)),
        Json::Array(list) => {
            list.iter().enumerate().for_each(|(index, node)| paths(node, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

fn any_node(rng: &mut Rng) -> Json {
    let texts = [
        "",
        "#",
        "\u{0}",
        "a",
        "0",
        "9",
        "-1",
        "é",
        "340282366920938463463374607431768211455",
        "18446744073709551616",
        "delimited",
        "ordered_code",
        "front",
        "before_fields",
        "farm",
        "java",
        "decimal",
        "signed_decimal",
        "utf8",
        "hex",
        "date",
        "datetime17",
        "uuid",
        "ascending",
        "descending",
        "hashed",
        "custom",
        "2026-12-01",
        "2026-12-01T00:00:00Z",
        "first",
        "value",
        "last",
    ];
    let numbers = [0_i64, 1, 2, 9, 10, 16, 20, 32, 36, 39, 40, 41, 4096, 4097, i64::MAX, -1];
    match rng.u8(..8) {
        0 => Json::Null,
        1 => Json::from(rng.bool()),
        2 | 3 => Json::from(numbers[rng.usize(..numbers.len())]),
        4 => serde_json::json!({ "fixed": numbers[rng.usize(..numbers.len())] }),
        5 => {
            serde_json::json!({ "between": [numbers[rng.usize(..numbers.len())], numbers[rng.usize(..numbers.len())]] })
        }
        6 => serde_json::json!({ "reversed_from": { "max": texts[rng.usize(..texts.len())] } }),
        _ => Json::from(texts[rng.usize(..texts.len())]),
    }
}

/// Changes one node, or removes it.
fn change(json: &mut Json, rng: &mut Rng) {
    let mut all = Vec::new();
    paths(json, "", &mut all);
    let path = &all[rng.usize(..all.len())];
    let other = all[rng.usize(..all.len())].clone();
    let copied = json.pointer(&other).cloned().unwrap_or_default();
    let Some(node) = json.pointer_mut(path) else { return };
    *node = match (rng.u8(..6), &*node) {
        (0, Json::String(text)) => Json::from(format!("{text}x")),
        (0, Json::Array(list)) => list.iter().skip(1).cloned().collect(),
        (1, Json::Array(list)) => list.iter().chain(list.last()).cloned().collect(),
        (1, Json::Number(number)) => Json::from(number.as_i64().unwrap_or(0).saturating_add(1)),
        (2, _) => copied,
        _ => any_node(rng),
    };
}

/// Reads a schema; what is computed of it is corrected, so that it is read if the rest is one.
fn read(mut json: Json) -> Option<KeyLayout> {
    for _ in 0..2 {
        let faults = match KeyLayout::from_json(&json.to_string()) {
            Ok(layout) => return Some(layout),
            Err(error) => error.faults().to_vec(),
        };
        for fault in &faults {
            let (place, rest) = fault.strip_prefix('`')?.split_once("`: it is `")?;
            let computed = rest.split_once("`, and that of the rest is `")?.1;
            let computed = computed.strip_suffix("`: the text was changed after it was made")?;
            let pointer = format!("/{}", place.replace("].", "/").replace(['[', '.'], "/").replace(']', ""));
            let node = json.pointer_mut(&pointer)?;
            *node = match computed.parse::<u64>() {
                Ok(number) if place != "fingerprint" && !place.ends_with("stored") && place != "template" => {
                    number.into()
                }
                _ if computed == "null" => Json::Null,
                _ => computed.into(),
            };
        }
    }
    None
}

fn any_value(rng: &mut Rng) -> Dynamic {
    let texts = [
        "",
        "a",
        "a#b",
        "\0\u{1}",
        "ÿ\u{10ffff}",
        " a ",
        "%41",
        "true",
        "12",
        "-12",
        "2015-03-16",
        "2015-03-16T19:53:32.156Z",
        "00ff",
    ];
    match rng.u8(..10) {
        0 => Dynamic::from(rng.u128(..)),
        1 => Dynamic::from(rng.i128(..) >> rng.u8(..127)),
        2 => Dynamic::from([0_i64, 1, -1, 9, 255, 9_999, i64::MAX, i64::MIN][rng.usize(..8)]),
        3 => Dynamic::from(rng.bool()),
        4 => Dynamic::from(vec![rng.u8(..); rng.usize(..40)]),
        5 => Dynamic::Time(
            [0, -1, i128::MAX, i128::MIN, 1_426_535_612_156_000_000, i128::from(rng.i64(..))][rng.usize(..6)],
        ),
        6 => Dynamic::Date([0, -1, i64::MAX, i64::MIN, 16_510, rng.i64(..)][rng.usize(..6)]),
        7 => Dynamic::Uuid(rng.u128(..)),
        8 => Dynamic::from("a".repeat(rng.usize(..5_000))),
        _ => Dynamic::from(texts[rng.usize(..texts.len())]),
    }
}

/// Keys of a layout that was accepted, and what is near them.
fn try_keys(layout: &KeyLayout, rng: &mut Rng, counts: &mut Counts) {
    let names: Vec<_> = layout.schema().fields().iter().map(Field::name).collect();
    let has_hash = layout.schema().fields().iter().any(|field| field.hash_of().is_some());
    // A value that the field takes, if one is found.
    let value = |rng: &mut Rng, name: &str| {
        let mut value = any_value(rng);
        for _ in 0..12 {
            // Alone, a value that the field takes lacks only those of the other fields.
            let alone = layout.encode([(name, &value)]);
            if alone.err().is_none_or(|error| error.to_string().contains("has no value")) {
                break;
            }
            value = any_value(rng);
        }
        value
    };
    let fields: Vec<_> = names.iter().map(|name| (*name, value(rng, name))).collect();
    match layout.encode(fields.iter().map(|(name, value)| (*name, value))) {
        Ok(mut bytes) => {
            counts.encoded += 1;
            let key = layout.decode(&bytes).unwrap_or_else(|error| panic!("{layout:?}: {error}"));
            if !has_hash {
                assert_eq!(layout.encode(key.iter()).unwrap(), bytes, "{layout:?}: {key}");
            }
            let _ = (key.to_string(), serde_json::to_string(&key).unwrap());
            let at = rng.usize(..bytes.len());
            bytes[at] = rng.u8(..);
            if let Ok(near) = layout.decode(&bytes) {
                counts.decoded += 1;
                if !has_hash {
                    assert_eq!(layout.encode(near.iter()).unwrap(), bytes, "{layout:?}: {near}");
                }
            }
        }
        Err(error) => {
            let _ = error.to_string();
            counts.refused += 1;
        }
    }
    let mut scan = layout.scan();
    for name in &names {
        let (one, other) = (value(rng, name), value(rng, name));
        let next = match rng.u8(..8) {
            0 => break,
            1 => scan.clone().any_of(name, [one, other]),
            2 => scan.clone().range(name, one..other),
            3 => scan.clone().range(name, (std::ops::Bound::Excluded(one), std::ops::Bound::Unbounded)),
            4 => scan.clone().prefix(name, one),
            // Also a field that is not the next one.
            5 => scan.clone().fix(names[rng.usize(..names.len())], one),
            _ => scan.clone().fix(name, one),
        };
        match next {
            Ok(next) => scan = next,
            Err(error) => {
                let _ = error.to_string();
                break;
            }
        }
    }
    match scan.plan() {
        Ok(plan) => {
            counts.planned += 1;
            let _ = (plan.requests().len(), plan.explain().to_string(), plan.prefixes());
        }
        Err(error) => {
            let _ = error.to_string();
            counts.refused += 1;
        }
    }
}

/// No schema, value, key or constraint is a panic, and what is accepted is as good as what a derive makes.
#[test]
fn hostile_schemas_values_and_constraints() {
    let rounds = amount("KEYDERIVE_HOSTILE_SCHEMAS", "changed schemas", 4_000, 50_000);
    let schemas: Vec<Json> = cases().iter().map(|case| serde_json::to_value(case.schema).unwrap()).collect();
    let (mut rng, mut counts) = (Rng::with_seed(variable("KEYDERIVE_HOSTILE_SEED", 37)), Counts::default());
    for _ in 0..rounds {
        let mut json = schemas[rng.usize(..schemas.len())].clone();
        for _ in 0..rng.u8(1..4) {
            change(&mut json, &mut rng);
        }
        if let Some(layout) = read(json) {
            counts.accepted += 1;
            try_keys(&layout, &mut rng, &mut counts);
        }
    }
    println!("of {rounds} schemas: {counts:?}");
    let Counts { accepted, encoded, decoded, planned, .. } = counts;
    assert!([accepted, encoded, decoded, planned].iter().all(|count| *count > rounds / 500), "{counts:?}");
}
