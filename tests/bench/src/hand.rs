//! The key of the manual by hand, for these fields and no others: the fastest code that we know.
//!
//! The bytes, the hash and the checks are keyderive's; errors carry nothing. On x86-64 one step checks sixteen bytes;
//! elsewhere, a bit is computed for each byte.

#![allow(clippy::little_endian_bytes, reason = "FarmHash reads its input so")]
#![allow(unsafe_code)]

use keyderive::key::{MAX_KEY_LEN, fingerprint64};

use crate::LentKey;

/// `#`, 19 digits, `#`, 6 digits.
const TAIL: usize = 27;
const DELIMITER: u8 = b'#';
/// Names of 4 to this many bytes are copied without a branch that depends on their length.
const COPIED: usize = 48;
/// The ends of the names are searched for in two blocks of this many bytes, without a branch on the bytes' values.
const BLOCK: usize = 32;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// An invalid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Appends the key to `out`, which is unchanged after an error.
///
/// # Errors
/// For the same values as keyderive.
#[inline]
pub fn encode_into(key: &LentKey<'_>, out: &mut Vec<u8>) -> Result<(), Refused> {
    let (user, site) = (key.user_id.as_bytes(), key.site.as_bytes());
    let reversed = (i64::MAX as u64).checked_sub(key.at).ok_or(Refused)?;
    let salted = user.len() + 1 + site.len();
    let len = 2 + salted + TAIL;
    if key.seq >= 1_000_000 || len > MAX_KEY_LEN {
        return Err(Refused);
    }
    // Copying by words may write past the name, by up to one word.
    out.reserve(len + 8);
    let base = out.len();
    let (high, low) = (reversed / 10_000_000_000_000_000, reversed % 10_000_000_000_000_000);
    let top = eight_digits(high);
    // SAFETY: there is room for `len` bytes and a word after `base`, and all of the `len` are written.
    unsafe {
        let start = out.as_mut_ptr().add(base);
        let names = start.add(2);
        start.add(1).write(DELIMITER);
        let mut forbidden = copy_checked(user, names);
        names.add(user.len()).write(DELIMITER);
        forbidden |= copy_checked(site, names.add(user.len() + 1));
        if forbidden {
            return Err(Refused);
        }
        let tail = names.add(salted);
        tail.cast::<[u8; 4]>().write([DELIMITER, top[5], top[6], top[7]]);
        tail.add(4).cast::<[u8; 8]>().write(eight_digits(low / 100_000_000));
        tail.add(12).cast::<[u8; 8]>().write(eight_digits(low % 100_000_000));
        let [.., s0, s1, s2, s3, s4, s5] = eight_digits(key.seq.into());
        tail.add(20).cast::<[u8; 7]>().write([DELIMITER, s0, s1, s2, s3, s4, s5]);
        start.write(b'0' + bucket(std::slice::from_raw_parts(names, salted)));
        out.set_len(base + len);
    }
    Ok(())
}

/// Reads the key.
///
/// # Errors
/// For the same bytes as keyderive.
#[inline]
pub fn decode(key: &[u8]) -> Result<LentKey<'_>, Refused> {
    let (head, tail) = key.split_last_chunk::<TAIL>().ok_or(Refused)?;
    let (first, overlap) = key.first_chunk().zip(key.len().checked_sub(BLOCK)).ok_or(Refused)?;
    // A bit for each of the first 64 bytes, from two blocks that overlap if the key is shorter.
    let shift = overlap.min(BLOCK);
    let second = key[shift..].first_chunk().ok_or(Refused)?;
    let ((ends, not_ascii), (ends_behind, not_ascii_behind)) = (marks(first), marks(second));
    let ends = u64::from(ends) | u64::from(ends_behind) << shift;
    let not_ascii = u64::from(not_ascii) | u64::from(not_ascii_behind) << shift;
    let find = |start: usize| match ends & u64::MAX.checked_shl(start as u32).unwrap_or(0) {
        0 => find_behind(key, start.max(2 * BLOCK)),
        marked => marked.trailing_zeros() as usize,
    };
    let end = find(2);
    let [DELIMITER, t0, t1, t2, times @ .., DELIMITER, s0, s1, s2, s3, s4, s5] = tail else {
        return Err(Refused);
    };
    if key[1] != DELIMITER
        || key.len() > MAX_KEY_LEN
        || end >= head.len()
        || key[end] != DELIMITER
        || find(end + 1) != head.len()
    {
        return Err(Refused);
    }
    let (times, _) = times.as_chunks::<8>();
    let (high, wrong_high) = read_eight_digits([b'0', b'0', b'0', b'0', b'0', *t0, *t1, *t2]);
    let (middle, wrong_middle) = read_eight_digits(times[0]);
    let (low, wrong_low) = read_eight_digits(times[1]);
    let (seq, wrong_seq) = read_eight_digits([b'0', b'0', *s0, *s1, *s2, *s3, *s4, *s5]);
    if (wrong_high | wrong_middle | wrong_low | wrong_seq) & HIGH_BITS != 0 {
        return Err(Refused);
    }
    let reversed = high * 10_000_000_000_000_000 + middle * 100_000_000 + low;
    let at = (i64::MAX as u64).checked_sub(reversed).ok_or(Refused)?;
    let names = &head[2..];
    if key[0] != b'0' + bucket(names) {
        return Err(Refused);
    }
    let is_ascii = head.len() <= 2 * BLOCK && not_ascii & (u64::MAX >> (2 * BLOCK - head.len())) == 0;
    if !(is_ascii || is_utf8(&names[..end - 2]) && is_utf8(&head[end + 1..])) {
        return Err(Refused);
    }
    // SAFETY: both are ASCII, or were checked to be UTF-8.
    let (user_id, site) =
        unsafe { (str::from_utf8_unchecked(&names[..end - 2]), str::from_utf8_unchecked(&head[end + 1..])) };
    Ok(LentKey { user_id, site, at, seq: seq as u32 })
}

/// Copies `bytes`; whether some byte of them is forbidden.
///
/// # Safety
/// There is room at `to` for all of them, and for 8.
#[inline(always)]
unsafe fn copy_checked(bytes: &[u8], to: *mut u8) -> bool {
    let len = bytes.len();
    if !(4..=COPIED).contains(&len) {
        // SAFETY: as the caller says.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), len) };
        return holds_forbidden(bytes);
    }
    let mut first = [0; 4];
    let mut last = [0; 4];
    first.copy_from_slice(&bytes[..4]);
    last.copy_from_slice(&bytes[len - 4..]);
    let halves = u64::from(u32::from_le_bytes(first)) | u64::from(u32::from_le_bytes(last)) << 32;
    let mut checked = Checked::new(halves);
    // Less than a word is checked as its two halves.
    let words = if len < 8 { &[u8::MAX; 8] } else { bytes };
    let last_word = words.len() - 8;
    for at in [0, 8, 16, 24, 32, 40] {
        let at = last_word.min(at);
        // SAFETY: `at + 8` is at most the length of the words, and 8 or that of `bytes`.
        unsafe {
            let word = words.as_ptr().add(at).cast::<u64>().read_unaligned();
            to.add(at).cast::<u64>().write_unaligned(word);
            checked = checked.with_word(word);
        }
    }
    // SAFETY: as the caller says.
    unsafe {
        to.cast::<[u8; 4]>().write(first);
        to.add(len - 4).cast::<[u8; 4]>().write(last);
    }
    checked.holds_forbidden()
}

#[inline]
fn bucket(bytes: &[u8]) -> u8 {
    (fingerprint64(bytes) & 3) as u8
}

#[inline(never)]
fn holds_forbidden(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |found, byte| found | (*byte <= DELIMITER))
}

#[inline(never)]
fn find_behind(key: &[u8], start: usize) -> usize {
    let found = key.get(start..).and_then(|rest| rest.iter().position(|byte| *byte <= DELIMITER));
    found.map_or(key.len(), |at| start + at)
}

/// Whether each byte may follow the three before it; without a branch for each character.
#[inline(never)]
fn is_utf8(bytes: &[u8]) -> bool {
    let mut window = [0; 67];
    let mut wrong = 0;
    let (steps, rest) = bytes.as_chunks::<64>();
    let mut judge = |window: &[u8; 67]| {
        for at in 3..window.len() {
            let (byte, first, second, third) = (window[at], window[at - 1], window[at - 2], window[at - 3]);
            let continues = byte & 0xc0 == 0x80;
            let must_continue = (first >= 0xc0) | (second >= 0xe0) | (third >= 0xf0);
            let never = (byte == 0xc0) | (byte == 0xc1) | (byte >= 0xf5);
            let low = (first == 0xe0) & (byte < 0xa0) | (first == 0xf0) & (byte < 0x90);
            let high = (first == 0xed) & (byte >= 0xa0) | (first == 0xf4) & (byte >= 0x90);
            wrong |= u8::from((continues != must_continue) | never | low | high);
        }
    };
    for step in steps {
        window[3..].copy_from_slice(step);
        judge(&window);
        window.copy_within(64.., 0);
    }
    window[3..][..rest.len()].copy_from_slice(rest);
    window[3 + rest.len()..].fill(0);
    judge(&window);
    wrong == 0
}

#[cfg(target_arch = "x86_64")]
use sse2::{Checked, marks};
#[cfg(not(target_arch = "x86_64"))]
use words::{Checked, marks};

/// Each block of `unsafe` needs SSE2, which every processor of x86-64 has, and memory that a reference stands for.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8,
        _mm_set1_epi8,
    };

    use super::{BLOCK, DELIMITER};

    /// A bit for each forbidden byte, and for each that is not ASCII.
    #[inline(always)]
    pub(super) fn marks(block: &[u8; BLOCK]) -> (u32, u32) {
        let [low, high] = [0, 1].map(|half| {
            let bytes: &[u8; 16] = &block.as_chunks().0[half];
            // SAFETY: see the module.
            unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                (forbidden_in(bytes), _mm_movemask_epi8(bytes).cast_unsigned())
            }
        });
        (low.0 | high.0 << 16, low.1 | high.1 << 16)
    }

    #[inline(always)]
    fn forbidden_in(bytes: __m128i) -> u32 {
        // SAFETY: see the module.
        unsafe {
            let not_above = _mm_min_epu8(bytes, _mm_set1_epi8(DELIMITER.cast_signed()));
            _mm_movemask_epi8(_mm_cmpeq_epi8(not_above, bytes)).cast_unsigned()
        }
    }

    /// The least byte in each place of the words so far.
    pub(super) struct Checked(__m128i);

    impl Checked {
        #[inline(always)]
        pub(super) fn new(word: u64) -> Self {
            // SAFETY: see the module.
            Self(unsafe { _mm_cvtsi64_si128(word.cast_signed()) })
        }

        #[inline(always)]
        pub(super) fn with_word(self, word: u64) -> Self {
            // SAFETY: see the module.
            Self(unsafe { _mm_min_epu8(self.0, Self::new(word).0) })
        }

        #[inline(always)]
        pub(super) fn holds_forbidden(self) -> bool {
            forbidden_in(self.0) & 0xff != 0
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod words {
    use super::{BLOCK, HIGH_BITS};

    #[inline(always)]
    pub(super) fn marks(block: &[u8; BLOCK]) -> (u32, u32) {
        block.as_chunks::<8>().0.iter().rev().fold((0, 0), |(forbidden, not_ascii), word| {
            let word = u64::from_le_bytes(*word);
            let above = (word & !HIGH_BITS) + 0x5c5c_5c5c_5c5c_5c5c | word;
            (forbidden << 8 | side_by_side(!above), not_ascii << 8 | side_by_side(word))
        })
    }

    #[inline(always)]
    fn side_by_side(word: u64) -> u32 {
        (((word & HIGH_BITS) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
    }

    /// The high bits of the forbidden bytes.
    pub(super) struct Checked(u64);

    impl Checked {
        #[inline(always)]
        pub(super) fn new(word: u64) -> Self {
            Self(word.wrapping_sub(0x2424_2424_2424_2424) & !word & HIGH_BITS)
        }

        #[inline(always)]
        pub(super) fn with_word(self, word: u64) -> Self {
            Self(self.0 | Self::new(word).0)
        }

        #[inline(always)]
        pub(super) fn holds_forbidden(self) -> bool {
            self.0 != 0
        }
    }
}

/// The digits of a number below 10^8. It is split into 2 lanes of 4 digits, these into 4 of 2, and these into 8 of 1.
#[inline]
fn eight_digits(value: u64) -> [u8; 8] {
    let fours = ((value / 10_000) << 32) | (value % 10_000);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = (hundreds << 16) | (fours - 100 * hundreds);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    ((tens << 8) | (twos - 10 * tens) | 0x3030_3030_3030_3030).to_be_bytes()
}

/// The number, and a high bit in each byte that is not a digit.
#[inline]
fn read_eight_digits(digits: [u8; 8]) -> (u64, u64) {
    let word = u64::from_le_bytes(digits);
    let above = word.wrapping_add(0x4646_4646_4646_4646);
    let ones = word.wrapping_sub(0x3030_3030_3030_3030);
    let twos = ones.wrapping_mul(10).wrapping_add(ones >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos * 100 + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff, above | ones)
}
