//! Scans whose fields are named at run time.

use std::ops::{Bound, RangeBounds};

use super::{DynKey, KeyLayout, Value};
use crate::key::{EncodeError, ErasedPart};
use crate::plan::{Draft, Explain, IntoPlan, Plan, PlanError};

/// A scan by a [`KeyLayout`]: fix fields from the left; a range or a prefix of the next one is the last constraint.
///
/// ```
/// # use keyderive::RowKey;
/// # use keyderive::dynamic::KeyLayout;
/// # #[derive(RowKey)] struct EventKey { user: String, site: String, at: u64 }
/// let layout = KeyLayout::of::<EventKey>();
/// println!("{}", layout.scan().fix("user", "alice")?.prefix("site", "ho")?.explain()?);
///
/// let error = layout.scan().fix("site", "home").unwrap_err();
/// assert!(error.to_string().contains("`site` cannot be constrained here: `user` is fixed first"));
/// # Ok::<(), keyderive::plan::PlanError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a scan reads nothing until a table runs it"]
pub struct DynScan {
    layout: KeyLayout,
    draft: Draft,
    /// How many fields are fixed.
    fixed: usize,
    /// Whether a range or a prefix has ended it.
    is_ended: bool,
}

impl DynScan {
    pub(super) fn new(layout: KeyLayout) -> Self {
        let draft = Draft::new(layout.schema());
        Self { layout, draft, fixed: 0, is_ended: false }
    }

    /// Fixes the next field to one value.
    ///
    /// # Errors
    /// If it is not the next field, or the value is not of its type. A value that no key can hold is an error of [`plan`](Self::plan).
    pub fn fix(self, name: &str, value: impl Into<Value>) -> Result<Self, PlanError> {
        let at = self.next(name)?;
        let value = self.layout.accept(at, &value.into())?;
        let field = self.layout.fields()[at];
        let part = ErasedPart { codec: field.written(), value: &value };
        let draft = match field.hashed {
            Some(_) => self.draft.fix_hash_of(&part),
            None => self.draft.fix_part(&part),
        };
        Ok(Self { draft, fixed: at + 1, ..self })
    }

    /// Fixes the next field to each of several values.
    ///
    /// # Errors
    /// Those of [`fix`](Self::fix).
    pub fn any_of<V: Into<Value>>(
        self,
        name: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, PlanError> {
        let at = self.next(name)?;
        let values = values.into_iter().map(|value| self.layout.accept(at, &value.into()));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let field = self.layout.fields()[at];
        let parts: Vec<_> = values.iter().map(|value| ErasedPart { codec: field.written(), value }).collect();
        let draft = self.draft.any_of_parts(&parts, field.hashed.is_some());
        Ok(Self { draft, fixed: at + 1, ..self })
    }

    /// Constrains the next field to a range, in the order of its values. This is the last constraint.
    ///
    /// # Errors
    /// If it is not the next field, if a bound is not of its type, and for a field without an order: one that is hashed, bit-reversed, or
    /// encoded by a module of the user's own.
    pub fn range<V: Into<Value> + Clone>(
        self,
        name: &str,
        range: impl RangeBounds<V>,
    ) -> Result<Self, PlanError> {
        let at = self.next(name)?;
        let field = self.layout.fields()[at];
        if field.hashed.is_some() || !field.codec.has_ranges() {
            return Err(self
                .layout
                .fault(format!("the field `{name}` has no range: it can be fixed only"))
                .into());
        }
        let bound = |bound: Bound<&V>| -> Result<Bound<Value>, EncodeError> {
            let accept = |value: &V| self.layout.accept(at, &value.clone().into());
            Ok(match bound {
                Bound::Included(value) => Bound::Included(accept(value)?),
                Bound::Excluded(value) => Bound::Excluded(accept(value)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        let bounds = (bound(range.start_bound())?, bound(range.end_bound())?);
        let codec = field.codec;
        let draft = self.draft.range_by(
            bounds,
            codec.order(),
            |value, side| codec.cut(value, side),
            |value, f| codec.show(value, f),
        );
        Ok(Self { draft, is_ended: true, ..self })
    }

    /// Constrains the next field, which is text or bytes, to a prefix. This is the last constraint.
    ///
    /// # Errors
    /// If it is not the next field, and for a field without prefixes.
    pub fn prefix(self, name: &str, prefix: impl Into<Value>) -> Result<Self, PlanError> {
        let at = self.next(name)?;
        let field = self.layout.fields()[at];
        if field.hashed.is_some() || !field.codec.has_prefixes() {
            let fault = format!("the field `{name}` has no prefixes: only text and bytes have");
            return Err(self.layout.fault(fault).into());
        }
        let prefix = self.layout.accept(at, &prefix.into())?;
        let draft = self
            .draft
            .prefix_by(field.codec.prefix_cuts(&prefix), &ErasedPart { codec: field.codec, value: &prefix });
        Ok(Self { draft, is_ended: true, ..self })
    }

    /// The plan.
    ///
    /// # Errors
    /// If a field is fixed to a value that no key can hold, or a hashed field is fixed but not all fields after it.
    pub fn plan(self) -> Result<Plan<DynKey>, PlanError> {
        let fields = self.layout.fields();
        let hashed = fields.iter().position(|field| field.hashed.is_some());
        if hashed.is_some_and(|at| (at + 1..fields.len()).contains(&self.fixed)) {
            let fault = "a scan cannot end between its hashed field and its last field: fix every field, for a point read, or none from \
                         the hashed one on";
            return Err(self.layout.fault(fault.to_owned()).into());
        }
        Plan::of_draft(self.draft)
    }

    /// The plan in words.
    ///
    /// # Errors
    /// Those of [`plan`](Self::plan).
    pub fn explain(&self) -> Result<Explain, PlanError> {
        Ok(self.clone().plan()?.explain())
    }

    /// The index of the field of this name, if it is the one that can be constrained.
    fn next(&self, name: &str) -> Result<usize, EncodeError> {
        let at = self.layout.field_named(name)?;
        if at == self.fixed && !self.is_ended {
            return Ok(at);
        }
        let why = match self.layout.schema().fields().get(self.fixed) {
            _ if self.is_ended => "nothing comes after a range or a prefix".to_owned(),
            Some(next) if at > self.fixed => format!("`{}` is fixed first", next.name()),
            _ => "it is fixed already".to_owned(),
        };
        Err(self.layout.fault(format!("`{name}` cannot be constrained here: {why}")))
    }
}

impl IntoPlan<DynKey> for DynScan {
    fn into_plan(self) -> Result<Plan<DynKey>, PlanError> {
        self.plan()
    }
}
