//! Columns as they are named in calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::error::{Excerpt, Fault, RowError};
use super::{RowFilter, Shape};

/// A column, or a whole family.
///
/// A name without a colon is a column of the table's own family, `family:name` one of another family, and `family:` all
/// columns of that family. Names of families have no colon, so the first one ends the family: `daily:METER:0015` is the
/// column `METER:0015` of the family `daily`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// None for the table's own.
    family: Option<Arc<str>>,
    /// Empty for the whole family.
    qualifier: Bytes,
}

impl Path {
    pub(crate) fn new(path: impl Into<Bytes>) -> Self {
        let path = path.into();
        match path.iter().position(|byte| *byte == b':') {
            None => Self { family: None, qualifier: path },
            Some(colon) => Self {
                family: Some(String::from_utf8_lossy(&path[..colon]).into()),
                qualifier: path.slice(colon + 1..),
            },
        }
    }

    /// The column's family, where the table's own is `own`.
    pub(crate) fn family<'a>(&'a self, own: &'a Arc<str>) -> &'a Arc<str> {
        self.family.as_ref().unwrap_or(own)
    }

    /// The filter that leaves it.
    fn filter(&self, own: &Arc<str>) -> RowFilter {
        let family = self.family(own);
        match self.column() {
            Some(column) => RowFilter::exact_column(&**family, column),
            None => RowFilter::family(&**family),
        }
    }

    /// The filter that leaves it, a column or a whole family.
    pub(crate) fn filter_any(&self, own: &Arc<str>, shape: &Shape) -> Result<RowFilter, RowError> {
        if self.column().is_some() {
            self.one(own)?;
        }
        self.has_family(own)?;
        self.is_no_family(own, shape, true)?;
        Ok(self.filter(own))
    }

    /// The filter that leaves the newest version of the one column that it is.
    pub(crate) fn filter_newest(&self, own: &Arc<str>, shape: &Shape) -> Result<RowFilter, RowError> {
        self.one_column(own, shape)?;
        Ok(RowFilter::chain([self.filter(own), RowFilter::latest(1)]))
    }

    /// The family and the name of the one field of the row, or the one column, that it is.
    pub(crate) fn one(&self, own: &Arc<str>) -> Result<(Arc<str>, Bytes), RowError> {
        let family = self.family(own);
        self.has_family(own)?;
        if self.qualifier.is_empty() {
            let fault = Fault::unsupported(format_args!(
                "has no name; name one column: `visits` in the family `{own}`, `daily:visits` in the family `daily`"
            ));
            return Err(fault.in_column(b"").in_family(family));
        }
        Ok((Arc::clone(family), self.qualifier.clone()))
    }

    /// The family and the name of the one column that it is.
    pub(crate) fn one_column(&self, own: &Arc<str>, shape: &Shape) -> Result<(Arc<str>, Bytes), RowError> {
        let one = self.one(own)?;
        self.is_no_family(own, shape, false)?;
        Ok(one)
    }

    /// Fails for a column after a colon with nothing before it.
    pub(crate) fn has_family(&self, own: &Arc<str>) -> Result<(), RowError> {
        if self.family.as_ref().is_none_or(|family| !family.is_empty()) {
            return Ok(());
        }
        let name = Excerpt(if self.qualifier.is_empty() { b"visits" } else { &self.qualifier });
        let fault = Fault::unsupported(format_args!(
            "has no family; write {name} for the column of the family `{own}`, with `family:` before it for one of \
             another family"
        ));
        Err(fault.in_column(&self.qualifier).in_family(""))
    }

    /// Fails for the name of a field that is a family, given as that of a column.
    fn is_no_family(&self, own: &Arc<str>, shape: &Shape, takes_all: bool) -> Result<(), RowError> {
        if !self.is_own() || !shape.is_family(&self.qualifier) {
            return Ok(());
        }
        // A family that the row type names has a name of text.
        let name = String::from_utf8_lossy(&self.qualifier);
        let all = if takes_all { format!(", and `{name}:` for all of them") } else { String::new() };
        let fault = Fault::unsupported(format_args!(
            "is not a column: `{name}` is a column family of the row type; write `{name}:…` for one of its columns{all}"
        ));
        Err(fault.in_column(&self.qualifier).in_family(own))
    }

    /// The name of the column; empty for the whole family.
    pub(crate) fn name(&self) -> &Bytes {
        &self.qualifier
    }

    /// Whether it is named without its family.
    pub(crate) fn is_own(&self) -> bool {
        self.family.is_none()
    }

    /// The column; none for the whole family.
    pub(crate) fn column(&self) -> Option<&Bytes> {
        Some(&self.qualifier).filter(|qualifier| !qualifier.is_empty() || self.is_own())
    }
}

/// The filter that leaves these columns and families, and no others; one that is refused, where one of them is none.
pub(crate) fn filter_of<'a>(
    paths: impl IntoIterator<Item = &'a Path>,
    own: &Arc<str>,
    shape: &Shape,
) -> RowFilter {
    let mut columns: BTreeMap<&Arc<str>, Vec<&Bytes>> = BTreeMap::new();
    let mut families = BTreeSet::new();
    for path in paths {
        if let Err(error) = path.filter_any(own, shape) {
            return RowFilter::of_no_column(&error);
        }
        match path.column() {
            Some(column) => columns.entry(path.family(own)).or_default().push(column),
            None => _ = families.insert(path.family(own)),
        }
    }
    columns.retain(|family, _| !families.contains(family));
    let columns = columns.into_iter().map(|(family, columns)| RowFilter::any_column(&**family, columns));
    RowFilter::interleave(columns.chain(families.into_iter().map(|family| RowFilter::family(&**family))))
}
