//! `decode`: the fields of row keys.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::mem;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use clap::Args;
use keyderive::dynamic::{DynKey, TableLayout};
use keyderive::key::RawKey;
use serde::Serialize;

use super::block_on;
use crate::exit::{Exit, Failure, Outcome};
use crate::input::{Text, is_other_encoding, not_utf8};
use crate::layout::{TableArgs, key_type};
use crate::output::{Out, Safe, TextFormat, json_line};

/// Decode row keys into their fields
///
///     keyderive decode events '1#alice#home#9223370610319163651#000042'
///     cbt read events | keyderive decode events -
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Decode {
    #[command(flatten)]
    of: TableArgs,
    /// Keys as errors, logs and cbt print them: escaped, in quotes, or hexadecimal after `0x` or `hex`; `-` reads lines of
    /// keys, or the output of `cbt read`, from standard input; `--` comes before keys that begin with a hyphen
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<String>,
    /// The keys are base64
    #[arg(long)]
    base64: bool,
    /// How keys are printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

/// No key is as long, however it is escaped.
const MAX_LINE: usize = 1 << 16;

impl Decode {
    pub(crate) fn run(self) -> Outcome {
        let mut connection = self.of.connection()?;
        let layouts = block_on(self.of.find_all(&mut connection))?;
        if layouts.is_empty() {
            return Err(self.of.no_layout());
        }
        let mut decoder = Decoder {
            layouts,
            is_base64: self.base64,
            is_json: self.format.is_json(),
            out: Out::new(),
            text: String::new(),
            decoded: 0,
            failed: 0,
        };
        for key in &self.keys {
            match key.as_str() {
                "-" if self.base64 => decoder.stream(KeyLines::of_text(io::stdin()))?,
                "-" => decoder.stream(KeyLines::of_bytes(io::stdin()))?,
                key => decoder.line(key.as_bytes())?,
            }
        }
        decoder.out.finish()?;
        Ok(Exit::found(decoder.failed > 0))
    }
}

struct Decoder {
    layouts: Vec<TableLayout>,
    is_base64: bool,
    is_json: bool,
    out: Out,
    /// The line of a key.
    text: String,
    decoded: u64,
    /// How many keys did not decode.
    failed: u64,
}

#[derive(Serialize)]
struct Decoded<'a> {
    key: String,
    key_type: &'static str,
    fields: &'a DynKey,
}

#[derive(Serialize)]
struct Undecoded {
    key: String,
    error: String,
}

impl Decoder {
    /// Decodes lines of keys, or the output of `cbt read`, whose other lines are passed on.
    fn stream<R: Read>(&mut self, mut lines: KeyLines<R>) -> Outcome<()> {
        let (mut line, mut is_first) = (Vec::new(), true);
        let (mut is_cbt, mut is_key, mut has_returns) = (false, true, false);
        while let Some(is_whole) = lines.next(&mut line)? {
            let is_text = str::from_utf8(&line).is_ok();
            if mem::take(&mut is_first)
                && is_other_encoding(&line)
                && (is_text || self.is_base64 || !self.decodes(&line))
            {
                return Err(Failure::unread("standard input", &not_utf8()));
            }
            let stripped = line.strip_suffix(b"\r").unwrap_or(&line);
            let is_rule = stripped.len() >= 20 && stripped.iter().all(|byte| *byte == b'-');
            if is_rule && self.decoded == 0 && !is_cbt {
                // Standard error may have come into the pipe before it, but no key.
                (is_cbt, has_returns) = (true, stripped.len() < line.len());
            }
            if !is_whole {
                self.fail(&line, &line, format_args!("the line is longer than {MAX_LINE} bytes"))?;
            } else if !is_cbt && is_text {
                for part in line.split(|byte| *byte == b'\r').filter(|part| !part.is_empty()) {
                    self.line(part)?;
                }
            } else if !is_cbt {
                // Bytes may end in a carriage return, which belongs to the key only if they are no key without it.
                let has_return = !self.decodes(stripped) && self.decodes(&line);
                self.line(if has_return { &line } else { stripped })?;
            } else if is_rule {
                is_key = true;
                self.pass(stripped)?;
            } else if is_key {
                is_key = false;
                self.key(if has_returns { stripped } else { &line })?;
            } else {
                self.pass(stripped)?;
            }
        }
        Ok(())
    }

    /// Whether these bytes are a key of a layout.
    fn decodes(&self, key: &[u8]) -> bool {
        self.layouts.iter().any(|layout| layout.key().decode(key).is_ok())
    }

    /// Prints a line of `cbt` as it is.
    fn pass(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_json {
            return Ok(());
        }
        writeln!(self.out, "{}", Safe(&String::from_utf8_lossy(line)))
    }

    /// Decodes the key that text stands for.
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        match self.parse(line) {
            Ok(key) => self.key_of(&key, line),
            Err(error) => self.fail(line, line, error),
        }
    }

    fn parse<'a>(&self, line: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
        if self.is_base64 {
            let text = line.trim_ascii();
            let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
            let text = &text[..text.len() - padding];
            let decoded = STANDARD_NO_PAD.decode(text).or_else(|_| URL_SAFE_NO_PAD.decode(text));
            return decoded.map(Cow::Owned).map_err(|error| format!("it is no base64: {error}"));
        }
        let is_plain = |byte: &u8| !matches!(byte, 0..b' ' | 0x7f | b'\\');
        let is_marked = line.starts_with(b"hex ")
            || line.starts_with(b"0x")
            || matches!(line, [b'"' | b'\'' | b'`', ..] | []);
        match str::from_utf8(line) {
            // Text that stands for itself.
            _ if !is_marked && line.is_ascii() && line.iter().all(is_plain) => Ok(Cow::Borrowed(line)),
            Ok(text) => match RawKey::parse(text) {
                Ok(key) => Ok(Cow::Owned(key.as_bytes().to_vec())),
                Err(error) => Err(error.to_string()),
            },
            // The bytes themselves.
            Err(_) => Ok(Cow::Borrowed(line)),
        }
    }

    fn key(&mut self, key: &[u8]) -> io::Result<()> {
        self.key_of(key, key)
    }

    /// Decodes a key; a fault names it as it was given.
    fn key_of(&mut self, key: &[u8], given: &[u8]) -> io::Result<()> {
        let mut errors = Vec::new();
        for layout in &self.layouts {
            match layout.key().decode(key) {
                Ok(decoded) if self.is_json => {
                    self.decoded += 1;
                    let key = RawKey::new(key).to_string();
                    let decoded = Decoded { key, key_type: key_type(layout), fields: &decoded };
                    return json_line(&mut self.out, &decoded);
                }
                // Text is quoted and escaped, as Rust does. It is formatted into memory, since each write to the output has a cost.
                Ok(decoded) => {
                    self.decoded += 1;
                    self.text.clear();
                    let _ = writeln!(self.text, "{decoded}");
                    return self.out.write_all(self.text.as_bytes());
                }
                Err(error) => errors.push(error.to_string()),
            }
        }
        self.fail(key, given, errors.join("; "))
    }

    #[cold]
    fn fail(&mut self, key: &[u8], given: &[u8], error: impl std::fmt::Display) -> io::Result<()> {
        self.failed += 1;
        let error = error.to_string();
        if self.is_json {
            return json_line(&mut self.out, &Undecoded { key: RawKey::new(key).to_string(), error });
        }
        let given = match str::from_utf8(given) {
            Ok(given) => Cow::Borrowed(given),
            Err(_) => Cow::Owned(RawKey::new(given).to_string()),
        };
        writeln!(self.out, "{}: not decoded: {}", Safe(&given), Safe(&error))
    }
}

/// The lines of standard input, each a key.
pub(super) struct KeyLines<R> {
    input: BufReader<Text<R>>,
    /// Whether a line ends at `\r` too, as in all inputs that are text.
    is_text: bool,
    /// Whether the line before has ended at `\r`: `\n` after it is part of that end.
    is_after_return: bool,
}

impl<R: Read> KeyLines<R> {
    /// Lines that end in `\n`, `\r\n` or `\r`.
    pub(super) fn of_text(input: R) -> Self {
        Self { input: BufReader::new(Text::new(input)), is_text: true, is_after_return: false }
    }

    /// Lines that end in `\n`, which may be bytes that are not text.
    fn of_bytes(input: R) -> Self {
        Self { input: BufReader::new(Text::or_bytes(input)), is_text: false, is_after_return: false }
    }

    /// Reads the next line, without its end, and returns whether it is whole; `None` at the end of the input. What is longer than the
    /// longest line is read and dropped.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> Outcome<Option<bool>> {
        line.clear();
        let (mut is_any, mut is_whole) = (false, true);
        loop {
            let buffer = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer.map_err(|error| Failure::unread("standard input", &error))?,
            };
            if mem::take(&mut self.is_after_return) && buffer.first() == Some(&b'\n') {
                self.input.consume(1);
                continue;
            }
            if buffer.is_empty() {
                break;
            }
            is_any = true;
            let end = buffer.iter().position(|byte| *byte == b'\n' || self.is_text && *byte == b'\r');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            self.is_after_return = end.is_some_and(|end| buffer[end] == b'\r');
            let room = MAX_LINE.saturating_sub(line.len());
            is_whole &= part.len() <= room;
            line.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                break;
            }
        }
        Ok(is_any.then_some(is_whole))
    }
}
