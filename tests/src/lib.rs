//! Shared parts of the tests.

pub mod emulator;
pub mod shared;
pub mod zip;

/// The README's code blocks, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
