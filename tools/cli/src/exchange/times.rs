//! Times as other programs write them, with more digits than a column stores too.

use std::borrow::Cow;

use clap::ValueEnum;
use keyderive::dynamic::Value;
use keyderive::key::TimeUnit;

use super::write::has_text;

/// What to do with a time that has more digits than its column stores
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Times {
    /// Refuse it: its line is a bad line
    #[default]
    Exact,
    /// Store the nearest time that the column can hold
    Round,
}

impl Times {
    /// The time of a text as a column in this unit stores it. `rest` is what [`nine_digits`] has cut from the text.
    pub(super) fn of_column(
        self,
        path: &str,
        text: &str,
        (time, rest): (Value, Rest),
        unit: TimeUnit,
    ) -> Result<Value, String> {
        match (self, time) {
            (Self::Round, time) => {
                let rounded = match time {
                    // Coarser units round by the first nine digits: the half is rounded up.
                    Value::Time(nanos) if unit == TimeUnit::Nanos => {
                        Value::Time(nanos + i128::from(rest == Rest::Half))
                    }
                    time => time.rounded_to(unit),
                };
                has_text(&rounded).then_some(rounded).ok_or_else(|| {
                    format!("`{path}` is {text}, which is rounded to a time after the year 9999, the last one that text can have")
                })
            }
            (Self::Exact, time) if rest != Rest::Zero || time.is_finer_than(unit) => Err(format!(
                "`{path}` is {text}, and the column stores whole {}: round it, or pass `--times round`",
                unit.name()
            )),
            (Self::Exact, time) => Ok(time),
        }
    }
}

/// The digits of a second after the ninth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// No digits, or only zeros.
    Zero,
    /// Less than half a nanosecond.
    Less,
    /// Half a nanosecond or more.
    Half,
}

/// A time in RFC 3339 with at most nine digits of a second, as many as a time has here, and what the other digits say.
pub(super) fn nine_digits(text: &str) -> (Cow<'_, str>, Rest) {
    let whole = (Cow::Borrowed(text), Rest::Zero);
    let Some((_, fraction)) = text.split_once('.') else { return whole };
    let len = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, zone) = fraction.split_at(len);
    let Some((_, rest)) = digits.split_at_checked(9) else { return whole };
    let is = match rest.as_bytes() {
        [b'5'..=b'9', ..] => Rest::Half,
        rest if rest.iter().all(|digit| *digit == b'0') => Rest::Zero,
        _ => Rest::Less,
    };
    let cut = &text[..text.len() - zone.len() - rest.len()];
    (Cow::Owned(format!("{cut}{zone}")), is)
}

/// Rewrites a time of a database, such as `2026-11-24 08:00:00+00` or `2026-11-24 08:00:00 UTC`, in RFC 3339. A time without a zone, or a
/// date, gets `zone`. `None` if the text is neither.
pub(crate) fn rfc3339(text: &str, zone: Option<&str>) -> Option<String> {
    let (date, rest) = text.trim().split_at_checked(10)?;
    if rest.is_empty() {
        return zone.map(|zone| format!("{date}T00:00:00{zone}"));
    }
    let rest = rest.strip_prefix([' ', 'T', 't'])?;
    let end = rest.find(|char: char| !(char.is_ascii_digit() || matches!(char, ':' | '.')));
    let (clock, after) = rest.split_at(end.unwrap_or(rest.len()));
    let own = after.trim_start();
    let own = match own.as_bytes() {
        [] => zone?.to_owned(),
        b"UTC" | b"z" => "Z".to_owned(),
        [b'+' | b'-', h0, h1] if [h0, h1].iter().all(|digit| digit.is_ascii_digit()) => format!("{own}:00"),
        [b'+' | b'-', digits @ ..] if digits.len() == 4 && digits.iter().all(u8::is_ascii_digit) => {
            format!("{}:{}", &own[..3], &own[3..])
        }
        _ => own.to_owned(),
    };
    Some(format!("{date}T{clock}{own}"))
}

#[cfg(test)]
mod tests {
    use keyderive::dynamic::parse_cell;
    use keyderive::row::CellType;

    use super::*;

    #[test]
    fn as_databases_write_times() {
        let time = |text: &str, zone| parse_cell(CellType::Time, &rfc3339(text, zone)?).ok();
        let eight = parse_cell(CellType::Time, "2026-11-24T08:00:00.25Z").ok();
        for text in [
            "2026-11-24T08:00:00.25Z",
            "2026-11-24t08:00:00.25z",
            // Postgres
            "2026-11-24 08:00:00.25+00",
            "2026-11-24 13:30:00.25+05:30",
            "2026-11-24 13:30:00.250000+0530",
            "2026-11-24 01:00:00.25-07",
            // BigQuery
            "2026-11-24 08:00:00.25 UTC",
            "2026-11-24 08:00:00.250000 UTC",
            " 2026-11-24T08:00:00.25+00:00\n",
        ] {
            assert_eq!(time(text, None), eight, "{text}");
        }
        let midnight = parse_cell(CellType::Time, "2026-11-24T00:00:00Z").ok();
        for text in ["2026-11-24", "2026-11-24 00:00:00", "2026-11-24T00:00:00.000"] {
            assert_eq!((time(text, Some("Z")), time(text, None)), (midnight.clone(), None), "{text}");
        }
        for text in [
            "1795478400",
            "1795478400000",
            "2026-11-24 08:00:00 CET",
            "2026-11-24 08:00:00+é",
            "2026-11-24 08:00",
            "2026-11-24 8:00:00+00",
            "24.11.2026 08:00:00",
            "2026-11-24_08:00:00Z",
            "",
        ] {
            assert_eq!(time(text, Some("Z")), None, "{text}");
        }
    }
}
