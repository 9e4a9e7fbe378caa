//! Key types that take the place of others, field by field.

use std::any::TypeId;

use super::row_key::RowKey;
use super::schema::KeySchema;

/// A key type whose fields have the values of those of an old one, each of one: `#[row_key(rekeyed_from = OldKey)]` implements it.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey, Debug, PartialEq)]
/// #[salt(range = 4, over = "user_id")]
/// struct OldKey {
///     user_id: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// #[derive(RowKey, Debug, PartialEq)]
/// #[row_key(rekeyed_from = OldKey)]
/// #[salt(range = 16, over = "user")]
/// struct NewKey {
///     #[row_key(was = "user_id")]
///     user: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// let new = NewKey::from(OldKey { user_id: "alice".into(), at: 7 });
/// assert_eq!(new, NewKey { user: "alice".into(), at: 7 });
/// assert_eq!(OldKey::from(&new), OldKey { user_id: "alice".into(), at: 7 });
/// ```
///
/// The attribute writes both conversions. Each field comes from the old field of the same name, or from the one that `was` names, and has
/// its Rust type. So the scan of an old table follows from that of the new one, and a table that is
/// [re-keyed](crate::Client::rekeyed) takes one plan. The attributes of the new key and of its fields may be others, and so may their order.
///
/// It is sealed: for conversions that do more than that, write `From` by hand, and [scan by two
/// plans](crate::table::rekey::Rekeyed::scan_both).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared to take the place of `{Old}`, so the scan of the old table is not known",
    label = "a scan by one plan needs `#[row_key(rekeyed_from = {Old})]` on `{Self}`",
    note = "write `#[row_key(rekeyed_from = {Old})]` on the new key, which replaces both conversions; with conversions by hand, give a plan for each table: `scan_both(new, old)`"
)]
pub trait RekeyedFrom<Old: RowKey>: RowKey + From<Old> {
    /// Only the derive writes it.
    #[doc(hidden)]
    const DECLARED: RekeyedFields;
}

/// The fields of the old key that the fields of a key come from.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct RekeyedFields {
    old: &'static KeySchema,
    old_type: TypeId,
    /// The names of the old fields in their struct.
    names: &'static [&'static str],
    /// For each field of the new key, the name of the old one in its struct.
    sources: &'static [&'static str],
}

impl RekeyedFields {
    #[must_use]
    pub const fn new<Old: RowKey + 'static>(sources: &'static [&'static str]) -> Self {
        Self { old: Old::SCHEMA, old_type: TypeId::of::<Old>(), names: Old::FIELD_NAMES, sources }
    }

    #[cfg(feature = "client")]
    pub(crate) fn is_of<Old: 'static>(&self) -> bool {
        self.old_type == TypeId::of::<Old>()
    }

    #[cfg(feature = "client")]
    pub(crate) fn old(&self) -> &'static KeySchema {
        self.old
    }

    /// For each field of the new key, the index of the old one.
    #[cfg(feature = "client")]
    pub(crate) fn sources(&self) -> impl Iterator<Item = Option<usize>> {
        let fields = self.old.fields();
        let name = |at: usize| self.names.get(at).copied().unwrap_or(fields[at].name());
        self.sources.iter().map(move |source| (0..fields.len()).find(|at| name(*at) == *source))
    }
}
