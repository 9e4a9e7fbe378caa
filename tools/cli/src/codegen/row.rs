//! A row type as the JSON of its schema has it.

use keyderive::row::RowSchema;
use serde::{Deserialize, Deserializer, de};

#[derive(Debug, Deserialize)]
pub(super) struct RowForm {
    pub(super) row: String,
    pub(super) fields: Vec<FieldForm>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FieldForm {
    Column { family: String, column: ColumnForm },
    Struct { family: String, columns: Vec<ColumnForm> },
    Map { family: Option<String>, key: StoredForm, stored: StoredForm, kind: KindForm },
}

#[derive(Debug, Deserialize)]
pub(super) struct ColumnForm {
    pub(super) name: String,
    pub(super) aliases: Vec<PlaceForm>,
    pub(super) stored: StoredForm,
    pub(super) kind: KindForm,
    pub(super) absent: Absent,
}

#[derive(Debug, Deserialize)]
pub(super) struct PlaceForm {
    pub(super) family: String,
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KindForm {
    Value,
    Timestamped,
    Versions,
    Counter,
    Sum,
    Min,
    Max,
    SumVersions { window_micros: u64 },
    MinVersions { window_micros: u64 },
    MaxVersions { window_micros: u64 },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Absent {
    Error,
    None,
    Default,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredForm {
    Integer {
        #[serde(deserialize_with = "of_text")]
        min: i64,
        #[serde(deserialize_with = "of_text")]
        max: i64,
    },
    #[serde(rename = "nonzero")]
    NonZero {
        #[serde(deserialize_with = "of_text")]
        min: i64,
        #[serde(deserialize_with = "of_text")]
        max: i64,
    },
    Bool,
    Code(Vec<VariantForm>),
    F32,
    F64,
    Text,
    Char,
    Enum(Vec<String>),
    Bytes,
    Array(usize),
    Unit,
    Uuid,
    IpAddress,
    Ipv4Address,
    Ipv6Address,
    Time,
    Date,
    Json,
    Proto,
    UnixTime(String),
    Custom(String),
}

#[derive(Debug, Deserialize)]
pub(super) struct VariantForm {
    #[serde(deserialize_with = "of_text")]
    pub(super) code: i64,
    pub(super) name: String,
}

fn of_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

impl RowForm {
    /// None for a form that this release of the command does not know.
    pub(super) fn of(schema: &RowSchema) -> Option<Self> {
        serde_json::from_str(&schema.to_json()).ok()
    }

    /// The columns that have a name, with their families.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&str, &ColumnForm)> {
        self.fields.iter().flat_map(|field| {
            let (family, columns) = match field {
                FieldForm::Column { family, column } => (family.as_str(), std::slice::from_ref(column)),
                FieldForm::Struct { family, columns } => (family.as_str(), &columns[..]),
                FieldForm::Map { .. } => ("", &[][..]),
            };
            columns.iter().map(move |column| (family, column))
        })
    }

    /// The families that are maps, with how they are stored.
    pub(super) fn maps(&self) -> impl Iterator<Item = (&str, &StoredForm, &StoredForm, KindForm)> {
        self.fields.iter().filter_map(|field| match field {
            FieldForm::Map { family, key, stored, kind } => {
                Some((family.as_deref().unwrap_or("cf"), key, stored, *kind))
            }
            FieldForm::Column { .. } | FieldForm::Struct { .. } => None,
        })
    }
}
