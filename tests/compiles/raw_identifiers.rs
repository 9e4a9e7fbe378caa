//! Fields and structs whose names are keywords.
#![deny(warnings)]
#![allow(non_camel_case_types)]

use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, over(type, r#match))]
struct r#struct {
    r#type: String,
    r#match: u64,
    r#fn: u32,
}

#[derive(RowKey)]
#[salt(range = 4, over = "type")]
struct r#enum {
    r#type: String,
}

pub(crate) fn main() {
    let key = r#struct { r#type: "click".into(), r#match: 1, r#fn: 2 };
    let decoded = r#struct::decode(&key.encode().unwrap()).unwrap().r#type;
    assert_eq!(decoded, "click");
    assert_eq!(r#struct::SCHEMA.key_type(), "struct");
    assert_eq!(r#struct::SCHEMA.fields()[0].name(), "type");
    assert!(r#struct::scan().r#type("click").match_range(1..).into_plan().is_ok());
    assert!(r#enum::scan().type_prefix("cl").explain().is_ok());
    assert!(r#enum { r#type: String::new() }.encode().is_ok());
}
