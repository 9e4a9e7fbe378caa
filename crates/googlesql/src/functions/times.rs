//! The functions of dates and timestamps.

use jiff::tz::TimeZone;
use sqlparser::tokenizer::Location;
use tonic::Status;

use super::{Arguments, no_arguments, not_found};
use crate::cast::{self, date, timestamp};
use crate::error::{invalid_at, out_of_range};
use crate::expr::Expr;
use crate::time::{self, Part, Shown};
use crate::typed::Typed;
use crate::types::Type::{self, Date, Int64, Text, Timestamp};
use crate::value::Value;

/// The time zone that an argument names; without one, UTC.
fn zone(argument: Option<&Value>) -> Result<TimeZone, Status> {
    argument.map_or(Ok(TimeZone::UTC), |name| time::zone(&cast::text(name)))
}

/// A call of a function that is not of a part of a time; `now` is the time of the server.
pub(super) fn call(arguments: Arguments<'_>, now: i64) -> Result<Typed, Status> {
    let (name, at) = (arguments.name, arguments.at);
    let is_timestamp = matches!(&arguments.all[..], [time] if time.of == Timestamp);
    // What a function with this end counts.
    let unit = match name.rsplit('_').next() {
        Some("SECONDS") => 1_000_000,
        Some("MILLIS") => 1000,
        _ => 1,
    };
    Ok(match name {
        "CURRENT_TIMESTAMP" => {
            Typed::new(Expr::Literal(Value::Timestamp(now)), no_arguments(arguments, Timestamp)?)
        }
        "CURRENT_DATE" => {
            let (_, arguments) = arguments.into_any(&[&[], &[Text]])?;
            Typed::strict(Date, arguments, move |values| {
                let zone = zone(values.first())?;
                time::checked_date(Some(time::day_in(&zone, now))).map(Value::Date)
            })
        }
        "TIMESTAMP_FROM_UNIX_SECONDS" | "TIMESTAMP_FROM_UNIX_MILLIS" | "TIMESTAMP_FROM_UNIX_MICROS"
            if is_timestamp =>
        {
            Typed::strict(Timestamp, arguments.into_one(&[Timestamp])?, |values| Ok(values[0].clone()))
        }
        "TIMESTAMP_SECONDS"
        | "TIMESTAMP_MILLIS"
        | "TIMESTAMP_MICROS"
        | "TIMESTAMP_FROM_UNIX_SECONDS"
        | "TIMESTAMP_FROM_UNIX_MILLIS"
        | "TIMESTAMP_FROM_UNIX_MICROS" => {
            Typed::strict(Timestamp, arguments.into_one(&[Int64])?, move |values| {
                time::checked_timestamp(values[0].int().checked_mul(unit)).map(Value::Timestamp)
            })
        }
        "UNIX_SECONDS" | "UNIX_MILLIS" | "UNIX_MICROS" => {
            Typed::strict(Int64, arguments.into_one(&[Timestamp])?, move |values| {
                Ok(Value::Int64(timestamp(&values[0]).div_euclid(unit)))
            })
        }
        "UNIX_DATE" => {
            Typed::strict(Int64, arguments.into_one(&[Date])?, |values| Ok(Value::Int64(date(&values[0]))))
        }
        "DATE_FROM_UNIX_DATE" => Typed::strict(Date, arguments.into_one(&[Int64])?, |values| {
            time::checked_date(Some(values[0].int())).map(Value::Date)
        }),
        "TIMESTAMP" => {
            let (_, arguments) =
                arguments.into_any(&[&[Timestamp], &[Date], &[Text], &[Text, Text], &[Date, Text]])?;
            Typed::strict(Timestamp, arguments, |values| {
                let zone = values.get(1).map(|name| zone(Some(name))).transpose()?;
                Ok(Value::Timestamp(match &values[0] {
                    Value::Date(days) => {
                        time::begin_of_day(zone.as_ref().unwrap_or(&TimeZone::UTC), i64::from(*days))?
                    }
                    Value::Text(text) => time::parse_timestamp(text, zone.as_ref())?,
                    value => timestamp(value),
                }))
            })
        }
        "DATE" => {
            let signatures: &[&[Type]] = &[&[Timestamp], &[Int64, Int64, Int64], &[Timestamp, Text], &[Date]];
            let (found, arguments) = arguments.into_any(signatures)?;
            Typed::strict(Date, arguments, move |values| match found {
                1 => {
                    let days = time::days(values[0].int(), values[1].int(), values[2].int());
                    let days = days.ok_or_else(|| out_of_range("Input calculates to invalid date"))?;
                    time::checked_date(Some(days)).map(Value::Date)
                }
                3 => Ok(values[0].clone()),
                _ => {
                    let zone = zone(values.get(1))?;
                    time::checked_date(Some(time::day_in(&zone, timestamp(&values[0])))).map(Value::Date)
                }
            })
        }
        "STRING" => {
            let (_, arguments) = arguments.into_any(&[&[Timestamp], &[Date], &[Timestamp, Text]])?;
            Typed::strict(Text, arguments, |values| {
                Ok(Value::Text(match &values[0] {
                    Value::Timestamp(micros) => time::show_timestamp(*micros, &zone(values.get(1))?)?,
                    value => cast::text(value),
                }))
            })
        }
        "FORMAT_TIMESTAMP" => {
            let (_, arguments) = arguments.into_any(&[&[Text, Timestamp], &[Text, Timestamp, Text]])?;
            Typed::strict(Text, arguments, |values| {
                let shown = Shown::of(timestamp(&values[1]), &zone(values.get(2))?)?;
                time::format(&cast::text(&values[0]), &shown).map(Value::Text)
            })
        }
        "FORMAT_DATE" => Typed::strict(Text, arguments.into_one(&[Text, Date])?, |values| {
            time::format(&cast::text(&values[0]), &Shown::of_date(date(&values[1]))?).map(Value::Text)
        }),
        "PARSE_TIMESTAMP" => {
            let (_, arguments) = arguments.into_any(&[&[Text, Text], &[Text, Text, Text]])?;
            Typed::strict(Timestamp, arguments, |values| {
                let zone = zone(values.get(2))?;
                time::parse(&cast::text(&values[0]), &cast::text(&values[1]), &zone).map(Value::Timestamp)
            })
        }
        "PARSE_DATE" => Typed::strict(Date, arguments.into_one(&[Text, Text])?, |values| {
            let days = time::parse_day(&cast::text(&values[0]), &cast::text(&values[1]))?;
            time::checked_date(Some(days)).map(Value::Date)
        }),
        _ => return Err(not_found(name, at)),
    })
}

/// A function of a time and a part, such as `TIMESTAMP_TRUNC`.
pub(crate) fn time_part_call(name: &str, all: Vec<Typed>, part: Part, at: Location) -> Result<Typed, Status> {
    let arguments = Arguments { name, all, at };
    let wrong = || invalid_at(format!("{name} does not support the part {}", part.name()), at);
    // A day of a timestamp has 24 hours, and what is longer has no fixed length.
    let unit = part.micros().ok_or_else(wrong);
    let sign = if name.ends_with("_SUB") { -1 } else { 1 };
    Ok(match name {
        "TIMESTAMP_TRUNC" => {
            part.truncate(0, &TimeZone::UTC).ok_or_else(wrong)?;
            let (_, arguments) = arguments.into_any(&[&[Timestamp], &[Timestamp, Text]])?;
            Typed::strict(Timestamp, arguments, move |values| {
                let truncated = part.truncate(timestamp(&values[0]), &zone(values.get(1))?);
                time::checked_timestamp(truncated).map(Value::Timestamp)
            })
        }
        "DATE_TRUNC" => {
            part.first_day(0).ok_or_else(wrong)?;
            Typed::strict(Date, arguments.into_one(&[Date])?, move |values| {
                time::checked_date(part.first_day(date(&values[0]))).map(Value::Date)
            })
        }
        "EXTRACT" => {
            let (found, arguments) = arguments.into_any(&[&[Timestamp], &[Date], &[Timestamp, Text]])?;
            if found == 1 && !part.is_of_date() {
                return Err(invalid_at(
                    format!("EXTRACT from DATE does not support the part {}", part.name()),
                    at,
                ));
            }
            Typed::strict(Int64, arguments, move |values| {
                let micros = match &values[0] {
                    Value::Date(days) => i64::from(*days) * time::MICROS_A_DAY,
                    value => timestamp(value),
                };
                part.extract(micros, &zone(values.get(1))?).map(Value::Int64)
            })
        }
        "TIMESTAMP_ADD" | "TIMESTAMP_SUB" => {
            let unit = unit?;
            Typed::strict(Timestamp, arguments.into_one(&[Timestamp, Int64])?, move |values| {
                // Wider than the count, which may be the least there is.
                let added = i128::from(values[1].int()) * i128::from(sign * unit);
                let sum = i64::try_from(i128::from(timestamp(&values[0])) + added).ok();
                time::checked_timestamp(sum).map(Value::Timestamp)
            })
        }
        "DATE_ADD" | "DATE_SUB" => {
            part.add_to_date(0, 0).ok_or_else(wrong)?;
            Typed::strict(Date, arguments.into_one(&[Date, Int64])?, move |values| {
                let count = values[1].int().checked_mul(sign);
                time::checked_date(count.and_then(|count| part.add_to_date(date(&values[0]), count)))
                    .map(Value::Date)
            })
        }
        "TIMESTAMP_DIFF" => {
            let unit = unit?;
            Typed::strict(Int64, arguments.into_one(&[Timestamp, Timestamp])?, move |values| {
                Ok(Value::Int64((timestamp(&values[0]) - timestamp(&values[1])) / unit))
            })
        }
        "DATE_DIFF" => {
            part.between(0, 0).ok_or_else(wrong)?;
            Typed::strict(Int64, arguments.into_one(&[Date, Date])?, move |values| {
                Ok(part.between(date(&values[1]), date(&values[0])).map_or(Value::Null, Value::Int64))
            })
        }
        _ => return Err(wrong()),
    })
}

/// The place of the argument of a function that is a part of a time, alone or in an interval.
pub(crate) fn time_part_place(name: &str) -> Option<usize> {
    match name {
        "TIMESTAMP_TRUNC" | "DATE_TRUNC" => Some(1),
        "TIMESTAMP_DIFF" | "DATE_DIFF" => Some(2),
        _ => takes_interval(name).then_some(1),
    }
}

pub(crate) fn takes_interval(name: &str) -> bool {
    matches!(name, "TIMESTAMP_ADD" | "TIMESTAMP_SUB" | "DATE_ADD" | "DATE_SUB")
}
