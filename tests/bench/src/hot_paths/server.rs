//! What the scripted server answers: prepared messages for each bucket, and success for writes, which it sums up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use keyderive_proto::data::mutate_rows_response::Entry;
use keyderive_proto::data::mutation::Mutation;
use keyderive_proto::data::row_range::StartKey;
use keyderive_proto::data::{MutateRowsRequest, MutateRowsResponse, ReadRowsRequest};
use keyderive_proto::values::Status;
use keyderive_scripted::{Answer, Cell, FAMILY, Mock, Request, Rpc, encode_rows};
use prost::Message as _;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::data::{Reading, cell_written};
use super::floor::{self, BYTES};
use super::machine;

/// With 3 cells per row, 999 chunks.
const ROWS_A_MESSAGE: usize = 333;

/// The most entries of a request: Bigtable's limit of mutations.
const MAX_ENTRIES: i64 = 100_000;

/// The messages of each bucket, or of the only bucket.
pub(super) struct Stored(Vec<Vec<Bytes>>);

impl Stored {
    /// Rows in key order, bucket by bucket.
    pub(super) fn new<'a>(buckets: impl IntoIterator<Item = Vec<(Bytes, &'a Reading)>>) -> Self {
        Self(buckets.into_iter().map(|rows| messages(&rows)).collect())
    }

    /// Rows of these cells, in key order, in one bucket.
    pub(super) fn of_cells(rows: &[(Bytes, Vec<Cell>)]) -> Self {
        let chunks = 3 * ROWS_A_MESSAGE;
        let rows_a_message = rows.first().map_or(1, |(_, cells)| (chunks / cells.len().max(1)).max(1));
        Self(vec![rows.chunks(rows_a_message).map(|rows| encode_rows(rows.iter().cloned())).collect()])
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
    fn answer(&self, request: &Request) -> Answer {
        let messages = match self.0.as_slice() {
            [messages] => Some(messages),
            buckets => bucket_of(&request.read_rows()).and_then(|bucket| buckets.get(bucket)),
        };
        Answer::stream(messages.cloned().unwrap_or_default().into_iter())
    }
}

/// The bucket that the request's only range starts in; the first one if the range has no start.
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

/// What the server answers to the RPCs that a benchmark measures.
pub(super) trait Script: Send + Sync + 'static {
    fn answer(&self, request: &Request) -> Answer;
}

/// A server in a thread of its own, on another core than the client's. It ends when dropped.
pub(crate) struct Server {
    host: String,
    commands: Option<UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
}

enum Command {
    Stop,
    Start,
}

impl Server {
    pub(super) fn start(script: impl Script) -> Self {
        let rule = move |request: &Request| match request.rpc {
            Rpc::ReadRows | Rpc::MutateRow | Rpc::MutateRows => script.answer(request),
            _ => Answer::new(),
        };
        Self::serve(Mock::new().by(rule).admin_by(|_| Answer::table([FAMILY])).unrecorded())
    }

    pub(crate) fn serve(mock: Mock) -> Self {
        let (commands, mut received) = unbounded_channel();
        let (host, thread) = machine::serve_apart(async move |sender| {
            sender.send(mock.listen().await).expect("the starter waits");
            while let Some(command) = received.recv().await {
                match command {
                    Command::Stop => mock.stop().await,
                    Command::Start => drop(mock.listen().await),
                }
            }
        });
        Self { host, commands: Some(commands), thread: Some(thread) }
    }

    /// Its address, as `Client::emulator` takes it.
    pub(crate) fn host(&self) -> String {
        self.host.clone()
    }

    /// Ends the server as if its process died.
    pub(crate) fn stop(&self) {
        self.send(Command::Stop);
    }

    /// Starts it again at the same port.
    pub(crate) fn restart(&self) {
        self.send(Command::Start);
    }

    fn send(&self, command: Command) {
        let commands = self.commands.as_ref().expect("the server runs");
        assert!(commands.send(command).is_ok(), "the server runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.commands.take();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))), "the scripted server has failed");
    }
}

/// Sums up what was written. Decodes requests while `is_checked`, and only counts their entries otherwise.
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

    /// How many rows were written and, if checked, the sum over their cells; resets both.
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
                // A deletion: makes the sum wrong, since rows with all columns need none.
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

/// Answers every write with success, and sums up the bulk writes. What keyderive's registry reads and writes on a first
/// request are single rows.
pub(super) struct AcceptWrites {
    written: Arc<Written>,
    /// The encoded outcomes of `MAX_ENTRIES` entries, and where each of them ends.
    outcomes: Bytes,
    ends: Vec<usize>,
}

impl AcceptWrites {
    pub(super) fn new(written: Arc<Written>) -> Self {
        let mut outcomes = Vec::new();
        let mut ends = vec![0];
        for index in 0..MAX_ENTRIES {
            let entry = Entry { index, status: Some(Status::default()) };
            let one = MutateRowsResponse { entries: vec![entry], rate_limit_info: None };
            // Concatenated encoded messages are one merged message.
            outcomes.extend(one.encode_to_vec());
            ends.push(outcomes.len());
        }
        Self { written, outcomes: outcomes.into(), ends }
    }
}

impl Script for AcceptWrites {
    fn answer(&self, request: &Request) -> Answer {
        match request.rpc {
            Rpc::ReadRows => Answer::new(),
            Rpc::MutateRow => Answer::written(),
            _ => {
                let entries = self.written.add(&request.message);
                Answer::stream(std::iter::once(self.outcomes.slice(..self.ends[entries])))
            }
        }
    }
}
