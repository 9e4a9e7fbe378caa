//! One connection: its streams, and the ways in which it ends.

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

/// How long what was sent may take to the other end before the connection breaks.
const FLUSH: Duration = Duration::from_millis(2);

/// What becomes of a connection.
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
    server.max_concurrent_streams(MAX_CONCURRENT_STREAMS);
    server.max_concurrent_reset_streams(MAX_CONCURRENT_STREAMS as usize);
    let Ok(mut connection) = server.handshake::<_, Bytes>(io).await else { return };
    // Declared after the connection, so that its streams end before it does.
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
    /// There once the headers are sent.
    send: Option<SendStream<Bytes>>,
}

/// The client gave the request up, or its connection has ended.
struct GivenUp;

impl Stream {
    async fn serve(mut self, request: http::Request<RecvStream>, connection: usize) {
        let (parts, body) = request.into_parts();
        let Some(message) = read(body).await else { return };
        let Some(rpc) = Rpc::of(parts.uri.path()) else {
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
        let (place, answer) = self.mock.receive(request);
        if self.run(answer).await.is_err() {
            self.mock.cancelled(place);
        }
    }

    async fn run(&mut self, answer: Answer) -> Result<(), GivenUp> {
        let Answer { headers, mut trailers, steps } = answer;
        for step in steps {
            match step {
                Step::Send(bytes) => self.send(&headers, bytes)?,
                Step::Wait(time) => self.unless_given_up(time::sleep(time)).await?,
                Step::Hold(gate) => self.unless_given_up(async move { gate.passed().await }).await?,
                Step::Stall => self.unless_given_up(std::future::pending()).await?,
                Step::Fail(status) => {
                    status.add_header(&mut trailers).unwrap();
                    return self.end(headers, trailers);
                }
                Step::Reset(reason) => {
                    // A reset overtakes what has not left yet.
                    time::sleep(FLUSH).await;
                    match &mut self.send {
                        Some(send) => send.send_reset(reason),
                        None => self.respond.send_reset(reason),
                    }
                    return Ok(());
                }
                Step::Drop => return self.end_connection(Command::Drop).await,
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
    async fn end_connection(&mut self, command: Command) -> Result<(), GivenUp> {
        let _ = self.command.send(command);
        // The stream ends with its connection, which is not the client's doing.
        let _ = self.unless_given_up(std::future::pending()).await;
        Ok(())
    }

    fn send(&mut self, headers: &HeaderMap, bytes: Bytes) -> Result<(), GivenUp> {
        if self.send.is_none() {
            let sent = self.respond.send_response(response(headers), false);
            self.send = Some(sent.map_err(|_| GivenUp)?);
        }
        let send = self.send.as_mut().ok_or(GivenUp)?;
        send.send_data(bytes, false).map_err(|_| GivenUp)
    }

    fn end(&mut self, headers: HeaderMap, trailers: HeaderMap) -> Result<(), GivenUp> {
        match &mut self.send {
            Some(send) => send.send_trailers(trailers).map_err(|_| GivenUp),
            None => {
                let mut all = headers;
                all.extend(trailers);
                self.respond.send_response(response(&all), true).map(drop).map_err(|_| GivenUp)
            }
        }
    }

    async fn unless_given_up(&mut self, step: impl Future<Output = ()>) -> Result<(), GivenUp> {
        tokio::select! {
            () = step => Ok(()),
            _ = poll_fn(|cx| self.poll_reset(cx)) => Err(GivenUp),
        }
    }

    fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reason, h2::Error>> {
        match &mut self.send {
            Some(send) => send.poll_reset(cx),
            None => self.respond.poll_reset(cx),
        }
    }
}

/// The message of a request, without what gRPC writes before it.
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
