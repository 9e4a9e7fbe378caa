//! Recipes: what services build from keys and rows, each as a program that runs.
//!
//! | to | recipe |
//! |---|---|
//! | find a user by the e-mail address, and have each address once | [a lookup by another field](#a-lookup-by-another-field) |
//! | delete all that is stored of a person | [erasing a person](#erasing-a-person) |
//! | repair a second table that has missed writes | [two tables that stay equal](#two-tables-that-stay-equal) |
//! | read a span of time of many users | [times across users](#times-across-users) |
//! | show the best ten | [the first n](#the-first-n) |
//! | keep totals of hours and days | [totals of periods](#totals-of-periods) |
//!
//! A write is atomic only within its row. Where a recipe writes two rows, one is the *authority*: readers of the other row check it too. A
//! program that died between the two writes leaves nothing wrong, only something to repeat or to remove.
//!
//! # A lookup by another field
//!
//! A table finds rows by their keys. To find a user by the e-mail address too, a second table has a row for each address, a *claim*, which
//! names the user. Claims make addresses unique: of several concurrent claims, [`put_if_absent`](crate::Table::put_if_absent) returns true
//! for one. The user's row is the authority: a claim counts if the user that it names has that address.
//!
//! ```
//! use keyderive::{Client, Error, Row, RowKey, Table};
//!
//! #[derive(RowKey)]
//! struct UserKey {
//!     id: u64,
//! }
//!
//! #[derive(Row)]
//! struct User {
//!     email: String,
//! }
//!
//! #[derive(RowKey)]
//! struct EmailKey {
//!     email: String,
//! }
//!
//! #[derive(Row, PartialEq, Debug)]
//! struct Claim {
//!     user: u64,
//! }
//!
//! struct Users {
//!     users: Table<UserKey, User>,
//!     claims: Table<EmailKey, Claim>,
//! }
//!
//! impl Users {
//!     /// Returns false if another user has the address. After an error, call it again with the same id.
//!     async fn sign_up(&self, id: u64, email: &str) -> Result<bool, Error> {
//!         if !self.claim(id, email).await? {
//!             return Ok(false);
//!         }
//!         let user = User { email: email.into() };
//!         if self.users.put_if_absent(&UserKey { id }, &user).await? {
//!             return Ok(true);
//!         }
//!         // An earlier call with this id has written it, or the id is another user's.
//!         Ok(self.users.get(&UserKey { id }).await?.is_some_and(|user| user.email == email))
//!     }
//!
//!     /// Returns whether the address is this user's now.
//!     async fn claim(&self, id: u64, email: &str) -> Result<bool, Error> {
//!         let key = EmailKey { email: email.into() };
//!         if self.claims.put_if_absent(&key, &Claim { user: id }).await? {
//!             return Ok(true);
//!         }
//!         Ok(self.claims.get(&key).await?.is_some_and(|claim| claim.user == id))
//!     }
//!
//!     async fn find(&self, email: &str) -> Result<Option<u64>, Error> {
//!         let Some(Claim { user: id }) = self.claims.get(&EmailKey { email: email.into() }).await? else {
//!             return Ok(None);
//!         };
//!         let user = self.users.get(&UserKey { id }).await?;
//!         Ok(user.is_some_and(|user| user.email == email).then_some(id))
//!     }
//!
//!     /// Returns false if another user has the new address, or the user has not the former one.
//!     async fn change(&self, id: u64, former: &str, email: &str) -> Result<bool, Error> {
//!         if !self.claim(id, email).await? {
//!             return Ok(false);
//!         }
//!         let is_former = User::EMAIL.equals(former);
//!         let is_changed = self.users.update(&UserKey { id }).set(User::EMAIL, email).only_if(is_former).await?;
//!         // The address that the user does not have is free for others.
//!         let unused = if is_changed { former } else { email };
//!         self.release(id, unused).await?;
//!         Ok(is_changed)
//!     }
//!
//!     /// Removes the claim of a user to an address that is not the user's.
//!     async fn release(&self, id: u64, email: &str) -> Result<bool, Error> {
//!         let user = self.users.get(&UserKey { id }).await?;
//!         if user.is_some_and(|user| user.email == email) {
//!             return Ok(false);
//!         }
//!         self.claims.delete_if(&EmailKey { email: email.into() }, Claim::USER.equals(id)).await
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let client = Client::embedded();
//! let service = Users { users: client.table("users"), claims: client.table("claims") };
//! # service.users.create_if_absent().await?;
//! # service.claims.create_if_absent().await?;
//! let (one, other) = tokio::join!(service.sign_up(1, "a@example.com"), service.sign_up(2, "a@example.com"));
//! assert_ne!(one?, other?);
//!
//! assert!(service.sign_up(4, "d@example.com").await?);
//! assert!(service.sign_up(4, "d@example.com").await?, "again, after a lost answer");
//!
//! assert!(service.change(4, "d@example.com", "e@example.com").await?);
//! assert_eq!(service.find("d@example.com").await?, None);
//! assert_eq!(service.find("e@example.com").await?, Some(4));
//! assert!(service.sign_up(5, "d@example.com").await?);
//!
//! // A program that died after its claim: nobody is found by the address, until the call is made again.
//! service.claims.put(&EmailKey { email: "c@example.com".into() }, &Claim { user: 3 }).await?;
//! assert_eq!(service.find("c@example.com").await?, None);
//! assert!(service.sign_up(3, "c@example.com").await?);
//! # Ok(())
//! # }
//! ```
//!
//! - **Concurrency.** Two users never have one address: both would need its claim. Calls of `change` for *one user* must not be concurrent,
//!   or one can release the address that the other is about to set; if users may do that, keep a change number in the user's row and in the
//!   claim.
//! - **After an error or a kill**, repeat the call. If the outcome of a `put_if_absent` is unknown, the read after it decides: the claim
//!   names the user or not.
//! - **Leftovers** are claims of a user who has another address, or of no user. They block the address. Scan for claims whose cells are
//!   older than a sign-up can take, and call `release` for each.
//!
//! # Erasing a person
//!
//! If each key begins with the person, one scan finds all rows of a person, and an erasure is one deletion per table. Repeat it until a
//! whole run finds nothing.
//!
//! ```
//! use keyderive::{Client, Error, Row, RowKey, Table};
//!
//! #[derive(RowKey)]
//! struct UserKey {
//!     user: String,
//! }
//!
//! #[derive(Row)]
//! struct User {
//!     is_erased: bool,
//! }
//!
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "user,site")]
//! struct EventKey {
//!     user: String,
//!     site: String,
//!     #[reverse_ts]
//!     at: u64,
//! }
//! # type Event = std::collections::BTreeMap<String, String>;
//!
//! async fn erase(
//!     users: &Table<UserKey, User>,
//!     events: &Table<EventKey, Event>,
//!     user: &str,
//! ) -> Result<(), Error> {
//!     let key = UserKey { user: user.into() };
//!     // Whoever writes for a user reads this row first, and then writes no more. It is deleted last: until then it says that the
//!     // erasure is to be repeated.
//!     users.put(&key, &User { is_erased: true }).await?;
//!     while events.delete_rows(EventKey::scan().user(user)).await? > 0 {}
//!     users.delete(&key).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let client = Client::embedded();
//! # let (users, events) = (client.table::<UserKey, User>("users"), client.table::<EventKey, Event>("events"));
//! # users.create_if_absent().await?;
//! # events.create_if_absent().await?;
//! # for (user, site) in [("alice", "home"), ("alice", "shop"), ("bob", "home")] {
//! #     let key = EventKey { user: user.into(), site: site.into(), at: 1000 };
//! #     events.put(&key, &[("kind".to_owned(), "login".to_owned())].into()).await?;
//! # }
//! erase(&users, &events, "alice").await?;
//! assert_eq!(events.count(EventKey::scan().user("alice")).await?, 0);
//! # assert_eq!(events.count(EventKey::scan()).await?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! - [`delete_rows`](crate::Table::delete_rows) deletes rows with all that they store: every version, columns that the row type does
//!   not have, and rows that a `ttl` hides.
//! - **Concurrent writers**: a row written after the deletion stays. So stop writes for that user first, as above, and wait as long as one
//!   can take, with retries, before the last run.
//! - If the key does not begin with the person, [`filter_key`](crate::Scan::filter_key) and [`delete_all`](crate::Table::delete_all) find
//!   and delete the rows, but read the whole table; a lookup table, as above, avoids that.
//! - Not erased: backups, exports, copies of the table, and rows of other tables whose keys or columns name the person. Bigtable keeps
//!   deleted data on its disks until its compaction, up to a week.
//! - Operators use `keyderive delete events --where user=alice`, which is a dry run without `--yes`.
//!
//! # Two tables that stay equal
//!
//! A second table has the same rows under other keys, for other queries. [`put_both`](crate::put_both) writes both tables in order; if a
//! program dies in between, the second one lacks the write. [`diff`](crate::Table::diff) finds such rows; repair each from the first table,
//! the authority:
//!
//! ```
//! use keyderive::diff::RowDifference;
//! use keyderive::{Client, Error, Row, RowKey, Table};
//!
//! #[derive(RowKey, Clone, Debug)]
//! struct ByUser {
//!     user: String,
//!     site: String,
//! }
//!
//! #[derive(RowKey, Clone, Debug)]
//! struct BySite {
//!     site: String,
//!     user: String,
//! }
//!
//! #[derive(Row)]
//! struct Visits {
//!     count: u64,
//! }
//!
//! fn by_site(ByUser { user, site }: ByUser) -> BySite {
//!     BySite { site, user }
//! }
//!
//! /// Returns how many rows were mended.
//! async fn mend(first: &Table<ByUser, Visits>, second: &Table<BySite, Visits>) -> Result<usize, Error> {
//!     let diff = first.diff(second, |key, _| by_site(key)).only_newest().first(10_000).await?;
//!     for row in diff.first() {
//!         let (RowDifference::Missing { new_key, .. }
//!         | RowDifference::Extra { new_key, .. }
//!         | RowDifference::Cells { new_key, .. }) = row
//!         else {
//!             continue;
//!         };
//!         let Ok(BySite { site, user }) = BySite::decode(new_key.as_bytes()) else { continue };
//!         let (key, of_first) = (BySite { site: site.clone(), user: user.clone() }, ByUser { user, site });
//!         match first.get(&of_first).await? {
//!             Some(row) => second.put(&key, &row).await?,
//!             None => second.delete(&key).await?,
//!         }
//!     }
//!     Ok(diff.first().len())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let client = Client::embedded();
//! # let (first, second) = (client.table::<ByUser, Visits>("by-user"), client.table::<BySite, Visits>("by-site"));
//! # first.create_if_absent().await?;
//! # second.create_if_absent().await?;
//! # let key = |user: &str| ByUser { user: user.into(), site: "home".into() };
//! # first.put(&key("alice"), &Visits { count: 1 }).await?;
//! # first.put(&key("bob"), &Visits { count: 2 }).await?;
//! # second.put(&by_site(key("carol")), &Visits { count: 3 }).await?;
//! assert_eq!(mend(&first, &second).await?, 3);
//! assert_eq!(mend(&first, &second).await?, 0);
//! assert_eq!(second.count(BySite::scan()).await?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! - Each write has a timestamp of its own, so [`only_newest`](crate::diff::Diff::only_newest) compares values without them. A
//!   [copy](crate::copy) keeps timestamps and versions.
//! - **Concurrent writers**: if a row is written between the read and the `put`, the second table gets the older values. So repair rows
//!   that nobody writes at that time, or use [`put_if`](crate::Table::put_if) with a column that grows with each write.
//! - Operators compare with `keyderive diff --only-newest`.
//!
//! # Times across users
//!
//! The key begins with the user, and the query is about an hour: which of these forty users did something? A scan of the hour over *all*
//! users reads the whole table. If the program knows the users, fix them with [`_any_of`](super::scans), then add the range of times:
//!
//! ```
//! use keyderive::{Client, Row, RowKey};
//!
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "user")]
//! struct EventKey {
//!     #[pad(6)]
//!     user: u32,
//!     #[reverse_ts]
//!     at: u64,
//! }
//!
//! #[derive(Row)]
//! struct Event {
//!     kind: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let events = client.table::<EventKey, Event>("events");
//! # events.create_if_absent().await?;
//! # let rows = (0..500).flat_map(|user| (0..20).map(move |at| (EventKey { user, at }, Event { kind: "login".into() })));
//! # events.put_all(rows).await?;
//! let known: Vec<u32> = (100..140).collect();
//! let scan = EventKey::scan().user_any_of(known).at_range(15..18);
//! let analysis = events.scan(scan).explain_analyze().await?;
//! assert_eq!((analysis.stats.rows_seen(), analysis.stats.rows_returned()), (120, 120));
//!
//! let whole = events.scan(EventKey::scan()).filter_key(|key| (15..18).contains(&key.at));
//! assert_eq!(whole.explain_analyze().await?.stats.rows_seen(), 10_000);
//! # Ok(())
//! # }
//! ```
//!
//! If it does not know them, [`distinct`](super::scans#distinct-values) reads each user once. If this is the most frequent query, give it a
//! table of its own, whose key begins with the hour and is [salted](super::choosing#salting).
//!
//! # The first n
//!
//! Rows are sorted by their keys, so if the key has the points in descending order, the best ten are the first ten rows. A player whose
//! points change gets a new row. The player's own row is the authority: readers skip and remove rank rows with other points.
//!
//! ```
//! use keyderive::{Client, Error, Row, RowKey, Table};
//!
//! #[derive(RowKey)]
//! struct PlayerKey {
//!     player: String,
//! }
//!
//! #[derive(Row)]
//! struct Player {
//!     points: u64,
//! }
//!
//! #[derive(RowKey)]
//! struct RankKey {
//!     game: String,
//!     #[reverse_ts(max = 999_999_999)]
//!     points: u64,
//!     player: String,
//! }
//!
//! #[derive(Row)]
//! struct Rank {
//!     since: u64,
//! }
//!
//! /// The players with the most points.
//! async fn first(
//!     players: &Table<PlayerKey, Player>,
//!     ranks: &Table<RankKey, Rank>,
//!     count: usize,
//! ) -> Result<Vec<(String, u64)>, Error> {
//!     let (mut best, mut rows) = (Vec::new(), ranks.scan(RankKey::scan().game("chess")).keys_only().stream());
//!     while best.len() < count
//!         && let Some(rank) = rows.next().await.transpose()?
//!     {
//!         let player = players.get(&PlayerKey { player: rank.player.clone() }).await?;
//!         if player.is_some_and(|player| player.points == rank.points) {
//!             best.push((rank.player, rank.points));
//!         } else {
//!             ranks.delete(&rank).await?;
//!         }
//!     }
//!     Ok(best)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let client = Client::embedded();
//! # let players = client.table::<PlayerKey, Player>("players");
//! # let ranks = client.table::<RankKey, Rank>("ranks");
//! # players.create_if_absent().await?;
//! # ranks.create_if_absent().await?;
//! for (player, points) in [("ann", 50), ("bob", 70), ("ann", 90), ("cid", 60)] {
//!     // The rank first: a rank too many is removed by whoever reads it, and one that is missing is found by nobody.
//!     let rank = RankKey { game: "chess".into(), points, player: player.into() };
//!     ranks.put(&rank, &Rank { since: 1_764_000_000 }).await?;
//!     players.put(&PlayerKey { player: player.into() }, &Player { points }).await?;
//! }
//! assert_eq!(first(&players, &ranks, 2).await?, [("ann".into(), 90), ("bob".into(), 70)]);
//! # Ok(())
//! # }
//! ```
//!
//! - **Concurrent writers**: a reader may remove a rank whose player's row is about to be written. So remove only ranks that are older than
//!   such a write can take, or leave removal to a job: skipping is enough for a right answer.
//! - With a few hundred players, use one row, or read all and sort.
//! - All ranks of a game are written to one range of the table. If that becomes a [hotspot](super::choosing#what-to-do-about-a-hotspot),
//!   salt over the player: the scan merges the buckets, and its first rows are still the best.
//!
//! # Totals of periods
//!
//! A live total is a [`Sum`](crate::row::Sum) in the row of its period, which the server adds to. The day's row has the total of the day,
//! and its hours as columns:
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use keyderive::row::Sum;
//! use keyderive::{Client, Row, RowKey};
//!
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "shop")]
//! struct DayKey {
//!     shop: String,
//!     #[pad(6)]
//!     day: u32,
//! }
//!
//! #[derive(Row)]
//! struct Day {
//!     #[row(family = "sums")]
//!     sales: Sum,
//!     #[row(family)]
//!     hours: BTreeMap<String, i64>,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let days = client.table::<DayKey, Day>("days");
//! # days.create_if_absent().await?;
//! let key = |day| DayKey { shop: "north".into(), day };
//! for (day, amount) in [(20_783, 5), (20_783, 7), (20_784, 1)] {
//!     days.update(&key(day)).add(Day::SALES, amount).await?;
//! }
//! let week = days.scan(DayKey::scan().shop("north").day_range(20_783..20_790)).collect().await?;
//! let total: i64 = week.iter().map(|(_, day)| day.sales.get()).sum();
//! assert_eq!(total, 13);
//!
//! // Computed again from the events, by a job: the columns are overwritten, so it can be repeated.
//! let events = [(9, 5), (9, 7)];
//! let mut hours = BTreeMap::new();
//! for (hour, amount) in events {
//!     *hours.entry(format!("{hour:02}")).or_insert(0) += amount;
//! }
//! let mut update = days.update(&key(20_783));
//! for (hour, amount) in &hours {
//!     update = update.set(Day::HOURS.at(hour), *amount);
//! }
//! update.await?;
//! # assert_eq!(days.get(&key(20_783)).await?.unwrap().hours, BTreeMap::from([("09".to_owned(), 12)]));
//! # Ok(())
//! # }
//! ```
//!
//! | | added live, by `add` | computed by a job, by `set` |
//! |---|---|---|
//! | is up to date | at once | after the next run |
//! | an event that comes late | is added | needs another run for its hour |
//! | an event that arrives twice | counts twice, unless the row [knows its messages](super::rows#messages-that-arrive-twice) | is one row of the events, and counts once |
//! | after an error | [counts once](super::rows#sums-that-count-once), or the error says that it may not | run it again |
//!
//! Many services do both: live sums for today, and a job that computes yesterday from its events.
