//! The rules that need more than one part of a key type: one function each, with the reason above it.

use std::collections::HashMap;

use keyderive_layout::key_rules::{KeyEncoding, MAX_KEY_LEN};
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::{GenericArgument, Ident, Lifetime, PathArguments, Type};

use super::attr::{FieldAttrs, SaltAttr};
use super::layout;
use super::model::{Field, Key};
use crate::attr::{Unit, unraw};
use crate::ctxt::Ctxt;
use crate::types::{fault_of_type, last_segment, static_borrow, ungrouped};

/// Reports every broken rule.
pub(super) fn check(cx: &Ctxt, key: &Key<'_>) {
    layout::check(cx, key);
    one_salt_without_since(cx, key);
    for salt in key.salts() {
        one_place(cx, salt);
    }
    allowed(cx, key);
    methods_do_not_collide(cx, key);
    display_is_text(cx, key);
    pads_fit(cx, key);
    fields_come_from_an_old_key(cx, key);
    for field in &key.fields {
        let errors = cx.error_count();
        one_format(cx, field);
        one_order(cx, field);
        format_is_of_the_layout(cx, key, field);
        datetime17_is_not_a_count(cx, field);
        if cx.error_count() == errors && !field.attrs.faulty {
            format_takes_the_type(cx, field);
        }
        if field.attrs.with.get().is_some() {
            with_owns_its_value(cx, key, field);
            continue;
        }
        if let Some(fault) = fault_of_type(field.ty) {
            cx.error(field.ty, fault);
        }
        borrows_nothing_static(cx, field);
    }
}

/// `FromStr` decodes what `Display` prints, and only the text layout is text.
fn display_is_text(cx: &Ctxt, key: &Key<'_>) {
    let Some(display) = key.attrs.display.tokens() else {
        return;
    };
    if key.layout() == KeyEncoding::OrderedCode {
        cx.error(display, "`display` is the text of a key, and the ordered layout is not text; remove it");
    }
    if key.first_hashed().is_some() {
        cx.error(
            display,
            "the text of `display` can be parsed back, but a key with a hashed field cannot be decoded; remove it",
        );
    }
}

/// Each method of the scan builder belongs to one field, or to the builder itself.
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

/// A key that takes the place of another has the values of its fields, each once, as values of their own.
fn fields_come_from_an_old_key(cx: &Ctxt, key: &Key<'_>) {
    let Some(old) = key.attrs.rekeyed_from.tokens() else {
        if key.attrs.faulty {
            return;
        }
        for field in &key.fields {
            if let Some(was) = field.attrs.was.tokens() {
                cx.error(
                    was,
                    "`was` names a field of the key type whose place this one takes; add `#[row_key(rekeyed_from = OldKey)]` to the struct, or remove `was` once the re-keying has ended",
                );
            }
        }
        return;
    };
    if let Some(param) = key.input.generics.lifetimes().next() {
        cx.error(
            &param.lifetime,
            "a key that takes the place of another owns its fields: the keys of rows are converted to it; write `String` or `Vec<u8>` for what it borrows",
        );
    }
    if let Some(hashed) = key.fields.iter().find(|field| field.is_hashed()) {
        let message = format!(
            "the old key of a row is made from the new one, and the value of `{}` cannot be read back from its hash; remove `hash`, or `rekeyed_from` and copy the table",
            hashed.name
        );
        cx.error(hashed.attrs.hash.tokens().unwrap_or(old), message);
    }
    let mut taken: HashMap<String, &str> = HashMap::new();
    for field in &key.fields {
        let source = unraw(&field.old_ident());
        match taken.get(&source) {
            Some(other) => cx.error(
                field.attrs.was.tokens().cloned().unwrap_or_else(|| field.ident.to_token_stream()),
                format_args!(
                    "`{other}` and `{}` both take the values of the old `{source}`; name another field with `was`",
                    field.name
                ),
            ),
            None => _ = taken.insert(source, &field.name),
        }
    }
}

/// The scan builder's own methods.
pub(super) const BUILDER_METHODS: [&str; 2] = ["into_plan", "explain"];

/// The scan methods of a field: one value, a range, a prefix, several values.
///
/// The first is the field's own identifier or the one in `method`, so that `r#type` stays raw.
pub(super) fn methods_of(field: &Field<'_>) -> [Ident; 4] {
    let fix = field.attrs.method.get().unwrap_or(field.ident);
    let name = unraw(fix);
    let [range, prefix, any_of] = ["range", "prefix", "any_of"].map(|kind| format_ident!("{name}_{kind}"));
    [fix.clone(), range, prefix, any_of]
}

/// Bigtable limits the length of a row key. The schema asserts the widths that only the field types know.
fn pads_fit(cx: &Ctxt, key: &Key<'_>) {
    let mut len: usize = 0;
    for (at, field) in key.fields.iter().enumerate() {
        let Some((width, written)) = field.attrs.pad.get().zip(field.attrs.pad.tokens()) else {
            continue;
        };
        len += width;
        // A delimiter follows each of the `at` fields before this one.
        if len + at > MAX_KEY_LEN {
            cx.error(
                written,
                format_args!(
                    "up to `{}`, the row key takes at least {} bytes, and Bigtable allows {MAX_KEY_LEN}; \
                     make a `#[pad(n)]` smaller, or move a field into a column",
                    field.name,
                    len + at,
                ),
            );
            return;
        }
    }
}

/// A field has one format.
fn one_format(cx: &Ctxt, field: &Field<'_>) {
    let attrs = &field.attrs;
    let [pad, reverse, ts, uuid] =
        [attrs.pad.tokens(), attrs.reverse_ts.tokens(), attrs.ts.tokens(), attrs.uuid.tokens()];
    if let (Some(width), Some(reverse)) = (attrs.pad.get(), reverse) {
        cx.error(
            reverse,
            format_args!(
                "`reverse_ts` and `pad` are two formats for one field; remove one: {} digits",
                reversed_in(*width),
            ),
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
    let others = [
        ("pad", pad),
        ("reverse_ts", reverse),
        ("desc", attrs.desc.tokens()),
        ("bit_reverse", attrs.bit_reverse.tokens()),
        ("escape", attrs.escape.tokens()),
        ("ts", ts),
        ("uuid", uuid),
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

/// A format of an attribute takes the field's type, as far as its name says. The compiler rejects every other type through
/// `KeyField`, but only in a run without other faults.
fn format_takes_the_type(cx: &Ctxt, field: &Field<'_>) {
    let Some(kind) = kind_of(field.ty) else { return };
    let attrs = &field.attrs;
    let (integer, text) = ("an integer", "text");
    let formats: [(_, _, &[&str], _); 7] = [
        ("reverse_ts", attrs.reverse_ts.tokens(), &[integer], "integers and times"),
        ("pad", attrs.pad.tokens(), &[integer, text], "integers and strings"),
        ("desc", attrs.desc.tokens(), &[integer, "`bool`"], "integers, times, dates and `bool`"),
        ("bit_reverse", attrs.bit_reverse.tokens(), &[integer], "`u32` and `u64`"),
        ("escape", attrs.escape.tokens(), &[text, "`char`"], "`char`, `String` and `Cow<str>`"),
        ("ts", attrs.ts.tokens(), &[], "times, such as `SystemTime`"),
        ("uuid", attrs.uuid.tokens(), &[], "UUIDs"),
    ];
    for (name, written, takes, all) in formats {
        if written.is_some() && !takes.contains(&kind) {
            cx.error(
                field.ty,
                format_args!("`{name}` takes {all}, and this is {kind}; change the type, or remove `{name}`"),
            );
        }
    }
}

/// What a type of the standard library is, by its name.
fn kind_of(ty: &Type) -> Option<&'static str> {
    let is = |ty: &Type, name: &str| is_named(ty, &[name]);
    let is_u8 = |ty: &Type| is(ty, "u8");
    let unsized_kind = |ty: &Type| match ungrouped(ty) {
        Type::Slice(slice) if is_u8(&slice.elem) => Some("bytes"),
        ty if is(ty, "str") => Some("text"),
        _ => None,
    };
    match ungrouped(ty) {
        Type::Reference(reference) => unsized_kind(&reference.elem),
        Type::Array(array) if is_u8(&array.elem) => Some("bytes"),
        Type::Path(_) => {
            let last = last_segment(ty)?;
            let parameter = match &last.arguments {
                PathArguments::None => None,
                PathArguments::AngleBracketed(arguments) => {
                    arguments.args.iter().find_map(|argument| match argument {
                        GenericArgument::Type(ty) => Some(ty),
                        _ => None,
                    })
                }
                PathArguments::Parenthesized(_) => return None,
            };
            match (last.ident.to_string().as_str(), parameter) {
                ("String", None) => Some("text"),
                ("char", None) => Some("`char`"),
                ("bool", None) => Some("`bool`"),
                ("u8" | "u16" | "u32" | "u64" | "u128" | "i8" | "i16" | "i32" | "i64" | "i128", None) => {
                    Some("an integer")
                }
                ("Vec", Some(item)) if is_u8(item) => Some("bytes"),
                ("Cow", Some(of)) => unsized_kind(of),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The `reverse_ts` that writes as many digits as a `pad` of `width`, or the most digits possible.
fn reversed_in(width: usize) -> String {
    match u32::try_from(width).ok().and_then(|width| 10_u64.checked_pow(width)) {
        Some(limit) => format!("`#[reverse_ts(max = {})]` writes {width}", limit - 1),
        None => format!("`#[reverse_ts(max = {})]` writes 20", u64::MAX),
    }
}

/// A field has one order. Escaped text cannot be reversed: it has no greatest value to count down from.
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

/// The ordered layout has its own formats of numbers and text.
fn format_is_of_the_layout(cx: &Ctxt, key: &Key<'_>, field: &Field<'_>) {
    if key.layout() == KeyEncoding::Delimited {
        return;
    }
    let FieldAttrs { pad, escape, bit_reverse, ts, uuid, .. } = &field.attrs;
    let datetime17 = ts.get().and_then(|ts| ts.datetime17.tokens());
    let simple = uuid.get().and_then(|uuid| uuid.simple.tokens());
    let options = [
        ("datetime17", datetime17, "a time is a count there"),
        ("simple", simple, "a UUID is 16 bytes there"),
        ("pad", pad.tokens(), "numbers sort without padding there"),
        ("escape", escape.tokens(), "text of any kind is written there"),
        ("bit_reverse", bit_reverse.tokens(), "an Int64 has no room for all reversed bits"),
    ];
    for (name, tokens, reason) in options {
        if let Some(tokens) = tokens {
            cx.error(
                tokens,
                format_args!(
                    "`{name}` belongs to the text layout, but this key has the ordered one: {reason}; remove it"
                ),
            );
        }
    }
}

/// `datetime17` writes calendar digits down to the millisecond, not a count of a unit.
fn datetime17_is_not_a_count(cx: &Ctxt, field: &Field<'_>) {
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
            "`reverse_ts` needs a count, and `datetime17` writes calendar digits; remove `format` to store a count",
        );
    }
}

/// The module's `read` borrows its input only for the call, so the value must be owned.
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

/// A decoded key borrows from the encoded bytes, which do not live for `'static`.
fn borrows_nothing_static(cx: &Ctxt, field: &Field<'_>) {
    if let Some(lifetime) = static_borrow(field.ty) {
        cx.error(
            lifetime,
            "a key is read out of bytes that do not live for `'static`; give the struct a lifetime and \
             write it here, or store a `String`",
        );
    }
}

/// Keys before every `since` have one salt at most, whose attribute comes first, so that salts stand in the order of time.
fn one_salt_without_since(cx: &Ctxt, key: &Key<'_>) {
    for (at, (tokens, salt)) in key.attrs.salts.iter().enumerate().skip(1) {
        let all = &key.attrs.salts;
        // A faulty salt may have been meant to have a `since`.
        if salt.since.tokens().is_some() || all[..=at].iter().any(|(_, salt)| salt.faulty) {
            continue;
        }
        let is_second = all[..at].iter().any(|(_, salt)| salt.since.tokens().is_none());
        cx.error(
            tokens,
            match is_second {
                true => "`salt` is given twice; remove one, or say from when on keys have it, by `since(at = \"…\")`",
                false => {
                    "a salt without `since` is that of the keys before all bounds; move it before the other salts, or give \
                     it a `since`"
                }
            },
        );
    }
}

/// A key has one salt, in one place.
fn one_place(cx: &Ctxt, salt: &SaltAttr) {
    if let (Some(_), Some(position)) = (salt.after.get(), salt.front.tokens()) {
        cx.error(position, "`position` and `after` are two places for one salt; remove one");
    }
}

/// The rules that a key may break with `allow(…)`: they are faults in most keys, and intended in some. Also warns
/// about an `allow` without effect.
fn allowed(cx: &Ctxt, key: &Key<'_>) {
    let hotspot = hotspot(key);
    let point_reads = point_reads(key);
    let few_buckets = few_buckets(key);
    // An attribute with an error may have been meant as the remedy.
    let is_certain = |first: &Field<'_>| !key.attrs.faulty && !first.attrs.faulty;
    if let (Some((first, drift)), false) = (&hotspot, key.attrs.allow.is_allowed("hotspot"))
        && is_certain(first)
    {
        reject_hotspot(cx, key, first, drift);
    }
    for (name, warning) in [("point_reads", &point_reads), ("few_buckets", &few_buckets)] {
        if let (Some(Warning { tokens, message }), false) = (warning, key.attrs.allow.is_allowed(name)) {
            cx.warn(
                tokens,
                name,
                &format!("{message}, or allow it with `#[row_key(allow({name}))]` on the struct"),
            );
        }
    }
    let rules = [
        ("hotspot", hotspot.is_some(), "the key does not begin with a value that only grows or shrinks"),
        ("point_reads", point_reads.is_some(), "no field stands after one that is hashed"),
        ("few_buckets", few_buckets.is_some(), "the salted fields have enough values for all buckets"),
    ];
    for (name, applies, reason) in rules {
        if let (false, Some(tokens)) = (applies, key.attrs.allow.tokens(name)) {
            cx.warn(tokens, "unused_allow", &format!("`allow({name})` has no effect: {reason}; remove it"));
        }
    }
}

/// The first field, if its values only grow or only shrink: every write would go to the tablet at one end of the table.
fn hotspot<'k>(key: &'k Key<'_>) -> Option<(&'k Field<'k>, Monotonic)> {
    let first = key.fields.first()?;
    // Reversed bits and hashes vary from the first byte on.
    if key.begins_with_salt() || first.attrs.bit_reverse.get().is_some() || first.is_hashed() {
        return None;
    }
    Some((first, monotonic(first)?))
}

fn reject_hotspot(cx: &Ctxt, key: &Key<'_>, first: &Field<'_>, Monotonic { reason, randomize }: &Monotonic) {
    cx.error(
        first.ident,
        format_args!(
            "hotspot: the row key begins with `{name}`, which {reason}: all writes go to one tablet\n\
             help: promote a field that varies, such as a user or a device, before `{name}`\n\
             help: or {salt}\n\
             help: {randomize}\n\
             help: or allow it with `#[row_key(allow(hotspot))]` on the struct",
            name = first.name,
            salt = match key.salts().next_back() {
                Some(_) => "put the salt in front: leave its `after` out",
                None => "spread the rows over buckets with `#[salt(range = 4)]` on the struct",
            },
        ),
    );
}

/// Why the values of a field only grow or only shrink, and how to randomize them instead.
struct Monotonic {
    reason: &'static str,
    randomize: &'static str,
}

fn monotonic(field: &Field<'_>) -> Option<Monotonic> {
    let attrs = &field.attrs;
    let reason = if attrs.sequential.get().is_some() {
        "is sequential, so it only grows"
    } else if attrs.reverse_ts.get().is_some() {
        "is a reversed time, so it only shrinks"
    } else if attrs.desc.get().is_some() && (attrs.ts.get().is_some() || is_named(field.ty, &TIMES)) {
        "is a time with the newest first, so it only shrinks"
    } else if attrs.desc.get().is_some() && is_named(field.ty, &DATES) {
        "is a date with the newest first, so it only shrinks"
    } else if attrs.ts.get().is_some() || is_named(field.ty, &TIMES) {
        "is a time, so it only grows"
    } else if is_named(field.ty, &DATES) {
        "is a date, so it only grows"
    } else {
        let is_random = attrs.uuid.get().is_some_and(|uuid| uuid.v4.get().is_some());
        return (is_named(field.ty, &["Uuid"]) && !is_random).then_some(Monotonic {
            reason: "is a UUID that may begin with a time, as those of versions 6 and 7 do, so it only grows",
            randomize: "or store random UUIDs only, with `#[row_key(uuid(v4))]` on the field",
        });
    };
    Some(Monotonic { reason, randomize: "or begin with a random field, such as a hash of the others" })
}

/// The names of known time types.
const TIMES: [&str; 6] =
    ["SystemTime", "DateTime", "Timestamp", "OffsetDateTime", "UtcDateTime", "PrimitiveDateTime"];
/// The names of known date types.
const DATES: [&str; 2] = ["NaiveDate", "Date"];

/// A warning; its message lacks only the words on how to allow it.
struct Warning {
    tokens: TokenStream,
    message: String,
}

/// No scan can end after a hash, which has no order and no prefix: only point reads of whole keys are possible.
fn point_reads(key: &Key<'_>) -> Option<Warning> {
    let (hashed, after) =
        key.first_hashed().and_then(|at| Some((&key.fields[at], key.fields.get(at + 1)?)))?;
    Some(Warning {
        tokens: hashed.attrs.hash.tokens()?.clone(),
        message: format!(
            "`{}` stands after the hashed `{name}`, so no scan can fix `{name}`, only reads of whole keys can; \
             move `{name}` to the end",
            after.name,
            name = hashed.name,
        ),
    })
}

/// Each value of the salted fields has one bucket, so a salt over few values leaves buckets empty.
fn few_buckets(key: &Key<'_>) -> Option<Warning> {
    key.salts().find_map(|salt| few_buckets_of(key, salt))
}

fn few_buckets_of(key: &Key<'_>, salt: &SaltAttr) -> Option<Warning> {
    let salted = key.salted_fields(salt);
    // A name that is not a field already has its error.
    if salt.over.get().is_some_and(|over| over.len() != salted.len()) {
        return None;
    }
    let values = salted.iter().try_fold(1_u64, |values, at| {
        let field: &Field<'_> = &key.fields[*at];
        Some(values.saturating_mul(values_of(field.ty)?))
    })?;
    let range = u64::from(salt.range());
    if salted.is_empty() || values >= range {
        return None;
    }
    Some(Warning {
        tokens: salt.over.tokens().or(salt.range.tokens())?.clone(),
        message: format!(
            "the salted fields have at most {values} values, so {} of the {range} buckets stay empty; salt over a \
             field with more values",
            range - values,
        ),
    })
}

/// How many values a type has, if fewer than the largest salt range.
fn values_of(ty: &Type) -> Option<u64> {
    if is_named(ty, &["bool"]) {
        Some(2)
    } else if is_named(ty, &["u8", "i8"]) {
        Some(256)
    } else {
        None
    }
}

/// Whether the type's last path segment is one of `names`: a derive knows no more of a type.
fn is_named(ty: &Type, names: &[&str]) -> bool {
    last_segment(ty).is_some_and(|last| names.iter().any(|name| last.ident == name))
}
