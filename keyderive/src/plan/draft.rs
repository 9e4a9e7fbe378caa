//! The runtime half of the derived scan builders: constraints, lists of values, and the stages of a builder.
//!
//! A call on a stage that does not allow it fails by a bound, which says why: [`Open`] after a range, and a trait for each field,
//! which the derive generates with its message, for a field out of order.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use super::error::PlanError;
use super::explain::{Explain, ExplainOptions};
use super::selection::{Constraint, Selection};
use crate::key::{
    Cut, EncodeError, FieldError, FieldOrder, KeyField, KeySchema, Part, PrefixField, RangeField, Side,
    Typed, write_hash, write_part,
};

/// How many values of an `any_of` are shown; the rest is counted.
const MAX_SHOWN_VALUES: usize = 8;

/// The constraints so far, from the left.
#[derive(Clone, Debug)]
pub struct Draft {
    selection: Selection,
    /// The error of the first value that a key cannot hold.
    error: Option<EncodeError>,
}

impl Draft {
    /// A scan of every row of the key type.
    #[must_use]
    pub fn new(schema: &'static KeySchema) -> Self {
        Self { selection: Selection::full(schema), error: None }
    }

    /// Fixes the next field to one value.
    #[must_use]
    pub fn fix<C, T: KeyField<C>>(self, value: T::Arg<'_>) -> Self {
        self.fix_part(&Typed::<C, T>(value))
    }

    /// Fixes the next field, which is stored as a hash, to one value.
    #[must_use]
    pub fn fix_hashed<C, T: KeyField<C>>(self, value: T::Arg<'_>) -> Self {
        self.fix_hash_of(&Typed::<C, T>(value))
    }

    pub(crate) fn fix_part(self, part: &impl Part) -> Self {
        self.fix_with(part, write_part)
    }

    pub(crate) fn fix_hash_of(self, part: &impl Part) -> Self {
        self.fix_with(part, write_hash)
    }

    fn fix_with<P: Part>(
        mut self,
        part: &P,
        write: impl FnOnce(&P, &KeySchema, &mut Vec<u8>) -> Result<(), FieldError>,
    ) -> Self {
        let Self { selection, error } = &mut self;
        let (schema, field) = (selection.schema, selection.fixed());
        if let Err(fault) = selection.encodings.push(|out| write(part, schema, out)) {
            error.get_or_insert(field_error(schema, field, fault));
        }
        self.constrain(format!("= {}", shown(part)), field);
        self
    }

    /// Fixes the next field to each of several values.
    #[must_use]
    pub fn any_of<C, T: KeyField<C>, How>(self, values: impl IntoIterator<Item: Listed<C, T, How>>) -> Self {
        self.any_of_with(values, |value, words, schema, out| {
            value.write_by(ListedWriter::<false> { words, schema, out })
        })
    }

    /// Fixes the next field, which is stored as a hash, to each of several values.
    #[must_use]
    pub fn any_of_hashed<C, T: KeyField<C>, How>(
        self,
        values: impl IntoIterator<Item: Listed<C, T, How>>,
    ) -> Self {
        self.any_of_with(values, |value, words, schema, out| {
            value.write_by(ListedWriter::<true> { words, schema, out })
        })
    }

    /// Fixes the next field to each of several values, or to the hash of each.
    pub(crate) fn any_of_parts(self, parts: &[impl Part], is_hashed: bool) -> Self {
        self.any_of_with(parts, |part, words, schema, out| write_listed(part, is_hashed, words, schema, out))
    }

    fn any_of_with<V>(
        mut self,
        values: impl IntoIterator<Item = V>,
        write: impl Fn(V, &mut ListWords, &KeySchema, &mut Vec<u8>) -> Result<(), FieldError>,
    ) -> Self {
        let Self { selection, error } = &mut self;
        let (schema, field) = (selection.schema, selection.fixed());
        let (mut words, mut encodings) = (ListWords::default(), Vec::new());
        for value in values {
            let mut encoding = Vec::new();
            match write(value, &mut words, schema, &mut encoding) {
                Ok(()) => encodings.push(encoding),
                Err(fault) => _ = error.get_or_insert(field_error(schema, field, fault)),
            }
        }
        selection.encodings.push_all(encodings);
        self.constrain(words.finish(), field);
        self
    }

    /// Ends the scan with a range over the next field, in the field's own order.
    #[must_use]
    pub fn range<'v, C, T: RangeField<C>>(self, range: &impl RangeOf<T::Arg<'v>>) -> Self {
        let bounds = (range.start_bound().cloned(), range.end_bound().cloned());
        self.range_by(bounds, T::ORDER, |value, side| T::cut(*value, side), |value, f| T::show(*value, f))
    }

    pub(crate) fn range_by<V>(
        mut self,
        (start, end): (Bound<V>, Bound<V>),
        order: FieldOrder,
        cut: impl Fn(&V, Side) -> Cut,
        show: impl Fn(&V, &mut fmt::Formatter<'_>) -> fmt::Result,
    ) -> Self {
        let lower = match &start {
            Bound::Included(value) => Some(cut(value, Side::Before)),
            Bound::Excluded(value) => Some(cut(value, Side::After)),
            Bound::Unbounded => None,
        };
        let upper = match &end {
            Bound::Included(value) => Some(cut(value, Side::After)),
            Bound::Excluded(value) => Some(cut(value, Side::Before)),
            Bound::Unbounded => None,
        };
        // In reversed bytes the upper bound comes first.
        let (first, last) = if order.is_reversed() { (upper, lower) } else { (lower, upper) };
        self.selection.cuts = Some((first.unwrap_or(Cut::First), last.unwrap_or(Cut::Last)));
        let shown = |value: &V| fmt::from_fn(|f| show(value, f)).to_string();
        self.constrain(
            range_words(start.as_ref().map(shown), end.as_ref().map(shown)),
            self.selection.fixed(),
        );
        self
    }

    /// Ends the scan with a prefix of the next field.
    #[must_use]
    pub fn prefix<C, T: PrefixField<C>>(self, prefix: T::Arg<'_>) -> Self {
        self.prefix_by(T::prefix_cuts(prefix), &Typed::<C, T>(prefix))
    }

    pub(crate) fn prefix_by(mut self, cuts: (Cut, Cut), prefix: &impl Part) -> Self {
        self.selection.cuts = Some(cuts);
        self.constrain(format!("begins with {}", shown(prefix)), self.selection.fixed());
        self
    }

    fn constrain(&mut self, words: String, field: usize) {
        self.selection.constraints.push(Constraint { field, words });
    }

    /// The plan in words.
    ///
    /// # Errors
    /// When a field was fixed to a value that no key can hold.
    pub fn explain(&self) -> Result<Explain, PlanError> {
        Ok(Explain::of(&self.clone().finish()?, ExplainOptions::default()))
    }

    /// Checks the constraints.
    pub(super) fn finish(self) -> Result<Selection, PlanError> {
        match self.error {
            Some(error) => Err(error.into()),
            None => self.selection.check().map(|()| self.selection),
        }
    }
}

#[cold]
fn field_error(schema: &KeySchema, field: usize, error: FieldError) -> EncodeError {
    EncodeError::field(schema.key_type(), schema.fields()[field].name(), error)
}

/// A list in words: `in [1, 2 and 7 more]`.
#[derive(Default)]
struct ListWords {
    values: String,
    count: usize,
}

impl ListWords {
    fn push(&mut self, value: &impl Part) {
        if self.count < MAX_SHOWN_VALUES {
            self.values += &format!("{}{}", if self.count > 0 { ", " } else { "" }, shown(value));
        }
        self.count += 1;
    }

    fn finish(self) -> String {
        let Self { values, count } = self;
        match count.saturating_sub(MAX_SHOWN_VALUES) {
            0 => format!("in [{values}]"),
            more => format!("in [{values} and {more} more]"),
        }
    }
}

/// Writes a value of a list as a part of a key, or its hash.
fn write_listed(
    part: &impl Part,
    is_hashed: bool,
    words: &mut ListWords,
    schema: &KeySchema,
    out: &mut Vec<u8>,
) -> Result<(), FieldError> {
    words.push(part);
    if is_hashed { write_hash(part, schema, out) } else { write_part(part, schema, out) }
}

/// Writes a value of a list for [`Listed`].
struct ListedWriter<'a, const HASHED: bool> {
    words: &'a mut ListWords,
    schema: &'a KeySchema,
    out: &'a mut Vec<u8>,
}

impl<C, T: KeyField<C>, const HASHED: bool> WriteListed<C, T> for ListedWriter<'_, HASHED> {
    fn write(self, value: T::Arg<'_>) -> Result<(), FieldError> {
        write_listed(&Typed::<C, T>(value), HASHED, self.words, self.schema, self.out)
    }
}

fn shown(part: &impl Part) -> impl fmt::Display {
    fmt::from_fn(|f| part.show(f))
}

/// A range in words: `in 1..=2`, `in 5..`, `in (after 3)..`.
fn range_words(start: Bound<String>, end: Bound<String>) -> String {
    let start = match start {
        Bound::Included(value) => value,
        Bound::Excluded(value) => format!("(after {value})"),
        Bound::Unbounded => String::new(),
    };
    let end = match end {
        Bound::Included(value) => format!("={value}"),
        Bound::Excluded(value) => value,
        Bound::Unbounded => String::new(),
    };
    format!("in {start}..{end}")
}

/// A range of values that `f_range` takes for a field: of the standard library's types, and with a message where it is of another type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of `{T}`",
    label = "not a range of `{T}`",
    note = "a range is `a..b`, `a..=b`, `a..`, `..b` or a pair of `Bound`s; one of text or bytes borrows its ends: for `String`s, write `a.as_str()..b.as_str()`, and for `Vec`s `a.as_slice()..b.as_slice()`"
)]
pub trait RangeOf<T>: RangeBounds<T> {}

#[diagnostic::do_not_recommend]
impl<T, R: RangeBounds<T>> RangeOf<T> for R {}

/// An item of the list that `f_any_of` takes for a field of the type `T`, stored as `C`.
///
/// `How` distinguishes the implementations. It is inferred, since exactly one fits an item and a field.
#[diagnostic::on_unimplemented(
    message = "a field of the type `{T}` cannot be fixed to `{Self}`",
    label = "the list holds `{Self}`",
    note = "a text field takes `&str`, `String` and `Cow<str>`; a bytes field takes `&[u8]`, `Vec<u8>` and `[u8; N]`; any other field takes what its method without `_any_of` takes; references to these work too"
)]
pub trait Listed<C, T: KeyField<C>, How> {
    /// Passes the value to `writer`, as the field takes it.
    ///
    /// # Errors
    /// Those of the writer.
    fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError>;
}

/// A callback for the values of a list. It is not a closure, whose type would fix the lifetime of the field's argument.
pub trait WriteListed<C, T: KeyField<C>> {
    /// Writes the value.
    ///
    /// # Errors
    /// When the field cannot hold it.
    fn write(self, value: T::Arg<'_>) -> Result<(), FieldError>;
}

/// The item is what the field takes.
#[derive(Debug)]
pub struct AsIs<'v>(PhantomData<&'v ()>);

/// The item is a reference to what the field takes.
#[derive(Debug)]
pub struct Referenced<'v>(PhantomData<&'v ()>);

/// The field takes a reference to the item.
#[derive(Debug)]
pub enum Owned {}

/// The item is text.
#[derive(Debug)]
pub enum OfText {}

/// The item is bytes.
#[derive(Debug)]
pub enum OfBytes {}

#[diagnostic::do_not_recommend]
impl<'v, C, T: KeyField<C, Arg<'v> = V>, V> Listed<C, T, AsIs<'v>> for V {
    fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError> {
        writer.write(self)
    }
}

#[diagnostic::do_not_recommend]
impl<'v, C, T: KeyField<C, Arg<'v> = V>, V: Copy> Listed<C, T, Referenced<'v>> for &V {
    fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError> {
        writer.write(*self)
    }
}

#[diagnostic::do_not_recommend]
impl<C, T: for<'a> KeyField<C, Arg<'a> = &'a V>, V> Listed<C, T, Owned> for V {
    fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError> {
        writer.write(&self)
    }
}

macro_rules! listed {
    ($how:ident, $arg:ty: $([$($params:tt)*] $type:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($params)* C, T: for<'a> KeyField<C, Arg<'a> = &'a $arg>> Listed<C, T, $how> for $type {
            fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError> {
                writer.write(AsRef::<$arg>::as_ref(&self))
            }
        }
    )*};
}

listed!(OfText, str: [] String, [] &String, [] Cow<'_, str>, [] &Cow<'_, str>);
listed!(OfBytes, [u8]: [] Vec<u8>, [] &Vec<u8>, [] Cow<'_, [u8]>, [] &Cow<'_, [u8]>);
listed!(OfBytes, [u8]: [const N: usize,] [u8; N], [const N: usize,] &[u8; N]);

/// The first `N` fields are fixed; the next one can be fixed, ranged over or given a prefix.
///
/// Branches that fix different fields have different types: call `into_plan` in each, as in
/// [branches of a scan](crate::guide::compiler#branches-of-a-scan).
#[derive(Clone, Copy, Debug)]
pub enum Fixed<const N: usize> {}

/// A range or a prefix has ended the scan: no other field can be constrained.
#[derive(Clone, Copy, Debug)]
pub enum Ended {}

/// The stages at which another field can be constrained.
#[diagnostic::on_unimplemented(
    message = "no field can be constrained after a range or a prefix",
    label = "a range ends a scan; `filter_key` tests other fields",
    note = "`table.scan(…).filter_key(|key| …)` tests the other fields of each row that is read; the method of a field that ends in `_any_of` fixes it to several values, and another field can follow"
)]
pub trait Open {
    /// How many fields are fixed, as a [`Fixed`]: the derive implements the trait of a field for the one before it.
    type At;
}

#[diagnostic::do_not_recommend]
impl<const N: usize> Open for Fixed<N> {
    type At = Self;
}
