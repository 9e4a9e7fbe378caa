//! The layout of the columns of one struct, and its rules.

use std::collections::HashMap;
use std::fmt;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::Words;

/// The family of the origins of rows while a table is re-keyed.
pub const ORIGINS: &str = "keyderive-origin";

/// Whether a family has a reserved name: it is the library's, and no row type has cells in it.
#[must_use]
pub fn is_reserved(family: &str) -> bool {
    family == "keyderive" || family == ORIGINS || family.starts_with("keyderive.")
}

/// The longest qualifier that Bigtable allows, in bytes.
const MAX_QUALIFIER_LEN: usize = 16_384;
/// The longest name of a family, in bytes.
const MAX_FAMILY_LEN: usize = 64;
/// In microseconds.
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The columns and families of a struct.
#[derive(Clone, Debug, Default)]
pub struct Struct {
    /// The family of the columns that name none; `None` for a map, whose family its table names.
    pub family: Option<String>,
    /// The fields that are columns.
    pub columns: Vec<Column>,
    /// The fields that are families.
    pub families: Vec<Family>,
    /// How long families are kept.
    pub rules: Vec<RuleLayout>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The field's name in messages.
    pub label: String,
    /// Its family, which is that of the struct if it names none.
    pub family: String,
    /// Its qualifier.
    pub name: String,
    /// Its former places, in the order of reading.
    pub aliases: Vec<PlaceLayout>,
    /// What it holds.
    pub kind: KindLayout,
    /// Whether it has a fault of its family that its reader has said already.
    pub is_doubtful: bool,
}

/// A family and the name of a column in it, such as a former one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(deny_unknown_fields))]
pub struct PlaceLayout {
    /// The family.
    pub family: String,
    /// The qualifier.
    pub name: String,
}

/// A field that is a family.
#[derive(Clone, Debug)]
pub struct Family {
    /// The field's name in messages.
    pub label: String,
    /// The family's name.
    pub name: String,
    /// What each column of a map holds.
    pub kind: KindLayout,
}

/// What a column holds. `window_micros` is 0 if no width is given; in a map, 0 allows windows of any width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
#[allow(missing_docs, reason = "the enum says them")]
pub enum KindLayout {
    /// The newest value.
    Value,
    /// The newest value with its time.
    Timestamped,
    /// Every version.
    Versions,
    /// An integer that the server increments.
    Counter,
    /// A sum that the server keeps.
    Sum,
    /// A minimum.
    Min,
    /// A maximum.
    Max,
    /// A sum for each window of time.
    SumVersions { window_micros: i64 },
    /// A minimum for each.
    MinVersions { window_micros: i64 },
    /// A maximum for each.
    MaxVersions { window_micros: i64 },
}

/// How long the cells of a family are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(deny_unknown_fields))]
pub struct RuleLayout {
    /// The family.
    pub family: String,
    /// Which cells are deleted, if that is declared.
    pub gc: Option<GcLayout>,
    /// The age in seconds after which cells are not read.
    pub ttl_secs: Option<u64>,
    /// Whether `put` empties the family first.
    pub exclusive: bool,
}

/// Which cells are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
#[allow(missing_docs, reason = "the names say them")]
pub enum GcLayout {
    /// No cells.
    Never,
    /// Those beyond one of the limits.
    Any { max_age_secs: Option<u64>, max_versions: Option<u32> },
    /// Those beyond both.
    All { max_age_secs: u64, max_versions: u32 },
}

/// In words, for the text of a change.
impl fmt::Display for GcLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Never | Self::Any { max_age_secs: None, max_versions: None } => f.write_str("never"),
            Self::Any { max_age_secs: Some(age), max_versions: None } => write!(f, "after {age}s"),
            Self::Any { max_age_secs: None, max_versions: Some(most) } => write!(f, "beyond {most} versions"),
            Self::Any { max_age_secs: Some(age), max_versions: Some(most) } => {
                write!(f, "after {age}s or beyond {most} versions")
            }
            Self::All { max_age_secs, max_versions } => {
                write!(f, "after {max_age_secs}s and beyond {max_versions} versions")
            }
        }
    }
}

/// A broken rule of columns or families.
pub type Fault = crate::Fault<Place, Reason>;
type Faults = crate::Faults<Place, Reason>;

/// What is at fault, by indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The family of the struct.
    OwnFamily,
    /// A part of a column.
    Column(usize, ColumnPart),
    /// A field that is a family.
    Family(usize, FamilyPart),
    /// A family's rule.
    Rule(usize, RulePart),
}

/// A part of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnPart {
    /// The field.
    Whole,
    /// Its qualifier.
    Name,
    /// Its family.
    Family,
    /// A former place.
    Alias(usize),
    /// What it holds.
    Kind,
    /// The width of its windows.
    Window,
}

/// A part of a field that is a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyPart {
    /// The field.
    Whole,
    /// Its name.
    Name,
    /// What each column of a map holds.
    Kind,
    /// The width of windows.
    Window,
}

/// A part of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulePart {
    /// The rule.
    Whole,
    /// Its family.
    Family,
    /// After which age cells are not read.
    Ttl,
}

/// Why something is a fault, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`text` says them")]
pub enum Reason {
    FamilyName { name: String },
    FamilyReserved,
    FamilyOfRow { family: String },
    ColumnEmpty,
    ColumnLong,
    OnePlace { one: String, other: String, place: String },
    FamilyOfField { family: String, field: String, is_alias: bool },
    AliasOfColumn { column: String, of: String },
    OfColumn { option: &'static str, family: String },
    CounterAlias,
    AggregateAlias,
    NoWindow,
    WindowOfDay,
    TwoRules { family: String },
    TtlAboveAge,
    TtlAlias { family: String },
    KeepsOne { column: String, family: String },
    CounterExpires,
    AggregateExpires,
    WindowAboveTtl,
    WindowAboveAge,
    FamilyOfAggregates { family: String, aggregate: &'static str, other: String },
}

impl KindLayout {
    /// The aggregate that the server keeps, `Sum`, `Min` or `Max`, with the width of its windows if it has some; none if programs set
    /// the values.
    #[must_use]
    pub fn aggregate(self) -> Option<(&'static str, Option<i64>)> {
        match self {
            Self::Value | Self::Timestamped | Self::Versions | Self::Counter => None,
            Self::Sum => Some(("Sum", None)),
            Self::Min => Some(("Min", None)),
            Self::Max => Some(("Max", None)),
            Self::SumVersions { window_micros } => Some(("Sum", Some(window_micros))),
            Self::MinVersions { window_micros } => Some(("Min", Some(window_micros))),
            Self::MaxVersions { window_micros } => Some(("Max", Some(window_micros))),
        }
    }

    /// The width of its windows, if it has some.
    #[must_use]
    pub fn window_micros(self) -> Option<i64> {
        self.aggregate()?.1
    }
}

impl RuleLayout {
    /// The age above which one of its limits removes a cell.
    fn max_age_secs(&self) -> Option<u64> {
        match self.gc {
            Some(GcLayout::Any { max_age_secs, .. }) => max_age_secs,
            _ => None,
        }
    }
}

impl Struct {
    /// All broken rules.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = crate::Faults(Vec::new());
        if let Some(family) = &self.family {
            faults.family_name(Place::OwnFamily, family);
        }
        for (at, column) in self.columns.iter().enumerate() {
            self.column(at, column, &mut faults);
        }
        for (at, family) in self.families.iter().enumerate() {
            self.family(at, family, &mut faults);
        }
        self.one_place_for_each(&mut faults);
        self.rules(&mut faults);
        self.aggregates(&mut faults);
        faults.0
    }

    /// The rules of a column alone.
    fn column(&self, at: usize, column: &Column, faults: &mut Faults) {
        let place = |part| Place::Column(at, part);
        faults.column_name(place(ColumnPart::Name), &column.name);
        if self.family.as_ref() != Some(&column.family) {
            faults.family_name(place(ColumnPart::Family), &column.family);
        }
        for (nth, alias) in column.aliases.iter().enumerate() {
            if alias.family != column.family {
                faults.family_name(place(ColumnPart::Alias(nth)), &alias.family);
            }
            faults.column_name(place(ColumnPart::Alias(nth)), &alias.name);
        }
        if !column.aliases.is_empty() {
            // Under a new name, the server begins anew.
            match column.kind {
                KindLayout::Counter => faults.add(place(ColumnPart::Kind), Reason::CounterAlias),
                KindLayout::Value | KindLayout::Timestamped | KindLayout::Versions => {}
                _ => faults.add(place(ColumnPart::Alias(0)), Reason::AggregateAlias),
            }
        }
        match column.kind.window_micros() {
            Some(0) => faults.add(place(ColumnPart::Kind), Reason::NoWindow),
            Some(micros) if micros < 0 || micros % SECOND != 0 || DAY % micros != 0 => {
                faults.add(place(ColumnPart::Window), Reason::WindowOfDay);
            }
            Some(_) | None => {}
        }
    }

    /// The rules of a family alone.
    fn family(&self, at: usize, family: &Family, faults: &mut Faults) {
        let place = |part| Place::Family(at, part);
        faults.family_name(place(FamilyPart::Name), &family.name);
        if self.family.as_ref() == Some(&family.name) {
            faults.add(place(FamilyPart::Name), Reason::FamilyOfRow { family: family.name.clone() });
        }
        let of_column = |option| Reason::OfColumn { option, family: family.label.clone() };
        if family.kind == KindLayout::Counter {
            faults.add(place(FamilyPart::Kind), of_column("counter"));
        }
        if family.kind.window_micros().is_some_and(|micros| micros != 0) {
            faults.add(place(FamilyPart::Window), of_column("window"));
        }
    }

    /// Two fields cannot share a column or a family.
    fn one_place_for_each(&self, faults: &mut Faults) {
        let mut families: HashMap<&str, &Family> = HashMap::new();
        for (at, family) in self.families.iter().enumerate() {
            if let Some(other) = families.insert(&family.name, family) {
                let place = format!("the family `{}`", family.name);
                let (one, other) = (other.label.clone(), family.label.clone());
                faults.add(Place::Family(at, FamilyPart::Whole), Reason::OnePlace { one, other, place });
            }
        }
        let mut columns: HashMap<(&str, &str), &Column> = HashMap::new();
        for (at, column) in self.columns.iter().enumerate() {
            if let Some(other) = columns.insert((&column.family, &column.name), column) {
                let place = format!("the column `{}:{}`", column.family, column.name);
                let (one, other) = (other.label.clone(), column.label.clone());
                faults.add(Place::Column(at, ColumnPart::Whole), Reason::OnePlace { one, other, place });
            }
        }
        for (at, column) in self.columns.iter().enumerate() {
            for (nth, alias) in column.aliases.iter().enumerate().filter(|(_, alias)| !alias.name.is_empty())
            {
                let reason = if let Some(reason) = self.of_field(&alias.family, true) {
                    reason
                } else if let Some(other) = columns.get(&(&*alias.family, &*alias.name)) {
                    Reason::AliasOfColumn { column: other.name.clone(), of: column.name.clone() }
                } else {
                    columns.insert((&alias.family, &alias.name), column);
                    continue;
                };
                faults.add(Place::Column(at, ColumnPart::Alias(nth)), reason);
            }
            if self.family.as_ref() != Some(&column.family)
                && let Some(reason) = self.of_field(&column.family, false)
            {
                faults.add(Place::Column(at, ColumnPart::Whole), reason);
            }
        }
    }

    /// The fault of a column or an alias in a family that is a field: all columns of the family are the field's own.
    fn of_field(&self, family: &str, is_alias: bool) -> Option<Reason> {
        let field = self.families.iter().find(|field| field.name == family)?.label.clone();
        Some(Reason::FamilyOfField { family: family.to_owned(), field, is_alias })
    }

    /// How long families are kept.
    fn rules(&self, faults: &mut Faults) {
        for (at, rule) in self.rules.iter().enumerate() {
            if self.rules[..at].iter().any(|other| other.family == rule.family) {
                let reason = Reason::TwoRules { family: rule.family.clone() };
                faults.add(Place::Rule(at, RulePart::Whole), reason);
            }
            let is_known = self.family.as_ref() == Some(&rule.family)
                || self.columns.iter().any(|column| column.family == rule.family)
                || self.families.iter().any(|family| family.name == rule.family);
            if !is_known {
                faults.family_name(Place::Rule(at, RulePart::Family), &rule.family);
            }
            if let (Some(ttl), Some(max_age)) = (rule.ttl_secs, rule.max_age_secs())
                && ttl > max_age
            {
                faults.add(Place::Rule(at, RulePart::Ttl), Reason::TtlAboveAge);
            }
            for (at, column) in
                self.columns.iter().enumerate().filter(|(_, column)| column.family == rule.family)
            {
                ruled(at, column, rule, faults);
            }
            for (at, family) in
                self.families.iter().enumerate().filter(|(_, family)| family.name == rule.family)
            {
                if let (Some((_, None)), Some(_)) =
                    (family.kind.aggregate(), rule.max_age_secs().or(rule.ttl_secs))
                {
                    faults.add(Place::Family(at, FamilyPart::Kind), Reason::AggregateExpires);
                }
            }
        }
    }

    /// A family with an aggregate holds columns of that aggregate alone.
    fn aggregates(&self, faults: &mut Faults) {
        for one in self.columns.iter().filter(|one| !one.is_doubtful) {
            let Some((aggregate, _)) = one.kind.aggregate() else { continue };
            for (at, other) in self.columns.iter().enumerate() {
                if other.family == one.family && other.kind.aggregate().is_none_or(|(of, _)| of != aggregate)
                {
                    let (family, other) = (one.family.clone(), other.name.clone());
                    let reason = Reason::FamilyOfAggregates { family, aggregate, other };
                    faults.add(Place::Column(at, ColumnPart::Whole), reason);
                }
            }
        }
    }
}

/// A column in a family with a rule.
fn ruled(at: usize, column: &Column, rule: &RuleLayout, faults: &mut Faults) {
    let mut fault = |part, reason| faults.add(Place::Column(at, part), reason);
    let family = || rule.family.clone();
    if rule.ttl_secs.is_some()
        && let Some(nth) = column.aliases.iter().position(|alias| alias.family != column.family)
    {
        fault(ColumnPart::Alias(nth), Reason::TtlAlias { family: family() });
    }
    let window = column.kind.window_micros();
    let keeps_one = matches!(rule.gc, Some(GcLayout::Any { max_versions: Some(1), .. }));
    if keeps_one && (column.kind == KindLayout::Versions || window.is_some()) {
        fault(ColumnPart::Kind, Reason::KeepsOne { column: column.name.clone(), family: family() });
    }
    let expires = rule.max_age_secs().or(rule.ttl_secs).is_some();
    match (column.kind.aggregate(), window) {
        (None, _) if column.kind == KindLayout::Counter && expires => {
            fault(ColumnPart::Kind, Reason::CounterExpires);
        }
        (Some(_), None) if expires => fault(ColumnPart::Kind, Reason::AggregateExpires),
        // A window has the time of its start, and an addition at its end must not be too old for the family.
        (_, Some(window)) => {
            let is_longer = |secs: u64| i128::from(window) > i128::from(secs) * i128::from(SECOND);
            if rule.ttl_secs.is_some_and(is_longer) {
                fault(ColumnPart::Window, Reason::WindowAboveTtl);
            } else if rule.max_age_secs().is_some_and(is_longer) {
                fault(ColumnPart::Window, Reason::WindowAboveAge);
            }
        }
        _ => {}
    }
}

impl Faults {
    fn family_name(&mut self, place: Place, name: &str) {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > MAX_FAMILY_LEN || !name.bytes().all(is_allowed) {
            self.add(place, Reason::FamilyName { name: name.to_owned() });
        } else if is_reserved(name) {
            self.add(place, Reason::FamilyReserved);
        }
    }

    fn column_name(&mut self, place: Place, name: &str) {
        if name.is_empty() {
            self.add(place, Reason::ColumnEmpty);
        } else if name.len() > MAX_QUALIFIER_LEN {
            self.add(place, Reason::ColumnLong);
        }
    }
}

impl Reason {
    /// The fault, and the remedy in these words.
    #[must_use]
    pub fn text(&self, words: Words) -> String {
        let (fault, attributes, json) = self.parts();
        let remedy = match words {
            Words::Attributes => attributes,
            Words::Json => json,
        };
        format!("{fault}; {remedy}")
    }

    /// The fault, and the remedy in attributes and in JSON.
    fn parts(&self) -> (String, &'static str, &'static str) {
        let same = |fault: &str, remedy| (fault.to_owned(), remedy, remedy);
        match self {
            Self::FamilyName { name } => (
                format!(
                    "`{name:.128}` cannot name a family, which has 1 to {MAX_FAMILY_LEN} ASCII letters, digits, `-`, `_` and `.`"
                ),
                "choose another name, for a field that is a family by `#[row(family, name = \"…\")]`",
                "choose another name",
            ),
            Self::FamilyReserved => same(
                "the families `keyderive`, `keyderive.…` and `keyderive-origin` are the library's",
                "choose another name",
            ),
            Self::FamilyOfRow { family } => (
                format!("the family `{family}` is that of the row's own columns"),
                "give the field another name with `#[row(family, name = \"…\")]`",
                "give the field another name",
            ),
            Self::ColumnEmpty => {
                same("the empty name is that of the marker of an empty row", "give the column a name")
            }
            Self::ColumnLong => {
                same(&format!("a column's name has at most {MAX_QUALIFIER_LEN} bytes"), "shorten it")
            }
            Self::OnePlace { one, other, place } => (
                format!("`{one}` and `{other}` are both {place}, which holds one value"),
                "give one another name with `#[row(name = \"…\")]`",
                "give one another name",
            ),
            Self::FamilyOfField { family, field, is_alias } => same(
                &format!(
                    "the family `{family}` is that of the field `{field}`, all of whose columns are its own"
                ),
                if *is_alias { "remove the alias" } else { "give one another family" },
            ),
            Self::AliasOfColumn { column, of } => {
                same(&format!("`{column}` is a column and an alias of `{of}`"), "remove the alias")
            }
            Self::OfColumn { option, family } => same(
                &format!("`{option}` is for a column, and `{family}` is a family"),
                "put it on a field of the family's struct",
            ),
            Self::CounterAlias => (
                "the server would count from 0 beside a value under the alias".into(),
                "keep the stored name by `#[row(name = \"…\")]`",
                "keep the stored name",
            ),
            Self::AggregateAlias => (
                "the server would count from 0 beside an aggregate under the alias".into(),
                "keep the stored name by `#[row(name = \"…\")]`",
                "keep the stored name",
            ),
            Self::NoWindow => (
                "each aggregate in a column counts for a window of time".into(),
                "write its width, such as `#[row(window = \"1h\")]`",
                "write its width as `window_micros`",
            ),
            Self::WindowOfDay => (
                "the window does not divide a day".into(),
                "write a window such as \"1h\"",
                "write a window such as 3600000000",
            ),
            Self::TwoRules { family } => same(&format!("the family `{family}` has two rules"), "keep one"),
            Self::TtlAboveAge => {
                same("`ttl` is longer than `max_age`, which deletes cells before", "raise `max_age`")
            }
            Self::TtlAlias { family } => same(
                &format!("`ttl` hides cells of the family `{family}` alone, and this alias is in another"),
                "copy its values, or remove the `ttl`",
            ),
            Self::KeepsOne { column, family } => (
                format!("`{column}` reads every version, and the family `{family}` keeps one"),
                "write `gc(never)` or more versions",
                "write `\"never\"` or more versions",
            ),
            Self::CounterExpires => same(
                "an increment adds to an expired value too",
                "use `Versions<Sum>` with `window`, give it a family of its own without `max_age` and `ttl`, or remove these",
            ),
            Self::AggregateExpires => same(
                "an aggregate is at time 0, and expires at once",
                "use `Versions<…>` with `window`, or remove `max_age` and `ttl`",
            ),
            Self::WindowAboveTtl => same(
                "the window is longer than the `ttl` of its family, which hides it from its start on: additions at its end would \
                 never be read",
                "shorten the window, or raise the `ttl`",
            ),
            Self::WindowAboveAge => same(
                "the window is longer than the `max_age` of its family, which is counted from its start: additions at its end \
                 would be removed at once",
                "shorten the window, or raise the `max_age`",
            ),
            Self::FamilyOfAggregates { family, aggregate, other } => same(
                &format!("the family `{family}` holds `{aggregate}`s, and `{other}` is not one"),
                "give it another family",
            ),
        }
    }
}
