//! From a serde value to the changes that make a row equal to it.

mod cell;
mod changes;
mod compound;
mod family;
mod json;
mod qualifier;
mod row;

use serde::ser::Serialize;

pub(super) use self::cell::Stored;
use self::cell::ValueSerializer;
use self::changes::Changes;
use self::row::RowSerializer;
use super::error::{Fault, RowError};
use super::{Shape, Sink};

/// How a value is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    /// The family of the columns that are not in a family of their own.
    pub(crate) family: &'a str,
    /// What the row type is; it says what an absent option is.
    pub(crate) shape: &'a Shape,
    /// Whether what is absent is left as it is: nothing is deleted.
    pub(crate) merges: bool,
}

/// Gives `sink` what makes a row equal to `row`, or, where it is merged, what sets that which is present.
///
/// What is present is set at the server's time, and what is absent deleted over all time. So all cells of a write have one
/// time, the write that the server applies last decides the whole row, and no client's clock decides anything.
///
/// A struct owns the columns that its fields name, and deletes those that are `None` or skipped; a map owns
/// its family. A value without columns sets the marker, an empty value under the empty qualifier, since a
/// row without a cell does not exist, and a family without one is absent.
///
/// After an error the sink has taken a part of it.
pub(crate) fn write_row<R: Serialize + ?Sized>(
    row: &R,
    write: Write<'_>,
    sink: &mut dyn Sink,
) -> Result<(), RowError> {
    write.shape.check(write.family)?;
    let mut changes = Changes::new(write, sink);
    row.serialize(RowSerializer { changes: &mut changes }).map_err(|fault| fault.in_family(write.family))?;
    changes.end_row();
    Ok(())
}

/// Gives `sink` what makes one field of a row equal to `value`. After an error it has taken a part of it.
pub(crate) fn write_field<V: Serialize + ?Sized>(
    name: &str,
    value: &V,
    write: Write<'_>,
    sink: &mut dyn Sink,
) -> Result<(), RowError> {
    let stored = Changes::new(write, sink).field(name, value);
    let stored = stored.map_err(|fault| fault.in_family(write.family))?;
    let is_column = matches!(stored, Stored::Value(_) | Stored::Versions(_) | Stored::Set);
    if is_column && write.shape.is_family(name.as_bytes()) {
        let fault = Fault::unsupported(format_args!(
            "is not a column: `{name}` is a column family of the row type; set it to a struct or a map, or write \
             `{name}:…` for one of its columns"
        ));
        return Err(fault.in_column(name.as_bytes()).in_family(write.family));
    }
    Ok(())
}

/// Gives `sink` what makes one column equal to `value`. After an error it has taken a part of it.
pub(crate) fn write_column<V: Serialize + ?Sized>(
    family: &str,
    qualifier: &[u8],
    value: &V,
    write: Write<'_>,
    sink: &mut dyn Sink,
) -> Result<(), RowError> {
    let mut changes = Changes::new(write, sink);
    let stored = changes.stored(family, qualifier, value).map_err(|fault| fault.in_family(family))?;
    changes.write(family, qualifier, &stored);
    Ok(())
}

/// What a value is as a column.
pub(super) fn to_stored<V: Serialize + ?Sized>(value: &V) -> Result<Stored, Fault> {
    value.serialize(ValueSerializer::CELL)
}

/// Refuses the empty name.
#[inline]
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
