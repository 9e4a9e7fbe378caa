//! Columns that are named by text at run time, and their values.

use std::borrow::Cow;
use std::cmp::Ordering;

use bytes::Bytes;

use super::column::{Any, CellValue, ColumnPlace, Entry};
use super::schema::ColumnKind;
use super::{CellError, CellType, CellWriter, Name, RowError, RowSchema};
use crate::key::Value;

macro_rules! values {
    ($($type:ty)*) => {$(
        impl CellValue<Any> for $type {
            fn encode_value(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                CellValue::<Any>::encode_value(&Value::from(self.clone()), stored, out)
            }

            fn encode_bound(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
                CellValue::<Any>::encode_bound(&Value::from(self.clone()), stored, out)
            }
        }
    )*};
}

values! { i64 bool f32 f64 String &str Bytes Vec<u8> }

impl CellValue<Any> for Value {
    fn encode_value(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        stored.write(self, out)
    }

    fn encode_bound(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        stored.write_bound(self, out)
    }
}

impl RowSchema {
    /// The column that text names, `name` or `family:name`.
    pub(super) fn column_of<R>(&self, path: &str) -> Result<Entry<R, Option<Any>>, RowError> {
        self.column_in("", path)
    }

    /// As [`column_of`](Self::column_of), of a row that is a map in this family.
    pub(crate) fn column_in<R>(
        &self,
        map_family: &str,
        path: &str,
    ) -> Result<Entry<R, Option<Any>>, RowError> {
        let own = self.own_family().unwrap_or(map_family);
        let (family, name) = path.split_once(':').unwrap_or((own, path));
        let column = Name { family, qualifier: name.as_bytes() };
        if name.is_empty() {
            return Err(RowError::empty_name(family));
        }
        if let Some((family, column)) =
            self.columns().find(|(of, column)| *of == family && column.name() == name)
        {
            return Ok(Entry::new(Ok(ColumnPlace {
                family: Cow::Borrowed(family),
                qualifier: Bytes::from_static(column.name().as_bytes()),
                aliases: column.former(),
                stored: column.stored(),
                kind: column.kind(),
                is_required: column.is_required(),
            })));
        }
        let is_whole_row = self.own_family().is_none() && family == map_family;
        match self.map_of(if is_whole_row { "" } else { family }) {
            Some((_, key, stored, kind)) => {
                // A name that no key of the map has would make the row unreadable.
                // It takes such names as they are shown: otherwise a column that is named as shown would
                // be another one.
                let qualifier = match key.is_any_bytes() {
                    true => unescaped(name),
                    false => Some(name.as_bytes().to_vec()),
                };
                let Some(qualifier) = qualifier else {
                    let text = "is named by a text with an escape that is none; escapes are those of a name that is shown, such as `\\xff`";
                    return Err(RowError::cell(column, CellError::unsupported(text)));
                };
                if key.read(&qualifier).is_err() {
                    let text = format_args!("is named by text that is not {key}, as the keys of the map are");
                    return Err(RowError::cell(column, CellError::unsupported(text)));
                }
                Ok(Entry::new(Ok(ColumnPlace {
                    family: Cow::Owned(family.to_owned()),
                    qualifier: qualifier.into(),
                    aliases: &[],
                    stored,
                    kind,
                    is_required: false,
                })))
            }
            None => Err(RowError::cell(column, self.no_column(family, name))),
        }
    }

    #[cold]
    fn no_column(&self, family: &str, name: &str) -> CellError {
        let full = |family: &str, name: &str| format!("{family}:{name}");
        let wrong = full(family, name);
        let names = self.columns().map(|(family, column)| full(family, column.name()));
        let nearest = names.map(|name| (strsim::levenshtein(&wrong, &name), name)).min();
        let remedy = match nearest {
            Some((distance, name)) if distance <= 1 + name.len() / 4 => format!("did you mean `{name}`?"),
            _ => {
                let names = self.columns().map(|(family, column)| format!("`{family}:{}`", column.name()));
                let maps = self.maps().map(|family| format!("`{family}:…`"));
                format!("it has {}", names.chain(maps).collect::<Vec<_>>().join(", "))
            }
        };
        CellError::unsupported(format_args!("is not a column of `{}`; {remedy}", self.name()))
    }
}

/// The bytes that [`escape_ascii`](slice::escape_ascii) shows so; `None` for an escape that it does not write.
fn unescaped(name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next()? {
                b't' => b'\t',
                b'r' => b'\r',
                b'n' => b'\n',
                quoted @ (b'\'' | b'"' | b'\\') => quoted,
                b'x' => {
                    let digits = [rest.next()?, rest.next()?];
                    u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
                }
                _ => return None,
            },
            other => other,
        });
    }
    Some(bytes)
}

/// Checks that a column which was named by text is one that a call is for. Other columns are checked by the compiler.
pub(crate) fn check_kind(
    place: &ColumnPlace,
    is_one: impl Fn(ColumnKind) -> bool,
    remedy: &str,
) -> Result<(), RowError> {
    if is_one(place.kind) {
        return Ok(());
    }
    Err(RowError::cell(place.name(), CellError::unsupported(remedy)))
}
