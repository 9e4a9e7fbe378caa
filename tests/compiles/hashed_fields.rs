//! What is hashed is what the field would have written, whatever chooses its format, in both layouts.
#![deny(warnings)]

use std::time::{Duration, SystemTime};

use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(allow(point_reads))]
pub struct TextKey {
    #[row_key(hash(md5), ts(unit = "millis"))]
    pub at: SystemTime,
    #[row_key(hash(md5), ts(format = "datetime17"))]
    pub until: SystemTime,
    #[pad(6)]
    #[row_key(hash(md5))]
    pub seq: u32,
    #[row_key(hash(md5), with = "upper")]
    pub user_id: String,
    pub site: String,
}

#[derive(RowKey)]
#[row_key(layout = "ordered", allow(point_reads))]
pub struct OrderedKey {
    pub site: String,
    #[row_key(hash(md5))]
    pub user_id: String,
    #[row_key(hash(md5), sequential)]
    pub number: u64,
}

mod upper {
    use keyderive::key::{FieldError, Width};

    pub const WIDTH: Width = Width::Delimited;

    pub fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.to_uppercase().as_bytes());
        Ok(())
    }

    pub fn read(bytes: &[u8]) -> Result<String, FieldError> {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

pub(crate) fn main() {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1426535612156);
    let key = TextKey { at, until: at, seq: 7, user_id: "alice".into(), site: "home".into() };
    // The sums of `1426535612156`, `20150316195332156`, `000007` and `ALICE`.
    let expected = "fe07b558776a67c11b4d8ea77589d887#a9e4960978764845a9a849631fa46f5e#\
                    27701bd8dd141b953b94a5c9a44697c0#b6b818304a439f91fc90b3fe8dd35be8#home";
    assert_eq!(key.encode().unwrap(), expected.as_bytes());

    // The sums of `alice` and of the number 7 as it is ordered, the one byte 0x87.
    let key = OrderedKey { site: "home".into(), user_id: "alice".into(), number: 7 };
    let expected = b"home\x00\x01\
        \x63\x84\xe2\xb2\x18\x4b\xcb\xf5\x8e\xcc\xf1\x0c\xa7\xa6\x56\x3c\x00\x01\
        \x8f\xec\x37\x87\x60\xf1\xe7\xe7\x08\xe9\xf5\x7e\xda\xfc\x28\xfc";
    assert_eq!(key.encode().unwrap(), expected);
}
