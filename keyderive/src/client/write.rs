//! Writes of one row or of several, each row all or nothing, and the writes that depend on what a row holds.
//!
//! A request is checked against Bigtable's limits before it is sent. `encode.rs` encodes its mutations.

mod applied;
mod encode;
mod outcomes;
#[cfg(test)]
mod tests;
pub(crate) mod token;

use bytes::Bytes;
use keyderive_proto::{Rpc, data};
use prost::Message as _;

use self::encode::MAX_BYTES;
pub(crate) use self::encode::{
    Batch, Entries, Entry, EntryMeta, ExplicitTimestamp, Mutations, REQUEST_BYTES,
};
use super::error::Error;
use super::grpc::Request;
use super::operation::Idempotency;
use super::{Client, Granularity, Route, filter};
use crate::key::{MAX_KEY_LEN, ShownKey};
use crate::row::{Mutation, RawRow, ReadModifyWrite, RowBuilder, RowFilter, Rule, TooLarge};

impl Client {
    /// Changes one row: applies all mutations or none.
    pub(crate) async fn mutate_row(
        &self,
        table: &Route,
        key: Bytes,
        mutations: impl Into<Mutations>,
    ) -> Result<(), Error> {
        const MUTATIONS: u8 = 3;
        const IDEMPOTENCY: u8 = 8;
        let mutations = mutations.into();
        check(table, &key, &[&mutations])?;
        let asked = self.inner.heat.asked(&key, mutations.bytes().len());
        let operation = self
            .data_operation(Rpc::MutateRow, table)
            .with_idempotency(mutations.idempotency())
            .asking(asked);
        let head = data::MutateRowRequest {
            table_name: table.full_name().to_owned(),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key.clone(),
            ..data::MutateRowRequest::default()
        };
        let mut body = mutations.into_field(MUTATIONS);
        if operation.idempotency() == Idempotency::ByToken {
            body = [body, token::field(IDEMPOTENCY, self.now_micros()).into()].concat().into();
        }
        let written = self.call(operation, Request::with_tail(&head, body)).await;
        written.map(|data::MutateRowResponse {}| ()).map_err(|error| error.with_row_key(&key))
    }

    /// Cuts the bounds of deletions to the table's granularity, so that the server takes them and deletes exactly the versions
    /// within. Reads the table at most once, and only if a bound is not a whole millisecond.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub(crate) async fn cut_bounds(&self, table: &Route, mutations: &mut [Mutation]) -> Result<(), Error> {
        if !mutations.iter().any(Mutation::has_fine_bounds) {
            return Ok(());
        }
        match Box::pin(self.granularity(table)).await? {
            Granularity::Millis => mutations.iter_mut().for_each(Mutation::cut_to_millis),
            Granularity::Micros => {}
        }
        Ok(())
    }

    /// Changes several rows, each atomically and independently of the others. The outcomes are in the order of `entries`.
    pub(crate) async fn mutate_rows(
        &self,
        table: &Route,
        entries: Vec<(Bytes, Vec<Mutation>)>,
    ) -> Vec<Result<(), Error>> {
        let mut outcomes: Vec<Result<(), Error>> = entries.iter().map(|_| Ok(())).collect();
        let (mut batch, mut indexes) = (Batch::timed_by(self.clock()), Vec::new());
        for (index, (key, mutations)) in entries.iter().enumerate() {
            let mutations = Mutations::from(mutations.as_slice());
            if let Err(error) = check(table, key, &[&mutations]) {
                outcomes[index] = Err(error);
                continue;
            }
            if batch.is_full_for(key, &mutations, MAX_BYTES) {
                self.mutate_batch(table, &batch.take(), &mut indexes, &mut outcomes).await;
            }
            batch.add(key, &mutations);
            indexes.push(index);
        }
        self.mutate_batch(table, &batch.take(), &mut indexes, &mut outcomes).await;
        outcomes
    }

    /// Sends a batch, and stores the outcomes of its entries at `indexes`.
    async fn mutate_batch(
        &self,
        table: &Route,
        entries: &Entries,
        indexes: &mut Vec<usize>,
        outcomes: &mut [Result<(), Error>],
    ) {
        let sent = self.send_entries(table, entries).await.into_iter().enumerate();
        for (index, (entry, outcome)) in indexes.drain(..).zip(sent) {
            outcomes[index] = outcome.map_err(|error| Error::entry(&entries.key(entry), error));
        }
    }

    /// Applies `then` if the filter passes a cell of the row, or without a filter if the row has a cell; `otherwise` if not.
    /// Returns whether it applied `then`. Retried only if no attempt can have applied anything.
    pub(crate) async fn check_and_mutate_row(
        &self,
        table: &Route,
        key: Bytes,
        condition: Option<RowFilter>,
        then: impl Into<Mutations>,
        otherwise: impl Into<Mutations>,
    ) -> Result<bool, Error> {
        let (then, otherwise) = (then.into(), otherwise.into());
        self.check_and_mutate(table, key, condition, then, otherwise, Idempotency::NotIdempotent).await
    }

    /// Writes an entry if its row has no cell that `there` passes, or without a filter no cell; returns whether it had none.
    ///
    /// Retried after every transient failure: a retry finds the row that an earlier attempt wrote, and applies nothing.
    pub(crate) async fn write_if_absent(
        &self,
        table: &Route,
        entries: &Entries,
        index: usize,
        there: Option<RowFilter>,
    ) -> Result<bool, Error> {
        let (key, mutations) = entries.decode(index);
        let exists = self
            .check_and_mutate(table, key, there, Mutations::default(), mutations, Idempotency::Idempotent)
            .await?;
        Ok(!exists)
    }

    /// [`check_and_mutate_row`](Self::check_and_mutate_row), retried as `idempotency` allows.
    pub(crate) async fn check_and_mutate(
        &self,
        table: &Route,
        key: Bytes,
        condition: Option<RowFilter>,
        then: Mutations,
        otherwise: Mutations,
        idempotency: Idempotency,
    ) -> Result<bool, Error> {
        const THEN: u8 = 4;
        const OTHERWISE: u8 = 5;
        check(table, &key, &[&then, &otherwise])?;
        let predicate_filter = condition.as_ref().map(filter::message).transpose();
        let asked = self.inner.heat.asked(&key, then.bytes().len().max(otherwise.bytes().len()));
        let operation =
            self.data_operation(Rpc::CheckAndMutateRow, table).with_idempotency(idempotency).asking(asked);
        let head = data::CheckAndMutateRowRequest {
            table_name: table.full_name().to_owned(),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key.clone(),
            predicate_filter: predicate_filter.map_err(|error| Error::filter(table, error))?,
            ..data::CheckAndMutateRowRequest::default()
        };
        let body = [then.into_field(THEN), otherwise.into_field(OTHERWISE)].concat();
        let answer = self.call(operation, Request::with_tail(&head, body.into())).await;
        answer
            .map(|data::CheckAndMutateRowResponse { predicate_matched }| predicate_matched)
            .map_err(|error| error.with_row_key(&key))
    }

    /// Increments or appends to cells of a row. Retried only if no attempt can have applied it. `check` turns the changed cells
    /// into the result, or says how they break the protocol.
    pub(crate) async fn read_modify_write_row<T>(
        &self,
        table: &Route,
        key: Bytes,
        rules: Vec<ReadModifyWrite>,
        check: impl Fn(RawRow) -> Result<T, String>,
    ) -> Result<T, Error> {
        check_key(table, &key)?;
        if rules.is_empty() {
            return Err(Error::limit(table, &key, "the write has no increment and no append".to_owned()));
        }
        let incremented: Vec<_> = rules.iter().filter_map(incremented_column).collect();
        let operation =
            self.data_operation(Rpc::ReadModifyWriteRow, table).with_idempotency(Idempotency::NotIdempotent);
        let message = data::ReadModifyWriteRowRequest {
            table_name: table.full_name().to_owned(),
            app_profile_id: self.app_profile().to_owned(),
            row_key: key.clone(),
            rules: rules.into_iter().map(rule_message).collect(),
        };
        let operation = operation.asking(self.inner.heat.asked(&key, message.encoded_len()));
        let changed = |response: data::ReadModifyWriteRowResponse| {
            let changed = response.row.unwrap_or_default();
            if !changed.key.is_empty() && changed.key != key {
                return Err(format!("it is about row {}", ShownKey(&changed.key)));
            }
            changed_cells(changed, &key)
                .map_err(|TooLarge| "its cells have more than 4 GiB".to_owned())
                .and_then(&check)
        };
        let answer = self.call_checked(operation, Request::new(&message), changed).await;
        answer.map_err(|error| error.with_row_key(&key).with_increment_hint(&incremented))
    }
}

fn rule_message(rule: ReadModifyWrite) -> data::ReadModifyWriteRule {
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

/// The name of the column that a rule increments, for errors.
fn incremented_column(rule: &ReadModifyWrite) -> Option<String> {
    let ReadModifyWrite { family, qualifier, rule } = rule;
    let qualifier = String::from_utf8_lossy(qualifier);
    matches!(rule, Rule::Increment(_)).then(|| format!("`{family}:{}`", qualifier.escape_debug()))
}

fn changed_cells(row: data::Row, key: &[u8]) -> Result<RawRow, TooLarge> {
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

// Limits of Bigtable, from its page "Quotas and limits". What it rejects we reject before sending; what it advises against we log.
pub(crate) const MAX_MUTATIONS: usize = 100_000;
const MAX_QUALIFIER_BYTES: usize = 16 * 1024;
const MAX_VALUE_BYTES: usize = 100 * 1024 * 1024;
const ADVISED_VALUE_BYTES: usize = 10 * 1000 * 1000;
const ADVISED_ROW_BYTES: usize = 100 * 1000 * 1000;

/// Whether a change is as small as Bigtable advises.
#[inline]
fn is_within_advice(qualifier: &[u8], value: &[u8]) -> bool {
    qualifier.len() <= MAX_QUALIFIER_BYTES && value.len() <= ADVISED_VALUE_BYTES
}

/// A change that is larger than Bigtable advises or accepts.
#[derive(Clone, Debug)]
struct Large {
    family: String,
    qualifier: Vec<u8>,
    value_bytes: usize,
}

impl Large {
    #[cold]
    fn new(family: &str, qualifier: &[u8], value: &[u8]) -> Self {
        Self { family: family.to_owned(), qualifier: qualifier.to_owned(), value_bytes: value.len() }
    }

    fn is_allowed(&self) -> bool {
        self.qualifier.len() <= MAX_QUALIFIER_BYTES && self.value_bytes <= MAX_VALUE_BYTES
    }

    /// Logs a warning, or returns why Bigtable would reject the change.
    fn check(&self, table: &str) -> Result<(), String> {
        let Self { family, qualifier, value_bytes } = self;
        let shown = ShownKey(qualifier);
        if qualifier.len() > MAX_QUALIFIER_BYTES {
            return Err(format!(
                "the qualifier {shown} in the family `{family}` has {} bytes, and at most {MAX_QUALIFIER_BYTES} are \
                 allowed: make the name or the map's key shorter, and store the long text as a value",
                qualifier.len()
            ));
        }
        if *value_bytes > MAX_VALUE_BYTES {
            return Err(format!(
                "the value of the column {shown} in the family `{family}` has {value_bytes} bytes, and at most \
                 {MAX_VALUE_BYTES} are allowed: split it over several columns or rows"
            ));
        }
        tracing::warn!(
            table,
            %family,
            bytes = value_bytes,
            "a value is larger than the 10 MB that Bigtable advises"
        );
        Ok(())
    }
}

/// Whether a write is far from every limit, as nearly all are.
#[inline]
fn is_far_from_limits(key: &[u8], mutations: &Mutations) -> bool {
    (1..=MAX_KEY_LEN).contains(&key.len())
        && (1..=MAX_MUTATIONS).contains(&mutations.count())
        && mutations.large().is_empty()
        && mutations.bytes().len() < ADVISED_ROW_BYTES / 2
}

/// Checks the limits of one write to one row. Some lists may be empty, but not all.
fn check(table: &str, key: &[u8], mutations: &[&Mutations]) -> Result<(), Error> {
    check_key(table, key)?;
    let count: usize = mutations.iter().map(|mutations| mutations.count()).sum();
    let reject = |message: String| Err(rejected(table, key, message));
    if count == 0 {
        return reject("the write has no mutation".to_owned());
    }
    if count > MAX_MUTATIONS {
        return reject(format!(
            "the write has {count} mutations, and at most {MAX_MUTATIONS} are allowed: write the row in parts, with \
             `merge` or `update`, or store it as several rows"
        ));
    }
    for large in mutations.iter().flat_map(|mutations| mutations.large()) {
        large.check(table).or_else(reject)?;
    }
    let bytes = key.len() + mutations.iter().map(|mutations| mutations.bytes().len()).sum::<usize>();
    if bytes > ADVISED_ROW_BYTES {
        tracing::warn!(
            table,
            bytes,
            "a write to one row is larger than the 100 MB that Bigtable advises for a row"
        );
    }
    Ok(())
}

fn check_key(table: &str, key: &[u8]) -> Result<(), Error> {
    let message = match key.len() {
        0 => "the row key is empty, and a row key has at least one byte".to_owned(),
        1..=MAX_KEY_LEN => return Ok(()),
        len => format!("the row key has {len} bytes, and at most {MAX_KEY_LEN} are allowed"),
    };
    Err(rejected(table, key, message))
}

#[cold]
fn rejected(table: &str, key: &[u8], message: String) -> Error {
    Error::limit(table, &Bytes::copy_from_slice(key), message)
}
