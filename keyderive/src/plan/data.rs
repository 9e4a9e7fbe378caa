//! Serializes and deserializes plans with serde, for other processes.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::encodings::Encodings;
use super::position::Position;
use super::request::KeyRange;
use super::selection::{Constraint, Selection};
use super::{Plan, hex};
use crate::key::{Cut, Field, Hex, KeyEncoding, KeySchema, RowKey, Width, ordered};

/// A plan as data; the fingerprint stands for its key type.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanData {
    fingerprint: String,
    /// For each fixed field, its encodings.
    fixed: Vec<HexList>,
    cuts: Option<(CutData, CutData)>,
    /// Each constraint's field and words.
    constraints: Vec<(usize, String)>,
    window: Option<KeyRange>,
    after: Vec<Position>,
}

#[derive(Serialize, Deserialize)]
struct HexList(#[serde(with = "hex::list")] Vec<Vec<u8>>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CutData {
    First,
    Before(#[serde(with = "hex")] Vec<u8>),
    After(#[serde(with = "hex")] Vec<u8>),
    AfterPrefix(#[serde(with = "hex")] Vec<u8>),
    Last,
}

impl From<&Cut> for CutData {
    fn from(cut: &Cut) -> Self {
        match cut {
            Cut::First => Self::First,
            Cut::Before(bytes) => Self::Before(bytes.clone()),
            Cut::After(bytes) => Self::After(bytes.clone()),
            Cut::AfterPrefix(bytes) => Self::AfterPrefix(bytes.clone()),
            Cut::Last => Self::Last,
        }
    }
}

impl From<CutData> for Cut {
    fn from(cut: CutData) -> Self {
        match cut {
            CutData::First => Self::First,
            CutData::Before(bytes) => Self::Before(bytes),
            CutData::After(bytes) => Self::After(bytes),
            CutData::AfterPrefix(bytes) => Self::AfterPrefix(bytes),
            CutData::Last => Self::Last,
        }
    }
}

impl From<&Selection> for PlanData {
    fn from(selection: &Selection) -> Self {
        let Selection { schema, encodings, cuts, constraints, window, after } = selection;
        let values = |field| HexList(encodings.all(field).map(<[u8]>::to_vec).collect());
        Self {
            fingerprint: schema.fingerprint().to_string(),
            fixed: (0..encodings.fields()).map(values).collect(),
            cuts: cuts.as_ref().map(|(start, end)| (start.into(), end.into())),
            constraints: constraints.iter().map(|c| (c.field, c.words.clone())).collect(),
            window: window.clone(),
            after: after.clone(),
        }
    }
}

impl<K: ?Sized> Serialize for Plan<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PlanData::from(&self.selection).serialize(serializer)
    }
}

/// Whether these bytes can be a field of a key. Other bytes would not end where the field does, and select rows of other
/// values.
fn is_field_encoding(schema: &KeySchema, field: &Field, bytes: &[u8]) -> bool {
    match (schema.layout(), field.width()) {
        (KeyEncoding::OrderedCode, _) => ordered::take_part(bytes).is_ok_and(|(_, len)| len == bytes.len()),
        (KeyEncoding::Delimited, Width::Fixed(width)) => bytes.len() == width,
        (KeyEncoding::Delimited, _) => bytes.iter().all(|byte| *byte > schema.delimiter()),
    }
}

/// Rejects plans of key types with another fingerprint, and data that is not a plan of this one.
impl<'de, K: RowKey> Deserialize<'de> for Plan<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PlanData { fingerprint, fixed, cuts, constraints, window, after } =
            PlanData::deserialize(deserializer)?;
        let schema = K::SCHEMA;
        if fingerprint != schema.fingerprint().to_string() {
            return Err(D::Error::custom(format_args!(
                "the plan is for a key type with the fingerprint `{fingerprint}`, but `{}` has the fingerprint `{}`",
                schema.key_type(),
                schema.fingerprint(),
            )));
        }
        let fields = schema.fields().len();
        let constrained = fixed.len() + usize::from(cuts.is_some());
        if constrained > fields || constraints.iter().any(|(field, _)| *field >= fields) {
            return Err(D::Error::custom(format_args!(
                "the plan has more constraints than `{}` has fields",
                schema.key_type()
            )));
        }
        let mut encodings = Encodings::default();
        for (field, HexList(values)) in schema.fields().iter().zip(fixed) {
            if let Some(value) = values.iter().find(|value| !is_field_encoding(schema, field, value)) {
                return Err(D::Error::custom(format_args!(
                    "the plan fixes the field `{}` of `{}` to the bytes `{}`, which the field never holds",
                    field.name(),
                    schema.key_type(),
                    Hex(value),
                )));
            }
            encodings.push_all(values);
        }
        let constraints: Vec<_> =
            constraints.into_iter().map(|(field, words)| Constraint { field, words }).collect();
        let cuts = cuts.map(|(start, end)| (start.into(), end.into()));
        let mut selection = Selection { schema, encodings, cuts, constraints, window, after: Vec::new() };
        after.into_iter().for_each(|position| selection.resume_after(position));
        selection.check().map_err(D::Error::custom)?;
        // Each constrained field needs words, and no other field may have any: otherwise `explain` would show
        // constraints that the scan does not have.
        if !selection.constraints.iter().map(|constraint| constraint.field).eq(0..constrained) {
            return Err(D::Error::custom(format_args!(
                "the plan of `{}` describes other fields than it constrains",
                schema.key_type()
            )));
        }
        Ok(Self::from_selection(selection))
    }
}
