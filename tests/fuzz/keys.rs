//! Keys: a derived key type and the same layout as data accept the same bytes, and encode the decoded key to these bytes again.

use keyderive::dynamic::KeyLayout;
use keyderive::key::Field;
use keyderive::{KeyField, RowKey};
use keyderive_tests::fuzz::{Input, fuzz};

use crate::samples::{
    Battery, Escaped, Event, Grown, GrownAfter, GrownFront, Integers, Log, Name, Names, OrderedEvent,
    OrderedGrown, OrderedMix, OrderedNames, OrderedResalted, Orders, PageView, Phone, Quote, Resalted, Trade,
    Visit, each_key,
};

/// A hash, which does not decode to its value.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(allow(point_reads))]
#[salt(range = 4, over = "user")]
struct Hashed {
    #[row_key(hash(md5))]
    user: String,
    kind: Kind,
    #[pad(3)]
    seq: u16,
}

#[derive(KeyField, Clone, Copy, Debug, PartialEq)]
enum Kind {
    Created = 1,
    Changed = 2,
    Deleted = 300,
}

/// Reads a key by its type and by its layout as data; returns whether both read it.
fn is_read_alike<K: RowKey>(bytes: &[u8]) -> bool {
    let layout = KeyLayout::of::<K>();
    let mut walked = Vec::new();
    let walk = layout.walk(bytes, |_, value| walked.push(value.to_value()));
    let by_data = layout.decode(bytes);
    assert_eq!(walk.as_ref().err(), by_data.as_ref().err());
    if let Ok(key) = &by_data {
        assert!(key.iter().map(|(_, value)| value).eq(&walked), "{key}");
        let has_hash = layout.schema().fields().iter().any(|field| field.hash_of().is_some());
        assert!(has_hash || layout.encode(key.iter()).unwrap() == bytes, "{key}");
    }
    let start = layout.decode_start(bytes);
    assert!(start.fields().count() <= walked.len() || by_data.is_err());
    match K::decode(bytes).err().map(|refusal| refusal.to_string()) {
        None => assert!(by_data.is_ok()),
        // Times of a crate end before those of the format.
        Some(refusal) if refusal.contains("is out of the range of") => return false,
        Some(refusal) => assert_eq!(Some(refusal), by_data.as_ref().err().map(ToString::to_string)),
    }
    by_data.is_ok()
}

fn check_bytes<K: for<'a> RowKey<Decoded<'a> = K>>(bytes: &[u8]) {
    if is_read_alike::<K>(bytes) {
        assert_eq!(K::decode(bytes).unwrap().encode().unwrap(), bytes);
    }
}

fn check_hashed(bytes: &[u8]) {
    is_read_alike::<Hashed>(bytes);
}

/// A key of values from the input, all of which can be in one.
fn key_of_values(layout: &KeyLayout, mut input: Input<'_>) -> Option<Vec<u8>> {
    let fields = layout.schema().fields().iter().map(Field::name);
    let values: Vec<_> = fields.map(|name| (name, input.text())).collect();
    let bytes = layout.encode(values.iter().map(|(name, value)| (name, value.as_str()))).ok()?;
    for (name, value) in &values {
        assert!(layout.can_hold(name, value.as_str()).unwrap(), "{name}: {value}");
    }
    assert!(layout.decode(&bytes).is_ok(), "{values:?}: {}", bytes.escape_ascii());
    Some(bytes)
}

/// What to do with bytes as a key, and its layout.
type Type = (fn(&[u8]), KeyLayout);

fn of<K: for<'a> RowKey<Decoded<'a> = K>>() -> Type {
    (check_bytes::<K>, KeyLayout::of::<K>())
}

#[test]
fn keys() {
    let types = each_key!(
        of: Event Names Integers Battery Quote Name Orders Escaped OrderedEvent OrderedNames OrderedMix Visit Phone PageView Trade Grown
        Resalted GrownFront GrownAfter OrderedGrown OrderedResalted Log
    );
    let mut types: Vec<Type> = types.map(|of| of()).into();
    types.push((check_hashed, KeyLayout::of::<Hashed>()));
    fuzz("keys", |bytes| {
        let mut input = Input::new(bytes);
        let which = input.below(2 * types.len());
        let (check, layout) = &types[which / 2];
        match which % 2 {
            0 => check(input.rest()),
            _ => key_of_values(layout, input).iter().for_each(|key| check(key)),
        }
    });
}
