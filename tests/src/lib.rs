//! Shared parts of the tests.

pub mod emulator;
pub mod shared;

/// The README's code blocks, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
