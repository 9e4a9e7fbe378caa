//! The rules that need more than one part of a key type; one function each, the reason above it.

use std::collections::HashMap;

use quote::{ToTokens, format_ident};
use syn::{GenericArgument, Ident, Lifetime, PathArguments, PathSegment, Type};

use crate::attr::{MAX_KEY_LEN, Unit, unraw};
use crate::ctxt::Ctxt;
use crate::model::{Field, Key};
use crate::names;

/// Reports every broken rule.
pub(crate) fn check(cx: &Ctxt, key: &Key<'_>) {
    salt_names_fields(cx, key);
    tag_is_one_part(cx, key);
    not_a_hotspot(cx, key);
    methods_do_not_collide(cx, key);
    pads_fit(cx, key);
    for field in &key.fields {
        one_format(cx, field);
        datetime17_is_no_count(cx, field);
        type_has_a_format(cx, field);
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
    let Some(Drift { reason, randomize }) = drift_of(first) else {
        return;
    };
    cx.error(
        first.ident,
        format_args!(
            "hotspot: the row key begins with `{name}`, which {reason}: all writes go to one tablet\n\
             help: promote a field that varies, such as a user or a device, in front of `{name}`\n\
             help: or spread the rows over buckets with `#[salt(range = 4)]` on the struct\n\
             help: {randomize}\n\
             help: or insist, with `#[row_key(allow(hotspot))]` on the struct",
            name = first.name,
        ),
    );
}

/// How the values of a field move, and how else they could be spread.
struct Drift {
    reason: &'static str,
    randomize: &'static str,
}

/// The drift of a field whose new values are all at one end of the old ones.
fn drift_of(field: &Field<'_>) -> Option<Drift> {
    let attrs = &field.attrs;
    let reason = if attrs.sequential.get().is_some() {
        "is sequential, so it only grows"
    } else if attrs.reverse_ts.get().is_some() {
        "is a reversed time, so it only shrinks"
    } else if attrs.ts.get().is_some() {
        "is a time, so it only grows"
    } else {
        match last_segment(field.ty)?.ident.to_string().as_str() {
            "SystemTime" | "DateTime" | "Timestamp" | "OffsetDateTime" | "UtcDateTime"
            | "PrimitiveDateTime" => "is a time, so it only grows",
            "NaiveDate" | "Date" => "is a date, so it only grows",
            "Uuid" if attrs.uuid.get().is_none_or(|uuid| uuid.v4.get().is_none()) => {
                return Some(Drift {
                    reason: "is a UUID that may begin with a time, as those of versions 6 and 7 do, so it only grows",
                    randomize: "or store random UUIDs only, with `#[row_key(uuid(v4))]` on the field",
                });
            }
            _ => return None,
        }
    };
    Some(Drift { reason, randomize: "or begin with a random field, such as a hash of the others" })
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

/// A field is stored in one format; `reverse_ts` turns that of a number or a time around.
fn one_format(cx: &Ctxt, field: &Field<'_>) {
    let attrs = &field.attrs;
    let [pad, reverse, ts, uuid] =
        [attrs.pad.tokens(), attrs.reverse_ts.tokens(), attrs.ts.tokens(), attrs.uuid.tokens()];
    if let (Some(_), Some(reverse)) = (pad, reverse) {
        cx.error(
            reverse,
            "`reverse_ts` and `pad` are two formats for one field; remove one: \
             `#[reverse_ts(max = 999999)]` writes 6 digits",
        );
    }
    if let (Some(_), Some(ts)) = (pad, ts) {
        cx.error(
            ts,
            "`ts` and `pad` are two formats for one field; remove one: `ts` is for the time types, whose unit \
             says how many digits there are, and `pad` for integers and strings",
        );
    }
    for (other, name) in [(pad, "pad"), (reverse, "reverse_ts"), (ts, "ts")] {
        if let (Some(_), Some(uuid)) = (other, uuid) {
            cx.error(uuid, format_args!("`uuid` and `{name}` are two formats for one field; remove one"));
        }
    }
}

/// The digits of `datetime17` are those of the calendar, down to the millisecond.
fn datetime17_is_no_count(cx: &Ctxt, field: &Field<'_>) {
    let Some(ts) = field.attrs.ts.get() else {
        return;
    };
    let Some(format) = ts.datetime17.tokens() else {
        return;
    };
    if let (Some(unit), Some(written)) = (ts.unit.get(), ts.unit.tokens())
        && *unit != Unit::Millis
    {
        cx.error(written, "`datetime17` is written in milliseconds; remove `unit`, or remove `format`");
    }
    if field.attrs.reverse_ts.get().is_some() {
        cx.error(
            format,
            "`reverse_ts` subtracts a count, and `datetime17` is none; \
             remove `format`, which leaves the count of a unit",
        );
    }
}

/// The last segment of a type that is a path.
fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// Types whose keys would not be found again, or not be in order, are refused with the way out. Other
/// types without a format are refused by the compiler, through `KeyField`.
fn type_has_a_format(cx: &Ctxt, field: &Field<'_>) {
    let Some(last) = last_segment(field.ty) else {
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
