//! Constants in scope are not taken for the variables of generated code.
#![allow(non_upper_case_globals, missing_docs)]

use ::std::net::Ipv4Addr;

pub const value: u8 = 1;
pub const values: u8 = 1;
pub const out: u8 = 1;
pub const text: u8 = 1;
pub const bytes: u8 = 1;
pub const key: u8 = 1;
pub const f: u8 = 1;
pub const range: u8 = 1;
pub const prefix: u8 = 1;
pub const bound: u8 = 1;
pub const side: u8 = 1;
pub const delimiter: u8 = 1;

#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
pub struct User(pub String);

#[derive(::keyderive::KeyField, ::keyderive::Cell, Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Created = 1,
    Deleted = 2,
}

#[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
#[row_key(display)]
pub struct Event {
    pub user: User,
    pub kind: Kind,
    #[row_key(with = "crate::support::hexadecimal")]
    pub value: u32,
}

#[derive(::keyderive::Row, Clone, Debug, PartialEq)]
pub struct Row {
    pub key: Option<Ipv4Addr>,
    pub kind: Kind,
    #[row(with = "crate::support::hexadecimal")]
    pub value: u32,
    #[row(family)]
    pub out: ::std::collections::BTreeMap<String, u8>,
}

pub fn run() {
    let event = Event { user: User("alice".into()), kind: Kind::Created, value: 7 };
    assert_eq!(event.to_string().parse::<Event>().unwrap(), event);
    assert!(Event::scan().user_prefix("al").into_plan().is_ok());
    assert!(Event::scan().user("alice").kind_range(Kind::Created..=Kind::Deleted).into_plan().is_ok());
    let row = Row { key: None, kind: Kind::Deleted, value: 7, out: [("a".to_owned(), 1)].into() };
    crate::support::rows(&[row], <Row as ::keyderive::Row>::SCHEMA);
}
