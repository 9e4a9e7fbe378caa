//! Rows and families that are structs or maps.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use super::field::{map, newest};
use super::raw::CellSlice;
use super::typed::{OwnedRow, Row};
use super::{
    Cell, ColumnKind, ColumnSchema, FieldSchema, Qualifier, RowCells, RowError, RowSchema, RowWriter,
};

/// A struct with columns in one family, which can be the family of another row. The derive implements it.
#[doc(hidden)]
pub trait FamilyField {
    type Decoded<'r>;
    const COLUMNS: &'static [ColumnSchema];

    /// The struct from the cells of its family, which may be none.
    fn read<'r>(cells: CellSlice<'r>, family: &str) -> Result<Self::Decoded<'r>, RowError>;

    /// Makes the family's columns equal to the struct's.
    fn write(&self, family: &str, out: &mut RowWriter<'_>) -> Result<(), RowError>;

    /// Whether the struct has a column of this name. The empty name is the marker's.
    fn owns(qualifier: &[u8]) -> bool;

    /// Deletes the columns that programs set, and the marker.
    fn delete(family: &str, out: &mut RowWriter<'_>) {
        delete_columns(Self::COLUMNS, family, out);
    }
}

/// Deletes the columns of a struct that programs set, and the marker.
pub(crate) fn delete_columns(columns: &[ColumnSchema], family: &str, out: &mut RowWriter<'_>) {
    for column in columns.iter().filter(|column| !column.kind().is_aggregate()) {
        out.delete_column(family, column.name().as_bytes());
        for alias in column.aliases() {
            out.delete_column(family, alias.name.as_bytes());
        }
    }
    out.delete_column(family, b"");
}

/// The constant of a field that is such a struct, in a row of the type `R`. `N` names the family.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a column family",
    label = "neither a struct of columns nor a map",
    note = "a family is a struct with `#[derive(Row)]` that has no family of its own, an `Option` of one, or a map such as \
            `BTreeMap<String, f64>`, written in the field itself and not by an alias"
)]
pub trait FamilyConst<R, N>: FamilyField {
    type Const;
    const CONST: Self::Const;

    // Generated code names these here, so that a type that is no family is one error.
    const OF_COLUMNS: &'static [ColumnSchema] = Self::COLUMNS;

    #[inline]
    fn read_field<'r>(cells: CellSlice<'r>, family: &str) -> Result<Self::Decoded<'r>, RowError> {
        Self::read(cells, family)
    }

    #[inline]
    fn write_field(&self, family: &str, out: &mut RowWriter<'_>) -> Result<(), RowError> {
        self.write(family, out)
    }

    #[must_use]
    fn owns_column(qualifier: &[u8]) -> bool {
        Self::owns(qualifier)
    }

    fn delete_field(family: &str, out: &mut RowWriter<'_>) {
        Self::delete(family, out);
    }
}

/// Names a family as a type.
#[doc(hidden)]
pub trait FamilyName {
    const NAME: &'static str;
}

/// A row type that does not name the family of its columns: a map, or `()`. [`Table::family`](crate::Table::family) names it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` names its own family",
    label = "not a map",
    note = "write `#[row(family = \"…\")]` on the struct; a table names the family of rows that are maps, or `()`"
)]
pub trait MapRow: Row {}

impl MapRow for () {}

macro_rules! maps {
    ($([$($bound:tt)*] $map:ident<Q, V $(, $hasher:ident)?>;)*) => {$(
        /// A row that is a map: its entries are the columns of the table's family.
        impl<Q: Qualifier $($bound)*, V: Cell $(, $hasher: BuildHasher + Default)?> Row for $map<Q, V $(, $hasher)?> {
            type Decoded<'r> = $map<Q, V::Decoded<'r> $(, $hasher)?>;
            const SCHEMA: &'static RowSchema = &RowSchema::__new(
                stringify!($map),
                "",
                &[FieldSchema::Map {
                    family: "",
                    key: Q::KEY,
                    stored: V::TYPE,
                    kind: ColumnKind::Value,
                    is_optional: false,
                }],
                &[],
            );

            fn decode(cells: RowCells<'_>) -> Result<Self::Decoded<'_>, RowError> {
                let family = cells.own_family();
                map::<Q, _, _>(cells.of_family(family), family, |column, family, qualifier| {
                    newest(column, V::decode, family, qualifier)
                })
            }

            fn encode(&self, out: &mut RowWriter<'_>) -> Result<(), RowError> {
                let family = out.own_family();
                out.write_map(family, self, |out, column, value| out.write_value(column, value, V::encode))?;
                out.end_row(family);
                Ok(())
            }
        }

        impl<Q: Qualifier $($bound)*, V: Cell $(, $hasher: BuildHasher + Default)?> MapRow for $map<Q, V $(, $hasher)?> {}

        impl<Q: Qualifier $($bound)*, V $(, $hasher: BuildHasher + Default)?> OwnedRow for $map<Q, V $(, $hasher)?> where
            V: for<'r> Cell<Decoded<'r> = V>
        {
        }
    )*};
}

maps! {
    [] BTreeMap<Q, V>;
    [+ Hash] HashMap<Q, V, S>;
}
