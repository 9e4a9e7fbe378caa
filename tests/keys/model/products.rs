//! Products of `any_of` lists that exceed one request.

use keyderive::Client;

use super::case::{Case, Content, Execution, Read};
use super::run::one;
use crate::keys::constraints::Constraint::{AnyOf, Open};
use crate::keys::values::Kind;
use crate::keys::{AfterTwoFields, Names, Sample};

const RUNS: [Execution; 6] = [
    Execution::PLAIN,
    Execution { reversed: true, ..Execution::PLAIN },
    Execution { read: Read::Limit(5), reversed: true, ..Execution::PLAIN },
    Execution { read: Read::Pages(10), ..Execution::PLAIN },
    Execution { read: Read::Pages(10), reversed: true, sent: true, ..Execution::PLAIN },
    Execution { read: Read::Count, unordered: true, ..Execution::PLAIN },
];

async fn holds<K: Sample>(keys: Vec<K>, constraints: K::Constraints) {
    let requests = K::plan(&constraints).unwrap().requests();
    let buckets = K::SCHEMA.salt().map_or(1, |salt| salt.buckets().len());
    assert!(requests.len() > buckets, "{} requests of {buckets} buckets", requests.len());

    let content = Content { rows: keys.into_iter().zip(0..).collect(), foreign: Vec::new() };
    for execution in RUNS {
        let case = Case { content: content.clone(), constraints: constraints.clone(), execution };
        if let Err(fault) = one(&Client::embedded(), &case).await {
            panic!("{execution:?}: {fault}");
        }
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("name-{at:04}")).collect()
}

#[tokio::test]
async fn of_two_lists_without_a_salt() {
    let key = |first: usize, second: usize| Names {
        first: format!("name-{first:04}"),
        second: format!("name-{second:04}"),
        third: String::new(),
    };
    let last = (0..10).map(|at| key(at * 11, 99 - at * 11));
    let keys = last.chain([key(0, 100), key(99, 1)]).collect();
    holds(keys, (AnyOf(names(100)), AnyOf(names(100)), Open)).await;
}

#[tokio::test]
async fn left_of_a_salt_in_the_middle() {
    let key = |at: usize| AfterTwoFields {
        exchange: [Kind::Created, Kind::Deleted][at % 2],
        symbol: format!("name.{at:04}"),
        at: at as u64 % 100,
        id: "a".into(),
    };
    let symbols = (0..8_000).map(|at| format!("name.{at:04}")).collect();
    let keys = (0..20).map(|at| key(at * 201)).collect();
    holds(keys, (AnyOf(vec![Kind::Deleted, Kind::Created]), AnyOf(symbols), Open, Open)).await;
}
