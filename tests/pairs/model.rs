//! The model: the cells that a table stores, and what a client reads of them. It uses nothing of the library.

use std::collections::BTreeMap;

use crate::features::{Feature, Features};

pub(crate) const MINUTE: i64 = 60_000_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;

/// A family and a qualifier.
pub(crate) type Name = (&'static str, String);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
    /// Of a row, or of a family, without columns.
    Mark,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// How an aggregate takes a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Take {
    Sum,
    Least,
    Greatest,
}

/// The stored cells of a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    columns: BTreeMap<Name, BTreeMap<i64, Value>>,
    /// How the row was written.
    pub(crate) by: Features,
}

impl Cells {
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub(crate) fn set(
        &mut self,
        (family, qualifier): (&'static str, &str),
        at: i64,
        value: impl Into<Value>,
    ) {
        self.columns.entry((family, qualifier.to_owned())).or_default().insert(at, value.into());
    }

    pub(crate) fn delete(&mut self, (family, qualifier): (&'static str, &str)) {
        self.columns.remove(&(family, qualifier.to_owned()));
    }

    pub(crate) fn delete_family(&mut self, family: &str) {
        self.columns.retain(|name, _| name.0 != family);
    }

    pub(crate) fn add(
        &mut self,
        (family, qualifier): (&'static str, &str),
        at: i64,
        take: Take,
        amount: i64,
    ) {
        let cells = self.columns.entry((family, qualifier.to_owned())).or_default();
        let value = match (cells.get(&at), take) {
            (Some(Value::Number(value)), Take::Sum) => value + amount,
            (Some(Value::Number(value)), Take::Least) => *value.min(&amount),
            (Some(Value::Number(value)), Take::Greatest) => *value.max(&amount),
            _ => amount,
        };
        cells.insert(at, value.into());
    }

    /// Removes what the rules of the families remove.
    pub(crate) fn collect(&mut self, now: i64) {
        for ((family, _), cells) in &mut self.columns {
            match *family {
                "held" => cells.retain(|at, _| *at >= now - 3 * HOUR),
                "cf" | "n" | "old" | "place" => {
                    let newest = cells.keys().next_back().copied();
                    cells.retain(|at, _| Some(*at) == newest);
                }
                _ => {}
            }
        }
        self.columns.retain(|_, cells| !cells.is_empty());
    }

    /// The cells that the `ttl` of a family does not hide at a time.
    pub(crate) fn live(&self, now: i64, ttl: impl Fn(&str) -> Option<i64>) -> View {
        let live = self.columns.iter().filter_map(|(name, cells)| {
            let oldest = ttl(name.0).map_or(i64::MIN, |ttl| now - ttl);
            let cells: Vec<_> = cells.range(oldest..).rev().map(|(at, value)| (*at, value.clone())).collect();
            (!cells.is_empty()).then(|| (name.clone(), cells))
        });
        View(live.collect())
    }

    /// The features that a reader of the row meets, if it takes these cells.
    pub(crate) fn features(&self, view: &View) -> Features {
        let mut features = self.by;
        let stored: usize = self.columns.values().map(BTreeMap::len).sum();
        features.insert_if(stored > view.0.values().map(Vec::len).sum(), Feature::Expiry);
        for ((family, qualifier), cells) in &view.0 {
            let is_former = [("cf", "mail"), ("old", "note"), ("held", "holder")];
            features.insert_if(is_former.contains(&(*family, &**qualifier)), Feature::Aliases);
            features.insert_if(*family == "h" && cells.len() > 1, Feature::Versions);
            features.insert_if(AGGREGATES.contains(family), Feature::Aggregates);
            features.insert_if(["tags", "place"].contains(family), Feature::Maps);
            features.insert_if(cells.iter().any(|(at, _)| at % 1000 != 0), Feature::Micros);
        }
        features
    }
}

pub(crate) const AGGREGATES: [&str; 4] = ["sums", "least", "most", "hourly"];

/// The cells of a row that a read takes, of each column the newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View(pub(crate) BTreeMap<Name, Vec<(i64, Value)>>);

impl View {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has_family(&self, family: &str) -> bool {
        self.0.keys().any(|name| name.0 == family)
    }

    pub(crate) fn versions(&self, (family, qualifier): (&'static str, &str)) -> &[(i64, Value)] {
        self.0.get(&(family, qualifier.to_owned())).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn newest(&self, name: (&'static str, &str)) -> Option<&(i64, Value)> {
        self.versions(name).first()
    }

    pub(crate) fn number(&self, name: (&'static str, &str)) -> Option<i64> {
        match self.newest(name)?.1 {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The text of a column, or of its other name if it has none.
    pub(crate) fn text(&self, names: &[(&'static str, &str)]) -> Option<String> {
        let newest = names.iter().find_map(|name| self.newest(*name))?;
        match &newest.1 {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    pub(crate) fn times(&self, name: (&'static str, &str)) -> Vec<(i64, i64)> {
        let numbers = self.versions(name).iter().map(|(at, value)| match value {
            Value::Number(number) => (*at, *number),
            other => unreachable!("{other:?}"),
        });
        numbers.collect()
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&Name, i64, &Value) -> bool) {
        self.0.retain(|name, cells| {
            cells.retain(|(at, value)| keep(name, *at, value));
            !cells.is_empty()
        });
    }

    pub(crate) fn latest(&mut self, versions: usize) {
        self.0.values_mut().for_each(|cells| cells.truncate(versions));
    }
}

/// How a row is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum How {
    /// The columns of the row type become those of the row.
    Put,
    /// What is present is set.
    Merge,
}

/// The write of a row.
pub(crate) struct Write<'c> {
    pub(crate) cells: &'c mut Cells,
    /// The time of the server.
    pub(crate) now: i64,
    pub(crate) how: How,
    /// Whether the row adds to its aggregates.
    pub(crate) adds: bool,
    set: usize,
}

impl<'c> Write<'c> {
    pub(crate) fn new(cells: &'c mut Cells, now: i64, how: How, adds: bool) -> Self {
        Self { cells, now, how, adds, set: 0 }
    }

    fn set(&mut self, name: (&'static str, &str), at: i64, value: Value) {
        self.set += 1;
        self.cells.set(name, at, value);
    }

    fn delete(&mut self, name: (&'static str, &str)) {
        if self.how == How::Put {
            self.cells.delete(name);
        }
    }

    /// Earlier values stay until they are collected.
    pub(crate) fn value(&mut self, name: (&'static str, &str), value: Option<impl Into<Value>>) {
        match value {
            Some(value) => self.set(name, self.now, value.into()),
            None => self.delete(name),
        }
    }

    /// A column that has another name.
    pub(crate) fn renamed(
        &mut self,
        name: (&'static str, &str),
        other: (&'static str, &str),
        value: Option<&String>,
    ) {
        self.value(name, value.cloned());
        if self.how == How::Put || value.is_some() {
            self.cells.delete(other);
        }
    }

    pub(crate) fn versions(
        &mut self,
        name: (&'static str, &str),
        versions: impl IntoIterator<Item = (i64, Value)>,
    ) {
        self.delete(name);
        for (at, value) in versions {
            self.set(name, at, value);
        }
    }

    pub(crate) fn map<'m>(
        &mut self,
        family: &'static str,
        entries: impl IntoIterator<Item = (&'m String, &'m i64)>,
    ) {
        if self.how == How::Put {
            self.cells.delete_family(family);
        }
        for (key, value) in entries {
            self.set((family, key), self.now, Value::Number(*value));
        }
    }

    pub(crate) fn place(&mut self, place: Option<(Option<&String>, Option<i64>)>) {
        let Some((city, floor)) = place else {
            ["city", "floor", ""].into_iter().for_each(|column| self.delete(("place", column)));
            return;
        };
        let before = self.set;
        self.value(("place", "city"), city.cloned());
        self.value(("place", "floor"), floor);
        if self.set == before {
            self.set(("place", ""), self.now, Value::Mark);
        }
    }

    pub(crate) fn add(&mut self, name: (&'static str, &str), at: i64, take: Take, amount: Option<i64>) {
        if let (true, Some(amount)) = (self.adds, amount) {
            self.cells.add(name, at, take, amount);
        }
    }

    pub(crate) fn end(mut self) {
        if self.set == 0 {
            self.set(("cf", ""), self.now, Value::Mark);
        }
    }
}
