//! The layout of the columns of one struct, and its rules.

use std::collections::HashMap;

use crate::Words;

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
    pub rules: Vec<Rule>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// What a message calls the field.
    pub label: String,
    /// Its family, which is that of the struct if it names none.
    pub family: String,
    /// Its qualifier.
    pub name: String,
    /// Its former places, in the order of reading.
    pub aliases: Vec<Alias>,
    /// What it holds.
    pub kind: Kind,
    /// Whether it has a fault of its family that its reader has said already.
    pub is_doubtful: bool,
}

/// A former place of a column.
#[derive(Clone, Debug)]
pub struct Alias {
    /// The family.
    pub family: String,
    /// The qualifier.
    pub name: String,
}

/// A field that is a family.
#[derive(Clone, Debug)]
pub struct Family {
    /// What a message calls the field.
    pub label: String,
    /// The family's name.
    pub name: String,
    /// What each column of a map holds.
    pub kind: Kind,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The newest value.
    Value,
    /// Every version.
    Versions,
    /// An integer in which the server counts.
    Counter,
    /// A value that the server aggregates: `Sum`, `Min` or `Max`.
    Aggregate(&'static str),
    /// An aggregate of each window of time.
    Windows(&'static str, Window),
}

/// The width of windows of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// In microseconds; `None` if none is given.
    pub micros: Option<i64>,
    /// As it is written.
    pub written: String,
}

/// How long the cells of a family are kept, in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// The family.
    pub family: String,
    /// After which age they are deleted, whatever else is said.
    pub max_age: Option<u64>,
    /// After which age they are not read.
    pub ttl: Option<u64>,
    /// Whether one version of a column is kept.
    pub keeps_one: bool,
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
    WindowOfDay { written: String },
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

impl Kind {
    /// The aggregate that the server keeps.
    fn aggregate(&self) -> Option<&'static str> {
        match self {
            Self::Value | Self::Versions | Self::Counter => None,
            Self::Aggregate(name) | Self::Windows(name, _) => Some(name),
        }
    }

    fn window(&self) -> Option<&Window> {
        match self {
            Self::Windows(_, window) => Some(window),
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
                Kind::Counter => faults.add(place(ColumnPart::Kind), Reason::CounterAlias),
                Kind::Aggregate(_) | Kind::Windows(..) => {
                    faults.add(place(ColumnPart::Alias(0)), Reason::AggregateAlias);
                }
                Kind::Value | Kind::Versions => {}
            }
        }
        match column.kind.window() {
            Some(Window { micros: None, .. }) => faults.add(place(ColumnPart::Kind), Reason::NoWindow),
            Some(Window { micros: Some(micros), written })
                if *micros <= 0 || micros % SECOND != 0 || DAY % micros != 0 =>
            {
                faults.add(place(ColumnPart::Window), Reason::WindowOfDay { written: written.clone() });
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
        if family.kind == Kind::Counter {
            faults.add(place(FamilyPart::Kind), of_column("counter"));
        }
        if family.kind.window().is_some_and(|window| window.micros.is_some()) {
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
            if let (Some(ttl), Some(max_age)) = (rule.ttl, rule.max_age)
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
                if let (Kind::Aggregate(_), Some(_)) = (&family.kind, rule.max_age.or(rule.ttl)) {
                    faults.add(Place::Family(at, FamilyPart::Kind), Reason::AggregateExpires);
                }
            }
        }
    }

    /// Aggregates are alone in their families.
    fn aggregates(&self, faults: &mut Faults) {
        for one in self.columns.iter().filter(|one| !one.is_doubtful) {
            let Some(aggregate) = one.kind.aggregate() else { continue };
            for (at, other) in self.columns.iter().enumerate() {
                if other.family == one.family && other.kind.aggregate() != Some(aggregate) {
                    let (family, other) = (one.family.clone(), other.name.clone());
                    let reason = Reason::FamilyOfAggregates { family, aggregate, other };
                    faults.add(Place::Column(at, ColumnPart::Whole), reason);
                }
            }
        }
    }
}

/// A column in a family with a rule.
fn ruled(at: usize, column: &Column, rule: &Rule, faults: &mut Faults) {
    let mut fault = |part, reason| faults.add(Place::Column(at, part), reason);
    let family = || rule.family.clone();
    if rule.ttl.is_some()
        && let Some(nth) = column.aliases.iter().position(|alias| alias.family != column.family)
    {
        fault(ColumnPart::Alias(nth), Reason::TtlAlias { family: family() });
    }
    if rule.keeps_one && matches!(column.kind, Kind::Versions | Kind::Windows(..)) {
        fault(ColumnPart::Kind, Reason::KeepsOne { column: column.name.clone(), family: family() });
    }
    match (&column.kind, rule.max_age.or(rule.ttl)) {
        (Kind::Counter, Some(_)) => fault(ColumnPart::Kind, Reason::CounterExpires),
        (Kind::Aggregate(_), Some(_)) => fault(ColumnPart::Kind, Reason::AggregateExpires),
        // A window has the time of its start, and an addition at its end must not be too old for the family.
        (Kind::Windows(_, Window { micros: Some(window), .. }), _) => {
            let is_longer = |than: u64| u64::try_from(*window).is_ok_and(|window| window > than);
            if rule.ttl.is_some_and(is_longer) {
                fault(ColumnPart::Window, Reason::WindowAboveTtl);
            } else if rule.max_age.is_some_and(is_longer) {
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
        } else if name == "keyderive" || name.starts_with("keyderive.") || name.starts_with("keyderive-") {
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
            Self::FamilyReserved => {
                same("the families `keyderive…` are the library's", "choose another name")
            }
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
            Self::WindowOfDay { written } => (
                format!("{written} does not divide a day"),
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
