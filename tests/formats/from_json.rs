//! Schemas from their JSON.

use keyderive::dynamic::KeyLayout;

use super::cases::cases;

/// Whatever format a field has, its schema says enough to be made again.
#[test]
fn a_schema_is_read_back_from_its_json() {
    for case in cases() {
        let json = serde_json::to_string(case.schema).unwrap();
        let read =
            KeyLayout::from_json(&json).unwrap_or_else(|error| panic!("{}: {error}\n{json}", case.name()));
        assert_eq!(read.schema(), case.schema, "{}", case.name());
    }
}
