//! On a terminal the commands ask before they change anything, and production by its name.

use std::fs::File;
use std::io::{Read as _, Write as _};

use keyderive_tests::fixtures::{User, UserKey};
use nix::pty::openpty;

use crate::server::{Folder, address, stored, table, tables, wait};

/// Runs the program on a terminal, with an answer; returns what the terminal was sent, and the exit code.
fn run(folder: &Folder, arguments: &[&str], answer: &str) -> (String, i32) {
    let terminal = openpty(None, None).unwrap();
    let end = || terminal.slave.try_clone().unwrap();
    let mut command = folder.command(arguments);
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    drop((command, terminal.slave));
    let mut terminal = File::from(terminal.master);
    terminal.write_all(format!("{answer}\n").as_bytes()).unwrap();
    let mut sent = Vec::new();
    // It ends with an error, once nobody has the other end.
    let _ = terminal.read_to_end(&mut sent);
    (String::from_utf8(sent).unwrap(), child.wait().unwrap().code().unwrap())
}

#[test]
fn it_asks_before_it_changes_anything() {
    let folder = Folder::new("terminal");
    let items = table::<UserKey, User>(&folder, "terminal");
    let fill = || {
        let rows = (0..9).map(|id| (UserKey { id }, User::named("a\u{1b}[31m")));
        wait(items.put_all(rows)).unwrap();
    };
    fill();
    let delete = ["delete", "terminal", "--where", "id<5"];
    for refused in ["", "n", "terminal"] {
        let (sent, code) = run(&folder, &delete, refused);
        assert!(sent.contains("would delete 5 rows") && sent.contains("Delete them? [y/N]"), "{sent:?}");
        assert!(sent.contains("nothing was changed") && code == 0, "{sent:?}");
    }
    assert_eq!(stored("terminal").len(), 9);
    let (sent, code) = run(&folder, &delete, "y");
    assert!(sent.contains("deleted 5 rows of `terminal`, by 1 request") && code == 0, "{sent:?}");
    assert_eq!(stored("terminal").len(), 4);

    folder.write("items.csv", "id,name\n1,a\u{1b}[31m\n2,b\n");
    let import = ["import", "terminal", "items.csv"];
    let (sent, _) = run(&folder, &import, "n");
    assert!(sent.contains("would write 2 rows") && !sent.contains("\u{1b}[31mb"), "{sent:?}");
    assert_eq!(stored("terminal").len(), 4);
    let (sent, code) = run(&folder, &import, "y");
    assert!(sent.contains("wrote 2 rows") && code == 0, "{sent:?}");
    assert_eq!(stored("terminal").len(), 6);
    for format in ["csv", "json"] {
        let (sent, _) = run(&folder, &["export", "terminal", "--format", format], "");
        assert!(sent.contains("\"name\"") || sent.contains("cf:name"), "{sent:?}");
        assert!(!sent.contains("\u{1b}[31m"), "{sent:?}");
    }
}

#[test]
fn copies_and_re_keyings_ask_too() {
    let folder = Folder::new("terminal-copy");
    let items = tables::<UserKey, User>(&folder, &["terminal-copy", "terminal-copied"]);
    let rows = (0..9).map(|id| (UserKey { id }, User::named("a")));
    wait(items[0].put_all(rows)).unwrap();
    let copy = ["copy", "terminal-copy", "terminal-copied"];
    let (sent, code) = run(&folder, &copy, "n");
    assert!(sent.contains("would copy 9 rows") && sent.contains("Copy them? [y/N]") && code == 0, "{sent:?}");
    assert_eq!(stored("terminal-copied").len(), 0);
    let (sent, code) = run(&folder, &copy, "y");
    assert!(sent.contains("copied 9 rows of `terminal-copy` to `terminal-copied`") && code == 0, "{sent:?}");
    assert_eq!(stored("terminal-copied").len(), 9);
    let (sent, code) = run(&folder, &["rekey", "run", "terminal-copy", "terminal-copied"], "n");
    assert!(
        sent.contains("Re-key it? [y/N]") && sent.contains("nothing was changed") && code == 0,
        "{sent:?}"
    );
}

#[test]
fn production_is_asked_for_by_its_name() {
    let folder = Folder::new("live");
    let settings = |is_production| {
        format!("[instances.live]\naddress = \"{}\"\nproduction = {is_production}\n", address())
    };
    let items = table::<UserKey, User>(&folder, "live");
    wait(items.put_all((1..3).map(|id| (UserKey { id }, User::named("a"))))).unwrap();
    folder.write("keyderive.toml", settings(true));
    let delete = ["delete", "live", "--on", "live", "--where", "id<5"];
    // It names it in red.
    let (sent, _) = run(&folder, &delete, "y");
    assert!(sent.contains("\u{1b}[1m\u{1b}[31mproduction:\u{1b}[0m live"), "{sent:?}");
    assert!(sent.contains("Type `live` to go on:") && sent.contains("nothing was changed"), "{sent:?}");
    drop(items);
    let (sent, code) = run(&folder, &delete, "live");
    assert!(sent.contains("deleted 2 rows") && code == 0, "{sent:?}");
    folder.write("keyderive.toml", settings(false));
    let (sent, _) = run(&folder, &delete, "n");
    assert!(!sent.contains("production"), "{sent:?}");
}
