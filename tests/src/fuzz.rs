//! Fuzz targets: tests that take bytes. An ordinary build gives them their corpora, which are deterministic and take milliseconds;
//! `tests/fuzz/run` makes a build in which libFuzzer looks for bytes that reach other code.

#[cfg(not(fuzzing))]
use std::{fs, path::Path};

/// Calls `check` with each line of `tests/fuzz/corpus/<target>.hex`; in a build for fuzzing, with bytes without end. `check` panics if
/// a law does not hold.
///
/// # Panics
///
/// When the target has no corpus, or `check` panics.
#[cfg(not(fuzzing))]
pub fn fuzz(target: &str, check: impl Fn(&[u8])) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target).with_extension("hex");
    let corpus = fs::read_to_string(&file).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
    for line in corpus.lines() {
        // Shown if this line fails.
        println!("{line}");
        check(&bytes_of(line));
    }
}

#[cfg(fuzzing)]
#[allow(missing_docs, reason = "it is the other one")]
pub fn fuzz(_: &str, check: impl Fn(&[u8])) {
    // The process ends at the first panic.
    let check = std::panic::AssertUnwindSafe(check);
    bolero::check!().for_each(move |bytes: &[u8]| (*check)(bytes));
}

/// The bytes of hexadecimal digits.
///
/// # Panics
///
/// If the text has other characters than hexadecimal digits, or an odd number of them.
#[must_use]
pub fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Takes values from bytes, one after the other. After the end of the bytes, all are zero and empty.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// Takes them from the start of these.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all bytes are taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *byte
    }

    /// An index into a list of so many.
    ///
    /// # Panics
    ///
    /// When the list is empty.
    pub fn below(&mut self, len: usize) -> usize {
        usize::from(self.byte()) % len
    }

    /// As many bytes as the next byte says, and at most all that are left.
    pub fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    /// Such bytes as text, in which each one that is not UTF-8 is replaced.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// All bytes that are left.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}
