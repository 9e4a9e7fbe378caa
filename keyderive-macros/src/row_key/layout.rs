//! The key's layout as data, whose rules `keyderive-layout` has, and the tokens of its places.

use keyderive_layout::Words;
use keyderive_layout::key_rules::{
    Disorder, Field, Key as Data, Place, Reason, Salt, SaltHash, SaltPart, SaltPlace, Since,
};
use proc_macro2::TokenStream;
use syn::LitStr;

use super::attr::SaltAttr;
use super::model::{self, Key};
use crate::ctxt::Ctxt;

/// Reports every rule that the layout breaks.
pub(super) fn check(cx: &Ctxt, key: &Key<'_>) {
    for fault in data(key).faults() {
        cx.error(tokens(key, fault.place, &fault.reason), fault.reason.text(Words::Attributes));
    }
}

fn data(key: &Key<'_>) -> Data {
    Data {
        name: key.name(),
        encoding: key.layout(),
        delimiter: key.attrs.delimiter.get().copied(),
        tag: key.tag().map(LitStr::value),
        salts: key.salts().map(salt).collect(),
        fields: key.fields.iter().map(field).collect(),
    }
}

fn salt(attr: &SaltAttr) -> Salt {
    let over = attr.over.get().map(|over| over.iter().map(|(_, name)| name.clone()).collect());
    Salt {
        range: attr.range.get().copied(),
        over,
        sep: attr.sep.get().cloned(),
        place: match (attr.after.get(), attr.front.get()) {
            (Some(after), _) => SaltPlace::After(after.clone()),
            (None, Some(())) => SaltPlace::Front,
            (None, None) => SaltPlace::BeforeFields,
        },
        hash: attr.java.get().map_or(SaltHash::Farm, |()| SaltHash::Java),
        since: attr.since.get().map(|since| Since {
            field: since.field.0.clone(),
            written: since.written.to_string(),
            bound: Some(since.bound),
        }),
        is_doubtful: attr.faulty,
    }
}

fn field(field: &model::Field<'_>) -> Field {
    let attrs = &field.attrs;
    let disorder = if field.is_hashed() {
        Some(Disorder::Hash)
    } else if attrs.bit_reverse.get().is_some() {
        Some(Disorder::BitReverse)
    } else {
        attrs.with.get().map(|_| Disorder::Custom)
    };
    Field { ident: field.name.clone(), name: field.schema_name(), disorder }
}

/// What a fault points at: if two salts differ, the part of the one that has it.
fn tokens(key: &Key<'_>, place: Place, reason: &Reason) -> Option<TokenStream> {
    match place {
        Place::Delimiter => key.attrs.delimiter.tokens().cloned(),
        Place::Tag => key.attrs.tag.tokens().cloned(),
        Place::FieldName(at) => {
            let same = |field: &&model::Field<'_>| field.schema_name() == key.fields[at].schema_name();
            // The identifiers differ, so an attribute gives one of the names.
            let mut written = key.fields[..=at].iter().rev().filter(same);
            written.find_map(|field| field.attrs.name.tokens().cloned())
        }
        Place::Disorder(at) => {
            let attrs = &key.fields[at].attrs;
            attrs.hash.tokens().or(attrs.bit_reverse.tokens()).or(attrs.with.tokens()).cloned()
        }
        Place::Salt(at, part) => {
            let (first, salt) = (&key.attrs.salts.first()?.1, &key.attrs.salts.get(at)?.1);
            let part_of = |salt: &SaltAttr| match part {
                SaltPart::Range => salt.range.tokens().cloned(),
                SaltPart::Over => salt.over.tokens().cloned(),
                SaltPart::OverName(nth) => Some(salt.over.get()?.get(nth)?.0.clone()),
                SaltPart::Sep => salt.sep.tokens().cloned(),
                SaltPart::Place => {
                    let is_position = matches!(
                        reason,
                        Reason::PlacesDiffer { is_after: false }
                            | Reason::SaltOptionOfOrdered { option: "position" }
                    );
                    if is_position { salt.front.tokens() } else { salt.after.tokens() }.cloned()
                }
                SaltPart::Hash => salt.java.tokens().cloned(),
                SaltPart::Whole | SaltPart::SinceField => Some(salt.since.get()?.field.1.clone()),
                SaltPart::SinceBound => Some(salt.since.get()?.written.clone()),
            };
            part_of(salt).or_else(|| part_of(first))
        }
    }
}
