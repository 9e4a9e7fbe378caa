//! The rules that a key can insist against with `allow(…)`: what is a fault in most keys, and meant in some.

use proc_macro2::TokenStream;
use syn::Type;

use super::is_named;
use crate::ctxt::Ctxt;
use crate::model::{Field, Key};

/// Warns of what is not insisted on, and of an `allow` that nothing is said without.
pub(super) fn check(cx: &Ctxt, key: &Key<'_>) {
    let hotspot = super::hotspot(key);
    let point_reads = point_reads(key);
    let few_buckets = few_buckets(key);
    // What was meant by an attribute with an error may have been a remedy.
    let meant = |first: &Field<'_>| !key.attrs.faulty && !first.attrs.faulty;
    if let (Some((first, drift)), false) = (&hotspot, key.attrs.allow.is_allowed("hotspot"))
        && meant(first)
    {
        super::refuse_hotspot(cx, key, first, drift);
    }
    for (name, warning) in [("point_reads", &point_reads), ("few_buckets", &few_buckets)] {
        if let (Some(Warning { tokens, message }), false) = (warning, key.attrs.allow.is_allowed(name)) {
            cx.warn(
                tokens,
                name,
                &format!("{message}, or insist, with `#[row_key(allow({name}))]` on the struct"),
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
            cx.warn(tokens, "unused_allow", &format!("`{name}` is allowed for nothing: {reason}; remove it"));
        }
    }
}

/// What is said where it is not allowed, up to the words on how to allow it.
struct Warning {
    tokens: TokenStream,
    message: String,
}

/// Behind a hash no scan can end, since hashes have no order and no prefix: only whole keys are found.
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

/// Each value of the salted fields has one bucket, so there are at most as many that hold rows.
fn few_buckets(key: &Key<'_>) -> Option<Warning> {
    let salt = key.salt()?;
    let salted = key.salted_fields();
    // A name that is no field's has its error, and was meant as one.
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
            "the salted fields have {values} values at most, so {} of the {range} buckets stay empty; salt over a \
             field with more values",
            range - values,
        ),
    })
}

/// How many values a type has, where they are fewer than the buckets of the widest salt.
fn values_of(ty: &Type) -> Option<u64> {
    if is_named(ty, &["bool"]) {
        Some(2)
    } else if is_named(ty, &["u8", "i8"]) {
        Some(256)
    } else {
        None
    }
}
