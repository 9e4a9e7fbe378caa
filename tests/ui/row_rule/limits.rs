use keyderive::Row;

#[derive(Row)]
#[row(gc(max_versions = 0))]
struct Event {
    #[row(family = "h", gc(max_age = "30"))]
    kind: String,
    #[row(family = "i", gc())]
    note: String,
    #[row(family = "j", gc(never, max_versions = 1))]
    text: String,
    #[row(family = "k", gc(max_agr = "1d"))]
    mail: String,
}

fn main() {}
