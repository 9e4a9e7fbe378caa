use keyderive::KeyField;

#[derive(KeyField)]
#[pad(6)]
struct Seq(#[reverse_ts] u32);

#[derive(KeyField, Clone, Copy, Debug)]
#[salt(range = 4)]
enum Kind {
    #[row_key(name = "created")]
    Created = 1,
}

fn main() {}
