//! Google's Python client `google-cloud-bigtable`, where it is installed.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::served::Served;

/// Names a Python that has the client.
const PYTHON: &str = "KEYDERIVE_PYTHON";

/// What the session tells, line by line.
const TOLD: &str = include_str!("session.txt");

#[test]
fn the_python_client_drives_it() {
    let Some(python) = env::var_os(PYTHON).filter(|python| !python.is_empty()) else {
        eprintln!("skipped: `{PYTHON}` names no Python that has Google's client `google-cloud-bigtable`");
        return;
    };
    let server = Served::start();
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/port/session.py");
    let output = Command::new(python)
        .arg(session)
        .env("BIGTABLE_EMULATOR_HOST", server.host())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(told.lines().eq(TOLD.lines()), "told:\n{told}\nerrors:\n{errors}");
    assert!(output.status.success());
}
