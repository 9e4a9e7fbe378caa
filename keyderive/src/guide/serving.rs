//! A service under load: timeouts, overload, slow servers, and what to alert on.
//!
//! A service should answer in time, or quickly say that it cannot. These settings are for many concurrent reads and writes of one row:
//!
//! ```
//! use std::time::Duration;
//!
//! use keyderive::client::{Hedging, Settings};
//! # use keyderive::{Client, ErrorKind, Row, RowKey};
//! # #[derive(RowKey)] struct UserKey { id: u64 }
//! # #[derive(Row)] struct User { name: String }
//! # async fn sample() -> Result<(), keyderive::Error> {
//!
//! let client = Client::cloud("shop", "orders").await?.with(|settings| {
//!     settings.serving(); // gives up in seconds; before other changes, some of which it would replace
//!     settings.hedging = Hedging::Adaptive; // for reads that must not be slow
//! });
//! let users = client.table::<UserKey, User>("users");
//!
//! // In a request of the service: all its calls together take at most 300 ms, from here on. The next request makes a handle of its own.
//! let hasty = users.with_timeout(Duration::from_millis(300));
//! match hasty.put(&UserKey { id: 7 }, &User { name: "Ada".into() }).await {
//!     Ok(()) => println!("answer 200"),
//!     Err(error) if error.is_outcome_unknown() => println!("answer 502; the row may have been written"),
//!     Err(error) if error.is_deadline_exceeded() => println!("answer 504"),
//!     Err(error) if error.is_overloaded() => println!("answer 503; do not call again at once"),
//!     Err(error) if error.is_unavailable() || error.kind() == ErrorKind::ClientClosed => println!("answer 503"),
//!     Err(error) => return Err(error),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Time
//!
//! Each operation has a timeout for an attempt and one for all attempts: [`Settings`](crate::client::Settings) lists them.
//! [`with_timeout`](crate::Table::with_timeout) bounds all calls through a table or a client together, retries included; nothing is sent after
//! its end. [`with_deadline`](crate::Table::with_deadline) takes the instant of the end; in tests with a [paused clock](super::testing#time)
//! use `with_timeout`. Each attempt tells the server how much time is left. A write that hits the deadline may have been applied:
//! [`is_outcome_unknown`](crate::Error::is_outcome_unknown).
//!
//! The first call of a table also checks the table's [layout](super::tables#layout), for up to 3 s beyond its timeout, though never
//! beyond its deadline. Before a process serves, call [`verify`](crate::Table::verify) of each table, which counts as this check.
//! `verify` calls the admin service, whose timeout is 10 min even with `serving`: with a deadline, a process that cannot reach it fails at
//! startup.
//!
//! Reads yield to tokio about every 1,000 rows, and every 128 messages, even if the data is already received. So a
//! `tokio::time::timeout` around a read works, unless your own code blocks.
//!
//! Dropping a call's future cancels it at the server, by `RST_STREAM`. A dropped write may have been applied.
//!
//! # Connections
//!
//! Google's servers take about 100 concurrent requests on a connection; a server says how many when the connection opens. The client adds a
//! connection when even the least busy one has 50 requests in flight, and removes connections that a minute of load did not need; their
//! requests finish first. [`connections`](crate::client::ClientBuilder::connections) sets the bounds: 4 to 64 in the cloud.
//!
//! Some requests are *repeatable*: reads, `put`, `delete` and other idempotent writes, and any request that was certainly not applied.
//! Conditional writes, increments and appends that have been sent are not. If their connection breaks, they fail with
//! [`is_outcome_unknown`](crate::Error::is_outcome_unknown). If it stalls, they wait for the response until their timeout or until it is
//! closed, and then fail in the same way.
//!
//! | what happens | what the client does |
//! |---|---|
//! | a connection breaks | the client retries repeatable requests, after the backoff, on another connection; the others fail |
//! | the server closes a connection gracefully (`GOAWAY`) | requests that it has accepted finish; the client sends those that it refuses again, the first time at once, increments and conditional writes too |
//! | the server sends nothing for 250 ms while requests are in flight | the client pings it, and prefers other connections until something comes |
//! | a second after the ping there is no answer | the connection has stalled: a new one takes its place, and repeatable requests move to another at once, 1.25 to 2 s after the silence began; up to 7 s if the server answered a ping earlier in the same silence, as a slow one does |
//! | 10 s after the ping there is no answer | the connection is closed, and the requests still on it fail |
//!
//! Requests use open connections first; the client opens others in the background. When all connections are busy, requests wait, at most
//! [`max_waiting`](crate::client::Settings::max_waiting) of them: 1,000 with [`serving`](crate::client::Settings::serving). A further one
//! fails at once with [`is_overloaded`](crate::Error::is_overloaded).
//!
//! In tests, the limits depend on the server:
//!
//! | server | concurrent requests on a connection | requests wait |
//! |---|---|---|
//! | the cloud | about 100 | as above |
//! | an embedded Bigtable on a port, as `keyderive serve` | 100 | as in the cloud: `connections(1)` and a small `max_waiting` test the bound |
//! | Google's emulator | any number | only while no connection is open |
//! | an embedded Bigtable in the process | any number | never |
//!
//! If none of the connections is open and none can be opened, a call beyond the bound fails with
//! [`is_unavailable`](crate::Error::is_unavailable) as well, and its text names the cause.
//!
//! A request that waits until the timeout of its attempt was not sent: a write was certainly not applied, and the attempt takes nothing
//! from the retry budget. When a connection closes, the requests that it has accepted still get their responses and do not count as
//! waiting; those that it loses count again when they are retried, and may then fail with `is_overloaded`.
//!
//! A call that fails without being sent yields to tokio's other tasks now and then, so a loop around it starves none, but keeps a core
//! busy: pause, or fail your own caller.
//!
//! Calls in backoff do not count as waiting, and no metric shows them. With the retry budget there are few. Without it, in an outage, all
//! calls back off until their timeout or deadline: at most the calls per second times that time. A thousand calls a second with a deadline
//! of 300 ms are at most 300.
//!
//! # Memory
//!
//! The memory of responses that the program has not read yet is bounded, however many scans and queries are open:
//!
//! | what | at most |
//! |---|---|
//! | a stream of a scan with up to 8 buckets, and of any other read | a window of 1 MiB, and the message that is being read |
//! | a stream of a scan with more buckets | a window of 64 KiB, and the message that is being read |
//! | the streams that scans keep open | 70 of each of the two kinds above, per connection, by the pool's *minimum* number of [`connections`](crate::client::ClientBuilder::connections) |
//! | a row while it is put together from messages | [`max_row_bytes`](crate::client::Settings::max_row_bytes), 512 MiB, in a buffer that can be twice as large |
//! | other reads | as many streams as the server allows on a connection, about 100 including scans |
//! | the scans that find no free stream | they read each bucket in pages: 64 MiB for the pages of all scans of a client, plus 16 KiB per bucket for each scan, at most 1 MiB; but always one row of each bucket, which a merge needs |
//! | a query | about 512 MiB: 256 MiB of rows, as received, that no [resume token](super::sql#what-the-client-promises) follows yet, in a buffer that can be twice as large; and the values of one row |
//!
//! So with `c` connections to a server that allows 100 streams on each, and `s` scans in pages, each of `b` buckets, it is about
//! `c × (100 × 1 MiB + 70 × 64 KiB) + 64 MiB + s × min(b × 16 KiB, 1 MiB)`, and the messages. For 300 open scans of 4 buckets each on one
//! connection, which nobody reads from: 187 MiB. Pages cost requests: if a service keeps more scans open than its connections have streams,
//! give it more `connections`. `collect`, `fetch` and the like hold all their rows in addition.
//!
//! # The retry budget
//!
//! When a cluster fails because it is overloaded, retries make it worse. So reads and writes of one row have a budget for
//! the whole client, as in gRPC's own retry throttling: [100 tokens](crate::client::Settings::retry_budget). A transient
//! failure takes one, and a success gives a tenth back. An attempt that ends by the call's own timeout or deadline, or was
//! never sent, takes none. While 50 tokens or fewer are left, a call fails without a retry, and the text of the error names
//! `retry_budget`. A failing cluster sees at most about a tenth more load. Scans, queries, writers and loads can wait, and
//! take no tokens: each is retried within its own `total_timeout` and
//! [`max_attempts`](crate::client::CallSettings::max_attempts), which for a scan is 10 failures in a row by default.
//! [`batch`](crate::client::Settings::batch) turns the budget off.
//!
//! The price: retries hide failures while fewer than about one attempt in eleven fails. If 30 % keep failing, callers see
//! about 30 % errors, and in an outage of a few seconds most calls fail after one attempt. If your callers would rather wait,
//! set `retry_budget = false` and a deadline. After an outage, about 500 successes refill an empty budget so far that it allows retries.
//! All callers of a client share its budget, including clients made by [`with`](crate::Client::with): give work whose failures must not
//! affect the rest a client of its own.
//!
//! # Hedged reads
//!
//! With [`hedging`](crate::client::Settings::hedging), a read of one row that is late is sent a second time over another
//! connection. The first answer counts, and the other request is cancelled. It helps where a few answers are slow: a tablet
//! that moves, a machine that pauses. It does not help where all are slow, and then costs little: over time at most 5 in 100 reads are sent
//! a second time (unused ones accumulate, up to 10), and none while the retry budget allows no retry. Writes are never hedged.
//!
//! It needs a second connection that is open and not full. Over one connection (an embedded Bigtable in the process, or `connections(1)`)
//! it does nothing, and one warning says so. A client of an emulator begins with one connection and adds others only under load, so set
//! `connections(2..)` there.
//!
//! [`Hedging::Adaptive`](crate::client::Hedging::Adaptive) follows the latency of the client's own reads;
//! [`Hedging::After`](crate::client::Hedging::After) is a fixed time.
//!
//! # What to watch
//!
//! The feature `metrics` passes metrics to the recorder of the crate [`metrics`](https://docs.rs/metrics), version 0.24, such as
//! `metrics-exporter-prometheus`. Set its histogram buckets (`set_buckets`, from 1 ms to 10 s, say): without, it makes summaries, which
//! cannot be added up over machines. A counter appears with its first event, so let an alert treat a missing one as 0. All metrics are
//! listed [with the client](crate::client#traces-and-metrics).
//!
//! | metric | what it means | alert when |
//! |---|---|---|
//! | `keyderive.operation.seconds` | what your callers wait, by `operation`, `table` and `code` | its 99th percentile nears your own limit, or more than 1 % have a `code` other than `OK`. Calls that fail before they are sent count too, as those with `is_overloaded`, and are fast. `NOT_FOUND` is a table or a family that is gone, never a row |
//! | `keyderive.attempt.seconds` | what an attempt takes, with its wait for a connection | its count exceeds the number of operations with at least one attempt by more than a tenth: the rest are retries. Those are the operations less what `requests.rejected` counts; if many calls fail at a deadline or a close before their first attempt, compare with the operations of `code` `OK` |
//! | `keyderive.requests.waiting` | requests that wait to be sent | it is above 0 for minutes: allow more `connections`, or the service sends more than one machine can |
//! | `keyderive.requests.rejected` | calls that failed with `is_overloaded` | it grows |
//! | `keyderive.layout.mismatches` | calls that failed with `is_table_mismatch`, which do not count as operations | it grows: the table was replaced, or the program is the wrong one |
//! | `keyderive.layout.unchecked` | layout checks that failed | it grows: requests go ahead unchecked |
//! | `keyderive.requests.in_flight` | requests that wait for the server's response | it grows though the load does not: the server is slower |
//! | `keyderive.connections` | the size of the pool | it stays at its maximum |
//! | `keyderive.retry_tokens` | what is left of the retry budget, of 100 | it is at 50 or below: requests fail without a retry |
//! | `keyderive.heat.busiest_share` | how much of a table's reads or writes go to one range of keys that cannot be split, if the client [records them](super::heat#of-a-running-service) | it stays above 0.3 or so: one row, or one end of the table, takes that much, and no node helps |
//! | `keyderive.hedges`, `keyderive.hedges.won` | reads sent twice, and those that returned the second answer | hedges stay at 5 % of the reads: all reads are slow, not a few |
//!
//! If one table is slow and the others are not, look for a hot tablet first: [`hot_tablets`](crate::Table::hot_tablets) lists those
//! of the last 24 hours, and [`choosing`](super::choosing) says what to do about one.
