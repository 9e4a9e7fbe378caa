use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(name = "cf:n")]
    note: Option<String>,
    #[row(name = "http://example.com")]
    link: Option<String>,
}

fn main() {}
