//! The derives reject what `tests/ui` says, with these messages: without a compiler, so in each run of the tests.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, DeriveInput, Item, LitStr};

use crate::{cell, key_field, query_row, row, row_key};

/// The messages of the derives in a file.
#[derive(Default)]
struct Rejected {
    errors: Vec<String>,
    warnings: Vec<String>,
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

    /// The texts of `compile_error!`, and of the constants whose use is a warning.
    fn messages(&mut self, code: TokenStream) {
        let mut after = String::new();
        for tree in code {
            match tree {
                TokenTree::Ident(name) => after = name.to_string(),
                TokenTree::Group(group) if after == "compile_error" => {
                    self.errors.push(text(group.stream()));
                    after.clear();
                }
                TokenTree::Literal(literal) if after == "deprecated" => {
                    self.warnings.push(text(TokenTree::from(literal).into()));
                }
                TokenTree::Group(group) => self.messages(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

fn text(literal: TokenStream) -> String {
    syn::parse2::<LitStr>(literal).unwrap().value()
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

/// The errors without a code of the compiler, which are those of macros, and warnings that are denied.
fn expected(stderr: &str) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    let mut is_message = false;
    for line in stderr.lines() {
        if let Some(message) = line.strip_prefix("error: ") {
            let warning =
                message.strip_prefix("use of deprecated constant `").and_then(|rest| rest.split_once("`: "));
            messages.push(warning.map_or(message, |(_, warning)| warning).to_owned());
            is_message = true;
        } else if line.trim_start().starts_with("--> ") {
            is_message = false;
        } else if let (true, Some(message)) = (is_message, messages.last_mut()) {
            message.push('\n');
            message.push_str(line.trim_start());
        }
    }
    messages
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

fn rejected(code: &str) -> Rejected {
    let mut rejected = Rejected::default();
    rejected.visit_file(&syn::parse_file(code).unwrap());
    rejected
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
        assert_eq!(rejected(&accepted).errors, [""; 0], "{accepted}");
        let errors = rejected(&rejected_code).errors;
        assert!(errors.len() == 1 && errors[0].contains(message), "{errors:?}");
    }
}

/// Each fault is said, and the first of two encodings is named.
#[test]
fn a_counter_with_two_encodings_has_two_faults() {
    let errors = rejected("#[derive(Row)] struct A { #[row(counter, proto, json)] views: i64 }").errors;
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
        let errors = rejected(&code(option)).errors;
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
        assert_eq!(rejected(&key(owned)).errors, [""; 0], "{owned}");
    }
    for borrowed in ["&'a str", "Cow<'a, str>", "(u8, [&'a str; 2])"] {
        let errors = rejected(&key(borrowed)).errors;
        assert!(errors.len() == 1 && errors[0].contains("owns its value"), "{borrowed}: {errors:?}");
    }
}

#[test]
fn a_salt_over_too_few_values_is_a_warning() {
    let warnings = |range: u32, of: &str| {
        let code = format!(
            "#[derive(RowKey)] #[salt(range = {range}, over = \"a\")] struct A {{ a: {of}, b: u32 }}"
        );
        rejected(&code).warnings
    };
    for (of, values) in [("bool", 2), ("u8", 256), ("i8", 256)] {
        assert_eq!(warnings(values, of), [""; 0], "{of}");
        let more = warnings(values + 1, of);
        let message = format!("at most {values} values, so 1 of the {} buckets", values + 1);
        assert!(more.len() == 1 && more[0].contains(&message), "{of}: {more:?}");
    }
    assert_eq!(warnings(4096, "u16"), [""; 0]);
}

#[test]
fn misuse_is_rejected_with_the_expected_messages() {
    let mut cases = 0;
    for rule in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui")).unwrap() {
        let Ok(files) = fs::read_dir(rule.unwrap().path()) else { continue };
        for case in files
            .map(|case| case.unwrap().path())
            .filter(|case| case.extension().is_some_and(|of| of == "rs"))
        {
            let code = fs::read_to_string(&case).unwrap();
            let mut rejected = rejected(&code);
            if code.contains("#![deny(") {
                rejected.errors.append(&mut rejected.warnings);
            }
            rejected.errors.sort_unstable();
            let mut expected = expected(&fs::read_to_string(case.with_extension("stderr")).unwrap());
            expected.sort_unstable();
            assert_eq!(rejected.errors, expected, "{}", case.display());
            cases += 1;
        }
    }
    assert!(cases > 300, "{cases} cases");
}
