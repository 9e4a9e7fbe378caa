use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(escape = false)]
    user_id: String,
    #[row_key(desc = false, sequential("no"))]
    seq: u32,
    #[row_key(bit_reverse = true)]
    id: u64,
    #[row_key(hash(md5 = false))]
    site: String,
}

fn main() {}
