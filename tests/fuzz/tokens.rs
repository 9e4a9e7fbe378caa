//! Page tokens: a plan resumed from a token reads what follows the token's row in the order of the scan; a forged token reads nothing outside of
//! the plan. Those of a table's pages do the same as those of the plan, and are of the table and of the fields of `distinct`.

use keyderive::dynamic::{DynKey, DynRow, DynScan, KeyLayout};
use keyderive::key::Field;
use keyderive::layouts::Layouts;
use keyderive::plan::Plan;
use keyderive::table::DynTable;
use keyderive::{Client, RowKey, Scan};
use keyderive_farmhash::fingerprint64;
use keyderive_tests::fuzz::{Input, bytes_of, fuzz};

use crate::samples::{
    Battery, Escaped, Event, Grown, GrownAfter, GrownFront, Log, Names, OrderedEvent, OrderedGrown,
    OrderedResalted, Phone, Trade, each_key,
};
use crate::stored::{asks_for, logical};

/// The bytes of a token before the length of its position: its version and direction, and two hashes.
const OF_PLAN: usize = 18;
/// Those of a table's pages name the table and the fields of `distinct` too.
const OF_PAGES: usize = 34;

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
fn forged(token: &str, header: usize, input: Input<'_>) -> String {
    let mut bytes = bytes_of(token);
    bytes.truncate(header);
    let (mut input, mut position) = (input, [0; 8]);
    position[7] = input.byte();
    bytes.extend(position);
    bytes.extend_from_slice(input.rest());
    bytes.extend(fingerprint64(&bytes).to_be_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn pages(table: &DynTable, plan: &Plan<DynKey>, reversed: bool) -> Scan<DynKey, DynRow> {
    let scan = table.scan(plan.clone());
    if reversed { scan.reversed() } else { scan }
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
    let client = Client::embedded();
    let layouts = Layouts::new().table::<K, ()>("one").table::<K, ()>("other");
    let [table, other] =
        ["one", "other"].map(|name| client.dynamic_table(&layouts.table_layout(name).unwrap()));
    for from in &keys {
        let token = pages(&table, &plan, reversed).token_after(from).unwrap();
        let of_plan = plan.after(&plan.page_token(from, reversed), reversed).unwrap();
        let explained = |scan: Scan<DynKey, DynRow>| scan.explain().map(|explain| explain.to_string());
        assert_eq!(
            explained(pages(&table, &plan, reversed).after(&token)).unwrap(),
            explained(pages(&table, &of_plan, reversed)).unwrap()
        );
        for refused in [
            pages(&table, &plan, !reversed).after(&token),
            pages(&other, &plan, reversed).after(&token),
            pages(&table, &plan, reversed).after(&plan.page_token(from, reversed)),
        ] {
            assert!(explained(refused).is_err());
        }
        assert!(plan.after(&token, reversed).is_err());
    }
    let of_pages = forged(&pages(&table, &plan, reversed).token_after(b"").unwrap(), OF_PAGES, input);
    let token = forged(&plan.page_token(b"", reversed), OF_PLAN, input);
    let rest = plan.after(&token, reversed);
    assert_eq!(pages(&table, &plan, reversed).after(&of_pages).explain().is_ok(), rest.is_ok());
    let Ok(rest) = rest else { return };
    for key in &keys {
        assert!(!read(&rest, key) || read(&plan, key), "{plan:?} after {token} has {}", key.escape_ascii());
    }
}

#[test]
fn tokens() {
    let types = each_key!(
        check: Event Names Battery Phone Trade Escaped Grown GrownFront GrownAfter OrderedEvent
        OrderedGrown OrderedResalted Log
    );
    fuzz("tokens", |bytes| {
        let mut input = Input::new(bytes);
        types[input.below(types.len())](input);
    });
}
