//! From a serde value to the mutations that make a row equal to it.

mod cell;
mod changes;
mod compound;
mod family;
mod json;
mod qualifier;
mod row;

use std::sync::Arc;

use bytes::Bytes;
use serde::ser::Serialize;

pub(super) use self::cell::Stored;
use self::cell::ValueSerializer;
use self::changes::Changes;
use self::row::RowSerializer;
use super::error::{Fault, RowError};
use super::{Change, Mutation, Shape};

/// How a value is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    /// The family of the columns that are not in a family of their own.
    pub(crate) family: &'a Arc<str>,
    /// What the row type is; it says what an absent option is.
    pub(crate) shape: &'a Shape,
    /// The timestamp of the cells that have none of their own.
    pub(crate) timestamp_micros: i64,
    /// Whether what is absent is left as it is.
    pub(crate) merges: bool,
}

/// The mutations that make a row equal to `row`, deletes first, or, where it is merged, that set what is present.
///
/// A struct owns the columns that its fields name, and deletes those that are `None` or skipped; a map owns
/// its family. A value without columns sets the marker, an empty value under the empty qualifier, since a
/// row without a cell does not exist, and a family without one is absent.
pub(crate) fn to_mutations<R: Serialize + ?Sized>(
    row: &R,
    write: Write<'_>,
) -> Result<Vec<Mutation>, RowError> {
    write.shape.check(write.family)?;
    let mut changes = Changes::new(write);
    row.serialize(RowSerializer { changes: &mut changes }).map_err(|fault| fault.in_family(write.family))?;
    Ok(changes.into_row())
}

/// The mutations that make one field of a row equal to `value`.
pub(crate) fn field_to_mutations<V: Serialize + ?Sized>(
    name: &str,
    value: &V,
    write: Write<'_>,
) -> Result<Vec<Mutation>, RowError> {
    let mut changes = Changes::new(write);
    let qualifier = Bytes::copy_from_slice(name.as_bytes());
    changes.field(name, qualifier, value).map_err(|fault| fault.in_family(write.family))?;
    let mutations = changes.into_mutations();
    let is_own =
        |mutation: &Mutation| matches!(&mutation.0, Change::SetCell { family, .. } if family == write.family);
    if write.shape.is_family(name.as_bytes()) && mutations.iter().any(is_own) {
        let fault = Fault::unsupported(format_args!(
            "is not a column: `{name}` is a column family of the row type; set it to a struct or a map, or write \
             `{name}:…` for one of its columns"
        ));
        return Err(fault.in_column(name.as_bytes()).in_family(write.family));
    }
    Ok(mutations)
}

/// The mutations that make one column equal to `value`.
pub(crate) fn column_to_mutations<V: Serialize + ?Sized>(
    family: &Arc<str>,
    qualifier: &Bytes,
    value: &V,
    write: Write<'_>,
) -> Result<Vec<Mutation>, RowError> {
    let mut changes = Changes::new(write);
    let stored = changes.stored(family, qualifier, value).map_err(|fault| fault.in_family(family))?;
    changes.write(family, qualifier, stored);
    Ok(changes.into_mutations())
}

/// What a value is as a column.
pub(super) fn to_stored<V: Serialize + ?Sized>(value: &V) -> Result<Stored, Fault> {
    value.serialize(ValueSerializer::CELL)
}

/// Refuses the empty name.
fn named(qualifier: &[u8]) -> Result<(), Fault> {
    if qualifier.is_empty() {
        return Err(Fault::unsupported(
            "has a column with an empty name; the empty qualifier marks a row without columns",
        ));
    }
    Ok(())
}

/// Declares the methods of a `Serializer` that only refuse, each with what it refuses.
macro_rules! refuse {
    ($refusal:path; $($method:ident($($arg:ty),*) $(-> $compound:ident)? = $found:literal;)*) => {$(
        fn $method(self $(, _: $arg)*) -> refuse!(@result $($compound)?) {
            Err($refusal($found))
        }
    )*};
    (@result) => { Result<Self::Ok, Fault> };
    (@result $compound:ident) => { Result<Self::$compound, Fault> };
}
use refuse;
