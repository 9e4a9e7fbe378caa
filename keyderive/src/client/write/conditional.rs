//! Writes that depend on what the row holds. They are retried only where nothing was applied, except for a write to an absent
//! row, whose condition keeps a repetition from being applied.

use bytes::Bytes;
use keyderive_proto::data;

use super::batch::Entries;
use super::limits::{check, check_key};
use super::mutations::Mutations;
use super::request::{self, Encoded};
use crate::client::error::Error;
use crate::client::operation::{Kind, Replay};
use crate::client::{Client, call, filter};
use crate::key::ShownKey;
use crate::row::{ReadModifyWrite, Row, RowBuilder, RowFilter, Rule, TooLarge};

impl Client {
    /// Changes a row by `then` where the filter leaves a cell of it, or any cell without one; by `otherwise` where
    /// not. Says whether it was `then`.
    pub(crate) async fn check_and_mutate_row(
        &self,
        table: &str,
        key: Bytes,
        condition: Option<RowFilter>,
        then: impl Into<Mutations>,
        otherwise: impl Into<Mutations>,
    ) -> Result<bool, Error> {
        let (then, otherwise) = (then.into(), otherwise.into());
        self.check_and_mutate(table, key, condition, then, otherwise, Replay::IfUnsent).await
    }

    /// Writes an entry if its row has no cell; returns whether it had none.
    ///
    /// It is retried after every transient failure, since a row that an earlier attempt wrote is found to be there.
    pub(crate) async fn write_if_absent(
        &self,
        table: &str,
        entries: &Entries,
        place: usize,
    ) -> Result<bool, Error> {
        let (key, mutations) = entries.parts(place);
        let is_there =
            self.check_and_mutate(table, key, None, Mutations::default(), mutations, Replay::Always).await?;
        Ok(!is_there)
    }

    async fn check_and_mutate(
        &self,
        table: &str,
        key: Bytes,
        condition: Option<RowFilter>,
        then: Mutations,
        otherwise: Mutations,
        replay: Replay,
    ) -> Result<bool, Error> {
        /// The numbers of the mutations in the request.
        const THEN: u8 = 4;
        const OTHERWISE: u8 = 5;
        check(table, &key, &[&then, &otherwise])?;
        let predicate_filter = condition.as_ref().map(filter::message).transpose();
        let operation = self.data_operation(Kind::CheckAndMutateRow, table).replayed(replay);
        let head = data::CheckAndMutateRowRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key.clone(),
            predicate_filter: predicate_filter.map_err(|error| Error::filter(table, error))?,
            ..data::CheckAndMutateRowRequest::default()
        };
        let body = [then.into_field(THEN), otherwise.into_field(OTHERWISE)].concat();
        self.call(operation, Encoded::new(&head, body.into()), |transport, request| {
            request::unary(transport, "/google.bigtable.v2.Bigtable/CheckAndMutateRow", request)
        })
        .await
        .map(|data::CheckAndMutateRowResponse { predicate_matched }| predicate_matched)
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
        let counted: Vec<_> = rules.iter().filter_map(counted).collect();
        let operation = self.data_operation(Kind::ReadModifyWriteRow, table).replayed(Replay::IfUnsent);
        let message = data::ReadModifyWriteRowRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key.clone(),
            rules: rules.into_iter().map(rule).collect(),
        };
        let response = self
            .call(operation, message, |transport, request| async move {
                call::data(transport).read_modify_write_row(request).await
            })
            .await
            .map_err(|error| error.of_row(&key).of_increments(&counted))?;
        let changed = response.row.unwrap_or_default();
        if !changed.key.is_empty() && changed.key != key {
            return Err(Error::answer(table, &key, format!("it is of row {}", ShownKey(&changed.key))));
        }
        let row = row(changed, &key);
        row.map_err(|TooLarge| Error::answer(table, &key, "what it has of the row is more than 4 GiB"))
    }
}

/// A rule as the protocol has it.
fn rule(rule: ReadModifyWrite) -> data::ReadModifyWriteRule {
    use data::read_modify_write_rule::Rule as Sent;
    let ReadModifyWrite { family, qualifier, rule } = rule;
    data::ReadModifyWriteRule {
        family_name: family.as_ref().to_owned(),
        column_qualifier: qualifier,
        rule: Some(match rule {
            Rule::Append(value) => Sent::AppendValue(value),
            Rule::Increment(amount) => Sent::IncrementAmount(amount),
        }),
    }
}

/// The column that a rule counts up, as errors name it.
fn counted(rule: &ReadModifyWrite) -> Option<String> {
    let ReadModifyWrite { family, qualifier, rule } = rule;
    let qualifier = String::from_utf8_lossy(qualifier);
    matches!(rule, Rule::Increment(_)).then(|| format!("`{family}:{}`", qualifier.escape_debug()))
}

/// The cells of a row's message, under the key that was asked for.
fn row(row: data::Row, key: &[u8]) -> Result<Row, TooLarge> {
    let mut built = RowBuilder::new(key)?;
    for family in row.families {
        for column in family.columns {
            for cell in column.cells {
                built.cell(Some(family.name.as_bytes()), Some(&column.qualifier), cell.timestamp_micros)?;
                built.value(&cell.value)?;
                cell.labels.iter().try_for_each(|label| built.label(label.as_bytes()))?;
            }
        }
    }
    Ok(built.build())
}
