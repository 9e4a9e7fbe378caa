//! Figures and data that stand beside the project and not in it.

use std::fs;
use std::path::PathBuf;

/// A file of the folder `shared` beside the project; none, with a word on what is skipped, where it is not.
#[must_use]
pub fn read(path: &str) -> Option<String> {
    let full: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../shared", path].iter().collect();
    match fs::read_to_string(&full) {
        Ok(text) => Some(text),
        Err(error) => {
            eprintln!("skipped: the file `{path}` of the shared figures is not there ({error})");
            None
        }
    }
}
