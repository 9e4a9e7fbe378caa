use keyderive::RowKey;

struct Site {
    name: String,
}

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[pad(8)]
    site: Site,
}

fn main() {}
