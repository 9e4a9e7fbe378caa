//! Writes: `MutateRow` and `MutateRows`.

use bytes::Bytes;
use tonic::{Code, Status, Streaming};

use super::Client;
use super::call::{self, Operation};
use super::error::Error;
use crate::row::Mutation;
use crate::wire::data;
use crate::wire::data::mutation::{self, DeleteFromColumn, DeleteFromFamily, DeleteFromRow, SetCell};

impl Client {
    /// Changes one row, all of `mutations` or none.
    pub(crate) async fn mutate_row(
        &self,
        table: &str,
        key: Bytes,
        mutations: Vec<Mutation>,
    ) -> Result<(), Error> {
        let operation = self.data_operation("MutateRow", table);
        let message = data::MutateRowRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key,
            mutations: messages(mutations),
            idempotency: None,
        };
        self.call(&operation, message, |transport, request| async move {
            call::data(transport).mutate_row(request).await
        })
        .await
        .map(|data::MutateRowResponse {}| ())
    }

    /// Changes many rows, each as a whole and independently of the others.
    ///
    /// The outcomes are in the order of `entries`. The error outside them is of a request of which no
    /// outcome is known.
    pub(crate) async fn mutate_rows(
        &self,
        table: &str,
        entries: Vec<(Bytes, Vec<Mutation>)>,
    ) -> Result<Vec<Result<(), Error>>, Error> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let operation = self.data_operation("MutateRows", table);
        let outcomes = Outcomes::new(entries.len());
        let message = data::MutateRowsRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
            entries: entries.into_iter().map(entry).collect(),
        };
        let responses = self
            .call(&operation, message, |transport, request| async move {
                call::data(transport).mutate_rows(request).await
            })
            .await?;
        outcomes.collect(&operation, responses).await
    }
}

/// What is known of the entries of one request, by their places in it.
struct Outcomes(Vec<Option<Status>>);

impl Outcomes {
    fn new(entries: usize) -> Self {
        Self(vec![None; entries])
    }

    async fn collect(
        mut self,
        operation: &Operation,
        mut responses: Streaming<data::MutateRowsResponse>,
    ) -> Result<Vec<Result<(), Error>>, Error> {
        loop {
            match responses.message().await {
                Ok(Some(response)) => response.entries.into_iter().for_each(|entry| self.take(entry)),
                Ok(None) => return Ok(self.end(|| Error::protocol(operation, NO_OUTCOME), operation)),
                Err(status) if self.0.iter().all(Option::is_none) => {
                    return Err(Error::rpc(operation, &status));
                }
                Err(status) => return Ok(self.end(|| Error::rpc(operation, &status), operation)),
            }
        }
    }

    /// Takes one outcome. One for an entry that was not in the request says nothing.
    fn take(&mut self, entry: data::mutate_rows_response::Entry) {
        let place = usize::try_from(entry.index).ok().and_then(|index| self.0.get_mut(index));
        if let Some(place) = place {
            let status = entry.status.unwrap_or_default();
            *place = Some(Status::new(Code::from_i32(status.code), status.message));
        }
    }

    /// The outcomes, with `missing` where none came.
    fn end(self, missing: impl Fn() -> Error, operation: &Operation) -> Vec<Result<(), Error>> {
        let outcome = |status: Option<Status>| match status {
            None => Err(missing()),
            Some(status) if status.code() == Code::Ok => Ok(()),
            Some(status) => Err(Error::rpc(operation, &status)),
        };
        self.0.into_iter().map(outcome).collect()
    }
}

const NO_OUTCOME: &str = "it has no outcome for this entry";

fn entry((row_key, mutations): (Bytes, Vec<Mutation>)) -> data::mutate_rows_request::Entry {
    data::mutate_rows_request::Entry { row_key, mutations: messages(mutations), idempotency: None }
}

fn messages(mutations: Vec<Mutation>) -> Vec<data::Mutation> {
    mutations.into_iter().map(message).collect()
}

fn message(mutation: Mutation) -> data::Mutation {
    let mutation = match mutation {
        Mutation::SetCell { family, qualifier, timestamp_micros, value } => {
            mutation::Mutation::SetCell(SetCell {
                family_name: family.as_ref().to_owned(),
                column_qualifier: qualifier,
                timestamp_micros,
                value,
            })
        }
        Mutation::DeleteColumn { family, qualifier } => {
            mutation::Mutation::DeleteFromColumn(DeleteFromColumn {
                family_name: family.as_ref().to_owned(),
                column_qualifier: qualifier,
                time_range: None,
            })
        }
        Mutation::DeleteFamily { family } => {
            mutation::Mutation::DeleteFromFamily(DeleteFromFamily { family_name: family.as_ref().to_owned() })
        }
        Mutation::DeleteRow => mutation::Mutation::DeleteFromRow(DeleteFromRow {}),
    };
    data::Mutation { mutation: Some(mutation) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::data::mutate_rows_response::Entry;
    use crate::wire::values;

    fn told(index: i64, code: Code) -> Entry {
        Entry { index, status: Some(values::Status { code: code.into(), ..values::Status::default() }) }
    }

    #[test]
    fn outcomes_are_in_the_order_of_the_entries() {
        let operation = Operation::for_test("MutateRows", "events");
        let mut outcomes = Outcomes::new(4);
        outcomes.take(told(2, Code::NotFound));
        outcomes.take(told(0, Code::Ok));
        outcomes.take(Entry { index: 3, status: None });
        let outcomes = outcomes.end(|| Error::protocol(&operation, NO_OUTCOME), &operation);
        assert!(outcomes[0].is_ok() && outcomes[3].is_ok());
        assert!(outcomes[1].as_ref().unwrap_err().is_protocol());
        assert!(outcomes[2].as_ref().unwrap_err().is_not_found());
    }

    #[test]
    fn an_outcome_outside_the_request_is_no_panic() {
        let mut outcomes = Outcomes::new(1);
        for index in [1, -1, i64::MAX, i64::MIN] {
            outcomes.take(told(index, Code::Ok));
        }
        assert!(outcomes.0[0].is_none());
    }
}
