use keyderive::Cell;
use keyderive::row::RowFilter;

#[derive(Cell)]
enum Kind {
    Login,
    Logout,
}

#[derive(Cell)]
struct Seen(bool);

fn main() {
    let _ = RowFilter::value_is(&Kind::Login);
    let _ = RowFilter::value_in(Kind::Login..Kind::Logout);
    let _ = RowFilter::value_in(Seen(false)..);
}
