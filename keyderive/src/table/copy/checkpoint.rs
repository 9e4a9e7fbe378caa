//! How far a copy is, as a file.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::client::Error;
use crate::table::transfer::{PartsLeft, Versioned};

/// Reads a checkpoint; none if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<PartsLeft>, Error> {
    let fault = |what: &dyn std::fmt::Display| {
        Error::configuration(format!("the checkpoint `{}` cannot be read: {what}", path.display()))
    };
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| fault(&error))?,
    };
    let stored: Versioned<PartsLeft> = serde_json::from_slice(&text).map_err(|error| fault(&error))?;
    stored.read().map(Some).map_err(|version| fault(&format_args!("it {version}")))
}

/// Stores a checkpoint: in a file beside it that then gets its name, so that a crash leaves the one before.
pub(super) fn store(path: &Path, checkpoint: PartsLeft) -> io::Result<()> {
    let mut next = OsString::from(path);
    next.push(".next");
    let next = PathBuf::from(next);
    let mut file = File::create(&next)?;
    file.write_all(&serde_json::to_vec(&Versioned::new(checkpoint))?)?;
    file.sync_all()?;
    fs::rename(next, path)
}
