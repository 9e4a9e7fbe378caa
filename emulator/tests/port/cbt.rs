//! Google's command line client `cbt`, where it is installed.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::served::Served;

/// Where packages and images install the gcloud SDK.
const SDKS: [&str; 3] = ["/usr/lib/google-cloud-sdk", "/usr/share/google-cloud-sdk", "/opt/google-cloud-sdk"];

/// `cbt` on the `PATH` or of the gcloud SDK; none, with a word on what is skipped, where there is none.
fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let named = env::var_os("CLOUDSDK_ROOT_DIR").map(PathBuf::from);
    let at_home = env::var_os("HOME").map(|home| PathBuf::from(home).join("google-cloud-sdk"));
    let sdks = SDKS.map(PathBuf::from).into_iter().chain(named).chain(at_home).map(|sdk| sdk.join("bin"));
    let found = env::split_paths(&path).chain(sdks).map(|folder| folder.join("cbt")).find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: there is no `cbt`; install it with `gcloud components install cbt`");
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

    /// What a command prints, without what is around it: rules of dashes, and the indentation.
    fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(&self.binary)
            // It asks no gcloud for credentials, which takes it seconds, when it is given some.
            .args(["-creds", "none", "-project", "p", "-instance", "i"])
            .args(arguments)
            .env("BIGTABLE_EMULATOR_HOST", self.server.host())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).unwrap();
        let lines = printed.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("---"));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn expect(&self, arguments: &[&str], printed: &str) {
        assert_eq!(self.run(arguments), printed, "printed by cbt {arguments:?}");
    }

    #[track_caller]
    fn expect_silence(&self, arguments: &[&str]) {
        self.expect(arguments, "");
    }
}

#[test]
fn tables_are_created_described_changed_and_deleted() {
    let Some(cbt) = Cbt::start() else { return };
    cbt.expect_silence(&["ls"]);
    println!("{}", cbt.run(&["createtable", "t", "families=f:maxversions=2,sum:never:intsum", "splits=c,m"]));
    println!("{}", cbt.run(&["ls"]));
    println!("{}", cbt.run(&["ls", "t"]));
    println!("{}", cbt.run(&["createfamily", "t", "g"]));
    println!("{}", cbt.run(&["setgcpolicy", "t", "g", "maxage=1d", "or", "maxversions=3"]));
    println!("{}", cbt.run(&["ls", "t"]));
    println!("{}", cbt.run(&["deletefamily", "t", "g"]));
    println!("{}", cbt.run(&["createtable", "t"]));
    println!("{}", cbt.run(&["deletetable", "t"]));
    println!("{}", cbt.run(&["deletetable", "t"]));
    println!("{}", cbt.run(&["ls"]));
}

#[test]
fn rows_are_written_read_changed_and_deleted() {
    let Some(cbt) = Cbt::start() else { return };
    cbt.run(&["createtable", "t", "families=f,g,sum:never:intsum"]);
    for arguments in [
        &["set", "t", "a", "f:q=old@1000", "f:q=new@2000", "g:r=x@1000"][..],
        &["lookup", "t", "a"],
        &["lookup", "t", "a", "cells-per-column=1", "columns=f:q"],
        &["set", "t", "b", "f:q=y@1000"],
        &["set", "t", "b", "absent:q=y@1000"],
        &["addtocell", "t", "s", "sum:n=40@1000"],
        &["addtocell", "t", "s", "sum:n=2@1000"],
        &["lookup", "t", "s"],
        &["read", "t", "reversed=true", "keys-only=true"],
        &["read", "t", "regex=a|s", "columns=f:.*"],
        &["read", "t", "prefix=b"],
        &["read", "t", "start=b", "count=1"],
        &["count", "t"],
        &["deletecolumn", "t", "a", "f", "q"],
        &["lookup", "t", "a"],
        &["deleterow", "t", "a"],
        &["count", "t"],
        &["deleteallrows", "t"],
        &["count", "t"],
    ] {
        println!("== {arguments:?}\n{}", cbt.run(arguments));
    }
}

#[test]
fn a_file_is_imported() {
    let Some(cbt) = Cbt::start() else { return };
    cbt.run(&["createtable", "t", "families=f"]);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("import.csv");
    let lines = (0..1000).map(|row| format!("row{row:04},{row}@1000\n")).collect::<String>();
    fs::write(&file, format!(",number\n{lines}")).unwrap();
    let import = ["import", "t", file.to_str().unwrap(), "column-family=f", "timestamp=value-encoded"];
    println!("== import\n{}", cbt.run(&import));
    println!("{}", cbt.run(&["count", "t"]));
    println!("{}", cbt.run(&["lookup", "t", "row0999"]));
}
