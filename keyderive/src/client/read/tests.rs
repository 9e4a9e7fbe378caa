//! Requests as they are sent and split, and Google's acceptance cases for merging rows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyderive_proto::RowsMessage;
use keyderive_proto::data::ReadRowsResponse;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::values::{BytesValue, StringValue};
use serde_json::Value;

use super::*;
use crate::client::row_merger::RowMerger;

/// A cell as the cases write it: row key, family, qualifier, timestamp, value, label.
type Expected = (String, String, String, i64, String, String);

#[test]
fn merging_passes_the_acceptance_cases() {
    let cases: Value =
        serde_json::from_str(include_str!("../../../../tests/figures/read_rows.json")).unwrap();
    let cases = cases["readRowsTests"].as_array().unwrap();
    assert_eq!(cases.len(), 48);
    for case in cases {
        let chunks: Vec<CellChunk> = list(&case["chunks"]).iter().map(chunk).collect();
        let (cells, fails) = expectation(&case["results"]);
        for responses in splits(&chunks) {
            let lengths: Vec<usize> = responses.iter().map(|response| response.chunks.len()).collect();
            let (merged, error) = merge(responses);
            let context = format!("{}, in responses of {lengths:?} chunks: {error:?}", case["description"]);
            assert_eq!(merged, cells, "{context}");
            assert_eq!(error.is_some(), fails, "{context}");
        }
    }
}

/// The chunks in one response, in two for every place to cut, and in one for each.
fn splits(chunks: &[CellChunk]) -> Vec<Vec<ReadRowsResponse>> {
    let response = |chunks: &[CellChunk]| ReadRowsResponse { chunks: chunks.to_vec(), ..Default::default() };
    let mut splits = vec![vec![response(chunks)], chunks.chunks(1).map(response).collect()];
    splits.extend((1..chunks.len()).map(|cut| {
        let (left, right) = chunks.split_at(cut);
        vec![response(left), response(right)]
    }));
    splits
}

/// The cells of the rows that come before the end or the error.
fn merge(responses: Vec<ReadRowsResponse>) -> (Vec<Expected>, Option<String>) {
    let mut merger = RowMerger::new(RequestedRows::all(false), None, Clock::default(), usize::MAX);
    let mut cells = Vec::new();
    for response in responses {
        if let Err(broken) = merger.take(RowsMessage::from(&response).0) {
            return (cells, Some(broken.into()));
        }
        loop {
            match merger.advance() {
                Ok(true) => cells.extend(merger.row().cells().map(|cell| shown(merger.row(), cell))),
                Ok(false) => break,
                Err(broken) => return (cells, Some(broken.into())),
            }
        }
    }
    let error = merger.finish().err();
    (cells, error)
}

fn shown(row: &RawRow, cell: crate::row::RawCell<'_>) -> Expected {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        text(row.key()),
        cell.family().to_owned(),
        text(cell.qualifier()),
        cell.timestamp_micros(),
        text(cell.value()),
        cell.labels().collect::<Vec<_>>().join(","),
    )
}

fn chunk(json: &Value) -> CellChunk {
    let bytes = |name: &str| -> Option<Bytes> {
        json[name].as_str().map(|text| STANDARD.decode(text).unwrap().into())
    };
    let is = |name: &str| json[name].as_bool() == Some(true);
    CellChunk {
        row_key: bytes("rowKey").unwrap_or_default(),
        family_name: json["familyName"].as_str().map(|value| StringValue { value: value.to_owned() }),
        qualifier: bytes("qualifier").map(|value| BytesValue { value }),
        timestamp_micros: number(&json["timestampMicros"]),
        labels: list(&json["labels"]).iter().map(text).collect(),
        value: bytes("value").unwrap_or_default(),
        value_size: json["valueSize"].as_i64().unwrap_or(0).try_into().unwrap(),
        row_status: if is("commitRow") {
            Some(RowStatus::CommitRow(true))
        } else {
            is("resetRow").then_some(RowStatus::ResetRow(true))
        },
    }
}

fn expectation(results: &Value) -> (Vec<Expected>, bool) {
    let fails = list(results).iter().any(|result| result["error"].as_bool() == Some(true));
    let cells = list(results).iter().filter(|result| result["error"].as_bool() != Some(true)).map(|cell| {
        (
            text(&cell["rowKey"]),
            text(&cell["familyName"]),
            text(&cell["qualifier"]),
            number(&cell["timestampMicros"]),
            text(&cell["value"]),
            text(&cell["label"]),
        )
    });
    (cells.collect(), fails)
}

fn list(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn number(json: &Value) -> i64 {
    json.as_str().map_or(0, |text| text.parse().unwrap())
}

#[test]
fn a_request_without_rows_is_empty() {
    let empty = KeyRange::new("b", Some(b"a".to_vec()));
    let whole = KeyRange::new("", None);
    assert!(ReadRows::default().is_empty());
    assert!(ReadRows { ranges: vec![empty.clone(), empty.clone()], ..ReadRows::default() }.is_empty());
    assert!(ReadRows { ranges: vec![whole.clone()], limit: Some(0), ..ReadRows::default() }.is_empty());
    assert!(!ReadRows { ranges: vec![empty.clone(), whole.clone()], ..ReadRows::default() }.is_empty());
    assert!(!ReadRows { keys: vec!["a".into()], ranges: vec![empty], ..ReadRows::default() }.is_empty());
}

#[test]
fn ranges_that_hold_nothing_are_not_sent() {
    use data::row_range::{EndKey, StartKey};
    let range = |start: &str, end: &str| KeyRange::new(start, Some(end.into()));
    let request = ReadRows {
        ranges: vec![range("b", "b"), range("a", "b"), KeyRange::new("", None), range("", "")],
        limit: Some(u64::MAX),
        filter: Some(RowFilter::latest(1)),
        ..ReadRows::default()
    };
    let message = request.into_message("t".to_owned(), String::new()).unwrap();
    assert_eq!(message.rows_limit, i64::MAX);
    assert_eq!(
        message.rows.unwrap().row_ranges,
        [
            data::RowRange {
                start_key: Some(StartKey::StartKeyClosed("a".into())),
                end_key: Some(EndKey::EndKeyOpen("b".into())),
            },
            data::RowRange { start_key: None, end_key: None },
        ]
    );
}

fn range(start: &str, end: &str) -> KeyRange {
    KeyRange::new(start, Some(end.into()))
}

fn shown_rows(rows: &[KeyOrRange]) -> Vec<String> {
    let shown = |rows: &KeyOrRange| match rows {
        KeyOrRange::Key(key) => key.escape_ascii().to_string(),
        KeyOrRange::Range(range) => range.to_string(),
    };
    rows.iter().map(shown).collect()
}

#[test]
fn keys_and_ranges_are_merged_in_key_order() {
    let keys = ["x", "b", "m", "", "x", "c", "a"].map(Bytes::from);
    let ranges = [range("p", "r"), range("b", "c"), range("z", "a"), range("q", "s"), range("s", "t")];
    let rows = in_key_order(keys.into(), ranges.into());
    assert_eq!(shown_rows(&rows), ["a", "[b, c)", "c", "m", "[p, t)", "x"]);
    let whole =
        in_key_order(vec!["a".into()], vec![range("b", "c"), KeyRange::new("", None), range("d", "e")]);
    assert_eq!(shown_rows(&whole), ["[start of table, end of table)"]);
}

#[test]
fn a_request_that_fits_is_sent_as_it_is() {
    let request = ReadRows::new().key("b").key("a").key("a").range(range("a", "c"));
    let (first, others) = request.split();
    assert_eq!((first.keys.len(), first.ranges.len(), others.len()), (3, 1, 0));
}

#[test]
fn parts_are_read_one_after_the_other() {
    let keys: Vec<Bytes> = (0..3000).map(|row| format!("{row:0>500}").into()).collect();
    for reversed in [false, true] {
        let mut request = ReadRows { keys: keys.clone(), limit: Some(7), reversed, ..ReadRows::default() };
        request.keys.reverse();
        let (first, mut others) = request.split();
        let mut all = vec![first];
        all.extend(std::iter::from_fn(|| others.pop()));
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|part| part.limit == Some(7) && part.reversed == reversed));
        let mut read: Vec<Bytes> = all.into_iter().flat_map(|part| part.keys).collect();
        if reversed {
            read.reverse();
        }
        assert_eq!(read, keys);
    }
}
