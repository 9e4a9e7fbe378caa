//! Untrusted filters: an accepted filter gives the same result when it is combined with no-op filters, and when each row is read alone.

use keyderive_embedded::Bigtable;
use keyderive_proto::data::row_filter::{Chain, Condition, Filter, Interleave};
use keyderive_proto::data::{ReadRowsRequest, ReadRowsResponse, RowFilter, RowSet};
use keyderive_tests::fuzz::fuzz;
use keyderive_tests::proxy::messages;
use prost::Message as _;
use tonic::Code;

use crate::requests::{RUNTIME, TABLE, bigtable, call};

/// The answers without rows that are left out; none if the filter is refused.
async fn read(
    bigtable: &Bigtable,
    filter: &RowFilter,
    keys: &[&'static str],
) -> Option<Vec<ReadRowsResponse>> {
    let row_keys = keys.iter().map(|key| (*key).into()).collect();
    let request = ReadRowsRequest {
        table_name: TABLE.to_owned(),
        filter: Some(filter.clone()),
        rows: Some(RowSet { row_keys, row_ranges: Vec::new() }),
        ..ReadRowsRequest::default()
    };
    let (code, data) = call(bigtable, "/google.bigtable.v2.Bigtable/ReadRows", request.encode_to_vec()).await;
    if code == Code::InvalidArgument {
        return None;
    }
    assert_eq!(code, Code::Ok, "{filter:?}");
    let mut answers = messages::<ReadRowsResponse>(data).unwrap();
    answers.retain(|answer| !answer.chunks.is_empty());
    Some(answers)
}

fn wrap(filter: Filter) -> RowFilter {
    RowFilter { filter: Some(filter) }
}

fn keys(answers: &[ReadRowsResponse]) -> Vec<&[u8]> {
    let keys = answers.iter().flat_map(|answer| &answer.chunks).map(|chunk| &chunk.row_key[..]);
    keys.filter(|key| !key.is_empty()).collect()
}

async fn check(bigtable: &Bigtable, filter: &RowFilter) {
    const ROWS: [&str; 3] = ["k", "l", "m"];
    let Some(all) = read(bigtable, filter, &ROWS).await else { return };
    if format!("{filter:?}").contains("RowSampleFilter") {
        return;
    }
    let mut alone = Vec::new();
    for row in ROWS {
        alone.extend(read(bigtable, filter, &[row]).await.unwrap());
    }
    let chunks = |answers: &[ReadRowsResponse]| -> Vec<_> {
        answers.iter().flat_map(|answer| answer.chunks.clone()).collect()
    };
    assert_eq!(chunks(&alone), chunks(&all), "{filter:?}");
    let (pass, block) = (wrap(Filter::PassAllFilter(true)), wrap(Filter::BlockAllFilter(true)));
    let both = |one: &RowFilter, other: &RowFilter| vec![one.clone(), other.clone()];
    for same in [
        Filter::Chain(Chain { filters: both(filter, &pass) }),
        Filter::Chain(Chain { filters: both(&pass, filter) }),
        Filter::Interleave(Interleave { filters: both(filter, &block) }),
        Filter::Interleave(Interleave { filters: both(&block, filter) }),
    ] {
        // It may be nested too deep, or work too much.
        if let Some(same) = read(bigtable, &wrap(same), &ROWS).await {
            assert_eq!(chunks(&same), chunks(&all), "{filter:?}");
        }
    }
    let condition = Filter::Condition(Box::new(Condition {
        predicate_filter: Some(Box::new(filter.clone())),
        true_filter: Some(Box::new(pass)),
        false_filter: None,
    }));
    if let Some(meeting) = read(bigtable, &wrap(condition), &ROWS).await {
        assert_eq!(keys(&meeting), keys(&all), "{filter:?}");
    }
}

#[test]
fn filters() {
    let bigtable = RUNTIME.block_on(bigtable());
    fuzz("filters", |bytes| {
        if let Ok(filter) = RowFilter::decode(bytes) {
            RUNTIME.block_on(check(&bigtable, &filter));
        }
    });
}
