//! Google's Python client `google-cloud-bigtable`, if it is installed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::served::Served;

/// The variable that names a Python with the client.
const PYTHON: &str = "KEYDERIVE_PYTHON";

/// The Python with the client. If none is named, prints that the test is skipped.
pub(crate) fn python() -> Option<OsString> {
    let python = env::var_os(PYTHON).filter(|python| !python.is_empty());
    if python.is_none() {
        eprintln!("skipped: `{PYTHON}` names no Python that has Google's client `google-cloud-bigtable`");
    }
    python
}

/// A script beside this file, and its expected output.
pub(crate) struct Session {
    pub(crate) script: &'static str,
    pub(crate) expected: &'static str,
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
        let printed = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(printed.lines().eq(self.expected.lines()), "printed:\n{printed}\nerrors:\n{errors}");
        assert!(output.status.success());
    }
}

#[test]
fn the_python_client_drives_it() {
    let Some(python) = python() else { return };
    Session { script: "session.py", expected: include_str!("session.txt") }.run(&python, &Served::start());
}
