use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(ts(unit = "ms"))]
    at: std::time::SystemTime,
    #[row(ts(unit = "milis"))]
    until: std::time::SystemTime,
    #[row(ts)]
    since: std::time::SystemTime,
}

fn main() {}
