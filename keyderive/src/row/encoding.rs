//! The encodings that an attribute chooses for a field: `json`, `ts`, `proto` and `with`. Without one, the field's type decides.

use std::cmp::Ordering;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Cell, CellError, CellType, CellWriter, ComparableCell, OrderedCell, StoredCell, json};
use crate::key::TimeUnit;
use crate::key::codec::{Ts, Unit, UnixTime};

/// How values of the type `T` are encoded in a cell: [`Json`], and the encodings of `ts(unit = "…")`, `proto` and `with = "module"`.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be stored in this encoding",
    label = "not a value that this encoding takes",
    note = "`json` needs `serde::Serialize` and `serde::Deserialize`, `ts` a time, `proto` a `prost::Message`, and `with` the type of \
            its module",
    note = "times of chrono, jiff and time need the feature of keyderive that has the crate's name, such as `features = [\"jiff\"]`"
)]
pub trait Encoding<T> {
    #[doc(hidden)]
    const TYPE: CellType;

    #[doc(hidden)]
    fn encode(value: &T, out: &mut CellWriter<'_>) -> Result<(), CellError>;

    /// As [`Cell::encode_bound`].
    #[doc(hidden)]
    fn encode_bound(value: &T, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        Self::encode(value, out).map(|()| Ordering::Equal)
    }

    #[doc(hidden)]
    fn decode(value: &[u8]) -> Result<T, CellError>;
}

/// The type of a column whose values are a `T` with the encoding `E`, for a field with `json`, `ts`, `proto` or `with`.
///
/// ```
/// use keyderive::Row;
/// use keyderive::row::{As, Column, Json};
///
/// #[derive(Row)]
/// struct Event {
///     #[row(json)]
///     tags: Vec<String>,
/// }
///
/// let tags: Column<Event, As<Vec<String>, Json>> = Event::TAGS;
/// ```
#[derive(Debug)]
pub struct As<T, E>(PhantomData<fn() -> (T, E)>);

#[diagnostic::do_not_recommend]
impl<T, E: Encoding<T>> StoredCell for As<T, E> {
    type Value = T;
    const STORED: CellType = E::TYPE;

    fn read(value: &[u8]) -> Result<T, CellError> {
        E::decode(value)
    }
}

impl<T, U: Unit> ComparableCell for As<T, Ts<U>> {}
impl<T, U: Unit> OrderedCell for As<T, Ts<U>> {}

/// The encoding of `#[row(json)]`: compact JSON.
///
/// A value that JSON does not give back, such as NaN, is an error of the write.
#[derive(Clone, Copy, Debug)]
pub enum Json {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Encoding<T> for Json {
    const TYPE: CellType = CellType::Json;

    fn encode(value: &T, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        json::write(value, out)
    }

    fn decode(value: &[u8]) -> Result<T, CellError> {
        json::read(value)
    }
}

/// The encoding of `#[row(proto)]`: the encoded message.
#[cfg(feature = "proto")]
#[derive(Clone, Copy, Debug)]
pub enum Proto {}

#[cfg(feature = "proto")]
#[diagnostic::do_not_recommend]
impl<T: prost::Message + Default> Encoding<T> for Proto {
    const TYPE: CellType = CellType::Proto;

    fn encode(value: &T, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        out.write(&value.encode_to_vec());
        Ok(())
    }

    fn decode(value: &[u8]) -> Result<T, CellError> {
        T::decode(value).map_err(|error| {
            CellError::malformed(format_args!("does not hold its field's message: {error}"))
                .with_source(error)
        })
    }
}

/// An integer from 1970, rounded down to the unit.
#[diagnostic::do_not_recommend]
impl<U: Unit, T: UnixTime> Encoding<T> for Ts<U> {
    const TYPE: CellType = CellType::UnixTime(U::UNIT);

    fn encode(value: &T, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        write_unix_time(U::UNIT, value.unix_nanos(), out)
    }

    fn encode_bound(value: &T, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        write_unix_time_bound(U::UNIT, value.unix_nanos(), out)
    }

    fn decode(value: &[u8]) -> Result<T, CellError> {
        let count = <i64 as Cell>::decode(value)?;
        T::of_unix_nanos(i128::from(count) * U::UNIT.nanos()).ok_or_else(|| {
            CellError::malformed(format_args!(
                "holds {count} {} from 1970, a time that its field's type does not have",
                U::UNIT.name()
            ))
        })
    }
}

/// Writes a time, in nanoseconds from 1970, as a count of a unit, rounded down.
#[inline]
pub(super) fn write_unix_time(
    unit: TimeUnit,
    nanos: i128,
    out: &mut CellWriter<'_>,
) -> Result<(), CellError> {
    let count = nanos.div_euclid(unit.nanos());
    let stored = i64::try_from(count).map_err(|_| {
        CellError::unsupported(format_args!(
            "is {count} {} from 1970, and an integer column has 64 bits; choose a larger unit",
            unit.name()
        ))
    })?;
    stored.encode(out)
}

/// As [`write_unix_time`], of a time to compare with.
#[inline]
pub(super) fn write_unix_time_bound(
    unit: TimeUnit,
    nanos: i128,
    out: &mut CellWriter<'_>,
) -> Result<Ordering, CellError> {
    let count = nanos.div_euclid(unit.nanos());
    let stored = i64::try_from(count).unwrap_or(if count < 0 { i64::MIN } else { i64::MAX });
    stored.encode(out).map(|()| nanos.cmp(&(i128::from(stored) * unit.nanos())))
}
