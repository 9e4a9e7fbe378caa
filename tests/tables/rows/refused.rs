//! Rejected before sending: names of no column, and tables that would lose versions.

use std::time::Duration;

use keyderive::client::FamilyChange;
use keyderive::row::{Condition, RowError, Versions};
use keyderive::{Client, Error, GcRule, RowKey as _};
use serde::{Deserialize, Serialize};

use super::{Page, PageKey, Stats, key, pages};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    the_bare_name_of_a_family_is_no_column
    a_column_has_a_family_and_a_name
    a_family_is_set_only_to_a_struct_or_a_map
    a_condition_without_a_change_is_evaluated
    a_condition_on_a_timestamp_that_no_version_has_is_refused
    a_family_that_keeps_one_version_is_refused
    one_column_of_two_fields_is_refused
}

const FAMILY: &str = "column `cf:stats` is not a column: `stats` is a column family of the row type; write `stats:…` \
                      for one of its columns";

#[track_caller]
fn refused(error: &Error, text: &str) {
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(error.attempts(), 0, "{error}");
}

async fn the_bare_name_of_a_family_is_no_column(client: Client) {
    let pages = pages(&client).await;
    let key = key("/");
    let exists = |name: &'static str| Condition::column_exists(name);
    let all = format!("{FAMILY}, and `stats:` for all of them");
    refused(&pages.put_if(&key, &Page::default(), exists("stats").not()).await.unwrap_err(), &all);
    refused(&pages.delete_if(&key, Condition::column_equals("stats", "x")).await.unwrap_err(), FAMILY);
    refused(&pages.delete_if(&key, Condition::column_version("stats", 1000)).await.unwrap_err(), FAMILY);
    refused(&pages.update(&key).set("title", "t").only_if(exists("stats")).await.unwrap_err(), FAMILY);
    let error = pages.increment(&key, "stats", 1).await.unwrap_err();
    assert!(error.is_invalid_row() && error.row_key().is_some());
    refused(&error, FAMILY);
    refused(&pages.append(&key, "stats", "x").await.unwrap_err(), FAMILY);
    refused(&pages.columns(["title", "stats"]).get(&key).await.unwrap_err(), &all);
    refused(&pages.columns(["stats"]).get_many([key.clone()]).await.unwrap_err(), &all);
    refused(&pages.columns(["stats"]).scan(PageKey::scan()).collect().await.unwrap_err(), &all);
    refused(&pages.scan(PageKey::scan()).columns(["stats"]).collect().await.unwrap_err(), &all);
    refused(&pages.scan(PageKey::scan()).columns(["stats"]).explain().unwrap_err(), &all);
    // After its family, a column may have any name.
    assert!(!pages.delete_if(&key, exists("cf:stats")).await.unwrap());
    assert!(!pages.delete_if(&key, exists("stats:")).await.unwrap());
    assert!(pages.columns(["stats:", "cf:stats"]).get(&key).await.unwrap().is_none());
}

async fn a_column_has_a_family_and_a_name(client: Client) {
    let pages = pages(&client).await;
    let key = key("/");
    let text = "column `:title` has no family; write `title` for the column of the family `cf`";
    refused(&pages.delete_if(&key, Condition::column_exists(":title")).await.unwrap_err(), text);
    refused(&pages.columns([":title"]).get(&key).await.unwrap_err(), text);
    refused(&pages.increment(&key, ":title", 1).await.unwrap_err(), text);
    refused(&pages.update(&key).set(":title", "t").await.unwrap_err(), text);
    refused(&pages.update(&key).delete(":title").await.unwrap_err(), text);
    let text = "column `cf:` has no name; name one column: `visits` in the family `cf`";
    refused(&pages.delete_if(&key, Condition::column_exists("")).await.unwrap_err(), text);
    refused(&pages.columns([""]).get(&key).await.unwrap_err(), text);
    refused(&pages.increment(&key, "", 1).await.unwrap_err(), text);
    refused(&pages.update(&key).set("", "t").await.unwrap_err(), text);
    refused(&pages.update(&key).delete("").await.unwrap_err(), text);
    let text = "column `daily:` has no name";
    refused(&pages.delete_if(&key, Condition::column_equals("daily:", &1)).await.unwrap_err(), text);
    refused(&pages.delete_if(&key, Condition::column_version("daily:", 1000)).await.unwrap_err(), text);
}

async fn a_family_is_set_only_to_a_struct_or_a_map(client: Client) {
    let pages = pages(&client).await;
    let text = "column `cf:stats` is not a column: `stats` is a column family of the row type; set it to a struct or a map";
    refused(&pages.update(&key("/")).set("stats", "none").await.unwrap_err(), text);
    let text =
        "column `cf:title` is written as a struct or a map, hence a column family, and read as a column";
    refused(&pages.update(&key("/")).set("title", &Stats::default()).await.unwrap_err(), text);
    pages.update(&key("/")).set("stats", &Stats::default()).set("title", "t").await.unwrap();
    assert_eq!(pages.get(&key("/")).await.unwrap(), Some(Page { title: "t".into(), ..Page::default() }));
}

async fn a_condition_without_a_change_is_evaluated(client: Client) {
    let pages = pages(&client).await;
    let holds = async |condition| pages.update(&key("/")).only_if(condition).await.unwrap();
    assert!(!holds(Condition::row_exists()).await);
    assert!(holds(Condition::row_exists().not()).await);
    pages.put(&key("/"), &Page { title: "t".into(), ..Page::default() }).await.unwrap();
    assert!(holds(Condition::row_exists()).await);
    assert!(holds(Condition::column_equals("title", "t")).await);
    assert!(!holds(Condition::column_equals("title", "other")).await);
    assert!(holds(Condition::column_exists("visits").not()).await);
}

async fn a_condition_on_a_timestamp_that_no_version_has_is_refused(client: Client) {
    let pages = pages(&client).await;
    for at in [1234, -1000] {
        let error = pages.delete_if(&key("/"), Condition::column_version("title", at)).await.unwrap_err();
        let text = format!(
            "column `cf:title` is compared with the timestamp {at}, which no version has; Bigtable stores whole \
             milliseconds from 0 on, given in microseconds"
        );
        refused(&error, &text);
    }
}

async fn a_family_that_keeps_one_version_is_refused(client: Client) {
    #[derive(Serialize, Deserialize)]
    struct Plain {
        name: String,
    }
    #[derive(Serialize, Deserialize)]
    struct History {
        name: Versions<String>,
    }

    let text = "the row type has `Versions` in the column family `cf`, whose garbage collection rule keeps one: found \
                `all but the newest version`; give the family a rule that keeps them";
    client.table::<PageKey, Plain>("users").create_if_absent().await.unwrap();
    let users = client.table::<PageKey, History>("users");
    let error = users.verify().await.unwrap_err();
    assert!(error.is_table_mismatch() && error.to_string().contains(text), "{error}");
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

#[expect(unreachable_patterns, reason = "the second field is never read, which is what is refused")]
async fn one_column_of_two_fields_is_refused(client: Client) {
    #[derive(Serialize, Deserialize)]
    struct Twice {
        #[serde(rename = "n")]
        visits: i64,
        #[serde(rename = "n")]
        clicks: i64,
    }

    let twice = client.table::<PageKey, Twice>("twice");
    let text = "column `cf:n` is the column of two fields of the row type";
    refused(&twice.create_if_absent().await.unwrap_err(), text);
    let error = twice.put(&key("/"), &Twice { visits: 1, clicks: 2 }).await.unwrap_err();
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<RowError>());
    assert!(source.is_some_and(RowError::is_unsupported), "{error:?}");
    refused(&error, text);
}
