//! `layouts pull`: a layout file from what programs have registered.

use keyderive::client::Family;
use keyderive::layouts::Layouts;
use keyderive::{Client, GcRule, Row, RowKey};
use keyderive_tests::fixtures::{UserKey, created};

use crate::server::{Folder, wait};

#[derive(RowKey)]
#[salt(range = 3, over = "user")]
struct EventKey {
    user: String,
}

#[derive(Row)]
struct Event {
    kind: String,
}

#[test]
fn the_registry_as_a_layout_file() {
    let folder = Folder::new("pull");
    wait(async {
        let client = Client::embedded_at(folder.path("tables")).await.unwrap();
        let events = created::<EventKey, Event>(&client, "events").await;
        events.put(&EventKey { user: "alice".into() }, &Event { kind: "view".into() }).await.unwrap();
        client.table::<UserKey, Event>("users").create().await.unwrap();
        let families = [Family::new("cf", GcRule::max_versions(1))];
        client.raw_table("legacy").create(families, [""; 0]).await.unwrap();
        client.close().await;
    });
    let run = |arguments: &[&str]| folder.run(&[arguments, &["--file", "tables"]].concat());
    run(&["status"]).expect(3).says("`keyderive layouts pull`");

    let pulled = run(&["layouts", "pull", "events"]).expect(0);
    assert_eq!(pulled.error, "note: wrote the layouts of 1 table to `layouts.json`\n");
    let typed = Layouts::new().table::<EventKey, Event>("events");
    assert_eq!(folder.read("layouts.json"), typed.to_json());
    run(&["status"]).expect(0);

    run(&["layouts", "pull"]).expect(3).says("`layouts.json` exists");
    let all = run(&["layouts", "pull", "--force"]).expect(1);
    for part in [
        "`legacy` is left out: no program has registered its layout\n",
        "`users` is without a row type of `UserKey`: no program has registered one\n",
        "wrote the layouts of 2 tables to `layouts.json`\n",
    ] {
        assert!(all.error.contains(part), "{part}: {}", all.error);
    }
    let layouts = Layouts::from_json(&folder.read("layouts.json")).unwrap();
    assert!(layouts.table_names().eq(["events", "users"]));

    let nothing = run(&["layouts", "pull", "legacy", "--output", "other.json"]).expect(3);
    assert!(nothing.error.contains("nothing was written to `other.json`"), "{}", nothing.error);
    assert!(!folder.path("other.json").exists());
    let typo = run(&["layouts", "pull", "event", "--output", "other.json"]).expect(3);
    assert!(typo.error.ends_with("help: did you mean `events`?\n"), "{}", typo.error);
    let typo = run(&["scan", "event"]).expect(3);
    assert!(typo.error.ends_with("help: did you mean `events`?\n"), "{}", typo.error);
}
