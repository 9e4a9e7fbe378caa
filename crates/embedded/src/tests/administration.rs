//! Table administration through raw messages.

use keyderive_proto::admin::bigtable_table_admin_server::BigtableTableAdmin as _;
use keyderive_proto::admin::drop_row_range_request::Target;
use keyderive_proto::admin::gc_rule::Rule;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::table::View;
use keyderive_proto::admin::{
    self, CheckConsistencyRequest, ColumnFamily, CreateTableRequest, DropRowRangeRequest, GcRule,
    GenerateConsistencyTokenRequest, GetTableRequest, ListTablesRequest, ListTablesResponse,
    UpdateTableMetadata, UpdateTableRequest, create_table_request,
};
use keyderive_proto::data::mutation::Mutation;
use keyderive_proto::values::{FieldMask, Operation, operation};
use prost::Message as _;
use tonic::{Code, Request, Response, Status};

use super::aggregates::{add, big_endian, sum};
use super::raw::{INSTANCE, NAME, START, Servers, code};
use super::*;

#[tokio::test]
async fn families_change_all_or_none() {
    let servers = Servers::new().await;
    servers.set("a", "f", "q", 0, "v").await.unwrap();
    let create = || Mod::Create(ColumnFamily::default());
    let update = || Mod::Update(ColumnFamily::default());
    let outcome = servers.modify_families([("g", create()), ("f", create())]).await;
    assert_eq!(code(outcome), Code::AlreadyExists);
    assert_eq!(code(servers.modify_families([("h", Mod::Drop(true))]).await), Code::NotFound);
    assert_eq!(code(servers.modify_families([("h", update())]).await), Code::NotFound);
    assert_eq!(code(servers.modify_families([("f", Mod::Drop(false))]).await), Code::InvalidArgument);
    assert_eq!(code(servers.modify_families([]).await), Code::InvalidArgument);
    assert_eq!(servers.timestamps().await, [0]);

    let changes = [("g", create()), ("g", update()), ("f", Mod::Drop(true))];
    let table = servers.modify_families(changes).await.unwrap();
    assert_eq!(table.column_families.keys().collect::<Vec<_>>(), ["g"]);
    assert!(servers.timestamps().await.is_empty());
    assert_eq!(get(&servers, View::Unspecified).await, table);
    servers.modify_families([("f", create())]).await.unwrap();
    assert!(servers.timestamps().await.is_empty());
}

#[tokio::test]
async fn what_a_table_cannot_have_is_refused() {
    let servers = Servers::without_tables();
    for table in [
        admin::Table { change_stream_config: Some(admin::ChangeStreamConfig {}), ..Default::default() },
        admin::Table { automated_backup_policy: Some(admin::AutomatedBackupPolicy {}), ..Default::default() },
        admin::Table { tiered_storage_config: Some(admin::TieredStorageConfig {}), ..Default::default() },
    ] {
        assert_eq!(code(servers.create(table).await), Code::Unimplemented);
    }
    assert!(
        list(&servers, ListTablesRequest { parent: INSTANCE.to_owned(), ..Default::default() })
            .await
            .unwrap()
            .tables
            .is_empty()
    );
}

/// More rows than a sweep visits at once.
const ROWS: usize = 200;

#[tokio::test]
async fn modifications_apply_in_the_order_given() {
    let create = || Mod::Create(ColumnFamily::default());
    for (changes, cells) in [
        (vec![("f", Mod::Drop(true)), ("f", create())], 0),
        (vec![("f", Mod::Drop(true)), ("f", Mod::Create(sum()))], 0),
        (vec![("f", Mod::Drop(true)), ("f", create()), ("f", Mod::Drop(true)), ("f", create())], 0),
        (vec![("g", create()), ("g", Mod::Drop(true)), ("g", Mod::Create(sum()))], ROWS),
        (vec![("g", create()), ("f", Mod::Drop(true))], 0),
    ] {
        let servers = Servers::new().await;
        for row in 0..ROWS {
            servers.set(&format!("{row:03}"), "f", "q", 0, "seven").await.unwrap();
        }
        servers.modify_each(changes.clone()).await.unwrap();
        assert_eq!(servers.timestamps().await.len(), cells, "{changes:?}");
        // What a re-created family holds is its own.
        if changes.contains(&("f", Mod::Create(sum()))) {
            servers.mutate("000", Mutation::AddToCell(add("f", 0, 7))).await.unwrap();
            assert_eq!(servers.cells().await, ["f:q@0=7"]);
        }
    }
}

#[tokio::test]
async fn an_order_that_cannot_be_applied_changes_nothing() {
    let servers = Servers::new().await;
    servers.set("a", "f", "q", 0, "v").await.unwrap();
    let create = || Mod::Create(ColumnFamily::default());
    let refused = servers.modify_families([("f", create()), ("f", Mod::Drop(true))]).await;
    assert_eq!(code(refused), Code::AlreadyExists);
    let refused = servers.modify_families([("f", Mod::Drop(true)), ("f", Mod::Drop(true))]).await;
    assert_eq!(code(refused), Code::NotFound);
    let update = Mod::Update(ColumnFamily::default());
    let refused = servers.modify_families([("f", Mod::Drop(true)), ("f", update)]).await;
    assert_eq!(code(refused), Code::NotFound);
    assert_eq!(servers.cells().await, ["f:q@0=v"]);
}

#[tokio::test]
async fn a_table_to_create_has_no_name() {
    let servers = Servers::without_tables();
    let named = admin::Table { name: NAME.to_owned(), ..admin::Table::default() };
    let status = servers.create(named).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("must have none: `parent` and `table_id` name it"), "{status}");
    assert_eq!(servers.create(admin::Table::default()).await.unwrap().name, NAME);
}

#[tokio::test]
async fn an_update_of_a_family_names_what_it_changes() {
    let servers = Servers::new().await;
    let rule = GcRule { rule: Some(Rule::MaxNumVersions(1)) };
    let integers = ColumnFamily { gc_rule: Some(rule), value_type: Some(big_endian()) };
    for (paths, has_rule, has_type) in [
        (&["value_type"][..], false, true),
        (&["gc_rule"], true, true),
        (&["gc_rule", "value_type"], true, true),
    ] {
        let table = servers.update_family("f", integers.clone(), paths).await.unwrap();
        let family = &table.column_families["f"];
        assert_eq!(
            (family.gc_rule.is_some(), family.value_type.is_some()),
            (has_rule, has_type),
            "{paths:?}"
        );
        assert_eq!(get(&servers, View::Full).await, table);
    }
    let table = servers.update_family("f", ColumnFamily::default(), &["value_type"]).await.unwrap();
    assert_eq!(table.column_families["f"], ColumnFamily { value_type: None, ..integers.clone() });
    let table = servers.update_family("f", ColumnFamily::default(), &[]).await.unwrap();
    assert_eq!(table.column_families["f"], ColumnFamily::default());

    let status = servers.update_family("f", integers, &["gc_rule", "name"]).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().starts_with("`name` of the column family `f` cannot be updated"), "{status}");
    assert_eq!(get(&servers, View::Full).await, table);
}

async fn get(servers: &Servers, view: View) -> admin::Table {
    let request = GetTableRequest { name: NAME.to_owned(), view: view.into() };
    servers.admin.get_table(Request::new(request)).await.unwrap().into_inner()
}

#[tokio::test]
async fn a_view_shows_the_schema_or_the_name() {
    let servers = Servers::new().await;
    for view in [View::Unspecified, View::SchemaView, View::Full] {
        let table = get(&servers, view).await;
        assert_eq!((table.name.as_str(), table.column_families.len(), table.granularity), (NAME, 1, 1));
    }
    for view in [View::NameOnly, View::ReplicationView, View::EncryptionView] {
        let name_only = admin::Table { name: NAME.to_owned(), ..admin::Table::default() };
        assert_eq!(get(&servers, view).await, name_only);
    }
    let request = GetTableRequest { name: NAME.to_owned(), view: 9 };
    assert_eq!(code(servers.admin.get_table(Request::new(request)).await), Code::InvalidArgument);
}

#[tokio::test]
async fn a_table_is_created_once_and_with_splits_that_are_keys() {
    let servers = Servers::new().await;
    let create = async |id: &str, split: &[u8]| {
        let key = Bytes::copy_from_slice(split);
        let request = CreateTableRequest {
            parent: INSTANCE.to_owned(),
            table_id: id.to_owned(),
            table: None,
            initial_splits: vec![create_table_request::Split { key }],
        };
        servers.admin.create_table(Request::new(request)).await
    };
    let status = create("t", b"a").await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::AlreadyExists, &*format!("table `{NAME}` already exists"))
    );
    assert_eq!(code(create("u", b"").await), Code::InvalidArgument);
    assert_eq!(code(create("u", &[b'k'; 4097]).await), Code::InvalidArgument);
    create("u", b"a").await.unwrap();
}

async fn list(servers: &Servers, request: ListTablesRequest) -> Result<ListTablesResponse, Status> {
    servers.admin.list_tables(Request::new(request)).await.map(Response::into_inner)
}

#[tokio::test]
async fn tables_are_listed_by_instance_and_in_pages() {
    let servers = Servers::without_tables();
    for (instance, id) in [("i", "c"), ("i", "a"), ("i2", "x"), ("i", "b"), ("i", "d"), ("h", "y")] {
        let parent = format!("projects/p/instances/{instance}");
        let request = CreateTableRequest { parent, table_id: id.to_owned(), ..CreateTableRequest::default() };
        servers.admin.create_table(Request::new(request)).await.unwrap();
    }
    let whole = ListTablesRequest { parent: INSTANCE.to_owned(), ..ListTablesRequest::default() };
    let all = list(&servers, whole.clone()).await.unwrap();
    let ids = all.tables.iter().map(|table| table.name.rsplit_once('/').unwrap().1);
    assert_eq!(ids.collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert_eq!(all.next_page_token, "");

    for page_size in [1, 2, 3, 4] {
        let mut request = ListTablesRequest { page_size, ..whole.clone() };
        let (mut tables, mut pages) = (Vec::new(), 0);
        loop {
            let page = list(&servers, request.clone()).await.unwrap();
            tables.extend(page.tables);
            pages += 1;
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        assert_eq!(
            (tables, pages),
            (all.tables.clone(), 4_i32.div_euclid(page_size) + i32::from(4 % page_size != 0))
        );
    }
    let other = "projects/p/instances/i2/tables/x".to_owned();
    for wrong in [
        ListTablesRequest { page_size: -1, ..whole.clone() },
        ListTablesRequest { page_token: other, ..whole.clone() },
        ListTablesRequest { view: View::Full.into(), ..whole.clone() },
        ListTablesRequest { view: View::EncryptionView.into(), ..whole.clone() },
        ListTablesRequest { parent: "projects/p".to_owned(), ..whole },
    ] {
        assert_eq!(code(list(&servers, wrong).await), Code::InvalidArgument);
    }
    let empty = ListTablesRequest { parent: "projects/p/instances/j".to_owned(), ..Default::default() };
    assert_eq!(list(&servers, empty).await.unwrap(), ListTablesResponse::default());
}

async fn update(servers: &Servers, table: admin::Table, paths: &[&str]) -> Result<Operation, Status> {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    let request = UpdateTableRequest {
        table: Some(admin::Table { name: NAME.to_owned(), ..table }),
        update_mask: Some(FieldMask { paths }),
        ignore_warnings: false,
    };
    servers.admin.update_table(Request::new(request)).await.map(Response::into_inner)
}

#[tokio::test]
async fn a_protected_table_and_its_families_cannot_be_deleted() {
    let servers = Servers::new().await;
    let protect = |deletion_protection| admin::Table { deletion_protection, ..admin::Table::default() };
    let operation = update(&servers, protect(true), &["deletion_protection"]).await.unwrap();
    assert!(operation.done);
    let Some(operation::Result::Response(response)) = operation.result else { panic!("{operation:?}") };
    assert_eq!(response.type_url, "type.googleapis.com/google.bigtable.admin.v2.Table");
    let table = admin::Table::decode(response.value).unwrap();
    assert!(table.deletion_protection);
    assert_eq!(get(&servers, View::Full).await, table);
    let metadata = operation.metadata.unwrap();
    assert_eq!(metadata.type_url, "type.googleapis.com/google.bigtable.admin.v2.UpdateTableMetadata");
    let metadata = UpdateTableMetadata::decode(metadata.value).unwrap();
    assert_eq!((metadata.name.as_str(), metadata.end_time.unwrap().seconds), (NAME, START / 1_000_000));

    let status = servers.delete_table().await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().starts_with(&format!("table `{NAME}` is protected")), "{status}");
    assert_eq!(code(servers.modify_families([("f", Mod::Drop(true))]).await), Code::FailedPrecondition);
    update(&servers, protect(false), &["deletion_protection"]).await.unwrap();
    servers.delete_table().await.unwrap();
    assert_eq!(code(servers.delete_table().await), Code::NotFound);
    assert_eq!(code(update(&servers, protect(false), &["deletion_protection"]).await), Code::NotFound);
}

#[tokio::test]
async fn an_update_names_what_it_changes() {
    let servers = Servers::new().await;
    let table = admin::Table { deletion_protection: true, ..admin::Table::default() };
    for (path, rejected) in [
        ("*", Code::InvalidArgument),
        ("name", Code::InvalidArgument),
        ("granularity", Code::InvalidArgument),
        ("column_families", Code::Unimplemented),
        ("change_stream_config", Code::Unimplemented),
    ] {
        let paths = ["deletion_protection", path];
        assert_eq!(code(update(&servers, table.clone(), &paths).await), rejected, "{path}");
    }
    assert_eq!(code(update(&servers, table, &[]).await), Code::InvalidArgument);
    let nothing = servers.admin.update_table(Request::new(UpdateTableRequest::default())).await;
    assert_eq!(code(nothing), Code::InvalidArgument);
    assert!(!get(&servers, View::Full).await.deletion_protection);
}

#[tokio::test]
async fn rows_are_dropped_by_prefix_or_all() {
    let servers = Servers::new().await;
    for (key, timestamp) in [("a", 1000), ("ab", 2000), ("b", 3000)] {
        servers.set(key, "f", "q", timestamp, "v").await.unwrap();
    }
    let drop = async |target| {
        let request = DropRowRangeRequest { name: NAME.to_owned(), target };
        servers.admin.drop_row_range(Request::new(request)).await
    };
    drop(Some(Target::RowKeyPrefix("a".into()))).await.unwrap();
    assert_eq!(servers.timestamps().await, [3000]);
    for nothing in [None, Some(Target::RowKeyPrefix(Bytes::new()))] {
        assert_eq!(code(drop(nothing).await), Code::InvalidArgument);
    }
    drop(Some(Target::DeleteAllDataFromTable(false))).await.unwrap();
    assert_eq!(servers.timestamps().await, [3000]);
    drop(Some(Target::DeleteAllDataFromTable(true))).await.unwrap();
    assert!(servers.timestamps().await.is_empty());
}

#[tokio::test]
async fn writes_are_consistent_at_once() {
    let servers = Servers::new().await;
    let request = GenerateConsistencyTokenRequest { name: NAME.to_owned() };
    let token = servers.admin.generate_consistency_token(Request::new(request)).await.unwrap().into_inner();
    let check = async |consistency_token| {
        let request = CheckConsistencyRequest { name: NAME.to_owned(), consistency_token };
        servers.admin.check_consistency(Request::new(request)).await
    };
    assert!(check(token.consistency_token).await.unwrap().into_inner().consistent);
    assert_eq!(code(check("another".to_owned()).await), Code::InvalidArgument);
}
