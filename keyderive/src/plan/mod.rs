//! What a scan is: constraints, exact row ranges, buckets, explain. No I/O, no async.
//!
//! `Key::scan()` begins a scan; its builder fixes fields from the left and may end with a range or a
//! prefix. The result is a [`Plan`]: it knows, without a table, which requests are to be sent.

mod draft;
mod error;
mod explain;
mod ordered;
mod parts;
mod range;
mod stage;

use std::fmt;
use std::marker::PhantomData;

pub use draft::Draft;
pub use error::PlanError;
pub use explain::Explain;
pub use parts::{Request, RequestRows};
pub use range::{KeyRange, prefix_end};
#[doc(hidden)]
pub use stage::{CanPlan, EndsAt, IsBehind, IsFirst, IsSecond, IsThird, NextAt};
pub use stage::{Ended, Fixed};

use parts::{Parts, Rows};

/// Exactly the rows that a scan's constraints select, as requests to a table.
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::plan::{KeyRange, Plan, RequestRows};
///
/// #[derive(RowKey)]
/// #[salt(range = 2, over = "user_id")]
/// struct EventKey {
///     user_id: String,
///     at: u64,
/// }
///
/// let plan: Plan<EventKey> = EventKey::scan().user_id("alice").into_plan()?;
/// let requests = plan.requests();
/// // The salted field is fixed, so one bucket can hold the rows.
/// assert_eq!(requests.len(), 1);
/// assert_eq!(requests[0].rows(), &RequestRows::Range(KeyRange::prefix(b"1#alice#")));
///
/// // Nothing is fixed: every bucket is read.
/// assert_eq!(EventKey::scan().into_plan()?.requests().len(), 2);
/// # Ok::<(), keyderive::plan::PlanError>(())
/// ```
///
/// # Laws
/// - The requests cover every row of the key type that satisfies the constraints, and no other.
/// - A fully fixed key is one row key, never a range.
/// - Empty and inverted ranges are no request at all.
pub struct Plan<K: ?Sized> {
    parts: Parts,
    key: PhantomData<fn() -> K>,
}

impl<K: ?Sized> Plan<K> {
    /// The plan of what a derived builder has collected.
    ///
    /// # Errors
    /// When a field was fixed to a value that no key can hold.
    #[doc(hidden)]
    pub fn from_draft(draft: Draft) -> Result<Self, PlanError> {
        Ok(Self { parts: draft.finish()?, key: PhantomData })
    }

    /// What is asked of the table, in the order of the buckets; empty for a plan that reads nothing.
    ///
    /// Plain data, for use with any client.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.parts.requests().collect()
    }

    /// Whether the plan is the read of one row by its whole key.
    #[must_use]
    pub fn is_point_read(&self) -> bool {
        matches!(self.parts.rows, Rows::Key(_))
    }

    /// Whether no row can satisfy the constraints, so that no request is sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.parts.rows, Rows::None)
    }

    /// The plan in words.
    #[must_use]
    pub fn explain(&self) -> Explain {
        Explain::new(self.parts.clone())
    }
}

impl<K: ?Sized> Clone for Plan<K> {
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), key: PhantomData }
    }
}

impl<K: ?Sized> fmt::Debug for Plan<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("requests", &self.requests()).finish()
    }
}

/// What can be run as a scan of a table with keys `K`: a [`Plan`], or any stage of a scan builder.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scan of `{K}`",
    note = "begin one with `{K}::scan()`"
)]
pub trait IntoPlan<K> {
    /// The plan.
    ///
    /// # Errors
    /// When a field was fixed to a value that no key can hold.
    fn into_plan(self) -> Result<Plan<K>, PlanError>;
}

impl<K> IntoPlan<K> for Plan<K> {
    fn into_plan(self) -> Result<Plan<K>, PlanError> {
        Ok(self)
    }
}
