//! A schema from its JSON: checked by the rules of the derive, and kept for the life of the process.

use std::fmt;

use keyderive_layout::Words;
use keyderive_layout::key_rules::{self as rules, Place, SaltPart};
use serde::Deserialize;

use super::super::MAX_KEY_LEN;
use super::super::codec::{ErasedCodec, parse_date, parse_utc};
use super::super::decimal;
use super::super::epoch::{BoundValue, Epoch};
use super::super::format::{Field, FieldOrder, FieldValues, Format, KeyEncoding, TimeUnit, Width};
use super::super::salt::{Salt, SaltHash, SaltPlace};
use super::super::show::Hex;
use super::KeySchema;
use crate::intern::{Interner, leak_list, leak_text};

/// The longest text that is read.
const MAX_LEN: usize = 1 << 20;
/// How many faults are listed.
const MOST_FAULTS: usize = 100;

/// A schema, with the faults that are found once it is whole.
struct Interned {
    schema: KeySchema,
    faults: Vec<String>,
}

static KEPT: Interner<Interned> = Interner::new("row keys");

impl KeySchema {
    /// The schema that its JSON describes, of a struct of this name if the JSON has none.
    ///
    /// # Errors
    /// Every fault, each with its place.
    pub(crate) fn from_json(json: &str, key_type: Option<&str>) -> Result<&'static Self, Vec<String>> {
        let (kept, computed) = Self::kept(json, key_type)?;
        let faults = computed.faults(&kept.schema);
        if faults.is_empty() { Ok(&kept.schema) } else { Err(faults) }
    }

    /// The same for JSON that was changed after it was made: what is computed of the rest, such as the fingerprint, is computed anew.
    ///
    /// # Errors
    /// Those of [`from_json`](Self::from_json).
    pub(crate) fn from_changed_json(json: &str) -> Result<&'static Self, Vec<String>> {
        Self::kept(json, None).map(|(kept, _)| &kept.schema)
    }

    fn kept(json: &str, key_type: Option<&str>) -> Result<(&'static Interned, Computed), Vec<String>> {
        if json.len() > MAX_LEN {
            return Err(vec![format!("it has {} bytes, and a schema has at most {MAX_LEN}", json.len())]);
        }
        let malformed = |error: serde_json::Error| vec![format!("it is not the JSON of a schema: {error}")];
        // First, since a later version has other names.
        let versions: Versions = serde_json::from_str(json).map_err(malformed)?;
        for (name, found, known) in [
            ("version", versions.version, Self::JSON_VERSION),
            ("format_version", versions.format_version, Self::FORMAT_VERSION),
        ] {
            if found != known {
                return Err(vec![format!(
                    "`{name}`: it is {found}, and this release of keyderive reads {known}; use the release that wrote it"
                )]);
            }
        }
        let mut form: SchemaForm = serde_json::from_str(json).map_err(malformed)?;
        form.key_type.get_or_insert_with(|| key_type.unwrap_or("Key").to_owned());
        let faults = form.faults();
        if !faults.is_empty() {
            return Err(faults);
        }
        let (content, computed) = form.split();
        let kept = KEPT
            .intern(format!("{content:?}"), || content.keep())
            .map_err(|error| vec![error.to_string()])?;
        if kept.faults.is_empty() { Ok((kept, computed)) } else { Err(kept.faults.clone()) }
    }
}

#[derive(Deserialize)]
struct Versions {
    version: u32,
    format_version: u32,
}

/// The names that the documentation of [`KeySchema`] lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaForm {
    #[serde(rename = "version")]
    _version: u32,
    key_type: Option<String>,
    #[serde(rename = "format_version")]
    _format_version: u32,
    layout: KeyEncoding,
    delimiter: Option<char>,
    tag: Option<String>,
    salt: Option<SaltForm>,
    epochs: Vec<EpochForm>,
    fields: Vec<FieldForm>,
    fingerprint: String,
    min_len: usize,
    max_len: usize,
    template: String,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct SaltForm {
    range: u16,
    hash: SaltHash,
    place: PlaceForm,
    sep: Option<String>,
    over: Vec<String>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum PlaceForm {
    Front,
    BeforeFields,
    After(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EpochForm {
    field: String,
    since: String,
    stored: String,
    salt: SaltForm,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldForm {
    name: String,
    r#type: Option<String>,
    format: FormatForm,
    order: OrderForm,
    width: Width,
    values: ValuesForm,
    hash_of: Option<HashedForm>,
    offset: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HashedForm {
    format: FormatForm,
    order: OrderForm,
    width: Width,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FormatForm {
    Decimal,
    SignedDecimal,
    Utf8,
    PaddedUtf8,
    Int64,
    BoolInt64,
    Bytes,
    EscapedUtf8,
    Hex,
    Bool,
    Md5,
    Custom(String),
    UnixTime(TimeUnit),
    #[serde(rename = "datetime17")]
    DateTime17,
    Date,
    Uuid,
    UuidSimple,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OrderForm {
    Ascending,
    Descending,
    BitReversed,
    Hashed,
    ReversedFrom { max: String },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ValuesForm {
    Integer { min: String, max: String },
    Bool,
    Text,
    Char,
    Bytes,
    Codes(Vec<CodeForm>),
    Time { exact: bool },
    Date,
    Uuid { version: Option<u8> },
    Custom,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeForm {
    code: String,
    name: String,
}

/// What a schema is made of, without what is computed from it. Schemas of equal content are the same.
#[derive(Debug)]
struct Content {
    key_type: String,
    layout: KeyEncoding,
    delimiter: u8,
    tag: Option<String>,
    salt: Option<SaltForm>,
    epochs: Vec<(String, String, SaltForm)>,
    fields: Vec<FieldContent>,
}

#[derive(Debug)]
struct FieldContent {
    name: String,
    rust_type: Option<String>,
    format: FormatForm,
    order: OrderForm,
    width: Width,
    values: ValuesForm,
    hash_of: Option<HashedForm>,
}

/// What is computed, as the text has it.
struct Computed {
    fingerprint: String,
    min_len: usize,
    max_len: usize,
    template: String,
    offsets: Vec<Option<usize>>,
    stored: Vec<String>,
}

impl FormatForm {
    /// The format; `named` gives a custom one its name.
    fn format(&self, named: impl FnOnce(&str) -> &'static str) -> Format {
        match self {
            Self::Decimal => Format::Decimal,
            Self::SignedDecimal => Format::SignedDecimal,
            Self::Utf8 => Format::Utf8,
            Self::PaddedUtf8 => Format::PaddedUtf8,
            Self::Int64 => Format::Int64,
            Self::BoolInt64 => Format::BoolInt64,
            Self::Bytes => Format::Bytes,
            Self::EscapedUtf8 => Format::EscapedUtf8,
            Self::Hex => Format::Hex,
            Self::Bool => Format::Bool,
            Self::Md5 => Format::Md5,
            Self::Custom(name) => Format::Custom(named(name)),
            Self::UnixTime(unit) => Format::UnixTime(*unit),
            Self::DateTime17 => Format::DateTime17,
            Self::Date => Format::Date,
            Self::Uuid => Format::Uuid,
            Self::UuidSimple => Format::UuidSimple,
        }
    }
}

impl OrderForm {
    fn order(&self) -> Option<FieldOrder> {
        Some(match self {
            Self::Ascending => FieldOrder::Ascending,
            Self::Descending => FieldOrder::Descending,
            Self::BitReversed => FieldOrder::BitReversed,
            Self::Hashed => FieldOrder::Hashed,
            Self::ReversedFrom { max } => FieldOrder::ReversedFrom { max: max.parse().ok()? },
        })
    }
}

impl ValuesForm {
    /// The values; `None` for numbers that are no numbers. `codes` makes a list of codes.
    fn values(
        &self,
        codes: impl FnOnce(&[CodeForm]) -> Option<&'static [(u64, &'static str)]>,
    ) -> Option<FieldValues> {
        Some(match self {
            Self::Integer { min, max } => {
                FieldValues::Integer { min: min.parse().ok()?, max: max.parse().ok()? }
            }
            Self::Bool => FieldValues::Bool,
            Self::Text => FieldValues::Text,
            Self::Char => FieldValues::Char,
            Self::Bytes => FieldValues::Bytes,
            Self::Codes(list) => FieldValues::Codes(codes(list)?),
            Self::Time { exact } => FieldValues::Time { exact: *exact },
            Self::Date => FieldValues::Date,
            Self::Uuid { version } => FieldValues::Uuid { version: *version },
            Self::Custom => FieldValues::Custom,
        })
    }

    /// The codes as numbers.
    fn codes(list: &[CodeForm]) -> Option<Vec<u64>> {
        list.iter().map(|one| one.code.parse().ok()).collect()
    }
}

impl SchemaForm {
    /// The content and what is computed of it; there is a name of the struct.
    fn split(self) -> (Content, Computed) {
        let offsets = self.fields.iter().map(|field| field.offset).collect();
        let stored = self.epochs.iter().map(|epoch| epoch.stored.clone()).collect();
        let fields = self.fields.into_iter().map(|field| FieldContent {
            name: field.name,
            rust_type: field.r#type,
            format: field.format,
            order: field.order,
            width: field.width,
            values: field.values,
            hash_of: field.hash_of,
        });
        let content = Content {
            key_type: self.key_type.unwrap_or_default(),
            layout: self.layout,
            // The delimiter was checked to be ASCII.
            delimiter: self.delimiter.and_then(|delimiter| delimiter.try_into().ok()).unwrap_or(b'#'),
            tag: self.tag,
            salt: self.salt,
            epochs: self.epochs.into_iter().map(|epoch| (epoch.field, epoch.since, epoch.salt)).collect(),
            fields: fields.collect(),
        };
        let computed = Computed {
            fingerprint: self.fingerprint,
            min_len: self.min_len,
            max_len: self.max_len,
            template: self.template,
            offsets,
            stored,
        };
        (content, computed)
    }

    /// The faults that can be found before the schema is made, since what is made stays in memory.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault = |place: &str, fault: &dyn fmt::Display| {
            if faults.len() < MOST_FAULTS {
                faults.push(format!("`{place}`: {fault}"));
            }
        };
        if (self.layout, self.delimiter) == (KeyEncoding::Delimited, None) {
            fault("delimiter", &"the text layout has a delimiter, such as \"#\"");
        }
        if self.fields.is_empty() {
            fault("fields", &"a row key needs a field");
        }
        for (at, field) in self.fields.iter().enumerate() {
            if field.name.is_empty() {
                fault(&format!("fields[{at}].name"), &"the name is empty; write the field's name");
            }
            if let Some(why) = field.fault(self.layout) {
                fault(&format!("fields[{at}]"), &why);
            }
        }
        for (at, salt) in self.salts().enumerate() {
            if (self.layout, &salt.sep) == (KeyEncoding::Delimited, &None) {
                let place = self.salt_place(at);
                fault(
                    &format!("{place}.sep"),
                    &"the text layout has a separator after the salt, such as the delimiter",
                );
            }
        }
        for (at, epoch) in self.epochs.iter().enumerate() {
            if self.values_of(&epoch.field).is_some_and(|values| bound_of(values, &epoch.since).is_none()) {
                fault(
                    &format!("epochs[{at}].since"),
                    &format_args!(
                        "`{}` is no bound of `{}`; write RFC 3339, a date such as \"2026-12-01\", or a number",
                        epoch.since, epoch.field
                    ),
                );
            }
        }
        for found in self.data().faults() {
            fault(&self.place(found.place), &found.reason.text(Words::Json));
        }
        faults
    }

    /// The salts, first the one of the keys before every bound.
    fn salts(&self) -> impl Iterator<Item = &SaltForm> {
        self.salt.iter().chain(self.epochs.iter().map(|epoch| &epoch.salt))
    }

    fn values_of(&self, field: &str) -> Option<&ValuesForm> {
        self.fields.iter().find(|other| other.name == field).map(|field| &field.values)
    }

    /// The key as the rules of layouts take it.
    fn data(&self) -> rules::Key {
        let since = |epoch: &EpochForm| rules::Since {
            field: epoch.field.clone(),
            written: epoch.since.clone(),
            bound: self.values_of(&epoch.field).and_then(|values| bound_of(values, &epoch.since)).map(
                |bound| match bound {
                    BoundValue::Time(nanos) => rules::Bound::Time(nanos),
                    BoundValue::Date(days) => rules::Bound::Date(days),
                    BoundValue::Number(number) => rules::Bound::Number(number),
                },
            ),
        };
        let bounds = self.salt.iter().map(|_| None).chain(self.epochs.iter().map(|epoch| Some(since(epoch))));
        let salt = |(salt, since): (&SaltForm, Option<rules::Since>)| rules::Salt {
            range: Some(salt.range.into()),
            over: Some(salt.over.clone()),
            sep: salt
                .sep
                .clone()
                .filter(|sep| self.delimiter.is_none_or(|delimiter| !sep.chars().eq([delimiter]))),
            place: match &salt.place {
                PlaceForm::Front => rules::SaltPlace::Front,
                PlaceForm::BeforeFields => rules::SaltPlace::BeforeFields,
                PlaceForm::After(name) => rules::SaltPlace::After(name.clone()),
            },
            hash: match salt.hash {
                SaltHash::Farm => rules::SaltHash::Farm,
                SaltHash::Java => rules::SaltHash::Java,
            },
            since,
            is_doubtful: false,
        };
        let field = |field: &FieldForm| rules::Field {
            ident: field.name.clone(),
            name: field.name.clone(),
            disorder: match (&field.format, &field.order) {
                (_, OrderForm::Hashed) => Some(rules::Disorder::Hash),
                (_, OrderForm::BitReversed) => Some(rules::Disorder::BitReverse),
                (FormatForm::Custom(_), _) => Some(rules::Disorder::Custom),
                _ => None,
            },
        };
        rules::Key {
            name: self.key_type.clone().unwrap_or_default(),
            encoding: self.layout,
            delimiter: self.delimiter,
            tag: self.tag.clone(),
            salts: self.salts().zip(bounds).map(salt).collect(),
            fields: self.fields.iter().map(field).collect(),
        }
    }

    /// The place of a fault in the JSON.
    fn place(&self, place: Place) -> String {
        match place {
            Place::Delimiter => "delimiter".to_owned(),
            Place::Tag => "tag".to_owned(),
            Place::FieldName(at) => format!("fields[{at}].name"),
            Place::Disorder(_) => "epochs[0].field".to_owned(),
            Place::Salt(at, part) => {
                let salt = self.salt_place(at);
                let of_epoch = |name| salt.replace("salt", name);
                match part {
                    SaltPart::Whole => salt,
                    SaltPart::Range => format!("{salt}.range"),
                    SaltPart::Over => format!("{salt}.over"),
                    SaltPart::OverName(nth) => format!("{salt}.over[{nth}]"),
                    SaltPart::Sep => format!("{salt}.sep"),
                    SaltPart::Place => format!("{salt}.place"),
                    SaltPart::Hash => format!("{salt}.hash"),
                    SaltPart::SinceField => of_epoch("field"),
                    SaltPart::SinceBound => of_epoch("since"),
                }
            }
        }
    }

    /// The place of a salt in the JSON.
    fn salt_place(&self, at: usize) -> String {
        match at.checked_sub(self.salt.iter().len()) {
            None => "salt".to_owned(),
            Some(at) => format!("epochs[{at}].salt"),
        }
    }
}

/// The bound that a text is, for a field of these values.
fn bound_of(values: &ValuesForm, text: &str) -> Option<BoundValue> {
    match values {
        ValuesForm::Time { .. } => parse_utc(text, false).map(BoundValue::Time),
        ValuesForm::Date => parse_date(text).map(BoundValue::Date),
        _ => text.parse().ok().map(BoundValue::Number),
    }
}

impl FieldForm {
    /// Why no field is stored so.
    fn fault(&self, layout: KeyEncoding) -> Option<String> {
        let widths = [self.width, self.hash_of.as_ref().map_or(self.width, |of| of.width)];
        for width in widths {
            let most = match width {
                Width::Fixed(width) => width,
                Width::Delimited => 0,
                Width::Between(min, max) if min > max => {
                    return Some(format!("its least width, {min}, is above its greatest, {max}"));
                }
                Width::Between(_, max) => max,
            };
            if most > MAX_KEY_LEN {
                return Some(format!("it is {most} bytes wide, and a row key has at most {MAX_KEY_LEN}"));
            }
        }
        let (format, order, width) = match &self.hash_of {
            None => (&self.format, &self.order, self.width),
            Some(of) => {
                let digits = if layout == KeyEncoding::Delimited { 32 } else { 16 };
                let is_hash = matches!((&self.format, &self.order), (FormatForm::Md5, OrderForm::Hashed));
                if !is_hash || !matches!(self.width, Width::Fixed(width) if width == digits) {
                    return Some(format!(
                        "a hashed field has the format `md5`, the order `hashed` and {digits} bytes"
                    ));
                }
                (&of.format, &of.order, of.width)
            }
        };
        let Some(order) = order.order() else {
            return Some("the greatest value of its order is no number".to_owned());
        };
        // The names do not matter here.
        let format = format.format(|_| "");
        if let ValuesForm::Codes(list) = &self.values {
            let Some(codes) = ValuesForm::codes(list) else { return Some("a code is no number".to_owned()) };
            let [.., greatest] = codes[..] else { return Some("an enum needs a variant".to_owned()) };
            if !codes.is_sorted_by(|one, other| one < other) {
                return Some("the codes must ascend, each once".to_owned());
            }
            let names = list
                .iter()
                .enumerate()
                .all(|(at, one)| !list[..at].iter().any(|other| other.name == one.name));
            if !names {
                return Some("two variants have one name".to_owned());
            }
            let digits = decimal::width(greatest.into());
            let is_stored_so = match (layout, &format, width) {
                (KeyEncoding::Delimited, Format::Decimal, Width::Fixed(width)) => width == digits,
                (KeyEncoding::OrderedCode, Format::Int64, Width::Between(1, 10)) => {
                    i64::try_from(greatest).is_ok()
                }
                _ => false,
            };
            return (!is_stored_so || order != FieldOrder::Ascending)
                .then(|| format!("codes up to {greatest} are stored in {digits} digits, or as an Int64 of the ordered layout"));
        }
        let Some(values) = self.values.values(|_| None) else {
            return Some("the limits of its values are no numbers".to_owned());
        };
        let field = Field::new("", "", format, width, order).with_values(values);
        ErasedCodec::of(&field, layout).err().map(|error| error.to_string())
    }
}

impl Content {
    /// Makes the schema; what it is made of stays in memory for the life of the process.
    fn keep(&self) -> Interned {
        let fields = leak_list(self.fields.iter().map(|field| field.leak(self.layout)));
        let salt = |form: &SaltForm| self.salt_of(form);
        let mut schema = KeySchema::new(
            leak_text(&self.key_type),
            self.delimiter,
            self.tag.as_deref().map(leak_text),
            self.salt.as_ref().map(salt),
            fields,
        )
        .with_layout(self.layout);
        if let Some(time) = self.epochs.first().and_then(|(field, ..)| self.index_of(field)) {
            let field = &fields[time];
            let stored_by = (field.format(), field.width(), field.order());
            let epochs = self.epochs.iter().filter_map(|(_, since, of)| {
                Some(Epoch::new(
                    bound_of(&self.fields[time].values, since)?,
                    self.layout,
                    stored_by,
                    salt(of),
                ))
            });
            schema = schema.with_epochs(time, leak_list(epochs));
        }
        let faults = schema.faults();
        Interned { schema, faults }
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    fn salt_of(&self, form: &SaltForm) -> Salt {
        let mut over: Vec<usize> = form.over.iter().filter_map(|name| self.index_of(name)).collect();
        over.sort_unstable();
        let salt = Salt::new(form.range, leak_list(over));
        let salt = match &form.sep {
            Some(sep) if sep.as_bytes() != [self.delimiter] => salt.with_sep(leak_text(sep)),
            _ => salt,
        };
        salt.with_hash(form.hash).with_place(match &form.place {
            PlaceForm::Front => SaltPlace::Front,
            PlaceForm::BeforeFields => SaltPlace::BeforeFields,
            PlaceForm::After(name) => SaltPlace::After { field: self.index_of(name).unwrap_or_default() },
        })
    }
}

impl FieldContent {
    fn leak(&self, layout: KeyEncoding) -> Field {
        let codes = |list: &[CodeForm]| {
            let codes = ValuesForm::codes(list)?;
            Some(leak_list(codes.into_iter().zip(list).map(|(code, one)| (code, leak_text(&one.name)))))
        };
        // Both have been checked.
        let values = self.values.values(codes).unwrap_or(FieldValues::Custom);
        let rust_type = match (&self.rust_type, values) {
            (Some(name), _) => leak_text(name),
            (None, FieldValues::Codes(_)) => leak_text(&self.name),
            (None, values) => type_of(values),
        };
        let field = |format: &FormatForm, width: Width, order: &OrderForm| {
            let order = order.order().unwrap_or(FieldOrder::Ascending);
            Field::new(leak_text(&self.name), rust_type, format.format(leak_text), width, order)
                .with_values(values)
        };
        match &self.hash_of {
            None => field(&self.format, self.width, &self.order),
            Some(of) => {
                let of: &'static Field = Box::leak(Box::new(field(&of.format, of.width, &of.order)));
                Field::hashed(of, layout)
            }
        }
    }
}

/// A Rust type of these values, for a schema that does not name it.
fn type_of(values: FieldValues) -> &'static str {
    match values {
        FieldValues::Integer { min: 0, max } => match max {
            0xff => "u8",
            0xffff => "u16",
            0xffff_ffff => "u32",
            0xffff_ffff_ffff_ffff => "u64",
            _ => "u128",
        },
        FieldValues::Integer { max, .. } => match max {
            0x7f => "i8",
            0x7fff => "i16",
            0x7fff_ffff => "i32",
            0x7fff_ffff_ffff_ffff => "i64",
            _ => "i128",
        },
        FieldValues::Bool => "bool",
        FieldValues::Text => "String",
        FieldValues::Char => "char",
        FieldValues::Bytes => "Vec<u8>",
        FieldValues::Codes(_) => "enum",
        FieldValues::Time { .. } => "time",
        FieldValues::Date => "date",
        FieldValues::Uuid { .. } => "Uuid",
        FieldValues::Custom => "custom",
    }
}

/// The rules that a whole schema keeps.
impl KeySchema {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.min_len() > MAX_KEY_LEN {
            faults.push(format!(
                "`fields`: the fixed widths of this row key add up to {} bytes, and Bigtable allows {MAX_KEY_LEN}",
                self.min_len()
            ));
        }
        if let (KeyEncoding::Delimited, Some(fault)) = (self.layout(), self.fault_of_delimiter()) {
            faults.push(format!("`delimiter`: {fault}"));
        }
        if !self.has_epochs() {
            return faults;
        }
        let mut fault =
            |place: String, fault: super::ConstText| faults.push(format!("`{place}`: {}", fault.as_str()));
        if let Some(found) = self.fault_of_epoch_field() {
            fault("epochs[0].field".to_owned(), found);
            return faults;
        }
        for at in self.epoch_field() + 1..self.fields().len() {
            if let Some(found) = self.fault_of_after_epoch_field(at) {
                fault(format!("fields[{at}]"), found);
            }
        }
        for later in 0..self.epochs().len() {
            if let Some(found) = self.fault_of_bound(later) {
                fault(format!("epochs[{later}].since"), found);
            }
            if let Some(found) = self.fault_of_heads_apart(later) {
                fault(format!("epochs[{later}].salt"), found);
            }
        }
        faults
    }
}

impl Computed {
    /// Where the text says something else than what is computed.
    fn faults(&self, schema: &KeySchema) -> Vec<String> {
        let mut faults = Vec::new();
        let mut compare = |place: String, found: &dyn std::fmt::Display, computed: &dyn std::fmt::Display| {
            if found.to_string() != computed.to_string() {
                faults.push(format!(
                    "`{place}`: it is `{found}`, and that of the rest is `{computed}`: the text was changed after it was made"
                ));
            }
        };
        compare("fingerprint".to_owned(), &self.fingerprint, &schema.fingerprint());
        compare("min_len".to_owned(), &self.min_len, &schema.min_len());
        compare("max_len".to_owned(), &self.max_len, &schema.max_len());
        compare("template".to_owned(), &self.template, &schema.template());
        let shown =
            |offset: Option<usize>| offset.map_or_else(|| "null".to_owned(), |offset| offset.to_string());
        for (at, offset) in self.offsets.iter().enumerate() {
            compare(format!("fields[{at}].offset"), &shown(*offset), &shown(schema.offset(at)));
        }
        for (at, (stored, epoch)) in self.stored.iter().zip(schema.epochs()).enumerate() {
            compare(format!("epochs[{at}].stored"), stored, &Hex(epoch.stored_since()));
        }
        faults
    }
}

#[cfg(test)]
mod tests;
