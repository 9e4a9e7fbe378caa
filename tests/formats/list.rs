//! The list of formats is complete, and the derive chooses codecs by it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::time::SystemTime;

use chrono::{DateTime, NaiveDate, Utc};
use jiff::{Timestamp, civil};
use keyderive::KeyField;
use keyderive::key::codec::{
    BitReverse, DateTime17, Desc, Escape, Exact, Micros, Millis, Nanos, Ordered, Pad, ReverseTs, Secs,
    Simple, Text, Ts, V4,
};
use time::{OffsetDateTime, UtcDateTime};
use uuid::Uuid;

use super::Order;
use super::cases::{GREATEST, cases};
use super::model::Kind;

/// Whether a type has a codec: if the bound holds, the inherent constant shadows the trait's.
struct Probe<T, C>(PhantomData<(T, C)>);

trait HasNot {
    const HAS: bool = false;
}

impl<T, C> HasNot for Probe<T, C> {}

impl<C, T: KeyField<C>> Probe<T, C> {
    const HAS: bool = true;
}

macro_rules! probe {
    ($found:ident [$codec:ty] $a:lifetime [$($type:ty),*]) => {$({
        fn has<$a>(_: &$a ()) -> bool {
            Probe::<$type, $codec>::HAS
        }
        if has(&()) {
            $found.insert((stringify!($codec), stringify!($type)));
        }
    })*};
}

/// Every codec of the list with every type of the list that has it.
macro_rules! found {
    ($($layout:ident $attrs:tt $codec:tt $order:ident $exact:ident: $($set:ident)*;)*) => {
        fn found() -> BTreeSet<(&'static str, &'static str)> {
            let mut found = BTreeSet::new();
            $(
                keyderive::__every_type!(integers probe found $codec);
                keyderive::__every_type!(bool probe found $codec);
                keyderive::__every_type!(char probe found $codec);
                keyderive::__every_type!(strings probe found $codec);
                keyderive::__every_type!(bytes probe found $codec);
                keyderive::__every_type!(codes probe found $codec);
                keyderive::__every_type!(times probe found $codec);
                keyderive::__every_type!(dates probe found $codec);
                keyderive::__every_type!(uuids probe found $codec);
            )*
            found
        }
    };
}

keyderive::__every_format!(found);

#[test]
fn no_type_has_a_codec_that_the_list_does_not_give_it() {
    let listed: BTreeSet<_> = cases().iter().map(|case| (case.codec, case.type_name)).collect();
    assert_eq!(found().difference(&listed).collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
}

/// The marker types are read from their declarations.
#[test]
fn no_codec_is_missing_from_the_list() {
    let declarations = include_str!("../../keyderive/src/key/codec/mod.rs");
    let names = declarations.lines().filter_map(|line| {
        let name = line.strip_prefix("pub enum ").or_else(|| line.strip_prefix("pub struct "))?;
        name.split(|c: char| !c.is_alphanumeric()).next()
    });
    let names: Vec<_> = names.collect();
    assert!(names.len() > 10, "{names:?}");
    let listed: String = cases().iter().map(|case| case.codec).collect::<Vec<_>>().join(" ");
    let listed: BTreeSet<_> = listed.split(|c: char| !c.is_alphanumeric()).collect();
    let missing: Vec<_> = names.into_iter().filter(|name| !listed.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// For each format of the list, the derive chooses the codec that the list gives.
#[test]
fn the_derive_chooses_the_codec_of_the_list() {
    for case in cases() {
        let field = &case.schema.fields()[1];
        assert_eq!(
            (field.format(), field.width(), field.order()),
            (case.declared.format(), case.declared.width(), case.declared.order()),
            "{}",
            case.name()
        );
        let reversed = case.order == Order::Descending;
        assert_eq!(field.order().is_reversed(), reversed, "{}", case.name());
    }
}
