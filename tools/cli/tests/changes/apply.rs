//! `create` and `apply`: they do what they list, on the embedded Bigtable, in its file and on the emulator.

use std::time::Duration;

use keyderive::client::{Family, FamilyChange};
use keyderive::layouts::Layouts;
use keyderive::{Client, GcRule, Row, RowKey};
use keyderive_tests::emulator::Emulator;
use keyderive_tests::fixtures::UserKey;

use crate::server::{Ended, Folder, address, wait};

#[derive(RowKey)]
#[salt(range = 3, over = "user")]
struct EventKey {
    user: String,
}

#[derive(Row)]
#[row(gc(max_versions = 2))]
#[allow(dead_code)]
struct Event {
    kind: String,
}

#[derive(Row)]
#[row(family = "notes")]
#[allow(dead_code)]
struct Note {
    text: String,
}

fn layouts(events: &str, users: &str) -> Layouts {
    let layouts = Layouts::new().table::<EventKey, Event>(events).table::<UserKey, Event>(users);
    layouts.table::<UserKey, Note>(users)
}

/// Runs the program with tables that are not there yet.
fn run_all(folder: &Folder, at: &str, connect: impl AsyncFn() -> Client) {
    let (events, users) = ("apply-events", "apply-users");
    folder.write("layouts.json", layouts(events, users).to_json());
    let run = |arguments: &[&str]| folder.run(&[arguments, &["--address", at]].concat());

    // `create` lists, and creates what it lists.
    let dry = run(&["create"]).expect(0);
    dry.prints("apply-events: create the table with the column family `cf` of bytes");
    assert!(dry.out.contains("; 3 tablets\n"), "{}", dry.out);
    assert!(dry.out.ends_with("would make 2 changes to 2 tables\n"), "{}", dry.out);
    assert!(dry.error.contains("dry run: pass `--yes` to apply"), "{}", dry.error);
    run(&["status"]).expect(1);
    let done = run(&["create", events, "--yes"]).expect(0);
    assert!(done.out.ends_with("apply-events: changed\nmade 1 change to 1 table\n"), "{}", done.out);
    run(&["create", "elsewhere"]).expect(2);
    // Twice is as once.
    assert_eq!(run(&["create", events, "--yes"]).expect(0).out, "nothing to change in 1 table\n");
    let json = run(&["apply", users, "--yes", "--format", "json"]).expect(0);
    json.begins("{\"table\":\"apply-users\",\"state\":\"to do\",\"what\":\"create the table");
    run(&["status"]).expect(0);

    // A family is gone, and one rule keeps more than the declared one.
    wait(async {
        let client = connect().await;
        let changes = [FamilyChange::drop("notes"), FamilyChange::gc_rule("cf", GcRule::max_versions(1))];
        client.raw_table(users).modify_families(changes).await.unwrap();
        let changes = [FamilyChange::gc_rule("cf", GcRule::max_age(Duration::from_secs(86_400)))];
        client.raw_table(events).modify_families(changes).await.unwrap();
        client.close().await;
    });
    let status = run(&["status"]).expect(1);
    assert!(status.out.contains("to change       add the column family `notes` of bytes"), "{}", status.out);
    let left = run(&["create", "--yes"]).expect(1);
    assert!(left.out.contains("apply-users: left as it is: add the column family `notes`"), "{}", left.out);
    assert!(left.out.ends_with("`keyderive apply` would make 2 changes\n"), "{}", left.out);
    let dry = run(&["apply"]).expect(1);
    let lines: Vec<_> = dry.out.lines().collect();
    assert_eq!(
        lines,
        [
            "apply-events: left as it is: change the garbage collection rule of the column family `cf` from `older than 1 day` to `all but the \
             newest 2 versions`, which removes cells that are kept now; `--allow-removal` changes it",
            "apply-users: change the garbage collection rule of the column family `cf` from `all but the newest version` to `all but the \
             newest 2 versions`",
            "apply-users: add the column family `notes` of bytes, garbage collected: all but the newest version",
            "would make 2 changes to 1 table",
        ]
    );
    let done = run(&["apply", "--yes"]).expect(1);
    assert_eq!(done.out.lines().take(3).collect::<Vec<_>>(), lines[..3]);
    assert!(done.out.ends_with("apply-users: changed\nmade 2 changes to 1 table\n"), "{}", done.out);
    let done = run(&["apply", "--yes", "--allow-removal"]).expect(0);
    assert!(done.out.ends_with("made 1 change to 1 table\n"), "{}", done.out);
    assert_eq!(run(&["apply", "--yes", "--allow-removal"]).expect(0).out, "nothing to change in 2 tables\n");
    run(&["status"]).expect(0);

    // Another key type at the name: nothing of the table changes.
    folder.write("layouts.json", Layouts::new().table::<UserKey, Note>(events).to_json());
    let refused = run(&["apply", "--yes"]).expect(1);
    refused.prints("apply-events: cannot be changed in place: table `apply-events`: ");
    assert!(refused.out.contains("`keyderive rekey` moves the rows"), "{}", refused.out);
    wait(async {
        let client = connect().await;
        let info = client.table_info(events).await.unwrap();
        assert!(info.family("notes").is_none() && info.family("cf").is_some());
        client.close().await;
    });
}

#[test]
fn they_do_what_they_list() {
    let folder = Folder::new("apply");
    let at = address();
    run_all(&folder, &at, async || Client::connect(&at).await.unwrap());
}

#[test]
fn they_do_what_they_list_in_a_file() {
    let folder = Folder::new("apply-file");
    let path = folder.path("file.tables");
    wait(async { Client::embedded_at(&path).await.unwrap().close().await });
    run_all(&folder, &format!("embedded:{}", path.display()), async || {
        Client::embedded_at(&path).await.unwrap()
    });
}

#[test]
fn they_do_what_they_list_on_the_emulator() {
    let Some(emulator) = Emulator::start() else { return };
    let folder = Folder::new("apply-emulator");
    let at = format!("emulator://{}/shop/orders", emulator.host());
    run_all(&folder, &at, async || Client::connect(&at).await.unwrap());
}

/// A family that no row type has, and a table without a stamp and without rows.
#[test]
fn what_is_not_declared_is_listed() {
    let folder = Folder::new("undeclared");
    folder.write("layouts.json", layouts("undeclared-events", "undeclared-users").to_json());
    wait(async {
        let client = Client::connect(&address()).await.unwrap();
        let families = ["cf", "extra"].map(|name| Family::new(name, GcRule::max_versions(2)));
        client.raw_table("undeclared-events").create(families, [""; 0]).await.unwrap();
    });
    let status = folder.run(&["status", "undeclared-events"]).expect(1);
    assert!(status.out.contains(": the table has no keys\n"), "{}", status.out);
    folder.run(&["apply", "undeclared-events", "--yes"]).expect(0).prints(": the table has no keys\n");
    let status = folder.run(&["status", "undeclared-events"]).expect(0);
    status.prints("  not declared    the column family `extra` of bytes, garbage collected: all but the newest 2 versions; no row type has it\n");
}

#[test]
fn several_at_a_time_all_succeed() {
    let folder = Folder::new("apply-beside");
    folder.write("layouts.json", layouts("beside-events", "beside-users").to_json());
    let at = address();
    wait(async {
        let client = Client::connect(&at).await.unwrap();
        let families = [Family::new("cf", GcRule::max_versions(1))];
        client.raw_table("beside-users").create(families, [""; 0]).await.unwrap();
    });
    let arguments = ["apply", "--yes"];
    let runs: Vec<_> = (0..4).map(|_| folder.spawn(&arguments)).collect();
    for run in runs {
        Ended::new(run.wait_with_output().unwrap(), &arguments).expect(0);
    }
    folder.run(&["status"]).expect(0);
}
