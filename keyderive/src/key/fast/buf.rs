//! The end of a key that is being written.

use super::{Checked, holds_forbidden};

/// The longest string that is copied in words.
const COPIED: usize = 40;

/// A word without a byte at or below any delimiter.
static NO_TEXT: [u8; 8] = [u8::MAX; 8];

/// A vector with its end at hand, for parts of a few bytes each.
///
/// A `Vec` keeps its length in memory, where each part would wait for the one before it. This keeps it in a register,
/// and gives it back in `finish` or `with_vec`; until then the vector has the bytes it had before.
#[derive(Debug)]
pub struct KeyBuf<'a> {
    vec: &'a mut Vec<u8>,
    /// Where the bytes of `vec` are, and how many fit there; those up to `len` are written, and `len` is at most
    /// `capacity`.
    start: *mut u8,
    len: usize,
    capacity: usize,
}

impl<'a> KeyBuf<'a> {
    /// At the end of `vec`, with room for as many bytes more.
    #[inline(always)]
    pub(in crate::key) fn new(vec: &'a mut Vec<u8>, room: usize) -> Self {
        vec.reserve(room);
        let (start, len, capacity) = (vec.as_mut_ptr(), vec.len(), vec.capacity());
        Self { vec, start, len, capacity }
    }

    #[inline(always)]
    pub(in crate::key) fn len(&self) -> usize {
        self.len
    }

    /// Where the next byte goes, with room for `count` of them.
    #[inline(always)]
    fn end(&mut self, count: usize) -> *mut u8 {
        if self.capacity - self.len < count {
            (self.start, self.capacity) = grow(self.vec, self.len, count);
        }
        // SAFETY: `len` is at most `capacity`, so this is within the vector's memory or right after it.
        unsafe { self.start.add(self.len) }
    }

    #[inline(always)]
    pub(in crate::key) fn push(&mut self, byte: u8) {
        self.put(&[byte]);
    }

    /// Appends bytes, best a number of them that is known to the compiler.
    #[inline(always)]
    pub(in crate::key) fn put(&mut self, bytes: &[u8]) {
        let end = self.end(bytes.len());
        // SAFETY: `end` has room for the bytes, which cannot lie in memory that is borrowed mutably through `vec`.
        unsafe { end.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.len += bytes.len();
    }

    /// Appends `bytes`; whether some byte of them is at or below the delimiter.
    ///
    /// Most strings are copied as five words, which overlap where there are fewer, so that no branch depends on the
    /// length.
    #[inline(always)]
    pub(in crate::key) fn put_checked(&mut self, bytes: &[u8], delimiter: u8) -> bool {
        let len = bytes.len();
        let (Some(first), Some(last), ..=COPIED) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), len)
        else {
            let end = self.end(len);
            self.len += len;
            // SAFETY: `end` has room for `len` bytes.
            return unsafe { copy_other(bytes, delimiter, end) };
        };
        let end = self.end(len);
        let halves = u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
        let mut checked = Checked::new(halves, delimiter);
        // Four to seven bytes are no word, and their halves do: the words are some others then, and go elsewhere.
        let mut aside = [0; 8];
        let (from, to) = match len < 8 {
            true => (NO_TEXT.as_ptr(), aside.as_mut_ptr()),
            false => (bytes.as_ptr(), end),
        };
        let last_word = len.max(8) - 8;
        for at in [0, 8, 16, 24, 32] {
            let at = last_word.min(at);
            // SAFETY: `from` and `to` are of 8 bytes where `len` is less, which makes `at` zero; else they are of `len`
            // bytes, and `at + 8` is at most that. The two do not overlap, as in `put`.
            unsafe {
                let word = from.add(at).cast::<u64>().read_unaligned();
                to.add(at).cast::<u64>().write_unaligned(word);
                checked = checked.and(word);
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

    /// Appends what `write` does.
    #[inline(always)]
    pub(in crate::key) fn with_vec<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        // SAFETY: as in `finish`.
        unsafe { self.vec.set_len(self.len) };
        let written = write(self.vec);
        (self.start, self.len, self.capacity) = (self.vec.as_mut_ptr(), self.vec.len(), self.vec.capacity());
        written
    }

    /// The vector, with all that was appended.
    #[inline(always)]
    pub(in crate::key) fn finish(self) -> &'a mut Vec<u8> {
        // SAFETY: `len` bytes of the vector's memory are written, and it has room for them.
        unsafe { self.vec.set_len(self.len) };
        self.vec
    }
}

/// Copies the few bytes, or the many, that [`KeyBuf::put_checked`] does not; whether one is at or below the delimiter.
///
/// # Safety
/// There is room for the bytes at `to`, which is not among them.
#[inline(never)]
unsafe fn copy_other(bytes: &[u8], delimiter: u8, to: *mut u8) -> bool {
    // SAFETY: as the caller says.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    holds_forbidden(bytes, delimiter)
}

/// Appends what `append` does to `vec`.
#[inline(always)]
pub(in crate::key) fn append_to<T, E>(
    vec: &mut Vec<u8>,
    append: impl FnOnce(&mut KeyBuf<'_>) -> Result<T, E>,
) -> Result<(), E> {
    let mut buf = KeyBuf::new(vec, 0);
    let appended = append(&mut buf);
    buf.finish();
    appended.map(drop)
}

/// More memory for `vec`, of whose bytes `len` are written.
#[cold]
#[inline(never)]
fn grow(vec: &mut Vec<u8>, len: usize, count: usize) -> (*mut u8, usize) {
    // SAFETY: as in `finish`.
    unsafe { vec.set_len(len) };
    vec.reserve(count);
    (vec.as_mut_ptr(), vec.capacity())
}
