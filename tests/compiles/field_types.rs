//! Types of the user's own as fields: named like anything, as private as they like.
#![deny(warnings, missing_docs, unused_qualifications)]
#![allow(dead_code)]


struct Result;
struct Option;
struct Vec;
struct Cow;
struct Some;
struct Ok;
struct Text;
struct Width;
trait Copy {}
trait Clone {}
trait Debug {}
trait KeyField {}
trait RangeField {}
mod core {}
mod std {}

#[derive(keyderive::KeyField)]
struct String(::std::string::String);

#[derive(keyderive::KeyField)]
struct C(u32);

#[derive(keyderive::KeyField, ::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[allow(non_camel_case_types)]
enum r#type {
    r#struct = 1,
    #[deprecated]
    Self_ = 2_000,
    None = 0b11,
}

mod deprecated {
    #[deprecated]
    #[derive(keyderive::KeyField)]
    pub struct Old(pub u8);
}

/// More public than the types of its fields.
#[derive(keyderive::RowKey)]
#[allow(deprecated)]
pub struct EventKey {
    name: String,
    codec: C,
    kind: r#type,
    old: deprecated::Old,
}

pub(crate) fn main() {
    let scan = EventKey::scan().name("alice").codec(1).kind(r#type::r#struct);
    assert!(scan.old(7).into_plan().unwrap().is_point_read());
    assert!(EventKey::scan().name_range("a"..).into_plan().is_ok());

    #[derive(keyderive::KeyField)]
    struct Inside(u64);
    #[derive(keyderive::RowKey)]
    struct InsideKey {
        inside: Inside,
    }
    assert!(InsideKey { inside: Inside(1) }.encode().is_ok());
}
