//! A key type in another module has the methods of the trait, without the trait in scope.
#![deny(warnings)]

mod keys {
    use keyderive::RowKey;

    #[derive(RowKey, Debug, PartialEq)]
    #[salt(range = 4)]
    pub(crate) struct EventKey {
        pub(crate) user_id: String,
        pub(crate) at: u32,
    }

    #[derive(RowKey, Debug, PartialEq)]
    pub(crate) struct NameKey<'a> {
        pub(crate) name: &'a str,
    }

    #[derive(RowKey)]
    pub(crate) struct HashedKey {
        #[row_key(hash(md5))]
        pub(crate) id: u64,
    }

    /// A type with such methods of its own.
    #[derive(RowKey)]
    #[row_key(trait_methods)]
    pub(crate) struct OwnKey {
        pub(crate) id: u32,
    }

    impl OwnKey {
        pub(crate) const SCHEMA: u32 = 1;

        pub(crate) fn encode(&self) -> u32 {
            self.id
        }
    }

    // In generic code, the trait is the bound.
    pub(crate) fn encoded<K: RowKey>(key: &K) -> Vec<u8> {
        key.encode().unwrap()
    }
}

use keys::{EventKey, HashedKey, NameKey, OwnKey};

pub(crate) fn main() {
    let key = EventKey { user_id: "alice".into(), at: 7 };
    let mut bytes = Vec::new();
    key.encode_into(&mut bytes).unwrap();
    assert_eq!(key.encode().unwrap(), bytes);
    assert_eq!(EventKey::decode(&bytes).unwrap(), key);
    assert_eq!(EventKey::from_text(&key.to_text().unwrap()).unwrap(), key);
    assert!(key.salt_bucket().unwrap().is_some());
    assert_eq!(EventKey::fingerprint(), EventKey::SCHEMA.fingerprint());
    assert!(EventKey::row_key_schema().is_ok());
    assert!(EventKey::sql().is_ok());
    let plan = EventKey::scan().user_id("alice").at_range(1..9).into_plan().unwrap();
    assert_eq!(plan.requests().len(), 4);
    // Through another function, as an iterator would be made.
    let keys: Vec<_> = ["a", "b"].into_iter().map(|user| EventKey::scan().user_id(user)).collect();
    assert_eq!(keys.len(), 2);

    let bytes = NameKey { name: "alice" }.encode().unwrap();
    let decoded: NameKey<'_> = NameKey::decode(&bytes).unwrap();
    assert_eq!(decoded.name, "alice");
    let hashed = HashedKey { id: 7 }.encode().unwrap();
    assert_eq!(HashedKey::decode(&hashed).unwrap().as_bytes(), hashed);

    let key = OwnKey { id: 7 };
    assert_eq!((key.encode(), OwnKey::SCHEMA), (7, 1));
    assert_eq!(keys::encoded(&key), b"0000000007");
}
