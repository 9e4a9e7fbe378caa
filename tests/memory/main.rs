//! What reads hold in memory, by an allocator that counts. A target of its own, since it counts for the whole process; the tests
//! take turns.

use std::time::Duration;

use bytes::Bytes;
use keyderive::__private::connected_by;
use keyderive::Client;
use keyderive_proto::admin::Type;
use keyderive_proto::admin::r#type::{self as types, Kind as TypeKind};
use keyderive_proto::data::execute_query_response::Response;
use keyderive_proto::data::partial_result_set::PartialRows;
use keyderive_proto::data::result_set_metadata::Schema;
use keyderive_proto::data::{self, ColumnMetadata};
use keyderive_scripted::{Answer, Mock, Rpc};
use keyderive_tests::fixtures::SaltedKey;
use peak_alloc::PeakAlloc;
use tokio::sync::Mutex;
use tokio::time::timeout;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

static TURN: Mutex<()> = Mutex::const_new(());

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Far more than any of the tests takes.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// The plan of a query with one column.
fn plan() -> Answer {
    let of = Type { kind: Some(TypeKind::Int64Type(types::Int64::default())) };
    let columns = vec![ColumnMetadata { name: "n".to_owned(), r#type: Some(of) }];
    let metadata =
        data::ResultSetMetadata { schema: Some(Schema::ProtoSchema(data::ProtoSchema { columns })) };
    Answer::new().send(&data::PrepareQueryResponse { metadata: Some(metadata), ..Default::default() })
}

/// A part of an answer to a query: these encoded values, with a resume token if it has one.
fn part(values: &Bytes, token: &'static str) -> data::ExecuteQueryResponse {
    let part = data::PartialResultSet {
        batch_checksum: Some(crc32c::crc32c(values)),
        partial_rows: Some(PartialRows::ProtoRowsBatch(data::ProtoRowsBatch { batch_data: values.clone() })),
        resume_token: token.into(),
        ..Default::default()
    };
    data::ExecuteQueryResponse { response: Some(Response::Results(part)) }
}

/// A value of two bytes is the smallest, so this is the answer that has the most values.
#[tokio::test]
async fn a_query_holds_a_few_times_what_the_server_has_sent() {
    const BYTES: usize = MIB;
    let _turn = TURN.lock().await;
    let one_message = Bytes::from(b"\x12\0".repeat(BYTES / 2));
    let one = Answer::new().send(&part(&one_message, "t"));
    let piece = Bytes::from(b"\x12\0".repeat(64 * KIB / 2));
    let pieces = (1..BYTES / (64 * KIB)).fold(Answer::new(), |answer, _| answer.send(&part(&piece, "")));
    for (what, answer) in [("one batch", one), ("many batches", pieces.send(&part(&piece, "t")))] {
        let mock = Mock::new().on(Rpc::PrepareQuery, plan()).on(Rpc::ExecuteQuery, answer);
        let client: Client = connected_by(Client::builder(), mock.connector()).unwrap();
        let before = HEAP.current_usage();
        HEAP.reset_peak_usage();
        let mut rows = client.query("SELECT n FROM t").rows::<(Option<i64>,)>();
        let mut count = 0;
        while let Some(row) = rows.next().await {
            assert_eq!(row.unwrap(), (None,));
            count += 1;
        }
        assert_eq!(count, BYTES / 2, "{what}");
        let held = HEAP.peak_usage() - before;
        println!("{what}: {} MiB for {} MiB", held / MIB, BYTES / MIB);
        assert!(held <= 8 * BYTES, "{what}: {} MiB were held for {} MiB", held / MIB, BYTES / MIB);
    }
}

/// How many ids the table has, and what its rows have in their one cell.
const IDS: u64 = 6_000;
const CELL: usize = KIB;

/// The scans share their budget: most of them hold a row and a few more of each bucket.
#[tokio::test]
async fn many_merged_scans_hold_what_the_guide_says() {
    const SCANS: usize = 300;
    const BUCKETS: usize = 4;
    let _turn = TURN.lock().await;
    let keys = (0..IDS).map(|id| Bytes::from(SaltedKey { id }.encode().unwrap())).collect();
    let cell = (Bytes::from("a"), Bytes::from(vec![7; CELL]));
    let server = keyderive_scripted::Table::new(keys, vec![cell], 16).serve();
    let client = Client::emulator(server.listen().await).await.unwrap();
    let table = client.table::<SaltedKey, ()>("readings");
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let run = async {
        let mut scans: Vec<_> = (0..SCANS).map(|_| table.scan(SaltedKey::scan()).stream()).collect();
        for rows in &mut scans {
            assert_eq!(rows.next().await.unwrap().unwrap().0.id, 0);
        }
        server.settled().await;
        println!("{} MiB are held", (HEAP.current_usage() - before) / MIB);
        // Each goes on, though the others hold what they have.
        for rows in &mut scans {
            for id in 1..50 {
                assert_eq!(rows.next().await.unwrap().unwrap().0.id, id);
            }
        }
        let mut last = scans.pop().unwrap();
        for id in 50..IDS {
            assert_eq!(last.next().await.unwrap().unwrap().0.id, id);
        }
        assert!(last.next().await.is_none());
    };
    timeout(TIME_LIMIT, run).await.expect("a scan hangs");
    let peak = HEAP.peak_usage() - before;
    println!("{} MiB at most", peak / MIB);
    // The windows of the streams, with what the server holds of them; the pages; the smallest page of each bucket.
    let bound = 100 * 2 * MIB + 64 * MIB + SCANS * BUCKETS * 16 * KIB;
    assert!(peak <= bound, "{} MiB at most, {} MiB expected", peak / MIB, bound / MIB);
}

/// In the task that awaits it, and in each task that waits for that one. Without optimizations; with them it is less.
#[tokio::test]
async fn the_future_of_a_call_takes_at_most_9_kib() {
    let client: Client = connected_by(Client::builder(), Mock::new().connector()).unwrap();
    let (events, raw) = (client.table::<SaltedKey, ()>("events"), client.raw_table("events"));
    let key = SaltedKey { id: 1 };
    for size in [
        size_of_val(&events.get(&key)),
        size_of_val(&events.put(&key, &())),
        size_of_val(&events.put_all([(key.clone(), ())])),
        size_of_val(&raw.read_row("key", None)),
        size_of_val(&raw.mutate_row("key", Vec::new())),
    ] {
        assert!(size <= 9 * KIB, "{size}");
    }
}
