//! Law 2: within a bucket, the order of the bytes is the declared order.

use std::cmp::{Ordering, Reverse};

use proptest::prelude::*;

use crate::keys::{
    Battery, Escaped, Event, Grown, GrownAfter, GrownFront, Integers, Log, Name, Names, OrderedEvent,
    OrderedGrown, OrderedMix, OrderedNames, OrderedResalted, Orders, PageView, Phone, Quote, Resalted,
    Sample, Trade, Visit, check, for_every_key,
};
use crate::stored::{logical, salt_span};

/// The declared order: fields from left to right, each in its own order or reversed.
trait Declared {
    fn declared(&self, other: &Self) -> Ordering;
}

macro_rules! declared {
    ($($key:ident: |$k:ident| $rank:expr;)*) => {$(
        impl Declared for $key {
            fn declared(&self, other: &Self) -> Ordering {
                let rank = |$k: &$key| $rank;
                rank(self).cmp(&rank(other))
            }
        }
    )*};
}

declared! {
    Event: |k| (k.user_id.clone(), k.site.clone(), Reverse(k.at), k.seq);
    Names: |k| (k.first.clone(), k.second.clone(), k.third.clone());
    Integers: |k| (k.a, k.b, k.c, k.d, k.e, k.f, k.g, k.h, k.i, k.j);
    Battery: |k| (k.user.clone(), k.level, Reverse(k.at));
    Quote: |k| (k.exchange.clone(), k.symbol.clone(), k.at);
    Name: |k| k.name.clone();
    Orders: |k| (Reverse(k.a), Reverse(k.b), Reverse(k.c), k.d, Reverse(k.e), Reverse(k.f), k.g.reverse_bits());
    Escaped: |k| (k.name.clone(), k.blob.clone(), k.letter, k.pair, k.note.clone());
    OrderedEvent: |k| (k.user.clone(), Reverse(k.at), Reverse(k.rank), k.blob.clone(), k.note.clone());
    OrderedNames: |k| (k.first.clone(), k.second.clone(), k.third.clone());
    OrderedMix: |k| (k.name.clone(), k.count, Reverse(k.flag), k.id, k.last.clone());
    Visit: |k| (k.day, k.id, Reverse(k.begin), k.end, k.stored);
    Phone: |k| (k.device.clone(), k.date);
    PageView: |k| (k.user.clone(), k.page.clone());
    Trade: |k| (k.exchange, k.symbol.clone(), Reverse(k.at), k.id.clone());
    Grown: |k| (k.user_id.clone(), k.site.clone(), Reverse(k.clone().stored().at), k.seq);
    Resalted: |k| (k.host.clone(), k.day, k.rack);
    GrownFront: |k| (k.user.clone(), k.level, Reverse(k.at));
    GrownAfter: |k| (k.exchange, k.symbol.clone(), k.id.clone(), k.at);
    OrderedGrown: |k| (k.user.clone(), k.note.clone(), Reverse(k.at), k.rank);
    OrderedResalted: |k| (k.user.clone(), k.clone().stored().at);
    Log: |k| (k.at, k.id);
}

fn bytes_are_in_the_declared_order<K: Sample + Declared>() {
    check((K::key(), K::key()), |(a, b)| {
        let (Ok(x), Ok(y)) = (a.encode(), b.encode()) else {
            return Ok(());
        };
        // Within a bucket, the salts are equal; keys of two buckets compare without them.
        if x[salt_span(K::SCHEMA, &x)] == y[salt_span(K::SCHEMA, &y)] {
            prop_assert_eq!(x.cmp(&y), a.declared(&b));
        }
        prop_assert_eq!(logical(K::SCHEMA, &x).cmp(&logical(K::SCHEMA, &y)), a.declared(&b));
        Ok(())
    });
}
for_every_key!(bytes_are_in_the_declared_order);

/// All pairs of one field's extremes, which random pairs seldom are.
#[test]
fn extremes_are_in_order() {
    let key = |i: i64, d: u64| Integers { a: 0, b: 0, c: 0, d, e: 0, f: 0, g: 0, h: 0, i, j: 0 };
    let signed = [i64::MIN, i64::MIN + 1, -10, -9, -1, 0, 1, 9, 10, i64::MAX - 1, i64::MAX];
    let unsigned = [0, 1, 9, 10, u64::MAX - 1, u64::MAX];
    let encoded = |i, d| key(i, d).encode().unwrap();
    assert!(signed.map(|i| encoded(i, 0)).is_sorted_by(|a, b| a < b));
    assert!(unsigned.map(|d| encoded(0, d)).is_sorted_by(|a, b| a < b));
}
