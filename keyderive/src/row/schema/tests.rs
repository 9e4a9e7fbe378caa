//! What schemas say, and how they differ.

#![allow(dead_code, reason = "rows whose schemas alone are looked at")]

use super::*;
use crate::row::{Row as _, Sum, Versions};

mod old {
    use crate::row::{Sum, Versions};

    #[derive(crate::Cell, Debug)]
    pub(super) enum Kind {
        Login,
        Logout,
    }

    #[derive(crate::Row)]
    pub(super) struct Event {
        pub(super) kind: Kind,
        pub(super) amount: i32,
        pub(super) text: String,
        pub(super) note: Option<String>,
        pub(super) ratio: f32,
        pub(super) mail: String,
        #[row(json)]
        pub(super) tags: Vec<String>,
        #[row(family)]
        pub(super) place: Option<Place>,
        #[row(family)]
        pub(super) daily: std::collections::BTreeMap<String, i64>,
        #[row(family = "h")]
        pub(super) state: Versions<String>,
        #[row(family = "sums")]
        pub(super) hits: Sum,
    }

    #[derive(crate::Row)]
    pub(super) struct Place {
        pub(super) city: String,
    }
}

/// The changes from `old::Event` to a type, each with whether rows are read and whether older programs break.
fn changes(schema: &RowSchema) -> Vec<(String, bool, bool)> {
    let kept = old::Event::SCHEMA.to_json();
    let changes = schema.changes_from(&kept).unwrap();
    let change =
        |change: &SchemaChange| (change.to_string(), change.is_compatible(), change.breaks_older_programs());
    changes.iter().map(change).collect()
}

/// A type like the old one, but for some fields.
macro_rules! event {
    ($($fields:tt)*) => {{
        #[derive(crate::Row)]
        struct Event {
            $($fields)*
            #[row(json)]
            tags: Vec<String>,
            #[row(family)]
            place: Option<old::Place>,
            #[row(family)]
            daily: std::collections::BTreeMap<String, i64>,
            #[row(family = "h")]
            state: Versions<String>,
            #[row(family = "sums")]
            hits: Sum,
        }
        changes(Event::SCHEMA)
    }};
}

#[test]
fn a_type_without_changes_has_none() {
    assert_eq!(changes(old::Event::SCHEMA), []);
    let same = event! { kind: old::Kind, amount: i32, text: String, note: Option<String>, ratio: f32, mail: String, };
    assert_eq!(same, []);
}

#[test]
fn additions_are_compatible_unless_they_are_required() {
    let found = event! {
        kind: old::Kind, amount: i32, text: String, note: Option<String>, ratio: f32, mail: String,
        user: Option<String>,
        #[row(default)] retries: u32,
        #[row(counter)] views: i64,
        #[row(family = "h")] former: Versions<i64>,
    };
    let texts: Vec<_> = found.iter().map(|(text, ..)| &**text).collect();
    assert_eq!(texts, ["`cf:user` is new", "`cf:retries` is new", "`cf:views` is new", "`h:former` is new"]);
    assert!(found.iter().all(|(_, is_compatible, breaks)| *is_compatible && !breaks));
    let found = event! {
        kind: old::Kind, amount: i32, text: String, note: String, ratio: f32, mail: String, user: String,
    };
    let expected = [
        "`cf:note` is required, and older rows can lack it; make the field an `Option` or give it `#[row(default)]`",
        "`cf:user` is required, and older rows lack it; make the field an `Option` or give it `#[row(default)]`",
    ];
    assert_eq!(found, expected.map(|text| (text.to_owned(), false, false)));
}

#[test]
fn removals_break_older_programs_if_the_column_was_required() {
    let found = event! { kind: old::Kind, amount: i32, text: String, ratio: f32, };
    let expected = [
        ("`cf:note` is dropped".to_owned(), true, false),
        ("`cf:mail` is dropped; older programs cannot read rows without it".to_owned(), true, true),
    ];
    assert_eq!(found, expected);
    let found = event! { kind: old::Kind, amount: i32, text: Option<String>, note: Option<String>, ratio: f32, mail: String, };
    let text = "`cf:text` can be absent; older programs cannot read rows without it";
    assert_eq!(found, [(text.to_owned(), true, true)]);
}

#[test]
fn new_names_need_an_alias() {
    let found = event! {
        kind: old::Kind, amount: i32, text: String, note: Option<String>, ratio: f32,
        #[row(alias = "mail")] email: String,
    };
    let text = "`cf:email` was `cf:mail`; older programs do not see what is written to it";
    assert_eq!(found, [(text.to_owned(), true, true)]);
    let found = event! {
        kind: old::Kind, amount: i32, text: String, note: Option<String>, ratio: f32, email: String,
    };
    let text = "`cf:mail` is dropped and `cf:email` added, of the same type; if this is a new name, write `#[row(alias = \
                \"mail\")]`, so that older values are read";
    assert_eq!(found, [(text.to_owned(), false, true)]);
}

#[test]
fn types_may_widen() {
    #[derive(crate::Cell)]
    enum Kind {
        Login,
        Logout,
        Moved,
    }
    let found = event! {
        kind: Kind, amount: i64, text: Vec<u8>, note: Option<String>, ratio: f32, mail: String,
    };
    let expected = [
        "`cf:kind` was an enum of `Login`, `Logout` and is an enum of `Login`, `Logout`, `Moved`; older programs cannot read \
         all new values",
        "`cf:amount` was an integer of -2147483648 to 2147483647 and is an integer of -9223372036854775808 to \
         9223372036854775807; older programs cannot read all new values",
        "`cf:text` was text and is bytes; older programs cannot read all new values",
    ];
    assert_eq!(found, expected.map(|text| (text.to_owned(), true, true)));
    let found =
        event! { kind: String, amount: i32, text: String, note: Option<String>, ratio: f32, mail: String, };
    assert_eq!(
        found.iter().map(|(_, compatible, breaks)| (*compatible, *breaks)).collect::<Vec<_>>(),
        [(true, true)]
    );
}

#[test]
fn other_types_and_forms_are_not_read() {
    #[derive(crate::Cell)]
    enum Kind {
        Login,
    }
    let found = event! {
        kind: Kind, amount: i16, #[row(json)] text: String, note: Option<String>, ratio: f64, mail: u64,
    };
    let texts: Vec<_> = found.iter().map(|(text, ..)| text.split_once(", and older").unwrap().0).collect();
    assert_eq!(
        texts,
        [
            "`cf:kind` was an enum of `Login`, `Logout` and is an enum of `Login`",
            "`cf:amount` was an integer of -2147483648 to 2147483647 and is an integer of -32768 to 32767",
            "`cf:text` was text and is JSON",
            "`cf:ratio` was an `f32` and is an `f64`",
            "`cf:mail` was text and is an integer of 0 to 9223372036854775807",
        ]
    );
    assert!(found.iter().all(|(_, is_compatible, breaks)| !is_compatible && *breaks));
    #[derive(crate::Row)]
    struct Counted {
        #[row(family = "sums")]
        hits: i64,
    }
    let found = changes(Counted::SCHEMA);
    let text = "`sums:hits` was sum and is an integer of -9223372036854775808 to 9223372036854775807, and older values are not";
    assert!(
        found.iter().any(|(found, is_compatible, _)| found.starts_with(text) && !is_compatible),
        "{found:?}"
    );
}

#[test]
fn windows_of_another_width_are_another_column() {
    #[derive(crate::Row)]
    struct Hourly {
        #[row(family = "sums", window = "1h")]
        views: Versions<Sum>,
    }
    #[derive(crate::Row)]
    struct Daily {
        #[row(family = "sums", window = "1d")]
        views: Versions<Sum>,
    }
    assert_ne!(Hourly::SCHEMA.fingerprint(), Daily::SCHEMA.fingerprint());
    let changes = Daily::SCHEMA.changes_from(&Hourly::SCHEMA.to_json()).unwrap();
    assert!(!changes.are_compatible());
    let text = "`sums:views` was sum in windows of 3600s and is sum in windows of 86400s, and older values are not read so";
    assert!(changes.to_string().starts_with(text), "{changes}");
    let same = Hourly::SCHEMA.changes_from(&Hourly::SCHEMA.to_json()).unwrap();
    assert_eq!(same.iter().count(), 0);
}

#[test]
fn a_struct_that_becomes_a_map_is_compared_with_it() {
    #[derive(crate::Row)]
    struct Counts {
        visits: Option<i64>,
    }
    #[derive(crate::Row)]
    struct Named {
        #[row(family)]
        p: Option<Counts>,
    }
    #[derive(crate::Row)]
    struct Floats {
        #[row(family)]
        p: BTreeMap<String, f64>,
    }
    #[derive(crate::Row)]
    struct Integers {
        #[row(family)]
        p: BTreeMap<String, i64>,
    }
    #[derive(crate::Row)]
    struct ById {
        #[row(family)]
        p: BTreeMap<uuid::Uuid, i64>,
    }
    let incompatible = [
        (Named::SCHEMA, Floats::SCHEMA),
        (Floats::SCHEMA, Named::SCHEMA),
        (Integers::SCHEMA, Floats::SCHEMA),
        (Integers::SCHEMA, ById::SCHEMA),
        (Named::SCHEMA, ById::SCHEMA),
    ];
    for (old, new) in incompatible {
        let changes = new.changes_from(&old.to_json()).unwrap();
        let broken = |change: &SchemaChange| !change.is_compatible() && change.breaks_older_programs();
        assert!(changes.iter().any(broken), "{} to {}: {changes}", old.name(), new.name());
        assert_ne!(old.fingerprint(), new.fingerprint());
    }
    for (old, new) in [(Named::SCHEMA, Integers::SCHEMA), (Integers::SCHEMA, Named::SCHEMA)] {
        let changes = new.changes_from(&old.to_json()).unwrap();
        assert!(changes.are_compatible(), "{changes}");
    }
}

#[test]
fn types_with_fewer_values_do_not_read_all() {
    #[derive(crate::Row)]
    struct Wide {
        few: i64,
        address: std::net::IpAddr,
    }
    #[derive(crate::Row)]
    struct Narrow {
        few: std::num::NonZeroI64,
        address: std::net::Ipv4Addr,
    }
    let changes = Narrow::SCHEMA.changes_from(&Wide::SCHEMA.to_json()).unwrap();
    assert_eq!(changes.iter().filter(|change| !change.is_compatible()).count(), 2, "{changes}");
    let back = Wide::SCHEMA.changes_from(&Narrow::SCHEMA.to_json()).unwrap();
    assert!(back.are_compatible() && back.iter().all(SchemaChange::breaks_older_programs), "{back}");
    assert_ne!(Wide::SCHEMA.fingerprint(), Narrow::SCHEMA.fingerprint());
}

#[test]
fn a_text_that_is_no_schema_is_an_error() {
    let error = old::Event::SCHEMA.changes_from("{").unwrap_err().to_string();
    assert!(
        error.starts_with("this is not the JSON of a row's schema, as `SCHEMA.to_json()` makes it"),
        "{error}"
    );
}

/// Stored layouts are compared by these numbers in every release.
#[test]
fn fingerprints_do_not_change() {
    assert_eq!(old::Event::SCHEMA.fingerprint().to_string(), "5d19a60c5f9d6b11");
    assert_ne!(old::Place::SCHEMA.fingerprint(), old::Event::SCHEMA.fingerprint());
}

#[test]
fn all_but_some_families_are_named_by_a_regular_expression() {
    for names in [&["cf"][..], &["cf", "c", "cfg", "a-b.c"], &["a", "b"]] {
        let filter = regex_of_all_but(names);
        let regex = regex::Regex::new(&format!("^(?:{filter})$")).unwrap();
        for name in ["cf", "c", "cfg", "a-b.c", "a", "b", "ab", "cff", "d", "a-b", "x_y"] {
            assert_eq!(regex.is_match(name), !names.contains(&name), "{name} by {filter}");
        }
    }
}
