//! `#[salt(…)]` as it is written.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Ident, LitInt, LitStr, Token};

use super::{Attr, each_meta, skip_value, unknown, unraw, until_comma, value};
use crate::ctxt::Ctxt;
use crate::names;

/// The least salt range: with one bucket, nothing is spread.
const MIN_RANGE: u16 = 2;
/// The greatest salt range: the four digits that a bucket may have.
const MAX_RANGE: u16 = 4096;

/// The one `position` there is a word for.
const FRONT: &str = "front";
/// The one `hash` there is a word for.
pub(crate) const JAVA: &str = "java";

/// `#[salt(…)]` as it is written.
pub(crate) struct SaltAttr {
    /// How many buckets; not given where that has its error.
    pub(crate) range: Attr<u16>,
    /// The names in `over`, each with the tokens it can be blamed on; not given for all fields.
    pub(crate) over: Attr<Vec<(TokenStream, String)>>,
    /// What stands after the salt; not given for the delimiter.
    pub(crate) sep: Attr<String>,
    /// The field that the salt stands after.
    pub(crate) after: Attr<String>,
    /// Before a tag too.
    pub(crate) front: Attr<()>,
    /// The hash of Google's sample.
    pub(crate) java: Attr<()>,
}

impl SaltAttr {
    pub(super) fn read(cx: &Ctxt, attr: &Attribute) -> Self {
        const MISSING: &str = "a salt needs its number of buckets; write `#[salt(range = 4)]`";
        let mut read = Self {
            range: Attr::none("range"),
            over: Attr::none("over"),
            sep: Attr::none("sep"),
            after: Attr::none("after"),
            front: Attr::none("position"),
            java: Attr::none("hash"),
        };
        if let syn::Meta::Path(_) = attr.meta {
            cx.error(attr, MISSING);
            return read;
        }
        // A range that is there but wrong or misspelled has its error already.
        let mut range_seen = false;
        let understood = each_meta(cx, attr, names::IN_SALT, |meta| {
            range_seen |= meta.path.is_ident("range");
            range_seen |= !names::IN_SALT.iter().any(|name| meta.path.is_ident(name));
            read.option(cx, &meta)
        });
        if understood && !range_seen {
            cx.error(attr, MISSING);
        }
        read
    }

    /// The range; the least one for one with a fault, so that the rest is checked too.
    pub(crate) fn range(&self) -> u16 {
        self.range.get().copied().unwrap_or(MIN_RANGE)
    }

    fn option(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        // #[salt(range = 4)]
        if meta.path.is_ident("range") {
            if let Some(int) = value::<LitInt>(cx, meta, "a number, such as range = 4")? {
                self.set_range(cx, &int);
            }
        // #[salt(over(user_id, site))]
        } else if meta.path.is_ident("over") && meta.input.peek(syn::token::Paren) {
            let list;
            syn::parenthesized!(list in meta.input);
            let names = list_names(cx, &list)?;
            self.over.set(cx, &meta.path, names);
        // #[salt(over = "user_id,site")]
        } else if meta.path.is_ident("over") {
            if let Some(list) = value::<LitStr>(cx, meta, "field names, such as over = \"user_id,site\"")? {
                let names = split_names(&list);
                self.over.set(cx, &list, names);
            }
        // #[salt(sep = "-")]
        } else if meta.path.is_ident("sep") {
            if let Some(sep) = value::<LitStr>(cx, meta, "a string, such as sep = \"-\"")? {
                self.set_sep(cx, &sep);
            }
        // #[salt(after = "user_id")]
        } else if meta.path.is_ident("after") {
            if let Some(field) = value::<LitStr>(cx, meta, "a field's name, such as after = \"user_id\"")? {
                self.after.set(cx, &field, field.value());
            }
        // #[salt(position = "front")]
        } else if meta.path.is_ident("position") {
            if let Some(front) = value::<LitStr>(cx, meta, "position = \"front\"")? {
                let remedy = "leave it out for after the tag, or name a field with `after`";
                set_word(cx, &mut self.front, &front, FRONT, remedy);
            }
        // #[salt(hash = "java")]
        } else if meta.path.is_ident("hash") {
            if let Some(java) = value::<LitStr>(cx, meta, "hash = \"java\"")? {
                set_word(cx, &mut self.java, &java, JAVA, "leave it out for FarmHash");
            }
        } else {
            unknown(cx, &meta.path, "salt", names::IN_SALT);
            skip_value(meta.input)?;
        }
        Ok(())
    }

    fn set_range(&mut self, cx: &Ctxt, int: &LitInt) {
        match int.base10_parse() {
            Ok(buckets @ MIN_RANGE..=MAX_RANGE) => self.range.set(cx, int, buckets),
            _ => cx.error(
                int,
                format_args!(
                    "a salt has {MIN_RANGE} to {MAX_RANGE} buckets, not {int}; \
                     a few for each node are enough"
                ),
            ),
        }
    }

    /// The digits of a salt end at its separator, also where they are not padded.
    fn set_sep(&mut self, cx: &Ctxt, sep: &LitStr) {
        let text = sep.value();
        if text.is_empty() {
            cx.error(
                sep,
                "`sep` is empty; write what stands after the salt, or leave `sep` out for the delimiter",
            );
        } else if let Some(char) = text.chars().find(|char| !char.is_ascii()) {
            cx.error(sep, format_args!("`sep` holds `{char}`; choose ASCII characters, such as \"-\""));
        } else if let Some(digit) = text.chars().find(char::is_ascii_digit) {
            cx.error(
                sep,
                format_args!(
                    "`sep` holds the digit `{digit}`, but it is where the digits of the salt end; \
                     choose other characters, such as \"-\""
                ),
            );
        } else {
            self.sep.set(cx, sep, text);
        }
    }
}

/// Sets an option that has one word.
fn set_word(cx: &Ctxt, attr: &mut Attr<()>, written: &LitStr, word: &str, remedy: &str) {
    if written.value() == word {
        attr.set(cx, written, ());
    } else {
        let name = attr.name;
        cx.error(written, format_args!("`{name}` is \"{word}\", not {}; {remedy}", written.token()));
    }
}

/// The names in `"user_id, site"`. All are blamed on the one literal they stand in.
fn split_names(list: &LitStr) -> Vec<(TokenStream, String)> {
    let value = list.value();
    let names = value.split(',').map(str::trim);
    let names = names.filter(|name| !(name.is_empty() && value.trim().is_empty()));
    names.map(|name| (list.to_token_stream(), name.to_owned())).collect()
}

/// The names in `(user_id, site)`.
fn list_names(cx: &Ctxt, list: ParseStream<'_>) -> syn::Result<Vec<(TokenStream, String)>> {
    let mut names = Vec::new();
    while !list.is_empty() {
        let name = until_comma(list)?;
        match Ident::parse_any.parse2(name.clone()) {
            Ok(ident) => names.push((name, unraw(&ident))),
            Err(_) => cx.error(name, "expected the name of a field, such as over(user_id, site)"),
        }
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    Ok(names)
}
