//! Figures and data that stand beside the project and not in it.

use std::path::PathBuf;
use std::{fs, io};

/// A file of the folder `shared` beside the project; none, with a word on what is skipped, where it is not.
#[must_use]
pub fn read(path: &str) -> Option<String> {
    read_by(path, |path| fs::read_to_string(path))
}

/// As [`read`], of a file that is not text.
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
