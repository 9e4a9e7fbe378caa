use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "tomorrow"))]
struct Word {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "2026-02-30"))]
struct NoDay {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "2026-12-01T00:00:00"))]
struct NoZone {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since)]
struct Bare {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at))]
struct NoValue {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since())]
struct Empty {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 5, seq = 7))]
struct Twice {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 5u64))]
struct Typed {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 5.0))]
struct Float {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 5), since(at = 7))]
struct Again {
    user_id: String,
    at: SystemTime,
}

fn main() {}
