//! A key type is an item, and so may stand in a function body; two keys may have fields of one name.
#![deny(warnings)]

pub(crate) fn main() {
    use keyderive::RowKey;

    #[derive(RowKey)]
    struct EventKey {
        user_id: String,
        at: u64,
    }

    #[derive(RowKey)]
    struct OrderKey {
        at: u64,
        user_id: String,
    }

    let event = EventKey { user_id: "alice".into(), at: 1 };
    let order = OrderKey { at: 1, user_id: "alice".into() };
    assert_ne!(event.encode().unwrap(), order.encode().unwrap());
    assert!(EventKey::scan().user_id("alice").at(1).into_plan().unwrap().is_point_read());
    assert!(OrderKey::scan().at(1).user_id("alice").into_plan().unwrap().is_point_read());
}
