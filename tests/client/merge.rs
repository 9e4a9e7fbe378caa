//! Rows from answers, and answers that break the rules of chunks, as a caller sees them. Each rule by itself: the tests of the merger in
//! `keyderive/src/client/row_merger`, which also have the words of each fault.

use keyderive::ErrorKind;
use keyderive::client::{ReadRows, ReadStats};
use keyderive::row::RawRow;
use keyderive_scripted::{Answer, Chunk, Mock, Rpc, cell, row};
use keyderive_tests::fixtures::assert_error;
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

/// Columns are inherited, timestamps and labels are not; a value comes in pieces, in one message and over several.
#[tokio::test(start_paused = true)]
async fn a_row_has_its_cells_in_every_form_of_chunks() {
    let of_columns = Answer::chunks([
        cell("k").timestamp(7).label("x").value("1"),
        more().timestamp(9).value("2").label("y").label("z"),
        more().qualifier("r").value("3"),
        more().family("g").qualifier("q").value("4"),
        cell("k").family("").qualifier("").value("5").commit(),
    ]);
    let of_pieces = Answer::chunks([
        cell("k").timestamp(5).label("x").value("ab").of_size(6),
        more().value("cd").of_size(6),
        more().value("ef"),
    ]);
    let of_pieces = of_pieces
        .and_chunks([more().value("a").of_size(2)])
        .and_chunks([more().value("b").of_size(2)])
        .and_chunks([more(), more().value("whole").commit()]);
    let of_resets = Answer::chunks([
        cell("k").value("old"),
        more().reset(),
        cell("k").value("ol").of_size(3),
        more().reset(),
        row("k"),
    ]);
    for (answer, expected) in [
        (of_columns, &["f:q@7=1 x", "f:q@9=2 y z", "f:r@0=3", "g:q@0=4", ":@0=5"][..]),
        (of_pieces, &["f:q@5=abcdef x", "f:q@0=ab", "f:q@0=whole"]),
        (of_resets, &["f:q@0=v"]),
    ] {
        assert_eq!(cells(&only_row(answer).await), expected);
    }
}

/// A scan marker is a message without rows that says how far the server has scanned. A reset row counts as unread, so an earlier row may
/// follow.
#[tokio::test(start_paused = true)]
async fn a_scan_has_its_rows_whatever_lies_between_them() {
    let over_messages = Answer::chunks([row("a"), cell("b")]).and_chunks([more().value("w")]);
    let empty = Answer::chunks([]).and_rows(["a"]).and_chunks([]).and_rows(["b"]).and_chunks([]);
    for (answer, expected) in [
        (Answer::new(), &[][..]),
        (over_messages.and_chunks([more().qualifier("r").commit(), row("c")]), &["a", "b", "c"]),
        (Answer::chunks([row("a"), cell("c"), more().reset(), row("b")]), &["a", "b"]),
        (
            Answer::rows([&b"\x00"[..], b"\x00\x00", b"\x7f", b"\x80", b"\xff", b"\xff\x00"]),
            &[r"\x00", r"\x00\x00", r"\x7f", r"\x80", r"\xff", r"\xff\x00"],
        ),
        (empty, &["a", "b"]),
        (Answer::new().scanned("a").and_rows(["b"]).scanned("c").scanned("d").and_rows(["e"]), &["b", "e"]),
    ] {
        assert_eq!(scan(answer, ReadRows::all()).await, expected);
    }
    let backwards = Answer::rows(["c", "b"]).scanned("aa").and_rows(["a"]);
    assert_eq!(scan(backwards, ReadRows::all().reversed()).await, ["c", "b", "a"]);
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

/// The rows before it are delivered, and the client does not retry.
#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_a_rule_ends_the_scan() {
    let chunks = |chunk| Answer::rows(["a"]).and_chunks([cell("b"), chunk]);
    let with_stats = ReadRows::all().limit(2).with_stats(&ReadStats::new());
    let all = ReadRows::all;
    for (answer, request, before, reason) in [
        (Answer::chunks([row("a"), more().reset()]), all(), &["a"][..], "no row is open"),
        (chunks(more().key("b").reset()), all(), &["a"], "carries data"),
        (
            Answer::chunks([row("a"), cell("b").of_size(2)]),
            all(),
            &["a"],
            "ends before row b\"b\" is committed",
        ),
        (Answer::rows(["a", "c", "b"]), all(), &["a", "c"], "increasing"),
        (Answer::rows(["c", "b", "d"]), all().reversed(), &["c", "b"], "decreasing"),
        (Answer::rows(["a"]).and_chunks([cell("b")]).scanned("c"), all(), &["a"], "is open"),
        (Answer::rows(["b"]).scanned("a"), all(), &["b"], "increasing"),
        (Answer::rows(["a"]).scanned("c").and_rows(["b"]), all(), &["a"], "increasing"),
        (Answer::rows(["a", "b", "c"]), with_stats, &["a", "b"], "more rows than"),
    ] {
        let mock = Mock::new().on(Rpc::ReadRows, answer).on(Rpc::ReadRows, Answer::rows(["z"]));
        let (keys, error) = keys_and_error(table(&mock).read_rows(request)).await;
        assert_eq!(keys, before, "{reason}");
        assert_error(&error, ErrorKind::ProtocolViolation, &[reason]);
        assert!(!error.is_retryable() && error.grpc_code() == Some(Code::Internal.into()), "{error}");
        assert_eq!(asked(&mock).len(), 1, "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_of_one_row_ends_with_the_failure_after_it() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["k"]).fail(Code::DataLoss))
        .on(Rpc::ReadRows, Answer::rows(["k", "l"]));
    let read = async || table(&mock).read_row("k", None).await.unwrap_err();
    assert_eq!(read().await.grpc_code(), Some(Code::DataLoss.into()));
    assert_error(&read().await, ErrorKind::ProtocolViolation, &[]);
}
