//! Counterexamples that the model has found, shrunk.

use std::cmp::Ordering;

use keyderive::Client;

use super::case::{Case, Content, Execution, Read};
use super::run::one;
use crate::keys::constraints::Constraint::{Fix, Open};
use crate::keys::{AfterOneField, Battery, Name, OrderedEvent, OrderedNames, Sample};

async fn holds<K: Sample>(case: Case<K>) {
    if let Err(fault) = one(&Client::embedded(), &case).await {
        panic!("{fault}\n{case}");
    }
}

fn rows<K: Sample>(keys: impl IntoIterator<Item = K>) -> Content<K> {
    Content { rows: keys.into_iter().zip(0..).collect(), foreign: Vec::new() }
}

/// Unless pages are in order, a page that resumes after the last row of the previous one loses rows of other buckets.
#[tokio::test]
async fn pages_of_an_unordered_scan_lose_no_row() {
    let key = |at| Battery { user: ".".into(), level: i16::MIN, at };
    let bucket = |at| key(at).salt_bucket().unwrap();
    // The first row is in a later bucket than the second, or in an earlier one.
    for order in [Ordering::Greater, Ordering::Less] {
        let first = (2..).find(|at| bucket(*at).cmp(&bucket(1)) == order).unwrap();
        let content = rows([key(first), key(1)]);
        let execution = Execution { read: Read::Pages(1), unordered: true, ..Execution::PLAIN };
        holds(Case { content, constraints: (Open, Open, Open), execution }).await;
    }
}

/// The same with the salt after a field, which the token holds too.
#[tokio::test]
async fn pages_of_an_unordered_scan_with_a_salt_after_a_field() {
    let key = |site: &str, number| AfterOneField { user: "b~$".into(), site: site.into(), number };
    let content = rows([key("", 759), key("\u{10ffff}", 998)]);
    let execution = Execution { read: Read::Pages(1), unordered: true, ..Execution::PLAIN };
    holds(Case { content, constraints: (Fix("b~$".into()), Open, Open), execution }).await;
}

/// The lowest of all keys is foreign to a key type that has no such key.
#[tokio::test]
async fn the_lowest_key_is_foreign() {
    let content = Content { foreign: vec![b"\0".to_vec()], ..rows([]) };
    for skip_foreign in [true, false] {
        let execution = Execution { skip_foreign, ..Execution::PLAIN };
        holds(Case::<Name> { content: content.clone(), constraints: (Open,), execution }).await;
    }
}

/// A row of the bare tag and a zero byte is in the range of the key with empty fields: a foreign row, and not one of
/// another tag.
#[tokio::test]
async fn a_malformed_escape_after_a_tag_is_foreign() {
    let content = Content { foreign: vec![b"N#\0".to_vec()], ..rows([]) };
    for skip_foreign in [true, false] {
        let execution = Execution { skip_foreign, ..Execution::PLAIN };
        let constraints = (Open, Open, Open);
        holds(Case::<OrderedNames> { content: content.clone(), constraints, execution }).await;
    }
}

/// A foreign row without a separator after its salt comes first in its bucket. If it ranked after all rows of other
/// buckets, it would hold back the rows after it, and a scan with a limit would end without them.
#[tokio::test]
async fn a_malformed_escape_after_a_salt_holds_back_no_row() {
    let key = |user: &str, at, rank, blob: &[u8], note: &str| OrderedEvent {
        user: user.into(),
        at,
        rank,
        blob: blob.into(),
        note: note.into(),
    };
    let first = key("\u{1}", i64::MAX - 1, 0, &[254], "a");
    let second = key("\u{1}\0\0", 2, 2, &[], "a\u{1}");
    assert_eq!(first.encode().unwrap()[..2], *b"\x8b\0");
    let content = Content { foreign: vec![b"\x8b\0".to_vec()], ..rows([first, second]) };
    for (read, reversed) in [(Read::All, false), (Read::Limit(1), false), (Read::Limit(2), true)] {
        let execution = Execution { read, reversed, skip_foreign: false, ..Execution::PLAIN };
        let constraints = (Open, Open, Open, Open, Open);
        holds(Case { content: content.clone(), constraints, execution }).await;
    }
}
