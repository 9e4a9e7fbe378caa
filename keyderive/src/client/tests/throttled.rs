//! Writes of many rows, throttled to the server's rate.

use std::time::Duration;

use keyderive_proto::data::{MutateRowsResponse, RateLimitInfo, mutate_rows_response::Entry};
use keyderive_proto::values;
use keyderive_scripted::{Answer, Mock, Rpc};
use tokio::time::Instant;
use tonic::Code;

use super::*;
use crate::row::Mutation;

/// The outcome of one entry, with a rate for the next requests.
fn answer(factor: f64, seconds: i64) -> Answer {
    let period = Some(values::Duration { seconds, nanos: 0 });
    Answer::new().send(&MutateRowsResponse {
        entries: vec![Entry { index: 0, status: Some(values::Status::default()) }],
        rate_limit_info: Some(RateLimitInfo { factor, period }),
    })
}

/// A server that gives each request this rate.
fn rated(factor: f64) -> Mock {
    Mock::new().by(move |_| answer(factor, 60))
}

fn client(mock: &Mock, throttle: bool) -> Client {
    connected_by(Client::builder().throttle(throttle), mock.connector()).unwrap()
}

/// When each of `times` writes ended, in milliseconds.
async fn write(client: &Client, times: usize) -> Vec<u128> {
    let start = Instant::now();
    let mut ended = Vec::new();
    for _ in 0..times {
        let entries = vec![("k".into(), vec![Mutation::delete_row()])];
        let _ = client.mutate_rows(&client.route("t"), entries).await;
        ended.push(start.elapsed().as_millis());
    }
    ended
}

#[tokio::test(start_paused = true)]
async fn requests_go_at_the_servers_rate() {
    let mock = rated(1.0);
    // The first goes before the server has said anything, and the second is the first that counts.
    assert_eq!(write(&client(&mock, true), 5).await, [0, 0, 100, 200, 300]);
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_one_for_all_clones() {
    let mock = rated(1.0);
    let client = client(&mock, true);
    write(&client, 2).await;
    let hasty = client.with(|settings| settings.each(|call| call.max_attempts = 1));
    assert_eq!((write(&client, 1).await, write(&hasty, 1).await), (vec![100], vec![100]));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_held_up_unasked() {
    assert_eq!(write(&client(&rated(0.7), false), 5).await, [0; 5]);
    let silent = Mock::new().by(|_| Answer::outcomes([(0, Code::Ok)]));
    assert_eq!(write(&client(&silent, true), 5).await, [0; 5]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_request_slows_the_next_ones_down() {
    let mock =
        Mock::new().on(Rpc::MutateRows, answer(1.0, 1)).by(|_| Answer::failure(Code::ResourceExhausted));
    let client = client(&mock, true);
    write(&client, 1).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    // 10 a second, then 7; the first turn was reserved before the failure.
    assert_eq!(write(&client, 4).await, [0, 100, 243, 386]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_time_for_the_operation() {
    let mock = rated(1.0);
    let client = client(&mock, true);
    write(&client, 1).await;
    let hasty = client.with(|settings| settings.mutate_rows.total_timeout = Duration::from_millis(250));
    let start = Instant::now();
    let route = client.route("t");
    let waits = (0..50).map(|_| hasty.mutate_rows(&route, vec![("k".into(), vec![Mutation::delete_row()])]));
    futures_util::future::join_all(waits).await;
    assert!(start.elapsed() <= Duration::from_millis(251), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn only_a_throttled_client_says_that_it_is() {
    let mock = rated(1.0);
    write(&client(&mock, false), 1).await;
    write(&client(&mock, true), 1).await;
    let requests = mock.requests();
    let features: Vec<_> =
        requests.iter().map(|request| request.header("bigtable-features").unwrap()).collect();
    // The fields 3 and 5 of `FeatureFlags`, between those that every client sets.
    assert_eq!(features, ["CAEgATABOAE=", "CAEYASABKAEwATgB"]);
}
