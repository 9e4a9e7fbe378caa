use keyderive::RowKey;

/// What the type is called is all that the derive sees.
type Uuid = u128;

#[derive(RowKey)]
struct EventKey {
    #[row_key(uuid(v7))]
    id: Uuid,
}

fn main() {}
