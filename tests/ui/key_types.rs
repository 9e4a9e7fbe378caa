//! Types that a key has no format for.

use keyderive::RowKey;

struct Site {
    name: String,
}

#[derive(RowKey)]
struct OwnKey {
    home: Site,
    away: Site,
}

#[derive(RowKey)]
struct PaddedKey {
    user_id: String,
    #[pad(8)]
    site: Site,
}

#[derive(RowKey)]
struct ListKey {
    user_id: String,
    sites: Vec<String>,
}

#[derive(RowKey)]
struct LentListKey<'a> {
    user_id: &'a str,
    flags: &'a [bool],
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
struct WideKey {
    id: u128,
}

/// Uses of a refused key say nothing more.
fn uses(key: &PaddedKey) {
    let bytes = key.encode().unwrap();
    let key: PaddedKey = PaddedKey::decode(&bytes).unwrap();
    println!("{} {}", PaddedKey::scan().user_id(&key.user_id).explain().unwrap(), PaddedKey::SCHEMA);
}

fn main() {}
