//! Which fields of two layouts have the same values, and what a scan of the one asks of the other.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use super::{DynKey, KeyLayout, KeyTest, Value};
use crate::key::{Cut, FieldValues, KeyEncoding, KeySchema, ReadValue, RekeyedFields, Side, ordered};
use crate::plan::Plan;

/// The fields of an old and a new key of the same row: each field of the old one has its value in a field of the new one.
#[derive(Clone, Debug)]
pub(crate) struct FieldPairs {
    old: KeyLayout,
    new: KeyLayout,
    /// For each field of the old key, from the left, the field of the new key.
    in_new: Arc<[usize]>,
}

/// The scan of an old table for the rows that a plan selects in the new one, and maybe others.
pub(crate) struct OldPlan {
    pub(crate) plan: Plan<()>,
    /// The fields of the new key whose constraints the old plan does not decide.
    pub(crate) undecided: Vec<&'static str>,
}

impl FieldPairs {
    pub(super) fn new(old: &KeyLayout, new: &KeyLayout, in_new: Arc<[usize]>) -> Self {
        Self { old: old.clone(), new: new.clone(), in_new }
    }

    /// The pairs that `#[row_key(rekeyed_from = …)]` declares.
    pub(crate) fn declared(fields: &RekeyedFields, new: &'static KeySchema) -> Option<Self> {
        let place = |old: usize| fields.sources().position(|source| source == Some(old));
        let in_new: Option<_> = (0..fields.old().fields().len()).map(place).collect();
        let [old, new] = [fields.old(), new].map(KeyLayout::of_checked);
        Some(Self::new(&old, &new, in_new?))
    }

    /// The pairs of fields with the same names, if both keys have the same ones.
    pub(crate) fn by_name([old, new]: [&'static KeySchema; 2]) -> Option<Self> {
        let place = |name| new.fields().iter().position(|field| field.name() == name);
        let in_new: Option<Arc<[usize]>> = old.fields().iter().map(|field| place(field.name())).collect();
        let [old_layout, new_layout] = [old, new].map(KeyLayout::of_checked);
        let is_whole = old.fields().len() == new.fields().len();
        Some(Self::new(&old_layout, &new_layout, in_new.filter(|_| is_whole)?))
    }

    /// The field of the new key that has the value of each field of the old one.
    pub(crate) fn in_new(&self) -> &[usize] {
        &self.in_new
    }

    /// Whether these fields of the new key have the values of their fields in the old one.
    pub(crate) fn have_same_values(&self, old: &DynKey, new: &DynKey, fields: &[usize]) -> bool {
        let mut pairs = self.in_new.iter().zip(old.values()).filter(|(at, _)| fields.contains(at));
        pairs.all(|(at, value)| new.values().get(*at) == Some(value))
    }

    /// Whether a module, or a type by hand, writes a field of the new key or its field of the old one. Whether both are written alike is then
    /// seen by the bytes of each row alone.
    pub(crate) fn is_custom(&self, at: usize) -> bool {
        let old = self.in_new.iter().position(|new| *new == at);
        let [of_old, of_new] = self.layouts().map(|layout| layout.schema().fields());
        let fields = [old.and_then(|old| of_old.get(old)), of_new.get(at)];
        fields.into_iter().flatten().any(|field| field.values() == FieldValues::Custom)
    }

    pub(crate) fn layouts(&self) -> [&KeyLayout; 2] {
        [&self.old, &self.new]
    }

    /// What a plan of new keys reads of the table with old keys: each row that it selects, and others too where a constraint is on a field
    /// that is no prefix of the old key, or on values that the old field does not sort or hold.
    pub(crate) fn old_plan(&self, new: &Plan<()>) -> OldPlan {
        let (fixed, cuts) = new.constraints();
        let mut tests: Vec<Option<KeyTest>> =
            fixed.enumerate().map(|(at, encodings)| self.one_of(at, encodings)).collect();
        if let Some(cuts) = cuts {
            tests.push(self.between(tests.len(), cuts));
        }
        let constrained = tests.len();
        let mut of_old = Vec::new();
        for (field, at) in self.old.schema().fields().iter().zip(&*self.in_new) {
            let Some(test) = tests.get_mut(*at).and_then(Option::take) else { continue };
            // A value that the old field does not take as a bound is left to the check of new keys.
            if self.is_comparable(*at, field.values(), &test)
                && self.old.filter([(field.name(), test.clone())]).is_ok()
            {
                of_old.push((*at, field.name(), test));
            }
        }
        let named = of_old.iter().map(|(_, name, test)| (*name, test.clone()));
        let (plan, decided) = match self.old.filter(named) {
            Ok(filter) => (filter.plan().clone().untyped(), filter.decided().to_vec()),
            Err(_) => (Plan::full(self.old.schema()), Vec::new()),
        };
        let is_decided = |at: usize| {
            let mut decided = of_old.iter().zip(&decided);
            decided.any(|((of, ..), is_decided)| *of == at && *is_decided)
        };
        let fields = self.new.schema().fields().iter().enumerate().take(constrained);
        let undecided = fields.filter(|(at, _)| !is_decided(*at)).map(|(_, field)| field.name()).collect();
        OldPlan { plan, undecided }
    }

    /// Where a stored key is in the first field that a plan of new keys does not fix, with the value there in words.
    pub(crate) fn place_in(&self, plan: &Plan<()>, is_new: bool, key: &[u8]) -> Option<(Cut, String)> {
        let (fixed, _) = plan.constraints();
        let at = fixed.count();
        let codec = self.new.fields().get(at)?.codec;
        let (layout, place) = match is_new {
            true => (&self.new, at),
            false => (&self.old, self.in_new.iter().position(|new| *new == at)?),
        };
        let start = layout.decode_boundary(key);
        let (_, value) = start.fields().nth(place)?;
        let value = self.new.accept(at, value).ok().filter(|_| codec.has_ranges())?;
        Some((codec.cut(&value, Side::Before), self.new.shown(at, &value)))
    }

    /// The fields of the new key that hold a value that the old field cannot, with such a value: of values at the limits of widths, units and
    /// characters, the first.
    pub(crate) fn narrower(&self) -> Vec<(&'static str, Value)> {
        let fields = self.old.schema().fields().iter().zip(&*self.in_new);
        let narrower = fields.filter_map(|(old, at)| {
            let new = &self.new.schema().fields()[*at];
            let holds = |layout: &KeyLayout, name, value: &Value| {
                layout.can_hold(name, value.clone()).unwrap_or(false)
            };
            let is_lost = |value: &Value| {
                let is_rounded = old.time_unit().is_some_and(|unit| value.is_finer_than(unit));
                !holds(&self.old, old.name(), value) || is_rounded
            };
            let is_held = |value: &Value| {
                let is_rounded = new.time_unit().is_some_and(|unit| value.is_finer_than(unit));
                holds(&self.new, new.name(), value) && !is_rounded
            };
            let found = probes(new.values()).into_iter().find(|value| is_held(value) && is_lost(value));
            found.map(|value| (new.name(), value))
        });
        narrower.collect()
    }

    /// Whether a test means the same for the values of an old field: names of codes are compared by the codes, and text by its bytes.
    fn is_comparable(&self, at: usize, old: FieldValues, test: &KeyTest) -> bool {
        let new = self.new.schema().fields()[at].values();
        // What a module writes are bytes here, which say nothing of the value.
        if [old, new].contains(&FieldValues::Custom) {
            return false;
        }
        match test {
            KeyTest::AnyOf(_) => true,
            KeyTest::Prefix(_) => old == new,
            KeyTest::Range(..) => match (old, new) {
                (FieldValues::Codes(old), FieldValues::Codes(new)) => old == new,
                (old, new) => std::mem::discriminant(&old) == std::mem::discriminant(&new),
            },
        }
    }

    /// The values that a field of the new key is fixed to.
    fn one_of<'e>(&self, at: usize, encodings: impl Iterator<Item = &'e [u8]>) -> Option<KeyTest> {
        let value = |stored: &'e [u8]| match self.new.schema().layout() {
            KeyEncoding::Delimited => self.read(at, stored.into()),
            KeyEncoding::OrderedCode => self.read(at, ordered::take_part(stored).ok()?.0),
        };
        encodings.map(value).collect::<Option<_>>().map(KeyTest::AnyOf)
    }

    /// The values of a field of the new key between two cuts.
    fn between(&self, at: usize, (first, last): &(Cut, Cut)) -> Option<KeyTest> {
        let field = self.new.schema().fields()[at];
        let read = |raw: &Vec<u8>| self.read(at, raw.as_slice().into());
        if let (Cut::Before(start), Cut::AfterPrefix(prefix)) = (first, last)
            && let (Some(start), Some(prefix)) = (read(start), read(prefix))
            && start == prefix
            && matches!(field.values(), FieldValues::Text | FieldValues::Bytes)
        {
            return Some(KeyTest::Prefix(prefix));
        }
        let first = match first {
            Cut::Before(raw) => read(raw).map(Bound::Included),
            Cut::After(raw) | Cut::AfterPrefix(raw) => read(raw).map(Bound::Excluded),
            Cut::First | Cut::Last => None,
        };
        let last = match last {
            Cut::Before(raw) => read(raw).map(Bound::Excluded),
            Cut::After(raw) => read(raw).map(Bound::Included),
            Cut::First | Cut::AfterPrefix(_) | Cut::Last => None,
        };
        let [first, last] = [first, last].map(|bound| bound.unwrap_or(Bound::Unbounded));
        let (lower, upper) = if field.order().is_reversed() { (last, first) } else { (first, last) };
        (lower != Bound::Unbounded || upper != Bound::Unbounded).then_some(KeyTest::Range(lower, upper))
    }

    fn read(&self, at: usize, bytes: Cow<'_, [u8]>) -> Option<Value> {
        let mut value = ReadValue::EMPTY;
        self.new.fields()[at].codec.read_to(bytes, None, &mut value).ok()?;
        Some(value.into_value())
    }
}

/// Values of a kind at which fields differ, the most usual first.
fn probes(of: FieldValues) -> Vec<Value> {
    match of {
        FieldValues::Integer { min, max } => {
            let powers = (0..=38).map(|digits| 10_i128.pow(digits));
            let mut values: Vec<_> =
                powers.clone().chain(powers.map(|power| -power)).map(Value::Integer).collect();
            values.extend([Value::Unsigned(max), Value::Integer(min)]);
            values
        }
        FieldValues::Text | FieldValues::Char | FieldValues::Codes(_) => {
            let ascii = (0..128_u8).map(|byte| char::from(byte).to_string());
            let long = (1..=12).map(|power| "x".repeat(1 << power));
            let (empty, wide) = (String::new(), "\u{10ffff}".to_owned());
            long.chain(ascii).chain([empty, wide]).map(Value::Text).collect()
        }
        FieldValues::Bytes => {
            let lengths = (0..=12).map(|power| 1 << power);
            std::iter::once(0).chain(lengths).map(|length| Value::Bytes(vec![0x78; length])).collect()
        }
        FieldValues::Time { .. } => {
            let units = [1_000_000_000, 1_000_000, 1_000, 1];
            let far = [253_402_300_799, 9_223_372_035, -1, -9_223_372_036, -62_135_596_800];
            let whole = far.map(|seconds: i128| seconds * 1_000_000_000);
            units.into_iter().chain(whole).map(Value::Time).collect()
        }
        FieldValues::Uuid { .. } => vec![Value::Uuid(0)],
        FieldValues::Bool | FieldValues::Date | FieldValues::Custom => Vec::new(),
    }
}
