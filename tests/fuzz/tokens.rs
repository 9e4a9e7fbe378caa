//! Page tokens: a plan resumed from a token reads what follows the token's row in the order of the scan; a forged token reads nothing outside of
//! the plan.

use keyderive::RowKey;
use keyderive::dynamic::{DynKey, DynScan, KeyLayout};
use keyderive::key::Field;
use keyderive::plan::Plan;
use keyderive_farmhash::fingerprint64;
use keyderive_tests::fuzz::{Input, bytes_of, fuzz};

use crate::samples::{
    Battery, Escaped, Event, Grown, GrownAfter, GrownFront, Log, Names, OrderedEvent, OrderedGrown,
    OrderedResalted, Phone, Trade,
};
use crate::stored::{asks_for, logical};

/// The bytes of a token before its position: its version and direction, two hashes, and a length.
const HEADER: usize = 26;

/// A key of values from the input.
pub(crate) fn key(layout: &KeyLayout, input: &mut Input<'_>) -> Option<Vec<u8>> {
    let fields: Vec<_> = layout.schema().fields().iter().map(|field| (field.name(), input.text())).collect();
    layout.encode(fields.iter().map(|(name, value)| (name, value.as_str()))).ok()
}

/// A scan with some constraints from the input.
pub(crate) fn scan(layout: &KeyLayout, input: &mut Input<'_>) -> Option<DynScan> {
    let mut scan = layout.scan();
    for name in layout.schema().fields().iter().map(Field::name) {
        scan = match input.below(5) {
            0 => break,
            1 => return scan.range(name, input.text()..input.text()).ok(),
            2 => return scan.prefix(name, input.text()).ok(),
            3 => scan.any_of(name, [input.text(), input.text()]).ok()?,
            _ => scan.fix(name, input.text()).ok()?,
        };
    }
    Some(scan)
}

/// Another position in the same token, with the checksum of whoever made it.
fn forged(token: &str, input: Input<'_>) -> String {
    let mut bytes = bytes_of(token);
    bytes.truncate(HEADER - size_of::<u64>());
    let (mut input, mut position) = (input, [0; 8]);
    position[7] = input.byte();
    bytes.extend(position);
    bytes.extend_from_slice(input.rest());
    bytes.extend(fingerprint64(&bytes).to_be_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check<K: RowKey>(mut input: Input<'_>) {
    let layout = KeyLayout::of::<K>();
    let reversed = input.below(2) == 1;
    let Some(Ok(plan)) = scan(&layout, &mut input).map(DynScan::plan) else { return };
    let keys: Vec<_> = (0..4).filter_map(|_| key(&layout, &mut input)).collect();
    let read = |plan: &Plan<DynKey>, key: &[u8]| asks_for(&plan.requests(), key);
    for from in &keys {
        let token = plan.page_token(from, reversed);
        let rest = plan.after(&token, reversed).unwrap();
        assert!(plan.after(&token, !reversed).is_err());
        // Each page goes on, and none goes back.
        assert_eq!(rest.after(&token, reversed).unwrap().requests(), rest.requests());
        for key in &keys {
            let order = match plan.is_ordered() {
                true => logical(layout.schema(), key).cmp(&logical(layout.schema(), from)),
                false => key.cmp(from),
            };
            let is_further = if reversed { order.is_lt() } else { order.is_gt() };
            assert_eq!(
                read(&rest, key),
                read(&plan, key) && is_further,
                "{plan:?} after {} has {}",
                from.escape_ascii(),
                key.escape_ascii()
            );
        }
    }
    let token = forged(&plan.page_token(b"", reversed), input);
    let Ok(rest) = plan.after(&token, reversed) else { return };
    for key in &keys {
        assert!(!read(&rest, key) || read(&plan, key), "{plan:?} after {token} has {}", key.escape_ascii());
    }
}

#[test]
fn tokens() {
    let types = [
        check::<Event>,
        check::<Names>,
        check::<Battery>,
        check::<Phone>,
        check::<Trade>,
        check::<Escaped>,
        check::<Grown>,
        check::<GrownFront>,
        check::<GrownAfter>,
        check::<OrderedEvent>,
        check::<OrderedGrown>,
        check::<OrderedResalted>,
        check::<Log>,
    ];
    fuzz("tokens", |bytes| {
        let mut input = Input::new(bytes);
        types[input.below(types.len())](input);
    });
}
