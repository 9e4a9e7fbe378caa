//! Streams that break, and that bring their rows in pieces.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use fastrand::Rng;
use futures_core::Stream;
use keyderive_proto::RowsMessage;
use keyderive_proto::data::ReadRowsResponse;
use tonic::{Request, Status};

use super::split;

/// What is wrong with the streams that answer one call.
#[derive(Clone, Debug)]
pub(crate) struct StreamFault {
    seed: u64,
    cut: f64,
    split: f64,
}

impl StreamFault {
    pub(super) fn new(seed: u64, cut: f64, split: f64) -> Self {
        Self { seed, cut, split }
    }

    pub(super) fn none() -> Self {
        Self::new(0, 0.0, 0.0)
    }

    /// Those that a request has met on its way.
    pub(crate) fn of<M>(request: &Request<M>) -> Self {
        request.extensions().get().cloned().unwrap_or_else(Self::none)
    }
}

/// A stream that may end before its time.
pub(crate) struct TruncatedStream<S> {
    stream: S,
    rng: Rng,
    chance: f64,
    over: bool,
}

impl<S> TruncatedStream<S> {
    pub(crate) fn new(stream: S, faults: &StreamFault) -> Self {
        Self { stream, rng: Rng::with_seed(faults.seed), chance: faults.cut, over: false }
    }
}

impl<S: Stream<Item = Result<T, Status>> + Unpin, T> Stream for TruncatedStream<S> {
    type Item = Result<T, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        let message = ready!(Pin::new(&mut this.stream).poll_next(context));
        if this.chance > 0.0 && this.rng.f64() < this.chance {
            this.over = true;
            return Poll::Ready(Some(Err(Status::unavailable(
                "the stream faults because the test asks for it",
            ))));
        }
        Poll::Ready(message)
    }
}

/// A stream of rows of which some come in pieces.
pub(crate) struct SplitStream<S> {
    stream: S,
    rng: Rng,
    chance: f64,
    pieces: VecDeque<RowsMessage>,
}

impl<S> SplitStream<S> {
    pub(crate) fn new(stream: S, faults: &StreamFault) -> Self {
        let rng = Rng::with_seed(!faults.seed);
        Self { stream, rng, chance: faults.split, pieces: VecDeque::new() }
    }
}

impl<S: Stream<Item = Result<RowsMessage, Status>> + Unpin> Stream for SplitStream<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(piece) = this.pieces.pop_front() {
            return Poll::Ready(Some(Ok(piece)));
        }
        match ready!(Pin::new(&mut this.stream).poll_next(context)) {
            Some(Ok(message)) if this.chance > 0.0 => {
                let response = message.decoded().unwrap_or_default();
                if response.chunks.is_empty() {
                    return Poll::Ready(Some(Ok(message)));
                }
                let messages = split::rows(&mut this.rng, this.chance, &response.chunks).into_iter();
                let responses =
                    messages.map(|chunks| ReadRowsResponse { chunks, last_scanned_row_key: Bytes::new() });
                this.pieces.extend(responses.map(|response| RowsMessage::from(&response)));
                // What has chunks has messages.
                Poll::Ready(this.pieces.pop_front().map(Ok))
            }
            other => Poll::Ready(other),
        }
    }
}
