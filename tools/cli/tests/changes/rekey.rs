//! `rekey`: its steps say what they would do, go on where they were killed, and refuse programs with another mapping.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use keyderive::layouts::Layouts;
use keyderive::table::rekey::{Rekeyed, State};
use keyderive::{Client, Row, RowKey, Table};

use crate::server::{Ended, Folder, address, client, created, stored, wait};

#[derive(RowKey, Clone, Debug, PartialEq)]
struct OldKey {
    shop: u32,
    order: u32,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "shop")]
struct NewKey {
    shop: u32,
    order: u32,
}

impl From<OldKey> for NewKey {
    fn from(OldKey { shop, order }: OldKey) -> Self {
        Self { shop, order }
    }
}

impl From<&NewKey> for OldKey {
    fn from(&NewKey { shop, order }: &NewKey) -> Self {
        Self { shop, order }
    }
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Order {
    total: i64,
}

type Orders = Rekeyed<OldKey, NewKey, Order>;

fn tables(folder: &Folder, name: &str, rows: u32) -> (Table<OldKey, Order>, String) {
    let new = format!("{name}-4");
    let layouts = Layouts::new().table::<OldKey, Order>(name).table::<NewKey, Order>(&new);
    folder.write("layouts.json", layouts.to_json());
    let old = created::<OldKey, Order>(name);
    let rows = (0..rows).map(|order| (OldKey { shop: order % 7, order }, Order { total: order.into() }));
    wait(old.put_all(rows)).unwrap();
    (old, new)
}

fn open(old: &str, new: &str) -> Result<Orders, keyderive::Error> {
    wait(client().rekeyed::<OldKey, NewKey, Order>(old, new))
}

/// The new table alone, in a program that is started after the end.
fn next_release(new: &str) -> Table<NewKey, Order> {
    wait(Client::connect(&address())).unwrap().table(new)
}

fn state(folder: &Folder, old: &str, new: &str) -> String {
    let status = folder.run(&["rekey", "status", old, new, "--format", "json"]).expect(0);
    let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    status["state"].as_str().unwrap().to_owned()
}

#[test]
fn each_step_says_what_it_would_do_and_does_it() {
    let folder = Folder::new("rekey");
    let (_, new) = tables(&folder, "rekey", 300);
    let pair = ["rekey", new.as_str()];
    let run = |action: &str, more: &[&str]| folder.run(&[&["rekey", action], &pair[..], more].concat());

    let check = run("check", &[]).expect(0);
    check.begins("300 rows with 300 cells").prints("all can be re-keyed");
    let dry = run("run", &[]).expect(0);
    assert!(dry.out.contains("would re-key `rekey` to `rekey-4`"), "{}", dry.out);
    assert!(dry.error.contains("dry run: pass `--yes` to apply"), "{}", dry.error);
    assert!(wait(client().table_info(&new)).unwrap_err().is_not_found());
    let early = run("finish", &["--yes"]).expect(3);
    early.says("in the state `old`: `run` must come to its end before `finish`");
    run("verify", &[]).expect(3);
    run("roll-back", &["--yes"]).expect(0).prints("has not begun");

    // A program reads and writes meanwhile.
    let orders = open("rekey", &new).unwrap();
    let done = run("run", &["--yes"]).expect(0);
    done.prints("re-keyed `rekey` to `rekey-4`: reads and writes go to `rekey-4`");
    let status = run("status", &[]).expect(0);
    assert!(status.out.contains("state    moved, of `rekey` to `rekey-4`"), "{}", status.out);
    status.prints("writes   go to `rekey-4`").prints("`roll-back` takes it back");
    status.prints("OldKey { shop: 0, order: 0 } is NewKey { shop: 0, order: 0 }");
    run("verify", &[]).expect(0).prints("are equal: 300 rows");
    wait(orders.put(&NewKey { shop: 1, order: 1000 }, &Order { total: 1 })).unwrap();

    // Another mapping is refused, whatever it would do.
    let exchanged = ["--map", "shop=order,order=shop"];
    for action in ["check", "run", "status", "verify", "finish", "roll-back"] {
        let refused = run(action, &exchanged).expect(3);
        assert!(refused.error.contains("has another mapping of keys"), "{action}: {}", refused.error);
    }
    run("finish", &[]).expect(0).prints("there is no way back");
    assert_eq!(state(&folder, "rekey", &new), "moved");
    run("finish", &["--yes"]).expect(0);
    assert_eq!(wait(next_release(&new).count(NewKey::scan())).unwrap(), 301);
    run("roll-back", &["--yes"]).expect(3).says("there is no way back");
    run("run", &["--yes"]).expect(0);
}

/// The program refuses in its turn.
#[test]
fn a_program_with_another_mapping_is_refused() {
    let folder = Folder::new("rekey-other");
    let (_, new) = tables(&folder, "rekey-other", 30);
    let program = open("rekey-other", &new).unwrap();
    let map = ["--map", "shop=order,order=shop"];
    folder.run(&[&["rekey", "run", "rekey-other", &new, "--yes"], &map[..]].concat()).expect(0);
    let error = loop {
        let error = wait(program.get(&NewKey { shop: 1, order: 1 })).unwrap_err();
        if !error.is_retryable() {
            break error;
        }
    };
    assert!(
        error.is_table_mismatch() && error.to_string().contains("has another mapping of keys"),
        "{error}"
    );
    assert!(open("rekey-other", &new).unwrap_err().is_table_mismatch());
    // It is taken back by the mapping that began it alone.
    folder.run(&["rekey", "roll-back", "rekey-other", &new, "--yes"]).expect(3);
    let back =
        folder.run(&[&["rekey", "roll-back", "rekey-other", &new, "--yes"], &map[..]].concat()).expect(0);
    assert!(back.out.contains("took everything back to `rekey-other`"), "{}", back.out);
    assert_eq!(stored("rekey-other").len(), 30);
    assert_eq!(state(&folder, "rekey-other", &new), "rolled_back");
}

#[test]
fn rows_that_cannot_be_re_keyed_are_found_before_anything_is_changed() {
    #[derive(RowKey)]
    struct SmallKey {
        shop: u32,
        order: u8,
    }
    let folder = Folder::new("rekey-small");
    let (_, _) = tables(&folder, "rekey-small", 300);
    let layouts =
        Layouts::new().table::<OldKey, Order>("rekey-small").table::<SmallKey, Order>("rekey-small-4");
    folder.write("layouts.json", layouts.to_json());
    let check = folder.run(&["rekey", "check", "rekey-small", "rekey-small-4"]).expect(1);
    check.prints("44 rows cannot be re-keyed").prints("and 34 more");
    let refused = folder.run(&["rekey", "run", "rekey-small", "rekey-small-4", "--yes"]).expect(3);
    assert!(refused.error.contains("nothing was changed"), "{}", refused.error);
    assert_eq!(state(&folder, "rekey-small", "rekey-small-4"), "old");
}

/// Nothing is lost, and nothing is there twice.
#[test]
fn killed_at_ten_points_it_goes_on() {
    let folder = Folder::new("rekey-killed");
    let (_, new) = tables(&folder, "rekey-killed", 4000);
    let orders = open("rekey-killed", &new).unwrap();
    let run = ["rekey", "run", "rekey-killed", &new, "--yes"];
    let mut written = 0;
    for at in 0..10 {
        let mut child = folder.spawn(&run);
        // Writes wait in `paused`, until a driver has waited there for about 6 s.
        sleep(Duration::from_millis(if at == 4 { 7500 } else { 100 + 70 * at }));
        child.kill().unwrap();
        child.wait().unwrap();
        if wait(orders.migration().state()).unwrap() == State::Copying {
            wait(orders.put(&NewKey { shop: 100, order: written }, &Order { total: 1 })).unwrap();
            written += 1;
        }
    }
    folder.run(&run).expect(0);
    folder.run(&["rekey", "verify", "rekey-killed", &new]).expect(0);
    let finish = ["rekey", "finish", "rekey-killed", &new, "--yes"];
    let mut child = folder.spawn(&finish);
    sleep(Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    folder.run(&finish).expect(0);
    assert_eq!(stored(&new).len(), 4000 + written as usize);
    let plain = next_release(&new);
    for order in 0..4000 {
        let row = wait(plain.get(&NewKey { shop: order % 7, order })).unwrap();
        assert_eq!(row, Some(Order { total: order.into() }));
    }
}

#[test]
fn ctrl_c_says_where_it_is() {
    let folder = Folder::new("rekey-stopped");
    let (_, new) = tables(&folder, "rekey-stopped", 30);
    let run = ["rekey", "run", "rekey-stopped", &new, "--yes"];
    let child = folder.spawn(&run);
    while wait(open("rekey-stopped", &new).unwrap().migration().state()).unwrap() != State::Paused {
        sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let ended = Ended::new(child.wait_with_output().unwrap(), &run).expect(4);
    assert!(ended.error.contains("the state is `paused`: reads go to"), "{}", ended.error);
    assert!(ended.error.contains("writes wait for the next state"), "{}", ended.error);
    folder.run(&["rekey", "roll-back", "rekey-stopped", &new, "--yes"]).expect(0);
    assert_eq!(stored("rekey-stopped").len(), 30);
}
