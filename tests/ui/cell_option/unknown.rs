use keyderive::Cell;

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

fn main() {}
