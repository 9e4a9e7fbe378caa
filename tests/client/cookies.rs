//! Routing cookies: the client returns a server's cookies on every later attempt of the operation.

use keyderive_proto::data;
use keyderive_scripted::{Answer, Failure, Mock, Request, Rpc};
use tonic::Code;

use crate::support::{all, entries, set, table, text};

const COOKIE: &str = "x-goog-cbt-cookie-test";
const OTHER: &str = "x-goog-cbt-cookie-other";

/// A transient failure with a cookie.
fn with(value: &'static str) -> Failure {
    Failure::from(Code::Unavailable).metadata(COOKIE, value)
}

/// Both cookies of each request.
fn seen(mock: &Mock) -> Vec<[Option<String>; 2]> {
    let requests = mock.requests();
    let cookies =
        requests.iter().map(|request| [COOKIE, OTHER].map(|name| request.header(name).map(str::to_owned)));
    cookies.collect()
}

/// The cookie of each request, where the server uses one name only.
fn cookies(mock: &Mock) -> Vec<Option<String>> {
    seen(mock).into_iter().map(|[cookie, _]| cookie).collect()
}

fn some(value: &str) -> Option<String> {
    Some(value.to_owned())
}

#[tokio::test(start_paused = true)]
async fn every_operation_that_is_tried_again_sends_cookies_back() {
    let mock = Mock::new().by(|request| match (request.header(COOKIE), request.rpc) {
        (None, _) => Answer::failure(with("c")),
        (_, Rpc::ReadRows) => Answer::rows(["k"]),
        (_, Rpc::SampleRowKeys) => Answer::samples([("k", 1)]),
        (_, Rpc::MutateRow) => Answer::written(),
        _ => Answer::outcomes([(0, Code::Ok)]),
    });
    let table = table(&mock);
    assert!(table.read_row("k", None).await.unwrap().is_some());
    assert_eq!(all(&table).await.unwrap(), ["k"]);
    table.sample_row_keys().await.unwrap();
    table.mutate_row("k", set()).await.unwrap();
    assert!(table.mutate_rows(entries(["k"])).await[0].is_ok());
    // The next operation starts without cookies.
    assert_eq!(cookies(&mock), vec![[None, some("c")]; 5].concat());
}

#[tokio::test(start_paused = true)]
async fn the_newest_cookie_is_sent_and_the_last_one_kept() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["a"]).fail(with("old")))
        .on(Rpc::ReadRows, Answer::failure(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::failure(with("new")))
        .on(Rpc::ReadRows, Answer::rows(["b"]));
    assert_eq!(all(&table(&mock)).await.unwrap(), ["a", "b"]);
    assert_eq!(cookies(&mock), [None, some("old"), some("old"), some("new")]);
}

#[tokio::test(start_paused = true)]
async fn cookies_of_several_names_are_kept_side_by_side() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::failure(with("1").metadata(OTHER, "2")))
        .on(Rpc::MutateRow, Answer::failure(with("3")))
        .on(Rpc::MutateRow, Answer::written());
    table(&mock).mutate_row("k", set()).await.unwrap();
    assert_eq!(seen(&mock)[1..], [[some("1"), some("2")], [some("3"), some("2")]]);
}

/// Headers carry them too, long before the answer fails.
#[tokio::test(start_paused = true)]
async fn cookies_in_the_head_of_an_answer_count() {
    let answer = |answer: Answer| answer.header(COOKIE, "head").fail(Code::Unavailable);
    let mock = Mock::new()
        .on(Rpc::ReadRows, answer(Answer::rows(["a"])))
        .on(Rpc::ReadRows, Answer::rows(["b"]))
        .on(Rpc::SampleRowKeys, answer(Answer::samples([("a", 1)])))
        .on(Rpc::SampleRowKeys, Answer::samples([("a", 1)]))
        .on(Rpc::MutateRows, answer(Answer::outcomes([(0, Code::Ok)])))
        .on(Rpc::MutateRows, Answer::outcomes([(0, Code::Ok)]));
    let table = table(&mock);
    assert_eq!(all(&table).await.unwrap(), ["a", "b"]);
    table.sample_row_keys().await.unwrap();
    assert!(table.mutate_rows(entries(["a", "b"])).await[1].is_ok());
    assert_eq!(cookies(&mock), vec![[None, some("head")]; 3].concat());
}

/// Some entries are written and others must be retried: the answer itself succeeds.
#[tokio::test(start_paused = true)]
async fn cookies_of_an_answer_that_ends_well_count() {
    for answer in [
        Answer::outcomes([(0, Code::Unavailable)]).header(COOKIE, "c"),
        Answer::outcomes([(0, Code::Unavailable)]).trailer(COOKIE, "c"),
    ] {
        let mock =
            Mock::new().on(Rpc::MutateRows, answer).on(Rpc::MutateRows, Answer::outcomes([(0, Code::Ok)]));
        assert!(table(&mock).mutate_rows(entries(["a"])).await[0].is_ok());
        assert_eq!(cookies(&mock), [None, some("c")]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_failures_own_cookie_is_newer_than_the_one_of_the_head() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["a"]).header(COOKIE, "head").fail(with("end")))
        .on(Rpc::ReadRows, Answer::new());
    all(&table(&mock)).await.unwrap();
    assert_eq!(cookies(&mock), [None, some("end")]);
}

#[tokio::test(start_paused = true)]
async fn other_metadata_is_not_sent_back() {
    let failure = with("c").metadata("x-goog-other", "o").metadata("x-goog-cbt", "n");
    let mock = Mock::new().on(Rpc::MutateRow, Answer::failure(failure)).on(Rpc::MutateRow, Answer::written());
    table(&mock).mutate_row("k", set()).await.unwrap();
    let again = &mock.requests()[1];
    assert_eq!(
        (again.header(COOKIE), again.header("x-goog-other"), again.header("x-goog-cbt")),
        (Some("c"), None, None)
    );
}

#[tokio::test(start_paused = true)]
async fn cookies_do_not_cross_operations() {
    let mock = Mock::new().by(|request| match (key(request).as_str(), request.header(COOKIE)) {
        ("a", None) => Answer::failure(with("a")),
        ("b", None) => Answer::failure(with("b")),
        _ => Answer::written(),
    });
    let table = table(&mock);
    let (a, b) = tokio::join!(table.mutate_row("a", set()), table.mutate_row("b", set()));
    a.and(b).unwrap();
    let mut sent: Vec<_> = mock
        .requests()
        .iter()
        .map(|request| (key(request), request.header(COOKIE).map(str::to_owned)))
        .collect();
    sent.sort();
    let sent: Vec<_> = sent.iter().map(|(key, cookie)| (key.as_str(), cookie.as_deref())).collect();
    assert_eq!(sent, [("a", None), ("a", Some("a")), ("b", None), ("b", Some("b"))]);
}

/// The row key of a `MutateRow` request.
fn key(request: &Request) -> String {
    text(&request.decode::<data::MutateRowRequest>().row_key)
}
