//! A server that is far away: it takes 20 ms for every answer, and little of its core, so that what an operation takes beyond
//! these is the client's own share and the network's.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::future::join_all;
use h2::server::{Connection, SendResponse};
use h2::{RecvStream, server};
use http::{HeaderMap, HeaderValue, Request, Response};
use keyderive::Client;
use keyderive_scripted::encode_rows;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use super::latency::{SECONDS, call};
use super::open_loop::{self, shown};
use super::{KEY, READING, read_or_write, table};
use crate::hot_paths::{pauses, serve_apart, status_field};
use crate::meter::processor_time;
use crate::program::{Failure, print_head, print_line};

/// How long the server takes.
const FAR: Duration = Duration::from_millis(20);

/// How many operations are in flight at it.
const IN_FLIGHT: u64 = 1024;

/// 1,024 operations in flight, and then half of what the client's core can carry.
pub(super) async fn print() -> Result<(), Failure> {
    println!("## A server that takes 20 ms\n");
    // The bounds that a client of the cloud has.
    let table = table(&Client::builder().connections(4..=64).emulator(start()?).await?);
    let operations = async |seconds: u64| {
        let begun = Instant::now();
        let worker = async |first: u64| {
            let mut count = 0;
            while begun.elapsed() < Duration::from_secs(seconds) {
                read_or_write(&table, first + count).await?;
                count += 1;
            }
            Ok::<_, keyderive::Error>(count)
        };
        let counts = join_all((0..IN_FLIGHT).map(worker)).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok::<u64, Failure>(counts.iter().sum())
    };
    operations(3).await?;
    let (memory, cpu, begun) = (resident()?, processor_time()?, Instant::now());
    let count = operations(30).await?;
    let (later, cpu) = (resident()?, processor_time()? - cpu);
    let each = cpu / u32::try_from(count)?;
    println!(
        "{IN_FLIGHT} operations in flight for 30 s, half reads and half writes: {:.0} a second, {:.1} µs of the client's core \
         each. The process, server included, had {memory} MiB of memory after 3 s, and {later} MiB at the end.\n",
        count as f64 / begun.elapsed().as_secs_f64(),
        each.as_secs_f64() * 1e6,
    );
    let most = 1.0 / each.as_secs_f64();
    let (share, longest) = pauses();
    println!(
        "By its processor time, the client's core can carry {most:.0} a second. What an operation takes beside the 20 ms of the \
         server, which does nothing but wait for the next moment to answer; before that, the machine kept an idle loop off the \
         client's core for {:.2} % of the time, for {} at most:\n",
        share * 100.0,
        shown(longest),
    );
    print_head(&["operations a second", "p50", "p99", "p99.9", "errors"]);
    for share in [0.25, 0.5] {
        let rate = (most * share) as u32;
        let run = open_loop::run(rate, SECONDS, |number| call(&table, number), |_| ()).await;
        let all = run.between(0, SECONDS);
        let own = |share: f64| shown(all.quantile(share).saturating_sub(FAR));
        print_line(&[&rate.to_string(), &own(0.5), &own(0.99), &own(0.999), &all.errors.to_string()]);
    }
    println!();
    Ok(())
}

/// The resident memory of this process, in MiB.
fn resident() -> Result<u64, Failure> {
    let resident = status_field("VmRSS:").ok_or("the system does not tell")?;
    Ok(resident.trim_end_matches(" kB").parse::<u64>()? / 1024)
}

/// Starts the server in a thread of its own, which ends with the program, and returns its address.
fn start() -> Result<String, Failure> {
    let answers = Answers::new()?;
    let (host, _) = serve_apart(async move |sender| {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        sender.send(listener.local_addr().expect("it listens").to_string()).expect("the starter waits");
        while let Ok((socket, _)) = listener.accept().await {
            // A client that goes away ends its connection.
            let answers = answers.clone();
            tokio::spawn(async move { serve(socket, answers).await.unwrap_or_default() });
        }
    });
    Ok(host)
}

/// The messages of the answers, with their prefixes.
#[derive(Clone)]
struct Answers {
    row: Bytes,
    written: Bytes,
}

impl Answers {
    fn new() -> Result<Self, Failure> {
        let cells = [("a", READING.a), ("b", READING.b), ("c", READING.c)]
            .map(|(name, value)| (name.into(), value.to_be_bytes().to_vec().into()));
        let row = encode_rows(std::iter::once((KEY.encode()?.into(), cells)));
        Ok(Self { row: framed(&row), written: framed(&[]) })
    }

    /// None for a method that it does not have.
    fn of(&self, path: &str) -> Option<Bytes> {
        match path {
            "/google.bigtable.v2.Bigtable/ReadRows" => Some(self.row.clone()),
            "/google.bigtable.v2.Bigtable/MutateRow" => Some(self.written.clone()),
            _ => None,
        }
    }
}

fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).expect("a row is small"));
    frame.put_slice(message);
    frame.freeze()
}

async fn serve(socket: TcpStream, answers: Answers) -> Result<(), Failure> {
    socket.set_nodelay(true)?;
    let mut builder = server::Builder::new();
    builder.max_concurrent_streams(100).initial_connection_window_size(1 << 30);
    let mut served =
        Served { connection: builder.handshake(socket).await?, answers, waiting: VecDeque::new() };
    poll_fn(|cx| served.poll(cx)).await
}

/// A connection, and its requests in the order in which they came.
struct Served {
    connection: Connection<TcpStream, Bytes>,
    answers: Answers,
    waiting: VecDeque<(Instant, Request<RecvStream>, SendResponse<Bytes>)>,
}

impl Served {
    /// Accepts requests, and answers those whose time has come. It polls without a pause, since a timer fires up to a millisecond
    /// late.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        while let Some((_, request, respond)) = self.waiting.pop_front_if(|(due, ..)| *due <= Instant::now())
        {
            answer(cx, &self.answers, request, respond)?;
        }
        while let Poll::Ready(accepted) = self.connection.poll_accept(cx) {
            let Some(accepted) = accepted else { return Poll::Ready(Ok(())) };
            let (request, respond) = accepted?;
            self.waiting.push_back((Instant::now() + FAR, request, respond));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

fn answer(
    cx: &mut Context<'_>,
    answers: &Answers,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) -> Result<(), Failure> {
    const UNIMPLEMENTED: &str = "12";
    let path = request.uri().path().to_owned();
    let mut body = request.into_body();
    while let Poll::Ready(Some(data)) = body.poll_data(cx) {
        body.flow_control().release_capacity(data?.len())?;
    }
    let mut head = Response::new(());
    head.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    let Some(message) = answers.of(&path) else {
        head.headers_mut().insert("grpc-status", HeaderValue::from_static(UNIMPLEMENTED));
        respond.send_response(head, true)?;
        return Ok(());
    };
    let mut stream = respond.send_response(head, false)?;
    stream.send_data(message, false)?;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    stream.send_trailers(trailers)?;
    Ok(())
}
