//! The messages of the derives about misuse, word for word, each at its token: without a compiler, so in each run of the tests.
//!
//! `messages/<subject>.txt` has the cases of a subject. A case is its name and a declaration, indented by two spaces; below the line of a
//! token at fault stands the message of the derive, with carets under the token:
//!
//! ```text
//! # the tag is empty
//!   #[derive(RowKey)]
//!   #[row_key(tag = "")]
//! ~                 ^^ the tag is empty; give it a text, or leave `tag` out
//!   struct EventKey {
//!       user_id: String,
//!   }
//! ```
//!
//! The other lines of a message follow below its first. A warning is the use of a deprecated constant, so it begins with the compiler's words
//! for that. Each message marks tokens of one line: at the derive itself, or at a whole struct, it would not show the fault.
//!
//! `KEYDERIVE_BLESS=1 cargo test -p keyderive-macros` writes the messages anew; read them before they are committed, since they are what
//! users see. `tests/ui` has what the compiler says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{LineColumn, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, DeriveInput, Expr, ExprLit, Item, Lit, LitStr, MetaNameValue};

use crate::{cell, key_field, query_row, row, row_key};

/// A message of a derive, and where its token starts and ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    start: LineColumn,
    end: LineColumn,
    text: String,
}

/// The messages of the derives in a file.
#[derive(Default)]
struct Rejected {
    errors: Vec<Message>,
    warnings: Vec<Message>,
    /// How many derives there were.
    derives: usize,
}

impl Rejected {
    fn derive(&mut self, attributes: &[Attribute], item: &Item) {
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
            let Ok(list) = attribute.meta.require_list() else { continue };
            for name in list.tokens.clone() {
                let derive = match name.to_string().as_str() {
                    "RowKey" => row_key::row_key,
                    "KeyField" => key_field::key_field,
                    "Cell" => cell::cell,
                    "Row" => row::row,
                    "FromQueryRow" => query_row::query_row,
                    _ => continue,
                };
                let input: DeriveInput = syn::parse2(quote::ToTokens::to_token_stream(item)).unwrap();
                self.derives += 1;
                self.messages(derive(&input));
            }
        }
    }

    /// The invocations of `compile_error!`, and the uses of deprecated constants, each the last token of its block.
    fn messages(&mut self, code: TokenStream) {
        let trees: Vec<TokenTree> = code.into_iter().collect();
        for (at, tree) in trees.iter().enumerate() {
            let TokenTree::Group(group) = tree else { continue };
            match &trees[..at] {
                [.., TokenTree::Ident(name), TokenTree::Punct(_)] if name == "compile_error" => {
                    let text = syn::parse2::<LitStr>(group.stream()).unwrap().value();
                    self.errors.push(Message { start: name.span().start(), end: group.span().end(), text });
                }
                [.., TokenTree::Punct(hash)] if hash.as_char() == '#' => {
                    let Ok(meta) = syn::parse2::<MetaNameValue>(group.stream()) else { continue };
                    if let (true, Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), Some(used)) =
                        (meta.path.is_ident("deprecated"), meta.value, trees.last())
                    {
                        let text = format!("use of deprecated constant `_::{used}`: {}", text.value());
                        let [start, end] = [used.span().start(), used.span().end()];
                        self.warnings.push(Message { start, end, text });
                    }
                }
                _ => self.messages(group.stream()),
            }
        }
    }
}

impl<'ast> Visit<'ast> for Rejected {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Struct(of) => self.derive(&of.attrs, item),
            Item::Enum(of) => self.derive(&of.attrs, item),
            Item::Union(of) => self.derive(&of.attrs, item),
            _ => {}
        }
        visit::visit_item(self, item);
    }
}

fn rejected(code: &str) -> Rejected {
    let mut rejected = Rejected::default();
    rejected.visit_file(&syn::parse_file(code).unwrap());
    rejected
}

/// The texts of the errors of a declaration.
fn errors(code: &str) -> Vec<String> {
    rejected(code).errors.into_iter().map(|error| error.text).collect()
}

/// A case with what the derives say of its code.
fn said(case: &str) -> String {
    let (name, lines) = case.split_once('\n').unwrap();
    assert!(name.starts_with("# "), "a case begins with its name, and not with: {name}");
    let is_code = |line: &&str| {
        assert!(
            line.starts_with("  ") || line.starts_with("~ "),
            "{name}: a line is neither code nor a message: {line}"
        );
        line.starts_with("  ")
    };
    let code: Vec<&str> = lines.lines().filter(is_code).collect();
    let Rejected { errors, warnings, .. } =
        rejected(&code.iter().map(|line| format!("{}\n", &line[2..])).collect::<String>());
    let mut messages = [errors, warnings].concat();
    messages.sort();
    assert!(!messages.is_empty(), "{name}: no derive says anything");
    let mut said = name.to_owned();
    for (line, text) in (1..).zip(code) {
        said += &format!("\n{text}");
        for Message { start, end, text } in messages.iter().filter(|message| message.start.line == line) {
            assert!(
                end.line == line && start.column < end.column,
                "{name}: the token is of several lines, or of none: {text}"
            );
            let mut mark = "^".repeat(end.column - start.column);
            for line in text.lines() {
                said += &format!("\n~ {}{mark} {line}", " ".repeat(start.column));
                mark = " ".repeat(mark.len());
            }
        }
    }
    said
}

/// The lines of two texts, of which those between what both begin and end with are those of one of them.
fn difference(before: &str, after: &str) -> String {
    let [before, after] = [before, after].map(|text| text.lines().collect::<Vec<_>>());
    let start = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
    let [before_rest, after_rest] = [&before[start..], &after[start..]];
    let ends = before_rest.iter().rev().zip(after_rest.iter().rev());
    let end = ends.take_while(|(before, after)| before == after).count();
    let marked =
        |mark: &str, lines: &[&str]| lines.iter().map(|line| format!("{mark} {line}\n")).collect::<String>();
    let [removed, added] = [before_rest, after_rest].map(|rest| &rest[..rest.len() - end]);
    [
        marked(" ", &before[..start]),
        marked("-", removed),
        marked("+", added),
        marked(" ", &before[before.len() - end..]),
    ]
    .concat()
}

#[test]
fn misuse_is_rejected_with_these_messages() {
    let mut names = BTreeSet::new();
    let mut differences = Vec::new();
    for subject in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/messages")).unwrap() {
        let path = subject.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let mut cases = Vec::new();
        for case in text.trim_end().split("\n\n") {
            let now = said(case);
            let name = now.lines().next().unwrap().to_owned();
            if now != case {
                differences.push(format!("{}\n{}", path.display(), difference(case, &now)));
            }
            assert!(names.insert(name.clone()), "two cases have one name: {name}");
            cases.push(now);
        }
        if std::env::var_os("KEYDERIVE_BLESS").is_some() {
            fs::write(&path, cases.join("\n\n") + "\n").unwrap();
            differences.clear();
        }
    }
    assert!(
        differences.is_empty(),
        "`KEYDERIVE_BLESS=1` writes what the derives say now:\n\n{}",
        differences.join("\n")
    );
    assert!(names.len() > 200, "{} cases", names.len());
}

/// So the tokens that these tests find are the compiler's.
#[test]
fn the_compiler_marks_the_same_tokens() {
    let mut compared = 0;
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|of| of != "stderr") {
            continue;
        }
        let stderr = fs::read_to_string(&file).unwrap();
        let code = fs::read_to_string(file.with_extension("rs")).unwrap();
        let Rejected { mut errors, warnings, .. } = rejected(&code);
        if code.contains("#![deny(") {
            errors.extend(warnings);
        }
        let of_macros = stderr.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors.len(), of_macros, "{}: {errors:?}", file.display());
        for Message { start, end, text } in errors {
            let source = code.lines().nth(start.line - 1).unwrap();
            // On stable Rust, the span of a negative number is that of its sign.
            let is_negative = source.chars().nth(start.column) == Some('-');
            let width = if is_negative { 1 } else { end.column - start.column };
            let gutter = " ".repeat(start.line.to_string().len());
            let message = format!(
                "error: {}\n{gutter}--> {}:{}:{}\n{gutter} |\n{} | {source}\n{gutter} | {}{}\n",
                text.replace('\n', "\n       "),
                file.with_extension("rs").file_name().unwrap().display(),
                start.line,
                start.column + 1,
                start.line,
                " ".repeat(start.column),
                "^".repeat(width),
            );
            assert!(stderr.contains(&message), "{} does not have\n{message}", file.display());
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared} messages");
}

/// The files of code below a folder of the repository, but those of `tests/ui` and `tests/shapes`, of which some must not compile.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !["ui", "shapes", "target"].iter().any(|folder| path.ends_with(folder)) {
            files(&path, found);
        } else if path.extension().is_some_and(|of| of == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn what_compiles_is_accepted() {
    let mut found = Vec::new();
    for folder in ["tests", "examples"] {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder), &mut found);
    }
    let mut types = 0;
    for path in found {
        let Rejected { errors, derives, .. } = rejected(&fs::read_to_string(&path).unwrap());
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        types += derives;
    }
    assert!(types > 500, "{types} types");
}

/// What a rule accepts, and what it only just rejects.
#[test]
fn rules_at_their_limits() {
    let row = |options: &str, fields: &str| format!("#[derive(Row)] {options} struct A {{ {fields} }}");
    let key = |options: &str, fields: &str| format!("#[derive(RowKey)] {options} struct A {{ {fields} }}");
    let column = |len: usize| row("", &format!("#[row(name = \"{}\")] a: String", "a".repeat(len)));
    let alias = |name: &str| row("", &format!("#[row(alias = \"{name}\")] a: String"));
    let family = |name: &str| row(&format!("#[row(family = \"{name}\")]"), "a: String");
    let kept = |ttl: &str| row(&format!("#[row(ttl = \"{ttl}\", gc(max_age = \"7d\"))]"), "a: String");
    let window =
        |rule: &str| row("", &format!("#[row(family = \"h\", window = \"1h\", {rule})] a: Versions<Sum>"));
    let pads = |len: usize| key("", &format!("a: String, #[pad(1000)] b: String, #[pad({len})] c: String"));
    for (accepted, rejected_code, message) in [
        (column(16_384), column(16_385), "a column's name has at most 16384 bytes"),
        (alias("old:b"), alias("o/d:b"), "`o/d` cannot name a family"),
        (alias("b"), alias(""), "the empty name"),
        (family(&"a".repeat(64)), family(&"a".repeat(65)), "1 to 64 ASCII letters"),
        (family("keyderive-a"), family("keyderive-origin"), "are the library's"),
        (kept("7d"), kept("8d"), "`ttl` is longer than `max_age`"),
        (window("ttl = \"1h\""), window("ttl = \"59m\""), "longer than the `ttl`"),
        (window("gc(max_age = \"1h\")"), window("gc(max_age = \"59m\")"), "longer than the `max_age`"),
        (alias("old:b"), alias("old:"), "the empty name"),
        (
            row("", "#[row(alias = \"x\")] a: String, #[row(alias = \"y\")] b: String"),
            row("", "#[row(alias = \"x\")] a: String, #[row(alias = \"x\")] b: String"),
            "and an alias of",
        ),
        (row("", "a: Sum"), row("", "a: Sum, #[row(family = \"x\")] b: u64"), "in a family of its kind"),
        (
            row("", "#[row(family = \"x\")] a: Sum, b: u64"),
            row("#[row(family = \"cf\")]", "a: Sum"),
            "in a family of its kind",
        ),
        (row("", "#[row(json)] a: usize"), row("", "a: usize"), "depends on the machine"),
        (row("", "#[row(with = \"m\")] a: isize"), row("", "a: isize"), "depends on the machine"),
        (row("", "a: Versions<u64>"), row("", "#[row(default)] a: Versions<u64>"), "`Versions` are empty"),
        (
            row("#[row(fingerprint = \"0123456789abcdef\")]", "a: String"),
            row("#[row(fingerprint = \"0123456789abcdef\")]", "a: T").replace("A {", "A<T> {"),
            "a row with type parameters",
        ),
        (pads(3094), pads(3095), "takes at least 4097 bytes"),
        (key("", "#[pad(4)] a: String"), key("", "#[pad(4)] a: Vec<u8>"), "this is bytes"),
        (
            key("", "#[pad(4)] a: &'a str").replace("A {", "A<'a> {"),
            key("", "#[pad(4)] a: &'a [u8]").replace("A {", "A<'a> {"),
            "this is bytes",
        ),
        (
            key("", "a: String, #[row_key(desc)] b: u32"),
            key("", "a: String, #[row_key(hash(md5), desc)] b: u32"),
            "a hash has no order",
        ),
        (
            key("", "a: String, #[row_key(bit_reverse)] b: u32"),
            key("", "a: String, #[row_key(bit_reverse)] #[pad(10)] b: u32"),
            "`bit_reverse` needs all digits",
        ),
        (
            key("", "#[row_key(bit_reverse)] a: u32, #[row_key(desc)] at: SystemTime"),
            key("", "#[row_key(desc)] at: SystemTime, b: u32"),
            "is a time with the newest first",
        ),
        (
            key("#[row_key(display)]", "a: String, b: u32"),
            key("#[row_key(display, layout = \"ordered\")]", "a: String, b: u32"),
            "the ordered layout is not text",
        ),
        (
            key("", "#[row_key(hash(md5))] a: String, b: u32"),
            key("#[row_key(display)]", "#[row_key(hash(md5))] a: String, b: u32"),
            "a hashed field cannot be decoded",
        ),
    ] {
        assert_eq!(errors(&accepted), [""; 0], "{accepted}");
        let errors = errors(&rejected_code);
        assert!(errors.len() == 1 && errors[0].contains(message), "{errors:?}");
    }
}

/// Each fault is said, and the first of two encodings is named.
#[test]
fn a_counter_with_two_encodings_has_two_faults() {
    let errors = errors("#[derive(Row)] struct A { #[row(counter, proto, json)] views: i64 }");
    let says = |text: &str| errors.iter().any(|error| error.contains(text));
    assert!(errors.len() == 2 && says("`json` and `proto` are two encodings"), "{errors:?}");
    assert!(says("stored as an integer and not as `json`"), "{errors:?}");
}

/// What a salt with a fault would be is not known.
#[test]
fn a_faulty_salt_is_not_called_the_same_as_another() {
    let code = |option: &str| {
        format!(
            "#[derive(RowKey)] #[salt(range = 4, over = \"user\" {option})] #[salt(range = 4, over = \"user\", since(at = 100))] \
             struct A {{ user: String, #[pad(9)] at: u64 }}"
        )
    };
    let is_called_so = |option| {
        let errors = errors(&code(option));
        assert!(!errors.is_empty());
        errors.iter().any(|error| error.contains("have the same salt"))
    };
    assert!(is_called_so(""));
    assert!(!is_called_so(", bogus = 1"));
}

/// The compiler says what is wrong with the types of the other fields.
#[test]
fn a_faulty_field_leaves_the_others_as_they_are() {
    let stand_ins = |others: &str| {
        let code = format!("struct A {{ {others} #[row(counter, json)] views: i64 }}");
        row::row(&syn::parse_str(&code).unwrap()).to_string().matches("Faulty").count()
    };
    assert_eq!(stand_ins("kind: String,"), stand_ins(""));
    assert_ne!(stand_ins(""), 0);
}

/// Only a lifetime is borrowed, and not a type of its name.
#[test]
fn what_a_module_writes_borrows_no_lifetime() {
    let key = |of: &str| {
        format!("#[derive(RowKey)] struct A<'a> {{ a: &'a str, #[row_key(with = \"m\")] b: {of} }}")
    };
    for owned in ["a", "m::a", "Box<dyn a>", "[a; 4]", "(u8, a)", "Vec<&'static a>"] {
        assert_eq!(errors(&key(owned)), [""; 0], "{owned}");
    }
    for borrowed in ["&'a str", "Cow<'a, str>", "(u8, [&'a str; 2])"] {
        let errors = errors(&key(borrowed));
        assert!(errors.len() == 1 && errors[0].contains("owns its value"), "{borrowed}: {errors:?}");
    }
}

#[test]
fn a_salt_over_too_few_values_is_a_warning() {
    let warnings = |range: u32, of: &str| {
        let code = format!(
            "#[derive(RowKey)] #[salt(range = {range}, over = \"a\")] struct A {{ a: {of}, b: u32 }}"
        );
        rejected(&code).warnings.into_iter().map(|warning| warning.text).collect::<Vec<_>>()
    };
    for (of, values) in [("bool", 2), ("u8", 256), ("i8", 256)] {
        assert_eq!(warnings(values, of), [""; 0], "{of}");
        let more = warnings(values + 1, of);
        let message = format!("at most {values} values, so 1 of the {} buckets", values + 1);
        assert!(more.len() == 1 && more[0].contains(&message), "{of}: {more:?}");
    }
    assert_eq!(warnings(4096, "u16"), [""; 0]);
}
