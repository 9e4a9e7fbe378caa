//! Expensive requests, and how long they hold up others.

use futures_util::TryStreamExt as _;
use keyderive_proto::data::bigtable_server::Bigtable as _;
use keyderive_proto::data::mutate_rows_request::Entry;
use keyderive_proto::data::mutation::{self, DeleteFromColumn};
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::row_filter::{Chain, Filter, Interleave};
use keyderive_proto::data::{
    self, CheckAndMutateRowRequest, MutateRowRequest, MutateRowsRequest, ReadModifyWriteRowRequest,
    ReadModifyWriteRule, ReadRowsRequest, RowFilter, RowSet,
};
use tonic::{Code, Request, Status};

use super::raw::{NAME, Servers, message, set_cell};
use super::*;

/// The most mutations of a request.
const MANY: usize = 100_000;

/// The least number of point reads and writes that finish during an expensive request. If it blocked the async thread or
/// the lock of writers, only one would finish.
const BESIDE: usize = 10;

/// The numbers below `MANY`, shuffled.
fn shuffled() -> impl Iterator<Item = usize> {
    // The factor and `MANY` are coprime.
    (0..MANY).map(|number| number * 61_803 % MANY)
}

fn column(number: usize) -> String {
    format!("{number:06}")
}

fn sets(qualifiers: impl Iterator<Item = usize>) -> Vec<data::Mutation> {
    qualifiers.map(|number| mutation(set_cell("f", &column(number), -1, "v"))).collect()
}

fn mutation(mutation: mutation::Mutation) -> data::Mutation {
    data::Mutation { mutation: Some(mutation), ..data::Mutation::default() }
}

fn row(key: &'static str, mutations: Vec<data::Mutation>) -> MutateRowRequest {
    MutateRowRequest { table_name: NAME.to_owned(), row_key: key.into(), mutations, ..Default::default() }
}

async fn mutate(servers: &Servers, mutations: Vec<data::Mutation>) {
    servers.data.mutate_row(Request::new(row("large", mutations))).await.unwrap();
}

fn read(key: &'static str, filter: Option<RowFilter>) -> ReadRowsRequest {
    ReadRowsRequest {
        rows: Some(RowSet { row_keys: vec![key.into()], row_ranges: Vec::new() }),
        filter,
        ..ReadRowsRequest::default()
    }
}

async fn columns(servers: &Servers) -> usize {
    let responses = servers.read(read("large", None)).await.unwrap();
    responses.iter().map(|response| response.chunks.len()).sum()
}

/// Runs a request while reading and writing another row. Returns its outcome, and how many reads and writes finished first.
async fn beside<T: Send + 'static>(
    servers: &Arc<Servers>,
    request: impl Future<Output = T> + Send + 'static,
) -> (T, usize) {
    let request = tokio::spawn(request);
    let mut answered = 0;
    while !request.is_finished() {
        servers.set("point", "f", "q", -1, "v").await.unwrap();
        assert_eq!(servers.read(read("point", None)).await.unwrap().len(), 1);
        answered += 1;
        tokio::task::yield_now().await;
    }
    (request.await.unwrap(), answered)
}

/// Asserts that `request` does not hold up others.
async fn lets_others_go_on<T, F>(servers: &Arc<Servers>, request: impl FnOnce(Arc<Servers>) -> F) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (outcome, answered) = beside(servers, request(Arc::clone(servers))).await;
    assert!(answered >= BESIDE, "{answered} reads and writes were answered beside it");
    outcome
}

#[tokio::test]
async fn cells_of_a_row_in_any_order_hold_nobody_up() {
    let servers = Arc::new(Servers::new().await);
    let sets = sets(shuffled());
    lets_others_go_on(&servers, async move |servers| mutate(&servers, sets).await).await;
    assert_eq!(columns(&servers).await, MANY);
}

#[tokio::test]
async fn deletions_of_columns_hold_nobody_up() {
    let servers = Arc::new(Servers::new().await);
    mutate(&servers, sets(0..MANY)).await;
    let delete = |number| {
        mutation(mutation::Mutation::DeleteFromColumn(DeleteFromColumn {
            family_name: "f".to_owned(),
            column_qualifier: column(number).into(),
            time_range: None,
        }))
    };
    let deletes = shuffled().filter(|number| number % 2 == 0).map(delete).collect();
    lets_others_go_on(&servers, async move |servers| mutate(&servers, deletes).await).await;
    assert_eq!(columns(&servers).await, MANY / 2);
}

#[tokio::test]
async fn entries_for_one_row_hold_nobody_up() {
    let servers = Arc::new(Servers::new().await);
    let entries = shuffled().map(|number| Entry {
        row_key: "large".into(),
        mutations: sets(std::iter::once(number)),
        idempotency: None,
    });
    let entries = entries.collect();
    let request = MutateRowsRequest { table_name: NAME.to_owned(), entries, ..Default::default() };
    let responses = lets_others_go_on(&servers, async move |servers| {
        let responses = servers.data.mutate_rows(Request::new(request)).await.unwrap().into_inner();
        responses.try_collect::<Vec<_>>().await.unwrap()
    });
    let responses = responses.await;
    assert_eq!(responses.iter().map(|response| response.entries.len()).sum::<usize>(), MANY);
    assert_eq!(columns(&servers).await, MANY);
}

#[tokio::test]
async fn one_entry_of_many_cells_holds_nobody_up() {
    let servers = Arc::new(Servers::new().await);
    let entries = vec![Entry { row_key: "large".into(), mutations: sets(shuffled()), idempotency: None }];
    let request = MutateRowsRequest { table_name: NAME.to_owned(), entries, ..Default::default() };
    lets_others_go_on(&servers, async move |servers| {
        servers.data.mutate_rows(Request::new(request)).await.map(|_| ()).unwrap();
    })
    .await;
    assert_eq!(columns(&servers).await, MANY);
}

#[tokio::test]
async fn entries_for_many_rows_hold_nobody_up() {
    let servers = Arc::new(Servers::new().await);
    let entries = shuffled().map(|number| Entry {
        row_key: format!("row {number:06}").into(),
        mutations: sets(std::iter::once(0)),
        idempotency: None,
    });
    let entries = entries.collect();
    let request = MutateRowsRequest { table_name: NAME.to_owned(), entries, ..Default::default() };
    lets_others_go_on(&servers, async move |servers| {
        servers.data.mutate_rows(Request::new(request)).await.map(|_| ()).unwrap();
    })
    .await;
}

async fn modify(servers: &Servers, rules: Vec<ReadModifyWriteRule>) -> usize {
    let request = ReadModifyWriteRowRequest {
        table_name: NAME.to_owned(),
        row_key: "large".into(),
        rules,
        ..ReadModifyWriteRowRequest::default()
    };
    let row = servers.data.read_modify_write_row(Request::new(request)).await.unwrap().into_inner().row;
    row.unwrap().families.iter().map(|family| family.columns.len()).sum()
}

#[tokio::test]
async fn rules_hold_nobody_up() {
    let servers = Arc::new(Servers::new().await);
    let rule = |qualifier: String| ReadModifyWriteRule {
        family_name: "f".to_owned(),
        column_qualifier: qualifier.into(),
        rule: Some(Rule::AppendValue(Bytes::from_static(&[b'v'; 100]))),
    };
    let columns = shuffled().map(|number| rule(column(number))).collect();
    let made = lets_others_go_on(&servers, async move |servers| modify(&servers, columns).await).await;
    assert_eq!(made, MANY);
    // All append to one column.
    let rules = vec![rule("grows".to_owned()); MANY];
    let made = lets_others_go_on(&servers, async move |servers| modify(&servers, rules).await).await;
    assert_eq!(made, 1);
}

/// A filter that keeps all cells, and checks each a thousand times.
fn thorough() -> Option<RowFilter> {
    let part = |_| RowFilter { filter: Some(Filter::ColumnQualifierRegexFilter(r"\C*".into())) };
    message(Filter::Chain(Chain { filters: (0..1000).map(part).collect() }))
}

#[tokio::test]
async fn filters_over_large_rows_hold_nobody_up() {
    let servers = Arc::new(Servers::new().await);
    mutate(&servers, sets(0..2000)).await;
    let responses = lets_others_go_on(&servers, async move |servers| {
        servers.read(read("large", thorough())).await.unwrap()
    });
    assert_eq!(responses.await.iter().map(|response| response.chunks.len()).sum::<usize>(), 2000);
    let request = CheckAndMutateRowRequest {
        table_name: NAME.to_owned(),
        row_key: "large".into(),
        predicate_filter: thorough(),
        true_mutations: sets(std::iter::once(MANY)),
        ..CheckAndMutateRowRequest::default()
    };
    let matched = lets_others_go_on(&servers, async move |servers| {
        servers.data.check_and_mutate_row(Request::new(request)).await.unwrap().into_inner().predicate_matched
    });
    assert!(matched.await);
    assert_eq!(columns(&servers).await, 2001);
}

#[tokio::test]
async fn a_row_of_many_columns_is_read_without_blocking_others() {
    let servers = Arc::new(Servers::new().await);
    mutate(&servers, sets(0..MANY)).await;
    let labelled = RowFilter { filter: Some(Filter::ApplyLabelTransformer("l".to_owned())) };
    let pass = RowFilter { filter: Some(Filter::PassAllFilter(true)) };
    let filter = message(Filter::Interleave(Interleave { filters: vec![labelled, pass] }));
    let responses =
        lets_others_go_on(&servers, async move |servers| servers.read(read("large", filter)).await.unwrap());
    assert_eq!(responses.await.iter().map(|response| response.chunks.len()).sum::<usize>(), 2 * MANY);
}

#[tokio::test]
async fn regular_expressions_of_a_filter_share_a_limit() {
    let servers = Servers::new().await;
    let interleave = |regex: &'static str, count: usize| {
        let part = |_| RowFilter { filter: Some(Filter::ValueRegexFilter(regex.into())) };
        message(Filter::Interleave(Interleave { filters: (0..count).map(part).collect() }))
    };
    servers.read(read("a", interleave("value", 1000))).await.unwrap();
    servers.read(read("a", interleave(r"[a-z]+\d*", 1000))).await.unwrap();
    servers.read(read("a", interleave(r"\C{0,999}x", 2))).await.unwrap();
    for hungry in [r"\C{0,999}x", r"(a|b){500}", r"\w{0,999}"] {
        let status: Status = servers.read(read("a", interleave(hungry, 1000))).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains("regular expressions of the filter take more than"), "{status}");
    }
}

/// Set for the process that the next test measures.
const MEASURED: &str = "KEYDERIVE_TEST_MEMORY_OF_FILTERS";

/// The peak memory of this process, in KiB.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_filter_takes_hundreds_of_megabytes() {
    if is_over_a_file() {
        return;
    }
    if std::env::var_os(MEASURED).is_none() {
        let name = "tests::budgets::no_filter_takes_hundreds_of_megabytes";
        let mut run = std::process::Command::new(std::env::current_exe().unwrap());
        let run = run.args(["--exact", name, "--nocapture"]).env(MEASURED, "1").output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let servers = Servers::new().await;
    for number in 0..8_u8 {
        let value: Vec<u8> = (0..400_u16).map(|place| b'a' + (place * 7 % 26) as u8 % (number + 1)).collect();
        servers.set("a", "f", &column(number.into()), 0, value).await.unwrap();
    }
    let before = peak();
    for regex in [r"\C{0,999}x", "(a|b){500}", r"\w{0,999}", r"[a-z]+\d*", r"(\w+\W?){1,50}", "(a|ab|abc)*d"]
    {
        let mut count = 1000;
        loop {
            let part = |_| RowFilter { filter: Some(Filter::ValueRegexFilter(regex.into())) };
            let filter = message(Filter::Interleave(Interleave { filters: (0..count).map(part).collect() }));
            if servers.read(read("a", filter)).await.is_ok() {
                break;
            }
            count /= 2;
        }
        let took = (peak() - before) >> 10;
        println!("{count} times `{regex}`: {took} MiB so far");
        assert!(took < 128, "{count} times `{regex}` took {took} MiB");
    }
}
