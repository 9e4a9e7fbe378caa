//! Servers whose answers are wrong or endless.

use keyderive::client::ReadRows;
use keyderive::plan::KeyRange;
use keyderive::row::ReadModifyWrite;
use keyderive::{Error, ErrorKind};
use keyderive_proto::data;
use keyderive_scripted::{Answer, Failure, Mock, Rpc, row};
use std::time::Duration;
use tonic::Code;

use crate::support::{keys, keys_and_error, set, table};

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
    assert!(
        error.kind() == ErrorKind::ProtocolViolation && error.to_string().contains("it is about row `77`"),
        "{error}"
    );
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
