use keyderive::query::FromQueryRow;

#[derive(FromQueryRow)]
#[query(crat = "keyderive")]
struct Count {
    #[query(nam = "kind")]
    kind: String,
    #[query(name = 7)]
    n: i64,
    #[query(name = "kind")]
    again: String,
}

fn main() {}
