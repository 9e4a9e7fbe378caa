//! Rejected before sending: names of no column, and tables that would lose versions.

use std::time::Duration;

use keyderive::client::FamilyChange;
use keyderive::row::{Condition, Versions};
use keyderive::{Client, Error, GcRule, Row};
use keyderive_tests::fixtures::mismatches;

use super::{Page, PageKey, key, pages};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    a_name_of_no_column_is_refused
    a_condition_without_a_change_is_evaluated
    a_condition_on_a_timestamp_that_no_version_has_is_refused
    a_family_that_keeps_one_version_is_refused
}

#[track_caller]
fn refused(error: &Error, text: &str) {
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(error.attempts(), 0, "{error}");
}

async fn a_name_of_no_column_is_refused(client: Client) {
    let pages = pages(&client).await;
    let key = key("/");
    let named = |name: &str| Page::column(name).map(|_| ()).unwrap_err().to_string();
    for (name, text) in [
        ("stats", "column `cf:stats` is not a column of `Page`; "),
        ("titel", "column `cf:titel` is not a column of `Page`; did you mean `cf:title`?"),
        ("stats:click", "column `stats:click` is not a column of `Page`; did you mean `stats:clicks`?"),
        (":title", "column `:title` is not a column of `Page`; did you mean `cf:title`?"),
        ("", "column `cf:` has an empty name"),
        ("daily:", "column `daily:` has an empty name"),
    ] {
        let found = named(name);
        assert!(found.starts_with(text), "{found}");
    }
    let empty = || Page::DAILY.at("");
    let text = "column `daily:` has an empty name, which is that of the marker of an empty family";
    refused(&pages.put_if(&key, &Page::default(), empty().exists()).await.unwrap_err(), text);
    refused(&pages.delete_if(&key, empty().equals(1)).await.unwrap_err(), text);
    refused(&pages.update(&key).set(empty(), 1).await.unwrap_err(), text);
    refused(&pages.update(&key).clear(empty()).await.unwrap_err(), text);
    refused(&pages.update(&key).set(Page::TITLE, "t").only_if(empty().absent()).await.unwrap_err(), text);
    refused(&pages.increment(&key, empty(), 1).await.unwrap_err(), text);
    refused(
        &pages.append(&key, Page::TAGS.at(""), "x").await.unwrap_err(),
        "column `tags:` has an empty name",
    );
    refused(&pages.select(empty()).get(&key).await.unwrap_err(), text);
    refused(&pages.select((Page::TITLE, empty())).get_many([key.clone()]).await.unwrap_err(), text);
    refused(&pages.scan(PageKey::scan()).select(empty()).collect().await.unwrap_err(), text);
    refused(&pages.scan(PageKey::scan()).matching(empty().exists()).explain().unwrap_err(), text);
}

async fn a_condition_without_a_change_is_evaluated(client: Client) {
    let pages = pages(&client).await;
    let holds = async |condition| pages.update(&key("/")).only_if(condition).await.unwrap();
    assert!(!holds(Condition::row_exists()).await);
    assert!(holds(Condition::row_exists().not()).await);
    pages.put(&key("/"), &Page { title: "t".into(), ..Page::default() }).await.unwrap();
    assert!(holds(Condition::row_exists()).await);
    assert!(holds(Page::TITLE.equals("t")).await);
    assert!(!holds(Page::TITLE.equals("other")).await);
    assert!(holds(Page::VISITS.absent()).await);
}

async fn a_condition_on_a_timestamp_that_no_version_has_is_refused(client: Client) {
    let pages = pages(&client).await;
    let error = pages.delete_if(&key("/"), Page::TITLE.version(-1000)).await.unwrap_err();
    refused(&error, "column `cf:title` is compared with the timestamp -1000, which no version has");
}

async fn a_family_that_keeps_one_version_is_refused(client: Client) {
    #[derive(Row)]
    struct Plain {
        name: String,
    }
    #[derive(Row)]
    struct History {
        name: Versions<String>,
    }

    let text = "the row type has `Versions` in the column family `cf`, whose garbage collection rule keeps one: found \
                `all but the newest version`; give the family a rule that keeps them";
    client.table::<PageKey, Plain>("users").create_if_absent().await.unwrap();
    let users = client.table::<PageKey, History>("users");
    mismatches(users.verify().await, text);
    let error = users.create_if_absent().await.unwrap_err();
    assert!(error.is_table_mismatch() && error.to_string().ends_with(", with `modify_families`"), "{error}");
    let week = Duration::from_secs(7 * 24 * 60 * 60);
    let rule = GcRule::intersection([GcRule::max_age(week), GcRule::max_versions(1)]);
    users.modify_families([FamilyChange::gc_rule("cf", rule)]).await.unwrap();
    users.verify().await.unwrap();
    assert!(!users.create_if_absent().await.unwrap());

    let declared = client.table::<PageKey, History>("others").create().family("cf", GcRule::max_versions(1));
    refused(&declared.await.unwrap_err(), text);
}
