//! The schema as data of serde.

use serde::{Serialize, Serializer};

use super::super::fingerprint::Fingerprint;
use super::super::format::{FieldOrder, Format, Width};
use super::super::salt::{Salt, SaltHash, SaltPlace};
use super::{Layout, Schema};

/// The names that the page of [`Schema`] documents.
#[derive(Serialize)]
struct SchemaData {
    key_type: &'static str,
    format_version: u32,
    layout: Layout,
    delimiter: Option<char>,
    tag: Option<&'static str>,
    salt: Option<SaltData>,
    fields: Vec<FieldData>,
    fingerprint: Fingerprint,
    min_len: usize,
    max_len: usize,
    template: String,
}

/// A salt, with the names of the fields that it refers to by their index.
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

/// A field, with where it begins in the key.
#[derive(Serialize)]
struct FieldData {
    name: &'static str,
    r#type: &'static str,
    format: Format,
    order: FieldOrder,
    width: Width,
    offset: Option<usize>,
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = matches!(self.layout, Layout::Delimited);
        let fields = self.fields.iter().enumerate().map(|(at, field)| FieldData {
            name: field.name(),
            r#type: field.rust_type(),
            format: field.format(),
            order: field.order(),
            width: field.width(),
            offset: self.offset(at),
        });
        SchemaData {
            key_type: self.key_type,
            format_version: Self::FORMAT_VERSION,
            layout: self.layout,
            delimiter: text.then(|| self.delimiter().into()),
            tag: self.tag,
            salt: self.salt.as_ref().map(|salt| self.salt_data(salt)),
            fields: fields.collect(),
            fingerprint: self.fingerprint(),
            min_len: self.min_len(),
            max_len: self.max_len(),
            template: self.template().to_string(),
        }
        .serialize(serializer)
    }
}

impl Schema {
    fn salt_data(&self, salt: &Salt) -> SaltData {
        let text = matches!(self.layout, Layout::Delimited);
        SaltData {
            range: salt.range(),
            hash: salt.hash(),
            place: match salt.place() {
                SaltPlace::Front => PlaceData::Front,
                SaltPlace::BeforeFields => PlaceData::BeforeFields,
                SaltPlace::After { field } => PlaceData::After(self.fields[field].name()),
            },
            // A delimiter is ASCII, and what is given in its place is text.
            sep: text.then(|| String::from_utf8_lossy(self.salt_end(salt)).into_owned()),
            over: salt.over().iter().map(|at| self.fields[*at].name()).collect(),
        }
    }
}
