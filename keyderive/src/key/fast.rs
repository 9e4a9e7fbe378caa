//! The bytes of text keys, many at a time: what ends a field, what is ASCII, what is UTF-8.
//!
//! The one place of `unsafe` code in the keys. It is there for two things: text that this module has checked becomes a
//! `str` without a second check, and on x86-64 sixteen bytes are looked at in one step. Each `unsafe` block has its
//! proof, and the tests hold both forms against plain ones.

#![allow(unsafe_code)]
// The first byte of a word is its lowest, so that bits and borrows run in the order of the bytes.
#![allow(clippy::little_endian_bytes)]

mod buf;

pub use buf::KeyBuf;
pub(super) use buf::append_to;

/// The bytes that are looked at in one go.
pub(super) const BLOCK: usize = 32;

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Eight copies of a byte.
const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// A key, and what is known of its first bytes: which are at or below the delimiter, and which are not ASCII.
///
/// A bit for each of the first 64 bytes, all made in one pass without a branch that depends on them: then the end of a
/// field and whether it is ASCII are a few instructions each, wherever it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marked<'a> {
    key: &'a [u8],
    /// How many bytes have bits: those that follow are looked at when they are asked for.
    reach: usize,
    forbidden: u64,
    not_ascii: u64,
}

impl<'a> Marked<'a> {
    /// Without any marks, for a key whose fields all have widths.
    #[inline(always)]
    pub(super) fn without(key: &'a [u8]) -> Self {
        Self { key, reach: 0, forbidden: 0, not_ascii: 0 }
    }

    #[inline(always)]
    pub(super) fn new(key: &'a [u8], delimiter: u8) -> Self {
        let Some((first, second)) = key.first_chunk::<BLOCK>().zip(second_block(key)) else {
            return Self::of_short(key, delimiter);
        };
        // Where the key is shorter than both, they overlap, and say the same of the bytes they share.
        let shift = key.len().min(2 * BLOCK) - BLOCK;
        let (forbidden, not_ascii) = marks(first, delimiter);
        let (forbidden_behind, not_ascii_behind) = marks(second, delimiter);
        Self {
            key,
            reach: shift + BLOCK,
            forbidden: u64::from(forbidden) | u64::from(forbidden_behind) << shift,
            not_ascii: u64::from(not_ascii) | u64::from(not_ascii_behind) << shift,
        }
    }

    /// A key that is shorter than a block.
    #[inline(never)]
    fn of_short(key: &'a [u8], delimiter: u8) -> Self {
        // What fills the block up is not marked.
        let mut block = [delimiter.saturating_add(1); BLOCK];
        let reach = key.len().min(BLOCK);
        block[..reach].copy_from_slice(&key[..reach]);
        let (forbidden, not_ascii) = marks(&block, delimiter);
        let known = (1_u64 << reach) - 1;
        Self { key, reach, forbidden: u64::from(forbidden) & known, not_ascii: u64::from(not_ascii) & known }
    }

    /// Where the first byte at or below the delimiter is, from the byte at `start` on; where there is none, the length
    /// of the key.
    #[inline(always)]
    pub(super) fn find_forbidden(&self, start: usize, delimiter: u8) -> usize {
        match self.forbidden >> (start % 64) {
            marked if marked != 0 && start < 64 => start + marked.trailing_zeros() as usize,
            _ => find_behind(self.key, self.reach.max(start), delimiter).unwrap_or(self.key.len()),
        }
    }

    /// The bytes from `start` to `end` as text, where they are known to be ASCII.
    #[inline(always)]
    pub(super) fn ascii(&self, start: usize, end: usize) -> Option<&'a str> {
        let bytes = self.key.get(start..end)?;
        let ascii_from_start = (self.not_ascii >> (start % 64)).trailing_zeros() as usize;
        if end > self.reach || ascii_from_start < bytes.len() {
            return None;
        }
        // SAFETY: `not_ascii` has the bit of each byte above 127 among the first `reach` bytes of `key`, which are 64 at
        // most, and `end` is within them. So `start` is below 64, or `bytes` is empty; and as many bytes from `start` on
        // as `bytes` has are ASCII, which is UTF-8.
        Some(unsafe { str::from_utf8_unchecked(bytes) })
    }
}

/// The 32 bytes after the first ones, or the last 32 of a key that ends before.
#[inline(always)]
fn second_block(key: &[u8]) -> Option<&[u8; BLOCK]> {
    key.get(key.len().min(2 * BLOCK).checked_sub(BLOCK)?..)?.first_chunk()
}

/// Where the first byte at or below the delimiter is, from the byte at `start` on.
#[inline(never)]
fn find_behind(bytes: &[u8], start: usize, delimiter: u8) -> Option<usize> {
    let (words, rest) = bytes.get(start..)?.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let found = forbidden_in(u64::from_le_bytes(*word), delimiter);
        if found != 0 {
            return Some(start + at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| *byte <= delimiter)?;
    Some(start + words.len() * 8 + at)
}

/// Whether some byte is at or below the delimiter, which is ASCII.
///
/// Fields are short, and what costs is a branch that goes another way for each length: so eight bytes at a time, and
/// the last eight once more.
#[inline]
pub(super) fn holds_forbidden(bytes: &[u8], delimiter: u8) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().any(|byte| *byte <= delimiter);
    };
    let words = bytes.as_chunks::<8>().0.iter().chain([last]);
    words.fold(0, |found, word| found | forbidden_in(u64::from_le_bytes(*word), delimiter)) != 0
}

/// The bytes at or below the delimiter, each by its high bit; exact up to the first of them.
#[inline(always)]
fn forbidden_in(word: u64, delimiter: u8) -> u64 {
    word.wrapping_sub(repeated(delimiter + 1)) & !word & HIGH_BITS
}

/// A bit for each byte at or below the delimiter, and one for each that is not ASCII.
#[inline(always)]
fn marks(block: &[u8; BLOCK], delimiter: u8) -> (u32, u32) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        sse2::marks(block, delimiter)
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    {
        portable::marks(block, delimiter)
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
use portable::Checked;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use sse2::Checked;

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
mod portable {
    use super::{BLOCK, HIGH_BITS, forbidden_in, repeated};

    /// What is known of the bytes of some words: the high bit of each that is forbidden.
    #[derive(Clone, Copy)]
    pub(super) struct Checked {
        delimiter: u8,
        forbidden: u64,
    }

    impl Checked {
        #[inline(always)]
        pub(super) fn new(word: u64, delimiter: u8) -> Self {
            Self { delimiter, forbidden: forbidden_in(word, delimiter) }
        }

        #[inline(always)]
        pub(super) fn and(self, word: u64) -> Self {
            Self { forbidden: self.forbidden | forbidden_in(word, self.delimiter), ..self }
        }

        #[inline(always)]
        pub(super) fn holds_forbidden(self) -> bool {
            self.forbidden != 0
        }
    }

    #[inline(always)]
    pub(super) fn marks(block: &[u8; BLOCK], delimiter: u8) -> (u32, u32) {
        block.as_chunks::<8>().0.iter().rev().fold((0, 0), |(forbidden, not_ascii), word| {
            let word = u64::from_le_bytes(*word);
            // A high bit for each byte that is above the delimiter; without the high bits, no byte carries.
            let above = ((word & !HIGH_BITS) + repeated(0x7f - delimiter)) | word;
            (forbidden << 8 | side_by_side(!above), not_ascii << 8 | side_by_side(word))
        })
    }

    /// The high bits of eight bytes as the bits of one, in the same order.
    #[inline(always)]
    fn side_by_side(word: u64) -> u32 {
        (((word & HIGH_BITS) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8,
        _mm_set1_epi8,
    };

    use super::BLOCK;

    /// What is known of the bytes of some words: the least in each of eight places.
    #[derive(Clone, Copy)]
    pub(super) struct Checked {
        delimiter: u8,
        least: __m128i,
    }

    impl Checked {
        #[inline(always)]
        pub(super) fn new(word: u64, delimiter: u8) -> Self {
            // SAFETY: the module is only there where SSE2 is.
            Self { delimiter, least: unsafe { _mm_cvtsi64_si128(word.cast_signed()) } }
        }

        #[inline(always)]
        pub(super) fn and(self, word: u64) -> Self {
            let other = Self::new(word, self.delimiter);
            // SAFETY: as in `new`.
            Self { least: unsafe { _mm_min_epu8(self.least, other.least) }, ..self }
        }

        #[inline(always)]
        pub(super) fn holds_forbidden(self) -> bool {
            // SAFETY: as in `new`.
            let not_above = unsafe {
                let not_above = _mm_min_epu8(self.least, _mm_set1_epi8(self.delimiter.cast_signed()));
                _mm_movemask_epi8(_mm_cmpeq_epi8(not_above, self.least))
            };
            // The upper eight bytes are zeros.
            not_above & 0xff != 0
        }
    }

    #[inline(always)]
    pub(super) fn marks(block: &[u8; BLOCK], delimiter: u8) -> (u32, u32) {
        let [low, high] = [0, 1].map(|half| {
            let bytes: &[u8; 16] = &block.as_chunks().0[half];
            // SAFETY: the module is only there where SSE2 is; the load reads the 16 bytes of `bytes`, at any alignment.
            unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>());
                let not_above = _mm_min_epu8(bytes, _mm_set1_epi8(delimiter.cast_signed()));
                let forbidden = _mm_movemask_epi8(_mm_cmpeq_epi8(not_above, bytes));
                (forbidden.cast_unsigned(), _mm_movemask_epi8(bytes).cast_unsigned())
            }
        });
        (low.0 | high.0 << 16, low.1 | high.1 << 16)
    }
}

/// The bytes as text, where they are UTF-8, quickly where they are few and ASCII, as names are.
#[cfg(feature = "client")]
#[inline]
pub(crate) fn as_text(bytes: &[u8]) -> Option<&str> {
    if is_short_ascii(bytes) {
        // SAFETY: ASCII is UTF-8.
        return Some(unsafe { str::from_utf8_unchecked(bytes) });
    }
    str::from_utf8(bytes).ok()
}

/// Whether the bytes are sixteen at most, and all ASCII.
#[cfg(feature = "client")]
#[inline]
fn is_short_ascii(bytes: &[u8]) -> bool {
    if let (Some(first), Some(last), ..=16) = (bytes.first_chunk(), bytes.last_chunk(), bytes.len()) {
        (u64::from_le_bytes(*first) | u64::from_le_bytes(*last)) & HIGH_BITS == 0
    } else if let (Some(first), Some(last), ..=7) = (bytes.first_chunk(), bytes.last_chunk(), bytes.len()) {
        u64::from(u32::from_le_bytes(*first) | u32::from_le_bytes(*last)) & HIGH_BITS == 0
    } else {
        bytes.len() < 4 && bytes.iter().all(u8::is_ascii)
    }
}

/// The bytes as text, where they are UTF-8.
///
/// Names that are not ASCII are short and mix characters of one to four bytes, so that a check that goes from character
/// to character takes a wrong branch at most of them. This one has none: it looks at each byte together with the three
/// before it.
#[inline(never)]
pub(super) fn utf8(bytes: &[u8]) -> Option<&str> {
    is_utf8(bytes).then(|| {
        // SAFETY: `is_utf8` holds for exactly the bytes that `str::from_utf8` accepts: each byte but a continuation
        // starts a character, each start is followed by as many continuations as it says, and the second bytes that
        // would make an overlong form, a surrogate or a character above U+10FFFF are refused.
        unsafe { str::from_utf8_unchecked(bytes) }
    })
}

fn is_utf8(bytes: &[u8]) -> bool {
    const STEP: usize = 64;
    // The last three bytes of the step before, and this one's. Zeros end the bytes: a character that is cut off lacks
    // a continuation there.
    let mut window = [0; 3 + STEP];
    let mut wrong = 0;
    let (steps, rest) = bytes.as_chunks::<STEP>();
    for step in steps {
        window[3..].copy_from_slice(step);
        wrong |= wrong_in(&window);
        window.copy_within(STEP.., 0);
    }
    let (known, after) = window[3..].split_at_mut(rest.len());
    known.copy_from_slice(rest);
    after.fill(0);
    wrong | wrong_in(&window) == 0
}

/// Whether one of the bytes after the first three cannot stand where it does in UTF-8; 0 where all can.
#[inline(always)]
fn wrong_in(window: &[u8; 67]) -> u8 {
    let mut wrong = 0;
    for at in 3..window.len() {
        let (byte, first, second, third) = (window[at], window[at - 1], window[at - 2], window[at - 3]);
        let continues = byte & 0xc0 == 0x80;
        let must_continue = (first >= 0xc0) | (second >= 0xe0) | (third >= 0xf0);
        // Starts of overlong forms of two bytes, and of characters above U+10FFFF.
        let never = (byte == 0xc0) | (byte == 0xc1) | (byte >= 0xf5);
        let overlong = (first == 0xe0) & (byte < 0xa0) | (first == 0xf0) & (byte < 0x90);
        let surrogate = (first == 0xed) & (byte >= 0xa0);
        let too_great = (first == 0xf4) & (byte >= 0x90);
        wrong |= u8::from((continues != must_continue) | never | overlong | surrogate | too_great);
    }
    wrong
}

#[cfg(test)]
mod tests;
