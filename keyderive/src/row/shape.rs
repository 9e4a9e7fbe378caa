//! What the columns and families of a row type are, learned from its `Deserialize`.
//!
//! A `None` that is written does not say whether it is a column or a family, and a type does not say which columns it
//! reads before it has read one. The type itself knows: asked to deserialize, it says what it expects.

mod options;
mod probe;

use std::sync::atomic::{AtomicBool, Ordering};

use serde::de::DeserializeOwned;

pub(super) use self::options::Options;
use self::probe::{Asked, Found, ask};
use super::error::{Fault, RowError};

/// What a row type says of its columns.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A struct has these fields.
    Struct(Fields),
    /// A map has any column of the table's family.
    Map { versions: bool, untyped: bool },
    /// A struct with a flattened field reads whatever there is.
    Flattened(Flattened),
    /// The type is only written, and nothing is known of it.
    Unknown(Written),
    /// The type is that of a column, an option, or one that is read without a type.
    NoRow,
}

/// The fields of a row type that is a struct.
#[derive(Debug)]
pub(crate) struct Fields {
    /// Under every name that they are read by.
    all: Vec<Field>,
    has_families: bool,
    /// The columns that are read without a type, hence cannot be.
    untyped: Vec<Columns>,
    /// Tells which columns of a family with any column are.
    ask: fn(&[&str]) -> Found,
    /// A column that two fields have.
    twice: Option<(Option<&'static str>, &'static str)>,
    /// The fields whose absence is `None`, where serde may have another default for them: those of the row, then of
    /// families.
    options: Options,
    family_options: Vec<(&'static str, Options)>,
}

/// Columns that are read without a type.
#[derive(Debug)]
enum Columns {
    /// A field that is a column.
    Own(&'static str),
    /// A column of a field that is a struct.
    Of(&'static str, &'static str),
    /// Columns of a field that is a map, or a struct with a flattened field.
    In(&'static str),
}

/// Whether a value of a type that is only written has been.
#[derive(Debug, Default)]
pub(crate) struct Written(AtomicBool);

/// A struct with a flattened field, which is asked name by name.
#[derive(Debug)]
pub(crate) struct Flattened(fn(&[&str]) -> Found);

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
        let Found { asked, optional, .. } = ask::<R>(&[]);
        match asked {
            _ if optional => Self::NoRow,
            Some(Asked::Struct(names)) => Self::Struct(Fields::of::<R>(names)),
            Some(Asked::Map) => Self::Map {
                versions: map_asks::<R>(&[], Asked::Versions),
                untyped: map_asks::<R>(&[], Asked::Untyped),
            },
            Some(Asked::Flattened) => Self::Flattened(Flattened(ask::<R>)),
            Some(Asked::Column | Asked::Versions | Asked::Untyped) => Self::NoRow,
            Some(Asked::Nothing) | None => Self::Struct(Fields::of::<R>(&[])),
        }
    }

    /// What is known of a type that is only written.
    pub(crate) fn unknown() -> Self {
        Self::Unknown(Written::default())
    }

    /// Whether the names of the fields are still to be seen: those of a type that is only written, the first time.
    #[inline]
    pub(super) fn awaits_names(&self) -> bool {
        matches!(self, Self::Unknown(Written(written)) if !written.load(Ordering::Relaxed))
    }

    /// Notes that the names of the fields have been seen.
    #[inline]
    pub(super) fn names_are_seen(&self) {
        if let Self::Unknown(Written(written)) = self {
            written.store(true, Ordering::Relaxed);
        }
    }

    /// Fails for a row type of which no value can be written and be read back.
    #[inline]
    pub(crate) fn check(&self, family: &str) -> Result<(), RowError> {
        match self {
            Self::Struct(Fields { twice: Some(_), .. }) | Self::NoRow => {
                self.fault().map_or(Ok(()), |fault| Err(fault.in_family(family)))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn fault(&self) -> Option<Fault> {
        match self {
            Self::NoRow => Some(Fault::no_row()),
            Self::Struct(Fields { twice: Some((family, column)), .. }) => {
                let fault = Fault::unsupported(
                    "is the column of two fields of the row type, by `#[serde(rename)]` or `#[serde(alias)]`, and \
                     holds one value; give each field a name of its own",
                );
                let fault = fault.in_column(column.as_bytes());
                Some(family.iter().fold(fault, |fault, family| fault.of_family(family)))
            }
            Self::Struct(_) | Self::Map { .. } | Self::Flattened(_) | Self::Unknown(_) => None,
        }
    }

    /// Whether there is no column that is read without a type.
    #[inline]
    pub(super) fn reads_all(&self) -> bool {
        match self {
            Self::Struct(Fields { untyped, .. }) => untyped.is_empty(),
            Self::Map { untyped, .. } => !untyped,
            Self::Unknown(_) => true,
            Self::Flattened(_) | Self::NoRow => false,
        }
    }

    /// Whether a column, of the table's own family or of another, is read without a type.
    ///
    /// Of a struct with a flattened field this is no fault by itself: it is read as text.
    pub(super) fn is_untyped(&self, family: Option<&str>, column: &[u8]) -> bool {
        match self {
            Self::Struct(Fields { untyped, ask, .. }) => untyped.iter().any(|columns| match *columns {
                Columns::Own(name) => family.is_none() && name.as_bytes() == column,
                Columns::Of(of, name) => family == Some(of) && name.as_bytes() == column,
                Columns::In(of) => family == Some(of) && is_asked(*ask, of, column),
            }),
            Self::Map { untyped, .. } => *untyped && family.is_none(),
            Self::Flattened(_) | Self::Unknown(_) | Self::NoRow => false,
        }
    }

    /// Whether the name is that of a field which is a column, hence of none that is a family.
    pub(super) fn is_column(&self, name: &str) -> bool {
        let is_it = |field: &Field| matches!(field.kind, Kind::Column { .. }) && field.name == name;
        self.fields().iter().any(is_it)
    }

    /// Whether the name is that of a field which is a family.
    pub(super) fn is_family(&self, name: &[u8]) -> bool {
        match (self, str::from_utf8(name)) {
            (Self::Flattened(flattened), Ok(name)) => flattened.is_family(name),
            _ => self.family(name).is_some(),
        }
    }

    /// The fields, where they are known.
    pub(crate) fn fields(&self) -> &[Field] {
        match self {
            Self::Struct(fields) => &fields.all,
            Self::Map { .. } | Self::Flattened(_) | Self::Unknown(_) | Self::NoRow => &[],
        }
    }

    /// The fields of the row, or of a family of it, whose absence is `None`, where serde may have another default for them.
    #[inline]
    pub(super) fn options(&self, family: Option<&str>) -> Option<&Options> {
        let Self::Struct(fields) = self else { return None };
        match family {
            None => Some(&fields.options).filter(|options| !options.is_empty()),
            Some(name) => {
                fields.family_options.iter().find(|(of, _)| *of == name).map(|(_, options)| options)
            }
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
                fields.all.iter().any(|field| matches!(field.kind, Kind::Column { versions: true }))
            }
            Self::Map { versions, .. } => *versions,
            Self::Flattened(_) | Self::Unknown(_) | Self::NoRow => false,
        }
    }

    /// Whether all versions of any column are read.
    pub(crate) fn has_versions(&self) -> bool {
        self.own_versions() || self.families().any(|(_, versions)| versions)
    }

    /// The field of the row, or of a field that is a struct, with this name.
    pub(super) fn place(
        &self,
        family: Option<&str>,
        name: &[u8],
    ) -> Option<(Option<&'static str>, &'static str)> {
        let Some(family) = family else {
            let field = self.fields().iter().find(|field| field.name.as_bytes() == name)?;
            return Some((None, field.name));
        };
        let field = self.family(family.as_bytes())?;
        let Kind::Family { columns: Some(columns), .. } = &field.kind else { return None };
        let column = columns.iter().find(|column| column.as_bytes() == name)?;
        Some((Some(field.name), column))
    }

    /// Whether a row has, or may have, families beside its own.
    #[inline]
    pub(super) fn may_have_families(&self) -> bool {
        match self {
            Self::Struct(fields) => fields.has_families,
            Self::Map { .. } | Self::NoRow => false,
            Self::Flattened(_) | Self::Unknown(_) => true,
        }
    }

    /// Whether it is known that there is no field of this name.
    pub(super) fn lacks(&self, name: &str) -> bool {
        match self {
            Self::Struct(fields) => fields.all.iter().all(|field| field.name != name),
            Self::Map { .. } => true,
            Self::Flattened(_) | Self::Unknown(_) | Self::NoRow => false,
        }
    }

    /// The field of this name, where it is a family.
    pub(super) fn family(&self, name: &[u8]) -> Option<&Field> {
        let is_it =
            |field: &&Field| matches!(field.kind, Kind::Family { .. }) && field.name.as_bytes() == name;
        self.fields().iter().find(is_it)
    }
}

impl Fields {
    fn of<R: DeserializeOwned>(names: &'static [&'static str]) -> Self {
        let all: Vec<_> = names.iter().copied().map(Field::of::<R>).collect();
        let own = repeated(names).map(|name| (None, name));
        let twice = own.or_else(|| {
            all.iter().find_map(|field| match &field.kind {
                Kind::Family { columns: Some(columns), .. } => Some((Some(field.name), repeated(columns)?)),
                Kind::Family { columns: None, .. } | Kind::Column { .. } => None,
            })
        });
        let untyped = all.iter().flat_map(Field::untyped::<R>).collect();
        let has_families = all.iter().any(|field| matches!(field.kind, Kind::Family { .. }));
        let of_family = |field: &Field| match &field.kind {
            Kind::Family { columns: Some(columns), .. } => {
                let options = Options::of_family::<R>(field.name, columns);
                (!options.is_empty()).then_some((field.name, options))
            }
            Kind::Family { columns: None, .. } | Kind::Column { .. } => None,
        };
        let family_options = all.iter().filter_map(of_family).collect();
        let options = Options::of_row::<R>(names);
        Self { all, has_families, untyped, ask: ask::<R>, twice, options, family_options }
    }
}

impl Flattened {
    /// Whether a field of this name is read without a type, as those of the flattened field are.
    pub(super) fn is_untyped(&self, name: &str) -> bool {
        (self.0)(&[name]).asked == Some(Asked::Untyped)
    }

    fn is_family(&self, name: &str) -> bool {
        matches!((self.0)(&[name]).asked, Some(Asked::Struct(_) | Asked::Map | Asked::Flattened))
    }
}

impl Field {
    fn of<R: DeserializeOwned>(name: &'static str) -> Self {
        let Found { asked, optional, .. } = ask::<R>(&[name]);
        let kind = match asked {
            Some(Asked::Struct(columns)) => Kind::Family {
                versions: columns.iter().any(|column| has_versions::<R>(&[name, column])),
                columns: Some(columns.to_vec()),
            },
            Some(Asked::Map | Asked::Flattened) => {
                Kind::Family { columns: None, versions: map_asks::<R>(&[name], Asked::Versions) }
            }
            Some(Asked::Versions) => Kind::Column { versions: true },
            Some(Asked::Column | Asked::Nothing | Asked::Untyped) | None => Kind::Column { versions: false },
        };
        Self { name, kind, optional }
    }

    /// Its columns that are read without a type.
    fn untyped<R: DeserializeOwned>(&self) -> Vec<Columns> {
        let asks = |path: &[&str]| ask::<R>(path).asked == Some(Asked::Untyped);
        let name = self.name;
        match &self.kind {
            Kind::Column { .. } if asks(&[name]) => vec![Columns::Own(name)],
            Kind::Family { columns: Some(columns), .. } => {
                let untyped = columns.iter().filter(|column| asks(&[name, column]));
                untyped.map(|column| Columns::Of(name, column)).collect()
            }
            Kind::Family { columns: None, .. } if map_asks::<R>(&[name], Asked::Untyped) => {
                vec![Columns::In(name)]
            }
            Kind::Column { .. } | Kind::Family { columns: None, .. } => Vec::new(),
        }
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

/// Whether a column of a family with any column is read without a type.
fn is_asked(ask: fn(&[&str]) -> Found, family: &str, column: &[u8]) -> bool {
    str::from_utf8(column).is_ok_and(|column| ask(&[family, column]).asked == Some(Asked::Untyped))
}

/// The first name that comes twice.
fn repeated(names: &[&'static str]) -> Option<&'static str> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Whether the values of a map ask for this. The key has to be one that the map's key type takes.
fn map_asks<R: DeserializeOwned>(path: &[&str], asked: Asked) -> bool {
    /// A number, a date, a time, an address, a UUID, each as text; enums are asked for the names of their variants.
    const KEYS: [&str; 5] =
        ["0", "2000-01-01", "2000-01-01T00:00:00Z", "127.0.0.1", "00000000-0000-0000-0000-000000000000"];
    KEYS.iter().any(|key| ask::<R>(&[path, &[key]].concat()).asked == Some(asked))
}
