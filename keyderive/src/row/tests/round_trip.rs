//! What is written is read back.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::{cell, read, store, write};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Scalars {
    a: i8,
    b: i16,
    c: i32,
    d: i64,
    e: u8,
    f: u16,
    g: u32,
    h: u64,
    i: bool,
    j: char,
    k: String,
    /// The bits of the floats, which compare where NaN does not.
    #[serde(with = "bits32")]
    l: u32,
    #[serde(with = "bits64")]
    m: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Nested {
    label: String,
    values: Vec<Option<i64>>,
    table: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Variant {
    Unit,
    Newtype(String),
    Tuple(i64, bool),
    Struct { text: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Rest {
    some_text: Option<String>,
    some_number: Option<i64>,
    nested: Vec<Nested>,
    variant: Option<Variant>,
    pair: (u8, String),
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<u64>,
}

macro_rules! float_bits {
    ($module:ident $float:ident $bits:ident) => {
        mod $module {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub(super) fn serialize<S: Serializer>(bits: &$bits, serializer: S) -> Result<S::Ok, S::Error> {
                $float::from_bits(*bits).serialize(serializer)
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$bits, D::Error> {
                $float::deserialize(deserializer).map($float::to_bits)
            }
        }
    };
}

float_bits! { bits32 f32 u32 }
float_bits! { bits64 f64 u64 }

/// Text with what breaks careless encodings: control characters, quotes, and both ends of Unicode.
fn text() -> impl Strategy<Value = String> {
    let nasty =
        prop::sample::select(&['\0', '"', '\\', '#', '{', '[', '\u{7f}', '\u{2028}', '\u{10ffff}'][..]);
    vec(prop_oneof![any::<char>(), nasty], 0..12).prop_map(String::from_iter)
}

fn scalars() -> impl Strategy<Value = Scalars> {
    let signed = (any::<i8>(), any::<i16>(), any::<i32>(), any::<i64>());
    let unsigned = (any::<u8>(), any::<u16>(), any::<u32>(), 0..=i64::MAX as u64);
    let others = (any::<bool>(), any::<char>(), text(), any::<u32>(), any::<u64>());
    (signed, unsigned, others).prop_map(|((a, b, c, d), (e, f, g, h), (i, j, k, l, m))| Scalars {
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        j,
        k,
        l,
        m,
    })
}

fn nested() -> impl Strategy<Value = Nested> {
    (text(), vec(option::of(any::<i64>()), 0..4), btree_map(text(), any::<u64>(), 0..4))
        .prop_map(|(label, values, table)| Nested { label, values, table })
}

fn variant() -> impl Strategy<Value = Variant> {
    prop_oneof![
        Just(Variant::Unit),
        text().prop_map(Variant::Newtype),
        any::<(i64, bool)>().prop_map(|(number, flag)| Variant::Tuple(number, flag)),
        text().prop_map(|text| Variant::Struct { text }),
    ]
}

fn rest() -> impl Strategy<Value = Rest> {
    let options = (option::of(text()), option::of(any::<i64>()), option::of(variant()));
    (options, vec(nested(), 0..4), (any::<u8>(), text()), vec(any::<u64>(), 0..3)).prop_map(
        |((some_text, some_number, variant), nested, pair, skipped)| Rest {
            some_text,
            some_number,
            nested,
            variant,
            pair,
            skipped,
        },
    )
}

proptest! {
    #[test]
    fn scalars_round_trip(row in scalars()) {
        prop_assert_eq!(read::<Scalars>(store(write(&row).unwrap())).unwrap(), row);
    }

    #[test]
    fn options_and_json_round_trip(row in rest()) {
        prop_assert_eq!(read::<Rest>(store(write(&row).unwrap())).unwrap(), row);
    }

    #[test]
    fn maps_round_trip(row in btree_map(text().prop_filter("names", |name| !name.is_empty()), text(), 0..6)) {
        prop_assert_eq!(read::<BTreeMap<String, String>>(store(write(&row).unwrap())).unwrap(), row);
    }

    /// Any bytes in any column are a value or an error, never a panic.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..20), column in 0..8_usize) {
        let mut cell = cell(["a", "h", "i", "j", "k", "l", "nested", "variant"][column], b"");
        cell.value = bytes.into();
        let _ = read::<Scalars>(vec![cell.clone()]).map_err(|error| error.to_string());
        let _ = read::<Rest>(vec![cell]).map_err(|error| error.to_string());
    }
}
