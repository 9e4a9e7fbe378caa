use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey<'a> {
    user_id: &'a str,
    flags: &'a [bool],
}

fn main() {}
