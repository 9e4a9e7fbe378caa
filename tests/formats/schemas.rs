//! Schemas that are no derive's, and what is accepted of them: shared with the fuzz targets.

use fastrand::Rng;
use keyderive::dynamic::{KeyLayout, Value as Dynamic};
use keyderive::key::Field;
use serde_json::Value as Json;

/// What went how far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) accepted: u64,
    pub(crate) encoded: u64,
    pub(crate) decoded: u64,
    pub(crate) planned: u64,
    refused: u64,
}

/// All nodes of a document, as paths of pointers.
pub(crate) fn paths(json: &Json, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match json {
        Json::Object(map) => map.iter().for_each(|(name, node)| paths(node, &format!("{at}/{name}"), found)),
        Json::Array(list) => {
            list.iter().enumerate().for_each(|(index, node)| paths(node, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

/// Reads a schema; what is computed of it is corrected, so that it is read if the rest is one.
pub(crate) fn read(mut json: Json) -> Option<KeyLayout> {
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
    let texts: Vec<_> =
        "|a|a#b|\0\u{1}|ÿ\u{10ffff}| a |%41|true|12|-12|2015-03-16|2015-03-16T19:53:32.156Z|00ff"
            .split('|')
            .collect();
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
pub(crate) fn try_keys(layout: &KeyLayout, rng: &mut Rng, counts: &mut Counts) {
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
