use keyderive::RowKey;

/// What the type is called is all that the derive sees.
type Date = u32;

#[derive(RowKey)]
struct EventKey {
    day: Date,
    user_id: String,
}

fn main() {}
