//! What `keyderive codegen` writes: it compiles, it means the layouts that it is of, and no name of a layout is more than a name; and `keyderive layouts`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::duplicated_attributes, reason = "these are tests")]

#[rustfmt::skip]
#[allow(unreachable_pub, missing_docs, dead_code, clippy::all, clippy::pedantic, reason = "it is as a program has it")]
mod generated;
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

/// The law of generated structs: their schemas are those that they were generated from, with every name.
#[test]
fn generated_structs_have_the_layouts_that_they_are_of() {
    let (layouts, defaults) = types::layouts();
    let (code, text, said) = written(&codegen("law.json", &layouts.to_json(), &["--rust"]));
    is_as_committed("generated.rs", &text);
    // All that it says is that it does not know the program's defaults.
    assert_eq!(said.matches("has a default, which layouts do not say").count(), defaults, "{said}");
    assert_eq!((code, said.lines().count()), (1, defaults), "{said}");
    let (of_generated, given) = (generated::layouts(), layouts.to_json());
    let changes: Vec<_> = of_generated.changes_from(&layouts).iter().map(ToString::to_string).collect();
    assert_eq!(changes, [""; 0]);
    assert!(of_generated.to_json() == given);
    assert!(layouts.table_names().count() > 100);
}

#[test]
fn a_table_alone_is_without_a_module() {
    let layouts = Layouts::new().table::<types::EventKey, types::Event>("events").to_json();
    let (code, text, said) = written(&codegen("alone.json", &layouts, &["--rust", "events"]));
    assert_eq!((code, said.as_str()), (0, ""));
    is_as_committed("events.rs.txt", &text);
    let (code, _, said) = written(&codegen("alone.json", &layouts, &["--rust", "event"]));
    assert_eq!(code, 3);
    assert!(said.contains("there is no table `event`; the tables are `events`"), "{said}");
}

/// A module, a type by hand and a message are of the program: the struct lacks them, and its fingerprint keeps it from compiling.
#[test]
fn what_layouts_do_not_say_is_said() {
    let layouts = Layouts::new().table::<types::HostKey, types::Custom>("hosts").to_json();
    let (code, text, said) = written(&codegen("custom.json", &layouts, &["--rust"]));
    assert_eq!(code, 1);
    for gap in [
        "the field `address` of `HostKey` is written by `hex_address`, a module or a type of the program: write it here",
        "the column `cf:color` of `Custom` is written by `hex`, a module or a type of the program: write it here",
        "the column `cf:message` of `Custom` is a message of `prost`, whose type layouts do not say: write it here",
    ] {
        assert!(text.contains(&format!("    // {gap}\n")), "{text}");
        assert!(said.contains(&format!("table `hosts`: {gap}")), "{said}");
    }
    assert!(text.contains("#[row_key(fingerprint = \""), "{text}");
    let (code, text, said) = written(&codegen("custom.json", &layouts, &["--python"]));
    assert_eq!(code, 1);
    let gap = "table `hosts`: the field `address` of `HostKey` is written by `hex_address`, which Python does not encode";
    assert!(
        said.contains(gap) && text.contains(&format!("# {gap}")) && !text.contains("def encode"),
        "{text}"
    );
}
