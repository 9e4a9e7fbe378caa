use keyderive::{Client, RowKey};

#[derive(RowKey)]
struct Key {
    id: u64,
}

struct Event;

fn sample(client: &Client) {
    let _ = client.table::<Key, Event>("events");
}

fn main() {}
