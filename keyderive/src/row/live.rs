//! Which cells are young enough to count: the `ttl` of each family, at a time by the client's clock.

use std::collections::BTreeMap;
use std::time::Duration;

use super::filter::RowFilter;
use super::schema::{ColumnSchema, FieldSchema, RowSchema};

/// The cells that no `ttl` of a row type hides at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live {
    pub(super) schema: &'static RowSchema,
    /// The row type that the table was declared with: what it says of other families holds too.
    pub(super) base: &'static RowSchema,
    /// In microseconds since 1970.
    pub(super) now_micros: i64,
}

impl Live {
    /// Whether every stored cell is live.
    pub(crate) fn is_every_cell(self) -> bool {
        self.ttls().next().is_none()
    }

    /// The live cells of a family that a filter passes.
    pub(crate) fn of_family(self, family: &str, filter: RowFilter) -> RowFilter {
        match self.ttl(family) {
            None => filter,
            Some(ttl) => RowFilter::chain([filter, self.since(ttl)]),
        }
    }

    /// The live cells of every family; none if every stored cell is live.
    pub(crate) fn cells(self) -> Option<RowFilter> {
        let expiring: Vec<_> = self.ttls().collect();
        let names: Vec<_> = expiring.iter().map(|(family, _)| *family).collect();
        let others = RowFilter::family_regex(regex_of_all_but(&names));
        let live = expiring
            .iter()
            .map(|(family, ttl)| RowFilter::chain([RowFilter::family(*family), self.since(*ttl)]));
        (!names.is_empty()).then(|| RowFilter::interleave(live.chain([others])))
    }

    /// The live cells that the row type reads, with the markers of its families. `own` is the family of a map.
    pub(crate) fn of_type(self, own: &str) -> RowFilter {
        let mut whole: Vec<&str> = Vec::new();
        let mut columns: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        columns.entry(self.schema.own_family().unwrap_or(own)).or_default().push("");
        for field in self.schema.fields() {
            let family = if field.family().is_empty() { own } else { field.family() };
            if let FieldSchema::Map { .. } = field {
                whole.push(family);
                continue;
            }
            let names = columns.entry(family).or_default();
            names.extend(field.columns().iter().map(ColumnSchema::name));
            names.push("");
            for alias in field.columns().iter().flat_map(ColumnSchema::aliases) {
                columns.entry(alias.family.unwrap_or(family)).or_default().push(alias.name);
            }
        }
        // A map that is the whole row has its marker in its family.
        columns.retain(|family, _| !whole.contains(family));
        let whole = whole.into_iter().map(|family| self.of_family(family, RowFilter::family(family)));
        let columns = columns.into_iter().map(|(family, mut names)| {
            names.sort_unstable();
            names.dedup();
            self.of_family(family, RowFilter::any_column(family, names))
        });
        RowFilter::interleave(columns.chain(whole))
    }

    /// The `ttl` of a family that hides cells of this time.
    pub(crate) fn hiding_ttl(self, family: &str, timestamp_micros: i64) -> Option<Duration> {
        let ttl = self.ttl(family)?;
        (timestamp_micros < self.oldest(ttl)).then_some(ttl)
    }

    pub(super) fn ttl(self, family: &str) -> Option<Duration> {
        let ttl = |schema: &'static RowSchema| schema.rule(family)?.ttl;
        ttl(self.schema).or_else(|| ttl(self.base))
    }

    /// The families that have one.
    fn ttls(self) -> impl Iterator<Item = (&'static str, Duration)> {
        let own = self.schema.rules().filter_map(|rule| Some((rule.family, rule.ttl?)));
        let is_own = move |family: &str| self.schema.rule(family).is_some_and(|rule| rule.ttl.is_some());
        let base = self.base.rules().filter_map(|rule| Some((rule.family, rule.ttl?)));
        own.chain(base.filter(move |(family, _)| !is_own(family)))
    }

    fn since(self, ttl: Duration) -> RowFilter {
        RowFilter::timestamps(self.oldest(ttl)..)
    }

    /// The time of the oldest cells that a `ttl` does not hide.
    fn oldest(self, ttl: Duration) -> i64 {
        let ttl = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
        self.now_micros.saturating_sub(ttl).max(0)
    }
}

/// A regular expression of all names but these. RE2 has no negation, so each place where a name can differ is an alternative.
fn regex_of_all_but(names: &[&str]) -> String {
    let is_name = names.contains(&"");
    let mut starts: Vec<char> = names.iter().filter_map(|name| name.chars().next()).collect();
    starts.sort_unstable();
    starts.dedup();
    if starts.is_empty() {
        return if is_name { ".+".to_owned() } else { ".*".to_owned() };
    }
    // The characters of a family's name mean themselves in a class, except the hyphen.
    let class: String = starts.iter().map(|start| format!("\\x{{{:x}}}", u32::from(*start))).collect();
    let mut alternatives = vec![format!("[^{class}].*")];
    alternatives.extend(starts.iter().map(|start| {
        let rests: Vec<_> = names.iter().filter_map(|name| name.strip_prefix(*start)).collect();
        format!("\\x{{{:x}}}{}", u32::from(*start), regex_of_all_but(&rests))
    }));
    let optional = if is_name { "" } else { "?" };
    format!("({}){optional}", alternatives.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_hidden_once_it_is_older_than_its_ttl() {
        #[derive(crate::Row)]
        #[row(ttl = "1h")]
        struct Seen {
            _kind: String,
        }

        let hour = Duration::from_secs(3600);
        let schema = <Seen as crate::Row>::SCHEMA;
        let live = Live { schema, base: schema, now_micros: 3_600_000_007 };
        assert_eq!([6, 7].map(|micros| live.hiding_ttl("cf", micros)), [Some(hour), None]);
        assert_eq!(live.hiding_ttl("other", 0), None);
    }

    #[test]
    fn all_but_some_families_are_named_by_a_regular_expression() {
        for names in [&["cf"][..], &["cf", "c", "cfg", "a-b.c"], &["a", "b"]] {
            let filter = regex_of_all_but(names);
            let regex = regex::Regex::new(&format!("^(?:{filter})$")).unwrap();
            for name in ["cf", "c", "cfg", "a-b.c", "a", "b", "ab", "cff", "d", "a-b", "x_y"] {
                assert_eq!(regex.is_match(name), !names.contains(&name), "{name} by {filter}");
            }
        }
    }
}
