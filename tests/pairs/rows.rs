//! The row types, and what the model writes and reads of each.

use std::collections::BTreeMap;
use std::fmt::Debug;

use keyderive::key::TableKey;
use keyderive::row::{Condition, Max, Min, OwnedRow, Sum, Timestamped, Versions};
use keyderive::table::{Reads, Selected, Writes};
use keyderive::{Row, Scan, Update};

use crate::features::{Feature, Features};
use crate::model::{Cells, HOUR, MINUTE, Take, Value, View, Write};

pub(crate) const WORDS: [&str; 3] = ["red", "green", "blue"];

/// A row type of the tables.
pub(crate) trait Kind:
    OwnedRow + for<'r> Row<Decoded<'r> = Self> + Clone + Debug + Default + PartialEq + Send + Sync + 'static
{
    fn ttl(family: &str) -> Option<i64>;
    /// Whether the row type has the column, under any of its names, or marks its absence there.
    fn owns(family: &str, qualifier: &str) -> bool;
    fn read(view: &View) -> Self;
    fn condition(asked: &Asked) -> Condition<Self>;
    /// Whether the row type writes the names that the others call former.
    const IS_FORMER: bool = false;
}

/// A row type that programs write.
pub(crate) trait WrittenKind: Kind {
    fn write(&self, write: Write<'_>);
}

/// What a condition asks of a row.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Exists,
    Email(&'static str),
    NoEmail,
    Note(&'static str),
    Owner(&'static str),
    HasOwner,
    Wide(Wide),
    Not(Box<Asked>),
    Both(Box<Asked>, Box<Asked>),
    Either(Box<Asked>, Box<Asked>),
}

/// What a condition on columns asks that the smaller row types lack.
#[derive(Clone, Debug)]
pub(crate) enum Wide {
    Name(&'static str),
    RankFrom(i64),
    RankBetween(i64, i64),
    Visits(i64),
    Step(&'static str),
    Tag(&'static str),
    TagIs(&'static str, i64),
    Tags,
    Place,
    City(&'static str),
    Hits,
}

impl Asked {
    pub(crate) fn random(rng: &mut fastrand::Rng, is_wide: bool, has_aggregates: bool) -> Self {
        let word = rng.choice(WORDS).unwrap();
        match rng.u32(..if is_wide { 20 } else { 9 }) {
            0 => Self::Exists,
            1 | 2 => Self::Email(word),
            3 => Self::NoEmail,
            4 => Self::Note(word),
            5 => Self::Owner(word),
            6 => Self::HasOwner,
            7 => Self::Not(Self::random(rng, is_wide, has_aggregates).into()),
            8 => {
                let one = Self::random(rng, is_wide, has_aggregates).into();
                let other = Self::random(rng, is_wide, has_aggregates).into();
                if rng.bool() { Self::Both(one, other) } else { Self::Either(one, other) }
            }
            9 => Self::Wide(Wide::Name(word)),
            10 => Self::Wide(Wide::RankFrom(rng.i64(0..4))),
            11 => Self::Wide(Wide::RankBetween(1, rng.i64(1..4))),
            12 => Self::Wide(Wide::Visits(rng.i64(0..4))),
            13 => Self::Wide(Wide::Step(word)),
            14 => Self::Wide(Wide::Tag(word)),
            15 => Self::Wide(Wide::TagIs(word, rng.i64(0..3))),
            16 => Self::Wide(Wide::Tags),
            17 => Self::Wide(Wide::Place),
            18 => Self::Wide(Wide::City(word)),
            _ if has_aggregates => Self::Wide(Wide::Hits),
            _ => Self::Wide(Wide::Step(word)),
        }
    }

    /// Whether it holds for a row of which these cells are live. `is_former` says which name of a column goes first.
    pub(crate) fn holds(&self, live: &View, is_former: bool) -> bool {
        let text = |mut names: [(&'static str, &str); 2]| {
            if is_former {
                names.reverse();
            }
            live.text(&names)
        };
        let email = || text([("cf", "email"), ("cf", "mail")]);
        let owner = || text([("held", "owner"), ("held", "holder")]);
        match self {
            Self::Exists => !live.is_empty(),
            Self::Email(word) => email().as_deref() == Some(word),
            Self::NoEmail => email().is_none(),
            Self::Note(word) => text([("cf", "note"), ("old", "note")]).as_deref() == Some(word),
            Self::Owner(word) => owner().as_deref() == Some(word),
            Self::HasOwner => owner().is_some(),
            Self::Wide(wide) => wide.holds(live),
            Self::Not(asked) => !asked.holds(live, is_former),
            Self::Both(one, other) => one.holds(live, is_former) && other.holds(live, is_former),
            Self::Either(one, other) => one.holds(live, is_former) || other.holds(live, is_former),
        }
    }

    /// The features of a row that it is about: those that the row has in what it compares.
    pub(crate) fn features(&self, stored: &Cells, live: &View) -> Features {
        let mut features = Features::default();
        let all = stored.live(0, |_| None);
        let has = |view: &View, family, qualifier: &str| view.newest((family, qualifier)).is_some();
        let of_alias = |family, former: &str| has(live, family, former);
        let is_hidden = |family: &str| {
            all.has_family(family) && {
                let count = |view: &View| {
                    view.0
                        .iter()
                        .filter(|(name, _)| name.0 == family)
                        .map(|(_, cells)| cells.len())
                        .sum::<usize>()
                };
                count(&all) > count(live)
            }
        };
        match self {
            Self::Exists => features
                .insert_if(["held", "h", "tags", "hourly"].into_iter().any(is_hidden), Feature::Expiry),
            Self::Email(_) | Self::NoEmail => features.insert_if(of_alias("cf", "mail"), Feature::Aliases),
            Self::Note(_) => features.insert_if(of_alias("old", "note"), Feature::Aliases),
            Self::Owner(_) | Self::HasOwner => {
                features.insert_if(of_alias("held", "holder"), Feature::Aliases);
                features.insert_if(is_hidden("held"), Feature::Expiry);
            }
            Self::Wide(Wide::Step(_)) => {
                features.insert_if(live.versions(("h", "steps")).len() > 1, Feature::Versions);
                features.insert_if(is_hidden("h"), Feature::Expiry);
            }
            Self::Wide(Wide::Tag(_) | Wide::TagIs(..) | Wide::Tags) => {
                features.insert_if(live.has_family("tags"), Feature::Maps);
                features.insert_if(is_hidden("tags"), Feature::Expiry);
            }
            Self::Wide(Wide::Place | Wide::City(_)) => {
                features.insert_if(live.has_family("place"), Feature::Maps);
            }
            Self::Wide(Wide::Hits) => features.insert_if(live.has_family("sums"), Feature::Aggregates),
            Self::Wide(_) => {}
            Self::Not(asked) => return asked.features(stored, live),
            Self::Both(one, other) | Self::Either(one, other) => {
                return one.features(stored, live).and(other.features(stored, live));
            }
        }
        features
    }

    fn of<R>(&self, leaf: &impl Fn(&Self) -> Condition<R>) -> Condition<R> {
        match self {
            Self::Exists => Condition::row_exists(),
            Self::Not(asked) => asked.of(leaf).not(),
            Self::Both(one, other) => one.of(leaf).and(other.of(leaf)),
            Self::Either(one, other) => one.of(leaf).or(other.of(leaf)),
            asked => leaf(asked),
        }
    }
}

impl Wide {
    fn holds(&self, live: &View) -> bool {
        let rank = live.number(("cf", "rank"));
        match self {
            Self::Name(word) => live.text(&[("cf", "name")]).as_deref() == Some(word),
            Self::RankFrom(least) => rank.is_some_and(|rank| rank >= *least),
            Self::RankBetween(least, most) => rank.is_some_and(|rank| (*least..=*most).contains(&rank)),
            Self::Visits(least) => live.number(("n", "visits")).is_some_and(|visits| visits >= *least),
            Self::Step(word) => live.text(&[("h", "steps")]).as_deref() == Some(word),
            Self::Tag(word) => live.newest(("tags", word)).is_some(),
            Self::TagIs(word, value) => live.number(("tags", word)) == Some(*value),
            Self::Tags => live.has_family("tags"),
            Self::Place => live.has_family("place"),
            Self::City(word) => live.text(&[("place", "city")]).as_deref() == Some(word),
            Self::Hits => live.newest(("sums", "hits")).is_some(),
        }
    }
}

/// A change of some columns.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Rank(Option<i64>),
    Email(Option<&'static str>),
    Note(Option<&'static str>),
    Seen(i64, i64),
    Owner(Option<&'static str>),
    Step(i64, &'static str),
    NoSteps,
    Tag(&'static str, Option<i64>),
    NoTags,
    City(Option<&'static str>),
    Floor(i64),
    NoPlace,
    Add(i64),
    AddAt(i64, i64),
    NoHits,
}

impl Change {
    /// One that no clock rejects.
    pub(crate) fn random(rng: &mut fastrand::Rng, now: i64, is_fine: bool, has_aggregates: bool) -> Self {
        let word = rng.choice(WORDS).unwrap();
        let some = rng.u32(..3) > 0;
        match rng.u32(..if has_aggregates { 17 } else { 12 }) {
            0 => Self::Rank(some.then(|| rng.i64(0..4))),
            1 => Self::Email(some.then_some(word)),
            2 => Self::Note(some.then_some(word)),
            3 => Self::Seen(time(rng, now, is_fine), rng.i64(0..3)),
            4 | 5 => Self::Owner(some.then_some(word)),
            6 if rng.u32(..4) == 0 => Self::NoSteps,
            6 => Self::Step(time(rng, now, is_fine), word),
            7 => Self::Tag(word, some.then(|| rng.i64(0..3))),
            8 if rng.bool() => Self::NoTags,
            8 => Self::Owner(Some(word)),
            9 => Self::City(some.then_some(word)),
            10 => Self::Floor(rng.i64(0..3)),
            11 => Self::NoPlace,
            12 | 13 => Self::Add(rng.i64(-3..9)),
            14 | 15 => Self::AddAt(now - rng.i64(0..110) * MINUTE, rng.i64(1..9)),
            _ => Self::NoHits,
        }
    }

    pub(crate) fn adds(&self) -> bool {
        matches!(self, Self::Add(_) | Self::AddAt(..))
    }

    pub(crate) fn apply(&self, cells: &mut Cells, now: i64) {
        let mut set =
            |name: (&'static str, &str), other: Option<(&'static str, &str)>, value: Option<Value>| {
                if let Some(other) = other {
                    cells.delete(other);
                }
                match value {
                    None => cells.delete(name),
                    Some(value) => cells.set(name, now, value),
                }
            };
        let text = |word: &Option<&'static str>| word.map(Value::from);
        match self {
            Self::Rank(rank) => set(("cf", "rank"), None, rank.map(Value::from)),
            Self::Email(word) => set(("cf", "email"), Some(("cf", "mail")), text(word)),
            Self::Note(word) => set(("cf", "note"), Some(("old", "note")), text(word)),
            Self::Owner(word) => set(("held", "owner"), Some(("held", "holder")), text(word)),
            Self::Tag(tag, value) => set(("tags", tag), None, value.map(Value::from)),
            Self::City(word) => set(("place", "city"), None, text(word)),
            Self::Floor(floor) => set(("place", "floor"), None, Some((*floor).into())),
            Self::Seen(at, value) => {
                cells.delete(("cf", "seen"));
                cells.set(("cf", "seen"), *at, *value);
            }
            Self::Step(at, word) => cells.set(("h", "steps"), *at, *word),
            Self::NoSteps => cells.delete(("h", "steps")),
            Self::NoTags => cells.delete_family("tags"),
            Self::NoPlace => cells.delete_family("place"),
            Self::Add(amount) => {
                cells.add(("sums", "hits"), 0, Take::Sum, *amount);
                cells.add(("least", "least"), 0, Take::Least, *amount);
                cells.add(("most", "most"), 0, Take::Greatest, *amount);
            }
            Self::AddAt(at, amount) => cells.add(("hourly", "hourly"), at / HOUR * HOUR, Take::Sum, *amount),
            Self::NoHits => cells.delete(("sums", "hits")),
        }
    }
}

/// A time of its own, which a `ttl` of two hours does not hide from a client that is 50 minutes ahead.
fn time(rng: &mut fastrand::Rng, now: i64, is_fine: bool) -> i64 {
    now - rng.i64(0..60) * MINUTE + if is_fine { rng.i64(0..1000) - 999 } else { 0 }
}

/// A row type that has everything.
pub(crate) trait WideKind: WrittenKind {
    const HAS_AGGREGATES: bool;
    /// The times are those of a row that is written now.
    fn random(rng: &mut fastrand::Rng, now: i64, is_fine: bool) -> Self;
    fn change<K: TableKey, S: Writes>(update: Update<K, Self, S>, change: &Change) -> Update<K, Self, S>;
    fn selected<K: TableKey, S: Reads>(scan: Scan<K, Self, S>) -> Scan<K, Selected<Columns>, S>;
    fn columns(&self) -> Columns;
    fn name(&self) -> &str;
    fn name_mut(&mut self) -> &mut String;
    /// The counter.
    fn visits() -> keyderive::row::Column<Self, keyderive::row::Counter>;
}

pub(crate) type Columns =
    (Option<String>, Option<String>, Versions<String>, BTreeMap<String, i64>, Option<Timestamped<i64>>);

#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    city: Option<String>,
    floor: Option<i64>,
}

fn versions<T>(times: Vec<(i64, i64)>, value: impl Fn(i64) -> T) -> Versions<T> {
    times.into_iter().map(|(at, number)| Timestamped::new(at, value(number))).collect()
}

fn texts(view: &View, name: (&'static str, &str)) -> Versions<String> {
    let texts = view.versions(name).iter().map(|(at, value)| match value {
        Value::Text(text) => Timestamped::new(*at, text.clone()),
        other => unreachable!("{other:?}"),
    });
    texts.collect()
}

fn timed<T: Clone + Into<Value>>(versions: &[Timestamped<T>]) -> Vec<(i64, Value)> {
    versions.iter().map(|version| (version.timestamp_micros, version.value.clone().into())).collect()
}

fn tags(view: &View) -> BTreeMap<String, i64> {
    let names = view.0.keys().filter(|name| name.0 == "tags");
    names.filter_map(|name| Some((name.1.clone(), view.number(("tags", &name.1))?))).collect()
}

fn place(view: &View) -> Option<Place> {
    let place = Place { city: view.text(&[("place", "city")]), floor: view.number(("place", "floor")) };
    let has = |column| view.newest(("place", column)).is_some();
    ["city", "floor", ""].into_iter().any(has).then_some(place)
}

pub(crate) fn wide_ttl(family: &str) -> Option<i64> {
    match family {
        "held" => Some(HOUR),
        "h" => Some(2 * HOUR),
        "tags" => Some(3 * HOUR),
        "hourly" => Some(4 * HOUR),
        _ => None,
    }
}

/// What every row type answers of its email, note and owner, by the names that it has for them.
macro_rules! named {
    ($leaf:ident, $email:ident, $note:ident, $owner:ident) => {
        match $leaf {
            Asked::Email(word) => Self::$email.equals(*word),
            Asked::NoEmail => Self::$email.absent(),
            Asked::Note(word) => Self::$note.equals(*word),
            Asked::Owner(word) => Self::$owner.equals(*word),
            Asked::HasOwner => Self::$owner.exists(),
            asked => unreachable!("{asked:?}"),
        }
    };
}

macro_rules! wide {
    (
        $(#[$doc:meta])* $name:ident { $($fields:tt)* }
        has_aggregates: $has_aggregates:literal,
        write: |$row:ident, $write:ident| $add:block,
        read: |$view:ident| { $($read:tt)* },
        random: |$rng:ident, $now:ident| { $($random:tt)* },
        hits: $hits:expr,
        change: |$update:ident, $change:ident| $aggregate:expr,
    ) => {
        $(#[$doc])*
        #[derive(Row, Clone, Debug, Default, PartialEq)]
        pub(crate) struct $name {
            #[row(default)]
            name: String,
            rank: Option<i64>,
            #[row(alias = "mail")]
            email: Option<String>,
            #[row(alias = "old:note")]
            note: Option<String>,
            seen: Option<Timestamped<i64>>,
            #[row(family = "n", counter)]
            visits: i64,
            #[row(family = "held", alias = "holder", ttl = "1h", gc(max_age = "3h"))]
            owner: Option<String>,
            #[row(family = "h", ttl = "2h", gc(never))]
            steps: Versions<String>,
            #[row(family, ttl = "3h", gc(never))]
            tags: BTreeMap<String, i64>,
            #[row(family)]
            place: Option<Place>,
            $($fields)*
        }

        impl Kind for $name {
            fn ttl(family: &str) -> Option<i64> {
                wide_ttl(family)
            }

            fn owns(_: &str, _: &str) -> bool {
                true
            }

            fn read($view: &View) -> Self {
                Self {
                    name: $view.text(&[("cf", "name")]).unwrap_or_default(),
                    rank: $view.number(("cf", "rank")),
                    email: $view.text(&[("cf", "email"), ("cf", "mail")]),
                    note: $view.text(&[("cf", "note"), ("old", "note")]),
                    seen: $view.times(("cf", "seen")).first().map(|(at, seen)| Timestamped::new(*at, *seen)),
                    visits: $view.number(("n", "visits")).unwrap_or_default(),
                    owner: $view.text(&[("held", "owner"), ("held", "holder")]),
                    steps: texts($view, ("h", "steps")),
                    tags: tags($view),
                    place: place($view),
                    $($read)*
                }
            }

            fn condition(asked: &Asked) -> Condition<Self> {
                asked.of(&|leaf| match leaf {
                    Asked::Wide(wide) => match wide {
                        Wide::Name(word) => Self::NAME.equals(*word),
                        Wide::RankFrom(least) => Self::RANK.at_least(*least),
                        Wide::RankBetween(least, most) => Self::RANK.between(*least, *most),
                        Wide::Visits(least) => Self::VISITS.at_least(*least),
                        Wide::Step(word) => Self::STEPS.equals(*word),
                        Wide::Tag(word) => Self::TAGS.at(word).exists(),
                        Wide::TagIs(word, value) => Self::TAGS.at(word).equals(*value),
                        Wide::Tags => Self::TAGS.exists(),
                        Wide::Place => Self::PLACE.exists(),
                        Wide::City(word) => Self::PLACE.city.equals(*word),
                        Wide::Hits => $hits,
                    },
                    leaf => named!(leaf, EMAIL, NOTE, OWNER),
                })
            }
        }

        impl WrittenKind for $name {
            fn write(&self, mut $write: Write<'_>) {
                let $row = self;
                $write.value(("cf", "name"), Some(self.name.clone()));
                $write.value(("cf", "rank"), self.rank);
                $write.renamed(("cf", "email"), ("cf", "mail"), self.email.as_ref());
                $write.renamed(("cf", "note"), ("old", "note"), self.note.as_ref());
                $write.versions(("cf", "seen"), self.seen.map(|seen| (seen.timestamp_micros, seen.value.into())));
                $write.value(("n", "visits"), Some(self.visits));
                $write.renamed(("held", "owner"), ("held", "holder"), self.owner.as_ref());
                $write.versions(("h", "steps"), timed(&self.steps));
                $write.map("tags", &self.tags);
                $write.place(self.place.as_ref().map(|place| (place.city.as_ref(), place.floor)));
                $add
                $write.end();
            }
        }

        impl WideKind for $name {
            const HAS_AGGREGATES: bool = $has_aggregates;

            fn random($rng: &mut fastrand::Rng, $now: i64, is_fine: bool) -> Self {
                let rng = $rng;
                let word = |rng: &mut fastrand::Rng| {
                    rng.bool().then(|| rng.choice(WORDS).unwrap().to_owned())
                };
                let seen = rng.bool().then(|| Timestamped::new(time(rng, $now, is_fine), rng.i64(0..3)));
                let step = |rng: &mut fastrand::Rng| (time(rng, $now, is_fine), rng.choice(WORDS).unwrap().to_owned());
                let steps: BTreeMap<_, _> = (0..rng.usize(..3)).map(|_| step(rng)).collect();
                let tag = |rng: &mut fastrand::Rng| (rng.choice(WORDS).unwrap().to_owned(), rng.i64(0..3));
                let tags = (0..rng.usize(..3)).map(|_| tag(rng)).collect();
                let place = rng.bool().then(|| Place { city: word(rng), floor: rng.bool().then(|| rng.i64(0..3)) });
                let $rng = rng;
                Self {
                    name: word($rng).unwrap_or_default(),
                    rank: $rng.bool().then(|| $rng.i64(0..4)),
                    email: word($rng),
                    note: word($rng),
                    seen,
                    visits: $rng.i64(0..3),
                    owner: word($rng),
                    steps: steps.into_iter().map(|(at, step)| Timestamped::new(at, step)).collect(),
                    tags,
                    place,
                    $($random)*
                }
            }

            fn change<K: TableKey, S: Writes>(
                $update: Update<K, Self, S>,
                $change: &Change,
            ) -> Update<K, Self, S> {
                match $change {
                    Change::Rank(rank) => $update.set_or_clear(Self::RANK, *rank),
                    Change::Email(word) => $update.set_or_clear(Self::EMAIL, *word),
                    Change::Note(word) => $update.set_or_clear(Self::NOTE, *word),
                    Change::Seen(at, value) => $update.set_at(Self::SEEN, *at, *value),
                    Change::Owner(word) => $update.set_or_clear(Self::OWNER, *word),
                    Change::Step(at, word) => $update.add_version(Self::STEPS, *at, *word),
                    Change::NoSteps => $update.clear(Self::STEPS),
                    Change::Tag(tag, value) => $update.set_or_clear(Self::TAGS.at(tag), *value),
                    Change::NoTags => $update.clear_family(Self::TAGS),
                    Change::City(word) => $update.set_or_clear(Self::PLACE.city, *word),
                    Change::Floor(floor) => $update.set(Self::PLACE.floor, *floor),
                    Change::NoPlace => $update.clear_family(Self::PLACE),
                    Change::Add(_) | Change::AddAt(..) | Change::NoHits => $aggregate,
                }
            }

            fn selected<K: TableKey, S: Reads>(scan: Scan<K, Self, S>) -> Scan<K, Selected<Columns>, S> {
                scan.select((Self::EMAIL, Self::OWNER, Self::STEPS, Self::TAGS, Self::SEEN))
            }

            fn columns(&self) -> Columns {
                let Self { email, owner, steps, tags, seen, .. } = self.clone();
                (email, owner, steps, tags, seen)
            }

            fn name(&self) -> &str {
                &self.name
            }

            fn name_mut(&mut self) -> &mut String {
                &mut self.name
            }

            fn visits() -> keyderive::row::Column<Self, keyderive::row::Counter> {
                Self::VISITS
            }
        }
    };
}

wide! {
    /// A row with everything.
    Everything {
        #[row(family = "sums")]
        hits: Sum,
        #[row(family = "least")]
        least: Min,
        #[row(family = "most")]
        most: Max,
        #[row(family = "hourly", window = "1h", ttl = "4h", gc(never))]
        hourly: Versions<Sum>,
    }
    has_aggregates: true,
    write: |row, write| {
        write.add(("sums", "hits"), 0, Take::Sum, Some(row.hits.get()));
        write.add(("least", "least"), 0, Take::Least, row.least.get());
        write.add(("most", "most"), 0, Take::Greatest, row.most.get());
        for hour in &row.hourly {
            let at = hour.timestamp_micros / HOUR * HOUR;
            write.add(("hourly", "hourly"), at, Take::Sum, Some(hour.value.get()));
        }
    },
    read: |view| {
        hits: Sum::new(view.number(("sums", "hits")).unwrap_or_default()),
        least: view.number(("least", "least")).map_or_else(Min::default, Min::new),
        most: view.number(("most", "most")).map_or_else(Max::default, Max::new),
        hourly: versions(view.times(("hourly", "hourly")), Sum::new),
    },
    random: |rng, now| {
        hits: Sum::new(rng.i64(0..5)),
        least: if rng.bool() { Min::new(rng.i64(0..5)) } else { Min::default() },
        most: if rng.bool() { Max::new(rng.i64(0..5)) } else { Max::default() },
        hourly: if rng.bool() { Versions::new() } else { [Timestamped::new(now - 90 * MINUTE, Sum::new(2))].into() },
    },
    hits: Self::HITS.exists(),
    change: |update, change| match change {
        Change::Add(amount) => {
            update.add(Self::HITS, *amount).add(Self::LEAST, *amount).add(Self::MOST, *amount)
        }
        Change::AddAt(at, amount) => update.add_at(Self::HOURLY, *at, *amount),
        _ => update.clear(Self::HITS),
    },
}

wide! {
    /// The same row without aggregates, which cannot be re-keyed.
    Movable {}
    has_aggregates: false,
    write: |_row, write| {},
    read: |view| {},
    random: |rng, now| {},
    hits: unreachable!(),
    change: |_update, change| unreachable!("{change:?}"),
}

/// The row type of an older release, with the former names, and a column that the others lack.
#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(crate) struct Former {
    #[row(alias = "email")]
    pub(crate) mail: Option<String>,
    #[row(family = "old", alias = "cf:note")]
    note: Option<String>,
    #[row(family = "held", alias = "owner", ttl = "1h", gc(max_age = "3h"))]
    holder: Option<String>,
    rank: Option<i64>,
    extra: Option<i64>,
}

impl Kind for Former {
    const IS_FORMER: bool = true;

    fn ttl(family: &str) -> Option<i64> {
        (family == "held").then_some(HOUR)
    }

    fn owns(family: &str, qualifier: &str) -> bool {
        match family {
            "cf" => ["mail", "email", "note", "rank", "extra", ""].contains(&qualifier),
            "old" => ["note", ""].contains(&qualifier),
            "held" => ["holder", "owner", ""].contains(&qualifier),
            _ => false,
        }
    }

    fn read(view: &View) -> Self {
        Self {
            mail: view.text(&[("cf", "mail"), ("cf", "email")]),
            note: view.text(&[("old", "note"), ("cf", "note")]),
            holder: view.text(&[("held", "holder"), ("held", "owner")]),
            rank: view.number(("cf", "rank")),
            extra: view.number(("cf", "extra")),
        }
    }

    fn condition(asked: &Asked) -> Condition<Self> {
        asked.of(&|leaf| named!(leaf, MAIL, NOTE, HOLDER))
    }
}

impl WrittenKind for Former {
    fn write(&self, mut write: Write<'_>) {
        write.renamed(("cf", "mail"), ("cf", "email"), self.mail.as_ref());
        write.renamed(("old", "note"), ("cf", "note"), self.note.as_ref());
        write.renamed(("held", "holder"), ("held", "owner"), self.holder.as_ref());
        write.value(("cf", "rank"), self.rank);
        write.value(("cf", "extra"), self.extra);
        write.end();
    }
}

impl Former {
    pub(crate) fn random(rng: &mut fastrand::Rng) -> Self {
        let word = |rng: &mut fastrand::Rng| rng.bool().then(|| rng.choice(WORDS).unwrap().to_owned());
        let number = |rng: &mut fastrand::Rng| rng.bool().then(|| rng.i64(0..4));
        Self { mail: word(rng), note: word(rng), holder: word(rng), rank: number(rng), extra: number(rng) }
    }
}

/// A part of the columns.
#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(crate) struct Part {
    #[row(alias = "mail")]
    email: Option<String>,
    #[row(alias = "old:note")]
    note: Option<String>,
    #[row(family = "held", alias = "holder", ttl = "1h", gc(max_age = "3h"))]
    owner: Option<String>,
    /// The `ttl` of the whole row type hides them.
    #[row(family = "h", gc(never))]
    steps: Versions<String>,
    /// It hides these too.
    #[row(family, gc(never))]
    tags: BTreeMap<String, i64>,
    #[row(family)]
    place: Option<Place>,
}

impl Kind for Part {
    fn ttl(family: &str) -> Option<i64> {
        (family == "held").then_some(HOUR)
    }

    fn owns(family: &str, qualifier: &str) -> bool {
        match family {
            "cf" => ["mail", "email", "note", ""].contains(&qualifier),
            "old" => qualifier == "note",
            "held" => ["holder", "owner", ""].contains(&qualifier),
            "h" => ["steps", ""].contains(&qualifier),
            "tags" => true,
            "place" => ["city", "floor", ""].contains(&qualifier),
            _ => false,
        }
    }

    fn read(view: &View) -> Self {
        Self {
            email: view.text(&[("cf", "email"), ("cf", "mail")]),
            note: view.text(&[("cf", "note"), ("old", "note")]),
            owner: view.text(&[("held", "owner"), ("held", "holder")]),
            steps: texts(view, ("h", "steps")),
            tags: tags(view),
            place: place(view),
        }
    }

    fn condition(asked: &Asked) -> Condition<Self> {
        asked.of(&|leaf| named!(leaf, EMAIL, NOTE, OWNER))
    }
}
