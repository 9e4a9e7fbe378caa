//! Rust types as parameters and as values of results.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hash};

use bytes::Bytes;

use super::{SqlDate, SqlTimestamp, SqlType, SqlValue};

/// A type of parameters.
///
/// ```
/// use keyderive::query::{SqlType, SqlValue, ToSql};
///
/// /// The number of a user, a parameter as INT64.
/// struct UserId(i64);
///
/// impl ToSql for UserId {
///     fn sql_type() -> SqlType {
///         SqlType::Int64
///     }
///
///     fn to_sql(&self) -> SqlValue {
///         self.0.to_sql()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parameter of a query",
    note = "the documentation of `keyderive::query` lists the types; implement `ToSql` for one of your own",
    note = "times and dates of chrono, jiff and time need the feature of keyderive that has the crate's name"
)]
pub trait ToSql {
    /// The SQL type.
    fn sql_type() -> SqlType;

    /// The value. NULL is of every type.
    fn to_sql(&self) -> SqlValue;
}

/// A type that a value of a result becomes.
///
/// ```
/// use keyderive::query::{FromSql, SqlMismatch, SqlType, SqlValue};
///
/// /// The number of a user, a column of INT64.
/// struct UserId(i64);
///
/// impl FromSql for UserId {
///     fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
///         i64::check_type(of)
///     }
///
///     fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
///         i64::from_sql(value).map(Self)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of a query's result",
    note = "the documentation of `keyderive::query` lists the types; implement `FromSql` for one of your own",
    note = "times and dates of chrono, jiff and time need the feature of keyderive that has the crate's name"
)]
pub trait FromSql: Sized {
    /// Checks that values of an SQL type can become this type. A query checks each column once, also if it is NULL in every
    /// row, or the result has no rows. By default every type passes, and [`from_sql`](Self::from_sql) decides.
    ///
    /// # Errors
    /// When no value of the type but NULL can.
    fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
        let _ = of;
        Ok(())
    }

    /// The Rust value.
    ///
    /// # Errors
    /// When it cannot be a value of this type.
    fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch>;
}

/// A value of a result is not what the program expects. The error of the query names the column, its type and the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlMismatch(pub(super) String);

impl SqlMismatch {
    /// A mismatch with a reason, for implementations of [`FromSql`].
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    pub(super) fn expected(expected: &str, found: &SqlValue) -> Self {
        match found {
            SqlValue::Null => Self::new("the value is NULL; to accept NULL, use an `Option`"),
            found => Self::new(format!("expected {expected}, found {}", found.name())),
        }
    }

    pub(super) fn expected_type(expected: impl fmt::Display, found: &SqlType) -> Self {
        Self::new(format!("expected {expected}, found {found}"))
    }
}

impl fmt::Display for SqlMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SqlMismatch {}

/// Checks that values of the type `found` can be read as values of the type `expected`.
pub(super) fn check_scalar(expected: &SqlType, found: &SqlType) -> Result<(), SqlMismatch> {
    let is_read = match (expected, found) {
        (SqlType::Int64, SqlType::Enum { .. }) | (SqlType::Bytes, SqlType::Proto { .. }) => true,
        _ => expected == found,
    };
    if is_read { Ok(()) } else { Err(SqlMismatch::expected_type(expected, found)) }
}

macro_rules! scalars {
    ($($rust:ty => $of:ident;)+) => {$(
        impl ToSql for $rust {
            fn sql_type() -> SqlType {
                SqlType::$of
            }

            fn to_sql(&self) -> SqlValue {
                SqlValue::$of(self.clone().into())
            }
        }

        impl FromSql for $rust {
            fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
                check_scalar(&SqlType::$of, of)
            }

            fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
                match value {
                    SqlValue::$of(value) => Ok(value),
                    value => Err(SqlMismatch::expected(&SqlType::$of.to_string(), &value)),
                }
            }
        }
    )+};
}

scalars! {
    bool => Bool;
    i64 => Int64;
    f32 => Float32;
    String => Text;
    Bytes => Bytes;
    SqlTimestamp => Timestamp;
    SqlDate => Date;
}

macro_rules! integers {
    ($($rust:ty)+) => {$(
        impl FromSql for $rust {
            fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
                i64::check_type(of)
            }

            fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
                let number = i64::from_sql(value)?;
                let range = || format!("{number} does not fit into `{}`", stringify!($rust));
                <$rust>::try_from(number).map_err(|_| SqlMismatch::new(range()))
            }
        }
    )+};
}

integers!(i8 i16 i32 u8 u16 u32 u64);

impl ToSql for f64 {
    fn sql_type() -> SqlType {
        SqlType::Float64
    }

    fn to_sql(&self) -> SqlValue {
        SqlValue::Float64(*self)
    }
}

impl FromSql for f64 {
    fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
        match of {
            SqlType::Float32 => Ok(()),
            of => check_scalar(&SqlType::Float64, of),
        }
    }

    fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
        match value {
            SqlValue::Float64(value) => Ok(value),
            SqlValue::Float32(value) => Ok(value.into()),
            value => Err(SqlMismatch::expected("FLOAT64", &value)),
        }
    }
}

impl ToSql for str {
    fn sql_type() -> SqlType {
        SqlType::Text
    }

    fn to_sql(&self) -> SqlValue {
        SqlValue::Text(self.to_owned())
    }
}

impl ToSql for [u8] {
    fn sql_type() -> SqlType {
        SqlType::Bytes
    }

    fn to_sql(&self) -> SqlValue {
        SqlValue::Bytes(Bytes::copy_from_slice(self))
    }
}

impl<T: ToSql + ?Sized> ToSql for &T {
    fn sql_type() -> SqlType {
        T::sql_type()
    }

    fn to_sql(&self) -> SqlValue {
        T::to_sql(self)
    }
}

/// `None` is NULL.
impl<T: ToSql> ToSql for Option<T> {
    fn sql_type() -> SqlType {
        T::sql_type()
    }

    fn to_sql(&self) -> SqlValue {
        self.as_ref().map_or(SqlValue::Null, T::to_sql)
    }
}

/// `None` for NULL.
impl<T: FromSql> FromSql for Option<T> {
    fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
        T::check_type(of)
    }

    fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
        match value {
            SqlValue::Null => Ok(None),
            value => T::from_sql(value).map(Some),
        }
    }
}

impl<T: ToSql> ToSql for Vec<T> {
    fn sql_type() -> SqlType {
        SqlType::Array(Box::new(T::sql_type()))
    }

    fn to_sql(&self) -> SqlValue {
        SqlValue::Array(self.iter().map(T::to_sql).collect())
    }
}

impl<T: FromSql> FromSql for Vec<T> {
    fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
        match of {
            SqlType::Array(element) => T::check_type(element),
            of => Err(SqlMismatch::expected_type("ARRAY", of)),
        }
    }

    fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
        match value {
            SqlValue::Array(elements) => elements.into_iter().map(T::from_sql).collect(),
            value => Err(SqlMismatch::expected("ARRAY", &value)),
        }
    }
}

fn check_entries<K: FromSql, V: FromSql>(of: &SqlType) -> Result<(), SqlMismatch> {
    match of {
        SqlType::Map(key, value) => K::check_type(key).and_then(|()| V::check_type(value)),
        of => Err(SqlMismatch::expected_type("MAP", of)),
    }
}

fn entries<K: FromSql, V: FromSql, M: FromIterator<(K, V)>>(value: SqlValue) -> Result<M, SqlMismatch> {
    match value {
        SqlValue::Map(entries) => {
            entries.into_iter().map(|(key, value)| Ok((K::from_sql(key)?, V::from_sql(value)?))).collect()
        }
        value => Err(SqlMismatch::expected("MAP", &value)),
    }
}

impl<K: FromSql + Ord, V: FromSql> FromSql for BTreeMap<K, V> {
    fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
        check_entries::<K, V>(of)
    }

    fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
        entries(value)
    }
}

impl<K: FromSql + Eq + Hash, V: FromSql, S: BuildHasher + Default> FromSql for HashMap<K, V, S> {
    fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
        check_entries::<K, V>(of)
    }

    fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
        entries(value)
    }
}

impl FromSql for SqlValue {
    fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
        Ok(value)
    }
}
