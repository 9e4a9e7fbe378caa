//! Conditions of columns by other names than theirs.

use super::instead;
use crate::row::{Column, Condition, Entry};

instead! {
    /// A comparison by the name of an operator.
    ComparedByOperator: "a column is compared by other methods",
        "write `.equals(…)`, `.less_than(…)`, `.at_most(…)`, `.greater_than(…)` or `.at_least(…)`",
        "the server compares the stored value; `.not()` turns a condition around";
    /// The opposite of `equals`.
    ComparedUnequal: "a column has no condition for another value",
        "write `.equals(…).not()`",
        "this holds for rows without the column too; `.and(column.exists())` leaves them out";
    /// Presence by the names of an `Option`.
    TestedAsOption: "a condition of a column is no test of an `Option`",
        "write `.exists()` or `.absent()`",
        "the server evaluates it; a row that is read has an `Option`";
    /// A range of values.
    ComparedByRange: "a column is compared with two bounds, not with a range",
        "write `.between(least, greatest)`, which includes both",
        "`.at_least(a).and(….less_than(b))` leaves the greater one out";
    /// A part of a text.
    SearchedInText: "the server does not search in values of columns by a condition",
        "write `.starts_with(…)` for their beginning, or test the rows that were read",
        "`scan(…).raw()` with `RowFilter::value_regex` reads the cells that match";
}

macro_rules! conditions {
    ($type:ident: $($bound:ident: $($name:ident)*;)*) => {
        #[doc(hidden)]
        impl<R, T> $type<R, T> {$($(
            pub fn $name<V>(self, _value: V) -> Condition<R>
            where
                Self: $bound<V>,
            {
                Self::never()
            }
        )*)*}
    };
}

macro_rules! all_conditions {
    ($($type:ident)*) => {$(
        conditions! {
            $type:
            ComparedByOperator: eq lt le gt ge is equal_to;
            ComparedUnequal: ne not_equals not_equal not_eq is_not;
            ComparedByRange: in_range within range;
            SearchedInText: contains ends_with like matches;
        }

        #[doc(hidden)]
        impl<R, T> $type<R, T> {
            pub fn is_none(self) -> Condition<R>
            where
                Self: TestedAsOption<R>,
            {
                Self::never()
            }

            pub fn is_some(self) -> Condition<R>
            where
                Self: TestedAsOption<R>,
            {
                Self::never()
            }
        }
    )*};
}

all_conditions! { Column Entry }
