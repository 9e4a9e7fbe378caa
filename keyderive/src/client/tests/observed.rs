//! The spans, events and metrics of operations.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use keyderive_scripted::{Answer, Failure, Mock};
use tonic::Status;
use tracing::field::{Field, Visit};
use tracing::span::{self, Attributes, Id};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use super::fleet::Fleet;
use super::*;
use crate::plan::KeyRange;
use crate::row::Mutation;

/// A span that has ended, or an event.
#[derive(Clone, Debug)]
struct Record {
    name: &'static str,
    level: Level,
    fields: Fields,
}

#[derive(Clone, Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Record {
    fn get(&self, field: &str) -> &str {
        self.fields.0.get(field).map_or("", String::as_str)
    }

    fn is_of_the_client(metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("keyderive")
    }
}

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<Record>>>);

impl Listener {
    fn listen() -> (Self, DefaultGuard) {
        let listener = Self::default();
        let subscriber = tracing_subscriber::registry().with(listener.clone());
        (listener, tracing::subscriber::set_default(subscriber))
    }

    fn take(&self) -> Vec<Record> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn warnings(&self) -> Vec<Record> {
        self.take().into_iter().filter(|record| record.level == Level::WARN).collect()
    }

    /// The spans of operations that have ended since the last call.
    fn operations(&self) -> Vec<Record> {
        self.take().into_iter().filter(|record| record.name == "bigtable").collect()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Listener {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, record: &span::Record<'_>, context: Context<'_, S>) {
        record.record(context.span(id).unwrap().extensions_mut().get_mut::<Fields>().unwrap());
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        span.extensions_mut()
            .get_mut::<Fields>()
            .unwrap()
            .0
            .insert("entered", span.metadata().target().to_owned());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if Record::is_of_the_client(event.metadata()) {
            let mut fields = Fields::default();
            event.record(&mut fields);
            let level = *event.metadata().level();
            self.0.lock().unwrap().push(Record { name: "event", level, fields });
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap();
        if Record::is_of_the_client(span.metadata()) {
            let fields = span.extensions().get::<Fields>().unwrap().clone();
            let (name, level) = (span.metadata().name(), *span.metadata().level());
            self.0.lock().unwrap().push(Record { name, level, fields });
        }
    }
}

/// A client with a table `t` of three rows.
async fn client(fleet: &Fleet) -> Client {
    let client = fleet.cloud(Client::builder().prime(false).connections(1)).await;
    client.create_table("t", NewTable::with_family("f")).await.unwrap();
    let entry = |key: &'static str| (key.into(), vec![Mutation::set("f", "q", 0, "secret-value")]);
    let entries = ["secret-1", "secret-2", "secret-3"].map(entry);
    client.raw_table("t").mutate_rows(entries.into()).await.all_written().unwrap();
    client
}

/// The values of two lists multiply: 400 users on 251 sites are 100,400 ranges, and 400 on 250 are not too many.
#[tokio::test]
async fn a_scan_of_too_many_ranges_is_warned_of_once_in_each_run() {
    #[derive(crate::RowKey)]
    struct EventKey {
        user: u16,
        site: u8,
        at: u64,
    }

    let client = Client::embedded();
    let events = client.table::<EventKey, ()>("events");
    events.create_if_absent().await.unwrap();
    let (listener, _guard) = Listener::listen();
    let scan = |sites: u8| EventKey::scan().user_any_of(0..400_u16).site_any_of(0..sites);
    assert_eq!(events.count(scan(250)).await.unwrap(), 0);
    assert!(listener.warnings().is_empty());
    for _ in 0..2 {
        assert_eq!(events.count(scan(251)).await.unwrap(), 0);
        let [warning] = &listener.warnings()[..] else { panic!("not one warning") };
        assert_eq!(warning.get("ranges"), "100400");
        let message = warning.get("message");
        assert!(message.starts_with("a scan reads 100400 keys and ranges"), "{message}");
        assert!(message.contains("list fewer values"), "{message}");
    }
    // Of a part, the ranges are counted as they are requested: those of 200 users are few, all but one are many.
    let whole = scan(251).into_plan().unwrap();
    let upper = whole.within(&KeyRange::new("00200", None));
    assert_eq!(events.count(upper).await.unwrap(), 0);
    assert!(listener.warnings().is_empty());
    let most = whole.within(&KeyRange::new("00000#001", None));
    assert_eq!(events.count(most).await.unwrap(), 0);
    assert_eq!(listener.warnings().len(), 1);
}

#[derive(crate::RowKey)]
#[salt(range = 2, over = "id")]
struct VisitKey {
    id: u32,
}

/// A table of 300 rows in two buckets, whose numbers are their ids.
async fn visits() -> crate::Table<VisitKey, BTreeMap<String, i64>> {
    let visits = Client::embedded().table::<VisitKey, BTreeMap<String, i64>>("visits");
    visits.create_if_absent().await.unwrap();
    let row = |id: u32| BTreeMap::from([("n".to_owned(), i64::from(id))]);
    let rows: Vec<_> = (0..300).map(|id| (VisitKey { id }, row(id))).collect();
    visits.put_all(&rows).await.unwrap();
    visits
}

#[tokio::test(start_paused = true)]
async fn a_named_scan_has_its_name_in_the_span_of_each_request() {
    let visits = visits().await;
    let (listener, _guard) = Listener::listen();
    let scan = || visits.scan(VisitKey::scan());
    scan().named("other").named("newest").limit(3).collect().await.unwrap();
    assert_eq!(scan().keys_only().named("all").count().await.unwrap(), 300);
    scan().collect().await.unwrap();
    visits.get(&VisitKey { id: 1 }).await.unwrap();
    let spans = listener.operations();
    let spans: Vec<_> = spans.iter().map(|span| ["operation", "scan"].map(|field| span.get(field))).collect();
    let requests = ["newest", "newest", "all", "all", "", ""].map(|name| ["ReadRows", name]);
    assert_eq!(spans, [&requests[..], &[["ReadRow", ""]]].concat());
}

/// Rows that the client drops count, and rows that a filter drops at the server if the server reports them.
#[tokio::test(start_paused = true)]
async fn a_scan_that_reads_in_vain_is_warned_of_once_a_minute_for_each_name() {
    let visits = visits().await.with(|settings| settings.scan_warning = ScanWarning::at(300, 100));
    let (listener, _guard) = Listener::listen();
    let warnings = || {
        let fields = ["table", "scan", "rows_seen", "rows_returned"];
        let shown = |record: &Record| fields.map(|field| record.get(field).to_owned());
        listener.warnings().iter().map(shown).collect::<Vec<_>>()
    };
    let of = |scan: &str, returned: &str| ["visits", scan, "300", returned].map(str::to_owned);
    let scan = || visits.scan(VisitKey::scan());
    let few = |rows: u32| scan().filter_key(move |key: &VisitKey| key.id < rows);
    few(3).named("few").collect().await.unwrap();
    few(3).named("few").collect().await.unwrap();
    assert_eq!(warnings(), [of("few", "3")]);
    // Other names, and those of no name.
    assert_eq!(few(0).named("none").count().await.unwrap(), 0);
    few(1).named("visit").visit::<VisitKey, Error>(|_, _| Ok(())).await.unwrap();
    few(2).collect().await.unwrap();
    few(2).collect().await.unwrap();
    assert_eq!(warnings(), [of("none", "0"), of("visit", "1"), of("", "2")]);
    // More rows were returned, fewer were read, or the warning is off.
    few(4).named("four").collect().await.unwrap();
    scan().named("whole").collect().await.unwrap();
    let part = visits.scan(VisitKey::scan().id_range(..299)).named("part");
    part.filter_key(|_| false).collect().await.unwrap();
    let silent = visits.with(|settings| settings.scan_warning = ScanWarning::Off);
    silent.scan(VisitKey::scan()).named("off").filter_key(|_| false).collect().await.unwrap();
    // A scan that is dropped counts the rows up to the last one that it delivered.
    let mut dropped = scan().named("dropped").stream();
    dropped.next().await.unwrap().unwrap();
    drop(dropped);
    assert_eq!(warnings(), Vec::<[String; 4]>::new());
    let at_server = || scan().filter(crate::row::RowFilter::block_all());
    assert_eq!(at_server().named("unknown").collect().await.unwrap().len(), 0);
    assert_eq!(warnings(), Vec::<[String; 4]>::new());
    at_server().named("reported").with_stats(&ReadStats::new()).collect().await.unwrap();
    assert_eq!(warnings(), [of("reported", "0")]);
    tokio::time::advance(Duration::from_secs(60)).await;
    few(3).named("few").collect().await.unwrap();
    assert_eq!(warnings(), [of("few", "3")]);
}

/// A second request needs a second connection.
#[tokio::test(start_paused = true)]
async fn hedging_over_one_connection_is_warned_of_once() {
    let (listener, _guard) = Listener::listen();
    for (connections, expected) in [(1, 1), (2, 0)] {
        let mock = Mock::new().by(|_| Answer::new().wait(Duration::from_secs(1)).and_rows(["k"]));
        let client = connected_by(Client::builder().connections(connections), mock.connector()).unwrap();
        let client = client.with(|settings| settings.hedging = Hedging::After(Duration::from_millis(20)));
        for _ in 0..2 {
            client.raw_table("t").read_row("k", None).await.unwrap();
        }
        let warnings = listener.warnings();
        assert_eq!(warnings.len(), expected, "{connections}: {warnings:?}");
        assert!(warnings.iter().all(|it| it.get("message").starts_with("`hedging` does nothing")));
    }
}

#[tokio::test(start_paused = true)]
async fn the_warning_that_a_pool_cannot_grow_names_cause_and_address() {
    let (listener, _guard) = Listener::listen();
    let mock = Mock::new().by(|_| Answer::new().stall());
    let client = connected_by(Client::builder().connections(1..=2), mock.connector()).unwrap();
    let table = client.raw_table("t");
    let write = || {
        let table = table.clone();
        tokio::spawn(async move { table.mutate_row("k", [Mutation::set("f", "q", 0, "v")]).await })
    };
    let _first = write();
    tokio::time::sleep(Duration::from_secs(1)).await;
    mock.set_door(keyderive_scripted::Door::Shut);
    let _writes: Vec<_> = (0..60).map(|_| write()).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let records = listener.take();
    let warning =
        records.iter().find(|record| record.get("message").starts_with("a pool could not grow")).unwrap();
    assert_eq!(
        warning.get("error"),
        "the connection could not be made: connection refused, at the emulator at test:1"
    );
}

/// In 2096.
const LATE: i64 = 4_000_000_000_000_000;

/// Reads a row with two cells of the future, in each way.
async fn read_cells_of_the_future() {
    let client = client(&Fleet::new()).await;
    let cells = ["q", "r"].map(|qualifier| Mutation::set("f", qualifier, LATE, "late"));
    client.raw_table("t").mutate_row("secret-4", cells.to_vec()).await.unwrap();
    client.raw_table("t").read_row("secret-4", None).await.unwrap();
    client.raw_table("t").read_rows(ReadRows::all()).collect::<Vec<_>>().await;
}

#[tokio::test(start_paused = true)]
async fn cells_of_the_future_are_one_warning() {
    let (listener, _guard) = Listener::listen();
    read_cells_of_the_future().await;
    let warnings = listener.warnings();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!((warning.get("table"), warning.get("cells")), ("t", "2"));
    assert!(warning.get("message").contains("hide what is written to their columns"), "{warning:?}");
}

/// The clock of a Bigtable in this process is its clients' clock, too.
#[tokio::test]
async fn cells_of_a_server_whose_clock_was_moved_are_not_of_the_future() {
    let bigtable = crate::embedded::Bigtable::in_memory();
    bigtable.advance(Duration::from_secs(3600));
    let (listener, _guard) = Listener::listen();
    let client = bigtable.client();
    client.create_table("t", NewTable::with_family("f")).await.unwrap();
    let cell = vec![Mutation::set_now("f", "q", "v")];
    client.raw_table("t").mutate_row("k", cell).await.unwrap();
    client.raw_table("t").read_row("k", None).await.unwrap();
    client.raw_table("t").read_rows(ReadRows::all()).collect::<Vec<_>>().await;
    let warnings = listener.warnings();
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[tokio::test(start_paused = true)]
async fn an_operation_is_a_span_with_its_outcome() {
    let (listener, _guard) = Listener::listen();
    let client = client(&Fleet::new()).await;
    client.raw_table("t").mutate_row("k", vec![Mutation::delete_row()]).await.unwrap();
    client.read_row(&client.route("u"), "k".into(), None).await.unwrap_err();
    let records = listener.operations();
    let records: Vec<_> = records
        .iter()
        .map(|span| ["operation", "table", "attempts", "rows", "code"].map(|field| span.get(field)))
        .collect();
    assert_eq!(
        records,
        [
            ["CreateTable", "t", "1", "", "OK"],
            ["MutateRows", "t", "1", "3", "OK"],
            ["MutateRow", "t", "1", "1", "OK"],
            ["ReadRow", "u", "1", "", "NOT_FOUND"],
        ]
    );
}

/// Within its span, what an operation polls: so that its time is measured, and what it logs belongs to it. The target is documented.
#[tokio::test(start_paused = true)]
async fn the_span_of_an_operation_is_entered() {
    let (listener, _guard) = Listener::listen();
    let client = client(&Fleet::new()).await;
    let route = client.route("t");
    let route = &route;
    client.mutate_row(route, "k".into(), vec![Mutation::delete_row()]).await.unwrap();
    client.read_row(route, "secret-1".into(), None).await.unwrap();
    client.sample_row_keys(route).await.unwrap();
    assert_eq!(client.read_rows(route, ReadRows::all()).collect::<Vec<_>>().await.len(), 3);
    let spans = listener.operations();
    let entered: Vec<_> = spans.iter().map(|span| (span.get("operation"), span.get("entered"))).collect();
    let operations = ["CreateTable", "MutateRows", "MutateRow", "ReadRow", "SampleRowKeys", "ReadRows"];
    assert_eq!(entered, operations.map(|operation| (operation, "keyderive::operation")));
    assert!(tracing::Span::current().is_none());
}

/// The guide shows these lines and their output.
#[tokio::test(start_paused = true)]
async fn three_lines_show_operations_in_a_terminal() {
    #[derive(Clone, Default)]
    struct Terminal(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let terminal = Terminal::default();
    let writer = terminal.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let client = client(&Fleet::new()).await;
    client.raw_table("t").read_row("secret-1", None).await.unwrap();
    let shown = String::from_utf8(terminal.0.lock().unwrap().clone()).unwrap();
    let last = shown.lines().last().unwrap();
    let span = r#" INFO bigtable{operation="ReadRow" table="t" attempts=1 code="OK" rows=1 bytes="#;
    assert!(last.contains(span) && last.contains(": keyderive::operation: close time.busy="), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_is_an_event_and_counted() {
    let fleet = Fleet::new();
    let client = client(&fleet).await;
    let mut failures =
        vec![Status::data_loss("gone"), Status::aborted("again"), Status::unavailable("later")];
    fleet.refuse(move |_| failures.pop());
    let (listener, _guard) = Listener::listen();
    let rows: Vec<_> =
        client.raw_table("t").read_rows(ReadRows { bucket: Some(3), ..ReadRows::all() }).collect().await;
    assert!(rows.len() == 1 && rows[0].is_err());
    let records = listener.take();
    let events: Vec<_> = records[..3]
        .iter()
        .map(|record| ["message", "attempt", "code", "retried"].map(|field| record.get(field)))
        .collect();
    assert_eq!(
        events,
        [
            ["an attempt failed", "1", "UNAVAILABLE", "true"],
            ["an attempt failed", "2", "ABORTED", "true"],
            ["an attempt failed", "3", "DATA_LOSS", "false"],
        ]
    );
    assert!(records[..3].iter().all(|record| record.level == Level::DEBUG && record.get("table") == "t"));
    let fields = ["operation", "bucket", "attempts", "rows", "code"].map(|field| records[3].get(field));
    assert_eq!(fields, ["ReadRows", "3", "3", "", "DATA_LOSS"]);
}

/// Whatever the last attempt ended with, and also if the pause before the next one uses up the time.
#[tokio::test(start_paused = true)]
async fn an_operation_that_runs_out_of_time_is_recorded_as_such() {
    let second = Duration::from_secs(1);
    for pause in [second - Duration::from_nanos(1), 2 * second] {
        let busy = Failure::new(tonic::Code::Unavailable, "busy").retry_after(pause);
        let mock = Mock::new().by(move |_| Answer::failure(busy.clone()));
        let client = connected_by(Client::builder(), mock.connector()).unwrap();
        let client = client.with(|settings| settings.each(|call| call.total_timeout = second));
        let (listener, _guard) = Listener::listen();
        client.raw_table("t").read_row("k", None).await.unwrap_err();
        client
            .raw_table("t")
            .mutate_rows(vec![("k".into(), vec![Mutation::delete_row()])])
            .await
            .all_written()
            .unwrap_err();
        let records = listener.operations();
        let codes: Vec<_> = records.iter().map(|span| span.get("code")).collect();
        assert_eq!(codes, ["DEADLINE_EXCEEDED"; 2], "{pause:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_scan_counts_its_rows_and_records_its_outcome() {
    let client = client(&Fleet::new()).await;
    let (listener, _guard) = Listener::listen();
    client.raw_table("t").read_rows(ReadRows::all()).collect::<Vec<_>>().await;
    // A stream dropped early, and one dropped after all its rows.
    client.raw_table("t").read_rows(ReadRows::all()).next().await.unwrap().unwrap();
    client
        .raw_table("t")
        .read_rows(ReadRows { limit: Some(1), ..ReadRows::all() })
        .next()
        .await
        .unwrap()
        .unwrap();
    let records = listener.operations();
    let records: Vec<_> = records.iter().map(|span| ["rows", "code"].map(|field| span.get(field))).collect();
    assert_eq!(records, [["3", "OK"], ["1", "CANCELLED"], ["1", "OK"]]);
    client.raw_table("t").read_row("secret-1", None).await.unwrap();
    let bytes: u64 = listener.operations()[0].get("bytes").parse().unwrap();
    let bare = ("secret-1".len() + "secret-value".len()) as u64;
    assert!((bare..2 * bare).contains(&bytes), "{bytes}");
}

#[tokio::test(start_paused = true)]
async fn no_key_or_value_is_logged_at_info_or_above() {
    let (listener, _guard) = Listener::listen();
    let fleet = Fleet::new();
    let client = client(&fleet).await;
    client.raw_table("t").read_rows(ReadRows::all()).collect::<Vec<_>>().await;
    client.raw_table("t").read_row("secret-1", None).await.unwrap();
    fleet.refuse(|_| Some(Status::internal("of row secret-1")));
    client.raw_table("t").read_row("secret-1", None).await.unwrap_err();
    client.raw_table("t").mutate_row("secret-1", vec![Mutation::delete_row()]).await.unwrap_err();
    client
        .raw_table("t")
        .mutate_rows(vec![("secret-1".into(), vec![Mutation::delete_row()])])
        .await
        .all_written()
        .unwrap_err();
    let records = listener.take();
    assert!(records.len() > 6);
    for record in records.iter().filter(|record| record.level <= Level::INFO) {
        assert!(!format!("{record:?}").contains("secret"), "{record:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_could_not_be_primed_is_a_warning() {
    let (listener, _guard) = Listener::listen();
    let fleet = Fleet::new();
    fleet.refuse(|_| Some(Status::internal("not now")));
    let _client = fleet.cloud(Client::builder().connections(1)).await;
    let warning = &listener.warnings()[0];
    assert_eq!(warning.get("message"), "a connection could not be primed, and is used anyway");
    assert_eq!(warning.get("error"), "PingAndWarm failed: INTERNAL: not now");
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_fails_for_some_seconds_is_a_warning() {
    let (listener, _guard) = Listener::listen();
    let fleet = Fleet::new();
    let client = client(&fleet).await;
    listener.take();
    fleet.refuse(|_| Some(Status::unavailable("of row secret-1")));
    let client = client.with(|settings| {
        settings.each(|call| call.total_timeout = Duration::from_secs(12));
    });
    // Each takes 12 s, and the next warning comes after 30 s at the earliest.
    for (idle, warnings) in [(0, 1), (0, 0), (60, 1)] {
        tokio::time::sleep(Duration::from_secs(idle)).await;
        client.raw_table("t").read_row("k", None).await.unwrap_err();
        let records = listener.take();
        let attempt = records.iter().find(|record| record.level == Level::DEBUG).unwrap();
        assert_eq!(attempt.get("reason"), "of row secret-1");
        let records: Vec<_> = records.iter().filter(|record| record.level == Level::WARN).collect();
        assert_eq!(records.len(), warnings, "{records:?}");
        for warning in records {
            assert_eq!(warning.get("message"), "an operation keeps failing and is retried");
            let fields = ["operation", "table", "code", "reason"].map(|field| warning.get(field));
            assert_eq!(fields, ["ReadRow", "t", "UNAVAILABLE", ""]);
            assert!(warning.get("at").contains(" at "), "{warning:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn failures_of_a_writer_that_was_dropped_are_a_warning() {
    let fleet = Fleet::new();
    let client = client(&fleet).await;
    let (listener, _guard) = Listener::listen();
    for fails_early in [false, true] {
        fleet.refuse(|seen| (seen.rpc == "MutateRows").then(|| Status::permission_denied("of row secret-1")));
        let writer = client.raw_table("t").writer();
        for key in ["secret-1", "secret-2"] {
            writer.write(key, vec![Mutation::delete_row()]).await.unwrap();
        }
        if fails_early {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        drop(writer);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let warnings = listener.warnings();
        let fields = ["message", "table", "rows", "code"].map(|field| warnings[0].get(field));
        let message = "a writer was dropped, and some of its rows were not written";
        assert_eq!(fields, [message, "t", "2", "PERMISSION_DENIED"]);
        assert_eq!(warnings.len(), 1);
    }
}

#[derive(crate::RowKey)]
struct SecretKey {
    name: String,
}

/// Uses a table whose schema the fleet refuses to send, at once and in each of the next three minutes.
async fn use_unchecked(fleet: &Fleet, client: &Client) {
    fleet.refuse(|seen| (seen.rpc == "GetTable").then(|| Status::permission_denied("not yours")));
    for _ in 0..4 {
        for _ in 0..5 {
            let table = client.table::<SecretKey, ()>("t").family("f");
            assert!(table.exists(&SecretKey { name: "secret-1".into() }).await.unwrap());
        }
        tokio::time::sleep(Duration::from_secs(61)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_layout_that_cannot_be_checked_is_one_warning() {
    let fleet = Fleet::new();
    let client = client(&fleet).await;
    let (listener, _guard) = Listener::listen();
    use_unchecked(&fleet, &client).await;
    let records = listener.take();
    let warnings: Vec<_> = records.iter().filter(|record| record.level == Level::WARN).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(
        ["table", "message"].map(|field| warnings[0].get(field)),
        [
            "t",
            "the layout of a table cannot be checked; requests go ahead unchecked, and the check is retried each minute"
        ]
    );
    assert!(
        warnings[0].get("error").starts_with("GetTable on table `t` failed: PERMISSION_DENIED"),
        "{records:?}"
    );
    let asked =
        records.iter().filter(|record| record.name == "bigtable" && record.get("operation") == "GetTable");
    assert_eq!(asked.count(), 4);
    assert!(!format!("{warnings:?}").contains("secret"));
}

#[cfg(feature = "metrics")]
mod counted {
    use metrics::{
        Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
        SharedString, Unit,
    };

    use super::*;

    /// The sums of counters, and how many values histograms have.
    #[derive(Default)]
    struct Counts(Arc<Mutex<BTreeMap<String, u64>>>);

    struct Count(Arc<Mutex<BTreeMap<String, u64>>>, String);

    impl Counts {
        fn count(&self, key: &Key) -> Arc<Count> {
            let labels = key.labels().map(|label| format!(" {}={}", label.key(), label.value()));
            Arc::new(Count(Arc::clone(&self.0), key.name().to_owned() + &labels.collect::<String>()))
        }
    }

    impl CounterFn for Count {
        fn increment(&self, value: u64) {
            *self.0.lock().unwrap().entry(self.1.clone()).or_default() += value;
        }

        fn absolute(&self, _: u64) {}
    }

    impl GaugeFn for Count {
        fn increment(&self, _: f64) {}

        fn decrement(&self, _: f64) {}

        fn set(&self, value: f64) {
            self.0.lock().unwrap().insert(self.1.clone(), value as u64);
        }
    }

    impl HistogramFn for Count {
        fn record(&self, _: f64) {
            CounterFn::increment(self, 1);
        }
    }

    impl Recorder for Counts {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            Counter::from_arc(self.count(key))
        }

        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::from_arc(self.count(key))
        }

        fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::from_arc(self.count(key))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cells_of_the_future_are_counted() {
        let counts = Counts::default();
        let _guard = metrics::set_default_local_recorder(&counts);
        read_cells_of_the_future().await;
        let counts = counts.0.lock().unwrap();
        let cells: u64 = counts
            .iter()
            .filter(|(name, _)| name.starts_with("keyderive.future_cells"))
            .map(|(_, count)| count)
            .sum();
        assert_eq!(cells, 4, "{counts:#?}");
    }

    #[tokio::test(start_paused = true)]
    async fn layouts_that_cannot_be_checked_are_counted() {
        let counts = Counts::default();
        let _guard = metrics::set_default_local_recorder(&counts);
        let fleet = Fleet::new();
        let client = client(&fleet).await;
        use_unchecked(&fleet, &client).await;
        let counts = counts.0.lock().unwrap();
        let name = "keyderive.layout.unchecked table=t code=PERMISSION_DENIED";
        assert_eq!(counts.get(name), Some(&4), "{counts:#?}");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_on_a_table_of_another_layout_are_counted() {
        let counts = Counts::default();
        let _guard = metrics::set_default_local_recorder(&counts);
        let client = client(&Fleet::new()).await;
        let table = client.table::<SecretKey, ()>("t").family("absent");
        for _ in 0..3 {
            let error = table.exists(&SecretKey { name: "secret-1".into() }).await.unwrap_err();
            assert!(error.is_table_mismatch(), "{error}");
        }
        let counts = counts.0.lock().unwrap();
        assert_eq!(counts.get("keyderive.layout.mismatches table=t"), Some(&3), "{counts:#?}");
    }

    #[tokio::test(start_paused = true)]
    async fn costs_of_reads_are_counted_where_they_are_asked_for() {
        let counts = Counts::default();
        let _guard = metrics::set_default_local_recorder(&counts);
        let client = client(&Fleet::new()).await;
        let read = async |request| client.raw_table("t").read_rows(request).collect::<Vec<_>>().await;
        read(ReadRows::all()).await;
        assert!(!counts.0.lock().unwrap().contains_key("keyderive.rows.seen table=t"));
        read(ReadRows::all().with_stats(&ReadStats::new())).await;
        let counts = counts.0.lock().unwrap();
        for (name, count) in
            [("rows.seen", 3), ("cells.seen", 3), ("cells.returned", 3), ("server.seconds", 1)]
        {
            assert_eq!(counts.get(&format!("keyderive.{name} table=t")), Some(&count), "{counts:#?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_of_a_named_scan_are_counted_under_its_name() {
        let counts = Counts::default();
        let _guard = metrics::set_default_local_recorder(&counts);
        let visits = visits().await;
        visits.scan(VisitKey::scan()).named("newest").collect().await.unwrap();
        visits.scan(VisitKey::scan()).limit(1).collect().await.unwrap();
        let counts = counts.0.lock().unwrap();
        for (name, count) in [
            ("attempt.seconds operation=ReadRows table=visits code=OK scan=newest", 2),
            ("operation.seconds operation=ReadRows table=visits code=OK scan=newest", 2),
            ("operation.seconds operation=ReadRows table=visits code=OK", 2),
            ("rows operation=ReadRows table=visits scan=newest", 300),
            ("rows operation=ReadRows table=visits", 2),
        ] {
            assert_eq!(counts.get(&format!("keyderive.{name}")), Some(&count), "{name} in {counts:#?}");
        }
        assert!(
            counts.contains_key("keyderive.bytes operation=ReadRows table=visits scan=newest"),
            "{counts:#?}"
        );
    }

    /// Whole numbers are counted, and all of a table of one row is 1.
    #[tokio::test(start_paused = true)]
    #[cfg(feature = "heat")]
    async fn the_share_of_the_busiest_range_is_a_gauge() {
        let counts = Counts::default();
        let _guard = metrics::set_default_local_recorder(&counts);
        let fleet = Fleet::new();
        let day = Duration::from_secs(86_400);
        // With slots of a day.
        let recording = crate::heat::Recording::new().one_in(1).keep(day * 240);
        let client = fleet.cloud(Client::builder().prime(false).connections(1).record_heat(recording)).await;
        client.create_table("t", NewTable::with_family("f")).await.unwrap();
        for _ in 0..100 {
            let set = vec![Mutation::set("f", "q", 0, "v")];
            client.raw_table("t").mutate_row("k", set).await.unwrap();
        }
        observe::busiest(client.inner.heat.busiest_shares(client.now() + day));
        let counts = counts.0.lock().unwrap();
        let share = |access| counts.get(&format!("keyderive.heat.busiest_share table=t access={access}"));
        assert_eq!((share("write"), share("read")), (Some(&1), Some(&0)), "{counts:#?}");
    }

    #[tokio::test(start_paused = true)]
    async fn operations_are_counted() {
        let counts = Counts::default();
        let _guard = metrics::set_default_local_recorder(&counts);
        let fleet = Fleet::new();
        let client = client(&fleet).await;
        let mut failures = vec![Status::unavailable("later")];
        fleet.refuse(move |_| failures.pop());
        client.raw_table("t").read_rows(ReadRows::all()).collect::<Vec<_>>().await;
        client.raw_table("t").read_row("k", None).await.unwrap();
        tokio::time::sleep(Duration::from_secs(50 * 60)).await;
        let counts = counts.0.lock().unwrap();
        for (name, count) in [
            ("keyderive.attempt.seconds operation=ReadRows table=t code=UNAVAILABLE", 1),
            ("keyderive.attempt.seconds operation=ReadRows table=t code=OK", 1),
            ("keyderive.operation.seconds operation=ReadRows table=t code=OK", 1),
            ("keyderive.operation.seconds operation=ReadRow table=t code=OK", 1),
            ("keyderive.rows operation=ReadRows table=t", 3),
            ("keyderive.rows operation=MutateRows table=t", 3),
            ("keyderive.connection.refreshes code=OK", 1),
            ("keyderive.connections instance=projects/keyderive/instances/local", 1),
            ("keyderive.requests.in_flight instance=projects/keyderive/instances/local", 0),
            ("keyderive.requests.waiting instance=projects/keyderive/instances/local", 0),
            ("keyderive.retry_tokens instance=projects/keyderive/instances/local", 100),
        ] {
            assert_eq!(counts.get(name), Some(&count), "{name} in {counts:#?}");
        }
        assert!(
            counts.get("keyderive.bytes operation=ReadRows table=t").is_some_and(|bytes| *bytes > 60),
            "{counts:#?}"
        );
    }
}
