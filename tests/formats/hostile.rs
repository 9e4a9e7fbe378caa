//! Schemas that were changed at random, and what is accepted of them: values, keys and constraints by name, also hostile ones.

use fastrand::Rng;
use keyderive_tests::{amount, variable};
use serde_json::{Value as Json, json};

use super::cases::cases;
use super::schemas::{Counts, paths, read, try_keys};

fn any_node(rng: &mut Rng) -> Json {
    let texts: Vec<_> =
        "|#|\u{0}|a|0|9|-1|é|340282366920938463463374607431768211455|18446744073709551616|delimited|\
        ordered_code|front|before_fields|farm|java|decimal|signed_decimal|utf8|hex|date|datetime17|\
        uuid|ascending|descending|hashed|custom|2026-12-01|2026-12-01T00:00:00Z|first|value|last"
            .split('|')
            .collect();
    let numbers = [0_i64, 1, 2, 9, 10, 16, 20, 32, 36, 39, 40, 41, 4096, 4097, i64::MAX, -1];
    let number = numbers[rng.usize(..numbers.len())];
    let text = texts[rng.usize(..texts.len())];
    match rng.u8(..8) {
        0 => Json::Null,
        1 => Json::from(rng.bool()),
        2 | 3 => Json::from(number),
        4 => json!({ "fixed": number }),
        5 => json!({ "between": [number, numbers[rng.usize(..numbers.len())]] }),
        6 => json!({ "reversed_from": { "max": text } }),
        _ => Json::from(text),
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
