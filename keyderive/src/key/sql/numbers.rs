//! The number that stands in a field, computed as an `INT64`: the one type of exact numbers that each engine has.

use super::super::format::{Field, FieldOrder, Format, Width};
use super::super::schema::Schema;
use super::SqlError;
use super::expressions::quoted;

/// The greatest `INT64`.
const GREATEST: u128 = i64::MAX as u128;
/// How many digits are computed apart from those in front, where all of them together are no `INT64`.
const LOW_DIGITS: usize = 10;
/// Ten to that.
const LOW: u128 = 10_000_000_000;

impl Schema {
    /// The number that stands in a field.
    pub(super) fn number(&self, field: &Field) -> Result<String, SqlError> {
        let name = quoted(field.name());
        let fault = |reason: &str| {
            SqlError(format!(
                "field `{}` of `{}` {reason}, so SQL cannot give its number; select the columns of the row key \
                 schema as they are",
                field.name(),
                self.key_type()
            ))
        };
        Ok(match (field.format(), field.order(), field.width()) {
            (_, FieldOrder::BitReversed, _) => {
                return Err(fault("has its bits reversed, which no engine undoes"));
            }
            (_, FieldOrder::Descending, Width::Between(..)) => format!("-1 - {name}"),
            (_, FieldOrder::ReversedFrom { max }, Width::Between(..)) => {
                subtracted_int64(max, &name).ok_or_else(|| fault("holds numbers above an `INT64` only"))?
            }
            (_, _, Width::Between(..)) => name,
            (Format::SignedDecimal, order, Width::Fixed(width @ ..=20)) => match order {
                FieldOrder::Descending => format!("-1 - {}", signed(&name, width - 1)),
                _ => signed(&name, width - 1),
            },
            (_, FieldOrder::ReversedFrom { max }, Width::Fixed(width @ ..=20)) => {
                subtracted_digits(max, &name, width)
            }
            (_, FieldOrder::Descending, Width::Fixed(width @ ..=20)) => {
                subtracted_digits(10_u128.pow(width as u32) - 1, &name, width)
            }
            (_, FieldOrder::Ascending, Width::Fixed(..=20)) => format!("CAST({name} AS INT64)"),
            _ => return Err(fault("can be wider than an `INT64`")),
        })
    }
}

/// `max` less an `INT64` that is not negative; none where the difference is never an `INT64`.
fn subtracted_int64(max: u128, name: &str) -> Option<String> {
    match max.checked_sub(GREATEST) {
        None | Some(0) => Some(format!("{max} - {name}")),
        Some(rest @ ..=GREATEST) => Some(format!("({GREATEST} - {name}) + {rest}")),
        Some(_) => None,
    }
}

/// `max` less the number in digits. No step of it overflows where the difference is an `INT64`.
fn subtracted_digits(max: u128, name: &str, width: usize) -> String {
    if max <= GREATEST {
        return format!("{max} - CAST({name} AS INT64)");
    }
    let high = width - LOW_DIGITS;
    // One of the high part is lent to the low one, which is then not negative.
    format!(
        "({} - CAST(SUBSTR({name}, 1, {high}) AS INT64)) * {LOW} + ({} - CAST(SUBSTR({name}, {}) AS INT64))",
        (max / LOW).cast_signed() - 1,
        max % LOW + LOW,
        high + 1,
    )
}

/// The number of a signed field in text: its digits, less a power of ten after a `-`.
fn signed(name: &str, digits: usize) -> String {
    let negative = match digits {
        ..=18 => format!("CAST(SUBSTR({name}, 2) AS INT64) - 1{}", "0".repeat(digits)),
        // The high part has one too many, so that it is an `INT64`, and the low part is negative.
        _ => format!(
            "(CAST(SUBSTR({name}, 2, {}) AS INT64) - {}) * {LOW} + (CAST(SUBSTR({name}, {}) AS INT64) - {LOW})",
            digits - LOW_DIGITS,
            "9".repeat(digits - LOW_DIGITS),
            digits - LOW_DIGITS + 2,
        ),
    };
    format!("IF(STARTS_WITH({name}, '-'), {negative}, CAST({name} AS INT64))")
}
