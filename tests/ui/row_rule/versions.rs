use keyderive::Row;
use keyderive::row::Versions;

#[derive(Row)]
struct Event {
    #[row(family = "h", gc(max_versions = 1))]
    state: Versions<String>,
}

fn main() {}
