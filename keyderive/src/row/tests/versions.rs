//! Values with timestamps.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Cell;
use super::{Mutation, cell, delete, read, set, store, write};
use crate::row::{Timestamped, Versions};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct One<T> {
    x: T,
}

fn at<T>(millis: i64, value: T) -> Timestamped<T> {
    Timestamped::new(millis * 1000, value)
}

fn set_at(qualifier: &'static str, millis: i64, value: &'static [u8]) -> Mutation {
    Mutation::set("cf", qualifier, millis * 1000, value)
}

#[track_caller]
fn stored<T: Serialize + DeserializeOwned + PartialEq + Debug>(x: T, mutations: &[Mutation]) {
    let row = One { x };
    assert_eq!(write(&row).unwrap(), mutations);
    assert_eq!(read::<One<T>>(store(mutations.to_vec())).unwrap(), row);
}

#[test]
fn a_timestamp_is_that_of_the_cell_and_the_only_one() {
    stored(at(5, "a".to_owned()), &[delete("x"), set_at("x", 5, b"a")]);
    stored(Some(at(0, "a".to_owned())), &[delete("x"), set_at("x", 0, b"a")]);
    stored(None::<Timestamped<u8>>, &[delete("x"), set("", b"")]);
}

#[test]
fn versions_are_cells_newest_first() {
    let versions: Versions<String> = [at(5, "old".to_owned()), at(7, "new".to_owned())].into();
    assert_eq!(versions.newest().map(String::as_str), Some("new"));
    stored(versions, &[delete("x"), set_at("x", 7, b"new"), set_at("x", 5, b"old")]);
    stored(Versions::<u8>::new(), &[delete("x"), set("", b"")]);
}

#[test]
fn maps_have_versions_too() {
    let x =
        BTreeMap::from([("a".to_owned(), Versions::from([at(1, "b".to_owned()), at(2, "c".to_owned())]))]);
    let row = One { x };
    let mutations = write(&row).unwrap();
    let set = |millis: i64, value: &'static [u8]| Mutation::set("x", "a", millis * 1000, value);
    assert_eq!(mutations, [Mutation::delete_family("x"), set(2, b"c"), set(1, b"b")]);
    assert_eq!(read::<One<BTreeMap<String, Versions<String>>>>(store(mutations)).unwrap(), row);
    // As columns of the row's own family.
    assert_eq!(read::<BTreeMap<String, Versions<String>>>(store(write(&row.x).unwrap())).unwrap(), row.x);
}

#[test]
fn other_columns_are_read_from_their_newest_version() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Row {
        a: String,
        x: Versions<String>,
    }

    let version =
        |qualifier, millis: i64, value| Cell { timestamp_micros: millis * 1000, ..cell(qualifier, value) };
    let cells =
        vec![version("a", 9, b"9"), version("a", 8, b"8"), version("x", 3, b"3"), version("x", 1, b"1")];
    let x = [at(3, "3".to_owned()), at(1, "1".to_owned())].into();
    assert_eq!(read::<Row>(cells).unwrap(), Row { a: "9".into(), x });
}

#[track_caller]
fn refused<T: Serialize>(x: T, text: &str) {
    let error = write(&One { x }).unwrap_err();
    assert_eq!(error.to_string(), format!("column `cf:x` {text}"));
    assert!(error.is_unsupported());
}

#[test]
fn a_timestamp_is_of_whole_milliseconds() {
    let text = |given: i64, write: i64| {
        format!(
            "has the timestamp {given}; Bigtable stores whole milliseconds from 0 on, given in microseconds: write \
             {write}"
        )
    };
    refused(Timestamped::new(1_234_567, 1), &text(1_234_567, 1_234_000));
    refused(Versions::from([Timestamped::new(-1000, 1)]), &text(-1000, 0));
    assert_eq!(Timestamped::now(()).timestamp_micros % 1000, 0);
}

#[test]
fn versions_that_would_not_come_back_are_refused() {
    refused(
        Versions::from([at(1, 1), at(2, 2), at(1, 3)]),
        "has two versions with the timestamp 1000, of which Bigtable keeps one; give each its own",
    );
    refused(
        at(1, None::<u8>),
        "is a `None` inside `Timestamped` or `Versions`, which would not be read back; put the `Option` around it",
    );
    refused(Some(Versions::<u8>::new()), "is `Some(None)`, which would be read as `None`; use one `Option`");
    refused(
        at(1, at(2, 3)),
        "is a timestamp inside another one; a cell has one timestamp: use one `Timestamped` or `Versions`",
    );
}

#[test]
fn other_formats_have_them_as_structs() {
    let versions = Versions::from([at(1, "a".to_owned()), at(2, "b".to_owned())]);
    let json = serde_json::to_string(&One { x: versions.clone() }).unwrap();
    let expected = r#"{"x":[{"timestamp_micros":2000,"value":"b"},{"timestamp_micros":1000,"value":"a"}]}"#;
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_str::<One<Versions<String>>>(&json).unwrap().x, versions);
    assert_eq!(serde_json::from_str::<One<Versions<String>>>("{}").unwrap().x, Versions::new());
}

#[test]
fn a_version_is_inserted_at_its_place() {
    let mut versions = Versions::new();
    [3, 1, 2].into_iter().for_each(|millis| versions.insert(at(millis, millis)));
    assert_eq!(versions.iter().map(|version| version.value).collect::<Vec<_>>(), [3, 2, 1]);
}

#[test]
fn versions_are_a_collection() {
    #[derive(serde::Serialize)]
    struct Row {
        #[serde(skip_serializing_if = "Versions::is_empty")]
        x: Versions<u8>,
    }

    let mut versions: Versions<u8> = [at(1, 1), at(3, 3)].into_iter().collect();
    versions.extend([at(2, 2), at(4, 4)]);
    assert!(!versions.is_empty() && versions.len() == 4 && versions.newest() == Some(&4));
    assert_eq!(versions.first(), Some(&at(4, 4)));
    assert!(versions.iter().map(|version| version.value).eq([4, 3, 2, 1]));
    assert!((&versions).into_iter().eq(versions.clone().into_vec().iter()));
    assert_eq!(serde_json::to_string(&Row { x: Versions::new() }).unwrap(), "{}");
}
