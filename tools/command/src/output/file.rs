//! Files that a command writes whole: nobody takes a part of one for all of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::exit::{Failure, Outcome};

/// A file that has its name only once it is [`finish`](Self::finish)ed: until then it is beside that, with `.partial` added to the name.
pub struct OutputFile {
    path: PathBuf,
    /// Where it is until then; none for what is no file, such as a pipe.
    partial: Option<PathBuf>,
    out: BufWriter<File>,
}

impl OutputFile {
    /// Creates the file; what the path has stays until the end.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path) -> Outcome<Self> {
        // The file that a link leads to, and not the link, is replaced.
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_replaced = place.metadata().map_or(true, |known| known.is_file());
        let partial = is_replaced.then(|| {
            let mut partial = OsString::from(&place);
            partial.push(".partial");
            PathBuf::from(partial)
        });
        let file = File::create(partial.as_ref().unwrap_or(&place));
        let out = BufWriter::new(file.map_err(|error| Failure::unwritten(path, &error))?);
        Ok(Self { path: place, partial, out })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If what is buffered cannot be written, or the file cannot be renamed.
    pub fn finish(mut self) -> Outcome<()> {
        let renamed = self.out.flush().and_then(|()| match &self.partial {
            Some(partial) => fs::rename(partial, &self.path),
            None => Ok(()),
        });
        renamed.map_err(|error| Failure::unwritten(&self.path, &error))
    }

    /// The failure to write it.
    pub fn unwritten(&self, error: &io::Error) -> Failure {
        Failure::unwritten(&self.path, error)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    #[test]
    fn a_file_is_replaced_once_it_is_whole() {
        let folder = env::temp_dir().join(format!("keyderive-output-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("rows.json");
        fs::write(&path, "old").unwrap();
        let mut stopped = OutputFile::create(&path).unwrap();
        stopped.write_all(b"ne").unwrap();
        stopped.flush().unwrap();
        drop(stopped);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let mut whole = OutputFile::create(&path).unwrap();
        whole.write_all(b"new").unwrap();
        whole.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        // What is no file is written, and not replaced.
        let mut device = OutputFile::create(Path::new("/dev/null")).unwrap();
        device.write_all(b"new").unwrap();
        device.finish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        fs::remove_dir_all(&folder).unwrap();
    }
}
