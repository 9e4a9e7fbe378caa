//! Parses `#[row(…)]` on a struct and its fields.

use std::time::Duration;

use keyderive_layout::row_rules::GcLayout;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Ident, LitInt, LitStr, Path, Token};

use crate::attr::{
    Attr, Unit, each_meta, flag, read_crate, read_fingerprint, skip_value, unknown_option, value,
};
use crate::ctxt::Ctxt;
use crate::names;

/// The attributes of the struct.
pub(super) struct StructAttrs {
    pub(super) family: Attr<LitStr>,
    pub(super) rule: RuleAttrs,
    pub(super) fingerprint: Attr<u64>,
    pub(super) krate: Attr<Path>,
}

/// How long the cells of a family are kept.
pub(super) struct RuleAttrs {
    pub(super) gc: Attr<GcLayout>,
    pub(super) ttl: Attr<Duration>,
    pub(super) exclusive: Attr<()>,
}

/// The attributes of a field.
pub(super) struct FieldAttrs {
    pub(super) name: Attr<LitStr>,
    pub(super) aliases: Vec<LitStr>,
    pub(super) family: Attr<FamilyAttr>,
    pub(super) default: Attr<Option<Path>>,
    pub(super) counter: Attr<()>,
    pub(super) json: Attr<()>,
    pub(super) proto: Attr<()>,
    pub(super) ts: Attr<Unit>,
    pub(super) with: Attr<WithAttr>,
    pub(super) window: Attr<Duration>,
    pub(super) rule: RuleAttrs,
    pub(super) constant: Attr<Ident>,
}

/// `family` or `family = "h"`
pub(super) enum FamilyAttr {
    /// The field is a family.
    IsFamily,
    /// The field is a column of this family.
    ColumnOf(LitStr),
}

/// `with = "module"`: the text, and the path that the generated code calls.
pub(super) struct WithAttr {
    pub(super) written: String,
    pub(super) module: Path,
}

pub(super) fn row_attrs(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("row"))
}

impl StructAttrs {
    pub(super) fn read(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        let mut read = Self {
            family: Attr::none("family"),
            rule: RuleAttrs::none(),
            fingerprint: Attr::none("fingerprint"),
            krate: Attr::none("crate"),
        };
        for attr in row_attrs(attrs) {
            each_meta(cx, attr, names::ON_ROW, |meta| read.option(cx, &meta));
        }
        read
    }

    fn option(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if self.rule.option(cx, meta)? {
            return Ok(());
        }
        // #[row(family = "cf")]
        if meta.path.is_ident("family") {
            if let Some(family) = value::<LitStr>(cx, meta, "a string, such as family = \"cf\"")? {
                self.family.set(cx, family.clone(), family);
            }
        // #[row(fingerprint = "b0b5a2f3d3ce5d2c")]
        } else if meta.path.is_ident("fingerprint") {
            read_fingerprint(cx, meta, &mut self.fingerprint, "Event")?;
        // #[row(crate = "path")]
        } else if meta.path.is_ident("crate") {
            read_crate(cx, meta, &mut self.krate)?;
        } else if names::ON_ROW_FIELD.iter().any(|name| meta.path.is_ident(name)) {
            let name = meta.path.to_token_stream();
            cx.error(&meta.path, format_args!("`{name}` belongs on a field; move it to the field it is for"));
            skip_value(meta.input)?;
        } else {
            unknown_option(cx, &meta.path, "row", names::ON_ROW);
            skip_value(meta.input)?;
        }
        Ok(())
    }
}

impl RuleAttrs {
    fn none() -> Self {
        Self { gc: Attr::none("gc"), ttl: Attr::none("ttl"), exclusive: Attr::none("exclusive") }
    }

    /// The tokens of the first option that is given.
    pub(super) fn tokens(&self) -> Option<&TokenStream> {
        self.gc.tokens().or(self.ttl.tokens()).or(self.exclusive.tokens())
    }

    /// Reads the option if it is one of these; returns whether it was.
    fn option(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<bool> {
        // #[row(gc(max_age = "30d"))]
        if meta.path.is_ident("gc") {
            if !meta.input.peek(syn::token::Paren) {
                cx.error(
                    &meta.path,
                    "`gc` names a rule; write `gc(max_age = \"30d\")`, `gc(max_versions = 1)` or `gc(never)`",
                );
                skip_value(meta.input)?;
                return Ok(true);
            }
            if let Some(gc) = read_gc(cx, meta)? {
                self.gc.set(cx, &meta.path, gc);
            }
        // #[row(ttl = "7d")]
        } else if meta.path.is_ident("ttl") {
            if let Some((text, ttl)) = duration(cx, meta, "ttl = \"7d\"")? {
                self.ttl.set(cx, text, ttl);
            }
        // #[row(exclusive)]
        } else if meta.path.is_ident("exclusive") {
            flag(cx, meta, &mut self.exclusive)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

/// Reads what is in the parentheses of `gc(…)`; none after a fault.
fn read_gc(cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<Option<GcLayout>> {
    let errors = cx.error_count();
    if meta.input.fork().parse::<proc_macro2::Group>().is_ok_and(|group| group.stream().is_empty()) {
        cx.error(
            &meta.path,
            "`gc` has empty parentheses; write `gc(max_age = \"30d\")`, `gc(max_versions = 1)` or `gc(never)`",
        );
        skip_value(meta.input)?;
        return Ok(None);
    }
    let (mut never, mut all, mut limits) = (Attr::none("never"), Attr::none("all"), Limits::none());
    meta.parse_nested_meta(|option| {
        // gc(never)
        if option.path.is_ident("never") {
            return flag(cx, &option, &mut never);
        }
        // gc(all(max_age = "30d", max_versions = 3))
        if option.path.is_ident("all") && option.input.peek(syn::token::Paren) {
            let mut both = Limits::none();
            option.parse_nested_meta(|limit| both.option(cx, &limit, "all", names::IN_GC_ALL))?;
            match (both.max_age.get(), both.max_versions.get()) {
                (Some(max_age), Some(max_versions)) => {
                    all.set(
                        cx,
                        &option.path,
                        GcLayout::All { max_age_secs: max_age.as_secs(), max_versions: *max_versions },
                    );
                }
                _ if cx.error_count() > errors => {}
                _ => cx.error(
                    &option.path,
                    "`all` joins two limits; write `all(max_age = \"30d\", max_versions = 3)`",
                ),
            }
            return Ok(());
        }
        limits.option(cx, &option, "gc", names::IN_GC)
    })?;
    if cx.error_count() > errors {
        return Ok(None);
    }
    let any = GcLayout::Any {
        max_age_secs: limits.max_age.get().map(Duration::as_secs),
        max_versions: limits.max_versions.get().copied(),
    };
    let has_limit = limits.max_age.get().is_some() || limits.max_versions.get().is_some();
    Ok(match (never.get(), all.get(), has_limit) {
        (Some(()), None, false) => Some(GcLayout::Never),
        (None, Some(all), false) => Some(*all),
        (None, None, true) => Some(any),
        (None, None, false) => None,
        _ => {
            cx.error(&meta.path, "`gc` has two rules; keep one of `never`, `all(…)` and the limits");
            None
        }
    })
}

/// The limits of a garbage collection rule.
struct Limits {
    max_age: Attr<Duration>,
    max_versions: Attr<u32>,
}

impl Limits {
    fn none() -> Self {
        Self { max_age: Attr::none("max_age"), max_versions: Attr::none("max_versions") }
    }

    fn option(
        &mut self,
        cx: &Ctxt,
        meta: &ParseNestedMeta<'_>,
        level: &str,
        names: &[&str],
    ) -> syn::Result<()> {
        if meta.path.is_ident("max_age") {
            if let Some((text, age)) = duration(cx, meta, "max_age = \"30d\"")? {
                self.max_age.set(cx, text, age);
            }
            return Ok(());
        }
        if meta.path.is_ident("max_versions") {
            if let Some(int) = value::<LitInt>(cx, meta, "a number, such as max_versions = 1")? {
                match int.base10_parse::<u32>() {
                    Ok(versions @ 1..) if i32::try_from(versions).is_ok() => {
                        self.max_versions.set(cx, int, versions);
                    }
                    _ => cx.error(
                        &int,
                        format_args!(
                            "`max_versions` is 1 to {}, not {int}; write 1 to keep the newest",
                            i32::MAX
                        ),
                    ),
                }
            }
            return Ok(());
        }
        unknown_option(cx, &meta.path, level, names);
        skip_value(meta.input)
    }
}

impl FieldAttrs {
    pub(super) fn read(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        let mut read = Self {
            name: Attr::none("name"),
            aliases: Vec::new(),
            family: Attr::none("family"),
            default: Attr::none("default"),
            counter: Attr::none("counter"),
            json: Attr::none("json"),
            proto: Attr::none("proto"),
            ts: Attr::none("ts"),
            with: Attr::none("with"),
            window: Attr::none("window"),
            rule: RuleAttrs::none(),
            constant: Attr::none("constant"),
        };
        for attr in row_attrs(attrs) {
            each_meta(cx, attr, names::ON_ROW_FIELD, |meta| read.option(cx, &meta));
        }
        read
    }

    fn option(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if self.rule.option(cx, meta)? {
            return Ok(());
        }
        // #[row(name = "n")]
        if meta.path.is_ident("name") {
            if let Some(name) = value::<LitStr>(cx, meta, "a string, such as name = \"n\"")? {
                self.name.set(cx, name.clone(), name);
            }
        // #[row(alias = "mail")]
        } else if meta.path.is_ident("alias") {
            self.aliases.extend(value::<LitStr>(cx, meta, "a string, such as alias = \"mail\"")?);
        // #[row(family = "h")]
        } else if meta.path.is_ident("family") && meta.input.peek(Token![=]) {
            if let Some(family) = value::<LitStr>(cx, meta, "a string, such as family = \"h\"")? {
                self.family.set(cx, family.clone(), FamilyAttr::ColumnOf(family));
            }
        // #[row(family)]
        } else if meta.path.is_ident("family") {
            self.family.set(cx, &meta.path, FamilyAttr::IsFamily);
            skip_value(meta.input)?;
        // #[row(default)], #[row(default = "path")]
        } else if meta.path.is_ident("default") {
            if !meta.input.peek(Token![=]) {
                self.default.set(cx, &meta.path, None);
                return skip_value(meta.input);
            }
            if let Some(path) = path_of(cx, meta, "default = \"Config::default_retries\"")? {
                self.default.set(cx, &meta.path, Some(path.1));
            }
        // #[row(counter)]
        } else if meta.path.is_ident("counter") {
            flag(cx, meta, &mut self.counter)?;
        // #[row(json)]
        } else if meta.path.is_ident("json") {
            flag(cx, meta, &mut self.json)?;
        // #[row(proto)]
        } else if meta.path.is_ident("proto") {
            flag(cx, meta, &mut self.proto)?;
        // #[row(ts(unit = "millis"))]
        } else if meta.path.is_ident("ts") {
            self.read_ts(cx, meta)?;
        // #[row(with = "module")]
        } else if meta.path.is_ident("with") {
            if let Some((written, module)) = path_of(cx, meta, "with = \"my_module\"")? {
                let written_text = written.value();
                self.with.set(cx, written, WithAttr { written: written_text, module });
            }
        // #[row(window = "1h")]
        } else if meta.path.is_ident("window") {
            if let Some((text, window)) = duration(cx, meta, "window = \"1h\"")? {
                self.window.set(cx, text, window);
            }
        // #[row(constant = "NAME")]
        } else if meta.path.is_ident("constant") {
            if let Some(name) = value::<LitStr>(cx, meta, "a string, such as constant = \"KIND\"")? {
                match name.parse::<Ident>() {
                    Ok(ident) => self.constant.set(cx, name, ident),
                    Err(_) => {
                        cx.error(name, "this cannot be the name of a constant; write one such as \"KIND\"");
                    }
                }
            }
        } else if let Some(aggregate) = ["sum", "min", "max"].iter().find(|name| meta.path.is_ident(name)) {
            let aggregate = format!("{}{}", aggregate[..1].to_uppercase(), &aggregate[1..]);
            cx.error(
                &meta.path,
                format_args!("an aggregate is said by the field's type; write `{aggregate}` and `#[row(family = \"…\")]`"),
            );
            skip_value(meta.input)?;
        } else if meta.path.is_ident("code") {
            cx.error(&meta.path, "`code` belongs on an enum with `#[derive(Cell)]`; move it there");
            skip_value(meta.input)?;
        } else if let Some(name) = names::ON_ROW.iter().find(|name| meta.path.is_ident(name)) {
            cx.error(
                &meta.path,
                format_args!("`{name}` belongs on the struct; move it above the `struct` line"),
            );
            skip_value(meta.input)?;
        } else {
            unknown_option(cx, &meta.path, "row", names::ON_ROW_FIELD);
            skip_value(meta.input)?;
        }
        Ok(())
    }

    fn read_ts(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if !meta.input.peek(syn::token::Paren) {
            cx.error(&meta.path, "`ts` names the unit; write `ts(unit = \"millis\")`");
            return skip_value(meta.input);
        }
        meta.parse_nested_meta(|option| {
            if !option.path.is_ident("unit") {
                unknown_option(cx, &option.path, "ts", names::IN_ROW_TS);
                return skip_value(option.input);
            }
            if let Some(unit) = value::<LitStr>(cx, &option, "a string, such as unit = \"millis\"")? {
                match Unit::named(&unit.value()) {
                    Some(parsed) => self.ts.set(cx, unit, parsed),
                    None => {
                        let remedy = names::suggestion(&unit.value(), names::UNITS.iter().copied());
                        cx.error(&unit, format_args!("`{}` is not a unit; {remedy}", unit.value()));
                    }
                }
            }
            Ok(())
        })
    }
}

/// The path after `name =`, in quotes.
fn path_of(cx: &Ctxt, meta: &ParseNestedMeta<'_>, example: &str) -> syn::Result<Option<(LitStr, Path)>> {
    let Some(written) = value::<LitStr>(cx, meta, &format!("a string, such as {example}"))? else {
        return Ok(None);
    };
    match written.parse::<Path>() {
        Ok(path) => Ok(Some((written, path))),
        Err(_) => {
            cx.error(written, format_args!("this is not a path; write one, such as {example}"));
            Ok(None)
        }
    }
}

/// The duration after `name =`.
fn duration(cx: &Ctxt, meta: &ParseNestedMeta<'_>, example: &str) -> syn::Result<Option<(LitStr, Duration)>> {
    let Some(written) = value::<LitStr>(cx, meta, &format!("a string, such as {example}"))? else {
        return Ok(None);
    };
    let text = written.value();
    let unit = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let parsed = unit.into_iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(seconds)
    });
    match parsed {
        Some(0) => cx.error(&written, "this is no time at all; write a number above 0"),
        // A century fits in every clock and count of microseconds.
        Some(seconds) if seconds > 100 * 366 * 86_400 => {
            cx.error(&written, format_args!("`{text}` is more than a century; write a shorter time"));
        }
        Some(seconds) => return Ok(Some((written, Duration::from_secs(seconds)))),
        None if text.parse::<u64>().is_ok() => {
            cx.error(&written, format_args!("`{text}` has no unit; write `\"{text}d\"`, `\"{text}h\"`, `\"{text}m\"` or `\"{text}s\"`"));
        }
        None => cx.error(
            &written,
            format_args!("`{text}` is not a time; write a number and a unit, such as \"30d\", \"12h\", \"15m\" or \"90s\""),
        ),
    }
    Ok(None)
}
