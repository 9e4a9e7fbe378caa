//! Which Bigtable the arguments, the environment and `keyderive.toml` name.

use std::fs;

use keyderive::Client;

use crate::program::Folder;
use crate::tables;

/// What a command prints, and its exit code.
#[track_caller]
fn assert_prints(folder: &Folder, line: &str, code: i32, part: &str) {
    let (printed, found) = folder.shell(line);
    assert!(found == code && printed.contains(part), "{line}: exit code {found}: {printed}");
}

#[test]
fn the_first_that_names_one_counts() {
    let folder = Folder::new("instances");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = Client::embedded_at(folder.path().join("other.tables")).await.unwrap();
        client.raw_table("elsewhere").create([], [""; 0]).await.unwrap();
        client.close().await;
    });
    drop(runtime);
    let settings = "default = \"file\"\n[instances.file]\naddress = \"embedded:other.tables\"\n\
                    [instances.gone]\naddress = \"embedded:gone.tables\"\n";
    fs::write(folder.path().join("keyderive.toml"), settings).unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    let no_table = "table `elsewhere`";
    // The environment of the tests names a Bigtable that does not have this table.
    assert_prints(&folder, "keyderive count elsewhere", 3, no_table);
    for line in [
        "keyderive count elsewhere --file other.tables",
        "keyderive count elsewhere --on file",
        "cd below; keyderive count elsewhere --on file",
        "keyderive count elsewhere --address embedded:other.tables",
        "KEYDERIVE_ADDRESS=embedded:other.tables keyderive count elsewhere",
        "unset BIGTABLE_EMULATOR_HOST; cd below; keyderive count elsewhere",
    ] {
        assert_prints(&folder, line, 0, "0\n");
    }
    // What an argument names counts before the environment.
    let line = "KEYDERIVE_ADDRESS=embedded:other.tables keyderive count elsewhere --address emulator://$BIGTABLE_EMULATOR_HOST";
    assert_prints(&folder, line, 3, no_table);
    assert_prints(&folder, "keyderive count users --on gone", 3, "there is no file `");
    assert!(!folder.path().join("gone.tables").exists(), "a reading command has made a file");
    assert_prints(&folder, "keyderive count users --on prod", 2, "it has `file`, `gone`");
    assert_prints(&folder, "keyderive count users --on file --file x", 2, "cannot be used with");
    assert_prints(
        &folder,
        "cd /; keyderive count users --on file",
        2,
        "there is none in this folder or above it",
    );
    assert_prints(
        &folder,
        "keyderive count users --address localhost:8086",
        2,
        "is no address of a Bigtable",
    );
}

#[test]
fn keys_are_encoded_and_decoded_without_a_bigtable() {
    let folder = Folder::new("offline");
    let offline = |line: &str| format!("unset BIGTABLE_EMULATOR_HOST; {line}");
    let key = "1#alice#home#9221576529654775807#000042";
    let encode = "keyderive encode events user_id=alice site=home at=2026-11-24T08:00:00Z seq=42";
    assert_prints(&folder, &offline(encode), 0, key);
    assert_prints(&folder, &offline(&format!("keyderive decode events '{key}'")), 0, "2026-11-24T08:00:00Z");
    let json = format!("keyderive decode events '{key}' --format json");
    assert_prints(&folder, &offline(&json), 0, r#""user_id":"alice""#);
    // As `cbt read events 2>&1` prints it.
    let cbt = format!(
        r"printf -- '-creds flag unset\n{}\n{key}\n  cf:kind\n' | keyderive decode events -",
        "-".repeat(40)
    );
    assert_prints(&folder, &cbt, 1, "seq: 42 }\n  cf:kind\n");
    // Nothing names a layout or a Bigtable that may have one.
    assert_prints(&folder, &offline("keyderive decode faulty x"), 2, "the environment names no Bigtable");
    assert_prints(&folder, "keyderive decode legacy x", 3, "no layout of the table `legacy` is known");
}

#[test]
fn rows_are_read_by_the_layout_of_the_registry() {
    let folder = Folder::new("registry");
    fs::remove_file(folder.path().join("layouts.json")).unwrap();
    assert_prints(&folder, "keyderive get users id=3", 0, "carol@example.org");
    assert_prints(&folder, "keyderive status", 3, "there is no `layouts.json` in this folder or above it");
    // A file of another program does not hide it.
    fs::write(folder.path().join("layouts.json"), tables::later_layouts()).unwrap();
    assert_prints(&folder, "keyderive get users id=3", 0, "carol@example.org");
}

#[test]
fn pages_are_all_rows_once() {
    let folder = Folder::new("pages");
    for order in ["", "--reversed"] {
        let scan = format!("keyderive scan events --format csv {order}");
        let (whole, _) = folder.shell(&scan);
        let (mut pages, mut after) = (String::new(), String::new());
        loop {
            let (page, code) = folder.shell(&format!("{scan} --limit 7 {after}"));
            assert_eq!(code, 0, "{page}");
            let note = page.lines().find(|line| line.starts_with("note: there are more rows (order: "));
            let token = note.and_then(|note| note.split_once("; continue with ")).map(|(_, token)| token);
            after = token.unwrap_or_default().to_owned();
            let rows =
                page.lines().filter(|line| !line.starts_with("note: ") && !line.starts_with("user_id"));
            rows.for_each(|row| pages += &format!("{row}\n"));
            if after.is_empty() {
                break;
            }
        }
        assert_eq!(whole.split_once('\n').unwrap().1, pages);
    }
}

/// The rows between two pages are others under other conditions, also where these do not choose what is read.
#[test]
fn a_token_is_of_its_conditions() {
    let folder = Folder::new("tokens");
    let page = |conditions: &str, after: &str| {
        folder.shell(&format!("keyderive scan events --format csv {conditions} --limit 2 {after}"))
    };
    let (first, _) = page("--where site=home", "");
    let (_, token) = first.split_once("--after ").unwrap();
    let after = format!("--after {}", token.trim());
    assert_eq!(page("--where site=home", &after).1, 0);
    for other in ["--where site=work", "", "--where user_id=alice", "--where site=home --where user_id=alice"]
    {
        let (text, code) = page(other, &after);
        assert_eq!(code, 2, "{other}: {text}");
    }
    // Their order is no condition.
    let (first, _) = page("--where site=home --where 'seq>0'", "");
    let (_, token) = first.split_once("--after ").unwrap();
    let (text, code) = page("--where 'seq>0' --where site=home", &format!("--after {}", token.trim()));
    assert_eq!(code, 0, "{text}");
    let (first, _) = page("", "");
    let (_, token) = first.split_once("--after ").unwrap();
    let (text, code) = page("--where site=home", &format!("--after {}", token.trim()));
    assert!(code == 2 && text.contains("is of a scan with other conditions"), "{text}");
}

/// Another table with the same layout has other rows between two pages.
#[test]
fn a_token_is_of_its_table() {
    let folder = Folder::new("other-table");
    // Both tables are in the registry.
    fs::remove_file(folder.path().join("layouts.json")).unwrap();
    let (first, _) = folder.shell("keyderive scan users --limit 1");
    let (_, token) = first.split_once("--after ").unwrap();
    let after = |table: &str| folder.shell(&format!("keyderive scan {table} --after {}", token.trim()));
    assert_eq!(after("users").1, 0);
    let (text, code) = after("visits");
    assert!(code == 2 && text.contains("the page token is of another table"), "{text}");
}

#[test]
fn conditions_that_a_plan_does_not_decide_keep_the_same_rows() {
    let folder = Folder::new("conditions");
    // A note says that no row can fulfil two of these.
    let is_printed = |line: &&str| !line.starts_with("note");
    let lines =
        |line: &str| folder.shell(line).0.lines().filter(is_printed).map(str::to_owned).collect::<Vec<_>>();
    let all = lines("keyderive scan events --format csv");
    for (conditions, keeps) in [
        (
            "--where site=work --where user_id=bob",
            &(|row: &str| row.starts_with("bob,work,")) as &dyn Fn(&str) -> bool,
        ),
        ("--where site^=w", &|row| row.contains(",work,")),
        ("--where 'at<2026-11-25'", &|row| row.contains(",2026-11-24T")),
        ("--where 'at>=2026-11-25' --where 'at<2026-11-26' --where 'user_id in carol,erin'", &|row| {
            (row.starts_with("carol") || row.starts_with("erin")) && row.contains(",2026-11-25T")
        }),
        ("--where 'user_id > bob' --where 'user_id<=dave'", &|row| {
            row.starts_with("carol") || row.starts_with("dave")
        }),
        ("--where user_id=bob --where user_id=carol", &|_| false),
    ] {
        let kept: Vec<_> =
            lines(&format!("keyderive scan events --format csv {conditions}")).into_iter().skip(1).collect();
        let expected: Vec<_> = all.iter().skip(1).filter(|row| keeps(row)).cloned().collect();
        assert_eq!(kept, expected, "{conditions}");
        let counted = lines(&format!("keyderive count events {conditions}"));
        assert_eq!(counted, [expected.len().to_string()], "{conditions}");
    }
}

#[test]
fn a_program_on_the_path_is_a_subcommand() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("programs");
    let program = folder.path().join("keyderive-hello");
    fs::write(&program, "#!/bin/sh\necho \"hello $*\"\nexit 7\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    assert_prints(&folder, "PATH=$PWD:$PATH keyderive hello a --format 'b c'", 7, "hello a --format b c\n");
    for line in ["keyderive hello", "PATH=$PWD:$PATH keyderive scam", "PATH=$PWD:$PATH keyderive ../hello"] {
        assert_prints(&folder, line, 2, "unrecognized subcommand");
    }
    assert_prints(&folder, "keyderive scam", 2, "a similar subcommand exists: 'scan'");
    let file = folder.path().join("keyderive-text");
    fs::write(file, "no program").unwrap();
    assert_prints(&folder, "PATH=$PWD:$PATH keyderive text", 4, "`keyderive-text` cannot be run");
}

/// The shell is such a program too, with a place in the help.
#[test]
fn sql_runs_the_shell() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("sql");
    // No program of the machine.
    let line = |rest: &str| {
        format!("program=$(command -v keyderive); PATH=$PWD:/bin:/usr/bin \"$program\" sql {rest}")
    };
    let missing = "`cargo install --path tools/sql/shell` installs it";
    assert_prints(&folder, &line("-c 'SELECT 1'"), 3, missing);
    let program = folder.path().join("keyderive-sql");
    fs::write(&program, "#!/bin/sh\nfor given; do printf '<%s>' \"$given\"; done\nexit 7\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for (given, gets) in [
        ("-c 'SELECT  1' --on prod", "<-c><SELECT  1><--on><prod>"),
        ("--help", "<--help>"),
        ("export --version events -- x", "<export><--version><events><--><x>"),
        ("", ""),
    ] {
        let (printed, code) = folder.shell(&line(given));
        assert_eq!((printed.as_str(), code), (gets, 7), "{given}");
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    assert_prints(&folder, &line(""), 4, "`keyderive-sql` cannot be run");
    assert_prints(&folder, "keyderive --help", 0, "  sql ");
}

#[test]
fn a_row_whose_key_does_not_decode_is_shown() {
    let folder = Folder::new("foreign");
    let key = r"'1#alice#\x1b]0;x\x07'";
    let get = format!("keyderive get faulty --key {key}");
    assert_prints(&folder, &get, 1, "not read, and shown as stored: row key `1#alice#");
    assert_prints(&folder, &get, 1, "cf:kind @ 1970-01-01T00:00:01Z: login");
    assert_prints(&folder, &format!("{get} --format json"), 1, "\"error\":");
    let nobody = "keyderive get faulty --key '1#nobody'";
    assert_prints(
        &folder,
        nobody,
        1,
        "has no row `1#nobody`\nthe key is not of the layout: row key `1#nobody` does not decode",
    );
    assert_prints(
        &folder,
        "keyderive get faulty --key '9#nobody'",
        1,
        "does not decode as `EventKey`: bucket `9` is not 0 to 3",
    );
    // As it was given.
    assert_prints(&folder, "keyderive get faulty --key 0x3123", 1, "has no row `0x3123`");
    assert_prints(&folder, "keyderive decode faulty 0x3123", 1, "0x3123: not decoded: row key `1#`");
}

#[test]
fn a_row_has_its_key_and_its_bucket() {
    let folder = Folder::new("places");
    let get = "keyderive get events user_id=alice site=home at=2026-11-24T08:00:00Z seq=42";
    let json = format!("{get} --format json");
    assert_prints(&folder, get, 0, "bucket: 1, by the hash of user_id\n");
    let part = r#"{":key":"1#alice#home#9221576529654775807#000042",":bucket":1,"user_id":"alice","#;
    assert_prints(&folder, &json, 0, part);
    assert_prints(&folder, &format!("{json} --raw"), 0, r#"#000042","bucket":1,"fields":{"#);
}

#[test]
fn a_table_of_no_rows_says_so() {
    let folder = Folder::new("no-rows");
    let scan = "keyderive scan users --where id=99";
    assert_prints(&folder, &format!("{scan} 2> /dev/null; echo end"), 0, "end\n");
    assert_prints(&folder, scan, 0, "note: no rows\n");
    assert_prints(&folder, "keyderive scan drafts --raw", 0, "note: no rows\n");
    assert_eq!(folder.shell(&format!("{scan} --format json")), (String::new(), 0));
}

#[test]
fn columns_that_are_not_declared_are_counted() {
    let folder = Folder::new("others");
    fs::write(folder.path().join("other.json"), tables::user_layouts()).unwrap();
    let verify = "keyderive verify users --layouts other.json";
    let part = "5 rows read: all belong here; 3 rows have columns that the row type does not declare\n";
    assert_prints(&folder, verify, 0, part);
}

/// Errors of the library name calls of Rust, which the command has not.
#[test]
fn sessions_have_no_words_of_rust() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/command.md")).unwrap();
    let sessions = page.split("```console").skip(1).filter_map(|rest| rest.split("```").next());
    for line in sessions.flat_map(str::lines) {
        for word in ["#[", "`Option`", "Client::", "Change::", "()`", "(…)`"] {
            assert!(!line.contains(word), "{word}: {line}");
        }
    }
}

#[test]
fn csv_of_tablets_has_numbers() {
    let folder = Folder::new("numbers");
    assert_prints(
        &folder,
        "keyderive tablets events --format csv",
        0,
        "from,until,bytes,percent\nstart of table,bucket 1,0,0\nbucket 1,bucket 2,3080,100\n",
    );
}

#[test]
fn paragraphs_of_help_are_broken_once() {
    let folder = Folder::new("help");
    for command in ["delete", "import", "apply", "export", "verify"] {
        let (help, _) = folder.shell(&format!("keyderive {command} --help"));
        let about: Vec<_> = help.lines().take_while(|line| !line.starts_with("Usage:")).collect();
        // A line ends where the next word does not fit.
        for pair in about.windows(2) {
            let [line, next] = pair else { continue };
            if line.is_empty() || next.is_empty() || line.starts_with("    ") {
                continue;
            }
            let word = next.split(' ').next().unwrap();
            assert!(line.chars().count() + 1 + word.chars().count() > 100, "{command}: {line}\n{next}");
        }
        assert!(help.contains("Write `field=value`") == ["delete", "export"].contains(&command), "{command}");
    }
    assert_prints(&folder, "keyderive delete events --yes", 2, "--where <CONDITION>");
}
