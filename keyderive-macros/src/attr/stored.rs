//! The options that say how a time or a UUID is stored: `ts(…)` and `uuid(…)`.

use syn::LitStr;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;

use super::flag::flag;
use super::{Attr, skip_value, unknown, value};
use crate::ctxt::Ctxt;
use crate::names;

/// The unit of a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Secs,
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    fn named(name: &str) -> Option<Self> {
        let units = [Self::Secs, Self::Millis, Self::Micros, Self::Nanos];
        names::UNITS.iter().zip(units).find(|(known, _)| **known == name).map(|(_, unit)| unit)
    }
}

/// `ts(unit = "millis", exact, format = "datetime17")` as it is written.
pub(crate) struct TsAttr {
    pub(crate) unit: Attr<Unit>,
    pub(crate) exact: Attr<()>,
    /// The only format there is to name: `datetime17`.
    pub(crate) datetime17: Attr<()>,
}

/// `uuid(simple, v4)` as it is written.
pub(crate) struct UuidAttr {
    pub(crate) simple: Attr<()>,
    pub(crate) v4: Attr<()>,
}

impl TsAttr {
    pub(super) fn read(cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<Self> {
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
                unknown(cx, &option.path, "ts", names::IN_TS);
                skip_value(option.input)?;
            }
            Ok(())
        })?;
        Ok(read)
    }
}

impl UuidAttr {
    pub(super) fn read(cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<Self> {
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
                    unknown(cx, &option.path, "uuid", names::IN_UUID);
                    skip_value(option.input)
                }
            },
        )?;
        Ok(read)
    }
}

/// Reads each part of an option's list; `missing` is the error where there is none.
fn each_option(
    cx: &Ctxt,
    meta: &ParseNestedMeta<'_>,
    missing: &str,
    mut read: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    let names_none = |input: ParseStream<'_>| {
        let list;
        syn::parenthesized!(list in input);
        Ok::<_, syn::Error>(list.is_empty())
    };
    if !meta.input.peek(syn::token::Paren) || names_none(&meta.input.fork())? {
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
