//! The layout of a row key, as it is written, and its rules.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::{MOST_FAULTS, Words, nearest};

/// The longest row key that Bigtable allows, in bytes.
pub const MAX_KEY_LEN: usize = 4096;
/// How many buckets a salt has: one would spread nothing, and a bucket has at most four digits.
pub const RANGES: RangeInclusive<i64> = 2..=4096;

/// A row key.
#[derive(Clone, Debug, Default)]
pub struct Key {
    /// The type's name, for messages.
    pub name: String,
    /// How its parts are written.
    pub encoding: KeyEncoding,
    /// The byte between the parts; `None` for that of the encoding.
    pub delimiter: Option<char>,
    /// The constant text before the fields.
    pub tag: Option<String>,
    /// In the order of their bounds; the first may have none.
    pub salts: Vec<Salt>,
    /// In the order of the key.
    pub fields: Vec<Field>,
}

/// How the parts of a key are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum KeyEncoding {
    /// Readable text, joined by a delimiter.
    #[default]
    Delimited,
    /// Bigtable's `Struct.OrderedCodeBytes`, whose fields are typed columns in SQL.
    OrderedCode,
}

/// A salt: a bucket that a hash of fields chooses.
#[derive(Clone, Debug)]
pub struct Salt {
    /// The number of buckets; `None` if it is not known.
    pub range: Option<i64>,
    /// The fields that choose the bucket; `None` for all.
    pub over: Option<Vec<String>>,
    /// What stands after the bucket; `None` for the delimiter.
    pub sep: Option<String>,
    /// Where it stands.
    pub place: SaltPlace,
    /// What chooses the bucket.
    pub hash: SaltHash,
    /// From which value of a field on keys have the salt.
    pub since: Option<Since>,
    /// Whether it has a fault that its reader has said already, so that it is not compared with other salts.
    pub is_doubtful: bool,
}

/// Where a salt stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SaltPlace {
    /// Between the tag and the fields.
    #[default]
    BeforeFields,
    /// Before the tag, too.
    Front,
    /// After this field.
    After(String),
}

/// The hash of a salt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaltHash {
    /// FarmHash of the salted fields.
    #[default]
    Farm,
    /// `String.hashCode` of the whole key, as in Google's sample.
    Java,
}

/// A field, and the first of its values with which a key has a salt.
#[derive(Clone, Debug)]
pub struct Since {
    /// The field's name.
    pub field: String,
    /// The value, as it is written.
    pub written: String,
    /// `None` for a text that is no bound, which its reader says.
    pub bound: Option<Bound>,
}

/// Bounds of one kind have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Nanoseconds since 1970.
    Time(i128),
    /// Days since 1970.
    Date(i64),
    /// A value of an integer field.
    Number(i128),
}

/// A field of a key.
#[derive(Clone, Debug)]
pub struct Field {
    /// What the salts call it: the name of the struct's field.
    pub ident: String,
    /// Its name in the schema.
    pub name: String,
    /// Why its stored bytes are not in the order of its values.
    pub disorder: Option<Disorder>,
}

/// Why the stored bytes of a field are not in the order of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disorder {
    /// Its hash is stored.
    Hash,
    /// Its bits are reversed.
    BitReverse,
    /// The bytes of a module of the user's.
    Custom,
}

impl Salt {
    /// A salt over all fields, before them.
    #[must_use]
    pub fn of_range(range: i64) -> Self {
        Self {
            range: Some(range),
            over: None,
            sep: None,
            place: SaltPlace::BeforeFields,
            hash: SaltHash::Farm,
            since: None,
            is_doubtful: false,
        }
    }
}

impl Field {
    /// A field in the order of its values.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { ident: name.to_owned(), name: name.to_owned(), disorder: None }
    }
}

impl Bound {
    /// Whether it comes after another one; true for bounds of two kinds, of which one is no value of the field.
    fn is_after(self, other: Self) -> bool {
        match (self, other) {
            (Self::Time(one), Self::Time(other)) | (Self::Number(one), Self::Number(other)) => one > other,
            (Self::Date(one), Self::Date(other)) => one > other,
            _ => true,
        }
    }
}

/// A broken rule of a key.
pub type Fault = crate::Fault<Place, Reason>;
type Faults = crate::Faults<Place, Reason>;

/// What is at fault, by indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The delimiter.
    Delimiter,
    /// The tag.
    Tag,
    /// A field's name.
    FieldName(usize),
    /// What a field has in place of the order of its values.
    Disorder(usize),
    /// A part of a salt.
    Salt(usize, SaltPart),
}

/// A part of a salt. A part that is not written is that of the first salt, with which it was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaltPart {
    /// What distinguishes it from other salts.
    Whole,
    /// The number of buckets.
    Range,
    /// The fields that choose the bucket.
    Over,
    /// One of the names in `over`.
    OverName(usize),
    /// The separator after the bucket.
    Sep,
    /// Where it stands.
    Place,
    /// Its hash.
    Hash,
    /// The field of its bound.
    SinceField,
    /// Its bound.
    SinceBound,
}

/// Why something is a fault, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`text` says them")]
pub enum Reason {
    DelimiterNotAscii,
    DelimiterOfOrdered,
    /// A delimiter above digits or letters, which a tag holds.
    DelimiterAboveTag {
        byte: u8,
    },
    /// A delimiter that is a digit, in a key with salts of several lengths.
    DigitDelimiter {
        digit: char,
    },
    TagEmpty,
    TagByte {
        byte: u8,
        delimiter: u8,
    },
    /// Two fields of one name.
    NameTwice {
        one: String,
        other: String,
        name: String,
    },
    SaltRange {
        range: i64,
    },
    OverEmpty,
    OverTwice {
        name: String,
    },
    /// A name that is not a field, in this option.
    UnknownField {
        option: &'static str,
        name: String,
        key: String,
        remedy: String,
    },
    SepEmpty,
    SepNotAscii {
        char: char,
    },
    SepDigit {
        digit: char,
    },
    AfterLast {
        name: String,
    },
    /// An option of a salt in the ordered layout.
    SaltOptionOfOrdered {
        option: &'static str,
    },
    JavaOver,
    JavaAfter,
    SinceFields {
        first: String,
        other: String,
    },
    SinceDisorder {
        name: String,
        disorder: Disorder,
    },
    BoundsDescend {
        before: String,
    },
    SeparatorsDiffer {
        sep: String,
        first: String,
    },
    PlacesDiffer {
        is_after: bool,
    },
    SameSalt,
    JavaBeforeBounds,
    JavaFromBound,
    SaltAfterBounds {
        field: String,
    },
}

impl Key {
    /// All broken rules.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = crate::Faults(Vec::new());
        for (at, salt) in self.salts.iter().enumerate() {
            self.salt(at, salt, &mut faults);
        }
        let is_doubtful = |(at, salt): (usize, &Salt)| {
            salt.is_doubtful
                || faults.0.iter().any(|fault| matches!(fault.place, Place::Salt(of, _) if of == at))
        };
        let doubtful: Vec<_> = self.salts.iter().enumerate().map(is_doubtful).collect();
        self.bounds(&doubtful, &mut faults);
        self.tag(&mut faults);
        if self.delimiter.is_some_and(|delimiter| !delimiter.is_ascii()) {
            faults.add(Place::Delimiter, Reason::DelimiterNotAscii);
        } else if self.encoding == KeyEncoding::OrderedCode && self.delimiter.is_some() {
            faults.add(Place::Delimiter, Reason::DelimiterOfOrdered);
        }
        for (at, field) in self.fields.iter().enumerate() {
            if let Some(first) = self.fields[..at].iter().find(|first| first.name == field.name) {
                let [one, other] = [first, field].map(|field| field.ident.clone());
                faults.add(Place::FieldName(at), Reason::NameTwice { one, other, name: field.name.clone() });
            }
        }
        faults.0
    }

    /// The delimiter of the text layout.
    fn delimiter(&self) -> char {
        self.delimiter.unwrap_or('#')
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.ident == name)
    }

    fn unknown(&self, option: &'static str, name: &str) -> Reason {
        Reason::UnknownField {
            option,
            name: name.to_owned(),
            key: self.name.clone(),
            remedy: nearest(name, self.fields.iter().map(|field| &*field.ident)),
        }
    }

    /// Tags tell apart the key types that share a table, so a tag ends at the first delimiter and sorts as text.
    fn tag(&self, faults: &mut Faults) {
        let Some(tag) = &self.tag else { return };
        let delimiter = self.delimiter();
        if tag.is_empty() {
            faults.add(Place::Tag, Reason::TagEmpty);
        } else if self.encoding == KeyEncoding::Delimited
            && delimiter.is_ascii()
            && let Ok(delimiter) = u8::try_from(delimiter)
            && let Some(byte) = tag.bytes().find(|byte| *byte <= delimiter)
        {
            // A delimiter above digits or letters is the fault, not the tag that holds them.
            match self.delimiter {
                Some('0'..) => faults.add(Place::Delimiter, Reason::DelimiterAboveTag { byte }),
                _ => faults.add(Place::Tag, Reason::TagByte { byte, delimiter }),
            }
        }
    }

    /// The rules of a salt alone.
    fn salt(&self, at: usize, salt: &Salt, faults: &mut Faults) {
        let mut fault = |part, reason| faults.add(Place::Salt(at, part), reason);
        if let Some(range) = salt.range.filter(|range| !RANGES.contains(range)) {
            fault(SaltPart::Range, Reason::SaltRange { range });
        }
        // The salt is a function of stored fields, so each name is a field, given once.
        if let Some(over) = &salt.over {
            if over.is_empty() {
                fault(SaltPart::Over, Reason::OverEmpty);
            }
            for (nth, name) in over.iter().enumerate().take(MOST_FAULTS) {
                if self.index_of(name).is_none() {
                    fault(SaltPart::OverName(nth), self.unknown("over", name));
                } else if over[..nth].contains(name) {
                    fault(SaltPart::OverName(nth), Reason::OverTwice { name: name.clone() });
                }
            }
        }
        // The separator ends the digits of the salt, which are not always padded.
        if let Some(sep) = &salt.sep {
            if sep.is_empty() {
                fault(SaltPart::Sep, Reason::SepEmpty);
            } else if let Some(char) = sep.chars().find(|char| !char.is_ascii()) {
                fault(SaltPart::Sep, Reason::SepNotAscii { char });
            } else if let Some(digit) = sep.chars().find(char::is_ascii_digit) {
                fault(SaltPart::Sep, Reason::SepDigit { digit });
            }
        }
        // A salt after all fields spreads nothing, and no scan could select one of its buckets.
        if let SaltPlace::After(name) = &salt.place {
            match self.index_of(name) {
                None => fault(SaltPart::Place, self.unknown("after", name)),
                Some(at) if at + 1 == self.fields.len() => {
                    fault(SaltPart::Place, Reason::AfterLast { name: name.clone() });
                }
                Some(_) => {}
            }
        }
        // Google's sample hashes the whole key and puts the bucket before it.
        if salt.hash == SaltHash::Java {
            let is_whole = |over: &Vec<String>| self.fields.iter().all(|field| over.contains(&field.ident));
            if salt.over.as_ref().is_some_and(|over| !is_whole(over)) {
                fault(SaltPart::Over, Reason::JavaOver);
            }
            if let SaltPlace::After(_) = salt.place {
                fault(SaltPart::Place, Reason::JavaAfter);
            }
        }
        // In the ordered layout, the salt is an Int64 before the fields.
        if self.encoding == KeyEncoding::OrderedCode {
            let options = [
                (SaltPart::Sep, "sep", salt.sep.is_some()),
                (SaltPart::Place, "after", matches!(salt.place, SaltPlace::After(_))),
                (SaltPart::Place, "position", salt.place == SaltPlace::Front),
                (SaltPart::Hash, "hash", salt.hash == SaltHash::Java),
            ];
            for (part, option, is_given) in options {
                if is_given {
                    fault(part, Reason::SaltOptionOfOrdered { option });
                }
            }
        }
    }

    /// The rules of salts from a value on.
    fn bounds(&self, doubtful: &[bool], faults: &mut Faults) {
        if self.salts.iter().all(|salt| salt.since.is_none()) {
            return;
        }
        self.bounds_are_of_one_field(faults);
        self.salts_share_their_place(doubtful, faults);
        self.salts_follow_each_other(doubtful, faults);
        self.salts_precede_the_bounds(faults);
    }

    /// The salts with bounds.
    fn since(&self) -> impl Iterator<Item = (usize, &Salt, &Since)> {
        self.salts.iter().enumerate().filter_map(|(at, salt)| Some((at, salt, salt.since.as_ref()?)))
    }

    /// The field of the bounds.
    fn bound_field(&self) -> Option<usize> {
        self.since().find_map(|(_, _, since)| self.index_of(&since.field))
    }

    /// The stored value of a key says which salt it has, so it must be in the key as it is, and in order.
    fn bounds_are_of_one_field(&self, faults: &mut Faults) {
        let mut first: Option<&str> = None;
        for (at, _, since) in self.since() {
            let mut fault = |reason| faults.add(Place::Salt(at, SaltPart::SinceField), reason);
            if self.index_of(&since.field).is_none() {
                fault(self.unknown("since", &since.field));
                continue;
            }
            let first = *first.get_or_insert(&since.field);
            if first != since.field {
                fault(Reason::SinceFields { first: first.to_owned(), other: since.field.clone() });
            }
        }
        if let Some(at) = self.bound_field()
            && let Some(disorder) = self.fields[at].disorder
        {
            let name = self.fields[at].ident.clone();
            faults.add(Place::Disorder(at), Reason::SinceDisorder { name, disorder });
        }
    }

    /// The salts of a key have one place and one separator, so that the digits of a bucket say which salt it is of.
    fn salts_share_their_place(&self, doubtful: &[bool], faults: &mut Faults) {
        let delimiter = self.delimiter().to_string();
        let sep = |salt: &Salt| salt.sep.clone().unwrap_or_else(|| delimiter.clone());
        let place = |salt: &Salt| match (&salt.place, &self.tag) {
            (SaltPlace::Front, None) => SaltPlace::BeforeFields,
            (place, _) => place.clone(),
        };
        let Some((first, later)) = self.salts.split_first() else { return };
        for (at, salt) in later.iter().enumerate().map(|(at, salt)| (at + 1, salt)) {
            let mut fault = |part, reason| faults.add(Place::Salt(at, part), reason);
            if sep(salt) != sep(first) && !doubtful[0] && !doubtful[at] {
                fault(SaltPart::Sep, Reason::SeparatorsDiffer { sep: sep(salt), first: sep(first) });
            }
            let places = [place(salt), place(first)];
            if places[0] != places[1] {
                let is_after = places.iter().any(|place| matches!(place, SaltPlace::After(_)));
                fault(SaltPart::Place, Reason::PlacesDiffer { is_after });
            }
        }
        if let Some(digit @ '0'..='9') = self.delimiter {
            faults.add(Place::Delimiter, Reason::DigitDelimiter { digit });
        }
    }

    /// Each bound comes after the one before it, and changes the salt.
    fn salts_follow_each_other(&self, doubtful: &[bool], faults: &mut Faults) {
        let bounds: Vec<_> = self.since().collect();
        for pair in bounds.windows(2) {
            let [(_, _, before), (at, _, since)] = pair else { continue };
            if before.field == since.field
                && let (Some(earlier), Some(later)) = (before.bound, since.bound)
                && !later.is_after(earlier)
            {
                let before = before.written.clone();
                faults.add(Place::Salt(*at, SaltPart::SinceBound), Reason::BoundsDescend { before });
            }
        }
        for (at, pair) in self.salts.windows(2).enumerate() {
            let [before, salt] = pair else { continue };
            let is_same = before.range == salt.range && self.salted(before) == self.salted(salt);
            if is_same && !doubtful[at] && !doubtful[at + 1] && salt.since.is_some() {
                faults.add(Place::Salt(at + 1, SaltPart::Whole), Reason::SameSalt);
            }
        }
        for (at, salt) in self.salts.iter().enumerate() {
            if salt.hash == SaltHash::Java {
                let reason = match salt.since {
                    Some(_) => Reason::JavaFromBound,
                    None => Reason::JavaBeforeBounds,
                };
                faults.add(Place::Salt(at, SaltPart::Hash), reason);
            }
        }
    }

    /// The names of the fields that choose the bucket.
    fn salted<'s>(&'s self, salt: &'s Salt) -> BTreeSet<&'s str> {
        match &salt.over {
            Some(over) => over.iter().map(|name| &**name).collect(),
            None => self.fields.iter().map(|field| &*field.ident).collect(),
        }
    }

    /// The salt stands before the value that it is chosen by, which is found from the right end of the key.
    fn salts_precede_the_bounds(&self, faults: &mut Faults) {
        let Some(bounds) = self.bound_field() else { return };
        for (at, salt) in self.salts.iter().enumerate() {
            if let SaltPlace::After(name) = &salt.place
                && self.index_of(name).is_some_and(|after| after >= bounds)
            {
                let field = self.fields[bounds].ident.clone();
                faults.add(Place::Salt(at, SaltPart::Place), Reason::SaltAfterBounds { field });
            }
        }
    }
}

impl Reason {
    /// The fault, and the remedy in these words.
    #[must_use]
    pub fn text(&self, words: Words) -> String {
        let (fault, attributes, json) = self.parts(words);
        let remedy = match words {
            Words::Attributes => attributes,
            Words::Json => json,
        };
        format!("{fault}; {remedy}")
    }

    /// The fault, and the remedy in attributes and in JSON.
    fn parts(&self, words: Words) -> (String, String, String) {
        let java = match words {
            Words::Attributes => "`hash = \"java\"`",
            Words::Json => "`\"java\"`",
        };
        let said =
            |fault: String, attributes: &str, json: &str| (fault, attributes.to_owned(), json.to_owned());
        let same = |fault: String, remedy: &str| (fault, remedy.to_owned(), remedy.to_owned());
        match self {
            Self::DelimiterNotAscii => {
                same("the delimiter is one byte".into(), "choose an ASCII character, such as '#' or '-'")
            }
            Self::DelimiterOfOrdered => said(
                "the ordered layout has no delimiter".into(),
                "remove it, or `layout = \"ordered\"`",
                "write `null`",
            ),
            Self::DelimiterAboveTag { byte } => same(
                format!(
                    "every byte of the tag must be above the delimiter, and `{}` is not above this one",
                    byte.escape_ascii()
                ),
                "choose a delimiter below `0`, such as '#' or '-'",
            ),
            Self::DigitDelimiter { digit } => same(
                format!(
                    "the delimiter `{digit}` looks like a digit of the salt, which keys have in several lengths"
                ),
                "choose one below `0`, such as '#' or '-'",
            ),
            Self::TagEmpty => said(
                "the tag is empty".into(),
                "give it a text, or leave `tag` out",
                "give it a text, or write `null`",
            ),
            Self::TagByte { byte, delimiter } => same(
                format!(
                    "the tag holds `{}`, which is at or below the delimiter `{}`",
                    byte.escape_ascii(),
                    delimiter.escape_ascii()
                ),
                "choose letters and digits",
            ),
            Self::NameTwice { one, other, name } => {
                let fault = match one == other {
                    true => format!("two fields are called `{name}`"),
                    false => format!("`{one}` and `{other}` would both be `{name}` in the schema"),
                };
                same(fault, "give each a name of its own")
            }
            Self::SaltRange { range } => same(
                format!("a salt has {} to {} buckets, not {range}", RANGES.start(), RANGES.end()),
                "a few for each node are enough",
            ),
            Self::OverEmpty => said(
                "`over` names no field".into(),
                "name the fields that choose the bucket, or leave `over` out for all",
                "name the fields that choose the bucket",
            ),
            Self::OverTwice { name } => same(format!("`over` names `{name}` twice"), "remove one"),
            Self::UnknownField { option, name, key, remedy } => {
                same(format!("`{option}` names `{name:.128}`, which is not a field of `{key:.128}`"), remedy)
            }
            Self::SepEmpty => said(
                "`sep` is empty".into(),
                "write what stands after the salt, or leave `sep` out for the delimiter",
                "write what stands after the salt",
            ),
            Self::SepNotAscii { char } => {
                same(format!("`sep` holds `{char}`"), "choose ASCII characters, such as \"-\"")
            }
            Self::SepDigit { digit } => same(
                format!(
                    "`sep` contains the digit `{digit}`, but it must mark where the digits of the salt end"
                ),
                "choose other characters, such as \"-\"",
            ),
            Self::AfterLast { name } => said(
                format!(
                    "`after` names `{name}`, the last field: a salt after all fields spreads no rows, and no scan could ask \
                     for one of its buckets"
                ),
                "name a field further left, or leave `after` out",
                "name a field further left, or write \"before_fields\"",
            ),
            Self::SaltOptionOfOrdered { option } => {
                let json = match *option {
                    "sep" => "write `null`",
                    "hash" => "write \"farm\"",
                    _ => "write \"before_fields\"",
                };
                let fault = "belongs to the text layout, but this key has the ordered one: its salt is an Int64 before the fields";
                said(format!("`{option}` {fault}"), "remove it", json)
            }
            Self::JavaOver => said(
                format!("{java} is over the whole key, as in Google's sample"),
                "remove `over`",
                "name all fields",
            ),
            Self::JavaAfter => said(
                format!("{java} stands before the key, as in Google's sample"),
                "remove `after`",
                "write \"before_fields\" or \"front\"",
            ),
            Self::SinceFields { first, other } => said(
                format!("the salts have bounds of `{first}` and of `{other}`"),
                "name one field in every `since`",
                "name one field in all",
            ),
            Self::SinceDisorder { name, disorder } => {
                let (attribute, reason) = match disorder {
                    Disorder::Hash => ("hash", "a hash has no order"),
                    Disorder::BitReverse => ("bit_reverse", "reversed bits are not in the order of time"),
                    Disorder::Custom => ("with", "the order of the module's bytes is not known"),
                };
                (
                    format!("`since` compares the stored `{name}` with a bound, and {reason}"),
                    format!("remove `{attribute}`, or name another field in `since`"),
                    "name another field".to_owned(),
                )
            }
            Self::BoundsDescend { before } => same(
                format!("the bounds must ascend, and this one is not after `{before}`"),
                "write the salts in the order of their bounds",
            ),
            Self::SeparatorsDiffer { sep, first } => same(
                format!("the salts of a key share their separator, and this one has {sep:?} after {first:?}"),
                "write the same `sep` in all of them",
            ),
            Self::PlacesDiffer { is_after } => said(
                "the salts of a key share their place".into(),
                if *is_after {
                    "write the same `after` in all of them"
                } else {
                    "write the same `position` in all of them"
                },
                "write the same `place` in all of them",
            ),
            Self::SameSalt => same(
                "the keys before this bound have the same salt".into(),
                "remove one, or change its `range` or `over`",
            ),
            Self::JavaBeforeBounds => (
                format!("buckets of {java} are not padded, so a key does not show which salt it has"),
                "copy the rows to a table of another key type".into(),
                "copy the rows to a table of another key type".into(),
            ),
            Self::JavaFromBound => {
                said("a salt from a date on is made by FarmHash".into(), "remove `hash`", "write \"farm\"")
            }
            Self::SaltAfterBounds { field } => said(
                format!("the salt must stand before `{field}`, which has the bounds"),
                "name a field before it in `after`, or leave `after` out",
                "name a field before it",
            ),
        }
    }
}
