//! Scans: constraints, exact row ranges, buckets, explain. No I/O, no async.
//!
//! `Key::scan()` begins a scan; its builder fixes fields from the left, and may end with a range or a prefix. The result
//! is a [`Plan`], which computes the requests of the scan without a table.

mod data;
mod draft;
mod encodings;
mod error;
mod explain;
mod fixed;
pub(crate) mod hex;
mod leading;
mod page_token;
mod position;
mod request;
mod request_batches;
mod selection;

use std::fmt;
use std::marker::PhantomData;

#[doc(hidden)]
pub use draft::{Draft, Ended, Fixed, Listed, Open, RangeOf};
pub use error::PlanError;
pub use explain::Explain;
pub(crate) use request::prefix_end;
pub use request::{KeyRange, Request};

pub(crate) use explain::ExplainOptions;
pub(crate) use explain::{Limit, MANY_ROW_ITEMS, VersionsRead, many_row_items};
pub(crate) use leading::Leading;
pub(crate) use page_token::Pages;
use position::Position;
pub(crate) use request::RequestSize;
pub(crate) use request_batches::RequestBatches;
#[cfg(feature = "client")]
use selection::Constraint;
use selection::Selection;

#[cfg(feature = "client")]
use crate::key::Cut;
use crate::key::Field;

/// Requests to a table for exactly the rows that satisfy a scan's constraints.
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
/// // Each bucket is asked only for its own users.
/// let plan = EventKey::scan().user_id_any_of(["alice", "bob", "carol"]).at_range(..1000).into_plan()?;
/// assert_eq!(plan.requests().iter().map(|request| request.ranges().len()).sum::<usize>(), 3);
/// # Ok::<(), keyderive::plan::PlanError>(())
/// ```
///
/// # Laws
/// - The requests cover every row of the key type that satisfies the constraints, and no other.
/// - A fully fixed key is one row key, never a range.
/// - An empty or inverted range or an empty list makes no request.
///
/// # Many ranges
/// The values of each `_any_of` multiply, and so do the buckets where a salted field is not fixed: 500 users on 300 sites are
/// 150,000 ranges, all of which are sent. A scan that reads over 100,000 keys and ranges works, but is slow; it logs a warning
/// once, and [`explain`](Self::explain) has the count in a line of its own. List fewer values, or fix fewer fields and drop the
/// other rows with `filter_key`.
///
/// # As data
/// A plan is `Serialize` and `Deserialize`, so that another process can run it. Deserializing fails if the key type there
/// has another fingerprint. The data has each constraint twice: as key bytes, which decide what is read, and in words,
/// for [`explain`](Self::explain).
pub struct Plan<K: ?Sized> {
    selection: Selection,
    key: PhantomData<fn() -> K>,
}

impl<K: ?Sized> Plan<K> {
    fn from_selection(selection: Selection) -> Self {
        Self { selection, key: PhantomData }
    }

    /// The plan of a derived builder's constraints.
    ///
    /// # Errors
    /// When a field was fixed to a value that no key can hold.
    #[doc(hidden)]
    pub fn from_draft(draft: Draft) -> Result<Self, PlanError> {
        draft.finish().map(Self::from_selection)
    }

    /// The requests to the table; empty for a plan that reads nothing.
    ///
    /// Plain data, for any client. There is one request for each bucket that can hold a row, in the order of the buckets;
    /// more only if the values of an `any_of` do not fit into one. Then all rows of a bucket's first request come before
    /// the rows of its second one.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.selection.batches(false).flatten().collect()
    }

    /// The requests in batches, in the order of the scan.
    pub(crate) fn into_batches(self, reversed: bool) -> RequestBatches<'static> {
        self.selection.into_batches(reversed)
    }

    /// Whether the plan is the read of one row by its whole key.
    #[must_use]
    pub fn is_point_read(&self) -> bool {
        self.selection.is_fully_fixed() && self.selection.encodings.choices() == 1
    }

    /// Whether every field is fixed, so that requests have only row keys.
    pub(crate) fn is_fully_fixed(&self) -> bool {
        self.selection.is_fully_fixed()
    }

    /// The layout of the keys, and how many fields are fixed.
    pub(crate) fn fixed(&self) -> (&'static crate::key::KeySchema, usize) {
        (self.selection.schema, self.selection.fixed())
    }

    /// What the fixed fields are stored as, from the left, and the cuts that a range or a prefix makes in the next one.
    #[cfg(feature = "client")]
    pub(crate) fn constraints(
        &self,
    ) -> (impl Iterator<Item = impl Iterator<Item = &[u8]>>, Option<&(Cut, Cut)>) {
        let Selection { encodings, cuts, .. } = &self.selection;
        ((0..encodings.fields()).map(|at| encodings.all(at)), cuts.as_ref())
    }

    /// The fields that are not fixed to one value, by their index.
    pub(crate) fn open_fields(&self) -> impl Iterator<Item = usize> {
        let Selection { schema, encodings, .. } = &self.selection;
        let is_constant = |at: &usize| *at < encodings.fields() && encodings.count(*at) == 1;
        (0..schema.fields().len()).filter(move |at| !is_constant(at))
    }

    /// Whether nothing is constrained.
    pub(crate) fn is_unconstrained(&self) -> bool {
        let Selection { constraints, window, after, .. } = &self.selection;
        constraints.is_empty() && window.is_none() && after.is_empty()
    }

    /// Whether no row can satisfy the constraints, so that no request is sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.selection.is_empty()
    }

    /// Whether rows can be read in the order of their fields. If a field left of the salt is not fixed, they come in the
    /// order of the stored keys.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.selection.is_ordered()
    }

    /// By which fields the rows of a scan are sorted, one after the other.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::plan::{Plan, SortField};
    /// # #[derive(RowKey)] struct EventKey { user: String, site: String, #[reverse_ts] at: u64 }
    /// let plan: Plan<EventKey> = EventKey::scan().user("alice").into_plan()?;
    /// let order: Vec<_> = plan.order().iter().map(|field| (field.index, field.is_descending)).collect();
    /// assert_eq!(order, [(1, false), (2, true)]); // by site, then by time, the newest first
    /// # Ok::<(), keyderive::plan::PlanError>(())
    /// ```
    ///
    /// Fields that are fixed to one value are left out. The list ends before the first field whose values are
    /// [in no order](Field::is_descending), and is empty if the scan has [none](Self::is_ordered). A reversed scan has each field in the
    /// other direction, and an unordered one is not sorted.
    #[must_use]
    pub fn order(&self) -> Vec<SortField> {
        if !self.is_ordered() {
            return Vec::new();
        }
        let fields = self.selection.schema.fields();
        self.open_fields()
            .map_while(|index| Some(SortField { index, is_descending: fields[index].is_descending()? }))
            .collect()
    }

    /// The part of the plan whose rows are stored in a range of row keys.
    #[must_use]
    pub fn within(&self, range: &KeyRange) -> Self {
        Self::from_selection(self.selection.within(range))
    }

    /// The ranges of row keys that the plan does not read, in order.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::plan::Plan;
    /// # #[derive(RowKey)] #[salt(range = 2)] struct UserKey { id: u32 }
    /// let plan: Plan<UserKey> = UserKey::scan().into_plan()?;
    /// let outside: Vec<_> = plan.complement().iter().map(ToString::to_string).collect();
    /// assert_eq!(outside, ["[start of table, 0#)", "[0$, 1#)", "[1$, end of table)"]);
    /// # Ok::<(), keyderive::plan::PlanError>(())
    /// ```
    ///
    /// A row there is not in the plan. If the plan has no constraints, the row is not of the key type, and no scan of the
    /// type meets it: in a table of this type alone, it lies outside of every bucket.
    #[must_use]
    pub fn complement(&self) -> Vec<KeyRange> {
        let after = |key: &[u8]| Some([key, &[0]].concat());
        let (mut gaps, mut read) = (Vec::new(), Vec::new());
        for (keys, ranges) in self.requests().into_iter().map(Request::into_rows) {
            read.extend(keys.into_iter().map(|key| KeyRange::new(&*key, after(&key))));
            read.extend(ranges);
        }
        read.sort_unstable_by(|one, other| one.start().cmp(other.start()));
        // Where the next gap begins, unless the end of the table is read.
        let mut start = Some(Vec::new());
        for range in read {
            let Some(from) = start else { break };
            gaps.push(KeyRange::new(&*from, Some(range.start().to_vec())));
            start = range.end().map(|end| from.max(end.to_vec()));
        }
        gaps.extend(start.map(|start| KeyRange::new(start, None)));
        gaps.retain(|gap| !gap.is_empty());
        gaps
    }

    /// The range of stored keys that the plan is limited to, if it is a part of another.
    pub(crate) fn window(&self) -> Option<&KeyRange> {
        self.selection.window.as_ref()
    }

    /// The plan in words.
    #[must_use]
    pub fn explain(&self) -> Explain {
        Explain::of(&self.selection, ExplainOptions::default())
    }

    /// The plan in words, with the options of a table's scan.
    pub(crate) fn explain_with(&self, options: ExplainOptions) -> Explain {
        Explain::of(&self.selection, options)
    }

    /// The position of a row in the order of the plan, by its stored key, as text.
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
    /// Only a plan with the same constraints, direction and key layout accepts the token. It names no table, so the scans of tables reject it:
    /// scan the plan that [`after`](Self::after) returns, or take the tokens of `Scan::page`.
    ///
    /// **It is no secret, and not signed**: it is the stored key in hexadecimal, with hashes of the plan and a checksum against accidents.
    /// Anyone who has it can read the key, and make a token for another row; no token reads a row outside of the plan.
    /// Encrypt tokens that go to strangers, or keep them and hand out names of them.
    #[must_use]
    pub fn page_token(&self, key: &[u8], reversed: bool) -> String {
        Position::of(&self.selection, key, reversed).to_token(&self.selection, None)
    }

    /// The token of these pages after one that ends with the row with this stored key.
    pub(crate) fn token_of(&self, pages: Pages, key: &[u8], reversed: bool) -> String {
        pages.position_after(&self.selection, key, reversed).to_token(&self.selection, Some(pages))
    }

    /// The part of the plan after the row of a [page token](Self::page_token), in every bucket.
    ///
    /// A part has parts too: of two tokens in the same direction, the one further on counts. A token that a part makes
    /// in the other direction is valid for that part alone, not for the whole plan.
    ///
    /// # Errors
    /// For text that is not a token, for a token of another plan, direction or layout, and for that of a table's page.
    pub fn after(&self, token: &str, reversed: bool) -> Result<Self, PlanError> {
        Ok(self.resumed(Position::from_token(token, &self.selection, None, reversed)?))
    }

    /// As [`after`](Self::after), of a token of these pages.
    pub(crate) fn after_page(&self, pages: Pages, token: &str, reversed: bool) -> Result<Self, PlanError> {
        Ok(self.resumed(Position::from_token(token, &self.selection, Some(pages), reversed)?))
    }

    /// As [`after`](Self::after), of the row with this stored key.
    pub(crate) fn after_row(&self, key: &[u8], reversed: bool) -> Self {
        self.resumed(Position::of(&self.selection, key, reversed))
    }

    /// As [`after_row`](Self::after_row), past all rows that have the values of that row in the first `fields` fields.
    #[cfg(feature = "client")]
    pub(crate) fn after_value(&self, key: &[u8], fields: usize, reversed: bool) -> Self {
        self.resumed(Position::after_value(&self.selection, key, fields, reversed))
    }

    /// The stored keys of which one is that of the row after which this part begins in a direction: with each bucket, of which the row has one.
    #[cfg(feature = "client")]
    pub(crate) fn keys_before(&self, reversed: bool) -> impl Iterator<Item = Vec<u8>> {
        let (selection, schema) = (&self.selection, self.selection.schema);
        let after = selection.after.iter().find(move |after| after.is_reversed() == reversed);
        let buckets = || schema.all_buckets().into_iter().map(Some);
        after.into_iter().flat_map(move |after| {
            let keys = std::iter::once(None).chain(buckets()).map(|bucket| after.stored_key(schema, bucket));
            // A key without its salt may be that of another row, whose salt is in the first field.
            keys.filter(move |key| Position::of(selection, key, reversed) == *after)
        })
    }

    fn resumed(&self, position: Position) -> Self {
        let mut selection = self.selection.clone();
        selection.resume_after(position);
        Self::from_selection(selection)
    }

    /// The byte prefixes that hold the plan's rows and nothing else, one for each bucket, for `DropRowRange`. `None` if
    /// there are no such prefixes, or one would be empty.
    #[must_use]
    pub fn prefixes(&self) -> Option<Vec<Vec<u8>>> {
        self.selection.prefixes()
    }

    /// The plan of a scan whose constraints are complete.
    pub(crate) fn of_draft(draft: Draft) -> Result<Self, PlanError> {
        draft.finish().map(Self::from_selection)
    }

    /// The plan of every row of the key type.
    pub(crate) fn full(schema: &'static crate::key::KeySchema) -> Self {
        Self::from_selection(Selection::full(schema))
    }

    /// The same plan for code that is not generic over the key type.
    pub(crate) fn untyped(self) -> Plan<()> {
        Plan::from_selection(self.selection)
    }

    /// The parts of the plan between some places in the first field that is not fixed, each of which has a name.
    #[cfg(feature = "client")]
    pub(crate) fn split_at(&self, mut places: Vec<(Cut, String)>) -> Vec<Self> {
        let (start, end) = self.selection.cuts.clone().unwrap_or((Cut::First, Cut::Last));
        // Nothing is between them.
        if start == Cut::Last || end == Cut::First {
            return vec![self.clone()];
        }
        let raw = |cut: &Cut| match cut {
            Cut::Before(raw) | Cut::After(raw) | Cut::AfterPrefix(raw) => Some(raw.clone()),
            Cut::First | Cut::Last => None,
        };
        let is_before = |at: &Vec<u8>, cut: &Cut| match cut {
            Cut::First => false,
            Cut::Before(raw) | Cut::After(raw) => at < raw,
            Cut::AfterPrefix(prefix) => at < prefix || at.starts_with(prefix),
            Cut::Last => true,
        };
        // A place at one of the bounds would leave an empty part.
        places.retain(|(cut, _)| {
            let is_between = |at| is_before(&at, &end) && !is_before(&at, &start) && raw(&start) != Some(at);
            raw(cut).is_some_and(is_between)
        });
        places.sort_by_key(|(cut, _)| (raw(cut), matches!(cut, Cut::After(_))));
        places.dedup_by(|one, other| one.0 == other.0);
        let mut bounds = vec![(start, String::new())];
        bounds.extend(places);
        bounds.push((end, String::new()));
        let part = |bounds: &[(Cut, String)]| {
            let [(start, first), (end, last)] = bounds else { return self.clone() };
            let mut selection = self.selection.clone();
            selection.cuts = Some((start.clone(), end.clone()));
            let words = match (first.is_empty(), last.is_empty()) {
                (false, false) => format!("stored from {first} to {last}"),
                (false, true) => format!("stored from {first} on"),
                (true, false) => format!("stored before {last}"),
                (true, true) => return self.clone(),
            };
            selection.constraints.push(Constraint { field: self.selection.fixed(), words });
            Self::from_selection(selection)
        };
        bounds.windows(2).map(part).collect()
    }
}

/// A field of the key by which the rows of a scan are sorted: [`Plan::order`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SortField {
    /// The field's index in the [schema](crate::key::KeySchema::fields).
    pub index: usize,
    /// Whether the greatest value comes first.
    pub is_descending: bool,
}

#[cfg(feature = "client")]
impl Plan<()> {
    /// The same plan for a key type, whose plan it was.
    pub(crate) fn typed<K>(self) -> Plan<K> {
        Plan::from_selection(self.selection)
    }
}

impl<K: ?Sized> Clone for Plan<K> {
    fn clone(&self) -> Self {
        Self::from_selection(self.selection.clone())
    }
}

impl<K: ?Sized> fmt::Debug for Plan<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the requests: the values of `any_of` may make millions.
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

/// A scan of a table with keys `K`: a [`Plan`], or any stage of a scan builder.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scan of `{K}`",
    note = "begin one with `{K}::scan()`; code for any key type takes an `impl IntoPlan<{K}>`"
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

/// A scan that could not be built is the error of the call that takes it.
impl<K, S: IntoPlan<K>> IntoPlan<K> for Result<S, PlanError> {
    fn into_plan(self) -> Result<Plan<K>, PlanError> {
        self?.into_plan()
    }
}
