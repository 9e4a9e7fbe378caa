use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    site_prefix: String,
    site: String,
}

fn main() {}
