//! What `keyderive codegen` writes: it means the layouts that it is of, and no name of a layout is more than a name; and `keyderive layouts`.

#![allow(clippy::duplicated_attributes, reason = "key types have several salts")]

mod hostile;
mod layouts;
mod python;
mod text;
mod types;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use keyderive::layouts::Layouts;

/// A layout file in a folder of this test.
fn file(name: &str, layouts: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, layouts).unwrap();
    path
}

/// Runs `keyderive codegen` on these layouts.
fn codegen(name: &str, layouts: &str, arguments: &[&str]) -> Output {
    let path = file(name, layouts);
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyderive"));
    command.arg("codegen").arg("--layouts").arg(path).args(arguments).output().unwrap()
}

/// The output, with the exit code and what was said.
fn written(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// `KEYDERIVE_BLESS=1` writes the file.
fn is_as_committed(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/codegen").join(path);
    if std::env::var_os("KEYDERIVE_BLESS").is_some() {
        return fs::write(path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "`{}` is not what is generated; write it by KEYDERIVE_BLESS=1",
        path.display()
    );
}

#[test]
fn a_table_that_the_file_lacks_is_refused() {
    let layouts = Layouts::new().table::<types::EventKey, types::Event>("events").to_json();
    let (code, _, said) = written(&codegen("alone.json", &layouts, &["--sql", "event"]));
    assert_eq!(code, 3);
    assert!(said.contains("there is no table `event`; the tables are `events`"), "{said}");
}

/// The functions of a key that only the program encodes are left out.
#[test]
fn what_layouts_do_not_say_is_said() {
    let layouts = Layouts::new().table::<types::HostKey, ()>("hosts").to_json();
    let (code, text, said) = written(&codegen("custom.json", &layouts, &["--python"]));
    assert_eq!(code, 1);
    let gap = "table `hosts`: the field `address` of `HostKey` is written by `hex_address`, which Python does not encode";
    assert!(
        said.contains(gap) && text.contains(&format!("# {gap}")) && !text.contains("def encode"),
        "{text}"
    );
}
