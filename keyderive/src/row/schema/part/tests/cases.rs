//! What fits and what does not, each in its words.

#![allow(dead_code, reason = "rows whose schemas alone are looked at")]

use std::collections::BTreeMap;

use crate::Row;
use crate::row::{Max, Sum, Timestamped, Versions};

#[derive(Row)]
struct Whole {
    #[row(alias = "old")]
    n: Option<i64>,
    #[row(alias = "older", alias = "oldest")]
    text: Option<String>,
    small: u8,
    steps: Versions<String>,
    #[row(family = "h", ttl = "1h")]
    hits: Option<i64>,
    #[row(family)]
    place: Option<Place>,
    #[row(family)]
    days: BTreeMap<String, i64>,
    #[row(family = "w", window = "1h")]
    views: Versions<Sum>,
    #[row(family = "moved", alias = "former:name")]
    name: Option<String>,
}

#[derive(Row)]
struct Place {
    #[row(alias = "town")]
    city: Option<String>,
    floor: Option<i64>,
}

fn misfit_in<P: Row>(part_family: &str) -> Option<String> {
    Whole::SCHEMA.misfit_of_part("cf", P::SCHEMA, part_family)
}

/// Says what is wrong with a part of these fields.
macro_rules! misfit {
    ($($fields:tt)*) => {{
        #[derive(Row)]
        struct Part {
            $($fields)*
        }
        misfit_in::<Part>("cf")
    }};
}

#[derive(Row)]
struct City {
    #[row(alias = "town")]
    city: Option<String>,
}

#[test]
fn what_fits() {
    assert_eq!(misfit_in::<Whole>("cf"), None);
    assert_eq!(misfit_in::<()>("cf"), None);
    assert_eq!(misfit_in::<()>("days"), None);
    assert_eq!(misfit!(#[row(alias = "old")] n: Option<i64>,), None);
    assert_eq!(misfit!(#[row(alias = "old", default)] n: i64,), None);
    assert_eq!(misfit!(#[row(alias = "old")] n: Timestamped<i64>,), None);
    assert_eq!(misfit!(#[row(alias = "old")] n: Versions<i64>,), None);
    assert_eq!(misfit!(small: i64, steps: String, own: Option<f64>,), None);
    assert_eq!(misfit!(#[row(counter)] other: i64, #[row(alias = "former")] own: Option<f64>,), None);
    assert_eq!(misfit!(#[row(family = "h")] hits: Option<i64>,), None);
    assert_eq!(misfit!(#[row(family = "h", ttl = "1h")] hits: Option<i64>,), None);
    assert_eq!(misfit!(#[row(family = "only", ttl = "5h")] hits: Option<i64>,), None);
    assert_eq!(misfit!(#[row(family)] place: City,), None);
    assert_eq!(misfit!(#[row(family = "days")] monday: Option<i64>,), None);
    assert_eq!(misfit!(#[row(family = "w", window = "1h")] views: Versions<Sum>,), None);
    assert_eq!(misfit!(#[row(family)] w: BTreeMap<String, Versions<Sum>>,), None);
    assert_eq!(misfit_in::<BTreeMap<String, i64>>("days"), None);
    assert_eq!(misfit_in::<BTreeMap<Vec<u8>, i64>>("days"), None);
    assert_eq!(misfit_in::<BTreeMap<String, i64>>("h"), None);
    assert_eq!(misfit_in::<BTreeMap<String, String>>("only"), None);
}

#[test]
fn what_does_not() {
    #[derive(Row)]
    #[row(ttl = "1h")]
    struct Expiring {
        own: Option<i64>,
    }

    #[derive(Row)]
    struct Floor {
        #[row(alias = "town")]
        floor: Option<i64>,
    }

    let integer = "an integer of -9223372036854775808 to 9223372036854775807";
    let cases = [
        (misfit!(n: Option<i64>,),
            "`Whole` reads `cf:n` under its former name `cf:old` too, and `Part` does not; give the field that alias".to_owned()),
        (misfit!(#[row(counter)] n: i64,),
            "`Whole` reads `cf:n` under its former name `cf:old` too, and `Part` does not; give the field that alias".to_owned()),
        (misfit!(#[row(alias = "old", alias = "other")] n: Option<i64>,),
            "`Part` reads `cf:n` under its former name `cf:other` too, and `Whole` does not; remove the alias, or give the field of \
             `Whole` that alias too".to_owned()),
        (misfit!(#[row(alias = "oldest", alias = "older")] text: Option<String>,),
            "`Part` has the aliases of `cf:text` in another order than `Whole`; write them in the same order".to_owned()),
        (misfit!(old: Option<i64>,),
            "`cf:old` of `Part` is a former name of `cf:n` of `Whole`; read `cf:n` with that alias".to_owned()),
        (misfit!(#[row(alias = "small")] own: Option<u8>,),
            "`cf:own` of `Part` has an alias that is the column `cf:small` of `Whole`; remove the alias".to_owned()),
        (misfit!(#[row(alias = "old")] own: Option<i64>,),
            "`cf:own` of `Part` has an alias that is a former name of the column `cf:n` of `Whole`; remove the alias".to_owned()),
        (misfit!(#[row(alias = "days:monday")] own: Option<i64>,),
            "`cf:own` of `Part` has an alias that is the column `days:monday` of `Whole`; remove the alias".to_owned()),
        (misfit!(small: String,),
            "the column `cf:small` is stored as an integer of 0 to 255 by `Whole`, and read as text by `Part`; give both fields the same \
             type".to_owned()),
        (misfit!(#[row(family = "days")] monday: Option<u8>,),
            format!("the column `days:monday` is stored as {integer} by `Whole`, and read as an integer of 0 to 255 by `Part`; give both \
             fields the same type")),
        (misfit!(#[row(family = "w", window = "1d")] views: Versions<Sum>,),
            "the column `w:views` is stored as a sum in windows of 3600s by `Whole`, and read as a sum in windows of 86400s by `Part`; \
             give both fields the same type".to_owned()),
        (misfit!(#[row(family = "w", window = "1d")] other: Versions<Sum>,),
            "the family `w` has `w:views` of `Whole`, which is a sum in windows of 3600s, and `w:other` of `Part`, which is a sum in \
             windows of 86400s; give the field another family, or the type and the window that `Whole` has there".to_owned()),
        (misfit!(#[row(family = "w")] other: Max,),
            "the family `w` has `w:views` of `Whole`, which is a sum in windows of 3600s, and `w:other` of `Part`, which is a maximum; \
             give the field another family, or the type and the window that `Whole` has there".to_owned()),
        (misfit!(#[row(family = "w")] other: Option<i64>,),
            format!("the family `w` has `w:views` of `Whole`, which is a sum in windows of 3600s, and `w:other` of `Part`, which is \
             {integer}; give the field another family, or the type and the window that `Whole` has there")),
        (misfit!(#[row(family = "h", ttl = "10h")] hits: Option<i64>,),
            "the family `h` has a `ttl` of 3600s in `Whole`, and one of 36000s in `Part`; remove that of `Part`: what `Whole` says holds \
             for it too".to_owned()),
        (misfit!(#[row(family = "former", ttl = "10h")] own: Option<i64>,),
            "the family `former` has no `ttl` in `Whole`, and one of 36000s in `Part`; remove that of `Part`: what `Whole` says holds \
             for it too".to_owned()),
        (misfit_in::<Expiring>("cf"),
            "the family `cf` has no `ttl` in `Whole`, and one of 3600s in `Expiring`; remove that of `Expiring`: what `Whole` says holds \
             for it too".to_owned()),
        (misfit!(#[row(family)] place: Floor,),
            "`place:floor` of `Part` has an alias that is a former name of the column `place:city` of `Whole`; remove the alias".to_owned()),
        (misfit_in::<BTreeMap<String, i64>>("cf"),
            "`Whole` reads `cf:n` under its former name `cf:old` too, and `BTreeMap` has a map there, which does not; read the columns \
             as a struct with that alias".to_owned()),
        (misfit_in::<BTreeMap<String, String>>("place"),
            "`Whole` reads `place:city` under its former name `place:town` too, and `BTreeMap` has a map there, which does not; read \
             the columns as a struct with that alias".to_owned()),
        (misfit_in::<BTreeMap<String, String>>("former"),
            "`Whole` reads `moved:name` under its former name `former:name` too, and `BTreeMap` has a map there, which does not; read \
             the columns as a struct with that alias".to_owned()),
        (misfit_in::<BTreeMap<String, String>>("h"),
            format!("the column `h:hits` is stored as {integer} by `Whole`, and read as text by `BTreeMap`; give both fields the same type")),
        (misfit_in::<BTreeMap<uuid::Uuid, i64>>("h"),
            "the map of `BTreeMap` in the family `h` has keys that are a UUID, and `Whole` has `h:hits` there; give the map keys that \
             read all names".to_owned()),
        (misfit_in::<BTreeMap<uuid::Uuid, i64>>("days"),
            "the map of `BTreeMap` in the family `days` has keys that are a UUID, and `Whole` has `days:…` there, by keys that are text; \
             give the map keys that read all names".to_owned()),
    ];
    for (misfit, expected) in cases {
        assert_eq!(misfit.as_deref(), Some(&*expected));
    }
}

/// `()` says nothing of a table's columns.
#[test]
fn parts_of_nothing() {
    #[derive(Row)]
    #[row(ttl = "1h")]
    struct Expiring {
        own: Option<i64>,
    }

    let misfit = |part| <() as Row>::SCHEMA.misfit_of_part("cf", part, "cf");
    assert_eq!([misfit(Whole::SCHEMA), misfit(Expiring::SCHEMA)], [None, None]);
}

/// The family of a map is that of its table, for the whole and for the part.
#[test]
fn families_of_maps() {
    let misfit = |family: &str, part: &str| {
        let whole = <BTreeMap<String, i64> as Row>::SCHEMA;
        whole.misfit_of_part(family, <BTreeMap<String, String> as Row>::SCHEMA, part)
    };
    assert!(misfit("cf", "cf").is_some());
    assert_eq!(misfit("cf", "other"), None);
}
