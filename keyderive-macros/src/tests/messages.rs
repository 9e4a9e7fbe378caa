//! The derives reject what `tests/ui` says, with these messages: without a compiler, so in each run of the tests.

use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, DeriveInput, Item, LitStr};

use crate::{cell, key_field, query_row, row, row_key};

/// The messages of the derives in a file.
#[derive(Default)]
struct Rejected {
    errors: Vec<String>,
    warnings: Vec<String>,
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
            let mut rejected = Rejected::default();
            rejected.visit_file(&syn::parse_file(&code).unwrap());
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
