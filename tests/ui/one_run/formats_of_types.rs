use keyderive::RowKey;

#[derive(RowKey)]
#[salt(rnage = 4)]
struct EventKey<'a> {
    #[reverse_ts]
    at: String,
    #[pad(6)]
    is_new: bool,
    #[row_key(desc)]
    name: &'a str,
    #[row_key(bit_reverse)]
    id: [u8; 16],
    #[row_key(escape)]
    seq: u32,
    #[row_key(ts(unit = "millis"))]
    day: u64,
    #[row_key(uuid(simple))]
    uuid: String,
}

fn main() {}
