//! Layouts that come from data, kept for the life of the process: once for each content.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// How many different layouts of a kind a process keeps.
const MOST: usize = 10_000;
/// How many bytes their contents have at most.
const MOST_BYTES: usize = 32 << 20;

/// Values that are kept for the life of the process, so that they are `&'static`, each once for its content.
pub(crate) struct Interner<T: 'static> {
    /// In the plural: `row types`.
    what: &'static str,
    most: usize,
    kept: Mutex<Interned<T>>,
}

struct Interned<T: 'static> {
    by_content: BTreeMap<String, &'static T>,
    bytes: usize,
}

impl<T: Sync> Interner<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self::of_at_most(MOST, what)
    }

    const fn of_at_most(most: usize, what: &'static str) -> Self {
        Self { what, most, kept: Mutex::new(Interned { by_content: BTreeMap::new(), bytes: 0 }) }
    }

    /// The value of this canonical content, which `make` makes the first time. What `make` leaks is leaked once for each content.
    pub(crate) fn intern(
        &self,
        content: String,
        make: impl FnOnce() -> T,
    ) -> Result<&'static T, TooManyLayouts> {
        // A thread that panicked here has left a whole map.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.by_content.get(&content) {
            return Ok(known);
        }
        let bytes = kept.bytes + content.len();
        if kept.by_content.len() >= self.most || bytes > MOST_BYTES {
            return Err(TooManyLayouts { what: self.what, most: self.most });
        }
        let value: &'static T = Box::leak(Box::new(make()));
        kept.by_content.insert(content, value);
        kept.bytes = bytes;
        Ok(value)
    }
}

/// Text for the life of the process.
pub(crate) fn leak_text(text: &str) -> &'static str {
    Box::leak(text.into())
}

/// A list for the life of the process.
pub(crate) fn leak_list<T>(items: impl IntoIterator<Item = T>) -> &'static [T] {
    items.into_iter().collect::<Vec<_>>().leak()
}

/// The error of a layout that is one too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyLayouts {
    what: &'static str,
    most: usize,
}

impl fmt::Display for TooManyLayouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, most } = self;
        write!(
            f,
            "this process has read {most} different layouts of {what}, or {} MiB of them, and keeps each until it ends; read this one in \
             another process, and look for what makes so many",
            MOST_BYTES >> 20
        )
    }
}

impl Error for TooManyLayouts {}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn equal_contents_are_kept_once_and_no_more_than_so_many() {
        static NUMBERS: Interner<u64> = Interner::of_at_most(100, "numbers");
        let all = |of: u64| NUMBERS.intern(of.to_string(), || of);
        let found: Vec<Vec<_>> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| (0..100).map(|of| all(of).unwrap()).collect())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for one in &found {
            assert!(one.iter().zip(&found[0]).all(|(one, first)| std::ptr::eq(*one, *first)));
            assert!(one.iter().zip(0..).all(|(one, of)| **one == of));
        }
        let error = all(100).unwrap_err();
        assert_eq!(error.most, 100);
        assert!(
            error.to_string().starts_with("this process has read 100 different layouts of numbers"),
            "{error}"
        );
        assert_eq!(all(7), Ok(&7));

        static LARGE: Interner<()> = Interner::of_at_most(100, "texts");
        let large = |letter: &str| LARGE.intern(letter.repeat(MOST_BYTES / 2), || ()).is_ok();
        assert!(large("a") && large("b") && large("a") && !large("c"));
    }
}
