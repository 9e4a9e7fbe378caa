//! Writes of many rows, throttled to the server's rate.

use std::sync::Mutex;
use std::time::Duration;

use keyderive_proto::data::{MutateRowsResponse, RateLimitInfo};
use keyderive_proto::values;
use tokio::time::Instant;
use tonic::{Code, Status};

use super::scripted::{Script, outcome};
use super::*;
use crate::row::Mutation;

/// Answers each request with a script of its own, the last one first.
struct Turns(Mutex<Vec<Script>>);

impl InProcess for Turns {
    fn call(
        &self,
        request: http::Request<tonic::body::Body>,
    ) -> BoxFuture<http::Response<tonic::body::Body>> {
        self.0.lock().unwrap().pop().unwrap().call(request)
    }
}

fn answer(factor: f64, seconds: i64) -> MutateRowsResponse {
    let period = Some(values::Duration { seconds, nanos: 0 });
    MutateRowsResponse {
        entries: vec![outcome(0, Code::Ok)],
        rate_limit_info: Some(RateLimitInfo { factor, period }),
    }
}

fn client(script: &Script, throttle: bool) -> Client {
    Client::builder().throttle(throttle).in_process(Arc::new(script.clone()), None)
}

/// When each of these writes has ended, in milliseconds.
async fn write(client: &Client, times: usize) -> Vec<u128> {
    let start = Instant::now();
    let mut ended = Vec::new();
    for _ in 0..times {
        let entries = vec![("k".into(), vec![Mutation::delete_row()])];
        let _ = client.mutate_rows("t", entries).await;
        ended.push(start.elapsed().as_millis());
    }
    ended
}

#[tokio::test(start_paused = true)]
async fn requests_follow_the_servers_rate() {
    let script = Script { outcomes: vec![Ok(answer(1.0, 60))], ..Script::default() };
    // The first write goes before the server has sent a rate; the second is the first that counts.
    assert_eq!(write(&client(&script, true), 5).await, [0, 0, 100, 200, 300]);
}

#[tokio::test(start_paused = true)]
async fn clones_share_the_rate() {
    let script = Script { outcomes: vec![Ok(answer(1.0, 60))], ..Script::default() };
    let client = client(&script, true);
    write(&client, 2).await;
    let hasty = client.with(|settings| settings.each(|call| call.max_attempts = 1));
    assert_eq!((write(&client, 1).await, write(&hasty, 1).await), (vec![100], vec![100]));
}

#[tokio::test(start_paused = true)]
async fn without_a_rate_nothing_is_throttled() {
    let script = Script { outcomes: vec![Ok(answer(0.7, 60))], ..Script::default() };
    assert_eq!(write(&client(&script, false), 5).await, [0; 5]);
    let silent = MutateRowsResponse { entries: vec![outcome(0, Code::Ok)], rate_limit_info: None };
    let script = Script { outcomes: vec![Ok(silent)], ..Script::default() };
    assert_eq!(write(&client(&script, true), 5).await, [0; 5]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_request_slows_the_next_ones_down() {
    let answers = |outcome| Script { outcomes: vec![outcome], ..Script::default() };
    let busy = || answers(Err(Status::resource_exhausted("too much")));
    let turns = vec![busy(), busy(), busy(), busy(), answers(Ok(answer(1.0, 1)))];
    let client = Client::builder().throttle(true).in_process(Arc::new(Turns(Mutex::new(turns))), None);
    write(&client, 1).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    // 10 a second, then 7; the first turn was reserved before the failure.
    assert_eq!(write(&client, 4).await, [0, 100, 243, 386]);
}

#[tokio::test(start_paused = true)]
async fn throttling_ends_with_the_operations_timeout() {
    let script = Script { outcomes: vec![Ok(answer(1.0, 60))], ..Script::default() };
    let client = client(&script, true);
    write(&client, 1).await;
    let hasty = client.with(|settings| settings.mutate_rows.total_timeout = Duration::from_millis(250));
    let start = Instant::now();
    let waits = (0..50).map(|_| hasty.mutate_rows("t", vec![("k".into(), vec![Mutation::delete_row()])]));
    futures_util::future::join_all(waits).await;
    assert!(start.elapsed() <= Duration::from_millis(251), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn only_a_throttled_client_announces_it() {
    let script = Script { outcomes: vec![Ok(answer(1.0, 60))], ..Script::default() };
    write(&client(&script, false), 1).await;
    write(&client(&script, true), 1).await;
    let seen = script.seen.lock().unwrap();
    let features: Vec<_> = seen.iter().map(|headers| headers.get("bigtable-features").unwrap()).collect();
    // Two more flags than other clients.
    assert_eq!(features, ["CAEgATABOAE=", "CAEYASABKAEwATgB"]);
}
