//! Fields that are structs and maps, hence families of their own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    FAMILY, Mutation, Shape, cell, cell_in, delete, read, read_of, set, set_in, store, write, write_as,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Stats {
    clicks: u32,
    note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Page {
    title: Option<String>,
    stats: Stats,
    extra: Option<Stats>,
    #[serde(rename = "d")]
    daily: BTreeMap<String, u8>,
    tags: Option<BTreeMap<String, String>>,
}

const ONE: &[u8] = b"\0\0\0\0\0\0\0\x01";

fn stats(note: Option<&str>) -> Stats {
    Stats { clicks: 1, note: note.map(str::to_owned) }
}

fn page() -> Page {
    Page { title: None, stats: stats(None), extra: None, daily: BTreeMap::new(), tags: None }
}

fn delete_in(family: &'static str, qualifier: &'static str) -> Mutation {
    Mutation::delete_column(family, qualifier)
}

fn write_page(page: &Page) -> Vec<Mutation> {
    write_as(page, &Shape::of::<Page>(), false).unwrap()
}

#[test]
fn a_struct_is_a_family_with_its_fields_as_columns() {
    let row = Page { title: Some("t".into()), stats: stats(Some("n")), ..page() };
    let sets = [set("title", b"t"), set_in("stats", "clicks", ONE), set_in("stats", "note", b"n")];
    assert_eq!(write_page(&row)[5..8], sets);
    let absent = [delete_in("stats", "note"), set_in("stats", "clicks", ONE)];
    let mutations = write_page(&page());
    assert!(absent.iter().all(|mutation| mutations.contains(mutation)), "{mutations:?}");
}

#[test]
fn a_map_is_a_family_with_its_keys_as_columns() {
    let row = Page { daily: [("METER:0015".to_owned(), 1)].into(), ..page() };
    let mutations = write_page(&row);
    assert!(mutations.contains(&Mutation::delete_family("d")));
    assert_eq!(mutations.last(), Some(&set_in("d", "METER:0015", ONE)));
}

#[test]
fn an_absent_family_is_deleted_as_its_type_says() {
    let mutations = write_page(&page());
    let deletes = [
        delete("title"),
        delete_in("stats", "note"),
        delete_in("extra", "clicks"),
        delete_in("extra", "note"),
        delete_in("extra", ""),
        Mutation::delete_family("d"),
        Mutation::delete_family("tags"),
    ];
    assert_eq!(mutations[..7], deletes);
    // Of a type that is only written nothing is known.
    let mutations = write(&page()).unwrap();
    assert!(mutations.contains(&delete("extra")) && mutations.contains(&delete("tags")), "{mutations:?}");
}

#[test]
fn a_family_without_a_column_is_marked() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sparse {
        a: Option<u8>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        some: Option<Sparse>,
        none: Option<Sparse>,
        map: BTreeMap<String, u8>,
    }

    let row = Row { some: Some(Sparse { a: None }), none: None, map: BTreeMap::new() };
    let mutations = write_as(&row, &Shape::of::<Row>(), false).unwrap();
    assert!(mutations.contains(&set_in("some", "", b"")) && mutations.contains(&set_in("map", "", b"")));
    assert_eq!(read::<Row>(store(mutations)).unwrap(), row);
}

#[test]
fn merging_deletes_nothing() {
    let row = Page { daily: [("a".to_owned(), 1)].into(), ..page() };
    let mutations = write_as(&row, &Shape::of::<Page>(), true).unwrap();
    assert_eq!(mutations, [set_in("stats", "clicks", ONE), set_in("d", "a", ONE)]);
}

#[test]
fn families_round_trip() {
    let full = Page {
        title: Some("t".into()),
        stats: stats(Some("a")),
        extra: Some(stats(None)),
        daily: [("x".to_owned(), 1), ("y".to_owned(), 2)].into(),
        tags: Some([("k".to_owned(), "v".to_owned())].into()),
    };
    for row in [full, page(), Page { tags: Some(BTreeMap::new()), ..page() }] {
        assert_eq!(read::<Page>(store(write_page(&row))).unwrap(), row);
    }
}

#[test]
fn an_absent_family_is_none_or_its_default_or_empty() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        none: Option<Stats>,
        #[serde(default = "given")]
        given: BTreeMap<String, u8>,
        empty: BTreeMap<String, u8>,
        boxed: Box<Nothing>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Nothing {
        a: Option<u8>,
    }

    fn given() -> BTreeMap<String, u8> {
        [("a".to_owned(), 1)].into()
    }

    let row =
        Row { none: None, given: given(), empty: BTreeMap::new(), boxed: Box::new(Nothing { a: None }) };
    assert_eq!(read::<Row>(vec![cell("", b"")]).unwrap(), row);
    // Columns of others in a family do not make it present.
    assert_eq!(read::<Row>(vec![cell_in("none", "others", b"")]).unwrap(), row);
}

#[test]
fn a_missing_column_of_a_family_is_named() {
    let missing = "column `stats:clicks` is missing; make the field an `Option`, give it `#[serde(default)]`, or leave such rows out of scans with `.on_unreadable(OnUnreadable::Skip)`";
    for cells in [vec![cell("", b"")], vec![cell_in("stats", "note", b"")]] {
        let error = read::<Page>(cells).unwrap_err();
        assert_eq!(error.to_string(), missing);
        assert!(error.is_missing_column());
    }
    let error = read::<Page>(vec![cell_in("stats", "clicks", b"x")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `stats:clicks` holds 1 byte, `78`; `u32` is stored as an integer of 8 bytes, big-endian"
    );
}

#[test]
fn a_column_with_a_family_s_name_is_another_one() {
    let cells = vec![cell("stats", b"x"), cell_in("stats", "clicks", ONE), cell_in("title", "a", b"")];
    assert_eq!(read::<Page>(cells).unwrap(), page());
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct One<T> {
    x: T,
}

#[test]
fn what_is_deeper_than_a_column_is_json() {
    type Deep = One<One<BTreeMap<u8, Option<bool>>>>;
    let row: Deep = One { x: One { x: [(1, Some(true)), (2, None)].into() } };
    let mutations = write(&row).unwrap();
    assert_eq!(mutations, [set_in("x", "x", br#"{"1":true,"2":null}"#)]);
    assert_eq!(read::<Deep>(store(mutations)).unwrap(), row);

    // A row that is a map has columns alone.
    let row = BTreeMap::from([("a".to_owned(), One { x: 1_u8 })]);
    let mutations = write(&row).unwrap();
    assert_eq!(mutations, [Mutation::delete_family(FAMILY), set("a", br#"{"x":1}"#)]);
    assert_eq!(read::<BTreeMap<String, One<u8>>>(store(mutations)).unwrap(), row);
    let error = write(&One { x: One { x: BTreeMap::from([((), 1)]) } }).unwrap_err();
    assert_eq!(error.to_string(), "column `x:x` cannot be written as JSON: key must be a string");
}

#[test]
fn json_in_a_column_is_one_text() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        #[serde(with = "crate::row::json")]
        x: BTreeMap<String, One<u8>>,
    }

    let row = Row { x: [("a".to_owned(), One { x: 1 })].into() };
    let mutations = write(&row).unwrap();
    assert_eq!(mutations, [set("x", br#"{"a":{"x":1}}"#)]);
    assert_eq!(read::<Row>(store(mutations)).unwrap(), row);
    let error = read::<Row>(vec![cell("x", b"{")]).unwrap_err();
    assert!(error.to_string().starts_with("column `cf:x`: EOF while parsing"), "{error}");
}

#[test]
fn a_family_has_a_name_that_a_family_can_have() {
    #[derive(Serialize)]
    struct Named {
        #[serde(rename = "a b")]
        x: One<u8>,
    }

    #[derive(Serialize)]
    struct Own {
        cf: One<u8>,
    }

    let error = write(&Named { x: One { x: 1 } }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `cf:a b` is a struct or a map, hence a column family, whose name has 1 to 64 ASCII letters, digits, \
         `-`, `_` and `.`; give the field such a name with `#[serde(rename = \"…\")]`"
    );
    let error = write(&Own { cf: One { x: 1 } }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `cf:cf` is a struct or a map, hence a column family, and has the name of the family of the row's \
         other columns; give it another name with `#[serde(rename = \"…\")]`, or the table another family with \
         `.family(…)`"
    );
    assert!(error.is_unsupported());
}

#[test]
fn a_fault_in_a_family_names_its_column() {
    let error = write(&One { x: One { x: u64::MAX } }).unwrap_err();
    assert!(error.to_string().starts_with("column `x:x` is 18446744073709551615"), "{error}");
    let error = write(&One { x: BTreeMap::from([("a", 1_i128)]) }).unwrap_err();
    assert!(error.to_string().starts_with("column `x:a` is of type `i128`"), "{error}");
    let error = write(&One { x: BTreeMap::from([(1, 1)]) }).unwrap_err();
    assert!(error.to_string().starts_with("the row in family `x` is a map whose key is an `i32`"), "{error}");
}

/// A lent row is read as another type than the table's.
#[test]
fn a_family_that_the_tables_row_type_does_not_have_is_not_lost() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Title {
        title: String,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Lent {
        title: Option<String>,
        stats: Option<Stats>,
        #[serde(default)]
        tags: BTreeMap<String, String>,
    }
    let title = || cell("title", b"t");
    let lent = |stats| Lent { title: Some("t".to_owned()), stats, tags: BTreeMap::new() };
    let narrow = Shape::of::<Title>();
    for shape in [narrow, Shape::of::<()>(), Shape::of::<BTreeMap<String, String>>()] {
        for cells in [vec![title(), cell_in("stats", "clicks", ONE)], vec![cell_in("stats", "clicks", ONE)]] {
            let error = read_of::<Lent>(cells, &shape).unwrap_err();
            assert!(error.is_unsupported());
            assert!(error.to_string().starts_with(
                "the row in family `stats` has cells, but the table's row type has no field of this name"
            ));
        }
        // What is not there is not lost, nor what is not asked for.
        assert_eq!(read_of::<Lent>(vec![title()], &shape).unwrap(), lent(None));
        let cells = vec![title(), cell_in("other", "clicks", ONE)];
        assert_eq!(read_of::<Lent>(cells, &shape).unwrap(), lent(None));
        let cells = vec![title(), cell_in("stats", "clicks", ONE)];
        assert_eq!(read_of::<Title>(cells, &shape).unwrap(), Title { title: "t".to_owned() });
    }
    let cells = vec![title(), cell_in("stats", "clicks", ONE)];
    assert_eq!(read_of::<Lent>(cells, &Shape::of::<Lent>()).unwrap(), lent(Some(stats(None))));
}
