//! Dates and timestamps: their text, their parts and their time zones. The calendar and the zones are those of `jiff`.
//!
//! Text is read and written as GoogleSQL does: `docs/format-elements.md` and `docs/data-types.md` of `google/googlesql`.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, ISOWeekDate, Weekday};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Span, Timestamp};
use tonic::Status;

use crate::error::{invalid, out_of_range, unimplemented};

pub(crate) const MICROS_A_DAY: i64 = 86_400_000_000;
const MICROS_A_SECOND: i64 = 1_000_000;
const MICROS_A_MINUTE: i64 = 60 * MICROS_A_SECOND;

/// 0001-01-01 and 9999-12-31, in days since the epoch.
const DAYS: RangeInclusive<i64> = -719_162..=2_932_896;

const DAYS_IN_400_YEARS: i64 = 146_097;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Whether a time is between the years 1 and 9999.
pub(crate) fn is_timestamp(micros: i64) -> bool {
    DAYS.contains(&micros.div_euclid(MICROS_A_DAY))
}

pub(crate) fn checked_timestamp(micros: Option<i64>) -> Result<i64, Status> {
    micros
        .filter(|micros| is_timestamp(*micros))
        .ok_or_else(|| out_of_range("Timestamp is out of supported range"))
}

pub(crate) fn checked_date(days: Option<i64>) -> Result<i32, Status> {
    let days = days.filter(|days| DAYS.contains(days));
    days.and_then(|days| i32::try_from(days).ok())
        .ok_or_else(|| out_of_range("Date is out of supported range"))
}

/// Days since the epoch; `None` if the calendar from 1 to 9999 has no such day.
pub(crate) fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    day_of(year, month, day).filter(|days| DAYS.contains(days))
}

/// As [`days`], also before the first date and after the last one: a time on such a day may be a timestamp in another zone.
fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    // The calendar of `jiff` ends with the year 9999, and repeats after 400 years.
    let (year, later) = if year > 9999 { (year - 400, DAYS_IN_400_YEARS) } else { (year, 0) };
    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
    date.ok().map(|date| days_of(date) + later)
}

fn days_of(date: Date) -> i64 {
    date.duration_since(EPOCH.date()).as_hours() / 24
}

/// The date of a day since the epoch. Each DATE has one, and so have the days of the week before the first.
pub(crate) fn date_of(days: i64) -> Option<Date> {
    EPOCH.date().checked_add(Span::new().try_days(days).ok()?).ok()
}

/// A date and a time of day as microseconds since the epoch, if both were UTC's.
fn civil(micros: i64) -> Result<DateTime, Status> {
    EPOCH.checked_add(SignedDuration::from_micros(micros)).map_err(|_| {
        unimplemented("a time of day after the year 9999, which the time zone makes of a timestamp")
    })
}

fn micros_of(time: DateTime) -> i64 {
    i64::try_from(time.duration_since(EPOCH).as_micros()).unwrap_or_default()
}

/// A time zone by its name, such as `America/Los_Angeles`, or as an offset from UTC, such as `+05:30` and `UTC-8`.
pub(crate) fn zone(name: &str) -> Result<TimeZone, Status> {
    static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    let wrong = || out_of_range(format!("Invalid time zone: `{name}`"));
    let mut rest = Rest(name.strip_prefix("UTC").unwrap_or(name));
    let Some(sign) = rest.one_of(&['+', '-']) else {
        let found = ZONES.get(name).ok();
        return found.filter(|zone| zone.iana_name() == Some(name)).ok_or_else(wrong);
    };
    let hours = rest.digits(1..=2).ok_or_else(wrong)?;
    let mut minutes = 0;
    if !rest.0.is_empty() {
        rest.one_of(&[':']);
        minutes = rest.digits(1..=2).filter(|minutes| *minutes < 60).ok_or_else(wrong)?;
    }
    let minutes = Some(hours * 60 + minutes).filter(|minutes| *minutes <= 14 * 60 && rest.0.is_empty());
    Ok(fixed(if sign == '-' { -1 } else { 1 } * minutes.ok_or_else(wrong)?))
}

/// The zone with an offset in minutes, of at most 14 hours.
fn fixed(minutes: i64) -> TimeZone {
    let seconds = i32::try_from(minutes * 60).unwrap_or_default();
    TimeZone::fixed(Offset::from_seconds(seconds).unwrap_or(Offset::UTC))
}

/// What a zone adds to UTC at a time, in microseconds.
fn offset(zone: &TimeZone, micros: i64) -> i64 {
    // The last day of the year 9999 is after the last time of `jiff`.
    let last = Timestamp::MAX.as_microsecond();
    let time = Timestamp::from_microsecond(micros.min(last)).unwrap_or(Timestamp::MAX);
    i64::from(zone.to_offset(time).seconds()) * MICROS_A_SECOND
}

/// The timestamp of a date and a time of day in a zone. Of two it is the first, and one that the zone skips is taken as before the skip.
fn instant(zone: &TimeZone, local: i64) -> Option<i64> {
    // No zone changes its offset after the year 9999.
    let last = (*DAYS.end() + 1) * MICROS_A_DAY - 1;
    let offset = match zone.to_ambiguous_timestamp(civil(local.min(last)).ok()?).offset() {
        AmbiguousOffset::Unambiguous { offset: before }
        | AmbiguousOffset::Gap { before, .. }
        | AmbiguousOffset::Fold { before, .. } => before,
    };
    Some(local - i64::from(offset.seconds()) * MICROS_A_SECOND)
}

/// The day of a timestamp in a zone.
pub(crate) fn day_in(zone: &TimeZone, micros: i64) -> i64 {
    (micros + offset(zone, micros)).div_euclid(MICROS_A_DAY)
}

/// The beginning of a day in a zone.
pub(crate) fn begin_of_day(zone: &TimeZone, days: i64) -> Result<i64, Status> {
    checked_timestamp(instant(zone, days * MICROS_A_DAY))
}

/// What is left of a text that is read.
#[derive(Clone, Copy)]
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    fn one_of(&mut self, chars: &[char]) -> Option<char> {
        let first = self.0.chars().next().filter(|first| chars.contains(first))?;
        self.0 = &self.0[first.len_utf8()..];
        Some(first)
    }

    fn blanks(&mut self) {
        self.0 = self.0.trim_start_matches(|each: char| each.is_ascii_whitespace() || each == '\x0b');
    }

    /// As many digits as there are, to the greatest count.
    fn text_of_digits(&mut self, most: usize) -> &'t str {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        digits
    }

    fn digits(&mut self, counts: RangeInclusive<usize>) -> Option<i64> {
        let digits = self.text_of_digits(*counts.end());
        if counts.contains(&digits.len()) { digits.parse().ok() } else { None }
    }

    /// A number with at most `width` characters, of which the first may be a sign.
    fn number(&mut self, width: usize, range: RangeInclusive<i64>) -> Option<i64> {
        let is_negative = self.one_of(&['-']).is_some();
        let number = self.digits(1..=width - usize::from(is_negative))?;
        let number = if is_negative { -number } else { number };
        (range.contains(&number) && !(is_negative && number == 0)).then_some(number)
    }

    /// The rest of a second, in microseconds, of which digits after the sixth are left out; they are at most `most`.
    fn fraction(&mut self, most: usize) -> Option<i64> {
        let digits = self.text_of_digits(most);
        if digits.is_empty() { None } else { format!("{digits:0<6}")[..6].parse().ok() }
    }

    /// `YYYY-[M]M-[D]D`, in days since the epoch.
    fn date(&mut self) -> Option<i64> {
        let year = self.digits(4..=5)?;
        self.one_of(&['-'])?;
        let month = self.digits(1..=2)?;
        self.one_of(&['-'])?;
        day_of(year, month, self.digits(1..=2)?)
    }

    /// `[H]H:[M]M:[S]S[.F]`, in microseconds.
    fn time_of_day(&mut self) -> Option<i64> {
        let hour = self.digits(1..=2).filter(|hour| *hour < 24)?;
        self.one_of(&[':'])?;
        let minute = self.digits(1..=2).filter(|minute| *minute < 60)?;
        self.one_of(&[':'])?;
        // A leap second is the next minute.
        let second = self.digits(1..=2).filter(|second| *second <= 60)?;
        let fraction = if self.one_of(&['.']).is_some() { self.fraction(6)? } else { 0 };
        Some(((hour * 60 + minute) * 60 + second) * MICROS_A_SECOND + fraction)
    }

    /// The zone at the end of a timestamp: nothing, `Z`, an offset, or a name after a blank.
    fn zone(self) -> Result<Option<TimeZone>, Status> {
        let named = self.0.strip_prefix(' ').filter(|name| !name.starts_with(['+', '-']));
        match (self.0, named) {
            ("", _) => Ok(None),
            ("Z" | "z", _) => Ok(Some(TimeZone::UTC)),
            (_, Some(name)) => zone(name).map(Some),
            (offset, None) if offset.starts_with(['+', '-']) => zone(offset).map(Some),
            (other, None) => Err(out_of_range(format!("`{other}` is no time zone"))),
        }
    }

    /// The index of a name, as a whole or as its first three letters.
    fn name(&mut self, names: &str) -> Option<i64> {
        let begins =
            |name: &str| self.0.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
        let (place, name) = names.split(' ').enumerate().find(|(_, name)| begins(&name[..3]))?;
        let length = if begins(name) { name.len() } else { 3 };
        self.0 = &self.0[length..];
        i64::try_from(place).ok()
    }
}

const WEEKDAYS: &str = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday";
const MONTHS: &str = "January February March April May June July August September October November December";

/// Reads `YYYY-[M]M-[D]D`.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let mut rest = Rest(text);
    let is_of_four_digits = text.as_bytes().get(4) == Some(&b'-');
    let days = rest.date().filter(|days| is_of_four_digits && rest.0.is_empty() && DAYS.contains(days))?;
    i32::try_from(days).ok()
}

/// Reads `YYYY-[M]M-[D]D[( |T)[[H]H:[M]M:[S]S[.F]][time zone]]`, which is in UTC, or in `zone` and then without a time zone.
pub(crate) fn parse_timestamp(text: &str, zone: Option<&TimeZone>) -> Result<i64, Status> {
    let wrong = || out_of_range(format!("Invalid timestamp: '{text}'"));
    let mut rest = Rest(text);
    let mut local = rest.date().ok_or_else(wrong)? * MICROS_A_DAY;
    let mut own_zone = None;
    if !rest.0.is_empty() {
        rest.one_of(&[' ', 'T', 't']).ok_or_else(wrong)?;
        if !rest.0.starts_with(['+', '-']) {
            local += rest.time_of_day().ok_or_else(wrong)?;
        }
        own_zone = rest
            .zone()
            .map_err(|status| out_of_range(format!("Invalid timestamp: '{text}': {}", status.message())))?;
    }
    if own_zone.is_some() && zone.is_some() {
        return Err(out_of_range(format!(
            "Timezone is not allowed in \"{text}\", beside a time zone as an argument"
        )));
    }
    let own_zone = own_zone.unwrap_or(TimeZone::UTC);
    instant(zone.unwrap_or(&own_zone), local).filter(|micros| is_timestamp(*micros)).ok_or_else(wrong)
}

/// `2020-06-02`.
pub(crate) fn show_date(days: i32) -> String {
    date_of(days.into()).map(|date| date.to_string()).unwrap_or_default()
}

/// `2020-06-02 17:00:53.110+00`: as few of 0, 3 and 6 digits of the second as are needed.
pub(crate) fn show_timestamp(micros: i64, zone: &TimeZone) -> Result<String, Status> {
    let digits = match micros.rem_euclid(MICROS_A_SECOND) {
        0 => 0,
        fraction if fraction % 1000 == 0 => 3,
        _ => 6,
    };
    let shown = format(&format!("%E4Y-%m-%d %H:%M:%E{digits}S%Ez"), &Shown::of(micros, zone)?)?;
    Ok(shown.strip_suffix(":00").map_or(shown.clone(), str::to_owned))
}

/// What a format shows.
pub(crate) struct Shown {
    time: DateTime,
    parts: BrokenDownTime,
    /// What its zone adds to UTC, in whole minutes, as text can show it; `None` for a date, which has neither zone nor time.
    offset: Option<i64>,
}

impl Shown {
    pub(crate) fn of(micros: i64, zone: &TimeZone) -> Result<Self, Status> {
        let minutes = offset(zone, micros) / MICROS_A_MINUTE;
        let time = civil(micros + minutes * MICROS_A_MINUTE)?;
        Ok(Self { time, parts: time.into(), offset: Some(minutes) })
    }

    pub(crate) fn of_date(days: i64) -> Result<Self, Status> {
        let time = civil(days * MICROS_A_DAY)?;
        Ok(Self { time, parts: time.into(), offset: None })
    }

    /// What an element of a format shows.
    fn element(&self, element: &str) -> Result<String, Status> {
        let (date, minutes) = (self.time.date(), self.offset.unwrap_or_default());
        let micros = self.time.subsec_nanosecond() / 1000;
        let digits = digits_of_second(element);
        let (sign, hours) = (if minutes < 0 { '-' } else { '+' }, minutes.abs() / 60);
        Ok(match element {
            _ if self.offset.is_none() && is_of_time(element) => format!("%{element}"),
            "Y" => date.year().to_string(),
            "E4Y" => format!("{:04}", date.year()),
            "y" => format!("{:02}", date.year() % 100),
            "G" => date.iso_week_date().year().to_string(),
            "g" => format!("{:02}", date.iso_week_date().year() % 100),
            "Q" => ((date.month() + 2) / 3).to_string(),
            "s" => (micros_of(self.time) - minutes * MICROS_A_MINUTE).div_euclid(MICROS_A_SECOND).to_string(),
            "z" => format!("{sign}{hours:02}{:02}", minutes.abs() % 60),
            "Ez" => format!("{sign}{hours:02}:{:02}", minutes.abs() % 60),
            "Z" if minutes == 0 => "UTC".to_owned(),
            "Z" if minutes % 60 == 0 => format!("UTC{sign}{hours}"),
            "Z" => format!("UTC{sign}{hours:02}{:02}", minutes.abs() % 60),
            "E*S" => {
                let second = format!("{:02}.{micros:06}", self.time.second());
                second.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            "E0S" => format!("{:02}", self.time.second()),
            _ if digits.is_some() => {
                let fraction = format!("{micros:06}000000000");
                format!("{:02}.{}", self.time.second(), &fraction[..digits.unwrap_or_default()])
            }
            "D" | "x" => format("%m/%d/%y", self)?,
            "F" => format("%Y-%m-%d", self)?,
            "r" => format("%I:%M:%S %p", self)?,
            "X" => format("%H:%M:%S", self)?,
            "c" => format("%a %b %e %H:%M:%S %Y", self)?,
            "%" | "n" | "t" | "A" | "a" | "B" | "b" | "h" | "C" | "d" | "e" | "H" | "I" | "j" | "k" | "l"
            | "M" | "m" | "P" | "p" | "R" | "S" | "T" | "U" | "u" | "V" | "W" | "w" => self
                .parts
                .to_string(format!("%{element}"))
                .map_err(|error| unimplemented(format!("the format element `%{element}`: {error}")))?,
            _ => return Err(unimplemented(format!("the format element `%{element}`"))),
        })
    }
}

/// Whether an element shows a time of day or a zone, which a date has not.
fn is_of_time(element: &str) -> bool {
    element.ends_with(['c', 'H', 'I', 'k', 'l', 'M', 'P', 'p', 'R', 'r', 'S', 's', 'T', 'X', 'Z', 'z'])
}

/// The digits of the fraction of `%E3S`.
fn digits_of_second(element: &str) -> Option<usize> {
    element.strip_prefix('E')?.strip_suffix('S')?.parse().ok().filter(|digits| *digits <= 15)
}

/// An element of a format after its `%`, such as `Y` and `E4Y`, and what follows it; `None` if the format ends before.
fn element(format: &str) -> Option<(&str, &str)> {
    let after = format.strip_prefix('E').map_or(0, |after| {
        1 + after.find(|each: char| !each.is_ascii_digit() && each != '*').unwrap_or_default()
    });
    let last = format[after..].chars().next()?;
    Some(format.split_at(after + last.len_utf8()))
}

/// Shows a time by a format of `FORMAT_TIMESTAMP` or `FORMAT_DATE`.
pub(crate) fn format(pattern: &str, shown: &Shown) -> Result<String, Status> {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        // What is no element is shown as it is.
        let Some((element, after)) = element(after) else { break };
        out.push_str(before);
        out.push_str(&shown.element(element)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// What a format has read of a time.
struct Read {
    date: (i64, i64, i64),
    /// Of `%C`, and the years after it of `%y`.
    century: Option<i64>,
    of_century: i64,
    of_day: (i64, i64, i64),
    micros: i64,
    /// Of `%I` and its kind, for which alone `%p` counts.
    is_twelve_hour: bool,
    is_afternoon: bool,
    since_epoch: Option<i64>,
    zone: Option<TimeZone>,
}

impl Read {
    /// Reads one element; `None` if the text has none. Without another element right after it, it `is_apart`.
    fn element(&mut self, element: &str, is_apart: bool, rest: &mut Rest<'_>) -> Result<Option<()>, Status> {
        let Self { date, of_day, .. } = self;
        let read = match element {
            "Y" | "E4Y" => {
                (self.century, self.of_century) = (None, 0);
                match element {
                    "Y" => rest.number(if is_apart { 5 } else { 4 }, 0..=10_000),
                    _ => rest.digits(4..=4),
                }
                .map(|year| date.0 = year)
            }
            "y" => rest.number(2, 0..=99).map(|year| {
                self.of_century = year;
                date.0 = self.century.unwrap_or(if year < 69 { 20 } else { 19 }) * 100 + year;
            }),
            "C" => rest.number(if is_apart { 3 } else { 2 }, 0..=100).map(|century| {
                self.century = Some(century);
                date.0 = century * 100 + self.of_century;
            }),
            "m" => rest.number(2, 1..=12).map(|month| date.1 = month),
            "B" | "b" | "h" => rest.name(MONTHS).map(|place| date.1 = place + 1),
            "A" | "a" => rest.name(WEEKDAYS).map(|_| ()),
            "d" => rest.number(2, 1..=31).map(|day| date.2 = day),
            "e" => {
                rest.blanks();
                rest.number(2, 1..=31).map(|day| date.2 = day)
            }
            "H" | "k" => {
                if element == "k" {
                    rest.blanks();
                }
                self.is_twelve_hour = false;
                rest.number(2, 0..=23).map(|hour| of_day.0 = hour)
            }
            "I" | "l" => {
                rest.blanks();
                self.is_twelve_hour = true;
                rest.number(2, 1..=12).map(|hour| of_day.0 = hour % 12)
            }
            "p" | "P" => {
                let half = rest
                    .0
                    .get(..2)
                    .filter(|half| ["AM", "PM"].iter().any(|one| half.eq_ignore_ascii_case(one)));
                half.map(|half| {
                    self.is_afternoon = half.eq_ignore_ascii_case("PM");
                    rest.0 = &rest.0[2..];
                })
            }
            "M" => rest.number(2, 0..=59).map(|minute| of_day.1 = minute),
            "S" | "E0S" => rest.number(2, 0..=60).map(|second| of_day.2 = second),
            "s" => rest
                .number(12, -62_135_596_800..=253_402_300_799)
                .map(|seconds| self.since_epoch = Some(seconds)),
            "E*S" | "E1S" | "E2S" | "E3S" | "E4S" | "E5S" | "E6S" => {
                let most = digits_of_second(element).unwrap_or(usize::MAX);
                rest.number(2, 0..=60).and_then(|second| {
                    of_day.2 = second;
                    match rest.one_of(&['.']) {
                        Some(_) => rest.fraction(most).map(|micros| self.micros = micros),
                        None => Some(()),
                    }
                })
            }
            "Ez" if rest.one_of(&['Z']).is_some() => {
                self.zone = Some(TimeZone::UTC);
                Some(())
            }
            "z" | "Ez" => rest.one_of(&['+', '-']).and_then(|sign| {
                let hours = rest.digits(2..=2).filter(|hours| *hours < 24)?;
                let mut after = *rest;
                if element == "Ez" {
                    after.one_of(&[':']);
                }
                let minutes = after.digits(2..=2).filter(|minutes| *minutes < 60);
                if minutes.is_some() {
                    *rest = after;
                }
                let minutes = hours * 60 + minutes.unwrap_or_default();
                self.zone = Some(fixed(if sign == '-' { -minutes } else { minutes }));
                (minutes <= 14 * 60).then_some(())
            }),
            "Z" => {
                let end = rest.0.find(|each: char| each.is_ascii_whitespace()).unwrap_or(rest.0.len());
                self.zone = Some(zone(&rest.0[..end])?);
                rest.0 = &rest.0[end..];
                Some(())
            }
            "n" | "t" => {
                rest.blanks();
                Some(())
            }
            "%" => rest.one_of(&['%']).map(|_| ()),
            "D" | "x" => return self.all("%m/%d/%y", rest),
            "F" => return self.all("%Y-%m-%d", rest),
            "R" => return self.all("%H:%M", rest),
            "T" | "X" => return self.all("%H:%M:%S", rest),
            "r" => return self.all("%I:%M:%S %p", rest),
            "c" => return self.all("%a %b %e %H:%M:%S %Y", rest),
            other => return Err(unimplemented(format!("the format element `%{other}`"))),
        };
        Ok(read)
    }

    /// Reads a format; `None` if the text is another.
    fn all(&mut self, pattern: &str, rest: &mut Rest<'_>) -> Result<Option<()>, Status> {
        let mut pattern = Rest(pattern);
        while let Some(first) = pattern.0.chars().next().filter(|_| !rest.0.is_empty()) {
            if first.is_ascii_whitespace() {
                pattern.blanks();
                rest.blanks();
                continue;
            }
            pattern.0 = &pattern.0[first.len_utf8()..];
            if first != '%' {
                if rest.one_of(&[first]).is_none() {
                    return Ok(None);
                }
                continue;
            }
            let ends = || out_of_range("Format string cannot end with a single '%'");
            let (element, after) = element(pattern.0).ok_or_else(ends)?;
            pattern.0 = after;
            if self.element(element, !after.starts_with('%'), rest)?.is_none() {
                return Ok(None);
            }
        }
        // Blanks may be left, and elements that read nothing but blanks.
        rest.blanks();
        let blanks = pattern.0.replace("%n", " ").replace("%t", " ");
        Ok(blanks.trim().is_empty().then_some(()))
    }
}

/// Reads a time by a format of `PARSE_TIMESTAMP`, in a zone unless the format reads one.
pub(crate) fn parse(pattern: &str, text: &str, zone: &TimeZone) -> Result<i64, Status> {
    let wrong = || out_of_range(format!("Failed to parse input string \"{text}\""));
    // One NUL at the end is left out.
    let [pattern, text] = [pattern, text].map(|text| text.strip_suffix('\0').unwrap_or(text));
    let mut rest = Rest(text);
    rest.blanks();
    let mut read = Read {
        date: (1970, 1, 1),
        century: None,
        of_century: 0,
        of_day: (0, 0, 0),
        micros: 0,
        is_twelve_hour: false,
        is_afternoon: false,
        since_epoch: None,
        zone: None,
    };
    read.all(pattern, &mut rest)?.filter(|()| rest.0.is_empty()).ok_or_else(wrong)?;
    if let Some(seconds) = read.since_epoch {
        return checked_timestamp(seconds.checked_mul(MICROS_A_SECOND));
    }
    let (hour, minute, second) = read.of_day;
    let hour = if read.is_twelve_hour && read.is_afternoon { hour + 12 } else { hour };
    // A leap second is the next minute.
    let micros = if second == 60 { 0 } else { read.micros };
    let of_day = ((hour * 60 + minute) * 60 + second) * MICROS_A_SECOND + micros;
    let days = day_of(read.date.0, read.date.1, read.date.2).ok_or_else(wrong)?;
    checked_timestamp(instant(read.zone.as_ref().unwrap_or(zone), days * MICROS_A_DAY + of_day))
}

/// Reads a date by a format of `PARSE_DATE`, in days since the epoch.
pub(crate) fn parse_day(pattern: &str, text: &str) -> Result<i64, Status> {
    let mut rest = pattern;
    while let Some((element, after)) = rest.split_once('%').and_then(|(_, after)| element(after)) {
        if is_of_time(element) {
            return Err(invalid(format!("Invalid format: %{element} is not allowed for the DATE type.")));
        }
        rest = after;
    }
    Ok(parse(pattern, text, &TimeZone::UTC)?.div_euclid(MICROS_A_DAY))
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
    /// Weeks that begin on a day, of which the first is that of the first such day of the year.
    Week(Weekday),
    IsoWeek,
    Month,
    Quarter,
    Year,
    IsoYear,
    DayOfWeek,
    DayOfYear,
}

impl Part {
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_uppercase();
        if let Some(day) = name.strip_prefix("WEEK(").and_then(|day| day.strip_suffix(')')) {
            let day = WEEKDAYS.split(' ').position(|name| name.eq_ignore_ascii_case(day))?;
            return Weekday::from_sunday_zero_offset(day.try_into().ok()?).ok().map(Self::Week);
        }
        Some(match &name[..] {
            "MICROSECOND" => Self::Microsecond,
            "MILLISECOND" => Self::Millisecond,
            "SECOND" => Self::Second,
            "MINUTE" => Self::Minute,
            "HOUR" => Self::Hour,
            "DAY" => Self::Day,
            "WEEK" => Self::Week(Weekday::Sunday),
            "ISOWEEK" => Self::IsoWeek,
            "MONTH" => Self::Month,
            "QUARTER" => Self::Quarter,
            "YEAR" => Self::Year,
            "ISOYEAR" => Self::IsoYear,
            "DAYOFWEEK" => Self::DayOfWeek,
            "DAYOFYEAR" => Self::DayOfYear,
            _ => return None,
        })
    }

    /// As SQL writes it.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_uppercase()
    }

    /// Its length, if it is part of a time of day, or a day.
    pub(crate) fn micros(self) -> Option<i64> {
        Some(match self {
            Self::Microsecond => 1,
            Self::Millisecond => 1000,
            Self::Second => MICROS_A_SECOND,
            Self::Minute => MICROS_A_MINUTE,
            Self::Hour => 60 * MICROS_A_MINUTE,
            Self::Day => MICROS_A_DAY,
            _ => return None,
        })
    }

    /// Whether a date has it.
    pub(crate) fn is_of_date(self) -> bool {
        self.micros().is_none_or(|micros| micros == MICROS_A_DAY)
    }

    /// The first day of the part that has this day; `None` if it is before all dates, or the part has no first day.
    pub(crate) fn first_day(self, days: i64) -> Option<i64> {
        let date = date_of(days)?;
        let first = match self {
            Self::Day => date,
            Self::Week(first) => date.checked_sub(Span::new().days(date.weekday().since(first))).ok()?,
            Self::IsoWeek => return Self::Week(Weekday::Monday).first_day(days),
            Self::Month => date.first_of_month(),
            Self::Quarter => Date::new(date.year(), (date.month() - 1) / 3 * 3 + 1, 1).ok()?,
            Self::Year => date.first_of_year(),
            Self::IsoYear => ISOWeekDate::new(date.iso_week_date().year(), 1, Weekday::Monday).ok()?.date(),
            _ => return None,
        };
        Some(days_of(first))
    }

    /// The beginning, in a zone, of the part that has this time; `None` if it is before all times, or the part has no beginning.
    pub(crate) fn truncate(self, micros: i64, zone: &TimeZone) -> Option<i64> {
        match self.micros() {
            Some(length) if length < MICROS_A_DAY => {
                let local = micros + offset(zone, micros);
                Some(micros - local.rem_euclid(length))
            }
            _ => instant(zone, self.first_day(day_in(zone, micros))? * MICROS_A_DAY),
        }
    }

    /// The number of the part at this time in a zone.
    pub(crate) fn extract(self, micros: i64, zone: &TimeZone) -> Result<i64, Status> {
        let time = civil(micros + offset(zone, micros))?;
        let (date, nanos) = (time.date(), i64::from(time.subsec_nanosecond()));
        Ok(match self {
            Self::Microsecond => nanos / 1000,
            Self::Millisecond => nanos / 1_000_000,
            Self::Second => time.second().into(),
            Self::Minute => time.minute().into(),
            Self::Hour => time.hour().into(),
            Self::Day => date.day().into(),
            Self::Month => date.month().into(),
            Self::Quarter => i64::from((date.month() + 2) / 3),
            Self::Year => date.year().into(),
            Self::IsoYear => date.iso_week_date().year().into(),
            Self::IsoWeek => date.iso_week_date().week().into(),
            Self::Week(first) => {
                // Days after the last `first`, which may be in the year before.
                let since = i64::from(date.weekday().since(first));
                (i64::from(date.day_of_year()) - 1 - since + 7).div_euclid(7)
            }
            Self::DayOfWeek => i64::from(date.weekday().to_sunday_zero_offset()) + 1,
            Self::DayOfYear => date.day_of_year().into(),
        })
    }

    /// Adds `count` of the part to a day; `None` if the result is no date, or if `DATE_ADD` does not take the part.
    pub(crate) fn add_to_date(self, days: i64, count: i64) -> Option<i64> {
        let span = match self {
            Self::Day => Span::new().try_days(count),
            Self::Week(Weekday::Sunday) => Span::new().try_weeks(count),
            Self::Month => Span::new().try_months(count),
            Self::Quarter => Span::new().try_months(count.checked_mul(3)?),
            Self::Year => Span::new().try_years(count),
            _ => return None,
        };
        Some(days_of(date_of(days)?.checked_add(span.ok()?).ok()?))
    }

    /// How many beginnings of the part are after one day and not after another; `None` if the part has no beginning.
    pub(crate) fn between(self, from: i64, to: i64) -> Option<i64> {
        Some(match self {
            Self::Day => to - from,
            Self::Week(_) | Self::IsoWeek => (self.first_day(to)? - self.first_day(from)?) / 7,
            Self::Month | Self::Quarter | Self::Year | Self::IsoYear => {
                let number = |days| {
                    let date = date_of(days)?;
                    let months = i64::from(date.year()) * 12 + i64::from(date.month()) - 1;
                    Some(match self {
                        Self::Month => months,
                        Self::Quarter => months / 3,
                        Self::Year => date.year().into(),
                        _ => date.iso_week_date().year().into(),
                    })
                };
                number(to)? - number(from)?
            }
            _ => return None,
        })
    }
}
