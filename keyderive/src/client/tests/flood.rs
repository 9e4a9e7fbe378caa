//! Answers that are ready whenever the client asks for more: it checks its time, and lets other tasks run.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::FutureExt as _;
use http_body::Frame;
use keyderive_proto::admin::Type;
use keyderive_proto::admin::r#type::{self as types, Kind as TypeKind};
use keyderive_proto::data::execute_query_response::Response;
use keyderive_proto::data::partial_result_set::PartialRows;
use keyderive_proto::data::result_set_metadata::Schema;
use keyderive_proto::data::{self, ColumnMetadata, ReadRowsResponse};
use prost::Message as _;
use tokio::time::{Instant, advance, timeout};
use tonic::body::Body;

use super::*;
use crate::client::builder::ConnectOptions;
use crate::client::connections::{Clock, Dial, Transport};
use crate::client::target::TargetKind;
use crate::query::QueryRow;

/// How many messages an answer has.
const MESSAGES: u32 = 9_000;

/// How much time passes with each of them.
const MILLISECOND: Duration = Duration::from_millis(1);

const SECOND: Duration = Duration::from_secs(1);

/// How many messages a task may take before others have a turn: tokio's budget.
const PER_TURN: u32 = 128;

/// A server whose answers have `MESSAGES` messages, each of them ready at once.
#[derive(Clone)]
struct Flood(fn(u32) -> Bytes);

/// The answer, from this message on.
struct Messages(fn(u32) -> Bytes, std::ops::Range<u32>);

impl http_body::Body for Messages {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Some(number) = self.1.next() else {
            let mut trailers = http::HeaderMap::new();
            trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        };
        // The clock moves when this is polled; what follows only lets other tasks run.
        let _ = advance(MILLISECOND).now_or_never();
        let message = (self.0)(number);
        let mut framed = BytesMut::with_capacity(message.len() + 5);
        framed.put_u8(0);
        framed.put_u32(u32::try_from(message.len()).unwrap());
        framed.put(message);
        Poll::Ready(Some(Ok(Frame::data(framed.freeze()))))
    }
}

impl InProcess for Flood {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>> {
        let messages = match request.uri().path().rsplit('/').next() {
            Some("PrepareQuery") => Messages(|_| plan(), 0..1),
            _ => Messages(self.0, 0..MESSAGES),
        };
        Box::pin(async { http::Response::new(Body::new(messages)) })
    }
}

impl Dial for Flood {
    fn dial(&self) -> Transport {
        Transport::InProcess(Arc::new(self.clone()))
    }

    fn small_windows(&self) -> Arc<dyn Dial> {
        Arc::new(self.clone())
    }
}

/// A client of such a server, which makes one attempt.
async fn client(message: fn(u32) -> Bytes) -> Client {
    let endpoint = ConnectOptions {
        target: TargetKind::Cloud("test".into()),
        data: Arc::new(Flood(message)),
        admin: None,
        runtime: tokio::runtime::Handle::current(),
        credentials: None,
        clock: Clock::default(),
    };
    let client = Client::builder().connections(1..=1).prime(false).open(endpoint).await;
    client.with(|settings| settings.each(|call| call.max_attempts = 1))
}

fn plan() -> Bytes {
    let of = Type { kind: Some(TypeKind::Int64Type(types::Int64::default())) };
    let columns = vec![ColumnMetadata { name: "n".to_owned(), r#type: Some(of) }];
    let schema = Schema::ProtoSchema(data::ProtoSchema { columns });
    let metadata = data::ResultSetMetadata { schema: Some(schema) };
    let prepared = data::PrepareQueryResponse { metadata: Some(metadata), ..Default::default() };
    prepared.encode_to_vec().into()
}

/// A batch of one NULL, with this resume token.
fn batch(token: &'static str) -> Bytes {
    let batch = Bytes::from(data::ProtoRows { values: vec![data::Value::default()] }.encode_to_vec());
    let part = data::PartialResultSet {
        batch_checksum: Some(crc32c::crc32c(&batch)),
        partial_rows: Some(PartialRows::ProtoRowsBatch(data::ProtoRowsBatch { batch_data: batch })),
        resume_token: token.into(),
        ..Default::default()
    };
    data::ExecuteQueryResponse { response: Some(Response::Results(part)) }.encode_to_vec().into()
}

fn batch_without_a_token(_: u32) -> Bytes {
    batch("")
}

fn scanned(number: u32) -> Bytes {
    let key = format!("{number:08}").into();
    ReadRowsResponse { last_scanned_row_key: key, ..Default::default() }.encode_to_vec().into()
}

async fn query(client: &Client) -> Result<(), Error> {
    client.query("SELECT n FROM t").fetch::<QueryRow>().await.map(drop)
}

async fn read(client: &Client) -> Result<(), Error> {
    let mut rows = client.read_rows(&client.route("t"), ReadRows::all());
    while let Some(row) = rows.next().await {
        row?;
    }
    Ok(())
}

/// Fails unless `run` ends by its deadline after two seconds, whichever sets it.
async fn ends_in_time(message: fn(u32) -> Bytes, run: impl AsyncFn(&Client) -> Result<(), Error>) {
    let client = client(message).await;
    let total = client.with(|settings| settings.each(|call| call.total_timeout = 2 * SECOND));
    let attempt = client.with(|settings| settings.each(|call| call.attempt_timeout = 2 * SECOND));
    for client in [total, attempt] {
        let begun = Instant::now();
        let error = run(&client).await.unwrap_err();
        assert!(error.is_deadline_exceeded() && error.to_string().contains("within 2s"), "{error}");
        assert!((2_000..2_010).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    }
    let begun = Instant::now();
    let error = run(&client.with_deadline((begun + 2 * SECOND).into_std())).await.unwrap_err();
    assert!(error.is_deadline_exceeded(), "{error}");
    assert!((2_000..2_010).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());

    let begun = Instant::now();
    assert!(timeout(2 * SECOND, run(&client)).await.is_err());
    let late = begun.elapsed() - 2 * SECOND;
    assert!(late <= 2 * PER_TURN * MILLISECOND, "{late:?} late");
}

#[tokio::test(start_paused = true)]
async fn batches_without_a_token_take_no_more_than_their_time() {
    ends_in_time(batch_without_a_token, query).await;
}

#[tokio::test(start_paused = true)]
async fn answers_without_rows_take_no_more_than_their_time() {
    ends_in_time(scanned, read).await;
}
