//! Key layouts as data: an accepted layout is the same after printing and parsing it again, and its keys and plans meet the same invariants as
//! those of a derived key type.

use fastrand::Rng;
use keyderive::RowKey;
use keyderive::dynamic::KeyLayout;
use keyderive::key::KeySchema;
use keyderive_tests::fuzz::{Input, fuzz};

use crate::changed;
use crate::samples::{
    Battery, Escaped, Event, Grown, GrownFront, Integers, Log, OrderedEvent, OrderedGrown, OrderedResalted,
    Orders, Phone, Quote, Resalted, Trade, Visit, each_key,
};
use crate::schema_laws::{Counts, read, try_keys};

fn schema<K: RowKey>() -> &'static KeySchema {
    K::SCHEMA
}

#[test]
fn schemas() {
    let schemas = each_key!(
        schema: Event Battery Integers Quote Phone Trade Orders Escaped Visit OrderedEvent Grown Resalted
        GrownFront OrderedGrown OrderedResalted Log
    );
    fuzz("schemas", |bytes| {
        let mut input = Input::new(bytes);
        let schema = serde_json::to_value(schemas[input.below(schemas.len())]()).unwrap();
        let Some(layout) = read(changed(schema, input)) else { return };
        let printed = serde_json::to_string(layout.schema()).unwrap();
        assert_eq!(KeyLayout::from_json(&printed).unwrap().schema(), layout.schema());
        try_keys(&layout, &mut Rng::with_seed(bytes.len() as u64), &mut Counts::default());
    });
}
