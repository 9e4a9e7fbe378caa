//! The table of stored cells in `FORMAT.md` is what the code does.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use ::bytes::Bytes;

use super::*;
use crate::key::codec::{Micros, Millis, Nanos, Secs, Ts};
use crate::row::{Encoding, Json, Proto};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/FORMAT.md");
const MARKS: [&str; 2] = ["<!-- cells -->\n", "<!-- /cells -->"];

#[derive(crate::Cell)]
enum Kind {
    #[row(name = "lo")]
    Logout,
}

#[derive(crate::Cell)]
#[row(code)]
enum Level {
    High = 20,
}

#[derive(crate::Cell)]
struct Seen;

#[expect(clippy::needless_pass_by_value, reason = "the examples read better")]
fn own<C: Cell>(value: C) -> Vec<u8> {
    value.to_stored().unwrap()
}

fn encoded_as<E: Encoding<T>, T>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    E::encode(value, &mut CellWriter::new(&mut bytes)).unwrap();
    bytes
}

/// Text where it is readable, otherwise hexadecimal digits.
fn shown(stored: &[u8]) -> String {
    match str::from_utf8(stored) {
        Ok("") => "no bytes".to_owned(),
        Ok(text) if text.chars().all(|char| !char.is_control()) => format!("`{text}`"),
        _ => {
            let digits: Vec<_> = stored.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("`{}`", digits.join(" "))
        }
    }
}

/// Each evaluates its example, so that the page shows what was run.
macro_rules! rows {
    ($($types:literal, $written:literal: $call:expr, $example:expr;)*) => {
        [$(($types, $written, stringify!($example), $call($example))),*]
    };
}

fn table() -> String {
    let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    let millis = UNIX_EPOCH + Duration::from_millis(1500);
    let rows = rows! {
        "`i8` to `i64`, `u8` to `u64`, `NonZero…`", "8 bytes, two's complement, big-endian; a `u64` above `i64::MAX` is an error": own, -2_i32;
        "`bool`", "the integer 0 or 1": own, true;
        "`f64`", "8 bytes, IEEE 754, big-endian": own, -0.5_f64;
        "`f32`", "4 bytes, IEEE 754, big-endian": own, -0.5_f32;
        "`String`, `&str`, `Cow<str>`, `Box<str>`, `Arc<str>`", "UTF-8": own, "Grün";
        "`char`", "one character in UTF-8": own, 'ü';
        "`Vec<u8>`, `&[u8]`, `Cow<[u8]>`, `Bytes`, `[u8; N]`", "as they are": own, Bytes::from_static(b"\x00\xff");
        "`()`, a unit struct", "no bytes": own, Seen;
        "an enum with `#[derive(Cell)]`", "the name of the variant": own, Kind::Logout;
        "the same with `#[row(code)]`", "the integer of the variant": own, Level::High;
        "`Uuid`", "hyphenated, in lower case": |text: &str| own(text.parse::<::uuid::Uuid>().unwrap()), uuid;
        "`IpAddr`, `Ipv4Addr`, `Ipv6Addr`", "as `Display` writes it": own, std::net::Ipv6Addr::LOCALHOST;
        "`DateTime<Utc>` of chrono", "RFC 3339": own, ::chrono::DateTime::from_timestamp_millis(1500).unwrap();
        "`Timestamp` of jiff", "RFC 3339": own, ::jiff::Timestamp::from_millisecond(1500).unwrap();
        "`OffsetDateTime`, `UtcDateTime` of time", "RFC 3339": own, ::time::OffsetDateTime::from(millis);
        "`NaiveDate` of chrono, `civil::Date` of jiff, `Date` of time", "`YYYY-MM-DD`, of the years 0000 to 9999": own, ::jiff::civil::date(2015, 3, 16);
        "a time with `ts(unit = \"secs\")`", "seconds since 1970, rounded down, as an integer": encoded_as::<Ts<Secs>, _>, &millis;
        "`ts(unit = \"millis\")`", "milliseconds": encoded_as::<Ts<Millis>, _>, &millis;
        "`ts(unit = \"micros\")`", "microseconds": encoded_as::<Ts<Micros>, _>, &millis;
        "`ts(unit = \"nanos\")`", "nanoseconds": encoded_as::<Ts<Nanos>, _>, &millis;
        "any type with `json`", "compact JSON": encoded_as::<Json, _>, &vec![Some("a".to_owned()), None];
        "a message with `proto`", "the encoded message": |text: &str| encoded_as::<Proto, _>(&text.to_owned()), "a";
    };
    let mut table = String::from("| types | stored as | example | bytes |\n|---|---|---|---|\n");
    for (types, written, example, stored) in rows {
        writeln!(table, "| {types} | {written} | `{example}` | {} |", shown(&stored)).unwrap();
    }
    table
}

#[test]
fn the_page_lists_the_stored_cells() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).unwrap();
    let (found, after) = rest.split_once(MARKS[1]).unwrap();
    let expected = table();
    if std::env::var_os("KEYDERIVE_BLESS").is_some() {
        std::fs::write(PAGE, [before, MARKS[0], &expected, MARKS[1], after].concat()).unwrap();
    } else {
        assert_eq!(found, expected, "`KEYDERIVE_BLESS=1` rewrites the table");
    }
}
