//! How far a copy is, as a file.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::client::Error;
use crate::key::TableKey;
use crate::plan::KeyRange;
use crate::table::Handle;
use crate::table::load::report::TableIdentity;
use crate::table::stored::KeyMap;

/// The version of the stored form. Later releases read it too.
const FORMAT: u32 = 1;

/// How far a copy is: the ranges of the old table that are left, and how many rows of the others were copied and left out.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    format: u32,
    old: TableIdentity,
    new: TableIdentity,
    pub(super) copied: u64,
    pub(super) left_out: u64,
    pub(super) left: Vec<KeyRange>,
}

impl Checkpoint {
    /// The checkpoint of a copy that has these ranges left. A request must have shown that both tables exist.
    pub(super) fn new<K: TableKey, R, N: TableKey, S>(
        map: &KeyMap<'_, K, R, N, S>,
        left: Vec<KeyRange>,
    ) -> Self {
        let (old, new) = (TableIdentity::of(&map.old.handle), TableIdentity::of(&map.new.handle));
        Self { format: FORMAT, old, new, copied: 0, left_out: 0, left }
    }

    /// Fails if it is of other tables or key types.
    pub(super) fn check<K: TableKey, R, N: TableKey, S>(
        &self,
        map: &KeyMap<'_, K, R, N, S>,
        path: &Path,
    ) -> Result<(), Error> {
        check_table(&self.old, &map.old.handle, path)?;
        check_table(&self.new, &map.new.handle, path)
    }
}

fn check_table(identity: &TableIdentity, table: &Handle, path: &Path) -> Result<(), Error> {
    let fault = match identity.difference(table) {
        Some(difference) => format!("is of another copy: {difference}"),
        None if identity.is_of_this(table) => return Ok(()),
        None => "is of another table of this name: this one was created since, or is in another Bigtable"
            .to_owned(),
    };
    let path = path.display();
    Err(Error::mismatch(
        &table.name,
        format!(
            "the checkpoint `{path}` {fault}; to copy from the beginning, delete the file, or name another one"
        ),
    ))
}

/// Reads a checkpoint; none if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<Checkpoint>, Error> {
    let fault = |what: &dyn std::fmt::Display| {
        Error::configuration(format!("the checkpoint `{}` cannot be read: {what}", path.display()))
    };
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| fault(&error))?,
    };
    let checkpoint: Checkpoint = serde_json::from_slice(&text).map_err(|error| fault(&error))?;
    match checkpoint.format {
        FORMAT => Ok(Some(checkpoint)),
        format => Err(fault(&format_args!(
            "it has the form {format}, and this release of keyderive reads the form {FORMAT}; resume with the release that \
             stored it"
        ))),
    }
}

/// Stores a checkpoint: in a file beside it that then gets its name, so that a crash leaves the one before.
pub(super) fn store(path: &Path, checkpoint: &Checkpoint) -> io::Result<()> {
    let mut next = OsString::from(path);
    next.push(".next");
    let next = PathBuf::from(next);
    let mut file = File::create(&next)?;
    file.write_all(&serde_json::to_vec(checkpoint)?)?;
    file.sync_all()?;
    fs::rename(next, path)
}
