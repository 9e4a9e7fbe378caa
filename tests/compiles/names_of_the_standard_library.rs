//! Names of the user's own in scope are not taken for those of the standard library.
#![deny(warnings)]
#![allow(dead_code)]


struct Result;
struct Option;
struct Vec;
struct String;
struct Some;
struct None;
struct Ok;
struct Err;
struct PhantomData;
struct Text;
struct Plan;
trait Clone {}
trait Debug {}
trait RowKey {}
trait KeyField {}
mod core {}
mod std {}

#[derive(keyderive::RowKey)]
#[salt(range = 4)]
struct EventKey {
    user_id: ::std::string::String,
    at: u64,
}

pub(crate) fn main() {
    let key = EventKey { user_id: "alice".into(), at: 1 };
    let bytes = key.encode().unwrap();
    assert_eq!(EventKey::decode(&bytes).unwrap().at, 1);
    assert!(EventKey::scan().user_id("alice").at(1).into_plan().unwrap().is_point_read());
}
