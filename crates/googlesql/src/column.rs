//! The columns of relations.

use crate::expr::Expr;
use crate::typed::Typed;
use crate::types::Type;

/// A column of a relation.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Empty for an expression without a name.
    pub(crate) name: String,
    pub(crate) of: Type,
    /// Whether `*` leaves it out.
    pub(crate) is_hidden: bool,
}

impl Column {
    pub(crate) fn new(name: impl Into<String>, of: Type) -> Self {
        Self { name: name.into(), of, is_hidden: false }
    }

    pub(crate) fn at(&self, place: usize) -> Typed {
        Typed::new(Expr::Column(place), self.of.clone())
    }
}
