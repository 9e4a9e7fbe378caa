//! A server that speaks HTTP/2 frame by frame, and does what no well-kept server does.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use keyderive::__private::connected_by;
use keyderive::Client;
use keyderive::row::ReadModifyWrite;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::{sleep, timeout};

use crate::support::{MILLISECOND, SECOND, set};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

const END_HEADERS: u8 = 4;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;

#[derive(Debug)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

async fn read(io: &mut ReadHalf<DuplexStream>) -> io::Result<Frame> {
    let mut head = [0; 9];
    io.read_exact(&mut head).await?;
    let [a, b, c, kind, flags, stream @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    io.read_exact(&mut payload).await?;
    Ok(Frame { kind, flags, stream: u32::from_be_bytes(stream), payload })
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// An answer of no message, with a status.
fn answer(stream: u32) -> Vec<u8> {
    const STATUS_200: u8 = 0x88;
    const LITERAL: u8 = 0;
    let status = [&[LITERAL, 11], &b"grpc-status"[..], &[1], b"0"].concat();
    let head = frame(HEADERS, END_HEADERS, stream, &[STATUS_200]);
    [head, frame(HEADERS, END_HEADERS | END_STREAM, stream, &status)].concat()
}

type Writer = Arc<tokio::sync::Mutex<WriteHalf<DuplexStream>>>;

/// A client of a server that takes `streams` requests at a time, and calls `on` for each frame of a request.
fn client<F: Future<Output = ()> + Send>(
    streams: u32,
    on: impl Fn(Frame, Writer) -> F + Send + Sync + 'static,
) -> (Client, Arc<AtomicUsize>) {
    let (on, connections) = (Arc::new(on), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&connections);
    let connector = move || {
        count.fetch_add(1, Ordering::SeqCst);
        let on = Arc::clone(&on);
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            // It ends with its client.
            tokio::spawn(async move { serve(theirs, streams, &*on).await.unwrap_or_default() });
            Ok(ours)
        }) as Pin<Box<dyn Future<Output = io::Result<DuplexStream>> + Send>>
    };
    (connected_by(Client::builder().connections(1), connector).unwrap(), connections)
}

async fn serve<F: Future<Output = ()> + Send>(
    io: DuplexStream,
    streams: u32,
    on: &(impl Fn(Frame, Writer) -> F + Send + Sync),
) -> io::Result<()> {
    const MAX_CONCURRENT_STREAMS: u16 = 3;
    let (mut reader, writer) = tokio::io::split(io);
    let writer = Arc::new(tokio::sync::Mutex::new(writer));
    reader.read_exact(&mut [0; 24]).await?;
    let settings = [&MAX_CONCURRENT_STREAMS.to_be_bytes()[..], &streams.to_be_bytes()].concat();
    let window = 0x7000_0000_u32.to_be_bytes();
    let begin = [frame(SETTINGS, 0, 0, &settings), frame(WINDOW_UPDATE, 0, 0, &window)].concat();
    writer.lock().await.write_all(&begin).await?;
    loop {
        let got = read(&mut reader).await?;
        match (got.kind, got.flags) {
            (SETTINGS, 0) => writer.lock().await.write_all(&frame(SETTINGS, ACK, 0, &[])).await?,
            (PING, 0) => writer.lock().await.write_all(&frame(PING, ACK, 0, &got.payload)).await?,
            _ => on(got, Arc::clone(&writer)).await,
        }
    }
}

/// Answers to calls that were dropped break no connection, however many they are.
#[tokio::test(start_paused = true)]
async fn late_answers_to_dropped_calls_do_no_harm() {
    let (client, connections) = client(1000, |got, writer| async move {
        if got.kind == DATA && !got.payload.windows(3).any(|part| part == b"INC") {
            tokio::spawn(async move {
                sleep(120 * MILLISECOND).await;
                writer.lock().await.write_all(&answer(got.stream)).await.unwrap();
            });
        }
    });
    let table = client.raw_table("events");
    let increment = {
        let table = table.clone();
        let increment = vec![ReadModifyWrite::increment("f", "q", 1)];
        tokio::spawn(async move { table.read_modify_write_row("INC", increment).await })
    };
    for _ in 0..40 {
        let reads = (0..90).map(|_| timeout(100 * MILLISECOND, table.read_row("k", None)));
        assert!(join_all(reads).await.iter().all(Result::is_err));
    }
    assert!(!increment.is_finished(), "it waits for its answer");
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    assert!(client.stats().retry_tokens == 100.0);
}

/// A call that is dropped while it waits for a stream is never sent.
#[tokio::test(start_paused = true)]
async fn dropped_calls_that_waited_leave_nothing_to_send() {
    let (seen, held) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None)));
    let (client, _) = client(1, {
        let (seen, held) = (Arc::clone(&seen), Arc::clone(&held));
        move |got, writer| {
            if got.kind == HEADERS || got.kind == RST_STREAM {
                seen.lock().unwrap().push(got.kind);
            }
            if got.kind == DATA {
                *held.lock().unwrap() = Some((got.stream, writer));
            }
            async {}
        }
    });
    let table = client.raw_table("events");
    let first = {
        let table = table.clone();
        tokio::spawn(async move { table.read_row("k", None).await })
    };
    sleep(SECOND).await;
    for _ in 0..200 {
        let calls = (0..10).map(|_| timeout(10 * MILLISECOND, table.mutate_row("k", set())));
        assert!(join_all(calls).await.iter().all(Result::is_err));
    }
    let (stream, writer) = held.lock().unwrap().take().unwrap();
    writer.lock().await.write_all(&answer(stream)).await.unwrap();
    assert!(first.await.unwrap().unwrap().is_none());
    sleep(SECOND).await;
    assert_eq!(*seen.lock().unwrap(), [HEADERS]);
    assert_eq!((client.stats().in_flight, client.stats().waiting), (0, 0));
}
