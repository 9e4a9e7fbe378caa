//! Parses `since(at = "2026-12-01T00:00:00Z")`: from which value of a field on a salt is used.

use keyderive_layout::key_rules::Bound;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::spanned::Spanned as _;
use syn::{Ident, LitInt, LitStr, Token};

use crate::attr::{skip_value, unraw};
use crate::ctxt::Ctxt;

/// A field and the first of its values that has the salt.
pub(super) struct Since {
    /// The field's name, and its tokens.
    pub(super) field: (String, TokenStream),
    /// The literal, as one token or with its sign.
    pub(super) written: TokenStream,
    pub(super) bound: Bound,
}

/// The bound as the runtime's `BoundValue`.
pub(super) fn bound_tokens(bound: Bound, private: &TokenStream) -> TokenStream {
    match bound {
        Bound::Time(nanos) => quote!(#private::BoundValue::Time(#nanos)),
        Bound::Date(days) => quote!(#private::BoundValue::Date(#days)),
        Bound::Number(number) => quote!(#private::BoundValue::Number(#number)),
    }
}

impl Since {
    /// Reads `since(at = …)`; reports anything else, and returns `None`.
    pub(super) fn read(cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<Option<Self>> {
        const EXPECTED: &str =
            "`since` names a field and its first value; write `since(at = \"2026-12-01T00:00:00Z\")`";
        if !meta.input.peek(syn::token::Paren) {
            cx.error(&meta.path, EXPECTED);
            skip_value(meta.input)?;
            return Ok(None);
        }
        let list;
        let parens = syn::parenthesized!(list in meta.input);
        let Ok(field) = list.call(Ident::parse_any) else {
            cx.error(&meta.path, EXPECTED);
            rest(&list)?;
            return Ok(None);
        };
        if !list.peek(Token![=]) {
            cx.error(&field, EXPECTED);
            rest(&list)?;
            return Ok(None);
        }
        list.parse::<Token![=]>()?;
        let sign = list.parse::<Option<Token![-]>>()?;
        let literal = list.parse::<Option<syn::Lit>>()?;
        let written = quote!(#sign #literal);
        let excess = rest(&list)?;
        let bound = match (sign, literal) {
            (_, None) => Err(EXPECTED.to_owned()),
            (None, Some(syn::Lit::Str(text))) => of_text(&text),
            (sign, Some(syn::Lit::Int(int))) => of_int(&int, sign.is_some()),
            _ => Err(EXPECTED.to_owned()),
        };
        if !excess.is_empty() {
            cx.error(excess, "`since` has one field and one value; remove this");
            return Ok(None);
        }
        match bound {
            Ok(bound) => {
                let field = (unraw(&field), field.into_token_stream());
                Ok(Some(Self { field, written, bound }))
            }
            Err(message) if written.is_empty() => {
                cx.syn_error(syn::Error::new(parens.span.join().span(), message));
                Ok(None)
            }
            Err(message) => {
                cx.error(written, message);
                Ok(None)
            }
        }
    }
}

/// The tokens that are left.
fn rest(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    input.parse()
}

fn of_int(int: &LitInt, is_negative: bool) -> Result<Bound, String> {
    let digits = int.base10_digits();
    let number = if is_negative { format!("-{digits}") } else { digits.to_owned() };
    match number.parse() {
        Ok(number) if int.suffix().is_empty() => Ok(Bound::Number(number)),
        Ok(_) => Err(format!("a bound has no type; write it without `{}`", int.suffix())),
        Err(_) => Err("this number is above 128 bits, and no field holds it; write a smaller one".to_owned()),
    }
}

fn of_text(text: &LitStr) -> Result<Bound, String> {
    let text = text.value();
    let bound = match text.split_once(['T', 't']) {
        None => date(&text).map(|day| day.map(Bound::Date)),
        Some((day, clock)) => match (date(day), time(clock)) {
            (Some(Some(day)), Some(in_day)) => Some(Some(Bound::Time(i128::from(day) * DAY + in_day))),
            (Some(None), Some(_)) => Some(None),
            _ => None,
        },
    };
    match bound {
        Some(Some(bound)) => Ok(bound),
        Some(None) => {
            Err(format!("the calendar has no day `{}`; write one of the years 0001 to 9999", &text[..10]))
        }
        None => Err(format!(
            "`{text}` is not a bound; write a time in RFC 3339, such as \"2026-12-01T00:00:00Z\", a date, such as \
             \"2026-12-01\", or a number without quotes"
        )),
    }
}

/// The nanoseconds of a day.
const DAY: i128 = 86_400 * SECOND;
/// The nanoseconds of a second.
const SECOND: i128 = 1_000_000_000;

/// The days from 1970-01-01 to `YYYY-MM-DD`; `Some(None)` if the calendar has no such day.
fn date(text: &str) -> Option<Option<i64>> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let (year, month, day) = (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if year == 0 || !(1..=12).contains(&month) || !(1..=last).contains(&day) {
        return Some(None);
    }
    // Years begin in March here, so that the leap day ends one.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    Some(Some(365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468))
}

/// The nanoseconds from midnight in UTC to `HH:MM:SS`, with or without a fraction, and its zone.
fn time(text: &str) -> Option<i128> {
    let (clock, zone) = match text.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, 0),
        None => {
            let (clock, zone) = text.split_at_checked(text.len().checked_sub(6)?)?;
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let (hours, minutes) =
                (digits(hours, 2).filter(|h| *h < 24)?, digits(minutes, 2).filter(|m| *m < 60)?);
            let zone = hours * 60 + minutes;
            (clock, if zone_is_west(text)? { -zone } else { zone })
        }
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let (hour, rest) = clock.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    let hour = digits(hour, 2).filter(|hour| *hour < 24)?;
    let minute = digits(minute, 2).filter(|minute| *minute < 60)?;
    let second = digits(second, 2).filter(|second| *second < 60)?;
    if !(1..=9).contains(&fraction.len()) {
        return None;
    }
    let fraction = digits(&format!("{fraction:0<9}"), 9)?;
    let seconds = hour * 3600 + (minute - zone) * 60 + second;
    Some(i128::from(seconds) * SECOND + i128::from(fraction))
}

/// Whether the zone at the end of a time is west of UTC.
fn zone_is_west(time: &str) -> Option<bool> {
    match time.as_bytes().get(time.len().checked_sub(6)?)? {
        b'-' => Some(true),
        b'+' => Some(false),
        _ => None,
    }
}

/// A number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let all_digits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if all_digits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_text() {
        let bound = |text: &str| of_text(&LitStr::new(text, proc_macro2::Span::call_site()));
        let seconds = |seconds: i64| Ok(Bound::Time(i128::from(seconds) * SECOND));
        assert_eq!(bound("1970-01-01"), Ok(Bound::Date(0)));
        assert_eq!(bound("1969-12-31"), Ok(Bound::Date(-1)));
        assert_eq!(bound("0001-01-01"), Ok(Bound::Date(-719_162)));
        assert_eq!(bound("2024-02-29"), Ok(Bound::Date(19_782)));
        assert_eq!(bound("9999-12-31"), Ok(Bound::Date(2_932_896)));
        assert_eq!(bound("2026-12-01T00:00:00Z"), seconds(1_796_083_200));
        assert_eq!(bound("2026-12-01T01:30:00+01:30"), seconds(1_796_083_200));
        assert_eq!(bound("2026-11-30T22:00:00-02:00"), seconds(1_796_083_200));
        assert_eq!(bound("1970-01-01T00:00:00.25Z"), Ok(Bound::Time(250_000_000)));
        assert_eq!(bound("1969-12-31T23:59:59.999999999z"), Ok(Bound::Time(-1)));
        for wrong in [
            "",
            "tomorrow",
            "2026-12",
            "26-12-01",
            "2026-12-01T00:00:00",
            "2026-12-01T00:00Z",
            "2026-12-01T24:00:00Z",
            "2026-12-01T23:59:60Z",
            "2026-12-01T00:00:00.Z",
            "2026-12-01T00:00:00.0000000001Z",
            "2026-12-01T00:00:00+24:00",
            "2026-12-01T00:00:00 01:00",
            "+026-12-01",
            "2026-12-01é",
        ] {
            assert!(bound(wrong).unwrap_err().contains("is not a bound"), "{wrong}");
        }
        for wrong in ["2026-02-29", "2026-13-01", "2026-12-00", "2026-11-31T00:00:00Z", "0000-01-01"] {
            assert!(bound(wrong).unwrap_err().contains("no day"), "{wrong}");
        }
    }
}
