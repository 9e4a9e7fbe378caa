//! What the derive adds to `cargo check`: a crate of 100 keys with 6 fields, compared with the same structs without
//! it.
//!
//! `cargo run -p keyderive-bench --bin compile-cost`. Dependencies are checked beforehand, and only the crate is
//! timed, without incremental compilation. The variants run several times in turn, and the least time counts, because
//! other load on the machine only adds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints, and fails by a panic"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, io};

const KEYS: u32 = 100;
const RUNS: usize = 5;

fn main() -> io::Result<()> {
    let dir = env::temp_dir().join(format!("keyderive-compile-cost-{}", std::process::id()));
    let cost = compare(&dir);
    fs::remove_dir_all(&dir)?;
    let [plain, derived] = cost?;
    println!("{KEYS} plain structs of 6 fields: {} ms", plain.as_millis());
    println!("{KEYS} derived keys of 6 fields: {} ms", derived.as_millis());
    let ratio = derived.as_secs_f64() / plain.as_secs_f64();
    let added = derived.saturating_sub(plain) / KEYS;
    println!("the derive adds {added:.1?} for each key: {ratio:.0} x the time of the plain structs");
    Ok(())
}

/// The least time to check a crate of plain structs, and one of keys.
fn compare(dir: &Path) -> io::Result<[Duration; 2]> {
    let crates = [dir.join("plain"), dir.join("derived")];
    write_crate(&crates[0], "")?;
    write_crate(&crates[1], "#[derive(keyderive::RowKey)]\n#[salt(range = 4, over = \"user_id,site\")]\n")?;
    let mut least = [Duration::MAX; 2];
    for run in 0..=RUNS {
        for (dir, least) in crates.iter().zip(&mut least) {
            let time = check(dir)?;
            // The first run checks the dependencies too.
            if run > 0 {
                *least = time.min(*least);
            }
        }
    }
    Ok(least)
}

/// A package with 100 structs, each after `attributes`; the attributes on the fields need the derive.
fn write_crate(dir: &Path, attributes: &str) -> io::Result<()> {
    let keyderive = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../keyderive").canonicalize()?;
    let on_field = |attribute| if attributes.is_empty() { "" } else { attribute };
    let (reverse_ts, pad) = (on_field("#[reverse_ts] "), on_field("#[pad(6)] "));
    let mut source = String::new();
    for key in 0..KEYS {
        let declared = writeln!(
            source,
            "{attributes}pub struct Key{key} {{ pub user_id: String, pub site: String, {reverse_ts}pub at: u64, \
             {pad}pub seq: u32, pub level: i16, pub name: String }}"
        );
        debug_assert!(declared.is_ok(), "a string takes all text");
    }
    fs::create_dir_all(dir.join("src"))?;
    fs::write(dir.join("src/lib.rs"), source)?;
    fs::write(
        dir.join("Cargo.toml"),
        format!(
            "[package]\nname = \"cost\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             keyderive = {{ path = {keyderive:?}, default-features = false }}\n"
        ),
    )
}

/// Times `cargo check` of the package after its source was touched.
fn check(dir: &Path) -> io::Result<Duration> {
    let source = dir.join("src/lib.rs");
    fs::write(&source, fs::read(&source)?)?;
    let start = Instant::now();
    let status = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--offline"])
        .current_dir(dir)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TARGET_DIR", dir.join("target"))
        .status()?;
    let time = start.elapsed();
    if status.success() { Ok(time) } else { Err(io::Error::other("`cargo check` failed")) }
}
