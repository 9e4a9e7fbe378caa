//! The exact bytes of each kind of value.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{cell, read, set, write};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct One<T> {
    x: T,
}

/// Asserts that `x` is stored as `bytes` and read back from them.
#[track_caller]
fn stored<T: Serialize + DeserializeOwned + PartialEq + Debug>(x: T, bytes: &'static [u8]) {
    let row = One { x };
    assert_eq!(write(&row).unwrap(), [set("x", bytes)]);
    assert_eq!(read::<One<T>>(vec![cell("x", bytes)]).unwrap(), row);
}

#[test]
fn integers_are_eight_bytes_big_endian() {
    stored(1_i8, b"\0\0\0\0\0\0\0\x01");
    stored(i8::MIN, b"\xff\xff\xff\xff\xff\xff\xff\x80");
    stored(-2_i16, b"\xff\xff\xff\xff\xff\xff\xff\xfe");
    stored(i32::MIN, b"\xff\xff\xff\xff\x80\0\0\0");
    stored(i64::MIN, b"\x80\0\0\0\0\0\0\0");
    stored(i64::MAX, b"\x7f\xff\xff\xff\xff\xff\xff\xff");
    stored(u8::MAX, b"\0\0\0\0\0\0\0\xff");
    stored(u16::MAX, b"\0\0\0\0\0\0\xff\xff");
    stored(u32::MAX, b"\0\0\0\0\xff\xff\xff\xff");
    stored(i64::MAX as u64, b"\x7f\xff\xff\xff\xff\xff\xff\xff");
}

#[test]
fn bools_are_the_integers_0_and_1() {
    stored(false, b"\0\0\0\0\0\0\0\0");
    stored(true, b"\0\0\0\0\0\0\0\x01");
}

#[test]
fn floats_are_ieee_big_endian() {
    stored(1.5_f64, b"\x3f\xf8\0\0\0\0\0\0");
    stored(-0.0_f64, b"\x80\0\0\0\0\0\0\0");
    stored(f64::INFINITY, b"\x7f\xf0\0\0\0\0\0\0");
    stored(1.5_f32, b"\x3f\xc0\0\0");
}

#[test]
fn text_is_utf_8() {
    stored(String::new(), b"");
    stored("grün\0".to_owned(), b"gr\xc3\xbcn\0");
    stored('ü', b"\xc3\xbc");
    stored(std::net::Ipv4Addr::LOCALHOST, b"127.0.0.1");
}

/// Bytes as `serde_bytes` gives them.
#[derive(Debug, PartialEq)]
struct Raw(Vec<u8>);

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = Raw;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Raw, E> {
                Ok(Raw(bytes.to_vec()))
            }
        }

        deserializer.deserialize_byte_buf(Visitor)
    }
}

#[test]
fn bytes_are_as_they_are() {
    stored(Raw(vec![0, 255, b'#']), b"\0\xff#");
    stored(Raw(Vec::new()), b"");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Marker;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Meters(f64);

#[test]
fn units_are_empty_and_newtypes_are_their_inner_value() {
    stored((), b"");
    stored(Marker, b"");
    stored(Meters(1.5), b"\x3f\xf8\0\0\0\0\0\0");
    stored(Some(Some(7_u8)), b"\0\0\0\0\0\0\0\x07");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    #[serde(rename = "{\"no\":")]
    Brace,
    Circle(u32),
    Line(i8, i8),
    Rect {
        width: u8,
        height: u8,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    Nothing {},
}

#[test]
fn unit_variants_are_their_name() {
    stored(Shape::Point, b"Point");
    stored(Shape::Brace, b"{\"no\":");
}

#[test]
fn variants_with_data_are_json() {
    stored(Shape::Circle(3), br#"{"Circle":3}"#);
    stored(Shape::Line(1, -2), br#"{"Line":[1,-2]}"#);
    stored(Shape::Rect { width: 1, height: 2, name: None }, br#"{"Rect":{"width":1,"height":2}}"#);
    stored(
        Shape::Rect { width: 1, height: 2, name: Some("\"".to_owned()) },
        br#"{"Rect":{"width":1,"height":2,"name":"\""}}"#,
    );
    stored(Shape::Nothing {}, br#"{"Nothing":{}}"#);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(u8, String);

#[test]
fn sequences_are_json() {
    stored(Vec::<u8>::new(), b"[]");
    stored(vec![1_u8, 255], b"[1,255]");
    stored([u64::MAX], b"[18446744073709551615]");
    stored((1_u8, "a\"b".to_owned(), None::<u8>), br#"[1,"a\"b",null]"#);
    stored(Pair(1, "x".to_owned()), br#"[1,"x"]"#);
    stored(vec![Shape::Point, Shape::Circle(1)], br#"["Point",{"Circle":1}]"#);
}

#[test]
fn structs_and_maps_inside_a_sequence_are_part_of_its_json() {
    stored(vec![One { x: 1 }, One { x: 2 }], br#"[{"x":1},{"x":2}]"#);
    stored(vec![std::collections::BTreeMap::from([("a".to_owned(), 1)])], br#"[{"a":1}]"#);
}

#[test]
fn whitespace_in_json_is_read() {
    assert_eq!(read::<One<Vec<u8>>>(vec![cell("x", b" [1, 2]\n")]).unwrap(), One { x: vec![1, 2] });
}
