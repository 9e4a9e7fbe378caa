//! Rows in pieces: over several messages, values in parts, and taken back in the middle.

use bytes::Bytes;
use fastrand::Rng;

use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;

/// The most parts that a value comes in.
const MAX_PARTS: usize = 4;

/// Messages with the chunks of whole rows, each row in pieces with this chance.
pub(super) fn rows(rng: &mut Rng, chance: f64, chunks: &[CellChunk]) -> Vec<Vec<CellChunk>> {
    let mut messages = Messages(vec![Vec::new()]);
    for row in chunks.chunk_by(|chunk, _| chunk.row_status.is_none()) {
        if rng.f64() >= chance {
            messages.extend(row);
            continue;
        }
        let pieces: Vec<CellChunk> = row.iter().flat_map(|chunk| parts(rng, chunk)).collect();
        // Only what begins here can be sent from its beginning.
        if pieces.len() > 1 && !pieces[0].row_key.is_empty() && rng.u8(..4) == 0 {
            let taken_back = rng.usize(1..pieces.len());
            messages.spread(rng, &pieces[..taken_back]);
            messages.extend(&[reset()]);
        }
        messages.spread(rng, &pieces);
    }
    messages.0.retain(|message| !message.is_empty());
    messages.0
}

struct Messages(Vec<Vec<CellChunk>>);

impl Messages {
    fn extend(&mut self, chunks: &[CellChunk]) {
        match self.0.last_mut() {
            Some(message) => message.extend_from_slice(chunks),
            None => self.0.push(chunks.to_vec()),
        }
    }

    /// Adds chunks, with ends of messages after some of them.
    fn spread(&mut self, rng: &mut Rng, chunks: &[CellChunk]) {
        for chunk in chunks {
            self.extend(std::slice::from_ref(chunk));
            if rng.bool() {
                self.0.push(Vec::new());
            }
        }
    }
}

/// A cell in parts: the first says what cell it is, all but the last how large the value is in whole, and the last
/// what the cell says of its row.
fn parts(rng: &mut Rng, cell: &CellChunk) -> Vec<CellChunk> {
    let length = cell.value.len();
    let Some(value_size) = i32::try_from(length).ok().filter(|_| length > 1 && rng.bool()) else {
        return vec![cell.clone()];
    };
    let mut bounds: Vec<usize> = (1..MAX_PARTS).map(|_| rng.usize(1..length)).chain([0, length]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let mut parts: Vec<CellChunk> = bounds
        .windows(2)
        .map(|part| CellChunk {
            value: cell.value.slice(part[0]..part[1]),
            value_size,
            ..CellChunk::default()
        })
        .collect();
    if let Some(first) = parts.first_mut() {
        let value = std::mem::take(&mut first.value);
        *first = CellChunk { value, value_size, row_status: None, ..cell.clone() };
    }
    if let Some(last) = parts.last_mut() {
        (last.value_size, last.row_status) = (0, cell.row_status);
    }
    parts
}

fn reset() -> CellChunk {
    CellChunk { row_key: Bytes::new(), row_status: Some(RowStatus::ResetRow(true)), ..CellChunk::default() }
}

#[cfg(test)]
mod tests {
    use keyderive_proto::values::{BytesValue, StringValue};

    use super::*;

    fn cell(row_key: &'static str, value: &'static str, last: bool) -> CellChunk {
        CellChunk {
            row_key: row_key.into(),
            family_name: Some(StringValue { value: "f".to_owned() }),
            qualifier: Some(BytesValue { value: "q".into() }),
            timestamp_micros: 1000,
            value: value.into(),
            row_status: last.then_some(RowStatus::CommitRow(true)),
            ..CellChunk::default()
        }
    }

    #[test]
    fn nothing_changes_without_a_chance() {
        let chunks = vec![cell("a", "1", false), cell("", "22", true), cell("b", "3", true)];
        assert_eq!(rows(&mut Rng::with_seed(1), 0.0, &chunks), [chunks]);
    }

    /// That a client puts them together again is seen where one reads them.
    #[test]
    fn rows_come_in_every_kind_of_pieces() {
        let rng = &mut Rng::with_seed(1);
        let chunks = vec![cell("a", "some", false), cell("", "", false), cell("", "more", true)];
        let (mut resets, mut parts, mut messages) = (0, 0, 0);
        for _ in 0..100 {
            let pieces = rows(rng, 1.0, &chunks);
            assert!(pieces.iter().all(|message| !message.is_empty()));
            messages += pieces.len();
            let pieces: Vec<_> = pieces.concat();
            resets +=
                pieces.iter().filter(|piece| piece.row_status == Some(RowStatus::ResetRow(true))).count();
            parts += pieces.iter().filter(|piece| piece.value_size > 0).count();
            let whole =
                pieces.rsplit(|piece| piece.row_status == Some(RowStatus::ResetRow(true))).next().unwrap();
            let value: Vec<u8> = whole.iter().flat_map(|piece| piece.value.iter().copied()).collect();
            assert_eq!(value, b"somemore");
            assert_eq!(whole[0].row_key, "a");
            assert_eq!(whole.iter().filter(|piece| piece.row_status.is_some()).count(), 1);
        }
        assert!(
            resets > 10 && parts > 100 && messages > 200,
            "{resets} resets, {parts} parts, {messages} messages"
        );
    }
}
