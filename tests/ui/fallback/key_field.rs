use keyderive::{KeyField, RowKey};

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created,
}

#[derive(KeyField)]
#[row_key(crat = "keyderive")]
struct UserId(String);

#[derive(RowKey)]
struct EventKey {
    user_id: UserId,
    kind: Kind,
}

fn main() {
    let key = EventKey { user_id: UserId("alice".into()), kind: Kind::Created };
    let _ = (key.encode(), EventKey::scan().user_id("alice").kind(Kind::Created).into_plan());
}
