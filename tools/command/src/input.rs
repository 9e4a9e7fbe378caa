//! The text that a command is given, in files and on standard input: UTF-8, with or without a byte order mark.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Why an input that is not UTF-8 is refused.
const NOT_UTF8: &str = "it is text in UTF-16 or UTF-32, and this command reads UTF-8: save it as UTF-8, or convert it by `iconv -f UTF-16 -t \
                        UTF-8`";

/// The encoding is known after at most this many bytes.
const PREFIX_LEN: usize = 4;

/// Text that is read without the byte order mark that it may begin with.
///
/// Text in UTF-16 and UTF-32 is an error of the kind [`InvalidData`](io::ErrorKind::InvalidData): read as UTF-8, its names and values would
/// be others.
#[derive(Debug)]
pub struct Text<R> {
    input: R,
    prefix: [u8; PREFIX_LEN],
    /// The bytes of `prefix` that were read from the input and are not yet returned.
    unread: std::ops::Range<usize>,
    is_detected: bool,
    /// Whether the input may have bytes that are not text.
    may_be_bytes: bool,
}

/// The encoding of a text, by its first bytes.
enum Encoding {
    /// The next byte decides.
    Undecided,
    /// UTF-8, after a mark of this many bytes.
    Utf8 {
        mark_len: usize,
    },
    Other,
}

impl Encoding {
    fn of(prefix: &[u8]) -> Self {
        let is_printed = |byte: u8| (b' '..0x7f).contains(&byte) || byte.is_ascii_whitespace();
        match *prefix {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 0, 0xfe, 0xff, ..] => Self::Other,
            [0xef, 0xbb, 0xbf, ..] => Self::Utf8 { mark_len: 3 },
            // Without a mark, ASCII in UTF-16 has a zero beside each character.
            [0, one, 0, other, ..] | [one, 0, other, 0, ..] if is_printed(one) && is_printed(other) => {
                Self::Other
            }
            [] | [0 | 0xff | 0xfe | 0xef] | [0xef, 0xbb] | [0, 0] | [0, 0, 0xfe] => Self::Undecided,
            [one] | [0, one] | [0, one, 0] | [one, 0] if is_printed(one) => Self::Undecided,
            [one, 0, other] if is_printed(one) && is_printed(other) => Self::Undecided,
            _ => Self::Utf8 { mark_len: 0 },
        }
    }
}

/// The error of text that is not UTF-8.
#[must_use]
pub fn not_utf8() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, NOT_UTF8)
}

/// Whether the first line of an input, which is not a value that was expected there, is ASCII in UTF-16 or UTF-32.
#[must_use]
pub fn is_other_encoding(line: &[u8]) -> bool {
    line.contains(&0) && matches!(Encoding::of(line), Encoding::Other)
}

impl<R: Read> Text<R> {
    /// Reads nothing yet.
    pub fn new(input: R) -> Self {
        Self { input, prefix: [0; PREFIX_LEN], unread: 0..0, is_detected: false, may_be_bytes: false }
    }

    /// Text beside bytes that may begin as UTF-16 does: it is not refused. The caller asks [`is_other_encoding`] about a first line that
    /// it cannot read.
    pub fn or_bytes(input: R) -> Self {
        Self { may_be_bytes: true, ..Self::new(input) }
    }

    /// Reads only the bytes that decide how the text is encoded, since a person who types a line waits for its answer.
    fn detect(&mut self) -> io::Result<()> {
        while !self.is_detected {
            let mark_len = match Encoding::of(&self.prefix[..self.unread.end]) {
                Encoding::Other if self.may_be_bytes => Some(0),
                Encoding::Other => return Err(not_utf8()),
                Encoding::Utf8 { mark_len } => Some(mark_len),
                Encoding::Undecided => None,
            };
            let read = match mark_len {
                Some(_) => 0,
                None => self.input.read(&mut self.prefix[self.unread.end..=self.unread.end])?,
            };
            self.unread.end += read;
            if read == 0 {
                self.unread.start = mark_len.unwrap_or_default();
                self.is_detected = true;
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Text<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.detect()?;
        if self.unread.is_empty() {
            return self.input.read(buffer);
        }
        let read = (&self.prefix[self.unread.clone()]).read(buffer)?;
        self.unread.start += read;
        Ok(read)
    }
}

/// The text of a file, or of standard input for `-`.
pub fn open(path: &Path) -> io::Result<Text<Box<dyn Read + Send>>> {
    let input: Box<dyn Read + Send> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path)?),
    };
    Ok(Text::new(input))
}

/// The whole text of a file.
pub fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    Text::new(File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns at most this many bytes a call.
    struct Pieces<'a> {
        bytes: &'a [u8],
        most: usize,
        asked: usize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.asked += 1;
            let most = buffer.len().min(self.most);
            self.bytes.read(&mut buffer[..most])
        }
    }

    fn text(bytes: &[u8], most: usize) -> io::Result<Vec<u8>> {
        let mut read = Vec::new();
        Text::new(Pieces { bytes, most, asked: 0 }).read_to_end(&mut read).map(|_| read)
    }

    fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    #[test]
    fn the_mark_is_left_out_however_it_is_read() {
        for plain in
            ["", "i", "\n", "id", "id,name\n", "\u{e9}\n", "{\"a\":1}", "\u{ffff}x", "1#a", "a\0", "\0\0\0"]
        {
            for most in 1..6 {
                assert_eq!(text(plain.as_bytes(), most).unwrap(), plain.as_bytes(), "{plain:?}");
                let marked = format!("\u{feff}{plain}");
                assert_eq!(text(marked.as_bytes(), most).unwrap(), plain.as_bytes(), "{plain:?}");
            }
        }
        // A truncated mark is not a mark.
        for start in [&b"\xef"[..], b"\xef\xbb", b"\xef\xbb\xbe", b"\xff", b"\xfe", b"\xfd\xff", b"\0a\0\x01"]
        {
            assert_eq!(text(start, 1).unwrap(), start);
        }
    }

    #[test]
    fn utf16_is_refused() {
        for plain in ["id,name\n1,a\n", "{\"id\":1}", "[]", "id"] {
            for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                let marked = utf16(&format!("\u{feff}{plain}"), to_bytes);
                for most in 1..6 {
                    for bytes in [&marked[..], &marked[2..]] {
                        let error = text(bytes, most).unwrap_err();
                        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                        assert!(error.to_string().contains("convert it by `iconv"), "{error}");
                    }
                }
            }
        }
        for mark in [&b"\xff\xfe\0\0i\0\0\0"[..], b"\0\0\xfe\xff\0\0\0i"] {
            assert!(text(mark, 3).is_err());
        }
    }

    /// Bytes that begin as a mark of UTF-16 are returned, and only lines with zeros are text in it.
    #[test]
    fn bytes_may_begin_as_utf16_does() {
        for bytes in [&b"\xff\xfe1\x01\n"[..], b"\xfe\xff", b"\0\0\xfe\xff", b"1\0a\0"] {
            for most in 1..6 {
                let mut read = Vec::new();
                Text::or_bytes(Pieces { bytes, most, asked: 0 }).read_to_end(&mut read).unwrap();
                assert_eq!(read, bytes);
            }
        }
        for bytes in [&b"\xff\xfe1\x01"[..], b"\xfe\xff", b"\xff\xfe", b"1#a", b"a\0\x01\0", b""] {
            assert!(!is_other_encoding(bytes), "{bytes:?}");
        }
        for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let marked = utf16("\u{feff}1#a", to_bytes);
            assert!(is_other_encoding(&marked) && is_other_encoding(&marked[2..]));
        }
    }

    #[test]
    fn a_short_line_waits_for_nothing() {
        let mut pieces = Pieces { bytes: b"a\n", most: 2, asked: 0 };
        let mut buffer = [0; 16];
        assert_eq!(Text::new(&mut pieces).read(&mut buffer).unwrap(), 2);
        assert_eq!(pieces.asked, 2);
    }
}
