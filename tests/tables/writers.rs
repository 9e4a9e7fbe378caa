//! Rows written in the background.

use std::collections::BTreeSet;

use keyderive::client::WriterSettings;
use keyderive::row::Mutation;
use keyderive::{Client, ErrorKind, Table};
use keyderive_tests::fixtures::{SaltedKey, User, assert_error, created};

use crate::servers::on_every_bigtable;

async fn users(client: &Client) -> Table<SaltedKey, User> {
    created(client, "users").await
}

fn one_by_one(settings: &mut WriterSettings) {
    settings.batch_entries = 1;
}

on_every_bigtable! {
    all_rows_are_written
    rows_that_fail_are_reported_with_their_keys
    a_flush_ends_what_was_taken_before
    small_bounds_hold_nothing_up
    a_writer_that_is_dropped_sends_what_it_has
    what_is_above_a_limit_is_refused_at_once
}

async fn all_rows_are_written(client: Client) {
    let users = users(&client).await;
    let writer = users.writer();
    for id in 0..2_345 {
        writer.put(&SaltedKey { id }, &User::named(&id.to_string())).await.unwrap();
    }
    assert_eq!(writer.flush().await.unwrap(), 2_345);
    assert_eq!(writer.flush().await.unwrap(), 0);
    writer.delete(&SaltedKey { id: 0 }).await.unwrap();
    assert_eq!(writer.close().await.unwrap(), 1);
    let keys: BTreeSet<u64> =
        users.scan(SaltedKey::scan()).collect().await.unwrap().into_iter().map(|(key, _)| key.id).collect();
    assert_eq!(keys, (1..2_345).collect());
}

async fn rows_that_fail_are_reported_with_their_keys(client: Client) {
    users(&client).await;
    let writer = client.raw_table("users").writer();
    for id in 0..250_u32 {
        let family = if id % 100 == 7 { "absent" } else { "cf" };
        writer.write(format!("{id:03}"), vec![Mutation::set(family, "q", 0, "v")]).await.unwrap();
    }
    let errors = writer.flush().await.unwrap_err();
    assert_eq!(errors.written(), 247);
    let mut failed: Vec<_> = errors.failed().iter().map(|failed| failed.key().clone()).collect();
    failed.sort();
    assert_eq!(failed, ["007", "107", "207"]);
    assert!(errors.failed().iter().all(|failed| !failed.error().is_retryable()));
    let text = errors.to_string();
    // The emulator rejects the family with INTERNAL, after which a row may have been written.
    let verb = if errors.is_outcome_unknown() { "may not have been" } else { "were not" };
    assert_eq!(errors.is_outcome_unknown(), errors.failed()[0].error().grpc_code() == Some(13), "{text}");
    assert!(text.starts_with(&format!("3 of 250 rows {verb} written; the first: row `")), "{text}");
    assert_eq!(writer.close().await.unwrap(), 0);
}

async fn a_flush_ends_what_was_taken_before(client: Client) {
    let users = users(&client).await;
    let writer = users.writer_with(one_by_one);
    for turn in 0..50 {
        let user = User::named(&turn.to_string());
        writer.put(&SaltedKey { id: 7 }, &user).await.unwrap();
        assert_eq!(writer.flush().await.unwrap(), 1);
        assert_eq!(users.get(&SaltedKey { id: 7 }).await.unwrap(), Some(user));
    }
}

async fn small_bounds_hold_nothing_up(client: Client) {
    let users = users(&client).await;
    for (entries, bytes) in [(3, usize::MAX), (usize::MAX, 100), (1, 1), (0, 0)] {
        let writer = users.writer_with(|settings| {
            settings.entries_in_flight = entries;
            settings.bytes_in_flight = bytes;
        });
        for id in 0..20 {
            writer.put(&SaltedKey { id }, &User::named("Ada")).await.unwrap();
        }
        assert_eq!(writer.close().await.unwrap(), 20);
    }
}

async fn a_writer_that_is_dropped_sends_what_it_has(client: Client) {
    let users = users(&client).await;
    let writer = users.writer();
    writer.put(&SaltedKey { id: 7 }, &User::named("Ada")).await.unwrap();
    drop(writer);
    // The write is in flight, and closing waits for it.
    tokio::task::yield_now().await;
    client.clone().close().await;
    assert_eq!(users.get(&SaltedKey { id: 7 }).await.unwrap_err().kind(), ErrorKind::ClientClosed);
}

async fn what_is_above_a_limit_is_refused_at_once(client: Client) {
    users(&client).await;
    let writer = client.raw_table("users").writer();
    let long = vec![b'q'; 16 * 1024 + 1];
    let error = writer.write("k", vec![Mutation::set("cf", long, 0, "v")]).await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidArgument, &["16385 bytes"]);
    for (key, mutations) in [("", vec![Mutation::delete_row()]), ("k", Vec::new())] {
        assert_eq!(writer.write(key, mutations).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(writer.close().await.unwrap(), 0);
}
