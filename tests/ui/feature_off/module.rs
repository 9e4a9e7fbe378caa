use keyderive::embedded::Bigtable;

fn main() {
    let _ = Bigtable::in_memory();
}
