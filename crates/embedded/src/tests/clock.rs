//! The server time never steps back.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use keyderive_proto::admin::bigtable_table_admin_server::BigtableTableAdmin as _;
use keyderive_proto::admin::{self, CreateTableRequest};
use keyderive_proto::data::bigtable_server::Bigtable as _;
use keyderive_proto::data::{self, MutateRowRequest};
use tracing_subscriber::layer::{Context as LayerContext, Layer, SubscriberExt as _};

use super::raw::{INSTANCE, NAME, START, Servers, Stopped, set_cell};
use super::*;
use crate::admin::Admin;
use crate::data::Data;
use crate::interval::Interval;
use crate::store::{Clock, SteadyClock};

#[tokio::test]
async fn the_last_write_is_read_even_if_the_clock_steps_back() {
    let servers = Servers::new().await;
    servers.clock.set(START + 5000);
    servers.set("a", "f", "q", -1, "first").await.unwrap();
    servers.clock.set(START);
    servers.set("a", "f", "q", -1, "last").await.unwrap();
    assert_eq!(servers.cells().await, ["f:q@START+5000=last"]);
    servers.clock.set(START + 6000);
    servers.set("a", "f", "q", -1, "later").await.unwrap();
    assert_eq!(servers.cells().await, ["f:q@START+6000=later", "f:q@START+5000=last"]);
}

/// A clock that advances a millisecond each time, and blocks the thread `slow` until another write is finished or blocked.
struct Slow {
    micros: AtomicI64,
    held: AtomicBool,
    began: mpsc::Sender<()>,
    go_on: std::sync::Mutex<mpsc::Receiver<()>>,
}

impl Clock for Slow {
    fn now_micros(&self) -> i64 {
        let now = self.micros.fetch_add(1000, Ordering::Relaxed);
        if std::thread::current().name() == Some("slow") && !self.held.swap(true, Ordering::Relaxed) {
            self.began.send(()).unwrap();
            // With a timeout: a write that waits for this one cannot finish before it.
            let _ = self.go_on.lock().unwrap().recv_timeout(Duration::from_millis(300));
        }
        now
    }
}

#[tokio::test]
async fn the_write_that_is_applied_last_has_the_latest_time() {
    let (began, beginning) = mpsc::channel();
    let (done, go_on) = mpsc::channel();
    let clock = Slow {
        micros: START.into(),
        held: AtomicBool::new(false),
        began,
        go_on: std::sync::Mutex::new(go_on),
    };
    let store = Arc::new(Store::new(MemoryStorage::default(), clock));
    let worker = Arc::new(Worker::new(Arc::clone(&store)).unwrap());
    let families = [("f".to_owned(), admin::ColumnFamily::default())].into();
    let table = admin::Table { column_families: families, ..admin::Table::default() };
    let request = CreateTableRequest {
        parent: INSTANCE.to_owned(),
        table_id: "t".to_owned(),
        table: Some(table),
        ..CreateTableRequest::default()
    };
    let admin = Admin::new(Arc::clone(&worker));
    admin.create_table(tonic::Request::new(request)).await.unwrap();
    let write = move |name: &str, value: &'static str| {
        let data = Data::new(Arc::clone(&worker), None);
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let mutation = set_cell("f", "q", -1, value);
                let request = MutateRowRequest {
                    table_name: NAME.to_owned(),
                    row_key: "a".into(),
                    mutations: vec![data::Mutation { mutation: Some(mutation), ..data::Mutation::default() }],
                    ..MutateRowRequest::default()
                };
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(data.mutate_row(tonic::Request::new(request))).unwrap();
            })
            .unwrap()
    };
    let slow = write("slow", "slow");
    beginning.recv().unwrap();
    let quick = write("quick", "quick");
    let applied_first = (0..30).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        quick.is_finished()
    });
    let _ = done.send(());
    slow.join().unwrap();
    quick.join().unwrap();
    let newest = if applied_first { "slow" } else { "quick" };
    let page = store.page(NAME, &Interval::all(), false, 1).unwrap();
    assert_eq!(page.rows[0].1[0].value, newest);
}

/// Counts warnings.
struct Warnings(Arc<AtomicI64>);

impl<S: tracing::Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: LayerContext<'_, S>) {
        let is_one =
            *event.metadata().level() == tracing::Level::WARN && event.metadata().target().ends_with("store");
        self.0.fetch_add(is_one.into(), Ordering::Relaxed);
    }
}

#[test]
fn a_clock_that_is_a_minute_behind_logs_one_warning() {
    let minute = 60_000_000;
    for (latest, expected) in [(0, 0), (START + minute, 0), (START + minute + 1000, 1)] {
        let warnings = Arc::new(AtomicI64::new(0));
        let subscriber = tracing_subscriber::registry().with(Warnings(Arc::clone(&warnings)));
        tracing::subscriber::with_default(subscriber, || {
            let clock = SteadyClock::new(Stopped::at(START), latest);
            assert_eq!(clock.now_micros(), latest.max(START));
            assert_eq!(clock.now_micros(), clock.latest_micros());
        });
        assert_eq!(warnings.load(Ordering::Relaxed), expected, "{latest}");
    }
}
