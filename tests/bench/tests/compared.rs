//! The compared encoders do the same: the hand-written key encodes, decodes and rejects what keyderive does, and the
//! peer decodes what it encodes. And keyderive does not allocate.

use allocation_counter::measure;
use keyderive_bench::peers::{LentStoreKey, StoreKey};
use keyderive_bench::{EventKey, LentKey, hand, keys};
use keyderive_tests::hostile::mutated;

#[test]
fn the_peer_round_trips() {
    for key in keys(1000) {
        let stored = storekey::encode_vec(&StoreKey::from(&key)).unwrap();
        let read: LentStoreKey<'_> = storekey::decode_borrow(&stored).unwrap();
        assert!(
            read.user_id == key.user_id.as_str() && read.site == key.site.as_str() && read.seq == key.seq
        );
    }
}

#[test]
fn the_hand_written_key_writes_the_same_bytes() {
    let mut keys = keys(10_000);
    let extreme = |user_id: &str, site: String, at, seq| EventKey { user_id: user_id.into(), site, at, seq };
    keys.extend([
        extreme("", String::new(), 0, 0),
        extreme("", String::new(), i64::MAX as u64, 999_999),
        extreme("", String::new(), i64::MAX as u64 + 1, 0),
        extreme("a", "b".into(), 0, 1_000_000),
        extreme("a#", "b".into(), 0, 0),
        extreme("a", "\0".into(), 0, 0),
        extreme("a", "b".repeat(4065), 0, 0),
        extreme("a", "b".repeat(4066), 0, 0),
    ]);
    for key in keys {
        let (mut by_hand, mut derived) = (b"before".to_vec(), b"before".to_vec());
        let agreed =
            hand::encode_into(&key.lend(), &mut by_hand).is_ok() == key.encode_into(&mut derived).is_ok();
        assert!(agreed && by_hand == derived, "{key:?}");
    }
}

#[test]
fn the_hand_written_key_refuses_the_same_bytes() {
    let mut rng = fastrand::Rng::with_seed(7);
    for key in keys(10_000) {
        let bytes = key.encode().unwrap();
        assert_eq!(hand::decode(&bytes).unwrap(), key.lend());
        let bytes = mutated(&mut rng, &bytes);
        assert_eq!(hand::decode(&bytes).ok(), LentKey::decode(&bytes).ok(), "{}", bytes.escape_ascii());
    }
    let long = LentKey { user_id: "a", site: &"b".repeat(4065), at: 0, seq: 0 }.encode().unwrap();
    assert!(hand::decode(&long).is_ok());
}

#[test]
fn encode_into_a_used_buffer_and_borrowed_decode_do_not_allocate() {
    let keys = keys(10_000);
    let encoded: Vec<_> = keys.iter().map(|key| key.encode().unwrap()).collect();
    let mut out = Vec::with_capacity(4096);
    let encoding = measure(|| {
        for key in &keys {
            out.clear();
            key.encode_into(&mut out).unwrap();
        }
    });
    assert_eq!(encoding.count_total, 0);
    let decoding = measure(|| {
        for key in &encoded {
            LentKey::decode(key).unwrap();
        }
    });
    assert_eq!(decoding.count_total, 0);
    // The counter works.
    assert!(measure(|| drop(EventKey::decode(&encoded[0]))).count_total > 0);
}

#[test]
fn encode_allocates_exactly_once() {
    let long = |len| EventKey { user_id: "a".into(), site: "b".repeat(len), at: 0, seq: 0 };
    for key in keys(10_000).into_iter().chain([long(0), long(64), long(1000), long(4065)]) {
        let mut encoded = Vec::new();
        assert_eq!(measure(|| encoded = key.encode().unwrap()).count_total, 1, "{key:?}");
        assert_eq!(encoded.capacity(), encoded.len(), "{key:?}");
    }
}
