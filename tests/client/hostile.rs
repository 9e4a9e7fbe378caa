//! Servers whose answers are wrong or endless.

use bytes::Bytes;
use keyderive::client::{RawTable, ReadRows};
use keyderive::plan::KeyRange;
use keyderive::row::ReadModifyWrite;
use keyderive::{Error, ErrorKind};
use keyderive_proto::data;
use keyderive_scripted::{Answer, Chunk, Failure, Mock, Rpc, cell, row};
use keyderive_tests::fixtures::assert_error;
use prost::Message as _;
use std::time::Duration;
use tonic::Code;

use crate::support::{entries, keys, keys_and_error, set, table};

/// Endless cookies would fill the headers of a request, whose size is limited.
#[tokio::test(start_paused = true)]
async fn cookies_without_end_are_bounded() {
    const EACH: usize = 110;
    let mock = Mock::new().by(|request| {
        let attempt: usize = request.header("bigtable-attempt").unwrap().parse().unwrap();
        if attempt == 320 {
            return Answer::written();
        }
        let again = Failure::new(Code::Unavailable, "again").retry_after(Duration::ZERO);
        let cookie = |failure: Failure, cookie| {
            failure.metadata(format!("x-goog-cbt-cookie-{attempt}-{cookie}").leak(), "v")
        };
        Answer::failure((0..EACH).fold(again, cookie))
    });
    let table = table(&mock).with(|settings| settings.retry_budget = false);
    table.mutate_row("k", set()).await.unwrap();
    let most = mock.requests().into_iter().map(|request| {
        let cookies =
            request.headers.iter().filter(|(name, _)| name.as_str().starts_with("x-goog-cbt-cookie"));
        let sizes: Vec<usize> = cookies.map(|(name, value)| name.as_str().len() + value.len()).collect();
        (sizes.len(), sizes.iter().sum::<usize>())
    });
    let (count, bytes) = most.fold((0, 0), |most, each| (most.0.max(each.0), most.1.max(each.1)));
    assert!((1..=32).contains(&count) && bytes <= 8 * 1024, "{count} cookies of {bytes} bytes");
}

#[tokio::test(start_paused = true)]
async fn a_cookie_that_is_too_large_is_not_kept() {
    let large = Box::leak("v".repeat(9 * 1024).into_boxed_str());
    let failure = Failure::new(Code::Unavailable, "again");
    let failure = failure.metadata("x-goog-cbt-cookie-large", large).metadata("x-goog-cbt-cookie-small", "v");
    let mock = Mock::new().on(Rpc::MutateRow, Answer::failure(failure)).on(Rpc::MutateRow, Answer::written());
    table(&mock).mutate_row("k", set()).await.unwrap();
    let again = &mock.requests()[1];
    assert_eq!(
        (again.header("x-goog-cbt-cookie-large"), again.header("x-goog-cbt-cookie-small")),
        (None, Some("v"))
    );
}

#[track_caller]
fn not_asked(error: &Error, key: &str) {
    assert_eq!(error.kind(), ErrorKind::ProtocolViolation, "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("row b\"{key}\" was not asked for")), "{text}");
}

#[tokio::test(start_paused = true)]
async fn another_row_than_the_one_that_was_asked_for_is_an_error() {
    let mock = Mock::new().by(|_| Answer::rows(["77"]));
    not_asked(&table(&mock).read_row("1", None).await.unwrap_err(), "77");
}

#[tokio::test(start_paused = true)]
async fn a_changed_row_of_another_key_is_an_error() {
    let changed = data::Row { key: "77".into(), families: Vec::new() };
    let mock = Mock::new().by(move |_| Answer::changed(changed.clone()));
    let rules = vec![ReadModifyWrite::increment("f", "q", 1)];
    let error = table(&mock).read_modify_write_row("1", rules).await.unwrap_err();
    assert_error(&error, ErrorKind::ProtocolViolation, &["it is about row `77`"]);
}

/// A request, the rows of an answer, the rows that the client delivers, and the row that was not requested.
type Case<'a> = (ReadRows, &'a [&'a str], &'a [&'a str], Option<&'a str>);

fn range(start: &str, end: &str) -> KeyRange {
    KeyRange::new(start, Some(end.into()))
}

#[tokio::test(start_paused = true)]
async fn rows_outside_of_what_was_asked_for_are_errors() {
    let two = || ReadRows::new().range(range("b", "d")).range(range("m", "p"));
    let cases: [Case<'_>; 14] = [
        (ReadRows::all(), &["a", "b", "z"], &["a", "b", "z"], None),
        (ReadRows::new().prefix("b"), &["b", "b1", "b2"], &["b", "b1", "b2"], None),
        (ReadRows::new().prefix("b"), &["a", "b1"], &[], Some("a")),
        (ReadRows::new().prefix("b"), &["b1", "b2", "c"], &["b1", "b2"], Some("c")),
        (ReadRows::new().prefix("b").reversed(), &["b2", "b1", "b"], &["b2", "b1", "b"], None),
        (ReadRows::new().prefix("b").reversed(), &["c", "b1"], &[], Some("c")),
        (ReadRows::new().prefix("b").reversed(), &["b2", "b1", "a"], &["b2", "b1"], Some("a")),
        (two(), &["b", "c", "m", "o"], &["b", "c", "m", "o"], None),
        (two(), &["b", "c", "e"], &["b", "c"], Some("e")),
        (two(), &["n", "p"], &["n"], Some("p")),
        (two().reversed(), &["o", "m", "c", "b"], &["o", "m", "c", "b"], None),
        (two().reversed(), &["o", "m", "f"], &["o", "m"], Some("f")),
        (ReadRows::new().key("k").key("d").key("x"), &["d", "x"], &["d", "x"], None),
        (two().key("e").key("x"), &["b", "e", "m", "x", "y"], &["b", "e", "m", "x"], Some("y")),
    ];
    for (request, answer, come, outside) in cases {
        // Each row in its own message, and all rows in one.
        let one_message = Answer::chunks(answer.iter().map(|key| row((*key).to_owned())));
        for answer in [Answer::rows(answer.iter().map(|key| (*key).to_owned())), one_message] {
            let mock = Mock::new().on(Rpc::ReadRows, answer);
            let rows = table(&mock).read_rows(request.clone());
            match outside {
                None => assert_eq!(keys(rows).await.unwrap(), come, "{request:?}"),
                Some(outside) => {
                    let (read, error) = keys_and_error(rows).await;
                    assert_eq!(read, come, "{request:?}");
                    not_asked(&error, outside);
                }
            }
        }
    }
}

/// A resumed scan accepts no other row either.
#[tokio::test(start_paused = true)]
async fn a_resumed_scan_takes_no_row_outside_either() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["b1"]).fail(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::rows(["b2", "c"]));
    let (read, error) = keys_and_error(table(&mock).read_rows(ReadRows::new().prefix("b"))).await;
    assert_eq!(read, ["b1", "b2"]);
    not_asked(&error, "c");
}

/// A message with these chunks, again and again.
fn endless(chunks: impl IntoIterator<Item = Chunk>) -> impl Iterator<Item = Bytes> + Clone {
    let chunks = chunks.into_iter().map(Into::into).collect();
    let message = data::ReadRowsResponse { chunks, ..data::ReadRowsResponse::default() };
    std::iter::repeat(Bytes::from(message.encode_to_vec()))
}

/// A message with the row `a`, one that begins the row `k`, and then the rest of it.
fn row_without_end(begins: Chunk, rest: impl Iterator<Item = Bytes> + Clone + Send + Sync + 'static) -> Mock {
    let first = endless([row("a"), begins.clone()]).take(1);
    let point = endless([begins]).take(1);
    Mock::new().by(move |request| {
        let is_point = request.read_rows().rows.is_some_and(|rows| !rows.row_keys.is_empty());
        let (first, point, rest) = (first.clone(), point.clone(), rest.clone());
        match is_point {
            true => Answer::stream(point.chain(rest)),
            false => Answer::stream(first.chain(rest)),
        }
    })
}

/// Reads it in every way within a limit of 1 MiB, which no read exceeds by much.
async fn is_too_large(mock: &Mock) {
    const LIMIT: usize = 1 << 20;
    let table = table(mock).with(|settings| settings.max_row_bytes = LIMIT);
    let (read, error) = keys_and_error(table.read_rows(ReadRows::all())).await;
    assert_eq!((read, error.last_row_key()), (vec!["a".to_owned()], Some(&b"a"[..])), "{error}");
    for error in [error, table.read_row("k", None).await.unwrap_err()] {
        assert!(error.kind() == ErrorKind::ResourceExhausted && !error.is_retryable(), "{error}");
        assert_eq!((error.attempts(), error.row_key()), (1, Some(&b"k"[..])), "{error}");
        let text = error.to_string();
        for part in ["ReadRows of row `k` on table `events`", "1048576 bytes", "`Settings::max_row_bytes`"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!error.redacted().to_string().contains("`k`"), "{}", error.redacted());
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(mock.requests().iter().all(|request| request.is_cancelled));
}

#[tokio::test(start_paused = true)]
async fn a_row_of_cells_without_end_is_an_error() {
    let more = Chunk::new().qualifier("other").value(vec![7; 10_000]);
    is_too_large(&row_without_end(cell("k"), endless([more]))).await;
}

#[tokio::test(start_paused = true)]
async fn a_value_without_end_is_an_error() {
    let piece = Chunk::new().value(vec![7; 10_000]).of_size(i32::MAX);
    is_too_large(&row_without_end(cell("k").of_size(i32::MAX), endless([piece]))).await;
}

/// Cells of two bytes take 32 here. They are in the common shape, and with two labels in another.
#[tokio::test(start_paused = true)]
async fn cells_of_a_message_that_are_small_and_many_are_an_error() {
    let labelled = Chunk::new().label("one").label("two");
    for small in [Chunk::new(), labelled] {
        let cells = vec![small; 40_000];
        is_too_large(&row_without_end(cell("k"), endless(cells))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_within_the_limit_is_read() {
    let half = vec![7; 400_000];
    let chunks = [cell("k"), Chunk::new().qualifier("other").value(half.clone())];
    let last = Chunk::new().qualifier("last").value(half).commit();
    let mock = Mock::new().by(move |_| Answer::chunks(chunks.clone()).and_chunks([last.clone()]));
    let table = |bytes| table(&mock).with(|settings| settings.max_row_bytes = bytes);
    assert_eq!(keys(table(1_000_000).read_rows(ReadRows::all())).await.unwrap(), ["k"]);
    let (_, error) = keys_and_error(table(800_000).read_rows(ReadRows::all())).await;
    assert!(error.to_string().contains("800000 bytes"), "{error}");
}

/// A text of at most some KiB, which says that it is cut and how long it was.
#[track_caller]
fn is_cut(error: &Error, of: usize) {
    for text in [error.to_string(), format!("{error:?}"), error.redacted().to_string()] {
        assert!(text.len() < 16 * 1024, "{} bytes", text.len());
    }
    let text = error.to_string();
    assert!(text.contains('…') && text.contains(&format!("of {of} bytes")), "{text}");
}

/// Of 1 MiB, and of less in each other kind of call. A character of two bytes is not cut in two.
#[tokio::test(start_paused = true)]
async fn a_long_message_of_a_server_is_cut() {
    let long = format!("x{}", "é".repeat(1 << 19));
    let failure = Failure::new(Code::Internal, &long);
    let mock = Mock::new().by(move |_| Answer::failure(failure.clone()));
    is_cut(&table(&mock).mutate_row("k", set()).await.unwrap_err(), long.len());

    let long = format!("x{}", "é".repeat(20_000));
    let failure = Failure::new(Code::Internal, &long).metadata("x-large", "v".repeat(40_000).leak());
    let answer = Answer::failure(failure);
    let admin = answer.clone();
    let mock = Mock::new().by(move |_| answer.clone()).admin_by(move |_| admin.clone());
    let table: RawTable = table(&mock);
    is_cut(&table.read_row("k", None).await.unwrap_err(), long.len());
    is_cut(&keys(table.read_rows(ReadRows::all())).await.unwrap_err(), long.len());
    is_cut(&table.mutate_rows(entries(["a"])).await.all_written().unwrap_err(), long.len());
    is_cut(&table.sample_row_keys().await.unwrap_err(), long.len());
    is_cut(&table.info().await.unwrap_err(), long.len());
}

#[tokio::test(start_paused = true)]
async fn a_status_of_a_row_of_a_mebibyte_is_cut() {
    let status = keyderive_proto::values::Status {
        code: Code::NotFound.into(),
        message: "é".repeat(1 << 19),
        details: Vec::new(),
    };
    let entry = data::mutate_rows_response::Entry { index: 0, status: Some(status) };
    let message = data::MutateRowsResponse { entries: vec![entry], rate_limit_info: None };
    let mock = Mock::new().by(move |_| Answer::new().send(&message));
    is_cut(&table(&mock).mutate_rows(entries(["a"])).await.all_written().unwrap_err(), 1 << 20);
}

#[tokio::test(start_paused = true)]
async fn a_row_key_of_a_mebibyte_is_cut() {
    let key = "x".repeat(1 << 20);
    let mock = Mock::new().by(move |_| Answer::rows([key.clone()]));
    is_cut(&table(&mock).read_row("k", None).await.unwrap_err(), 1 << 20);
    let changed = data::Row { key: vec![b'x'; 1 << 20].into(), families: Vec::new() };
    let mock = Mock::new().by(move |_| Answer::changed(changed.clone()));
    let rules = vec![ReadModifyWrite::increment("f", "q", 1)];
    is_cut(&table(&mock).read_modify_write_row("k", rules).await.unwrap_err(), 1 << 20);
}

#[tokio::test(start_paused = true)]
async fn samples_without_end_are_an_error() {
    let sample = data::SampleRowKeysResponse { row_key: vec![7; 8 << 20].into(), offset_bytes: 1 };
    let messages = std::iter::repeat(Bytes::from(sample.encode_to_vec()));
    let mock = Mock::new().by(move |_| Answer::stream(messages.clone()));
    let error = table(&mock).sample_row_keys().await.unwrap_err();
    assert!(error.kind() == ErrorKind::ResourceExhausted && !error.is_retryable(), "{error}");
    assert!(error.to_string().contains("the keys of the answer have more than 268435456 bytes"), "{error}");
}
