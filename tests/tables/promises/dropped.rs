//! Calls whose futures are dropped before they complete.

use std::future::{Future, IntoFuture as _};
use std::pin::pin;
use std::task::{Context, Waker};

use keyderive::client::FamilyChange;
use keyderive::embedded::{Bigtable, Faults};
use keyderive_tests::fixtures::created;

use super::*;

use crate::registry::without_registry;

/// More polls than any call needs, unless it waits for another thread: each call is dropped at every await.
pub(super) const POLLS: usize = 40;

/// Polls a future `times` times, yields after each poll, and drops it; whether it completed. The last time, awaits it
/// to its end.
pub(super) async fn polled(future: impl Future, times: usize) -> bool {
    let mut future = pin!(future);
    if times + 1 == POLLS {
        future.await;
        return true;
    }
    for _ in 0..times {
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

#[tokio::test]
async fn a_dropped_call_leaves_its_row_whole() {
    for call in Call::ALL {
        let (mut before_seen, mut completed) = (false, 0);
        for polls in 0..POLLS {
            let bigtable = Bigtable::in_memory().with_faults(Faults::seeded(0));
            let steady = Tables::<Account>::created(&bigtable.client()).await;
            steady.prepare(call, 7).await;
            let found = steady.stored(7).await;
            let client = without_registry(&bigtable.client());
            let done = polled(call.make(&Tables::<Account>::of(&client), 7), polls).await;
            // Waits until what is in flight has arrived or failed.
            client.close().await;
            let (stored, after) = (steady.stored(7).await, call.after::<Account>());
            assert!(stored == after || !done && stored == found, "{call:?} after {polls} polls: {stored:?}");
            before_seen |= stored == found;
            completed += u32::from(done);
            if call == PutBoth {
                let copy = steady.copies.get(&UserKey { id: 7 }).await.unwrap();
                assert!(copy.is_none() || stored == after, "the second row alone after {polls} polls");
            }
            // With more polls it completes too.
            if completed == 5 {
                break;
            }
        }
        assert!(
            before_seen && completed > 0,
            "{call:?} must be dropped once before its effect, and complete once"
        );
    }
}

/// A condition that matched once does not match again, whether or not the first call completed.
#[tokio::test]
async fn a_condition_guards_the_call_after_a_dropped_one() {
    for call in [PutIf, DeleteIf, UpdateOnlyIf, PutIfAbsent] {
        for polls in 0..POLLS {
            let bigtable = Bigtable::in_memory();
            let steady = Tables::<Account>::created(&bigtable.client()).await;
            steady.prepare(call, 7).await;
            let client = bigtable.client();
            polled(call.make(&Tables::<Account>::of(&client), 7), polls).await;
            client.close().await;
            let is_made = steady.stored(7).await == call.after::<Account>();
            assert_eq!(call.make(&steady, 7).await.unwrap(), !is_made, "{call:?} after {polls} polls");
            assert_eq!(steady.stored(7).await, call.after::<Account>());
        }
    }
}

/// How many families the table has, if it exists.
async fn families(table: &Table<UserKey, Account>) -> Option<usize> {
    match table.info().await {
        Ok(info) => Some(info.families().len()),
        Err(error) if error.is_not_found() => None,
        Err(error) => panic!("{error}"),
    }
}

/// The table exists with all its families or not at all, and a change applies in full or not at all.
#[tokio::test]
async fn a_dropped_call_leaves_its_table_whole() {
    let add = || ["one", "other"].map(|name| FamilyChange::add(Family::new(name, GcRule::max_versions(1))));
    for polls in 0..POLLS {
        for call in 0..7 {
            let bigtable = Bigtable::in_memory();
            let steady = Tables::<Account>::of(&bigtable.client());
            if call > 2 {
                steady.accounts.create().without_row_key_schema().await.unwrap();
                steady.prepare(Put, 7).await;
            }
            let before = families(&steady.accounts).await;
            let client = bigtable.client();
            let Tables { accounts, raw, .. } = Tables::<Account>::of(&client);
            match call {
                0 => drop(polled(accounts.create_if_absent(), polls).await),
                1 => drop(polled(accounts.create().into_future(), polls).await),
                2 => {
                    let families = [Family::new("cf", GcRule::max_versions(1))];
                    polled(raw.create(families, [""; 0]), polls).await;
                }
                3 => drop(polled(accounts.modify_families(add()), polls).await),
                4 => drop(polled(raw.modify_families(add()), polls).await),
                5 => drop(polled(accounts.delete_table(), polls).await),
                _ => drop(polled(client.delete_table(accounts.name()), polls).await),
            }
            client.close().await;
            let after = families(&steady.accounts).await;
            let is_whole = match call {
                0..=2 => after.is_none_or(|after| after >= 1),
                3 | 4 => after == before || after == before.map(|before| before + 2),
                _ => after.is_none() || after == before,
            };
            assert!(is_whole, "call {call} after {polls} polls: {before:?} families, and then {after:?}");
            if call > 2 && after.is_some() {
                match steady.accounts.get(&UserKey { id: 7 }).await {
                    // The dropped deletion arrived after the families were read.
                    Err(error) if call > 4 && error.is_not_found() => {}
                    row => assert_eq!(row.unwrap(), Some(super::before())),
                }
            }
        }
    }
}

#[tokio::test]
async fn a_dropped_call_leaves_a_row_key_schema_or_none() {
    for polls in 0..POLLS {
        let bigtable = Bigtable::in_memory();
        let steady = Tables::<Account>::created(&bigtable.client()).await.accounts;
        let client = bigtable.client();
        let is_done = polled(Tables::<Account>::of(&client).accounts.remove_row_key_schema(), polls).await;
        client.close().await;
        assert!(!is_done || steady.info().await.unwrap().row_key_schema().is_none());
        assert!(steady.verify().await.is_ok());
        steady.remove_row_key_schema().await.unwrap();
        assert!(steady.info().await.unwrap().row_key_schema().is_none());
    }
}

#[tokio::test]
async fn a_dropped_call_leaves_a_stamp_or_none() {
    for polls in 0..POLLS {
        let bigtable = Bigtable::in_memory();
        let steady = unstamped(&bigtable.client()).await;
        let client = bigtable.client();
        let is_done = polled(Tables::<Account>::of(&client).accounts.stamp(), polls).await;
        client.close().await;
        let verified = steady.verify().await;
        assert!(verified.is_ok() || !is_done && verified.unwrap_err().is_table_mismatch());
        steady.stamp().await.unwrap();
        assert!(steady.verify().await.unwrap().stamp);
    }
}

#[tokio::test]
async fn a_dropped_call_retires_a_row_type_or_not() {
    for polls in 0..POLLS {
        let bigtable = Bigtable::in_memory();
        let steady = Tables::<Account>::created(&bigtable.client()).await.accounts;
        let found = |rows: Vec<(String, Vec<String>)>| {
            let columns = rows.into_iter().flat_map(|(_, columns)| columns);
            columns.filter_map(|column| column.strip_prefix("row::").map(str::to_owned)).next()
        };
        steady.put(&UserKey { id: 7 }, &before()).await.unwrap();
        let fingerprint = found(crate::registry::registered(&bigtable.client()).await).unwrap();
        let client = bigtable.client();
        let accounts = Tables::<Account>::of(&client).accounts;
        let is_done = polled(accounts.retire_row_type(&fingerprint), polls).await;
        client.close().await;
        let is_there = found(crate::registry::registered(&bigtable.client()).await).is_some();
        assert!(!is_done || !is_there, "{polls}");
        assert_eq!(steady.retire_row_type(&fingerprint).await.unwrap(), is_there);
    }
}

/// One request per bucket, one after the other.
#[tokio::test]
async fn a_dropped_drop_of_rows_leaves_buckets_whole() {
    for polls in 0..POLLS {
        let bigtable = Bigtable::in_memory();
        let steady = created::<SaltedKey, Account>(&bigtable.client(), "salted").await;
        steady.put_all((0..40).map(|id| (SaltedKey { id }, before()))).await.unwrap();
        let buckets = || async {
            let mut buckets = [0; 4];
            for (key, _) in steady.scan(SaltedKey::scan()).collect().await.unwrap() {
                let bucket = key.encode().unwrap()[0] - b'0';
                buckets[usize::from(bucket)] += 1;
            }
            buckets
        };
        let found = buckets().await;
        let client = bigtable.client();
        polled(client.table::<SaltedKey, Account>("salted").drop_rows(SaltedKey::scan()), polls).await;
        client.close().await;
        for (left, found) in buckets().await.into_iter().zip(found) {
            assert!(left == 0 || left == found, "{left} of {found} rows after {polls} polls");
        }
    }
}
