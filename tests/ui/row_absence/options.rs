use keyderive::Row;

#[derive(Row)]
struct Event {
    note: Option<Option<String>>,
    #[row(default)]
    mail: Option<String>,
    #[row(counter)]
    views: Option<i64>,
}

fn main() {}
