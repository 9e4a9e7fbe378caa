//! The list of all formats: for each layout and each set of attributes, the codec that they choose, the order of its
//! bytes, and the types that have it.
//!
//! The tables of `FORMAT.md` are generated from this list, and the laws of [`KeyField`](crate::KeyField#laws) are tested on each row of it.
//! The tests fail for a codec without a row.

/// Calls a macro with the rows.
///
/// A row is the layout, the attributes, the codec, the order of its bytes (`ascending`, `descending`, `unordered`),
/// whether values are stored unchanged or rounded down (`exact`, `rounded`), and the sets of types that have the codec.
#[doc(hidden)]
#[macro_export]
macro_rules! __every_format {
    ($then:ident) => {
        $then! {
            // Every type in its own format.
            text [] [Text] ascending exact: integers bool char strings bytes codes;
            text [] [Text] ascending rounded: times;
            text [] [Text] ascending exact: dates uuids;

            // A width of digits, or of bytes of text.
            text [#[pad(6)]] [Pad<6>] ascending exact: integers strings;
            text [#[pad(30)]] [Pad<30>] ascending exact: integers strings;

            // Numbers and times, the greatest first.
            text [#[reverse_ts]] [ReverseTs<GREATEST>] descending exact: integers;
            text [#[reverse_ts]] [ReverseTs<GREATEST>] descending rounded: times;
            text [#[reverse_ts(max = 9999)]] [ReverseTs<9999>] descending exact: integers;
            text [#[reverse_ts(max = 9999)]] [ReverseTs<9999>] descending rounded: times;
            text [#[row_key(desc)]] [Desc] descending exact: integers bool;
            text [#[row_key(desc)]] [Desc] descending rounded: times;
            text [#[row_key(desc)]] [Desc] descending exact: dates;
            text [#[row_key(desc)] #[pad(6)]] [Desc<Pad<6>>] descending exact: integers;
            text [#[row_key(desc)] #[pad(30)]] [Desc<Pad<30>>] descending exact: integers;

            // Sequential numbers over the whole key space.
            text [#[row_key(bit_reverse)]] [BitReverse] unordered exact: counters;

            // Text of every kind.
            text [#[row_key(escape)]] [Escape] ascending exact: char owned_strings;

            // UUIDs by their form and version.
            text [#[row_key(uuid(simple))]] [Simple] ascending exact: uuids;
            text [#[row_key(uuid(v4))]] [V4] ascending exact: uuids;
            text [#[row_key(uuid(simple, v4))]] [V4<Simple>] ascending exact: uuids;

            // Times by their unit.
            text [#[row_key(ts(unit = "secs"))]] [Ts<Secs>] ascending rounded: times;
            text [#[row_key(ts(unit = "secs", exact))]] [Ts<Exact<Secs>>] ascending exact: times;
            text [#[row_key(ts(unit = "millis"))]] [Ts<Millis>] ascending rounded: times;
            text [#[row_key(ts(unit = "millis", exact))]] [Ts<Exact<Millis>>] ascending exact: times;
            text [#[row_key(ts(unit = "micros"))]] [Ts<Micros>] ascending rounded: times;
            text [#[row_key(ts(unit = "micros", exact))]] [Ts<Exact<Micros>>] ascending exact: times;
            text [#[row_key(ts(unit = "nanos"))]] [Ts<Nanos>] ascending rounded: times;
            text [#[row_key(ts(unit = "nanos", exact))]] [Ts<Exact<Nanos>>] ascending exact: times;
            text [#[row_key(ts(format = "datetime17"))]] [DateTime17] ascending rounded: times;
            text [#[row_key(ts(format = "datetime17", exact))]] [DateTime17<Exact<Millis>>] ascending exact: times;

            // The same, the latest first.
            text [#[reverse_ts] #[row_key(ts(unit = "secs"))]] [ReverseTs<GREATEST, Ts<Secs>>] descending rounded: times;
            text [#[reverse_ts] #[row_key(ts(unit = "secs", exact))]] [ReverseTs<GREATEST, Ts<Exact<Secs>>>] descending exact: times;
            text [#[reverse_ts] #[row_key(ts(unit = "millis"))]] [ReverseTs<GREATEST, Ts<Millis>>] descending rounded: times;
            text [#[reverse_ts] #[row_key(ts(unit = "millis", exact))]] [ReverseTs<GREATEST, Ts<Exact<Millis>>>] descending exact: times;
            text [#[reverse_ts] #[row_key(ts(unit = "micros"))]] [ReverseTs<GREATEST, Ts<Micros>>] descending rounded: times;
            text [#[reverse_ts] #[row_key(ts(unit = "micros", exact))]] [ReverseTs<GREATEST, Ts<Exact<Micros>>>] descending exact: times;
            text [#[reverse_ts] #[row_key(ts(unit = "nanos"))]] [ReverseTs<GREATEST, Ts<Nanos>>] descending rounded: times;
            text [#[reverse_ts] #[row_key(ts(unit = "nanos", exact))]] [ReverseTs<GREATEST, Ts<Exact<Nanos>>>] descending exact: times;
            text [#[row_key(desc)] #[row_key(ts(unit = "secs"))]] [Desc<Ts<Secs>>] descending rounded: times;
            text [#[row_key(desc)] #[row_key(ts(unit = "secs", exact))]] [Desc<Ts<Exact<Secs>>>] descending exact: times;
            text [#[row_key(desc)] #[row_key(ts(unit = "millis"))]] [Desc<Ts<Millis>>] descending rounded: times;
            text [#[row_key(desc)] #[row_key(ts(unit = "millis", exact))]] [Desc<Ts<Exact<Millis>>>] descending exact: times;
            text [#[row_key(desc)] #[row_key(ts(unit = "micros"))]] [Desc<Ts<Micros>>] descending rounded: times;
            text [#[row_key(desc)] #[row_key(ts(unit = "micros", exact))]] [Desc<Ts<Exact<Micros>>>] descending exact: times;
            text [#[row_key(desc)] #[row_key(ts(unit = "nanos"))]] [Desc<Ts<Nanos>>] descending rounded: times;
            text [#[row_key(desc)] #[row_key(ts(unit = "nanos", exact))]] [Desc<Ts<Exact<Nanos>>>] descending exact: times;
            text [#[row_key(desc)] #[row_key(ts(format = "datetime17"))]] [Desc<DateTime17>] descending rounded: times;
            text [#[row_key(desc)] #[row_key(ts(format = "datetime17", exact))]] [Desc<DateTime17<Exact<Millis>>>] descending exact: times;

            // Every type in its own format of the ordered layout.
            ordered [] [Ordered] ascending exact: integers_up_to_64_bits bool char strings bytes codes;
            ordered [] [Ordered] ascending rounded: times;
            ordered [] [Ordered] ascending exact: dates uuids;
            ordered [#[row_key(uuid(v4))]] [V4<Ordered>] ascending exact: uuids;

            // Numbers and times of the ordered layout, the greatest first.
            ordered [#[reverse_ts]] [ReverseTs<GREATEST, Ordered>] descending exact: integers_up_to_64_bits;
            ordered [#[reverse_ts]] [ReverseTs<GREATEST, Ordered>] descending rounded: times;
            ordered [#[reverse_ts(max = 9999)]] [ReverseTs<9999, Ordered>] descending exact: integers_up_to_64_bits;
            ordered [#[reverse_ts(max = 9999)]] [ReverseTs<9999, Ordered>] descending rounded: times;
            ordered [#[row_key(desc)]] [Desc<Ordered>] descending exact: integers_up_to_64_bits bool;
            ordered [#[row_key(desc)]] [Desc<Ordered>] descending rounded: times;
            ordered [#[row_key(desc)]] [Desc<Ordered>] descending exact: dates;

            // Times by their unit in the ordered layout.
            ordered [#[row_key(ts(unit = "secs"))]] [Ts<Secs, Ordered>] ascending rounded: times;
            ordered [#[row_key(ts(unit = "secs", exact))]] [Ts<Exact<Secs>, Ordered>] ascending exact: times;
            ordered [#[row_key(ts(unit = "millis"))]] [Ts<Millis, Ordered>] ascending rounded: times;
            ordered [#[row_key(ts(unit = "millis", exact))]] [Ts<Exact<Millis>, Ordered>] ascending exact: times;
            ordered [#[row_key(ts(unit = "micros"))]] [Ts<Micros, Ordered>] ascending rounded: times;
            ordered [#[row_key(ts(unit = "micros", exact))]] [Ts<Exact<Micros>, Ordered>] ascending exact: times;
            ordered [#[row_key(ts(unit = "nanos"))]] [Ts<Nanos, Ordered>] ascending rounded: times;
            ordered [#[row_key(ts(unit = "nanos", exact))]] [Ts<Exact<Nanos>, Ordered>] ascending exact: times;

            // The same, the latest first in the ordered layout.
            ordered [#[reverse_ts] #[row_key(ts(unit = "secs"))]] [ReverseTs<GREATEST, Ts<Secs, Ordered>>] descending rounded: times;
            ordered [#[reverse_ts] #[row_key(ts(unit = "secs", exact))]] [ReverseTs<GREATEST, Ts<Exact<Secs>, Ordered>>] descending exact: times;
            ordered [#[reverse_ts] #[row_key(ts(unit = "millis"))]] [ReverseTs<GREATEST, Ts<Millis, Ordered>>] descending rounded: times;
            ordered [#[reverse_ts] #[row_key(ts(unit = "millis", exact))]] [ReverseTs<GREATEST, Ts<Exact<Millis>, Ordered>>] descending exact: times;
            ordered [#[reverse_ts] #[row_key(ts(unit = "micros"))]] [ReverseTs<GREATEST, Ts<Micros, Ordered>>] descending rounded: times;
            ordered [#[reverse_ts] #[row_key(ts(unit = "micros", exact))]] [ReverseTs<GREATEST, Ts<Exact<Micros>, Ordered>>] descending exact: times;
            ordered [#[reverse_ts] #[row_key(ts(unit = "nanos"))]] [ReverseTs<GREATEST, Ts<Nanos, Ordered>>] descending rounded: times;
            ordered [#[reverse_ts] #[row_key(ts(unit = "nanos", exact))]] [ReverseTs<GREATEST, Ts<Exact<Nanos>, Ordered>>] descending exact: times;
            ordered [#[row_key(desc)] #[row_key(ts(unit = "secs"))]] [Desc<Ts<Secs, Ordered>>] descending rounded: times;
            ordered [#[row_key(desc)] #[row_key(ts(unit = "secs", exact))]] [Desc<Ts<Exact<Secs>, Ordered>>] descending exact: times;
            ordered [#[row_key(desc)] #[row_key(ts(unit = "millis"))]] [Desc<Ts<Millis, Ordered>>] descending rounded: times;
            ordered [#[row_key(desc)] #[row_key(ts(unit = "millis", exact))]] [Desc<Ts<Exact<Millis>, Ordered>>] descending exact: times;
            ordered [#[row_key(desc)] #[row_key(ts(unit = "micros"))]] [Desc<Ts<Micros, Ordered>>] descending rounded: times;
            ordered [#[row_key(desc)] #[row_key(ts(unit = "micros", exact))]] [Desc<Ts<Exact<Micros>, Ordered>>] descending exact: times;
            ordered [#[row_key(desc)] #[row_key(ts(unit = "nanos"))]] [Desc<Ts<Nanos, Ordered>>] descending rounded: times;
            ordered [#[row_key(desc)] #[row_key(ts(unit = "nanos", exact))]] [Desc<Ts<Exact<Nanos>, Ordered>>] descending exact: times;
        }
    };
}

/// Calls a macro with the given tokens and the types of a set.
///
/// Appends the lifetime of borrowed types, then the types in brackets. Their names resolve where the macro is called;
/// `Kind` is an enum of codes.
#[doc(hidden)]
#[macro_export]
macro_rules! __every_type {
    (integers $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [u8, u16, u32, u64, u128, i8, i16, i32, i64, i128] }
    };
    (integers_up_to_64_bits $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [u8, u16, u32, u64, i8, i16, i32, i64] }
    };
    (counters $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [u32, u64] }
    };
    (bool $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [bool] }
    };
    (char $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [char] }
    };
    (strings $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [String, Cow<'a, str>, &'a str] }
    };
    (owned_strings $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [String, Cow<'a, str>] }
    };
    (bytes $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [Vec<u8>, Cow<'a, [u8]>, [u8; 4]] }
    };
    (codes $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [Kind] }
    };
    (times $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [SystemTime, DateTime<Utc>, Timestamp, OffsetDateTime, UtcDateTime] }
    };
    (dates $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [NaiveDate, civil::Date, time::Date] }
    };
    (uuids $then:ident $($given:tt)*) => {
        $then! { $($given)* 'a [Uuid] }
    };
}
