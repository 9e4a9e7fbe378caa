//! The rows of a result, and how they become Rust values.

use std::fmt;
use std::sync::Arc;

use super::{FromSql, SqlMismatch, SqlType, SqlValue};

/// A column of a result: its name and its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryColumn {
    pub(crate) name: String,
    pub(crate) of: SqlType,
}

impl QueryColumn {
    /// The name; empty if the query gives the column none. Several columns may have the same name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type.
    #[must_use]
    pub fn sql_type(&self) -> &SqlType {
        &self.of
    }
}

/// The columns of a result, for implementations of [`FromQueryRow`].
#[derive(Debug)]
pub struct QueryColumns {
    /// The text of the query, which errors name.
    pub(crate) query: Arc<str>,
    pub(crate) columns: Vec<QueryColumn>,
}

impl QueryColumns {
    /// The columns, in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[QueryColumn] {
        &self.columns
    }

    /// Checks that `T` reads the column with this name.
    ///
    /// # Errors
    /// If no column has this name, or several have it, or `T` does not read its type.
    pub fn check<T: FromSql>(&self, name: &str) -> Result<(), ColumnError> {
        self.check_at::<T>(self.index_of(name)?)
    }

    /// Checks that `T` reads the column at this index, from 0.
    ///
    /// # Errors
    /// If there is no such column, or `T` does not read its type.
    pub fn check_at<T: FromSql>(&self, index: usize) -> Result<(), ColumnError> {
        let Some(column) = self.columns.get(index) else {
            let count = self.columns.len();
            return Err(self.mismatch(&index.to_string(), format!("the result has {count} columns")));
        };
        T::check_type(&column.of).map_err(|how| self.of_column(column, &how))
    }

    fn index_of(&self, name: &str) -> Result<usize, ColumnError> {
        let mut named = self.columns.iter().enumerate().filter(|(_, column)| column.name == name);
        match (named.next(), named.next()) {
            (Some((index, _)), None) => Ok(index),
            (None, _) => {
                let names: Vec<_> = self.columns.iter().map(|column| format!("`{}`", column.name)).collect();
                Err(self
                    .mismatch(name, format!("the result has no such column; it has {}", names.join(", "))))
            }
            (Some(_), Some(_)) => {
                Err(self.mismatch(name, "several columns have this name; use `get_at`, or `AS` in the query"))
            }
        }
    }

    fn check_count(&self, expected: usize) -> Result<(), ColumnError> {
        let count = self.columns.len();
        if count == expected {
            return Ok(());
        }
        let message = format!(
            "the result has {count} columns, and the tuple has {expected}; name as many columns in the `SELECT`"
        );
        Err(self.mismatch("*", message))
    }

    fn of_column(&self, column: &QueryColumn, SqlMismatch(what): &SqlMismatch) -> ColumnError {
        self.mismatch(&column.name, format!("it is {}: {what}", column.of))
    }

    fn mismatch(&self, column: &str, reason: impl Into<String>) -> ColumnError {
        let (query, column) = (Arc::clone(&self.query), column.to_owned());
        ColumnError { query, column, reason: reason.into() }
    }
}

/// A row of a result.
///
/// ```no_run
/// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
/// use keyderive::query::QueryRow;
///
/// let query = client.query("SELECT CAST(cf['kind'] AS STRING) AS kind, COUNT(*) AS n FROM events GROUP BY kind");
/// for row in query.fetch::<QueryRow>().await? {
///     let (kind, n): (Option<String>, i64) = (row.get("kind")?, row.get("n")?);
///     println!("{n} of {kind:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct QueryRow {
    columns: Arc<QueryColumns>,
    values: Vec<SqlValue>,
}

impl QueryRow {
    /// A row with a value for each column.
    pub(crate) fn new(columns: Arc<QueryColumns>, values: Vec<SqlValue>) -> Self {
        Self { columns, values }
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[QueryColumn] {
        &self.columns.columns
    }

    /// The values, in the order of the columns.
    #[must_use]
    pub fn values(&self) -> &[SqlValue] {
        &self.values
    }

    /// The value of the column with exactly this name: upper and lower case differ.
    ///
    /// # Errors
    /// If no column has this name, or several have it, or `T` does not read its type, or the value is no `T`.
    pub fn get<T: FromSql>(&self, name: &str) -> Result<T, ColumnError> {
        self.get_at(self.columns.index_of(name)?)
    }

    /// The value of the column at this index, from 0.
    ///
    /// # Errors
    /// If there is no such column, or `T` does not read its type, or the value is no `T`.
    pub fn get_at<T: FromSql>(&self, index: usize) -> Result<T, ColumnError> {
        self.columns.check_at::<T>(index)?;
        // A row has a value for each column.
        let value = self.values.get(index).cloned().unwrap_or(SqlValue::Null);
        T::from_sql(value).map_err(|how| match self.columns().get(index) {
            Some(column) => self.columns.of_column(column, &how),
            None => self.columns.mismatch(&index.to_string(), how.0),
        })
    }
}

impl fmt::Debug for QueryRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (column, value) in self.columns().iter().zip(&self.values) {
            map.entry(&column.name, value);
        }
        map.finish()
    }
}

/// The column with this name, for generated code. A function of its own, since the compiler then reports a wrong type at the field.
#[must_use]
pub fn named_column<T: FromSql>(name: &'static str) -> NamedColumn<T> {
    NamedColumn { name, check: QueryColumns::check::<T>, get: QueryRow::get::<T> }
}

/// The column of a field of a struct with `#[derive(FromQueryRow)]`, for generated code.
#[derive(Debug)]
pub struct NamedColumn<T> {
    name: &'static str,
    check: fn(&QueryColumns, &str) -> Result<(), ColumnError>,
    get: fn(&QueryRow, &str) -> Result<T, ColumnError>,
}

impl<T> NamedColumn<T> {
    /// Checks that `T` reads the column.
    ///
    /// # Errors
    /// As [`QueryColumns::check`].
    pub fn check(&self, columns: &QueryColumns) -> Result<(), ColumnError> {
        (self.check)(columns, self.name)
    }

    /// The value of the column.
    ///
    /// # Errors
    /// As [`QueryRow::get`].
    pub fn get(&self, row: &QueryRow) -> Result<T, ColumnError> {
        (self.get)(row, self.name)
    }
}

/// A column of a result is missing, or is not of the type that the program expects.
///
/// The text names the query, the column, its type and what is wrong. `?` converts it into an [`Error`](crate::Error) of the kind
/// [`InvalidRow`](crate::ErrorKind::InvalidRow).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnError {
    query: Arc<str>,
    column: String,
    reason: String,
}

impl ColumnError {
    /// The text with the column's name alone. It leaves out the query, and what is wrong, which may hold a value.
    #[must_use = "it is a text, to be printed"]
    pub fn redacted(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| write!(f, "query: column `{}` is not what the program expects", self.column))
    }
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { query, column, reason } = self;
        write!(f, "query `{query}`: column `{column}`: {reason}")
    }
}

impl std::error::Error for ColumnError {}

/// A type that rows of a result become: a struct with [`#[derive(FromQueryRow)]`](derive@super::FromQueryRow), a tuple of up to 8
/// columns, or [`QueryRow`].
///
/// | type | columns |
/// |---|---|
/// | a tuple | by their order; the result has exactly as many columns |
/// | a struct | by their names, in which upper and lower case differ; columns that no field names are ignored; a name that two columns have is an error |
/// | [`QueryRow`] | any |
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no row of a query",
    note = "derive `keyderive::query::FromQueryRow` for a struct with a field for each column, or use a tuple of the columns' types"
)]
pub trait FromQueryRow: Sized {
    /// Checks the columns of a result, once before its first row, and also if it has none. By default every result passes, and
    /// [`from_query_row`](Self::from_query_row) decides row by row.
    ///
    /// # Errors
    /// If the columns are not those of the type.
    fn check_columns(columns: &QueryColumns) -> Result<(), ColumnError> {
        let _ = columns;
        Ok(())
    }

    /// The value of a row.
    ///
    /// # Errors
    /// If the columns are not those of the type.
    fn from_query_row(row: QueryRow) -> Result<Self, ColumnError>;
}

impl FromQueryRow for QueryRow {
    fn from_query_row(row: QueryRow) -> Result<Self, ColumnError> {
        Ok(row)
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident $index:tt),+;)+) => {$(
        impl<$($name: FromSql),+> FromQueryRow for ($($name,)+) {
            fn check_columns(columns: &QueryColumns) -> Result<(), ColumnError> {
                columns.check_count($count)?;
                $(columns.check_at::<$name>($index)?;)+
                Ok(())
            }

            fn from_query_row(row: QueryRow) -> Result<Self, ColumnError> {
                row.columns.check_count($count)?;
                Ok(($(row.get_at::<$name>($index)?,)+))
            }
        }

        impl<$($name: FromSql),+> FromSql for ($($name,)+) {
            fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
                let SqlType::Struct(fields) = of else { return Err(SqlMismatch::expected_type("STRUCT", of)) };
                let found = fields.len();
                if found != $count {
                    return Err(SqlMismatch::new(format!("the struct has {found} fields, and the tuple {}", $count)));
                }
                $($name::check_type(&fields[$index].1)?;)+
                Ok(())
            }

            fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
                let fields = match value {
                    SqlValue::Struct(fields) => fields,
                    value => return Err(SqlMismatch::expected("STRUCT", &value)),
                };
                let found = fields.len();
                let mut fields = fields.into_iter();
                let mut next = || {
                    let wrong = || SqlMismatch::new(format!("the struct has {found} fields, and the tuple {}", $count));
                    fields.next().filter(|_| found == $count).ok_or_else(wrong)
                };
                Ok(($($name::from_sql(next()?)?,)+))
            }
        }
    )+};
}

tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}
