//! The rules that need more than one part of a key type; one function each, the reason above it.

use std::collections::HashMap;

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::{GenericArgument, Ident, Lifetime, PathArguments, PathSegment, Type};

use crate::attr::{FieldAttrs, Layout, MAX_KEY_LEN, unraw};
use crate::ctxt::Ctxt;
use crate::model::{Field, Key};
use crate::names;

/// Reports every broken rule.
pub(crate) fn check(cx: &Ctxt, key: &Key<'_>) {
    salt_names_fields(cx, key);
    tag_is_one_part(cx, key);
    not_a_hotspot(cx, key);
    methods_do_not_collide(cx, key);
    delimiter_is_of_the_layout(cx, key);
    display_is_text(cx, key);
    schema_names_differ(cx, key);
    pads_fit(cx, key);
    for field in &key.fields {
        one_format(cx, field);
        one_order(cx, field);
        format_is_of_the_layout(cx, key, field);
        if field.attrs.with.get().is_some() {
            with_owns_its_value(cx, key, field);
            continue;
        }
        if let Some(fault) = fault_of_type(field.ty) {
            cx.error(field.ty, fault);
        }
        borrows_from_the_key(cx, field);
    }
}

/// The salt is a function of stored fields, so each name in `over` is one, once.
fn salt_names_fields(cx: &Ctxt, key: &Key<'_>) {
    let Some((written, over)) = key.salt().and_then(|salt| Some((salt.over.tokens()?, salt.over.get()?)))
    else {
        return;
    };
    if over.is_empty() {
        cx.error(
            written,
            "`over` names no field; name the fields that choose the bucket, or leave `over` out for all",
        );
    }
    let names = || key.fields.iter().map(|field| field.name.as_str());
    for (at, (tokens, name)) in over.iter().enumerate() {
        if !names().any(|field| field == name) {
            let remedy = names::suggestion(name, names());
            cx.error(
                tokens,
                format_args!("`over` names `{name}`, which is not a field of `{}`; {remedy}", key.name()),
            );
        } else if over[..at].iter().any(|(_, earlier)| earlier == name) {
            cx.error(tokens, format_args!("`over` names `{name}` twice; remove one"));
        }
    }
}

/// Key types that share a table are told apart by their tags, so a tag ends at the first delimiter, and
/// sorts as text does.
fn tag_is_one_part(cx: &Ctxt, key: &Key<'_>) {
    let Some(tag) = key.tag() else {
        return;
    };
    let delimiter = key.delimiter();
    if tag.value().is_empty() {
        cx.error(tag, "the tag is empty; give it a text, or leave `tag` out");
    } else if key.layout() == Layout::Ordered {
        // Any text is one part there.
    } else if let Some(byte) = tag.value().bytes().find(|byte| *byte <= delimiter) {
        cx.error(
            tag,
            format_args!(
                "the tag holds `{}`, which is at or below the delimiter `{}`; choose letters and digits",
                byte.escape_ascii(),
                delimiter.escape_ascii(),
            ),
        );
    }
}

/// A key that begins with a value which only grows, or only shrinks, sends every write to the tablet at
/// one end of the table.
fn not_a_hotspot(cx: &Ctxt, key: &Key<'_>) {
    let Some(first) = key.fields.first() else {
        return;
    };
    if key.salt().is_some() || key.attrs.allow_hotspot.get().is_some() {
        return;
    }
    // Its reversed bits, or its hash, vary from the first one on.
    if first.attrs.bit_reverse.get().is_some() || first.is_hashed() {
        return;
    }
    let reason = match (first.attrs.sequential.get(), first.attrs.reverse_ts.get()) {
        (Some(()), _) => "is sequential, so it only grows",
        (None, Some(_)) => "is a reversed time, so it only shrinks",
        (None, None) => return,
    };
    cx.error(
        first.ident,
        format_args!(
            "hotspot: the row key begins with `{name}`, which {reason}: all writes go to one tablet\n\
             help: promote a field that varies, such as a user or a device, in front of `{name}`\n\
             help: or spread the rows over buckets with `#[salt(range = 4)]` on the struct\n\
             help: or begin with a random field, such as a hash of the others\n\
             help: or insist, with `#[row_key(allow(hotspot))]` on the struct",
            name = first.name,
        ),
    );
}

/// Each field has methods on the scan builder, which has words of its own too.
fn methods_do_not_collide(cx: &Ctxt, key: &Key<'_>) {
    let mut taken: HashMap<String, &str> = HashMap::new();
    for field in &key.fields {
        let (blamed, remedy) = match field.attrs.method.tokens() {
            Some(written) => (written.clone(), "choose another"),
            None => {
                (field.ident.to_token_stream(), "rename the field, or write `#[row_key(method = \"…\")]`")
            }
        };
        for method in methods_of(field).iter().map(unraw) {
            if BUILDER_METHODS.contains(&method.as_str()) {
                cx.error(
                    &blamed,
                    format_args!("the scan builder has a method `{method}` of its own; {remedy}"),
                );
            } else if let Some(other) = taken.get(&method).filter(|other| **other != field.name) {
                cx.error(
                    &blamed,
                    format_args!(
                        "the scan methods of `{}` and `{other}` collide: both would be `{method}`; {remedy}",
                        field.name,
                    ),
                );
            } else {
                taken.insert(method, &field.name);
            }
        }
    }
}

/// The schema knows fields by their names.
fn schema_names_differ(cx: &Ctxt, key: &Key<'_>) {
    for (at, field) in key.fields.iter().enumerate() {
        let name = field.schema_name();
        let Some(other) = key.fields[..at].iter().find(|other| other.schema_name() == name) else {
            continue;
        };
        // Two fields have different names, so one of these is given by an attribute.
        let written = field.attrs.name.tokens().or(other.attrs.name.tokens());
        cx.error(
            written,
            format_args!(
                "`{}` and `{}` would both be `{name}` in the schema; give each a name of its own",
                other.name, field.name,
            ),
        );
    }
}

/// The scan builder's own words.
pub(crate) const BUILDER_METHODS: [&str; 2] = ["into_plan", "explain"];

/// The methods that a field has on the scan builder: to fix it, for a range, for a prefix.
///
/// The first is the field's own identifier, or that in `method`, so that `r#type` stays raw.
pub(crate) fn methods_of(field: &Field<'_>) -> [Ident; 3] {
    let Some(method) = field.attrs.method.get() else {
        let name = &field.name;
        return [field.ident.clone(), format_ident!("{name}_range"), format_ident!("{name}_prefix")];
    };
    let name = unraw(method);
    [method.clone(), format_ident!("{name}_range"), format_ident!("{name}_prefix")]
}

/// Bigtable limits the length of a row key. What only the field types know is asserted by the schema.
fn pads_fit(cx: &Ctxt, key: &Key<'_>) {
    let mut len: usize = 0;
    for (at, field) in key.fields.iter().enumerate() {
        let Some((width, written)) = field.attrs.pad.get().zip(field.attrs.pad.tokens()) else {
            continue;
        };
        len += width;
        // Each field in front has a delimiter behind it.
        if len + at > MAX_KEY_LEN {
            cx.error(
                written,
                format_args!(
                    "up to `{}`, the row key is {} bytes at least, and Bigtable allows {MAX_KEY_LEN}; \
                     make a `#[pad(n)]` smaller, or move a field into a column",
                    field.name,
                    len + at,
                ),
            );
            return;
        }
    }
}

/// A field is stored in one format.
fn one_format(cx: &Ctxt, field: &Field<'_>) {
    if let (Some(_), Some(reverse)) = (field.attrs.pad.get(), field.attrs.reverse_ts.tokens()) {
        cx.error(
            reverse,
            "`reverse_ts` and `pad` are two formats for one field; remove one: \
             `#[reverse_ts(max = 999999)]` writes 6 digits",
        );
    }
    let FieldAttrs { pad, reverse_ts, desc, bit_reverse, escape, .. } = &field.attrs;
    let others = [
        ("pad", pad.tokens()),
        ("reverse_ts", reverse_ts.tokens()),
        ("desc", desc.tokens()),
        ("bit_reverse", bit_reverse.tokens()),
        ("escape", escape.tokens()),
    ];
    for (name, written) in others {
        if let (Some(written), Some(_)) = (written, field.attrs.with.get()) {
            cx.error(
                written,
                format_args!(
                    "`{name}` and `with` are two formats for one field; remove one: the module writes the whole field"
                ),
            );
        }
    }
}

/// A module reads a value out of bytes that it does not keep.
fn with_owns_its_value(cx: &Ctxt, key: &Key<'_>, field: &Field<'_>) {
    let borrows =
        key.input.generics.lifetimes().any(|param| mentions(field.ty.to_token_stream(), &param.lifetime));
    if borrows {
        cx.error(
            field.ty,
            "a field stored `with` a module owns its value; use a type without borrowed parts",
        );
    }
}

/// Whether a type's tokens name the lifetime.
fn mentions(tokens: TokenStream, lifetime: &Lifetime) -> bool {
    let mut quoted = false;
    tokens.into_iter().any(|token| {
        let after_quote = std::mem::replace(&mut quoted, false);
        match token {
            TokenTree::Punct(punct) => {
                quoted = punct.as_char() == '\'';
                false
            }
            TokenTree::Ident(ident) => after_quote && ident == lifetime.ident,
            TokenTree::Group(group) => mentions(group.stream(), lifetime),
            TokenTree::Literal(_) => false,
        }
    })
}

/// A field is in one order, and escaped text in its own: text has no greatest value to count down from.
fn one_order(cx: &Ctxt, field: &Field<'_>) {
    let FieldAttrs { pad, escape, reverse_ts, desc, bit_reverse, .. } = &field.attrs;
    let orders =
        [("reverse_ts", reverse_ts.tokens()), ("desc", desc.tokens()), ("bit_reverse", bit_reverse.tokens())];
    let mut orders = orders.into_iter().filter_map(|(name, tokens)| Some((name, tokens?)));
    let Some((first, tokens)) = orders.next() else {
        if let (Some(_), Some(escape)) = (pad.get(), escape.tokens()) {
            cx.error(escape, "`escape` and `pad` are two formats for one field; remove one");
        }
        return;
    };
    if escape.get().is_some() {
        cx.error(tokens, format_args!("`{first}` is for numbers, and `escape` for text; remove one"));
    }
    if let (Some(_), "bit_reverse") = (pad.get(), first) {
        cx.error(tokens, "`bit_reverse` needs all digits of its type; remove `pad`");
    }
    if let (true, Some(hash)) = (field.is_hashed(), field.attrs.hash.tokens()) {
        cx.error(hash, format_args!("a hash has no order, so `{first}` would be lost; remove one"));
    }
    for (other, tokens) in orders {
        cx.error(tokens, format_args!("`{first}` and `{other}` are two orders for one field; remove one"));
    }
}

/// The ordered layout writes numbers and text in formats of its own.
fn format_is_of_the_layout(cx: &Ctxt, key: &Key<'_>, field: &Field<'_>) {
    if key.layout() == Layout::Text {
        return;
    }
    let FieldAttrs { pad, escape, bit_reverse, .. } = &field.attrs;
    let options = [
        ("pad", pad.tokens(), "numbers sort without padding there"),
        ("escape", escape.tokens(), "text of any kind is written there"),
        ("bit_reverse", bit_reverse.tokens(), "an Int64 has no room for all reversed bits"),
    ];
    for (name, tokens, reason) in options {
        if let Some(tokens) = tokens {
            cx.error(
                tokens,
                format_args!("`{name}` is of the text layout, and the key is ordered: {reason}; remove it"),
            );
        }
    }
}

/// A text form is read back, and only the text layout is text.
fn display_is_text(cx: &Ctxt, key: &Key<'_>) {
    let Some(display) = key.attrs.display.tokens() else {
        return;
    };
    if key.layout() == Layout::Ordered {
        cx.error(display, "`display` is the text of a key, and the ordered layout is not text; remove it");
    }
    if key.first_hashed().is_some() {
        cx.error(display, "`display` can be read back, and a key with a hashed field cannot; remove it");
    }
}

/// The ordered layout separates its parts by itself.
fn delimiter_is_of_the_layout(cx: &Ctxt, key: &Key<'_>) {
    if let (Layout::Ordered, Some(delimiter)) = (key.layout(), key.attrs.delimiter.tokens()) {
        cx.error(delimiter, "the ordered layout has no delimiter; remove it, or `layout = \"ordered\"`");
    }
}

/// Types whose keys would not be found again, or not be in order, are refused with the way out. Other
/// types without a format are refused by the compiler, through `KeyField`.
pub(crate) fn fault_of_type(ty: &Type) -> Option<&'static str> {
    let Type::Path(path) = ty else {
        return None;
    };
    let last = path.path.segments.last()?;
    Some(match last.ident.to_string().as_str() {
        "usize" => "the width of `usize` depends on the machine; write `u64` or `u32`",
        "isize" => "the width of `isize` depends on the machine; write `i64` or `i32`",
        "f32" | "f64" => {
            "floats have several forms of one value and none that sorts as text; \
             store an integer, such as the value in thousandths"
        }
        // A type of the user's may have this name; with a parameter it is the standard one.
        "Option" if !last.arguments.is_none() => {
            "a row key has no place for a missing value; use a value that stands for it, or a second key type"
        }
        _ => return None,
    })
}

/// What a key borrows is read out of the bytes it is decoded from, which are not there for ever.
fn borrows_from_the_key(cx: &Ctxt, field: &Field<'_>) {
    if let Some(lifetime) = borrowed_for_ever(field.ty) {
        cx.error(
            lifetime,
            "a key is read out of bytes that do not live for `'static`; give the struct a lifetime and \
             write it here, or store a `String`",
        );
    }
}

/// The `'static` of a type that would have to borrow for as long.
pub(crate) fn borrowed_for_ever(ty: &Type) -> Option<&Lifetime> {
    let lifetime = match ty {
        Type::Reference(reference) => reference.lifetime.as_ref(),
        Type::Path(path) => {
            path.path.segments.last().filter(|last| last.ident == "Cow").and_then(lifetime_of)
        }
        _ => None,
    };
    lifetime.filter(|lifetime| lifetime.ident == "static")
}

/// The lifetime among the arguments of a path's segment.
fn lifetime_of(segment: &PathSegment) -> Option<&Lifetime> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Lifetime(lifetime) => Some(lifetime),
        _ => None,
    })
}
