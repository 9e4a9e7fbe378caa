//! A key type for each type of each row of the list.

use std::borrow::Cow;
use std::ops::Bound;
use std::time::SystemTime;

use chrono::{DateTime, NaiveDate, Utc};
use jiff::{Timestamp, civil};
use keyderive::dynamic::KeyLayout;
use keyderive::key::codec::{
    BitReverse, DateTime17, Desc, Escape, Exact, Micros, Millis, Nanos, Ordered, Pad, ReverseTs, Secs,
    Simple, Text, Ts, V4,
};
use keyderive::key::{DecodeError, EncodeError, Field};
use keyderive::plan::PlanError;
use keyderive::{KeyField, RowKey};
use time::{OffsetDateTime, UtcDateTime};
use uuid::Uuid;

use super::model::{Kind, Model, Value, Values};
use super::{Case, Key, Order};
use crate::laws::Planned;

/// The `max` of a bare `#[reverse_ts]`.
pub(super) const GREATEST: u64 = i64::MAX as u64;

macro_rules! key_type {
    (text $attrs:tt $a:lifetime $type:ty) => { key_type!({} $attrs $a $type); };
    (ordered $attrs:tt $a:lifetime $type:ty) => { key_type!({ #[row_key(layout = "ordered")] } $attrs $a $type); };
    ({ $(#[$($of_key:tt)*])* } [$(#[$($attr:tt)*])*] $a:lifetime $type:ty) => {
        #[derive(RowKey)]
        #[salt(range = 7, over = "first,value")]
        $(#[$($of_key)*])*
        struct Stored<$a> {
            first: Cow<$a, str>,
            $(#[$($attr)*])*
            value: $type,
            last: Cow<$a, str>,
        }
    };
}

macro_rules! range {
    (unordered $($_:tt)*) => {
        None
    };
    ($order:ident $codec:ty, $a:lifetime $type:ty) => {{
        fn range<$a>(
            first: &$a str,
            lo: Bound<&$a Value>,
            hi: Bound<&$a Value>,
        ) -> Option<Result<(Planned, String), PlanError>> {
            let (lo, hi) = (bound::<$type>(lo)?, bound::<$type>(hi)?);
            let args = (lo.as_ref().map(<$type as KeyField<$codec>>::arg), hi.as_ref().map(<$type as KeyField<$codec>>::arg));
            let plan = Stored::scan().first(first).value_range(args).into_plan();
            Some(plan.map(|plan| (Planned::of(&plan), plan.explain().to_string())))
        }
        Some(range)
    }};
}

/// A bound of a type; `None` if the type has no such value.
fn bound<'v, T: Model<'v>>(bound: Bound<&'v Value>) -> Option<Bound<T>> {
    Some(match bound {
        Bound::Included(value) => Bound::Included(T::of(value)?),
        Bound::Excluded(value) => Bound::Excluded(T::of(value)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

macro_rules! case {
    ($cases:ident $layout:ident $attrs:tt [$codec:ty] $order:ident $exact:ident $a:lifetime [$($type:ty),*]) => {$(
        $cases.push({
            key_type!($layout $attrs $a $type);

            fn encode_into<$a>(key: &$a Key, out: &mut Vec<u8>) -> Option<Result<(), EncodeError>> {
                let value = <$type as Model<$a>>::of(&key.value)?;
                let (first, last) = (Cow::Borrowed(key.first.as_str()), Cow::Borrowed(key.last.as_str()));
                Some(Stored { first, value, last }.encode_into(out))
            }

            fn decode<$a>(bytes: &$a [u8]) -> Result<Key, DecodeError> {
                let Stored { first, value, last } = Stored::<$a>::decode(bytes)?;
                Ok(Key { first: first.into_owned(), value: value.value(), last: last.into_owned() })
            }

            fn declared<$a>(_: &$a ()) -> Field {
                let format = <$type as KeyField<$codec>>::FORMAT;
                let width = <$type as KeyField<$codec>>::WIDTH;
                let order = <$type as KeyField<$codec>>::ORDER;
                Field::new("value", stringify!($type), format, width, order)
                    .with_values(<$type as KeyField<$codec>>::VALUES)
            }

            fn values<$a>(_: &$a ()) -> Values {
                <$type as Model<$a>>::values()
            }

            fn examples<$a>(_: &$a ()) -> Vec<Value> {
                <$type as Model<$a>>::examples()
            }

            fn write<$a>(value: &$a Value) -> Option<Vec<u8>> {
                let (value, mut out) = (<$type as Model<$a>>::of(value)?, Vec::new());
                <$type as KeyField<$codec>>::write(<$type as KeyField<$codec>>::arg(&value), &mut out).ok()?;
                Some(out)
            }

            Case {
                layout: stringify!($layout),
                attributes: stringify!($attrs),
                codec: stringify!($codec),
                type_name: stringify!($type),
                order: Order::named(stringify!($order)),
                rounds: stringify!($exact) == "rounded",
                schema: Stored::SCHEMA,
                dynamic: KeyLayout::of::<Stored<'static>>(),
                declared: declared(&()),
                values: values(&()),
                examples: examples(&()),
                write,
                encode_into,
                decode,
                range: range!($order $codec, $a $type),
            }
        });
    )*};
}

macro_rules! cases {
    ($($layout:ident $attrs:tt $codec:tt $order:ident $exact:ident: $($set:ident)*;)*) => {
        /// Every case.
        pub(super) fn cases() -> Vec<Case> {
            let mut cases = Vec::new();
            $($(
                keyderive::__every_type!($set case cases $layout $attrs $codec $order $exact);
            )*)*
            cases
        }
    };
}

keyderive::__every_format!(cases);
