use keyderive::row::{Sum, Versions};

#[derive(keyderive::Row)]
struct Event {
    #[row(family = "daily", window = "1d", ttl = "1h")]
    daily: Versions<Sum>,
    #[row(family = "hourly", window = "1h", gc(max_age = "30m"))]
    hourly: Versions<Sum>,
}

fn main() {}
