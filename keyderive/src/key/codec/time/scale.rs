//! What all formats of times and dates share: a scale of steps, each with its number.

use super::super::super::decimal;
use super::super::super::error::FieldError;
use super::super::super::field::{Cut, Side};
use super::super::super::format::{FieldOrder, Format, TimeUnit, Width};
use super::super::super::ordered::{read_int, write_int};
use super::super::super::show::{Hex, Readable};
use super::calendar::{Civil, DAY, SECOND, Shown};

/// How an instant becomes digits: in which steps it is counted, in which numbers they are written and
/// in which order.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    format: Format,
    /// The nanoseconds from one step to the next.
    step: i128,
    /// Whether an instant between two steps is refused, and not written as the earlier one.
    exact: bool,
    /// The least number.
    least: i128,
    /// The greatest number.
    greatest: i128,
    order: FieldOrder,
    form: Form,
}

/// What a number is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The decimal digits of the text layout, as many as the greatest number has.
    Digits,
    /// The Int64 of the ordered layout.
    Int64,
}

/// An instant as a time type gives it.
#[derive(Clone, Copy)]
pub(super) struct Instant {
    /// Nanoseconds of the Unix epoch.
    pub(super) nanos: i128,
    /// Whether it is in the leap second that comes after these nanoseconds, of which Unix time has none.
    pub(super) in_leap_second: bool,
}

impl From<i128> for Instant {
    fn from(nanos: i128) -> Self {
        Self { nanos, in_leap_second: false }
    }
}

/// A step that has no number.
#[derive(Clone, Copy)]
enum Outside {
    Early,
    Late,
}

impl Scale {
    /// Steps of a unit, counted from the epoch.
    pub(super) const fn unix(unit: TimeUnit, exact: bool) -> Self {
        let step = SECOND / 10_i128.pow(unit.fraction_digits());
        Self { step, exact, ..Self::digits_of(Format::UnixTime(unit), 10 + unit.fraction_digits()) }
    }

    /// Milliseconds of the calendar.
    pub(super) const fn datetime17(exact: bool) -> Self {
        Self { step: SECOND / 1000, exact, ..Self::digits_of(Format::DateTime17, 17) }
    }

    /// Days of the calendar.
    pub(super) const fn date() -> Self {
        Self { step: DAY, ..Self::digits_of(Format::Date, 8) }
    }

    const fn digits_of(format: Format, digits: u32) -> Self {
        Self {
            format,
            step: 1,
            exact: false,
            least: 0,
            greatest: 10_i128.pow(digits) - 1,
            order: FieldOrder::Ascending,
            form: Form::Digits,
        }
    }

    /// The same steps as numbers of the ordered layout, where a count can be negative.
    pub(super) const fn ordered(self) -> Self {
        let (least, greatest) = match self.format {
            Format::UnixTime(_) => (i64::MIN as i128, i64::MAX as i128),
            _ => (self.least, self.greatest),
        };
        Self { form: Form::Int64, least, greatest, ..self }
    }

    /// The same steps, greatest first in the same digits; as the Int64 of `!v`.
    pub(super) const fn descending(self) -> Self {
        Self { order: FieldOrder::Descending, ..self }
    }

    /// The same steps as `max - t`, in the digits of `max`.
    pub(super) const fn reversed_from(self, max: u64) -> Self {
        let greatest = max as i128;
        // A difference over the greatest Int64 is not written.
        let least = match self.form {
            Form::Int64 if greatest > i64::MAX as i128 => greatest - i64::MAX as i128,
            _ => 0,
        };
        Self { order: FieldOrder::ReversedFrom { max: max as u128 }, least, greatest, ..self }
    }

    pub(super) const fn format(self) -> Format {
        self.format
    }

    pub(super) const fn order(self) -> FieldOrder {
        self.order
    }

    pub(super) const fn width(self) -> Width {
        match self.form {
            Form::Digits => Width::Fixed(self.digits()),
            Form::Int64 => Width::Between(1, 10),
        }
    }

    const fn digits(self) -> usize {
        decimal::width(self.greatest as u128)
    }

    /// Appends the digits of an instant.
    #[inline]
    pub(super) fn write(self, at: Instant, out: &mut Vec<u8>) -> Result<(), FieldError> {
        let step = at.nanos.div_euclid(self.step);
        if at.in_leap_second {
            return Err(leap_second(at.nanos));
        }
        if self.exact && step * self.step != at.nanos {
            return Err(self.too_fine(at.nanos));
        }
        let number = self.number(step).map_err(|outside| self.out_of_range(at.nanos, outside))?;
        self.write_number(number, out);
        Ok(())
    }

    /// Reads the nanoseconds of the Unix epoch back.
    #[inline]
    pub(super) fn read(self, bytes: &[u8]) -> Result<i128, FieldError> {
        let written = match self.form {
            Form::Digits => decimal::parse(bytes).filter(|_| bytes.len() == self.digits()).map(i128::from),
            Form::Int64 => read_int(bytes).map(i128::from),
        };
        written
            .map(|written| self.turned(written))
            .filter(|number| (self.least..=self.greatest).contains(number))
            .and_then(|number| self.step_of(number))
            .map(|step| step * self.step)
            .ok_or_else(|| self.not_on_the_scale(bytes))
    }

    /// The cut on one side of an instant, which need not be one that has a number.
    ///
    /// Between two neighbouring steps there is only one cut, so that an empty range is seen to be empty.
    pub(super) fn cut(self, at: Instant, side: Side) -> Cut {
        let step = at.nanos.div_euclid(self.step);
        let on_step = step * self.step == at.nanos && !at.in_leap_second;
        // The bytes after the cut begin with the first step after it; reversed, with the last in front.
        let next = if on_step && side == Side::Before { step } else { step + 1 };
        let reversed = self.order.is_reversed();
        match self.number(if reversed { next - 1 } else { next }) {
            Ok(number) => {
                let mut encoding = Vec::with_capacity(self.digits());
                self.write_number(number, &mut encoding);
                Cut::Before(encoding)
            }
            Err(Outside::Early) if reversed => Cut::Last,
            Err(Outside::Late) if reversed => Cut::First,
            Err(Outside::Early) => Cut::First,
            Err(Outside::Late) => Cut::Last,
        }
    }

    #[inline]
    fn write_number(self, number: i128, out: &mut Vec<u8>) {
        let written = self.turned(number);
        match self.form {
            Form::Digits => {
                // 20 digits hold every u64, and the greatest number is one.
                let mut buffer = [b'0'; 20];
                decimal::fill(&mut buffer, written as u64);
                out.extend_from_slice(&buffer[20 - self.digits()..]);
            }
            // From the least to the greatest number, each is written as an i64.
            Form::Int64 => write_int(written as i64, out),
        }
    }

    /// A number in the order it is written in, and back.
    fn turned(self, number: i128) -> i128 {
        match (self.order, self.form) {
            (FieldOrder::ReversedFrom { .. }, _) | (FieldOrder::Descending, Form::Digits) => {
                self.greatest - number
            }
            (FieldOrder::Descending, Form::Int64) => !number,
            _ => number,
        }
    }

    /// The number of a step.
    #[inline]
    fn number(self, step: i128) -> Result<i128, Outside> {
        let number = match self.format {
            Format::DateTime17 => calendar_number(step, 86_400_000).map(|(day, in_day)| {
                let (second, millis) = (in_day / 1000, in_day % 1000);
                let clock = second / 3600 * 10_000 + second / 60 % 60 * 100 + second % 60;
                i128::from(day * 1_000_000_000 + clock * 1000 + millis)
            })?,
            Format::Date => calendar_number(step, 1).map(|(day, _)| i128::from(day))?,
            _ => step,
        };
        match number {
            number if number < self.least => Err(Outside::Early),
            number if number > self.greatest => Err(Outside::Late),
            number => Ok(number),
        }
    }

    /// The step that a number stands for; none where the calendar has no such day or time.
    #[inline]
    fn step_of(self, number: i128) -> Option<i128> {
        match self.format {
            Format::DateTime17 => {
                let number = u64::try_from(number).ok()?;
                let clock = number / 1000 % 1_000_000;
                let (hour, minute, second) = (clock / 10_000, clock / 100 % 100, clock % 100);
                let is_clock = hour < 24 && minute < 60 && second < 60;
                let in_day = (hour * 3600 + minute * 60 + second) * 1000 + number % 1000;
                let days = days_of(number / 1_000_000_000).filter(|_| is_clock)?;
                Some(i128::from(days) * 86_400_000 + i128::from(in_day))
            }
            Format::Date => u64::try_from(number).ok().and_then(days_of).map(i128::from),
            _ => Some(number),
        }
    }

    /// The first and the last instant that have a number.
    fn ends(self) -> (i128, i128) {
        match self.format {
            Format::UnixTime(_) => (self.least * self.step, self.greatest * self.step),
            _ => (i128::from(FIRST_DAY) * DAY, (i128::from(LAST_DAY) + 1) * DAY - self.step),
        }
    }

    #[cold]
    fn too_fine(self, nanos: i128) -> FieldError {
        let remedy = match self.format {
            Format::UnixTime(_) => {
                "store a finer unit, such as `row_key(ts(unit = \"nanos\"))`, or leave out `exact`, which rounds down"
            }
            _ => {
                "leave out `exact`, which rounds down, or store a finer unit, such as `row_key(ts(unit = \"micros\"))`"
            }
        };
        FieldError::new(format_args!(
            "{} is finer than the {} that are stored; {remedy}",
            Shown(nanos),
            self.unit_name(),
        ))
    }

    #[cold]
    fn out_of_range(self, nanos: i128, outside: Outside) -> FieldError {
        let (first, last) = self.ends();
        if let Format::Date = self.format {
            return FieldError::new(format_args!(
                "{:#} is out of range; dates are stored as `YYYYMMDD`, {:#} to {:#}",
                Shown(nanos),
                Shown(first),
                Shown(last),
            ));
        }
        let held = match (self.order, self.form) {
            (FieldOrder::ReversedFrom { max }, _) => {
                format!("`#[reverse_ts(max = {max})]` of {} holds", self.unit_name())
            }
            (_, Form::Digits) => format!("{} digits of {} hold", self.digits(), self.unit_name()),
            (_, Form::Int64) => format!("an Int64 of {} holds", self.unit_name()),
        };
        FieldError::new(format_args!(
            "{} is {}; {held} {} to {}{}",
            Shown(nanos),
            match outside {
                Outside::Early => "too early",
                Outside::Late => "too late",
            },
            Shown(first),
            Shown(last),
            self.remedy_for_range(nanos, outside),
        ))
    }

    /// What holds the instant.
    fn remedy_for_range(self, nanos: i128, outside: Outside) -> &'static str {
        let is_reversed_count = matches!(self.order, FieldOrder::ReversedFrom { .. });
        let has_four_digits = calendar_number(nanos.div_euclid(DAY), 1).is_ok();
        match (self.format, self.form, outside) {
            (Format::UnixTime(TimeUnit::Secs), _, Outside::Late) if is_reversed_count => {
                "; give `#[reverse_ts]` a greater `max`"
            }
            (Format::UnixTime(_), _, Outside::Late) if is_reversed_count => {
                "; give `#[reverse_ts]` a greater `max`, or store a coarser unit with `row_key(ts(unit = \"secs\"))`"
            }
            (Format::UnixTime(_), Form::Int64, Outside::Early) if is_reversed_count && self.least > 0 => {
                "; give `#[reverse_ts]` a smaller `max`"
            }
            (Format::UnixTime(_), Form::Int64, Outside::Early) if is_reversed_count => {
                "; `row_key(desc)` holds times before 1970 too"
            }
            (Format::UnixTime(_), Form::Int64, _) => "; `row_key(ts(unit = \"secs\"))` holds every time",
            (Format::UnixTime(_), Form::Digits, _) if is_reversed_count && has_four_digits => {
                "; `row_key(desc, ts(format = \"datetime17\"))` holds the years 1 to 9999"
            }
            (Format::UnixTime(_), Form::Digits, _) if has_four_digits => {
                "; `row_key(ts(format = \"datetime17\"))` holds the years 1 to 9999"
            }
            _ => "; `row_key(layout = \"ordered\")` on the struct holds it, as the count of a unit",
        }
    }

    #[cold]
    fn not_on_the_scale(self, bytes: &[u8]) -> FieldError {
        let what = match self.format {
            Format::Date => "a date as `YYYYMMDD`",
            Format::DateTime17 => "a time as `YYYYMMDDHHMMSSmmm`",
            _ => "a count since 1970",
        };
        let order = match (self.order, self.form) {
            (FieldOrder::Ascending, _) => String::new(),
            (FieldOrder::Descending, Form::Int64) => " with all bits inverted".to_owned(),
            _ => format!(" subtracted from {}", self.greatest),
        };
        match self.form {
            Form::Digits => FieldError::new(format_args!(
                "`{}` is not {what}{order}, in {} digits",
                Readable(bytes),
                self.digits(),
            )),
            Form::Int64 => FieldError::new(format_args!(
                "hex {} is not the shortest OrderedCode of {what}{order}",
                Hex(bytes),
            )),
        }
    }

    fn unit_name(self) -> &'static str {
        match self.format {
            Format::UnixTime(unit) => unit.name(),
            _ => "milliseconds",
        }
    }
}

/// The first day of the year 1.
const FIRST_DAY: i64 = Civil { year: 1, month: 1, day: 1 }.days();
/// The last day of the year 9999.
const LAST_DAY: i64 = Civil { year: 9999, month: 12, day: 31 }.days();

/// The day of a step as `YYYYMMDD`, and how far into the day it is.
fn calendar_number(step: i128, steps_of_day: i128) -> Result<(u64, u64), Outside> {
    let days = step.div_euclid(steps_of_day);
    if days < i128::from(FIRST_DAY) {
        return Err(Outside::Early);
    }
    if days > i128::from(LAST_DAY) {
        return Err(Outside::Late);
    }
    // The years 1 to 9999 fit in any integer, and so does the time of a day.
    let civil = Civil::from_days(days as i64);
    let day = civil.year as u64 * 10_000 + u64::from(civil.month) * 100 + u64::from(civil.day);
    Ok((day, step.rem_euclid(steps_of_day) as u64))
}

/// The days that `YYYYMMDD` stands for; none where the calendar has no such day.
fn days_of(number: u64) -> Option<i64> {
    let year = i64::try_from(number / 10_000).ok().filter(|year| (1..=9999).contains(year))?;
    // Remainders of 100 fit in a byte.
    let civil = Civil { year, month: (number / 100 % 100) as u8, day: (number % 100) as u8 };
    let is_month = (1..=12).contains(&civil.month);
    is_month.then(|| civil.days()).filter(|days| Civil::from_days(*days) == civil)
}

#[cold]
fn leap_second(nanos: i128) -> FieldError {
    FieldError::new(format_args!(
        "it is in the leap second after {}, which Unix time has no number for; move it to a second beside it",
        Shown(nanos),
    ))
}

/// What is read is an instant, but none of the type's.
#[cold]
pub(super) fn not_of_the_type(nanos: i128, type_name: &str) -> FieldError {
    FieldError::new(format_args!("{} is out of the range of `{type_name}`", Shown(nanos)))
}
