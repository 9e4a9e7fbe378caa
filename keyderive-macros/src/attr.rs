//! Reads attributes, for every derive.
//!
//! A fault is reported to [`Ctxt`], and its attribute counts as absent, so that one run shows every fault. An `Err` means tokens that
//! cannot be parsed.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::{Attribute, Ident, LitStr, Path, Token};

use crate::ctxt::Ctxt;
use crate::names;

/// An attribute that may be given once: its value, and its tokens for errors.
pub(crate) struct Attr<T> {
    name: &'static str,
    value: Option<(TokenStream, T)>,
}

impl<T> Attr<T> {
    pub(crate) fn none(name: &'static str) -> Self {
        Self { name, value: None }
    }

    pub(crate) fn set(&mut self, cx: &Ctxt, tokens: impl ToTokens, value: T) {
        let tokens = tokens.into_token_stream();
        match self.value {
            Some(_) => cx.error(tokens, format_args!("`{}` is given twice; remove one", self.name)),
            None => self.value = Some((tokens, value)),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref().map(|(_, value)| value)
    }

    /// The tokens that errors about the value point at.
    pub(crate) fn tokens(&self) -> Option<&TokenStream> {
        self.value.as_ref().map(|(tokens, _)| tokens)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Secs,
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    pub(crate) fn named(name: &str) -> Option<Self> {
        let units = [Self::Secs, Self::Millis, Self::Micros, Self::Nanos];
        names::UNITS.iter().zip(units).find(|(known, _)| **known == name).map(|(_, unit)| unit)
    }
}

/// `crate = "path"`
pub(crate) fn read_crate(cx: &Ctxt, meta: &ParseNestedMeta<'_>, krate: &mut Attr<Path>) -> syn::Result<()> {
    if let Some(path) = value::<LitStr>(cx, meta, "a string, such as crate = \"my_reexport::keyderive\"")? {
        match path.parse::<Path>() {
            Ok(parsed) => krate.set(cx, path, parsed),
            Err(_) => cx.error(path, "this is not a path; write one such as \"my_reexport::keyderive\""),
        }
    }
    Ok(())
}

/// `fingerprint = "b0b5a2f3d3ce5d2c"`, of a type such as `example`.
pub(crate) fn read_fingerprint(
    cx: &Ctxt,
    meta: &ParseNestedMeta<'_>,
    fingerprint: &mut Attr<u64>,
    example: &str,
) -> syn::Result<()> {
    if let Some(written) = value::<LitStr>(cx, meta, "a string of 16 hexadecimal digits")? {
        let text = written.value();
        match u64::from_str_radix(&text, 16).ok().filter(|_| text.len() == 16) {
            Some(number) => fingerprint.set(cx, written, number),
            None => cx.error(
                written,
                format_args!(
                    "a fingerprint is 16 hexadecimal digits; print it with `{example}::SCHEMA.fingerprint()`"
                ),
            ),
        }
    }
    Ok(())
}

/// Calls `read` on each part of an attribute's list. Reports an unreadable list, and returns false.
pub(crate) fn each_meta<'a>(
    cx: &Ctxt,
    attr: &'a Attribute,
    names: &[&str],
    read: impl FnMut(ParseNestedMeta<'_>) -> syn::Result<()> + 'a,
) -> bool {
    let name = attr.path().to_token_stream();
    let options = names::list(names.iter().copied());
    let syn::Meta::List(_) = attr.meta else {
        cx.error(attr, format_args!("`{name}` takes options in parentheses; expected {options}"));
        return false;
    };
    let read = attr.parse_nested_meta(read);
    if let Err(error) = &read {
        let message = format!("this is not an option of `{name}`; expected {options}");
        cx.syn_error(syn::Error::new(error.span(), message));
    }
    read.is_ok()
}

/// Sets an option that takes no value.
pub(crate) fn flag(cx: &Ctxt, meta: &ParseNestedMeta<'_>, attr: &mut Attr<()>) -> syn::Result<()> {
    no_value(cx, meta)?;
    attr.set(cx, &meta.path, ());
    Ok(())
}

/// Sets an option that has a single valid value.
pub(crate) fn set_word(cx: &Ctxt, attr: &mut Attr<()>, written: &LitStr, word: &str, remedy: &str) {
    if written.value() == word {
        attr.set(cx, written, ());
    } else {
        let name = attr.name;
        cx.error(written, format_args!("`{name}` must be \"{word}\", not {}; {remedy}", written.token()));
    }
}

/// Rejects a value after an option that takes none: `desc = false` would be read as `desc`.
pub(crate) fn no_value(cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    let value = until_comma(meta.input)?;
    if !value.is_empty() {
        let name = meta.path.to_token_stream();
        let mut written = name.clone();
        written.extend(value);
        cx.error(&written, format_args!("`{name}` takes no value; write `{name}` alone"));
    }
    Ok(())
}

/// The literal after `name =`. Reports anything else, and returns `None`.
pub(crate) fn value<T: syn::parse::Parse>(
    cx: &Ctxt,
    meta: &ParseNestedMeta<'_>,
    expected: &str,
) -> syn::Result<Option<T>> {
    if !meta.input.peek(Token![=]) {
        cx.error(&meta.path, format_args!("expected {expected}"));
        skip_value(meta.input)?;
        return Ok(None);
    }
    let value = meta.value()?;
    let fork = value.fork();
    if fork.parse::<T>().is_ok() && (fork.is_empty() || fork.peek(Token![,])) {
        return Ok(Some(value.parse()?));
    }
    // The literal parses and a name follows it, so only the comma is missing.
    if fork.peek(Ident::peek_any) && value.fork().parse::<T>().is_ok() {
        let parsed = value.parse()?;
        cx.error(until_comma(value)?, "expected a comma before this option");
        return Ok(Some(parsed));
    }
    let tokens = until_comma(value)?;
    if tokens.is_empty() {
        cx.error(&meta.path, format_args!("expected {expected}"));
    } else {
        cx.error(tokens, format_args!("expected {expected}"));
    }
    Ok(None)
}

/// Skips the value of an option that has an error.
pub(crate) fn skip_value(input: ParseStream<'_>) -> syn::Result<()> {
    until_comma(input).map(drop)
}

pub(crate) fn until_comma(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    Ok(tokens)
}

pub(crate) fn unknown_option(cx: &Ctxt, path: &Path, level: &str, names: &[&str]) {
    let wrong = path.to_token_stream().to_string();
    let remedy = names::suggestion(&wrong, names.iter().copied());
    cx.error(path, format_args!("`{wrong}` is not an option of `{level}` here; {remedy}"));
}

/// Options of serde on a field that a derive has options for too: their names, what they do not do here, and what does.
const SERDE: &[(&[&str], &str)] = &[
    (
        &["rename"],
        "does not name what is stored; write `#[OWN(name = \"…\")]`, with `NAME` for the field's own name",
    ),
    (
        &["with", "serialize_with", "deserialize_with"],
        "does not encode what is stored; write `#[OWN(with = \"…\")]`, or `#[OWN(name = \"NAME\")]` if the type's own encoding is meant",
    ),
    (
        &["skip", "skip_serializing", "skip_deserializing"],
        "does not keep the field out of what is stored; move it to another struct, or write `#[OWN(name = \"NAME\")]` to store it",
    ),
];

/// Warns of options of serde that the derive ignores, on a field without one of the derive's own attributes `own`.
pub(crate) fn warn_of_serde(cx: &Ctxt, field: &syn::Field, own: &[&str]) {
    if field.attrs.iter().any(|attr| own.iter().any(|own| attr.path().is_ident(own))) {
        return;
    }
    let own = own[0];
    let Some(name) = field.ident.as_ref().map(unraw) else { return };
    for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        // A fault of serde's attribute is serde's to report.
        let _ = attr.parse_nested_meta(|meta| {
            let does =
                SERDE.iter().find(|(options, _)| options.iter().any(|option| meta.path.is_ident(option)));
            if let Some((_, does_not)) = does {
                let option = meta.path.to_token_stream();
                let does_not = does_not.replace("OWN", own).replace("NAME", &name);
                let message = format!("`{option}` of serde {does_not}");
                cx.warn(&meta.path, "serde", &message);
            }
            skip_value(meta.input)
        });
    }
}

/// An identifier's name, without `r#`.
pub(crate) fn unraw(ident: &Ident) -> String {
    IdentExt::unraw(ident).to_string()
}
