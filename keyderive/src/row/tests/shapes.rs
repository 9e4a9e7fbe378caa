//! Which columns a row has, and what happens to the others.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{Mutation, cell, delete, read, set, store, write};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Event {
    kind: String,
    note: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

fn event() -> Event {
    Event { kind: "click".to_owned(), note: None, tags: Vec::new() }
}

#[test]
fn absent_columns_are_deleted_before_the_others_are_set() {
    let mutations = write(&event()).unwrap();
    assert_eq!(mutations, [delete("note"), delete("tags"), set("kind", b"click")]);
    assert_eq!(read::<Event>(store(mutations)).unwrap(), event());
}

#[test]
fn a_full_row_deletes_nothing() {
    let row = Event { note: Some(String::new()), tags: vec!["a".to_owned()], ..event() };
    let mutations = write(&row).unwrap();
    assert_eq!(mutations, [set("kind", b"click"), set("note", b""), set("tags", br#"["a"]"#)]);
    assert_eq!(read::<Event>(store(mutations)).unwrap(), row);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Sparse {
    a: Option<u8>,
    b: Option<u8>,
}

#[test]
fn a_row_without_values_is_its_marker() {
    let mutations = write(&Sparse { a: None, b: None }).unwrap();
    assert_eq!(mutations, [delete("a"), delete("b"), set("", b"")]);
    assert_eq!(read::<Sparse>(store(mutations)).unwrap(), Sparse { a: None, b: None });
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Nothing;

#[test]
fn a_unit_is_a_row_without_columns() {
    assert_eq!(write(&()).unwrap(), [set("", b"")]);
    assert_eq!(write(&Nothing).unwrap(), [set("", b"")]);
    read::<()>(vec![cell("", b"")]).unwrap();
    assert_eq!(read::<Nothing>(vec![cell("other", b"x")]).unwrap(), Nothing);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Wrapper(Event);

#[test]
fn a_newtype_of_a_struct_is_that_struct() {
    assert_eq!(write(&Wrapper(event())).unwrap(), write(&event()).unwrap());
    assert_eq!(read::<Wrapper>(vec![cell("kind", b"click")]).unwrap(), Wrapper(event()));
}

#[test]
fn a_map_replaces_its_family() {
    let row = BTreeMap::from([("a", 1)]);
    let whole = Mutation::delete_family(super::FAMILY);
    assert_eq!(write(&row).unwrap(), [whole.clone(), set("a", b"\0\0\0\0\0\0\0\x01")]);
    assert_eq!(write(&BTreeMap::<String, u8>::new()).unwrap(), [whole, set("", b"")]);
}

#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Channel {
    Web,
    Shop,
}

#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Name(String);

#[test]
fn a_map_has_the_columns_of_its_keys() {
    let cells =
        || vec![cell("", b""), cell("Shop", b"\0\0\0\0\0\0\0\x02"), cell("Web", b"\0\0\0\0\0\0\0\x01")];
    let by_text = HashMap::from([("Shop".to_owned(), 2_u8), ("Web".to_owned(), 1)]);
    let by_name = HashMap::from([(Name("Shop".to_owned()), 2_u8), (Name("Web".to_owned()), 1)]);
    let by_channel = HashMap::from([(Channel::Shop, 2_u8), (Channel::Web, 1)]);
    assert_eq!(read::<HashMap<String, u8>>(cells()).unwrap(), by_text);
    assert_eq!(read::<HashMap<Name, u8>>(store(write(&by_name).unwrap())).unwrap(), by_name);
    assert_eq!(read::<HashMap<Channel, u8>>(store(write(&by_channel).unwrap())).unwrap(), by_channel);
}

#[test]
fn the_newest_cell_of_a_column_is_read() {
    let cells = vec![cell("kind", b"new"), cell("kind", b"old"), cell("note", b"n"), cell("note", b"\xff")];
    let row = Event { kind: "new".to_owned(), note: Some("n".to_owned()), tags: Vec::new() };
    assert_eq!(read::<Event>(cells).unwrap(), row);
}

#[test]
fn other_columns_and_families_are_ignored() {
    let mut elsewhere = cell("kind", b"elsewhere");
    elsewhere.family = "af".into();
    let mut binary = cell("zz", b"");
    binary.qualifier = b"\xff\xfe".as_slice().into();
    let cells = vec![elsewhere, cell("", b""), cell("kind", b"click"), cell("later", b"\xff"), binary];
    assert_eq!(read::<Event>(cells).unwrap(), event());
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Attributes {
    #[serde(rename = "k")]
    kind: String,
    #[serde(alias = "old")]
    new: u8,
    #[serde(default)]
    count: u32,
    #[serde(skip)]
    cache: u32,
}

#[test]
fn serde_attributes_hold() {
    let row = Attributes { kind: "x".to_owned(), new: 0, count: 0, cache: 9 };
    let zero = b"\0\0\0\0\0\0\0\0";
    assert_eq!(write(&row).unwrap(), [set("k", b"x"), set("new", zero), set("count", zero)]);
    let cells = vec![cell("cache", b""), cell("k", b"x"), cell("old", zero)];
    assert_eq!(read::<Attributes>(cells).unwrap(), Attributes { cache: 0, ..row });
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Maybe(Option<u8>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Holder {
    m: Maybe,
}

#[test]
fn a_transparent_newtype_of_none_is_absent() {
    let row = Holder { m: Maybe(None) };
    let mutations = write(&row).unwrap();
    assert_eq!(mutations, [delete("m"), set("", b"")]);
    assert_eq!(read::<Holder>(store(mutations)).unwrap(), row);
}
