//! Text from tables and arguments, without what a terminal would obey.

use std::fmt;
use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Text with control characters escaped, and characters that change the direction or the place of others.
pub struct Safe<'a>(pub &'a str);

impl fmt::Display for Safe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fragments(self.0, |fragment| match fragment {
            Fragment::Plain(text) => f.write_str(text),
            Fragment::Unsafe(char) if char.is_ascii() => write!(f, "\\x{:02x}", u32::from(char)),
            Fragment::Unsafe(char) => f.write_fmt(format_args!("{}", char.escape_unicode())),
        })
    }
}

enum Fragment<'a> {
    Plain(&'a str),
    Unsafe(char),
}

/// Whether a terminal could obey the character, or show text elsewhere or in another order than it is.
fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn fragments<'a, E>(text: &'a str, mut each: impl FnMut(Fragment<'a>) -> Result<(), E>) -> Result<(), E> {
    // Most text is ASCII and safe, and bytes are faster to search than characters.
    if text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
        return if text.is_empty() { Ok(()) } else { each(Fragment::Plain(text)) };
    }
    let mut plain = 0;
    for (at, char) in text.char_indices().filter(|(_, char)| is_unsafe(*char)) {
        if plain < at {
            each(Fragment::Plain(&text[plain..at]))?;
        }
        each(Fragment::Unsafe(char))?;
        plain = at + char.len_utf8();
    }
    if plain < text.len() { each(Fragment::Plain(&text[plain..])) } else { Ok(()) }
}

/// Writes JSON in one line, in ASCII where a character is not [`Safe`].
pub fn json_line(out: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    // Into memory first, since each write to the output has a cost.
    let mut line = Vec::with_capacity(256);
    value.serialize(&mut Serializer::with_formatter(&mut line, SafeJson)).map_err(io::Error::from)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// Writes text that is JSON, in lines, in ASCII where a character is not [`Safe`].
pub fn write_safe_json(out: &mut impl io::Write, json: &str) -> io::Result<()> {
    for line in json.split_inclusive('\n') {
        let text = line.strip_suffix('\n');
        // Outside of its strings JSON has no such characters.
        SafeJson.write_string_fragment(out, text.unwrap_or(line))?;
        out.write_all(if text.is_some() { b"\n" } else { b"" })?;
    }
    Ok(())
}

struct SafeJson;

impl Formatter for SafeJson {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        fragments(text, |fragment| match fragment {
            Fragment::Plain(text) => out.write_all(text.as_bytes()),
            Fragment::Unsafe(char) => {
                char.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(Safe("a\u{1b}[31mé\u{9b}\u{202e}\n").to_string(), r"a\x1b[31mé\u{9b}\u{202e}\x0a");
        assert_eq!(Safe("a\u{61c}\u{e0041}").to_string(), r"a\u{61c}\u{e0041}");
        let mut line = Vec::new();
        json_line(&mut line, &"\u{61c}\u{e0041}").unwrap();
        assert_eq!(line, b"\"\\u061c\\udb40\\udc41\"\n");
        line.clear();
        json_line(&mut line, &"a\u{1b}\"\u{9b}\u{202e}\n\u{7f}é").unwrap();
        let mut text = Vec::new();
        write_safe_json(&mut text, "[{\"a\\n\":\"\u{202e}\u{7f}é\"}]\n[]").unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "[{\"a\\n\":\"\\u202e\\u007fé\"}]\n[]");
        assert_eq!(String::from_utf8(line).unwrap(), "\"a\\u001b\\\"\\u009b\\u202e\\n\\u007fé\"\n");
    }
}
