//! `f_any_of` accepts a list in any form that a program has.

use std::borrow::Cow;

use keyderive::RowKey;
use keyderive::plan::{IntoPlan, Request};

use crate::keys::values::{Kind, UserId};

#[derive(RowKey)]
struct Text {
    owner: UserId,
    name: String,
}

#[derive(RowKey)]
struct Lent<'a> {
    name: &'a str,
}

#[derive(RowKey)]
struct Hashed {
    #[row_key(hash(md5))]
    name: String,
}

#[derive(RowKey)]
struct Number {
    kind: Kind,
    number: u16,
}

#[derive(RowKey)]
struct Bytes {
    #[row_key(with = "shout")]
    word: String,
    digest: [u8; 2],
    bytes: Vec<u8>,
}

/// A format written by the user.
mod shout {
    use keyderive::key::{FieldError, Width};

    pub(super) const WIDTH: Width = Width::Delimited;

    pub(super) fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.to_uppercase().as_bytes());
        Ok(())
    }

    pub(super) fn read(bytes: &[u8]) -> Result<String, FieldError> {
        Ok(String::from_utf8_lossy(bytes).to_lowercase())
    }
}

#[track_caller]
fn assert_same<K>(scans: impl IntoIterator<Item = impl IntoPlan<K>>) {
    let requests: Vec<Vec<Request>> =
        scans.into_iter().map(|scan| scan.into_plan().unwrap().requests()).collect();
    assert!(!requests[0].is_empty());
    assert!(requests.iter().all(|other| *other == requests[0]), "{requests:#?}");
}

#[test]
fn text() {
    let names = vec!["a".to_owned(), "b".to_owned()];
    let slice: &[String] = &names;
    let lent: Vec<&str> = vec!["a", "b"];
    assert_same([
        Text::scan().owner_any_of(&names),
        Text::scan().owner_any_of(names.clone()),
        Text::scan().owner_any_of(slice),
        Text::scan().owner_any_of(["a", "b"]),
        Text::scan().owner_any_of(&["a", "b"]),
        Text::scan().owner_any_of(lent.iter()),
        Text::scan().owner_any_of(lent),
        Text::scan().owner_any_of(names.iter().map(String::as_str)),
        Text::scan().owner_any_of(names.iter().cloned()),
        Text::scan().owner_any_of([Cow::from("a"), Cow::from(names[1].clone())]),
        Text::scan().owner_any_of("a b".split(' ')),
    ]);
    let scan = || Text::scan().owner("o");
    assert_same([scan().name_any_of(&names), scan().name_any_of(["a", "b"])]);
    assert_same([
        Lent::scan().name_any_of(&names),
        Lent::scan().name_any_of(names.clone()),
        Lent::scan().name_any_of(["b", "a"]),
    ]);
    assert_same([
        Hashed::scan().name_any_of(&names),
        Hashed::scan().name_any_of(names.clone()),
        Hashed::scan().name_any_of(["b", "a"]),
    ]);
    let explain = Text::scan().owner_any_of(&names).explain().unwrap().to_string();
    assert!(explain.contains(r#"owner in ["a", "b"]"#), "{explain}");
}

#[test]
fn numbers_and_codes() {
    let kinds = [Kind::Created, Kind::Changed];
    let scan = || Number::scan().kind(Kind::Created);
    assert_same([Number::scan().kind_any_of(&kinds), Number::scan().kind_any_of(kinds)]);
    assert_same([
        scan().number_any_of([1, 2]),
        scan().number_any_of(&[1, 2]),
        scan().number_any_of(&[1, 2][..]),
        scan().number_any_of(vec![1, 2]),
        scan().number_any_of(&vec![1, 2]),
        scan().number_any_of(1..=2),
        scan().number_any_of([1, 2].iter().filter(|_| true)),
    ]);
}

#[test]
fn bytes_and_foreign_types() {
    let words = ["a".to_owned(), "b".to_owned()];
    assert_same([Bytes::scan().word_any_of(&words), Bytes::scan().word_any_of(words.clone())]);
    let scan = || Bytes::scan().word(&words[0]);
    let digests = [[1, 2], [3, 4]];
    assert_same([
        scan().digest_any_of(&digests),
        scan().digest_any_of(digests),
        scan().digest_any_of([b"\x01\x02", b"\x03\x04"]),
    ]);
    let scan = || scan().digest(&[1, 2]);
    let lists = vec![vec![1, 2], vec![3, 4]];
    assert_same([
        scan().bytes_any_of(&lists),
        scan().bytes_any_of(lists),
        scan().bytes_any_of([[1, 2], [3, 4]]),
        scan().bytes_any_of([&[1, 2][..], &[3, 4]]),
        scan().bytes_any_of([b"\x01\x02", b"\x03\x04"]),
    ]);
}
