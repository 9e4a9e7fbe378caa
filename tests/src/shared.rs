//! Figures and data next to the project, but not part of it.

use std::path::PathBuf;
use std::{fs, io};

/// Reads a file of the folder `shared` next to the project. Without the file, prints that it is skipped and returns
/// `None`.
#[must_use]
pub fn read(path: &str) -> Option<String> {
    read_by(path, |path| fs::read_to_string(path))
}

/// Reads a file that is not text, as [`read`] does.
#[must_use]
pub fn read_bytes(path: &str) -> Option<Vec<u8>> {
    read_by(path, |path| fs::read(path))
}

fn read_by<T>(path: &str, read: impl Fn(&PathBuf) -> io::Result<T>) -> Option<T> {
    let full: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../shared", path].iter().collect();
    match read(&full) {
        Ok(content) => Some(content),
        Err(error) => {
            eprintln!("skipped: the file `{path}` of the shared figures is not there ({error})");
            None
        }
    }
}
