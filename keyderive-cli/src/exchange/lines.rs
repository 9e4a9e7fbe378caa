//! The records of an input, with the numbers of their lines, in constant memory.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use csv::ByteRecord;
use keyderive::dynamic::{DynKey, DynRow};
use keyderive::key::fingerprint64;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use super::Form;
use super::read::Reader;
use crate::exit::{Failure, Outcome};

/// The most bytes of a record. A row has at most 256 MiB, of which most are shorter by far.
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

    /// A record of JSON: each member of the object as often as it is there.
    fn of_object(&self, members: Vec<(String, Json)>) -> Result<Self::Record, String>;
}

/// The records of an input.
pub(crate) struct Lines<P: Parse = Reader> {
    reader: P,
    input: Input<P::Place>,
    left: Arc<AtomicUsize>,
    quotes: Arc<Mutex<Quotes>>,
    digest: Digest,
}

enum Input<P> {
    Csv { input: Box<csv::Reader<Bounded>>, record: ByteRecord, places: Vec<P>, names: Vec<String> },
    Json { input: BufReader<Bounded>, line: Vec<u8>, number: u64 },
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

/// An input of which no record is longer than the longest.
struct Bounded {
    input: Box<dyn Read + Send>,
    left: Arc<AtomicUsize>,
    /// Of csv.
    quotes: Option<Arc<Mutex<Quotes>>>,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        if let Some(quotes) = &self.quotes {
            locked(quotes).read(&buffer[..read]);
        }
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(read), Ordering::Relaxed);
        match left {
            0 => Err(io::Error::other(format!(
                "a record is longer than {MAX_RECORD} bytes; is a quotation mark not closed?"
            ))),
            _ => Ok(read),
        }
    }
}

/// Finds cells of csv whose quotation marks do not pair. The reader of csv takes any text: of a mark that is not closed it makes one cell of
/// all that follows, and it joins what follows a closing mark to the cell.
#[derive(Default)]
struct Quotes {
    place: QuotePlace,
    /// How many bytes were read.
    read: u64,
    /// Where the last cell in quotation marks begins.
    opened: u64,
    /// Whether the record that is read has a fault.
    is_faulty: bool,
    /// The faults of records that the reader of csv has not returned, each with the offset of a byte of the record.
    faults: VecDeque<(u64, &'static str)>,
}

/// Where in a cell the next byte is.
#[derive(Clone, Copy, Default)]
enum QuotePlace {
    #[default]
    Begin,
    Plain,
    Quoted,
    /// After a quotation mark in a quoted cell, which closes it, or is the first of two.
    Closed,
}

impl Quotes {
    /// Reads the next bytes; none are the end of the input.
    fn read(&mut self, bytes: &[u8]) {
        if bytes.is_empty() && matches!(self.place, QuotePlace::Quoted) {
            self.faults
                .push_back((self.opened, "the input ends in a cell whose quotation mark is not closed"));
            self.place = QuotePlace::Begin;
        }
        let mark = if self.read == 0 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        self.read += mark as u64;
        for byte in &bytes[mark..] {
            self.place = match (self.place, byte) {
                (QuotePlace::Begin, b'"') => {
                    self.opened = self.read;
                    QuotePlace::Quoted
                }
                (QuotePlace::Quoted, b'"') => QuotePlace::Closed,
                (QuotePlace::Quoted, _) | (QuotePlace::Closed, b'"') => QuotePlace::Quoted,
                (_, b',') => QuotePlace::Begin,
                (_, b'\n' | b'\r') => {
                    self.is_faulty = false;
                    QuotePlace::Begin
                }
                (QuotePlace::Closed, _) => {
                    if !self.is_faulty {
                        let why = "a cell goes on after its closing quotation mark; one within a cell is written twice";
                        self.faults.push_back((self.read, why));
                    }
                    self.is_faulty = true;
                    QuotePlace::Plain
                }
                _ => QuotePlace::Plain,
            };
            self.read += 1;
        }
    }

    /// The fault of the record that ends before this byte.
    fn fault_before(&mut self, end: u64) -> Option<&'static str> {
        let mut found = None;
        while let Some((_, why)) = self.faults.front().filter(|(at, _)| *at < end) {
            found.get_or_insert(*why);
            self.faults.pop_front();
        }
        found
    }
}

fn locked(quotes: &Mutex<Quotes>) -> MutexGuard<'_, Quotes> {
    // A thread that panicked has left whole values.
    quotes.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub(crate) fn new(reader: P, form: Form, input: Box<dyn Read + Send>) -> Outcome<Self> {
        let left = Arc::new(AtomicUsize::new(MAX_RECORD));
        let quotes = Arc::new(Mutex::new(Quotes::default()));
        let input = Bounded {
            input,
            left: Arc::clone(&left),
            quotes: (form == Form::Csv).then(|| Arc::clone(&quotes)),
        };
        let mut digest = Digest::default();
        let input = match form {
            Form::Json => {
                Input::Json { input: BufReader::with_capacity(BUFFER, input), line: Vec::new(), number: 0 }
            }
            Form::Csv => {
                let mut input = csv::ReaderBuilder::new()
                    .has_headers(false)
                    .flexible(true)
                    .buffer_capacity(BUFFER)
                    .from_reader(input);
                let mut record = ByteRecord::new();
                if !input.read_byte_record(&mut record).map_err(|error| unread(&error))? {
                    return Err(Failure::refused("the input is empty: csv begins with a line of names"));
                }
                if let Some(why) = locked(&quotes).fault_before(input.position().byte()) {
                    return Err(Failure::refused(format_args!("in the line of names {why}")));
                }
                let names = record.iter().map(|name| str::from_utf8(name).map(str::to_owned));
                let names: Vec<_> = names
                    .collect::<Result<_, _>>()
                    .map_err(|_| Failure::refused("the line of names is not UTF-8"))?;
                let places = reader.places(&names)?;
                digest.add(&record);
                Input::Csv { input: Box::new(input), record, places, names }
            }
        };
        Ok(Self { reader, input, left, quotes, digest })
    }

    /// What each name of csv is.
    pub(crate) fn meanings(&self) -> Vec<(&str, String)>
    where
        P::Place: fmt::Display,
    {
        match &self.input {
            Input::Csv { names, places, .. } => {
                names.iter().map(String::as_str).zip(places.iter().map(ToString::to_string)).collect()
            }
            Input::Json { .. } => Vec::new(),
        }
    }

    /// The index of the first name of csv that is something.
    pub(crate) fn place(&self, is: impl Fn(&P::Place) -> bool) -> Option<usize> {
        match &self.input {
            Input::Csv { places, .. } => places.iter().position(is),
            Input::Json { .. } => None,
        }
    }

    fn read(&mut self) -> Outcome<Option<Line<P::Record>>> {
        self.left.store(MAX_RECORD, Ordering::Relaxed);
        let (reader, digest, quotes) = (&self.reader, &mut self.digest, &self.quotes);
        match &mut self.input {
            Input::Csv { input, record, places, names } => {
                if !input.read_byte_record(record).map_err(|error| unread(&error))? {
                    return Ok(None);
                }
                let number = record.position().map_or(0, csv::Position::line);
                let digest = digest.add(&*record);
                let row = match locked(quotes).fault_before(input.position().byte()) {
                    Some(why) => Err(why.to_owned()),
                    None => row_of_record(reader, places, names.len(), record),
                };
                let row = row.map_err(|why| {
                    let record = record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned());
                    Fault { why, record: record.collect() }
                });
                Ok(Some(Line { number, digest, row }))
            }
            Input::Json { input, line, number } => loop {
                line.clear();
                if input.read_until(b'\n', line).map_err(|error| unread(&error.into()))? == 0 {
                    return Ok(None);
                }
                *number += 1;
                let text = line.trim_ascii();
                if text.is_empty() {
                    continue;
                }
                let digest = digest.add([text]);
                let members =
                    serde_json::from_slice(text).map_err(|error| format!("it is no object of JSON: {error}"));
                let row = members.and_then(|Members(members)| reader.of_object(members));
                let row = row
                    .map_err(|why| Fault { why, record: vec![String::from_utf8_lossy(text).into_owned()] });
                return Ok(Some(Line { number: *number, digest, row }));
            },
        }
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

fn unread(error: &csv::Error) -> Failure {
    Failure::failed(format_args!("the input is not read: {error}"))
}

/// The members of an object, each as often as it is there.
struct Members(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}
