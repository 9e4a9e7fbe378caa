//! Reads that name more keys or ranges than the service accepts in one request.

use keyderive::client::ReadRows;
use keyderive_scripted::{Answer, Mock, Request};
use tonic::Code;

use crate::support::{asked, keys, table};

/// The most bytes of keys and ranges in one request.
const MOST_BYTES: usize = 512 << 10;

/// Keys of 500 bytes, 1 MB together.
fn many() -> Vec<String> {
    (0..2000).map(|row| format!("{row:0>500}")).collect()
}

fn request() -> ReadRows {
    many().into_iter().rev().fold(ReadRows::new(), ReadRows::key)
}

/// The rows that a request names by key, in scan order.
fn answer(request: &Request) -> Answer {
    let request = request.read_rows();
    let mut keys = request.rows.unwrap().row_keys;
    keys.sort_unstable();
    if request.reversed {
        keys.reverse();
    }
    let limit = usize::try_from(request.rows_limit).unwrap();
    keys.truncate(if limit == 0 { keys.len() } else { limit });
    Answer::rows(keys)
}

fn sizes(mock: &Mock) -> Vec<usize> {
    mock.requests().iter().map(|request| request.message.len()).collect()
}

#[tokio::test(start_paused = true)]
async fn many_keys_are_spread_over_requests() {
    let mock = Mock::new().by(answer);
    assert_eq!(keys(table(&mock).read_rows(request())).await.unwrap(), many());
    let sizes = sizes(&mock);
    assert!(sizes.len() == 2 && sizes.iter().all(|size| *size <= MOST_BYTES), "{sizes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reversed_read_begins_with_the_last_keys() {
    let mock = Mock::new().by(answer);
    let read = keys(table(&mock).read_rows(request().reversed())).await.unwrap();
    assert!(read.iter().eq(many().iter().rev()));
    assert!(sizes(&mock).iter().all(|size| *size <= MOST_BYTES));
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_of_all_requests_together() {
    let mock = Mock::new().by(answer);
    let table = table(&mock);
    assert_eq!(keys(table.read_rows(request().limit(10))).await.unwrap(), many()[..10]);
    assert_eq!(mock.requests().len(), 1);
    assert_eq!(keys(table.read_rows(request().limit(1500))).await.unwrap(), many()[..1500]);
    let limits: Vec<_> = mock.requests().iter().map(|request| request.read_rows().rows_limit).collect();
    let first = i64::try_from(mock.requests()[1].read_rows().rows.unwrap().row_keys.len()).unwrap();
    assert_eq!(limits, [10, 1500, 1500 - first]);
}

#[tokio::test(start_paused = true)]
async fn every_request_resumes_after_its_last_row() {
    let mock = Mock::new().by(|request| match request.header("bigtable-attempt") {
        Some("0") => Answer::rows([format!("{:0>500}", 0)]).fail(Code::Unavailable),
        _ => answer(request),
    });
    assert_eq!(keys(table(&mock).read_rows(request())).await.unwrap(), many());
    assert_eq!(mock.requests().len(), 3);
    assert_eq!(asked(&mock)[1].split(' ').count() + 1, asked(&mock)[0].split(' ').count());
}

/// All rows of the first request arrived, and only its end was lost.
#[tokio::test(start_paused = true)]
async fn a_request_whose_rows_have_all_come_is_followed_by_the_next() {
    let mock = Mock::new().by(|request| match request.header("bigtable-attempt") {
        Some("0") => answer(request).fail(Code::Unavailable),
        _ => answer(request),
    });
    assert_eq!(keys(table(&mock).read_rows(request())).await.unwrap(), many());
    assert_eq!(mock.requests().len(), 2);
}

/// Overlapping ranges are merged, so that no row arrives twice.
#[tokio::test(start_paused = true)]
async fn overlapping_ranges_are_merged() {
    let prefix = |row: &String| row[..row.len() - 1].to_owned();
    let ranges = many().iter().map(prefix).fold(request(), ReadRows::prefix);
    let mock = Mock::new().by(|_| Answer::new());
    assert!(keys(table(&mock).read_rows(ranges)).await.unwrap().is_empty());
    // The 200 prefixes cover all keys, and adjacent ones are merged in tens.
    assert_eq!(mock.requests().len(), 1);
    let pieces = asked(&mock).remove(0);
    assert!(pieces.starts_with('[') && pieces.split(' ').count() == 20, "{pieces}");
}
