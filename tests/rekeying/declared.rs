//! A new key that declares which old fields it takes: one plan, for every call, in every state.

use keyderive::client::ReadStats;
use keyderive::dynamic::{KeyLayout, KeyMapping};
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::plan::Plan;
use keyderive::table::rekey::{Activity, MaybeRekeyed, Rekeyed, State};
use keyderive::table::{Scans, Writes};
use keyderive::{Client, Error, ErrorKind, Row, RowKey, Table};

use crate::drive::{drive, retried};

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "user_id")]
struct OldKey {
    user_id: String,
    #[pad(4)]
    seq: u32,
    #[reverse_ts]
    at: u64,
}

/// Renamed, wider, with more buckets.
#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[row_key(rekeyed_from = OldKey)]
#[salt(range = 16, over = "user,seq")]
struct NewKey {
    #[row_key(was = "user_id")]
    user: String,
    #[pad(6)]
    seq: u32,
    #[reverse_ts]
    at: u64,
}

/// With a time that is plain, and in the place of the number.
#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[row_key(rekeyed_from = OldKey, layout = "ordered")]
#[salt(range = 16, over = "user")]
struct TurnedKey {
    #[row_key(was = "user_id")]
    user: String,
    at: u64,
    seq: u32,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Ticket {
    title: String,
}

/// Keys with a field that a module writes: in the new one another.
mod custom {
    use keyderive::RowKey;

    macro_rules! module {
        ($name:ident $written:expr) => {
            pub(super) mod $name {
                use keyderive::key::{FieldError, Width};

                pub(crate) const WIDTH: Width = Width::Fixed(3);

                pub(crate) fn write(value: &u32, out: &mut Vec<u8>) -> Result<(), FieldError> {
                    let written: fn(u32) -> u32 = $written;
                    out.extend_from_slice(format!("{:03}", written(*value)).as_bytes());
                    Ok(())
                }

                pub(crate) fn read(bytes: &[u8]) -> Result<u32, FieldError> {
                    let written: fn(u32) -> u32 = $written;
                    let text = std::str::from_utf8(bytes).map_err(FieldError::new)?;
                    Ok(written(text.parse().map_err(FieldError::new)?))
                }
            }
        };
    }

    module!(plain | value | value);
    module!(turned | value | 999 - value);

    #[derive(RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 2, over = "user")]
    pub(super) struct OldKey {
        #[row_key(with = "plain")]
        pub(super) level: u32,
        pub(super) user: String,
    }

    #[derive(RowKey, Clone, Debug, PartialEq)]
    #[row_key(rekeyed_from = OldKey)]
    #[salt(range = 3, over = "user")]
    pub(super) struct NewKey {
        #[row_key(with = "turned")]
        pub(super) level: u32,
        pub(super) user: String,
    }
}

/// Keys of bytes, which may be like a salt.
mod bytes {
    use keyderive::RowKey;

    #[derive(RowKey, Clone, Debug, PartialEq)]
    #[row_key(layout = "ordered")]
    pub(super) struct OldKey {
        pub(super) a: Vec<u8>,
        pub(super) b: String,
    }

    #[derive(RowKey, Clone, Debug, PartialEq)]
    #[row_key(rekeyed_from = OldKey, layout = "ordered")]
    #[salt(range = 16, over = "a")]
    pub(super) struct NewKey {
        pub(super) a: Vec<u8>,
        pub(super) b: String,
    }
}

fn ticket(title: &str) -> Ticket {
    Ticket { title: title.into() }
}

fn key(at: u64) -> NewKey {
    let user = ["alice", "bob", "carol", "dave"][usize::try_from(at % 4).unwrap()];
    NewKey { user: user.into(), seq: u32::try_from(at * 7 % 100).unwrap(), at }
}

/// By the order of the new key.
fn sorted(keys: impl IntoIterator<Item = NewKey>) -> Vec<NewKey> {
    let mut keys: Vec<_> = keys.into_iter().collect();
    keys.sort_by_key(|key| (key.user.clone(), key.seq, std::cmp::Reverse(key.at)));
    keys
}

/// The table with old keys, in several tablets.
async fn old_table(client: &Client, rows: u64) -> Table<OldKey, Ticket> {
    let tickets = client.table::<OldKey, Ticket>("tickets");
    let middle = OldKey { user_id: "bob".into(), seq: 50, at: 0 };
    tickets.create().without_row_key_schema().split_at(&middle).await.unwrap();
    let rows: Vec<_> = (0..rows).map(|at| (OldKey::from(&key(at)), ticket("first"))).collect();
    tickets.put_all(&rows).await.unwrap();
    tickets
}

async fn open(client: &Client) -> Rekeyed<OldKey, NewKey, Ticket> {
    client.rekeyed("tickets", "tickets-16").await.unwrap()
}

/// The states of a re-keying in their order, and of one that is taken back.
const FORWARDS: [State; 5] = [State::Old, State::Paused, State::Copying, State::Moved, State::New];
const AND_BACK: [State; 7] = [
    State::Old,
    State::Paused,
    State::Copying,
    State::Moved,
    State::RollbackPaused,
    State::RollbackCopying,
    State::RolledBack,
];

/// Takes a table to a state that comes next.
async fn go_to<O, N, R>(table: &Rekeyed<O, N, R>, state: State)
where
    O: keyderive::table::rekey::PairKey + for<'a> From<&'a N>,
    N: keyderive::table::rekey::PairKey,
    R: Row + Send + Sync + 'static,
{
    let migration = table.migration();
    match state {
        State::Paused => drive(table, false, (state, Activity::Waiting)).await,
        State::Copying => drive(table, false, (state, Activity::Copying)).await,
        State::Moved => migration.run().await.unwrap(),
        State::New => migration.finish().await.unwrap(),
        State::RollbackPaused => drive(table, true, (state, Activity::Waiting)).await,
        State::RollbackCopying => drive(table, true, (state, Activity::Copying)).await,
        State::RolledBack => migration.roll_back().await.unwrap(),
        _ => {}
    }
    assert_eq!(migration.state().await.unwrap(), state);
}

/// What a service does with the table, which a program writes once.
async fn service<S: Writes + Scans<NewKey>>(
    tickets: &Table<NewKey, Ticket, S>,
    round: u64,
) -> Result<(), Error> {
    let user = format!("user-{round}");
    let key = |at| NewKey { user: user.clone(), seq: 7, at };
    let of_user = || NewKey::scan().user(&user);
    tickets.put(&key(1), &ticket("opened")).await?;
    tickets.put_all(&[(key(2), ticket("opened")), (key(3), ticket("opened"))]).await?;
    let writer = tickets.writer();
    writer.put(&key(4), &ticket("opened")).await?;
    writer.update(tickets.update(&key(1)).set(Ticket::TITLE, "renamed")).await?;
    writer.delete(&key(2)).await?;
    assert_eq!(writer.close().await.unwrap(), 3);
    tickets.delete_all([key(3)]).await?;
    assert_eq!(tickets.get(&key(1)).await?, Some(ticket("renamed")));
    assert_eq!(tickets.get_many([key(2), key(4)]).await?, [None, Some(ticket("opened"))]);
    let newest = tickets.scan(of_user().seq(7)).limit(1).collect().await?;
    assert_eq!(newest, [(key(4), ticket("opened"))]);
    let page = tickets.scan(of_user()).page(1).await?;
    let rest = tickets.scan(of_user()).after(&page.next.unwrap()).page(5).await?;
    assert_eq!((rest.rows, rest.next), (vec![(key(1), ticket("renamed"))], None));
    assert_eq!(tickets.count(of_user()).await?, 2);
    let stats = ReadStats::new();
    assert_eq!(tickets.scan(of_user()).with_stats(&stats).collect().await?.len(), 2);
    assert!(stats.rows_seen() >= 2, "{stats}");
    let titles = tickets.select(Ticket::TITLE).scan(of_user()).reversed().collect().await?;
    assert_eq!(titles, [(key(1), "renamed".to_owned()), (key(4), "opened".to_owned())]);
    let first = tickets.scan(NewKey::scan()).distinct(1).limit(1).collect().await?;
    assert_eq!(first[0].user, "alice");
    let mut seen = 0;
    tickets
        .scan(of_user())
        .visit::<NewKey, Error>(|key, row| {
            seen += key.at;
            row.read::<Ticket>().map(drop)
        })
        .await?;
    assert_eq!(seen, 5);
    assert!(tickets.scan(of_user()).explain()?.to_string().contains("NewKey"));
    assert_eq!(tickets.delete_rows(of_user()).await?, 2);
    assert_eq!(tickets.count(of_user()).await?, 0);
    Ok(())
}

paused! {

/// The type of the table is the same before, during and after: a release differs in the line that opens it.
async fn a_service_is_the_same_in_every_state() {
    for states in [&FORWARDS[..], &AND_BACK] {
        let client = Client::embedded();
        old_table(&client, 40).await;
        let pair = open(&client).await;
        let tickets: Table<NewKey, Ticket, MaybeRekeyed> = pair.maybe_rekeyed();
        for (round, state) in (0..).zip(states) {
            go_to(&pair, *state).await;
            // Otherwise writes wait for a driver.
            if !matches!(state, State::Paused | State::RollbackPaused) {
                service(&pair, round).await.unwrap();
                service(&tickets, round).await.unwrap();
            }
            let all = sorted((0..40).map(key));
            assert_eq!(tickets.scan(NewKey::scan()).keys_only().collect().await.unwrap(), all, "{state}");
        }
    }
    let client = Client::embedded();
    let plain = client.table::<NewKey, Ticket>("tickets");
    plain.create().await.unwrap();
    plain.put(&key(0), &ticket("first")).await.unwrap();
    service(&plain.maybe_rekeyed(), 0).await.unwrap();
}

async fn pages_go_on_when_the_state_changes() {
    for (states, plain) in [(&FORWARDS[..], Some("tickets-16")), (&AND_BACK, None)] {
        for is_reversed in [false, true] {
            let client = Client::embedded();
            old_table(&client, 40).await;
            let pair = open(&client).await;
            let (mut found, mut next) = (Vec::new(), None::<String>);
            for state in states {
                go_to(&pair, *state).await;
                let scan = pair.scan(NewKey::scan()).keys_only();
                let scan = if is_reversed { scan.reversed() } else { scan };
                let scan = next.iter().fold(scan, |scan, token| scan.after(token));
                let page = scan.page(3).await.unwrap();
                found.extend(page.rows);
                next = page.next;
            }
            let token = next.unwrap();
            let rest = |scan: keyderive::Scan<NewKey, Ticket>| {
                let scan = scan.keys_only().after(&token);
                if is_reversed { scan.reversed() } else { scan }
            };
            match plain {
                Some(name) => {
                    let plain = client.table::<NewKey, Ticket>(name);
                    found.extend(rest(plain.scan(NewKey::scan())).collect().await.unwrap());
                }
                None => {
                    let scan = pair.scan(NewKey::scan()).keys_only().after(&token);
                    let scan = if is_reversed { scan.reversed() } else { scan };
                    found.extend(scan.collect().await.unwrap());
                    let old = client.table::<OldKey, Ticket>("tickets");
                    let refused = old.scan(OldKey::scan()).after(&token).collect().await.unwrap_err();
                    assert!(refused.to_string().contains("another table"), "{refused}");
                }
            }
            let mut all = sorted((0..40).map(key));
            if is_reversed {
                all.reverse();
            }
            assert_eq!(found, all);
        }
    }
}

async fn a_token_of_the_old_table_is_refused() {
    let client = Client::embedded();
    let old = old_table(&client, 9).await;
    let token = old.scan(OldKey::scan()).page(2).await.unwrap().next.unwrap();
    let refused = open(&client).await.scan(NewKey::scan()).after(&token).page(2).await.unwrap_err();
    assert!(refused.to_string().contains("another table"), "{refused}");
}

async fn partitions_of_one_state_are_those_of_every_state() {
    for states in [&FORWARDS[..], &AND_BACK] {
        let client = Client::embedded();
        old_table(&client, 60).await;
        let pair = open(&client).await;
        let of_users: Plan<NewKey> = NewKey::scan().user_range("b".."d").into_plan().unwrap();
        for first in 0..states.len() {
            let client = Client::embedded();
            old_table(&client, 60).await;
            let pair = open(&client).await;
            for state in &states[..first] {
                go_to(&pair, *state).await;
            }
            let mut parts = pair.partitions().await.unwrap();
            assert!(parts.len() >= 2, "{parts:?}");
            let mut found = Vec::new();
            for state in &states[first..] {
                go_to(&pair, *state).await;
                if let Some(part) = parts.pop() {
                    found.extend(pair.scan(part).keys_only().collect().await.unwrap());
                }
            }
            for part in parts {
                found.extend(pair.scan(part).keys_only().collect().await.unwrap());
            }
            assert_eq!(sorted(found), sorted((0..60).map(key)));
        }
        let mut found = Vec::new();
        for part in pair.partitions_of(of_users).await.unwrap() {
            found.extend(pair.scan(part).keys_only().collect().await.unwrap());
        }
        assert_eq!(sorted(found), sorted((0..60).map(key).filter(|key| ["bob", "carol"].contains(&&*key.user))));
    }
}

async fn values_that_the_old_key_cannot_hold_are_written_once_there_is_no_way_back() {
    let client = Client::embedded();
    old_table(&client, 9).await;
    let pair = open(&client).await;
    let findings = pair.migration().check().await.unwrap();
    let narrower: Vec<_> = findings.narrower.iter().map(|(field, value)| format!("{field}: {value}")).collect();
    assert_eq!(narrower, ["seq: 10000"]);
    assert!(findings.is_ok() && findings.without_order.is_none(), "{findings}");
    assert!(findings.to_string().ends_with(
        "all can be re-keyed\nuntil it is finished, keys with a `seq` that the old key cannot hold are refused, such as 10000"
    ), "{findings}");
    let wide = NewKey { user: "erin".into(), seq: 12_345, at: 1 };
    for state in [State::Old, State::Copying, State::Moved] {
        go_to(&pair, state).await;
        let error = pair.put(&wide, &ticket("wide")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidKey, "{error}");
        let text = error.to_string();
        assert!(text.contains("until `finish()` ends its re-keying") && text.contains("`tickets`"), "{text}");
        assert!(text.contains("12345 does not fit"), "{text}");
        // A bound may be any value, and no old row has one beyond its field's.
        let wider = NewKey::scan().user("erin").seq_range(10_000..);
        assert_eq!(pair.count(wider).await.unwrap(), 0, "{state}");
        let all = NewKey::scan().user("bob").seq_range(..100_000);
        assert_eq!(pair.count(all).await.unwrap(), 2, "{state}");
    }
    go_to(&pair, State::New).await;
    pair.put(&wide, &ticket("wide")).await.unwrap();
    assert_eq!(pair.get(&wide).await.unwrap(), Some(ticket("wide")));
    let page = pair.scan(NewKey::scan()).keys_only().reversed().page(1).await.unwrap();
    assert_eq!(page.rows, [wide]);
    let rest = pair.scan(NewKey::scan()).keys_only().reversed().after(&page.next.unwrap()).collect();
    assert_eq!(rest.await.unwrap().len(), 9);
}

/// Answers are lost, the state changes, and the first call is dropped.
async fn rows_are_deleted_by_a_plan_whatever_happens() {
    let of_bob = || NewKey::scan().user("bob");
    for state in [State::Old, State::Copying, State::Moved, State::RollbackCopying, State::RolledBack] {
        let bigtable = Bigtable::in_memory();
        let client = bigtable.client();
        old_table(&client, 400).await;
        let pair = open(&client).await;
        for next in AND_BACK {
            go_to(&pair, next).await;
            if next == state {
                break;
            }
        }
        let faults = Faults::seeded(7)
            .fail(Method::MutateRows, 0.3, Fault::unavailable().after_the_call())
            .fail(Method::CheckAndMutateRow, 0.1, Fault::unavailable().after_the_call());
        let faulty = open(&bigtable.with_faults(faults).client()).await;
        let dropped = faulty.delete_rows(of_bob());
        tokio::select! {
            biased;
            deleted = dropped => drop(deleted.unwrap()),
            () = tokio::time::sleep(std::time::Duration::from_millis(1)) => {}
        }
        // Another program writes other rows meanwhile, and rows of this user.
        let (deleted, ()) = tokio::join!(faulty.delete_rows(of_bob()), async {
            for at in 400..420 {
                pair.put(&key(at), &ticket("meanwhile")).await.unwrap();
            }
        });
        deleted.unwrap();
        faulty.delete_rows(of_bob()).await.unwrap();
        assert_eq!(pair.count(of_bob()).await.unwrap(), 0, "{state}");
        assert_eq!(pair.count(NewKey::scan()).await.unwrap(), 315, "{state}");
    }
}

/// The fields that a plan leaves open decide.
async fn a_scan_has_an_order_where_all_open_fields_are_turned() {
    let client = Client::embedded();
    let old = old_table(&client, 0).await;
    let rows: Vec<_> = (0..30).map(|at| (OldKey { user_id: "alice".into(), seq: 7, at }, ticket("first"))).collect();
    old.put_all(&rows).await.unwrap();
    let pair = client.rekeyed::<OldKey, TurnedKey, Ticket>("tickets", "turned").await.unwrap();
    let findings = pair.migration().check().await.unwrap();
    assert_eq!(findings.without_order.as_deref(), Some("the field `at` is in the place of `seq`"), "{findings}");
    for state in AND_BACK {
        go_to(&pair, state).await;
        let error = pair.scan(TurnedKey::scan().user("alice")).collect().await.unwrap_err();
        assert!(error.to_string().contains("the field `at` is in the place of `seq`; add `.unordered()`"), "{error}");
        if !matches!(state, State::Paused | State::RollbackPaused) {
            let found = retried(async || pair.scan(TurnedKey::scan()).unordered().collect().await).await;
            assert_eq!(found.len(), 30, "{state}");
        }
        // A range of the time leaves it open beside the number.
        let at = pair.scan(TurnedKey::scan().user("alice").at(12)).keys_only().collect().await.unwrap();
        assert_eq!(at, [TurnedKey { user: "alice".into(), at: 12, seq: 7 }], "{state}");
    }
}

/// The old table cannot seek past a value of fields that are not its first ones.
async fn values_are_delivered_once_however_many_rows_they_have() {
    for states in [&FORWARDS[..], &AND_BACK] {
        let client = Client::embedded();
        let old = old_table(&client, 0).await;
        let key = |user: &str, seq, at| OldKey { user_id: user.into(), seq, at };
        let rows = (0..700).flat_map(|seq| [key("alice", seq, 12), key("bob", 7, seq.into())]);
        let rows: Vec<_> = rows.map(|key| (key, ticket("first"))).collect();
        old.put_all(&rows).await.unwrap();
        let turned = client.rekeyed::<OldKey, TurnedKey, Ticket>("tickets", "turned").await.unwrap();
        for state in states {
            go_to(&turned, *state).await;
            let of_alice = turned.scan(TurnedKey::scan().user("alice").at(12));
            let found = of_alice.distinct(2).collect().await.unwrap();
            assert_eq!(found, [TurnedKey { user: "alice".into(), at: 12, seq: 0 }], "{state}");
        }
        let client = Client::embedded();
        let old = old_table(&client, 0).await;
        old.put_all(&rows).await.unwrap();
        let renamed = open(&client).await;
        for state in states {
            go_to(&renamed, *state).await;
            let users = renamed.scan(NewKey::scan()).distinct(1).collect().await.unwrap();
            let users: Vec<_> = users.iter().map(|key| (&*key.user, key.seq, key.at)).collect();
            assert_eq!(users, [("alice", 0, 12), ("bob", 7, 699)], "{state}");
        }
    }
}

/// By a program that does not have the type of the old key.
async fn a_mapping_declares_the_fields_by_data() {
    let client = Client::embedded();
    old_table(&client, 40).await;
    let [of_old, of_new] = [KeyLayout::of::<OldKey>(), KeyLayout::of::<NewKey>()];
    let mapping = KeyMapping::new(&of_old, &of_new, "user=user_id").unwrap();
    let tickets = client.rekeyed_by_mapping::<NewKey, Ticket>("tickets", "tickets-16", &mapping).await.unwrap();
    // A driver by the types has the same keys.
    let pair = open(&client).await;
    for (round, state) in (0..).zip(AND_BACK) {
        go_to(&pair, state).await;
        if !matches!(state, State::Paused | State::RollbackPaused) {
            service(&tickets, round).await.unwrap();
        }
        let all = tickets.scan(NewKey::scan()).keys_only().collect().await.unwrap();
        assert_eq!(all, sorted((0..40).map(key)), "{state}");
    }
    let other = KeyMapping::new(&of_old, &of_old, "").unwrap();
    let refused = client.rekeyed_by_mapping::<NewKey, Ticket>("tickets", "tickets-16", &other).await.map(drop);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("the mapping is of keys `OldKey`"), "{refused}");
}

async fn a_partition_of_nothing_has_no_rows() {
    let client = Client::embedded();
    old_table(&client, 60).await;
    let pair = open(&client).await;
    let none: Plan<NewKey> = NewKey::scan().user("bob").seq_range(2_000_000..).into_plan().unwrap();
    assert_eq!(pair.count(none.clone()).await.unwrap(), 0);
    for part in pair.partitions_of(none).await.unwrap() {
        assert_eq!(pair.count(part).await.unwrap(), 0);
    }
}

/// What a module writes says nothing of the value, so the old table is asked for all of it.
async fn a_field_that_another_module_writes_is_read_by_its_value() {
    let client = Client::embedded();
    let old = client.table::<custom::OldKey, Ticket>("tickets");
    old.create().without_row_key_schema().await.unwrap();
    for level in [1, 2, 998] {
        old.put(&custom::OldKey { level, user: "alice".into() }, &ticket("first")).await.unwrap();
    }
    let pair = client.rekeyed::<custom::OldKey, custom::NewKey, Ticket>("tickets", "by-rank").await.unwrap();
    for state in FORWARDS {
        go_to(&pair, state).await;
        let found = pair.scan(custom::NewKey::scan().level(&1)).keys_only().collect().await.unwrap();
        assert_eq!(found, [custom::NewKey { level: 1, user: "alice".into() }], "{state}");
        let both = pair.scan(custom::NewKey::scan().level_any_of([&1, &998])).unordered().count();
        if !matches!(state, State::Paused) {
            assert_eq!(both.await.unwrap(), 2, "{state}");
        }
        let in_order = pair.scan(custom::NewKey::scan()).collect().await.map(drop);
        match state {
            State::Moved | State::New => {}
            _ => assert!(in_order.unwrap_err().to_string().contains("add `.unordered()`"), "{state}"),
        }
    }
}

/// Without its salt, the key of the last row of the first page is that of another row.
async fn a_page_begins_after_its_row_and_no_other() {
    let client = Client::embedded();
    let old = client.table::<bytes::OldKey, Ticket>("tickets");
    old.create().without_row_key_schema().await.unwrap();
    let all: Vec<_> = (0..80_u8).flat_map(|at| ["", "é", "ü", "\u{ffff}", "q"].map(|b| (vec![0x80 + at], b))).collect();
    for (a, b) in &all {
        old.put(&bytes::OldKey { a: a.clone(), b: (*b).to_owned() }, &ticket("first")).await.unwrap();
    }
    let pair = client.rekeyed::<bytes::OldKey, bytes::NewKey, Ticket>("tickets", "salted").await.unwrap();
    let (mut found, mut next) = (0, Some(None::<String>));
    while let Some(token) = next.take() {
        let scan = token.iter().fold(pair.scan(bytes::NewKey::scan()), |scan, token| scan.after(token));
        let page = scan.keys_only().page(1).await.unwrap();
        found += page.rows.len();
        next = page.next.map(Some);
    }
    assert_eq!(found, all.len());
}

async fn a_plan_says_what_it_reads_of_the_old_table() {
    let client = Client::embedded();
    old_table(&client, 0).await;
    let pair = client.rekeyed::<OldKey, TurnedKey, Ticket>("tickets", "turned").await.unwrap();
    let scan = pair.scan(TurnedKey::scan().user("alice").at_range(..1000)).unordered();
    let expected = r#"
scan of TurnedKey
  key          <salt 0 to 15> | <user> | <at> | <seq>
  constraints  user = "alice", at in ..1000
  buckets      bucket 5 of 0 to 15: the salt is over user, fixed
  order        by at; then seq
  requests     1
               [\x85\x00\x01alice, \x85\x00\x01alice\x00\x01\xc3\xe8)
               hex [850001616c696365, 850001616c6963650001c3e8)
until it is re-keyed, in `tickets`: scan of OldKey
  key          <salt 0 to 3>#<user_id>#<seq>#<at>
  constraints  user_id = "alice"
  buckets      bucket 1 of 0 to 3: the salt is over user_id, fixed
  order        by seq; then at, greatest first
  filter       rows are read, and dropped by their new keys: the old table cannot be asked for `at`
  requests     1
               [1#alice#, 1#alice$)
"#;
    assert_eq!(format!("\n{}\n", scan.explain().unwrap()), expected);
    let pair = open(&client).await;
    let scan = pair.scan(NewKey::scan().user("alice").seq_range(3..9)).limit(5);
    let shown = scan.explain().unwrap().to_string();
    let (_, of_old) = shown.split_once("until it is re-keyed, in `tickets`: scan of OldKey\n").unwrap();
    let expected = r#"
  key          <salt 0 to 3>#<user_id>#<seq>#<at>
  constraints  user_id = "alice", seq in 3..9
  buckets      bucket 1 of 0 to 3: the salt is over user_id, fixed
  order        by seq; then at, greatest first
  requests     1
               [1#alice#0003, 1#alice#0009)"#;
    assert_eq!(format!("\n{of_old}"), expected);
}

}
