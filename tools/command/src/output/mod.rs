//! What the command prints: records as tables, lines of JSON or CSV, and text that no terminal obeys.

mod file;
mod meter;
mod records;
mod safe;

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write as _};

use anstyle::{AnsiColor, Style};

pub use self::file::OutputFile;
pub use self::meter::Meter;
pub use self::records::{Format, Records, TextFormat, of_csv};
pub use self::safe::{Safe, json_line, write_safe_json};

/// The standard output, locked and buffered. [`finish`](Self::finish) it: what is dropped is not checked.
pub struct Out(BufWriter<StdoutLock<'static>>);

impl Out {
    /// Locks the standard output.
    pub fn new() -> Self {
        Self(BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }

    /// Writes what is buffered.
    pub fn finish(mut self) -> io::Result<()> {
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
pub fn error(message: impl fmt::Display) {
    say("error", AnsiColor::Red.on_default().bold(), message);
}

/// Says what the output does not show, such as where a layout is from.
pub fn note(message: impl fmt::Display) {
    say("note", AnsiColor::Cyan.on_default().bold(), Safe(&message.to_string()));
}

/// Writes lines, each without what a terminal would obey.
pub fn write_safe(out: &mut Out, text: &str) -> io::Result<()> {
    text.lines().try_for_each(|line| writeln!(out, "{}", Safe(line.trim_end())))
}

/// Writes a picture, which is made with colours if the output is a terminal that has them. Only the escapes of colours are kept.
pub fn drawn(out: &mut Out, picture: impl FnOnce(bool) -> String) -> io::Result<()> {
    let has_colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let text = picture(has_colours);
    if !has_colours {
        return write_safe(out, &text);
    }
    for line in text.lines() {
        let mut parts = line.split("\x1b[");
        write!(out, "{}", Safe(parts.next().unwrap_or_default()))?;
        for part in parts {
            let end = part.find(|char: char| !matches!(char, '0'..='9' | ';')).unwrap_or(part.len());
            match part[end..].strip_prefix('m') {
                Some(rest) => write!(out, "\x1b[{}m{}", &part[..end], Safe(rest))?,
                None => write!(out, "\\x1b[{}", Safe(part))?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A number with its noun.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A number of things in words: `1 row is`, `2 rows are`.
pub fn rows_are(rows: u64) -> String {
    if rows == 1 { "1 row is".to_owned() } else { format!("{rows} rows are") }
}
