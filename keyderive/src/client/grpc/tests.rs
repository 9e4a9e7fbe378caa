//! Frames become messages, and answers end with a status.

use std::error::Error as _;

use keyderive_proto::data::{MutateRowRequest, MutateRowResponse};

use super::*;

/// The answer of a body that sends these frames.
fn answer(frames: Vec<Result<Frame<Bytes>, Status>>) -> Answer {
    struct Frames(std::vec::IntoIter<Result<Frame<Bytes>, Status>>);
    impl http_body::Body for Frames {
        type Data = Bytes;
        type Error = Status;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Ready(self.0.next())
        }
    }
    let body = tonic::body::Body::new(Frames(frames.into_iter()));
    Answer::new(http::Response::new(AnswerBody::InProcess(body))).unwrap()
}

fn trailers(code: Code) -> Result<Frame<Bytes>, Status> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", i32::from(code).into());
    trailers.insert("x-goog-cbt-cookie-1", HeaderValue::from_static("c"));
    Ok(Frame::trailers(trailers))
}

fn framed(messages: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        bytes.push(0);
        bytes.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(message);
    }
    bytes
}

#[tokio::test]
async fn messages_come_whole_wherever_frames_end() {
    let messages: [&[u8]; 4] = [b"one", b"", b"three and more", b"4"];
    let bytes = Bytes::from(framed(&messages));
    for first in 0..=bytes.len() {
        for second in first..=bytes.len() {
            let parts = [bytes.slice(..first), bytes.slice(first..second), bytes.slice(second..)];
            let frames = parts.into_iter().map(|part| Ok(Frame::data(part))).chain([trailers(Code::Ok)]);
            let mut answer = answer(frames.collect());
            for message in messages {
                assert_eq!(answer.message().await.unwrap().unwrap(), message, "{first} {second}");
            }
            assert!(answer.message().await.unwrap().is_none());
            assert!(answer.headers().contains_key("x-goog-cbt-cookie-1"));
        }
    }
}

#[tokio::test]
async fn a_long_message_comes_in_many_frames() {
    let message = vec![7; 10 << 20];
    let bytes = Bytes::from(framed(&[&message]));
    let frames = (0..bytes.len()).step_by(16 << 10);
    let frames = frames.map(|at| Ok(Frame::data(bytes.slice(at..bytes.len().min(at + (16 << 10))))));
    let mut answer = answer(frames.chain([trailers(Code::Ok)]).collect());
    assert!(answer.message().await.unwrap().unwrap() == message);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error() {
    let whole = framed(&[b"one"]);
    let cut = || Ok(Frame::data(Bytes::copy_from_slice(&whole[..6])));
    let within = answer(vec![cut(), trailers(Code::Ok)]).message().await.unwrap_err();
    assert!(within.source().unwrap().is::<ProtocolViolation>(), "{within}");
    assert!(within.message().contains("within a message"), "{within}");
    for frames in [vec![], vec![cut()], vec![Ok(Frame::trailers(HeaderMap::new()))]] {
        let error = answer(frames).message().await.unwrap_err();
        assert!(error.source().unwrap().is::<NoStatus>(), "{error}");
    }
    let error = answer(vec![trailers(Code::Aborted)]).message().await.unwrap_err();
    assert_eq!((error.code(), error.metadata().len()), (Code::Aborted, 1));
}

#[tokio::test]
async fn a_message_that_is_too_long_or_compressed_is_not_awaited() {
    let prefix = |bytes: &'static [u8]| answer(vec![Ok(Frame::data(Bytes::from_static(bytes)))]);
    let error = prefix(b"\0\xff\0\0\0").message().await.unwrap_err();
    assert!(error.source().unwrap().is::<TooLarge>(), "{error}");
    let error = prefix(b"\x01\0\0\0\x01a").message().await.unwrap_err();
    assert!(error.message().contains("compressed"), "{error}");
}

#[tokio::test]
async fn an_answer_of_one_message_has_neither_none_nor_two() {
    for (messages, expected) in [(0, "no message"), (1, ""), (2, "more than one")] {
        let bytes = framed(&[&b""[..]].repeat(messages));
        let only = answer(vec![Ok(Frame::data(bytes.into())), trailers(Code::Ok)]).only();
        let only: Result<MutateRowResponse, Status> = only.await;
        assert!(only.map_or_else(|error| error.message().contains(expected), |_| messages == 1));
    }
}

#[test]
fn an_http_status_in_place_of_one_of_grpc_counts() {
    for (status, code) in [(503, Code::Unavailable), (404, Code::Unimplemented), (418, Code::Unknown)] {
        let mut http = http::Response::new(AnswerBody::InProcess(tonic::body::Body::empty()));
        *http.status_mut() = StatusCode::from_u16(status).unwrap();
        assert_eq!(Answer::new(http).err().unwrap().code(), code);
    }
}

#[test]
fn the_prefix_covers_head_and_tail() {
    let head = MutateRowRequest { table_name: "t".to_owned(), ..MutateRowRequest::default() };
    for len in [0, 1, 300, MAX_COPIED, MAX_COPIED + 1, 1 << 20] {
        let tail: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        let shared = Bytes::from(tail.clone());
        let address = shared.as_ptr();
        let request = Request::with_tail(&head, shared);
        assert_eq!(request.bytes(), 3 + len);
        let (first, second) = request.into_frames();
        // A long tail is not copied.
        assert_eq!(second.as_ref().map(|tail| tail.as_ptr()), (len > MAX_COPIED).then_some(address));
        let length = u32::try_from(3 + len).unwrap().to_be_bytes();
        let all = [&first[..], &second.unwrap_or_default()].concat();
        assert_eq!(all, [&[0], &length[..], b"\x0a\x01t", &tail].concat());
    }
}

#[test]
fn a_timeout_has_at_most_eight_digits() {
    for (timeout, text) in [
        (Duration::from_micros(1500), "1500u"),
        (Duration::from_secs(99), "99000000u"),
        (Duration::from_secs(100), "100000m"),
        (Duration::from_secs(100_000), "100000S"),
        (Duration::MAX, "99999999S"),
    ] {
        let mut headers = request_headers();
        set_timeout(&mut headers, timeout);
        assert_eq!(headers[TIMEOUT], text);
    }
}
