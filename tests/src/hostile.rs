//! Input that somebody else wrote: bytes and texts with a few changes, of which some are accepted.

use fastrand::Rng;

use crate::variable;

/// What arguments, files, keys and JSON are made of: names, signs, numbers at limits, deep nesting, and what a terminal obeys. A `|` stands
/// between them.
const PARTS: &str = "name|at|seq|id|age|kind|user_id|alice|cf:|:|*|:key|0x31|0x|hex |,|=|>=|<|^=| in |#|\"|`|\\|\n|\r|\r\n|\\empty|\\u001b|7|-1|1e999|\
    NaN|18446744073709551616|2026-11-24|2026-11-24T00:00:00Z|{|}|[|]|{}|[[[[[[[[[[[[[[[[|null|true|\u{1b}[31m|\u{9b}2J|\u{202e}|\u{e0041}|\0|é|--|\
    --yes|-|1#alice#home#9221576497852775807#000042";

/// Random numbers for a kind of input. `KEYDERIVE_HOSTILE_SEED` makes others.
#[must_use]
pub fn random(kind: u64) -> Rng {
    Rng::with_seed(variable("KEYDERIVE_HOSTILE_SEED", 1) << 8 | kind)
}

fn part(rng: &mut Rng) -> &'static str {
    let mut parts = PARTS.split('|');
    let count = parts.clone().count();
    parts.nth(rng.usize(..count)).unwrap()
}

/// Up to six parts.
pub fn text(rng: &mut Rng) -> String {
    (0..rng.usize(1..7)).map(|_| part(rng)).collect()
}

/// The bytes with one change or two.
pub fn mutated(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut mutated = bytes.to_vec();
    for _ in 0..rng.usize(1..3) {
        let at = rng.usize(..=mutated.len());
        match rng.u8(..6) {
            0..3 => damage(rng, &mut mutated, bytes),
            3 => {
                let until = (at + rng.usize(..8)).min(mutated.len());
                let again = mutated[at..until].to_vec();
                drop(mutated.splice(at..at, again));
            }
            _ => drop(mutated.splice(at..at, part(rng).bytes())),
        }
    }
    mutated
}

/// The text with one change or two.
pub fn mutated_text(rng: &mut Rng, text: &str) -> String {
    String::from_utf8_lossy(&mutated(rng, text.as_bytes())).into_owned()
}

/// Damages bytes in one place, or in two. `other` are bytes of the same kind.
///
/// Most damage is small and within the alphabet of the bytes: a decoder would reject noise at the first byte.
pub fn damage(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=rng.u8(..8) / 7 {
        match rng.u8(..10) {
            0..7 => flip(rng, bytes),
            7 => bytes.insert(rng.usize(..=bytes.len()), byte(rng)),
            8 => cut(rng, bytes),
            _ => splice(rng, bytes, other),
        }
    }
}

/// Replaces one byte, mostly by another of its kind.
fn flip(rng: &mut Rng, bytes: &mut [u8]) {
    let len = bytes.len();
    if let Some(byte) = bytes.get_mut(rng.usize(..len.max(1))) {
        *byte = match *byte {
            b'0'..=b'9' if rng.u8(..8) > 0 => rng.digit(10) as u8,
            b'a'..=b'z' if rng.u8(..8) > 0 => rng.lowercase() as u8,
            byte if rng.bool() => byte ^ 1 << rng.u8(..8),
            _ => rng.u8(..),
        };
    }
}

/// Any byte, but mostly one that occurs in keys.
fn byte(rng: &mut Rng) -> u8 {
    match rng.u8(..8) {
        0 => rng.u8(..),
        1..4 => rng.digit(10) as u8,
        4 => *rng.choice(b"#-! %\0\x01\xff").unwrap(),
        _ => rng.lowercase() as u8,
    }
}

/// Removes a piece, most often a single byte.
fn cut(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let start = rng.usize(..=bytes.len());
    let longest = if rng.bool() { 1 } else { 8 };
    let end = bytes.len().min(start + rng.usize(..=longest));
    bytes.drain(start..end);
}

/// Continues as the other bytes do, from the same position or from any.
fn splice(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = rng.usize(..=bytes.len());
    let from = if rng.bool() { at.min(other.len()) } else { rng.usize(..=other.len()) };
    bytes.truncate(at);
    bytes.extend_from_slice(&other[from..]);
}
