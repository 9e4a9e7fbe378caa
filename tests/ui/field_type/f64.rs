use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    price: f64,
}

fn main() {}
