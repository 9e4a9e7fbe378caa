//! Auto traits of the handles.

use std::collections::BTreeMap;

use keyderive::table::Rows;
use keyderive::{Client, Error, Scan, Table};
use keyderive_tests::fixtures::{UserKey, created};

/// A row that is neither `Send` nor `Sync`.
type Local = std::rc::Rc<str>;

const fn crosses_tasks<T: Send + 'static>() {}
const fn is_shared<T: Send + Sync + 'static>() {}

/// Compiles or fails. The last ones hold for any row type, because they keep no row.
const _: () = {
    crosses_tasks::<Rows<UserKey, String>>();
    is_shared::<Client>();
    is_shared::<Error>();
    is_shared::<Table<UserKey, Local>>();
    crosses_tasks::<Scan<UserKey, Local>>();
    crosses_tasks::<Rows<UserKey, Local>>();
};

#[tokio::test]
async fn clones_of_an_embedded_client_share_its_tables() {
    let client = Client::embedded();
    let users = created::<UserKey, ()>(&client, "users").await;
    users.put(&UserKey { id: 7 }, &()).await.unwrap();
    drop(users);

    let clone = client.clone();
    drop(client);
    let users = clone.table::<UserKey, ()>("users");
    assert_eq!(users.get(&UserKey { id: 7 }).await.unwrap(), Some(()));

    let other = Client::embedded().table::<UserKey, ()>("users");
    assert!(other.get(&UserKey { id: 7 }).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn rows_are_read_on_another_task() {
    let users = created::<UserKey, ()>(&Client::embedded(), "users").await;
    users.put_all((0..100).map(|id| (UserKey { id }, ()))).await.unwrap();
    let mut rows = users.scan(UserKey::scan().id_range(90..)).stream();
    drop(users);
    let count = tokio::spawn(async move {
        let mut count = 0;
        while let Some(row) = rows.next().await {
            row.unwrap();
            count += 1;
        }
        count
    });
    assert_eq!(count.await.unwrap(), 10);
}

/// Such as from a variable that is not set.
#[tokio::test]
async fn a_family_without_a_name_is_an_error() {
    let users = Client::embedded().table::<UserKey, BTreeMap<String, i64>>("users").family("");
    for error in [
        users.create_if_absent().await.unwrap_err(),
        users.verify().await.unwrap_err(),
        users.get(&UserKey { id: 7 }).await.unwrap_err(),
        users.put(&UserKey { id: 7 }, &BTreeMap::new()).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("the family of its rows has an empty name"), "{error}");
    }
}
