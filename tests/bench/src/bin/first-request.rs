//! What the first request of a client, and the first of a table's handle, take beside a later one: the layout check comes first.
//!
//! `cargo run --release -p keyderive-bench --bin first-request -- [clients]`, by default 20,000 clients of one embedded Bigtable in
//! this process, and 3 where the admin service hangs. Percentiles of one call, in microseconds.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::{Client, Row, RowKey, Table};

#[derive(RowKey, Clone, Debug)]
struct UserKey {
    id: u64,
}

#[derive(Row, Clone)]
struct User {
    name: String,
}

#[derive(Clone, Copy)]
enum Call {
    Get,
    Put,
}

/// What a client meets beside the table.
#[derive(Clone, Copy)]
enum World {
    Whole,
    WithoutRegistry,
    /// The program may not ask for the families of its table.
    Denied,
    /// The answer to that comes after an hour.
    Hanging,
}

impl World {
    const ALL: [(&str, Self); 4] = [
        ("with a registry", Self::Whole),
        ("without one (`Settings::registry`)", Self::WithoutRegistry),
        ("no permission for the admin service", Self::Denied),
        ("an admin service that hangs", Self::Hanging),
    ];

    fn client(self, bigtable: &Bigtable) -> Client {
        let faulty = |faults| bigtable.with_faults(faults).client();
        match self {
            Self::Whole => bigtable.client(),
            Self::WithoutRegistry => bigtable.client().with(|settings| settings.registry = false),
            Self::Denied => faulty(Faults::seeded(0).fail(Method::GetTable, 1.0, Fault::permission_denied())),
            Self::Hanging => {
                faulty(Faults::seeded(0).delay(Method::GetTable, 1.0, Duration::from_secs(3600)))
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let clients: usize = std::env::args().nth(1).map_or(20_000, |text| text.parse().unwrap());
    println!("| what | call | p50 | p99 |\n|---|---|---|---|");
    for (beside, world) in World::ALL {
        // Each of them waits for seconds.
        let clients = if matches!(world, World::Hanging) { 3 } else { clients };
        let bigtable = Bigtable::in_memory();
        bigtable.client().table::<UserKey, User>("users").create_if_absent().await.unwrap();
        for (name, call) in [("get", Call::Get), ("put", Call::Put)] {
            let mut times: [Histogram<u64>; 4] = std::array::from_fn(|_| Histogram::new(3).unwrap());
            for _ in 0..clients {
                let client = world.client(&bigtable);
                for handle in times.chunks_mut(2) {
                    let users: Table<UserKey, User> = client.table("users");
                    for time in handle {
                        let begun = Instant::now();
                        send(&users, call).await;
                        time.record(u64::try_from(begun.elapsed().as_nanos()).unwrap()).unwrap();
                    }
                }
            }
            let what = ["first of a client", "second", "first of another handle", "second of it"];
            for (what, time) in what.iter().zip(&times) {
                let micros = |quantile| time.value_at_quantile(quantile) as f64 / 1e3;
                println!("| {beside} | `{name}`, {what} | {:.1} | {:.1} |", micros(0.5), micros(0.99));
            }
        }
    }
}

async fn send(users: &Table<UserKey, User>, call: Call) {
    match call {
        Call::Get => drop(users.get(&UserKey { id: 7 }).await.unwrap()),
        Call::Put => users.put(&UserKey { id: 7 }, &User { name: "alice".to_owned() }).await.unwrap(),
    }
}
