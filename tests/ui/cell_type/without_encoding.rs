use keyderive::Cell;

struct Place;

#[derive(Cell)]
struct Home(Place);

#[derive(Cell)]
struct Maybe(Option<String>);

#[derive(Cell)]
struct Count(usize);

fn main() {}
