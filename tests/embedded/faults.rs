//! The embedded Bigtable with faults, as tests of applications use it: the client survives transient faults, and
//! reports the others.

mod random;
mod scripted;

use std::collections::BTreeMap;

use keyderive::embedded::Bigtable;
use keyderive::{Client, RowKey, Table};

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4)]
struct EventKey {
    id: u32,
}

type Event = BTreeMap<String, i64>;
type Events = Table<EventKey, Event>;

const TABLE: &str = "events";

fn event(id: u32) -> (EventKey, Event) {
    (
        EventKey { id },
        Event::from([("id".to_owned(), id.into()), ("square".to_owned(), i64::from(id) * i64::from(id))]),
    )
}

/// A Bigtable without faults, and its table of `count` events.
async fn with_events(count: u32) -> (Bigtable, Events) {
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
