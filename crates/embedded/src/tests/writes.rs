//! Mutations, conditional writes and read-modify-writes.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use keyderive_proto::admin::ColumnFamily;
use keyderive_proto::data::bigtable_server::Bigtable as _;
use keyderive_proto::data::mutation::{self, DeleteFromColumn, DeleteFromFamily};
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::row_filter::Filter;
use keyderive_proto::data::{self, CheckAndMutateRowRequest, ReadModifyWriteRule, RowFilter};
use tonic::{Code, Request, Status};

use super::raw::{NAME, START, Servers, code, delete_row, delete_versions, message, set_cell};
use super::*;

#[tokio::test]
async fn versions_are_deleted_by_time() {
    let servers = Servers::new().await;
    for timestamp in [1000, 2000, 3000, 4000] {
        servers.set("a", "f", "q", timestamp, "v").await.unwrap();
    }
    let delete = delete_versions;
    servers.mutate("a", delete(2000, 3000)).await.unwrap();
    assert_eq!(servers.timestamps().await, [4000, 3000, 1000]);
    servers.mutate("a", delete(3000, 0)).await.unwrap();
    assert_eq!(servers.timestamps().await, [1000]);
    for (start, end) in [(3000, 2000), (1000, 1000), (1, 0), (0, 1500), (-1000, 0), (0, -1000)] {
        assert_eq!(code(servers.mutate("a", delete(start, end)).await), Code::InvalidArgument);
    }
    assert_eq!(servers.timestamps().await, [1000]);
}

#[tokio::test]
async fn a_family_that_is_not_there_is_not_deleted_from() {
    let servers = Servers::new().await;
    let delete = DeleteFromFamily { family_name: "g".to_owned() };
    let status = servers.mutate("a", mutation::Mutation::DeleteFromFamily(delete)).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::NotFound, "the table has no column family `g`"));
}

#[tokio::test]
async fn the_time_of_the_server_is_that_of_its_clock() {
    let servers = Servers::new().await;
    servers.set("a", "f", "q", -1, "v").await.unwrap();
    servers.clock.set(START + 5000);
    servers.set("a", "f", "q", -1, "w").await.unwrap();
    servers.set("a", "f", "q", -1, "x").await.unwrap();
    assert_eq!(servers.cells().await, ["f:q@START+5000=x", "f:q@START+0=v"]);
}

#[tokio::test]
async fn an_empty_mutation_is_refused() {
    let servers = Servers::new().await;
    let request = data::MutateRowRequest {
        table_name: NAME.to_owned(),
        row_key: "a".into(),
        mutations: vec![data::Mutation { mutation: None, ..data::Mutation::default() }],
        ..data::MutateRowRequest::default()
    };
    assert_eq!(code(servers.data.mutate_row(Request::new(request)).await), Code::InvalidArgument);
}

/// Writes `yes` if the filter finds a cell of the row `a`, else `no`.
async fn check(servers: &Servers, predicate_filter: Option<RowFilter>) -> Result<bool, Status> {
    let set = |qualifier| {
        vec![data::Mutation { mutation: Some(set_cell("f", qualifier, 0, "v")), ..data::Mutation::default() }]
    };
    let request = CheckAndMutateRowRequest {
        predicate_filter,
        true_mutations: set("yes"),
        false_mutations: set("no"),
        ..check_request()
    };
    Ok(servers.data.check_and_mutate_row(Request::new(request)).await?.into_inner().predicate_matched)
}

fn check_request() -> CheckAndMutateRowRequest {
    CheckAndMutateRowRequest {
        table_name: NAME.to_owned(),
        row_key: "a".into(),
        ..CheckAndMutateRowRequest::default()
    }
}

#[tokio::test]
async fn a_condition_chooses_the_mutations() {
    let servers = Servers::new().await;
    assert!(!check(&servers, None).await.unwrap());
    assert_eq!(servers.cells().await, ["f:no@0=v"]);
    assert!(check(&servers, None).await.unwrap());
    let no = || message(Filter::ColumnQualifierRegexFilter("none".into()));
    assert!(!check(&servers, no()).await.unwrap());
    assert_eq!(servers.cells().await, ["f:no@0=v", "f:yes@0=v"]);
    servers.mutate("a", delete_row()).await.unwrap();
    assert!(!check(&servers, message(Filter::PassAllFilter(true))).await.unwrap());
}

#[tokio::test]
async fn one_list_of_mutations_is_enough() {
    let servers = Servers::new().await;
    servers.set("a", "f", "q", 0, "v").await.unwrap();
    let delete = || vec![data::Mutation { mutation: Some(delete_row()), ..data::Mutation::default() }];
    let send = async |true_mutations, false_mutations| {
        let request = CheckAndMutateRowRequest { true_mutations, false_mutations, ..check_request() };
        servers.data.check_and_mutate_row(Request::new(request)).await.map(tonic::Response::into_inner)
    };
    assert!(send(Vec::new(), delete()).await.unwrap().predicate_matched);
    assert_eq!(servers.cells().await, ["f:q@0=v"]);
    assert!(send(delete(), Vec::new()).await.unwrap().predicate_matched);
    assert!(servers.cells().await.is_empty());
    let status = send(Vec::new(), Vec::new()).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(
        status
            .message()
            .starts_with("the request for row b\"a\" has neither `true_mutations` nor `false_mutations`"),
        "{status}"
    );
    assert_eq!(code(send(delete(), vec![delete().remove(0); 100_001]).await), Code::InvalidArgument);
}

#[tokio::test]
async fn a_conditional_write_is_refused_whole() {
    let servers = Servers::new().await;
    let unknown = data::Mutation { mutation: Some(set_cell("g", "q", 0, "v")), ..data::Mutation::default() };
    let known = data::Mutation { mutation: Some(set_cell("f", "q", 0, "v")), ..data::Mutation::default() };
    for (true_mutations, false_mutations) in
        [(vec![unknown.clone()], vec![known.clone()]), (Vec::new(), vec![known, unknown])]
    {
        let request = CheckAndMutateRowRequest { true_mutations, false_mutations, ..check_request() };
        assert_eq!(code(servers.data.check_and_mutate_row(Request::new(request)).await), Code::NotFound);
    }
    assert_eq!(code(check(&servers, Some(RowFilter::default())).await), Code::InvalidArgument);
    assert!(servers.cells().await.is_empty());
}

fn rule(qualifier: &'static str, rule: Rule) -> ReadModifyWriteRule {
    ReadModifyWriteRule { family_name: "f".to_owned(), column_qualifier: qualifier.into(), rule: Some(rule) }
}

#[tokio::test]
async fn rules_append_and_increment_in_order() {
    let servers = Servers::new().await;
    let made = servers
        .modify(vec![
            rule("n", Rule::IncrementAmount(2)),
            rule("a", Rule::AppendValue("x".into())),
            rule("n", Rule::IncrementAmount(-5)),
            rule("a", Rule::AppendValue("y".into())),
        ])
        .await
        .unwrap();
    assert_eq!(made, ["f:a@START+0=xy", "f:n@START+0=-3"]);
    assert_eq!(servers.cells().await, made);

    servers.clock.set(START + 1000);
    let made = servers.modify(vec![rule("n", Rule::IncrementAmount(i64::MIN))]).await.unwrap();
    assert_eq!(made, ["f:n@START+1000=9223372036854775805"]);
    assert_eq!(servers.cells().await.len(), 3);
}

#[tokio::test]
async fn a_cell_written_by_a_rule_is_never_older_than_the_cell_it_read() {
    let servers = Servers::new().await;
    servers.set("a", "f", "future", START + 9000, "x").await.unwrap();
    servers.set("a", "f", "past", 1000, "y").await.unwrap();
    let append = |qualifier| rule(qualifier, Rule::AppendValue("z".into()));
    let made = servers.modify(vec![append("future"), append("past")]).await.unwrap();
    assert_eq!(made, ["f:future@START+9000=xz", "f:past@START+0=yz"]);
    assert_eq!(servers.cells().await, ["f:future@START+9000=xz", "f:past@START+0=yz", "f:past@1000=y"]);
}

#[tokio::test]
async fn rules_are_applied_all_or_none() {
    let servers = Servers::new().await;
    servers.set("a", "f", "text", 0, "seven b").await.unwrap();
    let good = || rule("n", Rule::IncrementAmount(1));
    let status = servers.modify(vec![good(), rule("text", Rule::IncrementAmount(1))]).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert_eq!(
        status.message(),
        "the column `text` in the column family `f` has a value of 7 bytes, and only an integer of 8 bytes can be incremented"
    );
    let unknown = ReadModifyWriteRule { family_name: "g".to_owned(), ..good() };
    assert_eq!(code(servers.modify(vec![good(), unknown]).await), Code::NotFound);
    let nothing = ReadModifyWriteRule { rule: None, ..good() };
    assert_eq!(code(servers.modify(vec![good(), nothing]).await), Code::InvalidArgument);
    assert_eq!(code(servers.modify(Vec::new()).await), Code::InvalidArgument);
    assert_eq!(servers.cells().await, ["f:text@0=seven b"]);
}

#[tokio::test]
async fn writers_beside_each_other_lose_nothing() {
    let servers = Arc::new(Servers::with([("f", ColumnFamily::default())]).await);
    let writers = (0..4).map(|_| {
        let servers = Arc::clone(&servers);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for _ in 0..500 {
                runtime.block_on(servers.modify(vec![rule("n", Rule::IncrementAmount(1))])).unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.join().unwrap();
    }
    assert_eq!(servers.cells().await, ["f:n@START+0=2000"]);
}

/// A clock that can be armed. Then its next call returns the time at which it was called, but only after another write or
/// 100 ms.
#[derive(Clone, Default)]
struct SlowOnce(Arc<(Mutex<Slow>, Condvar)>);

#[derive(Default)]
struct Slow {
    is_armed: bool,
    is_asked: bool,
    is_over: bool,
}

impl SlowOnce {
    fn change(&self, change: impl FnOnce(&mut Slow)) {
        change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
    }

    fn wait(&self, most: Duration, is_waiting: impl Fn(&Slow) -> bool) {
        let slow = self.0.0.lock().unwrap();
        drop(self.0.1.wait_timeout_while(slow, most, |slow| is_waiting(slow)).unwrap());
    }
}

impl Clock for SlowOnce {
    fn now_micros(&self) -> i64 {
        static TICKS: AtomicI64 = AtomicI64::new(0);
        let now = START + TICKS.fetch_add(1, Ordering::SeqCst) * 1000;
        let is_slow = std::mem::take(&mut self.0.0.lock().unwrap().is_armed);
        if is_slow {
            self.change(|slow| slow.is_asked = true);
            self.wait(Duration::from_millis(100), |slow| !slow.is_over);
        }
        now
    }
}

/// With an earlier time, the row would mix columns of both writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_write_that_is_applied_later_has_no_earlier_time() {
    let clock = SlowOnce::default();
    let servers = Servers::of(store(clock.clone())).with_table([("f", ColumnFamily::default())]).await;
    let servers = Arc::new(servers);
    clock.change(|slow| slow.is_armed = true);
    let delete_r = mutation::Mutation::DeleteFromColumn(DeleteFromColumn {
        family_name: "f".to_owned(),
        column_qualifier: "r".into(),
        time_range: None,
    });
    let first = tokio::spawn({
        let servers = Arc::clone(&servers);
        async move { servers.mutate_by("k", [delete_r, set_cell("f", "q", -1, "without")]).await }
    });
    clock.wait(Duration::from_secs(30), |slow| !slow.is_asked);
    let with_r = [set_cell("f", "q", -1, "with"), set_cell("f", "r", -1, "with")];
    servers.mutate_by("k", with_r).await.unwrap();
    clock.change(|slow| slow.is_over = true);
    first.await.unwrap().unwrap();
    let cells = servers.cells().await;
    let has_r = cells.iter().any(|cell| cell.starts_with("f:r@"));
    assert!(cells[0].ends_with(if has_r { "=with" } else { "=without" }), "{cells:?}");
}
