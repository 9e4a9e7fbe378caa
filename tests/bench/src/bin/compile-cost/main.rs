//! What keyderive costs those who build programs with it: the time that the derives add to `cargo check`, and what each table of a service adds
//! to its code and to its build.
//!
//! `cargo run -p keyderive-bench --bin compile-cost`, with a linker's `size` in the path. Dependencies are built beforehand. Times are the
//! least of several runs in turn, because other load on the machine only adds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io};

/// How many structs of a kind a crate declares.
const STRUCTS: u32 = 100;
const RUNS: usize = 5;
/// The tables of the two services that are compared.
const TABLES: [u32; 2] = [1, 8];
/// A module of a service: a table, and a handler for each kind of call.
const TABLE: &str = include_str!("table.rs");

fn main() -> io::Result<()> {
    let dir = env::temp_dir().join(format!("keyderive-compile-cost-{}", std::process::id()));
    let printed = derives(&dir).and_then(|()| tables(&dir.join("service")));
    fs::remove_dir_all(&dir)?;
    printed
}

/// Prints what the derives add to `cargo check`: a crate of keys with 6 fields, and one of rows with 6 columns, beside the same structs
/// without a derive. Without incremental compilation.
fn derives(dir: &Path) -> io::Result<()> {
    let [plain, keys, rows] = compare(dir)?;
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

/// Prints what each table adds to a service: to its unoptimised code, and to its build after an edit of one handler.
fn tables(dir: &Path) -> io::Result<()> {
    let mut measured = Vec::new();
    for tables in TABLES {
        write_service(dir, tables)?;
        cargo(dir, "build", true)?;
        let code = code_of(&dir.join("target/debug/service"))?;
        let mut least = Duration::MAX;
        for run in 0..RUNS {
            edit_a_handler(dir, run)?;
            least = least.min(cargo(dir, "build", true)?);
        }
        println!(
            "a service of {tables} tables: {} KB of unoptimised code; {} ms after an edit of a handler",
            code / 1000,
            least.as_millis()
        );
        measured.push((u64::from(tables), code, least));
    }
    if let [(few, less, fast), (many, more, slow)] = measured[..] {
        let between = many - few;
        println!(
            "each table adds {} KB and {} ms",
            more.saturating_sub(less) / between / 1000,
            slow.saturating_sub(fast).as_millis() / u128::from(between)
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
        write_structs(dir, *derived)?;
    }
    let mut least = [Duration::MAX; 3];
    for run in 0..=RUNS {
        for ((_, dir), least) in crates.iter().zip(&mut least) {
            let source = dir.join("src/lib.rs");
            fs::write(&source, fs::read(&source)?)?;
            let time = cargo(dir, "check", false)?;
            // The first run checks the dependencies too.
            if run > 0 {
                *least = time.min(*least);
            }
        }
    }
    Ok(least)
}

/// A package with 100 structs.
fn write_structs(dir: &Path, derived: Derived) -> io::Result<()> {
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
    write_package(dir, "lib.rs", &source, "default-features = false, features = [\"client\"]", "")
}

/// A program with so many tables, each a module.
fn write_service(dir: &Path, tables: u32) -> io::Result<()> {
    let (mut modules, mut calls) = (String::new(), String::new());
    for number in 0..tables {
        let declared = write!(modules, "mod table{number} {{\n{TABLE}}}\n")
            .and_then(|()| writeln!(calls, "    table{number}::run(&client).await?;"));
        debug_assert!(declared.is_ok(), "a string takes all text");
    }
    let source = format!(
        "{modules}\n#[tokio::main]\nasync fn main() -> Result<(), keyderive::Error> {{\n    \
         let client = keyderive::Client::connect(\"embedded:\").await?;\n{calls}    Ok(())\n}}\n"
    );
    let tokio = "tokio = { version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }\n\n[profile.dev]\ndebug = false\n";
    write_package(dir, "main.rs", &source, "features = [\"embedded\"]", tokio)
}

/// Another number in one handler.
fn edit_a_handler(dir: &Path, run: usize) -> io::Result<()> {
    let file = dir.join("src/main.rs");
    let source = fs::read_to_string(&file)?;
    let (before, rest) =
        source.split_once(".limit(").ok_or_else(|| io::Error::other("no handler has a limit"))?;
    let (_, after) = rest.split_once(')').ok_or_else(|| io::Error::other("a limit does not end"))?;
    fs::write(&file, format!("{before}.limit({}){after}", 100 + run))
}

fn write_package(dir: &Path, file: &str, source: &str, features: &str, more: &str) -> io::Result<()> {
    let keyderive = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../keyderive").canonicalize()?;
    fs::create_dir_all(dir.join("src"))?;
    fs::write(dir.join("src").join(file), source)?;
    // The versions of the workspace, so that nothing is downloaded.
    fs::copy(keyderive.join("../Cargo.lock"), dir.join("Cargo.lock"))?;
    let name = if file == "lib.rs" { "cost" } else { "service" };
    fs::write(
        dir.join("Cargo.toml"),
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             keyderive = {{ path = {keyderive:?}, {features} }}\n{more}"
        ),
    )
}

/// Times `cargo check` or `cargo build` of a package.
fn cargo(dir: &Path, command: &str, is_incremental: bool) -> io::Result<Duration> {
    let start = Instant::now();
    let status = Command::new(env!("CARGO"))
        .args([command, "--quiet", "--offline"])
        .current_dir(dir)
        .env("CARGO_INCREMENTAL", if is_incremental { "1" } else { "0" })
        .env("CARGO_TARGET_DIR", dir.join("target"))
        .status()?;
    let time = start.elapsed();
    if status.success() { Ok(time) } else { Err(io::Error::other(format!("`cargo {command}` failed"))) }
}

/// The bytes of a program's code.
fn code_of(program: &Path) -> io::Result<u64> {
    let output = Command::new("size").arg(program).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let code = text.lines().nth(1).and_then(|line| line.split_whitespace().next()?.parse().ok());
    code.ok_or_else(|| io::Error::other("`size` printed no number of bytes"))
}
