//! The table administration service: tables, their column families and row key schemas.

use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::admin::bigtable_table_admin_server::BigtableTableAdmin;
use keyderive_proto::admin::drop_row_range_request::Target;
use keyderive_proto::admin::gc_rule::Rule;
use keyderive_proto::admin::modify_column_families_request::Modification;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::table::View;
use keyderive_proto::admin::r#type::r#struct::Field;
use keyderive_proto::admin::r#type::r#struct::encoding::{DelimitedBytes, Encoding};
use keyderive_proto::admin::r#type::{self as types, Kind, Struct};
use keyderive_proto::admin::{
    CheckConsistencyRequest, CheckConsistencyResponse, ColumnFamily, CreateTableRequest, DeleteTableRequest,
    DropRowRangeRequest, GcRule, GenerateConsistencyTokenRequest, GenerateConsistencyTokenResponse,
    GetTableRequest, ListTablesRequest, ListTablesResponse, ModifyColumnFamiliesRequest, Table,
    UpdateTableMetadata, UpdateTableRequest,
};
use keyderive_proto::values::{Any, Duration, Empty, FieldMask, Operation, Timestamp, operation};
use prost::Message;
use tonic::{Request, Response, Status};

use crate::check::{self, Granularity, routed};
use crate::gc;
use crate::interval::Interval;
use crate::mutate::{Aggregator, complete_value_type};
use crate::storage::{Definition, Families};
use crate::store::Store;
use crate::worker::Worker;

/// The most tables in a page, and the default.
const PAGE_TABLES: usize = 1000;

/// The only consistency token: there is one copy of the rows, which always has every write.
const TOKEN: &str = "consistent";

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
    async fn create_table(&self, request: Request<CreateTableRequest>) -> Result<Response<Table>, Status> {
        let request = routed(request, "parent", |message| &message.parent)?;
        check::instance(&request.parent)?;
        check::table_id(&request.table_id)?;
        let name = format!("{}/tables/{}", request.parent, request.table_id);
        let splits = request.initial_splits.into_iter().map(|split| split.key).collect();
        let definition = parse_definition(request.table.unwrap_or_default(), splits)?;
        let create = move |store: &Store| {
            store.create_table(&name, definition.clone())?;
            Ok(table_message(name, definition, View::Full))
        };
        self.worker.write(create).await.map(Response::new)
    }

    async fn list_tables(
        &self,
        request: Request<ListTablesRequest>,
    ) -> Result<Response<ListTablesResponse>, Status> {
        let request = routed(request, "parent", |message| &message.parent)?;
        check::instance(&request.parent)?;
        list_tables(self.worker.store(), &request).map(Response::new)
    }

    async fn get_table(&self, request: Request<GetTableRequest>) -> Result<Response<Table>, Status> {
        let request = routed(request, "name", |message| &message.name)?;
        let definition = self.worker.store().table(&request.name)?;
        let view = view(request.view, View::SchemaView)?;
        Ok(Response::new(table_message(request.name, Definition::clone(&definition), view)))
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
        self.worker.write_long(|store| update_table(store, request)).await.map(Response::new)
    }

    async fn modify_column_families(
        &self,
        request: Request<ModifyColumnFamiliesRequest>,
    ) -> Result<Response<Table>, Status> {
        let request = routed(request, "name", |message| &message.name)?;
        if request.modifications.is_empty() {
            return Err(Status::invalid_argument(format!(
                "there are no modifications of the column families of table `{}`",
                request.name
            )));
        }
        let redefine = move |store: &Store| {
            let dropped = |modification: &Modification| modification.r#mod == Some(Mod::Drop(true));
            let dropped = request.modifications.iter().filter(|modification| dropped(modification));
            let dropped: Vec<String> = dropped.map(|modification| modification.id.clone()).collect();
            let mut modifications = request.modifications.into_iter();
            let definition = store.redefine(&request.name, &dropped, |definition| {
                modifications.try_for_each(|modification| modify_family(definition, modification))
            })?;
            Ok(table_message(request.name, definition, View::Full))
        };
        self.worker.write_long(redefine).await.map(Response::new)
    }

    async fn drop_row_range(&self, request: Request<DropRowRangeRequest>) -> Result<Response<Empty>, Status> {
        let request = routed(request, "name", |message| &message.name)?;
        let rows = match request.target {
            Some(Target::DeleteAllDataFromTable(true)) => Interval::all(),
            Some(Target::RowKeyPrefix(prefix)) if !prefix.is_empty() => Interval::prefix(&prefix),
            // The service accepts this and does nothing.
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
                "`{}` is not a consistency token",
                request.consistency_token
            )));
        }
        Ok(Response::new(CheckConsistencyResponse { consistent: true }))
    }
}

/// The definition of the table in a `CreateTableRequest`.
fn parse_definition(table: Table, mut splits: Vec<Bytes>) -> Result<Definition, Status> {
    if !table.name.is_empty() {
        return Err(Status::invalid_argument(format!(
            "the table in the request has the name `{}`, and must have none: `parent` and `table_id` name it",
            table.name
        )));
    }
    let missing = [
        ("change_stream_config", table.change_stream_config.is_some()),
        ("automated_backup_policy", table.automated_backup_policy.is_some()),
        ("tiered_storage_config", table.tiered_storage_config.is_some()),
    ];
    if let Some((field, _)) = missing.into_iter().find(|(_, is_set)| *is_set) {
        return Err(Status::unimplemented(format!("the embedded Bigtable has no `{field}` of a table")));
    }
    let Some(granularity) = Granularity::of_message(table.granularity) else {
        return Err(Status::invalid_argument(format!(
            "there is no timestamp granularity {}; use MILLIS or MICROS",
            table.granularity
        )));
    };
    if splits.iter().any(Bytes::is_empty) {
        return Err(Status::invalid_argument(
            "a split is the empty key, which already begins the first tablet",
        ));
    }
    splits.iter().try_for_each(check::key)?;
    splits.sort_unstable();
    splits.dedup();
    let mut definition = Definition {
        splits,
        deletion_protection: table.deletion_protection,
        granularity,
        ..Definition::default()
    };
    for (name, family) in table.column_families {
        create_family(&mut definition, name, family)?;
    }
    if let Some(row_key_schema) = table.row_key_schema {
        check_schema(&row_key_schema, &definition.families)?;
        definition.row_key_schema = Some(row_key_schema);
    }
    Ok(definition)
}

/// A table as `view` shows it. There is no replication or encryption to show, so all views except those with the schema
/// show only the name.
fn table_message(name: String, definition: Definition, view: View) -> Table {
    if !matches!(view, View::SchemaView | View::Full) {
        return Table { name, ..Table::default() };
    }
    let families = definition.families.into_iter();
    Table {
        name,
        column_families: families.map(|(name, family)| (name.as_ref().to_owned(), family)).collect(),
        granularity: definition.granularity.message().into(),
        deletion_protection: definition.deletion_protection,
        row_key_schema: definition.row_key_schema,
        ..Table::default()
    }
}

fn view(number: i32, default: View) -> Result<View, Status> {
    match View::try_from(number) {
        Ok(View::Unspecified) => Ok(default),
        Ok(view) => Ok(view),
        Err(_) => Err(Status::invalid_argument(format!("there is no view {number} of a table"))),
    }
}

/// A page of table names. The token of the next page is the last name in this one.
fn list_tables(store: &Store, request: &ListTablesRequest) -> Result<ListTablesResponse, Status> {
    let ListTablesRequest { parent, view: asked, page_size, page_token } = request;
    let view = view(*asked, View::NameOnly)?;
    if !matches!(view, View::NameOnly | View::ReplicationView) {
        return Err(Status::invalid_argument(format!(
            "`ListTables` does not support the view {}; get each table by its name",
            view.as_str_name()
        )));
    }
    let count = match usize::try_from(*page_size) {
        Ok(0) => PAGE_TABLES,
        Ok(count) => count.min(PAGE_TABLES),
        Err(_) => {
            return Err(Status::invalid_argument(format!(
                "the page size is {page_size}, and it must not be negative"
            )));
        }
    };
    let prefix = format!("{parent}/tables/");
    if !page_token.is_empty() && !page_token.starts_with(&prefix) {
        return Err(Status::invalid_argument(format!("`{page_token}` is not a page token of this list")));
    }
    let mut names = store.tables(&prefix, page_token, count + 1)?;
    let more = names.len() > count;
    names.truncate(count);
    let next_page_token = names.last().filter(|_| more).cloned().unwrap_or_default();
    let tables = names.into_iter().map(|name| Table { name, ..Table::default() }).collect();
    Ok(ListTablesResponse { tables, next_page_token })
}

/// Updates the fields in the mask. The update is finished when it returns, so the operation is done.
fn update_table(store: &Store, request: Request<UpdateTableRequest>) -> Result<Operation, Status> {
    let request = routed(request, "table.name", |message: &UpdateTableRequest| {
        message.table.as_ref().map_or("", |table| &table.name)
    })?;
    let Some(table) = request.table else {
        return Err(Status::invalid_argument("the request has no table"));
    };
    let paths = request.update_mask.unwrap_or_default().paths;
    if paths.is_empty() {
        return Err(Status::invalid_argument(format!("the update mask for table `{}` is empty", table.name)));
    }
    let definition = store.redefine(&table.name, &[], |definition| {
        paths.iter().try_for_each(|path| update_field(definition, path, &table, request.ignore_warnings))
    })?;
    Ok(finished_operation(store, &table_message(table.name, definition, View::Full)))
}

fn update_field(
    definition: &mut Definition,
    path: &str,
    table: &Table,
    ignore_warnings: bool,
) -> Result<(), Status> {
    match path {
        "deletion_protection" => {
            definition.deletion_protection = table.deletion_protection;
            Ok(())
        }
        "row_key_schema" => replace_schema(definition, table.row_key_schema.as_ref(), ignore_warnings),
        "column_families" => Err(Status::unimplemented(
            "`UpdateTable` cannot change column families; use `ModifyColumnFamilies`",
        )),
        "change_stream_config"
        | "change_stream_config.retention_period"
        | "automated_backup_policy"
        | "tiered_storage_config" => {
            Err(Status::unimplemented(format!("the embedded Bigtable has no `{path}`")))
        }
        _ => Err(Status::invalid_argument(format!(
            "`{path}` of a table cannot be updated; `deletion_protection` and `row_key_schema` can"
        ))),
    }
}

/// A schema can be added, and removed if warnings are ignored, but not changed.
fn replace_schema(
    definition: &mut Definition,
    new: Option<&Struct>,
    ignore_warnings: bool,
) -> Result<(), Status> {
    match (&definition.row_key_schema, new) {
        (None, Some(new)) => check_schema(new, &definition.families)?,
        (Some(old), Some(new)) if old != new => {
            return Err(Status::invalid_argument(
                "a row key schema cannot be changed; remove it, then add the new one",
            ));
        }
        (Some(_), None) if !ignore_warnings => {
            return Err(Status::invalid_argument(
                "without the row key schema, SQL loses the columns of the key; set `ignore_warnings` to remove it",
            ));
        }
        _ => {}
    }
    definition.row_key_schema = new.cloned();
    Ok(())
}

fn finished_operation(store: &Store, table: &Table) -> Operation {
    let now = store.now_micros();
    let time = Some(Timestamp {
        seconds: now.div_euclid(1_000_000),
        // The remainder is below 1,000,000, so the product fits.
        nanos: i32::try_from(now.rem_euclid(1_000_000) * 1000).unwrap_or_default(),
    });
    let name = format!("operations/{}/update", table.name);
    let metadata = UpdateTableMetadata { name: table.name.clone(), start_time: time, end_time: time };
    Operation {
        name,
        metadata: Some(any("UpdateTableMetadata", &metadata)),
        done: true,
        result: Some(operation::Result::Response(any("Table", table))),
    }
}

fn any(name: &str, message: &impl Message) -> Any {
    Any {
        type_url: format!("type.googleapis.com/google.bigtable.admin.v2.{name}"),
        value: message.encode_to_vec().into(),
    }
}

/// The service rejects larger rules.
const MAX_RULE_BYTES: usize = 500;

const MIN_AGE_MICROS: i64 = 1000;

fn modify_family(definition: &mut Definition, modification: Modification) -> Result<(), Status> {
    let Modification { id, r#mod, update_mask } = modification;
    match r#mod {
        Some(Mod::Create(family)) => create_family(definition, id, family),
        Some(Mod::Update(family)) => update_family(definition, &id, family, &update_mask.unwrap_or_default()),
        Some(Mod::Drop(true)) if definition.deletion_protection => Err(Status::failed_precondition(format!(
            "the column family `{id}` cannot be dropped: its table is protected from deletion"
        ))),
        Some(Mod::Drop(true)) => {
            definition.families.remove(id.as_str()).map(|_| ()).ok_or_else(|| no_family(&id))
        }
        Some(Mod::Drop(false)) | None => {
            Err(Status::invalid_argument(format!("the modification of the column family `{id}` is empty")))
        }
    }
}

fn create_family(definition: &mut Definition, id: String, mut family: ColumnFamily) -> Result<(), Status> {
    check::family_name(&id)?;
    if definition.families.contains_key(id.as_str()) {
        return Err(Status::already_exists(format!("the table already has the column family `{id}`")));
    }
    let fields = definition.row_key_schema.iter().flat_map(|schema| &schema.fields);
    if fields.into_iter().any(|field| field.field_name == id) {
        return Err(Status::invalid_argument(format!(
            "the column family `{id}` has the name of a field of the table's row key schema"
        )));
    }
    check_gc_rule(&id, family.gc_rule.as_ref())?;
    complete_value_type(&id, &mut family)?;
    definition.families.insert(id.into(), family);
    Ok(())
}

/// Updates the fields in the mask; an empty mask means the GC rule.
fn update_family(
    definition: &mut Definition,
    id: &str,
    mut family: ColumnFamily,
    mask: &FieldMask,
) -> Result<(), Status> {
    let Some(known) = definition.families.get_mut(id) else { return Err(no_family(id)) };
    check_gc_rule(id, family.gc_rule.as_ref())?;
    if mask.paths.is_empty() {
        known.gc_rule.clone_from(&family.gc_rule);
    }
    for path in &mask.paths {
        match path.as_str() {
            "gc_rule" => known.gc_rule.clone_from(&family.gc_rule),
            "value_type" => replace_value_type(id, known, &mut family)?,
            _ => {
                return Err(Status::invalid_argument(format!(
                    "`{path}` of the column family `{id}` cannot be updated, only `gc_rule` and `value_type` can"
                )));
            }
        }
    }
    Ok(())
}

/// Only the creation of a family decides whether it holds aggregates.
fn replace_value_type(id: &str, known: &mut ColumnFamily, new: &mut ColumnFamily) -> Result<(), Status> {
    if Aggregator::of(known).is_some() {
        // The emulator's text. The tests of Google's Go client expect it.
        return Err(Status::invalid_argument(
            "Immutable fields 'value_type.aggregate_type' cannot be updated",
        ));
    }
    complete_value_type(id, new)?;
    if Aggregator::of(new).is_some() {
        return Err(Status::invalid_argument(format!(
            "the column family `{id}` holds no aggregates, and cannot be made to; create a family that does"
        )));
    }
    known.value_type.clone_from(&new.value_type);
    Ok(())
}

fn no_family(id: &str) -> Status {
    Status::not_found(format!("the table has no column family `{id}`"))
}

fn check_gc_rule(id: &str, rule: Option<&GcRule>) -> Result<(), Status> {
    let Some(rule) = rule else { return Ok(()) };
    let reject = |what: String| {
        Err(Status::invalid_argument(format!(
            "the garbage collection rule of the column family `{id}` {what}"
        )))
    };
    let bytes = rule.encoded_len();
    if bytes > MAX_RULE_BYTES {
        return reject(format!("has {bytes} bytes, and the limit is {MAX_RULE_BYTES}"));
    }
    gc_rule_error(rule).map_or(Ok(()), reject)
}

/// Why a rule is invalid. `MAX_RULE_BYTES` bounds the recursion.
fn gc_rule_error(rule: &GcRule) -> Option<String> {
    match rule.rule.as_ref()? {
        Rule::MaxNumVersions(kept) if *kept < 1 => Some(format!("keeps {kept} versions; the minimum is 1")),
        Rule::MaxNumVersions(_) => None,
        Rule::MaxAge(age) if is_too_short(age) => {
            Some(format!("keeps cells for {}.{:09} seconds; the minimum is 1 ms", age.seconds, age.nanos))
        }
        Rule::MaxAge(_) => None,
        Rule::Intersection(rules) => rules.rules.iter().find_map(gc_rule_error),
        Rule::Union(rules) => rules.rules.iter().find_map(gc_rule_error),
    }
}

fn is_too_short(age: &Duration) -> bool {
    age.seconds < 0 || age.nanos < 0 || gc::micros(age) < MIN_AGE_MICROS
}

/// SQL's names for the whole key and for the time of a row.
const RESERVED: [&str; 2] = ["_key", "_timestamp"];

const MAX_DELIMITER_BYTES: usize = 50;

fn check_schema(schema: &Struct, families: &Families) -> Result<(), Status> {
    schema_error(schema, families)
        .map_or(Ok(()), |fault| Err(Status::invalid_argument(format!("the row key schema {fault}"))))
}

fn schema_error(schema: &Struct, families: &Families) -> Option<String> {
    if schema.fields.is_empty() {
        return Some("has no fields".to_owned());
    }
    let fields = || schema.fields.iter().enumerate();
    encoding_error(schema)
        .or_else(|| fields().find_map(|(place, field)| field_error(place, field, families)))
        .or_else(|| {
            let mut named = fields();
            let (_, field) = named.find(|(place, field)| {
                schema.fields[..*place].iter().any(|other| other.field_name == field.field_name)
            })?;
            Some(format!("has two fields with the name `{}`", field.field_name))
        })
}

fn encoding_error(schema: &Struct) -> Option<String> {
    let encoding = schema.encoding.as_ref().and_then(|encoding| encoding.encoding.as_ref());
    match encoding {
        None => Some("has no encoding".to_owned()),
        Some(Encoding::Singleton(_)) if schema.fields.len() != 1 => {
            Some(format!("has {} fields, and the encoding `singleton` is for one field", schema.fields.len()))
        }
        Some(Encoding::DelimitedBytes(DelimitedBytes { delimiter }))
            if !(1..=MAX_DELIMITER_BYTES).contains(&delimiter.len()) =>
        {
            Some(format!(
                "has a delimiter of {} bytes, and it must have 1 to {MAX_DELIMITER_BYTES}",
                delimiter.len()
            ))
        }
        Some(_) => None,
    }
}

fn field_error(place: usize, field: &Field, families: &Families) -> Option<String> {
    let Field { field_name: name, r#type } = field;
    if name.is_empty() {
        return Some(format!("has a field without a name, at index {place}"));
    }
    if RESERVED.contains(&name.as_str()) {
        return Some(format!("has a field with the name `{name}`, which SQL reserves"));
    }
    if families.contains_key(name.as_str()) {
        return Some(format!("has a field with the name of the column family `{name}`"));
    }
    match r#type.as_ref().and_then(|r#type| r#type.kind.as_ref()) {
        None => Some(format!("has the field `{name}` without a type")),
        Some(Kind::StructType(_) | Kind::ArrayType(_) | Kind::MapType(_) | Kind::AggregateType(_)) => {
            Some(format!("has the field `{name}`, which is not a scalar"))
        }
        Some(kind) if !has_encoding(kind) => Some(format!(
            "has the field `{name}`, whose type has no encoding: use bytes, a string, an integer or a timestamp, and set its encoding"
        )),
        Some(_) => None,
    }
}

fn has_encoding(kind: &Kind) -> bool {
    match kind {
        Kind::BytesType(bytes) => {
            matches!(bytes.encoding, Some(types::bytes::Encoding { encoding: Some(_) }))
        }
        Kind::StringType(string) => {
            matches!(string.encoding, Some(types::string::Encoding { encoding: Some(_) }))
        }
        Kind::Int64Type(int64) => {
            matches!(int64.encoding, Some(types::int64::Encoding { encoding: Some(_) }))
        }
        Kind::TimestampType(timestamp) => matches!(
            timestamp.encoding,
            Some(types::timestamp::Encoding {
                encoding: Some(types::timestamp::encoding::Encoding::UnixMicrosInt64(
                    types::int64::Encoding { encoding: Some(_) }
                ))
            })
        ),
        _ => false,
    }
}
