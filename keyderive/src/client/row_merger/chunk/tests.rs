//! The chunks of messages as they lie, beside the generated messages.

use bytes::Bytes;
use fastrand::Rng;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::data::request_stats::StatsView;
use keyderive_proto::data::{FullReadStatsView, ReadIterationStats, ReadRowsResponse, RequestStats};
use keyderive_proto::values::{BytesValue, StringValue};
use prost::Message as _;

use super::*;
use crate::client::row_merger::fast_path::{self, LastNumber, WholeCell};

/// How many messages are tried; ten million are run by hand.
const MESSAGES: u64 = 100_000;

/// All that a message says, or what is wrong with it.
fn read(message: &[u8]) -> Result<ReadRowsResponse, Malformed> {
    let bytes = |span: Span| Bytes::copy_from_slice(span.of(message));
    let text = |span: Span| str::from_utf8(span.of(message)).expect("is checked").to_owned();
    let mut response = ReadRowsResponse::default();
    let (mut at, mut last) = (0, LastNumber::default());
    loop {
        let fast_path = fast_path::cell(message, at, &mut last);
        let chunk = match next(message, &mut at)? {
            MessagePart::Chunk(chunk) => chunk,
            MessagePart::Scanned(key) => {
                response.last_scanned_row_key = bytes(key);
                continue;
            }
            MessagePart::Stats(stats) => {
                let all = response.request_stats.get_or_insert_default();
                all.merge(stats.of(message)).map_err(|error| error.to_string())?;
                continue;
            }
            MessagePart::End => return Ok(response),
        };
        if let Some((cell, end)) = fast_path {
            assert_eq!(end, at, "{message:02x?}");
            assert_same(cell, &chunk, message);
        }
        response.chunks.push(CellChunk {
            row_key: bytes(chunk.key),
            family_name: chunk.family.map(|family| StringValue { value: text(family) }),
            qualifier: chunk.qualifier.map(|qualifier| BytesValue { value: bytes(qualifier) }),
            timestamp_micros: chunk.timestamp_micros,
            labels: chunk.labels.of(message).into_iter().map(text).collect(),
            value: bytes(chunk.value),
            value_size: chunk.value_size,
            row_status: match chunk.status {
                Status::Open => None,
                Status::Commit => Some(RowStatus::CommitRow(true)),
                Status::Reset => Some(RowStatus::ResetRow(true)),
            },
        });
    }
}

/// The fast path reads what the chunk says.
fn assert_same(cell: WholeCell, chunk: &Chunk, message: &[u8]) {
    let all = |span: Option<Span>| span.map(|span| span.of(message));
    let WholeCell { key, family, qualifier, timestamp_micros, label, value, is_committed } = cell;
    assert_eq!(key.of(message), chunk.key.of(message), "{message:02x?}");
    // Whether it is text is seen elsewhere.
    assert_eq!((all(family), all(qualifier)), (all(chunk.family), all(chunk.qualifier)), "{message:02x?}");
    assert_eq!((timestamp_micros, value.of(message)), (chunk.timestamp_micros, chunk.value.of(message)));
    assert_eq!(chunk.status, if is_committed { Status::Commit } else { Status::Open }, "{message:02x?}");
    assert_eq!(
        label.map(|label| vec![label]).unwrap_or_default(),
        chunk.labels.of(message),
        "{message:02x?}"
    );
    assert_eq!(chunk.value_size, 0, "{message:02x?}");
}

/// What the generated messages read, without statuses that are false, such as `commit_row: false`.
fn generated(message: &[u8]) -> Option<ReadRowsResponse> {
    let mut response = ReadRowsResponse::decode(message).ok()?;
    for chunk in &mut response.chunks {
        let holds =
            |status: &RowStatus| matches!(status, RowStatus::CommitRow(true) | RowStatus::ResetRow(true));
        chunk.row_status = chunk.row_status.filter(holds);
    }
    Some(response)
}

fn message(rng: &mut Rng) -> Vec<u8> {
    let bytes = |rng: &mut Rng| -> Bytes { (0..rng.usize(..6)).map(|_| rng.u8(..)).collect() };
    let text = |rng: &mut Rng| (0..rng.usize(..4)).map(|_| rng.char('a'..='é')).collect::<String>();
    let chunk = |rng: &mut Rng| CellChunk {
        row_key: bytes(rng),
        family_name: rng.bool().then(|| StringValue { value: text(rng) }),
        qualifier: rng.bool().then(|| BytesValue { value: bytes(rng) }),
        timestamp_micros: if rng.bool() { rng.i64(..) } else { rng.i64(..3) },
        labels: (0..rng.usize(..6).saturating_sub(3)).map(|_| text(rng)).collect(),
        value: if rng.u8(..8) == 0 { vec![7; rng.usize(..400)].into() } else { bytes(rng) },
        value_size: if rng.bool() { rng.i32(..) } else { 0 },
        row_status: match rng.u8(..6) {
            0 => Some(RowStatus::CommitRow(true)),
            1 => Some(RowStatus::ResetRow(true)),
            2 => Some(RowStatus::CommitRow(false)),
            _ => None,
        },
    };
    let chunks = (0..rng.usize(..4)).map(|_| chunk(rng)).collect();
    let stats = |rng: &mut Rng| ReadIterationStats { rows_seen_count: rng.i64(..), ..Default::default() };
    let view = |rng: &mut Rng| FullReadStatsView {
        read_iteration_stats: rng.bool().then(|| stats(rng)),
        request_latency_stats: None,
    };
    let request_stats = (rng.u8(..4) == 0)
        .then(|| RequestStats { stats_view: Some(StatsView::FullReadStatsView(view(rng))) });
    ReadRowsResponse { chunks, last_scanned_row_key: bytes(rng), request_stats }.encode_to_vec()
}

/// Changes some bytes, so that fields get other numbers, forms and lengths, and come again.
fn mutate(rng: &mut Rng, message: &mut Vec<u8>) {
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..=message.len());
        match rng.u8(..6) {
            0 => message.truncate(at),
            1 => message.insert(at, rng.u8(..)),
            2 => message.extend_from_within(at..),
            _ if at < message.len() => match rng.u8(..3) {
                0 => message[at] ^= 1 << rng.u8(..8),
                1 => message[at] = rng.u8(..),
                _ => drop(message.remove(at)),
            },
            _ => {}
        }
    }
}

#[test]
fn messages_are_read_as_the_generated_ones() {
    let messages =
        std::env::var("KEYDERIVE_MESSAGES").map_or(MESSAGES, |count| count.parse().expect("a number"));
    let mut rng = Rng::with_seed(8);
    let (mut good, mut mutated_good) = (0, 0);
    for number in 0..messages {
        let mut message = message(&mut rng);
        if number % 4 == 0 {
            assert_eq!(read(&message).ok(), generated(&message), "{message:02x?}");
            good += 1;
            continue;
        }
        mutate(&mut rng, &mut message);
        let expected = generated(&message);
        mutated_good += u64::from(expected.is_some());
        assert_eq!(read(&message).ok(), expected, "{message:02x?}");
    }
    println!("{good} messages, and {mutated_good} of {} that were changed, can be read", messages - good);
    assert!(mutated_good > messages / 20);
}

#[test]
fn chunks() {
    keyderive_tests::fuzz::fuzz("chunks", |message| assert_eq!(read(message).ok(), generated(message)));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (message, fault) in [
        (&[0x0a, 5, 0x0a][..], "byte 2: a field is longer than the message around it"),
        (&[0x0a], "byte 1: it ends in the middle of a number"),
        (&[0x08, 1], "byte 1: a field does not have the wire type of its schema"),
        (&[0x0f], "byte 1: a field has an unknown wire type"),
        (&[0x02, 0], "byte 1: a field has the number 0"),
        (&[0x0a, 4, 0x12, 2, 0x0a, 9], "byte 6: a field is longer than the message around it"),
        (&[0x0a, 5, 0x12, 3, 0x0a, 1, 0xff], "byte 7: a family or a label is not UTF-8"),
        (&[0x0a, 2, 0x42, 0], "byte 3: a field does not have the wire type of its schema"),
        (&[0x24], "byte 1: a group ends that never began"),
        (&[0x25, 1, 2], "byte 1: it ends in the middle of a number"),
        (&[0xff; 11], "byte 10: a number has more than 64 bits"),
    ] {
        let found = read(message).unwrap_err();
        assert!(found.ends_with(fault), "{message:02x?}: {found}");
        assert_eq!(generated(message), None, "{message:02x?}");
    }
}

#[test]
fn fields_that_nobody_knows_are_passed_over() {
    let group = |depth: usize| [vec![0x23; depth], vec![0x24; depth]].concat();
    for unknown in [&[0x20, 0xff, 1][..], &[0x21, 1, 2, 3, 4, 5, 6, 7, 8], &[0x22, 2, 0xff, 0xff], &group(40)]
    {
        assert_eq!(read(unknown).unwrap(), ReadRowsResponse::default());
    }
    // In a chunk, whose field 3 is the qualifier, field 19 is nobody's.
    let inside = [0x0a, 3, 0x98, 0x01, 7];
    assert_eq!(read(&inside).ok(), generated(&inside));
    assert!(read(&group(1000)).unwrap_err().contains("too deep"));
}
