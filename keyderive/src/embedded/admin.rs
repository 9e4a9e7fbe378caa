//! The table administration service.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tonic::{Request, Response, Status};

use super::store::{Families, State, Store, Table};
use crate::wire::admin::bigtable_table_admin_server::BigtableTableAdmin;
use crate::wire::admin::drop_row_range_request::Target;
use crate::wire::admin::modify_column_families_request::Modification;
use crate::wire::admin::modify_column_families_request::modification::Mod;
use crate::wire::admin::table::{TimestampGranularity, View};
use crate::wire::admin::r#type::Struct;
use crate::wire::admin::{
    self, CheckConsistencyRequest, CheckConsistencyResponse, CreateTableRequest, DeleteTableRequest,
    DropRowRangeRequest, GenerateConsistencyTokenRequest, GenerateConsistencyTokenResponse, GetTableRequest,
    ListTablesRequest, ListTablesResponse, ModifyColumnFamiliesRequest, UpdateTableRequest,
};
use crate::wire::values::{Empty, Operation};

const MAX_TABLE_ID: usize = 50;
const MAX_FAMILY_NAME: usize = 64;

/// Creates, describes and deletes the tables of a store.
pub(super) struct Admin {
    store: Arc<Store>,
}

impl Admin {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store }
    }
}

#[tonic::async_trait]
impl BigtableTableAdmin for Admin {
    async fn create_table(
        &self,
        request: Request<CreateTableRequest>,
    ) -> Result<Response<admin::Table>, Status> {
        let request = request.into_inner();
        check_name("table", &request.table_id, MAX_TABLE_ID)?;
        let mut families = Families::new();
        let table = request.table.unwrap_or_default();
        let row_key_schema = table.row_key_schema;
        for (name, family) in table.column_families {
            check_name("column family", &name, MAX_FAMILY_NAME)?;
            families.insert(name.into(), family);
        }
        let splits: Vec<Bytes> = request.initial_splits.into_iter().map(|split| split.key).collect();
        if splits.iter().any(Bytes::is_empty) {
            return Err(Status::invalid_argument("a split is the empty key, where the first tablet begins"));
        }
        let name = format!("{}/tables/{}", request.parent, request.table_id);
        let message = describe(name.clone(), &families, row_key_schema.clone());
        self.store.create(name, Table::new(families, row_key_schema, splits))?;
        Ok(Response::new(message))
    }

    async fn list_tables(
        &self,
        request: Request<ListTablesRequest>,
    ) -> Result<Response<ListTablesResponse>, Status> {
        let names = self.store.names(&request.get_ref().parent);
        let tables = names.into_iter().map(|name| admin::Table { name, ..admin::Table::default() }).collect();
        Ok(Response::new(ListTablesResponse { tables, next_page_token: String::new() }))
    }

    async fn get_table(&self, request: Request<GetTableRequest>) -> Result<Response<admin::Table>, Status> {
        let request = request.into_inner();
        let table = self.store.get(&request.name)?;
        let message = match request.view() {
            View::NameOnly => admin::Table { name: request.name, ..admin::Table::default() },
            _ => {
                let state = table.read();
                describe(request.name, &state.families, state.row_key_schema.clone())
            }
        };
        Ok(Response::new(message))
    }

    async fn delete_table(&self, request: Request<DeleteTableRequest>) -> Result<Response<Empty>, Status> {
        self.store.delete(&request.get_ref().name)?;
        Ok(Response::new(Empty {}))
    }

    async fn update_table(&self, _: Request<UpdateTableRequest>) -> Result<Response<Operation>, Status> {
        Err(Status::unimplemented("the embedded Bigtable does not update tables"))
    }

    async fn modify_column_families(
        &self,
        request: Request<ModifyColumnFamiliesRequest>,
    ) -> Result<Response<admin::Table>, Status> {
        let request = request.into_inner();
        let table = self.store.get(&request.name)?;
        let mut state = table.write();
        let mut families = state.families.clone();
        for modification in request.modifications {
            modify(&mut families, modification)?;
        }
        let message = describe(request.name, &families, state.row_key_schema.clone());
        replace_families(&mut state, families);
        Ok(Response::new(message))
    }

    async fn drop_row_range(&self, request: Request<DropRowRangeRequest>) -> Result<Response<Empty>, Status> {
        let request = request.into_inner();
        let table = self.store.get(&request.name)?;
        let mut state = table.write();
        match request.target {
            Some(Target::DeleteAllDataFromTable(true)) => state.rows.clear(),
            Some(Target::RowKeyPrefix(prefix)) if !prefix.is_empty() => {
                state.rows.retain(|key, _| !key.starts_with(&prefix));
            }
            _ => return Err(Status::invalid_argument("the request names neither a prefix nor all rows")),
        }
        Ok(Response::new(Empty {}))
    }

    async fn generate_consistency_token(
        &self,
        request: Request<GenerateConsistencyTokenRequest>,
    ) -> Result<Response<GenerateConsistencyTokenResponse>, Status> {
        self.store.get(&request.get_ref().name)?;
        Ok(Response::new(GenerateConsistencyTokenResponse { consistency_token: TOKEN.to_owned() }))
    }

    async fn check_consistency(
        &self,
        request: Request<CheckConsistencyRequest>,
    ) -> Result<Response<CheckConsistencyResponse>, Status> {
        let request = request.into_inner();
        self.store.get(&request.name)?;
        if request.consistency_token != TOKEN {
            return Err(Status::invalid_argument(format!(
                "`{}` is no consistency token",
                request.consistency_token
            )));
        }
        Ok(Response::new(CheckConsistencyResponse { consistent: true }))
    }
}

/// One token for every moment: there is one copy of the rows, so it has every write.
const TOKEN: &str = "consistent";

/// A name in the form that the service allows.
fn check_name(what: &str, name: &str, longest: usize) -> Result<(), Status> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    if begins && name.bytes().all(allowed) && name.len() <= longest {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "`{name}` is no name for a {what}: it has 1 to {longest} letters, digits, `_`, `-` and `.`, and begins with none of the last two"
    )))
}

fn describe(name: String, families: &Families, row_key_schema: Option<Struct>) -> admin::Table {
    let families = families.iter().map(|(name, family)| (name.as_ref().to_owned(), family.clone()));
    admin::Table {
        name,
        column_families: families.collect::<BTreeMap<_, _>>(),
        granularity: TimestampGranularity::Millis.into(),
        deletion_protection: false,
        row_key_schema,
    }
}

fn modify(families: &mut Families, modification: Modification) -> Result<(), Status> {
    let Modification { id, r#mod, .. } = modification;
    match r#mod {
        Some(Mod::Create(_)) if families.contains_key(id.as_str()) => {
            Err(Status::already_exists(format!("the table has the column family `{id}`")))
        }
        Some(Mod::Create(family)) => {
            check_name("column family", &id, MAX_FAMILY_NAME)?;
            families.insert(id.into(), family);
            Ok(())
        }
        Some(Mod::Update(family)) => match families.get_mut(id.as_str()) {
            Some(known) => {
                *known = family;
                Ok(())
            }
            None => Err(no_family(&id)),
        },
        Some(Mod::Drop(true)) => families.remove(id.as_str()).map(|_| ()).ok_or_else(|| no_family(&id)),
        Some(Mod::Drop(false)) | None => {
            Err(Status::invalid_argument(format!("the modification of the column family `{id}` is empty")))
        }
    }
}

fn no_family(id: &str) -> Status {
    Status::not_found(format!("the table has no column family `{id}`"))
}

/// Gives the table these families, and deletes the cells of those that are gone.
fn replace_families(state: &mut State, families: Families) {
    let gone = state.families.keys().any(|family| !families.contains_key(family));
    state.families = families;
    if !gone {
        return;
    }
    let State { families, rows, .. } = state;
    rows.retain(|_, cells| {
        Arc::make_mut(cells).retain(|cell| families.contains_key(&cell.family));
        !cells.is_empty()
    });
}
