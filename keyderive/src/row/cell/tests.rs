//! The stored bytes of every type, against bytes written by hand; and what is no value.

use std::borrow::Cow;
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{NonZeroI8, NonZeroU64};
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

/// Checks that a value is stored as these bytes, and read from them.
#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "it reads better without references")]
fn stored<C>(value: C, bytes: impl AsRef<[u8]>)
where
    C: Cell + Debug + for<'r> Cell<Decoded<'r> = C> + PartialEq,
{
    let bytes = bytes.as_ref();
    assert_eq!(value.to_stored().unwrap(), bytes, "{value:?}");
    assert_eq!(C::decode(bytes).unwrap(), value);
}

#[track_caller]
fn malformed<C: OwnedCell + Debug>(bytes: impl AsRef<[u8]>, text: &str) {
    let error = C::decode(bytes.as_ref()).unwrap_err();
    assert!(error.is_malformed());
    assert_eq!(error.to_string(), text);
}

#[track_caller]
fn unsupported(value: &impl Cell, text: &str) {
    let error = value.to_stored().unwrap_err();
    assert!(!error.is_malformed());
    assert_eq!(error.to_string(), text);
}

#[test]
fn integers_have_8_bytes() {
    stored(-1_i8, [0xff; 8]);
    stored(i16::MIN, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80, 0]);
    stored(7_i32, [0, 0, 0, 0, 0, 0, 0, 7]);
    stored(i64::MIN, [0x80, 0, 0, 0, 0, 0, 0, 0]);
    stored(255_u8, [0, 0, 0, 0, 0, 0, 0, 255]);
    stored(u16::MAX, [0, 0, 0, 0, 0, 0, 255, 255]);
    stored(u32::MAX, [0, 0, 0, 0, 255, 255, 255, 255]);
    stored(i64::MAX as u64, [0x7f, 255, 255, 255, 255, 255, 255, 255]);
    stored(NonZeroI8::MIN, [255, 255, 255, 255, 255, 255, 255, 0x80]);
    stored(true, [0, 0, 0, 0, 0, 0, 0, 1]);
    stored(false, [0; 8]);
    assert_eq!(u64::TYPE, CellType::Integer { min: 0, max: i64::MAX });
    assert_eq!(NonZeroU64::TYPE, CellType::NonZero { min: 0, max: i64::MAX });
    unsupported(
        &(1_u64 << 63),
        "is 9223372036854775808; an integer column ends at 9223372036854775807: store it as text or as bytes",
    );
    malformed::<u32>(b"7", "holds 1 byte, `37`; `u32` is stored as an integer of 8 bytes, big-endian");
    malformed::<i8>(128_i64.to_be_bytes(), "holds the integer 128; `i8` is -128 to 127");
    malformed::<u64>((-1_i64).to_be_bytes(), "holds the integer -1; `u64` is 0 to 9223372036854775807");
    malformed::<NonZeroI8>([0; 8], "holds the integer 0; `NonZeroI8` has no 0");
    malformed::<bool>(2_i64.to_be_bytes(), "holds the integer 2; `bool` is stored as the integer 0 or 1");
}

#[test]
fn floats_are_ieee_754() {
    stored(1.5_f64, [0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
    stored(-0.0_f64, [0x80, 0, 0, 0, 0, 0, 0, 0]);
    stored(1.5_f32, [0x3f, 0xc0, 0, 0]);
    assert!(f64::decode(&f64::NAN.to_stored().unwrap()).unwrap().is_nan());
    malformed::<f64>([0; 4], "holds 4 bytes, `00000000`; `f64` is stored as 8 bytes, IEEE 754 big-endian");
    malformed::<f32>([], "holds no bytes; `f32` is stored as 4 bytes, IEEE 754 big-endian");
}

#[test]
fn text_is_utf_8() {
    stored("Zürich".to_owned(), "Zürich");
    stored(String::new(), "");
    stored(Box::<str>::from("a"), "a");
    stored(Arc::<str>::from("a"), "a");
    stored('ü', "ü");
    assert_eq!(<&str>::decode(b"lent").unwrap(), "lent");
    assert!(matches!(Cow::<str>::decode(b"lent").unwrap(), Cow::Borrowed("lent")));
    assert_eq!(Cow::<str>::Owned("own".into()).to_stored().unwrap(), b"own");
    malformed::<String>(
        [b'a', 0xff],
        "holds 2 bytes, `61ff`; text is stored as UTF-8: invalid utf-8 sequence of 1 bytes from index 1",
    );
    malformed::<char>("ab", "holds `ab`; `char` is stored as one character in UTF-8");
}

#[test]
fn bytes_are_as_they_are() {
    stored(vec![0_u8, 255], [0, 255]);
    stored(Bytes::from_static(&[1]), [1]);
    stored([1_u8, 2, 3], [1, 2, 3]);
    stored((), []);
    assert_eq!(<&[u8]>::decode(b"lent").unwrap(), b"lent");
    assert!(matches!(Cow::<[u8]>::decode(b"lent").unwrap(), Cow::Borrowed(b"lent")));
    malformed::<[u8; 3]>([1], "holds 1 byte, `01`; the array has 3");
    malformed::<()>([1], "holds 1 byte, `01`; a unit is stored as no bytes");
}

#[test]
fn pointers_are_stored_as_what_they_point_to() {
    stored(Box::new(7_u8), 7_i64.to_be_bytes());
    stored(Arc::new("a".to_owned()), "a");
}

#[test]
fn addresses_are_text() {
    stored(Ipv4Addr::LOCALHOST, "127.0.0.1");
    stored(Ipv6Addr::LOCALHOST, "::1");
    stored(IpAddr::from(Ipv6Addr::UNSPECIFIED), "::");
    malformed::<Ipv6Addr>("0::1", "holds `0::1`; an address is stored as text, such as `::1`");
    malformed::<Ipv4Addr>("::1", "holds `::1`; an address is stored as text, such as `127.0.0.1`");
}

#[cfg(feature = "uuid")]
#[test]
fn uuids_are_hyphenated() {
    let uuid = uuid::Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8);
    stored(uuid, "67e55044-10b1-426f-9247-bb680e5fe0c8");
    assert!(uuid::Uuid::decode(b"67E55044-10B1-426F-9247-BB680E5FE0C8").unwrap_err().is_malformed());
    malformed::<uuid::Uuid>(
        "x",
        "holds `x`; a UUID is stored as text, such as `67e55044-10b1-426f-9247-bb680e5fe0c8`",
    );
}

const MILLIS: i64 = 1_426_537_212_156;

#[cfg(feature = "chrono")]
#[test]
fn chrono_times_and_dates_are_text() {
    use chrono::{DateTime, NaiveDate, Utc};
    stored(DateTime::<Utc>::from_timestamp_millis(MILLIS).unwrap(), "2015-03-16T20:20:12.156Z");
    stored(DateTime::<Utc>::from_timestamp(0, 0).unwrap(), "1970-01-01T00:00:00Z");
    stored(NaiveDate::from_ymd_opt(2015, 3, 16).unwrap(), "2015-03-16");
    unsupported(
        &DateTime::<Utc>::MAX_UTC,
        "is a time without text in RFC 3339; a time column holds the years 0000 to 9999",
    );
    unsupported(&NaiveDate::MIN, "is a date of the year -262143; a date column holds the years 0000 to 9999");
    for wrong in ["2015-3-16", "2015-02-29", "+015-03-16", "2015-03-16 ", ""] {
        assert!(NaiveDate::decode(wrong.as_bytes()).unwrap_err().is_malformed(), "{wrong}");
    }
    assert!(DateTime::<Utc>::decode(b"2015-03-16").unwrap_err().is_malformed());
}

#[cfg(feature = "jiff")]
#[test]
fn jiff_times_and_dates_are_text() {
    use jiff::Timestamp;
    use jiff::civil::Date;
    stored(Timestamp::from_millisecond(MILLIS).unwrap(), "2015-03-16T20:20:12.156Z");
    stored(Date::constant(2015, 3, 16), "2015-03-16");
    unsupported(
        &Timestamp::MIN,
        "is a time without text in RFC 3339; a time column holds the years 0000 to 9999",
    );
    unsupported(&Date::MIN, "is a date of the year -9999; a date column holds the years 0000 to 9999");
}

#[cfg(feature = "time")]
#[test]
fn time_times_and_dates_are_text() {
    use time::{Date, Month, OffsetDateTime, UtcDateTime, UtcOffset};
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(MILLIS) * 1_000_000).unwrap();
    stored(at, "2015-03-16T20:20:12.156Z");
    let elsewhere = at.to_offset(UtcOffset::from_hms(2, 0, 0).unwrap());
    assert_eq!(elsewhere.to_stored().unwrap(), b"2015-03-16T20:20:12.156Z");
    stored(UtcDateTime::UNIX_EPOCH, "1970-01-01T00:00:00Z");
    stored(Date::from_calendar_date(2015, Month::March, 16).unwrap(), "2015-03-16");
}

/// Every text of a time names the same instant for the three crates.
#[cfg(all(feature = "chrono", feature = "jiff", feature = "time"))]
#[test]
fn the_crates_read_each_others_times() {
    proptest!(|(millis in -62_167_219_200_000_i64..253_402_300_800_000)| {
        let chrono = chrono::DateTime::from_timestamp_millis(millis).unwrap().to_stored().unwrap();
        let jiff = jiff::Timestamp::from_millisecond(millis).unwrap().to_stored().unwrap();
        prop_assert_eq!(jiff::Timestamp::decode(&chrono).unwrap().as_millisecond(), millis);
        let time = time::UtcDateTime::decode(&jiff).unwrap();
        prop_assert_eq!(time.unix_timestamp_nanos(), i128::from(millis) * 1_000_000);
        let time = time.to_stored().unwrap();
        prop_assert_eq!(chrono::DateTime::<chrono::Utc>::decode(&time).unwrap().timestamp_millis(), millis);
    });
}

#[derive(crate::Cell, Clone, Copy, Debug, PartialEq)]
enum Kind {
    Login,
    #[row(name = "lo")]
    Logout,
    r#Type,
}

#[derive(crate::Cell, Clone, Copy, Debug, PartialEq)]
#[row(code)]
enum Level {
    Low = 1,
    High = 0x14,
}

#[derive(crate::Cell, Debug, PartialEq)]
struct UserId(String);

#[derive(crate::Cell, Debug, PartialEq)]
struct Seen;

#[test]
fn types_derive_their_encoding() {
    stored(Kind::Login, "Login");
    stored(Kind::Logout, "lo");
    stored(Kind::r#Type, "Type");
    stored(Level::Low, 1_i64.to_be_bytes());
    stored(Level::High, 20_i64.to_be_bytes());
    stored(UserId("alice".into()), "alice");
    stored(Seen, "");
    assert_eq!(Kind::TYPE, CellType::Enum(&["Login", "lo", "Type"]));
    assert_eq!(Level::TYPE, CellType::Code(&[(1, "Low"), (20, "High")]));
    assert_eq!((UserId::TYPE, Seen::TYPE), (CellType::Text, CellType::Unit));
    malformed::<Kind>("Logout", "holds `Logout`; the variants are `Login`, `lo`, `Type`");
    malformed::<Level>(2_i64.to_be_bytes(), "holds the integer 2; the codes of the variants are 1, 20");
    malformed::<UserId>([0xff], &String::decode(&[0xff]).unwrap_err().to_string());
}

#[test]
fn a_newtype_compares_as_what_is_inside() {
    #[derive(crate::Cell)]
    struct Celsius(f64);
    fn ordered<C: Cell + OrderedCell>() -> StoredOrder {
        StoredOrder::of(C::TYPE)
    }
    fn comparable<C: ComparableCell>() {}
    assert_eq!(ordered::<Celsius>(), StoredOrder::F64);
    assert_eq!(ordered::<UserId>(), StoredOrder::Bytes);
    comparable::<Kind>();
    comparable::<Level>();
}

/// No bytes make a type panic, and a type that reads them writes them back, unless its text has several encodings.
#[test]
fn any_bytes_are_read_or_refused() {
    fn check<C: OwnedCell>(bytes: &[u8]) -> Result<(), TestCaseError> {
        if let Ok(value) = C::decode(bytes) {
            prop_assert_eq!(value.to_stored().unwrap(), bytes);
        }
        Ok(())
    }
    proptest!(|(bytes in prop_oneof![
        any::<[u8; 8]>().prop_map(Vec::from),
        any::<[u8; 4]>().prop_map(Vec::from),
        "[0-9]{4}-[0-9]{2}-[0-9]{2}".prop_map(String::into_bytes),
        "[0-9a-f:.]{2,9}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..12),
    ])| {
        check::<i8>(&bytes)?;
        check::<u64>(&bytes)?;
        check::<i64>(&bytes)?;
        check::<bool>(&bytes)?;
        check::<String>(&bytes)?;
        check::<char>(&bytes)?;
        check::<Vec<u8>>(&bytes)?;
        check::<[u8; 4]>(&bytes)?;
        check::<()>(&bytes)?;
        check::<Kind>(&bytes)?;
        check::<Level>(&bytes)?;
        check::<f64>(&bytes)?;
        check::<IpAddr>(&bytes)?;
        #[cfg(feature = "chrono")]
        check::<chrono::NaiveDate>(&bytes)?;
        #[cfg(feature = "jiff")]
        check::<jiff::civil::Date>(&bytes)?;
        #[cfg(feature = "time")]
        check::<time::Date>(&bytes)?;
    });
}
