//! Column families: what they keep, and how they are changed.

use std::fmt;

use keyderive_proto::admin;
use keyderive_proto::admin::modify_column_families_request::Modification;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::r#type::aggregate::{self, Aggregator};
use keyderive_proto::admin::r#type::{self, Kind, int64};
use keyderive_proto::values::FieldMask;

use super::gc_rule::GcRule;

const MAX_NAME: usize = 64;

/// A column family: its name, what it keeps, and what its cells are.
///
/// ```
/// use keyderive::client::{Aggregate, Family};
/// use keyderive::GcRule;
///
/// let stats = Family::new("stats", GcRule::max_versions(1));
/// assert_eq!(stats.to_string(), "`stats` of bytes, garbage collected: all but the newest version");
/// let clicks = Family::aggregate("clicks", Aggregate::Sum, GcRule::never());
/// assert_eq!(clicks.to_string(), "`clicks` of sums, garbage collected: never");
/// ```
///
/// A name has 1 to 64 letters, digits, `_`, `-` and `.`, and begins with a letter, a digit or `_`. Bigtable stores it
/// with the data, so a short one is best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    name: String,
    gc_rule: GcRule,
    values: Values,
}

/// What the cells of an aggregate family are of all that is added to them.
///
/// Inputs are integers of 64 bits, which [`Mutation::add_to_cell`](crate::row::Mutation::add_to_cell) adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Aggregate {
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// What the cells of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Bytes,
    Aggregate(Aggregate),
    /// A type of the service's that this release does not know.
    Other,
}

impl Family {
    /// A family of cells that are bytes, as a row's columns are.
    #[must_use]
    pub fn new(name: impl Into<String>, gc_rule: GcRule) -> Self {
        Self { name: name.into(), gc_rule, values: Values::Bytes }
    }

    /// A family of cells that inputs are added to.
    #[must_use]
    pub fn aggregate(name: impl Into<String>, aggregate: Aggregate, gc_rule: GcRule) -> Self {
        Self { name: name.into(), gc_rule, values: Values::Aggregate(aggregate) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which of its cells may be removed.
    #[must_use]
    pub fn gc_rule(&self) -> &GcRule {
        &self.gc_rule
    }

    /// What its cells aggregate; none for cells of bytes, and of a type that this release does not know.
    #[must_use]
    pub fn aggregates(&self) -> Option<Aggregate> {
        match self.values {
            Values::Aggregate(aggregate) => Some(aggregate),
            Values::Bytes | Values::Other => None,
        }
    }

    /// What its cells are, in a word.
    pub(crate) fn cells(&self) -> &'static str {
        match self.values {
            Values::Bytes => "bytes",
            Values::Aggregate(Aggregate::Sum) => "sums",
            Values::Aggregate(Aggregate::Min) => "least values",
            Values::Aggregate(Aggregate::Max) => "greatest values",
            Values::Other => "another type of values",
        }
    }

    /// Whether its cells are bytes, as those of serde rows are.
    pub(crate) fn is_of_bytes(&self) -> bool {
        self.values == Values::Bytes
    }

    /// What is wrong with it, by its name.
    pub(super) fn fault(&self) -> Option<String> {
        name_fault(&self.name)
            .or_else(|| self.gc_rule.fault())
            .map(|fault| format!("the column family `{}`: {fault}", self.name))
    }

    pub(super) fn into_message(self) -> (String, admin::ColumnFamily) {
        let aggregator = match self.values {
            Values::Aggregate(Aggregate::Sum) => Some(Aggregator::Sum(aggregate::Sum {})),
            Values::Aggregate(Aggregate::Min) => Some(Aggregator::Min(aggregate::Min {})),
            Values::Aggregate(Aggregate::Max) => Some(Aggregator::Max(aggregate::Max {})),
            Values::Bytes | Values::Other => None,
        };
        let value_type = aggregator.map(|aggregator| {
            let input = int64::Encoding {
                encoding: Some(int64::encoding::Encoding::BigEndianBytes(int64::encoding::BigEndianBytes {})),
            };
            let input = Kind::Int64Type(r#type::Int64 { encoding: Some(input) });
            let aggregate = r#type::Aggregate {
                input_type: Some(Box::new(admin::Type { kind: Some(input) })),
                state_type: None,
                aggregator: Some(aggregator),
            };
            admin::Type { kind: Some(Kind::AggregateType(Box::new(aggregate))) }
        });
        (self.name, admin::ColumnFamily { gc_rule: self.gc_rule.message(), value_type })
    }

    pub(super) fn from_message(name: String, message: &admin::ColumnFamily) -> Self {
        let values = match message.value_type.as_ref().and_then(|value_type| value_type.kind.as_ref()) {
            None => Values::Bytes,
            // How bytes are written as bytes makes no difference.
            Some(Kind::BytesType(_)) => Values::Bytes,
            Some(Kind::AggregateType(aggregate)) => match aggregate.aggregator {
                Some(Aggregator::Sum(_)) => Values::Aggregate(Aggregate::Sum),
                Some(Aggregator::Min(_)) => Values::Aggregate(Aggregate::Min),
                Some(Aggregator::Max(_)) => Values::Aggregate(Aggregate::Max),
                _ => Values::Other,
            },
            Some(_) => Values::Other,
        };
        Self { name, gc_rule: GcRule::from_message(message.gc_rule.as_ref()), values }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of {}, garbage collected: {}", self.name, self.cells(), self.gc_rule)
    }
}

/// A change of a table's column families.
///
/// ```
/// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
/// use keyderive::GcRule;
/// use keyderive::client::{Family, FamilyChange};
///
/// let events = client.raw_table("events");
/// events
///     .modify_families([
///         FamilyChange::add(Family::new("stats", GcRule::max_versions(3))),
///         FamilyChange::gc_rule("cf", GcRule::max_versions(1)),
///         FamilyChange::drop("old"),
///     ])
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyChange(Change);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Add(Family),
    GcRule(String, GcRule),
    Drop(String),
}

impl FamilyChange {
    /// Adds a family, which the table does not have yet.
    #[must_use]
    pub fn add(family: Family) -> Self {
        Self(Change::Add(family))
    }

    /// Gives a family another rule.
    #[must_use]
    pub fn gc_rule(family: impl Into<String>, rule: GcRule) -> Self {
        Self(Change::GcRule(family.into(), rule))
    }

    /// Drops a family, with all cells in it.
    #[must_use]
    pub fn drop(family: impl Into<String>) -> Self {
        Self(Change::Drop(family.into()))
    }

    pub(super) fn fault(&self) -> Option<String> {
        match &self.0 {
            Change::Add(family) => family.fault(),
            Change::GcRule(name, rule) => {
                rule.fault().map(|fault| format!("the column family `{name}`: {fault}"))
            }
            Change::Drop(_) => None,
        }
    }

    pub(super) fn into_message(self) -> Modification {
        let (id, change, update_mask) = match self.0 {
            Change::Add(family) => {
                let (name, family) = family.into_message();
                (name, Mod::Create(family), None)
            }
            Change::GcRule(name, rule) => {
                let mask = FieldMask { paths: vec!["gc_rule".to_owned()] };
                let family = admin::ColumnFamily { gc_rule: rule.message(), value_type: None };
                (name, Mod::Update(family), Some(mask))
            }
            Change::Drop(name) => (name, Mod::Drop(true), None),
        };
        Modification { id, r#mod: Some(change), update_mask }
    }
}

/// What is wrong with a name of a family.
fn name_fault(name: &str) -> Option<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    if begins && name.bytes().all(allowed) && name.len() <= MAX_NAME {
        return None;
    }
    Some(format!(
        "a name has 1 to {MAX_NAME} letters, digits, `_`, `-` and `.`, and begins with a letter, a digit or `_`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_back() {
        let rule = GcRule::max_versions(1);
        let families = [Aggregate::Sum, Aggregate::Min, Aggregate::Max]
            .map(|aggregate| Family::aggregate("f", aggregate, rule.clone()));
        for family in families.into_iter().chain([Family::new("f", rule.clone())]) {
            assert_eq!(family.fault(), None);
            let (name, message) = family.clone().into_message();
            assert_eq!(Family::from_message(name, &message), family);
        }
    }

    #[test]
    fn a_fault_names_the_family() {
        let long = "f".repeat(65);
        for name in ["", "-a", ".a", "a#b", "ä", &long] {
            let fault = Family::new(name, GcRule::never()).fault().unwrap();
            assert!(fault.starts_with(&format!("the column family `{name}`: a name has 1 to 64")), "{fault}");
        }
        let change = FamilyChange::gc_rule("cf", GcRule::max_versions(0));
        assert_eq!(
            change.fault().unwrap(),
            "the column family `cf`: 0 versions are kept; keep 1 to 2147483647"
        );
    }
}
