//! FarmHash `Fingerprint64`, the hash that `FARM_FINGERPRINT` computes in BigQuery and Spanner SQL.
//!
//! ```
//! // SELECT FARM_FINGERPRINT("1footrue")
//! assert_eq!(keyderive_farmhash::fingerprint64(b"1footrue").cast_signed(), -1541654101129638711);
//! ```
//!
//! keyderive salts keys with it, since it is the only 64-bit hash that SQL can recompute, and the embedded Bigtable uses it
//! as the checksum of its files. The `farmhash` crate is wrong for inputs whose length is a multiple of 64 above 64. The
//! algorithm is `farmhashna` of <https://github.com/google/farmhash>; its authors guarantee that its output never changes,
//! so stored bytes may depend on it. Tests compare it with the compiled original.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
#![no_std]
// FarmHash is defined over little-endian words on every machine.
#![allow(clippy::little_endian_bytes)]

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

/// The 64-bit FarmHash fingerprint of `bytes`; the same on every machine and in every release.
#[must_use]
#[inline]
pub fn fingerprint64(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0..=16 => hash_up_to_16(bytes),
        17..=32 => hash_up_to_32(bytes),
        33..=64 => hash_up_to_64(bytes),
        _ => hash_long(bytes),
    }
}

/// The little-endian word at `at`. It is within `bytes`, since each branch of the hash has a least length.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline]
fn half_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u64::from(u32::from_le_bytes(word))
}

#[inline]
fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

/// Mixes two words to one, the Murmur-like final step for every length.
#[inline]
fn mix_pair(u: u64, v: u64, mul: u64) -> u64 {
    let a = shift_mix((u ^ v).wrapping_mul(mul));
    let b = shift_mix((v ^ a).wrapping_mul(mul));
    b.wrapping_mul(mul)
}

/// The multiplier of inputs up to 64 bytes, which depends on their length.
#[inline]
fn length_multiplier(len: usize) -> u64 {
    K2.wrapping_add((len as u64).wrapping_mul(2))
}

#[inline]
fn hash_up_to_16(s: &[u8]) -> u64 {
    let len = s.len();
    if len >= 8 {
        let mul = length_multiplier(len);
        let a = word(s, 0).wrapping_add(K2);
        let b = word(s, len - 8);
        let c = b.rotate_right(37).wrapping_mul(mul).wrapping_add(a);
        let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(mul);
        return mix_pair(c, d, mul);
    }
    if len >= 4 {
        let u = (len as u64).wrapping_add(half_word(s, 0) << 3);
        return mix_pair(u, half_word(s, len - 4), length_multiplier(len));
    }
    if len > 0 {
        let y = u64::from(s[0]).wrapping_add(u64::from(s[len >> 1]) << 8);
        let z = (len as u64).wrapping_add(u64::from(s[len - 1]) << 2);
        return shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2);
    }
    K2
}

#[inline]
fn hash_up_to_32(s: &[u8]) -> u64 {
    let len = s.len();
    let mul = length_multiplier(len);
    let a = word(s, 0).wrapping_mul(K1);
    let b = word(s, 8);
    let c = word(s, len - 8).wrapping_mul(mul);
    let d = word(s, len - 16).wrapping_mul(K2);
    let u = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let v = a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c);
    mix_pair(u, v, mul)
}

#[inline]
fn hash_up_to_64(s: &[u8]) -> u64 {
    let len = s.len();
    let mul = length_multiplier(len);
    let a = word(s, 0).wrapping_mul(K2);
    let b = word(s, 8);
    let c = word(s, len - 8).wrapping_mul(mul);
    let d = word(s, len - 16).wrapping_mul(K2);
    let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let z = mix_pair(y, a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c), mul);
    let e = word(s, 16).wrapping_mul(mul);
    let f = word(s, 24);
    let g = y.wrapping_add(word(s, len - 32)).wrapping_mul(mul);
    let h = z.wrapping_add(word(s, len - 24)).wrapping_mul(mul);
    let u = e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h);
    let v = e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g);
    mix_pair(u, v, mul)
}

/// The state between blocks of 64 bytes.
struct BlockState {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl BlockState {
    /// Absorbs a block of 64 bytes. `factor` is 9 for the last block, else 1.
    #[inline]
    fn absorb(&mut self, block: &[u8], mul: u64, factor: u64) {
        let Self { mut x, mut y, mut z, v, w } = *self;
        x = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(word(block, 8));
        x = x.rotate_right(37).wrapping_mul(mul);
        y = y.wrapping_add(v.1).wrapping_add(word(block, 48)).rotate_right(42).wrapping_mul(mul);
        x ^= w.1.wrapping_mul(factor);
        y = y.wrapping_add(v.0.wrapping_mul(factor)).wrapping_add(word(block, 40));
        z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(mul);
        let v = weak_hash(block, 0, v.1.wrapping_mul(mul), x.wrapping_add(w.0));
        let w = weak_hash(block, 32, z.wrapping_add(w.1), y.wrapping_add(word(block, 16)));
        *self = Self { x: z, y, z: x, v, w };
    }
}

#[inline]
fn weak_hash(block: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let last = word(block, at + 24);
    let first = a.wrapping_add(word(block, at));
    let b = b.wrapping_add(first).wrapping_add(last).rotate_right(21);
    let a = first.wrapping_add(word(block, at + 8)).wrapping_add(word(block, at + 16));
    (a.wrapping_add(last), b.wrapping_add(a.rotate_right(44)).wrapping_add(first))
}

#[inline(never)]
fn hash_long(s: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let mut state = BlockState {
        x: SEED.wrapping_mul(K2).wrapping_add(word(s, 0)),
        y,
        z: shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2),
        v: (0, 0),
        w: (0, 0),
    };
    // All whole blocks but the last: the last 64 bytes, absorbed below, may overlap the block before.
    let whole = (s.len() - 1) / 64 * 64;
    for block in s[..whole].chunks_exact(64) {
        state.absorb(block, K1, 1);
    }
    let mul = K1.wrapping_add((state.z & 0xff) << 1);
    state.w.0 = state.w.0.wrapping_add(((s.len() - 1) & 63) as u64);
    state.v.0 = state.v.0.wrapping_add(state.w.0);
    state.w.0 = state.w.0.wrapping_add(state.v.0);
    state.absorb(&s[s.len() - 64..], mul, 9);
    let BlockState { x, y, z, v, w } = state;
    // `absorb` swapped x and z, as the original does before its last mix.
    mix_pair(
        mix_pair(v.0, w.0, mul).wrapping_add(shift_mix(y).wrapping_mul(K0)).wrapping_add(z),
        mix_pair(v.1, w.1, mul).wrapping_add(x),
        mul,
    )
}

#[cfg(test)]
mod tests {
    use super::fingerprint64;

    // Hashes by the compiled C++ original.
    #[test]
    fn known_fingerprints() {
        for (input, signed) in [
            ("", -7_286_425_919_675_154_353_i64),
            ("alphabet", -2_427_165_924_636_348_523),
            ("1footrue", -1_541_654_101_129_638_711),
            ("2applefalse", 2_794_438_866_806_483_259),
            ("3true", -4_880_158_226_897_771_312),
        ] {
            assert_eq!(fingerprint64(input.as_bytes()).cast_signed(), signed, "{input}");
        }
    }
}
