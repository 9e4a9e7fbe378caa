//! Tables: created, described, changed, emptied, deleted.

mod cache;
mod consistency;
mod family;
mod gc_rule;
mod info;
mod schema;

pub(in crate::client) use cache::InfoCache;
pub use family::{Aggregate, Family, FamilyChange};
pub use gc_rule::GcRule;
pub use info::TableInfo;
pub use schema::TableSchema;

use std::collections::HashSet;

use bytes::Bytes;
use keyderive_proto::admin;
use keyderive_proto::admin::create_table_request::Split;
use keyderive_proto::admin::drop_row_range_request::Target;
use keyderive_proto::admin::table::View;

use super::Client;
use super::call;
use super::error::Error;
use super::operation::Replay;

/// A table that is to be created.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NewTable {
    pub(crate) families: Vec<Family>,
    /// The first keys of its tablets, but for the first one.
    pub(crate) splits: Vec<Bytes>,
    pub(crate) row_key_schema: Option<TableSchema>,
}

#[cfg(test)]
impl NewTable {
    /// A table with one family, whose cells are all kept.
    pub(crate) fn with_family(name: &str) -> Self {
        Self { families: vec![Family::new(name, GcRule::never())], ..Self::default() }
    }
}

impl Client {
    /// Creates a table.
    pub(crate) async fn create_table(&self, table: &str, new: NewTable) -> Result<(), Error> {
        let _forgotten = self.inner.infos.forget_after(table);
        let NewTable { families, splits, row_key_schema } = new;
        if let Some(fault) = families.iter().find_map(Family::fault) {
            return Err(Error::definition(table, fault));
        }
        let operation = self.admin_operation("CreateTable", table, ("parent", self.instance_name()));
        let operation = operation.replayed(Replay::IfUnsent);
        let message = admin::CreateTableRequest {
            parent: self.instance_name().to_owned(),
            table_id: table.to_owned(),
            table: Some(admin::Table {
                column_families: families.into_iter().map(Family::into_message).collect(),
                row_key_schema: row_key_schema.map(|schema| schema.0),
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

    /// What the table `name` is: its column families and its row key schema.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) where there is no such table.
    pub async fn table_info(&self, name: &str) -> Result<TableInfo, Error> {
        let full_name = self.table_name(name);
        let operation = self.admin_operation("GetTable", name, ("name", &full_name));
        let message = admin::GetTableRequest { name: full_name, view: View::SchemaView.into() };
        let table = self
            .call(operation, message, |transport, request| async move {
                call::admin(transport).get_table(request).await
            })
            .await?;
        let info = TableInfo::new(name, table);
        self.inner.infos.forget_unless(name, &info);
        Ok(info)
    }

    /// The names of the instance's tables, in order.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn list_tables(&self) -> Result<Vec<String>, Error> {
        /// Far more than the 1000 tables that an instance has make.
        const MOST_PAGES: usize = 1000;
        let prefix = self.table_name("");
        let operation = || self.admin_operation("ListTables", "", ("parent", self.instance_name()));
        let mut names = Vec::new();
        let mut page_token = String::new();
        let mut tokens = HashSet::new();
        for _ in 0..MOST_PAGES {
            let message = admin::ListTablesRequest {
                parent: self.instance_name().to_owned(),
                view: View::NameOnly.into(),
                page_token,
                ..admin::ListTablesRequest::default()
            };
            let page = self
                .call(operation(), message, |transport, request| async move {
                    call::admin(transport).list_tables(request).await
                })
                .await?;
            let tables = page.tables.into_iter();
            names.extend(tables.map(|table| match table.name.strip_prefix(&prefix) {
                Some(name) => name.to_owned(),
                None => table.name,
            }));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                names.sort_unstable();
                return Ok(names);
            }
            if !tokens.insert(page_token.clone()) {
                let token = page_token.escape_debug();
                let message =
                    format!("the page token `{token}` comes a second time, and the list would not end");
                return Err(Error::protocol(&operation(), message));
            }
        }
        Err(Error::protocol(&operation(), format!("the list of tables has more than {MOST_PAGES} pages")))
    }

    /// Deletes the table `name` and every row of it.
    ///
    /// # Errors
    ///
    /// [`is_not_found`](Error::is_not_found) where there is no such table.
    pub async fn delete_table(&self, name: &str) -> Result<(), Error> {
        let full_name = self.table_name(name);
        let _forgotten = self.inner.infos.forget_after(name);
        let operation = self.admin_operation("DeleteTable", name, ("name", &full_name));
        let operation = operation.replayed(Replay::IfUnsent);
        let message = admin::DeleteTableRequest { name: full_name };
        self.call(operation, message, |transport, request| async move {
            call::admin(transport).delete_table(request).await
        })
        .await
        .map(|_| ())
    }

    /// Changes the column families of a table, by all changes or none.
    pub(crate) async fn modify_families(
        &self,
        table: &str,
        changes: Vec<FamilyChange>,
    ) -> Result<TableInfo, Error> {
        if changes.is_empty() {
            return Err(Error::definition(table, "no change of its column families is given"));
        }
        if let Some(fault) = changes.iter().find_map(FamilyChange::fault) {
            return Err(Error::definition(table, fault));
        }
        let _forgotten = self.inner.infos.forget_after(table);
        let name = self.table_name(table);
        let operation = self.admin_operation("ModifyColumnFamilies", table, ("name", &name));
        let operation = operation.replayed(Replay::IfUnsent);
        let message = admin::ModifyColumnFamiliesRequest {
            name,
            modifications: changes.into_iter().map(FamilyChange::into_message).collect(),
            ignore_warnings: false,
        };
        let changed = self
            .call(operation, message, |transport, request| async move {
                call::admin(transport).modify_column_families(request).await
            })
            .await?;
        Ok(TableInfo::new(table, changed))
    }

    /// Deletes the rows whose key begins with `prefix`, which is not empty.
    pub(crate) async fn drop_row_range(&self, table: &str, prefix: Bytes) -> Result<(), Error> {
        let name = self.table_name(table);
        let operation = self.admin_operation("DropRowRange", table, ("name", &name));
        // Sent twice, it would drop what has been written since the first time.
        let operation = operation.replayed(Replay::IfUnsent);
        // The emulator takes an empty prefix for one that every row has.
        if prefix.is_empty() {
            return Err(Error::not_prefixes(
                table,
                "the prefix of the rows to drop is empty, and every row begins with it; give one",
            ));
        }
        let message = admin::DropRowRangeRequest { name, target: Some(Target::RowKeyPrefix(prefix)) };
        self.call(operation, message, |transport, request| async move {
            call::admin(transport).drop_row_range(request).await
        })
        .await
        .map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "embedded")]
    mod scripted;
}
