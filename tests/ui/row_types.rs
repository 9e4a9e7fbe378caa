//! Types that a column, a cell or a row of a query cannot have.

use keyderive::query::FromQueryRow;
use keyderive::row::RowFilter;
use keyderive::{Cell, Row};

struct Place;

#[derive(Row)]
struct Event {
    place: Place,
    note: Option<Place>,
    #[row(json)]
    other: Place,
}

#[derive(Cell)]
struct Home(Place);

#[derive(Cell)]
struct Maybe(Option<String>);

#[derive(Cell)]
struct Size(usize);

#[derive(Cell)]
enum Kind {
    Login,
    Logout,
}

#[derive(Cell)]
struct Seen(bool);

fn order() {
    let _ = RowFilter::value_is(&Kind::Login);
    let _ = RowFilter::value_in(Kind::Login..Kind::Logout);
    let _ = RowFilter::value_in(Seen(false)..);
}

struct UserId(i64);

#[derive(FromQueryRow)]
struct Visit {
    user: UserId,
    size: usize,
}

fn main() {}
