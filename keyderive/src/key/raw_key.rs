//! The bytes of a row key that is not decoded, and the text that they are read from.

use std::error::Error;
use std::fmt;

use super::MAX_KEY_LEN;
use super::show::{HEX_PREFIXES, UnquotedKey};

/// The bytes of a row key that is not decoded: the key of a row with a [hashed field](crate::guide::attributes#hash), or a key
/// that [`parse`](Self::parse) reads from text.
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::key::RawKey;
///
/// #[derive(RowKey, Debug, PartialEq)]
/// struct EventKey {
///     user: String,
///     at: u64,
/// }
///
/// // As an error shows it.
/// let key = RawKey::parse("`alice#00000000000000000007`")?;
/// assert_eq!(EventKey::decode(key.as_bytes())?, EventKey { user: "alice".into(), at: 7 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A table that returns one has checked its tag, salt, widths and other fields. One from text is checked for its length alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawKey(Box<[u8]>);

impl RawKey {
    #[doc(hidden)]
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self(key.into())
    }

    /// The row key as stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads the bytes of a row key from text, as errors, [`Display`](fmt::Display), `explain` and Google's `cbt` print it.
    ///
    /// ```
    /// use keyderive::key::RawKey;
    ///
    /// for text in [
    ///     r"a\x00ü",                   // `Display`, `explain`
    ///     r"`a\x00ü` (hex 6100c3bc)",  // errors
    ///     "hex 6100c3bc",              // errors, `explain`
    ///     "0x6100c3bc",
    ///     r#""a\x00ü""#,               // `cbt`, and other programs in Go
    /// ] {
    ///     assert_eq!(RawKey::parse(text)?.as_bytes(), b"a\0\xc3\xbc", "{text}");
    /// }
    /// assert_eq!(RawKey::parse("alice#7")?.as_bytes(), b"alice#7");
    /// assert_eq!(RawKey::parse(r"alice\7").unwrap_err().position(), 5);
    /// # Ok::<(), keyderive::key::ParseKeyError>(())
    /// ```
    ///
    /// The first characters of the text say how to read it:
    ///
    /// | the text begins with | it is | escapes |
    /// |---|---|---|
    /// | `hex ` or `0x` | hexadecimal: two digits a byte, in either case | |
    /// | `"` | quoted as in Go | those of Go's strings, with octal ones; and `\u{…}` |
    /// | `` ` `` or `'` | what is between the quotes; after backticks, ` (hex …)` may follow, which must be the same key | `\\`, `\xNN`, `\u{…}` |
    /// | anything else | the key | `\\`, `\xNN`, `\u{…}` |
    ///
    /// `\xNN` is a byte, and `\u{…}` a character, in hexadecimal. The closing quote is the last one, so quotes within need no escape.
    ///
    /// So some texts are not the key that they look like. A key with a backslash needs two of them. A key that begins with a
    /// quote, `hex ` or `0x` needs quotes around it, or an escape in place of its first character: `` `0xab` `` and `\x30xab`
    /// are the four bytes, and `0xab` is one byte. `Display` and `explain` print such keys so: for every key,
    /// `RawKey::parse(&key.to_string())` is the key. Spaces count everywhere, except after `hex`.
    ///
    /// # Errors
    /// For an unknown escape, a control character, such as the line break at the end of a line; a quote that is not closed;
    /// hexadecimal with another character or half a byte; a key that an error shows only the start of, with `…`; an empty key, or
    /// one of more than 4096 bytes. No text with an error is read in another way.
    pub fn parse(text: &str) -> Result<Self, ParseKeyError> {
        let key = match text.as_bytes().first() {
            Some(b'`') => in_backticks(text)?,
            Some(b'"' | b'\'') => {
                let quote = &text[..1];
                let inner =
                    text[1..].strip_suffix(quote).ok_or(ParseKeyError::at(text.len(), Fault::Unclosed))?;
                unescape(inner, 1, if quote == "\"" { Escapes::Go } else { Escapes::Own })?
            }
            _ => match HEX_PREFIXES.iter().find(|prefix| text.starts_with(**prefix)) {
                Some(prefix) => {
                    let digits = text[prefix.len()..].trim_start_matches(' ');
                    hex(digits, text.len() - digits.len())?
                }
                None => unescape(text, 0, Escapes::Own)?,
            },
        };
        match key.len() {
            0 => Err(ParseKeyError::at(0, Fault::Empty)),
            len if len > MAX_KEY_LEN => Err(ParseKeyError::at(text.len(), Fault::TooLong(len))),
            _ => Ok(Self(key.into())),
        }
    }
}

/// The key as text, which [`parse`](RawKey::parse) reads; bytes that are not UTF-8 are escaped as `\xNN`.
impl fmt::Display for RawKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        UnquotedKey(&self.0).fmt(f)
    }
}

/// Text that [`RawKey::parse`] cannot read as a row key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseKeyError {
    position: usize,
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    Empty,
    TooLong(usize),
    Unclosed,
    AfterQuote,
    Escape(Escapes),
    NoCharacter,
    Control(char),
    NoDigit,
    HalfByte,
    OtherHex,
    Truncated,
}

impl ParseKeyError {
    const fn at(position: usize, fault: Fault) -> Self {
        Self { position, fault }
    }

    /// Where in the text the fault is, in bytes from its start.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for ParseKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this text is not a row key: at byte {} ", self.position)?;
        match &self.fault {
            Fault::Empty => f.write_str("it ends with no byte; a row key has at least one"),
            Fault::TooLong(len) => write!(f, "it ends with {len} bytes; a row key has at most {MAX_KEY_LEN}"),
            Fault::Unclosed => f.write_str("it ends without the quote that it begins with"),
            Fault::AfterQuote => f.write_str("there is more after the closing quote than ` (hex …)`"),
            Fault::Escape(Escapes::Own) => f.write_str(
                "is a backslash without an escape: escapes are `\\\\`, `\\xNN` and `\\u{…}`; write a backslash twice",
            ),
            Fault::Escape(Escapes::Go) => {
                f.write_str("is a backslash that begins no escape of Go's strings; write a backslash twice")
            }
            Fault::NoCharacter => f.write_str("is the escape of a number that no character has"),
            Fault::Control(char) => write!(
                f,
                "is the control character U+{:04X}; remove it, or write it as `\\xNN` if it is a part of the key",
                u32::from(*char)
            ),
            Fault::NoDigit => f.write_str(
                "is no hexadecimal digit; if the key is the text itself, write it in single quotes, which a shell needs double quotes around",
            ),
            Fault::HalfByte => f.write_str("it ends with half a byte; hexadecimal has two digits for each byte"),
            Fault::OtherHex => f.write_str("is the hexadecimal of another key than the text before it"),
            Fault::Truncated => f.write_str("the key was truncated where it was printed; its other bytes are not known"),
        }
    }
}

impl Error for ParseKeyError {}

/// Which escapes a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escapes {
    /// The escapes that keyderive prints.
    Own,
    /// The escapes of Go's interpreted strings, and those that keyderive prints.
    Go,
}

/// A key in backticks, which its hexadecimal may follow: as an error shows it.
fn in_backticks(text: &str) -> Result<Vec<u8>, ParseKeyError> {
    const OPEN: &str = "` (";
    if let Some(inner) = text[1..].strip_suffix('`') {
        return unescape(inner, 1, Escapes::Own);
    }
    // Nothing that follows the key has a backtick.
    let close =
        text.rfind('`').filter(|close| *close > 0).ok_or(ParseKeyError::at(text.len(), Fault::Unclosed))?;
    let (inner, after) = (&text[1..close], &text[close..]);
    let Some(after) = after.strip_prefix(OPEN).and_then(|after| after.strip_suffix(')')) else {
        return Err(ParseKeyError::at(close + 1, Fault::AfterQuote));
    };
    if inner.ends_with('…') && after.ends_with(" bytes") {
        return Err(ParseKeyError::at(close - '…'.len_utf8(), Fault::Truncated));
    }
    let Some(digits) = after.strip_prefix("hex ") else {
        return Err(ParseKeyError::at(close + 1, Fault::AfterQuote));
    };
    let at = text.len() - 1 - digits.len();
    let (key, same) = (unescape(inner, 1, Escapes::Own)?, hex(digits, at)?);
    if key == same { Ok(key) } else { Err(ParseKeyError::at(at, Fault::OtherHex)) }
}

/// Reads hexadecimal digits, which begin at `at` of the text.
fn hex(digits: &str, at: usize) -> Result<Vec<u8>, ParseKeyError> {
    let mut nibbles = Vec::with_capacity(digits.len());
    for (index, char) in digits.char_indices() {
        match char.to_digit(16).and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => nibbles.push(digit),
            None if char == '…' => return Err(ParseKeyError::at(at + index, Fault::Truncated)),
            None => return Err(ParseKeyError::at(at + index, Fault::NoDigit)),
        }
    }
    let (pairs, half) = nibbles.as_chunks::<2>();
    match half {
        [] => Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect()),
        _ => Err(ParseKeyError::at(at + digits.len(), Fault::HalfByte)),
    }
}

/// Reads text with escapes, which begins at `at` of the whole text.
fn unescape(text: &str, at: usize, escapes: Escapes) -> Result<Vec<u8>, ParseKeyError> {
    let mut key = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let position = at + text.len() - rest.len();
        let error = |fault| ParseKeyError::at(position, fault);
        rest = &rest[char.len_utf8()..];
        if char.is_control() {
            return Err(error(Fault::Control(char)));
        }
        if char != '\\' {
            push(&mut key, char);
            continue;
        }
        let unknown = || error(Fault::Escape(escapes));
        let escape = rest.chars().next().ok_or_else(unknown)?;
        let number = |digits: &str, radix| {
            // `from_str_radix` takes a sign, too.
            let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
            u32::from_str_radix(digits, radix).ok().filter(|_| is_number).ok_or_else(unknown)
        };
        let digits = |from: usize, len: usize| rest.get(from..from + len).ok_or_else(unknown);
        let character = |number| char::from_u32(number).ok_or_else(|| error(Fault::NoCharacter));
        let len = match (escape, escapes) {
            ('\\', _) => {
                key.push(b'\\');
                1
            }
            ('x', _) => {
                // Two hexadecimal digits are a byte.
                key.extend(u8::try_from(number(digits(1, 2)?, 16)?).ok());
                3
            }
            ('u', _) if rest[1..].starts_with('{') => {
                let len = rest.find('}').ok_or_else(unknown)?;
                push(&mut key, character(number(&rest[2..len], 16)?)?);
                len + 1
            }
            ('u' | 'U', Escapes::Go) => {
                let len = if escape == 'u' { 4 } else { 8 };
                push(&mut key, character(number(digits(1, len)?, 16)?)?);
                1 + len
            }
            ('0'..='7', Escapes::Go) => {
                key.push(u8::try_from(number(digits(0, 3)?, 8)?).map_err(|_| unknown())?);
                3
            }
            (_, Escapes::Go) => {
                key.push(match escape {
                    'a' => 7,
                    'b' => 8,
                    't' => b'\t',
                    'n' => b'\n',
                    'v' => 11,
                    'f' => 12,
                    'r' => b'\r',
                    '"' => b'"',
                    _ => return Err(unknown()),
                });
                1
            }
            (_, Escapes::Own) => return Err(unknown()),
        };
        rest = &rest[len..];
    }
    Ok(key)
}

fn push(key: &mut Vec<u8>, char: char) {
    key.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::show::{Hex, ShownKey};
    use super::*;

    fn parsed(text: &str) -> Vec<u8> {
        RawKey::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).as_bytes().to_vec()
    }

    /// As `%q` of Go.
    fn quoted_as_go(key: &[u8]) -> String {
        let mut text = String::from("\"");
        for chunk in key.utf8_chunks() {
            for char in chunk.valid().chars() {
                match char {
                    '"' | '\\' => text.extend(['\\', char]),
                    '\u{7}' => text.push_str("\\a"),
                    '\u{8}' => text.push_str("\\b"),
                    '\u{c}' => text.push_str("\\f"),
                    '\n' => text.push_str("\\n"),
                    '\r' => text.push_str("\\r"),
                    '\t' => text.push_str("\\t"),
                    '\u{b}' => text.push_str("\\v"),
                    '\0'..' ' | '\u{7f}' => text.push_str(&format!("\\x{:02x}", u32::from(char))),
                    '\u{80}'..'\u{a0}' => text.push_str(&format!("\\u{:04x}", u32::from(char))),
                    '\u{10ffff}' => text.push_str("\\U0010ffff"),
                    _ => text.push(char),
                }
            }
            chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
        }
        text + "\""
    }

    /// Keys with every kind of byte and character that is printed or read in its own way.
    fn keys() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            any::<char>().prop_map(|char| char.to_string().into_bytes()),
            proptest::sample::select(vec![
                "\\",
                "\"",
                "'",
                "`",
                "hex ",
                "0x",
                "x",
                "a",
                "61",
                " ",
                "` (hex 61)",
                "…",
                "(",
                ")",
                "\\x41",
                "\\u{41}",
                "u{85}",
                "\u{85}",
                "\u{200b}",
                "\n",
                "\u{7f}",
                "#",
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
        ];
        proptest::collection::vec(part, 1..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn every_printed_key_is_read_as_the_same_key(key in keys()) {
            let hex = Hex(&key).to_string();
            for text in [
                RawKey::new(&key).to_string(),
                ShownKey(&key).to_string(),
                format!("hex {hex}"),
                format!("0x{hex}"),
                format!("hex {}", hex.to_uppercase()),
                quoted_as_go(&key),
            ] {
                prop_assert_eq!(&parsed(&text), &key, "{}", text);
            }
        }

        #[test]
        fn no_text_panics_and_a_position_is_in_the_text(text in "[ -~]{0,20}|\\PC{0,20}|[`\"'\\\\xu{}0-9hex …()]{0,20}") {
            match RawKey::parse(&text) {
                Ok(key) => prop_assert_eq!(parsed(&key.to_string()), key.as_bytes()),
                Err(error) => prop_assert!(text.is_char_boundary(error.position()), "{}", error),
            }
        }
    }

    #[test]
    fn what_looks_like_two_keys_is_read_by_the_rule() {
        assert_eq!(parsed("0xab"), b"\xab");
        assert_eq!(parsed("`0xab`"), b"0xab");
        assert_eq!(RawKey::new(b"0xab").to_string(), "\\x30xab");
        assert_eq!(RawKey::new(b"\"a\"").to_string(), "\\x22a\"");
        assert_eq!(parsed("`a`b`"), b"a`b");
        assert_eq!(parsed(r"\x41\u{e9}\\"), "Aé\\".as_bytes());
        assert_eq!(parsed(r#"'a"\x00'"#), b"a\"\0");
        let go = r#""\a\b\t\n\v\f\r\"\\\377\u00e9\U0001F600""#;
        assert_eq!(parsed(go), [b"\x07\x08\t\n\x0b\x0c\r\"\\\xff", "é😀".as_bytes()].concat());
        assert_eq!(parsed("`\\x00…` (hex 00e280a6)"), b"\0\xe2\x80\xa6");
        assert_eq!(parsed(" a "), b" a ");
        assert_eq!(parsed("hex   61"), b"a");
    }

    #[test]
    fn an_error_says_where_the_fault_is() {
        for (text, position, says) in [
            ("", 0, "at least one"),
            ("``", 0, "at least one"),
            ("hex ", 0, "at least one"),
            ("\"abc", 4, "without the quote"),
            ("'", 1, "without the quote"),
            ("`", 1, "without the quote"),
            ("`a` b", 3, "more after the closing quote"),
            ("`a\\x00` (hex 61)", 13, "another key"),
            ("`a…` (the first 160 of 4097 bytes)", 2, "truncated"),
            ("`a\\x00…` (hex 6100…, the first 160 of 4097 bytes)", 6, "truncated"),
            ("hex 6100…", 8, "truncated"),
            ("hex 61 00", 6, "no hexadecimal digit"),
            ("0x610", 5, "half a byte"),
            ("a\\", 1, "write a backslash twice"),
            ("aé\\n", 3, "write a backslash twice"),
            ("\\x+1", 0, "write a backslash twice"),
            ("\\xé", 0, "write a backslash twice"),
            ("\\u{}", 0, "write a backslash twice"),
            ("\\u{d800}", 0, "no character"),
            ("\"\\400\"", 1, "escape of Go"),
            ("\"\\'\"", 1, "escape of Go"),
            ("alice\n", 5, "U+000A"),
        ] {
            let error = RawKey::parse(text).unwrap_err();
            assert_eq!(error.position(), position, "{text}: {error}");
            assert!(error.to_string().contains(says), "{text}: {error}");
        }
        let error = RawKey::parse(&"a".repeat(4097)).unwrap_err();
        assert!(error.to_string().contains("4097 bytes; a row key has at most 4096"), "{error}");
        assert_eq!(parsed(&"a".repeat(4096)).len(), 4096);
    }
}
