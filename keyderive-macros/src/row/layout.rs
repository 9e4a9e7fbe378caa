//! The row's layout as data, whose rules `keyderive-layout` has, and the tokens of its places.

use std::time::Duration;

use keyderive_layout::Words;
use keyderive_layout::row_rules::{
    Column, ColumnPart, Family, FamilyPart, KindLayout, Place, PlaceLayout, RuleLayout, RulePart, Struct,
};
use proc_macro2::TokenStream;
use quote::ToTokens;

use super::attr::{FamilyAttr, RuleAttrs};
use super::model::{Field, Row, Values, aggregate_name, argument};
use crate::ctxt::Ctxt;

/// Reports every rule that the layout breaks. `is_doubtful` says which columns have a fault of their families already.
pub(super) fn check(cx: &Ctxt, row: &Row<'_>, is_doubtful: impl Fn(&Field<'_>) -> bool) {
    let (families, columns): (Vec<_>, Vec<_>) = row.fields.iter().partition(|field| field.is_family());
    let rules = rules(row);
    let data = Struct {
        family: Some(row.family.clone()),
        columns: columns.iter().map(|field| column(field, is_doubtful(field))).collect(),
        families: families.iter().map(|field| family(field)).collect(),
        rules: rules.iter().map(|(family, rule)| rule_of(family, rule)).collect(),
    };
    for fault in data.faults() {
        let text = fault.reason.text(Words::Attributes);
        let tokens = match fault.place {
            Place::OwnFamily => row.attrs.family.tokens().cloned(),
            Place::Column(at, part) => Some(in_column(columns[at], part)),
            Place::Family(at, part) => Some(in_family(families[at], part)),
            Place::Rule(at, RulePart::Whole | RulePart::Family) => rules[at].1.tokens().cloned(),
            Place::Rule(at, RulePart::Ttl) => rules[at].1.ttl.tokens().cloned(),
        };
        cx.error(tokens, text);
        match fault.place {
            Place::Column(at, _) => columns[at].is_faulty.set(true),
            Place::Family(at, _) => families[at].is_faulty.set(true),
            Place::OwnFamily | Place::Rule(..) => {}
        }
    }
}

fn column(field: &Field<'_>, is_doubtful: bool) -> Column {
    let family = field.family().unwrap_or_default();
    let alias = |alias: super::model::Alias<'_>| PlaceLayout {
        family: alias.family.unwrap_or_else(|| family.to_owned()),
        name: alias.name,
    };
    Column {
        label: field.ident.to_string(),
        family: family.to_owned(),
        name: field.name.clone(),
        aliases: field.aliases().map(alias).collect(),
        kind: kind(field),
        is_doubtful,
    }
}

fn family(field: &Field<'_>) -> Family {
    // A window of a family is a fault, whatever its columns hold.
    let kind = match field.attrs.window.get() {
        Some(_) => KindLayout::SumVersions { window_micros: window_micros(field) },
        None => kind(field),
    };
    Family { label: field.ident.to_string(), name: field.name.clone(), kind }
}

fn kind(field: &Field<'_>) -> KindLayout {
    if field.attrs.counter.get().is_some() {
        return KindLayout::Counter;
    }
    let window_micros = window_micros(field);
    match field.values() {
        Values::One(_) | Values::Optional(_) => KindLayout::Value,
        Values::Timestamped(_) | Values::OptionalTimestamped(_) => KindLayout::Timestamped,
        Values::Versions(_) => KindLayout::Versions,
        Values::Aggregate(ty) => match aggregate_name(ty) {
            Some("Min") => KindLayout::Min,
            Some("Max") => KindLayout::Max,
            _ => KindLayout::Sum,
        },
        Values::Aggregates(ty) => match aggregate_name(ty) {
            Some("Min") => KindLayout::MinVersions { window_micros },
            Some("Max") => KindLayout::MaxVersions { window_micros },
            _ => KindLayout::SumVersions { window_micros },
        },
    }
}

/// The width of the windows, which is at most a century; 0 if none is given.
fn window_micros(field: &Field<'_>) -> i64 {
    let micros = field.attrs.window.get().map(Duration::as_micros);
    micros.and_then(|micros| i64::try_from(micros).ok()).unwrap_or_default()
}

/// The rules of the struct and of its fields, each with its family.
fn rules<'r>(row: &'r Row<'_>) -> Vec<(&'r str, &'r RuleAttrs)> {
    let own = (&*row.family, &row.attrs.rule);
    let of_fields = row.fields.iter().filter_map(|field| {
        field.attrs.family.get()?;
        Some((field.family().unwrap_or(&field.name), &field.attrs.rule))
    });
    std::iter::once(own).chain(of_fields).filter(|(_, rule)| rule.tokens().is_some()).collect()
}

fn rule_of(family: &str, rule: &RuleAttrs) -> RuleLayout {
    RuleLayout {
        family: family.to_owned(),
        gc: rule.gc.get().copied(),
        ttl_secs: rule.ttl.get().map(Duration::as_secs),
        exclusive: rule.exclusive.get().is_some(),
    }
}

fn in_column(field: &Field<'_>, part: ColumnPart) -> TokenStream {
    let attrs = &field.attrs;
    let written = match part {
        ColumnPart::Whole => None,
        ColumnPart::Name => attrs.name.tokens().cloned(),
        ColumnPart::Family => match attrs.family.get() {
            Some(FamilyAttr::ColumnOf(family)) => Some(family.to_token_stream()),
            _ => None,
        },
        ColumnPart::Alias(nth) => attrs.aliases.get(nth).map(ToTokens::to_token_stream),
        ColumnPart::Kind => Some(kind_tokens(field)),
        ColumnPart::Window => attrs.window.tokens().cloned(),
    };
    written.unwrap_or_else(|| field.ident.to_token_stream())
}

fn in_family(field: &Field<'_>, part: FamilyPart) -> TokenStream {
    let written = match part {
        FamilyPart::Whole => None,
        FamilyPart::Name => field.attrs.name.tokens().cloned(),
        FamilyPart::Kind => Some(kind_tokens(field)),
        FamilyPart::Window => field.attrs.window.tokens().cloned(),
    };
    written.unwrap_or_else(|| field.ident.to_token_stream())
}

/// What says the kind of a column: `counter`, or its type.
fn kind_tokens(field: &Field<'_>) -> TokenStream {
    match (field.attrs.counter.tokens(), argument(field.ty, "Versions")) {
        (Some(counter), _) => counter.clone(),
        (None, Some(_)) => field.ty.to_token_stream(),
        (None, None) => field.values().ty().to_token_stream(),
    }
}
