//! Misuse that `Row`, `Cell` and `FromQueryRow` find: a sample. `keyderive-macros/src/tests/messages` has all of it.

use keyderive::query::FromQueryRow;
use keyderive::row::{Sum, Versions};
use keyderive::{Cell, Row};

#[derive(Row)]
struct Event {
    #[row(nmae = "k")]
    kind: String,
    #[row(sum)]
    hits: i64,
    #[row(code)]
    level: i64,
    width: usize,
    balance: Option<u128>,
}

#[derive(Row)]
#[row(family = "a b")]
struct Families {
    kind: String,
    #[row(family, name = "keyderive.x")]
    place: Place,
    #[row(family = "")]
    note: String,
}

#[derive(Row)]
struct Place {
    city: String,
}

#[derive(Row)]
struct Windows {
    #[row(window = "1h")]
    kind: String,
    #[row(family = "sums", window = "7m")]
    hits: Versions<Sum>,
    #[row(family = "hourly")]
    hourly: Versions<Sum>,
}

#[derive(Cell)]
#[row(codes)]
enum Kind {
    #[row(nmae = "lo")]
    Logout,
    #[row(name)]
    Login,
    #[row(name = "x", name = "y")]
    Twice,
}

#[derive(Cell)]
#[row(code)]
struct UserId(#[row(name = "id")] String);

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
