//! Shared parts of the tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail by a panic, and say on stderr what they skip"
)]

pub mod emulator;
pub mod shared;
pub mod zip;

/// The README's code blocks, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The number in an environment variable, or `default` without it.
///
/// # Panics
///
/// When the variable is not a number.
#[must_use]
pub fn variable(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("`{name}` is `{text}`, and not a number")),
        Err(_) => default,
    }
}
