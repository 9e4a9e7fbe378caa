//! What is sent about tables, when it is sent again, and how long consistency is waited for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyderive_proto::admin::bigtable_table_admin_server::{BigtableTableAdmin, BigtableTableAdminServer};
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::{
    CheckConsistencyRequest, CheckConsistencyResponse, CreateTableRequest, DeleteTableRequest,
    DropRowRangeRequest, GenerateConsistencyTokenRequest, GenerateConsistencyTokenResponse, GetTableRequest,
    ListTablesRequest, ListTablesResponse, ModifyColumnFamiliesRequest, Table, UpdateTableRequest,
};
use keyderive_proto::values::{Empty, Operation};
use tokio::time::Instant;
use tonic::body::Body;
use tonic::{Code, Request, Response, Status};
use tower_service::Service as _;

use crate::client::admin::*;
use crate::client::{BoxFuture, InProcess};

/// Fails each call of a list by its status, then answers.
#[derive(Clone)]
struct Script {
    failures: Arc<Mutex<VecDeque<Code>>>,
    /// What each further page of tables ends with.
    next_page: Arc<dyn Fn(&str) -> String + Send + Sync>,
    /// How many checks find that not every cluster has all.
    lagging: Arc<Mutex<u32>>,
    seen: Arc<Mutex<Vec<String>>>,
    created: Arc<Mutex<Option<CreateTableRequest>>>,
    modified: Arc<Mutex<Option<ModifyColumnFamiliesRequest>>>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            failures: Arc::default(),
            next_page: Arc::new(|_| String::new()),
            lagging: Arc::default(),
            seen: Arc::default(),
            created: Arc::default(),
            modified: Arc::default(),
        }
    }
}

impl Script {
    fn failing(failures: &[Code]) -> Self {
        Self { failures: Arc::new(Mutex::new(failures.iter().copied().collect())), ..Self::default() }
    }

    fn client(&self) -> Client {
        Client::builder().in_process(Arc::new(self.clone()), None)
    }

    fn see<T>(&self, rpc: &str, request: &Request<T>) -> Result<(), Status> {
        let route = request.metadata().get("x-goog-request-params").unwrap().to_str().unwrap();
        self.seen.lock().unwrap().push(format!("{rpc} {route}"));
        match self.failures.lock().unwrap().pop_front() {
            Some(code) => Err(Status::new(code, "as the script says")),
            None => Ok(()),
        }
    }

    fn calls(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl InProcess for Script {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>> {
        let mut server = BigtableTableAdminServer::new(self.clone());
        Box::pin(async move { server.call(request).await.unwrap() })
    }
}

#[tonic::async_trait]
impl BigtableTableAdmin for Script {
    async fn create_table(&self, request: Request<CreateTableRequest>) -> Result<Response<Table>, Status> {
        self.see("CreateTable", &request)?;
        *self.created.lock().unwrap() = Some(request.into_inner());
        Ok(Response::new(Table::default()))
    }

    async fn list_tables(
        &self,
        request: Request<ListTablesRequest>,
    ) -> Result<Response<ListTablesResponse>, Status> {
        self.see("ListTables", &request)?;
        let ListTablesRequest { parent, page_token, .. } = request.into_inner();
        let page = |names: [&str; 2], next: &str| ListTablesResponse {
            tables: names
                .map(|name| Table { name: format!("{parent}/tables/{name}"), ..Table::default() })
                .into(),
            next_page_token: next.to_owned(),
        };
        Ok(Response::new(match page_token.as_str() {
            "" => page(["d", "a"], "more"),
            token => page(["c", "b"], &(self.next_page)(token)),
        }))
    }

    async fn get_table(&self, request: Request<GetTableRequest>) -> Result<Response<Table>, Status> {
        self.see("GetTable", &request)?;
        Ok(Response::new(Table::default()))
    }

    async fn delete_table(&self, request: Request<DeleteTableRequest>) -> Result<Response<Empty>, Status> {
        self.see("DeleteTable", &request)?;
        Ok(Response::new(Empty {}))
    }

    async fn update_table(&self, _: Request<UpdateTableRequest>) -> Result<Response<Operation>, Status> {
        Err(Status::unimplemented("not in the script"))
    }

    async fn modify_column_families(
        &self,
        request: Request<ModifyColumnFamiliesRequest>,
    ) -> Result<Response<Table>, Status> {
        self.see("ModifyColumnFamilies", &request)?;
        *self.modified.lock().unwrap() = Some(request.into_inner());
        Ok(Response::new(Table::default()))
    }

    async fn drop_row_range(&self, request: Request<DropRowRangeRequest>) -> Result<Response<Empty>, Status> {
        self.see("DropRowRange", &request)?;
        Ok(Response::new(Empty {}))
    }

    async fn generate_consistency_token(
        &self,
        request: Request<GenerateConsistencyTokenRequest>,
    ) -> Result<Response<GenerateConsistencyTokenResponse>, Status> {
        self.see("GenerateConsistencyToken", &request)?;
        Ok(Response::new(GenerateConsistencyTokenResponse { consistency_token: "token".to_owned() }))
    }

    async fn check_consistency(
        &self,
        request: Request<CheckConsistencyRequest>,
    ) -> Result<Response<CheckConsistencyResponse>, Status> {
        self.see("CheckConsistency", &request)?;
        assert_eq!(request.get_ref().consistency_token, "token");
        let mut lagging = self.lagging.lock().unwrap();
        let consistent = *lagging == 0;
        *lagging = lagging.saturating_sub(1);
        Ok(Response::new(CheckConsistencyResponse { consistent }))
    }
}

fn cf() -> Family {
    Family::new("cf", GcRule::max_versions(1))
}

#[tokio::test(start_paused = true)]
async fn what_reads_is_sent_again_and_what_changes_is_not() {
    let script = Script::failing(&[Code::Unavailable, Code::DeadlineExceeded]);
    script.client().table_info("t").await.unwrap();
    assert_eq!(script.calls(), 3);
    let error = Script::failing(&[Code::Internal]).client().table_info("t").await.unwrap_err();
    assert!(!error.is_outcome_unknown(), "{error}");
    let error = Script::failing(&[Code::AlreadyExists]).client().create_table("t", NewTable::default()).await;
    assert!(!error.unwrap_err().is_outcome_unknown());

    fn open(error: &Error, script: &Script) {
        assert!(error.is_unavailable() && script.calls() == 1, "{error}");
        assert!(error.is_outcome_unknown() && !error.is_retryable(), "{error}");
    }
    let once = || Script::failing(&[Code::Unavailable]);
    let script = once();
    open(&script.client().create_table("t", NewTable::default()).await.unwrap_err(), &script);
    let script = once();
    open(&script.client().delete_table("t").await.unwrap_err(), &script);
    let script = once();
    open(&script.client().modify_families("t", vec![FamilyChange::drop("f")]).await.unwrap_err(), &script);
    let script = once();
    open(&script.client().drop_row_range("t", "a".into()).await.unwrap_err(), &script);
}

#[tokio::test]
async fn requests_are_routed_by_the_table_or_the_instance() {
    let script = Script::default();
    let client = script.client();
    client.create_table("t", NewTable::default()).await.unwrap();
    client.list_tables().await.unwrap();
    client.modify_families("t", vec![FamilyChange::drop("f")]).await.unwrap();
    client.wait_for_consistency("t").await.unwrap();
    let instance = "projects%2Fkeyderive%2Finstances%2Flocal";
    let table = format!("name={instance}%2Ftables%2Ft");
    assert_eq!(
        *script.seen.lock().unwrap(),
        [
            format!("CreateTable parent={instance}"),
            format!("ListTables parent={instance}"),
            format!("ListTables parent={instance}"),
            format!("ModifyColumnFamilies {table}"),
            format!("GenerateConsistencyToken {table}"),
            format!("CheckConsistency {table}"),
        ]
    );
}

#[tokio::test]
async fn tables_are_listed_over_all_pages_by_their_short_names() {
    assert_eq!(Script::default().client().list_tables().await.unwrap(), ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_list_of_tables_without_end_is_an_error() {
    async fn listed(next_page: impl Fn(&str) -> String + Send + Sync + 'static) -> String {
        let asked = std::sync::atomic::AtomicU32::new(0);
        let next_page = move |token: &str| {
            assert!(asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 5000, "the list does not end");
            next_page(token)
        };
        let script = Script { next_page: Arc::new(next_page), ..Script::default() };
        let error = script.client().list_tables().await.unwrap_err();
        assert!(error.is_protocol_violation(), "{error}");
        error.to_string()
    }
    let text = listed(|_| "more".to_owned()).await;
    assert!(
        text.ends_with("the page token `more` comes a second time, and the list would not end"),
        "{text}"
    );
    let text = listed(|token| if token == "more" { "a".to_owned() } else { "more".to_owned() }).await;
    assert!(text.contains("the page token `more` comes a second time"), "{text}");
    let text = listed(|token| format!("{}1", token.trim_start_matches("more"))).await;
    assert!(text.ends_with("the list of tables has more than 1000 pages"), "{text}");
}

#[tokio::test]
async fn a_table_is_created_as_it_is_declared() {
    let script = Script::default();
    let families = vec![cf(), Family::aggregate("sums", Aggregate::Sum, GcRule::never())];
    let new = NewTable { families, splits: vec!["a".into(), "b".into()], row_key_schema: None };
    script.client().create_table("t", new).await.unwrap();
    let created = script.created.lock().unwrap().clone().unwrap();
    assert_eq!(
        (created.table_id.as_str(), created.parent.as_str()),
        ("t", "projects/keyderive/instances/local")
    );
    assert!(created.initial_splits.iter().map(|split| &split.key[..]).eq([b"a", b"b"]));
    let families = created.table.unwrap().column_families;
    assert_eq!(families["cf"].gc_rule, GcRule::max_versions(1).message());
    assert!(families["cf"].value_type.is_none() && families["sums"].value_type.is_some());
    assert!(families["sums"].gc_rule.is_none());
}

#[tokio::test]
async fn a_change_of_a_rule_names_what_it_changes() {
    let script = Script::default();
    let changes = vec![
        FamilyChange::add(cf()),
        FamilyChange::gc_rule("old", GcRule::never()),
        FamilyChange::drop("gone"),
    ];
    script.client().modify_families("t", changes).await.unwrap();
    let sent = script.modified.lock().unwrap().clone().unwrap().modifications;
    let shape: Vec<_> = sent
        .into_iter()
        .map(|change| {
            let mask = change.update_mask.map(|mask| mask.paths.concat());
            let kind = match change.r#mod.unwrap() {
                Mod::Create(_) => "create",
                Mod::Update(_) => "update",
                Mod::Drop(true) => "drop",
                Mod::Drop(false) => "nothing",
            };
            (change.id, kind, mask)
        })
        .collect();
    let gc_rule = Some("gc_rule".to_owned());
    assert_eq!(
        shape,
        [("cf".into(), "create", None), ("old".into(), "update", gc_rule), ("gone".to_owned(), "drop", None)]
    );
}

#[tokio::test]
async fn what_no_table_can_be_is_not_sent() {
    let script = Script::default();
    let client = script.client();
    let bad = Family::new("cf", GcRule::max_versions(0));
    let new = NewTable { families: vec![cf(), bad.clone()], ..NewTable::default() };
    for error in [
        client.create_table("t", new).await.unwrap_err(),
        client.modify_families("t", vec![FamilyChange::add(bad)]).await.unwrap_err(),
    ] {
        assert!(error.is_invalid_argument() && !error.is_table_mismatch(), "{error}");
        assert_eq!(
            error.to_string(),
            "table `t`: the column family `cf`: 0 versions are kept; keep 1 to 2147483647"
        );
    }
    let error = client.modify_families("t", Vec::new()).await.unwrap_err();
    assert!(error.is_invalid_argument(), "{error}");
    assert_eq!(script.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn consistency_is_asked_for_with_growing_pauses() {
    let script = Script { lagging: Arc::new(Mutex::new(8)), ..Script::default() };
    let begun = Instant::now();
    script.client().wait_for_consistency("t").await.unwrap();
    assert_eq!(script.calls(), 10);
    // Eight pauses of 25 ms to 3.2 s, of each a half to the whole.
    let waited = begun.elapsed();
    assert!((Duration::from_millis(3187)..Duration::from_millis(6400)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn consistency_that_does_not_come_is_a_deadline() {
    let script = Script { lagging: Arc::new(Mutex::new(u32::MAX)), ..Script::default() };
    let client = script.client().with(|settings| settings.admin.total_timeout = Duration::from_secs(30));
    let begun = Instant::now();
    let error = client.wait_for_consistency("t").await.unwrap_err();
    assert!(begun.elapsed() <= Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(error.is_deadline_exceeded() && error.attempts() as usize + 1 == script.calls(), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with(
            "CheckConsistency on table `t` failed: DEADLINE_EXCEEDED: not every cluster had what was written within 30s"
        ),
        "{text}"
    );
}
