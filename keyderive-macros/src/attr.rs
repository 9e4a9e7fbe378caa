//! The attributes as they are written. No reader here returns an error: faults go to the context, and
//! what is left out is treated as not written, so that one run shows them all.

mod allow;
mod bare;
mod flag;
mod salt;
mod stored;

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::spanned::Spanned as _;
use syn::token::Bracket;
use syn::{AttrStyle, Attribute, Ident, LitChar, LitStr, Path, Token};

use crate::ctxt::Ctxt;
use crate::names;

pub(crate) use allow::Allowed;
use bare::{read_pad, read_reverse_ts};
use flag::{flag, no_value};
pub(crate) use salt::{JAVA, SaltAttr};
pub(crate) use stored::{TsAttr, Unit, UuidAttr};

/// The longest row key that Bigtable allows, and so the widest field.
pub(crate) const MAX_KEY_LEN: usize = 4096;

/// A value that may be written once, with the tokens that wrote it.
pub(crate) struct Attr<T> {
    name: &'static str,
    value: Option<(TokenStream, T)>,
}

impl<T> Attr<T> {
    pub(crate) fn none(name: &'static str) -> Self {
        Self { name, value: None }
    }

    fn set(&mut self, cx: &Ctxt, tokens: impl ToTokens, value: T) {
        let tokens = tokens.into_token_stream();
        match self.value {
            Some(_) => cx.error(tokens, format_args!("`{}` is given twice; remove one", self.name)),
            None => self.value = Some((tokens, value)),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref().map(|(_, value)| value)
    }

    /// What wrote the value.
    pub(crate) fn tokens(&self) -> Option<&TokenStream> {
        self.value.as_ref().map(|(tokens, _)| tokens)
    }
}

/// The attributes of the struct.
pub(crate) struct StructAttrs {
    pub(crate) salt: Attr<SaltAttr>,
    pub(crate) tag: Attr<LitStr>,
    pub(crate) delimiter: Attr<u8>,
    pub(crate) krate: Attr<Path>,
    pub(crate) allow: Allowed,
    pub(crate) display: Attr<()>,
    pub(crate) layout: Attr<Layout>,
    pub(crate) fingerprint: Attr<u64>,
    /// The bare attributes that another derive owns.
    foreign: Foreign,
    /// Whether something in them has an error, so that what was meant is not known.
    pub(crate) faulty: bool,
}

/// How the parts of a key are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Text,
    Ordered,
}

/// The bare attributes that another derive owns, so that this one passes over them.
#[derive(Default)]
pub(crate) struct Foreign(Vec<&'static str>);

impl Foreign {
    fn read(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        match names::BARE.iter().find(|name| meta.path.is_ident(name)) {
            Some(name) => self.0.push(name),
            None => unknown(cx, &meta.path, "foreign", names::BARE),
        }
        no_value(cx, meta)
    }

    fn owns(&self, attr: &Attribute) -> bool {
        one_of(attr, &self.0).is_some()
    }
}

/// An option of `row_key` as the attribute that it may be as well: `pad(6)` as `#[pad(6)]`.
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
    /// As that of [`StructAttrs`].
    pub(crate) faulty: bool,
}

/// `with = "module"` as it is written, and as it is called.
pub(crate) struct WithAttr {
    pub(crate) written: String,
    pub(crate) module: Path,
}

impl StructAttrs {
    pub(crate) fn read(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        let errors = cx.count();
        let mut read = Self {
            salt: Attr::none("salt"),
            tag: Attr::none("tag"),
            delimiter: Attr::none("delimiter"),
            krate: Attr::none("crate"),
            allow: Allowed::default(),
            layout: Attr::none("layout"),
            fingerprint: Attr::none("fingerprint"),
            foreign: Foreign::default(),
            display: Attr::none("display"),
            faulty: false,
        };
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("row_key")) {
            each_meta(cx, attr, names::ON_STRUCT, |meta| read.row_key(cx, &meta));
        }
        for attr in attrs.iter().filter(|attr| !read.foreign.owns(attr)) {
            if attr.path().is_ident("salt") {
                read.salt.set(cx, attr, SaltAttr::read(cx, attr));
            } else if let Some(name) = one_of(attr, &["pad", "reverse_ts"]) {
                cx.error(
                    attr,
                    format_args!("`#[{name}]` belongs on a field; move it to the field it is for"),
                );
            }
        }
        read.faulty = cx.count() > errors;
        read
    }

    /// The text layout where none is given.
    pub(crate) fn layout(&self) -> Layout {
        self.layout.get().copied().unwrap_or(Layout::Text)
    }

    fn row_key(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        // #[row_key(salt(range = 4))]
        if meta.path.is_ident("salt") {
            let attr = as_attribute(meta)?;
            self.salt.set(cx, &meta.path, SaltAttr::read(cx, &attr));
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
        } else if names::ON_FIELD.iter().any(|name| meta.path.is_ident(name)) {
            let name = meta.path.to_token_stream();
            cx.error(&meta.path, format_args!("`{name}` belongs on a field; move it to the field it is for"));
            skip_value(meta.input)?;
        } else {
            unknown(cx, &meta.path, "row_key", names::ON_STRUCT);
            skip_value(meta.input)?;
        }
        Ok(())
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

impl FieldAttrs {
    pub(crate) fn read(cx: &Ctxt, attrs: &[Attribute], on_struct: &StructAttrs) -> Self {
        let errors = cx.count();
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
        read.faulty = cx.count() > errors;
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
                unknown(cx, &function.path, "hash", &["md5"]);
                skip_value(function.input)
            })?;
            self.hash.set(cx, &meta.path, ());
        // #[row_key(name = "user")]
        } else if meta.path.is_ident("name") {
            match value::<LitStr>(cx, meta, "a string, such as name = \"user\"")? {
                Some(name) if name.value().is_empty() => {
                    cx.error(name, "the name is empty; write the one that the schema keeps");
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
            unknown(cx, &meta.path, "row_key", names::ON_FIELD);
        }
        skip_value(meta.input)
    }
}

/// Reads each part of an attribute's list; false, with an error, where there is none that can be read.
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

/// The literal after `name =`; none, with an error on the value, where it is something else.
fn value<T: syn::parse::Parse>(
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
    // A forgotten comma: what follows is understood, so only the comma is missing.
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

/// Passes over what stands after a name that is not understood.
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

pub(crate) fn unknown(cx: &Ctxt, path: &Path, level: &str, names: &[&str]) {
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
