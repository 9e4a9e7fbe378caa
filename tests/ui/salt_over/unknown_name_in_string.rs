use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id,iste")]
struct EventKey {
    user_id: String,
    site: String,
}

fn main() {}
