//! How bytes of a key are shown to a person.

use std::fmt::{self, Write as _};

/// Bytes as text where they are text, with everything else escaped as `\xNN`.
///
/// A back-slash is shown doubled, so that what is printed stands for one sequence of bytes only.
#[derive(Clone, Copy)]
pub(crate) struct Readable<'a>(pub(crate) &'a [u8]);

impl Readable<'_> {
    /// Whether nothing is escaped, so that the text is the bytes.
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

/// Bytes in hexadecimal, two lower-case digits each.
#[derive(Clone, Copy)]
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// How many bytes of a key an error shows: enough to find it, short enough to read.
const SHOWN: usize = 160;

/// A row key as errors show it: as text, in hexadecimal too where the text has escapes, cut where it is long.
#[derive(Clone, Copy)]
pub(crate) struct ShownKey<'a>(pub(crate) &'a [u8]);

impl fmt::Display for ShownKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(key) = self;
        let Some(start) = beginning(key) else {
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

/// As much of a long key as is shown, without a character that the cut is in.
fn beginning(key: &[u8]) -> Option<&[u8]> {
    let start = key.get(..SHOWN).filter(|start| start.len() < key.len())?;
    Some(match str::from_utf8(start) {
        Err(cut) if cut.error_len().is_none() => &start[..cut.valid_up_to()],
        _ => start,
    })
}

/// One byte as a reader knows it: the character where it has one, and its number always.
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
    fn verbatim_is_what_is_not_escaped() {
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
    fn long_keys_are_cut() {
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
