use keyderive::query::FromQueryRow;

struct UserId(i64);

#[derive(FromQueryRow)]
struct Visit {
    user: UserId,
    size: usize,
}

fn main() {}
