//! The network between the clients and the server: pipes with HTTP/2, connections that break or stall, and requests that are refused, lost,
//! late, repeated by their client, or answered in part.
//!
//! It does what a network and Bigtable's front ends may do, and no more: a request is applied at most once. A write that is applied
//! [late](Fault::Late) reaches the server after the retry of the same call, which is how a write comes twice.

use std::future::{Future, poll_fn};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use fastrand::Rng;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::HeaderMap;
use http::request::Parts;
use http_body::{Body as _, Frame};
use keyderive_proto::EMBEDDED_HEADER;
use keyderive_proto::data::{
    CheckAndMutateRowRequest, MutateRowRequest, MutateRowsRequest, MutateRowsResponse,
    ReadModifyWriteRowRequest, mutate_rows_response,
};
use keyderive_proto::values;
use keyderive_tests::proxy::{body_of, fault_of, lost, messages, prefixed};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tonic::{Code, Status};
use tower_service::Service as _;

use crate::world::{Application, Moment, Server, World};

/// How many unread bytes a pipe holds.
const PIPE_BYTES: usize = 64 << 10;

/// The length of what precedes a message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// How many streams a client may open on a connection.
const STREAMS: u32 = 100;

/// How the key of the row begins that holds the state of a re-keying.
const CONTROL: &[u8] = b"rekey/events";

/// Longer than any attempt waits for an answer.
const NO_ANSWER: Duration = Duration::from_secs(120);

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It fails, and is not applied.
    Refused(Code),
    /// It is not applied, and has no answer.
    Swallowed,
    /// It is applied a little later, so that others overtake it.
    Delayed,
    /// It is applied, and the client receives UNAVAILABLE.
    Lost,
    /// The client receives UNAVAILABLE at once, and it is applied later.
    Late,
    /// It is applied later, and has no answer.
    Held,
    /// It is applied, and its connection breaks before the answer.
    Broken,
    /// Some of its rows are applied. The answer reports the others as failed, and some of these.
    Partial,
    /// The answer breaks after so many messages.
    Cut(usize),
    /// Each message of the answer takes its time.
    Slow,
}

/// Each fault, and how many of a thousand requests meet it.
const OF_READS: [(Fault, u16); 7] = [
    (Fault::Refused(Code::Unavailable), 25),
    (Fault::Refused(Code::Internal), 3),
    (Fault::Swallowed, 8),
    (Fault::Delayed, 150),
    (Fault::Broken, 10),
    (Fault::Cut(0), 60),
    (Fault::Slow, 60),
];
const OF_WRITES: [(Fault, u16); 9] = [
    (Fault::Refused(Code::Unavailable), 25),
    (Fault::Refused(Code::ResourceExhausted), 5),
    (Fault::Swallowed, 8),
    (Fault::Delayed, 150),
    (Fault::Lost, 30),
    (Fault::Late, 25),
    (Fault::Held, 12),
    (Fault::Broken, 15),
    (Fault::Partial, 60),
];

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Broken,
    /// Nothing passes any more, and it breaks later.
    Stalled,
    /// The server takes no more requests on it, and answers those that it has.
    GoAway,
}

/// Connects a client.
pub(crate) fn connect(
    world: World,
    client: usize,
) -> Pin<Box<dyn Future<Output = io::Result<DuplexStream>> + Send>> {
    Box::pin(async move {
        let (drawn, part, end) = world.draw(|rng| (rng.u8(..100), rng.f64(), rng.u8(..100)));
        let is_faulty = world.is_faulty();
        sleep(Duration::from_millis(5).mul_f64(part)).await;
        if is_faulty && drawn < 3 {
            sleep(Duration::from_secs(15).mul_f64(part)).await;
            return Err(io::ErrorKind::TimedOut.into());
        }
        let server = world.server().filter(|server| !(server.is_lost() || is_faulty && drawn < 8));
        let Some(server) = server else {
            world.event(format_args!("c{client} is refused"));
            return Err(io::ErrorKind::ConnectionRefused.into());
        };
        let end = match end {
            0..8 => Some(End::Broken),
            8..16 => Some(End::Stalled),
            16..30 => Some(End::GoAway),
            _ => None,
        };
        let end =
            end.filter(|_| is_faulty).map(|end| (end, Instant::now() + Duration::from_secs(6).mul_f64(part)));
        world.event(format_args!("c{client} connects"));
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let tasks = server.tasks.clone();
        tasks.lock().unwrap().spawn(serve(world, server, client, far, end));
        Ok(near)
    })
}

/// Serves the requests of one connection until it ends.
async fn serve(world: World, server: Server, client: usize, io: DuplexStream, end: Option<(End, Instant)>) {
    let mut http2 = h2::server::Builder::new();
    http2
        .initial_window_size(1 << 20)
        .initial_connection_window_size(1 << 20)
        .max_concurrent_streams(STREAMS);
    // By a clock that cannot be paused, unless for ever.
    http2.max_concurrent_reset_streams(STREAMS as usize).reset_stream_duration(Duration::MAX);
    // A scan that is dropped resets all its streams at once, perhaps before they are accepted.
    http2.max_pending_accept_reset_streams(100 * STREAMS as usize);
    let Ok(mut connection) = http2.handshake::<_, Bytes>(io).await else { return };
    let (breaks, mut broken) = mpsc::channel::<()>(1);
    // Declared after the connection, so that its streams are dropped first.
    let mut streams = JoinSet::new();
    let mut end = end;
    loop {
        let ends = async {
            match end {
                Some((_, at)) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(()) = broken.recv() => return,
            () = ends => {
                world.event(format_args!("a connection of c{client} ends: {:?}", end.map(|(end, _)| end)));
                match end.take() {
                    Some((End::GoAway, _)) => connection.graceful_shutdown(),
                    Some((End::Stalled, _)) => return sleep(Duration::from_secs(20)).await,
                    _ => return,
                }
            }
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                let stream = Stream { world: world.clone(), server: server.clone(), client, breaks: breaks.clone(), respond, send: None };
                streams.spawn(stream.serve(request));
                while streams.try_join_next().is_some() {}
            }
        }
    }
}

/// One request and its answer.
struct Stream {
    world: World,
    server: Server,
    client: usize,
    breaks: mpsc::Sender<()>,
    respond: SendResponse<Bytes>,
    /// Set once the headers are sent.
    send: Option<SendStream<Bytes>>,
}

/// The client cancelled the request, or its connection has ended.
struct Cancelled;

/// A request as it arrived.
struct Arrived {
    method: String,
    head: Parts,
    body: Bytes,
    moment: Moment,
    at: Instant,
    /// The rows that it may write.
    keys: Vec<Bytes>,
}

impl Stream {
    async fn serve(mut self, request: http::Request<RecvStream>) {
        let (head, body) = request.into_parts();
        let Some(body) = read(body).await else { return };
        let _open = self.world.enter();
        let method = head.uri.path().rsplit('/').next().unwrap_or_default().to_owned();
        let keys = written_keys(&method, &body);
        let is_write =
            !matches!(&*method, "ReadRows" | "SampleRowKeys" | "PingAndWarm" | "GetTable" | "ListTables");
        let is_unseen = *self.world.inner().blind.lock().unwrap() == Some(self.client)
            && body.windows(CONTROL.len()).any(|part| part == CONTROL);
        let fault = if is_unseen { Some(Fault::Swallowed) } else { self.fault(is_write) };
        let mut hash = DefaultHasher::new();
        body.hash(&mut hash);
        let (client, hash) = (self.client, hash.finish());
        let moment = self.world.event(format_args!("c{client} {method} {hash:016x} {keys:?} {fault:?}"));
        let arrived = Arrived { method, head, body, moment, at: Instant::now(), keys };
        if is_write {
            let _ = self.write(arrived, fault).await;
        } else {
            let _ = self.read(arrived, fault).await;
        }
    }

    /// What a request meets. Draws as many numbers whatever it is.
    fn fault(&self, is_write: bool) -> Option<Fault> {
        let (drawn, part) = self.world.draw(|rng| (rng.u16(..1000), rng.f64()));
        let fault = fault_of(if is_write { &OF_WRITES[..] } else { &OF_READS }, drawn);
        match fault.filter(|_| self.world.is_faulty()) {
            Some(Fault::Cut(_)) => Some(Fault::Cut((part * 4.0) as usize)),
            fault => fault,
        }
    }

    fn pause(&self, most: Duration) -> Duration {
        let part = self.world.draw(Rng::f64);
        most.mul_f64(part)
    }

    async fn read(&mut self, arrived: Arrived, fault: Option<Fault>) -> Result<(), Cancelled> {
        match fault {
            Some(Fault::Refused(code)) => return self.fail(&Status::new(code, "refused")),
            Some(Fault::Swallowed) => return self.unless_cancelled(sleep(NO_ANSWER)).await,
            Some(Fault::Broken) => return self.break_connection().await,
            Some(Fault::Delayed) => {
                let pause = self.pause(Duration::from_millis(150));
                self.unless_cancelled(sleep(pause)).await?;
            }
            _ => {}
        }
        let answer = call(&self.world, &self.server, arrived).await;
        self.answer(answer, fault).await
    }

    async fn write(&mut self, arrived: Arrived, fault: Option<Fault>) -> Result<(), Cancelled> {
        let latest = self.world.inner().latest;
        match fault {
            Some(Fault::Refused(code)) => return self.fail(&Status::new(code, "refused")),
            Some(Fault::Swallowed) => return self.unless_cancelled(sleep(NO_ANSWER)).await,
            Some(Fault::Late | Fault::Held) => {
                let pause = self.pause(latest);
                let (world, server, client) = (self.world.clone(), self.server.clone(), self.client);
                self.server.tasks.lock().unwrap().spawn(async move {
                    sleep(pause).await;
                    apply(&world, &server, client, arrived).await;
                });
                if fault == Some(Fault::Held) {
                    return self.unless_cancelled(sleep(NO_ANSWER)).await;
                }
                return self.fail(&lost());
            }
            Some(Fault::Delayed) => {
                let pause = self.pause(latest.min(Duration::from_millis(150)));
                self.unless_cancelled(sleep(pause)).await?;
            }
            _ => {}
        }
        if fault == Some(Fault::Partial) && arrived.method == "MutateRows" {
            let answer = self.apply_in_part(arrived).await;
            return self.answer(answer, None).await;
        }
        let answer = apply(&self.world, &self.server, self.client, arrived).await;
        match fault {
            Some(Fault::Lost) => self.fail(&lost()),
            Some(Fault::Broken) => self.break_connection().await,
            _ => self.answer(answer, None).await,
        }
    }

    /// Applies some of the rows of a request, but at least one.
    async fn apply_in_part(&self, mut arrived: Arrived) -> http::Response<tonic::body::Body> {
        let mut request: MutateRowsRequest = messages(arrived.body).unwrap().pop().unwrap_or_default();
        let mut applied: Vec<bool> = request.entries.iter().map(|_| self.world.draw(Rng::bool)).collect();
        applied.iter_mut().take(1).for_each(|first| *first = true);
        let mut is_applied = applied.iter();
        request.entries.retain(|_| is_applied.next() == Some(&true));
        arrived.keys = request.entries.iter().map(|entry| entry.row_key.clone()).collect();
        arrived.body = prefixed(&request);
        let answer = apply(&self.world, &self.server, self.client, arrived).await;
        let (head, body) = answer.into_parts();
        let (data, trailers) = keyderive_tests::proxy::collected(body).await.unwrap();
        let of_applied = messages::<MutateRowsResponse>(data).unwrap().into_iter();
        let mut of_applied = of_applied.flat_map(|answer| answer.entries);
        let (code, message) = (Code::Unavailable.into(), "in part".to_owned());
        let failed = || Some(values::Status { code, message: message.clone(), details: Vec::new() });
        let mut all = MutateRowsResponse::default();
        for (index, is_applied) in (0..).zip(applied) {
            let status = match is_applied {
                false => failed(),
                true => match of_applied.next() {
                    Some(_) if self.world.draw(Rng::bool) => failed(),
                    Some(entry) => entry.status,
                    // The request has failed as a whole.
                    None => break,
                },
            };
            all.entries.push(mutate_rows_response::Entry { index, status });
        }
        http::Response::from_parts(head, body_of(prefixed(&all), trailers))
    }

    /// Sends the messages of an answer as the client's window admits them.
    async fn answer(
        &mut self,
        answer: http::Response<tonic::body::Body>,
        fault: Option<Fault>,
    ) -> Result<(), Cancelled> {
        let (mut head, body) = answer.into_parts();
        head.headers.insert(EMBEDDED_HEADER, http::HeaderValue::from_static("1"));
        let mut body = pin!(body);
        let mut messages = 0;
        if body.is_end_stream() {
            let answer = http::Response::from_parts(head, ());
            return self.respond.send_response(answer, true).map(drop).map_err(|_| Cancelled);
        }
        let send = self.respond.send_response(http::Response::from_parts(head, ()), false);
        self.send = Some(send.map_err(|_| Cancelled)?);
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            if self.server.is_lost() {
                return std::future::pending().await;
            }
            let mut data = match frame.map(Frame::into_data) {
                Err(status) => return self.end(&status),
                Ok(Err(_)) if fault == Some(Fault::Cut(messages)) => return self.cut().await,
                Ok(Err(frame)) => return self.trailers(frame.into_trailers().unwrap_or_default()),
                Ok(Ok(data)) => data,
            };
            // The server sends several messages at once.
            while !data.is_empty() {
                if fault == Some(Fault::Cut(messages)) {
                    return self.cut().await;
                }
                messages += 1;
                if fault == Some(Fault::Slow) {
                    let pause = self.pause(Duration::from_millis(100));
                    self.unless_cancelled(sleep(pause)).await?;
                }
                let length = PREFIX + (&data[1..PREFIX]).get_u32() as usize;
                self.send_data(data.split_to(length)).await?;
            }
        }
        self.end(&Status::new(Code::Ok, ""))
    }

    async fn send_data(&mut self, mut data: Bytes) -> Result<(), Cancelled> {
        let Some(send) = &mut self.send else { return Err(Cancelled) };
        while !data.is_empty() {
            send.reserve_capacity(data.len());
            while send.capacity() == 0 {
                let capacity = poll_fn(|cx| match send.poll_reset(cx) {
                    Poll::Ready(_) => Poll::Ready(None),
                    Poll::Pending => send.poll_capacity(cx),
                });
                let Some(Ok(_)) = capacity.await else { return Err(Cancelled) };
            }
            let part = data.split_to(send.capacity().min(data.len()));
            send.send_data(part, false).map_err(|_| Cancelled)?;
        }
        Ok(())
    }

    /// Breaks an answer: by a status, a reset, or with the connection.
    async fn cut(&mut self) -> Result<(), Cancelled> {
        match self.world.draw(|rng| rng.u8(..3)) {
            0 => self.end(&Status::unavailable("cut")),
            1 => {
                // A reset overtakes data that has not left yet.
                self.unless_cancelled(sleep(Duration::from_millis(2))).await?;
                let Some(send) = &mut self.send else { return Err(Cancelled) };
                send.send_reset(Reason::INTERNAL_ERROR);
                Ok(())
            }
            _ => self.break_connection().await,
        }
    }

    fn fail(&mut self, status: &Status) -> Result<(), Cancelled> {
        let mut response = http::Response::new(());
        response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/grpc"));
        status.add_header(response.headers_mut()).unwrap();
        self.respond.send_response(response, true).map(drop).map_err(|_| Cancelled)
    }

    fn end(&mut self, status: &Status) -> Result<(), Cancelled> {
        let mut trailers = HeaderMap::new();
        status.add_header(&mut trailers).unwrap();
        self.trailers(trailers)
    }

    fn trailers(&mut self, trailers: HeaderMap) -> Result<(), Cancelled> {
        let Some(send) = &mut self.send else { return Err(Cancelled) };
        send.send_trailers(trailers).map_err(|_| Cancelled)
    }

    /// Breaks the connection, and keeps the stream open until that has happened.
    async fn break_connection(&mut self) -> Result<(), Cancelled> {
        let _ = self.breaks.try_send(());
        std::future::pending().await
    }

    async fn unless_cancelled(&mut self, step: impl Future<Output = ()>) -> Result<(), Cancelled> {
        tokio::select! {
            biased;
            _ = poll_fn(|cx| match &mut self.send {
                Some(send) => send.poll_reset(cx),
                None => self.respond.poll_reset(cx),
            }) => Err(Cancelled),
            () = step => Ok(()),
        }
    }
}

/// Calls the server. It has no answer if its power fails meanwhile.
async fn call(world: &World, server: &Server, arrived: Arrived) -> http::Response<tonic::body::Body> {
    // Sets the clock.
    let _ = world.server();
    let request = http::Request::from_parts(arrived.head, body_of(arrived.body, None));
    let Ok(answer) = server.bigtable.clone().call(request).await;
    if server.is_lost() {
        world.inner().power_failed.notify_one();
        return std::future::pending().await;
    }
    answer
}

/// Applies a write, unless it comes too late, and records it.
async fn apply(
    world: &World,
    server: &Server,
    client: usize,
    arrived: Arrived,
) -> http::Response<tonic::body::Body> {
    if arrived.at.elapsed() > world.inner().latest {
        return lost().into_http();
    }
    let begin = world.event(format_args!("{} is applied", arrived.moment));
    let of_key = |key: &Bytes| Application { client, key: key.clone(), arrived: arrived.moment, begin };
    world.inner().applied.lock().unwrap().extend(arrived.keys.iter().map(of_key));
    call(world, server, arrived).await
}

/// The keys of the rows that a request may write.
fn written_keys(method: &str, body: &Bytes) -> Vec<Bytes> {
    fn only<M: prost::Message + Default>(body: &Bytes) -> M {
        messages(body.clone()).unwrap().pop().unwrap_or_default()
    }
    match method {
        "MutateRow" => vec![only::<MutateRowRequest>(body).row_key],
        "CheckAndMutateRow" => vec![only::<CheckAndMutateRowRequest>(body).row_key],
        "ReadModifyWriteRow" => vec![only::<ReadModifyWriteRowRequest>(body).row_key],
        "MutateRows" => {
            only::<MutateRowsRequest>(body).entries.into_iter().map(|entry| entry.row_key).collect()
        }
        _ => Vec::new(),
    }
}

/// The body of a request, with the headers of its messages.
async fn read(mut body: RecvStream) -> Option<Bytes> {
    let mut framed = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.ok()?;
        body.flow_control().release_capacity(data.len()).ok()?;
        framed.extend_from_slice(&data);
    }
    Some(framed.into())
}
