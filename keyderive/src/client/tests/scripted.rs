//! The client on a scripted server: its headers, and answers that fail or break the protocol.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use keyderive_scripted::{Answer, Chunk, Failure, Mock, Rpc, cell};
use tonic::Code;

use super::*;
use crate::row::Mutation;

/// A client of `mock` that attempts each operation once.
fn client(mock: &Mock) -> Client {
    let client = connected_by(Client::builder(), mock.connector()).unwrap();
    client.with(|settings| settings.each(|call| call.max_attempts = 1))
}

fn read(answer: Answer) -> RowStream {
    let client = client(&Mock::new().on(Rpc::ReadRows, answer));
    client.read_rows(&client.route("t"), ReadRows::all())
}

fn later() -> Failure {
    Failure::new(Code::Unavailable, "later")
}

async fn write_three(answer: Answer) -> Vec<Result<(), Error>> {
    let entries = ["a", "b", "c"].map(|key| (Bytes::from(key), vec![Mutation::delete_row()]));
    let client = client(&Mock::new().on(Rpc::MutateRows, answer));
    client.mutate_rows(&client.route("t"), entries.into()).await
}

#[tokio::test]
async fn data_rpcs_are_routed_and_name_the_features_of_the_client() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::written())
        .on(Rpc::ReadRows, Answer::new())
        .on(Rpc::MutateRows, Answer::new());
    let client = client(&mock);
    client.mutate_row(&client.route("my-table"), "k".into(), vec![Mutation::delete_row()]).await.unwrap();
    assert!(client.read_row(&client.route("my-table"), "k".into(), None).await.unwrap().is_none());
    assert!(
        client.mutate_rows(&client.route("my-table"), vec![("k".into(), vec![Mutation::delete_row()])]).await
            [0]
        .is_err()
    );
    let requests = mock.requests();
    assert_eq!(requests.len(), 3);
    for request in requests {
        assert_eq!(
            request.header("x-goog-request-params").unwrap(),
            "table_name=projects%2Fkeyderive%2Finstances%2Flocal%2Ftables%2Fmy-table&app_profile_id="
        );
        assert_eq!(request.header("bigtable-features").unwrap(), "CAEgATABOAE=");
        assert_eq!(request.header("bigtable-attempt").unwrap(), "0");
        assert!(request.header("bigtable-client-attempt-epoch-usec").is_some());
        assert!(request.header("x-goog-api-client").is_some());
    }
}

#[tokio::test]
async fn an_answer_that_breaks_the_protocol_ends_the_scan() {
    for (answer, reason) in [
        (Answer::rows(["b", "a", "c"]), "increasing"),
        (Answer::rows(["b"]).and_chunks([cell("c")]), "the stream ends before row b\"c\" is committed"),
    ] {
        let mut rows = read(answer);
        rows.next().await.unwrap().unwrap();
        let error = rows.next().await.unwrap().unwrap_err();
        assert!(
            error.kind() == ErrorKind::ProtocolViolation && error.to_string().contains(reason),
            "{error}"
        );
        assert!(rows.next().await.is_none());
    }
}

#[tokio::test]
async fn a_failure_comes_after_the_rows_before_it() {
    let mut rows = read(Answer::rows(["a"]).and_chunks([cell("b")]).fail(later()));
    assert_eq!(rows.next().await.unwrap().unwrap().key(), b"a");
    let error = rows.next().await.unwrap().unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("ReadRows on table `t` failed: UNAVAILABLE: later; given up after 1 attempt"),
        "{text}"
    );
    assert_eq!(error.last_row_key(), Some(&b"a"[..]));
    assert!(error.is_unavailable() && rows.next().await.is_none());
}

#[tokio::test]
async fn a_row_may_be_split_over_responses() {
    let answer = Answer::chunks([cell("a")]).and_chunks([Chunk::new().commit()]);
    let rows: Vec<_> = read(answer).try_collect().await.unwrap();
    assert_eq!((rows.len(), rows[0].cells().len()), (1, 2));
}

#[tokio::test]
async fn an_error_after_a_single_row_is_an_error_of_the_read() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["k"]).fail(Code::DataLoss))
        .on(Rpc::ReadRows, Answer::rows(["k", "l"]));
    let client = client(&mock);
    assert!(client.read_row(&client.route("t"), "k".into(), None).await.is_err());
    assert_eq!(
        client.read_row(&client.route("t"), "k".into(), None).await.unwrap_err().kind(),
        ErrorKind::ProtocolViolation
    );
}

#[tokio::test]
async fn entries_without_an_outcome_are_errors() {
    let answer = Answer::outcomes([(2, Code::Ok)]).and_outcomes([(0, Code::NotFound)]);
    let written = write_three(answer).await;
    assert!(written[0].as_ref().unwrap_err().is_not_found());
    assert_eq!(written[1].as_ref().unwrap_err().kind(), ErrorKind::ProtocolViolation);
    assert!(written[2].is_ok());
}

#[tokio::test]
async fn a_failure_is_of_the_entries_whose_outcome_is_unknown() {
    let written = write_three(Answer::outcomes([(1, Code::Ok)]).fail(later())).await;
    assert!(written[1].is_ok());
    assert!(
        written[0].as_ref().unwrap_err().is_unavailable()
            && written[2].as_ref().unwrap_err().is_unavailable()
    );
    let written = write_three(Answer::failure(later())).await;
    assert!(written.iter().all(|outcome| outcome.as_ref().unwrap_err().is_unavailable()));
}
