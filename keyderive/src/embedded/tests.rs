//! The embedded Bigtable through the client.

mod filters;

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::TryStreamExt as _;

use crate::client::{Client, ErrorKind, Family, GcRule, NewTable, RawTable, ReadRows};
use crate::plan::KeyRange;
use crate::row::{Mutation, RawCell, RawRow, RowFilter};

const TABLE: &str = "events";

/// Set for the run of these tests that keeps their tables in a file.
const OVER_A_FILE: &str = "KEYDERIVE_TEST_OVER_A_FILE";

fn is_over_a_file() -> bool {
    std::env::var_os(OVER_A_FILE).is_some()
}

/// A client of a new, empty Bigtable, in memory or in a file as this run requires.
async fn embedded() -> Client {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    if !is_over_a_file() {
        return Client::embedded();
    }
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("keyderive-{}-{number}.tables", std::process::id()));
    let client = Client::embedded_at(&path).await.unwrap();
    // The open file remains usable without its name, and is freed with the client.
    std::fs::remove_file(path).unwrap();
    client
}

/// Runs the tests of this module again, in another process.
#[test]
fn all_of_this_holds_over_a_file() {
    if is_over_a_file() {
        return;
    }
    let tests = std::env::current_exe().unwrap();
    let run =
        std::process::Command::new(tests).arg("embedded::tests::").env(OVER_A_FILE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("rows_are_dropped_by_prefix"), "{said}");
}

/// A new table of these families, whose rules remove nothing, with a split.
async fn create(client: &Client, families: [&str; 2]) -> RawTable {
    let events = client.raw_table(TABLE);
    events.create(families.map(|name| Family::new(name, GcRule::never())), ["m"]).await.unwrap();
    events
}

async fn events() -> RawTable {
    create(&embedded().await, ["f", "g"]).await
}

fn set(family: &str, qualifier: &'static str, timestamp_micros: i64, value: &'static str) -> Mutation {
    Mutation::set(family, qualifier, timestamp_micros, value)
}

fn put(value: &'static str) -> Vec<Mutation> {
    vec![set("f", "q", 1000, value)]
}

fn key(number: usize) -> Bytes {
    format!("{number:06}").into()
}

async fn keys(events: &RawTable, request: ReadRows) -> Vec<String> {
    let rows: Vec<RawRow> = events.read_rows(request).try_collect().await.unwrap();
    rows.iter().map(|row| String::from_utf8(row.key().to_vec()).unwrap()).collect()
}

async fn fill(events: &RawTable, rows: usize) {
    let entries = (0..rows).map(|number| (key(number), put("v"))).collect();
    events.mutate_rows(entries).await.all_written().unwrap();
}

#[tokio::test]
async fn what_is_written_is_read() {
    let events = events().await;
    let mutations = vec![
        set("g", "q", 1000, "old"),
        set("f", "r", 1000, "1"),
        set("g", "q", 2000, "new"),
        set("f", "", 0, "2"),
    ];
    events.mutate_row("k", mutations).await.unwrap();

    let row = events.read_row("k", None).await.unwrap().unwrap();
    let cells: Vec<_> = row.cells().map(shown).collect();
    assert_eq!(cells, ["f::0=2", "f:r:1000=1", "g:q:2000=new", "g:q:1000=old"]);
    let latest = events.read_row("k", Some(RowFilter::latest(1))).await.unwrap().unwrap();
    assert_eq!(latest.cells().last().map(shown).unwrap(), "g:q:2000=new");
    assert_eq!(latest.cells().len(), 3);
    assert_eq!(events.read_row("j", None).await.unwrap(), None);
}

fn shown(cell: RawCell<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    format!("{}:{}:{}={}", cell.family(), text(cell.qualifier()), cell.timestamp_micros(), text(cell.value()))
}

#[tokio::test]
async fn mutations_of_a_write_are_applied_in_order() {
    let events = events().await;
    events.mutate_row("k", vec![set("f", "old", 1000, "1"), set("g", "old", 1000, "1")]).await.unwrap();
    let column = Mutation::delete_column("g", "old");
    let family = Mutation::delete_family("f");
    events.mutate_row("k", vec![set("f", "new", 1000, "1"), family, column]).await.unwrap();
    assert_eq!(events.read_row("k", None).await.unwrap(), None);
    events.mutate_row("k", vec![Mutation::delete_row(), set("f", "new", 1000, "1")]).await.unwrap();
    assert_eq!(keys(&events, ReadRows::all()).await, ["k"]);
    events.mutate_row("k", vec![Mutation::delete_row()]).await.unwrap();
    assert!(keys(&events, ReadRows::all()).await.is_empty());
}

#[tokio::test]
async fn a_refused_write_changes_nothing() {
    let events = events().await;
    let whole = "it counts microseconds since the epoch, and must be a whole number of milliseconds";
    for (mutations, text) in [
        (
            vec![set("f", "q", 1000, "1"), set("h", "q", 1000, "1")],
            "NOT_FOUND: the table has no column family `h`".to_owned(),
        ),
        (vec![set("f", "q", 1001, "1")], format!("INVALID_ARGUMENT: the timestamp 1001 is invalid: {whole}")),
        (
            vec![set("f", "q", -1000, "1")],
            format!("INVALID_ARGUMENT: the timestamp -1000 is invalid: {whole} and not negative"),
        ),
    ] {
        let error = events.mutate_row("k", mutations).await.unwrap_err();
        let failed = "MutateRow of row `k` on table `events` failed: ";
        assert!(error.to_string().starts_with(&format!("{failed}{text}")), "{error}");
    }
    events.mutate_row(vec![b'k'; 4096], put("v")).await.unwrap();
    let absent = embedded().await.raw_table("absent");
    let error = absent.mutate_row("k", put("v")).await.unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("tables/absent` does not exist"), "{error}");
    assert_eq!(keys(&events, ReadRows::all()).await.len(), 1);
}

#[tokio::test]
async fn entries_of_a_bulk_write_succeed_or_fail_alone() {
    let events = events().await;
    let entries =
        vec![("a".into(), put("v")), ("b".into(), vec![set("h", "q", 0, "v")]), ("c".into(), put("v"))];
    let outcomes = events.mutate_rows(entries).await;
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    let error = outcomes[1].as_ref().unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("column family `h`"), "{error}");
    assert_eq!(keys(&events, ReadRows::all()).await, ["a", "c"]);
    assert!(events.mutate_rows(Vec::new()).await.is_empty());
}

#[tokio::test]
async fn a_write_has_at_most_100_000_mutations() {
    let events = events().await;
    let row = |mutations: usize| vec![Mutation::delete_row(); mutations];
    let error = events.mutate_row("k", row(100_001)).await.unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("has 100001 mutations"),
        "{error}"
    );
    events.mutate_row("k", row(100_000)).await.unwrap();
}

#[tokio::test]
async fn the_time_of_the_server_is_in_milliseconds() {
    let events = events().await;
    events.mutate_row("k", vec![set("f", "q", -1, "v")]).await.unwrap();
    let row = events.read_row("k", None).await.unwrap().unwrap();
    let micros = row.cells().next().unwrap().timestamp_micros();
    assert!(micros > 1_600_000_000_000_000 && micros % 1000 == 0, "{micros}");
}

#[tokio::test]
async fn scans_name_keys_and_ranges_and_read_each_row_once() {
    let events = events().await;
    fill(&events, 10).await;
    let request = ReadRows {
        keys: vec![key(7), key(1), key(1), "absent".into()],
        ranges: vec![KeyRange::new(key(3), Some(key(5).into())), KeyRange::new(key(4), Some(key(6).into()))],
        ..ReadRows::default()
    };
    let expected = ["000001", "000003", "000004", "000005", "000007"];
    assert_eq!(keys(&events, request.clone()).await, expected);
    let limited = ReadRows { limit: Some(2), ..request.clone() };
    assert_eq!(keys(&events, limited).await, expected[..2]);
    let reversed = ReadRows { reversed: true, limit: Some(3), ..request };
    assert_eq!(keys(&events, reversed).await, ["000007", "000005", "000004"]);
}

#[tokio::test]
async fn long_scans_come_whole_in_both_orders() {
    let events = events().await;
    for rows in [63, 64, 65, 2000] {
        fill(&events, rows).await;
        let expected: Vec<String> = (0..rows).map(|number| format!("{number:06}")).collect();
        assert_eq!(keys(&events, ReadRows::all()).await, expected);
        let mut reversed = keys(&events, ReadRows { reversed: true, ..ReadRows::all() }).await;
        reversed.reverse();
        assert_eq!(reversed, expected);
    }
}

#[tokio::test]
async fn a_scan_leaves_room_for_other_tasks() {
    let events = events().await;
    fill(&events, 50_000).await;
    let other = tokio::spawn(async {});
    let mut rows = events.read_rows(ReadRows::all());
    let mut before = 0;
    while !other.is_finished() {
        rows.next().await.unwrap().unwrap();
        before += 1;
    }
    assert!(before < 50_000);
}

#[tokio::test]
async fn a_scan_sees_each_row_whole_while_rows_change() {
    let events = events().await;
    fill(&events, 10_000).await;
    let mut rows = events.read_rows(ReadRows::all());
    let first = rows.next().await.unwrap().unwrap();
    let entries = (0..10_000).map(|number| (key(number), vec![Mutation::delete_row()])).collect();
    events.mutate_rows(entries).await.all_written().unwrap();
    events.mutate_row(key(9_999), vec![set("f", "q", 1000, "w"), set("g", "q", 1000, "w")]).await.unwrap();
    let rest: Vec<RawRow> = rows.try_collect().await.unwrap();
    assert_eq!(first.key(), &key(0));
    assert_eq!(rest.last().unwrap().cells().len(), 2);
}

#[tokio::test]
async fn tables_come_and_go() {
    let client = embedded().await;
    create(&client, ["f", "g"]).await;
    assert_eq!(client.table_info(TABLE).await.unwrap().family_names(), "`f`, `g`");
    let error = client.create_table(TABLE, NewTable::default()).await.unwrap_err();
    assert!(error.is_already_exists(), "{error}");
    client.delete_table(TABLE).await.unwrap();
    for error in [client.table_info(TABLE).await.unwrap_err(), client.delete_table(TABLE).await.unwrap_err()]
    {
        assert!(error.is_not_found(), "{error}");
    }
    let error = client.create_table("no/name", NewTable::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("table `no/name`: this is not a valid table name"), "{error}");
}

#[tokio::test]
async fn samples_cut_the_table_and_end_with_it() {
    let events = events().await;
    assert_eq!(events.sample_row_keys().await.unwrap(), [("m".into(), 0), (Bytes::new(), 0)]);
    for key in ["a", "z"] {
        events.mutate_row(key, put("v")).await.unwrap();
    }
    assert_eq!(events.sample_row_keys().await.unwrap(), [("m".into(), 3), (Bytes::new(), 6)]);
    let error = embedded().await.raw_table("absent").sample_row_keys().await.unwrap_err();
    assert!(error.to_string().starts_with("SampleRowKeys on table `absent` failed: NOT_FOUND"), "{error}");
}

#[tokio::test]
async fn rows_are_dropped_by_prefix() {
    let client = embedded().await;
    let events = create(&client, ["f", "g"]).await;
    let rows: [&[u8]; 6] = [b"a", b"a#", b"a#1", b"a#\xff", b"a$", b"b"];
    for key in rows {
        events.mutate_row(key, put("v")).await.unwrap();
    }
    client.drop_row_range(TABLE, "a#".into()).await.unwrap();
    assert_eq!(keys(&events, ReadRows::all()).await, ["a", "a$", "b"]);
    client.drop_row_range(TABLE, "c".into()).await.unwrap();
    assert!(client.drop_row_range(TABLE, Bytes::new()).await.is_err());
    assert_eq!(keys(&events, ReadRows::all()).await, ["a", "a$", "b"]);
    assert!(client.drop_row_range("absent", "a".into()).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn clones_share_their_tables_and_other_clients_do_not() {
    let client = embedded().await;
    let events = create(&client, ["f", "g"]).await;
    client.clone().raw_table(TABLE).mutate_row("k", put("v")).await.unwrap();
    assert_eq!(keys(&events, ReadRows::all()).await, ["k"]);
    assert!(embedded().await.table_info(TABLE).await.unwrap_err().is_not_found());
    assert_eq!(Client::embedded().target().to_string(), "embedded Bigtable (in memory)");
}

#[test]
fn a_client_is_made_without_a_runtime_and_runs_in_any() {
    fn send<T: Send>(value: T) -> T {
        value
    }
    let client = Client::embedded();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let events = runtime.block_on(send(async {
        let events = create(&client, ["f", "g"]).await;
        events.mutate_row("k", put("v")).await.unwrap();
        events.mutate_row("l", put("v")).await.unwrap();
        events.read_row("k", None).await.unwrap();
        events
    }));
    let other = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    assert_eq!(other.block_on(keys(&events, ReadRows::all())), ["k", "l"]);
    send(events.read_rows(ReadRows::all()));
}

#[tokio::test]
async fn an_address_names_memory_or_a_file() {
    let client = Client::connect("embedded:").await.unwrap();
    assert_eq!(client.target().to_string(), "embedded Bigtable (in memory)");
    let path = std::env::temp_dir().join(format!("keyderive-address-{}.tables", std::process::id()));
    let client = Client::connect(&format!("embedded:{}", path.display())).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(client.target().to_string().contains("keyderive-address"));
}

#[tokio::test]
async fn a_timeout_of_zero_ends_before_anything_is_sent() {
    let client = embedded().await;
    create(&client, ["f", "g"]).await;
    let client = client.with(|settings| settings.each(|call| call.total_timeout = std::time::Duration::ZERO));
    let table = client.raw_table(TABLE);
    for error in [
        table.mutate_row("k", [Mutation::set("f", "q", 0, "v")]).await.unwrap_err(),
        table.read_row("k", None).await.unwrap_err(),
        table.mutate_rows(vec![("k".into(), vec![Mutation::delete_row()])]).await.all_written().unwrap_err(),
        client.list_tables().await.unwrap_err(),
    ] {
        assert!(error.is_deadline_exceeded() && error.attempts() == 0, "{error}");
    }
}

#[test]
fn outside_of_a_runtime_operations_are_errors() {
    use futures_util::FutureExt as _;
    let error = Client::embedded().list_tables().now_or_never().unwrap().unwrap_err();
    assert!(
        error.kind() == ErrorKind::Misconfiguration && error.to_string().contains("tokio runtime"),
        "{error}"
    );
}

/// As the documentation of `read_row` says. Writes reject such keys.
#[tokio::test]
async fn a_key_that_no_row_can_have_reads_as_absent() {
    let table = events().await;
    for key in ["".to_owned(), "k".repeat(4097)] {
        assert_eq!(table.read_row(key, None).await.unwrap(), None);
    }
}
