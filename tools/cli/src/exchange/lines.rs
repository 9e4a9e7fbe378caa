//! The records of an input, with the numbers of their lines, in constant memory.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read};
use std::mem;

use csv::ByteRecord;
use keyderive::dynamic::{DynKey, DynRow, UniqueJson};
use keyderive::key::fingerprint64;
use serde_json::{Map, Value as Json};

use super::Form;
use crate::exit::{Failure, Outcome};
use crate::input::Text;

/// The most bytes of a record. A row has at most 256 MiB; most are far shorter.
const MAX_RECORD: usize = 256 << 20;

/// How much of the input is read at a time.
const BUFFER: usize = 1 << 16;

/// What records are read as.
pub(crate) trait Parse {
    /// What a name of csv is.
    type Place;
    type Record;

    /// What the names of csv are.
    ///
    /// # Errors
    /// If one is not known, or one is missing.
    fn places(&self, names: &[String]) -> Outcome<Vec<Self::Place>>;

    /// A record of csv.
    fn of_cells<'a>(
        &self,
        places: &[Self::Place],
        cells: impl Iterator<Item = &'a str>,
    ) -> Result<Self::Record, String>;

    /// A record of JSON.
    fn of_object(&self, members: Map<String, Json>) -> Result<Self::Record, String>;
}

/// The records of an input.
pub(crate) struct Lines<P: Parse> {
    reader: P,
    input: LineReader,
    form: Records<P::Place>,
    digest: Digest,
}

enum Records<P> {
    Csv { record: CsvRecord, places: Vec<P>, names: Vec<String> },
    Json { line: Vec<u8>, is_first: bool },
}

/// A record of the input.
pub(crate) struct Line<R = (DynKey, DynRow)> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// A hash of the records up to this one: two inputs with other records before it have another.
    pub(crate) digest: u64,
    pub(crate) row: Result<R, Fault>,
}

/// Why a record is no row.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) why: String,
    /// Its cells, or its line.
    pub(crate) record: Vec<String>,
}

/// Reads an input line by line, and counts the lines.
struct LineReader {
    input: BufReader<Text<Box<dyn Read + Send>>>,
    /// The number of the last line that was read, counted from 1.
    number: u64,
}

impl LineReader {
    /// Appends the next line with its end, which is `\n`, `\r\n` or `\r`; false at the end of the input.
    fn read(&mut self, line: &mut Vec<u8>) -> Outcome<bool> {
        let begin = line.len();
        while !line[begin..].ends_with(b"\n") {
            let buffer = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer.map_err(|error| Failure::unread("the input", &error))?,
            };
            let used = match buffer {
                [] => break,
                [b'\n', ..] => 1,
                // A new line.
                _ if line[begin..].ends_with(b"\r") => break,
                buffer => {
                    let end = buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    end.map_or(buffer.len(), |end| end + 1)
                }
            };
            line.extend_from_slice(&buffer[..used]);
            self.input.consume(used);
            if line.len() > MAX_RECORD {
                return Err(Failure::refused(format_args!(
                    "at line {}, a record is longer than {MAX_RECORD} bytes; a quotation mark may not be closed",
                    self.number + 1
                )));
            }
        }
        let is_any = line.len() > begin;
        self.number += u64::from(is_any);
        Ok(is_any)
    }

    /// The first byte of the next line that is not blank, after its spaces; `None` at the end of the input.
    fn peek(&mut self) -> Outcome<Option<u8>> {
        let mut blank = Vec::new();
        loop {
            let buffer = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer.map_err(|error| Failure::unread("the input", &error))?,
            };
            match buffer.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
                Some(b'\n' | b'\r') => {
                    blank.clear();
                    self.read(&mut blank)?;
                }
                // The line begins with them.
                None if !buffer.is_empty() => {
                    let spaces = buffer.len();
                    self.input.consume(spaces);
                }
                first => return Ok(first.copied()),
            }
        }
    }
}

/// Why a record of csv is faulty: other readers make cells of it that nobody wrote.
const OPEN: &str = "the input ends in a cell whose quotation mark is not closed";
const BEFORE_QUOTES: &str =
    "a cell has a space before its quotation mark; put the whole cell between quotation marks";
const AFTER_QUOTES: &str =
    "a cell goes on after its closing quotation mark; one within a cell is written twice";

/// A record of csv: its cells, as RFC 4180 has them.
#[derive(Default)]
struct CsvRecord {
    cells: ByteRecord,
    /// Its text.
    text: Vec<u8>,
    /// The line where it begins.
    number: u64,
    fault: Option<&'static str>,
}

impl CsvRecord {
    /// Reads the next record, after blank lines; false at the end of the input.
    fn read(&mut self, input: &mut LineReader) -> Outcome<bool> {
        let Self { cells, text, number, fault } = self;
        (*fault, *number) = (None, 0);
        cells.clear();
        while matches!(text[..], [] | [b'\n' | b'\r', ..]) {
            text.clear();
            if !input.read(text)? {
                return Ok(false);
            }
        }
        *number = input.number;
        let (mut cell, mut at) = (Vec::new(), 0);
        loop {
            cell.clear();
            let is_quoted = text.get(at) == Some(&b'"');
            at += usize::from(is_quoted);
            let mut is_closed = !is_quoted;
            while !is_closed {
                let Some(mark) = text[at..].iter().position(|byte| *byte == b'"') else {
                    cell.extend_from_slice(&text[at..]);
                    at = text.len();
                    if !input.read(text)? {
                        *fault = Some(OPEN);
                        break;
                    }
                    continue;
                };
                cell.extend_from_slice(&text[at..at + mark]);
                at += mark + 1;
                is_closed = text.get(at) != Some(&b'"');
                if !is_closed {
                    cell.push(b'"');
                    at += 1;
                }
            }
            let end = text[at..].iter().position(|byte| matches!(byte, b',' | b'\n' | b'\r'));
            let end = end.map_or(text.len(), |end| at + end);
            if is_quoted && end > at {
                fault.get_or_insert(AFTER_QUOTES);
            }
            if !is_quoted && text[at..end].trim_ascii_start().first() == Some(&b'"') {
                fault.get_or_insert(BEFORE_QUOTES);
            }
            cell.extend_from_slice(&text[at..end]);
            cells.push_field(&cell);
            at = end + 1;
            if text.get(end) != Some(&b',') {
                text.clear();
                return Ok(true);
            }
        }
    }
}

/// The hash of the records that were read.
#[derive(Default)]
pub(crate) struct Digest {
    digest: u64,
    record: Vec<u8>,
}

impl Digest {
    /// Adds a record; returns the hash of all.
    pub(crate) fn add<'c>(&mut self, cells: impl IntoIterator<Item = &'c [u8]>) -> u64 {
        self.record.clear();
        self.record.extend_from_slice(&self.digest.to_be_bytes());
        for cell in cells {
            self.record.extend_from_slice(&(cell.len() as u64).to_be_bytes());
            self.record.extend_from_slice(cell);
        }
        self.digest = fingerprint64(&self.record);
        self.digest
    }
}

impl<P: Parse> Lines<P> {
    /// Reads the names of csv.
    ///
    /// # Errors
    /// If a name is no part of a row, or a field of the key has none.
    pub(crate) fn new(reader: P, form: Form, input: Text<Box<dyn Read + Send>>) -> Outcome<Self> {
        let mut input = LineReader { input: BufReader::with_capacity(BUFFER, input), number: 0 };
        let mut digest = Digest::default();
        let form = match form {
            Form::Json => Records::Json { line: Vec::new(), is_first: true },
            Form::Csv => {
                let mut record = CsvRecord::default();
                if !record.read(&mut input)? {
                    return Err(Failure::refused("the input is empty: csv begins with a line of names"));
                }
                let names = record.cells.iter().map(|name| str::from_utf8(name).map(str::to_owned));
                let names: Vec<_> = names
                    .collect::<Result<_, _>>()
                    .map_err(|_| Failure::refused("the line of names is not UTF-8"))?;
                let places = match record.fault {
                    Some(why) => Err(Failure::refused(format_args!("in the line of names {why}"))),
                    None => reader.places(&names),
                };
                let places = places.map_err(|failure| match other_form(&names) {
                    Some(words) => failure.help(words),
                    None => failure,
                })?;
                digest.add(&record.cells);
                Records::Csv { record, places, names }
            }
        };
        Ok(Self { reader, input, form, digest })
    }

    /// What each name of csv is.
    pub(crate) fn meanings(&self) -> Vec<(&str, String)>
    where
        P::Place: fmt::Display,
    {
        match &self.form {
            Records::Csv { names, places, .. } => {
                names.iter().map(String::as_str).zip(places.iter().map(ToString::to_string)).collect()
            }
            Records::Json { .. } => Vec::new(),
        }
    }

    /// The index of the first name of csv for which `is` holds.
    pub(crate) fn place(&self, is: impl Fn(&P::Place) -> bool) -> Option<usize> {
        match &self.form {
            Records::Csv { places, .. } => places.iter().position(is),
            Records::Json { .. } => None,
        }
    }

    fn read(&mut self) -> Outcome<Option<Line<P::Record>>> {
        let Self { reader, input, form, digest } = self;
        match form {
            Records::Csv { record, places, names } => {
                if !record.read(input)? {
                    return Ok(None);
                }
                let digest = digest.add(&record.cells);
                let row = match record.fault {
                    Some(why) => Err(why.to_owned()),
                    None => row_of_record(reader, places, names.len(), &record.cells),
                };
                let row = row.map_err(|why| {
                    let cells = record.cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned());
                    Fault { why, record: cells.collect() }
                });
                Ok(Some(Line { number: record.number, digest, row }))
            }
            Records::Json { line, is_first } => loop {
                line.clear();
                if !input.read(line)? {
                    return Ok(None);
                }
                let text = line.trim_ascii();
                if text.is_empty() {
                    continue;
                }
                let number = input.number;
                let json = serde_json::from_slice(text);
                if mem::take(is_first) {
                    check_first(text, json.as_ref().err(), input)?;
                }
                let digest = digest.add([text]);
                let row = match json {
                    Ok(UniqueJson(Json::Object(members))) => reader.of_object(members),
                    Ok(_) => Err("it is not a JSON object".to_owned()),
                    Err(error) => {
                        let indent = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                        Err(json_fault(&error, indent))
                    }
                };
                let row = row
                    .map_err(|why| Fault { why, record: vec![String::from_utf8_lossy(text).into_owned()] });
                return Ok(Some(Line { number, digest, row }));
            },
        }
    }
}

/// Refuses JSON of another form than an object in each line, since every line would be a bad one.
fn check_first(text: &[u8], fault: Option<&serde_json::Error>, rest: &mut LineReader) -> Outcome<()> {
    let (is, remedy) = match text {
        [b'[', ..] => ("is an array", "`jq -c '.[]'`"),
        // Before the next object, or the end of the input, the line is cut.
        [b'{', ..]
            if fault.is_some_and(serde_json::Error::is_eof)
                && rest.peek()?.is_some_and(|next| next != b'{') =>
        {
            ("has objects of several lines", "`jq -c .`")
        }
        _ => return Ok(()),
    };
    Err(Failure::refused(format_args!(
        "the input {is}, and is read as lines of JSON, each of which is an object; {remedy} writes it so"
    )))
}

/// What is wrong with a line of JSON, and in which column; the first `indent` bytes of the line were not parsed. The caller
/// names the line.
pub(crate) fn json_fault(error: &serde_json::Error, indent: usize) -> String {
    if error.is_eof() {
        return "the line ends before its JSON does, as if the input was cut".to_owned();
    }
    let is = if error.is_syntax() { "it is not JSON: " } else { "" };
    format!("{is}{}, at column {}", without_place(error), error.column() + indent)
}

/// The text of an error without its place in the JSON, which is only a part of the input.
pub(super) fn without_place(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let end = text.len() - text.strip_suffix(&place).map_or(0, |_| place.len());
    text.truncate(end);
    text
}

/// What an input is if its first line has no names of csv.
fn other_form(names: &[String]) -> Option<&'static str> {
    match names {
        [first, ..] if first.trim_start().starts_with(['{', '[']) => {
            Some("the input begins as JSON does: `json` is the form of lines of JSON")
        }
        [only] if only.contains(';') => Some("the cells are separated by `;`: write the file with commas"),
        [only] if only.contains('\t') => Some("the cells are separated by tabs: write the file with commas"),
        _ => None,
    }
}

impl<P: Parse> Iterator for Lines<P> {
    type Item = Outcome<Line<P::Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn row_of_record<P: Parse>(
    reader: &P,
    places: &[P::Place],
    names: usize,
    record: &ByteRecord,
) -> Result<P::Record, String> {
    if record.len() != names {
        return Err(format!("it has {} cells, and there are {names} names", record.len()));
    }
    let mut cells = Vec::with_capacity(names);
    for cell in record {
        cells.push(str::from_utf8(cell).map_err(|_| "it is not UTF-8".to_owned())?);
    }
    reader.of_cells(places, cells.into_iter())
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use keyderive_tests::amount;

    use super::*;

    /// Takes any names and cells.
    struct Cells;

    impl Parse for Cells {
        type Place = ();
        type Record = Vec<String>;

        fn places(&self, names: &[String]) -> Outcome<Vec<()>> {
            Ok(vec![(); names.len()])
        }

        fn of_cells<'a>(
            &self,
            _: &[()],
            cells: impl Iterator<Item = &'a str>,
        ) -> Result<Vec<String>, String> {
            Ok(cells.map(str::to_owned).collect())
        }

        fn of_object(&self, members: Map<String, Json>) -> Result<Vec<String>, String> {
            Ok(members.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
        }
    }

    /// Gives its bytes in pieces of any length.
    struct Pieces {
        bytes: Vec<u8>,
        at: usize,
        random: Rng,
    }

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = [1, 2, 3, 7, BUFFER][self.random.usize(..5)].min(buffer.len());
            let read = (&self.bytes[self.at..]).read(&mut buffer[..most])?;
            self.at += read;
            Ok(read)
        }
    }

    fn lines(form: Form, bytes: &[u8], seed: u64) -> Outcome<Vec<Line<Vec<String>>>> {
        let pieces = Pieces { bytes: bytes.to_vec(), at: 0, random: Rng::with_seed(seed) };
        Lines::new(Cells, form, Text::new(Box::new(pieces)))?.collect()
    }

    fn rounds() -> u64 {
        amount("KEYDERIVE_HOSTILE_INPUTS", "random inputs", 3_000, 200_000)
    }

    /// The line of the byte after this text, as an editor numbers lines.
    fn line_after(text: &str) -> u64 {
        let ends = text.replace("\r\n", "\n").replace('\r', "\n");
        1 + ends.bytes().filter(|byte| *byte == b'\n').count() as u64
    }

    #[test]
    fn the_number_of_a_line_is_that_of_an_editor() {
        for seed in 0..rounds() {
            let mut random = Rng::with_seed(seed);
            let ends = ["\n", "\r\n", "\r"];
            let usual = ends[random.usize(..3)];
            let (mut text, mut expected) = (String::new(), Vec::new());
            for record in 0..random.usize(2..12) {
                for _ in 0..[0, 0, 0, 1, 2][random.usize(..5)] {
                    // After `\r`, `\n` would be no blank line.
                    text += if usual == "\n" && text.ends_with('\r') { "\r" } else { usual };
                }
                let number = line_after(&text);
                let mut cells = [(); 2].map(|()| {
                    let parts = ["a", "b c", "é", ",", "\"", "\n", "\r\n", "\r", "", "{"];
                    (0..random.usize(..4)).map(|_| parts[random.usize(..parts.len())]).collect::<String>()
                });
                if record == 0 {
                    cells = ["one".to_owned(), "two".to_owned()];
                }
                let is_bad = record > 0 && random.u8(..4) == 0;
                for (at, cell) in cells.iter().enumerate() {
                    let is_quoted = cell.contains([',', '"', '\n', '\r']) || random.bool();
                    text += if at > 0 { "," } else { "" };
                    text +=
                        &if is_quoted { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.clone() };
                }
                text += match is_bad {
                    false => "",
                    true if text.ends_with('"') && random.bool() => "x",
                    true => ",third",
                };
                text += if random.u8(..8) == 0 { ends[random.usize(..3)] } else { usual };
                if record > 0 {
                    expected.push((number, (!is_bad).then(|| cells.to_vec())));
                }
            }
            let found = lines(Form::Csv, text.as_bytes(), seed).unwrap();
            let found: Vec<_> = found.into_iter().map(|line| (line.number, line.row.ok())).collect();
            assert_eq!(found, expected, "seed {seed}: {text:?}");
        }
    }

    /// Of any bytes, records without a fault have the cells that the crate `csv` finds.
    #[test]
    fn cells_are_those_of_another_reader() {
        let mut good = 0;
        for seed in 0..rounds() {
            let mut random = Rng::with_seed(seed);
            let parts = ["a", ",", "\"", "\"\"", "\n", "\r\n", "\r", " ", "é", "\0"];
            let text: String = (0..random.usize(1..30)).map(|_| parts[random.usize(..parts.len())]).collect();
            // With a zero beside each character, it is UTF-16.
            let text = format!("é{text}");
            let mut reader =
                csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let others: Vec<_> = reader.byte_records().map(Result::unwrap).collect();
            let pieces = Pieces { bytes: text.clone().into_bytes(), at: 0, random: Rng::with_seed(seed) };
            let input = BufReader::with_capacity(BUFFER, Text::new(Box::new(pieces) as _));
            let (mut input, mut record) = (LineReader { input, number: 0 }, CsvRecord::default());
            for other in others {
                assert!(record.read(&mut input).unwrap(), "{text:?}");
                // It joins what follows a closing mark.
                assert_eq!(record.cells, other, "{text:?}");
                good += u64::from(record.fault.is_none());
            }
            assert!(!record.read(&mut input).unwrap(), "{text:?}");
        }
        assert!(good > rounds());
    }

    #[test]
    fn a_byte_order_mark_is_left_out_and_utf16_refused() {
        let forms = [(Form::Csv, "id,name\r\n1,é\r\n2,b"), (Form::Json, "{\"id\":1}\r\n{\"id\":2}\r\n")];
        for seed in 0..400 {
            let (form, text) = forms[seed as usize % 2];
            let plain = lines(form, text.as_bytes(), seed).unwrap();
            let marked = lines(form, format!("\u{feff}{text}").as_bytes(), seed).unwrap();
            let rows = |lines: Vec<Line<Vec<String>>>| -> Vec<_> {
                lines.into_iter().map(|line| (line.number, line.digest, line.row.unwrap())).collect()
            };
            assert_eq!(rows(plain), rows(marked));
            for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                for mark in ["", "\u{feff}"] {
                    let bytes: Vec<u8> = format!("{mark}{text}").encode_utf16().flat_map(to_bytes).collect();
                    let failure = lines(form, &bytes, seed).map(drop).unwrap_err();
                    assert_eq!(failure.exit, crate::exit::Exit::Refused);
                    assert!(failure.to_string().contains("it is text in UTF-16"), "{failure}");
                }
            }
        }
    }

    #[test]
    fn other_forms_are_one_refusal() {
        let refused = |form, text: &str| lines(form, text.as_bytes(), 1).map(drop).unwrap_err().to_string();
        for text in ["[{\"id\":1},\n{\"id\":2}]\n", "\n [\n  {}\n]", "[]"] {
            assert!(refused(Form::Json, text).contains("the input is an array"), "{text}");
        }
        for text in ["{\n  \"id\": 1\n}\n", "{ \"id\": 1,\n \"name\": \"a\" }"] {
            assert!(refused(Form::Json, text).contains("has objects of several lines"), "{text}");
        }
        // A line that is cut later is a bad one.
        let later = lines(
            Form::Json,
            b"{\"id\":1}\n[]\n{\"id\"\n{\"id\":1,\"id\":1}\r{\"a\":[{\"b\":1,\"b\":1}]}",
            1,
        );
        let later = later.unwrap();
        assert_eq!(
            later.iter().map(|line| (line.number, line.row.is_ok())).collect::<Vec<_>>(),
            [(1, true), (2, false), (3, false), (4, false), (5, false)]
        );
        let why = &later[4].row.as_ref().unwrap_err().why;
        assert!(why.contains("the name `b` is there twice"), "{why}");
    }
}
