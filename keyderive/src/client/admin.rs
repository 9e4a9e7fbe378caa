//! Tables: created, described, emptied, deleted.

use super::Client;
use super::call;
use super::error::Error;
use super::operation::Replay;
use crate::wire::admin;
use crate::wire::admin::create_table_request::Split;
use crate::wire::admin::drop_row_range_request::Target;
use crate::wire::admin::table::View;
use bytes::Bytes;

/// A column family of a table that is to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FamilySpec {
    pub(crate) name: String,
    /// How many versions of a column the service is to keep; all without a number.
    pub(crate) max_versions: Option<u32>,
}

/// What is known of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableInfo {
    /// The names of its column families, in order.
    pub(crate) families: Vec<String>,
}

impl Client {
    /// Creates a table whose tablets begin at `splits`.
    pub(crate) async fn create_table(
        &self,
        table: &str,
        families: &[FamilySpec],
        splits: Vec<Bytes>,
    ) -> Result<(), Error> {
        let operation = self.admin_operation("CreateTable", table, ("parent", self.instance_name()));
        let operation = operation.replayed(Replay::IfUnsent);
        let message = admin::CreateTableRequest {
            parent: self.instance_name().to_owned(),
            table_id: table.to_owned(),
            table: Some(admin::Table {
                column_families: families.iter().map(family).collect(),
                ..admin::Table::default()
            }),
            initial_splits: splits.into_iter().map(|key| Split { key }).collect(),
        };
        self.call(operation, message, |transport, request| async move {
            call::admin(transport).create_table(request).await
        })
        .await
        .map(|_| ())
    }

    /// What the service says of a table.
    pub(crate) async fn get_table(&self, table: &str) -> Result<TableInfo, Error> {
        let name = self.table_name(table);
        let operation = self.admin_operation("GetTable", table, ("name", &name));
        let message = admin::GetTableRequest { name, view: View::SchemaView.into() };
        let table = self
            .call(operation, message, |transport, request| async move {
                call::admin(transport).get_table(request).await
            })
            .await?;
        Ok(TableInfo { families: table.column_families.into_keys().collect() })
    }

    /// Deletes the table `name` and every row of it.
    ///
    /// # Errors
    ///
    /// [`is_not_found`](Error::is_not_found) where there is no such table.
    pub async fn delete_table(&self, name: &str) -> Result<(), Error> {
        let full_name = self.table_name(name);
        let operation = self.admin_operation("DeleteTable", name, ("name", &full_name));
        let operation = operation.replayed(Replay::IfUnsent);
        let message = admin::DeleteTableRequest { name: full_name };
        self.call(operation, message, |transport, request| async move {
            call::admin(transport).delete_table(request).await
        })
        .await
        .map(|_| ())
    }

    /// Deletes the rows whose key begins with `prefix`, which is not empty.
    pub(crate) async fn drop_row_range(&self, table: &str, prefix: Bytes) -> Result<(), Error> {
        let name = self.table_name(table);
        let operation = self.admin_operation("DropRowRange", table, ("name", &name));
        // Sent twice, it would drop what has been written since the first time.
        let operation = operation.replayed(Replay::IfUnsent);
        // The emulator takes an empty prefix for one that every row has.
        if prefix.is_empty() {
            return Err(Error::not_prefixes(table));
        }
        let message = admin::DropRowRangeRequest { name, target: Some(Target::RowKeyPrefix(prefix)) };
        self.call(operation, message, |transport, request| async move {
            call::admin(transport).drop_row_range(request).await
        })
        .await
        .map(|_| ())
    }
}

fn family(spec: &FamilySpec) -> (String, admin::ColumnFamily) {
    use admin::gc_rule::Rule;
    let rule = spec.max_versions.map(|versions| admin::GcRule {
        rule: Some(Rule::MaxNumVersions(i32::try_from(versions).unwrap_or(i32::MAX))),
    });
    (spec.name.clone(), admin::ColumnFamily { gc_rule: rule, ..admin::ColumnFamily::default() })
}
