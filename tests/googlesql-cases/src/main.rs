//! Converts the compliance cases of GoogleSQL's reference implementation to the tables that the tests of `keyderive-googlesql` read.
//!
//! ```sh
//! git clone https://github.com/google/zetasql
//! cargo run -p keyderive-googlesql-cases -- zetasql crates/googlesql/src/tests/compliance
//! ```
//!
//! Cases of functions come from lists of values in C++ (`functions_testlib*.cc`), of which it runs as much as it understands, and queries
//! from the `.test` files. It prints how many cases it could not read, and why. The README of the folder says how a table reads.

#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "C++ converts numbers so")]

mod cpp;
mod eval;
mod files;
mod functions;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

use value::{Type, Value};

/// A query, and what the reference answers.
struct Case {
    name: String,
    query: String,
    /// The tables that it reads, as arrays of structs.
    tables: Vec<(String, String)>,
    features: Vec<String>,
    expected: Expected,
}

enum Expected {
    Rows(Type, Value),
    /// Floats may differ in their last digits.
    Near(Type, Value),
    /// A status code and a message.
    Error(String, String),
    /// A type that Bigtable does not have.
    Foreign(String),
}

/// What was not read, or left out.
#[derive(Default)]
struct Tally {
    unread: BTreeMap<String, usize>,
    left_out: BTreeMap<String, usize>,
}

impl Tally {
    fn unread(&mut self, reason: &str) {
        self.unread_by(reason, 1);
    }

    fn unread_by(&mut self, reason: &str, count: usize) {
        *self.unread.entry(reason.to_owned()).or_default() += count;
    }
}

/// How many cases of what Bigtable does not have are kept, for each type or feature.
const FEW: usize = 3;
/// How many cases of a function or file are kept that the engine refuses.
const SOME: usize = 8;
/// How many cases of one function or file are kept.
const MANY: usize = 150;

/// Features of the reference that Bigtable's SQL has, or that change nothing for it.
const FEATURES: &[&str] = &[
    "SAFE_FUNCTION_CALL",
    "ORDER_BY_IN_AGGREGATE",
    "NULL_HANDLING_MODIFIER_IN_AGGREGATE",
    "LIMIT_IN_AGGREGATE",
    "GROUP_BY_ARRAY",
    "GROUP_BY_STRUCT",
    "NULLS_FIRST_LAST_IN_ORDER_BY",
    "ARRAY_ORDERING",
    "ARRAY_EQUALITY",
    "SELECT_STAR_EXCEPT_REPLACE",
    "ADDITIONAL_STRING_FUNCTIONS",
    "CAST_DIFFERENT_ARRAY_TYPES",
    "IMPLICIT_COERCION_STRING_LITERAL_TO_BYTES",
    "DATE_TIME_CONSTRUCTORS",
    "ARRAY_AGGREGATION_FUNCTIONS",
    "ARRAY_FIND_FUNCTIONS",
    "ADDITIONAL_DATE_TIME_FUNCTIONS",
    "WEEK_WITH_WEEKDAY",
    "DATE_ARITHMETICS",
    "FIRST_AND_LAST_N",
    "TIME_BUCKET_FUNCTIONS",
    "GROUP_BY_ALL",
    "ALIASES_FOR_STRING_AND_DATE_FUNCTIONS",
    "LITERAL_CONCATENATION",
];

/// The types of which no literal can be written.
const UNWRITABLE: &[&str] = &["PROTO", "ENUM", "RANGE", "MAP", "TOKENLIST", "GRAPH_PATH", "TESTENUM"];
/// Files of statements, functions and types that Bigtable does not have, by the start of their names.
const FOREIGN_FILES: &[&str] = &[
    "dml_",
    "proto_",
    "anonymization",
    "differential_privacy",
    "replace_fields",
    "enum_",
    "pico_",
    "nano_",
    "hll_",
    "aead",
    "graph_",
];
/// Clauses that Bigtable does not have.
const FOREIGN_CLAUSES: &[&str] =
    &["UNION ALL", "UNION DISTINCT", "INTERSECT ", "EXCEPT ALL", "EXCEPT DISTINCT", " JOIN ", "ARRAY(SELECT"];
/// The longest query that is kept, in bytes.
const LONGEST: usize = 1500;

/// Functions that Bigtable does not have, by their names or the start of these.
const FOREIGN_FUNCTIONS: &[&str] = &[
    "NET.",
    "PARSE_DATETIME",
    "PARSE_TIME(",
    "FORMAT_DATETIME",
    "FORMAT_TIME(",
    "MANHATTAN_DISTANCE",
    "APPROX_",
    "L1_NORM",
    "L2_NORM",
    "NEXT_DAY",
    "ADD_MONTHS",
    "REGEXP_MATCH(",
    "ARRAYREMOVE",
    "JSON_",
    "TO_JSON",
    "FROM_PROTO",
    "SPLIT_SUBSTR",
];

/// Functions that the engine refuses by name.
const REFUSED_FUNCTIONS: &[&str] = &[
    "ARRAYSLICE",
    "ARRAYMIN",
    "ARRAYMAX",
    "ARRAYFIRSTN",
    "ARRAYLASTN",
    "SAFEARRAY",
    "ARRAY_SLICE",
    "ARRAY_MIN",
    "ARRAY_MAX",
    "ARRAY_FIRST_N",
    "ARRAY_LAST_N",
    "ARRAY_REMOVE",
    "ARRAY_IS_DISTINCT",
    "INSTR",
    "REGEXP_INSTR",
    "REGEXP_EXTRACT_ALL",
    "LAST_DAY",
    "FORMAT(",
    "GENERATE_",
    "TRANSLATE",
    "RANGE_BUCKET",
    "CSC",
    "SEC",
    "COT",
    "SOUNDEX",
    "INITCAP",
    "LCASE",
    "UCASE",
    "BIT_COUNT",
    "ASCII",
    "UNICODE",
    "CHR(",
    "NORMALIZE",
];

/// The name of the function that a query calls first, without `SAFE.`.
fn function(query: &str) -> &str {
    let call = query.strip_prefix("SELECT ").unwrap_or(query);
    call.strip_prefix("SAFE.").unwrap_or(call)
}

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let (Some(checkout), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other(
            "write the path of a checkout of google/zetasql, and the folder of the tables",
        ));
    };
    let source = Path::new(&checkout).join("zetasql/compliance");
    let mut names: Vec<_> =
        fs::read_dir(&source)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    names.sort();
    let is_library = |path: &&std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("functions_testlib") && (name.ends_with(".cc") || name.ends_with("common.h"))
    };
    let library = names.iter().filter(is_library).map(fs::read_to_string).collect::<io::Result<Vec<_>>>()?;
    let mut tally = Tally::default();
    let cases =
        functions::read(&library, &fs::read_to_string(source.join("compliance_test_cases.cc"))?, &mut tally);
    write(&Path::new(&folder).join("functions.txt"), cases, tally)?;

    let mut names: Vec<_> =
        fs::read_dir(source.join("testdata"))?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    names.sort();
    let mut tally = Tally::default();
    let mut cases = Vec::new();
    for path in names.iter().filter(|path| path.extension().is_some_and(|extension| extension == "test")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        cases.extend(files::read(&name, &fs::read_to_string(path)?, &mut tally));
    }
    write(&Path::new(&folder).join("queries.txt"), cases, tally)
}

/// The class of a case, and how many of it are kept.
fn class(Case { name, query, features, expected, .. }: &Case) -> (String, usize) {
    let foreign = features.iter().find(|feature| !FEATURES.contains(&&feature[..]));
    let called =
        FOREIGN_FUNCTIONS.iter().find(|name| function(query).to_ascii_uppercase().starts_with(**name));
    let refused =
        REFUSED_FUNCTIONS.iter().find(|name| function(query).to_ascii_uppercase().starts_with(**name));
    const COMPARISONS: [&str; 8] = ["eq", "ne", "lt", "le", "gt", "ge", "greatest", "least"];
    match (expected, foreign) {
        _ if query.len() > LONGEST => (format!("queries of more than {LONGEST} bytes"), 0),
        (Expected::Foreign(of), _) => {
            let of = of.split('<').next().unwrap_or_default();
            (format!("the type {of}"), if UNWRITABLE.contains(&of) { 0 } else { FEW })
        }
        _ if let Some(name) = called => (format!("the functions {name}"), FEW),
        (_, Some(feature)) => (format!("the feature {feature}"), FEW),
        _ if let Some(file) = FOREIGN_FILES.iter().find(|file| name.starts_with(**file)) => {
            (format!("the files {file}"), FEW)
        }
        _ if let Some(name) = refused => (format!("the functions {name}"), SOME),
        // The engine compares no arrays and no structs.
        _ if COMPARISONS.contains(&&name[..]) && (query.contains("ARRAY<") || query.contains("STRUCT(")) => {
            (format!("{name} of arrays and structs"), SOME)
        }
        _ if let Some((file, _)) = name.split_once('/')
            && FOREIGN_CLAUSES.iter().any(|words| query.to_ascii_uppercase().contains(words)) =>
        {
            (format!("{file} with clauses that Bigtable does not have"), SOME)
        }
        _ => (name.split('/').next().unwrap_or_default().trim_start_matches("safe.").to_owned(), MANY),
    }
}

/// Writes a table.
fn write(path: &Path, cases: Vec<Case>, mut tally: Tally) -> io::Result<()> {
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut tables: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut lines = String::new();
    let (mut read, mut written) = (0, 0);
    let mut classes: BTreeMap<String, usize> = BTreeMap::new();
    let mut classed = Vec::new();
    for case in cases {
        if !seen.insert((case.query.clone(), case.tables.clone())) {
            continue;
        }
        read += 1;
        let (class, most) = class(&case);
        *classes.entry(class.clone()).or_default() += 1;
        classed.push((case, class, most));
    }
    for (case, class, most) in classed {
        // As many of each class as there may be, spread over all of them.
        let count = kept.entry(class.clone()).or_default();
        *count += 1;
        let share = |count: usize| count * most / classes[&class].max(most);
        if share(*count) == share(*count - 1) {
            *tally.left_out.entry(class).or_default() += 1;
            continue;
        }
        written += 1;
        let Case { name, query, tables: used, features, expected } = case;
        let foreign = features.iter().find(|feature| !FEATURES.contains(&&feature[..]));
        let mut query = query;
        for table in used {
            let next = tables.len();
            let id = *tables.entry(table.clone()).or_insert(next);
            query = query.replace(&format!("{{{}}}", table.0), &format!("{{{} {id}}}", table.0));
        }
        let expected = match expected {
            Expected::Foreign(_) => "!UNIMPLEMENTED".to_owned(),
            Expected::Error(code, message) => format!("!{code}\t{message}"),
            Expected::Rows(of, value) => format!("{}\t{}", of.sql(), value.table()),
            Expected::Near(of, value) => format!("{}\t{}\tnear", of.sql(), value.table()),
        };
        let feature = foreign.map(|feature| format!("\t{feature}")).unwrap_or_default();
        let _ = writeln!(lines, "{name}\t{query}\t{expected}{feature}");
    }
    let mut text = format!("# {written} of {read} cases that were read.\n");
    for (class, count) in &tally.left_out {
        let _ = writeln!(text, "# left out of {class}: {count}");
    }
    println!("{}: {written} of {read} cases", path.display());
    for (reason, count) in &tally.unread {
        println!("  not read: {count}: {reason}");
    }
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by_key(|(_, id)| *id);
    for ((name, rows), id) in tables {
        let _ = writeln!(text, "{{{name} {id}}}\t{rows}");
    }
    fs::write(path, text + &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name, the query and the answer of each case.
    fn shown(cases: Vec<Case>) -> Vec<(String, String, String)> {
        let answer = |expected| match expected {
            Expected::Rows(of, value) => format!("{} {}", of.sql(), value.table()),
            Expected::Near(of, value) => format!("{} near {}", of.sql(), value.table()),
            Expected::Error(code, message) => format!("{code} {message}"),
            Expected::Foreign(of) => of,
        };
        cases.into_iter().map(|case| (case.name, case.query, answer(case.expected))).collect()
    }

    fn expect(found: Vec<Case>, expected: &[(&str, &str, &str)]) {
        let owned = |(name, query, answer): &(&str, &str, &str)| {
            ((*name).to_owned(), (*query).to_owned(), (*answer).to_owned())
        };
        assert_eq!(shown(found), expected.iter().map(owned).collect::<Vec<_>>());
    }

    #[test]
    fn lists_of_cpp_become_queries() {
        let library = r#"
            struct Pair { std::string text; int64_t length; };
            static std::vector<Pair> GetPairs(bool is_long) {
              std::vector<Pair> pairs = {{"\xc3\xa9", 2}};
              if (is_long) pairs.push_back({"a" "b", 2});
              return pairs;
            }
            std::vector<FunctionTestCall> GetFunctionTestsAll() {
              auto error = [](absl::string_view text) {
                return FunctionTestCall("chr", {String(text), NullDouble()}, NullInt64(), OUT_OF_RANGE);
              };
              std::vector<FunctionTestCall> tests = {
                {"round", {3.5f, -2ll}, float_nan, kApproximate},  // a comment
                {"abs", {Numeric(1)}, Numeric(1)},
                {"array_length", {values::Int64Array({1, int64max})}, Int64(1 + 1)},
                error("x"),
              };
              for (const Pair& pair : GetPairs(/*is_long=*/true)) {
                tests.push_back({"byte_length", {Bytes(pair.text)}, Int64(pair.length)});
              }
              return tests;
            }
            std::vector<QueryParamsWithResult> GetFunctionTestsAdd() { return {{{DateFromStr("2024-02-29"), 1ll}, DateFromStr("2024-03-01")}}; }
        "#;
        let tests = r#"
            SHARDED_TEST_F(Tests, All, 1) { RunFunctionCalls(Shard(GetFunctionTestsAll())); }
            SHARDED_TEST_F(Tests, Add, 1) { SetNamePrefix("Add"); RunStatementTests(Shard(GetFunctionTestsAdd()), "@p0 + @p1"); }
        "#;
        let found = functions::read(&[library.to_owned()], tests, &mut Tally::default());
        expect(
            found,
            &[
                ("round", "SELECT ROUND(CAST(3.5 AS FLOAT32), -2)", "FLOAT32 near NaN"),
                ("abs", "SELECT ABS(CAST('1' AS NUMERIC))", "NUMERIC"),
                ("array_length", "SELECT ARRAY_LENGTH(ARRAY<INT64>[1, 9223372036854775807])", "INT64 2"),
                ("chr", "SELECT CHR('x', CAST(NULL AS FLOAT64))", "OUT_OF_RANGE "),
                ("safe.chr", "SELECT SAFE.CHR('x', CAST(NULL AS FLOAT64))", "INT64 NULL"),
                ("byte_length", r"SELECT BYTE_LENGTH(b'\xc3\xa9')", "INT64 2"),
                ("byte_length", "SELECT BYTE_LENGTH(b'ab')", "INT64 2"),
                ("add", "SELECT DATE '2024-02-29' + 1", "DATE 2024-03-01"),
            ],
        );
    }

    #[test]
    fn queries_of_files_have_their_tables_and_parameters() {
        let file = r#"
[prepare_database]
CREATE TABLE T AS SELECT 1 AS a, CAST(2 AS INT32) AS b
--
ARRAY<STRUCT<a INT64, b INT32>>[{1, 2}]
==
# A comment.
[name=one]
[parameters="x" as p, cast(2 as double) q]
SELECT a, @p,  -- a comment
  @q FROM T ORDER BY a
--
ARRAY<STRUCT<a INT64, STRING, DOUBLE>>[known order:{1, "x\n", 2}]
==
[name=two]
SELECT b FROM T
--
ARRAY<STRUCT<b INT32>>[{2}]
==
[name=three]
SELECT [1], NULL
--
ARRAY<STRUCT<ARRAY<>, INT64>>[unknown order:{ARRAY<INT64>[1], NULL}, {NULL, 2}]
==
[name=four]
SELECT 1/0
--
ERROR: generic::out_of_range: division by zero: 1 / 0
"#;
        let mut tally = Tally::default();
        let found = files::read("file", file, &mut tally);
        assert_eq!(found[0].tables, [("T".to_owned(), "[STRUCT(1 AS a)]".to_owned())]);
        expect(
            found,
            &[
                (
                    "file/one",
                    "SELECT a, (\"x\"), (cast(2 as FLOAT64)) FROM {T} ORDER BY a",
                    "ARRAY<STRUCT<a INT64, STRING, FLOAT64>> [(1, \"x\\n\", 2.0)]",
                ),
                (
                    "file/three",
                    "SELECT [1], NULL",
                    "ARRAY<STRUCT<ARRAY<INT64>, INT64>> ?[([1], NULL), (NULL, 2)]",
                ),
                ("file/four", "SELECT 1/0", "OUT_OF_RANGE division by zero: 1 / 0"),
            ],
        );
        assert_eq!(tally.unread["queries of a column of the type INT32"], 1);
    }
}
