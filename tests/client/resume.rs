//! Interrupted scans: what they request when they resume.

use keyderive::ErrorKind;
use keyderive::client::ReadRows;
use keyderive::plan::KeyRange;
use keyderive::row::RowFilter;
use keyderive_scripted::{Answer, Mock, Rpc, cell};
use keyderive_tests::fixtures::assert_error;
use tonic::Code;

use crate::support::{all, asked, keys, keys_and_error, table, text};

/// Rows, and then a transient failure.
fn breaks(rows: &[&'static str]) -> Answer {
    Answer::rows(rows.iter().copied()).fail(Code::Unavailable)
}

/// A server that answers `ReadRows` with these, one after the other.
fn mock<const N: usize>(answers: [Answer; N]) -> Mock {
    answers.into_iter().fold(Mock::new(), |mock, answer| mock.on(Rpc::ReadRows, answer))
}

fn range(start: &str, end: &str) -> KeyRange {
    KeyRange::new(start, Some(end.into()))
}

/// What a scan requests when its first answer breaks off after these rows. If no row is left, it sends nothing: a request without keys and
/// ranges would read the whole table.
#[tokio::test(start_paused = true)]
async fn a_scan_asks_for_what_is_left() {
    let all = ReadRows::all;
    let one = |start, end| ReadRows::new().range(range(start, end));
    let three = one("a", "c").range(range("d", "f")).range(range("g", "i"));
    let both = ReadRows::new().key("a").key("x").range(range("b", "d")).range(range("m", "p"));
    let both_reversed = one("a", "m").range(range("n", "z")).key("b").key("y").reversed();
    for (case, request, before, left) in [
        ("before the first row", ReadRows::new().prefix("p").key("k"), &[][..], Some("k [p,q)")),
        ("a range keeps its end", one("a", "m"), &["c"], Some("(c,m)")),
        ("a range is done", three, &["a", "e"], Some("(e,f) [g,i)")),
        (
            "a range ends with its last row",
            one("a", "b\0").range(range("d", "f")),
            &["a", "b"],
            Some("[d,f)"),
        ),
        // No key lies between a key and the same key with a zero byte appended.
        ("a range has no key left", one("a", "b\0\0").range(range("x", "z")), &["b\0"], Some("[x,z)")),
        ("keys are done", ReadRows::new().key("d").key("a").key("b").key("c"), &["a", "b"], Some("d c")),
        ("keys and ranges", both, &["a", "c", "n"], Some("x (n,p)")),
        ("keys and ranges, reversed", both_reversed, &["y", "o", "c"], Some("b [a,c) reversed")),
        ("all, reversed", all().reversed(), &["y"], Some("[,y) reversed")),
        ("a limit counts the rows received", all().limit(5), &["a", "b"], Some("(b,) limit 3")),
        ("a limit is reached", all().limit(1), &["a"], None),
        ("all keys", ReadRows::new().key("a").key("b"), &["a", "b"], None),
        ("all keys, reversed", ReadRows::new().key("b").key("a").reversed(), &["b", "a"], None),
        ("a range to its end", one("a", "b\0"), &["b"], None),
        ("a range to its start", one("a", "d").reversed(), &["c", "a"], None),
    ] {
        let mock = mock([breaks(before), Answer::new()]);
        let read = keys(table(&mock).read_rows(request)).await.unwrap();
        assert_eq!(read, before.iter().map(|key| text(key.as_bytes())).collect::<Vec<_>>(), "{case}");
        assert_eq!(asked(&mock)[1..], Vec::from_iter(left), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_scan_resumes_after_its_last_row() {
    let mock = mock([breaks(&["a", "b"]), Answer::rows(["c"])]);
    assert_eq!(all(&table(&mock)).await.unwrap(), ["a", "b", "c"]);
    assert_eq!(asked(&mock), ["[,)", "(b,)"]);
}

#[tokio::test(start_paused = true)]
async fn a_scan_that_breaks_off_again_goes_on_again() {
    let mock = mock([breaks(&["a"]), breaks(&[]), breaks(&["b", "c"]), Answer::rows(["d"])]);
    assert_eq!(all(&table(&mock)).await.unwrap(), ["a", "b", "c", "d"]);
    assert_eq!(asked(&mock), ["[,)", "(a,)", "(a,)", "(c,)"]);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_was_not_whole_is_read_again() {
    let mock = mock([
        Answer::rows(["a"]).and_chunks([cell("b").value("old")]).fail(Code::Unavailable),
        Answer::rows(["b", "c"]),
    ]);
    assert_eq!(all(&table(&mock)).await.unwrap(), ["a", "b", "c"]);
    assert_eq!(asked(&mock), ["[,)", "(a,)"]);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_was_not_whole_is_read_again() {
    let first = Answer::chunks([cell("a").value("ol").of_size(3)]).fail(Code::Unavailable);
    let mock = mock([first, Answer::rows(["a"])]);
    let row = table(&mock).read_row("a", None).await.unwrap().unwrap();
    assert_eq!(row.cells().len(), 1);
    assert_eq!(row.cells().next().unwrap().value(), b"v");
}

/// The server says how far it has scanned without finding a row that passes the filter.
#[tokio::test(start_paused = true)]
async fn a_scan_resumes_after_what_was_scanned() {
    let mock = mock([Answer::rows(["a"]).scanned("q").fail(Code::Unavailable), Answer::rows(["z"])]);
    assert_eq!(all(&table(&mock)).await.unwrap(), ["a", "z"]);
    assert_eq!(asked(&mock), ["[,)", "(q,)"]);
}

#[tokio::test(start_paused = true)]
async fn a_reversed_scan_goes_on_before_what_was_scanned() {
    let mock = mock([Answer::rows(["z"]).scanned("q").fail(Code::Unavailable), Answer::rows(["a"])]);
    assert_eq!(keys(table(&mock).read_rows(ReadRows::all().reversed())).await.unwrap(), ["z", "a"]);
    assert_eq!(asked(&mock), ["[,) reversed", "[,q) reversed"]);
}

#[tokio::test(start_paused = true)]
async fn a_limit_counts_over_all_attempts() {
    let mock = mock([breaks(&["a", "b"]), breaks(&["c"]), Answer::rows(["d", "e"])]);
    let read = keys(table(&mock).read_rows(ReadRows::all().limit(5))).await.unwrap();
    assert_eq!(read, ["a", "b", "c", "d", "e"]);
    assert_eq!(asked(&mock), ["[,) limit 5", "(b,) limit 3", "(c,) limit 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_limit_does_not_count_what_was_only_scanned() {
    let mock = mock([
        Answer::rows(["a"]).scanned("b").scanned("c").fail(Code::Unavailable),
        Answer::rows(["d", "e", "f", "g"]),
    ]);
    let read = keys(table(&mock).read_rows(ReadRows::all().limit(5))).await.unwrap();
    assert_eq!(read, ["a", "d", "e", "f", "g"]);
    assert_eq!(asked(&mock), ["[,) limit 5", "(c,) limit 4"]);
}

#[tokio::test(start_paused = true)]
async fn a_scan_that_was_scanned_to_its_end_is_over() {
    let mock = mock([Answer::rows(["a"]).scanned("c").fail(Code::Unavailable), Answer::rows(["z"])]);
    assert_eq!(keys(table(&mock).read_rows(ReadRows::new().range(range("a", "c\0")))).await.unwrap(), ["a"]);
    assert_eq!(asked(&mock).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_has_come_is_not_read_again() {
    let mock = mock([breaks(&["k"])]);
    assert!(table(&mock).read_row("k", None).await.unwrap().is_some());
    assert_eq!(asked(&mock).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_asks_for_no_row_is_not_sent() {
    let mock = Mock::new();
    let table = table(&mock);
    let empty = KeyRange::new("b", Some("a".into()));
    for request in [
        ReadRows::new(),
        ReadRows::new().reversed(),
        ReadRows::all().limit(0),
        ReadRows::new().range(empty.clone()),
        ReadRows::new().key(""),
    ] {
        assert!(keys(table.read_rows(request.clone())).await.unwrap().is_empty(), "{request:?}");
    }
    assert!(mock.requests().is_empty() && mock.connections() == 0);
}

/// The service rejects ranges that end before they start.
#[tokio::test(start_paused = true)]
async fn empty_ranges_beside_others_are_left_out() {
    let mock = mock([Answer::new()]);
    let request = ReadRows::new().range(range("z", "a")).range(range("b", "b")).range(range("c", "d"));
    keys(table(&mock).read_rows(request)).await.unwrap();
    assert_eq!(asked(&mock), ["[c,d)"]);
}

#[tokio::test(start_paused = true)]
async fn all_else_is_asked_for_as_before() {
    let mock = mock([breaks(&["b"]), Answer::new()]);
    let request = ReadRows::all().filter(RowFilter::family("g")).reversed();
    keys(table(&mock).read_rows(request)).await.unwrap();
    let [first, second] = [0, 1].map(|at| mock.requests()[at].read_rows());
    assert!(first.filter.is_some() && first.filter == second.filter && second.reversed);
    assert_eq!((first.table_name, first.app_profile_id), (second.table_name, second.app_profile_id));
}

/// Rows are compared with those of earlier attempts too.
#[tokio::test(start_paused = true)]
async fn a_server_that_goes_on_with_an_old_row_breaks_the_protocol() {
    let mock = mock([breaks(&["a", "b"]), Answer::rows(["b", "c"])]);
    let (read, error) = keys_and_error(table(&mock).read_rows(ReadRows::all())).await;
    assert_eq!(read, ["a", "b"]);
    assert_error(&error, ErrorKind::ProtocolViolation, &["increasing"]);
    assert_eq!(error.last_row_key(), Some(&b"b"[..]));
}

#[tokio::test(start_paused = true)]
async fn a_scan_that_fails_for_good_says_how_far_it_came() {
    let mock = mock([breaks(&["a", "b"]), Answer::rows(["c"]).fail(Code::PermissionDenied)]);
    let (read, error) = keys_and_error(table(&mock).read_rows(ReadRows::all())).await;
    assert_eq!(read, ["a", "b", "c"]);
    assert!(error.is_permission_denied() && error.attempts() == 2, "{error}");
    assert_eq!(error.last_row_key(), Some(&b"c"[..]));
}

/// The successor of a key of 4096 bytes increments its last byte, or the last byte that is not 0xff.
#[tokio::test(start_paused = true)]
async fn a_scan_resumes_after_the_longest_keys() {
    let (longest, next) = ("k".repeat(4096), "k".repeat(4095) + "l");
    let after = mock([Answer::rows([longest.clone()]).fail(Code::Unavailable), Answer::rows(["l"])]);
    assert_eq!(all(&table(&after)).await.unwrap(), [longest, "l".to_owned()]);
    assert_eq!(asked(&after)[1], format!("[{next},)"));

    let end = mock([Answer::rows([vec![0xff; 4096]]).fail(Code::Unavailable)]);
    assert_eq!(all(&table(&end)).await.unwrap().len(), 1);
    assert_eq!(asked(&end).len(), 1);
}
