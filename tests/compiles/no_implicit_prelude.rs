//! No name of the standard library is in scope, in the crate or in a module of it.
#![no_implicit_prelude]
#![deny(warnings)]

use ::keyderive::{KeyField, RowKey};

#[derive(KeyField)]
struct UserId(::std::string::String);

#[derive(KeyField, ::std::clone::Clone, ::std::marker::Copy, ::std::fmt::Debug)]
enum Kind {
    Created = 1,
    Deleted = 20,
}

#[derive(RowKey)]
#[row_key(tag = "EVENT", display, no_implicit_prelude)]
#[salt(range = 4, over = "user_id,kind")]
struct EventKey {
    user_id: UserId,
    kind: Kind,
    #[row_key(with = "shout")]
    site: ::std::string::String,
    #[reverse_ts]
    #[row_key(ts(unit = "millis"))]
    at: ::std::time::SystemTime,
    #[pad(6)]
    seq: u32,
}

#[derive(RowKey)]
#[row_key(layout = "ordered", no_implicit_prelude)]
struct OrderKey<'a> {
    name: &'a str,
    #[row_key(desc)]
    amount: i64,
}

/// A format of the user's own.
mod shout {
    use ::keyderive::key::{FieldError, Width};
    use ::std::{result::Result, string::String, vec::Vec};

    pub const WIDTH: Width = Width::Delimited;

    pub fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.to_uppercase().as_bytes());
        Result::Ok(())
    }

    pub fn read(bytes: &[u8]) -> Result<String, FieldError> {
        Result::Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// The attribute of a module is that of all modules in it.
mod within {
    #[derive(::keyderive::RowKey)]
    #[row_key(allow(point_reads), no_implicit_prelude)]
    pub struct HashedKey {
        pub user_id: ::std::string::String,
        #[row_key(sequential, hash(md5))]
        pub number: u64,
        pub seq: u32,
    }
}

pub(crate) fn main() {
    let at = ::std::time::SystemTime::UNIX_EPOCH;
    let text = "EVENT#2#alice#20#HOME#9223372036854775807#000007";
    let key: EventKey = ::std::str::FromStr::from_str(text).unwrap();
    ::std::assert!(::std::matches!(key.kind, Kind::Deleted) && key.at == at);
    ::std::assert_eq!(::std::string::ToString::to_string(&key), text);
    let scan = EventKey::scan().user_id("alice").kind_range(Kind::Created..);
    ::std::assert!(scan.into_plan().is_ok());
    let point = EventKey::scan().user_id("alice").kind(Kind::Created).site(&key.site).at(at).seq(7);
    ::std::assert!(point.into_plan().unwrap().is_point_read());

    let order = OrderKey { name: "alice", amount: 7 }.encode().unwrap();
    ::std::assert_eq!(OrderKey::decode(&order).unwrap().amount, 7);
    ::std::assert!(OrderKey::scan().name_prefix("al").explain().is_ok());

    let hashed = within::HashedKey { user_id: key.user_id.0, number: 7, seq: 7 };
    ::std::assert_eq!(hashed.encode().unwrap().len(), 5 + 1 + 32 + 1 + 10);
    ::std::assert!(within::HashedKey::scan().user_id("alice").into_plan().is_ok());
}
