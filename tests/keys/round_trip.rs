//! Laws 1 and 6: encode and decode are inverse, and keys have 1 to 4096 bytes.

use keyderive::RowKey;
use keyderive::key::MAX_KEY_LEN;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::keys::{Event, Names, Sample, check, for_every_key};

fn decode_gives_back_what_was_encoded<K: Sample>() {
    check(K::key(), |key| match key.encode() {
        Ok(bytes) => {
            prop_assert!((1..=MAX_KEY_LEN).contains(&bytes.len()));
            let lengths = K::SCHEMA.min_len()..=K::SCHEMA.max_len();
            prop_assert!(lengths.contains(&bytes.len()), "{} is not in {lengths:?}", bytes.len());
            prop_assert_eq!(K::decode(&bytes).unwrap(), key);
            Ok(())
        }
        Err(error) => {
            prop_assert!(error.is_too_long() || error.is_empty_key(), "{}", error);
            Ok(())
        }
    });
}
for_every_key!(decode_gives_back_what_was_encoded);

/// Values that the key cannot hold are errors that leave the output unchanged; all others decode as they were stored.
fn nothing_is_lost_silently<K: Sample>() {
    check(K::nasty(), |key| {
        let mut out = b"before".to_vec();
        match key.encode_into(&mut out) {
            Ok(()) => prop_assert_eq!(K::decode(&out[6..]).unwrap(), key.stored()),
            Err(error) => {
                prop_assert_eq!(out, b"before");
                prop_assert!(!error.to_string().is_empty());
            }
        }
        Ok(())
    });
}
for_every_key!(nothing_is_lost_silently);

/// If decode accepts a damaged key, encode writes it back byte for byte.
fn damaged_keys_are_refused_or_canonical<K: Sample>() {
    let damage = prop::collection::vec((any::<Index>(), 0..4u8, any::<u8>()), 1..3);
    check((K::key(), damage), |(key, damage)| {
        let Ok(mut bytes) = key.encode() else {
            return Ok(());
        };
        for (at, kind, byte) in damage {
            let at = at.index(bytes.len().max(1));
            match kind {
                0 if !bytes.is_empty() => bytes[at] = byte,
                1 if !bytes.is_empty() => bytes[at] ^= 1 << (byte % 8),
                2 if !bytes.is_empty() => drop(bytes.remove(at)),
                _ => bytes.insert(at.min(bytes.len()), byte),
            }
        }
        if let Ok(decoded) = K::decode(&bytes) {
            prop_assert_eq!(decoded.encode().unwrap(), bytes);
        }
        Ok(())
    });
}
for_every_key!(damaged_keys_are_refused_or_canonical);

#[test]
fn keys_over_4096_bytes_are_refused_both_ways() {
    let names = |len: usize| Names { first: "a".repeat(len), second: String::new(), third: String::new() };
    assert_eq!(names(4094).encode().unwrap().len(), 4096);
    let error = names(4095).encode().unwrap_err();
    assert!(error.is_too_long());
    assert_eq!(
        error.to_string(),
        "the row key of this `Names` is 4097 bytes; Bigtable allows 4096: \
         shorten its strings, or keep them in columns"
    );
    let long = [b"a".repeat(4095), b"##".to_vec()].concat();
    assert!(
        Names::decode(&long)
            .unwrap_err()
            .to_string()
            .ends_with("it is 4097 bytes long; a row key has 1 to 4096")
    );
}

#[test]
fn empty_keys_are_refused_both_ways() {
    let empty = crate::keys::Name { name: String::new() };
    let error = empty.encode().unwrap_err();
    assert!(error.is_empty_key());
    assert!(crate::keys::Name::decode(b"").is_err());
}

/// Borrowed fields point into the bytes that were decoded.
#[test]
fn borrowed_keys_borrow() {
    #[derive(RowKey, Debug, PartialEq)]
    struct Borrowed<'a, 'b> {
        user: &'a str,
        site: std::borrow::Cow<'b, str>,
        at: u32,
    }

    let key = Borrowed { user: "alice", site: "home".into(), at: 7 };
    let bytes = key.encode().unwrap();
    assert_eq!(bytes, b"alice#home#0000000007");
    let read = Borrowed::decode(&bytes).unwrap();
    assert_eq!(read, key);
    assert_eq!(read.user.as_ptr(), bytes.as_ptr());
    assert!(matches!(read.site, std::borrow::Cow::Borrowed(_)));
}

#[test]
fn a_wrong_bucket_is_refused() {
    let key = Event { user_id: "alice".into(), site: "home".into(), at: 1_426_535_612_156, seq: 42 };
    let mut bytes = key.encode().unwrap();
    bytes[0] = b'3';
    let error = Event::decode(&bytes).unwrap_err();
    assert!(error.is_wrong_bucket());
    assert_eq!(error.key(), bytes);
    bytes[0] = b'4';
    assert!(Event::decode(&bytes).unwrap_err().to_string().contains("bucket `4` is not 0 to 3"));
}
