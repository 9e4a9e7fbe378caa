//! One HTTP/2 connection: its requests, and how it ends.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio::time::{self, Instant};
use tonic::Status;

use super::answer::{Answer, Step};
use super::{Inner, Request, Rpc};
use crate::MAX_CONCURRENT_STREAMS;

/// How long a break of the connection waits, so that it does not overtake data sent before it.
const FLUSH: Duration = Duration::from_millis(2);

/// A window for requests: what hyper's servers have.
const WINDOW: u32 = 1 << 20;

/// What a test does to a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    Drop,
    GoAway,
    GoAwayNow(Reason),
    Freeze,
}

/// Serves the requests of one connection until it ends.
pub(super) async fn serve<IO>(
    mock: Arc<Inner>,
    io: IO,
    number: usize,
    commands: (UnboundedSender<Command>, UnboundedReceiver<Command>),
) where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let (command, mut commands) = commands;
    let mut server = h2::server::Builder::new();
    server.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
    server.max_concurrent_streams(MAX_CONCURRENT_STREAMS);
    server.max_concurrent_reset_streams(MAX_CONCURRENT_STREAMS as usize);
    // A scan that is dropped resets all its streams at once, perhaps before they are accepted; by default h2 closes the
    // connection after 20 of them.
    server.max_pending_accept_reset_streams(100 * MAX_CONCURRENT_STREAMS as usize);
    let Ok(mut connection) = server.handshake::<_, Bytes>(io).await else { return };
    // Declared after the connection, so that its streams are dropped first.
    let mut streams = JoinSet::new();
    let mut ends = None::<(Instant, Command)>;
    loop {
        let end = async {
            match ends {
                Some((at, _)) => time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                let stream = Stream { mock: Arc::clone(&mock), command: command.clone(), respond, send: None };
                streams.spawn(stream.serve(request, number));
                while streams.try_join_next().is_some() {}
            }
            Some(command) = commands.recv() => match command {
                Command::GoAway => connection.graceful_shutdown(),
                Command::Freeze => std::future::pending().await,
                ending => ends = Some((Instant::now() + FLUSH, ending)),
            },
            () = end => match ends.take() {
                Some((_, Command::GoAwayNow(reason))) => connection.abrupt_shutdown(reason),
                _ => return,
            }
        }
    }
}

/// One request and its answer.
struct Stream {
    mock: Arc<Inner>,
    command: UnboundedSender<Command>,
    respond: SendResponse<Bytes>,
    /// Set once the headers are sent.
    send: Option<SendStream<Bytes>>,
}

/// The client cancelled the request, or its connection has ended.
struct Cancelled;

/// Counts a request as open.
struct Open(Arc<Inner>);

impl Open {
    fn new(mock: &Arc<Inner>) -> Self {
        let mut state = mock.state();
        state.open += 1;
        state.most_open = state.most_open.max(state.open);
        Self(Arc::clone(mock))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.state().open -= 1;
    }
}

impl Stream {
    async fn serve(mut self, request: http::Request<RecvStream>, connection: usize) {
        let (parts, body) = request.into_parts();
        let Some(message) = read(body).await else { return };
        let Some(rpc) = Rpc::of_path(parts.uri.path()) else {
            let answer = Answer::failure(tonic::Code::Unimplemented);
            let _ = self.run(answer).await;
            return;
        };
        let request = Request {
            rpc,
            message,
            headers: parts.headers,
            at: Instant::now(),
            connection,
            is_cancelled: false,
        };
        let _open = Open::new(&self.mock);
        let (index, answer) = self.mock.receive(request);
        if self.run(answer).await.is_err()
            && let Some(index) = index
        {
            self.mock.state().requests[index].is_cancelled = true;
        }
    }

    async fn run(&mut self, answer: Answer) -> Result<(), Cancelled> {
        let Answer { headers, mut trailers, steps } = answer;
        for step in steps {
            match step {
                Step::Send(bytes) => self.send(&headers, bytes)?,
                Step::Stream(messages) => {
                    for message in messages.iter() {
                        self.wait_for_capacity(&headers).await?;
                        self.send(&headers, message)?;
                        self.mock.state().streamed += 1;
                    }
                }
                Step::Wait(time) => self.unless_cancelled(time::sleep(time)).await?,
                Step::Hold(gate) => self.unless_cancelled(async move { gate.passed().await }).await?,
                Step::Stall => self.unless_cancelled(std::future::pending()).await?,
                Step::Fail(status) => {
                    status.add_header(&mut trailers).unwrap();
                    return self.end(headers, trailers);
                }
                Step::Reset(reason) => {
                    // A reset overtakes data that has not left yet.
                    time::sleep(FLUSH).await;
                    match &mut self.send {
                        Some(send) => send.send_reset(reason),
                        None => self.respond.send_reset(reason),
                    }
                    return Ok(());
                }
                Step::Drop => return self.end_connection(Command::Drop).await,
                Step::Freeze => {
                    // A freeze overtakes data that has not left yet.
                    time::sleep(FLUSH).await;
                    return self.end_connection(Command::Freeze).await;
                }
                Step::GoAwayNow(reason) => return self.end_connection(Command::GoAwayNow(reason)).await,
                Step::GoAway => {
                    let _ = self.command.send(Command::GoAway);
                }
            }
        }
        Status::new(tonic::Code::Ok, "").add_header(&mut trailers).unwrap();
        self.end(headers, trailers)
    }

    /// Breaks the connection, and keeps the stream open until that has happened.
    async fn end_connection(&mut self, command: Command) -> Result<(), Cancelled> {
        let _ = self.command.send(command);
        // The stream ends with its connection, which is no cancellation by the client.
        let _ = self.unless_cancelled(std::future::pending()).await;
        Ok(())
    }

    /// Sends data, without regard to flow control: h2 buffers what the client's window does not admit.
    fn send(&mut self, headers: &HeaderMap, bytes: Bytes) -> Result<(), Cancelled> {
        self.open(headers)?.send_data(bytes, false).map_err(|_| Cancelled)
    }

    /// Sends the headers once.
    fn open(&mut self, headers: &HeaderMap) -> Result<&mut SendStream<Bytes>, Cancelled> {
        let send = match self.send.take() {
            Some(send) => send,
            None => self.respond.send_response(response(headers), false).map_err(|_| Cancelled)?,
        };
        Ok(self.send.insert(send))
    }

    /// Waits until the client's window admits data.
    async fn wait_for_capacity(&mut self, headers: &HeaderMap) -> Result<(), Cancelled> {
        let send = self.open(headers)?;
        send.reserve_capacity(1);
        while send.capacity() == 0 {
            let capacity = poll_fn(|cx| match send.poll_reset(cx) {
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => send.poll_capacity(cx),
            });
            let Some(Ok(_)) = capacity.await else { return Err(Cancelled) };
        }
        Ok(())
    }

    fn end(&mut self, headers: HeaderMap, trailers: HeaderMap) -> Result<(), Cancelled> {
        match &mut self.send {
            Some(send) => send.send_trailers(trailers).map_err(|_| Cancelled),
            None => {
                let mut all = headers;
                all.extend(trailers);
                self.respond.send_response(response(&all), true).map(drop).map_err(|_| Cancelled)
            }
        }
    }

    async fn unless_cancelled(&mut self, step: impl Future<Output = ()>) -> Result<(), Cancelled> {
        tokio::select! {
            () = step => Ok(()),
            _ = poll_fn(|cx| self.poll_reset(cx)) => Err(Cancelled),
        }
    }

    fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reason, h2::Error>> {
        match &mut self.send {
            Some(send) => send.poll_reset(cx),
            None => self.respond.poll_reset(cx),
        }
    }
}

/// The message of a request, without gRPC's header.
async fn read(mut body: RecvStream) -> Option<Bytes> {
    let mut framed = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.ok()?;
        body.flow_control().release_capacity(data.len()).ok()?;
        framed.extend_from_slice(&data);
    }
    Some(Bytes::from(framed).slice(5..))
}

fn response(headers: &HeaderMap) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::OK;
    *response.headers_mut() = headers.clone();
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/grpc"));
    response
}
