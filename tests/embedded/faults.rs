//! The embedded Bigtable with faults, as tests of applications use it: the client survives transient faults, and
//! reports the others.

mod random;
mod scripted;

use std::collections::BTreeMap;

use keyderive::embedded::Bigtable;
use keyderive::{Client, Table};
use keyderive_tests::fixtures::SaltedKey;

type Event = BTreeMap<String, i64>;
type Events = Table<SaltedKey, Event>;

const TABLE: &str = "events";

fn event(id: u64) -> (SaltedKey, Event) {
    let number = id.cast_signed();
    (SaltedKey { id }, Event::from([("id".to_owned(), number), ("square".to_owned(), number * number)]))
}

/// A Bigtable without faults, and its table of `count` events.
async fn with_events(count: u64) -> (Bigtable, Events) {
    let bigtable = Bigtable::in_memory();
    let events = events(&bigtable.client());
    events.create_if_absent().await.unwrap();
    events.put_all((0..count).map(event)).await.unwrap();
    (bigtable, events)
}

/// Its requests are those of its calls alone.
fn events(client: &Client) -> Events {
    client.with(|settings| settings.registry = false).table(TABLE)
}
