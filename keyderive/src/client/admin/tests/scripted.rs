//! What is sent about tables, when it is retried, and how long consistency is waited for.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::{
    CheckConsistencyRequest, CheckConsistencyResponse, CreateTableRequest, GenerateConsistencyTokenResponse,
    ListTablesRequest, ListTablesResponse, ModifyColumnFamiliesRequest, Table, UpdateTableRequest,
};
use keyderive_proto::values::{self, Empty, operation};
use keyderive_scripted::{Answer, Mock, Request, Rpc};
use tokio::time::Instant;
use tonic::Code;

use crate::client::admin::*;
use crate::client::{ErrorKind, connected_by};

fn client(mock: &Mock) -> Client {
    connected_by(Client::builder(), mock.connector()).unwrap()
}

fn succeeding() -> Mock {
    Mock::new().admin_by(success)
}

/// Fails one request for each of the codes, and then succeeds.
fn failing(codes: &'static [Code]) -> Mock {
    let codes = Mutex::new(codes.iter());
    Mock::new().admin_by(move |request| match codes.lock().unwrap().next() {
        Some(code) => Answer::failure(*code),
        None => success(request),
    })
}

fn success(request: &Request) -> Answer {
    match request.rpc {
        Rpc::ListTables => page(request, |_| String::new()),
        Rpc::GenerateConsistencyToken => {
            Answer::new().send(&GenerateConsistencyTokenResponse { consistency_token: "token".to_owned() })
        }
        Rpc::CheckConsistency => Answer::new().send(&CheckConsistencyResponse { consistent: true }),
        // An empty message is an empty `Table` too.
        _ => Answer::new().send(&Empty {}),
    }
}

/// The first page of a list of tables, or a further one with its next token.
fn page(request: &Request, next_page: impl Fn(&str) -> String) -> Answer {
    let ListTablesRequest { parent, page_token, .. } = request.decode();
    let (names, next_page_token) = match page_token.as_str() {
        "" => (["d", "a"], "more".to_owned()),
        token => (["c", "b"], next_page(token)),
    };
    let table = |name| Table { name: format!("{parent}/tables/{name}"), ..Table::default() };
    Answer::new().send(&ListTablesResponse { tables: names.map(table).into(), next_page_token })
}

/// Finds clusters lagging in the first `checks` checks of consistency.
fn lagging(checks: u32) -> Mock {
    let left = AtomicU32::new(checks);
    Mock::new().admin_by(move |request| match request.rpc {
        Rpc::CheckConsistency => {
            assert_eq!(request.decode::<CheckConsistencyRequest>().consistency_token, "token");
            let left = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            Answer::new().send(&CheckConsistencyResponse { consistent: left.is_err() })
        }
        _ => success(request),
    })
}

fn calls(mock: &Mock) -> usize {
    mock.admin_requests().len()
}

fn cf() -> Family {
    Family::new("cf", GcRule::max_versions(1))
}

#[tokio::test(start_paused = true)]
async fn reads_are_retried_and_changes_are_not() {
    let mock = failing(&[Code::Unavailable, Code::DeadlineExceeded]);
    client(&mock).table_info("t").await.unwrap();
    assert_eq!(calls(&mock), 3);
    let error = client(&failing(&[Code::Internal])).table_info("t").await.unwrap_err();
    assert!(!error.is_outcome_unknown(), "{error}");
    let error = client(&failing(&[Code::AlreadyExists])).create_table("t", NewTable::default()).await;
    assert!(!error.unwrap_err().is_outcome_unknown());

    fn assert_outcome_is_unknown(error: &Error, mock: &Mock) {
        assert!(error.is_unavailable() && calls(mock) == 1, "{error}");
        assert!(error.is_outcome_unknown() && !error.is_retryable(), "{error}");
    }
    let once = || failing(&[Code::Unavailable]);
    let mock = once();
    assert_outcome_is_unknown(
        &client(&mock).create_table("t", NewTable::default()).await.unwrap_err(),
        &mock,
    );
    let mock = once();
    assert_outcome_is_unknown(&client(&mock).delete_table("t").await.unwrap_err(), &mock);
    let mock = once();
    assert_outcome_is_unknown(
        &client(&mock).modify_families("t", vec![FamilyChange::drop("f")]).await.unwrap_err(),
        &mock,
    );
    let mock = once();
    assert_outcome_is_unknown(&client(&mock).drop_row_range("t", "a".into()).await.unwrap_err(), &mock);
}

#[tokio::test]
async fn requests_are_routed_by_the_table_or_the_instance() {
    let mock = succeeding();
    let client = client(&mock);
    client.create_table("t", NewTable::default()).await.unwrap();
    client.list_tables().await.unwrap();
    client.modify_families("t", vec![FamilyChange::drop("f")]).await.unwrap();
    client.wait_for_consistency("t").await.unwrap();
    let instance = "projects%2Fkeyderive%2Finstances%2Flocal";
    let table = format!("name={instance}%2Ftables%2Ft");
    let seen =
        |request: &Request| format!("{:?} {}", request.rpc, request.header("x-goog-request-params").unwrap());
    assert_eq!(
        mock.admin_requests().iter().map(seen).collect::<Vec<_>>(),
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
    assert_eq!(client(&succeeding()).list_tables().await.unwrap(), ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_list_of_tables_without_end_is_an_error() {
    async fn listed(next_page: impl Fn(&str) -> String + Send + Sync + 'static) -> String {
        let mock = Mock::new().admin_by(move |request| page(request, &next_page));
        let client = client(&mock);
        let listed = tokio::time::timeout(Duration::from_secs(60), client.list_tables());
        let error = listed.await.expect("the list does not end").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ProtocolViolation, "{error}");
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
    let mock = succeeding();
    let families = vec![cf(), Family::aggregate("sums", Aggregate::Sum, GcRule::never())];
    let new = NewTable { families, splits: vec!["a".into(), "b".into()], ..NewTable::default() };
    client(&mock).create_table("t", new).await.unwrap();
    let created = mock.admin_requests()[0].decode::<CreateTableRequest>();
    assert_eq!(
        (created.table_id.as_str(), created.parent.as_str()),
        ("t", "projects/keyderive/instances/local")
    );
    assert!(created.initial_splits.iter().map(|split| &split.key[..]).eq([b"a", b"b"]));
    let families = created.table.unwrap().column_families;
    assert_eq!(families["cf"].gc_rule, Some(GcRule::max_versions(1).message()));
    assert!(families["cf"].value_type.is_none() && families["sums"].value_type.is_some());
    // The service makes no family of an entry without a rule.
    assert_eq!(families["sums"].gc_rule, Some(GcRule::never().message()));
}

#[tokio::test]
async fn a_change_of_a_rule_names_what_it_changes() {
    let mock = succeeding();
    let changes = vec![
        FamilyChange::add(cf()),
        FamilyChange::gc_rule("old", GcRule::never()),
        FamilyChange::drop("gone"),
    ];
    client(&mock).modify_families("t", changes).await.unwrap();
    let sent = mock.admin_requests()[0].decode::<ModifyColumnFamiliesRequest>().modifications;
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
async fn an_invalid_declaration_is_not_sent() {
    let mock = succeeding();
    let client = client(&mock);
    let bad = Family::new("cf", GcRule::max_versions(0));
    let new = NewTable { families: vec![cf(), bad.clone()], ..NewTable::default() };
    for error in [
        client.create_table("t", new).await.unwrap_err(),
        client.modify_families("t", vec![FamilyChange::add(bad)]).await.unwrap_err(),
    ] {
        assert!(error.kind() == ErrorKind::InvalidArgument && !error.is_table_mismatch(), "{error}");
        assert_eq!(
            error.to_string(),
            "table `t`: the column family `cf`: 0 versions are kept; keep 1 to 2147483647"
        );
    }
    let error = client.modify_families("t", Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(calls(&mock), 0);
}

#[tokio::test(start_paused = true)]
async fn consistency_is_asked_for_with_growing_pauses() {
    let mock = lagging(8);
    let begun = Instant::now();
    client(&mock).wait_for_consistency("t").await.unwrap();
    assert_eq!(calls(&mock), 10);
    // Eight pauses, which double from 25 ms to 3.2 s; each takes from half of that to all of it.
    let waited = begun.elapsed();
    assert!((Duration::from_millis(3187)..Duration::from_millis(6400)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn consistency_that_does_not_come_is_a_deadline() {
    let mock = lagging(u32::MAX);
    let client = client(&mock).with(|settings| settings.admin.total_timeout = Duration::from_secs(30));
    let begun = Instant::now();
    let error = client.wait_for_consistency("t").await.unwrap_err();
    assert!(begun.elapsed() <= Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(error.is_deadline_exceeded() && error.attempts() as usize + 1 == calls(&mock), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with(
            "CheckConsistency on table `t` failed: DEADLINE_EXCEEDED: not every cluster became consistent within 30s"
        ),
        "{text}"
    );
}

/// A table that has its row key schema until the schema was read `reads` times, as a server that answers `UpdateTable` with an
/// operation that goes on.
fn removing(reads: u32, update: values::Operation) -> Mock {
    let left = AtomicU32::new(reads);
    Mock::new().admin_by(move |request| match request.rpc {
        Rpc::UpdateTable => Answer::new().send(&update),
        _ => {
            let left = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            let field = admin::r#type::r#struct::Field { field_name: "id".to_owned(), r#type: None };
            let schema = admin::r#type::Struct { fields: vec![field], encoding: None };
            Answer::new().send(&Table { row_key_schema: left.is_ok().then_some(schema), ..Table::default() })
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_row_key_schema_is_removed_by_its_mask() {
    // The first read finds the schema, and so do two after the update.
    let mock = removing(3, values::Operation::default());
    client(&mock).remove_row_key_schema("t").await.unwrap();
    let requests = mock.admin_requests();
    let rpcs: Vec<_> = requests.iter().map(|request| request.rpc).collect();
    assert_eq!(rpcs, [Rpc::GetTable, Rpc::UpdateTable, Rpc::GetTable, Rpc::GetTable, Rpc::GetTable]);
    assert_eq!(
        requests[1].header("x-goog-request-params").unwrap(),
        "table.name=projects%2Fkeyderive%2Finstances%2Flocal%2Ftables%2Ft"
    );
    let UpdateTableRequest { table, update_mask, ignore_warnings } = requests[1].decode();
    let name = "projects/keyderive/instances/local/tables/t".to_owned();
    assert_eq!(table, Some(Table { name, ..Table::default() }));
    assert_eq!((update_mask.unwrap().paths, ignore_warnings), (vec!["row_key_schema".to_owned()], true));

    let done = removing(1, values::Operation { done: true, ..values::Operation::default() });
    client(&done).remove_row_key_schema("t").await.unwrap();
    let without = removing(0, values::Operation::default());
    client(&without).remove_row_key_schema("t").await.unwrap();
    assert_eq!((calls(&done), calls(&without)), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_fails_or_does_not_end_is_an_error() {
    let status = values::Status { code: 9, message: "it is in use".to_owned(), details: Vec::new() };
    let result = Some(operation::Result::Error(status));
    let mock = removing(u32::MAX, values::Operation { done: true, result, ..values::Operation::default() });
    let text = client(&mock).remove_row_key_schema("t").await.unwrap_err().to_string();
    assert!(text.starts_with("UpdateTable on table `t` failed: FAILED_PRECONDITION: it is in use"), "{text}");

    let mock = removing(u32::MAX, values::Operation::default());
    let client = client(&mock).with(|settings| settings.admin.total_timeout = Duration::from_secs(30));
    let error = client.remove_row_key_schema("t").await.unwrap_err();
    assert!(error.is_deadline_exceeded(), "{error}");
    assert!(error.to_string().contains("the table still has its row key schema within 30s"), "{error}");
}
