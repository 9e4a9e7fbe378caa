//! `UpdateTable`: what can be changed of a table, field by field.

use keyderive_proto::admin::table::View;
use keyderive_proto::admin::r#type::Struct;
use keyderive_proto::admin::{Table, UpdateTableMetadata, UpdateTableRequest};
use keyderive_proto::values::{Any, Operation, Timestamp, operation};
use prost::Message;
use tonic::{Request, Status};

use super::{describe, schema};
use crate::routing;
use crate::storage::Definition;
use crate::store::Store;

/// Updates the fields that the mask names, and answers with an operation that is done.
pub(super) fn table(store: &Store, request: Request<UpdateTableRequest>) -> Result<Operation, Status> {
    let request = routing::routed(request, "table.name", |message: &UpdateTableRequest| {
        message.table.as_ref().map_or("", |table| &table.name)
    })?;
    let Some(table) = request.table else {
        return Err(Status::invalid_argument("the request has no table"));
    };
    let paths = request.update_mask.unwrap_or_default().paths;
    if paths.is_empty() {
        return Err(Status::invalid_argument(format!(
            "the request names nothing of table `{}` in its update mask",
            table.name
        )));
    }
    let definition = store.redefine(&table.name, |definition| {
        paths.iter().try_for_each(|path| update(definition, path, &table, request.ignore_warnings))
    })?;
    Ok(done(store, &describe(table.name, definition, View::Full)))
}

fn update(
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
            "column families are not updated with their table, but by `ModifyColumnFamilies`",
        )),
        "change_stream_config" | "change_stream_config.retention_period" | "automated_backup_policy" => {
            Err(Status::unimplemented(format!("the embedded Bigtable has no `{path}`")))
        }
        _ => Err(Status::invalid_argument(format!(
            "`{path}` of a table cannot be updated; `deletion_protection` and `row_key_schema` can"
        ))),
    }
}

/// A schema is added, and removed where warnings are ignored; it is never changed.
fn replace_schema(
    definition: &mut Definition,
    new: Option<&Struct>,
    ignore_warnings: bool,
) -> Result<(), Status> {
    match (&definition.row_key_schema, new) {
        (None, Some(new)) => schema::check(new, &definition.families)?,
        (Some(old), Some(new)) if old != new => {
            return Err(Status::invalid_argument(
                "a row key schema cannot be changed; remove it first, and then add the new one",
            ));
        }
        (Some(_), None) if !ignore_warnings => {
            return Err(Status::invalid_argument(
                "SQL loses its columns with the row key schema; set `ignore_warnings` to remove it",
            ));
        }
        _ => {}
    }
    definition.row_key_schema = new.cloned();
    Ok(())
}

fn done(store: &Store, table: &Table) -> Operation {
    let now = store.now_micros();
    let time = Some(Timestamp {
        seconds: now.div_euclid(1_000_000),
        // Below a billion by the remainder.
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
