//! What the command prints: records as tables, lines of JSON or CSV, and text that no terminal obeys.

mod meter;
mod records;
mod safe;

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write as _};

use anstyle::{AnsiColor, Style};

pub(crate) use self::meter::Meter;
pub(crate) use self::records::{Format, Records, TextFormat};
pub(crate) use self::safe::{Safe, json_line};

/// The standard output, locked and buffered. [`finish`](Self::finish) it: what is dropped is not checked.
pub(crate) struct Out(BufWriter<StdoutLock<'static>>);

impl Out {
    pub(crate) fn new() -> Self {
        Self(BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }

    /// Writes what is buffered.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl io::Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn say(label: &str, style: Style, message: impl fmt::Display) {
    // A standard error that is closed is no reason to fail.
    let _ = writeln!(anstream::stderr(), "{style}{label}:{style:#} {message}");
}

/// Says why the command failed. The text is safe.
pub(crate) fn error(message: impl fmt::Display) {
    say("error", AnsiColor::Red.on_default().bold(), message);
}

/// Says what the output does not show, such as where a layout is from.
pub(crate) fn note(message: impl fmt::Display) {
    say("note", AnsiColor::Cyan.on_default().bold(), Safe(&message.to_string()));
}

/// A number of things in words: `1 row is`, `2 rows are`.
pub(crate) fn rows_are(rows: u64) -> String {
    if rows == 1 { "1 row is".to_owned() } else { format!("{rows} rows are") }
}
