//! What the scripted server has: prepared answers, one list of messages for each bucket, and a sum over what is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use keyderive_proto::data::mutate_rows_response::Entry;
use keyderive_proto::data::mutation::Mutation;
use keyderive_proto::data::row_range::StartKey;
use keyderive_proto::data::{MutateRowsRequest, MutateRowsResponse, ReadRowsRequest};
use keyderive_proto::values::Status;
use keyderive_scripted::{Answers, Cell, Script, Server, encode_rows};
use prost::Message as _;

use super::data::{Reading, cell_written};
use super::floor::{self, BYTES};
use super::machine;

/// 3 cells a row make 999 chunks.
const ROWS_A_MESSAGE: usize = 333;

/// The most entries of a request that are answered: as many as Bigtable's limit of mutations allows.
const MAX_ENTRIES: i64 = 100_000;

/// The messages of each bucket, or of the one bucket that is read.
pub(super) struct Stored(Vec<Vec<Bytes>>);

impl Stored {
    /// Rows in the order of their keys, bucket by bucket.
    pub(super) fn new<'a>(buckets: impl IntoIterator<Item = Vec<(Bytes, &'a Reading)>>) -> Self {
        Self(buckets.into_iter().map(|rows| messages(&rows)).collect())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().flatten().map(|message| message.len() as u64).sum()
    }
}

fn messages(rows: &[(Bytes, &Reading)]) -> Vec<Bytes> {
    let message = |rows: &[(Bytes, &Reading)]| {
        encode_rows(rows.iter().map(|(key, row)| (key.clone(), row.cells().map(cell))))
    };
    rows.chunks(ROWS_A_MESSAGE).map(message).collect()
}

fn cell((qualifier, value): (&'static str, Bytes)) -> Cell {
    (qualifier.into(), value)
}

impl Script for Stored {
    fn answer(&self, request: ReadRowsRequest) -> Answers {
        let messages = match self.0.as_slice() {
            [messages] => Some(messages),
            buckets => bucket_of(&request).and_then(|bucket| buckets.get(bucket)),
        };
        Box::new(messages.cloned().unwrap_or_default().into_iter())
    }
}

/// The bucket that a request's one range starts in. A range without a start starts in the first one.
fn bucket_of(request: &ReadRowsRequest) -> Option<usize> {
    let [range] = request.rows.as_ref()?.row_ranges.as_slice() else { return None };
    match range.start_key.as_ref() {
        None => Some(0),
        Some(StartKey::StartKeyClosed(key) | StartKey::StartKeyOpen(key)) => {
            let digits = key.iter().take_while(|byte| byte.is_ascii_digit());
            Some(digits.fold(0, |bucket, digit| 10 * bucket + usize::from(digit - b'0')))
        }
    }
}

/// Starts a server on the core that the client is not on.
pub(super) fn start(script: impl Script) -> Server {
    Server::start_in(script, machine::pin_server)
}

/// What has been written. Requests are decoded only while they are to be checked; else their entries are counted.
#[derive(Default)]
pub(super) struct Written {
    is_checked: AtomicBool,
    rows: AtomicU64,
    cells: AtomicU64,
}

impl Written {
    pub(super) fn check(&self, is_checked: bool) {
        self.is_checked.store(is_checked, Ordering::SeqCst);
    }

    /// How many rows were written, and the sum over their cells where they were checked; and starts anew.
    pub(super) fn take(&self) -> (u64, u64) {
        (self.rows.swap(0, Ordering::SeqCst), self.cells.swap(0, Ordering::SeqCst))
    }

    fn add(&self, request: &Bytes) -> usize {
        let entries = if self.is_checked.load(Ordering::SeqCst) {
            let request = MutateRowsRequest::decode(request.clone()).unwrap();
            self.cells.fetch_add(sum(&request), Ordering::SeqCst);
            request.entries.len()
        } else {
            count_entries(request)
        };
        self.rows.fetch_add(entries as u64, Ordering::SeqCst);
        entries
    }
}

fn sum(request: &MutateRowsRequest) -> u64 {
    let mut sum = 0_u64;
    for entry in &request.entries {
        for mutation in &entry.mutations {
            let cell = match &mutation.mutation {
                Some(Mutation::SetCell(cell)) => {
                    let family = cell.family_name.as_bytes();
                    cell_written(&entry.row_key, family, &cell.column_qualifier, &cell.value)
                }
                // Nothing is to be deleted of rows whose columns are all there.
                _ => 1,
            };
            sum = sum.wrapping_add(cell);
        }
    }
    sum
}

fn count_entries(mut request: &[u8]) -> usize {
    const ENTRIES: u64 = 2 << 3 | BYTES;
    let mut count = 0;
    while !request.is_empty() {
        let tag = floor::varint(&mut request).unwrap();
        count += usize::from(tag == ENTRIES);
        floor::skip(tag, &mut request).unwrap();
    }
    count
}

/// Takes every write: all entries of an answer are good.
pub(super) struct Taking {
    written: Arc<Written>,
    /// The encoded outcomes of the most entries, and where each of them ends.
    outcomes: Bytes,
    ends: Vec<usize>,
}

impl Taking {
    pub(super) fn new(written: Arc<Written>) -> Self {
        let mut outcomes = Vec::new();
        let mut ends = vec![0];
        for index in 0..MAX_ENTRIES {
            let entry = Entry { index, status: Some(Status::default()) };
            let one = MutateRowsResponse { entries: vec![entry], rate_limit_info: None };
            // Encoded messages one after the other are one message.
            outcomes.extend(one.encode_to_vec());
            ends.push(outcomes.len());
        }
        Self { written, outcomes: outcomes.into(), ends }
    }
}

impl Script for Taking {
    fn answer(&self, _: ReadRowsRequest) -> Answers {
        Box::new(std::iter::empty())
    }

    fn answer_write(&self, request: Bytes) -> Answers {
        let entries = self.written.add(&request);
        Box::new(std::iter::once(self.outcomes.slice(..self.ends[entries])))
    }
}
