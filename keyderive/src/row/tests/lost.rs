//! What would be written and not be read back is refused when it is written.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Shape, cell, read, read_of, store, write_as};
use crate::row::{Timestamped, Versions};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct One<T> {
    x: T,
}

#[track_caller]
fn refused<R: Serialize + DeserializeOwned>(row: &R, text: &str) {
    let error = write_as(row, &Shape::of::<R>(), false).unwrap_err();
    assert!(error.to_string().contains(text), "{error}");
    assert!(error.is_unsupported());
}

#[track_caller]
fn kept<R: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(row: &R) {
    let mutations = write_as(row, &Shape::of::<R>(), false).unwrap();
    assert_eq!(read::<R>(store(mutations)).unwrap(), *row);
}

const UNTYPED: &str = "is read without a type, but stored bytes have no type; give the field a concrete type";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Internal {
    Click { at: i64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Click(i64),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
}

#[test]
fn a_field_without_a_type_is_refused() {
    refused(&One { x: json!(1) }, &format!("column `cf:x` {UNTYPED}"));
    refused(&One { x: Some(json!({})) }, &format!("column `cf:x` {UNTYPED}"));
    refused(&One { x: Untagged::Number(1) }, &format!("column `cf:x` {UNTYPED}"));
    refused(&One { x: Internal::Click { at: 1 } }, &format!("column `cf:x` {UNTYPED}"));
    refused(&One { x: Adjacent::Click(1) }, &format!("column `x:c` {UNTYPED}"));
    refused(&One { x: BTreeMap::from([("a".to_owned(), json!(1))]) }, &format!("column `x:a` {UNTYPED}"));
    refused(&BTreeMap::from([("a".to_owned(), json!(1))]), &format!("column `cf:a` {UNTYPED}"));
    kept(&One { x: None::<Value> });
    kept(&One { x: vec![json!(1), Value::Null] });
    kept(&One { x: BTreeMap::from([("a".to_owned(), vec![json!(1)])]) });
}

#[test]
fn an_enum_without_a_type_is_no_row() {
    let text = "the row in family `cf` is read into a type that is neither a struct";
    refused(&Internal::Click { at: 1 }, text);
    refused(&json!({"a": 1}), text);
    refused(&Adjacent::Click(1), &format!("column `cf:c` {UNTYPED}"));
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Extra<T> {
    known: i64,
    #[serde(flatten)]
    extra: T,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Count(#[serde(with = "crate::row::flattened")] i64);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Json(#[serde(with = "crate::row::json")] Value);

#[test]
fn a_flattened_value_that_would_be_read_as_text_is_refused() {
    fn extra<T>(value: T) -> Extra<BTreeMap<String, T>> {
        Extra { known: 1, extra: [("a".to_owned(), value)].into() }
    }
    refused(
        &extra(1_i64),
        "column `cf:a` is an `i64` in a flattened field, which serde reads as text: mark a number or a `bool` there with \
         `#[serde(with = \"keyderive::row::flattened\")]`, and the numbers of a map by a type of their own, `struct \
         Count(#[serde(with = \"keyderive::row::flattened\")] i64)`",
    );
    refused(&extra(json!(1)), "column `cf:a` is a `u64` in a flattened field");
    refused(&extra(vec!["a".to_owned()]), "column `cf:a` is a sequence in a flattened field");
    refused(&extra(json!([])), "store it as JSON with `#[serde(with = \"keyderive::row::json\")]`");
    kept(&extra(Count(i64::MIN)));
    kept(&extra(Json(json!({"b": [1.5, null]}))));
    kept(&extra("text".to_owned()));
    kept(&Extra { known: 1, extra: One { x: "text".to_owned() } });
    refused(&Extra { known: 1, extra: One { x: 1.5 } }, "column `cf:x` is an `f64` in a flattened field");
    // In a family, nothing is read as text.
    refused(&One { x: extra("text".to_owned()) }, &format!("column `x:a` {UNTYPED}"));
}

#[test]
fn a_float_that_json_does_not_have_is_refused() {
    let text = "and JSON, in which a value below a column is stored, has no NaN and no infinity";
    refused(&One { x: vec![0.5, f64::NAN] }, &format!("column `cf:x` holds NaN, {text}"));
    refused(&One { x: (1, f32::INFINITY) }, &format!("column `cf:x` holds inf, {text}"));
    refused(
        &One { x: One { x: Some(One { x: f64::NEG_INFINITY }) } },
        &format!("column `x:x` holds -inf, {text}"),
    );
    kept(&One { x: vec![0.5, f64::MAX] });
    let mutations = write_as(&One { x: f64::NAN }, &Shape::of::<One<f64>>(), false).unwrap();
    assert!(read::<One<f64>>(store(mutations)).unwrap().x.is_nan());

    #[derive(Debug, Serialize, Deserialize)]
    struct Row {
        #[serde(with = "crate::row::json")]
        x: f64,
    }
    let error = write_as(&Row { x: f64::NAN }, &Shape::of::<Row>(), false).unwrap_err();
    assert!(error.to_string().starts_with("column `cf:x`: holds NaN, "), "{error}");
}

/// An entry without a value is not there when it is read.
#[test]
fn an_entry_of_a_map_without_a_value_is_refused() {
    let text = "is an entry of a map with no value, a `None` or no versions, and would be read back without the entry";
    fn map<V>(a: V, b: V) -> BTreeMap<String, V> {
        [("a".to_owned(), a), ("b".to_owned(), b)].into()
    }
    refused(&map(Some(1), None), &format!("column `cf:b` {text}"));
    refused(&One { x: map(Some(1), None) }, &format!("column `x:b` {text}"));
    refused(&One { x: Some(map(None, Some("v".to_owned()))) }, &format!("column `x:a` {text}"));
    let version = Timestamped::new(1000, 1);
    refused(&One { x: map(Versions::from([version]), Versions::new()) }, &format!("column `x:b` {text}"));
    kept(&map(Some(1), Some(2)));
    kept(&One { x: map(Versions::from([version]), [version].into()) });
    // A map that is JSON has a form for it, and so has an entry that is.
    kept(&One { x: vec![map(Some(1), None)] });
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Entry(#[serde(with = "crate::row::json")] Option<i64>);
    kept(&map(Entry(Some(1)), Entry(None)));
    // A unit is a value.
    kept(&One { x: map((), ()) });
}

fn seven() -> Option<i64> {
    Some(7)
}

/// An absent column is a `None` that was written, whatever default the field has for data of other formats.
#[test]
fn the_default_of_an_option_hides_no_none() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        name: String,
        #[serde(default = "seven")]
        a: Option<i64>,
        #[serde(default = "seven", rename = "bb", alias = "b", alias = "z")]
        b: Option<i64>,
        #[serde(default)]
        c: Option<i64>,
        #[serde(default = "place")]
        place: Option<Place>,
        #[serde(default = "versions")]
        versions: Versions<i64>,
        #[serde(default = "one")]
        number: i64,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Place {
        city: String,
        #[serde(default = "seven")]
        floor: Option<i64>,
    }

    fn place() -> Option<Place> {
        Some(Place { city: "Paris".into(), floor: None })
    }

    fn versions() -> Versions<i64> {
        [Timestamped::new(1000, 1)].into()
    }

    fn one() -> i64 {
        1
    }

    let row = |a, b, place, versions| Row { name: "a".into(), a, b, c: None, place, versions, number: 3 };
    kept(&row(None, None, None, Versions::new()));
    kept(&row(Some(1), None, place(), Versions::new()));
    kept(&row(None, Some(1), Some(Place { city: "Rome".into(), floor: Some(1) }), versions()));
    // Under an alias it is there, and no second time.
    let read_b = |cells| read::<Row>(cells).unwrap().b;
    assert_eq!(read_b(vec![cell("name", b"a"), cell("z", b"\0\0\0\0\0\0\0\x05")]), Some(5));
    assert_eq!(read_b(vec![cell("name", b"a")]), None);
    // What is no option has its default, and so has it where the row is read as another type than the table's.
    assert_eq!(read::<Row>(vec![cell("name", b"a")]).unwrap().number, 1);
    #[derive(Debug, PartialEq, Deserialize)]
    struct Other {
        #[serde(default = "one")]
        a: i64,
    }
    assert_eq!(read_of::<Other>(vec![cell("name", b"a")], &Shape::of::<Row>()).unwrap(), Other { a: 1 });

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Whole {
        a: Option<i64>,
        b: i64,
    }

    impl Default for Whole {
        fn default() -> Self {
            Self { a: Some(1), b: 2 }
        }
    }

    kept(&Whole { a: None, b: 5 });
    kept(&Whole { a: Some(3), b: 5 });
    assert_eq!(read::<Whole>(vec![]).unwrap(), Whole { a: None, b: 2 });
}

/// A field that is read by a function of its own is left to it: an absence and a `None` may be two things there.
#[test]
fn a_field_with_a_function_of_its_own_keeps_its_default() {
    fn some<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<i64>>, D::Error> {
        Option::deserialize(deserializer).map(Some)
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        name: String,
        #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
        a: Option<Option<i64>>,
    }

    kept(&Row { name: "a".into(), a: None });
    kept(&Row { name: "a".into(), a: Some(Some(1)) });
    refused(&Row { name: "a".into(), a: Some(None) }, "is `Some(None)`, which would be read as `None`");
}

/// JSON has one `null` for `None`, for `Some(None)` and for `Some(())`.
#[test]
fn a_some_that_json_has_as_null_is_refused() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Unit;
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Maybe(Option<i64>);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Variant {
        Of(Option<Option<i64>>),
        In { x: Option<()> },
    }

    let text = "column `cf:x` holds `Some(None)`, or `Some` of a unit, which JSON has as `null`, and which would be read as \
                `None`; use one `Option`, a `bool`, or an enum of your own";
    refused(&One { x: vec![Some(None::<i64>)] }, text);
    refused(&One { x: vec![One { x: Some(Some(None::<i64>)) }] }, text);
    refused(&One { x: (1, Some(())) }, text);
    refused(&One { x: vec![Some(Unit)] }, text);
    refused(&One { x: vec![Some(Maybe(None))] }, text);
    refused(&One { x: vec![Some(Value::Null)] }, text);
    refused(&One { x: Variant::Of(Some(None)) }, text);
    refused(&One { x: Variant::In { x: Some(()) } }, text);
    kept(&One { x: vec![Some(Some(1)), None] });
    kept(&One { x: vec![(Maybe(None), Unit, ())] });
    kept(&One { x: Variant::Of(None) });
    kept(&One { x: vec![Some(vec![None, Some(1)])] });
    // A column has a cell for it.
    kept(&One { x: Some(()) });
    kept(&One { x: Some(BTreeMap::<String, i64>::new()) });

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        #[serde(with = "crate::row::json")]
        x: Option<Option<i64>>,
    }
    kept(&Row { x: None });
    kept(&Row { x: Some(Some(1)) });
    let error = write_as(&Row { x: Some(None) }, &Shape::of::<Row>(), false).unwrap_err();
    assert!(error.to_string().starts_with("column `cf:x`: holds `Some(None)`"), "{error}");
}

#[test]
fn json_that_is_too_deep_to_be_read_is_refused() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Deep {
        End,
        Next(Box<Deep>),
        Field { next: Vec<Deep> },
    }

    fn deep(levels: u8) -> One<Deep> {
        One { x: (0..levels).fold(Deep::End, |deep, _| Deep::Next(Box::new(deep))) }
    }
    kept(&deep(127));
    refused(&deep(128), "column `cf:x` is deeper than the 127 arrays and objects in one another");
    let array = |levels| (0..levels).fold(json!(1), |deep, _| json!([deep]));
    kept(&One { x: vec![array(126)] });
    refused(&One { x: vec![array(127)] }, "is deeper than the 127");
    let field = |levels| One { x: (0..levels).fold(Deep::End, |deep, _| Deep::Field { next: vec![deep] }) };
    kept(&field(42));
    refused(&field(43), "is deeper than the 127");

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        #[serde(with = "crate::row::json")]
        x: Value,
    }
    kept(&Row { x: array(127) });
    let error = write_as(&Row { x: array(128) }, &Shape::of::<Row>(), false).unwrap_err();
    assert!(error.to_string().starts_with("column `cf:x`: is deeper than the 127 "), "{error}");
}
