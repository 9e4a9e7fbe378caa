//! Calls the compiler on generated crates, with the crates that this test is linked with.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;

/// What the programs may name.
const EXTERNS: &[(&str, &str)] = keyderive_shapes_externs::externs!();

/// A folder for generated crates.
pub(crate) struct Folder(PathBuf);

/// An error or a warning.
#[derive(Clone, Debug)]
pub(crate) struct Diagnostic {
    /// The name of the file, without its extension.
    pub(crate) file: String,
    /// The line and the column of the first character and of the one after the last, counted from 1.
    pub(crate) span: [(u64, u64); 2],
    /// As the compiler prints it.
    pub(crate) rendered: String,
}

impl Folder {
    /// An empty folder.
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }

    /// Compiles `<name>.rs`, and returns what the compiler says of it.
    pub(crate) fn compile(&self, name: &str, kind: &str, options: &[&str]) -> Vec<Diagnostic> {
        // The crates stand beside this test.
        let test = env::current_exe().unwrap();
        let crates = test.parent().unwrap();
        let mut compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        compiler.current_dir(&self.0).arg(format!("{name}.rs"));
        compiler.args(["--edition=2024", "--error-format=json", "--out-dir=.", "--crate-type", kind]);
        compiler.args(options).arg("-L").arg(format!("dependency={}", crates.display()));
        for (name, file) in EXTERNS {
            let file = crates.join(Path::new(file).file_name().unwrap());
            compiler.arg("--extern").arg(format!("{name}={}", file.display()));
        }
        let output = compiler.output().unwrap();
        let diagnostics = diagnostics(&output);
        let is_explained = output.status.success() || !diagnostics.is_empty();
        assert!(is_explained, "the compiler failed: {}", String::from_utf8_lossy(&output.stderr));
        diagnostics
    }

    /// Runs a compiled program.
    pub(crate) fn run(&self, name: &str) -> Output {
        Command::new(self.0.join(name)).current_dir(&self.0).output().unwrap()
    }
}

/// The errors and warnings with a place.
fn diagnostics(output: &Output) -> Vec<Diagnostic> {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter_map(|line| {
            let spans = line["spans"].as_array()?;
            let span = spans.iter().find(|span| span["is_primary"] == true)?;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let at = |end: &str| {
                let at = |what: &str| span[format!("{what}_{end}").as_str()].as_u64().unwrap_or_default();
                (at("line"), at("column"))
            };
            let file = text(&span["file_name"]);
            Some(Diagnostic {
                file: Path::new(&file).file_stem()?.to_str()?.to_owned(),
                span: [at("start"), at("end")],
                rendered: text(&line["rendered"]),
            })
        })
        .collect()
}
