#[derive(keyderive::Row)]
#[row(ttl = "7d")]
struct Event {
    #[row(alias = "old:kind")]
    kind: Option<String>,
}

fn main() {}
