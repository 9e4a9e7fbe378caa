//! Running a service: start, health checks, shutdown, pools, alerts, and who repeats a write.
//!
//! # Start
//!
//! Make one client, and its tables, before the service takes requests. [`verify`](crate::Table::verify) each table once, at the same time and
//! with a timeout: a process whose keys or families do not fit its tables then ends, instead of failing each request. Its row types are
//! compared with those of other programs when it first reads or writes. In a test, the whole start is these lines:
//!
//! ```
//! use std::time::Duration;
//!
//! use keyderive::{Client, Error, Row, RowKey, Table};
//!
//! #[derive(RowKey)]
//! struct UserKey {
//!     id: u64,
//! }
//!
//! #[derive(Row)]
//! struct User {
//!     name: String,
//! }
//!
//! #[derive(RowKey)]
//! struct OrderKey {
//!     user: u64,
//!     request: String, // chosen by who asks
//! }
//!
//! #[derive(Row)]
//! struct Order {
//!     cents: u64,
//! }
//!
//! struct Service {
//!     client: Client,
//!     users: Table<UserKey, User>,
//!     orders: Table<OrderKey, Order>,
//! }
//!
//! async fn start(client: Client) -> Result<Service, Error> {
//!     let client = client.with(|settings| settings.serving());
//!     let (users, orders) = (client.table("users"), client.table("orders"));
//!     let service = Service { client, users, orders };
//!     let limit = Duration::from_secs(10);
//!     tokio::try_join!(service.users.with_timeout(limit).verify(), service.orders.with_timeout(limit).verify())?;
//!     Ok(service)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let client = Client::embedded(); // or `Client::from_env().await?`
//! # assert!(start(client.clone()).await.is_err());
//! client.table::<UserKey, User>("users").create_if_absent().await?; // a deployment's work, before the service starts
//! client.table::<OrderKey, Order>("orders").create_if_absent().await?;
//! let service = start(client).await?;
//! # assert!(service.users.get(&UserKey { id: 1 }).await?.is_none());
//! # service.orders.put(&OrderKey { user: 1, request: "r".into() }, &Order { cents: 1 }).await?;
//! # service.client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Health checks
//!
//! - **Liveness** asks whether the process should be restarted. It does not call Bigtable: a restart does not end an outage, and a new process begins
//!   with no connection open.
//! - **Readiness** asks whether requests should come here. Read one row, with a timeout of its own, and remember the answer for some seconds.
//!   One table is enough: all share the client's connections. Do not `verify` seven tables in each probe: each is a request to the admin
//!   service, which has a small quota for the whole project.
//!
//! ```
//! use std::time::Duration;
//!
//! use keyderive::{Row, RowKey, Table};
//! use tokio::sync::Mutex;
//! use tokio::time::Instant;
//! # #[derive(RowKey)] struct UserKey { id: u64 }
//! # #[derive(Row)] struct User { name: String }
//!
//! struct Readiness {
//!     users: Table<UserKey, User>,
//!     last: Mutex<Option<(Instant, bool)>>,
//! }
//!
//! impl Readiness {
//!     /// Whether Bigtable answers: asked at most every 5 s, however many probes come.
//!     async fn is_ready(&self) -> bool {
//!         let mut last = self.last.lock().await; // the probes that come meanwhile wait for this answer
//!         if let Some((at, is_ready)) = *last && at.elapsed() < Duration::from_secs(5) {
//!             return is_ready;
//!         }
//!         // No row need have the key.
//!         let answer = self.users.with_timeout(Duration::from_secs(1)).exists(&UserKey { id: 0 }).await;
//!         if let Err(error) = &answer {
//!             eprintln!("not ready: {}", error.redacted());
//!         }
//!         *last = Some((Instant::now(), answer.is_ok()));
//!         answer.is_ok()
//!     }
//! }
//!
//! # use keyderive::embedded::{Bigtable, Fault, FaultRule, Faults, Method};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # tokio::time::pause();
//! # let bigtable = Bigtable::in_memory();
//! # bigtable.client().table::<UserKey, User>("users").create_if_absent().await?;
//! # let fault = FaultRule::fail(Fault::unavailable()).methods([Method::ReadRows]).skip(1).times(10);
//! # let faulty = bigtable.with_faults(Faults::seeded(1).rule(fault));
//! # let client = faulty.client().with(|settings| (settings.registry, settings.read_row.max_attempts) = (false, 1));
//! # let ready = Readiness { users: client.table("users"), last: Mutex::new(None) };
//! # let probes = tokio::join!(ready.is_ready(), ready.is_ready(), ready.is_ready());
//! # assert_eq!(probes, (true, true, true));
//! # assert_eq!(faulty.calls(Method::ReadRows), 1);
//! # tokio::time::advance(Duration::from_secs(6)).await;
//! # assert!(!ready.is_ready().await && !ready.is_ready().await);
//! # assert_eq!(faulty.calls(Method::ReadRows), 2);
//! # Ok(())
//! # }
//! ```
//!
//! In an outage of Bigtable all processes become unready at once. If your load balancer then has nowhere to send requests, and a part of the
//! service works without Bigtable, leave it out of readiness, and answer 503 where it is needed.
//!
//! # Shutdown
//!
//! On `SIGTERM`:
//!
//! 1. Become unready, and take no new requests.
//! 2. Finish the requests that run. Drop streams that you no longer read: each may hold up step 4 for 10 s.
//! 3. Close each [writer](crate::Writer): only its `close`, or a `flush`, returns the rows that failed.
//! 4. Await [`Client::close`](crate::Client::close): it sends what dropped writers still hold, waits for the operations in flight, and lets new
//!    ones fail with [`ClientClosed`](crate::ErrorKind::ClientClosed). Bound it by the time that your platform leaves you.
//!
//! ```
//! # use std::time::Duration;
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey)] struct EventKey { id: u64 }
//! # #[derive(Row, Debug)] struct Event { kind: String }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = Client::embedded();
//! # let events = client.table::<EventKey, Event>("events");
//! # events.create_if_absent().await?;
//! # let writer = events.writer();
//! # writer.put(&EventKey { id: 7 }, &Event { kind: "login".into() }).await?;
//! if let Err(errors) = writer.close().await {
//!     for failed in errors.failed() {
//!         eprintln!("lost: {}", failed.error().redacted());
//!     }
//! }
//! if tokio::time::timeout(Duration::from_secs(8), client.close()).await.is_err() {
//!     eprintln!("operations were still in flight");
//! }
//! # let error = events.get(&EventKey { id: 7 }).await.unwrap_err();
//! # assert_eq!(error.kind(), keyderive::ErrorKind::ClientClosed);
//! # Ok(())
//! # }
//! ```
//!
//! # Pools
//!
//! There is nothing to pool. A client holds the connections, a clone of it shares them, and a table is a value that costs no request. Make one
//! client for the process, or one for each [app profile](super::deployment#app-profiles); never one for each request. Its number of
//! [connections](super::serving#connections) follows the load. Work whose failures must not use up the
//! [retry budget](super::serving#the-retry-budget) of the requests, such as a nightly job, gets a client of its own.
//!
//! # Who retries a write
//!
//! Your client resends a request whose answer it did not get, your process calls again after an error, and the library retries inside a
//! call. A repeated write is safe if it leaves the row as the first one did:
//!
//! | call | the library retries | your process calls again, where [`is_outcome_unknown`](crate::Error::is_outcome_unknown) | your client resends, and the first may have succeeded |
//! |---|---|---|---|
//! | `get`, scans, counts | yes | safe | safe |
//! | `put`, `merge`, `delete`, `update` that sets columns | yes | the row is the same, unless others wrote it in between: their write is overwritten | the same |
//! | `put_all`, `writer` | yes, each row that failed | the same, for each row | the same |
//! | `put_if_absent`, `put_if`, `delete_if`, `update` with `only_if` | only if it was not applied | `false` may mean that the first one was applied: read the row | the same: store the request's own number in the row, and compare it |
//! | `increment`, `append`, `modify` | only if it was not applied | may count twice | counts twice |
//! | an `update` that adds to a [`Sum`](crate::row::Sum) | yes, by an idempotency token, where the [server honours them](crate::client::Settings::idempotency_tokens) | may count twice: each call has its own token | counts twice |
//!
//! If something must happen once, however often it is asked for, let the caller choose a number for its request, and make that number a row:
//!
//! ```
//! # use keyderive::{Client, Error, Row, RowKey, Table};
//! # #[derive(RowKey)] struct OrderKey { user: u64, request: String }
//! # #[derive(Row)] struct Order { cents: u64 }
//! /// Places an order, once for each `request`; again, it finds the order that is there, unless that was deleted.
//! async fn order(orders: &Table<OrderKey, Order>, user: u64, request: &str, cents: u64) -> Result<Option<Order>, Error> {
//!     let key = OrderKey { user, request: request.into() };
//!     let order = Order { cents };
//!     // After `false`, the row is that of this request: from an attempt of ours, or from an earlier request with its number.
//!     match orders.put_if_absent(&key, &order).await? {
//!         true => Ok(Some(order)),
//!         false => orders.get(&key).await,
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let orders = Client::embedded().table::<OrderKey, Order>("orders");
//! # orders.create_if_absent().await?;
//! assert!(order(&orders, 7, "5f1c", 950).await?.is_some_and(|order| order.cents == 950));
//! assert!(order(&orders, 7, "5f1c", 950).await?.is_some_and(|order| order.cents == 950)); // resent
//! assert_eq!(orders.count(OrderKey::scan().user(7)).await?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! [Unknown outcomes](super::errors#unknown-outcomes) has each call in full, and [promises](super::promises) what a write guarantees.
//!
//! # Alerts
//!
//! Begin with four, by the metrics that [a service under load](super::serving#what-to-watch) explains:
//!
//! | alert | why |
//! |---|---|
//! | more than 1 % of `keyderive.operation.seconds` have a `code` other than `OK`, or its 99th percentile nears your limit | your callers see it |
//! | `keyderive.requests.rejected` grows | requests are shed: too few connections, or too much load |
//! | `keyderive.retry_tokens` is at 50 or below | requests fail without a retry |
//! | `keyderive.layout.mismatches` grows | the process runs with another layout than its table |
