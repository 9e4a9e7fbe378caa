//! A type as people write it, for the schema: `std::borrow::Cow<'a, str>`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The text of a type. The compiler's own text of tokens differs from release to release in its spaces.
pub(super) fn type_name(ty: TokenStream) -> String {
    let mut text = String::new();
    append(ty, &mut text);
    text
}

fn append(tokens: TokenStream, text: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => append_word(&ident.to_string(), text),
            TokenTree::Literal(literal) => append_word(&literal.to_string(), text),
            TokenTree::Punct(punct) => match punct.as_char() {
                sign @ (',' | ';') => text.extend([sign, ' ']),
                '+' => text.push_str(" + "),
                '=' => text.push_str(" = "),
                // What follows a lifetime is another word, also where it begins with `::`.
                ':' if ends_with_lifetime(text) => text.push_str(" :"),
                sign => text.push(sign),
            },
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                match group.delimiter() {
                    Delimiter::Bracket => append_word(open, text),
                    _ => text.push_str(open),
                }
                append(group.stream(), text);
                text.push_str(close);
            }
        }
    }
}

/// Whether the last word is a lifetime.
fn ends_with_lifetime(text: &str) -> bool {
    let word = text.trim_end_matches(|last: char| last.is_alphanumeric() || last == '_');
    word.len() < text.len() && word.ends_with('\'')
}

/// What stands after another word is set apart from it, as in `&'a str` and `&'a [u8]`.
fn append_word(word: &str, text: &mut String) {
    if text.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
        text.push(' ');
    }
    text.push_str(word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_as_written() {
        for ty in [
            "u64",
            "&'a str",
            "&'static [u8]",
            "&'a ::core::primitive::str",
            "chrono::NaiveDate",
            "::std::borrow::Cow<'a, str>",
            "DateTime<chrono::Utc>",
            "[u8; 16]",
            "[u8; SIZE]",
            "r#type",
            "Box<dyn Send + Sync>",
            "<Foreign as Trait>::Type",
            "Of<Item = u8>",
            "(u8, u16)",
        ] {
            assert_eq!(type_name(ty.parse().unwrap()), ty);
            let spaced = ty.replace("::", " :: ").replace('<', " < ").replace(';', "  ;");
            assert_eq!(type_name(spaced.parse().unwrap()), ty);
        }
    }
}
