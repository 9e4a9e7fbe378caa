//! Tables that are made as declared: what is listed is what is done, also beside other programs.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use keyderive::client::{Family, FamilyChange, TableInfo};
use keyderive::layouts::Layouts;
use keyderive::table::{TableChange, TableChanges};
use keyderive::{Client, GcRule, Row};
use keyderive_tests::fixtures::{User, UserKey, created};

use crate::declared_tables::{EventKey, History, Note, NoteKey};
use crate::servers::on_every_bigtable;

#[derive(Row)]
#[row(gc(max_versions = 3))]
#[allow(dead_code)]
struct Kept {
    name: String,
}

#[derive(Row)]
#[row(ttl = "7d")]
#[allow(dead_code)]
struct Expiring {
    name: String,
}

on_every_bigtable! {
    what_is_listed_is_done
    a_rule_that_removes_more_is_named_and_can_be_left_out
    concurrent_calls_all_succeed
    a_dropped_call_is_made_again
    a_table_that_has_changed_since_is_left_as_it_is
    a_table_without_a_stamp_gets_one_if_its_keys_fit
    a_table_with_another_difference_has_no_changes
    layouts_of_a_file_create_the_same_tables
}

fn all() -> Layouts {
    let layouts = Layouts::new().table::<UserKey, Kept>("users").table::<UserKey, Note>("users");
    let layouts = layouts.table::<EventKey, User>("shared").table::<NoteKey, Note>("shared");
    layouts.table::<UserKey, History>("history")
}

async fn changes_of(layouts: &Layouts, client: &Client, name: &str) -> TableChanges {
    let found = layouts.table_changes(client).await.into_iter().find(|table| table.name() == name);
    found.unwrap()
}

async fn what_is_listed_is_done(client: Client) {
    // `shared` is there with one of its two tags, and `users` without a family and with another rule.
    client.table::<EventKey, User>("shared").create().without_row_key_schema().await.unwrap();
    client.table::<UserKey, User>("users").create().await.unwrap();
    let tables = all().table_changes(&client).await;
    let listed: Vec<_> = tables.iter().map(ToString::to_string).collect();
    assert_eq!(
        listed,
        [
            format!(
                "`history`: create the table with the column family `cf` of bytes, garbage collected: never; the column family `sums` of \
                 sums, garbage collected: never; the stamp of `UserKey`, {}; the row key schema `id` STRING, the whole key; 1 tablet",
                UserKey::fingerprint()
            ),
            format!(
                "`shared`: add the stamp of `NoteKey`, {}: a sample of the keys fits\n`shared`: add the column family `notes` of bytes, \
                 garbage collected: all but the newest 2 versions",
                NoteKey::fingerprint()
            ),
            "`users`: change the garbage collection rule of the column family `cf` from `all but the newest version` to `all but the newest \
             3 versions`\n`users`: add the column family `notes` of bytes, garbage collected: all but the newest 2 versions"
                .to_owned(),
        ]
    );
    assert!(!client.list_tables().await.unwrap().contains(&"history".to_owned()), "a list changes nothing");
    for table in &tables {
        assert!(table.faults().is_empty() && !table.changes().iter().any(TableChange::removes_more));
        assert!(table.apply().await.unwrap());
        // What is done is not done again.
        assert!(!table.apply().await.unwrap());
    }
    all().verify(&client).await.unwrap();
    for table in all().table_changes(&client).await {
        assert!(table.changes().is_empty() && !table.apply().await.unwrap(), "{table}");
        assert!(table.to_string().ends_with(": as declared"));
    }
}

async fn a_rule_that_removes_more_is_named_and_can_be_left_out(client: Client) {
    let users = client.table::<UserKey, Kept>("users");
    users.create().family("cf", GcRule::max_versions(9)).await.unwrap();
    let mut changes = changes_of(&all(), &client, "users").await;
    assert!(
        changes
            .to_string()
            .contains("`all but the newest 3 versions`, which removes cells that are kept now")
    );
    let left = changes.leave_out(TableChange::removes_more).to_vec();
    assert!(left.len() == 1 && left[0].removes_more(), "{left:?}");
    assert!(changes.apply().await.unwrap());
    let rule = async || users.info().await.unwrap().family("cf").unwrap().gc_rule().clone();
    assert_eq!(rule().await, GcRule::max_versions(9));
    assert!(changes_of(&all(), &client, "users").await.apply().await.unwrap());
    assert_eq!(rule().await, GcRule::max_versions(3));

    // Of a rule that nobody declares it is said how it differs, and it stays.
    client.table::<UserKey, User>("plain").create().family("cf", GcRule::never()).await.unwrap();
    let plain = changes_of(&Layouts::new().table::<UserKey, User>("plain"), &client, "plain").await;
    assert!(plain.changes().is_empty() && plain.faults().is_empty(), "{plain}");
    assert_eq!(
        plain.undeclared_rules()[0].to_string(),
        "the garbage collection rule of the column family `cf` is `never`, and no row type declares one: a new table has `all but the newest \
         version`"
    );
    // But one that loses what the type reads is changed.
    let changes = changes_of(&Layouts::new().table::<UserKey, History>("users"), &client, "users").await;
    assert_eq!(changes.changes().len(), 1, "{changes}");
    client.table::<UserKey, Kept>("lossy").create().family("cf", GcRule::max_versions(1)).await.unwrap();
    let layouts = Layouts::new().table::<UserKey, History>("lossy");
    let changes = changes_of(&layouts, &client, "lossy").await;
    assert!(changes.to_string().contains("from `all but the newest version` to `never`"), "{changes}");
    changes.apply().await.unwrap();
    layouts.verify(&client).await.unwrap();
}

async fn concurrent_calls_all_succeed(client: Client) {
    client.table::<UserKey, User>("users").create().await.unwrap();
    client.table::<EventKey, User>("shared").create().without_row_key_schema().await.unwrap();
    let calls = (0..8).map(|_| {
        let client = client.clone();
        tokio::spawn(async move {
            let mut changed = 0;
            for table in all().table_changes(&client).await {
                changed += usize::from(table.apply().await.unwrap());
            }
            changed
        })
    });
    let changed: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert!(changed.iter().sum::<usize>() >= 3, "{changed:?}");
    all().verify(&client).await.unwrap();
}

async fn a_dropped_call_is_made_again(client: Client) {
    client.table::<UserKey, User>("users").create().await.unwrap();
    let apply = async || {
        for table in all().table_changes(&client).await {
            table.apply().await.unwrap();
        }
    };
    for time in 0..6 {
        let _ = tokio::time::timeout(Duration::from_micros(300 * time), apply()).await;
    }
    apply().await;
    all().verify(&client).await.unwrap();
}

/// The families of a table, which are all that a call could change.
async fn families(client: &Client, table: &str) -> Vec<Family> {
    client.table_info(table).await.unwrap().families().to_vec()
}

async fn a_table_that_has_changed_since_is_left_as_it_is(client: Client) {
    let users = client.table::<UserKey, User>("users");
    let rule = |rule| users.modify_families([FamilyChange::gc_rule("cf", rule)]);
    users.create().await.unwrap();
    let listed = changes_of(&all(), &client, "users").await;
    // From this rule the declared one would remove cells that are kept: nobody has announced that.
    rule(GcRule::never()).await.unwrap();
    let before = families(&client, "users").await;
    let error = listed.apply().await.unwrap_err();
    assert!(error.is_table_mismatch(), "{error}");
    assert!(error.to_string().contains("it has changed since its changes were listed"), "{error}");
    assert!(error.to_string().contains("from `never` to"), "{error}");
    assert_eq!(families(&client, "users").await, before);

    // Another program has done a part.
    rule(GcRule::max_versions(1)).await.unwrap();
    let notes = Family::new("notes", GcRule::max_versions(2));
    users.modify_families([FamilyChange::add(notes)]).await.unwrap();
    assert!(listed.apply().await.unwrap());
    all().table_changes(&client).await.iter().filter(|table| table.name() == "users").for_each(|table| {
        assert!(table.changes().is_empty());
    });

    // A table that is gone, and one of another layout in its place.
    let listed = changes_of(&Layouts::new().table::<UserKey, History>("users"), &client, "users").await;
    users.delete_table().await.unwrap();
    assert!(listed.apply().await.unwrap_err().to_string().contains("create the table"));
    assert!(client.table_info("users").await.unwrap_err().is_not_found());
    client.table::<NoteKey, User>("users").create().await.unwrap();
    let before = families(&client, "users").await;
    assert!(listed.apply().await.unwrap_err().is_table_mismatch());
    assert_eq!(families(&client, "users").await, before);

    // A table that another program has created in the meantime, with less.
    let listed = changes_of(&all(), &client, "history").await;
    client.table::<UserKey, User>("history").create().await.unwrap();
    assert!(listed.apply().await.unwrap_err().is_table_mismatch());
    client.delete_table("history").await.unwrap();
    client.table::<UserKey, History>("history").create().await.unwrap();
    assert!(!listed.apply().await.unwrap());
}

async fn a_table_without_a_stamp_gets_one_if_its_keys_fit(client: Client) {
    let layouts = Layouts::new().table::<UserKey, Note>("users");
    let raw = client.raw_table("users");
    raw.create([Family::new("notes", GcRule::max_versions(1))], [""; 0]).await.unwrap();
    let cell = || vec![keyderive::row::Mutation::set("notes", "text", 1_000, "x")];
    raw.mutate_row(UserKey { id: 7 }.encode().unwrap(), cell()).await.unwrap();
    let changes = changes_of(&layouts, &client, "users").await;
    assert_eq!(changes.changes().len(), 2, "{changes}");
    // A key that does not fit is written after that.
    raw.mutate_row("no key", cell()).await.unwrap();
    assert!(changes.apply().await.unwrap_err().to_string().contains("it has a row of another layout"));
    let found = changes_of(&layouts, &client, "users").await;
    assert!(found.changes().is_empty() && found.faults().len() == 1, "{found}");
    raw.mutate_row("no key", vec![keyderive::row::Mutation::delete_row()]).await.unwrap();
    assert!(changes.apply().await.unwrap());
    layouts.verify(&client).await.unwrap();
}

async fn a_table_with_another_difference_has_no_changes(client: Client) {
    let layouts = Layouts::new().table::<UserKey, History>("users").table::<UserKey, Note>("users");
    created::<NoteKey, BTreeMap<String, String>>(&client, "users").await;
    let before = families(&client, "users").await;
    let found = changes_of(&layouts, &client, "users").await;
    let text = found.to_string();
    assert!(found.changes().is_empty() && text.contains("has a tag") && text.contains("`notes`"), "{text}");
    assert!(found.apply().await.is_err());
    client.delete_table("users").await.unwrap();

    // A family of another type.
    let sums = Family::new("sums", GcRule::never());
    client.table::<UserKey, User>("users").create().family(sums.name(), GcRule::never()).await.unwrap();
    let found = changes_of(&layouts, &client, "users").await;
    assert!(found.changes().is_empty() && found.to_string().contains("is of another type"), "{found}");
    assert!(before.iter().any(|family| family.name() == "cf"));
}

#[tokio::test]
async fn key_types_of_a_file_need_a_tag_each() {
    let client = Client::embedded();
    let of = |layouts: Layouts| serde_json::from_str::<serde_json::Value>(&layouts.to_json()).unwrap();
    // As somebody puts two files together.
    let without_tag = of(Layouts::new().table::<UserKey, User>("shared"));
    let mut file = of(Layouts::new().table::<EventKey, User>("shared"));
    let keys = file["tables"]["shared"].as_array_mut().unwrap();
    keys.push(without_tag["tables"]["shared"][0].clone());
    let edited = Layouts::from_json(&file.to_string()).unwrap();
    let found = changes_of(&edited, &client, "shared").await;
    assert!(found.to_string().contains("not each has a tag of its own"), "{found}");
    assert!(found.apply().await.is_err() && edited.create_if_absent(&client).await.is_err());
    assert_eq!(client.list_tables().await.unwrap(), [""; 0]);
}

/// All but the id of the table, which is in the name of its stamps.
fn without_id(info: &TableInfo) -> String {
    let families = info.families().iter().map(|family| {
        let name = family.name();
        let name = if name.starts_with("keyderive.") { name.rsplit_once('.').unwrap().0 } else { name };
        format!("{name}: {family}\n").replace(family.name(), name)
    });
    families.collect::<String>() + &format!("{:?} {:?}", info.row_key_schema(), info.granularity())
}

async fn layouts_of_a_file_create_the_same_tables(client: Client) {
    let layouts = || {
        all()
            .table::<UserKey, Expiring>("expiring")
            .table_with_family::<UserKey, BTreeMap<String, String>>("maps", "m")
            .table::<UserKey, ()>("empty")
            .table::<EventKey, User>("salted")
    };
    layouts().create_if_absent(&client).await.unwrap();
    let mut of_types = Vec::new();
    for name in layouts().table_names() {
        let parts = client.raw_table(name).sample_row_keys().await.unwrap().len();
        of_types.push((without_id(&client.table_info(name).await.unwrap()), parts));
        client.delete_table(name).await.unwrap();
    }
    let read = Layouts::from_json(&layouts().to_json()).unwrap();
    read.create_if_absent(&client).await.unwrap();
    for (name, (of_types, parts)) in layouts().table_names().zip(of_types) {
        assert_eq!(without_id(&client.table_info(name).await.unwrap()), of_types, "{name}");
        assert_eq!(client.raw_table(name).sample_row_keys().await.unwrap().len(), parts, "{name}");
    }
    layouts().verify(&client).await.unwrap();
}
