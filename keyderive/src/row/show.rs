//! Stored names and values as errors show them.

use std::fmt::{self, Display, Write};

/// Names in backticks, with commas.
pub(super) struct Names(pub(super) &'static [&'static str]);

impl Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (index, name) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{name}`")?;
        }
        Ok(())
    }
}

/// How much of a value an error shows, in bytes.
const SHOWN: usize = 32;

/// The length of a value and its first bytes in hex.
pub(super) struct ShownBytes<'a>(pub(super) &'a [u8]);

impl Display for ShownBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            0 => return f.write_str("no bytes"),
            1 => f.write_str("1 byte, `")?,
            length => write!(f, "{length} bytes, `")?,
        }
        for byte in self.0.iter().take(SHOWN) {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(ellipsis(self.0))?;
        f.write_str("`")
    }
}

/// The start of a value that is meant to be text.
pub(super) struct Excerpt<'a>(pub(super) &'a [u8]);

impl Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no bytes");
        }
        let shown = &self.0[..self.0.len().min(SHOWN)];
        write!(f, "`{}{}`", EscapedText(shown), ellipsis(self.0))
    }
}

/// Bytes as text, with escapes for what is not text or would break the line.
pub(crate) struct EscapedText<'a>(pub(crate) &'a [u8]);

impl Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for char in chunk.valid().chars() {
                if char.is_control() { write!(f, "{}", char.escape_debug())? } else { f.write_char(char)? }
            }
            write!(f, "{}", chunk.invalid().escape_ascii())?;
        }
        Ok(())
    }
}

fn ellipsis(value: &[u8]) -> &'static str {
    if value.len() > SHOWN { "…" } else { "" }
}
