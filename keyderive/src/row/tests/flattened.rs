//! Structs with a flattened field, of which serde does not say the types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FAMILY, Mutation, cell, cell_in, read, set, set_in, store, write};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Page {
    title: String,
    visits: i64,
    daily: BTreeMap<String, u8>,
    #[serde(flatten)]
    audit: Audit,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Audit {
    author: String,
    state: State,
    #[serde(with = "crate::row::flattened")]
    revision: u32,
    #[serde(with = "crate::row::flattened", default, skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(with = "crate::row::flattened")]
    open: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Draft,
    Live,
}

fn page(score: Option<f64>) -> Page {
    let audit = Audit { author: "alice".into(), state: State::Live, revision: u32::MAX, score, open: true };
    Page { title: "t".into(), visits: -1, daily: [("a".to_owned(), 1)].into(), audit }
}

#[test]
fn a_flattened_struct_round_trips() {
    for row in [page(None), page(Some(0.5))] {
        let mutations = write(&row).unwrap();
        assert_eq!(mutations[0], Mutation::delete_family(FAMILY));
        assert!(mutations.contains(&set("revision", b"\0\0\0\0\xff\xff\xff\xff")), "{mutations:?}");
        assert!(mutations.contains(&set_in("daily", "a", b"\0\0\0\0\0\0\0\x01")), "{mutations:?}");
        assert_eq!(read::<Page>(store(mutations)).unwrap(), row);
    }
    // The same module works where nothing is flattened, and in other formats.
    let audit = page(Some(0.5)).audit;
    assert_eq!(read::<Audit>(store(write(&audit).unwrap())).unwrap(), audit);
    assert_eq!(serde_json::from_str::<Audit>(&serde_json::to_string(&audit).unwrap()).unwrap(), audit);
}

#[test]
fn other_columns_are_gathered_as_text() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rest {
        known: u8,
        #[serde(flatten)]
        rest: BTreeMap<String, String>,
    }

    let row = Rest { known: 1, rest: [("a".to_owned(), "b".to_owned())].into() };
    assert_eq!(read::<Rest>(store(write(&row).unwrap())).unwrap(), row);
}

#[test]
fn a_number_that_is_not_marked_is_named() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Row {
        name: String,
        #[serde(flatten)]
        inner: Inner,
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Inner {
        count: u32,
    }

    let row = Row { name: "a".into(), inner: Inner { count: 42 } };
    let error = read::<Row>(store(write(&row).unwrap())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `cf:count` holds string \"\\0\\0\\0\\0\\0\\0\\0*\"; the field expects u32; serde reads flattened fields \
         before it knows their types, as text: mark a number or a `bool` there with \
         `#[serde(with = \"keyderive::row::flattened\")]`, and the numbers of a map by a type of their own, \
         `struct Count(#[serde(with = \"keyderive::row::flattened\")] i64)`"
    );
    assert!(error.is_unsupported());
}

#[test]
fn a_marked_number_that_is_none_is_malformed() {
    let mut cells = store(write(&page(None)).unwrap());
    cells.iter_mut().find(|cell| cell.qualifier == "revision").unwrap().value = b"\xff\0".as_slice().into();
    let error = read::<Page>(cells).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `cf:revision` holds 2 bytes, `ff00`; the field expects `u32`, which is stored as an integer of 8 \
         bytes, big-endian"
    );
    assert!(error.is_malformed());
    let error = read::<Audit>(vec![cell("revision", b"abc")]).unwrap_err();
    assert!(
        error.to_string().starts_with("column `cf:revision` holds 3 bytes, `616263`; the field"),
        "{error}"
    );
}

#[test]
fn families_of_others_are_ignored() {
    let mut cells = store(write(&page(None)).unwrap());
    cells.push(cell_in("others", "a", b"\xff"));
    assert_eq!(read::<Page>(cells).unwrap(), page(None));
}
