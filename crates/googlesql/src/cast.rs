//! `CAST` and `SAFE_CAST`.

use std::str::FromStr;

use jiff::tz::TimeZone;
use tonic::Status;

use crate::error::{invalid, out_of_range, unimplemented};
use crate::expr::Expr;
use crate::time;
use crate::typed::{Form, Typed};
use crate::types::Type;
use crate::value::{Value, null_unless_unimplemented};

/// A cast to a type. A safe one is NULL where the other fails.
pub(crate) fn cast(from: Typed, to: Type, is_safe: bool) -> Result<Typed, Status> {
    if from.of == to
        || matches!(from.form, Form::Null)
        || (from.form == Form::EmptyArray && matches!(to, Type::Array(_)))
    {
        return Ok(Typed::new(from.expr, to));
    }
    // A struct with other names is the same value.
    if matches!(to, Type::Struct(_)) && from.becomes(&to) {
        return Ok(Typed::new(from.expr, to));
    }
    if matches!((&from.of, &to), (Type::Array(_), Type::Array(_)) | (Type::Struct(_), Type::Struct(_))) {
        return Err(unimplemented(format!("casts from {} to {to}", from.of)));
    }
    let Some(function) = function(&from.of, &to) else {
        return Err(invalid(format!("Invalid cast from {} to {to}", from.of)));
    };
    let guarded = move |values: &[Value]| match function(&values[0]) {
        Err(error) if is_safe => null_unless_unimplemented(error),
        value => value,
    };
    Ok(Typed::new(Expr::Strict(Box::new(guarded), vec![from.expr]), to))
}

/// Converts a value that is not NULL.
type Conversion = fn(&Value) -> Result<Value, Status>;

#[expect(clippy::cast_possible_truncation, reason = "the nearest FLOAT32, as in SQL; integers are in range")]
fn function(from: &Type, to: &Type) -> Option<Conversion> {
    Some(match (from, to) {
        (Type::Text, Type::Bytes) => |value| Ok(Value::Bytes(value.raw().to_vec().into())),
        (Type::Bytes, Type::Text) => |value| match str::from_utf8(value.raw()) {
            Ok(text) => Ok(Value::Text(text.to_owned())),
            Err(_) => Err(out_of_range("Invalid cast of bytes to UTF8 string")),
        },
        (Type::Text, Type::Int64) => |value| {
            let text = String::from_utf8_lossy(value.raw()).into_owned();
            parse_int(&text).map(Value::Int64).ok_or_else(|| out_of_range(format!("Bad int64 value: {text}")))
        },
        (Type::Text, Type::Float64) => |value| parse_float(value).map(Value::Float64),
        (Type::Text, Type::Float32) => |value| parse_float(value).map(Value::Float32),
        (Type::Text, Type::Bool) => |value| {
            let text = String::from_utf8_lossy(value.raw());
            match &text.to_ascii_lowercase()[..] {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err(out_of_range(format!("Bad bool value: {text}"))),
            }
        },
        (Type::Text, Type::Date) => |value| {
            let text = String::from_utf8_lossy(value.raw());
            time::parse_date(&text)
                .map(Value::Date)
                .ok_or_else(|| out_of_range(format!("Invalid date: '{text}'")))
        },
        (Type::Text, Type::Timestamp) => {
            |value| time::parse_timestamp(&String::from_utf8_lossy(value.raw()), None).map(Value::Timestamp)
        }
        (Type::Int64, Type::Float64) | (Type::Float32, Type::Float64) => {
            |value| Ok(Value::Float64(value.float()))
        }
        (Type::Int64, Type::Float32) => |value| Ok(Value::Float32(value.int() as f32)),
        (Type::Float64, Type::Float32) => |value| {
            let wide = value.float();
            if wide.is_finite() && wide.abs() > f64::from(f32::MAX) {
                return Err(out_of_range(format!("float out of range: {wide}")));
            }
            Ok(Value::Float32(wide as f32))
        },
        (Type::Int64, Type::Bool) => |value| Ok(Value::Bool(value.int() != 0)),
        (Type::Bool, Type::Int64) => |value| Ok(Value::Int64(value.is_true().into())),
        (Type::Float64 | Type::Float32, Type::Int64) => |value| {
            // Halves are rounded away from zero.
            let rounded = value.float().round();
            let is_inside = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded);
            if is_inside {
                Ok(Value::Int64(rounded as i64))
            } else {
                Err(out_of_range(format!("int64 out of range: {rounded}")))
            }
        },
        (Type::Date, Type::Timestamp) => |value| Ok(Value::Timestamp(date(value) * time::MICROS_A_DAY)),
        (Type::Timestamp, Type::Date) => {
            |value| time::checked_date(Some(timestamp(value).div_euclid(time::MICROS_A_DAY))).map(Value::Date)
        }
        (
            Type::Int64 | Type::Float32 | Type::Float64 | Type::Bool | Type::Date | Type::Timestamp,
            Type::Text,
        ) => |value| Ok(Value::Text(text(value))),
        _ => return None,
    })
}

pub(crate) fn date(value: &Value) -> i64 {
    match value {
        Value::Date(days) => i64::from(*days),
        _ => 0,
    }
}

pub(crate) fn timestamp(value: &Value) -> i64 {
    match value {
        Value::Timestamp(micros) => *micros,
        _ => 0,
    }
}

/// A value as SQL casts it to STRING.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Int64(number) => number.to_string(),
        Value::Float32(number) => {
            let short = general(f64::from(*number), 6);
            if short.parse() == Ok(*number) { short } else { general(f64::from(*number), 8) }
        }
        Value::Float64(number) => {
            let short = general(*number, 15);
            if short.parse() == Ok(*number) { short } else { general(*number, 17) }
        }
        Value::Bool(value) => value.to_string(),
        Value::Date(days) => time::show_date(*days),
        // In UTC, every timestamp has a text.
        Value::Timestamp(micros) => time::show_timestamp(*micros, &TimeZone::UTC).unwrap_or_default(),
        _ => String::new(),
    }
}

/// A number as C's `%g` writes it with `digits` digits, without the sign of zero and NaN.
fn general(number: f64, digits: usize) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if number.is_nan() {
        return "nan".to_owned();
    }
    let scientific = format!("{number:.*e}", digits - 1);
    // Infinities have no exponent.
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    let places: i64 = exponent.parse().unwrap_or_default();
    let decimals = usize::try_from(i64::try_from(digits).unwrap_or_default() - 1 - places);
    match decimals {
        Ok(decimals) if places >= -4 => trimmed(&format!("{number:.decimals$}")),
        _ => {
            let sign = if places < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trimmed(mantissa), places.unsigned_abs())
        }
    }
}

fn parse_int(text: &str) -> Option<i64> {
    // Around hexadecimal digits only spaces are left out.
    let text = if text.contains(['x', 'X']) { text.trim_matches(' ') } else { text.trim_ascii() };
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()
}

fn parse_float<F: FromStr>(value: &Value) -> Result<F, Status> {
    let text = String::from_utf8_lossy(value.raw()).into_owned();
    // Rust also reads `infinity` and `nan` in any case, as SQL does.
    text.trim_ascii().parse().map_err(|_| out_of_range(format!("Bad double value: {text}")))
}
