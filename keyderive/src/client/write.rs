//! Writes of one row and of many, all of a row or nothing.

mod answer;
mod batch;
mod body;
mod conditional;
mod encode;
mod limits;
mod mutations;
mod outcomes;
mod request;
mod templates;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use keyderive_proto::data;

use self::request::Encoded;
use super::Client;
use super::error::Error;
use super::operation::Kind;
use crate::row::Mutation;

use self::batch::MAX_BYTES;
pub(crate) use self::batch::{Batch, Entries, REQUEST_BYTES, Traits};
use self::limits::check;
pub(crate) use self::mutations::{Mutations, OwnTime};

/// A row key and the changes to its row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    pub(crate) mutations: Mutations,
}

impl Entry {
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.key.clear();
        self.mutations.clear();
    }

    /// How many bytes it takes in a request.
    pub(crate) fn bytes(&self) -> usize {
        batch::entry_bytes(&self.key, &self.mutations)
    }

    /// Ends its use, and keeps its memory for another one unless that is large.
    pub(crate) fn reset(&mut self) {
        const MOST: usize = 64 * 1024;
        match self.key.capacity() + self.mutations.capacity() <= MOST {
            true => self.clear(),
            false => *self = Self::default(),
        }
    }

    /// Fails for what Bigtable would refuse, naming it.
    #[inline]
    pub(crate) fn check(&self, table: &str) -> Result<(), Error> {
        if limits::is_usual(&self.key, &self.mutations) {
            return Ok(());
        }
        check(table, &self.key, &[&self.mutations])
    }
}

impl Client {
    /// Changes one row, all of `mutations` or none.
    pub(crate) async fn mutate_row(
        &self,
        table: &str,
        key: Bytes,
        mutations: impl Into<Mutations>,
    ) -> Result<(), Error> {
        /// The number of the mutations in the request.
        const MUTATIONS: u8 = 3;
        let mutations = mutations.into();
        check(table, &key, &[&mutations])?;
        let operation = self.data_operation(Kind::MutateRow, table).replayed(mutations.replay());
        let head = data::MutateRowRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key.clone(),
            ..data::MutateRowRequest::default()
        };
        let request = Encoded::new(&head, mutations.into_field(MUTATIONS));
        self.call(operation, request, |transport, request| {
            request::unary(transport, "/google.bigtable.v2.Bigtable/MutateRow", request)
        })
        .await
        .map(|data::MutateRowResponse {}| ())
        .map_err(|error| error.of_row(&key))
    }

    /// Changes many rows, each as a whole and independently of the others.
    ///
    /// The outcomes are in the order of `entries`.
    pub(crate) async fn mutate_rows(
        &self,
        table: &str,
        entries: Vec<(Bytes, Vec<Mutation>)>,
    ) -> Vec<Result<(), Error>> {
        let mut outcomes: Vec<Result<(), Error>> = entries.iter().map(|_| Ok(())).collect();
        let (mut batch, mut places) = (Batch::default(), Vec::new());
        for (place, (key, mutations)) in entries.iter().enumerate() {
            let mutations = Mutations::from(mutations.as_slice());
            if let Err(error) = check(table, key, &[&mutations]) {
                outcomes[place] = Err(error);
                continue;
            }
            if batch.is_full_for(key, &mutations, MAX_BYTES) {
                self.mutate_batch(table, &batch.take(), &mut places, &mut outcomes).await;
            }
            batch.add(key, &mutations);
            places.push(place);
        }
        self.mutate_batch(table, &batch.take(), &mut places, &mut outcomes).await;
        outcomes
    }

    /// Sends one batch, and puts its outcomes to their places.
    async fn mutate_batch(
        &self,
        table: &str,
        entries: &Entries,
        places: &mut Vec<usize>,
        outcomes: &mut [Result<(), Error>],
    ) {
        for (place, outcome) in places.drain(..).zip(self.send_entries(table, entries).await) {
            outcomes[place] = outcome;
        }
    }
}
