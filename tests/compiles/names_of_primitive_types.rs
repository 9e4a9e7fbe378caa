//! Names of the user's own in scope are not taken for those of the primitive types.
#![deny(warnings)]
#![allow(dead_code, non_camel_case_types)]

use keyderive::{KeyField, RowKey};

struct u8;
struct u64;
struct bool;
struct str;

#[derive(KeyField)]
struct UserId(String);

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = 1,
}

mod address {
    use keyderive::key::{FieldError, Width};

    pub const WIDTH: Width = Width::Delimited;

    pub fn write(value: &String, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }

    pub fn read(bytes: &[u8]) -> Result<String, FieldError> {
        String::from_utf8(bytes.to_vec()).map_err(FieldError::new)
    }
}

#[derive(RowKey)]
#[row_key(display)]
struct EventKey {
    user_id: UserId,
    kind: Kind,
    #[row_key(with = "address")]
    address: String,
}

#[derive(RowKey)]
struct HashedKey {
    #[row_key(hash(md5))]
    user_id: UserId,
}

pub(crate) fn main() {
    let key = EventKey { user_id: UserId("alice".into()), kind: Kind::Created, address: "home".into() };
    assert_eq!(key.encode().unwrap(), b"alice#1#home");
}
