use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(json, ts(unit = "millis"))]
    at: std::time::SystemTime,
}

fn main() {}
