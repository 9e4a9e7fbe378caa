//! What would be written and not be read back is refused when it is written.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Shape, read, store, write_as};

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

const UNTYPED: &str = "is read without a type, and bytes do not say theirs; give the field a concrete type";

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
