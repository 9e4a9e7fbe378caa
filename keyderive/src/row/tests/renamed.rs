//! Fields and columns that have several names, and names that have several fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Shape, cell, cell_in, read, store, write_as};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct User {
    #[serde(default)]
    first: Option<String>,
    #[serde(alias = "mail", alias = "zmail")]
    email: String,
    #[serde(default, alias = "facts")]
    stats: Option<Stats>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Stats {
    #[serde(alias = "aclicks", alias = "zclicks")]
    clicks: String,
}

#[test]
fn a_field_s_own_name_counts_beside_its_aliases() {
    let user = |email: &str| User { first: None, email: email.into(), stats: None };
    for alias in ["mail", "zmail"] {
        let mut cells = vec![cell("email", b"new"), cell(alias, b"old")];
        cells.sort_by_key(|cell| cell.qualifier.clone());
        assert_eq!(read::<User>(cells).unwrap(), user("new"), "{alias}");
        assert_eq!(read::<User>(vec![cell(alias, b"old")]).unwrap(), user("old"), "{alias}");
    }
    let cells = vec![cell("email", b"new"), cell("mail", b"old"), cell("zmail", b"older")];
    assert_eq!(read::<User>(cells).unwrap(), user("new"));
}

#[test]
fn a_family_s_own_names_count_beside_their_aliases() {
    let expected = User { first: None, email: "e".into(), stats: Some(Stats { clicks: "new".into() }) };
    let cells = vec![
        cell("email", b"e"),
        cell_in("facts", "clicks", b"old"),
        cell_in("stats", "aclicks", b"old"),
        cell_in("stats", "clicks", b"new"),
        cell_in("stats", "zclicks", b"old"),
    ];
    assert_eq!(read::<User>(cells).unwrap(), expected);
}

#[test]
fn two_aliases_without_the_name_are_an_error() {
    let error = read::<User>(vec![cell("mail", b"a"), cell("zmail", b"b")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `cf:email` is there under two names of its field; delete one of the two columns with \
         `table.update(&key).delete(\"…\")`: the second one is `zmail`"
    );
}

#[test]
#[expect(unreachable_patterns, reason = "the second field is never read, which is what is refused")]
fn one_column_of_two_fields_is_refused() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Twice {
        #[serde(rename = "n")]
        visits: i64,
        #[serde(rename = "n")]
        clicks: i64,
    }

    let text = "is the column of two fields of the row type, by `#[serde(rename)]` or `#[serde(alias)]`, and holds one \
                value; give each field a name of its own";
    let error = write_as(&Twice { visits: 1, clicks: 2 }, &Shape::of::<Twice>(), false).unwrap_err();
    assert_eq!(error.to_string(), format!("column `cf:n` {text}"));
    assert!(error.is_unsupported());

    #[derive(Serialize, Deserialize)]
    struct Outer {
        twice: Option<Twice>,
    }
    let error = write_as(&Outer { twice: None }, &Shape::of::<Outer>(), false).unwrap_err();
    assert_eq!(error.to_string(), format!("column `twice:n` {text}"));
    // A type that is only written says so when it is.
    let error = write_as(&Twice { visits: 1, clicks: 2 }, &Shape::unknown(), false).unwrap_err();
    assert!(error.to_string().starts_with("column `cf:n` comes twice: "), "{error}");
    let error = write_as(&Outer { twice: Some(Twice { visits: 1, clicks: 2 }) }, &Shape::unknown(), false);
    assert!(error.unwrap_err().to_string().starts_with("column `twice:n` comes twice: "));
}

#[test]
fn a_flattened_entry_with_the_name_of_a_field_is_refused() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Page {
        title: String,
        #[serde(flatten)]
        rest: BTreeMap<String, String>,
    }

    let page = |name: &str| Page { title: "t".into(), rest: [(name.to_owned(), "x".to_owned())].into() };
    let shape = Shape::of::<Page>();
    assert_eq!(read::<Page>(store(write_as(&page("other"), &shape, false).unwrap())).unwrap().rest.len(), 1);
    let error = write_as(&page("title"), &shape, false).unwrap_err();
    assert!(error.to_string().starts_with("column `cf:title` comes twice: a flattened map has"), "{error}");
    assert!(error.is_unsupported());
}
