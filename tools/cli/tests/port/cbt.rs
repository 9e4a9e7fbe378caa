//! Google's command line client `cbt`, if it is installed.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

use keyderive_tests::left_out;

use crate::served::Served;

/// The usual directories of the gcloud SDK.
const SDKS: [&str; 3] = ["/usr/lib/google-cloud-sdk", "/usr/share/google-cloud-sdk", "/opt/google-cloud-sdk"];

/// Finds `cbt` on the `PATH` or in the gcloud SDK. If it finds neither, prints that its tests are left out.
fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let named = env::var_os("CLOUDSDK_ROOT_DIR").map(PathBuf::from);
    let at_home = env::var_os("HOME").map(|home| PathBuf::from(home).join("google-cloud-sdk"));
    let sdks = SDKS.map(PathBuf::from).into_iter().chain(named).chain(at_home).map(|sdk| sdk.join("bin"));
    let found =
        env::split_paths(&path).chain(sdks).map(|folder| folder.join("cbt")).find(|file| file.is_file());
    if found.is_none() {
        left_out("tests with `cbt` (`gcloud components install cbt` installs it)");
    }
    found
}

/// `cbt` for one server.
struct Cbt {
    binary: PathBuf,
    server: Served,
}

impl Cbt {
    fn start() -> Option<Self> {
        find().map(|binary| Self { binary, server: Served::start() })
    }

    /// The lines that a command prints, without lines of dashes, indentation and the time of log lines.
    fn run(&self, arguments: &[&str]) -> Vec<String> {
        let output = Command::new(&self.binary)
            // With these credentials, it does not call gcloud for some, which takes seconds.
            .args(["-creds", "none", "-project", "p", "-instance", "i"])
            .args(arguments)
            .env("BIGTABLE_EMULATOR_HOST", self.server.host())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let lines = printed.lines().filter(|line| !line.is_empty() && !line.starts_with("---"));
        lines.map(|line| without_time(line).split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[track_caller]
    fn expect<const N: usize>(&self, arguments: &[&str], printed: [&str; N]) {
        assert_eq!(self.run(arguments), printed, "printed by cbt {arguments:?}");
    }
}

/// Removes a prefix such as `2026/11/21 17:47:15 `.
fn without_time(line: &str) -> &str {
    let mut parts = line.splitn(3, ' ');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(date), Some(_), Some(rest)) if date.split('/').count() == 3 => rest,
        _ => line,
    }
}

#[test]
fn tables_are_created_described_changed_and_deleted() {
    let Some(cbt) = Cbt::start() else { return };
    let sum =
        r#"sum {"aggregateType":{"inputType":{"int64Type":{"encoding":{"bigEndianBytes":{}}}}, "sum":{}}}"#;
    let head = "Family Name GC Policy Value Type";
    cbt.expect(&["ls"], []);
    cbt.expect(&["createtable", "t", "families=f:maxversions=2,sum:never:intsum", "splits=c,m"], []);
    cbt.expect(&["ls"], ["t"]);
    cbt.expect(&["ls", "t"], [head, "f versions() > 2 {}", sum]);
    cbt.expect(&["createfamily", "t", "g"], []);
    cbt.expect(&["setgcpolicy", "t", "g", "maxage=1d", "or", "maxversions=3"], []);
    cbt.expect(&["ls", "t"], [head, "f versions() > 2 {}", "g (age() > 1d || versions() > 3) {}", sum]);
    cbt.expect(&["deletefamily", "t", "g"], []);
    cbt.expect(
        &["createtable", "t"],
        ["Creating table: rpc error: code = AlreadyExists desc = table `projects/p/instances/i/tables/t` already exists"],
    );
    cbt.expect(&["deletetable", "t"], []);
    cbt.expect(
        &["deletetable", "t"],
        ["Deleting table: rpc error: code = NotFound desc = table `projects/p/instances/i/tables/t` does not exist"],
    );
    cbt.expect(&["ls"], []);
}

#[test]
fn rows_are_written_read_changed_and_deleted() {
    let Some(cbt) = Cbt::start() else { return };
    let (at_1, at_2) = ("@ 1970/01/01-00:00:00.001000", "@ 1970/01/01-00:00:00.002000");
    let (new, old) = (&*format!("f:q {at_2}"), &*format!("f:q {at_1}"));
    let (other, sum) = (&*format!("g:r {at_1}"), &*format!("sum:n {at_1}"));
    cbt.expect(&["createtable", "t", "families=f,g,sum:never:intsum"], []);
    cbt.expect(&["set", "t", "a", "f:q=old@1000", "f:q=new@2000", "g:r=x@1000"], []);
    cbt.expect(&["set", "t", "b", "f:q=y@1000"], []);
    cbt.expect(&["lookup", "t", "a"], ["a", new, r#""new""#, old, r#""old""#, other, r#""x""#]);
    cbt.expect(&["lookup", "t", "a", "cells-per-column=1", "columns=f:q"], ["a", new, r#""new""#]);
    cbt.expect(
        &["set", "t", "b", "absent:q=y@1000"],
        ["Applying mutation: rpc error: code = NotFound desc = the table has no column family `absent`"],
    );
    cbt.expect(&["addtocell", "t", "s", "sum:n=40@1000"], []);
    cbt.expect(&["addtocell", "t", "s", "sum:n=2@1000"], []);
    cbt.expect(&["lookup", "t", "s"], ["s", sum, r#""\x00\x00\x00\x00\x00\x00\x00*""#]);
    cbt.expect(
        &["read", "t", "reversed=true", "cells-per-column=1", "keys-only=true"],
        ["s", sum, r#""""#, "b", old, r#""""#, "a", new, r#""""#, other, r#""""#],
    );
    cbt.expect(&["read", "t", "regex=a|s", "columns=f:.*"], ["a", new, r#""new""#, old, r#""old""#]);
    cbt.expect(&["read", "t", "prefix=b"], ["b", old, r#""y""#]);
    cbt.expect(&["read", "t", "start=b", "count=1"], ["b", old, r#""y""#]);
    cbt.expect(&["count", "t"], ["3"]);
    cbt.expect(&["deletecolumn", "t", "a", "f", "q"], []);
    cbt.expect(&["lookup", "t", "a"], ["a", other, r#""x""#]);
    cbt.expect(&["deleterow", "t", "a"], []);
    cbt.expect(&["count", "t"], ["2"]);
    cbt.expect(&["deleteallrows", "t"], []);
    cbt.expect(&["count", "t"], ["0"]);
}

#[test]
fn a_file_is_imported() {
    let Some(cbt) = Cbt::start() else { return };
    cbt.expect(&["createtable", "t", "families=f"], []);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("import.csv");
    let lines: String = (0..1000).map(|row| format!("row{row:04},{row}@1000\n")).collect();
    fs::write(&file, format!(",number\n{lines}")).unwrap();
    let import = ["import", "t", file.to_str().unwrap(), "column-family=f", "timestamp=value-encoded"];
    assert_eq!(cbt.run(&import).last().unwrap(), "Done importing 1000 rows.");
    cbt.expect(&["count", "t"], ["1000"]);
    cbt.expect(&["lookup", "t", "row0999"], ["row0999", "f:number @ 1970/01/01-00:00:00.001000", r#""999""#]);
}
