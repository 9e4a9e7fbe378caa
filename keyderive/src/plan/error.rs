//! What can be wrong with a plan.

use std::error::Error;
use std::fmt;

use crate::key::EncodeError;

/// A scan that cannot be planned: a field was fixed to a value that no key of the type can hold.
///
/// Bounds of ranges and prefixes are cuts and not values, so they are never refused: what the field
/// cannot hold is clamped, or matches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(EncodeError);

impl PlanError {
    /// The field that cannot hold its value; none where the key as a whole is at fault.
    #[must_use]
    pub fn field_name(&self) -> Option<&'static str> {
        self.0.field_name()
    }
}

impl From<EncodeError> for PlanError {
    fn from(error: EncodeError) -> Self {
        Self(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the scan cannot be planned: {}", self.0)
    }
}

impl Error for PlanError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
