//! Fields that a row has under two names, as after a write by a program in which the field has been renamed.

use std::cell::Cell;

use super::Source;

/// The columns and families that are left out, since the field is there under its own name.
///
/// Serde fails when a field comes a second time, and tells its own name. What was named last is the second one.
#[derive(Default)]
pub(super) struct Aliases<'de> {
    /// What was named last.
    last: Cell<&'de [u8]>,
    /// Own names that are given before all others at their place, so that an alias is the second.
    first: Vec<Place>,
    /// What is not given in its order.
    left_out: Vec<Place>,
}

/// A field, in a family of its own or in the row.
type Place = (Option<&'static str>, &'static str);

impl Aliases<'_> {
    /// The fields that are given before all others of a family, or of the row.
    pub(super) fn first(&self, family: Option<&str>) -> impl Iterator<Item = &'static str> {
        self.first.iter().filter(move |place| place.0 == family).map(|place| place.1)
    }
}

impl<'de> Source<'de, '_> {
    /// Notes what is named, where aliases are to be found.
    #[inline]
    pub(super) fn named(&self, name: &'de [u8]) {
        if let Some(aliases) = self.aliases() {
            aliases.last.set(name);
        }
    }

    pub(super) fn last_named(&self) -> &'de [u8] {
        self.aliases().map_or(&[], |aliases| aliases.last.get())
    }

    /// Whether a column or a family is not given in its order.
    #[inline]
    pub(super) fn leaves_out(&self, family: Option<&str>, name: &[u8]) -> bool {
        self.aliases().is_some_and(|aliases| {
            aliases.left_out.iter().any(|place| place.0 == family && place.1.as_bytes() == name)
        })
    }

    /// Whether the row is to be read another way, when the field of this name came a second time.
    pub(super) fn settle(&mut self, family: Option<&str>, name: &[u8]) -> bool {
        if self.aliases().is_none() {
            // Once more, to see what comes twice.
            self.again().aliases = Some(Aliases::default());
            return true;
        }
        let place = |name: &[u8]| self.shape.place(family, name);
        let (Some(own), Some(second)) = (place(name), place(self.last_named())) else { return false };
        let is_there = self.has(own);
        let Some(aliases) = self.again().aliases.as_mut().filter(|_| is_there) else { return false };
        if aliases.left_out.contains(&second) {
            return false;
        }
        if own == second {
            aliases.first.push(own);
        }
        aliases.left_out.push(second);
        true
    }

    /// Whether the row has a cell of a field.
    fn has(&self, (family, name): Place) -> bool {
        self.cells.iter().any(|cell| {
            let column = family.unwrap_or(self.family);
            let is_column = cell.family_bytes() == column.as_bytes() && cell.qualifier() == name.as_bytes();
            is_column || family.is_none() && cell.family_bytes() == name.as_bytes()
        })
    }
}
