//! The file of `--resume`: how far a command is, and which command that was.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::exit::{Failure, Outcome};
use crate::input;

/// The version of the file.
const FORMAT: u32 = 1;

/// A file of `--resume`; without one, nothing is kept.
pub(crate) struct ResumeFile {
    path: Option<PathBuf>,
    command: &'static str,
    /// The arguments that a command must have to go on.
    arguments: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct Stored<S, C> {
    format: u32,
    command: C,
    arguments: Map<String, Value>,
    state: S,
}

impl ResumeFile {
    /// Reads how far the command is, if the file exists.
    ///
    /// # Errors
    /// If the file is of another command, or of other arguments.
    pub(crate) fn open<S: DeserializeOwned>(
        path: Option<&Path>,
        command: &'static str,
        arguments: &impl Serialize,
    ) -> Outcome<(Self, Option<S>)> {
        let arguments = match serde_json::to_value(arguments).map_err(Failure::failed)? {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let file = Self { path: path.map(Path::to_owned), command, arguments };
        let Some(path) = path else { return Ok((file, None)) };
        let refused = |fault: &dyn std::fmt::Display| {
            Failure::refused(format_args!("`--resume {}`: {fault}", path.display()))
        };
        let text = match input::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((file, None)),
            text => text.map_err(|error| refused(&error))?,
        };
        let stored: Stored<S, String> = serde_json::from_str(&text)
            .map_err(|error| refused(&format_args!("it is no file of this command: {error}")))?;
        if stored.format != FORMAT {
            return Err(refused(&format_args!("it has the format {}, and not {FORMAT}", stored.format)));
        }
        if stored.command != command {
            return Err(refused(&format_args!("it is of the command `{}`", stored.command)));
        }
        let differs = |name: &&String| stored.arguments.get(*name) != file.arguments.get(*name);
        if let Some(name) = file.arguments.keys().chain(stored.arguments.keys()).find(differs) {
            let shown = |value: Option<&Value>| value.map_or("absent".to_owned(), Value::to_string);
            return Err(refused(&format_args!(
                "it is of another command: there `{name}` is {}, and here {}; go on with the same arguments, or name another file",
                shown(stored.arguments.get(name)),
                shown(file.arguments.get(name))
            )));
        }
        Ok((file, Some(stored.state)))
    }

    /// Whether there is a file.
    pub(crate) fn is_kept(&self) -> bool {
        self.path.is_some()
    }

    /// Replaces the file.
    pub(crate) fn store(&self, state: &impl Serialize) -> Outcome<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let stored =
            Stored { format: FORMAT, command: self.command, arguments: self.arguments.clone(), state };
        replace(path, &stored).map_err(|error| {
            Failure::failed(format_args!("`--resume {}` cannot be written: {error}", path.display()))
        })
    }
}

/// The file that replaces another once it is whole.
fn temporary(path: &Path) -> PathBuf {
    let mut beside = OsString::from(path);
    beside.push(".tmp");
    beside.into()
}

/// A kill leaves the file as it was, or as it will be.
fn replace(path: &Path, stored: &impl Serialize) -> io::Result<()> {
    let beside = temporary(path);
    let mut file = File::create(&beside)?;
    file.write_all(&serde_json::to_vec(stored)?)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

/// Refuses options that name one file: what the command writes to one would replace what the other has. Without a file, an option has none.
pub(crate) fn check_distinct<'a>(
    files: impl IntoIterator<Item = (&'a str, Option<&'a Path>)>,
) -> Outcome<()> {
    let mut known: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in files {
        let Some(path) = path else { continue };
        let named = [path.to_owned(), temporary(path)];
        let named = if option == "--resume" { &named[..] } else { &named[..1] };
        for path in named {
            let place = place(path);
            if let Some((other, _)) = known.iter().find(|(of, taken)| *of != option && *taken == place) {
                return Err(Failure::usage(format_args!(
                    "`{}` is the file of {other} and of {option}; name another one",
                    path.display()
                )));
            }
            known.push((option, place));
        }
    }
    Ok(())
}

/// Where a file is or would be, by any of its names.
fn place(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
