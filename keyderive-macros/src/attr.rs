//! Parses the attributes. No function here returns early on a fault: it reports the fault to [`Ctxt`] and
//! treats the attribute as absent, so that one run shows every fault.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned as _;
use syn::token::Bracket;
use syn::{AttrStyle, Attribute, Ident, LitChar, LitInt, LitStr, Path, Token};

use crate::ctxt::Ctxt;
use crate::names;
use crate::since::Since;

/// The longest row key that Bigtable allows, and so the widest field.
pub(crate) const MAX_KEY_LEN: usize = 4096;

/// The attributes of the struct.
pub(crate) struct StructAttrs {
    /// Each `#[salt]`, with its tokens for errors.
    pub(crate) salts: Vec<(TokenStream, SaltAttr)>,
    pub(crate) tag: Attr<LitStr>,
    pub(crate) delimiter: Attr<u8>,
    pub(crate) krate: Attr<Path>,
    pub(crate) allow: Allowed,
    pub(crate) display: Attr<()>,
    pub(crate) trait_methods: Attr<()>,
    pub(crate) layout: Attr<Layout>,
    pub(crate) fingerprint: Attr<u64>,
    foreign: Foreign,
    /// Whether an attribute has an error, so that its intent is unknown.
    pub(crate) faulty: bool,
}

/// How a key joins its parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Text,
    Ordered,
}

impl StructAttrs {
    pub(crate) fn read(cx: &Ctxt, attrs: &[Attribute]) -> Self {
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
            trait_methods: Attr::none("trait_methods"),
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

    pub(crate) fn layout(&self) -> Layout {
        self.layout.get().copied().unwrap_or(Layout::Text)
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
                match u8::try_from(char.value()).ok().filter(u8::is_ascii) {
                    Some(byte) => self.delimiter.set(cx, char, byte),
                    None => cx.error(
                        char,
                        "the delimiter is one byte; choose an ASCII character, such as '#' or '-'",
                    ),
                }
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
                    "text" => self.layout.set(cx, layout, Layout::Text),
                    "ordered" => self.layout.set(cx, layout, Layout::Ordered),
                    _ => cx.error(layout, "a layout is \"text\", which is the default, or \"ordered\""),
                }
            }
        // #[row_key(fingerprint = "b0b5a2f3d3ce5d2c")]
        } else if meta.path.is_ident("fingerprint") {
            if let Some(written) = value::<LitStr>(cx, meta, "a string of 16 hexadecimal digits")? {
                let text = written.value();
                match u64::from_str_radix(&text, 16).ok().filter(|_| text.len() == 16) {
                    Some(number) => self.fingerprint.set(cx, written, number),
                    None => cx.error(
                        written,
                        "a fingerprint is 16 hexadecimal digits; print it with `Key::SCHEMA.fingerprint()`",
                    ),
                }
            }
        // #[row_key(display)]
        } else if meta.path.is_ident("display") {
            flag(cx, meta, &mut self.display)?;
        // #[row_key(trait_methods)]
        } else if meta.path.is_ident("trait_methods") {
            flag(cx, meta, &mut self.trait_methods)?;
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
pub(crate) struct FieldAttrs {
    pub(crate) pad: Attr<usize>,
    pub(crate) reverse_ts: Attr<u64>,
    pub(crate) sequential: Attr<()>,
    pub(crate) desc: Attr<()>,
    pub(crate) bit_reverse: Attr<()>,
    pub(crate) escape: Attr<()>,
    pub(crate) hash: Attr<()>,
    pub(crate) name: Attr<LitStr>,
    pub(crate) method: Attr<Ident>,
    pub(crate) with: Attr<WithAttr>,
    pub(crate) ts: Attr<TsAttr>,
    pub(crate) uuid: Attr<UuidAttr>,
    /// As in [`StructAttrs`].
    pub(crate) faulty: bool,
}

/// `with = "module"`: the text, and the path that the generated code calls.
pub(crate) struct WithAttr {
    pub(crate) written: String,
    pub(crate) module: Path,
}

impl FieldAttrs {
    pub(crate) fn read(cx: &Ctxt, attrs: &[Attribute], on_struct: &StructAttrs) -> Self {
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

/// The names in `allow(…)`.
#[derive(Default)]
pub(crate) struct Allowed {
    named: Vec<(&'static str, Path)>,
    /// Whether a name was unknown. It is already reported and may be a misspelling of any rule, so every rule counts as
    /// allowed.
    unknown: bool,
}

impl Allowed {
    pub(crate) fn is_allowed(&self, name: &str) -> bool {
        self.unknown || self.tokens(name).is_some()
    }

    pub(crate) fn tokens(&self, name: &str) -> Option<&Path> {
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
pub(crate) struct Foreign(Vec<&'static str>);

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

/// The smallest salt range: one bucket would spread nothing.
const MIN_RANGE: u16 = 2;
/// The largest salt range: a bucket has at most four digits.
const MAX_RANGE: u16 = 4096;

/// The only value of `position`.
const FRONT: &str = "front";
/// The only value of `hash` in `#[salt(…)]`.
pub(crate) const JAVA: &str = "java";

/// `#[salt(…)]`
pub(crate) struct SaltAttr {
    /// The number of buckets; absent if it has an error.
    pub(crate) range: Attr<u16>,
    /// The names in `over`, each with the tokens that its errors point at; absent for all fields.
    pub(crate) over: Attr<Vec<(TokenStream, String)>>,
    /// The separator after the salt; absent for the delimiter.
    pub(crate) sep: Attr<String>,
    /// The field before the salt.
    pub(crate) after: Attr<String>,
    /// `position = "front"`: before the tag, too.
    pub(crate) front: Attr<()>,
    /// `hash = "java"`: the hash of Google's sample.
    pub(crate) java: Attr<()>,
    /// `since(at = "…")`: from which time on keys have the salt.
    pub(crate) since: Attr<Since>,
    /// As in [`StructAttrs`].
    pub(crate) faulty: bool,
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

    /// The separator ends the digits of the salt, which are not always padded.
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
                    "`sep` contains the digit `{digit}`, but it must mark where the digits of the salt end; \
                     choose other characters, such as \"-\""
                ),
            );
        } else {
            self.sep.set(cx, sep, text);
        }
    }
}

/// Sets an option that has a single valid value.
fn set_word(cx: &Ctxt, attr: &mut Attr<()>, written: &LitStr, word: &str, remedy: &str) {
    if written.value() == word {
        attr.set(cx, written, ());
    } else {
        let name = attr.name;
        cx.error(written, format_args!("`{name}` must be \"{word}\", not {}; {remedy}", written.token()));
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

/// `ts(unit = "millis", exact, format = "datetime17")`
pub(crate) struct TsAttr {
    pub(crate) unit: Attr<Unit>,
    pub(crate) exact: Attr<()>,
    /// `format = "datetime17"`, the only format.
    pub(crate) datetime17: Attr<()>,
}

/// `uuid(simple, v4)`
pub(crate) struct UuidAttr {
    pub(crate) simple: Attr<()>,
    pub(crate) v4: Attr<()>,
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
    if read && max.value.is_none() && !failed {
        cx.error(attr, "`reverse_ts` has empty parentheses; write `#[reverse_ts]`");
    }
    max.value.map(|(_, max)| max)
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

/// Rejects a value after an option that takes none: `desc = false` would be read as `desc`.
fn no_value(cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
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

fn until_comma(input: ParseStream<'_>) -> syn::Result<TokenStream> {
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

fn one_of<'n>(attr: &Attribute, names: &[&'n str]) -> Option<&'n str> {
    names.iter().copied().find(|name| attr.path().is_ident(name))
}

/// An identifier's name, without `r#`.
pub(crate) fn unraw(ident: &Ident) -> String {
    IdentExt::unraw(ident).to_string()
}
