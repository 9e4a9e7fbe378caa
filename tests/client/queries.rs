//! Queries: their parameters, plans, retries and results.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use keyderive::client::Query;
use keyderive::query::{ColumnError, FromQueryRow, QueryRow, SqlDate, SqlTimestamp, SqlValue};
use keyderive::{Client, Error, ErrorKind};
use keyderive_proto::admin::Type;
use keyderive_proto::admin::r#type::{self as messages, Kind as TypeKind, r#struct::Field};
use keyderive_proto::data::execute_query_response::Response;
use keyderive_proto::data::partial_result_set::PartialRows;
use keyderive_proto::data::result_set_metadata::Schema;
use keyderive_proto::data::value::Kind;
use keyderive_proto::data::{self, ArrayValue, ColumnMetadata, Value};
use keyderive_proto::values;
use keyderive_scripted::{Answer, Failure, Mock, Request, Rpc};
use keyderive_tests::fixtures::{assert_error, fails};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use prost::Message as _;
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, client};

const TEXT: &str = "SELECT kind, n FROM events WHERE user_id = @user";

fn of(kind: TypeKind) -> Type {
    Type { kind: Some(kind) }
}

fn string() -> Type {
    of(TypeKind::StringType(messages::String::default()))
}

fn int64() -> Type {
    of(TypeKind::Int64Type(messages::Int64::default()))
}

fn value(kind: Kind) -> Value {
    Value { r#type: None, kind: Some(kind) }
}

fn text(text: &str) -> Value {
    value(Kind::StringValue(text.to_owned()))
}

fn int(number: i64) -> Value {
    value(Kind::IntValue(number))
}

fn metadata(columns: impl IntoIterator<Item = (&'static str, Type)>) -> data::ResultSetMetadata {
    let column = |(name, of): (&str, Type)| ColumnMetadata { name: name.to_owned(), r#type: Some(of) };
    let columns = columns.into_iter().map(column).collect();
    data::ResultSetMetadata { schema: Some(Schema::ProtoSchema(data::ProtoSchema { columns })) }
}

fn plan_valid_for(
    plan: &'static str,
    valid: Duration,
    columns: impl IntoIterator<Item = (&'static str, Type)>,
) -> Answer {
    let until = (SystemTime::now() + valid).duration_since(UNIX_EPOCH).unwrap();
    Answer::new().send(&data::PrepareQueryResponse {
        metadata: Some(metadata(columns)),
        prepared_query: plan.into(),
        valid_until: Some(values::Timestamp { seconds: until.as_secs().try_into().unwrap(), nanos: 0 }),
    })
}

/// A plan of two columns.
fn plan(plan: &'static str) -> Answer {
    plan_valid_for(plan, Duration::from_secs(3600), [("kind", string()), ("n", int64())])
}

/// A server that prepares every query, and answers each execution so.
fn executing(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Mock {
    Mock::new().by(move |request| match request.rpc {
        Rpc::PrepareQuery => plan("p"),
        _ => answer(),
    })
}

/// A part of a batch.
#[derive(Default)]
struct Part {
    data: Bytes,
    checksum: Option<u32>,
    token: &'static str,
    reset: bool,
}

impl Part {
    fn message(self) -> data::ExecuteQueryResponse {
        let rows = PartialRows::ProtoRowsBatch(data::ProtoRowsBatch { batch_data: self.data });
        data::ExecuteQueryResponse {
            response: Some(Response::Results(data::PartialResultSet {
                partial_rows: Some(rows),
                batch_checksum: self.checksum,
                resume_token: self.token.into(),
                reset: self.reset,
                estimated_batch_size: 0,
            })),
        }
    }
}

fn batch(values: impl IntoIterator<Item = Value>) -> Bytes {
    data::ProtoRows { values: values.into_iter().collect() }.encode_to_vec().into()
}

/// A whole batch, which ends with a token.
fn results(token: &'static str, values: impl IntoIterator<Item = Value>) -> data::ExecuteQueryResponse {
    last(batch(values), token)
}

/// The end of a batch, with the checksum of this part.
fn last(data: Bytes, token: &'static str) -> data::ExecuteQueryResponse {
    Part { checksum: Some(crc32c::crc32c(&data)), data, token, reset: false }.message()
}

/// A part of a batch that more follows.
fn part(data: Bytes) -> data::ExecuteQueryResponse {
    Part { data, ..Part::default() }.message()
}

fn asked(mock: &Mock) -> Vec<data::ExecuteQueryRequest> {
    mock.requests_of(Rpc::ExecuteQuery).iter().map(Request::decode).collect()
}

fn counts(client: &Client) -> Query {
    client.query(TEXT).bind("user", "alice")
}

async fn fetch(query: Query) -> Result<Vec<(String, i64)>, Error> {
    timeout(Duration::from_secs(24 * 3600), query.fetch()).await.expect("the query hangs")
}

fn expired() -> Failure {
    let violation = values::precondition_failure::Violation {
        r#type: "PREPARED_QUERY_EXPIRED".to_owned(),
        ..Default::default()
    };
    let failure = values::PreconditionFailure { violations: vec![violation] };
    let detail = values::Any {
        type_url: "type.googleapis.com/google.rpc.PreconditionFailure".to_owned(),
        value: failure.encode_to_vec().into(),
    };
    Failure::new(Code::FailedPrecondition, "expired").detail(detail)
}

#[tokio::test(start_paused = true)]
async fn a_query_is_prepared_once_and_its_parameters_are_typed() {
    let mock = Mock::new()
        .on(Rpc::PrepareQuery, plan("p1"))
        .on(
            Rpc::ExecuteQuery,
            Answer::new().send(&results("t", [text("login"), int(2), text("buy"), int(1)])),
        )
        .on(Rpc::ExecuteQuery, Answer::new())
        .on(Rpc::PrepareQuery, plan("p2"))
        .on(Rpc::ExecuteQuery, Answer::new());
    let client = client(&mock);
    let rows = fetch(counts(&client)).await.unwrap();
    assert_eq!(rows, [("login".to_owned(), 2), ("buy".to_owned(), 1)]);
    assert!(fetch(client.query(TEXT).bind("user", "bob")).await.unwrap().is_empty());
    // A parameter of another type is another statement.
    assert!(fetch(client.query(TEXT).bind("user", None::<i64>)).await.unwrap().is_empty());

    let prepared = mock.requests_of(Rpc::PrepareQuery);
    let prepared: Vec<data::PrepareQueryRequest> = prepared.iter().map(Request::decode).collect();
    assert!(prepared.len() == 2 && prepared.iter().all(|request| request.query == TEXT));
    assert_eq!(prepared[0].param_types, BTreeMap::from([("user".to_owned(), string())]));
    assert_eq!(prepared[1].param_types, BTreeMap::from([("user".to_owned(), int64())]));
    let asked = asked(&mock);
    assert_eq!(
        asked.iter().map(|request| &request.prepared_query[..]).collect::<Vec<_>>(),
        [b"p1", b"p1", b"p2"]
    );
    assert_eq!(asked[0].params["user"], Value { r#type: Some(string()), ..text("alice") });
    assert_eq!(asked[2].params["user"], Value { r#type: Some(int64()), kind: None });
}

#[tokio::test(start_paused = true)]
async fn a_thousand_queries_stay_prepared() {
    let mock = executing(Answer::new);
    let client = client(&mock);
    let run = async |number: u32| fetch(client.query(format!("SELECT {number}"))).await.unwrap();
    for number in (0..1000).chain(0..1000) {
        run(number).await;
    }
    assert_eq!(mock.requests_of(Rpc::PrepareQuery).len(), 1000);
    // One more drops them all.
    run(1000).await;
    run(999).await;
    assert_eq!(mock.requests_of(Rpc::PrepareQuery).len(), 1002);
}

#[tokio::test(start_paused = true)]
async fn concurrent_queries_share_one_prepare() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::PrepareQuery => plan("p").wait(SECOND),
        _ => Answer::new().send(&results("t", [text("login"), int(2)])),
    });
    let client = client(&mock);
    let (one, other, dropped) = tokio::join!(
        fetch(counts(&client)),
        fetch(counts(&client)),
        // It is the first to prepare, and gives up.
        timeout(100 * MILLISECOND, fetch(counts(&client))),
    );
    assert!(one.unwrap().len() == 1 && other.unwrap().len() == 1 && dropped.is_err());
    assert_eq!(mock.requests_of(Rpc::PrepareQuery).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_renewed_before_it_expires() {
    let mock = executing(Answer::new);
    let client = client(&mock);
    for (after, prepared) in [(0, 1), (3000, 1), (550, 2)] {
        sleep(Duration::from_secs(after)).await;
        fetch(counts(&client)).await.unwrap();
        assert_eq!(mock.requests_of(Rpc::PrepareQuery).len(), prepared, "after {after} s");
    }
}

/// Whatever was not followed by a token is read again, and nothing twice.
#[tokio::test(start_paused = true)]
async fn a_query_resumes_after_its_last_token() {
    let half = batch([text("lost"), int(9)]);
    let mock = Mock::new()
        .on(Rpc::PrepareQuery, plan("p"))
        .on(
            Rpc::ExecuteQuery,
            Answer::new()
                .send(&results("t1", [text("a"), int(1)]))
                // A whole batch without a token, and a part of another.
                .send(&last(half.clone(), ""))
                .send(&part(half.slice(..3)))
                .fail(Code::Unavailable),
        )
        .on(
            Rpc::ExecuteQuery,
            Answer::new()
                .send(&part(half.clone()))
                // The server takes it back.
                .send(&Part { reset: true, ..Part::default() }.message())
                .send(&results("t2", [text("b"), int(2)]))
                .fail(Code::Unavailable),
        )
        .on(Rpc::ExecuteQuery, Answer::new());
    let rows = fetch(counts(&client(&mock))).await.unwrap();
    assert_eq!(rows, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
    let tokens: Vec<_> = asked(&mock).into_iter().map(|request| request.resume_token).collect();
    assert_eq!(tokens, ["", "t1", "t2"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_plan_is_renewed_before_the_first_rows_only() {
    let mock = Mock::new()
        .on(Rpc::PrepareQuery, plan("p1"))
        .on(Rpc::ExecuteQuery, Answer::failure(expired()))
        // The renewal fails once, although the query was prepared before.
        .on(Rpc::PrepareQuery, Answer::failure(Code::Internal))
        .on(Rpc::PrepareQuery, plan_valid_for("p2", Duration::from_secs(3600), [("kind", string())]))
        .on(Rpc::ExecuteQuery, Answer::new().send(&results("t1", [text("a")])).fail(expired()));
    let mut rows = counts(&client(&mock)).rows::<(String,)>();
    assert!(rows.columns().is_none());
    assert_eq!(rows.next().await.unwrap().unwrap(), ("a".to_owned(),));
    assert_eq!(rows.columns().unwrap().len(), 1);
    fails(rows.next().await.unwrap(), "expired after its first rows were delivered");
    assert!(rows.next().await.is_none());
}

/// The rows after the first would be of another plan, so the query fails; running it again begins with a new plan.
#[tokio::test(start_paused = true)]
async fn a_query_whose_plan_expires_after_rows_may_be_run_again() {
    let mock = Mock::new()
        .on(Rpc::PrepareQuery, plan("p1"))
        .on(Rpc::ExecuteQuery, Answer::new().send(&results("t1", [text("a"), int(1)])).fail(expired()))
        .on(Rpc::PrepareQuery, plan("p2"))
        .on(Rpc::ExecuteQuery, Answer::new().send(&results("t1", [text("b"), int(2)])));
    let client = client(&mock);
    let error = fetch(counts(&client)).await.unwrap_err();
    assert!(error.is_retryable() && error.attempts() == 1, "{error}");
    assert_error(&error, ErrorKind::FailedPrecondition, &[]);
    assert!(!error.to_string().contains("retry"), "{error}");
    assert_eq!(fetch(counts(&client)).await.unwrap(), [("b".to_owned(), 2)]);
    let plans: Vec<_> = asked(&mock).into_iter().map(|request| request.prepared_query).collect();
    assert_eq!(plans, ["p1", "p2"]);
}

#[tokio::test(start_paused = true)]
async fn a_query_whose_plan_expires_after_a_token_without_rows_begins_again() {
    let only_token = || Part { token: "t1", ..Part::default() }.message();
    let mock = Mock::new()
        .on(Rpc::PrepareQuery, plan("p1"))
        .on(Rpc::ExecuteQuery, Answer::new().send(&only_token()).fail(expired()))
        .on(Rpc::PrepareQuery, plan("p2"))
        .on(Rpc::ExecuteQuery, Answer::new().send(&results("t2", [text("a"), int(1)])));
    assert_eq!(fetch(counts(&client(&mock))).await.unwrap(), [("a".to_owned(), 1)]);
    let sent: Vec<_> =
        asked(&mock).into_iter().map(|request| (request.prepared_query, request.resume_token)).collect();
    assert_eq!(sent, [("p1".into(), Bytes::new()), ("p2".into(), Bytes::new())]);

    // A server that repeats this is asked as often as one that fails otherwise.
    let mock = executing(move || Answer::new().send(&only_token()).fail(expired()));
    let client = client(&mock).with(|settings| settings.execute_query.max_attempts = 3);
    let error = fetch(counts(&client)).await.unwrap_err();
    assert!(error.is_retryable() && error.attempts() == 3, "{error}");
}

/// Only a new token or a row is progress: without it, the attempts are counted.
#[tokio::test(start_paused = true)]
async fn a_token_that_is_repeated_is_no_progress() {
    let repeated = || Part { token: "t", ..Part::default() }.message();
    let mock = executing(move || Answer::new().send(&repeated()).fail(Code::Unavailable));
    let client = client(&mock).with(|settings| settings.execute_query.max_attempts = 3);
    let error = fetch(counts(&client)).await.unwrap_err();
    assert!(error.is_unavailable() && error.attempts() == 3, "{error}");
}

#[tokio::test(start_paused = true)]
async fn rows_that_come_with_a_token_a_second_time_are_not_delivered() {
    let rows = || results("t", [text("a"), int(1)]);
    let mock = executing(move || Answer::new().send(&rows()).send(&rows()));
    let mut stream = counts(&client(&mock)).rows::<(String, i64)>();
    assert!(stream.next().await.unwrap().is_ok());
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.attempts(), 1, "{error}");
    assert_error(
        &error,
        ErrorKind::ProtocolViolation,
        &["the rows before a resume token come a second time"],
    );

    // Also by another request, which asked for the rows after them.
    let mock = executing(move || Answer::new().send(&rows()).fail(Code::Unavailable));
    let error = fetch(counts(&client(&mock))).await.unwrap_err();
    assert!(error.kind() == ErrorKind::ProtocolViolation && error.attempts() == 2, "{error}");

    // Other rows are delivered: Google's conformance suite gives all of them the same token.
    let other = || results("t", [text("b"), int(1)]);
    let mock = executing(move || Answer::new().send(&rows()).send(&other()).send(&rows()));
    assert_eq!(fetch(counts(&client(&mock))).await.unwrap().len(), 3);
}

/// By a clock that is ahead of the server's, its plans have expired when they come.
#[tokio::test(start_paused = true)]
async fn a_plan_from_the_past_is_renewed_once_a_second() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::PrepareQuery => Answer::new().send(&data::PrepareQueryResponse {
            metadata: Some(metadata([("kind", string()), ("n", int64())])),
            prepared_query: "p".into(),
            valid_until: Some(values::Timestamp { seconds: 1_000_000_000, nanos: 0 }),
        }),
        _ => Answer::new(),
    });
    let client = client(&mock);
    for (after, prepared) in [(0, 1), (0, 1), (800, 1), (300, 2), (0, 2)] {
        sleep(after * MILLISECOND).await;
        fetch(counts(&client)).await.unwrap();
        assert_eq!(mock.requests_of(Rpc::PrepareQuery).len(), prepared, "after {after} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_another_preparation_is_told_as_one() {
    let mock = Mock::new().by(|_| plan("p").wait(10 * SECOND));
    let client = client(&mock);
    let hasty = client.with_deadline((Instant::now() + 200 * MILLISECOND).into_std());
    let (_, error) = tokio::join!(timeout(SECOND, fetch(counts(&client))), async {
        fetch(counts(&hasty)).await.unwrap_err()
    });
    assert!(error.is_deadline_exceeded() && error.attempts() == 0, "{error}");
    let shown = error.to_string();
    assert!(
        shown.contains("another call, which prepares the same query, has not ended within 20"),
        "{shown}"
    );
    let given_up = "; given up after 0.2 s, before the first attempt, at the deadline";
    assert!(shown.contains(given_up), "{shown}");
}

/// The columns that a result declares are checked, not only the values that it happens to have.
#[tokio::test(start_paused = true)]
async fn columns_are_checked_once_for_each_result() {
    async fn check<T: FromQueryRow + std::fmt::Debug>(of: Type, value: Option<Value>) -> String {
        let answer = Answer::new();
        let answer = match value {
            Some(value) => answer.send(&results("t", [value])),
            None => answer,
        };
        let mock = Mock::new()
            .on(Rpc::PrepareQuery, plan_valid_for("p", SECOND, [("n", of)]))
            .on(Rpc::ExecuteQuery, answer);
        let error = client(&mock).query("SELECT n").fetch::<T>().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRow, "{error}");
        error.to_string()
    }
    #[derive(FromQueryRow, Debug)]
    #[allow(dead_code, reason = "no row becomes one")]
    struct Missing {
        m: Option<i64>,
    }
    let array =
        || of(TypeKind::ArrayType(Box::new(messages::Array { element_type: Some(Box::new(int64())) })));
    let empty = || value(Kind::ArrayValue(ArrayValue::default()));
    let null = || Some(Value::default());
    let wrong = "query `SELECT n`: column `n`: it is INT64: expected STRING, found INT64";
    assert_eq!(check::<(String,)>(int64(), None).await, wrong);
    assert_eq!(check::<(Option<String>,)>(int64(), null()).await, wrong);
    assert_eq!(check::<(Option<String>,)>(int64(), None).await, wrong);
    let in_array = "query `SELECT n`: column `n`: it is ARRAY<INT64>: expected STRING, found INT64";
    assert_eq!(check::<(Vec<String>,)>(array(), Some(empty())).await, in_array);
    assert_eq!(check::<(Option<Vec<String>>,)>(array(), null()).await, in_array);
    assert!(check::<(BTreeMap<i64, i64>,)>(array(), None).await.contains("expected MAP, found ARRAY<INT64>"));
    assert!(check::<((i64,),)>(array(), None).await.contains("expected STRUCT, found ARRAY<INT64>"));
    assert!(check::<(SystemTime,)>(int64(), None).await.contains("expected TIMESTAMP, found INT64"));
    assert!(check::<(Option<f64>,)>(int64(), None).await.contains("expected FLOAT64, found INT64"));
    assert!(
        check::<(i64, i64)>(int64(), None).await.contains("the result has 1 columns, and the tuple has 2")
    );
    assert!(check::<Missing>(int64(), None).await.contains("`m`: the result has no such column; it has `n`"));
}

/// Of the server: the answer breaks the protocol. Of the program: nothing is sent.
#[tokio::test(start_paused = true)]
async fn values_that_sql_does_not_have_are_rejected() {
    let date = |year, month, day| {
        (
            of(TypeKind::DateType(messages::Date::default())),
            value(Kind::DateValue(values::Date { year, month, day })),
        )
    };
    let float =
        |number| (of(TypeKind::Float32Type(messages::Float32::default())), value(Kind::FloatValue(number)));
    for (of, value) in [
        date(2023, 2, 29),
        date(1900, 2, 29),
        date(2024, 4, 31),
        date(0, 1, 1),
        date(-1, 1, 1),
        date(10_000, 1, 1),
        date(2024, 13, 1),
        date(2024, 0, 1),
        date(2024, 1, 0),
        date(2024, -1, 1),
        float(1e300),
        float(-1e39),
    ] {
        let shown = format!("{value:?}");
        let error = run(of, Answer::new().send(&results("t", [value]))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ProtocolViolation, "{shown}: {error}");
    }
    for (of, value) in
        [date(2000, 2, 29), date(1, 1, 1), date(9999, 12, 31), float(f64::INFINITY), float(f32::MAX.into())]
    {
        run(of, Answer::new().send(&results("t", [value]))).await.unwrap();
    }

    let mock = Mock::new().by(|_| plan("p"));
    let client = client(&mock);
    let date = |year, month, day| SqlValue::Date(SqlDate { year, month, day });
    let time = |nanos| SqlValue::Timestamp(SqlTimestamp { seconds: 5, nanos });
    for (value, what) in [
        (date(2023, 2, 29), "2023-02-29 is no date"),
        (date(0, 1, 1), "0000-01-01 is no date"),
        (date(2024, u32::MAX, 1), "2024-4294967295-01 is no date"),
        (time(1_000_000_000), "5 s and 1000000000 ns"),
        (time(u32::MAX), "5 s and 4294967295 ns"),
        (SqlValue::Array(vec![SqlValue::Null, date(2024, 1, 32)]), "2024-01-32 is no date"),
        (SqlValue::Map(vec![(SqlValue::Int64(1), time(u32::MAX))]), "5 s and 4294967295 ns"),
    ] {
        let query = client.query("SELECT @day").bind_value("day", keyderive::query::SqlType::Date, value);
        let error = query.fetch::<QueryRow>().await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.attempts() == 0, "{error}");
        let shown = error.to_string();
        assert!(
            shown.starts_with("query `SELECT @day`: the parameter `@day` cannot be sent: ")
                && shown.contains(what),
            "{shown}"
        );
        assert!(!error.redacted().to_string().contains(what), "{}", error.redacted());
    }
    assert!(mock.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_message_breaks_the_protocol() {
    for (prepare, execute) in [
        (Answer::new().garbage(), Answer::new()),
        (Answer::new(), Answer::new()),
        (plan("p").send(&data::PrepareQueryResponse::default()), Answer::new()),
        (plan("p"), Answer::new().garbage()),
        // The header of a message, and no more.
        (Answer::new().oversize(10), Answer::new()),
        (plan("p"), Answer::new().oversize(10)),
    ] {
        let mock = Mock::new().on(Rpc::PrepareQuery, prepare).on(Rpc::ExecuteQuery, execute);
        let error = fetch(counts(&client(&mock))).await.unwrap_err();
        assert!(error.kind() == ErrorKind::ProtocolViolation && error.attempts() == 1, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_name_the_query_the_column_and_its_type() {
    let mock = executing(|| Answer::new().send(&results("t", [Value::default(), int(300)])));
    let client = client(&mock);
    let row: QueryRow = counts(&client).fetch_first().await.unwrap().unwrap();
    for (error, what) in [
        (row.get::<String>("kind").unwrap_err().into(), "column `kind`: it is STRING: the value is NULL"),
        (row.get::<u8>("n").unwrap_err().into(), "column `n`: it is INT64: 300 does not fit into `u8`"),
        (row.get::<String>("n").unwrap_err().into(), "column `n`: it is INT64: expected STRING, found INT64"),
        (
            row.get::<String>("m").unwrap_err().into(),
            "column `m`: the result has no such column; it has `kind`, `n`",
        ),
        (
            counts(&client).fetch::<(i64,)>().await.unwrap_err(),
            "the result has 2 columns, and the tuple has 1",
        ),
    ] {
        let error: Error = error;
        assert!(error.to_string().starts_with("query `SELECT kind, n"), "{error}");
        assert_error(&error, ErrorKind::InvalidRow, &[what]);
        let redacted = error.redacted().to_string();
        assert!(!redacted.contains("SELECT") && !redacted.contains("300"), "{redacted}");
    }
    assert_eq!(row.get::<Option<String>>("kind").unwrap(), None);
    assert_eq!(row.get::<Option<i16>>("n").unwrap(), Some(300));

    let refused = Mock::new().on(Rpc::PrepareQuery, Answer::failure(Code::InvalidArgument));
    let error = fetch(counts(&self::client(&refused))).await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidArgument, &[]);
    let start = "query `SELECT kind, n FROM events WHERE user_id = @user`: PrepareQuery failed";
    assert!(error.to_string().starts_with(start), "{error}");
}

#[tokio::test(start_paused = true)]
async fn invalid_results_are_errors() {
    let data = batch([text("a"), int(1)]);
    let whole = || results("t", [text("a"), int(1)]);
    let good = crc32c::crc32c(&data);
    let whole_part = |checksum, token| Part { data: data.clone(), checksum, token, reset: false }.message();
    let cases: [(&str, Answer); 7] = [
        ("unexpected checksum", Answer::new().send(&whole_part(Some(good ^ 1), "t"))),
        ("incomplete row", Answer::new().send(&results("t", [text("a")]))),
        ("within a batch", Answer::new().send(&whole_part(None, "t"))),
        ("without a resume token", Answer::new().send(&whole()).send(&whole_part(Some(good), ""))),
        (
            "column `n`: a value of the type INT64 has the kind STRING_VALUE",
            Answer::new().send(&results("t", [text("a"), text("b")])),
        ),
        (
            "METADATA",
            Answer::new()
                .send(&data::ExecuteQueryResponse { response: Some(Response::Metadata(metadata([]))) }),
        ),
        ("cannot be decoded", Answer::new().send(&last(Bytes::from_static(&[0xff]), "t"))),
    ];
    for (what, answer) in cases {
        let mock = Mock::new().on(Rpc::PrepareQuery, plan("p")).on(Rpc::ExecuteQuery, answer);
        let error = fetch(counts(&client(&mock))).await.unwrap_err();
        assert_error(&error, ErrorKind::ProtocolViolation, &[what]);
        assert_eq!(asked(&mock).len(), 1, "{what}");
    }
    for (what, columns) in [("cannot be empty", vec![]), ("column `n`", vec![("n", Type { kind: None })])] {
        let mock = Mock::new().on(Rpc::PrepareQuery, plan_valid_for("p", SECOND, columns));
        let error = fetch(counts(&client(&mock))).await.unwrap_err();
        assert_error(&error, ErrorKind::ProtocolViolation, &[what]);
    }
}

#[tokio::test(start_paused = true)]
async fn deadlines_bound_preparing_and_running() {
    for silent in [Rpc::PrepareQuery, Rpc::ExecuteQuery] {
        let mock = Mock::new().by(move |request| match request.rpc {
            rpc if rpc == silent => Answer::new().stall(),
            _ => plan("p"),
        });
        let begun = Instant::now();
        let hasty = client(&mock).with_deadline((begun + 700 * MILLISECOND).into_std());
        let (one, other) = tokio::join!(fetch(counts(&hasty)), fetch(counts(&hasty)));
        for error in [one.unwrap_err(), other.unwrap_err()] {
            assert!(error.is_deadline_exceeded() && error.to_string().contains("`with_deadline`"), "{error}");
        }
        assert!((600..=702).contains(&begun.elapsed().as_millis()), "{silent:?}: {:?}", begun.elapsed());
    }
}

/// Also while rows are at hand that have been received.
#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_query_between_rows() {
    let mock = executing(|| Answer::new().send(&results("t", (0..100).flat_map(|n| [text("a"), int(n)]))));
    let hasty = client(&mock).with_deadline((Instant::now() + 100 * MILLISECOND).into_std());
    let mut rows = counts(&hasty).rows::<(String, i64)>();
    let mut read = 0;
    let error = loop {
        match rows.next().await.unwrap() {
            Ok(_) => read += 1,
            Err(error) => break error,
        }
        sleep(10 * MILLISECOND).await;
    };
    assert!(error.is_deadline_exceeded() && error.to_string().contains("`with_deadline`"), "{error}");
    assert!((9..12).contains(&read), "{read}");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_query_is_cancelled_and_a_closed_client_runs_none() {
    let mock = executing(|| Answer::new().send(&results("t", [text("a"), int(1)])).stall());
    let client = client(&mock);
    let mut rows = counts(&client).rows::<(String, i64)>();
    assert!(rows.next().await.unwrap().is_ok());
    // `close` waits for it, and gives it up as it is not polled.
    client.close().await;
    assert_eq!(rows.next().await.unwrap().unwrap_err().kind(), ErrorKind::ClientClosed);
    assert!(rows.next().await.is_none());
    assert_eq!(fetch(counts(&client)).await.unwrap_err().kind(), ErrorKind::ClientClosed);
    sleep(SECOND).await;
    assert_eq!(mock.open(), 0);
}

#[tokio::test]
async fn an_embedded_bigtable_says_that_it_has_no_sql() {
    let error = Client::embedded().query("SELECT 1").fetch::<(i64,)>().await.unwrap_err();
    assert_error(&error, ErrorKind::Unimplemented, &["does not run SQL"]);
}

#[test]
fn rust_types_are_parameters_and_results() {
    use keyderive::query::{FromSql, ToSql};

    fn there_and_back<T: ToSql + FromSql + PartialEq + std::fmt::Debug>(value: &T) {
        assert_eq!(&T::from_sql(value.to_sql()).unwrap(), value);
        assert_eq!(Option::<T>::from_sql(SqlValue::Null).unwrap(), None);
        assert!(T::from_sql(SqlValue::Null).is_err());
    }
    there_and_back(&true);
    there_and_back(&i64::MIN);
    there_and_back(&1.5_f32);
    there_and_back(&-0.1_f64);
    there_and_back(&"é".to_owned());
    there_and_back(&Bytes::from_static(b"\0"));
    there_and_back(&SqlDate { year: 2024, month: 2, day: 29 });
    there_and_back(&SqlTimestamp { seconds: -1, nanos: 999_999_999 });
    there_and_back(&vec![Some("a".to_owned()), None]);
    for time in [UNIX_EPOCH, UNIX_EPOCH - Duration::new(1, 1), UNIX_EPOCH + Duration::new(5, 999_999_999)] {
        there_and_back(&time);
    }
    assert_eq!(<[u8]>::to_sql(b"x"), SqlValue::Bytes("x".into()));
    let map = SqlValue::Map(vec![(SqlValue::Text("a".to_owned()), SqlValue::Int64(1))]);
    assert_eq!(BTreeMap::<String, u32>::from_sql(map).unwrap(), BTreeMap::from([("a".to_owned(), 1)]));
    let pair = || SqlValue::Struct(vec![SqlValue::Int64(1), SqlValue::Null]);
    assert_eq!(<(i64, Option<String>)>::from_sql(pair()).unwrap(), (1, None));
    assert!(<(i64,)>::from_sql(pair()).is_err());
}

#[derive(FromQueryRow, Debug, PartialEq)]
struct Count {
    kind: Option<String>,
    #[query(name = "n")]
    count: u32,
}

#[tokio::test(start_paused = true)]
async fn a_row_becomes_a_struct_by_the_names_of_its_columns() {
    let rows = || results("t", [text("login"), int(2), Value::default(), int(-1)]);
    let mock = executing(move || Answer::new().send(&rows()));
    let mut rows = counts(&client(&mock)).rows::<Count>();
    assert_eq!(rows.next().await.unwrap().unwrap(), Count { kind: Some("login".to_owned()), count: 2 });
    let error = rows.next().await.unwrap().unwrap_err();
    assert_error(&error, ErrorKind::InvalidRow, &["-1 does not fit into `u32`"]);
    assert!(rows.next().await.is_none());
}

/// A type of up to four levels, with values of it: as a message, and as the client must show it.
fn typed() -> impl Strategy<Value = (Type, Vec<(Value, SqlValue)>)> {
    type_of(3).prop_flat_map(|of| {
        let values = proptest::collection::vec(value_of(&of), 0..6);
        (Just(of), values)
    })
}

fn type_of(depth: u32) -> BoxedStrategy<Type> {
    let scalar = prop_oneof![
        Just(of(TypeKind::BytesType(messages::Bytes::default()))),
        Just(string()),
        Just(int64()),
        Just(of(TypeKind::Float32Type(messages::Float32::default()))),
        Just(of(TypeKind::Float64Type(messages::Float64::default()))),
        Just(of(TypeKind::BoolType(messages::Bool::default()))),
        Just(of(TypeKind::TimestampType(messages::Timestamp::default()))),
        Just(of(TypeKind::DateType(messages::Date::default()))),
        Just(of(TypeKind::ProtoType(messages::Proto::default()))),
        Just(of(TypeKind::EnumType(messages::Enum::default()))),
    ];
    if depth == 0 {
        return scalar.boxed();
    }
    let inner = || type_of(depth - 1);
    prop_oneof![
        2 => scalar,
        1 => inner().prop_map(|of| Type {
            kind: Some(TypeKind::ArrayType(Box::new(messages::Array { element_type: Some(Box::new(of)) })))
        }),
        1 => proptest::collection::vec(inner(), 0..3).prop_map(|fields| {
            let field = |of| Field { field_name: String::new(), r#type: Some(of) };
            let fields = fields.into_iter().map(field).collect();
            of(TypeKind::StructType(messages::Struct { fields, encoding: None }))
        }),
        1 => inner().prop_map(|of| Type {
            kind: Some(TypeKind::MapType(Box::new(messages::Map {
                key_type: Some(Box::new(string())),
                value_type: Some(Box::new(of)),
            })))
        }),
    ]
    .boxed()
}

fn value_of(of: &Type) -> BoxedStrategy<(Value, SqlValue)> {
    let array = |values: Vec<Value>| value(Kind::ArrayValue(ArrayValue { values }));
    let some = match of.kind.clone().unwrap() {
        TypeKind::BytesType(_) | TypeKind::ProtoType(_) => any::<Vec<u8>>()
            .prop_map(|bytes| (value(Kind::BytesValue(bytes.clone().into())), SqlValue::Bytes(bytes.into())))
            .boxed(),
        TypeKind::StringType(_) => any::<String>().prop_map(|one| (text(&one), SqlValue::Text(one))).boxed(),
        TypeKind::Int64Type(_) | TypeKind::EnumType(_) => {
            any::<i64>().prop_map(|number| (int(number), SqlValue::Int64(number))).boxed()
        }
        TypeKind::Float32Type(_) => any::<f32>()
            .prop_map(|number| (value(Kind::FloatValue(number.into())), SqlValue::Float32(number)))
            .boxed(),
        TypeKind::Float64Type(_) => any::<f64>()
            .prop_map(|number| (value(Kind::FloatValue(number)), SqlValue::Float64(number)))
            .boxed(),
        TypeKind::BoolType(_) => {
            any::<bool>().prop_map(|bit| (value(Kind::BoolValue(bit)), SqlValue::Bool(bit))).boxed()
        }
        TypeKind::TimestampType(_) => (any::<i64>(), 0..1_000_000_000_u32)
            .prop_map(|(seconds, nanos)| {
                let message = values::Timestamp { seconds, nanos: nanos.try_into().unwrap() };
                (value(Kind::TimestampValue(message)), SqlValue::Timestamp(SqlTimestamp { seconds, nanos }))
            })
            .boxed(),
        TypeKind::DateType(_) => (1..=9999_i32, 1..=12_u32, 1..=28_u32)
            .prop_map(|(year, month, day)| {
                let message =
                    values::Date { year, month: month.try_into().unwrap(), day: day.try_into().unwrap() };
                (value(Kind::DateValue(message)), SqlValue::Date(SqlDate { year, month, day }))
            })
            .boxed(),
        TypeKind::ArrayType(of) => proptest::collection::vec(value_of(&of.element_type.unwrap()), 0..4)
            .prop_map(move |elements| {
                let (messages, shown): (Vec<_>, Vec<_>) = elements.into_iter().unzip();
                (array(messages), SqlValue::Array(shown))
            })
            .boxed(),
        TypeKind::StructType(of) => {
            let fields: Vec<_> =
                of.fields.iter().map(|field| value_of(field.r#type.as_ref().unwrap())).collect();
            fields
                .prop_map(move |fields| {
                    let (messages, shown): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
                    (array(messages), SqlValue::Struct(shown))
                })
                .boxed()
        }
        TypeKind::MapType(of) => {
            let entries =
                proptest::collection::btree_map(any::<String>(), value_of(&of.value_type.unwrap()), 0..4);
            entries
                .prop_map(move |entries| {
                    let entry = |(key, (message, _)): (&String, &(Value, SqlValue))| {
                        array(vec![text(key), message.clone()])
                    };
                    let messages = entries.iter().map(entry).collect();
                    let shown = entries.into_iter().map(|(key, (_, shown))| (SqlValue::Text(key), shown));
                    (array(messages), SqlValue::Map(shown.collect()))
                })
                .boxed()
        }
        TypeKind::AggregateType(_) => unreachable!("no result has it"),
    };
    prop_oneof![1 => Just((Value::default(), SqlValue::Null)), 6 => some].boxed()
}

/// Values of all types, in batches that are cut anywhere.
#[test]
fn random_results_arrive_as_they_were_sent() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) });
    runner
        .run(&(typed(), any::<u64>()), |((of, values), seed)| {
            let mut random = fastrand::Rng::with_seed(seed);
            let (messages, shown): (Vec<_>, Vec<_>) = values.into_iter().unzip();
            let mut rest = batch(messages);
            let mut answer = Answer::new();
            let checksum = crc32c::crc32c(&rest);
            while random.u8(..4) > 0 && !rest.is_empty() {
                let data = rest.split_to(random.usize(..=rest.len()));
                answer = answer.send(&part(data));
            }
            let end = Part { data: rest, checksum: Some(checksum), token: "t", reset: false };
            answer = answer.send(&end.message());
            let rows =
                runtime.block_on(run(of, answer)).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(rows, shown);
            Ok(())
        })
        .unwrap();
}

/// Every cut of one batch.
#[tokio::test]
async fn a_batch_may_be_cut_at_every_byte() {
    let values = [text("login"), Value::default(), text("é")];
    let data = batch(values);
    let shown = [SqlValue::Text("login".to_owned()), SqlValue::Null, SqlValue::Text("é".to_owned())];
    for cut in 0..=data.len() {
        let last =
            Part { data: data.slice(cut..), checksum: Some(crc32c::crc32c(&data)), token: "t", reset: false };
        let answer = Answer::new().send(&part(data.slice(..cut))).send(&last.message());
        assert_eq!(run(string(), answer).await.unwrap(), shown, "cut at {cut}");
    }
}

/// The values of the only column of a result.
async fn run(of: Type, answer: Answer) -> Result<Vec<SqlValue>, Error> {
    struct Only(SqlValue);
    impl FromQueryRow for Only {
        fn from_query_row(row: QueryRow) -> Result<Self, ColumnError> {
            row.get_at(0).map(Self)
        }
    }
    let mock = Mock::new()
        .on(Rpc::PrepareQuery, plan_valid_for("p", SECOND, [("v", of)]))
        .on(Rpc::ExecuteQuery, answer);
    let rows: Vec<Only> = client(&mock).query("SELECT v").fetch().await?;
    Ok(rows.into_iter().map(|Only(value)| value).collect())
}
