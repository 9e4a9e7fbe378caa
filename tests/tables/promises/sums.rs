//! Additions to aggregates: each counts once.

use futures_util::future::join_all;
use keyderive::client::Settings;
use keyderive::embedded::{Bigtable, Fault, Faults};
use keyderive::row::{Max, Min, Sum};
use keyderive_tests::fixtures::{created, fails};

use super::dropped::{POLLS, polled};
use super::*;

use crate::registry::without_registry;

#[derive(Row, Debug)]
struct Page {
    title: Option<String>,
    #[row(family = "sums")]
    hits: Sum,
    #[row(family = "least")]
    least: Min,
    #[row(family = "most")]
    most: Max,
}

/// The row type of an older program.
#[derive(Row)]
struct OlderPage {
    title: Option<String>,
}

type Pages = Table<UserKey, Page>;

const KEY: UserKey = UserKey { id: 7 };

async fn pages(bigtable: &Bigtable) -> Pages {
    created(&bigtable.client(), "pages").await
}

async fn hits(pages: &Pages) -> i64 {
    pages.get(&KEY).await.unwrap().map_or(0, |page| page.hits.get())
}

/// Loses the first answer of each method that writes.
fn lossy(bigtable: &Bigtable) -> Bigtable {
    let lost = || Fault::unavailable().after_the_call();
    let faults = [Method::MutateRow, Method::MutateRows, Method::CheckAndMutateRow];
    let faults =
        faults.into_iter().fold(Faults::seeded(0), |faults, method| faults.fail_nth(method, 1, lost()));
    bigtable.with_faults(faults)
}

/// Adds by each call that can.
async fn add_by(client: &Client, call: u8) -> Result<(), Box<dyn StdError>> {
    let pages: Pages = without_registry(client).table("pages");
    let add = || pages.update(&KEY).set(Page::TITLE, "Home").add(Page::HITS, 1).add(Page::MOST, 5);
    match call {
        0 => add().await?,
        1 => pages.update_all([add()]).await?,
        2 => {
            let writer = pages.writer();
            writer.update(add()).await?;
            writer.close().await?;
        }
        _ => {
            let raw = [Mutation::add_to_cell("sums", "hits", 0, 1)];
            client.raw_table("pages").mutate_row(KEY.encode()?, raw).await?;
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_addition_counts_once_after_a_lost_answer() {
    for call in 0..4 {
        let bigtable = Bigtable::in_memory();
        let steady = pages(&bigtable).await;
        let faulty = lossy(&bigtable);
        add_by(&faulty.client(), call).await.unwrap();
        let requests = faulty.calls(Method::MutateRow) + faulty.calls(Method::MutateRows);
        assert_eq!((hits(&steady).await, requests), (1, 2), "call {call}");
    }
}

/// Where tokens are ignored, the outcome is unknown, and the same call counts again.
#[tokio::test(start_paused = true)]
async fn an_addition_without_tokens_fails_after_a_lost_answer() {
    let ignored = |settings: &mut Settings| settings.idempotency_tokens = Some(false);
    for call in 0..4 {
        let bigtable = Bigtable::in_memory();
        let steady = pages(&bigtable).await;
        let client = lossy(&bigtable).client().with(ignored);
        fails(add_by(&client, call).await, "not known to honour idempotency tokens");
        assert_eq!(hits(&steady).await, 1, "call {call}");
        add_by(&client, call).await.unwrap();
        assert_eq!(hits(&steady).await, 2, "call {call}");
    }
}

/// The least and the greatest value are the same however often one is added.
#[tokio::test(start_paused = true)]
async fn extremes_need_no_tokens() {
    let bigtable = Bigtable::in_memory();
    let steady = pages(&bigtable).await;
    let faulty = lossy(&bigtable);
    let client =
        without_registry(&faulty.client()).with(|settings| settings.idempotency_tokens = Some(false));
    let pages: Pages = client.table("pages");
    pages.update(&KEY).add(Page::LEAST, -3).add(Page::MOST, 5).await.unwrap();
    let page = steady.get(&KEY).await.unwrap().unwrap();
    assert_eq!((page.least.get(), page.most.get(), page.hits.get()), (Some(-3), Some(5), 0));
    assert_eq!(faulty.calls(Method::MutateRow), 2);
}

/// The request of a condition has no token.
#[tokio::test(start_paused = true)]
async fn an_addition_on_a_condition_fails_after_a_lost_answer() {
    let bigtable = Bigtable::in_memory();
    let steady = pages(&bigtable).await;
    steady.update(&KEY).set(Page::TITLE, "Home").await.unwrap();
    let pages: Pages = lossy(&bigtable).client().table("pages");
    let error = pages.update(&KEY).add(Page::HITS, 1).only_if(Page::TITLE.exists()).await.unwrap_err();
    assert!(error.is_outcome_unknown() && !error.is_retryable() && error.attempts() == 1, "{error}");
    assert_eq!(hits(&steady).await, 1);
}

#[tokio::test]
async fn concurrent_additions_all_count() {
    let bigtable = Bigtable::in_memory();
    let (pages, client) = (pages(&bigtable).await, bigtable.client());
    let client = &client;
    join_all((0..64).map(|number| async move { add_by(client, number % 4).await.unwrap() })).await;
    assert_eq!(hits(&pages).await, 64);
}

#[tokio::test]
async fn a_dropped_addition_counts_once_or_not_at_all() {
    let mut sums = Vec::new();
    for polls in 0..POLLS {
        let pages = pages(&Bigtable::in_memory()).await;
        polled(pages.update(&KEY).add(Page::HITS, 1).into_future(), polls).await;
        sums.push(hits(&pages).await);
    }
    assert!(sums.is_sorted() && sums.first() == Some(&0) && sums.last() == Some(&1), "{sums:?}");
}

#[tokio::test]
async fn sums_stay_beside_programs_without_them() {
    let bigtable = Bigtable::in_memory();
    let pages = pages(&bigtable).await;
    pages.update(&KEY).add(Page::HITS, 1).await.unwrap();
    let older: Table<UserKey, OlderPage> = bigtable.client().table("pages");
    older.put(&KEY, &OlderPage { title: Some("Home".into()) }).await.unwrap();
    pages.update(&KEY).add(Page::HITS, 1).await.unwrap();
    let page = pages.get(&KEY).await.unwrap().unwrap();
    pages.put(&KEY, &Page { title: None, ..page }).await.unwrap();
    assert_eq!(hits(&pages).await, 2);
}

#[tokio::test]
async fn the_emulator_ignores_tokens_and_gets_an_addition_once() {
    let Some((_emulator, client)) = crate::servers::emulator().await else { return };
    let pages: Pages = created(&client, "pages").await;
    let token_twice = || pages.update(&KEY).add(Page::HITS, 1);
    token_twice().await.unwrap();
    pages.update_all([token_twice()]).await.unwrap();
    assert_eq!(hits(&pages).await, 2);
}
