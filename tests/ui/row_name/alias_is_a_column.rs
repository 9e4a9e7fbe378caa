use keyderive::Row;

#[derive(Row)]
struct Event {
    mail: String,
    #[row(alias = "mail")]
    email: String,
}

fn main() {}
