//! Dates and timestamps: the Gregorian calendar, and their text. Time zones are UTC and offsets from it.

use crate::error::{invalid, out_of_range, unimplemented};
use tonic::Status;

pub(crate) const MICROS_A_DAY: i64 = 86_400_000_000;

/// 0001-01-01 and 9999-12-31, in days since the epoch.
const FIRST_DAY: i64 = -719_162;
const LAST_DAY: i64 = 2_932_896;

/// Whether a time is between the years 1 and 9999.
pub(crate) fn is_timestamp(micros: i64) -> bool {
    (FIRST_DAY * MICROS_A_DAY..(LAST_DAY + 1) * MICROS_A_DAY).contains(&micros)
}

pub(crate) fn checked_timestamp(micros: Option<i64>) -> Result<i64, Status> {
    micros
        .filter(|micros| is_timestamp(*micros))
        .ok_or_else(|| out_of_range("Timestamp is out of supported range"))
}

pub(crate) fn checked_date(days: Option<i64>) -> Result<i32, Status> {
    let days = days.filter(|days| (FIRST_DAY..=LAST_DAY).contains(days));
    days.and_then(|days| i32::try_from(days).ok())
        .ok_or_else(|| out_of_range("Date is out of supported range"))
}

/// Days since the epoch; `None` if the calendar from 1 to 9999 has no such day.
pub(crate) fn days(year: i32, month: i32, day: i32) -> Option<i32> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day)
    {
        return None;
    }
    // Years begin with March, so that the leap day is the last.
    let (year, month) = (i64::from(year) - i64::from(month <= 2), i64::from((month + 9) % 12));
    let day_of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    let since = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year;
    i32::try_from(since - 719_468).ok()
}

pub(crate) fn days_in(year: i32, month: i32) -> i32 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The year, month and day of a day since the epoch.
#[expect(clippy::cast_possible_truncation, reason = "days of the years 1 to 9999 have small parts")]
pub(crate) fn civil(days: i64) -> (i32, i32, i32) {
    let since = days + 719_468;
    let (era, day_of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as i32, day as i32)
}

/// Reads `YYYY-[M]M-[D]D`.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let mut parts = text.trim().splitn(3, '-');
    let mut part = |digits: std::ops::RangeInclusive<usize>| {
        let part = parts.next()?;
        let is_number = digits.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { part.parse().ok() } else { None }
    };
    days(part(4..=4)?, part(1..=2)?, part(1..=2)?)
}

/// Reads `YYYY-[M]M-[D]D[( |T)[H]H:[M]M[:[S]S[.F]]][time zone]`, where the zone is `Z`, `UTC`, or an offset.
pub(crate) fn parse_timestamp(text: &str) -> Result<i64, Status> {
    let wrong = || out_of_range(format!("Invalid timestamp: '{text}'"));
    let trimmed = text.trim();
    let (date, rest) = match trimmed.find(['T', 't', ' ', '+', 'Z', 'z']) {
        Some(at) => trimmed.split_at(at),
        None => (trimmed, ""),
    };
    let days = parse_date(date).ok_or_else(wrong)?;
    let mut rest = rest;
    let mut micros = 0;
    if let Some(time) = rest
        .strip_prefix(['T', 't', ' '])
        .filter(|time| time.starts_with(|first: char| first.is_ascii_digit()))
    {
        let end = time
            .find(|each: char| !each.is_ascii_digit() && !matches!(each, ':' | '.'))
            .unwrap_or(time.len());
        micros = parse_time(&time[..end]).ok_or_else(wrong)?;
        rest = &time[end..];
    }
    let offset = parse_zone(rest.trim()).ok_or_else(|| {
        if rest.contains('/') {
            unimplemented(format!("the time zone `{}`; write an offset", rest.trim()))
        } else {
            wrong()
        }
    })?;
    let total = i64::from(days) * MICROS_A_DAY + micros - offset;
    checked_timestamp(Some(total))
}

/// Reads `[H]H:[M]M[:[S]S[.F]]`, in microseconds.
fn parse_time(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let parts: Vec<&str> = whole.split(':').collect();
    if !(2..=3).contains(&parts.len())
        || fraction.len() > 9
        || !fraction.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let mut total = 0;
    for (place, (part, limit)) in parts.iter().zip([24, 60, 60]).enumerate() {
        let number: i64 = if (1..=2).contains(&part.len()) { part.parse().ok()? } else { return None };
        if !(0..limit).contains(&number) {
            return None;
        }
        total += number * [3600, 60, 1][place];
    }
    let micros: i64 = if fraction.is_empty() { 0 } else { format!("{fraction:0<6}")[..6].parse().ok()? };
    Some(total * 1_000_000 + micros)
}

/// Reads a time zone as its offset in microseconds; an empty one is UTC.
pub(crate) fn parse_zone(text: &str) -> Option<i64> {
    if matches!(text, "" | "Z" | "z" | "UTC" | "utc" | "Etc/UTC" | "GMT") {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 && digits.is_ascii() => digits.split_at(2),
        None => (digits, "0"),
    };
    let number = |part: &str| -> Option<i64> {
        let is_number = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { part.parse().ok() } else { None }
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 14 && minutes < 60).then(|| sign * (hours * 60 + minutes) * 60_000_000)
}

/// `2020-06-02`.
pub(crate) fn show_date(days: i32) -> String {
    let (year, month, day) = civil(i64::from(days));
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2020-06-02 17:00:53.110+00`: as few of 0, 3 and 6 digits of the second as are needed.
pub(crate) fn show_timestamp(micros: i64) -> String {
    let (days, of_day) = (micros.div_euclid(MICROS_A_DAY), micros.rem_euclid(MICROS_A_DAY));
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    let fraction = match fraction {
        0 => String::new(),
        fraction if fraction % 1000 == 0 => format!(".{:03}", fraction / 1000),
        fraction => format!(".{fraction:06}"),
    };
    let date = show_date(i32::try_from(days).unwrap_or_default());
    format!("{date} {:02}:{:02}:{:02}{fraction}+00", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

const DAY_NAMES: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Formats a time by a format of `FORMAT_TIMESTAMP` or `FORMAT_DATE`.
pub(crate) fn format(pattern: &str, micros: i64) -> Result<String, Status> {
    let (days, of_day) = (micros.div_euclid(MICROS_A_DAY), micros.rem_euclid(MICROS_A_DAY));
    let (year, month, day) = civil(days);
    let seconds = of_day / 1_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let week_day = usize::try_from((days + 4).rem_euclid(7)).unwrap_or_default();
    let month_name = MONTH_NAMES[usize::try_from(month - 1).unwrap_or_default() % 12];
    let day_of_year = days - i64::from(self::days(year, 1, 1).unwrap_or_default()) + 1;
    let mut out = String::new();
    let mut rest = pattern.chars();
    while let Some(each) = rest.next() {
        if each != '%' {
            out.push(each);
            continue;
        }
        let element = rest.next();
        let text = match element {
            Some('Y') => format!("{year:04}"),
            Some('y') => format!("{:02}", year % 100),
            Some('m') => format!("{month:02}"),
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day:2}"),
            Some('j') => format!("{day_of_year:03}"),
            Some('H') => format!("{hour:02}"),
            Some('I') => format!("{:02}", (hour + 11) % 12 + 1),
            Some('M') => format!("{minute:02}"),
            Some('S') => format!("{second:02}"),
            Some('p') => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            Some('F') => format!("{year:04}-{month:02}-{day:02}"),
            Some('T') => format!("{hour:02}:{minute:02}:{second:02}"),
            Some('R') => format!("{hour:02}:{minute:02}"),
            Some('D') => format!("{month:02}/{day:02}/{:02}", year % 100),
            Some('A') => DAY_NAMES[week_day].to_owned(),
            Some('a') => DAY_NAMES[week_day][..3].to_owned(),
            Some('B') => month_name.to_owned(),
            Some('b' | 'h') => month_name[..3].to_owned(),
            Some('u') => (if week_day == 0 { 7 } else { week_day }).to_string(),
            Some('w') => week_day.to_string(),
            Some('s') => micros.div_euclid(1_000_000).to_string(),
            Some('Z') => "UTC".to_owned(),
            Some('z') => "+0000".to_owned(),
            Some('%') => "%".to_owned(),
            Some('n') => "\n".to_owned(),
            Some('t') => "\t".to_owned(),
            Some('E') => match (rest.next(), rest.next()) {
                (Some('4'), Some('Y')) => format!("{year:04}"),
                (Some('*'), Some('S')) => {
                    let fraction = format!("{:06}", of_day % 1_000_000);
                    let fraction = fraction.trim_end_matches('0');
                    let dot = if fraction.is_empty() { "" } else { "." };
                    format!("{second:02}{dot}{fraction}")
                }
                (Some(digits @ '1'..='6'), Some('S')) => {
                    let digits = digits.to_digit(10).unwrap_or_default() as usize;
                    format!("{second:02}.{}", &format!("{:06}", of_day % 1_000_000)[..digits])
                }
                _ => return Err(unimplemented(format!("the format `{pattern}`"))),
            },
            Some(other) => return Err(unimplemented(format!("the format element `%{other}`"))),
            None => return Err(invalid(format!("the format `{pattern}` ends with %"))),
        };
        out.push_str(&text);
    }
    Ok(out)
}

/// Reads a time by a format of `PARSE_TIMESTAMP` or `PARSE_DATE`.
pub(crate) fn parse(pattern: &str, text: &str) -> Result<i64, Status> {
    let wrong = || out_of_range(format!("Failed to parse input string \"{text}\""));
    let (mut year, mut month, mut day, mut hour, mut minute, mut second, mut micros, mut offset) =
        (1970, 1, 1, 0, 0, 0, 0, 0);
    let (mut is_afternoon, mut since_epoch) = (None, None);
    let expanded = pattern.replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S").replace("%R", "%H:%M");
    let mut rest = text;
    let mut elements = expanded.chars();
    while let Some(each) = elements.next() {
        if each.is_whitespace() {
            rest = rest.trim_start();
            continue;
        }
        if each != '%' {
            rest = rest.strip_prefix(each).ok_or_else(wrong)?;
            continue;
        }
        let element =
            elements.next().ok_or_else(|| invalid(format!("the format `{pattern}` ends with %")))?;
        let mut number = |most: usize, range: std::ops::RangeInclusive<i64>| -> Result<i64, Status> {
            let end = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
            let (digits, after) = rest.split_at(end);
            rest = after;
            digits.parse().ok().filter(|number| range.contains(number)).ok_or_else(wrong)
        };
        match element {
            'Y' => year = number(4, 1..=9999)?,
            'm' => month = number(2, 1..=12)?,
            'd' => day = number(2, 1..=31)?,
            'e' => {
                rest = rest.trim_start();
                let end = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
                day = rest[..end].parse().map_err(|_| wrong())?;
                rest = &rest[end..];
            }
            'H' => hour = number(2, 0..=23)?,
            'I' => hour = number(2, 1..=12)?,
            'M' => minute = number(2, 0..=59)?,
            'S' => second = number(2, 0..=59)?,
            's' => since_epoch = Some(number(12, 0..=253_402_300_799)?),
            'p' => {
                let half = rest.get(..2).unwrap_or_default().to_ascii_uppercase();
                is_afternoon = Some(match &half[..] {
                    "AM" => false,
                    "PM" => true,
                    _ => return Err(wrong()),
                });
                rest = &rest[2..];
            }
            'a' | 'A' | 'b' | 'B' | 'h' => {
                let names: &[&str] = if matches!(element, 'a' | 'A') { &DAY_NAMES } else { &MONTH_NAMES };
                let starts =
                    |name: &str| rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
                let found = names.iter().position(|name| starts(&name[..3])).ok_or_else(wrong)?;
                let length = if starts(names[found]) { names[found].len() } else { 3 };
                if names.len() == 12 {
                    month = i64::try_from(found).unwrap_or_default() + 1;
                }
                rest = &rest[length..];
            }
            'z' | 'Z' => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                offset = parse_zone(&rest[..end]).ok_or_else(wrong)?;
                rest = &rest[end..];
            }
            '%' => rest = rest.strip_prefix('%').ok_or_else(wrong)?,
            'E' => {
                let end = match (elements.next(), elements.next()) {
                    (Some('4'), Some('Y')) => {
                        year = number(4, 1..=9999)?;
                        continue;
                    }
                    (Some('*' | '1'..='9'), Some('S')) => {
                        let is_part = |each: char| each.is_ascii_digit() || each == '.';
                        rest.find(|each| !is_part(each)).unwrap_or(rest.len())
                    }
                    _ => return Err(unimplemented(format!("the format `{pattern}`"))),
                };
                let total = parse_time(&format!("0:0:{}", &rest[..end])).ok_or_else(wrong)?;
                (second, micros) = (total / 1_000_000, total % 1_000_000);
                rest = &rest[end..];
            }
            other => return Err(unimplemented(format!("the format element `%{other}`"))),
        }
    }
    if !rest.trim().is_empty() {
        return Err(wrong());
    }
    if let Some(seconds) = since_epoch {
        return checked_timestamp(seconds.checked_mul(1_000_000));
    }
    if let Some(is_afternoon) = is_afternoon {
        hour = hour % 12 + 12 * i64::from(is_afternoon);
    }
    let part = |number: i64| i32::try_from(number).unwrap_or_default();
    let days = days(part(year), part(month), part(day)).ok_or_else(wrong)?;
    let seconds = (hour * 60 + minute) * 60 + second;
    checked_timestamp(Some(i64::from(days) * MICROS_A_DAY + seconds * 1_000_000 + micros - offset))
}

/// A part of a time, such as `DAY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    IsoWeek,
    Month,
    Quarter,
    Year,
    DayOfWeek,
    DayOfYear,
}

impl Part {
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Some(match &name.to_ascii_uppercase()[..] {
            "MICROSECOND" => Self::Microsecond,
            "MILLISECOND" => Self::Millisecond,
            "SECOND" => Self::Second,
            "MINUTE" => Self::Minute,
            "HOUR" => Self::Hour,
            "DAY" => Self::Day,
            "WEEK" => Self::Week,
            "ISOWEEK" => Self::IsoWeek,
            "MONTH" => Self::Month,
            "QUARTER" => Self::Quarter,
            "YEAR" => Self::Year,
            "DAYOFWEEK" => Self::DayOfWeek,
            "DAYOFYEAR" => Self::DayOfYear,
            _ => return None,
        })
    }

    /// Its length, if it always has the same.
    pub(crate) fn micros(self) -> Option<i64> {
        Some(match self {
            Self::Microsecond => 1,
            Self::Millisecond => 1000,
            Self::Second => 1_000_000,
            Self::Minute => 60_000_000,
            Self::Hour => 3_600_000_000,
            Self::Day => MICROS_A_DAY,
            Self::Week | Self::IsoWeek => 7 * MICROS_A_DAY,
            _ => return None,
        })
    }

    /// The beginning of the part that has this time.
    pub(crate) fn truncate(self, micros: i64) -> i64 {
        let day = micros.div_euclid(MICROS_A_DAY);
        let (year, month, _) = civil(day);
        let first = |month: i32| i64::from(days(year, month, 1).unwrap_or_default()) * MICROS_A_DAY;
        match self {
            Self::Year => first(1),
            Self::Quarter => first((month - 1) / 3 * 3 + 1),
            Self::Month => first(month),
            // Weeks begin on Sunday, ISO weeks on Monday. The epoch is a Thursday.
            Self::Week => (day - (day + 4).rem_euclid(7)) * MICROS_A_DAY,
            Self::IsoWeek => (day - (day + 3).rem_euclid(7)) * MICROS_A_DAY,
            part => {
                let length = part.micros().unwrap_or(MICROS_A_DAY);
                micros.div_euclid(length) * length
            }
        }
    }

    /// The number of the part at this time; `None` if SQL has none that this engine computes.
    pub(crate) fn extract(self, micros: i64) -> Option<i64> {
        let (day, of_day) = (micros.div_euclid(MICROS_A_DAY), micros.rem_euclid(MICROS_A_DAY));
        let (year, month, day_of_month) = civil(day);
        Some(match self {
            Self::Microsecond => of_day % 1_000_000,
            Self::Millisecond => of_day / 1000 % 1000,
            Self::Second => of_day / 1_000_000 % 60,
            Self::Minute => of_day / 60_000_000 % 60,
            Self::Hour => of_day / 3_600_000_000,
            Self::Day => day_of_month.into(),
            Self::Month => month.into(),
            Self::Quarter => i64::from((month - 1) / 3 + 1),
            Self::Year => year.into(),
            Self::DayOfWeek => (day + 4).rem_euclid(7) + 1,
            Self::DayOfYear => day - i64::from(days(year, 1, 1).unwrap_or_default()) + 1,
            Self::Week | Self::IsoWeek => return None,
        })
    }

    /// Adds `count` of the part to a day.
    pub(crate) fn add_to_date(self, day: i64, count: i64) -> Option<i64> {
        let months = match self {
            Self::Day => return day.checked_add(count),
            Self::Week => return day.checked_add(count.checked_mul(7)?),
            Self::Month => count,
            Self::Quarter => count.checked_mul(3)?,
            Self::Year => count.checked_mul(12)?,
            _ => return None,
        };
        let (year, month, day) = civil(day);
        let total = (i64::from(year) * 12 + i64::from(month) - 1).checked_add(months)?;
        let year = i32::try_from(total.div_euclid(12)).ok().filter(|year| (1..=9999).contains(year))?;
        let month = i32::try_from(total.rem_euclid(12)).ok()? + 1;
        days(year, month, day.min(days_in(year, month))).map(i64::from)
    }
}
