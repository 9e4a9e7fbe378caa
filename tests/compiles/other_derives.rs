//! Attributes of another derive, named as our options are: each derive passes over those of the other.
#![deny(warnings)]

use keyderive::{KeyField, RowKey};
use other_derive::Other;

#[derive(RowKey, Other)]
#[tag = "of the other"]
#[salt(range = 4, over = "user_id")]
pub struct EventKey {
    #[uuid(v1)]
    pub user_id: UserId,
    #[ts(rename = "time", unit = 7)]
    #[reverse_ts]
    pub at: u64,
    #[tag]
    pub kind: Kind,
}

#[derive(Other, RowKey)]
#[ts]
#[row_key(tag = "ORDER")]
pub struct OrderKey {
    #[ts(skip)]
    #[pad(6)]
    pub id: u32,
}

#[derive(Other, KeyField)]
#[ts(transparent)]
pub struct UserId(#[ts(skip)] String);

#[derive(KeyField, Other, Clone, Copy, Debug)]
#[tag(lower_case)]
pub enum Kind {
    #[ts(rename = "created")]
    Created = 1,
}

/// The other derive owns the bare names, so that ours stand in `row_key`.
#[derive(RowKey, Other)]
#[salt(of = "the other")]
#[row_key(salt(range = 4, over(id)), foreign(salt, pad, reverse_ts))]
pub struct ForeignKey {
    #[pad]
    #[row_key(pad(6))]
    pub id: u32,
    #[reverse_ts = 7]
    #[row_key(reverse_ts)]
    pub at: u64,
    #[pad("left")]
    pub seq: u32,
}

#[derive(RowKey)]
#[salt(range = 4, over = "id")]
pub struct BareKey {
    #[pad(6)]
    pub id: u32,
    #[reverse_ts]
    pub at: u64,
    pub seq: u32,
}

pub(crate) fn main() {
    let foreign = ForeignKey { id: 7, at: 1426535612156, seq: 3 }.encode().unwrap();
    assert_eq!(foreign, BareKey { id: 7, at: 1426535612156, seq: 3 }.encode().unwrap());
    let key = EventKey { user_id: UserId("alice".into()), at: 1426535612156, kind: Kind::Created };
    assert!(key.encode().unwrap().ends_with(b"#alice#9223370610319163651#1"));
    assert_eq!(OrderKey { id: 7 }.encode().unwrap(), b"ORDER#000007");
}
