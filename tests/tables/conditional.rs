//! Writes that depend on what a row holds.

use bytes::Bytes;
use keyderive::row::{Condition, Mutation, RowFilter};
use keyderive::{Client, Row, Table};
use keyderive_tests::fixtures::{UserKey, created};

use crate::servers::on_every_bigtable;

#[derive(Row, Clone, Debug, Default, PartialEq)]
struct Job {
    owner: Option<String>,
    tries: Option<i64>,
    log: Option<Vec<u8>>,
}

async fn jobs(client: &Client) -> Table<UserKey, Job> {
    created(client, "jobs").await
}

fn job(owner: &str, tries: i64) -> Job {
    Job { owner: Some(owner.into()), tries: Some(tries), log: None }
}

const KEY: UserKey = UserKey { id: 7 };

on_every_bigtable! {
    a_row_is_put_once
    a_row_is_put_while_a_column_is_equal
    an_absent_value_is_an_absent_column
    only_the_newest_version_counts
    a_row_is_deleted_by_condition
    columns_are_incremented_and_appended_to
    a_column_that_is_no_integer_is_not_incremented
}

async fn a_row_is_put_once(client: Client) {
    let jobs = jobs(&client).await;
    assert!(jobs.put_if_absent(&KEY, &job("a", 1)).await.unwrap());
    assert!(!jobs.put_if_absent(&KEY, &job("b", 2)).await.unwrap());
    assert!(jobs.put_if(&KEY, &job("c", 3), Condition::row_exists()).await.unwrap());
    assert_eq!(jobs.get(&KEY).await.unwrap(), Some(job("c", 3)));
}

async fn a_row_is_put_while_a_column_is_equal(client: Client) {
    let jobs = jobs(&client).await;
    jobs.put(&KEY, &job("", 1)).await.unwrap();
    assert!(!jobs.put_if(&KEY, &job("a", 2), Job::OWNER.equals("x")).await.unwrap());
    assert!(!jobs.put_if(&KEY, &job("a", 2), Job::TRIES.equals(0)).await.unwrap());
    assert!(jobs.put_if(&KEY, &job("a", 2), Job::OWNER.equals("")).await.unwrap());
    assert!(jobs.put_if(&KEY, &job("b", 3), Job::TRIES.equals(2)).await.unwrap());
    assert!(jobs.put_if(&KEY, &job("c", 4), Job::OWNER.equals("x").not()).await.unwrap());
    let mine = RowFilter::exact_column("cf", "owner");
    assert!(jobs.put_if(&KEY, &job("d", 5), Condition::filter(mine)).await.unwrap());
    assert_eq!(jobs.get(&KEY).await.unwrap(), Some(job("d", 5)));
}

async fn an_absent_value_is_an_absent_column(client: Client) {
    let jobs = jobs(&client).await;
    let nobody = || Job::OWNER.absent();
    assert!(jobs.put_if(&KEY, &Job::default(), nobody()).await.unwrap());
    assert!(jobs.put_if(&KEY, &job("a", 1), nobody()).await.unwrap());
    assert!(!jobs.put_if(&KEY, &job("b", 1), nobody()).await.unwrap());
    assert!(!jobs.put_if(&KEY, &job("b", 1), Job::OWNER.exists().not()).await.unwrap());
}

async fn only_the_newest_version_counts(client: Client) {
    let jobs = jobs(&client).await;
    let raw = client.raw_table("jobs");
    let versions = ["old", "new"].into_iter().zip([1000, 2000]);
    let versions = versions.map(|(owner, at)| Mutation::set("cf", "owner", at, owner));
    raw.mutate_row(KEY.encode().unwrap(), versions).await.unwrap();
    assert!(!jobs.delete_if(&KEY, Job::OWNER.equals("old")).await.unwrap());
    assert!(jobs.delete_if(&KEY, Job::OWNER.equals("new")).await.unwrap());
}

async fn a_row_is_deleted_by_condition(client: Client) {
    let jobs = jobs(&client).await;
    assert!(!jobs.delete_if(&KEY, Condition::row_exists()).await.unwrap());
    jobs.put(&KEY, &job("a", 1)).await.unwrap();
    assert!(!jobs.delete_if(&KEY, Job::LOG.exists()).await.unwrap());
    assert!(jobs.delete_if(&KEY, Job::OWNER.exists()).await.unwrap());
    assert_eq!(jobs.get(&KEY).await.unwrap(), None);
}

async fn columns_are_incremented_and_appended_to(client: Client) {
    let jobs = jobs(&client).await;
    assert_eq!(jobs.increment(&KEY, Job::TRIES, 40).await.unwrap(), 40);
    jobs.put(&KEY, &job("a", 40)).await.unwrap();
    assert_eq!(jobs.increment(&KEY, Job::TRIES, 2).await.unwrap(), 42);
    assert_eq!(jobs.increment(&KEY, Job::TRIES, -43).await.unwrap(), -1);
    assert_eq!(jobs.append(&KEY, Job::OWNER, "b").await.unwrap(), "ab");
    assert_eq!(
        jobs.append(&KEY, Job::LOG, Bytes::from_static(b"\xff")).await.unwrap(),
        Bytes::from_static(b"\xff")
    );
    assert_eq!(jobs.get(&KEY).await.unwrap(), Some(Job { log: Some(vec![0xff]), ..job("ab", -1) }));
}

async fn a_column_that_is_no_integer_is_not_incremented(client: Client) {
    let jobs = jobs(&client).await;
    jobs.put(&KEY, &job("a", 1)).await.unwrap();
    #[derive(Row)]
    struct Owners {
        owner: Option<i64>,
    }
    let owners = crate::registry::without_registry(&client).table::<UserKey, Owners>("jobs");
    let error = owners.increment(&KEY, Owners::OWNER, 1).await.unwrap_err();
    assert!(error.to_string().starts_with("ReadModifyWriteRow of row `00000000000000000007` "), "{error}");
    let needs =
        "; this write increments `cf:owner`, and an increment needs an integer of 8 bytes, big-endian";
    assert!(error.to_string().contains(needs), "{error}");
    assert!(!error.is_retryable() && error.row_key() == Some(&KEY.encode().unwrap()[..]));
}
