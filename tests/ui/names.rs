//! Names and codes that a type has twice.

use keyderive::{KeyField, Row, RowKey};

#[derive(RowKey)]
struct EventKey {
    user_id: String,
}

impl EventKey {
    const SCHEMA: u32 = 1;

    fn encode(&self) -> String {
        self.user_id.clone()
    }
}

#[derive(Row)]
struct Event {
    kind: String,
}

impl Event {
    const KIND: &'static str = "kind";
}

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = 1,
    Changed = 0x1,
}

fn main() {}
