//! Prints a schema in one line and as a table, and serializes it with serde.

use std::fmt;

use serde::{Serialize, Serializer};

use super::super::epoch::{BoundValue, Epoch};
use super::super::format::{Field, FieldOrder, FieldValues, Format, KeyEncoding, Width};
use super::super::salt::{Salt, SaltHash, SaltPlace};
use super::super::show::{Byte, Hex, Readable};
use super::{Fingerprint, KeyPart, KeySchema, LenBounds};

/// The layout as a table, with a line for each part.
impl fmt::Display for KeySchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.key_type)?;
        match self.layout {
            KeyEncoding::Delimited => write!(f, "text layout, delimiter {}", Byte(self.delimiter()))?,
            KeyEncoding::OrderedCode => f.write_str("ordered layout, separator 00 01")?,
        }
        write!(f, ", {}, fingerprint {}", ByteCount(self.min_len(), self.max_len()), self.fingerprint())?;
        let lines = self.lines();
        let mut widths = [0; 4];
        for line in &lines {
            for (width, text) in widths.iter_mut().zip(line.columns()) {
                *width = text.chars().count().max(*width);
            }
        }
        for line in &lines {
            f.write_str("\n")?;
            for (width, text) in widths.iter().zip(line.columns()) {
                write!(f, "  {text:<width$}")?;
            }
            write!(f, "  {}", line.written)?;
        }
        Ok(())
    }
}

impl KeySchema {
    /// The layout in one line, such as `BATTERY#<salt 0 to 3>#<user>#<at>`; the ordered layout's separator is shown as
    /// ` | `.
    #[must_use]
    pub fn template(&self) -> impl fmt::Display {
        fmt::from_fn(|f| {
            let mut parts = self.parts().peekable();
            while let Some(part) = parts.next() {
                match part {
                    KeyPart::Tag(tag) => f.write_str(tag)?,
                    KeyPart::Salt(_) if self.has_epochs() => {
                        self.write_salt_by_time(f)?;
                        continue;
                    }
                    KeyPart::Salt(salt) => write!(f, "<salt {}>", salt.bounds())?,
                    KeyPart::Field(at) => write!(f, "<{}>", self.fields[at].name())?,
                }
                if parts.peek().is_some() {
                    self.write_separator(f, self.separator_after(part))?;
                }
            }
            Ok(())
        })
    }

    /// The salt of a key type with epochs and what follows it, in brackets if some epoch has none.
    fn write_salt_by_time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.salt.is_none() { ("[", "]") } else { ("", "") };
        write!(f, "{open}<salt by {}>", self.fields[self.epoch_field()].name())?;
        if let Some(salt) = self.first_salt() {
            self.write_separator(f, self.salt_end(salt))?;
        }
        f.write_str(close)
    }

    fn write_separator(&self, f: &mut fmt::Formatter<'_>, separator: &[u8]) -> fmt::Result {
        match self.layout {
            KeyEncoding::Delimited => write!(f, "{}", Readable(separator)),
            KeyEncoding::OrderedCode => f.write_str(" | "),
        }
    }

    /// A line of the table for each part.
    fn lines(&self) -> Vec<Line> {
        let mut after = None;
        let line = |(part, offset): (KeyPart, Option<usize>)| {
            let begins = match (offset, after.replace(part)) {
                (Some(offset), _) => format!("byte {offset}"),
                (None, Some(KeyPart::Salt(salt))) if salt.sep().is_some() => {
                    format!("after `{}`", Readable(self.salt_end(&salt)))
                }
                (None, _) => format!("after {}", self.separator_name()),
            };
            let bounds = self.len_bounds(part);
            match part {
                KeyPart::Tag(tag) => Line {
                    name: "tag",
                    rust_type: "constant",
                    begins,
                    width: ByteCount(bounds.min, bounds.max).to_string(),
                    written: format!("`{}`", Readable(tag.as_bytes())),
                },
                KeyPart::Salt(salt) => Line {
                    name: "salt",
                    rust_type: "bucket",
                    begins,
                    width: ByteCount(bounds.min, bounds.max).to_string(),
                    written: if self.has_epochs() { self.salts_written() } else { self.salt_written(&salt) },
                },
                KeyPart::Field(at) => {
                    let field = &self.fields[at];
                    Line {
                        name: field.name(),
                        rust_type: field.rust_type(),
                        begins,
                        width: self.width_words(field, bounds, at + 1 == self.fields.len()),
                        written: field.written().to_string(),
                    }
                }
            }
        };
        self.offsets().map(line).collect()
    }

    fn separator_name(&self) -> &'static str {
        match self.layout {
            KeyEncoding::Delimited => "delimiter",
            KeyEncoding::OrderedCode => "separator",
        }
    }

    fn width_words(&self, field: &Field, bounds: LenBounds, last: bool) -> String {
        let (min, max) = match field.width() {
            Width::Delimited if last => return "to the end".to_owned(),
            Width::Delimited => return format!("up to the {}", self.separator_name()),
            Width::Fixed(width) => (width, width),
            Width::Between(min, max) => (min, max),
        };
        let escaped = if max == bounds.max { "" } else { " before escaping" };
        format!("{}{escaped}", ByteCount(min, max))
    }

    /// The salts of all epochs.
    fn salts_written(&self) -> String {
        let written = |(epoch, salt): (usize, Option<&Salt>)| {
            let salt = salt.map_or_else(|| "none".to_owned(), |salt| self.salt_written(salt));
            match epoch.checked_sub(1).and_then(|later| self.epochs.get(later)) {
                None => format!("by `{}`: {salt}", self.fields[self.epoch_field()].name()),
                Some(epoch) => format!("since {}: {salt}", epoch.since()),
            }
        };
        self.salts().enumerate().map(written).collect::<Vec<_>>().join("; ")
    }

    /// The buckets, and what chooses one.
    fn salt_written(&self, salt: &Salt) -> String {
        let buckets = salt.buckets();
        let (first, last) = (buckets.start, buckets.end - 1);
        let over = fmt::from_fn(|f| {
            for (at, field) in salt.over().iter().enumerate() {
                if at > 0 {
                    self.write_separator(f, self.separator())?;
                }
                f.write_str(self.fields[*field].name())?;
            }
            Ok(())
        });
        let sep = fmt::from_fn(|f| match salt.sep() {
            Some(sep) => write!(f, ", `{}` after it", Readable(sep.as_bytes())),
            None => Ok(()),
        });
        match (self.layout, salt.hash()) {
            (KeyEncoding::OrderedCode, _) => format!("{first} to {last} as an Int64, FarmHash of {over}"),
            (KeyEncoding::Delimited, SaltHash::Farm) => {
                let digits = salt.width();
                format!("{first:0digits$} to {last}, FarmHash of {over}{sep}")
            }
            (KeyEncoding::Delimited, SaltHash::Java) => {
                format!("{first} to {last}, `String.hashCode` of the key without its salt{sep}")
            }
        }
    }
}

/// A line of the table.
struct Line {
    name: &'static str,
    rust_type: &'static str,
    begins: String,
    width: String,
    written: String,
}

impl Line {
    /// The columns that are padded; `written` comes last, unpadded.
    fn columns(&self) -> [&str; 4] {
        [self.name, self.rust_type, &self.begins, &self.width]
    }
}

/// The least and the greatest number of bytes.
struct ByteCount(usize, usize);

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(1, 1) => f.write_str("1 byte"),
            Self(min, max) if min == max => write!(f, "{max} bytes"),
            Self(min, max) => write!(f, "{min} to {max} bytes"),
        }
    }
}

impl Serialize for KeySchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.data(true).serialize(serializer)
    }
}

impl KeySchema {
    /// The schema as JSON without the names of Rust types. Key types of one fingerprint differ in it by the values that their fields can
    /// hold.
    #[cfg(feature = "json")]
    pub(crate) fn layout_json(&self) -> String {
        // It only has text, numbers and lists, all of which JSON can hold.
        serde_json::to_string(&self.data(false)).unwrap_or_default()
    }

    fn data(&self, has_rust_names: bool) -> SchemaData {
        let text = matches!(self.layout, KeyEncoding::Delimited);
        let fields = self.fields.iter().enumerate().map(|(at, field)| FieldData {
            name: field.name(),
            r#type: has_rust_names.then(|| field.rust_type()),
            format: field.format(),
            order: field.order(),
            width: field.width(),
            values: field.values(),
            hash_of: field.hash_of().map(HashedData::of),
            offset: self.offset(at),
        });
        SchemaData {
            version: Self::JSON_VERSION,
            key_type: has_rust_names.then_some(self.key_type),
            format_version: Self::FORMAT_VERSION,
            layout: self.layout,
            delimiter: text.then(|| self.delimiter().into()),
            tag: self.tag,
            salt: self.salt.as_ref().map(|salt| self.salt_data(salt)),
            epochs: self.epochs.iter().map(|epoch| self.epoch_data(epoch)).collect(),
            fields: fields.collect(),
            fingerprint: self.fingerprint(),
            min_len: self.min_len(),
            max_len: self.max_len(),
            template: self.template().to_string(),
        }
    }

    fn epoch_data(&self, epoch: &Epoch) -> EpochData {
        EpochData {
            field: self.fields[self.epoch_field()].name(),
            since: epoch.since(),
            stored: Hex(epoch.stored_since()).to_string(),
            salt: self.salt_data(epoch.salt()),
        }
    }

    fn salt_data(&self, salt: &Salt) -> SaltData {
        let text = matches!(self.layout, KeyEncoding::Delimited);
        SaltData {
            range: salt.range(),
            hash: salt.hash(),
            place: match salt.place() {
                SaltPlace::Front => PlaceData::Front,
                SaltPlace::BeforeFields => PlaceData::BeforeFields,
                SaltPlace::After { field } => PlaceData::After(self.fields[field].name()),
            },
            // The separator is an ASCII delimiter or text.
            sep: text.then(|| String::from_utf8_lossy(self.salt_end(salt)).into_owned()),
            over: salt.over().iter().map(|at| self.fields[*at].name()).collect(),
        }
    }
}

/// The documentation of [`KeySchema`] lists these names.
#[derive(Serialize)]
struct SchemaData {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_type: Option<&'static str>,
    format_version: u32,
    layout: KeyEncoding,
    delimiter: Option<char>,
    tag: Option<&'static str>,
    salt: Option<SaltData>,
    epochs: Vec<EpochData>,
    fields: Vec<FieldData>,
    fingerprint: Fingerprint,
    min_len: usize,
    max_len: usize,
    template: String,
}

#[derive(Serialize)]
struct EpochData {
    field: &'static str,
    since: BoundValue,
    stored: String,
    salt: SaltData,
}

#[derive(Serialize)]
struct SaltData {
    range: u32,
    hash: SaltHash,
    place: PlaceData,
    sep: Option<String>,
    over: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum PlaceData {
    Front,
    BeforeFields,
    After(&'static str),
}

#[derive(Serialize)]
struct FieldData {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    format: Format,
    order: FieldOrder,
    width: Width,
    values: FieldValues,
    hash_of: Option<HashedData>,
    offset: Option<usize>,
}

/// What is hashed.
#[derive(Serialize)]
struct HashedData {
    format: Format,
    order: FieldOrder,
    width: Width,
}

impl HashedData {
    fn of(field: &Field) -> Self {
        Self { format: field.format(), order: field.order(), width: field.width() }
    }
}
