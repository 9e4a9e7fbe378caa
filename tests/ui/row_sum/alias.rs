use keyderive::Row;
use keyderive::row::{Sum, Versions};

#[derive(Row)]
struct Page {
    title: String,
    #[row(family = "sums", alias = "views")]
    hits: Sum,
    #[row(family = "hourly", window = "1h", alias = "hours")]
    by_hour: Versions<Sum>,
}

fn main() {}
