//! The error of a layout that is data.

use std::error::Error;
use std::fmt;

/// How many faults an error shows.
const MAX_SHOWN: usize = 20;

/// A layout that the derive would reject, or a name that a layout does not have.
///
/// The text has the first 20 faults, each with its place.
#[derive(Clone, PartialEq, Eq)]
pub struct LayoutError(Vec<String>);

impl LayoutError {
    pub(crate) fn new(faults: Vec<String>) -> Self {
        Self(faults)
    }

    /// All faults, each with its place.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(MAX_SHOWN)];
        f.write_str(&shown.join("; "))?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            others => write!(f, "; and {others} more"),
        }
    }
}

/// The text, since `unwrap` and a `main` that returns an error print `Debug`.
impl fmt::Debug for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LayoutError").field(&format_args!("{self}")).finish()
    }
}

impl Error for LayoutError {}
