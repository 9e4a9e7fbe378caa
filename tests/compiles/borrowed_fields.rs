//! Fields borrowed for two lifetimes are read back out of the bytes.
#![deny(warnings)]

use std::borrow::Cow;

use keyderive::RowKey;

#[derive(RowKey, Debug, PartialEq)]
#[salt(range = 4, over(user_id, site))]
struct EventKey<'user, 'site> {
    user_id: &'user str,
    site: Cow<'site, str>,
    #[pad(8)]
    kind: &'user str,
    at: u64,
}

#[derive(RowKey)]
struct SiteKey<'a, 'b: 'a>
where
    'b: 'a,
{
    site: &'a str,
    room: &'b str,
}

pub(crate) fn main() {
    let key = EventKey { user_id: "alice", site: Cow::Borrowed("home"), kind: "click", at: 1 };
    assert_eq!(EventKey::decode(&key.encode().unwrap()).unwrap(), key);

    let user = String::from("alice");
    let bytes = SiteKey { site: &user, room: "hall" }.encode().unwrap();
    let SiteKey { site, room } = SiteKey::decode(&bytes).unwrap();
    assert_eq!((site, room), ("alice", "hall"));
    assert!(SiteKey::scan().site(&user).room_prefix("h").into_plan().is_ok());
}
