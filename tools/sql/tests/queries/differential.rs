//! Random queries must have the same rows with pushdown, without it, and in memory.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionConfig;
use fastrand::Rng;

use crate::shared::{Event, EventKey, events, layout, lines, provider, query, rows, session, table};
use crate::statements::statement;

/// The same rows in memory, in the same columns.
fn in_memory(rows: &[(EventKey, Event)], schema: &dyn TableProvider) -> MemTable {
    let texts = |of: fn(&(EventKey, Event)) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let columns: Vec<ArrayRef> = vec![
        texts(|(key, _)| &key.user_id),
        texts(|(key, _)| &key.site),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(key, _)| key.at))),
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(key, _)| key.seq))),
        texts(|(_, row)| &row.kind),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|(_, row)| row.amount))),
        Arc::new(rows.iter().map(|(_, row)| row.clicks).collect::<Int64Array>()),
    ];
    let schema = schema.schema();
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    MemTable::try_new(schema, vec![vec![batch]]).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushed_down_and_not_and_in_memory_are_equal() {
    let number = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (count, seed) = (number("KEYDERIVE_SQL_QUERIES", 300), number("KEYDERIVE_SQL_SEED", 1));
    let rows = rows(600);
    let client = events(&rows).await;
    let (pushed_down, unpushed) = (provider(&client), table(&client, &layout()).without_pushdown());
    let (unpushed, memory) = (Arc::new(unpushed), Arc::new(in_memory(&rows, &*pushed_down)));
    let mut random = Rng::with_seed(seed);
    let (mut pushed, mut nonempty) = (0, 0);
    for _ in 0..count {
        let config = SessionConfig::new()
            .with_target_partitions(random.usize(1..6))
            .with_batch_size([2, 64, 8192][random.usize(0..3)]);
        let with = session(pushed_down.clone(), config.clone());
        let without = session(unpushed.clone(), config.clone());
        let memory = session(memory.clone(), config);
        let (is_sorted, sql) = statement(&mut random);
        let all = [query(&with, &sql).await, query(&without, &sql).await, query(&memory, &sql).await];
        let [Ok(one), Ok(other), Ok(expected)] = &all else {
            let failed = all.iter().filter(|result| result.is_err()).count();
            assert_eq!(failed, 3, "seed {seed}: {sql}: {all:?}");
            continue;
        };
        let expected = lines(expected, is_sorted);
        assert_eq!(lines(one, is_sorted), expected, "pushed down, seed {seed}: {sql}");
        assert_eq!(lines(other, is_sorted), expected, "not pushed down, seed {seed}: {sql}");
        nonempty += usize::from(!expected.is_empty());
        let plan = query(&with, &format!("EXPLAIN {sql}")).await.unwrap();
        pushed += usize::from(
            lines(&plan, true).iter().any(|line| line.contains("key=[") && !line.contains("key=[]")),
        );
    }
    // The queries say something.
    assert!(
        pushed * 3 > count as usize && nonempty * 3 > count as usize,
        "{pushed} and {nonempty} of {count}"
    );
    if count == 300 {
        eprintln!("left out: most random queries; KEYDERIVE_SQL_QUERIES=20000 runs more");
    }
}
