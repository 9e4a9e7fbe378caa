//! Google's Python client `google-cloud-bigtable`, where it is installed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::served::Served;

/// Names a Python that has the client.
const PYTHON: &str = "KEYDERIVE_PYTHON";

/// A Python that has the client; none, with a word on what is skipped, where none is named.
pub(crate) fn python() -> Option<OsString> {
    let python = env::var_os(PYTHON).filter(|python| !python.is_empty());
    if python.is_none() {
        eprintln!("skipped: `{PYTHON}` names no Python that has Google's client `google-cloud-bigtable`");
    }
    python
}

/// A script beside this file, and what it tells, line by line.
pub(crate) struct Session {
    pub(crate) script: &'static str,
    pub(crate) told: &'static str,
}

impl Session {
    pub(crate) fn run(&self, python: &OsStr, server: &Served) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/port").join(self.script);
        let output = Command::new(python)
            .arg(script)
            .env("BIGTABLE_EMULATOR_HOST", server.host())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(told.lines().eq(self.told.lines()), "told:\n{told}\nerrors:\n{errors}");
        assert!(output.status.success());
    }
}

#[test]
fn the_python_client_drives_it() {
    let Some(python) = python() else { return };
    Session { script: "session.py", told: include_str!("session.txt") }.run(&python, &Served::start());
}
