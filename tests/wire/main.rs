//! The generated code of keyderive-proto and of the test proxy matches its protos.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use keyderive_proto::Rpc;
use tonic_prost_build::Builder;

/// Regenerates the checked-in files.
const REGENERATE: &str = "KEYDERIVE_BLESS=1 cargo test -p keyderive-wire-tests";

#[test]
fn generated_code_is_current() {
    let options = tonic_prost_build::configure()
        .build_client(false)
        .btree_map(".")
        .extern_path(".google.bigtable.v2.RowsMessage", "crate::RowsMessage")
        .server_mod_attribute(".", "#[cfg(feature = \"server\")]");
    compare(
        "crates/proto/src/generated",
        options,
        &["values.proto", "data.proto", "admin.proto"],
        &[root().join("crates/proto/proto")],
    );
}

#[test]
fn the_list_of_rpcs_is_that_of_the_services() {
    let files = read_files(&root().join("crates/proto/src/generated"));
    let text: String = files.into_values().collect();
    let mut generated: Vec<&str> =
        text.split('"').filter(|quoted| quoted.starts_with("/google.bigtable.")).collect();
    let mut listed: Vec<&str> = Rpc::ALL.iter().map(|rpc| rpc.path()).collect();
    generated.sort_unstable();
    generated.dedup();
    listed.sort_unstable();
    assert_eq!(listed, generated);
}

#[test]
fn generated_code_of_the_test_proxy_is_current() {
    let options = tonic_prost_build::configure()
        .extern_path(".google.bigtable.v2", "::keyderive_proto::data")
        .extern_path(".google.bigtable.admin.v2", "::keyderive_proto::admin")
        .extern_path(".keyderive.values", "::keyderive_proto::values");
    compare(
        "tests/proxy/src/generated",
        options,
        &["test_proxy.proto"],
        &[root().join("tests/proxy/proto"), root().join("crates/proto/proto")],
    );
}

/// Compares the files of a folder with the code generated from `protos`, or replaces them.
fn compare(checked_in: &str, options: Builder, protos: &[&str], includes: &[PathBuf]) {
    let scratch = Scratch::new(protos[0]);
    generate(options, protos, includes, &scratch.0);
    let fresh = read_files(&scratch.0);
    let folder = root().join(checked_in);

    if std::env::var_os("KEYDERIVE_BLESS").is_some() {
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        for (name, text) in &fresh {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    let stale = read_files(&folder);
    let names: Vec<_> = fresh.keys().chain(stale.keys()).collect();
    for name in names {
        assert!(
            fresh.get(name) == stale.get(name),
            "`{checked_in}/{name}` is not what its proto says; run `{REGENERATE}`"
        );
    }
}

/// Writes one Rust file for each package of `protos`.
fn generate(options: Builder, protos: &[&str], includes: &[PathBuf], out: &Path) {
    let mut descriptors = protox::compile(protos, includes).unwrap();
    // Imported packages belong to another crate, with their services.
    let imported = descriptors.file.iter_mut().filter(|file| !protos.contains(&file.name()));
    imported.for_each(|file| file.service.clear());
    options
        .out_dir(out)
        .bytes(".")
        .build_transport(false)
        .emit_rerun_if_changed(false)
        .compile_fds(descriptors)
        .unwrap();
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read_files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect()
}

/// A temporary folder of this process, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("keyderive-wire-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
