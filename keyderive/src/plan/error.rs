//! What can be wrong with a plan.

use std::error::Error;
use std::fmt;

use crate::key::EncodeError;

/// A scan that cannot be planned: a field was fixed to a value that no key of the type can hold, or a page token is of
/// another scan.
///
/// Bounds of ranges and prefixes are cuts and not values, so they are never refused: what the field
/// cannot hold is clamped, or matches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Key(EncodeError),
    Token { key_type: &'static str, fault: TokenFault },
}

/// Why a page token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenFault {
    NoToken,
    OtherLayout,
    OtherPlan,
    OtherDirection,
}

impl PlanError {
    pub(super) fn token(key_type: &'static str, fault: TokenFault) -> Self {
        Self(Kind::Token { key_type, fault })
    }

    /// The field that cannot hold its value; none where the key as a whole is at fault.
    #[must_use]
    pub fn field_name(&self) -> Option<&'static str> {
        match &self.0 {
            Kind::Key(error) => error.field_name(),
            Kind::Token { .. } => None,
        }
    }

    /// Whether a page token is none, or that of another scan.
    #[must_use]
    pub fn is_invalid_page_token(&self) -> bool {
        matches!(self.0, Kind::Token { .. })
    }
}

impl From<EncodeError> for PlanError {
    fn from(error: EncodeError) -> Self {
        Self(Kind::Key(error))
    }
}

impl PlanError {
    /// The text without the value, for logs that are not to have it.
    #[must_use = "it is a text, to be printed"]
    pub fn redacted(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| match &self.0 {
            Kind::Key(error) => write!(f, "the scan cannot be planned: {}", error.redacted()),
            Kind::Token { .. } => write!(f, "{self}"),
        })
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key_type, fault) = match &self.0 {
            Kind::Key(error) => return write!(f, "the scan cannot be planned: {error}"),
            Kind::Token { key_type, fault } => (key_type, fault),
        };
        write!(f, "the scan of `{key_type}` cannot go on: ")?;
        f.write_str(match fault {
            TokenFault::NoToken => "this is no page token; give back the one of the last page as it was",
            TokenFault::OtherLayout => "the page token is of another key layout; begin the scan anew",
            TokenFault::OtherPlan => {
                "the page token is of a scan with other constraints; ask for the next page with those of the first"
            }
            TokenFault::OtherDirection => {
                "the page token is of a scan in the other direction; call `reversed` for all pages or for none"
            }
        })
    }
}

impl Error for PlanError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::Key(error) => Some(error),
            Kind::Token { .. } => None,
        }
    }
}
