//! Runs many random cases of a key type, and reports one that fails.

use std::fmt::Write as _;

use fastrand::Rng;
use keyderive::Client;
use keyderive_tests::variable;

use super::case::{Case, Content};
use super::check::{check, fill};
use crate::keys::Sample;

/// How many plans are run on one table.
const PLANS: u64 = 40;

/// How many simpler cases are tried for a failing one, at most.
const SHRINKS: usize = 500;

/// The seed to start with: a failure prints its own.
const SEED: &str = "KEYDERIVE_MODEL_SEED";

/// Compares `pairs` pairs of a table and a plan.
pub(crate) async fn run<K: Sample>(client: &Client, pairs: u64) {
    let first = variable(SEED, 0);
    let mut left = pairs;
    for seed in first.. {
        if left == 0 {
            return;
        }
        let plans = left.min(PLANS);
        one_table::<K>(client, seed, plans).await;
        left -= plans;
    }
}

/// Prints the seed when a test panics.
struct At(u64);

impl Drop for At {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat it, set {SEED}={}", self.0);
        }
    }
}

async fn one_table<K: Sample>(client: &Client, seed: u64, plans: u64) {
    let _at = At(seed);
    let mut rng = Rng::with_seed(seed);
    let content = Content::random(&mut rng);
    let name = format!("model-{seed}");
    let table = fill::<K>(client, &name, &content).await;
    for _ in 0..plans {
        let case = Case::random(&mut rng, &content);
        if let Err(fault) = check(client, &table, &case).await {
            panic!("{}", report(client, case, fault).await);
        }
    }
    client.delete_table(&name).await.unwrap();
}

/// Compares one case on a table of its own.
pub(crate) async fn one<K: Sample>(client: &Client, case: &Case<K>) -> Result<(), String> {
    let table = fill::<K>(client, "model-one", &case.content).await;
    let checked = check(client, &table, case).await;
    client.delete_table("model-one").await.unwrap();
    checked
}

/// The simplest case that fails, and how.
async fn report<K: Sample>(client: &Client, mut case: Case<K>, mut fault: String) -> String {
    let mut report = String::new();
    if one(client, &case).await.is_ok() {
        report += "on a table of its own it does not fail\n";
    }
    let mut tried = 0;
    let mut simpler = case.simpler().into_iter();
    while let Some(candidate) = simpler.next().filter(|_| tried < SHRINKS) {
        tried += 1;
        if let Err(simpler_fault) = one(client, &candidate).await {
            (case, fault) = (candidate, simpler_fault);
            simpler = case.simpler().into_iter();
        }
    }
    let _ = write!(report, "{}: {fault}\n{case}", std::any::type_name::<K>());
    report
}
