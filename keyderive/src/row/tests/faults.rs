//! The text of each error.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{RowError, cell, read, write};

#[derive(Debug, Serialize, Deserialize)]
struct One<T> {
    x: T,
}

#[track_caller]
fn refused<R: Serialize>(row: R, text: &str) {
    let error = write(&row).unwrap_err();
    assert_eq!(error.to_string(), text);
    assert!(error.is_unsupported() && !error.is_malformed() && !error.is_missing_column(), "{error:?}");
}

#[track_caller]
fn malformed<T: DeserializeOwned + std::fmt::Debug>(value: &'static [u8], text: &str) -> RowError {
    let error = read::<One<T>>(vec![cell("x", value)]).unwrap_err();
    assert_eq!(error.to_string(), text);
    assert!(error.is_malformed() && !error.is_unsupported() && !error.is_missing_column(), "{error:?}");
    error
}

#[track_caller]
fn unreadable<R: DeserializeOwned + std::fmt::Debug>(text: &str) {
    let error = read::<R>(vec![cell("x", b"1")]).unwrap_err();
    assert_eq!(error.to_string(), text);
    assert!(error.is_unsupported(), "{error:?}");
}

#[test]
fn integers_beyond_64_bits_are_refused() {
    refused(
        One { x: 1_u64 << 63 },
        "column `cf:x` is 9223372036854775808; an integer column ends at 9223372036854775807: \
         store it as a string or as bytes",
    );
    let wide = |name| {
        format!(
            "column `cf:x` is of type `{name}`; an integer column holds 64 bits: store it as a string or as bytes"
        )
    };
    refused(One { x: 1_i128 }, &wide("i128"));
    refused(One { x: 1_u128 }, &wide("u128"));
    unreadable::<One<i128>>(&wide("i128"));
    unreadable::<One<u128>>(&wide("u128"));
}

#[derive(Debug, Serialize, Deserialize)]
struct Wrapped(Option<u8>);

#[test]
fn a_none_that_would_not_come_back_is_refused() {
    refused(
        One { x: Some(None::<u8>) },
        "column `cf:x` is `Some(None)`, which would be read as `None`; use one `Option`",
    );
    refused(
        One { x: Wrapped(None) },
        "column `cf:x` is a `None` inside `Wrapped`, which would not be read back; put `#[serde(transparent)]` \
         on `Wrapped`",
    );
}

#[derive(Debug, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle(u8),
    Line(u8, u8),
    Rect { side: u8 },
}

#[derive(Debug, Serialize, Deserialize)]
struct Pair(u8, u8);

#[test]
fn a_row_is_a_struct_or_a_map() {
    let text = |what| {
        format!(
            "the row in family `cf` is {what}; a row is a struct, a map with string keys, or `()` for a row \
             without columns"
        )
    };
    refused(1_u8, &text("a `u8`"));
    refused(1.0_f64, &text("an `f64`"));
    refused("x", &text("a string"));
    refused(vec![1], &text("a sequence"));
    refused((1, 2), &text("a tuple"));
    refused(Pair(1, 2), &text("a tuple struct"));
    refused(None::<One<u8>>, &text("an `Option`"));
    refused(Some(One { x: 1 }), &text("an `Option`"));
    for shape in [Shape::Point, Shape::Circle(1), Shape::Line(1, 1), Shape::Rect { side: 1 }] {
        refused(shape, &text("an enum"));
    }
    let text = "the row in family `cf` is read into a type that is neither a struct, nor a map with string keys, \
                nor `()`; make it the field of a struct, an enum or a `serde_json::Value` with \
                `#[serde(with = \"keyderive::row::json\")]`";
    unreadable::<u8>(text);
    unreadable::<Shape>(text);
    unreadable::<Option<One<u8>>>(text);
    unreadable::<serde_json::Value>(text);
}

#[test]
fn column_names_are_strings_that_are_not_empty() {
    refused(
        BTreeMap::from([("", 1)]),
        "the row in family `cf` has a column with an empty name; the empty qualifier marks a row without columns",
    );
    let text = |what| {
        format!(
            "the row in family `cf` is a map whose key is {what}; keys are column names: strings, enums without data, \
             and what serde writes as a string; write a number as text, as `format!(\"{{number:010}}\")` which keeps \
             the order"
        )
    };
    refused(BTreeMap::from([(1_u64, 1)]), &text("a `u64`"));
    refused(BTreeMap::from([((1, 2), 1)]), &text("a tuple"));
    refused(BTreeMap::from([(Some("a"), 1)]), &text("an `Option`"));

    let mut binary = cell("x", b"");
    binary.qualifier = b"a\xff".as_slice().into();
    let error = read::<HashMap<String, String>>(vec![binary]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `cf:a\\xff` has a name that is not UTF-8, and the row type reads names as strings"
    );
}

#[test]
fn json_that_cannot_be_written_keeps_its_source() {
    let error = write(&One { x: vec![BTreeMap::from([((1, 2), 3)])] }).unwrap_err();
    assert_eq!(error.to_string(), "column `cf:x` cannot be written as JSON: key must be a string");
    assert!(error.source().unwrap().is::<serde_json::Error>());
}

#[test]
fn a_missing_column_is_named() {
    let error = read::<One<u8>>(vec![cell("y", b"")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `cf:x` is missing; make the field an `Option`, give it `#[serde(default)]`, or leave such rows out of scans with `.on_unreadable(OnUnreadable::Skip)`"
    );
    assert!(error.is_missing_column() && !error.is_malformed() && !error.is_unsupported());
    assert!(error.source().is_none());
}

#[test]
fn a_value_of_another_length_is_malformed() {
    malformed::<u8>(
        b"\x0a\x0b\xff",
        "column `cf:x` holds 3 bytes, `0a0bff`; `u8` is stored as an integer of 8 bytes, big-endian",
    );
    malformed::<bool>(
        b"",
        "column `cf:x` holds no bytes; `bool` is stored as an integer of 8 bytes, big-endian",
    );
    malformed::<f64>(
        b"\x01",
        "column `cf:x` holds 1 byte, `01`; `f64` is stored as 8 bytes, IEEE 754 big-endian",
    );
    malformed::<f32>(
        &[7; 40],
        "column `cf:x` holds 40 bytes, `0707070707070707070707070707070707070707070707070707070707070707…`; \
         `f32` is stored as 4 bytes, IEEE 754 big-endian",
    );
    malformed::<()>(b"x", "column `cf:x` holds 1 byte, `78`; a unit is stored as no bytes");
}

#[test]
fn an_integer_out_of_its_type_s_range_is_malformed() {
    malformed::<u8>(b"\0\0\0\0\0\0\x01\x2c", "column `cf:x` holds the integer 300; `u8` is 0 to 255");
    malformed::<u64>(&[255; 8], "column `cf:x` holds the integer -1; `u64` is 0 to 9223372036854775807");
    malformed::<i16>(
        b"\xff\xff\xff\xff\xff\xff\x7f\xff",
        "column `cf:x` holds the integer -32769; `i16` is -32768 to 32767",
    );
    malformed::<bool>(
        b"\0\0\0\0\0\0\0\x02",
        "column `cf:x` holds the integer 2; `bool` is stored as the integer 0 or 1",
    );
}

#[test]
fn text_that_is_not_text_is_malformed() {
    malformed::<String>(
        b"a\xff",
        "column `cf:x` holds 2 bytes, `61ff`; text is stored as UTF-8: invalid utf-8 sequence of 1 bytes from \
         index 1",
    );
    malformed::<char>(b"ab", "column `cf:x` holds `ab`; `char` is stored as one character in UTF-8");
    malformed::<char>(b"", "column `cf:x` holds no bytes; `char` is stored as one character in UTF-8");
}

#[test]
fn json_that_does_not_parse_is_malformed() {
    let error = malformed::<Vec<u8>>(
        b"[1,\"x\"]",
        "column `cf:x` holds `[1,\"x\"]`, which is not its field as JSON: invalid type: string \"x\", \
         expected u8 at line 1 column 6",
    );
    assert!(error.source().unwrap().is::<serde_json::Error>());
    malformed::<Vec<u8>>(
        b"[1]x",
        "column `cf:x` holds `[1]x`, which is not its field as JSON: trailing characters at line 1 column 4",
    );
    malformed::<Vec<u8>>(
        b"\xc3\xbc\n\xff",
        "column `cf:x` holds `ü\\n\\xff`, which is not its field as JSON: expected value at line 1 column 1",
    );
    malformed::<(u8, u8)>(
        b"",
        "column `cf:x` holds no bytes, which is not its field as JSON: EOF while parsing a value at line 1 \
         column 0",
    );
    malformed::<Vec<u8>>(
        b"[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,",
        "column `cf:x` holds `[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1…`, which is not its field as JSON: EOF while \
         parsing a value at line 1 column 37",
    );
}

#[test]
fn a_variant_that_is_not_there_is_malformed() {
    let variants = "the variants are `Point`, `Circle`, `Line`, `Rect`";
    malformed::<Shape>(b"Dot", &format!("column `cf:x` holds the variant `Dot`; {variants}"));
    malformed::<Shape>(b"Circle", "column `cf:x` holds unit variant; the field expects newtype variant");
    malformed::<Shape>(
        b"{\"Circle\":300}",
        "column `cf:x` holds `{\"Circle\":300}`, which is not its field as JSON: invalid value: integer `300`, \
         expected u8 at line 1 column 13",
    );
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Untagged {
    #[expect(dead_code, reason = "the field only gives the enum something to read")]
    Number(u8),
}

#[test]
fn a_value_without_a_type_is_refused() {
    let text = "column `cf:x` is read without a type, but stored bytes have no type; give the field a concrete type \
                instead of a tagged or untagged enum or `serde_json::Value`, or store it as JSON with \
                `#[serde(with = \"keyderive::row::json\")]`, in a map through a newtype with this attribute on its \
                field; and do not flatten into a struct that is a family";
    unreadable::<One<Untagged>>(text);
    unreadable::<One<serde_json::Value>>(text);
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[serde(alias = "old")]
    #[expect(dead_code, reason = "the field only gives the struct a column")]
    new: String,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "One<u8>")]
struct Checked;

impl TryFrom<One<u8>> for Checked {
    type Error = String;

    fn try_from(row: One<u8>) -> Result<Self, String> {
        Err(format!("{} is not a prime", row.x))
    }
}

#[test]
fn what_the_row_type_rejects_is_passed_on() {
    let error = read::<Strict>(vec![cell("other", b"")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `cf:other` is unknown to the row type; its columns are `new`, `old`"
    );
    let error = read::<Checked>(vec![cell("x", b"\0\0\0\0\0\0\0\x04")]).unwrap_err();
    assert_eq!(error.to_string(), "the row in family `cf`: 4 is not a prime");
    assert!(!error.is_malformed() && !error.is_unsupported() && !error.is_missing_column());
}

#[derive(Debug, Serialize)]
struct Picky {
    #[serde(serialize_with = "refuse")]
    x: u8,
}

fn refuse<S: serde::Serializer>(x: &u8, _: S) -> Result<S::Ok, S::Error> {
    Err(serde::ser::Error::custom(format_args!("{x} is odd")))
}

#[test]
fn what_a_field_rejects_names_its_column() {
    assert_eq!(write(&Picky { x: 3 }).unwrap_err().to_string(), "column `cf:x`: 3 is odd");
}
