//! What a declaration of a table has: column families, garbage collection rules, a row key schema.

use std::fmt;
use std::time::Duration;

use keyderive_proto::admin;
use keyderive_proto::admin::gc_rule::Rule;
use keyderive_proto::admin::modify_column_families_request::Modification;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::table::TimestampGranularity;
use keyderive_proto::admin::r#type::aggregate::{self, Aggregator};
use keyderive_proto::admin::r#type::r#struct::encoding::{self, Encoding as Joined};
use keyderive_proto::admin::r#type::r#struct::{Encoding, Field};
use keyderive_proto::admin::r#type::{self, Kind, Struct, bytes, int64, string};
use keyderive_proto::values::{self, FieldMask};
use prost::Message as _;

use crate::dynamic::KeyLayout;
use crate::key::{ColumnJoin, KeySchema, RowKeySchema, SqlColumnType};

const MAX_FAMILY_NAME: usize = 64;
/// The largest encoded rule that the service accepts.
const MAX_RULE_BYTES: usize = 500;
const MIN_AGE: Duration = Duration::from_millis(1);
/// The service stores ages in microseconds.
const AGE_UNIT_NANOS: u32 = 1000;
/// The most that protobuf's `Duration` holds: 10,000 years.
const MAX_AGE_SECS: u64 = 315_576_000_000;

/// A column family: its name, its garbage collection rule, and the type of its cells.
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

/// How an aggregate family combines the values that are added to a cell.
///
/// The values are 64-bit integers, which [`Mutation::add_to_cell`](crate::row::Mutation::add_to_cell) adds.
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

/// The type of a family's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Bytes,
    Aggregate(Aggregate),
    /// An aggregate that this release does not know.
    OtherAggregate,
    /// A type that this release does not know.
    Other,
}

impl Family {
    /// A family whose cells are bytes, as the columns of a row are.
    #[must_use]
    pub fn new(name: impl Into<String>, gc_rule: GcRule) -> Self {
        Self { name: name.into(), gc_rule, values: Values::Bytes }
    }

    /// A family whose cells aggregate the values that are added to them.
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

    /// How its cells aggregate; none for cells of bytes, or of a type that this release does not know.
    #[must_use]
    pub fn aggregates(&self) -> Option<Aggregate> {
        match self.values {
            Values::Aggregate(aggregate) => Some(aggregate),
            Values::Bytes | Values::OtherAggregate | Values::Other => None,
        }
    }

    /// Whether its cells are aggregates of any kind, which are merged and never set.
    pub(crate) fn is_aggregate(&self) -> bool {
        matches!(self.values, Values::Aggregate(_) | Values::OtherAggregate)
    }

    /// The type of its cells, in words.
    pub(crate) fn cells(&self) -> &'static str {
        match self.values {
            Values::Bytes => "bytes",
            Values::Aggregate(Aggregate::Sum) => "sums",
            Values::Aggregate(Aggregate::Min) => "least values",
            Values::Aggregate(Aggregate::Max) => "greatest values",
            Values::OtherAggregate => "another type of aggregates",
            Values::Other => "another type of values",
        }
    }

    /// Why the service would reject the family, with its name.
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
            Values::Bytes | Values::OtherAggregate | Values::Other => None,
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
        (self.name, admin::ColumnFamily { gc_rule: Some(self.gc_rule.message()), value_type })
    }

    pub(super) fn from_message(name: String, message: &admin::ColumnFamily) -> Self {
        let values = match message.value_type.as_ref().and_then(|value_type| value_type.kind.as_ref()) {
            None => Values::Bytes,
            // All encodings of bytes are the same.
            Some(Kind::BytesType(_)) => Values::Bytes,
            Some(Kind::AggregateType(aggregate)) => match aggregate.aggregator {
                Some(Aggregator::Sum(_)) => Values::Aggregate(Aggregate::Sum),
                Some(Aggregator::Min(_)) => Values::Aggregate(Aggregate::Min),
                Some(Aggregator::Max(_)) => Values::Aggregate(Aggregate::Max),
                _ => Values::OtherAggregate,
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

/// The unit of the timestamps of a table's cells, which is set when the table is created.
///
/// ```
/// # use keyderive::{Client, RowKey};
/// # #[derive(RowKey)] struct TradeKey { symbol: String }
/// # type Trade = std::collections::BTreeMap<String, i64>;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// use keyderive::client::Granularity;
///
/// let trades = Client::embedded().table::<TradeKey, Trade>("trades");
/// trades.create().granularity(Granularity::Micros).await?;
/// assert_eq!(trades.info().await?.granularity(), Granularity::Micros);
/// # Ok(())
/// # }
/// ```
///
/// Timestamps always count microseconds. A table of milliseconds stores those that are whole milliseconds, and Bigtable
/// rejects a write with another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Granularity {
    /// Whole milliseconds, as almost all tables have.
    #[default]
    Millis,
    /// Whole microseconds. Google published it in August 2026; older emulators make a table of milliseconds instead.
    Micros,
}

impl Granularity {
    pub(super) fn from_message(message: &admin::Table) -> Self {
        match TimestampGranularity::try_from(message.granularity) {
            Ok(TimestampGranularity::Millis | TimestampGranularity::Unspecified) => Self::Millis,
            // An unknown granularity too: a timestamp that is sent unchanged is exact, or rejected.
            Ok(TimestampGranularity::Micros) | Err(_) => Self::Micros,
        }
    }

    pub(super) fn message(self) -> TimestampGranularity {
        match self {
            Self::Millis => TimestampGranularity::Millis,
            Self::Micros => TimestampGranularity::Micros,
        }
    }
}

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
        })
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
pub struct FamilyChange(FamilyChangeKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum FamilyChangeKind {
    Add(Family),
    GcRule(String, GcRule),
    Drop(String),
}

impl FamilyChange {
    /// Adds a family that the table does not have.
    #[must_use]
    pub fn add(family: Family) -> Self {
        Self(FamilyChangeKind::Add(family))
    }

    /// Changes the rule of a family.
    #[must_use]
    pub fn gc_rule(family: impl Into<String>, rule: GcRule) -> Self {
        Self(FamilyChangeKind::GcRule(family.into(), rule))
    }

    /// Drops a family with all its cells.
    #[must_use]
    pub fn drop(family: impl Into<String>) -> Self {
        Self(FamilyChangeKind::Drop(family.into()))
    }

    pub(super) fn fault(&self) -> Option<String> {
        match &self.0 {
            FamilyChangeKind::Add(family) => family.fault(),
            FamilyChangeKind::GcRule(name, rule) => {
                rule.fault().map(|fault| format!("the column family `{name}`: {fault}"))
            }
            FamilyChangeKind::Drop(_) => None,
        }
    }

    pub(super) fn into_message(self) -> Modification {
        let (id, change, update_mask) = match self.0 {
            FamilyChangeKind::Add(family) => {
                let (name, family) = family.into_message();
                (name, Mod::Create(family), None)
            }
            FamilyChangeKind::GcRule(name, rule) => {
                let mask = FieldMask { paths: vec!["gc_rule".to_owned()] };
                let family = admin::ColumnFamily { gc_rule: Some(rule.message()), value_type: None };
                (name, Mod::Update(family), Some(mask))
            }
            FamilyChangeKind::Drop(name) => (name, Mod::Drop(true), None),
        };
        Modification { id, r#mod: Some(change), update_mask }
    }
}

/// Why the service would reject the name of a family.
fn name_fault(name: &str) -> Option<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    if begins && name.bytes().all(allowed) && name.len() <= MAX_FAMILY_NAME {
        return None;
    }
    Some(format!(
        "a name has 1 to {MAX_FAMILY_NAME} letters, digits, `_`, `-` and `.`, and begins with a letter, a digit or `_`"
    ))
}

/// Which cells of a column family Bigtable may remove.
///
/// ```
/// use std::time::Duration;
/// use keyderive::GcRule;
///
/// let week = GcRule::max_age(Duration::from_secs(7 * 24 * 60 * 60));
/// assert_eq!(week.to_string(), "older than 7 days");
/// let rule = GcRule::union([week.clone(), GcRule::max_versions(3)]);
/// assert_eq!(rule.to_string(), "older than 7 days or all but the newest 3 versions");
/// let rule = GcRule::intersection([week, GcRule::max_versions(1)]);
/// assert_eq!(rule.to_string(), "older than 7 days and all but the newest version");
/// ```
///
/// The text of a rule says which cells are eligible for garbage collection. Bigtable removes them in the background. Until then reads
/// return them, for up to a week, sometimes longer, unless they filter them out.
///
/// # Limits
/// At least 1 version; at least 1 ms, in whole microseconds; at most 500 bytes for a rule with all its parts. A rule beyond
/// a limit is rejected before sending.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GcRule {
    /// Removes nothing. Not allowed inside another rule.
    Never,
    /// Removes all but this number of newest cells of each column.
    MaxVersions(u32),
    /// Removes cells older than this.
    MaxAge(Duration),
    /// Removes cells that any of the rules removes.
    Union(Vec<GcRule>),
    /// Removes cells that all of the rules remove.
    Intersection(Vec<GcRule>),
}

impl GcRule {
    /// Removes nothing.
    #[must_use]
    pub fn never() -> Self {
        Self::Never
    }

    /// Removes all but the newest `versions` cells of each column.
    #[must_use]
    pub fn max_versions(versions: u32) -> Self {
        Self::MaxVersions(versions)
    }

    /// Removes cells whose timestamp is older than `age`.
    #[must_use]
    pub fn max_age(age: Duration) -> Self {
        Self::MaxAge(age)
    }

    /// Removes cells that any of the rules removes.
    #[must_use]
    pub fn union(rules: impl IntoIterator<Item = Self>) -> Self {
        Self::Union(rules.into_iter().collect())
    }

    /// Removes cells that all of the rules remove.
    #[must_use]
    pub fn intersection(rules: impl IntoIterator<Item = Self>) -> Self {
        Self::Intersection(rules.into_iter().collect())
    }

    /// Why the service would reject the rule.
    pub(super) fn fault(&self) -> Option<String> {
        let own = match self {
            Self::Never => None,
            rule => rule.inner_fault(),
        };
        own.or_else(|| {
            let bytes = self.message().encoded_len();
            (bytes > MAX_RULE_BYTES).then(|| {
                format!("the rule has {bytes} bytes, and may have at most {MAX_RULE_BYTES}; make it simpler")
            })
        })
    }

    fn inner_fault(&self) -> Option<String> {
        match self {
            Self::Never => Some("a rule inside another one is `never`; leave it out".into()),
            Self::MaxVersions(versions) if i32::try_from(*versions).is_err() || *versions == 0 => {
                Some(format!("{versions} versions are kept; keep 1 to {}", i32::MAX))
            }
            Self::MaxVersions(_) => None,
            Self::MaxAge(age) if *age < MIN_AGE || age.as_secs() > MAX_AGE_SECS => {
                Some(format!("cells are kept for {age:?}; keep them for 1 ms to {MAX_AGE_SECS} s"))
            }
            Self::MaxAge(age) if !age.subsec_nanos().is_multiple_of(AGE_UNIT_NANOS) => {
                Some(format!("cells are kept for {age:?}; give whole microseconds"))
            }
            Self::MaxAge(_) => None,
            Self::Union(rules) | Self::Intersection(rules) if rules.is_empty() => {
                Some("a union or an intersection has no rules; give it two or more".into())
            }
            Self::Union(rules) | Self::Intersection(rules) => rules.iter().find_map(Self::inner_fault),
        }
    }

    /// The normal form of the rule, which does not depend on order and nesting.
    fn normal(&self) -> Self {
        let (join, rules): (fn(Vec<Self>) -> Self, _) = match self {
            Self::Union(rules) => (Self::Union, rules),
            Self::Intersection(rules) => (Self::Intersection, rules),
            simple => return simple.clone(),
        };
        let is_union = matches!(self, Self::Union(_));
        let mut flat = Vec::with_capacity(rules.len());
        for rule in rules {
            match rule.normal() {
                Self::Union(inner) if is_union => flat.extend(inner),
                Self::Intersection(inner) if !is_union => flat.extend(inner),
                other => flat.push(other),
            }
        }
        flat.sort_by_cached_key(ToString::to_string);
        flat.dedup();
        match flat.pop() {
            Some(only) if flat.is_empty() => only,
            last => {
                flat.extend(last);
                join(flat)
            }
        }
    }

    /// Whether both rules are the same, apart from order and nesting.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.normal() == other.normal()
    }

    /// Whether it removes all but the newest version, whatever the age of the others.
    pub(crate) fn keeps_one(&self) -> bool {
        match self {
            Self::Never | Self::MaxAge(_) => false,
            Self::MaxVersions(versions) => *versions == 1,
            Self::Union(rules) => rules.iter().any(Self::keeps_one),
            Self::Intersection(rules) => !rules.is_empty() && rules.iter().all(Self::keeps_one),
        }
    }

    /// Whether it removes a cell of this age that has this many newer ones in its column.
    pub(crate) fn removes(&self, age: Duration, newer: usize) -> bool {
        match self {
            Self::Never => false,
            Self::MaxVersions(versions) => newer >= usize::try_from(*versions).unwrap_or(usize::MAX),
            Self::MaxAge(max) => age > *max,
            Self::Union(rules) => rules.iter().any(|rule| rule.removes(age, newer)),
            Self::Intersection(rules) => {
                !rules.is_empty() && rules.iter().all(|rule| rule.removes(age, newer))
            }
        }
    }

    /// Whether it removes cells that another rule keeps.
    pub(crate) fn removes_more_than(&self, other: &Self) -> bool {
        // Rules compare ages and counts with limits, so between two limits all cells fare alike.
        let (mut ages, mut newer) = (vec![Duration::ZERO], vec![0]);
        for rule in [self, other] {
            rule.limits(&mut ages, &mut newer);
        }
        ages.iter()
            .any(|age| newer.iter().any(|newer| self.removes(*age, *newer) && !other.removes(*age, *newer)))
    }

    /// The least ages and numbers of newer cells that are beyond a limit of the rule.
    fn limits(&self, ages: &mut Vec<Duration>, newer: &mut Vec<usize>) {
        match self {
            Self::Never => {}
            Self::MaxVersions(versions) => newer.push(usize::try_from(*versions).unwrap_or(usize::MAX)),
            Self::MaxAge(age) => ages.push(age.saturating_add(Duration::from_nanos(1))),
            Self::Union(rules) | Self::Intersection(rules) => {
                rules.iter().for_each(|rule| rule.limits(ages, newer));
            }
        }
    }

    /// An empty message for a rule that removes nothing: without one, the entry of a family of bytes in `CreateTable` has no value,
    /// and the service makes no family of it.
    pub(super) fn message(&self) -> admin::GcRule {
        let inner = |rules: &[Self]| rules.iter().map(Self::message).collect();
        let rule = match self {
            Self::Never => return admin::GcRule::default(),
            Self::MaxVersions(versions) => Rule::MaxNumVersions(i32::try_from(*versions).unwrap_or(i32::MAX)),
            Self::MaxAge(age) => Rule::MaxAge(values::Duration {
                seconds: i64::try_from(age.as_secs()).unwrap_or(i64::MAX),
                nanos: i32::try_from(age.subsec_nanos()).unwrap_or_default(),
            }),
            Self::Union(rules) => Rule::Union(admin::gc_rule::Union { rules: inner(rules) }),
            Self::Intersection(rules) => {
                Rule::Intersection(admin::gc_rule::Intersection { rules: inner(rules) })
            }
        };
        admin::GcRule { rule: Some(rule) }
    }

    pub(super) fn from_message(message: Option<&admin::GcRule>) -> Self {
        let inner =
            |rules: &[admin::GcRule]| rules.iter().map(|rule| Self::from_message(Some(rule))).collect();
        match message.and_then(|message| message.rule.as_ref()) {
            None => Self::Never,
            Some(Rule::MaxNumVersions(versions)) => Self::MaxVersions(u32::try_from(*versions).unwrap_or(0)),
            Some(Rule::MaxAge(age)) => Self::MaxAge(Duration::new(
                u64::try_from(age.seconds).unwrap_or(0),
                u32::try_from(age.nanos).unwrap_or(0).min(999_999_999),
            )),
            Some(Rule::Union(union)) => Self::Union(inner(&union.rules)),
            Some(Rule::Intersection(intersection)) => Self::Intersection(inner(&intersection.rules)),
        }
    }

    fn fmt_inner(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Union(_) | Self::Intersection(_) => write!(f, "({self})"),
            _ => write!(f, "{self}"),
        }
    }
}

/// Which cells the rule removes, in words.
impl fmt::Display for GcRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rules, word) = match self {
            Self::Never => return f.write_str("never"),
            Self::MaxVersions(1) => return f.write_str("all but the newest version"),
            Self::MaxVersions(versions) => return write!(f, "all but the newest {versions} versions"),
            Self::MaxAge(age) => return write!(f, "older than {}", ShownDuration(*age)),
            Self::Union(rules) => (rules, "or"),
            Self::Intersection(rules) => (rules, "and"),
        };
        for (at, rule) in rules.iter().enumerate() {
            if at > 0 {
                write!(f, " {word} ")?;
            }
            rule.fmt_inner(f)?;
        }
        Ok(())
    }
}

/// A duration in the largest unit that divides it.
struct ShownDuration(Duration);

impl fmt::Display for ShownDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
        let Self(span) = self;
        let seconds = span.as_secs();
        if span.subsec_nanos() != 0 || seconds == 0 {
            return write!(f, "{span:?}");
        }
        for (unit, name) in UNITS {
            if seconds.is_multiple_of(unit) {
                let count = seconds / unit;
                return write!(f, "{count} {name}{}", if count == 1 { "" } else { "s" });
            }
        }
        Ok(())
    }
}

/// The row key schema of a table: how Bigtable's SQL reads its row keys.
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::client::TableSchema;
///
/// #[derive(RowKey)]
/// #[row_key(layout = "ordered")]
/// struct EventKey {
///     user_id: String,
///     at: u64,
/// }
///
/// // `Table::info` returns the same for a table created for these keys.
/// let schema = TableSchema::from(&EventKey::row_key_schema()?);
/// assert_eq!(schema.to_string(), "`user_id` STRING, `at` INT64, in ordered code");
/// # Ok::<(), keyderive::key::SqlError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct TableSchema(pub(super) Struct);

impl TableSchema {
    /// The names of its columns, from left to right.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.fields.iter().map(|field| field.field_name.as_str())
    }

    /// The layout of keys that it describes, if that is in ordered code and all columns are of the types of key fields.
    pub(crate) fn key_layout(&self, table: &str) -> Option<KeyLayout> {
        let Some(Joined::OrderedCodeBytes(_)) = self.0.encoding.as_ref()?.encoding else { return None };
        let columns = self.0.fields.iter().map(column_of).collect::<Option<Vec<_>>>()?;
        let is_new = |at: usize| !columns[..at].iter().any(|(name, _)| *name == columns[at].0);
        let schema =
            (0..columns.len()).all(is_new).then(|| KeySchema::of_ordered_columns(table, &columns).ok())??;
        KeyLayout::of_schema(schema).ok()
    }

    /// The first difference from the expected schema, in words.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        let (Self(found), Self(expected)) = (self, expected);
        for (at, (field, wanted)) in found.fields.iter().zip(&expected.fields).enumerate() {
            let place = at + 1;
            if field.field_name != wanted.field_name {
                return Some(format!(
                    "column {place} should be `{}` and is `{}`",
                    wanted.field_name, field.field_name
                ));
            }
            let (type_, wanted_type) = (type_words(field), type_words(wanted));
            if type_ != wanted_type {
                return Some(format!(
                    "column {place}, `{}`, should be {wanted_type} and is {type_}",
                    field.field_name
                ));
            }
        }
        if found.fields.len() != expected.fields.len() {
            let (count, wanted) = (found.fields.len(), expected.fields.len());
            return Some(format!("it should have {wanted} columns and has {count}"));
        }
        let (joined, wanted) = (joined_words(found), joined_words(expected));
        (joined != wanted).then(|| format!("its columns should be {wanted} and are {joined}"))
    }
}

/// The row key schema of a key type.
impl From<&RowKeySchema> for TableSchema {
    fn from(schema: &RowKeySchema) -> Self {
        let field = |(name, kind): (&str, SqlColumnType)| Field {
            field_name: name.to_owned(),
            r#type: Some(admin::Type { kind: Some(kind_message(kind)) }),
        };
        let encoding = match schema.encoding() {
            ColumnJoin::Singleton => Joined::Singleton(encoding::Singleton {}),
            ColumnJoin::OrderedCode => Joined::OrderedCodeBytes(encoding::OrderedCodeBytes {}),
            ColumnJoin::Delimited(byte) => {
                Joined::DelimitedBytes(encoding::DelimitedBytes { delimiter: vec![byte].into() })
            }
        };
        Self(Struct {
            fields: schema.columns().map(field).collect(),
            encoding: Some(Encoding { encoding: Some(encoding) }),
        })
    }
}

fn kind_message(kind: SqlColumnType) -> Kind {
    match kind {
        SqlColumnType::String => {
            let encoding = string::encoding::Encoding::Utf8Bytes(string::encoding::Utf8Bytes {});
            Kind::StringType(r#type::String { encoding: Some(string::Encoding { encoding: Some(encoding) }) })
        }
        SqlColumnType::Bytes => {
            let encoding = bytes::encoding::Encoding::Raw(bytes::encoding::Raw {});
            Kind::BytesType(r#type::Bytes { encoding: Some(bytes::Encoding { encoding: Some(encoding) }) })
        }
        SqlColumnType::Int64 => {
            let encoding = int64::encoding::Encoding::OrderedCodeBytes(int64::encoding::OrderedCodeBytes {});
            Kind::Int64Type(r#type::Int64 { encoding: Some(int64::Encoding { encoding: Some(encoding) }) })
        }
    }
}

/// The name and the type of a column, if key fields have such.
fn column_of(field: &Field) -> Option<(&str, SqlColumnType)> {
    let found = field.r#type.as_ref()?.kind.as_ref()?;
    let kinds = [SqlColumnType::String, SqlColumnType::Bytes, SqlColumnType::Int64];
    let kind = kinds.into_iter().find(|kind| kind_message(*kind) == *found)?;
    Some((field.field_name.as_str(), kind))
}

/// The type of a column, with its encoding if that is not the one that key types use.
fn type_words(field: &Field) -> &'static str {
    use int64::encoding::Encoding as OfInt64;

    let Some(kind) = field.r#type.as_ref().and_then(|r#type| r#type.kind.as_ref()) else {
        return "of no type";
    };
    match kind {
        // The older encoding `Utf8Raw` is the same.
        Kind::StringType(_) => "STRING",
        Kind::BytesType(_) => "BYTES",
        Kind::Int64Type(r#type::Int64 { encoding }) => {
            match encoding.as_ref().and_then(|encoding| encoding.encoding.as_ref()) {
                Some(OfInt64::OrderedCodeBytes(_)) => "INT64",
                Some(OfInt64::BigEndianBytes(_)) => "INT64 in 8 big-endian bytes",
                None => "INT64 of no encoding",
            }
        }
        Kind::BoolType(_) => "BOOL",
        Kind::Float32Type(_) => "FLOAT32",
        Kind::Float64Type(_) => "FLOAT64",
        Kind::TimestampType(_) => "TIMESTAMP",
        Kind::DateType(_) => "DATE",
        Kind::AggregateType(_)
        | Kind::StructType(_)
        | Kind::ArrayType(_)
        | Kind::MapType(_)
        | Kind::ProtoType(_)
        | Kind::EnumType(_) => "not a scalar",
    }
}

/// How the columns are joined into one key.
fn joined_words(schema: &Struct) -> String {
    match schema.encoding.as_ref().and_then(|encoding| encoding.encoding.as_ref()) {
        Some(Joined::Singleton(_)) => "the whole key".to_owned(),
        Some(Joined::DelimitedBytes(encoding::DelimitedBytes { delimiter })) => {
            format!("delimited by {}", crate::key::ShownKey(delimiter))
        }
        Some(Joined::OrderedCodeBytes(_)) => "in ordered code".to_owned(),
        None => "of no encoding".to_owned(),
    }
}

impl fmt::Display for TableSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for field in &self.0.fields {
            write!(f, "`{}` {}, ", field.field_name, type_words(field))?;
        }
        f.write_str(&joined_words(&self.0))
    }
}

impl fmt::Debug for TableSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableSchema({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowKey;

    #[test]
    fn families_are_read_back() {
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

    fn age(seconds: u64) -> GcRule {
        GcRule::max_age(Duration::from_secs(seconds))
    }

    #[test]
    fn a_rule_removes_more_if_it_removes_a_cell_that_the_other_keeps() {
        use GcRule as Gc;

        let versions = Gc::max_versions;
        for (rule, other) in [
            (versions(1), Gc::never()),
            (versions(1), versions(2)),
            (age(60), age(61)),
            (age(60), versions(1)),
            (versions(1), age(60)),
            (Gc::union([age(60), versions(3)]), age(60)),
            (age(60), Gc::intersection([age(60), versions(3)])),
            (Gc::intersection([age(60), versions(2)]), Gc::intersection([age(61), versions(1)])),
        ] {
            assert!(rule.removes_more_than(&other), "{rule}; {other}");
            assert!(!rule.removes_more_than(&rule.clone()), "{rule}");
        }
        for (rule, other) in [
            (Gc::never(), versions(1)),
            (versions(2), versions(1)),
            (age(61), age(60)),
            (age(60), Gc::union([age(60), versions(3)])),
            (Gc::intersection([age(60), versions(3)]), versions(3)),
            (versions(2), Gc::union([versions(2), versions(3)])),
        ] {
            assert!(!rule.removes_more_than(&other), "{rule}; {other}");
        }
    }

    #[test]
    fn rules_have_a_text() {
        let words = |rule: GcRule| rule.to_string();
        assert_eq!(words(GcRule::never()), "never");
        assert_eq!(words(age(86_400)), "older than 1 day");
        assert_eq!(words(age(7200)), "older than 2 hours");
        assert_eq!(words(age(61)), "older than 61 seconds");
        assert_eq!(words(GcRule::max_age(Duration::from_millis(1500))), "older than 1.5s");
        let inner = GcRule::intersection([GcRule::max_versions(2), age(60)]);
        assert_eq!(
            words(GcRule::union([age(3600), inner])),
            "older than 1 hour or (all but the newest 2 versions and older than 1 minute)"
        );
    }

    #[test]
    fn rules_are_read_back() {
        let inner =
            GcRule::intersection([GcRule::max_versions(2), GcRule::max_age(Duration::from_micros(1001))]);
        for rule in [GcRule::never(), GcRule::max_versions(1), GcRule::union([age(60), inner])] {
            assert_eq!(rule.fault(), None, "{rule}");
            assert_eq!(GcRule::from_message(Some(&rule.message())), rule);
        }
    }

    #[test]
    fn invalid_rules_are_rejected_before_sending() {
        let fault = |rule: GcRule| rule.fault().unwrap();
        assert_eq!(fault(GcRule::max_versions(0)), "0 versions are kept; keep 1 to 2147483647");
        assert!(fault(GcRule::max_versions(u32::MAX)).starts_with("4294967295 versions"));
        assert!(fault(GcRule::max_age(Duration::from_micros(999))).starts_with("cells are kept for 999µs"));
        assert!(fault(GcRule::max_age(Duration::from_nanos(1_000_001))).ends_with("give whole microseconds"));
        assert!(fault(GcRule::max_age(Duration::MAX)).contains("315576000000 s"));
        assert!(fault(GcRule::union([])).contains("no rules"));
        assert!(fault(GcRule::union([age(60), GcRule::never()])).contains("`never`"));
        assert!(
            fault(GcRule::union([age(60), GcRule::intersection([GcRule::max_versions(0)])]))
                .contains("0 versions")
        );
        assert!(fault(GcRule::union((1..200).map(age))).contains("at most 500"));
    }

    #[test]
    fn rules_that_keep_one_version_are_found() {
        let one = GcRule::max_versions(1);
        for rule in [one.clone(), GcRule::union([age(60), one.clone()]), GcRule::intersection([one.clone()])]
        {
            assert!(rule.keeps_one(), "{rule}");
        }
        let young = GcRule::intersection([age(60), one]);
        for rule in [GcRule::never(), age(60), GcRule::max_versions(2), GcRule::intersection([]), young] {
            assert!(!rule.keeps_one(), "{rule}");
        }
    }

    #[test]
    fn order_and_nesting_make_no_difference() {
        let (one, two, three) = (age(60), GcRule::max_versions(2), age(120));
        let nested = GcRule::union([one.clone(), GcRule::union([two.clone(), three.clone()]), one.clone()]);
        let flat = GcRule::union([three.clone(), two.clone(), one.clone()]);
        assert!(nested.is_same(&flat));
        assert!(GcRule::union([one.clone()]).is_same(&one));
        assert!(!GcRule::intersection([three, two, one]).is_same(&flat));
    }

    #[derive(RowKey)]
    struct Text {
        user: String,
        at: u64,
    }

    #[derive(RowKey)]
    #[row_key(layout = "ordered")]
    struct Ordered {
        user: String,
        at: u64,
    }

    #[derive(RowKey)]
    struct Other {
        user: String,
        on: u64,
    }

    #[derive(RowKey)]
    struct Alone {
        user: String,
    }

    fn schema<K: RowKey>() -> TableSchema {
        (&K::row_key_schema().unwrap()).into()
    }

    #[test]
    fn a_schema_has_a_text() {
        assert_eq!(schema::<Text>().to_string(), "`user` STRING, `at` STRING, delimited by `#`");
        assert_eq!(schema::<Ordered>().to_string(), "`user` STRING, `at` INT64, in ordered code");
        assert_eq!(schema::<Alone>().to_string(), "`user` STRING, the whole key");
        assert!(schema::<Text>().columns().eq(["user", "at"]));
    }

    #[test]
    fn a_difference_names_the_column() {
        let difference = |found: TableSchema, expected: TableSchema| found.difference(&expected);
        assert_eq!(difference(schema::<Text>(), schema::<Text>()), None);
        assert_eq!(
            difference(schema::<Ordered>(), schema::<Text>()).unwrap(),
            "column 2, `at`, should be STRING and is INT64"
        );
        assert_eq!(
            difference(schema::<Other>(), schema::<Text>()).unwrap(),
            "column 2 should be `at` and is `on`"
        );
        assert_eq!(
            difference(schema::<Alone>(), schema::<Text>()).unwrap(),
            "it should have 2 columns and has 1"
        );
        let mut dashed = schema::<Text>();
        dashed.0.encoding = Some(Encoding {
            encoding: Some(Joined::DelimitedBytes(encoding::DelimitedBytes { delimiter: "-".into() })),
        });
        assert_eq!(
            difference(dashed, schema::<Text>()).unwrap(),
            "its columns should be delimited by `#` and are delimited by `-`"
        );
    }

    #[test]
    fn the_older_name_of_an_encoding_makes_no_difference() {
        let mut old = schema::<Alone>();
        let encoding = string::encoding::Encoding::Utf8Raw(string::encoding::Utf8Raw {});
        old.0.fields[0].r#type = Some(admin::Type {
            kind: Some(Kind::StringType(r#type::String {
                encoding: Some(string::Encoding { encoding: Some(encoding) }),
            })),
        });
        assert_eq!(old.difference(&schema::<Alone>()), None);
    }
}
