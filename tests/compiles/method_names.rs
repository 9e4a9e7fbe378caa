//! Fields named like the derive's own variables, parameters and methods of every type.
#![deny(warnings)]

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    draft: String,
    stage: u64,
    range: u64,
    prefix: String,
    arg: u64,
    clone: u64,
    out: u64,
    key: u64,
    encode: u64,
    scan: u64,
}

pub(crate) fn main() {
    let scan = EventKey::scan().draft("a").stage(1).range(2).prefix("b").arg(3).clone(4).out(5);
    assert!(scan.key(6).encode(7).scan_range(1..=2).into_plan().is_ok());
    let key = EventKey {
        draft: "a".into(),
        stage: 1,
        range: 2,
        prefix: "b".into(),
        arg: 3,
        clone: 4,
        out: 5,
        key: 6,
        encode: 7,
        scan: 8,
    };
    assert_eq!(EventKey::decode(&RowKey::encode(&key).unwrap()).unwrap().scan, 8);
}
