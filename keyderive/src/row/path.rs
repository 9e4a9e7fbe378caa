//! Columns as they are named in calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::RowFilter;
use super::error::{Fault, RowError};

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
    pub(crate) fn filter(&self, own: &Arc<str>) -> RowFilter {
        let family = self.family(own);
        match self.column() {
            Some(column) => RowFilter::exact_column(&**family, column),
            None => RowFilter::family(&**family),
        }
    }

    /// The family and the name of the one column that it is.
    pub(crate) fn one(&self, own: &Arc<str>) -> Result<(Arc<str>, Bytes), RowError> {
        let family = self.family(own);
        if self.qualifier.is_empty() {
            let fault = Fault::unsupported(format_args!(
                "has no name; name one column: `visits` in the family `{own}`, `daily:visits` in the family `daily`"
            ));
            return Err(fault.in_column(b"").in_family(family));
        }
        Ok((Arc::clone(family), self.qualifier.clone()))
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

/// The filter that leaves these columns and families, and no others.
pub(crate) fn filter_of<'a>(paths: impl IntoIterator<Item = &'a Path>, own: &Arc<str>) -> RowFilter {
    let mut columns: BTreeMap<&Arc<str>, Vec<&Bytes>> = BTreeMap::new();
    let mut families = BTreeSet::new();
    for path in paths {
        match path.column() {
            Some(column) => columns.entry(path.family(own)).or_default().push(column),
            None => _ = families.insert(path.family(own)),
        }
    }
    columns.retain(|family, _| !families.contains(family));
    let columns = columns.into_iter().map(|(family, columns)| RowFilter::any_column(&**family, columns));
    RowFilter::interleave(columns.chain(families.into_iter().map(|family| RowFilter::family(&**family))))
}
