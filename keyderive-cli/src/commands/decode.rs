//! `decode`: the fields of row keys.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use clap::Args;
use keyderive::dynamic::{DynKey, TableLayout};
use keyderive::key::RawKey;
use serde::Serialize;

use super::block_on;
use crate::exit::{Exit, Failure, Outcome};
use crate::input::Text;
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
                "-" => decoder.stream(BufReader::new(Text::new(io::stdin())))?,
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
    /// Decodes lines of keys, or the output of `cbt read`, of which the other lines are passed on.
    fn stream(&mut self, mut input: impl BufRead) -> Outcome<()> {
        let mut line = Vec::new();
        let (mut is_cbt, mut is_key) = (false, true);
        while let Some(is_whole) = read_line(&mut input, &mut line)? {
            let is_rule = line.len() >= 20 && line.iter().all(|byte| *byte == b'-');
            // Standard error may have come into the pipe before it, but no key.
            is_cbt |= is_rule && self.decoded == 0;
            if !is_whole {
                self.fail(&line, &line, format_args!("the line is longer than {MAX_LINE} bytes"))?;
            } else if !is_cbt {
                if !line.is_empty() {
                    self.line(&line)?;
                }
            } else if is_rule {
                is_key = true;
                self.pass(&line)?;
            } else if is_key {
                is_key = false;
                self.key(&line)?;
            } else {
                self.pass(&line)?;
            }
        }
        Ok(())
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

/// Reads the next line, without its end, and returns whether it is whole; `None` at the end of the input. What is longer than the longest
/// line is read and dropped.
pub(super) fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Outcome<Option<bool>> {
    line.clear();
    let (mut is_any, mut is_whole) = (false, true);
    loop {
        let buffer = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer.map_err(|error| Failure::unread("standard input", &error))?,
        };
        if buffer.is_empty() {
            break;
        }
        is_any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let room = MAX_LINE.saturating_sub(line.len());
        is_whole &= part.len() <= room;
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(is_any.then_some(is_whole))
}
