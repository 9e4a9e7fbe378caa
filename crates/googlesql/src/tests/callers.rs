//! A query ends when its caller has gone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use keyderive::embedded::Bigtable;
use keyderive::query::QueryRow;
use keyderive_embedded::{OnOpen, Query, QueryEngine, QueryTables};
use keyderive_proto::data::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::{Code, Status};

use crate::Engine;

/// Says when a query begins to compute rows, and how it ends.
struct Watched(mpsc::UnboundedSender<Option<Result<(), Status>>>);

impl QueryEngine for Watched {
    fn open(
        &self,
        query: &Query,
        parameters: &BTreeMap<String, Value>,
        tables: &QueryTables<'_>,
        on_open: OnOpen<'_>,
    ) -> Result<(), Status> {
        let runs = Mutex::new(false);
        let result = Engine::default().open(query, parameters, tables, &mut |columns, run| {
            on_open(columns, &mut |row| {
                *runs.lock().unwrap() = true;
                self.0.send(None).unwrap();
                run(row)
            })
        });
        if runs.into_inner().unwrap() {
            self.0.send(Some(result.clone())).unwrap();
        }
        result
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_query_ends_when_its_caller_goes() {
    let digits = "UNNEST([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])";
    let billions = [digits; 9].join(", ");
    for query in [
        format!("SELECT COUNT(*) FROM {billions}"),
        format!("SELECT a FROM UNNEST([1]) AS a, {billions} WHERE a = 2"),
        format!("SELECT DISTINCT a FROM UNNEST([1, 2]) AS a, {billions}"),
        format!("SELECT a FROM UNNEST([1, 2]) AS a, {billions} ORDER BY a LIMIT 1"),
        format!("SELECT a, COUNT(*) FROM UNNEST([1, 2]) AS a, {billions} GROUP BY a"),
        format!("SELECT a FROM UNNEST([1, 2]) AS a, {billions} LIMIT 1 OFFSET 1000000000000"),
        // One row, for which a function takes minutes.
        "SELECT REPEAT('a', 1000000) LIKE CONCAT('%', REPEAT('a', 500000), 'b%')".to_owned(),
        "SELECT REGEXP_REPLACE(REPEAT('a', 1000000), '(?:a*b)?', '')".to_owned(),
        "SELECT REGEXP_EXTRACT(REPEAT('a', 1000000), '(?:a*b)?', 1, 900000)".to_owned(),
    ] {
        let (send, mut watched) = mpsc::unbounded_channel();
        let client = Bigtable::in_memory().with_query_engine(Arc::new(Watched(send))).client();
        let call = tokio::spawn({
            let query = query.clone();
            async move { client.query(query.as_str()).fetch::<QueryRow>().await }
        });
        assert!(watched.recv().await.unwrap().is_none(), "{query}");
        call.abort();
        let gone = Instant::now();
        let ended =
            timeout(Duration::from_secs(10), watched.recv()).await.unwrap_or_else(|_| panic!("{query}"));
        let status = ended.unwrap().unwrap().unwrap_err();
        assert_eq!(status.code(), Code::Cancelled, "{query}: {status}");
        println!("{:.1?} after its caller: {query:.60}", gone.elapsed());
    }
}
