use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(name = "a", name = "b")]
    kind: String,
    #[row(json, json)]
    tags: Vec<String>,
}

fn main() {}
