//! What the columns and families of a row type are, learned from its `Deserialize`.
//!
//! A `None` that is written does not say whether it is a column or a family, and a type does not say which columns it
//! reads before it has read one. The type itself knows: asked to deserialize, it says what it expects.

mod probe;

use serde::de::DeserializeOwned;

use self::probe::{Asked, Found, ask};

/// What a row type says of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A struct has these fields, under every name that they are read by.
    Struct(Vec<Field>),
    /// A map has any column of the table's family.
    Map { versions: bool },
    /// A struct with a flattened field reads whatever there is.
    Flattened,
    /// The type is only written, and nothing is known of it.
    Unknown,
}

/// A field of a row type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether it is an `Option`.
    pub(crate) optional: bool,
}

/// What a field of a row type is stored as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A column, of whose versions one is read or all are.
    Column { versions: bool },
    /// A family of its own, with these columns, or, for a map, with any.
    Family { columns: Option<Vec<&'static str>>, versions: bool },
}

impl Shape {
    pub(crate) fn of<R: DeserializeOwned>() -> Self {
        match ask::<R>(&[]).asked {
            Some(Asked::Struct(names)) => {
                Self::Struct(names.iter().map(|name| Field::of::<R>(name)).collect())
            }
            Some(Asked::Map) => Self::Map { versions: map_has_versions::<R>(&[]) },
            Some(Asked::Flattened) => Self::Flattened,
            Some(Asked::Column | Asked::Versions) | None => Self::Struct(Vec::new()),
        }
    }

    /// The fields, where they are known.
    pub(crate) fn fields(&self) -> &[Field] {
        match self {
            Self::Struct(fields) => fields,
            Self::Map { .. } | Self::Flattened | Self::Unknown => &[],
        }
    }

    /// The fields that are families, each with whether all versions of a column are read.
    pub(crate) fn families(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.fields().iter().filter_map(|field| match field.kind {
            Kind::Column { .. } => None,
            Kind::Family { versions, .. } => Some((field.name, versions)),
        })
    }

    /// Whether all versions of a column of the table's own family are read.
    pub(crate) fn own_versions(&self) -> bool {
        match self {
            Self::Struct(fields) => {
                fields.iter().any(|field| matches!(field.kind, Kind::Column { versions: true }))
            }
            Self::Map { versions } => *versions,
            Self::Flattened | Self::Unknown => false,
        }
    }

    /// Whether all versions of any column are read.
    pub(crate) fn has_versions(&self) -> bool {
        self.own_versions() || self.families().any(|(_, versions)| versions)
    }

    /// Whether a row has, or may have, families beside its own.
    pub(super) fn may_have_families(&self) -> bool {
        match self {
            Self::Struct(fields) => fields.iter().any(|field| matches!(field.kind, Kind::Family { .. })),
            Self::Map { .. } => false,
            Self::Flattened | Self::Unknown => true,
        }
    }

    /// The field of this name, where it is a family.
    pub(super) fn family(&self, name: &[u8]) -> Option<&Field> {
        let is_it =
            |field: &&Field| matches!(field.kind, Kind::Family { .. }) && field.name.as_bytes() == name;
        self.fields().iter().find(is_it)
    }
}

impl Field {
    fn of<R: DeserializeOwned>(name: &'static str) -> Self {
        let Found { asked, optional } = ask::<R>(&[name]);
        let kind = match asked {
            Some(Asked::Struct(columns)) => Kind::Family {
                versions: columns.iter().any(|column| has_versions::<R>(&[name, column])),
                columns: Some(columns.to_vec()),
            },
            Some(Asked::Map | Asked::Flattened) => {
                Kind::Family { columns: None, versions: map_has_versions::<R>(&[name]) }
            }
            Some(Asked::Versions) => Kind::Column { versions: true },
            Some(Asked::Column) | None => Kind::Column { versions: false },
        };
        Self { name, kind, optional }
    }

    /// Whether a column of the family is of this field.
    pub(super) fn owns(&self, qualifier: &[u8]) -> bool {
        match &self.kind {
            Kind::Family { columns: Some(columns), .. } => {
                qualifier.is_empty() || columns.iter().any(|column| column.as_bytes() == qualifier)
            }
            Kind::Family { columns: None, .. } | Kind::Column { .. } => true,
        }
    }
}

fn has_versions<R: DeserializeOwned>(path: &[&str]) -> bool {
    ask::<R>(path).asked == Some(Asked::Versions)
}

/// Whether the values of a map are versions. The key has to be one that the map's key type takes.
fn map_has_versions<R: DeserializeOwned>(path: &[&str]) -> bool {
    /// A number, a date, a time, an address, a UUID, each as text; enums are asked for the names of their variants.
    const KEYS: [&str; 5] =
        ["0", "2000-01-01", "2000-01-01T00:00:00Z", "127.0.0.1", "00000000-0000-0000-0000-000000000000"];
    KEYS.iter().any(|key| has_versions::<R>(&[path, &[key]].concat()))
}
