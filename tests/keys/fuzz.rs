//! Law 1 for damaged keys, a million in a whole run: decode never panics, and what it accepts encodes to the same bytes.
//!
//! Most damage is small and within the alphabet of the key: decode would reject noise at the first byte.

use fastrand::Rng;
use keyderive::RowKey;
use keyderive_tests::amount;

use crate::keys::{Battery, Event, Integers, Name, Names, Quote};

/// For all key types together.
fn mutations() -> u64 {
    amount("KEYDERIVE_DAMAGED_KEYS", "damaged keys", 20_000, 1_000_000)
}

const KEY_TYPES: u64 = 6;
const SEED: u64 = 0x6b65_7964_6572_6976;

/// A key type with random keys that can be encoded.
trait Random: RowKey {
    fn random(rng: &mut Rng) -> Self;
}

fn text(rng: &mut Rng, longest: usize) -> String {
    (0..rng.usize(..=longest)).map(|_| *rng.choice(&['a', 'b', 'z', '7', '~', 'é']).unwrap()).collect()
}

fn ascii(rng: &mut Rng, longest: usize) -> String {
    (0..rng.usize(..=longest)).map(|_| rng.lowercase()).collect()
}

impl Random for Event {
    fn random(rng: &mut Rng) -> Self {
        Self {
            user_id: text(rng, 20),
            site: text(rng, 40),
            at: rng.u64(..=i64::MAX as u64),
            seq: rng.u32(..1_000_000),
        }
    }
}

impl Random for Names {
    fn random(rng: &mut Rng) -> Self {
        Self { first: text(rng, 8), second: text(rng, 8), third: text(rng, 8) }
    }
}

impl Random for Integers {
    fn random(rng: &mut Rng) -> Self {
        Self {
            a: rng.u8(..),
            b: rng.u16(..),
            c: rng.u32(..),
            d: rng.u64(..),
            e: rng.u128(..),
            f: rng.i8(..),
            g: rng.i16(..),
            h: rng.i32(..),
            i: rng.i64(..),
            j: rng.i128(..),
        }
    }
}

impl Random for Battery {
    fn random(rng: &mut Rng) -> Self {
        Self { user: text(rng, 8), level: rng.i16(..), at: rng.i64(0..10_000_000_000_000) }
    }
}

impl Random for Quote {
    fn random(rng: &mut Rng) -> Self {
        Self { exchange: ascii(rng, 6), symbol: ascii(rng, 5), at: rng.i64(0..10_000_000_000_000) }
    }
}

impl Random for Name {
    fn random(rng: &mut Rng) -> Self {
        Self { name: format!("a{}", text(rng, 12)) }
    }
}

/// Damages `key` in one place, or in two. `other` is a key of the same type.
fn mutate(rng: &mut Rng, key: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=rng.u8(..8) / 7 {
        match rng.u8(..10) {
            0..7 => flip(rng, key),
            7 => key.insert(rng.usize(..=key.len()), byte(rng)),
            8 => cut(rng, key),
            _ => splice(rng, key, other),
        }
    }
}

/// Replaces one byte, mostly by another of its kind.
fn flip(rng: &mut Rng, key: &mut [u8]) {
    let len = key.len();
    if let Some(byte) = key.get_mut(rng.usize(..len.max(1))) {
        *byte = match *byte {
            b'0'..=b'9' if rng.u8(..8) > 0 => rng.digit(10) as u8,
            b'a'..=b'z' if rng.u8(..8) > 0 => rng.lowercase() as u8,
            byte => byte ^ 1 << rng.u8(..8),
        };
    }
}

/// Any byte, but mostly one that occurs in keys.
fn byte(rng: &mut Rng) -> u8 {
    match rng.u8(..8) {
        0 => rng.u8(..),
        1..4 => rng.digit(10) as u8,
        4 => *rng.choice(b"#-! %").unwrap(),
        _ => rng.lowercase() as u8,
    }
}

/// Removes a piece, most often a single byte.
fn cut(rng: &mut Rng, key: &mut Vec<u8>) {
    let start = rng.usize(..=key.len());
    let longest = if rng.bool() { 1 } else { 8 };
    let end = key.len().min(start + rng.usize(..=longest));
    key.drain(start..end);
}

/// Continues as another key does, from the same position or from any.
fn splice(rng: &mut Rng, key: &mut Vec<u8>, other: &[u8]) {
    let at = rng.usize(..=key.len());
    let from = if rng.bool() { at.min(other.len()) } else { rng.usize(..=other.len()) };
    key.truncate(at);
    key.extend_from_slice(&other[from..]);
}

/// Tests the mutations of one key type; returns how many of them decode.
fn fuzz<K: Random + for<'a> RowKey<Decoded<'a> = K>>(rng: &mut Rng) -> u64 {
    let mut keys = Vec::new();
    for _ in 0..256 {
        keys.push(K::random(rng).encode().unwrap());
    }
    let (mut damaged, mut again, mut decoded) = (Vec::new(), Vec::new(), 0);
    for _ in 0..mutations().div_ceil(KEY_TYPES) {
        let (key, other) = (rng.choice(&keys).unwrap(), rng.choice(&keys).unwrap());
        damaged.clone_from(key);
        // A digit replaced by itself is not a mutation.
        while damaged == *key {
            mutate(rng, &mut damaged, other);
        }
        match K::decode(&damaged) {
            Ok(read) => {
                again.clear();
                read.encode_into(&mut again).unwrap();
                assert_eq!(again, damaged, "{}", damaged.escape_ascii());
                decoded += 1;
            }
            // The error text depends on the bytes, so this prints it too.
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    decoded
}

#[test]
fn damaged_keys_are_refused_or_canonical() {
    let mutations = mutations();
    let mut rng = Rng::with_seed(SEED);
    let decoded = [
        ("Event", fuzz::<Event>(&mut rng)),
        ("Names", fuzz::<Names>(&mut rng)),
        ("Integers", fuzz::<Integers>(&mut rng)),
        ("Battery", fuzz::<Battery>(&mut rng)),
        ("Quote", fuzz::<Quote>(&mut rng)),
        ("Name", fuzz::<Name>(&mut rng)),
    ];
    assert_eq!(decoded.len() as u64, KEY_TYPES);
    println!("{decoded:?}");
    let total: u64 = decoded.iter().map(|(_, decoded)| decoded).sum();
    assert!(total * 10 >= mutations, "only {total} of {mutations} decode");
    // Some keys of each type decode, so that one type does not hide another that accepts nothing. Damage in
    // salted fields changes the hash: of keys with n buckets, 20 at most here, about one in n still decodes.
    for (key_type, decoded) in decoded {
        assert!(decoded * KEY_TYPES * 50 >= mutations, "only {decoded} of `{key_type}` decode");
    }
}
