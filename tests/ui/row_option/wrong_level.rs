use keyderive::Row;

#[derive(Row)]
#[row(counter)]
struct Event {
    #[row(fingerprint = "0000000000000000")]
    kind: String,
}

fn main() {}
