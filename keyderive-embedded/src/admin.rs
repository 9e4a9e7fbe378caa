//! The table administration service.

mod families;
mod schema;
mod update;

use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::admin::bigtable_table_admin_server::BigtableTableAdmin;
use keyderive_proto::admin::drop_row_range_request::Target;
use keyderive_proto::admin::table::{TimestampGranularity, View};
use keyderive_proto::admin::{
    self, CheckConsistencyRequest, CheckConsistencyResponse, CreateTableRequest, DeleteTableRequest,
    DropRowRangeRequest, GenerateConsistencyTokenRequest, GenerateConsistencyTokenResponse, GetTableRequest,
    ListTablesRequest, ListTablesResponse, ModifyColumnFamiliesRequest, UpdateTableRequest,
};
use keyderive_proto::values::{Empty, Operation};
use tonic::{Request, Response, Status};

use self::families::modify;
use super::check;
use super::interval::Interval;
use super::routing::routed;
use super::storage::Definition;
use super::store::Store;
use super::worker::Worker;

/// How many tables are listed at once where the client does not say.
const PAGE_TABLES: usize = 1000;

/// One token for every moment: there is one copy of the rows, so it has every write.
const TOKEN: &str = "consistent";

/// Creates, describes and deletes the tables of a store.
pub(super) struct Admin {
    worker: Arc<Worker>,
}

impl Admin {
    pub(super) fn new(worker: Arc<Worker>) -> Self {
        Self { worker }
    }
}

#[tonic::async_trait]
impl BigtableTableAdmin for Admin {
    async fn create_table(
        &self,
        request: Request<CreateTableRequest>,
    ) -> Result<Response<admin::Table>, Status> {
        let request = routed(request, "parent", |message| &message.parent)?;
        check::instance(&request.parent)?;
        check::table_id(&request.table_id)?;
        let name = format!("{}/tables/{}", request.parent, request.table_id);
        let splits = request.initial_splits.into_iter().map(|split| split.key).collect();
        let definition = define(request.table.unwrap_or_default(), splits)?;
        let create = move |store: &Store| {
            store.create_table(&name, definition.clone())?;
            Ok(describe(name, definition, View::Full))
        };
        self.worker.write(create).await.map(Response::new)
    }

    async fn list_tables(
        &self,
        request: Request<ListTablesRequest>,
    ) -> Result<Response<ListTablesResponse>, Status> {
        let request = routed(request, "parent", |message| &message.parent)?;
        check::instance(&request.parent)?;
        list(self.worker.store(), &request).map(Response::new)
    }

    async fn get_table(&self, request: Request<GetTableRequest>) -> Result<Response<admin::Table>, Status> {
        let request = routed(request, "name", |message| &message.name)?;
        let definition = self.worker.store().table(&request.name)?;
        let view = view(request.view, View::SchemaView)?;
        Ok(Response::new(describe(request.name, Definition::clone(&definition), view)))
    }

    async fn delete_table(&self, request: Request<DeleteTableRequest>) -> Result<Response<Empty>, Status> {
        let request = routed(request, "name", |message| &message.name)?;
        let delete = move |store: &Store| {
            store.delete_table(&request.name, |definition| {
                if !definition.deletion_protection {
                    return Ok(());
                }
                Err(Status::failed_precondition(format!(
                    "table `{}` is protected from deletion; update its `deletion_protection` first",
                    request.name
                )))
            })
        };
        self.worker.write_long(delete).await?;
        Ok(Response::new(Empty {}))
    }

    async fn update_table(
        &self,
        request: Request<UpdateTableRequest>,
    ) -> Result<Response<Operation>, Status> {
        self.worker.write_long(|store| update::table(store, request)).await.map(Response::new)
    }

    async fn modify_column_families(
        &self,
        request: Request<ModifyColumnFamiliesRequest>,
    ) -> Result<Response<admin::Table>, Status> {
        let request = routed(request, "name", |message| &message.name)?;
        if request.modifications.is_empty() {
            return Err(Status::invalid_argument(format!(
                "there are no modifications of the column families of table `{}`",
                request.name
            )));
        }
        let redefine = move |store: &Store| {
            let mut modifications = request.modifications.into_iter();
            let definition = store.redefine(&request.name, |definition| {
                modifications.try_for_each(|modification| modify(definition, modification))
            })?;
            Ok(describe(request.name, definition, View::Full))
        };
        self.worker.write_long(redefine).await.map(Response::new)
    }

    async fn drop_row_range(&self, request: Request<DropRowRangeRequest>) -> Result<Response<Empty>, Status> {
        let request = routed(request, "name", |message| &message.name)?;
        let rows = match request.target {
            Some(Target::DeleteAllDataFromTable(true)) => Interval::all(),
            Some(Target::RowKeyPrefix(prefix)) if !prefix.is_empty() => Interval::prefix(&prefix),
            // As the service has it, which does nothing then.
            Some(Target::DeleteAllDataFromTable(false)) => {
                self.worker.store().table(&request.name)?;
                return Ok(Response::new(Empty {}));
            }
            _ => return Err(Status::invalid_argument("the request names neither a prefix nor all rows")),
        };
        self.worker.write_long(move |store| store.delete_rows(&request.name, &rows)).await?;
        Ok(Response::new(Empty {}))
    }

    async fn generate_consistency_token(
        &self,
        request: Request<GenerateConsistencyTokenRequest>,
    ) -> Result<Response<GenerateConsistencyTokenResponse>, Status> {
        let request = routed(request, "name", |message| &message.name)?;
        self.worker.store().table(&request.name)?;
        Ok(Response::new(GenerateConsistencyTokenResponse { consistency_token: TOKEN.to_owned() }))
    }

    async fn check_consistency(
        &self,
        request: Request<CheckConsistencyRequest>,
    ) -> Result<Response<CheckConsistencyResponse>, Status> {
        let request = routed(request, "name", |message| &message.name)?;
        self.worker.store().table(&request.name)?;
        if request.consistency_token != TOKEN {
            return Err(Status::invalid_argument(format!(
                "`{}` is no consistency token",
                request.consistency_token
            )));
        }
        Ok(Response::new(CheckConsistencyResponse { consistent: true }))
    }
}

/// What a table is that a client asks for.
fn define(table: admin::Table, mut splits: Vec<Bytes>) -> Result<Definition, Status> {
    if splits.iter().any(Bytes::is_empty) {
        return Err(Status::invalid_argument("a split is the empty key, where the first tablet begins"));
    }
    splits.iter().try_for_each(check::key)?;
    splits.sort_unstable();
    splits.dedup();
    let mut definition =
        Definition { splits, deletion_protection: table.deletion_protection, ..Definition::default() };
    for (name, family) in table.column_families {
        families::create(&mut definition, name, family)?;
    }
    if let Some(row_key_schema) = table.row_key_schema {
        schema::check(&row_key_schema, &definition.families)?;
        definition.row_key_schema = Some(row_key_schema);
    }
    Ok(definition)
}

/// A table as `view` shows it. There is one copy of it, unencrypted, so other views than those of the schema have its
/// name alone.
fn describe(name: String, definition: Definition, view: View) -> admin::Table {
    if !matches!(view, View::SchemaView | View::Full) {
        return admin::Table { name, ..admin::Table::default() };
    }
    let families = definition.families.into_iter();
    admin::Table {
        name,
        column_families: families.map(|(name, family)| (name.as_ref().to_owned(), family)).collect(),
        granularity: TimestampGranularity::Millis.into(),
        deletion_protection: definition.deletion_protection,
        row_key_schema: definition.row_key_schema,
    }
}

fn view(number: i32, default: View) -> Result<View, Status> {
    match View::try_from(number) {
        Ok(View::Unspecified) => Ok(default),
        Ok(view) => Ok(view),
        Err(_) => Err(Status::invalid_argument(format!("there is no view {number} of a table"))),
    }
}

/// A page of tables by name. Its token is the name that it ends with.
fn list(store: &Store, request: &ListTablesRequest) -> Result<ListTablesResponse, Status> {
    let ListTablesRequest { parent, view: asked, page_size, page_token } = request;
    let view = view(*asked, View::NameOnly)?;
    if matches!(view, View::SchemaView | View::Full) {
        return Err(Status::invalid_argument(format!(
            "tables are not listed in the view {}; get each by its name",
            view.as_str_name()
        )));
    }
    let count = match usize::try_from(*page_size) {
        Ok(0) => PAGE_TABLES,
        Ok(count) => count.min(PAGE_TABLES),
        Err(_) => return Err(Status::invalid_argument(format!("the page size is {page_size}"))),
    };
    let prefix = format!("{parent}/tables/");
    if !page_token.is_empty() && !page_token.starts_with(&prefix) {
        return Err(Status::invalid_argument(format!("`{page_token}` is no page token of this list")));
    }
    let mut names = store.tables(&prefix, page_token, count + 1)?;
    let more = names.len() > count;
    names.truncate(count);
    let next_page_token = names.last().filter(|_| more).cloned().unwrap_or_default();
    let tables = names.into_iter().map(|name| admin::Table { name, ..admin::Table::default() }).collect();
    Ok(ListTablesResponse { tables, next_page_token })
}
