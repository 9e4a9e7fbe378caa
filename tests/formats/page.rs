//! The page of the key format matches the code: its tables are generated from the list.
//!
//! With `KEYDERIVE_BLESS=1` the tests rewrite the tables.

use std::path::Path;

use keyderive::key::{KeySchema, Width};

use super::Case;
use super::cases::cases;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../keyderive/FORMAT.md");

/// The types that the page calls times, and dates.
const TIMES: &str = "`SystemTime`, `DateTime<Utc>`, `Timestamp`, `OffsetDateTime`, `UtcDateTime`";
const DATES: &str = "`NaiveDate`, `civil::Date`, `time::Date`";

/// A line of a table, for all types that are written in the same way.
struct Line {
    attributes: String,
    types: Vec<String>,
    codec: String,
    written: String,
    width: String,
    example: String,
}

impl Line {
    fn of(case: &Case) -> Self {
        let field = &case.schema.fields()[1];
        Self {
            attributes: attributes(case.attributes),
            types: vec![type_name(case.type_name)],
            codec: unspaced(case.codec).replace("GREATEST", "{ i64::MAX }"),
            written: field.written().to_string(),
            width: match field.width() {
                Width::Fixed(width) => width.to_string(),
                Width::Between(least, most) => format!("{least} to {most}"),
                _ => "delimited".to_owned(),
            },
            example: example(case),
        }
    }

    fn continues(&self, before: &Self) -> bool {
        (&self.attributes, &self.codec, &self.written, &self.width)
            == (&before.attributes, &before.codec, &before.written, &before.width)
    }

    fn print(&self) -> String {
        let Self { attributes, types, codec, written, width, example } = self;
        let types = match types.join(", ") {
            names if names == TIMES => "times".to_owned(),
            names if names == DATES => "dates".to_owned(),
            names => names,
        };
        format!("| {attributes} | {types} | `{codec}` | {written} | {width} | {example} |\n")
    }
}

/// `[#[pad(6)] #[row_key(desc)]]` without the brackets around all.
fn attributes(tokens: &str) -> String {
    let attributes = tokens.trim_start_matches('[').strip_suffix(']').unwrap_or(tokens);
    if attributes.is_empty() { "none".to_owned() } else { format!("`[{attributes}`").replace("`[#[", "`#[") }
}

/// The name of a type for readers.
fn type_name(name: &str) -> String {
    match name {
        "Kind" => "enums of codes".to_owned(),
        name => format!("`{}`", unspaced(&name.replace("'a, ", "").replace("'a ", ""))),
    }
}

/// A type without the spaces that the compiler prints around punctuation.
fn unspaced(name: &str) -> String {
    [" < ", "< ", " <", " >", ":: ", " ::", "& "]
        .iter()
        .fold(name.to_owned(), |name, spaced| name.replace(spaced, spaced.trim()))
}

/// A value and its bytes, as text or in hexadecimal.
fn example(case: &Case) -> String {
    let written = case.examples.iter().find_map(|value| Some((value, (case.write)(value)?)));
    let (value, bytes) = written.unwrap_or_else(|| panic!("{} has no example", case.name()));
    let bytes = match case.layout {
        "text" => String::from_utf8(bytes).expect("text"),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "),
    };
    format!("{value}: `{bytes}`")
}

/// The table of a layout. It leaves out `exact`, which rejects values and changes no bytes.
fn table(layout: &str) -> String {
    let mut lines: Vec<Line> = Vec::new();
    for case in cases().iter().filter(|case| case.layout == layout && !case.attributes.contains("exact")) {
        let line = Line::of(case);
        match lines.last_mut().filter(|last| line.continues(last)) {
            Some(last) => last.types.extend(line.types),
            None => lines.push(line),
        }
    }
    let head = "| attributes | types | codec | written | bytes | example |\n|---|---|---|---|---|---|\n";
    head.to_owned() + &lines.iter().map(Line::print).collect::<String>()
}

/// The byte range of a table in the page.
fn place(page: &str, layout: &str) -> std::ops::Range<usize> {
    let begin = format!("<!-- formats: {layout} -->\n");
    let begin = page.find(&begin).unwrap_or_else(|| panic!("no `{begin}` in the page")) + begin.len();
    let end = page[begin..].find("<!-- end of formats -->").expect("an end of the table");
    begin..begin + end
}

#[test]
fn the_page_says_what_is_written() {
    let mut page = std::fs::read_to_string(PAGE).unwrap();
    for layout in ["text", "ordered"] {
        let place = place(&page, layout);
        if std::env::var_os("KEYDERIVE_BLESS").is_some() {
            page.replace_range(place, &table(layout));
            std::fs::write(Path::new(PAGE), &page).unwrap();
        } else {
            assert_same_lines(&page[place], &table(layout));
        }
    }
}

/// Fails at the first line that differs.
#[track_caller]
fn assert_same_lines(page: &str, expected: &str) {
    for (page, expected) in page.lines().zip(expected.lines()) {
        assert_eq!(page, expected, "write the page anew with KEYDERIVE_BLESS=1");
    }
    assert_eq!(page.lines().count(), expected.lines().count(), "write the page anew with KEYDERIVE_BLESS=1");
}

#[test]
fn the_page_is_of_the_version_that_the_schema_says() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    assert!(page.starts_with(&format!("# Key format, version {}\n", KeySchema::FORMAT_VERSION)));
}
