//! Whether a part of a row type, which only reads, has the values that the whole type reads of the same rows.

use super::RowSchema;
use super::changes::{ColumnName, LayoutColumn, LayoutColumns};
use super::layout::RowLayout;

impl RowSchema {
    /// Why rows of this type cannot be read as another type, if so; `family` is that of a map, of each of the two.
    pub(crate) fn misfit_of_part(&self, family: &str, part: &Self, part_family: &str) -> Option<String> {
        if std::ptr::eq(self, part) && family == part_family {
            return None;
        }
        let (whole, part) = (RowLayout::of(self), RowLayout::of(part));
        misfit(&LayoutColumns::of(&part, part_family), &LayoutColumns::of(&whole, family))
    }
}

/// Why a part of a row type reads something else than the whole does, if so: the part's column, the whole's, what differs, and the
/// remedy.
///
/// Where both have a column, the part reads every value that the whole writes, under the same former names. Columns and families that
/// only the part has are its own, and so is what it makes of an absent column. What the whole says of the cells of its families, such as
/// a `ttl`, holds for the part, which says the same or nothing.
pub(super) fn misfit(part: &LayoutColumns<'_>, whole: &LayoutColumns<'_>) -> Option<String> {
    let pair = Pair { part, whole };
    let of_column = |column: &LayoutColumn<'_>| {
        let misfit = match column.place() {
            Some(place) => pair.named(column, place),
            None => pair.map(column),
        };
        misfit.or_else(|| pair.family(column))
    };
    part.all.iter().find_map(of_column).or_else(|| pair.ttls())
}

struct Pair<'p, 'l> {
    part: &'p LayoutColumns<'l>,
    whole: &'p LayoutColumns<'l>,
}

impl<'l> Pair<'_, 'l> {
    /// The names of the two types.
    fn names(&self) -> [&'l str; 2] {
        [&*self.part.layout.row, &*self.whole.layout.row]
    }

    /// The whole's column of which this place is a former one.
    fn formerly_at(&self, place: ColumnName<'_>) -> Option<&LayoutColumn<'l>> {
        self.whole.all.iter().find(|other| other.aliases.contains(&place))
    }

    /// A column that the part names.
    fn named(&self, column: &LayoutColumn<'l>, place: ColumnName<'l>) -> Option<String> {
        let ([part, whole], own) = (self.names(), column.written());
        if let Some(other) = self.formerly_at(place) {
            return Some(format!(
                "{own} of `{part}` is a former name of {} of `{whole}`; read {} with that alias",
                other.written(),
                other.written(),
            ));
        }
        let same = self.whole.column_at(place);
        let former_of_other = column.aliases.iter().find_map(|alias| {
            let other = self.whole.column_at(*alias).map(|other| (other, "the column"));
            let of_other = || self.formerly_at(*alias).map(|other| (other, "a former name of the column"));
            let other = other.or_else(of_other).filter(|(other, _)| other.place() != Some(place));
            other.map(|(other, what)| {
                let at = other.name.map_or_else(|| shown(*alias), |_| other.written());
                format!("{own} of `{part}` has an alias that is {what} {at} of `{whole}`; remove the alias")
            })
        });
        if former_of_other.is_some() {
            return former_of_other;
        }
        let same = same?;
        if !column.reads_cells_of(same) {
            return Some(self.other_type(column, same));
        }
        let is_of = |alias: &&ColumnName<'l>, other: &LayoutColumn<'l>| other.aliases.contains(alias);
        if let Some(alias) = same.aliases.iter().find(|alias| !is_of(alias, column)) {
            return Some(self.without_former(&own, *alias, "does not; give the field that alias"));
        }
        if let Some(alias) = column.aliases.iter().find(|alias| !is_of(alias, same)) {
            return Some(format!(
                "`{part}` reads {own} under its former name {} too, and `{whole}` does not; remove the alias, or give the field of \
                 `{whole}` that alias too",
                shown(*alias),
            ));
        }
        (column.aliases != same.aliases).then(|| {
            format!("`{part}` has the aliases of {own} in another order than `{whole}`; write them in the same order")
        })
    }

    /// A map of the part, which reads every column of its family.
    fn map(&self, map: &LayoutColumn<'l>) -> Option<String> {
        let [part, whole] = self.names();
        self.whole.all.iter().find_map(|other| {
            let is_here = other.family == map.family;
            if let (true, false, Some(key)) = (is_here, map.reads_names_of(other), map.key) {
                let keys = other.key.map(|key| format!(", by keys that are {key}"));
                return Some(format!(
                    "the map of `{part}` in the family `{}` has keys that are {key}, and `{whole}` has {} there{}; give the map keys that \
                     read all names",
                    map.family,
                    other.written(),
                    keys.unwrap_or_default(),
                ));
            }
            if is_here && !map.reads_cells_of(other) {
                return Some(self.other_type(map, other));
            }
            let mut former = other.aliases.iter();
            let alias = former.find(|(family, _)| is_here || *family == map.family)?;
            let remedy = "has a map there, which does not; read the columns as a struct with that alias";
            Some(self.without_former(&other.written(), *alias, remedy))
        })
    }

    fn other_type(&self, column: &LayoutColumn<'l>, other: &LayoutColumn<'l>) -> String {
        let [part, whole] = self.names();
        let name = other.name.or(column.name).unwrap_or("…");
        format!(
            "the column {} is stored as {} by `{whole}`, and read as {} by `{part}`; give both fields the same type",
            shown((other.family, name)),
            other.shown(),
            column.shown(),
        )
    }

    fn without_former(&self, column: &str, alias: ColumnName<'_>, remedy: &str) -> String {
        let [part, whole] = self.names();
        let alias = shown(alias);
        format!("`{whole}` reads {column} under its former name {alias} too, and `{part}` {remedy}")
    }

    /// Whether a family of both has cells of one kind: a server keeps values, or sums, or minima, or maxima in it.
    fn family(&self, column: &LayoutColumn<'l>) -> Option<String> {
        let [part, whole] = self.names();
        let is_own = |other: &&LayoutColumn<'l>| other.family == column.family;
        let is_former = |other: &&LayoutColumn<'l>| other.families().any(|family| family == column.family);
        let mut others: Vec<_> = self.whole.all.iter().filter(is_own).collect();
        if others.is_empty() {
            others = self.whole.all.iter().filter(is_former).collect();
        }
        let other = others.first()?;
        let aggregate = |column: &LayoutColumn<'l>| column.kind.aggregate();
        let is_same = aggregate(column).map(|(of, _)| of) == aggregate(other).map(|(of, _)| of);
        let window = |column: &LayoutColumn<'l>| aggregate(column).and_then(|(_, window)| window);
        let own = window(column).filter(|width| *width != 0);
        let is_declared = own.is_none() || others.iter().any(|other| window(other) == own);
        (!is_same || !is_declared).then(|| {
            format!(
                "the family `{}` has {} of `{whole}`, which is {}, and {} of `{part}`, which is {}; give the field another family, or the \
                 type and the window that `{whole}` has there",
                column.family,
                other.written(),
                other.shown(),
                column.written(),
                column.shown(),
            )
        })
    }

    /// A `ttl` of the part on a family of the whole, unless the whole says nothing of columns.
    fn ttls(&self) -> Option<String> {
        let [part, whole] = self.names();
        self.part.layout.rules.iter().find_map(|rule| {
            let (family, ttl) = (&*rule.family, rule.ttl_secs?);
            let of_whole = self.whole.rule(family).and_then(|rule| rule.ttl_secs);
            let is_of_whole = !self.whole.all.is_empty() && self.whole.families().any(|of| of == family);
            let says = of_whole.map_or_else(|| "no `ttl`".to_owned(), |secs| format!("a `ttl` of {secs}s"));
            (is_of_whole && of_whole != Some(ttl)).then(|| {
                format!(
                    "the family `{family}` has {says} in `{whole}`, and one of {ttl}s in `{part}`; remove that of `{part}`: what \
                     `{whole}` says holds for it too"
                )
            })
        })
    }
}

fn shown((family, name): ColumnName<'_>) -> String {
    format!("`{family}:{name}`")
}

#[cfg(feature = "embedded")]
#[cfg(test)]
mod tests;
