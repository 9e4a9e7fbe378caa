//! Keys and their bytes for people.

use std::fmt::{self, Write as _};

/// Bytes as text; bytes that are not UTF-8 and ASCII control characters are escaped as `\xNN`, other control characters
/// as `\u{NN}`.
///
/// A backslash is doubled, so that each text stands for one sequence of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Readable<'a>(pub(crate) &'a [u8]);

impl Readable<'_> {
    /// Whether nothing is escaped.
    pub(crate) fn is_verbatim(self) -> bool {
        str::from_utf8(self.0)
            .is_ok_and(|text| !text.contains(|char: char| char == '\\' || char.is_control()))
    }
}

impl fmt::Display for Readable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for char in chunk.valid().chars() {
                match char {
                    '\\' => f.write_str("\\\\")?,
                    _ if char.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(char))?,
                    _ if char.is_control() => write!(f, "{}", char.escape_unicode())?,
                    _ => f.write_char(char)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// A row key without quotes around it, so that [`RawKey::parse`](super::RawKey::parse) reads it as the same key.
///
/// As [`Readable`], but escapes the first character of a key that would read as a quote or as hexadecimal.
#[derive(Clone, Copy)]
pub(crate) struct UnquotedKey<'a>(pub(crate) &'a [u8]);

impl UnquotedKey<'_> {
    /// Whether nothing is escaped.
    pub(crate) fn is_verbatim(self) -> bool {
        Readable(self.0).is_verbatim() && !self.escapes_first()
    }

    fn escapes_first(self) -> bool {
        matches!(self.0, [b'"' | b'\'' | b'`', ..])
            || HEX_PREFIXES.iter().any(|prefix| self.0.starts_with(prefix.as_bytes()))
    }
}

impl fmt::Display for UnquotedKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [first, rest @ ..] if self.escapes_first() => write!(f, "\\x{first:02x}{}", Readable(rest)),
            key => Readable(key).fmt(f),
        }
    }
}

/// What the text of a key in hexadecimal begins with.
pub(super) const HEX_PREFIXES: [&str; 2] = ["hex ", "0x"];

/// Bytes in hexadecimal, two lower-case digits each.
#[derive(Clone, Copy)]
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// How many bytes of a key an error shows at most: enough to find it, short enough to read.
const MAX_SHOWN_LEN: usize = 160;

/// A row key as errors show it: as text, also in hexadecimal if the text has escapes, truncated if it is long.
#[derive(Clone, Copy)]
pub(crate) struct ShownKey<'a>(pub(crate) &'a [u8]);

impl fmt::Display for ShownKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(key) = self;
        let Some(start) = shown_start(key) else {
            write!(f, "`{}`", Readable(key))?;
            return if Readable(key).is_verbatim() { Ok(()) } else { write!(f, " (hex {})", Hex(key)) };
        };
        write!(f, "`{}…` (", Readable(start))?;
        if !Readable(start).is_verbatim() {
            write!(f, "hex {}…, ", Hex(start))?;
        }
        write!(f, "the first {} of {} bytes)", start.len(), key.len())
    }
}

/// The start of a long key that is shown, without a truncated character at its end.
fn shown_start(key: &[u8]) -> Option<&[u8]> {
    let start = key.get(..MAX_SHOWN_LEN).filter(|start| start.len() < key.len())?;
    Some(match str::from_utf8(start) {
        Err(cut) if cut.error_len().is_none() => &start[..cut.valid_up_to()],
        _ => start,
    })
}

/// One byte as its character, if it has one, and its number.
pub(crate) struct Byte(pub(crate) u8);

impl fmt::Display for Byte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b' ' => f.write_str("a space (0x20)"),
            byte if byte.is_ascii_graphic() => write!(f, "`{}` (0x{byte:02x})", char::from(byte)),
            byte => write!(f, "0x{byte:02x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_is_unambiguous() {
        assert_eq!(Readable("a#ü\\".as_bytes()).to_string(), "a#ü\\\\");
        assert_eq!(Readable(b"\x00\xff\n").to_string(), "\\x00\\xff\\x0a");
        assert_eq!(Readable("\u{85}".as_bytes()).to_string(), "\\u{85}");
        assert_eq!(Hex(b"\x01\xab").to_string(), "01ab");
    }

    #[test]
    fn bytes_without_escapes_are_verbatim() {
        for bytes in ["a#ü".as_bytes(), b"", b"a\\", b"\x00", b"\xff", "\u{85}".as_bytes()] {
            assert_eq!(Readable(bytes).is_verbatim(), Readable(bytes).to_string().as_bytes() == bytes);
        }
        assert!(Readable("a#ü".as_bytes()).is_verbatim() && !Readable(b"a\\").is_verbatim());
    }

    #[test]
    fn a_key_is_shown_once_unless_its_text_has_escapes() {
        assert_eq!(ShownKey(b"a#").to_string(), "`a#`");
        assert_eq!(ShownKey("ü".as_bytes()).to_string(), "`ü`");
        assert_eq!(ShownKey(b"").to_string(), "``");
        assert_eq!(ShownKey(b"a\0").to_string(), "`a\\x00` (hex 6100)");
        assert_eq!(ShownKey(b"a\\").to_string(), "`a\\\\` (hex 615c)");
    }

    #[test]
    fn long_keys_are_truncated() {
        let long = ShownKey(&[b'a'; 4097]).to_string();
        assert_eq!(long, format!("`{}…` (the first 160 of 4097 bytes)", "a".repeat(160)));
        let key = "üüü".repeat(40);
        let whole = ShownKey(key.as_bytes()).to_string();
        assert_eq!(whole, format!("`{}…` (the first 160 of 240 bytes)", "ü".repeat(80)));
        let key = format!("a{}", "ü".repeat(90));
        let cut = ShownKey(key.as_bytes()).to_string();
        assert_eq!(cut, format!("`a{}…` (the first 159 of 181 bytes)", "ü".repeat(79)));
        let long = ShownKey(&[0xff; 4097]).to_string();
        assert!(long.len() < 1200 && long.ends_with("…, the first 160 of 4097 bytes)"), "{long}");
        assert!(long.contains("` (hex ffff"), "{long}");
    }
}
