//! The attributes of a field that stand for themselves: `#[pad(…)]` and `#[reverse_ts]`.

use quote::ToTokens as _;
use syn::{Attribute, LitInt};

use super::{Attr, MAX_KEY_LEN, each_meta, skip_value, unknown, value};
use crate::ctxt::Ctxt;

/// `#[pad(6)]`
pub(super) fn read_pad(cx: &Ctxt, attr: &Attribute) -> Option<usize> {
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
pub(super) fn read_reverse_ts(cx: &Ctxt, attr: &Attribute) -> Option<u64> {
    if let syn::Meta::Path(_) = attr.meta {
        return Some(i64::MAX.unsigned_abs());
    }
    if let Ok(max) = attr.parse_args::<LitInt>() {
        let message = format!("the greatest time has a name here; write `#[reverse_ts(max = {max})]`");
        cx.error(max, message);
        return None;
    }
    let mut max = Attr::none("max");
    let mut failed = false;
    let read = each_meta(cx, attr, &["max"], |meta| {
        if !meta.path.is_ident("max") {
            unknown(cx, &meta.path, "reverse_ts", &["max"]);
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
