use std::collections::BTreeMap;

use keyderive::row::Sum;

#[derive(keyderive::Row)]
struct Event {
    #[row(family, gc(max_age = "7d"))]
    views: BTreeMap<String, Sum>,
}

fn main() {}
