//! Writes of one row and of many, all of a row or nothing.

mod batch;
mod conditional;
mod limits;
mod message;
mod outcomes;

use bytes::Bytes;

use super::Client;
use super::call;
use super::error::Error;
use super::operation::{Kind, Replay};
use crate::row::Mutation;
use crate::wire::data;

pub(crate) use batch::Batch;
pub(crate) use batch::entry_bytes;
pub(crate) use limits::check;

/// A row key and the changes to its row.
pub(crate) type Entry = (Bytes, Vec<Mutation>);

impl Client {
    /// Changes one row, all of `mutations` or none.
    pub(crate) async fn mutate_row(
        &self,
        table: &str,
        key: Bytes,
        mutations: Vec<Mutation>,
    ) -> Result<(), Error> {
        check(table, &key, &mutations)?;
        let replay = replay(&mutations);
        let operation = self.data_operation(Kind::MutateRow, table).replayed(replay);
        let message = data::MutateRowRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key.clone(),
            mutations: message::all(mutations),
            idempotency: None,
        };
        self.call(operation, message, |transport, request| async move {
            call::data(transport).mutate_row(request).await
        })
        .await
        .map(|data::MutateRowResponse {}| ())
        .map_err(|error| error.of_row(&key))
    }

    /// Changes many rows, each as a whole and independently of the others.
    ///
    /// The outcomes are in the order of `entries`.
    pub(crate) async fn mutate_rows(&self, table: &str, entries: Vec<Entry>) -> Vec<Result<(), Error>> {
        let mut outcomes: Vec<Option<Result<(), Error>>> = entries.iter().map(|_| None).collect();
        let mut batch = Batch::default();
        let mut places = Vec::new();
        for (place, (key, mutations)) in entries.into_iter().enumerate() {
            if let Err(error) = check(table, &key, &mutations) {
                outcomes[place] = Some(Err(error));
                continue;
            }
            if batch.is_full_for(&key, &mutations) {
                self.mutate_batch(table, batch.take(), std::mem::take(&mut places), &mut outcomes).await;
            }
            batch.add(key, mutations);
            places.push(place);
        }
        self.mutate_batch(table, batch.take(), places, &mut outcomes).await;
        // Each entry has been refused, or was in a batch.
        outcomes.into_iter().map(|outcome| outcome.unwrap_or(Ok(()))).collect()
    }

    /// Sends one batch, and puts its outcomes to their places.
    async fn mutate_batch(
        &self,
        table: &str,
        batch: Vec<Entry>,
        places: Vec<usize>,
        outcomes: &mut [Option<Result<(), Error>>],
    ) {
        for (place, outcome) in places.into_iter().zip(self.send_entries(table, batch).await) {
            outcomes[place] = Some(outcome);
        }
    }
}

/// Whether a write may be sent again when it may have been applied.
fn replay(mutations: &[Mutation]) -> Replay {
    match mutations.iter().all(Mutation::is_idempotent) {
        true => Replay::Always,
        false => Replay::IfUnsent,
    }
}
