use keyderive::RowKey;

struct Site {
    name: String,
}

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    site: Site,
}

fn main() {}
