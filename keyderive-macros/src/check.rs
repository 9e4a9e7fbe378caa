//! The rules that need more than one part of a key type; one function each, the reason above it.

mod salt;

use std::collections::HashMap;

use quote::{ToTokens, format_ident};
use syn::{GenericArgument, Ident, Lifetime, PathArguments, PathSegment, Type};

use crate::attr::{MAX_KEY_LEN, unraw};
use crate::ctxt::Ctxt;
use crate::model::{Field, Key};

/// Reports every broken rule.
pub(crate) fn check(cx: &Ctxt, key: &Key<'_>) {
    salt::check(cx, key);
    tag_is_one_part(cx, key);
    not_a_hotspot(cx, key);
    methods_do_not_collide(cx, key);
    pads_fit(cx, key);
    for field in &key.fields {
        one_format(cx, field);
        type_has_a_format(cx, field);
        borrows_from_the_key(cx, field);
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
    if key.begins_with_salt() || key.attrs.allow_hotspot.get().is_some() {
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
             help: or {salt}\n\
             help: or begin with a random field, such as a hash of the others\n\
             help: or insist, with `#[row_key(allow(hotspot))]` on the struct",
            name = first.name,
            salt = match key.salt() {
                Some(_) => "put the salt in front: leave its `after` out",
                None => "spread the rows over buckets with `#[salt(range = 4)]` on the struct",
            },
        ),
    );
}

/// Each field has methods on the scan builder, which has words of its own too.
fn methods_do_not_collide(cx: &Ctxt, key: &Key<'_>) {
    let mut taken: HashMap<String, &str> = HashMap::new();
    for field in &key.fields {
        for method in methods_of(field).iter().map(unraw) {
            if BUILDER_METHODS.contains(&method.as_str()) {
                cx.error(
                    field.ident,
                    format_args!("the scan builder has a method `{method}` of its own; rename the field"),
                );
            } else if let Some(other) = taken.get(&method).filter(|other| **other != field.name) {
                cx.error(
                    field.ident,
                    format_args!(
                        "the scan methods of `{}` and `{other}` collide: both would be `{method}`; rename one field",
                        field.name,
                    ),
                );
            } else {
                taken.insert(method, &field.name);
            }
        }
    }
}

/// The scan builder's own words.
pub(crate) const BUILDER_METHODS: [&str; 2] = ["into_plan", "explain"];

/// The methods that a field has on the scan builder: to fix it, for a range, for a prefix.
///
/// The first is the field's own identifier, so that `r#type` stays raw.
pub(crate) fn methods_of(field: &Field<'_>) -> [Ident; 3] {
    let name = &field.name;
    [field.ident.clone(), format_ident!("{name}_range"), format_ident!("{name}_prefix")]
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
}

/// Types whose keys would not be found again, or not be in order, are refused with the way out. Other
/// types without a format are refused by the compiler, through `KeyField`.
fn type_has_a_format(cx: &Ctxt, field: &Field<'_>) {
    let Type::Path(path) = field.ty else {
        return;
    };
    let Some(last) = path.path.segments.last() else {
        return;
    };
    let fault = match last.ident.to_string().as_str() {
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
        _ => return,
    };
    cx.error(field.ty.to_token_stream(), fault);
}

/// What a key borrows is read out of the bytes it is decoded from, which are not there for ever.
fn borrows_from_the_key(cx: &Ctxt, field: &Field<'_>) {
    let lifetime = match field.ty {
        Type::Reference(reference) => reference.lifetime.as_ref(),
        Type::Path(path) => {
            path.path.segments.last().filter(|last| last.ident == "Cow").and_then(lifetime_of)
        }
        _ => None,
    };
    if let Some(lifetime) = lifetime.filter(|lifetime| lifetime.ident == "static") {
        cx.error(
            lifetime,
            "a key is read out of bytes that do not live for `'static`; give the struct a lifetime and \
             write it here, or store a `String`",
        );
    }
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
