use keyderive::query::FromQueryRow;

#[derive(FromQueryRow)]
struct Count(String, i64);

#[derive(FromQueryRow)]
enum Either {
    One,
}

#[derive(FromQueryRow)]
struct Lent<'a, T> {
    kind: &'a str,
    value: T,
}

fn main() {}
