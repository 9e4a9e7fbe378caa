use keyderive::Row;

#[derive(Row)]
enum Event {
    Login,
}

#[derive(Row)]
union Both {
    one: u8,
}

fn main() {}
