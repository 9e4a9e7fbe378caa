//! What the derives add to `cargo check`: a crate of 100 keys with 6 fields, and one of 100 rows with 6 columns, compared with
//! the same structs without a derive.
//!
//! `cargo run -p keyderive-bench --bin compile-cost`. Dependencies are checked beforehand, and only the crate is
//! timed, without incremental compilation. The variants run several times in turn, and the least time counts, because
//! other load on the machine only adds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, io};

const STRUCTS: u32 = 100;
const RUNS: usize = 5;

fn main() -> io::Result<()> {
    let dir = env::temp_dir().join(format!("keyderive-compile-cost-{}", std::process::id()));
    let cost = compare(&dir);
    fs::remove_dir_all(&dir)?;
    let [plain, keys, rows] = cost?;
    println!("{STRUCTS} plain structs of 6 fields: {} ms", plain.as_millis());
    for (what, derived) in [("key of 6 fields", keys), ("row of 6 columns", rows)] {
        let ratio = derived.as_secs_f64() / plain.as_secs_f64();
        let added = derived.saturating_sub(plain) / STRUCTS;
        println!(
            "{STRUCTS} times a {what}: {} ms; the derive adds {added:.1?} for each: {ratio:.0} x the time of the plain structs",
            derived.as_millis()
        );
    }
    Ok(())
}

/// What the structs of a crate derive.
#[derive(Clone, Copy, PartialEq)]
enum Derived {
    Nothing,
    Key,
    Row,
}

/// The least time to check each crate.
fn compare(dir: &Path) -> io::Result<[Duration; 3]> {
    let crates = [
        (Derived::Nothing, dir.join("plain")),
        (Derived::Key, dir.join("keys")),
        (Derived::Row, dir.join("rows")),
    ];
    for (derived, dir) in &crates {
        write_crate(dir, *derived)?;
    }
    let mut least = [Duration::MAX; 3];
    for run in 0..=RUNS {
        for ((_, dir), least) in crates.iter().zip(&mut least) {
            let time = check(dir)?;
            // The first run checks the dependencies too.
            if run > 0 {
                *least = time.min(*least);
            }
        }
    }
    Ok(least)
}

/// A package with 100 structs.
fn write_crate(dir: &Path, derived: Derived) -> io::Result<()> {
    let keyderive = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../keyderive").canonicalize()?;
    let on_struct = match derived {
        Derived::Nothing => "",
        Derived::Key => "#[derive(keyderive::RowKey)]\n#[salt(range = 4, over = \"user_id,site\")]\n",
        Derived::Row => "#[derive(keyderive::Row)]\n",
    };
    let on_field = |attribute| if derived == Derived::Key { attribute } else { "" };
    let (reverse_ts, pad) = (on_field("#[reverse_ts] "), on_field("#[pad(6)] "));
    let mut source = String::new();
    for number in 0..STRUCTS {
        let declared = writeln!(
            source,
            "{on_struct}pub struct Struct{number} {{ pub user_id: String, pub site: String, {reverse_ts}pub at: u64, \
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
             keyderive = {{ path = {keyderive:?}, default-features = false, features = [\"client\"] }}\n"
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
