//! Writes that depend on what the row holds. None is sent again once it may have reached the server.

use std::sync::Arc;

use bytes::Bytes;

use super::limits::{check, check_key};
use super::message;
use crate::client::error::Error;
use crate::client::operation::{Kind, Replay};
use crate::client::{Client, call, filter};
use crate::row::{Cell, Mutation, ReadModifyWrite, Row, RowFilter};
use crate::wire::data;

impl Client {
    /// Changes a row by `then` where the filter leaves a cell of it, or any cell without one; by `otherwise` where
    /// not. Says whether it was `then`.
    pub(crate) async fn check_and_mutate_row(
        &self,
        table: &str,
        key: Bytes,
        condition: Option<RowFilter>,
        then: Vec<Mutation>,
        otherwise: Vec<Mutation>,
    ) -> Result<bool, Error> {
        check(table, &key, &[then.as_slice(), &otherwise].concat())?;
        let predicate_filter = condition.as_ref().map(filter::message).transpose();
        let operation = self.data_operation(Kind::CheckAndMutateRow, table).replayed(Replay::IfUnsent);
        let message = data::CheckAndMutateRowRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key.clone(),
            predicate_filter: predicate_filter.map_err(|error| Error::filter(table, error))?,
            true_mutations: message::all(then),
            false_mutations: message::all(otherwise),
        };
        self.call(operation, message, |transport, request| async move {
            call::data(transport).check_and_mutate_row(request).await
        })
        .await
        .map(|response| response.predicate_matched)
        .map_err(|error| error.of_row(&key))
    }

    /// Changes cells of a row by what they hold; the cells as they are then.
    pub(crate) async fn read_modify_write_row(
        &self,
        table: &str,
        key: Bytes,
        rules: Vec<ReadModifyWrite>,
    ) -> Result<Row, Error> {
        check_key(table, &key)?;
        if rules.is_empty() {
            return Err(Error::limit(table, &key, "there is no rule by which to change the row".to_owned()));
        }
        let operation = self.data_operation(Kind::ReadModifyWriteRow, table).replayed(Replay::IfUnsent);
        let message = data::ReadModifyWriteRowRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key.clone(),
            rules: rules.into_iter().map(message::rule).collect(),
        };
        let response = self
            .call(operation, message, |transport, request| async move {
                call::data(transport).read_modify_write_row(request).await
            })
            .await
            .map_err(|error| error.of_row(&key))?;
        Ok(row(response.row.unwrap_or_default(), key))
    }
}

/// The cells of a row's message, under the key that was asked for.
fn row(row: data::Row, key: Bytes) -> Row {
    let mut cells = Vec::new();
    for family in row.families {
        let name: Arc<str> = family.name.into();
        for column in family.columns {
            cells.extend(column.cells.into_iter().map(|cell| Cell {
                family: Arc::clone(&name),
                qualifier: column.qualifier.clone(),
                timestamp_micros: cell.timestamp_micros,
                value: cell.value,
                labels: cell.labels,
            }));
        }
    }
    Row::new(key, cells)
}
