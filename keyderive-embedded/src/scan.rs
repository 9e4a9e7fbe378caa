//! Scans: rows read in pages, sent several in a response.

mod reader;
mod writer;

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use keyderive_proto::RowsMessage;
use keyderive_proto::data::ReadRowsResponse;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, coop};
use tonic::Status;

use self::reader::{Progress, Reader};
use super::filter::Filter;
use super::interval::Interval;
use super::store::Store;

/// One scan, as the responses that answer it. It owns no more than a page of rows and a response, and works
/// only when it is polled.
pub(super) struct Scan {
    state: State,
    /// Whether the store may wait for a disk, which is done on a thread for that.
    waits: bool,
    /// Whether the client takes word of rows that were scanned and not sent.
    tells_progress: bool,
}

enum State {
    Idle(Box<Reader>),
    Reading(JoinHandle<Read>),
    /// Nothing more comes, after the last row or an error.
    Ended,
}

/// A reader, and what it has read.
type Read = (Box<Reader>, Result<Option<Progress>, Status>);

impl Scan {
    /// A scan of `intervals` of a table, which are disjoint and in order.
    pub(super) fn new(
        store: &Arc<Store>,
        table: String,
        intervals: Vec<Interval>,
        filter: Filter,
        limit: Option<u64>,
    ) -> Result<Self, Status> {
        let reader = Reader::new(store, table, intervals, filter, limit)?;
        Ok(Self { state: State::Idle(Box::new(reader)), waits: store.waits(), tells_progress: false })
    }

    pub(super) fn reversed(mut self) -> Self {
        if let State::Idle(reader) = &mut self.state {
            reader.reverse();
        }
        self
    }

    pub(super) fn tells_progress(self, tells_progress: bool) -> Self {
        Self { tells_progress, ..self }
    }

    /// What the next response is of; nothing at the end of the scan.
    fn poll_progress(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Progress>, Status>> {
        loop {
            match mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Poll::Ready(Ok(None)),
                State::Idle(reader) if self.waits || reader.takes_long() => match Handle::try_current() {
                    Ok(runtime) => {
                        self.state = State::Reading(runtime.spawn_blocking(|| read(reader, false)));
                    }
                    Err(_) if !self.waits => return Poll::Ready(self.take(read(reader, false))),
                    Err(error) => return Poll::Ready(Err(Status::internal(error.to_string()))),
                },
                State::Idle(reader) => {
                    let (reader, read) = read(reader, true);
                    let goes_on = matches!(read, Ok(Some(Progress::Nothing))) && reader.takes_long();
                    let read = self.take((reader, read));
                    if !goes_on {
                        return Poll::Ready(read);
                    }
                }
                State::Reading(mut reading) => match Pin::new(&mut reading).poll(context) {
                    Poll::Ready(Ok(read)) => return Poll::Ready(self.take(read)),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(Status::internal(error.to_string()))),
                    Poll::Pending => {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    }
                },
            }
        }
    }

    fn take(&mut self, (reader, read): Read) -> Result<Option<Progress>, Status> {
        if matches!(read, Ok(Some(_))) {
            self.state = State::Idle(reader);
        }
        read
    }
}

fn read(mut reader: Box<Reader>, others_wait: bool) -> Read {
    let read = reader.next_response(others_wait);
    (reader, read)
}

impl Stream for Scan {
    type Item = Result<RowsMessage, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A scan in memory is always ready; without this it would keep a task's thread to its end.
        let turn = ready!(coop::poll_proceed(context));
        turn.made_progress();
        let scan = self.get_mut();
        match ready!(scan.poll_progress(context)) {
            Err(status) => Poll::Ready(Some(Err(status))),
            Ok(None) => Poll::Ready(None),
            Ok(Some(Progress::Rows(response))) => Poll::Ready(Some(Ok(RowsMessage(response)))),
            Ok(Some(Progress::Scanned(key))) if scan.tells_progress => {
                let response = ReadRowsResponse { chunks: Vec::new(), last_scanned_row_key: key };
                Poll::Ready(Some(Ok(RowsMessage::from(&response))))
            }
            Ok(Some(Progress::Scanned(_) | Progress::Nothing)) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}
