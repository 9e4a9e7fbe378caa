//! Google's clients read and change rows that keyderive wrote.

use std::collections::BTreeMap;
use std::process::Command;

use keyderive::row::{Timestamped, Versions};
use keyderive::{Cell, Client, Row, RowKey};
use keyderive_tests::fixtures::created;

use crate::clients::{go, java, python, run};
use crate::served::Served;

#[derive(RowKey)]
struct SensorKey {
    id: u32,
}

#[derive(Row, Debug, PartialEq)]
struct Sensor {
    name: String,
    #[row(counter)]
    readings: i64,
    temperature: f64,
    on: bool,
    offset: i8,
    #[row(json)]
    tags: Vec<String>,
    note: Option<String>,
    #[row(family)]
    place: Option<Place>,
    #[row(family)]
    nowhere: Option<Place>,
    #[row(family)]
    meters: BTreeMap<String, u64>,
    level: Timestamped<f32>,
    state: Versions<State>,
}

#[derive(Row, Debug, PartialEq)]
struct Place {
    city: String,
    floor: i32,
}

#[derive(Cell, Clone, Copy, Debug, PartialEq)]
enum State {
    Idle,
    Busy,
}

fn sensor() -> Sensor {
    Sensor {
        name: "Grün".into(),
        readings: -2,
        temperature: 21.5,
        on: true,
        offset: -128,
        tags: vec!["a".into(), "b\"".into()],
        note: None,
        place: Some(Place { city: "Basel".into(), floor: -1 }),
        nowhere: None,
        meters: [("METER:0000".into(), 0), ("METER:2345".into(), i64::MAX as u64)].into(),
        level: Timestamped::new(1_577_836_800_000_000, 0.25),
        state: [Timestamped::new(1_000_000, State::Idle), Timestamped::new(2_000_000, State::Busy)].into(),
    }
}

#[tokio::test]
async fn the_python_client_reads_and_changes_rows() {
    let Some(client) = python("rows.py") else { return };
    reads_and_changes_rows(client).await;
}

#[tokio::test]
async fn the_go_client_reads_and_changes_rows() {
    let Some(client) = go("rows") else { return };
    reads_and_changes_rows(client).await;
}

#[tokio::test]
async fn the_java_client_reads_and_changes_rows() {
    let Some(client) = java("Rows") else { return };
    reads_and_changes_rows(client).await;
}

async fn reads_and_changes_rows(client: Command) {
    let server = Served::start();
    let sensors =
        created::<SensorKey, Sensor>(&Client::emulator(server.host()).await.unwrap(), "sensors").await;
    let key = SensorKey { id: 7 };
    sensors.put(&key, &sensor()).await.unwrap();

    run(client, include_str!("clients/rows.txt"), &server);

    let changed = sensors.get(&key).await.unwrap().unwrap();
    let place = Some(Place { city: "Bern".into(), floor: 3 });
    let mut expected = Sensor { readings: 40, note: Some("seen".into()), place, ..sensor() };
    expected.meters.insert("METER:0001".into(), 5);
    assert_eq!(changed, expected);
}
