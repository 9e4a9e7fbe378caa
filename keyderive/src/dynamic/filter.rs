//! Conditions on the fields of keys: what a scan reads for them, and which of them are left to check.

use std::cmp::Ordering;
use std::ops::Bound;

use super::{DynKey, DynScan, KeyLayout, Value};
use crate::key::{EncodeError, Field, FieldValues};
use crate::plan::{KeyRange, Plan, PlanError};

/// With more combinations of values than this, their ranges take longer than a scan over all between them.
const MAX_CHOICES: usize = 100_000;

/// A condition on the value of one field of a key, for [`KeyLayout::filter`].
#[derive(Clone, Debug, PartialEq)]
pub enum KeyTest {
    /// The value is one of these. An empty list holds for no value.
    AnyOf(Vec<Value>),
    /// The value is between these bounds, in the order of the field's values: that of [`Value::compare`], or of an enum's codes.
    Range(Bound<Value>, Bound<Value>),
    /// The value, which is text or bytes, begins with this.
    Prefix(Value),
}

impl KeyTest {
    /// Whether it holds for a value. Of the variants of an enum it compares the names, while a [`KeyFilter`] compares their codes.
    ///
    /// ```
    /// use std::ops::Bound;
    ///
    /// use keyderive::dynamic::KeyTest;
    ///
    /// let from = KeyTest::Range(Bound::Included(7.into()), Bound::Unbounded);
    /// assert!(from.holds(&7.into()) && !from.holds(&6.into()) && !from.holds(&"7".into()));
    /// ```
    #[must_use]
    pub fn holds(&self, value: &Value) -> bool {
        match self {
            Self::AnyOf(values) => values.contains(value),
            Self::Range(lower, upper) => is_between(lower, upper, |bound| value.compare(bound)),
            Self::Prefix(prefix) => begins_with(value, prefix),
        }
    }

    /// A condition that holds wherever either of two does; `None` if the only known one holds for every value.
    ///
    /// ```
    /// use keyderive::dynamic::KeyTest;
    ///
    /// let one = |value: i32| KeyTest::AnyOf(vec![value.into()]);
    /// assert_eq!(one(7).or(&one(9)), Some(KeyTest::AnyOf(vec![7.into(), 9.into()])));
    /// ```
    #[must_use]
    pub fn or(&self, other: &Self) -> Option<Self> {
        if let (Self::AnyOf(one), Self::AnyOf(other)) = (self, other) {
            return Some(Self::AnyOf(one.iter().chain(other).cloned().collect()));
        }
        let bounds = |test: &Self| match test {
            Self::Range(lower, upper) => Some((lower.clone(), upper.clone())),
            Self::AnyOf(values) => {
                let value = values.first().filter(|_| values.len() == 1)?;
                Some((Bound::Included(value.clone()), Bound::Included(value.clone())))
            }
            Self::Prefix(_) => None,
        };
        let ((a, b), (c, d)) = (bounds(self)?, bounds(other)?);
        let looser = |one: Bound<Value>, other: Bound<Value>, side| {
            if tighter(one.clone(), other.clone(), side) == one { other } else { one }
        };
        let (lower, upper) = (looser(a, c, Side::Lower), looser(b, d, Side::Upper));
        (lower != Bound::Unbounded || upper != Bound::Unbounded).then_some(Self::Range(lower, upper))
    }

    /// The values that are compared.
    fn values(&self) -> impl Iterator<Item = &Value> {
        let (list, bounds) = match self {
            Self::AnyOf(values) => (&values[..], [None, None]),
            Self::Range(lower, upper) => (&[][..], [value_of(lower), value_of(upper)]),
            Self::Prefix(prefix) => (&[][..], [Some(prefix), None]),
        };
        list.iter().chain(bounds.into_iter().flatten())
    }
}

/// What a scan reads for some conditions, and which of them are left to check: of [`KeyLayout::filter`].
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::dynamic::{KeyLayout, KeyTest};
///
/// # #[derive(RowKey)]
/// # struct EventKey {
/// #     user_id: String,
/// #     site: String,
/// #     #[pad(6)]
/// #     seq: u32,
/// # }
/// let layout = KeyLayout::of::<EventKey>();
/// let filter = layout.filter([
///     ("user_id", KeyTest::AnyOf(vec!["alice".into(), "bob".into()])),
///     ("seq", KeyTest::AnyOf(vec![7.into()])),
/// ])?;
/// // The plan reads two users; the second condition is left to check.
/// assert_eq!(filter.plan().requests().len(), 1);
/// assert_eq!(filter.decided(), [true, false]);
/// let key = layout.decode(b"alice#home#000007")?;
/// assert!(filter.holds(&key));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyFilter {
    plan: Plan<DynKey>,
    /// The conditions, each with the index of its field.
    conditions: Vec<(usize, KeyTest)>,
    decided: Vec<bool>,
    choices: Vec<usize>,
    contradiction: Option<Vec<usize>>,
}

impl KeyFilter {
    /// What is read: all rows that meet the conditions, and others that [`holds`](Self::holds) drops. Empty if no row can meet them.
    #[must_use]
    pub fn plan(&self) -> &Plan<DynKey> {
        &self.plan
    }

    /// For each condition, in the order in which they were given, whether the plan decides it. A plan that reads nothing decides all.
    #[must_use]
    pub fn decided(&self) -> &[bool] {
        &self.decided
    }

    /// The conditions that no row can meet together, by their place in the order in which they were given; `None` if some row may meet all.
    #[must_use]
    pub fn contradiction(&self) -> Option<&[usize]> {
        self.contradiction.as_deref()
    }

    /// To how many values the plan fixes each field, from the left. Fields after these are not fixed.
    #[must_use]
    pub fn choices(&self) -> &[usize] {
        &self.choices
    }

    /// Whether a key that the plan reads meets the conditions that the plan does not decide.
    #[must_use]
    pub fn holds(&self, key: &DynKey) -> bool {
        let undecided = self.conditions.iter().zip(&self.decided).filter(|(_, decided)| !**decided);
        undecided
            .into_iter()
            .all(|((at, test), _)| key.iter().nth(*at).is_some_and(|(_, value)| test.holds(value)))
    }

    fn contradicts(&mut self, conditions: Vec<usize>) {
        self.plan = self.plan.within(&KeyRange::new(Vec::new(), Some(Vec::new())));
        self.decided.fill(true);
        self.contradiction = Some(conditions);
    }

    fn tests<'f>(&'f self, of: &'f [usize]) -> impl Iterator<Item = &'f KeyTest> + Clone {
        of.iter().map(|at| &self.conditions[*at].1)
    }

    /// Plans from the leftmost field on, for as long as conditions fix the next one.
    fn narrow(&mut self, layout: &KeyLayout, of_fields: &[Vec<usize>]) {
        let fields = layout.schema().fields();
        let hashed = fields.iter().position(|field| field.hash_of().is_some());
        let (mut draft, mut fixed, mut choices) = (layout.scan(), Vec::new(), Vec::new());
        for (at, (field, mine)) in fields.iter().zip(of_fields).enumerate() {
            if mine.is_empty() {
                return;
            }
            let Some(values) = listed(self.tests(mine)) else { return self.end(draft, field.name(), mine) };
            let values: Vec<_> = values.into_iter().filter(|value| is_held(layout, field, value)).collect();
            if values.is_empty() {
                return self.contradicts(mine.clone());
            }
            choices.push(values.len());
            let combinations = choices.iter().copied().fold(1, usize::saturating_mul);
            if combinations > MAX_CHOICES {
                return;
            }
            let next = match &values[..] {
                [only] => draft.fix(field.name(), only.clone()),
                values => draft.any_of(field.name(), values),
            };
            let Ok(next) = next else { return };
            draft = next;
            fixed.extend_from_slice(mine);
            // A plan cannot end between its hashed field and its last one.
            if hashed.is_some_and(|hashed| (hashed + 1..fields.len()).contains(&(at + 1))) {
                continue;
            }
            match draft.clone().plan() {
                Ok(plan) => {
                    self.plan = plan;
                    self.choices.clone_from(&choices);
                    fixed.drain(..).for_each(|condition| self.decided[condition] = true);
                }
                // No key has these fields: it would be empty or too long.
                Err(_) if combinations == 1 => {
                    return self.contradicts(of_fields[..=at].iter().flatten().copied().collect());
                }
                // No key has some of them, and the check finds which.
                Err(_) => return,
            }
        }
    }

    /// Ends the scan with a prefix or a range of a field.
    fn end(&mut self, draft: DynScan, name: &str, mine: &[usize]) {
        let tests = mine.iter().map(|at| (*at, &self.conditions[*at].1));
        let prefixes = tests.clone().filter_map(|(at, test)| match test {
            KeyTest::Prefix(prefix) => Some((at, prefix)),
            _ => None,
        });
        // The longest begins with all others: they do not exclude each other.
        let longest = prefixes.clone().map(|(_, prefix)| prefix).max_by_key(|prefix| match prefix {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        });
        let (draft, met): (_, Vec<_>) = match longest {
            Some(longest) => (draft.prefix(name, longest.clone()), prefixes.map(|(at, _)| at).collect()),
            None => {
                let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
                for (_, test) in tests {
                    if let KeyTest::Range(from, to) = test {
                        lower = tighter(lower, from.clone(), Side::Lower);
                        upper = tighter(upper, to.clone(), Side::Upper);
                    }
                }
                (draft.range(name, (lower, upper)), mine.to_vec())
            }
        };
        // A field without an order, or a scan that cannot end here: the check decides.
        let Ok(plan) = draft.and_then(DynScan::plan) else { return };
        if plan.is_empty() {
            return self.contradicts(met);
        }
        self.plan = plan;
        met.into_iter().for_each(|at| self.decided[at] = true);
    }
}

impl KeyLayout {
    /// The scan for conditions on fields, all of which hold, and what it leaves to check. Conditions on the first fields choose what is read,
    /// for as long as each is fixed to values; a range or a prefix is the last.
    ///
    /// See [`KeyFilter`] for an example. Values are of the fields' types: [`value`](Self::value) makes them of text. A value that no key can
    /// hold is equal to that of no row, and may be a bound.
    ///
    /// # Errors
    /// For a name that the layout does not have, a value of another type than the field's, a prefix of a field that is not text or bytes, and
    /// a condition on a hashed field that the plan does not decide: its value is not in the key.
    pub fn filter<N: AsRef<str>>(
        &self,
        conditions: impl IntoIterator<Item = (N, KeyTest)>,
    ) -> Result<KeyFilter, PlanError> {
        let fields = self.schema().fields();
        let conditions = conditions.into_iter().map(|(name, test)| {
            let at = self.field_named(name.as_ref())?;
            Ok((at, self.of_field(&fields[at], test)?))
        });
        let conditions: Vec<_> = conditions.collect::<Result<_, EncodeError>>()?;
        let mut of_fields = vec![Vec::new(); fields.len()];
        conditions.iter().enumerate().for_each(|(at, (field, _))| of_fields[*field].push(at));
        let mut filter = KeyFilter {
            plan: self.scan().plan()?,
            decided: vec![false; conditions.len()],
            conditions,
            choices: Vec::new(),
            contradiction: None,
        };
        match of_fields.iter().find_map(|mine| contradiction(&filter, mine)) {
            Some(conditions) => filter.contradicts(conditions),
            None => filter.narrow(self, &of_fields),
        }
        let undecided = filter.conditions.iter().zip(&filter.decided).filter(|(_, decided)| !**decided);
        for ((at, _), _) in undecided {
            if let Some(hashed) = fields[*at].hash_of() {
                return Err(self
                    .fault(format!(
                        "the field `{}` is stored as the hash of {hashed:?}: it has a condition only if it and all other fields are fixed to values",
                        fields[*at].name()
                    ))
                    .into());
            }
        }
        Ok(filter)
    }

    /// The condition, checked; on an enum, as the list of variants for which it holds.
    fn of_field(&self, field: &Field, test: KeyTest) -> Result<KeyTest, EncodeError> {
        let values = field.hash_of().unwrap_or(field).values();
        let fits = |value: &Value| match values {
            FieldValues::Integer { .. } => matches!(value, Value::Integer(_) | Value::Unsigned(_)),
            FieldValues::Bool => matches!(value, Value::Bool(_)),
            FieldValues::Text | FieldValues::Char | FieldValues::Codes(_) => matches!(value, Value::Text(_)),
            FieldValues::Time { .. } => matches!(value, Value::Time(_)),
            FieldValues::Date => matches!(value, Value::Date(_)),
            FieldValues::Uuid { .. } => matches!(value, Value::Uuid(_)),
            _ => matches!(value, Value::Bytes(_)),
        };
        if let Some(other) = test.values().find(|value| !fits(value)) {
            let fault = format!(
                "`{}` is compared with {other:?}, which is {} and not of its type",
                field.name(),
                other.noun()
            );
            return Err(self.fault(fault));
        }
        if matches!(&test, KeyTest::Prefix(prefix) if !matches!(prefix, Value::Text(_) | Value::Bytes(_))) {
            let fault = format!("the field `{}` has no prefixes: only text and bytes have", field.name());
            return Err(self.fault(fault));
        }
        let FieldValues::Codes(codes) = values else { return Ok(test) };
        let names = || codes.iter().map(|(_, name)| *name);
        let place =
            |value: &Value| names().position(|name| matches!(value, Value::Text(text) if text == name));
        if let Some(other) = test.values().find(|value| place(value).is_none())
            && let KeyTest::Range(..) = test
        {
            let names = names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let fault =
                format!("`{}` has no variant {other:?} to be compared with: it has {names}", field.name());
            return Err(self.fault(fault));
        }
        let holds = |(at, variant): &(usize, Value)| match &test {
            KeyTest::Range(lower, upper) => is_between(lower, upper, |bound| Some(at.cmp(&place(bound)?))),
            test => test.holds(variant),
        };
        let variants = names().map(Value::from).enumerate().filter(holds).map(|(_, variant)| variant);
        Ok(KeyTest::AnyOf(variants.collect()))
    }
}

/// Whether some key may have the value in a field. A time between two that the field can hold would be encoded as the earlier one.
fn is_held(layout: &KeyLayout, field: &Field, value: &Value) -> bool {
    field.time_unit().is_none_or(|unit| !value.is_finer_than(unit))
        && layout.can_hold(field.name(), value).unwrap_or(false)
}

fn begins_with(value: &Value, prefix: &Value) -> bool {
    match (value, prefix) {
        (Value::Text(value), Value::Text(prefix)) => value.starts_with(prefix.as_str()),
        (Value::Bytes(value), Value::Bytes(prefix)) => value.starts_with(prefix),
        _ => false,
    }
}

fn value_of(bound: &Bound<Value>) -> Option<&Value> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
        Bound::Unbounded => None,
    }
}

fn is_between(
    lower: &Bound<Value>,
    upper: &Bound<Value>,
    compare: impl Fn(&Value) -> Option<Ordering>,
) -> bool {
    (match lower {
        Bound::Included(bound) => compare(bound).is_some_and(Ordering::is_ge),
        Bound::Excluded(bound) => compare(bound).is_some_and(Ordering::is_gt),
        Bound::Unbounded => true,
    }) && (match upper {
        Bound::Included(bound) => compare(bound).is_some_and(Ordering::is_le),
        Bound::Excluded(bound) => compare(bound).is_some_and(Ordering::is_lt),
        Bound::Unbounded => true,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Lower,
    Upper,
}

/// The tighter of two bounds.
fn tighter(one: Bound<Value>, other: Bound<Value>, side: Side) -> Bound<Value> {
    let keep = match (value_of(&one), value_of(&other)) {
        (_, None) => true,
        (None, _) => false,
        (Some(a), Some(b)) => match a.compare(b) {
            Some(Ordering::Equal) => matches!(one, Bound::Excluded(_)),
            order => (order == Some(Ordering::Greater)) == (side == Side::Lower),
        },
    };
    if keep { one } else { other }
}

/// If a condition is a list, the values for which all conditions hold, sorted and distinct. Lists may have many thousand values.
fn listed<'t>(tests: impl Iterator<Item = &'t KeyTest> + Clone) -> Option<Vec<Value>> {
    let order = |one: &Value, other: &Value| one.compare(other).unwrap_or(Ordering::Equal);
    let lists = tests.clone().filter_map(|test| match test {
        KeyTest::AnyOf(values) => {
            let mut values = values.clone();
            values.sort_by(order);
            values.dedup();
            Some(values)
        }
        _ => None,
    });
    let mut values = lists.reduce(|mut values, list| {
        values.retain(|value| list.binary_search_by(|other| order(other, value)).is_ok());
        values
    })?;
    let others = tests.filter(|test| !matches!(test, KeyTest::AnyOf(_)));
    values.retain(|value| others.clone().all(|test| test.holds(value)));
    Some(values)
}

/// Conditions on one field that certainly hold for no value together: two if they are enough.
fn contradiction(filter: &KeyFilter, mine: &[usize]) -> Option<Vec<usize>> {
    let excludes = |of: &[usize]| exclude_each_other(filter.tests(of));
    if !excludes(mine) {
        return None;
    }
    let mut pairs =
        mine.iter().enumerate().flat_map(|(at, one)| mine[at + 1..].iter().map(|other| [*one, *other]));
    Some(pairs.find(|pair| excludes(pair)).map_or_else(|| mine.to_vec(), |pair| pair.to_vec()))
}

fn exclude_each_other<'t>(tests: impl Iterator<Item = &'t KeyTest> + Clone) -> bool {
    if let Some(values) = listed(tests.clone()) {
        return values.is_empty();
    }
    let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
    for test in tests.clone() {
        match test {
            KeyTest::Range(from, to) => {
                lower = tighter(lower, from.clone(), Side::Lower);
                upper = tighter(upper, to.clone(), Side::Upper);
            }
            // Values with a prefix are not less than it.
            KeyTest::Prefix(prefix) => lower = tighter(lower, Bound::Included(prefix.clone()), Side::Lower),
            KeyTest::AnyOf(_) => {}
        }
    }
    let is_reversed = match (&lower, &upper) {
        (Bound::Included(least), Bound::Included(most)) => least.compare(most).is_some_and(Ordering::is_gt),
        (Bound::Included(least) | Bound::Excluded(least), Bound::Included(most) | Bound::Excluded(most)) => {
            least.compare(most).is_some_and(Ordering::is_ge)
        }
        _ => false,
    };
    // A prefix, and a least value or another prefix that is greater than all values with it.
    let is_after = |prefix: &Value, value: &Value| {
        value.compare(prefix).is_some_and(Ordering::is_gt) && !begins_with(value, prefix)
    };
    let mut prefixes = tests.filter_map(|test| match test {
        KeyTest::Prefix(prefix) => Some(prefix),
        _ => None,
    });
    is_reversed || prefixes.any(|prefix| value_of(&lower).is_some_and(|least| is_after(prefix, least)))
}
