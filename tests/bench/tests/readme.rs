//! README's read over `bigtable_rs` gives the rows of its first scan. `tests/src/readme.rs` compares the text.

use bigtable_rs::bigtable::{BigTable, BigTableConnection, Error, RowCell};
use bigtable_rs::google::bigtable::v2::row_range::{EndKey, StartKey};
use bigtable_rs::google::bigtable::v2::{ReadRowsRequest, RowRange, RowSet};
use keyderive::embedded::Bigtable;
use keyderive::{Client, Row};
use keyderive_bench::EventKey;
use tokio::net::TcpListener;

#[derive(Row)]
struct Event {
    kind: String,
}

async fn events_of_alice(mut client: BigTable) -> Result<Vec<(Vec<u8>, Vec<RowCell>)>, Error> {
    let range = |bucket| RowRange {
        start_key: Some(StartKey::StartKeyClosed(format!("{bucket}#alice#").into_bytes())),
        end_key: Some(EndKey::EndKeyOpen(format!("{bucket}#alice$").into_bytes())), // `$` follows `#`
    };
    let table_name = client.get_full_table_name("events");
    let rows = Some(RowSet { row_keys: vec![], row_ranges: (0..4).map(range).collect() });
    let mut rows = client.read_rows(ReadRowsRequest { table_name, rows, ..Default::default() }).await?;
    rows.sort_by(|(one, _), (other, _)| one[2..].cmp(&other[2..])); // by the keys without their buckets
    Ok(rows)
}

#[tokio::test]
async fn a_read_by_hand_has_the_rows_of_the_scan() {
    let bigtable = Bigtable::in_memory();
    let events = bigtable.client().table::<EventKey, Event>("events");
    events.create().await.unwrap();
    let users = ["alice", "alic", "alice2", "bob"];
    for (user, site) in
        users.iter().flat_map(|user| ["shop", "home", "docs", "blog"].map(|site| (user, site)))
    {
        for at in [7, 8] {
            let key = EventKey { user_id: (*user).into(), site: site.into(), at, seq: 42 };
            events.put(&key, &Event { kind: "order".into() }).await.unwrap();
        }
    }

    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { bigtable.serve(listener, std::future::pending()).await });
    let client = Client::emulator(&host).await.unwrap();
    let scan = client.table::<EventKey, Event>("events").scan(EventKey::scan().user_id("alice"));
    let scanned = scan.collect().await.unwrap().into_iter().map(|(key, _)| key.encode().unwrap());
    let scanned: Vec<_> = scanned.collect();
    assert_eq!(scanned.len(), 8);

    let connection =
        BigTableConnection::new_with_emulator(&host, "keyderive", "local", true, 1, None).unwrap();
    let by_hand = events_of_alice(connection.client()).await.unwrap();
    assert_eq!(by_hand.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), scanned);
}
