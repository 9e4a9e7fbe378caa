use keyderive::Row;
use keyderive::row::{Sum, Versions};

#[derive(Row)]
struct Event {
    #[row(window = "1h")]
    kind: String,
    #[row(family = "sums", window = "7m")]
    hits: Versions<Sum>,
    #[row(family = "hourly")]
    hourly: Versions<Sum>,
}

fn main() {}
