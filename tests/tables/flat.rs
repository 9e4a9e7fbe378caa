//! A key and its row as one flat record, in CSV and JSON.

use std::collections::BTreeMap;

use keyderive::{Client, Flat, Row, RowKey, Table};
use keyderive_tests::fixtures::created;
use serde::Serialize;

use crate::servers::on_every_bigtable;

#[derive(RowKey, Serialize, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user")]
struct EventKey {
    user: String,
    #[pad(6)]
    at: u32,
}

#[derive(Row, Serialize, Clone, Debug, PartialEq)]
struct Event {
    #[row(name = "k")]
    kind: String,
    amount: Option<f64>,
    #[row(name = "payer")]
    #[serde(rename = "paid by", skip_serializing_if = "Option::is_none")]
    payer: Option<String>,
}

#[derive(Serialize)]
struct Clash {
    kind: String,
    at: u64,
}

#[derive(Serialize)]
struct Newtype(EventKey);

#[derive(Serialize)]
struct Flattened {
    #[serde(flatten)]
    key: EventKey,
}

#[derive(Serialize)]
enum Either {
    One { at: u32 },
    Other,
}

on_every_bigtable! {
    a_table_is_written_as_csv
}

fn event(at: u32) -> (EventKey, Event) {
    let key = EventKey { user: format!("user,{}", at % 2), at };
    let amount = at.is_multiple_of(2).then(|| f64::from(at) / 2.0);
    (key, Event { kind: "a \"b\"".to_owned(), amount, payer: Some("p".to_owned()) })
}

async fn a_table_is_written_as_csv(client: Client) {
    let events: Table<EventKey, Event> = created(&client, "events").await;
    events.put_all((0..4).map(event)).await.unwrap();
    let mut file = csv::Writer::from_writer(Vec::new());
    for (key, event) in events.scan(EventKey::scan()).collect().await.unwrap() {
        file.serialize(Flat(&key, &event)).unwrap();
    }
    let text = String::from_utf8(file.into_inner().unwrap()).unwrap();
    let expected = "user,at,kind,amount,paid by\n\"user,0\",0,\"a \"\"b\"\"\",0.0,p\n\"user,0\",2,\"a \"\"b\"\"\",1.0,p\n\
                    \"user,1\",1,\"a \"\"b\"\"\",,p\n\"user,1\",3,\"a \"\"b\"\"\",,p\n";
    assert_eq!(text, expected);
}

fn json(key: &impl Serialize, row: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(&Flat(key, row)).map_err(|error| error.to_string())
}

#[test]
fn a_record_has_the_fields_of_both_in_their_order() {
    let (key, mut event) = event(7);
    event.payer = None;
    let expected = r#"{"user":"user,1","at":7,"kind":"a \"b\"","amount":null}"#;
    assert_eq!(json(&key, &event).unwrap(), expected);
    // What wraps a struct has its fields, and a unit has none.
    assert_eq!(json(&Newtype(key.clone()), &Some(&event)).unwrap(), expected);
    assert_eq!(json(&key, &()).unwrap(), r#"{"user":"user,1","at":7}"#);
    assert_eq!(json(&(), &()).unwrap(), "{}");
}

#[test]
fn a_name_of_both_is_an_error_before_anything_is_written() {
    let (key, _) = event(7);
    let clash = Clash { kind: "k".to_owned(), at: 8 };
    let error = json(&key, &clash).unwrap_err();
    assert!(error.contains("would have the field `at` twice, of the key and of the row"), "{error}");
    let mut out = Vec::new();
    assert!(serde_json::to_writer(&mut out, &Flat(&key, &clash)).is_err() && out.is_empty());
    let mut file = csv::Writer::from_writer(Vec::new());
    assert!(file.serialize(Flat(&key, &clash)).is_err());
    assert!(file.into_inner().unwrap().is_empty());
}

#[test]
fn what_has_no_named_fields_is_an_error() {
    let (key, event) = event(7);
    let map: BTreeMap<&str, i64> = [("visits", 7)].into();
    for (row, what) in [
        (
            json(&key, &map),
            "fields of a row, which must be a struct with named fields, and serializes as a map",
        ),
        (json(&Flattened { key: key.clone() }, &event), "fields of a key, which must be a struct"),
        (json(&key, &7), "serializes as one value"),
        (json(&key, &"text"), "serializes as one value"),
        (json(&key, &(7, 8)), "serializes as a tuple"),
        (json(&key, &[7].as_slice()), "serializes as a list"),
        (json(&key, &Either::One { at: 7 }), "serializes as an enum"),
        (json(&key, &Either::Other), "serializes as an enum"),
        (json(&key, &None::<Event>), "serializes as none"),
    ] {
        let error = row.unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}
