//! Google's clients for Python, Go and Java, if they are installed. Each drives the command with the programs in its folder of
//! `clients`, and all of them print the same text.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use keyderive_tests::left_out;

use crate::served::Served;

/// A script of the folder `python`.
pub(crate) fn python(script: &str) -> Option<Command> {
    let mut command = Command::new(build_of("Python", "KEYDERIVE_PYTHON")?);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/port/clients/python").join(script));
    Some(command)
}

/// The program of the folder `go`, which takes the name of a session.
pub(crate) fn go(session: &str) -> Option<Command> {
    let mut command = Command::new(build_of("Go", "KEYDERIVE_GO_CLIENT")?);
    command.arg(session);
    Some(command)
}

/// A class of the folder `java`; the variable holds the class path.
pub(crate) fn java(class: &str) -> Option<Command> {
    let mut command = Command::new("java");
    command.arg("-Dfile.encoding=UTF-8").arg("-Dstdout.encoding=UTF-8");
    command.arg("-cp").arg(build_of("Java", "KEYDERIVE_JAVA_CLIENT")?).arg(class);
    Some(command)
}

/// The value of the variable, which `.ci/run` sets once it has built the client. Without one, prints that its tests are left out.
fn build_of(language: &str, variable: &str) -> Option<OsString> {
    let build = env::var_os(variable).filter(|build| !build.is_empty());
    if build.is_none() {
        left_out(&format!(
            "Google's {language} client, of which `{variable}` names no build (`.ci/run` makes one)"
        ));
    }
    build
}

/// Runs a program of a client, and compares what it prints.
pub(crate) fn run(mut client: Command, expected: &str, server: &Served) {
    client.env("BIGTABLE_EMULATOR_HOST", server.host()).stdin(Stdio::null());
    let output = client.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(printed.lines().eq(expected.lines()), "printed:\n{printed}\nerrors:\n{errors}");
    assert!(output.status.success(), "{errors}");
}

const SESSION: &str = include_str!("clients/session.txt");

#[test]
fn the_python_client_drives_it() {
    let Some(client) = python("session.py") else { return };
    run(client, SESSION, &Served::start());
}

#[test]
fn the_newer_python_client_drives_it() {
    let Some(client) = python("newer.py") else { return };
    run(client, include_str!("clients/python/newer.txt"), &Served::start());
}

#[test]
fn the_go_client_drives_it() {
    let Some(client) = go("session") else { return };
    run(client, SESSION, &Served::start());
}

#[test]
fn the_java_client_drives_it() {
    let Some(client) = java("Session") else { return };
    run(client, SESSION, &Served::start());
}
