use keyderive::RowKey;

/// What the type is called is all that the derive sees.
type Uuid = u128;

#[derive(RowKey)]
struct EventKey {
    id: Uuid,
    user_id: String,
}

fn main() {}
