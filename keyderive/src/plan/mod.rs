//! What a scan is: constraints, exact row ranges, buckets, explain. No I/O, no async.
//!
//! `Key::scan()` begins a scan; its builder fixes fields from the left and may end with a range or a
//! prefix. The result is a [`Plan`]: it knows, without a table, which requests are to be sent.

mod data;
mod draft;
mod encodings;
mod error;
mod explain;
mod fixed;
mod listed;
mod ordered;
mod position;
mod range;
mod request;
mod request_batches;
mod selection;
mod stage;

use std::fmt;
use std::marker::PhantomData;

pub use draft::Draft;
pub use error::PlanError;
pub use explain::Explain;
#[doc(hidden)]
pub use listed::Listed;
pub use range::{KeyRange, prefix_end};
pub use request::Request;
pub(crate) use request::RequestSize;
#[doc(hidden)]
pub use stage::{CanPlan, EndsAt, IsBehind, IsFirst, IsSecond, IsThird, NextAt};
pub use stage::{Ended, Fixed};

pub(crate) use explain::ExplainOptions;
#[cfg(feature = "client")]
pub(crate) use explain::{Limit, VersionsRead};
use position::Position;
#[cfg(feature = "client")]
pub(crate) use request_batches::RequestBatches;
use selection::Selection;

use crate::key::Field;

/// Exactly the rows that a scan's constraints select, as requests to a table.
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::plan::{KeyRange, Plan};
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
/// assert_eq!(requests[0].ranges(), [KeyRange::prefix(b"1#alice#")]);
///
/// // Nothing is fixed: every bucket is read.
/// assert_eq!(EventKey::scan().into_plan()?.requests().len(), 2);
///
/// // Of several users, each bucket is asked for its own.
/// let plan = EventKey::scan().user_id_any_of(["alice", "bob", "carol"]).at_range(..1000).into_plan()?;
/// assert_eq!(plan.requests().iter().map(|request| request.ranges().len()).sum::<usize>(), 3);
/// # Ok::<(), keyderive::plan::PlanError>(())
/// ```
///
/// # Laws
/// - The requests cover every row of the key type that satisfies the constraints, and no other.
/// - A fully fixed key is one row key, never a range.
/// - Empty and inverted ranges and empty lists are no request at all.
///
/// # As data
/// A plan is `Serialize` and `Deserialize`, to be run in another process. What is sent names the fingerprint of the
/// key type, and is refused where that is another one. It holds each constraint twice: in the bytes of keys, which are
/// what is read, and in words, which are shown as they were sent by [`explain`](Self::explain) and decide nothing.
pub struct Plan<K: ?Sized> {
    selection: Selection,
    key: PhantomData<fn() -> K>,
}

impl<K: ?Sized> Plan<K> {
    fn from_selection(selection: Selection) -> Self {
        Self { selection, key: PhantomData }
    }

    /// The plan of what a derived builder has collected.
    ///
    /// # Errors
    /// When a field was fixed to a value that no key can hold.
    #[doc(hidden)]
    pub fn from_draft(draft: Draft) -> Result<Self, PlanError> {
        draft.finish().map(Self::from_selection)
    }

    /// What is asked of the table; empty for a plan that reads nothing.
    ///
    /// Plain data, for use with any client. There is one request for each bucket that can hold a row, in their order;
    /// more of them only where the values of an `any_of` do not fit into one. Then all rows of a bucket's first
    /// request come before those of its second one.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.selection.batches(false).flatten().collect()
    }

    /// The requests in steps, in the order of the scan.
    #[cfg(feature = "client")]
    pub(crate) fn into_batches(self, reversed: bool) -> RequestBatches<'static> {
        self.selection.into_batches(reversed)
    }

    /// Whether the plan is the read of one row by its whole key.
    #[must_use]
    pub fn is_point_read(&self) -> bool {
        self.selection.is_whole() && self.selection.encodings.choices() == 1
    }

    /// Whether every field is fixed, so that only whole keys are asked for.
    #[cfg(feature = "client")]
    pub(crate) fn is_whole(&self) -> bool {
        self.selection.is_whole()
    }

    /// Whether nothing is constrained.
    #[cfg(feature = "client")]
    pub(crate) fn is_full(&self) -> bool {
        let Selection { constraints, window, after, .. } = &self.selection;
        constraints.is_empty() && window.is_none() && after.is_none()
    }

    /// Whether no row can satisfy the constraints, so that no request is sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.selection.is_empty()
    }

    /// Whether rows can be read in the order of their fields. Where a field left of the salt is not fixed, there is
    /// only the order of the stored keys.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.selection.is_ordered()
    }

    /// The part of the plan whose rows are stored in a range of row keys.
    #[must_use]
    pub fn within(&self, range: &KeyRange) -> Self {
        Self::from_selection(self.selection.within(range))
    }

    /// The stored keys that are looked at, where the plan is a part of another.
    #[cfg(feature = "client")]
    pub(crate) fn window(&self) -> Option<&KeyRange> {
        self.selection.window.as_ref()
    }

    /// The plan in words.
    #[must_use]
    pub fn explain(&self) -> Explain {
        Explain::of(&self.selection, ExplainOptions::default())
    }

    /// The plan in words, as a table's scan runs it.
    #[cfg(feature = "client")]
    pub(crate) fn explain_run(&self, options: ExplainOptions) -> Explain {
        Explain::of(&self.selection, options)
    }

    /// The place of a row in the order of the plan, by its stored key, as opaque text.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::plan::Plan;
    /// # #[derive(RowKey)] struct UserKey { id: u32 }
    /// let plan: Plan<UserKey> = UserKey::scan().into_plan()?;
    /// let token = plan.page_token(&UserKey { id: 7 }.encode()?, false);
    /// let rest = plan.after(&token, false)?;
    /// assert_eq!(rest.requests()[0].ranges()[0].start(), b"0000000007\0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It is bound to the constraints, the direction and the key layout.
    #[must_use]
    pub fn page_token(&self, key: &[u8], reversed: bool) -> String {
        Position::of(&self.selection, key, reversed).to_token(&self.selection)
    }

    /// What the plan has after the row of a [page token](Self::page_token), in every bucket.
    ///
    /// # Errors
    /// When it is no token, or one of another plan, direction or layout.
    pub fn after(&self, token: &str, reversed: bool) -> Result<Self, PlanError> {
        let mut selection = self.selection.clone();
        selection.after = Some(Position::from_token(token, &selection, reversed)?);
        Ok(Self::from_selection(selection))
    }

    /// The byte prefixes that hold the plan's rows and nothing else, one for each bucket, for what takes only such:
    /// `DropRowRange`. None where there are no such prefixes, or where one would be empty.
    #[must_use]
    pub fn prefixes(&self) -> Option<Vec<Vec<u8>>> {
        self.selection.prefixes()
    }

    /// The plan of every row of the key type.
    #[cfg(feature = "client")]
    pub(crate) fn full() -> Self
    where
        K: crate::key::RowKey,
    {
        Self::from_selection(Selection::full(K::SCHEMA))
    }
}

impl<K: ?Sized> Clone for Plan<K> {
    fn clone(&self) -> Self {
        Self::from_selection(self.selection.clone())
    }
}

impl<K: ?Sized> fmt::Debug for Plan<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the requests, of which the values of `any_of` may make millions.
        let Selection { schema, constraints, window, .. } = &self.selection;
        let field = |at: usize| schema.fields().get(at).map_or("", Field::name);
        let constraints = constraints.iter().map(|one| format!("{} {}", field(one.field), one.words));
        f.debug_struct("Plan")
            .field("key_type", &schema.key_type())
            .field("constraints", &constraints.collect::<Vec<_>>())
            .field("window", window)
            .finish()
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
