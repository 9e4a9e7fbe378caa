//! The rules of the salt.

use crate::attr::{JAVA, Layout, SaltAttr};
use crate::ctxt::Ctxt;
use crate::model::Key;
use crate::names;

/// Reports every rule that the salt breaks.
pub(super) fn check(cx: &Ctxt, key: &Key<'_>) {
    let Some(salt) = key.salt() else {
        return;
    };
    over_names_fields(cx, key, salt);
    after_names_a_field_in_front(cx, key, salt);
    one_place(cx, salt);
    java_is_the_samples(cx, salt);
    options_are_of_the_layout(cx, key, salt);
}

/// In the ordered layout the salt is a part as any other, an Int64 before the fields.
fn options_are_of_the_layout(cx: &Ctxt, key: &Key<'_>, salt: &SaltAttr) {
    if key.layout() == Layout::Text {
        return;
    }
    let options = [
        ("sep", salt.sep.tokens()),
        ("after", salt.after.tokens()),
        ("position", salt.front.tokens()),
        ("hash", salt.java.tokens()),
    ];
    for (name, tokens) in options {
        if let Some(tokens) = tokens {
            cx.error(
                tokens,
                format_args!(
                    "`{name}` is of the text layout, and the key is ordered: its salt is an Int64 before the \
                     fields; remove it"
                ),
            );
        }
    }
}

/// The salt is a function of stored fields, so each name in `over` is one, once.
fn over_names_fields(cx: &Ctxt, key: &Key<'_>, salt: &SaltAttr) {
    let Some((written, over)) = salt.over.tokens().zip(salt.over.get()) else {
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

/// A salt after all fields parts nothing: rows lie as if there were none, and no scan could ask for one
/// bucket of them.
fn after_names_a_field_in_front(cx: &Ctxt, key: &Key<'_>, salt: &SaltAttr) {
    let Some((written, after)) = salt.after.tokens().zip(salt.after.get()) else {
        return;
    };
    let Some((last, others)) = key.fields.split_last() else {
        return;
    };
    if after == &last.name {
        cx.error(
            written,
            format_args!(
                "`after` names `{after}`, the last field: a salt after all fields spreads no rows, and no scan \
                 could ask for one of its buckets; name a field further left, or leave `after` out"
            ),
        );
    } else if !others.iter().any(|field| field.name == *after) {
        let remedy = names::suggestion(after, key.fields.iter().map(|field| field.name.as_str()));
        cx.error(
            written,
            format_args!("`after` names `{after}`, which is not a field of `{}`; {remedy}", key.name()),
        );
    }
}

/// A key has one salt, in one place.
fn one_place(cx: &Ctxt, salt: &SaltAttr) {
    if let (Some(_), Some(position)) = (salt.after.get(), salt.front.tokens()) {
        cx.error(position, "`position` and `after` are two places for one salt; remove one");
    }
}

/// The sample hashes the whole key and puts the bucket before it.
fn java_is_the_samples(cx: &Ctxt, salt: &SaltAttr) {
    if salt.java.get().is_none() {
        return;
    }
    if let Some(over) = salt.over.tokens() {
        cx.error(
            over,
            format_args!("`hash = \"{JAVA}\"` is over the whole key, as in Google's sample; remove `over`"),
        );
    }
    if let Some(after) = salt.after.tokens() {
        cx.error(
            after,
            format_args!("`hash = \"{JAVA}\"` stands before the key, as in Google's sample; remove `after`"),
        );
    }
}
