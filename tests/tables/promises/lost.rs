//! Calls whose first request is applied, but whose answer is lost.

use keyderive::Error;
use keyderive::client::FamilyChange;
use keyderive::embedded::{Bigtable, Fault, Faults};
use keyderive_tests::fixtures::created;

use super::*;

use crate::registry::without_registry;

fn lost(bigtable: &Bigtable, method: Method) -> Bigtable {
    bigtable.with_faults(Faults::seeded(0).fail_nth(method, 1, Fault::unavailable().after_the_call()))
}

/// Loses the answer to each call's first request, and checks how many requests the call sends and what it returns.
async fn lose_each(calls: impl Iterator<Item = Call>) {
    for call in calls {
        let bigtable = Bigtable::in_memory();
        let steady = Tables::<Account>::created(&bigtable.client()).await;
        steady.prepare(call, 7).await;
        let faulty = lost(&bigtable, call.method());
        let made = call.make(&Tables::<Account>::of(&without_registry(&faulty.client())), 7).await;
        assert_eq!(steady.stored(7).await, call.after::<Account>(), "{call:?}");
        // The second row is a request of its own.
        let requests = if call == PutBoth { 2 } else { 1 };
        match call.is_repeated() {
            true => {
                // The load finds the row that its first attempt wrote.
                assert_eq!(made.unwrap(), call != LoadIfAbsent, "{call:?}");
                assert_eq!(faulty.calls(call.method()), requests + 1, "{call:?}");
            }
            false => {
                let error = made.unwrap_err().downcast::<Error>().unwrap();
                assert!(error.is_outcome_unknown() && error.attempts() == 1, "{call:?}: {error}");
                assert_eq!(faulty.calls(call.method()), 1, "{call:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn idempotent_calls_are_retried_after_a_lost_response() {
    lose_each(Call::ALL.into_iter().filter(|call| call.is_repeated())).await;
}

#[tokio::test(start_paused = true)]
async fn other_calls_fail_as_unknown_after_a_lost_response() {
    lose_each(Call::ALL.into_iter().filter(|call| !call.is_repeated())).await;
}

/// Each attempt would have another server time, and add one more version.
#[tokio::test(start_paused = true)]
async fn a_raw_write_of_the_servers_time_fails_after_a_lost_answer() {
    let bigtable = Bigtable::in_memory();
    let steady = Tables::<Account>::created(&bigtable.client()).await;
    let (one, many) = (lost(&bigtable, Method::MutateRow), lost(&bigtable, Method::MutateRows));
    let set = || vec![Mutation::set_now("cf", "id", 2_i64.to_be_bytes().to_vec())];
    let raw = |bigtable: &Bigtable| Tables::<Account>::of(&bigtable.client()).raw;
    let (first, second) = (UserKey { id: 1 }.encode().unwrap(), UserKey { id: 2 }.encode().unwrap());
    assert!(raw(&one).mutate_row(first, set()).await.unwrap_err().is_outcome_unknown());
    let outcomes = raw(&many).mutate_rows(vec![(second.into(), set())]).await;
    assert!(outcomes[0].as_ref().unwrap_err().is_outcome_unknown());
    assert_eq!((one.calls(Method::MutateRow), many.calls(Method::MutateRows)), (1, 1));
    assert!(steady.stored(1).await.is_some() && steady.stored(2).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_table_is_created_once_and_compared_after_a_lost_answer() {
    let bigtable = Bigtable::in_memory();
    let faulty = lost(&bigtable, Method::CreateTable);
    let tables = Tables::<Account>::of(&faulty.client());
    assert!(tables.accounts.create_if_absent().await.unwrap_err().is_outcome_unknown());
    assert_eq!(faulty.calls(Method::CreateTable), 1);
    assert!(!tables.accounts.create_if_absent().await.unwrap());

    let bigtable = Bigtable::in_memory();
    let tables = Tables::<Account>::of(&lost(&bigtable, Method::CreateTable).client());
    assert!(tables.accounts.create().await.unwrap_err().is_outcome_unknown());
    assert!(tables.accounts.create().await.unwrap_err().is_already_exists());
    let bigtable = Bigtable::in_memory();
    let raw = lost(&bigtable, Method::CreateTable).client().raw_table("raw");
    let families = || [Family::new("cf", GcRule::max_versions(1))];
    assert!(raw.create(families(), [""; 0]).await.unwrap_err().is_outcome_unknown());
    assert!(raw.create(families(), [""; 0]).await.unwrap_err().is_already_exists());
}

#[tokio::test(start_paused = true)]
async fn a_table_is_not_changed_again_after_a_lost_answer() {
    let bigtable = Bigtable::in_memory();
    let steady = Tables::<Account>::created(&bigtable.client()).await;
    let add = || [FamilyChange::add(Family::new("new", GcRule::max_versions(1)))];
    let faulty = lost(&bigtable, Method::ModifyColumnFamilies);
    let tables = Tables::<Account>::of(&faulty.client());
    assert!(tables.accounts.modify_families(add()).await.unwrap_err().is_outcome_unknown());
    assert_eq!(faulty.calls(Method::ModifyColumnFamilies), 1);
    assert!(steady.accounts.info().await.unwrap().family("new").is_some());
    // The family exists.
    assert!(tables.raw.modify_families(add()).await.unwrap_err().is_already_exists());

    let salted = created::<SaltedKey, Account>(&bigtable.client(), "salted").await;
    salted.put_all((0..20).map(|id| (SaltedKey { id }, before()))).await.unwrap();
    let faulty = lost(&bigtable, Method::DropRowRange);
    let dropped = faulty.client().table::<SaltedKey, Account>("salted").drop_rows(SaltedKey::scan()).await;
    assert!(dropped.unwrap_err().is_outcome_unknown());
    assert_eq!(faulty.calls(Method::DropRowRange), 1);
    // The rows of the other buckets still exist.
    assert!((1..20).contains(&salted.count(SaltedKey::scan()).await.unwrap()));
    salted.drop_rows(SaltedKey::scan()).await.unwrap();
    assert_eq!(salted.count(SaltedKey::scan()).await.unwrap(), 0);

    let tables = Tables::<Account>::of(&lost(&bigtable, Method::DeleteTable).client());
    assert!(tables.accounts.delete_table().await.unwrap_err().is_outcome_unknown());
    assert!(tables.accounts.delete_table().await.unwrap_err().is_not_found());
    let client = lost(&bigtable, Method::DeleteTable).client();
    assert!(client.delete_table("copies").await.unwrap_err().is_outcome_unknown());
    assert!(client.delete_table("copies").await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn a_row_key_schema_is_removed_again_after_a_lost_answer() {
    let bigtable = Bigtable::in_memory();
    let steady = Tables::<Account>::created(&bigtable.client()).await.accounts;
    assert!(steady.info().await.unwrap().row_key_schema().is_some());
    let faulty = lost(&bigtable, Method::UpdateTable);
    Tables::<Account>::of(&faulty.client()).accounts.remove_row_key_schema().await.unwrap();
    assert_eq!(faulty.calls(Method::UpdateTable), 2);
    assert!(steady.info().await.unwrap().row_key_schema().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stamp_is_found_after_a_lost_answer() {
    let bigtable = Bigtable::in_memory();
    let steady = unstamped(&bigtable.client()).await;
    let faulty = lost(&bigtable, Method::ModifyColumnFamilies);
    let accounts = Tables::<Account>::of(&faulty.client()).accounts;
    assert!(accounts.stamp().await.unwrap_err().is_outcome_unknown());
    assert!(steady.verify().await.unwrap().stamp);
    accounts.stamp().await.unwrap();
    assert_eq!(faulty.calls(Method::ModifyColumnFamilies), 1);
}
