//! `allow(…)` as it is written.

use syn::Path;
use syn::meta::ParseNestedMeta;

use super::flag::no_value;
use super::{skip_value, unknown};
use crate::ctxt::Ctxt;
use crate::names;

/// What is insisted on in `allow(…)`.
#[derive(Default)]
pub(crate) struct Allowed {
    named: Vec<(&'static str, Path)>,
    /// A name that is none has its error, and may have been meant as any: that one error is enough.
    unknown: bool,
}

impl Allowed {
    pub(crate) fn is_allowed(&self, name: &str) -> bool {
        self.unknown || self.tokens(name).is_some()
    }

    /// What wrote the name.
    pub(crate) fn tokens(&self, name: &str) -> Option<&Path> {
        self.named.iter().find(|(allowed, _)| *allowed == name).map(|(_, path)| path)
    }

    /// Reads one name of the list.
    pub(super) fn read(&mut self, cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let path = &meta.path;
        match names::IN_ALLOW.iter().find(|name| path.is_ident(name)) {
            Some(name) if self.tokens(name).is_some() => {
                cx.error(path, format_args!("`{name}` is given twice; remove one"));
            }
            Some(name) => self.named.push((name, path.clone())),
            None => {
                unknown(cx, path, "allow", names::IN_ALLOW);
                self.unknown = true;
                return skip_value(meta.input);
            }
        }
        no_value(cx, meta)
    }
}
