//! Calls of a program whose row type or table lacks some of the stored columns.

use keyderive_tests::fixtures::created;
use std::collections::BTreeMap;

use super::*;
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    an_older_program_leaves_newer_columns
    an_older_program_keeps_a_row_that_is_there
    an_older_program_leaves_newer_families
    deleting_a_table_deletes_columns_that_the_program_lacks
    an_older_program_adds_the_same_stamp
}

/// A deletion of the row still deletes all of it.
async fn an_older_program_leaves_newer_columns(client: Client) {
    let newer = Tables::<Account>::created(&client).await;
    let older = Tables::<OlderAccount>::of(&client);
    for (call, id) in Call::ALL.into_iter().zip(0..) {
        newer.prepare(call, id).await;
        assert!(call.make(&older, id).await.unwrap(), "{call:?}");
        let key = UserKey { id };
        let expected = call.after::<OlderAccount>();
        assert_eq!(newer.stored(id).await, expected, "{call:?}");
        let own = expected.map(|row| OlderAccount { id: row.id, card: row.card });
        assert_eq!(older.accounts.get(&key).await.unwrap(), own, "{call:?}");
        // A load of new rows keeps the columns that the older program does not name.
        if matches!(call, LoadNewRows) {
            newer.accounts.put(&key, &before()).await.unwrap();
            call.make(&older, id).await.unwrap();
            assert_eq!(newer.stored(id).await, Some(OlderAccount::merged_into(before())), "{call:?}");
        }
    }
}

/// A row exists if it has any cell, even one that the older program cannot read.
async fn an_older_program_keeps_a_row_that_is_there(client: Client) {
    let newer = Tables::<Account>::created(&client).await;
    let older = Tables::<OlderAccount>::of(&client);
    newer.accounts.update(&UserKey { id: 7 }).set(Account::LOG, "1").await.unwrap();
    for call in [PutIfAbsent, LoadIfAbsent] {
        assert!(!call.make(&older, 7).await.unwrap(), "{call:?}");
    }
    assert!(older.accounts.exists(&UserKey { id: 7 }).await.unwrap());
}

/// A newer row, with a family that the older program does not have.
#[derive(Row, Clone, Debug, PartialEq)]
struct Tagged {
    id: i64,
    card: Option<i64>,
    #[row(family)]
    tags: BTreeMap<String, i64>,
}

async fn an_older_program_leaves_newer_families(client: Client) {
    let newer = client.table::<UserKey, Tagged>("accounts");
    let older = client.table::<UserKey, OlderAccount>("accounts");
    assert!(newer.create_if_absent().await.unwrap());
    let families = newer.info().await.unwrap().families().to_vec();
    let row = Tagged { id: 1, card: Some(1), tags: BTreeMap::from([("tag".to_owned(), 1)]) };
    let key = UserKey { id: 7 };
    newer.put(&key, &row).await.unwrap();
    assert!(!older.create_if_absent().await.unwrap());
    older.put(&key, &OlderAccount::value()).await.unwrap();
    older.put_all([(key.clone(), OlderAccount::value())]).await.unwrap();
    assert_eq!(newer.info().await.unwrap().families(), families);
    assert_eq!(newer.get(&key).await.unwrap(), Some(Tagged { id: 2, card: None, ..row }));
}

async fn deleting_a_table_deletes_columns_that_the_program_lacks(client: Client) {
    let newer = created::<UserKey, Tagged>(&client, "accounts").await;
    client.table::<UserKey, OlderAccount>("accounts").delete_table().await.unwrap();
    assert!(newer.info().await.unwrap_err().is_not_found());
}

/// A layout describes keys, and not columns.
async fn an_older_program_adds_the_same_stamp(client: Client) {
    let newer = unstamped(&client).await;
    newer.put(&UserKey { id: 7 }, &before()).await.unwrap();
    client.table::<UserKey, OlderAccount>("accounts").stamp().await.unwrap();
    assert!(newer.verify().await.unwrap().stamp);
}
