//! Counter-examples that the model has found, shrunk.

use keyderive::Client;

use crate::case::{Case, Content, Execution, Read};
use crate::constraints::Constraint::{Fix, Open};
use crate::keys::{BehindOneField, BehindTag, ModelKey, OrderedTagged};
use crate::run::one;

async fn holds<K: ModelKey>(case: Case<K>) {
    if let Err(fault) = one(&Client::embedded(), &case).await {
        panic!("{fault}\n{case}");
    }
}

fn rows<K: ModelKey>(keys: impl IntoIterator<Item = K>) -> Content<K> {
    Content { rows: keys.into_iter().zip(0..).collect(), foreign: Vec::new() }
}

/// A page that begins behind the last row of the one before loses the rows of other buckets in front of that row,
/// unless pages are in order.
#[tokio::test]
async fn pages_of_an_unordered_scan_lose_no_row() {
    let key = |at| BehindTag { user: ".".into(), level: i16::MIN, at };
    let content = rows([key(2), key(1)]);
    let execution = Execution { read: Read::Pages(1), unordered: true, ..Execution::PLAIN };
    holds(Case { content, constraints: (Open, Open, Open), execution }).await;
}

/// The same with the salt in the middle, where the token holds what stands in front of it too.
#[tokio::test]
async fn pages_of_an_unordered_scan_behind_a_salt_in_the_middle() {
    let key = |site: &str, number| BehindOneField { user: "b~$".into(), site: site.into(), number };
    let content = rows([key("", 759), key("\u{10ffff}", 998)]);
    let execution = Execution { read: Read::Pages(1), unordered: true, ..Execution::PLAIN };
    holds(Case { content, constraints: (Fix("b~$".into()), Open, Open), execution }).await;
}

/// A row of the bare tag and a zero byte is in the range that holds the key of empty fields: a foreign row, and not
/// one of another tag.
#[tokio::test]
async fn a_broken_escape_behind_a_tag_is_foreign() {
    let content = Content { foreign: vec![b"N#\0".to_vec()], ..rows([]) };
    for skip_foreign in [true, false] {
        let execution = Execution { skip_foreign, ..Execution::PLAIN };
        let constraints = (Open, Open, Open);
        holds(Case::<OrderedTagged> { content: content.clone(), constraints, execution }).await;
    }
}
