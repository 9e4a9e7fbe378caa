//! Folders for the files of a test.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// A new folder among the temporary files, deleted when dropped. Tests that run at the same time name it differently.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder.
    ///
    /// # Panics
    ///
    /// When it cannot be created.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("keyderive-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    /// Writes a file, and returns its path.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(file);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
