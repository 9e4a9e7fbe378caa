//! All tables of a program in one call: created, verified, beside other programs, and every fault in one run. `table_changes` has the
//! same types.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use keyderive::client::{Family, FamilyChange};
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::layouts::Layouts;
use keyderive::row::{Sum, Versions};
use keyderive::{Client, GcRule, Row, RowKey};
use keyderive_tests::fixtures::{User, UserKey};

use crate::servers::on_every_bigtable;

#[derive(RowKey)]
struct WideKey {
    #[pad(24)]
    id: u64,
}

#[derive(RowKey)]
#[row_key(tag = "e")]
#[salt(range = 4, over = "user")]
pub(crate) struct EventKey {
    user: String,
}

#[derive(RowKey)]
#[row_key(tag = "n")]
pub(crate) struct NoteKey {
    user: String,
}

/// The same family, of which this one reads every version; and one of sums.
#[derive(Row)]
#[allow(dead_code)]
pub(crate) struct History {
    name: Versions<String>,
    #[row(family = "sums")]
    visits: Sum,
}

#[derive(Row)]
#[row(family = "notes", gc(max_versions = 2))]
#[allow(dead_code)]
pub(crate) struct Note {
    text: String,
}

#[derive(Row)]
#[row(family = "notes", gc(max_versions = 7))]
#[allow(dead_code)]
struct OtherNote {
    text: String,
}

#[derive(Row)]
#[row(family = "sums")]
#[allow(dead_code)]
struct Plain {
    text: String,
}

on_every_bigtable! {
    tables_are_created_with_what_all_their_types_need
    every_fault_of_every_table_is_in_one_error
    every_table_is_created_once_by_concurrent_programs
    a_call_that_was_dropped_is_made_again
    a_key_type_is_added_to_a_table_of_another
}

fn all() -> Layouts {
    let layouts = Layouts::new().table::<UserKey, User>("users").table::<UserKey, History>("users");
    let layouts = layouts.table::<EventKey, User>("shared").table::<NoteKey, Note>("shared");
    layouts.table_with_family::<UserKey, BTreeMap<String, String>>("maps", "m")
}

async fn tables_are_created_with_what_all_their_types_need(client: Client) {
    let created = all().create_if_absent(&client).await.unwrap();
    assert_eq!(created.to_string(), "`maps`: created\n`shared`: created\n`users`: created");
    let again = all().create_if_absent(&client).await.unwrap();
    assert_eq!(again.to_string(), "`maps`: as declared\n`shared`: as declared\n`users`: as declared");
    assert!(again.tables().iter().all(|table| !table.is_created));
    assert_eq!(all().verify(&client).await.unwrap().to_string(), again.to_string());

    // Of two rules that nobody declares, the one that loses nothing.
    let users = client.table_info("users").await.unwrap();
    assert!(users.family("cf").unwrap().gc_rule() == &GcRule::never() && users.family("sums").is_some());
    let shared = client.table_info("shared").await.unwrap();
    assert_eq!(shared.family("notes").unwrap().gc_rule(), &GcRule::max_versions(2));
    assert!(shared.family("cf").is_some() && shared.row_key_schema().is_none());
    assert!(client.table_info("maps").await.unwrap().family("m").is_some());
    // Each type alone accepts its table.
    client.table::<UserKey, History>("users").verify().await.unwrap();
    client.table::<EventKey, User>("shared").verify().await.unwrap();
    client.table::<NoteKey, Note>("shared").create_if_absent().await.unwrap();
    let stamps = shared.families().iter().filter(|family| family.name().starts_with("keyderive."));
    assert_eq!(stamps.count(), 2);
}

/// The faults of each table, by the ends of their texts.
fn assert_faults(found: &keyderive::table::DeclaredTablesError, expected: &[(&str, &[&str])]) {
    for (table, (name, faults)) in found.tables().iter().zip(expected) {
        assert_eq!(table.name, *name, "{found}");
        assert_eq!(table.faults.len(), faults.len(), "{found}");
        for (fault, part) in table.faults.iter().zip(*faults) {
            assert!(fault.to_string().contains(part), "{fault}\n{part}");
        }
    }
    assert_eq!(found.tables().len(), expected.len(), "{found}");
}

async fn every_fault_of_every_table_is_in_one_error(client: Client) {
    // A table of another layout, without one family and with another rule for another one.
    let other = client.table::<WideKey, BTreeMap<String, String>>("users");
    other.create().family("notes", GcRule::max_versions(9)).await.unwrap();
    let layouts = Layouts::new()
        .table::<UserKey, History>("users")
        .table::<UserKey, Note>("users")
        .table::<UserKey, User>("plain")
        .table::<UserKey, User>("conflict")
        .table::<WideKey, User>("conflict")
        .table::<UserKey, Note>("rules")
        .table::<UserKey, OtherNote>("rules")
        .table::<UserKey, History>("types")
        .table::<UserKey, Plain>("types");
    let conflicts: [(&str, &[&str]); 3] = [
        ("conflict", &["`UserKey` and `WideKey` are two key types with the same tag"]),
        ("rules", &["two garbage collection rules for the column family `notes`"]),
        ("types", &["the column family `sums`: it holds `sums` for one, and `bytes` for another"]),
    ];
    let users: (&str, &[&str]) = (
        "users",
        &[
            "`UserKey`",
            "without the column family `sums`",
            "the row type has `Versions` in the column family `cf`",
            "the garbage collection rule of the column family `notes` is not the declared one",
        ],
    );
    let [conflict, rules, types] = conflicts;
    let error = layouts.verify(&client).await.unwrap_err();
    assert_faults(
        &error,
        &[conflict, ("plain", &["GetTable on table `plain` failed: NOT_FOUND"]), rules, types, users],
    );
    let text = error.to_string();
    assert!(text.starts_with("5 of 5 tables are not as declared:\n`conflict`: table `conflict`: "), "{text}");
    assert_eq!(text.lines().count(), 1 + error.faults().count(), "{text}");

    // What can be created is.
    let error = layouts.create_if_absent(&client).await.unwrap_err();
    assert_faults(&error, &[conflict, ("plain", &[]), rules, types, users]);
    assert!(error.tables()[1].is_created && error.to_string().contains("\n`plain`: created\n"), "{error}");
    for absent in ["conflict", "rules", "types"] {
        assert!(client.table_info(absent).await.unwrap_err().is_not_found());
    }
}

async fn every_table_is_created_once_by_concurrent_programs(client: Client) {
    let calls = (0..8).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { all().create_if_absent(&client).await.unwrap() })
    });
    let reports: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    for table in 0..3 {
        let created = reports.iter().filter(|report| report.tables()[table].is_created);
        assert_eq!(created.count(), 1);
    }
    all().verify(&client).await.unwrap();
}

async fn a_call_that_was_dropped_is_made_again(client: Client) {
    for time in 0..4 {
        let _ =
            tokio::time::timeout(Duration::from_micros(200 * time), all().create_if_absent(&client)).await;
    }
    all().create_if_absent(&client).await.unwrap();
    all().verify(&client).await.unwrap();
}

async fn a_key_type_is_added_to_a_table_of_another(client: Client) {
    client.table::<EventKey, User>("shared").create().without_row_key_schema().await.unwrap();
    let shared = || Layouts::new().table::<EventKey, User>("shared").table::<NoteKey, User>("shared");
    let error = shared().verify(&client).await.unwrap_err();
    assert_faults(&error, &[("shared", &["`NoteKey`"])]);
    assert!(error.tables()[0].faults[0].is_table_mismatch());
    assert!(!shared().create_if_absent(&client).await.unwrap().tables()[0].is_created);
    shared().verify(&client).await.unwrap();

    // A table that another program created has no stamp.
    let families = [Family::new("cf", GcRule::max_versions(1))];
    client.raw_table("foreign").create(families, [""; 0]).await.unwrap();
    let foreign = Layouts::new().table::<UserKey, User>("foreign");
    for error in
        [foreign.verify(&client).await.unwrap_err(), foreign.create_if_absent(&client).await.unwrap_err()]
    {
        assert!(error.to_string().contains("stamp()"), "{error}");
    }
    client.table::<UserKey, User>("foreign").stamp().await.unwrap();
    foreign.verify(&client).await.unwrap();
    client.table::<UserKey, User>("foreign").modify_families([FamilyChange::drop("cf")]).await.unwrap();
    assert!(foreign.verify(&client).await.is_err());
}

/// A table whose definition a request did not get may be as declared.
#[tokio::test]
async fn what_could_not_be_read_is_not_said_to_differ() {
    let bigtable = Bigtable::in_memory();
    let layouts = Layouts::new().table::<UserKey, User>("one").table::<UserKey, User>("two");
    layouts.create_if_absent(&bigtable.client()).await.unwrap();
    let failing = |faults: Faults| bigtable.with_faults(faults).client();
    let denied = Fault::permission_denied;
    let all = failing(Faults::seeded(0).fail(Method::GetTable, 1.0, denied()));
    let error = layouts.verify(&all).await.unwrap_err();
    assert!(error.to_string().starts_with("2 of 2 tables could not be read:\n`one`: "), "{error}");
    assert!(error.tables().iter().all(|table| table.is_unread() && !table.is_different()), "{error}");
    let error = layouts.create_if_absent(&all).await.unwrap_err();
    assert!(error.to_string().starts_with("2 of 2 tables could not be created or read:\n"), "{error}");
    let error = Layouts::new().table::<UserKey, User>("one").verify(&all).await.unwrap_err();
    assert!(error.to_string().starts_with("the table could not be read:\n"), "{error}");

    let first = failing(Faults::seeded(0).fail_nth(Method::GetTable, 1, denied()));
    let error = layouts.table::<UserKey, User>("zero").verify(&first).await.unwrap_err();
    let text = "1 of 3 tables are not as declared, and 1 could not be read:\n`one`: ";
    assert!(error.to_string().starts_with(text), "{error}");
    let found: Vec<_> =
        error.tables().iter().map(|table| (table.is_unread(), table.is_different())).collect();
    assert_eq!(found, [(true, false), (false, false), (false, true)], "{error}");
}

#[tokio::test]
async fn layouts_of_a_file_are_compared() {
    let client = Client::embedded();
    let read = Layouts::from_json(&all().to_json()).unwrap();
    let error = read.verify(&client).await.unwrap_err();
    assert_eq!(error.tables().len(), 3);
    assert!(error.tables().iter().all(|table| table.faults[0].is_not_found()), "{error}");
    all().create_if_absent(&client).await.unwrap();
    read.verify(&client).await.unwrap();

    // As the types are, fault by fault.
    let users = client.table::<UserKey, User>("users");
    users.modify_families([FamilyChange::drop("cf")]).await.unwrap();
    let of_types = all().verify(&client).await.unwrap_err().to_string();
    assert_eq!(read.verify(&client).await.unwrap_err().to_string(), of_types);
}
