//! What every derive prints code with: the path of the runtime, spans, and types as text.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Path, Type};

use crate::attr::unraw;

pub(crate) fn first_span(tokens: &TokenStream) -> Option<Span> {
    tokens.clone().into_iter().next().map(|token| token.span())
}

/// Like [`respan`], for the tokens in groups too.
pub(crate) fn respan_all(tokens: TokenStream, span: Span) -> TokenStream {
    let respan = |token: TokenTree| {
        let mut token = match token {
            TokenTree::Group(group) => Group::new(group.delimiter(), respan_all(group.stream(), span)).into(),
            token => token,
        };
        token.set_span(span);
        token
    };
    tokens.into_iter().map(respan).collect()
}

/// Generated impls of a value's type, in a scope and under lints of their own.
pub(crate) fn in_scope(import: Option<&TokenStream>, impls: &TokenStream) -> TokenStream {
    quote! {
        #[doc(hidden)]
        #[allow(
            clippy::all,
            clippy::nursery,
            clippy::pedantic,
            clippy::restriction,
            deprecated,
            unused_qualifications,
        )]
        const _: () = {
            #import

            #impls
        };
    }
}

/// Where the generated code finds the runtime: the crate `keyderive`.
pub(crate) struct Runtime {
    /// The path to the runtime's private module.
    pub(crate) private: TokenStream,
    /// The `use` that has to precede it. Only this names the path of `crate = "…"`, so that a wrong path is one error.
    pub(crate) import: Option<TokenStream>,
}

impl Runtime {
    /// The runtime for the type `ident`, at the path of its `crate = "…"`.
    pub(crate) fn new(krate: Option<&Path>, ident: &Ident) -> Self {
        let Some(krate) = krate else {
            return Self { private: quote!(::keyderive::__private), import: None };
        };
        let alias = format_ident!("__keyderive_{}", unraw(ident), span = Span::call_site());
        let span =
            krate.to_token_stream().into_iter().next().map_or_else(Span::call_site, |token| token.span());
        let private = quote_spanned!(span=> __private);
        let import = quote!(use #krate::#private as #alias;);
        Self { private: alias.into_token_stream(), import: Some(import) }
    }
}

/// The spans of the first and of the last token of a type.
pub(crate) fn span_of(written: &Type) -> [Span; 2] {
    let mut spans = written.to_token_stream().into_iter().map(|token| token.span());
    let start = spans.next().unwrap_or_else(Span::call_site);
    [start, spans.last().unwrap_or(start)]
}

/// `before ty after`, with spans that cover the type `written`.
pub(crate) fn on_span_of(
    written: &Type,
    before: TokenStream,
    ty: &TokenStream,
    after: TokenStream,
) -> TokenStream {
    let [start, end] = span_of(written);
    let (before, after) = (respan(before, start), respan(after, end));
    quote!(#before #ty #after)
}

/// The tokens with their spans set to `span`. `quote_spanned` would keep the spans of interpolated tokens.
pub(crate) fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    let respan = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    tokens.into_iter().map(respan).collect()
}

/// The tokens as one, whose spans [`respan`] and [`respan_but_locals`] leave as they are.
pub(crate) fn grouped(tokens: TokenStream) -> TokenStream {
    Group::new(Delimiter::None, tokens).into_token_stream()
}

/// The tokens with spans such that each call goes from `start` to `end`, the spans of the first and the last token of a type. The compiler takes
/// the span of an error from the first token to the last one, and shows equal errors once.
///
/// The type may come from a macro, from where our local variables are not visible. Groups without a delimiter have spans of their own.
pub(crate) fn respan_but_locals(tokens: TokenStream, [start, end]: [Span; 2]) -> TokenStream {
    let is_local = |ident: &Ident| {
        let name = ident.to_string();
        name == "self" || (name.starts_with("__") && !name.starts_with("__keyderive_"))
    };
    let mut colons = 0;
    let mut tokens = tokens.into_iter().peekable();
    let mut respanned = TokenStream::new();
    while let Some(mut token) = tokens.next() {
        let in_path = colons == 2;
        let is = |sign| matches!(&token, TokenTree::Punct(punct) if punct.as_char() == sign);
        colons = if is(':') { colons + 1 } else { 0 };
        // The path of a function has a span of its own.
        let is_called = matches!(tokens.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
        let span = if is('?') || is_called { end } else { start };
        respanned.extend([match token {
            TokenTree::Ident(ref ident) if !in_path && is_local(ident) => token,
            TokenTree::Group(ref group) if group.delimiter() == Delimiter::None => token,
            TokenTree::Group(group) => {
                let mut inner =
                    Group::new(group.delimiter(), respan_but_locals(group.stream(), [start, end]));
                inner.set_span(end);
                inner.into()
            }
            _ => {
                token.set_span(span);
                token
            }
        }]);
    }
    respanned
}

/// A type as people write it, for the schema: `std::borrow::Cow<'a, str>`. The compiler's own text of tokens changes
/// its spaces from release to release.
pub(crate) fn type_name(ty: TokenStream) -> String {
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
                // A `::` after a lifetime starts another word.
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

/// Appends a word, after a space if another word precedes it, as in `&'a str` and `&'a [u8]`.
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
