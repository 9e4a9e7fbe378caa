//! In which order the rows of one scan come from each table.

use super::keys::PairKeys;
use super::state::{PairTables, Side};
use crate::dynamic::FieldPairs;
use crate::key::Field;
use crate::plan::Plan;

/// Which fields of both keys of a row have the same values.
pub(super) enum Pairing {
    /// As the key types declare it, so each row has them.
    Declared(FieldPairs),
    /// Those of the same names, if the conversions keep the values: a scan in order compares those of each row.
    Named(FieldPairs),
    /// It is not known, for this reason.
    None(&'static str),
}

impl Pairing {
    pub(super) fn of(tables: &PairTables, keys: &dyn PairKeys) -> Self {
        if let Some(fields) = keys.fields() {
            return Self::Declared(fields.clone());
        }
        if keys.reads_rows() {
            return Self::None("the new keys are made of rows");
        }
        let schemas = [Side::Old, Side::New].map(|side| tables.key_type(side).schema());
        match FieldPairs::by_name(schemas) {
            Some(fields) => Self::Named(fields),
            None => Self::None("the fields of the keys have other names"),
        }
    }

    pub(super) fn fields(&self) -> Option<&FieldPairs> {
        match self {
            Self::Declared(fields) | Self::Named(fields) => Some(fields),
            Self::None(_) => None,
        }
    }

    /// The open fields of a plan of new keys whose values must be those of the old key, row by row, for a scan to have an order.
    pub(super) fn compared(&self, new: &Plan<()>) -> Vec<usize> {
        match self {
            Self::Declared(fields) => new.open_fields().filter(|at| fields.is_custom(*at)).collect(),
            Self::Named(_) => new.open_fields().collect(),
            Self::None(_) => Vec::new(),
        }
    }

    /// Whether the old table has the rows of these plans in the opposite order.
    ///
    /// # Errors
    /// Why it has them in another order, in words.
    pub(super) fn is_turned(&self, [old, new]: [&Plan<()>; 2]) -> Result<bool, String> {
        let fields = match self {
            Self::Declared(fields) | Self::Named(fields) => fields,
            Self::None(why) => return Err((*why).to_owned()),
        };
        let [old_fields, new_fields] = fields.layouts().map(|layout| layout.schema().fields());
        for (plan, layout) in [old, new].into_iter().zip(fields.layouts()) {
            if !plan.is_ordered() {
                let key_type = layout.schema().key_type();
                return Err(format!("a field left of the salt of `{key_type}` is not fixed"));
            }
        }
        let open: Vec<usize> = new.open_fields().filter(|at| fields.in_new().contains(at)).collect();
        let in_old = fields.in_new().iter().enumerate().filter(|(_, at)| open.contains(at));
        let mut turned: Option<(bool, &Field)> = None;
        for ((was, paired), at) in in_old.zip(&open) {
            let (old, new) = (&old_fields[was], &new_fields[*at]);
            if paired != at {
                return Err(format!("the field `{}` is in the place of `{}`", new.name(), old.name()));
            }
            let Some(is_turned) = old.is_turned(new) else {
                return Err(format!(
                    "the field `{}` sorts its values otherwise: it was {}, and is {}",
                    new.name(),
                    old.written(),
                    new.written()
                ));
            };
            match turned {
                Some((before, other)) if before != is_turned => {
                    let (one, same) = if is_turned { (new, other) } else { (other, new) };
                    return Err(format!(
                        "the field `{}` sorts its values the other way round than before, and `{}` does not",
                        one.name(),
                        same.name()
                    ));
                }
                _ => turned = Some((is_turned, new)),
            }
        }
        Ok(turned.is_some_and(|(is_turned, _)| is_turned))
    }
}
