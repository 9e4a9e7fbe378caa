//! Layout files, with the key and row layouts of all tables: an accepted file is the same after printing and parsing it again, and a comparison
//! with itself finds no difference.

use std::collections::BTreeMap;
use std::time::SystemTime;

use keyderive::layouts::Layouts;
use keyderive::row::{Timestamped, Versions};
use keyderive::{Cell, Row};
use keyderive_tests::fuzz::{Input, fuzz};

use crate::changed;
use crate::samples::{Event, Grown, OrderedEvent, Trade};

#[derive(Cell, Clone, Copy, Debug)]
#[row(code)]
enum Level {
    Low = 0,
    High = 20,
}

#[derive(Row)]
struct Everything {
    kind: String,
    level: Option<Level>,
    bytes: Option<Vec<u8>>,
    ratio: f64,
    #[row(json)]
    tags: Vec<String>,
    #[row(ts(unit = "micros"))]
    seen: Option<SystemTime>,
    price: Option<Timestamped<f64>>,
    #[row(family = "h")]
    state: Versions<String>,
    #[row(family)]
    place: Option<Place>,
    #[row(family, gc(max_versions = 2))]
    daily: BTreeMap<String, i64>,
}

#[derive(Row)]
struct Place {
    city: Option<String>,
    floor: Option<i32>,
}

/// With what is computed corrected, as far as the errors tell it.
fn read(mut text: String) -> Option<Layouts> {
    for _ in 0..4 {
        let error = match Layouts::from_json(&text) {
            Ok(layouts) => return Some(layouts),
            Err(error) => error.to_string(),
        };
        let (found, computed) = error.split_once(": it is `")?.1.split_once("`, and that of the ")?;
        let computed = computed.split_once(" is `")?.1.split('`').next()?;
        text = text.replace(&format!("\"{found}\""), &format!("\"{computed}\""));
    }
    None
}

#[test]
fn layouts() {
    let files = [
        Layouts::new().table::<Event, Everything>("events"),
        Layouts::new().table::<Trade, Place>("trades").table::<Grown, Place>("grown"),
        Layouts::new().table::<OrderedEvent, Place>("events").table::<Event, Everything>("events"),
    ];
    fuzz("layouts", |bytes| {
        let mut input = Input::new(bytes);
        let older = &files[input.below(files.len())];
        let document = changed(serde_json::from_str(&older.to_json()).unwrap(), input);
        let Some(layouts) = read(document.to_string()) else { return };
        let printed = layouts.to_json();
        let again = Layouts::from_json(&printed).unwrap();
        assert_eq!(again.to_json(), printed);
        assert_eq!(again.changes_from(&layouts).iter().count(), 0);
        let _ = (layouts.changes_from(older).to_string(), older.changes_from(&layouts).to_string());
        for layout in layouts.table_names().flat_map(|table| layouts.table_layouts(table).unwrap()) {
            for row in layout.row_types() {
                assert_eq!(row.changes_from(&row.to_json()).unwrap().iter().count(), 0);
            }
        }
    });
}
