//! Vectorized operations on the bytes of text keys (SSE2, or SWAR on `u64` words): finding the end of a field, checking
//! for ASCII and UTF-8, appending.
//!
//! The only `unsafe` code of the keys. It is there to append without reloading a vector's length, to make a `str` of
//! bytes that are already checked, and to look at sixteen bytes in one step on x86-64. Each `unsafe` block has its proof,
//! and the tests compare the SSE2 and the portable form with plain loops.

#![allow(unsafe_code)]
// The first byte of a word is its lowest, so that its bits and its bytes have the same order.
#![allow(clippy::little_endian_bytes)]

/// The longest string that `put_checked` copies word by word.
const MAX_WORD_COPY: usize = 40;

/// A word whose bytes are above every delimiter.
static NEUTRAL_WORD: [u8; 8] = [u8::MAX; 8];

/// A vector to append parts of a few bytes to.
///
/// A `Vec` keeps its length in memory, so each append waits for the store of the one before. This keeps the length in a
/// register, and sets the vector's in `finish` and `with_vec`; until then the vector has its old length.
#[derive(Debug)]
pub struct KeyBuf<'a> {
    vec: &'a mut Vec<u8>,
    /// The memory of `vec`, of `capacity` bytes; the first `len` are written, and `len` is at most `capacity`.
    start: *mut u8,
    len: usize,
    capacity: usize,
}

impl<'a> KeyBuf<'a> {
    /// Appends to `vec`, after reserving room for `additional` bytes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(vec: &'a mut Vec<u8>, additional: usize) -> Self {
        vec.reserve(additional);
        let (start, len, capacity) = (vec.as_mut_ptr(), vec.len(), vec.capacity());
        Self { vec, start, len, capacity }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The end of the written bytes, with room for `count` more.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn end(&mut self, count: usize) -> *mut u8 {
        if self.capacity - self.len < count {
            (self.start, self.capacity) = grow(self.vec, self.len, count);
        }
        // SAFETY: `len` is at most `capacity`, so this is within the vector's memory or right after it.
        unsafe { self.start.add(self.len) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn push(&mut self, byte: u8) {
        self.put(&[byte]);
    }

    /// Appends bytes; fastest if the compiler knows how many.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        let end = self.end(bytes.len());
        // SAFETY: `end` has room for the bytes, which cannot lie in memory that is borrowed mutably through `vec`.
        unsafe { end.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.len += bytes.len();
    }

    /// Appends `bytes`, and returns whether one of them is at or below the delimiter.
    ///
    /// Strings of up to [`MAX_WORD_COPY`] bytes are copied as five words, which overlap in shorter strings, so that no
    /// branch depends on the length.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn put_checked(&mut self, bytes: &[u8], delimiter: u8) -> bool {
        let len = bytes.len();
        let (Some(first), Some(last), ..=MAX_WORD_COPY) =
            (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), len)
        else {
            let end = self.end(len);
            self.len += len;
            // SAFETY: `end` has room for `len` bytes.
            return unsafe { copy_any(bytes, delimiter, end) };
        };
        let end = self.end(len);
        let halves = u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
        let mut checked = WordCheck::new(halves, delimiter);
        // Four to seven bytes make no whole word, and the halves cover them: the loop then copies a constant to a
        // scratch word.
        let mut discarded = [0; 8];
        let (from, to) = match len < 8 {
            true => (NEUTRAL_WORD.as_ptr(), discarded.as_mut_ptr()),
            false => (bytes.as_ptr(), end),
        };
        let last_word = len.max(8) - 8;
        for at in [0, 8, 16, 24, 32] {
            let at = last_word.min(at);
            // SAFETY: if `len` is below 8, `from` and `to` have 8 bytes and `at` is zero; else they have `len` bytes, and
            // `at + 8` is at most `len`. The two do not overlap, as in `put`.
            unsafe {
                let word = from.add(at).cast::<u64>().read_unaligned();
                to.add(at).cast::<u64>().write_unaligned(word);
                checked = checked.with_word(word);
            }
        }
        // SAFETY: `end` has room for `len` bytes, and `len` is at least 4.
        unsafe {
            end.cast::<[u8; 4]>().write(*first);
            end.add(len - 4).cast::<[u8; 4]>().write(*last);
        }
        self.len += len;
        checked.holds_forbidden()
    }

    /// Lets `write` append to the vector itself.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn with_vec<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        // SAFETY: as in `finish`.
        unsafe { self.vec.set_len(self.len) };
        let written = write(self.vec);
        (self.start, self.len, self.capacity) = (self.vec.as_mut_ptr(), self.vec.len(), self.vec.capacity());
        written
    }

    /// The vector, with the appended bytes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn finish(self) -> &'a mut Vec<u8> {
        // SAFETY: `len` bytes of the vector's memory are written, and it has room for them.
        unsafe { self.vec.set_len(self.len) };
        self.vec
    }
}

/// Copies bytes of any length, and returns whether one of them is at or below the delimiter.
///
/// # Safety
/// `to` has room for the bytes, and does not overlap them.
#[inline(never)]
unsafe fn copy_any(bytes: &[u8], delimiter: u8, to: *mut u8) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    holds_forbidden(bytes, delimiter)
}

/// Lets `append` append to `vec`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn append_to<T, E>(
    vec: &mut Vec<u8>,
    append: impl FnOnce(&mut KeyBuf<'_>) -> Result<T, E>,
) -> Result<(), E> {
    let mut buf = KeyBuf::new(vec, 0);
    let appended = append(&mut buf);
    buf.finish();
    appended.map(drop)
}

/// Reserves room in `vec` for `count` bytes after its `len` written ones; returns its new memory and capacity.
#[cold]
#[inline(never)]
fn grow(vec: &mut Vec<u8>, len: usize, count: usize) -> (*mut u8, usize) {
    // SAFETY: as in `finish`.
    unsafe { vec.set_len(len) };
    vec.reserve(count);
    (vec.as_mut_ptr(), vec.capacity())
}

/// How many bytes one mask covers.
pub(super) const BLOCK: usize = 32;

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Eight copies of a byte.
const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// A key with bit masks of its first bytes: which are at or below the delimiter, and which are not ASCII.
///
/// The masks cover 64 bytes at most. One pass builds them without a branch on the bytes; finding the end of a field and
/// checking it for ASCII are then a few instructions each.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaskedKey<'a> {
    key: &'a [u8],
    /// How many bytes the masks cover; later bytes are searched on demand.
    masked_len: usize,
    forbidden: u64,
    not_ascii: u64,
}

impl<'a> MaskedKey<'a> {
    /// A key without masks, for key types whose fields all have a fixed width.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn unmasked(key: &'a [u8]) -> Self {
        Self { key, masked_len: 0, forbidden: 0, not_ascii: 0 }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(key: &'a [u8], delimiter: u8) -> Self {
        let Some((first, second)) = key.first_chunk::<BLOCK>().zip(second_block(key)) else {
            return Self::of_short(key, delimiter);
        };
        // In a key that is shorter than both blocks, they overlap, with equal bits where they do.
        let shift = key.len().min(2 * BLOCK) - BLOCK;
        let (forbidden, not_ascii) = masks(first, delimiter);
        let (second_forbidden, second_not_ascii) = masks(second, delimiter);
        Self {
            key,
            masked_len: shift + BLOCK,
            forbidden: u64::from(forbidden) | u64::from(second_forbidden) << shift,
            not_ascii: u64::from(not_ascii) | u64::from(second_not_ascii) << shift,
        }
    }

    /// Masks of a key that is shorter than a block.
    #[inline(never)]
    fn of_short(key: &'a [u8], delimiter: u8) -> Self {
        // The padding sets no bit.
        let mut block = [delimiter.saturating_add(1); BLOCK];
        let masked_len = key.len().min(BLOCK);
        block[..masked_len].copy_from_slice(&key[..masked_len]);
        let (forbidden, not_ascii) = masks(&block, delimiter);
        let known = (1_u64 << masked_len) - 1;
        Self {
            key,
            masked_len,
            forbidden: u64::from(forbidden) & known,
            not_ascii: u64::from(not_ascii) & known,
        }
    }

    /// The first byte at or below the delimiter, from `start` on; the length of the key if there is none.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn find_forbidden(&self, start: usize, delimiter: u8) -> usize {
        match self.forbidden >> (start % 64) {
            marked if marked != 0 && start < 64 => start + marked.trailing_zeros() as usize,
            _ => find_forbidden(self.key, self.masked_len.max(start), delimiter).unwrap_or(self.key.len()),
        }
    }

    /// The bytes from `start` to `end` as text, if the masks show that they are ASCII.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn ascii(&self, start: usize, end: usize) -> Option<&'a str> {
        let bytes = self.key.get(start..end)?;
        let ascii_from_start = (self.not_ascii >> (start % 64)).trailing_zeros() as usize;
        if end > self.masked_len || ascii_from_start < bytes.len() {
            return None;
        }
        // SAFETY: `not_ascii` has the bit of each byte above 127 among the first `masked_len` bytes of `key`, 64 at most,
        // and `end` is within them. So `start` is below 64, or `bytes` is empty; and the shifted mask has no bit for any
        // of `bytes`. They are ASCII, which is UTF-8.
        Some(unsafe { str::from_utf8_unchecked(bytes) })
    }
}

/// The second 32 bytes, or the last 32 of a shorter key.
#[cfg_attr(not(debug_assertions), inline(always))]
fn second_block(key: &[u8]) -> Option<&[u8; BLOCK]> {
    key.get(key.len().min(2 * BLOCK).checked_sub(BLOCK)?..)?.first_chunk()
}

/// The first byte at or below the delimiter, from `start` on.
#[inline(never)]
fn find_forbidden(bytes: &[u8], start: usize, delimiter: u8) -> Option<usize> {
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
/// Fields are short, so the cost is in branches that depend on their length: this checks words of eight bytes, and then
/// the last eight again.
#[inline]
pub(super) fn holds_forbidden(bytes: &[u8], delimiter: u8) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().any(|byte| *byte <= delimiter);
    };
    let words = bytes.as_chunks::<8>().0.iter().chain([last]);
    words.fold(0, |found, word| found | forbidden_in(u64::from_le_bytes(*word), delimiter)) != 0
}

/// Sets the high bit of each byte at or below the delimiter; exact up to the first of them.
#[cfg_attr(not(debug_assertions), inline(always))]
fn forbidden_in(word: u64, delimiter: u8) -> u64 {
    word.wrapping_sub(repeated(delimiter + 1)) & !word & HIGH_BITS
}

/// The masks of a block: bytes at or below the delimiter, and bytes that are not ASCII.
#[cfg_attr(not(debug_assertions), inline(always))]
fn masks(block: &[u8; BLOCK], delimiter: u8) -> (u32, u32) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        sse2::masks(block, delimiter)
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    {
        portable::masks(block, delimiter)
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
use portable::WordCheck;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use sse2::WordCheck;

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
mod portable {
    use super::{BLOCK, HIGH_BITS, forbidden_in, repeated};

    /// The high bits of the forbidden bytes of all words so far.
    #[derive(Clone, Copy)]
    pub(super) struct WordCheck {
        delimiter: u8,
        forbidden: u64,
    }

    impl WordCheck {
        #[cfg_attr(not(debug_assertions), inline(always))]
        pub(super) fn new(word: u64, delimiter: u8) -> Self {
            Self { delimiter, forbidden: forbidden_in(word, delimiter) }
        }

        #[cfg_attr(not(debug_assertions), inline(always))]
        pub(super) fn with_word(self, word: u64) -> Self {
            Self { forbidden: self.forbidden | forbidden_in(word, self.delimiter), ..self }
        }

        #[cfg_attr(not(debug_assertions), inline(always))]
        pub(super) fn holds_forbidden(self) -> bool {
            self.forbidden != 0
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn masks(block: &[u8; BLOCK], delimiter: u8) -> (u32, u32) {
        block.as_chunks::<8>().0.iter().rev().fold((0, 0), |(forbidden, not_ascii), word| {
            let word = u64::from_le_bytes(*word);
            // Sets the high bit of each byte above the delimiter. The summands have no high bits, so no byte
            // carries.
            let above = ((word & !HIGH_BITS) + repeated(0x7f - delimiter)) | word;
            (forbidden << 8 | pack_high_bits(!above), not_ascii << 8 | pack_high_bits(word))
        })
    }

    /// Packs the high bits of eight bytes into one byte, in the same order.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn pack_high_bits(word: u64) -> u32 {
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

    /// The least byte of all words so far, for each of the eight places in a word.
    #[derive(Clone, Copy)]
    pub(super) struct WordCheck {
        delimiter: u8,
        least: __m128i,
    }

    impl WordCheck {
        #[cfg_attr(not(debug_assertions), inline(always))]
        pub(super) fn new(word: u64, delimiter: u8) -> Self {
            // SAFETY: the module is compiled only where SSE2 is available.
            Self { delimiter, least: unsafe { _mm_cvtsi64_si128(word.cast_signed()) } }
        }

        #[cfg_attr(not(debug_assertions), inline(always))]
        pub(super) fn with_word(self, word: u64) -> Self {
            let other = Self::new(word, self.delimiter);
            // SAFETY: as in `new`.
            Self { least: unsafe { _mm_min_epu8(self.least, other.least) }, ..self }
        }

        #[cfg_attr(not(debug_assertions), inline(always))]
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

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn masks(block: &[u8; BLOCK], delimiter: u8) -> (u32, u32) {
        let half = |half: usize| {
            let bytes: &[u8; 16] = &block.as_chunks().0[half];
            // SAFETY: the module is compiled only where SSE2 is available; the load reads the 16 bytes of `bytes`, at any alignment.
            unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>());
                let not_above = _mm_min_epu8(bytes, _mm_set1_epi8(delimiter.cast_signed()));
                let forbidden = _mm_movemask_epi8(_mm_cmpeq_epi8(not_above, bytes));
                (forbidden.cast_unsigned(), _mm_movemask_epi8(bytes).cast_unsigned())
            }
        };
        let (low, high) = (half(0), half(1));
        (low.0 | high.0 << 16, low.1 | high.1 << 16)
    }
}

/// The bytes as text, if they are UTF-8; fast for short ASCII, such as names of columns.
#[inline]
pub(crate) fn as_text(bytes: &[u8]) -> Option<&str> {
    if is_short_ascii(bytes) {
        // SAFETY: ASCII is UTF-8.
        return Some(unsafe { str::from_utf8_unchecked(bytes) });
    }
    str::from_utf8(bytes).ok()
}

/// Whether the bytes are ASCII and at most sixteen.
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

/// The bytes as text, if they are UTF-8.
///
/// Strings in keys are short, and those that are not ASCII mix characters of one to four bytes, so a check that branches
/// on each character mispredicts most branches. This one has no such branch: it looks at each byte together with the
/// three before it.
#[inline(never)]
pub(super) fn utf8(bytes: &[u8]) -> Option<&str> {
    is_utf8(bytes).then(|| {
        // SAFETY: `is_utf8` holds for exactly the bytes that `str::from_utf8` accepts: each byte but a continuation
        // starts a character, each start is followed by as many continuations as it says, and the second bytes that
        // would make an overlong form, a surrogate or a character above U+10FFFF are rejected.
        unsafe { str::from_utf8_unchecked(bytes) }
    })
}

fn is_utf8(bytes: &[u8]) -> bool {
    const STEP: usize = 64;
    // The last three bytes of the previous step, then this step. Zeros follow the last byte, so a truncated character
    // lacks a continuation there.
    let mut window = [0; 3 + STEP];
    let mut wrong = 0;
    let (steps, rest) = bytes.as_chunks::<STEP>();
    for step in steps {
        window[3..].copy_from_slice(step);
        wrong |= has_invalid(&window);
        window.copy_within(STEP.., 0);
    }
    let (known, after) = window[3..].split_at_mut(rest.len());
    known.copy_from_slice(rest);
    after.fill(0);
    wrong | has_invalid(&window) == 0
}

/// Not 0 if a byte after the first three cannot stand there in UTF-8.
#[cfg_attr(not(debug_assertions), inline(always))]
fn has_invalid(window: &[u8; 67]) -> u8 {
    let mut wrong = 0;
    for at in 3..window.len() {
        let (byte, first, second, third) = (window[at], window[at - 1], window[at - 2], window[at - 3]);
        let continues = byte & 0xc0 == 0x80;
        let must_continue = (first >= 0xc0) | (second >= 0xe0) | (third >= 0xf0);
        // Starts of overlong forms of two bytes and of characters above U+10FFFF never occur.
        let never = (byte == 0xc0) | (byte == 0xc1) | (byte >= 0xf5);
        let overlong = (first == 0xe0) & (byte < 0xa0) | (first == 0xf0) & (byte < 0x90);
        let surrogate = (first == 0xed) & (byte >= 0xa0);
        let too_great = (first == 0xf4) & (byte >= 0x90);
        wrong |= u8::from((continues != must_continue) | never | overlong | surrogate | too_great);
    }
    wrong
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes around the boundaries of the checks: delimiters, the end of ASCII, first and second bytes of characters.
    fn boundary_bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            4 => any::<u8>(),
            4 => 0x20..0x30_u8,
            2 => Just(b'a'),
            8 => prop::sample::select(vec![
                0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef,
                0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
            ]),
        ];
        prop::collection::vec(byte, 0..150)
    }

    /// Text of characters of all lengths, with one byte changed or none.
    fn almost_text() -> impl Strategy<Value = Vec<u8>> {
        let change = prop::option::of((any::<prop::sample::Index>(), any::<u8>()));
        ("\\PC{0,60}", change).prop_map(|(text, change)| {
            let mut bytes = text.into_bytes();
            if let (Some((at, byte)), false) = (change, bytes.is_empty()) {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        })
    }

    proptest! {
        #[test]
        fn forbidden_bytes_are_found(key in boundary_bytes(), delimiter in 0..0x7f_u8, start in 0..160_usize) {
            let marked = MaskedKey::new(&key, delimiter);
            let plain = (start..key.len()).find(|at| key[*at] <= delimiter).unwrap_or(key.len());
            prop_assert_eq!(marked.find_forbidden(start, delimiter), plain);
            prop_assert_eq!(MaskedKey::unmasked(&key).find_forbidden(start, delimiter), plain);
            prop_assert_eq!(holds_forbidden(&key, delimiter), key.iter().any(|byte| *byte <= delimiter));
        }

        #[test]
        fn only_masked_ascii_is_text(key in boundary_bytes(), start in 0..150_usize, end in 0..150_usize) {
            let marked = MaskedKey::new(&key, b'#');
            let plain = key.get(start..end).filter(|bytes| bytes.is_ascii());
            let expected = plain.filter(|_| end <= 64).map(|bytes| str::from_utf8(bytes).unwrap());
            prop_assert_eq!(marked.ascii(start, end), expected);
            prop_assert_eq!(MaskedKey::unmasked(&key).ascii(start, end), expected.filter(|_| end == 0));
        }

        #[test]
        fn as_text_accepts_what_the_standard_library_accepts(some in boundary_bytes(), text in almost_text(), len in 0..20_usize) {
            for bytes in [&some[..], &text, &some[..len.min(some.len())], &text[..len.min(text.len())]] {
                prop_assert_eq!(as_text(bytes), str::from_utf8(bytes).ok());
            }
        }

        #[test]
        fn both_forms_make_the_same_masks(block in any::<[u8; BLOCK]>(), delimiter in 0..0x7f_u8) {
            let bit = |test: fn(u8, u8) -> bool| {
                block.iter().rev().fold(0, |bits, byte| bits << 1 | u32::from(test(*byte, delimiter)))
            };
            let plain = (bit(|byte, delimiter| byte <= delimiter), bit(|byte, _| !byte.is_ascii()));
            prop_assert_eq!(masks(&block, delimiter), plain);
            prop_assert_eq!(portable::masks(&block, delimiter), plain);
        }

        #[test]
        fn utf8_accepts_what_the_standard_library_accepts(bytes in prop_oneof![boundary_bytes(), almost_text()]) {
            prop_assert_eq!(utf8(&bytes), str::from_utf8(&bytes).ok());
        }
    }

    /// Each pair of bytes before each kind of byte, at every place in a step and across two steps.
    #[test]
    fn every_start_of_a_character_is_checked_as_by_the_standard_library() {
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                for rest in [&b""[..], b"a", b"\x80", b"\x80\x80", b"\xbfa", b"\x80\x80\x80", b"\xc3\xa9"] {
                    let bytes = [&[first, second], rest].concat();
                    assert_eq!(is_utf8(&bytes), str::from_utf8(&bytes).is_ok(), "{bytes:x?}");
                }
            }
        }
        for text in ["é", "語", "𝄞", "\u{7ff}\u{800}", "\u{d7ff}\u{e000}", "\u{ffff}\u{10000}\u{10ffff}"]
        {
            for before in 0..130 {
                let bytes = ["a".repeat(before).as_bytes(), text.as_bytes()].concat();
                for len in 0..=bytes.len() {
                    let bytes = &bytes[..len];
                    assert_eq!(is_utf8(bytes), str::from_utf8(bytes).is_ok(), "{}", bytes.escape_ascii());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_buffer_appends_all_bytes_and_finds_forbidden_ones(
            parts in prop::collection::vec(boundary_bytes(), 0..5),
            delimiter in 0..0x7f_u8,
            room in 0..200_usize,
        ) {
            let mut vec = Vec::with_capacity(room);
            vec.extend_from_slice(b"before");
            let mut plain = vec.clone();
            let mut buf = KeyBuf::new(&mut vec, 0);
            for part in &parts {
                let forbidden = buf.put_checked(part, delimiter);
                prop_assert_eq!(forbidden, part.iter().any(|byte| *byte <= delimiter));
                buf.push(delimiter);
                buf.with_vec(|vec| vec.extend_from_slice(b"--"));
                buf.put(part);
                plain.extend([part.as_slice(), &[delimiter], b"--", part].concat());
                prop_assert_eq!(buf.len(), plain.len());
            }
            prop_assert_eq!(buf.finish(), &plain);
        }

        #[test]
        fn both_forms_check_words_the_same(words in prop::collection::vec(any::<u64>(), 1..8), delimiter in 0..0x7f_u8) {
            let plain = words.iter().any(|word| word.to_le_bytes().iter().any(|byte| *byte <= delimiter));
            let first = (WordCheck::new(words[0], delimiter), portable::WordCheck::new(words[0], delimiter));
            let (fast, portable) = words.iter().fold(first, |(fast, portable), word| (fast.with_word(*word), portable.with_word(*word)));
            prop_assert_eq!((fast.holds_forbidden(), portable.holds_forbidden()), (plain, plain));
        }
    }

    /// Every text of four bytes, at the begin of a step and across two, and every word of which four bytes are a neighbour of the delimiter.
    #[test]
    fn every_four_bytes_are_checked_as_by_the_standard_library() {
        let step = keyderive_tests::one_in(16_411, "texts of four bytes");
        let mut block = [b'a'; BLOCK];
        for word in (0..=u32::MAX).step_by(step) {
            let four = word.to_be_bytes();
            let is_text = str::from_utf8(&four).is_ok();
            assert_eq!(utf8(&four).is_some(), is_text, "{four:x?}");
            block[14..18].copy_from_slice(&four);
            assert_eq!(is_utf8(&block), is_text, "{four:x?}");
            let plain = four.iter().any(|byte| *byte <= b'#');
            assert_eq!(holds_forbidden(&block, b'#'), plain, "{four:x?}");
            assert_eq!(masks(&block, b'#'), portable::masks(&block, b'#'), "{four:x?}");
        }
    }

    /// Strings of every length up to many words, in a buffer of exactly their length.
    #[test]
    fn strings_of_every_length_are_copied_whole() {
        let text: Vec<u8> = (0..90).map(|at| b'0' + at % 60).collect();
        for len in 0..=text.len() {
            let mut vec = Vec::new();
            let mut buf = KeyBuf::new(&mut vec, len);
            assert!(!buf.put_checked(&text[..len], b'#'));
            assert_eq!(buf.finish(), &text[..len]);
            for at in 0..len {
                let mut text = text[..len].to_vec();
                text[at] = b'#';
                assert!(KeyBuf::new(&mut Vec::new(), 0).put_checked(&text, b'#'), "{at} of {len}");
            }
        }
    }
}
