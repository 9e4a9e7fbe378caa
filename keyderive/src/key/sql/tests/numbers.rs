//! The expressions of numbers give what was stored, by a reader of the few words that they are made of.

use std::cell::Cell;

use proptest::prelude::*;

use crate::RowKey;

/// An expression over one column, read from the left. None where SQL would fail.
struct Reader<'a> {
    rest: Cell<&'a str>,
    column: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&self, word: &str) -> bool {
        let rest = self.rest.get().strip_prefix(word);
        self.rest.set(rest.unwrap_or(self.rest.get()));
        rest.is_some()
    }

    fn expect(&self, word: &str) {
        assert!(self.take(word), "`{word}` does not come next in `{}`", self.rest.get());
    }

    fn literal(&self) -> Option<i64> {
        let rest = self.rest.get();
        let end = rest.find(|char: char| !char.is_ascii_digit() && char != '-').unwrap_or(rest.len());
        self.rest.set(&rest[end..]);
        rest[..end].parse().ok()
    }

    fn text(&self) -> &'a str {
        if !self.take("SUBSTR(") {
            self.expect("`n`");
            return self.column;
        }
        self.expect("`n`, ");
        let from = self.literal().unwrap() as usize - 1;
        let len = if self.take(", ") { self.literal().unwrap() as usize } else { self.column.len() - from };
        self.expect(")");
        &self.column[from..from + len]
    }

    fn term(&self) -> Option<i64> {
        if self.take("CAST(") {
            let text = self.text();
            self.expect(" AS INT64)");
            text.parse().ok()
        } else if self.take("IF(STARTS_WITH(`n`, '-'), ") {
            let negative = self.sum();
            self.expect(", ");
            let other = self.sum();
            self.expect(")");
            if self.column.starts_with('-') { negative } else { other }
        } else if self.take("(") {
            let sum = self.sum();
            self.expect(")");
            sum
        } else {
            self.literal()
        }
    }

    fn sum(&self) -> Option<i64> {
        let mut sum = self.product();
        loop {
            let subtracts = self.take(" - ");
            if !subtracts && !self.take(" + ") {
                return sum;
            }
            let next = self.product();
            sum =
                sum.zip(next).and_then(
                    |(sum, next)| {
                        if subtracts { sum.checked_sub(next) } else { sum.checked_add(next) }
                    },
                );
        }
    }

    fn product(&self) -> Option<i64> {
        let mut product = self.term();
        while self.take(" * ") {
            let next = self.term();
            product = product.zip(next).and_then(|(product, next)| product.checked_mul(next));
        }
        product
    }
}

fn evaluated(expression: &str, column: &str) -> Option<i64> {
    let reader = Reader { rest: Cell::new(expression), column };
    let value = reader.sum();
    assert_eq!(reader.rest.get(), "", "not read to its end");
    value
}

/// Each value that the key holds and an `INT64` can be is the one that its expression gives; others fail the query.
macro_rules! tried {
    ($($test:ident $(#[$attr:meta])* $type:ident;)*) => {$(
        #[test]
        fn $test() {
            #[derive(RowKey)]
            struct Key {
                first: bool,
                $(#[$attr])*
                n: $type,
            }
            let sql = Key::sql().unwrap();
            let expression = sql.field("n").unwrap();
            let near = |anchor: $type| (0..4 as $type).prop_map(move |step| anchor.wrapping_add(step).wrapping_sub(2));
            let values = prop_oneof![
                any::<$type>(),
                near(0),
                near($type::MAX),
                near($type::MIN),
                near(i64::MAX as $type),
                near(999_999_999_999_999_999_u64 as $type),
                near(9_223_372_030_000_000_000_u64 as $type),
            ];
            proptest!(|(n in values)| {
                if let Ok(column) = (Key { first: true, n }).to_text() {
                    let column = column.strip_prefix("1#").unwrap();
                    prop_assert_eq!(evaluated(expression, column), i64::try_from(n).ok(), "{} of {}", expression, column);
                }
            });
        }
    )*};
}

tried! {
    of_u32 u32;
    of_u64 u64;
    of_i16 i16;
    of_i32 i32;
    of_i64 i64;
    of_u64_padded #[pad(19)] u64;
    of_u32_descending #[row_key(desc)] u32;
    of_u64_descending #[row_key(desc)] u64;
    of_i32_descending #[row_key(desc)] i32;
    of_i64_descending #[row_key(desc)] i64;
    of_u64_padded_descending #[row_key(desc)] #[pad(19)] u64;
    of_u64_padded_in_20_descending #[row_key(desc)] #[pad(20)] u64;
    of_u64_reversed #[reverse_ts] u64;
    of_i64_reversed #[reverse_ts] i64;
    of_u64_reversed_from_13_digits #[reverse_ts(max = 9999999999999)] u64;
    of_u64_reversed_from_the_greatest #[reverse_ts(max = 18446744073709551615)] u64;
    of_u64_reversed_from_19_digits #[reverse_ts(max = 9999999999999999999)] u64;
}
