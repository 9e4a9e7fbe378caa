//! The generated half of `keyderive/src/wire/` is what its protos say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PROTOS: [&str; 3] = ["values.proto", "data.proto", "admin.proto"];

/// What makes the checked-in files anew.
const REGENERATE: &str = "KEYDERIVE_BLESS=1 cargo test -p keyderive-tests --test wire";

#[test]
fn generated_code_is_current() {
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("../keyderive/src/wire");
    let checked_in = wire.join("generated");
    let scratch = Scratch::new();
    generate(&wire.join("proto"), &scratch.0);
    let fresh = read_files(&scratch.0);

    if std::env::var_os("KEYDERIVE_BLESS").is_some() {
        fs::remove_dir_all(&checked_in).unwrap();
        fs::create_dir(&checked_in).unwrap();
        for (name, text) in &fresh {
            fs::write(checked_in.join(name), text).unwrap();
        }
    }

    let stale = read_files(&checked_in);
    let names: Vec<_> = fresh.keys().chain(stale.keys()).collect();
    for name in names {
        assert!(
            fresh.get(name) == stale.get(name),
            "`keyderive/src/wire/generated/{name}` is not what `keyderive/src/wire/proto` says; run `{REGENERATE}`"
        );
    }
}

/// Writes one Rust file for each package of the protos in `protos`.
fn generate(protos: &Path, out: &Path) {
    let descriptors = protox::compile(PROTOS, [protos]).unwrap();
    tonic_prost_build::configure()
        .out_dir(out)
        .bytes(".")
        .btree_map(".")
        .build_transport(false)
        .server_mod_attribute(".", "#[cfg(feature = \"embedded\")]")
        .emit_rerun_if_changed(false)
        .compile_fds(descriptors)
        .unwrap();
}

fn read_files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect()
}

/// A folder of this process, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("keyderive-wire-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
