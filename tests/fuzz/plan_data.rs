//! Plans as data, received from another process: an accepted plan is valid for the key type, and encodes again to the same data.

use keyderive::RowKey;
use keyderive::dynamic::{DynScan, KeyLayout};
use keyderive::plan::Plan;
use keyderive_tests::fuzz::{Input, fuzz};

use crate::changed;
use crate::samples::{Battery, Escaped, Event, Grown, Names, OrderedEvent, OrderedGrown, Trade, each_key};
use crate::stored::asks_for;
use crate::tokens::{key, scan};

fn check<K: RowKey>(mut input: Input<'_>) {
    let layout = KeyLayout::of::<K>();
    let Some(key) = key(&layout, &mut input) else { return };
    let Some(Ok(plan)) = scan(&layout, &mut input).map(DynScan::plan) else { return };
    let document = changed(serde_json::to_value(plan).unwrap(), input);
    let Ok(plan) = serde_json::from_value::<Plan<K>>(document) else { return };
    let sent = serde_json::to_string(&plan).unwrap();
    let again: Plan<K> = serde_json::from_str(&sent).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), sent);
    assert_eq!(
        (again.requests(), again.explain().to_string()),
        (plan.requests(), plan.explain().to_string())
    );
    let is_read = asks_for(&plan.requests(), &key);
    assert!(!plan.is_empty() || !is_read);
    assert_ne!(plan.complement().iter().any(|range| range.contains(&key)), is_read, "{}", key.escape_ascii());
    let _ = (plan.prefixes(), plan.order(), plan.is_point_read());
}

#[test]
fn plan_data() {
    let types = each_key!(check: Event Names Battery Trade Escaped Grown OrderedEvent OrderedGrown);
    fuzz("plan_data", |bytes| {
        let mut input = Input::new(bytes);
        types[input.below(types.len())](input);
    });
}
