use keyderive_proto::RowsMessage;
use keyderive_proto::data::ReadRowsResponse;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::values::{BytesValue, StringValue};

use super::*;
use crate::plan::KeyRange;

impl From<MergeError> for String {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::ProtocolViolation(how) => how,
            MergeError::TooLarge(key, limit) => format!("row {} takes more than {limit} bytes", Shown(&key)),
        }
    }
}

/// A chunk of a whole cell under family `A` and qualifier `C`.
fn cell(key: &'static str, value: &'static str) -> CellChunk {
    CellChunk {
        row_key: key.into(),
        family_name: Some(StringValue { value: "A".to_owned() }),
        qualifier: Some(BytesValue { value: "C".into() }),
        timestamp_micros: 1000,
        value: value.into(),
        ..CellChunk::default()
    }
}

fn piece(value: &'static str, value_size: i32) -> CellChunk {
    CellChunk { value: value.into(), value_size, ..CellChunk::default() }
}

fn commit(chunk: CellChunk) -> CellChunk {
    CellChunk { row_status: Some(RowStatus::CommitRow(true)), ..chunk }
}

fn reset(chunk: CellChunk) -> CellChunk {
    CellChunk { row_status: Some(RowStatus::ResetRow(true)), ..chunk }
}

/// The rows of a stream, or the text of the error.
fn merge(reversed: bool, chunks: impl IntoIterator<Item = CellChunk>) -> Result<Vec<RawRow>, String> {
    let chunks: Vec<CellChunk> = chunks.into_iter().collect();
    let merged = merge_messages(reversed, [response(chunks.clone(), "")]);
    // What lies in one message is shared, and what goes over the end of one is copied: the outcome is the same.
    let single = chunks.into_iter().map(|chunk| response(vec![chunk], ""));
    assert_eq!(merge_messages(reversed, single), merged);
    merged
}

fn response(chunks: Vec<CellChunk>, scanned_key: &'static str) -> ReadRowsResponse {
    ReadRowsResponse { chunks, last_scanned_row_key: scanned_key.into(), ..Default::default() }
}

fn merge_messages(
    reversed: bool,
    messages: impl IntoIterator<Item = ReadRowsResponse>,
) -> Result<Vec<RawRow>, String> {
    let mut merger = RowMerger::new(RequestedRows::all(reversed), None, Clock::default(), usize::MAX);
    let mut rows = Vec::new();
    for message in messages {
        merger.take(RowsMessage::from(&message).0)?;
        while merger.advance()? {
            rows.push(merger.row().clone());
        }
    }
    merger.finish()?;
    Ok(rows)
}

fn cells(rows: &[RawRow]) -> Vec<crate::row::RawCell<'_>> {
    rows.iter().flat_map(RawRow::cells).collect()
}

fn keys(rows: &[RawRow]) -> Vec<&[u8]> {
    rows.iter().map(RawRow::key).collect()
}

#[track_caller]
fn assert_broken(chunks: impl IntoIterator<Item = CellChunk>, reason: &str) {
    let error = merge(false, chunks).unwrap_err();
    assert!(error.contains(reason), "{error}");
}

#[test]
fn keys_increase_in_a_scan() {
    let rows = merge(false, [commit(cell("a", "1")), commit(cell("b", "2"))]).unwrap();
    assert_eq!(keys(&rows), [b"a", b"b"]);
    assert_broken([commit(cell("b", "1")), commit(cell("a", "2"))], "increasing");
    assert_broken([commit(cell("b", "1")), commit(cell("b", "2"))], "increasing");
}

#[test]
fn keys_decrease_in_a_reversed_scan() {
    let rows = merge(true, [commit(cell("b", "1")), commit(cell("a", "2"))]).unwrap();
    assert_eq!(keys(&rows), [b"b", b"a"]);
    for second in ["b", "c"] {
        let error = merge(true, [commit(cell("b", "1")), commit(cell(second, "2"))]).unwrap_err();
        assert!(error.contains("decreasing"), "{error}");
    }
}

#[test]
fn a_chunk_may_repeat_the_key_of_its_row() {
    let rows = merge(false, [cell("a", "1"), commit(cell("a", "2"))]).unwrap();
    assert_eq!(rows[0].cells().len(), 2);
    assert_broken([cell("a", "1"), commit(cell("b", "2"))], "before row b\"a\" is committed");
}

#[test]
fn a_first_chunk_names_its_cell() {
    assert_broken([CellChunk { row_key: Bytes::new(), ..cell("a", "1") }], "no row key");
    assert_broken([CellChunk { family_name: None, ..cell("a", "1") }], "no family");
    assert_broken([CellChunk { qualifier: None, ..cell("a", "1") }], "no qualifier");
    let empty = CellChunk {
        family_name: Some(StringValue::default()),
        qualifier: Some(BytesValue::default()),
        ..cell("a", "1")
    };
    let rows = merge(false, [commit(empty)]).unwrap();
    assert_eq!((cells(&rows)[0].family(), cells(&rows)[0].qualifier()), ("", &b""[..]));
}

#[test]
fn columns_are_inherited_and_versions_are_not() {
    let labelled = CellChunk { labels: vec!["l".to_owned()], ..cell("a", "1") };
    let rows = merge(false, [labelled, commit(piece("2", 0))]).unwrap();
    let second = cells(&rows)[1];
    assert_eq!((second.family(), second.qualifier()), ("A", &b"C"[..]));
    assert_eq!((second.timestamp_micros(), second.labels().count()), (0, 0));
    assert!(cells(&rows)[0].labels().eq(["l"]));
}

#[test]
fn a_family_needs_its_qualifier() {
    assert_broken([cell("a", "1"), CellChunk { qualifier: None, ..cell("a", "2") }], "without a qualifier");
}

#[test]
fn a_value_comes_in_pieces() {
    let first = CellChunk { value_size: 6, ..cell("a", "ab") };
    let rows = merge(false, [first.clone(), piece("cd", 6), commit(piece("ef", 0))]).unwrap();
    assert_eq!(cells(&rows)[0].value(), b"abcdef");
    assert_eq!(cells(&rows)[0].timestamp_micros(), 1000);
    let rows = merge(false, [first, piece("cdef", 6), commit(piece("", 0))]).unwrap();
    assert_eq!(cells(&rows)[0].value(), b"abcdef");
}

#[test]
fn pieces_must_fit() {
    let first = || CellChunk { value_size: 6, ..cell("a", "ab") };
    assert_broken([first(), commit(piece("c", 0))], "of 6 bytes have 3 bytes");
    assert_broken([first(), commit(piece("cdefg", 0))], "of 6 bytes have more");
    assert_broken([first(), piece("cdefg", 6)], "of 6 bytes have more");
    assert_broken([first(), piece("cd", 7)], "of 6 bytes states 7");
    assert_broken([first(), piece("cd", -1)], "size -1");
    assert_broken([CellChunk { value_size: -1, ..cell("a", "ab") }], "size -1");
    assert_broken([CellChunk { value_size: 6, ..cell("a", "") }], "is empty");
    assert_broken([CellChunk { value_size: 1, ..cell("a", "ab") }], "of 1 bytes have more");
}

#[test]
fn a_further_piece_names_nothing_again() {
    let first = || CellChunk { value_size: 6, ..cell("a", "ab") };
    let again = "names its cell again";
    assert_broken([first(), CellChunk { timestamp_micros: 1, ..piece("cdef", 0) }], again);
    assert_broken([first(), CellChunk { labels: vec!["l".to_owned()], ..piece("cdef", 0) }], again);
    assert_broken([first(), CellChunk { qualifier: Some(BytesValue::default()), ..piece("cdef", 0) }], again);
    assert_broken(
        [first(), CellChunk { family_name: Some(StringValue::default()), ..piece("cdef", 0) }],
        again,
    );
    assert_broken([first(), CellChunk { row_key: "b".into(), ..piece("cdef", 0) }], "row b\"b\" begins");
}

#[test]
fn no_commit_in_the_middle_of_a_value() {
    assert_broken([commit(CellChunk { value_size: 6, ..cell("a", "ab") })], "in the middle of a value");
    let first = CellChunk { value_size: 6, ..cell("a", "ab") };
    assert_broken([first, commit(piece("cd", 6))], "in the middle of a value");
}

#[test]
fn a_reset_takes_back_the_open_row_only() {
    let chunks =
        [commit(cell("a", "1")), cell("c", "2"), reset(CellChunk::default()), commit(cell("b", "3"))];
    assert_eq!(keys(&merge(false, chunks).unwrap()), [b"a", b"b"]);
    let split = CellChunk { value_size: 6, ..cell("c", "ab") };
    let chunks = [commit(cell("a", "1")), split, reset(CellChunk::default()), commit(cell("b", "3"))];
    assert_eq!(keys(&merge(false, chunks).unwrap()), [b"a", b"b"]);
    let chunks =
        [commit(cell("b", "1")), cell("c", "2"), reset(CellChunk::default()), commit(cell("b", "3"))];
    assert_broken(chunks, "increasing");
}

#[test]
fn a_reset_carries_nothing() {
    assert_broken([reset(CellChunk::default())], "no row is open");
    for data in [
        CellChunk { row_key: "a".into(), ..CellChunk::default() },
        CellChunk { family_name: Some(StringValue::default()), ..CellChunk::default() },
        CellChunk { qualifier: Some(BytesValue::default()), ..CellChunk::default() },
        CellChunk { timestamp_micros: 1, ..CellChunk::default() },
        CellChunk { labels: vec![String::new()], ..CellChunk::default() },
        piece("v", 0),
        piece("", 1),
    ] {
        assert_broken([cell("a", "1"), reset(data)], "carries data");
    }
}

#[test]
fn a_row_is_committed_before_the_end() {
    assert_broken([cell("a", "1")], "ends before row b\"a\" is committed");
    assert_broken([CellChunk { value_size: 6, ..cell("a", "ab") }], "ends before row b\"a\" is committed");
}

#[test]
fn a_value_in_pieces_keeps_its_labels_and_its_neighbours() {
    let first = CellChunk { labels: vec!["l".to_owned(), "m".to_owned()], value_size: 4, ..cell("a", "ab") };
    let rows = merge(false, [cell("a", "0"), first, piece("cd", 0), commit(piece("3", 0))]).unwrap();
    let shown: Vec<(&[u8], Vec<&str>)> =
        cells(&rows).iter().map(|cell| (cell.value(), cell.labels().collect())).collect();
    assert_eq!(shown, [(&b"0"[..], vec![]), (b"abcd", vec!["l", "m"]), (b"3", vec![])]);
}

#[test]
fn a_scanned_key_comes_between_rows_and_in_order() {
    let row = |key| commit(cell(key, "1"));
    let merge = |reversed, messages: Vec<(Vec<CellChunk>, &'static str)>| {
        let messages = messages.into_iter().map(|(chunks, scanned_key)| response(chunks, scanned_key));
        merge_messages(reversed, messages).map(|rows| rows.len())
    };
    assert_eq!(merge(false, vec![(vec![row("b")], ""), (vec![], "d"), (vec![row("e")], "")]), Ok(2));
    let error = |reversed, messages| merge(reversed, messages).unwrap_err();
    assert!(error(false, vec![(vec![], "d"), (vec![], "d")]).contains("increasing"));
    assert!(error(false, vec![(vec![row("b")], ""), (vec![], "a")]).contains("increasing"));
    assert!(error(false, vec![(vec![], "d"), (vec![row("c")], "")]).contains("increasing"));
    assert!(error(false, vec![(vec![cell("e", "1")], ""), (vec![], "f")]).contains("row b\"e\" is open"));
    assert!(error(true, vec![(vec![], "d"), (vec![], "e")]).contains("decreasing"));
    assert_eq!(merge(true, vec![(vec![], "d"), (vec![], "c")]), Ok(0));
}

#[test]
fn a_scanned_key_takes_its_place_among_the_chunks() {
    let row = |key| commit(cell(key, "1"));
    for (reversed, scanned_key, next, goes_on) in [
        (false, "a", "c", true),
        (false, "c", "c", false),
        (false, "c", "d", true),
        (true, "c", "a", true),
        (true, "a", "a", false),
        // The reported key is that of the row itself.
        (false, "b", "c", false),
        (true, "b", "a", false),
    ] {
        let messages = [response(vec![row("b")], scanned_key), response(vec![row(next)], "")];
        assert_eq!(merge_messages(reversed, messages).is_ok(), goes_on, "{reversed} {scanned_key} {next}");
    }
}

/// As one before a row whose values are whole.
#[test]
fn a_scanned_key_comes_before_a_row_in_pieces() {
    let pieces = || vec![CellChunk { value_size: 4, ..cell("c", "ab") }, commit(piece("cd", 0))];
    let merge = |before, chunks, scanned_key| {
        let messages = [response(vec![commit(cell(before, "1"))], ""), response(chunks, scanned_key)];
        merge_messages(false, messages).map(|rows| rows.len())
    };
    assert_eq!(merge("a", pieces(), "b"), Ok(2));
    assert_eq!(merge("a", [pieces(), vec![commit(cell("d", "2"))]].concat(), "b"), Ok(3));
    assert_eq!(merge("a", [vec![commit(cell("bb", "2"))], pieces()].concat(), "b"), Ok(3));
    assert!(merge("b", pieces(), "b").unwrap_err().contains("increasing"));
    assert_eq!(merge("a", pieces(), "d"), Ok(2));
}

#[test]
fn cells_of_the_future_and_scanned_keys_are_counted() {
    let late = |key| CellChunk { timestamp_micros: 4_000_000_000_000_000, ..cell(key, "12") };
    let labelled = CellChunk { labels: vec!["l".to_owned()], ..late("b") };
    let first = CellChunk { value_size: 3, ..late("c") };
    let chunks =
        vec![commit(late("a")), commit(labelled), first, commit(piece("3", 0)), commit(cell("d", "1"))];
    let mut merger = RowMerger::new(RequestedRows::all(false), None, Clock::default(), usize::MAX);
    merger.take(RowsMessage::from(&response(chunks, "e")).0).unwrap();
    while merger.advance().unwrap() {}
    assert_eq!([merger.take_future_cells(), merger.take_future_cells()], [3, 0]);
    assert_eq!([merger.take_scanned(), merger.take_scanned()], [1, 0]);
}

#[test]
fn a_range_holds_its_start_and_not_its_end() {
    for reversed in [false, true] {
        let requested = || RequestedRows::new(&[], &[KeyRange::new("b", Some(b"d".to_vec()))], reversed);
        for (key, is_held) in [(b"a", false), (b"b", true), (b"c", true), (b"d", false)] {
            assert_eq!(requested().advance_to(key), is_held, "{} {reversed}", key.escape_ascii());
        }
        // Its end may be asked for beside it.
        let mut both = RequestedRows::new(
            &[Bytes::from_static(b"d")],
            &[KeyRange::new("b", Some(b"d".to_vec()))],
            reversed,
        );
        assert!(both.advance_to(b"d"));
    }
}

#[test]
fn a_row_in_one_message_shares_its_bytes() {
    let message = RowsMessage::from(&response(vec![commit(cell("a", "1"))], "")).0;
    let mut merger = RowMerger::new(RequestedRows::all(false), None, Clock::default(), usize::MAX);
    merger.take(message.clone()).unwrap();
    assert!(merger.advance().unwrap());
    assert!(message.as_ptr_range().contains(&merger.row().key().as_ptr()));
}

/// A cell: its family, its qualifier, its timestamp, its value, its labels.
type Cell = (String, Bytes, i64, Vec<u8>, Vec<String>);

/// The rules of chunks once more, on generated messages: what is not delivered yet.
#[derive(Default)]
struct Model {
    reversed: bool,
    last: Bytes,
    open: Option<(Bytes, Vec<Cell>)>,
    /// How many bytes the last cell's value has and will have.
    split: Option<usize>,
    rows: Vec<(Bytes, Vec<Cell>)>,
}

impl Model {
    fn is_after(&self, key: &Bytes, last: &Bytes) -> bool {
        last.is_empty() || if self.reversed { key < last } else { key > last }
    }

    /// `None` if a rule is broken.
    fn take(&mut self, message: ReadRowsResponse) -> Option<()> {
        let (was_open, before, rows) = (self.open.is_some(), self.last.clone(), self.rows.len());
        let first = message.chunks.first().map(|chunk| chunk.row_key.clone());
        for chunk in message.chunks {
            self.chunk(chunk)?;
        }
        let scanned = message.last_scanned_row_key;
        if scanned.is_empty() {
            return Some(());
        }
        // It may come before the rows of its message, if none of them began in an earlier one.
        let is_first =
            first.is_some_and(|first| if self.reversed { scanned > first } else { scanned < first });
        if !was_open && is_first {
            let is_in_order = self.rows.len() == rows || self.is_after(&scanned, &before);
            return is_in_order.then_some(());
        }
        let is_in_order = self.open.is_none() && self.is_after(&scanned, &self.last);
        is_in_order.then(|| self.last = scanned)
    }

    fn chunk(&mut self, chunk: CellChunk) -> Option<()> {
        let CellChunk {
            row_key,
            family_name,
            qualifier,
            timestamp_micros,
            labels,
            value,
            value_size,
            row_status,
        } = chunk;
        let bare = family_name.is_none() && qualifier.is_none() && timestamp_micros == 0 && labels.is_empty();
        if row_status == Some(RowStatus::ResetRow(true)) {
            self.split = None;
            self.open.take()?;
            return (bare && row_key.is_empty() && value.is_empty() && value_size == 0).then_some(());
        }
        let is_committed = row_status == Some(RowStatus::CommitRow(true));
        let begins = self.open.is_none();
        if begins && (row_key.is_empty() || !self.is_after(&row_key, &self.last)) {
            return None;
        }
        let (key, cells) = self.open.get_or_insert_with(|| (row_key.clone(), Vec::new()));
        if !(row_key.is_empty() || row_key == *key) {
            return None;
        }
        let size = usize::try_from(value_size).ok()?;
        match self.split {
            Some(whole) => {
                let (.., so_far, _) = cells.last_mut()?;
                so_far.extend_from_slice(&value);
                let fits =
                    if size == 0 { so_far.len() == whole } else { size == whole && so_far.len() <= whole };
                if !(bare && fits) {
                    return None;
                }
            }
            None => {
                let last = cells.last().map(|(family, qualifier, ..)| (family.clone(), qualifier.clone()));
                let (family, qualifier) = match (family_name, qualifier, last) {
                    (Some(family), Some(qualifier), _) => (family.value, qualifier.value),
                    (None, Some(qualifier), Some((family, _))) => (family, qualifier.value),
                    (None, None, Some(column)) => column,
                    _ => return None,
                };
                if size > 0 && !(1..=size).contains(&value.len()) {
                    return None;
                }
                cells.push((family, qualifier, timestamp_micros, value.to_vec(), labels));
            }
        }
        self.split = (size > 0).then_some(size);
        if is_committed {
            if size > 0 {
                return None;
            }
            let row = self.open.take()?;
            self.last = row.0.clone();
            self.rows.push(row);
        }
        Some(())
    }
}

/// The rows of messages up to a broken rule, and whether none is broken.
fn modelled(reversed: bool, messages: &[ReadRowsResponse]) -> (Vec<(Bytes, Vec<Cell>)>, bool) {
    let mut model = Model { reversed, ..Model::default() };
    let is_whole =
        messages.iter().all(|message| model.take(message.clone()).is_some()) && model.open.is_none();
    (model.rows, is_whole)
}

fn merged(reversed: bool, messages: &[Bytes]) -> (Vec<(Bytes, Vec<Cell>)>, bool) {
    let mut merger = RowMerger::new(RequestedRows::all(reversed), None, Clock::default(), usize::MAX);
    let mut rows = Vec::new();
    let mut merge = || {
        for message in messages {
            merger.take(message.clone())?;
            while merger.advance()? {
                let row = merger.row();
                let cells = row.cells().map(|cell| {
                    let labels = cell.labels().map(str::to_owned).collect();
                    let (family, qualifier) =
                        (cell.family().to_owned(), Bytes::copy_from_slice(cell.qualifier()));
                    (family, qualifier, cell.timestamp_micros(), cell.value().to_vec(), labels)
                });
                rows.push((Bytes::copy_from_slice(row.key()), cells.collect()));
            }
        }
        merger.finish()
    };
    let is_whole = merge().is_ok();
    (rows, is_whole)
}

#[test]
fn row_merger() {
    keyderive_tests::fuzz::fuzz("row_merger", |bytes| {
        let mut input = keyderive_tests::fuzz::Input::new(bytes);
        let (reversed, mut messages) = (input.below(2) == 1, Vec::new());
        while !input.is_empty() {
            messages.push(Bytes::copy_from_slice(input.bytes()));
        }
        let found = merged(reversed, &messages);
        let messages = messages.into_iter().map(|message| RowsMessage(message).decoded());
        let Ok(messages) = messages.collect::<Result<Vec<_>, _>>() else {
            assert!(!found.1);
            return;
        };
        assert_eq!(found, modelled(reversed, &messages), "{messages:?}");
        // Rows over several messages are copied, and are the same.
        if messages.iter().all(|message| message.last_scanned_row_key.is_empty()) {
            let chunks = messages.into_iter().flat_map(|message| message.chunks);
            let single: Vec<_> =
                chunks.map(|chunk| RowsMessage::from(&response(vec![chunk], "")).0).collect();
            assert_eq!(merged(reversed, &single), found);
        }
    });
}
