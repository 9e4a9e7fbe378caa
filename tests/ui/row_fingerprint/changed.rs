use keyderive::Row;

#[derive(Row)]
#[row(fingerprint = "0123456789abcdef")]
struct Event {
    kind: String,
}

fn main() {}
