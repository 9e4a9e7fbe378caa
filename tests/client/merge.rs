//! Merging chunks into rows, and answers that break the rules of chunks.

use keyderive::ErrorKind;
use keyderive::client::{ReadRows, ReadStats};
use keyderive::row::RawRow;
use keyderive_scripted::{Answer, Chunk, Mock, Rpc, cell, row};
use tonic::Code;

use crate::support::{asked, keys, keys_and_error, table, text};

/// A further chunk: as it is, a cell in the column of the one before.
fn more() -> Chunk {
    Chunk::new()
}

/// The only row of an answer.
async fn only_row(answer: Answer) -> RawRow {
    let mock = Mock::new().on(Rpc::ReadRows, answer);
    table(&mock).read_row("k", None).await.unwrap().unwrap()
}

/// The cells of a row as `family:qualifier@timestamp=value`, then their labels.
fn cells(row: &RawRow) -> Vec<String> {
    let shown = row.cells().map(|cell| {
        let (qualifier, value) = (text(cell.qualifier()), text(cell.value()));
        let column = format!("{}:{qualifier}@{}={value}", cell.family(), cell.timestamp_micros());
        std::iter::once(column.as_str()).chain(cell.labels()).collect::<Vec<_>>().join(" ")
    });
    shown.collect()
}

/// The keys that a scan with this request reads from an answer.
async fn scan(answer: Answer, request: ReadRows) -> Vec<String> {
    let mock = Mock::new().on(Rpc::ReadRows, answer);
    keys(table(&mock).read_rows(request)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn cells_inherit_their_column() {
    let row = only_row(Answer::chunks([
        cell("k").value("1"),
        more().timestamp(9).value("2"),
        more().qualifier("r").value("3"),
        more().family("g").qualifier("q").value("4"),
        more().qualifier("r").value("5").commit(),
    ]))
    .await;
    assert_eq!(cells(&row), ["f:q@0=1", "f:q@9=2", "f:r@0=3", "g:q@0=4", "g:r@0=5"]);
}

#[tokio::test(start_paused = true)]
async fn timestamps_and_labels_are_not_inherited() {
    let row = only_row(Answer::chunks([
        cell("k").timestamp(7).label("x"),
        more().value("w").label("y").label("z").commit(),
    ]))
    .await;
    assert_eq!(cells(&row), ["f:q@7=v x", "f:q@0=w y z"]);
}

#[tokio::test(start_paused = true)]
async fn a_commit_may_come_with_a_cell_of_another_family() {
    let row = only_row(Answer::chunks([
        cell("k").timestamp(99),
        more().family("g").qualifier("r").timestamp(102).value("w").commit(),
    ]))
    .await;
    assert_eq!(cells(&row), ["f:q@99=v", "g:r@102=w"]);
}

#[tokio::test(start_paused = true)]
async fn family_and_qualifier_may_be_empty_where_they_are_present() {
    let row = only_row(Answer::chunks([Chunk::new().key("k").family("").qualifier("").commit()])).await;
    assert_eq!(cells(&row), [":@0="]);
}

#[tokio::test(start_paused = true)]
async fn every_chunk_may_repeat_its_row_key() {
    let row = only_row(Answer::chunks([cell("k"), cell("k").value("w").commit()])).await;
    assert_eq!(row.cells().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_row_may_go_on_in_the_next_message() {
    let answer = Answer::chunks([row("a"), cell("b")]).and_chunks([more().value("w")]);
    let answer = answer.and_chunks([more().qualifier("r").commit(), row("c")]);
    assert_eq!(scan(answer, ReadRows::all()).await, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_value_may_come_in_pieces() {
    let row = only_row(Answer::chunks([
        cell("k").timestamp(5).label("x").value("ab").of_size(6),
        more().value("cd").of_size(6),
        more().value("ef"),
        more().value("whole").commit(),
    ]))
    .await;
    assert_eq!(cells(&row), ["f:q@5=abcdef x", "f:q@0=whole"]);
}

#[tokio::test(start_paused = true)]
async fn the_pieces_of_a_value_may_be_in_several_messages() {
    let first = Answer::chunks([cell("k").value("ab").of_size(4)]);
    let row =
        only_row(first.and_chunks([more().value("c").of_size(4)]).and_chunks([more().value("d").commit()]));
    assert_eq!(cells(&row.await), ["f:q@0=abcd"]);
}

#[tokio::test(start_paused = true)]
async fn the_last_piece_of_a_value_may_be_empty() {
    let row = only_row(Answer::chunks([cell("k").value("ab").of_size(2), more().commit()])).await;
    assert_eq!(cells(&row), ["f:q@0=ab"]);
}

#[tokio::test(start_paused = true)]
async fn a_reset_takes_back_what_came_of_the_row() {
    let row =
        only_row(Answer::chunks([cell("k").value("old"), more().reset(), cell("k").value("new").commit()]));
    assert_eq!(cells(&row.await), ["f:q@0=new"]);
}

#[tokio::test(start_paused = true)]
async fn a_reset_may_come_in_the_middle_of_a_value() {
    let row = only_row(Answer::chunks([cell("k").value("ol").of_size(3), more().reset(), row("k")])).await;
    assert_eq!(cells(&row), ["f:q@0=v"]);
}

/// A reset row counts as unread, so an earlier row may follow.
#[tokio::test(start_paused = true)]
async fn a_reset_row_does_not_count_for_the_order() {
    let answer = Answer::chunks([row("a"), cell("c"), more().reset(), row("b")]);
    assert_eq!(scan(answer, ReadRows::all()).await, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn rows_come_in_the_order_of_their_bytes() {
    let answer = Answer::rows([&b"\x00"[..], b"\x00\x00", b"\x7f", b"\x80", b"\xff", b"\xff\x00"]);
    let read = scan(answer, ReadRows::all()).await;
    assert_eq!(read, [r"\x00", r"\x00\x00", r"\x7f", r"\x80", r"\xff", r"\xff\x00"]);
}

#[tokio::test(start_paused = true)]
async fn a_reversed_scan_takes_rows_against_their_order() {
    let request = ReadRows::all().reversed();
    assert_eq!(scan(Answer::rows(["c", "b"]).scanned("aa").and_rows(["a"]), request).await, ["c", "b", "a"]);
}

#[tokio::test(start_paused = true)]
async fn messages_may_be_empty() {
    let answer = Answer::chunks([]).and_rows(["a"]).and_chunks([]).and_rows(["b"]).and_chunks([]);
    assert_eq!(scan(answer, ReadRows::all()).await, ["a", "b"]);
}

/// A scan marker is a message without rows that says how far the server has scanned.
#[tokio::test(start_paused = true)]
async fn a_scan_marker_is_no_row() {
    let answer = Answer::new().scanned("a").and_rows(["b"]).scanned("c").scanned("d").and_rows(["e"]);
    assert_eq!(scan(answer, ReadRows::all()).await, ["b", "e"]);
}

/// Google's clients disagree on which of the two comes first, so both orders are accepted.
#[tokio::test(start_paused = true)]
async fn a_scan_marker_may_come_with_chunks() {
    for marker in ["a", "c"] {
        let message = keyderive_proto::data::ReadRowsResponse {
            chunks: vec![row("b").into()],
            last_scanned_row_key: marker.into(),
            ..Default::default()
        };
        let answer = Answer::new().send(&message).and_rows(["d"]);
        assert_eq!(scan(answer, ReadRows::all()).await, ["b", "d"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_without_rows_has_none() {
    assert!(scan(Answer::new(), ReadRows::all()).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_large_value_is_one_value() {
    let half = vec![7; 5 << 20];
    let size = i32::try_from(2 * half.len()).unwrap();
    let row = only_row(
        Answer::chunks([cell("k").value(half.clone()).of_size(size)])
            .and_chunks([more().value(half).commit()]),
    );
    assert_eq!(row.await.cells().next().unwrap().value().len(), 10 << 20);
}

/// An answer that breaks a rule: the rows before it are delivered, and the client does not retry.
async fn broken(answer: Answer, request: ReadRows, before: &[&str], reason: &str) {
    let mock = Mock::new().on(Rpc::ReadRows, answer).on(Rpc::ReadRows, Answer::rows(["z"]));
    let (keys, error) = keys_and_error(table(&mock).read_rows(request)).await;
    assert_eq!(keys, before);
    let shown = error.to_string();
    assert!(error.kind() == ErrorKind::ProtocolViolation && shown.contains(reason), "{shown}");
    assert!(!error.is_retryable() && error.grpc_code() == Some(Code::Internal.into()), "{shown}");
    assert_eq!(asked(&mock).len(), 1);
}

/// Cases of [`broken`] by their chunks, after a complete row `a`.
macro_rules! broken {
    ($($name:ident: [$($chunk:expr),*], $reason:literal;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            broken(Answer::chunks([row("a"), $($chunk),*]), ReadRows::all(), &["a"], $reason).await;
        }
    )*};
}

broken! {
    a_row_without_a_key: [more().family("f").qualifier("q").commit()], "no row key";
    a_row_without_a_family: [more().key("b").qualifier("q").commit()], "no family";
    a_row_without_a_qualifier: [more().key("b").family("f").commit()], "no qualifier";
    a_row_that_begins_with_a_reset: [more().reset()], "reset";
    a_row_inside_another: [cell("b"), row("c")], "before row b\"b\" is committed";
    a_row_that_does_not_end: [cell("b")], "the stream ends before row b\"b\" is committed";
    a_row_twice: [row("a")], "increasing";
    a_family_without_a_qualifier: [cell("b"), more().family("g").commit()], "without a qualifier";
    a_commit_in_the_middle_of_a_value: [cell("b").of_size(2).commit()], "in the middle of a value";
    a_value_of_negative_size: [cell("b").of_size(-1)], "the size -1";
    an_empty_first_piece: [cell("b").value("").of_size(2)], "is empty";
    a_piece_that_says_another_size: [cell("b").of_size(3), more().value("w").of_size(4)], "a further piece of a value of 3 bytes states 4";
    pieces_that_are_too_long: [cell("b").of_size(2), more().value("wx").commit()], "have more";
    pieces_that_are_too_short: [cell("b").of_size(3), more().value("w").commit()], "have 2 bytes";
    a_piece_with_a_qualifier: [cell("b").of_size(2), more().qualifier("q").value("w").commit()], "names its cell again";
    a_piece_with_a_family: [cell("b").of_size(2), more().family("f").value("w").commit()], "names its cell again";
    a_piece_with_a_timestamp: [cell("b").of_size(2), more().timestamp(1).value("w").commit()], "names its cell again";
    a_piece_with_a_label: [cell("b").of_size(2), more().label("x").value("w").commit()], "names its cell again";
    a_row_that_ends_in_a_value: [cell("b").of_size(2)], "the stream ends before row b\"b\" is committed";
    a_reset_with_a_key: [cell("b"), more().key("b").reset()], "carries data";
    a_reset_with_a_family: [cell("b"), more().family("f").reset()], "carries data";
    a_reset_with_a_qualifier: [cell("b"), more().qualifier("q").reset()], "carries data";
    a_reset_with_a_timestamp: [cell("b"), more().timestamp(1).reset()], "carries data";
    a_reset_with_a_value: [cell("b"), more().value("v").reset()], "carries data";
    a_reset_with_a_size: [cell("b"), more().of_size(1).reset()], "carries data";
    a_reset_with_a_label: [cell("b"), more().label("x").reset()], "carries data";
}

#[tokio::test(start_paused = true)]
async fn a_row_out_of_order() {
    broken(Answer::rows(["a", "c", "b"]), ReadRows::all(), &["a", "c"], "increasing").await;
}

#[tokio::test(start_paused = true)]
async fn a_reversed_scan_in_the_order_of_keys() {
    broken(Answer::rows(["c", "b", "d"]), ReadRows::all().reversed(), &["c", "b"], "decreasing").await;
}

#[tokio::test(start_paused = true)]
async fn a_scan_marker_inside_a_row() {
    broken(Answer::rows(["a"]).and_chunks([cell("b")]).scanned("c"), ReadRows::all(), &["a"], "is open")
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_scan_marker_out_of_order() {
    broken(Answer::rows(["b"]).scanned("a"), ReadRows::all(), &["b"], "increasing").await;
}

#[tokio::test(start_paused = true)]
async fn a_row_behind_a_scan_marker() {
    broken(Answer::rows(["a"]).scanned("c").and_rows(["b"]), ReadRows::all(), &["a"], "increasing").await;
}

#[tokio::test(start_paused = true)]
async fn more_rows_than_were_asked_for() {
    let with_stats = ReadRows::all().limit(2).with_stats(&ReadStats::new());
    broken(Answer::rows(["a", "b", "c"]), with_stats, &["a", "b"], "more rows than").await;
}
