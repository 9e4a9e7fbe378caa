use keyderive::RowKey;

struct Site {
    name: String,
}

#[derive(RowKey)]
struct EventKey {
    home: Site,
    away: Site,
}

fn main() {}
