//! Names, methods and formats of the user's own, between items of any name.
#![deny(warnings, missing_docs, unused_qualifications)]

use keyderive::RowKey;

/// A format in a module whose names mean nothing to the derive.
mod format {
    use keyderive::key::{FieldError, Width};

    pub const WIDTH: Width = Width::Delimited;

    /// Deref coercion serves: the field is a `String`.
    pub fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.to_uppercase().as_bytes());
        Ok(())
    }

    pub fn read(bytes: &[u8]) -> Result<String, FieldError> {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

#[derive(RowKey, Debug)]
#[row_key(display)]
struct EventKey {
    #[row_key(with = "format", name = "value!", method = "r#type")]
    value: String,
    #[row_key(with = "crate::field_options::format", name = "at the same time")]
    out: String,
    #[row_key(method = "value")]
    r#type: u64,
}

mod elsewhere {
    /// More public than its format.
    #[derive(keyderive::RowKey, Debug)]
    pub struct OtherKey {
        #[row_key(with = "super::format")]
        bytes: String,
    }

    pub fn key() -> OtherKey {
        OtherKey { bytes: "A".into() }
    }
}

pub(crate) fn main() {
    let scan = EventKey::scan().r#type(&"A".into()).out(&"B".into());
    assert!(scan.value_range(5..).into_plan().is_ok());
    let key: EventKey = "A#B#00000000000000000007".parse().unwrap();
    assert_eq!((key.value.as_str(), key.out.as_str(), key.r#type), ("A", "B", 7));
    assert_eq!(elsewhere::key().to_text().unwrap(), "A");
}
