//! Concurrent calls on one row or one table.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use keyderive::client::FamilyChange;
use keyderive_tests::fixtures::created;

use super::*;
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    one_of_several_concurrent_conditional_calls_wins
    concurrent_increments_and_appends_all_count
    concurrent_changes_of_different_columns_all_stay
    new_rows_of_one_key_mix_their_columns
    a_delete_beside_a_put_leaves_the_row_whole_or_none
    deletions_beside_each_other_all_succeed
    of_several_that_create_a_table_one_does
    of_several_that_change_a_table_one_does
    rows_of_put_both_are_whole_each
    a_deletion_takes_cells_of_any_time
    of_raw_conditional_writes_beside_each_other_one_wins
    raw_writes_beside_each_other_are_applied_whole
    all_that_remove_a_row_key_schema_beside_each_other_succeed
    all_that_stamp_a_table_beside_each_other_succeed
}

const KEY: UserKey = UserKey { id: 7 };
const CALLERS: i64 = 8;

fn account(id: i64) -> Account {
    let text = Some(id.to_string());
    let (card, cash) = if id % 2 == 0 { (Some(id), None) } else { (None, Some(id)) };
    Account { id, card, cash, visits: None, log: text }
}

async fn one_of_several_concurrent_conditional_calls_wins(client: Client) {
    let tables = Tables::<Account>::created(&client).await;
    for call in [PutIf, PutIfAbsent, DeleteIf, UpdateOnlyIf, LoadIfAbsent] {
        for _ in 0..10 {
            tables.accounts.delete(&KEY).await.unwrap();
            tables.prepare(call, KEY.id).await;
            let made = join_all((0..CALLERS).map(|_| call.make(&tables, KEY.id))).await;
            let won = made.into_iter().filter(|made| *made.as_ref().unwrap()).count();
            assert_eq!(won, 1, "{call:?}");
            assert_eq!(tables.stored(KEY.id).await, call.after::<Account>());
        }
    }
}

async fn concurrent_increments_and_appends_all_count(client: Client) {
    let Tables { accounts, raw, .. } = Tables::<Account>::created(&client).await;
    accounts.put(&KEY, &before()).await.unwrap();
    let row = KEY.encode().unwrap();
    let visit = || vec![ReadModifyWrite::increment("cf", "visits", 1)];
    let sums = join_all((0..CALLERS).map(|_| accounts.increment(&KEY, Account::VISITS, 1))).await;
    let sums: BTreeSet<i64> = sums.into_iter().map(Result::unwrap).collect();
    assert_eq!(sums, (1..=CALLERS).collect());
    join_all((0..CALLERS).map(|_| accounts.append(&KEY, Account::LOG, "2")))
        .await
        .into_iter()
        .for_each(|made| drop(made.unwrap()));
    let modified = (0..CALLERS).map(|_| async {
        accounts.modify(&KEY).increment(Account::VISITS, 1).append(Account::LOG, "3").await
    });
    join_all(modified).await.into_iter().for_each(|made| drop(made.unwrap()));
    let raw = (0..CALLERS).map(|_| raw.read_modify_write_row(row.clone(), visit()));
    join_all(raw).await.into_iter().for_each(|made| drop(made.unwrap()));
    let stored = accounts.get(&KEY).await.unwrap().unwrap();
    assert_eq!(
        stored,
        Account { visits: Some(3 * CALLERS), log: Some("1222222223333333 3".replace(' ', "")), ..before() }
    );
}

async fn concurrent_changes_of_different_columns_all_stay(client: Client) {
    let Tables { accounts, .. } = Tables::<Account>::created(&client).await;
    accounts.put(&KEY, &before()).await.unwrap();
    let none = Account { id: 1, card: None, cash: None, visits: None, log: None };
    let (cash, log) =
        (Account { cash: Some(2), ..none.clone() }, [(KEY, Account { log: Some("2".into()), ..none })]);
    let (updated, merged, all) = tokio::join!(
        async { accounts.update(&KEY).set(Account::CARD, 2).await },
        accounts.merge(&KEY, &cash),
        accounts.merge_all(&log)
    );
    updated.and(merged).and(all).unwrap();
    let expected = Account { id: 1, card: Some(2), cash: Some(2), visits: None, log: Some("2".into()) };
    assert_eq!(accounts.get(&KEY).await.unwrap(), Some(expected));
}

/// Use `put` or `put_if_absent` to prevent it.
async fn new_rows_of_one_key_mix_their_columns(client: Client) {
    let Tables { accounts, .. } = Tables::<Account>::created(&client).await;
    accounts.merge(&KEY, &account(2)).await.unwrap();
    accounts.load_iter([(KEY, account(3))]).new_rows().await.unwrap().all_written().unwrap();
    assert_eq!(accounts.get(&KEY).await.unwrap(), Some(Account { card: Some(2), ..account(3) }));
}

async fn a_delete_beside_a_put_leaves_the_row_whole_or_none(client: Client) {
    let Tables { accounts, .. } = Tables::<Account>::created(&client).await;
    for id in 0..20 {
        let key = UserKey { id };
        accounts.put(&key, &account(2)).await.unwrap();
        let row = account(3);
        let (put, deleted) = tokio::join!(accounts.put(&key, &row), accounts.delete(&key));
        put.and(deleted).unwrap();
        let stored = accounts.get(&key).await.unwrap();
        assert!(stored.as_ref().is_none_or(|stored| *stored == row), "{stored:?}");
    }
}

#[derive(RowKey, Clone)]
#[row_key(tag = "T")]
struct TaggedKey {
    id: u64,
}

async fn deletions_beside_each_other_all_succeed(client: Client) {
    let accounts = created::<TaggedKey, Account>(&client, "tagged").await;
    let rows = || (0..100).map(|id| (TaggedKey { id }, before()));
    accounts.put_all(rows()).await.unwrap();
    let deleted = join_all((0..CALLERS).map(|_| accounts.delete_rows(TaggedKey::scan()))).await;
    assert!(deleted.into_iter().map(Result::unwrap).sum::<u64>() >= 100);
    assert_eq!(accounts.count(TaggedKey::scan()).await.unwrap(), 0);

    accounts.put_all(rows()).await.unwrap();
    let keys = || rows().map(|(key, _)| key);
    join_all((0..CALLERS).map(|_| accounts.delete_all(keys()))).await.into_iter().for_each(Result::unwrap);
    assert_eq!(accounts.count(TaggedKey::scan()).await.unwrap(), 0);

    accounts.put_all(rows()).await.unwrap();
    let key = TaggedKey { id: 7 };
    join_all((0..CALLERS).map(|_| accounts.delete(&key))).await.into_iter().for_each(Result::unwrap);
    assert_eq!(accounts.get(&key).await.unwrap(), None);
    let dropped = join_all((0..CALLERS).map(|_| accounts.drop_rows(TaggedKey::scan()))).await;
    dropped.into_iter().for_each(Result::unwrap);
    assert_eq!(accounts.count(TaggedKey::scan()).await.unwrap(), 0);
}

async fn of_several_that_create_a_table_one_does(client: Client) {
    let Tables { accounts, copies, .. } = Tables::<Account>::of(&client);
    let created = join_all((0..CALLERS).map(|_| accounts.create_if_absent())).await;
    assert_eq!(created.into_iter().filter(|created| *created.as_ref().unwrap()).count(), 1);
    let created = join_all((0..CALLERS).map(|_| async { copies.create().await })).await;
    let (won, lost): (Vec<_>, Vec<_>) = created.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    assert!(lost.into_iter().all(|lost| lost.unwrap_err().is_already_exists()));
    let raw = client.raw_table("raw");
    let families = || [Family::new("cf", GcRule::max_versions(1))];
    let created = join_all((0..CALLERS).map(|_| raw.create(families(), [""; 0]))).await;
    assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 1);
}

async fn of_several_that_change_a_table_one_does(client: Client) {
    let Tables { accounts, copies, raw, .. } = Tables::<Account>::created(&client).await;
    let add = |name| [FamilyChange::add(Family::new(name, GcRule::max_versions(1)))];
    let changed = join_all((0..CALLERS).map(|_| accounts.modify_families(add("one")))).await;
    assert_eq!(changed.iter().filter(|changed| changed.is_ok()).count(), 1);
    let changed = join_all((0..CALLERS).map(|_| raw.modify_families(add("other")))).await;
    assert_eq!(changed.iter().filter(|changed| changed.is_ok()).count(), 1);
    let deleted = join_all((0..CALLERS).map(|_| accounts.delete_table())).await;
    let (won, lost): (Vec<_>, Vec<_>) = deleted.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    assert!(lost.into_iter().all(|lost| lost.unwrap_err().is_not_found()));
    let deleted = join_all((0..CALLERS).map(|_| client.delete_table(copies.name()))).await;
    assert_eq!(deleted.iter().filter(|deleted| deleted.is_ok()).count(), 1);
}

/// Each row is that of one call, but perhaps of different calls.
async fn rows_of_put_both_are_whole_each(client: Client) {
    let Tables { accounts, copies, .. } = Tables::<Account>::created(&client).await;
    let rows: Vec<_> = (0..CALLERS).map(account).collect();
    let put = rows.iter().map(|row| put_both((&accounts, &KEY, row), (&copies, &KEY, row)));
    join_all(put).await.into_iter().for_each(|put| put.unwrap());
    for stored in [accounts.get(&KEY).await.unwrap(), copies.get(&KEY).await.unwrap()] {
        assert!(rows.contains(stored.as_ref().unwrap()), "{stored:?}");
    }
}

/// A deletion does not depend on clocks.
async fn a_deletion_takes_cells_of_any_time(client: Client) {
    let accounts = created::<TaggedKey, Account>(&client, "tagged").await;
    let raw = client.raw_table("tagged");
    let key = TaggedKey { id: 7 };
    for deletion in 0..6 {
        // In 1970, and in 2096.
        for at in [1_000, 4_000_000_000_000_000] {
            let set = Mutation::set("cf", "id", at, 1_i64.to_be_bytes().to_vec());
            raw.mutate_row(key.encode().unwrap(), [set]).await.unwrap();
        }
        match deletion {
            0 => accounts.delete(&key).await.unwrap(),
            1 => assert!(accounts.delete_if(&key, Condition::row_exists()).await.unwrap()),
            2 => assert_eq!(accounts.delete_rows(TaggedKey::scan()).await.unwrap(), 1),
            3 => accounts.drop_rows(TaggedKey::scan()).await.unwrap(),
            4 => accounts.delete_all([&key]).await.unwrap(),
            _ => {
                let writer = accounts.writer();
                writer.delete(&key).await.unwrap();
                writer.close().await.unwrap();
            }
        }
        assert!(raw.read_row(key.encode().unwrap(), None).await.unwrap().is_none(), "deletion {deletion}");
    }
}

async fn of_raw_conditional_writes_beside_each_other_one_wins(client: Client) {
    let Tables { raw, .. } = Tables::<Account>::created(&client).await;
    let set = || vec![Mutation::set("cf", "id", 1_000, 1_i64.to_be_bytes().to_vec())];
    let made = (0..CALLERS).map(|_| raw.check_and_mutate_row("k", None, Vec::new(), set()));
    let made = join_all(made).await;
    assert_eq!(made.into_iter().filter(|matched| !*matched.as_ref().unwrap()).count(), 1);
}

/// Each is one request; a family's cells are deleted and set in one step.
async fn raw_writes_beside_each_other_are_applied_whole(client: Client) {
    let Tables { accounts, raw, .. } = Tables::<Account>::created(&client).await;
    let row = KEY.encode().unwrap();
    let whole = |id: i64| {
        let at = 1_000_000 + id * 1_000;
        let set = |column: &'static str| Mutation::set("cf", column, at, id.to_be_bytes().to_vec());
        let of_one = if id % 2 == 0 { "card" } else { "cash" };
        let log = Mutation::set("cf", "log", at, id.to_string());
        vec![Mutation::delete_family("cf"), set("id"), set(of_one), log]
    };
    let writer = raw.writer_with(|settings| settings.batch_entries = 1);
    let one = async {
        join_all((0..CALLERS).map(|id| raw.mutate_row(row.clone(), whole(id))))
            .await
            .into_iter()
            .for_each(Result::unwrap);
    };
    let many = async {
        let entries = (0..CALLERS).map(|id| raw.mutate_rows(vec![(row.clone().into(), whole(id))]));
        join_all(entries).await.into_iter().flatten().for_each(Result::unwrap);
    };
    let written = async {
        for id in 0..CALLERS {
            writer.write(row.clone(), whole(id)).await.unwrap();
        }
    };
    tokio::join!(one, many, written);
    writer.close().await.unwrap();
    let stored = accounts.get(&KEY).await.unwrap().unwrap();
    assert_eq!(stored, account(stored.id));
}

async fn all_that_stamp_a_table_beside_each_other_succeed(client: Client) {
    let accounts = unstamped(&client).await;
    join_all((0..CALLERS).map(|_| accounts.stamp())).await.into_iter().for_each(Result::unwrap);
    assert!(accounts.verify().await.unwrap().stamp);
}

async fn all_that_remove_a_row_key_schema_beside_each_other_succeed(client: Client) {
    let Tables { accounts, raw, .. } = Tables::<Account>::created(&client).await;
    let removed = join_all((0..CALLERS).map(|_| accounts.remove_row_key_schema())).await;
    removed.into_iter().for_each(Result::unwrap);
    raw.remove_row_key_schema().await.unwrap();
    assert!(accounts.info().await.unwrap().row_key_schema().is_none());
}
