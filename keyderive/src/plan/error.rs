//! The error of planning a scan.

use std::error::Error;
use std::fmt;

use crate::key::EncodeError;

/// A scan that cannot be planned: a field is fixed to a value that no key can hold, or a page token is of another scan.
///
/// Bounds and prefixes need not be storable: a bound the field cannot hold is clamped, or the range is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(PlanFault);

#[derive(Clone, Debug, PartialEq, Eq)]
enum PlanFault {
    Key(EncodeError),
    Token { key_type: &'static str, fault: TokenFault },
}

/// Why a page token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenFault {
    Malformed,
    /// It is of a plan alone, or of an earlier release.
    WithoutTable,
    /// It is of a table's pages, and read by a plan alone.
    OfTable,
    OtherTable,
    OtherLayout,
    OtherDistinct,
    OtherPlan,
    OtherDirection,
}

impl PlanError {
    pub(super) fn token(key_type: &'static str, fault: TokenFault) -> Self {
        Self(PlanFault::Token { key_type, fault })
    }

    /// The field that cannot hold its value; `None` if the whole key or a page token is at fault.
    #[must_use]
    pub fn field_name(&self) -> Option<&'static str> {
        match &self.0 {
            PlanFault::Key(error) => error.field_name(),
            PlanFault::Token { .. } => None,
        }
    }

    /// Whether a page token is malformed, or of another scan.
    #[must_use]
    pub fn is_invalid_page_token(&self) -> bool {
        matches!(self.0, PlanFault::Token { .. })
    }
}

impl From<EncodeError> for PlanError {
    fn from(error: EncodeError) -> Self {
        Self(PlanFault::Key(error))
    }
}

impl PlanError {
    /// The text without the value, for logs.
    #[must_use = "it is the text to print"]
    pub fn redacted(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| match &self.0 {
            PlanFault::Key(error) => write!(f, "the scan cannot be planned: {}", error.redacted()),
            PlanFault::Token { .. } => write!(f, "{self}"),
        })
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key_type, fault) = match &self.0 {
            PlanFault::Key(error) => return write!(f, "the scan cannot be planned: {error}"),
            PlanFault::Token { key_type, fault } => (key_type, fault),
        };
        write!(f, "the scan of `{key_type}` cannot resume: ")?;
        f.write_str(match fault {
            TokenFault::Malformed => "the page token is malformed; pass the one of the last page unchanged",
            TokenFault::WithoutTable => {
                "the page token names no table: an earlier release of keyderive made it, or `Plan::page_token`, whose tokens only \
                 `Plan::after` takes; start a new scan"
            }
            TokenFault::OfTable => {
                "a scan of a table made the page token, and a plan alone cannot read it; pass it to `after` of a scan of the table"
            }
            TokenFault::OtherTable => "the page token is of another table; start a new scan",
            TokenFault::OtherDistinct => {
                "the page token is of a scan with another `distinct`, or with none; use the same for all pages"
            }
            TokenFault::OtherLayout => "the page token is of another key layout; start a new scan",
            TokenFault::OtherPlan => {
                "the page token is of a scan with other constraints; use the same ones for all pages"
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
            PlanFault::Key(error) => Some(error),
            PlanFault::Token { .. } => None,
        }
    }
}
