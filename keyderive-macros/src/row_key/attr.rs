//! Parses the attributes of a key type and of its fields.

use keyderive_layout::key_rules::{KeyEncoding, MAX_KEY_LEN, RANGES};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned as _;
use syn::token::Bracket;
use syn::{AttrStyle, Attribute, Ident, LitChar, LitInt, LitStr, Path, Token};

use super::since::Since;
use crate::attr::{
    Attr, Unit, each_meta, flag, no_value, read_crate, read_fingerprint, set_word, skip_value,
    unknown_option, unraw, until_comma, value,
};
use crate::ctxt::Ctxt;
use crate::names;

/// The attributes of the struct.
pub(super) struct StructAttrs {
    /// Each `#[salt]`, with its tokens for errors.
    pub(super) salts: Vec<(TokenStream, SaltAttr)>,
    pub(super) tag: Attr<LitStr>,
    pub(super) delimiter: Attr<char>,
    pub(super) krate: Attr<Path>,
    pub(super) allow: Allowed,
    pub(super) display: Attr<()>,
    /// The key type whose place it takes.
    pub(super) rekeyed_from: Attr<Path>,
    pub(super) trait_methods: Attr<()>,
    pub(super) no_implicit_prelude: Attr<()>,
    pub(super) layout: Attr<KeyEncoding>,
    pub(super) fingerprint: Attr<u64>,
    foreign: Foreign,
    /// Whether an attribute has an error, so that its intent is unknown.
    pub(super) faulty: bool,
}

impl StructAttrs {
    pub(super) fn read(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        let errors = cx.error_count();
        let mut read = Self {
            salts: Vec::new(),
            tag: Attr::none("tag"),
            delimiter: Attr::none("delimiter"),
            krate: Attr::none("crate"),
            allow: Allowed::default(),
            layout: Attr::none("layout"),
            fingerprint: Attr::none("fingerprint"),
            foreign: Foreign::default(),
            display: Attr::none("display"),
            rekeyed_from: Attr::none("rekeyed_from"),
            trait_methods: Attr::none("trait_methods"),
            no_implicit_prelude: Attr::none("no_implicit_prelude"),
            faulty: false,
        };
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("row_key")) {
            each_meta(cx, attr, names::ON_STRUCT, |meta| read.row_key(cx, &meta));
        }
        for attr in attrs.iter().filter(|attr| !read.foreign.owns(attr)) {
            if attr.path().is_ident("salt") {
                read.salts.push((attr.to_token_stream(), SaltAttr::read(cx, attr)));
            } else if let Some(name) = one_of(attr, &["pad", "reverse_ts"]) {
                cx.error(
                    attr,
                    format_args!("`#[{name}]` belongs on a field; move it to the field it is for"),
                );
            }
        }
        read.faulty = cx.error_count() > errors;
        read
    }

    pub(super) fn layout(&self) -> KeyEncoding {
        self.layout.get().copied().unwrap_or(KeyEncoding::Delimited)
    }

    fn row_key(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        // #[row_key(salt(range = 4))]
        if meta.path.is_ident("salt") {
            let attr = as_attribute(meta)?;
            self.salts.push((meta.path.to_token_stream(), SaltAttr::read(cx, &attr)));
        // #[row_key(foreign(pad))]
        } else if meta.path.is_ident("foreign") {
            if !meta.input.peek(syn::token::Paren) {
                cx.error(&meta.path, "`foreign` names attributes of another derive; write `foreign(pad)`");
                return skip_value(meta.input);
            }
            meta.parse_nested_meta(|name| self.foreign.read(cx, &name))?;
        // #[row_key(tag = "BATTERY")]
        } else if meta.path.is_ident("tag") {
            if let Some(tag) = value::<LitStr>(cx, meta, "a string, such as tag = \"BATTERY\"")? {
                self.tag.set(cx, tag.clone(), tag);
            }
        // #[row_key(delimiter = '-')]
        } else if meta.path.is_ident("delimiter") {
            if let Some(char) = value::<LitChar>(cx, meta, "a character, such as delimiter = '-'")? {
                let value = char.value();
                self.delimiter.set(cx, char, value);
            }
        // #[row_key(crate = "path")]
        } else if meta.path.is_ident("crate") {
            read_crate(cx, meta, &mut self.krate)?;
        // #[row_key(allow(hotspot))]
        } else if meta.path.is_ident("allow") {
            if !meta.input.peek(syn::token::Paren) {
                cx.error(&meta.path, "`allow` names what is allowed; write `allow(hotspot)`");
                return skip_value(meta.input);
            }
            meta.parse_nested_meta(|allowed| self.allow.read(cx, &allowed))?;
        // #[row_key(layout = "ordered")]
        } else if meta.path.is_ident("layout") {
            if let Some(layout) = value::<LitStr>(cx, meta, "a string, such as layout = \"ordered\"")? {
                match layout.value().as_str() {
                    "text" => self.layout.set(cx, layout, KeyEncoding::Delimited),
                    "ordered" => self.layout.set(cx, layout, KeyEncoding::OrderedCode),
                    _ => cx.error(layout, "a layout is \"text\", which is the default, or \"ordered\""),
                }
            }
        // #[row_key(fingerprint = "b0b5a2f3d3ce5d2c")]
        } else if meta.path.is_ident("fingerprint") {
            read_fingerprint(cx, meta, &mut self.fingerprint, "Key")?;
        // #[row_key(display)]
        } else if meta.path.is_ident("display") {
            flag(cx, meta, &mut self.display)?;
        // #[row_key(rekeyed_from = OldKey)]
        } else if meta.path.is_ident("rekeyed_from") {
            if let Some(old) = value::<Path>(cx, meta, "the old key type, such as rekeyed_from = OldKey")? {
                self.rekeyed_from.set(cx, old.clone(), old);
            }
        // #[row_key(trait_methods)]
        } else if meta.path.is_ident("trait_methods") {
            flag(cx, meta, &mut self.trait_methods)?;
        // #[row_key(no_implicit_prelude)]
        } else if meta.path.is_ident("no_implicit_prelude") {
            flag(cx, meta, &mut self.no_implicit_prelude)?;
        } else if names::ON_FIELD.iter().any(|name| meta.path.is_ident(name)) {
            let name = meta.path.to_token_stream();
            cx.error(&meta.path, format_args!("`{name}` belongs on a field; move it to the field it is for"));
            skip_value(meta.input)?;
        } else {
            unknown_option(cx, &meta.path, "row_key", names::ON_STRUCT);
            skip_value(meta.input)?;
        }
        Ok(())
    }
}

/// The attributes of a field.
pub(super) struct FieldAttrs {
    pub(super) pad: Attr<usize>,
    pub(super) reverse_ts: Attr<u64>,
    pub(super) sequential: Attr<()>,
    pub(super) desc: Attr<()>,
    pub(super) bit_reverse: Attr<()>,
    pub(super) escape: Attr<()>,
    pub(super) hash: Attr<()>,
    pub(super) name: Attr<LitStr>,
    /// The field of the old key whose values it takes.
    pub(super) was: Attr<Ident>,
    pub(super) method: Attr<Ident>,
    pub(super) with: Attr<WithAttr>,
    pub(super) ts: Attr<TsAttr>,
    pub(super) uuid: Attr<UuidAttr>,
    /// As in [`StructAttrs`].
    pub(super) faulty: bool,
}

/// `with = "module"`: the text, and the path that the generated code calls.
pub(super) struct WithAttr {
    pub(super) written: String,
    pub(super) module: Path,
}

impl FieldAttrs {
    pub(super) fn read(cx: &Ctxt, attrs: &[Attribute], on_struct: &StructAttrs) -> Self {
        let errors = cx.error_count();
        let mut read = Self {
            pad: Attr::none("pad"),
            reverse_ts: Attr::none("reverse_ts"),
            sequential: Attr::none("sequential"),
            desc: Attr::none("desc"),
            bit_reverse: Attr::none("bit_reverse"),
            escape: Attr::none("escape"),
            hash: Attr::none("hash"),
            name: Attr::none("name"),
            was: Attr::none("was"),
            method: Attr::none("method"),
            with: Attr::none("with"),
            ts: Attr::none("ts"),
            uuid: Attr::none("uuid"),
            faulty: false,
        };
        for attr in attrs.iter().filter(|attr| !on_struct.foreign.owns(attr)) {
            if attr.path().is_ident("pad") {
                if let Some(width) = read_pad(cx, attr) {
                    read.pad.set(cx, attr, width);
                }
            } else if attr.path().is_ident("reverse_ts") {
                if let Some(max) = read_reverse_ts(cx, attr) {
                    read.reverse_ts.set(cx, attr, max);
                }
            } else if attr.path().is_ident("row_key") {
                each_meta(cx, attr, names::ON_FIELD, |meta| read.row_key(cx, &meta));
            } else if attr.path().is_ident("salt") {
                cx.error(attr, "`#[salt]` belongs on the struct; name this field in its `over`");
            }
        }
        read.faulty = cx.error_count() > errors;
        read
    }

    fn row_key(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        // #[row_key(pad(6))]
        if meta.path.is_ident("pad") {
            if let Some(width) = read_pad(cx, &as_attribute(meta)?) {
                self.pad.set(cx, &meta.path, width);
            }
        // #[row_key(reverse_ts)]
        } else if meta.path.is_ident("reverse_ts") {
            if let Some(max) = read_reverse_ts(cx, &as_attribute(meta)?) {
                self.reverse_ts.set(cx, &meta.path, max);
            }
        // #[row_key(sequential)]
        } else if meta.path.is_ident("sequential") {
            flag(cx, meta, &mut self.sequential)?;
        // #[row_key(desc)]
        } else if meta.path.is_ident("desc") {
            flag(cx, meta, &mut self.desc)?;
        // #[row_key(bit_reverse)]
        } else if meta.path.is_ident("bit_reverse") {
            flag(cx, meta, &mut self.bit_reverse)?;
        // #[row_key(escape)]
        } else if meta.path.is_ident("escape") {
            flag(cx, meta, &mut self.escape)?;
        // #[row_key(hash(md5))]
        } else if meta.path.is_ident("hash") {
            if !meta.input.peek(syn::token::Paren) {
                cx.error(&meta.path, "`hash` names its function; write `hash(md5)`");
                return skip_value(meta.input);
            }
            meta.parse_nested_meta(|function| {
                if function.path.is_ident("md5") {
                    return no_value(cx, &function);
                }
                unknown_option(cx, &function.path, "hash", &["md5"]);
                skip_value(function.input)
            })?;
            self.hash.set(cx, &meta.path, ());
        // #[row_key(name = "user")]
        } else if meta.path.is_ident("name") {
            match value::<LitStr>(cx, meta, "a string, such as name = \"user\"")? {
                Some(name) if name.value().is_empty() => {
                    cx.error(name, "the name is empty; write the field's name in the schema");
                }
                Some(name) => self.name.set(cx, name.clone(), name),
                None => {}
            }
        // #[row_key(was = "user_id")]
        } else if meta.path.is_ident("was") {
            if let Some(was) = value::<LitStr>(cx, meta, "a string, such as was = \"user_id\"")? {
                match was.parse::<Ident>() {
                    Ok(ident) => self.was.set(cx, was, ident),
                    Err(_) => cx.error(
                        was,
                        "this cannot be the name of a field; write that of the old key's, such as \"user_id\"",
                    ),
                }
            }
        // #[row_key(method = "by_user")]
        } else if meta.path.is_ident("method") {
            if let Some(method) = value::<LitStr>(cx, meta, "a string, such as method = \"by_user\"")? {
                match method.parse::<Ident>() {
                    Ok(ident) => self.method.set(cx, method, ident),
                    Err(_) => {
                        cx.error(
                            method,
                            "this cannot be the name of a method; write one such as \"by_user\"",
                        );
                    }
                }
            }
        // #[row_key(with = "module")]
        } else if meta.path.is_ident("with") {
            if let Some(module) = value::<LitStr>(cx, meta, "a string, such as with = \"my_module\"")? {
                match module.parse::<Path>() {
                    Ok(path) => {
                        let written = module.value();
                        self.with.set(cx, module, WithAttr { written, module: path });
                    }
                    Err(_) => cx.error(
                        module,
                        "this is not a path; write that of a module with `WIDTH`, `write` and `read`, such as \
                         \"my_module\"",
                    ),
                }
            }
        // #[row_key(ts(unit = "millis"))]
        } else if meta.path.is_ident("ts") {
            let ts = TsAttr::read(cx, meta)?;
            self.ts.set(cx, &meta.path, ts);
        // #[row_key(uuid(v4))]
        } else if meta.path.is_ident("uuid") {
            let uuid = UuidAttr::read(cx, meta)?;
            self.uuid.set(cx, &meta.path, uuid);
        } else if let Some(name) = names::ON_STRUCT.iter().find(|name| meta.path.is_ident(name)) {
            cx.error(
                &meta.path,
                format_args!("`{name}` belongs on the struct; move it above the `struct` line"),
            );
        } else {
            unknown_option(cx, &meta.path, "row_key", names::ON_FIELD);
        }
        skip_value(meta.input)
    }
}

/// The names in `allow(…)`.
#[derive(Default)]
pub(super) struct Allowed {
    named: Vec<(&'static str, Path)>,
    /// Whether a name was unknown. It is already reported and may be a misspelling of any rule, so every rule counts as
    /// allowed.
    unknown: bool,
}

impl Allowed {
    pub(super) fn is_allowed(&self, name: &str) -> bool {
        self.unknown || self.tokens(name).is_some()
    }

    pub(super) fn tokens(&self, name: &str) -> Option<&Path> {
        self.named.iter().find(|(allowed, _)| *allowed == name).map(|(_, path)| path)
    }

    fn read(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let path = &meta.path;
        match names::IN_ALLOW.iter().find(|name| path.is_ident(name)) {
            Some(name) if self.tokens(name).is_some() => {
                cx.error(path, format_args!("`{name}` is given twice; remove one"));
            }
            Some(name) => self.named.push((name, path.clone())),
            None => {
                unknown_option(cx, path, "allow", names::IN_ALLOW);
                self.unknown = true;
                return skip_value(meta.input);
            }
        }
        no_value(cx, meta)
    }
}

/// The bare attributes that another derive owns, so that this one ignores them.
#[derive(Default)]
pub(super) struct Foreign(Vec<&'static str>);

impl Foreign {
    fn read(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        match names::BARE.iter().find(|name| meta.path.is_ident(name)) {
            Some(name) => self.0.push(name),
            None => unknown_option(cx, &meta.path, "foreign", names::BARE),
        }
        no_value(cx, meta)
    }

    fn owns(&self, attr: &Attribute) -> bool {
        one_of(attr, &self.0).is_some()
    }
}

/// The only value of `position`.
const FRONT: &str = "front";
/// The only value of `hash` in `#[salt(…)]`.
pub(super) const JAVA: &str = "java";

/// `#[salt(…)]`
pub(super) struct SaltAttr {
    /// The number of buckets, as it is written.
    pub(super) range: Attr<i64>,
    /// The names in `over`, each with the tokens that its errors point at; absent for all fields.
    pub(super) over: Attr<Vec<(TokenStream, String)>>,
    /// The separator after the salt; absent for the delimiter.
    pub(super) sep: Attr<String>,
    /// The field before the salt.
    pub(super) after: Attr<String>,
    /// `position = "front"`: before the tag, too.
    pub(super) front: Attr<()>,
    /// `hash = "java"`: the hash of Google's sample.
    pub(super) java: Attr<()>,
    /// `since(at = "…")`: from which time on keys have the salt.
    pub(super) since: Attr<Since>,
    /// As in [`StructAttrs`].
    pub(super) faulty: bool,
}

impl SaltAttr {
    fn read(cx: &Ctxt, attr: &Attribute) -> Self {
        const MISSING: &str = "a salt needs its number of buckets; write `#[salt(range = 4)]`";
        let mut read = Self {
            range: Attr::none("range"),
            over: Attr::none("over"),
            sep: Attr::none("sep"),
            after: Attr::none("after"),
            front: Attr::none("position"),
            java: Attr::none("hash"),
            since: Attr::none("since"),
            faulty: false,
        };
        let errors = cx.error_count();
        if let syn::Meta::Path(_) = attr.meta {
            cx.error(attr, MISSING);
            read.faulty = true;
            return read;
        }
        // A wrong or misspelled range already has its error.
        let mut range_seen = false;
        let understood = each_meta(cx, attr, names::IN_SALT, |meta| {
            range_seen |= meta.path.is_ident("range");
            range_seen |= !names::IN_SALT.iter().any(|name| meta.path.is_ident(name));
            read.option(cx, &meta)
        });
        if understood && !range_seen {
            cx.error(attr, MISSING);
        }
        read.faulty = cx.error_count() > errors;
        read
    }

    /// The range, or the smallest one after a fault, so that the other rules are checked too.
    pub(super) fn range(&self) -> u16 {
        let range = self.range.get().filter(|range| RANGES.contains(range));
        range.and_then(|range| u16::try_from(*range).ok()).unwrap_or(2)
    }

    fn option(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        // #[salt(range = 4)]
        if meta.path.is_ident("range") {
            if let Some(int) = value::<LitInt>(cx, meta, "a number, such as range = 4")? {
                // A number of more digits is as wrong as the greatest of these.
                self.range.set(cx, &int, int.base10_parse().unwrap_or(i64::MAX));
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
                self.sep.set(cx, &sep, sep.value());
            }
        // #[salt(after = "user_id")]
        } else if meta.path.is_ident("after") {
            if let Some(field) = value::<LitStr>(cx, meta, "a field's name, such as after = \"user_id\"")? {
                self.after.set(cx, &field, field.value());
            }
        // #[salt(position = "front")]
        } else if meta.path.is_ident("position") {
            if let Some(front) = value::<LitStr>(cx, meta, "position = \"front\"")? {
                let remedy = "leave it out to put the salt after the tag, or name a field with `after`";
                set_word(cx, &mut self.front, &front, FRONT, remedy);
            }
        // #[salt(hash = "java")]
        } else if meta.path.is_ident("hash") {
            if let Some(java) = value::<LitStr>(cx, meta, "hash = \"java\"")? {
                set_word(cx, &mut self.java, &java, JAVA, "leave it out to use FarmHash");
            }
        // #[salt(since(at = "2026-12-01T00:00:00Z"))]
        } else if meta.path.is_ident("since") {
            if let Some(since) = Since::read(cx, meta)? {
                self.since.set(cx, &meta.path, since);
            }
        } else {
            unknown_option(cx, &meta.path, "salt", names::IN_SALT);
            skip_value(meta.input)?;
        }
        Ok(())
    }
}

/// The names in `"user_id, site"`. Their errors point at the whole literal.
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

/// `ts(unit = "millis", exact, format = "datetime17")`
pub(super) struct TsAttr {
    pub(super) unit: Attr<Unit>,
    pub(super) exact: Attr<()>,
    /// `format = "datetime17"`, the only format.
    pub(super) datetime17: Attr<()>,
}

/// `uuid(simple, v4)`
pub(super) struct UuidAttr {
    pub(super) simple: Attr<()>,
    pub(super) v4: Attr<()>,
}

impl TsAttr {
    fn read(cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<Self> {
        let mut read =
            Self { unit: Attr::none("unit"), exact: Attr::none("exact"), datetime17: Attr::none("format") };
        each_option(cx, meta, "`ts` says how a time is stored; write `ts(unit = \"millis\")`", |option| {
            // ts(unit = "millis")
            if option.path.is_ident("unit") {
                if let Some(name) = value::<LitStr>(cx, option, "a string, such as unit = \"millis\"")? {
                    match Unit::named(&name.value()) {
                        Some(unit) => read.unit.set(cx, name, unit),
                        None => not_one_of(cx, &name, "a unit of time", names::UNITS),
                    }
                }
            // ts(format = "datetime17")
            } else if option.path.is_ident("format") {
                let expected = "a string, such as format = \"datetime17\"";
                if let Some(name) = value::<LitStr>(cx, option, expected)? {
                    match name.value().as_str() {
                        "datetime17" => read.datetime17.set(cx, name, ()),
                        _ => not_one_of(cx, &name, "a format of times", &["datetime17"]),
                    }
                }
            // ts(exact)
            } else if option.path.is_ident("exact") {
                flag(cx, option, &mut read.exact)?;
            } else {
                unknown_option(cx, &option.path, "ts", names::IN_TS);
                skip_value(option.input)?;
            }
            Ok(())
        })?;
        Ok(read)
    }
}

impl UuidAttr {
    fn read(cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<Self> {
        let mut read = Self { simple: Attr::none("simple"), v4: Attr::none("v4") };
        each_option(
            cx,
            meta,
            "`uuid` says how a UUID is stored; write `uuid(v4)` or `uuid(simple)`",
            |option| {
                // uuid(simple)
                if option.path.is_ident("simple") {
                    flag(cx, option, &mut read.simple)
                // uuid(v4)
                } else if option.path.is_ident("v4") {
                    flag(cx, option, &mut read.v4)
                // uuid(v7)
                } else if (1..=8).any(|version| option.path.is_ident(&format!("v{version}"))) {
                    cx.error(
                        &option.path,
                        "only version 4 can be required, whose bits are random; leave `uuid` out, and the field takes every UUID",
                    );
                    skip_value(option.input)
                } else {
                    unknown_option(cx, &option.path, "uuid", names::IN_UUID);
                    skip_value(option.input)
                }
            },
        )?;
        Ok(read)
    }
}

/// Calls `read` on each part of an option's list; `missing` is the error for an absent or empty list.
fn each_option(
    cx: &Ctxt,
    meta: &ParseNestedMeta<'_>,
    missing: &str,
    mut read: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    let is_empty = |input: ParseStream<'_>| {
        let list;
        syn::parenthesized!(list in input);
        Ok::<_, syn::Error>(list.is_empty())
    };
    if !meta.input.peek(syn::token::Paren) || is_empty(&meta.input.fork())? {
        cx.error(&meta.path, missing);
        return skip_value(meta.input);
    }
    meta.parse_nested_meta(|option| read(&option))
}

fn not_one_of(cx: &Ctxt, written: &LitStr, what: &str, names: &[&str]) {
    let wrong = written.value();
    let remedy = names::suggestion(&wrong, names.iter().copied());
    cx.error(written, format_args!("`{wrong}` is not {what}; {remedy}"));
}

/// `#[pad(6)]`
fn read_pad(cx: &Ctxt, attr: &Attribute) -> Option<usize> {
    let Ok(int) = attr.parse_args::<LitInt>() else {
        let written = match &attr.meta {
            syn::Meta::List(list) if !list.tokens.is_empty() => list.tokens.clone(),
            _ => attr.to_token_stream(),
        };
        cx.error(written, "`pad` takes one number, the width; write `#[pad(6)]`");
        return None;
    };
    match int.base10_parse() {
        Ok(width @ 1..=MAX_KEY_LEN) => Some(width),
        _ => {
            cx.error(
                &int,
                format_args!(
                    "a padded field is 1 to {MAX_KEY_LEN} bytes wide, not {int}; write `#[pad(6)]` for 6"
                ),
            );
            None
        }
    }
}

/// `#[reverse_ts]` or `#[reverse_ts(max = 9999999999999)]`
fn read_reverse_ts(cx: &Ctxt, attr: &Attribute) -> Option<u64> {
    if let syn::Meta::Path(_) = attr.meta {
        return Some(i64::MAX.unsigned_abs());
    }
    if let Ok(max) = attr.parse_args::<LitInt>() {
        let message = format!("the greatest time is the option `max`; write `#[reverse_ts(max = {max})]`");
        cx.error(max, message);
        return None;
    }
    let mut max = Attr::none("max");
    let mut failed = false;
    let read = each_meta(cx, attr, &["max"], |meta| {
        if !meta.path.is_ident("max") {
            unknown_option(cx, &meta.path, "reverse_ts", &["max"]);
            failed = true;
            return skip_value(meta.input);
        }
        match value::<LitInt>(cx, &meta, "a number, such as max = 9999999999999")? {
            Some(int) => match int.base10_parse::<u64>() {
                Ok(0) | Err(_) => {
                    cx.error(
                        &int,
                        format_args!(
                            "`max` is 1 to {}, not {int}; write the greatest time that is stored",
                            u64::MAX
                        ),
                    );
                    failed = true;
                }
                Ok(value) => max.set(cx, int, value),
            },
            None => failed = true,
        }
        Ok(())
    });
    if read && max.get().is_none() && !failed {
        cx.error(attr, "`reverse_ts` has empty parentheses; write `#[reverse_ts]`");
    }
    max.get().copied()
}

/// An option of `row_key` as the bare attribute with the same meaning: `pad(6)` as `#[pad(6)]`.
fn as_attribute(meta: &ParseNestedMeta<'_>) -> syn::Result<Attribute> {
    let (path, span) = (&meta.path, meta.path.span());
    let value = until_comma(meta.input)?;
    Ok(Attribute {
        pound_token: Token![#](span),
        style: AttrStyle::Outer,
        bracket_token: Bracket(span),
        meta: syn::parse2(quote!(#path #value))?,
    })
}

fn one_of<'n>(attr: &Attribute, names: &[&'n str]) -> Option<&'n str> {
    names.iter().copied().find(|name| attr.path().is_ident(name))
}
