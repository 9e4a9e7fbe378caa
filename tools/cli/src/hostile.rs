//! Arguments, records and files of layouts that somebody else wrote: nothing panics, nothing is printed that a terminal obeys, and a
//! record that is accepted is written as it was read.
//!
//! `KEYDERIVE_HOSTILE_INPUTS` says how many of each kind are tried, `KEYDERIVE_HOSTILE_SEED` which.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::time::SystemTime;

use clap::FromArgMatches as _;
use keyderive::dynamic::{DynKey, DynRow};
use keyderive::layouts::Layouts;
use keyderive::row::{Timestamped, Versions};
use keyderive::{Cell, Row, RowKey};
use keyderive_tests::amount;
use keyderive_tests::fuzz::{Input, fuzz};
use keyderive_tests::hostile::{mutated, mutated_text, random, text};

use crate::codegen::{Language, columns_of, generate};
use crate::exchange::{Fault, Form, Line, Lines, Reader, Shape, Times, Writer};
use crate::exit::Failure;
use crate::input::Text;
use crate::output::Safe;
use crate::{Cli, arguments};

#[derive(RowKey)]
#[salt(range = 4, over = "name")]
struct Key {
    #[row_key(escape)]
    name: String,
    #[reverse_ts]
    at: SystemTime,
    #[pad(5)]
    seq: u16,
}

#[derive(Cell, Clone, Copy, Debug)]
#[row(code)]
enum Level {
    Low = 0,
    High = 20,
}

#[derive(Row)]
struct Everything {
    kind: String,
    level: Option<Level>,
    bytes: Option<Vec<u8>>,
    ratio: f64,
    large: Option<u64>,
    #[row(json)]
    tags: Vec<String>,
    #[row(ts(unit = "micros"))]
    seen: Option<SystemTime>,
    price: Option<Timestamped<f64>>,
    #[row(family = "h")]
    state: Versions<String>,
    #[row(family)]
    place: Option<Place>,
    #[row(family, gc(max_versions = 2))]
    daily: BTreeMap<String, i64>,
}

#[derive(Row)]
struct Place {
    city: Option<String>,
    floor: Option<i32>,
}

pub(crate) fn count() -> u64 {
    amount("KEYDERIVE_HOSTILE_INPUTS", "mutated inputs of each kind", 2_000, 200_000)
}

/// Asserts that a terminal obeys none of the text.
#[track_caller]
pub(crate) fn assert_harmless(text: &str, input: &dyn std::fmt::Debug) {
    assert!(text.split('\n').all(|line| Safe(line).to_string() == line), "{text:?} of {input:?}");
}

#[test]
fn arguments_that_are_mutated() {
    let lines = [
        "scan events --where user_id=alice --limit 3 --select kind,amount --format json",
        "scan events --reversed --after 0100 --raw --on prod",
        "count events --estimate --where at>=2026-11-24",
        "delete events --where user_id=alice --yes --rate 10 --resume file",
        "import events - --map a=b --ignore c --bad-lines skip=bad --format csv --yes",
        "export events --output file --unordered --format json",
        "copy one two --map a=b --to-on prod --allow-existing",
        "rekey run one two --map a='b' --yes",
        "simulate views.csv daily --map a=b --variant salt=8 --below 0.2 --scale 10 --nodes 3 --read a,b*2",
        "codegen --hcl --stamp-id 0123abcd events",
        "layouts diff one.json two.json",
        "serve --file tables --port 8086",
        "decode events --base64 -- -x",
        "get events --key 0x31 --format json",
        "heat events --snapshot one.json two.json --svg file",
        "completions bash",
    ];
    let (mut random, mut command, mut accepted) = (random(1), arguments(), 0);
    for _ in 0..count() {
        let mut words: Vec<_> = lines[random.usize(..lines.len())].split(' ').map(str::to_owned).collect();
        for _ in 0..random.usize(1..3) {
            let at = random.usize(..words.len());
            match random.u8(..6) {
                0 => drop(words.remove(at)),
                1 => words.insert(at, words[random.usize(..words.len())].clone()),
                2 => words.insert(at, text(&mut random)),
                _ => words[at] = mutated_text(&mut random, &words[at]),
            }
            if words.is_empty() {
                words.push("--help".to_owned());
            }
        }
        let given = ["keyderive"].into_iter().chain(words.iter().map(String::as_str));
        let parsed =
            command.try_get_matches_from_mut(given).and_then(|matches| Cli::from_arg_matches(&matches));
        match parsed {
            Ok(_) => accepted += 1,
            Err(error) => assert_harmless(&keyderive_command::arguments::shown(&error), &words),
        }
    }
    println!("{accepted} of {} accepted", count());
    assert!(accepted > count() / 10);
}

fn layouts() -> Layouts {
    Layouts::new().table::<Key, Everything>("things").table::<Key, Place>("places")
}

fn shape() -> Shape {
    let layout = layouts().table_layout("things").unwrap();
    let row = layout.row_type().unwrap();
    Shape::of_row(DynRow::new(row), row, &layout)
}

type Record = Result<(DynKey, DynRow), Fault>;

/// The records of the input, or why it is refused.
fn read(shape: &Shape, form: Form, input: Vec<u8>) -> Result<Vec<Record>, Failure> {
    let reader = Reader::new(shape.clone(), &[], &[], Times::Exact)?;
    let lines = Lines::new(reader, form, Text::new(Box::new(Cursor::new(input))))?;
    lines.map(|line| line.map(|Line { row, .. }| row)).collect()
}

/// The rows as they are exported; `None` if one has no text.
fn written(shape: &Shape, form: Form, rows: &[(DynKey, DynRow)]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut writer = Writer::new(shape.clone(), form, &mut text, false, true).unwrap();
    let has_texts = rows.iter().all(|(key, row)| writer.add(key, row).unwrap());
    writer.flush().unwrap();
    drop(writer);
    has_texts.then_some(text)
}

/// A row with every column.
const EXAMPLE: &str = r#"{"name":"Ann é","at":"2026-11-24T00:00:00Z","seq":7,"cf:kind":"a,\"b","cf:level":20,"cf:bytes":"00ff","cf:ratio":-1.5e-9,"cf:large":9223372036854775807,"cf:tags":"[\"x\"]","cf:seen":"1970-01-01T00:00:00.000001Z","cf:price":{"timestamp_micros":3,"value":0.1},"h:state":[{"timestamp_micros":5,"value":"on"},{"timestamp_micros":4,"value":""}],"place:city":"Chur","daily:mon":1,"daily:tue":-2}
"#;

/// How many records an input has.
const RECORDS: u64 = 20;

/// Asserts that the rows of this input are written in both forms, and read again as the same.
fn are_written(shape: &Shape, rows: &[(DynKey, DynRow)], input: &str) {
    for form in [Form::Csv, Form::Json] {
        let Some(text) = written(shape, form, rows) else { continue };
        let again: Vec<_> = match read(shape, form, text.clone()) {
            Ok(again) => again.into_iter().map(|row| row.map_err(|fault| fault.why).unwrap()).collect(),
            Err(failure) => panic!("{failure}: {input:?}"),
        };
        assert_eq!(again.len(), rows.len(), "{input:?}");
        // A NaN is not equal to itself.
        assert_eq!(written(shape, form, &again), Some(text), "{input:?}");
    }
}

#[test]
fn imported() {
    let shape = shape();
    fuzz("imported", |bytes| {
        let mut input = Input::new(bytes);
        let form = [Form::Csv, Form::Json][input.below(2)];
        let shown_input = String::from_utf8_lossy(input.rest()).into_owned();
        match read(&shape, form, input.rest().to_vec()) {
            Ok(rows) => {
                let rows: Vec<_> = rows.into_iter().filter_map(Result::ok).collect();
                are_written(&shape, &rows, &shown_input);
            }
            Err(failure) => assert_harmless(&failure.to_string(), &shown_input),
        }
    });
}

/// Tries mutated records. What is accepted is written, and read again as the same.
fn records(form: Form, kind: u64) {
    let shape = shape();
    let example: Vec<_> =
        read(&shape, Form::Json, EXAMPLE.into()).unwrap().into_iter().map(Result::unwrap).collect();
    let base = written(&shape, form, &example).unwrap();
    let head = match form {
        Form::Csv => base.iter().position(|byte| *byte == b'\n').unwrap() + 1,
        Form::Json => 0,
    };
    let (mut random, mut accepted) = (random(kind), 0);
    for round in 0..count() / RECORDS {
        // Names are as often wrong as values, and then refuse the whole input.
        let mut input =
            if round % 8 == 0 { mutated(&mut random, &base[..head]) } else { base[..head].to_vec() };
        for _ in 0..RECORDS {
            input.extend(mutated(&mut random, &base[head..]));
        }
        let shown_input = String::from_utf8_lossy(&input).into_owned();
        let rows = match read(&shape, form, input) {
            Ok(rows) => rows,
            Err(failure) => {
                assert_harmless(&failure.to_string(), &shown_input);
                continue;
            }
        };
        let rows: Vec<_> = rows.into_iter().filter_map(Result::ok).collect();
        accepted += rows.len() as u64;
        are_written(&shape, &rows, &shown_input);
    }
    println!("{accepted} of {} accepted", count());
    assert!(accepted > count() / 50);
}

#[test]
fn lines_of_csv_that_are_mutated() {
    records(Form::Csv, 2);
}

#[test]
fn lines_of_json_that_are_mutated() {
    records(Form::Json, 3);
}

#[test]
fn files_of_layouts_that_are_mutated() {
    let (base, mut random) = (layouts().to_json(), random(4));
    let (mut accepted, mut kept) = (0, 0);
    for _ in 0..count() {
        let text = mutated_text(&mut random, &base);
        let Ok(layouts) = Layouts::from_json(&text).map_err(|error| {
            kept += u64::from(error.to_string().contains("keeps at most"));
            assert_harmless(&Failure::from(error).to_string(), &text);
        }) else {
            continue;
        };
        accepted += 1;
        let tables: Vec<_> = layouts.table_names().map(str::to_owned).collect();
        for language in [Language::Sql, Language::Hcl, Language::Markdown, Language::Python] {
            match generate(language, &layouts, &tables, None) {
                Ok(output) => assert_harmless(&output.text, &text),
                Err(error) => assert_harmless(&Failure::from(error).to_string(), &text),
            }
        }
        for layout in tables.iter().flat_map(|table| layouts.table_layouts(table).unwrap_or_default()) {
            // `layouts show` escapes these lines.
            layout.row_types().iter().flat_map(|row| columns_of(row)).for_each(drop);
        }
    }
    println!("{accepted} of {} accepted; {kept} were too many for a process", count());
    assert!(accepted > count() / 50);
}
