//! What a copy refuses, and the errors that say so.

use std::future::IntoFuture;

use keyderive::client::{Aggregate, Family, FamilyChange};
use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::row::Mutation;
use keyderive::table::copy::CopyError;
use keyderive::{ErrorKind, GcRule};
use keyderive_tests::Folder;
use keyderive_tests::fixtures::created;

use super::*;

async fn error(
    copy: impl IntoFuture<Output = Result<keyderive::table::copy::CopyReport, CopyError>>,
) -> CopyError {
    copy.await.unwrap_err()
}

#[tokio::test]
async fn the_families_of_both_tables_must_be_equal() {
    let bigtable = Bigtable::in_memory().with_faults(Faults::seeded(0));
    let client = bigtable.client();
    let (old, new) = filled(&client, 10).await;
    let raw = client.raw_table("user-events");
    let writes = bigtable.calls(Method::MutateRows);
    for (change, back, expected) in [
        (
            FamilyChange::gc_rule("cf", GcRule::max_versions(3)),
            FamilyChange::gc_rule("cf", GcRule::max_versions(1)),
            "the garbage collection rule of the column family `cf` is not that of table `events`: expected `all but the newest \
             version`, found `all but the newest 3 versions`; change it with",
        ),
        (
            FamilyChange::drop("sums"),
            FamilyChange::add(Family::aggregate("sums", Aggregate::Sum, GcRule::never())),
            "`sums`",
        ),
    ] {
        raw.modify_families([change]).await.unwrap();
        let error = error(old.copy_to(&new, |key, _| user_key(key))).await;
        assert!(error.error().unwrap().is_table_mismatch(), "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with("the copy of table `events` to table `user-events` did not start: "),
            "{text}"
        );
        assert!(text.contains(expected), "{text}");
        raw.modify_families([back]).await.unwrap();
    }
    // Families that the row types do not have count too.
    client
        .raw_table("events")
        .modify_families([FamilyChange::add(Family::new("more", GcRule::never()))])
        .await
        .unwrap();
    let lacking = error(old.copy_to(&new, |key, _| user_key(key))).await.to_string();
    assert!(
        lacking.contains("it lacks the column family `more` of table `events`; it has `cf`, `sums`"),
        "{lacking}"
    );
    raw.modify_families([FamilyChange::add(Family::aggregate("more", Aggregate::Max, GcRule::never()))])
        .await
        .unwrap();
    let kind = error(old.copy_to(&new, |key, _| user_key(key))).await.to_string();
    assert!(kind.contains("expected `bytes`, found `greatest values`"), "{kind}");
    assert_eq!(bigtable.calls(Method::MutateRows), writes);
    assert!(dump(&raw).await.is_empty());
}

#[tokio::test]
async fn a_table_with_rows_is_refused() {
    let client = Client::embedded();
    let (old, new) = filled(&client, 10).await;
    let other = UserEventKey { user: "bob".into(), at: 5 };
    new.put(&other, &event(5)).await.unwrap();
    let refused = error(old.copy_to(&new, |key, _| user_key(key))).await;
    assert!(refused.to_string().contains("it has rows, such as `"), "{refused}");
    assert!(refused.to_string().contains("`.allow_existing()`"), "{refused}");
    // They are accepted, and then differ.
    let differs = error(old.copy_to(&new, |key, _| user_key(key)).allow_existing()).await;
    assert!(differs.is_difference() && !differs.is_collision(), "{differs}");
    let diff = differs.report().diff().unwrap();
    assert_eq!((diff.compared(), diff.extra(), diff.missing(), diff.differing()), (10, 1, 0, 0));
    assert!(
        differs.to_string().contains("`user-events` alone has the row UserEventKey { user: \"bob\", at: 5 }"),
        "{differs}"
    );
    assert_eq!(differs.report().copied(), 10);
}

#[tokio::test]
async fn a_table_is_not_copied_to_itself() {
    let client = Client::embedded();
    let (old, _) = filled(&client, 10).await;
    let same = error(old.copy_to(&old, |key: EventKey, _| key).allow_existing()).await;
    assert!(same.to_string().contains("table `events`: both tables are this one"), "{same}");
    // Tables of one name in different Bigtables are two.
    let (other, _) = tables(&Client::embedded());
    other.create_if_absent().await.unwrap();
    assert_eq!(old.copy_to(&other, |key, _| key).await.unwrap().copied(), 10);
}

/// Two rows with one key are found while both are in memory, and by the comparison if not.
#[tokio::test]
async fn rows_with_one_new_key_are_an_error() {
    let one =
        |key: EventKey, _: keyderive::table::RowRef<'_>| UserEventKey { user: "one".into(), at: key.at / 2 };
    let client = Client::embedded();
    let (old, new) = filled(&client, 20).await;
    let together = error(old.copy_to(&new, one)).await;
    assert!(together.is_collision() && !together.is_difference(), "{together}");
    let text = together.to_string();
    assert!(
        text.contains("of table `events` and one before it have the same key in table `user-events`, `"),
        "{text}"
    );

    // A batch of rows is read at once, so that these are not in memory together.
    let client = Client::embedded();
    let (old, new) = filled(&client, 3_000).await;
    let far = |key: EventKey, _: keyderive::table::RowRef<'_>| UserEventKey {
        user: "one".into(),
        at: key.at % 1_500,
    };
    let apart = error(old.copy_to(&new, far).look_ahead(0).parallel(1)).await;
    assert!(apart.is_collision() && apart.is_difference(), "{apart}");
    let diff = apart.report().diff().unwrap();
    assert_eq!((diff.collisions(), diff.counted(), diff.extra(), diff.missing()), (1_500, 1_500, 0, 0));
    assert!(apart.to_string().contains(", 1500 keys are those of several rows"), "{apart}");
}

#[tokio::test]
async fn rows_above_the_limits_are_named() {
    let client = Client::embedded();
    let (old, new) = filled(&client, 10).await;
    let raw = client.raw_table("events");
    let large = EventKey { at: 100, user: "many".into() }.encode().unwrap();
    for part in 0..3 {
        let cells = (0..40_000).map(|cell| Mutation::set("cf", format!("{part}-{cell}"), 0, ""));
        raw.mutate_row(large.clone(), cells.collect::<Vec<_>>()).await.unwrap();
    }
    let many = error(old.copy_to(&new, |key, _| user_key(key))).await;
    assert_eq!(
        many.error().unwrap().row_key().unwrap(),
        user_key(EventKey { at: 100, user: "many".into() }).encode().unwrap()
    );
    let text = many.to_string();
    assert!(text.contains("of table `user-events` was not written: row `00000000000000000100#many` of table `events` would take 120000 mutations, one for each cell, and a request has at most 100000"), "{text}");
    raw.mutate_row(large.clone(), [Mutation::delete_row()]).await.unwrap();
    let mebibyte = vec![7; 1024 * 1024];
    for cell in 0..65 {
        raw.mutate_row(large.clone(), [Mutation::set("cf", cell.to_string(), 0, mebibyte.clone())])
            .await
            .unwrap();
    }
    let big = error(old.copy_to(&new, |key, _| user_key(key)).allow_existing()).await.to_string();
    assert!(
        big.contains("row `00000000000000000100#many` of table `events` would take a request of 68"),
        "{big}"
    );
    assert!(new.get(&user_key(EventKey { at: 100, user: "many".into() })).await.unwrap().is_none());
}

#[tokio::test]
async fn errors_of_a_row_name_it() {
    let client = Client::embedded();
    let (old, new) = filled(&client, 10).await;
    let failed =
        old.copy_to(&new, |key, _| if key.at == 7 { Err("no key for it") } else { Ok(user_key(key)) });
    let failed = error(failed).await;
    let text = failed.to_string();
    assert!(
        text.ends_with("row `00000000000000000007#user-0` of table `events` has no new key: no key for it"),
        "{text}"
    );
    assert_eq!(failed.error().unwrap().redacted().to_string(), "the row of table `events` has no new key");
    // A key that cannot be encoded: the salted type's text is limited by its delimiter.
    let invalid =
        old.copy_to(&new, |key, _| UserEventKey { user: "a#b".into(), at: key.at }).allow_existing();
    let invalid = error(invalid).await;
    assert_eq!(invalid.error().unwrap().kind(), ErrorKind::InvalidKey, "{invalid}");
    assert!(
        invalid.to_string().contains("row `00000000000000000000#user-0` of table `events` has no new key: "),
        "{invalid}"
    );
    // A row that the closure cannot read.
    client
        .raw_table("events")
        .mutate_row(key(3).encode().unwrap(), [Mutation::delete_column("cf", "kind")])
        .await
        .unwrap();
    let unread = old.copy_to(&new, |key, row| row.read::<Event>().map(|_| user_key(key))).allow_existing();
    let unread = error(unread).await;
    assert_eq!(unread.error().unwrap().kind(), ErrorKind::InvalidRow, "{unread}");
    assert!(unread.to_string().contains("column `cf:kind` is missing"), "{unread}");
}

/// Also where no scan of the key type would read it.
#[tokio::test]
async fn a_foreign_row_is_an_error_wherever_it_is() {
    let client = Client::embedded();
    let (_, old) = filled(&client, 0).await;
    let new: Events = created(&client, "events-2").await;
    client.raw_table("user-events").mutate_row("zzz", [Mutation::set("cf", "kind", 0, "x")]).await.unwrap();
    assert_eq!(old.count(UserEventKey::scan()).await.unwrap(), 0);
    let event_key =
        |key: UserEventKey, _: keyderive::table::RowRef<'_>| EventKey { at: key.at, user: key.user };
    let foreign = error(old.copy_to(&new, event_key)).await;
    assert_eq!(foreign.error().unwrap().kind(), ErrorKind::ForeignRow, "{foreign}");
    let foreign = old.diff(&new, event_key).await.unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::ForeignRow, "{foreign}");
}

#[tokio::test]
async fn a_checkpoint_of_another_copy_is_refused() {
    let folder = Folder::new("copy-checkpoint");
    let client = Client::embedded();
    let (old, new) = filled(&client, 10).await;
    let path = folder.join("checkpoint");
    let copy = |new: &UserEvents| old.copy_to(new, |key, _| user_key(key)).checkpoint(&path);
    assert_eq!(copy(&new).await.unwrap().copied(), 10);
    let stored = std::fs::read_to_string(&path).unwrap();
    assert!(
        stored.starts_with(r#"{"format":1,"old":{"table":"projects/"#)
            && stored.ends_with(r#""copied":10,"left_out":0,"left":[]}"#),
        "{stored}"
    );

    let other: UserEvents = created(&client, "others").await;
    let refused = error(copy(&other)).await.to_string();
    assert!(
        refused.contains("is of another copy: expected the table `") && refused.contains("delete the file"),
        "{refused}"
    );
    new.delete_table().await.unwrap();
    new.create_if_absent().await.unwrap();
    let refused = error(copy(&new)).await.to_string();
    assert!(refused.contains("is of another table of this name: this one was created since"), "{refused}");
    std::fs::write(&path, stored.replace("\"format\":1", "\"format\":2")).unwrap();
    let refused = error(copy(&new)).await.to_string();
    assert!(refused.contains("cannot be read: it has the format 2"), "{refused}");
    std::fs::write(&path, "no JSON").unwrap();
    let refused = error(copy(&new)).await;
    assert_eq!(refused.error().unwrap().kind(), ErrorKind::Misconfiguration, "{refused}");

    // A folder that does not exist: nothing is written without a checkpoint.
    let lost = old.copy_to(&new, |key, _| user_key(key)).checkpoint(folder.join("absent/checkpoint"));
    let lost = error(lost).await;
    assert!(lost.to_string().contains("ended early, after 0 rows: the checkpoint `"), "{lost}");
    assert!(dump(&client.raw_table("user-events")).await.is_empty());
}

#[tokio::test]
async fn a_checkpoint_of_rows_that_are_gone_is_refused() {
    let folder = Folder::new("copy-gone");
    let client = Client::embedded();
    let (old, new) = filled(&client, 10).await;
    let copy = || {
        old.copy_to(&new, |key, _| user_key(key)).checkpoint(folder.join("checkpoint")).without_verifying()
    };
    assert_eq!(copy().await.unwrap().copied(), 10);
    new.delete_rows(UserEventKey::scan()).await.unwrap();
    let refused = error(copy()).await.to_string();
    assert!(refused.contains("it has no row, and the checkpoint `"), "{refused}");
    assert!(refused.contains("counts 10 rows") && refused.contains("delete the file"), "{refused}");
}
