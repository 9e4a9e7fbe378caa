//! Times as other programs write them, and those with more digits than a column has.

use clap::ValueEnum;
use keyderive::dynamic::Value;
use keyderive::key::TimeUnit;

/// What becomes of times with more digits than their column has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Times {
    /// The line is no row
    #[default]
    Exact,
    /// The nearest time that the column has is stored
    Round,
}

impl Times {
    /// The time as a column in this unit has it.
    pub(super) fn of_column(self, path: &str, value: Value, unit: TimeUnit) -> Result<Value, String> {
        match self {
            Self::Round => Ok(value.rounded_to(unit)),
            Self::Exact if value.is_finer_than(unit) => Err(format!(
                "`{path}` is {value}, and the column has whole {}: round it, or pass `--times round`",
                unit.name()
            )),
            Self::Exact => Ok(value),
        }
    }
}

/// A time as databases write it, such as `2026-11-24 08:00:00+00` or `2026-11-24 08:00:00 UTC`, in RFC 3339; `zone` is that of a text
/// without one, and of a date. `None` for other text.
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
