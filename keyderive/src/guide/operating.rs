//! Operating: what to look at when something is slow, hot, large or wrong, by a command or a call.
//!
//! | the question | the command | the call |
//! |---|---|---|
//! | which row is this key of a log? | `keyderive decode events KEY` | [`RawKey::parse`](crate::key::RawKey::parse), then [`decode`](crate::RowKey::decode) |
//! | what is in the row? | `keyderive get events user_id=alice …` | [`get`](crate::Table::get), [`get_raw`](crate::Table::get_raw) with every version |
//! | which tablets are hot? | `keyderive tablets events --hot` | [`hot_tablets`](crate::Table::hot_tablets) |
//! | which part is large? | `keyderive tablets events` | [`sizes`](crate::Table::sizes) |
//! | why is this query slow? | `keyderive scan … --analyze` | [`explain_analyze`](crate::Scan::explain_analyze) |
//! | how many rows has this tenant? | `keyderive count events --where …` | [`count`](crate::Table::count) |
//! | what does not belong here? | `keyderive verify events` | [`verify_rows`](crate::Table::verify_rows) |
//! | does production match the code? | `keyderive status` | [`Layouts::verify`](crate::layouts::Layouts::verify) |
//!
//! `docs/command.md` in the repository shows the output of each. The command needs no types: it takes the layout from the
//! [file of layouts](super::layouts) or from the table's [registry](super::tables#registry).
//!
//! # A hot tablet
//!
//! 1. **Is it one range, or the whole table?** If the CPU of all nodes is high, the cluster is too small: add nodes. If the CPU of the
//!    hottest node is far above the mean, the keys are at fault. Cloud Monitoring has both figures.
//! 2. **Which range?** `keyderive tablets events --hot` lists the tablets that kept a node busiest in the last day, with the fields at their
//!    ends. This needs the permission `bigtable.hotTablets.list`.
//! 3. **Why?** The start and the end of the range tell:
//!
//! | the range | the cause | the remedy |
//! |---|---|---|
//! | begins at the newest time or the greatest number, and moves | all writers write at one end | [salt](super::choosing#salting), or put another field first |
//! | is a single user or device | it is busy; a salt over the user alone does not help, since its rows are in one bucket | salt over a field that varies within the user too, or rate-limit the user |
//! | is one row | a counter or a lock that all processes write | spread a counter over several rows, and add them up when reading |
//! | is a whole bucket | the salted fields have few values | salt over more fields, or over more buckets |
//!
//! [Reading a heatmap](super::heat) shows each as a heatmap; Key Visualizer shows the same patterns. A service that
//! [records](super::heat#of-a-running-service) what it reads and writes can draw its own at once, labelled by field
//! names.
//!
//! 4. **Now.** The service splits a hot tablet within minutes, if it has more than one busy row. Meanwhile slow down batch jobs
//!    ([`throttle`](crate::client::ClientBuilder::throttle), `--rate`), and send reads that may be stale to another cluster with an app
//!    profile.
//! 5. **For good.** Change the key by a [re-keying](super::rekeying), while the service runs.
//!
//! # A slow query
//!
//! [The cost of a scan](super::scans#what-a-scan-costs) is the rows that the server sees, returned or not; the number of requests matters
//! little. `--analyze`, or `explain_analyze`, prints both numbers:
//!
//! ```
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
//! # #[derive(Row)] struct Event { kind: String }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let events = Client::embedded().table::<EventKey, Event>("events");
//! # events.create_if_absent().await?;
//! # for at in 0..100 {
//! #     events.put(&EventKey { user_id: "alice".into(), at }, &Event { kind: if at == 7 { "error" } else { "login" }.into() }).await?;
//! # }
//! let errors = events.scan(EventKey::scan().user_id("alice")).matching(Event::KIND.equals("error"));
//! let stats = errors.explain_analyze().await?.stats;
//! assert_eq!((stats.rows_seen(), stats.rows_returned()), (100, 1));
//! # Ok(())
//! # }
//! ```
//!
//! | what it shows | what to do |
//! |---|---|
//! | far more rows seen than returned | constrain one more field of the key; else keep a second table whose key begins with that field, as in [lookups](super::recipes#a-lookup-by-another-field) |
//! | far more cells than rows × columns | old versions: give the family a rule, `gc(max_versions = 1)`, and read [`latest`](crate::Scan::latest) |
//! | few rows, but a long time | the tablet is hot, or the rows are large: look at one with `keyderive get` |
//! | all buckets are read where one would do | fix the fields that the salt is over |
//!
//! In a service, [`named`](crate::Scan::named) scans have their figures in spans and metrics, and a scan that reads far more than it
//! returns [logs a warning](super::scans#what-a-scan-costs).
//!
//! # A large table
//!
//! `keyderive tablets events` shows the approximate bytes of one replica by range, before compaction. Rows that a garbage collection rule
//! selects count until the service removes them, for up to a week. `keyderive verify events` finds rows and cells that are too large.
//! `keyderive delete events --where …` says what it would delete before it does.
//!
//! # One wrong row
//!
//! An error of the library names the table and the key, escaped as `decode` takes it:
//!
//! ```console
//! $ keyderive decode events '1#alice#home#9221576529654775807#000042'
//! $ keyderive get events --key '1#alice#home#9221576529654775807#000042'
//! ```
//!
//! A key that does not decode was written by another program or with another layout: `keyderive verify events` lists such keys. A scan
//! fails at the first one unless it [skips and counts them](crate::Scan::on_foreign).
//!
//! # From nothing to a service in the cloud
//!
//! An instance that scales with the load, and two service accounts: one runs the service, one changes tables:
//!
//! ```sh
//! gcloud services enable bigtable.googleapis.com bigtableadmin.googleapis.com
//! gcloud bigtable instances create orders --display-name=Orders \
//!     --cluster-config=id=orders-a,zone=europe-west6-a,autoscaling-min-nodes=1,autoscaling-max-nodes=10,autoscaling-cpu-target=60
//!
//! gcloud iam service-accounts create orders-service
//! gcloud iam service-accounts create orders-admin
//! gcloud bigtable instances add-iam-policy-binding orders --role=roles/bigtable.user \
//!     --member="serviceAccount:orders-service@$PROJECT.iam.gserviceaccount.com"
//! gcloud bigtable instances add-iam-policy-binding orders --role=roles/bigtable.admin \
//!     --member="serviceAccount:orders-admin@$PROJECT.iam.gserviceaccount.com"
//! ```
//!
//! The tables, from the file of layouts, created by an account that may act as `orders-admin`; a dry run first:
//!
//! ```sh
//! gcloud auth application-default login --impersonate-service-account="orders-admin@$PROJECT.iam.gserviceaccount.com"
//! keyderive create --address "bigtable://$PROJECT/orders"
//! keyderive create --address "bigtable://$PROJECT/orders" --yes
//! keyderive status --address "bigtable://$PROJECT/orders"
//! ```
//!
//! A container in two stages, so that the image has only the program. Certificates of public authorities are built into the client.
//!
//! ```dockerfile
//! FROM rust:1.95-slim AS build
//! WORKDIR /src
//! COPY . .
//! RUN cargo build --release --locked
//!
//! FROM gcr.io/distroless/cc-debian12
//! COPY --from=build /src/target/release/orders /orders
//! ENTRYPOINT ["/orders"]
//! ```
//!
//! ```sh
//! gcloud run deploy orders --source=. --region=europe-west6 \
//!     --service-account="orders-service@$PROJECT.iam.gserviceaccount.com" \
//!     --set-env-vars="GOOGLE_CLOUD_PROJECT=$PROJECT,BIGTABLE_INSTANCE=orders" --min-instances=1
//! ```
//!
//! The program connects by [`Client::from_env`](crate::Client::from_env), and calls [`verify`](crate::Table::verify) before it serves. It
//! uses the credentials of the service account, without a file. On `SIGTERM`, call [`Client::close`](crate::Client::close).
//!
//! Daily backups, kept for a week, which the service makes without load on the nodes. A backup is of one table. The stamp is part of the
//! table; back up the [registry](super::tables#registry), the table `keyderive`, like the others. `diff` needs the restored table in the
//! file of layouts.
//!
//! ```sh
//! gcloud bigtable tables update events --instance=orders --enable-automated-backup
//! gcloud bigtable backups list --instance=orders --cluster=-
//!
//! gcloud bigtable instances tables restore --source-instance=orders --source-cluster=orders-a --source="$BACKUP" \
//!     --destination-instance=orders --destination=events-restored
//! keyderive diff events events-restored
//! ```
//!
//! Deletion protection keeps a table from being dropped by mistake: `gcloud bigtable tables update events --instance=orders
//! --deletion-protection`.
//!
//! These commands of `gcloud` are Google's, and no test here runs them. [Deployment](super::deployment) has permissions, app profiles and what
//! only the service itself can show.
